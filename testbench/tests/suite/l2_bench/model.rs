//! What a bank must do with each operation, in the order in which its pipeline accepts them: the golden line models with data.

use super::gpu::{Gpu, Passed};
use super::request::{ATOM, DOWN, RD, Request, WR};
use std::collections::{BTreeMap, VecDeque};
use weft_testbench::golden::dir_table::DirOp;
use weft_testbench::golden::l2::hier_table::{GpuEvent, GpuState};
use weft_testbench::golden::l2::table::{HomeDo, HomeEvent, HomeState, ReqDo, ReqEvent, ReqState};
use weft_testbench::golden::l2::{HomeLine, ReqLine};

/// Who asks: an L1 with its transaction, or a node with its transaction and whether it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asker {
    Local(u64, u64),
    Node(u64, u64, u64),
}

impl Asker {
    /// The node, if it is another one.
    pub fn node(self) -> Option<u64> {
        match self {
            Asker::Local(..) => None,
            Asker::Node(node, ..) => Some(node),
        }
    }
}

/// What a response must say.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The whole line; whether DRAM had to be asked.
    Line(Vec<u8>, bool),
    /// The line as it came in answer to the read of this number, after these atomics.
    FromHome(usize, Vec<ByAtomic>),
    /// A store was accepted.
    Accepted,
    /// The word before; directory operation that must have been answered; whether DRAM had to be asked.
    Old(Vec<u8>, usize, bool),
    /// The word as it came in answer to the read of this number, after these atomics; directory operation.
    OldReplayed(usize, Vec<ByAtomic>, usize),
    /// The word as the home sends it: once it has, these bytes.
    OldFromHome(Option<Vec<u8>>),
    /// A remote write is done; directory operation that must have been answered.
    Written(usize),
}

/// An atomic that was performed before, in a replay list.
#[derive(Clone, Debug)]
pub struct ByAtomic(pub Request);

impl PartialEq for ByAtomic {
    fn eq(&self, other: &ByAtomic) -> bool {
        (self.0.line, &self.0.mask, &self.0.data) == (other.0.line, &other.0.mask, &other.0.data)
    }
}

/// A line after the atomics of a list.
pub fn replayed(data: &[u8], before: &[ByAtomic]) -> Vec<u8> {
    let mut line = data.to_vec();
    for ByAtomic(atomic) in before {
        atomic.perform(&mut line);
    }
    line
}

/// A message expected on `req_out`.
#[derive(Clone, Debug)]
pub struct Sent {
    pub request: Request,
    pub epoch: u64,
    pub from: Asker,
}

/// A message expected on `mem_req`.
#[derive(Clone, Debug, PartialEq)]
pub enum Memory {
    Fetch(u64),
    Write(u64, Vec<u8>),
}

struct Home {
    line: HomeLine,
    data: Vec<u8>,
}

pub(super) struct Away {
    pub(super) line: ReqLine,
    pub(super) copy: Vec<u8>,
    /// RdReqs sent.
    reads: usize,
    keeps: bool,
    pub(super) dirty: Dirty,
}

/// Which bytes of a copy are dirty (write-back), and how often they have been written on.
#[derive(Default)]
pub struct Dirty {
    pub mask: Vec<bool>,
    pub gone: u64,
}

impl Dirty {
    /// A store's effect.
    pub fn store(&mut self, request: &Request, mark: bool, join: bool, unmark: bool) {
        if mark {
            self.mask = request.mask.clone();
        } else if join || unmark {
            let bytes = self.mask.iter_mut().zip(&request.mask);
            bytes.filter(|(_, of)| **of).for_each(|(bit, _)| *bit = join);
        }
    }
}

/// The golden bank.
pub struct Model {
    home: BTreeMap<u64, Home>,
    pub(super) away: BTreeMap<u64, Away>,
    pub(super) gpu: BTreeMap<u64, Gpu>,
    scoped: bool,
    directory: bool,
    /// Stores stay here if they may.
    pub(super) holds: bool,
    pub sent: VecDeque<Sent>,
    /// Expected on `far_out`: by line all of them, and the order of those that are no results of atomics that had waited.
    pub passed: BTreeMap<u64, VecDeque<Passed>>,
    pub passed_order: VecDeque<usize>,
    pub passed_count: usize,
    pub memory: VecDeque<Memory>,
    /// Directory operations in order: operation, source, line.
    pub directory_ops: VecDeque<(DirOp, u64, u64, usize)>,
    pub next_op: usize,
    fetches: BTreeMap<u64, u64>,
    own: u64,
}

impl Model {
    pub fn new(own: u64, scoped: bool, directory: bool, holds: bool) -> Model {
        Model {
            home: BTreeMap::new(),
            away: BTreeMap::new(),
            gpu: BTreeMap::new(),
            scoped,
            directory,
            holds,
            sent: VecDeque::new(),
            passed: BTreeMap::new(),
            passed_order: VecDeque::new(),
            passed_count: 0,
            memory: VecDeque::new(),
            directory_ops: VecDeque::new(),
            next_op: 0,
            fetches: BTreeMap::new(),
            own,
        }
    }

    pub fn add_home(&mut self, line: u64, data: Vec<u8>) {
        self.home.insert(line, Home { line: HomeLine::default(), data });
    }

    /// A line served by another node; `keeps`: this bank may hold copies of it.
    pub fn add_away(&mut self, line: u64, bytes: usize, keeps: bool) {
        self.away.insert(
            line,
            Away { line: ReqLine::default(), copy: vec![0; bytes], reads: 0, keeps, dirty: Dirty::default() },
        );
    }

    pub fn home_data(&self, line: u64) -> &[u8] {
        &self.home[&line].data
    }

    pub fn dirty_lines(&self) -> Vec<u64> {
        self.home.iter().filter(|(_, h)| h.line.state() == HomeState::D).map(|(l, _)| *l).collect()
    }

    /// Fetches of a line so far.
    pub fn fetches(&self, line: u64) -> u64 {
        self.fetches.get(&line).copied().unwrap_or(0)
    }

    pub(super) fn start_op(&mut self, op: Option<DirOp>, from: Asker, line: u64, writes: bool) -> usize {
        let number = self.next_op;
        if let Some(op) = op
            && self.directory
        {
            self.directory_ops.push_back((op, from.node().unwrap_or(self.own), line, number));
            self.next_op += 1;
        } else if writes {
            self.next_op += 1;
        }
        number
    }

    /// A request for a home line is accepted; its answer. Panics when the bank should have held it back.
    pub fn home_request(&mut self, from: Asker, request: &Request) -> Answer {
        let remote = from.node().is_some();
        let event = home_event(remote, request);
        let home = self.home.get_mut(&request.line).expect("a home line");
        let step = home.line.step(event).expect("a legal pair");
        assert!(!step.waits, "line {:x}: {event:?} accepted into a full replay list", request.line);
        let does = |what: HomeDo| step.done.iter().any(|(_, d)| *d == what);
        let slow = does(HomeDo::Fetch) || does(HomeDo::Append);
        if does(HomeDo::Fetch) {
            self.memory.push_back(Memory::Fetch(request.line));
            *self.fetches.entry(request.line).or_default() += 1;
        }
        let old = if request.kind == RD { Vec::new() } else { request.perform(&mut home.data) };
        let data = home.data.clone();
        let op = event.dir_op(request.cacheable);
        let number = self.start_op(op, from, request.line, request.kind != RD);
        match (remote, request.kind) {
            (_, RD) => Answer::Line(data, slow),
            (false, WR) => Answer::Accepted,
            (true, WR) => Answer::Written(number),
            _ => Answer::Old(old, number, slow),
        }
    }

    /// What a request of an L1 is to a line that another node serves.
    pub(super) fn away_event(&self, request: &Request) -> ReqEvent {
        match (request.kind, request.full()) {
            (RD, _) if self.scoped && request.scope > 0 => ReqEvent::LoadForced,
            (RD, _) => ReqEvent::Load,
            (WR, true) if self.holds && request.scope == 0 => ReqEvent::StoreFullHeld,
            (WR, false) if self.holds && request.scope == 0 => ReqEvent::StorePartialHeld,
            (WR, true) => ReqEvent::StoreFull,
            (WR, false) => ReqEvent::StorePartial,
            _ => ReqEvent::Atomic,
        }
    }

    /// A request of an L1 for a line that another node serves is accepted; its answer, and whether a write or atomic is sent.
    pub fn away_request(&mut self, from: Asker, request: &Request, epoch: u64) -> (Answer, bool) {
        let event = self.away_event(request);
        let away = self.away.get_mut(&request.line).expect("an away line");
        let step = away.line.step(event).expect("a legal pair");
        assert!(!step.waits, "line {:x}: {event:?} accepted in {:?}", request.line, step.row.state);
        let writes = step.does(ReqDo::SendWrReq) || step.does(ReqDo::SendAtomReq);
        if step.does(ReqDo::SendRdReq) || writes {
            self.sent.push_back(Sent { request: request.clone(), epoch, from });
        }
        away.reads += usize::from(step.does(ReqDo::SendRdReq));
        if step.does(ReqDo::Update) || step.does(ReqDo::Install) || step.does(ReqDo::Allocate) {
            request.perform(&mut away.copy);
        }
        let does = [ReqDo::Mark, ReqDo::Join, ReqDo::Unmark].map(|what| step.does(what));
        away.dirty.store(request, does[0], does[1], does[2]);
        // Every byte of the line goes on.
        away.dirty.gone += u64::from(writes && request.full());
        if !away.keeps && away.line.state() == ReqState::V {
            away.line = ReqLine::default();
        }
        let answer = match request.kind {
            RD if step.does(ReqDo::AnswerHit) => Answer::Line(away.copy.clone(), false),
            RD => Answer::FromHome(away.reads - 1, Vec::new()),
            WR => Answer::Accepted,
            _ => Answer::OldFromHome(None),
        };
        (answer, writes)
    }

    /// The directory is told, or asked by this bank, of a group without copies; number of the operation.
    pub fn downgrade(&mut self, from: Asker, line: u64) -> usize {
        self.start_op(Some(DirOp::Downgrade), from, line, false)
    }

    /// None of these lines is valid or awaited.
    pub fn assert_none_of(&self, lines: Vec<u64>) {
        for line in lines {
            let away = self.away.get(&line).map(|away| away.line.state());
            let gpu = self.gpu.get(&line).map(|gpu| gpu.line.state());
            let none = away.is_none_or(|s| s == ReqState::I) && gpu.is_none_or(|s| s == GpuState::I);
            assert!(none, "line {line:x} is {away:?}, at its GPU home {gpu:?}, and its group is given up");
        }
    }

    /// A Down is to leave; `far`: to the system home in another GPU.
    pub fn send_down(&mut self, line: u64, bytes: usize, far: bool) {
        let (request, from) = (Request::down(line, bytes), Asker::Local(0, 0));
        if far {
            self.pass(DOWN, super::gpu::Content::AsAsked, &request, 0, from);
        } else {
            self.sent.push_back(Sent { request, epoch: 0, from });
        }
    }

    /// An invalidation is applied.
    pub fn invalidate(&mut self, line: u64) {
        if let Some(away) = self.away.get_mut(&line) {
            away.line.step(ReqEvent::Inv).expect("legal in every state");
        }
        if let Some(gpu) = self.gpu.get_mut(&line) {
            gpu.line.step(GpuEvent::Inv).expect("legal in every state");
        }
    }

    /// Software coherence drops these lines, or `all`: then others lose their copy, but not the one on its
    /// way.
    pub fn forget(&mut self, named: impl Fn(u64) -> bool, all: bool) {
        if all {
            self.home.values_mut().for_each(|home| home.line.forget());
            let away = self.away.values_mut().filter(|away| !away.line.pending());
            away.for_each(|away| away.line.forget());
            let gpu = self.gpu.values_mut().filter(|gpu| !gpu.line.pending());
            gpu.for_each(|gpu| gpu.line.forget());
        }
        self.away.iter_mut().filter(|(line, _)| named(**line)).for_each(|(_, away)| away.line.forget());
        self.gpu.iter_mut().filter(|(line, _)| named(**line)).for_each(|(_, gpu)| gpu.line.forget());
    }

    /// A fill ends; `data` is what the home sent for a line served elsewhere.
    pub fn fill(&mut self, line: u64, data: Option<&[u8]>) {
        if let Some(home) = self.home.get_mut(&line) {
            home.line.step(HomeEvent::Fill).expect("a fetched line");
            return;
        }
        let data = data.expect("a RdRsp was delivered");
        let Some(away) = self.away.get_mut(&line) else {
            return self.gpu_fill(line, data);
        };
        let step = away.line.step(ReqEvent::RdRsp).expect("a waiting line");
        if step.does(ReqDo::Install) {
            away.copy = data.to_vec();
        }
        if !away.keeps {
            away.line = ReqLine::default();
        }
    }

    /// Compares with the bank's tags after an operation; `installs` allows one victim, `flushes` one write-back in place.
    pub fn compare(&mut self, tags: &BTreeMap<u64, u64>, installs: bool, flushes: bool) {
        let mut changes = 0;
        for (line, home) in &mut self.home {
            let real = tags.get(line).copied().unwrap_or(0);
            match (home.line.state(), real) {
                (HomeState::I | HomeState::F, 0) | (HomeState::V, 1) | (HomeState::D, 2) => {}
                (HomeState::V | HomeState::D, 0) if installs => {
                    if home.line.state() == HomeState::D {
                        self.memory.push_back(Memory::Write(*line, home.data.clone()));
                    }
                    home.line.step(HomeEvent::Victim).expect("a victim");
                    changes += 1;
                }
                (HomeState::D, 1) if flushes => {
                    self.memory.push_back(Memory::Write(*line, home.data.clone()));
                    home.line = HomeLine::default();
                    home.line.step(HomeEvent::Load).expect("I to F");
                    home.line.step(HomeEvent::Fill).expect("F to V");
                    changes += 1;
                }
                (state, real) => panic!("home line {line:x} is {real} in the bank, {state:?} in the model"),
            }
        }
        for (line, away) in &mut self.away {
            let real = tags.get(line).copied().unwrap_or(0);
            match (away.line.state(), real) {
                (ReqState::V, 1) | (ReqState::I | ReqState::P | ReqState::PX, 0) => {}
                (ReqState::D, 2) | (ReqState::W, 3) => {}
                (ReqState::V, 0) if installs => {
                    away.line.step(ReqEvent::Victim).expect("a victim");
                    changes += 1;
                }
                (state, real) => panic!("away line {line:x} is {real} in the bank, {state:?} in the model"),
            }
        }
        changes += self.gpu_compare(tags, installs);
        assert!(changes <= 1, "one operation displaced {changes} lines");
        let known = |line: &u64| {
            self.home.contains_key(line) || self.away.contains_key(line) || self.gpu.contains_key(line)
        };
        assert!(tags.keys().all(known), "the bank holds a line nobody asked for");
    }

    /// Nothing is under way.
    pub fn assert_idle(&self) {
        assert!(self.sent.is_empty() && self.memory.is_empty() && self.directory_ops.is_empty());
        assert!(self.passed.values().all(VecDeque::is_empty), "not passed on: {:?}", self.passed);
        assert!(self.home.values().all(|h| h.line.state() != HomeState::F), "a fetch never ended");
        assert!(self.away.values().all(|a| !a.line.pending()), "a read never ended");
        assert!(!self.gpu.values().any(|g| g.line.pending()), "a read of a GPU home never ended");
    }
}

/// What a request is to its home.
pub fn home_event(remote: bool, request: &Request) -> HomeEvent {
    use HomeEvent::*;
    match (remote, request.kind, request.full()) {
        (false, RD, _) => Load,
        (false, WR, true) => StoreFull,
        (false, WR, false) => StorePartial,
        (false, ATOM, _) => Atomic,
        (true, RD, _) => RdReq,
        (true, WR, true) => WrReqFull,
        (true, WR, false) => WrReqPartial,
        (true, ATOM, _) => AtomReq,
        (_, kind, _) => panic!("no request of kind {kind}"),
    }
}
