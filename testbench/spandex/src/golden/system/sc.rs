//! Sequentially consistent outcomes of a program, and its data races.
//!
//! Happens-before is the order of a thread, and from a paired write to a paired read of the word that follows it with nothing between them but read-modify-writes. Two
//! accesses to a word race unless ordered, if one of them writes and not both are atomics.

use super::super::msg::{AmoOp, Data, words};
use super::program::{Instr, Thread, initial, stored};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What a run ends with: values per thread, and all words by line and number.
pub type Outcome = (Vec<Vec<u32>>, Vec<(u32, usize, u32)>);

type Clock = Vec<u32>;

/// A word, and who touched it last.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Cell {
    value: u32,
    /// Times of the last data and atomic reads and writes per thread.
    reads: Clock,
    writes: Clock,
    amo_reads: Clock,
    amo_writes: Clock,
    /// What a paired read learns.
    released: Clock,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Run {
    threads: Vec<Thread>,
    clocks: Vec<Clock>,
    cells: BTreeMap<(u32, usize), Cell>,
}

/// All SC outcomes; none if some execution has a data race.
pub fn outcomes(threads: &[Thread], word_count: u8) -> Option<BTreeSet<Outcome>> {
    let n = threads.len();
    let zero = vec![0; n];
    let lines: BTreeSet<u32> =
        threads.iter().flat_map(|t| t.program.iter().filter_map(Instr::line)).collect();
    let cell = |word| Cell {
        value: initial(word),
        reads: zero.clone(),
        writes: zero.clone(),
        amo_reads: zero.clone(),
        amo_writes: zero.clone(),
        released: zero.clone(),
    };
    let all = lines.iter().flat_map(|line| (0..usize::from(word_count)).map(move |word| (*line, word)));
    let cells = all.map(|at| (at, cell(at.1))).collect();
    let start = Run { threads: threads.to_vec(), clocks: vec![zero.clone(); n], cells };
    let mut seen = HashSet::from([start.clone()]);
    let mut stack = vec![start];
    let mut out = BTreeSet::new();
    while let Some(run) = stack.pop() {
        if run.threads.iter().all(Thread::done) {
            let results = run.threads.iter().map(|thread| thread.results.clone()).collect();
            out.insert((results, run.cells.iter().map(|(at, cell)| (at.0, at.1, cell.value)).collect()));
            continue;
        }
        for thread in (0..n).filter(|thread| !run.threads[*thread].done()) {
            let mut next = run.clone();
            if next.step(thread) {
                return None;
            }
            if seen.insert(next.clone()) {
                stack.push(next);
            }
        }
    }
    Some(out)
}

impl Run {
    /// One instruction of a thread; true if it races.
    fn step(&mut self, thread: usize) -> bool {
        let Some(instr) = self.threads[thread].next() else { return false };
        self.clocks[thread][thread] += 1;
        let mut got = Data::default();
        let mut race = false;
        match instr {
            Instr::Ld { line, mask, .. } => {
                for word in words(mask) {
                    let clock = self.clocks[thread].clone();
                    let Some(cell) = self.cells.get_mut(&(line, word)) else { continue };
                    race |= !before(&cell.writes, &clock) || !before(&cell.amo_writes, &clock);
                    cell.reads[thread] = clock[thread];
                    got.0[word] = cell.value;
                }
            }
            Instr::St { line, mask, value, .. } => {
                for word in words(mask) {
                    let clock = self.clocks[thread].clone();
                    let Some(cell) = self.cells.get_mut(&(line, word)) else { continue };
                    let others = [&cell.reads, &cell.writes, &cell.amo_reads, &cell.amo_writes];
                    race |= !others.iter().all(|other| before(other, &clock));
                    cell.writes[thread] = clock[thread];
                    cell.value = stored(mask, value).0[word];
                    cell.released.iter_mut().for_each(|time| *time = 0);
                }
            }
            Instr::Amo { line, word, amo, value, sem, .. } => {
                let word = usize::from(word);
                let Some(cell) = self.cells.get_mut(&(line, word)) else { return false };
                let reads = amo.op != AmoOp::Write;
                let clock = &mut self.clocks[thread];
                race |= !before(&cell.writes, clock) || amo.modifies() && !before(&cell.reads, clock);
                if sem.acquires() {
                    clock.iter_mut().zip(&cell.released).for_each(|(mine, theirs)| *mine = *theirs.max(mine));
                }
                got.0[word] = cell.value;
                cell.value = amo.result(cell.value, value);
                cell.amo_reads[thread] = clock[thread];
                if amo.modifies() {
                    cell.amo_writes[thread] = clock[thread];
                    if !reads {
                        cell.released.iter_mut().for_each(|time| *time = 0);
                    }
                    if sem.releases() {
                        cell.released
                            .iter_mut()
                            .zip(clock)
                            .for_each(|(mine, theirs)| *mine = *theirs.max(mine));
                    }
                }
            }
            Instr::Acquire | Instr::Release | Instr::If(_) => {}
        }
        self.threads[thread].complete(&got);
        race
    }
}

/// All of these accesses happened before.
fn before(accesses: &Clock, now: &Clock) -> bool {
    accesses.iter().zip(now).all(|(access, now)| access <= now)
}
