//! Which hoisted expressions are computed together: those that are needed under the same conditions and
//! change for the same reasons.
//!
//! A group is computed as a whole when anything that it reads has changed. Many small groups mean many tests,
//! few large ones much work for nothing. What a group costs is estimated from the number of things that may
//! change: registers that are stored under one condition and inputs of one channel count as one.

use super::super::cost::{Cause, channels, expected};
use super::{Conjunction, Group};
use std::collections::{BTreeSet, HashMap};
use weft_rtl::netlist::*;

/// A group in the making.
struct Open {
    group: Group,
    causes: BTreeSet<Cause>,
    work: u32,
}

/// Brings expressions together, operands before their users; without `work` all that are needed under the same
/// conditions.
pub fn groups(
    netlist: &Netlist,
    open: Vec<(NetId, Vec<Conjunction>)>,
    slots: &HashMap<NetId, usize>,
    work: Option<&Vec<u32>>,
) -> Vec<Group> {
    let (needs, causes) = (needs(netlist, slots), causes(netlist, slots));
    let mut groups: Vec<Open> = Vec::new();
    let mut place: HashMap<NetId, usize> = HashMap::new();
    for (node, when) in open {
        let (own, cost) = (&causes[&node], work.map_or(0, |work| work[node.index()]));
        let first = needs[&node].iter().map(|n| place[n]).max().unwrap_or(0);
        let gain = |open: &Open| {
            let both = open.causes.union(own).count();
            let apart = expected(open.work, open.causes.len()) + expected(cost, own.len());
            apart - expected(open.work + cost, both)
        };
        let fits = groups.iter().enumerate().skip(first).filter(|(_, open)| open.group.when == when);
        let mut fits = fits.map(|(at, open)| (at, gain(open)));
        let best = match work {
            Some(_) => fits.filter(|(_, gain)| *gain >= 0.0).max_by(|a, b| a.1.total_cmp(&b.1)),
            None => fits.next(),
        };
        let at = best.map_or(groups.len(), |(at, _)| at);
        if at == groups.len() {
            let group = Group { when, nodes: Vec::new() };
            groups.push(Open { group, causes: BTreeSet::new(), work: 0 });
        }
        groups[at].group.nodes.push(node);
        groups[at].causes.extend(own);
        groups[at].work += cost;
        place.insert(node, at);
    }
    groups.into_iter().map(|open| open.group).collect()
}

/// What makes each hoisted expression change.
fn causes(netlist: &Netlist, slots: &HashMap<NetId, usize>) -> HashMap<NetId, BTreeSet<Cause>> {
    let channels = channels(netlist);
    let mut below: Vec<BTreeSet<Cause>> = Vec::with_capacity(netlist.nodes.len());
    let mut out = HashMap::new();
    for (number, node) in netlist.nodes.iter().enumerate() {
        let mut set = BTreeSet::new();
        node.op.operands(&mut |o| set.extend(&below[o.index()]));
        set.extend(match &node.op {
            NetOp::Reg(reg) => Some(Cause::of_reg(netlist, *reg)),
            NetOp::Input(input) => Some(Cause::Input(channels[*input as usize])),
            NetOp::MemRead { mem, .. } => Some(Cause::Mem(*mem)),
            _ => None,
        });
        let id = NetId(number as u32);
        if slots.contains_key(&id) {
            out.insert(id, std::mem::replace(&mut set, BTreeSet::from([Cause::Hoisted(id.0)])));
        }
        below.push(set);
    }
    out
}

/// The hoisted expressions that each hoisted one reads.
fn needs(netlist: &Netlist, slots: &HashMap<NetId, usize>) -> HashMap<NetId, BTreeSet<NetId>> {
    let mut below: Vec<BTreeSet<NetId>> = Vec::with_capacity(netlist.nodes.len());
    let mut out = HashMap::new();
    for (n, node) in netlist.nodes.iter().enumerate() {
        let mut set = BTreeSet::new();
        node.op.operands(&mut |o| {
            if slots.contains_key(&o) {
                set.insert(o);
            } else {
                set.extend(&below[o.index()]);
            }
        });
        let id = NetId(n as u32);
        if slots.contains_key(&id) {
            out.insert(id, set.clone());
        }
        below.push(set);
    }
    out
}
