//! A litmus test, whatever it was written in: threads of few instructions on a few words, and a question about how it may end.

use std::fmt;
use weft_workload::op::{AmoKind, Class, Scope, Sem};

/// Begins the name of a register that a reader has made for itself.
pub const HIDDEN: char = '%';

/// What a test is written in; it decides the model that its own verdict is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PTX with scopes (PTX ISA, memory consistency model).
    Ptx,
    /// AArch64 (Armv8).
    Aarch64,
    /// C with atomics (C11).
    C11,
    /// OpenCL C with scopes (OpenCL 2.0).
    OpenCl,
    /// LISA with a scope tree (RMO of each scope).
    Lisa,
    /// Weft's own, with the access classes of `cu-and-consistency.md` section 1.3.
    Weft,
}

/// Where a thread runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// Method of access (PTX ISA, memory consistency model, "Proxies"): accesses by different ones are ordered by
/// proxy fences only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Proxy {
    /// Ordinary loads and stores.
    #[default]
    Generic,
    /// Texture loads.
    Texture,
    /// Surface loads and stores.
    Surface,
    /// Constant loads.
    Constant,
    /// Between virtual addresses of one word; of a fence only.
    Alias,
}

/// Which memory a fence or barrier of OpenCL orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Region {
    /// Global and local.
    #[default]
    All,
    /// Global.
    Global,
    /// Local: that of a work-group.
    Local,
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
    /// Of a compare-and-swap that fails: what its read orders and whether it is sequentially consistent, if
    /// that differs.
    pub failed: Option<(Sem, bool)>,
    /// Method of access; of a fence, the one that it brings together with the generic one.
    pub proxy: Proxy,
    /// Virtual address of the word by which it is accessed ([`Alias::address`]).
    pub address: u8,
    /// Memory that a fence orders.
    pub region: Region,
    /// Bytes accessed; 0 where the format has words of one size only.
    pub bytes: u8,
    /// Exclusive (`LDXR`, `STXR`).
    pub exclusive: bool,
    /// An acquire that an earlier release may pass (`LDAPR`).
    pub rcpc: bool,
    /// The value read goes nowhere (an atomic of AArch64 whose destination is the zero register).
    pub unused: bool,
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

/// A further name of a word, which may be a virtual address of its own (PTX).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// Name.
    pub name: String,
    /// The word, by its place in [`Test::locs`].
    pub loc: usize,
    /// 0 if it is the same virtual address as the word's own name, else a number of its own.
    pub address: u8,
}

/// A word of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loc {
    /// Name.
    pub name: String,
    /// Value at the start.
    pub init: i64,
    /// In memory that one work-group has for itself (OpenCL `local`).
    pub local: bool,
    /// Declared as no atomic (OpenCL `int`, not `atomic_int`).
    pub plain: bool,
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
    Le,
    Ge,
    Mul,
    /// Shifts of 64-bit words; by 64 and more all is shifted out.
    Shl,
    Shr,
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
    /// The second if the first is not 0, else the third: by choice, not by a branch (`CSEL`).
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// Of two.
    pub fn bin(op: Op, a: Expr, b: Expr) -> Expr {
        Expr::Bin(op, Box::new(a), Box::new(b))
    }

    /// Calls `see` with every register named.
    pub fn regs(&self, see: &mut dyn FnMut(Reg)) {
        match self {
            Expr::Const(_) | Expr::Addr(_) => {}
            Expr::Reg(reg) => see(*reg),
            Expr::Bin(_, a, b) => {
                a.regs(see);
                b.regs(see);
            }
            Expr::Select(a, b, c) => [a, b, c].into_iter().for_each(|part| part.regs(see)),
        }
    }
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
    /// Writes if nobody else has written since the exclusive load before it; `status` is 0 then, else 1.
    StoreExclusive {
        status: Reg,
        at: Expr,
        value: Expr,
        attr: Attr,
    },
    Fence {
        attr: Attr,
    },
    /// Where threads of a work-group or CTA meet.
    Barrier(Barrier),
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

/// A barrier: barriers of one site and one number meet, those of threads that share an L1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// Which barrier of the program it is.
    pub site: u32,
    /// Its number, computed.
    pub number: Expr,
    /// Whether the thread waits there; one that only arrives does not.
    pub waits: bool,
    /// Threads that must have come, at least; `None`: all that have this barrier in their code.
    pub least: Option<Expr>,
    /// Memory that it orders.
    pub attr: Attr,
}

impl Instr {
    /// The register that it writes.
    pub fn writes(&self) -> Option<Reg> {
        match self {
            Instr::Load { dst, .. } | Instr::Set { dst, .. } => Some(*dst),
            Instr::Rmw { dst, .. } => *dst,
            Instr::StoreExclusive { status, .. } => Some(*status),
            Instr::Store { .. } | Instr::Fence { .. } | Instr::Barrier(_) | Instr::Branch { .. } => None,
        }
    }
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
    /// Those for which the test says so.
    pub given: Vec<Reg>,
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

    /// Whether a register has a value: from the start, or because an instruction writes it.
    pub fn gives(&self, reg: Reg) -> bool {
        self.given.contains(&reg) || self.code.iter().any(|instr| instr.writes() == Some(reg))
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

impl Quantifier {
    /// The verdict that a condition itself states: a question (`exists`) states none.
    pub fn states(self) -> Option<Verdict> {
        match self {
            Quantifier::Exists => None,
            Quantifier::NotExists => Some(Verdict::Forbidden),
            Quantifier::Forall => Some(Verdict::Always),
        }
    }
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

    /// Calls `see` with every number named.
    pub fn numbers(&self, see: &mut dyn FnMut(i64)) {
        match self {
            Cond::True | Cond::Regs { .. } => {}
            Cond::Reg { value, .. } | Cond::Loc { value, .. } => see(*value),
            Cond::Not(part) => part.numbers(see),
            Cond::And(parts) | Cond::Or(parts) => parts.iter().for_each(|part| part.numbers(see)),
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
    /// Further names of these words.
    pub aliases: Vec<Alias>,
    /// Threads.
    pub threads: Vec<Thread>,
    /// Which ends count at all (`filter`).
    pub filter: Cond,
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
    /// A test without threads that asks nothing.
    pub fn new(name: &str, dialect: Dialect) -> Test {
        Test {
            name: name.into(),
            dialect,
            locs: Vec::new(),
            aliases: Vec::new(),
            threads: Vec::new(),
            filter: Cond::True,
            quantifier: Quantifier::Exists,
            condition: Cond::True,
            expect: Vec::new(),
            races: Vec::new(),
        }
    }

    /// An end that the condition says there is none of, if it says so: one that meets a `~exists`, or that
    /// does not meet a `forall`.
    pub fn broken_by<'a>(&self, ends: impl IntoIterator<Item = &'a Outcome>) -> Option<&'a Outcome> {
        let bad = match self.quantifier {
            Quantifier::Exists => return None,
            Quantifier::NotExists => true,
            Quantifier::Forall => false,
        };
        ends.into_iter().find(|end| self.filter.holds(end) && self.condition.holds(end) == bad)
    }

    /// Whether an end counts and meets the condition.
    pub fn meets(&self, end: &Outcome) -> bool {
        self.filter.holds(end) && self.condition.holds(end)
    }

    /// Verdict from the ends that are possible.
    pub fn judge<'a>(&self, ends: impl IntoIterator<Item = &'a Outcome>) -> Verdict {
        let (mut met, mut all) = (false, true);
        for end in ends.into_iter().filter(|end| self.filter.holds(end)) {
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

    /// Some access is a remote operation.
    pub fn promotes(&self) -> bool {
        self.threads.iter().flat_map(|t| &t.code).any(|instr| match instr {
            Instr::Load { attr, .. }
            | Instr::Store { attr, .. }
            | Instr::Rmw { attr, .. }
            | Instr::StoreExclusive { attr, .. } => attr.remote,
            Instr::Fence { .. } | Instr::Barrier(_) | Instr::Set { .. } | Instr::Branch { .. } => false,
        })
    }

    /// The location of this name.
    pub fn loc(&self, name: &str) -> Option<usize> {
        self.locs.iter().position(|loc| loc.name == name)
    }
}
