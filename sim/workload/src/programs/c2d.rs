//! C2D (PolyBench 2DConvolution): 3 x 3 constant convolution.

use super::common::{LANES, SEED};
use super::params::{Legal, ParamSpec, Params};
use super::product::{tile_place, tiled};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "c2d",
    about: "3 x 3 constant convolution of a square image, borders left out, one thread per cell (PolyBench 2DConvolution).",
    params: &[
        ParamSpec {
            name: "n",
            default: "512",
            legal: Legal::Integer { min: 3, max: 16384 },
            unit: "cells",
            about: "Rows and columns.",
        },
        LANES,
        SEED,
    ],
    published: &[("n", "8192")],
    takes_graph: false,
    make: |params, _| Simt::from_params(C2d::new, params),
};

/// PolyBench's weights, row after row.
const WEIGHTS: [f32; 9] = [0.2, 0.5, -0.8, -0.3, 0.6, -0.9, 0.4, 0.7, 0.1];
const A: usize = 0;
const B: usize = 1;

/// The convolution.
#[derive(Clone, Debug)]
pub struct C2d {
    base: Base,
    n: u64,
}

impl C2d {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let n = params.integer("n");
        let mut base = Base::new(INFO.name, params);
        base.input("A", data::f32_bytes(&data::units(params.integer("seed"), 0, (n * n) as usize)));
        base.zeros("B", n * n);
        Ok(Self { base, n })
    }
}

fn weigh(cell: impl Fn(u64) -> f32) -> f32 {
    WEIGHTS.iter().zip(0..).fold(0.0, |sum, (w, i)| sum + w * cell(i))
}

impl Kernels for C2d {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        (index == 0).then(|| tiled("convolution2d", 0, self.n, self.n))
    }

    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        let (row, column) = tile_place(t, self.n);
        if row < 1 || column < 1 || row > self.n - 2 || column > self.n - 2 {
            return Flow::End;
        }
        if t.round == 0 {
            for i in 0..9 {
                io.read(i, self.base.at(A, (row + i / 3 - 1) * self.n + column + i % 3 - 1));
            }
            return Flow::Next;
        }
        io.alu(9);
        io.put(0, self.base.at(B, row * self.n + column), weigh(|i| t.float(i)));
        Flow::End
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (n, a) = (self.n as usize, self.base.first::<f32>(A));
        let inside = |i: usize| (1..n - 1).contains(&i);
        let cell = |i: usize| match (i / n, i % n) {
            (row, column) if inside(row) && inside(column) => weigh(|k| {
                let k = k as usize;
                a[(row + k / 3 - 1) * n + column + k % 3 - 1]
            }),
            _ => 0.0,
        };
        self.base.check(B, &(0..n * n).map(cell).collect::<Vec<f32>>(), memory)
    }
}
