//! `weft run`: a program on a fabric, clocked until it has ended and its result is checked.

mod events;
mod record;
mod snapshot;
mod stalls;

use crate::failure::{Failure, Outcome, say};
use crate::params::pairs;
use crate::sweep::plot;
use crate::trace;
use anyhow::{Context, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use weft_engine::runner::Rewind;
use weft_engine::wave::Format;
use weft_engine::{BackendKind, Probes};
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricError, FabricRun, Identity, RunOptions, RunReport, WaveRequest, temporary};
use weft_workload::Program;
use weft_workload::trace::TraceRead;

/// Cycles after which a run is given up unless it is told otherwise.
const MAX_CYCLES: u64 = 10_000_000_000;

/// Arguments of `weft run`.
#[derive(clap::Args)]
pub struct Args {
    /// A built-in fabric (see `weft list fabrics`) or a TOML file.
    fabric: String,
    /// Program (see `weft list workloads`), or a trace: a folder of Accel-Sim traces, a .wtrace or .wtrb, also .gz, .xz or .zst.
    #[arg(long, value_name = "NAME|TRACE", default_value = "pagerank")]
    workload: String,
    /// Graph for programs that work on one: METIS, edge list, Matrix Market, DIMACS .gr or PACE, also .gz or .xz.
    #[arg(long, value_name = "FILE")]
    graph: Option<PathBuf>,
    /// Parameter of the program; may be given several times.
    #[arg(long = "param", value_name = "KEY=VALUE")]
    params: Vec<String>,
    /// Key of the fabric's configuration; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Seed of the program's random data, where it has any.
    #[arg(long)]
    seed: Option<u64>,
    /// Writes all results to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draws why compute units did not issue, a bar for each: .svg or .png.
    #[arg(long, value_name = "FILE")]
    stalls: Option<PathBuf>,
    /// Records a waveform, .vcd or .fst, with a GTKWave save file beside it.
    #[arg(long, value_name = "FILE")]
    waves: Option<PathBuf>,
    /// With --waves: part of the hierarchy to record, such as `gpu0.dir*`; may be given several times.
    #[arg(long, value_name = "GLOB")]
    scope: Vec<String>,
    /// With --waves, --events or --trace: first cycle recorded.
    #[arg(long, value_name = "CYCLE")]
    from: Option<u64>,
    /// With --waves, --events or --trace: first cycle no longer recorded.
    #[arg(long, value_name = "CYCLE")]
    to: Option<u64>,
    /// Records every access of every wave to this file, for `weft check`; a run that fails leaves what was recorded until then.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    reading: trace::TraceArgs,
    #[command(flatten)]
    events: events::EventArgs,
    #[command(flatten)]
    keep: snapshot::SnapshotArgs,
    /// Adds what the run hits of the race ledger to a folder, for `weft ledger --dir`.
    #[arg(long, value_name = "DIR")]
    ledger: Option<PathBuf>,
    /// Ends the run with an error after so many cycles.
    #[arg(long, value_name = "CYCLES", default_value_t = MAX_CYCLES)]
    max_cycles: u64,
    /// Threads that clock the hardware; results do not depend on their number.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Runs the reference interpreter instead of native code: the same cycles, a hundred times slower.
    #[arg(long)]
    interpreter: bool,
}

/// Runs the verb.
///
/// # Errors
/// Wrong input before anything is simulated; a failed check; a result that is not the host's.
pub fn run(args: &Args) -> Outcome {
    if args.threads == 1 {
        return carry_out(args);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.into()).build();
    pool.context("cannot start threads; use --threads 1").map_err(Failure::input)?.install(|| carry_out(args))
}

fn carry_out(args: &Args) -> Outcome {
    let mut config = FabricConfig::load(&args.fabric).map_err(Failure::input)?;
    for set in &args.set {
        config.set(set).map_err(Failure::input)?;
    }
    config.validate().map_err(Failure::input)?;
    let waves = waves(args)?;
    let json = match &args.json {
        Some(path) => Some((path.as_path(), writable("--json", path)?)),
        None => None,
    };
    let stalls = picture_file(args, &config)?;
    args.keep.validate()?;
    let log = args.events.plan()?;
    ledger_folder(args)?;
    apart(args)?;
    let (program, params, read) = program(args, &config)?;
    let backend = if args.interpreter { BackendKind::Interp } else { BackendKind::Native };
    let graph = args.graph.as_deref();
    let identity = Identity::new(&config, program.as_ref(), params, backend, args.seed, graph);
    let resume = args.keep.read(&identity, args)?;
    let options = RunOptions {
        backend,
        probes: Probes::All,
        rewind: Some(Rewind { cycles: 1000, wave: PathBuf::from("vcd_out/failure.fst") }),
        waves,
        events: log.as_ref().map(|log| log.request(args)),
        threads: args.threads.into(),
    };
    let record = record::Record::begin(args, &config)?;
    let mut run = FabricRun::new(&config, program, &options).map_err(sort)?;
    if let Some(record) = &record {
        record.attach(&mut run);
    }
    if let Some(snapshot) = &resume {
        run.resume(snapshot).map_err(sort)?;
    }
    let report = simulate(run, args.max_cycles, args.keep.plan(identity));
    if let Some(record) = record {
        record.end(report.as_ref().err().map(ToString::to_string))?;
    }
    let report = report.map_err(|failure| match &log {
        Some(log) => log.after(failure),
        None => failure,
    })?;
    if let Some((path, file)) = json {
        write_json(&report, read.as_ref(), args, path, file)?;
    }
    if let (Some((path, file)), Some(counts)) = (stalls, &report.stalls) {
        let drawn = stalls::picture(&report, counts).picture();
        drawn.and_then(|svg| plot::save(&svg, path, file)).map_err(Failure::Check)?;
    }
    hit(args, &report)?;
    let told = log.map_or(Ok(Vec::new()), |log| log.carry_out())?;
    summary(&report)?;
    read.map_or(Ok(()), |read| row("trace", &read.sentence()))?;
    shown(args, resume.map_or(0, |snapshot| snapshot.cycle()), report.cycles)?;
    told.iter().try_for_each(say)?;
    say(format!("verified: {}", report.verified))?;
    match &report.difference {
        None => Ok(()),
        Some(difference) if report.stale => {
            say(format!("stale, for nothing keeps this fabric coherent: {difference}"))
        }
        Some(difference) => Err(Failure::check(anyhow!("the result is wrong: {difference}"))),
    }
}

/// Makes the folder of `--ledger`.
fn ledger_folder(args: &Args) -> Outcome {
    let Some(dir) = &args.ledger else { return Ok(()) };
    std::fs::create_dir_all(dir).map_err(|e| {
        let dir = dir.display();
        Failure::input(anyhow!("--ledger {dir}: cannot make this folder: {e}; give one that can be written"))
    })
}

/// Writes what the run has hit of the race ledger.
fn hit(args: &Args, report: &RunReport) -> Outcome {
    let Some(dir) = &args.ledger else { return Ok(()) };
    let seed = args.seed.unwrap_or(0);
    let hits = report.covers.iter().map(|(id, count)| (id.clone(), (*count, seed))).collect();
    let protocol = report.config["protocol"].as_str().unwrap_or("?");
    let name = format!("run {} {protocol} {}", report.fabric, report.workload);
    weft_testbench::ledger::publish_in(dir, &name, &hits).map_err(Failure::check).map(|_| ())
}

fn sort(error: FabricError) -> Failure {
    if error.is_input() { Failure::input(error) } else { Failure::check(error) }
}

fn waves(args: &Args) -> Result<Option<WaveRequest>, Failure> {
    let (from, to) = (args.from.unwrap_or(0), args.to.unwrap_or(u64::MAX));
    if from >= to {
        return Err(Failure::input(anyhow!(
            "--from {from} is not before --to {to}: give a window of at least one cycle, --from in 0..{}",
            to.saturating_sub(1)
        )));
    }
    let Some(path) = &args.waves else {
        let window = !args.events.any();
        let given = [
            ("--scope", !args.scope.is_empty()),
            ("--from", window && args.from.is_some()),
            ("--to", window && args.to.is_some()),
        ];
        return match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Failure::input(anyhow!(
                "{option} says what a waveform holds, and none is asked for: add --waves FILE.vcd or FILE.fst"
            ))),
            None => Ok(None),
        };
    };
    Format::of(path).map_err(Failure::input)?;
    writable("--waves", path)?;
    Ok(Some(WaveRequest { path: path.clone(), scopes: args.scope.clone(), from, to }))
}

/// A file beside the final one, so that nothing half written stays there.
pub fn writable(option: &str, path: &Path) -> Result<tempfile::NamedTempFile, Failure> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = match path.is_dir() {
        true => Err("it is a folder".to_string()),
        // Only the kind: the full text names the temporary file.
        false => temporary(folder).map_err(|e| e.kind().to_string()),
    };
    file.map_err(|cause| {
        Failure::input(anyhow!(
            "{option} {}: cannot write it: {cause}; give a file in a folder that exists and can be written",
            path.display()
        ))
    })
}

/// The file of `--stalls`.
fn picture_file<'a>(
    args: &'a Args,
    config: &FabricConfig,
) -> Result<Option<(&'a Path, tempfile::NamedTempFile)>, Failure> {
    let Some(path) = args.stalls.as_deref() else { return Ok(None) };
    let refused = |problem: &str| Err(Failure::input(anyhow!("--stalls {}: {problem}", path.display())));
    if !config.common.gsi {
        return refused(
            "the key gsi is off, and nothing is counted; leave --stalls out or add --set gsi=true",
        );
    }
    if !["svg", "png"].iter().any(|form| path.extension().is_some_and(|given| given == *form)) {
        return refused("a picture is a .svg or .png; give a file that ends so");
    }
    Ok(Some((path, writable("--stalls", path)?)))
}

/// Refuses two outputs in one file.
fn apart(args: &Args) -> Outcome {
    let outputs = [
        ("--json", &args.json),
        ("--stalls", &args.stalls),
        ("--waves", &args.waves),
        ("--record", &args.record),
        ("--snapshot", &args.keep.snapshot),
        ("--events", &args.events.events),
        ("--trace", &args.events.trace),
    ];
    for (i, (first, path)) in outputs.iter().enumerate().filter(|(_, (_, path))| path.is_some()) {
        if let Some((second, _)) = outputs[..i].iter().find(|(_, other)| other == path) {
            let path = path.as_deref().unwrap_or(Path::new("")).display();
            return Err(Failure::input(anyhow!(
                "{second} and {first} both name {path}; give each its own file"
            )));
        }
    }
    Ok(())
}

/// The program, all its parameters, and what was read of a trace.
fn program(
    args: &Args,
    config: &FabricConfig,
) -> Result<(Arc<dyn Program>, BTreeMap<String, String>, Option<TraceRead>), Failure> {
    let mut params = pairs("--param", &args.params)?;
    if weft_workload::trace::is_trace(&args.workload) {
        let given = [("--param", !params.is_empty()), ("--graph", args.graph.is_some())];
        trace::takes_nothing(&args.workload, &given).map_err(Failure::input)?;
        let built = trace::program(Path::new(&args.workload), &args.reading.options());
        return built.map(|(program, params, read)| (program, params, Some(read))).map_err(Failure::input);
    }
    args.reading.none(&args.workload).map_err(Failure::input)?;
    if let Some(seed) = args.seed {
        let known = weft_workload::workloads().iter().find(|w| w.name == args.workload);
        if known.is_some_and(|w| w.params.iter().any(|p| p.name == "seed")) {
            params.entry("seed".into()).or_insert(seed.to_string());
        }
    }
    let graph = args.graph.as_deref().map(weft_workload::graph::read).transpose().map_err(Failure::input)?;
    let fitted = config.fit(&args.workload, &params, graph.as_ref()).map_err(Failure::input)?;
    Ok((fitted.program, fitted.params, None))
}

/// Runs to the end; a terminal sees how far it is.
fn simulate(
    mut run: FabricRun,
    max_cycles: u64,
    mut plan: Option<snapshot::Plan>,
) -> Result<RunReport, Failure> {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
        bar.set_style(style);
    }
    loop {
        let due = plan.as_ref().and_then(|plan| plan.next(run.cycle())).unwrap_or(u64::MAX);
        let ended = run.run_to((run.cycle() + 20_000).min(max_cycles).min(due)).map_err(Failure::check)?;
        if let Some(plan) = &mut plan {
            plan.write(&run, ended, max_cycles)?;
        }
        bar.tick();
        bar.set_message(format!("cycle {}, step {} of the program", run.cycle(), run.kernels()));
        if ended {
            break;
        }
        if run.cycle() >= max_cycles {
            bar.finish_and_clear();
            run.give_up().map_err(Failure::check)?;
            return Err(Failure::check(FabricError::Limit { cycles: max_cycles }));
        }
    }
    bar.finish_and_clear();
    if let Some(plan) = plan {
        plan.tell(run.cycle())?;
    }
    run.finish().map_err(Failure::check)
}

fn write_json(
    report: &RunReport,
    read: Option<&TraceRead>,
    args: &Args,
    path: &Path,
    mut file: tempfile::NamedTempFile,
) -> Outcome {
    let mut value = serde_json::to_value(report).map_err(Failure::check)?;
    value["seed"] = args.seed.into();
    if let Some(read) = read {
        value["trace"] = serde_json::to_value(read).map_err(Failure::check)?;
    }
    let written = serde_json::to_writer_pretty(&mut file, &value)
        .map_err(anyhow::Error::from)
        .and_then(|()| writeln!(file).map_err(anyhow::Error::from))
        .and_then(|()| file.persist(path).map_err(anyhow::Error::from));
    written.with_context(|| format!("cannot write {}", path.display())).map_err(Failure::Check).map(|_| ())
}

/// Where the waveform is and how to look at it.
fn shown(args: &Args, resumed: u64, cycles: u64) -> Outcome {
    let Some(path) = &args.waves else { return Ok(()) };
    let (from, to) = (args.from.unwrap_or(0).max(resumed), args.to.unwrap_or(u64::MAX).min(cycles));
    if from >= to {
        return say(format!("waveform: none, for the run ended in cycle {cycles}, before --from {from}"));
    }
    let file = path.display();
    say(format!("waveform: cycles {from}..{} in {file}, shown by scripts/view {file}", to - 1))
}

/// What keeps caches coherent, or, where no key says so, the family.
fn kind(r: &RunReport) -> &str {
    let of = |key: &str| r.config[key].as_str();
    of("protocol").or(of("family")).unwrap_or("?")
}

fn row(name: &str, value: &str) -> Outcome {
    say(format!("  {name:<34} {value}"))
}

fn summary(r: &RunReport) -> Outcome {
    say(format!("{} on {} ({})", r.workload, r.fabric, kind(r)))?;
    let speed = format!("{:.2} s, {:.0} cycles/s", r.wall_seconds, r.cycles_per_second);
    let first = [("cycles", r.cycles.to_string())];
    for (name, value) in first.iter().chain(&r.summary).chain(&[("simulated in", speed)]) {
        row(name, value)?;
    }
    r.stalls.as_ref().map_or(Ok(()), stalls::show)
}
