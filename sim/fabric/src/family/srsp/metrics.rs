//! Figures of srsp.md section 12, each over the whole run and fabric.

use crate::family::Figures;
use crate::family::counted::{Counted, Sum};

const SUMS: &[Sum] = &[
    (
        "l1_loads",
        "loads",
        "plain loads that L1s have taken, line by line",
        &["l1.srsp_l1_loads", "l1.hlrc_l1_loads", "l1.denovo_b_l1_loads"],
    ),
    (
        "l1_stores",
        "stores",
        "plain stores that L1s have taken, line by line",
        &["l1.srsp_l1_stores", "l1.hlrc_l1_stores", "l1.denovo_b_l1_stores"],
    ),
    (
        "l1_syncs",
        "accesses",
        "accesses with synchronisation that L1s have taken",
        &["l1.srsp_l1_syncs", "l1.hlrc_l1_atomics", "l1.denovo_b_l1_atomics"],
    ),
    (
        "l1_hits",
        "loads",
        "plain loads answered without a fill",
        &["l1.srsp_l1_hits", "l1.hlrc_l1_hits", "l1.denovo_b_l1_hits"],
    ),
    (
        "l1_misses",
        "accesses",
        "loads and atomics that wait for a fill",
        &["l1.srsp_l1_misses", "l1.hlrc_l1_misses", "l1.denovo_b_l1_misses"],
    ),
    (
        "l1_fetches",
        "lines",
        "lines that L1s ask of the L2",
        &["l1.srsp_l1_fetches", "l1.hlrc_l1_fetches", "l1.denovo_b_l1_fetches"],
    ),
    (
        "a1",
        "atomics",
        "atomics performed in an L1",
        &["l1.srsp_l1_a1", "l1.hlrc_l1_local", "l1.denovo_b_l1_local"],
    ),
    ("a2", "atomics", "atomics that an L1 sends to the L2", &["l1.srsp_l1_a2"]),
    ("wb_flush", "write-backs", "write-backs of flushes", &["l1.srsp_l1_wb_flush"]),
    ("wb_pop", "write-backs", "write-backs for room in an sFIFO", &["l1.srsp_l1_wb_pop"]),
    ("wb_evict", "write-backs", "write-backs of victims", &["l1.srsp_l1_wb_evict"]),
    ("wb_inv", "write-backs", "write-backs of lines that are dropped", &["l1.srsp_l1_wb_inv"]),
    ("flash_own", "invalidations", "invalidations of an L1 for its own operation", &["l1.srsp_l1_flash_own"]),
    ("flash_probe", "invalidations", "invalidations of an L1 for a probe", &["l1.srsp_l1_flash_probe"]),
    (
        "flush_release",
        "flushes",
        "flushes of an L1 for its own release",
        &["l1.srsp_l1_flush_release", "l1.denovo_b_l1_flush_release"],
    ),
    (
        "flush_acquire",
        "flushes",
        "flushes of an L1 before its own invalidation",
        &["l1.srsp_l1_flush_acquire", "l1.denovo_b_l1_flush_acquire"],
    ),
    (
        "flush_remote",
        "flushes",
        "flushes of an L1 for its own remote operation",
        &["l1.srsp_l1_flush_remote"],
    ),
    ("flush_probe", "flushes", "flushes of an L1 for a probe", &["l1.srsp_l1_flush_probe"]),
    (
        "flash_acquire",
        "invalidations",
        "invalidations of an L1 for its own acquire",
        &["l1.srsp_l1_flash_acquire", "l1.denovo_b_l1_flash_acquire"],
    ),
    (
        "flash_promoted",
        "invalidations",
        "invalidations of an L1 for an own acquire that is promoted",
        &["l1.srsp_l1_flash_promoted"],
    ),
    (
        "flash_remote",
        "invalidations",
        "invalidations of an L1 for its own remote operation",
        &["l1.srsp_l1_flash_remote"],
    ),
    (
        "others_touched",
        "L1s",
        "L1s that flush or invalidate for another CU's remote operation, each time",
        &["l1.srsp_l1_flush_probe", "l1.srsp_l1_flash_probe"],
    ),
    (
        "remote_ops",
        "operations",
        "remote operations",
        &["l1.srsp_l1_op_rem_acq", "l1.srsp_l1_op_rem_rel", "l1.srsp_l1_op_rem_ar"],
    ),
    (
        "remote_cycles",
        "cycles",
        "cycles of remote operations in their L1s, from begin to answer",
        &["l1.srsp_l1_op_rem_acq_cycles", "l1.srsp_l1_op_rem_rel_cycles", "l1.srsp_l1_op_rem_ar_cycles"],
    ),
    (
        "remote_overhead",
        "cycles",
        "those, and cycles in which other L1s are closed for them: the overhead of srsp.md section 12",
        &[
            "l1.srsp_l1_op_rem_acq_cycles",
            "l1.srsp_l1_op_rem_rel_cycles",
            "l1.srsp_l1_op_rem_ar_cycles",
            "l1.srsp_l1_gate_others",
            "l1.srsp_l1_gate_pa",
        ],
    ),
    ("lr_insert", "releases", "releases registered in an LR-TBL", &["l1.srsp_l1_lr_insert"]),
    ("lr_hit", "probes", "SEL_FLUSH that finds its address in the LR-TBL", &["l1.srsp_l1_lr_hit"]),
    ("lr_miss", "probes", "SEL_FLUSH that does not", &["l1.srsp_l1_lr_miss"]),
    ("pa_insert", "addresses", "addresses put into a PA-TBL", &["l1.srsp_l1_pa_insert"]),
    (
        "pa_full",
        "addresses",
        "addresses for which it had no room: everything is dropped",
        &["l1.srsp_l1_pa_full"],
    ),
    ("pa_hit", "acquires", "acquires that are promoted", &["l1.srsp_l1_pa_hit"]),
    ("probes", "probes", "probes that L1s have served", &["l1.srsp_l1_probes"]),
    (
        "gate_own_cycles",
        "cycles",
        "cycles in which an L1 is closed for its own operation",
        &["l1.srsp_l1_gate_own"],
    ),
    (
        "gate_other_cycles",
        "cycles",
        "cycles in which an L1 is closed for another CU's remote operation",
        &["l1.srsp_l1_gate_others", "l1.srsp_l1_gate_pa"],
    ),
    (
        "l2_accesses",
        "accesses",
        "lookups in the L2: reads, write-backs, atomics, remote operations, registrations, lines given back and lines read at their owners",
        &[
            "bank.l2_rd",
            "bank.l2_wb",
            "bank.l2_atm",
            "bank.l2_rem_op",
            "bank.l2_rdu",
            "bank.l2_reg",
            "bank.l2_unreg",
            "bank.l2_revoke_acks",
            "bank.l2_read_acks",
        ],
    ),
    ("l2_hits", "reads", "reads and atomics answered without memory", &["bank.l2_hits"]),
    ("l2_grants", "locks", "lines locked for remote operations", &["bank.l2_grants"]),
    ("registrations", "lines", "lines registered by an L1 (hLRC, DeNovo-B)", &["bank.l2_reg_data"]),
    (
        "reg_stores",
        "lines",
        "of these: for plain stores (DeNovo-B)",
        &["l1.denovo_b_l1_reg_flush", "l1.denovo_b_l1_reg_pop", "l1.denovo_b_l1_reg_load"],
    ),
    ("owner_reads", "lines", "registered lines read at their owners (DeNovo-B)", &["bank.l2_reads"]),
    (
        "revokes",
        "lines",
        "registered lines asked back for another L1 or for room (hLRC, DeNovo-B)",
        &["bank.l2_revokes"],
    ),
    ("recalls", "lines", "of these: for room in the L2 (hLRC, DeNovo-B)", &["bank.l2_recalls"]),
    (
        "flush_loss",
        "flushes",
        "flushes of an L1 that loses a registered line (hLRC)",
        &["l1.hlrc_l1_flush_loss"],
    ),
    (
        "flash_gain",
        "invalidations",
        "invalidations of an L1 that gains a registered line (hLRC)",
        &["l1.hlrc_l1_flash_gain"],
    ),
    (
        "tokens",
        "tokens",
        "rights to a remote operation granted (bRSP with a token)",
        &["bank.l2_token_grants"],
    ),
    ("multicasts", "messages", "multicasts of the hub", &["cast.hub_multicasts"]),
    ("dram_reads", "lines", "lines read from DRAM", &["dram.reads"]),
    ("dram_writes", "lines", "writes and atomics in DRAM", &["dram.writes"]),
];

/// The figures.
pub(super) fn counted() -> Counted {
    Counted { sums: SUMS.to_vec(), latencies: vec![], bytes: &[], checked: &[] }
}

/// What a person wants to know first.
pub(super) fn summary(m: &Figures) -> Vec<(&'static str, String)> {
    let n = |name: &str| m.count(name);
    let l1 = format!(
        "{} loads, {} hits; {} stores; {} synchronising, {} of them done there",
        n("l1_loads"),
        n("l1_hits"),
        n("l1_stores"),
        n("l1_syncs"),
        n("a1")
    );
    let dram = format!("{} reads, {} writes", n("dram_reads"), n("dram_writes"));
    let mut lines = vec![("L1", l1), ("L2 accesses", n("l2_accesses").to_string())];
    if n("owner_reads") + n("reg_stores") > 0 {
        lines.push(("registered lines", registered_writes(m)));
    } else if n("registrations") > 0 {
        lines.push(("registered lines", registered(m)));
    } else {
        lines.extend(scoped(m));
    }
    lines.push(("DRAM", dram));
    lines
}

fn registered(m: &Figures) -> String {
    let n = |name: &str| m.count(name);
    format!(
        "{} gained, with {} invalidations; {} asked back, {} of them for room, with {} flushes",
        n("registrations"),
        n("flash_gain"),
        n("revokes"),
        n("recalls"),
        n("flush_loss")
    )
}

fn registered_writes(m: &Figures) -> String {
    let n = |name: &str| m.count(name);
    format!(
        "{} gained, {} of them for stores; {} asked back, {} of them for room; {} read at their owners; {} flushes of releases, {} invalidations of acquires",
        n("registrations"),
        n("reg_stores"),
        n("revokes"),
        n("recalls"),
        n("owner_reads"),
        n("flush_release"),
        n("flash_acquire")
    )
}

fn scoped(m: &Figures) -> [(&'static str, String); 3] {
    let n = |name: &str| m.count(name);
    [
        ("invalidations", format!("{} for own operations, {} for probes", n("flash_own"), n("flash_probe"))),
        (
            "write-backs",
            format!(
                "{} of flushes, {} for room, {} of victims, {} of dropped lines",
                n("wb_flush"),
                n("wb_pop"),
                n("wb_evict"),
                n("wb_inv")
            ),
        ),
        (
            "remote operations",
            format!(
                "{} in {} cycles; {} probes, {} flushes and invalidations of other L1s; LR-TBL hit by {}, PA-TBL by {}",
                n("remote_ops"),
                n("remote_cycles"),
                n("probes"),
                n("others_touched"),
                n("lr_hit"),
                n("pa_hit")
            ),
        ),
    ]
}
