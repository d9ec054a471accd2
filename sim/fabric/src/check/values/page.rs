//! What the scoreboard remembers of memory: pages of words, and the words written in the present kernel.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;
/// 4-byte words of a page.
const WORDS: usize = 1024;

/// Hashes one number by multiplication; keys are addresses and small numbers, and equal runs must give equal bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }
}

/// A map with that hash.
pub(super) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// Bit `b` of a byte mask repeated over byte `b`, for the four bytes of a word.
pub(super) fn word_mask(bytes: u8) -> u32 {
    (0..4).filter(|b| bytes >> b & 1 == 1).fold(0, |mask, b| mask | 0xff << (8 * b))
}

/// The same for the eight bytes of a limb.
const fn limb_mask(bytes: u8) -> u64 {
    let (mut mask, mut b) = (0, 0);
    while b < 8 {
        if bytes >> b & 1 == 1 {
            mask |= 0xff << (8 * b);
        }
        b += 1;
    }
    mask
}

const fn limb_masks() -> [u64; 256] {
    let (mut table, mut i) = ([0; 256], 0);
    while i < 256 {
        table[i] = limb_mask(i as u8);
        i += 1;
    }
    table
}

/// [`limb_mask`] of every byte mask.
pub(super) static LIMB_MASKS: [u64; 256] = limb_masks();

/// A write to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Write {
    /// Number of the writer.
    pub by: u32,
    /// Bytes written.
    pub bytes: u8,
    /// By an atomic.
    pub amo: bool,
    /// The word; bytes that were not written are zero.
    pub value: u32,
    /// Cycle in which the writer's L1 took it.
    pub at: u64,
}

/// Writes of a kernel to one word.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct History {
    /// In the order in which they became known.
    pub writes: Vec<Write>,
    /// All cover the same bytes.
    pub uniform: bool,
}

/// Words of a page written in the present kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Fresh {
    /// Written once, as whole words: their write is here.
    once: [u64; 16],
    value: Vec<u32>,
    by: Vec<u32>,
    at: Vec<u64>,
    /// Words written several times, in part, or by atomics.
    many: Map<u32, History>,
}

/// One page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Page {
    /// Page number: byte address / 4096.
    pub number: u64,
    /// Values before the present kernel.
    pub old: Vec<u64>,
    /// Words that need more than a comparison with `old`: written in this kernel, or of several possible values.
    special: [u64; 16],
    fresh: Option<Box<Fresh>>,
}

fn bit(of: &[u64; 16], word: usize) -> bool {
    of[word / 64] >> (word % 64) & 1 == 1
}

impl Page {
    /// A page of zeros.
    pub fn new(number: u64) -> Page {
        Page { number, old: vec![0; WORDS / 2], special: [0; 16], fresh: None }
    }

    /// Value of a word before the kernel.
    pub fn old(&self, word: usize) -> u32 {
        (self.old[word / 2] >> (32 * (word % 2))) as u32
    }

    /// Replaces the value of a word before the kernel.
    pub fn set_old(&mut self, word: usize, value: u32) {
        let shift = 32 * (word % 2);
        let limb = &mut self.old[word / 2];
        *limb = *limb & !(0xffff_ffff << shift) | u64::from(value) << shift;
    }

    /// Special words among the `count` (16 or 32) from `first` on, one bit each.
    pub fn special(&self, first: usize, count: usize) -> u64 {
        self.special[first / 64] >> (first % 64) & (u64::MAX >> (64 - count))
    }

    /// Marks a word as one of several possible values, or no longer.
    pub fn set_special(&mut self, word: usize, on: bool) {
        let bit = 1 << (word % 64);
        if on {
            self.special[word / 64] |= bit;
        } else {
            self.special[word / 64] &= !bit;
        }
    }

    /// The one write to a word, if it was written once as a whole.
    pub fn once(&self, word: usize) -> Option<Write> {
        let fresh = self.fresh.as_ref().filter(|f| bit(&f.once, word))?;
        let (by, value, at) = (fresh.by[word], fresh.value[word], fresh.at[word]);
        Some(Write { by, bytes: 0xf, amo: false, value, at })
    }

    /// All writes to a word that was not written once as a whole.
    pub fn history(&self, word: usize) -> Option<&History> {
        self.fresh.as_ref()?.many.get(&(word as u32))
    }

    /// Nothing was written to this page in the kernel.
    pub fn is_clean(&self) -> bool {
        self.fresh.is_none()
    }

    /// Notes a write.
    pub fn write(&mut self, word: usize, write: Write) {
        let first = self.once(word);
        let (unit, mask) = (word / 64, 1 << (word % 64));
        self.special[unit] |= mask;
        let fresh = self.fresh.get_or_insert_with(|| {
            let zeros = || vec![0; WORDS];
            Box::new(Fresh {
                once: [0; 16],
                value: zeros(),
                by: zeros(),
                at: vec![0; WORDS],
                many: Map::default(),
            })
        });
        let simple = first.is_none() && write.bytes == 0xf && !write.amo;
        if simple && !fresh.many.contains_key(&(word as u32)) {
            fresh.once[unit] |= mask;
            (fresh.value[word], fresh.by[word], fresh.at[word]) = (write.value, write.by, write.at);
            return;
        }
        fresh.once[unit] &= !mask;
        let new = || History { writes: first.into_iter().collect(), uniform: true };
        let history = fresh.many.entry(word as u32).or_insert_with(new);
        history.uniform &= history.writes.first().is_none_or(|w| w.bytes == write.bytes);
        history.writes.push(write);
    }

    /// Ends the kernel: words written once get their value. The others are returned in order and keep the value before.
    pub fn settle(&mut self) -> Vec<(usize, History)> {
        let Some(fresh) = self.fresh.take() else { return Vec::new() };
        for word in (0..WORDS).filter(|word| bit(&fresh.once, *word)) {
            self.set_old(word, fresh.value[word]);
            self.set_special(word, false);
        }
        let mut left: Vec<(usize, History)> = fresh.many.into_iter().map(|(w, h)| (w as usize, h)).collect();
        left.sort_unstable_by_key(|(word, _)| *word);
        left.iter().for_each(|(word, _)| self.set_special(*word, false));
        left
    }
}
