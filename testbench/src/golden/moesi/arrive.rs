//! What arrives at a bank (moesi.md sections 5 and 6), and how operations are performed.

use super::fabric::{Fabric, Params};
use super::line::{Bank, Copy, perform};
use super::msg::{Action, Grant, Line, Msg, Net, Packet, Version};
use super::races::{Race, Tally};
use super::slips::Slip;
use super::table::{Event, State};

impl Bank {
    /// A message for the bank arrives. A request of another node must be one that may enter.
    pub fn message(&mut self, packet: Packet, p: &Params, f: &mut Fabric, tally: &mut Tally) {
        let Packet { from, line, msg, .. } = packet;
        match msg {
            Msg::GetS | Msg::GetM | Msg::Put(_) => self.enter(from, (line, msg), p, f, tally),
            Msg::Inv => self.event(line, Event::Inv, from, p, f, tally),
            Msg::FwdS(requester) => self.event(line, Event::FwdS, requester, p, f, tally),
            Msg::FwdM(requester) => self.event(line, Event::FwdM, requester, p, f, tally),
            Msg::Recall => self.event(line, Event::Recall, from, p, f, tally),
            Msg::Data(grant, data) => self.data(line, (grant, data), p, f, tally),
            Msg::PutAck => self.put_ack(line, f, tally),
            Msg::Back(data) => self.back(line, data, f, tally),
            Msg::Ack | Msg::Done => f.fail(format!("{packet:?} is for the slice")),
        }
    }

    /// Data comes, of a home, of an owner, or of the own turn: the line is installed, what waited is
    /// performed, then Done is sent.
    pub fn data(
        &mut self,
        line: Line,
        (grant, data): (Grant, Option<Version>),
        p: &Params,
        f: &mut Fabric,
        tally: &mut Tally,
    ) {
        self.install(line, (grant, data), f, tally);
        if f.wrong.is_some() {
            return;
        }
        if p.slip == Some(Slip::DoneEarly) {
            self.lines[usize::from(line)].late = true;
        } else {
            self.perform_waiting(line, f);
        }
        self.lines[usize::from(line)].mshr.iter_mut().for_each(|mshr| mshr.owes = true);
        if self.node == p.home(line) || f.room(Net::Rsp, self.node, p) {
            self.send_done(line, p, f);
        }
    }

    /// Done is owed and is sent.
    pub fn send_done(&mut self, line: Line, p: &Params, f: &mut Fabric) {
        let (node, home) = (self.node, p.home(line));
        let at = &mut self.lines[usize::from(line)];
        let Some(mshr) = at.mshr.take_if(|mshr| mshr.owes) else { return };
        if at.waiting.first().is_some_and(|op| op.number == mshr.head) {
            f.fail(format!("node {node} sends Done of line {line}, and what it was sent for waits"));
        }
        at.just_done = true;
        if node == home {
            f.out.push(Action::Done(line));
        } else {
            f.send(Packet { from: node, to: home, line, msg: Msg::Done });
        }
    }

    fn install(
        &mut self,
        line: Line,
        (grant, data): (Grant, Option<Version>),
        f: &mut Fabric,
        tally: &mut Tally,
    ) {
        let at = &mut self.lines[usize::from(line)];
        if at.mshr.is_none_or(|mshr| mshr.owes) {
            return f.fail(format!("Data of line {line} at node {}: nothing is asked", self.node));
        }
        let state = match grant {
            Grant::S => State::S,
            Grant::E => State::E,
            Grant::M => State::M,
        };
        match data {
            Some(data) => at.copy = Copy { state, data },
            None if matches!(at.copy.state, State::S | State::O) => at.copy.state = state,
            None => return f.fail(format!("Data without data at node {}: there is no copy", self.node)),
        }
        tally.plain(match (grant, data) {
            (_, None) => "moesi_l2.data.keep",
            (Grant::S, _) => "moesi_l2.data.S",
            (Grant::E, _) => "moesi_l2.data.E",
            (Grant::M, _) => "moesi_l2.data.M",
        });
        at.upgraded = grant == Grant::M && at.mshr.is_some_and(|mshr| mshr.from_s);
    }

    /// Performs what waits and may be performed, in order.
    pub fn perform_waiting(&mut self, line: Line, f: &mut Fabric) {
        let at = &mut self.lines[usize::from(line)];
        at.late = false;
        while let Some(op) = at.waiting.first().copied() {
            let may = match at.copy.state {
                State::I => false,
                State::S | State::O => !op.kind.writes(),
                State::E | State::M => true,
            };
            if !may {
                break;
            }
            at.waiting.remove(0);
            perform(self.node, line, at, op, f);
            if op.kind.writes() {
                at.copy.state = State::M;
            }
        }
    }

    /// PutAck.
    pub fn put_ack(&mut self, line: Line, f: &mut Fabric, tally: &mut Tally) {
        let at = &mut self.lines[usize::from(line)];
        let Some(buffer) = at.buffer.take() else {
            return f.fail(format!("PutAck of line {line} at node {}: there is no Put", self.node));
        };
        tally.plain(if buffer.live { "moesi_l2.put_ack" } else { "moesi_l2.put_ack.shell" });
        match buffer.met {
            Some(Event::FwdS) if buffer.live => tally.race(Race::FwdSThenTaken),
            Some(Event::FwdM) => tally.race(Race::FwdMThenStale),
            Some(Event::Recall) => tally.race(Race::ReplacedPut),
            _ => {}
        }
    }
}
