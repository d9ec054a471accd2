//! Stamps of a bank of G-TSC (mgcc.md section 14): the bank is the ordering point of its lines, so it gives leases itself and no block of it ever expires.
//!
//! `mem_ts` is the time of all lines that are not here: at least the rts of every block dropped. A line comes in with wts = max(1, mem_ts). Reads extend rts past the reader's
//! warpts, writes and atomics jump past it. A roll keeps the blocks and sets all stamps, and mem_ts, to 1 (`mem_ts` = 0 after reset or a roll means 1: it is only used as max(1, mem_ts)).
//!
//! Nothing that would give a write a stamp beyond TS_MAX enters stage 1: when some lease has reached TS_MAX the bank waits for the roll that it has asked for before.

use super::back_table::BackDo;
use super::clock::Clock;
use super::decision::BackDecision;
use super::mshr::Mshrs;
use super::params::L2Params;
use super::tags::Tags;
use super::types::{LineState, Need, Stamps};
use crate::choice::{GtscFault, Inject};
use crate::msg::{RollAck, TsmOp};
use crate::time::max;
use weft_rtl::prelude::*;

/// What a lease depends on beside the operation.
pub(super) struct Around<'a> {
    pub m: &'a Mshrs,
    pub tags: &'a Tags,
    /// The version that the requester has, 0 if none.
    pub known: Option<&'a Reg<Bits>>,
}

/// The greatest lease given, and the wish for a roll.
pub(super) struct Leases {
    p: L2Params,
    /// Lease register, sampled at each grant.
    lease: Bits,
    /// Greatest rts given in this epoch.
    pub high: Reg<Bits>,
    next: Wire<Bits>,
    ask: OutChannel<RollAck>,
    asked: Reg<Bool>,
}

/// What stage 1 grants.
#[derive(Clone, Copy)]
pub(super) struct Grant {
    /// The requester's time is of this epoch, and what it is (else 0).
    pub current: Bool,
    pub warpts: Bits,
    /// The L1 has a block of the line.
    pub known: Bool,
    /// Stamps of the answer, and of the block.
    pub stamps: Stamps,
    /// A read's block is the one that the L1 has: no line.
    pub renews: Bool,
    /// The answer has the line.
    pub with_data: Bool,
    /// A block is dropped, and mem_ts rises to its rts.
    pub leaves: Bool,
}

impl Leases {
    /// Declares input, registers and the channel `roll_ask`.
    pub fn new(p: &L2Params) -> Leases {
        let high = reg::<Bits>("high_rts", p.tsm.ts).field("timestamp");
        Leases {
            lease: input::<Bits>("lease", p.tsm.ts),
            next: wire_or::<Bits>("high_next", p.tsm.ts, high.get()),
            high,
            ask: out_channel::<RollAck>("roll_ask", &p.tsm),
            asked: reg::<Bool>("roll_asked", ()),
            p: p.clone(),
        }
    }

    /// Nothing may enter: a lease has reached TS_MAX.
    pub fn full(&self) -> Bool {
        self.next.get().all()
    }

    /// A request or answer waits for the roll.
    pub fn holds(&self) -> Bool {
        self.high.get().all()
    }

    /// x + lease, at most TS_MAX.
    fn until(&self, x: Bits) -> Bits {
        let sum = x.zext(self.p.tsm.ts + 1) + self.lease.zext(self.p.tsm.ts + 1);
        mux(sum.bit(self.p.tsm.ts), lit_bv(Bv::ones(self.p.tsm.ts)), sum.slice(0, self.p.tsm.ts))
    }

    /// Keeps the greatest lease and asks for a roll; `rolls`: one begins.
    pub fn connect(&self, clock: &Clock, rolls: Bool) {
        self.high.set(self.next.get());
        let near = self.high.get().gt(self.p.tsm.roll_above()) | self.high.get().all();
        when(near & !self.asked.get() & self.ask.free & !rolls, || {
            self.ask.send(&RollAck { epoch: clock.epoch.get() });
            self.asked.set(true);
        });
        when(rolls, || {
            self.high.set(0);
            self.asked.set(false);
        });
    }

    /// The requester's time: 0 if it is of an epoch that is over.
    fn warpts(&self, around: &Around, clock: &Clock, d: &BackDecision) -> (Bool, Bits) {
        let asked = Need { tag: d.op.req.tag, ts: d.op.req.ts };
        let need = around.m.need(d.op.mshr).map_or(asked, |first| mux(d.fill, first, asked));
        let current = need.tag.eq(clock.tag()).named("s1_current");
        (current, mux(current, need.ts, lit(0, self.p.tsm.ts)).named("s1_warpts"))
    }

    /// Grants stage 1's operation its stamps and moves mem_ts.
    pub fn grant(&self, around: &Around, clock: &Clock, d: &BackDecision) -> Grant {
        let zero = lit(0, self.p.tsm.ts);
        let own = d.look.stamps.unwrap_or(Stamps { wts: zero, rts: zero });
        let (current, warpts) = self.warpts(around, clock, d);
        let (leaves, time) = self.drop_blocks(clock, d);
        let base = max(time, lit(1, self.p.tsm.ts)).named("s1_base");
        let here = (d.look.is(LineState::V) | d.look.is(LineState::K)) & d.asked;
        let before = mux(here, own, Stamps { wts: base, rts: base });
        let op = mux(d.fill, around.m.info(d.op.mshr).op, d.op.req.op);
        let written = max(before.rts + 1, warpts).named("s1_write_ts");
        let write = Stamps { wts: written, rts: self.until(written) };
        let hit = Stamps { wts: before.wts, rts: max(before.rts, self.until(warpts)) };
        let fetched = Stamps { wts: base, rts: self.until(max(base, warpts)) };
        let read = mux(d.fill, fetched, hit);
        let granted = mux(op.is(TsmOp::Rd), read, write);
        // A line that comes for a request that waits is in nobody's hands yet.
        let waits = d.fill & d.quiet;
        let stamps = mux(waits, Stamps { wts: base, rts: base }, granted);
        self.note_high(clock, d, &stamps);
        let known = around.known.map_or(zero, |wts| wts.get());
        let same = (current & here & known.any() & known.eq(own.wts)).named("s1_same_version");
        let any = self.p.inject == Inject::Gtsc(GtscFault::RenewChanged);
        let renewed = if any { same | (current & here & known.any()) } else { same };
        let reads = op.is(TsmOp::Rd);
        let renews = (d.asked & reads & renewed).named("s1_renews");
        let partial = mux(d.fill, around.m.landing[0].lane(0).with_data, !d.op.req.mask.all());
        let stale = known.any() & partial & !same;
        let with_data = mux(reads, !renews, op.is(TsmOp::Amo) | stale).named("s1_with_line");
        self.keep(around, d, &stamps);
        assert_always(
            "gtsc_l2_fits",
            !(d.answers() & !reads) | !before.rts.all(),
            "a write's wts fits: nothing enters when a lease has reached TS_MAX",
        );
        Grant { current, warpts, known: known.any(), stamps, renews, with_data, leaves }
    }

    /// mem_ts rises by what the operation drops: a victim, or the lines of a set. Whether a victim is dropped, and mem_ts then.
    fn drop_blocks(&self, clock: &Clock, d: &BackDecision) -> (Bool, Bits) {
        let victim = d.look.victim_tag.state.is_any(&[LineState::V, LineState::K]);
        let leaves = ((d.r(BackDo::Keep) | (d.r(BackDo::Write) & !d.look.hit)) & victim).named("s1_leaves");
        let mut time = clock.ts.get();
        let untimed = self.p.inject == Inject::Gtsc(GtscFault::EvictUntimed);
        if let (Some(stamps), false) = (d.look.victim_stamps, untimed) {
            when(leaves, || clock.raise(stamps.rts));
            time = mux(leaves, max(time, stamps.rts), time);
        }
        if let Some(rts) = d.look.greatest_rts {
            when(d.flush & d.drops, || clock.raise(rts));
        }
        (leaves, time)
    }

    fn note_high(&self, clock: &Clock, d: &BackDecision, stamps: &Stamps) {
        when(d.answers() | d.installs(), || self.next.set(max(self.high.get(), stamps.rts)));
        // What went past the bank is dropped at once.
        let past = d.fill & !d.written & !d.quiet & !d.installs();
        when(past, || clock.raise(stamps.rts));
    }

    fn keep(&self, around: &Around, d: &BackDecision, stamps: &Stamps) {
        let read = d.op.req.op.is(TsmOp::Rd) & d.asked;
        let kept =
            if self.p.inject == Inject::Gtsc(GtscFault::LeaseNotKept) { !read } else { bool_lit(true) };
        let puts = d.installs() | (d.r(BackDo::Answer) & kept);
        when(puts, || around.tags.stamp(d.op.set, d.way, *stamps));
    }
}
