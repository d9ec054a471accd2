//! What a judgement says.

use crate::kernel::{INIT, Id, Kernel, Loc, Op, What};
use serde::Serialize;
use std::fmt;
use weft_workload::op::{Class, Scope};

/// An axiom of section 5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Axiom {
    /// Every read finds what some write, or memory, holds.
    ReadsFrom,
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
    /// Of model sc.
    Sc,
}

impl Axiom {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Axiom::ReadsFrom => "reads-from",
            Axiom::PerLocation => "A1 per location",
            Axiom::HappensBefore => "A2 happens-before consistency",
            Axiom::Causality => "A3 causality",
            Axiom::Atomicity => "A4 atomicity",
            Axiom::Fences => "A5 fences",
            Axiom::Sc => "sc",
        }
    }
}

/// An access or fence as people read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// What it does: class, scope, address, values.
    pub what: String,
    /// Who does it.
    pub who: String,
    /// Place in program order.
    pub index: u32,
    /// First and last cycle.
    pub cycles: (u64, u64),
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = self.cycles;
        write!(f, "{} by {}, operation {}, cycles {from}..{to}", self.what, self.who, self.index)
    }
}

/// A step of a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Relation from the step before; of the first step none.
    pub relation: String,
    /// What it leads to.
    pub to: Named,
    /// Why the relation holds, if it is not plain.
    pub why: String,
}

/// A violation of an axiom by the hardware.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Axiom.
    pub axiom: &'static str,
    /// One sentence.
    pub text: String,
    /// Kernel.
    pub kernel: String,
    /// Cycle in which that begins.
    pub begin: u64,
    /// The cycle of relations; the last step is the first again.
    pub steps: Vec<Step>,
}

impl Violation {
    /// Of a kernel.
    pub fn new(k: &Kernel, axiom: Axiom, text: &str, steps: Vec<Step>) -> Violation {
        Violation { axiom: axiom.name(), text: text.into(), kernel: k.name.clone(), begin: k.cycle, steps }
    }

    /// First and last cycle of what it names.
    pub fn window(&self) -> (u64, u64) {
        let cycles = || self.steps.iter().map(|step| step.to.cycles);
        let from = cycles().map(|(from, _)| from).min().unwrap_or(self.begin);
        (from, cycles().map(|(_, to)| to).max().unwrap_or(self.begin))
    }
}

/// Value of a location in words.
fn shown(value: Option<u32>) -> String {
    value.map_or_else(
        String::new,
        |value| if value < 1 << 16 { value.to_string() } else { format!("{value:#x}") },
    )
}

fn class(op: &Op) -> String {
    let scope = match op.scope {
        Scope::Cu => ".cu",
        Scope::Gpu => ".gpu",
        Scope::Sys => "",
    };
    let scope = if op.class == Class::D && op.what != What::Fence { "" } else { scope };
    match op.what {
        What::Fence => {
            let sem = match (op.acquires, op.releases) {
                (true, true) => "ar",
                (true, false) => "acq",
                (false, true) => "rel",
                _ => "none",
            };
            format!("fence.{sem}{scope}")
        }
        What::Load => format!("R.{:?}{scope}", op.class),
        What::Store => format!("W.{:?}{scope}", op.class),
        What::Amo(kind) => format!("{}.{:?}{scope}", format!("{kind:?}").to_uppercase(), op.class),
    }
}

/// Who does an operation.
fn who(k: &Kernel, op: &Op) -> String {
    let of = &k.threads[op.thread as usize];
    let t = &of.thread;
    let node = match k.gpms {
        1 => format!("gpu{}", t.node),
        gpms => format!("gpu{} gpm{}", t.node / gpms, t.node % gpms),
    };
    let unit = if of.place.cpu { "core" } else { "cu" };
    format!("work-group {} wave {} ({node} {unit}{})", t.block, t.wave, t.cu)
}

fn what(k: &Kernel, loc: &Loc, id: Id) -> String {
    let (op, e) = (k.op(id), k.event(id));
    let values = match (e.read, e.wrote) {
        (Some(_), Some(_)) => format!("{} -> {}", shown(e.read), shown(e.wrote)),
        (Some(_), None) => format!("= {}", shown(e.read)),
        _ => format!(":= {}", shown(e.wrote)),
    };
    format!("{} [{:#x}] {values}", class(op), loc.addr)
}

/// An event in few words.
pub fn short(k: &Kernel, loc: &Loc, id: Id) -> String {
    if id == INIT {
        return format!("[{:#x}] at the beginning", loc.addr);
    }
    let of = &k.threads[k.op(id).thread as usize].thread;
    format!("{} (work-group {} wave {}, operation {})", what(k, loc, id), of.block, of.wave, k.op(id).place)
}

/// An event in full.
pub fn named(k: &Kernel, loc: &Loc, id: Id) -> Named {
    if id == INIT {
        let values: Vec<String> = loc.init.iter().map(|value| shown(Some(*value))).collect();
        let what = format!("[{:#x}] = {} at the beginning", loc.addr, values.join(" or "));
        return Named { what, who: "memory".into(), index: 0, cycles: (k.cycle, k.cycle) };
    }
    let (op, e) = (k.op(id), k.event(id));
    Named { what: what(k, loc, id), who: who(k, op), index: op.place, cycles: (e.taken, e.done) }
}

impl Step {
    /// The first step.
    pub fn start(k: &Kernel, loc: &Loc, id: Id) -> Step {
        Step::to(k, loc, "", id)
    }

    /// A step along a relation.
    pub fn to(k: &Kernel, loc: &Loc, relation: &str, id: Id) -> Step {
        Step { relation: relation.into(), to: named(k, loc, id), why: String::new() }
    }

    /// A step to an operation without events.
    pub fn fence(k: &Kernel, relation: &str, number: u32) -> Step {
        let op = &k.ops[number as usize];
        let to = Named { what: class(op), who: who(k, op), index: op.place, cycles: op.span };
        Step { relation: relation.into(), to, why: String::new() }
    }

    /// The same with a reason.
    pub fn because(self, why: &str) -> Step {
        Step { why: why.into(), ..self }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} (kernel {}, which begins in cycle {})",
            self.axiom, self.text, self.kernel, self.begin
        )?;
        for step in &self.steps {
            match step.relation.as_str() {
                "" => write!(f, "\n          {}", step.to)?,
                relation => write!(f, "\n    {relation:>5} {}", step.to)?,
            }
            if !step.why.is_empty() {
                write!(f, "\n          ({})", step.why)?;
            }
        }
        Ok(())
    }
}

/// An access of a race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Race {
    /// Kind.
    pub kind: &'static str,
    /// Kernel.
    pub kernel: String,
    /// One access.
    pub first: Named,
    /// The other.
    pub second: Named,
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} race in kernel {}:\n          {}\n          {}",
            self.kind, self.kernel, self.first, self.second
        )
    }
}
