//! Golden banks of all nodes around the slice: whatever comes to it is what they do, and what it sends decides
//! what they do next. They check what they get.

use super::bench::{Bench, Cycle, LINES, Seen};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::VecDeque;
use weft_testbench::golden::moesi::bank::Bank;
use weft_testbench::golden::moesi::fabric::{Fabric, Params};
use weft_testbench::golden::moesi::msg::{Action, Answer, Kind, Line, Msg, Net, Node, Op, Packet, SliceOp};
use weft_testbench::golden::moesi::races::Tally;
use weft_testbench::golden::moesi::slice::Slice;
use weft_testbench::golden::moesi::system::System;
use weft_testbench::golden::moesi::table::Event;

/// How a run presses the slice: chances of a cycle.
#[derive(Clone, Copy)]
pub struct Pressure {
    /// Steps that the banks of a set try to make in a cycle.
    pub steps: u32,
    pub offer: f64,
    pub rsp: f64,
    pub inv: f64,
    pub ack: f64,
    pub done: f64,
    /// Of a step: a copy is replaced.
    pub replace: f64,
    /// Operations of a node that are under way together.
    pub outstanding: usize,
    /// Lines of a set that are used.
    pub lines: Line,
}

/// The banks' side of a set.
struct Banks {
    p: Params,
    banks: Vec<Bank>,
    f: Fabric,
    net: Vec<Packet>,
    tally: Tally,
    numbers: Vec<u16>,
}

pub struct Env {
    sets: Vec<Banks>,
    /// Operations that have entered, in their order.
    entered: VecDeque<(usize, SliceOp)>,
    /// Acks and Dones under way.
    acks: Vec<(usize, Packet)>,
    /// What the own bank has to say.
    own: Vec<(usize, Line, bool)>,
    pub entries: u64,
    rng: SmallRng,
}

/// Operations that have entered and are not offered yet.
const ROOM: usize = 2;

impl Banks {
    fn home(&self) -> Node {
        self.p.homes_of[0]
    }

    fn waiting(&self, node: usize) -> usize {
        self.banks[node].lines.iter().map(|line| line.waiting.len()).sum()
    }

    fn issue(&mut self, node: usize, line: Line, kind: Kind) {
        let number = self.numbers[node];
        self.numbers[node] += 1;
        self.banks[node].issue(line, Op { kind, number }, &self.p, &mut self.f, &mut self.tally);
    }

    /// A message of the network arrives, if it may.
    fn deliver(&mut self, at: usize, room: bool) {
        let packet = self.net[at];
        let bank = &mut self.banks[usize::from(packet.to)];
        if packet.msg.net() == Net::Req && !(room && bank.may_enter(packet.line, packet.msg, &self.p)) {
            return;
        }
        self.net.swap_remove(at);
        bank.message(packet, &self.p, &mut self.f, &mut self.tally);
    }

    /// A turn of the home side.
    fn turn(&mut self, rng: &mut SmallRng) {
        let home = usize::from(self.home());
        let bank = &mut self.banks[home];
        let ready: Vec<usize> = (0..bank.homes.len()).filter(|at| bank.homes[*at].answer.is_some()).collect();
        let lines = (0..LINES)
            .filter(|line| bank.lines[usize::from(*line)].mshr.is_some_and(|mshr| mshr.answer.is_some()));
        let lines: Vec<Line> = lines.collect();
        if !ready.is_empty() && (lines.is_empty() || rng.random()) {
            let at = ready[rng.random_range(0..ready.len())];
            bank.turn(at, &self.p, &mut self.f, &mut self.tally);
        } else if !lines.is_empty() {
            let line = lines[rng.random_range(0..lines.len())];
            bank.own_turn(line, &self.p, &mut self.f, &mut self.tally);
        }
    }

    fn replace(&mut self, node: usize, line: Line, flush: bool) {
        let at_home = node == usize::from(self.home());
        let bank = &mut self.banks[node];
        if !bank.replaceable(line, &self.p) {
            return;
        }
        let event = match (at_home, flush && bank.lines[usize::from(line)].written()) {
            (false, true) => Event::Flush,
            (true, true) => Event::Clean,
            (false, false) => Event::Replace,
            (true, false) => Event::ReplaceHome,
        };
        bank.event(line, event, node as Node, &self.p, &mut self.f, &mut self.tally);
    }

    fn quiet(&self) -> bool {
        let bank = |bank: &Bank| {
            let line = |line: &weft_testbench::golden::moesi::bank::BankLine| {
                line.mshr.is_none() && line.buffer.is_none() && line.waiting.is_empty()
            };
            bank.homes.is_empty() && bank.lines.iter().all(line)
        };
        self.net.is_empty() && self.banks.iter().all(bank)
    }
}

impl Env {
    pub fn new(bench: &Bench, rng: SmallRng) -> Env {
        let banks = |p: Params| Banks {
            banks: (0..p.nodes).map(|node| Bank::new(node, &p)).collect(),
            f: Fabric::new(&p),
            net: Vec::new(),
            tally: Tally::default(),
            numbers: vec![0; usize::from(p.nodes)],
            p,
        };
        Env {
            sets: bench.sets.iter().map(|set| banks(set.p)).collect(),
            entered: VecDeque::new(),
            acks: Vec::new(),
            own: Vec::new(),
            entries: 0,
            rng,
        }
    }

    /// What the banks of a set have done.
    fn collect(&mut self, number: usize) {
        let set = &mut self.sets[number];
        assert_eq!(set.f.wrong, None);
        for action in set.f.take() {
            match action {
                Action::Send(packet) if matches!(packet.msg, Msg::Ack | Msg::Done) => {
                    self.acks.push((number, packet));
                }
                Action::Send(packet) => set.net.push(packet),
                Action::Ask(op) => {
                    self.entered.push_back((number, op));
                    self.entries += 1;
                }
                Action::Done(line) => self.own.push((number, line, false)),
                Action::Written(line) | Action::Back(line) => self.own.push((number, line, true)),
                Action::Loaded(..) => {}
                Action::Answer(..) => panic!("a bank answers nobody"),
            }
        }
    }

    /// Something that may happen to the banks of a set.
    fn step(&mut self, number: usize, pressure: &Pressure, issues: bool) {
        let rng = &mut self.rng;
        let room = self.entered.len() < ROOM;
        let set = &mut self.sets[number];
        let node = rng.random_range(0..set.banks.len());
        let few = rng.random_range(1..=pressure.lines);
        let line = rng.random_range(0..few);
        let home = node == usize::from(set.home());
        if rng.random_bool(pressure.replace) {
            set.replace(node, line, rng.random());
        } else {
            match rng.random_range(0..4) {
                0 if issues && set.waiting(node) < pressure.outstanding => {
                    let kind = [Kind::Load, Kind::Store, Kind::Load, Kind::Atomic][rng.random_range(0..4)];
                    set.issue(node, line, kind);
                }
                1 if (!home || room) && set.banks[node].may_send(line, &set.p) => {
                    set.banks[node].send(line, &set.p, &mut set.f, &mut set.tally);
                }
                2 if !set.net.is_empty() => set.deliver(rng.random_range(0..set.net.len()), room),
                3 => set.turn(rng),
                _ => {}
            }
        }
        self.collect(number);
    }

    /// One cycle of the slice and what happens around it.
    pub fn cycle(&mut self, bench: &mut Bench, pressure: &Pressure, issues: bool) {
        for number in 0..self.sets.len() {
            (0..pressure.steps).for_each(|_| self.step(number, pressure, issues));
        }
        let rng = &mut self.rng;
        let offers = bench.req.idle() && rng.random_bool(pressure.offer);
        if let Some((set, op)) = if offers { self.entered.pop_front() } else { None } {
            bench.offer(set, op, rng.random_range(0..u64::from(bench.p.sys.l2_mshrs)));
        }
        let ack = !self.acks.is_empty() && rng.random_bool(pressure.ack);
        let ack = ack.then(|| self.acks.swap_remove(rng.random_range(0..self.acks.len())));
        let own = !self.own.is_empty() && rng.random_bool(pressure.done);
        let done = own.then(|| self.own.swap_remove(rng.random_range(0..self.own.len())));
        let (rsp, inv) = (rng.random_bool(pressure.rsp), rng.random_bool(pressure.inv));
        let Seen { answer, packets } = bench.cycle(Cycle { rsp, inv, ack, done });
        packets.into_iter().for_each(|(set, packet)| self.sets[set].net.push(packet));
        if let Some((number, op, answer)) = answer {
            let set = &mut self.sets[number];
            let home = usize::from(set.home());
            // Where rsp has waited, the line may be there by now.
            if answer != Answer::Forwarded || usize::from(op.src) != home {
                set.banks[home].answered(op, answer, &mut set.f, &mut set.tally);
            }
            self.collect(number);
        }
    }

    /// Nothing waits anywhere.
    pub fn quiet(&self) -> bool {
        let empty = self.entered.is_empty() && self.acks.is_empty() && self.own.is_empty();
        empty && self.sets.iter().all(Banks::quiet)
    }

    /// Entries, copies and memory agree.
    pub fn check(&self, bench: &Bench) {
        for (set, golden) in self.sets.iter().zip(&bench.sets) {
            let mut slices: Vec<Slice> = set.banks.iter().map(|_| Slice::new(&set.p)).collect();
            slices[usize::from(set.home())] = golden.slice.clone();
            let banks = set.banks.clone();
            let all = System { p: set.p, banks, slices, fabric: set.f.clone(), programs: Vec::new() };
            assert_eq!(all.check(), None);
        }
    }
}
