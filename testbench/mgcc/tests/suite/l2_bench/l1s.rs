//! L1s as the bank sees them: clocks, the sending rule, one transaction per line.

use super::memory::{Time, op};
use super::ports::{Bytes, Mask};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;

/// A request of an L1.
#[derive(Clone, Debug)]
pub struct Ask {
    pub l1: usize,
    pub txn: u64,
    pub op: u64,
    pub line: u64,
    pub force: bool,
    pub mask: Mask,
    pub data: Bytes,
    pub amo: [u64; 4],
    /// The L1's clock when it asked, and what it attached.
    pub need: Time,
    pub ts: Option<u64>,
    /// Versions of the line that an answer of the bank had shown before.
    pub known: usize,
    pub cycle: u64,
    /// Of a write-back bank: the line after it, and an atomic's old value.
    pub want: Option<(Bytes, u64)>,
}

/// An L1.
pub struct L1 {
    pub clock: Time,
    /// What the bank's clock has certainly reached.
    pub lb: u64,
    /// Greatest wts of reads since the last fence.
    pub acq: u64,
    pub open: BTreeMap<u64, Ask>,
    mshrs: u32,
}

impl L1 {
    pub fn new(mshrs: u32) -> L1 {
        L1 { clock: (0, 0), lb: 0, acq: 0, open: BTreeMap::new(), mshrs }
    }

    pub fn roll(&mut self, epoch: u64) {
        if epoch > self.clock.0 {
            (self.clock, self.lb, self.acq) = ((epoch, 0), 0, 0);
        }
    }

    /// A transaction number that is free.
    pub fn free(&self) -> Option<u64> {
        (0..u64::from(self.mshrs)).find(|t| !self.open.contains_key(t))
    }

    /// It has a transaction of this line.
    pub fn has(&self, line: u64) -> bool {
        self.open.values().any(|a| a.line == line)
    }

    /// What is attached to a request now (sending rule).
    pub fn attach(&mut self) -> Option<u64> {
        let ahead = self.clock.1 > self.lb;
        if ahead {
            self.lb = self.clock.1;
        }
        ahead.then_some(self.clock.1)
    }
}

/// Data of a request, which no other request has.
pub fn fresh(rng: &mut SmallRng) -> Bytes {
    std::array::from_fn(|_| rng.random())
}

/// A mask of some bytes, not all.
pub fn partial(rng: &mut SmallRng) -> Mask {
    loop {
        let mask = rng.random::<u64>() & rng.random::<u64>();
        if mask != 0 && mask != Mask::MAX {
            return mask;
        }
    }
}

/// Operation, force and mask of a kind: read, forced read, partial write, full write, atomic.
pub fn kind(rng: &mut SmallRng, number: usize) -> (u64, bool, Mask) {
    match number {
        0 => (op::RD, false, 0),
        1 => (op::RD, true, 0),
        2 => (op::WR, false, partial(rng)),
        3 => (op::WR, false, Mask::MAX),
        _ => (op::AMO, false, 0),
    }
}
