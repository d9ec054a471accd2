//! Writing into a line: masked stores and atomics (cu-and-consistency.md section 1).

use super::types::Payload;
use crate::common::atomic::Atomic;
use weft_rtl::prelude::*;

/// Result of a write.
pub(crate) struct Written {
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

/// Performs a store or atomic on a line.
pub(crate) fn write_line(name: &str, line: Bits, write: &Payload) -> Written {
    let bytes = write.mask.width();
    let first = write.mask.lowest_set();
    let index = first.slice(3, first.width() - 3);
    let wide = write.mask.popcount().eq(8);
    let upper = first.bit(2);
    let word = |eight: Bits| mux(wide, eight, mux(upper, eight.slice(32, 32), eight.slice(0, 32)).zext(64));
    let old = line.element(index, 64);
    let value = wire_or::<Bits>(&format!("{name}_value"), 8 * bytes, write.data);
    when(write.atom, || {
        let operand = word(write.data.element(index, 64));
        let (op, sgn, compare) = (write.amo, write.sgn, write.cmp);
        let result = Atomic { op, sgn, wide, old: word(old), operand, compare }.result(name);
        let low = result.slice(0, 32);
        let placed = mux(wide, result, cat(&[low, low]));
        value.set(pack(&vec![placed; bytes as usize / 8]));
    });
    let keep = spread(write.mask);
    let merged = wire_or::<Bits>(&format!("{name}_line"), 8 * bytes, write.data);
    when(!write.mask.all(), || merged.set((line & !keep) | (value.get() & keep)));
    Written { line: merged.get(), old }
}
