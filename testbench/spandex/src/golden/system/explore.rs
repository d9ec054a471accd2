//! All interleavings of a small system, the shortest first.

use super::program::Instr;
use super::sc::Outcome;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A system of models that makes one step after the other. Its hash is all of its state.
pub trait World: Clone + Hash {
    /// One step.
    type Step: Copy;
    /// What a run has reached.
    type Cover: Reached;
    /// All steps that may be possible now, in a fixed order.
    fn steps(&self) -> Vec<Self::Step>;
    /// Makes a step; false, and nothing has changed, if it must wait.
    fn step(&mut self, step: Self::Step) -> bool;
    /// What was reached since it was last taken.
    fn take_cover(&mut self) -> Self::Cover;
    /// A broken rule.
    fn wrong(&self) -> Option<String>;
    /// All is done and at rest.
    fn done(&self) -> bool;
    /// What the programs ended with.
    fn outcome(&self) -> Outcome;
    /// What a step would do, in words.
    fn describe(&self, step: Self::Step) -> String;
    /// A spontaneous eviction.
    fn evicts(&self, step: Self::Step) -> bool;
    /// One more instruction for a thread.
    fn program(&mut self, thread: usize, instr: Instr);
    /// Steps of a class, below [`CLASSES`], have one weight in a random run.
    fn class(&self, step: Self::Step) -> usize;
}

/// Classes of steps.
pub const CLASSES: usize = 16;

/// A set that grows.
pub trait Reached: Default {
    /// Adds everything of another set.
    fn add(&mut self, other: &Self);
}

/// All that can happen.
#[derive(Clone, Debug, Default)]
pub struct Explored<C> {
    /// States.
    pub states: usize,
    /// Steps between them.
    pub steps: usize,
    /// States in which all is done.
    pub ends: usize,
    /// What the programs ended with.
    pub outcomes: BTreeSet<Outcome>,
    /// What is wrong, with the steps that lead there, one a line.
    pub violation: Option<String>,
    /// Not all states were visited.
    pub incomplete: bool,
    /// What was reached.
    pub cover: C,
}

/// Predecessor of every state and the step from it, and all edges.
struct Visited<S> {
    from: Vec<(u32, Option<S>)>,
    edges: Vec<(u32, u32)>,
    ends: Vec<u32>,
}

/// Visits every state that can be reached from `start`, at most `limit` of them, and ends at the first violation: a rule of [`World::wrong`], an outcome that is not
/// `allowed`, a state without a next step that is no end, a state from which no end can be reached.
pub fn explore<W: World>(start: &W, limit: usize, allowed: Option<&BTreeSet<Outcome>>) -> Explored<W::Cover> {
    let mut seen: HashMap<u128, u32, BuildHasherDefault<Low>> = HashMap::default();
    let mut found = Explored::<W::Cover>::default();
    let mut visited = Visited { from: vec![(0, None)], edges: Vec::new(), ends: Vec::new() };
    let mut queue = VecDeque::from([(0, start.clone())]);
    seen.insert(key(start), 0);
    while let Some((number, state)) = queue.pop_front() {
        let mut stuck = true;
        for step in state.steps() {
            let mut next = state.clone();
            if !next.step(step) {
                continue;
            }
            stuck = false;
            found.cover.add(&next.take_cover());
            let new = visited.from.len() as u32;
            let known = *seen.entry(key(&next)).or_insert(new);
            visited.edges.push((number, known));
            if known == new {
                visited.from.push((number, Some(step)));
                if let Some(wrong) = next.wrong() {
                    found.violation = Some(story(start, &visited, new, &wrong));
                    break;
                }
                queue.push_back((new, next));
            }
        }
        if state.done() {
            visited.ends.push(number);
            let outcome = state.outcome();
            if allowed.is_some_and(|allowed| !allowed.contains(&outcome)) && found.violation.is_none() {
                let wrong = format!("{outcome:?} is not sequentially consistent");
                found.violation = Some(story(start, &visited, number, &wrong));
            }
            found.outcomes.insert(outcome);
        } else if stuck {
            found.violation = Some(story(start, &visited, number, "nothing can happen any more"));
        }
        found.incomplete = visited.from.len() > limit;
        if found.violation.is_some() || found.incomplete {
            break;
        }
    }
    found.states = visited.from.len();
    found.steps = visited.edges.len();
    found.ends = visited.ends.len();
    if found.violation.is_none() && !found.incomplete {
        let hopeless = visited.hopeless();
        found.violation = hopeless.map(|number| story(start, &visited, number, "the end is out of reach"));
    }
    found
}

impl<S> Visited<S> {
    /// The first state from which no end can be reached.
    fn hopeless(&self) -> Option<u32> {
        let states = self.from.len();
        let mut first = vec![0u32; states + 1];
        self.edges.iter().for_each(|edge| first[edge.1 as usize + 1] += 1);
        (0..states).for_each(|i| first[i + 1] += first[i]);
        let mut place = first.clone();
        let mut before = vec![0u32; self.edges.len()];
        for (from, to) in &self.edges {
            before[place[*to as usize] as usize] = *from;
            place[*to as usize] += 1;
        }
        let mut hope = vec![false; states];
        let mut stack = self.ends.clone();
        stack.iter().for_each(|end| hope[*end as usize] = true);
        while let Some(state) = stack.pop() {
            for from in &before[first[state as usize] as usize..first[state as usize + 1] as usize] {
                if !std::mem::replace(&mut hope[*from as usize], true) {
                    stack.push(*from);
                }
            }
        }
        hope.iter().position(|hope| !hope).map(|at| at as u32)
    }
}

/// How a state is reached.
fn story<W: World>(start: &W, visited: &Visited<W::Step>, mut number: u32, wrong: &str) -> String {
    let mut path = Vec::new();
    while number != 0 {
        let (from, step) = visited.from[number as usize];
        path.extend(step);
        number = from;
    }
    path.reverse();
    let mut state = start.clone();
    let mut text = format!("{wrong}, after {} steps:\n", path.len());
    for (i, step) in path.iter().enumerate() {
        text += &format!("{:3} {}\n", i + 1, state.describe(*step));
        state.step(*step);
    }
    text
}

/// 128 bits of a state: two states with the same are taken for one.
pub fn key(state: &impl Hash) -> u128 {
    let mut hasher = Wide { low: 0x243f_6a88_85a3_08d3, high: 0x1319_8a2e_0370_7344 };
    state.hash(&mut hasher);
    u128::from(hasher.low) | u128::from(hasher.high) << 64
}

/// Two multiplicative hashes side by side.
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
    fn write_u16(&mut self, value: u16) {
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

/// Takes the low half of a key that is a hash already.
#[derive(Default)]
struct Low(u64);

impl Hasher for Low {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }
    fn write_u128(&mut self, value: u128) {
        self.0 = value as u64;
    }
}
