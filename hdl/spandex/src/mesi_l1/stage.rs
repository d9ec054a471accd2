//! The slot: a cycle's one access to lines and lists, done as a whole or not at all.

use super::Core;
use super::arrays::Found;
use super::mshrs::Miss;
use super::op::{Kind, Work};
use super::params::MesiL1Inject;
use super::plan::{Plan, Waits};
use super::table::{
    Access, Change, Evict, Mshr, Operate, Serve, answers, lookups, operations, targets, victims,
};
use super::turn::{Turn, Turns};
use crate::amo::{WordAlu, spread};
use crate::mesi_port::{DownOp, LineState, MesiUp, UpOp};
use weft_blocks::cache::l1::StallCause;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// What a slot sees.
pub(super) struct Slot<'a> {
    pub core: &'a Core,
    pub turns: &'a Turns,
    pub found: Found,
    kind: Enum<Kind>,
    releases: Bool,
    /// Line of the request in S1.
    line: Bits,
    /// What the request in S1 does, or the operation that an answer serves.
    pub op: Work,
    /// The slot is that of a request in S1.
    pub request: Bool,
    /// The slot is that of an operation which an answer serves.
    pub serves: Bool,
}

impl<'a> Slot<'a> {
    pub fn new(core: &'a Core, turns: &'a Turns) -> Slot<'a> {
        let filler = &core.filler;
        let fills = turns.is(Turn::Fill);
        let served = core.mshrs.op();
        let s1 = turns.head.op.get();
        let op = mux(fills, served, s1.work);
        let filled = core.mshrs.miss(mux(filler.waits(), filler.down.msg.tag, filler.mshr.get())).line;
        let line = mux(turns.is(Turn::Ext), turns.ext.msg.line, s1.line);
        let line = mux(fills, filled, line).named("slot_line");
        let found = core.arrays.look_up(line, !turns.is(Turn::None));
        let request = (turns.is(Turn::Cu) & turns.head.valid.get()).named("slot_request");
        let serves = fills & filler.serves.get();
        let (kind, releases, line) = (s1.kind, s1.releases, s1.line);
        Slot { core, turns, found, kind, releases, line, op, request, serves }
    }

    /// Decides what the slot does and does it.
    pub fn carry_out(&self) -> Plan {
        let plan = self.plan();
        self.install();
        self.serve(&plan);
        self.end_answer();
        self.access(&plan);
        self.look_up(&plan);
        self.answer(&plan);
        self.tell_stall(&plan);
        let text = "an atomic is of whole words, a compare-and-swap of one";
        assert_always("mesi_l1_legal", !self.request | self.op.legal(), text);
        plan
    }

    fn is(&self, access: Access) -> Bool {
        self.op.access.is(access)
    }

    fn plan(&self) -> Plan {
        let (core, op) = (self.core, &self.op);
        let early = bool_lit(core.p.inject == MesiL1Inject::EarlyRelease);
        let written = core.mshrs.written() | early;
        let release_waits = self.request & self.releases & !written;
        let looks = self.request & self.kind.is(Kind::Access) & !release_waits;
        let looks = looks.named("slot_looks");
        let row = self.decode(looks);
        let opens = looks & row.does(Operate::Miss);
        let gone = core.arrays.line_in(&self.found, self.found.victim);
        let evicts = opens & self.found.room;
        let victim = victims().decode_about_but(gone, &["Evict.I"], evicts, (self.found.victim_state,));
        let asks = looks & (row.does(Operate::Miss) | row.does(Operate::Upgrade));
        let pends = looks & self.found.state.is(LineState::P);
        let puts = opens & victim.does(Evict::Put);
        let waits = Waits {
            mshr: asks & core.mshrs.full(),
            entry: (asks | pends) & core.mshrs.entries_full(),
            room: opens & !self.found.room,
            credit: puts & self.found.room & core.credits.get().none(),
        };
        let able = !(waits.mshr | waits.entry | waits.room | waits.credit);
        let free = (!asks | core.mshrs.can_ask()) & (!puts | core.up.free);
        let now = looks & (row.does(Operate::Hit) | row.does(Operate::Write) | row.does(Operate::Perform));
        let reply = !(now & op.answered) | core.cu_rsp.free;
        let goes = (looks & !row.does(Operate::Wait) & able & free & reply).named("slot_goes");
        let fence = self.request & !self.kind.is(Kind::Access);
        let fenced = fence & !release_waits & core.cu_rsp.free;
        let state = self.served_state();
        let target = targets().decode_about(self.line, self.serves, (op.access, state));
        let does = !target.does(Serve::Again);
        let served = (self.serves & does & (!op.answered | core.cu_rsp.free)).named("slot_served");
        Plan {
            row,
            target,
            victim,
            looks,
            goes,
            leaves: (goes | fenced).named("slot_leaves"),
            served,
            looked: (self.turns.is(Turn::Ext) & self.turns.ext.valid & core.up.free).named("slot_looked"),
            release_waits,
            waits,
        }
    }

    /// State of the line that an answer has installed.
    fn served_state(&self) -> Enum<LineState> {
        self.core.arrays.state(self.core.mshrs.miss(self.core.filler.mshr.get()).way)
    }

    fn decode(&self, looks: Bool) -> Decoded<LineState, Operate> {
        let core = self.core;
        let mshr = core.mshrs.of_line(self.line);
        let shut = core.mshrs.is_shut(mshr.lowest_set());
        let fault = bool_lit(core.p.inject == MesiL1Inject::JoinShut);
        let shut = (shut & !fault) | core.mshrs.entries_full();
        let pending = self.found.state.is(LineState::P);
        let case = |case: Mshr| lit(case.encoding(), 2);
        let case = mux(pending, mux(shut, case(Mshr::Shut), case(Mshr::Open)), case(Mshr::None));
        let text = "a pending line has one MSHR, any other none";
        let one = mshr.popcount().zext(16).eq(mux(pending, lit(1, 16), lit(0, 16)));
        assert_always("mesi_l1_one_mshr", !looks | one, text);
        operations().decode_about(self.line, looks, (self.op.access, self.seen(self.found.state), case))
    }

    /// State that an operation sees: that of its line.
    fn seen(&self, state: Enum<LineState>) -> Enum<LineState> {
        if self.core.p.inject != MesiL1Inject::ReadWbp {
            return state;
        }
        let open = state.is_any(&LineState::WBP) & self.is(Access::Ld);
        mux(open, enum_lit(LineState::M), state)
    }

    /// Way that the slot reads: that of the line, or the one reserved for the answer.
    fn way(&self) -> Bits {
        let fills = self.turns.is(Turn::Fill);
        mux(fills, self.core.mshrs.miss(self.core.filler.mshr.get()).way, self.found.way)
    }

    /// The line after the operation, and whether it was written.
    fn after(&self) -> (Bits, Bool) {
        let op = &self.op;
        let old = self.core.arrays.data(self.way());
        let alu = WordAlu { op: op.amo, cmp: op.cmp, bmask: lit(0xf, 4) };
        let (done, wrote) = alu.line(op.words(), old, op.data);
        let here = spread(op.mask, 8);
        let stored = (old & !here) | (op.data & here);
        let store = self.is(Access::St);
        (mux(store, stored, done), store | wrote.any())
    }

    /// A line in E or WBP that is written.
    fn dirty(&self, state: Enum<LineState>) -> Enum<LineState> {
        mux(state.is_any(&LineState::WBP), enum_lit(LineState::WM), enum_lit(LineState::M))
    }

    /// First slot of an answer.
    fn install(&self) {
        let (core, found) = (self.core, &self.found);
        let filler = &core.filler;
        let m = &filler.down.msg;
        let here = (self.turns.is(Turn::Fill) & filler.waits()).named("slot_installs");
        let way = core.mshrs.miss(m.tag).way;
        when(here, || {
            core.arrays.put_data(found, way, m.data);
            core.arrays.touch(found, way);
            filler.install(&core.mshrs);
            when(!m.state.is(LineState::I), || core.arrays.set_state(found, way, m.state));
        });
        let kept = !here | found.way.eq(way);
        assert_always("mesi_l1_answer_way", kept, "an answer is of the line to which the way belongs");
        let row = answers().decode(here, (found.state, m.state));
        row.leads_to(core.arrays.state_after(found, way, found.state));
    }

    /// An operation that has waited.
    fn serve(&self, plan: &Plan) {
        let (core, target) = (self.core, &plan.target);
        let filler = &core.filler;
        let writes = target.does(Serve::Write) | target.does(Serve::Perform);
        let (after, wrote) = self.after();
        when(plan.served, || filler.served(&core.mshrs, !self.is(Access::Ld)));
        when(plan.served & writes & wrote, || {
            core.arrays.put_data(&self.found, self.way(), after);
            core.arrays.set_state(&self.found, self.way(), self.dirty(self.served_state()));
        });
        when(self.serves & target.does(Serve::Again), || filler.stops());
        let after = core.arrays.state_after(&self.found, self.way(), self.served_state());
        target.leads_to_when(plan.served, after);
    }

    /// Last slot of an answer: Done.
    fn end_answer(&self) {
        let (core, found, up) = (self.core, &self.found, &self.core.up);
        let filler = &core.filler;
        let mshr = filler.mshr.get();
        let ends = self.turns.is(Turn::Fill) & filler.ends.get();
        let way = self.way();
        let goes = (ends & up.free).named("slot_ends");
        when(goes, || {
            filler.end();
            let (op, line) = (enum_lit(UpOp::Done), core.mshrs.miss(mshr).line);
            let (state, data) = (self.served_state(), core.arrays.data(way));
            up.send(&MesiUp { op, line, tag: mshr, state, way, data });
            when(filler.rest.get(), || {
                core.mshrs.repeat(mshr, filler.entry());
                core.arrays.set_state(found, way, enum_lit(LineState::P));
            })
            .otherwise(|| {
                core.mshrs.free(mshr);
                when(filler.once.get(), || core.arrays.set_state(found, way, enum_lit(LineState::I)));
            });
        });
        let kept = filler.rest.get() & self.served_state().is_any(&LineState::WBP);
        assert_always("mesi_l1_rest", !(ends & kept), "an owned line serves every operation");
    }

    /// An operation of the core on its line.
    fn access(&self, plan: &Plan) {
        let (core, op, found) = (self.core, &self.op, &self.found);
        let does = |action| plan.goes & plan.row.does(action);
        let arrays = &core.arrays;
        let opens = does(Operate::Miss);
        let way = mux(opens, found.victim, found.way);
        let (after, wrote) = self.after();
        let writes = (does(Operate::Write) | does(Operate::Perform)) & wrote;
        when(does(Operate::Hit) | does(Operate::Write) | does(Operate::Perform) | opens, || {
            arrays.touch(found, way)
        });
        when(writes, || {
            arrays.put_data(found, found.way, after);
            arrays.set_state(found, found.way, enum_lit(LineState::M));
        });
        let asks = opens | does(Operate::Upgrade);
        when(asks, || {
            let miss = Miss { line: self.line, way };
            core.mshrs.take(&miss, does(Operate::Own), op, !self.is(Access::Ld));
            arrays.put_tag(found, way, self.line);
            arrays.set_state(found, way, enum_lit(LineState::P));
        });
        let mshr = core.mshrs.of_line(self.line).lowest_set();
        when(does(Operate::Join), || core.mshrs.join(mshr, op, !self.is(Access::Ld)));
        when(opens & plan.victim.does(Evict::Put), || {
            let (state, data) = (found.victim_state, arrays.data(found.victim));
            let line = arrays.line_in(found, found.victim);
            let zero = lit(0, core.p.port.spandex.mshr_bits());
            let op = enum_lit(UpOp::Put);
            core.up.send(&MesiUp { op, line, tag: zero, state, way: found.victim, data });
            core.put.set(true);
        });
        let after = arrays.state_after(found, way, found.state);
        plan.row.leads_to_when(plan.goes, self.seen(after));
    }

    /// A lookup from below.
    fn look_up(&self, plan: &Plan) {
        let (core, found, arrays) = (self.core, &self.found, &self.core.arrays);
        let m = &self.turns.ext.msg;
        let row = lookups().decode_about(m.line, plan.looked, (m.op, found.state));
        let does = |action| plan.looked & row.does(action);
        let old = arrays.data(found.way);
        let none = lit_bv(Bv::zero(core.p.port.spandex.data_bits()));
        let empty = found.state.is_any(&[LineState::I, LineState::P]);
        when(plan.looked, || {
            self.turns.ext.take();
            let zero = lit(0, core.p.port.spandex.mshr_bits());
            let (op, state, way) = (enum_lit(UpOp::Found), found.state, found.way);
            let data = mux(empty, none, old);
            core.up.send(&MesiUp { op, line: m.line, tag: zero, state, way, data });
        });
        let to = |state: LineState| arrays.set_state(found, found.way, enum_lit(state));
        when(does(Change::Gone), || to(LineState::I));
        when(does(Change::Share), || to(LineState::S));
        when(does(Change::Hold), || {
            let clean = found.state.is(LineState::E);
            let state = mux(clean, enum_lit(LineState::WE), enum_lit(LineState::WM));
            arrays.set_state(found, found.way, state);
        });
        when(does(Change::Words), || {
            let here = spread(spread(m.mask, 4), 8);
            arrays.put_data(found, found.way, (old & !here) | (m.data & here));
            to(LineState::M);
        });
        when(does(Change::Shut), || core.mshrs.shut(core.mshrs.of_line(m.line).lowest_set()));
        row.leads_to(arrays.state_after(found, found.way, found.state));
    }

    /// Answers the core, and what an acquire does.
    fn answer(&self, plan: &Plan) {
        let (core, op) = (self.core, &self.op);
        let now =
            plan.row.does(Operate::Hit) | plan.row.does(Operate::Write) | plan.row.does(Operate::Perform);
        let fenced = plan.leaves & !self.kind.is(Kind::Access);
        let done = (plan.goes & now) | plan.served | fenced;
        when(done & (op.answered | fenced), || {
            let none = lit_bv(Bv::zero(op.mask.width()));
            let plain = self.is(Access::St) | fenced;
            let from = mux(core.filler.peer.get(), lit(2, 3), lit(1, 3));
            core.cu_rsp.send(&CuRsp {
                id: op.id,
                kind: mux(plain, lit(1, 2), lit(0, 2)),
                mask: mux(fenced, none, op.mask),
                data: mux(plain, lit_bv(Bv::zero(op.data.width())), core.arrays.data(self.way())),
                src: mux(self.serves, from, lit(0, 3)),
                merged: self.serves & core.filler.merged.get(),
            });
        });
        if core.p.weak_reads {
            let acquired = (done & op.acquires).named("acquired");
            when(acquired, || core.mshrs.shut_reads());
            let text = "no operation joins a read that is older than an acquire";
            cover("spandex.race.mesi_l1_acquire_closes", acquired & core.mshrs.some_read(), text);
        }
    }

    /// Why requests are not taken, for the CU.
    fn tell_stall(&self, plan: &Plan) {
        let stall = output_reg::<Enum<StallCause>>("stall", ()).doc("Why requests are not taken.");
        let busy = output_reg::<Bool>("busy_release", ()).doc("A release waits for stores.");
        let cause = |c: StallCause| enum_lit(c);
        let w = &plan.waits;
        let why = mux(w.room | w.credit, cause(StallCause::Other), cause(StallCause::None));
        let why = mux(w.mshr | (plan.looks & plan.row.does(Operate::Wait)), cause(StallCause::MshrFull), why);
        let why = mux(w.entry, cause(StallCause::SbFull), why);
        let why = mux(plan.release_waits, cause(StallCause::Release), why);
        let why = mux(self.turns.is(Turn::Cu), why, cause(StallCause::Bank));
        let blocked = self.turns.head.valid.get() & !plan.leaves;
        stall.set(mux(blocked, why, cause(StallCause::None)));
        busy.set(plan.release_waits);
    }
}

/// A free entry of the write-back buffer comes back, one goes with each Put.
pub(super) fn count_credits(core: &Core) {
    let down = &core.filler.down;
    let back = (down.valid & down.msg.op.is(DownOp::Free)).named("credit_back");
    when(back, || down.take());
    let put = core.put.get();
    when(back & !put, || core.credits.set(core.credits.get() + 1));
    when(put & !back, || core.credits.set(core.credits.get() - 1));
    let full = core.credits.get().eq(u64::from(core.p.port.spandex.wbb));
    let text = "no more entries of the write-back buffer come free than there are";
    assert_always("mesi_l1_credits", !(back & full & !put), text);
}
