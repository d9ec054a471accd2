//! How the programs with work queues synchronise: which order each access of the queues has in each scenario (srsp.md section 11).

use super::super::params::{Legal, ParamSpec, Params};
use super::super::round::Order;
use crate::op::{Class, Scope, Sem};

/// Parameter `sync`; `weft run` sets it to what the fabric's protocol is for.
pub const SYNC: ParamSpec = ParamSpec {
    name: "sync",
    default: "steal",
    legal: Legal::Choice(&["baseline", "scope", "steal", "remote", "atomic"]),
    unit: "",
    about: "Synchronisation of the queues: at GPU scope without stealing (baseline), at work-group scope without stealing (scope), at GPU scope with it (steal), owner at work-group \
            scope and thieves by remote operations (remote), unscoped atomics (atomic).",
};

/// A scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scenario {
    Baseline,
    Scope,
    Steal,
    Remote,
    Atomic,
}

/// The orders of one program's queue accesses.
#[derive(Clone, Copy, Debug)]
pub struct Sync {
    scenario: Scenario,
    /// What all CUs share: the GPU, or with several GPUs the system.
    all: Scope,
}

impl Sync {
    /// As the parameters `sync` and `gpus` say.
    pub fn new(params: &Params) -> Sync {
        let scenario = match params.text("sync") {
            "baseline" => Scenario::Baseline,
            "scope" => Scenario::Scope,
            "remote" => Scenario::Remote,
            "atomic" => Scenario::Atomic,
            _ => Scenario::Steal,
        };
        let all = if params.integer("gpus") == 1 { Scope::Gpu } else { Scope::Sys };
        Sync { scenario, all }
    }

    /// Work-groups take tasks of others.
    pub fn steals(self) -> bool {
        !matches!(self.scenario, Scenario::Baseline | Scenario::Scope)
    }

    /// An access of the queue's owner.
    pub fn owner(self, sem: Sem) -> Order {
        let near = matches!(self.scenario, Scenario::Scope | Scenario::Remote);
        self.paired(sem, if near { Scope::Cu } else { self.all }, false)
    }

    /// An access of a thief, or of anybody who is not the owner.
    pub fn other(self, sem: Sem) -> Order {
        self.paired(sem, self.all, self.scenario == Scenario::Remote)
    }

    /// A relaxed access that every CU sees.
    pub fn relaxed(self) -> Order {
        Order { class: Class::U, sem: Sem::Relaxed, scope: self.all, remote: false }
    }

    /// A thief's look at a queue that may be of an older state: with atomics, which need no scope, a plain load.
    pub fn hint(self) -> Order {
        match self.scenario {
            Scenario::Atomic => Order { class: Class::D, sem: Sem::Relaxed, scope: Scope::Cu, remote: false },
            _ => self.relaxed(),
        }
    }

    fn paired(self, sem: Sem, scope: Scope, remote: bool) -> Order {
        Order { class: Class::P, sem, scope, remote }
    }
}
