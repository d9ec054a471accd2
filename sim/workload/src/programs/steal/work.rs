//! What the programs with work queues share: their graph, the kernels that fill and empty the queues, and the walk over a vertex's neighbours.

use super::super::common::LANES;
use super::super::graphs::{self, EDGES, NODES, SOURCE};
use super::super::machine::GPUS;
use super::super::params::{ParamSpec, Params, size};
use super::super::round::{Atomic, Round};
use super::super::simt::{Base, Flow, Launch, Memory, Thread};
use super::queue::{Got, HINT, PAD, QUEUES, Queues, REGISTERS, TASK, VICTIMS, WAVES};
use super::sync::{SYNC, Sync};
use crate::data;
use crate::graph::Graph;
use crate::op::Scope;
use crate::program::VerifyError;

/// Parameter `rounds`.
const ROUNDS: ParamSpec =
    size("rounds", "16", 1 << 16, "rounds", "Rounds at most; a program that has its result earlier stops.");

/// Parameters of every program with work queues.
pub const PARAMS: &[ParamSpec] = &[
    SOURCE,
    NODES,
    EDGES,
    SYNC,
    QUEUES,
    WAVES,
    TASK,
    VICTIMS,
    HINT,
    PAD,
    ROUNDS,
    GPUS,
    LANES,
    super::super::common::SEED,
];

/// [`PARAMS`], and one that a program has besides.
pub const fn and_one(more: ParamSpec) -> [ParamSpec; PARAMS.len() + 1] {
    let mut all = [more; PARAMS.len() + 1];
    let mut i = 0;
    while i < PARAMS.len() {
        all[i] = PARAMS[i];
        i += 1;
    }
    all
}

/// Bytes of a work-group's scratchpad: the task's two ends, and whether a thread wants another round.
const LDS: u64 = 12;
const LDS_MORE: u64 = 8;
const NO_TASK: u64 = u32::MAX as u64;

/// Slots of the scratchpad; the queue code has those below, the walk those from [`S_OWN`].
const S_BEGIN: u64 = 8;
const S_END: u64 = 9;
const S_MORE: u64 = 10;
const S_WANT: u64 = 11;
/// First slot of what a [`Visit`] loads of its own vertex, at most 4.
pub const S_OWN: u64 = 16;
const S_ROW: u64 = 20;
const S_COL: u64 = 24;
const S_WEIGHT: u64 = 28;
/// First slot of what a [`Visit`] loads or stores of neighbour `i`: `S_NEAR + 2 * i` and the one after it.
pub const S_NEAR: u64 = 32;

/// Neighbours that a thread looks at in a round.
const UNROLL: u64 = 4;

/// Registers of a thread after those of the queue code.
const R_PHASE: usize = REGISTERS;
const R_STEP: usize = REGISTERS + 1;
const R_NEXT: usize = REGISTERS + 2;
const R_LAST: usize = REGISTERS + 3;
const R_COUNT: usize = REGISTERS + 4;
const R_ACC: usize = REGISTERS + 5;
/// The vertex that the thread visits.
const R_VERTEX: usize = REGISTERS + 6;
const ALL_REGISTERS: u64 = REGISTERS as u64 + 7;

const QUEUE: u64 = 0;
const GET: u64 = 1;
const GOT: u64 = 2;
const VISIT: u64 = 3;
const LEAVE: u64 = 4;

/// What a thread does with one vertex.
pub trait Visit {
    /// Loads what it wants to know of its vertex, in slots from [`S_OWN`].
    fn open(&self, v: u64, io: &mut Round);

    /// Whether the vertex has work; `None`, or the accumulator before the first neighbour. `again` asks for another round of the program.
    fn begin(&self, t: &Thread, again: &mut bool) -> Option<u64>;

    /// Accesses neighbour `u`, the `i`-th of this round, in slots `S_NEAR + 2 * i` and the next; `acc` is the accumulator before this round.
    fn near(&self, i: u64, u: u64, acc: u64, io: &mut Round);

    /// The accumulator with what [`Visit::near`] has loaded; `weight` of the arc, if the graph has weights.
    fn add(&self, t: &Thread, i: u64, weight: u64, acc: u64) -> u64;

    /// Stores the result.
    fn close(&self, t: &Thread, v: u64, acc: u64, io: &mut Round);
}

/// A program's graph, queues and rounds.
#[derive(Clone, Debug)]
pub struct Work {
    /// Name, lanes and arrays.
    pub base: Base,
    /// Vertices of the graph.
    pub vertices: u64,
    /// Rounds at most.
    pub rounds: u64,
    queues: Queues,
    sync: Sync,
    /// Threads of a work-group.
    group: u64,
    lanes: u64,
    row: usize,
    col: usize,
    weight: Option<usize>,
    /// Per round: a work-group has asked for the next.
    more: usize,
}

impl Work {
    /// On the rows of a graph: of each vertex its neighbours and, if there are any, their weights.
    pub fn new(name: &'static str, params: &Params, rows: &Rows) -> Work {
        let mut base = Base::new(name, params);
        let vertices = rows.offsets.len() as u64 - 1;
        let row = base.input("row", data::u32_bytes(&rows.offsets));
        let col = base.input("col", data::u32_bytes(&graphs::padded(&rows.targets)));
        let weight = rows.weights.as_ref().map(|w| base.input("weight", data::u32_bytes(&graphs::padded(w))));
        let rounds = params.integer("rounds");
        let more = base.zeros("more", rounds);
        let queues = Queues::new(params, &mut base, vertices);
        let (group, lanes) = (super::queue::group(params), params.integer("lanes"));
        let sync = Sync::new(params);
        Work { base, vertices, rounds, queues, sync, group, lanes, row, col, weight, more }
    }

    /// The kernel that fills the queues.
    pub fn fill(&self, phase: u32) -> Launch {
        let threads = self.queues.count * self.group;
        Launch::new("queue_fill", phase, threads, self.group as u32)
    }

    /// One round of [`Work::fill`].
    pub fn fill_round(&self, t: &Thread, io: &mut Round) -> Flow {
        self.queues.fill(&self.base, t, io);
        Flow::End
    }

    /// A kernel whose work-groups take their tasks from queues: round `round` of the program, queue kernel `kernel`, counted from 1.
    pub fn queued(&self, name: &'static str, phase: u32, round: u64, kernel: u64) -> Launch {
        let threads = self.queues.count * self.group;
        let launch = Launch::new(name, phase, threads, self.group as u32);
        launch.registers(ALL_REGISTERS).lds(LDS).args(&[round, kernel])
    }

    /// A kernel with a thread for each vertex.
    pub fn plain(&self, name: &'static str, phase: u32, round: u64) -> Launch {
        Launch::new(name, phase, self.vertices, self.group as u32).lds(LDS).args(&[round])
    }

    /// Whether round `round` has asked for another; before the first, yes.
    pub fn goes_on(&self, round: u64, memory: &Memory) -> bool {
        round < self.rounds && (round == 0 || self.base.word(self.more, round - 1, memory) != 0)
    }

    /// Address of the flag that asks for the round after `round`.
    fn more_at(&self, round: u64) -> u64 {
        self.base.at(self.more, round)
    }

    /// Scope of accesses that every CU sees.
    pub fn all(&self) -> Scope {
        self.sync.relaxed().scope
    }

    /// One round of a thread of [`Work::queued`].
    pub fn queued_round(&self, visit: &dyn Visit, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        match r[R_PHASE] {
            QUEUE => self.queue(t, r, io),
            GET => {
                io.lds_load(S_BEGIN, 0);
                io.lds_load(S_END, 4);
                r[R_PHASE] = GOT;
                Flow::Next
            }
            GOT if t.bits(S_BEGIN) == NO_TASK => {
                if t.local != 0 {
                    return Flow::End;
                }
                io.lds_load(S_MORE, LDS_MORE);
                self.queues.tally(&self.base, t, r, true, io);
                r[R_PHASE] = LEAVE;
                Flow::Next
            }
            GOT if t.bits(S_BEGIN) + t.local >= t.bits(S_END) => {
                r[R_PHASE] = QUEUE;
                Flow::Barrier
            }
            GOT | VISIT => {
                if r[R_PHASE] == GOT {
                    (r[R_PHASE], r[R_STEP], r[R_VERTEX]) = (VISIT, 0, t.bits(S_BEGIN) + t.local);
                }
                if !self.walk(visit, t, r[R_VERTEX], r, io) {
                    return Flow::Next;
                }
                // A task of more vertices than the work-group has threads: each takes every so many-th.
                (r[R_STEP], r[R_VERTEX]) = (0, r[R_VERTEX] + self.group);
                if r[R_VERTEX] < t.bits(S_END) {
                    return Flow::Next;
                }
                r[R_PHASE] = QUEUE;
                Flow::Barrier
            }
            _ => {
                self.queues.tally(&self.base, t, r, false, io);
                self.ask(t, t.bits(S_MORE) != 0, io);
                Flow::End
            }
        }
    }

    /// The first wave takes a task, the others wait for it.
    fn queue(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        if t.local < self.lanes {
            if t.round == 0 && t.local == 0 {
                io.lds_store(S_WANT, LDS_MORE, 0);
            }
            let (begin, end) = match self.queues.round(&self.base, t, t.args[1], r, io) {
                Got::Nothing => return Flow::Next,
                Got::Task(begin, end) => (begin, end),
                Got::End => (NO_TASK, 0),
            };
            if t.local == 0 {
                io.lds_store(S_BEGIN, 0, begin);
                io.lds_store(S_END, 4, end);
            }
        }
        r[R_PHASE] = GET;
        Flow::Barrier
    }

    /// Asks for another round of the program: one relaxed store of a work-group.
    fn ask(&self, t: &Thread, wanted: bool, io: &mut Round) {
        if wanted {
            let addr = self.more_at(t.args[0]);
            io.atomic(S_WANT, Atomic::Store, 4, self.sync.relaxed(), addr, 1);
        }
    }

    /// Visits a vertex and its neighbours, one round; whether it is done.
    fn walk(&self, visit: &dyn Visit, t: &Thread, v: u64, r: &mut [u64], io: &mut Round) -> bool {
        match r[R_STEP] {
            0 => {
                io.read(S_ROW, self.base.at(self.row, v));
                io.read(S_ROW + 1, self.base.at(self.row, v + 1));
                visit.open(v, io);
                r[R_STEP] = 1;
                return false;
            }
            1 => {
                let mut again = false;
                let begin = visit.begin(t, &mut again);
                if again {
                    io.lds_store(S_WANT, LDS_MORE, 1);
                }
                let Some(acc) = begin else { return true };
                (r[R_NEXT], r[R_LAST], r[R_ACC]) = (t.index(S_ROW), t.index(S_ROW + 1), acc);
            }
            2 => {
                (0..r[R_COUNT]).for_each(|i| visit.near(i, t.index(S_COL + i), r[R_ACC], io));
                r[R_STEP] = 3;
                return false;
            }
            _ => {
                for i in 0..r[R_COUNT] {
                    r[R_ACC] = visit.add(t, i, t.bits(S_WEIGHT + i), r[R_ACC]);
                }
                io.alu(r[R_COUNT]);
            }
        }
        if r[R_NEXT] == r[R_LAST] {
            visit.close(t, v, r[R_ACC], io);
            return true;
        }
        r[R_COUNT] = UNROLL.min(r[R_LAST] - r[R_NEXT]);
        for i in 0..r[R_COUNT] {
            io.read(S_COL + i, self.base.at(self.col, r[R_NEXT] + i));
            if let Some(weight) = self.weight {
                io.read(S_WEIGHT + i, self.base.at(weight, r[R_NEXT] + i));
            }
        }
        r[R_NEXT] += r[R_COUNT];
        r[R_STEP] = 2;
        false
    }

    /// One round of a thread of [`Work::plain`] that asks for another round of the program if `change`, called in its second round, says so; `open` loads in its first.
    pub fn plain_round(
        &self,
        t: &Thread,
        io: &mut Round,
        open: impl Fn(&mut Round),
        change: impl Fn(&mut Round) -> bool,
    ) -> Flow {
        match t.round {
            0 => {
                if t.local == 0 {
                    io.lds_store(S_WANT, LDS_MORE, 0);
                }
                open(io);
                Flow::Next
            }
            1 => Flow::Barrier,
            2 => {
                if change(io) {
                    io.lds_store(S_WANT, LDS_MORE, 1);
                }
                Flow::Barrier
            }
            3 if t.local == 0 => {
                io.lds_load(S_MORE, LDS_MORE);
                Flow::Next
            }
            3 => Flow::End,
            _ => {
                self.ask(t, t.bits(S_MORE) != 0, io);
                Flow::End
            }
        }
    }

    /// Each task was executed once by each of `kernels` queue kernels.
    pub fn verify(&self, kernels: u64, memory: &Memory) -> Result<(), VerifyError> {
        self.queues.verify(&self.base, kernels, memory)
    }
}

/// Neighbours of each vertex.
#[derive(Clone, Debug)]
pub struct Rows {
    /// First neighbour of each vertex, and the number of all at the end.
    pub offsets: Vec<u32>,
    /// Neighbours, row after row.
    pub targets: Vec<u32>,
    /// Weight of each arc.
    pub weights: Option<Vec<u32>>,
}

impl Rows {
    /// Every neighbour of every vertex once, whichever way the edge points; no loops.
    pub fn undirected(graph: &Graph) -> Rows {
        let (mut offsets, mut targets) = (vec![0], vec![]);
        for v in 0..graph.vertices() {
            let mut row: Vec<u32> = [graph.out().row(v), graph.incoming().row(v)]
                .concat()
                .into_iter()
                .filter(|u| *u != v)
                .collect();
            row.sort_unstable();
            row.dedup();
            targets.extend(row);
            offsets.push(targets.len() as u32);
        }
        Rows { offsets, targets, weights: None }
    }

    /// The vertices from which an arc leads to each vertex, without weights.
    pub fn incoming(graph: &Graph) -> Rows {
        let rows = graph.incoming();
        Rows { offsets: rows.offsets().to_vec(), targets: rows.targets().to_vec(), weights: None }
    }

    /// The vertices to which an arc leads from each vertex, without weights.
    pub fn outgoing(graph: &Graph) -> Rows {
        let rows = graph.out();
        Rows { offsets: rows.offsets().to_vec(), targets: rows.targets().to_vec(), weights: None }
    }

    /// The same with weights of the arcs: those given, or random ones of 1 to 64 by a seed.
    pub fn weighted(graph: &Graph, given: Option<Vec<u32>>, seed: impl FnOnce() -> u64) -> Rows {
        let rows = Rows::incoming(graph);
        let weights = given.unwrap_or_else(|| {
            let seed = seed();
            (0..graph.arcs()).map(|arc| 1 + (data::mix(seed, 3, arc) % 64) as u32).collect()
        });
        Rows { weights: Some(weights), ..rows }
    }

    /// Neighbours of a vertex, with weights where there are any, else 0.
    pub fn of(&self, v: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
        let range = self.offsets[v] as usize..self.offsets[v + 1] as usize;
        range.map(|i| (self.targets[i] as usize, self.weights.as_ref().map_or(0, |w| w[i])))
    }
}

/// A random order of the vertices as their values 1, 2, 3..., so that no two are equal.
pub fn ranks(vertices: u64, seed: u64) -> Vec<u32> {
    let mut order: Vec<u64> = (0..vertices).collect();
    order.sort_by_key(|v| data::mix(seed, 4, *v));
    let mut ranks = vec![0; vertices as usize];
    order.iter().enumerate().for_each(|(i, v)| ranks[*v as usize] = i as u32 + 1);
    ranks
}
