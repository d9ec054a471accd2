//! What a thread can do, taken alone: every path through its code, with every value that its reads might find.
//!
//! A read may find any value that some write of the test can leave at that location; which of them it does find is decided when threads are put together
//! ([`crate::execution`]). Loops are unrolled: a path that goes back more often than [`Bounds::turns`] is left out.

use crate::relation::{MOST, Set};
use crate::test::{Attr, Expr, Instr, Op, Test, Thread};
use std::collections::BTreeMap;
use thiserror::Error;
use weft_workload::op::Class;

/// Addresses are numbers from here, so that registers may hold them.
pub(crate) const ADDRESSES: i64 = 1 << 40;

/// What no program writes.
const FRESH: i64 = 0x5eed;

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
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { turns: 2, paths: 20_000, steps: 50_000_000, quantum: false }
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
    /// Of a read-modify-write; a compare that fails has a read only.
    pub rmw: bool,
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
    out: Vec<Path>,
}

#[derive(Clone)]
struct State {
    pc: usize,
    turns: u32,
    ctrl: Set,
    path: Path,
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
    }
}

/// Value of an expression, and the reads that it comes from.
fn value_of(expr: &Expr, regs: &[i64], from: &[Set]) -> (i64, Set) {
    match expr {
        Expr::Const(value) => (*value, 0),
        Expr::Addr(loc) => (ADDRESSES + *loc as i64, 0),
        Expr::Reg(reg) => (regs[*reg], from[*reg]),
        Expr::Bin(op, a, b) => {
            let ((a, x), (b, y)) = (value_of(a, regs, from), value_of(b, regs, from));
            (compute(*op, a, b), x | y)
        }
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
                    let (value, from) = value_of(value, &state.path.regs, &state.path.from);
                    (state.path.regs[*dst], state.path.from[*dst]) = (value, from);
                }
                Instr::Branch { if_, to } => {
                    let (value, from) = value_of(if_, &state.path.regs, &state.path.from);
                    state.ctrl |= from;
                    state.path.used |= from;
                    if value != 0 {
                        state.turns += u32::from(*to <= at);
                        if state.turns > self.bounds.turns {
                            return Ok(());
                        }
                        state.pc = *to;
                    }
                }
                Instr::Fence { attr } => {
                    self.event(&mut state, Kind::Fence, (0, 0), 0, (0, 0), *attr, false, at);
                }
                Instr::Store { at: address, value, attr } => {
                    let (value, data) = value_of(value, &state.path.regs, &state.path.from);
                    let place = self.place(&state, address, at)?;
                    let values = self.left(place.0, *attr, value);
                    for other in &values[1..] {
                        let mut next = state.clone();
                        self.event(&mut next, Kind::Write, place, *other, (data, place.1), *attr, false, at);
                        self.run(next)?;
                    }
                    self.event(&mut state, Kind::Write, place, values[0], (data, place.1), *attr, false, at);
                }
                Instr::Load { dst, at: address, attr } => {
                    let place = self.place(&state, address, at)?;
                    return self.each_value(&state, place, at, None, *attr, Some(*dst));
                }
                Instr::Rmw { dst, at: address, kind, value, compare, attr } => {
                    let place = self.place(&state, address, at)?;
                    let (value, data) = value_of(value, &state.path.regs, &state.path.from);
                    let (compare, more) = value_of(compare, &state.path.regs, &state.path.from);
                    let cas = *kind == weft_workload::op::AmoKind::Cas;
                    let write = |old: i64| {
                        let new = kind.apply(4, true, old as u64, value as u64, compare as u64) as u32;
                        (!cas || old == compare).then_some((i64::from(new as i32), data | more))
                    };
                    return self.each_value(&state, place, at, Some(&write), *attr, *dst);
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

    /// Location of an address expression, and the reads that it comes from.
    fn place(&self, state: &State, address: &Expr, instr: usize) -> Result<(usize, Set), EnumError> {
        let (value, from) = value_of(address, &state.path.regs, &state.path.from);
        let loc = usize::try_from(value - ADDRESSES).ok().filter(|loc| *loc < self.test.locs.len());
        let test = || self.test.name.clone();
        loc.map(|loc| (loc, from)).ok_or_else(|| EnumError::Address {
            test: test(),
            thread: self.number,
            instr,
            value,
        })
    }

    fn event(
        &self,
        state: &mut State,
        kind: Kind,
        (loc, addr): (usize, Set),
        value: i64,
        (data, used): (Set, Set),
        attr: Attr,
        rmw: bool,
        instr: usize,
    ) -> usize {
        let ctrl = state.ctrl;
        let free = kind == Kind::Read && self.quantum(attr);
        let thread = Some(self.number);
        state.path.used |= data | used;
        assert!(state.path.events.len() < MOST, "a path of more than {MOST} events was not refused");
        state.path.events.push(Event { thread, kind, loc, value, attr, rmw, free, instr, data, addr, ctrl });
        state.path.events.len() - 1
    }

    /// Goes on with every value that the read may find; `write` is what a read-modify-write leaves for it, and what that comes from.
    fn each_value(
        &mut self,
        state: &State,
        place: (usize, Set),
        instr: usize,
        write: Option<&dyn Fn(i64) -> Option<(i64, Set)>>,
        attr: Attr,
        dst: Option<usize>,
    ) -> Result<(), EnumError> {
        for old in self.domain[place.0].keys().copied() {
            let rmw = write.is_some();
            let written = write.and_then(|write| write(old));
            let left: Vec<Option<(i64, Set)>> = match written {
                Some((new, data)) => {
                    self.left(place.0, attr, new).into_iter().map(|new| Some((new, data))).collect()
                }
                None => vec![None],
            };
            for written in left {
                let mut next = state.clone();
                let read = self.event(&mut next, Kind::Read, place, old, (0, place.1), attr, rmw, instr);
                if let Some((new, data)) = written {
                    self.event(&mut next, Kind::Write, place, new, (data, place.1), attr, true, instr);
                }
                if let Some(dst) = dst {
                    (next.path.regs[dst], next.path.from[dst]) = (old, 1 << read);
                }
                self.run(next)?;
            }
        }
        Ok(())
    }
}

/// Instructions that may access a location.
fn accesses(test: &Test, loc: usize) -> impl Iterator<Item = &Instr> {
    test.threads.iter().flat_map(|t| &t.code).filter(move |instr| match instr {
        Instr::Load { at, .. } | Instr::Store { at, .. } | Instr::Rmw { at, .. } => {
            !matches!(at, Expr::Addr(other) if *other != loc)
        }
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
    let regs = t.start.iter().map(|start| value_of(start, &[], &[]).0).collect();
    let path = Path { regs, from: vec![0; t.regs.len()], ..Path::default() };
    let found = (0..test.locs.len()).map(|loc| found(test, loc)).collect();
    let mut walk = Walk { test, number: thread, thread: t, domain, bounds, found, out: Vec::new() };
    walk.run(State { pc: 0, turns: 0, ctrl: 0, path })?;
    Ok(walk.out)
}

/// Paths of every thread, with every value that some write can leave.
///
/// A value that takes more writes to its location than any execution has is left out: else counters would count for ever.
///
/// # Errors
/// As [`paths_of`].
pub fn all_paths(test: &Test, bounds: Bounds) -> Result<Vec<Vec<Path>>, EnumError> {
    let (mut domain, paths) = written(test, Bounds { quantum: false, ..bounds })?;
    if !bounds.quantum {
        return Ok(paths);
    }
    for (loc, values) in domain.iter_mut().enumerate() {
        let class = |instr: &Instr| match instr {
            Instr::Load { attr, .. } | Instr::Store { attr, .. } | Instr::Rmw { attr, .. } => attr.class,
            _ => Class::D,
        };
        if accesses(test, loc).any(|instr| class(instr) == Class::Q) {
            values.extend([0, 1, FRESH].map(|value| (value, 0)));
        }
    }
    (0..test.threads.len()).map(|t| paths_of(test, t, &domain, bounds)).collect()
}

/// Values that writes can leave, and the paths that they are found on.
fn written(test: &Test, bounds: Bounds) -> Result<(Domain, Vec<Vec<Path>>), EnumError> {
    let mut domain: Domain = test.locs.iter().map(|loc| BTreeMap::from([(loc.init, 0)])).collect();
    let mut rounds = 0;
    loop {
        let threads = 0..test.threads.len();
        let paths = threads.map(|t| paths_of(test, t, &domain, bounds)).collect::<Result<Vec<_>, _>>()?;
        let most: Vec<u32> = (0..test.locs.len()).map(|loc| most_writes(&paths, loc)).collect();
        let mut grown = false;
        for path in paths.iter().flatten() {
            for (n, event) in path.events.iter().enumerate().filter(|(_, e)| e.kind == Kind::Write) {
                let depth = depth(path, n, &domain);
                let known = domain[event.loc].get(&event.value).is_some_and(|before| *before <= depth);
                if !known && depth <= most[event.loc] {
                    domain[event.loc].insert(event.value, depth);
                    grown = true;
                }
            }
        }
        rounds += 1;
        // A chain of values over several locations is no longer than all writes together.
        if !grown || rounds > most.iter().sum::<u32>() {
            return Ok((domain, paths));
        }
    }
}

/// Most writes to a location in one execution.
fn most_writes(paths: &[Vec<Path>], loc: usize) -> u32 {
    let of =
        |path: &Path| path.events.iter().filter(|e| e.kind == Kind::Write && e.loc == loc).count() as u32;
    paths.iter().map(|thread| thread.iter().map(of).max().unwrap_or(0)).sum()
}

/// Writes to its own location that the value of a path's write takes, itself included.
fn depth(path: &Path, write: usize, domain: &Domain) -> u32 {
    let event = &path.events[write];
    let own = if event.rmw { 1 << (write - 1) } else { 0 };
    let from = path
        .events
        .iter()
        .enumerate()
        .filter(|(n, e)| (event.data | own) >> n & 1 == 1 && e.loc == event.loc);
    1 + from.filter_map(|(_, e)| domain[e.loc].get(&e.value)).max().copied().unwrap_or(0)
}
