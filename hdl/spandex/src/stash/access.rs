//! The CU's operations, and requests for ownership of what they have stored.

use super::banks::WordState;
use super::mshrs::{Place, Target};
use super::params::Inject;
use super::port::StashRsp;
use super::seek::Stage;
use super::slot::Slot;
use super::table::{Access, Operate, Words, operations};
use super::turn::Turn;
use crate::msg::ReqOp;
use weft_blocks::msg::CuOp;
use weft_rtl::prelude::*;

/// What the operation in S1, or of the store buffer, does.
pub(super) struct Plan {
    pub row: Decoded<NoState, Operate>,
    pub goes: Bool,
    pub leaves: Bool,
    /// Banks and words that it is done to; words that it asks for.
    pub banks: Bits,
    pub words: Bits,
    pub asked: Bits,
    /// It waits; for the store buffer.
    pub waits: Bool,
    pub store: Bool,
    /// An acknowledgement waits for ownership.
    pub queues: Bool,
    pub acquires: Bool,
    /// The word that was sought lies in no mapping: it is left out.
    pub lost: Bool,
}

impl Slot<'_> {
    pub fn active(&self) -> Bool {
        self.turns.is(Turn::Cu) & self.turns.head.valid.get()
    }

    /// Words of the operation in S1 that can be done at once, one bit per bank, and the others.
    fn split(&self) -> (Bits, Bits) {
        let s1 = self.turns.head.op.get();
        let states = &self.request;
        let load = s1.op.is(CuOp::Ld).repeat(s1.mask.width());
        let usable = states.owned | states.pending | (states.valid & load);
        (s1.mask & usable, s1.mask & !usable)
    }

    /// The words of a load that misses may be asked for.
    fn askable(&self) -> Bits {
        let open =
            self.back.open & (!bool_lit(self.core.p.inject == Inject::NoWait)).repeat(self.found.width());
        let elsewhere = self.core.search.elsewhere.get();
        self.mine & !self.states.here() & !elsewhere & !self.buffered.words & !open & !self.coming.coming
    }

    /// Another mapping has the entry of the line that stores may join.
    fn differs(&self) -> Bool {
        self.buffered.open & self.core.places.read(self.buffered.at).map.ne(self.map)
    }

    /// Decides what is done.
    pub fn plan(&self) -> Plan {
        let (core, turns, cu) = (self.core, self.turns, &self.core.search.cu);
        let s1 = turns.head.op.get();
        let (load, store) = (s1.op.is(CuOp::Ld), s1.op.is(CuOp::St));
        let (active, drain) = (self.active(), turns.is(Turn::Drain) & self.oldest.there);
        let memory = active & (load | store);
        let (here, missing) = self.split();
        let settled = cu.is(Stage::None) | cu.is(Stage::Ready);
        let hits = memory & here.any() & settled & !turns.at_run.get();
        let ready = memory & here.none() & cu.is(Stage::Ready);
        let found = ready & self.found.any();
        let lost = ready & !found & self.is_sought(missing);
        let again = ready & !found & !lost;
        self.seek(memory & here.none() & (cu.is(Stage::None) | again), missing);
        let askable = self.askable();
        let word = |w: Words| enum_lit(w);
        let ld = mux((askable & self.found).any(), word(Words::Missing), word(Words::Busy));
        let ld = mux(self.coming.joins, word(Words::Coming), ld);
        let full = self.differs() | (!self.buffered.open & core.buffer.full());
        let st = mux(full, word(Words::Busy), word(Words::Missing));
        let words = mux(hits, word(Words::Here), mux(load, ld, st));
        let asked = self.oldest.mask & (self.coming.reading | self.back.open);
        let dr = mux(asked.any(), word(Words::Busy), word(Words::Missing));
        let access = mux(load, enum_lit(Access::Ld), enum_lit(Access::St));
        let looks = (hits | found | drain).named("slot_looks");
        let (access, words) = (mux(drain, enum_lit(Access::Drain), access), mux(drain, dr, words));
        let row = operations().decode(looks, (access, words));
        let full_mshrs = row.does(Operate::Read) & core.mshrs.full();
        let sends = row.does(Operate::Read) | row.does(Operate::Ask);
        let queue_full = core.releases.queue.full;
        let brought = mux(row.does(Operate::Join), self.coming.brings, self.found & askable);
        let done = mux(store, self.found, brought);
        let done_banks = core.banks.to_banks(self.run.first, self.run.to_run(done)) & self.found_banks;
        let bank = cu.word.get().slice(0, core.p.bank_bits());
        let banks = mux(lost, bank.one_hot(core.p.banks), mux(hits, here, done_banks));
        let last = (s1.mask & !banks).none();
        let acks = looks & store & s1.want_ack & last & !drain;
        let waits = looks & (row.does(Operate::Wait) | full_mshrs | (acks & queue_full));
        let can_answer = !row.does(Operate::Hit) | core.replies.free;
        let goes = (looks & !waits & (!sends | core.req.free) & can_answer).named("slot_goes");
        let acquires = active & s1.op.is_any(&[CuOp::Acq, CuOp::Kbegin]) & core.replies.free;
        let releases = active & s1.op.is_any(&[CuOp::Rel, CuOp::Kend]) & !queue_full;
        Plan {
            leaves: (((goes | lost) & last & !drain) | acquires | releases).named("slot_leaves"),
            queues: (goes & acks) | releases,
            acquires,
            row,
            goes,
            banks,
            words: done,
            asked: askable,
            waits,
            store,
            lost,
        }
    }

    /// The word that was sought is still missing.
    fn is_sought(&self, missing: Bits) -> Bool {
        let p = &self.core.p;
        let word = self.core.search.cu.word.get();
        let (bank, row) = (word.slice(0, p.bank_bits()), word.slice(p.bank_bits(), p.row_bits()));
        missing.bit_at(bank) & self.turns.head.op.get().row.element(bank, p.row_bits()).eq(row)
    }

    /// Begins a search for the first of some words, one bit per bank.
    fn seek(&self, begins: Bool, missing: Bits) {
        let (core, p, cu) = (self.core, &self.core.p, &self.core.search.cu);
        let head = &self.turns.head;
        let stores = head.valid.get() & head.op.get().op.is(CuOp::St) & cu.is(Stage::Run);
        // Before other mappings are looked at: what a read brought to one that has been looked at would stay there.
        when(stores, || core.mshrs.stores(cu.line.get()));
        let bank = missing.lowest_set();
        let row = self.turns.head.op.get().row.element(bank, p.row_bits());
        let word = cat(&[row, bank]);
        let map = core.banks.owner(word);
        when(begins, || cu.start(word, map));
        let changes = self.turns.map.valid & self.turns.map.msg.index.eq(map) & core.walk.active();
        let known = core.maps.valid.get().bit_at(map) & !changes;
        let text = "an access lies in a mapping that is ready: the program is wrong";
        assert_always("stash_mapped", !begins | known, text);
    }

    /// Carries it out.
    pub fn access(&self, plan: &Plan) {
        let (core, turns) = (self.core, self.turns);
        let s1 = turns.head.op.get();
        let does = |action| plan.goes & plan.row.does(action);
        when(plan.lost, || core.search.cu.stop());
        when((plan.goes | plan.lost) & turns.is(Turn::Cu), || {
            turns.head.op.set(super::port::StashReq { mask: s1.mask & !plan.banks, ..s1 });
        });
        when(plan.leaves, || core.search.cu.stop());
        when(does(Operate::Store) | does(Operate::Buffer), || core.banks.put(plan.banks, s1.row, s1.data));
        let place = Place { map: self.map, run: self.run };
        when(does(Operate::Buffer), || {
            self.set(plan.words, WordState::P);
            let at = core.buffer.store(&self.buffered, self.line, plan.words, self.none());
            core.places_in.write(at, &place);
        });
        let target = Target { mask: plan.banks, id: s1.id };
        when(does(Operate::Read), || {
            core.mshrs.open(self.line, &place, plan.asked, &target);
            core.req.send(&self.request_of(ReqOp::ReqV, core.mshrs.free_entry(), plan.asked));
        });
        when(does(Operate::Join), || core.mshrs.join(self.coming.at, &target));
        when(does(Operate::Ask), || self.drain());
        when(turns.is(Turn::Drain) & plan.waits, || turns.hold_drain());
        when(plan.waits & plan.store & self.differs(), || core.buffer.want(self.buffered.at));
        core.banks.flash(plan.acquires);
        core.mshrs.flash(plan.acquires);
        when(plan.queues, || core.releases.queue.push(&s1.id));
        self.answer(plan);
        self.tell_stall(plan);
        self.observe(plan);
    }

    /// The oldest entry of the store buffer asks for ownership of its words.
    fn drain(&self) {
        let (core, at, words) = (self.core, self.oldest.at, self.oldest.mask);
        core.buffer.leave(&self.oldest);
        core.pending.ask(at, words);
        let tag = at.resize(core.p.spandex.tag_bits()) + u64::from(core.p.spandex.mshrs);
        core.req.send(&self.request_of(ReqOp::ReqO, tag, words));
    }

    /// What the CU gets.
    fn answer(&self, plan: &Plan) {
        let core = self.core;
        let id = self.turns.head.op.get().id;
        let hit = plan.goes & plan.row.does(Operate::Hit);
        let released = self.turns.is(Turn::Release) & core.replies.free;
        when(released, || core.releases.pop());
        let none = lit_bv(Bv::zero(plan.banks.width()));
        when(hit | plan.acquires | released, || {
            core.replies.send(&StashRsp {
                id: mux(released, core.releases.queue.head, id),
                kind: mux(hit, lit(0, 2), lit(1, 2)),
                mask: mux(hit, plan.banks, none),
                data: core.banks.data(),
                src: lit(0, 3),
                merged: bool_lit(false),
            });
        });
    }
}
