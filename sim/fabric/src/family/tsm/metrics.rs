//! Figures of mgcc.md section 13, each over the whole run and fabric.

use crate::family::Figures;
use crate::family::counted::{Bytes, Checked, Counted, Latency, STALE, Sum, total};

/// Hops and directions by which bytes are told apart, with the counters of each class.
const BYTES: [Bytes; 4] = [
    (
        "bytes_l1_l2",
        "bytes of {} from the L1s to the L2 banks",
        &[
            ("reads", "l1.mgcc_l1_up_bytes_read"),
            ("writes", "l1.mgcc_l1_up_bytes_write"),
            ("atomics", "l1.mgcc_l1_up_bytes_atomic"),
            ("stamps", "l1.mgcc_l1_up_bytes_stamps"),
        ],
    ),
    (
        "bytes_l2_l1",
        "bytes of answers to {} from the L2 banks to the L1s",
        &[
            ("reads", "l1.mgcc_l1_dn_bytes_read"),
            ("writes", "l1.mgcc_l1_dn_bytes_write"),
            ("atomics", "l1.mgcc_l1_dn_bytes_atomic"),
            ("stamps", "l1.mgcc_l1_dn_bytes_stamps"),
        ],
    ),
    (
        "bytes_l2_umc",
        "bytes of {} from the L2 banks to the UMCs, with stamps",
        &[
            ("reads", "switch.req_bytes_read"),
            ("writes", "switch.req_bytes_write"),
            ("atomics", "switch.req_bytes_atomic"),
            ("notes", "switch.req_bytes_evict"),
        ],
    ),
    (
        "bytes_umc_l2",
        "bytes of answers to {} from the UMCs to the L2 banks, with stamps",
        &[
            ("reads", "switch.rsp_bytes_read"),
            ("writes", "switch.rsp_bytes_write"),
            ("atomics", "switch.rsp_bytes_atomic"),
        ],
    ),
];

pub(in crate::family) const SUMS: &[Sum] = &[
    ("l1_reads", "loads", "loads that L1s have taken, line by line", &["l1.mgcc_l1_reads"]),
    ("l1_writes", "stores", "stores that L1s have taken, line by line", &["l1.mgcc_l1_writes"]),
    ("l1_atomics", "atomics", "atomics that L1s have taken", &["l1.mgcc_l1_atomics"]),
    ("l1_hits", "loads", "loads answered from a live block of an L1", &["l1.mgcc_l1_hits"]),
    ("l1_misses", "loads", "loads that miss in an L1: capacity or cold", &["l1.mgcc_l1_misses_absent"]),
    (
        "l1_coherence_misses",
        "loads",
        "loads that miss in an L1: the block is there, its lease is over",
        &["l1.mgcc_l1_misses_expired"],
    ),
    ("l1_sync_loads", "loads", "loads that go to memory (LD_SYNC)", &["l1.mgcc_l1_reads_sync"]),
    ("l1_write_hits", "stores", "stores that find a live block in an L1", &["l1.mgcc_l1_write_hits"]),
    ("l1_merged", "accesses", "accesses that wait in an L1 for a read of their line", &["l1.mgcc_l1_merged"]),
    (
        "l1_lock_waits",
        "accesses",
        "accesses that wait in an L1 for a store or atomic on their line",
        &["l1.mgcc_l1_lock_waits", "l1.mgcc_l1_amo_waits"],
    ),
    (
        "l1_stall_cycles",
        "cycles",
        "cycles in which an L1's request waits for an MSHR or a pool entry",
        &["l1.mgcc_l1_wait_mshr", "l1.mgcc_l1_wait_pool"],
    ),
    ("l1_replays", "accesses", "accesses that L1s replay", &["l1.mgcc_l1_replays"]),
    ("l1_bypassed", "lines", "lines that L1s do not install", &["l1.mgcc_l1_bypassed"]),
    (
        "l1_expired_victims",
        "blocks",
        "expired blocks that L1s replace",
        &["l1.mgcc_l1_victims_expired", "l1.mgcc_l1_store_victims_expired"],
    ),
    ("l1_ts_attached", "requests", "requests of L1s that carry a timestamp", &["l1.mgcc_l1_ts_attached"]),
    ("l2_reads", "reads", "reads that L2 banks have taken", &["bank.l2_reads"]),
    ("l2_writes", "writes", "writes that L2 banks have taken", &["bank.l2_writes"]),
    ("l2_atomics", "atomics", "atomics that L2 banks have taken", &["bank.l2_atomics"]),
    ("l2_hits", "reads", "reads answered from a live block of an L2 bank", &["bank.l2_hits"]),
    ("l2_misses", "reads", "reads that miss in an L2 bank: capacity or cold", &["bank.l2_misses_cold"]),
    (
        "l2_coherence_misses",
        "reads",
        "reads that miss in an L2 bank: the block is there, its lease is over",
        &["bank.l2_misses_coherence"],
    ),
    ("l2_forced", "reads", "reads that must go to memory", &["bank.l2_forced"]),
    ("l2_write_hits", "writes", "writes that find a live block in an L2 bank", &["bank.l2_write_hits"]),
    ("l2_merged", "reads", "reads of a line with a transaction in an L2 bank", &["bank.l2_merged"]),
    (
        "l2_lock_waits",
        "accesses",
        "accesses that wait in an L2 bank for a write of their line",
        &["bank.l2_lock_waits"],
    ),
    (
        "l2_stall_cycles",
        "cycles",
        "cycles in which a bank's request waits for an MSHR or a pool entry",
        &["bank.l2_mshr_stalls", "bank.l2_pool_stalls"],
    ),
    ("l2_replays", "accesses", "accesses that L2 banks replay", &["bank.l2_replays"]),
    ("l2_bypassed", "lines", "lines that L2 banks do not install", &["bank.l2_bypassed", "bank.l2_useless"]),
    ("l2_evictions", "blocks", "blocks that L2 banks replace", &["bank.l2_evictions"]),
    ("l2_expired_victims", "blocks", "expired blocks that L2 banks replace", &["bank.l2_expired_victims"]),
    ("l2_write_backs", "lines", "lines whose dirty bytes banks have written back", &["bank.l2_write_backs"]),
    ("l2_ts_attached", "requests", "requests to banks that carry a timestamp", &["bank.l2_ts_attached"]),
    (
        "l1_request_bytes",
        "bytes",
        "bytes from the L1s to the L2 banks, stamps included",
        &["bank.l2_bytes_l1_req_rd", "bank.l2_bytes_l1_req_wr", "bank.l2_bytes_l1_req_amo"],
    ),
    (
        "l1_answer_bytes",
        "bytes",
        "bytes of answers to the L1s, stamps included",
        &["bank.l2_bytes_l1_rsp_rd", "bank.l2_bytes_l1_rsp_wr", "bank.l2_bytes_l1_rsp_amo"],
    ),
    ("dram_reads", "lines", "lines read from DRAM", &["dram.reads"]),
    ("dram_writes", "lines", "writes and atomics in DRAM", &["dram.writes"]),
    (
        "dram_transactions",
        "lines",
        "reads, writes and atomics in DRAM, with the lines that caches have still to write back at the end",
        &["dram.reads", "dram.writes", "dram.left"],
    ),
    (
        "merged_reads",
        "reads",
        "reads that take the line of a write in service, without DRAM",
        &["umc.trk_merged"],
    ),
    (
        "same_line_blocks",
        "cycles",
        "cycles in which a request waits in a ReqTracker for its line",
        &["umc.trk_same_line_blocks"],
    ),
    (
        "sc_head_stalls",
        "cycles",
        "cycles in which the first request of a ReqTracker is blocked, and all others with it",
        &["umc.trk_sc_head_stalls"],
    ),
    (
        "age_promotions",
        "requests",
        "requests that have been passed over too often and go first",
        &["umc.trk_promotions"],
    ),
    ("tsu_hits", "operations", "TSU operations whose line has an entry", &["umc.tsu_hits"]),
    ("tsu_allocations", "entries", "entries that TSUs make", &["umc.tsu_allocations"]),
    ("tsu_evictions", "entries", "entries that TSUs replace", &["umc.tsu_evictions_capacity"]),
    (
        "tsu_note_evictions",
        "entries",
        "entries that TSUs drop because an L2 bank has dropped the line",
        &["umc.tsu_evictions_note"],
    ),
    ("tsu_floor_rises", "floors", "floors that an entry raises when it leaves", &["umc.tsu_floor_rises"]),
    ("tsu_overflows", "writes", "writes that must wait for the next epoch", &["umc.tsu_overflows"]),
    ("rolls", "rolls", "epochs begun", &["epoch_ctl.rolls"]),
    ("roll_cycles", "cycles", "cycles in which a roll is open", &["epoch_ctl.roll_cycles"]),
    (
        "sweep_cycles",
        "cycles",
        "cycles in which L1s, banks and TSUs sweep, summed",
        &["l1.mgcc_l1_sweep_cycles", "bank.l2_sweep_cycles", "umc.tsu_sweep_cycles"],
    ),
];

pub(in crate::family) const LATENCIES: [Latency; 2] = [
    (
        "l1_acal",
        "mean time from an L1's taking an access to its answer (of a store: to its completion)",
        "l1.mgcc_l1_latency",
        &["l1.mgcc_l1_reads", "l1.mgcc_l1_writes", "l1.mgcc_l1_atomics"],
    ),
    (
        "l2_acal",
        "mean time from an L2 bank's taking a request to its answer",
        "bank.l2_latency",
        &["bank.l2_answers"],
    ),
];

/// What the check of logical time, or without coherence that of values, has seen.
const CHECKED: [Checked; 2] = [
    STALE,
    (
        "largest_stamp",
        "",
        "greatest timestamp at which an access has bound, without its epoch; only with checks",
    ),
];

/// The figures of a fabric in which a request waits for so many cycles before an L2 bank, so that a hit there takes its time.
pub(super) fn counted(before_bank: u64) -> Counted {
    let latencies = LATENCIES.into_iter().zip([0, before_bank]).collect();
    Counted { sums: SUMS.to_vec(), latencies, bytes: &BYTES, checked: &CHECKED }
}

/// What a person wants to know first.
pub(super) fn summary(m: &Figures) -> Vec<(&'static str, String)> {
    let level = |of: &str| {
        let count = |what: &str| m.count(&format!("{of}_{what}"));
        format!(
            "{} reads, {} hits, {} misses and {} of coherence; {} writes",
            count("reads"),
            count("hits"),
            count("misses"),
            count("coherence_misses"),
            count("writes")
        )
    };
    let mut rows = vec![
        ("L1", level("l1")),
        ("L2", level("l2")),
        ("mean access latency", format!("L1 {:.1}, L2 {:.1} cycles", m.real("l1_acal"), m.real("l2_acal"))),
        (
            "DRAM",
            format!(
                "{} reads, {} writes; {} reads merged with writes",
                m.count("dram_reads"),
                m.count("dram_writes"),
                m.count("merged_reads")
            ),
        ),
        ("bytes L2 to UMC, back", format!("{}, {}", total(m, "bytes_l2_umc"), total(m, "bytes_umc_l2"))),
        ("epochs rolled", format!("{}; TSU entries replaced {}", m.count("rolls"), m.count("tsu_evictions"))),
    ];
    if m.count("stale") > 0 {
        rows.push(("stale", format!("{} words", m.count("stale"))));
    }
    rows
}
