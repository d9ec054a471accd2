//! Matrix times vector with one thread per result, as the PolyBench kernels do it.

use super::common::{active, arithmetic, await_first, float, lane_value, same, words};
use super::params::{Legal, ParamSpec, Params};
use crate::op::{Access, Addrs, LaneMask, Op, Token, Values};
use crate::program::{Frame, LoadedValues};

/// Parameter `accum` of the programs that add up products.
pub const ACCUM: ParamSpec = ParamSpec {
    name: "accum",
    default: "registers",
    legal: Legal::Choice(&["registers", "memory"]),
    unit: "",
    about: "Where a thread adds up: in registers, or in the result's element, which it then reads and writes at every step.",
};

/// Whether [`ACCUM`] says memory.
pub fn in_memory(params: &Params) -> bool {
    params.text("accum") == "memory"
}

/// Elements that a wave loads before it waits.
const UNROLL: u64 = 8;

/// Which way a thread walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// Along its row: neighbouring lanes are a row pitch apart.
    Row,
    /// Down its column: neighbouring lanes are neighbours in memory.
    Column,
}

/// `result[t] = sum over j of matrix[t][j] * vector[j]` (row) or `matrix[j][t] * vector[j]` (column), row-major, f32.
#[derive(Clone, Copy, Debug)]
pub struct MatVec {
    /// Address of the matrix.
    pub matrix: u64,
    /// Columns of the matrix.
    pub columns: u64,
    /// Address of the vector.
    pub vector: u64,
    /// Length of the vector.
    pub inner: u64,
    /// Direction.
    pub walk: Walk,
    /// Address of the vector in which the sums grow, if they do in memory ([`ACCUM`]).
    pub running: Option<u64>,
}

impl MatVec {
    /// Variables of a wave before the first step: position, then one accumulator per lane.
    pub fn vars(lanes: u32) -> Vec<u64> {
        vec![0; 1 + lanes as usize]
    }

    /// Multiplications and additions since the last wait before [`MatVec::step`] gives `None`.
    pub fn last_batch(&self) -> u64 {
        (self.inner - 1) % self.batch() + 1
    }

    /// Elements between two waits.
    fn batch(&self) -> u64 {
        if self.running.is_some() { 1 } else { UNROLL }
    }

    /// One step; `None` when the accumulators in `frame.vars[1..]` hold the sums. The frame's `pc` is 0 before the first
    /// step and 1 from then on.
    pub fn step(
        &self,
        frame: &mut Frame,
        values: &LoadedValues,
        first: u64,
        mask: LaneMask,
    ) -> Option<Vec<Op>> {
        let mut ops = Vec::new();
        if frame.pc == 1 {
            let done = self.accumulate(frame, values, mask);
            arithmetic(&mut ops, done);
        }
        frame.pc = 1;
        let at = frame.vars[0];
        if at == self.inner {
            return None;
        }
        let count = self.batch().min(self.inner - at);
        let running = self.running.map(|address| Access::data(4, words(address + 4 * first), mask));
        if let Some(access) = &running {
            let values = Values::Lanes(frame.vars[1..].to_vec());
            ops.push(Op::Store { access: access.clone(), values });
        }
        for k in 0..count {
            let j = at + k;
            let addrs = match self.walk {
                Walk::Row => Addrs::Strided {
                    base: self.matrix + 4 * (first * self.columns + j),
                    stride: 4 * self.columns as i64,
                },
                Walk::Column => {
                    Addrs::Strided { base: self.matrix + 4 * (j * self.columns + first), stride: 4 }
                }
            };
            ops.push(Op::Load { token: 2 * k as Token, access: Access::read_only(4, addrs, mask) });
            let vector = Access::read_only(4, same(self.vector + 4 * j), mask);
            ops.push(Op::Load { token: 2 * k as Token + 1, access: vector });
        }
        let loads = 2 * count as Token;
        let waits = if let Some(access) = running {
            ops.push(Op::Load { token: loads, access });
            loads + 1
        } else {
            loads
        };
        ops.push(await_first(waits));
        Some(ops)
    }

    fn accumulate(&self, frame: &mut Frame, values: &LoadedValues, mask: LaneMask) -> u64 {
        let count = self.batch().min(self.inner - frame.vars[0]);
        if self.running.is_some() {
            let sums = values.get(2 * count as Token);
            active(mask).for_each(|lane| frame.vars[1 + lane] = sums[lane]);
        }
        for k in 0..count as Token {
            let (a, v) = (values.get(2 * k), values.get(2 * k + 1));
            for lane in active(mask) {
                let sum = &mut frame.vars[1 + lane];
                *sum = lane_value(float(*sum) + float(a[lane]) * float(v[lane]));
            }
        }
        frame.vars[0] += count;
        count
    }

    /// The host's computation of all `results` sums, each in the order of [`MatVec::step`].
    pub fn host(&self, matrix: &[f32], vector: &[f32], results: u64) -> Vec<f32> {
        let columns = self.columns as usize;
        match self.walk {
            Walk::Row => matrix
                .chunks_exact(columns)
                .take(results as usize)
                .map(|row| row.iter().zip(vector).fold(0.0, |sum, (a, v)| sum + a * v))
                .collect(),
            Walk::Column => {
                let mut sums = vec![0.0f32; results as usize];
                for (row, v) in matrix.chunks_exact(columns).zip(vector) {
                    sums.iter_mut().zip(row).for_each(|(sum, a)| *sum += a * v);
                }
                sums
            }
        }
    }
}
