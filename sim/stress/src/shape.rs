//! What a round's program is like, drawn.

use crate::Ground;
use rand::Rng;
use rand::rngs::SmallRng;

/// Where a program's lines lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// One behind the other.
    Dense,
    /// Apart by this many bytes, so that they meet in few sets and banks.
    Apart(u64),
}

/// What a program is like. Shares are of 256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Kernels.
    pub kernels: u32,
    /// CPU cores take part.
    pub cores: bool,
    /// Waves of each compute unit.
    pub waves: u32,
    /// Operations of a wave in a kernel, at most.
    pub operations: u32,
    /// Lines that it accesses.
    pub lines: u64,
    /// Where they lie.
    pub spread: Spread,
    /// Share of 8-byte cells that are for synchronisation.
    pub cells: u8,
    /// Share of operations on such cells.
    pub synchronise: u8,
    /// Share of stores among accesses of data.
    pub stores: u8,
    /// Share of fences.
    pub fences: u8,
    /// Share of operations behind which a wave waits for what it has loaded.
    pub awaits: u8,
    /// Share of operations before which it computes.
    pub pauses: u8,
    /// Longest such time, in ticks.
    pub pause: u32,
    /// Barriers of each block.
    pub barriers: u32,
    /// Active lanes of most accesses: one, few, or all.
    pub lanes: [u8; 3],
    /// Share of kernels before which the host copies.
    pub copies: u8,
    /// Share of kernels in which a wave hands data over to others again and again.
    pub hand_overs: u8,
    /// Share of accesses that name their request, where that counts.
    pub hints: u8,
}

fn one_of<T: Copy>(rng: &mut SmallRng, of: &[T]) -> T {
    of[rng.random_range(0..of.len())]
}

impl Shape {
    /// One for a fabric.
    pub fn draw(rng: &mut SmallRng, ground: &Ground) -> Shape {
        let waves = rng.random_range(1..=ground.waves);
        // The same work in few long waves or in many short ones.
        let work = one_of(rng, &[400, 1000, 2500, 6000]);
        let kernels = rng.random_range(1..=4);
        let operations = (work / (waves * ground.units() * kernels)).clamp(6, 400);
        let lines = one_of(rng, &[1, 2, 3, 4, 8, 16, 32, 64, 256, 1024]);
        let spread = match rng.random_range(0..4) {
            0 => Spread::Apart(one_of(rng, &[1 << 10, 1 << 12, 1 << 14])),
            _ => Spread::Dense,
        };
        Shape {
            kernels,
            cores: rng.random_range(0..4) > 0,
            waves,
            operations,
            lines,
            spread,
            cells: one_of(rng, &[0, 16, 64, 128]),
            synchronise: one_of(rng, &[0, 24, 64, 128, 220]),
            stores: one_of(rng, &[32, 96, 128, 200]),
            fences: one_of(rng, &[0, 2, 8, 32]),
            awaits: one_of(rng, &[16, 64, 200]),
            pauses: one_of(rng, &[0, 32, 128]),
            pause: one_of(rng, &[1, 8, 64, 400]),
            barriers: one_of(rng, &[0, 0, 1, 3]),
            lanes: one_of(rng, &[[255, 0, 0], [64, 160, 32], [16, 80, 160], [0, 0, 255]]),
            copies: one_of(rng, &[0, 0, 64]),
            hand_overs: one_of(rng, &[0, 0, 128]),
            hints: if ground.hints { one_of(rng, &[0, 64, 200]) } else { 0 },
        }
    }

    /// Address of a line by its number.
    pub fn address(&self, line: u64, bytes: u64) -> u64 {
        match self.spread {
            Spread::Dense => line * bytes,
            // 64 of them are apart, so that memory stays small; the next lie behind these.
            Spread::Apart(apart) => line % 64 * apart + line / 64 * bytes,
        }
    }
}
