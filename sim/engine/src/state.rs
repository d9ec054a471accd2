//! What changes while a design runs.

use crate::cut::Wiring;
use crate::design::Design;
use serde::{Deserialize, Serialize};

/// A failed assertion.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// Cycle in which the condition did not hold.
    pub cycle: u64,
    /// Unit and scope.
    pub path: String,
    /// Name of the assertion.
    pub name: String,
    /// What should have held.
    pub text: String,
    /// Source line.
    pub at: String,
}

/// What a unit's scheduling needs besides its state.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Schedule {
    /// Skipped since this cycle.
    pub asleep: Option<u64>,
    /// Cycles from one check to the next; doubles while the unit works.
    interval: u64,
    /// Cycles from waking to the first check: doubles after each short sleep, which saved less than its check
    /// cost, and halves after each long one.
    pub first: u64,
    /// What each counter gains per cycle while asleep.
    pub rate: Vec<u64>,
    /// Counters of assertions at the last failure reported.
    pub reported: Vec<u64>,
}

/// Longest time from one check of a working unit to the next, in cycles.
const LONGEST_INTERVAL: u64 = 32;

/// Shortest sleep that is worth its check, in cycles.
const WORTHWHILE: u64 = 8;

impl Schedule {
    fn new(probes: usize) -> Schedule {
        let none = vec![0; probes];
        Schedule { asleep: None, interval: 1, first: 0, rate: none.clone(), reported: none }
    }

    /// Something happens after a sleep of that many cycles.
    pub fn woke_up(&mut self, slept: u64) {
        self.interval = 1;
        self.first =
            if slept >= WORTHWHILE { self.first / 2 } else { (2 * self.first + 1).min(LONGEST_INTERVAL) };
    }

    /// Cycles until the next check of a unit that was found at work.
    pub fn next_interval(&mut self) -> u64 {
        self.interval = (2 * self.interval).min(LONGEST_INTERVAL);
        self.interval
    }
}

/// All that changes in some units while a design runs.
#[derive(Serialize, Deserialize)]
pub(crate) struct Core {
    /// State of the units, one after the other.
    pub limbs: Vec<u64>,
    pub units: Vec<Schedule>,
    /// For each unit the next cycle in which it is checked whether it has anything left to do.
    pub watch: Vec<u64>,
    /// One bit per unit that is not asleep.
    pub active: Vec<u64>,
    pub cycle: u64,
}

/// Limbs of a page of memory.
const PAGE: usize = 512;

impl Clone for Core {
    /// Where there is nothing but zeros, as in memories that nobody has written, a copy touches no pages of its own,
    /// so that the one of a large fabric's first cycle takes little time and room.
    fn clone(&self) -> Core {
        let Core { limbs, units, watch, active, cycle } = self;
        let mut copy = vec![0; limbs.len()];
        for (to, from) in copy.chunks_mut(PAGE).zip(limbs.chunks(PAGE)) {
            if from.iter().any(|limb| *limb != 0) {
                to.copy_from_slice(from);
            }
        }
        Core {
            limbs: copy,
            units: units.clone(),
            watch: watch.clone(),
            active: active.clone(),
            cycle: *cycle,
        }
    }
}

impl Core {
    /// State before reset, all units awake.
    pub fn new(design: &Design, wiring: &Wiring) -> Core {
        let probes = |ty: usize| design.types[ty].netlist.probes.len();
        let units: Vec<Schedule> = wiring.calls.iter().map(|call| Schedule::new(probes(call.ty))).collect();
        let mut active = vec![0u64; units.len().div_ceil(64)];
        (0..units.len()).for_each(|u| active[u / 64] |= 1 << (u % 64));
        let limbs = vec![0; wiring.calls.last().map_or(0, |call| call.end)];
        let first = if design.options.sleep { 0 } else { u64::MAX };
        let watch = vec![first; units.len()];
        Core { limbs, units, watch, active, cycle: 0 }
    }

    #[inline]
    pub fn is_active(&self, unit: usize) -> bool {
        self.active[unit / 64] >> (unit % 64) & 1 == 1
    }

    /// Copies limbs of the state; whether any changed.
    #[inline]
    pub fn copy(&mut self, from: usize, to: usize, limbs: usize) -> bool {
        let (low, high) = self.limbs.split_at_mut(from.max(to));
        if from < to {
            replace(&mut high[..limbs], &low[from..][..limbs])
        } else {
            replace(&mut low[to..][..limbs], &high[..limbs])
        }
    }
}

/// The whole state of a simulation, however it is cut, as it is saved.
#[derive(Serialize, Deserialize)]
pub(crate) struct Saved {
    /// Units in the order of the design.
    pub core: Core,
    pub failures: Vec<Failure>,
}

/// Puts limbs in the place of others; whether any changed. They are few, so nothing is gained by not writing.
#[inline]
pub(crate) fn replace(old: &mut [u64], new: &[u64]) -> bool {
    let mut differ = 0;
    for (old, new) in old.iter_mut().zip(new) {
        differ |= *old ^ new;
        *old = *new;
    }
    differ != 0
}
