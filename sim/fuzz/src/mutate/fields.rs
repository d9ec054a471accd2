//! A binary part, changed field by field.

use super::{EXTREMES, pick};
use rand::Rng;
use rand::rngs::SmallRng;
use std::ops::Range;

/// Bytes of the longest number of variable length: 128 bits.
const LONGEST: usize = 19;

/// Changes one place; `other` is a part of the same kind of another input.
pub fn change(rng: &mut SmallRng, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = rng.random_range(0..=bytes.len());
    match rng.random_range(0..12) {
        // A number of variable length becomes another; what follows stays what it was.
        0..=3 => {
            let number = varint(number(rng));
            let field = field(bytes, at);
            drop(bytes.splice(field, number));
        }
        4 => near(rng, bytes, at),
        5 => overwrite(bytes, at, &(number(rng) as u32).to_le_bytes()),
        6 => overwrite(bytes, at, &number(rng).to_le_bytes()),
        7 => overwrite(bytes, at, &[*pick(rng, &[0, 1, 2, 3, 0x7f, 0x80, 0xff]).unwrap_or(&0)]),
        8 => {
            let piece = piece(rng, bytes, 32);
            drop(bytes.drain(piece));
        }
        9 => {
            let copied = bytes[piece(rng, bytes, 64)].to_vec();
            drop(bytes.splice(at..at, copied));
        }
        10 if !other.is_empty() => {
            let copied = other[piece(rng, other, 64)].to_vec();
            let end = (at + if rng.random() { copied.len() } else { 0 }).min(bytes.len());
            drop(bytes.splice(at..end, copied));
        }
        10 => drop(bytes.splice(at..at, varint(number(rng)))),
        _ if rng.random_ratio(1, 4) => bytes.truncate(at),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << rng.random_range(0..8);
            }
        }
    }
}

/// An extreme number, a small one, or any.
fn number(rng: &mut SmallRng) -> u64 {
    match rng.random_range(0..4) {
        0 => rng.random_range(0..16),
        1 => rng.random::<u64>() >> rng.random_range(0..64),
        _ => *pick(rng, &EXTREMES).unwrap_or(&0),
    }
}

/// A number as postcard writes it.
pub fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// The number of variable length that has its first byte at or before a place.
fn field(bytes: &[u8], at: usize) -> Range<usize> {
    let goes_on = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0x80 != 0);
    let first = (at.saturating_sub(LONGEST)..at).rev().take_while(|before| goes_on(*before)).last();
    let first = first.unwrap_or(at);
    let end =
        (first..bytes.len()).take(LONGEST).find(|at| !goes_on(*at)).map_or(bytes.len(), |last| last + 1);
    first..end.max(first)
}

/// One more or less.
fn near(rng: &mut SmallRng, bytes: &mut Vec<u8>, at: usize) {
    let field = field(bytes, at);
    let digits = bytes[field.clone()].iter().rev();
    let value = digits.fold(0_u64, |value, byte| value << 7 | u64::from(byte & 0x7f));
    let value = if rng.random() { value.wrapping_add(1) } else { value.wrapping_sub(1) };
    drop(bytes.splice(field, varint(value)));
}

fn overwrite(bytes: &mut [u8], at: usize, with: &[u8]) {
    let count = with.len().min(bytes.len() - at);
    bytes[at..at + count].copy_from_slice(&with[..count]);
}

/// A piece of some bytes.
fn piece(rng: &mut SmallRng, bytes: &[u8], most: usize) -> Range<usize> {
    let first = rng.random_range(0..=bytes.len());
    first..(first + rng.random_range(1..=most)).min(bytes.len())
}
