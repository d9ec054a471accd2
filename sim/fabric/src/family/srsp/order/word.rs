//! Plain writes of a word, and what a load may see of them.

use super::clock::Clock;
use serde::{Deserialize, Serialize};

/// Most writes of a word that are kept.
const KEPT: usize = 16;

/// A later write that happened after, and the bytes that it covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Over {
    unit: u32,
    number: u32,
    mask: u8,
}

/// A plain write to a word of 4 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Write {
    unit: u32,
    number: u32,
    /// Bytes.
    mask: u8,
    value: u32,
    over: Vec<Over>,
}

impl Write {
    /// Whoever knows this may see the byte.
    fn shows(&self, byte: u32, clock: &Clock) -> bool {
        let hides = |over: &Over| over.mask >> byte & 1 == 1 && clock.knows(over.unit, over.number);
        self.mask >> byte & 1 == 1 && !self.over.iter().any(hides)
    }
}

/// The writes of a word since the kernel began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    writes: Vec<Write>,
    /// Some are forgotten.
    crowded: bool,
}

/// What a load finds in a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A value that it may see.
    Right,
    /// One that it must not.
    Wrong,
    /// Nobody can tell: writes are forgotten.
    Unknown,
}

impl Word {
    /// Write `number` of an L1 that knows `clock`, itself included.
    pub fn write(&mut self, unit: u32, number: u32, clock: &Clock, mask: u8, value: u32) {
        for old in self.writes.iter_mut().filter(|old| clock.knows(old.unit, old.number)) {
            // Whoever knows the first of an L1's writes may not see it any more.
            if !old.over.iter().any(|over| over.unit == unit && over.mask & mask == mask) {
                old.over.push(Over { unit, number, mask });
            }
        }
        if self.writes.len() == KEPT {
            let covered = |w: &Write| w.over.iter().fold(0, |m, o| m | o.mask) & w.mask == w.mask;
            let at = self.writes.iter().position(covered).unwrap_or(0);
            self.writes.remove(at);
            self.crowded = true;
        }
        self.writes.push(Write { unit, number, mask, value, over: Vec::new() });
    }

    /// A byte is read by one who knows `clock`; `base` is its value before all writes.
    pub fn read(&self, byte: u32, clock: &Clock, base: u8, found: u8) -> Seen {
        let value = |w: &Write| (w.value >> (8 * byte)) as u8;
        let known = |w: &&Write| w.mask >> byte & 1 == 1 && clock.knows(w.unit, w.number);
        let first = base == found && !self.writes.iter().any(|w| known(&w));
        if first || self.writes.iter().any(|w| w.shows(byte, clock) && value(w) == found) {
            Seen::Right
        } else if self.crowded {
            Seen::Unknown
        } else {
            Seen::Wrong
        }
    }

    /// A value that a load may see in a byte, for a sentence.
    pub fn expected(&self, byte: u32, clock: &Clock, base: u8) -> (u8, Option<u32>) {
        let shown = self.writes.iter().rev().find(|w| w.shows(byte, clock));
        shown.map_or((base, None), |w| ((w.value >> (8 * byte)) as u8, Some(w.unit)))
    }
}
