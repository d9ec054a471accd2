//! Takes the bank's answers: clock, install, then the primary and the loads behind it, one per cycle.

use super::arrays::{Found, Stamps};
use super::clock::Clock;
use super::reply::Replies;
use super::table::{Answer, Lease, Place, Settle, answers};
use super::{Core, L1Event, L1Params, MissInfo};
use crate::bytes;
use crate::choice::Inject;
use crate::msg::{TsmOp, UpRsp};
use crate::time::{Age, age, max};
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// A response being carried out.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L1Params)]
pub(super) struct Fill {
    op: Enum<TsmOp>,
    #[width(p.entry_bits())]
    entry: Bits,
    #[width(p.tsm.eb)]
    tag: Bits,
    #[width(p.tsm.ts)]
    wts: Bits,
    #[width(p.tsm.ts)]
    rts: Bits,
    pub with_data: Bool,
    #[width(p.tsm.data_bits())]
    data: Bits,
    #[width(64)]
    old: Bits,
    from_memory: Bool,
}

impl Fill {
    /// wts and rts as the bank sent them.
    pub fn stamps(&self) -> (Bits, Bits) {
        (self.wts, self.rts)
    }
}

/// The response under way.
pub(super) struct Filler {
    p: L1Params,
    pub valid: Reg<Bool>,
    pub fill: Reg<Fill>,
    /// Clock and arrays have been changed; what is left is answering.
    looked: Reg<Bool>,
    /// The primary is not answered.
    pub primary: Reg<Bool>,
    /// Clock and arrays are changed in this cycle.
    pub looks: Wire<Bool>,
    done: Wire<Bool>,
    /// It has an answer to send in this cycle.
    pub answers: Bool,
    /// A response is taken in this cycle.
    arrives: Bool,
    arriving_line: Bits,
    pub info: MissInfo,
    pub age: Option<Age>,
    /// The primary can be answered.
    primary_fits: Bool,
    /// The FIFO's head is a load that this response answers.
    head_fits: Bool,
}

impl Filler {
    /// Takes responses; `rsp.take` depends on nothing but this block's own progress.
    pub fn new(core: &Core, rsp: &InChannel<UpRsp>) -> Filler {
        let p = &core.p;
        let valid = reg::<Bool>("fill_valid", ());
        let fill = reg::<Fill>("fill", p.clone()).field("pipeline");
        let (looked, primary) = (reg::<Bool>("fill_looked", ()), reg::<Bool>("fill_primary", ()));
        let (looks, done) = (wire::<Bool>("fill_looks", ()), wire::<Bool>("fill_done", ()));
        let arrives = (rsp.valid & (!valid.get() | done.get())).named("fill_arrives");
        let asked = core.misses.row(rsp.msg.txn);
        let misses = &core.misses;
        let waits = misses.busy.get().bit_at(asked) & !misses.replay.get().bit_at(asked);
        let again = valid.get() & fill.get().entry.eq(asked);
        let known = waits & misses.info.read(asked).kind.bits().eq(rsp.msg.op.bits()) & !again;
        let text = "one response per request: it belongs to a transaction of its kind";
        assert_always("mgcc_l1_answer_known", !arrives | known, text);
        // A read of G-TSC may be renewed without it.
        let renews = bool_lit(p.gtsc()) & rsp.msg.op.is(TsmOp::Rd);
        let line_there = rsp.msg.with_data | rsp.msg.op.is(TsmOp::Wr) | renews;
        assert_always(
            "mgcc_l1_answer_has_line",
            !arrives | line_there,
            "a read's or atomic's response has the line",
        );
        when(arrives, || {
            rsp.take();
            let m = &rsp.msg;
            fill.set(Fill {
                op: m.op,
                entry: asked,
                tag: m.tag,
                wts: m.wts,
                rts: m.rts,
                with_data: m.with_data,
                data: m.data,
                old: m.old,
                from_memory: m.from_memory,
            });
        });
        count_response_bytes(p, arrives, &rsp.msg);
        let info = misses.info.read(fill.get().entry);
        let age =
            core.clock.as_ref().map(|clock| age(&p.tsm, "dn", valid.get(), fill.get().tag, clock.epoch()));
        let mut filler = Filler {
            p: p.clone(),
            valid,
            fill,
            looked,
            primary,
            looks,
            done,
            answers: bool_lit(false),
            arrives,
            arriving_line: misses.info.read(asked).line,
            info,
            age,
            primary_fits: bool_lit(false),
            head_fits: bool_lit(false),
        };
        filler.find_answers(core);
        filler
    }

    /// `need` <= {tag, rts} of the response; both epochs are this cache's or older.
    fn permits(&self, core: &Core, need: Bits) -> Bool {
        let (ts, eb) = (self.p.tsm.ts, self.p.tsm.eb);
        let fill = self.fill.get();
        let ahead = fill.tag - need.slice(ts, eb);
        let newer = ahead.any() & !ahead.bit(eb - 1);
        newer | (ahead.none() & need.slice(0, ts).le(self.stamps(core).rts))
    }

    fn find_answers(&mut self, core: &Core) {
        let misses = &core.misses;
        let entry = self.fill.get().entry;
        let read = self.info.kind.is(TsmOp::Rd);
        let head = misses.heads.read(entry);
        let load = misses.waiting.read(head).event.is(L1Event::Ld);
        let (own, next) = match &misses.needs {
            Some(needs) => {
                (self.permits(core, needs.entry.read(entry)), self.permits(core, needs.pool.read(head)))
            }
            None => (bool_lit(true), bool_lit(true)),
        };
        let acked = !self.info.kind.is(TsmOp::Wr) | self.info.want_ack;
        let has_line = self.has_line(core);
        self.primary_fits = (self.primary.get() & mux(read, own & has_line, acked)).named("primary_fits");
        let waits = misses.some.get().bit_at(entry) & !self.primary.get();
        self.head_fits = (read & waits & load & next & has_line).named("head_fits");
        let looked = self.looked.get() | self.looks.get();
        self.answers = self.valid.get() & looked & (self.primary_fits | self.head_fits);
    }

    /// A read's response without the line: its block is renewed.
    pub fn renews(&self) -> Bool {
        let read = self.fill.get().op.is(TsmOp::Rd);
        bool_lit(self.p.gtsc()) & read & !self.fill.get().with_data
    }

    /// The line is in the response, or in its block: one that was there when it was asked for, and has not gone with its epoch.
    pub fn has_line(&self, core: &Core) -> Bool {
        !self.renews() | core.misses.pins.get().bit_at(self.fill.get().entry)
    }

    /// The line that loads are answered with: the response's, or that of the block renewed, which is kept for the loads that wait.
    fn line(&self, core: &Core) -> Bits {
        let own = self.fill.get().data;
        if !self.p.gtsc() {
            return own;
        }
        mux(self.renews(), core.arrays.data(core.misses.pin_way(self.fill.get().entry)), own)
    }

    /// The response's tag is newer: the cache rolls before it is looked at.
    pub fn is_newer(&self) -> Bool {
        self.age.map_or(bool_lit(false), |age| age.newer)
    }

    /// Its row is needed in the next cycle: (needed, line).
    pub fn wants_row(&self) -> (Bool, Bits) {
        let waits = self.valid.get() & !self.looked.get() & !self.looks.get();
        (self.arrives | waits, mux(self.arrives, self.arriving_line, self.info.line))
    }

    /// A request of this line must wait until what the response answers is answered.
    pub fn serves(&self, entries: Bits) -> Bool {
        self.valid.get() & entries.bit_at(self.fill.get().entry)
    }

    fn current(&self) -> Bool {
        self.age.map_or(bool_lit(true), |age| age.current)
    }

    /// Stamps of the block, as the bank sent them.
    fn stamps(&self, core: &Core) -> Stamps {
        let fill = self.fill.get();
        match (&core.clock, self.p.inject) {
            (Some(clock), Inject::LitBrts) => {
                let raised = max(clock.ts(), fill.wts);
                let changes = self.current() & !self.looked.get();
                let wts = mux(changes, raised, fill.wts);
                let end = max(mux(wts.all(), wts, wts + 1), fill.rts);
                Stamps { wts, rts: mux(changes, end, fill.rts) }
            }
            _ => Stamps { wts: fill.wts, rts: fill.rts },
        }
    }

    /// The fault `lit_brts` changes the stamps once, when the response is looked at.
    fn keep_changed_stamps(&self, core: &Core) {
        if self.p.inject == Inject::LitBrts {
            let Stamps { wts, rts } = self.stamps(core);
            when(self.looks.get() & !self.done.get(), || self.fill.set(Fill { wts, rts, ..self.fill.get() }));
        }
    }

    /// Changes clock and arrays; `found` is the response's line in its row.
    pub fn look(&self, core: &Core, found: &Found) {
        let fill = self.fill.get();
        let stamps = self.stamps(core);
        let covers = core.clock.as_ref().map_or(bool_lit(true), |clock| clock.ts().le(stamps.rts));
        let lease = mux(covers, enum_lit(Lease::Covers), enum_lit(Lease::Past));
        let lease = mux(self.current(), lease, enum_lit(Lease::Old)).named("fill_lease");
        let data_lost = match &core.misses.hits {
            Some(hits) => hits.get().bit_at(fill.entry),
            None => bool_lit(false),
        };
        let written = mux(fill.with_data & !data_lost, enum_lit(Answer::WrData), enum_lit(Answer::WrAck));
        let read = enum_lit(Answer::Rd);
        let read = if self.p.gtsc() { mux(self.renews(), enum_lit(Answer::Renew), read) } else { read };
        let other = mux(fill.op.is(TsmOp::Amo), enum_lit(Answer::Amo), read);
        let answer = mux(fill.op.is(TsmOp::Wr), written, other).named("fill_answer");
        let own = (found.valid | found.locked).any();
        let place = mux(found.room, enum_lit(Place::Victim), enum_lit(Place::Nowhere));
        let place = mux(own, enum_lit(Place::Own), place).named("fill_place");
        let table = answers(&self.p);
        let row = table.decode_about(self.info.line, self.looks.get(), (answer, lease, place));
        let way = mux(own, found.way, found.victim).named("fill_way");
        let line = self.info.line;
        let go = |action| self.looks.get() & row.does(action);
        when(go(Settle::Install), || {
            core.arrays.put(line, way, fill.data, &stamps);
            core.misses.pin(fill.entry, way);
        });
        when(go(Settle::Stamp), || {
            core.arrays.stamp(line, way, &stamps);
            core.misses.pin(fill.entry, way);
        });
        if self.p.coherent() {
            when(go(Settle::Drop), || {
                core.arrays.drop_way(line, way);
                core.misses.unpin(fill.entry);
            });
        }
        self.raise_clock(core);
        self.keep_changed_stamps(core);
        if self.p.gtsc() {
            let keeps = self.looks.get() & self.renews() & self.has_line(core) & !self.done.get();
            let data = self.line(core);
            when(keeps, || self.fill.set(Fill { data, with_data: bool_lit(true), ..self.fill.get() }));
        }
        self.observe(core, found, &row);
        let before = found.state();
        core.arrays.on_next_state(line, way, move |after| {
            row.leads_from_to(before, after);
        });
    }

    /// It raises the clock at once.
    fn raises(&self) -> Bool {
        let read = self.info.kind.is(TsmOp::Rd);
        let reads_raise = self.p.eager && self.p.inject != Inject::LitReadCts;
        self.current() & if reads_raise { bool_lit(true) } else { !read }
    }

    /// The clock as the response leaves it: what a victim's lease is compared with.
    pub fn clock_after(&self, clock: &Clock) -> Bits {
        mux(self.raises(), max(clock.ts(), self.fill.get().wts), clock.ts())
    }

    fn raise_clock(&self, core: &Core) {
        let Some(clock) = &core.clock else { return };
        let wts = self.fill.get().wts;
        when(self.looks.get() & self.raises(), || {
            clock.reached(self.p.tsm.bank_of(self.info.line), wts);
        });
        if !self.p.eager && self.p.inject != Inject::LitReadCts {
            let read = self.info.kind.is(TsmOp::Rd) & self.current();
            when(self.looks.get() & read, || clock.acquired(wts));
        }
    }

    /// Progress after this cycle; closes the entry when nothing is left to answer.
    pub fn finish(&self, core: &Core, replies: &Replies) {
        let misses = &core.misses;
        let entry = self.fill.get().entry;
        let sent = replies.fill_sent.get();
        let looked = self.looked.get() | self.looks.get();
        let some = misses.some.get().bit_at(entry);
        let alone = mux(self.primary.get(), !some | !self.info.kind.is(TsmOp::Rd), misses.last(entry));
        let ends = mux(self.primary_fits | self.head_fits, sent & alone, bool_lit(true));
        self.done.set(self.valid.get() & looked & ends);
        when(sent & self.primary.get(), || self.primary.set(false));
        when(sent & !self.primary.get(), || misses.pop_served(entry));
        let refused = self.primary.get() & !self.primary_fits & self.info.kind.is(TsmOp::Rd);
        when(self.done.get(), || {
            misses.settle(entry, refused);
            when(!self.info.kind.is(TsmOp::Rd), || replies.complete_store(self.info.fence));
        });
        self.valid.set(self.arrives | (self.valid.get() & !self.done.get()));
        self.looked.set(looked & !self.done.get());
        when(self.arrives, || self.primary.set(true));
        if self.p.coherent() {
            let text = "a load is refused by a response that is too old for it: it is asked again";
            cover("mgcc.race.l1_primary_refused", self.done.get() & refused, text);
            let merged = self.done.get() & some & !self.primary.get() & !self.head_fits;
            let head = misses.heads.read(entry);
            let late =
                merged & misses.waiting.read(head).event.is(L1Event::Ld) & self.info.kind.is(TsmOp::Rd);
            cover(
                "mgcc.race.l1_merge_refused",
                late,
                "a waiting load is newer than the lease of the response",
            );
        }
    }

    fn requester(&self, core: &Core) -> (Bits, Bits) {
        let head = core.misses.waiting.read(core.misses.heads.read(self.fill.get().entry));
        let primary = self.primary.get();
        (mux(primary, self.info.id, head.id), mux(primary, self.info.mask, head.mask))
    }

    /// The answer of this cycle, meaningful with `answers`. An atomic's old value stands in all places: one of them is its own.
    pub fn answer(&self, core: &Core) -> CuRsp {
        let fill = self.fill.get();
        let (id, mask) = self.requester(core);
        let old = fill.old;
        let narrow = old.slice(0, 32);
        let word = mux(self.info.wide, old, cat(&[narrow, narrow]));
        let old = pack(&vec![word; self.p.tsm.data_bits() as usize / 64]);
        let store = self.info.kind.is(TsmOp::Wr);
        CuRsp {
            id,
            kind: store.bits().zext(2),
            mask: mux(store, lit(0, mask.width()), mask),
            data: mux(self.info.kind.is(TsmOp::Amo), old, self.line(core)),
            src: mux(fill.from_memory, lit(3, 3), lit(1, 3)),
            merged: !self.primary.get(),
        }
    }

    /// Time at which the answered operation binds: max(need, wts), a write's wts.
    pub fn time(&self, core: &Core) -> Option<Bits> {
        let (clock, needs) = (core.clock.as_ref()?, core.misses.needs.as_ref()?);
        let fill = self.fill.get();
        let (ts, eb) = (self.p.tsm.ts, self.p.tsm.eb);
        let head = core.misses.heads.read(fill.entry);
        let need = mux(self.primary.get(), needs.entry.read(fill.entry), needs.pool.read(head));
        let ahead = fill.tag - need.slice(ts, eb);
        let wts = self.stamps(core).wts;
        let later = ahead.none() & need.slice(0, ts).gt(wts) & self.info.kind.is(TsmOp::Rd);
        let bound = mux(later, need.slice(0, ts), wts);
        // The tag stands for the nearest epoch that is not above the cache's.
        let behind = clock.tag() - fill.tag;
        let epoch = clock.epoch() - behind.resize(self.p.tsm.epoch_bits());
        Some(cat(&[epoch, bound]).zext(64))
    }
}

/// Bytes of the responses taken.
fn count_response_bytes(p: &L1Params, taken: Bool, m: &UpRsp) {
    for (name, op, text) in [
        ("mgcc_l1_dn_bytes_read", TsmOp::Rd, "bytes of RdRsp from the L2"),
        ("mgcc_l1_dn_bytes_write", TsmOp::Wr, "bytes of WrRsp from the L2"),
        ("mgcc_l1_dn_bytes_atomic", TsmOp::Amo, "bytes of AmoRsp from the L2"),
    ] {
        count_amount(name, taken & m.op.is(op), bytes::up_rsp(&p.tsm, m, p.coherent()), text);
    }
}
