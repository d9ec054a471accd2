//! The L2 bank of G-TSC: write-back, ordering point of its lines, gives and renews leases (mgcc.md section 14).
//!
//! Calls and queries as those of [`crate::golden::wb::WriteBack`], and rolls.

use super::super::array::{Array, State};
use super::super::l1::Stall;
use super::super::layout::Layout;
use super::super::msg::{Data, Op, UmcReq, UmcRsp, UpRsp, Work};
use super::super::time::Widths;
use super::Request;
use std::collections::{BTreeMap, VecDeque};

/// Parameters of a bank.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Params {
    /// Its GPU's number.
    pub gpu: u32,
    /// Sets, a power of two; the set is in the lowest bits of the line number without the bank's bits.
    pub sets: usize,
    /// Ways.
    pub ways: usize,
    /// Which bank owns a line.
    pub layout: Layout,
    /// Widths of stamps and tags.
    pub widths: Widths,
    /// One lease for reads and writes.
    pub lease: u64,
    /// Open transactions.
    pub mshrs: usize,
    /// Requests that wait behind an open transaction of their line.
    pub pool: usize,
}

/// What a bank does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Answer to an L1.
    Rsp(UpRsp),
    /// Request to memory.
    Mem(UmcReq),
}

/// What a transaction waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    /// The victim's dirty bytes are being written.
    WriteBack,
    /// The line is being read into the way kept for it.
    Fetch,
    /// No way could be kept: the request itself is at the memory.
    Past,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Mshr {
    line: u64,
    primary: Option<Request>,
    step: Step,
    fifo: VecDeque<Request>,
}

/// A bank.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct L2 {
    p: Params,
    epoch: u64,
    mem_ts: u64,
    /// Greatest rts given in this epoch.
    high: u64,
    array: Array,
    dirty: BTreeMap<u64, u64>,
    mshrs: Vec<Option<Mshr>>,
}

impl L2 {
    /// After reset.
    pub fn new(p: Params) -> L2 {
        let array = Array::new(p.sets, p.ways);
        L2 { p, epoch: 0, mem_ts: 0, high: 0, array, dirty: BTreeMap::new(), mshrs: vec![None; p.mshrs] }
    }
    /// The epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
    /// Time of all lines that are not here.
    pub fn mem_ts(&self) -> u64 {
        self.mem_ts.max(1)
    }
    /// Greatest rts given in this epoch.
    pub fn high(&self) -> u64 {
        self.high
    }
    /// Nobody can be served: a lease has reached TS_MAX.
    pub fn full(&self) -> bool {
        self.high == self.p.widths.max()
    }
    /// The bank asks for a roll.
    pub fn asks(&self) -> bool {
        self.high > self.p.widths.roll_above() || self.full()
    }
    /// The lines.
    pub fn array(&self) -> &Array {
        &self.array
    }
    /// Dirty bytes of a line.
    pub fn dirty(&self, line: u64) -> u64 {
        self.dirty.get(&line).copied().unwrap_or(0)
    }
    /// Nothing open, nothing waiting.
    pub fn idle(&self) -> bool {
        self.mshrs.iter().all(Option::is_none)
    }
    /// MSHRs, and waiting requests.
    pub fn used(&self) -> (usize, usize) {
        let open = self.mshrs.iter().flatten();
        (open.clone().count(), open.map(|m| m.fifo.len() + usize::from(m.primary.is_some())).sum())
    }
    /// Transactions with a request that may be replayed now.
    pub fn replays(&self) -> Vec<u32> {
        let ready = |slot: &usize| self.mshrs[*slot].as_ref().is_some_and(|m| m.primary.is_none());
        (0..self.mshrs.len()).filter(ready).map(|slot| slot as u32).collect()
    }
    /// A new epoch: blocks keep their data, everything has stamps 1.
    pub fn roll(&mut self, epoch: u64) {
        if epoch <= self.epoch {
            return;
        }
        (self.epoch, self.mem_ts, self.high) = (epoch, 1, 0);
        for place in (0..self.p.sets).flat_map(|s| (0..self.p.ways).map(move |w| (s, w))) {
            let way = self.array.way_mut(place);
            (way.wts, way.rts) = (1, 1);
        }
    }
    /// Takes a request of an L1. One of a newer epoch rolls the bank first.
    ///
    /// # Errors
    /// No MSHR or no pool entry is free.
    pub fn request(&mut self, req: Request) -> Result<Vec<Action>, Stall> {
        self.roll(req.warpts.epoch);
        if let Some(slot) = self.mshr_of(req.line) {
            let used: usize = self.mshrs.iter().flatten().map(|m| m.fifo.len()).sum();
            if used == self.p.pool {
                return Err(Stall);
            }
            if let Some(m) = &mut self.mshrs[slot] {
                m.fifo.push_back(req);
            }
            return Ok(Vec::new());
        }
        if let Some(answer) = self.perform(&req, false) {
            return Ok(vec![answer]);
        }
        let slot = self.mshrs.iter().position(Option::is_none).ok_or(Stall)?;
        let (line, fifo) = (req.line, VecDeque::new());
        self.mshrs[slot] = Some(Mshr { line, primary: None, step: Step::Past, fifo });
        let actions = self.start(slot, req);
        self.free_if_done(slot);
        Ok(actions)
    }
    /// Tries the next waiting request of a transaction that is over.
    ///
    /// # Panics
    /// The transaction has nothing to replay.
    pub fn replay(&mut self, txn: u32) -> Vec<Action> {
        let slot = txn as usize;
        assert!(self.replays().contains(&txn), "transaction {txn} has nothing to replay");
        let next = self.mshrs[slot].as_mut().and_then(|m| m.fifo.pop_front());
        let actions = next.map_or_else(Vec::new, |req| match self.perform(&req, false) {
            Some(answer) => vec![answer],
            None => self.start(slot, req),
        });
        self.free_if_done(slot);
        actions
    }
    /// Takes an answer of memory.
    ///
    /// # Panics
    /// Nothing is outstanding in the transaction.
    pub fn rsp(&mut self, rsp: &UmcRsp) -> Vec<Action> {
        let slot = rsp.txn as usize;
        let open = self.mshrs.get(slot).and_then(Option::as_ref);
        let Some((req, step)) = open.and_then(|m| m.primary.map(|req| (req, m.step))) else {
            panic!("nothing is outstanding in transaction {slot}")
        };
        let actions = match step {
            Step::WriteBack => self.miss(slot, req),
            Step::Fetch => {
                self.end(slot);
                self.fetched(&req, rsp)
            }
            Step::Past => {
                self.end(slot);
                vec![self.past(&req, rsp)]
            }
        };
        self.free_if_done(slot);
        actions
    }
    /// The dirty lines as {line, dirty bytes, data}; all are clean afterwards.
    ///
    /// # Panics
    /// Transactions are open.
    pub fn write_back(&mut self) -> Vec<(u64, u64, Data)> {
        assert!(self.idle(), "a bank writes back when nothing is outstanding");
        let dirty = std::mem::take(&mut self.dirty);
        let line = |(line, mask): (u64, u64)| {
            let at = self.array.find(self.set_of(line), line)?;
            Some((line, mask, self.array.way(at).data.masked(mask)))
        };
        dirty.into_iter().filter_map(line).collect()
    }
    /// Every line is dropped: mem_ts rises to the end of every lease.
    ///
    /// # Panics
    /// There are dirty bytes.
    pub fn invalidate(&mut self) {
        assert!(self.dirty.is_empty(), "a bank with dirty bytes is invalidated");
        let last = self.array.iter().map(|way| way.rts).max().unwrap_or(0);
        self.mem_ts = self.mem_ts.max(last);
        self.array.sweep();
    }

    fn set_of(&self, line: u64) -> usize {
        self.p.layout.in_umc(line) as usize & (self.p.sets - 1)
    }
    fn mshr_of(&self, line: u64) -> Option<usize> {
        self.mshrs.iter().position(|m| m.as_ref().is_some_and(|m| m.line == line))
    }
    fn free_if_done(&mut self, slot: usize) {
        if self.mshrs[slot].as_ref().is_some_and(|m| m.primary.is_none() && m.fifo.is_empty()) {
            self.mshrs[slot] = None;
        }
    }
    fn end(&mut self, slot: usize) {
        if let Some(m) = &mut self.mshrs[slot] {
            m.primary = None;
        }
    }
    fn until(&self, from: u64) -> u64 {
        (from + self.p.lease).min(self.p.widths.max())
    }
    /// The requester's time; what it told of its block counts only in its epoch.
    fn warpts(&self, req: &Request) -> (bool, u64) {
        let current = req.warpts.epoch == self.epoch;
        (current, if current { req.warpts.ts } else { 0 })
    }
    fn write_stamps(&self, before: u64, warpts: u64) -> (u64, u64) {
        let wts = warpts.max(before + 1);
        assert!(wts <= self.p.widths.max(), "a write at {wts} does not fit");
        (wts, self.until(wts))
    }
    fn answer(
        &mut self,
        req: &Request,
        (wts, rts): (u64, u64),
        data: Option<Data>,
        old: u64,
        from_memory: bool,
    ) -> Action {
        self.high = self.high.max(rts);
        let (op, dst, txn, tag) = (req.work.op(), req.src, req.txn, self.p.widths.tag(self.epoch));
        Action::Rsp(UpRsp { op, dst, txn, tag, wts, rts, data, old, from_memory })
    }
    /// Performs a request on a valid block; nothing if there is none.
    fn perform(&mut self, req: &Request, from_memory: bool) -> Option<Action> {
        let at = self.array.find(self.set_of(req.line), req.line)?;
        if self.array.way(at).state != State::Valid {
            return None;
        }
        self.array.touch(at);
        let (current, warpts) = self.warpts(req);
        let before = *self.array.way(at);
        let told = current && req.wts == before.wts && req.wts != 0;
        let mut way = before;
        let (mut old, mut written) = (0, 0);
        match req.work {
            Work::Read => way.rts = way.rts.max(self.until(warpts)),
            Work::Write { mask, data } => {
                way.data.merge(mask, &data);
                written = mask;
            }
            Work::Atomic(atomic) => {
                old = atomic.perform(&mut way.data);
                written = atomic.mask();
            }
        }
        if written != 0 {
            (way.wts, way.rts) = self.write_stamps(before.rts, warpts);
            *self.dirty.entry(req.line).or_insert(0) |= written;
        }
        *self.array.way_mut(at) = way;
        let with_line = match req.work {
            Work::Read => !told,
            Work::Write { .. } => req.work.partial() && req.wts != 0 && !told,
            Work::Atomic(_) => true,
        };
        Some(self.answer(req, (way.wts, way.rts), with_line.then_some(way.data), old, from_memory))
    }
    /// A line has come into the way kept for it.
    fn fetched(&mut self, req: &Request, rsp: &UmcRsp) -> Vec<Action> {
        let base = self.mem_ts();
        let (_, warpts) = self.warpts(req);
        let Some(at) = self.array.find(self.set_of(req.line), req.line) else { return Vec::new() };
        let way = self.array.way_mut(at);
        (way.state, way.data) = (State::Valid, rsp.data.unwrap_or_default());
        (way.wts, way.rts) = (base, base);
        self.high = self.high.max(base);
        if req.work != Work::Read {
            return self.perform(req, true).into_iter().collect();
        }
        let rts = self.until(base.max(warpts));
        self.array.way_mut(at).rts = rts;
        self.array.touch(at);
        vec![self.answer(req, (base, rts), rsp.data, 0, true)]
    }
    /// Memory has performed a request; the line is not kept.
    fn past(&mut self, req: &Request, rsp: &UmcRsp) -> Action {
        let base = self.mem_ts();
        let (_, warpts) = self.warpts(req);
        let stamps = match req.work {
            Work::Read => (base, self.until(base.max(warpts))),
            _ => self.write_stamps(base, warpts),
        };
        self.mem_ts = self.mem_ts.max(stamps.1);
        let with_line = req.work.op() != Op::Write || req.work.partial() && req.wts != 0;
        self.answer(req, stamps, rsp.data.filter(|_| with_line), rsp.old, true)
    }
    /// A request whose line is not here.
    fn start(&mut self, slot: usize, req: Request) -> Vec<Action> {
        if let Some(m) = &mut self.mshrs[slot] {
            m.primary = Some(req);
        }
        let set = self.set_of(req.line);
        let busy = |line| self.mshr_of(line).is_some();
        let Some(at) = self.array.victim(set, |_| false, busy) else { return self.miss(slot, req) };
        let old = *self.array.way(at);
        let way = self.array.way_mut(at);
        (way.state, way.line) = (State::Locked, req.line);
        self.array.touch(at);
        if old.state != State::Valid {
            return self.miss(slot, req);
        }
        self.mem_ts = self.mem_ts.max(old.rts);
        match self.dirty.remove(&old.line) {
            Some(mask) => {
                self.step(slot, Step::WriteBack);
                vec![self.ask(slot, old.line, Work::Write { mask, data: old.data.masked(mask) })]
            }
            None => self.miss(slot, req),
        }
    }
    /// Nothing is in the way any more. A store of a whole line needs no read.
    fn miss(&mut self, slot: usize, req: Request) -> Vec<Action> {
        let Some(at) = self.array.find(self.set_of(req.line), req.line) else {
            self.step(slot, Step::Past);
            return vec![self.ask(slot, req.line, req.work)];
        };
        if let Work::Write { mask: u64::MAX, .. } = req.work {
            let base = self.mem_ts();
            let way = self.array.way_mut(at);
            (way.state, way.wts, way.rts) = (State::Valid, base, base);
            self.end(slot);
            return self.perform(&Request { ..req }, false).into_iter().collect();
        }
        self.step(slot, Step::Fetch);
        vec![self.ask(slot, req.line, Work::Read)]
    }
    fn step(&mut self, slot: usize, step: Step) {
        if let Some(m) = &mut self.mshrs[slot] {
            m.step = step;
        }
    }
    fn ask(&self, slot: usize, line: u64, work: Work) -> Action {
        Action::Mem(UmcReq { src: self.p.gpu, txn: slot as u32, line, tag: 0, ts: 0, work })
    }
}
