//! Expressions of netlists as bits.

use crate::graph::{Bit, Graph};
use rustc_hash::FxHashMap;
use weft_rtl::bv::Bv;
use weft_rtl::netlist::{NetId, NetLane, NetNode, NetOp, Netlist};

/// Nodes of the graph above which a comparison is given up.
const NODES: usize = 300_000;

/// Expressions of several netlists with the same inputs, registers and memories; equal ones are one.
#[derive(Default)]
pub struct Joined {
    nodes: Vec<NetNode>,
    memo: FxHashMap<NetNode, NetId>,
}

impl Joined {
    /// Adds a netlist; for each of its expressions the number here.
    pub fn add(&mut self, netlist: &Netlist) -> Vec<NetId> {
        let mut here: Vec<NetId> = Vec::with_capacity(netlist.nodes.len());
        for node in &netlist.nodes {
            let op = node.op.with_operands(&mut |id| here[id.index()]);
            let node = NetNode { op, width: node.width };
            let next = NetId(self.nodes.len() as u32);
            let id = *self.memo.entry(node.clone()).or_insert(next);
            if id == next {
                self.nodes.push(node);
            }
            here.push(id);
        }
        here
    }
}

/// Expressions that became bits.
pub struct Blaster<'a> {
    joined: &'a Joined,
    pub graph: Graph,
    done: FxHashMap<NetId, Vec<Bit>>,
    /// What a memory holds at an address of these bits, in this lane.
    reads: FxHashMap<(u32, Vec<Bit>, Option<Vec<Bit>>), Vec<Bit>>,
}

/// The graph would be too large.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

impl<'a> Blaster<'a> {
    pub fn new(joined: &'a Joined) -> Blaster<'a> {
        let (done, reads) = (FxHashMap::default(), FxHashMap::default());
        Blaster { joined, graph: Graph::default(), done, reads }
    }

    /// The bits of an expression, the lowest first.
    pub fn bits(&mut self, id: NetId) -> Result<Vec<Bit>, TooLarge> {
        let mut work = vec![id];
        while let Some(at) = work.last().copied() {
            if self.done.contains_key(&at) {
                work.pop();
                continue;
            }
            let node = &self.joined.nodes[at.index()];
            let before = work.len();
            node.op.operands(&mut |o| {
                if !self.done.contains_key(&o) {
                    work.push(o);
                }
            });
            if work.len() > before {
                continue;
            }
            let made = self.operation(&node.op, node.width as usize);
            if self.graph.nodes.len() > NODES {
                return Err(TooLarge);
            }
            self.done.insert(at, made);
            work.pop();
        }
        Ok(self.done[&id].clone())
    }

    fn get(&self, id: NetId) -> Vec<Bit> {
        self.done[&id].clone()
    }

    fn free(&mut self, width: usize) -> Vec<Bit> {
        (0..width).map(|_| self.graph.free()).collect()
    }

    fn operation(&mut self, op: &NetOp, width: usize) -> Vec<Bit> {
        match op {
            NetOp::Const(v) => constant(v),
            NetOp::Input(_) | NetOp::Reg(_) => self.free(width),
            NetOp::Not(a) => self.get(*a).into_iter().map(|bit| !bit).collect(),
            NetOp::And(a, b) => self.each(*a, *b, Graph::and),
            NetOp::Or(a, b) => self.each(*a, *b, Graph::or),
            NetOp::Xor(a, b) => self.each(*a, *b, Graph::xor),
            NetOp::Add(a, b) => self.graph.add(&self.done[a], &self.done[b], Bit::ZERO).0,
            NetOp::Sub(a, b) => self.difference(*a, *b).0,
            NetOp::Mul(a, b) => self.product(*a, *b, width),
            NetOp::Eq(a, b) => vec![self.graph.eq(&self.done[a], &self.done[b])],
            // A difference that borrows.
            NetOp::Lt(a, b) => vec![!self.difference(*a, *b).1],
            NetOp::Shl(a, b) => self.shift(*a, *b, width, true),
            NetOp::Shr(a, b) => self.shift(*a, *b, width, false),
            NetOp::Mux(c, a, b) => {
                let (c, a, b) = (self.get(*c)[0], self.get(*a), self.get(*b));
                self.choose(c, &a, &b)
            }
            NetOp::Case { sel, arms, default } => {
                let sel = self.get(*sel);
                let mut out = self.get(*default);
                for (codes, arm) in arms {
                    let hits: Vec<Bit> =
                        codes.iter().map(|code| self.graph.eq(&sel, &constant(code))).collect();
                    let hit = self.graph.any(&hits);
                    out = self.choose(hit, &self.get(*arm), &out);
                }
                out
            }
            NetOp::Concat(parts) => parts.iter().flat_map(|part| self.get(*part)).collect(),
            NetOp::Slice { a, lo } => self.done[a][*lo as usize..*lo as usize + width].to_vec(),
            NetOp::Index { a, idx } => self.element(*a, *idx, width),
            NetOp::AnyBit(a) => vec![self.graph.any(&self.done[a])],
            NetOp::AllBits(a) => vec![self.graph.all(&self.done[a])],
            NetOp::Parity(a) => {
                let bits = self.get(*a);
                vec![bits.into_iter().fold(Bit::ZERO, |sum, bit| self.graph.xor(sum, bit))]
            }
            NetOp::PopCount(a) => self.ones(*a, width),
            NetOp::LowestSet(a) => self.lowest(*a, width),
            NetOp::MemRead { mem, addr, lane } => self.read(*mem, *addr, *lane, width),
        }
    }

    fn each(&mut self, a: NetId, b: NetId, f: fn(&mut Graph, Bit, Bit) -> Bit) -> Vec<Bit> {
        let pairs = self.get(a).into_iter().zip(self.get(b));
        pairs.map(|(x, y)| f(&mut self.graph, x, y)).collect()
    }

    fn choose(&mut self, c: Bit, a: &[Bit], b: &[Bit]) -> Vec<Bit> {
        a.iter().zip(b).map(|(x, y)| self.graph.mux(c, *x, *y)).collect()
    }

    /// A difference; the carry is 1 unless it borrows.
    fn difference(&mut self, a: NetId, b: NetId) -> (Vec<Bit>, Bit) {
        let inverted: Vec<Bit> = self.get(b).into_iter().map(|bit| !bit).collect();
        self.graph.add(&self.done[&a], &inverted, Bit::ONE)
    }

    fn product(&mut self, a: NetId, b: NetId, width: usize) -> Vec<Bit> {
        let (a, b) = (self.get(a), self.get(b));
        let mut sum = vec![Bit::ZERO; width];
        for (at, bit) in b.iter().enumerate() {
            let row: Vec<Bit> = (0..width)
                .map(|i| if i < at { Bit::ZERO } else { self.graph.and(a[i - at], *bit) })
                .collect();
            sum = self.graph.add(&sum, &row, Bit::ZERO).0;
            if self.graph.nodes.len() > NODES {
                // What comes of it is not looked at.
                break;
            }
        }
        sum
    }

    fn shift(&mut self, a: NetId, by: NetId, width: usize, left: bool) -> Vec<Bit> {
        let (mut out, by) = (self.get(a), self.get(by));
        for (stage, bit) in by.iter().enumerate() {
            let far = 1usize.checked_shl(stage as u32).filter(|far| *far < width);
            let moved: Vec<Bit> = (0..width)
                .map(|i| {
                    let from = far.and_then(|far| if left { i.checked_sub(far) } else { Some(i + far) });
                    from.filter(|from| *from < width).map_or(Bit::ZERO, |from| out[from])
                })
                .collect();
            out = self.choose(*bit, &moved, &out);
        }
        out
    }

    fn element(&mut self, a: NetId, idx: NetId, width: usize) -> Vec<Bit> {
        let (a, idx) = (self.get(a), self.get(idx));
        let mut out = vec![Bit::ZERO; width];
        for (at, element) in a.chunks(width).enumerate() {
            let here = self.graph.is(&idx, at as u64);
            out = self.choose(here, element, &out);
        }
        out
    }

    fn ones(&mut self, a: NetId, width: usize) -> Vec<Bit> {
        let mut sum = vec![Bit::ZERO; width];
        for bit in self.get(a) {
            let zero = vec![Bit::ZERO; width];
            sum = self.graph.add(&sum, &zero, bit).0;
        }
        sum
    }

    fn lowest(&mut self, a: NetId, width: usize) -> Vec<Bit> {
        let mut out = vec![Bit::ZERO; width];
        for (at, bit) in self.get(a).into_iter().enumerate().rev() {
            let number: Vec<Bit> = constant(&Bv::from_u64(at as u64, width as u32));
            out = self.choose(bit, &number, &out);
        }
        out
    }

    /// What a memory holds can be anything, but the same at one address.
    fn read(&mut self, mem: u32, addr: NetId, lane: NetLane, width: usize) -> Vec<Bit> {
        let lane = match lane {
            NetLane::Row => None,
            NetLane::Const(lane) => Some(constant(&Bv::from_u64(u64::from(lane), 32))),
            NetLane::Dyn(lane) => Some(self.get(lane)),
        };
        let key = (mem, self.get(addr), lane);
        if let Some(same) = self.reads.get(&key) {
            return same.clone();
        }
        let value = self.free(width);
        self.reads.insert(key, value.clone());
        value
    }
}

fn constant(v: &Bv) -> Vec<Bit> {
    (0..v.width()).map(|at| if v.bit(at) { Bit::ONE } else { Bit::ZERO }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};
    use weft_engine::random::random_module;
    use weft_rtl::eval::pure;
    use weft_rtl::lower::flatten;

    /// Every expression of random circuits has the value that its bits have, whatever inputs, registers and memories hold.
    #[test]
    fn bits_are_worth_what_the_expression_is() {
        for seed in 0..12 {
            let netlist = flatten(&random_module(seed, 60).expect("elaborates")).expect("flat");
            let mut joined = Joined::default();
            joined.add(&netlist);
            let mut blaster = Blaster::new(&joined);
            let all: Vec<NetId> = (0..joined.nodes.len()).map(|at| NetId(at as u32)).collect();
            // Products of wide values are many nodes; those that fit are looked at.
            let made: Vec<NetId> = all.into_iter().filter(|id| blaster.bits(*id).is_ok()).collect();
            assert!(made.len() > 50, "{} of seed {seed}", made.len());
            let mut random = StdRng::seed_from_u64(seed);
            for round in 0..8 {
                let density = [0.5, 0.05, 0.95, 0.3][round % 4];
                let mut values: Vec<bool> = Vec::new();
                for node in &blaster.graph.nodes {
                    let of = |bit: Bit, values: &[bool]| values[bit.node()] ^ bit.inverted();
                    values.push(match node {
                        _ if values.is_empty() => false,
                        None => random.random_bool(density),
                        Some((a, b)) => of(*a, &values) && of(*b, &values),
                    });
                }
                let get = |id: NetId| {
                    let bits = &blaster.done[&id];
                    let mut out = Bv::zero(bits.len() as u32);
                    for (at, bit) in bits.iter().enumerate() {
                        out.set_bit(at as u32, values[bit.node()] ^ bit.inverted());
                    }
                    out
                };
                for id in &made {
                    let node = &joined.nodes[id.index()];
                    if !matches!(node.op, NetOp::Input(_) | NetOp::Reg(_) | NetOp::MemRead { .. }) {
                        assert_eq!(get(*id), pure(&node.op, node.width, &get), "seed {seed}: {:?}", node.op);
                    }
                }
            }
        }
    }
}
