//! Making the runs of a sweep, several at a time.

use super::begun::Begun;
use super::board::Board;
use super::columns::{Cells, failed, measured, planned};
use super::file::SweepFile;
use super::plan::{Plan, Run, hardware};
use super::results::Results;
use crate::memory::lack;
use crate::signals::{self, Graceful};
use anyhow::Error;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use weft_engine::runner::Rewind;
use weft_engine::{Design, Probes};
use weft_fabric::run::{FabricError, FabricRun, RunOptions, RunReport};

/// Cycles between two looks at whether the sweep is given up.
const SLICE: u64 = 20_000;

/// Host time of a run from one snapshot to the next.
const EVERY: Duration = Duration::from_mins(10);

/// Time between two looks at whether a signal has asked the sweep to end.
const LOOK: Duration = Duration::from_millis(50);

/// Makes the wanted runs that have no row yet on `jobs` threads and adds their rows as they end, telling the board. A failed run is a row that says so.
/// Where a signal ends the program, the runs in the middle are kept ([`Begun`]), and `parting` has the rows so far.
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
    let _graceful = Graceful::new();
    let jobs = jobs.min(todo.len());
    forewarn(&todo, jobs).into_iter().for_each(|warning| board.say(&warning));
    let work = Work::new(plan, todo, Begun::of(results.path()), board);
    let (sender, receiver) = mpsc::channel();
    let outcome = std::thread::scope(|scope| {
        for job in 0..jobs {
            let (sender, work) = (sender.clone(), &work);
            scope.spawn(move || work.job(job, &sender));
        }
        drop(sender);
        let written = work.collect(&receiver, results, &|results| {
            board.finish();
            (kept(plan, results, wanted, &work.begun), parting(results))
        });
        work.stop.store(true, Ordering::Relaxed);
        written
    });
    board.idle();
    outcome
}

/// What is to be said where the largest of these runs, so many at a time, take more memory than there is.
fn forewarn(todo: &[&Run], jobs: usize) -> Option<String> {
    let mut all: Vec<u64> = todo.iter().map(|run| run.memory).collect();
    all.sort_unstable_by_key(|bytes| Reverse(*bytes));
    let remedy = match jobs {
        ..=1 => "take smaller inputs, or a machine that has more",
        _ => "make fewer at a time (--jobs), take smaller inputs, or a machine that has more",
    };
    lack(all[..jobs].iter().sum(), &format!("the largest {jobs} of the runs take"), remedy)
}

/// A run that has ended, its cells and the time it took.
type Ended<'a> = (&'a Run, Cells, Duration);

/// What the jobs of a sweep share.
struct Work<'a> {
    sweep: &'a SweepFile,
    todo: Vec<&'a Run>,
    /// Place in `todo` of the next run that is to be made.
    next: AtomicUsize,
    /// The sweep is given up.
    stop: AtomicBool,
    /// Jobs that have a run whose cycles are worth keeping.
    running: AtomicUsize,
    designs: Designs,
    begun: Begun,
    /// Host time of a run from one snapshot to the next.
    every: Duration,
    board: &'a Board,
}

impl<'a> Work<'a> {
    fn new(plan: &'a Plan, todo: Vec<&'a Run>, begun: Begun, board: &'a Board) -> Work<'a> {
        Work {
            sweep: &plan.sweep,
            todo,
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            running: AtomicUsize::new(0),
            designs: Designs::default(),
            begun,
            every: EVERY,
            board,
        }
    }

    /// Makes runs until there are no more, or the sweep ends.
    fn job(&self, job: usize, sender: &Sender<Ended<'a>>) {
        // Keeps the hardware for the next run.
        let mut kept = None;
        while let Some(&run) = self.todo.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let began = Instant::now();
            self.board.tell(job, format!("{}: building", run.words()));
            let wave = PathBuf::from(format!("vcd_out/{}-{}.fst", self.sweep.name, run.number + 1));
            let options = options(wave);
            // Until its row is sent.
            let mut running = None;
            let outcome = guarded(|| {
                let design = self.designs.of(run, &options)?;
                drop(kept.replace(design.clone()));
                let mut fabric = self.begin(run, &design, &options)?;
                running = Some(Running::new(&self.running));
                self.simulate(job, run, &mut fabric)
            });
            let Some(outcome) = outcome else { return };
            let mut cells = planned(run, self.sweep);
            cells.extend(outcome);
            if sender.send((run, cells, began.elapsed())).is_err() || signals::asked().is_some() {
                return;
            }
        }
    }

    /// Adds rows as runs end, until there are no more. A signal ends the program when all that the jobs have begun is kept; what they only build
    /// is given up. `parting` gives what is then said, and what went wrong.
    fn collect(
        &self,
        receiver: &Receiver<Ended<'a>>,
        results: &mut Results,
        parting: &dyn Fn(&Results) -> (String, Result<(), Error>),
    ) -> Result<(), Error> {
        loop {
            if let Some(signal) = signals::asked().filter(|_| self.running.load(Ordering::SeqCst) == 0) {
                let last = receiver.try_iter().try_for_each(|ended| self.ended(results, ended));
                let (said, left) = parting(results);
                match last.and(left) {
                    Ok(()) => signals::end(signal, &said),
                    Err(error) => signals::end(signal, &format!("{said}; {error:#}")),
                }
            }
            match receiver.recv_timeout(LOOK) {
                Ok(ended) => self.ended(results, ended)?,
                Err(RecvTimeoutError::Timeout) => {}
                // Jobs that a signal has ended have runs left.
                Err(RecvTimeoutError::Disconnected) if signals::asked().is_some() => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    /// The fabric of a run, where an earlier start has left it.
    fn begin(&self, run: &Run, design: &Arc<Design>, options: &RunOptions) -> Result<FabricRun, String> {
        let anew = || FabricRun::on(&run.config, design, run.program.clone(), options).map_err(told);
        let mut fabric = anew()?;
        let resumed = self.begun.find(run).and_then(|found| match found {
            Some(snapshot) => Ok(fabric.resume(&snapshot).map(|()| Some(snapshot.cycle()))?),
            None => Ok(None),
        });
        match resumed {
            Ok(None) => {}
            Ok(Some(cycle)) => self.board.say(&format!("{} goes on in cycle {cycle}", run.words())),
            Err(cause) => {
                self.board.say(&format!("{} begins anew: {cause:#}", run.words()));
                fabric = anew()?;
            }
        }
        Ok(fabric)
    }

    /// As `weft run` does it, with the same checks; nothing of a run that is given up or kept for later.
    fn simulate(&self, job: usize, run: &Run, fabric: &mut FabricRun) -> Result<Option<RunReport>, String> {
        let limit = self.sweep.max_cycles;
        let mut kept = Instant::now();
        while !fabric.run_to((fabric.cycle() + SLICE).min(limit)).map_err(told)? {
            if fabric.cycle() >= limit {
                return Err(format!(
                    "the run has not ended after {limit} cycles; max_cycles in the sweep file sets the limit"
                ));
            }
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let asked = signals::asked().is_some();
            if asked || kept.elapsed() >= self.every {
                if let Err(cause) = self.begun.keep(run, fabric) {
                    self.board.say(&format!("{} is not kept as it is: {cause:#}", run.words()));
                }
                kept = Instant::now();
            }
            if asked {
                return Ok(None);
            }
            self.board.tell(job, format!("{}: cycle {}", run.words(), fabric.cycle()));
        }
        fabric.end().map(Some).map_err(told)
    }

    /// Adds the row of a run.
    fn ended(&self, results: &mut Results, (run, cells, time): Ended<'a>) -> Result<(), Error> {
        results.append(run.number, &cells)?;
        self.begun.forget(run);
        self.board.ended(&self.sweep.workload(&run.labels), time);
        Ok(())
    }
}

/// Counts a job whose run is worth keeping while it is held.
struct Running<'a>(&'a AtomicUsize);

impl<'a> Running<'a> {
    fn new(count: &'a AtomicUsize) -> Running<'a> {
        count.fetch_add(1, Ordering::SeqCst);
        Running(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What a sweep that is ended early says of its results.
fn kept(plan: &Plan, results: &Results, wanted: &dyn Fn(&Run) -> bool, begun: &Begun) -> String {
    let numbers = plan.runs.iter().filter(|run| wanted(run)).map(|run| run.number);
    let (there, left): (Vec<usize>, Vec<usize>) = numbers.partition(|number| results.has(*number));
    let (of, path) = (there.len() + left.len(), results.path().display());
    let said = format!(
        "{} of {of} runs are kept in {path}, and the same command goes on with the others",
        there.len()
    );
    match begun.count(plan, &left) {
        0 => said,
        middle => format!("{said}, {middle} of them from where they are (in {})", begun.folder().display()),
    }
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
    RunOptions {
        probes: Probes::All,
        rewind: Some(Rewind { cycles: 1000, wave }),
        stop: Some(signals::flag()),
        ..RunOptions::default()
    }
}

/// What a fabric says of its failure.
fn told(error: FabricError) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests;
