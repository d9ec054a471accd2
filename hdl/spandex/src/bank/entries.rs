//! Transaction entries (TBEs): what is in use, what each is there for, the line and the way that it blocks, its request, and what it waits for.

use super::{Bank, some};
use weft_rtl::prelude::*;

/// A register file with one port to write.
pub(crate) struct File<T: Data> {
    memory: Memory<T>,
    put: LaneWriter<T>,
}

impl<T: Data> File<T> {
    /// Declares a file of a transaction's records.
    pub fn new(name: &str, rows: u32, shape: &T::Shape) -> File<T> {
        let memory = regfile::<T>(name, rows, shape.clone()).fields(&[("queue", width_of::<T>(shape))]);
        let put = memory.lane_writer("put");
        File { memory, put }
    }
    /// A record.
    pub fn read(&self, index: Bits) -> T {
        self.memory.read(index)
    }
    /// Writes one.
    pub fn write(&self, index: Bits, value: &T) {
        self.put.write(index, value);
    }
}

/// A register of each entry.
pub(crate) fn each<T: Data>(entries: u32, name: &str, shape: &T::Shape) -> Vec<Reg<T>> {
    (0..entries).map(|i| reg::<T>(&format!("tbe{i}_{name}"), shape.clone()).field("queue")).collect()
}

/// A bit of each entry, or place.
pub(crate) fn marks(name: &str, entries: u32) -> Reg<Bits> {
    reg::<Bits>(name, entries).field("queue")
}

/// That of an entry.
pub(crate) fn of<T: Data>(registers: &[Reg<T>], index: Bits) -> T {
    select(&registers.iter().map(|r| r.get()).collect::<Vec<_>>(), index)
}

/// What a cycle leaves in that of an entry.
pub(crate) fn left<T: Data>(after: &After, registers: &[Reg<T>], index: Bits) -> T {
    select(&registers.iter().map(|r| after.of(r)).collect::<Vec<_>>(), index)
}

/// Sets that of an entry.
pub(crate) fn set_of<T: Data + Copy>(registers: &[Reg<T>], index: Bits, value: T) {
    for (i, register) in registers.iter().enumerate() {
        when(index.eq(i as u64), || register.set(value));
    }
}

/// Sets and clears bits; what is set wins.
pub(crate) fn change(register: &Reg<Bits>, (up, down): (Bits, Bits)) {
    when(up.any() | down.any(), || register.set((register.get() & !down) | up));
}

/// The entries: kinds `K`, requests `H`, what is waited for `P`.
pub(crate) struct Entries<K: HwEnum, H: Data, P: Data> {
    bank: Bank,
    valid: Reg<Bits>,
    /// All it waited for has come, or its list replays.
    ready: Reg<Bits>,
    pub kind: Vec<Reg<Enum<K>>>,
    /// The line that it blocks; the one replaced while it evicts.
    pub line: Vec<Reg<Bits>>,
    /// Line of its request.
    pub wants: Vec<Reg<Bits>>,
    way: Vec<Reg<Bits>>,
    request: File<H>,
    progress: File<P>,
}

/// How a transaction begins.
pub(crate) struct Start<K: HwEnum, P> {
    pub kind: Enum<K>,
    pub line: Bits,
    pub wants: Bits,
    pub way: Bits,
    pub progress: P,
}

impl<K: HwEnum, H: Data, P: Data> Entries<K, H, P> {
    /// Declares the entries, all free; between their registers the marks and the registers that a bank has beside them.
    pub fn new<M, R>(
        bank: &Bank,
        (request, progress): (&H::Shape, &P::Shape),
        marked: impl FnOnce() -> M,
        registers: impl FnOnce() -> R,
    ) -> (Entries<K, H, P>, M, R) {
        let (n, line) = (bank.s.tbes, bank.s.line_bits());
        let (valid, ready) = (marks("tbe_valid", n), marks("tbe_ready", n));
        let marked = marked();
        let kind = each(n, "kind", &());
        let (lines, wants) = (each(n, "line", &line), each(n, "wants", &line));
        let way = each(n, "way", &bank.way_bits());
        let registers = registers();
        let entries = Entries {
            bank: bank.clone(),
            valid,
            ready,
            kind,
            line: lines,
            wants,
            way,
            request: File::new("tbe_request", n, request),
            progress: File::new("tbe_progress", n, progress),
        };
        (entries, marked, registers)
    }

    /// Entries in use.
    pub fn valid(&self) -> Bits {
        self.valid.get()
    }
    /// An entry as one bit, if something holds.
    pub fn bit(&self, index: Bits, holds: Bool) -> Bits {
        some(index.one_hot(self.bank.s.tbes), holds)
    }
    /// Entries that have something for the pipeline.
    pub fn ready(&self) -> Bits {
        self.ready.get()
    }
    /// Sets of the entries.
    pub fn sets(&self) -> Vec<Bits> {
        self.line.iter().map(|l| self.bank.set_of(l.get())).collect()
    }
    /// Entries in use of which something holds.
    pub fn those(&self, holds: impl Fn(usize) -> Bool) -> Bits {
        let hits: Vec<Bool> = (0..self.line.len()).map(holds).collect();
        pack_bools(&hits) & self.valid.get()
    }
    /// Entries of some kinds.
    pub fn of_kinds(&self, kinds: &[K]) -> Bits {
        self.those(|i| self.kind[i].get().is_any(kinds))
    }
    /// Entries that block a line for requests.
    pub fn blocking(&self, line: Bits) -> Bits {
        self.those(|i| self.blocks(i, line))
    }
    /// An entry blocks a line for requests: it has it, or wants it.
    pub fn blocks(&self, i: usize, line: Bits) -> Bool {
        self.line[i].get().eq(line) | self.wants[i].get().eq(line)
    }
    /// Entries of some kinds that have a line.
    pub fn revoking(&self, line: Bits, kinds: &[K]) -> Bits {
        self.those(|i| self.line[i].get().eq(line) & self.kind[i].get().is_any(kinds))
    }
    /// Entries of a set.
    pub fn of_set(&self, set: Bits) -> Bits {
        let sets = self.sets();
        self.those(|i| sets[i].eq(set))
    }
    /// Entries of a set but for `without`, one that replays; and all but that one.
    pub fn others(&self, set: Bits, without: Bits, replays: Bool) -> (Bits, Bits) {
        let others = !some(without.one_hot(self.bank.s.tbes), replays);
        (self.of_set(set) & others, others)
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
    /// An entry's kind, its line and its way.
    pub fn registers(&self, index: Bits) -> (Enum<K>, Bits, Bits) {
        (of(&self.kind, index), of(&self.line, index), of(&self.way, index))
    }
    /// Its request.
    pub fn request(&self, index: Bits) -> H {
        self.request.read(index)
    }
    /// What it waits for.
    pub fn progress(&self, index: Bits) -> P {
        self.progress.read(index)
    }
    /// What an entry waits for changes.
    pub fn set_progress(&self, index: Bits, progress: &P) {
        self.progress.write(index, progress);
    }
    /// A free entry; meaningful unless all are in use.
    pub fn free_index(&self) -> Bits {
        (!self.valid.get()).lowest_set()
    }
    /// Entry of a transaction that begins: a free one for a request that is `fresh`, or the one that it has.
    pub fn entry(&self, fresh: Bool, index: Bits) -> Bits {
        let free = self.free_index();
        mux(fresh, free, index.resize(free.width()))
    }
    /// Calls `use_it` with the kind that an entry has after this cycle.
    pub fn on_kind(&self, index: Bits, use_it: impl FnOnce(Enum<K>) + 'static)
    where
        K: 'static,
    {
        let kinds = self.kind.clone();
        after_cycle(move |after| use_it(left(after, &kinds, index)));
    }

    /// Changes an entry's registers.
    pub fn at(&self, index: Bits, change: impl Fn(usize)) {
        for i in 0..self.line.len() {
            when(index.eq(i as u64), || change(i));
        }
    }
    /// Stage 3 begins a transaction in an entry, or goes on with one; `beside`: sets the bank's own registers.
    pub fn begin(&self, index: Bits, request: &H, start: &Start<K, P>, beside: impl Fn(usize)) {
        self.at(index, |i| {
            self.kind[i].set(start.kind);
            self.line[i].set(start.line);
            self.wants[i].set(start.wants);
            self.way[i].set(start.way);
            beside(i);
        });
        self.request.write(index, request);
        self.progress.write(index, &start.progress);
    }
    /// Stage 3 `begins` a transaction in the entry `at`, or goes on with one; another ends (`frees`); `ready`: entries that have something for the pipeline now.
    pub fn step(
        &self,
        (at, begins): (Bits, Bool),
        (index, frees): (Bits, Bool),
        ready: impl FnOnce() -> Bits,
    ) {
        let (up, down) = (self.bit(at, begins), self.bit(index, frees));
        let ready = (ready(), self.bit(at, begins) | self.bit(index, frees));
        self.update((up, down), ready);
    }
    /// Changes the bits of all entries: set, cleared; what is set wins.
    pub fn update(&self, valid: (Bits, Bits), ready: (Bits, Bits)) {
        change(&self.valid, valid);
        change(&self.ready, ready);
    }
}
