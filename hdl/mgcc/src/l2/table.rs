//! Transition tables of `mgcc-l2`.
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

use super::types::LineState;
use weft_rtl::prelude::*;

/// State of the addressed line, as a request sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Seen {
    /// Not here.
    I,
    /// Expired.
    X,
    /// Live.
    V,
    /// A transaction of the line is under way.
    M,
}

/// What a request is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Request {
    /// Read.
    #[hw(label = "RdReq")]
    Read,
    /// Read that goes to memory.
    #[hw(label = "RdReq_forced")]
    Forced,
    /// Write of some bytes.
    #[hw(label = "WrReq_partial")]
    Partial,
    /// Write of the whole line.
    #[hw(label = "WrReq_full")]
    Full,
    /// Atomic.
    #[hw(label = "AmoReq")]
    Amo,
}

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Do {
    /// Answer from the block.
    Answer,
    /// Open a transaction that reads.
    OpenRead,
    /// Open one that writes.
    OpenWrite,
    /// Open an atomic.
    OpenAmo,
    /// Lock a victim's way, if there is one, with the data.
    Allocate,
    /// Keep the way.
    Keep,
    /// Merge the bytes and lock the block.
    Lock,
    /// Drop the block.
    Drop,
    /// Wait in the line's list.
    Append,
}

transitions! {
    /// Requests of L1s and replays at `mgcc-l2` (mgcc.md section 5); `coherent`: with timestamps. What follows is the state of the line's way.
    pub fn requests(coherent: bool) {
        name "l2_requests", rows "mgcc.l2.";
        on "state": Seen, "event": Request;
        next LineState;
        does Do;

        (I, Read) [OpenRead]                 "RdReq to memory: M";
        (I, Forced) [OpenRead]               "RdReq to memory: M";
        (I, Partial) [OpenWrite]             "WrReq to memory, no block: M";
        (I, Full) -> I | K [OpenWrite, Allocate]
            "WrReq to memory; a victim's way, if there is one, is locked with the data: M";
        (I, Amo) [OpenAmo]                   "AmoReq to memory: M";
        if coherent {
            (X, Read) -> P [OpenRead, Keep]  "coherence miss: RdReq to memory, the way is kept: M";
            (X, Forced) -> P [OpenRead, Keep] "RdReq to memory, the way is kept: M";
            (X, Partial) -> K [OpenWrite, Lock] "bytes merged and block locked, WrReq to memory: M";
            (X, Full) -> K [OpenWrite, Lock] "bytes merged and block locked, WrReq to memory: M";
            (X, Amo) -> I [OpenAmo, Drop]    "block dropped, AmoReq to memory: M";
        } else {
            never (X, _)                     "without timestamps nothing expires";
        }
        (V, Read) [Answer]                   "hit: RdRsp with the block's stamps";
        (V, Forced) -> P [OpenRead, Keep]    "RdReq to memory although the block is live, the way is kept: M";
        (V, Partial) -> K [OpenWrite, Lock]  "write hit: bytes merged and block locked, WrReq to memory: M";
        (V, Full) -> K [OpenWrite, Lock]     "write hit: bytes merged and block locked, WrReq to memory: M";
        (V, Amo) -> I [OpenAmo, Drop]        "block dropped, AmoReq to memory: M";
        (M, Read) [Append]                   "waits in the line's list";
        (M, Forced) [Append]                 "waits in the line's list";
        (M, Partial) [Append]                "waits in the line's list";
        (M, Full) [Append]                   "waits in the line's list";
        (M, Amo) [Append]                    "waits in the line's list";
    }
}

/// Where the line of an answer can go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Place {
    /// The way that holds its tag.
    #[hw(label = "own")]
    Own,
    /// A way that may be replaced.
    #[hw(label = "victim")]
    Victim,
    /// Nowhere.
    #[hw(label = "none")]
    None,
}

/// An answer of memory, with the line or without, and what its stamps are worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Landed {
    /// With the line; the stamps fit.
    #[hw(label = "line_fits")]
    LineFits,
    /// With the line; the clock is past the lease.
    #[hw(label = "line_past")]
    LinePast,
    /// With the line; stamps of another epoch.
    #[hw(label = "line_old")]
    LineOld,
    /// Without the line; the stamps fit.
    #[hw(label = "bare_fits")]
    BareFits,
    /// Without the line; the clock is past the lease.
    #[hw(label = "bare_past")]
    BarePast,
    /// Without the line; stamps of another epoch.
    #[hw(label = "bare_old")]
    BareOld,
}

/// What an answer of memory does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Settle {
    /// Line and stamps come into a way.
    Install,
    /// A valid victim is dropped.
    Evict,
    /// The block gets stamps.
    Stamp,
    /// The block is dropped.
    Drop,
    /// No way can be taken.
    Bypass,
}

transitions! {
    /// Answers of memory at `mgcc-l2`; without timestamps they always fit.
    pub fn fills(coherent: bool) {
        name "l2_fills", rows "mgcc.l2.";
        on "place": Place, "answer": Landed;
        next LineState;
        does Settle;

        (Own, LineFits) -> V [Install]           "line and stamps into its way: V";
        if coherent {
            (Own, LinePast) -> I [Drop]          "of no use here any more: I";
            (Own, LineOld) -> I [Drop]           "a stamp of another epoch: I";
        }
        (Own, BareFits) -> V [Stamp]             "a write's bytes are there already; stamps: V";
        if coherent {
            (Own, BarePast) -> V [Stamp]         "stamps; expired at once: V";
            (Own, BareOld) -> I [Drop]           "a stamp of another epoch: I";
        }
        (Victim, LineFits) -> V [Install, Evict] "line and stamps into the victim's way: V";
        if coherent {
            (Victim, LinePast)                   "answered only";
            (Victim, LineOld)                    "answered only";
        }
        "victim.bare_any" (Victim, BareFits | BarePast | BareOld) "a write that found no way; answered only";
        (None, LineFits) [Bypass]                "every way is locked or kept: answered only";
        if coherent {
            (None, LinePast)                     "answered only";
            (None, LineOld)                      "answered only";
        }
        "none.bare_any" (None, BareFits | BarePast | BareOld)     "a write that found no way; answered only";
        if !coherent {
            never (_, LinePast | LineOld | BarePast | BareOld)    "without timestamps every answer fits";
        }
    }
}

/// Everything that moves the way of a line; a sweep drops what is not locked, and other lines take ways.
pub fn machine(coherent: bool) -> Machine<LineState> {
    use LineState::*;
    let is = |codes: &[u64], seen: Seen| codes.contains(&seen.encoding());
    let asked = requests(coherent).moves(|row| vec![if is(&row.when[0], Seen::I) { I } else { V }]);
    let filled = fills(coherent).moves(|row| match row.when[0] == [Place::Own.encoding()] {
        true if row.when[1].contains(&Landed::BareFits.encoding()) => vec![K],
        true => vec![P, K],
        false => vec![I],
    });
    Machine::new("way of a line", I).with(&asked).with(&filled).also(&[V, P], I)
}
