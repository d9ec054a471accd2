//! The stacks: one for each CU, under a lock of its scope, and one for all.
//!
//! ```text
//! take:  LD.U own size, LD.U shared size                     (both 0: pause, begin again)
//!        own lock;  LD.U size;  if it is 0:
//!            one try of the shared lock;  up to half an own stack from there;  unlock it
//!        pop;  ST.U size;  (the work-group loads what is popped);  unlock
//! give:  own lock;  LD.U size;  push;  when full:
//!            shared lock;  the upper half goes there;  unlock it
//!        ST.U size;  unlock
//! ```
//! Sizes are looked at outside the locks, and so are unpaired throughout. Who holds both locks took the own one first.

use super::super::super::machine::Spot;
use super::super::super::params::Params;
use super::super::super::round::{Atomic, Order, Round};
use super::super::super::simt::{Memory, Thread};
use super::super::backoff::Backoff;
use super::super::setting::Setting;
use crate::data;
use crate::op::{AmoKind, Class, Scope, Sem};
use crate::program::VerifyError;

/// Slots; the program has those from [`S_FREE`] on.
const S_OWN: u64 = 0;
const S_SHARED: u64 = 1;
const S_DONE: u64 = 2;
const S_LOCK: u64 = 3;
const S_UNLOCK: u64 = 4;
const S_UNLOCK2: u64 = 5;
const S_SIZE: u64 = 6;
const S_SIZE2: u64 = 7;
const S_MOVE: u64 = 16;
const S_MOVED: u64 = S_MOVE + BATCH;
/// First slot that is left to the program.
pub const S_FREE: u64 = S_MOVED + BATCH;

/// Items that a leader moves in a round.
const BATCH: u64 = 16;

/// Registers: where it is, what it does when it holds the lock, sizes of the two stacks, items to move and moved, failures.
const R_STATE: usize = 0;
const R_OWN: usize = 1;
const R_SHARED: usize = 2;
const R_COUNT: usize = 3;
const R_MOVED: usize = 4;
const R_FAILED: usize = 5;
/// Registers of a thread that the stacks use.
pub const REGISTERS: usize = 6;

/// States of a leader that takes.
const LOOK: u64 = 0;
const LOOKED: u64 = 1;
const TRIED: u64 = 2;
const SIZED: u64 = 3;
const SHARED_TRIED: u64 = 4;
const SHARED_SIZED: u64 = 5;
const REFILL: u64 = 6;
const REFILLED: u64 = 7;

/// States of a leader that gives.
const LOCK: u64 = 0;
const LOCKED: u64 = 1;
const OPEN: u64 = 2;
const PUSH: u64 = 3;
const PUSHED: u64 = 4;
const SPILL_LOCKED: u64 = 5;
const SPILL_SIZED: u64 = 6;
const SPILL: u64 = 7;
const SPILLED: u64 = 8;

/// What a leader has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Got {
    /// Nothing yet.
    Nothing,
    /// So many items from this one of the own stack on; the lock is held until [`Stacks::unlock`].
    Items(u64, u64),
    /// All nodes have been processed.
    End,
}

/// Stacks of node numbers.
#[derive(Clone, Debug)]
pub struct Stacks {
    cus: u64,
    nodes: u64,
    capacity: u64,
    backoff: Backoff,
    /// Lock and size of each stack, that of all after the CUs'.
    heads: usize,
    items: usize,
    shared: usize,
    /// Nodes processed.
    done: usize,
}

impl Stacks {
    /// Adds the arrays; the root, node 0, is on the stack of all.
    pub fn new(setting: &mut Setting, params: &Params, nodes: u64) -> Self {
        let (cus, capacity) = (setting.grid.cus(), params.integer("stack"));
        let mut heads = vec![0; 2 * (cus + 1) as usize];
        heads[2 * cus as usize + 1] = 1;
        let heads = setting.apart_with("stacks", &heads);
        let items = setting.base.zeros("stack_items", cus * capacity.next_multiple_of(setting.line));
        let shared = setting.base.add("shared_items", nodes, false, data::u32_bytes(&[0]));
        let done = setting.apart("processed", 1);
        Self { cus, nodes, capacity, backoff: Backoff::new(params), heads, items, shared, done }
    }

    fn lock_at(&self, setting: &Setting, stack: u64) -> u64 {
        setting.word(self.heads, 2 * stack)
    }

    fn size_at(&self, setting: &Setting, stack: u64) -> u64 {
        setting.word(self.heads, 2 * stack + 1)
    }

    /// Address of an item of a CU's stack.
    pub fn item(&self, setting: &Setting, spot: Spot, i: u64) -> u64 {
        setting.base.at(self.items, spot.cu * self.capacity.next_multiple_of(setting.line) + i)
    }

    fn scope(&self, setting: &Setting, stack: u64) -> Scope {
        if stack == self.cus { setting.grid.all } else { Scope::Cu }
    }

    fn size(&self, setting: &Setting, stack: u64, slot: u64, io: &mut Round) {
        let order = Order::relaxed(Class::U, self.scope(setting, stack));
        io.atomic(slot, Atomic::Load, 4, order, self.size_at(setting, stack), 0);
    }

    fn set_size(&self, setting: &Setting, stack: u64, slot: u64, size: u64, io: &mut Round) {
        let order = Order::relaxed(Class::U, self.scope(setting, stack));
        io.atomic(slot, Atomic::Store, 4, order, self.size_at(setting, stack), size);
    }

    fn attempt(&self, setting: &Setting, stack: u64, io: &mut Round) {
        let acquire = Order::paired(Sem::Acquire, self.scope(setting, stack));
        io.atomic(S_LOCK, Atomic::Amo(AmoKind::Cas, 0), 4, acquire, self.lock_at(setting, stack), 1);
    }

    fn free(&self, setting: &Setting, stack: u64, slot: u64, io: &mut Round) {
        let release = Order::paired(Sem::Release, self.scope(setting, stack));
        io.atomic(slot, Atomic::Store, 4, release, self.lock_at(setting, stack), 0);
    }

    /// Unlocks the stack of a thread's CU.
    pub fn unlock(&self, setting: &Setting, t: &Thread, io: &mut Round) {
        self.free(setting, setting.spot(t).cu, S_UNLOCK, io);
    }

    /// A node has been processed.
    pub fn processed(&self, setting: &Setting, slot: u64, io: &mut Round) {
        let order = Order::relaxed(Class::U, setting.grid.all);
        io.atomic(slot, Atomic::Amo(AmoKind::Add, 0), 4, order, setting.word(self.done, 0), 1);
    }

    fn wait(&self, r: &mut [u64], io: &mut Round) {
        io.pause(self.backoff.ticks(r[R_FAILED]));
        r[R_FAILED] += 1;
    }

    /// A round of a leader that takes at most `most` items; it begins with registers of zero.
    pub fn take(&self, setting: &Setting, t: &Thread, most: u64, r: &mut [u64], io: &mut Round) -> Got {
        let own = setting.spot(t).cu;
        match r[R_STATE] {
            LOOKED if t.index(S_DONE) == self.nodes => return Got::End,
            LOOKED if t.index(S_OWN) + t.index(S_SHARED) > 0 => {
                self.attempt(setting, own, io);
                r[R_STATE] = TRIED;
            }
            TRIED if t.index(S_LOCK) == 0 => {
                self.size(setting, own, S_SIZE, io);
                r[R_STATE] = SIZED;
            }
            SIZED if t.index(S_SIZE) > 0 => return self.pop(setting, own, t.index(S_SIZE), most, io),
            SIZED => {
                self.attempt(setting, self.cus, io);
                r[R_STATE] = SHARED_TRIED;
            }
            SHARED_TRIED if t.index(S_LOCK) == 0 => {
                self.size(setting, self.cus, S_SIZE, io);
                r[R_STATE] = SHARED_SIZED;
            }
            SHARED_TRIED => {
                io.fail();
                self.free(setting, own, S_UNLOCK, io);
                r[R_STATE] = LOOK;
            }
            SHARED_SIZED if t.index(S_SIZE) == 0 => {
                self.free(setting, self.cus, S_UNLOCK2, io);
                self.free(setting, own, S_UNLOCK, io);
                r[R_STATE] = LOOK;
            }
            SHARED_SIZED => {
                (r[R_SHARED], r[R_MOVED]) = (t.index(S_SIZE), 0);
                r[R_COUNT] = r[R_SHARED].min(self.capacity / 2);
                self.load(setting, t, true, r, io);
                r[R_STATE] = REFILL;
            }
            REFILL => {
                self.store(setting, t, false, r, io);
                if r[R_MOVED] < r[R_COUNT] {
                    self.load(setting, t, true, r, io);
                } else {
                    r[R_STATE] = REFILLED;
                }
            }
            REFILLED => {
                self.set_size(setting, self.cus, S_SIZE2, r[R_SHARED] - r[R_COUNT], io);
                self.free(setting, self.cus, S_UNLOCK2, io);
                return self.pop(setting, own, r[R_COUNT], most, io);
            }
            state => {
                if state == TRIED {
                    io.fail();
                }
                if state != LOOK {
                    self.wait(r, io);
                }
                self.size(setting, own, S_OWN, io);
                self.size(setting, self.cus, S_SHARED, io);
                let order = Order::relaxed(Class::U, setting.grid.all);
                io.atomic(S_DONE, Atomic::Load, 4, order, setting.word(self.done, 0), 0);
                r[R_STATE] = LOOKED;
            }
        }
        Got::Nothing
    }

    fn pop(&self, setting: &Setting, own: u64, size: u64, most: u64, io: &mut Round) -> Got {
        let count = size.min(most);
        self.set_size(setting, own, S_SIZE, size - count, io);
        Got::Items(size - count, count)
    }

    /// Loads the next items to move: the uppermost of the stack of all, or of the own one.
    fn load(&self, setting: &Setting, t: &Thread, shared: bool, r: &[u64], io: &mut Round) {
        for i in r[R_MOVED]..r[R_COUNT].min(r[R_MOVED] + BATCH) {
            let addr = match shared {
                true => setting.base.at(self.shared, r[R_SHARED] - r[R_COUNT] + i),
                false => self.item(setting, setting.spot(t), r[R_OWN] - r[R_COUNT] + i),
            };
            io.load(S_MOVE + i % BATCH, addr);
        }
    }

    /// Stores what has been loaded at the top of the other one.
    fn store(&self, setting: &Setting, t: &Thread, shared: bool, r: &mut [u64], io: &mut Round) {
        let to = r[R_COUNT].min(r[R_MOVED] + BATCH);
        for i in r[R_MOVED]..to {
            let addr = match shared {
                true => setting.base.at(self.shared, r[R_SHARED] + i),
                false => self.item(setting, setting.spot(t), i),
            };
            io.store(S_MOVED + i % BATCH, addr, t.index(S_MOVE + i % BATCH));
        }
        r[R_MOVED] = to;
    }

    /// A round of a leader that gives `count` items, which lie in the scratchpad from `list` on; it begins with registers of zero. Whether it
    /// has given all.
    pub fn give(
        &self,
        setting: &Setting,
        t: &Thread,
        (list, count): (u64, u64),
        given: &mut u64,
        r: &mut [u64],
        io: &mut Round,
    ) -> bool {
        let own = setting.spot(t).cu;
        match r[R_STATE] {
            LOCK => {
                self.attempt(setting, own, io);
                r[R_STATE] = LOCKED;
            }
            LOCKED | SPILL_LOCKED if t.index(S_LOCK) == 0 => {
                let stack = if r[R_STATE] == LOCKED { own } else { self.cus };
                self.size(setting, stack, S_SIZE, io);
                r[R_STATE] = if r[R_STATE] == LOCKED { OPEN } else { SPILL_SIZED };
            }
            LOCKED | SPILL_LOCKED => {
                io.fail();
                self.wait(r, io);
                self.attempt(setting, if r[R_STATE] == LOCKED { own } else { self.cus }, io);
            }
            OPEN => {
                r[R_OWN] = t.index(S_SIZE);
                return self.push(setting, t, (list, count), given, r, io);
            }
            PUSH => return self.push(setting, t, (list, count), given, r, io),
            PUSHED => {
                for i in 0..r[R_COUNT] {
                    let addr = self.item(setting, setting.spot(t), r[R_OWN] + i);
                    io.store(S_MOVED + i, addr, t.index(S_MOVE + i));
                }
                (r[R_OWN], *given) = (r[R_OWN] + r[R_COUNT], *given + r[R_COUNT]);
                r[R_STATE] = PUSH;
            }
            SPILL_SIZED => {
                (r[R_SHARED], r[R_MOVED]) = (t.index(S_SIZE), 0);
                r[R_COUNT] = self.capacity.div_ceil(2);
                self.load(setting, t, false, r, io);
                r[R_STATE] = SPILL;
            }
            SPILL => {
                self.store(setting, t, true, r, io);
                if r[R_MOVED] < r[R_COUNT] {
                    self.load(setting, t, false, r, io);
                } else {
                    r[R_STATE] = SPILLED;
                }
            }
            _ => {
                self.set_size(setting, self.cus, S_SIZE2, r[R_SHARED] + r[R_COUNT], io);
                self.free(setting, self.cus, S_UNLOCK2, io);
                (r[R_OWN], r[R_STATE]) = (r[R_OWN] - r[R_COUNT], PUSH);
            }
        }
        false
    }

    /// Loads the next items from the scratchpad, or asks for the lock of the stack of all if the own one is full, or unlocks.
    fn push(
        &self,
        setting: &Setting,
        t: &Thread,
        (list, count): (u64, u64),
        given: &u64,
        r: &mut [u64],
        io: &mut Round,
    ) -> bool {
        let own = setting.spot(t).cu;
        if *given == count {
            self.set_size(setting, own, S_SIZE, r[R_OWN], io);
            self.free(setting, own, S_UNLOCK, io);
            return true;
        }
        if r[R_OWN] == self.capacity {
            self.attempt(setting, self.cus, io);
            r[R_STATE] = SPILL_LOCKED;
            return false;
        }
        r[R_COUNT] = BATCH.min(count - given).min(self.capacity - r[R_OWN]);
        (0..r[R_COUNT]).for_each(|i| io.lds_load(S_MOVE + i, list + 4 * (given + i)));
        r[R_STATE] = PUSHED;
        false
    }

    /// All stacks are empty and unlocked, all nodes processed.
    pub fn verify(&self, setting: &Setting, memory: &Memory) -> Result<(), VerifyError> {
        let heads = vec![0u32; 2 * (self.cus + 1) as usize];
        setting.base.check(self.done, &setting.spread(&[self.nodes as u32]), memory)?;
        setting.base.check(self.heads, &setting.spread(&heads), memory)
    }
}
