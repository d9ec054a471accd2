//! Ledger entries of the blocks of sRSP (srsp.md) and DeNovo-B (denovo-b.md): rows of their transition tables, and races.
//!
//! The tables' own independent counterparts are the golden models of `testbench/srsp`; this is the list of what must be seen. `ledger_lists.rs` compares it with the cover points of the hardware.

use super::mgcc::listed;
use weft_ledger::Entry;

/// A line per entry: block, identifier, text.
const LIST: &str = include_str!("srsp.txt");

/// Where a block is specified.
fn section(block: &str) -> &'static str {
    match block {
        "srsp-l2" | "lock-tbl" => "srsp.md 6",
        "sel-hub" => "srsp.md 3",
        "hlrc-l1" | "hlrc-l2" => "srsp.md 9",
        "denovo-b-l1" | "denovo-b-l2" => "denovo-b.md",
        _ => "srsp.md 5",
    }
}

/// The entries.
///
/// # Panics
/// When a line of the list is not `block | id | text`.
pub fn entries() -> Vec<Entry> {
    listed(LIST, |block| section(block).to_string())
}
