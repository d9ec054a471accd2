//! An L3 bank of spandex.md section 9, one message at a time, by its table.
//!
//! Decisions where the page is silent: a Put to an absent line is acknowledged and fetches nothing; busy lines are those with a transaction, fetches and evictions included;
//! the request that fetched a line is served in the step in which it comes, before any other; a miss in a full bank evicts the first line that is not busy, those without upper copies first.

pub mod table;

use super::cover::{Cover, Mark};
use super::msg::{Msg, Node, Op};
use super::slip::Slip;
use std::collections::VecDeque;
use std::rc::Rc;
use table::{Act, Event, State, cell};
use weft_spandex_bench::golden::msg::{Data, Vn};

/// Parameters of the banks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct L3Params {
    /// Lines of a bank.
    pub lines: usize,
    /// Busy lines of a bank.
    pub tbes: usize,
    /// Stalled requests of a bank.
    pub stalls: usize,
    /// A rule left out.
    pub slip: Option<Slip>,
}

/// A line.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Line {
    /// Line number.
    pub line: u32,
    /// State.
    pub state: State,
    /// Clients that may have an S copy, one bit each.
    pub sharers: u64,
    /// Its owner, in MT and until a forward to it is answered.
    pub owner: u8,
    /// Newer than memory.
    pub dirty: bool,
    /// Its data.
    pub data: Data,
    /// The request that made it busy.
    pub request: Option<Msg>,
    /// InvAcks waited for at an eviction.
    pub acks: u64,
    /// Requests that wait.
    pub list: VecDeque<Msg>,
}

/// What a bank sends.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Out {
    /// A message.
    Msg(Msg),
    /// Memory is read.
    Read(u32),
    /// Memory is written.
    Write(u32, Data),
}

/// A bank.
#[derive(Clone, Debug)]
pub struct L3 {
    p: Rc<L3Params>,
    id: u8,
    /// Lines that are not absent, ascending.
    pub lines: Vec<Line>,
    /// Requests that replay.
    pub replay: VecDeque<Msg>,
    out: Vec<Out>,
    faults: Vec<String>,
    /// Reached since it was last taken.
    pub cover: Cover,
}

impl std::hash::Hash for L3 {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.lines, &self.replay).hash(state);
    }
}

impl Line {
    /// Without upper copies.
    pub fn new(line: u32, data: Data) -> Line {
        let list = VecDeque::new();
        Line { line, state: State::C, sharers: 0, owner: 0, dirty: false, data, request: None, acks: 0, list }
    }
    /// A transaction is under way.
    pub fn busy(&self) -> bool {
        !matches!(self.state, State::C | State::Ss | State::Mt)
    }
}

impl L3 {
    /// After reset.
    pub fn new(id: u8, p: Rc<L3Params>) -> L3 {
        let (lines, replay, out) = (Vec::new(), VecDeque::new(), Vec::new());
        L3 { p, id, lines, replay, out, faults: Vec::new(), cover: Cover::default() }
    }
    /// Nothing is under way.
    pub fn idle(&self) -> bool {
        self.replay.is_empty() && !self.lines.iter().any(Line::busy)
    }
    /// What it has sent since.
    pub fn take_out(&mut self) -> Vec<Out> {
        std::mem::take(&mut self.out)
    }
    /// Broken rules since.
    pub fn take_faults(&mut self) -> Vec<String> {
        std::mem::take(&mut self.faults)
    }
    fn slips(&self, slip: Slip) -> bool {
        self.p.slip == Some(slip)
    }
    /// A line that is not absent.
    pub fn line(&self, line: u32) -> Option<&Line> {
        self.lines.iter().find(|entry| entry.line == line)
    }
    fn find(&self, line: u32) -> Option<usize> {
        self.lines.iter().position(|entry| entry.line == line)
    }
    /// Puts a line in its place.
    pub fn insert(&mut self, line: Line) -> usize {
        let at = self.lines.partition_point(|entry| entry.line < line.line);
        self.lines.insert(at, line);
        at
    }
    fn stalled(&self) -> usize {
        self.replay.len() + self.lines.iter().map(|line| line.list.len()).sum::<usize>()
    }
    fn tbe_free(&self) -> bool {
        self.lines.iter().filter(|line| line.busy()).count() < self.p.tbes
    }

    /// GetS or GetM; false if it must wait, and nothing has changed.
    pub fn req(&mut self, msg: &Msg) -> bool {
        if !self.replay.is_empty() {
            return false;
        }
        let took = self.take(*msg, true);
        if took {
            self.replay_all();
        }
        took
    }
    fn take(&mut self, msg: Msg, new: bool) -> bool {
        let event = if msg.op == Op::GetM { Event::GetM } else { Event::GetS };
        let Some(at) = self.find(msg.line) else { return self.miss(event, msg, new) };
        let line = &self.lines[at];
        let (acts, next) = cell(event, line.state);
        if acts == [Act::Stall] {
            if new && self.stalled() >= self.p.stalls {
                return false;
            }
            self.reach(event, self.lines[at].state);
            self.lines[at].list.push_back(msg);
            return true;
        }
        let blocks = !matches!(next, State::C | State::Ss | State::Mt);
        if blocks && !self.tbe_free() {
            return false;
        }
        self.lines[at].request = blocks.then_some(msg);
        self.event(at, event, Some(&msg));
        true
    }
    fn replay_all(&mut self) {
        while let Some(msg) = self.replay.pop_front() {
            if !self.take(msg, false) {
                return self.replay.push_front(msg);
            }
        }
    }
    fn miss(&mut self, event: Event, msg: Msg, new: bool) -> bool {
        if !self.tbe_free() {
            return false;
        }
        if self.lines.len() >= self.p.lines {
            let quiet = self.lines.iter().position(|line| line.state == State::C);
            let Some(victim) = quiet.or_else(|| self.lines.iter().position(|line| !line.busy())) else {
                return false;
            };
            self.cover.mark(Mark::Victim);
            if quiet.is_none() {
                if new && self.stalled() >= self.p.stalls {
                    return false;
                }
                self.lines[victim].list.push_back(msg);
                self.event(victim, Event::Evict, None);
                return true;
            }
            self.event(victim, Event::Evict, None);
        }
        self.reach(event, State::I);
        let line = Line { state: State::Fetch, request: Some(msg), ..Line::new(msg.line, Data::default()) };
        self.insert(line);
        self.out.push(Out::Read(msg.line));
        true
    }

    /// A Put; false if it must wait at the head of WB.
    pub fn wb(&mut self, msg: &Msg) -> bool {
        let Some(at) = self.find(msg.line) else {
            self.reach(Event::PutOther, State::I);
            self.acknowledge(msg);
            return true;
        };
        let line = &self.lines[at];
        let owner = line.state == State::Mt && (line.owner == msg.client() || self.slips(Slip::PutOfAnyone));
        let event = if owner { Event::PutOwner } else { Event::PutOther };
        let state = line.state;
        if cell(event, state).0 == [Act::Stall] {
            self.reach(event, state);
            if !self.slips(Slip::PutDoesNotWait) {
                self.cover.mark(Mark::PutWaits);
                return false;
            }
            self.acknowledge(msg);
            return true;
        }
        self.event(at, event, Some(msg));
        self.replay_all();
        true
    }
    /// A message of RSP.
    pub fn rsp(&mut self, msg: &Msg) {
        let Some(at) = self.find(msg.line) else { return self.unexpected(msg) };
        let line = &mut self.lines[at];
        let bit = 1 << msg.client();
        let requestor = line.request.is_some_and(|request| request.client() == msg.client());
        let (event, expected) = match msg.op {
            Op::InvAck => {
                let expected = line.acks & bit != 0;
                line.acks &= !bit;
                (if line.acks == 0 { Event::LastInvAck } else { Event::InvAck }, expected)
            }
            Op::WbData { .. } => (Event::WbData, line.owner == msg.client()),
            Op::Unblock => (Event::Unblock, requestor),
            _ => (Event::UnblockX, msg.op == Op::UnblockX && requestor),
        };
        if !expected || cell(event, self.lines[at].state).0 == [Act::Never] {
            return self.unexpected(msg);
        }
        self.event(at, event, Some(msg));
        self.replay_all();
    }
    /// Rules left out make some messages late.
    fn unexpected(&mut self, msg: &Msg) {
        let late = match msg.op {
            Op::UnblockX => self.slips(Slip::NoBusyX),
            Op::WbData { .. } => self.slips(Slip::NoWaitForWbData),
            Op::Unblock => self.slips(Slip::NoWaitForUnblock),
            Op::InvAck => self.slips(Slip::EvictWithoutAcks),
            _ => false,
        };
        if let (true, Op::WbData { dirty: true, .. }, Some(at)) = (late, msg.op, self.find(msg.line)) {
            self.lines[at].data = msg.data;
            self.lines[at].dirty = true;
        }
        if !late {
            self.faults.push(format!("L3 {}: unexpected {msg:?}", self.id));
        }
    }
    /// Memory returns a line.
    pub fn memory(&mut self, line: u32, data: &Data) {
        let Some(at) = self.find(line).filter(|at| self.lines[*at].state == State::Fetch) else {
            return self.faults.push(format!("L3 {}: unexpected line {line} from memory", self.id));
        };
        self.lines[at].data = *data;
        let request = self.lines[at].request;
        let list = std::mem::take(&mut self.lines[at].list);
        self.event(at, Event::Memory, None);
        if self.slips(Slip::FetchedLast) {
            self.replay.extend(request);
            self.replay.extend(list);
            return self.replay_all();
        }
        let took = request.is_none_or(|request| self.take(request, false));
        self.replay.extend(list);
        if !took {
            self.faults.push(format!("L3 {}: the line that {request:?} fetched cannot serve it", self.id));
        }
        self.replay_all();
    }
    /// Evicts a line; false if that cannot be now.
    pub fn evict(&mut self, line: u32) -> bool {
        let Some(at) = self.find(line) else { return false };
        if self.lines[at].busy() || self.lines[at].state != State::C && !self.tbe_free() {
            return false;
        }
        self.event(at, Event::Evict, None);
        self.replay_all();
        true
    }

    fn reach(&mut self, event: Event, state: State) {
        self.cover.l3[event as usize] |= 1 << state as u32;
    }
    fn acknowledge(&mut self, put: &Msg) {
        let ack = Msg::new(Node::L3(self.id), Node::Client(put.client()), Op::WbAck, put.line);
        self.out.push(Out::Msg(Msg { tag: put.tag, ..ack }));
    }
    /// The cell of the table, as far as no rule is left out.
    fn cell(&self, event: Event, state: State) -> (Vec<Act>, State) {
        let (acts, next) = cell(event, state);
        let mut acts = acts.to_vec();
        let next = match (self.p.slip, event, state) {
            (Some(Slip::NoBusyX), ..) if next == State::BusyX => {
                acts.push(Act::Own);
                State::Mt
            }
            (Some(Slip::NoWaitForWbData), Event::Unblock, State::BusyIib) => State::Ss,
            (Some(Slip::NoWaitForUnblock), Event::WbData, State::BusyIib) => {
                acts.push(Act::Share);
                State::Ss
            }
            (Some(Slip::EvictWithoutAcks), Event::Evict, State::Ss) => {
                acts.push(Act::Write);
                State::I
            }
            _ => next,
        };
        (acts, next)
    }
    fn event(&mut self, at: usize, event: Event, msg: Option<&Msg>) {
        let state = self.lines[at].state;
        self.reach(event, state);
        let (acts, next) = self.cell(event, state);
        self.lines[at].state = next;
        acts.iter().for_each(|act| self.act(at, *act, msg));
        let line = &mut self.lines[at];
        if next == State::I {
            let line = self.lines.remove(at);
            return self.replay.extend(line.list);
        }
        if line.busy() {
            return;
        }
        line.owner = if next == State::Mt { line.owner } else { 0 };
        line.request = None;
        let list = std::mem::take(&mut line.list);
        self.replay.extend(list);
    }
    fn act(&mut self, at: usize, act: Act, msg: Option<&Msg>) {
        let line = self.lines[at].clone();
        let request = line.request.or(msg.copied());
        let req = request.map_or(0, |request| request.client());
        let evicts = matches!(act, Act::Inv | Act::Recall);
        let tag = request.filter(|_| !evicts).map_or(0, |request| request.tag);
        let data = line.data;
        let mut send = |client: u8, op: Op| {
            let mut out = Msg::new(Node::L3(self.id), Node::Client(client), op, line.line);
            out.req = if op.vn() == Vn::Fwd { req } else { 0 };
            out.tag = tag;
            self.out.push(Out::Msg(if op.has_data() { out.with(&data) } else { out }));
        };
        let own = &mut self.lines[at];
        match act {
            Act::DataE => send(req, Op::DataE),
            Act::DataS => send(req, Op::DataS { owner: false }),
            Act::DataM => send(req, Op::DataM { acks: 0 }),
            Act::FwdGetS => send(line.owner, Op::FwdGetS),
            Act::FwdGetM => send(line.owner, Op::FwdGetM),
            Act::Recall => send(line.owner, Op::Recall),
            Act::InvDataM => {
                let to: Vec<u8> = sharers(line.sharers & !(1 << req)).collect();
                to.iter().for_each(|client| send(*client, Op::Inv { to: Node::Client(req) }));
                send(req, Op::DataM { acks: to.len() as u8 });
                own.sharers = 0;
            }
            Act::Inv => {
                sharers(line.sharers).for_each(|client| send(client, Op::Inv { to: Node::L3(self.id) }));
                own.acks = line.sharers;
                own.sharers = 0;
            }
            Act::Own => own.owner = req,
            Act::Share => {
                own.sharers |= 1 << req;
                if self.p.slip == Some(Slip::NoWaitForWbData) && line.state == State::Ss {
                    own.sharers |= 1 << line.owner;
                }
            }
            Act::Kept => {
                let kept = msg.is_some_and(|msg| matches!(msg.op, Op::WbData { kept: true, .. }));
                if kept && self.p.slip != Some(Slip::ForgetOldOwner) {
                    own.sharers |= 1 << line.owner;
                }
            }
            Act::Take => {
                let dirty = msg.is_some_and(|msg| {
                    matches!(msg.op, Op::Put { dirty: true } | Op::WbData { dirty: true, .. })
                });
                if let Some(msg) = msg.filter(|_| dirty || self.p.slip == Some(Slip::PutECarries)) {
                    own.data = msg.data;
                    own.dirty |= dirty;
                }
            }
            Act::WbAck => {
                let client = msg.map_or(0, Msg::client);
                send(client, Op::WbAck);
            }
            Act::Write if line.dirty => self.out.push(Out::Write(line.line, line.data)),
            Act::Write | Act::Fill | Act::Read | Act::Stall | Act::Refuse => {}
            Act::Never => self.faults.push(format!("L3 {}: {msg:?} in {:?}", self.id, line.state)),
        }
    }
}

/// Clients of a vector.
fn sharers(set: u64) -> impl Iterator<Item = u8> {
    (0..64).filter(move |client| set >> client & 1 == 1)
}
