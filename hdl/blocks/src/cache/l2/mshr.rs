//! Miss registers, the pool of waiting requests, and the buffer in which fills land.

use super::params::L2Params;
use super::types::{List, Payload, Waiting};
use weft_rtl::prelude::*;

/// Requests one MSHR may hold over its life (rec.md sections 6.1 and 6.2).
pub(super) const LIST_MAX: u64 = 8;

/// A register of flags with a set side and a clear side, each driven from one place.
pub(crate) struct Flags {
    pub now: Reg<Bits>,
    set: Wire<Bits>,
    clear: Wire<Bits>,
}

impl Flags {
    /// Declares `width` flags, all clear after reset.
    pub fn new(name: &str, width: u32) -> Flags {
        Flags {
            now: reg::<Bits>(name, width),
            set: wire_zero::<Bits>(&format!("{name}_set"), width),
            clear: wire_zero::<Bits>(&format!("{name}_clr"), width),
        }
    }
    /// Sets flag `index`.
    pub fn raise(&self, index: Bits) {
        self.set.set(index.one_hot(self.now.get().width()));
    }
    /// Clears flag `index`.
    pub fn lower(&self, index: Bits) {
        self.clear.set(index.one_hot(self.now.get().width()));
    }
    /// Updates the register.
    pub fn connect(&self) {
        self.now.set((self.now.get() & !self.clear.get()) | self.set.get());
    }
    /// The same, and clears others, too.
    pub fn connect_without(&self, others: Bits) {
        self.now.set((self.now.get() & !self.clear.get() & !others) | self.set.get());
    }
}

/// A counter with an up side and a down side.
pub(crate) struct Tally {
    pub now: Reg<Bits>,
    pub up: Wire<Bool>,
    pub down: Wire<Bool>,
}

impl Tally {
    /// Declares a counter of `width` bits.
    pub fn new(name: &str, width: u32) -> Tally {
        Tally {
            now: reg::<Bits>(name, width),
            up: wire_or::<Bool>(&format!("{name}_up"), (), false),
            down: wire_or::<Bool>(&format!("{name}_down"), (), false),
        }
    }
    /// Updates the register.
    pub fn connect(&self) {
        when(self.up.get() & !self.down.get(), || self.now.set(self.now.get() + 1));
        when(self.down.get() & !self.up.get(), || self.now.set(self.now.get() - 1));
    }
}

/// The MSHRs. Allocation, append and release happen in stage 1 only, one per cycle.
pub(super) struct Mshrs {
    /// In use.
    pub valid: Reg<Bits>,
    /// Holds a read of a remote-homed line.
    pub read: Reg<Bits>,
    /// Holds an atomic sent to a home.
    pub atom: Reg<Bits>,
    /// The fill must not be installed.
    pub poisoned: Reg<Bits>,
    /// The answer has landed.
    pub filled: Flags,
    /// The home had to ask its DRAM.
    pub from_dram: Flags,
    /// The read's list holds atomics that are performed here (GPU home).
    pub atomics: Option<Reg<Bits>>,
    /// The answer is from another GPU (hierarchy).
    pub far: Option<Flags>,
    line: Memory<Bits>,
    line_writer: LaneWriter<Bits>,
    list: Memory<List>,
    list_writer: LaneWriter<List>,
    /// Where fills land, one line per MSHR.
    pub landing: SramPort<Bits>,
    landing_writer: LaneWriter<Bits>,
    /// Pool entries in use.
    pub pool_used: Flags,
    info: Memory<Waiting>,
    info_writer: LaneWriter<Waiting>,
    next: Memory<Bits>,
    next_writer: LaneWriter<Bits>,
    /// Payloads of the pool.
    pub payload: SramPort<Payload>,
    payload_writer: LaneWriter<Payload>,
    /// MSHRs in use.
    pub used: Tally,
    /// MSHRs in use for remote-homed lines.
    pub used_remote: Tally,
    /// Pool entries in use.
    pub pool_count: Tally,
    /// Pool entries in use for remote-homed lines.
    pub pool_remote: Tally,
    /// MSHRs and pool entries in use for lines that other GPMs serve (hierarchy).
    pub leaf: Option<[Tally; 2]>,
    p: L2Params,
}

/// Which MSHR holds a line.
pub(super) struct Match {
    pub hit: Bool,
    pub index: Bits,
    pub read: Bool,
    pub poisoned: Bool,
    /// Its list holds atomics that are performed here.
    pub atomics: Bool,
    pub list: List,
}

impl Mshrs {
    /// Declares the registers and memories.
    pub fn new(p: &L2Params) -> Mshrs {
        let (m, data) = (p.sys.l2_mshrs, p.sys.data_bits());
        let vector = |name| reg::<Bits>(name, m);
        let line = regfile::<Bits>("mshr_line", m, p.sys.line_bits());
        let list = regfile::<List>("mshr_list", m, p.clone());
        let landing = sram::<Bits>("landing", m, 1, data);
        let info = regfile::<Waiting>("pool_info", p.pool, p.clone());
        let next = regfile::<Bits>("pool_next", p.pool, p.pool_bits());
        let payload = sram::<Payload>("pool_payload", p.pool, 1, p.clone());
        let (many, pooled) = (bits_for(u64::from(m) + 1), bits_for(u64::from(p.pool) + 1));
        Mshrs {
            valid: vector("mshr_valid"),
            read: vector("mshr_read"),
            atom: vector("mshr_atom"),
            poisoned: vector("mshr_poisoned"),
            filled: Flags::new("mshr_filled", m),
            from_dram: Flags::new("mshr_from_dram", m),
            atomics: p.hier.then(|| vector("mshr_atomics")),
            far: p.hier.then(|| Flags::new("mshr_far", m)),
            line_writer: line.lane_writer("open"),
            line,
            list_writer: list.lane_writer("grow"),
            list,
            landing: landing.read_port("fill"),
            landing_writer: landing.lane_writer("land"),
            pool_used: Flags::new("pool_used", p.pool),
            info_writer: info.lane_writer("add"),
            info,
            next_writer: next.lane_writer("link"),
            next,
            payload: payload.read_port("walk"),
            payload_writer: payload.lane_writer("add"),
            used: Tally::new("mshr_used", many),
            used_remote: Tally::new("mshr_used_remote", many),
            pool_count: Tally::new("pool_count", pooled),
            pool_remote: Tally::new("pool_count_remote", pooled),
            leaf: p.hier.then(|| [Tally::new("mshr_used_leaf", many), Tally::new("pool_count_leaf", pooled)]),
            p: p.clone(),
        }
    }

    /// Finds the read or fetch of a line, while `valid`; atomics are not found.
    pub fn find(&self, valid: Bool, line: Bits) -> Match {
        let m = self.p.sys.l2_mshrs;
        let open = self.valid.get() & !self.atom.get();
        let found = wire_zero::<Bits>("s1_mshr_hits", m);
        // Nothing is compared while no MSHR is open: most lookups are hits in a quiet bank.
        when(valid & open.any(), || {
            let same: Vec<Bool> = (0..m).map(|i| self.line.entry(i).eq(line)).collect();
            found.set(pack_bools(&same) & open);
        });
        let hits = found.get();
        let index = hits.lowest_set().named("s1_mshr");
        Match {
            hit: hits.any().named("s1_mshr_hit"),
            index,
            read: self.read.get().bit_at(index),
            poisoned: self.poisoned.get().bit_at(index),
            atomics: self.atomics.as_ref().map_or(bool_lit(false), |a| a.get().bit_at(index)),
            list: self.list.read(index),
        }
    }

    /// Some fetch of a home line lies in this set.
    pub fn fetching_in(&self, set: Bits) -> Bool {
        let same: Vec<Bool> =
            (0..self.p.sys.l2_mshrs).map(|i| self.p.set_of(self.line.entry(i)).eq(set)).collect();
        (pack_bools(&same) & self.valid.get() & !self.read.get() & !self.atom.get()).any()
    }

    /// The MSHR to open next.
    pub fn free_index(&self) -> Bits {
        (!self.valid.get()).lowest_set()
    }

    /// The pool entry to use next.
    pub fn free_entry(&self) -> Bits {
        (!self.pool_used.now.get()).lowest_set()
    }

    /// Line of an MSHR.
    pub fn line_of(&self, index: Bits) -> Bits {
        self.line.read(index)
    }

    /// List of an MSHR.
    pub fn list_of(&self, index: Bits) -> List {
        self.list.read(index)
    }

    /// A waiting request.
    pub fn waiting(&self, entry: Bits) -> Waiting {
        self.info.read(entry)
    }

    /// The entry after `entry` in its list.
    pub fn after(&self, entry: Bits) -> Bits {
        self.next.read(entry)
    }

    /// Opens MSHR `free_index()` for `line` with one waiting request.
    pub fn open(&self, line: Bits, read: Bool, atom: Bool, who: &Waiting, what: &Payload) {
        let (index, entry) = (self.free_index(), self.free_entry());
        let bit = index.one_hot(self.p.sys.l2_mshrs);
        let flag = |on: Bool, old: Bits| mux(on, old | bit, old & !bit);
        self.valid.set(self.valid.get() | bit);
        self.read.set(flag(read, self.read.get()));
        self.atom.set(flag(atom, self.atom.get()));
        self.poisoned.set(self.poisoned.get() & !bit);
        if let Some(atomics) = &self.atomics {
            // A read that is opened for an atomic.
            atomics.set(flag(read & what.atom, atomics.get()));
        }
        self.line_writer.write(index, &line);
        self.list_writer.write(index, &List { head: entry, tail: entry, total: lit(1, 4) });
        self.used.up.set(true);
        when(read | atom, || self.used_remote.up.set(true));
        if let Some([leaf, _]) = &self.leaf {
            when(self.p.leaf(line), || leaf.up.set(true));
        }
        self.enter(entry, line, read | atom, who, what);
    }

    /// Adds a waiting request to the list of an open MSHR.
    pub fn append(&self, found: &Match, line: Bits, who: &Waiting, what: &Payload) {
        let entry = self.free_entry();
        let List { head, tail, total } = found.list;
        self.list_writer.write(found.index, &List { head, tail: entry, total: total + 1 });
        self.next_writer.write(tail, &entry);
        self.enter(entry, line, found.read, who, what);
        if let Some(atomics) = &self.atomics {
            when(found.read & what.atom, || {
                atomics.set(atomics.get() | found.index.one_hot(self.p.sys.l2_mshrs));
            });
        }
    }

    fn enter(&self, entry: Bits, line: Bits, remote_line: Bool, who: &Waiting, what: &Payload) {
        self.pool_used.raise(entry);
        self.info_writer.write(entry, who);
        self.payload_writer.write(entry, what);
        self.pool_count.up.set(true);
        when(remote_line, || self.pool_remote.up.set(true));
        if let Some([_, leaf]) = &self.leaf {
            when(self.p.leaf(line), || leaf.up.set(true));
        }
    }

    /// Marks the fill of an MSHR as not to be installed; `opens`: another MSHR is opened in the same cycle.
    pub fn poison(&self, index: Bits, opens: Bool) {
        let all = self.p.sys.l2_mshrs;
        let fresh = opens.repeat(all) & self.free_index().one_hot(all);
        self.poisoned.set((self.poisoned.get() & !fresh) | index.one_hot(all));
    }

    /// Frees an MSHR.
    pub fn close(&self, index: Bits) {
        self.valid.set(self.valid.get() & !index.one_hot(self.p.sys.l2_mshrs));
        self.used.down.set(true);
        when((self.read.get() | self.atom.get()).bit_at(index), || self.used_remote.down.set(true));
        if let Some([leaf, _]) = &self.leaf {
            when(self.p.leaf(self.line_of(index)), || leaf.down.set(true));
        }
    }

    /// Poisons the reads of all lines that `of` names.
    pub fn poison_lines(&self, of: impl Fn(Bits) -> Bool) {
        let named: Vec<Bool> = (0..self.p.sys.l2_mshrs).map(|i| of(self.line.entry(i))).collect();
        self.poisoned.set(self.poisoned.get() | (pack_bools(&named) & self.valid.get() & self.read.get()));
    }

    /// Takes a request out of the pool.
    pub fn leave(&self, entry: Bits, mshr: Bits, remote_line: Bool) {
        self.pool_used.lower(entry);
        self.pool_count.down.set(true);
        when(remote_line, || self.pool_remote.down.set(true));
        if let Some([_, leaf]) = &self.leaf {
            when(self.p.leaf(self.line_of(mshr)), || leaf.down.set(true));
        }
    }

    /// An answer lands in its MSHR.
    pub fn land(&self, index: Bits, data: Bits, from_dram: Bool, far: Bool) {
        self.landing_writer.write(index, &data);
        self.filled.raise(index);
        when(from_dram, || self.from_dram.raise(index)).otherwise(|| self.from_dram.lower(index));
        if let Some(flags) = &self.far {
            when(far, || flags.raise(index)).otherwise(|| flags.lower(index));
        }
    }

    /// Updates the registers driven from several places; called once.
    pub fn connect(&self) {
        self.filled.connect();
        self.from_dram.connect();
        self.pool_used.connect();
        self.far.iter().for_each(Flags::connect);
        self.leaf.iter().flatten().for_each(Tally::connect);
        for tally in [&self.used, &self.used_remote, &self.pool_count, &self.pool_remote] {
            tally.connect();
        }
    }
}

/// The lowest set bit at or above `from`, else the lowest of all.
pub(super) fn pick_from(ready: Bits, from: Bits) -> Bits {
    let width = ready.width();
    let above = ready & lit_bv(Bv::ones(width)).shl_by(from);
    mux(above.any(), above.lowest_set(), ready.lowest_set())
}
