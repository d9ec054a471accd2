//! Races of the program, as far as this execution shows them (section 5.1): conflicting accesses of different threads that nothing orders. They are the program's, not the hardware's.
//!
//! Of a thread's accesses that are alike only the last one before another thread's is looked at: if an earlier one is unordered with that, so is this. INC with INC, and DEC with DEC,
//! count as of one bound, which a recording does not hold.

use crate::coherence::Order;
use crate::hb::HappensBefore;
use crate::kernel::{INIT, Id, Kernel, Loc, Op, What};
use crate::report::{Race, named};
use crate::source::Sources;
use std::collections::{BTreeMap, HashMap, HashSet};
use weft_litmus::model::drf::{Effective, Level};
use weft_workload::op::{AmoKind, Class};

/// Races kept in full, of each kind and kernel.
const KEPT: u64 = 8;
/// Most atomic events of a kernel that is looked through for non-ordering races.
const ATOMICS: usize = 512;

/// Races of a kernel.
#[derive(Default)]
pub struct Races {
    /// The first ones of each kind.
    pub list: Vec<Race>,
    /// How many pairs of each kind.
    pub counts: BTreeMap<&'static str, u64>,
    /// The kernel was too large to be looked through for non-ordering races.
    pub left_out: bool,
}

struct Search<'a> {
    k: &'a Kernel,
    hb: &'a HappensBefore,
    unscoped: Option<&'a HappensBefore>,
    seen: HashSet<(&'static str, u32, u32)>,
    out: Races,
}

/// Finds them; `unscoped` is happens-before with scopes ignored, if scopes are on.
pub fn races(
    k: &Kernel,
    sources: &Sources,
    orders: &HashMap<u32, Order>,
    hb: &HappensBefore,
    unscoped: Option<&HappensBefore>,
) -> Races {
    let mut search = Search { k, hb, unscoped, seen: HashSet::new(), out: Races::default() };
    if k.model.level != Level::Sc {
        k.locs.iter().for_each(|loc| search.location(loc));
        search.non_ordering(sources, orders);
    }
    search.out
}

/// Accesses that are alike for a race.
type Alike = (u32, u8, Option<u8>, bool, bool, bool);

impl Search<'_> {
    fn location(&mut self, loc: &Loc) {
        let k = self.k;
        let relaxed = k.model.level == Level::DrfRlx;
        let matters = |op: &Op| op.effective == Effective::D || (relaxed && op.effective == Effective::R);
        if !loc.events.iter().any(|id| matters(k.op(*id))) {
            return;
        }
        let first = k.op(loc.events[0]).thread;
        if loc.events.iter().all(|id| k.op(*id).thread == first) {
            return;
        }
        let mut events = loc.events.clone();
        events.sort_by_key(|id| (self.hb.rank(k.op(*id)), k.op(*id).thread, k.op(*id).index));
        let mut last: BTreeMap<Alike, Id> = BTreeMap::new();
        for id in events {
            let (op, e) = (k.op(id), k.event(id));
            for (alike, other) in &last {
                let write = e.wrote.is_some() || k.event(*other).wrote.is_some();
                if alike.0 != op.thread && write {
                    self.pair(loc, *other, id);
                }
            }
            let amo = if let What::Amo(kind) = op.what { Some(kind as u8) } else { None };
            let alike = (op.thread, op.class as u8, amo, op.used, e.read.is_some(), e.wrote.is_some());
            last.insert(alike, id);
        }
    }

    fn ordered(&self, hb: &HappensBefore, a: Id, b: Id) -> bool {
        let (x, y) = (self.k.event(a).op, self.k.event(b).op);
        hb.before(self.k, x, y) || hb.before(self.k, y, x)
    }

    /// Two conflicting accesses of different threads.
    fn pair(&mut self, loc: &Loc, a: Id, b: Id) {
        if self.ordered(self.hb, a, b) {
            return;
        }
        let data = [a, b].iter().any(|id| self.k.op(*id).effective == Effective::D);
        if data && self.unscoped.is_some_and(|hb| self.ordered(hb, a, b)) {
            return self.add("heterogeneous", loc, a, b);
        }
        if data {
            self.add("data", loc, a, b);
        }
        if self.k.model.level == Level::DrfRlx {
            self.relaxed(loc, a, b);
        }
    }

    fn relaxed(&mut self, loc: &Loc, a: Id, b: Id) {
        let (x, y) = (self.k.op(a), self.k.op(b));
        let one = |class| x.class == class || y.class == class;
        let used = self.uses(a) || self.uses(b);
        if one(Class::C) && (!commute(self.k, a, b) || used) {
            self.add("commutative", loc, a, b);
        }
        let writes = |id: Id| self.k.event(id).wrote.is_some();
        if one(Class::S) && (used || (writes(a) && writes(b))) {
            self.add("speculative", loc, a, b);
        }
        for (q, other) in [(a, b), (b, a)] {
            if self.k.op(q).class == Class::Q && self.k.op(other).class != Class::Q {
                self.add(if writes(q) { "quantum" } else { "quantum_load" }, loc, q, other);
            }
        }
    }

    fn uses(&self, id: Id) -> bool {
        self.k.event(id).read.is_some() && self.k.op(id).used
    }

    fn add(&mut self, kind: &'static str, loc: &Loc, a: Id, b: Id) {
        // All words of two operations are one race.
        if !self.seen.insert((kind, self.k.event(a).op, self.k.event(b).op)) {
            return;
        }
        let count = self.out.counts.entry(kind).or_default();
        *count += 1;
        if *count <= KEPT {
            let (first, second) = (named(self.k, loc, a), named(self.k, loc, b));
            self.out.list.push(Race { kind, kernel: self.k.name.clone(), first, second });
        }
    }

    /// Pairs of atomics that are ordered only through accesses that are to order nothing.
    fn non_ordering(&mut self, sources: &Sources, orders: &HashMap<u32, Order>) {
        let k = self.k;
        let of_n = |op: &Op| op.class == Class::N;
        if k.model.level != Level::DrfRlx || !k.ops.iter().any(of_n) {
            return;
        }
        let atomics: Vec<Id> = (0..k.events.len() as Id).filter(|id| k.op(*id).atomic()).collect();
        if atomics.len() > ATOMICS || k.events.len() > 8 * ATOMICS {
            self.out.left_out = true;
            return;
        }
        let paths = Paths::of(k, sources, orders);
        for (n, a) in atomics.iter().enumerate() {
            for b in &atomics[n + 1..] {
                let (x, y) = (k.event(*a), k.event(*b));
                let conflict = x.loc == y.loc
                    && k.op(*a).thread != k.op(*b).thread
                    && (x.wrote.is_some() || y.wrote.is_some());
                if conflict
                    && !self.ordered(self.hb, *a, *b)
                    && !commute(k, *a, *b)
                    && !self.commutative(*a, *b)
                {
                    let (a, b) = if paths.communicates(*a, *b) { (*a, *b) } else { (*b, *a) };
                    if paths.lean(k, a, b) {
                        self.add("non-ordering", &k.locs[x.loc as usize], a, b);
                    }
                }
            }
        }
    }

    fn commutative(&self, a: Id, b: Id) -> bool {
        let one = self.k.op(a).class == Class::C || self.k.op(b).class == Class::C;
        one && (!commute(self.k, a, b) || self.uses(a) || self.uses(b))
    }
}

fn commute(k: &Kernel, a: Id, b: Id) -> bool {
    use AmoKind::{Add, And, Dec, Inc, Max, Min, Or, Sub, Xor};
    match (k.op(a).what, k.op(b).what) {
        (What::Store, What::Store) => k.event(a).wrote == k.event(b).wrote,
        (What::Amo(x), What::Amo(y)) => matches!(
            (x, y),
            (Add | Sub, Add | Sub)
                | (And, And)
                | (Or, Or)
                | (Xor, Xor)
                | (Min, Min)
                | (Max, Max)
                | (Inc, Inc)
                | (Dec, Dec)
        ),
        _ => false,
    }
}

/// Program order and communication of a small kernel, one step each.
struct Paths {
    /// To the next event of the thread, of its location, of its paired and unpaired ones.
    next: Vec<Vec<Id>>,
    here: Vec<Vec<Id>>,
    firm: Vec<Vec<Id>>,
    /// rf, co and fr; the same among paired and unpaired accesses.
    com: Vec<Vec<Id>>,
    firm_com: Vec<Vec<Id>>,
}

impl Paths {
    fn of(k: &Kernel, sources: &Sources, orders: &HashMap<u32, Order>) -> Paths {
        let none = || vec![Vec::new(); k.events.len()];
        let mut p = Paths { next: none(), here: none(), firm: none(), com: none(), firm_com: none() };
        for of in &k.threads {
            p.program_order(k, of.ops.clone());
        }
        for (loc, order) in orders {
            let all = |_: Id| true;
            p.communication(k, sources, *loc, &order.next(all), true);
            let firm = |id: Id| id == INIT || k.op(id).strong();
            p.communication(k, sources, *loc, &order.next(firm), false);
        }
        p
    }

    fn program_order(&mut self, k: &Kernel, ops: std::ops::Range<u32>) {
        let mut before: Vec<Id> = Vec::new();
        let mut firm: Vec<Id> = Vec::new();
        let mut at: HashMap<u32, Vec<Id>> = HashMap::new();
        for op in ops.map(|number| &k.ops[number as usize]).filter(|op| !op.events.is_empty()) {
            let events: Vec<Id> = op.events.clone().collect();
            before.iter().for_each(|a| self.next[*a as usize].extend(&events));
            before.clone_from(&events);
            if op.strong() {
                firm.iter().for_each(|a| self.firm[*a as usize].extend(&events));
                firm.clone_from(&events);
            }
            for id in &events {
                if let Some(last) = at.insert(k.event(*id).loc, vec![*id]) {
                    last.iter().for_each(|a| self.here[*a as usize].push(*id));
                }
            }
        }
    }

    fn communication(&mut self, k: &Kernel, sources: &Sources, loc: u32, co: &[(Id, Id)], all: bool) {
        let into = if all { &mut self.com } else { &mut self.firm_com };
        let mut later: HashMap<Id, Vec<Id>> = HashMap::new();
        for (from, to) in co {
            later.entry(*from).or_default().push(*to);
            if *from != INIT {
                into[*from as usize].push(*to);
            }
        }
        let fits = |id: Id| all || k.op(id).strong();
        for id in k.locs[loc as usize].events.iter().filter(|id| k.event(**id).read.is_some() && fits(**id)) {
            let Some(source) = sources.known(*id) else { continue };
            if source != INIT && fits(source) {
                into[source as usize].push(*id);
            }
            let after = later.get(&source).into_iter().flatten().filter(|to| *to != id);
            into[*id as usize].extend(after);
        }
    }

    /// Events reached by paths of these steps, each with what the path has: a step of program order, an event that is `marked`.
    fn reach(
        &self,
        a: Id,
        po: &[Vec<Id>],
        com: &[Vec<Id>],
        marked: &dyn Fn(Id) -> bool,
    ) -> HashSet<(Id, bool, bool)> {
        let start = (a, false, marked(a));
        let (mut seen, mut stack) = (HashSet::from([start]), vec![start]);
        while let Some((at, ordered, mark)) = stack.pop() {
            let steps = po[at as usize]
                .iter()
                .map(|to| (to, true))
                .chain(com[at as usize].iter().map(|to| (to, ordered)));
            for (to, ordered) in steps {
                let next = (*to, ordered, mark || marked(*to));
                if seen.insert(next) {
                    stack.push(next);
                }
            }
        }
        seen
    }

    fn communicates(&self, a: Id, b: Id) -> bool {
        let none = vec![Vec::new(); self.com.len()];
        self.reach(a, &none, &self.com, &|_| false).contains(&(b, false, false))
    }

    /// Whether a pair is connected only by paths that lean on a non-ordering access.
    fn lean(&self, k: &Kernel, a: Id, b: Id) -> bool {
        let quiet = |id: Id| k.op(id).class == Class::N;
        let all = self.reach(a, &self.next, &self.com, &quiet);
        let ordered = all.contains(&(b, true, true)) || all.contains(&(b, true, false));
        let unmarked =
            |po: &[Vec<Id>], com: &[Vec<Id>]| self.reach(a, po, com, &|_| false).contains(&(b, true, false));
        let passes = all.contains(&(b, true, true));
        let within = unmarked(&self.here, &self.com);
        let firm = k.op(a).strong() && k.op(b).strong() && unmarked(&self.firm, &self.firm_com);
        let overwrites = k.event(a).wrote.is_some() && k.event(b).wrote.is_some();
        let race_path = overwrites && !ordered && (quiet(a) || quiet(b));
        (passes && !within && !firm) || race_path
    }
}
