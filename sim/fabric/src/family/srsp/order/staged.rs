//! Releases and acquires that are messages of their own, to an L1 and to the stash beside it.
//!
//! A release counts when it is answered, for what was taken before it; a synchronising access publishes what the releases of its compute unit have told until then. What it finds counts
//! for what the L1, or the stash, takes behind an acquire. Between L1 and stash the same holds as between two compute units: one knows the writes of the other once they were released by
//! the one and it has acquired since.

use super::clock::Clock;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use weft_blocks::msg::CuOp;

/// What has been released and found, by L1 or stash.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Staged {
    /// Stashes: the last of all, in the order of their L1s, which are those just before them.
    stashes: u32,
    /// Known when the last release that is answered was taken.
    released: Vec<Clock>,
    /// What synchronising accesses have found.
    found: Vec<Clock>,
    /// Releases not answered, by L1 and transaction number.
    open: BTreeMap<(u32, u16), Clock>,
}

impl Staged {
    /// At a kernel's beginning, of so many L1s and stashes together.
    pub fn new(units: usize, stashes: u32) -> Staged {
        let none = vec![Clock::new(units); units];
        Staged { stashes, released: none.clone(), found: none, open: BTreeMap::new() }
    }

    /// The kernel has ended.
    pub fn restart(&mut self) {
        *self = Staged::new(self.released.len(), self.stashes);
    }

    /// The L1 of a stash, the stash of an L1.
    fn beside(&self, unit: u32) -> Option<usize> {
        let (units, stashes) = (self.released.len() as u32, self.stashes);
        match unit {
            _ if unit >= units - stashes => Some((unit - stashes) as usize),
            _ if unit + 2 * stashes >= units => Some((unit + stashes) as usize),
            _ => None,
        }
    }

    /// A message is taken by a unit that knows this; what it learns by that.
    pub fn take(&mut self, unit: u32, op: CuOp, id: u16, knows: &Clock) -> Option<Clock> {
        match op {
            CuOp::Rel => drop(self.open.insert((unit, id), knows.clone())),
            CuOp::Acq => {
                let mut learned = self.found[unit as usize].clone();
                if let Some(other) = self.beside(unit) {
                    learned.join(&self.found[other]);
                    learned.join(&self.released[other]);
                }
                return Some(learned);
            }
            _ => {}
        }
        None
    }

    /// A message is answered.
    pub fn answer(&mut self, unit: u32, id: u16) {
        if let Some(clock) = self.open.remove(&(unit, id)) {
            self.released[unit as usize].join(&clock);
        }
    }

    /// What a synchronising access that a unit takes now publishes.
    pub fn published(&self, unit: u32) -> Clock {
        let mut clock = self.released[unit as usize].clone();
        if let Some(other) = self.beside(unit) {
            clock.join(&self.released[other]);
        }
        clock
    }

    /// A synchronising access of a unit has found this.
    pub fn find(&mut self, unit: u32, found: &Clock) {
        self.found[unit as usize].join(found);
    }
}
