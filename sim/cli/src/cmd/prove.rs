//! `weft prove`: a block's assertions, by bounded model checking and k-induction.

mod record;

use crate::failure::{Failure, Outcome, say};
use crate::output;
use crate::params::BlockArgs;
use crate::signals::{self, Graceful};
use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use record::{Asked, Record};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;
use weft_tools::external::ToolError;
use weft_tools::formal::{ProveError, ProveOptions, ProveReport, Solver, Verdict, prove};

/// Arguments of `weft prove`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    block: BlockArgs,
    /// Cycles after reset in which assertions are checked.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    depth: u32,
    /// Also k-induction, over at most K cycles.
    #[arg(long, value_name = "K", num_args = 0..=1, require_equals = true, default_missing_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    induction: Option<u32>,
    /// What decides the formulas.
    #[arg(long, value_enum, default_value = "yices")]
    solver: Decider,
    /// Time for each of reachability, bounded check and induction.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    limit: u64,
    /// Solvers at a time, each with a share of the assertions.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Keeps what is known in this CSV file, and does nothing that is in it already.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The trace of the first failure, as VCD.
    #[arg(long, value_name = "FILE")]
    waves: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Names of solvers.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Decider {
    Yices,
    Z3,
    Bitwuzla,
    Boolector,
}

impl Decider {
    fn solver(self) -> Solver {
        match self {
            Decider::Yices => Solver::Yices,
            Decider::Z3 => Solver::Z3,
            Decider::Bitwuzla => Solver::Bitwuzla,
            Decider::Boolector => Solver::Boolector,
        }
    }
}

/// Runs the verb.
///
/// # Errors
/// A wrong block or parameter, a missing tool, a file that cannot be written; an assertion that fails; time that was up.
pub fn run(args: &Args) -> Outcome {
    let module = args.block.build()?;
    if let Some((name, key, value)) = weft_catalog::simulation_only(&module) {
        return Err(Failure::input(anyhow!(
            "module {name} is for simulation only ({key} = {value}) and is not exported; choose another value"
        )));
    }
    args.waves.iter().try_for_each(|path| output::check("--waves", path))?;
    let asked = Asked {
        block: args.block.block.clone(),
        parameters: args.block.params.join(" "),
        digest: weft_tools::formal::digest(&module),
        depth: args.depth,
        induction: args.induction.unwrap_or(0),
        solver: args.solver.solver().name().into(),
        limit: args.limit,
    };
    let record = args.record.as_deref().map(Record::read).transpose()?;
    if let Some(rows) = record.as_ref().and_then(|record| record.answers(&asked)) {
        return say(format!("{}: in the record, with {rows} assertions", args.block.words()));
    }
    let scratch = weft_output::Scratch::new().map_err(Failure::check)?;
    let options = ProveOptions {
        depth: args.depth,
        induction: args.induction,
        solver: args.solver.solver(),
        limit: Duration::from_secs(args.limit),
        jobs: args.jobs.into(),
        workdir: scratch.path().to_path_buf(),
        stop: signals::flag(),
    };
    let report = {
        let _graceful = Graceful::new();
        let bar = bar();
        let report = prove(&module, &options, &|phase, step| {
            bar.set_message(format!("{phase}, step {step}"));
        });
        bar.finish_and_clear();
        report.map_err(failure)?
    };
    if let Some(signal) = signals::asked() {
        return Err(Failure::signal(signal, "nothing was recorded"));
    }
    if let Some(record) = record {
        record.with(&asked, &report).write()?;
    }
    let waves = keep_trace(args, &report)?;
    print(args, &report)?;
    judge(&report, &waves)
}

/// What the user has to put right is status 2, what the hardware or a tool has done is 1.
fn failure(error: ProveError) -> Failure {
    match error {
        ProveError::Nothing { .. }
        | ProveError::Tool(ToolError::Missing { .. } | ToolError::Variable { .. }) => Failure::input(error),
        _ => Failure::check(error),
    }
}

/// Shows on a terminal which phase is at which step.
fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
    let bar = ProgressBar::new_spinner().with_style(style.expect("a template that is right"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Puts the trace of the first failure where `--waves` wants it; what is said of it.
fn keep_trace(args: &Args, report: &ProveReport) -> Result<String, Failure> {
    let (Some(path), Some(trace)) = (&args.waves, &report.trace) else {
        let failed = report.trace.is_some();
        return Ok(if failed { "; --waves FILE keeps its trace".into() } else { String::new() });
    };
    let bytes = std::fs::read(trace).map_err(Failure::check)?;
    let mut file = output::begin("--waves", path)?;
    file.write_all(&bytes).map_err(|cause| Failure::check(file.failed(&cause)))?;
    file.commit().map_err(Failure::check)?;
    Ok(format!("; its trace is in {}", path.display()))
}

fn print(args: &Args, report: &ProveReport) -> Outcome {
    if args.json {
        return say(serde_json::to_string_pretty(report).map_err(Failure::check)?);
    }
    let widest = report.assertions.iter().map(|a| a.name.len()).max().unwrap_or(0);
    for assertion in &report.assertions {
        say(format!("{:widest$}  {}", assertion.name, assertion.verdict))?;
    }
    let idle: Vec<&str> =
        report.channels.iter().filter(|(_, cycle)| cycle.is_none()).map(|(name, _)| name.as_str()).collect();
    if !report.reaches {
        say("time was up before a run to the bound was found: that the assumptions allow one is not shown")?;
    }
    if !idle.is_empty() {
        say(format!("no message passes these channels within the bound: {}", idle.join(", ")))?;
    }
    let count =
        |wanted: fn(&Verdict) -> bool| report.assertions.iter().filter(|a| wanted(&a.verdict)).count();
    say(format!(
        "{}: {} proved, {} hold for {} cycles, {} failed, {} unknown; {} of {} channels carry messages; {}",
        args.block.words(),
        count(|v| matches!(v, Verdict::Proved { .. })),
        count(|v| matches!(v, Verdict::Bounded { .. })),
        args.depth,
        count(|v| matches!(v, Verdict::Failed { .. })),
        count(|v| matches!(v, Verdict::Unknown { .. })),
        report.channels.len() - idle.len(),
        report.channels.len(),
        args.solver.solver().name()
    ))
}

/// The status: 1 for a failed assertion, 3 where time was up.
fn judge(report: &ProveReport, waves: &str) -> Outcome {
    let first = |wanted: fn(&Verdict) -> bool| report.assertions.iter().find(|a| wanted(&a.verdict));
    if let Some(failed) = report
        .assertions
        .iter()
        .filter_map(|a| match a.verdict {
            Verdict::Failed { cycle } => Some((cycle, &a.name)),
            _ => None,
        })
        .min()
    {
        let (cycle, name) = failed;
        let module = &report.module;
        return Err(Failure::check(anyhow!(
            "{module}: assertion {name} fails in cycle {cycle} after reset{waves}"
        )));
    }
    match first(|v| matches!(v, Verdict::Unknown { .. })) {
        Some(unknown) => Err(Failure::Partial(anyhow!(
            "{}: time was up before the bound for {} ({}); give more with --limit",
            report.module,
            unknown.name,
            unknown.verdict
        ))),
        None => Ok(()),
    }
}
