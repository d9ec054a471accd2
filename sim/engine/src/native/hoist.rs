//! Shared and dear expressions, computed once at the start of a cycle and only while something depends on
//! them.
//!
//! What an expression feeds may be switched off by a cheap one: the other side of an AND, the selector of a
//! choice, the enable of a memory port. From these follows under which conditions an expression matters at
//! all; in other cycles any value will do, so the work is left out. Expressions under the same conditions are
//! computed together behind one branch ([`group`]); their values wait in the unit's state until they are
//! used.

mod group;

use std::collections::{BTreeSet, HashMap, HashSet};
use weft_rtl::bv::{Bv, limbs_for};
use weft_rtl::netlist::*;

/// Work saved from which on an expression used in several places is computed once, in limb operations; and
/// its least own work.
const SAVED: u32 = 16;
const SHARED: u32 = 4;
/// Work from which on an expression is left out where nothing depends on it.
const DEAR: u32 = 80;
/// Most limbs of a hoisted expression.
const LIMBS: usize = 2;
/// Most work of a test.
const CHEAP: u32 = 24;
/// Most tests that must hold together, and most such conjunctions; beyond them a condition is weakened.
const TESTS: usize = 3;
const CONJUNCTIONS: usize = 6;

/// A cheap test of an expression that is itself always computed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Test {
    /// A one-bit expression has this value.
    Bit(NetId, bool),
    /// An expression has one of these values.
    Is(NetId, Vec<Bv>),
}

/// Tests that must all hold.
pub type Conjunction = BTreeSet<Test>;

/// Expressions computed together when one of the conjunctions holds.
pub struct Group {
    /// When they are needed; without any: always.
    pub when: Vec<Conjunction>,
    /// What is computed, operands first.
    pub nodes: Vec<NetId>,
}

/// What is computed at the start of a cycle.
pub struct Hoisted {
    /// In order.
    pub groups: Vec<Group>,
    /// Where the value of an expression waits: limb in the scratch area.
    pub slots: HashMap<NetId, usize>,
    /// Its number among them.
    pub numbers: HashMap<NetId, usize>,
    /// Limbs of the scratch area.
    pub limbs: usize,
    /// Work of every expression, hoisted ones below it counted as a read.
    pub work: Vec<u32>,
}

/// When an expression is needed: a sum of conjunctions. `None` = always; empty = never.
type Demand = Option<BTreeSet<Conjunction>>;

/// Chooses what to hoist, and when it is needed; `early` expressions are hoisted in any case.
/// If groups are not `gated`, those with the same conditions are one where they can be.
pub fn hoist(netlist: &Netlist, early: &HashSet<NetId>, gated: bool) -> Hoisted {
    let (work, chosen) = choose(netlist, early);
    let view = View { netlist, exact: exact(netlist, &chosen), chosen, work };
    let demands = view.demands();
    let (mut slots, mut numbers) = (HashMap::new(), HashMap::new());
    let mut limbs = 0;
    let mut open = Vec::new();
    for (n, demand) in demands.into_iter().enumerate().filter(|(n, _)| view.chosen[*n]) {
        let when: Vec<Conjunction> = match demand {
            Some(sum) if sum.is_empty() => continue,
            Some(sum) => sum.into_iter().collect(),
            None => Vec::new(),
        };
        let node = NetId(n as u32);
        numbers.insert(node, slots.len());
        slots.insert(node, limbs);
        limbs += limbs_for(netlist.node(node).width);
        open.push((node, when));
    }
    let groups = group::groups(netlist, open, &slots, gated.then_some(&view.work));
    Hoisted { groups, slots, numbers, limbs, work: view.work }
}

/// Work of every expression, hoisted ones below it counted as a read; and which are hoisted.
fn choose(netlist: &Netlist, early: &HashSet<NetId>) -> (Vec<u32>, Vec<bool>) {
    let mut uses = vec![0u32; netlist.nodes.len()];
    for node in &netlist.nodes {
        node.op.operands(&mut |o| uses[o.index()] += 1);
    }
    roots(netlist).into_iter().for_each(|(n, _)| uses[n.index()] += 1);
    let mut work: Vec<u32> = Vec::with_capacity(netlist.nodes.len());
    let mut chosen: Vec<bool> = Vec::with_capacity(netlist.nodes.len());
    for (n, node) in netlist.nodes.iter().enumerate() {
        let limbs = limbs_for(node.width) as u32;
        let mut sum = if matches!(node.op, NetOp::Const(_)) { 0 } else { limbs };
        let below = |o: NetId| {
            if chosen[o.index()] { limbs_for(netlist.node(o).width) as u32 } else { work[o.index()] }
        };
        node.op.operands(&mut |o| sum = sum.saturating_add(below(o)));
        sum = sum.saturating_add(spread(netlist, &node.op));
        let worth = sum >= DEAR || (sum >= SHARED && sum * (uses[n].max(1) - 1) >= SAVED);
        work.push(sum);
        chosen.push(early.contains(&NetId(n as u32)) || (worth && limbs as usize <= LIMBS));
    }
    (work, chosen)
}

/// Work of an operation that goes through all of an operand to find a part of it.
fn spread(netlist: &Netlist, op: &NetOp) -> u32 {
    match op {
        NetOp::Index { a, .. } if netlist.node(*a).width > 64 => limbs_for(netlist.node(*a).width) as u32,
        _ => 0,
    }
}

/// Which expressions contain no hoisted one. Only they may be tested: what is left out where it is not needed
/// must not decide about anything else.
fn exact(netlist: &Netlist, chosen: &[bool]) -> Vec<bool> {
    let mut exact: Vec<bool> = Vec::with_capacity(netlist.nodes.len());
    for (number, node) in netlist.nodes.iter().enumerate() {
        let mut all = !chosen[number];
        node.op.operands(&mut |o| all &= exact[o.index()]);
        exact.push(all);
    }
    exact
}

/// What registers, memory ports, observers and outputs need, and the bit that must be set for it to matter.
fn roots(netlist: &Netlist) -> Vec<(NetId, Option<NetId>)> {
    let mut out: Vec<(NetId, Option<NetId>)> = Vec::new();
    out.extend(netlist.regs.iter().map(|r| (r.next, None)));
    out.extend(netlist.outputs.iter().map(|p| (p.node, None)));
    for port in netlist.mems.iter().flat_map(|m| &m.writes) {
        let (NetWriteMode::Row { mask: first, data } | NetWriteMode::Lane { lane: first, data }) = port.mode;
        out.push((port.en, None));
        out.extend([port.addr, first, data].map(|n| (n, Some(port.en))));
    }
    for probe in &netlist.probes {
        out.push((probe.cond, None));
        out.extend(probe.amount.map(|n| (n, Some(probe.cond))));
    }
    out
}

/// How far the tests of an expression are looked for.
///
/// Of two operands that can each switch the other off, at least one must be right when both are left out.
/// What is computed in place holds its tests itself, and is switched off by them whatever the rest of it
/// says; a hoisted value that was left out says nothing. So only one of the two may rely on tests behind the
/// other's hoisted parts.
#[derive(Clone, Copy, PartialEq)]
enum Depth {
    /// Behind hoisted expressions too: they are computed whenever this is needed.
    Through,
    /// Only in what is computed where it is used.
    InPlace,
}

struct View<'n> {
    netlist: &'n Netlist,
    exact: Vec<bool>,
    chosen: Vec<bool>,
    work: Vec<u32>,
}

impl View<'_> {
    /// When each expression is needed.
    fn demands(&self) -> Vec<Demand> {
        let nodes = &self.netlist.nodes;
        let mut demands: Vec<Demand> = vec![Some(BTreeSet::new()); nodes.len()];
        for (node, bit) in roots(self.netlist) {
            let tests = bit.map_or(Conjunction::new(), |b| self.implied(b, true, Depth::Through));
            join(&mut demands[node.index()], narrowed(&None, tests));
        }
        for number in (0..nodes.len()).rev() {
            let own = demands[number].clone();
            if own.as_ref().is_some_and(BTreeSet::is_empty) {
                continue;
            }
            let mut pass = |to: NetId, tests: Conjunction| {
                join(&mut demands[to.index()], narrowed(&own, tests));
            };
            match &nodes[number].op {
                NetOp::And(a, b) | NetOp::Or(a, b) if nodes[number].width == 1 => {
                    let open = matches!(nodes[number].op, NetOp::And(..));
                    let (dear, other) =
                        if self.work[a.index()] > self.work[b.index()] { (*a, *b) } else { (*b, *a) };
                    pass(dear, self.implied(other, open, Depth::Through));
                    pass(other, self.implied(dear, open, Depth::InPlace));
                }
                NetOp::Mux(c, a, b) => {
                    pass(*c, Conjunction::new());
                    pass(*a, self.implied(*c, true, Depth::Through));
                    pass(*b, self.implied(*c, false, Depth::Through));
                }
                NetOp::Case { sel, arms, default } => {
                    pass(*sel, Conjunction::new());
                    let testable = self.testable(*sel);
                    for (codes, arm) in arms {
                        pass(*arm, testable.then(|| Test::Is(*sel, codes.clone())).into_iter().collect());
                    }
                    pass(*default, Conjunction::new());
                }
                op => op.operands(&mut |o| pass(o, Conjunction::new())),
            }
        }
        demands
    }

    fn testable(&self, node: NetId) -> bool {
        self.exact[node.index()]
            && self.work[node.index()] <= CHEAP
            && self.netlist.node(node).width <= 64
            && !matches!(self.netlist.node(node).op, NetOp::Const(_))
    }

    /// Cheap tests that hold whenever a one-bit expression has a value.
    fn implied(&self, node: NetId, value: bool, depth: Depth) -> Conjunction {
        let mut out = Conjunction::new();
        self.collect(node, value, depth, &mut out);
        out
    }

    fn collect(&self, node: NetId, value: bool, depth: Depth, out: &mut Conjunction) {
        if out.len() >= TESTS || (depth == Depth::InPlace && self.chosen[node.index()]) {
            return;
        }
        match &self.netlist.node(node).op {
            NetOp::Not(a) => self.collect(*a, !value, depth, out),
            NetOp::And(a, b) if value => {
                self.collect(*a, value, depth, out);
                self.collect(*b, value, depth, out);
            }
            NetOp::Or(a, b) if !value => {
                self.collect(*a, value, depth, out);
                self.collect(*b, value, depth, out);
            }
            _ if self.testable(node) => drop(out.insert(Test::Bit(node, value))),
            _ => {}
        }
    }
}

/// A demand under further tests.
fn narrowed(demand: &Demand, tests: Conjunction) -> Demand {
    let Some(sum) = demand else {
        return (!tests.is_empty()).then(|| BTreeSet::from([tests]));
    };
    let mut out = Some(BTreeSet::new());
    for conjunction in sum {
        let mut both = conjunction.clone();
        // The tests nearest to the roots count most: they are shared with the neighbours.
        let room = TESTS.saturating_sub(both.len());
        both.extend(tests.iter().filter(|t| !conjunction.contains(t)).take(room).cloned());
        join(&mut out, Some([both].into()));
    }
    out
}

/// The sum of two demands, in which no conjunction implies another.
fn join(to: &mut Demand, more: Demand) {
    let (Some(mut sum), Some(more)) = (to.take(), more) else { return };
    for new in more {
        if sum.iter().any(|old| old.is_subset(&new)) {
            continue;
        }
        sum.retain(|old| !new.is_subset(old));
        sum.insert(new);
    }
    if sum.len() > CONJUNCTIONS {
        let mut common = sum.iter().next().cloned().unwrap_or_default();
        sum.iter().for_each(|c| common.retain(|t| c.contains(t)));
        if common.is_empty() {
            return;
        }
        sum = [common].into();
    }
    // A test and its opposite, each alone: always.
    let alone = |t: &Test| sum.contains(&Conjunction::from([t.clone()]));
    let both = sum.iter().flatten().any(|t| match t {
        Test::Bit(n, v) => alone(t) && alone(&Test::Bit(*n, !v)),
        Test::Is(..) => false,
    });
    *to = (!both).then_some(sum);
}
