//! Indirection: CPU threads write a matrix transposed to another one, the CUs write it back, in turns.
//!
//! Neither side reuses what it reads, and two cores write each line, so that caching costs more than it saves.

use super::super::common::SEED;
use super::super::params::{Legal, ParamSpec, Params, size};
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
    name: "indirection",
    about: "CPU threads write matrix A transposed to B, then the CUs B to A, each adding 1, in tiles so that two cores write each line (Spandex Indirection).",
    params: &[
        cpu_threads("8", 1, "CPU threads; tiles are dealt to them cyclically."),
        blocks("16", 1, "Work-groups; tiles are dealt to them cyclically."),
        ParamSpec {
            name: "n",
            default: "256",
            legal: Legal::Integer { min: 1, max: 1 << 14 },
            unit: "elements",
            about: "Rows and columns of both matrices, a multiple of both tile sizes.",
        },
        size("tile_rows", "8", 1 << 10, "rows", "Rows of a tile of the matrix that is read."),
        size("tile_columns", "32", 1 << 10, "columns", "Columns of a tile of the matrix that is read."),
        size("iterations", "2", 1 << 16, "iterations", "Times to and fro; the study has 8."),
        HINTS,
        GROUP,
        LANES,
        SEED,
    ],
    published: &[("iterations", "8")],
    takes_graph: false,
    make: |params, _| Ok(InPhases::boxed(Indirection::new(params)?)),
};

const R_TILE: usize = 0;
const R_BATCH: usize = 1;
const R_STORE: usize = 2;
const REGISTERS: u64 = 3;

/// Two matrices.
#[derive(Clone, Debug)]
pub struct Indirection {
    team: Team,
    n: u64,
    rows: u64,
    columns: u64,
    iterations: u64,
    barrier: Option<usize>,
    /// A and B.
    matrices: [usize; 2],
}

impl Indirection {
    /// Builds the program.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let mut team = Team::new(INFO.name, params, params.integer("group"))?;
        let [n, rows, columns] = ["n", "tile_rows", "tile_columns"].map(|key| params.integer(key));
        if n % rows != 0 || n % columns != 0 {
            let legal = format!("a multiple of tile_rows = {rows} and of tile_columns = {columns}");
            return Err(params.illegal("n", legal));
        }
        let seed = params.integer("seed");
        let first: Vec<u32> = (0..n * n).map(|i| data::mix(seed, 0, i) as u32).collect();
        let matrices =
            [team.base.add("A", n * n, false, data::u32_bytes(&first)), team.base.zeros("B", n * n)];
        let barrier = barrier(&mut team);
        Ok(Self { team, n, rows, columns, iterations: params.integer("iterations"), barrier, matrices })
    }

    /// Row and column of an element of a tile in the matrix that is read. Tiles below one another have following numbers, so that those that share lines of the
    /// matrix that is written go to different cores.
    fn element(&self, tile: u64, e: u64) -> (u64, u64) {
        let below = self.n / self.rows;
        (tile % below * self.rows + e / self.columns, tile / below * self.columns + e % self.columns)
    }
}

impl Phases for Indirection {
    fn team(&self) -> &Team {
        &self.team
    }

    fn barrier(&self) -> Option<usize> {
        self.barrier
    }

    fn registers(&self) -> u64 {
        REGISTERS
    }

    fn round(&self, t: &Thread, at: At, r: &mut [u64], io: &mut Round) -> Step {
        if at.phase == 2 * self.iterations {
            return Step::End;
        }
        let (turn, size) = (at.phase % 2, self.rows * self.columns);
        if t.cpu != (turn == 0) {
            return Step::Phase;
        }
        let cores = if t.cpu { self.team.cpus } else { self.team.blocks };
        let tiles = self.n * self.n / size;
        if at.step == 0 {
            (r[R_TILE], r[R_BATCH], r[R_STORE]) = (t.block, 0, 0);
        }
        if r[R_TILE] >= tiles {
            return Step::Phase;
        }
        let place =
            |matrix: usize, row, column| self.team.base.at(self.matrices[matrix], row * self.n + column);
        let (from, to) = (turn as usize, 1 - turn as usize);
        let store = r[R_STORE] == 1;
        let (request, line) = if store { (Request::ReqWtFwd, false) } else { (Request::ReqOData, true) };
        self.team.hint(io, Hint { request, line });
        for (i, e) in self.team.batch(t, size, r[R_BATCH]) {
            let (row, column) = self.element(r[R_TILE], e);
            if store {
                io.store(Team::most() + i, place(to, column, row), t.bits(i) + 1);
            } else {
                io.load(i, place(from, row, column));
            }
        }
        r[R_STORE] = 1 - r[R_STORE];
        if store {
            r[R_BATCH] += 1;
            if r[R_BATCH] == self.team.batches(t, size) {
                (r[R_TILE], r[R_BATCH]) = (r[R_TILE] + cores, 0);
            }
        }
        Step::Next
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let n = self.n as usize;
        let mut a = self.team.base.first::<u32>(self.matrices[0]);
        let mut b = vec![0; n * n];
        for _ in 0..self.iterations {
            (0..n * n).for_each(|i| b[i % n * n + i / n] = a[i].wrapping_add(1));
            (0..n * n).for_each(|i| a[i % n * n + i / n] = b[i].wrapping_add(1));
        }
        self.team.base.check(self.matrices[0], &a, memory)?;
        self.team.base.check(self.matrices[1], &b, memory)
    }
}
