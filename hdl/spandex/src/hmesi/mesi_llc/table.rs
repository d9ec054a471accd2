//! Transition tables of a bank (spandex.md section 9), as data.
//!
//! [`directory`] says what a request or Put does to a line that is not busy, [`frames`] where a line that is not here goes, [`busy`] what happens at a line with a TBE. Pairs that are not
//! listed never occur, which the hardware asserts.

use weft_rtl::prelude::*;

/// Two columns, actions, text.
type Cell = (&'static str, &'static str, &'static [&'static str], &'static str);

/// What comes to a line that is not busy. Put is one of the owner, Stale of a client that is not, or not any more.
pub const EVENTS: [&str; 4] = ["GetS", "GetM", "Put", "Stale"];
/// States by encoding.
pub const STATES: [&str; 4] = ["I", "C", "SS", "MT"];

const DIRECTORY: [Cell; 11] = [
    ("GetS", "C", &["DataE", "busy_x"], "DataE; busy-X"),
    ("GetS", "SS", &["DataS", "share"], "DataS; the requestor is a sharer"),
    ("GetS", "MT", &["fwd", "busy_iib"], "FwdGetS to the owner; busy-IIB"),
    ("GetM", "C", &["DataM", "busy_x"], "DataM(0); busy-X"),
    ("GetM", "SS", &["DataM", "inv", "busy_x"], "Inv to all sharers but the requestor, DataM(k); busy-X"),
    ("GetM", "MT", &["fwd", "busy_x"], "FwdGetM to the owner; busy-X"),
    ("Put", "MT", &["ack", "take"], "data if dirty, C; WBAck"),
    ("Stale", "I", &["ack"], "recalled and replaced since: WBAck"),
    ("Stale", "C", &["ack"], "recalled, replaced and fetched, or given back by another since: WBAck"),
    ("Stale", "SS", &["ack"], "shared since: WBAck"),
    ("Stale", "MT", &["ack"], "another owns it: WBAck"),
];

/// What is in the way chosen; `_out`: a line of which everything has come back.
pub const FRAMES: [&str; 8] =
    ["empty", "clean", "dirty", "shared", "owned", "full", "clean_out", "dirty_out"];

const FRAME_ROWS: [Cell; 8] = [
    ("miss", "empty", &["take"], "an empty way: read from memory"),
    ("miss", "clean", &["take"], "a clean line in C is dropped"),
    ("miss", "dirty", &["take", "write"], "a dirty line in C is written to memory"),
    ("miss", "shared", &["evict"], "Inv to all sharers, InvAcks to the bank"),
    ("miss", "owned", &["evict"], "Recall to the owner, WbData to the bank"),
    ("miss", "full", &["join"], "every way is blocked: waits in the list of one that is"),
    ("miss", "clean_out", &["take"], "everything has come back clean"),
    ("miss", "dirty_out", &["take", "write"], "everything has come back: written to memory"),
];

/// What a TBE is there for, by encoding.
pub const KINDS: [&str; 5] = ["FETCH", "EVICT", "BUSY_X", "BUSY_IIB", "LIST"];
/// What comes to its line.
pub const COMES: [&str; 7] = ["Req", "Memory", "InvAck", "WbData", "Unblock", "UnblockX", "Done"];

const BUSY: [Cell; 13] = [
    ("FETCH", "Req", &["join"], "joins the stall list"),
    ("FETCH", "Memory", &["install"], "the line into its way: C"),
    ("FETCH", "Done", &["finish"], "the request finds C"),
    ("EVICT", "Req", &["join"], "joins the stall list"),
    ("EVICT", "InvAck", &["count"], "one sharer less"),
    ("EVICT", "WbData", &["store", "count"], "data if dirty"),
    ("EVICT", "Done", &["finish"], "the line gives its way to the request"),
    ("BUSY_X", "Req", &["join"], "joins the stall list"),
    ("BUSY_X", "UnblockX", &["own"], "MT, the requestor owns the line"),
    ("BUSY_IIB", "Req", &["join"], "joins the stall list"),
    ("BUSY_IIB", "WbData", &["store", "count"], "data if dirty; with Unblock: SS"),
    (
        "BUSY_IIB",
        "Unblock",
        &["count"],
        "with WbData: SS, sharers are the requestor and the old owner if it keeps a copy",
    ),
    ("LIST", "Req", &["join"], "joins the stall list, behind those that replay"),
];

fn column(name: &'static str, values: &[&'static str]) -> Column {
    Column { name, values: values.iter().enumerate().map(|(i, v)| (*v, i as u64)).collect() }
}

fn build(
    name: &'static str,
    part: &str,
    columns: [(&'static str, &[&'static str]); 2],
    cells: &[Cell],
) -> Table {
    let columns = columns.map(|(name, values)| column(name, values)).to_vec();
    let code = |column: &Column, wanted: &str| -> Vec<u64> {
        column.values.iter().filter(|v| v.0 == wanted).map(|v| v.1).collect()
    };
    let rows = cells
        .iter()
        .map(|(first, second, actions, text)| Row {
            id: format!("spandex.hmesi_llc.{part}{first}.{second}"),
            when: vec![code(&columns[0], first), code(&columns[1], second)],
            actions: actions.to_vec(),
            text: text.to_string(),
        })
        .collect();
    Table { name, columns, rows }
}

/// What a request or Put does to a line that is not busy.
pub fn directory() -> Table {
    build("mesi_llc_directory", "", [("event", &EVENTS), ("state", &STATES)], &DIRECTORY)
}

/// Where a line that is not here goes.
pub fn frames() -> Table {
    build("mesi_llc_frames", "", [("use", &["miss"]), ("frame", &FRAMES)], &FRAME_ROWS)
}

/// What happens at a busy line.
pub fn busy() -> Table {
    build("mesi_llc_busy", "", [("tbe", &KINDS), ("event", &COMES)], &BUSY)
}

/// All tables as a page.
pub fn page() -> String {
    let parts = [
        ("A line that is not busy", directory()),
        ("A line that is not here", frames()),
        ("A busy line", busy()),
    ];
    let text = parts.map(|(title, table)| format!("{title}:\n\n{}", table.to_markdown()));
    text.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pair_has_two_rows() {
        for table in [directory(), frames(), busy()] {
            assert_eq!(table.overlaps(), [], "{}", table.name);
        }
    }
}
