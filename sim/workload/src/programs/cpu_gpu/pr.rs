//! PR: PageRank by pulling, vertices split over CPU threads and work-groups, a barrier after each iteration.
//!
//! No atomics beside the barrier: each rank is summed by one thread, in the order of the vertex's row, so that it is the
//! host's to the bit.

use super::super::common::{SEED, float, lane_value};
use super::super::graphs::{self, EDGES, NODES, SOURCE};
use super::super::params::{Params, size};
use super::super::round::Round;
use super::super::simt::{Memory, Thread};
use super::super::steal::work::Rows;
use super::super::{WorkloadError, WorkloadInfo};
use super::phases::{At, InPhases, Phases, Step, barrier};
use super::team::{GROUP, LANES, Team, blocks, cpu_threads};
use super::walk::{REGISTERS as WALK, S_NEAR, S_OWN, Walk, own};
use crate::data;
use crate::graph::Graph;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "pr",
    about: "PageRank by pulling on CPU threads and CUs together, with a barrier after each iteration (Pannotia PR as in Spandex, which runs it on wing, to be given as a file).",
    params: &[
        cpu_threads("8", 0, "CPU threads; vertices are split evenly over them and the work-groups."),
        blocks("8", 0, "Work-groups."),
        SOURCE,
        NODES,
        EDGES,
        size("iterations", "5", 1 << 16, "iterations", "Iterations."),
        GROUP,
        LANES,
        SEED,
    ],
    published: &[],
    takes_graph: true,
    make: |params, graph| Ok(InPhases::boxed(Pr::new(params, graph)?)),
};

const DAMPING: f32 = 0.85;

const R_VERTEX: usize = WALK;
const R_SUM: usize = WALK + 1;

/// Ranks of one graph.
#[derive(Clone, Debug)]
pub struct Pr {
    team: Team,
    rows: Rows,
    degrees: Vec<u32>,
    iterations: u64,
    barrier: Option<usize>,
    walk: Walk,
    degree: usize,
    /// Ranks after an even and after an odd number of iterations.
    ranks: [usize; 2],
}

impl Pr {
    /// Builds the program on `graph`, or on the graph that the parameters name.
    pub fn new(params: &Params, graph: Option<&Graph>) -> Result<Self, WorkloadError> {
        let mut team = Team::new(INFO.name, params, params.integer("group"))?;
        let graph = graphs::chosen(params, graph);
        let rows = Rows::incoming(&graph);
        let degrees: Vec<u32> = graph.out().offsets().windows(2).map(|w| w[1] - w[0]).collect();
        let walk = Walk::new(&mut team.base, &rows);
        let degree = team.base.input("degree", data::u32_bytes(&degrees));
        let n = degrees.len();
        let first = data::f32_bytes(&vec![1.0 / n as f32; n]);
        let ranks = [team.base.add("rank0", n as u64, false, first), team.base.zeros("rank1", n as u64)];
        let barrier = barrier(&mut team);
        let iterations = params.integer("iterations");
        Ok(Self { team, rows, degrees, iterations, barrier, walk, degree, ranks })
    }

    fn vertices(&self) -> u64 {
        self.degrees.len() as u64
    }

    fn ranked(&self, sum: f32) -> f32 {
        (1.0 - DAMPING) / self.vertices() as f32 + DAMPING * sum
    }
}

impl Phases for Pr {
    fn team(&self) -> &Team {
        &self.team
    }

    fn barrier(&self) -> Option<usize> {
        self.barrier
    }

    fn registers(&self) -> u64 {
        WALK as u64 + 2
    }

    fn round(&self, t: &Thread, at: At, r: &mut [u64], io: &mut Round) -> Step {
        if at.phase == self.iterations {
            return Step::End;
        }
        if at.step == 0 {
            (r[R_VERTEX], r[R_SUM]) = (0, lane_value(0.0));
        }
        let Some(v) = own(&self.team, t, self.vertices(), r[R_VERTEX]) else { return Step::Phase };
        let base = &self.team.base;
        let old = self.ranks[(at.phase % 2) as usize];
        let near = |i: u64, u: u64, io: &mut Round| {
            io.load(S_NEAR + 4 * i, base.at(old, u));
            io.read(S_NEAR + 4 * i + 1, base.at(self.degree, u));
        };
        let mut sum = float(r[R_SUM]);
        let add = |i: u64, _: u64, io: &mut Round| {
            io.sfu(1);
            sum += t.float(S_NEAR + 4 * i) / t.bits(S_NEAR + 4 * i + 1) as f32;
        };
        let done = self.walk.round(base, t, v, &mut r[..WALK], io, near, add);
        r[R_SUM] = lane_value(sum);
        if done {
            let new = self.ranks[(1 - at.phase % 2) as usize];
            io.put(S_OWN, base.at(new, v), self.ranked(sum));
            (r[R_VERTEX], r[R_SUM]) = (r[R_VERTEX] + 1, lane_value(0.0));
        }
        Step::Next
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let n = self.degrees.len();
        let mut ranks = [vec![1.0 / n as f32; n], vec![0.0; n]];
        for iteration in 0..self.iterations as usize {
            let old = &ranks[iteration % 2];
            let sum = |v| self.rows.of(v).fold(0.0, |sum, (u, _)| sum + old[u] / self.degrees[u] as f32);
            ranks[1 - iteration % 2] = (0..n).map(|v| self.ranked(sum(v))).collect();
        }
        self.team.base.check(self.ranks[0], &ranks[0], memory)?;
        self.team.base.check(self.ranks[1], &ranks[1], memory)
    }
}
