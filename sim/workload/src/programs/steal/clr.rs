//! CLR: graph colouring (Pannotia color_max).

use super::super::graphs::{self, NONE};
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
    name: "clr",
    about: "Graph colouring with work queues: in each round every uncoloured vertex whose value exceeds those of its uncoloured neighbours takes the round's colour (Pannotia CLR).",
    params: PARAMS,
    published: &[("queues", "64"), ("rounds", "65536")],
    takes_graph: true,
    make: |params, graph| Ok(Simt::boxed(Clr::new(params, graph)?)),
};

const P_FILL: u32 = 0;
const P_MAX: u32 = 1;
const P_COLOUR: u32 = 2;

/// The colouring of one graph.
#[derive(Clone, Debug)]
pub struct Clr {
    work: Work,
    rows: Rows,
    ranks: Vec<u32>,
    value: usize,
    colour: usize,
    max: usize,
}

impl Clr {
    /// Builds the program on `graph`, or on the graph that the parameters name.
    pub fn new(params: &Params, graph: Option<&Graph>) -> Result<Self, WorkloadError> {
        let rows = Rows::undirected(&graphs::chosen(params, graph));
        let mut work = Work::new(INFO.name, params, &rows);
        let ranks = ranks(work.vertices, params.integer("seed"));
        let value = work.base.input("value", data::u32_bytes(&ranks));
        let none = data::u32_bytes(&vec![NONE; ranks.len()]);
        let colour = work.base.add("colour", work.vertices, false, none);
        let max = work.base.zeros("max", work.vertices);
        Ok(Self { work, rows, ranks, value, colour, max })
    }

    fn host(&self) -> (Vec<u32>, u64) {
        let mut colours = vec![NONE; self.ranks.len()];
        for round in 0..self.work.rounds {
            let open: Vec<usize> = (0..colours.len()).filter(|v| colours[*v] == NONE).collect();
            if open.is_empty() {
                return (colours, round + 1);
            }
            let before = colours.clone();
            let beaten =
                |v: usize| self.rows.of(v).any(|(u, _)| before[u] == NONE && self.ranks[u] > self.ranks[v]);
            open.into_iter().filter(|v| !beaten(*v)).for_each(|v| colours[v] = round as u32);
        }
        (colours, self.work.rounds)
    }
}

impl Visit for Clr {
    fn open(&self, v: u64, io: &mut Round) {
        io.load(S_OWN, self.work.base.at(self.colour, v));
    }

    fn begin(&self, t: &Thread, again: &mut bool) -> Option<u64> {
        *again = t.bits(S_OWN) == u64::from(NONE);
        again.then_some(0)
    }

    fn near(&self, i: u64, u: u64, _: u64, io: &mut Round) {
        io.load(S_NEAR + 2 * i, self.work.base.at(self.colour, u));
        io.read(S_NEAR + 2 * i + 1, self.work.base.at(self.value, u));
    }

    fn add(&self, t: &Thread, i: u64, _: u64, acc: u64) -> u64 {
        let open = t.bits(S_NEAR + 2 * i) == u64::from(NONE);
        if open { acc.max(t.bits(S_NEAR + 2 * i + 1)) } else { acc }
    }

    fn close(&self, _: &Thread, v: u64, acc: u64, io: &mut Round) {
        io.store(S_OWN + 1, self.work.base.at(self.max, v), acc);
    }
}

impl Kernels for Clr {
    fn base(&self) -> &Base {
        &self.work.base
    }

    fn launch(&self, index: usize, memory: &Memory) -> Option<Launch> {
        let round = index as u64 / 3;
        match index as u32 % 3 {
            P_FILL => self.work.goes_on(round, memory).then(|| self.work.fill(P_FILL)),
            P_MAX => Some(self.work.queued("clr_max", P_MAX, round, round + 1)),
            _ => Some(self.work.plain("clr_colour", P_COLOUR, round)),
        }
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let at = |array| self.work.base.at(array, t.id);
        match (t.phase, t.round) {
            (P_FILL, _) => self.work.fill_round(t, io),
            (P_MAX, _) => self.work.queued_round(self, t, r, io),
            (_, 0) => {
                io.load(0, at(self.colour));
                io.load(1, at(self.max));
                io.read(2, at(self.value));
                Flow::Next
            }
            _ => {
                if t.bits(0) == u64::from(NONE) && t.bits(2) > t.bits(1) {
                    io.store(3, at(self.colour), t.args[0]);
                }
                Flow::End
            }
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (colours, kernels) = self.host();
        self.work.base.check(self.colour, &colours, memory)?;
        self.work.verify(kernels, memory)
    }
}
