//! What it costs that several processes share a run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What rank 0 has counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankCost {
    /// Windows that the ranks went through side by side.
    pub windows: u64,
    /// Cycles in them.
    pub cycles: u64,
    /// Times at which rank 0 took over all parts.
    pub gathers: u64,
    /// Letters of rank 0's parts to parts of others.
    pub letters: u64,
    /// Their bytes.
    pub letter_bytes: u64,
    /// Bytes of the reports of all other ranks, at the ends of windows.
    pub report_bytes: u64,
    /// Bytes of states that went to the other ranks, and that came back.
    pub state_bytes: u64,
    /// Seconds of rank 0 in windows, waiting for letters included.
    pub window_seconds: f64,
    /// Seconds in which it waited for reports and took them down.
    pub report_seconds: f64,
    /// Seconds in which it gave parts to the other ranks.
    pub disperse_seconds: f64,
    /// Seconds in which it took them over.
    pub gather_seconds: f64,
}

/// The same while it is counted.
#[derive(Debug, Default)]
pub(in crate::run) struct Costs {
    pub told: RankCost,
    letters: AtomicU64,
    words: AtomicU64,
}

impl Costs {
    /// A letter was sent.
    pub fn letter(&self, words: usize) {
        self.letters.fetch_add(1, Ordering::Relaxed);
        self.words.fetch_add(words as u64, Ordering::Relaxed);
    }

    pub fn total(&self) -> RankCost {
        let (letters, words) = (self.letters.load(Ordering::Relaxed), self.words.load(Ordering::Relaxed));
        RankCost { letters, letter_bytes: 8 * words, ..self.told.clone() }
    }
}

/// Adds the time since an earlier call, or since it was made, to a sum.
pub(in crate::run) struct Lap(Instant);

impl Lap {
    pub fn new() -> Lap {
        Lap(Instant::now())
    }

    pub fn add(&mut self, sum: &mut f64) {
        let since = std::mem::replace(&mut self.0, Instant::now());
        *sum += since.elapsed().as_secs_f64();
    }
}
