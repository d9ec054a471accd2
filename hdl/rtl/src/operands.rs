//! The operands of an operation.

use crate::ir::{LaneSel, NodeId, Op};

/// Visits the operands of an operation, shared or mutable; `$iter` is the fitting way through a list.
macro_rules! operands_of {
    ($op:expr, $iter:ident, $visit:expr) => {{
        let mut visit = $visit;
        match $op {
            Op::Const(_) | Op::Sig(_) | Op::InstOut { .. } => {}
            Op::Not(a)
            | Op::AnyBit(a)
            | Op::AllBits(a)
            | Op::Parity(a)
            | Op::PopCount(a)
            | Op::LowestSet(a)
            | Op::Slice { a, .. } => visit(a),
            Op::And(a, b)
            | Op::Or(a, b)
            | Op::Xor(a, b)
            | Op::Add(a, b)
            | Op::Sub(a, b)
            | Op::Mul(a, b)
            | Op::Eq(a, b)
            | Op::Lt(a, b)
            | Op::Shl(a, b)
            | Op::Shr(a, b)
            | Op::Index { a, idx: b } => {
                visit(a);
                visit(b);
            }
            Op::Mux(c, a, b) => {
                visit(c);
                visit(a);
                visit(b);
            }
            Op::Concat(parts) => parts.$iter().for_each(visit),
            Op::MemRead { addr, lane, .. } => {
                visit(addr);
                if let LaneSel::Dyn(n) = lane {
                    visit(n);
                }
            }
        }
    }};
}

/// Calls `f` for each operand of an operation.
pub fn operands(op: &Op, f: &mut impl FnMut(NodeId)) {
    operands_of!(op, iter, |id: &NodeId| f(*id));
}

/// Calls `f` for each operand, which may put another one in its place.
pub fn change_operands(op: &mut Op, f: impl FnMut(&mut NodeId)) {
    operands_of!(op, iter_mut, f);
}
