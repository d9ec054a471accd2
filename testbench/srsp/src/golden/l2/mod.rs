//! An L2 bank (srsp.md section 6), a message at a time.
//!
//! A line that is being fetched is in state P, its mask the bytes that write-backs have brought meanwhile. Where the specification is silent: when every entry of the
//! sFIFO is of a line that is being fetched, so that none can be popped, bytes that would turn another line dirty are written through to memory; an sFIFO entry of a
//! dirty line that is being fetched moves to the tail; an uncached answer for an RD without a frame is given in hLRC only, else the RD waits.
//!
//! Where it is wrong: REM_LOCK of the L1 that has locked the line is no "assert never". The REM_UNLOCK of a rem_ar travels on VN1 and is not answered, so the REM_LOCK of
//! the next remote operation of that L1 on the line, on VN0, may overtake it. It waits, as anybody's would. (A TOKEN that overtakes TOKEN_REL waits likewise.)
//!
//! "SYS INV: inputs closed, flush, flash-inv (open fetches answer but do not install)". An ATM or REM_OP that waits for an open fetch writes when the line
//! comes, and that must not be dropped; and nothing may join such a fetch afterwards, its data may be older than the invalidation. So SYS INV closes the inputs, waits until
//! no fetch is open (memory alone is waited for, as before), then flushes and drops all.

use super::core::Took;
use super::lines::{Frame, Lines, State};
use super::msg::{MemKind, Out, Req, ReqKind, Rsp, RspKind, Wb, WbKind};
use super::slip::Slip;
use super::tables::{LockTbl, SFifo};
use super::word::{ALL, Atomic, Data};
use std::collections::{BTreeMap, BTreeSet};

mod memory;

/// Parameters of a bank.
#[derive(Clone, Copy, Debug)]
pub struct L2Params {
    /// Its number.
    pub bank: u8,
    /// Banks.
    pub banks: u8,
    /// {sets, ways}.
    pub shape: (usize, usize),
    /// Lines are replaced, so their order of use counts.
    pub replaces: bool,
    /// sFIFO entries.
    pub sfifo: usize,
    /// Locks.
    pub locks: usize,
    /// Remote operations hold the line lock; else they may come without (bRSP with a token).
    pub under_lock: bool,
    /// hLRC: `L2_WRITE` is THROUGH_INV, else COMBINE.
    pub through: bool,
    /// DeNovo-B: owners of lines are read, and no L1 writes through.
    pub reads_owners: bool,
    /// One thing done wrong.
    pub slip: Option<Slip>,
}

/// What waits for a fetch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Waiter {
    /// An RD or RDU of this MSHR.
    Read(u8),
    /// An ATM.
    Atm(Atomic),
    /// A REM_OP, with its keep.
    Op(Atomic, bool),
    /// hLRC: a REG of this MSHR.
    Reg(u8),
}

/// A line on its way from memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fetch {
    /// Line number.
    pub line: u64,
    /// A write has gone to memory behind it: it is fetched again.
    pub again: bool,
    /// {L1, what}, in order.
    pub waiting: Vec<(u8, Waiter)>,
}

/// What a request to memory was for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pend {
    /// A fetch.
    Fetch(u64),
    /// A write; acknowledged to an L1 when it is there: {L1, WBT entry, epoch}.
    Write(Option<(u8, u8, bool)>),
    /// An atomic of this L1 at memory.
    Amo(u8, Atomic),
    /// hLRC: an RD of {L1, MSHR} that takes no frame.
    Through(u8, u8),
}

/// SYS FLUSH or SYS INV under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SysRun {
    /// Who asked.
    pub src: u8,
    /// SYS INV.
    pub inv: bool,
    /// Entries still to be popped.
    pub left: usize,
    /// Writes still to be acknowledged, from when all were popped.
    pub waits: Option<BTreeSet<u8>>,
}

/// An L2 bank.
#[derive(Clone, Debug)]
pub struct L2 {
    /// The parameters.
    pub p: L2Params,
    /// The lines.
    pub lines: Lines,
    /// Lines on their way from memory.
    pub fetches: Vec<Fetch>,
    /// sFIFO.
    pub sfifo: SFifo,
    /// Locks.
    pub locks: LockTbl,
    /// bank 0, bRSP with a token: who may do a remote operation.
    pub token: Option<u8>,
    /// Requests to memory under way.
    pub pending: BTreeMap<u8, Pend>,
    /// SYS FLUSH or SYS INV.
    pub sys: Option<SysRun>,
    /// hLRC: registered lines.
    pub owners: BTreeMap<u64, super::hlrc::owner::Owner>,
    /// Broken rules.
    pub faults: Vec<String>,
    pub(super) out: Vec<Out>,
}

impl std::hash::Hash for L2 {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.lines.hash(state);
        self.sfifo.entries().for_each(|entry| entry.1.hash(state));
        (&self.fetches, &self.locks, &self.token, &self.pending).hash(state);
        (&self.sys, &self.owners, &self.faults).hash(state);
    }
}

impl L2 {
    /// After reset.
    pub fn new(p: L2Params) -> L2 {
        L2 {
            lines: Lines::new(p.shape.0, p.shape.1, u32::from(p.banks).trailing_zeros(), p.replaces),
            fetches: Vec::new(),
            sfifo: SFifo::new(p.sfifo),
            locks: LockTbl::new(p.locks),
            token: None,
            pending: BTreeMap::new(),
            sys: None,
            owners: BTreeMap::new(),
            faults: Vec::new(),
            out: Vec::new(),
            p,
        }
    }
    /// What was sent since the last call, in order.
    pub fn take_out(&mut self) -> Vec<Out> {
        std::mem::take(&mut self.out)
    }
    pub(super) fn fault(&mut self, text: impl Into<String>) {
        self.faults.push(format!("bank {}: {}", self.p.bank, text.into()));
    }
    pub(super) fn send(&mut self, dst: u8, kind: RspKind) {
        self.out.push(Out::Rsp(Rsp { dst, kind }));
    }
    /// Nothing is under way.
    pub fn idle(&self) -> bool {
        self.fetches.is_empty() && self.pending.is_empty() && self.sys.is_none() && self.token.is_none()
    }
    /// Inputs are closed for a SYS INV.
    fn closed(&self) -> bool {
        self.sys.as_ref().is_some_and(|sys| sys.inv)
    }

    /// A message of VN0. On [`Took::Wait`] nothing has changed; on [`Took::NotYet`] something that makes room has, and the message is tried again.
    pub fn req(&mut self, req: &Req) -> Took {
        if self.closed() {
            return Took::Wait;
        }
        if self.p.reads_owners {
            return self.req_denovo(req);
        }
        let free = |line: u64| self.locks.owner(line).is_none();
        let done = match req.kind {
            ReqKind::Rd { line, mshr } => free(line) && self.read(req.src, line, Waiter::Read(mshr)),
            ReqKind::Rdu { line, mshr } => self.read(req.src, line, Waiter::Read(mshr)),
            ReqKind::Atm { atomic, sys: false } => {
                free(atomic.line()) && self.read(req.src, atomic.line(), Waiter::Atm(atomic))
            }
            ReqKind::Atm { atomic, sys: true } => free(atomic.line()) && self.at_memory(req.src, atomic),
            ReqKind::RemLock { line } => self.lock(req.src, line),
            ReqKind::Token => self.grant_token(req.src),
            ReqKind::SysFlush | ReqKind::SysInv => self.start_sys(req.src, req.kind == ReqKind::SysInv),
            ReqKind::Reg { line, mshr } => return self.register(req.src, line, mshr),
        };
        if done { Took::Done } else { Took::Wait }
    }
    fn grant_token(&mut self, src: u8) -> bool {
        let granted = self.token.is_none();
        if granted {
            self.token = Some(src);
            self.send(src, RspKind::TokenGrant);
        }
        granted
    }
    fn lock(&mut self, src: u8, line: u64) -> bool {
        let free = self.locks.owner(line).is_none() && !self.locks.full();
        if free {
            self.locks.lock(line, src);
            self.send(src, RspKind::RemGrant);
        }
        free
    }
    /// A message of VN1; false, and nothing has changed, while a SYS INV keeps the inputs closed, or for a REM_OP all of whose frames are being fetched. Both wait for
    /// memory alone.
    pub fn wb(&mut self, wb: &Wb) -> bool {
        if self.closed() {
            return false;
        }
        match wb.kind {
            WbKind::Wb { line, .. } if self.p.reads_owners => {
                self.fault(format!("L1 {} writes line {line:#x} through", wb.src));
            }
            WbKind::Wb { line, mask, data, wbt, epoch } => {
                self.write(line, mask, data, (wb.src, wbt, epoch));
            }
            WbKind::RemOp { atomic, keep } => {
                if !self.rem_op(wb.src, atomic, keep) {
                    return false;
                }
            }
            WbKind::RemUnlock { line } => {
                if self.locks.owner(line) != Some(wb.src) {
                    self.fault(format!("L1 {} unlocks line {line:#x}, which it has not locked", wb.src));
                }
                self.locks.unlock(line);
            }
            WbKind::TokenRel => {
                if self.token.take() != Some(wb.src) {
                    self.fault(format!("L1 {} gives back a right that it has not", wb.src));
                }
            }
            WbKind::Unreg { line, mask, data, wbt } => self.unregister(wb.src, line, mask, data, wbt),
            WbKind::RevokeAck { line, has, mask, data } => {
                self.revoked(wb.src, line, has.then_some((mask, data)));
            }
            WbKind::ReadAck { line, has, mask, data } => {
                self.owner_read(wb.src, line, has.then_some((mask, data)));
            }
        }
        self.settle();
        true
    }
    fn rem_op(&mut self, src: u8, atomic: Atomic, keep: bool) -> bool {
        let owner = self.locks.owner(atomic.line());
        let legal = owner == Some(src) || owner.is_none() && !self.p.under_lock;
        if !legal {
            self.fault(format!("REM_OP of L1 {src} on a line that it has not locked"));
        }
        self.read(src, atomic.line(), Waiter::Op(atomic, keep))
    }

    /// An RD, ATM, REM_OP or REG: done at once, or it waits for a fetch; false if there is no frame.
    pub(super) fn read(&mut self, src: u8, line: u64, waiter: Waiter) -> bool {
        if let Some(fetch) = self.fetches.iter_mut().find(|fetch| fetch.line == line) {
            fetch.waiting.push((src, waiter));
            return true;
        }
        let needs = match waiter {
            Waiter::Read(_) | Waiter::Reg(_) => ALL,
            Waiter::Atm(atomic) | Waiter::Op(atomic, _) => atomic.mask(),
        };
        let frame = self.lines.get(line).copied();
        let state = frame.map_or(State::I, |frame| frame.state);
        let there = frame.is_some_and(|frame| frame.state != State::W || needs & !frame.mask == 0);
        if there {
            self.serve(src, line, waiter);
            return true;
        }
        if state == State::I {
            let Some(at) = self.room(line) else { return self.read_through(src, line, waiter) };
            self.take_frame(at, Frame { state: State::P, line, mask: 0, data: Data::default() });
        } else if let Some(frame) = self.lines.get_mut(line) {
            frame.state = State::P;
        }
        self.fetches.push(Fetch { line, again: false, waiting: vec![(src, waiter)] });
        self.fetches.sort_by_key(|fetch| fetch.line);
        self.memory(MemKind::Rd { line }, Pend::Fetch(line));
        true
    }
    /// hLRC: an RD that finds no frame.
    fn read_through(&mut self, src: u8, line: u64, waiter: Waiter) -> bool {
        match waiter {
            Waiter::Read(mshr) if self.p.through || !self.owners.is_empty() => {
                self.memory(MemKind::Rd { line }, Pend::Through(src, mshr));
                true
            }
            _ => false,
        }
    }
    /// Serves from a line that has the bytes.
    fn serve(&mut self, src: u8, line: u64, waiter: Waiter) {
        let data = self.lines.get(line).map_or(Data::default(), |frame| frame.data);
        self.lines.touch(line);
        match waiter {
            Waiter::Read(mshr) => self.send(src, RspKind::Fill { mshr, data }),
            Waiter::Reg(mshr) => self.grant(src, line, mshr),
            Waiter::Atm(atomic) => {
                let (old, wrote) = self.amo(src, atomic);
                self.send(src, RspKind::AtmRsp { old, wrote });
            }
            Waiter::Op(atomic, keep) => {
                let (old, wrote) = self.amo(src, atomic);
                self.send(src, RspKind::RemRsp { old, wrote });
                if !(keep && wrote) {
                    self.locks.unlock(line);
                }
            }
        }
    }
    fn amo(&mut self, cu: u8, atomic: Atomic) -> (u64, bool) {
        let mut data = self.lines.get(atomic.line()).map_or(Data::default(), |frame| frame.data);
        let (old, wrote) = atomic.perform(&mut data);
        if wrote {
            self.modify(atomic.line(), atomic.mask(), data);
        }
        self.out.push(Out::Performed { cu, id: None, atomic, old, wrote });
        (old, wrote)
    }
    /// Bytes into a line that is present; written through if the sFIFO can hold no entry for it.
    fn modify(&mut self, line: u64, mask: u64, data: Data) {
        let clean = self.lines.get(line).is_some_and(|frame| frame.mask == 0);
        let through = clean && !self.push(line);
        if let Some(frame) = self.lines.get_mut(line) {
            frame.data.merge(mask, &data);
            if !through {
                frame.mask |= mask;
                frame.state = if frame.state == State::V { State::D } else { frame.state };
            }
        }
        if through {
            self.memory(MemKind::Wr { line, mask, data: data.masked(mask) }, Pend::Write(None));
        }
    }

    /// A WB.
    fn write(&mut self, line: u64, mask: u64, data: Data, ack: (u8, u8, bool)) {
        let done = RspKind::WbAck { wbt: ack.1, epoch: ack.2 };
        let around = MemKind::Wr { line, mask, data };
        if self.p.through && !self.owners.contains_key(&line) {
            return self.write_through_inv(line, around, ack);
        }
        match self.lines.state(line) {
            State::I => {
                let at = self.room(line);
                let Some(at) = at.filter(|_| self.push(line)) else {
                    return self.memory(around, Pend::Write(Some(ack)));
                };
                self.take_frame(at, Frame { state: State::W, line, mask, data: data.masked(mask) });
            }
            _ => {
                let clean = self.lines.get(line).is_some_and(|frame| frame.mask == 0);
                if clean && !self.push(line) {
                    return self.write_beside(line, mask, data, ack);
                }
                if let Some(frame) = self.lines.get_mut(line) {
                    frame.data.merge(mask, &data);
                    frame.mask |= mask;
                    frame.state = if frame.state == State::V { State::D } else { frame.state };
                }
            }
        }
        self.send(ack.0, done);
    }

    /// A WB to a present line that the sFIFO can hold no entry for: it goes to memory, and the line takes it clean; one that is being fetched is fetched again.
    fn write_beside(&mut self, line: u64, mask: u64, data: Data, ack: (u8, u8, bool)) {
        match self.fetches.iter_mut().find(|fetch| fetch.line == line) {
            Some(fetch) => fetch.again = true,
            None => {
                if let Some(frame) = self.lines.get_mut(line) {
                    frame.data.merge(mask, &data);
                }
            }
        }
        self.memory(MemKind::Wr { line, mask, data }, Pend::Write(Some(ack)));
    }

    /// Pops the head for a new entry of a line; false if none can be popped.
    pub(super) fn push(&mut self, line: u64) -> bool {
        for _ in 0..self.sfifo.len() {
            if !self.sfifo.full() {
                break;
            }
            self.pop();
        }
        if self.sfifo.full() {
            return false;
        }
        self.sfifo.push(line);
        true
    }
    /// Pops the head, or moves it to the tail if its line is dirty and being fetched.
    fn pop(&mut self) -> bool {
        let Some((_, line)) = self.sfifo.pop() else { return false };
        let Some(frame) = self.lines.get(line).copied().filter(|frame| frame.mask != 0) else { return true };
        if frame.state == State::P {
            self.sfifo.push(line);
            if let Some(sys) = &mut self.sys {
                sys.left = self.sfifo.len();
            }
            return false;
        }
        self.clean(line);
        true
    }
    /// Writes a dirty line to memory: D becomes V, W is dropped.
    fn clean(&mut self, line: u64) {
        let Some(frame) = self.lines.get(line).copied() else { return };
        if self.owners.contains_key(&line) {
            return;
        }
        if frame.mask != 0 {
            let data = frame.data.masked(frame.mask);
            self.memory(MemKind::Wr { line, mask: frame.mask, data }, Pend::Write(None));
        }
        if frame.state == State::W {
            self.lines.drop(line);
        } else if let Some(frame) = self.lines.get_mut(line) {
            (frame.state, frame.mask) = (State::V, 0);
        }
    }
    /// Drops a line, written to memory first if it is dirty.
    pub(super) fn drop_clean(&mut self, line: u64) {
        self.clean(line);
        self.lines.drop(line);
    }
    /// The frame for a new line, if there is one now.
    fn room(&self, line: u64) -> Option<usize> {
        let free = |frame: &Frame| frame.state != State::P && !self.owners.contains_key(&frame.line);
        self.lines.victim(line, free)
    }
    fn take_frame(&mut self, at: usize, frame: Frame) {
        let old = *self.lines.frame(at);
        if old.state != State::I {
            self.clean(old.line);
            self.lines.drop(old.line);
        }
        self.lines.put(at, frame);
    }

    /// Rules that the state of a bank shows.
    pub fn check(&self) -> Option<&'static str> {
        let queued = |line: u64| self.sfifo.entries().any(|entry| entry.1 == line);
        let kept = |line: u64| queued(line) || self.owners.contains_key(&line) || self.p.through;
        if self.lines.iter().any(|frame| frame.mask != 0 && !kept(frame.line)) {
            return Some("a dirty line of the L2 has no sFIFO entry");
        }
        let locks = self.locks.entries();
        let twice = locks.iter().enumerate().any(|(i, lock)| locks[..i].iter().any(|b| b.0 == lock.0));
        twice.then_some("a line is locked twice")
    }
}
