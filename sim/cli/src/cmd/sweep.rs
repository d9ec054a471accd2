//! `weft sweep`: many runs, several at a time, into one results file; then tables and pictures.

use crate::failure::{Failure, Outcome, say};
use crate::sweep::board::Board;
use crate::sweep::execute::execute;
use crate::sweep::file::SweepFile;
use crate::sweep::plan::Plan;
use crate::sweep::plot;
use crate::sweep::results::Results;
use anyhow::anyhow;
use std::path::{Path, PathBuf};

/// Arguments of `weft sweep`.
#[derive(clap::Args)]
pub struct Args {
    /// A built-in sweep (see `weft list sweeps`) or a TOML file.
    sweep: String,
    /// Folder of the results, tables and pictures [default: sweep_out].
    #[arg(long, value_name = "DIR", default_value = "sweep_out", hide_default_value = true)]
    out: PathBuf,
    /// Runs at a time [default: the processor's cores]; results do not depend on their number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Keeps results that are there aside under another name and begins anew.
    #[arg(long)]
    restart: bool,
    /// Makes the quick variant of the sweep, if it has one: the same question at a smaller size.
    #[arg(long)]
    quick: bool,
    /// Makes only the runs with these values of an axis; may be given several times. Its results are those of another sweep: give it another --out.
    #[arg(long, value_name = "AXIS=VALUE,...")]
    only: Vec<String>,
    /// Checks everything, prints the runs and ends.
    #[arg(long, conflicts_with = "columns")]
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
    if args.quick {
        sweep = sweep.into_quick().map_err(Failure::Input)?;
    }
    for words in &args.only {
        sweep.keep_only(words).map_err(Failure::Input)?.iter().for_each(|note| eprintln!("{note}"));
    }
    let plan = Plan::new(sweep).map_err(Failure::Input)?;
    if args.columns {
        return columns(&plan);
    }
    if args.dry_run {
        return plan.runs.iter().try_for_each(|run| say(format!("{:>4}  {}", run.number + 1, run.words())));
    }
    std::fs::create_dir_all(&args.out).map_err(|e| {
        let dir = args.out.display();
        Failure::input(anyhow!("--out {dir}: cannot make this folder: {e}; give one that can be written"))
    })?;
    let path = args.out.join(format!("{}.csv", plan.sweep.name));
    let (mut results, aside) = Results::open(&path, &plan, args.restart).map_err(Failure::Input)?;
    if let Some(aside) = aside {
        say(format!("kept aside: {}", aside.display()))?;
    }
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let jobs = args.jobs.map_or(cores, usize::from);
    let board = Board::new(plan.sweep.by_workload(), jobs);
    let made = execute(&plan, &mut results, jobs, &|_| true, &board);
    board.finish();
    made.map_err(Failure::Check)?;
    results.sort().map_err(Failure::Check)?;
    report(&plan, &results, &args.out)?;
    say(format!("results: {}", path.display()))?;
    failures(&plan, &results, &path)
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

/// The failure of a sweep in which a run has failed or a result is wrong.
fn failures(plan: &Plan, results: &Results, path: &Path) -> Outcome {
    let (status, error) = (plan.column("status"), plan.column("error"));
    let failed: Vec<_> = plan
        .runs
        .iter()
        .filter_map(|run| Some((run, results.rows()[run.number].as_ref()?)))
        .filter(|(_, cells)| cells[status] != "ok")
        .collect();
    let Some((run, cells)) = failed.first() else { return Ok(()) };
    Err(Failure::check(anyhow!(
        "{} of {} runs failed, the first is run {} ({}): {}; see status and error in {}",
        failed.len(),
        plan.runs.len(),
        run.number + 1,
        run.words(),
        cells[error],
        path.display()
    )))
}
