//! LSTM: forward steps of one layer.

use super::params::Params;
use super::recurrent::{Dot, GROUP, Run, S_FREE, gate, numbers, parameters, squash};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::{WorkloadError, WorkloadInfo};
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "lstm",
    about: "Forward steps of an LSTM layer, one kernel per time step, one thread per hidden unit and sequence: the hidden \
            vector of a step is written by all and read by all in the next, the weights are read by all in each.",
    params: &parameters(["64", "16", "4"]),
    published: &[("hidden", "1024"), ("batch", "64"), ("steps", "25")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Lstm::new, params),
};

const INPUT: usize = 0;
/// Weights for the input, then for the hidden vector: a row for each of its elements, a column for each unit of each gate
/// (input, forget, candidate, output).
const W: usize = 1;
const U: usize = 2;
/// Hidden vectors of all steps, step 0 before the first; sequence by sequence.
const HIDDEN: usize = 3;
const CELL: usize = 4;

/// The layer.
#[derive(Clone, Debug)]
pub struct Lstm {
    base: Base,
    hidden: u64,
    batch: u64,
    steps: u64,
}

impl Lstm {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [hidden, batch, steps] = ["hidden", "batch", "steps"].map(|name| params.integer(name));
        let seed = params.integer("seed");
        let numbers = |stream, count, scale| numbers(seed, stream, count, scale);
        let scale = 4.0 / hidden as f32;
        let mut base = Base::new(INFO.name, params);
        base.input("input", numbers(0, steps * batch * hidden, 2.0));
        base.input("W", numbers(1, 4 * hidden * hidden, scale));
        base.input("U", numbers(2, 4 * hidden * hidden, scale));
        base.add("hidden", (steps + 1) * batch * hidden, false, numbers(3, batch * hidden, 1.0));
        base.add("cell", batch * hidden, false, numbers(4, batch * hidden, 1.0));
        Ok(Self { base, hidden, batch, steps })
    }

    /// The eight sums of products of thread `id` in step `step`: each gate's input part and hidden part.
    fn pairs(&self, step: u64, id: u64) -> [(Run, Run); 8] {
        let (unit, sequence) = (id % self.hidden, id / self.hidden);
        let vector = (step * self.batch + sequence) * self.hidden;
        std::array::from_fn(|i| {
            let first = i as u64 / 2 * self.hidden + unit;
            let column = |array| Run { array, first, step: 4 * self.hidden };
            match i % 2 {
                0 => (column(W), Run::row(INPUT, vector)),
                _ => (column(U), Run::row(HIDDEN, vector)),
            }
        })
    }
}

/// New cell and hidden value.
fn update(sums: [f32; 8], cell: f32) -> (f32, f32) {
    let sum = |gate: usize| sums[2 * gate] + sums[2 * gate + 1];
    let cell = gate(sum(1)) * cell + gate(sum(0)) * squash(sum(2));
    (cell, gate(sum(3)) * squash(cell))
}

impl Kernels for Lstm {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let step = index as u64;
        (step < self.steps)
            .then(|| Launch::new("lstm_step", 0, self.batch * self.hidden, GROUP).args(&[step]).registers(8))
    }

    fn round(&self, t: &Thread, sums: &mut [u64], io: &mut Round) -> Flow {
        let step = t.args[0];
        if t.round == 0 {
            io.load(S_FREE, self.base.at(CELL, t.id));
        }
        let dot = Dot { length: self.hidden };
        if !dot.step(&self.base, &self.pairs(step, t.id), t, sums, io) {
            return Flow::Next;
        }
        io.sfu(5);
        let sums = std::array::from_fn(|i| f32::from_bits(sums[i] as u32));
        let (cell, hidden) = update(sums, t.float(S_FREE));
        io.put(0, self.base.at(CELL, t.id), cell);
        io.put(1, self.base.at(HIDDEN, (step + 1) * self.batch * self.hidden + t.id), hidden);
        Flow::End
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut now: Vec<Vec<f32>> = (0..self.base.count()).map(|i| self.base.first(i)).collect();
        let count = self.batch * self.hidden;
        for step in 0..self.steps {
            for id in 0..count {
                let sums = self.pairs(step, id).map(|(a, b)| a.dot(b, self.hidden, &now));
                let (cell, hidden) = update(sums, now[CELL][id as usize]);
                now[CELL][id as usize] = cell;
                now[HIDDEN][((step + 1) * count + id) as usize] = hidden;
            }
        }
        self.base.check(HIDDEN, &now[HIDDEN], memory)?;
        self.base.check(CELL, &now[CELL], memory)
    }
}
