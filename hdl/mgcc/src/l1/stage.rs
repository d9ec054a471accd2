//! Carries out one request: that of the CU in S1, or a replayed one.

use super::arrays::Found;
use super::fill::Filler;
use super::port::UpPort;
use super::reply::{Delayed, FenceKind, Replies};
use super::table::{Block, BlockState, Operate, operations};
use super::{Core, L1Event, MissInfo, S1Req, Turn};
use crate::choice::{GtscFault, Inject};
use crate::msg::{TsmOp, UpReq};
use crate::params::LINE;
use crate::time::{later, max};
use weft_blocks::cache::l1::StallCause;
use weft_rtl::prelude::*;

/// The request of this cycle and what it may do.
pub(super) struct Stage<'a> {
    pub core: &'a Core,
    pub own: Bits,
    pub req: S1Req,
    /// It is a replayed one, of MSHR `at`.
    pub replayed: Bool,
    /// Fence epoch in which it was taken.
    pub fence: Bits,
    pub at: Bits,
    /// Its row is the one read, and nothing more urgent happens.
    pub active: Bool,
    /// It is carried out.
    pub go: Wire<Bool>,
    /// A kernel's begin starts a sweep and waits for it.
    pub sweeps: Wire<Bool>,
}

/// What the request finds and takes.
pub(super) struct Plan {
    pub row: Decoded<BlockState, Operate>,
    pub found: Found,
    /// MSHRs of the line.
    pub same: Bits,
    /// MSHR that it opens.
    entry: Bits,
    pub opens: Bool,
    /// A request to the bank carries the clock.
    pub tells: Bool,
    pub no_entry: Bool,
    pub no_slot: Bool,
    pub no_way: Bool,
    pub behind: Bool,
    pub served: Bool,
}

/// The replayed request: the primary again, or the head of the FIFO.
pub(super) fn replayed_request(core: &Core, at: Bits) -> S1Req {
    let misses = &core.misses;
    let (info, data) = (misses.info.read(at), misses.replayed_data());
    let head = misses.waiting.read(misses.heads.read(at));
    let again = misses.again.get().bit_at(at);
    let primary = mux(info.force, enum_lit(L1Event::LdSync), enum_lit(L1Event::Ld));
    S1Req {
        event: mux(again, primary, head.event),
        want_ack: head.want_ack,
        amo: head.amo,
        sgn: head.sgn,
        line: info.line,
        mask: mux(again, info.mask, head.mask),
        data: data.data,
        cmp: data.cmp,
        id: mux(again, info.id, head.id),
    }
}

/// Fence epoch in which the request to be replayed was taken.
pub(super) fn replayed_fence(core: &Core, at: Bits) -> Bits {
    core.misses.waiting.read(core.misses.heads.read(at)).fence
}

impl Stage<'_> {
    /// Looks up in the tables and decides whether the request goes.
    pub fn plan(&self, found: Found, filler: &Filler, replies: &Replies, up: &UpPort) -> Plan {
        let misses = &self.core.misses;
        let same = misses.of_line(self.req.line).named("s1_same_line");
        let busy = self.waits_for(same, &found);
        let inputs = (self.req.event, busy.bits(), found.block);
        let fences = ["fence", "kend", "kbegin"];
        let row = operations(&self.core.p).decode_about_but(self.req.line, &fences, self.go.get(), inputs);
        let opens = (row.does(Operate::Read) | row.does(Operate::Write) | row.does(Operate::Atomic))
            .named("s1_opens");
        let free = !misses.busy.get();
        // A response is one step: what its line still protects is known when its loads are answered.
        let allocates = bool_lit(!self.core.p.gtsc());
        let takes = allocates & self.req.event.is(L1Event::StFull) & !busy & !found.valid.any();
        let plan = Plan {
            found,
            same,
            entry: mux(self.replayed, self.at, free.lowest_set()),
            opens,
            tells: self.tells().named("tells_time"),
            no_entry: opens & free.none() & !self.replayed,
            no_slot: row.does(Operate::Wait) & misses.pool_busy.get().all(),
            no_way: (opens & !up.free()) | (row.does(Operate::Hit) & replies.frozen.get()),
            behind: (row.does(Operate::Fence) | row.does(Operate::Begin)) & replies.fencing.get(),
            served: (row.does(Operate::Wait) & filler.serves(same)) | (takes & filler.valid.get()),
            row,
        };
        let must_sweep = self.must_sweep(&plan);
        let held = plan.no_entry | plan.no_slot | plan.no_way | plan.behind | plan.served | must_sweep;
        self.go.set(self.active & !held);
        self.sweeps.set(self.active & must_sweep & !plan.behind);
        assert_always("mgcc_l1_one_transaction", same.popcount().le(1), "one transaction per line");
        plan
    }

    /// The line is under way, by a transaction that is not the request's own.
    fn waits_for(&self, same: Bits, found: &Found) -> Bool {
        let busy = same.any() & !self.replayed;
        if self.core.p.inject != Inject::Gtsc(GtscFault::Unlocked) {
            return busy;
        }
        let kind = self.core.misses.info.read(same.lowest_set()).kind;
        let stored = kind.is(TsmOp::Wr) & found.block.is(Block::Live);
        busy & !(stored & self.req.event.is(L1Event::Ld))
    }

    /// A request to this line's bank must carry the clock.
    fn tells(&self) -> Bool {
        if self.core.p.gtsc() {
            return bool_lit(false);
        }
        let bank = self.core.p.tsm.bank_of(self.req.line);
        self.core.clock.as_ref().map_or(bool_lit(false), |clock| clock.must_tell(bank))
    }

    /// A kernel's begin: the given time's epoch is newer; without coherence: the blocks are not yet dropped.
    fn must_sweep(&self, plan: &Plan) -> Bool {
        let newer = match &self.core.clock {
            Some(clock) => later(self.begin_epoch(), clock.epoch()),
            None => self.core.swept.as_ref().map_or(bool_lit(false), |swept| !swept.get()),
        };
        plan.row.does(Operate::Begin) & newer
    }

    /// Epoch of the time that a kernel's begin brings.
    pub fn begin_epoch(&self) -> Bits {
        let tsm = &self.core.p.tsm;
        self.req.data.slice(tsm.ts, tsm.epoch_bits())
    }

    /// Carries the request out.
    pub fn act(&self, plan: &Plan, replies: &Replies, up: &UpPort) {
        let go = |action| self.go.get() & plan.row.does(action);
        when(self.go.get() & plan.opens, || self.open(plan, up));
        when(go(Operate::Wait), || {
            let need = self.core.clock.as_ref().map(|clock| clock.need());
            self.core.misses.append(plan.same.lowest_set(), &self.req, self.fence, need);
        });
        when(go(Operate::Hit), || self.hit(plan, replies));
        let takes = self.takes(plan);
        when(go(Operate::Lock) | takes, || self.lock(plan));
        when(go(Operate::Drop), || self.core.arrays.drop_way(self.req.line, plan.found.way));
        let store = self.req.event.is_any(&[L1Event::StFull, L1Event::StPart, L1Event::Amo]);
        when(self.go.get() & store & !self.replayed, || replies.take_store());
        when(go(Operate::Fence), || {
            let end = self.req.event.is(L1Event::Kend);
            let kind = mux(end, enum_lit(FenceKind::Kend), enum_lit(FenceKind::Fence));
            replies.start_fence(self.req.id, kind);
        });
        when(go(Operate::Begin), || self.begin(replies));
        when(self.go.get() & self.replayed, || self.leave(plan));
        self.follows(plan);
    }

    fn begin(&self, replies: &Replies) {
        if let Some(clock) = &self.core.clock {
            let tsm = &self.core.p.tsm;
            let current = self.begin_epoch().eq(clock.epoch());
            when(current, || clock.at_least(self.req.data.slice(0, tsm.ts)));
        }
        self.core.swept.iter().for_each(|swept| swept.set(false));
        replies.start_fence(self.req.id, enum_lit(FenceKind::Kbegin));
    }

    fn hit(&self, plan: &Plan, replies: &Replies) {
        let (core, way) = (self.core, plan.found.way);
        core.arrays.touch(core.arrays.set_of(self.req.line), way);
        let time = core.clock.as_ref().zip(core.arrays.wts(way)).map(|(clock, wts)| {
            clock.count_hit();
            cat(&[clock.epoch(), max(clock.ts(), wts)]).zext(64)
        });
        let answer = Delayed { id: self.req.id, mask: self.req.mask, data: core.arrays.data(way) };
        replies.delay(&answer, time);
    }

    /// Asserts that the line's block is in the state to which the row leads.
    fn follows(&self, plan: &Plan) {
        let (core, found, row) = (self.core, &plan.found, plan.row.clone());
        let takes = self.takes(plan);
        let way = mux(takes, found.victim, found.way);
        // The fault leaves blocks unlocked that a store has written.
        let open = core.p.inject == Inject::Gtsc(GtscFault::Unlocked);
        let stored = self.go.get() & row.does(Operate::Lock) & bool_lit(open);
        let before = found.state();
        core.arrays.on_next_state(self.req.line, way, move |after| {
            let after = mux(stored & after.is(BlockState::V), enum_lit(BlockState::K), after);
            row.leads_from_to(before, after);
        });
    }

    /// A store takes the victim's way.
    fn takes(&self, plan: &Plan) -> Bool {
        if self.core.p.gtsc() { bool_lit(false) } else { self.go.get() & plan.row.does(Operate::Take) }
    }

    /// A store writes into the matching way, or takes the victim's.
    fn lock(&self, plan: &Plan) {
        let arrays = &self.core.arrays;
        let way = match self.core.p.gtsc() {
            true => plan.found.way,
            false => mux(plan.row.does(Operate::Lock), plan.found.way, plan.found.victim),
        };
        let bytes: Vec<Bits> = (0..LINE).map(|i| self.req.mask.bit(i).repeat(8)).collect();
        let mask = pack(&bytes);
        let merged = (arrays.data(way) & !mask) | (self.req.data & mask);
        arrays.lock(self.req.line, way, merged);
    }

    /// Opens a transaction.
    fn open(&self, plan: &Plan, up: &UpPort) {
        let (core, req, row) = (self.core, &self.req, &plan.row);
        let kind = mux(row.does(Operate::Atomic), enum_lit(TsmOp::Amo), enum_lit(TsmOp::Rd));
        let kind = mux(row.does(Operate::Write), enum_lit(TsmOp::Wr), kind);
        let force = req.event.is(L1Event::LdSync);
        let info = MissInfo {
            line: req.line,
            kind,
            force,
            want_ack: req.want_ack,
            wide: self.wide(),
            mask: req.mask,
            id: req.id,
            fence: self.fence,
        };
        let need = core.clock.as_ref().map(|clock| clock.need());
        core.misses.open(plan.entry, &info, need);
        let live = plan.found.block.is(Block::Live);
        core.misses.note_hit(plan.entry, row.does(Operate::Lock) & live);
        let stays = row.does(Operate::Read) & plan.found.valid.any();
        when(stays, || core.misses.pin(plan.entry, plan.found.way))
            .otherwise(|| core.misses.unpin(plan.entry));
        let clock = core.clock.as_ref().filter(|_| core.p.gtsc()).map(|clock| clock.cts.get());
        up.send(&self.request(plan, kind, force), clock, self.known_wts(plan));
    }

    /// wts of the line's block, of which a request of G-TSC tells; 0 without one.
    fn known_wts(&self, plan: &Plan) -> Bits {
        let zero = lit(0, self.core.p.tsm.ts);
        let Some(wts) = self.core.arrays.wts(plan.found.way) else { return zero };
        let kept = plan.found.valid.any() & !plan.row.does(Operate::Atomic);
        mux(kept, wts, zero)
    }

    /// The atomic's word has 8 bytes.
    fn wide(&self) -> Bool {
        let first = self.req.mask.lowest_set().zext(7);
        self.req.mask.bit_at(first + 4)
    }

    fn request(&self, plan: &Plan, kind: Enum<TsmOp>, force: Bool) -> UpReq {
        let (core, req) = (self.core, &self.req);
        let tsm = &core.p.tsm;
        let word = req.mask.lowest_set().slice(2, 4);
        let (one, two) = (req.data.element(word, 32), req.data.element(word.slice(1, 3), 64));
        let operand = mux(self.wide(), two, one.zext(64));
        let operands = cat(&[req.cmp, operand]).zext(tsm.data_bits());
        let (tag, ts_v, ts) = match &core.clock {
            Some(clock) => {
                when(plan.tells, || clock.told(tsm.bank_of(req.line)));
                (clock.tag(), plan.tells, mux(plan.tells, clock.ts(), lit(0, tsm.ts)))
            }
            None => (lit(0, tsm.eb), bool_lit(false), lit(0, tsm.ts)),
        };
        UpReq {
            op: kind,
            src: self.own,
            txn: plan.entry.resize(tsm.l1_txn_bits()),
            line: req.line,
            force,
            tag,
            ts_v,
            ts,
            mask: mux(kind.is(TsmOp::Wr), req.mask, lit(0, LINE)),
            data: mux(kind.is(TsmOp::Amo), operands, req.data),
            amo: req.amo,
            sgn: req.sgn,
            word,
            wide: self.wide(),
        }
    }

    /// The replayed request leaves the pool, or the primary has been asked again; the entry is free after a last hit.
    fn leave(&self, plan: &Plan) {
        let misses = &self.core.misses;
        let again = misses.again.get().bit_at(self.at);
        let some = misses.some.get().bit_at(self.at);
        when(again, || misses.primary_replayed(self.at)).otherwise(|| misses.pop_replayed(self.at));
        let last = mux(again, !some, misses.last(self.at));
        when(!plan.opens & last, || misses.free_replayed(self.at));
    }

    /// Why the CU's request is not taken, for the CU: as every L1 tells it.
    pub fn tell_stall(&self, plan: &Plan, turn: Enum<Turn>, waits: Bool) {
        let stall = output_reg::<Enum<StallCause>>("stall", ()).doc("Why requests are not taken.");
        let cause = |c: StallCause| enum_lit(c);
        let why = mux(
            plan.no_way | plan.served | self.sweeps.get(),
            cause(StallCause::Other),
            cause(StallCause::None),
        );
        let why = mux(plan.behind, cause(StallCause::Release), why);
        let why = mux(plan.no_entry | plan.no_slot, cause(StallCause::MshrFull), why);
        let why = mux(turn.is(Turn::Request) & self.active, why, cause(StallCause::Bank));
        stall.set(mux(waits, why, cause(StallCause::None)));
    }

    /// Invariants of requests.
    pub fn check(&self, plan: &Plan) {
        let locked = self.go.get() & plan.found.locked.any();
        let text = "a locked block is neither read nor written: its line has an MSHR, and requests wait";
        let memory = !(plan.row.does(Operate::Fence) | plan.row.does(Operate::Begin));
        assert_always("mgcc_l1_locked_waits", !(locked & memory) | plan.row.does(Operate::Wait), text);
        let one_word = self.req.event.is(L1Event::Amo);
        let bytes = self.req.mask.popcount();
        let whole = bytes.eq(4) | bytes.eq(8);
        let text = "an atomic is on one word of 4 or 8 bytes";
        assert_always("mgcc_l1_atomic_word", !(self.go.get() & one_word) | whole, text);
    }
}
