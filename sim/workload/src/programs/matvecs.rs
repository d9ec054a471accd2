//! Matrix-vector products one after the other, a kernel each, on one matrix.

use super::common::{LANES, SEED, Threads, arithmetic, compare, floats, words};
use super::matvec::{ACCUM, Accum, MatVec, Walk};
use super::params::{Legal, ParamSpec, Params};
use crate::data;
use crate::op::{Access, Op, Values};
use crate::program::{Array, Frame, HostStep, Kernel, Layout, LoadedValues, Program, VerifyError};

/// Parameters of such a program.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "rows",
        default: "768",
        legal: Legal::Integer { min: 1, max: 16384 },
        unit: "rows",
        about: "Rows of A.",
    },
    ParamSpec {
        name: "columns",
        default: "384",
        legal: Legal::Integer { min: 1, max: 16384 },
        unit: "columns",
        about: "Columns of A.",
    },
    super::gemv::GROUP,
    ACCUM,
    LANES,
    SEED,
];

/// One product: a kernel.
#[derive(Clone, Copy, Debug)]
struct Step {
    name: &'static str,
    product: MatVec,
    results: u64,
    /// Arrays of the vector and of the result.
    vector: usize,
    target: usize,
}

/// Products of one matrix with vectors, in order.
#[derive(Clone, Debug)]
pub struct MatVecs {
    name: &'static str,
    rows: u64,
    columns: u64,
    seed: u64,
    accum: Accum,
    threads: Threads,
    layout: Layout,
    steps: Vec<Step>,
}

impl MatVecs {
    /// The matrix A, array 0, and no product yet; `params` as in [`PARAMS`].
    pub fn new(name: &'static str, params: &Params) -> Self {
        let (rows, columns, seed) =
            (params.integer("rows"), params.integer("columns"), params.integer("seed"));
        let threads =
            Threads { lanes: params.integer("lanes") as u32, group: params.integer("group") as u32 };
        let mut layout = Layout::new();
        let a = data::units(seed, 0, (rows * columns) as usize);
        layout.add("A", 4, rows * columns, true, data::f32_bytes(&a));
        Self { name, rows, columns, seed, accum: Accum::of(params), threads, layout, steps: Vec::new() }
    }

    /// Adds an input vector that a product along `walk` can take.
    pub fn input(&mut self, name: &str, walk: Walk) -> usize {
        let length = self.length(walk);
        let values = data::units(self.seed, self.layout.arrays().len() as u64, length as usize);
        self.layout.add(name, 4, length, true, data::f32_bytes(&values))
    }

    /// Adds the vector that a product along `walk` results in.
    pub fn result(&mut self, name: &str, walk: Walk) -> usize {
        let length = self.rows + self.columns - self.length(walk);
        self.layout.add(name, 4, length, false, vec![])
    }

    /// Adds a product of the matrix with a vector.
    pub fn multiply(mut self, name: &'static str, walk: Walk, vector: usize, target: usize) -> Self {
        let at = |i: usize| self.layout.arrays()[i].addr;
        let inner = self.length(walk);
        let product = MatVec {
            matrix: at(0),
            columns: self.columns,
            vector: at(vector),
            inner,
            walk,
            target: at(target),
            accum: self.accum,
        };
        let results = self.rows + self.columns - inner;
        self.steps.push(Step { name, product, results, vector, target });
        self
    }

    /// Elements that a thread walks along: those of a row, or of a column.
    fn length(&self, walk: Walk) -> u64 {
        if walk == Walk::Row { self.columns } else { self.rows }
    }
}

impl Program for MatVecs {
    fn name(&self) -> &str {
        self.name
    }

    fn lanes(&self) -> u32 {
        self.threads.lanes
    }

    fn arrays(&self) -> &[Array] {
        self.layout.arrays()
    }

    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        let step = self.steps.get(index)?;
        Some(HostStep::Launch(Kernel {
            id: index as u32,
            name: step.name.to_owned(),
            blocks: self.threads.blocks(step.results),
            cpus: 0,
            waves_per_block: self.threads.waves(),
            lds_bytes: 0,
            args: vec![],
            co_resident: false,
        }))
    }

    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        Frame { kernel: kernel.id, block, wave, pc: 0, vars: MatVec::vars(self.threads.lanes) }
    }

    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let step = &self.steps[frame.kernel as usize];
        let mask = self.threads.mask(frame.block, frame.wave, step.results);
        if mask == 0 {
            return vec![Op::End];
        }
        let first = self.threads.first(frame.block, frame.wave);
        if let Some(ops) = step.product.step(frame, values, first, mask) {
            return ops;
        }
        let target = &self.layout.arrays()[step.target];
        let access = Access::data(4, words(target.at(first)), mask);
        let mut ops = Vec::new();
        arithmetic(&mut ops, step.product.last_batch());
        ops.push(Op::Store { access, values: Values::Lanes(frame.vars[1..].to_vec()) });
        ops.push(Op::End);
        ops
    }

    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        let mut now: Vec<Vec<f32>> = self.layout.arrays().iter().map(floats).collect();
        for step in &self.steps {
            now[step.target] = step.product.host(&now[0], &now[step.vector], step.results);
        }
        let check = |s: &Step| compare(self.name, &self.layout.arrays()[s.target], &now[s.target], memory);
        self.steps.iter().try_for_each(check)
    }
}
