//! Loads, stores, atomics, misses, fills and replays (srsp.md section 5, the table).

use super::super::lines::{Frame, State};
use super::super::msg::{Out, ReqKind, Sync};
use super::super::slip::Slip;
use super::super::word::Data;
use super::{Core, Mshr, Target, Took, Work};

impl Core {
    /// The frame for a new line, if there is one now.
    fn room(&self, line: u64) -> Option<usize> {
        let free = self.wbt.free();
        let free = free && !self.registers;
        let plain = |frame: &Frame| {
            !matches!(frame.state, State::P | State::PR | State::O) && (free || !frame.dirty())
        };
        self.lines.victim(line, plain)
    }
    /// Puts a line into a frame that [`Core::room`] found.
    fn settle_in(&mut self, at: usize, frame: Frame) {
        let old = *self.lines.frame(at);
        if old.state != State::I {
            self.expel(old.line);
        }
        self.lines.put(at, frame);
    }
    /// Some MSHR is busy with the line.
    pub fn missing(&self, line: u64) -> bool {
        self.mshrs.iter().flatten().any(|mshr| mshr.line == line)
    }
    /// A miss on a line that is absent: an MSHR, a frame in this state, a request.
    pub fn miss(&mut self, line: u64, target: Target, state: State) -> Took {
        let mshr = self.mshrs.iter().position(Option::is_none);
        let (Some(mshr), false, false) = (mshr, self.wbt.has(line), self.missing(line)) else {
            return Took::Wait;
        };
        let Some(at) = self.room(line) else { return Took::Wait };
        self.settle_in(at, Frame { state, line, mask: 0, data: Data::default() });
        self.open_mshr(mshr, line, vec![target], state == State::PR);
        Took::Done
    }
    /// Takes an MSHR for an RD or REG and sends it.
    fn open_mshr(&mut self, at: usize, line: u64, targets: Vec<Target>, reg: bool) {
        let (noinst, replay, filled, uncached) = (false, false, false, false);
        let written = self.lines.get(line).is_some_and(|frame| frame.mask != 0);
        let uncounted = self.slips(Slip::UncountedReg) && !targets.is_empty();
        let counts = reg && self.registers && written && !uncounted;
        let epoch = counts.then_some(self.epoch);
        self.unacked[usize::from(self.epoch)] += u32::from(counts);
        self.mshrs[at] = Some(Mshr { line, noinst, replay, filled, reg, epoch, uncached, targets });
        let mshr = at as u8;
        self.send_req(line, if reg { ReqKind::Reg { line, mshr } } else { ReqKind::Rd { line, mshr } });
    }
    /// DeNovo-B: a line that is here may be registered now.
    pub fn may_register(&self, line: u64) -> bool {
        let unregistered = self.slips(Slip::RegPastUnreg) || !self.wbt.has(line);
        unregistered && self.mshrs.iter().any(Option::is_none)
    }
    /// DeNovo-B: registers a line that is here, dirty bytes and all, if [`Core::may_register`].
    pub fn register(&mut self, line: u64) {
        self.register_for(line, Vec::new());
    }
    /// The same for operations that wait for it.
    pub fn register_for(&mut self, line: u64, targets: Vec<Target>) {
        let Some(at) = self.mshrs.iter().position(Option::is_none) else { return };
        if let Some(frame) = self.lines.get_mut(line) {
            frame.state = State::PR;
        }
        self.open_mshr(at, line, targets, true);
    }
    /// Performs an atomic on an owned line: the old value, and whether it wrote.
    pub fn perform_owned(&mut self, sync: &Sync) -> (u64, bool) {
        let Some(frame) = self.lines.get_mut(sync.atomic.line()) else { return (0, false) };
        let (old, wrote) = sync.atomic.perform(&mut frame.data);
        if wrote {
            frame.mask |= sync.atomic.mask();
        }
        self.lines.touch(sync.atomic.line());
        (old, wrote)
    }
    /// Joins the miss that is pending on a line.
    pub fn join(&mut self, line: u64, target: Target) -> Took {
        let most = self.targets;
        let pending = |mshr: &&mut Mshr| {
            mshr.line == line && !mshr.noinst && !mshr.replay && !mshr.filled && mshr.targets.len() < most
        };
        match self.mshrs.iter_mut().flatten().find(pending) {
            Some(mshr) => {
                mshr.targets.push(target);
                Took::Done
            }
            None => Took::Wait,
        }
    }
    /// A line of state W is in the way.
    pub fn write_out(&mut self, line: u64) -> Took {
        if self.stuck(line) {
            return Took::Wait;
        }
        if self.registers {
            self.register(line);
        } else {
            self.expel(line);
        }
        Took::NotYet
    }

    /// Plain load of a line that is not owned.
    pub fn load(&mut self, id: u32, line: u64, mask: u64) -> Took {
        let target = Target { id, work: Work::Load(mask), again: false };
        let frame = self.lines.get(line).copied();
        match frame.map_or(State::I, |frame| frame.state) {
            State::I => self.miss(line, target, State::P),
            State::P => self.join(line, target),
            State::W if frame.is_some_and(|frame| mask & !frame.mask != 0) => self.write_out(line),
            State::PR => Took::Wait,
            _ => {
                let data = frame.map_or(Data::default(), |frame| frame.data.masked(mask));
                self.lines.touch(line);
                self.reply(id, data);
                Took::Done
            }
        }
    }
    /// Plain store to a line that is not owned.
    pub fn store(&mut self, id: u32, line: u64, mask: u64, data: Data) -> Took {
        let took = self.merge(line, mask, data);
        if took == Took::Done {
            self.reply(id, Data::default());
        }
        took
    }
    /// Merges bytes into a line.
    fn merge(&mut self, line: u64, mask: u64, data: Data) -> Took {
        let state = self.lines.state(line);
        if matches!(state, State::P | State::PR) {
            return Took::Wait;
        }
        let clean = matches!(state, State::I | State::V);
        if clean && self.rel.sfifo.full() {
            return self.overflow();
        }
        if state == State::I {
            let Some(at) = self.room(line) else { return Took::Wait };
            self.settle_in(at, Frame { state: State::W, line, mask: 0, data: Data::default() });
        }
        if let Some(frame) = self.lines.get_mut(line) {
            frame.data.merge(mask, &data);
            frame.mask |= mask;
            frame.state = if frame.state == State::W { State::W } else { State::D };
        }
        if clean {
            self.rel.sfifo.push(line);
        }
        self.lines.touch(line);
        Took::Done
    }

    /// A1: an atomic in this L1, at first or again from its MSHR.
    pub fn atomic(&mut self, id: u32, sync: &Sync, from: Option<usize>) -> Took {
        let line = sync.atomic.line();
        let state = self.lines.state(line);
        if self.slips(Slip::BlindStore)
            && sync.atomic.op == weft_srsp::msg::SyncOp::St
            && matches!(state, State::I | State::W)
        {
            return self.blind_store(id, sync);
        }
        match state {
            State::V | State::D => {
                if self.must_push(sync) && self.rel.sfifo.full() {
                    return self.overflow();
                }
                self.perform(id, sync);
                Took::Done
            }
            State::W => self.write_out(line),
            State::P | State::PR | State::O => {
                let target = Target { id, work: Work::Atomic(*sync), again: false };
                if from.is_some() { Took::Wait } else { self.join(line, target) }
            }
            State::I => match from {
                None => {
                    let target = Target { id, work: Work::Atomic(*sync), again: false };
                    self.miss(line, target, State::P)
                }
                Some(mshr) => self.miss_again(mshr),
            },
        }
    }
    /// The first target of an MSHR misses again; the others still look everything up again.
    fn miss_again(&mut self, number: usize) -> Took {
        let Some(line) = self.mshrs[number].as_ref().map(|mshr| mshr.line) else { return Took::Wait };
        let Some(at) = self.room(line).filter(|_| !self.wbt.has(line)) else { return Took::Wait };
        self.settle_in(at, Frame { state: State::P, line, mask: 0, data: Data::default() });
        let together = self.slips(Slip::ReplayTogether);
        if let Some(mshr) = &mut self.mshrs[number] {
            (mshr.filled, mshr.noinst, mshr.replay) = (false, false, false);
            let together = if together { mshr.targets.len() } else { 1 };
            mshr.targets[..together].iter_mut().for_each(|target| target.again = false);
        }
        self.send_req(line, ReqKind::Rd { line, mshr: number as u8 });
        Took::NotYet
    }
    /// A release of this L1 is recorded.
    fn records(&self, sync: &Sync) -> bool {
        self.selective && sync.sem.releases()
    }
    /// An atomic on a line in V or D may need an sFIFO entry.
    pub fn must_push(&self, sync: &Sync) -> bool {
        let clean = self.lines.state(sync.atomic.line()) == State::V;
        !sync.atomic.reads_only() && (clean || self.records(sync))
    }
    /// Performs an atomic on a line in V or D; the sFIFO has room if [`Core::must_push`].
    pub fn perform(&mut self, id: u32, sync: &Sync) {
        let (line, records) = (sync.atomic.line(), self.records(sync));
        let Some(frame) = self.lines.get_mut(line) else { return };
        let clean = frame.state == State::V;
        let (old, wrote) = sync.atomic.perform(&mut frame.data);
        if wrote {
            frame.state = State::D;
            frame.mask |= sync.atomic.mask();
            if records || clean {
                let index = self.rel.sfifo.push(line);
                if records {
                    self.rel.lr.set(sync.atomic.tag(), index);
                }
            }
        }
        self.lines.touch(line);
        self.done(id, sync, old, wrote);
    }
    /// Answers an atomic and tells the checker.
    pub fn done(&mut self, id: u32, sync: &Sync, old: u64, wrote: bool) {
        self.send(Out::Performed { cu: self.own, id: Some(id), atomic: sync.atomic, old, wrote });
        self.reply_old(id, sync, old);
    }
    /// The slip: a store that synchronises goes into a masked frame.
    fn blind_store(&mut self, id: u32, sync: &Sync) -> Took {
        let mut data = Data::default();
        data.set_word(sync.atomic.addr % 64, sync.atomic.wide, sync.atomic.opnd);
        let releases = self.records(sync);
        if releases && self.rel.sfifo.full() {
            return self.overflow();
        }
        let had = self.rel.sfifo.len();
        let took = self.merge(sync.atomic.line(), sync.atomic.mask(), data);
        if took == Took::Done {
            if releases {
                let pushed = self.rel.sfifo.len() > had;
                let last = self.rel.sfifo.entries().last().map(|entry| entry.0);
                let index = last.filter(|_| pushed);
                let index = index.unwrap_or_else(|| self.rel.sfifo.push(sync.atomic.line()));
                self.rel.lr.set(sync.atomic.tag(), index);
            }
            self.done(id, sync, 0, true);
        }
        took
    }

    /// FILL: installs the line unless it is marked, then serves the targets in order; an atomic is served `now` or replays.
    pub fn fill(&mut self, number: u8, data: Data, now: bool) {
        let Some(mut mshr) = self.mshrs.get_mut(usize::from(number)).and_then(Option::take) else {
            return self.fault("a FILL that was not expected");
        };
        let line = mshr.line;
        let install = !mshr.noinst && !mshr.replay && !mshr.uncached;
        match self.lines.get_mut(line) {
            _ if mshr.uncached => {}
            Some(frame) if frame.state == State::P && install => {
                (frame.state, frame.data) = (State::V, data);
            }
            Some(frame) if frame.state == State::P => self.lines.drop(line),
            _ => self.fault("a FILL finds no frame"),
        }
        let mut left = Vec::new();
        for target in mshr.targets {
            match target.work {
                Work::Load(mask) => {
                    let frame = self.lines.get(line).filter(|_| install);
                    let data = frame.map_or(data, |frame| frame.data);
                    self.reply(target.id, data.masked(mask));
                }
                Work::Atomic(sync) => {
                    let room = !self.must_push(&sync) || !self.rel.sfifo.full();
                    if install && now && !target.again && room {
                        self.perform(target.id, &sync);
                    } else {
                        left.push(Target { again: true, ..target });
                    }
                }
            }
        }
        if !left.is_empty() {
            (mshr.noinst, mshr.replay, mshr.filled) = (false, false, true);
            mshr.targets = left;
            self.mshrs[usize::from(number)] = Some(mshr);
        }
    }
    /// The atomic at the head of an MSHR that replays.
    pub fn replaying(&self, number: usize) -> Option<(u32, Sync)> {
        let mshr = self.mshrs[number].as_ref().filter(|mshr| mshr.filled)?;
        mshr.targets.first().and_then(|target| match target.work {
            Work::Atomic(sync) => Some((target.id, sync)),
            Work::Load(_) => None,
        })
    }
    /// The head of an MSHR that replays has been taken.
    pub fn replayed(&mut self, number: usize) {
        if let Some(mshr) = &mut self.mshrs[number] {
            mshr.targets.remove(0);
            if mshr.targets.is_empty() {
                self.mshrs[number] = None;
            }
        }
    }
}
