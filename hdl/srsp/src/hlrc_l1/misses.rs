//! The MSHRs: one per line asked of the L2, with the operations that wait for it (srsp.md sections 4 and 9).
//!
//! ```text
//!  MSHR: busy | open | noinst | gained | line, way, asked | count, left --> targets (SRAM): operation by operation
//! ```
//! An entry is *open* from its RD, REG or RDU to the answer. One of a REG is then *gained*: its atomics are done, and their old values, which take the place of the operands, are
//! answered when the invalidation is over. New operations join an open entry without mark.

use super::table::Asked;
use crate::write_combining::Shape;
use crate::write_combining::mshrs::{Marks, Mshrs, events, marks};
use crate::write_combining::op::Waiter;
use weft_rtl::prelude::*;

/// A waiting operation: a plain load, or an atomic; the operand of one that is done is the old value.
pub(super) type Target = Waiter;

/// What an entry asks for.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
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
    pub all: Mshrs<Target>,
    /// Gains whose invalidation is not done.
    pub gained: Reg<Bits>,
    from_l2: Reg<Bits>,
    misses: Memory<Miss>,
    miss_writer: LaneWriter<Miss>,
    fills: Wire<Bits>,
    gains: Wire<Bits>,
    settles: Wire<Bits>,
    flash: Wire<Bool>,
}

impl Misses {
    pub fn new(p: &Shape) -> Misses {
        let misses = regfile::<Miss>("mshr_miss", p.srsp.mshrs, p.clone());
        let first = Marks::new(p);
        Misses {
            gained: marks(p, "gained"),
            from_l2: marks(p, "from_l2"),
            miss_writer: misses.lane_writer("in"),
            misses,
            all: Mshrs::new(p, first),
            fills: events(p, "fills"),
            gains: events(p, "gains"),
            settles: events(p, "settles"),
            flash: wire_or::<Bool>("mshr_flash", (), false),
        }
    }

    /// One bit per open entry of a line; at most one is set.
    pub fn of_line(&self, line: Bits) -> Bits {
        self.all.which(self.all.open.get(), |i| self.misses.entry(i).line.eq(line))
    }

    pub fn miss(&self, entry: Bits) -> Miss {
        self.misses.read(entry)
    }

    /// An open entry takes another target.
    pub fn takes_more(&self, entry: Bits) -> Bool {
        let room = self.all.room(entry);
        !self.all.noinst(entry) & room
    }

    /// The line of an entry came from the L2, not from memory.
    pub fn came_from_l2(&self, entry: Bits) -> Bool {
        self.from_l2.get().bit_at(entry)
    }

    /// Takes an entry with its first target.
    pub fn take(&self, entry: Bits, miss: &Miss, first: &Target) {
        self.all.takes.set(self.all.bit(entry));
        self.miss_writer.write(entry, miss);
        self.all.put_first(entry, first);
    }

    /// The answer of an entry is in: it is open no more.
    pub fn filled(&self, entry: Bits) {
        self.fills.set(self.all.bit(entry));
    }

    /// The line of an entry is gained; whether it came from the L2.
    pub fn gain(&self, entry: Bits, from_l2: Bool) {
        let here = self.all.bit(entry);
        self.gains.set(here);
        self.from_l2.set((self.from_l2.get() & !here) | (here & from_l2.repeat(self.all.n())));
    }

    /// An atomic is done: its target holds the old value until it is answered.
    pub fn performed(&self, entry: Bits, target: Bits, done: &Target) {
        self.all.put(entry, target, done);
    }

    /// The invalidation of a gain is done.
    pub fn settle(&self, entry: Bits) {
        self.settles.set(self.all.bit(entry));
    }

    /// Flash-inv: every open entry but those of a REG gets the mark `noinst`.
    pub fn flash(&self) {
        self.flash.set(true);
    }

    /// Declares how the entries change.
    pub fn finish(&self) {
        self.all.finish();
        let (takes, fills) = (self.all.takes.get(), self.fills.get());
        when(takes.any() | fills.any(), || self.all.open.set((self.all.open.get() | takes) & !fills));
        let regs: Vec<Bool> = (0..self.all.n()).map(|i| self.misses.entry(i).asked.is(Asked::Reg)).collect();
        let marked = self.all.open.get() & !pack_bools(&regs);
        when(self.flash.get(), || self.all.noinst.set(self.all.noinst.get() | marked))
            .elsewhen(fills.any(), || self.all.noinst.set(self.all.noinst.get() & !fills));
        let (gains, settles) = (self.gains.get(), self.settles.get());
        when(gains.any() | settles.any(), || {
            self.gained.set((self.gained.get() | gains) & !settles);
        });
    }
}
