//! The MSHRs: one per line asked of the L2, with the operations that wait for it (srsp.md sections 4 and 9).
//!
//! ```text
//!  MSHR: busy | open | noinst | gained | line, way, asked | count, left --> targets (SRAM): operation by operation
//! ```
//! An entry is *open* from its RD, REG or RDU to the answer. One of a REG is then *gained*: its atomics are done, and their old values, which take the place of the operands, are
//! answered when the invalidation is over. New operations join an open entry without mark.

use super::params::HlrcL1Params;
use super::table::Asked;
use crate::msg::SyncOp;
use weft_rtl::prelude::*;

/// A waiting operation: a plain load, or an atomic.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = HlrcL1Params)]
pub(super) struct Target {
    #[field("mshr")]
    pub load: Bool,
    #[field("mshr")]
    pub op: Enum<SyncOp>,
    #[width(p.srsp.line)]
    #[field("mshr")]
    pub mask: Bits,
    /// Operand; of an atomic that is done the old value.
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
#[bundle(params = HlrcL1Params)]
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

/// What an entry asks for.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = HlrcL1Params)]
pub(super) struct Miss {
    #[width(p.srsp.line_bits())]
    #[field("mshr")]
    pub line: Bits,
    /// The frame reserved; without meaning for an RDU.
    #[width(p.way_bits())]
    #[field("mshr")]
    pub way: Bits,
    #[field("mshr")]
    pub asked: Enum<Asked>,
}

/// The MSHRs. One slot changes one entry per cycle; marks come from flash-inv.
pub(super) struct Misses {
    p: HlrcL1Params,
    busy: Reg<Bits>,
    pub open: Reg<Bits>,
    noinst: Reg<Bits>,
    /// Gains whose invalidation is not done.
    pub gained: Reg<Bits>,
    from_l2: Reg<Bits>,
    misses: Memory<Miss>,
    miss_writer: LaneWriter<Miss>,
    waiting: Memory<Waiting>,
    waiting_writer: LaneWriter<Waiting>,
    port: SramPort<Target>,
    target_writer: LaneWriter<Target>,
    takes: Wire<Bits>,
    frees: Wire<Bits>,
    fills: Wire<Bits>,
    gains: Wire<Bits>,
    settles: Wire<Bits>,
    flash: Wire<Bool>,
}

impl Misses {
    pub fn new(p: &HlrcL1Params) -> Misses {
        let n = p.srsp.mshrs;
        let bits = |name: &str| reg::<Bits>(&format!("mshr_{name}"), n).field("mshr");
        let event = |name: &str| wire_zero::<Bits>(&format!("mshr_{name}"), n);
        let misses = regfile::<Miss>("mshr_miss", n, p.clone());
        let waiting = regfile::<Waiting>("mshr_waiting", n, p.clone());
        let targets = sram::<Target>("mshr_targets", n << p.target_bits(), 1, p.clone());
        Misses {
            p: p.clone(),
            busy: bits("busy"),
            open: bits("open"),
            noinst: bits("noinst"),
            gained: bits("gained"),
            from_l2: bits("from_l2"),
            miss_writer: misses.lane_writer("in"),
            misses,
            waiting_writer: waiting.lane_writer("in"),
            waiting,
            port: targets.read_port("look"),
            target_writer: targets.lane_writer("in"),
            takes: event("takes"),
            frees: event("frees"),
            fills: event("fills"),
            gains: event("gains"),
            settles: event("settles"),
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

    /// One bit per open entry of a line; at most one is set.
    pub fn of_line(&self, line: Bits) -> Bits {
        let same: Vec<Bool> = (0..self.n()).map(|i| self.misses.entry(i).line.eq(line)).collect();
        pack_bools(&same) & self.open.get()
    }

    pub fn miss(&self, entry: Bits) -> Miss {
        self.misses.read(entry)
    }

    pub fn waiting(&self, entry: Bits) -> Waiting {
        self.waiting.read(entry)
    }

    /// An open entry takes another target.
    pub fn takes_more(&self, entry: Bits) -> Bool {
        let room = self.waiting.read(entry).count.ne(u64::from(self.p.targets));
        !self.noinst(entry) & room
    }

    /// A flash-inv has passed since the entry was opened.
    pub fn noinst(&self, entry: Bits) -> Bool {
        self.noinst.get().bit_at(entry)
    }

    /// The line of an entry came from the L2, not from memory.
    pub fn came_from_l2(&self, entry: Bits) -> Bool {
        self.from_l2.get().bit_at(entry)
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

    /// The lowest free entry, of meaning while not full.
    pub fn free_entry(&self) -> Bits {
        (!self.busy.get()).lowest_set()
    }

    /// Takes an entry with its first target.
    pub fn take(&self, entry: Bits, miss: &Miss, first: &Target) {
        self.takes.set(entry.one_hot(self.n()));
        self.miss_writer.write(entry, miss);
        let bits = self.p.target_bits();
        self.target_writer.write(self.place(entry, lit(0, bits)), first);
        let count = lit(1, self.waiting.read(entry).count.width());
        self.waiting_writer.write(entry, &Waiting { count, left: lit_bv(Bv::from_u64(1, self.p.targets)) });
    }

    /// An operation joins an entry.
    pub fn join(&self, entry: Bits, target: &Target) {
        let now = self.waiting.read(entry);
        self.target_writer.write(self.place(entry, now.count.resize(self.p.target_bits())), target);
        let left = now.left | now.count.one_hot(self.p.targets);
        self.waiting_writer.write(entry, &Waiting { count: now.count + 1, left });
    }

    /// The answer of an entry is in: it is open no more.
    pub fn filled(&self, entry: Bits) {
        self.fills.set(entry.one_hot(self.n()));
    }

    /// The line of an entry is gained; whether it came from the L2.
    pub fn gain(&self, entry: Bits, from_l2: Bool) {
        let here = entry.one_hot(self.n());
        self.gains.set(here);
        self.from_l2.set((self.from_l2.get() & !here) | (here & from_l2.repeat(self.n())));
    }

    /// An atomic is done: its target holds the old value until it is answered.
    pub fn performed(&self, entry: Bits, target: Bits, done: &Target) {
        self.target_writer.write(self.place(entry, target), done);
    }

    /// The invalidation of a gain is done.
    pub fn settle(&self, entry: Bits) {
        self.settles.set(entry.one_hot(self.n()));
    }

    /// The targets of an entry that are left; without any it is free.
    pub fn leave(&self, entry: Bits, left: Bits) {
        let count = self.waiting.read(entry).count;
        self.waiting_writer.write(entry, &Waiting { count, left });
        when(left.none(), || self.frees.set(entry.one_hot(self.n())));
    }

    /// Flash-inv: every open entry but those of a REG gets the mark `noinst`.
    pub fn flash(&self) {
        self.flash.set(true);
    }

    /// Declares how the entries change.
    pub fn finish(&self) {
        let (takes, frees, fills) = (self.takes.get(), self.frees.get(), self.fills.get());
        when(takes.any() | frees.any(), || self.busy.set((self.busy.get() | takes) & !frees));
        when(takes.any() | fills.any(), || self.open.set((self.open.get() | takes) & !fills));
        let regs: Vec<Bool> = (0..self.n()).map(|i| self.misses.entry(i).asked.is(Asked::Reg)).collect();
        let marked = self.open.get() & !pack_bools(&regs);
        when(self.flash.get(), || self.noinst.set(self.noinst.get() | marked))
            .elsewhen(fills.any(), || self.noinst.set(self.noinst.get() & !fills));
        let (gains, settles) = (self.gains.get(), self.settles.get());
        when(gains.any() | settles.any(), || {
            self.gained.set((self.gained.get() | gains) & !settles);
        });
    }
}
