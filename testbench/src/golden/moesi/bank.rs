//! The bank for its own node (moesi.md sections 5 and 7): copies, MSHRs, the write-back buffer.

use super::fabric::{Fabric, Params};
use super::line::perform;
pub use super::line::{Bank, BankLine, Copy, HomeOp, Mshr, NOTHING, WriteBack};
use super::msg::{Action, Asks, Line, Msg, Node, Op, Packet, SliceOp};
use super::races::{Race, Tally};
use super::slips::Slip;
use super::table::{Act, BankRow, Event, Next, Place, State, bank_row};

impl Bank {
    /// Empty.
    pub fn new(node: Node, p: &Params) -> Bank {
        Bank { node, lines: vec![BankLine::new(); usize::from(p.lines)], homes: Vec::new() }
    }

    /// An operation of the node comes.
    pub fn issue(&mut self, line: Line, op: Op, p: &Params, f: &mut Fabric, tally: &mut Tally) {
        let reserved = self.lines.iter().filter(|other| other.mshr.is_some()).count();
        let at = &mut self.lines[usize::from(line)];
        let readable = !op.kind.writes() && at.copy.state != State::I;
        let passes = p.slip == Some(Slip::LoadPassesStore) && readable;
        let place = if at.busy() && !passes { Place::Busy } else { Place::Array(at.copy.state) };
        at.just_done = false;
        let event = if op.kind.writes() { Event::Store } else { Event::Load };
        let Some((number, row)) = bank_row(event, place) else {
            return f.fail(format!("{event:?} in {place:?}: no row"));
        };
        tally.row(number);
        if at.buffer.is_some() {
            tally.race(Race::WaitsForPutAck);
        }
        if place == Place::Array(State::I) && reserved >= p.ways {
            tally.race(Race::AllReserved);
        }
        match row.acts {
            [Act::Perform] => perform(self.node, line, at, op, f),
            _ => at.waiting.push(op),
        }
        if let Next::To(state) = row.next {
            at.copy.state = state;
        }
    }

    /// The request for what waits at a line may be sent.
    pub fn may_send(&self, line: Line, p: &Params) -> bool {
        let at = &self.lines[usize::from(line)];
        let put = at.buffer.is_some() && p.slip != Some(Slip::RequestPassesPut);
        if at.waiting.is_empty() || at.late || at.mshr.is_some() || put {
            return false;
        }
        let used = self.lines.iter().filter(|other| other.copy.state != State::I || other.mshr.is_some());
        let frame = at.copy.state != State::I || used.count() < p.ways;
        frame && self.lines.iter().filter(|other| other.mshr.is_some()).count() < p.mshrs
    }

    /// Sends it, on REQ or, if this is the home, to the slice beside.
    pub fn send(&mut self, line: Line, p: &Params, f: &mut Fabric, tally: &mut Tally) {
        let (node, home) = (self.node, p.home(line));
        let at = &mut self.lines[usize::from(line)];
        let Op { kind, number: head } = at.waiting[0];
        let asks = match (kind.writes(), node == home) {
            (false, false) => Asks::GetS,
            (true, false) => Asks::GetM,
            (false, true) => Asks::ReadHome,
            (true, true) => Asks::OwnHome,
        };
        let state = at.copy.state;
        if state == State::I {
            tally.plain("moesi_l2.replace.I");
        }
        at.mshr = Some(Mshr { asks, answer: None, owes: false, head, from_s: state == State::S });
        match asks {
            Asks::GetS => f.send(Packet { from: node, to: home, line, msg: Msg::GetS }),
            Asks::GetM => f.send(Packet { from: node, to: home, line, msg: Msg::GetM }),
            _ => {
                let others = || self.homes.iter().filter(|home| home.op.line == line);
                if others().count() != 0 {
                    tally.race(Race::OwnBehindRemote);
                }
                if asks == Asks::ReadHome && others().any(|home| home.dropped) {
                    tally.race(Race::ReadBehindDropped);
                }
                let alone = asks == Asks::ReadHome && state == State::I;
                f.out.push(Action::Ask(SliceOp { asks, src: node, line, alone }));
            }
        }
    }

    /// The copy of a line may be replaced.
    pub fn replaceable(&self, line: Line, p: &Params) -> bool {
        let at = &self.lines[usize::from(line)];
        let kept = at.mshr.is_some() && p.slip != Some(Slip::ReplaceUnderWay) || at.late;
        if at.copy.state == State::I || kept || at.buffer.is_some() {
            return false;
        }
        let places = self.lines.iter().filter(|other| other.buffer.is_some()).count();
        let silent = at.copy.state == State::S || p.home(line) == self.node;
        silent || places < p.writebacks
    }

    /// Something happens to a line that is no operation of the node: a replacement, or a message of the
    /// slice.
    pub fn event(
        &mut self,
        line: Line,
        event: Event,
        requester: Node,
        p: &Params,
        f: &mut Fabric,
        tally: &mut Tally,
    ) {
        let at = &mut self.lines[usize::from(line)];
        let replaced = event.own();
        let place = if replaced { Some(Place::Array(at.copy.state)) } else { at.place() };
        let Some((number, row)) = place.and_then(|place| bank_row(event, place)) else {
            return f.fail(format!("{event:?} of line {line} at node {}: never in {at:?}", self.node));
        };
        tally.row(number);
        races(at, event, place, tally);
        row.acts.iter().for_each(|act| act.run(self.node, line, at, requester, p, f));
        next(at, row, p);
        at.just_done = false;
    }
}

impl Act {
    fn run(self, node: Node, line: Line, at: &mut BankLine, requester: Node, p: &Params, f: &mut Fabric) {
        let home = p.home(line);
        let state = at.copy.state;
        let (data, dirty) = match at.buffer {
            Some(buffer) if at.copy.state == State::I => (buffer.data, buffer.dirty),
            _ => (at.copy.data, matches!(at.copy.state, State::M | State::O)),
        };
        let buffer = |dirty| Some(WriteBack { live: true, data, dirty, state, met: None });
        let mut send = |to, msg| f.send(Packet { from: node, to, line, msg });
        match self {
            Act::Perform | Act::Wait => {}
            Act::PutDirty => {
                at.buffer = buffer(true);
                send(home, Msg::Put(Some(data)));
            }
            Act::PutClean => {
                at.buffer = buffer(false);
                send(home, Msg::Put(None));
            }
            Act::Write => f.memory[usize::from(line)] = data,
            Act::Ack => send(home, Msg::Ack),
            Act::Send(grant) => send(requester, Msg::Data(grant, Some(data))),
            Act::Back => {
                let brings = dirty && p.slip != Some(Slip::BackWithoutData);
                send(home, Msg::Back(brings.then_some(data)));
            }
        }
    }
}

fn next(at: &mut BankLine, row: &BankRow, p: &Params) {
    let stays = match p.slip {
        Some(Slip::FwdMLeaves) => row.event == Event::FwdM,
        Some(Slip::InvNotApplied) => row.event == Event::Inv,
        _ => false,
    };
    match row.next {
        Next::To(_) | Next::Shell if stays => {}
        Next::To(state) if matches!(row.place, Place::Buffer(_)) => {
            at.buffer.iter_mut().for_each(|buffer| buffer.state = state);
        }
        Next::To(State::I) => at.copy = NOTHING,
        Next::To(state) => at.copy.state = state,
        Next::Shell => at.buffer.iter_mut().for_each(|buffer| (buffer.live, buffer.data) = (false, 0)),
        Next::Stay => {}
    }
}

fn races(at: &mut BankLine, event: Event, place: Option<Place>, tally: &mut Tally) {
    let replaced = event.own();
    if at.just_done && !replaced {
        tally.race(Race::NextAfterDone);
    }
    if let (Some(Place::Buffer(_)), Some(buffer)) = (place, &mut at.buffer) {
        buffer.met = Some(event);
    }
    match (event, place) {
        (Event::FwdS, Some(Place::Buffer(_))) => tally.race(Race::FwdSInBuffer),
        (Event::FwdM, Some(Place::Buffer(_))) => tally.race(Race::FwdMInBuffer),
        (Event::Recall, Some(Place::Buffer(_))) => tally.race(Race::RecallInBuffer),
        (Event::Inv, Some(Place::GetM(State::S))) => tally.race(Race::InvMeetsGetM),
        (Event::Inv, Some(Place::GetS(State::I))) => tally.race(Race::InvMeetsGetS),
        (Event::FwdS, Some(Place::GetM(State::O))) => tally.race(Race::FwdSMeetsGetM),
        (Event::FwdM, Some(Place::GetM(State::O))) => tally.race(Race::FwdMMeetsGetM),
        (Event::Recall, Some(Place::GetM(State::O))) => tally.race(Race::RecallMeetsGetM),
        _ => {}
    }
}
