//! One kernel of a recording, as events.

use crate::memory::{Memory, Values};
use crate::{Model, Skipped};
use std::collections::HashMap;
use std::ops::Range;
use weft_litmus::model::drf::Effective;
use weft_litmus::test::Place;
use weft_recording::{Access, Fence, Head, Kind, Thread};
use weft_workload::op::{AmoKind, Class, Scope, Sem};

/// Number of an event.
pub type Id = u32;

/// The write that a location holds when the kernel begins.
pub const INIT: Id = Id::MAX;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Loads.
    Load,
    /// Stores.
    Store,
    /// Reads, modifies and writes, at once.
    Amo(AmoKind),
    /// Fence.
    Fence,
}

/// An operation of a thread.
#[derive(Clone, Debug)]
pub struct Op {
    /// Thread.
    pub thread: u32,
    /// Place in program order, without gaps.
    pub index: u32,
    /// Place in program order as recorded.
    pub place: u32,
    /// What it does.
    pub what: What,
    /// Class as the program says; of a fence D.
    pub class: Class,
    /// Class under the model.
    pub effective: Effective,
    /// It reads, and what follows happens after what it synchronises with.
    pub acquires: bool,
    /// What is before it is complete before it is sent; of an operation that writes: it publishes that.
    pub releases: bool,
    /// How far it reaches.
    pub scope: Scope,
    /// Remote scope promotion.
    pub remote: bool,
    /// The program has used a value that it read.
    pub used: bool,
    /// Events, one per location.
    pub events: Range<Id>,
    /// Operations of the thread, by place, that it depends on through values stored.
    pub data: Vec<u32>,
    /// Operations of the thread, by place, that have been awaited before it.
    pub awaited: Vec<u32>,
    /// Cycles of its first and last part.
    pub span: (u64, u64),
}

impl Op {
    /// It is no plain access and no fence.
    pub fn atomic(&self) -> bool {
        self.class != Class::D && self.what != What::Fence
    }

    /// Paired or unpaired.
    pub fn strong(&self) -> bool {
        self.what != What::Fence && matches!(self.effective, Effective::P | Effective::U)
    }
}

/// What an operation does to one location; a read-modify-write is one event, since fabrics perform both halves at once.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Operation.
    pub op: u32,
    /// Location.
    pub loc: u32,
    /// Value found.
    pub read: Option<u32>,
    /// Value left.
    pub wrote: Option<u32>,
    /// Cycle in which the L1 took it.
    pub taken: u64,
    /// Cycle of its answer, or of its acceptance.
    pub done: u64,
    /// It was surely performed at `done`.
    pub performed: bool,
}

/// A word, or a byte of one that is accessed in parts.
#[derive(Clone, Debug)]
pub struct Loc {
    /// Byte address.
    pub addr: u64,
    /// Bytes: 4 or 1.
    pub size: u8,
    /// What it may hold at the beginning.
    pub init: Values,
    /// Events, by thread and place.
    pub events: Vec<Id>,
    /// Some access to it is no plain one.
    pub atomic: bool,
    /// It cannot be judged: an access of it was under way at the end.
    pub open: bool,
    /// Two of its atomics have scopes that do not include each other: their order is nobody's promise.
    pub mixed: bool,
}

/// A barrier as a thread sees it.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Operations from this place on are behind it.
    pub index: u32,
    /// Its number in the kernel.
    pub barrier: u32,
}

/// A thread of the kernel.
#[derive(Clone, Debug)]
pub struct ThreadOf {
    /// Where it is.
    pub thread: Thread,
    /// Its place, for scopes.
    pub place: Place,
    /// Its operations.
    pub ops: Range<u32>,
    /// Its barriers, in order; at place 0 what the group had passed before the thread did anything.
    pub cuts: Vec<Cut>,
}

/// One kernel.
pub struct Kernel {
    /// Name and first cycle.
    pub name: String,
    /// First cycle.
    pub cycle: u64,
    /// Threads.
    pub threads: Vec<ThreadOf>,
    /// Operations, by thread and place.
    pub ops: Vec<Op>,
    /// Events, by operation.
    pub events: Vec<Event>,
    /// Locations that are written.
    pub locs: Vec<Loc>,
    /// Barriers.
    pub barriers: u32,
    /// Reads of locations that nothing writes and that hold something else: operation, address, value, what memory holds.
    pub wrong: Vec<(u32, u64, u32, u32)>,
    /// Reads of locations that nothing writes.
    pub constant: u64,
    /// The model.
    pub model: Model,
    /// Nodes of a GPU, for names.
    pub gpms: u32,
    /// First operation of the thread that is being read.
    first: u32,
}

/// A kernel while it is read.
#[derive(Default)]
pub struct Gathered {
    /// Name.
    pub name: String,
    /// First cycle.
    pub cycle: u64,
    threads: Vec<(Thread, Vec<Cut>)>,
    /// Places in program order seen so far, of each thread.
    seen: Vec<u32>,
    accesses: Vec<Access>,
    fences: Vec<Fence>,
    open: Vec<Access>,
    barriers: u32,
    /// Last barrier of each work-group.
    groups: HashMap<u32, u32>,
}

impl Gathered {
    /// A kernel begins.
    pub fn new(name: String, cycle: u64) -> Gathered {
        Gathered { name, cycle, ..Gathered::default() }
    }

    /// A thread begins.
    pub fn thread(&mut self, thread: Thread) {
        let before = self.groups.get(&thread.block).map(|barrier| Cut { index: 0, barrier: *barrier });
        self.threads.push((thread, before.into_iter().collect()));
        self.seen.push(0);
    }

    /// An access is complete; false if its thread has not begun.
    #[must_use]
    pub fn access(&mut self, access: Access) -> bool {
        let known = self.see(access.thread, access.index);
        self.accesses.push(access);
        known
    }

    /// A fence is complete; false if its thread has not begun.
    #[must_use]
    pub fn fence(&mut self, fence: Fence) -> bool {
        let known = self.see(fence.thread, fence.index);
        self.fences.push(fence);
        known
    }

    /// An access was under way at the end.
    #[must_use]
    pub fn open(&mut self, access: Access) -> bool {
        let known = (access.thread as usize) < self.seen.len();
        self.open.push(access);
        known
    }

    fn see(&mut self, thread: u32, index: u32) -> bool {
        let Some(seen) = self.seen.get_mut(thread as usize) else { return false };
        *seen = (*seen).max(index + 1);
        true
    }

    /// The barrier of a work-group opens.
    pub fn barrier(&mut self, block: u32) {
        for ((thread, cuts), seen) in self.threads.iter_mut().zip(&self.seen) {
            if thread.block == block {
                cuts.push(Cut { index: *seen, barrier: self.barriers });
            }
        }
        self.groups.insert(block, self.barriers);
        self.barriers += 1;
    }

    /// The kernel as events, when memory holds `memory` at its beginning.
    pub fn kernel(mut self, memory: &Memory, head: &Head, model: Model, skipped: &mut Skipped) -> Kernel {
        let words = Words::of(&self);
        skipped.open += self.open.len() as u64;
        let mut k = Kernel {
            name: self.name,
            cycle: self.cycle,
            threads: Vec::new(),
            ops: Vec::new(),
            events: Vec::new(),
            locs: Vec::new(),
            barriers: self.barriers,
            wrong: Vec::new(),
            constant: 0,
            model,
            gpms: head.gpms.max(1),
            first: 0,
        };
        self.accesses.sort_by_key(|a| (a.thread, a.index, a.taken));
        self.fences.sort_by_key(|f| (f.thread, f.index));
        let (mut accesses, mut fences) =
            (self.accesses.into_iter().peekable(), self.fences.into_iter().peekable());
        let mut locs = HashMap::new();
        for (number, (thread, cuts)) in (0..).zip(self.threads) {
            let first = k.ops.len() as u32;
            k.first = first;
            loop {
                let next = accesses.peek().filter(|a| a.thread == number).map(|a| a.index);
                let fence = fences.peek().filter(|f| f.thread == number).map(|f| f.index);
                match (next, fence) {
                    (None, None) => break,
                    (next, Some(index)) if next.is_none_or(|next| index < next) => {
                        k.fence(fences.next().expect("seen"));
                    }
                    _ => k.access(accesses.next().expect("seen"), head, &words, memory, &mut locs),
                }
            }
            let (cpu, gpu) = (thread.cu < head.cores, thread.node / k.gpms);
            let place = Place { cpu, gpu, cu: thread.node % k.gpms * 4096 + thread.cu };
            let ops = &k.ops[first as usize..];
            let index = |place: u32| ops.partition_point(|op| op.place < place) as u32;
            let cuts = cuts.iter().map(|cut| Cut { index: index(cut.index), ..*cut }).collect();
            k.threads.push(ThreadOf { thread, place, ops: first..k.ops.len() as u32, cuts });
        }
        k.mark_used();
        k.mark_mixed();
        for access in &self.open {
            for (word, _) in words_of(access) {
                (0..4).for_each(|byte| {
                    locs.get(&(word * 4 + byte)).iter().for_each(|loc| k.locs[**loc as usize].open = true)
                });
            }
        }
        k
    }
}

/// Words of an access, by number, and which bytes of each.
fn words_of(access: &Access) -> impl Iterator<Item = (u64, u8)> + '_ {
    let words = (0..32).map(|n| (access.addr / 4 + n, (access.mask >> (4 * n) & 15) as u8));
    words.filter(|(_, bytes)| *bytes != 0)
}

/// Which words are written, and which are accessed in parts.
struct Words(HashMap<u64, (bool, bool)>);

impl Words {
    fn of(gathered: &Gathered) -> Words {
        let mut words: HashMap<u64, (bool, bool)> = HashMap::new();
        for access in gathered.accesses.iter().chain(&gathered.open).filter(|a| a.kind != Kind::Load) {
            words_of(access).for_each(|(word, bytes)| {
                let (_, parts) = words.entry(word).or_insert((true, false));
                *parts |= bytes != 15;
            });
        }
        for access in gathered.accesses.iter().filter(|a| a.kind == Kind::Load) {
            for (word, bytes) in words_of(access).filter(|(_, bytes)| *bytes != 15) {
                words.entry(word).and_modify(|(_, parts)| *parts |= bytes != 15);
            }
        }
        Words(words)
    }
}

/// Pieces of an access that are locations: byte address, size, and place in its bytes.
fn pieces(access: &Access, words: &Words) -> Vec<(u64, u8, usize)> {
    let (mut out, mut at) = (Vec::new(), 0);
    for (word, bytes) in words_of(access) {
        let whole = bytes == 15 && words.0.get(&word).is_none_or(|(_, parts)| !parts);
        if whole {
            out.push((word * 4, 4, at));
            at += 4;
            continue;
        }
        for byte in (0..4).filter(|byte| bytes >> byte & 1 == 1) {
            out.push((word * 4 + byte, 1, at));
            at += 1;
        }
    }
    out
}

fn value(bytes: &[u8], at: usize, size: u8) -> Option<u32> {
    let bytes = bytes.get(at..at + usize::from(size))?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)))
}

impl Kernel {
    fn fence(&mut self, fence: Fence) {
        let at = self.events.len() as Id;
        self.ops.push(Op {
            thread: fence.thread,
            index: self.ops.len() as u32 - self.first,
            place: fence.index,
            what: What::Fence,
            class: Class::D,
            effective: Effective::D,
            acquires: matches!(fence.sem, Sem::Acquire | Sem::AcquireRelease),
            releases: matches!(fence.sem, Sem::Release | Sem::AcquireRelease),
            scope: fence.scope,
            remote: false,
            used: false,
            events: at..at,
            data: Vec::new(),
            awaited: fence.awaited,
            span: (fence.taken, fence.done),
        });
    }

    fn access(
        &mut self,
        access: Access,
        head: &Head,
        words: &Words,
        memory: &Memory,
        locs: &mut HashMap<u64, u32>,
    ) {
        let pieces = pieces(&access, words);
        let same = |op: &Op| (op.thread, op.place) == (access.thread, access.index);
        if !self.ops.last().is_some_and(same) {
            self.ops.push(self.operation(&access));
        }
        let op = self.ops.len() as u32 - 1;
        let performed = match access.kind {
            Kind::Load => false,
            Kind::Store => access.acked && !head.posted,
            Kind::Amo(_) => true,
        };
        for (addr, size, at) in pieces {
            let (read, wrote) = (value(&access.read, at, size), value(&access.written, at, size));
            if !words.0.contains_key(&(addr / 4)) {
                self.constant += 1;
                let holds = memory.read(addr, size);
                if let Some(found) = read.filter(|found| !holds.contains(found)) {
                    self.wrong.push((op, addr, found, holds.first().copied().unwrap_or(0)));
                }
                continue;
            }
            let loc = *locs.entry(addr).or_insert_with(|| {
                let init = memory.read(addr, size);
                self.locs.push(Loc {
                    addr,
                    size,
                    init,
                    events: Vec::new(),
                    atomic: false,
                    open: false,
                    mixed: false,
                });
                self.locs.len() as u32 - 1
            });
            let of = &mut self.locs[loc as usize];
            of.events.push(self.events.len() as Id);
            of.atomic |= access.class != Class::D;
            let (taken, done) = (access.taken, access.done);
            self.events.push(Event { op, loc, read, wrote, taken, done, performed });
        }
        let (end, op) = (self.events.len() as Id, &mut self.ops[op as usize]);
        op.events.end = end;
        op.span = (op.span.0.min(access.taken), op.span.1.max(access.done));
    }

    fn operation(&self, access: &Access) -> Op {
        let what = match access.kind {
            Kind::Load => What::Load,
            Kind::Store => What::Store,
            Kind::Amo(kind) => What::Amo(kind),
        };
        let effective = self.model.level.effective(access.class);
        let promoted = access.class != Class::P;
        let paired = effective == Effective::P;
        let at = self.events.len() as Id;
        let sem = |one: Sem| promoted || access.sem == one || access.sem == Sem::AcquireRelease;
        Op {
            thread: access.thread,
            index: self.ops.len() as u32 - self.first,
            place: access.index,
            what,
            class: access.class,
            effective,
            acquires: paired && what != What::Store && sem(Sem::Acquire),
            releases: paired && what != What::Load && sem(Sem::Release),
            scope: access.scope,
            remote: access.remote,
            used: false,
            events: at..at,
            data: access.data.clone(),
            awaited: access.awaited.clone(),
            span: (access.taken, access.done),
        }
    }

    fn mark_used(&mut self) {
        let mut used = Vec::new();
        for op in &self.ops {
            let of = &self.threads[op.thread as usize];
            used.extend(op.data.iter().chain(&op.awaited).filter_map(|index| self.find(of, *index)));
        }
        for op in used {
            self.ops[op as usize].used = self.ops[op as usize].what != What::Store;
        }
    }

    fn mark_mixed(&mut self) {
        if !self.model.scopes {
            return;
        }
        for at in 0..self.locs.len() {
            let mut kinds: Vec<&Op> = Vec::new();
            for op in self.locs[at].events.iter().map(|id| self.op(*id)).filter(|op| op.atomic()) {
                let place = |op: &Op| self.threads[op.thread as usize].place;
                let same = |o: &&Op| (o.scope, o.remote, place(o)) == (op.scope, op.remote, place(op));
                if !kinds.iter().any(same) {
                    kinds.push(op);
                }
            }
            let apart = |a: &&Op| kinds.iter().any(|b| !self.inclusive(a, b));
            self.locs[at].mixed = kinds.iter().any(apart);
        }
    }

    /// The operation at a place of a thread, as recorded.
    pub fn find(&self, of: &ThreadOf, place: u32) -> Option<u32> {
        let ops = &self.ops[of.ops.start as usize..of.ops.end as usize];
        let at = ops.partition_point(|op| op.place <= place).checked_sub(1)?;
        (ops[at].place == place).then_some(of.ops.start + at as u32)
    }

    /// Operation of an event.
    pub fn op(&self, event: Id) -> &Op {
        &self.ops[self.events[event as usize].op as usize]
    }

    /// An event.
    pub fn event(&self, event: Id) -> &Event {
        &self.events[event as usize]
    }

    /// Whether two operations' scopes include each other's threads.
    pub fn inclusive(&self, a: &Op, b: &Op) -> bool {
        if !self.model.scopes || a.remote || b.remote {
            return true;
        }
        let (x, y) = (self.threads[a.thread as usize].place, self.threads[b.thread as usize].place);
        x.reaches(a.scope, y) && y.reaches(b.scope, x)
    }
}
