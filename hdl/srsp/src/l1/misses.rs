//! The MSHRs: one per line under way, with the operations that wait for it (srsp.md sections 4 and 5).
//!
//! ```text
//!  MSHR: busy | open | noinst | replay | line, way | count, left --> targets (SRAM): operation by operation
//! ```
//! An entry is *open* from its RD to its FILL. Afterwards only atomics that could not be performed are left in it; they are replayed, and the first one that misses opens the entry
//! again for all of them. New operations join an open entry without marks.

use crate::write_combining::Shape;
use crate::write_combining::mshrs::{Marks, Mshrs, events, marks};
use crate::write_combining::op::{What, Word};
use weft_blocks::common::arbiter::RoundRobin;
use weft_rtl::prelude::*;

/// A waiting operation: a plain load, or an atomic that is done here.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
pub(super) struct Target {
    #[shape(p.clone())]
    pub what: What,
    #[width(2)]
    #[field("mshr")]
    pub sem: Bits,
    #[field("mshr")]
    pub remote: Bool,
    #[shape(p.clone())]
    pub word: Word,
}

/// The MSHRs. One slot changes one entry per cycle; marks come from line-inv and flash-inv.
pub(super) struct Misses {
    pub all: Mshrs<Target>,
    replay: Reg<Bits>,
    lines: Memory<Bits>,
    line_writer: LaneWriter<Bits>,
    ways: Memory<Bits>,
    way_writer: LaneWriter<Bits>,
    next: RoundRobin,
    opens: Wire<Bits>,
    fills: Wire<Bits>,
    marks: Wire<Bits>,
    flash: Wire<Bool>,
}

impl Misses {
    pub fn new(p: &Shape) -> Misses {
        let n = p.srsp.mshrs;
        let file = |name: &str, w: u32| regfile::<Bits>(name, n, w).fields(&[("mshr", w)]);
        let (lines, ways) = (file("mshr_line", p.srsp.line_bits()), file("mshr_way", p.way_bits()));
        let first = Marks::new(p);
        Misses {
            replay: marks(p, "replay"),
            line_writer: lines.lane_writer("in"),
            lines,
            way_writer: ways.lane_writer("in"),
            ways,
            all: Mshrs::new(p, first),
            next: RoundRobin::new("replay_turn", n),
            opens: events(p, "opens"),
            fills: events(p, "fills"),
            marks: events(p, "marks"),
            flash: wire_or::<Bool>("mshr_flash", (), false),
        }
    }

    /// One bit per busy entry of a line.
    pub fn of_line(&self, line: Bits) -> Bits {
        self.all.which(self.all.busy.get(), |i| self.lines.entry(i).eq(line))
    }

    /// Entries with atomics to replay.
    pub fn replaying(&self) -> Bits {
        self.all.busy.get() & !self.all.open.get()
    }

    /// The next entry to replay, if there is one.
    pub fn choose(&self, among: Bits) -> Bits {
        self.next.pick(among).index
    }

    /// The entry has had its turn.
    pub fn chosen(&self, entry: Bits) {
        self.next.granted(entry);
    }

    pub fn line(&self, entry: Bits) -> Bits {
        self.lines.read(entry)
    }

    pub fn way(&self, entry: Bits) -> Bits {
        self.ways.read(entry)
    }

    /// An entry of a mask takes another target.
    pub fn takes_more(&self, entry: Bits) -> Bool {
        let marked = (self.all.noinst.get() | self.replay.get()).bit_at(entry);
        let room = self.all.room(entry);
        self.all.open.get().bit_at(entry) & !marked & room
    }

    pub fn replay(&self, entry: Bits) -> Bool {
        self.replay.get().bit_at(entry)
    }

    /// A new line: takes an entry with its first target.
    pub fn take(&self, entry: Bits, line: Bits, way: Bits, first: &Target) {
        self.all.takes.set(self.all.bit(entry));
        self.line_writer.write(entry, &line);
        self.open(entry, way);
        self.all.put_first(entry, first);
    }

    /// RD of an entry is sent, its frame reserved.
    pub fn open(&self, entry: Bits, way: Bits) {
        self.opens.set(self.all.bit(entry));
        self.way_writer.write(entry, &way);
    }

    /// The FILL of an entry is served.
    pub fn filled(&self, entry: Bits) {
        self.fills.set(self.all.bit(entry));
    }

    /// Line-inv of a line under way: its entry gets the mark `replay`.
    pub fn mark(&self, line: Bits) {
        self.marks.set(self.of_line(line) & self.all.open.get());
    }

    /// Flash-inv: every open entry gets the mark `noinst`.
    pub fn flash(&self) {
        self.flash.set(true);
    }

    /// Declares how the entries change.
    pub fn finish(&self) {
        self.all.finish();
        let (opens, fills) = (self.opens.get(), self.fills.get());
        when(opens.any() | fills.any(), || self.all.open.set((self.all.open.get() | opens) & !fills));
        // An entry opened again has no marks.
        let cleared = opens | fills;
        let noinst = mux(self.flash.get(), self.all.open.get(), lit(0, self.all.n()));
        let (marks, flashes) = (self.marks.get(), noinst);
        when(marks.any() | cleared.any(), || {
            self.replay.set((self.replay.get() & !cleared) | marks);
        });
        when(flashes.any() | cleared.any(), || {
            self.all.noinst.set((self.all.noinst.get() & !cleared) | flashes);
        });
    }
}
