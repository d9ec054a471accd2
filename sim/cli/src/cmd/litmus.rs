//! `weft litmus`: small tests of memory models, by enumeration and on fabrics.

pub mod source;

use crate::cmd::run::writable;
use crate::failure::{Failure, Outcome, say};
use anyhow::{Context, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use source::Item;
use std::io::Write;
use std::path::PathBuf;
use weft_conformance::{Campaign, CampaignError, Plan, TestReport};
use weft_fabric::config::FabricConfig;
use weft_litmus::model::Model;
use weft_litmus::paths::Bounds;
use weft_litmus::program::{Layout, Placement};
use weft_litmus::test::{Test, Verdict};

/// Arguments of `weft litmus`.
#[derive(clap::Args)]
pub struct Args {
    /// A test of Weft's library by name, `*.P` all whose names end so, `all` of them, a file or a folder of files (PTX, OpenCL, C11, AArch64, LISA, Weft's own format).
    #[arg(default_value = "all")]
    tests: String,
    /// Runs the tests on a built-in fabric or a TOML file, too.
    #[arg(long)]
    fabric: Option<String>,
    /// Key of the fabric's configuration; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "fabric")]
    set: Vec<String>,
    /// Model: of the enumeration, without it that of each test's language or those it states; with --fabric drf0, drf1 or drfrlx, also with +scopes, which the fabric's CUs keep to.
    #[arg(long, value_name = "MODEL")]
    model: Option<Model>,
    /// Where threads are: cu (all on one), cus (of one GPM), gpms (of one GPU), gpus, cpu (cores and CUs in turns); may be given several times. All, by default.
    #[arg(long, value_name = "PLACEMENT", requires = "fabric")]
    placement: Vec<Placement>,
    /// Where locations are: lines (each in one of its own), line (all in one), set (in lines of one set); may be given several times. All, by default.
    #[arg(long, value_name = "LAYOUT", requires = "fabric")]
    layout: Vec<Layout>,
    /// Runs of each test, over all placements and layouts.
    #[arg(long, default_value_t = 1000, requires = "fabric", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    runs: u32,
    /// Runs of a test that are lanes of one wave, each with locations of its own, at most; 1: every run has waves of its own.
    #[arg(long, default_value_t = 1, requires = "fabric", value_parser = clap::value_parser!(u32).range(1..=64))]
    lanes: u32,
    /// Most ticks before an operation.
    #[arg(long, default_value_t = 64, requires = "fabric", value_name = "TICKS")]
    delay: u32,
    /// Most operations of waves beside the test that keep caches and network busy; 0: there are none.
    #[arg(long, default_value_t = 48, requires = "fabric", value_name = "OPERATIONS")]
    traffic: u32,
    /// Seed of places, delays and stale copies.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Writes all results to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A verdict by enumeration.
#[derive(Serialize)]
struct Judged {
    model: String,
    found: &'static str,
    stated: Option<&'static str>,
}

/// An end and how often it was seen.
#[derive(Serialize)]
struct End {
    placement: &'static str,
    layout: &'static str,
    end: String,
    times: u32,
}

/// What a test showed on the fabric.
#[derive(Serialize)]
struct OnFabric {
    promised: &'static str,
    runs: u64,
    /// Runs whose end met the condition.
    met: u64,
    /// Runs that ended as no sequentially consistent machine does.
    weak: u64,
    ends: Vec<End>,
    forbidden: Vec<End>,
    never_seen: Vec<String>,
}

/// All about one test.
#[derive(Serialize)]
struct Row {
    test: String,
    verdicts: Vec<Judged>,
    fabric: Option<OnFabric>,
}

/// Runs the verb.
///
/// # Errors
/// Wrong input; a verdict other than the one stated; an end that a model forbids.
pub fn run(args: &Args) -> Outcome {
    let items = source::items(&args.tests)?;
    let json = match &args.json {
        Some(path) => Some((path, writable("--json", path)?)),
        None => None,
    };
    let campaign = campaign(args)?;
    let plan = Plan {
        runs: args.runs,
        lanes: args.lanes,
        delay: args.delay,
        traffic: args.traffic,
        seed: args.seed,
        ..Plan::default()
    };
    let plan = match &args.placement[..] {
        [] => plan,
        some => Plan { placements: some.to_vec(), ..plan },
    };
    let plan = match &args.layout[..] {
        [] => plan,
        some => Plan { layouts: some.to_vec(), ..plan },
    };
    let bar = ProgressBar::new(items.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {pos} of {len} tests, {msg}") {
        bar.set_style(style);
    }
    let (mut rows, mut wrong, mut runs) = (Vec::new(), Vec::new(), 0);
    for item in &items {
        bar.set_message(item.test.name.clone());
        let verdicts = verdicts(args, item)?;
        let shown = campaign.as_ref().map(|c| on_fabric(c, item, &plan, &bar)).transpose()?.flatten();
        let row = Row { test: item.test.name.clone(), verdicts, fabric: shown };
        bar.suspend(|| print(&row))?;
        runs += row.fabric.as_ref().map_or(0, |f| f.runs);
        wrong.extend(complaints(&row));
        rows.push(row);
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some((path, mut file)) = json {
        let written = serde_json::to_writer_pretty(&mut file, &rows)
            .map_err(anyhow::Error::from)
            .and_then(|()| writeln!(file).map_err(anyhow::Error::from))
            .and_then(|()| file.persist(path).map(|_| ()).map_err(anyhow::Error::from));
        written.with_context(|| format!("cannot write {}", path.display())).map_err(Failure::Check)?;
    }
    let count = rows.len();
    match wrong.first() {
        None if campaign.is_some() => say(format!("{count} tests, {runs} runs: no end that a model forbids")),
        None => say(format!("{count} tests: every verdict is the one stated")),
        Some(first) => Err(Failure::check(anyhow!("{} of {count} tests: {first}", wrong.len()))),
    }
}

fn campaign(args: &Args) -> Result<Option<Campaign>, Failure> {
    let Some(name) = &args.fabric else { return Ok(None) };
    let mut config = FabricConfig::load(name).map_err(Failure::input)?;
    match args.model {
        None => {}
        Some(Model::Drf(drf)) => {
            config.set(&format!("model={}", drf.level.name())).map_err(Failure::input)?;
            config.set(&format!("scopes={}", drf.scopes)).map_err(Failure::input)?;
        }
        Some(other) => {
            return Err(Failure::input(anyhow!(
                "--model {other} is the model of a language: no fabric keeps to it; with --fabric give sc, drf0, drf1 or drfrlx"
            )));
        }
    }
    for set in &args.set {
        config.set(set).map_err(Failure::input)?;
    }
    Campaign::new(&config).map(Some).map_err(sort)
}

fn sort(error: CampaignError) -> Failure {
    if error.is_input() { Failure::input(error) } else { Failure::check(error) }
}

/// Verdicts by enumeration, beside those stated.
fn verdicts(args: &Args, item: &Item) -> Result<Vec<Judged>, Failure> {
    let test = &item.test;
    let stated = |model: &Model| {
        let own = test.expect.iter().find(|(name, _)| *name == model.to_string());
        own.map(|(_, verdict)| *verdict).or(item.stated.filter(|_| Model::of(test.dialect) == Some(*model)))
    };
    let named = || test.expect.iter().map(|(name, _)| name.parse::<Model>());
    let models: Vec<Model> = match (args.model, Model::of(test.dialect)) {
        (Some(model), _) => vec![model],
        (None, Some(model)) => vec![model],
        (None, None) => named()
            .collect::<Result<_, _>>()
            .map_err(|e| Failure::input(anyhow!("{}: expect {e}", item.source)))?,
    };
    let judge = |model: Model| {
        let found = model.verdict(test, Bounds::default()).map_err(Failure::input)?;
        let stated = stated(&model).map(Verdict::name);
        Ok(Judged { model: model.to_string(), found: found.name(), stated })
    };
    models.into_iter().map(judge).collect()
}

/// A test on the fabric; nothing where it has no place for it.
fn on_fabric(c: &Campaign, item: &Item, plan: &Plan, bar: &ProgressBar) -> Result<Option<OnFabric>, Failure> {
    let test = &item.test;
    bar.tick();
    let report = match c.run(test, plan) {
        Err(CampaignError::Nowhere { .. }) => return Ok(None),
        other => other.map_err(sort)?,
    };
    let forbidden = report.forbidden().into_iter().map(|f| End {
        placement: f.placement.name(),
        layout: f.layout.name(),
        end: format!("{} (against {})", test.describe(&f.end), f.judge.name()),
        times: f.times,
    });
    Ok(Some(OnFabric {
        promised: report.promised.name(),
        runs: report.runs(),
        met: report.seen(|end| test.condition.holds(end)),
        weak: report.weak(),
        ends: ends(test, &report),
        forbidden: forbidden.collect(),
        never_seen: report.never_seen().into_iter().map(|end| test.describe(end)).collect(),
    }))
}

fn ends(test: &Test, report: &TestReport) -> Vec<End> {
    let of = |cell: &weft_conformance::Cell| {
        let (placement, layout) = (cell.placement.name(), cell.layout.name());
        let end =
            |(end, times): (&_, &u32)| End { placement, layout, end: test.describe(end), times: *times };
        cell.ends.iter().map(end).collect::<Vec<_>>()
    };
    report.cells.iter().flat_map(of).collect()
}

fn complaints(row: &Row) -> Option<String> {
    let verdict = row.verdicts.iter().find(|v| v.stated.is_some_and(|stated| stated != v.found));
    if let Some(v) = verdict {
        let (found, model, stated) = (v.found, &v.model, v.stated.unwrap_or_default());
        return Some(format!("{} is {found} under {model}, and {stated} is stated", row.test));
    }
    let bad = row.fabric.as_ref()?.forbidden.first()?;
    Some(format!(
        "{} ended {} times in a forbidden way, --placement {} --layout {}: {}",
        row.test, bad.times, bad.placement, bad.layout, bad.end
    ))
}

fn print(row: &Row) -> Outcome {
    let one = |v: &Judged| match v.stated {
        Some(stated) if stated != v.found => format!("{} {} ({stated} stated)", v.model, v.found),
        _ => format!("{} {}", v.model, v.found),
    };
    let verdicts = row.verdicts.iter().map(one).collect::<Vec<_>>().join(", ");
    let Some(f) = &row.fabric else { return say(format!("{:<28} {verdicts}", row.test)) };
    let never = match f.never_seen.len() {
        0 => String::new(),
        n => format!(", {n} allowed ends never seen"),
    };
    say(format!(
        "{:<28} {verdicts}; here {}, met by {} of {} runs, {} ends weak{never}",
        row.test, f.promised, f.met, f.runs, f.weak
    ))?;
    for end in &f.forbidden {
        let (placement, layout, times) = (end.placement, end.layout, end.times);
        say(format!("    forbidden, {times} times, {placement}, {layout}: {}", end.end))?;
    }
    Ok(())
}
