//! Runs a simulation with behavioural models beside it: time jumps, waveforms, and rewind to the cycles before a failure.

use crate::activity::Activity;
use crate::sim::{Checkpoint, Sim};
use crate::state::Failure;
use crate::team::Team;
use crate::wave::{Trace, WaveError, save_path};
use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What a check of a model found wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// One clear text.
    pub text: String,
    /// Last cycle worth seeing, when that is before the present one.
    pub shown: Option<u64>,
    /// Found by a look made only now and then, so that a closer look may find it earlier: [`Model::look_closely`].
    pub late: bool,
    /// The cycle in which it was wrong, when that is before the present one.
    pub at: Option<u64>,
}

/// What a cycle of the models has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// The next cycle in which they want to act even if nothing changes (`None`: only when a unit is awake).
    pub due: Option<u64>,
    /// They have clocked the simulation, too.
    pub clocked: bool,
}

impl From<String> for Problem {
    fn from(text: String) -> Problem {
        Problem { text, shown: None, late: false, at: None }
    }
}

/// Behavioural models beside a simulation: they read outputs and drive inputs. A clone remembers everything.
pub trait Model: Clone + Send {
    /// Acts in the present cycle, before the clock edge. Returns the next cycle in which it wants to act even if nothing changes
    /// (`None`: only when a unit is awake).
    ///
    /// # Errors
    /// What a check of the model found wrong; the run then ends as by a failed assertion.
    fn tick(&mut self, sim: &mut Sim) -> Result<Option<u64>, Problem>;

    /// The same on the threads of a team; results do not differ. Nobody looks at cycles before `until`, so the
    /// simulation may be clocked, too, up to it, and what is found wrong may be told later ([`Problem::at`]).
    /// Before anybody does look, [`Sim::settle`] and [`Model::catch_up`]. After a failed assertion some parts
    /// may be further than others.
    ///
    /// # Errors
    /// As [`Model::tick`].
    fn tick_by(&mut self, sim: &mut Sim, team: &mut Team, until: u64) -> Result<Tick, Problem> {
        let _ = (team, until);
        Ok(Tick { due: self.tick(sim)?, clocked: false })
    }

    /// Tells what [`Model::tick_by`] has not yet told, and has the whole state here. Before it nothing is cloned,
    /// saved or looked at; after it [`Sim::settle`].
    ///
    /// # Errors
    /// As [`Model::tick`].
    fn catch_up(&mut self, sim: &mut Sim) -> Result<(), Problem> {
        let _ = sim;
        Ok(())
    }

    /// Makes checks that look now and then look often from now on: a replay of a failure is told in the cycle in which it first shows.
    fn look_closely(&mut self) {}

    /// The last cycle in which something moved. While nothing does, no snapshots are taken, so that the moment in which it stopped can be replayed.
    fn moved(&self) -> Option<u64> {
        None
    }

    /// Nothing is left to do.
    fn finished(&self) -> bool {
        false
    }

    /// Cycles so far that a waveform should name, in order.
    fn marks(&self) -> Vec<(u64, String)> {
        Vec::new()
    }
}

/// A failed assertion and the waveform that shows it.
#[derive(Debug)]
pub struct Report {
    /// What failed, where, when.
    pub failure: Failure,
    /// Cycles in the waveform; 0 when rewinding was not asked for.
    pub kept: u64,
    /// Last cycle in the waveform: the failing one, or, when nothing has moved for long, one soon after it stopped.
    pub shown: u64,
    /// The waveform.
    pub wave: PathBuf,
}

impl Report {
    /// The failure without waveform.
    fn bare(failure: &Failure) -> Report {
        Report { failure: failure.clone(), kept: 0, shown: failure.cycle, wave: PathBuf::new() }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { cycle, path, name, text, at } = &self.failure;
        let of = if path.is_empty() { String::new() } else { format!(" of {path}") };
        match at.as_str() {
            "" => write!(f, "{name} failed in cycle {cycle}: {text}")?,
            _ => write!(f, "assertion {name}{of} failed in cycle {cycle}: {text} ({at})")?,
        }
        if self.kept > 0 {
            let (wave, save) = (self.wave.display(), save_path(&self.wave));
            // Behind a text of several lines a line of its own.
            let glue = if text.contains('\n') { "\n" } else { "; " };
            let up_to = if self.shown == *cycle { "it".into() } else { format!("cycle {}", self.shown) };
            write!(
                f,
                "{glue}the {} cycles up to {up_to} are in {wave}, open them with gtkwave {}",
                self.kept,
                save.display()
            )?;
        }
        Ok(())
    }
}

/// Why a run stopped before its end.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum RunError {
    #[error("{0}")]
    Assertion(Box<Report>),
    #[error("{}; and its waveform is missing: {cause}", Report::bare(.failure))]
    Unseen { failure: Box<Failure>, cause: WaveError },
    #[error(transparent)]
    Wave(#[from] WaveError),
}

/// What to record without being asked: snapshots for rewinding.
#[derive(Clone, Debug)]
pub struct Rewind {
    /// Cycles of waveform wanted before a failure.
    pub cycles: u64,
    /// Waveform written on failure.
    pub wave: PathBuf,
}

struct Snapshot<M> {
    sim: Checkpoint,
    model: M,
}

/// Looks at the simulation in a cycle, before its clock edge.
pub type Watch = Box<dyn FnMut(&Sim) + Send>;

/// Hears a run without changing it: jumps over cycles in which nothing happens are made nevertheless, and what is replayed after a failure is not told
/// again.
pub trait Listener: Send {
    /// A cycle that is clocked next, or jumped from; all inputs are driven.
    fn cycle(&mut self, sim: &Sim);

    /// The run is over or has failed: a last look, before anything is replayed.
    fn end(&mut self, sim: &Sim);
}

/// A simulation with its models.
pub struct Runner<M: Model> {
    /// The simulation.
    pub sim: Sim,
    /// The models.
    pub model: M,
    rewind: Option<Rewind>,
    snapshots: VecDeque<Snapshot<M>>,
    trace: Option<(Trace, u64, u64)>,
    watch: Option<Watch>,
    listener: Option<Box<dyn Listener>>,
    team: Option<Team>,
}

/// Fewest cycles from one snapshot to the next, and limbs of the state for which there is another one: copying a
/// large state more often would cost more than it saves.
const SNAPSHOT_CYCLES: u64 = 20_000;
const LIMBS_PER_CYCLE: u64 = 32;

impl<M: Model> Runner<M> {
    /// A runner without waveform; with `rewind` a failure leaves a waveform of the cycles before it.
    pub fn new(sim: Sim, model: M, rewind: Option<Rewind>) -> Runner<M> {
        Runner {
            sim,
            model,
            rewind,
            snapshots: VecDeque::new(),
            trace: None,
            watch: None,
            listener: None,
            team: None,
        }
    }

    /// Runs on the threads of a team from now on, which pays when the simulation is cut into parts
    /// ([`Sim::cut`]). Results do not depend on it.
    pub fn share(&mut self, team: Team) {
        self.team = Some(team);
    }

    /// The simulation, the models and the threads of a team at work on what somebody else says.
    ///
    /// # Panics
    /// Without a team.
    pub fn serve(&mut self, work: impl FnOnce(&mut Sim, &mut M, &mut Team)) {
        let team = self.team.as_mut().expect("whoever serves has a team");
        work(&mut self.sim, &mut self.model, team);
    }

    /// Records a waveform from cycle `from` to cycle `to`.
    ///
    /// # Errors
    /// A path that cannot be written or patterns that match nothing.
    pub fn record(&mut self, path: &Path, patterns: &[String], from: u64, to: u64) -> Result<(), WaveError> {
        self.trace = Some((Trace::create(path, &self.sim, patterns)?, from, to));
        Ok(())
    }

    /// Calls `watch` in every cycle from now on, with all inputs driven. No cycle is jumped over then.
    pub fn watch(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    /// Tells `listener` of every cycle from now on.
    pub fn listen(&mut self, listener: Box<dyn Listener>) {
        self.listener = Some(listener);
    }

    /// Runs until cycle `end`, or until the models have finished.
    ///
    /// # Errors
    /// A failed assertion or check (after the rewound waveform was written) or a waveform that cannot be written.
    pub fn run_to(&mut self, end: u64) -> Result<(), RunError> {
        while self.sim.cycle() < end && !self.model.finished() {
            let found = match self.snapshot() {
                Ok(()) => self.cycle(end)?,
                Err(problem) => Some(problem),
            };
            if let Some(problem) = found {
                return Err(self.wrong(problem));
            }
            if let Some(failure) = self.sim.failures().first() {
                return Err(self.failed(failure.clone(), None, false));
            }
        }
        let caught_up = self.model.catch_up(&mut self.sim);
        self.sim.settle();
        caught_up.map_err(|problem| self.wrong(problem))
    }

    /// A check found a problem in the present cycle, or before it.
    fn wrong(&mut self, problem: Problem) -> RunError {
        let now = self.sim.cycle();
        let (shown, late) = (problem.shown, problem.late);
        self.failed(check_failure(now, problem), shown, late)
    }

    /// Closes the waveform, if one is recorded; a window that the run has not reached leaves no file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&mut self) -> Result<(), WaveError> {
        match self.trace.take() {
            Some((trace, from, to)) if self.sim.cycle() > from => {
                trace.finish_marked(self.sim.cycle().min(to), None, self.model.marks())
            }
            _ => Ok(()),
        }
    }

    /// A last look for who listens; a second call does nothing.
    pub fn end_listening(&mut self) {
        if let Some(mut listener) = self.listener.take() {
            listener.end(&self.sim);
        }
    }

    /// One cycle, or a jump over cycles in which nothing happens; gives what a check found wrong.
    fn cycle(&mut self, end: u64) -> Result<Option<Problem>, WaveError> {
        let now = self.sim.cycle();
        let seen = self.listener.is_some() || self.watch.is_some() || self.trace.is_some();
        let until = if seen { now } else { self.next_snapshot(end) };
        let ticked = match &mut self.team {
            None => self.model.tick(&mut self.sim).map(|due| Tick { due, clocked: false }),
            Some(team) => self.model.tick_by(&mut self.sim, team, until),
        };
        Activity::WAVES.begin();
        if let Some((trace, from, to)) = &mut self.trace
            && (*from..*to).contains(&now)
            && let Err(error) = trace.sample(&mut self.sim)
        {
            // What is missing from the file is not made up for by a later end of it.
            self.trace = None;
            return Err(error);
        }
        if let Some(listener) = &mut self.listener {
            Activity::LISTENER.begin();
            listener.cycle(&self.sim);
        }
        Activity::SCHEDULE.begin();
        let due = match ticked {
            Ok(Tick { clocked: true, .. }) => return Ok(None),
            Ok(Tick { due, .. }) => due.unwrap_or(end).min(end),
            Err(problem) => return Ok(Some(problem)),
        };
        if let Some(watch) = &mut self.watch {
            watch(&self.sim);
        }
        if due > now + 1 && self.watch.is_none() && self.sim.asleep() {
            self.sim.skip(due - now);
        } else if let Some(team) = &mut self.team {
            self.sim.step_by(team);
        } else {
            self.sim.step();
        }
        Ok(None)
    }

    /// The next cycle up to `end` at whose begin a snapshot may be due.
    fn next_snapshot(&self, end: u64) -> u64 {
        let now = self.sim.cycle();
        match (&self.rewind, self.snapshots.back()) {
            (Some(rewind), Some(last)) => {
                end.min((last.sim.cycle() + self.snapshots_apart(rewind)).max(now + 1))
            }
            _ => end,
        }
    }

    /// Cycles from one snapshot to the next.
    fn snapshots_apart(&self, rewind: &Rewind) -> u64 {
        let size = self.sim.limbs_in_all() as u64 / LIMBS_PER_CYCLE;
        rewind.cycles.max(SNAPSHOT_CYCLES).max(size)
    }

    /// Keeps two snapshots, at least one window apart, so that a whole window before any failure can be replayed.
    fn snapshot(&mut self) -> Result<(), Problem> {
        let Some(rewind) = &self.rewind else { return Ok(()) };
        let apart = self.snapshots_apart(rewind);
        if self.snapshots.back().is_some_and(|s| self.sim.cycle() < s.sim.cycle() + apart) {
            return Ok(());
        }
        self.model.catch_up(&mut self.sim)?;
        self.sim.settle();
        if self.model.moved().is_none_or(|last| self.sim.cycle() <= last + rewind.cycles) {
            let _noted = Activity::SNAPSHOT.within();
            self.snapshots.push_back(Snapshot { sim: self.sim.checkpoint(), model: self.model.clone() });
            if self.snapshots.len() > 2 {
                self.snapshots.pop_front();
            }
        }
        Ok(())
    }

    /// Replays the cycles before a failure with full waves, up to cycle `shown` if given. A failure told `late` is looked for in a first replay. A
    /// waveform that was asked for ends, marked, at the failure.
    fn failed(&mut self, mut failure: Failure, shown: Option<u64>, late: bool) -> RunError {
        self.end_listening();
        // What is replayed is told in its cycle.
        self.team = None;
        let (asked, trace) = (failure.cycle + 1, self.trace.take());
        if let Some((trace, from, to)) = trace
            && asked > from
            && let Err(e) = trace.finish_marked(asked.min(to), Some(failure.cycle), self.model.marks())
        {
            return RunError::Unseen { failure: Box::new(failure), cause: e };
        }
        let Some(rewind) = self.rewind.clone() else {
            return RunError::Assertion(Box::new(Report::bare(&failure)));
        };
        let snapshot = self.snapshots.pop_front().expect("one is taken before the first cycle");
        if late && let Some(earlier) = self.look_for(&snapshot, failure.cycle) {
            failure = earlier;
        }
        let start = snapshot.sim.cycle();
        let last = shown.map_or(failure.cycle, |shown| shown.clamp(start, failure.cycle));
        let (from, end) = (last.saturating_sub(rewind.cycles - 1).max(start), last + 1);
        if let Err(cause) = self.replay(snapshot, &rewind.wave, from, end) {
            return RunError::Unseen { failure: Box::new(failure), cause };
        }
        RunError::Assertion(Box::new(Report { failure, kept: end - from, shown: last, wave: rewind.wave }))
    }

    /// Runs from a snapshot with closer checks; gives what they find before cycle `end`.
    fn look_for(&mut self, snapshot: &Snapshot<M>, end: u64) -> Option<Failure> {
        self.sim.restore(snapshot.sim.clone());
        self.model = snapshot.model.clone();
        self.model.look_closely();
        while self.sim.cycle() < end {
            let now = self.sim.cycle();
            // Nothing is recorded, so that no waveform can fail.
            if let Ok(Some(problem)) = self.cycle(end) {
                return Some(check_failure(now, problem));
            }
        }
        None
    }

    /// Runs from a snapshot and records the cycles `from..end`, the last one marked.
    fn replay(&mut self, snapshot: Snapshot<M>, wave: &Path, from: u64, end: u64) -> Result<(), WaveError> {
        self.sim.restore(snapshot.sim);
        self.model = snapshot.model;
        if let Some(folder) = wave.parent() {
            // A folder that cannot be made is told as a waveform that cannot be written.
            let _ = std::fs::create_dir_all(folder);
        }
        self.record(wave, &[], from, end)?;
        while self.sim.cycle() < end && self.cycle(end)?.is_none() {}
        let (trace, ..) = self.trace.take().expect("recorded above");
        trace.finish_marked(end, Some(end - 1), self.model.marks())
    }
}

/// What a check of a model found in a cycle, as a failure.
fn check_failure(cycle: u64, problem: Problem) -> Failure {
    let cycle = problem.at.unwrap_or(cycle);
    Failure { cycle, path: String::new(), name: "check".into(), text: problem.text, at: String::new() }
}
