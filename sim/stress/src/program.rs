//! A random program: kernels of waves, each a list of operations that depend on nothing that is loaded.

use crate::hand_over::HandOver;
use crate::roles::Roles;
use crate::wave::{Drawn, share};
use crate::{Ground, Shape};
use rand::Rng;
use rand::rngs::SmallRng;
use weft_workload::trace::op::TraceOp;
use weft_workload::trace::{Trace, TraceKernel, TraceStep};

/// A wave of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wave {
    /// Work-group, which runs on the CPU core or compute unit of this number.
    pub unit: u32,
    /// Number in the work-group.
    pub number: u32,
    /// What it does, without the end.
    pub ops: Vec<TraceOp>,
}

/// A kernel, and what the host copies before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// First byte and bytes of each copy.
    pub copies: Vec<(u64, u64)>,
    /// Waves that do something.
    pub waves: Vec<Wave>,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Lanes of a wave.
    pub lanes: u32,
    /// Work-groups of each kernel: one for every unit, CPU cores first.
    pub units: u32,
    /// CPU cores among them.
    pub cores: u32,
    /// Waves of a work-group.
    pub waves: u32,
    /// In order.
    pub kernels: Vec<Kernel>,
}

impl Program {
    /// One of this shape.
    pub fn draw(rng: &mut SmallRng, ground: &Ground, shape: &Shape) -> Program {
        let seed: u64 = rng.random();
        let ground = &if shape.cores { ground.clone() } else { ground.without_cores() };
        let roles = Roles { ground, seed, cells: shape.cells };
        let kernels = (0..shape.kernels)
            .map(|_| {
                let hand_over = share(rng, shape.hand_overs).then(|| HandOver::draw(rng, shape, roles));
                let hand_over = hand_over.flatten();
                let all = (0..shape.lines).map(|line| (shape.address(line, ground.line), ground.line));
                let copies = if share(rng, shape.copies) { all.collect() } else { Vec::new() };
                let of = |unit| if unit < ground.cores { 1 } else { shape.waves };
                let waves = (0..ground.units()).flat_map(|unit| (0..of(unit)).map(move |n| (unit, n)));
                let wave = |(unit, number)| {
                    let drawn = Drawn::new(rng, shape, roles, hand_over.as_ref(), (unit, number));
                    Wave { unit, number, ops: drawn.draw() }
                };
                Kernel { copies, waves: waves.map(wave).collect() }
            })
            .collect();
        let Ground { lanes, cores, .. } = *ground;
        Program { lanes, units: ground.units(), cores, waves: shape.waves, kernels }
    }

    /// As a trace.
    pub fn trace(&self) -> Trace {
        let mut steps = Vec::new();
        for (number, kernel) in self.kernels.iter().enumerate() {
            steps.extend(
                kernel.copies.iter().map(|(addr, bytes)| TraceStep::Copy { addr: *addr, bytes: *bytes }),
            );
            let threads = [self.lanes * self.waves, 1, 1];
            let mut trace =
                TraceKernel::new(&format!("k{number}"), [self.units, 1, 1], threads, 0, self.lanes);
            trace.cpus = self.cores;
            for wave in &kernel.waves {
                let ops: Vec<TraceOp> = wave.ops.iter().cloned().chain([TraceOp::End]).collect();
                let added = trace.add_wave(wave.unit, wave.number, &ops);
                assert!(added.is_some(), "wave {} of unit {} is of the kernel, once", wave.number, wave.unit);
            }
            steps.push(TraceStep::Kernel(trace));
        }
        Trace { lanes: self.lanes, steps }
    }

    /// Loads, stores and atomics of its lanes.
    pub fn operations(&self) -> u64 {
        self.ops().map(operations).sum()
    }

    /// Operations of all waves.
    pub fn ops(&self) -> impl Iterator<Item = &TraceOp> {
        self.kernels.iter().flat_map(|kernel| &kernel.waves).flat_map(|wave| &wave.ops)
    }
}

/// Lanes that access memory.
fn operations(op: &TraceOp) -> u64 {
    op.access().map_or(0, |access| u64::from(access.mask.count_ones()))
}
