//! What write-back adds to the transition tables (hmg.md section 5.2): stores that a bank may hold, and lines with dirty bytes.
//!
//! D: a valid copy some bytes of which were written here and have not gone on. W: only such bytes, nothing can be read. A mask says which bytes. The action
//! `write_on` sends them to the next home and leaves the line clean (D to V, W to I); the operation itself then follows at once, on the network behind them.
//! `hold` makes a line dirty that was not: the set must have room for it. Stores that may not be held here pass as with write-through, and the mask forgets
//! their bytes (`unmark`).

use super::tables::Cell;

/// Rows of a line that other nodes serve: `_held` are stores of CU scope.
pub(super) const REQUESTER: [Cell; 24] = [
    ("I", "store_full_held", &["install", "hold", "mark", "to_d"], "installed whole, nothing is sent: D"),
    (
        "I",
        "store_partial_held",
        &["allocate", "hold", "mark", "to_w"],
        "a way takes the bytes, nothing is sent: W",
    ),
    ("V", "store_full_held", &["update", "hold", "mark", "to_d"], "copy updated, nothing is sent: D"),
    ("V", "store_partial_held", &["update", "hold", "mark", "to_d"], "copy updated, nothing is sent: D"),
    ("P", "store_full_held", &["send_write", "poison"], "WrReq to the home: PX"),
    ("P", "store_partial_held", &["send_write", "poison"], "WrReq to the home: PX"),
    ("PX", "store_full_held", &["send_write"], "WrReq to the home"),
    ("PX", "store_partial_held", &["send_write"], "WrReq to the home"),
    ("D", "load", &["answer"], "hit"),
    ("D", "load_forced", &["write_on"], "dirty bytes to the home, then again as V"),
    ("D", "store_full_held", &["update", "join"], "copy updated, nothing is sent"),
    ("D", "store_partial_held", &["update", "join"], "copy updated, nothing is sent"),
    ("D", "store_full", &["update", "send_write", "to_v"], "copy updated, WrReq of all bytes to the home: V"),
    ("D", "store_partial", &["update", "send_write", "unmark"], "copy updated, WrReq to the home"),
    ("D", "atomic", &["write_on"], "dirty bytes to the home, then again as V"),
    ("D", "Inv", &["to_w", "inv_hit"], "the clean bytes are dropped, counted by cause: W"),
    ("W", "load", &["write_on"], "dirty bytes to the home, then again as I"),
    ("W", "load_forced", &["write_on"], "dirty bytes to the home, then again as I"),
    ("W", "store_full_held", &["update", "mark", "to_d"], "every byte is known: D"),
    ("W", "store_partial_held", &["update", "join"], "further bytes, nothing is sent"),
    ("W", "store_full", &["update", "send_write", "to_v"], "WrReq of all bytes to the home: V"),
    ("W", "store_partial", &["update", "send_write", "unmark"], "WrReq to the home"),
    ("W", "atomic", &["write_on"], "dirty bytes to the home, then again as I"),
    ("W", "Inv", &["inv_miss"], "no clean byte is here, counted as miss"),
];

/// Rows of a line whose GPU home is here: `_held` are stores of up to GPU scope.
pub(super) const GPU_HOME: [Cell; 30] = [
    (
        "I",
        "store_full_held",
        &["install", "hold", "mark", "to_d"],
        "installed whole, nothing is passed on: D",
    ),
    (
        "I",
        "store_partial_held",
        &["allocate", "hold", "mark", "to_w"],
        "a way takes the bytes, nothing is passed on: W",
    ),
    ("V", "store_full_held", &["update", "hold", "mark", "to_d"], "copy updated, nothing is passed on: D"),
    ("V", "store_partial_held", &["update", "hold", "mark", "to_d"], "copy updated, nothing is passed on: D"),
    ("P", "store_full_held", &["pass_write", "poison"], "WrReq to the system home: PX"),
    ("P", "store_partial_held", &["pass_write", "poison"], "WrReq to the system home: PX"),
    ("PX", "store_full_held", &["pass_write"], "WrReq to the system home"),
    ("PX", "store_partial_held", &["pass_write"], "WrReq to the system home"),
    ("PA", "store_full_held", &["wait"], "the atomic comes first: waits until the MSHR is freed"),
    ("PA", "store_partial_held", &["wait"], "the atomic comes first: waits until the MSHR is freed"),
    ("PAX", "store_full_held", &["wait"], "waits until the MSHR is freed"),
    ("PAX", "store_partial_held", &["wait"], "waits until the MSHR is freed"),
    ("D", "load", &["answer"], "hit"),
    ("D", "load_forced", &["write_on"], "dirty bytes to the system home, then again as V"),
    ("D", "store_full_held", &["update", "join"], "copy updated, nothing is passed on"),
    ("D", "store_partial_held", &["update", "join"], "copy updated, nothing is passed on"),
    (
        "D",
        "store_full",
        &["update", "pass_write", "to_v"],
        "copy updated, WrReq of all bytes to the system home: V",
    ),
    ("D", "store_partial", &["update", "pass_write", "unmark"], "copy updated, WrReq to the system home"),
    (
        "D",
        "atomic_gpu",
        &["update", "pass_result", "unmark"],
        "performed, its result to the system home as WrReq",
    ),
    ("D", "atomic_sys", &["write_on"], "dirty bytes to the system home, then again as V"),
    (
        "D",
        "Inv",
        &["to_w", "inv_hit"],
        "the clean bytes are dropped, counted by cause, passed on by the directory: W",
    ),
    ("W", "load", &["write_on"], "dirty bytes to the system home, then again as I"),
    ("W", "load_forced", &["write_on"], "dirty bytes to the system home, then again as I"),
    ("W", "store_full_held", &["update", "mark", "to_d"], "every byte is known: D"),
    ("W", "store_partial_held", &["update", "join"], "further bytes, nothing is passed on"),
    ("W", "store_full", &["update", "pass_write", "to_v"], "WrReq of all bytes to the system home: V"),
    ("W", "store_partial", &["update", "pass_write", "unmark"], "WrReq to the system home"),
    ("W", "atomic_gpu", &["write_on"], "dirty bytes to the system home, then again as I"),
    ("W", "atomic_sys", &["write_on"], "dirty bytes to the system home, then again as I"),
    ("W", "Inv", &["inv_miss"], "no clean byte is here, counted as miss, passed on by the directory"),
];
