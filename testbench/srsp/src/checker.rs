//! Is a run right under heterogeneous-race-freedom with remote promotion (srsp.md section 7, "Guarantees")?
//!
//! [`Scoreboard`] takes the events of a run as they happen, from the golden system or from a bench around the hardware:
//! - [`Scoreboard::issue`]: an L1 has accepted an operation of a wave;
//! - [`Scoreboard::performed`]: a synchronising access has been performed. The order of these calls is the order of the accesses to a variable. A bench sees it from outside:
//!   an atomic done in the L1 a fixed time before its answer, one done in a bank when the answer leaves the bank;
//! - [`Scoreboard::reply`]: the CU has the answer;
//! - [`Scoreboard::tick`]: time passes.
//!
//! It keeps happens-before by vector clocks: a release publishes what its wave knows, an acquire that reads it, or a read-modify-write behind it, learns that, if the
//! scopes allow: both in one CU, both at cmp scope or wider, or one of them remote. It notes:
//! - a plain load of a byte that no write has left which the load may see: one that is not overwritten by another write that happened before the load. In a program
//!   without heterogeneous races that is one value; races are not reported;
//! - an atomic whose old value is not that of the access before it;
//! - two waves that hold a declared lock; an operation that is not answered in time.

use crate::golden::msg::{CuOp, Scope, Sync};
use crate::golden::word::{Atomic, Data, LINE};
use std::collections::BTreeMap;
use weft_srsp::msg::SyncOp;

/// Which releases reach which acquires.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Model {
    /// Scopes and remote operations count.
    Scoped,
    /// Every atomic orders everything (hLRC).
    Global,
    /// Scopes do not count, orders do (DeNovo-B).
    Unscoped,
}

type Clock = Vec<u32>;

/// A plain write to a word of 4 bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Write {
    wave: usize,
    clock: u32,
    /// What its wave knew.
    seen: Clock,
    /// Bytes.
    mask: u8,
    value: u32,
}

impl Write {
    /// It happened before something in `wave` that knows `clock`.
    fn before(&self, wave: usize, clock: &Clock) -> bool {
        self.wave == wave || clock[self.wave] >= self.clock
    }
}

/// The last release that an acquire of a variable would see.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Head {
    cu: u8,
    scope: Scope,
    remote: bool,
    clock: Clock,
}

/// A variable of synchronising accesses.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Variable {
    value: u64,
    /// Releases of the sequence that ends with the last access.
    heads: Vec<Head>,
}

/// An operation that has been accepted and not answered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Open {
    wave: usize,
    op: CuOp,
    /// What its wave knew.
    clock: Clock,
    since: u64,
    performed: bool,
}

/// The checker.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    model: Model,
    /// CU of each wave.
    cus: Vec<u8>,
    initial: fn(u64) -> Data,
    patience: u64,
    now: u64,
    clocks: Vec<Clock>,
    /// Waves that have written since the last tick of their clock.
    fresh: Vec<bool>,
    /// Plain writes per word address.
    writes: BTreeMap<u64, Vec<Write>>,
    /// Per byte address.
    variables: BTreeMap<u64, Variable>,
    open: BTreeMap<u32, Open>,
    /// Declared locks and who holds them.
    locks: BTreeMap<u64, Option<usize>>,
    faults: Vec<String>,
}

impl std::hash::Hash for Scoreboard {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.clocks, &self.fresh, &self.writes, &self.variables, &self.locks, &self.faults).hash(state);
        self.open.iter().for_each(|(id, open)| (id, open.performed, &open.clock).hash(state));
    }
}

impl Scoreboard {
    /// Nothing has happened; memory holds `initial` of each line number. `cus` gives the CU of each wave.
    pub fn new(model: Model, cus: Vec<u8>, initial: fn(u64) -> Data) -> Scoreboard {
        let waves = cus.len();
        let clock = |wave: usize| (0..waves).map(|i| u32::from(i == wave)).collect();
        Scoreboard {
            model,
            initial,
            patience: u64::MAX,
            now: 0,
            clocks: (0..waves).map(clock).collect(),
            fresh: vec![false; waves],
            cus,
            writes: BTreeMap::new(),
            variables: BTreeMap::new(),
            open: BTreeMap::new(),
            locks: BTreeMap::new(),
            faults: Vec::new(),
        }
    }
    /// An operation that waits longer than this is a fault.
    pub fn patience(&mut self, time: u64) {
        self.patience = time;
    }
    /// The word at this address is a lock: taken by a CAS or EXCH that finds 0, free again by a store of 0.
    pub fn lock(&mut self, addr: u64) {
        self.locks.insert(addr, None);
    }
    /// What is wrong.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }
    /// Everything is answered.
    pub fn idle(&self) -> bool {
        self.open.is_empty()
    }
    /// Time passes.
    pub fn tick(&mut self, now: u64) {
        self.now = now;
        let late: Vec<u32> =
            self.open.iter().filter(|o| now - o.1.since > self.patience).map(|o| *o.0).collect();
        for id in late {
            if let Some(open) = self.open.remove(&id) {
                self.faults
                    .push(format!("wave {}: {:?} is not answered since {}", open.wave, open.op, open.since));
            }
        }
    }

    /// An L1 has accepted an operation. Ids of operations under way differ.
    pub fn issue(&mut self, wave: usize, id: u32, op: &CuOp) {
        if self.publishes(op) && std::mem::take(&mut self.fresh[wave]) {
            self.clocks[wave][wave] += 1;
        }
        let clock = self.clocks[wave].clone();
        match op {
            CuOp::Store { line, mask, data } => self.write(wave, *line, *mask, data),
            CuOp::Sync(sync) if sync.atomic.op == SyncOp::St && sync.atomic.opnd == 0 => {
                if let Some(holder) = self.locks.get_mut(&sync.atomic.addr) {
                    *holder = None;
                }
            }
            _ => {}
        }
        let open = Open { wave, op: *op, clock, since: self.now, performed: false };
        if self.open.insert(id, open).is_some() {
            self.faults.push(format!("request {id} is issued twice"));
        }
    }
    fn write(&mut self, wave: usize, line: u64, mask: u64, data: &Data) {
        let seen = self.clocks[wave].clone();
        self.fresh[wave] = true;
        for word in (0..16).filter(|word| mask >> (4 * word) & 0xf != 0) {
            let value = data.word(4 * word, false) as u32;
            let part = (mask >> (4 * word) & 0xf) as u8;
            let write = Write { wave, clock: seen[wave], seen: seen.clone(), mask: part, value };
            let list = self.writes.entry(line * LINE / 4 + word).or_default();
            list.push(write);
            prune(list, &self.clocks, &self.open);
        }
    }

    /// A synchronising access has been performed; later calls for the same variable are later accesses.
    pub fn performed(&mut self, id: u32, atomic: &Atomic, old: u64, wrote: bool) {
        let Some(open) = self.open.get_mut(&id).filter(|open| !open.performed) else {
            return self.faults.push(format!("request {id} is performed, but not under way"));
        };
        open.performed = true;
        let (wave, clock) = (open.wave, open.clock.clone());
        let issued = clock[wave] - 1;
        let CuOp::Sync(sync) = open.op else {
            return self.faults.push(format!("request {id} is performed, but it does not synchronise"));
        };
        if *atomic != sync.atomic {
            self.faults.push(format!("wave {wave}: {:?} is performed as {atomic:?}", sync.atomic));
        }
        let initial = (self.initial)(atomic.line());
        let fresh = || Variable { value: initial.word(atomic.addr % LINE, atomic.wide), heads: Vec::new() };
        let variable = self.variables.entry(atomic.addr).or_insert_with(fresh);
        if old != variable.value {
            let expected = variable.value;
            self.faults.push(format!(
                "wave {wave}: {atomic:?} found {old:#x}, the access before it left {expected:#x}"
            ));
        }
        let cu = self.cus[wave];
        if sync.sem.acquires() || self.model == Model::Global {
            for head in variable.heads.iter().filter(|head| reaches(self.model, head, cu, &sync)) {
                let known = &mut self.clocks[wave];
                known.iter_mut().zip(&head.clock).for_each(|(a, b)| *a = (*a).max(*b));
            }
        }
        if wrote {
            variable.value = atomic.result(old).unwrap_or(old);
            if atomic.op == SyncOp::St {
                variable.heads.clear();
            }
            if sync.sem.releases() || self.model == Model::Global {
                let mut clock = clock;
                clock.iter_mut().zip(&self.clocks[wave]).for_each(|(a, b)| *a = (*a).max(*b));
                clock[wave] = issued;
                let head = Head { cu, scope: sync.scope, remote: sync.remote, clock };
                variable.heads.retain(|old| old.cu != cu || !dominated(old, &head));
                variable.heads.push(head);
            }
        }
    }
    /// It publishes what its wave has written. Only what comes later is written at the next tick of the wave's clock; a wave that has written nothing since
    /// its last tick stays where it is, so that spinning is no progress.
    fn publishes(&self, op: &CuOp) -> bool {
        match op {
            CuOp::Sync(sync) => sync.sem.releases() || self.model == Model::Global,
            _ => false,
        }
    }

    /// The CU has the answer.
    pub fn reply(&mut self, id: u32, data: &Data) {
        let Some(open) = self.open.remove(&id) else {
            return self.faults.push(format!("request {id} is answered, but not under way"));
        };
        match open.op {
            CuOp::Load { line, mask } => self.loaded(&open, line, mask, data),
            CuOp::Sync(sync) => {
                if !open.performed {
                    self.faults
                        .push(format!("wave {}: {sync:?} is answered, but was not performed", open.wave));
                }
                let old = data.word(sync.atomic.addr % LINE, sync.atomic.wide);
                let takes = matches!(sync.atomic.op, SyncOp::Cas | SyncOp::Exch) && sync.atomic.opnd != 0;
                let holder = self.locks.get_mut(&sync.atomic.addr).filter(|_| takes && old == 0);
                if let Some(first) = holder.and_then(|holder| holder.replace(open.wave)) {
                    let text = format!("waves {first} and {} hold lock {:#x}", open.wave, sync.atomic.addr);
                    self.faults.push(text);
                }
            }
            CuOp::Store { .. } | CuOp::Begin | CuOp::End => {}
        }
    }
    fn loaded(&mut self, open: &Open, line: u64, mask: u64, data: &Data) {
        let initial = (self.initial)(line);
        for byte in (0..64).filter(|byte| mask >> byte & 1 == 1) {
            let addr = line * LINE + byte;
            let synchronises = [addr & !3, addr & !7].iter().any(|at| self.variables.contains_key(at));
            if synchronises {
                continue;
            }
            let found = data.byte(byte as usize);
            let none = Vec::new();
            let list = self.writes.get(&(addr / 4)).unwrap_or(&none);
            let allowed = allowed(list, open, addr % 4, initial.byte(byte as usize));
            if !allowed.contains(&found) {
                self.faults.push(format!(
                    "wave {}: byte {addr:#x} reads {found:#x}, allowed is {allowed:x?}",
                    open.wave
                ));
                return;
            }
        }
    }
}

/// Values that a load may see in a byte of a word.
fn allowed(list: &[Write], open: &Open, byte: u64, initial: u8) -> Vec<u8> {
    let of_byte: Vec<&Write> = list.iter().filter(|write| write.mask >> byte & 1 == 1).collect();
    let known = |write: &Write| write.before(open.wave, &open.clock);
    let mut values = Vec::new();
    if !of_byte.iter().any(|write| known(write)) {
        values.push(initial);
    }
    for (i, write) in of_byte.iter().enumerate() {
        let over = |later: &&&Write| write.before(later.wave, &later.seen) && known(later);
        if of_byte[i + 1..].iter().find(over).is_none() {
            values.push((write.value >> (8 * byte)) as u8);
        }
    }
    values
}

/// Forgets writes that nobody may see any more.
fn prune(list: &mut Vec<Write>, clocks: &[Clock], open: &BTreeMap<u32, Open>) {
    let everybody = |write: &Write| {
        clocks.iter().enumerate().all(|(wave, clock)| write.before(wave, clock))
            && open.values().all(|open| write.before(open.wave, &open.clock))
    };
    let gone: Vec<bool> = (0..list.len())
        .map(|i| {
            let write = &list[i];
            list[i + 1..].iter().any(|later| {
                later.mask & write.mask == write.mask
                    && write.before(later.wave, &later.seen)
                    && everybody(later)
            })
        })
        .collect();
    let mut gone = gone.into_iter();
    list.retain(|_| !gone.next().unwrap_or(false));
}

/// A release reaches an acquire of this CU.
fn reaches(model: Model, head: &Head, cu: u8, acquire: &Sync) -> bool {
    let wide = |scope: Scope| scope != Scope::Wg;
    let promoted = acquire.remote || head.remote;
    model != Model::Scoped || head.cu == cu || promoted || wide(head.scope) && wide(acquire.scope)
}

fn dominated(old: &Head, new: &Head) -> bool {
    let wider = new.remote || !old.remote && (new.scope != Scope::Wg || old.scope == Scope::Wg);
    wider && old.clock.iter().zip(&new.clock).all(|(a, b)| a <= b)
}
