//! The bank's home side (moesi.md section 6).

use super::fabric::{Fabric, Params};
use super::line::{Bank, BankLine, HomeOp, NOTHING};
use super::msg::{Action, Answer, Asks, Grant, Line, Msg, Node, Packet, SliceOp, Version};
use super::races::{Race, Tally};
use super::slips::Slip;
use super::table::{From, HomeRow, State, Turn, enter_row, home_row, own_row};

impl Bank {
    /// An answer of the slice, for a request of another node or of the own bank.
    pub fn answered(&mut self, op: SliceOp, answer: Answer, f: &mut Fabric, tally: &mut Tally) {
        if op.src == self.node {
            let at = &mut self.lines[usize::from(op.line)];
            let state = at.copy.state;
            let Some(mshr) = &mut at.mshr else {
                return f.fail(format!("{op:?} is answered, and there is no MSHR"));
            };
            if answer != Answer::Forwarded {
                mshr.answer = Some(answer);
                return;
            }
            match (op.asks, state) {
                (Asks::ReadHome, State::I) => tally.plain("moesi_l2.own.read.forwarded"),
                (Asks::OwnHome, State::I | State::S) => tally.plain("moesi_l2.own.write.forwarded"),
                _ => f.fail(format!("{op:?} of the home in {state:?} is forwarded")),
            }
            return;
        }
        let Some(at) = self.homes.iter().position(|home| home.op == op) else {
            return f.fail(format!("{op:?} is answered, and the home side has no such operation"));
        };
        if answer == Answer::Forwarded {
            let reads = op.asks == Asks::GetS;
            tally.plain(if reads { "moesi_l2.home.gets.forwarded" } else { "moesi_l2.home.getm.forwarded" });
            if self.homes.remove(at).dropped {
                tally.race(Race::DroppedAtEntry);
            }
        } else {
            self.homes[at].answer = Some(answer);
        }
    }

    /// The turn of an operation of another node that is answered.
    pub fn turn(&mut self, at: usize, p: &Params, f: &mut Fabric, tally: &mut Tally) {
        let HomeOp { op, data, answer, .. } = self.homes.remove(at);
        let (line, node) = (op.line, self.node);
        let own = &mut self.lines[usize::from(line)];
        let sees = if overlooks(op, answer, own.copy.state, p) { State::I } else { own.copy.state };
        let row = answer.and_then(|answer| home_row(op.asks, answer, sees));
        let Some((number, row)) = row else {
            return f
                .fail(format!("{op:?} is answered {answer:?}, and the own copy is {:?}: no row", own.copy));
        };
        tally.row(number);
        turn_races(op, data, row, own, tally);
        let (memory, copy) = (f.memory[usize::from(line)], own.copy.data);
        let mut send = |msg| f.send(Packet { from: node, to: op.src, line, msg });
        match row.does {
            Turn::Send(grant, from) => {
                let bytes = match from {
                    From::Memory => Some(memory),
                    From::Own => Some(copy),
                    From::Nowhere => None,
                };
                let slip = p.slip == Some(Slip::EBesideSharer) && grant == Grant::S;
                send(Msg::Data(if slip { Grant::E } else { grant }, bytes));
            }
            Turn::Written | Turn::PutAck => send(Msg::PutAck),
        }
        if let (true, Some(data)) = (writes(row.does, p), data) {
            f.memory[usize::from(line)] = data;
        }
        if row.does == Turn::Written && p.slip != Some(Slip::TakenWithoutRow) {
            f.out.push(Action::Written(line));
        }
        match row.next {
            next if next == row.own => {}
            State::I if p.slip == Some(Slip::OwnStays) => {}
            State::I => own.copy = NOTHING,
            next => own.copy.state = next,
        }
    }

    /// The turn of an own request that is answered: as Data.
    pub fn own_turn(&mut self, line: Line, p: &Params, f: &mut Fabric, tally: &mut Tally) {
        let at = &mut self.lines[usize::from(line)];
        let Some(mshr) = &mut at.mshr else { return };
        let Some(answer) = mshr.answer.take() else { return };
        let (asks, copy) = (mshr.asks, at.copy);
        let Some((number, row)) = own_row(asks, answer, copy.state) else {
            return f.fail(format!("{asks:?} is answered {answer:?}, and the own copy is {copy:?}: no row"));
        };
        tally.row(number);
        let data = if row.from == From::Own { copy.data } else { f.memory[usize::from(line)] };
        self.data(line, (row.grant, Some(data)), p, f, tally);
    }

    /// A Back of the recalled owner: dirty data goes to memory, then the slice has it.
    pub fn back(&mut self, line: Line, data: Option<Version>, f: &mut Fabric, tally: &mut Tally) {
        tally.plain(if data.is_some() { "moesi_l2.back" } else { "moesi_l2.back.clean" });
        if let Some(data) = data {
            f.memory[usize::from(line)] = data;
        }
        f.out.push(Action::Back(line));
    }

    /// A request of another node may enter: there is a place for it, and the own bank has no request of the
    /// line under way. (The slice's room is the caller's to look at.) A Put never waits for an own request:
    /// it asks for nothing that the own request could change.
    pub fn may_enter(&self, line: Line, msg: Msg, p: &Params) -> bool {
        let own = self.lines[usize::from(line)].mshr.is_some();
        let passes = match msg {
            Msg::Put(_) => true,
            Msg::GetS if p.slip == Some(Slip::FlagIgnoresMshr) => true,
            _ => p.slip == Some(Slip::RemotePassesOwnMshr),
        };
        self.homes.len() < p.homes && (passes || !own)
    }

    /// A request of another node enters: in one step it takes its place, gets its flag, drops the own S copy
    /// if it is a GetM, and comes into the slice's input. One step, since an own request that came between
    /// flag or drop and the place in the slice's order would bring a copy that nobody looks for.
    pub fn enter(
        &mut self,
        from: Node,
        (line, msg): (Line, Msg),
        p: &Params,
        f: &mut Fabric,
        tally: &mut Tally,
    ) {
        let (asks, data) = match msg {
            Msg::GetS => (Asks::GetS, None),
            Msg::GetM => (Asks::GetM, None),
            Msg::Put(data) => (Asks::Put, data),
            _ => return,
        };
        let own = &mut self.lines[usize::from(line)];
        let (mut alone, mut dropped) = (false, false);
        if let Some((number, row)) = enter_row(asks, own.copy.state) {
            tally.row(number);
            alone = row.alone && (own.mshr.is_none() || p.slip == Some(Slip::FlagIgnoresMshr));
            dropped = row.next != row.own && p.slip != Some(Slip::SCopyStaysAtEntry);
        }
        if dropped {
            own.copy = NOTHING;
        }
        if asks == Asks::Put {
            tally.plain("moesi_l2.enter.put");
        }
        let op = SliceOp { asks, src: from, line, alone };
        self.homes.push(HomeOp { op, data, asked: false, dropped, answer: None });
        if p.slip != Some(Slip::AloneIsStale) || asks != Asks::GetS {
            self.ask(self.homes.len() - 1, f);
        }
    }

    /// An operation comes into the slice's input: a step of its own for a slip only.
    pub fn ask(&mut self, at: usize, f: &mut Fabric) {
        self.homes[at].asked = true;
        f.out.push(Action::Ask(self.homes[at].op));
    }
}

fn writes(does: Turn, p: &Params) -> bool {
    does == Turn::Written || (does == Turn::PutAck && p.slip == Some(Slip::StalePutWrites))
}

/// A slip has let the own bank get a copy that this turn does not look for.
fn overlooks(op: SliceOp, answer: Option<Answer>, own: State, p: &Params) -> bool {
    match p.slip {
        Some(Slip::AloneIsStale | Slip::FlagIgnoresMshr | Slip::OwnPassesInQueue) => {
            answer == Some(Answer::Alone)
        }
        Some(Slip::SCopyStaysAtEntry | Slip::RemotePassesOwnMshr) => op.asks == Asks::GetM && own == State::S,
        _ => false,
    }
}

fn turn_races(op: SliceOp, data: Option<Version>, row: &HomeRow, own: &BankLine, tally: &mut Tally) {
    let waits = own.mshr.filter(|mshr| mshr.answer.is_none()).map(|mshr| mshr.asks);
    match (op.asks, own.copy.state) {
        (Asks::GetS, State::M) => tally.race(Race::OwnMReads),
        (Asks::GetM, State::E) => tally.race(Race::OwnEWrites),
        (Asks::GetM, State::O) if waits == Some(Asks::OwnHome) => tally.race(Race::OwnHomeLosesCopy),
        (Asks::GetS, State::I) if row.answer == Answer::Alone && waits.is_some() => {
            tally.race(Race::AskedBehindAlone);
        }
        (Asks::GetS, State::I) if !op.alone => tally.race(Race::FlagOutlived),
        (Asks::Put, State::S) if row.does == Turn::Written && data.is_none() => {
            tally.race(Race::CleanPutShared);
        }
        _ => {}
    }
}
