//! What atomics compute, on the host (srsp.md section 3).

use weft_srsp::amo::CANONICAL_NAN;
use weft_srsp::msg::SyncOp;

/// All operations, by encoding.
pub const OPS: [SyncOp; 16] = [
    SyncOp::Ld,
    SyncOp::St,
    SyncOp::Add,
    SyncOp::Sub,
    SyncOp::Inc,
    SyncOp::Dec,
    SyncOp::And,
    SyncOp::Or,
    SyncOp::Xor,
    SyncOp::Min,
    SyncOp::Max,
    SyncOp::SMin,
    SyncOp::SMax,
    SyncOp::Exch,
    SyncOp::Cas,
    SyncOp::Fadd32,
];

/// Single-precision sum of two encodings by the host's adder.
pub fn fadd(x: u64, y: u64) -> u64 {
    let sum = f32::from_bits(x as u32) + f32::from_bits(y as u32);
    if sum.is_nan() { CANONICAL_NAN } else { u64::from(sum.to_bits()) }
}

/// The word after an operation, and whether it was written. Words of 4 bytes are the low halves.
pub fn apply(op: SyncOp, wide: bool, old: u64, opnd: u64, cmp: u64) -> (u64, bool) {
    let cut = |v: u64| if wide { v } else { v & 0xffff_ffff };
    let signed = |v: u64| if wide { v as i64 } else { i64::from(v as u32 as i32) };
    let (old, opnd, cmp) = (cut(old), cut(opnd), cut(cmp));
    let pick = |cond: bool, a: u64, b: u64| if cond { a } else { b };
    let new = match op {
        SyncOp::Ld => old,
        SyncOp::St | SyncOp::Exch => opnd,
        SyncOp::Add => cut(old.wrapping_add(opnd)),
        SyncOp::Sub => cut(old.wrapping_sub(opnd)),
        SyncOp::Inc => pick(old >= opnd, 0, old.wrapping_add(1)),
        SyncOp::Dec => pick(old == 0 || old > opnd, opnd, old.wrapping_sub(1)),
        SyncOp::And => old & opnd,
        SyncOp::Or => old | opnd,
        SyncOp::Xor => old ^ opnd,
        SyncOp::Min => old.min(opnd),
        SyncOp::Max => old.max(opnd),
        SyncOp::SMin => cut(signed(old).min(signed(opnd)) as u64),
        SyncOp::SMax => cut(signed(old).max(signed(opnd)) as u64),
        SyncOp::Cas => pick(old == cmp, opnd, old),
        SyncOp::Fadd32 => fadd(old, opnd),
    };
    let wrote = match op {
        SyncOp::Ld => false,
        SyncOp::Cas => old == cmp,
        _ => true,
    };
    (new, wrote)
}
