//! Transition tables of `gpu-vi-directory` (hmg.md section 8), as data: what operations do, and what acknowledgements do.
//!
//! Actions of an operation: `allocate` an entry; the new sharers, `only_requester`, `add_requester` or `clear` (none of them: unchanged); `inv_others` or
//! `inv_all`, which begin W; `touch` the way under `lru`; `wait` in the queue. Of an acknowledgement: `answer` the store.

use crate::msg::DirOp;
use weft_rtl::prelude::*;

/// What the lookup found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ViFound {
    /// No entry has this base.
    Miss,
    /// An entry, and nobody but the requester is recorded.
    Sole,
    /// An entry with other sharers.
    Shared,
}

/// What is awaited of the group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ViGroup {
    /// Nothing.
    Free,
    /// E: acknowledgements of an evicted entry's Invs.
    Evicting,
    /// W: acknowledgements that a store waits for.
    Written,
    /// Nothing that an older operation of the group, which waits in the queue, would not have to pass too.
    Behind,
}

/// What a row of the pending table is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ViRow {
    /// W, by a store or atomic of another node.
    Remote,
    /// W, by a store of the home.
    Local,
    /// E.
    Evicted,
}

const ALLOC: Actions = &["allocate", "only_requester", "touch"];
const SHARE: Actions = &["add_requester", "touch"];
const STAY: Actions = &["only_requester", "touch"];
const TAKE: Actions = &["only_requester", "inv_others", "touch"];
const WIPE: Actions = &["clear", "inv_all"];
const WAIT: Actions = &["wait"];
const NOTHING: Actions = &[];

type Actions = &'static [&'static str];

/// Operation, its name, whether it is a read, what it does on a miss, to the only sharer, with other sharers.
type Operation = (DirOp, &'static str, bool, [Option<Actions>; 3]);

/// The operations by what the lookup found and what is awaited; row names are ledger identifiers.
pub fn operations() -> Table {
    let stores = [Some(ALLOC), Some(STAY), Some(TAKE)];
    let list: [Operation; 4] = [
        (DirOp::RdRem, "RD_REM", true, [Some(ALLOC), Some(SHARE), Some(SHARE)]),
        (DirOp::WrRem, "WR_REM", false, stores),
        // The home is no sharer of its own lines.
        (DirOp::WrLoc, "WR_LOC", false, [Some(NOTHING), None, Some(WIPE)]),
        (DirOp::AtomRem, "ATOM_REM", false, stores),
    ];
    let found = [("miss", ViFound::Miss), ("sole", ViFound::Sole), ("shared", ViFound::Shared)];
    let mut rows = Vec::new();
    for (op, name, read, actions) in list {
        let mut add = |what: &str, found: Vec<u64>, group: Vec<u64>, actions: Actions| {
            rows.push(Row {
                id: format!("gpu_vi.{name}.{what}"),
                when: vec![vec![op.encoding()], found, group],
                actions: actions.to_vec(),
                text: words(actions, what).to_string(),
            });
        };
        // A read does not mind that the Invs of an eviction are under way.
        let open = if read { vec![ViGroup::Free, ViGroup::Evicting] } else { vec![ViGroup::Free] };
        let open: Vec<u64> = open.into_iter().map(HwEnum::encoding).collect();
        for ((what, found), actions) in found.into_iter().zip(actions) {
            if let Some(actions) = actions {
                add(what, vec![found.encoding()], open.clone(), actions);
            }
        }
        if !read {
            add("evicting", Vec::new(), vec![ViGroup::Evicting.encoding()], WAIT);
        }
        add("written", Vec::new(), vec![ViGroup::Written.encoding()], WAIT);
        add("behind", Vec::new(), vec![ViGroup::Behind.encoding()], WAIT);
    }
    let names = list.iter().map(|(op, name, ..)| (*name, op.encoding())).collect();
    Table {
        name: "gpu_vi_table",
        columns: vec![
            Column { name: "op", values: names },
            Column {
                name: "found",
                values: vec![("miss", 0), ("hit, no other sharer", 1), ("hit, other sharers", 2)],
            },
            Column { name: "awaited", values: vec![("nothing", 0), ("E", 1), ("W", 2), ("queued", 3)] },
        ],
        rows,
    }
}

fn words(actions: Actions, what: &str) -> &'static str {
    match (actions, what) {
        (["wait"], "evicting") => "it waits until the Invs of the eviction are acknowledged",
        (["wait"], "written") => "it waits until the store ahead of it has all acknowledgements",
        (["wait"], _) => "it waits behind the older operation",
        (["allocate", ..], _) => "allocate an entry with the requester as its sharer",
        (["add_requester", ..], _) => "the requester joins the sharers",
        (["only_requester", "inv_others", ..], _) => {
            "the other sharers are invalidated, V->W; the answer waits for their acknowledgements, then W->V with the requester"
        }
        (["only_requester", ..], _) => "the requester stays the only sharer",
        (["clear", ..], _) => {
            "all sharers are invalidated, V->W; the answer waits for their acknowledgements, then W->I"
        }
        _ => "nothing changes",
    }
}

/// What an acknowledgement does to the row of the pending table that it counts against.
pub fn acknowledgements() -> Table {
    let (remote, local, evicted) =
        (ViRow::Remote.encoding(), ViRow::Local.encoding(), ViRow::Evicted.encoding());
    let row = |id: &str, of: Vec<u64>, last: u64, actions: Actions, text: &str| Row {
        id: format!("gpu_vi.ACK.{id}"),
        when: vec![of, vec![last]],
        actions: actions.to_vec(),
        text: text.into(),
    };
    Table {
        name: "gpu_vi_ack_table",
        columns: vec![
            Column { name: "row", values: vec![("W remote", remote), ("W local", local), ("E", evicted)] },
            Column { name: "last", values: vec![("no", 0), ("yes", 1)] },
        ],
        rows: vec![
            row("written", vec![remote, local], 0, NOTHING, "one acknowledgement less is awaited; still W"),
            row(
                "remote_complete",
                vec![remote],
                1,
                &["answer"],
                "the store is answered; W->V with its source",
            ),
            row("local_complete", vec![local], 1, &["answer"], "the store is answered; W->I"),
            row("evicting", vec![evicted], 0, NOTHING, "one acknowledgement less is awaited; still E"),
            row("evicted", vec![evicted], 1, NOTHING, "all copies of the evicted entry are gone"),
        ],
    }
}
