//! Coherence order of each location: what is forced, and whether that leaves a choice.
//!
//! A constraint puts one write before another, for a reason that is a path of relations:
//!
//! | reason | path | axiom |
//! | --- | --- | --- |
//! | w, later w' of one thread | w po w' | A1 |
//! | r finds w, later w' of its thread | w rf r po w' | A1 |
//! | w, later r of its thread finds w' | w po r (which finds w') | A1 |
//! | r finds w, later r' finds w' | w rf r po r' (which finds w') | A1 |
//! | w happens before w', or before r that finds w' | w hb w', w hb r | A2 |
//! | a read-modify-write m finds w | w rf m, and nothing between | A4 |
//!
//! Two loads of data of one thread that are under way at once are in no order here: the same-word rule lets them go on, and what their words are answered by
//! is not the same where a load waits for a part of its line.
//!
//! A cycle of constraints is a violation, told as a cycle of po, rf, co, fr and hb: behind a read that finds w' follows fr to what comes after w'.

use crate::coherence::Order;
use crate::hb::HappensBefore;
use crate::kernel::{INIT, Id, Kernel, Loc};
use crate::report::{Axiom, Step};
use crate::source::Sources;
use std::collections::{BTreeMap, HashMap};

/// One write is before another.
#[derive(Clone, Debug)]
pub struct Constraint {
    from: Id,
    to: Id,
    axiom: Axiom,
    /// Path from `from`, up to the read that finds `to` if `reads`, else up to `to`.
    path: Vec<(&'static str, Id)>,
    reads: bool,
}

/// Which rules hold at a location.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Happens-before.
    pub hb: Option<&'a HappensBefore>,
    /// Data obey A1, too.
    pub data: bool,
}

/// Orders a location's writes.
///
/// # Errors
/// A cycle.
pub fn order(k: &Kernel, loc: &Loc, sources: &Sources, rules: Rules) -> Result<Order, (Axiom, Vec<Step>)> {
    let chains = Chains::of(k, loc, sources)?;
    let mut all = Vec::new();
    program_order(k, loc, sources, rules, &mut all);
    if let Some(hb) = rules.hb {
        by_happens_before(k, loc, sources, hb, &mut all);
    }
    chains.sort(k, loc, &all)
}

/// Events of each thread, in program order.
fn by_thread(k: &Kernel, loc: &Loc) -> BTreeMap<u32, Vec<Id>> {
    let mut threads: BTreeMap<u32, Vec<Id>> = BTreeMap::new();
    loc.events.iter().for_each(|id| threads.entry(k.op(*id).thread).or_default().push(*id));
    threads
}

/// What a thread has done to the location.
#[derive(Clone, Copy)]
enum Last {
    Wrote(Id),
    /// What it has found, and by which read.
    Found(Id, Id),
}

/// An access of a thread, and what it says of the order.
struct Past {
    last: Last,
    /// A load of data.
    loads: bool,
    /// Cycles in which it was sent and complete.
    span: (u64, u64),
    /// Cycle in which all accesses before it were complete.
    before: u64,
}

fn program_order(k: &Kernel, loc: &Loc, sources: &Sources, rules: Rules, all: &mut Vec<Constraint>) {
    for events in by_thread(k, loc).values() {
        let coherent = |id: &&Id| (rules.data || k.op(**id).atomic()) && !loc.mixed;
        let events: Vec<Id> = events.iter().filter(coherent).copied().collect();
        let mut done: Vec<Past> = Vec::new();
        let mut complete = 0;
        for group in events.chunk_by(|a, b| k.event(*a).op == k.event(*b).op) {
            let op = k.op(group[0]);
            let loads = !op.atomic() && group.iter().all(|id| k.event(*id).wrote.is_none());
            let mut last = None;
            for id in group {
                behind(&done, loads, op.span.0).for_each(|before| after(k, *id, before, sources, all));
                let e = k.event(*id);
                let found = sources.known(*id).map(|source| Last::Found(source, *id));
                last = e.wrote.map(|_| Last::Wrote(*id)).or(found).or(last);
            }
            done.extend(last.map(|last| Past { last, loads, span: op.span, before: complete }));
            complete = complete.max(op.span.1);
        }
    }
}

/// The last of those before an access that is sent in cycle `sent`, the newest first, up to one that is behind all others. Two loads of data that are under
/// way at once are in no order: the second may be answered by a copy while the first one waits for other words of its line.
fn behind(done: &[Past], loads: bool, sent: u64) -> impl Iterator<Item = Last> + '_ {
    let ordered = move |past: &&Past| !(past.loads && loads && past.span.1 > sent);
    let mut over = false;
    done.iter().rev().filter(ordered).map_while(move |past| {
        let go_on = !over;
        over = !past.loads || past.before <= past.span.0;
        go_on.then_some(past.last)
    })
}

/// Constraints of an event behind what its thread has last done.
fn after(k: &Kernel, id: Id, last: Last, sources: &Sources, all: &mut Vec<Constraint>) {
    let (from, mut path) = match last {
        Last::Wrote(w) => (w, Vec::new()),
        Last::Found(w, r) => (w, vec![("rf", r)]),
    };
    path.push(("po", id));
    if let Some(to) = sources.known(id).filter(|to| *to != from) {
        all.push(Constraint { from, to, axiom: Axiom::PerLocation, path: path.clone(), reads: true });
    }
    // A read-modify-write is behind what it finds; that says more.
    if k.event(id).wrote.is_some() && (sources.known(id).is_none() || from == id) {
        all.push(Constraint { from, to: id, axiom: Axiom::PerLocation, path, reads: false });
    }
}

fn by_happens_before(
    k: &Kernel,
    loc: &Loc,
    sources: &Sources,
    hb: &HappensBefore,
    all: &mut Vec<Constraint>,
) {
    let threads = by_thread(k, loc);
    let is_write = |id: &&Id| k.event(**id).wrote.is_some();
    let writes: Vec<Vec<Id>> =
        threads.values().map(|events| events.iter().filter(is_write).copied().collect()).collect();
    for id in &loc.events {
        let (e, source) = (k.event(*id), sources.known(*id));
        for own in &writes {
            // The latest of this thread that happens before; earlier ones follow by its own constraint.
            let before = own.partition_point(|w| hb.before(k, k.event(*w).op, e.op));
            let Some(from) = before.checked_sub(1).map(|at| own[at]).filter(|from| from != id) else {
                continue;
            };
            let axiom = Axiom::HappensBefore;
            if let Some(to) = source.filter(|to| *to != from) {
                all.push(Constraint { from, to, axiom, path: vec![("hb", *id)], reads: true });
            }
            if e.wrote.is_some() {
                all.push(Constraint { from, to: *id, axiom, path: vec![("hb", *id)], reads: false });
            }
        }
        // A read must not find what happens after it.
        if let Some(from) = source.filter(|w| *w != INIT && hb.before(k, e.op, k.event(*w).op)) {
            let path = vec![("rf", *id), ("hb", from)];
            all.push(Constraint { from, to: from, axiom: Axiom::HappensBefore, path, reads: false });
        }
    }
}

/// Runs of writes that follow one another at once.
struct Chains {
    /// Chain and place of each write.
    of: HashMap<Id, (usize, usize)>,
    chains: Vec<Vec<Id>>,
    links: HashMap<Id, Id>,
}

impl Chains {
    fn of(k: &Kernel, loc: &Loc, sources: &Sources) -> Result<Chains, (Axiom, Vec<Step>)> {
        let mut next: HashMap<Id, Id> = HashMap::new();
        let mut links = HashMap::new();
        let writes: Vec<Id> = loc.events.iter().filter(|id| k.event(**id).wrote.is_some()).copied().collect();
        for id in writes.iter().filter(|id| k.event(**id).read.is_some() && !loc.mixed) {
            let Some(source) = sources.known(*id) else { continue };
            links.insert(*id, source);
            if let Some(other) = next.insert(source, *id) {
                let steps = vec![
                    Step::start(k, loc, other),
                    Step::to(k, loc, "fr", *id).because("both find what one write left, and write"),
                    Step::to(k, loc, "fr", other),
                ];
                return Err((Axiom::Atomicity, steps));
            }
        }
        let (mut of, mut chains) = (HashMap::new(), Vec::new());
        let heads = std::iter::once(INIT).chain(writes.iter().copied().filter(|w| !links.contains_key(w)));
        for head in heads {
            let mut chain = vec![head];
            while let Some(more) = next.get(&chain[chain.len() - 1]) {
                chain.push(*more);
            }
            chain.iter().enumerate().for_each(|(place, w)| {
                of.insert(*w, (chains.len(), place));
            });
            chains.push(chain);
        }
        // Writes in no chain follow each other in a ring.
        if let Some(lost) = writes.iter().find(|w| !of.contains_key(w)) {
            let mut steps = vec![Step::start(k, loc, *lost)];
            let mut at = next[lost];
            while at != *lost {
                steps.push(Step::to(k, loc, "rf", at));
                at = next[&at];
            }
            steps.push(Step::to(k, loc, "rf", *lost));
            return Err((Axiom::PerLocation, steps));
        }
        Ok(Chains { of, chains, links })
    }

    fn sort(self, k: &Kernel, loc: &Loc, all: &[Constraint]) -> Result<Order, (Axiom, Vec<Step>)> {
        let count = self.chains.len();
        let mut out: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut waits = vec![0u32; count];
        for (number, c) in all.iter().enumerate() {
            let ((from, place), (to, at)) = (self.of[&c.from], self.of[&c.to]);
            if from == to && place >= at {
                return Err(self.cycle(k, loc, all, &[number]));
            }
            // Nothing is before what memory held.
            if from != to && to == 0 {
                let first = Constraint {
                    from: INIT,
                    to: self.chains[from][0],
                    axiom: Axiom::PerLocation,
                    path: vec![("co", self.chains[from][0])],
                    reads: false,
                };
                let both = [c.clone(), first];
                return Err(self.cycle(k, loc, &both, &[0, 1]));
            }
            if from != to {
                out[from].push(number);
                waits[to] += 1;
            }
        }
        let head = |chain: &usize| self.chains[*chain].first().filter(|w| **w != INIT).map(|w| k.event(*w));
        let tail = |chain: &usize| self.chains[*chain].last().filter(|w| **w != INIT).map(|w| k.event(*w));
        let mut ready: Vec<usize> = (1..count).filter(|chain| waits[*chain] == 0).collect();
        let (mut order, mut total) = (vec![0], true);
        let mut pending = vec![0];
        while let Some(chain) = pending.pop() {
            for number in &out[chain] {
                let to = self.of[&all[*number].to].0;
                waits[to] -= 1;
                if waits[to] == 0 {
                    ready.push(to);
                }
            }
            // The one that was performed before the others were taken, if there is one.
            let key = |c: &usize| head(c).map_or((0, 0), |e| (e.done, e.taken));
            let Some(at) =
                (0..ready.len()).min_by_key(|n| (tail(&ready[*n]).map_or(0, |e| e.done), key(&ready[*n])))
            else {
                break;
            };
            let next = ready.swap_remove(at);
            let sure = |e: &crate::kernel::Event| e.performed;
            let first = |other: &usize| {
                let (a, b) = (tail(&next), head(other));
                matches!((a, b), (Some(a), Some(b)) if sure(a) && a.done < b.taken && !loc.mixed)
            };
            total &= ready.iter().all(first);
            order.push(next);
            pending.push(next);
        }
        if order.len() < count {
            return Err(self.round(k, loc, all, &out, &order));
        }
        let mut known: Vec<(Id, Id)> = all.iter().map(|c| (c.from, c.to)).filter(|(a, b)| a != b).collect();
        known.extend(self.links.iter().map(|(m, w)| (*w, *m)));
        let writes = order.iter().flat_map(|chain| &self.chains[*chain]).copied().filter(|w| *w != INIT);
        Ok(Order { writes: writes.collect(), total, known, chains: self.links })
    }

    /// A shortest cycle among the chains that could not be ordered.
    fn round(
        &self,
        k: &Kernel,
        loc: &Loc,
        all: &[Constraint],
        out: &[Vec<usize>],
        done: &[usize],
    ) -> (Axiom, Vec<Step>) {
        let mut left = vec![true; self.chains.len()];
        done.iter().for_each(|chain| left[*chain] = false);
        let mut best: Option<Vec<usize>> = None;
        for start in (0..left.len()).filter(|chain| left[*chain]).take(256) {
            let mut from: HashMap<usize, usize> = HashMap::new();
            let mut queue = std::collections::VecDeque::from([start]);
            while let Some(chain) = queue.pop_front() {
                for number in &out[chain] {
                    let to = self.of[&all[*number].to].0;
                    if left[to] && !from.contains_key(&to) {
                        from.insert(to, *number);
                        queue.push_back(to);
                    }
                }
            }
            let mut path = Vec::new();
            let mut at = start;
            while let Some(number) = from.get(&at) {
                path.push(*number);
                at = self.of[&all[*number].from].0;
                if at == start {
                    break;
                }
            }
            path.reverse();
            if at == start && !path.is_empty() && best.as_ref().is_none_or(|b| path.len() < b.len()) {
                best = Some(path);
            }
        }
        self.cycle(k, loc, all, &best.expect("what cannot be ordered has a cycle"))
    }

    /// A cycle of constraints as a cycle of relations.
    fn cycle(&self, k: &Kernel, loc: &Loc, all: &[Constraint], cycle: &[usize]) -> (Axiom, Vec<Step>) {
        // Begin behind a constraint that does not end in a read, if there is one.
        let begin = cycle.iter().position(|n| !all[*n].reads).map_or(0, |at| at + 1);
        let cycle: Vec<&Constraint> =
            (0..cycle.len()).map(|n| &all[cycle[(begin + n) % cycle.len()]]).collect();
        let mut axiom = if cycle.iter().any(|c| c.axiom == Axiom::HappensBefore) {
            Axiom::HappensBefore
        } else {
            Axiom::PerLocation
        };
        let mut steps = vec![Step::start(k, loc, cycle[0].from)];
        let mut at = 0;
        while at < cycle.len() {
            let c = cycle[at];
            steps.extend(c.path.iter().map(|(relation, id)| Step::to(k, loc, relation, *id)));
            let next = cycle[(at + 1) % cycle.len()];
            let (here, there) = (self.of[&c.to].1, self.of[&next.from].1);
            let whole = c.to == next.from;
            if c.reads && cycle.len() == 1 {
                // The read finds what lies before its own thread's or a known write in one chain.
                steps.push(Step::to(k, loc, "fr", c.from));
            } else if c.reads && whole {
                let why = next.because(k, loc);
                steps.push(Step::to(k, loc, "fr", next.to).because(&why));
                at += 1;
            } else if c.reads {
                steps.push(Step::to(k, loc, if here < there { "fr" } else { "rf^-1" }, next.from));
            } else if !whole && cycle.len() > 1 {
                steps.push(Step::to(k, loc, "co", next.from));
            } else if cycle.len() == 1 && c.from != c.to {
                steps.push(Step::to(k, loc, "co", c.from));
            }
            if !whole && here >= there && c.to != c.from && cycle.len() > 1 {
                axiom = Axiom::Atomicity;
                if let Some(step) = steps.last_mut() {
                    step.why = "nothing comes between the halves of a read-modify-write".into();
                }
            }
            at += 1;
        }
        (axiom, steps)
    }
}

impl Constraint {
    /// The reason in words.
    fn because(&self, k: &Kernel, loc: &Loc) -> String {
        let names: Vec<String> = self
            .path
            .iter()
            .map(|(relation, id)| format!("{relation} {}", crate::report::short(k, loc, *id)))
            .collect();
        let from = crate::report::short(k, loc, self.from);
        let finds = if self.reads { ", which finds the later write" } else { "" };
        format!("{from} is before {}: {}{finds}", crate::report::short(k, loc, self.to), names.join(", "))
    }
}

impl Order {
    /// Known successors of each write, the next one of each if the order is total; of writes for which `keep` holds.
    pub fn next(&self, keep: impl Fn(Id) -> bool) -> Vec<(Id, Id)> {
        if self.total {
            let writes: Vec<Id> =
                std::iter::once(INIT).chain(self.writes.iter().copied().filter(|w| keep(*w))).collect();
            return writes.windows(2).map(|pair| (pair[0], pair[1])).collect();
        }
        let first = self.writes.iter().filter(|w| keep(**w)).map(|w| (INIT, *w));
        first.chain(self.known.iter().copied().filter(|(a, b)| keep(*a) && keep(*b))).collect()
    }

    /// Writes that may be the last one.
    pub fn last(&self) -> Vec<Id> {
        match (self.total, self.writes.last()) {
            (true, Some(last)) => vec![*last],
            _ => {
                let later: std::collections::HashSet<Id> = self.known.iter().map(|(a, _)| *a).collect();
                self.writes.iter().copied().filter(|w| !later.contains(w)).collect()
            }
        }
    }
}
