//! Whose slot the next cycle is.

use super::Core;
use super::port::{StashMap, StashReq};
use super::seek::Stage;
use crate::msg::Fwd;
use crate::word_l1::served::Served;
use weft_blocks::msg::CuOp;
use weft_cache::Head;
use weft_rtl::prelude::*;

/// Whose slot a cycle is, in order of precedence (spandex.md section 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Turn {
    /// Nobody's.
    None,
    /// That of a read, or an entry of the store buffer, whose words have all come.
    Done,
    /// That of the forward at the head.
    Fwd,
    /// That of the oldest entry of the store buffer.
    Drain,
    /// That of the acknowledgement whose stores are performed.
    Release,
    /// That of the walk for a new mapping.
    Walk,
    /// That of the request in S1.
    Cu,
}

/// Requests that a channel and S1 hold.
const AHEAD: u64 = 3;

/// The turn, with what it needs.
pub(super) struct Turns {
    turn: Reg<Enum<Turn>>,
    pub done: Served,
    pub fwd: InChannel<Fwd>,
    fwd_leaves: Wire<Bool>,
    fwd_moves: Wire<Bool>,
    fwd_again: Wire<Bool>,
    /// Drain, walk: it had to wait for an answer.
    drain_hold: Reg<Bool>,
    walk_hold: Reg<Bool>,
    pub map: InChannel<StashMap>,
    map_leaves: Wire<Bool>,
    /// Requests that were taken before the message, at most: two wait in the channel, one in S1.
    map_ahead: Reg<Bits>,
    pub head: Head<StashReq, StashReq>,
    /// The rows read are those of words that were found, not those of the request.
    pub at_run: Reg<Bool>,
}

impl Turns {
    pub fn new(core: &Core) -> Turns {
        let (p, s) = (&core.p, &core.p.spandex);
        let wire = |name: &str| wire_or::<Bool>(name, (), false);
        Turns {
            turn: reg::<Enum<Turn>>("turn", ()),
            done: Served::new(&core.word.l1),
            fwd: in_channel::<Fwd>("l1_fwd", s),
            fwd_leaves: wire("fwd_leaves"),
            fwd_moves: wire("fwd_moves"),
            fwd_again: wire("fwd_again"),
            drain_hold: reg::<Bool>("drain_hold", ()),
            walk_hold: reg::<Bool>("walk_hold", ()),
            map: in_channel::<StashMap>("map", p),
            map_leaves: wire("map_leaves"),
            map_ahead: reg::<Bits>("map_ahead", 2).reset(&[AHEAD]),
            head: Head::new(in_channel::<StashReq>("cu_req", p), p),
            at_run: reg::<Bool>("at_run", ()),
        }
    }

    /// This cycle is the slot of one of these.
    pub fn is(&self, turn: Turn) -> Bool {
        self.turn.get().is(turn)
    }

    /// The forward is done with.
    pub fn end_fwd(&self, core: &Core) {
        self.fwd.take();
        self.fwd_leaves.set(true);
        core.search.fwd.end();
    }
    /// The forward's words in another mapping are looked at next.
    pub fn move_fwd(&self, core: &Core) {
        self.fwd_moves.set(true);
        core.search.fwd.advance();
    }
    /// The next slot is that of the same forward, whose words must not change between its two answers.
    pub fn repeat_fwd(&self) {
        self.fwd_again.set(true);
    }

    /// They must wait for an answer.
    pub fn hold_drain(&self) {
        self.drain_hold.set(true);
    }
    pub fn hold_walk(&self) {
        self.walk_hold.set(true);
    }

    /// The mapping is ready.
    pub fn end_map(&self) {
        self.map.take();
        self.map_leaves.set(true);
    }

    /// Requests that the CU sent before the mapping's message come before it: a wave's last store may still be on its way when its space is mapped again.
    fn follow(&self, leaves: Bool) {
        let (ahead, idle) = (self.map_ahead.get(), !self.head.valid.get() & !self.head.req.valid);
        let passed = self.head.valid.get() & leaves & ahead.any();
        let next = mux(passed, ahead - 1, ahead);
        let next = mux(idle, lit(0, 2), next);
        let next = mux(self.map_leaves.get(), lit(AHEAD, 2), next);
        when(self.map.valid, || self.map_ahead.set(next));
    }

    /// Takes a request; whether one waits afterwards, and its rows.
    fn accept(&self, core: &Core, leaves: Bool) -> (Bool, Bits) {
        let (head, m) = (&self.head, &self.head.req.msg);
        let (accept, waits) = head.accept(head.req.valid, leaves, || head.op.set(m));
        let memory = m.op.is_any(&[CuOp::Ld, CuOp::St]);
        let other = m.op.is_any(&[CuOp::Rel, CuOp::Acq, CuOp::Kbegin, CuOp::Kend]);
        let legal = (memory & m.mask.any()) | (other & m.mask.none());
        let text = "an operation is one that the stash can carry out";
        assert_always("stash_legal", !accept | legal, text);
        let own = core.search.cu.is(Stage::Alias);
        let alias = core.banks.rows_from(core.search.other_run.get().first);
        (waits, mux(accept, m.row, mux(own, alias, head.op.get().row)))
    }

    /// The next entry that is done, or the next load of the present one; true if there is one.
    fn choose_done(&self, core: &Core) -> Bool {
        let (mshrs, stores) = (|| core.mshrs.ready.get(), || core.pending.ready.get());
        let (any, at, _, next) = self.done.choose(mshrs, stores, |any| any);
        core.mshrs.present(at.slice(0, core.p.spandex.mshr_bits()), next);
        any
    }

    /// Chooses the next slot and presents its rows. `leaves`: the request leaves S1; `event`: an answer has come, a forward or an entry is done.
    pub fn choose(&self, core: &Core, leaves: Bool, event: Bool) {
        let (requests, request_rows) = self.accept(core, leaves);
        let turn = |t: Turn| enum_lit(t);
        let next = mux(requests, turn(Turn::Cu), turn(Turn::None));
        // Of these three none is chosen twice in a row: what it waits for may need another turn.
        let maps = self.map.valid & !self.map_leaves.get();
        self.follow(leaves);
        let walks =
            maps & self.map_ahead.get().none() & (!self.walk_hold.get() | event) & !self.is(Turn::Walk);
        let next = mux(walks, turn(Turn::Walk), next);
        let releases = core.releases.ready(event) & !self.is(Turn::Release);
        let next = mux(releases, turn(Turn::Release), next);
        let oldest = core.buffer.oldest();
        let wants = oldest.there & !oldest.behind & core.buffer.drains(core.releases.writes());
        let drains = wants & (!self.drain_hold.get() | event) & !self.is(Turn::Drain);
        let next = mux(drains, turn(Turn::Drain), next);
        let stays = !self.fwd_leaves.get() & !self.fwd_moves.get();
        let next = mux(self.fwd.valid & core.search.fwd.known.get() & stays, turn(Turn::Fwd), next);
        let done = self.choose_done(core);
        let next = mux(done, turn(Turn::Done), next);
        let next = mux(self.fwd_again.get(), turn(Turn::Fwd), next).named("turn_next");
        self.turn.set(next);
        when(event, || {
            self.drain_hold.set(false);
            self.walk_hold.set(false);
        });
        let search = &core.search;
        let of_run = |run: Bits| core.banks.rows_from(run);
        let rows = mux(next.is(Turn::Fwd), of_run(search.fwd.run.get().first), request_rows);
        let rows = mux(next.is(Turn::Walk), of_run(search.walk.run.get().first), rows);
        core.banks.present(rows.named("rows_next"));
        let alias = next.is(Turn::Cu) & search.cu.is(Stage::Alias);
        self.at_run.set(alias | (next.is(Turn::Walk) & search.walk.is(Stage::Ready)));
    }
}
