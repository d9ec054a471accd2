//! Breadth-first search (Rodinia bfs): level by level, one thread per vertex.

use super::common::{LANES, SEED};
use super::gemv::GROUP;
use super::graphs::{self, EDGES, NODES, NONE, SOURCE};
use super::params::{Legal, ParamSpec, Params};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::warm::WARMUP;
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::graph::Graph;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "bfs",
    about: "Level-synchronous breadth-first search with frontier flags, two kernels per level, until the host reads that \
            no vertex was reached (Rodinia bfs).",
    params: &[
        SOURCE,
        NODES,
        EDGES,
        ParamSpec {
            name: "root",
            default: "0",
            legal: Legal::Integer { min: 0, max: u32::MAX as u64 },
            unit: "vertex",
            about: "Vertex where the search begins, below the number of vertices.",
        },
        GROUP,
        LANES,
        SEED,
        WARMUP,
    ],
    published: &[("group", "256")],
    takes_graph: true,
    make: |params, graph| Ok(Simt::boxed(Bfs::new(params, graph)?)),
};

const ROW: usize = 0;
const COL: usize = 1;
/// 1 on vertices of the current level.
const FRONTIER: usize = 2;
/// 1 on vertices that the current level has reached.
const REACHED: usize = 3;
const VISITED: usize = 4;
const DISTANCE: usize = 5;
/// Per level: 1 if it reached a vertex.
const MORE: usize = 6;

const P_EXPAND: u32 = 0;
const P_ADVANCE: u32 = 1;

/// Neighbours that a thread looks at in a round.
const UNROLL: u64 = 4;
const S_FROM: u64 = 0;
const S_TO: u64 = 1;
const S_FLAG: u64 = 2;
const S_DISTANCE: u64 = 3;
const S_NEIGHBOUR: u64 = 4;
const S_SEEN: u64 = S_NEIGHBOUR + UNROLL;

/// Registers: next arc, end of the row, distance, arcs in flight.
const R_NEXT: usize = 0;
const R_END: usize = 1;
const R_DISTANCE: usize = 2;
const R_COUNT: usize = 3;

/// The search on one graph.
#[derive(Clone, Debug)]
pub struct Bfs {
    base: Base,
    vertices: u64,
    root: u32,
    group: u32,
}

impl Bfs {
    /// Builds the program on `graph`, or on the graph that the parameters name.
    pub fn new(params: &Params, graph: Option<&Graph>) -> Result<Self, WorkloadError> {
        let graph = graphs::chosen(params, graph);
        let vertices = u64::from(graph.vertices());
        let root = params.integer("root");
        if root >= vertices {
            return Err(params.illegal("root", format!("a vertex of the graph, 0..{}", vertices - 1)));
        }
        let only_root = |value: u32, rest: u32| {
            let mut all = vec![rest; vertices as usize];
            all[root as usize] = value;
            data::u32_bytes(&all)
        };
        let mut base = Base::new(INFO.name, params);
        base.input("row", data::u32_bytes(graph.out().offsets()));
        base.input("col", data::u32_bytes(&graphs::padded(graph.out().targets())));
        base.add("frontier", vertices, false, only_root(1, 0));
        base.zeros("reached", vertices);
        base.add("visited", vertices, false, only_root(1, 0));
        base.add("distance", vertices, false, only_root(0, NONE));
        base.zeros("more", vertices);
        Ok(Self { base, vertices, root: root as u32, group: params.integer("group") as u32 })
    }

    /// Reads the flag, then the row, then neighbours and whether they have been visited.
    fn expand(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let at = |array, index| self.base.at(array, index);
        match t.round {
            0 => io.load(S_FLAG, at(FRONTIER, t.id)),
            1 if t.bits(S_FLAG) == 0 => return Flow::End,
            1 => {
                io.store(0, at(FRONTIER, t.id), 0);
                io.read(S_FROM, at(ROW, t.id));
                io.read(S_TO, at(ROW, t.id + 1));
                io.load(S_DISTANCE, at(DISTANCE, t.id));
            }
            _ => {
                if t.round == 2 {
                    (r[R_NEXT], r[R_END]) = (t.index(S_FROM), t.index(S_TO));
                    r[R_DISTANCE] = t.bits(S_DISTANCE) + 1;
                } else if t.round % 2 == 1 {
                    (0..r[R_COUNT]).for_each(|i| io.load(S_SEEN + i, at(VISITED, t.index(S_NEIGHBOUR + i))));
                    return Flow::Next;
                } else {
                    for i in (0..r[R_COUNT]).filter(|i| t.bits(S_SEEN + i) == 0) {
                        let vertex = t.index(S_NEIGHBOUR + i);
                        io.store(2 * i, at(DISTANCE, vertex), r[R_DISTANCE]);
                        io.store(2 * i + 1, at(REACHED, vertex), 1);
                    }
                }
                if r[R_NEXT] == r[R_END] {
                    return Flow::End;
                }
                r[R_COUNT] = UNROLL.min(r[R_END] - r[R_NEXT]);
                (0..r[R_COUNT]).for_each(|i| io.read(S_NEIGHBOUR + i, at(COL, r[R_NEXT] + i)));
                r[R_NEXT] += r[R_COUNT];
            }
        }
        Flow::Next
    }

    fn advance(&self, t: &Thread, io: &mut Round) -> Flow {
        if t.round == 0 {
            io.load(S_FLAG, self.base.at(REACHED, t.id));
            return Flow::Next;
        }
        if t.bits(S_FLAG) == 1 {
            io.store(0, self.base.at(FRONTIER, t.id), 1);
            io.store(1, self.base.at(VISITED, t.id), 1);
            io.store(2, self.base.at(REACHED, t.id), 0);
            io.store(3, self.base.at(MORE, t.args[0]), 1);
        }
        Flow::End
    }
}

impl Kernels for Bfs {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, memory: &Memory) -> Option<Launch> {
        let level = index as u64 / 2;
        match index as u32 % 2 {
            P_EXPAND if level > 0 && self.base.word(MORE, level - 1, memory) == 0 => None,
            P_EXPAND => Some(Launch::new("bfs_expand", P_EXPAND, self.vertices, self.group).registers(4)),
            _ => Some(Launch::new("bfs_advance", P_ADVANCE, self.vertices, self.group).args(&[level])),
        }
    }

    fn round(&self, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        match t.phase {
            P_EXPAND => self.expand(t, registers, io),
            _ => self.advance(t, io),
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (row, col) = (self.base.first::<u32>(ROW), self.base.first::<u32>(COL));
        let mut distance = vec![NONE; self.vertices as usize];
        distance[self.root as usize] = 0;
        let mut queue = std::collections::VecDeque::from([self.root as usize]);
        while let Some(v) = queue.pop_front() {
            for &u in &col[row[v] as usize..row[v + 1] as usize] {
                if distance[u as usize] == NONE {
                    distance[u as usize] = distance[v] + 1;
                    queue.push_back(u as usize);
                }
            }
        }
        let visited: Vec<u32> = distance.iter().map(|&d| u32::from(d != NONE)).collect();
        self.base.check(DISTANCE, &distance, memory)?;
        self.base.check(VISITED, &visited, memory)
    }
}
