//! Runs a simulation with behavioural models beside it: time jumps, waveforms, and rewind to the cycles before a failure.

use crate::sim::{Failure, Sim};
use crate::wave::{Trace, WaveError};
use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A behavioural model: reads outputs, drives inputs. Everything it remembers is in what it saves.
pub trait Model {
    /// Acts in the present cycle, before the clock edge. Returns the next cycle in which it wants to act even if nothing changes
    /// (`None`: only when a unit is awake).
    fn tick(&mut self, sim: &mut Sim) -> Option<u64>;
    /// Its state as bytes.
    fn save(&self) -> Vec<u8>;
    /// Restores a state that [`Model::save`] gave.
    fn load(&mut self, bytes: &[u8]);
}

/// A failed assertion and the waveform that shows it.
#[derive(Debug)]
pub struct Report {
    /// What failed, where, when.
    pub failure: Failure,
    /// Cycles in the waveform, the failing one last; 0 when rewinding was not asked for.
    pub kept: u64,
    /// The waveform.
    pub wave: PathBuf,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { cycle, path, name, text, at } = &self.failure;
        let of = if path.is_empty() { String::new() } else { format!(" of {path}") };
        write!(f, "assertion {name}{of} failed in cycle {cycle}: {text} ({at})")?;
        if self.kept > 0 {
            let (wave, save) = (self.wave.display(), self.wave.with_extension("gtkw"));
            write!(
                f,
                "; the {} cycles up to it are in {wave}, open them with gtkwave {}",
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

struct Snapshot {
    cycle: u64,
    sim: Vec<u8>,
    models: Vec<Vec<u8>>,
}

/// A simulation with its models.
pub struct Runner {
    /// The simulation.
    pub sim: Sim,
    models: Vec<Box<dyn Model>>,
    rewind: Option<Rewind>,
    snapshots: VecDeque<Snapshot>,
    trace: Option<(Trace, u64, u64)>,
}

impl Runner {
    /// A runner without waveform; with `rewind` a failing assertion leaves a waveform of the cycles before it.
    pub fn new(sim: Sim, models: Vec<Box<dyn Model>>, rewind: Option<Rewind>) -> Runner {
        Runner { sim, models, rewind, snapshots: VecDeque::new(), trace: None }
    }

    /// Records a waveform from cycle `from` to cycle `to`.
    ///
    /// # Errors
    /// A path that cannot be written or patterns that match nothing.
    pub fn record(&mut self, path: &Path, patterns: &[String], from: u64, to: u64) -> Result<(), WaveError> {
        self.trace = Some((Trace::create(path, &self.sim, patterns)?, from, to));
        Ok(())
    }

    /// Runs until cycle `end`.
    ///
    /// # Errors
    /// A failed assertion (after the rewound waveform was written) or a waveform that cannot be written.
    pub fn run_to(&mut self, end: u64) -> Result<(), RunError> {
        while self.sim.cycle() < end {
            self.snapshot();
            self.cycle(end)?;
            if !self.sim.failures().is_empty() {
                return Err(self.failed());
            }
        }
        Ok(())
    }

    /// Closes the waveform, if one is recorded.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&mut self) -> Result<(), WaveError> {
        let Some((trace, _, to)) = self.trace.take() else {
            return Ok(());
        };
        trace.finish(self.sim.cycle().min(to), None)
    }

    fn cycle(&mut self, end: u64) -> Result<(), WaveError> {
        let mut due = Some(end);
        for model in &mut self.models {
            let wants = model.tick(&mut self.sim);
            due = due.into_iter().chain(wants).min();
        }
        let now = self.sim.cycle();
        if let Some((trace, from, to)) = &mut self.trace
            && (*from..*to).contains(&now)
        {
            trace.sample(&mut self.sim)?;
        }
        match due.filter(|d| *d > now + 1) {
            Some(due) if self.sim.asleep() => self.sim.skip(due.min(end) - now),
            _ => self.sim.step(),
        }
        Ok(())
    }

    /// Keeps two snapshots, one window apart, so that a whole window before any failure can be replayed.
    fn snapshot(&mut self) {
        let Some(rewind) = &self.rewind else { return };
        let now = self.sim.cycle();
        if self.snapshots.back().is_none_or(|s| now >= s.cycle + rewind.cycles) {
            let models = self.models.iter().map(|m| m.save()).collect();
            self.snapshots.push_back(Snapshot { cycle: now, sim: self.sim.save(), models });
            if self.snapshots.len() > 2 {
                self.snapshots.pop_front();
            }
        }
    }

    /// Replays the cycles before the first failure with full waves.
    fn failed(&mut self) -> RunError {
        let failure = self.sim.failures()[0].clone();
        let Some(rewind) = self.rewind.clone() else {
            return RunError::Assertion(Box::new(Report { failure, kept: 0, wave: PathBuf::new() }));
        };
        let snapshot = self.snapshots.pop_front().expect("one is taken before the first cycle");
        self.sim.load(&snapshot.sim).expect("saved from this simulation");
        for (model, bytes) in self.models.iter_mut().zip(&snapshot.models) {
            model.load(bytes);
        }
        let from = failure.cycle.saturating_sub(rewind.cycles - 1).max(snapshot.cycle);
        let end = failure.cycle + 1;
        let replay = (|| {
            self.record(&rewind.wave, &[], from, end)?;
            while self.sim.cycle() < end {
                self.cycle(end)?;
            }
            let (trace, ..) = self.trace.take().expect("recorded above");
            trace.finish(end, Some(failure.cycle))
        })();
        if let Err(e) = replay {
            return RunError::Wave(e);
        }
        RunError::Assertion(Box::new(Report { failure, kept: end - from, wave: rewind.wave }))
    }
}
