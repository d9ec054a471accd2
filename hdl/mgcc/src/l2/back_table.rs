//! Transition tables of `l2-wb`, as data.
//!
//! | state of the addressed line | meaning |
//! | --- | --- |
//! | I | not here; a way for it is empty or clean |
//! | I_dirty | not here; the way for it has dirty bytes of another line |
//! | I_none | not here; every way is kept for a line that is on its way |
//! | P | a way is kept for it (replays only) |
//! | V | here, as in memory as far as this bank knows |
//! | D | here, with dirty bytes |
//! | M | a transaction of the line is under way |

use super::table::{Cell, table};
use weft_rtl::prelude::*;

const STATES: [&str; 7] = ["I", "I_dirty", "I_none", "P", "V", "D", "M"];
const EVENTS: [&str; 5] = ["RdReq", "RdReq_forced", "WrReq_partial", "WrReq_full", "AmoReq"];

const REQUESTS: [Cell; 33] = [
    ("I", "RdReq", &["keep", "fetch"], "a way is kept, RdReq to memory: M"),
    ("I", "RdReq_forced", &["past"], "RdReq to memory, nothing is kept: M"),
    (
        "I",
        "WrReq_partial",
        &["keep", "fetch_first"],
        "a way is kept, RdReq to memory; the write waits in the list: M",
    ),
    ("I", "WrReq_full", &["write", "answer"], "installed whole: D"),
    ("I", "AmoReq", &["past"], "AmoReq to memory: M"),
    (
        "I_dirty",
        "RdReq",
        &["keep", "evict"],
        "the victim's dirty bytes to memory, its way is kept; the read waits: M",
    ),
    ("I_dirty", "RdReq_forced", &["past"], "RdReq to memory, nothing is kept: M"),
    (
        "I_dirty",
        "WrReq_partial",
        &["keep", "evict"],
        "the victim's dirty bytes to memory, its way is kept; the write waits: M",
    ),
    (
        "I_dirty",
        "WrReq_full",
        &["keep", "evict"],
        "the victim's dirty bytes to memory, its way is kept; the write waits: M",
    ),
    ("I_dirty", "AmoReq", &["past"], "AmoReq to memory: M"),
    ("I_none", "RdReq", &["past"], "RdReq to memory, nothing is kept: M"),
    ("I_none", "RdReq_forced", &["past"], "RdReq to memory, nothing is kept: M"),
    ("I_none", "WrReq_partial", &["past"], "WrReq to memory: M"),
    ("I_none", "WrReq_full", &["past"], "WrReq to memory: M"),
    ("I_none", "AmoReq", &["past"], "AmoReq to memory: M"),
    ("P", "RdReq", &["fetch"], "the victim is in memory: RdReq"),
    ("P", "WrReq_partial", &["fetch_first"], "the victim is in memory: RdReq; the write waits on"),
    ("P", "WrReq_full", &["write", "answer"], "the victim is in memory: installed whole: D"),
    ("V", "RdReq", &["answer"], "hit"),
    ("V", "RdReq_forced", &["drop", "past"], "line dropped, RdReq to memory: M"),
    ("V", "WrReq_partial", &["write", "answer"], "bytes merged: D"),
    ("V", "WrReq_full", &["write", "answer"], "line replaced: D"),
    ("V", "AmoReq", &["drop", "past"], "line dropped, AmoReq to memory: M"),
    ("D", "RdReq", &["answer"], "hit"),
    ("D", "RdReq_forced", &["drop", "flush"], "dirty bytes to memory, line dropped; the read waits: M"),
    ("D", "WrReq_partial", &["write", "answer"], "bytes merged"),
    ("D", "WrReq_full", &["write", "answer"], "line replaced"),
    ("D", "AmoReq", &["drop", "flush"], "dirty bytes to memory, line dropped; the atomic waits: M"),
    ("M", "RdReq", &["append"], "waits in the line's list"),
    ("M", "RdReq_forced", &["append"], "waits in the line's list"),
    ("M", "WrReq_partial", &["append"], "waits in the line's list"),
    ("M", "WrReq_full", &["append"], "waits in the line's list"),
    ("M", "AmoReq", &["append"], "waits in the line's list"),
];

const PLACES: [&str; 2] = ["kept", "none"];
const ANSWERS: [&str; 2] = ["written", "done"];

const FILLS: [Cell; 4] = [
    ("kept", "written", &[], "the victim's bytes are in memory; the list goes on"),
    ("kept", "done", &["install"], "line into the way kept for it: V"),
    ("none", "written", &[], "the line's own bytes are in memory; the list goes on"),
    ("none", "done", &[], "a request that went past the bank is answered"),
];

/// What is different where all operations of a line meet, in the ordering point of G-TSC and in a home bank: atomics are carried out here, and nothing is forced to memory.
const ATOMICS: [Cell; 7] = [
    (
        "I",
        "AmoReq",
        &["keep", "fetch_first"],
        "a way is kept, RdReq to memory; the atomic waits in the list: M",
    ),
    (
        "I_dirty",
        "AmoReq",
        &["keep", "evict"],
        "the victim's dirty bytes to memory, its way is kept; the atomic waits: M",
    ),
    ("I_none", "AmoReq", &["past"], "AmoReq to memory: M"),
    ("P", "AmoReq", &["fetch_first"], "the victim is in memory: RdReq; the atomic waits on"),
    ("V", "AmoReq", &["write", "answer"], "carried out in the line: D"),
    ("D", "AmoReq", &["write", "answer"], "carried out in the line"),
    ("M", "AmoReq", &["append"], "waits in the line's list"),
];

/// Kinds of write-back banks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackKind {
    /// `l2-wb`: other GPUs' banks have copies of the same lines.
    Plain,
    /// `l2-wb` as its memory's only cache (mgcc.md section 14, MGPU-RDMA).
    Home,
    /// `gtsc-l2`.
    Gtsc,
}

impl BackKind {
    fn prefix(self) -> &'static str {
        match self {
            BackKind::Plain => "mgcc.wb",
            BackKind::Home => "mgcc.home",
            BackKind::Gtsc => "gtsc.l2",
        }
    }
    /// All operations of a line meet in the bank.
    pub fn orders(self) -> bool {
        self != BackKind::Plain
    }
}

/// Requests of L1s and replays (mgcc.md sections 5 and 14).
pub fn requests(kind: BackKind) -> Table {
    let columns: [(&'static str, &[&'static str]); 2] = [("state", &STATES), ("event", &EVENTS)];
    let common = |c: &Cell| !kind.orders() || (c.1 != "AmoReq" && c.1 != "RdReq_forced");
    let own = ATOMICS.iter().filter(|_| kind.orders());
    table("wb_requests", kind.prefix(), columns, REQUESTS.iter().filter(|c| common(c)).chain(own).copied())
}

/// Answers of memory.
pub fn fills(kind: BackKind) -> Table {
    let columns: [(&'static str, &[&'static str]); 2] = [("place", &PLACES), ("answer", &ANSWERS)];
    table("wb_fills", kind.prefix(), columns, FILLS.iter().copied())
}
