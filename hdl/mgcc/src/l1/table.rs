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
#[hw(width = 2)]
pub enum Answer {
    /// RdRsp.
    Rd,
    /// WrRsp with the line.
    WrData,
    /// WrRsp without it: the locked block has all bytes.
    WrAck,
    /// AmoRsp.
    Amo,
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

fn row(id: &str, when: &[&[u64]], actions: &[&'static str], text: &str) -> Row {
    let when = when.iter().map(|p| p.to_vec()).collect();
    Row { id: format!("mgcc.l1.{id}"), when, actions: actions.to_vec(), text: text.into() }
}

fn codes<E: HwEnum>(values: &[E]) -> Vec<u64> {
    values.iter().map(|v| v.encoding()).collect()
}

fn column<E: HwEnum>(name: &'static str, words: &[&'static str]) -> Column {
    let variants = E::enum_type().variants.clone();
    Column { name, values: words.iter().zip(variants).map(|(word, (_, code))| (*word, code)).collect() }
}

/// The table of operations: event, line busy, block.
pub fn operations(p: &L1Params) -> Table {
    use Block::*;
    use L1Event::*;
    let (free, busy): (&[u64], &[u64]) = (&[0], &[1]);
    let on = |id: &str,
              events: &[L1Event],
              line: &[u64],
              blocks: &[Block],
              actions: &[&'static str],
              text: &str| { row(id, &[&codes(events), line, &codes(blocks)], actions, text) };
    let away = [Crowded, Absent];
    let stores = [StFull, StPart];
    let mut rows = vec![
        on(
            "ld.live",
            &[Ld],
            free,
            &[Live],
            &["hit"],
            "Answer from the block; LRU; every SELF_INC-th hit advances the clock.",
        ),
        on("ld.absent", &[Ld], free, &away, &["read"], "M := R, need := cts; RdReq."),
        on(
            "st.live",
            &stores,
            free,
            &[Live],
            &["write", "lock"],
            "Write hit: merge the bytes, V -> K; M := W with the way; WrReq.",
        ),
        on(
            "st_full.absent",
            &[StFull],
            free,
            &[Absent],
            &["write", "take"],
            "The victim's way := K with the data; M := W with the way; WrReq.",
        ),
        on(
            "st_full.crowded",
            &[StFull],
            free,
            &[Crowded],
            &["write"],
            "No way can be taken: M := W without a way; WrReq.",
        ),
        on("st_part.absent", &[StPart], free, &away, &["write"], "M := W without a way; WrReq."),
        on("amo.live", &[Amo], free, &[Live], &["atomic", "drop"], "The block becomes I; M := A; AmoReq."),
        on("amo.absent", &[Amo], free, &away, &["atomic"], "M := A; AmoReq."),
        on("ld.busy", &[Ld], busy, &[], &["wait"], "To the end of the line's FIFO, need := cts."),
        on("st.busy", &stores, busy, &[], &["wait"], "To the end of the line's FIFO."),
        on("amo.busy", &[Amo], busy, &[], &["wait"], "To the end of the line's FIFO."),
        on(
            "fence",
            &[Fence],
            &[],
            &[],
            &["fence"],
            "When the stores and atomics taken before have completed: cts := max(cts, acq), answer.",
        ),
        on("kend", &[Kend], &[], &[], &["fence"], "As a fence; the answer carries cts."),
        on(
            "kbegin",
            &[Kbegin],
            &[],
            &[],
            &["begin"],
            "Roll if the given time's epoch is newer (without coherence: sweep); cts := max(cts, time), answer.",
        ),
    ];
    if p.coherent() {
        rows.extend([
            on(
                "ld.expired",
                &[Ld],
                free,
                &[Expired],
                &["read"],
                "Coherence miss: M := R, need := cts; RdReq.",
            ),
            on(
                "st.expired",
                &stores,
                free,
                &[Expired],
                &["write", "lock"],
                "Write miss: merge the bytes, V -> K; M := W with the way; WrReq.",
            ),
            on(
                "amo.expired",
                &[Amo],
                free,
                &[Expired],
                &["atomic", "drop"],
                "The block becomes I; M := A; AmoReq.",
            ),
        ]);
    }
    if p.has_sync_loads() {
        let present: &[Block] = if p.coherent() { &[Expired, Live] } else { &[Live] };
        rows.extend([
            on(
                "ld_sync.present",
                &[LdSync],
                free,
                present,
                &["read"],
                "To memory, even if the block is live: M := R; RdReq with force.",
            ),
            on("ld_sync.absent", &[LdSync], free, &away, &["read"], "To memory: M := R; RdReq with force."),
            on("ld_sync.busy", &[LdSync], busy, &[], &["wait"], "To the end of the line's FIFO."),
        ]);
    }
    let events = ["LD", "LD_SYNC", "ST full", "ST partial", "AMO", "FENCE", "KBEGIN", "KEND"];
    Table {
        name: "mgcc_l1_operations",
        columns: vec![
            column::<L1Event>("event", &events),
            Column { name: "line", values: vec![("free", 0), ("busy", 1)] },
            column::<Block>("block", &["absent, no victim", "absent", "expired", "live"]),
        ],
        rows,
    }
}

/// The table of the bank's answers: answer, lease, place. Beside it the clock is raised as *clock* says, and the requests that wait are served or replayed.
pub fn answers(p: &L1Params) -> Table {
    use Answer::*;
    use Lease::*;
    use Place::*;
    let on =
        |id: &str,
         kinds: &[Answer],
         leases: &[Lease],
         places: &[Place],
         actions: &[&'static str],
         text: &str| { row(id, &[&codes(kinds), &codes(leases), &codes(places)], actions, text) };
    let mut rows = vec![
        on(
            "rd.install_victim",
            &[Rd],
            &[Covers],
            &[Victim],
            &["install"],
            "Data and stamps into the victim's way: V.",
        ),
        on("rd.nowhere", &[Rd], &[Covers], &[Nowhere], &["bypass"], "Complete without installing."),
        on(
            "wr_data.install_own",
            &[WrData],
            &[Covers],
            &[Own],
            &["install"],
            "The merged line into the locked way: K -> V.",
        ),
        on(
            "wr_data.install_victim",
            &[WrData],
            &[Covers],
            &[Victim],
            &["install"],
            "The merged line into the victim's way: V.",
        ),
        on("wr_data.nowhere", &[WrData], &[Covers], &[Nowhere], &["bypass"], "Complete without installing."),
        on("wr_ack.own", &[WrAck], &[Covers, Past], &[Own], &["stamp"], "Stamp the locked block, K -> V."),
        on("wr_ack.away", &[WrAck], &[], &[Victim, Nowhere], &[], "Nothing is kept."),
        on(
            "amo.install_victim",
            &[Amo],
            &[Covers],
            &[Victim],
            &["install"],
            "The line into the victim's way: V.",
        ),
        on("amo.nowhere", &[Amo], &[Covers], &[Nowhere], &["bypass"], "Complete without installing."),
    ];
    let own = "The matching block is read anew: V again.";
    if p.coherent() {
        let over = [Old, Past];
        let away = [Victim, Nowhere];
        rows.extend([
            on("rd.install_own", &[Rd], &[Covers], &[Own], &["install"], own),
            on(
                "rd.past_own",
                &[Rd],
                &over,
                &[Own],
                &["drop"],
                "Too old to keep: the matching block becomes I.",
            ),
            on("rd.past_away", &[Rd], &over, &away, &["bypass"], "Too old to keep."),
            on("wr_data.past_own", &[WrData], &over, &[Own], &["drop"], "Too old to keep: K -> I."),
            on("wr_data.past_away", &[WrData], &over, &away, &["bypass"], "Too old to keep."),
            on("wr_ack.old", &[WrAck], &[Old], &[Own], &["drop"], "Stamps of an older epoch: K -> I."),
            on("amo.past_away", &[Amo], &over, &away, &["bypass"], "Too old to keep."),
        ]);
    } else if p.has_sync_loads() {
        rows.push(on("rd.install_own", &[Rd], &[Covers], &[Own], &["install"], own));
    }
    Table {
        name: "mgcc_l1_answers",
        columns: vec![
            column::<Answer>("answer", &["RdRsp", "WrRsp with data", "WrRsp", "AmoRsp"]),
            column::<Lease>("lease", &["older epoch", "past", "covers cts"]),
            column::<Place>("place", &["nowhere", "victim", "own"]),
        ],
        rows,
    }
}
