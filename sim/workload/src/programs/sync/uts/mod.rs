//! UTS: an unbalanced tree is searched by all work-groups, whose fronts come from stacks of the CUs and one of all.
//!
//! ```text
//! until processed == nodes:
//!     take up to 32 nodes from a stack; for each, a thread:
//!         value += to_add
//!         leaf:   ADD.C leaf_sum, value;  ADD.C leaves, 1
//!         else:   depth of each child = own depth + 1
//!         ADD.U processed, 1
//!     the leader gives the children to the stack of its CU
//! ```
//! The tree is binary: a node is fertile with some probability and then has two children. So that it has as many nodes as
//! it is to have, the last node that could be is always fertile, and none is when they are all there.

mod stack;

use super::super::params::{Legal, ParamSpec, Params, size};
use super::super::round::{Order, Round};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::backoff;
use super::setting::{Setting, with_common};
use crate::data;
use crate::op::{AmoKind, Class};
use crate::program::VerifyError;
use stack::{Got, REGISTERS as STACK, S_FREE, Stacks};

const FERTILE: ParamSpec = ParamSpec {
    name: "fertile",
    default: "0.6",
    legal: Legal::Real { min: 0.0, max: 1.0 },
    unit: "",
    about: "Probability that a node has children.",
};

const CAPACITY: ParamSpec = ParamSpec {
    name: "stack",
    default: "128",
    legal: Legal::Integer { min: 2, max: 1 << 16 },
    unit: "nodes",
    about: "Nodes that the stack of a CU holds.",
};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "uts",
    about: "Unbalanced tree search with a stack for each CU under a lock of its scope, and one for all (HeteroSync UTS; its occupancy and count are unpaired, its sums commutative).",
    params: &with_common::<14>(&[
        size("nodes", "1024", 1 << 24, "nodes", "Nodes of the tree."),
        FERTILE,
        CAPACITY,
        backoff::BACKOFF,
        backoff::STEP,
        backoff::failures("25"),
    ]),
    published: &[("nodes", "16384"), ("seed", "200"), ("cus", "15")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Uts::new, params),
};

/// Bytes of the scratchpad: first item and number of items of a front, number of its children, and these.
const LDS_FIRST: u64 = 0;
const LDS_COUNT: u64 = 4;
const LDS_KIDS: u64 = 8;
const LDS_LIST: u64 = 12;
const NO_FRONT: u64 = u32::MAX as u64;

const S_FIRST: u64 = S_FREE;
const S_COUNT: u64 = S_FREE + 1;
const S_KIDS: u64 = S_FREE + 2;
const S_NODE: u64 = S_FREE + 3;
const S_CHILD: u64 = S_FREE + 4;
const S_NUMBER: u64 = S_FREE + 5;
const S_ADD: u64 = S_FREE + 6;
const S_DEPTH: u64 = S_FREE + 7;
const S_VALUE: u64 = S_FREE + 8;
const S_PUT: u64 = S_FREE + 9;
const S_LEAVES: u64 = S_FREE + 10;
const S_SUM: u64 = S_FREE + 11;
const S_PROCESSED: u64 = S_FREE + 12;
/// And the one after it.
const S_KID: u64 = S_FREE + 13;

/// Registers of a thread: those of the stacks, where it is, its node's first child and their number, items that the leader has given.
const R_STATE: usize = STACK;
const R_CHILD: usize = STACK + 1;
const R_NUMBER: usize = STACK + 2;
const R_GIVEN: usize = STACK + 3;
const REGISTERS: usize = STACK + 4;

const TAKE: u64 = 0;
const READ: u64 = 1;
const FRONT: u64 = 2;
const LOAD: u64 = 3;
const VISIT: u64 = 4;
const KIDS: u64 = 5;
const LIST: u64 = 6;
const COUNT: u64 = 7;
const GIVE: u64 = 8;

/// First child of each node, and how many it has.
#[derive(Clone, Debug)]
struct Tree {
    child: Vec<u32>,
    number: Vec<u32>,
}

impl Tree {
    fn new(nodes: u64, fertile: f64, seed: u64) -> Self {
        let (mut child, mut number, mut there) = (vec![], vec![], 1);
        for node in 0..nodes {
            let lucky = (data::mix(seed, 0, node) >> 11) as f64 / (1u64 << 53) as f64;
            let kids = if lucky < fertile || node + 1 == there { 2.min(nodes - there) } else { 0 };
            child.push(there as u32);
            number.push(kids as u32);
            there += kids;
        }
        Self { child, number }
    }

    fn nodes(&self) -> usize {
        self.child.len()
    }

    fn kids(&self, node: usize) -> impl Iterator<Item = usize> + use<> {
        let first = self.child[node] as usize;
        first..first + self.number[node] as usize
    }
}

/// A search.
#[derive(Clone, Debug)]
pub struct Uts {
    setting: Setting,
    tree: Tree,
    stacks: Stacks,
    child: usize,
    number: usize,
    add: usize,
    depth: usize,
    value: usize,
    /// Sum over the leaves, and how many they are.
    sums: usize,
}

impl Uts {
    /// Builds the program.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let mut setting = Setting::new(params)?;
        let [nodes, seed] = ["nodes", "seed"].map(|key| params.integer(key));
        let tree = Tree::new(nodes, params.real("fertile"), seed);
        let stacks = Stacks::new(&mut setting, params, nodes);
        let random = |stream| -> Vec<u8> {
            let words: Vec<u32> = (0..nodes).map(|i| data::mix(seed, stream, i) as u32).collect();
            data::u32_bytes(&words)
        };
        let base = &mut setting.base;
        let child = base.input("child", data::u32_bytes(&tree.child));
        let number = base.input("children", data::u32_bytes(&tree.number));
        let add = base.input("to_add", random(1));
        let depth = base.zeros("depth", nodes);
        let value = base.add("value", nodes, false, random(2));
        let sums = setting.apart("leaf_sums", 2);
        Ok(Self { setting, tree, stacks, child, number, add, depth, value, sums })
    }

    /// What a thread does with its node.
    fn visit(&self, t: &Thread, r: &mut [u64], io: &mut Round) {
        let (base, all) = (&self.setting.base, self.setting.grid.all);
        let (node, value) = (t.index(S_NODE), (t.index(S_VALUE) + t.index(S_ADD)) & 0xffff_ffff);
        (r[R_CHILD], r[R_NUMBER]) = (t.index(S_CHILD), t.index(S_NUMBER));
        io.alu(1);
        io.store(S_PUT, base.at(self.value, node), value);
        if r[R_NUMBER] == 0 {
            let order = Order::relaxed(Class::C, all);
            io.post(S_SUM, AmoKind::Add, order, self.setting.word(self.sums, 0), value);
            io.post(S_LEAVES, AmoKind::Add, order, self.setting.word(self.sums, 1), 1);
        } else {
            let depth = t.index(S_DEPTH) + 1;
            let child = |i| base.at(self.depth, r[R_CHILD] + i);
            (0..r[R_NUMBER]).for_each(|i| io.store(S_KID + i, child(i), depth));
            io.lds_amo(S_KIDS, AmoKind::Add, LDS_KIDS, r[R_NUMBER]);
        }
        self.stacks.processed(&self.setting, S_PROCESSED, io);
    }

    fn load(&self, t: &Thread, io: &mut Round) {
        let (base, node) = (&self.setting.base, t.index(S_NODE));
        io.read(S_CHILD, base.at(self.child, node));
        io.read(S_NUMBER, base.at(self.number, node));
        io.read(S_ADD, base.at(self.add, node));
        io.load(S_DEPTH, base.at(self.depth, node));
        io.load(S_VALUE, base.at(self.value, node));
    }

    /// A round of the leader that takes a front; whether it has.
    fn take(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> bool {
        let got = self.stacks.take(&self.setting, t, self.setting.group, &mut r[..STACK], io);
        let (first, count) = match got {
            Got::Nothing => return false,
            Got::Items(first, count) => (first, count),
            Got::End => (NO_FRONT, 0),
        };
        io.lds_store(S_FIRST, LDS_FIRST, first);
        io.lds_store(S_COUNT, LDS_COUNT, count);
        io.lds_store(S_KIDS, LDS_KIDS, 0);
        true
    }
}

impl Kernels for Uts {
    fn base(&self) -> &Base {
        &self.setting.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let lds = LDS_LIST + 8 * self.setting.group;
        (index == 0).then(|| self.setting.launch(REGISTERS).lds(lds))
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let (setting, leader) = (&self.setting, t.local == 0);
        let mine = t.local < t.index(S_COUNT);
        let next = match r[R_STATE] {
            TAKE => {
                if leader && !self.take(t, r, io) {
                    return Flow::Next;
                }
                Flow::Barrier
            }
            READ => {
                io.lds_load(S_FIRST, LDS_FIRST);
                io.lds_load(S_COUNT, LDS_COUNT);
                Flow::Next
            }
            FRONT if t.index(S_FIRST) == NO_FRONT => return Flow::End,
            FRONT => {
                if mine {
                    let item = t.index(S_FIRST) + t.local;
                    io.load(S_NODE, self.stacks.item(setting, setting.spot(t), item));
                }
                Flow::Barrier
            }
            LOAD => {
                if leader {
                    self.stacks.unlock(setting, t, io);
                }
                if mine {
                    self.load(t, io);
                }
                Flow::Next
            }
            VISIT => {
                if mine {
                    self.visit(t, r, io);
                }
                Flow::Next
            }
            KIDS => {
                let kids = if mine { r[R_NUMBER] } else { 0 };
                for i in 0..kids {
                    io.lds_store(S_KID + i, LDS_LIST + 4 * (t.index(S_KIDS) + i), r[R_CHILD] + i);
                }
                Flow::Barrier
            }
            LIST => {
                if leader {
                    io.lds_load(S_KIDS, LDS_KIDS);
                }
                r[..STACK].fill(0);
                r[R_GIVEN] = 0;
                Flow::Next
            }
            COUNT if !leader || t.index(S_KIDS) == 0 => {
                r[R_STATE] = TAKE;
                return Flow::Next;
            }
            _ => {
                let (stack, rest) = r.split_at_mut(STACK);
                let items = (LDS_LIST, t.index(S_KIDS));
                let given = &mut rest[R_GIVEN - STACK];
                if self.stacks.give(setting, t, items, given, stack, io) {
                    r[..STACK].fill(0);
                    r[R_STATE] = TAKE;
                } else {
                    r[R_STATE] = GIVE;
                }
                return Flow::Next;
            }
        };
        r[R_STATE] += 1;
        next
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (base, nodes) = (&self.setting.base, self.tree.nodes());
        self.stacks.verify(&self.setting, memory)?;
        let first: Vec<u32> = base.first(self.value);
        let added = base.first::<u32>(self.add);
        let values: Vec<u32> = first.iter().zip(added).map(|(value, add)| value.wrapping_add(add)).collect();
        let mut depths = vec![0u32; nodes];
        for node in 0..nodes {
            self.tree.kids(node).for_each(|kid| depths[kid] = depths[node] + 1);
        }
        let leaves: Vec<u32> =
            (0..nodes).filter(|node| self.tree.number[*node] == 0).map(|node| values[node]).collect();
        let sum = leaves.iter().fold(0u32, |sum, value| sum.wrapping_add(*value));
        base.check(self.value, &values, memory)?;
        base.check(self.depth, &depths, memory)?;
        base.check(self.sums, &self.setting.spread(&[sum, leaves.len() as u32]), memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_but_the_root_has_one_parent() {
        for (nodes, fertile) in [(1, 0.6), (2, 0.0), (16_384, 0.6), (1000, 1.0), (999, 0.0)] {
            let tree = Tree::new(nodes, fertile, 200);
            let kids: Vec<usize> = (0..tree.nodes()).flat_map(|node| tree.kids(node)).collect();
            assert!(kids.into_iter().eq(1..nodes as usize), "{nodes} {fertile}");
        }
    }

    #[test]
    fn the_tree_is_as_fertile_as_it_is_to_be() {
        let tree = Tree::new(16_384, 0.6, 200);
        let before = tree.child.iter().take_while(|child| **child < 16_384).count();
        let fertile = tree.number[..before].iter().filter(|n| **n > 0).count();
        let share = fertile as f64 / before as f64;
        assert!((share - 0.6).abs() < 0.02, "{share}");
    }
}
