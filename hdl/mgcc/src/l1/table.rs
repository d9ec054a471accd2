//! The L1's transition tables, as data (mgcc.md section 4).
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
    Ld,
    /// LD_SYNC: load that goes to memory (release consistency).
    LdSync,
    /// ST of all 64 bytes.
    StFull,
    /// ST of some bytes.
    StPart,
    /// AMO: atomic.
    Amo,
    /// FENCE: acquire or release.
    Fence,
    /// Kernel begin: SetCts.
    Kbegin,
    /// Kernel end: fold and report the clock.
    Kend,
}

/// What the arrays hold of the line, when it is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Block {
    /// No tag match, and every way of the set is locked or belongs to a line under way.
    Crowded,
    /// No tag match; a way can be taken.
    Absent,
    /// Tag match, lease over: a coherence miss.
    Expired,
    /// Tag match, lease holds.
    Live,
}

/// Kinds of answers from the bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Answer {
    /// RdRsp.
    Rd,
    /// WrRsp with the line.
    WrData,
    /// WrRsp without it: the locked block has all bytes.
    WrAck,
    /// AmoRsp.
    Amo,
    /// Renew of G-TSC: new stamps for the block that is here.
    Renew,
}

/// What an answer's stamps allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Lease {
    /// Stamps of an epoch that is over.
    Old,
    /// The clock has passed the lease.
    Past,
    /// The lease covers the clock; without coherence always.
    Covers,
}

/// Where an answer's line can be put.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Place {
    /// Nowhere: every way of the set is locked or belongs to a line under way.
    Nowhere,
    /// In place of a victim.
    Victim,
    /// In the matching or the locked way.
    Own,
}

/// A row as written down: identifier, what it accepts in the three columns (nothing: everything), actions, sentence.
type Line<A, B, C> =
    (&'static str, &'static [A], &'static [B], &'static [C], &'static [&'static str], &'static str);

fn rows<A: HwEnum, B: HwEnum, C: HwEnum>(p: &L1Params, lines: &[Line<A, B, C>]) -> Vec<Row> {
    let prefix = if p.gtsc() { "gtsc.l1" } else { "mgcc.l1" };
    let here = lines.iter().filter(|line| !p.gtsc() || !ALLOCATING.contains(&line.0));
    let rows = here.map(|(id, a, b, c, actions, text)| Row {
        id: format!("{prefix}.{id}"),
        when: vec![codes(a), codes(b), codes(c)],
        actions: actions.to_vec(),
        text: (*text).into(),
    });
    rows.collect()
}

fn codes<E: HwEnum>(values: &[E]) -> Vec<u64> {
    values.iter().map(|v| v.encoding()).collect()
}

fn column<E: HwEnum>(name: &'static str, words: &[&'static str]) -> Column {
    let variants = E::enum_type().variants.clone();
    Column { name, values: words.iter().zip(variants).map(|(word, (_, code))| (*word, code)).collect() }
}

/// Whether the line of a request has an MSHR that is not the request's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum Mshr {
    /// None.
    Free,
    /// It has.
    Busy,
}

/// Operations of every L1.
const COMMON: &[Line<L1Event, Mshr, Block>] = {
    use {Block::*, L1Event::*, Mshr::*};
    &[
        (
            "ld.live",
            &[Ld],
            &[Free],
            &[Live],
            &["hit"],
            "Answer from the block; LRU; every SELF_INC-th hit advances the clock.",
        ),
        ("ld.absent", &[Ld], &[Free], &[Crowded, Absent], &["read"], "M := R, need := cts; RdReq."),
        (
            "st.live",
            &[StFull, StPart],
            &[Free],
            &[Live],
            &["write", "lock"],
            "Write hit: merge the bytes, V -> K; M := W with the way; WrReq.",
        ),
        (
            "st_full.absent",
            &[StFull],
            &[Free],
            &[Absent],
            &["write", "take"],
            "The victim's way := K with the data; M := W with the way; WrReq.",
        ),
        (
            "st_full.crowded",
            &[StFull],
            &[Free],
            &[Crowded],
            &["write"],
            "No way can be taken: M := W without a way; WrReq.",
        ),
        (
            "st_part.absent",
            &[StPart],
            &[Free],
            &[Crowded, Absent],
            &["write"],
            "M := W without a way; WrReq.",
        ),
        ("amo.live", &[Amo], &[Free], &[Live], &["atomic", "drop"], "The block becomes I; M := A; AmoReq."),
        ("amo.absent", &[Amo], &[Free], &[Crowded, Absent], &["atomic"], "M := A; AmoReq."),
        ("ld.busy", &[Ld], &[Busy], &[], &["wait"], "To the end of the line's FIFO, need := cts."),
        ("st.busy", &[StFull, StPart], &[Busy], &[], &["wait"], "To the end of the line's FIFO."),
        ("amo.busy", &[Amo], &[Busy], &[], &["wait"], "To the end of the line's FIFO."),
        (
            "fence",
            &[Fence],
            &[],
            &[],
            &["fence"],
            "When the stores and atomics taken before have completed: cts := max(cts, acq), answer.",
        ),
        ("kend", &[Kend], &[], &[], &["fence"], "As a fence; the answer carries cts."),
        (
            "kbegin",
            &[Kbegin],
            &[],
            &[],
            &["begin"],
            "Roll if the given time's epoch is newer (without coherence: sweep); cts := max(cts, time), answer.",
        ),
    ]
};

/// Rows of an L1 that gives a way to what a store writes.
const ALLOCATING: [&str; 6] = [
    "st_full.absent",
    "st_full.crowded",
    "st_part.absent",
    "wr_data.install_victim",
    "wr_data.nowhere",
    "wr_data.past_away",
];

/// G-TSC's L1 does not: stores that miss leave it as it is.
const NO_ALLOCATE: &[Line<L1Event, Mshr, Block>] = {
    use {Block::*, L1Event::*, Mshr::*};
    &[(
        "st.absent",
        &[StFull, StPart],
        &[Free],
        &[Crowded, Absent],
        &["write"],
        "M := W without a way; WrReq.",
    )]
};

/// Leases of G-TSC are renewed.
const RENEWALS: &[Line<Answer, Lease, Place>] = {
    use {Answer::*, Lease::*, Place::*};
    &[
        (
            "renew.own",
            &[Renew],
            &[Covers, Past],
            &[Own],
            &["stamp"],
            "The block's new stamps: V, answered from it.",
        ),
        (
            "renew.away",
            &[Renew],
            &[],
            &[Victim, Nowhere],
            &[],
            "The block has gone with its epoch: the load is asked again.",
        ),
    ]
};

/// Where leases end.
const LEASED: &[Line<L1Event, Mshr, Block>] = {
    use {Block::*, L1Event::*, Mshr::*};
    &[
        ("ld.expired", &[Ld], &[Free], &[Expired], &["read"], "Coherence miss: M := R, need := cts; RdReq."),
        (
            "st.expired",
            &[StFull, StPart],
            &[Free],
            &[Expired],
            &["write", "lock"],
            "Write miss: merge the bytes, V -> K; M := W with the way; WrReq.",
        ),
        (
            "amo.expired",
            &[Amo],
            &[Free],
            &[Expired],
            &["atomic", "drop"],
            "The block becomes I; M := A; AmoReq.",
        ),
    ]
};

/// Ordered loads of release consistency.
const ORDERED: &[Line<L1Event, Mshr, Block>] = {
    use {Block::*, L1Event::*, Mshr::*};
    &[
        (
            "ld_sync.present",
            &[LdSync],
            &[Free],
            &[Expired, Live],
            &["read"],
            "To memory, even if the block is live: M := R; RdReq with force.",
        ),
        (
            "ld_sync.absent",
            &[LdSync],
            &[Free],
            &[Crowded, Absent],
            &["read"],
            "To memory: M := R; RdReq with force.",
        ),
        ("ld_sync.busy", &[LdSync], &[Busy], &[], &["wait"], "To the end of the line's FIFO."),
    ]
};

/// The table of operations: event, line busy, block.
pub fn operations(p: &L1Params) -> Table {
    let mut all = rows(p, COMMON);
    if p.gtsc() {
        all.extend(rows(p, NO_ALLOCATE));
    }
    if p.coherent() {
        all.extend(rows(p, LEASED));
    }
    if p.has_sync_loads() {
        all.extend(rows(p, ORDERED));
    }
    let events = ["LD", "LD_SYNC", "ST full", "ST partial", "AMO", "FENCE", "KBEGIN", "KEND"];
    Table {
        name: "mgcc_l1_operations",
        columns: vec![
            column::<L1Event>("event", &events),
            column::<Mshr>("line", &["free", "busy"]),
            column::<Block>("block", &["absent, no victim", "absent", "expired", "live"]),
        ],
        rows: all,
    }
}

/// Answers to every L1.
const ANSWERS: &[Line<Answer, Lease, Place>] = {
    use {Answer::*, Lease::*, Place::*};
    &[
        (
            "rd.install_victim",
            &[Rd],
            &[Covers],
            &[Victim],
            &["install"],
            "Data and stamps into the victim's way: V.",
        ),
        ("rd.nowhere", &[Rd], &[Covers], &[Nowhere], &["bypass"], "Complete without installing."),
        (
            "wr_data.install_own",
            &[WrData],
            &[Covers],
            &[Own],
            &["install"],
            "The merged line into the locked way: K -> V.",
        ),
        (
            "wr_data.install_victim",
            &[WrData],
            &[Covers],
            &[Victim],
            &["install"],
            "The merged line into the victim's way: V.",
        ),
        ("wr_data.nowhere", &[WrData], &[Covers], &[Nowhere], &["bypass"], "Complete without installing."),
        ("wr_ack.own", &[WrAck], &[Covers, Past], &[Own], &["stamp"], "Stamp the locked block, K -> V."),
        ("wr_ack.away", &[WrAck], &[], &[Victim, Nowhere], &[], "Nothing is kept."),
        (
            "amo.install_victim",
            &[Amo],
            &[Covers],
            &[Victim],
            &["install"],
            "The line into the victim's way: V.",
        ),
        ("amo.nowhere", &[Amo], &[Covers], &[Nowhere], &["bypass"], "Complete without installing."),
    ]
};

/// Where a matching block can be read anew.
const RENEWED: &[Line<Answer, Lease, Place>] = &[(
    "rd.install_own",
    &[Answer::Rd],
    &[Lease::Covers],
    &[Place::Own],
    &["install"],
    "The matching block is read anew: V again.",
)];

/// Where leases end.
const TOO_OLD: &[Line<Answer, Lease, Place>] = {
    use {Answer::*, Lease::*, Place::*};
    &[
        (
            "rd.past_own",
            &[Rd],
            &[Old, Past],
            &[Own],
            &["drop"],
            "Too old to keep: the matching block becomes I.",
        ),
        ("rd.past_away", &[Rd], &[Old, Past], &[Victim, Nowhere], &["bypass"], "Too old to keep."),
        ("wr_data.past_own", &[WrData], &[Old, Past], &[Own], &["drop"], "Too old to keep: K -> I."),
        ("wr_data.past_away", &[WrData], &[Old, Past], &[Victim, Nowhere], &["bypass"], "Too old to keep."),
        ("wr_ack.old", &[WrAck], &[Old], &[Own], &["drop"], "Stamps of an older epoch: K -> I."),
        ("amo.past_away", &[Amo], &[Old, Past], &[Victim, Nowhere], &["bypass"], "Too old to keep."),
    ]
};

/// The table of the bank's answers: answer, lease, place. Beside it the clock is raised as *clock* says, and the requests that wait are served or replayed.
pub fn answers(p: &L1Params) -> Table {
    let mut all = rows(p, ANSWERS);
    if p.coherent() || p.has_sync_loads() {
        all.extend(rows(p, RENEWED));
    }
    if p.coherent() {
        all.extend(rows(p, TOO_OLD));
    }
    if p.gtsc() {
        all.extend(rows(p, RENEWALS));
    }
    Table {
        name: "mgcc_l1_answers",
        columns: vec![
            column::<Answer>("answer", &["RdRsp", "WrRsp with data", "WrRsp", "AmoRsp", "Renew"]),
            column::<Lease>("lease", &["older epoch", "past", "covers cts"]),
            column::<Place>("place", &["nowhere", "victim", "own"]),
        ],
        rows: all,
    }
}
