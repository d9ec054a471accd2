//! Progress of many runs: a bar that only a terminal sees, what each job is at, and an estimate of the time that is left.
//!
//! The estimate goes by workload: the mean time of its runs that have ended, or of all runs for a workload of which none has. There is none before the first run has ended; no time
//! of earlier sessions is kept, for results hold no time of the host.

use super::file::SweepFile;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The board.
pub struct Board {
    bar: ProgressBar,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What each job is at.
    jobs: Vec<String>,
    clock: Clock,
}

/// What is left to do, and how long what is done took.
#[derive(Default)]
pub struct Clock {
    /// Runs that are left, by workload.
    left: BTreeMap<String, usize>,
    /// Runs made, by workload: how many, and the sum of their times.
    made: BTreeMap<String, (usize, Duration)>,
    jobs: usize,
}

impl Clock {
    /// A clock of these runs, by workload, on so many jobs.
    pub fn new(left: BTreeMap<String, usize>, jobs: usize) -> Clock {
        Clock { left, made: BTreeMap::new(), jobs: jobs.max(1) }
    }

    fn take(&mut self, workload: &str) {
        if let Some(left) = self.left.get_mut(workload) {
            *left = left.saturating_sub(1);
        }
    }

    fn ended(&mut self, workload: &str, time: Duration) {
        self.take(workload);
        let made = self.made.entry(workload.into()).or_default();
        *made = (made.0 + 1, made.1 + time);
    }

    /// Runs made, and the sum of their times.
    pub fn made(&self) -> (usize, Duration) {
        self.made.values().fold((0, Duration::ZERO), |(n, sum), (more, time)| (n + more, sum + *time))
    }

    /// Time until all is done; none before the first run has ended.
    pub fn estimate(&self) -> Option<Duration> {
        let mean = |(runs, sum): (usize, Duration)| (runs > 0).then(|| sum / runs as u32);
        let common = mean(self.made())?;
        let of = |workload: &String| self.made.get(workload).copied().and_then(mean).unwrap_or(common);
        let all: Duration = self.left.iter().map(|(workload, runs)| of(workload) * *runs as u32).sum();
        Some(all / self.jobs as u32)
    }
}

impl Board {
    /// A board of these runs, by workload, on so many jobs.
    pub fn new(left: BTreeMap<String, usize>, jobs: usize) -> Board {
        let bar = ProgressBar::new(left.values().sum::<usize>() as u64);
        let template = "{spinner} {elapsed} [{bar:30}] {pos} of {len} runs{prefix}  {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        let state = State { jobs: vec![String::new(); jobs], clock: Clock::new(left, jobs) };
        Board { bar, state: Mutex::new(state) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // A job that has panicked leaves whole words behind all the same.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a job is at.
    pub fn tell(&self, job: usize, text: String) {
        if self.bar.is_hidden() {
            return;
        }
        let mut state = self.state();
        if let Some(place) = state.jobs.get_mut(job) {
            *place = text;
        }
        self.bar.set_message(state.jobs.join(" | "));
    }

    /// Says a line that stays, on standard error.
    pub fn say(&self, line: &str) {
        self.bar.suspend(|| eprintln!("weft: {line}"));
    }

    /// A run of this workload needs not be made.
    pub fn was_there(&self, workload: &str) {
        self.state().clock.take(workload);
        self.bar.inc(1);
    }

    /// A run of this workload has been made.
    pub fn ended(&self, workload: &str, time: Duration) {
        let mut state = self.state();
        state.clock.ended(workload, time);
        if let Some(left) = state.clock.estimate() {
            self.bar.set_prefix(format!(", about {} left", words(left)));
        }
        self.bar.inc(1);
    }

    /// No job runs.
    pub fn idle(&self) {
        self.state().jobs.iter_mut().for_each(String::clear);
        self.bar.set_message("");
    }

    /// Takes the bar away; gives how many runs were made, and the sum of their times.
    pub fn finish(&self) -> (usize, Duration) {
        self.bar.finish_and_clear();
        self.state().clock.made()
    }
}

impl SweepFile {
    /// Runs by workload.
    pub fn by_workload(&self) -> BTreeMap<String, usize> {
        let rows = self.rows();
        let others = self.axes.iter().enumerate().filter(|(axis, _)| *axis != rows);
        let each: usize = others.map(|(_, axis)| axis.points.len()).product();
        self.axes[rows].points.iter().map(|point| (point.label.clone(), each)).collect()
    }

    /// The workload among the values of a run on all axes.
    pub fn workload(&self, labels: &[String]) -> String {
        labels.get(self.rows()).cloned().unwrap_or_default()
    }
}

/// A time as people say it.
pub fn words(time: Duration) -> String {
    match time.as_secs() {
        0..100 => format!("{} s", time.as_secs().max(1)),
        100..6000 => format!("{} min", (time.as_secs() + 30) / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_goes_by_the_workload_and_by_all_where_none_of_it_has_ended() {
        let left = BTreeMap::from([("a".to_string(), 3), ("b".to_string(), 2), ("c".to_string(), 1)]);
        let mut clock = Clock::new(left, 2);
        assert_eq!(clock.estimate(), None, "nothing has ended");
        clock.ended("a", Duration::from_secs(10));
        clock.ended("b", Duration::from_secs(2));
        // Two of a of 10 s, one of b of 2 s, one of c of the mean of all, 6 s; on two jobs.
        assert_eq!(clock.estimate(), Some(Duration::from_secs(14)));
        clock.take("a");
        assert_eq!(clock.estimate(), Some(Duration::from_secs(9)));
        assert_eq!(clock.made(), (2, Duration::from_secs(12)));
    }

    #[test]
    fn times_are_told_in_the_unit_that_fits() {
        let told = [0, 99, 100, 600, 7200].map(|seconds| words(Duration::from_secs(seconds)));
        assert_eq!(told, ["1 s", "99 s", "2 min", "10 min", "2.0 h"]);
    }
}
