//! Ticks of a compute unit that is slower than the fabric's clock (`cu-and-consistency.md` section 1).

use serde::{Deserialize, Serialize};

/// So many ticks in so many cycles, spread evenly; tick 0 is in cycle 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pace {
    /// Ticks, 1..=`cycles`.
    pub ticks: u32,
    /// Cycles, 1..=1000.
    pub cycles: u32,
}

impl Default for Pace {
    /// A tick in every cycle.
    fn default() -> Self {
        Self { ticks: 1, cycles: 1 }
    }
}

impl Pace {
    /// Number of the last tick that is not after cycle `now`.
    #[inline]
    pub fn tick(self, now: u64) -> u64 {
        if self.ticks == self.cycles { now } else { now * u64::from(self.ticks) / u64::from(self.cycles) }
    }

    /// Cycle of a tick.
    #[inline]
    pub fn cycle(self, tick: u64) -> u64 {
        if self.ticks == self.cycles {
            tick
        } else {
            (tick * u64::from(self.cycles)).div_ceil(u64::from(self.ticks))
        }
    }

    /// Whether a tick is in this cycle.
    #[inline]
    pub fn is_tick(self, now: u64) -> bool {
        self.ticks == self.cycles || self.cycle(self.tick(now)) == now
    }

    /// Cycle of the tick that comes `ticks` after the last one that is not after `now`.
    #[inline]
    pub fn after(self, now: u64, ticks: u64) -> u64 {
        if self.ticks == self.cycles { now + ticks } else { self.cycle(self.tick(now) + ticks) }
    }

    /// Ticks in cycles from `begin` on and before `end`.
    pub fn ticks(self, begin: u64, end: u64) -> u64 {
        self.tick(self.from(end)) - self.tick(self.from(begin))
    }

    /// The first cycle from `now` on that has a tick.
    #[inline]
    pub fn from(self, now: u64) -> u64 {
        if self.is_tick(now) { now } else { self.after(now, 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_of_twenty_cycles_are_ticks() {
        let pace = Pace { ticks: 7, cycles: 20 };
        let ticks: Vec<u64> = (0..40).filter(|now| pace.is_tick(*now)).collect();
        assert_eq!(ticks, [0, 3, 6, 9, 12, 15, 18, 20, 23, 26, 29, 32, 35, 38]);
        for (number, cycle) in ticks.iter().enumerate() {
            assert_eq!((pace.tick(*cycle), pace.cycle(number as u64)), (number as u64, *cycle));
        }
        assert_eq!([0, 1, 2, 3, 18, 19].map(|now| pace.after(now, 1)), [3, 3, 3, 6, 20, 20]);
        assert_eq!([0, 1, 3, 19].map(|now| pace.from(now)), [0, 3, 3, 20]);
        assert_eq!(pace.after(5, 0), 3);
        assert_eq!(
            [(0, 0), (0, 1), (0, 3), (1, 4), (0, 20), (7, 47)].map(|(a, b)| pace.ticks(a, b)),
            [0, 1, 1, 1, 7, 14]
        );
    }

    #[test]
    fn a_unit_as_fast_as_the_clock_ticks_always() {
        for pace in [Pace::default(), Pace { ticks: 5, cycles: 5 }] {
            assert!(
                (0..50)
                    .all(|now| pace.is_tick(now) && pace.after(now, 3) == now + 3 && pace.from(now) == now)
            );
        }
    }
}
