//! What slots of both L1s do.

use super::lines::OwnableStates;
use super::rows::{Comes, Leaves};
use crate::write_combining::misses::{Asks, Misses};
use crate::write_combining::op::Kind;
use crate::write_combining::slot::{Looked, Plan};
use crate::write_combining::{LineStates, Lines, Shape};
use weft_rtl::prelude::*;

/// What comes for an MSHR: REG_DATA if it `grants`.
pub(crate) fn comes(grants: Bool) -> Enum<Comes> {
    mux(grants, enum_lit(Comes::RegData), enum_lit(Comes::Fill))
}

impl<S: OwnableStates> Looked<S> {
    /// Bytes are written into the line, which is owned or is going to be, where the operation says; it remembers them.
    pub fn write_owned(&self, lines: &Lines<S>, bytes: Bits) {
        let (found, way, mask) = (&self.found, self.way, self.op.mask);
        lines.put_bytes(found, way, mask, bytes);
        lines.put_mask(found, way, lines.mask(way) | mask);
    }

    /// The program of an operation of several steps without an access: a fence that acquires or one that releases, a kernel's begin or end.
    pub fn program<P: HwEnum>(&self, [acquire, release, begin, end]: [P; 4]) -> Enum<P> {
        let fence = mux(self.is(Kind::Acq), enum_lit(acquire), enum_lit(release));
        let kernel = mux(self.is(Kind::Begin), enum_lit(begin), enum_lit(end));
        mux(self.op.kind.is_any(&[Kind::Acq, Kind::Rel]), fence, kernel)
    }

    /// The row of the line that leaves: by a pop (`drains`), at a kernel's end (`walks`), or because its frame is taken (`opens`).
    pub fn leaving<P: HwEnum>(
        &self,
        lines: &Lines<S>,
        table: &Transitions<(Leaves, S), S, P>,
        [drains, walks, opens]: [Bool; 3],
    ) -> Decoded<S, P> {
        let event = mux(drains, enum_lit(Leaves::Pop), enum_lit(Leaves::Evict));
        let state = mux(opens, self.found.victim_state, self.found.state);
        let state = mux(walks, enum_lit(S::O), state);
        let line = lines.line_in(&self.found, self.way);
        table.decode_about_but(line, &["evict.I"], opens | drains | walks, (event, state))
    }

    /// Checks that the line that leaves is left as its row says. A free frame, which is taken, has none.
    pub fn check_left<O: HwEnum, P: HwEnum, M>(
        &self,
        lines: &Lines<S>,
        plan: &Plan<S, O, P, M>,
        [opens, walks]: [Bool; 2],
    ) {
        let found = &self.found;
        let frame = plan.goes & opens;
        let line = frame & !found.victim_state.is(S::I);
        let before = mux(frame, found.victim_state, found.state);
        let before = mux(walks, enum_lit(S::O), before);
        let after = lines.left_in(found, self.way, before);
        plan.leave.leads_to_when(plan.pops | walks | line, after);
    }

    /// Checks for the block that the operation's line has one open MSHR at most.
    pub fn check_open<M: Asks, T: Data<Shape = Shape>, G>(&self, block: &str, misses: &Misses<M, T, G>) {
        self.check(block, true);
        let alone = misses.of_line(self.op.line).popcount().zext(8).le(1);
        let text = "a line has one open MSHR at most";
        assert_always(&format!("{block}_one_open"), !self.request | alone, text);
    }
}
