//! The MSHRs: one per line asked of the L2, with the operations that wait for it (srsp.md sections 4 and 9).
//!
//! ```text
//!  MSHR: busy | open | noinst | gained | line, way, asked | count, left --> targets (SRAM): operation by operation
//! ```
//! An entry is *open* from its RD, REG or RDU to the answer. One of a REG is then *gained*: its atomics are done, and their old values, which take the place of the operands, are
//! answered when the invalidation is over. New operations join an open entry without mark.

use super::table::Asked;
use crate::write_combining::Shape;
use crate::write_combining::misses::{self, Asks};
use crate::write_combining::mshrs::{events, marks};
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

impl Asks for Miss {
    fn line(&self) -> Bits {
        self.line
    }
    fn registers(&self) -> Bool {
        self.asked.is(Asked::Reg)
    }
}

/// Which entries are gained.
pub(super) struct Gains {
    /// Gains whose invalidation is not done.
    gained: Reg<Bits>,
    from_l2: Reg<Bits>,
    gains: Wire<Bits>,
    settles: Wire<Bits>,
}

/// The MSHRs. One slot changes one entry per cycle; marks come from flash-inv.
pub(super) type Misses = misses::Misses<Miss, Target, Gains>;

/// Declares the MSHRs.
pub(super) fn declare(p: &Shape) -> Misses {
    Misses::new(
        p,
        || (marks(p, "gained"), marks(p, "from_l2")),
        |(gained, from_l2)| Gains {
            gained,
            from_l2,
            gains: events(p, "gains"),
            settles: events(p, "settles"),
        },
    )
}

impl Misses {
    /// Some gain's invalidation is not done.
    pub fn some_gained(&self) -> Bool {
        self.own.gained.get().any()
    }

    /// The line of an entry came from the L2, not from memory.
    pub fn came_from_l2(&self, entry: Bits) -> Bool {
        self.own.from_l2.get().bit_at(entry)
    }

    /// The line of an entry is gained; whether it came from the L2.
    pub fn gain(&self, entry: Bits, from_l2: Bool) {
        let here = self.all.bit(entry);
        self.own.gains.set(here);
        let known = &self.own.from_l2;
        known.set((known.get() & !here) | (here & from_l2.repeat(self.all.n())));
    }

    /// An atomic is done: its target holds the old value until it is answered.
    pub fn performed(&self, entry: Bits, target: Bits, done: &Target) {
        self.all.put(entry, target, done);
    }

    /// The invalidation of a gain is done.
    pub fn settle(&self, entry: Bits) {
        self.own.settles.set(self.all.bit(entry));
    }

    /// Declares how the entries change.
    pub fn finish(&self) {
        self.finish_entries();
        let Gains { gained, gains, settles, .. } = &self.own;
        let (gains, settles) = (gains.get(), settles.get());
        when(gains.any() | settles.any(), || {
            gained.set((gained.get() | gains) & !settles);
        });
    }
}
