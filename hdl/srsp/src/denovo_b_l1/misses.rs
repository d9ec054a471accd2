//! The MSHRs: one per line asked of the L2, with the operations that wait for it.
//!
//! ```text
//!  MSHR: busy | open | noinst | line, way, asked, counts, epoch | count, left --> targets (SRAM): operation by operation
//! ```
//! An entry of a REG may have no target: the line is registered because it is written. If it `counts`, a release waits for it, in its epoch of the fence.

use super::table::Asked;
use crate::write_combining::Shape;
use crate::write_combining::misses::{self, Asks};
use crate::write_combining::op::{Op, Waiter};
use weft_rtl::prelude::*;

/// A waiting operation: a plain load, or an atomic.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
pub(super) struct Target {
    #[shape(p.clone())]
    pub waiter: Waiter,
    /// It acquires: its answer comes behind its I.
    #[field("mshr")]
    pub acquires: Bool,
}

impl Target {
    /// What is kept of an operation.
    pub fn of(op: &Op, acquires: Bool) -> Target {
        Target { waiter: op.waiter(), acquires }
    }

    /// The operation, on its line.
    pub fn again(&self, line: Bits, p: &Shape) -> Op {
        let sem = self.acquires.bits().zext(2);
        Op { sem, ..self.waiter.again(|| line, p) }
    }
}

/// What an entry asks for.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
pub(super) struct Miss {
    #[width(p.srsp.line_bits())]
    #[field("mshr")]
    pub line: Bits,
    /// The frame reserved.
    #[width(p.way_bits())]
    #[field("mshr")]
    pub way: Bits,
    #[field("mshr")]
    pub asked: Enum<Asked>,
    /// Bytes were written: a release waits for the answer.
    #[field("mshr")]
    pub counts: Bool,
    #[width(1)]
    #[field("mshr")]
    pub epoch: Bits,
}

impl Asks for Miss {
    fn line(&self) -> Bits {
        self.line
    }
    fn registers(&self) -> Bool {
        self.asked.is(Asked::Reg)
    }
}

/// The MSHRs.
pub(super) type Misses = misses::Misses<Miss, Target, ()>;

/// Declares the MSHRs.
pub(super) fn declare(p: &Shape) -> Misses {
    Misses::new(p, || (), |()| ())
}

impl Misses {
    /// Nothing waits for an open entry.
    pub fn alone(&self, entry: Bits) -> Bool {
        self.all.waiting(entry).count.none()
    }
}
