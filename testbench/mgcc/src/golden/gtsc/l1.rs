//! The L1 of G-TSC: hit iff tag match and warpts <= rts; write-through, no-write-allocate, a store that hits locks its block (mgcc.md sections 14, 4 and 9).
//!
//! Calls and queries as those of [`crate::golden::l1::L1`].

use super::super::array::{Array, State};
use super::super::l1::{CuReq, CuRsp, CuWork, Stall};
use super::super::msg::{Data, Op, UpRsp, Work};
use super::super::time::{Age, Time, Widths};
use super::{Request, masked};
use std::collections::{BTreeSet, VecDeque};

/// Parameters of an L1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Params {
    /// Its number.
    pub own: u32,
    /// Sets, a power of two; the set is in the lowest bits of the line number.
    pub sets: usize,
    /// Ways.
    pub ways: usize,
    /// Widths of stamps and tags.
    pub widths: Widths,
    /// Open transactions.
    pub mshrs: usize,
    /// Requests that wait behind an open transaction of their line.
    pub pool: usize,
    /// Hits per increment of the clock; 0: never.
    pub self_inc: u64,
    /// Expired victims first.
    pub repl_ts: bool,
}

/// What an L1 does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Request to the line's bank.
    Up(Request),
    /// Answer to the CU.
    Cu(CuRsp),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    req: CuReq,
    need: Time,
    serial: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Mshr {
    line: u64,
    /// What is outstanding; nothing: the FIFO is being replayed.
    primary: Option<Waiting>,
    fifo: VecDeque<Waiting>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Fence {
    id: u32,
    kend: bool,
    before: u64,
}

/// An L1.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct L1 {
    p: Params,
    warpts: Time,
    hits: u64,
    array: Array,
    mshrs: Vec<Option<Mshr>>,
    fences: VecDeque<Fence>,
    serials: u64,
    outstanding: BTreeSet<u64>,
}

impl L1 {
    /// After reset.
    pub fn new(p: Params) -> L1 {
        L1 {
            p,
            warpts: Time::default(),
            hits: 0,
            array: Array::new(p.sets, p.ways),
            mshrs: vec![None; p.mshrs],
            fences: VecDeque::new(),
            serials: 0,
            outstanding: BTreeSet::new(),
        }
    }
    /// The clock.
    pub fn warpts(&self) -> Time {
        self.warpts
    }
    /// The lines.
    pub fn array(&self) -> &Array {
        &self.array
    }
    /// Nothing open, nothing waiting.
    pub fn idle(&self) -> bool {
        self.mshrs.iter().all(Option::is_none) && self.fences.is_empty()
    }
    /// Transactions with a request that may be replayed now.
    pub fn replays(&self) -> Vec<u32> {
        let ready = |slot: &usize| self.mshrs[*slot].as_ref().is_some_and(|m| m.primary.is_none());
        (0..self.mshrs.len()).filter(ready).map(|slot| slot as u32).collect()
    }
    /// The transaction of a line.
    pub fn txn_of(&self, line: u64) -> Option<u32> {
        self.mshr_of(line).map(|slot| slot as u32)
    }
    /// Fences and Kends that may be answered now.
    pub fn fences(&self) -> Vec<u32> {
        let first = self.outstanding.first().copied().unwrap_or(u64::MAX);
        self.fences.iter().filter(|fence| fence.before <= first).map(|fence| fence.id).collect()
    }
    /// A fence is not answered.
    pub fn fencing(&self) -> bool {
        !self.fences.is_empty()
    }
    /// An MSHR or a pool entry is there for the request, if it needs one.
    pub fn can_take(&self, req: &CuReq) -> bool {
        match req.work {
            CuWork::Fence | CuWork::Kend | CuWork::Kbegin(_) => true,
            _ if self.mshr_of(req.line).is_some() => {
                self.mshrs.iter().flatten().map(|m| m.fifo.len()).sum::<usize>() < self.p.pool
            }
            CuWork::Load { sync: false } if self.live(req.line) => true,
            _ => self.mshrs.iter().any(Option::is_none),
        }
    }
    /// Takes a request of the CU. Fences and Kend are answered by [`L1::fence`].
    ///
    /// # Errors
    /// No MSHR or no pool entry is free; nothing has changed.
    pub fn cu(&mut self, req: CuReq) -> Result<Vec<Action>, Stall> {
        match req.work {
            CuWork::Fence | CuWork::Kend => {
                let kend = req.work == CuWork::Kend;
                self.fences.push_back(Fence { id: req.id, kend, before: self.serials });
                Ok(Vec::new())
            }
            CuWork::Kbegin(time) => {
                self.advance(time.epoch);
                self.warpts = self.warpts.max(time);
                Ok(vec![self.ack(req.id, self.warpts, Data::default())])
            }
            CuWork::Load { .. } | CuWork::Store { .. } | CuWork::Atomic(_) => self.access(req),
        }
    }
    /// Answers a fence; Kend tells warpts.
    ///
    /// # Panics
    /// The fence may not be answered yet.
    pub fn fence(&mut self, id: u32) -> Action {
        assert!(self.fences().contains(&id), "fence {id} is answered before the stores taken before it");
        let at = self.fences.iter().position(|fence| fence.id == id).unwrap_or(0);
        let kend = self.fences.remove(at).is_some_and(|fence| fence.kend);
        let mut data = Data::default();
        if kend {
            data.set_number(0, 8, self.warpts.pack(self.p.widths.ts));
        }
        self.ack(id, self.warpts, data)
    }
    /// A new epoch: all blocks are over, the clock starts again.
    pub fn roll(&mut self, epoch: u64) {
        self.advance(epoch);
    }
    /// Tries the next waiting request of a transaction that is over.
    ///
    /// # Panics
    /// The transaction has nothing to replay.
    pub fn replay(&mut self, txn: u32) -> Vec<Action> {
        let slot = txn as usize;
        assert!(self.replays().contains(&txn), "transaction {txn} has nothing to replay");
        let next = self.mshrs[slot].as_mut().and_then(|m| m.fifo.pop_front());
        let actions = next.map(|waiting| self.start(slot, waiting)).unwrap_or_default();
        self.free_if_done(slot);
        actions
    }

    fn advance(&mut self, epoch: u64) {
        if epoch > self.warpts.epoch {
            self.warpts = Time::new(epoch, 0);
            self.array.sweep();
        }
    }
    fn ack(&self, id: u32, time: Time, data: Data) -> Action {
        Action::Cu(CuRsp { id, ack: true, mask: 0, data, time, src: 0, merged: false })
    }
    fn set_of(&self, line: u64) -> usize {
        line as usize & (self.p.sets - 1)
    }
    fn mshr_of(&self, line: u64) -> Option<usize> {
        self.mshrs.iter().position(|m| m.as_ref().is_some_and(|m| m.line == line))
    }
    fn free_if_done(&mut self, slot: usize) {
        if self.mshrs[slot].as_ref().is_some_and(|m| m.primary.is_none() && m.fifo.is_empty()) {
            self.mshrs[slot] = None;
        }
    }
    fn live(&self, line: u64) -> bool {
        let way = self.array.find(self.set_of(line), line).map(|at| self.array.way(at));
        way.is_some_and(|way| way.state == State::Valid && self.warpts.ts <= way.rts)
    }
    fn access(&mut self, req: CuReq) -> Result<Vec<Action>, Stall> {
        if !self.can_take(&req) {
            return Err(Stall);
        }
        let mut waiting = Waiting { req, need: self.warpts, serial: self.serials };
        if req.work == (CuWork::Load { sync: false })
            && self.mshr_of(req.line).is_none()
            && self.live(req.line)
        {
            return Ok(self.hit(&waiting).into_iter().collect());
        }
        if !matches!(req.work, CuWork::Load { .. }) {
            waiting.serial = self.serials;
            self.outstanding.insert(self.serials);
            self.serials += 1;
        }
        if let Some(slot) = self.mshr_of(req.line) {
            if let Some(m) = &mut self.mshrs[slot] {
                m.fifo.push_back(waiting);
            }
            return Ok(Vec::new());
        }
        let slot = self.mshrs.iter().position(Option::is_none).ok_or(Stall)?;
        self.mshrs[slot] = Some(Mshr { line: req.line, primary: None, fifo: VecDeque::new() });
        Ok(self.start(slot, waiting))
    }
    fn hit(&mut self, waiting: &Waiting) -> Option<Action> {
        let CuReq { id, line, mask, .. } = waiting.req;
        let at = self.array.find(self.set_of(line), line)?;
        self.array.touch(at);
        let way = self.array.way(at);
        let time = self.warpts.max(Time::new(self.warpts.epoch, way.wts));
        let data = way.data.masked(mask);
        self.hits += 1;
        if self.hits == self.p.self_inc {
            self.warpts.ts = (self.warpts.ts + 1).min(self.p.widths.max());
            self.hits = 0;
        }
        Some(Action::Cu(CuRsp { id, ack: false, mask, data, time, src: 0, merged: false }))
    }
    /// A request whose line has nothing outstanding.
    fn start(&mut self, slot: usize, mut waiting: Waiting) -> Vec<Action> {
        let CuReq { line, mask, work, .. } = waiting.req;
        let own = self.array.find(self.set_of(line), line);
        let mut wts = own.map_or(0, |at| self.array.way(at).wts);
        let work = match work {
            CuWork::Load { sync: false } if self.live(line) => {
                return self.hit(&waiting).into_iter().collect();
            }
            CuWork::Store { data, .. } => {
                if let Some(at) = own {
                    let way = self.array.way_mut(at);
                    way.state = State::Locked;
                    way.data.merge(mask, &data);
                    self.array.touch(at);
                }
                Work::Write { mask, data }
            }
            CuWork::Atomic(atomic) => {
                wts = 0;
                if let Some(at) = own {
                    self.array.clear(at);
                }
                Work::Atomic(atomic)
            }
            _ => Work::Read,
        };
        waiting.need = self.warpts;
        if let Some(m) = &mut self.mshrs[slot] {
            m.primary = Some(waiting);
        }
        vec![Action::Up(Request { src: self.p.own, txn: slot as u32, line, warpts: self.warpts, wts, work })]
    }

    /// Takes an answer of a bank.
    ///
    /// # Panics
    /// Nothing of this kind is outstanding in the transaction; or the stamps are in the wrong order.
    pub fn rsp(&mut self, rsp: &UpRsp) -> Vec<Action> {
        assert!(rsp.wts <= rsp.rts, "the lease [{}, {}] ends before it begins", rsp.wts, rsp.rts);
        let current = self.p.widths.age(rsp.tag, self.warpts.epoch) != Age::Older;
        let epoch = self.p.widths.epoch_of(rsp.tag, self.warpts.epoch);
        self.advance(epoch);
        let slot = rsp.txn as usize;
        let open = self.mshrs.get_mut(slot).and_then(Option::as_mut);
        let Some((line, primary)) = open.and_then(|m| m.primary.take().map(|primary| (m.line, primary)))
        else {
            panic!("nothing is outstanding in transaction {slot}")
        };
        if current {
            self.warpts.ts = self.warpts.ts.max(rsp.wts);
        }
        let own = self.array.find(self.set_of(line), line);
        // A renewed block that has gone with its epoch has no data.
        let data = rsp.data.or_else(|| own.map(|at| self.array.way(at).data));
        self.install(line, current, rsp);
        let actions = self.serve(slot, &primary, rsp, data, epoch);
        self.free_if_done(slot);
        actions
    }
    fn install(&mut self, line: u64, current: bool, rsp: &UpRsp) {
        let set = self.set_of(line);
        let own = self.array.find(set, line);
        let useful = current && (rsp.data.is_none() || self.warpts.ts <= rsp.rts);
        if !useful {
            if let Some(at) = own {
                self.array.clear(at);
            }
            return;
        }
        // Stores that miss leave the L1 as it is; so does an answer without the line.
        let takes = rsp.data.is_some() && rsp.op != Op::Write;
        let place = own.or_else(|| if takes { self.victim(set) } else { None });
        if let Some(at) = place {
            let way = self.array.way_mut(at);
            (way.state, way.line, way.wts, way.rts) = (State::Valid, line, rsp.wts, rsp.rts);
            if let Some(data) = rsp.data {
                way.data = data;
                self.array.touch(at);
            }
        }
    }
    fn victim(&self, set: usize) -> Option<(usize, usize)> {
        let expired = |rts| self.p.repl_ts && self.warpts.ts > rts;
        self.array.victim(set, |way| expired(way.rts), |line| self.mshr_of(line).is_some())
    }
    fn serve(
        &mut self,
        slot: usize,
        primary: &Waiting,
        rsp: &UpRsp,
        data: Option<Data>,
        epoch: u64,
    ) -> Vec<Action> {
        let src = if rsp.from_memory { 3 } else { 1 };
        let time = Time::new(epoch, rsp.wts);
        let CuReq { id, work, .. } = primary.req;
        let none = CuRsp { id, ack: true, mask: 0, data: Data::default(), time, src, merged: false };
        match (work, rsp.op) {
            (CuWork::Load { .. }, Op::Read) => self.serve_loads(slot, primary, rsp, data, epoch),
            (CuWork::Store { want_ack, .. }, Op::Write) => {
                self.outstanding.remove(&primary.serial);
                if want_ack { vec![Action::Cu(none)] } else { Vec::new() }
            }
            (CuWork::Atomic(atomic), Op::Atomic) => {
                self.outstanding.remove(&primary.serial);
                let mut data = Data::default();
                data.set_number(4 * atomic.word as usize, atomic.size(), rsp.old);
                vec![Action::Cu(CuRsp { ack: false, mask: atomic.mask(), data, ..none })]
            }
            (asked, got) => panic!("transaction {slot} asked for {asked:?} and is answered as {got:?}"),
        }
    }
    fn serve_loads(
        &mut self,
        slot: usize,
        primary: &Waiting,
        rsp: &UpRsp,
        data: Option<Data>,
        epoch: u64,
    ) -> Vec<Action> {
        let end = Time::new(epoch, rsp.rts);
        let Some(m) = &mut self.mshrs[slot] else { return Vec::new() };
        if primary.need > end || data.is_none() {
            m.fifo.push_front(*primary);
            return Vec::new();
        }
        let mut served = vec![*primary];
        let plain = CuWork::Load { sync: false };
        while let Some(next) = m.fifo.pop_front_if(|next| next.req.work == plain && next.need <= end) {
            served.push(next);
        }
        let src = if rsp.from_memory { 3 } else { 1 };
        let answer = |(i, waiting): (usize, &Waiting)| {
            let CuReq { id, mask, .. } = waiting.req;
            let time = waiting.need.max(Time::new(epoch, rsp.wts));
            Action::Cu(CuRsp { id, ack: false, mask, data: masked(data, mask), time, src, merged: i > 0 })
        };
        served.iter().enumerate().map(answer).collect()
    }
}
