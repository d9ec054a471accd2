//! Matrix times vector with one thread per result, as the PolyBench kernels do it.

use super::common::{active, arithmetic, await_first, float, lane_value, same, words};
use super::params::{Legal, ParamSpec, Params};
use crate::op::{Access, Addrs, LaneMask, Op, Token, Values};
use crate::program::{Frame, LoadedValues};

/// Parameter `accum` of the programs that add up products.
pub const ACCUM: ParamSpec = ParamSpec {
    name: "accum",
    default: "registers",
    legal: Legal::Choice(&["registers", "stores", "memory"]),
    unit: "",
    about: "Where a thread adds up: in registers; in a register that it stores into the result's element at every step, as compilers make of r[i] += a * b where arrays may overlap; in that element, which it then reads and writes at every step.",
};

/// What [`ACCUM`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accum {
    /// In registers.
    Registers,
    /// In a register, stored at every step.
    Stores,
    /// In memory, read and written at every step.
    Memory,
}

impl Accum {
    /// That of a program.
    pub fn of(params: &Params) -> Accum {
        match params.text("accum") {
            "memory" => Accum::Memory,
            "stores" => Accum::Stores,
            _ => Accum::Registers,
        }
    }
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
    /// Address of the vector of the results.
    pub target: u64,
    /// Where sums grow.
    pub accum: Accum,
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
        if self.accum == Accum::Registers { UNROLL } else { 1 }
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
        let running = Access::data(4, words(self.target + 4 * first), mask);
        if self.accum != Accum::Registers {
            let values = Values::Lanes(frame.vars[1..].to_vec());
            ops.push(Op::Store { access: running.clone(), values });
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
        let reloads = self.accum == Accum::Memory;
        if reloads {
            ops.push(Op::Load { token: loads, access: running });
        }
        ops.push(await_first(loads + Token::from(reloads)));
        Some(ops)
    }

    fn accumulate(&self, frame: &mut Frame, values: &LoadedValues, mask: LaneMask) -> u64 {
        let count = self.batch().min(self.inner - frame.vars[0]);
        if self.accum == Accum::Memory {
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
