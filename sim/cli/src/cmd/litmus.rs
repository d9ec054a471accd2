//! `weft litmus`: small tests of memory models, by enumeration and on fabrics.

mod row;
pub mod source;

use crate::failure::{Failure, Outcome, say};
use crate::output;
use crate::signals::{self, Graceful};
use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use row::{End, Judged, OnFabric, Row};
use source::{Item, Unread};
use std::path::PathBuf;
use weft_conformance::{Campaign, CampaignError, Plan, TestReport};
use weft_fabric::config::FabricConfig;
use weft_litmus::model::Model;
use weft_litmus::model::drf::{Drf, Level};
use weft_litmus::paths::Bounds;
use weft_litmus::program::{Layout, Placement};
use weft_litmus::test::{Test, Verdict};

/// What conditions mean, and the exit status.
const MEANING: &str = "\
`exists` asks whether some end meets the condition: it is allowed or forbidden. `~exists` states that none does, \
`forall` that all do: the condition holds, or it does not hold, and an end shows it. An expected.csv in a folder \
(columns file, verdict) and `expect` in a test of Weft's own format state verdicts, too, and come before what the \
condition states.\n\n\
Exit status: 1 if a condition or a stated verdict does not hold, or a fabric shows an end that its model forbids; \
2 if the command is wrong or nothing could be read; 3 if everything that could be read is right, and some tests of a \
folder could not be read (0 with --skip-unread).";

/// Arguments of `weft litmus`.
#[derive(clap::Args)]
#[command(after_help = MEANING)]
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
    /// Model of the enumeration: ptx, armv8, rc11, rc11-scopes (RC11 with OpenCL's scopes), opencl (OpenCL
    /// 2.0 as repaired at POPL 2016), scoped-rmo, sc, drf0, drf1, drfrlx (the last three also with +scopes);
    /// without it that of each test's language, or of Weft's own tests those that they name, else drf0, drf1
    /// and drfrlx. With --fabric, sc, drf0, drf1 or drfrlx, which the fabric's CUs keep to.
    #[arg(long, value_name = "MODEL")]
    model: Option<Model>,
    /// Where threads are: cu (all on one), cus (of one GPM), gpms (of one GPU), gpus, cpu (cores and CUs in turns); may be given several times. All, by default.
    #[arg(long, value_name = "PLACEMENT", requires = "fabric")]
    placement: Vec<Placement>,
    /// Where locations are: lines (each in one of its own), line (all in one), set (in lines of one set), page (data in one page,
    /// flags in another), data (those of plain accesses in one line, the others each in one of its own); may be given several
    /// times. The first three, by default.
    #[arg(long, value_name = "LAYOUT", requires = "fabric")]
    layout: Vec<Layout>,
    /// Runs of each test, over all placements and layouts.
    #[arg(long, default_value_t = 1000, requires = "fabric", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    runs: u32,
    /// Runs of a test that are lanes of one wave, each with locations of its own, at most; 1: every run has waves of its own.
    #[arg(long, default_value_t = 1, requires = "fabric", value_parser = clap::value_parser!(u32).range(1..=64))]
    lanes: u32,
    /// Runs (with --lanes, waves of runs) at a time, at most; 0: as many as find room. Few: releases do not wait for each other's
    /// fences.
    #[arg(long, default_value_t = 0, requires = "fabric", value_name = "RUNS")]
    together: u32,
    /// Most ticks before an operation.
    #[arg(long, default_value_t = 64, requires = "fabric", value_name = "TICKS")]
    delay: u32,
    /// Most operations of waves beside the test that keep caches and network busy; 0: there are none.
    #[arg(long, default_value_t = 48, requires = "fabric", value_name = "OPERATIONS")]
    traffic: u32,
    /// Seed of places, delays and stale copies.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Tests of a folder that cannot be read are told and counted, and do not change the exit status.
    #[arg(long)]
    skip_unread: bool,
    /// Writes all results to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs the verb.
///
/// # Errors
/// Wrong input; a verdict other than the one stated; an end that a model forbids.
pub fn run(args: &Args) -> Outcome {
    let source::Items { tests: items, mut unread, folder } = source::items(&args.tests)?;
    let json = args.json.as_deref().map(|path| output::begin("--json", path)).transpose()?;
    let campaign = campaign(args)?;
    let plan = Plan {
        runs: args.runs,
        lanes: args.lanes,
        together: args.together,
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
    for file in &unread {
        say(format!("not read: {}", file.words()))?;
    }
    let (mut rows, mut left_out, mut stopped) = (Vec::new(), None, None);
    // Verdicts alone are made again in no time.
    let _graceful = (campaign.is_some() || json.is_some()).then(Graceful::new);
    for item in &items {
        bar.set_message(item.test.name.clone());
        let judged = judge(args, item, campaign.as_ref(), &plan, &bar, &mut left_out);
        stopped = signals::asked();
        if stopped.is_some() {
            break;
        }
        match judged {
            Ok(row) => {
                bar.suspend(|| row.print())?;
                rows.push(row);
            }
            Err(Failure::Input(e)) if folder => {
                let file = Unread { file: item.source().into(), line: None, reason: format!("{e:#}") };
                bar.suspend(|| say(format!("not judged: {}", file.words())))?;
                unread.push(file);
            }
            Err(other) => return Err(other),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let kept = json.as_ref().map(|file| file.path().display().to_string());
    if let Some(file) = json {
        let all: Vec<Row> = unread.iter().map(|file| Row::unread(file.clone())).collect();
        let all: Vec<&Row> = rows.iter().chain(&all).collect();
        output::json(&all, file).map_err(Failure::Check)?;
    }
    if let Some(signal) = stopped {
        let done = format!("{} of {} tests were judged", rows.len(), items.len());
        let told = kept.map_or(done.clone(), |kept| format!("{done}, and {kept} holds these"));
        return Err(Failure::signal(signal, &told));
    }
    if let Some(why) = left_out.filter(|_| rows.iter().all(|row| row.fabric.is_none())) {
        return Err(Failure::input(why));
    }
    conclude(args, &rows, &unread)
}

/// All about one test; why the first one has no place on the fabric is left in `left_out`.
fn judge(
    args: &Args,
    item: &Item,
    campaign: Option<&Campaign>,
    plan: &Plan,
    bar: &ProgressBar,
    left_out: &mut Option<CampaignError>,
) -> Result<Row, Failure> {
    let verdicts = verdicts(args, item)?;
    let shown = campaign.map(|c| on_fabric(c, item, plan, bar)).transpose()?;
    let fabric = shown.and_then(|shown| match shown {
        Ok(shown) => Some(shown),
        Err(why) => {
            left_out.get_or_insert(why);
            None
        }
    });
    Ok(Row { test: item.test.name.clone(), file: item.file.clone(), verdicts, fabric, unread: None })
}

/// The last sentence, and the status.
fn conclude(args: &Args, rows: &[Row], unread: &[Unread]) -> Outcome {
    let count = rows.len();
    let wrong: Vec<String> = rows.iter().filter_map(Row::complaint).collect();
    if let Some(first) = wrong.first() {
        let left =
            if unread.is_empty() { String::new() } else { format!("; {} could not be read", unread.len()) };
        return Err(Failure::check(anyhow!("{} of {count} tests: {first}{left}", wrong.len())));
    }
    let runs: u64 = rows.iter().filter_map(|row| row.fabric.as_ref()).map(|f| f.runs).sum();
    let stated = rows.iter().filter(|row| row.states()).count();
    if count > 0 {
        let said = match stated {
            _ if args.fabric.is_some() => format!("{runs} runs: no end that a model forbids"),
            0 => "no verdict is stated".into(),
            all if all == count => "every verdict is the one stated".into(),
            some => format!("every verdict is the one stated, by {some} of them"),
        };
        let joint = if args.fabric.is_some() { "," } else { ":" };
        say(format!("{count} tests{joint} {said}"))?;
    }
    match Unread::failure(unread, count) {
        Some(Failure::Partial(_)) if args.skip_unread => {
            say(format!("{} more could not be read", unread.len()))
        }
        Some(failure) => Err(failure),
        None => Ok(()),
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
    Campaign::new(&config).map(|campaign| Some(campaign.stopped_by(signals::flag()))).map_err(sort)
}

fn sort(error: CampaignError) -> Failure {
    if error.is_input() { Failure::input(error) } else { Failure::check(error) }
}

/// What is stated of a test under a model: by itself, by the list beside it, or by its condition.
fn stated(item: &Item, model: Model) -> Option<Verdict> {
    let own = item.test.expect.iter().find(|(name, _)| *name == model.to_string());
    let listed = item.stated.filter(|_| Model::of(item.test.dialect) == Some(model));
    own.map(|(_, verdict)| *verdict).or(listed).or(item.test.quantifier.states())
}

/// Verdicts by enumeration, beside those stated.
fn verdicts(args: &Args, item: &Item) -> Result<Vec<Judged>, Failure> {
    let test = &item.test;
    let named = || test.expect.iter().map(|(name, _)| name.parse::<Model>());
    let models: Vec<Model> = match (args.model, Model::of(test.dialect)) {
        (Some(model), _) => vec![model],
        (None, Some(model)) => vec![model],
        (None, None) if test.expect.is_empty() && args.fabric.is_none() => {
            [Level::Drf0, Level::Drf1, Level::DrfRlx].map(|level| Model::Drf(Drf::flat(level))).to_vec()
        }
        (None, None) => named()
            .collect::<Result<_, _>>()
            .map_err(|e| Failure::input(anyhow!("{}: expect {e}", item.source())))?,
    };
    let judge = |model: Model| {
        let ends = model.ends(test, Bounds::default()).map_err(Failure::input)?;
        let broken_by = test.broken_by(&ends).map(|end| test.describe(end));
        Ok(Judged {
            model: model.to_string(),
            found: test.judge(&ends).name(),
            stated: stated(item, model).map(Verdict::name),
            holds: test.quantifier.states().map(|_| broken_by.is_none()),
            broken_by,
            ends: ends.len(),
        })
    };
    models.into_iter().map(judge).collect()
}

/// A test on the fabric, or why it has no place for it.
fn on_fabric(
    c: &Campaign,
    item: &Item,
    plan: &Plan,
    bar: &ProgressBar,
) -> Result<Result<OnFabric, CampaignError>, Failure> {
    let test = &item.test;
    bar.tick();
    let report = match c.run(test, plan) {
        Err(why @ (CampaignError::Nowhere { .. } | CampaignError::Remote { .. })) => return Ok(Err(why)),
        other => other.map_err(sort)?,
    };
    let forbidden = report.forbidden().into_iter().map(|f| End {
        placement: f.placement.name(),
        layout: f.layout.name(),
        end: format!("{} (against {})", test.describe(&f.end), f.judge.name()),
        times: f.times,
    });
    Ok(Ok(OnFabric {
        promised: report.promised.name(),
        runs: report.runs(),
        met: report.seen(|end| test.meets(end)),
        weak: report.weak(),
        ends: ends(test, &report),
        broken: broken(item, &report),
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

/// Ends of which the condition says that there are none, unless the test or the list beside it says more than
/// that.
fn broken(item: &Item, report: &TestReport) -> Vec<End> {
    let test = &item.test;
    if item.stated.is_some() || !test.expect.is_empty() {
        return Vec::new();
    }
    let of = |cell: &weft_conformance::Cell| {
        let (placement, layout) = (cell.placement.name(), cell.layout.name());
        let bad = cell.ends.iter().filter(|(end, _)| test.broken_by([*end]).is_some());
        bad.map(|(end, times)| End { placement, layout, end: test.describe(end), times: *times })
            .collect::<Vec<_>>()
    };
    report.cells.iter().flat_map(of).collect()
}
