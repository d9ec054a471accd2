//! Rounds, one after the other or several at a time, until enough operations are made, time is up or one fails.

use crate::program::Program;
use crate::reduce::{Case, reduce};
use crate::round::{Counts, Ended, Fault, Hardware, caught};
use crate::{Ground, Shape, generator, hardware};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use weft_fabric::config::FabricConfig;
use weft_fabric::run::FabricError;

/// Rounds that share hardware: building it takes as long as some of them.
pub const TOGETHER: u64 = 8;
/// Uses of a generator.
const OF_HARDWARE: u64 = 0;
const OF_PROGRAM: u64 = 1;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Of everything drawn.
    pub seed: u64,
    /// Operations after which no group of rounds is begun.
    pub operations: u64,
    /// Time after which none is begun.
    pub budget: Option<Duration>,
    /// Groups at a time.
    pub jobs: usize,
    /// The first group: those before it were made already.
    pub made: u64,
    /// Only this round of it.
    pub only: Option<u64>,
    /// The hardware stays as it is configured.
    pub fixed: bool,
    /// Executions are judged by axioms, too.
    pub judged: bool,
    /// Runs that making a failing round small may take.
    pub reduce: u32,
}

/// A round that failed, made small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// Its number.
    pub round: u64,
    /// What it showed.
    pub fault: Fault,
    /// Its operations.
    pub operations: u64,
    /// What is left of it, and what that shows.
    pub small: (Case, Fault),
    /// Runs that it took.
    pub runs: u32,
}

/// What a campaign has made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Groups of rounds, those made before not among them.
    pub groups: u64,
    /// What was checked in them.
    pub counts: Counts,
    /// Hardware that was drawn and refused, which its keys alone did not tell.
    pub refused: Vec<String>,
    /// The first round that failed.
    pub failing: Option<Failing>,
}

/// A fabric under random programs.
pub struct Campaign {
    config: FabricConfig,
    given: Vec<String>,
    plan: Plan,
    stop: Arc<AtomicBool>,
    /// Operations made, those before among them.
    operations: AtomicU64,
}

/// What a group of rounds showed.
struct Group {
    number: u64,
    counts: Counts,
    refused: Option<String>,
    /// Round and fault.
    wrong: Option<(u64, Fault)>,
}

impl Campaign {
    /// On a fabric, of whose keys the user has set `given`, as KEY=VALUE; whoever sets `stop` ends it.
    pub fn new(config: &FabricConfig, given: &[String], plan: Plan, stop: Arc<AtomicBool>) -> Campaign {
        Campaign { config: config.clone(), given: given.to_vec(), plan, stop, operations: AtomicU64::new(0) }
    }

    /// The same, which goes on behind so many groups and operations.
    #[must_use]
    pub fn after(mut self, groups: u64, operations: u64) -> Campaign {
        self.plan.made = groups;
        self.operations = AtomicU64::new(operations);
        self
    }

    /// The program of a round on a configuration.
    pub fn program(&self, round: u64, config: &FabricConfig) -> Program {
        let (mut rng, ground) = (generator(self.plan.seed, round, OF_PROGRAM), Ground::of(config));
        let shape = Shape::draw(&mut rng, &ground);
        Program::draw(&mut rng, &ground, &shape)
    }

    /// The keys that a group of rounds changes.
    pub fn keys(&self, group: u64) -> Vec<String> {
        // The first group is on the fabric as it is.
        if self.plan.fixed || group == 0 {
            return Vec::new();
        }
        hardware::draw(&mut generator(self.plan.seed, group, OF_HARDWARE), &self.config, &self.given)
    }

    /// The fabric as it is given, with these keys besides.
    fn configured(&self, keys: &[String]) -> Result<FabricConfig, FabricError> {
        let mut config = self.config.clone();
        keys.iter().try_for_each(|key| config.set(key))?;
        Ok(config)
    }

    /// The hardware of a fabric with these keys.
    ///
    /// # Errors
    /// A configuration that cannot be built.
    pub fn hardware(&self, keys: &[String]) -> Result<Hardware, FabricError> {
        Hardware::new(&self.configured(keys)?, self.plan.judged, &self.stop)
    }

    /// Makes the rounds. `told` hears how many operations are made, with every group.
    ///
    /// # Errors
    /// A configuration that cannot be built as it is given.
    pub fn run(&self, told: &(dyn Fn(u64) + Sync)) -> Result<Made, FabricError> {
        self.hardware(&[])?;
        let (begun, before) = (Instant::now(), self.operations.load(Ordering::Relaxed));
        let (next, broken) = (AtomicU64::new(self.plan.made), AtomicBool::new(false));
        let groups: Mutex<Vec<Group>> = Mutex::new(Vec::new());
        let more = || {
            let late = self.plan.budget.is_some_and(|budget| begun.elapsed() >= budget);
            let enough = self.operations.load(Ordering::Relaxed) >= self.plan.operations;
            !late && !enough && !broken.load(Ordering::Relaxed) && !self.stop.load(Ordering::Relaxed)
        };
        let work = || {
            while more() {
                let Some(group) = self.group(next.fetch_add(1, Ordering::Relaxed)) else { break };
                let more = group.counts.operations;
                let all = self.operations.fetch_add(more, Ordering::Relaxed) + more;
                broken.fetch_or(group.wrong.is_some(), Ordering::Relaxed);
                told(all);
                groups.lock().unwrap_or_else(PoisonError::into_inner).push(group);
                if self.plan.only.is_some() {
                    break;
                }
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.plan.jobs).map(|_| scope.spawn(work)).collect();
            for worker in workers {
                worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
        });
        Ok(self.sum(before, groups.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Groups up to the first that is not complete, that failed, or with which there are enough operations.
    fn sum(&self, before: u64, mut groups: Vec<Group>) -> Made {
        groups.sort_by_key(|group| group.number);
        let mut made = Made::default();
        for (expected, group) in (self.plan.made..).zip(groups) {
            if group.number != expected {
                break;
            }
            made.groups += 1;
            made.counts += group.counts;
            made.refused.extend(group.refused);
            if let Some((round, fault)) = group.wrong {
                made.failing = Some(self.made_small(round, fault));
                break;
            }
            // Groups beside this one may have been begun before it was complete.
            if before + made.counts.operations >= self.plan.operations {
                break;
            }
        }
        made
    }

    /// The rounds of a group, or none if somebody stops them.
    fn group(&self, number: u64) -> Option<Group> {
        let mut group = Group { number, counts: Counts::default(), refused: None, wrong: None };
        let keys = self.keys(number);
        let rounds = number * TOGETHER..(number + 1) * TOGETHER;
        let hardware = match caught(|| self.hardware(&keys)) {
            Ok(Ok(hardware)) => hardware,
            Ok(Err(e)) => {
                group.refused = Some(format!("{}: {e}", keys.join(" ")));
                return Some(group);
            }
            Err(fault) => {
                group.wrong = Some((rounds.start, fault));
                return Some(group);
            }
        };
        for round in rounds.filter(|round| self.plan.only.is_none_or(|only| only == *round)) {
            match hardware.run(&self.program(round, &hardware.config)) {
                Ended::Right(counts) => group.counts += counts,
                Ended::Stopped => return None,
                Ended::Refused(why) => {
                    group.refused = Some(format!("round {round}, {}: {why}", keys.join(" ")))
                }
                Ended::Wrong(fault) => {
                    group.wrong = Some((round, fault));
                    break;
                }
            }
        }
        Some(group)
    }

    /// A failing round made small.
    fn made_small(&self, round: u64, fault: Fault) -> Failing {
        let keys = self.keys(round / TOGETHER);
        let shown = |case: &Case| {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            match caught(|| self.hardware(&case.keys).map(|hardware| hardware.run(&case.program))) {
                Ok(Ok(Ended::Wrong(fault))) | Err(fault) => Some(fault),
                Ok(_) => None,
            }
        };
        let program = match self.configured(&keys) {
            Ok(config) => self.program(round, &config),
            Err(_) => unreachable!("the keys of round {round} have been set"),
        };
        let (operations, whole) = (program.operations(), Case { keys, program });
        let mut last = fault.clone();
        let mut fails = |case: &Case| match shown(case).filter(|now| now.kind == fault.kind) {
            Some(now) => {
                last = now;
                true
            }
            None => false,
        };
        let (small, runs) = reduce(&whole, self.plan.reduce, &mut fails);
        Failing { round, fault, operations, small: (small, last), runs }
    }
}
