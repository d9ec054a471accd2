//! Writing into a line: masked stores and atomics (cu-and-consistency.md section 1).

use super::types::Payload;
use crate::msg::AmoOp;
use weft_rtl::prelude::*;

/// Result of a write.
pub(super) struct Written {
    /// The line afterwards.
    pub line: Bits,
    /// The aligned 8 bytes around an atomic's word, before it.
    pub old: Bits,
}

/// Bit i of a mask repeated over byte i.
pub(super) fn spread(mask: Bits) -> Bits {
    let bytes: Vec<Bits> = (0..mask.width()).map(|i| mask.bit(i).repeat(8)).collect();
    pack(&bytes)
}

fn operate(name: &str, old: Bits, write: &Payload, operand: Bits, wide: Bool) -> Bits {
    let sign = cat(&[(write.sgn & wide).bits(), lit(0, 31), (write.sgn & !wide).bits(), lit(0, 31)]);
    let less = (old ^ sign).lt(operand ^ sign);
    let compare = mux(wide, write.cmp, write.cmp.slice(0, 32).zext(64));
    let result = wire_zero::<Bits>(&format!("{name}_result"), 64);
    switch(write.amo, |s| {
        s.case(AmoOp::Add, || result.set(old + operand));
        s.case(AmoOp::Sub, || result.set(old - operand));
        s.case(AmoOp::Inc, || result.set(mux(old.ge(operand), lit(0, 64), old + 1)));
        s.case(AmoOp::Dec, || result.set(mux(old.none() | old.gt(operand), operand, old - 1)));
        s.case(AmoOp::And, || result.set(old & operand));
        s.case(AmoOp::Or, || result.set(old | operand));
        s.case(AmoOp::Xor, || result.set(old ^ operand));
        s.case(AmoOp::Min, || result.set(mux(less, old, operand)));
        s.case(AmoOp::Max, || result.set(mux(less, operand, old)));
        s.case(AmoOp::Exch, || result.set(operand));
        s.case(AmoOp::Cas, || result.set(mux(old.eq(compare), operand, old)));
        s.default(|| result.set(old));
    });
    result.get()
}

/// Performs a store or atomic on a line.
pub(super) fn write_line(name: &str, line: Bits, write: &Payload) -> Written {
    let bytes = write.mask.width();
    let first = write.mask.lowest_set();
    let index = first.slice(3, first.width() - 3);
    let wide = write.mask.popcount().eq(8);
    let upper = first.bit(2);
    let word = |eight: Bits| mux(wide, eight, mux(upper, eight.slice(32, 32), eight.slice(0, 32)).zext(64));
    let old = line.element(index, 64);
    let value = wire_or::<Bits>(&format!("{name}_value"), 8 * bytes, write.data);
    when(write.atom, || {
        let result = operate(name, word(old), write, word(write.data.element(index, 64)), wide);
        let low = result.slice(0, 32);
        let placed = mux(wide, result, cat(&[low, low]));
        value.set(pack(&vec![placed; bytes as usize / 8]));
    });
    let keep = spread(write.mask);
    let merged = wire_or::<Bits>(&format!("{name}_line"), 8 * bytes, write.data);
    when(!write.mask.all(), || merged.set((line & !keep) | (value.get() & keep)));
    Written { line: merged.get(), old }
}
