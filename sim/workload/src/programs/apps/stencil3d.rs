//! ST (Parboil stencil): seven points in space.

use super::super::common::{LANES, SEED};
use super::super::params::{Legal, ParamSpec, Params};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::{GROUP, TILE, cell, place};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "stencil3d",
    about: "Seven-point stencil on a stack of planes with fixed borders: work-groups of 16 x 16 walk through the planes, each \
            in the scratchpad while it is the middle one; from one buffer to the other and back (Parboil stencil).",
    params: &[
        ParamSpec {
            name: "n",
            default: "64",
            legal: Legal::Integer { min: 3, max: 4096 },
            unit: "cells",
            about: "Rows and columns of a plane, with the border.",
        },
        ParamSpec {
            name: "depth",
            default: "4",
            legal: Legal::Integer { min: 3, max: 4096 },
            unit: "planes",
            about: "Planes, with the first and the last, which are fixed.",
        },
        ParamSpec {
            name: "iterations",
            default: "4",
            legal: Legal::Integer { min: 1, max: 10_000 },
            unit: "kernels",
            about: "Time steps.",
        },
        LANES,
        SEED,
    ],
    published: &[("n", "128"), ("depth", "4"), ("iterations", "4")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Stencil3d::new, params),
};

const EVEN: usize = 0;
const BELOW: f32 = 1.0 / 6.0;
const AROUND: f32 = 1.0 / 36.0;
/// Slots of the plane above, of cells of other tiles, of those of this tile: north, south, west, east.
const S_ABOVE: u64 = 0;
const S_OTHER: u64 = 1;
const S_TILE: u64 = 5;
const S_FIRST: u64 = 9;
/// Registers: the thread's cell in the plane below and in this one.
const R_BELOW: usize = 0;
const R_HERE: usize = 1;

/// The stencil.
#[derive(Clone, Debug)]
pub struct Stencil3d {
    base: Base,
    n: u64,
    depth: u64,
    iterations: u64,
}

/// New value of a cell from those below, above, north, south, west and east of it.
fn weigh(here: f32, below: f32, above: f32, around: [f32; 4]) -> f32 {
    (above + below + around[0] + around[1] + around[2] + around[3]) * AROUND - here * BELOW
}

impl Stencil3d {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [n, depth, iterations, seed] =
            ["n", "depth", "iterations", "seed"].map(|name| params.integer(name));
        let cells = data::f32_bytes(&data::units(seed, 0, (n * n * depth) as usize));
        let mut base = Base::new(INFO.name, params);
        base.add("even", n * n * depth, false, cells.clone());
        base.add("odd", n * n * depth, false, cells);
        Ok(Self { base, n, depth, iterations })
    }

    /// Tiles in a row.
    fn across(&self) -> u64 {
        (self.n - 2).div_ceil(TILE)
    }

    /// Row and column of a thread's cells, if they are inside the border.
    fn cell(&self, t: &Thread) -> Option<(u64, u64)> {
        let (row, column) = cell(t, self.across());
        (row < self.n - 2 && column < self.n - 2).then_some((row + 1, column + 1))
    }

    /// For each side, the neighbour and, if it belongs to a thread of the tile, where that has put it.
    fn around(&self, t: &Thread, cell: (u64, u64)) -> [((u64, u64), Option<u64>); 4] {
        let (row, column) = place(t);
        let (r, c) = cell;
        let last = self.n - 2;
        [
            ((r - 1, c), (row > 0).then(|| 4 * (t.local - TILE))),
            ((r + 1, c), (row < TILE - 1 && r < last).then(|| 4 * (t.local + TILE))),
            ((r, c - 1), (column > 0).then(|| 4 * (t.local - 1))),
            ((r, c + 1), (column < TILE - 1 && c < last).then(|| 4 * (t.local + 1))),
        ]
    }
}

impl Kernels for Stencil3d {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        ((index as u64) < self.iterations).then(|| {
            Launch::new("stencil", 0, self.across() * self.across() * u64::from(GROUP), GROUP)
                .args(&[index as u64 % 2])
                .lds(4 * TILE * TILE)
                .registers(2)
        })
    }

    /// After the first round each plane takes two: one finishes the plane before and publishes this one's cell, one reads those of
    /// the tile.
    fn round(&self, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        let Some((row, column)) = self.cell(t) else {
            return match t.round {
                0 => Flow::Next,
                round if (round - 1) / 2 == self.depth - 2 => Flow::End,
                _ => Flow::Barrier,
            };
        };
        let (source, target) = (EVEN + t.args[0] as usize, EVEN + 1 - t.args[0] as usize);
        let at = |array: usize, plane: u64, (row, column): (u64, u64)| {
            self.base.at(array, (plane * self.n + row) * self.n + column)
        };
        if t.round == 0 {
            io.read(S_FIRST, at(source, 0, (row, column)));
            io.read(S_ABOVE, at(source, 1, (row, column)));
            return Flow::Next;
        }
        let plane = t.round.div_ceil(2);
        if t.round.is_multiple_of(2) {
            for (slot, (_, tile)) in (S_TILE..).zip(self.around(t, (row, column))) {
                if let Some(addr) = tile {
                    io.lds_load(slot, addr);
                }
            }
            return Flow::Barrier;
        }
        let around = self.around(t, (row, column));
        if plane == 1 {
            registers[R_BELOW] = t.bits(S_FIRST);
        } else {
            let value = |side: usize| {
                let base = if around[side].1.is_some() { S_TILE } else { S_OTHER };
                t.float(base + side as u64)
            };
            let [below, here] = [R_BELOW, R_HERE].map(|r| f32::from_bits(registers[r] as u32));
            io.alu(8);
            let new = weigh(here, below, t.float(S_ABOVE), std::array::from_fn(value));
            io.put(0, at(target, plane - 1, (row, column)), new);
            registers[R_BELOW] = registers[R_HERE];
        }
        if plane == self.depth - 1 {
            return Flow::End;
        }
        registers[R_HERE] = t.bits(S_ABOVE);
        io.lds_store(1, 4 * t.local, registers[R_HERE]);
        io.read(S_ABOVE, at(source, plane + 1, (row, column)));
        for (slot, (cell, tile)) in (S_OTHER..).zip(around) {
            if tile.is_none() {
                io.read(slot, at(source, plane, cell));
            }
        }
        Flow::Barrier
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (n, plane) = (self.n as usize, (self.n * self.n) as usize);
        let mut now = self.base.first::<f32>(EVEN);
        let mut before = now.clone();
        for _ in 0..self.iterations {
            before.clone_from(&now);
            for z in 1..self.depth as usize - 1 {
                for at in (1..n - 1).flat_map(|row| (1..n - 1).map(move |c| z * plane + row * n + c)) {
                    let around = [at - n, at + n, at - 1, at + 1].map(|side| before[side]);
                    now[at] = weigh(before[at], before[at - plane], before[at + plane], around);
                }
            }
        }
        let last = self.iterations as usize % 2;
        self.base.check(EVEN + last, &now, memory)?;
        self.base.check(EVEN + 1 - last, &before, memory)
    }
}
