//! SC and conv (AMD APP SDK SimpleConvolution): integer mask over a padded image.

use super::common::{LANES, SEED};
use super::machine::{GPUS, Machine};
use super::params::{Legal, ParamSpec, Params};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "sc",
    about: "Integer convolution of a padded square image, one thread per cell in work-groups of 64 (AMD APP SDK \
            SimpleConvolution).",
    params: &[
        ParamSpec {
            name: "n",
            default: "320",
            legal: Legal::Integer { min: 1, max: 16384 },
            unit: "cells",
            about: "Rows and columns of the result.",
        },
        ParamSpec {
            name: "mask",
            default: "3",
            legal: Legal::Integer { min: 1, max: 9 },
            unit: "cells",
            about: "Rows and columns of the mask.",
        },
        LANES,
        SEED,
    ],
    published: &[("n", "8192")],
    takes_graph: false,
    make: |params, _| Simt::from_params(sc, params),
};

/// The same with a copy of the mask for each GPU.
pub const CONV: WorkloadInfo = WorkloadInfo {
    name: "conv",
    about: "The convolution of sc with a mask of 3 x 3, of which each GPU has a copy of its own (AMD APP SDK SimpleConvolution).",
    params: &[
        ParamSpec {
            name: "n",
            default: "320",
            legal: Legal::Integer { min: 1, max: 16384 },
            unit: "cells",
            about: "Rows and columns of the result.",
        },
        GPUS,
        LANES,
        SEED,
    ],
    published: &[("n", "4256")],
    takes_graph: false,
    make: |params, _| Simt::from_params(conv, params),
};

const GROUP: u32 = 64;
const IN: usize = 0;
const OUT: usize = 1;
/// The first mask; a GPU's own, where each has one, is so many arrays further.
const MASK: usize = 2;

/// The convolution.
#[derive(Clone, Debug)]
pub struct Convolution {
    base: Base,
    n: u64,
    mask: u64,
    /// The GPUs that have a mask each; else all have one.
    owners: Option<Machine>,
}

fn sc(params: &Params) -> Result<Convolution, WorkloadError> {
    Ok(Convolution::new(INFO.name, params, params.integer("mask"), None))
}

fn conv(params: &Params) -> Result<Convolution, WorkloadError> {
    Ok(Convolution::new(CONV.name, params, 3, Some(Machine::new(params))))
}

impl Convolution {
    fn new(name: &'static str, params: &Params, mask: u64, owners: Option<Machine>) -> Self {
        let (n, seed) = (params.integer("n"), params.integer("seed"));
        let pitch = n + mask - 1;
        let numbers = |stream, count, below| -> Vec<u32> {
            (0..count).map(|i| (data::mix(seed, stream, i) % below) as u32).collect()
        };
        let mut base = Base::new(name, params);
        base.input("in", data::u32_bytes(&numbers(0, pitch * pitch, 256)));
        base.zeros("out", n * n);
        let taps = data::u32_bytes(&numbers(1, mask * mask, 16));
        match owners {
            None => {
                base.input("mask", taps);
            }
            Some(machine) => {
                (0..machine.gpus).for_each(|gpu| base.own("mask", gpu, machine.gpus, taps.clone()));
                base.split();
            }
        }
        Self { base, n, mask, owners }
    }

    /// Work-groups of the launch.
    fn work_groups(&self) -> u64 {
        let all = (self.n * self.n).div_ceil(u64::from(GROUP));
        self.owners.map_or(all, |machine| machine.padded(all))
    }

    /// The mask that a thread uses.
    fn mask_of(&self, thread: &Thread) -> usize {
        MASK + self.owners.map_or(0, |machine| machine.gpu_of(thread, self.work_groups()) as usize)
    }

    /// Index of the cell under tap `tap` of the mask at result `result`.
    fn cell(&self, result: u64, tap: u64) -> u64 {
        let (row, column) = (result / self.n + tap / self.mask, result % self.n + tap % self.mask);
        row * (self.n + self.mask - 1) + column
    }
}

impl Kernels for Convolution {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let threads = match self.owners {
            None => self.n * self.n,
            Some(_) => self.work_groups() * u64::from(GROUP),
        };
        (index == 0).then(|| Launch::new("simple_convolution", 0, threads, GROUP).registers(1))
    }

    /// A row of the mask in each round.
    fn round(&self, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        if t.id >= self.n * self.n {
            return Flow::End;
        }
        if t.round > 0 {
            let sum = (0..self.mask).map(|i| t.bits(2 * i) * t.bits(2 * i + 1)).sum::<u64>();
            registers[0] = (registers[0] + sum) & 0xffff_ffff;
            io.alu(self.mask);
        }
        if t.round == self.mask {
            io.store(0, self.base.at(OUT, t.id), registers[0]);
            return Flow::End;
        }
        for i in 0..self.mask {
            let tap = t.round * self.mask + i;
            io.read(2 * i, self.base.at(IN, self.cell(t.id, tap)));
            io.read(2 * i + 1, self.base.at(self.mask_of(t), tap));
        }
        Flow::Next
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (input, mask) = (self.base.first::<u32>(IN), self.base.first::<u32>(MASK));
        let result =
            |r| (0..self.mask * self.mask).map(|k| input[self.cell(r, k) as usize] * mask[k as usize]).sum();
        self.base.check(OUT, &(0..self.n * self.n).map(result).collect::<Vec<u32>>(), memory)
    }
}
