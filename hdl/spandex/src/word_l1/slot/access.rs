//! Carries operations of the CU and of the store buffer out: word states, data, requests.

use super::{Plan, Slot};
use crate::amo::{WordAlu, merge, spread};
use crate::gpu_l1::op::Kind;
use crate::msg::{Req, ReqOp, RspOp, WordOp};
use crate::params::WORD;
use crate::word_l1::arrays::States;
use crate::word_l1::messages::{request, write_back};
use crate::word_l1::mshrs::{Joined, Operand, Target};
use crate::word_l1::params::Inject;
use crate::word_l1::pending::How;
use crate::word_l1::table::Operate;
use crate::word_l1::turn::Turn;
use weft_rtl::prelude::*;

impl Slot<'_> {
    /// Carries the operation out.
    pub fn access(&self, plan: &Plan) {
        let core = self.core;
        let does = |action| plan.goes & plan.row.does(action);
        when(plan.goes & plan.takes, || self.take_way(plan));
        let touched = does(Operate::Hit) | does(Operate::Store) | does(Operate::Perform);
        when(touched & self.found.present, || core.arrays.touch(&self.found));
        self.states(plan);
        when(does(Operate::Read) | does(Operate::Join), || self.read_or_join(plan));
        when(plan.goes & plan.row.does(Operate::Take), || self.take_words(plan));
        when(does(Operate::Buffer), || {
            let at = core.buffer.store(&self.buffered, self.op.line, self.part.words, self.op.data);
            core.pending.note(at, &How { through: self.asks.through, fwd: self.asks.fwd });
            let fresh = self.of_line.fresh;
            let kept = (self.part.words, self.op.data);
            when(fresh.any(), || core.mshrs.keep(fresh.lowest_set(), kept));
        });
        when(does(Operate::Own), || self.own(plan));
        if core.p.joins() {
            when(does(Operate::Attach), || self.attach(plan));
        }
        when(self.turns.is(Turn::Drain) & plan.goes, || self.drain(plan));
        let changes = does(Operate::Store)
            | does(Operate::Buffer)
            | does(Operate::Perform)
            | does(Operate::Own)
            | does(Operate::Ask);
        when(changes, || core.mshrs.spoil(self.of_line.all));
        // What has not left is waited for only once it is asked to leave.
        let behind =
            plan.looks & plan.row.does(Operate::Wait) & !self.turns.is(Turn::Drain) & !self.is(Kind::Load);
        let older = (self.buffered.unissued & self.part.words).any() | self.differs();
        let wants = behind & self.buffered.open & older;
        when(wants, || core.buffer.want(self.buffered.at));
        self.order(plan);
        self.answer(plan);
        self.tell_stall(plan);
        self.observe(plan);
    }

    /// Word states and data of the way.
    fn states(&self, plan: &Plan) {
        let core = self.core;
        let does = |action| plan.goes & plan.row.does(action);
        let found = &self.found;
        let old = core.arrays.data(found);
        let drain = self.turns.is(Turn::Drain);
        let given = mux(drain, self.oldest.data, self.op.data);
        let performed = self.alu().line(plan.words, old, self.op.data).0;
        // Copies of words that are written through are renewed.
        let renews = plan.goes & plan.row.does(Operate::Renew);
        let copies = plan.words & (found.valid | found.shared) & renews.repeat(old.width() / 32);
        let written = mux(renews, copies, plan.words);
        let data = mux(plan.row.does(Operate::Perform), performed, merge(written, given, old));
        // A load that joins the read afterwards must see it, even if the word is lost meanwhile.
        let fresh = self.of_line.fresh;
        let kept = (plan.words, mux(plan.row.does(Operate::Perform), performed, given));
        let keeps = (does(Operate::Store) | does(Operate::Perform)) & !drain & fresh.any();
        when(keeps, || core.mshrs.keep(fresh.lowest_set(), kept));
        let writes = (does(Operate::Store) & plan.words.any()) | does(Operate::Perform) | copies.any();
        when(writes & found.present, || core.arrays.put_data(found, data));
        let (next, changes) = self.next_states(plan, copies);
        when(changes | (plan.goes & plan.takes), || core.arrays.set_words(found, &next));
        let rereads = (does(Operate::Read) | does(Operate::Join)) & self.hides();
        when(rereads | (plan.goes & plan.takes), || core.arrays.fix(found, bool_lit(false)));
        let writes =
            does(Operate::Store) | does(Operate::Buffer) | does(Operate::Perform) | does(Operate::Own);
        let text = "a read-only region is not written: the program is wrong";
        assert_always(&core.p.named("region"), !(writes & found.fixed), text);
    }

    /// States after the operation, and whether they differ.
    fn next_states(&self, plan: &Plan, copies: Bits) -> (States, Bool) {
        let does = |action| plan.goes & plan.row.does(action);
        let found = &self.found;
        // Words for which ownership or shared words are asked, or that wait in the buffer to be owned, are not valid any more.
        let renews = plan.row.does(Operate::Renew);
        let takes = plan.goes & plan.row.does(Operate::Take);
        let drops = does(Operate::Own) | does(Operate::Ask) | (does(Operate::Buffer) & !renews) | takes;
        let gone = mux(drops, plan.asked, self.none());
        let copy = plan.row.does(Operate::Through) & bool_lit(self.core.p.inject == Inject::KeepsCopy);
        let gone = gone & !copy.repeat(gone.width());
        // What a region kept is not mixed with what others read.
        let rereads = (does(Operate::Read) | does(Operate::Join)) & self.hides();
        let gone = mux(rereads, found.valid, gone) & !found.owned;
        let next = found.states().without(gone).to_valid(copies);
        let changes = (gone & (found.valid | found.shared)).any() | (copies & found.shared).any();
        (next, changes & found.present)
    }

    fn alu(&self) -> WordAlu {
        let plain = mux(self.is(Kind::Store), enum_lit(WordOp::Write), self.op.amo);
        let amo = mux(self.part.bytes, enum_lit(WordOp::Merge), plain);
        WordAlu { op: amo, cmp: self.op.cmp, bmask: self.part.bmask }
    }

    /// The line takes a way; owned words of the line that had it go to the write-back buffer.
    fn take_way(&self, plan: &Plan) {
        let (core, found) = (self.core, &self.found);
        core.arrays.take(found, self.line);
        when(plan.evicts, || {
            let (line, mask) = (found.victim_line, found.victim_owned);
            let data = core.arrays.data(found);
            let at = core.wbb.take(line, mask, data);
            core.wb.send(&write_back((&core.p.l1.spandex, core.own), (line, mask, data), at));
        });
    }

    fn request_of(&self, op: ReqOp, tag: Bits, mask: Bits) -> Req {
        let core = self.core;
        request((&core.p.l1.spandex, core.own), op, (self.line, mask), tag, op == ReqOp::ReqV)
    }

    /// Words of a load that are here, with the line.
    fn kept(&self, plan: &Plan) -> (Bits, Bits) {
        let old = self.core.arrays.data(&self.found);
        let here = merge(self.buffered.words, self.buffered.data, old);
        (self.part.words & !plan.load.missing, here)
    }

    fn read_or_join(&self, plan: &Plan) {
        let core = self.core;
        let load = &plan.load;
        let kept = self.kept(plan);
        let region = self.turns.region();
        let target = self.as_target();
        when(load.own, || core.mshrs.join_own(load.own_at, kept, &target)).otherwise(|| {
            when(load.read, || core.mshrs.join(load.read_at, plan.asked, kept, region, &target))
                .otherwise(|| core.mshrs.open(self.line, plan.asked, kept, region, &target));
        });
        let tag = mux(load.read, load.read_at, core.mshrs.free_entry());
        when(plan.row.does(Operate::Read), || {
            let tag = tag.resize(core.p.l1.spandex.tag_bits());
            let asks = self.request_of(ReqOp::ReqV, tag, plan.asked);
            // The first request of the entry brings the rest of the line.
            core.req.send(&Req { flex: !load.read, ..asks }, false);
            core.arrays.take(&self.found, self.line);
        });
    }

    /// A load asks for ownership and data, or for shared words.
    fn take_words(&self, plan: &Plan) {
        let core = self.core;
        let shares = plan.row.does(Operate::Share);
        core.mshrs.open_own(self.line, plan.asked, shares, self.kept(plan), &self.as_target());
        let tag = core.mshrs.free_entry().resize(core.p.l1.spandex.tag_bits());
        let asks = self.request_of(ReqOp::ReqOData, tag, plan.asked);
        let op = mux(shares, enum_lit(ReqOp::ReqS), asks.op);
        core.req.send(&Req { op, ..asks }, false);
        core.arrays.take(&self.found, self.line);
    }

    fn own(&self, plan: &Plan) {
        let core = self.core;
        let at_llc = plan.row.does(Operate::Through);
        let WordAlu { op: amo, cmp, bmask } = self.alu();
        let operand = Operand { amo, cmp, bmask, data: self.op.data };
        let words = (self.line, plan.asked, self.part.words);
        core.mshrs.own(words, at_llc, &self.of_line, &operand, &self.as_target());
        let tag = core.mshrs.free_entry().resize(core.p.l1.spandex.tag_bits());
        let asks = self.request_of(ReqOp::ReqOData, tag, plan.asked);
        if core.p.through() {
            let Operand { amo, cmp, bmask, data } = operand;
            let op = mux(at_llc, enum_lit(ReqOp::ReqWtData), asks.op);
            core.req.send(&Req { op, amo, cmp, bmask, data, ..asks }, false);
        } else {
            core.req.send(&asks, false);
        }
        when(!at_llc, || core.arrays.take(&self.found, self.line));
    }

    /// An atomic waits in the entry that brings its word.
    fn attach(&self, plan: &Plan) {
        let at = self.part.words.lowest_set();
        let operand = Joined { amo: self.alu().op, cmp: self.op.cmp, data: self.op.data.element(at, WORD) };
        self.core.mshrs.join_atomic(plan.join_at, &self.as_target(), &operand);
    }

    /// The oldest entry of the store buffer leaves: in place, or asking for what is missing, or with it.
    fn drain(&self, plan: &Plan) {
        let core = self.core;
        let at = self.oldest.at;
        let (asks, writes) = (plan.row.does(Operate::Ask), plan.row.does(Operate::Write));
        when(asks | writes, || {
            core.buffer.leave(&self.oldest);
            core.buffer.shrink(at, plan.asked);
            core.pending.ask(at, plan.asked);
            let s = &core.p.l1.spandex;
            let tag = at.resize(s.tag_bits()) + u64::from(s.mshrs);
            let req = self.request_of(ReqOp::ReqO, tag, plan.asked);
            if core.p.flex() {
                let op = mux(writes, enum_lit(ReqOp::ReqWt), req.op);
                core.req
                    .send(&Req { op, fwd: writes & self.leaves.fwd, data: self.oldest.data, ..req }, false);
            } else {
                core.req.send(&req, false);
            }
            when(!writes, || core.arrays.take(&self.found, self.line));
        })
        .otherwise(|| core.buffer.leave_done(&self.oldest));
    }

    /// The slot of an entry whose words were refused: it asks again.
    pub fn ask_again(&self) {
        let core = self.core;
        if !core.p.flex() {
            return;
        }
        let again = core.pending.again();
        // What a Nack changes in this cycle is not changed by a slot too.
        let clash = self.rsp.valid & self.rsp.msg.op.is(RspOp::NackWt);
        let goes = self.turns.is(Turn::Again) & again.any & core.req.free() & !clash;
        when(goes, || {
            let s = &core.p.l1.spandex;
            let tag = again.at.resize(s.tag_bits()) + u64::from(s.mshrs);
            let req = self.request_of(ReqOp::ReqWt, tag, again.words);
            core.req.send(&Req { fwd: again.fwd, data: core.buffer.data(again.at), ..req }, true);
            core.pending.asked_again(&again);
        });
        let row = |name: &str, cond: Bool, text: &str| cover(&core.p.row(name), cond, text);
        row("again.owner", goes & again.fwd, "What a likely owner refused goes to the owner.");
        row("again.llc", goes & !again.fwd, "What the owner refused goes to the LLC.");
        count(&core.p.named("refused"), goes, "write-throughs of refused words");
    }

    fn as_target(&self) -> Target {
        let op = &self.op;
        let sync = self.is(Kind::Sync);
        let bytes = spread(self.part.words, 4) & op.mask;
        Target {
            ack: sync & op.store,
            silent: self.is(Kind::Store),
            acquires: sync & op.acquires,
            mask: bytes,
            id: op.id,
        }
    }
}
