//! Responses: each is taken when it comes, whatever the outputs do (section 2, rule 1). What it causes is a mark of its entry. Only the engine's own bounded steps make one wait: a
//! write-back in place is closed by the engine, which looks its line up in the L1; and the cycle in which the engine changes what a response may change is the engine's.

use super::Core;
use super::entries::{Entries, NET};
use super::marks::Words;
use super::params::TuMesiInject;
use super::table::{Answered, Awaited, Outcome, responses};
use crate::msg::{Rsp, RspOp};
use weft_rtl::prelude::*;

/// The response channel, and whose turn its head is.
pub(super) struct Sink {
    pub rsp: InChannel<Rsp>,
    /// The head answers a write-back in place: the engine takes it.
    pub in_place: Bool,
}

impl Sink {
    pub fn new(core: &Core) -> Sink {
        let rsp = in_channel::<Rsp>("rsp", &core.p.port.spandex);
        let wb = rsp.valid & rsp.msg.op.is(RspOp::RspWb);
        let in_place = wb & rsp.msg.tag.eq(u64::from(core.p.in_place_tag()));
        Sink { in_place: in_place.named("rsp_in_place"), rsp }
    }

    /// Takes the head, unless it is the engine's or `closed`. `closes`: the engine takes it in this cycle.
    pub fn run(&self, core: &Core, closed: Bool, closes: Bool) {
        let (rsp, m, entries) = (&self.rsp, &self.rsp.msg, &core.entries);
        unused_input(&m.dst);
        unused_input(&m.nodata);
        unused_input(&m.kept_s);
        unused_input(&m.direct);
        let takes = (rsp.valid & !self.in_place & !closed).named("sink_takes");
        when(takes, || rsp.take());
        let s = &core.p.port.spandex;
        let entry = m.tag.slice(0, s.mshr_bits());
        let got = entries.got(entry) | m.mask;
        let (awaited, last) = (self.awaited(core, entry), got.all());
        let done = takes | closes;
        let row = responses().decode_about(m.line, done, (m.op, awaited, last));
        let does = |action| takes & row.does(action);
        when(does(Answered::Store) | does(Answered::Fail), || entries.answered(entry, got));
        when(does(Answered::Store), || entries.store(entry, m.mask, m.data));
        self.mark(core, entry, does(Answered::Store), does(Answered::Fail));
        let failed = does(Answered::Fail) | entries.failed.at(entry);
        let mixed = entries.some_v.at(entry) | does(Answered::Store) & m.op.is(RspOp::RspV);
        let granted = entries.some_o.at(entry) | m.op.is(RspOp::RspOData);
        // Words that nobody will invalidate do not go with owned ones.
        let again = failed | (mixed & granted);
        when(does(Answered::Complete), || {
            let one = entries.one(entry);
            when(again, || entries.again.raise(NET, one)).otherwise(|| entries.full.raise(NET, one));
        });
        self.close(core, does(Answered::Close));
        self.check(core, entry, takes, &row);
        self.observe(core, entry, takes, &row);
    }

    fn awaited(&self, core: &Core, entry: Bits) -> Enum<Awaited> {
        let (m, entries) = (&self.rsp.msg, &core.entries);
        let kind = |awaited: Awaited| enum_lit(awaited);
        let asked = mux(entries.own.at(entry), kind(Awaited::ReqO), kind(Awaited::ReqS));
        let known = m.tag.zext(16).lt(u64::from(core.p.port.spandex.mshrs)) & entries.busy.at(entry);
        let asked = mux(known, asked, kind(Awaited::None));
        let buffer =
            m.tag.zext(16).ge(u64::from(core.p.buffer_tag())) & core.buffer.is_busy(self.index(core));
        let asked = mux(buffer, kind(Awaited::Wb), asked);
        mux(self.in_place, kind(Awaited::Wbp), asked)
    }

    /// Entry of the write-back buffer.
    fn index(&self, core: &Core) -> Bits {
        let from = self.rsp.msg.tag - u64::from(core.p.buffer_tag());
        from.resize(bits_for(u64::from(core.p.port.spandex.wbb)))
    }

    fn mark(&self, core: &Core, entry: Bits, stores: Bool, fails: Bool) {
        let (m, entries) = (&self.rsp.msg, &core.entries);
        let one = entries.one(entry);
        let kinds = [
            (&entries.some_s, RspOp::RspS),
            (&entries.some_v, RspOp::RspV),
            (&entries.some_o, RspOp::RspOData),
        ];
        for (marks, op) in kinds {
            when(stores & m.op.is(op), || marks.raise(NET, one));
        }
        when(fails, || entries.failed.raise(NET, one));
        let peer = m.src.zext(16).lt(u64::from(core.p.port.spandex.devs()));
        when(stores & peer, || entries.peer.raise(NET, one));
        when(stores & m.op.is(RspOp::RspOData) & m.dirty, || entries.dirty.raise(NET, one));
    }

    /// RspWB of an entry of the buffer.
    fn close(&self, core: &Core, closes: Bool) {
        let m = &self.rsp.msg;
        let index = self.index(core);
        let words = core.buffer.words(index);
        let after = answered(core, words, m);
        when(closes, || core.buffer.change(index, &after));
        let text = "RspWB answers words that await it, and announces what has come already";
        assert_always("tu_mesi_rsp_wb", !closes | words.may_answer(m.mask, m.extra), text);
        let known = core.buffer.line(index).eq(m.line) & !core.buffer.unsent.at(index);
        assert_always("tu_mesi_rsp_wb_line", !closes | known, "RspWB names the line of its ReqWB");
        let crossed = closes & after.here.any();
        cover("spandex.race.mesi_rsp_wb_first", crossed, "RspWB comes before the removal it announces");
        let released = closes & (words.waits & !words.here).any();
        cover("spandex.race.mesi_removal_first", released, "a removal comes before the RspWB it crosses");
        count("tu_mesi_crossed", closes & m.extra.any(), "RspWB of write-backs that cross a removal");
    }

    fn check(&self, core: &Core, entry: Bits, takes: Bool, row: &Decoded<NoState, Answered>) {
        let (m, entries) = (&self.rsp.msg, &core.entries);
        let answers = takes & (row.does(Answered::Store) | row.does(Answered::Fail));
        let wanted = m.mask.any() & (m.mask & entries.got(entry)).none();
        let text = "a response answers outstanding words only";
        assert_always("tu_mesi_outstanding", !answers | wanted, text);
        let same = entries.line(entry).eq(m.line);
        assert_always("tu_mesi_line", !answers | same, "a response names the line of its entry");
        let s = entries.some_s.at(entry) | m.op.is(RspOp::RspS);
        let others = entries.some_o.at(entry) | entries.some_v.at(entry) | entries.failed.at(entry);
        let other = m.op.is_any(&[RspOp::RspOData, RspOp::RspV, RspOp::NackV]) | others;
        let text = "a line is not answered by shared and by other words";
        assert_always("tu_mesi_mixed", !answers | !(s & other), text);
    }

    fn observe(&self, core: &Core, entry: Bits, takes: Bool, row: &Decoded<NoState, Answered>) {
        let m = &self.rsp.msg;
        let answers = takes & row.does(Answered::Store);
        let part = answers & !row.does(Answered::Complete);
        count("tu_mesi_partial", part, "responses with a part of a line");
        count("tu_mesi_nacks", takes & row.does(Answered::Fail), "Nacks of reads");
        let once = core.entries.once.at(entry);
        let granted = answers & m.op.is(RspOp::RspOData) & once;
        let text = "RspO+data comes to a request that an invalidation has met, and ignores it";
        cover("spandex.race.mesi_once_ignored", granted, text);
    }
}

/// Words after a RspWB.
pub(super) fn answered(core: &Core, words: Words, m: &Rsp) -> Words {
    let none = lit_bv(Bv::zero(m.mask.width()));
    let cross = if core.p.inject == TuMesiInject::NoCross { none } else { m.extra };
    words.answered(m.mask, cross)
}

/// What all responses of an entry were.
pub(super) fn outcome(entries: &Entries, entry: Bits) -> Enum<Outcome> {
    let kind = |outcome: Outcome| enum_lit(outcome);
    let read = mux(entries.some_v.at(entry), kind(Outcome::V), kind(Outcome::S));
    mux(entries.some_o.at(entry), kind(Outcome::O), read)
}
