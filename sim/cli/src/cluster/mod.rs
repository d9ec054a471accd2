//! Sweeps and reproductions on several machines: tasks that share the runs ([`Shard`]), submitted to Slurm as one job array.
//!
//! Each task makes its share of the list of all runs and writes a file of its own beside the results; whoever opens the results next, for
//! a sweep on one machine or to collect them, takes in what the tasks have made. A task that was killed has lost the run that it was at: it goes on
//! when it is started again, by Slurm or by the next submission, which asks for tasks that have runs left only.

mod estimate;
mod slurm;

use crate::failure::{Failure, Outcome, say};
use crate::graph::bytes;
use crate::sweep::plan::Plan;
use crate::sweep::results::{self, Purpose, Results};
use crate::sweep::shard::Shard;
use anyhow::anyhow;
use estimate::Estimator;
use slurm::Job;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Arguments of commands whose runs several machines can share.
#[derive(clap::Args)]
pub struct ClusterArgs {
    /// Makes only every Nth run, from run I on, as one of N tasks that any scheduler may start: each writes a file of its own beside the results.
    #[arg(long, value_name = "I/N", conflicts_with_all = ["slurm", "collect", "restart"])]
    pub shard: Option<Shard>,
    /// Makes no run: puts what tasks have made into the results, then tables and pictures.
    #[arg(long, conflicts_with_all = ["slurm", "restart"])]
    pub collect: bool,
    /// Writes one script for a job array that makes the runs, and submits it by sbatch.
    #[arg(long)]
    pub slurm: bool,
    /// Tasks of the array [default: one for each run, at most 1000].
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    array: Option<u32>,
    /// Partition of the cluster [default: the cluster's own].
    #[arg(long, value_name = "P", requires = "slurm", value_parser = partition)]
    partition: Option<String>,
    /// Longest time of a task, as sbatch takes it: minutes, H:M:S or D-H [default: the partition's].
    #[arg(long, value_name = "T", requires = "slurm", value_parser = time)]
    time: Option<String>,
    /// Memory of a task, in bytes or with K, M, G [default: an estimate from some thousand cycles of each run; with it there is no estimate].
    #[arg(long, value_name = "SIZE", requires = "slurm", value_parser = bytes)]
    mem: Option<u64>,
}

/// Most tasks of an array unless told: a cluster takes 1000 if it is not configured otherwise.
const TASKS: usize = 1000;

/// A partition's name, or several.
fn partition(text: &str) -> Result<String, String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || "_-.,".contains(c);
    match !text.is_empty() && text.chars().all(legal) {
        true => Ok(text.into()),
        false => Err("give names of partitions, with commas between them; `sinfo` shows all".into()),
    }
}

/// A time in one of the forms of sbatch.
fn time(text: &str) -> Result<String, String> {
    let digits = text.chars().any(|c| c.is_ascii_digit());
    let number = digits && text.chars().all(|c| c.is_ascii_digit() || ":-".contains(c));
    match number || ["UNLIMITED", "INFINITE"].contains(&text) {
        true => Ok(text.into()),
        false => Err("give minutes, HOURS:MINUTES:SECONDS, DAYS-HOURS or UNLIMITED".into()),
    }
}

impl ClusterArgs {
    /// For what the results are opened.
    pub fn purpose(&self, restart: bool) -> Purpose {
        match (self.collect, restart) {
            (true, _) => Purpose::Collect,
            (_, true) => Purpose::Restart,
            _ => Purpose::GoOn,
        }
    }

    /// Opens the results for the runs of this command: those of a task, or all. Gives what was renamed.
    ///
    /// # Errors
    /// As [`Results::open`]; results that are to be begun anew while a job makes more of them.
    pub fn open(
        &self,
        path: &Path,
        plan: &Plan,
        restart: bool,
        note: &Path,
    ) -> Result<(Results, Vec<PathBuf>), Failure> {
        if let Some(shard) = self.shard {
            return Ok((Results::of_task(path, plan, shard).map_err(Failure::Input)?, Vec::new()));
        }
        if restart {
            nobody_submits(note)?;
        }
        Results::open(path, plan, self.purpose(restart)).map_err(Failure::Input)
    }
}

/// The runs that a job array is to make.
pub struct Work<'a> {
    args: &'a ClusterArgs,
    /// Begins all of them anew.
    restart: bool,
    /// Runs at a time in a task.
    jobs: usize,
    /// Runs in all.
    total: usize,
    /// Places in the list of all runs of those that have no row.
    missing: Vec<usize>,
    /// Files of results.
    paths: Vec<PathBuf>,
    estimator: Option<Estimator>,
}

/// What is submitted: where the script and the job's number are kept, and the command that tasks run, as options and what stands behind them.
pub struct Place {
    /// The script, beside the results.
    pub script: PathBuf,
    /// The folder of what tasks print.
    pub logs: PathBuf,
    /// The number of the job that was submitted last.
    pub note: PathBuf,
    /// Program, verb and options.
    pub options: Vec<String>,
    /// Behind the options.
    pub words: Vec<String>,
}

impl<'a> Work<'a> {
    /// No runs yet.
    ///
    /// # Errors
    /// No Slurm.
    pub fn new(
        args: &'a ClusterArgs,
        restart: bool,
        jobs: usize,
        dry_run: bool,
    ) -> Result<Work<'a>, Failure> {
        if !dry_run {
            slurm::is_there()?;
        }
        let (missing, paths) = (Vec::new(), Vec::new());
        let estimator = args.mem.is_none().then(Estimator::new);
        Ok(Work { args, restart, jobs, total: 0, missing, paths, estimator })
    }

    /// Adds these runs of a plan, whose results are at `path`, at the end of the list; the `known` ones among them
    /// need not be made. Writes nothing.
    ///
    /// # Errors
    /// As [`Results::look`].
    pub fn add(&mut self, plan: &Plan, numbers: &[usize], known: &BTreeSet<usize>, path: &Path) -> Outcome {
        let mut left = match self.restart {
            true => numbers.to_vec(),
            false => Results::left(path, plan, numbers).map_err(Failure::Input)?,
        };
        left.retain(|number| !known.contains(number));
        let places = numbers.iter().enumerate().filter(|(_, number)| left.contains(number));
        self.missing.extend(places.map(|(place, _)| self.total + place));
        self.total += numbers.len();
        self.paths.push(path.to_path_buf());
        if let Some(estimator) = &mut self.estimator {
            estimator.sample(plan, &left);
        }
        Ok(())
    }

    /// Writes the script and submits it, or prints it.
    ///
    /// # Errors
    /// A job that is still at work, no Slurm, a job that it refuses: then nothing has changed.
    pub fn submit(self, place: &Place, dry_run: bool) -> Outcome {
        let Work { args, restart, jobs, total, missing, paths, estimator } = self;
        if missing.is_empty() {
            tell("no run is left to be made; --collect makes the tables");
            return Ok(());
        }
        let estimate = estimator.map(Estimator::end);
        estimate.iter().for_each(tell);
        let tasks = args.array.map_or(total.min(TASKS), |n| n as usize);
        let mut shards: Vec<usize> = missing.iter().map(|place| place % tasks + 1).collect();
        shards.sort_unstable();
        shards.dedup();
        let script = Job {
            shards: &shards,
            tasks,
            jobs,
            memory: estimate.map_or(args.mem.unwrap_or_default(), |estimate| estimate.memory(jobs)),
            partition: args.partition.as_deref(),
            time: args.time.as_deref(),
            place,
        };
        let script = script.script().map_err(Failure::Input)?;
        if dry_run {
            return say(script.trim_end());
        }
        let before = || -> Result<Vec<PathBuf>, Failure> {
            if !restart {
                return Ok(Vec::new());
            }
            // All are asked before the first is renamed.
            paths.iter().try_for_each(|path| results::free(path)).map_err(Failure::Input)?;
            let renamed: Result<Vec<_>, _> = paths.iter().map(|path| results::begin_anew(path)).collect();
            Ok(renamed.map_err(Failure::Input)?.concat())
        };
        let (id, renamed) = slurm::submit(place, &script, &before)?;
        tell_aside(&renamed)?;
        say(format!("script: {}", place.script.display()))?;
        say(format!(
            "job {id}: {} tasks make {} of {total} runs; `squeue -j {id}` shows them, --collect makes tables of what is there",
            shards.len(),
            missing.len()
        ))
    }
}

/// A path as a word of a command.
///
/// # Errors
/// A name that is no text, which no script can hold as it is.
pub fn word(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(String::from);
    text.ok_or_else(|| {
        Failure::input(anyhow!("{} has a name that is no UTF-8 text; rename it", path.display()))
    })
}

/// This program, as a node of the cluster starts it.
///
/// # Errors
/// A program that is not where it was started from.
pub fn own() -> Result<String, Failure> {
    let own = std::env::current_exe().map_err(Failure::check)?;
    match own.is_file() {
        true => word(&own),
        false => Err(Failure::input(anyhow!(
            "this program's file is gone ({}); give the command again with the one that is there now",
            own.display()
        ))),
    }
}

/// Fails while a job makes these results, or somebody submits one.
///
/// # Errors
/// That it is so; Slurm that does not tell.
pub fn nobody_submits(note: &Path) -> Outcome {
    slurm::free(note, false).map(drop)
}

/// Says what was renamed.
///
/// # Errors
/// Standard output that is gone.
pub fn tell_aside(renamed: &[PathBuf]) -> Outcome {
    renamed.iter().try_for_each(|path| say(format!("kept aside: {}", path.display())))
}

/// Says something beside the output, where somebody listens.
fn tell(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Where the number of the job is kept that was submitted last for a sweep's results.
pub fn note(results: &Path) -> PathBuf {
    results.with_extension("job")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_scheduler_takes_is_taken_and_other_words_are_not() {
        assert!(["all", "gpu-a,gpu_b", "p.1"].iter().all(|text| partition(text).is_ok()));
        assert!(["", "a b", "a\n#SBATCH --wrap=x", "$(x)"].iter().all(|text| partition(text).is_err()));
        assert!(["30", "1:00:00", "2-12"].iter().all(|text| time(text).is_ok()));
        assert!(["", ":", "1h", "1 0"].iter().all(|text| time(text).is_err()));
    }
}
