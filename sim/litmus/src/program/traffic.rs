//! Waves beside those of the test: they keep caches, buffers and network busy. At first they take copies of a few of its locations, whose values they leave as they are; then they touch none
//! of them.
//!
//! Sixteen waves share lines, each with a word of its own in them: lines move and are invalidated, and nothing races.

use super::layout::WORD;
use super::thread::{access, nothing_added};
use crate::test::Attr;
use weft_workload::Frame;
use weft_workload::data::mix;
use weft_workload::op::{Access, Class, Op, Values};

/// Lines that sixteen waves share.
const LINES: u64 = 16;

/// Locations of the test of which a wave takes copies.
pub(super) const COPIES: u64 = 4;

/// Operations between two waits, at most.
const BURST: u64 = 4;

/// Bytes for the words of so many waves.
pub(super) fn bytes(waves: u64, line: u64) -> u64 {
    waves.div_ceil(line / WORD) * LINES * line
}

/// Operations of a wave of a kernel, drawn: a quarter of the kernels have none.
pub(super) fn length(most: u32, seed: u64) -> u64 {
    match mix(seed, 31, 0) % 4 {
        0 => 0,
        _ => mix(seed, 31, 1) % (u64::from(most) + 1),
    }
}

/// Where the words of a wave are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    /// First byte of all waves' lines.
    pub base: u64,
    /// Bytes of a line.
    pub line: u64,
    /// Number of the wave among all of a kernel.
    pub wave: u64,
}

impl Words {
    fn at(self, line: u64) -> u64 {
        let sharing = self.line / WORD;
        let first = self.wave / sharing * LINES + line % LINES;
        self.base + first * self.line + self.wave % sharing * WORD
    }
}

/// A wave that has run dry: a few operations, of `length` in all. Variable 0 counts them.
pub(super) fn step(frame: &mut Frame, words: Words, length: u64, seed: u64) -> Vec<Op> {
    let mut ops = Vec::new();
    let mut tokens = Vec::new();
    while frame.vars[0] < length && (ops.len() as u64) < BURST {
        let drawn = mix(seed, words.wave, frame.vars[0]);
        let (data, token) = (access(words.at(drawn >> 8), Attr::default()), ops.len() as u32);
        // No atomics: as paired ones they would drop the copies that tests mean to find stale.
        match drawn % 2 {
            0 => {
                ops.push(Op::Load { token, access: data });
                tokens.push(token);
            }
            _ => ops.push(Op::Store { access: data, values: Values::Const(drawn >> 32) }),
        }
        frame.vars[0] += 1;
    }
    match ops.is_empty() {
        true => vec![Op::End],
        false => {
            ops.push(Op::Await { tokens });
            ops
        }
    }
}

/// What a wave does at first: copies of these words, or ownership of them by an atomic that changes nothing.
pub(super) fn copies(words: &[(u64, bool)]) -> Vec<Op> {
    let tokens: Vec<u32> = (0..words.len() as u32).collect();
    let of = |(token, (at, taken)): (&u32, &(u64, bool))| {
        let access = access(*at, Attr::default());
        match taken {
            false => Op::Load { token: *token, access },
            true => nothing_added(*token, Access { class: Class::N, ..access }),
        }
    };
    let mut ops: Vec<Op> = tokens.iter().zip(words).map(of).collect();
    ops.push(Op::Await { tokens });
    ops
}
