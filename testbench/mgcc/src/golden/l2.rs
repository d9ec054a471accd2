//! The write-through L2 bank (mgcc.md section 5), with and without coherence.
//!
//! Calls: [`L2::request`] (a request of an L1), [`L2::rsp`] (an answer of memory), [`L2::replay`] (the next waiting request of a line), [`L2::roll`], [`L2::invalidate`].
//! Queries: [`L2::replays`], [`L2::cts`], [`L2::txn_of`].

use super::array::{Array, Place, State};
use super::inject::Inject;
use super::l1::Stall;
use super::layout::Layout;
use super::msg::{Data, Op, UmcReq, UmcRsp, UpReq, UpRsp, Work};
use super::time::{Age, Time, Widths};
use std::collections::VecDeque;

/// Parameters of an L2 bank.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct L2Params {
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
    /// Open transactions.
    pub mshrs: usize,
    /// Requests that wait behind an open transaction of their line.
    pub pool: usize,
    /// MGCC (else no stamps, every valid block is live).
    pub coherent: bool,
    /// Reads raise the clock at the fill.
    pub eager: bool,
    /// Expired victims first.
    pub repl_ts: bool,
    /// Answers to full-line writes carry the line too (`WRSP_DATA = always`).
    pub wrsp_always: bool,
    /// A published rule in place of its correction.
    pub inject: Option<Inject>,
}

/// What a bank does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum L2Action {
    /// Answer to an L1.
    Rsp(UpRsp),
    /// Request to memory.
    Mem(UmcReq),
    /// A valid block was dropped. The EvictNote is a hint: the hardware may lose it.
    Note {
        /// Line number.
        line: u64,
        /// Epoch of the bank, EB bits.
        tag: u64,
        /// The block's rts.
        rts: u64,
    },
    /// The roll to this epoch is acknowledged.
    RollAck(u64),
}

/// A request in the bank that is not answered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    req: UpReq,
    need: Time,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Mshr {
    line: u64,
    /// What is outstanding; nothing: the FIFO is being replayed.
    primary: Option<Waiting>,
    /// The write hit a live block.
    hit: bool,
    fifo: VecDeque<Waiting>,
}

/// An L2 bank.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct L2 {
    p: L2Params,
    cts: Time,
    array: Array,
    mshrs: Vec<Option<Mshr>>,
}

impl L2 {
    /// After reset.
    pub fn new(p: L2Params) -> L2 {
        L2 { p, cts: Time::default(), array: Array::new(p.sets, p.ways), mshrs: vec![None; p.mshrs] }
    }
    /// The clock.
    pub fn cts(&self) -> Time {
        self.cts
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
        self.mshrs.iter().all(Option::is_none)
    }
    /// Transactions with a request that may be replayed now.
    pub fn replays(&self) -> Vec<u32> {
        let ready = |slot: &usize| self.mshrs[*slot].as_ref().is_some_and(|m| m.primary.is_none());
        (0..self.mshrs.len()).filter(ready).map(|slot| slot as u32).collect()
    }

    /// An MSHR or a pool entry is there for the request, if it needs one.
    pub fn can_take(&self, req: &UpReq) -> bool {
        if self.mshr_of(req.line).is_some() {
            return self.mshrs.iter().flatten().map(|m| m.fifo.len()).sum::<usize>() < self.p.pool;
        }
        let cts = self.clock_with(req);
        let hit =
            req.work == Work::Read && !req.force && cts.epoch == self.cts.epoch && self.live(req.line, cts);
        hit || self.mshrs.iter().any(Option::is_none)
    }
    /// Takes a request of an L1. A newer tag rolls the bank first (also if the request must wait); a ts with an older tag counts as absent.
    ///
    /// # Errors
    /// No MSHR or no pool entry is free; the request is to be offered again.
    pub fn request(&mut self, req: UpReq) -> Result<Vec<L2Action>, Stall> {
        let possible = self.can_take(&req);
        let cts = self.clock_with(&req);
        self.advance(cts.epoch);
        if !possible {
            return Err(Stall);
        }
        self.cts = cts;
        let waiting = Waiting { req, need: cts };
        if let Some(slot) = self.mshr_of(req.line) {
            if let Some(m) = &mut self.mshrs[slot] {
                m.fifo.push_back(waiting);
            }
            return Ok(Vec::new());
        }
        if req.work == Work::Read && !req.force && self.live(req.line, cts) {
            return Ok(self.read_hit(&req).into_iter().collect());
        }
        let slot = self.mshrs.iter().position(Option::is_none).ok_or(Stall)?;
        let fifo = VecDeque::new();
        self.mshrs[slot] = Some(Mshr { line: req.line, primary: None, hit: false, fifo });
        Ok(self.start(slot, waiting))
    }
    /// Tries the next waiting request of a transaction that is over. A request that needs memory reuses the entry.
    ///
    /// # Panics
    /// The transaction has nothing to replay.
    pub fn replay(&mut self, txn: u32) -> Vec<L2Action> {
        let slot = txn as usize;
        assert!(self.replays().contains(&txn), "transaction {txn} has nothing to replay");
        let next = self.mshrs[slot].as_mut().and_then(|m| m.fifo.pop_front());
        let actions = next.map(|waiting| self.start(slot, waiting)).unwrap_or_default();
        self.free_if_done(slot);
        actions
    }
    /// A new epoch: all blocks are over, the clock starts again. Acknowledged also if it is known already.
    pub fn roll(&mut self, epoch: u64) -> L2Action {
        self.advance(epoch);
        L2Action::RollAck(epoch)
    }
    /// Drops every valid line (software coherence at kernel start, without MGCC).
    pub fn invalidate(&mut self) {
        self.array.sweep();
    }
    /// Takes an answer of memory: clock, install, answers to the primary and, of a read, to the unforced reads that wait directly behind it. What is left is replayed.
    ///
    /// # Panics
    /// Nothing of this kind is outstanding in the transaction; or the stamps are in the wrong order.
    pub fn rsp(&mut self, rsp: &UmcRsp) -> Vec<L2Action> {
        let slot = rsp.txn as usize;
        let mut rsp = *rsp;
        assert!(rsp.wts <= rsp.rts, "the answer's lease [{}, {}] ends before it begins", rsp.wts, rsp.rts);
        let age = self.p.widths.age(rsp.tag, self.cts.epoch);
        let epoch = self.p.widths.epoch_of(rsp.tag, self.cts.epoch);
        self.advance(epoch);
        let (line, primary, hit) = self.close(slot, rsp.op);
        let current = age != Age::Older;
        let reads_count = self.p.eager && self.p.inject != Some(Inject::LitReadCts);
        if current && self.p.coherent && (rsp.op != Op::Read || reads_count) {
            self.cts.ts = self.cts.ts.max(rsp.wts);
        }
        if self.p.inject == Some(Inject::LitBrts) && current {
            rsp.wts = rsp.wts.max(self.cts.ts);
            rsp.rts = rsp.rts.max((rsp.wts + 1).min(self.p.widths.max()));
        }
        let no_data = hit && self.p.inject == Some(Inject::LitAckNodata);
        let mut actions = match rsp.data.filter(|_| !no_data) {
            Some(data) => self.install(line, current, &rsp, data),
            None => self.stamp(line, current, &rsp),
        };
        if no_data {
            rsp.data = rsp.data.map(|data| self.own_copy(line).unwrap_or(data));
        }
        actions.extend(self.serve(slot, &primary, &rsp, epoch));
        self.free_if_done(slot);
        actions
    }

    /// The clock once a request has arrived.
    fn clock_with(&self, req: &UpReq) -> Time {
        let epoch = self.p.widths.epoch_of(req.tag, self.cts.epoch);
        let arrived = Time::new(epoch, req.ts.unwrap_or(0));
        if epoch < self.cts.epoch { self.cts } else { self.cts.max(arrived) }
    }
    fn advance(&mut self, epoch: u64) {
        if epoch > self.cts.epoch {
            self.cts = Time::new(epoch, 0);
            self.array.sweep();
        }
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
    fn live(&self, line: u64, cts: Time) -> bool {
        let place = self.array.find(self.set_of(line), line);
        let live = |rts| !self.p.coherent || cts.ts <= rts;
        place.is_some_and(|at| self.array.way(at).state == State::Valid && live(self.array.way(at).rts))
    }
    fn own_copy(&self, line: u64) -> Option<Data> {
        self.array.find(self.set_of(line), line).map(|at| self.array.way(at).data)
    }
    fn read_hit(&mut self, req: &UpReq) -> Option<L2Action> {
        let at = self.array.find(self.set_of(req.line), req.line)?;
        self.array.touch(at);
        let way = self.array.way(at);
        Some(L2Action::Rsp(UpRsp {
            op: Op::Read,
            dst: req.src,
            txn: req.txn,
            tag: self.p.widths.tag(self.cts.epoch),
            wts: way.wts,
            rts: way.rts,
            data: Some(way.data),
            old: 0,
            from_memory: false,
        }))
    }

    /// A request whose line has nothing outstanding: the rows "M = -" of the table. `slot` is the line's entry.
    fn start(&mut self, slot: usize, mut waiting: Waiting) -> Vec<L2Action> {
        let UpReq { line, work, force, .. } = waiting.req;
        let set = self.set_of(line);
        let live = self.live(line, self.cts);
        let mut actions = Vec::new();
        match work {
            Work::Read if live && !force => return self.read_hit(&waiting.req).into_iter().collect(),
            Work::Read => {}
            Work::Write { mask, data } => actions = self.lock(set, line, mask, &data),
            Work::Atomic(_) => {
                if let Some(at) = self.array.find(set, line) {
                    self.array.clear(at);
                }
            }
        }
        waiting.need = self.cts;
        if let Some(m) = &mut self.mshrs[slot] {
            m.primary = Some(waiting);
            m.hit = live;
        }
        let ts = if self.p.inject == Some(Inject::LitNoTs) { 0 } else { self.cts.ts };
        let tag = self.p.widths.tag(self.cts.epoch);
        actions.push(L2Action::Mem(UmcReq { src: self.p.gpu, txn: slot as u32, line, tag, ts, work }));
        actions
    }
    /// A write merges its bytes into its line and locks it; a write of a whole line may take a way for it.
    fn lock(&mut self, set: usize, line: u64, mask: u64, data: &Data) -> Vec<L2Action> {
        let mut actions = Vec::new();
        let place = match self.array.find(set, line) {
            Some(at) => Some(at),
            None if mask == u64::MAX => self.make_room(set, &mut actions),
            None => None,
        };
        if let Some(at) = place {
            let way = self.array.way_mut(at);
            way.line = line;
            way.state = State::Locked;
            way.data.merge(mask, data);
            self.array.touch(at);
        }
        actions
    }
    /// A way for a new line. What was in it is dropped, with a note to memory.
    fn make_room(&mut self, set: usize, actions: &mut Vec<L2Action>) -> Option<Place> {
        let expired = |rts| self.p.coherent && self.p.repl_ts && self.cts.ts > rts;
        let busy = |line| self.mshr_of(line).is_some();
        let at = self.array.victim(set, |way| expired(way.rts), busy)?;
        let way = *self.array.way(at);
        if self.p.coherent && way.state == State::Valid {
            let tag = self.p.widths.tag(self.cts.epoch);
            actions.push(L2Action::Note { line: way.line, tag, rts: way.rts });
        }
        Some(at)
    }
    /// Ends what is outstanding in a transaction: its line, its request, and whether its write hit.
    fn close(&mut self, slot: usize, op: Op) -> (u64, Waiting, bool) {
        let open = self.mshrs.get_mut(slot).and_then(Option::as_mut);
        let ended = open.and_then(|m| m.primary.take().map(|primary| (m.line, primary, m.hit)));
        let Some((line, primary, hit)) = ended else {
            panic!("nothing is outstanding in transaction {slot}")
        };
        let asked = primary.req.work.op();
        assert!(asked == op, "transaction {slot} asked for {asked:?} and is answered as {op:?}");
        (line, primary, hit)
    }
    fn install(&mut self, line: u64, current: bool, rsp: &UmcRsp, data: Data) -> Vec<L2Action> {
        let mut actions = Vec::new();
        let set = self.set_of(line);
        let own = self.array.find(set, line);
        if !current || self.p.coherent && self.cts.ts > rsp.rts {
            if let Some(at) = own {
                self.array.clear(at);
            }
            return actions;
        }
        if let Some(at) = own.or_else(|| self.make_room(set, &mut actions)) {
            let way = self.array.way_mut(at);
            (way.state, way.line, way.wts, way.rts, way.data) = (State::Valid, line, rsp.wts, rsp.rts, data);
            self.array.touch(at);
        }
        actions
    }
    /// An answer without data: the locked way gets its stamps.
    fn stamp(&mut self, line: u64, current: bool, rsp: &UmcRsp) -> Vec<L2Action> {
        if let Some(at) = self.array.find(self.set_of(line), line) {
            if current {
                let way = self.array.way_mut(at);
                (way.state, way.wts, way.rts) = (State::Valid, rsp.wts, rsp.rts);
            } else {
                self.array.clear(at);
            }
        }
        Vec::new()
    }
    fn serve(&mut self, slot: usize, primary: &Waiting, rsp: &UmcRsp, epoch: u64) -> Vec<L2Action> {
        let answer = |waiting: &Waiting| {
            let UpReq { src, txn, work, .. } = waiting.req;
            let with_data = work.op() != Op::Write || work.partial() || self.p.wrsp_always;
            L2Action::Rsp(UpRsp {
                op: work.op(),
                dst: src,
                txn,
                tag: rsp.tag,
                wts: rsp.wts,
                rts: rsp.rts,
                data: rsp.data.filter(|_| with_data),
                old: rsp.old,
                from_memory: true,
            })
        };
        if rsp.op != Op::Read {
            return vec![answer(primary)];
        }
        let end = Time::new(epoch, rsp.rts);
        let coherent = self.p.coherent;
        let permitted = |waiting: &Waiting| !coherent || waiting.need <= end;
        let Some(m) = &mut self.mshrs[slot] else { return Vec::new() };
        if !permitted(primary) {
            m.fifo.push_front(*primary);
            return Vec::new();
        }
        let mut served = vec![answer(primary)];
        let plain = |req: &UpReq| req.work == Work::Read && !req.force;
        while let Some(next) = m.fifo.pop_front_if(|next| plain(&next.req) && permitted(next)) {
            served.push(answer(&next));
        }
        served
    }
}
