//! What the work-groups work on: each half-wave of 16 threads shifts words through consecutive lines.
//!
//! ```text
//! for n = accesses - 1 ..= 0:  line[n + 1][thread] = line[n][thread]
//! counter += 1                                                        (leader)
//! ```
//! Nobody writes line 0, which is the read-only region. A thread's loads and stores wait for one another, as the public
//! program's do. The lines show stale and lost words only until they all are as line 0, after as many shifts as there are
//! lines; the plain counter shows each lost one.

use super::super::params::Params;
use super::super::round::Round;
use super::super::simt::{Memory, Thread};
use super::setting::Setting;
use crate::data;
use crate::program::VerifyError;

/// Threads that share lines.
const HALF: u64 = 16;

/// Slots; programs have those from [`S_FREE`] on.
const S_LINE: u64 = 0;
const S_NEXT: u64 = 1;
const S_COUNT: u64 = 2;
const S_COUNTED: u64 = 3;
/// First slot that is left to the program.
pub const S_FREE: u64 = 4;

/// Sets of lines, each with a counter.
#[derive(Clone, Debug)]
pub struct Region {
    sets: u64,
    accesses: u64,
    /// Half-waves of a work-group.
    halves: u64,
    lines: usize,
    counters: usize,
}

impl Region {
    /// Adds the arrays of so many sets.
    pub fn new(setting: &mut Setting, params: &Params, sets: u64) -> Self {
        let accesses = params.integer("accesses");
        let halves = setting.group.div_ceil(HALF);
        let words = sets * halves * (accesses + 1) * setting.line;
        let seed = params.integer("seed");
        let first: Vec<u32> = (0..words).map(|i| data::mix(seed, 0, i) as u32).collect();
        let lines = setting.base.add("lines", words, false, data::u32_bytes(&first));
        let counters = setting.apart("counters", sets);
        Self { sets, accesses, halves, lines, counters }
    }

    /// Word of a thread in line `n` of a set.
    fn word(&self, setting: &Setting, t: &Thread, set: u64, n: u64) -> u64 {
        let line = (set * self.halves + t.local / HALF) * (self.accesses + 1) + n;
        setting.base.at(self.lines, line * setting.line + t.local % HALF)
    }

    /// Round `step` of a thread that works on a set; whether it was the last.
    pub fn round(&self, setting: &Setting, t: &Thread, set: u64, step: u64, io: &mut Round) -> bool {
        if step > 0 {
            let n = self.accesses - step;
            io.store(S_NEXT, self.word(setting, t, set, n + 1), t.bits(S_LINE));
        }
        let counter = setting.word(self.counters, set);
        if t.local == 0 {
            match step {
                0 => io.load(S_COUNT, counter),
                1 => io.store(S_COUNTED, counter, t.bits(S_COUNT) + 1),
                _ => {}
            }
        }
        match self.accesses - step {
            0 => return true,
            1 => io.read(S_LINE, self.word(setting, t, set, 0)),
            n => io.load(S_LINE, self.word(setting, t, set, n - 1)),
        }
        false
    }

    /// Lines and counters after each set has been worked on so often.
    pub fn verify(&self, setting: &Setting, times: u64, memory: &Memory) -> Result<(), VerifyError> {
        let base = &setting.base;
        base.check(self.counters, &setting.spread(&vec![times as u32; self.sets as usize]), memory)?;
        let first: Vec<u32> = base.first(self.lines);
        let (line, all) = (setting.line, self.accesses + 1);
        let word = |i: u64| {
            let (row, column) = (i / line, i % line);
            let half = row / all % self.halves;
            let used = column < HALF && half * HALF + column < setting.group;
            let from = if used { row - (row % all).min(times) } else { row };
            first[(from * line + column) as usize]
        };
        let expected: Vec<u32> = (0..first.len() as u64).map(word).collect();
        base.check(self.lines, &expected, memory)
    }
}
