//! `weft run`: a program on a fabric, clocked until it has ended and its result is checked.

mod events;
mod files;
mod record;
mod snapshot;
mod stalls;
mod subject;

pub use subject::Subject;

use crate::failure::{Failure, Outcome, say};
use crate::memory;
use crate::output;
use crate::ranks;
use crate::setup::{Setup, VERSION};
use crate::signals::{self, Graceful};
use crate::sweep::plot;
use anyhow::anyhow;
use files::Told;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use weft_engine::runner::{Rewind, RunError};
use weft_engine::wave::{Format, WaveError};
use weft_engine::{BackendKind, Probes};
use weft_fabric::config::FabricConfig;
use weft_fabric::ranks::Link;
use weft_fabric::run::{FabricError, FabricRun, Identity, RunOptions, RunReport, WaveRequest};
use weft_output::Output;
use weft_workload::Program;
use weft_workload::trace::TraceRead;

/// Cycles after which a run is given up unless it is told otherwise.
pub const MAX_CYCLES: u64 = 10_000_000_000;

/// Arguments of `weft run`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    subject: Subject,
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
    events: events::EventArgs,
    #[command(flatten)]
    keep: snapshot::SnapshotArgs,
    /// Adds what the run hits of the race ledger to a folder, for `weft ledger --dir`.
    #[arg(long, value_name = "DIR")]
    ledger: Option<PathBuf>,
    /// Ends the run with an error after so many cycles.
    #[arg(long, value_name = "CYCLES", default_value_t = MAX_CYCLES)]
    max_cycles: u64,
    /// Threads that go through each cycle, 1 to 256, or auto: as many as pay; results do not depend on their number.
    #[arg(long, value_name = "N", default_value = "auto", value_parser = threads)]
    threads: usize,
    /// Runs the reference interpreter instead of native code: the same cycles, a hundred times slower.
    #[arg(long)]
    interpreter: bool,
}

/// Runs the verb.
///
/// # Errors
/// Wrong input before anything is simulated; a failed check; a result that is not the host's.
pub fn run(args: &Args) -> Outcome {
    let threads = args.threads;
    let serve = |link, begun: &dyn Fn(Outcome) -> bool| {
        serve(&args.subject, (args.backend(), threads), link, begun);
    };
    ranks::share(threads, &|link| lead(args, link), &serve)
}

/// On a rank that is not rank 0: does what that one says, once it has told whether it can begin.
pub fn serve(
    subject: &Subject,
    (backend, threads): (BackendKind, usize),
    link: Arc<dyn Link>,
    begun: &dyn Fn(Outcome) -> bool,
) {
    let make = || {
        let (_, config) = subject.configs()?;
        let (program, ..) = subject.program(&config)?;
        let ranks = Some(link.clone());
        let options = RunOptions { backend, probes: Probes::All, threads, ranks, ..RunOptions::default() };
        begin(&config, program, &options)
    };
    match make() {
        Ok(mut run) => {
            if begun(Ok(())) {
                run.serve();
            }
        }
        Err(failure) => {
            begun(Err(failure));
        }
    }
}

/// On a process alone, or on rank 0.
fn lead(args: &Args, link: Option<Arc<dyn Link>>) -> Outcome {
    let (original, config) = args.subject.configs()?;
    let waves = waves(args)?;
    let json = args.json.as_deref().map(|path| output::begin("--json", path)).transpose()?;
    let stalls = picture_file(args, &config)?;
    args.keep.validate()?;
    let log = args.events.plan()?;
    args.events.forewarn(args.to);
    ledger_folder(args)?;
    apart(args)?;
    let (program, params, read) = args.subject.program(&config)?;
    let backend = args.backend();
    let setup = Setup::new(&params, &config, &original, args.subject.seed);
    let identity = Identity {
        made_by: VERSION.into(),
        ..Identity::new(&config, program.as_ref(), params.all, backend, args.subject.seed, params.graph)
    };
    let resume = args.keep.read(&identity, args)?;
    let options = RunOptions {
        backend,
        probes: Probes::All,
        rewind: Some(rewind()),
        waves,
        events: log.as_ref().map(|log| log.request(args, &setup)),
        // A recording has the accesses of all compute units in turn.
        threads: if args.record.is_some() { args.threads.max(1) } else { args.threads },
        ranks: link.clone(),
        stop: Some(signals::flag()),
    };
    let record = record::Record::begin(args, &config)?;
    let ledger = Ledger::new(args, &config, program.name());
    let mut run = begin(&config, program, &options)?;
    link.as_deref().map_or(Ok(()), ranks::ready)?;
    if let Some(record) = &record {
        record.attach(&mut run);
    }
    if let Some(snapshot) = &resume {
        run.resume(snapshot).map_err(sort)?;
    }
    if let Some(graph) = &setup.graph {
        say(format!("graph: {graph}"))?;
    }
    tell_memory(&run)?;
    // From here on there is something to keep.
    let _graceful = Graceful::new();
    let begun = run.cycle();
    let mut told = Told::default();
    let ended = simulate(&mut run, args, identity, &mut told);
    if let Some(record) = record {
        record.end(ended.as_ref().err().map(ToString::to_string), &mut told);
    }
    let files = run.close();
    let cycles = ended.as_ref().map_or(run.reached(), |report| report.cycles);
    waveform(args, begun, cycles, files.waves, &mut told);
    if let Some(log) = &log {
        log.carry_out(files.events, &mut told);
    }
    match ended {
        Ok(report) => {
            let made = Made { setup: &setup, read: read.as_ref() };
            results(&report, &made, json, stalls, &mut told);
            ledger.note(&report.covers, &mut told);
            summary(&report, &setup)?;
            read.iter().try_for_each(|read| row("trace", &read.sentence()))?;
            told.say()?;
            verdict(&report).map_err(|failure| told.lost_after(failure))?;
            told.complete()
        }
        Err(failure) => {
            if let Failure::Signal(..) = &failure {
                ledger.note(&run.covers(), &mut told);
            }
            for (what, path) in [("results", &args.json), ("picture", &args.stalls)] {
                path.iter().for_each(|path| told.lost(what, path, "the run has not ended"));
            }
            told.say()?;
            Err(told.after(failure))
        }
    }
}

/// A number of threads; 0 for as many as pay.
fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        _ if text == "auto" => Ok(0),
        Ok(threads @ 1..=256) => Ok(threads),
        _ => Err("give 1 to 256, or auto".into()),
    }
}

impl Args {
    fn backend(&self) -> BackendKind {
        if self.interpreter { BackendKind::Interp } else { BackendKind::Native }
    }
}

/// What a run was made of.
struct Made<'a> {
    setup: &'a Setup,
    read: Option<&'a TraceRead>,
}

/// Writes what the run has measured.
fn results(report: &RunReport, made: &Made, json: Option<Output>, stalls: Option<Output>, told: &mut Told) {
    if let Some(file) = json {
        let path = file.path().to_path_buf();
        told.wrote("results", &path, write_json(report, made, file));
    }
    if let (Some(file), Some(counts)) = (stalls, &report.stalls) {
        let path = file.path().to_path_buf();
        let drawn = stalls::picture(report, counts).picture().and_then(|svg| plot::save(&svg, file));
        told.wrote("picture", &path, drawn);
    }
}

/// Says whether the result is the host's.
fn verdict(report: &RunReport) -> Outcome {
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

/// Where a run notes what it has hit of the race ledger.
struct Ledger<'a> {
    dir: Option<&'a Path>,
    seed: u64,
    /// Of the run.
    name: String,
}

impl Ledger<'_> {
    fn new<'a>(args: &'a Args, config: &FabricConfig, workload: &str) -> Ledger<'a> {
        let protocol = config.get("protocol");
        let protocol = protocol.as_ref().and_then(serde_json::Value::as_str).unwrap_or("?");
        let name = format!("run {} {protocol} {workload}", config.name);
        Ledger { dir: args.ledger.as_deref(), seed: args.subject.seed.unwrap_or(0), name }
    }

    fn note(&self, covers: &BTreeMap<String, u64>, told: &mut Told) {
        let Some(dir) = self.dir else { return };
        let hits = covers.iter().map(|(id, count)| (id.clone(), (*count, self.seed))).collect();
        let written = weft_testbench::ledger::publish_in(dir, &self.name, &hits);
        told.wrote("race ledger", dir, written.map(drop).map_err(Into::into));
    }
}

/// The waveform that a failure leaves.
pub fn rewind() -> Rewind {
    Rewind { cycles: 1000, wave: PathBuf::from("vcd_out/failure.fst") }
}

/// The only run of this process. Its hardware is left to the process's end: to take a large fabric apart piece by
/// piece takes a tenth of a second.
///
/// # Errors
/// As [`FabricRun::new`].
pub fn begin(
    config: &FabricConfig,
    program: Arc<dyn Program>,
    options: &RunOptions,
) -> Result<FabricRun, Failure> {
    let run = FabricRun::new(config, program, options).map_err(sort)?;
    std::mem::forget(run.sim().design().clone());
    Ok(run)
}

/// What was wrong with the input, and what with the run.
pub fn sort(error: FabricError) -> Failure {
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
        let given = [("--from", window && args.from.is_some()), ("--to", window && args.to.is_some())];
        if let Some(scope) = args.scope.first() {
            return Err(Failure::input(anyhow!(
                "--scope {scope} says what a waveform holds, and none is asked for: add --waves FILE.vcd or FILE.fst"
            )));
        }
        return match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Failure::input(anyhow!(
                "{option} says which cycles are recorded, and nothing is to be recorded: add --waves FILE.vcd or FILE.fst, --events FILE, or --trace FILE.json"
            ))),
            None => Ok(None),
        };
    };
    Format::of(path).map_err(Failure::input)?;
    output::check("--waves", path)?;
    Ok(Some(WaveRequest { path: path.clone(), scopes: args.scope.clone(), from, to }))
}

/// The file of `--stalls`.
fn picture_file(args: &Args, config: &FabricConfig) -> Result<Option<Output>, Failure> {
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
    output::begin("--stalls", path).map(Some)
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
    for (i, (first, path)) in outputs.iter().enumerate() {
        let Some(path) = path else { continue };
        let same = |(_, other): &&(&str, &Option<PathBuf>)| {
            other.as_ref().is_some_and(|other| Output::same(other, path))
        };
        if let Some((second, _)) = outputs[..i].iter().find(same) {
            let path = path.display();
            return Err(Failure::input(anyhow!(
                "{second} and {first} both name {path}; give each its own file"
            )));
        }
    }
    Ok(())
}

/// Runs to the end, or to the cycle boundary in which a signal ends the run; a terminal sees how far it is.
fn simulate(
    run: &mut FabricRun,
    args: &Args,
    identity: Identity,
    told: &mut Told,
) -> Result<RunReport, Failure> {
    let mut plan = args.keep.plan(identity);
    let ended = to_the_end(run, args.max_cycles, plan.as_mut());
    if let Some(plan) = plan {
        plan.tell(run.cycle(), told);
    }
    ended.and_then(|()| run.end().map_err(Failure::check))
}

/// Says what memory a run takes, and where there is less.
fn tell_memory(run: &FabricRun) -> Outcome {
    let footprint = run.footprint();
    let (all, data) = (memory::words(footprint.bytes()), memory::words(footprint.data));
    let remedy = "give the program a smaller input, or take a machine that has more";
    if let Some(warning) = memory::lack(footprint.bytes(), "the run takes", remedy) {
        eprintln!("weft: {warning}");
    }
    say(format!("memory: about {all}, {data} of it for the program's data and the checks of their values"))
}

fn to_the_end(run: &mut FabricRun, max_cycles: u64, mut plan: Option<&mut snapshot::Plan>) -> Outcome {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
        bar.set_style(style);
    }
    loop {
        let due = plan.as_ref().and_then(|plan| plan.next(run.cycle())).unwrap_or(u64::MAX);
        let ended = run.run_to((run.cycle() + 20_000).min(max_cycles).min(due));
        let ended = ended.map_err(|error| stopped(error, run))?;
        let asked = signals::asked().filter(|_| !ended);
        if let Some(plan) = plan.as_mut() {
            plan.write(run, ended, asked.is_some() || run.cycle() >= max_cycles)?;
        }
        bar.tick();
        bar.set_message(format!("cycle {}, step {} of the program", run.cycle(), run.kernels()));
        if ended {
            bar.finish_and_clear();
            return Ok(());
        }
        if let Some(signal) = asked {
            bar.finish_and_clear();
            return Err(Failure::signal(signal, &format!("the run has stopped in cycle {}", run.cycle())));
        }
        if run.cycle() >= max_cycles {
            bar.finish_and_clear();
            return Err(Failure::check(FabricError::Limit { cycles: max_cycles }));
        }
    }
}

/// Why a run has stopped before its end.
fn stopped(error: FabricError, run: &FabricRun) -> Failure {
    match error {
        FabricError::Run(RunError::Wave(_)) => {
            let cycle = run.reached();
            Failure::check(anyhow!(
                "the run has stopped in cycle {cycle}, for its waveform could not be written"
            ))
        }
        other => sort(other),
    }
}

fn write_json(report: &RunReport, made: &Made, file: Output) -> Result<(), anyhow::Error> {
    let mut value = serde_json::to_value(report)?;
    made.setup.members().into_iter().for_each(|(name, member)| value[name] = member);
    if let Some(read) = made.read {
        value["trace"] = serde_json::to_value(read)?;
    }
    output::json(&value, file)
}

/// Where the waveform is and how to look at it.
fn waveform(args: &Args, resumed: u64, cycles: u64, closed: Option<Result<(), WaveError>>, told: &mut Told) {
    let (Some(path), Some(closed)) = (&args.waves, closed) else { return };
    let (from, to) = (args.from.unwrap_or(0).max(resumed), args.to.unwrap_or(u64::MAX).min(cycles));
    match closed {
        Err(WaveError::Output(cause)) if cause.path() == path => told.lost("waveform", path, cause.cause()),
        Err(cause) => told.lost("waveform", path, cause),
        Ok(()) if from >= to => {
            told.line(format!("waveform: none, for the run ended in cycle {cycles}, before --from {from}"))
        }
        Ok(()) => {
            let file = path.display();
            let line = format!("waveform: cycles {from}..{} in {file}, shown by scripts/view {file}", to - 1);
            told.kept("waveform", path, line);
        }
    }
}

/// What keeps caches coherent, or, where no key says so, the family.
fn kind(r: &RunReport) -> &str {
    let of = |key: &str| r.config[key].as_str();
    of("protocol").or(of("family")).unwrap_or("?")
}

fn row(name: &str, value: &str) -> Outcome {
    say(format!("  {name:<34} {value}"))
}

fn summary(r: &RunReport, setup: &Setup) -> Outcome {
    say(format!("{} on {} ({})", r.workload, r.fabric, kind(r)))?;
    let threads = if r.threads == 1 { String::new() } else { format!(", {} threads", r.threads) };
    let speed = format!("{:.2} s, {:.0} cycles/s{threads}", r.wall_seconds, r.cycles_per_second);
    let behind = r.measured_cycles.map_or(String::new(), |behind| format!(" ({behind} behind the warm-up)"));
    let first = [("cycles", format!("{}{behind}", r.cycles))];
    let made = setup.rows();
    for (name, value) in first.iter().chain(&r.summary).chain(&[("simulated in", speed)]).chain(&made) {
        row(name, value)?;
    }
    r.stalls.as_ref().map_or(Ok(()), stalls::show)
}
