//! The states of lines that may be owned: bit 2 is that of lines which a flash invalidation leaves.

use crate::write_combining::{LineStates, Lines};
use weft_rtl::prelude::*;

/// The states of an L1 in which lines are registered: behind those that all L1s have P, PR and O.
pub(crate) trait OwnableStates: HwEnum {
    /// Begins the names of the block's assertions.
    const BLOCK: &'static str;
    /// Rows of a flash invalidation, each with what it means: of V, P, PR and O. It is one cycle for all lines, so they are observed, not decoded; none is D or W then.
    const FLASH: [(&'static str, &'static str); 4];
    /// Owned: registered to this L1.
    const O: Self = Self::VARIANTS[6];
}

impl<S: OwnableStates> LineStates for S {
    const BLOCK: &'static str = S::BLOCK;
    const THIRD: &'static str = "line_kept";
    const KEEPS: bool = true;
}

impl<S: OwnableStates> Lines<S> {
    /// Declares how the states change; call it last. `dirty_lines` bounds the lines that may be dirty.
    pub fn finish_ownable(&self, dirty_lines: Bits) {
        self.settle(dirty_lines);
        let (full, dirty, kept) = (self.full.get(), self.dirty.get(), self.third.get());
        let these = [full & !kept, kept & !dirty & !full, kept & full, kept & dirty];
        for ((id, text), these) in S::FLASH.into_iter().zip(these) {
            cover(id, self.flashes() & these.any(), text);
        }
    }

    /// No line is owned.
    pub fn none_owned(&self) -> Bool {
        (self.third.get() & self.dirty.get()).none()
    }
}
