//! LU (PolyBench): elimination in place, two kernels for each column.

use super::common::{LANES, SEED};
use super::gemv::GROUP;
use super::params::{Legal, ParamSpec, Params};
use super::product::{tile_place, tiled};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "lu",
    about: "LU decomposition in place without pivots: for each k, row k /= A[k][k], then A[i][j] -= A[i][k] A[k][j] \
            for i, j > k; 2 (n - 1) kernels (PolyBench lu).",
    params: &[
        ParamSpec {
            name: "n",
            default: "64",
            legal: Legal::Integer { min: 2, max: 8192 },
            unit: "rows",
            about: "Rows and columns.",
        },
        GROUP,
        LANES,
        SEED,
    ],
    published: &[("n", "5792"), ("group", "256")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Lu::new, params),
};

const A: usize = 0;
const P_ROW: u32 = 0;
const P_REST: u32 = 1;

/// The decomposition.
#[derive(Clone, Debug)]
pub struct Lu {
    base: Base,
    n: u64,
    group: u32,
}

impl Lu {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let n = params.integer("n");
        let a = dominant(n, params.integer("seed"));
        let mut base = Base::new(INFO.name, params);
        base.add("A", n * n, false, data::f32_bytes(&a));
        Ok(Self { base, n, group: params.integer("group") as u32 })
    }
}

/// A matrix whose diagonal outweighs its rows, so that no pivots are needed.
pub(super) fn dominant(n: u64, seed: u64) -> Vec<f32> {
    let mut a = data::units(seed, 0, (n * n) as usize);
    (0..n as usize).for_each(|i| a[i * (n as usize + 1)] += 2.0 * n as f32);
    a
}

impl Kernels for Lu {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let k = index as u64 / 2;
        let rest = self.n - 1 - k.min(self.n - 1);
        match index as u32 % 2 {
            _ if rest == 0 => None,
            P_ROW => Some(Launch::new("lu_row", P_ROW, rest, self.group).args(&[k])),
            _ => Some(tiled("lu_rest", P_REST, rest, rest).args(&[k])),
        }
    }

    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        let (n, k) = (self.n, t.args[0]);
        let at = |i: u64, j: u64| self.base.at(A, i * n + j);
        let (i, j) = match t.phase {
            P_ROW => (k, k + 1 + t.id),
            _ => {
                let (row, column) = tile_place(t, n - 1 - k);
                (k + 1 + row, k + 1 + column)
            }
        };
        if i >= n || j >= n {
            return Flow::End;
        }
        match (t.phase, t.round) {
            (P_ROW, 0) => {
                io.load(0, at(k, j));
                io.read(1, at(k, k));
                return Flow::Next;
            }
            (P_ROW, _) => {
                io.sfu(1);
                io.put(0, at(k, j), t.float(0) / t.float(1));
            }
            (_, 0) => {
                io.load(0, at(i, j));
                io.read(1, at(i, k));
                io.read(2, at(k, j));
                return Flow::Next;
            }
            _ => {
                io.alu(1);
                io.put(0, at(i, j), t.float(0) - t.float(1) * t.float(2));
            }
        }
        Flow::End
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let n = self.n as usize;
        let mut a = self.base.first::<f32>(A);
        for k in 0..n - 1 {
            let pivot = a[k * n + k];
            a[k * n + k + 1..(k + 1) * n].iter_mut().for_each(|x| *x /= pivot);
            for i in k + 1..n {
                for j in k + 1..n {
                    a[i * n + j] -= a[i * n + k] * a[k * n + j];
                }
            }
        }
        self.base.check(A, &a, memory)
    }
}
