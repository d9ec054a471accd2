//! The arrays of the lines, with the states that they have here.

use super::table::{FLASH, LineState};
use crate::write_combining::{self, LineStates, Lines};
use weft_rtl::prelude::*;

pub(super) type Arrays = Lines<LineState>;
pub(super) type Found = write_combining::Found<LineState>;

impl LineStates for LineState {
    const BLOCK: &'static str = "srsp_l1";
    const THIRD: &'static str = "line_pending";
    const KEEPS: bool = false;
}

impl Arrays {
    /// Looks a line up in its row, which was presented in the cycle before; `active`: it was.
    pub fn look_up(&self, line: Bits, active: Bool) -> Found {
        let row = self.row(line);
        let at = self.find(line, &row, active);
        self.found(&row, at, || !row.third, row.third)
    }

    /// Declares how the states change; call it last. `dirty_lines` bounds the lines that may be dirty.
    pub fn finish(&self, dirty_lines: Bits) {
        self.settle(dirty_lines);
        for (id, state, text) in FLASH {
            let plane = if state == LineState::V { &self.full } else { &self.third };
            cover(id, self.flashes() & plane.get().any(), text);
        }
    }

    /// Some line is under way.
    pub fn some_pending(&self) -> Bool {
        self.third.get().any()
    }
}
