//! What a bank must do with each operation, in the order in which its pipeline accepts them: the golden line models with data.

use std::collections::{BTreeMap, VecDeque};
use weft_testbench::golden::dir_table::DirOp;
use weft_testbench::golden::l2::{HomeLine, ReqLine};
use weft_testbench::golden::l2_table::{HomeDo, HomeEvent, HomeState, ReqDo, ReqEvent, ReqState};

pub const RD: u64 = 0;
pub const WR: u64 = 1;
pub const ATOM: u64 = 2;

/// A request as sent.
#[derive(Clone, Debug)]
pub struct Request {
    pub kind: u64,
    pub line: u64,
    pub mask: Vec<bool>,
    pub data: Vec<u8>,
    pub amo: u64,
    pub signed: bool,
    pub compare: u64,
    pub cacheable: bool,
    pub epoch: u64,
}

impl Request {
    fn full(&self) -> bool {
        self.mask.iter().all(|m| *m)
    }

    /// Byte offset and size of an atomic's word.
    pub fn word(&self) -> (usize, usize) {
        let first = self.mask.iter().position(|m| *m).expect("a word");
        (first, self.mask.iter().filter(|m| **m).count())
    }

    /// Performs a store or atomic; returns the bytes of an atomic's word before.
    pub fn perform(&self, line: &mut [u8]) -> Vec<u8> {
        if self.kind == WR {
            for (i, on) in self.mask.iter().enumerate() {
                if *on {
                    line[i] = self.data[i];
                }
            }
            return Vec::new();
        }
        let (at, size) = self.word();
        let bits = 8 * size as u32;
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b));
        let cut = |n: u64| if bits == 64 { n } else { n & 0xffff_ffff };
        let old_bytes = line[at..at + size].to_vec();
        let (old, operand) = (number(&old_bytes), number(&self.data[at..at + size]));
        let signed = |n: u64| if bits == 64 { n as i64 } else { i64::from(n as u32 as i32) };
        let less = if self.signed { signed(old) < signed(operand) } else { old < operand };
        let new = match self.amo {
            0 => old.wrapping_add(operand),
            1 => old.wrapping_sub(operand),
            2 => {
                if old >= operand {
                    0
                } else {
                    old + 1
                }
            }
            3 => {
                if old == 0 || old > operand {
                    operand
                } else {
                    old - 1
                }
            }
            4 => old & operand,
            5 => old | operand,
            6 => old ^ operand,
            7 => {
                if less {
                    old
                } else {
                    operand
                }
            }
            8 => {
                if less {
                    operand
                } else {
                    old
                }
            }
            9 => operand,
            10 => {
                if old == cut(self.compare) {
                    operand
                } else {
                    old
                }
            }
            other => panic!("no atomic {other}"),
        };
        line[at..at + size].copy_from_slice(&cut(new).to_le_bytes()[..size]);
        old_bytes
    }
}

/// What a response must say.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The whole line; whether DRAM had to be asked.
    Line(Vec<u8>, bool),
    /// The line as the home sends it in its answer to the read of this number.
    FromHome(usize),
    /// A store was accepted.
    Accepted,
    /// The word before; directory operation that must have been answered; whether DRAM had to be asked.
    Old(Vec<u8>, usize, bool),
    /// The word as the home sends it: once it has, these bytes.
    OldFromHome(Option<Vec<u8>>),
    /// A remote write is done; directory operation that must have been answered.
    Written(usize),
}

/// A message expected on `req_out`.
#[derive(Clone, Debug)]
pub struct Sent {
    pub request: Request,
    pub epoch: u64,
    /// L1 and its transaction, for atomics.
    pub from: (u64, u64),
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

struct Away {
    line: ReqLine,
    copy: Vec<u8>,
    /// RdReqs sent.
    reads: usize,
}

/// The golden bank.
pub struct Model {
    home: BTreeMap<u64, Home>,
    away: BTreeMap<u64, Away>,
    keeps_remote: bool,
    directory: bool,
    pub sent: VecDeque<Sent>,
    pub memory: VecDeque<Memory>,
    /// Directory operations in order: operation, source, line.
    pub directory_ops: VecDeque<(DirOp, u64, u64, usize)>,
    pub next_op: usize,
    fetches: BTreeMap<u64, u64>,
    own: u64,
}

impl Model {
    pub fn new(own: u64, keeps_remote: bool, directory: bool) -> Model {
        Model {
            home: BTreeMap::new(),
            away: BTreeMap::new(),
            keeps_remote,
            directory,
            sent: VecDeque::new(),
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

    pub fn add_away(&mut self, line: u64, bytes: usize) {
        self.away.insert(line, Away { line: ReqLine::default(), copy: vec![0; bytes], reads: 0 });
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

    fn start_op(&mut self, op: Option<DirOp>, source: u64, line: u64, writes: bool) -> usize {
        let number = self.next_op;
        if let Some(op) = op
            && self.directory
        {
            self.directory_ops.push_back((op, source, line, number));
            self.next_op += 1;
        } else if writes {
            self.next_op += 1;
        }
        number
    }

    /// A request for a home line is accepted; its answer. Panics when the bank should have held it back.
    pub fn home_request(&mut self, remote: Option<u64>, request: &Request) -> Answer {
        use HomeEvent::*;
        let event = match (remote.is_some(), request.kind, request.full()) {
            (false, RD, _) => Load,
            (false, WR, true) => StoreFull,
            (false, WR, false) => StorePartial,
            (false, _, _) => Atomic,
            (true, RD, _) => RdReq,
            (true, WR, true) => WrReqFull,
            (true, WR, false) => WrReqPartial,
            (true, _, _) => AtomReq,
        };
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
        let number = self.start_op(op, remote.unwrap_or(self.own), request.line, request.kind != RD);
        match (remote.is_some(), request.kind) {
            (_, RD) => Answer::Line(data, slow),
            (false, WR) => Answer::Accepted,
            (true, WR) => Answer::Written(number),
            _ => Answer::Old(old, number, slow),
        }
    }

    /// A request of an L1 for a line of another home is accepted; its answer.
    pub fn away_request(&mut self, from: (u64, u64), request: &Request, epoch: u64) -> Answer {
        let event = match (request.kind, request.full()) {
            (RD, _) => ReqEvent::Load,
            (WR, true) => ReqEvent::StoreFull,
            (WR, false) => ReqEvent::StorePartial,
            _ => ReqEvent::Atomic,
        };
        let keeps = self.keeps_remote;
        let away = self.away.get_mut(&request.line).expect("an away line");
        let step = away.line.step(event).expect("a legal pair");
        assert!(!step.waits, "line {:x}: {event:?} accepted in {:?}", request.line, step.row.state);
        if step.does(ReqDo::SendRdReq) || step.does(ReqDo::SendWrReq) || step.does(ReqDo::SendAtomReq) {
            self.sent.push_back(Sent { request: request.clone(), epoch, from });
        }
        away.reads += usize::from(step.does(ReqDo::SendRdReq));
        if step.does(ReqDo::Update) || step.does(ReqDo::Install) {
            request.perform(&mut away.copy);
        }
        if !keeps && away.line.state() == ReqState::V {
            away.line = ReqLine::default();
        }
        match request.kind {
            RD if step.does(ReqDo::AnswerHit) => Answer::Line(away.copy.clone(), false),
            RD => Answer::FromHome(away.reads - 1),
            WR => Answer::Accepted,
            _ => Answer::OldFromHome(None),
        }
    }

    /// An invalidation is applied.
    pub fn invalidate(&mut self, line: u64) {
        if let Some(away) = self.away.get_mut(&line) {
            away.line.step(ReqEvent::Inv).expect("legal in every state");
        }
    }

    /// A fill ends; `data` is what the home sent for an away line.
    pub fn fill(&mut self, line: u64, data: Option<&Vec<u8>>) {
        if let Some(home) = self.home.get_mut(&line) {
            home.line.step(HomeEvent::Fill).expect("a fetched line");
            return;
        }
        let away = self.away.get_mut(&line).expect("a line of the test");
        let step = away.line.step(ReqEvent::RdRsp).expect("a waiting line");
        if step.does(ReqDo::Install) {
            away.copy.clone_from(data.expect("a RdRsp was delivered"));
        }
        if !self.keeps_remote {
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
                (ReqState::V, 0) if installs => {
                    away.line.step(ReqEvent::Victim).expect("a victim");
                    changes += 1;
                }
                (state, real) => panic!("away line {line:x} is {real} in the bank, {state:?} in the model"),
            }
        }
        assert!(changes <= 1, "one operation displaced {changes} lines");
        let known = |line: &u64| self.home.contains_key(line) || self.away.contains_key(line);
        assert!(tags.keys().all(known), "the bank holds a line nobody asked for");
    }

    /// Nothing is under way.
    pub fn assert_idle(&self) {
        assert!(self.sent.is_empty() && self.memory.is_empty() && self.directory_ops.is_empty());
        assert!(self.home.values().all(|h| h.line.state() != HomeState::F), "a fetch never ended");
        assert!(self.away.values().all(|a| !a.line.pending()), "a read never ended");
    }
}
