//! The CPU threads and work-groups of a program, and how its work is divided among them.

use super::super::WorkloadError;
use super::super::params::{Legal, ParamSpec, Params};
use super::super::round::{Atomic, Order, Round};
use super::super::simt::{Base, Launch, Thread};
use crate::op::{AmoKind, Class, Hint, Scope, Sem};

/// Parameter `lanes`.
pub const LANES: ParamSpec = ParamSpec {
    name: "lanes",
    default: "32",
    legal: Legal::Integer { min: 1, max: 64 },
    unit: "lanes",
    about: "Lanes of a wave; a CPU thread has one.",
};

/// Parameter `group`.
pub const GROUP: ParamSpec = ParamSpec {
    name: "group",
    default: "256",
    legal: Legal::Integer { min: 1, max: 1024 },
    unit: "threads",
    about: "Threads of a work-group.",
};

/// Parameter `hints`.
pub const HINTS: ParamSpec = ParamSpec {
    name: "hints",
    default: "on",
    legal: Legal::Choice(&["on", "off"]),
    unit: "",
    about: "Accesses name the request that suits them best; an L1 without dynamic specialization ignores it.",
};

/// Parameter `atomics`.
pub const ATOMICS: ParamSpec = ParamSpec {
    name: "atomics",
    default: "as-is",
    legal: Legal::Choice(&["as-is", "paired"]),
    unit: "",
    about: "Updates whose order does not matter are commutative, which means unpaired where the model knows no relaxed ones (as-is), or paired.",
};

/// Parameter `privatise`.
pub const PRIVATISE: ParamSpec = ParamSpec {
    name: "privatise",
    default: "off",
    legal: Legal::Choice(&["on", "off"]),
    unit: "",
    about: "Bins are kept in each CU's scratchpad and each CPU thread's own memory, and merged by atomics (on), or updated in memory (off).",
};

/// Parameter `cpu_threads`.
pub const fn cpu_threads(default: &'static str, min: u64, about: &'static str) -> ParamSpec {
    ParamSpec { name: "cpu_threads", default, legal: Legal::Integer { min, max: 64 }, unit: "threads", about }
}

/// Parameter `blocks`.
pub const fn blocks(default: &'static str, min: u64, about: &'static str) -> ParamSpec {
    ParamSpec {
        name: "blocks",
        default,
        legal: Legal::Integer { min, max: 4096 },
        unit: "work-groups",
        about,
    }
}

/// Elements that a CPU thread and a thread of a CU access in one round.
const UNROLL: [u64; 2] = [8, 32];

/// Ticks between two looks at a word that another thread is to change.
pub const SPIN: u64 = 16;

/// Name, arrays and threads of a program. A *core* is a CPU thread or a work-group; CPU threads have the lower numbers.
#[derive(Clone, Debug)]
pub struct Team {
    /// Name, lanes and arrays.
    pub base: Base,
    /// CPU threads.
    pub cpus: u64,
    /// Work-groups.
    pub blocks: u64,
    /// Threads of a work-group.
    pub group: u64,
    hints: bool,
    paired: bool,
}

impl Team {
    /// As the parameters say, without CPU threads where there is no parameter for them; work-groups of `group` threads.
    ///
    /// # Errors
    /// There is no core at all.
    pub fn new(name: &'static str, params: &Params, group: u64) -> Result<Self, WorkloadError> {
        let cpus = if params.has("cpu_threads") { params.integer("cpu_threads") } else { 0 };
        let blocks = params.integer("blocks");
        if cpus + blocks == 0 {
            return Err(params.illegal("blocks", "at least 1 where cpu_threads is 0".to_owned()));
        }
        let base = Base::new(name, params);
        let is = |key, word| params.has(key) && params.text(key) == word;
        Ok(Self { base, cpus, blocks, group, hints: is("hints", "on"), paired: is("atomics", "paired") })
    }

    /// Cores.
    pub fn cores(&self) -> u64 {
        self.cpus + self.blocks
    }

    /// Core of a thread.
    pub fn core(&self, t: &Thread) -> u64 {
        if t.cpu { t.block } else { self.cpus + t.block }
    }

    /// Threads of a thread's core.
    pub fn width(&self, t: &Thread) -> u64 {
        if t.cpu { 1 } else { self.group }
    }

    /// All threads.
    pub fn threads(&self) -> u64 {
        self.cpus + self.blocks * self.group
    }

    /// Number of a thread among all.
    pub fn number(&self, t: &Thread) -> u64 {
        if t.cpu { t.block } else { self.cpus + t.id }
    }

    /// First of `count` things that core `core` has, cut contiguously into equal parts; those of the next core follow.
    pub fn first(&self, core: u64, count: u64) -> u64 {
        core * count / self.cores()
    }

    /// Batches in which the threads of a core go through `count` elements together.
    pub fn batches(&self, t: &Thread, count: u64) -> u64 {
        count.div_ceil(self.width(t) * UNROLL[usize::from(t.cpu)])
    }

    /// Elements of batch `batch` that are a thread's, each with its place in the batch, below [`Team::most`].
    pub fn batch(&self, t: &Thread, count: u64, batch: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (width, unroll, local) = (self.width(t), UNROLL[usize::from(t.cpu)], t.local);
        let element = move |i| (i, (batch * unroll + i) * width + local);
        (0..unroll).map(element).take_while(move |(_, e)| *e < count)
    }

    /// Elements of a batch that one thread has at most.
    pub const fn most() -> u64 {
        UNROLL[1]
    }

    /// The only launch.
    pub fn launch(&self, name: &'static str) -> Launch {
        let launch = Launch::new(name, 0, self.blocks * self.group, self.group as u32);
        launch.cpus(self.cpus).co_resident()
    }

    /// Gives the lane's accesses that follow a hint, if the program is to.
    pub fn hint(&self, io: &mut Round, hint: Hint) {
        io.hint(if self.hints { hint } else { Hint::default() });
    }

    /// Update of a 4-byte word whose order does not matter and whose old value nobody wants.
    pub fn update(&self, io: &mut Round, slot: u64, kind: AmoKind, addr: u64, value: u64) {
        if self.paired {
            io.arrive(slot, kind, addr, value, Scope::Sys);
        } else {
            io.reduce(slot, kind, 4, addr, value, Scope::Sys);
        }
    }
}

/// Loads a synchronisation word.
pub fn paired_load(io: &mut Round, slot: u64, addr: u64) {
    io.acquire(slot, addr, Scope::Sys);
}

/// Stores a synchronisation word.
pub fn paired_store(io: &mut Round, slot: u64, addr: u64, value: u64) {
    io.release(slot, addr, value, Scope::Sys);
}

/// Read-modify-write of a synchronisation word; the old value is there in the next round.
pub fn paired_amo(io: &mut Round, slot: u64, kind: AmoKind, addr: u64, value: u64) {
    let order = Order { class: Class::P, sem: Sem::AcquireRelease, scope: Scope::Sys, remote: false };
    io.atomic(slot, Atomic::Amo(kind, 0), 4, order, addr, value);
}
