//! What the L1s of all systems share (srsp.md section 5): lines, MSHRs, sFIFO, WBT, drain with its fence.
//!
//! `access` holds what requests do to lines.
//!
//! A function that a slot may call answers [`Took`]: whether the slot has done the request, something that makes room for it, or, leaving all as it was, nothing.

use super::lines::{Frame, Lines, State};
use super::msg::{CuRsp, Out, Req, ReqKind, Sync, Wb, WbKind};
use super::slip::Slip;
use super::tables::{LrTbl, Pending, Releases, SFifo, Wbt};
use super::word::Data;
use std::collections::VecDeque;
use weft_srsp::l1::Closes;
use weft_srsp::params::Impl;

mod access;

/// Parameters of an L1.
#[derive(Clone, Copy, Debug)]
pub struct L1Params {
    /// Its CU's number.
    pub own: u8,
    /// CUs.
    pub cus: u8,
    /// L2 banks.
    pub banks: u8,
    /// System.
    pub imp: Impl,
    /// bRSP with a token: what a broadcast's lock stops.
    pub closes: Closes,
    /// {sets, ways}.
    pub shape: (usize, usize),
    /// Lines are replaced, so their order of use counts.
    pub replaces: bool,
    /// sFIFO entries.
    pub sfifo: usize,
    /// PA-TBL entries.
    pub pa: usize,
    /// aff_cache entries.
    pub aff: usize,
    /// {MSHRs, targets of each}.
    pub mshrs: (usize, usize),
    /// WBT entries.
    pub wbt: usize,
    /// Operations that wait for the sync unit.
    pub sq: usize,
    /// DeNovo-B: dirty lines are registered, not written back.
    pub registers: bool,
    /// One thing done wrong.
    pub slip: Option<Slip>,
}

/// Whether a slot has done what was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Took {
    /// It is done or accepted.
    Done,
    /// Not done, but something that makes room for it: it is tried again.
    NotYet,
    /// Nothing.
    Wait,
}

/// What waits in an MSHR.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Work {
    /// Plain load of these bytes.
    Load(u64),
    /// Atomic done in this L1.
    Atomic(Sync),
}

/// A request that waits in an MSHR.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// Request of the CU.
    pub id: u32,
    /// What.
    pub work: Work,
    /// An atomic that is not served with the fill: it looks everything up again.
    pub again: bool,
}

/// A miss.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Mshr {
    /// Line number.
    pub line: u64,
    /// A flash-inv has passed: nothing is installed.
    pub noinst: bool,
    /// A line-inv has passed: nothing is installed.
    pub replay: bool,
    /// The fill has come; only atomics that replay are left.
    pub filled: bool,
    /// hLRC: the line is being registered.
    pub reg: bool,
    /// DeNovo-B: fence epoch in which this registration counts.
    pub epoch: Option<bool>,
    /// hLRC: the answer is not installed (RDU).
    pub uncached: bool,
    /// In order.
    pub targets: Vec<Target>,
}

/// Who waits for the drain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Who {
    Probe,
    Sync,
    Capture,
    /// DeNovo-B: the release of this request.
    Release(u32),
}

/// A client of the drain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Client {
    /// Who.
    pub who: Who,
    /// Pops until its marker has been popped, whoever pops.
    pub left: usize,
    /// Its fence waits for the write-backs of this epoch.
    pub fence: Option<bool>,
}

/// Lines, misses, write-backs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Core {
    /// The lines.
    pub lines: Lines,
    /// The misses.
    pub mshrs: Vec<Option<Mshr>>,
    /// sFIFO and LR-TBL.
    pub rel: Releases,
    /// Write-backs under way.
    pub wbt: Wbt,
    /// Epoch of write-backs sent now.
    pub epoch: bool,
    /// Write-backs or, in DeNovo-B, registrations under way per epoch.
    pub unacked: [u32; 2],
    /// Clients of the drain; the first is served.
    pub drain: VecDeque<Client>,
    /// Broken rules.
    pub faults: Vec<String>,
    out: Vec<Out>,
    own: u8,
    banks: u8,
    targets: usize,
    selective: bool,
    registers: bool,
    slip: Option<Slip>,
}

impl std::hash::Hash for Core {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.lines, &self.mshrs, &self.rel, &self.wbt).hash(state);
        (self.epoch, self.unacked, &self.drain, &self.faults).hash(state);
    }
}

impl Core {
    /// After reset.
    pub fn new(p: &L1Params) -> Core {
        Core {
            lines: Lines::new(p.shape.0, p.shape.1, 0, p.replaces),
            mshrs: vec![None; p.mshrs.0],
            rel: Releases { sfifo: SFifo::new(p.sfifo), lr: LrTbl::default() },
            wbt: Wbt::new(p.wbt),
            epoch: false,
            unacked: [0; 2],
            drain: VecDeque::new(),
            faults: Vec::new(),
            out: Vec::new(),
            own: p.own,
            banks: p.banks,
            targets: p.mshrs.1,
            selective: p.imp.selective(),
            registers: p.registers,
            slip: p.slip,
        }
    }
    /// This thing is done wrong.
    pub fn slips(&self, slip: Slip) -> bool {
        self.slip == Some(slip)
    }
    /// Notes a broken rule.
    pub fn fault(&mut self, text: impl Into<String>) {
        self.faults.push(format!("L1 {}: {}", self.own, text.into()));
    }
    /// What was sent since the last call.
    pub fn take_out(&mut self) -> Vec<Out> {
        std::mem::take(&mut self.out)
    }
    /// Sends.
    pub fn send(&mut self, out: Out) {
        self.out.push(out);
    }
    /// Bank of a line.
    pub fn bank(&self, line: u64) -> u8 {
        (line % u64::from(self.banks)) as u8
    }
    /// Sends on VN0 to the line's bank.
    pub fn send_req(&mut self, line: u64, kind: ReqKind) {
        let req = Req { src: self.own, kind };
        self.out.push(Out::Req(self.bank(line), req));
    }
    /// Sends on VN1 to the line's bank.
    pub fn send_late(&mut self, line: u64, kind: WbKind) {
        let wb = Wb { src: self.own, kind };
        self.out.push(Out::Wb(self.bank(line), wb));
    }
    /// Answers a request of the CU.
    pub fn reply(&mut self, id: u32, data: Data) {
        self.out.push(Out::Cu(CuRsp { id, data }));
    }
    /// The old value of an atomic as the CU gets it.
    pub fn reply_old(&mut self, id: u32, sync: &Sync, old: u64) {
        let mut data = Data::default();
        data.set_word(sync.atomic.addr % 64, sync.atomic.wide, old);
        self.reply(id, data);
    }

    /// Sends a write-back; the caller has seen that the WBT has a free entry.
    pub fn write_back(&mut self, line: u64, mask: u64, data: Data) {
        let epoch = self.epoch;
        let wbt = self.wbt.take(Pending { line, epoch, unreg: false });
        self.unacked[usize::from(epoch)] += 1;
        self.send_late(line, WbKind::Wb { line, mask, data: data.masked(mask), wbt, epoch });
    }
    /// WB_ACK.
    pub fn wb_ack(&mut self, wbt: u8, epoch: bool) {
        match self.wbt.release(wbt) {
            Some(pending) if !pending.unreg && pending.epoch == epoch => {
                self.unacked[usize::from(epoch)] -= 1;
            }
            _ => self.fault("a WB_ACK that was not expected"),
        }
    }
    /// The write-back of a dirty line would find no WBT entry, its registration no MSHR or its UNREG under way.
    pub fn stuck(&self, line: u64) -> bool {
        let free = if self.registers { self.may_register(line) } else { self.wbt.free() };
        self.lines.get(line).is_some_and(Frame::dirty) && !free
    }
    /// Writes a dirty line back and drops it.
    fn expel(&mut self, line: u64) {
        if let Some(frame) = self.lines.get(line).copied() {
            if frame.dirty() {
                self.write_back(line, frame.mask, frame.data);
            }
            self.lines.drop(line);
        }
    }

    /// Pops the oldest sFIFO entry, if the write-back that this means finds a WBT entry.
    pub fn pop(&mut self) -> bool {
        let Some(line) = self.rel.sfifo.head().filter(|line| !self.stuck(*line)) else { return false };
        if let Some((index, _)) = self.rel.sfifo.pop() {
            self.rel.lr.popped(index);
        }
        self.drain.iter_mut().for_each(|client| client.left = client.left.saturating_sub(1));
        let dirty = self.lines.get(line).copied().filter(Frame::dirty);
        if self.registers && dirty.is_some() {
            self.register(line);
        } else if let Some(frame) = dirty {
            self.write_back(line, frame.mask, frame.data);
            if frame.state == State::W {
                self.lines.drop(line);
            } else if let Some(frame) = self.lines.get_mut(line) {
                (frame.state, frame.mask) = (State::V, 0);
            }
        }
        true
    }
    /// Makes room in a full sFIFO.
    fn overflow(&mut self) -> Took {
        if self.pop() { Took::NotYet } else { Took::Wait }
    }
    /// A client joins the drain's queue: so many entries, then the fence.
    fn join_drain(&mut self, who: Who, left: usize) {
        let short = usize::from(self.slips(Slip::FlushShort));
        self.drain.push_back(Client { who, left: left.saturating_sub(short), fence: None });
    }
    /// F: flush all and fence.
    pub fn flush_all(&mut self, who: Who) {
        self.join_drain(who, self.rel.sfifo.len());
    }
    /// Flush up to an sFIFO entry and fence.
    pub fn flush_to(&mut self, who: Who, ptr: usize) {
        self.join_drain(who, self.rel.sfifo.distance(ptr));
    }
    /// Fence alone.
    pub fn fence(&mut self, who: Who) {
        self.join_drain(who, 0);
    }
    /// The drain has a pop to do.
    pub fn drains(&self) -> bool {
        self.drain.front().is_some_and(|client| client.left > 0)
    }
    /// Starts and ends fences: the client that is done.
    pub fn advance(&mut self) -> Option<Who> {
        let client = self.drain.front_mut().filter(|client| client.left == 0)?;
        let waits = match client.fence {
            Some(epoch) => epoch,
            None => {
                client.fence = Some(self.epoch);
                self.epoch = !self.epoch;
                !self.epoch
            }
        };
        let who = client.who;
        if self.unacked[usize::from(waits)] > 0 {
            return None;
        }
        self.drain.pop_front();
        Some(who)
    }

    /// line-inv of a line that is not [`Core::stuck`].
    pub fn line_inv(&mut self, line: u64) {
        match self.lines.state(line) {
            State::P if !self.slips(Slip::NoReplay) => {
                let mshrs = self.mshrs.iter_mut().flatten();
                mshrs.filter(|mshr| mshr.line == line && !mshr.filled).for_each(|mshr| mshr.replay = true);
            }
            State::V | State::D | State::W => self.expel(line),
            _ => {}
        }
    }
    /// flash-inv: all lines but those that are owned or being registered.
    pub fn flash_inv(&mut self) {
        let early = self.slips(Slip::FlushBeforeAccess);
        if self.lines.iter().any(Frame::dirty) && !early {
            self.fault("flash-inv meets a dirty line");
        }
        let gone = |frame: &&mut Frame| match frame.state {
            State::D | State::W => !early,
            state => state == State::V,
        };
        self.lines.iter_mut().filter(gone).for_each(|frame| frame.state = State::I);
        self.lines.tidy();
        self.rel.lr.clear();
        if !self.slips(Slip::NoNoinst) {
            let mshrs = self.mshrs.iter_mut().flatten();
            mshrs.filter(|mshr| !mshr.filled && !mshr.reg).for_each(|mshr| mshr.noinst = true);
        }
    }

    /// Rules of section 7 that the state of one L1 shows.
    pub fn check(&self) -> Option<&'static str> {
        let queued = |line: u64| self.rel.sfifo.entries().any(|entry| entry.1 == line);
        if self.lines.iter().any(|frame| frame.dirty() && !queued(frame.line)) {
            return Some("a dirty line has no sFIFO entry");
        }
        let lr = self.rel.lr.entries();
        let live = |(addr, ptr): &(u64, usize)| {
            self.rel.sfifo.entries().any(|entry| entry == (*ptr, super::word::line_of(addr << 2)))
        };
        if !lr.iter().all(live) {
            return Some("an LR entry has no sFIFO entry of its line");
        }
        if lr.iter().enumerate().any(|(i, a)| lr[..i].iter().any(|b| a.0 == b.0 || a.1 == b.1)) {
            return Some("two LR entries have an address or a pointer in common");
        }
        let counted = |epoch| self.wbt.iter().filter(|p| !p.unreg && p.epoch == epoch).count() as u32;
        if counted(false) > self.unacked[0] || counted(true) > self.unacked[1] {
            return Some("an epoch counter is below its write-backs under way");
        }
        let kept = |state: State| state == State::O || self.registers && state == State::PR;
        let masked = |frame: &Frame| frame.dirty() || frame.mask == 0 || kept(frame.state);
        if !self.lines.iter().all(masked) {
            return Some("a clean line has dirty bytes");
        }
        let registering = |epoch| {
            let mshrs = self.mshrs.iter().flatten();
            mshrs.filter(|mshr| mshr.epoch == Some(epoch)).count() as u32
        };
        let counted = !self.registers || [false, true].map(registering) == self.unacked;
        (!counted).then_some("an epoch counter is not that of its registrations under way")
    }
}
