//! Seeded runs.

use super::{Step, System};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// All programs are done, after this many steps.
    Done(usize),
    /// Something is wrong.
    Wrong(String),
    /// Nothing may happen, but a program is not done.
    Deadlock,
    /// The limit of steps was reached.
    Endless,
}

impl System {
    /// Runs to the end by random steps, at most `limit` of them. Each run favours some kinds of steps, so that queues fill and some messages are late.
    pub fn run(&mut self, seed: u64, limit: usize) -> End {
        let mut random = SmallRng::seed_from_u64(seed);
        let weights: [u32; Step::KINDS] = std::array::from_fn(|_| [1, 4, 16][random.random_range(0..3)]);
        for count in 0..limit {
            if self.done() {
                return End::Done(count);
            }
            if !self.random_step(&mut random, &weights) {
                return End::Deadlock;
            }
            if let Some(wrong) = self.wrong() {
                return End::Wrong(wrong);
            }
        }
        End::Endless
    }
    /// One step by weight among those that are possible; false if there is none.
    fn random_step(&mut self, random: &mut SmallRng, weights: &[u32; Step::KINDS]) -> bool {
        let mut steps = self.steps();
        while !steps.is_empty() {
            let total: u32 = steps.iter().map(|step| weights[step.kind()]).sum();
            let mut left = random.random_range(0..total);
            let chosen = steps.iter().position(|step| {
                let weight = weights[step.kind()];
                let found = left < weight;
                left = left.saturating_sub(weight);
                found
            });
            let step = steps.swap_remove(chosen.unwrap_or(0));
            if self.step(step) {
                return true;
            }
        }
        false
    }
}
