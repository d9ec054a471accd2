//! What an L1 knows of the writes of others.

use serde::{Deserialize, Serialize};

/// Of each L1 the number of its last write that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock(Vec<u32>);

impl Clock {
    /// Nothing is known of `units` L1s.
    pub fn new(units: usize) -> Clock {
        Clock(vec![0; units])
    }

    /// The number known of an L1.
    pub fn of(&self, unit: u32) -> u32 {
        self.0[unit as usize]
    }

    /// One more write of an L1, by itself; its number.
    pub fn tick(&mut self, unit: u32) -> u32 {
        self.0[unit as usize] += 1;
        self.0[unit as usize]
    }

    /// Learns all that another knows.
    pub fn join(&mut self, other: &Clock) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a = (*a).max(*b));
    }

    /// Keeps what another knows too.
    pub fn meet(&mut self, other: &Clock) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a = (*a).min(*b));
    }

    /// Knows a write.
    pub fn knows(&self, unit: u32, number: u32) -> bool {
        self.of(unit) >= number
    }

    /// Everything it knows is known to another.
    pub fn within(&self, other: &Clock) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a <= b)
    }
}
