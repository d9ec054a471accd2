//! BP (Rodinia backprop): one step of training of a layered network.

use super::super::common::{LANES, SEED};
use super::super::params::{Legal, ParamSpec, Params};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::{GROUP, TILE, place};
use crate::data;
use crate::program::{HostStep, VerifyError};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "backprop",
    about: "Training step of a network with 16 hidden units and one output: a kernel sums weighted inputs by reduction in \
            the scratchpad, tile by tile; the host finishes the forward pass; a kernel adjusts the weights (Rodinia \
            backprop).",
    params: &[
        ParamSpec {
            name: "inputs",
            default: "2048",
            legal: Legal::Integer { min: 1, max: 1 << 20 },
            unit: "units",
            about: "Units of the input layer.",
        },
        LANES,
        SEED,
    ],
    published: &[("inputs", "8192")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Backprop::new, params),
};

/// Hidden units: as wide as a tile.
const HIDDEN: u64 = TILE;
const RATE: f32 = 0.3;
const MOMENTUM: f32 = 0.3;
const TARGET: f32 = 0.1;

/// Input layer; unit 0 is always 1.
const INPUT: usize = 0;
/// Weights from each unit of the input layer to each hidden one, of the step before, and their last change.
const WEIGHT: usize = 1;
const CHANGE: usize = 2;
/// Sum over the inputs of each tile, for each hidden unit.
const PARTIAL: usize = 3;
/// Errors of the hidden units, from the host.
const DELTA: usize = 4;
/// Weights from the hidden layer to the output; used by the host.
const OUTPUT: usize = 5;

const P_FORWARD: u32 = 0;
/// Scratchpad: the tile of weights, then the inputs of its rows.
const LDS_INPUT: u64 = 4 * TILE * TILE;

/// The step.
#[derive(Clone, Debug)]
pub struct Backprop {
    base: Base,
    inputs: u64,
}

impl Backprop {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (inputs, seed) = (params.integer("inputs"), params.integer("seed"));
        let mut input = data::units(seed, 0, inputs as usize + 1);
        input[0] = 1.0;
        let weights = (inputs + 1) * HIDDEN;
        // Small enough that no sum of thousands saturates a unit.
        let weight: Vec<f32> =
            data::units(seed, 1, weights as usize).iter().map(|u| (u - 1.0) / 64.0).collect();
        let change: Vec<f32> = data::units(seed, 2, weights as usize).iter().map(|u| u / 1024.0).collect();
        let mut base = Base::new(INFO.name, params);
        base.input("input", data::f32_bytes(&input));
        base.add("weight", weights, false, data::f32_bytes(&weight));
        base.add("change", weights, false, data::f32_bytes(&change));
        base.zeros("partial", inputs.div_ceil(TILE) * HIDDEN);
        base.zeros("delta", HIDDEN);
        let output: Vec<f32> = data::units(seed, 3, HIDDEN as usize + 1).iter().map(|u| u - 1.0).collect();
        base.input("output", data::f32_bytes(&output));
        Ok(Self { base, inputs })
    }

    /// What the host makes of the tiles' sums: the hidden units' errors.
    fn deltas(&self, weight: &[f32], partial: &[f32]) -> Vec<f32> {
        let squash = |sum: f32| 1.0 / (1.0 + (-sum).exp());
        let output = self.base.first::<f32>(OUTPUT);
        let unit = |h: usize| {
            squash(partial.iter().skip(h).step_by(HIDDEN as usize).fold(weight[h], |sum, part| sum + part))
        };
        let hidden: Vec<f32> = (0..HIDDEN as usize).map(unit).collect();
        let sum = hidden.iter().zip(&output[1..]).fold(output[0], |sum, (unit, weight)| sum + unit * weight);
        let result = squash(sum);
        let error = result * (1.0 - result) * (TARGET - result);
        hidden.iter().zip(&output[1..]).map(|(unit, weight)| unit * (1.0 - unit) * error * weight).collect()
    }

    fn floats(&self, array: usize, length: u64, memory: &Memory) -> Vec<f32> {
        data::f32_values(&memory(self.base.at(array, 0), 4 * length as usize))
    }

    /// Weight of input unit `t.block * 16 + row + 1`, if there is one.
    fn weight(&self, t: &Thread) -> Option<u64> {
        let (row, column) = place(t);
        let input = t.block * TILE + row + 1;
        (input <= self.inputs).then_some(input * HIDDEN + column)
    }

    /// Products, then sums of pairs of rows, of pairs of those... each a round to read and one to write.
    fn forward(&self, t: &Thread, io: &mut Round) -> Flow {
        let (row, column) = place(t);
        let own = 4 * t.local;
        match t.round {
            0 => {
                if let Some(weight) = self.weight(t) {
                    io.read(0, self.base.at(WEIGHT, weight));
                    if column == 0 {
                        io.read(1, self.base.at(INPUT, weight / HIDDEN));
                    }
                }
                Flow::Next
            }
            1 => {
                if column == 0 {
                    io.lds_store(0, LDS_INPUT + 4 * row, t.bits(1));
                }
                Flow::Barrier
            }
            2 => {
                io.lds_load(1, LDS_INPUT + 4 * row);
                Flow::Next
            }
            3 => {
                let product = if self.weight(t).is_some() { t.float(0) * t.float(1) } else { 0.0 };
                io.alu(1);
                io.lds_store(0, own, u64::from(product.to_bits()));
                Flow::Barrier
            }
            4..12 => {
                let half = 1 << ((t.round - 4) / 2);
                let adds = row.is_multiple_of(2 * half);
                if t.round.is_multiple_of(2) {
                    if adds {
                        io.lds_load(0, own);
                        io.lds_load(1, own + 4 * half * TILE);
                    }
                    return Flow::Next;
                }
                if adds {
                    io.alu(1);
                    io.lds_store(0, own, u64::from((t.float(0) + t.float(1)).to_bits()));
                }
                Flow::Barrier
            }
            12 if row == 0 => {
                io.lds_load(0, own);
                Flow::Next
            }
            _ => {
                if row == 0 {
                    io.store(0, self.base.at(PARTIAL, t.block * HIDDEN + column), t.bits(0));
                }
                Flow::End
            }
        }
    }

    /// New weights of a tile; the first one also those of unit 0.
    fn adjust(&self, t: &Thread, io: &mut Round) -> Flow {
        let (row, column) = place(t);
        let bias = (t.block == 0 && row == 0).then_some(column);
        let own = [self.weight(t), bias];
        for (which, weight) in own.into_iter().enumerate() {
            let Some(weight) = weight else { continue };
            let (slot, which) = (3 * which as u64, which as u64);
            if t.round == 0 {
                io.load(slot, self.base.at(WEIGHT, weight));
                io.load(slot + 1, self.base.at(CHANGE, weight));
                io.read(slot + 2, self.base.at(INPUT, weight / HIDDEN));
                if which == 0 {
                    io.read(6, self.base.at(DELTA, column));
                }
            } else {
                io.alu(4);
                let change = change(t.float(6), t.float(slot + 2), t.float(slot + 1));
                io.put(2 * which, self.base.at(WEIGHT, weight), t.float(slot) + change);
                io.put(2 * which + 1, self.base.at(CHANGE, weight), change);
            }
        }
        if t.round == 0 { Flow::Next } else { Flow::End }
    }
}

fn change(delta: f32, input: f32, last: f32) -> f32 {
    RATE * delta * input + MOMENTUM * last
}

impl Kernels for Backprop {
    fn base(&self) -> &Base {
        &self.base
    }

    fn host(&self, index: usize, memory: &Memory) -> Option<HostStep> {
        (index == 1).then(|| {
            let weight = self.floats(WEIGHT, HIDDEN, memory);
            let partial = self.floats(PARTIAL, self.inputs.div_ceil(TILE) * HIDDEN, memory);
            let bytes = data::f32_bytes(&self.deltas(&weight, &partial));
            HostStep::Write { addr: self.base.at(DELTA, 0), bytes }
        })
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let threads = self.inputs.div_ceil(TILE) * u64::from(GROUP);
        match index {
            0 => Some(Launch::new("layerforward", P_FORWARD, threads, GROUP).lds(LDS_INPUT + 4 * TILE)),
            2 => Some(Launch::new("adjust_weights", P_FORWARD + 1, threads, GROUP)),
            _ => None,
        }
    }

    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        if t.phase == P_FORWARD { self.forward(t, io) } else { self.adjust(t, io) }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (hidden, tile) = (HIDDEN as usize, TILE as usize);
        let input = self.base.first::<f32>(INPUT);
        let mut weight = self.base.first::<f32>(WEIGHT);
        let mut last = self.base.first::<f32>(CHANGE);
        let mut partial = Vec::new();
        for first in (1..input.len()).step_by(tile) {
            for h in 0..hidden {
                let product = |i: usize| input.get(i).map_or(0.0, |x| weight[i * hidden + h] * x);
                let mut sums: Vec<f32> = (first..first + tile).map(product).collect();
                while sums.len() > 1 {
                    sums = sums.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect();
                }
                partial.push(sums[0]);
            }
        }
        let delta = self.deltas(&weight[..hidden], &partial);
        for (at, (weight, last)) in weight.iter_mut().zip(&mut last).enumerate() {
            *last = change(delta[at % hidden], input[at / hidden], *last);
            *weight += *last;
        }
        self.base.check(PARTIAL, &partial, memory)?;
        self.base.check(DELTA, &delta, memory)?;
        self.base.check(WEIGHT, &weight, memory)?;
        self.base.check(CHANGE, &last, memory)
    }
}
