//! What memory holds, with the newer bytes of caches.

use super::{Newer, Surroundings};
use std::collections::BTreeMap;
use weft_engine::Sim;

/// Memory while no compute unit has anything under way; lines of 64 bytes.
pub(crate) struct Held<'a> {
    around: &'a dyn Surroundings,
    newer: Parts<'a>,
}

/// Newer bytes by line. Several caches may hold some of one, where ownership is of words; of a byte that several hold the last counts.
struct Parts<'a>(BTreeMap<u64, Vec<Newer<'a>>>);

impl<'a> Held<'a> {
    /// As it is now.
    pub fn new(sim: &'a Sim, around: &'a dyn Surroundings) -> Held<'a> {
        Held { around, newer: Parts::of(around.newer(sim)) }
    }

    /// A line by its number.
    pub fn line(&self, line: u64) -> [u8; 64] {
        let mut bytes = [0; 64];
        self.around.read(line * 64, &mut bytes);
        self.newer.put(line, &mut bytes);
        bytes
    }
}

impl<'a> Parts<'a> {
    fn of(all: Vec<Newer<'a>>) -> Parts<'a> {
        let mut lines = BTreeMap::new();
        for part in all {
            lines.entry(part.line).or_insert_with(Vec::new).push(part);
        }
        Parts(lines)
    }

    /// Replaces the bytes of a line that some cache holds newer.
    fn put(&self, line: u64, bytes: &mut [u8; 64]) {
        for part in self.0.get(&line).into_iter().flatten() {
            let newer = bytes.iter_mut().enumerate().filter(|(at, _)| part.mask >> at & 1 == 1);
            newer.for_each(|(at, byte)| *byte = part.data[at / 8].to_le_bytes()[at % 8]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Caches own words of a line, a level below holds others, and an older value of one.
    #[test]
    fn several_caches_hold_newer_words_of_a_line() {
        let part = |line, mask, limb: u64| Newer { line, mask, data: vec![limb; 8].into() };
        let all = [(3, 0xf, 7), (3, 0xf, 1), (4, 0xff, 9), (3, 0xf00, 2), (3, 0xf000, 3 << 32)];
        let parts = Parts::of(all.map(|(line, mask, limb)| part(line, mask, limb)).to_vec());
        let mut bytes = [0xee; 64];
        parts.put(3, &mut bytes);
        let word = |w: usize| u32::from_le_bytes(bytes[4 * w..][..4].try_into().expect("4 bytes"));
        assert_eq!([word(0), word(1), word(2), word(3)], [1, 0xeeee_eeee, 2, 3]);
        assert!(bytes[16..].iter().all(|byte| *byte == 0xee));
    }
}
