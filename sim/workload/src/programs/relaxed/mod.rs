//! The study of relaxed atomics (`cu-and-consistency.md` section 7): one program for each use case of section 4.2 of the
//! dissertation, and graph programs whose sums do not depend on their order.
//!
//! Classes are in the programs, and the run's model makes them effective: `drf0` takes every atomic as paired, `drf1` the
//! relaxed ones as unpaired. The tree search of the study is that of the synchronisation microbenchmarks, betweenness
//! centrality that of the programs with CPU threads.
//!
//! Everything is at system scope.

pub mod flags;
pub mod hist;
pub mod pr_push;
pub mod queue;
pub mod reference;
pub mod seqlock;
pub mod split;

use super::params::{ParamSpec, size};
use super::round::Order;
use crate::op::{Class, Scope, Sem};

/// Parameter `blocks`; its default is each program's.
const fn blocks(default: &'static str) -> ParamSpec {
    size("blocks", default, 4096, "work-groups", "Work-groups.")
}

/// Parameter `group`; its default is each program's.
const fn group(default: &'static str) -> ParamSpec {
    size("group", default, 1024, "threads", "Threads of a work-group.")
}

/// A relaxed access.
const fn relaxed(class: Class) -> Order {
    Order::relaxed(class, Scope::Sys)
}

/// A paired access.
const fn paired(sem: Sem) -> Order {
    Order::paired(sem, Scope::Sys)
}
