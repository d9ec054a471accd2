//! Races of a run on the ideal machine (`cu-and-consistency.md` section 5.1): happens-before by vector clocks.
//!
//! Threads are waves, whose lanes go in lockstep. `hb` is program order, barriers of a work-group, and synchronisation:
//! every paired write that releases is before every later paired read of the same word that acquires. Only class P makes
//! such order, as under `drf1` and `drfrlx`, which makes the check the strictest of the models. Scopes count as SYS, and
//! all of a launch is before the next.
//!
//! One run shows the races of its own order only; other orders of waves may show others.
//!
//! A store of class C is held not to commute with another one, though the model lets stores of one value do.

use std::collections::HashMap;
use std::fmt;

use super::local::Moved;
use super::{active, word_addresses};
use crate::mapping::{MapKind, Mapping};
use crate::op::{Access, AmoKind, Class, LaneMask, LdsAccess, Op, Sem};
use crate::program::{Array, Kernel, Program};

/// Races kept in full; further ones are counted only.
const KEPT: usize = 16;

/// What a run's races are.
#[derive(Clone, Debug, Default)]
pub struct Races {
    /// The first ones.
    pub list: Vec<Race>,
    /// How many there are.
    pub count: u64,
}

/// Kind of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaceKind {
    /// At least one access is of class D.
    Data,
    /// At least one access is of class C, and the two do not commute or a value loaded by either is wanted.
    Commutative,
}

/// Two conflicting accesses of different threads that nothing orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// Kind.
    pub kind: RaceKind,
    /// Kernel.
    pub kernel: String,
    /// Element of an array, or byte of a scratchpad.
    pub place: String,
    /// The access that the run made first.
    pub first: Side,
    /// The other.
    pub second: Side,
}

/// One access of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Work-group.
    pub block: u32,
    /// Wave of the work-group.
    pub wave: u32,
    /// Class.
    pub class: Class,
    /// What it does to the word.
    pub touch: Touch,
}

/// What an access does to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Loads it.
    Load,
    /// Stores it.
    Store,
    /// Read-modify-write; whether the old value is wanted.
    Amo(AmoKind, bool),
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { block, wave, class, touch } = self;
        write!(f, "{touch:?} of class {class:?} by work-group {block} wave {wave}")
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, kernel, place, first, second } = self;
        write!(f, "{kind:?} race in kernel {kernel} at {place}: {first}, {second}")
    }
}

impl Touch {
    fn writes(self) -> bool {
        self != Self::Load
    }

    fn reads(self) -> bool {
        self != Self::Store
    }

    /// Whether a program uses what it loads, as far as an operation says so.
    fn wanted(self) -> bool {
        matches!(self, Self::Load | Self::Amo(_, true))
    }

    fn commutes(self, other: Self) -> bool {
        use AmoKind::{Add, And, Dec, Inc, Max, Min, Or, Sub, Xor};
        let (Self::Amo(a, _), Self::Amo(b, _)) = (self, other) else { return false };
        match (a, b) {
            (Add | Sub, Add | Sub) => true,
            (a, b) => a == b && matches!(a, And | Or | Xor | Min | Max | Inc | Dec),
        }
    }
}

/// Times of the other threads that a thread knows of; a thread beyond the end is at 0.
#[derive(Clone, Debug, Default)]
struct Clock(Vec<u32>);

impl Clock {
    fn of(&self, thread: u32) -> u32 {
        self.0.get(thread as usize).copied().unwrap_or(0)
    }

    fn set(&mut self, thread: u32, time: u32) {
        let index = thread as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        self.0[index] = time;
    }

    fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(own, theirs)| *own = (*own).max(*theirs));
    }
}

/// What a thread knows; its own time stands in its clock.
#[derive(Clone, Debug, Default)]
struct Thread {
    clock: Clock,
    /// Clock at its last fence that released.
    fenced: Clock,
    /// What its atomic reads would have acquired; a fence that acquires takes it.
    seen: Clock,
}

/// One access, as a word remembers it.
#[derive(Clone, Copy, Debug)]
struct Mark {
    thread: u32,
    time: u32,
    class: Class,
    touch: Touch,
    /// Bytes of the word, bit 0 = the lowest.
    bytes: u8,
}

impl Mark {
    fn race(&self, other: &Self) -> Option<RaceKind> {
        if self.bytes & other.bytes == 0 || !(self.touch.writes() || other.touch.writes()) {
            return None;
        }
        if self.class == Class::D || other.class == Class::D {
            return Some(RaceKind::Data);
        }
        let commutative = self.class == Class::C || other.class == Class::C;
        let harmless = self.touch.commutes(other.touch) && !self.touch.wanted() && !other.touch.wanted();
        (commutative && !harmless).then_some(RaceKind::Commutative)
    }

    /// Whether whatever races with `self` races with `later`, too, which is after it.
    fn covered(&self, later: &Self) -> bool {
        let data = later.class == Class::D && (later.touch.writes() || self.touch == Touch::Load);
        self.bytes & !later.bytes == 0 && (data || (self.class, self.touch) == (later.class, later.touch))
    }
}

/// A 4-byte word: of the memory (space 0), or of the scratchpad of work-group `space - 1`.
type Place = (u32, u64);

/// Follows one run.
#[derive(Clone, Debug)]
pub(super) struct RaceCheck {
    arrays: Vec<Array>,
    kernel: String,
    waves: u32,
    threads: Vec<Thread>,
    marks: HashMap<Place, Vec<Mark>>,
    /// What a paired read of a word acquires.
    sync: HashMap<Place, Clock>,
    /// What is before a mapping's copy to the local memory is over, or before its copy back begins, by work-group.
    maps: HashMap<(u32, MapKind, Mapping), Clock>,
    pub(super) races: Races,
}

impl RaceCheck {
    pub(super) fn new(program: &dyn Program) -> Self {
        Self {
            arrays: program.arrays().to_vec(),
            kernel: String::new(),
            waves: 1,
            threads: vec![],
            marks: HashMap::new(),
            sync: HashMap::new(),
            maps: HashMap::new(),
            races: Races::default(),
        }
    }

    /// A launch begins: everything so far is before it.
    pub(super) fn launch(&mut self, kernel: &Kernel) {
        self.kernel.clone_from(&kernel.name);
        self.waves = kernel.waves_per_block.max(1);
        self.threads = vec![Thread::default(); (kernel.blocks * self.waves) as usize];
        (0..).zip(&mut self.threads).for_each(|(id, thread)| thread.clock.set(id, 1));
        self.marks.clear();
        self.sync.clear();
        self.maps.clear();
    }

    /// A barrier opens: what its work-group has done is before what it does from now on.
    pub(super) fn barrier(&mut self, block: u32) {
        let first = (block * self.waves) as usize;
        let group = &mut self.threads[first..first + self.waves as usize];
        let mut all = Clock::default();
        group.iter().for_each(|thread| all.join(&thread.clock));
        for (id, thread) in (first as u32..).zip(group) {
            thread.clock.join(&all);
            thread.clock.set(id, all.of(id) + 1);
        }
    }

    /// A wave executes an operation whose lanes and addresses are legal.
    pub(super) fn observe(&mut self, block: u32, wave: u32, op: &Op) {
        let thread = block * self.waves + wave;
        match op {
            Op::Load { access, .. } => self.global(thread, access, Touch::Load),
            Op::Store { access, .. } => self.global(thread, access, Touch::Store),
            Op::Amo { access, kind, ret, .. } => self.global(thread, access, Touch::Amo(*kind, *ret)),
            Op::LdsLoad { access, .. } => self.local(thread, access, Class::D, Touch::Load),
            Op::LdsStore { access, .. } => self.local(thread, access, Class::D, Touch::Store),
            Op::LdsAmo { access, kind, .. } => {
                self.local(thread, access, Class::N, Touch::Amo(*kind, false));
            }
            Op::Fence { sem, .. } => self.fence(thread, *sem),
            Op::Map { .. } | Op::StashLoad { .. } | Op::StashStore { .. } => {}
            Op::Compute { .. } | Op::Barrier | Op::Await { .. } | Op::End => {}
        }
    }

    /// A wave executes a mapping, upon which elements are copied or not. Copying to the local memory is before what any wave does behind its
    /// operation; copying back is behind what all have done before theirs.
    pub(super) fn mapped(
        &mut self,
        block: u32,
        wave: u32,
        moved: Option<Moved>,
        kind: MapKind,
        map: &Mapping,
    ) {
        let thread = block * self.waves + wave;
        let key = (block, kind, *map);
        if kind == MapKind::DmaOut {
            let own = &mut self.threads[thread as usize].clock;
            self.maps.entry(key).or_default().join(own);
            own.set(thread, own.of(thread) + 1);
        }
        if let Some(moved) = moved {
            if let (Moved::Out, Some(before)) = (moved, self.maps.get(&key)) {
                self.threads[thread as usize].clock.join(before);
            }
            let (reads, writes) = (Touch::Load, Touch::Store);
            let (global, local) = if moved == Moved::In { (reads, writes) } else { (writes, reads) };
            let words = |from: &dyn Fn(u32) -> u64| -> Vec<(u64, u8)> {
                (0..map.count)
                    .flat_map(|i| (0..u64::from(map.element / 4)).map(move |w| (from(i) / 4 + w, 15)))
                    .collect()
            };
            self.mark(thread, 0, &words(&|i| map.global_of(i)), Class::D, global);
            self.mark(thread, 1 + block, &words(&|i| map.local_of(i)), Class::D, local);
        }
        if kind == MapKind::DmaIn {
            let own = &mut self.threads[thread as usize].clock;
            if moved.is_some() {
                self.maps.insert(key, own.clone());
                own.set(thread, own.of(thread) + 1);
            } else if let Some(before) = self.maps.get(&key) {
                own.join(before);
            }
        }
    }

    fn fence(&mut self, thread: u32, sem: Sem) {
        let own = &mut self.threads[thread as usize];
        if matches!(sem, Sem::Acquire | Sem::AcquireRelease) {
            own.clock.join(&own.seen);
        }
        if matches!(sem, Sem::Release | Sem::AcquireRelease) {
            own.fenced.clone_from(&own.clock);
            own.clock.set(thread, own.clock.of(thread) + 1);
        }
    }

    fn global(&mut self, thread: u32, access: &Access, touch: Touch) {
        let words = words_of(access.mask, access.size, |lane| access.addrs.at(lane));
        if access.class != Class::D {
            let sem = effective(access, touch);
            words.iter().for_each(|(word, _)| self.synchronise(thread, (0, *word), access.class, sem, touch));
        }
        self.mark(thread, 0, &words, access.class, touch);
        let releases = matches!(effective(access, touch), Sem::Release | Sem::AcquireRelease);
        if access.class == Class::P && releases {
            let own = &mut self.threads[thread as usize].clock;
            own.set(thread, own.of(thread) + 1);
        }
    }

    fn local(&mut self, thread: u32, access: &LdsAccess, class: Class, touch: Touch) {
        let words = words_of(access.mask, access.size, |lane| access.addrs.at(lane));
        self.mark(thread, 1 + thread / self.waves, &words, class, touch);
    }

    fn synchronise(&mut self, thread: u32, place: Place, class: Class, sem: Sem, touch: Touch) {
        let own = &mut self.threads[thread as usize];
        let there = self.sync.entry(place).or_default();
        if touch.reads() {
            own.seen.join(there);
        }
        if class == Class::P && matches!(sem, Sem::Acquire | Sem::AcquireRelease) {
            own.clock.join(there);
        }
        if touch.writes() {
            there.join(&own.fenced);
        }
        if class == Class::P && matches!(sem, Sem::Release | Sem::AcquireRelease) {
            there.join(&own.clock);
        }
    }

    fn mark(&mut self, thread: u32, space: u32, words: &[(u64, u8)], class: Class, touch: Touch) {
        let clock = &self.threads[thread as usize].clock;
        let time = clock.of(thread);
        let mut found = vec![];
        for (at, &(word, bytes)) in words.iter().enumerate() {
            let new = Mark { thread, time, class, touch, bytes };
            let marks = self.marks.entry((space, word)).or_default();
            // Lanes of one store are threads that nothing orders.
            let twice = words[..at].iter().rev().take_while(|(w, _)| *w == word).any(|(_, b)| b & bytes != 0);
            if twice && class == Class::D && touch == Touch::Store {
                found.push((word, RaceKind::Data, new, new));
            }
            let ordered = |old: &Mark| clock.of(old.thread) >= old.time;
            let unordered = marks.iter().filter(|old| old.thread != thread && !ordered(old));
            found.extend(unordered.filter_map(|old| Some((word, old.race(&new)?, *old, new))));
            marks.retain(|old| !(ordered(old) && old.covered(&new)));
            marks.push(new);
        }
        for (word, kind, first, second) in found {
            self.report(space, word, kind, &first, &second);
        }
    }

    fn report(&mut self, space: u32, word: u64, kind: RaceKind, first: &Mark, second: &Mark) {
        self.races.count += 1;
        if self.races.list.len() == KEPT {
            return;
        }
        let addr = 4 * word;
        let holder = self.arrays.iter().find(|a| space == 0 && (a.addr..a.addr + a.bytes()).contains(&addr));
        let place = match (holder, space) {
            (Some(a), _) => format!("{}[{}]", a.name, (addr - a.addr) / a.element),
            (None, 0) => format!("address {addr:#x}"),
            (None, _) => format!("scratchpad byte {addr}"),
        };
        let side = |mark: &Mark| Side {
            block: mark.thread / self.waves,
            wave: mark.thread % self.waves,
            class: mark.class,
            touch: mark.touch,
        };
        let (first, second) = (side(first), side(second));
        self.races.list.push(Race { kind, kernel: self.kernel.clone(), place, first, second });
    }
}

/// What an access of a synchronising class orders: what it says, or the default of its kind.
fn effective(access: &Access, touch: Touch) -> Sem {
    match (access.sem, touch) {
        (Sem::Relaxed, Touch::Load) => Sem::Acquire,
        (Sem::Relaxed, Touch::Store) => Sem::Release,
        (Sem::Relaxed, Touch::Amo(..)) => Sem::AcquireRelease,
        (said, _) => said,
    }
}

/// The words that the active lanes touch, with their bytes, in ascending order.
fn words_of(mask: LaneMask, size: u8, addr: impl Fn(u32) -> u64) -> Vec<(u64, u8)> {
    let mut words: Vec<_> = active(mask).flat_map(|lane| word_addresses(addr(lane), size)).collect();
    words.sort_unstable();
    words
}
