//! PRK: PageRank (Pannotia pagerank and pagerank_spmv): each vertex pulls from its neighbours, or pushes to them by relaxed atomics.

use super::super::common::{float, lane_value};
use super::super::graphs;
use super::super::params::{Legal, ParamSpec, Params};
use super::super::round::Round;
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::work::{Rows, S_NEAR, S_OWN, Visit, Work, and_one};
use crate::data;
use crate::graph::Graph;
use crate::op::AmoKind;
use crate::program::VerifyError;

/// Those of every program with work queues, and the way.
const PARAMS: &[ParamSpec] = &and_one(ParamSpec {
    name: "way",
    default: "pull",
    legal: Legal::Choice(&["pull", "push"]),
    unit: "",
    about: "Each vertex sums over its neighbours, or adds to each of them by a relaxed atomic.",
});

/// Greatest difference of a pushed rank, whose sum is in any order, from the host's, relative to it.
const TOLERANCE: f32 = 1e-3;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "prk",
    about: "PageRank with work queues: every vertex sums rank over degree of its neighbours, for `rounds` rounds (Pannotia PRK).",
    params: PARAMS,
    published: &[("queues", "64")],
    takes_graph: true,
    make: |params, graph| Ok(Simt::boxed(Prk::new(params, graph)?)),
};

const P_FILL: u32 = 0;
const P_PULL: u32 = 1;
const P_UPDATE: u32 = 2;
const DAMPING: f32 = 0.85;

/// PageRank of one graph.
#[derive(Clone, Debug)]
pub struct Prk {
    work: Work,
    rows: Rows,
    degrees: Vec<u32>,
    degree: usize,
    rank: usize,
    sum: usize,
    push: bool,
}

impl Prk {
    /// Builds the program on `graph`, or on the graph that the parameters name.
    pub fn new(params: &Params, graph: Option<&Graph>) -> Result<Self, WorkloadError> {
        let graph = graphs::chosen(params, graph);
        let push = params.text("way") == "push";
        let rows = if push { Rows::outgoing(&graph) } else { Rows::incoming(&graph) };
        let degrees: Vec<u32> = graph.out().offsets().windows(2).map(|w| w[1] - w[0]).collect();
        let mut work = Work::new(INFO.name, params, &rows);
        let degree = work.base.input("degree", data::u32_bytes(&degrees));
        let first = vec![1.0 / work.vertices as f32; degrees.len()];
        let rank = work.base.add("rank", work.vertices, false, data::f32_bytes(&first));
        let sum = work.base.zeros("sum", work.vertices);
        Ok(Self { work, rows, degrees, degree, rank, sum, push })
    }

    /// The host's round.
    fn next(&self, ranks: &[f32]) -> Vec<f32> {
        let part = |u: usize| ranks[u] / self.degrees[u] as f32;
        let mut sums = vec![0.0f32; ranks.len()];
        for v in 0..ranks.len() {
            for (u, _) in self.rows.of(v) {
                let (to, from) = if self.push { (u, v) } else { (v, u) };
                sums[to] += part(from);
            }
        }
        sums.into_iter().map(|sum| self.updated(sum)).collect()
    }

    fn updated(&self, sum: f32) -> f32 {
        (1.0 - DAMPING) / self.work.vertices as f32 + DAMPING * sum
    }
}

impl Visit for Prk {
    fn open(&self, v: u64, io: &mut Round) {
        if self.push {
            io.load(S_OWN, self.work.base.at(self.rank, v));
            io.read(S_OWN + 1, self.work.base.at(self.degree, v));
        }
    }

    /// Pushing, the accumulator is what each neighbour gets.
    fn begin(&self, t: &Thread, _: &mut bool) -> Option<u64> {
        Some(lane_value(if self.push { t.float(S_OWN) / t.bits(S_OWN + 1) as f32 } else { 0.0 }))
    }

    fn near(&self, i: u64, u: u64, acc: u64, io: &mut Round) {
        if self.push {
            io.reduce(
                S_NEAR + 2 * i,
                AmoKind::Fadd32,
                4,
                self.work.base.at(self.sum, u),
                acc,
                self.work.all(),
            );
            return;
        }
        io.load(S_NEAR + 2 * i, self.work.base.at(self.rank, u));
        io.read(S_NEAR + 2 * i + 1, self.work.base.at(self.degree, u));
    }

    fn add(&self, t: &Thread, i: u64, _: u64, acc: u64) -> u64 {
        if self.push {
            return acc;
        }
        lane_value(float(acc) + t.float(S_NEAR + 2 * i) / t.bits(S_NEAR + 2 * i + 1) as f32)
    }

    fn close(&self, _: &Thread, v: u64, acc: u64, io: &mut Round) {
        if !self.push {
            io.store(S_OWN, self.work.base.at(self.sum, v), acc);
        }
    }
}

impl Kernels for Prk {
    fn base(&self) -> &Base {
        &self.work.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let round = index as u64 / 3;
        match index as u32 % 3 {
            P_FILL => (round < self.work.rounds).then(|| self.work.fill(P_FILL)),
            P_PULL => Some(self.work.queued("prk_pull", P_PULL, round, round + 1)),
            _ => Some(self.work.plain("prk_update", P_UPDATE, round)),
        }
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        match (t.phase, t.round) {
            (P_FILL, _) => self.work.fill_round(t, io),
            (P_PULL, _) => self.work.queued_round(self, t, r, io),
            (_, 0) => {
                io.load(0, self.work.base.at(self.sum, t.id));
                Flow::Next
            }
            _ => {
                io.alu(2);
                io.put(1, self.work.base.at(self.rank, t.id), self.updated(t.float(0)));
                if self.push {
                    io.put(2, self.work.base.at(self.sum, t.id), 0.0);
                }
                Flow::End
            }
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut ranks = vec![1.0 / self.work.vertices as f32; self.degrees.len()];
        for _ in 0..self.work.rounds {
            ranks = self.next(&ranks);
        }
        if self.push {
            let near = |found: f32, want: f32| (found - want).abs() <= TOLERANCE * want.abs();
            self.work.base.check_near(self.rank, &ranks, near, memory)?;
        } else {
            self.work.base.check(self.rank, &ranks, memory)?;
        }
        self.work.verify(self.work.rounds, memory)
    }
}
