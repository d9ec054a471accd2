//! What comes to a directory and what it can do to a slot of an entry (rec.md section 4, hmg.md section 4): the words of its transition tables.

use weft_rtl::prelude::*;

/// What the lookup found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Found {
    /// No entry has this base.
    #[hw(label = "miss")]
    Miss,
    /// An entry, but no sharer of the slot (kinds with ranges only).
    #[hw(label = "hit, slot empty")]
    SlotEmpty,
    /// An entry with sharers of the slot.
    #[hw(label = "hit, slot set")]
    SlotSet,
}

/// What comes to a directory: an operation on `req`, with the encoding of [`crate::msg::DirOp`], or an Inv on `recv` (two levels only), 8 and its cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Event {
    /// Read by a remote node.
    #[hw(label = "RD_REM")]
    RdRem = 0,
    /// Write by a remote node.
    #[hw(label = "WR_REM")]
    WrRem = 1,
    /// Write by the home itself.
    #[hw(label = "WR_LOC")]
    WrLoc = 2,
    /// Atomic by a remote node.
    #[hw(label = "ATOM_REM")]
    AtomRem = 3,
    /// A sharer has dropped its last line (sharer downgrade only).
    #[hw(label = "DOWNGRADE")]
    Downgrade = 4,
    /// An Inv of a write or atomic.
    #[hw(label = "INV_RECV")]
    RecvWrite = 8,
    /// An Inv of an eviction.
    #[hw(label = "INV_RECV_EVICT")]
    RecvEvict = 9,
}

/// What a row does. Without an action that names the new sharers of the slot they stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum DirAct {
    /// Allocate an entry.
    Allocate,
    /// The requester is the only sharer.
    OnlyRequester,
    /// The requester joins the sharers.
    AddRequester,
    /// The requester stays a sharer if it was one, the others do not.
    KeepRequester,
    /// The requester is no sharer any more.
    DropRequester,
    /// Nobody is a sharer any more.
    Clear,
    /// The sharers but the requester get Invs.
    InvOthers,
    /// All sharers get Invs.
    InvAll,
    /// These pass a received Inv on, with its cause.
    Forward,
    /// The answer says whether nothing is recorded.
    ReportEmpty,
    /// The way becomes the youngest under `lru`.
    Touch,
}

/// What a row does, in the order of its actions.
pub type Actions = &'static [DirAct];

/// A new entry for the requester.
pub const ALLOC: Actions = &[DirAct::Allocate, DirAct::OnlyRequester, DirAct::Touch];
/// The slot's first sharer.
pub const FILL: Actions = &[DirAct::OnlyRequester, DirAct::Touch];
/// One sharer more.
pub const SHARE: Actions = &[DirAct::AddRequester, DirAct::Touch];
/// The requester becomes the only sharer.
pub const TAKE: Actions = &[DirAct::OnlyRequester, DirAct::InvOthers, DirAct::Touch];
/// Nobody stays a sharer.
pub const WIPE: Actions = &[DirAct::Clear, DirAct::InvAll];
/// Nobody stays a sharer; the requester, who has no copy, is not told.
pub const WIPE_OTHERS: Actions = &[DirAct::Clear, DirAct::InvOthers];
/// The requester stays one if it was.
pub const RETAIN: Actions = &[DirAct::KeepRequester, DirAct::InvOthers];
/// A received Inv goes on.
pub const FORWARD: Actions = &[DirAct::Clear, DirAct::InvAll, DirAct::Forward];
/// An answer about nothing.
pub const ASK: Actions = &[DirAct::ReportEmpty];
/// The requester leaves.
pub const DROP: Actions = &[DirAct::DropRequester, DirAct::ReportEmpty];
/// No action.
pub const NOTHING: Actions = &[];

/// Event, what it does on a miss, on an empty slot, on a slot with sharers.
pub type Operation = (Event, Actions, Actions, Actions);

/// The operations of directories that do not record who asks for an atomic (rec.md section 4).
pub const UNRECORDED_ATOMICS: &[Operation] = &[
    (Event::RdRem, ALLOC, FILL, SHARE),
    (Event::WrRem, ALLOC, FILL, TAKE),
    (Event::WrLoc, NOTHING, NOTHING, WIPE),
    (Event::AtomRem, NOTHING, NOTHING, WIPE_OTHERS),
];

/// The operations of those to which an atomic is a store (hmg.md section 4).
pub const RECORDED_ATOMICS: &[Operation] = &[
    (Event::RdRem, ALLOC, FILL, SHARE),
    (Event::WrRem, ALLOC, FILL, TAKE),
    (Event::WrLoc, NOTHING, NOTHING, WIPE),
    (Event::AtomRem, ALLOC, FILL, TAKE),
];
