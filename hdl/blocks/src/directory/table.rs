//! Transition tables of the directories (rec.md section 4, hmg.md section 4).
//!
//! The state is what the lookup finds of a slot, and what the operation leaves of it: without a sharer an entry is freed at once.

use super::params::DirKind;
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

/// The table of a kind.
pub type DirTable = Transitions<(Event, Found), Found, DirAct>;

type Actions = &'static [DirAct];

const ALLOC: Actions = &[DirAct::Allocate, DirAct::OnlyRequester, DirAct::Touch];
const FILL: Actions = &[DirAct::OnlyRequester, DirAct::Touch];
const SHARE: Actions = &[DirAct::AddRequester, DirAct::Touch];
const TAKE: Actions = &[DirAct::OnlyRequester, DirAct::InvOthers, DirAct::Touch];
const WIPE: Actions = &[DirAct::Clear, DirAct::InvAll];
const WIPE_OTHERS: Actions = &[DirAct::Clear, DirAct::InvOthers];
const RETAIN: Actions = &[DirAct::KeepRequester, DirAct::InvOthers];
const FORWARD: Actions = &[DirAct::Clear, DirAct::InvAll, DirAct::Forward];
const ASK: Actions = &[DirAct::ReportEmpty];
const DROP: Actions = &[DirAct::DropRequester, DirAct::ReportEmpty];
const NOTHING: Actions = &[];

/// Event, what it does on a miss, on an empty slot, on a slot with sharers.
type Operation = (Event, Actions, Actions, Actions);

fn operations(kind: DirKind, downgrade: bool) -> Vec<Operation> {
    let mut ops = vec![
        (Event::RdRem, ALLOC, FILL, SHARE),
        (Event::WrRem, ALLOC, FILL, TAKE),
        (Event::WrLoc, NOTHING, NOTHING, WIPE),
        match kind {
            DirKind::Group4 => (Event::AtomRem, NOTHING, NOTHING, RETAIN),
            kind if kind.records_atomics() => (Event::AtomRem, ALLOC, FILL, TAKE),
            _ => (Event::AtomRem, NOTHING, NOTHING, WIPE_OTHERS),
        },
    ];
    if kind.two_level() {
        ops.push((Event::RecvWrite, NOTHING, NOTHING, FORWARD));
        ops.push((Event::RecvEvict, NOTHING, NOTHING, FORWARD));
    }
    if downgrade {
        ops.push((Event::Downgrade, ASK, ASK, DROP));
    }
    ops
}

/// The table of a kind, with sharer downgrade or without; row names are ledger identifiers.
///
/// # Panics
/// Of [`DirKind::GpuVi`]: it has tables of its own, [`super::vi::table`].
pub fn table(kind: DirKind, downgrade: bool) -> DirTable {
    let (prefix, miss, hit, name) = match kind {
        DirKind::Perline => ("perline.", "miss", "hit", "perline_table"),
        DirKind::Group4 => ("group4.", "miss", "hit", "group4_table"),
        DirKind::Rec => ("rec.", "base_miss", "hit_slot_set", "rec_table"),
        DirKind::Nhcc => ("nhcc.", "miss", "hit", "nhcc_table"),
        DirKind::Hmg => ("hmg.", "miss", "hit", "hmg_table"),
        DirKind::HmgRec => ("hmg_rec.", "base_miss", "hit_slot_set", "hmg_rec_table"),
        DirKind::GpuVi => panic!("the tables of gpu-vi-directory have a column more: vi_table"),
    };
    let mut table = DirTable::new(name, prefix, &["op", "found"]);
    let mut add = |event: Event, found: Found, name: &str, actions: Actions| {
        let id = format!("{}.{name}", event.label());
        table.row(Some(&id), (&[event], &[found]), next(kind, found, actions), actions, words(actions));
    };
    for (event, on_miss, on_empty, on_set) in operations(kind, downgrade) {
        add(event, Found::Miss, miss, on_miss);
        if kind.ranges() {
            add(event, Found::SlotEmpty, "hit_slot_empty", on_empty);
        }
        add(event, Found::SlotSet, hit, on_set);
    }
    if !kind.ranges() {
        table.never((&[], &[Found::SlotEmpty]), "an entry of one slot is freed with its last sharer");
    }
    if !kind.two_level() {
        table
            .never((&[Event::RecvWrite, Event::RecvEvict], &[]), "a directory of one level receives no Invs");
    }
    if !downgrade {
        table.never((&[Event::Downgrade], &[]), "no bank sends downgrades");
    }
    table
}

/// What is left of the slot: nothing where it stays as it was.
fn next(kind: DirKind, found: Found, actions: Actions) -> &'static [Found] {
    let does = |action| actions.contains(&action);
    let cleared: &[Found] = if kind.ranges() { &[Found::Miss, Found::SlotEmpty] } else { &[Found::Miss] };
    match found {
        Found::SlotSet if does(DirAct::Clear) => cleared,
        Found::SlotSet if does(DirAct::DropRequester) && kind.ranges() => {
            &[Found::SlotSet, Found::Miss, Found::SlotEmpty]
        }
        Found::SlotSet if does(DirAct::DropRequester) || does(DirAct::KeepRequester) => {
            &[Found::SlotSet, Found::Miss]
        }
        Found::Miss | Found::SlotEmpty if does(DirAct::OnlyRequester) => &[Found::SlotSet],
        _ => &[],
    }
}

/// Everything that moves a slot. Another base may take its entry's way, and the entry that one slot has allocated has others too.
pub fn machine(kind: DirKind, downgrade: bool) -> Machine<Found> {
    let moves = Machine::new("slot of an entry", Found::Miss)
        .with(&table(kind, downgrade))
        .also(&[Found::SlotEmpty, Found::SlotSet], Found::Miss);
    if kind.ranges() { moves.also(&[Found::Miss], Found::SlotEmpty) } else { moves }
}

fn words(actions: &[DirAct]) -> &'static str {
    use DirAct::*;
    match actions {
        [] => "nothing changes",
        [Allocate, ..] => "allocate an entry whose slot holds the requester",
        [OnlyRequester, Touch] => "the slot gets its first sharer",
        [AddRequester, ..] => "the requester joins the sharers",
        [OnlyRequester, ..] => "the other sharers are invalidated, the requester stays the only one",
        [ReportEmpty] => "nothing changes; the answer says that nothing is recorded",
        [DropRequester, ..] => {
            "the requester is no sharer any more; without a sharer left V->I, and the answer says that nothing is recorded"
        }
        [Clear, InvAll, Forward] => {
            "the Inv goes on to all sharers, with its cause, and the slot is cleared; without a slot left V->I"
        }
        [Clear, InvAll] => "all sharers are invalidated and the slot is cleared; without a slot left V->I",
        [Clear, ..] => "the other sharers are invalidated and the slot is cleared; without a slot left V->I",
        _ => "the other sharers are invalidated, the requester keeps its other lines; V->I if it was none",
    }
}
