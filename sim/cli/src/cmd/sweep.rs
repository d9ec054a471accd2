//! `weft sweep`: many runs, several at a time, into one results file; then tables and pictures.

use crate::cluster::{self, ClusterArgs, Place, Work, tell_aside};
use crate::failure::{Failure, Outcome, say};
use crate::memory;
use crate::sweep::board::Board;
use crate::sweep::execute::execute;
use crate::sweep::file::SweepFile;
use crate::sweep::plan::{Plan, Run};
use crate::sweep::plot;
use crate::sweep::results::Results;
use crate::sweep::tier::Tier;
use anyhow::anyhow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Arguments of `weft sweep`.
#[derive(clap::Args)]
pub struct Args {
    /// A built-in sweep (see `weft list sweeps`) or a TOML file.
    sweep: String,
    /// Folder of the results, tables and pictures [default: sweep_out].
    #[arg(long, value_name = "DIR", default_value = "sweep_out", hide_default_value = true)]
    out: PathBuf,
    /// Runs at a time [default: the processor's cores, of a task one]; results do not depend on their number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Keeps results that are there aside under another name and begins anew.
    #[arg(long)]
    restart: bool,
    /// Size of fabric and inputs: the same question with another table of the sweep's file [default: as the file is].
    #[arg(long)]
    tier: Option<Tier>,
    /// Makes only the runs with these values of an axis; may be given several times. Its results are those of another sweep: give it another --out.
    #[arg(long, value_name = "AXIS=VALUE,...")]
    only: Vec<String>,
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Checks everything, prints the runs and their memory, or with --slurm the script, and ends.
    #[arg(long, conflicts_with_all = ["columns", "collect"])]
    dry_run: bool,
    /// Checks everything, prints the columns of the results with unit and meaning, and ends.
    #[arg(long)]
    columns: bool,
}

/// Runs the verb.
///
/// # Errors
/// A mistake in the sweep file or results of another sweep, before anything is run; at the end, runs that have failed.
pub fn run(args: &Args) -> Outcome {
    let mut sweep = SweepFile::load(&args.sweep).map_err(Failure::Input)?;
    if let Some(tier) = args.tier {
        sweep = sweep.into_tier(tier).map_err(Failure::Input)?;
    }
    for words in &args.only {
        sweep.keep_only(words).map_err(Failure::Input)?.iter().for_each(|note| eprintln!("{note}"));
    }
    let plan = Plan::new(sweep).map_err(Failure::Input)?;
    if args.columns {
        return columns(&plan);
    }
    if args.dry_run && !args.cluster.slurm {
        let mut own = plan.runs.iter().filter(|run| is_own(args, run));
        return own.try_for_each(|run| {
            say(format!("{:>4}  {}  ({} of memory)", run.number + 1, run.words(), memory::words(run.memory)))
        });
    }
    let path = args.out.join(format!("{}.csv", plan.sweep.name));
    if args.cluster.slurm {
        return submit(args, &plan, &path);
    }
    if args.cluster.collect {
        anything(&plan, &path)?;
    }
    folder(&args.out)?;
    let note = cluster::note(&path);
    let (mut results, aside) = args.cluster.open(&path, &plan, args.restart, &note)?;
    tell_aside(&aside)?;
    if !args.cluster.collect {
        make(args, &plan, &mut results)?;
    }
    if args.cluster.shard.is_some() {
        say(format!("results: {}", results.path().display()))?;
        return complete(&plan, &results, 0);
    }
    report(&plan, &results, &args.out)?;
    say(format!("results: {}", path.display()))?;
    complete(&plan, &results, results.rows().iter().filter(|row| row.is_none()).count())
}

/// Whether a run is one of this command.
fn is_own(args: &Args, run: &Run) -> bool {
    args.cluster.shard.is_none_or(|shard| shard.takes(run.number))
}

/// Refuses to collect nothing.
fn anything(plan: &Plan, path: &Path) -> Outcome {
    let rows = Results::look(path, plan).map_err(Failure::Input)?;
    match rows.iter().any(Option::is_some) {
        true => Ok(()),
        false => Err(Failure::input(anyhow!(
            "there are no results of {} in {}: give the folder in which its tasks make them by --out",
            plan.sweep.name,
            path.parent().unwrap_or(path).display()
        ))),
    }
}

/// Makes the runs that are missing: all, or those of a task.
fn make(args: &Args, plan: &Plan, results: &mut Results) -> Outcome {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let jobs = args.jobs.map_or(cores, usize::from);
    let board = Board::new(plan.sweep.by_workload(), jobs);
    let others = plan.runs.iter().filter(|run| !is_own(args, run));
    others.for_each(|run| board.was_there(&plan.sweep.workload(&run.labels)));
    let made = execute(plan, results, jobs, &|run| is_own(args, run), &board, &|_| Ok(()));
    board.finish();
    made.map_err(Failure::Check)?;
    results.sort().map_err(Failure::Check)
}

fn folder(out: &Path) -> Outcome {
    std::fs::create_dir_all(out).map_err(|e| {
        let dir = out.display();
        Failure::input(anyhow!("--out {dir}: cannot make this folder: {e}; give one that can be written"))
    })
}

/// Submits the runs that are missing as one job array.
fn submit(args: &Args, plan: &Plan, path: &Path) -> Outcome {
    let own = cluster::own()?;
    // A pipe is there for this process only.
    if std::fs::metadata(&args.sweep).is_ok_and(|found| !found.is_file()) {
        return Err(Failure::input(anyhow!(
            "{} is no file that tasks could read; give a file or a built-in sweep",
            args.sweep
        )));
    }
    let mut options = vec![own, "sweep".into(), format!("--out={}", cluster::word(&args.out)?)];
    options.extend(args.tier.map(|tier| format!("--tier={}", tier.name())));
    options.extend(args.only.iter().map(|only| format!("--only={only}")));
    let place = Place {
        script: path.with_extension("sbatch"),
        logs: path.with_extension("parts"),
        note: cluster::note(path),
        options,
        words: vec![args.sweep.clone()],
    };
    let numbers: Vec<usize> = (0..plan.runs.len()).collect();
    let jobs = args.jobs.map_or(1, usize::from);
    let mut work = Work::new(&args.cluster, args.restart, jobs, args.dry_run)?;
    work.add(plan, &numbers, &BTreeSet::new(), path)?;
    work.submit(&place, args.dry_run)
}

fn columns(plan: &Plan) -> Outcome {
    plan.columns.iter().try_for_each(|c| say(format!("{:<36} {:<14} {}", c.name, c.unit, c.about)))
}

/// Tables on standard output, pictures in the folder.
fn report(plan: &Plan, results: &Results, out: &Path) -> Outcome {
    let status = plan.column("status");
    let mut pictures = Vec::new();
    for summary in &plan.summaries {
        let panels = summary.panels(&plan.sweep, results.rows(), status);
        for panel in &panels {
            say(summary.text(&plan.sweep, panel))?;
        }
        pictures.extend(plot::draw(&plan.sweep, summary, &panels, out).map_err(Failure::Check)?);
    }
    for contest in &plan.contests {
        contest.texts(&plan.sweep, results.rows(), status).into_iter().try_for_each(say)?;
    }
    pictures.iter().try_for_each(|path| say(format!("picture: {}", path.display())))
}

/// The failure of a sweep in which a run has failed, a result is wrong, or runs are missing.
fn complete(plan: &Plan, results: &Results, missing: usize) -> Outcome {
    let (status, error) = (plan.column("status"), plan.column("error"));
    let failed: Vec<_> = plan
        .runs
        .iter()
        .filter_map(|run| Some((run, results.rows()[run.number].as_ref()?)))
        .filter(|(_, cells)| cells[status] != "ok")
        .collect();
    let all = plan.runs.len();
    let first = failed.first().map(|(run, cells)| {
        format!(
            "{} of {all} runs failed, the first is run {} ({}): {}; see status and error in {}",
            failed.len(),
            run.number + 1,
            run.words(),
            cells[error],
            results.path().display()
        )
    });
    let missing = (missing > 0).then(|| {
        format!(
            "{missing} of {all} runs are missing: wait for the tasks that make them, or make them here by the same command without --collect"
        )
    });
    let words: Vec<String> = first.into_iter().chain(missing).collect();
    if words.is_empty() { Ok(()) } else { Err(Failure::check(anyhow!(words.join("; ")))) }
}
