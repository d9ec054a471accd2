//! The arrays of the lines, with the states that they have here.

use super::table::LineState;
use crate::write_combining::{self, Lines};
use weft_rtl::prelude::*;

pub(super) type Arrays = Lines<LineState>;
pub(super) type Found = write_combining::Found<LineState>;

/// What the row of a line says beside the line.
#[derive(Clone, Copy)]
pub(crate) struct Ways {
    /// Ways that are owned.
    pub owned: Bits,
    /// Some way holds written bytes that are not registered: it is no victim, but becomes one when the sFIFO is popped.
    pub written: Bool,
}

impl Arrays {
    /// Looks a line up in its row, which was presented in the cycle before, if `active`. `aware`: owned lines are victims only when there is no other.
    pub fn look_up(&self, line: Bits, active: Bool, aware: bool) -> (Found, Ways) {
        let row = self.row(line);
        let owned = (row.third & row.dirty).named("ways_owned");
        let written = (!row.third & row.dirty).named("ways_written");
        let bound = (row.third & !row.dirty) | written;
        let at = self.find(line, &row, active);
        let plain = !bound & !owned;
        let may = if aware { mux(plain.any(), plain, owned) } else { !bound };
        (self.found(&row, at, || may, bound), Ways { owned, written: written.any() })
    }

    /// Some copy is on its way.
    pub fn some_coming(&self) -> Bool {
        (self.third.get() & !self.dirty.get() & !self.full.get()).any()
    }
}
