//! Nodes and networks with the orders of moesi.md section 3 and nothing more: whatever may happen next is a
//! [`Step`].

use super::bank::Bank;
use super::fabric::{Fabric, Params};
use super::msg::{Action, Asks, Kind, Line, Msg, Net, Node, Op, Packet, Version};
use super::races::{Race, Tally};
use super::slice::Slice;
use super::table::Event;

/// An instruction of a fixed program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instr {
    /// Load, store or atomic.
    Op(Kind, Line),
    /// Wait for all stores and atomics before.
    Release,
    /// Wait for all operations before.
    Wait,
}

/// What a node will do, and has got.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Operations left, in any order and of any kind; 255: no end.
    pub left: u8,
    /// Instead: these, in this order.
    pub fixed: Vec<Instr>,
    /// How many of them have been issued.
    pub at: usize,
    /// What the loads of a fixed program got.
    pub seen: Vec<Version>,
    /// A release waits.
    pub releasing: bool,
    /// Operations so far.
    pub number: u16,
}

/// A system.
#[derive(Clone, Debug)]
pub struct System {
    /// Sizes.
    pub p: Params,
    /// By node.
    pub banks: Vec<Bank>,
    /// By node.
    pub slices: Vec<Slice>,
    /// Between them.
    pub fabric: Fabric,
    /// By node.
    pub programs: Vec<Program>,
}

/// What may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A node issues an operation.
    Issue(Node, Kind, Line),
    /// A node begins a release.
    Release(Node),
    /// A release ends.
    Released(Node),
    /// A fixed program goes on after a wait.
    Waited(Node),
    /// A bank replaces a copy.
    Replace(Node, Line),
    /// A bank that is not the home flushes a line.
    Flush(Node, Line),
    /// The slice of the line's home replaces its entry.
    Evict(Line),
    /// A bank sends the request for what waits.
    Send(Node, Line),
    /// A message arrives.
    Deliver(usize),
    /// A Done that has waited for room is sent.
    Done(Node, Line),
    /// What should have been performed before Done is performed (a slip).
    Late(Node, Line),
    /// The operation in this place of the home side comes into the slice's input (a slip: else it has come).
    Ask(Node, usize),
    /// The slice asks the owner of a line: INV had no room when the last Ack came.
    Go(Line),
    /// The home's bank writes its copy to memory and keeps it.
    Clean(Line),
    /// The slice of a node performs the operation in this place of its queue.
    Serve(Node, usize),
    /// The home side's turn for the operation in this place.
    Turn(Node, usize),
    /// The home's own turn for its request of a line.
    OwnTurn(Line),
}

impl Step {
    /// Inside a bank or a slice.
    fn local(self) -> bool {
        let bank = matches!(self, Step::Send(..) | Step::Done(..) | Step::Ask(..));
        bank || matches!(self, Step::Serve(..) | Step::Turn(..) | Step::OwnTurn(_) | Step::Go(_))
    }
}

impl System {
    /// All empty.
    pub fn new(p: Params) -> System {
        let program = Program { left: p.ops, ..Program::default() };
        System {
            p,
            banks: (0..p.nodes).map(|node| Bank::new(node, &p)).collect(),
            slices: (0..p.nodes).map(|_| Slice::new(&p)).collect(),
            fabric: Fabric::new(&p),
            programs: vec![program; usize::from(p.nodes)],
        }
    }

    /// With a fixed program for each node.
    pub fn with(p: Params, programs: &[&[Instr]]) -> System {
        let mut system = System::new(p);
        for (program, fixed) in system.programs.iter_mut().zip(programs) {
            *program = Program { fixed: fixed.to_vec(), ..Program::default() };
        }
        system
    }

    /// Makes a step that [`System::steps`] gives, and if the system is eager, what follows inside banks and
    /// slices.
    pub fn step(&mut self, step: Step, tally: &mut Tally) {
        self.one(step, tally);
        while self.p.eager && self.fabric.wrong.is_none() {
            let Some(step) = self.steps().into_iter().find(|step| step.local()) else { break };
            self.one(step, tally);
        }
    }

    fn one(&mut self, step: Step, tally: &mut Tally) {
        let (p, f) = (self.p, &mut self.fabric);
        match step {
            Step::Issue(node, kind, line) => self.issue(node, kind, line, tally),
            Step::Release(node) => {
                let program = &mut self.programs[usize::from(node)];
                program.releasing = true;
                program.at += usize::from(!program.fixed.is_empty());
            }
            Step::Released(node) => self.released(node),
            Step::Waited(node) => self.programs[usize::from(node)].at += 1,
            Step::Replace(node, line) => {
                let event = if p.home(line) == node { Event::ReplaceHome } else { Event::Replace };
                self.banks[usize::from(node)].event(line, event, node, &p, f, tally);
            }
            Step::Flush(node, line) => {
                self.banks[usize::from(node)].event(line, Event::Flush, node, &p, f, tally);
            }
            Step::Go(line) => self.slices[usize::from(p.home(line))].go(line, &p, f, tally),
            Step::Clean(line) => {
                let home = p.home(line);
                self.banks[usize::from(home)].event(line, Event::Clean, home, &p, f, tally);
            }
            Step::Evict(line) => self.slices[usize::from(p.home(line))].replace(line, &p, f, tally),
            Step::Send(node, line) => self.banks[usize::from(node)].send(line, &p, f, tally),
            Step::Deliver(at) => {
                let packet = f.net.remove(at);
                self.deliver(packet, tally);
            }
            Step::Done(node, line) => self.banks[usize::from(node)].send_done(line, &p, f),
            Step::Late(node, line) => self.banks[usize::from(node)].perform_waiting(line, f),
            Step::Ask(node, at) => self.banks[usize::from(node)].ask(at, f),
            Step::Serve(node, at) => self.slices[usize::from(node)].serve(at, &p, f, tally),
            Step::Turn(node, at) => self.banks[usize::from(node)].turn(at, &p, f, tally),
            Step::OwnTurn(line) => {
                self.banks[usize::from(p.home(line))].own_turn(line, &p, f, tally);
            }
        }
        self.settle(tally);
    }

    fn issue(&mut self, node: Node, kind: Kind, line: Line, tally: &mut Tally) {
        let program = &mut self.programs[usize::from(node)];
        let op = Op { kind, number: program.number };
        program.number += 1;
        program.at += usize::from(!program.fixed.is_empty());
        program.left -= u8::from(program.left != 0 && program.left != 255);
        self.banks[usize::from(node)].issue(line, op, &self.p, &mut self.fabric, tally);
    }

    fn released(&mut self, node: Node) {
        self.programs[usize::from(node)].releasing = false;
        if self.stores(node) {
            self.fabric.fail(format!("a release of node {node} ends, and a store before it waits"));
        }
    }

    /// Stores or atomics of a node wait.
    pub fn stores(&self, node: Node) -> bool {
        let lines = &self.banks[usize::from(node)].lines;
        lines.iter().any(|line| line.waiting.iter().any(|op| op.kind.writes()))
    }

    /// Carries out what banks and slices have done in a step: what lies beside the networks happens in it.
    fn settle(&mut self, tally: &mut Tally) {
        loop {
            let actions = self.fabric.take();
            if actions.is_empty() {
                break;
            }
            for action in actions {
                self.act(action, tally);
            }
        }
        if let Some(op) = self.fabric.put_behind.take() {
            let buffer = self.banks[usize::from(op.src)].lines[usize::from(op.line)].buffer;
            if buffer.is_some_and(|buffer| buffer.met.is_some()) {
                tally.race(Race::PutBehindAnswered);
            }
        }
    }

    fn act(&mut self, action: Action, tally: &mut Tally) {
        let (p, f) = (self.p, &mut self.fabric);
        let beside = |line: Line| usize::from(p.home(line));
        match action {
            Action::Send(packet) => f.net.push(packet),
            Action::Answer(op, answer) => self.banks[beside(op.line)].answered(op, answer, f, tally),
            Action::Ask(op) => self.slices[beside(op.line)].offer(op, &p, f, tally),
            Action::Done(line) => {
                let home = p.home(line);
                let waits = |packet: &Packet| matches!(packet.msg, Msg::GetS | Msg::GetM);
                if f.net.iter().any(|packet| waits(packet) && packet.line == line) {
                    tally.race(Race::RemoteWaitsOwn);
                    tally.plain("moesi_l2.enter.waits");
                }
                self.slices[beside(line)].done(line, home, f, tally);
            }
            Action::Written(line) => self.slices[beside(line)].written(line, f, tally),
            Action::Back(line) => self.slices[beside(line)].back(line, f, tally),
            Action::Loaded(node, _, version) => {
                if p.record {
                    self.programs[usize::from(node)].seen.push(version);
                }
            }
        }
    }

    fn deliver(&mut self, packet: Packet, tally: &mut Tally) {
        let Packet { from, to, line, msg } = packet;
        let (p, to_at) = (self.p, usize::from(to));
        let f = &mut self.fabric;
        match msg {
            Msg::Ack => return self.slices[to_at].ack(line, &p, f, tally),
            Msg::Done => return self.slices[to_at].done(line, from, f, tally),
            _ => {}
        }
        let upgrade = self.banks[to_at].lines[usize::from(line)].mshr.is_some_and(|mshr| mshr.from_s);
        let of_upgraded = self.banks[usize::from(from)].lines[usize::from(line)].upgraded;
        if matches!(msg, Msg::Data(..)) && upgrade && of_upgraded {
            tally.race(Race::TwoUpgrades);
        }
        self.banks[to_at].message(packet, &p, f, tally);
    }

    /// RSP takes one more message of a node.
    pub fn room(&self, node: Node) -> bool {
        self.fabric.room(Net::Rsp, node, &self.p)
    }

    /// No operation of a node waits.
    pub fn idle(&self, node: Node) -> bool {
        self.banks[usize::from(node)].lines.iter().all(|line| line.waiting.is_empty())
    }
}

impl Asks {
    /// Of another node.
    pub fn remote(self) -> bool {
        matches!(self, Asks::GetS | Asks::GetM | Asks::Put)
    }
}
