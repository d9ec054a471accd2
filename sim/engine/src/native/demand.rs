//! Dear expressions and when they are needed: a comparison with 64 entries is made only in cycles in which something depends on it.
//!
//! What an expression feeds may be switched off by a cheap one: the other side of an AND, the selector of a choice, the enable of a memory port.
//! Where every path is switched off, any value will do, so the work is left out.

use std::collections::BTreeSet;
use weft_rtl::bv::limbs_for;
use weft_rtl::netlist::*;

/// Work from which on an expression is dear, in limb operations.
const DEAR: u32 = 80;
/// Most work of a guard.
const CHEAP: u32 = 24;
/// Most guards of one expression; with more it is always made.
const GUARDS: usize = 8;

/// A cheap one-bit expression and the value at which it lets through.
pub type Guard = (NetId, bool);

/// A dear expression and its guards: it is needed only while one of them lets through.
pub struct Dear {
    /// The expression.
    pub node: NetId,
    /// Its guards.
    pub guards: Vec<Guard>,
}

/// When an expression is needed; `None` = always.
type Demand = Option<BTreeSet<Guard>>;

/// All dear expressions that have guards, operands first.
pub fn dear(netlist: &Netlist) -> Vec<Dear> {
    let (work, is_dear) = work(netlist);
    let exact = exact(netlist, &is_dear);
    let mut demands: Vec<Demand> = vec![Some(BTreeSet::new()); netlist.nodes.len()];
    for (node, demand) in roots(netlist, &exact, &work) {
        join(&mut demands[node.index()], demand);
    }
    for number in (0..netlist.nodes.len()).rev() {
        let own = demands[number].clone();
        if own.as_ref().is_some_and(BTreeSet::is_empty) {
            continue;
        }
        let mut pass = |to: NetId, guard: Option<Guard>| {
            let demand =
                guard.filter(|(g, _)| work[g.index()] <= CHEAP).map_or(own.clone(), |g| Some([g].into()));
            join(&mut demands[to.index()], demand);
        };
        match &netlist.nodes[number].op {
            NetOp::And(a, b) if netlist.nodes[number].width == 1 => {
                pass(*a, Some((*b, true)));
                pass(*b, Some((*a, true)));
            }
            NetOp::Or(a, b) if netlist.nodes[number].width == 1 => {
                pass(*a, Some((*b, false)));
                pass(*b, Some((*a, false)));
            }
            NetOp::Mux(c, a, b) => {
                pass(*c, None);
                pass(*a, Some((*c, true)));
                pass(*b, Some((*c, false)));
            }
            op => op.operands(&mut |o| pass(o, None)),
        }
    }
    let guarded = (0..netlist.nodes.len()).filter(|n| is_dear[*n]).filter_map(|n| {
        let guards: Vec<Guard> = demands[n].iter().flatten().copied().collect();
        (!guards.is_empty()).then_some(Dear { node: NetId(n as u32), guards })
    });
    guarded.collect()
}

/// Work of every expression, dear ones below it counted as nothing; and which are dear.
fn work(netlist: &Netlist) -> (Vec<u32>, Vec<bool>) {
    let mut work: Vec<u32> = Vec::with_capacity(netlist.nodes.len());
    let mut is_dear = Vec::with_capacity(netlist.nodes.len());
    for node in &netlist.nodes {
        let limbs = limbs_for(node.width) as u32;
        let mut sum = if matches!(node.op, NetOp::Const(_)) { 0 } else { limbs };
        node.op.operands(&mut |o| {
            sum = sum.saturating_add(if is_dear[o.index()] { 1 } else { work[o.index()] })
        });
        let dear = sum >= DEAR && limbs <= 2;
        work.push(sum);
        is_dear.push(dear);
    }
    (work, is_dear)
}

/// Which expressions contain no dear one. Only they may be guards: what is left out where it is not needed must not decide about anything else.
fn exact(netlist: &Netlist, is_dear: &[bool]) -> Vec<bool> {
    let mut exact: Vec<bool> = Vec::with_capacity(netlist.nodes.len());
    for (number, node) in netlist.nodes.iter().enumerate() {
        let mut all = !is_dear[number];
        node.op.operands(&mut |o| all &= exact[o.index()]);
        exact.push(all);
    }
    exact
}

/// What registers, memory ports, observers and outputs need, and when.
fn roots(netlist: &Netlist, exact: &[bool], work: &[u32]) -> Vec<(NetId, Demand)> {
    let only = |guard: NetId| {
        (exact[guard.index()] && work[guard.index()] <= CHEAP).then(|| BTreeSet::from([(guard, true)]))
    };
    let mut out: Vec<(NetId, Demand)> = Vec::new();
    out.extend(netlist.regs.iter().map(|r| (r.next, None)));
    out.extend(netlist.outputs.iter().map(|p| (p.node, None)));
    for port in netlist.mems.iter().flat_map(|m| &m.writes) {
        let (NetWriteMode::Row { mask: first, data } | NetWriteMode::Lane { lane: first, data }) = port.mode;
        out.push((port.en, None));
        out.extend([port.addr, first, data].map(|n| (n, only(port.en))));
    }
    for probe in &netlist.probes {
        out.push((probe.cond, None));
        out.extend(probe.amount.map(|n| (n, only(probe.cond))));
    }
    out
}

fn join(to: &mut Demand, more: Demand) {
    let joined = match (to.take(), more) {
        (Some(mut a), Some(b)) => {
            a.extend(b);
            Some(a)
        }
        _ => None,
    };
    // A guard and its opposite, or too many: always.
    *to = joined.filter(|g| g.len() <= GUARDS && !g.iter().any(|(n, v)| *v && g.contains(&(*n, false))));
}
