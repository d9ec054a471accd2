//! The columns of the results file.
//!
//! | columns | hold |
//! | --- | --- |
//! | `run`, `status`, `fabric`, `workload`, `params`, `graph`, those that begin so, `data_bytes`, `seed`, `protocol`, `set` | what was run: number in the product from 1; `ok`, `wrong` (the result is not the host's), `stale` (the same where nothing keeps the fabric coherent and loads of stale words were counted) or `failed`; the parameters of the program that made a difference; the graph as it was read; bytes of the program's arrays; keys that differ from the fabric's file |
//! | `axis.NAME` | for each axis its value as tables show it |
//! | keys of the fabric | those that an axis moves, as numbers without suffix |
//! | `verified`, `cycles`, `kernels` | the outcome; kernels counts launches and host copies |
//! | the metrics of a run's record, which the fabric's family declares; of the directory family with `bytes.KIND`, `served.SERVER` | rec.md section 11, hmg.md section 12; bytes on links by kind of message; loads and atomics by who answered: `l1`, `l2` (own), `gpu_l2` (of another GPM), `gpu_dram`, `far_l2` and `far_dram` (of another GPU) |
//! | `BLOCK.COUNTER` | each counter that the hardware of any run declares, summed over the fabric; empty where a run's hardware has none |
//! | `error`, `weft`, `hardware`, `identity` | why a run failed; version and commit of the program that made it; fingerprints of the hardware, and of everything the row depends on: settings, data, hardware, program version |
//! | `check` | checksum of the row ([`checksum`]): a row that was changed or damaged is refused when the sweep goes on and when it is drawn |

use super::file::SweepFile;
use super::run::Run;
use crate::setup::VERSION;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use weft_engine::digest::Digest;
use weft_fabric::config::{FabricConfig, all_keys};
use weft_fabric::cu::GSI_COLUMNS;
use weft_fabric::family::FigureColumn;
use weft_fabric::run::{RunReport, StallReport};
use weft_workload::Array;

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

/// Cells of a row by column.
pub type Cells = BTreeMap<String, String>;

fn column(name: &str, unit: &str, about: &str, numeric: bool) -> Column {
    Column { name: name.into(), unit: unit.into(), about: about.into(), numeric }
}

/// All columns of a sweep in order; `fabrics` are those of its runs, `counters` those of all their hardware.
pub fn columns(
    sweep: &SweepFile,
    fabrics: &[&FabricConfig],
    counters: &BTreeMap<String, String>,
) -> Vec<Column> {
    let mut all = vec![
        column("run", "", "number in the product of the axes, from 1", true),
        column(
            "status",
            "",
            "ok, wrong (the result is not the host's), stale (the same where nothing keeps the fabric coherent and loads of stale words were counted) or failed",
            false,
        ),
        column("fabric", "", "fabric", false),
        column("workload", "", "program", false),
        column("params", "", "parameters of the program that make a difference", false),
        column("graph", "", "graph file, or name of a graph without one", false),
        column(
            "graph_digest",
            "",
            "fingerprint of the graph, the same in whichever format its file is",
            false,
        ),
        column("graph_vertices", "", "vertices of the graph", true),
        column("graph_arcs", "", "arcs of the graph: an undirected edge twice, a loop once", true),
        column("graph_directed", "", "whether edges of the graph have a direction", false),
        column("graph_weighted", "", "whether edges of the graph have weights", false),
        column(DATA, "bytes", "the program's arrays together", true),
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
    let measured = "cycles behind the program's warm-up, if it has one, else all";
    all.push(column(MEASURED, "cycles", measured, true));
    all.push(column("kernels", "", "kernel launches and host copies", true));
    all.extend(figures(fabrics));
    if fabrics.iter().any(|fabric| fabric.common.gsi) {
        all.extend(
            GSI_COLUMNS.iter().map(|(name, about)| column(&StallReport::metric(name), "ticks", about, true)),
        );
    }
    all.extend(counters.iter().map(|(name, about)| column(name, "", about, true)));
    all.push(column("error", "", "why the run failed", false));
    all.push(column("weft", "", "version and commit of the program that made the run", false));
    all.push(column(HARDWARE, "", "fingerprint of the hardware", false));
    all.push(column(IDENTITY, "", "fingerprint of settings, data, hardware and program version", false));
    all.push(column(CHECK, "", "checksum of the other cells but run, so that a changed one is found", false));
    all
}

/// The columns of rows that were read from a file: of those that all results and figures of runs have, unit and meaning; the others are
/// counters if they hold numbers alone.
pub fn recorded(sweep: &SweepFile, header: &[String], rows: &[Vec<String>]) -> Vec<Column> {
    let points = sweep.axes.iter().flat_map(|axis| axis.points.iter().flat_map(|point| &point.settings));
    let names: BTreeSet<&str> = sweep
        .fixed
        .iter()
        .chain(points)
        .filter(|setting| setting.key == "fabric")
        .map(|setting| setting.value.value.as_str())
        .collect();
    let fabrics: Vec<FabricConfig> =
        names.into_iter().filter_map(|name| FabricConfig::load(name).ok()).collect();
    let known = columns(sweep, &fabrics.iter().collect::<Vec<_>>(), &BTreeMap::new());
    let read = |(at, name): (usize, &String)| match known.iter().find(|column| column.name == *name) {
        Some(column) => column.clone(),
        None => {
            let mut cells = rows.iter().map(|row| row[at].as_str()).filter(|cell| !cell.is_empty());
            column(name, "", "", cells.all(|cell| cell.parse::<f64>().is_ok()))
        }
    };
    header.iter().enumerate().map(read).collect()
}

/// The column of a program's data.
pub const DATA: &str = "data_bytes";

/// The column of the fingerprint of hardware.
pub const HARDWARE: &str = "hardware";

/// The column of the fingerprint of all that a row depends on.
pub const IDENTITY: &str = "identity";

/// The column of cycles that are measured.
pub const MEASURED: &str = "measured_cycles";

/// A metric is a time in which a run is fast or slow.
pub fn is_time(metric: &str) -> bool {
    ["cycles", MEASURED].contains(&metric)
}

/// The column of checksums.
pub const CHECK: &str = "check";

/// The checksum of a row under these headings: 64-bit FNV-1a over its cells, each with a zero byte behind it, as 16 hexadecimal digits. The checksum itself and `run`, which moves when
/// an axis becomes longer, are left out.
pub fn checksum(header: &[String], row: &[String]) -> String {
    let mut digest = Digest::default();
    for (_, cell) in header.iter().zip(row).filter(|(name, _)| ![CHECK, "run"].contains(&name.as_str())) {
        digest.add(cell.as_bytes());
        digest.add(&[0]);
    }
    format!("{:016x}", digest.value())
}

/// Refuses a row that is not as it was written; the error continues a sentence that begins with the line.
///
/// # Errors
/// A checksum that does not fit.
pub fn unchanged(header: &[String], row: &[String]) -> Result<(), String> {
    let at = header.iter().position(|name| name == CHECK);
    match at.and_then(|at| row.get(at)) {
        Some(check) if *check != checksum(header, row) => Err(
            "was changed or damaged, for its checksum does not fit: delete the line, and its run is made again".into(),
        ),
        _ => Ok(()),
    }
}

/// Keys of the fabric that axes move, each once, in order of the axes.
fn moved_keys(sweep: &SweepFile) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let keys = sweep.axes.iter().flat_map(|axis| &axis.keys).map(String::as_str);
    keys.filter(|key| seen.insert(*key)).collect()
}

/// The columns of the figures that runs of these fabrics have, in order of name.
fn figures(fabrics: &[&FabricConfig]) -> Vec<Column> {
    let infos = fabrics.iter().flat_map(|fabric| fabric.of.family().figures());
    let columns = infos.flat_map(|info| info.columns());
    let named: BTreeMap<String, FigureColumn> = columns.map(|c| (c.name.clone(), c)).collect();
    named.values().map(|c| column(&c.name, c.unit, &c.about, true)).collect()
}

/// Bytes of all arrays of a run's program.
pub fn data_bytes(run: &Run) -> u64 {
    run.program.arrays().iter().map(Array::bytes).sum()
}

/// What is known of a run before it.
pub fn planned(run: &Run, sweep: &SweepFile) -> Cells {
    let mut cells = Cells::from([
        ("run".into(), (run.number + 1).to_string()),
        ("fabric".into(), run.config.name.clone()),
        ("workload".into(), run.workload.clone()),
        ("params".into(), run.params.words()),
        (DATA.into(), data_bytes(run).to_string()),
        ("seed".into(), run.seed.map_or_else(String::new, |seed| seed.to_string())),
        ("set".into(), run.changed.clone()),
        ("weft".into(), VERSION.into()),
        (HARDWARE.into(), run.hardware.clone()),
        (IDENTITY.into(), run.identity.clone()),
    ]);
    if let Some(graph) = &run.params.graph {
        let file = run.graph.as_ref().map(|path| path.display().to_string());
        cells.extend([
            ("graph".into(), file.unwrap_or_else(|| graph.name.clone())),
            ("graph_digest".into(), graph.digest.clone()),
            ("graph_vertices".into(), graph.vertices.to_string()),
            ("graph_arcs".into(), graph.arcs.to_string()),
            ("graph_directed".into(), graph.directed.to_string()),
            ("graph_weighted".into(), graph.weighted.to_string()),
        ]);
    }
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
    let mut cells: Cells = report.metrics.cells();
    cells.extend(report.stalls.iter().flat_map(StallReport::cells));
    cells.extend(report.counters.iter().map(|(name, counter)| (name.clone(), counter.value.to_string())));
    let status = match (report.verified, report.stale) {
        (true, _) => "ok",
        (false, true) => "stale",
        (false, false) => "wrong",
    };
    cells.extend([
        ("status".into(), status.into()),
        ("verified".into(), report.verified.to_string()),
        ("cycles".into(), report.cycles.to_string()),
        (MEASURED.into(), report.measured().to_string()),
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
    fn a_sweep_has_the_columns_that_sweeps_have_always_had() {
        let config = FabricConfig::default();
        let columns = figures(&[&config, &config]);
        let rows: Vec<String> =
            columns.iter().map(|c| format!("{}|{}|{}", c.name, c.unit, c.about)).collect();
        assert_eq!(rows.join("\n"), include_str!("columns.txt").trim_end());
        assert!(columns.iter().all(|c| c.numeric && !c.about.is_empty()));
    }

    #[test]
    fn an_error_of_several_lines_is_one_cell_without_line_ends() {
        assert_eq!(failed("a\n  b\r\nc")["error"], "a b c");
    }
}
