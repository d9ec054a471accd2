//! A bank of the GPU L2 of spandex.md section 9, one message at a time: section 4's bank without ReqS and S, above a client of the L3.
//!
//! Decisions where the page is silent:
//! - A request commits in the step in which the line comes; data of use-once serves it alone, and requests that wait ask again.
//! - An eviction is a client's MI as soon as its words have come, and keeps its TBE until WBAck.
//! - A forward waits for phase 1, and for the words of an eviction. It waits for nothing that it needs the L3 for.
//! - A miss in a full bank evicts the first line without a TBE, those in S first.

mod forward;

use super::client::table::{Act, Event, State};
use super::client::{Entry, Place};
use super::cover::{Cover, Mark};
use super::msg::{Msg, Packet};
use super::slip::Slip;
use std::collections::VecDeque;
use std::rc::Rc;
use weft_spandex_bench::golden::llc::commit::Commit;
use weft_spandex_bench::golden::llc::lines::Frame;
use weft_spandex_bench::golden::llc::{BankParams, Choice};
use weft_spandex_bench::golden::msg::{Data, Mask, Msg as GpuMsg, Node, Op as GpuOp, words};

/// Parameters of the banks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct L2Params {
    /// What it has in common with a bank of section 4: words, banks, devices, `RVKO_GRAN`, `FLEX_RSP`, `N_TBE`, `N_STALL`.
    pub bank: BankParams,
    /// Its number as a client of the L3.
    pub client: u8,
    /// Lines of a bank.
    pub lines: usize,
    /// A rule left out.
    pub slip: Option<Slip>,
}

/// A line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Line {
    /// Owned words and data; `dirty`: PutM.
    pub frame: Frame,
    /// Its state to the L3.
    pub entry: Entry,
}

/// What blocks a line.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// The L3 is asked, for this request.
    Fill(GpuMsg),
    /// Words are revoked for this request.
    Phase1(GpuMsg),
    /// Words are revoked, then Put, until WBAck.
    Evict,
    /// Words are revoked for a forward of the L3.
    Forward(Msg),
}

/// A blocked line.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tbe {
    /// Line number.
    pub line: u32,
    /// What for.
    pub kind: Kind,
    /// RspRvkO expected for these words.
    pub rv: Mask,
    /// Words revoked by it.
    pub rvm: Mask,
    /// Requests that wait.
    pub list: VecDeque<GpuMsg>,
}

/// A bank.
#[derive(Clone, Debug)]
pub struct L2 {
    p: Rc<L2Params>,
    id: u8,
    place: Place,
    /// Lines that are not absent, ascending.
    pub lines: Vec<Line>,
    /// Blocked lines, ascending.
    pub tbes: Vec<Tbe>,
    /// Requests that replay.
    pub replay: VecDeque<GpuMsg>,
    out: Vec<Packet>,
    faults: Vec<String>,
    /// Reached since it was last taken.
    pub cover: Cover,
}

impl std::hash::Hash for L2 {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.lines, &self.tbes, &self.replay).hash(state);
    }
}

impl L2 {
    /// After reset.
    pub fn new(id: u8, p: Rc<L2Params>) -> L2 {
        let place = Place { client: p.client, banks: p.bank.banks };
        L2 {
            p,
            id,
            place,
            lines: Vec::new(),
            tbes: Vec::new(),
            replay: VecDeque::new(),
            out: Vec::new(),
            faults: Vec::new(),
            cover: Cover::default(),
        }
    }
    /// Nothing is under way.
    pub fn idle(&self) -> bool {
        self.tbes.is_empty() && self.replay.is_empty()
    }
    /// What it has sent since.
    pub fn take_out(&mut self) -> Vec<Packet> {
        std::mem::take(&mut self.out)
    }
    /// Broken rules since.
    pub fn take_faults(&mut self) -> Vec<String> {
        std::mem::take(&mut self.faults)
    }
    fn fault(&mut self, text: String) {
        self.faults.push(format!("L2 {}: {text}", self.id));
    }
    fn slips(&self, slip: Slip) -> bool {
        self.p.slip == Some(slip)
    }
    /// A line that is not absent.
    pub fn line(&self, line: u32) -> Option<&Line> {
        self.lines.iter().find(|entry| entry.frame.line == line)
    }
    /// State of a line to the L3.
    pub fn state(&self, line: u32) -> State {
        self.line(line).map_or(State::I, |line| line.entry.state)
    }
    fn find(&self, line: u32) -> Option<usize> {
        self.lines.iter().position(|entry| entry.frame.line == line)
    }
    fn tbe_of(&self, line: u32) -> Option<usize> {
        self.tbes.iter().position(|tbe| tbe.line == line)
    }
    /// A TBE is free for what is not a forward.
    fn tbe_free(&self) -> bool {
        let reserved = usize::from(!self.slips(Slip::NoReservedTbe));
        let taken = self.tbes.iter().filter(|tbe| !matches!(tbe.kind, Kind::Forward(_))).count();
        taken + reserved < self.p.bank.tbes && self.tbes.len() < self.p.bank.tbes
    }
    fn open(&mut self, line: u32, kind: Kind) -> usize {
        let at = self.tbes.partition_point(|tbe| tbe.line < line);
        self.tbes.insert(at, Tbe { line, kind, rv: 0, rvm: 0, list: VecDeque::new() });
        at
    }
    fn stalled(&self) -> usize {
        self.replay.len() + self.tbes.iter().map(|tbe| tbe.list.len()).sum::<usize>()
    }
    fn reach(&mut self, event: Event, state: State) {
        self.cover.l2[event as usize] |= 1 << state as u32;
    }

    /// A message of REQ_g; false if it must wait, and nothing has changed.
    pub fn req(&mut self, msg: &GpuMsg) -> bool {
        if !self.replay.is_empty() {
            return false;
        }
        let took = self.take(*msg, true);
        if took {
            self.replay_all();
        }
        took
    }
    fn take(&mut self, msg: GpuMsg, new: bool) -> bool {
        if let Some(tbe) = self.tbe_of(msg.line) {
            if new && self.stalled() >= self.p.bank.stalls {
                return false;
            }
            self.cover.mark(Mark::Stalled);
            self.reach(wants(&msg.op), self.state(msg.line));
            self.tbes[tbe].list.push_back(msg);
            return true;
        }
        match self.find(msg.line) {
            Some(at) => self.start(at, msg),
            None => self.miss(msg, new),
        }
    }
    fn replay_all(&mut self) {
        while let Some(msg) = self.replay.pop_front() {
            if !self.take(msg, false) {
                self.replay.push_front(msg);
                return self.cover.mark(Mark::ReplayWaits);
            }
        }
    }
    /// A request to a line that is there and not blocked.
    fn start(&mut self, at: usize, msg: GpuMsg) -> bool {
        let (event, state) = (wants(&msg.op), self.lines[at].entry.state);
        let (mut acts, mut next) = self.lines[at].entry.cell(event, self.p.slip);
        if self.slips(Slip::WriteInS) && state == State::S || self.slips(Slip::EStays) && state == State::E {
            (acts, next) = (&[Act::Hit], state);
        }
        let owned = self.lines[at].frame.owned & msg.mask != 0;
        let revokes = matches!(msg.op, GpuOp::ReqWtData(_)) && owned;
        if (acts != [Act::Hit] || revokes) && !self.tbe_free() {
            return false;
        }
        self.reach(event, state);
        self.lines[at].entry.state = next;
        if acts != [Act::Hit] {
            self.open(msg.line, Kind::Fill(msg));
            self.send(at, acts, None);
        } else if revokes {
            self.cover.mark(Mark::Phase1);
            let tbe = self.open(msg.line, Kind::Phase1(msg));
            self.revoke(tbe, at, msg.mask);
        } else {
            self.commit(at, &msg);
        }
        true
    }
    /// The line is absent: a place is found, then the L3 asked.
    fn miss(&mut self, msg: GpuMsg, new: bool) -> bool {
        if !self.tbe_free() {
            return false;
        }
        if self.lines.len() >= self.p.lines {
            let free = |line: &Line| self.tbe_of(line.frame.line).is_none();
            let quiet = self.lines.iter().find(|line| free(line) && line.entry.state == State::S);
            let Some(victim) = quiet.or_else(|| self.lines.iter().find(|line| free(line))) else {
                return false;
            };
            let (line, drops) = (victim.frame.line, quiet.is_some());
            if !drops && new && self.stalled() >= self.p.bank.stalls {
                return false;
            }
            self.replace(line, (!drops).then_some(msg));
            if !drops {
                return true;
            }
        }
        let at = self.lines.partition_point(|line| line.frame.line < msg.line);
        self.lines.insert(at, Line { frame: Frame::new(msg.line), entry: Entry::default() });
        self.start(at, msg)
    }
    /// All words of a request in one step.
    fn commit(&mut self, at: usize, msg: &GpuMsg) {
        if matches!(msg.op, GpuOp::ReqS) {
            return self.fault(format!("unexpected {msg:?}"));
        }
        let (p, id, frame) = (&self.p.bank, self.id, &mut self.lines[at].frame);
        let made = Commit { p, id, frame, msg, choice: Choice::One, ans: 0, kept: 0 }.run();
        self.lines[at].frame.dirty = false;
        self.out.extend(made.out.into_iter().map(Packet::Gpu));
        made.faults.into_iter().for_each(|text| self.fault(text));
    }
    /// RvkO to every owner of one of these words, for those or all it owns.
    fn revoke(&mut self, tbe: usize, at: usize, targets: Mask) {
        let frame = self.lines[at].frame;
        for (dev, mine) in frame.owners(targets) {
            let own = if self.p.bank.revoke_lines { frame.owned_by(dev) } else { mine };
            let rvko = GpuMsg::new(Node::Bank(self.id), Node::Dev(dev), GpuOp::RvkO, frame.line, own, 0);
            self.out.push(Packet::Gpu(rvko));
            self.tbes[tbe].rv |= own;
            self.tbes[tbe].rvm |= own;
        }
    }
    /// What a cell sends to the L3 or its clients.
    fn send(&mut self, at: usize, acts: &[Act], cause: Option<&Msg>) {
        let Line { frame, .. } = self.lines[at];
        for act in acts {
            let made = self.place.message(*act, frame.line, &frame.data, frame.dirty, cause);
            self.out.extend(made.map(Packet::Mesi));
        }
    }

    /// Evicts a line that is not blocked; false if that cannot be now.
    pub fn evict(&mut self, line: u32) -> bool {
        let quiet = self.state(line) == State::S;
        if self.find(line).is_none() || self.tbe_of(line).is_some() || !quiet && !self.tbe_free() {
            return false;
        }
        self.replace(line, None);
        self.replay_all();
        true
    }
    fn replace(&mut self, line: u32, waits: Option<GpuMsg>) {
        let Some(at) = self.find(line) else { return };
        if self.lines[at].entry.state == State::S {
            self.reach(Event::Replace, State::S);
            self.lines.remove(at);
            return;
        }
        let tbe = self.open(line, Kind::Evict);
        self.tbes[tbe].list.extend(waits);
        if self.lines[at].frame.owned != 0 {
            self.cover.mark(Mark::EvictionRevokes);
        }
        self.revoke(tbe, at, self.p.bank.full());
        if self.slips(Slip::PutBeforeRevocation) {
            return self.put(at);
        }
        self.finish(tbe);
    }
    /// The words of an evicted line are here.
    fn put(&mut self, at: usize) {
        let state = self.lines[at].entry.state;
        let (acts, next) = self.lines[at].entry.cell(Event::Replace, self.p.slip);
        self.reach(Event::Replace, state);
        self.lines[at].frame.dirty = state == State::M;
        self.lines[at].entry.state = next;
        self.send(at, acts, None);
    }

    /// A message of WB_g.
    pub fn wb(&mut self, msg: &GpuMsg) {
        let GpuOp::ReqWb { .. } = msg.op else { return };
        let tbe = self.tbe_of(msg.line);
        let rvm = tbe.map_or(0, |tbe| self.tbes[tbe].rvm);
        let mut mine = 0;
        if let Some(at) = self.find(msg.line) {
            let frame = &mut self.lines[at].frame;
            mine = frame.owned_by(msg.device()) & msg.mask;
            frame.data.merge(mine, &msg.data);
            frame.owned &= !mine;
        }
        let cross = msg.mask & !mine | mine & rvm;
        if cross != 0 {
            self.cover.mark(Mark::CrossedWriteBack);
        }
        let to = Node::Dev(msg.device());
        let rsp = GpuMsg::new(Node::Bank(self.id), to, GpuOp::RspWb { cross }, msg.line, msg.mask, msg.tag);
        self.out.push(Packet::Gpu(rsp));
        tbe.into_iter().for_each(|tbe| self.finish(tbe));
        self.replay_all();
    }
    /// A message of RSP_g.
    pub fn rsp(&mut self, msg: &GpuMsg) {
        let (tbe, at) = (self.tbe_of(msg.line), self.find(msg.line));
        let (GpuOp::RspRvkO { nodata, .. }, Some(tbe), Some(at)) = (msg.op, tbe, at) else {
            return self.fault(format!("unexpected {msg:?}"));
        };
        let expected = self.tbes[tbe].rv & msg.mask == msg.mask;
        self.tbes[tbe].rv &= !msg.mask;
        let frame = &mut self.lines[at].frame;
        let owner = frame.owned_by(msg.device()) & msg.mask == msg.mask;
        if !nodata {
            frame.data.merge(msg.mask, &msg.data);
            frame.owned &= !msg.mask;
        }
        if !expected || !(owner || nodata) {
            self.fault(format!("unexpected {msg:?}"));
        }
        self.finish(tbe);
        self.replay_all();
    }
    /// Goes on where no word is waited for any more.
    fn finish(&mut self, number: usize) {
        let tbe = &self.tbes[number];
        let Some(at) = self.find(tbe.line) else { return };
        if tbe.rv != 0 || tbe.rvm & self.lines[at].frame.owned != 0 {
            return;
        }
        match tbe.kind.clone() {
            Kind::Fill(_) => {}
            Kind::Evict if self.lines[at].entry.open() => {}
            Kind::Evict => self.put(at),
            Kind::Phase1(msg) => {
                self.close(number);
                self.commit(at, &msg);
            }
            Kind::Forward(msg) => {
                self.close(number);
                self.answer(at, &msg);
            }
        }
    }
    /// Unblocks a line.
    fn close(&mut self, tbe: usize) {
        let tbe = self.tbes.remove(tbe);
        self.replay.extend(tbe.list);
    }
    fn remove(&mut self, at: usize) {
        self.lines.remove(at);
    }

    /// A broken invariant: words are owned in M only, by those who can.
    pub fn check(&self) -> Option<String> {
        self.lines.iter().find_map(|line| {
            let (frame, state) = (&line.frame, line.entry.state);
            let capable =
                |dev: u32| dev < u32::from(self.p.bank.devices) && self.p.bank.o_capable >> dev & 1 == 1;
            let bad = words(frame.owned).any(|word| !capable(frame.data.0[word]));
            let lost = frame.owned != 0 && state != State::M;
            (bad || lost).then(|| format!("L2 {}: owned words in {line:?}", self.id))
        })
    }
    /// Words owned by a device, and the data of a line, for the checks of a system at rest.
    pub fn owned(&self, line: u32, dev: u8) -> Mask {
        self.line(line).map_or(0, |line| line.frame.owned_by(dev))
    }
    /// Puts back what has no meaning, so that equal states are equal.
    fn tidy(&mut self) {
        for line in &mut self.lines {
            match line.entry.state {
                State::Is | State::Isi | State::Ii => line.frame.data = Data::default(),
                State::Im if !line.entry.got => line.frame.data = Data::default(),
                _ => {}
            }
            line.frame.dirty &= line.entry.state == State::Mi;
        }
    }
}

/// What a request needs of the line: ReqV a copy, all others M.
fn wants(op: &GpuOp) -> Event {
    if matches!(op, GpuOp::ReqV { .. }) { Event::Load } else { Event::Store }
}
