//! ATAX (PolyBench): y = A^T (A x), two kernels.

use super::common::{LANES, SEED, Threads, arithmetic, compare, floats, words};
use super::matvec::{ACCUM, MatVec, Walk, in_memory};
use super::params::{Legal, ParamSpec, Params};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::op::{Access, Op, Values};
use crate::program::{Array, Frame, HostStep, Kernel, Layout, LoadedValues, Program, VerifyError};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "atax",
    about: "y = A^T (A x) in two kernels, one thread per row, then one per column (PolyBench ATAX).",
    params: &[
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
    ],
    published: &[("rows", "8192"), ("columns", "4096"), ("group", "256")],
    takes_graph: false,
    make: |params, _| Ok(Box::new(Atax::new(params)?)),
};

/// y = A^T (A x).
#[derive(Clone, Debug)]
pub struct Atax {
    threads: Threads,
    layout: Layout,
    kernels: [(MatVec, u64); 2],
}

const A: usize = 0;
const X: usize = 1;
const TMP: usize = 2;
const Y: usize = 3;

impl Atax {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (rows, columns, seed) =
            (params.integer("rows"), params.integer("columns"), params.integer("seed"));
        let threads =
            Threads { lanes: params.integer("lanes") as u32, group: params.integer("group") as u32 };
        let mut layout = Layout::new();
        let a = data::units(seed, 0, (rows * columns) as usize);
        layout.add("A", 4, rows * columns, true, data::f32_bytes(&a));
        layout.add("x", 4, columns, true, data::f32_bytes(&data::units(seed, 1, columns as usize)));
        layout.add("tmp", 4, rows, false, vec![]);
        layout.add("y", 4, columns, false, vec![]);
        let at = |i: usize| layout.arrays()[i].addr;
        let running = |i: usize| in_memory(params).then(|| at(i));
        let by_row = MatVec {
            matrix: at(A),
            columns,
            vector: at(X),
            inner: columns,
            walk: Walk::Row,
            running: running(TMP),
        };
        let by_column =
            MatVec { vector: at(TMP), inner: rows, walk: Walk::Column, running: running(Y), ..by_row };
        Ok(Self { threads, layout, kernels: [(by_row, rows), (by_column, columns)] })
    }
}

impl Program for Atax {
    fn name(&self) -> &str {
        INFO.name
    }

    fn lanes(&self) -> u32 {
        self.threads.lanes
    }

    fn arrays(&self) -> &[Array] {
        self.layout.arrays()
    }

    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        let (_, results) = self.kernels.get(index)?;
        Some(HostStep::Launch(Kernel {
            id: index as u32,
            name: ["atax_rows", "atax_columns"][index].to_owned(),
            blocks: self.threads.blocks(*results),
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
        let (matvec, results) = &self.kernels[frame.kernel as usize];
        let mask = self.threads.mask(frame.block, frame.wave, *results);
        if mask == 0 {
            return vec![Op::End];
        }
        let first = self.threads.first(frame.block, frame.wave);
        if let Some(ops) = matvec.step(frame, values, first, mask) {
            return ops;
        }
        let target = &self.layout.arrays()[[TMP, Y][frame.kernel as usize]];
        let access = Access::data(4, words(target.at(first)), mask);
        let mut ops = Vec::new();
        arithmetic(&mut ops, matvec.last_batch());
        ops.push(Op::Store { access, values: Values::Lanes(frame.vars[1..].to_vec()) });
        ops.push(Op::End);
        ops
    }

    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        let arrays = self.layout.arrays();
        let a = floats(&arrays[A]);
        let (rows, columns) = (&self.kernels[0], &self.kernels[1]);
        let tmp = rows.0.host(&a, &floats(&arrays[X]), rows.1);
        compare(INFO.name, &arrays[TMP], &tmp, memory)?;
        compare(INFO.name, &arrays[Y], &columns.0.host(&a, &tmp, columns.1), memory)
    }
}
