//! Everything around the bank, for the lines of one set: golden banks of the other nodes, golden slices
//! of all homes, what is under way between them, and the golden bank of the node under test, which the
//! bench steps as the hardware does. So the surroundings are legal by themselves, and every copy in the
//! system is known.

use super::Rand;
use rand::Rng;
use weft_testbench::golden::moesi::bank::Bank;
use weft_testbench::golden::moesi::fabric::{Fabric, Params};
use weft_testbench::golden::moesi::msg::{Action, Answer, Kind, Line, Msg, Net, Node, Op, Packet, SliceOp};
use weft_testbench::golden::moesi::races::Tally;
use weft_testbench::golden::moesi::slice::Slice;
use weft_testbench::golden::moesi::table::{Event, State};

/// Lines of a set that the runs use.
pub const LINES: u8 = 8;

/// How often the surroundings do what nothing asks for.
#[derive(Clone, Copy)]
pub struct Rates {
    /// Nodes other than that under test issue operations.
    pub issue: f64,
    /// Loads among these.
    pub loads: f64,
    /// Banks replace copies, slices entries.
    pub replace: f64,
}

pub struct World {
    pub p: Params,
    own: Node,
    pub banks: Vec<Bank>,
    pub slices: Vec<Slice>,
    pub f: Fabric,
    tally: Tally,
    /// Of the bank under test alone.
    pub mine: Tally,
    /// REQ does not carry what the bank under test has sent.
    pub holds: bool,
    /// To golden parts.
    net: Vec<Packet>,
    /// To the bank under test, by network.
    pub req: Vec<Packet>,
    pub inv: Vec<Packet>,
    pub rsp: Vec<Packet>,
    /// Its slice has answered.
    pub answers: Vec<(SliceOp, Answer)>,
    /// What the golden bank of the node under test has done, in order.
    due: Vec<Action>,
    /// The bytes of each line, by version.
    pub bytes: Vec<Vec<Vec<u8>>>,
    numbers: u16,
}

impl World {
    pub fn new(p: Params, own: Node, memory: Vec<Vec<u8>>) -> World {
        World {
            p,
            own,
            banks: (0..p.nodes).map(|node| Bank::new(node, &p)).collect(),
            slices: (0..p.nodes).map(|_| Slice::new(&p)).collect(),
            f: Fabric::new(&p),
            tally: Tally::default(),
            mine: Tally::default(),
            holds: false,
            net: Vec::new(),
            req: Vec::new(),
            inv: Vec::new(),
            rsp: Vec::new(),
            answers: Vec::new(),
            due: Vec::new(),
            bytes: memory.into_iter().map(|line| vec![line]).collect(),
            numbers: 0,
        }
    }

    /// The golden bank of the node under test.
    pub fn bank(&self) -> &Bank {
        &self.banks[usize::from(self.own)]
    }

    pub fn state(&self, line: Line) -> State {
        self.bank().lines[usize::from(line)].copy.state
    }

    pub fn homed(&self, line: Line) -> bool {
        self.p.home(line) == self.own
    }

    /// The own slice takes an operation.
    pub fn slice_takes(&self) -> bool {
        self.slices[usize::from(self.own)].takes(&self.p)
    }

    /// The bytes of a version.
    pub fn version(&self, line: Line, version: u16) -> &Vec<u8> {
        &self.bytes[usize::from(line)][usize::from(version)]
    }

    /// The golden bank of the node under test does something; what it has done.
    pub fn own(&mut self, call: impl FnOnce(&mut Bank, &Params, &mut Fabric, &mut Tally)) -> Vec<Action> {
        call(&mut self.banks[usize::from(self.own)], &self.p, &mut self.f, &mut self.mine);
        self.settle();
        std::mem::take(&mut self.due)
    }

    /// Its message has left the hardware.
    pub fn post(&mut self, packet: Packet) {
        let for_slice = matches!(packet.msg, Msg::Ack | Msg::Done);
        if packet.to != self.own || for_slice {
            return self.net.push(packet);
        }
        match packet.msg.net() {
            Net::Req => self.req.push(packet),
            Net::Inv => self.inv.push(packet),
            Net::Rsp => self.rsp.push(packet),
        }
    }

    /// What the own bank asks its slice, or tells it, has left the hardware.
    pub fn tell_slice(&mut self, action: Action) {
        let (p, f, tally) = (&self.p, &mut self.f, &mut self.tally);
        let slice = &mut self.slices[usize::from(self.own)];
        match action {
            Action::Ask(op) => slice.offer(op, p, f, tally),
            Action::Done(line) => slice.done(line, self.own, f, tally),
            Action::Written(line) => slice.written(line, f, tally),
            Action::Back(line) => slice.back(line, f, tally),
            other => panic!("{other:?} is not for the slice"),
        }
        self.settle();
    }

    /// Carries out what golden parts have done.
    fn settle(&mut self) {
        loop {
            if let Some(wrong) = &self.f.wrong {
                panic!("{wrong}");
            }
            let actions = self.f.take();
            if actions.is_empty() {
                return;
            }
            actions.into_iter().for_each(|action| self.act(action));
        }
    }

    fn act(&mut self, action: Action) {
        let home = match action {
            Action::Send(packet) => {
                let by_slice = packet.msg.net() == Net::Inv;
                return if packet.from == self.own && !by_slice {
                    self.due.push(action)
                } else {
                    self.post(packet)
                };
            }
            Action::Ask(op) | Action::Answer(op, _) => self.p.home(op.line),
            Action::Done(line) | Action::Written(line) | Action::Back(line) => self.p.home(line),
            Action::Loaded(..) => return,
        };
        let (p, f, tally) = (&self.p, &mut self.f, &mut self.tally);
        let slice = &mut self.slices[usize::from(home)];
        match action {
            Action::Answer(op, answer) if home == self.own => {
                // Nothing waits for this one: Data may come before it.
                if op.src == self.own && answer == Answer::Forwarded {
                    self.banks[usize::from(home)].answered(op, answer, f, &mut self.mine);
                }
                self.answers.push((op, answer));
            }
            Action::Answer(op, answer) => self.banks[usize::from(home)].answered(op, answer, f, tally),
            _ if home == self.own => self.due.push(action),
            Action::Ask(op) => slice.offer(op, p, f, tally),
            Action::Done(line) => slice.done(line, home, f, tally),
            Action::Written(line) => slice.written(line, f, tally),
            Action::Back(line) => slice.back(line, f, tally),
            Action::Send(_) | Action::Loaded(..) => {}
        }
    }

    /// Stores of other nodes have made new versions.
    fn note_stores(&mut self, rng: &mut Rand) {
        for (line, bytes) in self.bytes.iter_mut().enumerate() {
            while bytes.len() <= usize::from(self.f.latest[line]) {
                let mut next = bytes.last().expect("a version").clone();
                (0..3).for_each(|_| {
                    let at = rng.random_range(0..next.len());
                    next[at] = rng.random();
                });
                bytes.push(next);
            }
        }
    }

    /// Something may happen around the bank.
    pub fn step(&mut self, rng: &mut Rand, rates: Rates) {
        match rng.random_range(0..10) {
            0..=3 => self.deliver(rng),
            4 if rng.random_bool(rates.issue) => self.issue(rng, rates.loads),
            5 | 6 => self.send(rng),
            7 => self.turn(rng),
            8 => self.serve(rng),
            _ => self.replace(rng, rates.replace),
        }
        self.settle();
        self.note_stores(rng);
    }

    fn any_line(&self, rng: &mut Rand) -> Line {
        rng.random_range(0..self.p.lines)
    }

    fn other(&self, rng: &mut Rand) -> Node {
        let node = rng.random_range(0..self.p.nodes - 1);
        node + u8::from(node >= self.own)
    }

    fn deliver(&mut self, rng: &mut Rand) {
        if self.net.is_empty() {
            return;
        }
        let at = rng.random_range(0..self.net.len());
        let Packet { from, to, line, msg } = self.net[at];
        if self.holds && from == self.own && msg.net() == Net::Req {
            return;
        }
        let (p, f, tally) = (&self.p, &mut self.f, &mut self.tally);
        let (bank, slice) = (&mut self.banks[usize::from(to)], &mut self.slices[usize::from(to)]);
        if msg.net() == Net::Req && !(slice.takes(p) && bank.may_enter(line, msg, p)) {
            return;
        }
        let packet = self.net.swap_remove(at);
        match msg {
            Msg::Ack => slice.ack(line, p, f, tally),
            Msg::Done => slice.done(line, from, f, tally),
            _ => bank.message(packet, p, f, tally),
        }
    }

    fn issue(&mut self, rng: &mut Rand, loads: f64) {
        let (node, line) = (self.other(rng), self.any_line(rng));
        let bank = &self.banks[usize::from(node)];
        if bank.lines.iter().map(|at| at.waiting.len()).sum::<usize>() <= 2 {
            self.begin(node, line, if rng.random_bool(loads) { Kind::Load } else { Kind::Store });
        }
    }

    /// Another node begins an operation.
    pub fn begin(&mut self, node: Node, line: Line, kind: Kind) {
        let op = Op { kind, number: self.numbers };
        self.numbers += 1;
        self.banks[usize::from(node)].issue(line, op, &self.p, &mut self.f, &mut self.tally);
    }

    /// Another node gives up its copy.
    pub fn give_back(&mut self, node: Node, line: Line) {
        let bank = &mut self.banks[usize::from(node)];
        bank.event(line, Event::Replace, node, &self.p, &mut self.f, &mut self.tally);
        self.settle();
    }

    fn send(&mut self, rng: &mut Rand) {
        let p = &self.p;
        let takes = |node: Node, line| p.home(line) != node || self.slices[usize::from(node)].takes(p);
        let may = |(node, line): &(Node, Line)| {
            *node != self.own && takes(*node, *line) && self.banks[usize::from(*node)].may_send(*line, p)
        };
        let all = (0..p.nodes).flat_map(|node| (0..p.lines).map(move |line| (node, line)));
        let all: Vec<_> = all.filter(may).collect();
        if let Some(&(node, line)) = super::pick(&all, rng) {
            let bank = &mut self.banks[usize::from(node)];
            bank.send(line, &self.p, &mut self.f, &mut self.tally);
        }
    }

    fn turn(&mut self, rng: &mut Rand) {
        let (node, line) = (self.other(rng), self.any_line(rng));
        let bank = &mut self.banks[usize::from(node)];
        let answered = bank.homes.iter().position(|home| home.answer.is_some());
        if let Some(at) = answered {
            bank.turn(at, &self.p, &mut self.f, &mut self.tally);
        }
        bank.own_turn(line, &self.p, &mut self.f, &mut self.tally);
    }

    fn serve(&mut self, rng: &mut Rand) {
        let (p, f, tally) = (&self.p, &mut self.f, &mut self.tally);
        let slice = &mut self.slices[rng.random_range(0..usize::from(p.nodes))];
        if let Some(at) = (0..slice.queue.len()).find(|at| slice.ready(*at, p, f)) {
            slice.serve(at, p, f, tally);
        }
    }

    fn replace(&mut self, rng: &mut Rand, rate: f64) {
        let (node, line) = (self.other(rng), self.any_line(rng));
        let (p, f, tally) = (&self.p, &mut self.f, &mut self.tally);
        let bank = &mut self.banks[usize::from(node)];
        let wanted = bank.lines.iter().any(|at| !at.waiting.is_empty() && at.mshr.is_none());
        if (wanted || rng.random_bool(rate)) && bank.replaceable(line, p) {
            let home = p.home(line) == node;
            let event = if home { Event::ReplaceHome } else { Event::Replace };
            bank.event(line, event, node, p, f, tally);
        }
        let line = rng.random_range(0..p.lines);
        let slice = &mut self.slices[usize::from(p.home(line))];
        if (slice.wants_way(p) || rng.random_bool(rate)) && slice.replaceable(line, p, f) {
            slice.replace(line, p, f, tally);
        }
    }

    /// Nothing is under way; else what is.
    pub fn restless(&self) -> Option<String> {
        let busy = |bank: &Bank| {
            let line = bank
                .lines
                .iter()
                .position(|at| at.mshr.is_some() || at.buffer.is_some() || !at.waiting.is_empty());
            line.map(|line| format!("node {} line {line}: {:?}", bank.node, bank.lines[line]))
                .or_else(|| bank.homes.first().map(|home| format!("node {}: {home:?}", bank.node)))
        };
        let nets = [&self.net, &self.req, &self.inv, &self.rsp];
        let packet = nets.into_iter().flatten().next().map(|packet| format!("{packet:?}"));
        let slice =
            self.slices.iter().position(|s| !s.queue.is_empty() || s.rows.iter().any(Option::is_some));
        let slice = slice.map(|at| format!("slice of node {at}: {:?}", self.slices[at]));
        let answer = self.answers.first().map(|answer| format!("{answer:?}"));
        self.banks.iter().find_map(busy).or(packet).or(slice).or(answer)
    }
}
