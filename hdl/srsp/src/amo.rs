//! The arithmetic of atomics on one word of 4 or 8 bytes, the same in an L1, in a bank and (as a model) in memory (srsp.md section 3).
//!
//! Words of 4 bytes stand in the low half of 64 bits; what lies above them in an operand does not matter, and in results it is zero. `Fadd32` is a full
//! adder of IEEE 754 single precision: round to nearest even, subnormal numbers, infinities; every NaN is the quiet NaN `0x7fc00000`.

use crate::msg::{Atomic, SyncOp};
use weft_rtl::prelude::*;

/// The quiet NaN that every invalid operation and every NaN operand gives.
pub const CANONICAL_NAN: u64 = 0x7fc0_0000;

/// What an atomic makes of its word.
#[derive(Clone, Copy)]
pub struct Amoed {
    /// The word after, 64 bits; one of 4 bytes in the low half, zeros above.
    pub new: Bits,
    /// It was written: by every operation but a load and a compare-and-swap that failed.
    pub wrote: Bool,
}

/// Carries an atomic out on `old`, 64 bits (a word of 4 bytes in the low half).
///
/// Decision: `Fadd32` of a word of 8 bytes adds the low halves and clears the high one; nobody sends it.
#[track_caller]
pub fn amo(a: &Atomic, old: Bits) -> Amoed {
    let narrow = |value: Bits| mux(a.wide, value, value.slice(0, 32).zext(64));
    let (old, opnd, cmp) = (narrow(old), narrow(a.opnd), narrow(a.cmp));
    let is = |op| a.op.is(op);
    let sum = narrow(old + opnd);
    let difference = narrow(old - opnd);
    let up = mux(old.ge(opnd), lit(0, 64), old + 1);
    let down = mux(old.none() | old.gt(opnd), opnd, old - 1);
    let sign = cat(&[a.wide.bits(), lit(0, 31), (!a.wide).bits(), lit(0, 31)]);
    let signed = is(SyncOp::SMin) | is(SyncOp::SMax);
    let flip = sign & signed.repeat(64);
    let less = (old ^ flip).lt(opnd ^ flip);
    let least = mux(less, old, opnd);
    let greatest = mux(less, opnd, old);
    let swaps = old.eq(cmp);
    let choices: [(&[SyncOp], Bits); 12] = [
        (&[SyncOp::St, SyncOp::Exch], opnd),
        (&[SyncOp::Add], sum),
        (&[SyncOp::Sub], difference),
        (&[SyncOp::Inc], up),
        (&[SyncOp::Dec], down),
        (&[SyncOp::And], old & opnd),
        (&[SyncOp::Or], old | opnd),
        (&[SyncOp::Xor], old ^ opnd),
        (&[SyncOp::Min, SyncOp::SMin], least),
        (&[SyncOp::Max, SyncOp::SMax], greatest),
        (&[SyncOp::Cas], mux(swaps, opnd, old)),
        (&[SyncOp::Fadd32], fadd32(old.slice(0, 32), opnd.slice(0, 32)).zext(64)),
    ];
    let new = choices.iter().fold(old, |so_far, (ops, value)| mux(a.op.is_any(ops), *value, so_far));
    let wrote = !is(SyncOp::Ld) & (!is(SyncOp::Cas) | swaps);
    Amoed { new, wrote }
}

/// Bits of a significand with its hidden bit, and of the three below it that rounding needs: guard, round, sticky.
const SIG: u32 = 27;

/// An operand taken apart.
#[derive(Clone, Copy)]
struct Float {
    sign: Bool,
    /// Biased exponent; 1 also for subnormal numbers, so that it is the significand's true scale.
    exp: Bits,
    /// Significand above the three rounding bits.
    sig: Bits,
    /// Infinity or NaN.
    special: Bool,
    nan: Bool,
}

impl Float {
    fn of(bits: Bits) -> Float {
        let (fraction, exp) = (bits.slice(0, 23), bits.slice(23, 8));
        let special = exp.all();
        Float {
            sign: bits.bit(31),
            exp: mux(exp.none(), lit(1, 8), exp),
            sig: cat(&[exp.any().bits(), fraction, lit(0, 3)]),
            special,
            nan: special & fraction.any(),
        }
    }
}

/// `x + y` in IEEE 754 single precision.
#[track_caller]
fn fadd32(x: Bits, y: Bits) -> Bits {
    let swap = x.slice(0, 31).lt(y.slice(0, 31));
    let (big, small) = (Float::of(mux(swap, y, x)), Float::of(mux(swap, x, y)));
    let subtract = !big.sign.eq(small.sign);
    let aligned = align(small.sig, big.exp - small.exp);
    // With the larger magnitude on the left a difference is never negative.
    let (wide, low) = (big.sig.zext(SIG + 1), aligned.zext(SIG + 1));
    let total = mux(subtract, wide - low, wide + low);
    let magnitude = round(total, big.exp);
    let sign = big.sign & !(subtract & total.none());
    let finite = cat(&[sign.bits(), magnitude]);
    let infinity = cat(&[big.sign.bits(), lit(0xff, 8), lit(0, 23)]);
    let invalid = big.nan | small.nan | (small.special & subtract);
    mux(invalid, lit(CANONICAL_NAN, 32), mux(big.special, infinity, finite))
}

/// `sig` shifted right by `by`; what falls out is kept as the sticky bit.
fn align(sig: Bits, by: Bits) -> Bits {
    let shifted = sig.shr_by(by);
    let lost = shifted.shl_by(by).ne(sig);
    shifted | lost.bits().zext(SIG)
}

/// Normalises a sum (one bit for the carry above the significand) at biased exponent `exp` and rounds it: 8 bits of exponent above 23 of fraction.
fn round(total: Bits, exp: Bits) -> Bits {
    let carry = total.bit(SIG);
    // A subnormal result keeps exponent 1.
    let from_the_top: Vec<Bool> = (0..SIG).rev().map(|i| total.bit(i)).collect();
    let zeros = pack_bools(&from_the_top).lowest_set().resize(8);
    let room = exp - 1;
    let by = mux(zeros.lt(room), zeros, room);
    let left = total.slice(0, SIG).shl_by(by);
    let right = cat(&[total.slice(2, SIG - 1), total.slice(0, 2).any().bits()]);
    let sig = mux(carry, right, left);
    let scale = mux(carry, exp.zext(9) + 1, exp.zext(9) - by.zext(9));
    let hidden = sig.bit(SIG - 1);
    let field = mux(hidden, scale, lit(0, 9));
    let up = sig.bit(2) & (sig.bit(3) | sig.slice(0, 2).any());
    // A carry out of the fraction is one more in the exponent, also from subnormal to normal.
    let rounded = cat(&[field, sig.slice(3, 23)]) + up.bits().zext(32);
    let overflow = rounded.slice(23, 9).ge(255);
    mux(overflow, cat(&[lit(0xff, 8), lit(0, 23)]), rounded.slice(0, 31))
}
