//! The MSHRs: reads of lines with the loads that wait for them, and atomics at the LLC.
//!
//! ```text
//!  busy | atomic | stores | bytes | stale | line | words | count --> targets (SRAM): load by load
//!                                          read: words stored here meanwhile --> own (their data)
//!                                          atomic: its words
//! ```
//! A read that is not *stale* is fresh; there is at most one fresh read per line. An acquire makes every read stale; an atomic makes those of its line stale, and a read that
//! is opened while an atomic of its line is out is born so: its line may be older than the atomic.

use super::params::{GpuL1Params, Inject};
use crate::flags::Flags;
use crate::params::WORD;
use weft_cache::Targets;
use weft_rtl::prelude::*;

/// A waiting operation.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = GpuL1Params)]
pub(super) struct Target {
    /// It is answered without data.
    #[field("mshr")]
    pub ack: Bool,
    /// An acquire follows.
    #[field("mshr")]
    pub acquires: Bool,
    #[width(p.spandex.line)]
    #[field("mshr")]
    pub mask: Bits,
    #[width(12)]
    #[field("mshr")]
    pub id: Bits,
}

/// The MSHRs. A slot changes one entry per cycle; marks come from acquires and atomics.
pub(super) struct Mshrs {
    p: GpuL1Params,
    pub busy: Flags,
    pub atomic: Flags,
    /// Atomic entries that are stores: of bytes, or one that synchronises.
    stores: Flags,
    bytes: Flags,
    stale: Flags,
    lines: Memory<Bits>,
    lines_new: LaneWriter<Bits>,
    words: Memory<Bits>,
    words_slot: LaneWriter<Bits>,
    counts: Memory<Bits>,
    counts_slot: LaneWriter<Bits>,
    own: Memory<Bits>,
    own_slot: RowWriter<Bits>,
    targets: Targets<Target>,
    flash: Wire<Bool>,
}

/// The MSHRs of one line.
#[derive(Clone, Copy)]
pub(super) struct OfLine {
    /// One bit per entry.
    pub all: Bits,
    /// The fresh read, one bit.
    pub fresh: Bits,
    /// Words of byte stores on their way.
    pub storing: Bits,
    /// Some atomic or byte store is at the LLC.
    pub atomic: Bool,
}

impl Mshrs {
    pub fn new(p: &GpuL1Params) -> Mshrs {
        let (s, n) = (&p.spandex, p.spandex.mshrs);
        let flags = |name: &str| Flags::new(&format!("mshr_{name}"), n, "mshr");
        let file = |name: &str, w: u32| {
            let mem = regfile::<Bits>(&format!("mshr_{name}"), n, w).fields(&[("mshr", w)]);
            let writer = mem.lane_writer("in");
            (mem, writer)
        };
        let (lines, lines_new) = file("line", s.line_bits());
        let (words, words_slot) = file("words", s.words());
        let (counts, counts_slot) = file("count", bits_for(u64::from(p.targets) + 1));
        let own = regfile_lanes::<Bits>("mshr_own", n, s.words(), WORD).fields(&[("own_stores", WORD)]);
        let targets = Targets::memory(n, p.target_bits(), p);
        Mshrs {
            busy: flags("busy"),
            atomic: flags("atomic"),
            stores: flags("stores"),
            bytes: flags("bytes"),
            stale: flags("stale"),
            lines,
            lines_new,
            words,
            words_slot,
            counts,
            counts_slot,
            own_slot: own.row_writer("in"),
            own,
            targets: Targets::new(&targets, n, p.target_bits(), "in"),
            flash: wire_or::<Bool>("mshr_flash", (), false),
            p: p.clone(),
        }
    }

    fn n(&self) -> u32 {
        self.p.spandex.mshrs
    }

    /// The entries of a line.
    pub fn of_line(&self, line: Bits) -> OfLine {
        let n = self.n();
        let same: Vec<Bool> = (0..n).map(|i| self.lines.entry(i).eq(line)).collect();
        let all = pack_bools(&same) & self.busy.get();
        let atomics = all & self.atomic.get();
        let bytes = atomics & self.bytes.get();
        let none = lit_bv(Bv::zero(self.p.spandex.words()));
        let storing = (0..n).fold(none, |words, i| words | mux(bytes.bit(i), self.words.entry(i), none));
        OfLine { all, fresh: all & !self.atomic.get() & !self.stale.get(), storing, atomic: atomics.any() }
    }

    /// Line of an entry.
    pub fn line(&self, entry: Bits) -> Bits {
        self.lines.read(entry)
    }

    /// An entry takes another load.
    pub fn takes_more(&self, entry: Bits) -> Bool {
        self.counts.read(entry).ne(u64::from(self.p.targets))
    }

    /// Loads of an entry.
    pub fn count(&self, entry: Bits) -> Bits {
        self.counts.read(entry)
    }

    pub fn is_stale(&self, entry: Bits) -> Bool {
        self.stale.get().bit_at(entry)
    }

    pub fn is_atomic(&self, entry: Bits) -> Bool {
        self.atomic.get().bit_at(entry)
    }

    pub fn is_bytes(&self, entry: Bits) -> Bool {
        self.bytes.get().bit_at(entry)
    }

    /// Words stored here since a read was opened, with their data.
    pub fn own(&self, entry: Bits) -> (Bits, Bits) {
        (self.words.read(entry), pack(&self.own.read_row(entry)))
    }

    /// Chooses the target that is read in the next cycle.
    pub fn present(&self, entry: Bits, target: Bits) {
        self.targets.present(entry, target);
    }

    /// The target presented in the cycle before.
    pub fn target(&self) -> Target {
        self.targets.presented()
    }

    pub fn full(&self) -> Bool {
        self.busy.get().all()
    }

    pub fn free_entry(&self) -> Bits {
        (!self.busy.get()).lowest_set()
    }

    fn take(&self, line: Bits, words: Bits, first: &Target) {
        let entry = self.free_entry();
        self.busy.raise(entry.one_hot(self.n()));
        self.lines_new.write(entry, &line);
        self.words_slot.write(entry, &words);
        self.counts_slot.write(entry, &lit(1, bits_for(u64::from(self.p.targets) + 1)));
        self.targets.put_first(entry, first);
    }

    /// Opens a read of a line with its first load; buffered words are captured. `stale`: it is born so.
    pub fn open(&self, line: Bits, first: &Target, captured: (Bits, Bits), stale: Bool) {
        self.take(line, captured.0, first);
        let entry = self.free_entry();
        self.own_slot.write_packed(entry, captured.0, captured.1);
        let one = entry.one_hot(self.n());
        self.atomic.lower(one);
        when(stale, || self.stale.raise(one)).otherwise(|| self.stale.lower(one));
    }

    /// An atomic or byte store leaves; reads of its line become stale.
    pub fn send(&self, line: Bits, words: Bits, of_line: &OfLine, bytes: Bool, target: &Target) {
        self.take(line, words, target);
        let one = self.free_entry().one_hot(self.n());
        self.atomic.raise(one);
        when(bytes, || self.bytes.raise(one)).otherwise(|| self.bytes.lower(one));
        when(bytes | target.ack, || self.stores.raise(one)).otherwise(|| self.stores.lower(one));
        if self.p.inject != Inject::AtomicNoMark {
            self.stale.raise(of_line.all);
        }
    }

    /// Opens a read of a line for an operation that waits for it outside: nobody is answered.
    pub fn fetch(&self, line: Bits, captured: (Bits, Bits)) {
        let none = lit_bv(Bv::zero(self.p.spandex.line));
        let nobody = Target { ack: bool_lit(false), acquires: bool_lit(false), mask: none, id: lit(0, 12) };
        self.open(line, &nobody, captured, bool_lit(false));
    }

    /// A load joins a read.
    pub fn join(&self, entry: Bits, target: &Target) {
        let count = self.counts.read(entry);
        self.targets.put_behind(entry, count, target);
        self.counts_slot.write(entry, &(count + 1));
    }

    /// Words stored while a read is under way.
    pub fn capture(&self, entry: Bits, words: Bits, data: Bits) {
        self.words_slot.write(entry, &(self.words.read(entry) | words));
        self.own_slot.write_packed(entry, words, data);
    }

    /// Entries whose stores are at the LLC.
    pub fn storing(&self) -> Bits {
        self.busy.get() & self.atomic.get() & self.stores.get()
    }

    /// An entry is answered.
    pub fn free(&self, entry: Bits) {
        self.busy.lower(entry.one_hot(self.n()));
    }

    /// An acquire: every read becomes stale.
    pub fn flash(&self) {
        self.flash.set(true);
        if self.p.inject != Inject::NoStale {
            self.stale.raise(self.busy.get());
        }
    }

    /// Declares how the flags change; called last.
    pub fn finish(&self) {
        let flags = [&self.busy, &self.atomic, &self.stores, &self.bytes, &self.stale];
        flags.into_iter().for_each(Flags::finish);
        let reads = self.busy.get() & !self.atomic.get() & !self.stale.get();
        let (id, text) = super::table::FLASH[1];
        cover(id, self.flash.get() & reads.any(), text);
    }
}
