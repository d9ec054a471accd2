//! Counters (mgcc.md section 13), races and invariants that several parts together show. Observers only: no hardware.

use super::arrays::Found;
use super::fill::Filler;
use super::port::UpPort;
use super::reply::Replies;
use super::stage::{Plan, Stage};
use super::table::{BlockState, Operate, Settle};
use super::{Core, L1Event, L1Params, Sweep};
use crate::choice::{GtscFault, Inject};
use crate::msg::TsmOp;
use weft_blocks::msg::{CuOp, CuReq};
use weft_rtl::prelude::*;

/// Everything that is observed.
pub(super) struct Seen<'a> {
    pub core: &'a Core,
    pub stage: &'a Stage<'a>,
    pub plan: &'a Plan,
    pub filler: &'a Filler,
    pub replies: &'a Replies,
    pub sweep: &'a Sweep,
    pub found: &'a Found,
    /// The CU's request enters S1 in this cycle.
    pub accept: Bool,
    /// A request of the CU is in S1.
    pub s1: Bool,
    pub up: &'a UpPort,
    /// An epoch begins by a Roll.
    pub rolls: Bool,
}

impl Seen<'_> {
    /// Declares all observers; `entering` is the request at the CU port.
    pub fn observe(&self, entering: &CuReq) {
        self.requests();
        self.misses();
        self.waits();
        self.latency(entering);
        self.bytes();
        self.races();
    }

    fn go(&self, action: Operate) -> Bool {
        self.stage.go.get() & self.plan.row.does(action)
    }

    fn is(&self, events: &[L1Event]) -> Bool {
        self.stage.req.event.is_any(events)
    }

    fn requests(&self) {
        let taken = self.stage.go.get() & !self.stage.replayed;
        let of = |events: &[L1Event]| taken & self.is(events);
        count("mgcc_l1_taken", taken, "requests carried out or put into the pool");
        count("mgcc_l1_reads", of(&[L1Event::Ld, L1Event::LdSync]), "loads");
        count("mgcc_l1_writes", of(&[L1Event::StFull, L1Event::StPart]), "stores");
        count("mgcc_l1_atomics", of(&[L1Event::Amo]), "atomics");
        count("mgcc_l1_fences", self.replies.fold.get(), "fences, kernel begins and ends answered");
        let again = self.core.misses.again.get().bit_at(self.stage.at);
        let replays = self.stage.go.get() & self.stage.replayed;
        count("mgcc_l1_replays", replays, "requests replayed");
        count(
            "mgcc_l1_replays_again",
            replays & again,
            "of them primaries that their response did not cover",
        );
        count("mgcc_l1_responses", self.filler.looks.get(), "responses carried out");
    }

    fn misses(&self) {
        let sync = self.is(&[L1Event::LdSync]);
        let present = self.plan.found.valid.any();
        let read = self.go(Operate::Read) & !sync;
        count("mgcc_l1_hits", self.go(Operate::Hit), "loads answered from a live block, replayed ones too");
        count("mgcc_l1_misses_absent", read & !present, "loads that miss: capacity or cold");
        count("mgcc_l1_misses_expired", read & present, "loads that miss: coherence, the lease is over");
        count("mgcc_l1_reads_sync", self.go(Operate::Read) & sync, "loads that go to memory (LD_SYNC)");
        let live = self.plan.found.block.is(super::Block::Live);
        count("mgcc_l1_write_hits", self.go(Operate::Lock) & live, "stores that lock a live block");
        count(
            "mgcc_l1_write_misses",
            self.go(Operate::Write) & !(self.plan.row.does(Operate::Lock) & live),
            "other stores",
        );
        let kind = self.core.misses.info.read(self.plan.same.lowest_set()).kind;
        let wait = self.go(Operate::Wait);
        count("mgcc_l1_merged", wait & kind.is(TsmOp::Rd), "requests that wait for a read of their line");
        count(
            "mgcc_l1_lock_waits",
            wait & kind.is(TsmOp::Wr),
            "requests that wait for a store to their line",
        );
        count(
            "mgcc_l1_amo_waits",
            wait & kind.is(TsmOp::Amo),
            "requests that wait for an atomic on their line",
        );
        if self.core.p.coherent() && !self.core.p.gtsc() {
            let evicts = self.go(Operate::Take) & self.found.victim_expired;
            count("mgcc_l1_store_victims_expired", evicts, "expired blocks replaced by a store");
        }
    }

    fn waits(&self) {
        let waits = |name: &str, cond: Bool, text: &str| count(name, self.stage.active & cond, text);
        waits("mgcc_l1_wait_mshr", self.plan.no_entry, "cycles a request waits for an MSHR");
        waits("mgcc_l1_wait_pool", self.plan.no_slot, "cycles a request waits for a pool entry");
        waits(
            "mgcc_l1_wait_way",
            self.plan.no_way,
            "cycles a request waits for the way to the L2 or to the CU",
        );
        waits("mgcc_l1_wait_fence", self.plan.behind, "cycles a fence waits for the one before it");
        count("mgcc_l1_sweep_cycles", self.sweep.active.get(), "cycles of sweeping after a roll");
        count("mgcc_l1_sweeps", self.sweep.starts.get(), "sweeps begun, for whatever reason");
        count("mgcc_l1_rolls_told", self.rolls, "epochs begun by a Roll");
        count("mgcc_l1_sweeps_begin", self.stage.sweeps.get(), "sweeps for a kernel's begin");
        if self.core.p.coherent() {
            let by_response = self.sweep.starts.get() & !self.rolls & !self.stage.sweeps.get();
            count("mgcc_l1_rolls_response", by_response, "epochs begun by a response");
        }
    }

    /// The sum of all latencies is the sum over all cycles of the requests that are inside.
    fn latency(&self, entering: &CuReq) {
        let misses = &self.core.misses;
        let timed = |op: Enum<CuOp>| op.is_any(&[CuOp::Ld, CuOp::St, CuOp::Amo]);
        let memory = [L1Event::Ld, L1Event::LdSync, L1Event::StFull, L1Event::StPart, L1Event::Amo];
        let in_s1 = self.s1 & !self.stage.replayed & self.is(&memory);
        let hidden = self.s1 & self.stage.replayed;
        let open = (misses.busy.get() & !misses.replay.get()) | misses.again.get();
        let answered = self.filler.valid.get() & !self.filler.primary.get();
        let wide = |v: Bits| v.popcount().zext(16);
        let one = |v: Bool| v.bits().zext(16);
        let inside = wide(self.replies.live.get())
            + wide(misses.pool_busy.get())
            + wide(open)
            + one(in_s1)
            + one(hidden)
            + one(self.accept & timed(entering.op))
            - one(answered);
        let text = "sum of the cycles from taking a request to its answer (of a store: to its completion)";
        count_amount("mgcc_l1_latency", inside.any(), inside, text);
    }

    fn bytes(&self) {
        let p = &self.core.p;
        let (sent, kind, bytes, timed) = self.up.leaving(p);
        for (name, op, text) in [
            ("mgcc_l1_up_bytes_read", TsmOp::Rd, "bytes of RdReq to the L2"),
            ("mgcc_l1_up_bytes_write", TsmOp::Wr, "bytes of WrReq to the L2"),
            ("mgcc_l1_up_bytes_atomic", TsmOp::Amo, "bytes of AmoReq to the L2"),
        ] {
            count_amount(name, sent & kind.is(op), bytes, text);
        }
        if p.coherent() {
            count("mgcc_l1_ts_attached", sent & timed, "requests with a timestamp");
        }
        let (told, bytes) = self.replies.telling(p);
        count_amount("mgcc_l1_cu_bytes", told, bytes, "bytes of answers to the CU");
    }

    fn races(&self) {
        let misses = &self.core.misses;
        let starts = self.sweep.starts.get();
        let race = |name: &str, cond: Bool, text: &str| cover(&format!("mgcc.race.l1_{name}"), cond, text);
        let busy = misses.busy.get() & !misses.replay.get();
        race("sweep_open_miss", starts & busy.any(), "blocks are dropped while transactions are open");
        let joins = self.go(Operate::Wait) & (misses.replay.get() & self.plan.same).any();
        race("wait_behind_replay", joins, "a request joins a FIFO that is being replayed");
        let served = self.stage.active & self.plan.served;
        race("wait_while_served", served, "a request of the line comes while the response answers its loads");
        let pops = self.replies.fill_sent.get() & !self.filler.primary.get();
        race(
            "two_heads_leave",
            pops & self.go(Operate::Hit) & self.stage.replayed,
            "a response and a replay answer waiting loads in one cycle",
        );
        race(
            "fence_waits",
            self.replies.fencing.get() & !self.replies.fold.get() & self.go(Operate::Hit),
            "a load hits while a fence waits for stores",
        );
        if self.core.p.coherent() {
            race(
                "sweep_replay",
                starts & misses.replay.get().any(),
                "blocks are dropped while requests wait to be replayed",
            );
            race(
                "response_rolls",
                self.filler.is_newer() & starts,
                "a response of a newer epoch rolls the cache first",
            );
            race("begin_rolls", self.stage.sweeps.get(), "a kernel's begin brings a newer epoch");
        }
    }
}

impl Filler {
    /// Counters and invariants of a response; `row` is its row of the table of answers.
    pub(super) fn observe(&self, core: &Core, found: &Found, row: &Decoded<BlockState, Settle>) {
        let p: &L1Params = &core.p;
        let looks = self.looks.get();
        count("mgcc_l1_installs", looks & row.does(Settle::Install), "lines installed");
        count(
            "mgcc_l1_bypassed",
            looks & row.does(Settle::Bypass),
            "lines not installed: lease over, or no way free",
        );
        let locked = found.locked.any();
        let store = self.info.kind.is(TsmOp::Wr);
        let text = "a locked block's transaction is a write, a matching valid one's a read";
        let unlocked = bool_lit(p.inject == Inject::Gtsc(GtscFault::Unlocked));
        let paired = (!locked | store) & (!found.valid.any() | self.info.kind.is(TsmOp::Rd) | unlocked);
        assert_always("mgcc_l1_locked_by_write", !looks | paired, text);
        if p.gtsc() {
            let renews = looks & self.renews();
            count("mgcc_l1_renewals", renews, "leases renewed without the line");
            cover(
                "mgcc.race.l1_renewal_lost",
                renews & !self.has_line(core),
                "a block that is renewed has gone",
            );
        }
        if p.coherent() {
            let replaced = looks & row.does(Settle::Install) & !(found.valid | found.locked).any();
            let text = "expired blocks replaced by a response";
            count("mgcc_l1_victims_expired", replaced & found.victim_expired, text);
            let fill = self.fill.get();
            let (wts, rts) = fill.stamps();
            assert_always("mgcc_l1_stamps_ordered", !looks | wts.le(rts), "wts <= rts in every response");
        }
    }
}
