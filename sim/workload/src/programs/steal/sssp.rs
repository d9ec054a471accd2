//! SSSP: shortest paths from one vertex by Bellman and Ford (Pannotia sssp).

use super::super::graphs::{self, WEIGHT_SCALE};
use super::super::params::{ParamSpec, Params};
use super::super::round::Round;
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::work::{Rows, S_NEAR, S_OWN, Visit, Work, and_one};
use crate::data;
use crate::graph::Graph;
use crate::program::VerifyError;

/// Those of every program with work queues, and the scale of weights.
const PARAMS: &[ParamSpec] = &and_one(WEIGHT_SCALE);

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "sssp",
    about: "Shortest paths from vertex 0 with work queues: every vertex takes the least of its own distance and its neighbours' with the arc, until none changes (Pannotia SSSP). Without weights arcs get random ones of 1 to 64.",
    params: PARAMS,
    published: &[("queues", "64"), ("rounds", "65536")],
    takes_graph: true,
    make: |params, graph| Ok(Simt::boxed(Sssp::new(params, graph)?)),
};

const P_FILL: u32 = 0;
const P_RELAX: u32 = 1;
const P_COPY: u32 = 2;
/// Distance of a vertex that has not been reached.
const INFINITE: u32 = 99_999_999;

/// The paths of one graph.
#[derive(Clone, Debug)]
pub struct Sssp {
    work: Work,
    rows: Rows,
    old: usize,
    new: usize,
}

impl Sssp {
    /// Builds the program on `graph`, or on the graph that the parameters name.
    pub fn new(params: &Params, graph: Option<&Graph>) -> Result<Self, WorkloadError> {
        let graph = graphs::chosen(params, graph);
        let weights = graphs::whole_weights(params, &graph, graph.incoming(), INFINITE - 1)?;
        let rows = Rows::weighted(&graph, weights, || params.integer("seed"));
        if let Some((vertex, sum)) = beyond(&rows, params.integer("rounds")) {
            return Err(WorkloadError::Sum {
                workload: INFO.name,
                graph: graph.origin().file.clone().unwrap_or_else(|| format!("the graph {}", graph.name())),
                from: graph.label(0),
                to: graph.label(vertex as u32),
                sum,
                infinite: INFINITE.into(),
                scale: 10f64.powf((f64::from(INFINITE) / sum as f64).log10().floor()),
            });
        }
        let mut work = Work::new(INFO.name, params, &rows);
        let first = data::u32_bytes(&first(work.vertices));
        let old = work.base.add("distance", work.vertices, false, first);
        let new = work.base.zeros("next", work.vertices);
        Ok(Self { work, rows, old, new })
    }

    /// Distances after the rounds, and the queue kernels of all.
    fn host(&self) -> (Vec<u32>, u64) {
        let mut old = first(self.work.vertices);
        for round in 0..self.work.rounds {
            let relax = |v: usize| self.rows.of(v).fold(old[v], |least, (u, w)| least.min(old[u] + w));
            let new: Vec<u32> = (0..old.len()).map(relax).collect();
            if new == old {
                return (old, round + 1);
            }
            old = new;
        }
        (old, self.work.rounds)
    }
}

/// A vertex whose distance after so many rounds is not below infinity, and the distance, if there is one. On the way to a
/// lesser distance a greater one does no harm: it is as good as none.
fn beyond(rows: &Rows, rounds: u64) -> Option<(usize, u64)> {
    let vertices = rows.offsets.len() - 1;
    let longest = rows.weights.iter().flatten().max().copied().unwrap_or(0);
    let hops = rounds.min(vertices as u64 - 1);
    if hops.saturating_mul(longest.into()) < INFINITE.into() {
        return None;
    }
    let mut old = vec![u64::MAX; vertices];
    old[0] = 0;
    for _ in 0..rounds {
        let relax =
            |v: usize| rows.of(v).fold(old[v], |least, (u, w)| least.min(old[u].saturating_add(w.into())));
        let new: Vec<u64> = (0..vertices).map(relax).collect();
        if new == old {
            break;
        }
        old = new;
    }
    let far = |distance: &u64| (INFINITE.into()..u64::MAX).contains(distance);
    old.iter().position(far).map(|vertex| (vertex, old[vertex]))
}

/// Distances before the first round.
fn first(vertices: u64) -> Vec<u32> {
    let mut first = vec![INFINITE; vertices as usize];
    first[0] = 0;
    first
}

impl Visit for Sssp {
    fn open(&self, v: u64, io: &mut Round) {
        io.load(S_OWN, self.work.base.at(self.old, v));
    }

    fn begin(&self, t: &Thread, _: &mut bool) -> Option<u64> {
        Some(t.bits(S_OWN))
    }

    fn near(&self, i: u64, u: u64, _: u64, io: &mut Round) {
        io.load(S_NEAR + 2 * i, self.work.base.at(self.old, u));
    }

    fn add(&self, t: &Thread, i: u64, weight: u64, acc: u64) -> u64 {
        acc.min(t.bits(S_NEAR + 2 * i) + weight)
    }

    fn close(&self, _: &Thread, v: u64, acc: u64, io: &mut Round) {
        io.store(S_OWN + 1, self.work.base.at(self.new, v), acc);
    }
}

impl Kernels for Sssp {
    fn base(&self) -> &Base {
        &self.work.base
    }

    fn launch(&self, index: usize, memory: &Memory) -> Option<Launch> {
        let round = index as u64 / 3;
        match index as u32 % 3 {
            P_FILL => self.work.goes_on(round, memory).then(|| self.work.fill(P_FILL)),
            P_RELAX => Some(self.work.queued("sssp_relax", P_RELAX, round, round + 1)),
            _ => Some(self.work.plain("sssp_copy", P_COPY, round)),
        }
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let at = |array| self.work.base.at(array, t.id);
        let open = |io: &mut Round| {
            io.load(0, at(self.old));
            io.load(1, at(self.new));
        };
        let change = |io: &mut Round| {
            let less = t.bits(1) < t.bits(0);
            if less {
                io.store(2, at(self.old), t.bits(1));
            }
            less
        };
        match t.phase {
            P_FILL => self.work.fill_round(t, io),
            P_RELAX => self.work.queued_round(self, t, r, io),
            _ => self.work.plain_round(t, io, open, change),
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (distances, kernels) = self.host();
        self.work.base.check(self.old, &distances, memory)?;
        self.work.verify(kernels, memory)
    }
}
