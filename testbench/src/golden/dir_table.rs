//! Transition tables of the directories (rec.md section 4, hmg.md section 4), typed from the specification as data.

use super::params::DirKind;
use serde::{Deserialize, Serialize};

/// What a directory does: an operation (field `op` of `req`), or what an Inv on `recv` asks for.
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
    /// Where nodes are GPMs: a sharer no longer holds the line, or a line of the group.
    Downgrade,
    /// HMG and its REC: an Inv with cause WRITE was received at a GPU home.
    InvRecv,
    /// HMG and its REC: an Inv with cause EVICT was received at a GPU home.
    InvRecvEvict,
}

impl DirOp {
    /// All: the operations in the order of the `op` encoding, then what was received.
    pub const ALL: [DirOp; 7] = [
        DirOp::RdRem,
        DirOp::WrRem,
        DirOp::WrLoc,
        DirOp::AtomRem,
        DirOp::Downgrade,
        DirOp::InvRecv,
        DirOp::InvRecvEvict,
    ];

    /// The operations that a directory of this kind understands.
    pub fn of(kind: DirKind) -> Vec<DirOp> {
        let all = DirOp::ALL.into_iter();
        match kind {
            DirKind::Hmg | DirKind::HmgRec => all.collect(),
            DirKind::Nhcc => all.filter(|op| !op.received()).collect(),
            _ => all.take(4).collect(),
        }
    }

    /// An Inv was received.
    pub fn received(self) -> bool {
        matches!(self, DirOp::InvRecv | DirOp::InvRecvEvict)
    }

    /// True for the operations that wait for a pending eviction of their slot: those that change data, and those that
    /// something behind them in the order of the INV channels relies on. What was received waits for nothing: it tells the
    /// sharers that the eviction has not told yet.
    pub fn writes(self) -> bool {
        self != DirOp::RdRem && !self.received()
    }
}

/// What the lookup found: the column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Found {
    /// No entry with this base.
    Miss,
    /// An entry, but no sharer of the addressed slot (ranges only).
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
    /// s := s without g.
    Remove,
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
const REMOVE: (bool, Sharers, Invalidate, bool) = (false, Sharers::Remove, Invalidate::Nobody, false);
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

use DirKind::{Group4, Hmg, HmgRec, Ideal, Nhcc, Perline, Rec};
use DirOp::{AtomRem, Downgrade, InvRecv, InvRecvEvict, RdRem, WrLoc, WrRem};
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
    row(Rec, "rec.WR_LOC.hit_slot_set", WrLoc, SlotSet, WIPE, ALL_WRITE),
    row(Rec, "rec.ATOM_REM.base_miss", AtomRem, Miss, NOTHING, "nothing"),
    row(Rec, "rec.ATOM_REM.hit_slot_empty", AtomRem, SlotEmpty, NOTHING, "nothing"),
    row(Rec, "rec.ATOM_REM.hit_slot_set", AtomRem, SlotSet, WIPE_OTHERS, OTHERS_WRITE),
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

/// The directory of NHCC (hmg.md sections 1 and 4): s holds nodes; atomics count as stores; downgrade is optional.
pub const NHCC: [DirRow; 10] = [
    row(Nhcc, "nhcc.RD_REM.miss", RdRem, Miss, ALLOC, "add s -> V"),
    row(Nhcc, "nhcc.RD_REM.hit", RdRem, SlotSet, SHARE, "add s"),
    row(Nhcc, "nhcc.WR_REM.miss", WrRem, Miss, ALLOC, "add s -> V"),
    row(Nhcc, "nhcc.WR_REM.hit", WrRem, SlotSet, TAKE, "add s, Inv all others (sharers := {s})"),
    row(Nhcc, "nhcc.WR_LOC.miss", WrLoc, Miss, NOTHING, "nothing"),
    row(Nhcc, "nhcc.WR_LOC.hit", WrLoc, SlotSet, WIPE, "Inv all sharers -> I"),
    row(Nhcc, "nhcc.ATOM_REM.miss", AtomRem, Miss, ALLOC, "add s -> V"),
    row(Nhcc, "nhcc.ATOM_REM.hit", AtomRem, SlotSet, TAKE, "add s, Inv all others (sharers := {s})"),
    row(Nhcc, "nhcc.DOWNGRADE.miss", Downgrade, Miss, NOTHING, "nothing"),
    row(Nhcc, "nhcc.DOWNGRADE.hit", Downgrade, SlotSet, REMOVE, "remove s; no sharer left -> I"),
];

/// The directory of HMG (hmg.md section 4): s holds GPMs of the own GPU and other GPUs, and Invs are received at GPU homes.
pub const HMG: [DirRow; 14] = [
    row(Hmg, "hmg.RD_REM.miss", RdRem, Miss, ALLOC, "add s -> V"),
    row(Hmg, "hmg.RD_REM.hit", RdRem, SlotSet, SHARE, "add s"),
    row(Hmg, "hmg.WR_REM.miss", WrRem, Miss, ALLOC, "add s -> V"),
    row(Hmg, "hmg.WR_REM.hit", WrRem, SlotSet, TAKE, "add s, Inv all others (sharers := {s})"),
    row(Hmg, "hmg.WR_LOC.miss", WrLoc, Miss, NOTHING, "nothing"),
    row(Hmg, "hmg.WR_LOC.hit", WrLoc, SlotSet, WIPE, "Inv all sharers -> I"),
    row(Hmg, "hmg.ATOM_REM.miss", AtomRem, Miss, ALLOC, "add s -> V"),
    row(Hmg, "hmg.ATOM_REM.hit", AtomRem, SlotSet, TAKE, "add s, Inv all others (sharers := {s})"),
    row(Hmg, "hmg.INV_RECV.miss", InvRecv, Miss, NOTHING, "nothing"),
    row(Hmg, "hmg.INV_RECV.hit", InvRecv, SlotSet, WIPE, "forward Inv to all sharers -> I"),
    row(Hmg, "hmg.INV_RECV_EVICT.miss", InvRecvEvict, Miss, NOTHING, "nothing"),
    row(Hmg, "hmg.INV_RECV_EVICT.hit", InvRecvEvict, SlotSet, WIPE, "forward Inv to all sharers -> I"),
    row(Hmg, "hmg.DOWNGRADE.miss", Downgrade, Miss, NOTHING, "nothing"),
    row(Hmg, "hmg.DOWNGRADE.hit", Downgrade, SlotSet, REMOVE, "remove s; no sharer left -> I"),
];

/// REC under the HMG hierarchy (rec.md section 8.1): REC's transitions of a slot, whose s holds GPMs of the own GPU and other GPUs; Invs received at a GPU
/// home clear their slot, and downgrade is HMG's, line by line.
pub const HMG_REC: [DirRow; 21] = [
    row(HmgRec, "hmg_rec.RD_REM.base_miss", RdRem, Miss, ALLOC, "allocate; slot={g}; I->V"),
    row(HmgRec, "hmg_rec.RD_REM.hit_slot_empty", RdRem, SlotEmpty, FILL_SLOT, "slot={g}"),
    row(HmgRec, "hmg_rec.RD_REM.hit_slot_set", RdRem, SlotSet, SHARE, "s |= g"),
    row(HmgRec, "hmg_rec.WR_REM.base_miss", WrRem, Miss, ALLOC, "allocate; slot={g}"),
    row(HmgRec, "hmg_rec.WR_REM.hit_slot_empty", WrRem, SlotEmpty, FILL_SLOT, "slot={g}"),
    row(HmgRec, "hmg_rec.WR_REM.hit_slot_set", WrRem, SlotSet, TAKE, "s := {g}; Inv(s without g, WRITE)"),
    row(HmgRec, "hmg_rec.WR_LOC.base_miss", WrLoc, Miss, NOTHING, "nothing"),
    row(HmgRec, "hmg_rec.WR_LOC.hit_slot_empty", WrLoc, SlotEmpty, NOTHING, "nothing"),
    row(HmgRec, "hmg_rec.WR_LOC.hit_slot_set", WrLoc, SlotSet, WIPE, ALL_WRITE),
    row(HmgRec, "hmg_rec.ATOM_REM.base_miss", AtomRem, Miss, NOTHING, "nothing"),
    row(HmgRec, "hmg_rec.ATOM_REM.hit_slot_empty", AtomRem, SlotEmpty, NOTHING, "nothing"),
    row(HmgRec, "hmg_rec.ATOM_REM.hit_slot_set", AtomRem, SlotSet, WIPE_OTHERS, OTHERS_WRITE),
    row(HmgRec, "hmg_rec.INV_RECV.base_miss", InvRecv, Miss, NOTHING, "nothing"),
    row(HmgRec, "hmg_rec.INV_RECV.hit_slot_empty", InvRecv, SlotEmpty, NOTHING, "nothing"),
    row(HmgRec, "hmg_rec.INV_RECV.hit_slot_set", InvRecv, SlotSet, WIPE, ON_TO_ALL),
    row(HmgRec, "hmg_rec.INV_RECV_EVICT.base_miss", InvRecvEvict, Miss, NOTHING, "nothing"),
    row(HmgRec, "hmg_rec.INV_RECV_EVICT.hit_slot_empty", InvRecvEvict, SlotEmpty, NOTHING, "nothing"),
    row(HmgRec, "hmg_rec.INV_RECV_EVICT.hit_slot_set", InvRecvEvict, SlotSet, WIPE, ON_TO_ALL),
    row(HmgRec, "hmg_rec.DOWNGRADE.base_miss", Downgrade, Miss, NOTHING, "nothing"),
    row(HmgRec, "hmg_rec.DOWNGRADE.hit_slot_empty", Downgrade, SlotEmpty, NOTHING, "nothing"),
    row(
        HmgRec,
        "hmg_rec.DOWNGRADE.hit_slot_set",
        Downgrade,
        SlotSet,
        REMOVE,
        "remove g; if no slot left: V->I",
    ),
];

const ALL_WRITE: &str = "Inv(s, WRITE); clear slot; if no slot left: V->I";
const OTHERS_WRITE: &str = "Inv(s without g, WRITE); clear slot; if no slot left: V->I";
const ON_TO_ALL: &str = "forward Inv to s; clear slot; if no slot left: V->I";

/// The table of a kind.
pub fn table(kind: DirKind) -> &'static [DirRow] {
    match kind {
        Perline => &PERLINE,
        Group4 => &GROUP4,
        Rec => &REC,
        Ideal => &IDEAL,
        Nhcc => &NHCC,
        Hmg => &HMG,
        HmgRec => &HMG_REC,
    }
}

/// The row for an operation and a lookup result; `None` for a pair that cannot occur.
pub fn lookup(kind: DirKind, op: DirOp, found: Found) -> Option<&'static DirRow> {
    table(kind).iter().find(|r| r.op == op && r.found == found)
}
