//! Figures of mgcc.md section 13 that MGPU-RDMA has, under the names that they have in family `tsm`, and its own.

use crate::family::Figures;
use crate::family::counted::{Bytes, Counted, Latency, STALE, Sum, total};
use crate::family::tsm::metrics::{LATENCIES, SUMS};

/// Figures that mean the same as in family `tsm`.
const SHARED: [&str; 26] = [
    "l1_reads",
    "l1_writes",
    "l1_atomics",
    "l1_hits",
    "l1_misses",
    "l1_sync_loads",
    "l1_write_hits",
    "l1_merged",
    "l1_lock_waits",
    "l1_stall_cycles",
    "l1_replays",
    "l1_bypassed",
    "l2_reads",
    "l2_writes",
    "l2_atomics",
    "l2_hits",
    "l2_misses",
    "l2_write_hits",
    "l2_merged",
    "l2_lock_waits",
    "l2_stall_cycles",
    "l2_replays",
    "l2_write_backs",
    "dram_reads",
    "dram_writes",
    "dram_transactions",
];

/// Figures of this family alone, each the sum of some counters.
const OWN: [Sum; 8] = [
    ("rdma_transactions", "requests", "requests of L1s to memories of other GPUs", &["engine.rdma_requests"]),
    ("rdma_reads", "reads", "reads of them", &["engine.rdma_reads"]),
    ("rdma_writes", "writes", "writes of them", &["engine.rdma_writes"]),
    ("rdma_atomics", "atomics", "atomics of them", &["engine.rdma_atomics"]),
    (
        "rdma_same_line",
        "requests",
        "requests of them for a line that was under way for another L1 of the GPU",
        &["engine.rdma_same_line"],
    ),
    (
        "rdma_stall_cycles",
        "cycles",
        "cycles in which a request waits for an entry of its engine, or at its owner's for a slot",
        &["engine.rdma_entry_stalls", "engine.rdma_slot_stalls"],
    ),
    ("host_copy_bytes", "bytes", "bytes that the host has copied in and out", &["host.copy_bytes"]),
    ("host_copy_cycles", "cycles", "cycles of these copies", &["host.copy_cycles"]),
];

/// Hops and directions by which bytes are told apart, with the counters of each class.
const BYTES: [Bytes; 4] = [
    (
        "bytes_l1_l2",
        "bytes of {} from the L1s to L2 banks of whatever GPU",
        &[
            ("reads", "l1.mgcc_l1_up_bytes_read"),
            ("writes", "l1.mgcc_l1_up_bytes_write"),
            ("atomics", "l1.mgcc_l1_up_bytes_atomic"),
        ],
    ),
    (
        "bytes_l2_l1",
        "bytes of answers to {} from L2 banks of whatever GPU to the L1s",
        &[
            ("reads", "l1.mgcc_l1_dn_bytes_read"),
            ("writes", "l1.mgcc_l1_dn_bytes_write"),
            ("atomics", "l1.mgcc_l1_dn_bytes_atomic"),
        ],
    ),
    (
        "bytes_rdma",
        "bytes of {} through the switch between GPUs",
        &[
            ("reads", "switch.req_bytes_read"),
            ("writes", "switch.req_bytes_write"),
            ("atomics", "switch.req_bytes_atomic"),
        ],
    ),
    (
        "bytes_rdma_back",
        "bytes of answers to {} through the switch between GPUs",
        &[
            ("reads", "switch.rsp_bytes_read"),
            ("writes", "switch.rsp_bytes_write"),
            ("atomics", "switch.rsp_bytes_atomic"),
        ],
    ),
];

const RDMA_LATENCY: Latency = (
    "rdma_latency",
    "mean time from an engine's taking a request to the answer",
    "engine.rdma_latency",
    &["engine.rdma_requests"],
);

/// The figures of a fabric in which a request waits for so many cycles before an L2 bank, so that a hit there takes its time.
pub(super) fn counted(before_bank: u64) -> Counted {
    let shared = SUMS.iter().filter(|sum| SHARED.contains(&sum.0)).chain(&OWN);
    let latencies = LATENCIES.into_iter().zip([0, before_bank]).chain([(RDMA_LATENCY, 0)]);
    Counted {
        sums: shared.copied().collect(),
        latencies: latencies.collect(),
        bytes: &BYTES,
        checked: &[STALE],
    }
}

/// What a person wants to know first.
pub(super) fn summary(m: &Figures) -> Vec<(&'static str, String)> {
    let level = |of: &str| {
        let count = |what: &str| m.count(&format!("{of}_{what}"));
        format!(
            "{} reads, {} hits, {} misses; {} writes",
            count("reads"),
            count("hits"),
            count("misses"),
            count("writes")
        )
    };
    let mut rows = vec![
        ("L1", level("l1")),
        ("L2", level("l2")),
        (
            "mean latency",
            format!(
                "L1 {:.1}, L2 {:.1}, other GPU {:.1} cycles",
                m.real("l1_acal"),
                m.real("l2_acal"),
                m.real("rdma_latency")
            ),
        ),
        (
            "DRAM",
            format!(
                "{} reads, {} writes; {} with the lines still to be written back",
                m.count("dram_reads"),
                m.count("dram_writes"),
                m.count("dram_transactions")
            ),
        ),
        (
            "RDMA",
            format!(
                "{} transactions; {} bytes through the switch, {} back",
                m.count("rdma_transactions"),
                total(m, "bytes_rdma"),
                total(m, "bytes_rdma_back")
            ),
        ),
        (
            "host copies",
            format!("{} bytes in {} cycles", m.count("host_copy_bytes"), m.count("host_copy_cycles")),
        ),
    ];
    if m.count("stale") > 0 {
        rows.push(("stale", format!("{} words", m.count("stale"))));
    }
    rows
}
