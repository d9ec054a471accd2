//! What may happen next in a system.

use super::msg::{Kind, Line, Msg, Net, Node, Packet};
use super::slips::Slip;
use super::system::{Instr, Step, System};
use super::table::State;

impl System {
    /// All steps that may be made.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for node in 0..self.p.nodes {
            self.program_steps(node, &mut steps);
            self.bank_steps(node, &mut steps);
            self.home_steps(node, &mut steps);
        }
        for line in 0..self.p.lines {
            let slice = &self.slices[usize::from(self.p.home(line))];
            let wanted = self.p.replaces || slice.wants_way(&self.p);
            if wanted && slice.replaceable(line, &self.p, &self.fabric) {
                steps.push(Step::Evict(line));
            }
            if slice.may_go(line, &self.p, &self.fabric) {
                steps.push(Step::Go(line));
            }
        }
        let net = &self.fabric.net;
        steps.extend((0..net.len()).filter(|at| self.deliverable(*at)).map(Step::Deliver));
        steps
    }

    fn program_steps(&self, node: Node, steps: &mut Vec<Step>) {
        let program = &self.programs[usize::from(node)];
        if program.releasing {
            if !self.stores(node) || self.p.slip == Some(Slip::ReleaseDoesNotWait) {
                steps.push(Step::Released(node));
            }
            return;
        }
        let lines = &self.banks[usize::from(node)].lines;
        let waiting: usize = lines.iter().map(|line| line.waiting.len()).sum();
        let room = waiting < self.p.outstanding;
        if !program.fixed.is_empty() {
            match program.fixed.get(program.at) {
                Some(Instr::Op(kind, line)) if room => steps.push(Step::Issue(node, *kind, *line)),
                Some(Instr::Release) => steps.push(Step::Release(node)),
                Some(Instr::Wait) if waiting == 0 => steps.push(Step::Waited(node)),
                _ => {}
            }
            return;
        }
        if program.left == 0 {
            return;
        }
        if room {
            let lines = 0..self.p.lines;
            let both = lines.flat_map(|line| [(Kind::Load, line), (Kind::Store, line)]);
            steps.extend(both.map(|(kind, line)| Step::Issue(node, kind, line)));
        }
        if self.p.releases && waiting != 0 {
            steps.push(Step::Release(node));
        }
    }

    /// Something of the node waits for a frame.
    fn wants_frame(&self, node: Node) -> bool {
        let lines = &self.banks[usize::from(node)].lines;
        lines.iter().any(|line| !line.waiting.is_empty() && line.mshr.is_none())
    }

    fn bank_steps(&self, node: Node, steps: &mut Vec<Step>) {
        let p = &self.p;
        let bank = &self.banks[usize::from(node)];
        let wanted = p.replaces || self.wants_frame(node);
        for line in 0..p.lines {
            let home = p.home(line);
            if wanted && bank.replaceable(line, p) {
                steps.push(Step::Replace(node, line));
            }
            let flushes = p.replaces && node != home && bank.lines[usize::from(line)].written();
            if flushes && bank.replaceable(line, p) {
                steps.push(Step::Flush(node, line));
            }
            let takes = match node == home {
                true => self.slices[usize::from(home)].takes(p),
                false => self.fabric.room(Net::Req, node, p),
            };
            if takes && bank.may_send(line, p) {
                steps.push(Step::Send(node, line));
            }
            let at = &bank.lines[usize::from(line)];
            let written = at.written() && at.mshr.is_none();
            if p.replaces && node == home && written && self.fabric.memory[usize::from(line)] != at.copy.data
            {
                steps.push(Step::Clean(line));
            }
            if at.mshr.is_some_and(|mshr| mshr.owes) && self.room(node) {
                steps.push(Step::Done(node, line));
            }
            if at.late {
                steps.push(Step::Late(node, line));
            }
        }
    }

    fn home_steps(&self, node: Node, steps: &mut Vec<Step>) {
        let bank = &self.banks[usize::from(node)];
        let slice = &self.slices[usize::from(node)];
        let held = self.held(node);
        for (at, place) in bank.homes.iter().enumerate() {
            if !place.asked && slice.takes(&self.p) {
                steps.push(Step::Ask(node, at));
            }
            if place.answer.is_some() && !held && self.room(node) {
                steps.push(Step::Turn(node, at));
            }
        }
        let ready = (0..slice.queue.len()).filter(|at| slice.ready(*at, &self.p, &self.fabric));
        steps.extend(ready.map(|at| Step::Serve(node, at)));
        for line in (0..self.p.lines).filter(|line| self.p.home(*line) == node) {
            let at = &bank.lines[usize::from(line)];
            if at.mshr.is_some_and(|mshr| mshr.answer.is_some()) {
                steps.push(Step::OwnTurn(line));
            }
        }
    }

    /// A request that the network or the slice does not take holds the bank (a slip).
    fn held(&self, node: Node) -> bool {
        let stuck = |line: Line| {
            let at = &self.banks[usize::from(node)].lines[usize::from(line)];
            let takes = match self.p.home(line) == node {
                true => self.slices[usize::from(node)].takes(&self.p),
                false => self.fabric.room(Net::Req, node, &self.p),
            };
            !takes && !at.waiting.is_empty() && at.mshr.is_none()
        };
        self.p.slip == Some(Slip::RequestHoldsBank) && (0..self.p.lines).any(stuck)
    }

    /// A message may arrive next: no order of its network forbids it, no earlier one is the same, and there
    /// is room for it and for what it causes.
    fn deliverable(&self, at: usize) -> bool {
        let net = &self.fabric.net;
        let packet = net[at];
        let before = &net[..at];
        if before.contains(&packet) || self.p.ordered && before.iter().any(|other| behind(packet, *other)) {
            return false;
        }
        match packet.msg.net() {
            Net::Req => self.enters(packet),
            Net::Inv => self.room(packet.to) && !self.held(packet.to),
            Net::Rsp => {
                let home = packet.to;
                if packet.msg == Msg::Ack && self.p.slip == Some(Slip::AckNeedsRoom) {
                    return self.fabric.room(Net::Inv, home, &self.p);
                }
                let done = matches!(packet.msg, Msg::Data(..)) && self.p.slip == Some(Slip::DoneNeedsRoom);
                !done || self.p.home(packet.line) == packet.to || self.room(packet.to)
            }
        }
    }

    /// A request may enter: the slice's input takes it, and the home side.
    fn enters(&self, packet: Packet) -> bool {
        let at = usize::from(packet.to);
        let takes = self.slices[at].takes(&self.p) || self.p.slip == Some(Slip::AloneIsStale);
        takes && self.banks[at].may_enter(packet.line, packet.msg, &self.p)
    }

    /// A step in words.
    pub fn describe(&self, step: Step) -> String {
        match step {
            Step::Deliver(at) => {
                let Packet { from, to, line, msg } = self.fabric.net[at];
                format!("{msg:?} of line {line} from node {from} reaches node {to}")
            }
            Step::Issue(node, kind, line) => format!("node {node}: {kind:?} of line {line}"),
            Step::Send(node, line) => format!("node {node} sends its request for line {line}"),
            Step::Replace(node, line) => {
                let state = self.banks[usize::from(node)].lines[usize::from(line)].copy.state;
                format!("node {node} replaces line {line} ({state:?})")
            }
            Step::Flush(node, line) => format!("node {node} flushes line {line}"),
            Step::Evict(line) => {
                let home = self.p.home(line);
                let entry = self.slices[usize::from(home)].entries[usize::from(line)];
                format!("the slice of node {home} replaces the entry of line {line} ({entry:?})")
            }
            Step::Go(line) => format!("the slice sends to the owner of line {line}"),
            Step::Clean(line) => format!("the home writes line {line} to memory and keeps it"),
            Step::Turn(node, at) => {
                let place = self.banks[usize::from(node)].homes[at];
                format!("node {node}, home side: turn of {:?} with answer {:?}", place.op, place.answer)
            }
            Step::Serve(node, at) => {
                format!(
                    "node {node}, slice: {:?} from the queue",
                    self.slices[usize::from(node)].queue[at].op
                )
            }
            Step::OwnTurn(line) => format!("node {}: own turn for line {line}", self.p.home(line)),
            Step::Done(node, line) => format!("node {node} sends its Done of line {line}"),
            Step::Late(node, line) => format!("node {node} performs what waits for line {line}"),
            Step::Ask(node, at) => {
                format!("node {node}, home side asks for {:?}", self.banks[usize::from(node)].homes[at].op)
            }
            Step::Release(node) => format!("node {node} begins a release"),
            Step::Released(node) => format!("the release of node {node} ends"),
            Step::Waited(node) => format!("node {node} goes on"),
        }
    }

    /// A step of the system, not of a program.
    pub fn inner(step: Step) -> bool {
        !matches!(step, Step::Issue(..) | Step::Release(_))
    }

    /// Nodes with a line in a state other than I: for the reports.
    pub fn copies(&self, line: Line) -> usize {
        let held = |bank: &&super::bank::Bank| bank.lines[usize::from(line)].copy.state != State::I;
        self.banks.iter().filter(held).count()
    }
}

/// A message must come after another, if links keep their order and homes take one request after the other.
fn behind(packet: Packet, other: Packet) -> bool {
    let link = packet.from == other.from || packet.msg.net() == Net::Req;
    link && packet.to == other.to && packet.msg.net() == other.msg.net()
}
