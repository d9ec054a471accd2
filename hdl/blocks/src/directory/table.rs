//! Transition tables of the directories (rec.md section 4), as data.
//!
//! Columns: the operation, and what the lookup found. Actions: `allocate` an entry; the new sharers of the slot, `only_requester`,
//! `add_requester`, `keep_requester` or `clear` (none of them: unchanged); `inv_others` or `inv_all`; `touch` the way under `lru`.

use super::params::DirKind;
use crate::msg::DirOp;
use weft_rtl::prelude::*;

/// What the lookup found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Found {
    /// No entry has this base.
    Miss,
    /// An entry, but no sharer of the slot (REC only).
    SlotEmpty,
    /// An entry with sharers of the slot.
    SlotSet,
}

const ALLOC: &[&str] = &["allocate", "only_requester", "touch"];
const FILL: &[&str] = &["only_requester", "touch"];
const SHARE: &[&str] = &["add_requester", "touch"];
const TAKE: &[&str] = &["only_requester", "inv_others", "touch"];
const WIPE: &[&str] = &["clear", "inv_all"];
const WIPE_OTHERS: &[&str] = &["clear", "inv_others"];
const RETAIN: &[&str] = &["keep_requester", "inv_others"];
const NOTHING: &[&str] = &[];

/// The table of a kind; row names are ledger identifiers.
pub fn table(kind: DirKind) -> Table {
    let (prefix, miss, hit, name) = match kind {
        DirKind::Perline => ("perline", "miss", "hit", "perline_table"),
        DirKind::Group4 => ("group4", "miss", "hit", "group4_table"),
        DirKind::Rec => ("rec", "base_miss", "hit_slot_set", "rec_table"),
    };
    let mut rows = Vec::new();
    let mut add =
        |op: DirOp, op_name: &str, found: Found, found_name: &str, actions: &[&'static str], text: &str| {
            rows.push(Row {
                id: format!("{prefix}.{op_name}.{found_name}"),
                when: vec![vec![op.encoding()], vec![found.encoding()]],
                actions: actions.to_vec(),
                text: text.to_string(),
            });
        };
    let ops = [
        (DirOp::RdRem, "RD_REM", ALLOC, FILL, SHARE),
        (DirOp::WrRem, "WR_REM", ALLOC, FILL, TAKE),
        (DirOp::WrLoc, "WR_LOC", NOTHING, NOTHING, WIPE),
        (
            DirOp::AtomRem,
            "ATOM_REM",
            NOTHING,
            NOTHING,
            if kind == DirKind::Group4 { RETAIN } else { WIPE_OTHERS },
        ),
    ];
    for (op, op_name, on_miss, on_empty, on_set) in ops {
        add(op, op_name, Found::Miss, miss, on_miss, words(on_miss));
        if kind == DirKind::Rec {
            add(op, op_name, Found::SlotEmpty, "hit_slot_empty", on_empty, words(on_empty));
        }
        add(op, op_name, Found::SlotSet, hit, on_set, words(on_set));
    }
    let code = |name, code: u64| (name, code);
    Table {
        name,
        columns: vec![
            Column {
                name: "op",
                values: vec![code("RD_REM", 0), code("WR_REM", 1), code("WR_LOC", 2), code("ATOM_REM", 3)],
            },
            Column {
                name: "found",
                values: vec![code("miss", 0), code("hit, slot empty", 1), code("hit, slot set", 2)],
            },
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
        ["clear", "inv_all"] => {
            "all sharers are invalidated and the slot is cleared; without a slot left V->I"
        }
        ["clear", ..] => {
            "the other sharers are invalidated and the slot is cleared; without a slot left V->I"
        }
        _ => "the other sharers are invalidated, the requester keeps its other lines; V->I if it was none",
    }
}
