//! Transition tables of the directories (rec.md section 4), typed from the specification as data.

use super::params::DirKind;
use serde::{Deserialize, Serialize};

/// Operation of a directory (field `op` of `req`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DirOp {
    /// Read by a remote GPU.
    RdRem,
    /// Write by a remote GPU, which stays a sharer.
    WrRem,
    /// Write by the home itself (CU, DMA, host copy).
    WrLoc,
    /// Atomic by a remote GPU, executed at home.
    AtomRem,
}

impl DirOp {
    /// All four, in the order of the `op` encoding.
    pub const ALL: [DirOp; 4] = [DirOp::RdRem, DirOp::WrRem, DirOp::WrLoc, DirOp::AtomRem];

    /// True for the operations that change data and so wait for a pending eviction of their slot.
    pub fn writes(self) -> bool {
        self != DirOp::RdRem
    }
}

/// What the lookup found: the column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Found {
    /// No entry with this base.
    Miss,
    /// An entry, but no sharer of the addressed slot (REC only).
    SlotEmpty,
    /// An entry with sharers of the addressed slot.
    SlotSet,
}

/// What becomes of `s`, the sharers of the addressed slot, when GPU `g` asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharers {
    /// Nothing changes.
    Keep,
    /// s := {g}.
    Requester,
    /// s := s + {g}.
    AddRequester,
    /// s := s and {g}.
    OnlyIfSharer,
    /// s := {}.
    Clear,
}

/// Who gets an Inv with cause WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalidate {
    /// Nobody.
    Nobody,
    /// s without g.
    Others,
    /// All of s.
    Everyone,
}

/// One row of a directory's transition table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirRow {
    /// Stable identifier, the name of the row's cover point.
    pub id: &'static str,
    /// Directory that the row belongs to.
    pub kind: DirKind,
    /// Operation.
    pub op: DirOp,
    /// Result of the lookup.
    pub found: Found,
    /// An entry is allocated (I->V, or V->V with an eviction).
    pub allocate: bool,
    /// New sharers of the slot. An entry whose last slot becomes empty goes V->I.
    pub sharers: Sharers,
    /// Destinations of the write invalidation; of all 4 lines in `dir_group4`.
    pub inv: Invalidate,
    /// The way is made the youngest under `lru` (insertion does it under both policies).
    pub touch: bool,
    /// The row in words, as the specification puts it.
    pub text: &'static str,
}

const ALLOC: (bool, Sharers, Invalidate, bool) = (true, Sharers::Requester, Invalidate::Nobody, true);
const NOTHING: (bool, Sharers, Invalidate, bool) = (false, Sharers::Keep, Invalidate::Nobody, false);
const FILL_SLOT: (bool, Sharers, Invalidate, bool) = (false, Sharers::Requester, Invalidate::Nobody, true);
const SHARE: (bool, Sharers, Invalidate, bool) = (false, Sharers::AddRequester, Invalidate::Nobody, true);
const TAKE: (bool, Sharers, Invalidate, bool) = (false, Sharers::Requester, Invalidate::Others, true);
const WIPE: (bool, Sharers, Invalidate, bool) = (false, Sharers::Clear, Invalidate::Everyone, false);
const WIPE_OTHERS: (bool, Sharers, Invalidate, bool) = (false, Sharers::Clear, Invalidate::Others, false);
const RETAIN: (bool, Sharers, Invalidate, bool) = (false, Sharers::OnlyIfSharer, Invalidate::Others, false);

const fn row(
    kind: DirKind,
    id: &'static str,
    op: DirOp,
    found: Found,
    (allocate, sharers, inv, touch): (bool, Sharers, Invalidate, bool),
    text: &'static str,
) -> DirRow {
    DirRow { id, kind, op, found, allocate, sharers, inv, touch, text }
}

use DirKind::{Group4, Ideal, Perline, Rec};
use DirOp::{AtomRem, RdRem, WrLoc, WrRem};
use Found::{Miss, SlotEmpty, SlotSet};

/// `rec_dir`: 4 operations by 3 lookup results.
pub const REC: [DirRow; 12] = [
    row(Rec, "rec.RD_REM.base_miss", RdRem, Miss, ALLOC, "allocate; slot={g}; I->V"),
    row(Rec, "rec.RD_REM.hit_slot_empty", RdRem, SlotEmpty, FILL_SLOT, "slot={g}"),
    row(Rec, "rec.RD_REM.hit_slot_set", RdRem, SlotSet, SHARE, "s |= g"),
    row(Rec, "rec.WR_REM.base_miss", WrRem, Miss, ALLOC, "allocate; slot={g}"),
    row(Rec, "rec.WR_REM.hit_slot_empty", WrRem, SlotEmpty, FILL_SLOT, "slot={g}"),
    row(Rec, "rec.WR_REM.hit_slot_set", WrRem, SlotSet, TAKE, "s := {g}; Inv(s without g, WRITE)"),
    row(Rec, "rec.WR_LOC.base_miss", WrLoc, Miss, NOTHING, "nothing"),
    row(Rec, "rec.WR_LOC.hit_slot_empty", WrLoc, SlotEmpty, NOTHING, "nothing"),
    row(
        Rec,
        "rec.WR_LOC.hit_slot_set",
        WrLoc,
        SlotSet,
        WIPE,
        "Inv(s, WRITE); clear slot; if no slot left: V->I",
    ),
    row(Rec, "rec.ATOM_REM.base_miss", AtomRem, Miss, NOTHING, "nothing"),
    row(Rec, "rec.ATOM_REM.hit_slot_empty", AtomRem, SlotEmpty, NOTHING, "nothing"),
    row(
        Rec,
        "rec.ATOM_REM.hit_slot_set",
        AtomRem,
        SlotSet,
        WIPE_OTHERS,
        "Inv(s without g, WRITE); clear slot; if no slot left: V->I",
    ),
];

/// `dir_perline`: the REC table with one slot, so that an empty slot cannot occur.
pub const PERLINE: [DirRow; 8] = [
    row(Perline, "perline.RD_REM.miss", RdRem, Miss, ALLOC, "allocate; s={g}; I->V"),
    row(Perline, "perline.RD_REM.hit", RdRem, SlotSet, SHARE, "s |= g"),
    row(Perline, "perline.WR_REM.miss", WrRem, Miss, ALLOC, "allocate; s={g}; I->V"),
    row(Perline, "perline.WR_REM.hit", WrRem, SlotSet, TAKE, "s := {g}; Inv(s without g, WRITE)"),
    row(Perline, "perline.WR_LOC.miss", WrLoc, Miss, NOTHING, "nothing"),
    row(Perline, "perline.WR_LOC.hit", WrLoc, SlotSet, WIPE, "Inv(s, WRITE); V->I"),
    row(Perline, "perline.ATOM_REM.miss", AtomRem, Miss, NOTHING, "nothing"),
    row(Perline, "perline.ATOM_REM.hit", AtomRem, SlotSet, WIPE_OTHERS, "Inv(s without g, WRITE); V->I"),
];

/// `dir_group4`: one tag and one sharer vector per aligned 4 lines; every Inv has `grp` set.
pub const GROUP4: [DirRow; 8] = [
    row(Group4, "group4.RD_REM.miss", RdRem, Miss, ALLOC, "allocate; s={g}; I->V"),
    row(Group4, "group4.RD_REM.hit", RdRem, SlotSet, SHARE, "s |= g"),
    row(Group4, "group4.WR_REM.miss", WrRem, Miss, ALLOC, "allocate; s={g}; I->V"),
    row(Group4, "group4.WR_REM.hit", WrRem, SlotSet, TAKE, "s := {g}; Inv of all 4 lines to s without g"),
    row(Group4, "group4.WR_LOC.miss", WrLoc, Miss, NOTHING, "nothing"),
    row(Group4, "group4.WR_LOC.hit", WrLoc, SlotSet, WIPE, "Inv of all 4 lines to s; V->I"),
    row(Group4, "group4.ATOM_REM.miss", AtomRem, Miss, NOTHING, "nothing"),
    row(
        Group4,
        "group4.ATOM_REM.hit",
        AtomRem,
        SlotSet,
        RETAIN,
        "Inv of 4 lines to s without g; s := s and {g}; V->I if empty",
    ),
];

/// `dir_ideal`: the per-line table on an unbounded map, so that an allocation never evicts.
pub const IDEAL: [DirRow; 8] = [
    row(Ideal, "ideal.RD_REM.miss", RdRem, Miss, ALLOC, "new map entry; s={g}"),
    row(Ideal, "ideal.RD_REM.hit", RdRem, SlotSet, SHARE, "s |= g"),
    row(Ideal, "ideal.WR_REM.miss", WrRem, Miss, ALLOC, "new map entry; s={g}"),
    row(Ideal, "ideal.WR_REM.hit", WrRem, SlotSet, TAKE, "s := {g}; Inv(s without g, WRITE)"),
    row(Ideal, "ideal.WR_LOC.miss", WrLoc, Miss, NOTHING, "nothing"),
    row(Ideal, "ideal.WR_LOC.hit", WrLoc, SlotSet, WIPE, "Inv(s, WRITE); entry removed"),
    row(Ideal, "ideal.ATOM_REM.miss", AtomRem, Miss, NOTHING, "nothing"),
    row(Ideal, "ideal.ATOM_REM.hit", AtomRem, SlotSet, WIPE_OTHERS, "Inv(s without g, WRITE); entry removed"),
];

/// The table of a kind.
pub fn table(kind: DirKind) -> &'static [DirRow] {
    match kind {
        Perline => &PERLINE,
        Group4 => &GROUP4,
        Rec => &REC,
        Ideal => &IDEAL,
    }
}

/// The row for an operation and a lookup result; `None` for a pair that cannot occur.
pub fn lookup(kind: DirKind, op: DirOp, found: Found) -> Option<&'static DirRow> {
    table(kind).iter().find(|r| r.op == op && r.found == found)
}
