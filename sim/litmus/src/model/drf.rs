//! Weft's own models (cu-and-consistency.md section 5.2): what executions recorded on a fabric must obey.
//!
//! | axiom | formula |
//! | --- | --- |
//! | A1 per location | acyclic((po \| com) within one location), atomics of inclusive scopes; data too if the fabric is `data_coherent` |
//! | A2 happens-before consistency | irreflexive((rf \| co \| fr) ; hb) |
//! | A3 causality | acyclic(ord \| dep \| rmw \| rf \| com of atomics) |
//! | A4 atomicity | rmw & (fr ; co) empty |
//! | A5 fences | acyclic on FENCEs that acquire and release of (po ; com+ ; po) |
//! | sc | acyclic(po \| com) instead of all |

use crate::execution::Execution;
use crate::paths::{Event, Kind};
use crate::relation::{Rel, union};
use std::fmt;
use weft_workload::op::{Class, Sem};

/// Which classes are told apart (section 1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Every access is ordered.
    Sc,
    /// Every atomic is paired.
    Drf0,
    /// Paired and unpaired atomics.
    Drf1,
    /// Relaxed atomics, too.
    DrfRlx,
}

/// A model of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Drf {
    /// Classes.
    pub level: Level,
    /// Scopes are honoured; without them every access reaches everything.
    pub scopes: bool,
    /// The fabric keeps data coherent within a location, not only atomics.
    pub data_coherent: bool,
}

/// An axiom of section 5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axiom {
    /// A1.
    PerLocation,
    /// A2.
    HappensBefore,
    /// A3.
    Causality,
    /// A4.
    Atomicity,
    /// A5.
    Fences,
    /// Of sc, in the place of all but atomicity.
    Sc,
}

impl Axiom {
    /// Those of every model but sc, the cheapest first.
    pub const WEAK: [Axiom; 5] =
        [Axiom::Atomicity, Axiom::PerLocation, Axiom::HappensBefore, Axiom::Causality, Axiom::Fences];
}

/// What an access counts as (section 1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effective {
    /// Data.
    D,
    /// Paired.
    P,
    /// Unpaired.
    U,
    /// Relaxed: commutative, non-ordering, speculative, quantum.
    R,
}

impl Level {
    /// All, the strongest first.
    pub const ALL: [Level; 4] = [Level::Sc, Level::Drf0, Level::Drf1, Level::DrfRlx];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Sc => "sc",
            Level::Drf0 => "drf0",
            Level::Drf1 => "drf1",
            Level::DrfRlx => "drfrlx",
        }
    }

    /// The effective class.
    pub fn effective(self, class: Class) -> Effective {
        match (class, self) {
            (Class::D, _) => Effective::D,
            (Class::P, _) | (_, Level::Sc | Level::Drf0) => Effective::P,
            (Class::U, _) | (_, Level::Drf1) => Effective::U,
            (Class::C | Class::N | Class::S | Class::Q, Level::DrfRlx) => Effective::R,
        }
    }

    /// Whether an access is promoted to paired, and so takes its kind's default order.
    fn promoted(self, class: Class) -> bool {
        class != Class::P && self.effective(class) == Effective::P
    }
}

impl fmt::Display for Drf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.level.name(), if self.scopes { "+scopes" } else { "" })
    }
}

/// What an access is in an execution under a model.
#[derive(Clone, Copy, Debug)]
pub struct Role {
    /// Effective class.
    pub class: Effective,
    /// Later accesses stay behind it.
    pub acquires: bool,
    /// Earlier accesses stay before it.
    pub releases: bool,
}

impl Drf {
    /// A model without scopes of a fabric that keeps data coherent.
    pub fn flat(level: Level) -> Drf {
        Drf { level, scopes: false, data_coherent: true }
    }

    /// What an event is under this model. Half of a read-modify-write acquires (the read) or releases (the write).
    pub fn role(self, e: &Event) -> Role {
        let class = self.level.effective(e.attr.class);
        let paired = e.thread.is_some() && class == Effective::P;
        let all = self.level.promoted(e.attr.class);
        Role {
            class,
            acquires: paired && e.kind == Kind::Read && (all || e.attr.acquires()),
            releases: paired && e.kind == Kind::Write && (all || e.attr.releases()),
        }
    }

    /// Whether everything before an access is complete before it is sent: both halves of a read-modify-write that releases.
    fn waits(self, e: &Event) -> bool {
        let paired = e.thread.is_some() && self.level.effective(e.attr.class) == Effective::P;
        let releases = self.level.promoted(e.attr.class) || e.attr.releases();
        paired && (e.rmw || e.kind == Kind::Write) && releases
    }

    /// Pairs that reach each other.
    pub fn reach(self, x: &Execution) -> Rel {
        if self.scopes { x.inclusive() } else { Rel::cross(x.len(), u64::MAX, u64::MAX) }
    }

    /// Whether an execution is possible.
    pub fn allows(self, x: &Execution) -> bool {
        self.violated(x).is_none()
    }

    /// The first axiom that an execution violates.
    pub fn violated(self, x: &Execution) -> Option<Axiom> {
        let all: &[Axiom] =
            if self.level == Level::Sc { &[Axiom::Atomicity, Axiom::Sc] } else { &Axiom::WEAK };
        all.iter().copied().find(|axiom| !self.holds(*axiom, x))
    }

    /// Whether an execution obeys an axiom.
    pub fn holds(self, axiom: Axiom, x: &Execution) -> bool {
        match axiom {
            Axiom::PerLocation => self.per_location(x),
            Axiom::HappensBefore => self.happens_before(x),
            Axiom::Causality => self.causal(x),
            Axiom::Atomicity => x.atomic(),
            Axiom::Fences => self.fenced(x),
            Axiom::Sc => union([&x.po, &x.com(), &x.met(u64::MAX)]).acyclic(),
        }
    }

    /// A1.
    fn per_location(self, x: &Execution) -> bool {
        let reach = self.reach(x);
        let com = x.com();
        let within = x.po.and(&x.same_loc()).or(&com);
        let strong = x.set(|e| e.attr.atomic());
        let coherent = if self.data_coherent {
            let kept = x.pairs(|a, b| !(a.attr.atomic() && b.attr.atomic())).or(&reach);
            within.and(&kept)
        } else {
            within.from(strong).to(strong).and(&reach)
        };
        coherent.acyclic()
    }

    /// Synchronisation order: a paired write that releases, a later paired read of it that acquires; fences around atomics, too.
    pub fn so(self, x: &Execution) -> Rel {
        let same = x.same_loc();
        let releases = x.set(|e| self.role(e).releases);
        let acquires = x.set(|e| self.role(e).acquires);
        let seen = x.com().plus().and(&same);
        let atomics = x.set(|e| e.thread.is_some() && e.kind != Kind::Fence && e.attr.atomic());
        let paired = seen.from(releases).to(acquires);
        let fence = |rel: bool| {
            x.set(move |e| e.kind == Kind::Fence && if rel { e.attr.releases() } else { e.attr.acquires() })
        };
        let chain = x.rf.then(&x.rmw.then(&x.rf).star());
        let from = x.po.from(fence(true)).to(atomics & x.writes()).or(&Rel::identity(x.len(), releases));
        let to = x.po.from(atomics & x.reads()).to(fence(false)).or(&Rel::identity(x.len(), acquires));
        paired.or(&from.then(&chain).then(&to)).and(&self.reach(x)).or(&x.met(u64::MAX))
    }

    /// A2.
    fn happens_before(self, x: &Execution) -> bool {
        let hb = x.po.or(&self.so(x)).plus();
        x.com().then(&hb).irreflexive() && hb.irreflexive()
    }

    /// Program order that the compute unit keeps.
    fn kept(self, x: &Execution) -> Rel {
        let kept = x.pairs(|a, b| {
            let (p, q) = (self.role(a), self.role(b));
            let ordered = |r: Role| matches!(r.class, Effective::P | Effective::U);
            let fence = |e: &Event| e.kind == Kind::Fence;
            let same = !fence(a) && !fence(b) && a.loc == b.loc && a.attr.atomic() && b.attr.atomic();
            let pair = !fence(a) && !fence(b) && ordered(p) && ordered(q);
            same || pair || self.waits(b) || p.class == Effective::P || fence(a) || fence(b)
        });
        x.po.and(&kept)
    }

    /// A3.
    fn causal(self, x: &Execution) -> bool {
        let atomics = x.set(|e| e.attr.atomic() && e.kind != Kind::Fence);
        let strong = x.co.or(&x.fr).from(atomics).to(atomics).and(&self.reach(x));
        union([&self.kept(x), &x.dep(), &x.rmw, &x.rf, &strong]).acyclic()
    }

    /// A5.
    fn fenced(self, x: &Execution) -> bool {
        let fences = x.set(|e| e.kind == Kind::Fence && e.attr.sem == Sem::AcquireRelease);
        let seen = x.com().plus();
        x.po.from(fences).then(&seen).then(&x.po.to(fences)).and(&self.reach(x)).acyclic()
    }
}
