//! Where the locations of a test are in memory (cu-and-consistency.md section 6, harness).

use super::FitError;
use crate::test::Test;
use std::fmt;
use std::str::FromStr;
use weft_workload::PAGE_BYTES;
use weft_workload::data::mix;

/// Bytes of a location.
pub(super) const WORD: u64 = 4;

/// How the locations of one run lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layout {
    /// Each in a line of its own, anywhere.
    Lines,
    /// All in one line.
    Line,
    /// In lines of one set: a page apart.
    Set,
}

impl Layout {
    /// All.
    pub const ALL: [Layout; 3] = [Layout::Lines, Layout::Line, Layout::Set];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Lines => "lines",
            Layout::Line => "line",
            Layout::Set => "set",
        }
    }

    /// Byte offset of each location in each run, and the bytes in all.
    ///
    /// # Errors
    /// More locations than a line has words, where all are to be in one.
    pub(super) fn words(
        self,
        test: &Test,
        runs: u32,
        line: u32,
        seed: u64,
    ) -> Result<(Vec<Vec<u64>>, u64), FitError> {
        let (locs, runs, line) = (test.locs.len() as u64, u64::from(runs), u64::from(line));
        let words = |of: &dyn Fn(u64, u64) -> u64| {
            (0..runs).map(|run| (0..locs).map(|loc| of(run, loc)).collect()).collect()
        };
        let shuffled = |count: u64| {
            let mut all: Vec<u64> = (0..count).collect();
            all.sort_by_key(|n| (mix(seed, 11, *n), *n));
            all
        };
        let pages = |bytes: u64| bytes.next_multiple_of(PAGE_BYTES);
        Ok(match self {
            Layout::Lines => {
                let lines = shuffled(runs * locs);
                (words(&|run, loc| lines[(run * locs + loc) as usize] * line), pages(runs * locs * line))
            }
            Layout::Line if locs > line / WORD => {
                let (test, most) = (test.name.clone(), (line / WORD) as usize);
                return Err(FitError::Line { test, locs: locs as usize, most });
            }
            Layout::Line => {
                let lines = shuffled(runs);
                // Where in the line is drawn, too.
                let at = |run: u64, loc: u64| (mix(seed, 12, run) + loc) % (line / WORD) * WORD;
                (words(&|run, loc| lines[run as usize] * line + at(run, loc)), pages(runs * line))
            }
            Layout::Set => {
                let per_page = PAGE_BYTES / line;
                let at =
                    |run: u64, loc: u64| (run / per_page * locs + loc) * PAGE_BYTES + run % per_page * line;
                (words(&at), runs.div_ceil(per_page) * locs * PAGE_BYTES)
            }
        })
    }
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(word: &str) -> Result<Layout, String> {
        let names = || Layout::ALL.map(Layout::name).join(", ");
        let found = Layout::ALL.into_iter().find(|layout| layout.name() == word);
        found.ok_or_else(|| format!("{word:?} is no layout; there are {}", names()))
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
