//! Seeded runs, and seeded programs.

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
    /// Runs to the end by random steps, at most `limit` of them. Each run favours some devices and kinds of steps, so that some messages are late.
    pub fn run(&mut self, seed: u64, limit: usize) -> End {
        let mut random = SmallRng::seed_from_u64(seed);
        let weights: [u32; 16] = std::array::from_fn(|_| [1, 4, 32][random.random_range(0..3)]);
        for count in 0..limit {
            if self.done() {
                return End::Done(count);
            }
            let mut steps = self.steps();
            loop {
                if steps.is_empty() {
                    return End::Deadlock;
                }
                let weigh = |step: &Step| weights[self.class(*step)];
                let total: u32 = steps.iter().map(weigh).sum();
                let mut left = random.random_range(0..total);
                let chosen = steps.iter().position(|step| {
                    let weight = weigh(step);
                    let found = left < weight;
                    left = left.saturating_sub(weight);
                    found
                });
                let step = steps.swap_remove(chosen.unwrap_or(0));
                if self.step(step) {
                    break;
                }
            }
            if let Some(wrong) = self.wrong() {
                return End::Wrong(wrong);
            }
        }
        End::Endless
    }
    /// Steps of a class have one weight.
    fn class(&self, step: Step) -> usize {
        match step {
            Step::Issue(_) => 0,
            Step::Deliver(at) => {
                let msg = &self.net[usize::from(at)];
                let from = usize::from(msg.device() % 2);
                1 + 2 * msg.op.vn() as usize + from
            }
            Step::Forward(_) => 3,
            Step::Memory(_) => 9,
            Step::Drain(..) => 10,
            Step::EvictL1(..) => 11,
            Step::EvictLlc(..) => 12,
        }
    }
}
