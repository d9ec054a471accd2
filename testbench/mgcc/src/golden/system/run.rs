//! Seeded runs, and random programs for them.

use super::super::msg::{Atomic, Data};
use super::{Step, System, SystemParams, Wave, WaveOp};
use rand::Rng;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use weft_blocks::msg::AmoOp;

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// All programs are done, after this many steps.
    Done(usize),
    /// Nothing may happen, but a program is not done.
    Deadlock,
    /// The limit of steps was reached.
    Endless,
}

impl System {
    /// Runs to the end by random steps, at most `limit` of them. Each run favours some kinds of steps, so that queues fill and some messages are late. With `jitter` the
    /// lease registers change now and then.
    pub fn run(&mut self, seed: u64, limit: usize, jitter: bool) -> End {
        let mut random = SmallRng::seed_from_u64(seed);
        let weights: [u32; Step::KINDS] = std::array::from_fn(|_| [1, 4, 16][random.random_range(0..3)]);
        for count in 0..limit {
            if self.done() {
                return End::Done(count);
            }
            if jitter && random.random_ratio(1, 40) {
                let most = 1 << (self.p.widths.ts - 3);
                self.set_leases((random.random_range(1..=most), random.random_range(1..=most)));
            }
            let steps = self.enabled();
            let total: u32 = steps.iter().map(|step| weights[step.kind()]).sum();
            if total == 0 {
                return End::Deadlock;
            }
            let mut left = random.random_range(0..total);
            let chosen = steps.iter().find(|step| {
                let weight = weights[step.kind()];
                let found = left < weight;
                left = left.saturating_sub(weight);
                found
            });
            if let Some(step) = chosen {
                self.step(*step);
            }
        }
        if self.done() { End::Done(limit) } else { End::Endless }
    }
}

/// Shape of random programs.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Waves per L1.
    pub waves: usize,
    /// Operations per wave.
    pub length: usize,
    /// Lines used, from 0.
    pub lines: u64,
}

/// Random programs for every L1 of a system: loads of one to all bytes, stores of words and whole lines, atomics, LD_SYNC, fences.
pub fn random_waves(p: &SystemParams, shape: &Shape, seed: u64) -> Vec<Wave> {
    let mut random = SmallRng::seed_from_u64(seed ^ 0x9e37_79b9_7f4a_7c15);
    let mut waves = Vec::new();
    for place in 0..p.gpus * p.cus * shape.waves {
        let l1 = place / shape.waves;
        let program = (0..shape.length).map(|_| random_op(&mut random, shape.lines)).collect();
        waves.push(Wave::new(l1 / p.cus, l1 % p.cus, program));
    }
    waves
}

fn random_op(random: &mut SmallRng, lines: u64) -> WaveOp {
    let line = random.random_range(0..lines);
    let word = random.random_range(0..4u32);
    let part = 0xf << (4 * word);
    match random.random_range(0..100) {
        0..45 => {
            let mask = if random.random_bool(0.5) { u64::MAX } else { part };
            WaveOp::Load { line, mask, sync: random.random_ratio(1, 12) }
        }
        45..85 => {
            let mask = if random.random_ratio(1, 3) { u64::MAX } else { part };
            WaveOp::Store { line, mask, data: Data::from_words(random.random()).masked(mask) }
        }
        85..93 => {
            let wide = random.random_bool(0.3);
            let word = if wide { word & !1 } else { word };
            let op = [AmoOp::Add, AmoOp::Exch, AmoOp::Xor, AmoOp::Max][random.random_range(0..4)];
            let (operand, compare, signed) = (random.random(), 0, random.random());
            WaveOp::Atomic { line, atomic: Atomic { op, signed, word, wide, operand, compare } }
        }
        _ => WaveOp::Fence,
    }
}
