//! Transaction entries (TBEs).
//!
//! ```text
//! REQ_g --+-------------------------> Fill ---- L3 ----+
//!         |                            ^               |
//!         +--> Evict -- all back ------+               +-> (its request commits) -> free, or Put -- WBAck -> free
//!         |                                            |
//!         +--> Phase1 - all back ----------------------+
//! FWD ------> Revoke - all back -> (the forward is answered) -> free
//! ```
//! A TBE blocks its line and its way; while it evicts, also the line that is to come. When the line replaced has gone to the TBE's buffer, with a Put under way (MI, II), its way is the next
//! line's, and both lines are blocked. Everything here is changed by stage 3, but for the messages still to be sent, which their units tick off.

use super::params::GpuL2Params;
use super::types::*;
use crate::llc::LlcParams;
use crate::llc::types::Held;
use weft_rtl::prelude::*;

/// The entries.
pub(super) struct Tbes {
    bank: LlcParams,
    valid: Reg<Bits>,
    /// All it waited for has come.
    ready: Reg<Bits>,
    kind: Vec<Reg<Enum<TbeKind>>>,
    /// The line that it blocks; the one replaced while it evicts.
    line: Vec<Reg<Bits>>,
    /// Line of its request.
    wants: Vec<Reg<Bits>>,
    way: Vec<Reg<Bits>>,
    getting: Vec<Reg<Enum<Getting>>>,
    leaving: Vec<Reg<Enum<Leaving>>>,
    /// The line that leaves; it was written.
    leaver: Vec<Reg<Bits>>,
    leaver_dirty: Vec<Reg<Bool>>,
    /// GetS or GetM is still to be sent.
    pub todo_get: Vec<Reg<Bool>>,
    /// Put is still to be sent.
    pub todo_put: Vec<Reg<Bool>>,
    /// Words for which a revocation is still to be sent.
    pub todo_rv: Vec<Reg<Bits>>,
    request: (Memory<Held>, LaneWriter<Held>),
    progress: (Memory<Progress>, LaneWriter<Progress>),
    owners: (Memory<Bits>, LaneWriter<Bits>),
    /// Words of the line that leaves.
    buffer: (Memory<Bits>, LaneWriter<Bits>),
}

/// An entry's registers.
pub(super) struct Tbe {
    pub kind: Enum<TbeKind>,
    pub line: Bits,
    pub way: Bits,
    pub getting: Enum<Getting>,
    pub leaving: Enum<Leaving>,
    pub leaver: Bits,
    pub leaver_dirty: Bool,
    /// Revocations of it are still to be sent.
    pub sends: Bool,
}

/// What a cycle leaves in an entry.
pub(super) struct Left {
    pub kind: Enum<TbeKind>,
    pub getting: Enum<Getting>,
    pub leaving: Enum<Leaving>,
}

/// How stage 3 begins a transaction, or goes on with one.
pub(super) struct Begin {
    pub kind: Enum<TbeKind>,
    pub line: Bits,
    pub way: Bits,
    pub getting: Enum<Getting>,
    pub progress: Progress,
    pub owners: Bits,
    /// A line leaves with it.
    pub puts: Bool,
    pub leaver: Bits,
    pub leaver_dirty: Bool,
    pub data: Bits,
}

pub(super) fn file<T: Data>(name: &str, rows: u32, shape: &T::Shape) -> (Memory<T>, LaneWriter<T>) {
    let memory = regfile::<T>(name, rows, shape.clone()).fields(&[("queue", width_of::<T>(shape))]);
    let writer = memory.lane_writer("put");
    (memory, writer)
}

fn values<T: Data>(registers: &[Reg<T>]) -> Vec<T> {
    registers.iter().map(|r| r.get()).collect()
}

fn each<T: Data>(n: u32, name: &str, shape: &T::Shape) -> Vec<Reg<T>>
where
    T::Shape: Clone,
{
    (0..n).map(|i| reg::<T>(&format!("tbe{i}_{name}"), shape.clone()).field("queue")).collect()
}

impl Tbes {
    /// Declares the entries, all free.
    pub fn new(p: &GpuL2Params) -> Tbes {
        let (n, bank) = (p.s.tbes, p.bank());
        let line = p.s.line_bits();
        Tbes {
            valid: reg::<Bits>("tbe_valid", n).field("queue"),
            ready: reg::<Bits>("tbe_ready", n).field("queue"),
            kind: each(n, "kind", &()),
            line: each(n, "line", &line),
            wants: each(n, "wants", &line),
            way: each(n, "way", &bank.way_bits()),
            getting: each(n, "getting", &()),
            leaving: each(n, "leaving", &()),
            leaver: each(n, "leaver", &line),
            leaver_dirty: each(n, "leaver_dirty", &()),
            todo_get: each(n, "todo_get", &()),
            todo_put: each(n, "todo_put", &()),
            todo_rv: each(n, "todo_rv", &p.s.words()),
            request: file("tbe_request", n, &bank),
            progress: file("tbe_progress", n, p),
            owners: file("tbe_owners", n, &(p.s.words() * p.s.dev_bits())),
            buffer: file("tbe_buffer", n, &p.s.data_bits()),
            bank,
        }
    }

    fn n(&self) -> u32 {
        self.bank.s.tbes
    }
    /// Entries in use.
    pub fn valid(&self) -> Bits {
        self.valid.get()
    }
    /// Entries of some kinds.
    pub fn of_kinds(&self, kinds: &[TbeKind]) -> Bits {
        let is: Vec<Bool> = self.kind.iter().map(|k| k.get().is_any(kinds)).collect();
        pack_bools(&is) & self.valid.get()
    }
    /// Entries with a line that leaves.
    pub fn leaving(&self) -> Bits {
        let is: Vec<Bool> = self.leaving.iter().map(|l| !l.get().is(Leaving::No)).collect();
        pack_bools(&is) & self.valid.get()
    }
    /// Entries that have something for the pipeline.
    pub fn ready(&self) -> Bits {
        self.ready.get()
    }
    /// Entries with revocations still to be sent.
    pub fn revoking_now(&self) -> Bits {
        pack_bools(&self.todo_rv.iter().map(|r| r.get().any()).collect::<Vec<_>>())
    }
    /// Sets of the entries.
    pub fn sets(&self) -> Vec<Bits> {
        self.line.iter().map(|l| self.bank.set_of(l.get())).collect()
    }

    /// An entry.
    pub fn at(&self, index: Bits) -> Tbe {
        Tbe {
            kind: select(&values(&self.kind), index),
            line: select(&values(&self.line), index),
            way: select(&values(&self.way), index),
            getting: select(&values(&self.getting), index),
            leaving: select(&values(&self.leaving), index),
            leaver: select(&values(&self.leaver), index),
            leaver_dirty: select(&values(&self.leaver_dirty), index),
            sends: self.revoking_now().bit_at(index),
        }
    }
    /// Calls `use_it` with what an entry is after this cycle: its kind, the line that comes, the line that leaves.
    pub fn on_left(&self, index: Bits, use_it: impl FnOnce(&Left) + 'static) {
        let (kinds, getting, leaving) = (self.kind.clone(), self.getting.clone(), self.leaving.clone());
        after_cycle(move |after| {
            use_it(&Left {
                kind: select(&kinds.iter().map(|kind| after.of(kind)).collect::<Vec<_>>(), index),
                getting: select(&getting.iter().map(|line| after.of(line)).collect::<Vec<_>>(), index),
                leaving: select(&leaving.iter().map(|line| after.of(line)).collect::<Vec<_>>(), index),
            });
        });
    }

    /// Its request.
    pub fn request(&self, index: Bits) -> Held {
        self.request.0.read(index)
    }
    /// What it waits for.
    pub fn progress(&self, index: Bits) -> Progress {
        self.progress.0.read(index)
    }
    /// Owners of its line's words when it began.
    pub fn owners(&self, index: Bits) -> Bits {
        self.owners.0.read(index)
    }
    /// Words of the line that leaves.
    pub fn buffer(&self, index: Bits) -> Bits {
        self.buffer.0.read(index)
    }
    /// A free entry; meaningful unless all are in use.
    pub fn free_index(&self) -> Bits {
        (!self.valid.get()).lowest_set()
    }

    fn those(&self, holds: impl Fn(usize) -> Bool) -> Bits {
        let hits: Vec<Bool> = (0..self.n() as usize).map(holds).collect();
        pack_bools(&hits) & self.valid.get()
    }
    /// Entries that block a line for requests.
    pub fn blocking(&self, line: Bits) -> Bits {
        self.those(|i| self.line[i].get().eq(line) | self.wants[i].get().eq(line) | self.leaves(i, line))
    }
    fn leaves(&self, i: usize, line: Bits) -> Bool {
        self.leaver[i].get().eq(line) & !self.leaving[i].get().is(Leaving::No)
    }
    /// Entries that revoke words of a line.
    pub fn revoking(&self, line: Bits) -> Bits {
        let kinds = [TbeKind::Phase1, TbeKind::Evict, TbeKind::Revoke];
        self.those(|i| self.line[i].get().eq(line) & self.kind[i].get().is_any(&kinds))
    }
    /// Entries that block a way of a set.
    pub fn of_set(&self, set: Bits) -> Bits {
        let sets = self.sets();
        self.those(|i| sets[i].eq(set) & !self.kind[i].get().is(TbeKind::Put))
    }
    /// Ways of a set that some of these entries block.
    pub fn ways_of(&self, entries: Bits) -> Bits {
        let ways = self.bank.ways;
        let none = lit_bv(Bv::zero(ways));
        self.way
            .iter()
            .enumerate()
            .fold(none, |sum, (i, way)| sum | (way.get().one_hot(ways) & entries.bit(i as u32).repeat(ways)))
    }

    /// Changes an entry's registers.
    fn of(&self, index: Bits, change: impl Fn(usize)) {
        for i in 0..self.n() as usize {
            when(index.eq(i as u64), || change(i));
        }
    }
    /// Stage 3 begins a transaction in an entry, for a request or a forward.
    pub fn begin(&self, index: Bits, request: &Held, b: &Begin) {
        self.of(index, |i| {
            self.kind[i].set(b.kind);
            self.line[i].set(b.line);
            self.wants[i].set(request.line);
            self.way[i].set(b.way);
            self.getting[i].set(b.getting);
            self.leaving[i].set(mux(b.puts, enum_lit(Leaving::Mi), enum_lit(Leaving::No)));
            self.leaver[i].set(b.leaver);
            self.leaver_dirty[i].set(b.leaver_dirty);
            self.todo_get[i].set(b.kind.is(TbeKind::Fill));
            self.todo_put[i].set(b.puts);
            self.todo_rv[i].set(b.progress.rv);
        });
        self.request.1.write(index, request);
        self.progress.1.write(index, &b.progress);
        self.owners.1.write(index, &b.owners);
        self.buffer.1.write(index, &b.data);
    }
    /// What an entry waits for changes.
    pub fn set_progress(&self, index: Bits, progress: &Progress) {
        self.progress.1.write(index, progress);
    }
    /// The state of the line that comes changes.
    pub fn set_getting(&self, index: Bits, getting: Getting) {
        self.of(index, |i| self.getting[i].set(enum_lit(getting)));
    }
    /// The state of the line that leaves changes.
    pub fn set_leaving(&self, index: Bits, leaving: Leaving) {
        self.of(index, |i| self.leaving[i].set(enum_lit(leaving)));
    }
    /// An entry's request is done: it blocks only the line that leaves.
    pub fn to_put(&self, index: Bits) {
        self.of(index, |i| {
            self.kind[i].set(enum_lit(TbeKind::Put));
            self.line[i].set(self.leaver[i].get());
            self.wants[i].set(self.leaver[i].get());
        });
    }
    /// Changes the bits of all entries: set, cleared; what is set wins.
    pub fn update(&self, valid: (Bits, Bits), ready: (Bits, Bits)) {
        let change = |register: &Reg<Bits>, (up, down): (Bits, Bits)| {
            when(up.any() | down.any(), || register.set((register.get() & !down) | up));
        };
        change(&self.valid, valid);
        change(&self.ready, ready);
    }
}
