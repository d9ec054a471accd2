//! The L1 (mgcc.md section 4; the CU port as the contract of the blocks maps it).
//!
//! Calls: [`L1::cu`] (a request taken from the CU), [`L1::rsp`] (an answer of a bank), [`L1::replay`] (the next waiting request of a line), [`L1::roll`],
//! [`L1::fence`] (a fence that may be answered). Queries: [`L1::replays`], [`L1::fences`], [`L1::cts`], [`L1::txn_of`].

use super::array::{Array, State};
use super::inject::Inject;
use super::layout::Layout;
use super::msg::{Atomic, Data, UpReq, Work};
use super::time::{Time, Widths};
use std::collections::{BTreeSet, VecDeque};

mod respond;

/// Parameters of an L1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct L1Params {
    /// Its number.
    pub own: u32,
    /// Sets, a power of two; the set is in the lowest bits of the line number.
    pub sets: usize,
    /// Ways.
    pub ways: usize,
    /// Which bank owns a line.
    pub layout: Layout,
    /// Widths of stamps and tags.
    pub widths: Widths,
    /// Open transactions.
    pub mshrs: usize,
    /// Requests that wait behind an open transaction of their line.
    pub pool: usize,
    /// MGCC (else no stamps, every valid block is live).
    pub coherent: bool,
    /// Reads raise the clock at the fill (else at the next fence).
    pub eager: bool,
    /// Hits per increment of the clock; 0: never.
    pub self_inc: u64,
    /// Expired victims first.
    pub repl_ts: bool,
    /// A published rule in place of its correction.
    pub inject: Option<Inject>,
}

/// Operations of the CU port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CuWork {
    /// LD, or with `sync` LD_SYNC: answered from memory.
    Load {
        /// Goes to memory.
        sync: bool,
    },
    /// ST of the masked bytes.
    Store {
        /// Bytes in place.
        data: Data,
        /// Answered when complete.
        want_ack: bool,
    },
    /// AMO.
    Atomic(Atomic),
    /// FENCE (Rel, Acq).
    Fence,
    /// SetCts (Kbegin); without coherence: invalidate every line.
    Kbegin(Time),
    /// FENCE whose answer tells the clock (Kend).
    Kend,
}

/// A request of the CU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CuReq {
    /// Transaction number of the CU.
    pub id: u32,
    /// Line number.
    pub line: u64,
    /// Bytes loaded or stored; of an atomic its word.
    pub mask: u64,
    /// What is asked.
    pub work: CuWork,
}

/// An answer to the CU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CuRsp {
    /// Transaction number of the CU.
    pub id: u32,
    /// Carries no bytes: store, fence, Kbegin, Kend.
    pub ack: bool,
    /// Bytes answered.
    pub mask: u64,
    /// Bytes in place, others zero; of an atomic the old value in its place.
    pub data: Data,
    /// When the operation binds (loads, stores, atomics); of Kend, Kbegin and fences the clock.
    pub time: Time,
    /// 0 the L1 itself, 1 the L2, 3 memory.
    pub src: u32,
    /// Answered by a transaction that another request had opened.
    pub merged: bool,
}

/// What an L1 does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum L1Action {
    /// Request to the line's bank.
    Up(UpReq),
    /// Answer to the CU.
    Cu(CuRsp),
    /// The roll to this epoch is acknowledged.
    RollAck(u64),
}

/// The request cannot be taken now: every MSHR, or the pool, is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stall;

/// A request in the L1 that is not answered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    req: CuReq,
    /// The clock when it was taken, or last tried.
    need: Time,
    /// Place among the stores and atomics taken.
    serial: u64,
}

/// An open transaction, or one that is over with requests to replay.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Mshr {
    line: u64,
    /// What is outstanding; nothing: the FIFO is being replayed.
    primary: Option<Waiting>,
    /// The write hit a live block.
    hit: bool,
    fifo: VecDeque<Waiting>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Fence {
    id: u32,
    kend: bool,
    /// Waits for the stores and atomics before this one.
    before: u64,
}

/// A vector L1.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct L1 {
    p: L1Params,
    cts: Time,
    acq: u64,
    bank_lb: Vec<u64>,
    hits: u64,
    array: Array,
    mshrs: Vec<Option<Mshr>>,
    fences: VecDeque<Fence>,
    /// Stores and atomics taken, and those of them that are not complete.
    serials: u64,
    outstanding: BTreeSet<u64>,
}

impl L1 {
    /// After reset.
    pub fn new(p: L1Params) -> L1 {
        L1 {
            p,
            cts: Time::default(),
            acq: 0,
            bank_lb: vec![0; p.layout.banks as usize],
            hits: 0,
            array: Array::new(p.sets, p.ways),
            mshrs: vec![None; p.mshrs],
            fences: VecDeque::new(),
            serials: 0,
            outstanding: BTreeSet::new(),
        }
    }
    /// The clock.
    pub fn cts(&self) -> Time {
        self.cts
    }
    /// The greatest stamp of read fills since the last fence (`deferred`).
    pub fn acq(&self) -> u64 {
        self.acq
    }
    /// What a bank's clock has certainly reached.
    pub fn bank_lb(&self, bank: usize) -> u64 {
        self.bank_lb[bank]
    }
    /// The lines.
    pub fn array(&self) -> &Array {
        &self.array
    }
    /// Transaction number of a line's open transaction.
    pub fn txn_of(&self, line: u64) -> Option<u32> {
        self.mshr_of(line).map(|slot| slot as u32)
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
    /// Fences and Kends that may be answered now, by their CU transaction numbers.
    pub fn fences(&self) -> Vec<u32> {
        let first = self.outstanding.first().copied().unwrap_or(u64::MAX);
        self.fences.iter().filter(|fence| fence.before <= first).map(|fence| fence.id).collect()
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
    pub fn cu(&mut self, req: CuReq) -> Result<Vec<L1Action>, Stall> {
        match req.work {
            CuWork::Fence | CuWork::Kend => {
                let kend = req.work == CuWork::Kend;
                self.fences.push_back(Fence { id: req.id, kend, before: self.serials });
                Ok(Vec::new())
            }
            CuWork::Kbegin(time) => Ok(self.kbegin(req.id, time)),
            CuWork::Load { .. } | CuWork::Store { .. } | CuWork::Atomic(_) => self.access(req),
        }
    }
    /// Answers a fence: folds what the wave has read into the clock.
    ///
    /// # Panics
    /// The fence may not be answered yet, or there is none of this number.
    pub fn fence(&mut self, id: u32) -> L1Action {
        assert!(self.fences().contains(&id), "fence {id} is answered before the stores taken before it");
        let at = self.fences.iter().position(|fence| fence.id == id).unwrap_or(0);
        let kend = self.fences.remove(at).is_some_and(|fence| fence.kend);
        self.cts.ts = self.cts.ts.max(std::mem::take(&mut self.acq));
        let data = if kend { self.clock_data() } else { Data::default() };
        self.ack(id, self.cts, data)
    }
    /// A new epoch: all blocks are over, the clock starts again. Acknowledged also if it is known already.
    pub fn roll(&mut self, epoch: u64) -> L1Action {
        self.advance(epoch);
        L1Action::RollAck(epoch)
    }
    /// Tries the next waiting request of a transaction that is over. A request that needs memory reuses the entry.
    ///
    /// # Panics
    /// The transaction has nothing to replay.
    pub fn replay(&mut self, txn: u32) -> Vec<L1Action> {
        let slot = txn as usize;
        assert!(self.replays().contains(&txn), "transaction {txn} has nothing to replay");
        let next = self.mshrs[slot].as_mut().and_then(|m| m.fifo.pop_front());
        let actions = next.map(|waiting| self.start(slot, waiting)).unwrap_or_default();
        self.free_if_done(slot);
        actions
    }

    fn kbegin(&mut self, id: u32, time: Time) -> Vec<L1Action> {
        if self.p.coherent {
            self.advance(time.epoch);
            self.cts = self.cts.max(time);
        } else {
            self.array.sweep();
        }
        vec![self.ack(id, self.cts, Data::default())]
    }
    fn advance(&mut self, epoch: u64) {
        if epoch > self.cts.epoch {
            self.cts = Time::new(epoch, 0);
            self.acq = 0;
            self.bank_lb.fill(0);
            self.array.sweep();
        }
    }
    fn clock_data(&self) -> Data {
        let mut data = Data::default();
        data.set_number(0, 8, self.cts.pack(self.p.widths.ts));
        data
    }
    fn ack(&self, id: u32, time: Time, data: Data) -> L1Action {
        L1Action::Cu(CuRsp { id, ack: true, mask: 0, data, time, src: 0, merged: false })
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
        let place = self.array.find(self.set_of(line), line);
        let live = |rts| !self.p.coherent || self.cts.ts <= rts;
        place.is_some_and(|at| self.array.way(at).state == State::Valid && live(self.array.way(at).rts))
    }

    fn access(&mut self, req: CuReq) -> Result<Vec<L1Action>, Stall> {
        let mut waiting = Waiting { req, need: self.cts, serial: self.serials };
        let writes = !matches!(req.work, CuWork::Load { .. });
        if !self.can_take(&req) {
            return Err(Stall);
        }
        if let Some(slot) = self.mshr_of(req.line) {
            self.take_serial(writes, &mut waiting);
            if let Some(m) = &mut self.mshrs[slot] {
                m.fifo.push_back(waiting);
            }
            return Ok(Vec::new());
        }
        if req.work == (CuWork::Load { sync: false }) && self.live(req.line) {
            return Ok(vec![self.load_hit(&waiting)]);
        }
        let slot = self.mshrs.iter().position(Option::is_none).ok_or(Stall)?;
        self.take_serial(writes, &mut waiting);
        let fifo = VecDeque::new();
        self.mshrs[slot] = Some(Mshr { line: req.line, primary: None, hit: false, fifo });
        Ok(self.start(slot, waiting))
    }
    fn take_serial(&mut self, writes: bool, waiting: &mut Waiting) {
        if writes {
            waiting.serial = self.serials;
            self.outstanding.insert(self.serials);
            self.serials += 1;
        }
    }
    fn load_hit(&mut self, waiting: &Waiting) -> L1Action {
        let req = waiting.req;
        let time = match self.array.find(self.set_of(req.line), req.line) {
            Some(at) => {
                self.array.touch(at);
                self.cts.max(Time::new(self.cts.epoch, self.array.way(at).wts))
            }
            None => self.cts,
        };
        let at = self.array.find(self.set_of(req.line), req.line);
        let data = at.map(|at| self.array.way(at).data.masked(req.mask)).unwrap_or_default();
        self.hits += 1;
        if self.p.coherent && self.hits == self.p.self_inc {
            self.cts.ts = (self.cts.ts + 1).min(self.p.widths.max());
            self.hits = 0;
        }
        L1Action::Cu(CuRsp { id: req.id, ack: false, mask: req.mask, data, time, src: 0, merged: false })
    }

    /// A request whose line has nothing outstanding: the rows "M = -" of the table. `slot` is the line's entry.
    fn start(&mut self, slot: usize, mut waiting: Waiting) -> Vec<L1Action> {
        let CuReq { line, mask, work, .. } = waiting.req;
        let set = self.set_of(line);
        let live = self.live(line);
        let mut force = false;
        let mut hit = false;
        let asked = match work {
            CuWork::Load { sync: false } if live => return vec![self.load_hit(&waiting)],
            CuWork::Load { sync } => {
                force = sync;
                Work::Read
            }
            CuWork::Store { data, .. } => {
                hit = live;
                self.lock(set, line, mask, &data);
                Work::Write { mask, data }
            }
            CuWork::Atomic(atomic) => {
                if let Some(at) = self.array.find(set, line) {
                    self.array.clear(at);
                }
                Work::Atomic(atomic)
            }
            CuWork::Fence | CuWork::Kbegin(_) | CuWork::Kend => return Vec::new(),
        };
        waiting.need = self.cts;
        if let Some(m) = &mut self.mshrs[slot] {
            m.primary = Some(waiting);
            m.hit = hit;
        }
        vec![self.send(slot, line, force, asked)]
    }
    /// A store merges its bytes into its line and locks it; a store of a whole line may take a way for it.
    fn lock(&mut self, set: usize, line: u64, mask: u64, data: &Data) {
        let place = match self.array.find(set, line) {
            Some(at) => Some(at),
            None if mask == u64::MAX => self.victim(set),
            None => None,
        };
        if let Some(at) = place {
            let way = self.array.way_mut(at);
            way.line = line;
            way.state = State::Locked;
            way.data.merge(mask, data);
            self.array.touch(at);
        }
    }
    fn victim(&self, set: usize) -> Option<(usize, usize)> {
        let expired = |rts| self.p.coherent && self.p.repl_ts && self.cts.ts > rts;
        self.array.victim(set, |way| expired(way.rts), |line| self.mshr_of(line).is_some())
    }
    /// The sending rule: the clock travels only if the bank may not have reached it.
    fn send(&mut self, slot: usize, line: u64, force: bool, work: Work) -> L1Action {
        let bound = &mut self.bank_lb[self.p.layout.bank(line)];
        let attach = self.p.coherent && self.p.inject != Some(Inject::LitNoTs) && self.cts.ts > *bound;
        if attach {
            *bound = self.cts.ts;
        }
        let ts = attach.then_some(self.cts.ts);
        let tag = self.p.widths.tag(self.cts.epoch);
        L1Action::Up(UpReq { src: self.p.own, txn: slot as u32, line, force, tag, ts, work })
    }
}
