//! SC (AMD APP SDK SimpleConvolution): integer mask over a padded image.

use super::common::{LANES, SEED};
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
    make: |params, _| Simt::from_params(Sc::new, params),
};

const GROUP: u32 = 64;
const IN: usize = 0;
const MASK: usize = 1;
const OUT: usize = 2;

/// The convolution.
#[derive(Clone, Debug)]
pub struct Sc {
    base: Base,
    n: u64,
    mask: u64,
}

impl Sc {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (n, mask, seed) = (params.integer("n"), params.integer("mask"), params.integer("seed"));
        let pitch = n + mask - 1;
        let numbers = |stream, count, below| -> Vec<u32> {
            (0..count).map(|i| (data::mix(seed, stream, i) % below) as u32).collect()
        };
        let mut base = Base::new(INFO.name, params);
        base.input("in", data::u32_bytes(&numbers(0, pitch * pitch, 256)));
        base.input("mask", data::u32_bytes(&numbers(1, mask * mask, 16)));
        base.zeros("out", n * n);
        Ok(Self { base, n, mask })
    }

    /// Index of the cell under tap `tap` of the mask at result `result`.
    fn cell(&self, result: u64, tap: u64) -> u64 {
        let (row, column) = (result / self.n + tap / self.mask, result % self.n + tap % self.mask);
        row * (self.n + self.mask - 1) + column
    }
}

impl Kernels for Sc {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        (index == 0).then(|| Launch::new("simple_convolution", 0, self.n * self.n, GROUP).registers(1))
    }

    /// A row of the mask in each round.
    fn round(&self, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
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
            io.read(2 * i + 1, self.base.at(MASK, tap));
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
