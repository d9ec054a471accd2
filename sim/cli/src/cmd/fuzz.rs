//! `weft fuzz`: readers, given what no writer writes.

use crate::failure::{Failure, Outcome, say};
use crate::fuzz::targets;
use crate::signals::{self, Graceful};
use crate::{cmd::stress::whole, output};
use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use weft_fuzz::Target;
use weft_fuzz::drive::{Found, Outcome as Became, Plan, RATIO, campaign, read};
use weft_fuzz::record::{self, Row};

/// What is done, what is a fault, and the exit status.
const MEANING: &str = "\
Inputs are made from sound ones: words, numbers and lines of texts, fields of binary files are changed, then lengths and checksums are made \
fit again. A reader is to accept, or to refuse with one sentence. A fault is a panic, more processor time than --limit, more memory than ten \
times the input beside the constant of its target (--list), or a refusal of no sentence or several lines. Each is made small and \
written to --out; of a hang it is the input as it was. A fault that ends this program leaves its input there, too, as \
fuzz-TARGET-current.\n\n\
Exit status: 0 if nothing failed; 1 if a reader failed; 2 if the command is wrong.";

/// Arguments of `weft fuzz`.
#[derive(clap::Args)]
#[command(after_help = MEANING)]
pub struct Args {
    /// Readers; all, if none is given.
    targets: Vec<String>,
    /// Prints all targets, with the bytes that each may allocate whatever the size of the input.
    #[arg(long)]
    list: bool,
    /// Inputs of each target; 1e6 is a million.
    #[arg(long, value_name = "N", default_value = "1e5", value_parser = whole)]
    inputs: u64,
    /// Seed of everything drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Seconds for each target, after which its campaign ends.
    #[arg(long, value_name = "SECONDS")]
    budget: Option<u64>,
    /// Seconds of processor time that an input may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    limit: u64,
    /// Targets at a time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: u32,
    /// Folder with inputs of each target in a folder of its name: they are read first, and changed like
    /// seeds.
    #[arg(long, value_name = "FOLDER")]
    corpus: Option<PathBuf>,
    /// Table of campaigns, to which these are added, each in the place of an earlier one of its target.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Only this input, to one target: what its reader says.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["inputs", "budget", "record", "corpus", "jobs"])]
    input: Option<PathBuf>,
    /// Folder for inputs that fail.
    #[arg(long, value_name = "FOLDER", default_value = "vcd_out")]
    out: PathBuf,
}

/// How often the progress is shown.
const SHOWN: Duration = Duration::from_millis(200);

/// Runs the verb.
///
/// # Errors
/// A target that there is not, a folder that cannot be read or written; a reader that fails.
pub fn run(args: &Args) -> Outcome {
    let all = targets();
    if args.list {
        return all.iter().try_for_each(|target| {
            say(format!("{:20} {:>8}  {}", target.name, target.constant, target.about))
        });
    }
    let wanted = wanted(&all, &args.targets)?;
    if let Some(path) = &args.input {
        return one(&wanted, path);
    }
    if let Some(path) = &args.record {
        record::read(path).map_err(Failure::input)?;
        output::check("--record", path)?;
    }
    std::fs::create_dir_all(&args.out)
        .map_err(|e| Failure::input(anyhow!("--out {}: {e}; give another folder", args.out.display())))?;
    let _graceful = Graceful::new();
    let found = watched(args, &wanted)?;
    // A signal has ended the others before they began.
    let begun: Vec<(&Target, &Found)> =
        wanted.iter().zip(&found).filter(|(_, found)| found.inputs > 0).collect();
    let rows = begun.iter().map(|(target, found)| Row::of(target, args.seed, found)).collect();
    if let Some(path) = &args.record {
        record::add(path, rows).map_err(Failure::check)?;
    }
    let mut faults = 0;
    for (target, found) in &begun {
        say(told(target, found))?;
        faults += show(args, target, found)?;
    }
    let inputs: u64 = found.iter().map(|found| found.inputs).sum();
    let done = format!("{} targets, {inputs} inputs", begun.len());
    match (faults, signals::asked()) {
        (0, None) => say(format!("{done}: nothing failed")),
        (0, Some(signal)) => Err(Failure::signal(signal, &done)),
        _ => Err(Failure::check(anyhow!(
            "{done}: {faults} faults; their inputs are in {}",
            args.out.display()
        ))),
    }
}

fn wanted(all: &[Target], names: &[String]) -> Result<Vec<Target>, Failure> {
    let known = |name: &String| {
        all.iter().find(|target| target.name == *name).copied().ok_or_else(|| {
            let remedy = weft_names::remedy(
                name,
                all.iter().map(|target| target.name),
                "`weft fuzz --list` shows all",
            );
            Failure::input(anyhow!("there is no target {name}; {remedy}"))
        })
    };
    if names.is_empty() { Ok(all.to_vec()) } else { names.iter().map(known).collect() }
}

/// One input, and what the reader says of it.
fn one(wanted: &[Target], path: &Path) -> Outcome {
    let [target] = wanted else {
        return Err(Failure::input(anyhow!("--input is for one target; name it")));
    };
    let input = std::fs::read(path)
        .map_err(|e| Failure::input(anyhow!("cannot read --input {}: {e}; give a file", path.display())))?;
    // What is made once, and is the same for all inputs, does not count.
    drop((target.seeds)());
    let done = read(target, &input);
    let peak = done.peak.map_or_else(String::new, |peak| format!(", {peak} bytes allocated"));
    let cost = format!("{} ms{peak}", done.time.as_millis());
    match done.outcome {
        Became::Accepted => say(format!("accepted ({cost})")),
        Became::Refused(sentence) => say(format!("refused ({cost}): {sentence}")),
        Became::Failed(what, text, place) => Err(Failure::check(anyhow!("{what} {place} ({cost}): {text}"))),
    }
}

/// All campaigns, some at a time, in the order of their targets.
fn watched(args: &Args, wanted: &[Target]) -> Result<Vec<Found>, Failure> {
    let corpus = |target: &Target| match &args.corpus {
        Some(folder) if !folder.is_dir() => Err(Failure::input(anyhow!(
            "--corpus {} is no folder; give one with a folder for each target",
            folder.display()
        ))),
        Some(folder) => weft_fuzz::corpus(folder, target.name)
            .map_err(|e| Failure::input(anyhow!("--corpus {}: {e}", folder.join(target.name).display()))),
        None => Ok(Vec::new()),
    };
    let corpora = wanted.iter().map(corpus).collect::<Result<Vec<_>, _>>()?;
    let (next, progress) = (AtomicUsize::new(0), Arc::new(AtomicU64::new(0)));
    let found: Vec<Mutex<Found>> = wanted.iter().map(|_| Mutex::default()).collect();
    let work = || {
        while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < wanted.len()) {
            if signals::asked().is_some() {
                break;
            }
            let target = &wanted[at];
            let plan = Plan {
                until: args.budget.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
                limit: Duration::from_secs(args.limit),
                corpus: corpora[at].clone(),
                current: Some(args.out.join(format!("fuzz-{}-current", target.name))),
                progress: progress.clone(),
                stop: signals::flag(),
                ..Plan::new(args.inputs, args.seed)
            };
            let done = campaign(target, &plan);
            *found[at].lock().unwrap_or_else(std::sync::PoisonError::into_inner) = done;
        }
    };
    let bar = ProgressBar::new(args.inputs.saturating_mul(wanted.len() as u64));
    if let Ok(style) =
        ProgressStyle::with_template("{spinner} {elapsed} {human_pos} of {human_len} inputs, {eta} left")
    {
        bar.set_style(style);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..args.jobs).map(|_| scope.spawn(work)).collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            bar.set_position(progress.load(Ordering::Relaxed));
            std::thread::park_timeout(if bar.is_hidden() { SHOWN / 10 } else { SHOWN });
        }
    });
    bar.finish_and_clear();
    let taken = |found: Mutex<Found>| found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(found.into_iter().map(taken).collect())
}

/// A campaign in a line.
fn told(target: &Target, found: &Found) -> String {
    let memory = match (found.peak, found.ratio) {
        (Some(peak), Some(ratio)) => format!(
            "at most {} kB, beyond the constant {ratio:.1} bytes a byte of {RATIO}",
            peak.div_ceil(1000)
        ),
        _ => "memory is not counted by this program".into(),
    };
    format!(
        "{}: {} inputs, {} accepted, {} refused in {} ways, {memory}, at most {} ms",
        target.name,
        found.inputs,
        found.accepted,
        found.refused,
        found.kinds,
        found.slowest.as_millis()
    )
}

/// Tells the faults of a target and writes their inputs; how many there are.
fn show(args: &Args, target: &Target, found: &Found) -> Result<usize, Failure> {
    for (number, fault) in (1..).zip(&found.faults) {
        let path = args.out.join(format!("fuzz-{}-{number}", target.name));
        weft_output::write(&path, &fault.input).map_err(Failure::check)?;
        say(format!("{}: {fault}", target.name))?;
        say(format!("    weft fuzz {} --input {}", target.name, path.display()))?;
    }
    Ok(found.faults.len())
}
