//! FlexV/S: a matrix A that all CPU threads read densely and the CUs write sparsely, and a matrix B that the CUs read and
//! write densely and the CPU threads read sparsely.

use super::super::common::SEED;
use super::super::params::{Params, size};
use super::super::round::Round;
use super::super::simt::{Memory, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::phases::{At, InPhases, Phases, Step, barrier};
use super::team::{GROUP, HINTS, LANES, Team, blocks, cpu_threads};
use crate::data;
use crate::op::{Hint, Request};
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "flex-vs",
    about: "CPU threads read all of A and few words of B, CUs read and write all of their tiles of B and store to few words of A (Spandex FlexV/S).",
    params: &[
        cpu_threads("8", 1, "CPU threads."),
        blocks("16", 1, "Work-groups; each owns a tile of B."),
        size("shared", "16", 1 << 16, "KB", "Matrix A."),
        size("tile", "8", 1 << 16, "KB", "Tile of a work-group."),
        size(
            "read_stride",
            "32",
            1 << 16,
            "words",
            "Words of B from one that a CPU thread reads to the next.",
        ),
        size("write_stride", "64", 1 << 16, "words", "Words of A from one that a CU stores to the next."),
        size("iterations", "8", 1 << 16, "iterations", "Iterations."),
        HINTS,
        GROUP,
        LANES,
        SEED,
    ],
    published: &[],
    takes_graph: false,
    make: |params, _| Ok(InPhases::boxed(FlexVs::new(params)?)),
};

const R_SUM: usize = 0;

/// The two matrices.
#[derive(Clone, Debug)]
pub struct FlexVs {
    team: Team,
    shared: u64,
    tile: u64,
    read_stride: u64,
    write_stride: u64,
    iterations: u64,
    barrier: Option<usize>,
    a: usize,
    b: usize,
    /// Sum of all that each CPU thread reads.
    sum: usize,
}

impl FlexVs {
    /// Builds the program.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let mut team = Team::new(INFO.name, params, params.integer("group"))?;
        let seed = params.integer("seed");
        let (shared, tile) = (params.integer("shared") * 256, params.integer("tile") * 256);
        let first = |stream, words: u64| {
            data::u32_bytes(&(0..words).map(|i| data::mix(seed, stream, i) as u32).collect::<Vec<_>>())
        };
        let a = team.base.add("A", shared, false, first(0, shared));
        let b = team.base.add("B", team.blocks * tile, false, first(1, team.blocks * tile));
        let sum = team.base.zeros("sum", team.cpus);
        let barrier = barrier(&mut team);
        let [read_stride, write_stride, iterations] =
            ["read_stride", "write_stride", "iterations"].map(|key| params.integer(key));
        Ok(Self { team, shared, tile, read_stride, write_stride, iterations, barrier, a, b, sum })
    }

    /// Number of the sparse words of a matrix of `words` words, and of those below `core` of `cores` when dealt cyclically.
    fn dealt(words: u64, stride: u64, core: u64, cores: u64) -> u64 {
        words.div_ceil(stride).saturating_sub(core).div_ceil(cores)
    }

    /// Word `j` of B that a CPU thread reads: each thread has its own, one of each `read_stride`.
    fn far(&self, cpu: u64, j: u64) -> u64 {
        j * self.read_stride + cpu % self.read_stride
    }

    fn next(word: u64) -> u32 {
        (word as u32).wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
    }

    fn stored(word: u64, iteration: u64) -> u32 {
        data::mix(2, word, iteration) as u32
    }

    /// Loads of `count` words by a CPU thread, whose sum it keeps.
    fn read(
        &self,
        t: &Thread,
        step: u64,
        r: &mut [u64],
        io: &mut Round,
        count: u64,
        at: impl Fn(u64) -> u64,
    ) -> Step {
        if step > 0 {
            let loaded = self.team.batch(t, count, step - 1).map(|(i, _)| t.bits(i));
            r[R_SUM] = loaded.fold(r[R_SUM], u64::wrapping_add);
        }
        if step == self.team.batches(t, count) {
            return Step::Phase;
        }
        self.team.batch(t, count, step).for_each(|(i, e)| io.load(i, at(e)));
        Step::Next
    }

    fn cpu(&self, t: &Thread, at: At, r: &mut [u64], io: &mut Round) -> Step {
        if at.phase.is_multiple_of(2) {
            self.team.hint(io, Hint::line(Request::ReqS));
            return self.read(t, at.step, r, io, self.shared, |e| self.team.base.at(self.a, e));
        }
        self.team.hint(io, Hint::word(Request::ReqV));
        let count = self.team.blocks * self.tile / self.read_stride;
        self.read(t, at.step, r, io, count, |j| self.team.base.at(self.b, self.far(t.block, j)))
    }

    fn gpu(&self, t: &Thread, at: At, io: &mut Round) -> Step {
        if at.phase.is_multiple_of(2) {
            let (batch, store) = (at.step / 2, at.step % 2 == 1);
            self.team.hint(io, if store { Hint::word(Request::ReqO) } else { Hint::line(Request::ReqV) });
            for (i, e) in self.team.batch(t, self.tile, batch) {
                let addr = self.team.base.at(self.b, t.block * self.tile + e);
                if store {
                    io.store(Team::most() + i, addr, u64::from(Self::next(t.bits(i))));
                } else {
                    io.load(i, addr);
                }
            }
            let last = store && batch + 1 == self.team.batches(t, self.tile);
            return if last { Step::Phase } else { Step::Next };
        }
        let count = Self::dealt(self.shared, self.write_stride, t.block, self.team.blocks);
        self.team.hint(io, Hint::word(Request::ReqWt));
        for (i, j) in self.team.batch(t, count, at.step) {
            let word = (t.block + j * self.team.blocks) * self.write_stride;
            let value = u64::from(Self::stored(word, at.phase / 2));
            io.store(i, self.team.base.at(self.a, word), value);
        }
        if at.step + 1 >= self.team.batches(t, count) { Step::Phase } else { Step::Next }
    }
}

impl Phases for FlexVs {
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
        match t.cpu {
            true if at.phase == 2 * self.iterations => {
                io.store(0, self.team.base.at(self.sum, t.block), r[R_SUM]);
                Step::End
            }
            false if at.phase == 2 * self.iterations => Step::End,
            true => self.cpu(t, at, r, io),
            false => self.gpu(t, at, io),
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let base = &self.team.base;
        let (mut a, mut b) = (base.first::<u32>(self.a), base.first::<u32>(self.b));
        let mut sums = vec![0u32; self.team.cpus as usize];
        for iteration in 0..self.iterations {
            let all = a.iter().fold(0u32, |sum, w| sum.wrapping_add(*w));
            b.iter_mut().for_each(|word| *word = Self::next(u64::from(*word)));
            for (cpu, sum) in (0..).zip(&mut sums) {
                let far = (0..b.len() as u64 / self.read_stride).map(|j| b[self.far(cpu, j) as usize]);
                *sum = far.fold(sum.wrapping_add(all), u32::wrapping_add);
            }
            for word in (0..self.shared).step_by(self.write_stride as usize) {
                a[word as usize] = Self::stored(word, iteration);
            }
        }
        base.check(self.a, &a, memory)?;
        base.check(self.b, &b, memory)?;
        base.check(self.sum, &sums, memory)
    }
}
