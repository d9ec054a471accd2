//! What a compute unit has under way and how far its clock must have got.

use super::history::{By, Bytes};
use super::wave::Along;
use crate::cu::LineAccess;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use weft_blocks::msg::CuOp;

/// Waves of a compute unit that are remembered; more than can be resident.
const WAVES: usize = 512;

/// An access that the L1 has taken and not answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Op {
    pub access: LineAccess,
    pub by: By,
    /// Number of a write.
    pub number: u64,
    /// What the clock had reached at least.
    pub clock: u64,
}

impl Op {
    /// Its bytes, with `data`.
    pub fn bytes(&self, data: &[u64; 16]) -> Bytes {
        let mut line = [0; 8];
        line.copy_from_slice(&data[..8]);
        Bytes { mask: self.access.mask as u64, data: line }
    }
}

/// A compute unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Unit {
    /// The time with which the kernel has begun: everything binds at or after it.
    pub begun: u64,
    /// What its clock has reached at least.
    pub clock: u64,
    /// Greatest time at which one of its accesses bound.
    pub greatest: u64,
    /// By transaction number.
    ops: BTreeMap<u16, Op>,
    /// By kernel, work-group and wave.
    waves: BTreeMap<(u32, u32, u32), Along>,
}

impl Unit {
    /// The L1 takes an access.
    pub fn taken(&mut self, access: &LineAccess, by: By, number: u64) {
        let op = Op { access: access.clone(), by, number, clock: self.clock };
        self.ops.insert(access.id, op);
    }

    /// The access of this transaction number is answered.
    pub fn answered(&mut self, id: u16) -> Option<Op> {
        self.ops.remove(&id)
    }

    /// Nothing that is to come, or is under way, binds before this.
    pub fn at_least(&self) -> u64 {
        let loads = self.ops.values().filter(|op| op.access.op == CuOp::Ld);
        loads.map(|op| op.clock).fold(self.clock, u64::min)
    }

    /// Where the wave of an access is; `now` tells the waves apart that are used from those that have ended.
    pub fn along(&mut self, wave: (u32, u32, u32), now: u64) -> &mut Along {
        if self.waves.len() >= WAVES && !self.waves.contains_key(&wave) {
            let mut last: Vec<u64> = self.waves.values().map(|along| along.last).collect();
            last.sort_unstable();
            let middle = last[WAVES / 2];
            self.waves.retain(|_, along| along.last > middle);
        }
        let along = self.waves.entry(wave).or_default();
        along.last = now;
        along
    }

    /// A kernel has ended.
    pub fn rest(&mut self) {
        self.waves.clear();
    }
}
