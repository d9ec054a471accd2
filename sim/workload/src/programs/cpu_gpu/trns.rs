//! TRNS: transposition of a matrix of blocks in place, along the cycles of the permutation, by CPU threads and work-groups.
//!
//! ```text
//! i = ADD.P head, 1                                      (until all indices are taken)
//! if EXCH.P finished[i], 1 == 0:                         nobody has moved block i: hold it
//!     held = block i;  ST.P saved[i] = 1
//!     loop x = next(i), next(x)...:
//!         if EXCH.P finished[x], 1 == 0:                 swap block x and held
//!         else: until LD.P saved[x] == 1:  block x = held;  stop
//! ```
//! The public program saves a block before it exchanges its flag, and so reads blocks that another thread is writing. Here
//! the flag comes first, and a cycle's first block has a second flag that says it has been saved: every block is read by
//! one thread and written by one, in an order that the flags give.

use super::super::common::SEED;
use super::super::params::{Params, size};
use super::super::round::Round;
use super::super::simt::{Memory, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::phases::{APART, At, InPhases, Phases, Step};
use super::shared::{self, S_ASKED, ask};
use super::team::{LANES, SPIN, Team, blocks, cpu_threads, paired_amo, paired_load, paired_store};
use crate::data;
use crate::op::AmoKind;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "trns",
    about: "Transposes a matrix of small blocks in place on CPU threads and CUs together, one flag a block (Chai TRNS).",
    params: &[
        cpu_threads("8", 0, "CPU threads."),
        blocks("8", 0, "Work-groups, each of as many threads as a block has words."),
        size("rows", "64", 1 << 14, "blocks", "Rows of the matrix."),
        size("columns", "64", 1 << 14, "blocks", "Columns of the matrix; the study has 256."),
        size("words", "16", 32, "words", "Words of a block."),
        LANES,
        SEED,
    ],
    published: &[("columns", "256")],
    takes_graph: false,
    make: |params, _| Ok(InPhases::boxed(Trns::new(params)?)),
};

/// Registers after those of [`ask`]: where the thread is, the block it is at, and the words it holds.
const R_STATE: usize = shared::REGISTERS;
const R_AT: usize = R_STATE + 1;
const R_HELD: usize = R_STATE + 2;

const TAKE: u64 = 0;
const START: u64 = 1;
const SAVED: u64 = 2;
const FLAG: u64 = 3;
const MOVE: u64 = 4;
const SWAP: u64 = 5;
const WAIT: u64 = 6;

const S_FLAG: u64 = 200;

/// The matrix.
#[derive(Clone, Debug)]
pub struct Trns {
    team: Team,
    rows: u64,
    columns: u64,
    words: u64,
    head: usize,
    matrix: usize,
    finished: usize,
    saved: usize,
}

impl Trns {
    /// Builds the program.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [rows, columns, words, seed] =
            ["rows", "columns", "words", "seed"].map(|key| params.integer(key));
        let mut team = Team::new(INFO.name, params, words)?;
        let cells = rows * columns;
        let first: Vec<u32> = (0..cells * words).map(|i| data::mix(seed, 0, i) as u32).collect();
        let head = team.base.zeros("head", APART);
        let matrix = team.base.add("matrix", cells * words, false, data::u32_bytes(&first));
        let finished = team.base.zeros("finished", cells);
        let saved = team.base.zeros("saved", cells);
        Ok(Self { team, rows, columns, words, head, matrix, finished, saved })
    }

    /// Blocks that may move: all but the last, and the first of them stays, too.
    fn moving(&self) -> u64 {
        self.rows * self.columns - 1
    }

    /// Where block `i` goes.
    fn next(&self, i: u64) -> u64 {
        i * self.rows - self.moving() * (i / self.columns)
    }

    fn word_at(&self, block: u64, word: u64) -> u64 {
        self.team.base.at(self.matrix, block * self.words + word)
    }

    fn load(&self, t: &Thread, block: u64, io: &mut Round) {
        let words = self.team.batch(t, self.words, 0);
        words.for_each(|(i, word)| io.load(i, self.word_at(block, word)));
    }

    fn store(&self, t: &Thread, block: u64, r: &[u64], io: &mut Round) {
        for (i, word) in self.team.batch(t, self.words, 0) {
            io.store(Team::most() + i, self.word_at(block, word), r[R_HELD + i as usize]);
        }
    }

    fn hold(&self, t: &Thread, r: &mut [u64]) {
        let words = self.team.batch(t, self.words, 0);
        words.for_each(|(i, _)| r[R_HELD + i as usize] = t.bits(i));
    }

    /// Goes to the next block of the cycle.
    fn follow(&self, r: &mut [u64]) {
        (r[R_STATE], r[R_AT]) = (MOVE, self.next(r[R_AT]));
    }

    /// An index that nobody has taken; a block that stays where it is needs nothing.
    fn take(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        let head = self.team.base.at(self.head, 0);
        match ask(t, r, io, |io| paired_amo(io, S_ASKED, AmoKind::Add, head, 1)) {
            Err(step) => step,
            Ok(i) if i >= self.moving() => Step::End,
            Ok(i) if self.next(i) == i => Step::Next,
            Ok(i) => {
                (r[R_STATE], r[R_AT]) = (START, i);
                Step::Next
            }
        }
    }

    /// Exchanges the flag of the block at which the thread is; whether the block had been moved.
    fn finished(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Result<bool, Step> {
        let flag = self.team.base.at(self.finished, r[R_AT]);
        ask(t, r, io, |io| paired_amo(io, S_ASKED, AmoKind::Exch, flag, 1)).map(|old| old == 1)
    }
}

impl Phases for Trns {
    fn team(&self) -> &Team {
        &self.team
    }

    fn barrier(&self) -> Option<usize> {
        None
    }

    fn registers(&self) -> u64 {
        R_HELD as u64 + self.words
    }

    fn lds(&self) -> u64 {
        shared::LDS
    }

    fn round(&self, t: &Thread, _: At, r: &mut [u64], io: &mut Round) -> Step {
        let saved = self.team.base.at(self.saved, r[R_AT]);
        match r[R_STATE] {
            TAKE => return self.take(t, r, io),
            START => match self.finished(t, r, io) {
                Err(step) => return step,
                Ok(true) => r[R_STATE] = TAKE,
                Ok(false) => {
                    self.load(t, r[R_AT], io);
                    r[R_STATE] = SAVED;
                }
            },
            SAVED => {
                self.hold(t, r);
                r[R_STATE] = FLAG;
                return Step::Meet;
            }
            FLAG => {
                if t.local == 0 {
                    paired_store(io, S_FLAG, saved, 1);
                }
                self.follow(r);
            }
            MOVE => match self.finished(t, r, io) {
                Err(step) => return step,
                Ok(true) => r[R_STATE] = WAIT,
                Ok(false) => {
                    self.load(t, r[R_AT], io);
                    r[R_STATE] = SWAP;
                }
            },
            SWAP => {
                self.store(t, r[R_AT], r, io);
                self.hold(t, r);
                self.follow(r);
            }
            _ => match ask(t, r, io, |io| paired_load(io, S_ASKED, saved)) {
                Err(step) => return step,
                Ok(0) => io.pause(SPIN),
                Ok(_) => {
                    self.store(t, r[R_AT], r, io);
                    r[R_STATE] = TAKE;
                }
            },
        }
        Step::Next
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let base = &self.team.base;
        let first = base.first::<u32>(self.matrix);
        let words = self.words as usize;
        let (mut matrix, mut finished) = (first.clone(), vec![0u32; first.len() / words]);
        for i in 0..self.moving() {
            let (from, to) = (i as usize * words, self.next(i) as usize * words);
            matrix[to..to + words].copy_from_slice(&first[from..from + words]);
            finished[i as usize] = u32::from(self.next(i) != i);
        }
        base.check(self.matrix, &matrix, memory)?;
        base.check(self.finished, &finished, memory)
    }
}
