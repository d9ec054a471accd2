//! All interleavings of a small system, the shortest first.

use super::key::renamings;
use super::races::Tally;
use super::system::{Step, System};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// All that can happen.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// States.
    pub states: usize,
    /// Steps between them.
    pub steps: usize,
    /// States in which nothing is under way.
    pub ends: usize,
    /// The longest of the shortest ways to a state.
    pub depth: usize,
    /// Rows and races.
    pub tally: Tally,
    /// What is wrong, with the steps that lead there, one a line.
    pub violation: Option<String>,
    /// How many steps lead there.
    pub length: usize,
    /// Not all states were visited.
    pub incomplete: bool,
}

/// A further rule for every state.
pub type Rule<'a> = &'a dyn Fn(&System) -> Option<String>;

#[derive(Default)]
struct Visited {
    /// State before, and the number of the step among its steps.
    from: Vec<(u32, u16)>,
    /// Steps that are not operations of programs.
    edges: Vec<(u32, u32)>,
    ends: Vec<u32>,
}

/// Visits every state that can be reached from `start`, at most `limit`, and ends at the first violation: a
/// rule of [`System::check`], `rule`, a state from which nothing but new operations can follow while
/// something waits, or one from which without new operations no end is reached.
pub fn explore(start: &System, limit: usize, rule: Rule) -> Explored {
    let mut seen: HashMap<u128, u32, BuildHasherDefault<Low>> = HashMap::default();
    let mut found = Explored::default();
    let mut visited = Visited { from: vec![(0, 0)], ..Visited::default() };
    let mut queue = VecDeque::from([(0u32, 0usize, start.clone())]);
    let mut bytes = Vec::new();
    let renamings = renamings(&start.p);
    seen.insert(start.key(&renamings, &mut bytes), 0);
    while let Some((number, depth, state)) = queue.pop_front() {
        found.depth = found.depth.max(depth);
        let quiet = state.quiet();
        if quiet {
            visited.ends.push(number);
        }
        let steps = state.steps();
        if !quiet && !steps.iter().any(|step| System::inner(*step)) {
            let wrong = format!("nothing can happen any more, and something waits:\n{}", state.waits());
            found.report(start, &visited, number, &wrong);
        }
        for (which, step) in steps.into_iter().enumerate() {
            let mut next = state.clone();
            next.step(step, &mut found.tally);
            found.steps += 1;
            let new = visited.from.len() as u32;
            let known = *seen.entry(next.key(&renamings, &mut bytes)).or_insert(new);
            if System::inner(step) {
                visited.edges.push((number, known));
            }
            let wrong = next.fabric.wrong.clone();
            if known != new && wrong.is_none() {
                continue;
            }
            visited.from.push((number, which as u16));
            if let Some(wrong) = wrong.or_else(|| next.check()).or_else(|| rule(&next)) {
                found.report(start, &visited, visited.from.len() as u32 - 1, &wrong);
                break;
            }
            queue.push_back((new, depth + 1, next));
        }
        found.incomplete = visited.from.len() > limit;
        if found.violation.is_some() || found.incomplete {
            break;
        }
    }
    found.states = visited.from.len();
    found.ends = visited.ends.len();
    let whole = found.violation.is_none() && !found.incomplete;
    if let Some(number) = if whole { visited.hopeless() } else { None } {
        found.report(start, &visited, number, "without new operations the end is out of reach");
    }
    found
}

impl Explored {
    /// Notes what is wrong and how it is reached.
    fn report(&mut self, start: &System, visited: &Visited, mut number: u32, wrong: &str) {
        let mut path = Vec::new();
        while number != 0 {
            let (from, which) = visited.from[number as usize];
            path.push(which);
            number = from;
        }
        path.reverse();
        let (mut state, mut tally) = (start.clone(), Tally::default());
        let mut text = format!("{wrong}, after {} steps:\n", path.len());
        for (i, which) in path.iter().enumerate() {
            let step = state.steps()[usize::from(*which)];
            text += &format!("{:3} {}\n", i + 1, state.describe(step));
            state.step(step, &mut tally);
        }
        self.length = path.len();
        self.violation = Some(text);
    }
}

impl Visited {
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

/// Whether a step is one that a run without new operations makes; for the walks.
pub fn drains(step: Step) -> bool {
    System::inner(step)
        && !matches!(step, Step::Replace(..) | Step::Flush(..) | Step::Evict(_) | Step::Clean(_))
}

/// Takes the low half of a key that is a hash already.
#[derive(Default)]
pub struct Low(u64);

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
