//! The MSHRs: one per line under way, with the operations that wait for it (srsp.md sections 4 and 5).
//!
//! ```text
//!  MSHR: busy | open | noinst | replay | line, way | count, left --> targets (SRAM): operation by operation
//! ```
//! An entry is *open* from its RD to its FILL. Afterwards only atomics that could not be performed are left in it; they are replayed, and the first one that misses opens the entry
//! again for all of them. New operations join an open entry without marks.

use super::params::L1Params;
use crate::msg::SyncOp;
use weft_blocks::common::arbiter::RoundRobin;
use weft_rtl::prelude::*;

/// A waiting operation: a plain load, or an atomic that is done here.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L1Params)]
pub(super) struct Target {
    #[field("mshr")]
    pub load: Bool,
    #[field("mshr")]
    pub op: Enum<SyncOp>,
    #[width(2)]
    #[field("mshr")]
    pub sem: Bits,
    #[field("mshr")]
    pub remote: Bool,
    #[width(p.srsp.line)]
    #[field("mshr")]
    pub mask: Bits,
    #[width(64)]
    #[field("mshr")]
    pub opnd: Bits,
    #[width(64)]
    #[field("mshr")]
    pub cmp: Bits,
    #[width(12)]
    #[field("mshr")]
    pub id: Bits,
}

/// Which targets there are.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L1Params)]
pub(super) struct Waiting {
    /// Targets written since the entry was taken.
    #[width(bits_for(u64::from(p.targets) + 1))]
    #[field("mshr")]
    pub count: Bits,
    /// Those not yet answered, one bit each.
    #[width(p.targets)]
    #[field("mshr")]
    pub left: Bits,
}

/// The MSHRs. One slot changes one entry per cycle; marks come from line-inv and flash-inv.
pub(super) struct Misses {
    p: L1Params,
    pub busy: Reg<Bits>,
    pub open: Reg<Bits>,
    noinst: Reg<Bits>,
    replay: Reg<Bits>,
    lines: Memory<Bits>,
    line_writer: LaneWriter<Bits>,
    ways: Memory<Bits>,
    way_writer: LaneWriter<Bits>,
    waiting: Memory<Waiting>,
    waiting_writer: LaneWriter<Waiting>,
    port: SramPort<Target>,
    target_writer: LaneWriter<Target>,
    next: RoundRobin,
    take: Wire<Bits>,
    free: Wire<Bits>,
    opens: Wire<Bits>,
    fills: Wire<Bits>,
    marks: Wire<Bits>,
    flash: Wire<Bool>,
}

impl Misses {
    pub fn new(p: &L1Params) -> Misses {
        let n = p.srsp.mshrs;
        let bits = |name: &str| reg::<Bits>(&format!("mshr_{name}"), n).field("mshr");
        let event = |name: &str| wire_zero::<Bits>(&format!("mshr_{name}"), n);
        let file = |name: &str, w: u32| regfile::<Bits>(name, n, w).fields(&[("mshr", w)]);
        let (lines, ways) = (file("mshr_line", p.srsp.line_bits()), file("mshr_way", p.way_bits()));
        let waiting = regfile::<Waiting>("mshr_waiting", n, p.clone());
        let targets = sram::<Target>("mshr_targets", n << p.target_bits(), 1, p.clone());
        Misses {
            p: p.clone(),
            busy: bits("busy"),
            open: bits("open"),
            noinst: bits("noinst"),
            replay: bits("replay"),
            line_writer: lines.lane_writer("in"),
            lines,
            way_writer: ways.lane_writer("in"),
            ways,
            waiting_writer: waiting.lane_writer("in"),
            waiting,
            port: targets.read_port("look"),
            target_writer: targets.lane_writer("in"),
            next: RoundRobin::new("replay_turn", n),
            take: event("takes"),
            free: event("frees"),
            opens: event("opens"),
            fills: event("fills"),
            marks: event("marks"),
            flash: wire_or::<Bool>("mshr_flash", (), false),
        }
    }

    fn n(&self) -> u32 {
        self.p.srsp.mshrs
    }

    fn place(&self, entry: Bits, target: Bits) -> Bits {
        // One MSHR has a number of one bit, which is 0.
        let entry = if self.n() == 1 { lit(0, 1) } else { entry };
        let at = cat(&[entry, target]);
        at.resize(bits_for(u64::from(self.n() << self.p.target_bits())))
    }

    /// One bit per busy entry of a line.
    pub fn of_line(&self, line: Bits) -> Bits {
        let same: Vec<Bool> = (0..self.n()).map(|i| self.lines.entry(i).eq(line)).collect();
        pack_bools(&same) & self.busy.get()
    }

    /// Entries with atomics to replay.
    pub fn replaying(&self) -> Bits {
        self.busy.get() & !self.open.get()
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

    pub fn waiting(&self, entry: Bits) -> Waiting {
        self.waiting.read(entry)
    }

    /// An entry of a mask takes another target.
    pub fn takes_more(&self, entry: Bits) -> Bool {
        let marked = (self.noinst.get() | self.replay.get()).bit_at(entry);
        let room = self.waiting.read(entry).count.ne(u64::from(self.p.targets));
        self.open.get().bit_at(entry) & !marked & room
    }

    pub fn noinst(&self, entry: Bits) -> Bool {
        self.noinst.get().bit_at(entry)
    }

    pub fn replay(&self, entry: Bits) -> Bool {
        self.replay.get().bit_at(entry)
    }

    /// Chooses the target that is read in the next cycle.
    pub fn present(&self, entry: Bits, target: Bits) {
        self.port.present(self.place(entry, target));
    }

    /// The target presented in the cycle before.
    pub fn target(&self) -> Target {
        self.port.lane(0)
    }

    pub fn full(&self) -> Bool {
        self.busy.get().all()
    }

    pub fn free_entry(&self) -> Bits {
        (!self.busy.get()).lowest_set()
    }

    /// A new line: takes an entry with its first target.
    pub fn take(&self, entry: Bits, line: Bits, way: Bits, first: &Target) {
        self.take.set(entry.one_hot(self.n()));
        self.line_writer.write(entry, &line);
        self.open(entry, way);
        let bits = self.p.target_bits();
        self.target_writer.write(self.place(entry, lit(0, bits)), first);
        let count = lit(1, self.waiting.read(entry).count.width());
        self.waiting_writer.write(entry, &Waiting { count, left: lit_bv(Bv::from_u64(1, self.p.targets)) });
    }

    /// RD of an entry is sent, its frame reserved.
    pub fn open(&self, entry: Bits, way: Bits) {
        self.opens.set(entry.one_hot(self.n()));
        self.way_writer.write(entry, &way);
    }

    /// An operation joins an entry.
    pub fn join(&self, entry: Bits, target: &Target) {
        let now = self.waiting.read(entry);
        self.target_writer.write(self.place(entry, now.count.resize(self.p.target_bits())), target);
        let left = now.left | now.count.one_hot(self.p.targets);
        self.waiting_writer.write(entry, &Waiting { count: now.count + 1, left });
    }

    /// The targets of an entry that are left; without any it is free.
    pub fn leave(&self, entry: Bits, left: Bits) {
        let count = self.waiting.read(entry).count;
        self.waiting_writer.write(entry, &Waiting { count, left });
        when(left.none(), || self.free.set(entry.one_hot(self.n())));
    }

    /// The FILL of an entry is served.
    pub fn filled(&self, entry: Bits) {
        self.fills.set(entry.one_hot(self.n()));
    }

    /// Line-inv of a line under way: its entry gets the mark `replay`.
    pub fn mark(&self, line: Bits) {
        self.marks.set(self.of_line(line) & self.open.get());
    }

    /// Flash-inv: every open entry gets the mark `noinst`.
    pub fn flash(&self) {
        self.flash.set(true);
    }

    /// Declares how the entries change.
    pub fn finish(&self) {
        let (takes, frees, opens, fills) =
            (self.take.get(), self.free.get(), self.opens.get(), self.fills.get());
        when(takes.any() | frees.any(), || self.busy.set((self.busy.get() | takes) & !frees));
        when(opens.any() | fills.any(), || self.open.set((self.open.get() | opens) & !fills));
        // An entry opened again has no marks.
        let cleared = opens | fills;
        let noinst = mux(self.flash.get(), self.open.get(), lit(0, self.n()));
        let (marks, flashes) = (self.marks.get(), noinst);
        when(marks.any() | cleared.any(), || {
            self.replay.set((self.replay.get() & !cleared) | marks);
        });
        when(flashes.any() | cleared.any(), || {
            self.noinst.set((self.noinst.get() & !cleared) | flashes);
        });
    }
}
