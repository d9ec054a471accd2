//! `hlrc_l1`: the lines, sFIFO, WBT and drain of section 5 with the states PR and O (srsp.md section 9), a slot at a time.
//!
//! Where the specification is silent: a plain load waits in PR; an atomic waits while a plain fill of its line is pending.

use super::super::core::{Core, L1Params, Mshr, Target, Took, Who, Work};
use super::super::l1::L1Step;
use super::super::lines::State;
use super::super::msg::{CuOp, CuReq, Out, Probe, ReqKind, Rsp, RspKind, Sync, WbKind};
use super::super::slip::Slip;
use super::super::tables::Pending;
use super::super::word::{Data, line_of};
use std::collections::VecDeque;

/// An owned line that leaves: captured at once, handed over when the flush is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Capture {
    /// Line number.
    pub line: u64,
    /// Bytes written.
    pub mask: u64,
    /// The line.
    pub data: Data,
    /// A REVOKE waits for it; else it was evicted.
    pub revoked: bool,
    /// The flush is done.
    pub flushed: bool,
    /// The slip: REVOKE_ACK has gone already.
    pub sent: bool,
}

/// An I and the answers that come after it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Gain {
    /// Answers: {request, bytes}.
    pub replies: Vec<(u32, Data)>,
    /// It invalidates (else it is a kernel's end, which flushes only).
    pub inv: bool,
    /// Its F has begun.
    pub begun: bool,
    /// Its F is done.
    pub flushed: bool,
}

/// An L1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct L1 {
    own: u8,
    /// Lines, misses, write-backs.
    pub core: Core,
    /// Capture buffer.
    pub capture: Option<Capture>,
    /// Gains whose I is not done, oldest first; the gate is closed while there are any that invalidate.
    pub gains: VecDeque<Gain>,
}

impl std::hash::Hash for L1 {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.core, &self.capture, &self.gains).hash(state);
    }
}

impl L1 {
    /// After reset.
    pub fn new(p: L1Params) -> L1 {
        L1 { own: p.own, core: Core::new(&p), capture: None, gains: VecDeque::new() }
    }
    /// Nothing is under way.
    pub fn idle(&self) -> bool {
        self.capture.is_none()
            && self.gains.is_empty()
            && self.core.drain.is_empty()
            && self.core.wbt.is_empty()
            && self.core.mshrs.iter().all(Option::is_none)
    }
    /// What was sent since the last call, in order.
    pub fn take_out(&mut self) -> Vec<Out> {
        self.core.take_out()
    }
    /// CU requests may go on.
    pub fn open(&self) -> bool {
        !self.gains.iter().any(|gain| gain.inv)
    }

    /// A request of the CU, as [`crate::golden::l1::L1::cu`].
    pub fn cu(&mut self, req: &CuReq) -> Took {
        if !self.open() {
            return Took::Wait;
        }
        let took = match req.op {
            CuOp::Load { line, mask } if self.core.lines.state(line) == State::O => {
                self.load_owned(req.id, line, mask)
            }
            CuOp::Store { line, mask, data } if self.core.lines.state(line) == State::O => {
                self.store_owned(req.id, line, mask, data)
            }
            CuOp::Load { line, mask } => {
                let took = self.core.load(req.id, line, mask);
                self.or_evict(took, line)
            }
            CuOp::Store { line, mask, data } => {
                let took = self.core.store(req.id, line, mask, data);
                self.or_evict(took, line)
            }
            CuOp::Sync(sync) => self.atomic(req.id, &sync),
            CuOp::Begin | CuOp::End => {
                let inv = req.op == CuOp::Begin;
                self.gain(vec![(req.id, Data::default())], inv);
                Took::Done
            }
        };
        self.settle();
        took
    }
    fn load_owned(&mut self, id: u32, line: u64, mask: u64) -> Took {
        let target = Target { id, work: Work::Load(mask), again: false };
        if self.core.wbt.has(line) {
            return Took::Wait;
        }
        if self.core.missing(line) {
            return self.core.join(line, target);
        }
        let Some(at) = self.core.mshrs.iter().position(Option::is_none) else { return Took::Wait };
        let (noinst, replay, filled, reg, epoch, uncached) = (false, false, false, false, None, true);
        let mshr = Mshr { line, noinst, replay, filled, reg, epoch, uncached, targets: vec![target] };
        self.core.mshrs[at] = Some(mshr);
        self.core.send_req(line, ReqKind::Rdu { line, mshr: at as u8 });
        Took::Done
    }
    fn store_owned(&mut self, id: u32, line: u64, mask: u64, data: Data) -> Took {
        if !self.core.wbt.free() {
            return Took::Wait;
        }
        self.core.write_back(line, mask, data);
        self.core.reply(id, Data::default());
        Took::Done
    }
    fn atomic(&mut self, id: u32, sync: &Sync) -> Took {
        let line = sync.atomic.line();
        let target = Target { id, work: Work::Atomic(*sync), again: false };
        match self.core.lines.state(line) {
            State::O => {
                let (old, wrote) = self.core.perform_owned(sync);
                self.core.done(id, sync, old, wrote);
                Took::Done
            }
            State::PR => self.core.join(line, target),
            State::P => Took::Wait,
            State::W | State::D => self.core.write_out(line),
            State::V | State::I => {
                let held = self.capture.is_some_and(|capture| capture.line == line);
                if held || self.core.wbt.has(line) || self.core.missing(line) {
                    return Took::Wait;
                }
                if self.core.mshrs.iter().all(Option::is_some) {
                    return Took::Wait;
                }
                self.core.lines.drop(line);
                let took = self.core.miss(line, target, State::PR);
                self.or_evict(took, line)
            }
        }
    }
    /// A request waits: if that is because all frames of its set are owned, one of them is evicted.
    fn or_evict(&mut self, took: Took, line: u64) -> Took {
        let absent = self.core.lines.state(line) == State::I;
        if took != Took::Wait || !absent || self.capture.is_some() {
            return took;
        }
        if self.core.wbt.has(line) || self.core.missing(line) {
            return took;
        }
        let others = |frame: &super::super::lines::Frame| !matches!(frame.state, State::O | State::PR);
        if self.core.lines.victim(line, others).is_some() {
            return took;
        }
        let Some(at) = self.core.lines.victim(line, |frame| frame.state == State::O) else { return took };
        let victim = self.core.lines.frame(at).line;
        self.capture(victim, false);
        Took::NotYet
    }
    fn capture(&mut self, line: u64, revoked: bool) {
        if let Some(frame) = self.core.lines.get(line).copied() {
            let (mask, data) = (frame.mask, frame.data.masked(frame.mask));
            let early = revoked && self.core.slips(Slip::EarlyGrant);
            self.capture = Some(Capture { line, mask, data, revoked, flushed: false, sent: early });
            self.core.lines.drop(line);
            if early {
                self.core.send_late(line, WbKind::RevokeAck { line, has: true, mask, data });
            }
            self.core.flush_all(Who::Capture);
        }
    }

    /// REVOKE; false, and nothing has changed, if it must wait.
    pub fn probe(&mut self, probe: &Probe) -> bool {
        let line = line_of(probe.addr);
        let state = self.core.lines.state(line);
        match &mut self.capture {
            Some(capture) if capture.line == line && !capture.revoked => capture.revoked = true,
            Some(_) if state == State::O => return false,
            None if state == State::O => self.capture(line, true),
            _ if state == State::PR => return false,
            _ if self.core.wbt.iter().any(|pending| pending.unreg && pending.line == line) => {
                let (has, mask, data) = (false, 0, Data::default());
                self.core.send_late(line, WbKind::RevokeAck { line, has, mask, data });
            }
            _ => self.core.fault(format!("REVOKE of line {line:#x}, which is not owned")),
        }
        self.settle();
        true
    }
    /// An answer of a bank.
    pub fn rsp(&mut self, rsp: &Rsp) {
        match rsp.kind {
            RspKind::Fill { mshr, data } => self.core.fill(mshr, data, false),
            RspKind::RegData { mshr, data } => self.registered(mshr, data),
            RspKind::WbAck { wbt, epoch } => self.core.wb_ack(wbt, epoch),
            RspKind::UnregAck { wbt } => {
                if !self.core.wbt.release(wbt).is_some_and(|pending| pending.unreg) {
                    self.core.fault("an UNREG_ACK that was not expected");
                }
            }
            _ => self.core.fault("an answer that hLRC does not know"),
        }
        self.settle();
    }
    /// REG_DATA: the line is owned; what has joined performs, and is answered after an I.
    fn registered(&mut self, mshr: u8, data: Data) {
        let Some(mshr) = self.core.mshrs.get_mut(usize::from(mshr)).and_then(Option::take) else {
            return self.core.fault("a REG_DATA that was not expected");
        };
        match self.core.lines.get_mut(mshr.line) {
            Some(frame) if frame.state == State::PR => {
                (frame.state, frame.data, frame.mask) = (State::O, data, 0);
            }
            _ => return self.core.fault("a REG_DATA finds no frame"),
        }
        let mut replies = Vec::new();
        for target in &mshr.targets {
            if let Work::Atomic(sync) = target.work {
                let (old, wrote) = self.core.perform_owned(&sync);
                self.core.send(Out::Performed {
                    cu: self.own,
                    id: Some(target.id),
                    atomic: sync.atomic,
                    old,
                    wrote,
                });
                let mut bytes = Data::default();
                bytes.set_word(sync.atomic.addr % 64, sync.atomic.wide, old);
                replies.push((target.id, bytes));
            }
        }
        self.gain(replies, true);
    }
    fn gain(&mut self, replies: Vec<(u32, Data)>, inv: bool) {
        self.gains.push_back(Gain { replies, inv, begun: false, flushed: false });
    }

    /// Slots that may be possible now.
    pub fn steps(&self) -> Vec<L1Step> {
        let mut steps = Vec::new();
        if self.core.drains() {
            steps.push(L1Step::Drain);
        }
        if self.gains.front().is_some_and(|gain| gain.flushed) {
            steps.push(L1Step::Sync);
        }
        steps
    }
    /// Makes a slot of its own; false, and nothing has changed, if it must wait.
    pub fn step(&mut self, step: L1Step) -> bool {
        let done = match step {
            L1Step::Drain => self.core.pop(),
            L1Step::Sync => {
                self.core.flash_inv();
                self.end_gain();
                true
            }
            L1Step::Replay(_) | L1Step::Probe => false,
        };
        if done {
            self.settle();
        }
        done
    }
    fn end_gain(&mut self) {
        if let Some(gain) = self.gains.pop_front() {
            gain.replies.into_iter().for_each(|(id, data)| self.core.reply(id, data));
        }
    }
    fn settle(&mut self) {
        loop {
            match self.core.advance() {
                Some(Who::Capture) => {
                    if let Some(capture) = &mut self.capture {
                        capture.flushed = true;
                    }
                }
                Some(_) => match self.gains.front_mut() {
                    Some(gain) if gain.inv => gain.flushed = true,
                    _ => self.end_gain(),
                },
                None => {
                    if !self.begin_gain() && !self.hand_over() {
                        break;
                    }
                }
            }
        }
    }
    fn begin_gain(&mut self) -> bool {
        match self.gains.front_mut() {
            Some(gain) if !gain.begun => {
                gain.begun = true;
                self.core.flush_all(Who::Sync);
                true
            }
            _ => false,
        }
    }
    /// A captured line goes to the L2 when its flush is done.
    fn hand_over(&mut self) -> bool {
        let Some(capture) = self.capture.filter(|capture| capture.flushed) else { return false };
        let Capture { line, mask, data, .. } = capture;
        if capture.sent {
        } else if capture.revoked {
            self.core.send_late(line, WbKind::RevokeAck { line, has: true, mask, data });
        } else if self.core.wbt.free() {
            let wbt = self.core.wbt.take(Pending { line, epoch: false, unreg: true });
            self.core.send_late(line, WbKind::Unreg { line, mask, data, wbt });
        } else {
            return false;
        }
        self.capture = None;
        true
    }
}
