//! What a thread can do, taken alone: every path through its code, with every value that its reads might find.
//!
//! A read may find any value that some write of the test can leave at that location; which of them it does find is decided when threads are put together
//! ([`crate::execution`]), which values there are in [`crate::values`]. Loops are unrolled: a path that goes
//! back more often than [`Bounds::turns`] is left out.

use crate::relation::{MOST, Set};
use crate::test::{Attr, Barrier, Dialect, Expr, Instr, Op, Test, Thread};
use std::collections::BTreeMap;
use thiserror::Error;
use weft_workload::op::{AmoKind, Class};

/// Addresses are numbers from here, so that registers may hold them.
const ADDRESSES: i64 = 1 << 40;

/// From one address to the next: a number that a program adds to an address leads nowhere.
pub(crate) const STRIDE: i64 = 1 << 24;

/// The number that stands for the address of a location.
pub(crate) fn address(loc: usize) -> i64 {
    ADDRESSES + loc as i64 * STRIDE
}

/// The location, of so many, whose address a number is.
pub(crate) fn located(value: i64, locs: usize) -> Option<usize> {
    let offset = value.checked_sub(ADDRESSES).filter(|offset| offset % STRIDE == 0)?;
    usize::try_from(offset / STRIDE).ok().filter(|loc| *loc < locs)
}

/// What no program writes.
pub(crate) const FRESH: i64 = 0x5eed;

/// How far enumeration goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Backward branches of a path.
    pub turns: u32,
    /// Paths of a thread.
    pub paths: usize,
    /// Combinations of paths, values' sources and orders tried.
    pub steps: u64,
    /// Quantum accesses find and leave anything (section 5.1, Pq): a value that occurs at the location, 0, 1, or a fresh one.
    pub quantum: bool,
    /// Locations, a bit each, of which only coherent executions are looked at: a thread's accesses there
    /// follow the order of its writes, and nothing comes between the halves of a read-modify-write.
    pub coherent: Set,
    /// Values may come out of nothing: reads may find any number that the test names, if the execution then
    /// writes it.
    pub thin_air: bool,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { turns: 2, paths: 20_000, steps: 50_000_000, quantum: false, coherent: 0, thin_air: false }
    }
}

/// Why a test cannot be enumerated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum EnumError {
    #[error("thread {thread} of {test} has more than {most} paths; shorten it or give it fewer values")]
    Paths { test: String, thread: usize, most: usize },
    #[error("an execution of {test} has {events} events; at most {most} can be judged: shorten the test")]
    Events { test: String, events: usize, most: usize },
    #[error("{test} has more than {most} candidate executions; shorten the test")]
    Steps { test: String, most: u64 },
    #[error(
        "thread {thread} of {test}, instruction {instr}: {value} is no address; give its register a location"
    )]
    Address { test: String, thread: usize, instr: usize, value: i64 },
    #[error(
        "{test} accesses {loc} as {bytes} and as {other} bytes; only accesses of one size to a location are judged"
    )]
    Sizes { test: String, loc: String, bytes: u8, other: u8 },
}

/// Read, write or fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Read,
    Write,
    Fence,
}

/// An event of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Thread; `None` of an initial write.
    pub thread: Option<usize>,
    /// Read, write or fence.
    pub kind: Kind,
    /// Location; 0 of a fence.
    pub loc: usize,
    /// Value found or left; 0 of a fence.
    pub value: i64,
    /// How it is ordered.
    pub attr: Attr,
    /// Of a read-modify-write in one instruction; a compare that fails has a read only.
    pub rmw: bool,
    /// Of the write of a read-modify-write, or of a store exclusive, the place of its read in the path.
    pub read: Option<usize>,
    /// Of a barrier, where it meets others; its kind is that of a fence.
    pub meets: Option<Meeting>,
    /// A read whose value comes from nowhere (a quantum access of Pq).
    pub free: bool,
    /// Instruction it comes from.
    pub instr: usize,
    /// Reads of the thread (by place in the path) that the value written depends on.
    pub data: Set,
    /// Reads that the address depends on.
    pub addr: Set,
    /// Reads that decided that it happens.
    pub ctrl: Set,
    /// Reads that any of these depend on by a choice only (`CSEL`, the comparison of a `CAS`).
    pub picks: Picks,
}

/// Dependences by choice: of the value written, the address, and whether it happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Picks {
    pub data: Set,
    pub addr: Set,
    pub ctrl: Set,
}

/// A barrier on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// Which barrier of the program it is.
    pub site: u32,
    /// Its number.
    pub number: i64,
    /// Whether the thread waits there.
    pub waits: bool,
    /// Threads that must have come, at least; `None`: all that have this barrier in their code.
    pub least: Option<i64>,
}

/// Reads that a value comes from: through computations, and through a choice only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Deps {
    real: Set,
    pick: Set,
}

impl Deps {
    fn or(self, other: Deps) -> Deps {
        Deps { real: self.real | other.real, pick: self.pick | other.pick }
    }

    /// All of them, as something that only chooses.
    fn chooses(self) -> Deps {
        Deps { real: 0, pick: self.real | self.pick }
    }

    fn all(self) -> Set {
        self.real | self.pick
    }
}

/// One way through a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// In program order; the write of a read-modify-write follows its read.
    pub events: Vec<Event>,
    /// Registers at the end.
    pub regs: Vec<i64>,
    /// Reads, by place, whose values reach another operation.
    pub used: Set,
    /// Of each register, the reads that its last value comes from.
    pub from: Vec<Set>,
    /// Of each register, the reads that it comes from by a choice only.
    pub picked: Vec<Set>,
}

impl Path {
    fn set(&mut self, reg: usize, value: i64, deps: Deps) {
        (self.regs[reg], self.from[reg], self.picked[reg]) = (value, deps.real, deps.pick);
    }

    fn value(&self, expr: &Expr) -> (i64, Deps) {
        match expr {
            Expr::Const(value) => (*value, Deps::default()),
            Expr::Addr(loc) => (address(*loc), Deps::default()),
            Expr::Reg(reg) => (self.regs[*reg], Deps { real: self.from[*reg], pick: self.picked[*reg] }),
            Expr::Bin(op, a, b) => {
                let ((a, x), (b, y)) = (self.value(a), self.value(b));
                (compute(*op, a, b), x.or(y))
            }
            Expr::Select(if_, a, b) => {
                let (chosen, by) = self.value(if_);
                let (value, deps) = self.value(if chosen != 0 { a } else { b });
                (value, deps.or(by.chooses()))
            }
        }
    }
}

/// Values that may be found at each location, each with the fewest writes to that location that can lead to it.
pub type Domain = Vec<BTreeMap<i64, u32>>;

struct Walk<'a> {
    test: &'a Test,
    number: usize,
    thread: &'a Thread,
    domain: &'a Domain,
    bounds: Bounds,
    /// Locations that accesses other than quantum ones read.
    found: Vec<bool>,
    /// Locations that no other thread accesses.
    private: Vec<bool>,
    out: Vec<Path>,
}

#[derive(Clone)]
struct State {
    pc: usize,
    turns: u32,
    ctrl: Deps,
    /// The last exclusive load that no exclusive store has followed: its place in the path, and its location.
    monitor: Option<(usize, usize)>,
    path: Path,
}

/// What an event is about, beside its order.
#[derive(Clone, Copy, Default)]
struct About {
    loc: usize,
    addr: Deps,
    value: i64,
    data: Deps,
    rmw: bool,
    read: Option<usize>,
    meets: Option<Meeting>,
}

pub(crate) fn compute(op: Op, a: i64, b: i64) -> i64 {
    match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Eq => i64::from(a == b),
        Op::Ne => i64::from(a != b),
        Op::Lt => i64::from(a < b),
        Op::Gt => i64::from(a > b),
        Op::Le => i64::from(a <= b),
        Op::Ge => i64::from(a >= b),
        Op::Mul => a.wrapping_mul(b),
        Op::Shl => u32::try_from(b).ok().and_then(|b| a.checked_shl(b)).unwrap_or(0),
        Op::Shr => u32::try_from(b).ok().and_then(|b| (a as u64).checked_shr(b)).unwrap_or(0) as i64,
    }
}

impl Walk<'_> {
    fn run(&mut self, mut state: State) -> Result<(), EnumError> {
        while let Some(instr) = self.thread.code.get(state.pc) {
            let at = state.pc;
            state.pc += 1;
            let events = state.path.events.len();
            if events + 2 > MOST {
                return Err(EnumError::Events { test: self.test.name.clone(), events, most: MOST });
            }
            match instr {
                Instr::Set { dst, value } => {
                    let (value, deps) = state.path.value(value);
                    state.path.set(*dst, value, deps);
                }
                Instr::Branch { if_, to } => {
                    let (value, deps) = state.path.value(if_);
                    state.ctrl = state.ctrl.or(deps);
                    state.path.used |= deps.all();
                    if value != 0 {
                        state.turns += u32::from(*to <= at);
                        if state.turns > self.bounds.turns {
                            return Ok(());
                        }
                        state.pc = *to;
                    }
                }
                Instr::Fence { attr } => {
                    self.event(&mut state, Kind::Fence, About::default(), *attr, at);
                }
                Instr::Barrier(barrier) => self.barrier(&mut state, barrier, at),
                Instr::Store { at: address, value, attr } => {
                    let (value, data) = state.path.value(value);
                    let (loc, addr) = self.place(&state, address, at)?;
                    let about = |value| About { loc, addr, value, data, ..About::default() };
                    let values = self.left(loc, *attr, value);
                    for other in &values[1..] {
                        let mut next = state.clone();
                        self.event(&mut next, Kind::Write, about(*other), *attr, at);
                        self.run(next)?;
                    }
                    self.event(&mut state, Kind::Write, about(values[0]), *attr, at);
                }
                Instr::StoreExclusive { status, at: address, value, attr } => {
                    let (loc, addr) = self.place(&state, address, at)?;
                    let (value, data) = state.path.value(value);
                    let monitor = state.monitor.take();
                    // It may fail for no reason that the program sees.
                    let mut failed = state.clone();
                    failed.path.set(*status, 1, Deps::default());
                    self.run(failed)?;
                    let Some((read, _)) = monitor.filter(|(_, watched)| *watched == loc) else {
                        return Ok(());
                    };
                    let about = About { loc, addr, value, data, read: Some(read), ..About::default() };
                    self.event(&mut state, Kind::Write, about, *attr, at);
                    state.path.set(*status, 0, Deps::default());
                }
                Instr::Load { dst, at: address, attr } => {
                    let place = self.place(&state, address, at)?;
                    return self.each_value(&state, place, at, None, *attr, Some(*dst));
                }
                Instr::Rmw { dst, at: address, attr, .. } => {
                    let place = self.place(&state, address, at)?;
                    return self.each_value(&state, place, at, Some(instr), *attr, *dst);
                }
            }
        }
        if self.out.len() >= self.bounds.paths {
            let (test, most) = (self.test.name.clone(), self.bounds.paths);
            return Err(EnumError::Paths { test, thread: self.number, most });
        }
        self.out.push(state.path);
        Ok(())
    }

    fn barrier(&self, state: &mut State, barrier: &Barrier, at: usize) {
        let (number, deps) = state.path.value(&barrier.number);
        let least = barrier.least.as_ref().map(|least| state.path.value(least).0);
        let meets = Some(Meeting { site: barrier.site, number, waits: barrier.waits, least });
        let about = About { data: deps, meets, ..About::default() };
        self.event(state, Kind::Fence, about, barrier.attr, at);
    }

    /// What a read-modify-write leaves for what it finds, and what that comes from; of a CAS of AArch64 the
    /// comparison only chooses.
    fn written(&self, path: &Path, instr: &Instr, old: i64) -> Option<(i64, Deps)> {
        let Instr::Rmw { kind, value, compare, attr, .. } = instr else { return None };
        let ((value, data), (compare, by)) = (path.value(value), path.value(compare));
        if *kind == AmoKind::Cas && old != compare {
            return None;
        }
        let fits = |v: i64| i32::try_from(v).is_ok() || u32::try_from(v).is_ok();
        let apply = |bytes| kind.apply(bytes, true, old as u64, value as u64, compare as u64);
        let new = match (kind, attr.bytes) {
            // Registers may hold addresses.
            (AmoKind::Exch | AmoKind::Cas, 0 | 4) if !fits(value) => value,
            (_, 8) => apply(8) as i64,
            (_, bytes @ (1 | 2)) => apply(bytes) as i64,
            _ => i64::from(apply(4) as u32 as i32),
        };
        Some((new, data.or(if self.test.dialect == Dialect::Aarch64 { by.chooses() } else { by })))
    }

    fn quantum(&self, attr: Attr) -> bool {
        self.bounds.quantum && attr.class == Class::Q
    }

    /// What a write may leave: of a quantum access anything, if somebody else than quantum accesses can find it; never nothing.
    fn left(&self, loc: usize, attr: Attr, value: i64) -> Vec<i64> {
        match (self.quantum(attr), self.found[loc]) {
            (false, _) => vec![value],
            (true, false) => vec![0],
            (true, true) => self.domain[loc].keys().copied().collect(),
        }
    }

    /// What a read must find, where only this thread writes: its last write, under every model.
    fn known(&self, path: &Path, loc: usize) -> Option<i64> {
        let last = || path.events.iter().rev().find(|e| e.kind == Kind::Write && e.loc == loc);
        self.private[loc].then(|| last().map_or(self.test.locs[loc].init, |write| write.value))
    }

    /// Location of an address expression, and the reads that it comes from.
    fn place(&self, state: &State, address: &Expr, instr: usize) -> Result<(usize, Deps), EnumError> {
        let (value, from) = state.path.value(address);
        let loc = located(value, self.test.locs.len());
        let test = || self.test.name.clone();
        loc.map(|loc| (loc, from)).ok_or_else(|| EnumError::Address {
            test: test(),
            thread: self.number,
            instr,
            value,
        })
    }

    fn event(&self, state: &mut State, kind: Kind, about: About, attr: Attr, instr: usize) -> usize {
        let free = kind == Kind::Read && self.quantum(attr);
        state.path.used |= about.data.all() | about.addr.all();
        assert!(state.path.events.len() < MOST, "a path of more than {MOST} events was not refused");
        state.path.events.push(Event {
            thread: Some(self.number),
            kind,
            loc: about.loc,
            value: about.value,
            attr,
            rmw: about.rmw,
            read: about.read,
            meets: about.meets,
            free,
            instr,
            data: about.data.real,
            addr: about.addr.real,
            ctrl: state.ctrl.real,
            picks: Picks { data: about.data.pick, addr: about.addr.pick, ctrl: state.ctrl.pick },
        });
        state.path.events.len() - 1
    }

    /// Goes on with every value that a load or a read-modify-write may find.
    fn each_value(
        &mut self,
        state: &State,
        (loc, addr): (usize, Deps),
        instr: usize,
        rmw: Option<&Instr>,
        attr: Attr,
        dst: Option<usize>,
    ) -> Result<(), EnumError> {
        let known = self.known(&state.path, loc).map(|value| vec![value]);
        for old in known.unwrap_or_else(|| self.domain[loc].keys().copied().collect()) {
            let written = rmw.and_then(|rmw| self.written(&state.path, rmw, old));
            let left: Vec<Option<(i64, Deps)>> = match written {
                Some((new, data)) => {
                    self.left(loc, attr, new).into_iter().map(|new| Some((new, data))).collect()
                }
                None => vec![None],
            };
            let found = match attr.failed.filter(|_| rmw.is_some() && written.is_none()) {
                Some((sem, sc)) => Attr { sem, sc, ..attr },
                None => attr,
            };
            for written in left {
                let mut next = state.clone();
                let about = About { loc, addr, value: old, rmw: rmw.is_some(), ..About::default() };
                let read = self.event(&mut next, Kind::Read, about, found, instr);
                if let Some((value, data)) = written {
                    let about = About { value, data, read: Some(read), ..about };
                    self.event(&mut next, Kind::Write, about, attr, instr);
                }
                if attr.exclusive {
                    next.monitor = Some((read, loc));
                }
                if let Some(dst) = dst {
                    let deps = self.result(rmw, read, written.is_some());
                    next.path.set(dst, old, deps);
                }
                self.run(next)?;
            }
        }
        Ok(())
    }

    /// What the value found comes from: the read. A CAS of AArch64 that succeeds leaves what was expected,
    /// which the read has only confirmed.
    fn result(&self, rmw: Option<&Instr>, read: usize, wrote: bool) -> Deps {
        let found = Deps { real: 1 << read, pick: 0 };
        match rmw {
            Some(Instr::Rmw { kind: AmoKind::Cas, .. }) if wrote && self.test.dialect == Dialect::Aarch64 => {
                found.chooses()
            }
            _ => found,
        }
    }
}

/// Instructions that may access a location.
pub(crate) fn accesses(test: &Test, loc: usize) -> impl Iterator<Item = &Instr> {
    test.threads.iter().flat_map(move |t| accesses_of(t, loc))
}

pub(crate) fn accesses_of(thread: &Thread, loc: usize) -> impl Iterator<Item = &Instr> {
    thread.code.iter().filter(move |instr| match instr {
        Instr::Load { at, .. }
        | Instr::Store { at, .. }
        | Instr::StoreExclusive { at, .. }
        | Instr::Rmw { at, .. } => !matches!(at, Expr::Addr(other) if *other != loc),
        _ => false,
    })
}

/// Whether an access other than a quantum one may read a location.
fn found(test: &Test, loc: usize) -> bool {
    accesses(test, loc).any(|instr| match instr {
        Instr::Load { attr, .. } | Instr::Rmw { attr, .. } => attr.class != Class::Q,
        _ => false,
    })
}

/// All paths of a thread when its reads may find these values.
///
/// # Errors
/// More paths than the bounds allow, or an access to what is no location.
pub fn paths_of(test: &Test, thread: usize, domain: &Domain, bounds: Bounds) -> Result<Vec<Path>, EnumError> {
    let t = &test.threads[thread];
    let regs = t.start.iter().map(|start| Path::default().value(start).0).collect();
    let none = vec![0; t.regs.len()];
    let path = Path { regs, from: none.clone(), picked: none, ..Path::default() };
    let found = (0..test.locs.len()).map(|loc| found(test, loc)).collect();
    let of = |loc: usize| test.threads.iter().filter(|t| accesses_of(t, loc).next().is_some()).count();
    let single = test.aliases.is_empty() && !bounds.quantum;
    let private = (0..test.locs.len()).map(|loc| single && of(loc) <= 1).collect();
    let mut walk = Walk { test, number: thread, thread: t, domain, bounds, found, private, out: Vec::new() };
    walk.run(State { pc: 0, turns: 0, ctrl: Deps::default(), monitor: None, path })?;
    Ok(walk.out)
}
