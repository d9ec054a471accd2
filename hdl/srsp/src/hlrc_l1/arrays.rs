//! The arrays of the lines, with the states that they have here: bit 2 is that of lines which a flash invalidation leaves.

use super::table::{FLASH, OwnState};
use crate::write_combining::{self, LineStates, Lines};
use weft_rtl::prelude::*;

pub(super) type Arrays = Lines<OwnState>;
pub(super) type Found = write_combining::Found<OwnState>;

impl LineStates for OwnState {
    const BLOCK: &'static str = "hlrc_l1";
    const THIRD: &'static str = "line_kept";
    const KEEPS: bool = true;
}

impl Arrays {
    /// Looks a line up in its row, which was presented in the cycle before, if `active`; and the ways of the row that are owned. `aware`: they are victims only when there is no other.
    pub fn look_up(&self, line: Bits, active: Bool, aware: bool) -> (Found, Bits) {
        let row = self.row(line);
        let owned = (row.third & row.dirty).named("ways_owned");
        let pending = (row.third & !row.dirty).named("ways_pending");
        let at = self.find(line, &row, active);
        let plain = !pending & !owned;
        let may = if aware { mux(plain.any(), plain, owned) } else { !pending };
        (self.found(&row, at, || may, pending), owned)
    }

    /// Declares how the states change; call it last. `dirty_lines` bounds the lines that may be dirty.
    pub fn finish(&self, dirty_lines: Bits) {
        self.settle(dirty_lines);
        let (full, dirty, kept) = (self.full.get(), self.dirty.get(), self.third.get());
        for (id, state, text) in FLASH {
            let these = match state {
                OwnState::V => full & !kept,
                OwnState::P => kept & !dirty & !full,
                OwnState::PR => kept & full,
                _ => kept & dirty,
            };
            cover(id, self.flashes() & these.any(), text);
        }
    }

    /// Some line is under way.
    pub fn some_pending(&self) -> Bool {
        (self.third.get() & !self.dirty.get()).any()
    }

    /// No line is owned.
    pub fn none_owned(&self) -> Bool {
        (self.third.get() & self.dirty.get()).none()
    }
}
