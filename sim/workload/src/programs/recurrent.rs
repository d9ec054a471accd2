//! Recurrent networks: what their programs share. All activations are rational, so that host and wave agree exactly.

use super::common::{LANES, SEED};
use super::params::{ParamSpec, size};
use super::simt::{Base, Round, Thread};
use super::warm::WARMUP;
use crate::data;

/// Parameters of all recurrent programs: hidden units, batch, time steps.
pub const fn parameters(defaults: [&'static str; 3]) -> [ParamSpec; 6] {
    let [hidden, batch, steps] = defaults;
    [
        size("hidden", hidden, 4096, "units", "Hidden units, which is also the length of the input."),
        size("batch", batch, 1024, "sequences", "Sequences."),
        size("steps", steps, 1024, "steps", "Time steps."),
        LANES,
        SEED,
        WARMUP,
    ]
}

/// Bytes of `count` numbers around 0, less than `scale` / 2 away from it.
pub fn numbers(seed: u64, stream: u64, count: u64, scale: f32) -> Vec<u8> {
    let all = data::units(seed, stream, count as usize);
    data::f32_bytes(&all.into_iter().map(|u| (u - 1.0) * scale).collect::<Vec<f32>>())
}

/// Threads of a work-group.
pub const GROUP: u32 = 64;
/// Elements of the inner dimension in a round.
const UNROLL: u64 = 8;

/// Soft sign: like tanh, but rational.
pub fn squash(x: f32) -> f32 {
    x / (1.0 + x.abs())
}

/// Derivative of [`squash`] where its result is `y`.
pub fn slope(y: f32) -> f32 {
    let rest = 1.0 - y.abs();
    rest * rest
}

/// Like the logistic function: [`squash`] moved to 0..1.
pub fn gate(x: f32) -> f32 {
    0.5 + 0.5 * squash(x)
}

/// A row-major matrix or a column of one: element `i` is `first + i * step` of an array.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Array.
    pub array: usize,
    /// First element.
    pub first: u64,
    /// Elements from one to the next.
    pub step: u64,
}

impl Run {
    /// A run of neighbours.
    pub fn row(array: usize, first: u64) -> Self {
        Self { array, first, step: 1 }
    }

    fn at(self, i: u64) -> u64 {
        self.first + i * self.step
    }

    /// Sum of products on the host, in the order of [`Dot::step`].
    pub fn dot(self, other: Self, length: u64, arrays: &[Vec<f32>]) -> f32 {
        let of = |run: Self, i| arrays[run.array][run.at(i) as usize];
        (0..length).fold(0.0, |sum, i| sum + of(self, i) * of(other, i))
    }
}

/// Sums of products of several pairs of runs, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Dot {
    /// Length of each run.
    pub length: u64,
}

impl Dot {
    /// The step of the thread's round; true when `sums`, a register per pair, hold the results.
    pub fn step(
        self,
        base: &Base,
        pairs: &[(Run, Run)],
        t: &Thread,
        sums: &mut [u64],
        io: &mut Round,
    ) -> bool {
        let each = self.length.div_ceil(UNROLL);
        let part = |round: u64| {
            let from = round % each * UNROLL;
            ((round / each) as usize, from..self.length.min(from + UNROLL))
        };
        if t.round > 0 {
            let (pair, range) = part(t.round - 1);
            let count = range.end - range.start;
            let start = f32::from_bits(sums[pair] as u32);
            let sum = (0..count).fold(start, |sum, i| sum + t.float(2 * i) * t.float(2 * i + 1));
            sums[pair] = u64::from(sum.to_bits());
            io.alu(count);
        }
        let (pair, range) = part(t.round);
        let Some((left, right)) = pairs.get(pair) else { return true };
        for i in range.clone() {
            let slot = 2 * (i - range.start);
            io.read(slot, base.at(left.array, left.at(i)));
            io.read(slot + 1, base.at(right.array, right.at(i)));
        }
        false
    }
}

/// Slots that [`Dot::step`] leaves free.
pub const S_FREE: u64 = 2 * UNROLL;
