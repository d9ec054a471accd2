//! One program on one fabric, with every check.

use crate::Ground;
use crate::program::Program;
use serde::{Deserialize, Serialize};
use std::io::{Cursor, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use weft_engine::Design;
use weft_engine::runner::RunError;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricError, FabricRun, Recording, RunOptions};
use weft_judge::{Model, judge};
use weft_recording::Reader;
use weft_workload::trace::program::TraceProgram;

/// Cycles after which a round has failed.
const MOST: u64 = 50_000_000;

/// How much was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Rounds.
    pub rounds: u64,
    /// Loads, stores and atomics of lanes.
    pub operations: u64,
    /// Accesses that were judged by axioms, too.
    pub judged: u64,
    /// Simulated cycles.
    pub cycles: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, more: Counts) {
        self.rounds += more.rounds;
        self.operations += more.operations;
        self.judged += more.judged;
        self.cycles += more.cycles;
    }
}

/// What a round showed that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Name of the assertion, check or axiom.
    pub kind: String,
    /// What is wrong, where and when.
    pub text: String,
    /// Nothing failed while it ran: an axiom says so of its recording.
    pub judged: bool,
}

impl Fault {
    fn new(kind: &str, text: impl ToString) -> Fault {
        Fault { kind: kind.into(), text: text.to_string(), judged: false }
    }
}

/// How a round ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As it must.
    Right(Counts),
    /// In a fault.
    Wrong(Fault),
    /// Somebody has set the flag.
    Stopped,
    /// The fabric refuses the program or the keys: a sentence.
    Refused(String),
}

/// What `work` returns, or that it has broken off.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a word");
        Fault::new("panic", format!("the program has broken off: {text}"))
    })
}

/// Hardware on which rounds run.
#[derive(Clone)]
pub struct Hardware {
    /// Its configuration.
    pub config: FabricConfig,
    design: Arc<Design>,
    stop: Arc<AtomicBool>,
    /// Rounds are judged by axioms, too.
    judged: bool,
}

/// Bytes of a recording in memory.
#[derive(Clone, Default)]
struct Bytes(Arc<Mutex<Vec<u8>>>);

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Hardware {
    /// That of a configuration; whoever sets `stop` ends its rounds.
    ///
    /// # Errors
    /// A configuration that cannot be built.
    pub fn new(config: &FabricConfig, judged: bool, stop: &Arc<AtomicBool>) -> Result<Hardware, FabricError> {
        let mut config = config.clone();
        // Work-group b is to run on compute unit b.
        config.set("cta_schedule=contiguous")?;
        config.validate()?;
        let design = weft_fabric::run::design(&config, &RunOptions::default())?;
        // Where nothing keeps caches coherent no axiom is promised.
        let judged = judged && Ground::of(&config).coherent && Recording::refuses(&config).is_none();
        Ok(Hardware { config, design, stop: stop.clone(), judged })
    }

    /// Fingerprint of the hardware.
    pub fn fingerprint(&self) -> u64 {
        self.design.fingerprint()
    }

    /// Runs a program.
    pub fn run(&self, program: &Program) -> Ended {
        caught(|| self.checked(program)).unwrap_or_else(Ended::Wrong)
    }

    fn checked(&self, program: &Program) -> Ended {
        let trace = match TraceProgram::new("stress", program.trace()) {
            Ok(trace) => trace,
            Err(e) => return Ended::Refused(e.to_string()),
        };
        let options = RunOptions { stop: Some(self.stop.clone()), ..RunOptions::default() };
        let mut run = match FabricRun::on(&self.config, &self.design, Arc::new(trace), &options) {
            Ok(run) => run,
            Err(e) => return self.failed(&e),
        };
        let bytes = Bytes::default();
        let head = Recording::head(&self.config, "stress", Vec::new());
        let recording = self.judged.then(|| Recording::new(Box::new(bytes.clone()), &head));
        let recording = match recording.transpose() {
            Ok(recording) => recording,
            Err(e) => return Ended::Refused(e.to_string()),
        };
        recording.iter().for_each(|recording| run.record(recording));
        match run.run_to(MOST) {
            Err(e) => return self.failed(&e),
            Ok(false) if self.stop.load(Ordering::Relaxed) => return Ended::Stopped,
            Ok(false) => return Ended::Wrong(Fault::new("end", format!("no end after {MOST} cycles"))),
            Ok(true) => {}
        }
        let report = match run.finish() {
            Err(e) => return self.failed(&e),
            Ok(report) => report,
        };
        if let Some(difference) = report.difference.filter(|_| !report.stale) {
            return Ended::Wrong(Fault::new("memory", difference));
        }
        let judged = match recording.map(|recording| self.judge(recording, &bytes)).transpose() {
            Ok(judged) => judged.unwrap_or(0),
            Err(fault) => return Ended::Wrong(fault),
        };
        Ended::Right(Counts { rounds: 1, operations: program.operations(), judged, cycles: report.cycles })
    }

    fn failed(&self, error: &FabricError) -> Ended {
        let kind = match error {
            FabricError::Run(RunError::Assertion(report)) => &report.failure.name,
            error if error.is_input() => return Ended::Refused(error.to_string()),
            FabricError::Check(_) => "check at the end",
            _ => "run",
        };
        Ended::Wrong(Fault::new(kind, error))
    }

    /// The accesses of a recording that were judged, if all is right.
    fn judge(&self, recording: Recording, bytes: &Bytes) -> Result<u64, Fault> {
        let broken = |e: &dyn ToString| Fault::new("recording", e.to_string());
        recording.finish(None).map_err(|e| broken(&e))?;
        let bytes = std::mem::take(&mut *bytes.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut reader =
            Reader::new(Box::new(Cursor::new(bytes)), Path::new("a round")).map_err(|e| broken(&e))?;
        let Some(model) = Model::of(reader.head()) else { return Ok(0) };
        let report = judge(&mut reader, model).map_err(|e| broken(&e))?;
        match report.violations.first() {
            Some(violation) => Err(Fault { judged: true, ..Fault::new(violation.axiom, violation) }),
            None => Ok(report.counts.events + report.counts.constant),
        }
    }
}
