//! MIS: a maximal independent set (Pannotia mis).

use super::super::graphs;
use super::super::params::Params;
use super::super::round::Round;
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::work::{PARAMS, Rows, S_NEAR, S_OWN, Visit, Work, ranks};
use crate::data;
use crate::graph::Graph;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "mis",
    about: "Maximal independent set with work queues: in each round every undecided vertex whose value is below those of its undecided neighbours joins and puts them out (Pannotia MIS).",
    params: PARAMS,
    published: &[("queues", "64"), ("rounds", "65536")],
    takes_graph: true,
    make: |params, graph| Ok(Simt::boxed(Mis::new(params, graph)?)),
};

const P_FILL_MIN: u32 = 0;
const P_MIN: u32 = 1;
const P_FILL_MARK: u32 = 2;
const P_MARK: u32 = 3;
const P_COPY: u32 = 4;

/// What a vertex is.
const UNDECIDED: u32 = 0;
const IN: u32 = 1;
const OUT: u32 = 2;

/// The set of one graph.
#[derive(Clone, Debug)]
pub struct Mis {
    work: Work,
    rows: Rows,
    ranks: Vec<u32>,
    value: usize,
    state: usize,
    update: usize,
    min: usize,
}

/// Finds the least value around a vertex.
struct Least<'a>(&'a Mis);

/// Lets a vertex join.
struct Mark<'a>(&'a Mis);

impl Mis {
    /// Builds the program on `graph`, or on the graph that the parameters name.
    pub fn new(params: &Params, graph: Option<&Graph>) -> Result<Self, WorkloadError> {
        let rows = Rows::undirected(&graphs::chosen(params, graph));
        let mut work = Work::new(INFO.name, params, &rows);
        let ranks = ranks(work.vertices, params.integer("seed"));
        let value = work.base.input("value", data::u32_bytes(&ranks));
        let state = work.base.zeros("state", work.vertices);
        let update = work.base.zeros("update", work.vertices);
        let min = work.base.zeros("min", work.vertices);
        Ok(Self { work, rows, ranks, value, state, update, min })
    }

    /// States after the rounds, and the queue kernels of all.
    fn host(&self) -> (Vec<u32>, u64) {
        let mut states = vec![UNDECIDED; self.ranks.len()];
        for round in 0..self.work.rounds {
            let before = states.clone();
            let open: Vec<usize> = (0..before.len()).filter(|v| before[*v] == UNDECIDED).collect();
            let least = |v: usize| {
                self.rows.of(v).all(|(u, _)| before[u] != UNDECIDED || self.ranks[u] > self.ranks[v])
            };
            for v in open.iter().copied().filter(|v| least(*v)) {
                states[v] = IN;
                self.rows.of(v).for_each(|(u, _)| states[u] = OUT);
            }
            if open.is_empty() {
                return (states, 2 * (round + 1));
            }
        }
        (states, 2 * self.work.rounds)
    }
}

impl Visit for Least<'_> {
    fn open(&self, v: u64, io: &mut Round) {
        io.load(S_OWN, self.0.work.base.at(self.0.state, v));
    }

    fn begin(&self, t: &Thread, again: &mut bool) -> Option<u64> {
        *again = t.bits(S_OWN) == u64::from(UNDECIDED);
        again.then_some(u64::from(u32::MAX))
    }

    fn near(&self, i: u64, u: u64, _: u64, io: &mut Round) {
        io.load(S_NEAR + 2 * i, self.0.work.base.at(self.0.state, u));
        io.read(S_NEAR + 2 * i + 1, self.0.work.base.at(self.0.value, u));
    }

    fn add(&self, t: &Thread, i: u64, _: u64, acc: u64) -> u64 {
        let open = t.bits(S_NEAR + 2 * i) == u64::from(UNDECIDED);
        if open { acc.min(t.bits(S_NEAR + 2 * i + 1)) } else { acc }
    }

    fn close(&self, _: &Thread, v: u64, acc: u64, io: &mut Round) {
        io.store(S_OWN + 1, self.0.work.base.at(self.0.min, v), acc);
    }
}

impl Visit for Mark<'_> {
    fn open(&self, v: u64, io: &mut Round) {
        io.load(S_OWN, self.0.work.base.at(self.0.state, v));
        io.load(S_OWN + 1, self.0.work.base.at(self.0.min, v));
        io.read(S_OWN + 2, self.0.work.base.at(self.0.value, v));
    }

    fn begin(&self, t: &Thread, _: &mut bool) -> Option<u64> {
        let joins = t.bits(S_OWN) == u64::from(UNDECIDED) && t.bits(S_OWN + 2) < t.bits(S_OWN + 1);
        joins.then_some(0)
    }

    fn near(&self, i: u64, u: u64, _: u64, io: &mut Round) {
        io.store(S_NEAR + 2 * i, self.0.work.base.at(self.0.update, u), u64::from(OUT));
    }

    fn add(&self, _: &Thread, _: u64, _: u64, acc: u64) -> u64 {
        acc
    }

    fn close(&self, _: &Thread, v: u64, _: u64, io: &mut Round) {
        io.store(S_OWN + 3, self.0.work.base.at(self.0.update, v), u64::from(IN));
    }
}

impl Kernels for Mis {
    fn base(&self) -> &Base {
        &self.work.base
    }

    fn launch(&self, index: usize, memory: &Memory) -> Option<Launch> {
        let round = index as u64 / 5;
        match index as u32 % 5 {
            P_FILL_MIN => self.work.goes_on(round, memory).then(|| self.work.fill(P_FILL_MIN)),
            P_MIN => Some(self.work.queued("mis_min", P_MIN, round, 2 * round + 1)),
            P_FILL_MARK => Some(self.work.fill(P_FILL_MARK)),
            P_MARK => Some(self.work.queued("mis_mark", P_MARK, round, 2 * round + 2)),
            _ => Some(self.work.plain("mis_copy", P_COPY, round)),
        }
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let at = |array| self.work.base.at(array, t.id);
        match (t.phase, t.round) {
            (P_FILL_MIN | P_FILL_MARK, _) => self.work.fill_round(t, io),
            (P_MIN, _) => self.work.queued_round(&Least(self), t, r, io),
            (P_MARK, _) => self.work.queued_round(&Mark(self), t, r, io),
            (_, 0) => {
                io.load(0, at(self.state));
                io.load(1, at(self.update));
                Flow::Next
            }
            _ => {
                if t.bits(0) == u64::from(UNDECIDED) && t.bits(1) != u64::from(UNDECIDED) {
                    io.store(2, at(self.state), t.bits(1));
                }
                Flow::End
            }
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (states, kernels) = self.host();
        self.work.base.check(self.state, &states, memory)?;
        self.work.verify(kernels, memory)
    }
}
