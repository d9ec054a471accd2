//! Short runs: cycles and counters of two programs on each small fabric under each protocol, as it is and under pressure.

use super::{DigestError, Table, Variant, hex, pressed, rows, variants};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use weft_engine::Probes;
use weft_engine::digest::Digest;
use weft_fabric::family::{Figure, FigureValue, ValueRule};
use weft_fabric::run::{FabricError, FabricRun, RunOptions, RunReport, design};
use weft_workload::Program;

/// A program with its parameters.
type Words = (&'static str, &'static [(&'static str, &'static str)]);

/// Work-groups share data between kernels.
const BETWEEN_KERNELS: Words = ("bfs", &[("source", "karate")]);

/// Work-groups synchronise inside a kernel. (Protocol `scope` orders nothing between CUs: there the lock loses updates, and the row says so.)
const IN_KERNELS: Words = ("lock", &[("owner", "6"), ("remote", "2"), ("others", "3"), ("lines", "2")]);

/// The first on hardware under pressure: more lines than it holds.
const MORE_LINES: Words = ("bfs", &[("source", "uniform"), ("nodes", "256"), ("edges", "1024")]);

/// The second there: what the lock guards does not fit into a set.
const MORE_GUARDED: Words = ("lock", &[("owner", "6"), ("remote", "2"), ("others", "3"), ("lines", "8")]);

/// In the place of those that synchronise inside a kernel where nothing keeps caches coherent inside a kernel, and a lock would be waited for for ever.
const NEIGHBOURS: Words = ("stencil", &[("n", "16"), ("iterations", "2")]);

/// Cycles after which a run is given up: more than ten times what the longest takes.
const LIMIT: u64 = 500_000;

/// The suffix of fabrics of which this is asked.
const SMALL: &str = "-small";

/// The table of all runs, or of those on some fabrics.
pub fn table(only: &[String], done: &(dyn Fn(usize, usize) + Sync)) -> Result<Table, DigestError> {
    let mut jobs = Vec::new();
    for variant in variants(only, &|name| name.ends_with(SMALL))? {
        let pressed = pressed::of(&variant)?;
        jobs.push((variant, [BETWEEN_KERNELS, IN_KERNELS]));
        jobs.push((pressed, [MORE_LINES, MORE_GUARDED]));
    }
    let made = rows(&jobs, done, of_variant)?;
    let columns = ["fabric", "keys", "program", "cycles", "figures", "counters", "covers"];
    Ok(Table::new(3, &columns, made.into_iter().flatten().collect()))
}

/// Both programs on the same hardware.
fn of_variant((variant, [first, second]): &(Variant, [Words; 2])) -> Result<Vec<Vec<String>>, DigestError> {
    let options = RunOptions { probes: Probes::All, ..RunOptions::default() };
    let hardware = design(&variant.config, &options).map_err(|cause| variant.failed(cause))?;
    let incoherent = variant.config.hardware().promises().values == ValueRule::Counted;
    [*first, if incoherent { NEIGHBOURS } else { *second }]
        .into_iter()
        .map(|(name, given)| {
            let program = program(variant, name, given)?;
            let run = || -> Result<RunReport, FabricError> {
                let mut run = FabricRun::on(&variant.config, &hardware, program, &options)?;
                match run.run_to(LIMIT)? {
                    true => run.finish(),
                    false => Err(FabricError::Limit { cycles: LIMIT }),
                }
            };
            let report = run().map_err(|cause| variant.failed(cause))?;
            Ok(row(variant, &words(name, given), &report))
        })
        .collect()
}

fn words(name: &str, given: &[(&str, &str)]) -> String {
    let given: String = given.iter().map(|(key, value)| format!(" {key}={value}")).collect();
    format!("{name}{given}")
}

fn program(variant: &Variant, name: &str, given: &[(&str, &str)]) -> Result<Arc<dyn Program>, DigestError> {
    let mut params: BTreeMap<String, String> =
        given.iter().map(|(key, value)| ((*key).to_string(), (*value).to_string())).collect();
    weft_workload::supply(name, &mut params, "lanes", &variant.config.common.lanes.to_string());
    variant.config.offer(name, &mut params);
    let what = format!("{name} on {}", variant.config.name);
    let failed = |cause| DigestError::Program { what, cause: Box::new(cause) };
    Ok(Arc::from(weft_workload::build(name, &params, None).map_err(failed)?))
}

fn row(variant: &Variant, program: &str, report: &RunReport) -> Vec<String> {
    let (mut counters, mut covers) = (Digest::default(), Digest::default());
    // A digest takes whatever is written to it.
    for (name, counter) in &report.counters {
        let _ = writeln!(counters, "{name} {}", counter.value);
    }
    for (name, count) in &report.covers {
        let _ = writeln!(covers, "{name} {count}");
    }
    let count = |figure: &Figure| match figure.value {
        FigureValue::Count(count) if count > 0 => Some(format!("{}={count}", figure.info.name)),
        _ => None,
    };
    let figures: Vec<String> = report.metrics.0.iter().filter_map(count).collect();
    let cycles = match report.verified {
        true => report.cycles.to_string(),
        false => format!("{} not verified", report.cycles),
    };
    let digests = [&counters, &covers].map(|digest| hex(digest.value()));
    let named = [variant.config.name.clone(), variant.keys.clone(), program.to_string()];
    named.into_iter().chain([cycles, figures.join(" ")]).chain(digests).collect()
}
