//! The L1 of BASE, bRSP (by locks of lines or by a token), sRSP and sRSPOpt, a slot at a time (srsp.md
//! section 5).
//!
//! A call is one slot: an answer ([`L1::rsp`]), a probe ([`L1::probe`]), a step of its own ([`L1::step`]: replay, drain, second slots of the sync and the probe unit), a
//! request of the CU ([`L1::cu`]). Which is next is the caller's choice; hardware serves them in the order RSP, probe, replay, drain, CU. What needs no slot (sending
//! the next message of an operation, starting and ending fences, closing the gate) follows at once in the same call.

use super::core::{Core, L1Params, Took};
use super::msg::{CuOp, CuReq, Out, Pack, Rsp, RspKind, Scope, Sync};
use super::slip::Slip;
use super::tables::{Aff, PaTbl};
use std::collections::VecDeque;
use weft_srsp::l1::Closes;
use weft_srsp::params::Impl;

pub mod plan;
mod probe;
mod sync;

pub use probe::{ProbeRun, Stage};
pub use sync::Run;

/// A slot that the L1 gives to itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum L1Step {
    /// The oldest atomic that replays in this MSHR.
    Replay(u8),
    /// A pop.
    Drain,
    /// A slot of the sync unit: line-inv or flash-inv.
    Sync,
    /// A further slot of the probe unit: flash-inv.
    Probe,
}

/// Why the CU gate is closed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Gate {
    /// By the sync unit: I, own remote operation.
    pub sync: bool,
    /// By the probe unit, which flushes, then drops all lines: PA-full, INV_ALL, INV_UNLOCK.
    pub probe: bool,
    /// bRSP with a token, from LOCK_FLUSH to INV_UNLOCK: the line of its address.
    pub lock: Option<u64>,
}

impl Gate {
    /// CU requests and replays may go on, if no lock stops them.
    pub fn open(&self) -> bool {
        !(self.sync || self.probe)
    }
}

/// An L1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct L1 {
    p: L1ParamsEq,
    /// Lines, misses, write-backs.
    pub core: Core,
    /// PA-TBL.
    pub pa: PaTbl,
    /// aff_cache.
    pub aff: Aff,
    /// CU gate.
    pub gate: Gate,
    /// Line that CU accesses and replays must not touch now.
    pub su_line: Option<u64>,
    /// What the sync unit runs.
    pub run: Option<Run>,
    /// What waits for it: {request, promoted}.
    pub sq: VecDeque<(CuReq, bool)>,
    /// What the probe unit runs.
    pub active: Option<ProbeRun>,
}

/// The parameters, which are the same in all states of a system.
#[derive(Clone, Copy, Debug)]
struct L1ParamsEq(L1Params);

impl PartialEq for L1ParamsEq {
    fn eq(&self, _: &L1ParamsEq) -> bool {
        true
    }
}

impl Eq for L1ParamsEq {}

impl std::hash::Hash for L1 {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.core, &self.pa, &self.aff, &self.gate).hash(state);
        (self.su_line, &self.run, &self.sq, &self.active).hash(state);
    }
}

impl L1 {
    /// After reset.
    pub fn new(p: L1Params) -> L1 {
        L1 {
            core: Core::new(&p),
            pa: PaTbl::new(p.pa),
            aff: Aff::new(if p.imp == Impl::SrspOpt { p.aff } else { 0 }),
            gate: Gate::default(),
            su_line: None,
            run: None,
            sq: VecDeque::new(),
            active: None,
            p: L1ParamsEq(p),
        }
    }
    /// The parameters.
    pub fn params(&self) -> &L1Params {
        &self.p.0
    }
    /// Nothing is under way.
    pub fn idle(&self) -> bool {
        self.run.is_none()
            && self.sq.is_empty()
            && self.active.is_none()
            && self.core.drain.is_empty()
            && self.core.wbt.is_empty()
            && self.core.mshrs.iter().all(Option::is_none)
    }
    /// What was sent since the last call, in order.
    pub fn take_out(&mut self) -> Vec<Out> {
        self.core.take_out()
    }

    /// A broadcast's lock stops a request.
    fn barred(&self, op: &CuOp) -> bool {
        let line = match op {
            CuOp::Load { line, .. } | CuOp::Store { line, .. } => Some(*line),
            CuOp::Sync(sync) => Some(sync.atomic.line()),
            CuOp::Begin | CuOp::End => None,
        };
        let plain = matches!(op, CuOp::Load { .. } | CuOp::Store { .. });
        self.gate.lock.is_some_and(|locked| match self.params().closes {
            Closes::All => true,
            Closes::Sync => !plain,
            Closes::Line => line == Some(locked),
        })
    }

    /// A request of the CU. On [`Took::Wait`] nothing has changed; on [`Took::NotYet`] something has, and the request is to be tried again.
    pub fn cu(&mut self, req: &CuReq) -> Took {
        if !self.gate.open() || self.barred(&req.op) {
            return Took::Wait;
        }
        let took = match req.op {
            CuOp::Load { line, .. } | CuOp::Store { line, .. } if self.su_line == Some(line) => Took::Wait,
            CuOp::Load { line, mask } => self.core.load(req.id, line, mask),
            CuOp::Store { line, mask, data } => self.core.store(req.id, line, mask, data),
            CuOp::Sync(sync) => self.dispatch(req.id, &sync, None),
            CuOp::Begin | CuOp::End => self.enqueue(*req, false),
        };
        self.settle();
        took
    }
    /// A synchronising access in its slot, from the CU or from an MSHR.
    fn dispatch(&mut self, id: u32, sync: &Sync, from: Option<usize>) -> Took {
        let past = from.is_some() && self.core.slips(Slip::ReplayPastSync);
        if self.su_line == Some(sync.atomic.line()) && !past {
            return Took::Wait;
        }
        let imp = self.params().imp;
        if sync.remote {
            let illegal = imp == Impl::Base || sync.scope != Scope::Cmp || sync.sem == super::msg::Sem::Rlx;
            if illegal {
                self.core.fault("a remote operation that is not legal");
            }
        }
        let own = imp == Impl::SrspOpt && self.core.rel.lr.find(sync.atomic.tag()).is_some();
        if sync.scope != Scope::Wg && !(sync.remote && own) {
            return self.enqueue(CuReq { id, op: CuOp::Sync(*sync) }, false);
        }
        let sync = Sync { scope: Scope::Wg, remote: false, ..*sync };
        if imp.selective() && sync.sem.acquires() && self.pa.has(sync.atomic.tag()) {
            return self.enqueue(CuReq { id, op: CuOp::Sync(sync) }, true);
        }
        self.core.atomic(id, &sync, from)
    }
    fn enqueue(&mut self, req: CuReq, promoted: bool) -> Took {
        let idle = self.run.is_none() && self.sq.is_empty();
        if !idle && self.sq.len() == self.params().sq {
            return Took::Wait;
        }
        self.sq.push_back((req, promoted));
        Took::Done
    }

    /// An answer of a bank.
    pub fn rsp(&mut self, rsp: &Rsp) {
        match rsp.kind {
            RspKind::Fill { mshr, data } => {
                let line = self.core.mshrs.get(usize::from(mshr)).and_then(Option::as_ref).map(|m| m.line);
                let locked = self
                    .gate
                    .lock
                    .is_some_and(|locked| self.params().closes != Closes::Line || line == Some(locked));
                self.core.fill(mshr, data, self.gate.open() && !locked);
            }
            RspKind::WbAck { wbt, epoch } => self.core.wb_ack(wbt, epoch),
            RspKind::AtmRsp { old, wrote } | RspKind::RemRsp { old, wrote } => self.answered(old, wrote),
            RspKind::RemGrant | RspKind::TokenGrant => self.granted(),
            RspKind::SysAck => self.sys_ack(),
            RspKind::RegData { .. } | RspKind::UnregAck { .. } => {
                self.core.fault("an answer that only hLRC knows");
            }
        }
        self.settle();
    }
    /// A PACK.
    pub fn pack(&mut self, pack: &Pack) {
        self.take_pack(pack);
        self.settle();
    }

    /// Slots that may be possible now. [`L1::step`] says whether they are.
    pub fn steps(&self) -> Vec<L1Step> {
        let mut steps = Vec::new();
        if self.active.as_ref().is_some_and(ProbeRun::wants_slot) {
            steps.push(L1Step::Probe);
        }
        if self.gate.open() {
            let replays = |number: &usize| self.core.replaying(*number).is_some();
            let numbers = (0..self.core.mshrs.len()).filter(replays);
            steps.extend(numbers.map(|number| L1Step::Replay(number as u8)));
        }
        if self.core.drains() {
            steps.push(L1Step::Drain);
        }
        if self.run.as_ref().is_some_and(Run::wants_slot) {
            steps.push(L1Step::Sync);
        }
        steps
    }
    /// Makes a slot of its own; false, and nothing has changed, if it must wait.
    pub fn step(&mut self, step: L1Step) -> bool {
        let done = match step {
            L1Step::Replay(number) => self.replay(usize::from(number)),
            L1Step::Drain => self.core.pop(),
            L1Step::Sync => self.sync_slot(),
            L1Step::Probe => self.probe_slot(),
        };
        if done {
            self.settle();
        }
        done
    }
    fn replay(&mut self, number: usize) -> bool {
        let Some((id, sync)) = self.core.replaying(number).filter(|_| self.gate.open()) else { return false };
        if self.barred(&CuOp::Sync(sync)) {
            return false;
        }
        match self.dispatch(id, &sync, Some(number)) {
            Took::Done => self.core.replayed(number),
            Took::NotYet => {}
            Took::Wait => return false,
        }
        true
    }
    /// Everything that needs no slot.
    fn settle(&mut self) {
        loop {
            let went = match self.core.advance() {
                Some(who) => {
                    self.drained(who);
                    true
                }
                None => self.probe_goes_on() || self.run_goes_on(),
            };
            if !went {
                break;
            }
        }
    }
    fn drained(&mut self, who: super::core::Who) {
        match who {
            super::core::Who::Probe => self.probe_drained(),
            super::core::Who::Sync => self.run_drained(),
            super::core::Who::Capture | super::core::Who::Release(_) => {
                self.core.fault("a client of the drain that this L1 has not");
            }
        }
    }
    /// flash-inv, with the tables.
    fn flash_inv(&mut self) {
        self.core.flash_inv();
        self.pa.clear();
    }
}
