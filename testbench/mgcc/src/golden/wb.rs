//! The write-back L2 bank without coherence (mgcc.md section 5).
//!
//! Calls and queries as those of [`super::l2::L2`]. A transaction goes through up to two steps: the write-back of a dirty victim (or of the line itself, before an atomic
//! or an LD_SYNC) must be acknowledged before the miss is sent. A victim leaves the bank when its write-back is sent; the link and the tracker keep the order of a later
//! request for it. Without a way (all locked) a request goes past the cache.

use super::array::Array;
use super::array::State;
use super::l1::Stall;
use super::layout::Layout;
use super::msg::{Data, Op, UmcReq, UmcRsp, UpReq, UpRsp, Work};
use std::collections::{BTreeMap, VecDeque};

/// Parameters of a write-back bank.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WbParams {
    /// Its GPU's number.
    pub gpu: u32,
    /// Sets, a power of two; the set is in the lowest bits of the line number without the bank's bits.
    pub sets: usize,
    /// Ways.
    pub ways: usize,
    /// Which bank owns a line.
    pub layout: Layout,
    /// Open transactions.
    pub mshrs: usize,
    /// Requests that wait behind an open transaction of their line.
    pub pool: usize,
    /// Answers to full-line writes carry the line too (`WRSP_DATA = always`).
    pub wrsp_always: bool,
    /// The bank is its memory's only cache (RDMA home): atomics are executed in it, LD_SYNC is a load.
    pub home: bool,
}

/// What a bank does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WbAction {
    /// Answer to an L1.
    Rsp(UpRsp),
    /// Request to memory.
    Mem(UmcReq),
}

/// What a transaction waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    /// The victim's or the line's own dirty bytes are being written.
    WriteBack,
    /// The line is being read into the locked way.
    Fetch,
    /// The request itself is at the memory; nothing is installed.
    Past,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Mshr {
    line: u64,
    /// What is outstanding; nothing: the FIFO is being replayed.
    primary: Option<UpReq>,
    step: Step,
    fifo: VecDeque<UpReq>,
}

/// A write-back L2 bank.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WriteBack {
    p: WbParams,
    array: Array,
    /// Dirty bytes of the lines that have some.
    dirty: BTreeMap<u64, u64>,
    mshrs: Vec<Option<Mshr>>,
}

impl WriteBack {
    /// After reset.
    pub fn new(p: WbParams) -> WriteBack {
        let array = Array::new(p.sets, p.ways);
        WriteBack { p, array, dirty: BTreeMap::new(), mshrs: vec![None; p.mshrs] }
    }
    /// Transaction number of a line's open transaction.
    pub fn txn_of(&self, line: u64) -> Option<u32> {
        self.mshr_of(line).map(|slot| slot as u32)
    }
    /// Nothing open, nothing waiting.
    pub fn idle(&self) -> bool {
        self.mshrs.iter().all(Option::is_none)
    }
    /// The lines.
    pub fn array(&self) -> &Array {
        &self.array
    }
    /// Dirty bytes of a line.
    pub fn dirty(&self, line: u64) -> u64 {
        self.dirty.get(&line).copied().unwrap_or(0)
    }
    /// Transactions with a request that may be replayed now.
    pub fn replays(&self) -> Vec<u32> {
        let ready = |slot: &usize| self.mshrs[*slot].as_ref().is_some_and(|m| m.primary.is_none());
        (0..self.mshrs.len()).filter(ready).map(|slot| slot as u32).collect()
    }
    /// Takes a request of an L1.
    ///
    /// # Errors
    /// No MSHR or no pool entry is free; nothing has changed.
    pub fn request(&mut self, req: UpReq) -> Result<Vec<WbAction>, Stall> {
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
        if let Some(answer) = self.hit(&req, false) {
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
    pub fn replay(&mut self, txn: u32) -> Vec<WbAction> {
        let slot = txn as usize;
        assert!(self.replays().contains(&txn), "transaction {txn} has nothing to replay");
        let next = self.mshrs[slot].as_mut().and_then(|m| m.fifo.pop_front());
        let actions = next.map_or_else(Vec::new, |req| match self.hit(&req, false) {
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
    pub fn rsp(&mut self, rsp: &UmcRsp) -> Vec<WbAction> {
        let slot = rsp.txn as usize;
        let open = self.mshrs.get(slot).and_then(Option::as_ref);
        let Some((req, step)) = open.and_then(|m| m.primary.map(|req| (req, m.step))) else {
            panic!("nothing is outstanding in transaction {slot}")
        };
        let actions = match step {
            Step::WriteBack => self.miss(slot, req),
            Step::Fetch => {
                self.end(slot);
                let at = self.array.find(self.set_of(req.line), req.line);
                if let (Some(at), Some(data)) = (at, rsp.data) {
                    let way = self.array.way_mut(at);
                    (way.state, way.data) = (State::Valid, data);
                }
                let mut actions: Vec<WbAction> = self.hit(&req, true).into_iter().collect();
                if req.work == Work::Read {
                    actions.extend(self.merged_reads(slot));
                }
                actions
            }
            Step::Past => {
                self.end(slot);
                vec![self.answer(&req, rsp.data, rsp.old, true)]
            }
        };
        self.free_if_done(slot);
        actions
    }
    /// Kernel end: the dirty lines as {line, dirty bytes, data}, lowest line first; all are clean afterwards and stay valid. The order on the link is free.
    ///
    /// # Panics
    /// Transactions are open.
    pub fn write_back(&mut self) -> Vec<(u64, u64, Data)> {
        assert!(self.idle(), "a bank writes back at a kernel's end, when nothing is outstanding");
        let dirty = std::mem::take(&mut self.dirty);
        let line = |(line, mask): (u64, u64)| {
            let at = self.array.find(self.set_of(line), line)?;
            Some((line, mask, self.array.way(at).data.masked(mask)))
        };
        dirty.into_iter().filter_map(line).collect()
    }
    /// Kernel start: every line is dropped.
    ///
    /// # Panics
    /// There are dirty bytes, which would be lost.
    pub fn invalidate(&mut self) {
        assert!(self.dirty.is_empty(), "a bank with dirty bytes is invalidated");
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
    /// The request is for memory, whatever the bank holds.
    fn passes(&self, req: &UpReq) -> bool {
        !self.p.home && (req.force || req.work.op() == Op::Atomic)
    }
    /// Performs a request on a valid line; nothing if there is none or it must not.
    fn hit(&mut self, req: &UpReq, from_memory: bool) -> Option<WbAction> {
        let at = self.array.find(self.set_of(req.line), req.line)?;
        if self.passes(req) || self.array.way(at).state != State::Valid {
            return None;
        }
        self.array.touch(at);
        let way = self.array.way_mut(at);
        let mut old = 0;
        let written = match req.work {
            Work::Read => 0,
            Work::Write { mask, data } => {
                way.data.merge(mask, &data);
                mask
            }
            Work::Atomic(atomic) => {
                old = atomic.perform(&mut way.data);
                atomic.mask()
            }
        };
        let data = way.data;
        if written != 0 {
            *self.dirty.entry(req.line).or_insert(0) |= written;
        }
        Some(self.answer(req, Some(data), old, from_memory))
    }
    fn answer(&self, req: &UpReq, data: Option<Data>, old: u64, from_memory: bool) -> WbAction {
        let op = req.work.op();
        let with_data = op != Op::Write || req.work.partial() || self.p.wrsp_always;
        let data = data.filter(|_| with_data);
        let (dst, txn) = (req.src, req.txn);
        WbAction::Rsp(UpRsp { op, dst, txn, tag: 0, wts: 0, rts: 0, data, old, from_memory })
    }
    fn merged_reads(&mut self, slot: usize) -> Vec<WbAction> {
        let mut actions = Vec::new();
        let home = self.p.home;
        let plain = |req: &UpReq| req.work == Work::Read && (home || !req.force);
        while let Some(next) = self.mshrs[slot].as_mut().and_then(|m| m.fifo.pop_front_if(|next| plain(next)))
        {
            actions.extend(self.hit(&next, true));
        }
        actions
    }

    /// A request that the bank cannot answer. Dirty bytes that are in its way are written first.
    fn start(&mut self, slot: usize, req: UpReq) -> Vec<WbAction> {
        if let Some(m) = &mut self.mshrs[slot] {
            m.primary = Some(req);
        }
        let set = self.set_of(req.line);
        if self.passes(&req) {
            let own = self.array.find(set, req.line);
            let data = own.map(|at| self.array.way(at).data);
            if let Some(at) = own {
                self.array.clear(at);
            }
            return match (self.dirty.remove(&req.line), data) {
                (Some(mask), Some(data)) => self.write_first(slot, req.line, mask, data),
                _ => self.miss(slot, req),
            };
        }
        let busy = |line| self.mshr_of(line).is_some();
        let Some(at) = self.array.victim(set, |_| false, busy) else { return self.miss(slot, req) };
        let old = *self.array.way(at);
        let way = self.array.way_mut(at);
        (way.state, way.line) = (State::Locked, req.line);
        self.array.touch(at);
        let dirty = if old.state == State::Valid { self.dirty.remove(&old.line) } else { None };
        match dirty {
            Some(mask) => self.write_first(slot, old.line, mask, old.data),
            None => self.miss(slot, req),
        }
    }
    fn write_first(&mut self, slot: usize, line: u64, mask: u64, data: Data) -> Vec<WbAction> {
        self.step(slot, Step::WriteBack);
        vec![self.ask(slot, line, Work::Write { mask, data: data.masked(mask) })]
    }
    /// Nothing is in the way any more: reads the line into its way, or sends the request past the cache. A store of a whole line needs no read.
    fn miss(&mut self, slot: usize, req: UpReq) -> Vec<WbAction> {
        let Some(at) = self.array.find(self.set_of(req.line), req.line) else {
            self.step(slot, Step::Past);
            return vec![self.ask(slot, req.line, req.work)];
        };
        if let Work::Write { mask: u64::MAX, .. } = req.work {
            self.array.way_mut(at).state = State::Valid;
            self.end(slot);
            return self.hit(&req, false).into_iter().collect();
        }
        self.step(slot, Step::Fetch);
        vec![self.ask(slot, req.line, Work::Read)]
    }
    fn step(&mut self, slot: usize, step: Step) {
        if let Some(m) = &mut self.mshrs[slot] {
            m.step = step;
        }
    }
    fn ask(&self, slot: usize, line: u64, work: Work) -> WbAction {
        WbAction::Mem(UmcReq { src: self.p.gpu, txn: slot as u32, line, tag: 0, ts: 0, work })
    }
}
