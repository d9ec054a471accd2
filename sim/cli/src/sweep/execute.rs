//! Making the runs of a sweep, several at a time.

use super::board::Board;
use super::columns::{Cells, failed, measured, planned};
use super::plan::{Plan, Run, hardware};
use super::results::Results;
use crate::signals::{self, Graceful};
use anyhow::Error;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use weft_engine::runner::Rewind;
use weft_engine::{Design, Probes};
use weft_fabric::run::{FabricError, FabricRun, RunOptions, RunReport};

/// Cycles between two looks at whether the sweep is to end.
const SLICE: u64 = 20_000;

/// Time between two looks at whether a signal has asked the sweep to end.
const LOOK: Duration = Duration::from_millis(50);

/// Makes the wanted runs that have no row yet on `jobs` threads and adds their rows as they end, telling the board. A failed run is a row that says so.
/// Where a signal ends the program, `parting` has the rows so far first.
///
/// # Errors
/// Results that cannot be written; the runs in flight are then given up.
pub fn execute(
    plan: &Plan,
    results: &mut Results,
    jobs: usize,
    wanted: &dyn Fn(&Run) -> bool,
    board: &Board,
    parting: &dyn Fn(&Results) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut todo, there): (Vec<&Run>, Vec<&Run>) =
        plan.runs.iter().filter(|run| wanted(run)).partition(|run| !results.has(run.number));
    there.iter().for_each(|run| board.was_there(&plan.sweep.workload(&run.labels)));
    // Runs on the same hardware follow one another and share it. Rows are put in order when all are there.
    todo.sort_by_cached_key(|run| hardware(&run.config));
    if !todo.is_empty() {
        results.begin()?;
    }
    let designs = Designs::default();
    let _graceful = Graceful::new();
    let jobs = jobs.min(todo.len());
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let outcome = std::thread::scope(|scope| {
        for job in 0..jobs {
            let sender = sender.clone();
            let (todo, next, stop, sweep) = (&todo, &next, &stop, &plan.sweep);
            let designs = &designs;
            scope.spawn(move || {
                // Keeps the hardware for the next run.
                let mut kept = None;
                while let Some(run) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let wave = PathBuf::from(format!("vcd_out/{}-{}.fst", sweep.name, run.number + 1));
                    let begin = Instant::now();
                    board.tell(job, format!("{}: building", run.words()));
                    let told = |cycle: u64| {
                        board.tell(job, format!("{}: cycle {cycle}", run.words()));
                        !stop.load(Ordering::Relaxed)
                    };
                    let job = || {
                        let options = options(wave);
                        let design = designs.of(run, &options)?;
                        drop(kept.replace(design.clone()));
                        simulate(run, &design, &options, sweep.max_cycles, &told)
                    };
                    let Some(outcome) = guarded(job) else { return };
                    let mut cells = planned(run, sweep);
                    cells.extend(outcome);
                    if sender.send((run, cells, begin.elapsed())).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let written = loop {
            if let Some(signal) = signals::asked() {
                // What the jobs have begun would be made again in any case, so nobody waits for them.
                board.finish();
                let said = kept(plan, results, wanted);
                match parting(results) {
                    Ok(()) => signals::end(signal, &said),
                    Err(error) => signals::end(signal, &format!("{said}; {error:#}")),
                }
            }
            match receiver.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break Ok(()),
                Ok((run, cells, time)) => match results.append(run.number, &cells) {
                    Err(error) => break Err(error),
                    Ok(()) => board.ended(&plan.sweep.workload(&run.labels), time),
                },
            }
        };
        stop.store(true, Ordering::Relaxed);
        written
    });
    board.idle();
    outcome
}

/// What a sweep that is ended early says of its results.
fn kept(plan: &Plan, results: &Results, wanted: &dyn Fn(&Run) -> bool) -> String {
    let numbers: Vec<usize> = plan.runs.iter().filter(|run| wanted(run)).map(|run| run.number).collect();
    let (there, all) = (numbers.iter().filter(|number| results.has(**number)).count(), numbers.len());
    let path = results.path().display();
    format!("{there} of {all} runs are kept in {path}, and the same command goes on with the others")
}

/// A run whose failure of any kind is its own; `None` when the sweep is given up.
fn guarded(job: impl FnOnce() -> Result<Option<RunReport>, String>) -> Option<Cells> {
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(job));
    Some(match outcome {
        Ok(Ok(Some(report))) => measured(&report),
        Ok(Ok(None)) => return None,
        Ok(Err(error)) => failed(&error),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            failed(&format!("the program itself failed: {text}"))
        }
    })
}

/// Hardware that is in use, by what tells it apart.
#[derive(Default)]
struct Designs(Mutex<BTreeMap<String, Arc<Mutex<Weak<Design>>>>>);

impl Designs {
    /// The hardware of a run: another job's if it is the same, else a new one.
    fn of(&self, run: &Run, options: &RunOptions) -> Result<Arc<Design>, String> {
        // A job that has panicked leaves these as they were.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = all.entry(hardware(&run.config)).or_default().clone();
        drop(all);
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(design) = place.upgrade() {
            return Ok(design);
        }
        let design = weft_fabric::run::design(&run.config, options).map_err(told)?;
        *place = Arc::downgrade(&design);
        Ok(design)
    }
}

fn options(wave: PathBuf) -> RunOptions {
    RunOptions { probes: Probes::All, rewind: Some(Rewind { cycles: 1000, wave }), ..RunOptions::default() }
}

/// As `weft run` does it, with the same checks; `go_on` hears of the cycle now and then and may give the run up.
fn simulate(
    run: &Run,
    design: &Arc<Design>,
    options: &RunOptions,
    limit: u64,
    go_on: &dyn Fn(u64) -> bool,
) -> Result<Option<RunReport>, String> {
    let mut fabric = FabricRun::on(&run.config, design, run.program.clone(), options).map_err(told)?;
    while !fabric.run_to((fabric.cycle() + SLICE).min(limit)).map_err(told)? {
        if fabric.cycle() >= limit {
            return Err(format!(
                "the run has not ended after {limit} cycles; max_cycles in the sweep file sets the limit"
            ));
        }
        if !go_on(fabric.cycle()) {
            return Ok(None);
        }
    }
    fabric.finish().map(Some).map_err(told)
}

/// What a fabric says of its failure.
fn told(error: FabricError) -> String {
    error.to_string()
}
