//! GEMV: PolyBench gemver, "vector multiplication and matrix addition", three kernels.

use super::common::{
    LANES, SEED, Threads, active, arithmetic, await_first, compare, float, floats, lane_value, words,
};
use super::matvec::{ACCUM, Accum, MatVec, Walk};
use super::params::{Legal, ParamSpec, Params};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::op::{Access, Op, Token, Values};
use crate::program::{Array, Frame, HostStep, Kernel, Layout, LoadedValues, Program, VerifyError};

/// Parameter `group` of the programs with 1-D work-groups.
pub const GROUP: ParamSpec = ParamSpec {
    name: "group",
    default: "64",
    legal: Legal::Integer { min: 1, max: 1024 },
    unit: "threads",
    about: "Threads of a 1-D work-group: published 256, by default 64 so that small sizes reach every GPU.",
};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "gemv",
    about: "A += u1 v1^T + u2 v2^T; x = b A^T y + z; w = a A x, three kernels (PolyBench gemver).",
    params: &[
        ParamSpec {
            name: "n",
            default: "512",
            legal: Legal::Integer { min: 1, max: 16384 },
            unit: "rows",
            about: "Rows and columns of A.",
        },
        GROUP,
        ACCUM,
        LANES,
        SEED,
    ],
    published: &[("n", "8192"), ("group", "256")],
    takes_graph: false,
    make: |params, _| Ok(Box::new(Gemv::new(params)?)),
};

/// Work-group of the first kernel: 32 columns x 8 rows.
const TILE: (u32, u32) = (32, 8);
const ALPHA: f32 = 1.25;
const BETA: f32 = 0.75;

const A: usize = 0;
const U1: usize = 1;
const V1: usize = 2;
const U2: usize = 3;
const V2: usize = 4;
const Y: usize = 5;
const Z: usize = 6;
const X: usize = 7;
const W: usize = 8;

/// The gemver program.
#[derive(Clone, Debug)]
pub struct Gemv {
    n: u64,
    tile: Threads,
    line: Threads,
    layout: Layout,
    column: MatVec,
    row: MatVec,
}

impl Gemv {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (n, seed, lanes) = (params.integer("n"), params.integer("seed"), params.integer("lanes") as u32);
        let mut layout = Layout::new();
        let a = data::units(seed, 0, (n * n) as usize);
        layout.add("A", 4, n * n, false, data::f32_bytes(&a));
        for (stream, name) in [(1, "u1"), (2, "v1"), (3, "u2"), (4, "v2"), (5, "y"), (6, "z")] {
            layout.add(name, 4, n, true, data::f32_bytes(&data::units(seed, stream, n as usize)));
        }
        layout.add("x", 4, n, false, vec![]);
        layout.add("w", 4, n, false, vec![]);
        let at = |i: usize| layout.arrays()[i].addr;
        let column = MatVec {
            matrix: at(A),
            columns: n,
            vector: at(Y),
            inner: n,
            walk: Walk::Column,
            target: at(X),
            accum: Accum::of(params),
        };
        let row = MatVec { vector: at(X), walk: Walk::Row, target: at(W), ..column };
        Ok(Self {
            n,
            tile: Threads { lanes, group: TILE.0 * TILE.1 },
            line: Threads { lanes, group: params.integer("group") as u32 },
            layout,
            column,
            row,
        })
    }

    /// A += u1 v1^T + u2 v2^T, one thread per element.
    fn rank_two(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let tiles = self.n.div_ceil(u64::from(TILE.0));
        let (by, bx) = (u64::from(frame.block) / tiles, u64::from(frame.block) % tiles);
        let place = |t: u32| {
            let (i, j) = (
                by * u64::from(TILE.1) + u64::from(t / TILE.0),
                bx * u64::from(TILE.0) + u64::from(t % TILE.0),
            );
            (i < self.n && j < self.n).then_some((i, j))
        };
        let arrays = self.layout.arrays();
        let (addrs, mask) =
            self.tile.access(frame.wave, |t| place(t).map(|(i, j)| arrays[A].at(i * self.n + j)));
        if mask == 0 {
            return vec![Op::End];
        }
        if frame.pc == 0 {
            frame.pc = 1;
            let mut ops = vec![Op::Load { token: 0, access: Access::data(4, addrs, mask) }];
            for (token, array) in [(1, U1), (2, V1), (3, U2), (4, V2)] {
                let by_row = array == U1 || array == U2;
                let (addrs, mask) = self.tile.access(frame.wave, |t| {
                    place(t).map(|(i, j)| arrays[array].at(if by_row { i } else { j }))
                });
                ops.push(Op::Load { token: token as Token, access: Access::read_only(4, addrs, mask) });
            }
            ops.push(await_first(5));
            return ops;
        }
        let mut sums = vec![0; self.tile.lanes as usize];
        for lane in active(mask) {
            let v = |token: Token| float(values.get(token)[lane]);
            sums[lane] = lane_value(updated(v(0), v(1), v(2), v(3), v(4)));
        }
        let mut ops = Vec::new();
        arithmetic(&mut ops, 2);
        ops.push(Op::Store { access: Access::data(4, addrs, mask), values: Values::Lanes(sums) });
        ops.push(Op::End);
        ops
    }

    /// x = b A^T y + z (one thread per column) or w = a A x (one thread per row).
    fn product(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let mask = self.line.mask(frame.block, frame.wave, self.n);
        if mask == 0 {
            return vec![Op::End];
        }
        let first = self.line.first(frame.block, frame.wave);
        let columns = frame.kernel == 1;
        let arrays = self.layout.arrays();
        let matvec = if columns { &self.column } else { &self.row };
        if frame.pc < 2 {
            if let Some(ops) = matvec.step(frame, values, first, mask) {
                return ops;
            }
            if columns {
                frame.pc = 2;
                let access = Access::read_only(4, words(arrays[Z].at(first)), mask);
                return vec![Op::Load { token: 0, access }, await_first(1)];
            }
        }
        let mut results = frame.vars[1..].to_vec();
        for lane in active(mask) {
            let sum = float(results[lane]);
            let result = if columns { BETA * sum + float(values.get(0)[lane]) } else { ALPHA * sum };
            results[lane] = lane_value(result);
        }
        let target = &arrays[if columns { X } else { W }];
        let mut ops = Vec::new();
        arithmetic(&mut ops, matvec.last_batch() + 1);
        ops.push(Op::Store {
            access: Access::data(4, words(target.at(first)), mask),
            values: Values::Lanes(results),
        });
        ops.push(Op::End);
        ops
    }
}

fn updated(a: f32, u1: f32, v1: f32, u2: f32, v2: f32) -> f32 {
    a + (u1 * v1 + u2 * v2)
}

impl Program for Gemv {
    fn name(&self) -> &str {
        INFO.name
    }

    fn lanes(&self) -> u32 {
        self.line.lanes
    }

    fn arrays(&self) -> &[Array] {
        self.layout.arrays()
    }

    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        let name = *["gemver_rank_two", "gemver_columns", "gemver_rows"].get(index)?;
        let tiles = self.n.div_ceil(u64::from(TILE.0)) * self.n.div_ceil(u64::from(TILE.1));
        let threads = if index == 0 { self.tile } else { self.line };
        Some(HostStep::Launch(Kernel {
            id: index as u32,
            name: name.to_owned(),
            blocks: if index == 0 { tiles as u32 } else { self.line.blocks(self.n) },
            cpus: 0,
            waves_per_block: threads.waves(),
            lds_bytes: 0,
            args: vec![],
            co_resident: false,
        }))
    }

    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        let vars = if kernel.id == 0 { vec![] } else { MatVec::vars(self.line.lanes) };
        Frame { kernel: kernel.id, block, wave, pc: 0, vars }
    }

    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        if frame.kernel == 0 { self.rank_two(frame, values) } else { self.product(frame, values) }
    }

    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        let arrays = self.layout.arrays();
        let [u1, v1, u2, v2] = [U1, V1, U2, V2].map(|i| floats(&arrays[i]));
        let mut a = floats(&arrays[A]);
        for (i, row) in a.chunks_exact_mut(self.n as usize).enumerate() {
            row.iter_mut().enumerate().for_each(|(j, a)| *a = updated(*a, u1[i], v1[j], u2[i], v2[j]));
        }
        compare(INFO.name, &arrays[A], &a, memory)?;
        let mut x = self.column.host(&a, &floats(&arrays[Y]), self.n);
        x.iter_mut().zip(floats(&arrays[Z])).for_each(|(x, z)| *x = BETA * *x + z);
        compare(INFO.name, &arrays[X], &x, memory)?;
        let mut w = self.row.host(&a, &x, self.n);
        w.iter_mut().for_each(|w| *w *= ALPHA);
        compare(INFO.name, &arrays[W], &w, memory)
    }
}
