//! Pathfinder (Rodinia): cheapest path down a grid, several rows per kernel.

use super::common::{LANES, SEED};
use super::params::{Legal, ParamSpec, Params};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::warm::WARMUP;
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "pathfinder",
    about: "Cheapest path down a grid of costs, row by row; each kernel advances some rows in the scratchpad with halo \
            columns at both sides (Rodinia pathfinder).",
    params: &[
        ParamSpec {
            name: "columns",
            default: "8192",
            legal: Legal::Integer { min: 1, max: 1 << 24 },
            unit: "columns",
            about: "Columns of the grid.",
        },
        ParamSpec {
            name: "rows",
            default: "33",
            legal: Legal::Integer { min: 2, max: 4096 },
            unit: "rows",
            about: "Rows of the grid.",
        },
        ParamSpec {
            name: "height",
            default: "4",
            legal: Legal::Integer { min: 1, max: 127 },
            unit: "rows",
            about: "Rows that a kernel advances.",
        },
        LANES,
        SEED,
        WARMUP,
    ],
    published: &[("columns", "1000000"), ("rows", "372"), ("height", "20")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Pathfinder::new, params),
};

/// Threads of a work-group: its columns and their halos.
const GROUP: u64 = 256;
const COST: usize = 0;
const EVEN: usize = 1;
const S_COST: u64 = 0;
const S_LEFT: u64 = 1;
const S_HERE: u64 = 2;
const S_RIGHT: u64 = 3;

/// The dynamic program.
#[derive(Clone, Debug)]
pub struct Pathfinder {
    base: Base,
    columns: u64,
    rows: u64,
    height: u64,
}

impl Pathfinder {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [columns, rows, height] = ["columns", "rows", "height"].map(|name| params.integer(name));
        let seed = params.integer("seed");
        let cost: Vec<u32> = (0..columns * rows).map(|i| (data::mix(seed, 0, i) % 10) as u32).collect();
        let mut base = Base::new(INFO.name, params);
        base.input("cost", data::u32_bytes(&cost));
        base.add("even", columns, false, data::u32_bytes(&cost[..columns as usize]));
        base.zeros("odd", columns);
        Ok(Self { base, columns, rows, height })
    }

    /// Rows that the launches before `index` have advanced to.
    fn row(&self, index: u64) -> u64 {
        index.saturating_mul(self.height).min(self.rows - 1)
    }

    /// Columns that a work-group finishes.
    fn inner(&self) -> u64 {
        GROUP - 2 * self.height
    }
}

impl Kernels for Pathfinder {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let (from, to) = (self.row(index as u64), self.row(index as u64 + 1));
        let threads = self.columns.div_ceil(self.inner()) * GROUP;
        (from < to).then(|| {
            Launch::new("pathfinder", 0, threads, GROUP as u32)
                .args(&[from, to, index as u64 % 2])
                .lds(4 * GROUP)
                .registers(1)
        })
    }

    /// Each row takes a round to publish the thread's value, in its register, and one to read the neighbours'.
    fn round(&self, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        let [from, to, odd] = [t.args[0], t.args[1], t.args[2]];
        let column = (t.block * self.inner() + t.local).wrapping_sub(self.height);
        let inside = column < self.columns;
        if t.round == 0 {
            if inside {
                io.load(S_HERE, self.base.at(EVEN + odd as usize, column));
            }
            return Flow::Next;
        }
        let row = from + (t.round - 1) / 2;
        if t.round.is_multiple_of(2) {
            if inside {
                // What a thread at the end of the work-group makes of its missing neighbour never reaches the result.
                let left = if column > 0 { t.local.saturating_sub(1) } else { t.local };
                let right = if column + 1 < self.columns { (t.local + 1).min(GROUP - 1) } else { t.local };
                io.lds_load(S_LEFT, 4 * left);
                io.lds_load(S_HERE, 4 * t.local);
                io.lds_load(S_RIGHT, 4 * right);
                io.read(S_COST, self.base.at(COST, (row + 1) * self.columns + column));
            }
            return Flow::Barrier;
        }
        registers[0] = match row - from {
            0 => t.bits(S_HERE),
            _ => t.bits(S_LEFT).min(t.bits(S_HERE)).min(t.bits(S_RIGHT)) + t.bits(S_COST),
        };
        io.alu(3);
        if row < to {
            io.lds_store(0, 4 * t.local, registers[0]);
            return Flow::Barrier;
        }
        if inside && (self.height..GROUP - self.height).contains(&t.local) {
            io.store(0, self.base.at(EVEN + 1 - odd as usize, column), registers[0]);
        }
        Flow::End
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let cost = self.base.first::<u32>(COST);
        let columns = self.columns as usize;
        let mut now = cost[..columns].to_vec();
        let mut before = now.clone();
        for (r, row) in cost.chunks_exact(columns).enumerate().skip(1) {
            if ((r - 1) as u64).is_multiple_of(self.height) {
                before.clone_from(&now);
            }
            let least = |c: usize| now[c.saturating_sub(1)..(c + 2).min(columns)].iter().min().copied();
            now = row.iter().enumerate().map(|(c, cost)| cost + least(c).unwrap_or(0)).collect();
        }
        let last = (self.rows - 1).div_ceil(self.height) as usize % 2;
        self.base.check(EVEN + last, &now, memory)?;
        self.base.check(EVEN + 1 - last, &before, memory)
    }
}
