//! The columns of the results file.
//!
//! | columns | hold |
//! | --- | --- |
//! | `run`, `status`, `fabric`, `workload`, `params`, `graph`, `seed`, `protocol`, `set` | what was run: number in the product from 1; `ok`, `wrong` (the result is not the host's) or `failed`; all parameters of the program; keys that differ from the fabric's file |
//! | `axis.NAME` | for each axis its value as tables show it |
//! | keys of the fabric | those that an axis moves, as numbers without suffix |
//! | `verified`, `cycles`, `kernels` | the outcome; kernels counts launches and host copies |
//! | the metrics of a run's record, `bytes.KIND`, `served.SERVER` | rec.md section 11, hmg.md section 12; bytes on links by kind of message; loads and atomics by who answered: `l1`, `l2` (own), `gpu_l2` (of another GPM), `gpu_dram`, `far_l2` and `far_dram` (of another GPU) |
//! | `BLOCK.COUNTER` | each counter that the hardware of any run declares, summed over the fabric; empty where a run's hardware has none |
//! | `error`, `identity` | why a run failed; fingerprint of everything the row depends on: settings, data, hardware, program version |

use super::file::SweepFile;
use super::plan::Run;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use weft_fabric::config::all_keys;
use weft_fabric::run::{Metrics, RunReport};

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Heading.
    pub name: String,
    /// Unit; empty for texts and ratios.
    pub unit: String,
    /// What it holds.
    pub about: String,
    /// Whether its cells are numbers.
    pub numeric: bool,
}

/// Unit and meaning of the metrics in a run's record.
const METRICS: &[(&str, &str, &str)] = &[
    ("l2_accesses", "accesses", "demand accesses to L2 banks"),
    (
        "l2_misses",
        "misses",
        "demand accesses that find no valid line and join no open miss, without first references",
    ),
    (
        "l2_cold_misses",
        "misses",
        "first references to a line in an L2, of those that can miss: loads on their way, stores at home",
    ),
    ("l2_miss_rate", "", "L2 misses with first references over accesses"),
    ("write_invalidations", "invalidations", "invalidations caused by writes that dropped a copy"),
    (
        "evict_invalidations",
        "invalidations",
        "invalidations caused by directory evictions that dropped a copy",
    ),
    ("evict_share", "", "share of evictions in the invalidations that dropped a copy; empty without any"),
    (
        "false_positive_invalidations",
        "lines",
        "copies of other lines than the written one that group invalidations dropped",
    ),
    ("inter_gpu_transactions", "messages", "requests and invalidations that left a GPU"),
    ("inter_gpu_requests", "messages", "requests that left a GPU"),
    ("inter_gpu_messages", "messages", "all messages that left a GPU"),
    ("inter_gpu_bytes", "bytes", "bytes on all links from the GPUs"),
    ("invalidation_gbps", "GB/s", "bytes of invalidations per second on these links"),
    ("coalesced_lines", "lines", "lines per evicted directory entry; empty without any"),
    ("l2_lookup_cycles", "cycles", "mean time from arrival at an L2 bank to hit or miss"),
    (
        "invalidations_per_store",
        "lines",
        "lines dropped per store or atomic that finds a sharer to invalidate; empty without any",
    ),
    ("invalidations_per_eviction", "lines", "lines dropped per evicted directory entry; empty without any"),
    ("node_invalidation_gbps", "GB/s", "bytes of invalidations per second on all links that leave a node"),
    (
        "directory_occupancy",
        "",
        "valid directory entries over all, where the check of directory precision has looked",
    ),
    ("inter_gpu_loads", "loads", "loads that another GPU answers, each with a request of its own"),
    (
        "redundant_inter_gpu_loads",
        "",
        "share of these whose line another GPM of the same GPU loads too; empty without any",
    ),
];

/// Cells of a row by column.
pub type Cells = BTreeMap<String, String>;

fn column(name: &str, unit: &str, about: &str, numeric: bool) -> Column {
    Column { name: name.into(), unit: unit.into(), about: about.into(), numeric }
}

/// All columns of a sweep in order; `counters` are those of all its hardware.
pub fn columns(sweep: &SweepFile, counters: &BTreeMap<String, String>) -> Vec<Column> {
    let mut all = vec![
        column("run", "", "number in the product of the axes, from 1", true),
        column("status", "", "ok, wrong (the result is not the host's) or failed", false),
        column("fabric", "", "fabric", false),
        column("workload", "", "program", false),
        column("params", "", "all parameters of the program", false),
        column("graph", "", "graph file", false),
        column("seed", "", "seed of the program's random data", false),
        column("protocol", "", "protocol", false),
        column("set", "", "keys of the fabric that differ from its file", false),
    ];
    for axis in &sweep.axes {
        let about = format!("value of the axis that moves {}", axis.keys.join(", "));
        all.push(column(&format!("axis.{}", axis.name), "", &about, false));
    }
    let keys = all_keys();
    for key in moved_keys(sweep) {
        if let Some(info) = keys.iter().find(|info| info.name == key && key != "protocol") {
            all.push(column(info.name, info.unit, info.about, info.default.is_number()));
        }
    }
    all.push(column("verified", "", "every element of the result equals the host's own computation", false));
    all.push(column("cycles", "cycles", "time from the first host step to the last fence", true));
    all.push(column("kernels", "", "kernel launches and host copies", true));
    all.extend(flat(&Metrics::default()).keys().map(|name| metric(name)));
    all.extend(counters.iter().map(|(name, about)| column(name, "", about, true)));
    all.push(column("error", "", "why the run failed", false));
    all.push(column("identity", "", "fingerprint of settings, data, hardware and program version", false));
    all
}

/// Keys of the fabric that axes move, each once, in order of the axes.
fn moved_keys(sweep: &SweepFile) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let keys = sweep.axes.iter().flat_map(|axis| &axis.keys).map(String::as_str);
    keys.filter(|key| seen.insert(*key)).collect()
}

fn metric(name: &str) -> Column {
    if let Some(kind) = name.strip_prefix("bytes.") {
        return column(name, "bytes", &format!("bytes of {kind} messages on all links from the GPUs"), true);
    }
    if let Some(server) = name.strip_prefix("served.") {
        return column(
            name,
            "accesses",
            &format!("loads and atomics, line by line, answered by {server}"),
            true,
        );
    }
    let (unit, about) =
        METRICS.iter().find(|(known, ..)| *known == name).map_or(("", ""), |(_, unit, about)| (unit, about));
    column(name, unit, about, true)
}

/// The single numbers of a record's metrics, in order of name; kinds of messages have a number each.
fn flat(metrics: &Metrics) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let json = serde_json::to_value(metrics).unwrap_or_default();
    for (name, value) in json.as_object().into_iter().flatten() {
        if value.is_number() {
            out.insert(name.clone(), value.to_string());
        }
    }
    for kind in RunReport::message_kinds() {
        let bytes = metrics.bytes_by_kind.get(kind).copied().unwrap_or(0);
        out.insert(format!("bytes.{kind}"), bytes.to_string());
    }
    for server in RunReport::servers() {
        let count = metrics.served.get(server).copied().unwrap_or(0);
        out.insert(format!("served.{server}"), count.to_string());
    }
    out
}

/// What is known of a run before it.
pub fn planned(run: &Run, sweep: &SweepFile) -> Cells {
    let params: Vec<String> = run.params.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut cells = Cells::from([
        ("run".into(), (run.number + 1).to_string()),
        ("fabric".into(), run.config.name.clone()),
        ("workload".into(), run.workload.clone()),
        ("params".into(), params.join(" ")),
        ("graph".into(), run.graph.as_ref().map_or_else(String::new, |path| path.display().to_string())),
        ("seed".into(), run.seed.map_or_else(String::new, |seed| seed.to_string())),
        ("set".into(), run.changed.clone()),
        ("identity".into(), run.identity.clone()),
    ]);
    for (axis, label) in sweep.axes.iter().zip(&run.labels) {
        cells.insert(format!("axis.{}", axis.name), label.clone());
    }
    for key in moved_keys(sweep).into_iter().chain(["protocol"]) {
        if let Some(value) = run.config.get(key) {
            cells.insert(key.into(), text(&value));
        }
    }
    cells
}

/// A JSON value without quotes.
pub fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// What a run has measured.
pub fn measured(report: &RunReport) -> Cells {
    let mut cells: Cells = flat(&report.metrics);
    cells.extend(report.counters.iter().map(|(name, counter)| (name.clone(), counter.value.to_string())));
    // A record says 0 for a mean over nothing; a mean over several runs must leave it out.
    let count = |name: &str| report.counters.get(name).map_or(0, |counter| counter.value);
    let evictions = count("dir.evictions");
    let dropped = report.metrics.evict_invalidations + report.metrics.write_invalidations;
    let means = [
        ("coalesced_lines", evictions),
        ("invalidations_per_eviction", evictions),
        ("invalidations_per_store", count("dir.write_invs")),
        ("evict_share", dropped),
        ("redundant_inter_gpu_loads", report.metrics.inter_gpu_loads),
    ];
    for (name, over) in means {
        if over == 0 {
            cells.insert(name.into(), String::new());
        }
    }
    let status = if report.verified { "ok" } else { "wrong" };
    cells.extend([
        ("status".into(), status.into()),
        ("verified".into(), report.verified.to_string()),
        ("cycles".into(), report.cycles.to_string()),
        ("kernels".into(), report.kernels.len().to_string()),
        ("error".into(), one_line(report.difference.as_deref().unwrap_or(""))),
    ]);
    cells
}

/// A run that ended early.
pub fn failed(error: &str) -> Cells {
    let cells = [("status", "failed".into()), ("verified", "false".into()), ("error", one_line(error))];
    cells.into_iter().map(|(name, cell)| (name.to_string(), cell)).collect()
}

/// Text without line ends, for a row is a line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_of_a_record_has_a_meaning() {
        for name in flat(&Metrics::default()).keys() {
            assert!(!metric(name).about.is_empty(), "{name} has no sentence in METRICS");
        }
        let known = flat(&Metrics::default());
        for (name, ..) in METRICS {
            assert!(known.contains_key(*name), "{name} is no metric of a record");
        }
    }

    #[test]
    fn an_error_of_several_lines_is_one_cell_without_line_ends() {
        assert_eq!(failed("a\n  b\r\nc")["error"], "a b c");
    }
}
