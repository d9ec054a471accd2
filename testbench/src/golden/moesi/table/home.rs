//! Transition tables of the home side (moesi.md section 6), typed from the page as data.

use super::super::msg::{Answer, Asks, Grant};
use super::State::{self, E, I, M, O, S};
use super::{BANK, SLICE};

/// Where the home side takes data from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Memory.
    Memory,
    /// The own copy.
    Own,
    /// Nowhere: the requester has it.
    Nowhere,
}

/// What the home side does in its turn (section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Data to the requester.
    Send(Grant, From),
    /// Data of the Put, if it brings any, to memory; PutAck; the slice is told.
    Written,
    /// PutAck.
    PutAck,
}

/// A row of the home side.
#[derive(Clone, Copy, Debug)]
pub struct HomeRow {
    /// Identifier.
    pub id: &'static str,
    /// Whether it is a GetS, a GetM or a Put.
    pub asks: Asks,
    /// The answer.
    pub answer: Answer,
    /// The own copy.
    pub own: State,
    /// What is done.
    pub does: Turn,
    /// The own copy afterwards.
    pub next: State,
}

const fn home(id: &'static str, asks: Asks, answer: Answer, own: State, does: Turn, next: State) -> HomeRow {
    HomeRow { id, asks, answer, own, does, next }
}

const SHARED: Turn = Turn::Send(Grant::S, From::Own);
const GIVEN: Turn = Turn::Send(Grant::M, From::Own);
const KEPT: Turn = Turn::Send(Grant::M, From::Nowhere);

/// Section 6: requests of other nodes. "Forwarded" frees the place and does nothing. A GetM finds no own S
/// copy: it was dropped when the GetM entered, and the own bank's next request is behind it in the slice.
pub const HOME: &[HomeRow] = &[
    home("moesi_l2.home.gets.alone", Asks::GetS, Answer::Alone, I, Turn::Send(Grant::E, From::Memory), I),
    home("moesi_l2.home.gets.I", Asks::GetS, Answer::Home, I, Turn::Send(Grant::S, From::Memory), I),
    home("moesi_l2.home.gets.S", Asks::GetS, Answer::Home, S, SHARED, S),
    home("moesi_l2.home.gets.O", Asks::GetS, Answer::Home, O, SHARED, O),
    home("moesi_l2.home.gets.E", Asks::GetS, Answer::Home, E, SHARED, O),
    home("moesi_l2.home.gets.M", Asks::GetS, Answer::Home, M, SHARED, O),
    home("moesi_l2.home.getm.I", Asks::GetM, Answer::Home, I, Turn::Send(Grant::M, From::Memory), I),
    home("moesi_l2.home.getm.O", Asks::GetM, Answer::Home, O, GIVEN, I),
    home("moesi_l2.home.getm.E", Asks::GetM, Answer::Home, E, GIVEN, I),
    home("moesi_l2.home.getm.M", Asks::GetM, Answer::Home, M, GIVEN, I),
    home("moesi_l2.home.getm.keep", Asks::GetM, Answer::Keep, I, KEPT, I),
    home("moesi_l2.home.put.taken", Asks::Put, Answer::Taken, I, Turn::Written, I),
    home("moesi_l2.home.put.taken", Asks::Put, Answer::Taken, S, Turn::Written, S),
    home("moesi_l2.home.put.stale", Asks::Put, Answer::Stale, I, Turn::PutAck, I),
    home("moesi_l2.home.put.stale", Asks::Put, Answer::Stale, S, Turn::PutAck, S),
    home("moesi_l2.home.put.stale", Asks::Put, Answer::Stale, O, Turn::PutAck, O),
    home("moesi_l2.home.put.stale", Asks::Put, Answer::Stale, E, Turn::PutAck, E),
    home("moesi_l2.home.put.stale", Asks::Put, Answer::Stale, M, Turn::PutAck, M),
];

/// A request of another node enters: what becomes of the own copy, and what the slice is told.
#[derive(Clone, Copy, Debug)]
pub struct EnterRow {
    /// Identifier.
    pub id: &'static str,
    /// GetS or GetM.
    pub asks: Asks,
    /// The own copy.
    pub own: State,
    /// The own copy afterwards.
    pub next: State,
    /// The flag of the operation.
    pub alone: bool,
}

const fn enter(id: &'static str, asks: Asks, own: State, next: State, alone: bool) -> EnterRow {
    EnterRow { id, asks, own, next, alone }
}

/// Section 6: a GetS or GetM enters; there is no own MSHR of the line. An own copy in O, E or M stays until
/// the turn, for it answers for the line. One in S must go now: a GetM that is forwarded has no turn, and
/// its FwdM leaves without asking the home's bank again.
pub const ENTER: &[EnterRow] = &[
    enter("moesi_l2.enter.gets.I", Asks::GetS, I, I, true),
    enter("moesi_l2.enter.gets.S", Asks::GetS, S, S, false),
    enter("moesi_l2.enter.gets.O", Asks::GetS, O, O, false),
    enter("moesi_l2.enter.gets.E", Asks::GetS, E, E, false),
    enter("moesi_l2.enter.gets.M", Asks::GetS, M, M, false),
    enter("moesi_l2.enter.getm.I", Asks::GetM, I, I, false),
    enter("moesi_l2.enter.getm.S", Asks::GetM, S, I, false),
    enter("moesi_l2.enter.getm.O", Asks::GetM, O, O, false),
    enter("moesi_l2.enter.getm.E", Asks::GetM, E, E, false),
    enter("moesi_l2.enter.getm.M", Asks::GetM, M, M, false),
];

/// A row of the home's own requests: the answer, the own copy, where data is from, the grant.
#[derive(Clone, Copy, Debug)]
pub struct OwnRow {
    /// Identifier.
    pub id: &'static str,
    /// ReadHome or OwnHome.
    pub asks: Asks,
    /// The answer.
    pub answer: Answer,
    /// The own copy.
    pub own: State,
    /// Where data is from.
    pub from: From,
    /// The grant.
    pub grant: Grant,
}

const fn own(id: &'static str, asks: Asks, answer: Answer, own: State, from: From, grant: Grant) -> OwnRow {
    OwnRow { id, asks, answer, own, from, grant }
}

/// Section 6: the home's own requests. "Forwarded": Data comes from the owner.
pub const OWN: &[OwnRow] = &[
    own("moesi_l2.own.read.alone", Asks::ReadHome, Answer::Alone, I, From::Memory, Grant::E),
    own("moesi_l2.own.read.home", Asks::ReadHome, Answer::Home, I, From::Memory, Grant::S),
    own("moesi_l2.own.write.I", Asks::OwnHome, Answer::Home, I, From::Memory, Grant::M),
    own("moesi_l2.own.write.copy", Asks::OwnHome, Answer::Home, S, From::Own, Grant::M),
    own("moesi_l2.own.write.copy", Asks::OwnHome, Answer::Home, O, From::Own, Grant::M),
];

/// The row for a turn of the home side.
pub fn home_row(asks: Asks, answer: Answer, own: State) -> Option<(usize, &'static HomeRow)> {
    let hit = |row: &HomeRow| row.asks == asks && row.answer == answer && row.own == own;
    let (at, row) = HOME.iter().enumerate().find(|(_, row)| hit(row))?;
    Some((BANK.len() + SLICE.len() + at, row))
}

/// The row for an answer to an own request of the home.
pub fn own_row(asks: Asks, answer: Answer, own: State) -> Option<(usize, &'static OwnRow)> {
    let hit = |row: &OwnRow| row.asks == asks && row.answer == answer && row.own == own;
    let (at, row) = OWN.iter().enumerate().find(|(_, row)| hit(row))?;
    Some((BANK.len() + SLICE.len() + HOME.len() + at, row))
}

/// The row for a request of another node that enters; a Put has none.
pub fn enter_row(asks: Asks, own: State) -> Option<(usize, &'static EnterRow)> {
    let (at, row) = ENTER.iter().enumerate().find(|(_, row)| row.asks == asks && row.own == own)?;
    Some((BANK.len() + SLICE.len() + HOME.len() + OWN.len() + at, row))
}
