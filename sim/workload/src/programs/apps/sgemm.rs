//! SGEMM (Parboil sgemm): `C = a A B + b C` by tiles.

use super::super::common::{LANES, SEED};
use super::super::params::{Legal, ParamSpec, Params};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::{GROUP, TILE, cell, place};
use crate::data;
use crate::program::VerifyError;

const fn dimension(name: &'static str, default: &'static str, about: &'static str) -> ParamSpec {
    ParamSpec { name, default, legal: Legal::Integer { min: 1, max: 16384 }, unit: "elements", about }
}

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "sgemm",
    about: "C = a A B + b C, one thread per element in work-groups of 16 x 16; tiles of A and B go through the scratchpad \
            (Parboil sgemm).",
    params: &[
        dimension("m", "128", "Rows of A and C."),
        dimension("k", "96", "Columns of A and rows of B."),
        dimension("n", "128", "Columns of B and C."),
        LANES,
        SEED,
    ],
    published: &[("m", "1024"), ("k", "992"), ("n", "1056")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Sgemm::new, params),
};

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const ALPHA: f32 = 1.25;
const BETA: f32 = 0.75;
const S_OLD: u64 = 2 * TILE;
/// Rounds of a step along the inner dimension.
const ROUNDS: u64 = 3;

/// The product.
#[derive(Clone, Debug)]
pub struct Sgemm {
    base: Base,
    m: u64,
    k: u64,
    n: u64,
}

impl Sgemm {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [m, k, n, seed] = ["m", "k", "n", "seed"].map(|name| params.integer(name));
        let units = |stream, length: u64| data::f32_bytes(&data::units(seed, stream, length as usize));
        let mut base = Base::new(INFO.name, params);
        base.input("A", units(0, m * k));
        base.input("B", units(1, k * n));
        base.add("C", m * n, false, units(2, m * n));
        Ok(Self { base, m, k, n })
    }

    /// Inner elements of a step.
    fn depth(&self, step: u64) -> u64 {
        TILE.min(self.k - step * TILE)
    }
}

impl Kernels for Sgemm {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let tiles = self.m.div_ceil(TILE) * self.n.div_ceil(TILE);
        (index == 0).then(|| {
            Launch::new("sgemm", 0, tiles * u64::from(GROUP), GROUP).lds(8 * TILE * TILE).registers(1)
        })
    }

    /// Per step: multiplies what the step before has brought, reads the next tiles; stores them in the scratchpad; loads a row
    /// and a column from there.
    fn round(&self, t: &Thread, sum: &mut [u64], io: &mut Round) -> Flow {
        let (row, column) = cell(t, self.n.div_ceil(TILE));
        let (down, across) = place(t);
        let (step, part) = (t.round / ROUNDS, t.round % ROUNDS);
        let inside = row < self.m && column < self.n;
        let at = self.base.at(C, row * self.n + column);
        let lds = |tile: u64, row: u64, column: u64| 4 * (tile * TILE * TILE + row * TILE + column);
        if step == self.k.div_ceil(TILE) && part == 1 {
            if inside {
                io.alu(2);
                io.put(0, at, ALPHA * f32::from_bits(sum[0] as u32) + BETA * t.float(S_OLD));
            }
            return Flow::End;
        }
        match part {
            0 => {
                if let Some(before) = step.checked_sub(1).filter(|_| inside) {
                    let depth = self.depth(before);
                    let add = |sum, k| sum + t.float(k) * t.float(TILE + k);
                    io.alu(depth);
                    sum[0] = u64::from((0..depth).fold(f32::from_bits(sum[0] as u32), add).to_bits());
                }
                if step == self.k.div_ceil(TILE) {
                    if inside {
                        io.load(S_OLD, at);
                    }
                    return Flow::Next;
                }
                if row < self.m && across < self.depth(step) {
                    io.read(0, self.base.at(A, row * self.k + step * TILE + across));
                }
                if column < self.n && down < self.depth(step) {
                    io.read(TILE, self.base.at(B, (step * TILE + down) * self.n + column));
                }
                Flow::Barrier
            }
            1 => {
                io.lds_store(0, lds(0, down, across), t.bits(0));
                io.lds_store(1, lds(1, down, across), t.bits(TILE));
                Flow::Barrier
            }
            _ => {
                if inside {
                    for k in 0..self.depth(step) {
                        io.lds_load(k, lds(0, down, k));
                        io.lds_load(TILE + k, lds(1, k, across));
                    }
                }
                Flow::Next
            }
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (a, b) = (self.base.first::<f32>(A), self.base.first::<f32>(B));
        let mut c = self.base.first::<f32>(C);
        let (n, inner) = (self.n as usize, self.k as usize);
        for (at, c) in c.iter_mut().enumerate() {
            let (row, column) = (at / n, at % n);
            let sum = (0..inner).fold(0.0, |sum, k| sum + a[row * inner + k] * b[k * n + column]);
            *c = ALPHA * sum + BETA * *c;
        }
        self.base.check(C, &c, memory)
    }
}
