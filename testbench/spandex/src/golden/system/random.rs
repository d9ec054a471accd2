//! Seeded runs.

use super::explore::{CLASSES, World};
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

/// Runs to the end by random steps, at most `limit` of them. Each run favours some devices and kinds of steps, so that some messages are late.
pub fn run<W: World>(world: &mut W, seed: u64, limit: usize) -> End {
    let mut random = SmallRng::seed_from_u64(seed);
    let weights: [u32; CLASSES] = std::array::from_fn(|_| [1, 4, 32][random.random_range(0..3)]);
    for count in 0..limit {
        if world.done() {
            return End::Done(count);
        }
        let mut steps = world.steps();
        loop {
            if steps.is_empty() {
                return End::Deadlock;
            }
            let weigh = |step: &W::Step| weights[world.class(*step)];
            let total: u32 = steps.iter().map(weigh).sum();
            let mut left = random.random_range(0..total);
            let chosen = steps.iter().position(|step| {
                let weight = weigh(step);
                let found = left < weight;
                left = left.saturating_sub(weight);
                found
            });
            let step = steps.swap_remove(chosen.unwrap_or(0));
            if world.step(step) {
                break;
            }
        }
        if let Some(wrong) = world.wrong() {
            return End::Wrong(wrong);
        }
    }
    End::Endless
}
