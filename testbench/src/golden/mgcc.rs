//! Ledger entries of the blocks of MGPU-TSM (mgcc.md): rows of their transition tables, and races.
//!
//! The tables' own independent counterparts are the golden models of `testbench/mgcc`; this is the list of what must be seen. `ledger_lists.rs` compares it with the cover points of the hardware.

use weft_ledger::{Entry, EntryKind};

/// A line per entry: block, identifier, text.
const LIST: &str = include_str!("mgcc.txt");

/// Section of mgcc.md in which a block is specified.
fn section(block: &str) -> &'static str {
    match block {
        "mgcc-l1" => "4",
        "gtsc-l1" | "gtsc-l2" | "rdma-engine" | "pcie-switch" | "dram-port" => "14",
        "mgcc-l2" | "l2-wb" | "tsm-maint" => "5",
        "tsu" => "6",
        "reqtracker" | "umc-lane" | "umc" => "7",
        "epoch-ctl" | "gpu-relay" => "8",
        _ => "10",
    }
}

/// The entries.
///
/// # Panics
/// When a line of the list is not `block | id | text`.
pub fn entries() -> Vec<Entry> {
    listed(LIST, |block| format!("mgcc.md {}", section(block)))
}

/// The entries of a list: a line each, `block | id | text`; `source` of a block.
pub(super) fn listed(list: &str, source: impl Fn(&str) -> String) -> Vec<Entry> {
    let entry = |line: &str| {
        let mut parts = line.splitn(3, " | ");
        let [block, id, text] = [(); 3].map(|()| parts.next().expect("block | id | text").to_string());
        let kind = if id.split('.').nth(1) == Some("race") { EntryKind::Race } else { EntryKind::Row };
        let source = source(&block);
        Entry { id, block, kind, text, source }
    };
    list.lines().map(entry).collect()
}
