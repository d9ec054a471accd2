//! PageRank by pushing: every vertex adds its share to the next ranks of those it leads to, a barrier after each phase.
//!
//! ```text
//! each iteration:  push:  v:  for u that v leads to:  ADD.C next[u], share of v
//!                  take:  v:  rank[v] = rest + next[v];  next[v] = 0
//! ```
//! Ranks are whole numbers, of which all vertices together have about 2^30, so that the order of additions does not matter.

use super::super::common::SEED;
use super::super::cpu_gpu::phases::{At, InPhases, Phases, Step, barrier};
use super::super::cpu_gpu::team::{ATOMICS, GROUP, LANES, Team, blocks};
use super::super::cpu_gpu::walk::{REGISTERS as WALK, S_OWN, Walk, own};
use super::super::graphs::{self, EDGES, NODES, SOURCE};
use super::super::params::{Params, size};
use super::super::round::Round;
use super::super::simt::{Memory, Thread};
use super::super::steal::work::Rows;
use super::super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::graph::Graph;
use crate::op::AmoKind;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "pr-push",
    about: "PageRank by pushing commutative additions in fixed point (relaxed-atomics study, PR; after Pannotia).",
    params: &[
        blocks("12", 1, "Work-groups; vertices are split evenly over them."),
        SOURCE,
        NODES,
        EDGES,
        size("iterations", "3", 1 << 16, "iterations", "Iterations."),
        ATOMICS,
        GROUP,
        LANES,
        SEED,
    ],
    published: &[("blocks", "45"), ("iterations", "10")],
    takes_graph: true,
    make: |params, graph| Ok(InPhases::boxed(PrPush::new(params, graph)?)),
};

/// All ranks together, and damping in parts of 100.
const ONE: u64 = 1 << 30;
const DAMPING: u64 = 85;

const R_STATE: usize = WALK;
const R_VERTEX: usize = WALK + 1;
const R_SHARE: usize = WALK + 2;

/// States of a thread at its vertex: nothing loaded, rank and degree or next rank asked for, walking.
const BEGIN: u64 = 0;
const OWN: u64 = 1;
const WALKS: u64 = 2;

const S_RANK: u64 = S_OWN;
const S_DEGREE: u64 = S_OWN + 1;
const S_PUT: u64 = S_OWN + 2;
const S_PUT2: u64 = S_OWN + 3;
/// And the three after it.
const S_ADD: u64 = S_OWN + 4;

/// Ranks of one graph.
#[derive(Clone, Debug)]
pub struct PrPush {
    team: Team,
    rows: Rows,
    degrees: Vec<u32>,
    iterations: u64,
    barrier: Option<usize>,
    walk: Walk,
    degree: usize,
    rank: usize,
    next: usize,
}

/// What a vertex gives to each of those it leads to.
fn share(rank: u64, degree: u64) -> u64 {
    (rank * DAMPING / 100).checked_div(degree).unwrap_or(0)
}

impl PrPush {
    /// Builds the program on `graph`, or on the graph that the parameters name.
    pub fn new(params: &Params, graph: Option<&Graph>) -> Result<Self, WorkloadError> {
        let mut team = Team::new(INFO.name, params, params.integer("group"))?;
        let rows = Rows::outgoing(&graphs::chosen(params, graph));
        let degrees: Vec<u32> = rows.offsets.windows(2).map(|w| w[1] - w[0]).collect();
        let walk = Walk::new(&mut team.base, &rows);
        let degree = team.base.input("degree", data::u32_bytes(&degrees));
        let n = degrees.len() as u64;
        let first = vec![(ONE / n) as u32; degrees.len()];
        let rank = team.base.add("rank", n, false, data::u32_bytes(&first));
        let next = team.base.zeros("next", n);
        let barrier = barrier(&mut team);
        let iterations = params.integer("iterations");
        Ok(Self { team, rows, degrees, iterations, barrier, walk, degree, rank, next })
    }

    fn vertices(&self) -> u64 {
        self.degrees.len() as u64
    }

    /// What every vertex has without being led to.
    fn rest(&self) -> u64 {
        ONE / self.vertices() * (100 - DAMPING) / 100
    }

    fn push(&self, t: &Thread, v: u64, r: &mut [u64], io: &mut Round) {
        let base = &self.team.base;
        match r[R_STATE] {
            BEGIN => {
                io.load(S_RANK, base.at(self.rank, v));
                io.read(S_DEGREE, base.at(self.degree, v));
                r[R_STATE] = OWN;
                return;
            }
            OWN => {
                io.sfu(1);
                (r[R_SHARE], r[R_STATE]) = (share(t.index(S_RANK), t.index(S_DEGREE)), WALKS);
            }
            _ => {}
        }
        let share = r[R_SHARE];
        let add = |i: u64, u: u64, io: &mut Round| {
            self.team.update(io, S_ADD + i, AmoKind::Add, base.at(self.next, u), share);
        };
        if self.walk.round(base, t, v, &mut r[..WALK], io, |_, _, _| {}, add) {
            (r[R_VERTEX], r[R_STATE]) = (r[R_VERTEX] + 1, BEGIN);
        }
    }

    fn take(&self, t: &Thread, v: u64, r: &mut [u64], io: &mut Round) {
        let base = &self.team.base;
        if r[R_STATE] == BEGIN {
            io.load(S_RANK, base.at(self.next, v));
            r[R_STATE] = OWN;
            return;
        }
        io.store(S_PUT, base.at(self.rank, v), self.rest() + t.index(S_RANK));
        io.store(S_PUT2, base.at(self.next, v), 0);
        (r[R_VERTEX], r[R_STATE]) = (r[R_VERTEX] + 1, BEGIN);
    }
}

impl Phases for PrPush {
    fn team(&self) -> &Team {
        &self.team
    }

    fn barrier(&self) -> Option<usize> {
        self.barrier
    }

    fn registers(&self) -> u64 {
        WALK as u64 + 3
    }

    fn round(&self, t: &Thread, at: At, r: &mut [u64], io: &mut Round) -> Step {
        if at.phase == 2 * self.iterations {
            return Step::End;
        }
        if at.step == 0 {
            (r[R_VERTEX], r[R_STATE]) = (0, BEGIN);
        }
        let Some(v) = own(&self.team, t, self.vertices(), r[R_VERTEX]) else { return Step::Phase };
        if at.phase.is_multiple_of(2) {
            self.push(t, v, r, io)
        } else {
            self.take(t, v, r, io)
        }
        Step::Next
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let n = self.degrees.len();
        let mut ranks = vec![ONE / n as u64; n];
        for _ in 0..self.iterations {
            let mut next = vec![self.rest(); n];
            for (v, rank) in ranks.iter().enumerate() {
                let share = share(*rank, u64::from(self.degrees[v]));
                self.rows.of(v).for_each(|(u, _)| next[u] += share);
            }
            ranks = next;
        }
        let ranks: Vec<u32> = ranks.into_iter().map(|rank| rank as u32).collect();
        self.team.base.check(self.next, &vec![0u32; n], memory)?;
        self.team.base.check(self.rank, &ranks, memory)
    }
}
