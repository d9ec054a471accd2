//! Matrix multiplication (AMD APP SDK): work-groups of 8 x 8 threads, 4 x 4 results each, the left operand through the scratchpad. Also on one GPU
//! alone, with matrices in memory of another (dnn-step.md).

use super::common::{LANES, SEED};
use super::machine::{GPUS, Machine};
use super::params::{Legal, ParamSpec, Params, size};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::{Place, VerifyError};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "mm",
    about: "C = A B for square matrices, 4 x 4 results per thread, tiles of A in the scratchpad; every GPU reads all of B (AMD APP SDK MatrixMultiplication).",
    params: &[size("n", "256", 8192, "rows", "Rows and columns of each matrix."), LANES, SEED],
    published: &[("n", "4096")],
    takes_graph: false,
    make: |params, _| Simt::from_params(MatrixMultiplication::new, params),
};

/// Registry entry.
pub const REMOTE: WorkloadInfo = WorkloadInfo {
    name: "mm-remote",
    about: "C = A B as mm, by the first GPU alone, with none, one, two or all of the matrices in memory of another GPU.",
    params: &[
        size("n", "128", 8192, "rows", "Rows and columns of each matrix."),
        ParamSpec {
            name: "remote",
            default: "3",
            legal: Legal::Integer { min: 0, max: 3 },
            unit: "matrices",
            about: "Matrices in memory of the second GPU, of A, B, C the first.",
        },
        GPUS,
        LANES,
        SEED,
    ],
    published: &[("n", "4096"), ("gpus", "2")],
    takes_graph: false,
    make: |params, _| Simt::from_params(MatrixMultiplication::remote, params),
};

/// Threads along a side of a work-group, results along a side of a thread, results along a side of a work-group.
const SIDE: u64 = 8;
const EACH: u64 = 4;
const TILE: u64 = SIDE * EACH;
/// Rounds of a tile of A: it is loaded, put in the scratchpad, multiplied four columns at a time, and given up.
const PER_TILE: u64 = 2 + TILE / EACH + 1;
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
/// First slot of the elements of B; those of A are before it.
const S_B: u64 = EACH * EACH;

/// The product.
#[derive(Clone, Debug)]
pub struct MatrixMultiplication {
    base: Base,
    n: u64,
    /// Parts of a launch, of which the first computes.
    parts: u64,
}

impl MatrixMultiplication {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        Ok(Self::named(INFO.name, params))
    }

    /// The same on one GPU; `params` as in the other registry entry.
    fn remote(params: &Params) -> Result<Self, WorkloadError> {
        let (parts, remote) = (Machine::new(params).gpus, params.integer("remote") as usize);
        if parts < 2 {
            return Err(params.illegal("gpus", "a whole number 2..64".into()));
        }
        let mut product = Self { parts, ..Self::named(REMOTE.name, params) };
        for array in [A, B, C] {
            let part = u32::from(array < remote);
            product.base.put(array, Place::Part { part, of: parts as u32 });
        }
        Ok(product)
    }

    fn named(name: &'static str, params: &Params) -> Self {
        let (n, seed) = (params.integer("n"), params.integer("seed"));
        let mut base = Base::new(name, params);
        for (stream, name) in [(0, "A"), (1, "B")] {
            base.input(name, data::f32_bytes(&data::units(seed, stream, (n * n) as usize)));
        }
        base.zeros("C", n * n);
        Self { base, n, parts: 1 }
    }

    /// Work-groups that compute.
    fn blocks(&self) -> u64 {
        self.n.div_ceil(TILE).pow(2)
    }

    /// Address of an element that exists.
    fn at(&self, array: usize, row: u64, column: u64) -> Option<u64> {
        (row < self.n && column < self.n).then(|| self.base.at(array, row * self.n + column))
    }

    /// Adds four columns of A times four rows of B, from column `from` of A on, to the thread's results.
    fn add(&self, t: &Thread, from: u64, sums: &mut [u64]) {
        let there = EACH.min(self.n.saturating_sub(from));
        for (k, i, j) in (0..there).flat_map(|k| (0..16).map(move |c| (k, c / EACH, c % EACH))) {
            let sum = &mut sums[(i * EACH + j) as usize];
            let product = t.float(i * EACH + k) * t.float(S_B + k * EACH + j);
            *sum = u64::from((f32::from_bits(*sum as u32) + product).to_bits());
        }
    }
}

/// Rows and columns of a square of `EACH`, with its slots.
fn square() -> impl Iterator<Item = (u64, u64, u64)> {
    (0..EACH * EACH).map(|slot| (slot, slot / EACH, slot % EACH))
}

impl Kernels for MatrixMultiplication {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let threads = self.parts * self.blocks() * SIDE * SIDE;
        let launch = || Launch::new("mm", 0, threads, (SIDE * SIDE) as u32);
        (index == 0).then(|| launch().lds(4 * TILE * TILE).registers(EACH * EACH))
    }

    fn round(&self, t: &Thread, sums: &mut [u64], io: &mut Round) -> Flow {
        if t.block >= self.blocks() {
            return Flow::End;
        }
        let across = self.n.div_ceil(TILE);
        let (x, y) = (t.local % SIDE, t.local / SIDE);
        let (row, column) = (t.block / across * TILE + y * EACH, t.block % across * TILE + x * EACH);
        let (tile, step) = (t.round / PER_TILE * TILE, t.round % PER_TILE);
        if step >= 3 {
            // Bits of elements that the matrix has not are never asked for.
            self.add(t, tile + (step - 3) * EACH, sums);
            io.alu(EACH * EACH * EACH);
        }
        if tile >= self.n {
            for (slot, i, j) in square() {
                if let Some(at) = self.at(C, row + i, column + j) {
                    io.store(slot, at, sums[slot as usize]);
                }
            }
            return Flow::End;
        }
        match step {
            0 => {
                for (slot, i, j) in square() {
                    if let Some(at) = self.at(A, row + i, tile + x * EACH + j) {
                        io.read(slot, at);
                    }
                }
                Flow::Next
            }
            1 => {
                for (slot, i, j) in square() {
                    if self.at(A, row + i, tile + x * EACH + j).is_some() {
                        io.lds_store(slot, 4 * ((y * EACH + i) * TILE + x * EACH + j), t.bits(slot));
                    }
                }
                Flow::Barrier
            }
            // The next tile comes when all threads have done with this one.
            _ if step == PER_TILE - 1 => Flow::Barrier,
            _ => {
                let from = (step - 2) * EACH;
                for (slot, i, j) in square() {
                    io.lds_load(slot, 4 * ((y * EACH + i) * TILE + from + j));
                    if let Some(at) = self.at(B, tile + from + i, column + j) {
                        io.read(S_B + slot, at);
                    }
                }
                Flow::Next
            }
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (a, b, n) = (self.base.first::<f32>(A), self.base.first::<f32>(B), self.n as usize);
        let element = |i: usize| (0..n).fold(0.0f32, |sum, k| sum + a[i / n * n + k] * b[k * n + i % n]);
        self.base.check(C, &(0..n * n).map(element).collect::<Vec<_>>(), memory)
    }
}
