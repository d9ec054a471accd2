//! What can be wrong with a description of hardware.

use crate::ir::Loc;
use std::fmt;
use thiserror::Error;

/// One mistake, with the line of Rust that made it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{loc}: module {module}: {kind}")]
pub struct ElabError {
    /// Module being built.
    pub module: String,
    /// Where.
    pub loc: Loc,
    /// What.
    pub kind: ElabErrorKind,
}

/// Kinds of mistakes.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[allow(missing_docs)]
pub enum ElabErrorKind {
    #[error("{what}: widths differ, {left} bits against {right} bits; extend or cut one side")]
    WidthMismatch { what: String, left: u32, right: u32 },
    #[error("constant {value} does not fit {width} bits (largest: {max})")]
    ConstantRange { value: u64, width: u32, max: u64 },
    #[error("bits {hi}..{lo} lie outside a value of {width} bits")]
    SliceRange { lo: u32, hi: u32, width: u32 },
    #[error("{name} is never driven; assign it or give it a default")]
    Undriven { name: String },
    #[error(
        "{name} is driven twice without a condition, first at {first}; the first assignment has no effect"
    )]
    DoublyDriven { name: String, first: Loc },
    #[error("{name} is a latch: some path assigns nothing; assign it on every path or give it a default")]
    Latch { name: String },
    #[error("input {name} is never used; remove it or mark it with unused_input")]
    UnusedInput { name: String },
    #[error("input {name} cannot be assigned")]
    AssignInput { name: String },
    #[error("name {name} is used twice, first at {first}")]
    DuplicateName { name: String, first: Loc },
    #[error("{name} is not a legal name: letters, digits and underscores, not beginning with a digit")]
    IllegalName { name: String },
    #[error("{name} is not a legal name: it is {reason}; choose another, such as {instead}")]
    KeptName { name: String, reason: String, instead: String },
    #[error(
        "{name} is not a legal name of what VHDL sees: there a name neither begins nor ends with an underscore, nor has two in a row"
    )]
    Underscores { name: String },
    #[error("{name} has no bits; a width is 1 or more, so leave out what a parameter makes empty")]
    NoBits { name: String },
    #[error(
        "{name} is a register that nothing assigns: it keeps its reset value; assign it, or write a constant"
    )]
    Unassigned { name: String },
    #[error("{name} resets to {value}, which is no variant of {ty}; give it a reset value")]
    NoVariant { name: String, value: String, ty: String },
    #[error("variant {variant} = {value} of {ty} does not fit its {width} bits")]
    VariantRange { ty: String, variant: String, value: u64, width: u32 },
    #[error("memory {mem} is read, but nothing writes it: its content is unknown")]
    Unwritten { mem: String },
    #[error("memory {mem} is written, but nothing reads it; read it or remove it")]
    Unread { mem: String },
    #[error("{what} {index} of memory {mem}, which has {count}")]
    MemoryRange { mem: String, what: &'static str, index: u32, count: u32 },
    #[error("a shift by {by} leaves nothing of {width} bits")]
    ShiftRange { by: u32, width: u32 },
    #[error(
        "take() of channel {channel} does not look at its valid: put it under when({channel}.valid & ...), or assert that a message is there whenever its condition holds"
    )]
    TakeUnguarded { channel: String },
    #[error(
        "send() of channel {channel} does not look at its free: put it under when({channel}.free & ...), or assert that it is free whenever its condition holds"
    )]
    SendUnguarded { channel: String },
    #[error("channel {channel} is never taken: its sender waits for ever; take() its messages or remove it")]
    NeverTaken { channel: String },
    #[error("channel {channel} never sends; send() something or remove it")]
    NeverSent { channel: String },
    #[error("switch lists {value} twice")]
    DuplicateArm { value: String },
    #[error("instance {inst} of {module} has no {direction} {port}; it has {available}")]
    NoSuchPort { inst: String, module: String, direction: &'static str, port: String, available: String },
    #[error("combinational loop: {path}")]
    CombinationalLoop { path: String },
    #[error(
        "output {name} of a block must be a register, so that no combinational path crosses a block's boundary"
    )]
    UnregisteredOutput { name: String },
    #[error("memory {mem}: storage fields hold {fields} bits but a lane has {width}")]
    FieldSum { mem: String, fields: u32, width: u32 },
    #[error(
        "table {table}: {first} and {second} both speak of {pair}; a combination that happens has one row, or is idle"
    )]
    TableOverlap { table: String, first: String, second: String, pair: String },
    #[error(
        "table {table} says nothing of {pair} ({count} combinations in all): write a row, `idle` or `never`"
    )]
    TableGap { table: String, pair: String, count: usize },
    #[error("table {table}: all that {row} speaks of is said to happen never; take one of both away")]
    TableDead { table: String, row: String },
    #[error("machine {machine}: no row leads to state {state}; take its rows away, or say how it is reached")]
    TableUnreached { machine: String, state: String },
    #[error("{0}")]
    Other(String),
}

/// All mistakes found in one module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ElabErrors(pub Vec<ElabError>);

impl fmt::Display for ElabErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ElabErrors {}
