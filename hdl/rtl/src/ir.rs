//! What elaboration produces: modules as plain data.
//!
//! A [`Module`] keeps the structure the author wrote (signals with names, `when`/`switch` statements, instances), which is
//! what the Verilog emitter reads. The simulator reads the flattened [`crate::netlist::Netlist`] made from it.

use crate::bv::Bv;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Arc, OnceLock};

macro_rules! id {
    ($(#[$m:meta])* $name:ident) => {
        $(#[$m])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        pub struct $name(pub u32);
        impl $name {
            /// Position in the owning list.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A signal of one module: index into [`Module::signals`].
    SigId
);
id!(
    /// An expression of one module: index into [`Module::nodes`].
    NodeId
);
id!(
    /// A memory of one module: index into [`Module::mems`].
    MemId
);
id!(
    /// An instance in one module: index into [`Module::instances`].
    InstId
);

/// A place in the Rust source that describes the hardware.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Loc {
    /// Source file as the compiler names it.
    pub file: &'static str,
    /// Line, from 1.
    pub line: u32,
}

impl Loc {
    /// The caller's place.
    #[track_caller]
    pub fn caller() -> Loc {
        let at = std::panic::Location::caller();
        Loc { file: at.file(), line: at.line() }
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// An encoded enumeration: names with explicit values, carried into waveforms and Verilog `localparam`s.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EnumType {
    /// Type name, CamelCase.
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// Variant names in SHOUTING_CASE with their encodings.
    pub variants: Vec<(String, u64)>,
}

impl EnumType {
    /// The name of an encoding, if it has one.
    pub fn name_of(&self, value: u64) -> Option<&str> {
        self.variants.iter().find(|(_, v)| *v == value).map(|(n, _)| n.as_str())
    }
}

/// The kind of a leaf signal.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LeafType {
    /// An unsigned vector.
    Bits,
    /// One bit with a truth value.
    Bool,
    /// An encoded enumeration.
    Enum(Arc<EnumType>),
}

/// A named part of a bundle after flattening.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// Name relative to the bundle, parts joined by `_`; empty for a scalar.
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// Kind.
    pub ty: LeafType,
    /// Storage fields this leaf is counted under with their bits, when its bundle says so; the bits sum to the width.
    pub fields: Vec<(String, u32)>,
    /// Values are below this where the bundle says so: random stimulus keeps to it.
    pub below: Option<u64>,
}

/// What a signal is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SigKind {
    /// Input port.
    Input,
    /// Combinational value; assigned in the body. `default` is what holds where no statement assigns.
    Wire {
        /// Value where no statement assigns; without it every path must assign.
        default: Option<NodeId>,
    },
    /// Register: keeps its value where no statement assigns.
    Reg {
        /// Reset value; only the address register inside an SRAM's read port has none.
        reset: Option<Bv>,
        /// Storage fields with their bits.
        fields: Vec<(String, u32)>,
    },
}

/// A leaf signal of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signal {
    /// Name, unique in the module.
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// What it is.
    pub kind: SigKind,
    /// True when the signal is also an output port (a wire or a register).
    pub output: bool,
    /// Leaf kind.
    pub ty: LeafType,
    /// Values are below this by the rules of the message that it belongs to: random stimulus keeps to it. No hardware.
    pub below: Option<u64>,
    /// One sentence for readers of Verilog, or empty.
    pub doc: String,
    /// Where it was declared.
    pub loc: Loc,
}

/// Which lanes of a memory row an access touches.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LaneSel {
    /// The whole row, lane 0 in the least significant bits.
    Row,
    /// One lane with a fixed number.
    Const(u32),
    /// One lane chosen by a value; a number past the last lane reads zero and writes nothing.
    Dyn(NodeId),
}

/// An operation. Operand widths are fixed by the rules stated at each; all values are unsigned.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A constant.
    Const(Bv),
    /// The value of a signal: a register's current value, a wire's final value, an input.
    Sig(SigId),
    /// Bitwise complement.
    Not(NodeId),
    /// Bitwise and; equal widths.
    And(NodeId, NodeId),
    /// Bitwise or; equal widths.
    Or(NodeId, NodeId),
    /// Bitwise exclusive or; equal widths.
    Xor(NodeId, NodeId),
    /// Sum modulo 2^width; equal widths.
    Add(NodeId, NodeId),
    /// Difference modulo 2^width; equal widths.
    Sub(NodeId, NodeId),
    /// Product modulo 2^width; equal widths.
    Mul(NodeId, NodeId),
    /// 1 bit: equality of equal widths.
    Eq(NodeId, NodeId),
    /// 1 bit: unsigned less-than of equal widths.
    Lt(NodeId, NodeId),
    /// Shift left by a value of any width; zeros come in, overshoot gives zero.
    Shl(NodeId, NodeId),
    /// Shift right by a value of any width; zeros come in, overshoot gives zero.
    Shr(NodeId, NodeId),
    /// `Mux(c, a, b)`: c of 1 bit chooses a, else b; equal widths.
    Mux(NodeId, NodeId, NodeId),
    /// Joined values, first least significant.
    Concat(Vec<NodeId>),
    /// `width` bits from `lo` on.
    Slice {
        /// Operand.
        a: NodeId,
        /// Lowest bit taken.
        lo: u32,
    },
    /// Element `idx` of a packed vector whose elements have the node's width; past the end: zero.
    Index {
        /// Packed vector; its width is a multiple of the element's.
        a: NodeId,
        /// Element number.
        idx: NodeId,
    },
    /// 1 bit: some bit set.
    AnyBit(NodeId),
    /// 1 bit: all bits set.
    AllBits(NodeId),
    /// 1 bit: exclusive or of all bits.
    Parity(NodeId),
    /// Number of set bits, in the node's width.
    PopCount(NodeId),
    /// Number of the lowest set bit, in the node's width; 0 when none is set.
    LowestSet(NodeId),
    /// Output port of an instance.
    InstOut {
        /// Which instance.
        inst: InstId,
        /// Signal of the instantiated module (an output).
        port: SigId,
    },
    /// Current content of a memory at an address; past the last row: zero.
    MemRead {
        /// Which memory.
        mem: MemId,
        /// Row number; for an SRAM the read of the address register of one of its read ports.
        addr: NodeId,
        /// Lanes taken.
        lane: LaneSel,
    },
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Node {
    /// Operation.
    pub op: Op,
    /// Width in bits.
    pub width: u32,
    /// Name given by the author, for waveforms and Verilog.
    pub name: Option<String>,
    /// Leaf kind, for display.
    pub ty: LeafType,
    /// Where it was written.
    pub loc: Loc,
}

/// A statement; later ones win over earlier ones.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `target` takes `value` (a register: at the clock edge).
    Assign {
        /// A wire or register.
        target: SigId,
        /// New value, of the target's width.
        value: NodeId,
        /// Where.
        loc: Loc,
    },
    /// Two-way choice.
    If {
        /// Condition, 1 bit.
        cond: NodeId,
        /// Taken when 1.
        then: Vec<Stmt>,
        /// Taken when 0.
        els: Vec<Stmt>,
        /// Where.
        loc: Loc,
    },
    /// Choice by value; a value listed nowhere takes `default`.
    Switch {
        /// Selector.
        sel: NodeId,
        /// Arms with their (distinct) values.
        arms: Vec<(Vec<Bv>, Vec<Stmt>)>,
        /// Arm for all other values.
        default: Vec<Stmt>,
        /// Where.
        loc: Loc,
    },
}

/// How a memory is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemKind {
    /// Synchronous-read SRAM: the address is registered, data is the current content at the registered address, so a write in the cycle
    /// in which the address was presented is seen (write first).
    Sram,
    /// Register file: read combinationally, any entry at any time.
    RegFile,
}

/// One write port of a memory; the signals are wires assigned by the body, `en` low by default.
#[derive(Clone, Debug)]
pub struct WritePort {
    /// Name, unique in the memory.
    pub name: String,
    /// 1 bit: write in this cycle.
    pub en: SigId,
    /// Row number; a row past the last is not written.
    pub addr: SigId,
    /// What is written.
    pub mode: WriteMode,
}

/// What a write port writes.
#[derive(Clone, Debug)]
pub enum WriteMode {
    /// The lanes whose mask bit is set.
    Row {
        /// One bit per lane.
        mask: SigId,
        /// Row data.
        data: SigId,
    },
    /// One lane.
    Lane {
        /// Lane number.
        lane: SigId,
        /// Lane data.
        data: SigId,
    },
}

/// One read port of an SRAM.
#[derive(Clone, Debug)]
pub struct ReadPort {
    /// Name, unique in the memory.
    pub name: String,
    /// Wire: the address presented in this cycle.
    pub addr: SigId,
    /// Register: the address presented in the cycle before.
    pub addr_q: SigId,
}

/// A memory: `rows` rows of `lanes` lanes of `lane_width` bits.
#[derive(Clone, Debug)]
pub struct Mem {
    /// Name, unique in the module.
    pub name: String,
    /// SRAM or register file.
    pub kind: MemKind,
    /// Number of rows.
    pub rows: u32,
    /// Lanes in a row.
    pub lanes: u32,
    /// Leaves of one lane, least significant first.
    pub leaves: Vec<Leaf>,
    /// Storage fields of one lane with their bits; they sum to the lane's width.
    pub fields: Vec<(String, u32)>,
    /// Read ports (SRAM only).
    pub read_ports: Vec<ReadPort>,
    /// Write ports; on the same lane of the same row a later port wins.
    pub write_ports: Vec<WritePort>,
    /// Where it was declared.
    pub loc: Loc,
}

impl Mem {
    /// Width of a lane in bits.
    pub fn lane_width(&self) -> u32 {
        self.leaves.iter().map(|l| l.width).sum()
    }

    /// Width of a row in bits.
    pub fn row_width(&self) -> u32 {
        self.lane_width() * self.lanes
    }
}

/// An instance of another module.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Name, unique in the parent.
    pub name: String,
    /// What it is an instance of.
    pub module: Arc<Module>,
    /// For each input of the module, the parent's wire that drives it.
    pub inputs: Vec<(SigId, SigId)>,
    /// Where.
    pub loc: Loc,
}

/// What a probe does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ProbeKind {
    /// The condition must hold in every cycle outside reset.
    Assert,
    /// Counts cycles in which the condition holds; a verification goal with a ledger identifier as its name.
    Cover,
    /// Counts cycles (or sums an amount); a measurement.
    Count,
}

/// An observer: it has no influence on the hardware.
#[derive(Clone, Debug)]
pub struct Probe {
    /// What it does.
    pub kind: ProbeKind,
    /// Name, unique in the module; for covers the ledger identifier.
    pub name: String,
    /// 1 bit.
    pub cond: NodeId,
    /// What to add while the condition holds (counts only); 1 if absent.
    pub amount: Option<NodeId>,
    /// Number of the line that it tells of while the condition holds.
    pub about: Option<NodeId>,
    /// One sentence: what it means.
    pub text: String,
    /// Where.
    pub loc: Loc,
}

/// What a module is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ModuleKind {
    /// A part of a block.
    Part,
    /// The unit that is scheduled, traced, exported and counted; all its outputs are registers.
    Block,
    /// Instances and connections only.
    Fabric,
}

/// An elaborated module.
#[derive(Clone, Debug)]
pub struct Module {
    /// Name, unique per distinct content: the builder's name.
    pub name: String,
    /// What it is for.
    pub kind: ModuleKind,
    /// Text for the head of the Verilog file and the documentation.
    pub doc: String,
    /// Parameters by name, for reports.
    pub params: Vec<(String, String)>,
    /// All signals; ports in order of declaration.
    pub signals: Vec<Signal>,
    /// All expressions; operands come before users except through signals.
    pub nodes: Vec<Node>,
    /// Statements.
    pub body: Vec<Stmt>,
    /// Memories.
    pub mems: Vec<Mem>,
    /// Instances.
    pub instances: Vec<Instance>,
    /// Observers.
    pub probes: Vec<Probe>,
    /// Ports by name, once somebody has asked.
    pub by_name: PortIndex,
}

/// Ports by name. A copy of a module, which may be changed, begins without.
#[derive(Debug, Default)]
pub struct PortIndex(OnceLock<FxHashMap<String, SigId>>);

impl Clone for PortIndex {
    fn clone(&self) -> PortIndex {
        PortIndex::default()
    }
}

impl Module {
    /// The signal's record.
    pub fn signal(&self, id: SigId) -> &Signal {
        &self.signals[id.index()]
    }

    /// The expression's record.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Input ports in order.
    pub fn inputs(&self) -> impl Iterator<Item = (SigId, &Signal)> {
        self.ports().filter(|(_, s)| s.kind == SigKind::Input)
    }

    /// Output ports in order.
    pub fn outputs(&self) -> impl Iterator<Item = (SigId, &Signal)> {
        self.ports().filter(|(_, s)| s.output)
    }

    /// All ports in order of declaration.
    pub fn ports(&self) -> impl Iterator<Item = (SigId, &Signal)> {
        let all = self.signals.iter().enumerate();
        all.filter(|(_, s)| s.output || s.kind == SigKind::Input).map(|(i, s)| (SigId(i as u32), s))
    }

    /// The port of this name.
    pub fn port(&self, name: &str) -> Option<SigId> {
        let index = self.by_name.0.get_or_init(|| self.ports().map(|(id, s)| (s.name.clone(), id)).collect());
        index.get(name).copied()
    }
}
