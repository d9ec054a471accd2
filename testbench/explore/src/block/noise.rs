//! Every step made again with noise in what is dead, and guesses that are dropped because of it.

use super::{Block, Output, Shows, Step};
use crate::hash::Numbered;
use std::ops::Range;
use weft_rtl::bv::limbs_for;

/// Noise that is the opposite of what is there.
const FLIP: u64 = 0;

/// Kinds of noise with each of which a failure is tried, for each guess.
const FAILURE_KINDS: u64 = 8;

/// Noise for a limb.
fn noise(seed: u64, at: usize) -> u64 {
    let mixed = (seed ^ (at as u64) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// A step that is made again with noise.
pub(super) struct Trial<'a> {
    pub start: &'a [u64],
    pub given: &'a [u32],
    pub ready: u32,
    /// What it leads to.
    pub after: &'a [u64],
}

impl Block {
    /// The same step with noise in everything that is dead.
    pub(super) fn confirm(&mut self, trial: &Trial<'_>, next: u32, messages: &Numbered) -> Step {
        self.expect(trial);
        let seeds = if self.learning { &[FLIP, 1, 2][..] } else { &[FLIP, 1] };
        for seed in seeds {
            let seed = if *seed == FLIP { FLIP } else { self.clocked.wrapping_mul(3) + seed };
            let text = match self.differs(trial, 0..self.rules.len(), seed, messages) {
                None => continue,
                Some(Some(text)) => text,
                Some(None) => self.difference(next),
            };
            let before = self.refuted;
            self.refute_all(trial, seed, messages);
            let text = format!("a rule calls dead what is not: with noise there, {text}");
            if self.refuted == before {
                self.unsound.insert(text.clone());
            }
            if !self.learning && !self.lenient {
                return self.fails(text);
            }
        }
        Step::To(next)
    }

    /// Makes a step again with noise of so many kinds; guesses that are refuted are dropped.
    pub fn doubt(&mut self, (state, given, ready): (u32, &[u32], u32), kinds: u64, messages: &Numbered) {
        self.unpack(state);
        let start = self.buffer.clone();
        self.present(given, ready, messages);
        let failed = self.run().is_some();
        let after = self.buffer.clone();
        let trial = Trial { start: &start, given, ready, after: &after };
        if failed {
            return self.doubt_failure(&trial, messages);
        }
        self.expect(&trial);
        for kind in 0..kinds {
            self.refute_all(&trial, if kind == 0 { FLIP } else { self.clocked + kind }, messages);
        }
    }

    /// Of a step in which an assertion fails: drops guesses with whose noise alone it would not.
    fn doubt_failure(&mut self, step: &Trial<'_>, messages: &Numbered) {
        for rule in
            self.rules.guesses().filter(|rule| self.rules.is_dead(*rule, step.start)).collect::<Vec<_>>()
        {
            for seed in FLIP..FAILURE_KINDS {
                self.put_noise(step.start, rule..rule + 1, seed);
                self.present(step.given, step.ready, messages);
                if self.run().is_none() {
                    self.drop_guess(rule, step);
                    break;
                }
            }
        }
    }

    /// Drops guesses until a step does not differ with this noise, or none of them is to blame.
    fn refute_all(&mut self, trial: &Trial<'_>, seed: u64, messages: &Numbered) {
        while self.differs(trial, 0..self.rules.len(), seed, messages).is_some() {
            let before = self.refuted;
            self.refute(trial, self.rules.guesses(), seed, messages);
            if self.refuted == before {
                break;
            }
        }
    }

    /// Packs what a step leads to.
    fn expect(&mut self, trial: &Trial<'_>) {
        self.buffer.copy_from_slice(trial.after);
        self.pack();
        std::mem::swap(&mut self.packed, &mut self.expected);
    }

    /// A guess is wrong.
    fn drop_guess(&mut self, rule: usize, trial: &Trial<'_>) {
        self.refuted += 1;
        self.rules.drop_rule(rule);
        self.expect(trial);
    }

    /// A state with noise in what some rules call dead.
    fn put_noise(&mut self, start: &[u64], rules: Range<usize>, seed: u64) {
        self.rules.mark_some(start, rules.clone(), &mut self.dead);
        self.buffer.copy_from_slice(start);
        for (at, (limb, dead)) in
            self.buffer.iter_mut().zip(&self.dead).enumerate().filter(|(_, (_, dead))| **dead != 0)
        {
            *limb = if seed == FLIP { *limb ^ dead } else { *limb & !dead | noise(seed, at) & dead };
        }
        self.rules.turn_some(&mut self.buffer, rules, if seed == FLIP { 1 } else { noise(seed, 0) >> 40 });
    }

    /// A step with noise in what some rules call dead does not lead where it should; the assertion that fails, if one does.
    fn differs(
        &mut self,
        step: &Trial<'_>,
        rules: Range<usize>,
        seed: u64,
        messages: &Numbered,
    ) -> Option<Option<String>> {
        self.put_noise(step.start, rules, seed);
        // Rules that are stated may call dead what nobody looks at in a message, though its form does not say so.
        if !self.rules.guesses().is_empty() && !self.shows_the_same(step.start) {
            return Some(Some("it offers something else".to_string()));
        }
        self.present(step.given, step.ready, messages);
        if let Some(text) = self.run() {
            return Some(Some(text));
        }
        self.pack();
        (self.packed != self.expected).then_some(None)
    }

    /// The buffer's channels show what they do in a state.
    fn shows_the_same(&self, state: &[u64]) -> bool {
        let same = |shows: &Shows| shows.bit(&self.buffer) == shows.bit(state);
        let message = |output: &Output| {
            !output.valid.bit(state) || output.message(state) == output.message(&self.buffer)
        };
        self.inputs.iter().all(|input| same(&input.ready))
            && self.outputs.iter().all(|output| same(&output.valid) && message(output))
    }

    /// Drops the guesses among some rules that make a step differ with this noise; of those that do so together only, the last.
    fn refute(&mut self, step: &Trial<'_>, rules: Range<usize>, seed: u64, messages: &Numbered) {
        if rules.is_empty() || self.differs(step, rules.clone(), seed, messages).is_none() {
            return;
        }
        if rules.len() == 1 {
            return self.drop_guess(rules.start, step);
        }
        let (before, middle) = (self.refuted, rules.start + rules.len() / 2);
        self.refute(step, rules.start..middle, seed, messages);
        self.refute(step, middle..rules.end, seed, messages);
        if self.refuted == before {
            let mut ends = middle + 1..rules.end;
            let end = ends.find(|end| self.differs(step, rules.start..*end, seed, messages).is_some());
            self.drop_guess(end.unwrap_or(rules.end) - 1, step);
        }
    }

    /// Registers and memories in which the buffer differs from a state.
    fn difference(&mut self, state: u32) -> String {
        let noisy = self.buffer.clone();
        self.rules.mark(&noisy, &mut self.dead);
        let clean: Vec<u64> = noisy.iter().zip(&self.dead).map(|(limb, dead)| limb & !dead).collect();
        self.unpack(state);
        let differing = (0..clean.len()).filter(|at| clean[*at] != self.buffer[*at]);
        let mut names: Vec<String> = differing
            .filter(|at| self.kept.iter().any(|r| r.contains(at)))
            .map(|at| self.whose(at))
            .collect();
        names.dedup();
        format!("{} differs", names.join(", "))
    }

    fn whose(&self, at: usize) -> String {
        let ty = &self.design.types[0];
        let regs = ty.netlist.regs.iter().zip(&ty.layout.regs);
        for (reg, first) in regs {
            if (*first..*first + limbs_for(reg.width)).contains(&at) {
                return reg.path.clone();
            }
        }
        for ((mem, first), limbs) in ty.netlist.mems.iter().zip(&ty.layout.mems).zip(&ty.layout.lane_limbs) {
            if (*first..*first + (mem.rows * mem.lanes) as usize * limbs).contains(&at) {
                return format!("cell {} of {}", (at - first) / limbs, mem.path);
            }
        }
        "something".to_string()
    }
}
