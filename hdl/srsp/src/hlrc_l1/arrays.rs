//! The arrays of the lines, with the states that they have here.

use super::table::OwnState;
use crate::write_combining::{self, Lines};
use weft_rtl::prelude::*;

pub(super) type Arrays = Lines<OwnState>;
pub(super) type Found = write_combining::Found<OwnState>;

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

    /// Some line is under way.
    pub fn some_pending(&self) -> Bool {
        (self.third.get() & !self.dirty.get()).any()
    }
}
