//! Axioms over whole executions: A3, A5, and sequential consistency.
//!
//! A3 is `acyclic(ord | dep | rmw | rf | com of atomics)`, as one graph. An operation of several events has two more nodes, before all and behind all of them, so that program order takes one
//! edge between operations. `co` and `fr` go to the next write only: the rest follows.
//!
//! Where coherence order leaves a choice, every order is tried, as long as they are few.

use crate::coherence::Order;
use crate::graph::Graph;
use crate::kernel::{INIT, Id, Kernel, Op, What};
use crate::report::{Axiom, Step, Violation};
use crate::source::Sources;
use std::collections::HashMap;
use weft_litmus::model::drf::{Effective, Level};

/// Most writes of a location whose orders are tried.
const WRITES: usize = 8;
/// Most combinations of orders that are tried.
const TRIES: usize = 20_000;
/// Most events of a kernel in which they are.
const EVENTS: usize = 4096;
/// Most steps from fence to events.
const REACH: usize = 50_000_000;

/// What was found, and pairs of writes whose order was left open.
#[derive(Default)]
pub struct Found {
    /// The first violation.
    pub violation: Option<Violation>,
    /// Locations whose order could not be decided, and not all be tried.
    pub undecided: u64,
    /// Kernels whose fences were too many.
    pub fences: u64,
}

/// Judges a kernel.
pub fn judge(k: &Kernel, sources: &Sources, orders: &HashMap<u32, Order>) -> Found {
    let sc = k.model.level == Level::Sc;
    let mut locs: Vec<u32> = orders.keys().copied().collect();
    locs.sort_unstable();
    locs.retain(|loc| sc || (k.locs[*loc as usize].atomic && !k.locs[*loc as usize].mixed));
    let open: Vec<u32> = locs.iter().copied().filter(|loc| !orders[loc].total).collect();
    let base = base(k, sources, sc);
    let mut found = Found::default();
    let all = |chosen: &HashMap<u32, Order>| {
        let mut graph = base.clone();
        for loc in &locs {
            communicate(k, sources, *loc, chosen.get(loc).unwrap_or(&orders[loc]), sc, &mut graph);
        }
        graph.cycle()
    };
    let axiom = if sc { Axiom::Sc } else { Axiom::Causality };
    let what =
        if sc { "the execution is not sequentially consistent" } else { "an effect precedes its cause" };
    if let Some(cycle) = all(&HashMap::new()) {
        found.violation = Some(Violation::new(k, axiom, what, steps(k, &cycle)));
        return found;
    }
    if !open.is_empty() {
        match choices(k, orders, &open) {
            None => found.undecided = open.len() as u64,
            Some(choices) => {
                found.violation = try_all(&choices, &|chosen| all(chosen)).map(|cycle| {
                    let what = format!(
                        "{what}, in whatever order {} were written; in one of them",
                        places(k, &open)
                    );
                    Violation::new(k, axiom, &what, steps(k, &cycle))
                })
            }
        }
    }
    if found.violation.is_none() && !sc {
        match fences(k, sources, orders) {
            Ok(violation) => found.violation = violation,
            Err(()) => found.fences = 1,
        }
    }
    found
}

fn places(k: &Kernel, locs: &[u32]) -> String {
    let names: Vec<String> = locs.iter().map(|loc| format!("{:#x}", k.locs[*loc as usize].addr)).collect();
    names.join(", ")
}

/// Nodes of an operation: before and behind its events.
fn sides(base: &HashMap<u32, (u32, u32)>, k: &Kernel, number: u32) -> (u32, u32) {
    let events = &k.ops[number as usize].events;
    base.get(&number).copied().unwrap_or((events.start, events.start))
}

/// The part of the graph that does not depend on coherence order.
fn base(k: &Kernel, sources: &Sources, sc: bool) -> Graph {
    let mut graph = Graph::new(k.events.len());
    let mut nodes = HashMap::new();
    for (number, op) in (0..).zip(&k.ops).filter(|(_, op)| op.events.len() != 1) {
        let both = (graph.node(), graph.node());
        if op.events.is_empty() {
            graph.edge(both.0, both.1, "");
        }
        for id in op.events.clone() {
            graph.edge(both.0, id, "");
            graph.edge(id, both.1, "");
        }
        nodes.insert(number, both);
    }
    for of in &k.threads {
        let numbers: Vec<u32> = of.ops.clone().collect();
        if sc {
            for pair in numbers.windows(2) {
                graph.edge(sides(&nodes, k, pair[0]).1, sides(&nodes, k, pair[1]).0, "po");
            }
        } else {
            kept(k, &numbers, &nodes, &mut graph);
            dependences(k, of, &nodes, &mut graph);
        }
    }
    for id in (0..k.events.len() as Id).filter(|id| k.event(*id).read.is_some()) {
        if let Some(source) = sources.known(id).filter(|source| *source != INIT) {
            graph.edge(source, id, "rf");
        }
    }
    graph
}

/// Program order that compute units keep (`ord`).
fn kept(k: &Kernel, numbers: &[u32], nodes: &HashMap<u32, (u32, u32)>, graph: &mut Graph) {
    // All that a release or fence must wait for; the last one that holds back everything; the last paired or unpaired access.
    let (mut earlier, mut gate, mut strong): (Vec<u32>, Option<u32>, Option<u32>) = (Vec::new(), None, None);
    let mut at_loc: HashMap<u32, Vec<Id>> = HashMap::new();
    for number in numbers {
        let op = &k.ops[*number as usize];
        let (before, behind) = sides(nodes, k, *number);
        if let Some(gate) = gate {
            graph.edge(gate, before, "po");
        }
        if waits(op) {
            earlier.drain(..).for_each(|other| graph.edge(other, before, "po"));
        } else if let Some(strong) = strong.filter(|_| op.strong()) {
            graph.edge(strong, before, "po");
        }
        if op.atomic() {
            for id in op.events.clone() {
                let last = at_loc.entry(k.event(id).loc).or_default();
                let same = last.first().is_some_and(|other| k.event(*other).op == *number);
                if !same {
                    last.iter().for_each(|other| graph.edge(*other, id, "po"));
                    last.clear();
                }
                last.push(id);
            }
        }
        earlier.push(behind);
        if op.strong() {
            strong = Some(behind);
        }
        if op.what == What::Fence || op.effective == Effective::P {
            gate = Some(behind);
        }
    }
}

/// Everything before it is complete before it is sent.
fn waits(op: &Op) -> bool {
    op.what == What::Fence || op.releases
}

/// Data dependences, and control: what the program has awaited, all that follows depends on.
fn dependences(
    k: &Kernel,
    of: &crate::kernel::ThreadOf,
    nodes: &HashMap<u32, (u32, u32)>,
    graph: &mut Graph,
) {
    let mut control: Option<u32> = None;
    for number in of.ops.clone() {
        let op = &k.ops[number as usize];
        let before = sides(nodes, k, number).0;
        let made = |index: &u32| k.find(of, *index).map(|number| sides(nodes, k, number).1);
        if !op.awaited.is_empty() {
            let next = graph.node();
            control.iter().for_each(|control| graph.edge(*control, next, "dep"));
            op.awaited.iter().filter_map(made).for_each(|from| graph.edge(from, next, "dep"));
            control = Some(next);
        }
        control.iter().for_each(|control| graph.edge(*control, before, "dep"));
        op.data.iter().filter_map(made).for_each(|from| graph.edge(from, before, "dep"));
    }
}

/// `co` and `fr` of a location.
fn communicate(k: &Kernel, sources: &Sources, loc: u32, order: &Order, sc: bool, graph: &mut Graph) {
    let keep = |id: Id| sc || id == INIT || k.op(id).atomic();
    let mut next: HashMap<Id, Vec<Id>> = HashMap::new();
    for (from, to) in order.next(keep) {
        if from != INIT {
            graph.edge(from, to, "co");
        }
        next.entry(from).or_default().push(to);
    }
    // A read may have found a write that is not among them; the next one that is then comes after it.
    let place: HashMap<Id, usize> = order.writes.iter().copied().zip(0..).collect();
    for id in k.locs[loc as usize].events.iter().filter(|id| k.event(**id).read.is_some() && keep(**id)) {
        let Some(source) = sources.known(*id) else { continue };
        let after = match next.get(&source) {
            Some(after) => after.clone(),
            None if order.total && source != INIT && !keep(source) => {
                let from = place.get(&source).map_or(order.writes.len(), |at| at + 1);
                order.writes[from..].iter().copied().find(|w| keep(*w)).into_iter().collect()
            }
            None => Vec::new(),
        };
        after.iter().filter(|to| *to != id).for_each(|to| graph.edge(*id, *to, "fr"));
    }
}

/// A cycle of the graph, its events only.
fn steps(k: &Kernel, cycle: &[(u32, &'static str)]) -> Vec<Step> {
    let event = |node: u32| (node as usize) < k.events.len();
    // The first event of the first thread begins.
    let begin = (0..cycle.len()).min_by_key(|n| cycle[*n].0).filter(|n| event(cycle[*n].0)).unwrap_or(0);
    let turned: Vec<(u32, &'static str)> =
        (0..cycle.len()).map(|n| cycle[(begin + n) % cycle.len()]).collect();
    let name = |id: Id| &k.locs[k.event(id).loc as usize];
    let first = turned[0].0;
    if !event(first) {
        return Vec::new();
    }
    let mut steps = vec![Step::start(k, name(first), first)];
    let mut label = "";
    for (node, relation) in turned[1..].iter().chain(&turned[..1]) {
        label = if relation.is_empty() { label } else { relation };
        if event(*node) {
            steps.push(Step::to(k, name(*node), label, *node));
            label = "";
        }
    }
    steps
}

/// All orders of the locations that have several, if they are few.
fn choices(k: &Kernel, orders: &HashMap<u32, Order>, open: &[u32]) -> Option<Vec<(u32, Vec<Order>)>> {
    if k.events.len() > EVENTS {
        return None;
    }
    let (mut all, mut product) = (Vec::new(), 1usize);
    for loc in open {
        let order = &orders[loc];
        if order.writes.len() > WRITES {
            return None;
        }
        let made = extensions(order);
        product = product.checked_mul(made.len()).filter(|product| *product <= TRIES)?;
        all.push((*loc, made));
    }
    Some(all)
}

/// Every total order that fits what is known.
fn extensions(order: &Order) -> Vec<Order> {
    let mut out = Vec::new();
    grow(order, &mut Vec::new(), &mut out);
    out
}

fn grow(order: &Order, made: &mut Vec<Id>, out: &mut Vec<Order>) {
    if made.len() == order.writes.len() {
        out.push(Order { writes: made.clone(), total: true, ..order.clone() });
        return;
    }
    let last = made.last().copied().unwrap_or(INIT);
    // What follows the last write at once is next.
    let follows = order.chains.iter().find(|(_, w)| **w == last).map(|(m, _)| *m);
    for w in &order.writes {
        let ready = order.known.iter().all(|(a, b)| b != w || *a == INIT || made.contains(a));
        let alone = order.chains.get(w).is_none_or(|before| *before == last);
        if !made.contains(w) && ready && alone && follows.is_none_or(|next| next == *w) {
            made.push(*w);
            grow(order, made, out);
            made.pop();
        }
    }
}

/// Nothing if some combination has no cycle, else a cycle.
fn try_all(
    choices: &[(u32, Vec<Order>)],
    cycle: &dyn Fn(&HashMap<u32, Order>) -> Option<Vec<(u32, &'static str)>>,
) -> Option<Vec<(u32, &'static str)>> {
    let mut at = vec![0; choices.len()];
    let mut last = None;
    loop {
        let chosen = choices.iter().zip(&at).filter_map(|((loc, of), n)| Some((*loc, of.get(*n)?.clone())));
        match cycle(&chosen.collect()) {
            None => return None,
            some => last = last.or(some),
        }
        let mut place = 0;
        loop {
            let Some((_, of)) = choices.get(place) else { return last };
            at[place] += 1;
            if at[place] < of.len() {
                break;
            }
            at[place] = 0;
            place += 1;
        }
    }
}

/// A5: fences that acquire and release, related when something before the later one comes by communication from something behind the earlier one, are in no
/// cycle. One that only releases lets later loads find copies that are older than it, and one that only acquires does not wait for stores.
fn fences(k: &Kernel, sources: &Sources, orders: &HashMap<u32, Order>) -> Result<Option<Violation>, ()> {
    let all: Vec<u32> = (0..)
        .zip(&k.ops)
        .filter(|(_, op)| op.what == What::Fence && op.acquires && op.releases)
        .map(|(number, _)| number)
        .collect();
    if all.len() * k.events.len() > REACH {
        return Err(());
    }
    let mut next: HashMap<Id, Vec<Id>> = HashMap::new();
    for (loc, order) in orders.iter().filter(|(loc, _)| !all.is_empty() && !k.locs[**loc as usize].mixed) {
        communicate_all(k, sources, *loc, order, &mut next);
    }
    let mut graph = Graph::new(all.len());
    let mut ways: HashMap<(u32, u32), (Id, Id)> = HashMap::new();
    for (n, from) in (0..).zip(&all) {
        let source = &k.ops[*from as usize];
        let thread = &k.threads[source.thread as usize];
        let behind = (*from + 1..thread.ops.end).flat_map(|number| k.ops[number as usize].events.clone());
        let mut origin: HashMap<Id, Id> = HashMap::new();
        let mut stack: Vec<(Id, Id)> = behind.map(|id| (id, id)).collect();
        while let Some((start, at)) = stack.pop() {
            for to in next.get(&at).into_iter().flatten() {
                if !origin.contains_key(to) {
                    origin.insert(*to, start);
                    stack.push((start, *to));
                }
            }
        }
        for (m, to) in (0..).zip(&all) {
            let target = &k.ops[*to as usize];
            let own = &k.threads[target.thread as usize];
            let mut before = (own.ops.start..*to).flat_map(|number| k.ops[number as usize].events.clone());
            if k.inclusive(source, target)
                && let Some(end) = before.find(|id| origin.contains_key(id))
            {
                graph.edge(n, m, "fence");
                ways.insert((n, m), (origin[&end], end));
            }
        }
    }
    let Some(cycle) = graph.cycle() else { return Ok(None) };
    let mut steps = Vec::new();
    for (place, (m, _)) in cycle.iter().enumerate() {
        let n = cycle[(place + cycle.len() - 1) % cycle.len()].0;
        let (start, end) = ways[&(n, *m)];
        let name = |id: Id| &k.locs[k.event(id).loc as usize];
        if steps.is_empty() {
            steps.push(Step::fence(k, "", all[n as usize]));
        }
        steps.push(Step::to(k, name(start), "po", start));
        steps.push(Step::to(k, name(end), "com+", end));
        steps.push(Step::fence(k, "po", all[*m as usize]));
    }
    Ok(Some(Violation::new(k, Axiom::Fences, "fences are not in one order", steps)))
}

/// rf, co and fr of a location, of all accesses.
fn communicate_all(k: &Kernel, sources: &Sources, loc: u32, order: &Order, next: &mut HashMap<Id, Vec<Id>>) {
    let mut later: HashMap<Id, Vec<Id>> = HashMap::new();
    for (from, to) in order.next(|_| true) {
        later.entry(from).or_default().push(to);
        if from != INIT {
            next.entry(from).or_default().push(to);
        }
    }
    for id in k.locs[loc as usize].events.iter().filter(|id| k.event(**id).read.is_some()) {
        let Some(source) = sources.known(*id) else { continue };
        if source != INIT {
            next.entry(source).or_default().push(*id);
        }
        let after = later.get(&source).into_iter().flatten().filter(|to| *to != id);
        next.entry(*id).or_default().extend(after);
    }
}
