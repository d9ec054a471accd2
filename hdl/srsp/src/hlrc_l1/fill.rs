//! A FILL or REG_DATA at work, of which is noted that it is REG_DATA. Atomics of a REG_DATA are answered later, so they do not even wait for the CU (srsp.md sections 5 and 9).

use super::misses::Misses;
use super::table::Asked;
use crate::write_combining::fill::Filler;
use weft_rtl::prelude::*;

/// The line is installed, or not; its targets follow.
pub(super) fn install(filler: &Filler, misses: &Misses) {
    misses.filled(filler.entry.get());
    filler.serves.set(true);
    filler.follow(&misses.all);
}

/// The target at work is done. With the last one the entry is free, unless its atomics are still to be answered.
pub(super) fn served(filler: &Filler, misses: &Misses) {
    filler.advance(filler.here(), |left| {
        when(!filler.note.get(), || misses.all.leave(filler.entry.get(), left));
    });
}

/// Declares what stays, after all slots.
pub(super) fn finish(filler: &Filler, misses: &Misses) {
    filler.finish("hlrc_l1_fill_target", "an answer has a target");
    let reg = misses.miss(filler.entry.get()).asked.is(Asked::Reg);
    let text = "REG_DATA answers a REG, FILL an RD or RDU";
    assert_always("hlrc_l1_fill_kind", !filler.valid.get() | reg.eq(filler.note.get()), text);
}
