//! PageRank (Hetero-Mark): pull over compressed sparse rows, one wave per row.

use super::common::{LANES, SEED, active, arithmetic, compare, float, floats, lane_value, same, words};
use super::graphs::{self, EDGES, NODES, SOURCE};
use super::params::{Legal, ParamSpec, Params};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::graph::Graph;
use crate::op::{Access, Addrs, Op, Token, Values};
use crate::program::{Array, Frame, HostStep, Kernel, Layout, LoadedValues, Program, VerifyError, full_mask};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "pagerank",
    about: "PageRank by pulling ranks along incoming edges, one wave per vertex, ranks swapped after each iteration \
            (Hetero-Mark PR).",
    params: &[
        ParamSpec {
            name: "iterations",
            default: "8",
            legal: Legal::Integer { min: 1, max: 1000 },
            unit: "kernels",
            about: "Iterations; the public default is 16.",
        },
        ParamSpec {
            name: "damping",
            default: "0.85",
            legal: Legal::Real { min: 0.0, max: 1.0 },
            unit: "",
            about: "Share of a rank that flows along edges; at 1 it is Hetero-Mark's plain matrix product.",
        },
        SOURCE,
        NODES,
        EDGES,
        ParamSpec {
            name: "group",
            default: "256",
            legal: Legal::Integer { min: 1, max: 1024 },
            unit: "threads",
            about: "Threads of a work-group; it works on group / lanes rows, at least one.",
        },
        LANES,
        SEED,
    ],
    published: &[("source", "uniform"), ("nodes", "1000000"), ("edges", "32000000"), ("iterations", "16")],
    takes_graph: true,
    make: |params, graph| Ok(Box::new(PageRank::new(params, graph)?)),
};

const ROW: usize = 0;
const COL: usize = 1;
const VAL: usize = 2;
const X: usize = 3;

/// Tokens.
const T_ROW: Token = 0;
const T_NEXT: Token = 1;
const T_COL: Token = 2;
const T_VAL: Token = 3;
const T_RANK: Token = 4;

/// Steps of a wave.
const PC_ROW: u32 = 0;
const PC_BOUNDS: u32 = 1;
const PC_GATHER: u32 = 2;
const PC_ADD: u32 = 3;

/// PageRank on one graph.
#[derive(Clone, Debug)]
pub struct PageRank {
    lanes: u32,
    waves: u32,
    rows: u64,
    iterations: u64,
    damping: f32,
    base: f32,
    layout: Layout,
}

impl PageRank {
    /// Builds the program on `graph`, or on the graph that the parameters name.
    pub fn new(params: &Params, graph: Option<&Graph>) -> Result<Self, WorkloadError> {
        let graph = graphs::chosen(params, graph);
        let lanes = params.integer("lanes") as u32;
        let damping = params.real("damping") as f32;
        let rows = u64::from(graph.vertices());
        let incoming = graph.incoming();
        let degree: Vec<f32> = graph.out().offsets().windows(2).map(|w| (w[1] - w[0]) as f32).collect();
        let values: Vec<f32> = incoming.targets().iter().map(|&from| 1.0 / degree[from as usize]).collect();
        let edges = graph.arcs().max(1);
        let mut layout = Layout::new();
        layout.add("row", 4, rows + 1, true, data::u32_bytes(incoming.offsets()));
        layout.add("col", 4, edges, true, data::u32_bytes(incoming.targets()));
        layout.add("val", 4, edges, true, data::f32_bytes(&values));
        layout.add("x", 4, rows, false, data::f32_bytes(&vec![1.0 / rows as f32; rows as usize]));
        layout.add("y", 4, rows, false, vec![]);
        Ok(Self {
            lanes,
            waves: (params.integer("group") as u32 / lanes).max(1),
            rows,
            iterations: params.integer("iterations"),
            damping,
            base: (1.0 - damping) / rows as f32,
            layout,
        })
    }

    /// The array that holds the ranks after `iterations` iterations.
    pub fn ranks_after(&self, iterations: u64) -> &Array {
        &self.layout.arrays()[X + (iterations % 2) as usize]
    }

    fn bounds(&self, row: u64) -> Vec<Op> {
        let at = |row| self.layout.arrays()[ROW].at(row);
        if self.lanes >= 2 {
            let access = Access::read_only(4, words(at(row)), 0b11);
            return vec![Op::Load { token: T_ROW, access }, Op::Await { tokens: vec![T_ROW] }];
        }
        vec![
            Op::Load { token: T_ROW, access: Access::read_only(4, same(at(row)), 1) },
            Op::Load { token: T_NEXT, access: Access::read_only(4, same(at(row + 1)), 1) },
            Op::Await { tokens: vec![T_ROW, T_NEXT] },
        ]
    }

    /// Variables: position, end of the row, then one partial sum per lane.
    fn piece(&self, vars: &[u64]) -> u64 {
        full_mask((vars[1] - vars[0]).min(u64::from(self.lanes)) as u32)
    }

    fn fetch(&self, frame: &mut Frame, mut ops: Vec<Op>) -> Vec<Op> {
        let arrays = self.layout.arrays();
        let (at, mask) = (frame.vars[0], self.piece(&frame.vars));
        ops.push(Op::Load { token: T_COL, access: Access::read_only(4, words(arrays[COL].at(at)), mask) });
        ops.push(Op::Load { token: T_VAL, access: Access::read_only(4, words(arrays[VAL].at(at)), mask) });
        ops.push(Op::Await { tokens: vec![T_COL] });
        frame.pc = PC_GATHER;
        ops
    }

    fn finish(&self, frame: &Frame, row: u64, mut ops: Vec<Op>) -> Vec<Op> {
        let mut sums: Vec<f32> = frame.vars[2..].iter().map(|&v| float(v)).collect();
        let sum = reduce(&mut sums);
        arithmetic(&mut ops, u64::from(self.lanes.next_power_of_two().trailing_zeros()) + 1);
        let target = self.ranks_after(u64::from(frame.kernel) + 1).at(row);
        let value = lane_value(self.base + self.damping * sum);
        ops.push(Op::Store { access: Access::data(4, same(target), 1), values: Values::Const(value) });
        ops.push(Op::End);
        ops
    }
}

/// Adds the lanes' partial sums as a wave does in its registers: the upper half to the lower, again and again.
fn reduce(sums: &mut [f32]) -> f32 {
    let mut half = sums.len().next_power_of_two() / 2;
    while half > 0 {
        for i in 0..half.min(sums.len().saturating_sub(half)) {
            sums[i] += sums[i + half];
        }
        half /= 2;
    }
    sums[0]
}

impl Program for PageRank {
    fn name(&self) -> &str {
        INFO.name
    }

    fn lanes(&self) -> u32 {
        self.lanes
    }

    fn arrays(&self) -> &[Array] {
        self.layout.arrays()
    }

    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        ((index as u64) < self.iterations).then(|| {
            HostStep::Launch(Kernel {
                id: index as u32,
                name: "pagerank_pull".to_owned(),
                blocks: self.rows.div_ceil(u64::from(self.waves)) as u32,
                cpus: 0,
                waves_per_block: self.waves,
                lds_bytes: 0,
                args: vec![index as u64],
                co_resident: false,
            })
        })
    }

    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        Frame { kernel: kernel.id, block, wave, pc: PC_ROW, vars: vec![0; 2 + self.lanes as usize] }
    }

    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let row = u64::from(frame.block) * u64::from(self.waves) + u64::from(frame.wave);
        if row >= self.rows {
            return vec![Op::End];
        }
        match frame.pc {
            PC_ROW => {
                frame.pc = PC_BOUNDS;
                self.bounds(row)
            }
            PC_BOUNDS => {
                let next = if self.lanes >= 2 { values.lane(T_ROW, 1) } else { values.lane(T_NEXT, 0) };
                frame.vars[..2].copy_from_slice(&[values.lane(T_ROW, 0), next]);
                if frame.vars[0] == next {
                    return self.finish(frame, row, vec![]);
                }
                self.fetch(frame, vec![])
            }
            PC_GATHER => {
                frame.pc = PC_ADD;
                let ranks = self.ranks_after(u64::from(frame.kernel));
                let addrs = values.get(T_COL).iter().map(|&col| ranks.at(col)).collect();
                let access = Access::read_only(4, Addrs::Lanes(addrs), self.piece(&frame.vars));
                vec![Op::Load { token: T_RANK, access }, Op::Await { tokens: vec![T_VAL, T_RANK] }]
            }
            _ => {
                let (val, rank) = (values.get(T_VAL), values.get(T_RANK));
                for lane in active(self.piece(&frame.vars)) {
                    let sum = &mut frame.vars[2 + lane];
                    *sum = lane_value(float(*sum) + float(val[lane]) * float(rank[lane]));
                }
                let mut ops = Vec::new();
                arithmetic(&mut ops, 1);
                frame.vars[0] = (frame.vars[0] + u64::from(self.lanes)).min(frame.vars[1]);
                if frame.vars[0] == frame.vars[1] {
                    self.finish(frame, row, ops)
                } else {
                    self.fetch(frame, ops)
                }
            }
        }
    }

    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        let arrays = self.layout.arrays();
        let row: Vec<usize> = integers(&arrays[ROW]);
        let col: Vec<usize> = integers(&arrays[COL]);
        let val = floats(&arrays[VAL]);
        let mut ranks = floats(&arrays[X]);
        let mut sums = vec![0.0f32; self.lanes as usize];
        for _ in 0..self.iterations {
            let pull = |bounds: &[usize]| {
                sums.fill(0.0);
                for (i, edge) in (bounds[0]..bounds[1]).enumerate() {
                    sums[i % self.lanes as usize] += val[edge] * ranks[col[edge]];
                }
                self.base + self.damping * reduce(&mut sums)
            };
            ranks = row.windows(2).map(pull).collect();
        }
        compare(INFO.name, self.ranks_after(self.iterations), &ranks, memory)
    }
}

fn integers(array: &Array) -> Vec<usize> {
    array.init.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize).collect()
}
