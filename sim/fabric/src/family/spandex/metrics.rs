//! Figures of spandex.md section 13, each over the whole run and fabric.

use crate::family::Figures;
use crate::family::counted::{Checked, Counted, Sum};

const SUMS: &[Sum] = &[
    (
        "l1_loads",
        "loads",
        "plain loads that L1s have taken, line by line",
        &["cache.gpu_l1_loads", "cache.mesi_l1_loads", "cache.denovo_l1_loads", "cache.flex_l1_loads"],
    ),
    (
        "l1_stores",
        "stores",
        "plain stores that L1s have taken, line by line",
        &["cache.gpu_l1_stores", "cache.mesi_l1_stores", "cache.denovo_l1_stores", "cache.flex_l1_stores"],
    ),
    (
        "l1_atomics",
        "atomics",
        "atomics and other synchronising accesses that L1s have taken",
        &["cache.gpu_l1_atomics", "cache.mesi_l1_atomics", "cache.denovo_l1_syncs", "cache.flex_l1_syncs"],
    ),
    (
        "l1_hits",
        "accesses",
        "loads answered without a fill, and all accesses that find their line in a MESI L1",
        &[
            "cache.gpu_l1_hit_v",
            "cache.gpu_l1_hit_buffer",
            "cache.mesi_l1_hits_s",
            "cache.mesi_l1_hits_e",
            "cache.mesi_l1_hits_m",
            "cache.denovo_l1_hit",
            "cache.flex_l1_hit",
            "cache.denovo_l1_hit_owned",
            "cache.flex_l1_hit_owned",
        ],
    ),
    (
        "l1_misses",
        "accesses",
        "loads that wait for a fill, and all accesses that open a miss of a MESI L1",
        &[
            "cache.gpu_l1_misses",
            "cache.mesi_l1_misses",
            "cache.denovo_l1_misses",
            "cache.flex_l1_misses",
            "cache.flex_l1_shares",
            "cache.flex_l1_takes",
        ],
    ),
    ("hits_valid", "loads", "of the hits of GPU coherence, those of a valid line", &["cache.gpu_l1_hit_v"]),
    (
        "hits_buffered",
        "loads",
        "loads answered from a store buffer, in DeNovo and Flex L1s as far as some word",
        &["cache.gpu_l1_hit_buffer", "cache.denovo_l1_hit_buffered", "cache.flex_l1_hit_buffered"],
    ),
    (
        "hits_owned",
        "loads",
        "of the hits of DeNovo and Flex L1s, those with owned words",
        &["cache.denovo_l1_hit_owned", "cache.flex_l1_hit_owned"],
    ),
    (
        "hits_region",
        "loads",
        "of the hits of DeNovo L1s, those of lines of read-only regions",
        &["cache.denovo_l1_hit_region"],
    ),
    (
        "atomics_here",
        "atomics",
        "atomics done at once in an L1: on owned words, byte stores to them too, and, with GPU coherence, those of CU scope",
        &["cache.gpu_l1_atomics_here", "cache.denovo_l1_atomics_owned", "cache.flex_l1_atomics_owned"],
    ),
    (
        "atomics_fetched",
        "atomics",
        "atomics, and byte stores, done in an L1 after it has got ownership and data",
        &["cache.denovo_l1_fetched", "cache.flex_l1_fetched"],
    ),
    (
        "atomics_joined",
        "atomics",
        "atomics that join the request of their word in a DeNovo L1, and are done with the one that sent it",
        &["cache.denovo_l1_joined"],
    ),
    (
        "atomics_at_llc",
        "atomics",
        "atomics that L1s have had done at the LLC",
        &["cache.gpu_l1_atomics", "cache.denovo_l1_at_llc", "cache.flex_l1_at_llc"],
    ),
    (
        "flushed_words",
        "words",
        "words that have left store buffers, written through or for ownership",
        &["cache.gpu_l1_flushed_words", "cache.denovo_l1_flushed_words", "cache.flex_l1_flushed_words"],
    ),
    (
        "write_throughs",
        "lines",
        "write-throughs of L1s",
        &["cache.gpu_l1_write_throughs", "cache.flex_l1_write_throughs"],
    ),
    (
        "in_place",
        "accesses",
        "stores and atomics done in a DeNovo or Flex L1 on words that it owns",
        &[
            "cache.denovo_l1_stores_owned",
            "cache.flex_l1_stores_owned",
            "cache.denovo_l1_atomics_owned",
            "cache.flex_l1_atomics_owned",
        ],
    ),
    (
        "ownership",
        "requests",
        "requests of DeNovo and Flex L1s for ownership of words, or for atomics at the LLC",
        &[
            "cache.denovo_l1_ownership",
            "cache.flex_l1_ownership",
            "cache.denovo_l1_atomics",
            "cache.flex_l1_atomics",
        ],
    ),
    (
        "write_backs",
        "lines",
        "lines with owned words that L1s write back for room",
        &["cache.mesi_l1_puts", "cache.denovo_l1_write_backs", "cache.flex_l1_write_backs"],
    ),
    (
        "flashes",
        "invalidations",
        "self-invalidations of an L1",
        &["cache.gpu_l1_flashes", "cache.denovo_l1_flashes", "cache.flex_l1_flashes"],
    ),
    (
        "self_invalidated",
        "words",
        "words of valid lines that L1s with GPU coherence have dropped",
        &["cache.gpu_l1_self_invalidated"],
    ),
    (
        "self_invalidated_words",
        "words",
        "words that DeNovo and Flex L1s have dropped",
        &["cache.denovo_l1_self_invalidated", "cache.flex_l1_self_invalidated"],
    ),
    (
        "releases",
        "releases",
        "releases of L1s",
        &["cache.gpu_l1_releases", "cache.denovo_l1_releases", "cache.flex_l1_releases"],
    ),
    (
        "release_cycles",
        "cycles",
        "cycles for which a release was under way in an L1",
        &["cache.gpu_l1_release_cycles", "cache.denovo_l1_release_cycles", "cache.flex_l1_release_cycles"],
    ),
    (
        "sb_full",
        "cycles",
        "cycles in which a store waited for room in a store buffer",
        &["cache.gpu_l1_sb_full", "cache.denovo_l1_sb_full", "cache.flex_l1_sb_full"],
    ),
    ("nacks", "messages", "reads that found an owner without their words", &["tu.spandex_tu_nacks"]),
    ("retries", "requests", "reads asked again", &["tu.spandex_tu_retries"]),
    ("escalations", "requests", "reads asked as updates at the LLC", &["tu.spandex_tu_escalations"]),
    ("direct", "requests", "requests sent to a likely owner", &["tu.spandex_tu_direct"]),
    (
        "direct_refused",
        "messages",
        "answers to them that some words were not there",
        &["tu.spandex_tu_direct_refused"],
    ),
    (
        "llc_answers",
        "answers",
        "answers of LLC banks; h-...: of GPU L2 banks",
        &["bank.llc_answers", "l2_bank.gpu_l2_answers"],
    ),
    (
        "llc_requests",
        "requests",
        "requests and write-backs that LLC banks have taken; h-...: those of GPU L2 banks, and requests of the L3",
        &[
            "bank.llc_entered",
            "bank.llc_ReqWB",
            "l2_bank.gpu_l2_entered",
            "l2_bank.gpu_l2_ReqWB",
            "l3_bank.mesi_llc_entered",
        ],
    ),
    (
        "llc_forwards",
        "messages",
        "requests forwarded to owners",
        &[
            "bank.llc_forwards",
            "l2_bank.gpu_l2_forwards",
            "l3_bank.mesi_llc_fwd_gets",
            "l3_bank.mesi_llc_fwd_getm",
        ],
    ),
    (
        "llc_fills",
        "lines",
        "lines that LLC banks read from memory",
        &["bank.llc_fills", "l3_bank.mesi_llc_fills"],
    ),
    ("llc_writes", "lines", "lines that they write there", &["bank.llc_writes", "l3_bank.mesi_llc_writes"]),
    ("llc_inv", "messages", "sharers invalidated", &["bank.llc_inv", "l3_bank.mesi_llc_inv"]),
    (
        "llc_rvko",
        "messages",
        "owners revoked or recalled",
        &["bank.llc_rvko", "l2_bank.gpu_l2_rvko", "l3_bank.mesi_llc_recall"],
    ),
    (
        "llc_joined",
        "requests",
        "requests that waited for a blocked line",
        &["bank.llc_joined", "l2_bank.gpu_l2_joined", "l3_bank.mesi_llc_joined"],
    ),
    (
        "llc_req_stall",
        "cycles",
        "cycles in which the head of a bank's requests waited for room",
        &["bank.llc_req_stall", "l2_bank.gpu_l2_req_stall", "l3_bank.mesi_llc_req_stall"],
    ),
    ("l2_fetches", "lines", "h-...: lines that GPU L2 banks ask of the L3", &["l2_bank.gpu_l2_fetches"]),
    ("l2_puts", "lines", "h-...: owned lines that GPU L2 banks replace", &["l2_bank.gpu_l2_puts"]),
    (
        "l3_requests",
        "requests",
        "h-...: GetS and GetM of CPU cores and GPU L2 banks",
        &["l3_bank.mesi_llc_entered"],
    ),
    (
        "flit_hops",
        "flits",
        "flits of 16 bytes over links between nodes; the way from GPU to GPU is one",
        &["router.link1_busy", "router.link2_busy", "router.link3_busy", "router.link4_busy"],
    ),
    (
        "flits_reqv",
        "flits",
        "of these, of self-invalidated reads: requests, forwards, answers",
        &["network.flits_reqv"],
    ),
    (
        "flits_reqs",
        "flits",
        "of writer-invalidated reads, however they are answered",
        &["network.flits_reqs"],
    ),
    ("flits_reqwt", "flits", "of write-throughs", &["network.flits_reqwt"]),
    ("flits_reqo", "flits", "of requests for ownership without data", &["network.flits_reqo"]),
    ("flits_reqwt_data", "flits", "of updates at the LLC", &["network.flits_reqwt_data"]),
    ("flits_reqo_data", "flits", "of requests for ownership with data", &["network.flits_reqo_data"]),
    ("flits_reqwb", "flits", "of write-backs", &["network.flits_reqwb"]),
    ("flits_probe", "flits", "of invalidations, revocations and their answers", &["network.flits_probe"]),
    (
        "link_bytes",
        "bytes",
        "bytes from GPU to GPU, counted on the way to the switch",
        &["link_tx.bytes_req", "link_tx.bytes_fwd", "link_tx.bytes_wb", "link_tx.bytes_rsp"],
    ),
    ("link_reqv", "bytes", "of these, of self-invalidated reads", &["network.link_reqv"]),
    ("link_reqs", "bytes", "of writer-invalidated reads", &["network.link_reqs"]),
    ("link_reqwt", "bytes", "of write-throughs", &["network.link_reqwt"]),
    ("link_reqo", "bytes", "of requests for ownership without data", &["network.link_reqo"]),
    ("link_reqwt_data", "bytes", "of updates at the LLC", &["network.link_reqwt_data"]),
    ("link_reqo_data", "bytes", "of requests for ownership with data", &["network.link_reqo_data"]),
    ("link_reqwb", "bytes", "of write-backs", &["network.link_reqwb"]),
    ("link_probe", "bytes", "of invalidations, revocations and their answers", &["network.link_probe"]),
    ("dram_reads", "lines", "lines read from DRAM", &["dram.reads"]),
    ("dram_writes", "lines", "lines written to DRAM", &["dram.writes"]),
];

/// What the checks have compared and followed.
const CHECKED: [Checked; 4] = [
    (
        "owned_at_rest",
        "words",
        "owned words found alike in their owner and the level below while the fabric rested; only with checks",
    ),
    ("shared_at_rest", "lines", "lines in S of which the same holds; only with checks"),
    (
        "nacks_seen",
        "messages",
        "Nacks of reads and write-throughs, each of which progress follows; only with checks",
    ),
    ("asked_again", "messages", "requests for words that were refused; only with checks"),
];

/// Figures of the classes of traffic, with the names of section 10.
pub(super) const CLASSES: [(&str, &str); 8] = [
    ("flits_reqv", "ReqV"),
    ("flits_reqs", "ReqS"),
    ("flits_reqwt", "ReqWT"),
    ("flits_reqo", "ReqO"),
    ("flits_reqwt_data", "ReqWT+data"),
    ("flits_reqo_data", "ReqO+data"),
    ("flits_reqwb", "ReqWB"),
    ("flits_probe", "Probe"),
];

/// The figures.
pub(super) fn counted() -> Counted {
    Counted { sums: SUMS.to_vec(), latencies: vec![], bytes: &[], checked: &CHECKED }
}

/// What a person wants to know first.
pub(super) fn summary(m: &Figures) -> Vec<(&'static str, String)> {
    let n = |name: &str| m.count(name);
    let l1 = format!(
        "{} loads, {} hits; {} stores, {} write-throughs; {} atomics",
        n("l1_loads"),
        n("l1_hits"),
        n("l1_stores"),
        n("write_throughs"),
        n("l1_atomics")
    );
    let synchronisation = format!(
        "{} self-invalidations of {} words; {} releases, {} cycles of them",
        n("flashes"),
        n("self_invalidated") + n("self_invalidated_words"),
        n("releases"),
        n("release_cycles")
    );
    let llc = format!(
        "{} answers, {} forwards, {} invalidations, {} revocations; {} requests waited for a blocked line",
        n("llc_answers"),
        n("llc_forwards"),
        n("llc_inv"),
        n("llc_rvko"),
        n("llc_joined")
    );
    let share = |(name, class): &(&str, &str)| {
        let flits = m.count(name);
        (flits > 0)
            .then(|| format!("{} % {class}", (100 * flits + n("flit_hops") / 2) / n("flit_hops").max(1)))
    };
    let shares: Vec<String> = CLASSES.iter().filter_map(share).collect();
    let network = format!(
        "{} flit-hops: {}; {} bytes between GPUs",
        n("flit_hops"),
        shares.join(", "),
        n("link_bytes")
    );
    let dram = format!("{} reads, {} writes", n("dram_reads"), n("dram_writes"));
    let energy = format!("{} units, a proxy of which only ratios mean something", n("energy"));
    vec![
        ("L1", l1),
        ("synchronisation", synchronisation),
        ("LLC", llc),
        ("network", network),
        ("DRAM", dram),
        ("energy", energy),
    ]
}
