//! A step of data-parallel training of a perceptron with three layers of weights, the weights shared between GPUs in one of five ways
//! (dnn-step.md).
//!
//! Every GPU has a batch of its own. A step is: the batch comes from the host; forward and back propagation on every GPU; the gradients meet at
//! GPU 0, which changes the weights; all GPUs have the new weights. The ways differ in which arrays there are, where they are and which copies the
//! host orders:
//!
//! | way | weights | gradients of GPU g | batch | copies in a step |
//! | --- | --- | --- | --- | --- |
//! | `memcpy` | one copy in each GPU | in GPU g, and received in GPU 0 | sent to each GPU | gradients to GPU 0, weights to all others |
//! | `direct` | in GPU 0 | in GPU 0 | sent to each GPU | none |
//! | `zerocopy` | with the host | with the host | with the host | none |
//! | `unified` | paged | paged | paged | none |
//! | `tsm` | by placement policy | by placement policy | sent once for all | none |
//!
//! What only one GPU uses (activations, their derivatives) is in its own memory.

mod arrays;
#[cfg(test)]
mod tests;

use super::common::{LANES, SEED};
use super::machine::{GPUS, Machine};
use super::params::{Legal, ParamSpec, Params, size};
use super::recurrent::{Dot, GROUP, Run, S_FREE};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::{HostStep, VerifyError};
use arrays::{Arrays, Way};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "dnn-step",
    about: "Data-parallel training steps of a perceptron (inputs x 128, 128 x 64, 64 x 1000), the weights shared between GPUs by \
            copies, by remote access, in memory of the host, page by page, or in one memory.",
    params: &[
        ParamSpec {
            name: "data",
            default: "mnist",
            legal: Legal::Choice(&["mnist", "cifar10", "imagenet"]),
            unit: "",
            about: "Size of the images: 400, 1024 or 21927 inputs.",
        },
        ParamSpec {
            name: "way",
            default: "memcpy",
            legal: Legal::Choice(&["memcpy", "direct", "zerocopy", "unified", "tsm"]),
            unit: "",
            about: "How GPUs share the weights.",
        },
        size("scale", "4", 16, "", "Divides all widths; published sizes have 1, quick runs 4 or 16."),
        size("batch", "32", 1024, "images", "Images of a GPU's batch."),
        size("steps", "1", 100, "steps", "Training steps, each on a batch of its own."),
        ParamSpec {
            name: "rate",
            default: "0.5",
            legal: Legal::Real { min: 1e-6, max: 100.0 },
            unit: "",
            about: "Step of the weights against the mean gradient.",
        },
        GPUS,
        LANES,
        SEED,
    ],
    published: &[("scale", "1"), ("gpus", "2")],
    takes_graph: false,
    make: |params, _| Simt::from_params(DnnStep::new, params),
};

/// Layers of weights.
const LAYERS: usize = 3;

/// What the host does next.
#[derive(Clone, Copy, Debug)]
enum Action {
    /// Sends images and labels of a step, each in one or more pieces.
    Send { step: u64, piece: usize, labels: bool },
    /// Copies a whole array of weights or gradients.
    Copy { from: usize, to: usize },
    /// Launches a kernel.
    Launch { kind: Kind, layer: usize, step: u64 },
}

/// What a kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Activations of a layer.
    Forward,
    /// Derivative of the squared error, at the last layer.
    Error,
    /// Derivatives of a layer from those of the next.
    Back,
    /// Gradient of a layer's weights.
    Gradient,
    /// All weights less their mean gradient, by GPU 0.
    Update,
}

const KINDS: [Kind; 5] = [Kind::Forward, Kind::Error, Kind::Back, Kind::Gradient, Kind::Update];

/// What one thread computes: a sum of products, words beside it, and where the result goes.
struct Task {
    dot: Option<(Run, Run, u64)>,
    beside: Vec<(usize, u64)>,
    to: (usize, u64),
}

/// The training.
#[derive(Clone, Debug)]
pub struct DnnStep {
    base: Base,
    way: Way,
    widths: [u64; LAYERS + 1],
    batch: u64,
    gpus: u64,
    /// Step of the weights against the sum of all gradients.
    rate: f32,
    of: Vec<Arrays>,
    /// Images and labels of all steps, GPU by GPU in a step.
    images: Vec<f32>,
    labels: Vec<u32>,
    plan: Vec<Action>,
}

impl DnnStep {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let inputs = match params.text("data") {
            "mnist" => 400,
            "cifar10" => 1024,
            _ => 21927,
        };
        let scale = params.integer("scale");
        let widths = [inputs, 128, 64, 1000].map(|width: u64| (width / scale).max(1));
        let [batch, steps, seed] = ["batch", "steps", "seed"].map(|name| params.integer(name));
        let gpus = Machine::new(params).gpus;
        let images = steps * gpus * batch;
        let pixels = data::units(seed, 0, (images * widths[0]) as usize);
        let mut program = Self {
            base: Base::new(INFO.name, params),
            way: Way::new(params.text("way")),
            widths,
            batch,
            gpus,
            rate: params.real("rate") as f32 / (batch * gpus) as f32,
            of: vec![],
            images: pixels.into_iter().map(|pixel| pixel - 0.5).collect(),
            labels: (0..images).map(|i| (data::mix(seed, 1, i) % widths[LAYERS]) as u32).collect(),
            plan: vec![],
        };
        program.add_arrays(seed);
        for step in 0..steps {
            program.plan_step(step);
        }
        Ok(program)
    }

    /// First weight of a layer; of the layer behind the last, the number of weights.
    fn first(&self, layer: usize) -> u64 {
        (0..layer).map(|l| self.widths[l] * self.widths[l + 1]).sum()
    }

    /// Weights of both signs, of a size that keeps sums near those of the inputs.
    fn first_weights(&self, seed: u64) -> Vec<f32> {
        let of = |layer: usize| {
            let scale = 2.0 * (6.0 / self.widths[layer] as f32).sqrt();
            let count = (self.first(layer + 1) - self.first(layer)) as usize;
            data::units(seed, 2 + layer as u64, count).into_iter().map(move |u| (u - 1.0) * scale)
        };
        (0..LAYERS).flat_map(of).collect()
    }

    fn plan_step(&mut self, step: u64) {
        if self.way.sends() {
            let pieces = if self.way == Way::Tsm { 1 } else { self.gpus as usize };
            let send = |piece| [false, true].map(|labels| Action::Send { step, piece, labels });
            self.plan.extend((0..pieces).flat_map(send));
        }
        let launch = |kind, layer| Action::Launch { kind, layer, step };
        self.plan.extend([0, 1, 2].map(|layer| launch(Kind::Forward, layer)));
        self.plan.extend([launch(Kind::Error, 2), launch(Kind::Back, 1), launch(Kind::Back, 0)]);
        self.plan.extend([0, 1, 2].map(|layer| launch(Kind::Gradient, layer)));
        let others = if self.way == Way::Memcpy { &self.of[1..] } else { &[] };
        self.plan.extend(others.iter().map(|gpu| Action::Copy { from: gpu.gradient, to: gpu.received }));
        self.plan.push(launch(Kind::Update, 0));
        let from = self.of[0].weights;
        self.plan.extend(others.iter().map(|gpu| Action::Copy { from, to: gpu.weights }));
    }

    /// Results of a kernel on one GPU.
    fn count(&self, kind: Kind, layer: usize) -> u64 {
        match kind {
            Kind::Forward | Kind::Error | Kind::Back => self.batch * self.widths[layer + 1],
            Kind::Gradient => self.widths[layer] * self.widths[layer + 1],
            Kind::Update => self.first(LAYERS),
        }
    }

    fn task(&self, kind: Kind, layer: usize, step: u64, gpu: usize, id: u64) -> Task {
        let (own, width) = (&self.of[gpu], self.widths[layer + 1]);
        let (sample, unit) = (id / width, id % width);
        let (inputs, first) = match layer {
            0 => (own.images, self.image(gpu, step) * self.widths[0]),
            _ => (own.activation[layer - 1], 0),
        };
        let before = self.widths[layer];
        match kind {
            Kind::Forward => {
                let left = Run::row(inputs, first + sample * before);
                let right = Run { array: own.weights, first: self.first(layer) + unit, step: width };
                Task { dot: Some((left, right, before)), beside: vec![], to: (own.activation[layer], id) }
            }
            Kind::Error => {
                let label = (own.labels, self.image(gpu, step) + sample);
                Task {
                    dot: None,
                    beside: vec![(own.activation[layer], id), label],
                    to: (own.delta[layer], id),
                }
            }
            Kind::Back => {
                let next = self.widths[layer + 2];
                let left = Run::row(own.delta[layer + 1], sample * next);
                let right = Run::row(own.weights, self.first(layer + 1) + unit * next);
                Task {
                    dot: Some((left, right, next)),
                    beside: vec![(own.activation[layer], id)],
                    to: (own.delta[layer], id),
                }
            }
            Kind::Gradient => {
                // Here `sample` is the weight's row, an input of the layer.
                let left = Run { array: inputs, first: first + sample, step: before };
                let right = Run { array: own.delta[layer], first: unit, step: width };
                let to = (own.gradient, self.first(layer) + id);
                Task { dot: Some((left, right, self.batch)), beside: vec![], to }
            }
            Kind::Update => {
                let mut beside = vec![(own.weights, id)];
                beside.extend(self.of.iter().map(|gpu| (gpu.received, id)));
                Task { dot: None, beside, to: (own.weights, id) }
            }
        }
    }

    /// Result of a thread from its sum and the bits of the words beside it.
    fn value(&self, kind: Kind, id: u64, sum: f32, beside: impl Fn(usize) -> u32) -> f32 {
        let number = |i| f32::from_bits(beside(i));
        let slope = |a: f32| a * (1.0 - a);
        match kind {
            Kind::Forward => 1.0 / (1.0 + (-sum).exp()),
            Kind::Error => {
                let wanted = if u64::from(beside(1)) == id % self.widths[LAYERS] { 1.0 } else { 0.0 };
                (number(0) - wanted) * slope(number(0))
            }
            Kind::Back => sum * slope(number(0)),
            Kind::Gradient => sum,
            Kind::Update => {
                let all = (1..=self.gpus as usize).fold(0.0, |all, gpu| all + number(gpu));
                number(0) - self.rate * all
            }
        }
    }

    /// GPUs that take part in a kernel.
    fn active(&self, kind: Kind) -> usize {
        if kind == Kind::Update { 1 } else { self.of.len() }
    }

    /// Bits of all arrays after the first `actions` steps of the host, computed by the host.
    fn host_arrays(&self, actions: usize) -> Vec<Vec<u32>> {
        let mut now: Vec<Vec<u32>> = (0..self.base.count()).map(|i| self.base.first(i)).collect();
        for action in &self.plan[..actions] {
            match *action {
                Action::Send { step, piece, labels } => {
                    let (array, bytes) = self.sent(step, piece, labels);
                    let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
                    now[array] = bytes.chunks_exact(4).map(word).collect();
                }
                Action::Copy { from, to } => now[to] = now[from].clone(),
                Action::Launch { kind, layer, step } => {
                    for gpu in 0..self.active(kind) {
                        for id in 0..self.count(kind, layer) {
                            let task = self.task(kind, layer, step, gpu, id);
                            let of = |run: Run, i: u64| {
                                f32::from_bits(now[run.array][(run.first + i * run.step) as usize])
                            };
                            let sum = task.dot.map_or(0.0, |(left, right, length)| {
                                (0..length).fold(0.0, |sum, i| sum + of(left, i) * of(right, i))
                            });
                            let value = self.value(kind, id, sum, |i| {
                                let (array, index) = task.beside[i];
                                now[array][index as usize]
                            });
                            now[task.to.0][task.to.1 as usize] = value.to_bits();
                        }
                    }
                }
            }
        }
        now
    }

    /// Array and bytes of what the host sends.
    fn sent(&self, step: u64, piece: usize, labels: bool) -> (usize, Vec<u8>) {
        let own = &self.of[piece];
        let count = if self.way == Way::Tsm { self.gpus * self.batch } else { self.batch };
        let first = step * self.gpus * self.batch + piece as u64 * count;
        let part = |each: u64| (first * each) as usize..((first + count) * each) as usize;
        match labels {
            true => (own.labels, data::u32_bytes(&self.labels[part(1)])),
            false => (own.images, data::f32_bytes(&self.images[part(self.widths[0])])),
        }
    }
}

impl Kernels for DnnStep {
    fn base(&self) -> &Base {
        &self.base
    }

    fn host(&self, index: usize, _: &Memory) -> Option<HostStep> {
        match *self.plan.get(index)? {
            Action::Launch { .. } => None,
            Action::Send { step, piece, labels } => {
                let (array, bytes) = self.sent(step, piece, labels);
                Some(HostStep::Write { addr: self.base.at(array, 0), bytes })
            }
            Action::Copy { from, to } => {
                let (from, to) = (self.base.at(from, 0), self.base.at(to, 0));
                Some(HostStep::Copy { from, to, bytes: 4 * self.first(LAYERS) })
            }
        }
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let Action::Launch { kind, layer, step } = *self.plan.get(index)? else { return None };
        let name = match kind {
            Kind::Forward => "dnn_forward",
            Kind::Error => "dnn_error",
            Kind::Back => "dnn_back",
            Kind::Gradient => "dnn_gradient",
            Kind::Update => "dnn_update",
        };
        let blocks = self.count(kind, layer).div_ceil(u64::from(GROUP));
        let threads = self.gpus * blocks * u64::from(GROUP);
        let launch = Launch::new(name, kind as u32, threads, GROUP).registers(1);
        Some(launch.args(&[blocks, layer as u64, step]))
    }

    fn round(&self, t: &Thread, sums: &mut [u64], io: &mut Round) -> Flow {
        let (kind, layer) = (KINDS[t.phase as usize], t.args[1] as usize);
        let (gpu, id) = ((t.block / t.args[0]) as usize, t.block % t.args[0] * u64::from(GROUP) + t.local);
        if gpu >= self.active(kind) || id >= self.count(kind, layer) {
            return Flow::End;
        }
        let task = self.task(kind, layer, t.args[2], gpu, id);
        if t.round == 0 {
            for (slot, (array, index)) in (S_FREE..).zip(&task.beside) {
                io.load(slot, self.base.at(*array, *index));
            }
        }
        let done = match task.dot {
            Some((left, right, length)) => Dot { length }.step(&self.base, &[(left, right)], t, sums, io),
            None => t.round > 0,
        };
        if !done {
            return Flow::Next;
        }
        io.sfu(u64::from(kind == Kind::Forward));
        io.alu(2 + task.beside.len() as u64);
        let sum = f32::from_bits(sums[0] as u32);
        let value = self.value(kind, id, sum, |i| t.bits(S_FREE + i as u64) as u32);
        io.put(0, self.base.at(task.to.0, task.to.1), value);
        Flow::End
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let host = self.host_arrays(self.plan.len());
        // As numbers, for a person to read; bits that differ are told apart all the same.
        let numbers = |array: usize| host[array].iter().map(|bits| f32::from_bits(*bits)).collect::<Vec<_>>();
        let mut results: Vec<usize> = (self.of.iter())
            .flat_map(|gpu| {
                [gpu.weights, gpu.gradient, gpu.received].into_iter().chain(gpu.activation).chain(gpu.delta)
            })
            .collect();
        results.sort_unstable();
        results.dedup();
        results.into_iter().try_for_each(|array| self.base.check(array, &numbers(array), memory))
    }
}
