//! Whether two netlists with the same state do the same in every state.

use crate::blast::{Blaster, Joined, TooLarge};
use crate::graph::{Bit, Graph};
use batsat::{Callbacks, Lit, Solver, SolverInterface, SolverOpts, lbool};
use std::cell::Cell;
use weft_rtl::netlist::{NetId, NetWriteMode, Netlist};

/// How often the solver may ask whether to stop: once in each step of its search.
const STEPS: u64 = 200_000;

/// What is known of two netlists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proof {
    /// In each state, whether it can be reached or not, and for each input, next states and outputs are the same.
    Equal,
    /// In some state they differ; whether it can be reached is not known.
    Differs,
    /// It would take too long to find out.
    TooLarge,
}

/// Compares two netlists, of which one was made of the other by changing expressions: inputs, outputs, registers and memories are the same, in the same order.
pub fn prove(a: &Netlist, b: &Netlist) -> Proof {
    let mut joined = Joined::default();
    let (in_a, in_b) = (joined.add(a), joined.add(b));
    let pairs = match pairs(a, &in_a, b, &in_b) {
        Some(pairs) if pairs.is_empty() => return Proof::Equal,
        Some(pairs) => pairs,
        None => return Proof::Differs,
    };
    match miter(&joined, &pairs) {
        Err(TooLarge) => Proof::TooLarge,
        Ok((_, Bit::ZERO)) => Proof::Equal,
        Ok((_, Bit::ONE)) => Proof::Differs,
        Ok((graph, differs)) => solve(&graph, differs),
    }
}

/// Two expressions that are to be the same where a condition holds.
struct Pair {
    a: NetId,
    b: NetId,
    /// Of both netlists, and the same in them.
    when: Option<NetId>,
}

/// What is to be the same and is not by its form; nothing if the netlists are not alike.
fn pairs(a: &Netlist, in_a: &[NetId], b: &Netlist, in_b: &[NetId]) -> Option<Vec<Pair>> {
    let mut out = Vec::new();
    let mut add = |x: NetId, y: NetId, when: Option<NetId>| {
        let (a, b) = (in_a[x.index()], in_b[y.index()]);
        if a != b {
            out.push(Pair { a, b, when: when.map(|when| in_a[when.index()]) });
        }
    };
    let alike =
        (a.regs.len(), a.mems.len(), a.outputs.len()) == (b.regs.len(), b.mems.len(), b.outputs.len());
    let resets = a.regs.iter().zip(&b.regs).all(|(x, y)| x.reset == y.reset);
    if !alike || !resets {
        return None;
    }
    a.regs.iter().zip(&b.regs).for_each(|(x, y)| add(x.next, y.next, None));
    a.outputs.iter().zip(&b.outputs).for_each(|(x, y)| add(x.node, y.node, None));
    for (x, y) in a.mems.iter().zip(&b.mems).flat_map(|(x, y)| x.writes.iter().zip(&y.writes)) {
        add(x.en, y.en, None);
        let when = Some(x.en);
        add(x.addr, y.addr, when);
        match (x.mode, y.mode) {
            (NetWriteMode::Row { mask, data }, NetWriteMode::Row { mask: mask_y, data: data_y }) => {
                add(mask, mask_y, when);
                add(data, data_y, when);
            }
            (NetWriteMode::Lane { lane, data }, NetWriteMode::Lane { lane: lane_y, data: data_y }) => {
                add(lane, lane_y, when);
                add(data, data_y, when);
            }
            _ => return None,
        }
    }
    Some(out)
}

/// A bit that is 1 where some pair differs.
fn miter(joined: &Joined, pairs: &[Pair]) -> Result<(Graph, Bit), TooLarge> {
    let mut blaster = Blaster::new(joined);
    let mut differs = Bit::ZERO;
    for pair in pairs {
        let (a, b) = (blaster.bits(pair.a)?, blaster.bits(pair.b)?);
        let when = pair.when.map(|when| blaster.bits(when)).transpose()?;
        let graph = &mut blaster.graph;
        let mut here = !graph.eq(&a, &b);
        if let Some(when) = when {
            here = graph.and(when[0], here);
        }
        differs = graph.or(differs, here);
    }
    Ok((blaster.graph, differs))
}

/// Ends the search after so many steps: the same on every machine.
struct Patience(Cell<u64>);

impl Callbacks for Patience {
    fn stop(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left == 0
    }
}

fn solve(graph: &Graph, goal: Bit) -> Proof {
    let mut solver = Solver::new(SolverOpts::default(), Patience(Cell::new(STEPS)));
    let mut lits: Vec<Option<Lit>> = vec![None; graph.nodes.len()];
    let mut work = vec![goal.node()];
    while let Some(at) = work.pop() {
        if lits[at].is_none() {
            lits[at] = Some(Lit::new(solver.new_var_default(), true));
            work.extend(graph.nodes[at].into_iter().flat_map(|(a, b)| [a.node(), b.node()]));
        }
    }
    let lit = |bit: Bit| lits[bit.node()].expect("in the goal's cone").apply_sign(!bit.inverted());
    for (at, node) in graph.nodes.iter().enumerate() {
        if let (Some(out), Some((a, b))) = (lits[at], node) {
            let (a, b) = (lit(*a), lit(*b));
            for mut clause in [vec![!out, a], vec![!out, b], vec![out, !a, !b]] {
                solver.add_clause_reuse(&mut clause);
            }
        }
    }
    solver.add_clause_reuse(&mut vec![lit(goal)]);
    match solver.solve_limited(&[]) {
        answer if answer == lbool::FALSE => Proof::Equal,
        answer if answer == lbool::TRUE => Proof::Differs,
        _ => Proof::TooLarge,
    }
}
