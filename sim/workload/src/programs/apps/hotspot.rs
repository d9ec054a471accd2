//! HS (Rodinia hotspot): temperatures of a chip, several steps per kernel.

use super::super::common::{LANES, SEED};
use super::super::params::{Legal, ParamSpec, Params};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::{GROUP, Grid, TILE, place};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "hotspot",
    about: "Temperatures of a chip from the power of its cells, five points; each kernel advances some steps in scratchpad \
            tiles with a halo around, from one buffer to the other and back (Rodinia hotspot).",
    params: &[
        ParamSpec {
            name: "n",
            default: "160",
            legal: Legal::Integer { min: 1, max: 8192 },
            unit: "cells",
            about: "Rows and columns.",
        },
        ParamSpec {
            name: "iterations",
            default: "4",
            legal: Legal::Integer { min: 1, max: 10_000 },
            unit: "steps",
            about: "Time steps.",
        },
        ParamSpec {
            name: "height",
            default: "2",
            legal: Legal::Integer { min: 1, max: TILE / 2 - 1 },
            unit: "steps",
            about: "Steps that a kernel advances.",
        },
        LANES,
        SEED,
    ],
    published: &[("n", "512")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Hotspot::new, params),
};

const POWER: usize = 0;
const EVEN: usize = 1;
const S_HERE: u64 = 0;
const S_POWER: u64 = 1;
const S_AROUND: u64 = 2;
/// Registers of a thread: temperature and power of its cell.
const R_HERE: usize = 0;
const R_POWER: usize = 1;

/// Step by heat capacity; conductances along columns, rows and to the air; temperature of the air.
const STEP: f32 = 0.25;
const VERTICAL: f32 = 0.5;
const HORIZONTAL: f32 = 0.375;
const AIR: f32 = 0.0625;
const AMBIENT: f32 = 0.25;

/// The simulation.
#[derive(Clone, Debug)]
pub struct Hotspot {
    base: Base,
    grid: Grid,
    iterations: u64,
    height: u64,
}

/// New temperature of a cell from those of it and of the cells north, south, west and east.
fn heated(here: f32, [north, south, west, east]: [f32; 4], power: f32) -> f32 {
    let flow = power
        + (north + south - 2.0 * here) * VERTICAL
        + (east + west - 2.0 * here) * HORIZONTAL
        + (AMBIENT - here) * AIR;
    here + STEP * flow
}

impl Hotspot {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [n, iterations, height, seed] =
            ["n", "iterations", "height", "seed"].map(|name| params.integer(name));
        let cells = (n * n) as usize;
        let mut base = Base::new(INFO.name, params);
        base.input("power", data::f32_bytes(&data::units(seed, 0, cells)));
        base.add("even", n * n, false, data::f32_bytes(&data::units(seed, 1, cells)));
        base.zeros("odd", n * n);
        Ok(Self { base, grid: Grid { n }, iterations, height })
    }

    /// Rows and columns that a work-group finishes.
    fn inner(&self) -> u64 {
        TILE - 2 * self.height
    }

    /// Steps that the launches before `index` have made.
    fn step(&self, index: u64) -> u64 {
        index.saturating_mul(self.height).min(self.iterations)
    }

    /// Row and column of a thread, halo included, if the grid has it.
    fn cell(&self, t: &Thread) -> Option<(u64, u64)> {
        let across = self.grid.n.div_ceil(self.inner());
        let (row, column) = place(t);
        let row = (t.block / across * self.inner() + row).checked_sub(self.height)?;
        let column = (t.block % across * self.inner() + column).checked_sub(self.height)?;
        (row < self.grid.n && column < self.grid.n).then_some((row, column))
    }

    /// Where the cells around a thread's are in the scratchpad. What a thread at the edge of the tile makes of a missing neighbour
    /// never reaches the result.
    fn around(&self, t: &Thread, cell: (u64, u64)) -> [u64; 4] {
        let (row, column) = place(t);
        let shift = |own: u64, from: u64, to: u64| (own + to).saturating_sub(from).min(TILE - 1);
        let addr = |to: (u64, u64)| 4 * (shift(row, cell.0, to.0) * TILE + shift(column, cell.1, to.1));
        self.grid.around(cell.0, cell.1).map(addr)
    }
}

impl Kernels for Hotspot {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let (from, to) = (self.step(index as u64), self.step(index as u64 + 1));
        let across = self.grid.n.div_ceil(self.inner());
        (from < to).then(|| {
            Launch::new("hotspot", 0, across * across * u64::from(GROUP), GROUP)
                .args(&[to - from, index as u64 % 2])
                .lds(4 * TILE * TILE)
                .registers(2)
        })
    }

    /// Each step takes a round to publish the thread's temperature and one to read those around.
    fn round(&self, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        let [steps, odd] = [t.args[0], t.args[1]];
        let cell = self.cell(t);
        if t.round == 0 {
            if let Some(cell) = cell {
                io.read(S_HERE, self.base.at(EVEN + odd as usize, self.grid.at(cell)));
                io.read(S_POWER, self.base.at(POWER, self.grid.at(cell)));
            }
            return Flow::Next;
        }
        if t.round.is_multiple_of(2) {
            if let Some(cell) = cell {
                for (slot, addr) in (S_AROUND..).zip(self.around(t, cell)) {
                    io.lds_load(slot, addr);
                }
            }
            return Flow::Barrier;
        }
        let done = (t.round - 1) / 2;
        if done == 0 {
            (registers[R_HERE], registers[R_POWER]) = (t.bits(S_HERE), t.bits(S_POWER));
        } else {
            let around = std::array::from_fn(|side| t.float(S_AROUND + side as u64));
            let [here, power] = [R_HERE, R_POWER].map(|r| f32::from_bits(registers[r] as u32));
            registers[R_HERE] = u64::from(heated(here, around, power).to_bits());
            io.alu(12);
        }
        if done < steps {
            if cell.is_some() {
                io.lds_store(0, 4 * t.local, registers[R_HERE]);
            }
            return Flow::Barrier;
        }
        let (row, column) = place(t);
        let inner = self.height..TILE - self.height;
        if let Some(cell) = cell.filter(|_| inner.contains(&row) && inner.contains(&column)) {
            io.store(0, self.base.at(EVEN + 1 - odd as usize, self.grid.at(cell)), registers[R_HERE]);
        }
        Flow::End
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let n = self.grid.n;
        let power = self.base.first::<f32>(POWER);
        let mut now = self.base.first::<f32>(EVEN);
        let mut before = now.clone();
        for step in 0..self.iterations {
            if step.is_multiple_of(self.height) {
                before.clone_from(&now);
            }
            let heated = |at: u64| {
                let around = self.grid.around(at / n, at % n).map(|cell| now[self.grid.at(cell) as usize]);
                heated(now[at as usize], around, power[at as usize])
            };
            now = (0..n * n).map(heated).collect();
        }
        let last = self.iterations.div_ceil(self.height) as usize % 2;
        self.base.check(EVEN + last, &now, memory)?;
        self.base.check(EVEN + 1 - last, &before, memory)
    }
}
