//! What a run has measured.

use super::copies::HostCopies;
use super::counter::Counter;
use super::model::FabricModel;
use super::processor::KernelRecord;
use super::stalls::StallReport;
use crate::config::FabricConfig;
use crate::cu::CuCounters;
use crate::family::{Figures, Seen, Shape};
use serde::Serialize;
use std::collections::BTreeMap;
use weft_engine::Sim;
use weft_rtl::ir::ProbeKind;
use weft_workload::VerifyError;
use weft_workload::programs::WARM_UP;

/// Version of the JSON that [`RunReport`] serialises to.
pub const SCHEMA: &str = "weft-run-2";

/// Results of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// `weft-run-2`: name and version of this schema.
    pub schema: &'static str,
    /// Fabric.
    pub fabric: String,
    /// Program.
    pub workload: String,
    /// All keys of the configuration.
    pub config: serde_json::Value,
    /// Cycles from the first host step to the last fence; with copies of the host from the begin of the first to the end of the last.
    pub cycles: u64,
    /// Those behind a warm-up of the program, from its last fence on; counters and figures are of all
    /// cycles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_cycles: Option<u64>,
    /// Every element of the result equals the host's own computation.
    pub verified: bool,
    /// The first difference, if there is one.
    pub difference: Option<String>,
    /// There is a difference, on a fabric that nothing keeps coherent, and loads were counted that showed a stale word: no failure of the hardware.
    /// Without the check of values nothing is counted, and a difference is a failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// Time of the simulation proper.
    pub wall_seconds: f64,
    /// Speed.
    pub cycles_per_second: f64,
    /// Threads that went through each cycle, on which nothing else in here depends.
    #[serde(skip)]
    pub threads: usize,
    /// Kernels and host copies in order.
    pub kernels: Vec<KernelRecord>,
    /// Derived figures, which the fabric's family declares.
    pub metrics: Figures,
    /// Why compute units did not issue, unless the key `gsi` is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalls: Option<StallReport>,
    /// What a person wants to know first: title and text of each row.
    pub summary: Vec<(&'static str, String)>,
    /// Counters of the blocks and models, as `block.counter`.
    pub counters: BTreeMap<String, Counter>,
    /// Cover points that were hit, with the number of cycles: rows of the transition tables, so that directory operations are told by kind and outcome
    /// (`rec.WR_REM.hit_slot_set`), and races. Identifiers are those of the race ledger.
    pub covers: BTreeMap<String, u64>,
}

impl RunReport {
    /// Cycles of what is measured: behind a warm-up, else all.
    pub fn measured(&self) -> u64 {
        self.measured_cycles.unwrap_or(self.cycles)
    }
}

/// Cycles behind the warm-up, if the program has one.
fn behind_warm_up(kernels: &[KernelRecord], cycles: u64) -> Option<u64> {
    let warm = kernels.iter().rfind(|kernel| kernel.name == WARM_UP)?;
    Some(cycles - warm.end)
}

pub(super) fn collect(
    config: &FabricConfig,
    sim: &Sim,
    model: &FabricModel,
    cycles: u64,
    difference: Option<VerifyError>,
    seconds: f64,
) -> RunReport {
    let mut counters: BTreeMap<String, Counter> = BTreeMap::new();
    for probe in sim.probes() {
        if probe.kind == ProbeKind::Count {
            let key = format!("{}.{}", block_of(probe.unit), probe.name);
            let entry = counters.entry(key).or_insert(Counter { value: 0, about: probe.text.to_string() });
            entry.value += probe.count;
        }
    }
    for seat in &model.seats {
        let kind = if seat.number() < model.shape.cores_each() { CORE } else { CU };
        for (name, about, value) in seat.cu.counters().list() {
            let entry = counters.entry(format!("{kind}.{name}")).or_insert(Counter { value: 0, about });
            entry.value += value;
        }
    }
    counters.extend(model.around.counters());
    counters
        .insert(LEFT.0.into(), Counter { value: model.around.newer(sim).len() as u64, about: LEFT.1.into() });
    counters.extend(model.processor.copied.counters());
    counters.extend(model.processor.called.counters());
    counters.extend(model.outside.iter().flat_map(|outside| outside.counters()));
    counters.extend(model.processor.copies.into_iter().flat_map(of_host));
    let checked = model.observer.checks.as_ref().map(|checks| checks.counts().family).unwrap_or_default();
    let by = |src: usize| model.seats.iter().map(|seat| seat.cu.counters().served[src]).sum();
    let seen = Seen { cycles, counters: &counters, served: std::array::from_fn(by), checked: &checked };
    let metrics = model.observer.meter.figures(&seen);
    RunReport {
        schema: SCHEMA,
        fabric: config.name.clone(),
        workload: model.program.name().to_string(),
        config: config.to_json(),
        cycles,
        measured_cycles: behind_warm_up(&model.processor.records, cycles),
        verified: difference.is_none(),
        stale: difference.is_some() && checked.iter().any(|(name, words)| *name == "stale" && *words > 0),
        difference: difference.map(|d| d.to_string()),
        wall_seconds: seconds,
        cycles_per_second: cycles as f64 / seconds.max(1e-9),
        threads: 1,
        kernels: model.processor.records.clone(),
        stalls: model.processor.stalls.as_ref().map(|stalls| stalls.report(model.processor.units())),
        summary: [("CUs", summary_of_units(&counters))]
            .into_iter()
            .chain(config.of.family().summary(&metrics))
            .collect(),
        metrics,
        counters,
        covers: covers(sim),
    }
}

/// Cover points that were hit, with the number of cycles.
pub(super) fn covers(sim: &Sim) -> BTreeMap<String, u64> {
    let mut covers = BTreeMap::new();
    for probe in sim.probes() {
        if probe.kind == ProbeKind::Cover && probe.count > 0 {
            *covers.entry(probe.name.to_string()).or_insert(0) += probe.count;
        }
    }
    covers
}

/// Writes of memory that have not come to it when a run ends.
pub(super) const LEFT: (&str, &str) =
    ("dram.left", "lines of which caches hold bytes newer than memory at the end");

/// Compute units and CPU cores as kinds of blocks in the names of counters.
const CU: &str = "cu";
const CORE: &str = "core";

/// Names and sentences of what compute units count, and CPU cores if there are any.
pub(super) fn of_units(shape: &Shape) -> impl Iterator<Item = (String, String)> {
    let kinds: &[&str] = match (shape.cores_each(), shape.cus) {
        (0, _) => &[CU],
        (cores, all) if cores == all => &[CORE],
        _ => &[CU, CORE],
    };
    let list = |kind: &&str| {
        let kind = kind.to_string();
        CuCounters::default()
            .list()
            .into_iter()
            .map(move |(name, about, _)| (format!("{kind}.{name}"), about))
    };
    kinds.iter().flat_map(list)
}

/// What compute units have done, for a person.
fn summary_of_units(counters: &BTreeMap<String, Counter>) -> String {
    let sum = |wanted: &dyn Fn(&str) -> bool| -> u64 {
        let own = counters.iter().filter_map(|(name, of)| Some((name.strip_prefix("cu.")?, of.value)));
        own.filter(|(name, _)| wanted(name)).map(|(_, value)| value).sum()
    };
    let one = |name: &str| sum(&|known| known == name);
    // Classes are one letter, so that loads_d counts and load_lines does not.
    let lines = |name: &str| {
        let operations = sum(&|known| {
            known.strip_prefix(name).is_some_and(|rest| rest.len() == 3 && rest.starts_with("s_"))
        });
        one(&format!("{name}_lines")) as f64 / operations.max(1) as f64
    };
    let spans = |what: &str| {
        let cycles = sum(&|known| known.starts_with(what) && known.ends_with("_cycles"));
        let count = sum(&|known| known.starts_with(what) && !known.ends_with("_cycles"));
        format!("{count} {what} of {:.0} cycles", cycles as f64 / count.max(1) as f64)
    };
    format!(
        "{} operations; {:.2} line accesses per load, {:.2} per store, {:.2} per atomic; {}, {}; {} failed lock attempts",
        one("instructions"),
        lines("load"),
        lines("store"),
        lines("amo"),
        spans("releases"),
        spans("acquires"),
        one("failed_locks")
    )
}

/// What the host has copied.
fn of_host(copies: HostCopies) -> [(String, Counter); 2] {
    let counter = |name: &str, about: &str, [input, output]: [u64; 2]| {
        (format!("host.{name}"), Counter { value: input + output, about: about.into() })
    };
    [
        counter(
            "copy_bytes",
            "bytes of input arrays copied in and of output arrays copied out",
            copies.bytes,
        ),
        counter(
            "copy_cycles",
            "cycles of these copies, before the first kernel and after the last",
            copies.cycles,
        ),
    ]
}

/// Kind of a block from its instance's path: `gpu0.bank3` is a `bank`.
pub(crate) fn block_of(path: &str) -> &str {
    let last = path.rsplit('.').next().unwrap_or(path);
    last.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_')
}
