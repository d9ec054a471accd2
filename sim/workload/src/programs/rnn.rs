//! Recurrent layer: forward steps, gradients of the data, gradients of the weights.

use super::params::Params;
use super::recurrent::{Dot, GROUP, Run, S_FREE, numbers, parameters, slope, squash};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::{WorkloadError, WorkloadInfo};
use crate::program::VerifyError;

macro_rules! pass {
    ($entry:ident, $name:literal, $pass:expr, $default:expr, $about:literal) => {
        /// Registry entry.
        pub const $entry: WorkloadInfo = WorkloadInfo {
            name: $name,
            about: $about,
            params: &parameters($default),
            published: &[("hidden", "1024"), ("batch", "64"), ("steps", "25")],
            takes_graph: false,
            make: |params, _| Ok(Simt::boxed(Rnn::new($name, $pass, params)?)),
        };
    };
}

pass!(
    FW,
    "rnn-fw",
    Pass::Forward,
    ["64", "32", "10"],
    "Forward steps of a recurrent layer, h' = f(x W + h U), one kernel per time step: the hidden vector is written by all \
     and read by all in the next."
);
pass!(
    DGRAD,
    "rnn-dgrad",
    Pass::Data,
    ["64", "8", "6"],
    "Gradients of a recurrent layer's data, last step first: d = (gradient + d' U^T) f'(h), one kernel per time step; each \
     lane reads a row of U."
);
pass!(
    WGRAD,
    "rnn-wgrad",
    Pass::Weights,
    ["64", "16", "8"],
    "Gradients of a recurrent layer's weights, dU += d^T h over the batch, one kernel per time step: each element is \
     rewritten by its owner in every step."
);

/// Which computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Forward.
    Forward,
    /// Gradients of the hidden vectors.
    Data,
    /// Gradients of the weights.
    Weights,
}

/// Input vectors; as gradients: what each step's own output adds.
const INPUT: usize = 0;
const W: usize = 1;
const U: usize = 2;
/// Hidden vectors of all steps, step 0 before the first.
const HIDDEN: usize = 3;
/// Gradients of all steps; the one behind the last is zero.
const DELTA: usize = 4;
const GRADIENT: usize = 5;

/// One pass of the layer. Vectors of a step lie sequence by sequence.
#[derive(Clone, Debug)]
pub struct Rnn {
    base: Base,
    pass: Pass,
    hidden: u64,
    batch: u64,
    steps: u64,
}

impl Rnn {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(name: &'static str, pass: Pass, params: &Params) -> Result<Self, WorkloadError> {
        let [hidden, batch, steps] = ["hidden", "batch", "steps"].map(|name| params.integer(name));
        let seed = params.integer("seed");
        let numbers = |stream, count, scale| numbers(seed, stream, count, scale);
        let (scale, count) = (4.0 / hidden as f32, batch * hidden);
        // A pass finds the results of those before it, for which numbers of the same size stand.
        let known = |yes: bool, stream, count| if yes { numbers(stream, count, 1.5) } else { vec![] };
        let mut base = Base::new(name, params);
        base.input("input", numbers(0, steps * count, 2.0));
        base.input("W", numbers(1, hidden * hidden, scale));
        base.input("U", numbers(2, hidden * hidden, scale));
        let first = if pass == Pass::Forward { count } else { (steps + 1) * count };
        base.add("hidden", (steps + 1) * count, pass != Pass::Forward, numbers(3, first, 1.5));
        let delta = known(pass == Pass::Weights, 4, (steps + 1) * count);
        base.add("delta", (steps + 1) * count, pass == Pass::Weights, delta);
        base.zeros("gradient", hidden * hidden);
        Ok(Self { base, pass, hidden, batch, steps })
    }

    fn count(&self) -> u64 {
        self.batch * self.hidden
    }

    /// Sums of products of thread `id` in step `step`.
    fn pairs(&self, step: u64, id: u64) -> Vec<(Run, Run)> {
        let (n, unit) = (self.hidden, id % self.hidden);
        let vector = |step: u64| step * self.count() + id / n * n;
        match self.pass {
            Pass::Forward => {
                let column = |array| Run { array, first: unit, step: n };
                vec![(column(W), Run::row(INPUT, vector(step))), (column(U), Run::row(HIDDEN, vector(step)))]
            }
            Pass::Data => vec![(Run::row(U, unit * n), Run::row(DELTA, vector(step + 1)))],
            Pass::Weights => {
                let column =
                    |array, step: u64, unit| Run { array, first: step * self.count() + unit, step: n };
                vec![(column(DELTA, step, id / n), column(HIDDEN, step, unit))]
            }
        }
    }

    fn dot(&self) -> Dot {
        Dot { length: if self.pass == Pass::Weights { self.batch } else { self.hidden } }
    }

    /// Words beside the sums that thread `id` needs.
    fn extra(&self, step: u64, id: u64) -> Vec<(usize, u64)> {
        match self.pass {
            Pass::Forward => vec![],
            Pass::Data => {
                vec![(INPUT, step * self.count() + id), (HIDDEN, (step + 1) * self.count() + id)]
            }
            Pass::Weights => vec![(GRADIENT, id)],
        }
    }

    /// Where thread `id` stores its result.
    fn result(&self, step: u64, id: u64) -> (usize, u64) {
        match self.pass {
            Pass::Forward => (HIDDEN, (step + 1) * self.count() + id),
            Pass::Data => (DELTA, step * self.count() + id),
            Pass::Weights => (GRADIENT, id),
        }
    }

    fn value(&self, sums: &[f32], extra: impl Fn(u64) -> f32) -> f32 {
        match self.pass {
            Pass::Forward => squash(sums[0] + sums[1]),
            Pass::Data => (extra(0) + sums[0]) * slope(extra(1)),
            Pass::Weights => extra(0) + sums[0],
        }
    }

    /// Time step of launch `index`.
    fn step(&self, index: u64) -> u64 {
        if self.pass == Pass::Data { self.steps - 1 - index } else { index }
    }

    fn threads(&self) -> u64 {
        if self.pass == Pass::Weights { self.hidden * self.hidden } else { self.count() }
    }
}

impl Kernels for Rnn {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let name = match self.pass {
            Pass::Forward => "rnn_forward",
            Pass::Data => "rnn_data_gradient",
            Pass::Weights => "rnn_weight_gradient",
        };
        ((index as u64) < self.steps).then(|| {
            Launch::new(name, 0, self.threads(), GROUP).args(&[self.step(index as u64)]).registers(2)
        })
    }

    fn round(&self, t: &Thread, sums: &mut [u64], io: &mut Round) -> Flow {
        let step = t.args[0];
        if t.round == 0 {
            for (slot, (array, index)) in (S_FREE..).zip(self.extra(step, t.id)) {
                io.load(slot, self.base.at(array, index));
            }
        }
        if !self.dot().step(&self.base, &self.pairs(step, t.id), t, sums, io) {
            return Flow::Next;
        }
        io.sfu(u64::from(self.pass == Pass::Forward));
        io.alu(2);
        let sums: Vec<f32> = sums.iter().map(|&s| f32::from_bits(s as u32)).collect();
        let (array, index) = self.result(step, t.id);
        io.put(0, self.base.at(array, index), self.value(&sums, |i| t.float(S_FREE + i)));
        Flow::End
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut now: Vec<Vec<f32>> = (0..self.base.count()).map(|i| self.base.first(i)).collect();
        for step in (0..self.steps).map(|index| self.step(index)) {
            for id in 0..self.threads() {
                let dot = |(a, b): (Run, Run)| a.dot(b, self.dot().length, &now);
                let sums: Vec<f32> = self.pairs(step, id).into_iter().map(dot).collect();
                let extra = self.extra(step, id);
                let value = self.value(&sums, |i| {
                    let (array, index) = extra[i as usize];
                    now[array][index as usize]
                });
                let (array, index) = self.result(step, id);
                now[array][index as usize] = value;
            }
        }
        let (array, _) = self.result(0, 0);
        self.base.check(array, &now[array], memory)
    }
}
