//! Inputs made from others.
//!
//! A text is changed token by token and line by line ([`text`]), a binary part field by field ([`fields`]);
//! then lengths and checksums are made fit ([`Form`](crate::Form)), and now and then the whole is damaged as
//! a disk or an editor does it.

pub mod fields;
pub mod text;

use crate::{Kind, Part, Target};
use rand::Rng;
use rand::rngs::SmallRng;

/// Most bytes of a part that has become longer than twice what it was.
pub const MOST: usize = 1 << 16;

/// One input in so many is damaged behind its checksums.
const DAMAGED: u32 = 8;

/// Numbers at which widths, signs and limits end.
pub const EXTREMES: [u64; 22] = [
    0,
    1,
    2,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    0x7fff,
    0xffff,
    0x1_0000,
    0x10_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fff0,
    0xffff_ffff_ffff_ffff,
];

/// Makes an input from one of a pool; `other` is another of the pool, of which pieces are taken.
pub fn mutate(rng: &mut SmallRng, target: &Target, from: &[u8], other: &[u8]) -> Vec<u8> {
    let Some(mut parts) = target.form.open(from) else { return damaged(rng, from.to_vec()) };
    let others = target.form.open(other).unwrap_or_default();
    let open: Vec<usize> = (0..parts.len()).filter(|at| parts[*at].kind != Kind::Derived).collect();
    let mut rounds = 1 + rng.random_range(0..4);
    if rng.random_ratio(1, 16) {
        rounds += 12;
    }
    for _ in 0..rounds {
        let Some(at) = pick(rng, &open) else { break };
        let like = others.get(*at).filter(|part| part.kind == parts[*at].kind);
        one(rng, target, &mut parts[*at], like.map_or(&[], |part| &part.bytes));
    }
    let whole = target.form.close(&parts);
    if rng.random_ratio(1, DAMAGED) { damaged(rng, whole) } else { whole }
}

fn one(rng: &mut SmallRng, target: &Target, part: &mut Part, other: &[u8]) {
    let most = MOST.max(2 * part.bytes.len());
    match part.kind {
        Kind::Text => part.bytes = text::change(rng, &part.bytes, other, target.words),
        Kind::Fields => fields::change(rng, &mut part.bytes, other),
        Kind::Derived => {}
    }
    part.bytes.truncate(most);
}

/// One of some things.
pub(crate) fn pick<'a, T>(rng: &mut SmallRng, of: &'a [T]) -> Option<&'a T> {
    (!of.is_empty()).then(|| &of[rng.random_range(0..of.len())])
}

/// A few bytes changed, or an end that is missing or too much.
fn damaged(rng: &mut SmallRng, mut bytes: Vec<u8>) -> Vec<u8> {
    let at = |rng: &mut SmallRng, bytes: &[u8]| rng.random_range(0..bytes.len().max(1));
    match rng.random_range(0..6) {
        0 => bytes.truncate(at(rng, &bytes)),
        1 => {
            let more: Vec<u8> = (0..rng.random_range(1..9)).map(|_| rng.random()).collect();
            bytes.extend(more);
        }
        2 => {
            let first = at(rng, &bytes);
            let end = (first + rng.random_range(1..9)).min(bytes.len());
            drop(bytes.drain(first.min(end)..end));
        }
        _ => {
            for _ in 0..rng.random_range(1..4) {
                let place = at(rng, &bytes);
                if let Some(byte) = bytes.get_mut(place) {
                    *byte = if rng.random() { *byte ^ (1 << rng.random_range(0..8)) } else { rng.random() };
                }
            }
        }
    }
    bytes
}
