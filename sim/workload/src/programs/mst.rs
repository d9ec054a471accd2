//! MST (Lonestar): Boruvka's minimum spanning forest with atomics inside each GPU.

use super::common::{LANES, SEED};
use super::gemv::GROUP;
use super::graphs::{self, EDGES, NODES, SOURCE, WEIGHT_SCALE};
use super::machine::{GPUS, Machine};
use super::params::Params;
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::warm::WARMUP;
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::graph::Graph;
use crate::op::{AmoKind, Scope};
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "mst",
    about: "Boruvka's minimum spanning forest: in each round the edges lower their components' least key by .gpu-scoped \
            atomics, a table per GPU; then components choose, hook and relabel (Lonestar mst). Arcs of a directed graph are edges; \
            without weights edges get random ones.",
    params: &[SOURCE, NODES, EDGES, WEIGHT_SCALE, GPUS, GROUP, LANES, SEED, WARMUP],
    published: &[("group", "256")],
    takes_graph: true,
    make: |params, graph| Ok(Simt::boxed(Mst::new(params, graph)?)),
};

const FROM: usize = 0;
const TO: usize = 1;
const WEIGHT: usize = 2;
/// Label of each vertex: the vertex that stands for its component.
const COMPONENT: usize = 3;
/// Edge that a component has chosen.
const CHOSEN: usize = 4;
const PARENT: usize = 5;
const TREE: usize = 6;
/// Per round: 1 if components were joined.
const JOINED: usize = 7;
/// Per GPU and component: least weight << 32 | edge.
const BEST: usize = 8;

const P_LOWER: u32 = 0;
const P_CHOOSE: u32 = 1;
const P_HOOK: u32 = 2;
const P_RELABEL: u32 = 3;
const NO_KEY: u64 = u64::MAX;
const NO_EDGE: u64 = u32::MAX as u64;

/// The forest of one graph.
#[derive(Clone, Debug)]
pub struct Mst {
    base: Base,
    vertices: u64,
    edges: u64,
    group: u32,
    machine: Machine,
}

impl Mst {
    /// Builds the program on `graph`, or on the graph that the parameters name; edges without weights get
    /// random ones. An arc of a directed graph is an edge; loops are left out.
    pub fn new(params: &Params, graph: Option<&Graph>) -> Result<Self, WorkloadError> {
        let graph = graphs::chosen(params, graph);
        let vertices = graph.vertices();
        let (mut from, mut to, mut weight) = (vec![], vec![], vec![]);
        let row = graph.out().offsets();
        let weights = graphs::whole_weights(params, &graph, graph.out(), u32::MAX)?;
        let seed = if weights.is_none() { params.integer("seed") } else { 0 };
        for u in 0..vertices {
            for arc in row[u as usize]..row[u as usize + 1] {
                let v = graph.out().targets()[arc as usize];
                if u < v || (graph.is_directed() && u > v) {
                    let random = (data::mix(seed, 2, from.len() as u64) >> 44) as u32;
                    weight.push(weights.as_ref().map_or(random, |w| w[arc as usize]));
                    from.push(u);
                    to.push(v);
                }
            }
        }
        let (count, machine) = (from.len() as u64, Machine::new(params));
        let own: Vec<u32> = (0..vertices).collect();
        let keys = machine.gpus * u64::from(vertices);
        let mut base = Base::new(INFO.name, params);
        for (name, list) in [("from", &from), ("to", &to), ("weight", &weight)] {
            base.input(name, data::u32_bytes(&graphs::padded(list)));
        }
        base.add("component", own.len() as u64, false, data::u32_bytes(&own));
        base.zeros("chosen", own.len() as u64);
        base.zeros("parent", own.len() as u64);
        base.zeros("tree", count.max(1));
        base.zeros("joined", 64);
        base.add_wide("best", keys, vec![0xff; 8 * keys as usize]);
        let group = params.integer("group") as u32;
        Ok(Self { base, vertices: own.len() as u64, edges: count, group, machine })
    }

    fn edge_blocks(&self) -> u64 {
        self.machine.padded(self.edges.div_ceil(u64::from(self.group)).max(1))
    }

    fn lower(&self, t: &Thread, io: &mut Round) -> Flow {
        let at = |array, index| self.base.at(array, index);
        match t.round {
            _ if t.id >= self.edges => return Flow::End,
            0 => (0..).zip([FROM, TO, WEIGHT]).for_each(|(slot, array)| io.read(slot, at(array, t.id))),
            1 => (0..2).for_each(|end| io.read(3 + end, at(COMPONENT, t.index(end)))),
            _ => {
                let (a, b) = (t.index(3), t.index(4));
                if a != b {
                    let key = t.bits(2) << 32 | t.id;
                    let table = self.machine.gpu_of(t, self.edge_blocks()) * self.vertices;
                    for (slot, component) in [(5, a), (6, b)] {
                        let addr = at(BEST, table + component);
                        io.reduce(slot, AmoKind::Min, 8, addr, key, Scope::Gpu);
                    }
                }
                return Flow::End;
            }
        }
        Flow::Next
    }

    fn choose(&self, t: &Thread, io: &mut Round) -> Flow {
        let best = |gpu| self.base.at(BEST, gpu * self.vertices + t.id);
        match t.round {
            0 => io.load(0, self.base.at(COMPONENT, t.id)),
            _ if t.index(0) != t.id => return Flow::End,
            1 => (0..self.machine.gpus).for_each(|g| io.load_wide(1 + g, best(g))),
            _ => {
                let key = (0..self.machine.gpus).map(|g| t.bits(1 + g)).fold(NO_KEY, u64::min);
                (0..self.machine.gpus).for_each(|g| io.store_wide(1 + g, best(g), NO_KEY));
                io.alu(self.machine.gpus);
                io.store(0, self.base.at(CHOSEN, t.id), key & NO_EDGE);
                return Flow::End;
            }
        }
        Flow::Next
    }

    /// A component hangs itself below the one at the other end of its edge; of two that chose the same, the lesser
    /// stays a root.
    fn hook(&self, t: &Thread, io: &mut Round) -> Flow {
        let at = |array, index| self.base.at(array, index);
        match t.round {
            0 => {
                io.load(0, at(COMPONENT, t.id));
                io.load(1, at(CHOSEN, t.id));
            }
            _ if t.index(0) != t.id => return Flow::End,
            1 if t.index(1) == NO_EDGE => {
                io.store(0, at(PARENT, t.id), t.id);
                return Flow::End;
            }
            1 => (0..).zip([FROM, TO]).for_each(|(end, array)| io.read(2 + end, at(array, t.index(1)))),
            2 => (0..2).for_each(|end| io.read(4 + end, at(COMPONENT, t.index(2 + end)))),
            3 => io.load(6, at(CHOSEN, self.other(t))),
            _ => {
                let other = self.other(t);
                let stays = t.index(6) == t.index(1) && t.id < other;
                io.store(0, at(PARENT, t.id), if stays { t.id } else { other });
                io.store(1, at(TREE, t.index(1)), 1);
                io.store(2, at(JOINED, t.args[0]), 1);
                return Flow::End;
            }
        }
        Flow::Next
    }

    fn other(&self, t: &Thread) -> u64 {
        if t.index(4) == t.id { t.index(5) } else { t.index(4) }
    }

    /// Follows the parents up to a root.
    fn relabel(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        if t.round == 0 {
            io.load(0, self.base.at(COMPONENT, t.id));
            return Flow::Next;
        }
        if t.round > 1 && t.index(0) == r[0] {
            io.store(0, self.base.at(COMPONENT, t.id), r[0]);
            return Flow::End;
        }
        r[0] = t.index(0);
        io.read(0, self.base.at(PARENT, r[0]));
        Flow::Next
    }
}

impl Kernels for Mst {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, memory: &Memory) -> Option<Launch> {
        let round = index as u64 / 4;
        let vertices = |name, phase| Launch::new(name, phase, self.vertices, self.group).args(&[round]);
        match index as u32 % 4 {
            P_LOWER if round > 0 && self.base.word(JOINED, round - 1, memory) == 0 => None,
            P_LOWER => {
                let threads = self.edge_blocks() * u64::from(self.group);
                Some(Launch::new("mst_lower", P_LOWER, threads, self.group))
            }
            P_CHOOSE => Some(vertices("mst_choose", P_CHOOSE)),
            P_HOOK => Some(vertices("mst_hook", P_HOOK)),
            _ => Some(vertices("mst_relabel", P_RELABEL).registers(1)),
        }
    }

    fn round(&self, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        match t.phase {
            P_LOWER => self.lower(t, io),
            P_CHOOSE => self.choose(t, io),
            P_HOOK => self.hook(t, io),
            _ => self.relabel(t, registers, io),
        }
    }

    /// Kruskal's algorithm: keys differ, so there is one minimum forest.
    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let [from, to, weight] = [FROM, TO, WEIGHT].map(|array| self.base.first::<u32>(array));
        let mut order: Vec<usize> = (0..self.edges as usize).collect();
        order.sort_by_key(|&e| (weight[e], e));
        let mut root: Vec<u32> = (0..self.vertices as u32).collect();
        let find = |root: &[u32], mut v: u32| {
            while root[v as usize] != v {
                v = root[v as usize];
            }
            v
        };
        let mut tree = vec![0u32; self.edges.max(1) as usize];
        for e in order {
            let (a, b) = (find(&root, from[e]), find(&root, to[e]));
            if a != b {
                root[a as usize] = b;
                tree[e] = 1;
            }
        }
        self.base.check(TREE, &tree, memory)
    }
}
