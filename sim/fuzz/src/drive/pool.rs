//! Inputs that others are made from: the seeds, what was refused in a new way, some of what was accepted.

use crate::mutate::pick;
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Kinds of refusals that are told apart.
const KINDS: usize = 4096;

/// Accepted inputs that are kept beside the seeds; a new one takes the place of one of them.
const ACCEPTED: usize = 64;

/// One accepted input in so many is kept.
const KEPT: u32 = 16;

/// Bytes beyond which an input is read and not changed, if there are smaller ones: what is long is slow.
const LARGE: usize = 1 << 14;

/// Words of a sentence that tell its kind, and their longest: a quotation may go on for ever.
const WORDS: usize = 60;
const LONGEST: usize = 30;

/// Bytes of a kept input for each of the largest seed.
const GROWTH: usize = 4;

/// The inputs of a campaign.
pub struct Pool {
    seeds: Vec<Vec<u8>>,
    accepted: Vec<Vec<u8>>,
    refused: Vec<Vec<u8>>,
    kinds: HashSet<u64>,
    most: usize,
}

impl Pool {
    /// A pool of seeds.
    pub fn new(seeds: Vec<Vec<u8>>) -> Pool {
        let small: Vec<_> = seeds.iter().filter(|seed| seed.len() <= LARGE).cloned().collect();
        let seeds = if small.is_empty() { seeds } else { small };
        let most = GROWTH * seeds.iter().map(Vec::len).max().unwrap_or(0).max(256);
        Pool { seeds, accepted: Vec::new(), refused: Vec::new(), kinds: HashSet::new(), most }
    }

    /// Kinds of refusals so far.
    pub fn kinds(&self) -> u64 {
        self.kinds.len() as u64
    }

    /// An input: half the time a seed.
    pub fn draw(&self, rng: &mut SmallRng) -> &[u8] {
        let of = match rng.random_range(0..6) {
            0..=2 => &self.seeds,
            3 | 4 if !self.accepted.is_empty() => &self.accepted,
            _ if !self.refused.is_empty() => &self.refused,
            _ => &self.seeds,
        };
        pick(rng, of).map_or(&[], Vec::as_slice)
    }

    /// Keeps some of what was accepted.
    pub fn accepted(&mut self, rng: &mut SmallRng, input: &[u8]) {
        if !rng.random_ratio(1, KEPT) || input.len() > self.most {
            return;
        }
        if self.accepted.len() < ACCEPTED {
            self.accepted.push(input.to_vec());
        } else {
            self.accepted[rng.random_range(0..ACCEPTED)] = input.to_vec();
        }
    }

    /// Keeps what was refused with a sentence of a new kind.
    pub fn refused(&mut self, input: &[u8], sentence: &str) {
        if self.kinds.len() < KINDS && self.kinds.insert(kind(input, sentence)) && input.len() <= self.most {
            self.refused.push(input.to_vec());
        }
    }
}

/// A sentence without its numbers and without the words that the input has, too.
fn kind(input: &[u8], sentence: &str) -> u64 {
    let text = String::from_utf8_lossy(input);
    let mut hasher = DefaultHasher::new();
    let words =
        sentence.split(|c: char| !c.is_alphabetic()).filter(|word| (2..=LONGEST).contains(&word.len()));
    for word in words.take(WORDS) {
        if !text.contains(word) {
            word.hash(&mut hasher);
        }
    }
    hasher.finish()
}
