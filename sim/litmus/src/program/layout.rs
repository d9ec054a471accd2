//! Where the locations of a test are in memory (cu-and-consistency.md section 6, harness).

use super::{FitError, is_data};
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
    /// Those that plain accesses meet in lines of one page, so of one home and bank, the others in lines of another page: a
    /// flag has not the way of the data.
    Page,
    /// Those that plain accesses meet in one line, each of the others in one of its own: what is shared falsely is data only.
    Data,
}

/// Pages, at least, among which the runs of [`Layout::Page`] are dealt, for data and for the rest.
const PAGES: u64 = 16;

impl Layout {
    /// All.
    pub const ALL: [Layout; 5] = [Layout::Lines, Layout::Line, Layout::Set, Layout::Page, Layout::Data];

    /// Those of a campaign that asks for none: the others are for tests that are made for them.
    pub const USUAL: [Layout; 3] = [Layout::Lines, Layout::Line, Layout::Set];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Lines => "lines",
            Layout::Line => "line",
            Layout::Set => "set",
            Layout::Page => "page",
            Layout::Data => "data",
        }
    }

    /// Byte offset of each location in each run, and the bytes in all.
    ///
    /// # Errors
    /// More locations than a line has words, or a page lines, where all are to be in one.
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
            Layout::Page => return apart(test, runs, line, seed),
            Layout::Data => return falsely_shared(test, runs, line, seed),
        })
    }
}

/// [`Layout::Page`]: pages of data, then pages of the rest. A run has neighbouring lines in one of each, drawn.
fn apart(test: &Test, runs: u64, line: u64, seed: u64) -> Result<(Vec<Vec<u64>>, u64), FitError> {
    let per_page = PAGE_BYTES / line;
    let (data, rest): (Vec<usize>, Vec<usize>) = (0..test.locs.len()).partition(|loc| is_data(test, *loc));
    let mut all = vec![vec![0; test.locs.len()]; runs as usize];
    let mut end = 0;
    for (stream, some) in [(13, data), (14, rest)] {
        let count = some.len() as u64;
        if count > per_page {
            let (test, most) = (test.name.clone(), per_page as usize);
            return Err(FitError::Page { test, locs: some.len(), most });
        }
        if count == 0 {
            continue;
        }
        let fit = per_page / count;
        let pages = runs.div_ceil(fit).max(PAGES);
        let mut places: Vec<u64> = (0..pages * fit).collect();
        places.sort_by_key(|n| (mix(seed, stream, *n), *n));
        for (words, place) in all.iter_mut().zip(places) {
            let first = end + place / fit * PAGE_BYTES + place % fit * count * line;
            some.iter().zip(0..).for_each(|(loc, n)| words[*loc] = first + n * line);
        }
        end += pages * PAGE_BYTES;
    }
    Ok((all, end))
}

/// [`Layout::Data`]: a run has a line for its data, and one for each of the rest, anywhere.
fn falsely_shared(test: &Test, runs: u64, line: u64, seed: u64) -> Result<(Vec<Vec<u64>>, u64), FitError> {
    let (data, rest): (Vec<usize>, Vec<usize>) = (0..test.locs.len()).partition(|loc| is_data(test, *loc));
    let in_line = line / WORD;
    if data.len() as u64 > in_line {
        let (test, most) = (test.name.clone(), in_line as usize);
        return Err(FitError::Line { test, locs: data.len(), most });
    }
    let each = rest.len() as u64 + 1;
    let mut lines: Vec<u64> = (0..runs * each).collect();
    lines.sort_by_key(|n| (mix(seed, 11, *n), *n));
    let mut all = vec![vec![0; test.locs.len()]; runs as usize];
    for ((run, words), lines) in (0..).zip(&mut all).zip(lines.chunks_exact(each as usize)) {
        let word = |n: u64| (mix(seed, 15, run) + n) % in_line * WORD;
        data.iter().zip(0..).for_each(|(loc, n)| words[*loc] = lines[0] * line + word(n));
        rest.iter().zip(&lines[1..]).for_each(|(loc, own)| words[*loc] = own * line);
    }
    Ok((all, (runs * each * line).next_multiple_of(PAGE_BYTES)))
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
