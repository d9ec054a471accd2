//! 2-D stencil (SHOC stencil2d): nine points, scratchpad tiles of 16 x 64, two buffers in turn.

use super::common::{LANES, SEED, Threads, active, arithmetic, compare, float, floats, lane_value};
use super::params::{Legal, ParamSpec, Params};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::op::{Access, LdsAccess, Op, Token, Values};
use crate::program::{Array, Frame, HostStep, Kernel, Layout, LoadedValues, Program, VerifyError};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "stencil",
    about: "Nine-point stencil on a square grid with fixed borders, through 16 x 64 scratchpad tiles, from one buffer to \
            the other and back (SHOC stencil2d).",
    params: &[
        ParamSpec {
            name: "n",
            default: "512",
            legal: Legal::Integer { min: 1, max: 16384 },
            unit: "cells",
            about: "Rows and columns inside the border.",
        },
        ParamSpec {
            name: "iterations",
            default: "5",
            legal: Legal::Integer { min: 1, max: 1000 },
            unit: "kernels",
            about: "Time steps.",
        },
        LANES,
        SEED,
    ],
    published: &[("n", "4096")],
    takes_graph: false,
    make: |params, _| Ok(Box::new(Stencil::new(params)?)),
};

/// Cells of a tile.
const TILE_ROWS: u64 = 16;
const TILE_COLUMNS: u64 = 64;
/// Threads that share a column of a tile.
const STRIPS: u64 = 4;
/// Rows that a thread computes.
const STRIP_ROWS: u64 = TILE_ROWS / STRIPS;
/// Words from one row of a scratchpad tile to the next: the tile and its border.
const LDS_PITCH: u64 = TILE_COLUMNS + 2;
const LDS_ROWS: u64 = TILE_ROWS + 2;
/// Words before the first inner column, so that tiles begin on lines of up to 128 bytes.
const PAD: u64 = 32;

/// SHOC's default weights.
const CENTER: f32 = 0.25;
const CARDINAL: f32 = 0.15;
const DIAGONAL: f32 = 0.05;

const T_BORDER: Token = LDS_ROWS.div_ceil(STRIPS) as Token;
const T_CELL: Token = T_BORDER + 1;

/// The stencil program.
#[derive(Clone, Debug)]
pub struct Stencil {
    n: u64,
    pitch: u64,
    iterations: u64,
    threads: Threads,
    layout: Layout,
}

impl Stencil {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let n = params.integer("n");
        let pitch = (n + 2 * PAD).next_multiple_of(PAD);
        let cells = pitch * (n + 2);
        let grid = data::f32_bytes(&data::units(params.integer("seed"), 0, cells as usize));
        let mut layout = Layout::new();
        layout.add("even", 4, cells, false, grid.clone());
        layout.add("odd", 4, cells, false, grid);
        let threads =
            Threads { lanes: params.integer("lanes") as u32, group: (TILE_COLUMNS * STRIPS) as u32 };
        Ok(Self { n, pitch, iterations: params.integer("iterations"), threads, layout })
    }

    /// Index of the cell at a row and column that count the border, 0..=n+1.
    fn index(&self, row: u64, column: u64) -> u64 {
        row * self.pitch + PAD - 1 + column
    }

    /// First row and column of a tile; work-groups run down the rows first.
    fn origin(&self, block: u32) -> (u64, u64) {
        let down = self.n.div_ceil(TILE_ROWS);
        (u64::from(block) % down * TILE_ROWS, u64::from(block) / down * TILE_COLUMNS)
    }

    /// Loads the tile with its border into the scratchpad.
    fn fill(&self, frame: &Frame) -> Vec<Op> {
        let source = &self.layout.arrays()[(frame.kernel % 2) as usize];
        let (row0, column0) = self.origin(frame.block);
        let mut loads = Vec::new();
        let mut stores = Vec::new();
        let mut copy = |token: Token, cell: &dyn Fn(u32) -> Option<(u64, u64)>| {
            let inside =
                |t: u32| cell(t).filter(|(r, c)| row0 + r <= self.n + 1 && column0 + c <= self.n + 1);
            let (from, mask) = self
                .threads
                .access(frame.wave, |t| inside(t).map(|(r, c)| source.at(self.index(row0 + r, column0 + c))));
            let (to, _) =
                self.threads.access(frame.wave, |t| inside(t).map(|(r, c)| 4 * (r * LDS_PITCH + c)));
            if mask != 0 {
                loads.push(Op::Load { token, access: Access::read_only(4, from, mask) });
                let access = LdsAccess { size: 4, addrs: to, mask };
                stores.push(Op::LdsStore { access, values: Values::Token(token) });
            }
        };
        for round in 0..u64::from(T_BORDER) {
            copy(round as Token, &|t| {
                let (column, row) =
                    (u64::from(t) % TILE_COLUMNS, u64::from(t) / TILE_COLUMNS + round * STRIPS);
                (row < LDS_ROWS).then_some((row, column + 1))
            });
        }
        copy(T_BORDER, &|t| {
            let (row, side) = (u64::from(t) % LDS_ROWS, u64::from(t) / LDS_ROWS);
            (side < 2).then_some((row, side * (TILE_COLUMNS + 1)))
        });
        loads.append(&mut stores);
        loads.push(Op::Barrier);
        loads
    }

    /// Reads the cells that a thread's strip needs: three columns of its rows and the rows above and below.
    fn gather(&self, frame: &Frame) -> Vec<Op> {
        let mut ops = Vec::new();
        let mut tokens = Vec::new();
        for cell in 0..(STRIP_ROWS + 2) * 3 {
            let (addrs, mask) = self.threads.access(frame.wave, |t| {
                let (column, strip) = (u64::from(t) % TILE_COLUMNS, u64::from(t) / TILE_COLUMNS);
                Some(4 * ((strip * STRIP_ROWS + cell / 3) * LDS_PITCH + column + cell % 3))
            });
            let token = T_CELL + cell as Token;
            if mask != 0 {
                tokens.push(token);
                ops.push(Op::LdsLoad { token, access: LdsAccess { size: 4, addrs, mask } });
            }
        }
        ops.push(Op::Await { tokens });
        ops
    }

    fn compute(&self, frame: &Frame, values: &LoadedValues) -> Vec<Op> {
        let target = &self.layout.arrays()[((frame.kernel + 1) % 2) as usize];
        let (row0, column0) = self.origin(frame.block);
        let mut ops = Vec::new();
        for r in 0..STRIP_ROWS {
            let (addrs, mask) = self.threads.access(frame.wave, |t| {
                let row = row0 + u64::from(t) / TILE_COLUMNS * STRIP_ROWS + r;
                let column = column0 + u64::from(t) % TILE_COLUMNS;
                (row < self.n && column < self.n).then(|| target.at(self.index(row + 1, column + 1)))
            });
            if mask == 0 {
                continue;
            }
            let mut results = vec![0; self.threads.lanes as usize];
            for lane in active(mask) {
                let at = |cell: u64| float(values.get(T_CELL + (3 * r + cell) as Token)[lane]);
                results[lane] = lane_value(weigh(std::array::from_fn(|cell| at(cell as u64))));
            }
            arithmetic(&mut ops, 9);
            ops.push(Op::Store { access: Access::data(4, addrs, mask), values: Values::Lanes(results) });
        }
        ops.push(Op::End);
        ops
    }
}

/// New value of the middle one of 3 x 3 cells, row after row.
fn weigh(c: [f32; 9]) -> f32 {
    CENTER * c[4] + CARDINAL * (c[1] + c[3] + c[5] + c[7]) + DIAGONAL * (c[0] + c[2] + c[6] + c[8])
}

impl Program for Stencil {
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
        ((index as u64) < self.iterations).then(|| {
            HostStep::Launch(Kernel {
                id: index as u32,
                name: "stencil2d".to_owned(),
                blocks: (self.n.div_ceil(TILE_ROWS) * self.n.div_ceil(TILE_COLUMNS)) as u32,
                cpus: 0,
                waves_per_block: self.threads.waves(),
                lds_bytes: (4 * LDS_ROWS * LDS_PITCH) as u32,
                args: vec![index as u64],
                co_resident: false,
            })
        })
    }

    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        Frame { kernel: kernel.id, block, wave, pc: 0, vars: vec![] }
    }

    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        frame.pc += 1;
        match frame.pc {
            1 => self.fill(frame),
            2 => self.gather(frame),
            _ => self.compute(frame, values),
        }
    }

    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        let mut now = floats(&self.layout.arrays()[0]);
        let mut next = now.clone();
        for _ in 0..self.iterations {
            for row in 0..self.n {
                for column in 0..self.n {
                    let cell = |i: usize| now[self.index(row + i as u64 / 3, column + i as u64 % 3) as usize];
                    next[self.index(row + 1, column + 1) as usize] = weigh(std::array::from_fn(cell));
                }
            }
            std::mem::swap(&mut now, &mut next);
        }
        compare(INFO.name, &self.layout.arrays()[(self.iterations % 2) as usize], &now, memory)
    }
}
