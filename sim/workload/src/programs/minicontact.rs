//! MiniContact: unstructured contact search between two surfaces, forces scattered by atomics.

use super::common::{LANES, SEED};
use super::gemv::GROUP;
use super::params::{Legal, ParamSpec, Params};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::warm::WARMUP;
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::op::{AmoKind, Scope};
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "minicontact",
    about: "Contact of two unstructured surfaces in fixed-point numbers, four kernels per step: boxes of elements from \
            gathered nodes, search of candidate pairs with atomic maxima per node, forces scattered by atomic additions, \
            motion (after MiniContact).",
    params: &[
        ParamSpec {
            name: "elements",
            default: "40",
            legal: Legal::Integer { min: 2, max: 250 },
            unit: "elements",
            about: "Elements along each side of a surface.",
        },
        ParamSpec {
            name: "steps",
            default: "3",
            legal: Legal::Integer { min: 1, max: 1000 },
            unit: "steps",
            about: "Time steps of four kernels.",
        },
        GROUP,
        LANES,
        SEED,
        WARMUP,
    ],
    published: &[("elements", "250"), ("group", "256")],
    takes_graph: false,
    make: |params, _| Simt::from_params(MiniContact::new, params),
};

/// Side of an element at rest.
const PITCH: i32 = 1 << 12;
/// Parts that the forces of a node are cut into; an element's four nodes take one each.
const SHARE: u32 = 2;

/// Nodes' coordinates x, y, z: lower surface first, then upper.
const NODE: usize = 0;
/// Four nodes of each element of the lower surface.
const CORNERS: usize = 1;
/// Candidate nodes of each element: first of each, then the nodes.
const FIRST: usize = 2;
const CANDIDATE: usize = 3;
/// Per element: least and greatest x, least and greatest y, height.
const BOX: usize = 4;
/// Deepest contact of each node: depth << 16 | element + 1; 0 = none.
const DEEPEST: usize = 5;
const FORCE: usize = 6;

const P_BOX: u32 = 0;
const P_SEARCH: u32 = 1;
const P_FORCE: u32 = 2;

/// The contact problem.
#[derive(Clone, Debug)]
pub struct MiniContact {
    base: Base,
    elements: u64,
    nodes: u64,
    steps: u64,
    group: u32,
}

/// A permutation of 0..count.
fn shuffled(count: u64, seed: u64, stream: u64) -> Vec<u64> {
    let mut list: Vec<u64> = (0..count).collect();
    list.sort_by_key(|&i| data::mix(seed, stream, i));
    list
}

impl MiniContact {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (side, seed) = (params.integer("elements"), params.integer("seed"));
        let (elements, surface) = (side * side, (side + 1) * (side + 1));
        let nodes = 2 * surface;
        let number = shuffled(nodes, seed, 0);
        let mut node = vec![0u32; 3 * nodes as usize];
        for i in 0..nodes {
            let (upper, place) = ((i / surface) as i32, i % surface);
            let noise = |axis: u64, size: i32| (data::mix(seed, 1 + axis, i) % size as u64) as i32 - size / 2;
            let (x, y) = ((place % (side + 1)) as i32, (place / (side + 1)) as i32);
            let shift = upper * PITCH / 3;
            let z = upper * PITCH / 16 + noise(2, PITCH / 4);
            let at = [x * PITCH + shift + noise(0, PITCH / 4), y * PITCH + shift + noise(1, PITCH / 4), z];
            for (axis, value) in at.into_iter().enumerate() {
                node[axis * nodes as usize + number[i as usize] as usize] = value as u32;
            }
        }
        let (mut corners, mut first, mut candidates) = (vec![], vec![0], vec![]);
        for element in shuffled(elements, seed, 4) {
            let (x, y) = (element % side, element / side);
            let below = |dx, dy| number[((y + dy) * (side + 1) + x + dx) as usize] as u32;
            corners.extend([below(0, 0), below(1, 0), below(0, 1), below(1, 1)]);
            // The upper nodes above the element and around it, which motion in a few steps can bring there.
            for near_y in y.saturating_sub(1)..=(y + 1).min(side) {
                for near_x in x.saturating_sub(1)..=(x + 1).min(side) {
                    candidates.push(number[(surface + near_y * (side + 1) + near_x) as usize] as u32);
                }
            }
            first.push(candidates.len() as u32);
        }
        let mut base = Base::new(INFO.name, params);
        base.add("node", 3 * nodes, false, data::u32_bytes(&node));
        base.input("corners", data::u32_bytes(&corners));
        base.input("first", data::u32_bytes(&first));
        base.input("candidate", data::u32_bytes(&candidates));
        base.zeros("box", 5 * elements);
        base.zeros("deepest", nodes);
        base.zeros("force", nodes);
        let group = params.integer("group") as u32;
        Ok(Self { base, elements, nodes, steps: params.integer("steps"), group })
    }

    fn node(&self, axis: u64, node: u64) -> u64 {
        self.base.at(NODE, axis * self.nodes + node)
    }

    fn bounds(&self, t: &Thread, io: &mut Round) -> Flow {
        match t.round {
            0 => (0..4).for_each(|c| io.read(c, self.base.at(CORNERS, 4 * t.id + c))),
            1 => {
                for c in 0..4 {
                    (0..3).for_each(|axis| io.read(4 + 4 * axis + c, self.node(axis, t.index(c))));
                }
            }
            _ => {
                let all = box_of(|axis, c| t.int(4 + 4 * axis + c));
                io.alu(16);
                for (i, v) in (0..).zip(all) {
                    io.store(i, self.base.at(BOX, i * self.elements + t.id), u64::from(v as u32));
                }
                return Flow::End;
            }
        }
        Flow::Next
    }

    /// Registers: next candidate, end, the candidate in flight.
    fn search(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        match t.round {
            0 => {
                (0..5).for_each(|i| io.read(i, self.base.at(BOX, i * self.elements + t.id)));
                (0..2).for_each(|i| io.read(5 + i, self.base.at(FIRST, t.id + i)));
                return Flow::Next;
            }
            1 => (r[0], r[1]) = (t.index(5), t.index(6)),
            odd if odd % 2 == 1 => {
                let depth = depth(|i| t.int(i), |axis| t.int(8 + axis));
                io.alu(6);
                if let Some(depth) = depth {
                    let at = self.base.at(DEEPEST, r[2]);
                    io.reduce(11, AmoKind::Max, 4, at, u64::from(contact(depth, t.id)), Scope::Sys);
                }
            }
            _ => {
                r[2] = t.index(7);
                (0..3).for_each(|axis| io.read(8 + axis, self.node(axis, r[2])));
                return Flow::Next;
            }
        }
        if r[0] == r[1] {
            return Flow::End;
        }
        io.read(7, self.base.at(CANDIDATE, r[0]));
        r[0] += 1;
        Flow::Next
    }

    fn force(&self, t: &Thread, io: &mut Round) -> Flow {
        let element = (t.bits(0) & 0xffff).wrapping_sub(1);
        match t.round {
            0 => io.read(0, self.base.at(DEEPEST, t.id)),
            1 if t.bits(0) == 0 => return Flow::End,
            1 => (0..4).for_each(|c| io.read(1 + c, self.base.at(CORNERS, 4 * element + c))),
            _ => {
                let push = (t.bits(0) >> 16) as u32;
                let mut add = |slot, node, value: u32| {
                    let at = self.base.at(FORCE, node);
                    io.reduce(slot, AmoKind::Add, 4, at, u64::from(value), Scope::Sys);
                };
                add(5, t.id, push);
                (0..4).for_each(|c| add(6 + c, t.index(1 + c), (push >> SHARE).wrapping_neg()));
                return Flow::End;
            }
        }
        Flow::Next
    }

    fn advance(&self, t: &Thread, io: &mut Round) -> Flow {
        if t.round == 0 {
            io.load(0, self.node(2, t.id));
            io.load(1, self.base.at(FORCE, t.id));
            return Flow::Next;
        }
        io.alu(2);
        io.store(0, self.node(2, t.id), u64::from(moved(t.int(0), t.int(1)) as u32));
        io.store(1, self.base.at(FORCE, t.id), 0);
        io.store(2, self.base.at(DEEPEST, t.id), 0);
        Flow::End
    }
}

/// Least and greatest x, least and greatest y, mean z of four nodes.
fn box_of(coordinate: impl Fn(u64, u64) -> i32) -> [i32; 5] {
    let of = |axis| (0..4).map(|c| coordinate(axis, c)).collect::<Vec<i32>>();
    let least = |v: &[i32]| v.iter().copied().fold(i32::MAX, i32::min);
    let greatest = |v: &[i32]| v.iter().copied().fold(i32::MIN, i32::max);
    let (x, y) = (of(0), of(1));
    [least(&x), greatest(&x), least(&y), greatest(&y), of(2).iter().sum::<i32>() >> 2]
}

/// How far a node is below a box's plane, if it is and stands above the box.
fn depth(bounds: impl Fn(u64) -> i32, node: impl Fn(u64) -> i32) -> Option<u32> {
    let inside = |axis| (bounds(2 * axis)..=bounds(2 * axis + 1)).contains(&node(axis));
    (inside(0) && inside(1) && node(2) < bounds(4)).then(|| (bounds(4) - node(2)) as u32)
}

fn contact(depth: u32, element: u64) -> u32 {
    depth.min(0xffff) << 16 | (element as u32 + 1)
}

fn moved(z: i32, force: i32) -> i32 {
    z + (force >> 1)
}

impl Kernels for MiniContact {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let phase = index as u32 % 4;
        let (name, threads) = match phase {
            P_BOX => ("contact_boxes", self.elements),
            P_SEARCH => ("contact_search", self.elements),
            P_FORCE => ("contact_force", self.nodes),
            _ => ("contact_move", self.nodes),
        };
        ((index as u64) < 4 * self.steps).then(|| Launch::new(name, phase, threads, self.group).registers(3))
    }

    fn round(&self, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        match t.phase {
            P_BOX => self.bounds(t, io),
            P_SEARCH => self.search(t, registers, io),
            P_FORCE => self.force(t, io),
            _ => self.advance(t, io),
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let corners = self.base.first::<u32>(CORNERS);
        let [first, candidate] = [FIRST, CANDIDATE].map(|a| self.base.first::<u32>(a));
        let mut node = self.base.first::<i32>(NODE);
        let (nodes, elements) = (self.nodes as usize, self.elements as usize);
        let mut boxes = vec![0; 5 * elements];
        for _ in 0..self.steps {
            let mut deepest = vec![0u32; nodes];
            for e in 0..elements {
                let all =
                    box_of(|axis, c| node[axis as usize * nodes + corners[4 * e + c as usize] as usize]);
                (0..5).for_each(|i| boxes[i * elements + e] = all[i]);
                for &n in &candidate[first[e] as usize..first[e + 1] as usize] {
                    let n = n as usize;
                    if let Some(depth) = depth(|i| all[i as usize], |axis| node[axis as usize * nodes + n]) {
                        deepest[n] = deepest[n].max(contact(depth, e as u64));
                    }
                }
            }
            let mut force = vec![0i32; nodes];
            for n in (0..nodes).filter(|&n| deepest[n] != 0) {
                let (push, e) = ((deepest[n] >> 16) as i32, (deepest[n] & 0xffff) as usize - 1);
                force[n] += push;
                corners[4 * e..4 * e + 4].iter().for_each(|&c| force[c as usize] -= push >> SHARE);
            }
            node[2 * nodes..].iter_mut().zip(force).for_each(|(z, force)| *z = moved(*z, force));
        }
        self.base.check(NODE, &node, memory)?;
        self.base.check(BOX, &boxes, memory)
    }
}
