//! The walker goes through the list of a line after its answer: reads at its head are answered from the landing place, the rest goes through the pipeline again.
//!
//! ```text
//! Idle -> Serve (one waiting read per cycle) -> Replay (asks stage 0) -> Replaying (stage 1) -> Serve or, when a new transaction begins, Idle
//! ```

use super::clock::Clock;
use super::mshr::Mshrs;
use super::params::L2Params;
use super::types::Waiting;
use crate::msg::{TsmOp, UpReq, UpRsp};
use weft_blocks::common::arbiter::RoundRobin;
use weft_rtl::prelude::*;

/// State of the walker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum WalkState {
    Idle,
    Serve,
    Replay,
    Replaying,
}

/// What stage 1 made of a replay.
pub(super) struct Outcome {
    /// It was answered.
    pub answered: Bool,
    /// It has the line's next transaction.
    pub opened: Bool,
    /// It has, but waits on at the head of the list (write-back).
    pub stays: Bool,
}

/// The walker.
pub(super) struct Walker {
    pub state: Reg<Enum<WalkState>>,
    /// MSHR whose list it goes through.
    pub mshr: Reg<Bits>,
    /// Only reads so far.
    leading: Reg<Bool>,
    /// The first requester is tried before the list.
    pub redo: Reg<Bool>,
    /// Of a write-back bank: the line has just come for the head of the list.
    fresh: Option<Reg<Bool>>,
    order: RoundRobin,
    /// A read of the list is answered from the landing place if the output lets it.
    pub wants: Wire<Bool>,
    /// Stage 1 appends to the same list.
    appended: Wire<Bool>,
}

impl Walker {
    /// Declares the registers.
    pub fn new(p: &L2Params) -> Walker {
        Walker {
            state: reg::<Enum<WalkState>>("walk_state", ()),
            mshr: reg::<Bits>("walk_mshr", p.tsm.l2_txn_bits()),
            leading: reg::<Bool>("walk_leading", ()),
            redo: reg::<Bool>("walk_redo", ()),
            fresh: p.back().then(|| reg::<Bool>("walk_fresh", ())),
            order: RoundRobin::new("walk_order", p.tsm.l2_mshrs),
            wants: wire_or::<Bool>("walk_wants", (), false),
            appended: wire_or::<Bool>("walk_appended", (), false),
        }
    }

    /// A replay asks to enter the pipeline.
    pub fn asks(&self) -> Bool {
        self.state.get().is(WalkState::Replay)
    }

    /// It enters.
    pub fn granted(&self) {
        self.state.set(WalkState::Replaying);
    }

    /// Stage 1 appends to the list of `index` in this cycle.
    pub fn appends(&self, index: Bits) {
        self.appended.set(index.eq(self.mshr.get()));
    }

    /// The replay's line has just come for it.
    pub fn fresh(&self) -> Bool {
        self.fresh.as_ref().map_or(bool_lit(false), |fresh| fresh.get())
    }

    /// Who is replayed.
    pub fn who(&self, m: &Mshrs) -> Waiting {
        let head = m.header(m.list(self.mshr.get()).head);
        mux(self.redo.get(), m.info(self.mshr.get()), head)
    }

    /// The request replayed.
    pub fn request(&self, p: &L2Params, m: &Mshrs) -> UpReq {
        let (who, payload) = (self.who(m), m.payload.lane(0));
        let (mut tag, mut ts) = (lit(0, p.tsm.eb), lit(0, p.tsm.ts));
        if let (Some(need), true) = (m.header_need(m.list(self.mshr.get()).head), p.gtsc()) {
            (tag, ts) = (need.tag, need.ts);
        }
        UpReq {
            op: who.op,
            src: who.src,
            txn: who.txn,
            line: m.line_of(self.mshr.get()),
            force: who.force,
            tag,
            ts_v: bool_lit(false),
            ts,
            mask: payload.mask,
            data: payload.data,
            amo: payload.amo,
            sgn: payload.sgn,
            word: payload.word,
            wide: payload.wide,
        }
    }

    /// Reads what the list needs; called before [`Walker::connect`].
    pub fn present(&self, m: &Mshrs, picked: Bits) {
        let idle = self.state.get().is(WalkState::Idle);
        let of = mux(idle, picked, self.mshr.get());
        m.landing[1].present(of);
        if let Some(stamps) = &m.stamps {
            stamps[1].present(of);
        }
        m.payload.present(m.list(of).head);
    }

    /// The answer to the read at the head of the list, and whether its lease covers it.
    fn answer(&self, p: &L2Params, m: &Mshrs, clock: Option<&Clock>) -> (UpRsp, Bool) {
        let mshr = self.mshr.get();
        let entry = m.list(mshr).head;
        let (who, landing) = (m.header(entry), m.landing[1].lane(0));
        let (mut tag, mut wts, mut rts) = (lit(0, p.tsm.eb), lit(0, p.tsm.ts), lit(0, p.tsm.ts));
        let mut covered = bool_lit(true);
        if let (Some(clock), Some(stamps), Some(need), Some(epoch)) =
            (clock, &m.stamps, m.header_need(entry), m.epoch(mshr))
        {
            let lease = stamps[1].lane(0);
            (tag, wts, rts) = (epoch, lease.wts, lease.rts);
            covered = clock.within((need.tag, need.ts), (epoch, lease.rts));
        }
        let rsp = UpRsp {
            op: who.op,
            dst: who.src,
            txn: who.txn,
            tag,
            wts,
            rts,
            with_data: bool_lit(true),
            data: landing.data,
            old: lit(0, 64),
            from_memory: bool_lit(true),
        };
        (rsp, covered)
    }

    /// The message that [`Walker::wants`] speaks of.
    pub fn offer(&self, p: &L2Params, m: &Mshrs, clock: Option<&Clock>) -> UpRsp {
        let pick = self.order.pick(m.walk.now.get());
        self.present(m, pick.index);
        let mshr = self.mshr.get();
        let list = m.list(mshr);
        let who = m.header(list.head);
        let (rsp, covered) = self.answer(p, m, clock);
        let read = who.op.is(TsmOp::Rd) & !who.force;
        // Each read of G-TSC extends the lease: it passes the pipeline.
        let read = read & !bool_lit(p.gtsc());
        let serves = self.leading.get() & read & covered & list.count.any() & !self.redo.get();
        when(self.state.get().is(WalkState::Idle) & pick.any, || {
            self.mshr.set(pick.index);
            self.redo.set(m.redo.at(pick.index));
            self.leading.set(m.info(pick.index).op.is(TsmOp::Rd));
            if let (Some(fresh), Some(quiet), Some(writes), Some(past)) =
                (&self.fresh, &m.quiet, &m.writes, &m.past)
            {
                let first_waits = quiet.at(pick.index);
                fresh.set(first_waits & !writes.at(pick.index));
                when(first_waits | past.at(pick.index), || self.leading.set(false));
            }
            m.walk.lower(pick.index);
            m.redo.lower(pick.index);
            self.order.granted(pick.index);
            self.state.set(WalkState::Serve);
        });
        let serving = self.state.get().is(WalkState::Serve) & !self.appended.get();
        self.wants.set(serving & serves);
        let empty = list.count.none() & !self.redo.get();
        when(serving & empty, || {
            m.free_by_walk(mshr);
            self.state.set(WalkState::Idle);
        })
        .elsewhen(serving & !serves, || {
            self.leading.set(false);
            self.state.set(WalkState::Replay);
        });
        rsp
    }

    /// The read at the head has been answered.
    pub fn sent(&self, m: &Mshrs, sent: Bool) {
        when(sent, || m.pop(self.mshr.get()));
    }

    /// Goes on after a replay.
    pub fn finish(&self, m: &Mshrs, replay: Bool, outcome: &Outcome) {
        let mshr = self.mshr.get();
        when(replay, || {
            when(!self.redo.get() & !outcome.stays, || m.pop(mshr));
            self.redo.set(false);
            self.state.set(WalkState::Serve);
            if let Some(fresh) = &self.fresh {
                fresh.set(false);
            }
        });
        when(replay & outcome.opened, || self.state.set(WalkState::Idle));
        assert_always(
            "l2_replay_gets_on",
            !replay | outcome.answered | outcome.opened,
            "a replay is answered or has the line's next transaction",
        );
    }
}
