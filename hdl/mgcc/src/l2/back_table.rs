//! Transition tables of `l2-wb` and `gtsc-l2`.
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

use super::params::BackKind;
use super::table::Request;
use weft_rtl::prelude::*;

/// State of the addressed line, as a request or a replay sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum BackState {
    /// Not here; a way for it is empty or clean.
    I,
    /// Not here; the way for it is dirty.
    #[hw(label = "I_dirty")]
    Dirty,
    /// Not here; every way is kept.
    #[hw(label = "I_none")]
    Full,
    /// A way is kept for it.
    P,
    /// Here, clean.
    V,
    /// Here, dirty.
    D,
    /// A transaction is under way.
    M,
}

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum BackDo {
    /// It is answered.
    Answer,
    /// It writes the line.
    Write,
    /// A way is kept for the line.
    Keep,
    /// RdReq to memory.
    Fetch,
    /// RdReq to memory; the request waits in the list.
    FetchFirst,
    /// The victim's dirty bytes go to memory; the request waits in the list.
    Evict,
    /// The line's own dirty bytes go to memory; the request waits in the list.
    Flush,
    /// The line is dropped.
    Drop,
    /// The request goes past the bank.
    Past,
    /// Wait in the line's list.
    Append,
}

transitions! {
    /// Requests of L1s and replays (mgcc.md sections 5 and 14). Where all operations of a line meet, in the ordering point of G-TSC and in a home bank, atomics are carried out
    /// and nothing is forced to memory. What follows is the state of the line's way, without the transaction.
    pub fn requests(kind: BackKind) {
        name "wb_requests", rows kind.prefix();
        on "state": BackState, "event": Request;
        next BackState;
        does BackDo;

        (I, Read) -> P [Keep, Fetch]         "a way is kept, RdReq to memory: M";
        if !kind.orders() {
            (I, Forced) [Past]               "RdReq to memory, nothing is kept: M";
        }
        (I, Partial) -> P [Keep, FetchFirst]
            "a way is kept, RdReq to memory; the write waits in the list: M";
        (I, Full) -> D [Write, Answer]       "installed whole: D";
        if !kind.orders() {
            (I, Amo) [Past]                  "AmoReq to memory: M";
        }
        (Dirty, Read) -> P [Keep, Evict]
            "the victim's dirty bytes to memory, its way is kept; the read waits: M";
        if !kind.orders() {
            (Dirty, Forced) [Past]           "RdReq to memory, nothing is kept: M";
        }
        (Dirty, Partial) -> P [Keep, Evict]
            "the victim's dirty bytes to memory, its way is kept; the write waits: M";
        (Dirty, Full) -> P [Keep, Evict]
            "the victim's dirty bytes to memory, its way is kept; the write waits: M";
        if !kind.orders() {
            (Dirty, Amo) [Past]              "AmoReq to memory: M";
        }
        (Full, Read) [Past]                  "RdReq to memory, nothing is kept: M";
        if !kind.orders() {
            (Full, Forced) [Past]            "RdReq to memory, nothing is kept: M";
        }
        (Full, Partial) [Past]               "WrReq to memory: M";
        (Full, Full) [Past]                  "WrReq to memory: M";
        if !kind.orders() {
            (Full, Amo) [Past]               "AmoReq to memory: M";
        }
        (P, Read) [Fetch]                    "the victim is in memory: RdReq";
        (P, Partial) [FetchFirst]            "the victim is in memory: RdReq; the write waits on";
        (P, Full) -> D [Write, Answer]       "the victim is in memory: installed whole: D";
        (V, Read) [Answer]                   "hit";
        if !kind.orders() {
            (V, Forced) -> I [Drop, Past]    "line dropped, RdReq to memory: M";
        }
        (V, Partial) -> D [Write, Answer]    "bytes merged: D";
        (V, Full) -> D [Write, Answer]       "line replaced: D";
        if !kind.orders() {
            (V, Amo) -> I [Drop, Past]       "line dropped, AmoReq to memory: M";
        }
        (D, Read) [Answer]                   "hit";
        if !kind.orders() {
            (D, Forced) -> I [Drop, Flush]   "dirty bytes to memory, line dropped; the read waits: M";
        }
        (D, Partial) [Write, Answer]         "bytes merged";
        (D, Full) [Write, Answer]            "line replaced";
        if !kind.orders() {
            (D, Amo) -> I [Drop, Flush]      "dirty bytes to memory, line dropped; the atomic waits: M";
        }
        (M, Read) [Append]                   "waits in the line's list";
        if !kind.orders() {
            (M, Forced) [Append]             "waits in the line's list";
        }
        (M, Partial) [Append]                "waits in the line's list";
        (M, Full) [Append]                   "waits in the line's list";
        if !kind.orders() {
            (M, Amo) [Append]                "waits in the line's list";
            never (P, Forced | Amo)          "a way is kept for what does not go past the bank";
        } else {
            (I, Amo) -> P [Keep, FetchFirst]
                "a way is kept, RdReq to memory; the atomic waits in the list: M";
            (Dirty, Amo) -> P [Keep, Evict]
                "the victim's dirty bytes to memory, its way is kept; the atomic waits: M";
            (Full, Amo) [Past]               "AmoReq to memory: M";
            (P, Amo) [FetchFirst]            "the victim is in memory: RdReq; the atomic waits on";
            (V, Amo) -> D [Write, Answer]    "carried out in the line: D";
            (D, Amo) [Write, Answer]         "carried out in the line";
            (M, Amo) [Append]                "waits in the line's list";
            never (_, Forced)                "no load has to go past the bank in which all operations meet";
        }
    }
}

/// Whether a way is kept for an answer's line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Kept {
    /// One is.
    #[hw(label = "kept")]
    Kept,
    /// None is.
    #[hw(label = "none")]
    None,
}

/// An answer of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Reply {
    /// Dirty bytes have been written.
    #[hw(label = "written")]
    Written,
    /// What was asked for.
    #[hw(label = "done")]
    Done,
}

/// What an answer of memory does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum BackFill {
    /// The line comes into its way.
    Install,
}

transitions! {
    /// Answers of memory.
    pub fn fills(kind: BackKind) {
        name "wb_fills", rows kind.prefix();
        on "place": Kept, "answer": Reply;
        next BackState;
        does BackFill;

        (Kept, Written)             "the victim's bytes are in memory; the list goes on";
        (Kept, Done) -> V [Install] "line into the way kept for it: V";
        (None, Written)             "the line's own bytes are in memory; the list goes on";
        (None, Done)                "a request that went past the bank is answered";
    }
}

/// Everything that moves the way of a line, and what requests see: other lines of the set decide which way there is for one that is not here, and a command or
/// another line writes back and drops what is here; while a transaction is under way requests see that.
pub fn machine(kind: BackKind) -> Machine<BackState> {
    use BackState::*;
    let filled = fills(kind).moves(|_| vec![P]);
    Machine::new("a line", I)
        .with(&requests(kind))
        .with(&filled)
        .also(&[I], Dirty)
        .also(&[I], Full)
        .also(&[V, D], I)
        .also(&[D], V)
        .also(&[I, P], M)
}
