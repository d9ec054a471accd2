//! ReuseO, FlexO/WT, FlexOd/WTd: each core works densely on a tile of its own and sparsely on the other side's tiles.
//!
//! CPU threads own tiles of matrix B, work-groups tiles of matrix A. ReuseO alternates between a phase in which each core
//! reads and writes its tile and one in which it reads the other side's matrix; FlexO/WT stores there instead, each core
//! words of its own; FlexOd/WTd adds to both in one phase, by atomics.

use super::super::common::SEED;
use super::super::params::{Legal, ParamSpec, Params, size};
use super::super::round::Round;
use super::super::simt::{Memory, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::phases::{At, InPhases, Phases, Step, barrier};
use super::team::{ATOMICS, GROUP, HINTS, LANES, Team, blocks, cpu_threads};
use crate::data;
use crate::op::{AmoKind, Hint, Request};
use crate::program::VerifyError;

const CPUS: ParamSpec = cpu_threads("8", 1, "CPU threads; each owns a tile of B.");
const BLOCKS: ParamSpec = blocks("16", 1, "Work-groups; each owns a tile of A.");
const CPU_TILE: ParamSpec = size("cpu_tile", "12", 1 << 16, "KB", "Tile of a CPU thread.");
const TILE: ParamSpec = size("tile", "8", 1 << 16, "KB", "Tile of a work-group.");
const SPARSE: ParamSpec = size(
    "sparse",
    "64",
    1 << 16,
    "words",
    "Words of the other side's matrix that a core accesses each time, in lines of their own.",
);
const ITERATIONS: ParamSpec = size("iterations", "8", 1 << 16, "iterations", "Iterations.");

/// Registry entry.
pub const REUSE_O: WorkloadInfo = WorkloadInfo {
    name: "reuse-o",
    about: "Each core reads and writes all of its own tile again and again and reads few words of the other side's tiles (Spandex ReuseO).",
    params: &[CPUS, BLOCKS, CPU_TILE, TILE, SPARSE, ITERATIONS, GROUP, LANES, SEED],
    published: &[],
    takes_graph: false,
    make: |params, _| Ok(InPhases::boxed(Reuse::new(REUSE_O.name, Way::Read, params)?)),
};

/// Registry entry.
pub const FLEX_OWT: WorkloadInfo = WorkloadInfo {
    name: "flex-owt",
    about: "Each core reads and writes all of its own tile again and again and stores to few words of the other side's tiles (Spandex FlexO/WT).",
    params: &[CPUS, BLOCKS, CPU_TILE, TILE, SPARSE, ITERATIONS, HINTS, GROUP, LANES, SEED],
    published: &[],
    takes_graph: false,
    make: |params, _| Ok(InPhases::boxed(Reuse::new(FLEX_OWT.name, Way::Store, params)?)),
};

/// Registry entry.
pub const FLEX_ODWTD: WorkloadInfo = WorkloadInfo {
    name: "flex-odwtd",
    about: "Each core adds to all of its own tile by atomics and, at the same time, to few words of the other side's tiles (Spandex FlexOd/WTd).",
    params: &[
        CPUS,
        BLOCKS,
        CPU_TILE,
        TILE,
        SPARSE,
        ITERATIONS,
        ParamSpec {
            name: "sparse_request",
            default: "own",
            legal: Legal::Choice(&["own", "through"]),
            unit: "",
            about: "Hint of the few additions to the other side: ReqO+data (own) or ReqWT+data (through), a word each.",
        },
        HINTS,
        ATOMICS,
        GROUP,
        LANES,
        SEED,
    ],
    published: &[],
    takes_graph: false,
    make: |params, _| Ok(InPhases::boxed(Reuse::new(FLEX_ODWTD.name, Way::Add, params)?)),
};

/// What a core does to the other side's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Read,
    Store,
    Add,
}

/// 4-byte words of a line.
const LINE: u64 = 16;
const R_SUM: usize = 0;

/// The two matrices.
#[derive(Clone, Debug)]
pub struct Reuse {
    team: Team,
    way: Way,
    iterations: u64,
    sparse: u64,
    /// Request of sparse additions.
    through: bool,
    barrier: Option<usize>,
    /// Of the work-groups and of the CPU threads: matrix and words of a tile.
    sides: [(usize, u64); 2],
    /// Sum of all that each thread reads of the other side's matrix.
    sum: Option<usize>,
}

impl Reuse {
    fn new(name: &'static str, way: Way, params: &Params) -> Result<Self, WorkloadError> {
        let mut team = Team::new(name, params, params.integer("group"))?;
        let seed = params.integer("seed");
        let mut side = |name, stream, cores: u64, key| {
            let tile = params.integer(key) * 256;
            let first: Vec<u32> = (0..cores * tile).map(|i| data::mix(seed, stream, i) as u32).collect();
            (team.base.add(name, cores * tile, false, data::u32_bytes(&first)), tile)
        };
        let (cpus, blocks) = (params.integer("cpu_threads"), params.integer("blocks"));
        let sides = [side("A", 0, blocks, "tile"), side("B", 1, cpus, "cpu_tile")];
        let barrier = barrier(&mut team);
        let sum = (way == Way::Read).then(|| team.base.zeros("sum", team.threads()));
        let (sparse, iterations) = (params.integer("sparse"), params.integer("iterations"));
        let through = params.has("sparse_request") && params.text("sparse_request") == "through";
        let reuse = Self { team, way, iterations, sparse, through, barrier, sides, sum };
        for cpu in [false, true] {
            let most = reuse.length(cpu) / LINE.max(reuse.cores(!cpu).next_multiple_of(LINE));
            if sparse > most {
                let legal =
                    format!("at most {most}, so that cores access words of their own in lines of their own");
                return Err(params.illegal("sparse", legal));
            }
        }
        Ok(reuse)
    }

    fn cores(&self, cpu: bool) -> u64 {
        if cpu { self.team.cpus } else { self.team.blocks }
    }

    /// Words of a side's matrix.
    fn length(&self, cpu: bool) -> u64 {
        self.sides[usize::from(cpu)].1 * self.cores(cpu)
    }

    /// Word `j` of those that core `core` of one side accesses in the other side's matrix: no two cores of a side have the same.
    fn far(&self, cpu: bool, core: u64, j: u64) -> u64 {
        let stride = self.length(!cpu) / self.sparse / LINE * LINE;
        j * stride + core * LINE % stride + core * LINE / stride
    }

    fn far_at(&self, t: &Thread, j: u64) -> u64 {
        self.team.base.at(self.sides[usize::from(!t.cpu)].0, self.far(t.cpu, t.block, j))
    }

    fn near_at(&self, t: &Thread, word: u64) -> u64 {
        let (matrix, tile) = self.sides[usize::from(t.cpu)];
        self.team.base.at(matrix, t.block * tile + word)
    }

    fn tile(&self, t: &Thread) -> u64 {
        self.sides[usize::from(t.cpu)].1
    }

    /// What a tile's word becomes.
    fn next(word: u64) -> u32 {
        (word as u32).wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
    }

    /// What a core stores to the other side.
    fn stored(cpu: bool, core: u64, iteration: u64) -> u32 {
        ((iteration + 1) << 16 | core << 1 | u64::from(cpu)) as u32
    }

    /// What a core adds to its own tile.
    const OWN: u32 = 1;

    /// What it adds to the other side's.
    fn added(cpu: bool, core: u64) -> u32 {
        ((core + 1) << 9 | u64::from(cpu) << 8) as u32
    }

    /// A round of loading a batch of the tile, then one of storing it.
    fn dense(&self, t: &Thread, step: u64, io: &mut Round) -> Step {
        let (batch, store) = (step / 2, step % 2 == 1);
        self.team.hint(io, Hint::line(if store { Request::ReqO } else { Request::ReqOData }));
        for (i, e) in self.team.batch(t, self.tile(t), batch) {
            if store {
                io.store(Team::most() + i, self.near_at(t, e), u64::from(Self::next(t.bits(i))));
            } else {
                io.load(i, self.near_at(t, e));
            }
        }
        let last = store && batch + 1 == self.team.batches(t, self.tile(t));
        if last { Step::Phase } else { Step::Next }
    }

    /// Reads of the other side's matrix; what the last round has loaded goes into the sum.
    fn read(&self, t: &Thread, step: u64, r: &mut [u64], io: &mut Round) -> Step {
        if step > 0 {
            let loaded = self.team.batch(t, self.sparse, step - 1).map(|(i, _)| t.bits(i));
            r[R_SUM] = loaded.fold(r[R_SUM], u64::wrapping_add);
        }
        if step == self.team.batches(t, self.sparse) {
            return Step::Phase;
        }
        self.team.batch(t, self.sparse, step).for_each(|(i, j)| io.load(i, self.far_at(t, j)));
        Step::Next
    }

    fn store(&self, t: &Thread, at: At, io: &mut Round) -> Step {
        self.team.hint(io, Hint::word(Request::ReqWtFwd));
        let value = u64::from(Self::stored(t.cpu, t.block, at.phase / 2));
        self.team.batch(t, self.sparse, at.step).for_each(|(i, j)| io.store(i, self.far_at(t, j), value));
        if at.step + 1 == self.team.batches(t, self.sparse) { Step::Phase } else { Step::Next }
    }

    /// Additions to both, spread evenly over the rounds.
    fn add(&self, t: &Thread, step: u64, io: &mut Round) -> Step {
        let near = self.team.batches(t, self.tile(t));
        let far = self.team.batches(t, self.sparse);
        let (all, far_before) = (near + far, |step: u64| step * far / (near + far));
        let batch = far_before(step);
        if far_before(step + 1) > batch {
            let request = if self.through { Request::ReqWt } else { Request::ReqOData };
            self.team.hint(io, Hint::word(request));
            let value = u64::from(Self::added(t.cpu, t.block));
            let words = self.team.batch(t, self.sparse, batch);
            words.for_each(|(i, j)| self.team.update(io, i, AmoKind::Add, self.far_at(t, j), value));
        } else {
            self.team.hint(io, Hint::line(Request::ReqOData));
            let (words, value) = (self.team.batch(t, self.tile(t), step - batch), u64::from(Self::OWN));
            words.for_each(|(i, e)| self.team.update(io, i, AmoKind::Add, self.near_at(t, e), value));
        }
        if step + 1 == all { Step::Phase } else { Step::Next }
    }

    /// What the other side's cores do to a matrix in one iteration, on the host.
    fn visit(&self, matrix: &mut [u32], cpu: bool, mut to: impl FnMut(&mut u32, u64)) {
        for core in 0..self.cores(!cpu) {
            for j in 0..self.sparse {
                to(&mut matrix[self.far(!cpu, core, j) as usize], core);
            }
        }
    }

    /// The sum of each thread on the host, CPU threads first.
    fn sums(&self, matrices: &[Vec<u32>; 2], sums: &mut [u32]) {
        let team = &self.team;
        for core in 0..team.cores() {
            let cpu = core < team.cpus;
            let (own, width) = if cpu { (core, 1) } else { (core - team.cpus, team.group) };
            let first = if cpu { core } else { team.cpus + own * team.group };
            for j in 0..self.sparse {
                let sum = &mut sums[(first + j % width) as usize];
                *sum = sum.wrapping_add(matrices[usize::from(!cpu)][self.far(cpu, own, j) as usize]);
            }
        }
    }
}

impl Phases for Reuse {
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
        let phases = self.iterations * if self.way == Way::Add { 1 } else { 2 };
        if at.phase == phases {
            if let Some(sum) = self.sum {
                io.store(0, self.team.base.at(sum, self.team.number(t)), r[R_SUM]);
            }
            return Step::End;
        }
        match self.way {
            Way::Add => self.add(t, at.step, io),
            _ if at.phase.is_multiple_of(2) => self.dense(t, at.step, io),
            Way::Read => self.read(t, at.step, r, io),
            Way::Store => self.store(t, at, io),
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut matrices = self.sides.map(|(matrix, _)| self.team.base.first::<u32>(matrix));
        let mut sums = vec![0; self.team.threads() as usize];
        for iteration in 0..self.iterations {
            for cpu in [false, true] {
                let matrix = &mut matrices[usize::from(cpu)];
                if self.way == Way::Add {
                    matrix.iter_mut().for_each(|word| *word = word.wrapping_add(Self::OWN));
                    self.visit(matrix, cpu, |word, core| *word = word.wrapping_add(Self::added(!cpu, core)));
                } else {
                    matrix.iter_mut().for_each(|word| *word = Self::next(u64::from(*word)));
                }
                if self.way == Way::Store {
                    self.visit(matrix, cpu, |word, core| *word = Self::stored(!cpu, core, iteration));
                }
            }
            self.sums(&matrices, &mut sums);
        }
        for cpu in [false, true] {
            self.team.base.check(self.sides[usize::from(cpu)].0, &matrices[usize::from(cpu)], memory)?;
        }
        self.sum.map_or(Ok(()), |sum| self.team.base.check(sum, &sums, memory))
    }
}
