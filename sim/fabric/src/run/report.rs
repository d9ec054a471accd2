//! What a run has measured (rec.md section 11).

use super::model::FabricModel;
use super::processor::KernelRecord;
use crate::config::FabricConfig;
use serde::Serialize;
use std::collections::BTreeMap;
use weft_engine::Sim;
use weft_rtl::ir::ProbeKind;
use weft_workload::VerifyError;

/// Version of the JSON that [`RunReport`] serialises to.
pub const SCHEMA: &str = "weft-run-1";

/// A counter's value over the whole fabric.
#[derive(Clone, Debug, Serialize)]
pub struct Counter {
    /// Sum over all blocks.
    pub value: u64,
    /// What is counted.
    pub about: String,
}

/// Results of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// `weft-run-1`: name and version of this schema.
    pub schema: &'static str,
    /// Fabric.
    pub fabric: String,
    /// Program.
    pub workload: String,
    /// All keys of the configuration.
    pub config: serde_json::Value,
    /// Cycles from the first host step to the last fence.
    pub cycles: u64,
    /// Every element of the result equals the host's own computation.
    pub verified: bool,
    /// The first difference, if there is one.
    pub difference: Option<String>,
    /// Time of the simulation proper.
    pub wall_seconds: f64,
    /// Speed.
    pub cycles_per_second: f64,
    /// Kernels and host copies in order.
    pub kernels: Vec<KernelRecord>,
    /// Derived figures of rec.md section 11 and hmg.md section 12.
    pub metrics: Metrics,
    /// Counters of the blocks and models, as `block.counter`.
    pub counters: BTreeMap<String, Counter>,
    /// Cover points that were hit, with the number of cycles: rows of the transition tables, so that directory operations are told by kind and outcome
    /// (`rec.WR_REM.hit_slot_set`), and races. Identifiers are those of the race ledger.
    pub covers: BTreeMap<String, u64>,
}

impl RunReport {
    /// Names of the kinds of messages in [`Metrics::bytes_by_kind`].
    pub fn message_kinds() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(kind, _)| *kind)
    }

    /// Names of the servers in [`Metrics::served`].
    pub fn servers() -> impl Iterator<Item = &'static str> {
        SERVERS.into_iter()
    }
}

/// Figures of rec.md section 11 and hmg.md section 12, each over the whole run and fabric.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Metrics {
    /// Demand accesses to L2 banks.
    pub l2_accesses: u64,
    /// Those that find no valid line and join no open miss, without first references.
    pub l2_misses: u64,
    /// First references to a line in an L2, of those that can miss there: loads in every L2 on their way, stores and atomics at home.
    pub l2_cold_misses: u64,
    /// Misses, first references included, over accesses.
    pub l2_miss_rate: f64,
    /// Invalidations caused by writes that dropped a copy.
    pub write_invalidations: u64,
    /// Invalidations caused by directory evictions that dropped a copy ("unnecessary" ones).
    pub evict_invalidations: u64,
    /// Share of evictions in the invalidations that dropped a copy; 0 without any.
    pub evict_share: f64,
    /// Copies of lines other than the written one that group invalidations dropped.
    pub false_positive_invalidations: u64,
    /// RdReq + WrReq + AtomReq + Inv that left a GPU, once each.
    pub inter_gpu_transactions: u64,
    /// The same without Inv.
    pub inter_gpu_requests: u64,
    /// All messages that left a GPU, with responses and fences.
    pub inter_gpu_messages: u64,
    /// Bytes on all links from the GPUs.
    pub inter_gpu_bytes: u64,
    /// The same by kind of message.
    pub bytes_by_kind: BTreeMap<String, u64>,
    /// Bytes of invalidations per second on these links, in GB/s.
    pub invalidation_gbps: f64,
    /// Lines per evicted directory entry.
    pub coalesced_lines: f64,
    /// Evicted directory entries that had 1, 2, 3... lines; empty where an entry has only one sharer vector.
    pub coalesced_histogram: Vec<u64>,
    /// Mean cycles from arrival at the bank to hit or miss.
    pub l2_lookup_cycles: f64,
    /// Lines dropped per store or atomic that finds a sharer to invalidate; 0 without any.
    pub invalidations_per_store: f64,
    /// Lines dropped per evicted directory entry; 0 without any.
    pub invalidations_per_eviction: f64,
    /// Bytes of invalidations per second on all links that leave a node, in GB/s.
    pub node_invalidation_gbps: f64,
    /// Valid directory entries over all, mean of the moments at which the precision of the directories is checked; 0 without that check.
    pub directory_occupancy: f64,
    /// Loads that another GPU answers, each with a request of its own.
    pub inter_gpu_loads: u64,
    /// Share of these whose line another GPM of the same GPU loads too; 0 without any.
    pub redundant_inter_gpu_loads: f64,
    /// Loads and atomics by who answered them, line by line.
    pub served: BTreeMap<String, u64>,
}

/// Servers by the `src` of a [`weft_blocks::msg::CuRsp`].
const SERVERS: [&str; 6] = ["l1", "l2", "gpu_l2", "gpu_dram", "far_l2", "far_dram"];

pub(super) fn collect(
    config: &FabricConfig,
    sim: &Sim,
    model: &FabricModel,
    cycles: u64,
    difference: Option<VerifyError>,
    seconds: f64,
) -> RunReport {
    let mut counters: BTreeMap<String, Counter> = BTreeMap::new();
    let mut covers = BTreeMap::new();
    for probe in sim.probes() {
        match probe.kind {
            ProbeKind::Count => {
                let key = format!("{}.{}", block_of(probe.unit), probe.name);
                let entry =
                    counters.entry(key).or_insert(Counter { value: 0, about: probe.text.to_string() });
                entry.value += probe.count;
            }
            ProbeKind::Cover if probe.count > 0 => {
                *covers.entry(probe.name.to_string()).or_insert(0) += probe.count
            }
            ProbeKind::Cover | ProbeKind::Assert => {}
        }
    }
    for (name, _, about, value) in model.dram.counters().list() {
        counters.insert(
            format!("dram.{}", name.trim_start_matches("dram_")),
            Counter { value, about: about.to_string() },
        );
    }
    let metrics = metrics(config, &counters, model, cycles);
    RunReport {
        schema: SCHEMA,
        fabric: config.name.clone(),
        workload: model.program.name().to_string(),
        config: config.to_json(),
        cycles,
        verified: difference.is_none(),
        difference: difference.map(|d| d.to_string()),
        wall_seconds: seconds,
        cycles_per_second: cycles as f64 / seconds.max(1e-9),
        kernels: model.processor.records.clone(),
        metrics,
        counters,
        covers,
    }
}

/// Kinds of messages with their bytes on a link (rec.md section 5); a RdRsp has a line more, a WrReq what it carries.
const KINDS: [(&str, u64); 12] = [
    ("rdreq", 16),
    ("wrreq", 16),
    ("atomreq", 32),
    ("down", 16),
    ("rdrsp", 16),
    ("wrack", 16),
    ("atomrsp", 16),
    ("inv", 16),
    ("fencereq", 16),
    ("invfence", 16),
    ("fenceack", 16),
    ("invack", 16),
];

/// Kind of a block from its instance's path: `gpu0.bank3` is a `bank`.
pub(crate) fn block_of(path: &str) -> &str {
    let last = path.rsplit('.').next().unwrap_or(path);
    last.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_')
}

fn mean(sum: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}

/// Valid entries over all, where the check of precision has looked.
fn occupancy(config: &FabricConfig, model: &FabricModel) -> f64 {
    let seen = model.observer.checks.as_ref().and_then(|checks| checks.counts().precision);
    let (Some(hardware), Some(seen)) = (config.directory(), seen) else { return 0.0 };
    let all = hardware.dir(0).map_or(0, |dir| u64::from(dir.entries) * u64::from(config.common.nodes()));
    mean(seen.entries, seen.checks * all)
}

/// Loads and atomics by server.
fn served(model: &FabricModel) -> BTreeMap<String, u64> {
    let by = |src: usize| model.seats.iter().map(|seat| seat.cu.counters().served[src]).sum();
    SERVERS.iter().enumerate().map(|(src, name)| (name.to_string(), by(src))).collect()
}

fn metrics(
    config: &FabricConfig,
    counters: &BTreeMap<String, Counter>,
    model: &FabricModel,
    cycles: u64,
) -> Metrics {
    let get = |name: &str| counters.get(name).map_or(0, |c| c.value);
    let cold = model.observer.cold;
    let misses =
        get("bank.l2_misses_local_home") + get("bank.l2_misses_local_away") + get("bank.l2_misses_remote");
    // What leaves a GPU: by its own links, or, where its GPMs have links of their own, by its switch's way out.
    let sent = |name: &str| match config.common.gpms {
        1 => get(&format!("link_tx.{name}")),
        _ => (0..config.common.gpus).map(|gpu| get(&format!("gpu{gpu}_switch_uplink.{name}"))).sum(),
    };
    let requests = sent("msgs_rdreq") + sent("msgs_wrreq") + sent("msgs_atomreq");
    let bytes: u64 = ["req", "rsp", "inv"].iter().map(|n| sent(&format!("bytes_{n}"))).sum();
    let seconds = cycles as f64 / (config.common.clock_ghz * 1e9);
    let (by_write, by_eviction) = (get("bank.l2_inv_hit_write"), get("bank.l2_inv_hit_evict"));
    let bytes_by_kind = KINDS.iter().map(|(kind, size)| {
        let line = if *kind == "rdrsp" { u64::from(config.common.line) } else { 0 };
        let each = size + line;
        let bytes = if *kind == "wrreq" { sent("bytes_wrreq") } else { sent(&format!("msgs_{kind}")) * each };
        (kind.to_string(), bytes)
    });
    let gbps = |bytes: u64| bytes as f64 / seconds.max(1e-12) / 1e9;
    let (inter_gpu_loads, redundant) = model.observer.sharing.leaving();
    let had = (1..).map(|lines| counters.get(&format!("dir.evicted_with_{lines}_slots")));
    Metrics {
        l2_accesses: get("bank.l2_accesses"),
        l2_misses: misses.saturating_sub(cold),
        l2_cold_misses: cold.min(misses),
        l2_miss_rate: mean(misses, get("bank.l2_accesses")),
        write_invalidations: by_write,
        evict_invalidations: by_eviction,
        evict_share: mean(by_eviction, by_eviction + by_write),
        false_positive_invalidations: get("bank.l2_inv_false_positive"),
        inter_gpu_transactions: requests + sent("msgs_inv"),
        inter_gpu_requests: requests,
        inter_gpu_messages: KINDS.iter().map(|(kind, _)| sent(&format!("msgs_{kind}"))).sum(),
        inter_gpu_bytes: bytes,
        bytes_by_kind: bytes_by_kind.collect(),
        invalidation_gbps: gbps(sent("bytes_inv")),
        coalesced_histogram: had.map_while(|c| c.map(|c| c.value)).collect(),
        coalesced_lines: mean(get("dir.evicted_slots"), get("dir.evictions")),
        l2_lookup_cycles: mean(get("bank.l2_lookup_wait"), get("bank.l2_accesses")),
        invalidations_per_store: mean(by_write, get("dir.write_invs")),
        invalidations_per_eviction: mean(by_eviction, get("dir.evictions")),
        node_invalidation_gbps: gbps(get("link_tx.bytes_inv")),
        directory_occupancy: occupancy(config, model),
        inter_gpu_loads,
        redundant_inter_gpu_loads: mean(redundant, inter_gpu_loads),
        served: served(model),
    }
}
