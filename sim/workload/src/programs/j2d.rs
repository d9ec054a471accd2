//! J2D (PolyBench jacobi-2d): five points, from A to B, then copied back.

use super::common::{LANES, SEED};
use super::params::{Legal, ParamSpec, Params};
use super::product::{tile_place, tiled};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "j2d",
    about: "B = 0.2 * (five points of A); A = B, two kernels per time step (PolyBench jacobi-2d).",
    params: &[
        ParamSpec {
            name: "n",
            default: "192",
            legal: Legal::Integer { min: 3, max: 16384 },
            unit: "cells",
            about: "Rows and columns, borders included.",
        },
        ParamSpec {
            name: "steps",
            default: "5",
            legal: Legal::Integer { min: 1, max: 1000 },
            unit: "steps",
            about: "Time steps of two kernels.",
        },
        LANES,
        SEED,
    ],
    published: &[("n", "4096"), ("steps", "10")],
    takes_graph: false,
    make: |params, _| Simt::from_params(J2d::new, params),
};

const A: usize = 0;
const B: usize = 1;
const P_AVERAGE: u32 = 0;
const P_COPY: u32 = 1;

/// The Jacobi iteration.
#[derive(Clone, Debug)]
pub struct J2d {
    base: Base,
    n: u64,
    steps: u64,
}

impl J2d {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (n, steps) = (params.integer("n"), params.integer("steps"));
        let grid = data::f32_bytes(&data::units(params.integer("seed"), 0, (n * n) as usize));
        let mut base = Base::new(INFO.name, params);
        base.add("A", n * n, false, grid.clone());
        base.add("B", n * n, false, grid);
        Ok(Self { base, n, steps })
    }

    /// The cell itself, then left, right, below and above it.
    fn five(&self, cell: u64) -> [u64; 5] {
        [cell, cell - 1, cell + 1, cell + self.n, cell - self.n]
    }
}

fn average(c: [f32; 5]) -> f32 {
    0.2 * (c[0] + c[1] + c[2] + c[3] + c[4])
}

impl Kernels for J2d {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let phase = index as u32 % 2;
        let name = if phase == P_AVERAGE { "jacobi2d_average" } else { "jacobi2d_copy" };
        ((index as u64) < 2 * self.steps).then(|| tiled(name, phase, self.n, self.n))
    }

    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        let (row, column) = tile_place(t, self.n);
        if row < 1 || column < 1 || row > self.n - 2 || column > self.n - 2 {
            return Flow::End;
        }
        let cell = row * self.n + column;
        match (t.phase, t.round) {
            (P_AVERAGE, 0) => {
                for (slot, at) in (0..).zip(self.five(cell)) {
                    io.read(slot, self.base.at(A, at));
                }
                return Flow::Next;
            }
            (P_AVERAGE, _) => {
                io.alu(5);
                let c = std::array::from_fn(|i| t.float(i as u64));
                io.put(0, self.base.at(B, cell), average(c));
            }
            (P_COPY, 0) => {
                io.read(0, self.base.at(B, cell));
                return Flow::Next;
            }
            _ => io.put(0, self.base.at(A, cell), t.float(0)),
        }
        Flow::End
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut now = self.base.first::<f32>(A);
        for _ in 0..self.steps {
            let old = now.clone();
            for row in 1..self.n - 1 {
                for column in 1..self.n - 1 {
                    let cell = row * self.n + column;
                    now[cell as usize] = average(self.five(cell).map(|i| old[i as usize]));
                }
            }
        }
        self.base.check(A, &now, memory)?;
        self.base.check(B, &now, memory)
    }
}
