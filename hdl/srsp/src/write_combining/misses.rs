//! What MSHRs ask for, in L1s that register lines: an `M` each, with targets `T`; what else is kept of them is the L1's own, `G`.
//!
//! An entry is *open* from its request to the answer. New operations join an open entry without mark.

use super::Shape;
use super::mshrs::{Marks, Mshrs, events};
use weft_rtl::prelude::*;

/// What an entry asks for.
pub(crate) trait Asks: Data<Shape = Shape> {
    /// The line.
    fn line(&self) -> Bits;
    /// It is registered: an invalidation leaves no mark.
    fn registers(&self) -> Bool;
}

/// The MSHRs. One slot changes one entry per cycle; marks come from flash-inv.
pub(crate) struct Misses<M: Asks, T: Data, G> {
    pub all: Mshrs<T>,
    pub own: G,
    misses: Memory<M>,
    miss_writer: LaneWriter<M>,
    fills: Wire<Bits>,
    flash: Wire<Bool>,
}

impl<M: Asks, T: Data<Shape = Shape>, G> Misses<M, T, G> {
    /// Declares the entries; `regs` and `wires`: what else is kept of them.
    pub fn new<R>(p: &Shape, regs: impl FnOnce() -> R, wires: impl FnOnce(R) -> G) -> Misses<M, T, G> {
        let misses = regfile::<M>("mshr_miss", p.srsp.mshrs, p.clone());
        let first = Marks::new(p);
        let regs = regs();
        let miss_writer = misses.lane_writer("in");
        let all = Mshrs::new(p, first);
        let fills = events(p, "fills");
        let own = wires(regs);
        Misses { all, own, misses, miss_writer, fills, flash: wire_or::<Bool>("mshr_flash", (), false) }
    }

    /// One bit per open entry of a line; at most one is set.
    pub fn of_line(&self, line: Bits) -> Bits {
        self.all.which(self.all.open.get(), |i| self.misses.entry(i).line().eq(line))
    }

    pub fn miss(&self, entry: Bits) -> M {
        self.misses.read(entry)
    }

    /// An open entry takes another target.
    pub fn takes_more(&self, entry: Bits) -> Bool {
        let room = self.all.room(entry);
        !self.all.noinst(entry) & room
    }

    /// Takes an entry with its first target.
    pub fn take(&self, entry: Bits, miss: &M, first: &T) {
        self.begin(entry, miss);
        self.all.put_first(entry, first);
    }

    /// Takes an entry for which nothing waits.
    pub fn take_alone(&self, entry: Bits, miss: &M) {
        self.begin(entry, miss);
        self.all.put_none(entry);
    }

    fn begin(&self, entry: Bits, miss: &M) {
        self.all.takes.set(self.all.bit(entry));
        self.miss_writer.write(entry, miss);
    }

    /// The answer of an entry is in: it is open no more.
    pub fn filled(&self, entry: Bits) {
        self.fills.set(self.all.bit(entry));
    }

    /// Flash-inv: every open entry but those of a REG gets the mark `noinst`.
    pub fn flash(&self) {
        self.flash.set(true);
    }

    /// Declares how the entries change; call it before what is the L1's own changes.
    pub fn finish_entries(&self) {
        self.all.finish();
        let (takes, fills) = (self.all.takes.get(), self.fills.get());
        when(takes.any() | fills.any(), || self.all.open.set((self.all.open.get() | takes) & !fills));
        let regs: Vec<Bool> = (0..self.all.n()).map(|i| self.misses.entry(i).registers()).collect();
        let marked = self.all.open.get() & !pack_bools(&regs);
        when(self.flash.get(), || self.all.noinst.set(self.all.noinst.get() | marked))
            .elsewhen(fills.any(), || self.all.noinst.set(self.all.noinst.get() & !fills));
    }
}
