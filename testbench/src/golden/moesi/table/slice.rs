//! Transition table of the slice (moesi.md section 4).

use super::super::msg::{Answer, Asks};
use super::BANK;

/// What the slice finds, as who asks sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No entry, and the operation says that the home's own bank has no copy.
    Alone,
    /// No entry.
    Miss,
    /// Nobody but who asks is a sharer.
    Sole,
    /// Other sharers, and no owner.
    Shared,
    /// An owner that is not who asks.
    Owner,
    /// The same, and other sharers.
    OwnerShared,
    /// Who asks is the owner.
    Own,
    /// The same, and there are sharers.
    OwnShared,
}

/// How long the line is kept by a row of the pending table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// No row.
    Nothing,
    /// Until the requester's Done.
    Done,
    /// Until the home side has written memory.
    Written,
}

/// What the entry says at the end of the row, or at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As before.
    Stay,
    /// The requester is a sharer more.
    Share,
    /// The same, written when the row begins.
    ShareNow,
    /// The requester is owner, and nobody shares.
    Own,
    /// The same, written when the row begins.
    OwnNow,
    /// No entry.
    Free,
    /// No owner; no entry if nobody shares.
    Disown,
}

/// A row of the slice.
#[derive(Clone, Copy, Debug)]
pub struct SliceRow {
    /// Identifier, the name of its cover point; other rows may have the same.
    pub id: &'static str,
    /// Operation.
    pub asks: Asks,
    /// What it finds.
    pub found: Found,
    /// An entry is allocated.
    pub allocate: bool,
    /// Inv to all sharers but the requester; their Acks are awaited.
    pub invs: bool,
    /// Answer after the Acks.
    pub answer: Answer,
    /// How long the line is kept.
    pub until: Until,
    /// What the entry says then.
    pub end: End,
}

impl SliceRow {
    /// The owner gets FwdS or FwdM.
    pub fn forwards(&self) -> bool {
        self.answer == Answer::Forwarded
    }
}

const fn slice(
    id: &'static str,
    (asks, found): (Asks, Found),
    (allocate, invs): (bool, bool),
    answer: Answer,
    (until, end): (Until, End),
) -> SliceRow {
    SliceRow { id, asks, found, allocate, invs, answer, until, end }
}

const NO: (bool, bool) = (false, false);
const NEW: (bool, bool) = (true, false);
const INVS: (bool, bool) = (false, true);

use Found::{Alone, Miss, Own, OwnShared, Owner, OwnerShared, Shared, Sole};

/// Section 4. With the answer "forwarded" the owner gets FwdS or FwdM. A Put never finds its sender to be
/// the only sharer: until PutAck it asks for nothing, and who took the line from it took the sharers, too.
pub const SLICE: &[SliceRow] = &[
    slice("moesi.gets.miss.alone", (Asks::GetS, Alone), NEW, Answer::Alone, (Until::Done, End::OwnNow)),
    slice("moesi.gets.miss", (Asks::GetS, Miss), NEW, Answer::Home, (Until::Done, End::ShareNow)),
    slice("moesi.gets.sole", (Asks::GetS, Sole), NO, Answer::Home, (Until::Done, End::Share)),
    slice("moesi.gets.shared", (Asks::GetS, Shared), NO, Answer::Home, (Until::Done, End::Share)),
    slice("moesi.gets.owner", (Asks::GetS, Owner), NO, Answer::Forwarded, (Until::Done, End::Share)),
    slice(
        "moesi.gets.owner.shared",
        (Asks::GetS, OwnerShared),
        NO,
        Answer::Forwarded,
        (Until::Done, End::Share),
    ),
    slice("moesi.getm.miss", (Asks::GetM, Miss), NEW, Answer::Home, (Until::Done, End::Own)),
    slice("moesi.getm.sole", (Asks::GetM, Sole), NO, Answer::Home, (Until::Done, End::Own)),
    slice("moesi.getm.shared", (Asks::GetM, Shared), INVS, Answer::Home, (Until::Done, End::Own)),
    slice("moesi.getm.owner", (Asks::GetM, Owner), NO, Answer::Forwarded, (Until::Done, End::Own)),
    slice(
        "moesi.getm.owner.shared",
        (Asks::GetM, OwnerShared),
        INVS,
        Answer::Forwarded,
        (Until::Done, End::Own),
    ),
    slice("moesi.getm.own", (Asks::GetM, Own), NO, Answer::Keep, (Until::Done, End::Own)),
    slice("moesi.getm.own.shared", (Asks::GetM, OwnShared), INVS, Answer::Keep, (Until::Done, End::Own)),
    slice("moesi.read.miss", (Asks::ReadHome, Alone), NO, Answer::Alone, (Until::Done, End::Stay)),
    slice("moesi.read.shared", (Asks::ReadHome, Shared), NO, Answer::Home, (Until::Done, End::Stay)),
    slice("moesi.read.owner", (Asks::ReadHome, Owner), NO, Answer::Forwarded, (Until::Done, End::Stay)),
    slice(
        "moesi.read.owner.shared",
        (Asks::ReadHome, OwnerShared),
        NO,
        Answer::Forwarded,
        (Until::Done, End::Stay),
    ),
    slice("moesi.own.miss", (Asks::OwnHome, Miss), NO, Answer::Home, (Until::Done, End::Free)),
    slice("moesi.own.shared", (Asks::OwnHome, Shared), INVS, Answer::Home, (Until::Done, End::Free)),
    slice("moesi.own.owner", (Asks::OwnHome, Owner), NO, Answer::Forwarded, (Until::Done, End::Free)),
    slice(
        "moesi.own.owner.shared",
        (Asks::OwnHome, OwnerShared),
        INVS,
        Answer::Forwarded,
        (Until::Done, End::Free),
    ),
    slice("moesi.put.own", (Asks::Put, Own), NO, Answer::Taken, (Until::Written, End::Disown)),
    slice("moesi.put.own.shared", (Asks::Put, OwnShared), NO, Answer::Taken, (Until::Written, End::Disown)),
    slice("moesi.put.stale", (Asks::Put, Miss), NO, Answer::Stale, (Until::Nothing, End::Stay)),
    slice("moesi.put.stale", (Asks::Put, Shared), NO, Answer::Stale, (Until::Nothing, End::Stay)),
    slice("moesi.put.stale", (Asks::Put, Owner), NO, Answer::Stale, (Until::Nothing, End::Stay)),
    slice("moesi.put.stale", (Asks::Put, OwnerShared), NO, Answer::Stale, (Until::Nothing, End::Stay)),
];

/// The row for an operation of the slice.
pub fn slice_row(asks: Asks, found: Found) -> Option<(usize, &'static SliceRow)> {
    let (at, row) = SLICE.iter().enumerate().find(|(_, row)| row.asks == asks && row.found == found)?;
    Some((BANK.len() + at, row))
}
