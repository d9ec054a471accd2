//! 128-bit hashes of states: two states with the same hash are taken for one.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A hash of words: two multiplicative hashes side by side.
pub fn hash(words: &[u64]) -> u128 {
    let (mut low, mut high) = (0x243f_6a88_85a3_08d3_u64, 0x1319_8a2e_0370_7344_u64);
    for word in words {
        let a = u128::from(low ^ word) * 0x9e37_79b9_7f4a_7c15_u128;
        let b = u128::from(high.rotate_left(29) ^ word) * 0xd6e8_feb8_6659_fd93_u128;
        low = (a as u64) ^ (a >> 64) as u64 ^ 0xa076_1d64_78bd_642f;
        high = (b as u64) ^ (b >> 64) as u64 ^ 0xe703_7ed1_a0b4_28db;
    }
    let end = u128::from(low ^ words.len() as u64) * 0xe703_7ed1_a0b4_28db_u128;
    u128::from((end as u64) ^ (end >> 64) as u64) | u128::from(high) << 64
}

/// A hash of numbers of 32 bits.
pub fn hash_numbers(numbers: &[u32]) -> u128 {
    let mut words = [0u64; 64];
    let used = numbers.len().div_ceil(2);
    if used > words.len() {
        let all: Vec<u64> = numbers.chunks(2).map(pair).collect();
        return hash(&all);
    }
    numbers.chunks(2).zip(&mut words).for_each(|(two, word)| *word = pair(two));
    hash(&words[..used])
}

fn pair(two: &[u32]) -> u64 {
    u64::from(two[0]) | two.get(1).map_or(1 << 63, |second| u64::from(*second) << 32)
}

/// A map whose keys are hashes already.
pub type HashedMap<T> = HashMap<u128, T, BuildHasherDefault<Low>>;

/// Takes the low half of a key.
#[derive(Default)]
pub struct Low(u64);

impl Hasher for Low {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
    fn write_u128(&mut self, value: u128) {
        self.0 = value as u64;
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// Values numbered in the order in which they were first met.
pub struct Numbered {
    numbers: HashedMap<u32>,
    starts: Vec<usize>,
    words: Vec<u64>,
}

impl Default for Numbered {
    fn default() -> Numbered {
        Numbered { numbers: HashedMap::default(), starts: vec![0], words: Vec::new() }
    }
}

impl Numbered {
    /// The number of a value, a new one if it is met for the first time.
    pub fn number(&mut self, words: &[u64]) -> u32 {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(hash(words)).or_insert(next);
        if number == next {
            self.words.extend_from_slice(words);
            self.starts.push(self.words.len());
        }
        number
    }
    /// The value of a number.
    pub fn value(&self, number: u32) -> &[u64] {
        &self.words[self.starts[number as usize]..self.starts[number as usize + 1]]
    }
    /// Values met.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }
    /// No value was met.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
    /// Words kept.
    pub fn words(&self) -> usize {
        self.words.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_and_place_count() {
        let all = [hash(&[]), hash(&[0]), hash(&[0, 0]), hash(&[1, 0]), hash(&[0, 1])];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b));
        }
        assert_ne!(hash_numbers(&[1]), hash_numbers(&[1, 0]));
    }

    #[test]
    fn values_keep_their_numbers() {
        let mut values = Numbered::default();
        assert_eq!([values.number(&[7, 8]), values.number(&[]), values.number(&[7, 8])], [0, 1, 0]);
        assert_eq!((values.value(0), values.value(1), values.len()), (&[7u64, 8][..], &[][..], 2));
    }
}
