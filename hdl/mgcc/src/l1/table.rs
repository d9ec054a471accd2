//! The L1's transition tables (mgcc.md section 4).
//!
//! | state of a block | meaning |
//! | --- | --- |
//! | I | invalid |
//! | V | valid: *live* while the clock is at most its rts, else *expired*; without coherence always live |
//! | K | locked by a store under way: neither read nor evicted |
//!
//! An operation finds its line free (no MSHR) or busy. A request that finds it busy waits in the line's FIFO; a replayed one finds it free, since the
//! MSHR is its own.

use super::L1Params;
use weft_rtl::prelude::*;

/// What a request asks of the L1, decoded when it enters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum L1Event {
    /// LD: load.
    #[hw(label = "LD")]
    Ld,
    /// LD_SYNC: load that goes to memory (release consistency).
    #[hw(label = "LD_SYNC")]
    LdSync,
    /// ST of all 64 bytes.
    #[hw(label = "ST full")]
    StFull,
    /// ST of some bytes.
    #[hw(label = "ST partial")]
    StPart,
    /// AMO: atomic.
    #[hw(label = "AMO")]
    Amo,
    /// FENCE: acquire or release.
    #[hw(label = "FENCE")]
    Fence,
    /// Kernel begin: SetCts.
    #[hw(label = "KBEGIN")]
    Kbegin,
    /// Kernel end: fold and report the clock.
    #[hw(label = "KEND")]
    Kend,
}

/// What the arrays hold of the line, when it is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Block {
    /// No tag match, and every way of the set is locked or belongs to a line under way.
    #[hw(label = "absent, no victim")]
    Crowded,
    /// No tag match; a way can be taken.
    #[hw(label = "absent")]
    Absent,
    /// Tag match, lease over: a coherence miss.
    #[hw(label = "expired")]
    Expired,
    /// Tag match, lease holds.
    #[hw(label = "live")]
    Live,
}

/// Kinds of answers from the bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Answer {
    /// RdRsp.
    #[hw(label = "RdRsp")]
    Rd,
    /// WrRsp with the line.
    #[hw(label = "WrRsp with data")]
    WrData,
    /// WrRsp without it: the locked block has all bytes.
    #[hw(label = "WrRsp")]
    WrAck,
    /// AmoRsp.
    #[hw(label = "AmoRsp")]
    Amo,
    /// Renew of G-TSC: new stamps for the block that is here.
    Renew,
}

/// What an answer's stamps allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Lease {
    /// Stamps of an epoch that is over.
    #[hw(label = "older epoch")]
    Old,
    /// The clock has passed the lease.
    #[hw(label = "past")]
    Past,
    /// The lease covers the clock; without coherence always.
    #[hw(label = "covers cts")]
    Covers,
}

/// Where an answer's line can be put.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Place {
    /// Nowhere: every way of the set is locked or belongs to a line under way.
    #[hw(label = "nowhere")]
    Nowhere,
    /// In place of a victim.
    #[hw(label = "victim")]
    Victim,
    /// In the matching or the locked way.
    #[hw(label = "own")]
    Own,
}

/// Whether the line of a request has an MSHR that is not the request's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum Mshr {
    /// None.
    #[hw(label = "free")]
    Free,
    /// It has.
    #[hw(label = "busy")]
    Busy,
}

/// State of a block. The tables see it in other words: V as live or expired, I as absent, and K by the line's MSHR.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum BlockState {
    /// Invalid.
    I,
    /// Valid.
    V,
    /// Locked by a store under way.
    K,
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Operate {
    /// Answer from the block.
    Hit,
    /// M := R; RdReq.
    Read,
    /// M := W; WrReq.
    Write,
    /// M := A; AmoReq.
    Atomic,
    /// Merge the bytes into the block and lock it.
    Lock,
    /// Put the line into the victim's way and lock it.
    Take,
    /// The block becomes I.
    Drop,
    /// To the end of the line's FIFO.
    Wait,
    /// A fence, or a kernel's end.
    Fence,
    /// A kernel's begin.
    Begin,
}

fn prefix(p: &L1Params) -> &'static str {
    if p.gtsc() { "gtsc.l1." } else { "mgcc.l1." }
}

transitions! {
    /// Operations. G-TSC's stores that miss leave the L1 as it is.
    pub fn operations(p: &L1Params) {
        name "mgcc_l1_operations", rows prefix(p);
        on "event": L1Event, "line": Mshr, "block": Block;
        next BlockState;
        does Operate;

        "ld.live"       (Ld, Free, Live) [Hit]
            "Answer from the block; LRU; every SELF_INC-th hit advances the clock.";
        "ld.absent"     (Ld, Free, Crowded | Absent) [Read]          "M := R, need := cts; RdReq.";
        "st.live"       (StFull | StPart, Free, Live) -> K [Write, Lock]
            "Write hit: merge the bytes, V -> K; M := W with the way; WrReq.";
        if !p.gtsc() {
            "st_full.absent"  (StFull, Free, Absent) -> K [Write, Take]
                "The victim's way := K with the data; M := W with the way; WrReq.";
            "st_full.crowded" (StFull, Free, Crowded) [Write]
                "No way can be taken: M := W without a way; WrReq.";
            "st_part.absent"  (StPart, Free, Crowded | Absent) [Write] "M := W without a way; WrReq.";
        }
        "amo.live"      (Amo, Free, Live) -> I [Atomic, Drop]        "The block becomes I; M := A; AmoReq.";
        "amo.absent"    (Amo, Free, Crowded | Absent) [Atomic]       "M := A; AmoReq.";
        "ld.busy"       (Ld, Busy, _) [Wait]                         "To the end of the line's FIFO, need := cts.";
        "st.busy"       (StFull | StPart, Busy, _) [Wait]            "To the end of the line's FIFO.";
        "amo.busy"      (Amo, Busy, _) [Wait]                        "To the end of the line's FIFO.";
        "fence"         (Fence, _, _) [Fence]
            "When the stores and atomics taken before have completed: cts := max(cts, acq), answer.";
        "kend"          (Kend, _, _) [Fence]                         "As a fence; the answer carries cts.";
        "kbegin"        (Kbegin, _, _) [Begin]
            "Roll if the given time's epoch is newer (without coherence: sweep); cts := max(cts, time), answer.";
        if p.gtsc() {
            "st.absent" (StFull | StPart, Free, Crowded | Absent) [Write] "M := W without a way; WrReq.";
        }
        if p.coherent() {
            "ld.expired"  (Ld, Free, Expired) [Read]                 "Coherence miss: M := R, need := cts; RdReq.";
            "st.expired"  (StFull | StPart, Free, Expired) -> K [Write, Lock]
                "Write miss: merge the bytes, V -> K; M := W with the way; WrReq.";
            "amo.expired" (Amo, Free, Expired) -> I [Atomic, Drop]   "The block becomes I; M := A; AmoReq.";
        } else {
            never (_, _, Expired)                                    "without coherence no block expires";
        }
        if p.has_sync_loads() {
            "ld_sync.present" (LdSync, Free, Expired | Live) [Read]
                "To memory, even if the block is live: M := R; RdReq with force.";
            "ld_sync.absent"  (LdSync, Free, Crowded | Absent) [Read] "To memory: M := R; RdReq with force.";
            "ld_sync.busy"    (LdSync, Busy, _) [Wait]               "To the end of the line's FIFO.";
        } else {
            never (LdSync, _, _)                                     "under sequential consistency it is a LD";
        }
    }
}

/// What an answer does to the line's block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Settle {
    /// Line and stamps come into a way.
    Install,
    /// The line is not kept.
    Bypass,
    /// The block gets stamps.
    Stamp,
    /// The block becomes I.
    Drop,
}

transitions! {
    /// The bank's answers. Beside the rows the clock is raised as *clock* says, and the requests that wait are served or replayed.
    pub fn answers(p: &L1Params) {
        name "mgcc_l1_answers", rows prefix(p);
        on "answer": Answer, "lease": Lease, "place": Place;
        next BlockState;
        does Settle;

        "rd.install_victim"   (Rd, Covers, Victim) -> V [Install] "Data and stamps into the victim's way: V.";
        "rd.nowhere"          (Rd, Covers, Nowhere) [Bypass]      "Complete without installing.";
        "wr_data.install_own" (WrData, Covers, Own) -> V [Install]
            "The merged line into the locked way: K -> V.";
        if !p.gtsc() {
            "wr_data.install_victim" (WrData, Covers, Victim) -> V [Install]
                "The merged line into the victim's way: V.";
            "wr_data.nowhere" (WrData, Covers, Nowhere) [Bypass]  "Complete without installing.";
        }
        "wr_ack.own"          (WrAck, Covers | Past, Own) -> V [Stamp] "Stamp the locked block, K -> V.";
        "wr_ack.away"         (WrAck, _, Victim | Nowhere)        "Nothing is kept.";
        "amo.install_victim"  (Amo, Covers, Victim) -> V [Install] "The line into the victim's way: V.";
        "amo.nowhere"         (Amo, Covers, Nowhere) [Bypass]     "Complete without installing.";
        if p.coherent() || p.has_sync_loads() {
            "rd.install_own"  (Rd, Covers, Own) -> V [Install]    "The matching block is read anew: V again.";
        } else {
            never (Rd, _, Own)                                    "a load that misses has no block";
        }
        if p.coherent() {
            "rd.past_own"       (Rd, Old | Past, Own) -> I [Drop]
                "Too old to keep: the matching block becomes I.";
            "rd.past_away"      (Rd, Old | Past, Victim | Nowhere) [Bypass] "Too old to keep.";
            "wr_data.past_own"  (WrData, Old | Past, Own) -> I [Drop] "Too old to keep: K -> I.";
            if !p.gtsc() {
                "wr_data.past_away" (WrData, Old | Past, Victim | Nowhere) [Bypass] "Too old to keep.";
            }
            "wr_ack.old"        (WrAck, Old, Own) -> I [Drop]     "Stamps of an older epoch: K -> I.";
            "amo.past_away"     (Amo, Old | Past, Victim | Nowhere) [Bypass] "Too old to keep.";
        } else {
            never (_, Old | Past, _)                              "without coherence every answer is of use";
        }
        if p.gtsc() {
            "renew.own"  (Renew, Covers | Past, Own) -> V [Stamp] "The block's new stamps: V, answered from it.";
            "renew.away" (Renew, _, Victim | Nowhere)
                "The block has gone with its epoch: the load is asked again.";
            never (Renew, Old, Own)                               "a block of an older epoch has gone with it";
            never (WrData, _, Victim | Nowhere)
                "the bank sends the line only to an L1 that has a block of it, which the store has locked";
        } else {
            never (Renew, _, _)                                   "only G-TSC renews leases";
        }
        never (Amo, _, Own)                                       "an atomic drops the block when it leaves";
    }
}

/// Everything that moves a block; a new epoch and a kernel's begin drop what is valid, and other lines take ways.
pub fn machine(p: &L1Params) -> Machine<BlockState> {
    use BlockState::*;
    let has = |codes: &[u64], code: u64| codes.contains(&code);
    let asked = operations(p).moves(|row| {
        let present =
            has(&row.when[2], Block::Live.encoding()) || has(&row.when[2], Block::Expired.encoding());
        vec![if present { V } else { I }]
    });
    let answered = answers(p).moves(|row| {
        let stored =
            has(&row.when[0], Answer::WrData.encoding()) || has(&row.when[0], Answer::WrAck.encoding());
        let own = has(&row.when[2], Place::Own.encoding());
        vec![if own { if stored { K } else { V } } else { I }]
    });
    Machine::new("state of a block", I).with(&asked).with(&answered).also(&[V], I)
}
