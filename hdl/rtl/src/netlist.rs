//! The flattened form that simulators read: pure expressions in topological order, registers, memories.
//!
//! `when` and `switch` become [`NetOp::Mux`] and [`NetOp::Case`]; a register that a path does not assign has itself as that path's value.
//! Equal expressions are shared and constants are folded.

use crate::bv::Bv;
use crate::ir::{EnumType, LeafType, MemKind, ProbeKind};
use std::sync::Arc;

/// An expression of the netlist: index into [`Netlist::nodes`]; operands always have lower numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NetId(pub u32);

impl NetId {
    /// Position in the list.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Which lanes a memory access touches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NetLane {
    /// The whole row, lane 0 lowest.
    Row,
    /// A fixed lane.
    Const(u32),
    /// A lane chosen by a value; past the last: reads zero, writes nothing.
    Dyn(NetId),
}

/// Operations; see [`crate::ir::Op`] for the width rules.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum NetOp {
    Const(Bv),
    /// Input port number.
    Input(u32),
    /// Current value of a register (index into [`Netlist::regs`]).
    Reg(u32),
    Not(NetId),
    And(NetId, NetId),
    Or(NetId, NetId),
    Xor(NetId, NetId),
    Add(NetId, NetId),
    Sub(NetId, NetId),
    Mul(NetId, NetId),
    Eq(NetId, NetId),
    Lt(NetId, NetId),
    Shl(NetId, NetId),
    Shr(NetId, NetId),
    /// 1-bit condition, value if 1, value if 0.
    Mux(NetId, NetId, NetId),
    /// Choice by value: selector, arms with distinct values, value for all others.
    Case {
        sel: NetId,
        arms: Vec<(Vec<Bv>, NetId)>,
        default: NetId,
    },
    /// First operand least significant.
    Concat(Vec<NetId>),
    /// Bits from `lo` on, in the node's width.
    Slice {
        a: NetId,
        lo: u32,
    },
    /// Element of the node's width; past the end: zero.
    Index {
        a: NetId,
        idx: NetId,
    },
    AnyBit(NetId),
    AllBits(NetId),
    Parity(NetId),
    PopCount(NetId),
    /// Zero when no bit is set.
    LowestSet(NetId),
    /// Content before this cycle's writes; an address past the last row reads zero.
    MemRead {
        mem: u32,
        addr: NetId,
        lane: NetLane,
    },
}

/// Visits the operands of an operation, shared or mutable; `$iter` is the fitting way through a list.
macro_rules! operands_of {
    ($op:expr, $iter:ident, $visit:expr) => {{
        let mut visit = $visit;
        match $op {
            NetOp::Const(_) | NetOp::Input(_) | NetOp::Reg(_) => {}
            NetOp::Not(a)
            | NetOp::AnyBit(a)
            | NetOp::AllBits(a)
            | NetOp::Parity(a)
            | NetOp::PopCount(a)
            | NetOp::LowestSet(a)
            | NetOp::Slice { a, .. } => visit(a),
            NetOp::And(a, b)
            | NetOp::Or(a, b)
            | NetOp::Xor(a, b)
            | NetOp::Add(a, b)
            | NetOp::Sub(a, b)
            | NetOp::Mul(a, b)
            | NetOp::Eq(a, b)
            | NetOp::Lt(a, b)
            | NetOp::Shl(a, b)
            | NetOp::Shr(a, b)
            | NetOp::Index { a, idx: b } => {
                visit(a);
                visit(b);
            }
            NetOp::Mux(c, a, b) => {
                visit(c);
                visit(a);
                visit(b);
            }
            NetOp::Case { sel, arms, default } => {
                visit(sel);
                arms.$iter().for_each(|(_, v)| visit(v));
                visit(default);
            }
            NetOp::Concat(parts) => parts.$iter().for_each(visit),
            NetOp::MemRead { addr, lane, .. } => {
                visit(addr);
                if let NetLane::Dyn(n) = lane {
                    visit(n);
                }
            }
        }
    }};
}

impl NetOp {
    /// Calls `f` for each operand.
    pub fn operands(&self, f: &mut impl FnMut(NetId)) {
        operands_of!(self, iter, |id: &NetId| f(*id));
    }

    /// The same operation on other operands: each is replaced by what `f` makes of it, in the order of [`NetOp::operands`].
    pub fn with_operands(&self, f: &mut impl FnMut(NetId) -> NetId) -> NetOp {
        let mut op = self.clone();
        operands_of!(&mut op, iter_mut, |id: &mut NetId| *id = f(*id));
        op
    }
}

/// An expression with its width in bits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NetNode {
    /// Operation.
    pub op: NetOp,
    /// Width in bits.
    pub width: u32,
}

/// A register.
#[derive(Clone, Debug)]
pub struct NetReg {
    /// Hierarchical name, parts joined by `.`.
    pub path: String,
    /// Width in bits.
    pub width: u32,
    /// Reset value; none for an SRAM's address register, which is clocked during reset too.
    pub reset: Option<Bv>,
    /// Value after the next clock edge.
    pub next: NetId,
    /// Kind, for display.
    pub ty: LeafType,
    /// Storage fields with their bits (empty for an SRAM's address register).
    pub fields: Vec<(String, u32)>,
}

/// What a write port writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NetWriteMode {
    /// The lanes whose mask bit is set, from a whole row of data.
    Row {
        /// One bit per lane.
        mask: NetId,
        /// Row data.
        data: NetId,
    },
    /// One lane; past the last: nothing.
    Lane {
        /// Lane number.
        lane: NetId,
        /// Lane data.
        data: NetId,
    },
}

/// A write port. On the same lane of the same row a later port of the list wins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NetWrite {
    /// 1 bit.
    pub en: NetId,
    /// Row; past the last: nothing is written.
    pub addr: NetId,
    /// What.
    pub mode: NetWriteMode,
}

/// A memory of `rows` x `lanes` x `lane_width` bits. Content after power-up is zero in two-state simulation.
#[derive(Clone, Debug)]
pub struct NetMem {
    /// Hierarchical name.
    pub path: String,
    /// SRAM or register file (no difference to a simulator).
    pub kind: MemKind,
    /// Rows.
    pub rows: u32,
    /// Lanes in a row.
    pub lanes: u32,
    /// Bits in a lane.
    pub lane_width: u32,
    /// Storage fields of one lane with their bits.
    pub fields: Vec<(String, u32)>,
    /// Write ports.
    pub writes: Vec<NetWrite>,
}

/// A port.
#[derive(Clone, Debug)]
pub struct NetPort {
    /// Name.
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// Kind.
    pub ty: LeafType,
    /// For an input its [`NetOp::Input`] node; for an output its value in the present cycle (a [`NetOp::Reg`] or constant for blocks).
    pub node: NetId,
}

/// An observer.
#[derive(Clone, Debug)]
pub struct NetProbe {
    /// Hierarchical path of the module instance it stands in (empty at the top).
    pub scope: String,
    /// Name.
    pub name: String,
    /// What it does.
    pub kind: ProbeKind,
    /// 1 bit.
    pub cond: NetId,
    /// Amount added while the condition holds.
    pub amount: Option<NetId>,
    /// Number of the line that it tells of while the condition holds.
    pub about: Option<NetId>,
    /// One sentence.
    pub text: String,
    /// Source line, for messages.
    pub at: String,
}

/// A combinational value with a name, for waveforms.
#[derive(Clone, Debug)]
pub struct NetName {
    /// Hierarchical name.
    pub path: String,
    /// Value.
    pub node: NetId,
    /// Kind.
    pub ty: LeafType,
}

/// A flattened module.
#[derive(Clone, Debug, Default)]
pub struct Netlist {
    /// Name of the top module.
    pub name: String,
    /// Expressions in topological order.
    pub nodes: Vec<NetNode>,
    /// Registers.
    pub regs: Vec<NetReg>,
    /// Memories.
    pub mems: Vec<NetMem>,
    /// Input ports in order.
    pub inputs: Vec<NetPort>,
    /// Output ports in order.
    pub outputs: Vec<NetPort>,
    /// Observers.
    pub probes: Vec<NetProbe>,
    /// Named combinational values (registers and ports are not repeated here).
    pub names: Vec<NetName>,
}

impl Netlist {
    /// The expression's record.
    #[inline]
    pub fn node(&self, id: NetId) -> &NetNode {
        &self.nodes[id.index()]
    }

    /// Enumerations used by registers, ports and names, each once.
    pub fn enums(&self) -> Vec<Arc<EnumType>> {
        let mut out: Vec<Arc<EnumType>> = Vec::new();
        let regs = self.regs.iter().map(|r| &r.ty);
        let ports = self.inputs.iter().chain(&self.outputs).map(|p| &p.ty);
        for ty in regs.chain(ports).chain(self.names.iter().map(|n| &n.ty)) {
            if let LeafType::Enum(e) = ty
                && !out.contains(e)
            {
                out.push(e.clone());
            }
        }
        out
    }
}
