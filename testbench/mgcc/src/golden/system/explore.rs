//! All interleavings of a small system.

use super::{Step, System};
use crate::checker::Fault;
use std::collections::{BTreeSet, HashSet};
use std::hash::{Hash, Hasher};

/// What the loads and atomics of all waves got: per wave, in program order, the low 4 bytes.
pub type Outcome = Vec<Vec<u32>>;

/// All that can happen.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// States.
    pub states: usize,
    /// Results at the end.
    pub outcomes: BTreeSet<Outcome>,
    /// What the checker said at the ends, and what the models saw, as text.
    pub faults: BTreeSet<String>,
    /// Epochs reached.
    pub epochs: BTreeSet<u64>,
    /// A state without a next step in which programs are not done.
    pub deadlock: bool,
    /// The limit of states was reached.
    pub incomplete: bool,
}

/// How memory takes part in the interleavings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Arrival, issue and answer of a request are steps of their own.
    Steps,
    /// A request that arrives is issued and answered at once; its answer may be late all the same. The order of a line's grants stays free (it is the order of arrival);
    /// reads never attach to writes.
    AtOnce,
}

/// Visits every state that can be reached from `start`, at most `limit` of them.
pub fn explore(start: &System, limit: usize, memory: Memory) -> Explored {
    let mut seen: HashSet<(u64, u64)> = HashSet::new();
    let mut found = Explored::default();
    let mut stack = vec![start.clone()];
    seen.insert(key(start));
    while let Some(state) = stack.pop() {
        if state.done() {
            found.outcomes.insert(outcome(&state));
            found.epochs.insert(state.epoch());
            let faults = state.checker().check(state.params().initial);
            found.faults.extend(faults.iter().map(Fault::to_string));
            found.faults.extend(state.faults().iter().cloned());
            continue;
        }
        let steps = state.enabled();
        found.deadlock |= steps.is_empty();
        for step in steps {
            let mut next = state.clone();
            next.step(step);
            if memory == Memory::AtOnce {
                serve(&mut next);
            }
            if seen.insert(key(&next)) {
                stack.push(next);
            }
        }
        if seen.len() > limit {
            found.incomplete = true;
            break;
        }
    }
    found.states = seen.len();
    found
}

/// Everything that lanes can do.
fn serve(state: &mut System) {
    let lane =
        |step: &&Step| matches!(step, Step::LaneIssue(..) | Step::LaneRetry(..) | Step::LaneRespond(..));
    while let Some(step) = state.enabled().iter().find(lane).copied() {
        state.step(step);
    }
}

/// 128 bits of a state: two states with the same are taken for one.
fn key(state: &System) -> (u64, u64) {
    let mut hasher = Wide { low: 0x243f_6a88_85a3_08d3, high: 0x1319_8a2e_0370_7344 };
    state.hash(&mut hasher);
    (hasher.low, hasher.high)
}

/// Two multiplicative hashes side by side: states are many, and the standard hash would take most of the time.
struct Wide {
    low: u64,
    high: u64,
}

impl Wide {
    fn word(&mut self, word: u64) {
        let low = u128::from(self.low ^ word) * 0x9e37_79b9_7f4a_7c15_u128;
        let high = u128::from(self.high.rotate_left(29) ^ word) * 0xd6e8_feb8_6659_fd93_u128;
        self.low = (low as u64) ^ (low >> 64) as u64 ^ 0xa076_1d64_78bd_642f;
        self.high = (high as u64) ^ (high >> 64) as u64 ^ 0xe703_7ed1_a0b4_28db;
    }
}

impl Hasher for Wide {
    fn finish(&self) -> u64 {
        self.low ^ self.high
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.word(u64::from(value));
    }
    fn write_u32(&mut self, value: u32) {
        self.word(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        self.word(value);
    }
    fn write_usize(&mut self, value: usize) {
        self.word(value as u64);
    }
    fn write_isize(&mut self, value: isize) {
        self.word(value as u64);
    }
}

fn outcome(state: &System) -> Outcome {
    let wave = |wave: &super::Wave| wave.results.values().map(|data| low(&data.0)).collect();
    state.waves().iter().map(wave).collect()
}

fn low(bytes: &[u8; 64]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
