//! `weft bench program`, `weft bench record` and `weft bench threads`: time of whole runs, in turns.

use super::process::{self, Ended};
use crate::failure::{Failure, Outcome, say};
use anyhow::anyhow;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use weft_tools::cpu::median;

/// Arguments of `weft bench program`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    runs: Runs,
    /// Another version of this program, which makes the same run in turn with this one.
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// Keeps machine code of the hardware between the runs, as it is kept by default; else each run compiles it.
    #[arg(long)]
    keep_code: bool,
}

/// Arguments of `weft bench record`.
#[derive(clap::Args)]
pub struct RecordArgs {
    #[command(flatten)]
    runs: Runs,
    /// Also a trace (`--trace`), which takes long.
    #[arg(long)]
    trace: bool,
}

/// Arguments of `weft bench threads`.
#[derive(clap::Args)]
pub struct ThreadsArgs {
    /// Numbers of threads beside one, separated by commas.
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "2", value_parser = clap::value_parser!(u16).range(2..=256))]
    threads: Vec<u16>,
    #[command(flatten)]
    runs: Runs,
}

/// A run, made several times.
#[derive(clap::Args)]
struct Runs {
    /// Runs of each kind, which take turns.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// What `weft run` is given: a fabric and options, behind these.
    #[arg(
        value_name = "FABRIC OPTIONS",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<String>,
}

/// A kind of run: its name, and the time of each.
struct Kind {
    name: String,
    seconds: Vec<f64>,
    cycles: u64,
}

/// A run that has ended.
struct Once {
    ended: Ended,
    cycles: u64,
    /// Seconds on the clock from the first cycle to the last.
    clocked: f64,
}

/// How runs are compared.
struct Scale {
    schema: &'static str,
    /// What is measured, as a column and as a name in JSON.
    column: &'static str,
    name: &'static str,
    /// Begins the column of ratios.
    title: &'static str,
    /// Of the first kind's time and another's.
    ratio: fn(f64, f64) -> f64,
}

/// Runs `weft bench program`.
///
/// # Errors
/// A run that fails; programs that do not count the same cycles.
pub fn run(args: &Args) -> Outcome {
    let scratch = weft_output::Scratch::new().map_err(Failure::check)?;
    let mut programs = vec![("this program".to_string(), process::own()?)];
    programs.extend(args.against.iter().map(|path| (path.display().to_string(), path.clone())));
    let store = scratch.path().join("code");
    let store = args.keep_code.then_some(store.as_path());
    let once = |which: usize| once(&programs[which].1, &args.runs, &[], scratch.path(), store);
    if args.keep_code {
        // Whoever keeps code has it from now on.
        (0..programs.len()).try_for_each(|which| once(which).map(drop))?;
    }
    let names: Vec<&str> = programs.iter().map(|(name, _)| name.as_str()).collect();
    let kinds = turns(&names, args.runs.repeat, &once, |run| run.ended.cpu)?;
    if let [own, other] = &kinds[..]
        && own.cycles != other.cycles
    {
        return Err(Failure::check(anyhow!(
            "this program needs {} cycles and {} {}: they did not do the same; compare programs that simulate the same hardware",
            own.cycles,
            other.name,
            other.cycles
        )));
    }
    let (schema, title) = ("weft-bench-program-1", "this one is");
    tell(&args.runs, &kinds, &Scale { schema, title, ratio: |own, other| other / own, ..CPU })
}

/// Runs `weft bench record`.
///
/// # Errors
/// A run that fails.
pub fn record(args: &RecordArgs) -> Outcome {
    let scratch = weft_output::Scratch::new().map_err(Failure::check)?;
    let file = |name: &str| scratch.path().join(name).display().to_string();
    let mut kinds = vec![
        ("without", vec![]),
        ("--waves w.fst", vec!["--waves".to_string(), file("w.fst")]),
        ("--events e.wev", vec!["--events".to_string(), file("e.wev")]),
    ];
    if args.trace {
        kinds.push(("--trace t.json.gz", vec!["--trace".to_string(), file("t.json.gz")]));
    }
    let (own, store) = (process::own()?, scratch.path().join("code"));
    let once = |which: usize| once(&own, &args.runs, &kinds[which].1, scratch.path(), Some(&store));
    once(0)?;
    let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
    let kinds = turns(&names, args.runs.repeat, &once, |run| run.ended.cpu)?;
    let (schema, title) = ("weft-bench-record-1", "it takes");
    tell(&args.runs, &kinds, &Scale { schema, title, ratio: |without, with| with / without, ..CPU })
}

/// Runs `weft bench threads`.
///
/// # Errors
/// A run that fails; numbers of threads with which it does not count the same cycles.
pub fn threads(args: &ThreadsArgs) -> Outcome {
    let scratch = weft_output::Scratch::new().map_err(Failure::check)?;
    let (own, store) = (process::own()?, scratch.path().join("code"));
    let numbers: Vec<u16> = std::iter::once(1).chain(args.threads.iter().copied()).collect();
    let with = |which: usize| vec!["--threads".to_string(), numbers[which].to_string()];
    let once = |which: usize| once(&own, &args.runs, &with(which), scratch.path(), Some(&store));
    once(0)?;
    let names: Vec<String> = numbers.iter().map(|number| format!("--threads {number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let kinds = turns(&names, args.runs.repeat, &once, |run| run.clocked)?;
    if let Some(other) = kinds.iter().find(|kind| kind.cycles != kinds[0].cycles) {
        return Err(Failure::check(anyhow!(
            "one thread needs {} cycles, and {} {}: results depend on the number of threads, which is a fault of this program; report it",
            kinds[0].cycles,
            other.name,
            other.cycles
        )));
    }
    let (schema, title) = ("weft-bench-threads-1", "it is");
    let clock =
        Scale { schema, column: "clock", name: "seconds", title, ratio: |one, several| one / several };
    tell(&args.runs, &kinds, &clock)
}

/// Comparisons by CPU time.
const CPU: Scale = Scale { schema: "", column: "CPU", name: "cpu_seconds", title: "", ratio: |_, _| 0.0 };

/// One run: what it took, and its cycles.
fn once(
    program: &Path,
    runs: &Runs,
    more: &[String],
    scratch: &Path,
    store: Option<&Path>,
) -> Result<Once, Failure> {
    let json = scratch.join("run.json");
    let mut given = [vec!["run".to_string()], runs.words.clone(), more.to_vec()].concat();
    if !given.iter().any(|word| word == "--threads" || word.starts_with("--threads=")) {
        // What is compared is what one thread does.
        given.extend(["--threads".to_string(), "1".to_string()]);
    }
    let words = [given, vec!["--json".into(), json.display().to_string()]].concat();
    let ended = process::run(program, &words, store)?;
    let text = std::fs::read_to_string(&json).map_err(Failure::check)?;
    let report: Value = serde_json::from_str(&text).map_err(Failure::check)?;
    let cycles = report["cycles"].as_u64().ok_or_else(|| Failure::check(anyhow!("a run without cycles")))?;
    let speed = report["cycles_per_second"].as_f64().unwrap_or(f64::NAN);
    Ok(Once { ended, cycles, clocked: cycles as f64 / speed })
}

/// Kinds of runs in turns.
fn turns(
    names: &[&str],
    repeat: u32,
    once: &dyn Fn(usize) -> Result<Once, Failure>,
    time: impl Fn(&Once) -> f64,
) -> Result<Vec<Kind>, Failure> {
    let kind = |name: &&str| Kind { name: name.to_string(), seconds: Vec::new(), cycles: 0 };
    let mut kinds: Vec<Kind> = names.iter().map(kind).collect();
    for _ in 0..repeat {
        for (which, kind) in kinds.iter_mut().enumerate() {
            let run = once(which)?;
            kind.seconds.push(time(&run));
            kind.cycles = run.cycles;
        }
    }
    Ok(kinds)
}

/// Prints a table or JSON: the first kind, and the others with their ratio to it, least, median and most of the turns.
fn tell(runs: &Runs, kinds: &[Kind], scale: &Scale) -> Outcome {
    let Scale { schema, column, name, title, ratio } = scale;
    let Some((first, _)) = kinds.split_first() else { return Ok(()) };
    let ratios = |kind: &Kind| {
        let all: Vec<f64> = first.seconds.iter().zip(&kind.seconds).map(|(a, b)| ratio(*a, *b)).collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        [least, median(&all), all.iter().copied().fold(0.0, f64::max)]
    };
    if runs.json {
        let one = |kind: &Kind| {
            let [least, median, most] = ratios(kind);
            json!({
                "name": kind.name,
                "cycles": kind.cycles,
                (*name): kind.seconds,
                "ratio": median,
                "ratio_min": least,
                "ratio_max": most,
            })
        };
        let rows: Vec<Value> = kinds.iter().map(one).collect();
        let value = json!({ "schema": schema, "run": runs.words, "runs": rows });
        return say(serde_json::to_string_pretty(&value).map_err(Failure::check)?);
    }
    say(format!("weft run {}: {} cycles", runs.words.join(" "), first.cycles))?;
    say(format!("{:<32} {column:>10} {:>24}", "", format!("{title} (min, max)")))?;
    for (number, kind) in kinds.iter().enumerate() {
        let [least, middle, most] = ratios(kind);
        let told =
            if number == 0 { String::new() } else { format!("{middle:.2}x ({least:.2}x, {most:.2}x)") };
        say(format!("{:<32} {:>8.2} s {told:>24}", kind.name, median(&kind.seconds)))?;
    }
    Ok(())
}
