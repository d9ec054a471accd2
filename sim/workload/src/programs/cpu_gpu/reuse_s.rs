//! ReuseS: a small matrix that all cores read again and again and of which each core writes few words.

use super::super::common::SEED;
use super::super::params::{Params, size};
use super::super::round::Round;
use super::super::simt::{Memory, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::phases::{At, InPhases, Phases, Step, barrier};
use super::team::{GROUP, LANES, Team, blocks, cpu_threads};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "reuse-s",
    about: "All CPU threads, then all CUs read a shared matrix, then each core writes few words of it (Spandex ReuseS).",
    params: &[
        cpu_threads("8", 1, "CPU threads."),
        blocks("16", 1, "Work-groups."),
        size("shared", "16", 1 << 16, "KB", "The matrix."),
        size("written", "4", 1 << 10, "words", "Words that a core writes each time, in different lines."),
        size("iterations", "8", 1 << 16, "iterations", "Iterations."),
        GROUP,
        LANES,
        SEED,
    ],
    published: &[],
    takes_graph: false,
    make: |params, _| Ok(InPhases::boxed(ReuseS::new(params)?)),
};

/// 4-byte words of a line.
const LINE: u64 = 16;
const R_SUM: usize = 0;

/// The matrix.
#[derive(Clone, Debug)]
pub struct ReuseS {
    team: Team,
    words: u64,
    written: u64,
    iterations: u64,
    barrier: Option<usize>,
    matrix: usize,
    /// Sum of all that each thread reads.
    sum: usize,
}

impl ReuseS {
    /// Builds the program.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let mut team = Team::new(INFO.name, params, params.integer("group"))?;
        let (words, written, seed) =
            (params.integer("shared") * 256, params.integer("written"), params.integer("seed"));
        let most = (words / team.cores()).min(words / LINE);
        if written > most {
            let legal = format!("at most {most}, so that each core has words of its own in different lines");
            return Err(params.illegal("written", legal));
        }
        let first: Vec<u32> = (0..words).map(|i| data::mix(seed, 0, i) as u32).collect();
        let matrix = team.base.add("matrix", words, false, data::u32_bytes(&first));
        let sum = team.base.zeros("sum", team.threads());
        let barrier = barrier(&mut team);
        Ok(Self { team, words, written, iterations: params.integer("iterations"), barrier, matrix, sum })
    }

    /// Word `j` of those that a core writes.
    fn own(&self, core: u64, j: u64) -> u64 {
        let (lines, number) = (self.words / LINE, core * self.written + j);
        number % lines * LINE + number / lines
    }

    fn stored(core: u64, j: u64, iteration: u64) -> u32 {
        data::mix(core, j, iteration) as u32
    }

    fn read(&self, t: &Thread, step: u64, r: &mut [u64], io: &mut Round) -> Step {
        if step > 0 {
            let loaded = self.team.batch(t, self.words, step - 1).map(|(i, _)| t.bits(i));
            r[R_SUM] = loaded.fold(r[R_SUM], u64::wrapping_add);
        }
        if step == self.team.batches(t, self.words) {
            return Step::Phase;
        }
        let at = |e| self.team.base.at(self.matrix, e);
        self.team.batch(t, self.words, step).for_each(|(i, e)| io.load(i, at(e)));
        Step::Next
    }

    fn write(&self, t: &Thread, at: At, io: &mut Round) -> Step {
        let core = self.team.core(t);
        for (i, j) in self.team.batch(t, self.written, at.step) {
            let value = u64::from(Self::stored(core, j, at.phase / 3));
            io.store(i, self.team.base.at(self.matrix, self.own(core, j)), value);
        }
        if at.step + 1 == self.team.batches(t, self.written) { Step::Phase } else { Step::Next }
    }
}

impl Phases for ReuseS {
    fn team(&self) -> &Team {
        &self.team
    }

    fn barrier(&self) -> Option<usize> {
        self.barrier
    }

    fn registers(&self) -> u64 {
        1
    }

    fn round(&self, t: &Thread, at: At, r: &mut [u64], io: &mut Round) -> Step {
        if at.phase == 3 * self.iterations {
            io.store(0, self.team.base.at(self.sum, self.team.number(t)), r[R_SUM]);
            return Step::End;
        }
        match at.phase % 3 {
            2 => self.write(t, at, io),
            turn if t.cpu == (turn == 0) => self.read(t, at.step, r, io),
            _ => Step::Phase,
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let team = &self.team;
        let mut matrix = team.base.first::<u32>(self.matrix);
        let mut sums = vec![0u32; team.threads() as usize];
        for iteration in 0..self.iterations {
            let all = |words: &mut dyn Iterator<Item = &u32>| words.fold(0u32, |sum, w| sum.wrapping_add(*w));
            let whole = all(&mut matrix.iter());
            let parts: Vec<u32> = (0..team.group as usize)
                .map(|local| all(&mut matrix.iter().skip(local).step_by(team.group as usize)))
                .collect();
            for (number, sum) in sums.iter_mut().enumerate() {
                let thread = number.checked_sub(team.cpus as usize);
                *sum = sum.wrapping_add(thread.map_or(whole, |id| parts[id % team.group as usize]));
            }
            for core in 0..team.cores() {
                for j in 0..self.written {
                    matrix[self.own(core, j) as usize] = Self::stored(core, j, iteration);
                }
            }
        }
        team.base.check(self.matrix, &matrix, memory)?;
        team.base.check(self.sum, &sums, memory)
    }
}
