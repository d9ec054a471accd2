//! A litmus test, whatever it was written in: threads of few instructions on a few words, and a question about how it may end.

use std::fmt;
use weft_workload::op::{AmoKind, Class, Scope, Sem};

/// What a test is written in; it decides the model that its own verdict is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PTX with scopes (PTX ISA, memory consistency model).
    Ptx,
    /// AArch64 (Armv8).
    Aarch64,
    /// C with atomics (RC11).
    C11,
    /// OpenCL C with scopes (OpenCL 2.0 as repaired at POPL 2016).
    OpenCl,
    /// LISA with a scope tree (RMO of each scope).
    Lisa,
    /// Weft's own, with the access classes of `cu-and-consistency.md` section 1.3.
    Weft,
}

/// Where a thread runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// On a CPU core; `cu` is its number then.
    pub cpu: bool,
    /// GPU; of OpenCL, the device.
    pub gpu: u32,
    /// CU of that GPU; of PTX the CTA, of OpenCL the work-group: what shares an L1.
    pub cu: u32,
}

impl Place {
    /// Whether an access of this scope by a thread here reaches a thread there.
    pub fn reaches(self, scope: Scope, there: Place) -> bool {
        match scope {
            Scope::Sys => true,
            Scope::Gpu => self.cpu == there.cpu && self.gpu == there.gpu,
            Scope::Cu => self == there,
        }
    }
}

/// How an access is ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attr {
    /// Class (section 1.3).
    pub class: Class,
    /// What it orders, as written; of the own format by class and kind.
    pub sem: Sem,
    /// Sequentially consistent (`seq_cst`, `fence.sc`).
    pub sc: bool,
    /// How far it reaches.
    pub scope: Scope,
    /// Remote-scope promotion.
    pub remote: bool,
}

impl Attr {
    /// Whether it is no plain access.
    pub fn atomic(self) -> bool {
        self.class != Class::D
    }

    /// Whether later accesses stay behind it.
    pub fn acquires(self) -> bool {
        matches!(self.sem, Sem::Acquire | Sem::AcquireRelease)
    }

    /// Whether earlier accesses stay before it.
    pub fn releases(self) -> bool {
        matches!(self.sem, Sem::Release | Sem::AcquireRelease)
    }
}

/// A word of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loc {
    /// Name.
    pub name: String,
    /// Value at the start.
    pub init: i64,
    /// In memory that one work-group has for itself (OpenCL `local`).
    pub local: bool,
}

/// A register of a thread, by its place in [`Thread::regs`].
pub type Reg = usize;

/// What two values are joined by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Op {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Eq,
    Ne,
    Lt,
    Gt,
}

/// A value computed from registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A number.
    Const(i64),
    /// The address of a location, by its place in [`Test::locs`].
    Addr(usize),
    /// A register.
    Reg(Reg),
    /// Of two.
    Bin(Op, Box<Expr>, Box<Expr>),
}

/// An instruction. `at` is an expression that gives an address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Instr {
    Load {
        dst: Reg,
        at: Expr,
        attr: Attr,
    },
    Store {
        at: Expr,
        value: Expr,
        attr: Attr,
    },
    /// Read-modify-write; a CAS that fails writes nothing.
    Rmw {
        dst: Option<Reg>,
        at: Expr,
        kind: AmoKind,
        value: Expr,
        compare: Expr,
        attr: Attr,
    },
    Fence {
        attr: Attr,
    },
    Set {
        dst: Reg,
        value: Expr,
    },
    /// To instruction `to` (the end, if there is none) unless the value is 0.
    Branch {
        if_: Expr,
        to: usize,
    },
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Where it runs.
    pub place: Place,
    /// Names of its registers.
    pub regs: Vec<String>,
    /// What they hold at the start: a number or an address.
    pub start: Vec<Expr>,
    /// Its instructions.
    pub code: Vec<Instr>,
}

impl Thread {
    /// The register of this name, made (holding 0) if it is new.
    pub fn reg(&mut self, name: &str) -> Reg {
        self.regs.iter().position(|r| r == name).unwrap_or_else(|| {
            self.regs.push(name.into());
            self.start.push(Expr::Const(0));
            self.regs.len() - 1
        })
    }
}

/// What a condition asks of the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Cond {
    True,
    Reg {
        thread: usize,
        reg: Reg,
        equal: bool,
        value: i64,
    },
    /// Two registers of any threads.
    Regs {
        left: (usize, Reg),
        right: (usize, Reg),
        equal: bool,
    },
    Loc {
        loc: usize,
        equal: bool,
        value: i64,
    },
    Not(Box<Cond>),
    And(Vec<Cond>),
    Or(Vec<Cond>),
}

/// What is asked of the ends that meet the condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// Whether there is one (`exists`).
    Exists,
    /// That there is none (`~exists`).
    NotExists,
    /// That there is no other (`forall`).
    Forall,
}

/// How a test is judged by a model or by runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The state asked for must never be seen.
    Forbidden,
    /// It may be seen.
    Allowed,
    /// It holds at every end.
    Always,
}

impl Verdict {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Forbidden => "forbidden",
            Verdict::Allowed => "allowed",
            Verdict::Always => "always",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a run may end: the registers of every thread, then memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outcome {
    /// Of each thread.
    pub regs: Vec<Vec<i64>>,
    /// Of each location.
    pub mem: Vec<i64>,
}

impl Cond {
    /// Whether an end meets it.
    pub fn holds(&self, end: &Outcome) -> bool {
        match self {
            Cond::True => true,
            Cond::Reg { thread, reg, equal, value } => (end.regs[*thread][*reg] == *value) == *equal,
            Cond::Regs { left, right, equal } => {
                (end.regs[left.0][left.1] == end.regs[right.0][right.1]) == *equal
            }
            Cond::Loc { loc, equal, value } => (end.mem[*loc] == *value) == *equal,
            Cond::Not(part) => !part.holds(end),
            Cond::And(parts) => parts.iter().all(|part| part.holds(end)),
            Cond::Or(parts) => parts.iter().any(|part| part.holds(end)),
        }
    }

    /// Calls `see` with every register named.
    pub fn regs(&self, see: &mut dyn FnMut(usize, Reg)) {
        match self {
            Cond::True | Cond::Loc { .. } => {}
            Cond::Reg { thread, reg, .. } => see(*thread, *reg),
            Cond::Regs { left, right, .. } => {
                see(left.0, left.1);
                see(right.0, right.1);
            }
            Cond::Not(part) => part.regs(see),
            Cond::And(parts) | Cond::Or(parts) => parts.iter().for_each(|part| part.regs(see)),
        }
    }
}

/// A litmus test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Name.
    pub name: String,
    /// What it was written in.
    pub dialect: Dialect,
    /// Words of memory.
    pub locs: Vec<Loc>,
    /// Threads.
    pub threads: Vec<Thread>,
    /// What is asked of the ends.
    pub quantifier: Quantifier,
    /// Which ends are meant.
    pub condition: Cond,
    /// Verdicts that the file itself states (`expect`), by model; of the own format only.
    pub expect: Vec<(String, Verdict)>,
    /// Kinds of race that the file states (`race`), by model; of the own format only.
    pub races: Vec<(String, String)>,
}

impl Test {
    /// Verdict from the ends that are possible.
    pub fn judge<'a>(&self, ends: impl IntoIterator<Item = &'a Outcome>) -> Verdict {
        let (mut met, mut all) = (false, true);
        for end in ends {
            let holds = self.condition.holds(end);
            met |= holds;
            all &= holds;
        }
        match self.quantifier {
            Quantifier::Forall if all => Verdict::Always,
            Quantifier::Forall => Verdict::Allowed,
            _ if met => Verdict::Allowed,
            _ => Verdict::Forbidden,
        }
    }

    /// An instruction in words, as in Weft's own format: `r1 = R.P.gpu y`.
    ///
    /// # Panics
    /// No such instruction.
    pub fn instruction(&self, thread: usize, instr: usize) -> String {
        let regs = &self.threads[thread].regs;
        let text = |e: &Expr| self.expression(e, regs);
        let access = |kind: &str, attr: &Attr| {
            let scope = match attr.scope {
                Scope::Cu => ".cu",
                Scope::Gpu => ".gpu",
                Scope::Sys => "",
            };
            format!("{kind}.{:?}{scope}{}", attr.class, if attr.remote { ".rem" } else { "" })
        };
        match &self.threads[thread].code[instr] {
            Instr::Load { dst, at, attr } => format!("{} = {} {}", regs[*dst], access("R", attr), text(at)),
            Instr::Store { at, value, attr } => format!("{} {} {}", access("W", attr), text(at), text(value)),
            Instr::Rmw { dst, at, kind, value, compare, attr } => {
                let name = format!("{kind:?}").to_uppercase();
                let into = dst.map_or(String::new(), |dst| format!("{} = ", regs[dst]));
                let compare =
                    if *kind == AmoKind::Cas { format!("{} ", text(compare)) } else { String::new() };
                format!("{into}{} {} {compare}{}", access(&name, attr), text(at), text(value))
            }
            Instr::Fence { attr } => format!("F {:?} {:?}", attr.sem, attr.scope),
            Instr::Set { dst, value } => format!("{} = {}", regs[*dst], text(value)),
            Instr::Branch { if_, to } => format!("if {} to {to}", text(if_)),
        }
    }

    fn expression(&self, e: &Expr, regs: &[String]) -> String {
        match e {
            Expr::Const(value) => value.to_string(),
            Expr::Addr(loc) => self.locs[*loc].name.clone(),
            Expr::Reg(reg) => regs[*reg].clone(),
            Expr::Bin(op, a, b) => {
                let sign = match op {
                    Op::Add => "+",
                    Op::Sub => "-",
                    Op::And => "&",
                    Op::Or => "|",
                    Op::Xor => "^",
                    Op::Eq => "==",
                    Op::Ne => "!=",
                    Op::Lt => "<",
                    Op::Gt => ">",
                };
                format!("{} {sign} {}", self.expression(a, regs), self.expression(b, regs))
            }
        }
    }

    /// The location of this name.
    pub fn loc(&self, name: &str) -> Option<usize> {
        self.locs.iter().position(|loc| loc.name == name)
    }

    /// An end in words: registers that have names, then memory.
    pub fn describe(&self, end: &Outcome) -> String {
        let regs = self.threads.iter().enumerate().flat_map(|(t, thread)| {
            thread.regs.iter().enumerate().map(move |(r, name)| format!("{t}:{name}={}", end.regs[t][r]))
        });
        let mem = self.locs.iter().zip(&end.mem).map(|(loc, value)| format!("{}={value}", loc.name));
        regs.chain(mem).collect::<Vec<_>>().join(" ")
    }
}
