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
    #[error(
        "{name} is not a legal name: letters, digits and underscores, not beginning with a digit, not a Verilog keyword"
    )]
    IllegalName { name: String },
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
