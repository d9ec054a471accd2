//! Sweeps, their results and records, published figures.

use super::{said, text, texts, utf8};
use crate::reproduce::published::Published;
use crate::sweep::columns::{CHECK, checksum, failed, planned};
use crate::sweep::file::SweepFile;
use crate::sweep::plan::{Plan, count};
use crate::sweep::record::Record;
use crate::sweep::record::asked::Asked;
use crate::sweep::results::{Results, line};
use anyhow::Error;
use std::path::Path;
use weft_fuzz::readers::{gunzip, gzip};
use weft_fuzz::{Form, Part, Target, scratch};

/// What a reader may allocate whatever the size of the file: the fabrics that a sweep names, the lists of all
/// keys.
const CONSTANT: u64 = 1 << 22;

/// Runs of a sweep of which it is asked what they are.
const ASKED: usize = 3;

/// The sweep whose results and record are read.
const SWEEP: &str = r#"name = "fuzzed"
about = "Two protocols"
fabric = "rec-4gpu-small"
workloads = [{ workload = "stencil", n = 32 }]
[[axis]]
key = "protocol"
values = ["baseline", "rec"]
"#;

macro_rules! fabrics {
    ($($path:literal),* $(,)?) => { texts(&[$(include_str!(concat!("../../../fabrics/", $path, ".toml"))),*]) };
}

thread_local! {
    static PLAN: Option<Plan> = own().and_then(Plan::new).ok();
}

fn own() -> Result<SweepFile, Error> {
    SweepFile::parse(SWEEP, "fuzzed.toml", Path::new(""))
}

fn planned_rows(plan: &Plan) -> (Vec<String>, Vec<Vec<String>>) {
    let header: Vec<String> = plan.columns.iter().map(|column| column.name.clone()).collect();
    let row = |number: usize| {
        let mut cells = planned(&plan.runs[number], &plan.sweep);
        match number {
            0 => cells.extend([("status".into(), "ok".into()), ("cycles".into(), "1234".into())]),
            _ => cells.extend(failed("it was too long")),
        }
        let mut row: Vec<String> =
            header.iter().map(|name| cells.get(name).cloned().unwrap_or_default()).collect();
        if let Some(at) = header.iter().position(|name| name == CHECK) {
            row[at] = checksum(&header, &row);
        }
        row
    };
    let rows = (0..plan.runs.len()).map(row).collect();
    (header, rows)
}

/// Results as a sweep writes them.
fn results_seeds() -> Vec<Vec<u8>> {
    PLAN.with(|plan| {
        let Some(plan) = plan else { return Vec::new() };
        let (header, rows) = planned_rows(plan);
        let lines = std::iter::once(&header).chain(&rows).filter_map(|cells| line(cells).ok());
        vec![lines.collect::<Vec<_>>().concat()]
    })
}

/// A record as `weft sweep --record` writes it.
fn record_seeds() -> Vec<Vec<u8>> {
    PLAN.with(|plan| {
        let Some(plan) = plan else { return Vec::new() };
        let rows: Vec<_> = planned_rows(plan).1.into_iter().map(Some).collect();
        let kept = || {
            let folder = tempfile::tempdir()?;
            let path = Record::keep(folder.path(), plan, &rows)?;
            path.map(std::fs::read).transpose().map_err(Error::from)
        };
        kept().ok().flatten().into_iter().collect()
    })
}

/// A table whose checksums are those of its rows.
fn checked(bytes: &[u8]) -> Vec<u8> {
    let mut lines = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let mut rows = lines
        .records()
        .map_while(Result::ok)
        .map(|record| record.iter().map(str::to_string).collect::<Vec<_>>());
    let Some(header) = rows.next() else { return bytes.to_vec() };
    let Some(at) = header.iter().position(|name| name == CHECK) else { return bytes.to_vec() };
    let mut out = line(&header).unwrap_or_default();
    for mut row in rows {
        if row.len() > at {
            row[at] = checksum(&header, &row);
        }
        out.extend(line(&row).unwrap_or_default());
    }
    out
}

fn sweep(input: &[u8]) -> Result<(), String> {
    let read = || -> Result<(), Error> {
        let text = std::str::from_utf8(input)?;
        let sweep = SweepFile::parse(text, "fuzzed.toml", Path::new(""))?;
        for number in 0..count(&sweep).min(ASKED) {
            Asked::of(&sweep, number)?;
        }
        Ok(())
    };
    read().map_err(said)
}

fn published(input: &[u8]) -> Result<(), String> {
    let published = Published::parse(utf8(input)?, "fuzzed.toml").map_err(said)?;
    for figure in &published.figures {
        figure.rows().iter().for_each(|row| drop(row.printed()));
        figure.reference();
    }
    Ok(())
}

fn results(input: &[u8]) -> Result<(), String> {
    scratch::file("fuzzed.csv", input, |path| {
        PLAN.with(|plan| {
            let plan = plan.as_ref().ok_or("the sweep itself is refused")?;
            Results::look(path, plan).map(|_| ()).map_err(said)
        })
    })
}

fn record(input: &[u8]) -> Result<(), String> {
    scratch::files(&[("fuzzed.csv.gz", input)], |folder| {
        let read = own().and_then(|sweep| Record::read(folder, sweep)).map_err(said)?;
        drop(read.map(|record| record.told("fuzzed")));
        Ok(())
    })
}

pub(super) fn targets() -> Vec<Target> {
    [files(), tables()].concat()
}

fn files() -> Vec<Target> {
    let large = |target: Target| Target { constant: CONSTANT, ..target };
    vec![
        large(text(
            "sweep",
            "sweeps (TOML), all their tiers, and what their first runs are",
            || {
                fabrics!(
                    "sweeps/rec-protocols",
                    "sweeps/hmg-entries",
                    "sweeps/srsp-tasks",
                    "sweeps/flat-apps",
                    "sweeps/traces",
                    "sweeps/rec-smoke",
                    "sweeps/spandex-choices",
                )
            },
            "[[axis]]  [[summary]]  [[contest]]  [set]  [small]  [published.set]  \
            [[middle.axis]]  key  keys  values  labels  workloads  programs  only  tier  \
            columns  relative_to  metric  parts  show  mean  plot  classes  by  max_cycles  \
            seed  param.n  graph  graph_format  { workload = \"stencil\", n = 64 }",
            sweep,
        )),
        large(text(
            "published",
            "published figures (TOML)",
            || fabrics!("published/dnn-step", "published/hmg", "published/mgcc"),
            "[[figure]]  [[figure.row]]  [[figure.order]]  [[missing]]  [figure.all]  what  \
            metric  parts  over  to  at  show  mean  ranks  rising  published  printed  \
            see figure `speedup`  { protocol = [\"a\", \"b\"] }  [1, 2]  block  params  figure  \
            states  pictures  sweep",
            published,
        )),
    ]
}

fn tables() -> Vec<Target> {
    vec![
        Target {
            constant: CONSTANT,
            form: Form::Parts {
                open: |input| Some(vec![Part::text(input)]),
                close: |parts| checked(&parts[0].bytes),
            },
            ..text(
                "sweep-results",
                "results of sweeps (CSV)",
                results_seeds,
                ",  \"  ok  failed  wrong  stale",
                results,
            )
        },
        Target {
            constant: CONSTANT,
            form: Form::Parts {
                open: |input| gunzip(input).map(|bytes| vec![Part::text(bytes)]),
                close: |parts| gzip(&checked(&parts[0].bytes)),
            },
            ..text("sweep-record", "records of sweeps (.csv.gz)", record_seeds, ",  \"  ok  {}  null", record)
        },
    ]
}
