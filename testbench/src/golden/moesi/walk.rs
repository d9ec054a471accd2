//! Random walks through systems that are too large to explore.

use super::explore::drains;
use super::races::Tally;
use super::system::{Step, System};

/// A seeded generator (splitmix64).
#[derive(Clone, Copy, Debug)]
pub struct Random(pub u64);

impl Random {
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ a >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((b ^ b >> 31) % n as u64) as usize
    }
}

/// Steps after which a walk without new operations must have ended.
const PATIENCE: usize = 100_000;

/// One walk to its end; the number of steps, or what is wrong. Replacements are rarer than other steps: one
/// in `rare`.
///
/// # Errors
/// A broken rule, with the last steps.
pub fn walk(start: &System, seed: u64, rare: usize, tally: &mut Tally) -> Result<usize, String> {
    let (mut random, mut state) = (Random(seed), start.clone());
    let mut last: Vec<String> = Vec::new();
    for count in 0..PATIENCE {
        if let Some(wrong) = state.check() {
            let from = last.len().saturating_sub(60);
            return Err(format!("seed {seed}, step {count}: {wrong}\n{}", last[from..].join("\n")));
        }
        let all = state.steps();
        let (common, seldom): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|step| drains(*step) || matches!(step, Step::Issue(..)));
        let seldom_now = common.is_empty() || random.below(rare) == 0;
        let from = if seldom_now && !seldom.is_empty() { &seldom } else { &common };
        if from.is_empty() || state.quiet() && !from.iter().any(|step| matches!(step, Step::Issue(..))) {
            if state.quiet() && state.programs.iter().all(|program| program.left == 0) {
                return Ok(count);
            }
            if from.is_empty() {
                let from = last.len().saturating_sub(60);
                return Err(format!(
                    "seed {seed}, step {count}: stuck\n{}{}",
                    state.waits(),
                    last[from..].join("\n")
                ));
            }
        }
        let step = from[random.below(from.len())];
        last.push(state.describe(step));
        state.step(step, tally);
    }
    Err(format!("seed {seed}: no end after {PATIENCE} steps\n{}", state.waits()))
}
