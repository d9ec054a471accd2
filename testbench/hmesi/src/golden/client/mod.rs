//! What a client of the L3 keeps of a line (spandex.md section 9), by its table: CPU L1s ([`cpu`]) and the GPU L2 ([`super::l2`]).

pub mod cpu;
pub mod table;

use super::msg::{Msg, Node, Op};
use super::slip::Slip;
use table::{Act, Cell, Event, State, cell};
use weft_spandex_bench::golden::msg::Data;

/// A line at a client, without its data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Entry {
    /// State.
    pub state: State,
    /// DataM has come.
    pub got: bool,
    /// InvAcks expected less those that have come: below zero before DataM.
    pub acks: i8,
}

impl Entry {
    /// The row of a message of FWD or RSP, whose counts are taken.
    pub fn receive(&mut self, op: &Op, slip: Option<Slip>) -> Event {
        let early = slip == Some(Slip::MWithoutAcks);
        match op {
            Op::Inv { .. } => return Event::Inv,
            Op::FwdGetS => return Event::FwdGetS,
            Op::FwdGetM => return Event::FwdGetM,
            Op::Recall => return Event::Recall,
            Op::DataS { owner: false } => return Event::DataS,
            Op::DataS { owner: true } => return Event::OwnerDataS,
            Op::DataE => return Event::DataE,
            Op::DataM { acks } => {
                self.got = true;
                self.acks += *acks as i8;
            }
            Op::InvAck => self.acks -= 1,
            _ => return Event::WbAck,
        }
        if self.got && (self.acks == 0 || early) {
            (self.got, self.acks) = (false, 0);
            return Event::Complete;
        }
        if *op == Op::InvAck { Event::InvAck } else { Event::DataM }
    }
    /// The cell of an event, as far as no rule is left out.
    pub fn cell(&self, event: Event, slip: Option<Slip>) -> Cell {
        let (acts, next) = cell(event, self.state);
        match (slip, event, self.state) {
            (Some(Slip::NoIi), _, State::Mi) if next == State::Ii => (acts, State::I),
            (Some(Slip::NoIi), Event::WbAck, _) if acts == [Act::Never] => (&[], self.state),
            (Some(Slip::IsiKeeps), Event::DataS | Event::OwnerDataS, State::Isi) => cell(event, State::Is),
            (Some(Slip::JoinIsi), Event::Load, State::Isi) => (&[Act::Join], State::Isi),
            (Some(Slip::IsiDropsE), Event::DataE, State::Isi) => (&[Act::UseOnce, Act::UnblockX], State::I),
            (Some(Slip::SmKeeps), Event::Inv, State::Sm) => (acts, State::Sm),
            (Some(Slip::MWithoutAcks), Event::InvAck, _) if acts == [Act::Never] => (&[], self.state),
            _ => (acts, next),
        }
    }
    /// An Inv or a forward waits, because of a rule left out.
    pub fn holds_up(&self, event: Event, slip: Option<Slip>) -> bool {
        let asks = matches!(self.state, State::Is | State::Isi | State::Im | State::Sm);
        match slip {
            Some(Slip::InvWaits) => event == Event::Inv && asks,
            Some(Slip::ForwardWaitsForPut) => event != Event::Inv && self.state == State::Mi,
            _ => false,
        }
    }
    /// What waits for an answer of the L3.
    pub fn open(&self) -> bool {
        !matches!(self.state, State::I | State::S | State::E | State::M)
    }
}

/// Who a client is: its number, and the number of banks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// Number.
    pub client: u8,
    /// L3 banks.
    pub banks: u8,
}

impl Place {
    /// The message that an act sends, if it sends one; `cause`: the message that it answers.
    pub fn message(&self, act: Act, line: u32, data: &Data, dirty: bool, cause: Option<&Msg>) -> Option<Msg> {
        let bank = Node::L3((line % u32::from(self.banks)) as u8);
        let to = Node::Client(cause.map_or(0, |cause| cause.req));
        let (dst, op) = match act {
            Act::GetS => (bank, Op::GetS),
            Act::GetM => (bank, Op::GetM),
            Act::PutE => (bank, Op::Put { dirty: false }),
            Act::PutM => (bank, Op::Put { dirty: true }),
            Act::InvAck => match cause.map(|cause| cause.op) {
                Some(Op::Inv { to }) => (to, Op::InvAck),
                _ => return None,
            },
            Act::DataS => (to, Op::DataS { owner: true }),
            Act::DataM => (to, Op::DataM { acks: 0 }),
            Act::WbDataKept => (bank, Op::WbData { dirty, kept: true }),
            Act::WbData => (bank, Op::WbData { dirty, kept: false }),
            Act::Unblock => (bank, Op::Unblock),
            Act::UnblockX => (bank, Op::UnblockX),
            _ => return None,
        };
        let msg = Msg::new(Node::Client(self.client), dst, op, line);
        let tag = match (op, dst) {
            (Op::GetS | Op::GetM | Op::Put { .. }, _) => u16::from(self.client) + 1,
            (_, Node::Client(_)) => cause.map_or(0, |cause| cause.tag),
            (_, Node::L3(_)) => 0,
        };
        let msg = Msg { req: 0, tag, ..msg };
        Some(if op.has_data() { msg.with(data) } else { msg })
    }
}
