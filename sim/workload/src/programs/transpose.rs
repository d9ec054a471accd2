//! Matrix transpose through scratchpad tiles.

use super::common::{LANES, SEED, Threads, arithmetic, compare, floats};
use super::params::{Legal, ParamSpec, Params};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::op::{Access, LdsAccess, Op, Token, Values};
use crate::program::{Array, Frame, HostStep, Kernel, Layout, LoadedValues, Program, VerifyError};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "transpose",
    about: "out = in^T through 32 x 32 scratchpad tiles, so that reads and writes of memory are both along rows.",
    params: &[
        ParamSpec {
            name: "rows",
            default: "1024",
            legal: Legal::Integer { min: 1, max: 16384 },
            unit: "rows",
            about: "Rows of the input.",
        },
        ParamSpec {
            name: "columns",
            default: "1024",
            legal: Legal::Integer { min: 1, max: 16384 },
            unit: "columns",
            about: "Columns of the input.",
        },
        LANES,
        SEED,
    ],
    published: &[("rows", "8192"), ("columns", "8192")],
    takes_graph: false,
    make: |params, _| Ok(Box::new(Transpose::new(params)?)),
};

/// Rows and columns of a tile.
const TILE: u64 = 32;
/// Rows that the 256 threads of a work-group cover at once.
const STRIP: u64 = 8;
/// Words from one tile row to the next: one more than a row, so that a column lies in different banks.
const PITCH: u64 = TILE + 1;

/// The transpose program.
#[derive(Clone, Debug)]
pub struct Transpose {
    rows: u64,
    columns: u64,
    threads: Threads,
    layout: Layout,
}

impl Transpose {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (rows, columns) = (params.integer("rows"), params.integer("columns"));
        let input = data::units(params.integer("seed"), 0, (rows * columns) as usize);
        let mut layout = Layout::new();
        layout.add("in", 4, rows * columns, true, data::f32_bytes(&input));
        layout.add("out", 4, rows * columns, false, vec![]);
        let threads = Threads { lanes: params.integer("lanes") as u32, group: (TILE * STRIP) as u32 };
        Ok(Self { rows, columns, threads, layout })
    }
}

/// Column and row of a thread in its work-group of 32 x 8.
fn place(thread: u32) -> (u64, u64) {
    (u64::from(thread) % TILE, u64::from(thread) / TILE)
}

impl Program for Transpose {
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
        (index == 0).then(|| {
            HostStep::Launch(Kernel {
                id: 0,
                name: "transpose".to_owned(),
                blocks: (self.rows.div_ceil(TILE) * self.columns.div_ceil(TILE)) as u32,
                cpus: 0,
                waves_per_block: self.threads.waves(),
                lds_bytes: (4 * TILE * PITCH) as u32,
                args: vec![],
                co_resident: false,
            })
        })
    }

    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        Frame { kernel: kernel.id, block, wave, pc: 0, vars: vec![] }
    }

    fn step(&self, frame: &mut Frame, _: &LoadedValues) -> Vec<Op> {
        let tiles = self.columns.div_ceil(TILE);
        let (by, bx) = (u64::from(frame.block) / tiles, u64::from(frame.block) % tiles);
        let arrays = self.layout.arrays();
        let rounds = TILE / STRIP;
        let mut ops = Vec::new();
        let mut stores = Vec::new();
        let (rows, columns, target) = if frame.pc == 0 {
            (self.rows, self.columns, &arrays[0])
        } else {
            (self.columns, self.rows, &arrays[1])
        };
        let (ty0, tx0) = if frame.pc == 0 { (by * TILE, bx * TILE) } else { (bx * TILE, by * TILE) };
        for round in 0..rounds {
            let token = round as Token;
            let cell = |t: u32| {
                let (tx, ty) = place(t);
                (tx0 + tx, ty0 + ty + round * STRIP)
            };
            let inside = |t: u32| {
                let (x, y) = cell(t);
                (x < columns && y < rows).then_some((x, y))
            };
            let (addrs, mask) =
                self.threads.access(frame.wave, |t| inside(t).map(|(x, y)| target.at(y * columns + x)));
            if mask == 0 {
                continue;
            }
            let (tile, _) = self.threads.access(frame.wave, |t| {
                let (tx, ty) = place(t);
                let (row, column) = (ty + round * STRIP, tx);
                Some(4 * if frame.pc == 0 { row * PITCH + column } else { column * PITCH + row })
            });
            let tile = LdsAccess { size: 4, addrs: tile, mask };
            if frame.pc == 0 {
                ops.push(Op::Load { token, access: Access::read_only(4, addrs, mask) });
                stores.push(Op::LdsStore { access: tile, values: Values::Token(token) });
            } else {
                ops.push(Op::LdsLoad { token, access: tile });
                stores.push(Op::Store { access: Access::data(4, addrs, mask), values: Values::Token(token) });
            }
        }
        arithmetic(&mut ops, 1);
        ops.append(&mut stores);
        ops.push(if frame.pc == 0 { Op::Barrier } else { Op::End });
        frame.pc += 1;
        ops
    }

    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        let input = floats(&self.layout.arrays()[0]);
        let (rows, columns) = (self.rows as usize, self.columns as usize);
        let expected: Vec<f32> = (0..rows * columns).map(|i| input[i % rows * columns + i / rows]).collect();
        compare(INFO.name, &self.layout.arrays()[1], &expected, memory)
    }
}
