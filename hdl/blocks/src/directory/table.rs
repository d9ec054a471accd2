//! Transition tables of the directories (rec.md section 4, hmg.md section 4), as data.
//!
//! Columns: what came ([`Event`]), and what the lookup found. Actions: `allocate` an entry; the new sharers of the slot, `only_requester`,
//! `add_requester`, `keep_requester`, `drop_requester` or `clear` (none of them: unchanged); `inv_others` or `inv_all`, `forward` when these Invs
//! pass a received one on with its cause; `report_empty` in the answer; `touch` the way under `lru`.

use super::params::DirKind;
use crate::msg::{Cause, DirOp};
use weft_rtl::prelude::*;

/// What the lookup found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Found {
    /// No entry has this base.
    Miss,
    /// An entry, but no sharer of the slot (kinds with ranges only).
    SlotEmpty,
    /// An entry with sharers of the slot.
    SlotSet,
}

/// What comes to a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// An operation on `req`.
    Op(DirOp),
    /// An Inv on `recv`, of this cause (two levels only).
    Recv(Cause),
}

impl Event {
    /// Code in the first column: that of the operation; of a received Inv 8 and its cause.
    pub fn code(self) -> u64 {
        match self {
            Event::Op(op) => op.encoding(),
            Event::Recv(cause) => 8 + cause.encoding(),
        }
    }
}

const ALLOC: &[&str] = &["allocate", "only_requester", "touch"];
const FILL: &[&str] = &["only_requester", "touch"];
const SHARE: &[&str] = &["add_requester", "touch"];
const TAKE: &[&str] = &["only_requester", "inv_others", "touch"];
const WIPE: &[&str] = &["clear", "inv_all"];
const WIPE_OTHERS: &[&str] = &["clear", "inv_others"];
const RETAIN: &[&str] = &["keep_requester", "inv_others"];
const FORWARD: &[&str] = &["clear", "inv_all", "forward"];
const ASK: &[&str] = &["report_empty"];
const DROP: &[&str] = &["drop_requester", "report_empty"];
const NOTHING: &[&str] = &[];

/// Event, its name, what it does on a miss, on an empty slot, on a slot with sharers.
type Operation = (Event, &'static str, Actions, Actions, Actions);
type Actions = &'static [&'static str];

fn operations(kind: DirKind, downgrade: bool) -> Vec<Operation> {
    let atomic = Event::Op(DirOp::AtomRem);
    let mut ops = vec![
        (Event::Op(DirOp::RdRem), "RD_REM", ALLOC, FILL, SHARE),
        (Event::Op(DirOp::WrRem), "WR_REM", ALLOC, FILL, TAKE),
        (Event::Op(DirOp::WrLoc), "WR_LOC", NOTHING, NOTHING, WIPE),
        match kind {
            DirKind::Group4 => (atomic, "ATOM_REM", NOTHING, NOTHING, RETAIN),
            kind if kind.records_atomics() => (atomic, "ATOM_REM", ALLOC, FILL, TAKE),
            _ => (atomic, "ATOM_REM", NOTHING, NOTHING, WIPE_OTHERS),
        },
    ];
    if kind.two_level() {
        ops.push((Event::Recv(Cause::Write), "INV_RECV", NOTHING, NOTHING, FORWARD));
        ops.push((Event::Recv(Cause::Evict), "INV_RECV_EVICT", NOTHING, NOTHING, FORWARD));
    }
    if downgrade {
        ops.push((Event::Op(DirOp::Downgrade), "DOWNGRADE", ASK, ASK, DROP));
    }
    ops
}

/// The table of a kind, with sharer downgrade or without; row names are ledger identifiers.
pub fn table(kind: DirKind, downgrade: bool) -> Table {
    let (prefix, miss, hit, name) = match kind {
        DirKind::Perline => ("perline", "miss", "hit", "perline_table"),
        DirKind::Group4 => ("group4", "miss", "hit", "group4_table"),
        DirKind::Rec => ("rec", "base_miss", "hit_slot_set", "rec_table"),
        DirKind::Nhcc => ("nhcc", "miss", "hit", "nhcc_table"),
        DirKind::Hmg => ("hmg", "miss", "hit", "hmg_table"),
        DirKind::HmgRec => ("hmg_rec", "base_miss", "hit_slot_set", "hmg_rec_table"),
        // Its table has a column more.
        DirKind::GpuVi => return super::vi_table::operations(),
    };
    let ops = operations(kind, downgrade);
    let mut rows = Vec::new();
    let mut add =
        |event: Event, name: &str, found: Found, found_name: &str, actions: &[&'static str], text: &str| {
            rows.push(Row {
                id: format!("{prefix}.{name}.{found_name}"),
                when: vec![vec![event.code()], vec![found.encoding()]],
                actions: actions.to_vec(),
                text: text.to_string(),
            });
        };
    let names = ops.iter().map(|(event, name, ..)| (*name, event.code())).collect();
    for (event, event_name, on_miss, on_empty, on_set) in ops {
        add(event, event_name, Found::Miss, miss, on_miss, words(on_miss));
        if kind.ranges() {
            add(event, event_name, Found::SlotEmpty, "hit_slot_empty", on_empty, words(on_empty));
        }
        add(event, event_name, Found::SlotSet, hit, on_set, words(on_set));
    }
    Table {
        name,
        columns: vec![
            Column { name: "op", values: names },
            Column { name: "found", values: vec![("miss", 0), ("hit, slot empty", 1), ("hit, slot set", 2)] },
        ],
        rows,
    }
}

fn words(actions: &[&str]) -> &'static str {
    match actions {
        [] => "nothing changes",
        ["allocate", ..] => "allocate an entry whose slot holds the requester",
        ["only_requester", "touch"] => "the slot gets its first sharer",
        ["add_requester", ..] => "the requester joins the sharers",
        ["only_requester", ..] => "the other sharers are invalidated, the requester stays the only one",
        ["report_empty"] => "nothing changes; the answer says that nothing is recorded",
        ["drop_requester", ..] => {
            "the requester is no sharer any more; without a sharer left V->I, and the answer says that nothing is recorded"
        }
        ["clear", "inv_all", "forward"] => {
            "the Inv goes on to all sharers, with its cause, and the slot is cleared; without a slot left V->I"
        }
        ["clear", "inv_all"] => {
            "all sharers are invalidated and the slot is cleared; without a slot left V->I"
        }
        ["clear", ..] => {
            "the other sharers are invalidated and the slot is cleared; without a slot left V->I"
        }
        _ => "the other sharers are invalidated, the requester keeps its other lines; V->I if it was none",
    }
}
