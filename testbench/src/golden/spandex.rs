//! Ledger entries of the blocks of Spandex (spandex.md): rows of their transition tables, and races.
//!
//! The tables' own independent counterparts are the golden models of `testbench/spandex`; this is the list of what must be seen. `ledger_lists.rs` compares it with the cover points of the hardware.

use super::mgcc::listed;
use weft_ledger::Entry;

/// A line per entry: block, identifier, text.
const LIST: &str = include_str!("spandex.txt");

/// Section in which a block is specified.
fn section(block: &str) -> &'static str {
    match block {
        "spandex-router" => "2",
        "spandex-llc" => "4",
        "tu-gpu" | "tu-denovo" | "tu-mesi" => "6",
        "flex-l1" | "tu-flex" | "owner-predictor" => "8",
        "mesi-llc" | "gpu-l2" | "hmesi-client" => "9",
        "stash" => "8",
        _ => "7",
    }
}

/// The entries.
///
/// # Panics
/// When a line of the list is not `block | id | text`.
pub fn entries() -> Vec<Entry> {
    let page = |block: &str| if block == "stash" { "cu-and-consistency.md" } else { "spandex.md" };
    listed(LIST, |block| format!("{} {}", page(block), section(block)))
}
