//! Races: what makes a program illegal under a model (cu-and-consistency.md section 5.1), found in its sequentially consistent executions.
//!
//! Accesses are taken whole here: a read-modify-write is one operation.

use crate::execution::{Execution, for_each};
use crate::model::drf::{Drf, Effective, Level};
use crate::paths::{Bounds, EnumError, Event, Kind};
use crate::relation::{Rel, Set};
use crate::test::{Instr, Test};
use std::collections::BTreeSet;
use std::fmt;
use weft_workload::op::{AmoKind, Class, Scope};

/// Kind of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Race {
    /// Unordered, and one of them is data.
    Data,
    /// A commutative access whose order, or whose value, matters.
    Commutative,
    /// A non-ordering access that orders others.
    NonOrdering,
    /// A speculative access with another write, or whose value is used.
    Speculative,
    /// A quantum write with an access that is not quantum.
    Quantum,
    /// A quantum read with a write that is not quantum: reported, and legal (decision 5).
    QuantumLoad,
    /// Ordered if scopes are ignored, unordered with them, and one of them is data.
    Heterogeneous,
}

impl Race {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Race::Data => "data",
            Race::Commutative => "commutative",
            Race::NonOrdering => "non-ordering",
            Race::Speculative => "speculative",
            Race::Quantum => "quantum",
            Race::QuantumLoad => "quantum_load",
            Race::Heterogeneous => "heterogeneous",
        }
    }

    /// Whether it makes a program illegal.
    pub fn illegal(self) -> bool {
        self != Race::QuantumLoad
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A race between two instructions: (thread, instruction), smaller thread first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Found {
    /// Kind.
    pub race: Race,
    /// One of them.
    pub first: (usize, usize),
    /// The other.
    pub second: (usize, usize),
}

/// What synchronisation chains through several scopes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hrf {
    /// They order (HRF-indirect).
    Indirect,
    /// They do not (HRF-direct).
    Direct,
}

/// All races of a test's sequentially consistent executions under a model; under drfrlx of those of its quantum-equivalent program.
///
/// # Errors
/// A test that is too large to be enumerated.
pub fn races(test: &Test, model: Drf, hrf: Hrf, bounds: Bounds) -> Result<BTreeSet<Found>, EnumError> {
    let mut found = BTreeSet::new();
    let bounds = Bounds { quantum: model.level == Level::DrfRlx, coherent: Set::MAX, ..bounds };
    for_each(test, bounds, &mut |x| {
        if x.po.or(&x.com()).acyclic() && x.atomic() {
            found.extend(races_in(x, model, hrf));
        }
    })?;
    Ok(found)
}

/// The races of one sequentially consistent execution.
pub fn races_in(x: &Execution, model: Drf, hrf: Hrf) -> BTreeSet<Found> {
    let mut found = BTreeSet::new();
    Whole::new(x, model, hrf).judge(&mut found);
    found
}

/// An operation: an access, or both halves of a read-modify-write.
struct Operation<'a> {
    event: &'a Event,
    read: Option<usize>,
    write: Option<usize>,
}

/// An execution with its operations whole.
struct Whole<'a> {
    x: &'a Execution<'a>,
    model: Drf,
    ops: Vec<Operation<'a>>,
    po: Rel,
    com: Rel,
    co: Rel,
    hb: Rel,
    hb_unscoped: Rel,
}

impl<'a> Whole<'a> {
    fn new(x: &'a Execution<'a>, model: Drf, hrf: Hrf) -> Whole<'a> {
        let mut ops: Vec<Operation> = Vec::new();
        let mut of = vec![None; x.len()];
        for (n, event) in x.events.iter().enumerate().filter(|(_, e)| e.thread.is_some()) {
            let half = n > 0 && x.rmw.has(n - 1, n);
            if !half {
                ops.push(Operation { event, read: None, write: None });
            }
            let last = ops.len() - 1;
            match event.kind {
                Kind::Read => ops[last].read = Some(n),
                Kind::Write => ops[last].write = Some(n),
                Kind::Fence => {}
            }
            of[n] = Some(last);
        }
        let lift = |rel: &Rel| {
            let mut made = Rel::empty(ops.len());
            for (a, b) in rel.pairs() {
                if let (Some(a), Some(b)) = (of[a], of[b])
                    && a != b
                {
                    made.add(a, b);
                }
            }
            made
        };
        let (po, com, co) = (lift(&x.po), lift(&x.com()), lift(&x.co));
        let so = |scoped: bool| lift(&Drf { scopes: scoped && model.scopes, ..model }.so(x));
        let hb = match hrf {
            Hrf::Direct if model.scopes => {
                let scopes = [Scope::Cu, Scope::Gpu, Scope::Sys].into_iter();
                let of_scope = |scope| {
                    let attr = |n: usize| ops[n].event.attr;
                    let has = |n: usize| attr(n).scope == scope;
                    // A remote operation promotes the other access to its scope.
                    let promotes = |n: usize| has(n) && attr(n).remote;
                    let both = |a: usize, b: usize| (has(a) && has(b)) || promotes(a) || promotes(b);
                    so(true).and(&Rel::of(ops.len(), both))
                };
                scopes.fold(Rel::empty(ops.len()), |all, scope| all.or(&po.or(&of_scope(scope)).plus()))
            }
            _ => po.or(&so(true)).plus(),
        };
        let hb_unscoped = po.or(&so(false)).plus();
        Whole { x, model, ops, po, com, co, hb, hb_unscoped }
    }

    fn class(&self, n: usize) -> Class {
        self.ops[n].event.attr.class
    }

    fn of_class(&self, class: Class) -> Set {
        (0..self.ops.len()).filter(|n| self.class(*n) == class).fold(0, |set, n| set | 1 << n)
    }

    fn effective(&self, n: usize) -> Effective {
        self.model.level.effective(self.class(n))
    }

    fn conflict(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.ops[a], &self.ops[b]);
        let access = |e: &Event| e.kind != Kind::Fence;
        access(x.event)
            && access(y.event)
            && x.event.loc == y.event.loc
            && x.event.thread != y.event.thread
            && (x.write.is_some() || y.write.is_some())
    }

    fn judge(&self, found: &mut BTreeSet<Found>) {
        for a in 0..self.ops.len() {
            for b in a + 1..self.ops.len() {
                if !self.conflict(a, b) {
                    continue;
                }
                let ordered = |hb: &Rel| hb.has(a, b) || hb.has(b, a);
                let data = [a, b].into_iter().any(|n| self.effective(n) == Effective::D);
                if data && !ordered(&self.hb) && ordered(&self.hb_unscoped) {
                    self.add(found, Race::Heterogeneous, a, b);
                } else if !ordered(&self.hb) {
                    self.kinds(a, b, data).into_iter().for_each(|race| self.add(found, race, a, b));
                }
            }
        }
    }

    fn add(&self, found: &mut BTreeSet<Found>, race: Race, a: usize, b: usize) {
        let at = |n: usize| (self.ops[n].event.thread.unwrap_or(0), self.ops[n].event.instr);
        found.insert(Found { race, first: at(a), second: at(b) });
    }

    /// Kinds of race that an unordered conflicting pair is.
    fn kinds(&self, a: usize, b: usize, data: bool) -> Vec<Race> {
        let mut kinds = Vec::new();
        if data {
            kinds.push(Race::Data);
        }
        if self.model.level != Level::DrfRlx {
            return kinds;
        }
        let one = |class| self.class(a) == class || self.class(b) == class;
        let used = [a, b].into_iter().any(|n| self.ops[n].read.is_some_and(|r| self.x.used >> r & 1 == 1));
        let commutative = one(Class::C) && (!self.commute(a, b) || used);
        if commutative {
            kinds.push(Race::Commutative);
        }
        if one(Class::S) && (used || (self.ops[a].write.is_some() && self.ops[b].write.is_some())) {
            kinds.push(Race::Speculative);
        }
        for (q, other) in [(a, b), (b, a)] {
            if self.class(q) == Class::Q && self.class(other) != Class::Q {
                let write = self.ops[q].write.is_some();
                kinds.push(if write { Race::Quantum } else { Race::QuantumLoad });
            }
        }
        if !data && !commutative && !self.commute(a, b) && self.orders(a, b) {
            kinds.push(Race::NonOrdering);
        }
        kinds
    }

    fn instr(&self, n: usize) -> Option<&Instr> {
        let event = self.ops[n].event;
        event.thread.and_then(|t| self.x.test.threads[t].code.get(event.instr))
    }

    fn commute(&self, a: usize, b: usize) -> bool {
        let value = |n: usize| self.ops[n].write.map(|w| self.x.events[w].value);
        match (self.instr(a), self.instr(b)) {
            (Some(Instr::Store { .. }), Some(Instr::Store { .. })) => value(a) == value(b),
            (Some(Instr::Rmw { kind: k, value: v, .. }), Some(Instr::Rmw { kind: l, value: w, .. })) => {
                use AmoKind::{Add, And, Dec, Inc, Max, Min, Or, Sub, Xor};
                match (k, l) {
                    (Add | Sub, Add | Sub) | (And, And) | (Or, Or) | (Xor, Xor) | (Min, Min) | (Max, Max) => {
                        true
                    }
                    (Inc, Inc) | (Dec, Dec) => v == w,
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Whether this pair of atomics is connected only by paths that lean on a non-ordering access.
    fn orders(&self, a: usize, b: usize) -> bool {
        let (a, b) = if self.com.plus().has(a, b) { (a, b) } else { (b, a) };
        let quiet = self.of_class(Class::N);
        let all = self.po.or(&self.com);
        let star = all.star();
        let with_po = |star: &Rel, po: &Rel| star.then(po).then(star);
        let ordered = with_po(&star, &self.po);
        let passes = (0..self.ops.len())
            .filter(|k| quiet >> k & 1 == 1)
            .any(|k| (ordered.has(a, k) && star.has(k, b)) || (star.has(a, k) && ordered.has(k, b)));
        let race_path = self.co.has(a, b) && !ordered.has(a, b) && (quiet >> a | quiet >> b) & 1 == 1;
        let same = Rel::of(self.ops.len(), |a, b| self.ops[a].event.loc == self.ops[b].event.loc);
        let here = self.po.and(&same);
        let within = with_po(&here.or(&self.com).star(), &here).has(a, b);
        let strong = (0..self.ops.len())
            .filter(|n| matches!(self.effective(*n), Effective::P | Effective::U))
            .fold(0, |set: Set, n| set | 1 << n);
        let kept = |rel: &Rel| rel.from(strong).to(strong);
        let by_strong = with_po(&kept(&all).star(), &kept(&self.po)).has(a, b);
        (passes && !within && !by_strong) || race_path
    }
}
