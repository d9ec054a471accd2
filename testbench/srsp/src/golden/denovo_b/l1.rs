//! `denovo_b_l1`: lines, sFIFO and drain of [`super::super::core`], whose pops register, a slot at a time.

use super::super::core::{Core, L1Params, Mshr, Target, Took, Who, Work};
use super::super::hlrc::l1::Gain;
use super::super::l1::L1Step;
use super::super::lines::{Frame, State};
use super::super::msg::{CuOp, CuReq, Out, Probe, ProbeKind, Rsp, RspKind, Sync, WbKind};
use super::super::slip::Slip;
use super::super::tables::Pending;
use super::super::word::{Data, line_of};
use std::collections::VecDeque;

/// A release before its access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Release {
    /// Request of the CU.
    pub id: u32,
    /// What.
    pub sync: Sync,
    /// Its F is done.
    pub flushed: bool,
}

/// An L1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct L1 {
    own: u8,
    /// Lines, misses, UNREGs.
    pub core: Core,
    /// Releases whose access is still to come, oldest first.
    pub releases: Vec<Release>,
    /// Acquires that are performed and have not dropped yet, and kernels' ends, oldest first; the gate is closed while there are any.
    pub gains: VecDeque<Gain>,
}

impl std::hash::Hash for L1 {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.core, &self.releases, &self.gains).hash(state);
    }
}

impl L1 {
    /// After reset.
    pub fn new(p: L1Params) -> L1 {
        L1 { own: p.own, core: Core::new(&p), releases: Vec::new(), gains: VecDeque::new() }
    }
    /// Nothing is under way.
    pub fn idle(&self) -> bool {
        self.releases.is_empty()
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
        self.gains.is_empty()
    }

    /// A request of the CU, as [`crate::golden::l1::L1::cu`].
    pub fn cu(&mut self, req: &CuReq) -> Took {
        if !self.open() {
            return Took::Wait;
        }
        let took = match req.op {
            CuOp::Load { line, mask } => self.load(req.id, line, mask),
            CuOp::Store { line, mask, data } => self.store(req.id, line, mask, data),
            CuOp::Sync(sync) if self.flushes(&sync) => {
                self.releases.push(Release { id: req.id, sync, flushed: false });
                self.core.flush_all(Who::Release(req.id));
                Took::Done
            }
            CuOp::Sync(sync) => self.atomic(req.id, &sync),
            CuOp::Begin | CuOp::End => {
                self.gain(vec![(req.id, Data::default())], req.op == CuOp::Begin);
                Took::Done
            }
        };
        self.settle();
        took
    }
    /// An F comes before the access.
    fn flushes(&self, sync: &Sync) -> bool {
        let release = sync.sem.releases() && !self.core.slips(Slip::ReleaseNoWait);
        release || sync.sem.acquires() && self.core.slips(Slip::FlushBeforeAccess)
    }
    fn load(&mut self, id: u32, line: u64, mask: u64) -> Took {
        if self.core.lines.state(line) == State::PR {
            return self.core.join(line, Target { id, work: Work::Load(mask), again: false });
        }
        let took = self.core.load(id, line, mask);
        self.or_evict(took, line)
    }
    fn store(&mut self, id: u32, line: u64, mask: u64, data: Data) -> Took {
        let joined = |mshr: &Mshr| mshr.line == line && !mshr.targets.is_empty();
        if self.core.mshrs.iter().flatten().any(joined) && !self.core.slips(Slip::StoreOvertakes) {
            return Took::Wait;
        }
        match self.core.lines.get_mut(line).filter(|frame| matches!(frame.state, State::PR | State::O)) {
            Some(frame) => {
                frame.data.merge(mask, &data);
                frame.mask |= mask;
                self.core.lines.touch(line);
                self.core.reply(id, Data::default());
                Took::Done
            }
            None => {
                let took = self.core.store(id, line, mask, data);
                self.or_evict(took, line)
            }
        }
    }
    /// The access of an atomic; what has release semantics has had its F.
    fn atomic(&mut self, id: u32, sync: &Sync) -> Took {
        let line = sync.atomic.line();
        let target = Target { id, work: Work::Atomic(*sync), again: false };
        match self.core.lines.state(line) {
            State::O => {
                self.perform(id, sync).into_iter().for_each(|reply| self.gain(vec![reply], true));
                Took::Done
            }
            State::PR => self.core.join(line, target),
            State::P => Took::Wait,
            State::V | State::D | State::W if self.core.may_register(line) => {
                self.core.register_for(line, vec![target]);
                Took::Done
            }
            State::V | State::D | State::W => Took::Wait,
            State::I => {
                let took = self.core.miss(line, target, State::PR);
                self.or_evict(took, line)
            }
        }
    }
    /// Performs an atomic on an owned line and answers it, but for the answer of an acquire, which comes after its drop.
    fn perform(&mut self, id: u32, sync: &Sync) -> Option<(u32, Data)> {
        let (old, wrote) = self.core.perform_owned(sync);
        self.core.send(Out::Performed { cu: self.own, id: Some(id), atomic: sync.atomic, old, wrote });
        if !sync.sem.acquires() {
            self.core.reply_old(id, sync, old);
            return None;
        }
        let mut data = Data::default();
        data.set_word(sync.atomic.addr % 64, sync.atomic.wide, old);
        Some((id, data))
    }
    /// A request waits: if that is for a frame, an owned line of its set leaves, or a dirty one is registered.
    fn or_evict(&mut self, took: Took, line: u64) -> Took {
        let absent = self.core.lines.state(line) == State::I;
        if took != Took::Wait || !absent || self.core.wbt.has(line) {
            return took;
        }
        if self.core.lines.victim(line, |frame| frame.state == State::V).is_some() {
            return took;
        }
        if let Some(at) = self.core.lines.victim(line, |frame| frame.state == State::O) {
            let victim = self.core.lines.frame(at).line;
            return if self.unregister(victim) { Took::NotYet } else { Took::Wait };
        }
        let free = |frame: &Frame| frame.dirty() && self.core.may_register(frame.line);
        match self.core.lines.victim(line, free) {
            Some(at) => {
                self.core.register(self.core.lines.frame(at).line);
                Took::NotYet
            }
            None => Took::Wait,
        }
    }
    /// Gives an owned line back, if the WBT has a free entry.
    fn unregister(&mut self, line: u64) -> bool {
        if !self.core.wbt.free() {
            return false;
        }
        let (mask, data) = self.leave(line);
        let wbt = self.core.wbt.take(Pending { line, epoch: false, unreg: true });
        self.core.send_late(line, WbKind::Unreg { line, mask, data, wbt });
        true
    }
    /// An owned line leaves: its mask and bytes.
    fn leave(&mut self, line: u64) -> (u64, Data) {
        let (mask, data) = self.written(line);
        self.core.lines.drop(line);
        if self.core.slips(Slip::RevokeNoMask) { (0, Data::default()) } else { (mask, data) }
    }
    fn written(&self, line: u64) -> (u64, Data) {
        self.core
            .lines
            .get(line)
            .map_or((0, Data::default()), |frame| (frame.mask, frame.data.masked(frame.mask)))
    }

    /// REVOKE or READ; false, and nothing has changed, if it must wait.
    pub fn probe(&mut self, probe: &Probe) -> bool {
        let line = line_of(probe.addr);
        let read = match probe.kind {
            ProbeKind::Read => true,
            ProbeKind::Revoke => false,
            _ => {
                self.core.fault("a probe that DeNovo-B does not know");
                return true;
            }
        };
        let (has, (mask, data)) = match self.core.lines.state(line) {
            State::PR => return false,
            State::O if read => (true, self.shown(line)),
            State::O => (true, self.leave(line)),
            _ => (false, (0, Data::default())),
        };
        if !has && !self.core.wbt.iter().any(|pending| pending.unreg && pending.line == line) {
            self.core.fault(format!("a probe of line {line:#x}, which is not owned"));
        }
        let kind = if read {
            WbKind::ReadAck { line, has, mask, data }
        } else {
            WbKind::RevokeAck { line, has, mask, data }
        };
        self.core.send_late(line, kind);
        self.settle();
        true
    }
    /// The bytes that the bank lacks; it has them from now on.
    fn shown(&mut self, line: u64) -> (u64, Data) {
        let (takes, keeps) = (self.core.slips(Slip::ReadTakesLine), self.core.slips(Slip::ReadKeepsMask));
        let written = self.written(line);
        if takes {
            self.core.lines.drop(line);
        } else if let Some(frame) = self.core.lines.get_mut(line).filter(|_| !keeps) {
            frame.mask = 0;
        }
        written
    }
    /// An answer of a bank.
    pub fn rsp(&mut self, rsp: &Rsp) {
        match rsp.kind {
            RspKind::Fill { mshr, data } => self.core.fill(mshr, data, false),
            RspKind::RegData { mshr, data } => self.registered(mshr, data),
            RspKind::UnregAck { wbt } => {
                if self.core.wbt.release(wbt).is_none() {
                    self.core.fault("an UNREG_ACK that was not expected");
                }
            }
            _ => self.core.fault("an answer that DeNovo-B does not know"),
        }
        self.settle();
    }
    /// REG_DATA: the line is owned; what has joined is done in order, and acquires are answered after their drop.
    fn registered(&mut self, mshr: u8, data: Data) {
        let Some(mshr) = self.core.mshrs.get_mut(usize::from(mshr)).and_then(Option::take) else {
            return self.core.fault("a REG_DATA that was not expected");
        };
        if let Some(epoch) = mshr.epoch {
            self.core.unacked[usize::from(epoch)] -= 1;
        }
        let overwrites = self.core.slips(Slip::RegDataOverwrites);
        match self.core.lines.get_mut(mshr.line) {
            Some(frame) if frame.state == State::PR => {
                frame.state = State::O;
                frame.data.merge(if overwrites { u64::MAX } else { !frame.mask }, &data);
            }
            _ => return self.core.fault("a REG_DATA finds no frame"),
        }
        let mut replies = Vec::new();
        for target in &mshr.targets {
            match target.work {
                Work::Load(mask) => {
                    let data = self.core.lines.get(mshr.line).map_or(data, |frame| frame.data);
                    self.core.reply(target.id, data.masked(mask));
                }
                Work::Atomic(sync) => replies.extend(self.perform(target.id, &sync)),
            }
        }
        if !replies.is_empty() {
            self.gain(replies, true);
        }
    }
    fn gain(&mut self, replies: Vec<(u32, Data)>, inv: bool) {
        // With the slip its F has been before the access.
        let begun = inv && self.core.slips(Slip::FlushBeforeAccess);
        self.gains.push_back(Gain { replies, inv, begun, flushed: begun });
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
        let flushed = (0..self.releases.len()).filter(|i| self.releases[*i].flushed);
        steps.extend(flushed.map(|i| L1Step::Replay(i as u8)));
        steps
    }
    /// Makes a slot of its own; false, and nothing has changed, if it must wait.
    pub fn step(&mut self, step: L1Step) -> bool {
        let done = match step {
            L1Step::Drain => self.core.pop(),
            L1Step::Sync => self.drop_or_give_back(),
            L1Step::Replay(at) => self.access(usize::from(at)),
            L1Step::Probe => false,
        };
        if done {
            self.settle();
        }
        done
    }
    /// The access of a release whose F is done; a closed gate does not stop it.
    fn access(&mut self, at: usize) -> bool {
        let Release { id, sync, .. } = self.releases[at];
        let took = self.atomic(id, &sync);
        if took == Took::Done {
            self.releases.remove(at);
        }
        took != Took::Wait
    }
    /// The drop of the oldest acquire, or one line of a kernel's end given back.
    fn drop_or_give_back(&mut self) -> bool {
        let inv = self.gains.front().is_some_and(|gain| gain.inv);
        if inv && !self.core.slips(Slip::AcquireNoDrop) {
            self.core.flash_inv();
        }
        let owned = self.core.lines.iter().find(|frame| frame.state == State::O).map(|frame| frame.line);
        if let Some(line) = owned.filter(|_| !inv) {
            return self.unregister(line);
        }
        let registering = self.core.lines.iter().any(|frame| frame.state == State::PR);
        if !inv && (registering || !self.core.wbt.is_empty()) {
            return false;
        }
        if let Some(gain) = self.gains.pop_front() {
            gain.replies.into_iter().for_each(|(id, data)| self.core.reply(id, data));
        }
        true
    }
    /// What follows at once: fences end and begin.
    fn settle(&mut self) {
        loop {
            match self.core.advance() {
                Some(Who::Release(id)) => {
                    let release = self.releases.iter_mut().find(|release| release.id == id);
                    release.into_iter().for_each(|release| release.flushed = true);
                }
                Some(_) => self.gains.front_mut().into_iter().for_each(|gain| gain.flushed = true),
                None => match self.gains.front_mut() {
                    Some(gain) if !gain.begun => {
                        gain.begun = true;
                        self.core.flush_all(Who::Sync);
                    }
                    _ => break,
                },
            }
        }
    }
}
