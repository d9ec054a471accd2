//! Transition tables of the banks, as data.
//!
//! State of the addressed line in `mgcc-l2`, when a request comes:
//!
//! | state | meaning |
//! | --- | --- |
//! | I | not here |
//! | X | expired: here, but the bank's clock is past its lease |
//! | V | live |
//! | M | a transaction of the line is under way |
//!
//! Where the line of an answer of memory can go: `own`, the way that holds its tag; `victim`, a way that may be replaced; `none`.
//! What its stamps are worth: `fits`; `past`, the bank's clock is already beyond the lease; `old`, of an epoch that is over.

use weft_rtl::prelude::*;

/// State, event, actions, text.
pub(super) type Cell = (&'static str, &'static str, &'static [&'static str], &'static str);

const STATES: [&str; 4] = ["I", "X", "V", "M"];
const EVENTS: [&str; 5] = ["RdReq", "RdReq_forced", "WrReq_partial", "WrReq_full", "AmoReq"];

const REQUESTS: [Cell; 20] = [
    ("I", "RdReq", &["open_read"], "RdReq to memory: M"),
    ("I", "RdReq_forced", &["open_read"], "RdReq to memory: M"),
    ("I", "WrReq_partial", &["open_write"], "WrReq to memory, no block: M"),
    (
        "I",
        "WrReq_full",
        &["open_write", "allocate"],
        "WrReq to memory; a victim's way, if there is one, is locked with the data: M",
    ),
    ("I", "AmoReq", &["open_amo"], "AmoReq to memory: M"),
    ("X", "RdReq", &["open_read", "keep"], "coherence miss: RdReq to memory, the way is kept: M"),
    ("X", "RdReq_forced", &["open_read", "keep"], "RdReq to memory, the way is kept: M"),
    ("X", "WrReq_partial", &["open_write", "lock"], "bytes merged and block locked, WrReq to memory: M"),
    ("X", "WrReq_full", &["open_write", "lock"], "bytes merged and block locked, WrReq to memory: M"),
    ("X", "AmoReq", &["open_amo", "drop"], "block dropped, AmoReq to memory: M"),
    ("V", "RdReq", &["answer"], "hit: RdRsp with the block's stamps"),
    (
        "V",
        "RdReq_forced",
        &["open_read", "keep"],
        "RdReq to memory although the block is live, the way is kept: M",
    ),
    (
        "V",
        "WrReq_partial",
        &["open_write", "lock"],
        "write hit: bytes merged and block locked, WrReq to memory: M",
    ),
    (
        "V",
        "WrReq_full",
        &["open_write", "lock"],
        "write hit: bytes merged and block locked, WrReq to memory: M",
    ),
    ("V", "AmoReq", &["open_amo", "drop"], "block dropped, AmoReq to memory: M"),
    ("M", "RdReq", &["append"], "waits in the line's list"),
    ("M", "RdReq_forced", &["append"], "waits in the line's list"),
    ("M", "WrReq_partial", &["append"], "waits in the line's list"),
    ("M", "WrReq_full", &["append"], "waits in the line's list"),
    ("M", "AmoReq", &["append"], "waits in the line's list"),
];

const PLACES: [&str; 3] = ["own", "victim", "none"];
const ANSWERS: [&str; 6] = ["line_fits", "line_past", "line_old", "bare_fits", "bare_past", "bare_old"];

const FILLS: [Cell; 14] = [
    ("own", "line_fits", &["install"], "line and stamps into its way: V"),
    ("own", "line_past", &["drop"], "of no use here any more: I"),
    ("own", "line_old", &["drop"], "a stamp of another epoch: I"),
    ("own", "bare_fits", &["stamp"], "a write's bytes are there already; stamps: V"),
    ("own", "bare_past", &["stamp"], "stamps; expired at once: V"),
    ("own", "bare_old", &["drop"], "a stamp of another epoch: I"),
    ("victim", "line_fits", &["install", "evict"], "line and stamps into the victim's way: V"),
    ("victim", "line_past", &[], "answered only"),
    ("victim", "line_old", &[], "answered only"),
    ("victim", "bare_any", &[], "a write that found no way; answered only"),
    ("none", "line_fits", &["bypass"], "every way is locked or kept: answered only"),
    ("none", "line_past", &[], "answered only"),
    ("none", "line_old", &[], "answered only"),
    ("none", "bare_any", &[], "a write that found no way; answered only"),
];

fn column(name: &'static str, values: &[&'static str]) -> Column {
    Column { name, values: values.iter().enumerate().map(|(i, v)| (*v, i as u64)).collect() }
}

/// A table of cells; an event `x_any` stands for all events that begin with `x_`.
pub(super) fn table(
    name: &'static str,
    prefix: &str,
    columns: [(&'static str, &[&'static str]); 2],
    cells: impl Iterator<Item = Cell>,
) -> Table {
    let columns = columns.map(|(name, values)| column(name, values)).to_vec();
    let codes = |column: &Column, wanted: &str| -> Vec<u64> {
        let family = wanted.strip_suffix("any");
        let fits = |v: &str| v == wanted || family.is_some_and(|f| v.starts_with(f));
        column.values.iter().filter(|v| fits(v.0)).map(|v| v.1).collect()
    };
    let rows = cells
        .map(|(state, event, actions, text)| Row {
            id: format!("{prefix}.{state}.{event}"),
            when: vec![codes(&columns[0], state), codes(&columns[1], event)],
            actions: actions.to_vec(),
            text: text.to_string(),
        })
        .collect();
    Table { name, columns, rows }
}

/// Requests of L1s and replays at `mgcc-l2` (mgcc.md section 5); without timestamps nothing expires.
pub fn requests(coherent: bool) -> Table {
    let cells = REQUESTS.iter().copied().filter(|c| coherent || c.0 != "X");
    table("l2_requests", "mgcc.l2", [("state", &STATES), ("event", &EVENTS)], cells)
}

/// Answers of memory at `mgcc-l2`; without timestamps they always fit.
pub fn fills(coherent: bool) -> Table {
    let known = |c: &Cell| coherent || c.1.ends_with("_fits") || c.1.ends_with("_any");
    let cells = FILLS.iter().copied().filter(known);
    table("l2_fills", "mgcc.l2", [("place", &PLACES), ("answer", &ANSWERS)], cells)
}
