//! What a list of runs will take, before any of them begins: from some thousand cycles of each run, and from how many operations its whole
//! program has.

use crate::memory::resident;
use crate::sweep::board::words;
use crate::sweep::plan::{Plan, Run, hardware};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use weft_engine::Design;
use weft_fabric::run::{FabricRun, RunOptions};
use weft_workload::Program;
use weft_workload::ideal::{self, Order};

/// Cycles of a run that are looked at in one go.
const SLICE: u64 = 1_000;

/// Cycles that are looked at in any case, and at most.
const SAMPLE: [u64; 2] = [5_000, 40_000];

/// Share of a program that is enough to tell the rest from.
const ENOUGH: f64 = 0.05;

/// A task's memory is a multiple of this, in bytes.
const STEP: u64 = 256 << 20;

/// Looks at runs.
pub struct Estimator {
    bar: ProgressBar,
    estimate: Estimate,
    /// Operations of programs, by their address.
    operations: BTreeMap<usize, Option<u64>>,
}

/// What runs will take.
#[derive(Clone, Debug, Default)]
pub struct Estimate {
    /// Runs that were looked at, and of which nothing could be said.
    runs: usize,
    unknown: usize,
    /// Of one run after the other.
    all: Duration,
    longest: Duration,
    /// Most bytes of a process with one of them.
    bytes: u64,
}

impl Estimator {
    /// Has looked at none.
    pub fn new() -> Estimator {
        let bar = ProgressBar::new(0);
        if let Ok(style) =
            ProgressStyle::with_template("estimating {elapsed} [{bar:30}] {pos} of {len} runs, {eta} left")
        {
            bar.set_style(style.progress_chars("=> "));
        }
        Estimator { bar, estimate: Estimate::default(), operations: BTreeMap::new() }
    }

    /// Looks at these runs of a plan.
    pub fn sample(&mut self, plan: &Plan, numbers: &[usize]) {
        let mut runs: Vec<&Run> = numbers.iter().map(|number| &plan.runs[*number]).collect();
        runs.sort_by_cached_key(|run| hardware(&run.config));
        self.bar.inc_length(runs.len() as u64);
        // Hardware, and how long it takes to build: each task does so.
        let mut kept: Option<(String, Arc<Design>, Duration)> = None;
        for run in runs {
            let tag = hardware(&run.config);
            if kept.as_ref().is_none_or(|(known, ..)| *known != tag) {
                drop(kept.take());
                let begun = Instant::now();
                // What cannot be built fails as a run, with its reason.
                let design = weft_fabric::run::design(&run.config, &RunOptions::default());
                kept = design.ok().map(|design| (tag, design, begun.elapsed()));
            }
            let time = kept.as_ref().and_then(|(_, design, build)| Some(*build + self.time(run, design)?));
            self.estimate.add(time);
            self.bar.inc(1);
        }
        // Programs of another plan may lie at the same address.
        self.operations.clear();
    }

    /// The whole.
    pub fn end(self) -> Estimate {
        self.bar.finish_and_clear();
        self.estimate
    }

    /// How long a run will take on hardware that is built, and its memory into the estimate.
    fn time(&mut self, run: &Run, design: &Arc<Design>) -> Option<Duration> {
        let begun = Instant::now();
        let mut fabric =
            FabricRun::on(&run.config, design, run.program.clone(), &RunOptions::default()).ok()?;
        let start = begun.elapsed();
        let key = Arc::as_ptr(&run.program).addr();
        let all = *self.operations.entry(key).or_insert_with(|| operations(&*run.program));
        // Time and operations at the end of each slice.
        let mut seen = vec![(0.0, 0)];
        let begun = Instant::now();
        let ended = loop {
            let ended = fabric.run_to(fabric.cycle() + SLICE).ok()?;
            seen.push((begun.elapsed().as_secs_f64(), fabric.operations()));
            let enough = all.is_some_and(|all| fabric.operations() as f64 >= ENOUGH * all as f64);
            if ended || fabric.cycle() >= SAMPLE[usize::from(!enough)] {
                break ended;
            }
        };
        // A run keeps two copies of its state to go back to.
        let copies = 2 * 8 * fabric.sim().limbs_in_all() as u64;
        // What a whole run comes to is seen of few cycles only in part.
        let bytes = (resident() + copies).max(fabric.footprint().bytes());
        self.estimate.bytes = self.estimate.bytes.max(bytes);
        let begin = start.as_secs_f64();
        let seconds = if ended { Some(begun.elapsed().as_secs_f64()) } else { whole(&seen, all?) };
        seconds.map(|seconds| Duration::from_secs_f64(begin + seconds))
    }
}

/// Seconds of a whole run of so many operations, from seconds and operations at the end of each slice: caches are cold and the host may copy at the
/// beginning, so that the later half of what was seen tells of the rest.
fn whole(seen: &[(f64, u64)], all: u64) -> Option<f64> {
    let (half, last) = (seen[seen.len() / 2], seen[seen.len() - 1]);
    let done = (last.1 - half.1) as f64;
    (done > 0.0).then(|| last.0 + (last.0 - half.0) / done * all.saturating_sub(last.1) as f64)
}

/// Operations of a whole program, where an ideal machine can run it.
fn operations(program: &dyn Program) -> Option<u64> {
    ideal::run(program, Order::Forward).ok().map(|run| run.stats.operations)
}

impl Estimate {
    fn add(&mut self, time: Option<Duration>) {
        self.runs += 1;
        match time {
            None => self.unknown += 1,
            Some(time) => {
                self.all += time;
                self.longest = self.longest.max(time);
            }
        }
    }

    /// Bytes that a task should ask for that makes so many runs at a time.
    pub fn memory(&self, jobs: usize) -> u64 {
        jobs as u64 * (self.bytes + self.bytes / 4).next_multiple_of(STEP).max(2 * STEP)
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.runs - self.unknown;
        // Those of which nothing is known count as the mean of the others.
        let all = if known > 0 { self.all * self.runs as u32 / known as u32 } else { Duration::ZERO };
        write!(
            f,
            "estimate: {} runs take about {} of CPU time, the longest {}",
            self.runs,
            words(all),
            words(self.longest)
        )?;
        write!(
            f,
            ", and {} MiB of memory each (by {} cycles or more of each run)",
            self.bytes.div_ceil(1 << 20),
            SAMPLE[0]
        )?;
        match self.unknown {
            0 => Ok(()),
            n => write!(f, "; of {n} of them nothing can be said, and they count as the mean of the others"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_half_tells_of_the_rest() {
        // A second without an operation, then ten in each of two.
        assert_eq!(whole(&[(0.0, 0), (1.0, 0), (2.0, 10), (3.0, 20)], 100), Some(11.0));
        assert_eq!(whole(&[(0.0, 0), (1.0, 5), (2.0, 5)], 100), None, "nothing happens");
        assert_eq!(whole(&[(0.0, 0), (1.0, 5), (2.0, 10)], 8), Some(2.0), "more than an ideal machine does");
    }

    #[test]
    fn runs_of_which_nothing_is_known_count_as_the_mean() {
        let mut estimate = Estimate { bytes: 300 << 20, ..Estimate::default() };
        for seconds in [Some(30), None, Some(90)] {
            estimate.add(seconds.map(Duration::from_secs));
        }
        let said = estimate.to_string();
        let parts = [
            "3 runs take about 3 min of CPU time, the longest 90 s",
            "300 MiB",
            "of 1 of them nothing can be said",
        ];
        parts.iter().for_each(|part| assert!(said.contains(part), "{said}"));
        assert_eq!((estimate.memory(1), estimate.memory(4)), (512 << 20, 2 << 30));
    }
}
