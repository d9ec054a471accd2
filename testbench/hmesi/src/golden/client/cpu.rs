//! A CPU L1 of spandex.md section 9, one access or message at a time. MSHRs and write-back buffers are states of lines.
//!
//! Decisions where the page is silent: loads that come after an Inv do not join ISI; stores wait in the entry of their line, so that a release waits for M; an access to a
//! line in MI or II waits for WBAck. A store buffer before the L1 is not modelled.

use super::super::cover::Cover;
use super::super::msg::Msg;
use super::super::slip::Slip;
use super::table::{Act, Event, State};
use super::{Entry, Place};
use std::rc::Rc;
use weft_spandex_bench::golden::device::respond::perform;
use weft_spandex_bench::golden::device::{Pend, Took, Work};
use weft_spandex_bench::golden::msg::{Amo, Data, Mask, words};

/// Parameters of a CPU L1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CpuParams {
    /// Words of a line.
    pub words: u8,
    /// L3 banks.
    pub banks: u8,
    /// `N_MSHR`: open requests.
    pub mshrs: usize,
    /// `N_WBB`: open write-backs.
    pub wbs: usize,
    /// A rule left out.
    pub slip: Option<Slip>,
}

/// A line.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Line {
    /// Line number.
    pub line: u32,
    /// State.
    pub entry: Entry,
    /// In MI: newer than the L3.
    pub dirty: bool,
    /// Its data, in S, E, M, SM, MI, and in IM once it has come.
    pub data: Data,
    /// Operations that wait for it.
    pub ops: Vec<Pend>,
}

/// A CPU L1.
#[derive(Clone, Debug)]
pub struct Cpu {
    p: Rc<CpuParams>,
    place: Place,
    /// Lines that are not absent, ascending.
    pub lines: Vec<Line>,
    out: Vec<Msg>,
    replies: Vec<(u8, Data)>,
    faults: Vec<String>,
    /// Reached since it was last taken.
    pub cover: Cover,
}

impl std::hash::Hash for Cpu {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.lines.hash(state);
    }
}

impl Cpu {
    /// After reset.
    pub fn new(client: u8, p: Rc<CpuParams>) -> Cpu {
        let place = Place { client, banks: p.banks };
        let (lines, out, replies, faults) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Cpu { p, place, lines, out, replies, faults, cover: Cover::default() }
    }
    /// Nothing is under way.
    pub fn idle(&self) -> bool {
        !self.lines.iter().any(|line| line.entry.open())
    }
    /// What it has sent since.
    pub fn take_out(&mut self) -> Vec<Msg> {
        std::mem::take(&mut self.out)
    }
    /// Replies since: {ticket, words}.
    pub fn take_replies(&mut self) -> Vec<(u8, Data)> {
        std::mem::take(&mut self.replies)
    }
    /// Broken rules since.
    pub fn take_faults(&mut self) -> Vec<String> {
        std::mem::take(&mut self.faults)
    }
    fn full(&self) -> Mask {
        ((1u32 << self.p.words) - 1) as Mask
    }
    /// A line that is not absent.
    pub fn line(&self, line: u32) -> Option<&Line> {
        self.lines.iter().find(|entry| entry.line == line)
    }
    /// State of a line.
    pub fn state(&self, line: u32) -> State {
        self.line(line).map_or(State::I, |line| line.entry.state)
    }
    /// A line's place; it is made if there is none.
    fn at(&mut self, line: u32) -> usize {
        let at = self.lines.partition_point(|entry| entry.line < line);
        if self.lines.get(at).is_none_or(|entry| entry.line != line) {
            let (entry, data) = (Entry::default(), Data::default());
            self.lines.insert(at, Line { line, entry, dirty: false, data, ops: Vec::new() });
        }
        at
    }
    /// No store is under way: a release is complete.
    pub fn drained(&self) -> bool {
        !self.lines.iter().any(|line| line.ops.iter().any(|op| op.ticket.is_none()))
    }
    /// An atomic whose result is not wanted is under way: the next atomic waits for it.
    pub fn updating(&self) -> bool {
        let posted = |op: &Pend| op.ticket.is_none() && op.work != Work::Store;
        self.lines.iter().any(|line| line.ops.iter().any(posted))
    }
    fn asking(&self) -> usize {
        self.lines.iter().filter(|line| line.entry.open() && !putting(line.entry.state)).count()
    }

    /// A load of some words of a line.
    pub fn load(&mut self, ticket: u8, line: u32, mask: Mask) -> Took {
        let op = Pend { ticket: Some(ticket), work: Work::Load, left: mask, data: Data::default() };
        self.access(Event::Load, line, op)
    }
    /// A store, posted.
    pub fn store(&mut self, line: u32, mask: Mask, data: &Data) -> Took {
        self.access(
            Event::Store,
            line,
            Pend { ticket: None, work: Work::Store, left: mask, data: data.only(mask) },
        )
    }
    /// An atomic; the reply is the old value of its words. Without a ticket it is posted: there is none.
    pub fn atomic(&mut self, ticket: Option<u8>, line: u32, mask: Mask, amo: &Amo, data: &Data) -> Took {
        self.access(
            Event::Store,
            line,
            Pend { ticket, work: Work::Amo(*amo), left: mask, data: data.only(mask) },
        )
    }
    fn access(&mut self, event: Event, line: u32, op: Pend) -> Took {
        let state = self.state(line);
        let slip = self.p.slip;
        let (acts, next) = Entry { state, ..Entry::default() }.cell(event, slip);
        let gets = acts == [Act::GetS] || acts == [Act::GetM];
        if acts == [Act::Wait] || gets && self.asking() >= self.p.mshrs {
            self.reach(event, state);
            return Took::Wait;
        }
        self.reach(event, state);
        let at = self.at(line);
        self.lines[at].entry.state = next;
        let written = self.lines[at].ops.iter().filter(|op| op.work != Work::Load);
        let waits = written.fold(0, |mask, op| mask | op.left) & op.left != 0;
        if acts == [Act::Hit] && !waits {
            return self.hit(at, op);
        }
        let posted = op.ticket.is_none();
        self.lines[at].ops.push(op);
        self.send(at, acts, false, None);
        if posted { Took::Done(Data::default()) } else { Took::Pending }
    }
    fn hit(&mut self, at: usize, op: Pend) -> Took {
        let (mask, full) = (op.left, self.full());
        let mut replies = Vec::new();
        let ticket = op.ticket.or(Some(0));
        perform(&mut vec![Pend { ticket, ..op }], full, &mut self.lines[at].data, &mut replies);
        Took::Done(replies.first().map_or_else(Data::default, |reply| reply.1.only(mask)))
    }

    /// Lines that a replacement may take.
    pub fn evictable(&self) -> Vec<u32> {
        self.lines.iter().filter(|line| !line.entry.open()).map(|line| line.line).collect()
    }
    /// Replaces a line; false if it must wait.
    pub fn evict(&mut self, line: u32) -> bool {
        let putting = self.lines.iter().filter(|line| putting(line.entry.state)).count();
        let state = self.state(line);
        let (acts, next) = Entry { state, ..Entry::default() }.cell(Event::Replace, self.p.slip);
        if acts == [Act::Wait] || next == State::Mi && putting >= self.p.wbs {
            return false;
        }
        self.reach(Event::Replace, state);
        let at = self.at(line);
        self.lines[at].dirty = state == State::M;
        self.lines[at].entry.state = next;
        self.send(at, acts, state == State::M, None);
        self.tidy();
        true
    }

    /// A message of FWD; false if it must wait, which it need not unless a rule is left out.
    pub fn fwd(&mut self, msg: &Msg) -> bool {
        let at = self.at(msg.line);
        let event = self.lines[at].entry.receive(&msg.op, self.p.slip);
        if self.lines[at].entry.holds_up(event, self.p.slip) {
            return false;
        }
        self.event(at, event, msg);
        true
    }
    /// A message of RSP.
    pub fn rsp(&mut self, msg: &Msg) {
        let at = self.at(msg.line);
        let event = self.lines[at].entry.receive(&msg.op, self.p.slip);
        let keeps = self.p.slip == Some(Slip::SmKeeps) && self.lines[at].entry.state == State::Sm;
        if msg.op.has_data() && !keeps {
            self.lines[at].data = msg.data;
        }
        self.event(at, event, msg);
    }
    fn event(&mut self, at: usize, event: Event, msg: &Msg) {
        let state = self.lines[at].entry.state;
        let (acts, next) = self.lines[at].entry.cell(event, self.p.slip);
        if acts == [Act::Never] {
            self.faults.push(format!("CPU {}: {msg:?} in {state:?}", self.place.client));
        }
        self.reach(event, state);
        self.lines[at].entry.state = next;
        let dirty = self.lines[at].dirty || state == State::M;
        self.send(at, acts, dirty, Some(msg));
        if acts.iter().any(|act| matches!(act, Act::Fill | Act::UseOnce)) {
            let (full, line) = (self.full(), &mut self.lines[at]);
            let mut ops = std::mem::take(&mut line.ops);
            perform(&mut ops, full, &mut line.data, &mut self.replies);
        }
        self.tidy();
    }
    fn send(&mut self, at: usize, acts: &[Act], dirty: bool, cause: Option<&Msg>) {
        let line = &self.lines[at];
        for act in acts {
            self.out.extend(self.place.message(*act, line.line, &line.data, dirty, cause));
        }
    }
    fn reach(&mut self, event: Event, state: State) {
        self.cover.cpu[event as usize] |= 1 << state as u32;
    }
    /// Forgets data without meaning and absent lines, so that equal states are equal.
    fn tidy(&mut self) {
        let all = self.full();
        for line in &mut self.lines {
            let meant = match line.entry.state {
                State::I | State::Is | State::Isi | State::Ii => false,
                State::Im => line.entry.got,
                _ => true,
            };
            if !meant {
                line.data = Data::default();
            }
            debug_assert!(words(!all).all(|word| line.data.0[word] == 0));
            line.dirty &= line.entry.state == State::Mi;
        }
        self.lines.retain(|line| line.entry.state != State::I);
    }
}

fn putting(state: State) -> bool {
    matches!(state, State::Mi | State::Ii)
}
