//! Breadth-first search through all states of a space, so that a counterexample is as short as one can be; and random walks through spaces that are too large.

use crate::hash::{HashedMap, hash_numbers};

/// States and the actions that lead from one to the next.
pub trait Space {
    /// The first state.
    ///
    /// # Errors
    /// What is wrong with it.
    fn start(&mut self) -> Result<Box<[u32]>, String>;
    /// Everything that may happen in a state.
    fn actions(&mut self, state: &[u32], out: &mut Vec<u64>);
    /// What an action leads to.
    ///
    /// # Errors
    /// What must not happen.
    fn next(&mut self, state: &[u32], action: u64) -> Result<Box<[u32]>, String>;
    /// Everything that was to be done is done. A state without actions must be finished.
    fn finished(&self, state: &[u32]) -> bool;
}

/// Where a search ends.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most states.
    pub states: usize,
    /// Most actions from the first state.
    pub depth: usize,
    /// Also look for states from which no finished one can be reached (keeps every transition).
    pub live: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { states: u32::MAX as usize, depth: usize::MAX, live: false }
    }
}

/// Something that must not happen, and the shortest way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What.
    pub text: String,
    /// Actions from the first state on; the last one is the one that goes wrong, if one does.
    pub path: Vec<u64>,
}

/// What a search has found.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// States.
    pub states: usize,
    /// Transitions.
    pub transitions: usize,
    /// Most actions that it takes to reach a state.
    pub depth: usize,
    /// States in which everything is done.
    pub finished: usize,
    /// Every state within the space was visited: no limit was reached and nothing went wrong.
    pub complete: bool,
    /// The first thing that went wrong.
    pub violation: Option<Violation>,
}

/// How far a search is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Depth being worked on.
    pub depth: usize,
    /// States so far.
    pub states: usize,
    /// States of this depth.
    pub frontier: usize,
}

/// States of one depth: all of one length, one after the other.
struct Frontier {
    width: usize,
    numbers: Vec<u32>,
    states: Vec<u32>,
}

impl Frontier {
    fn push(&mut self, number: u32, state: &[u32]) {
        self.numbers.push(number);
        self.states.extend_from_slice(state);
    }
}

/// Visits every state.
pub fn explore(space: &mut impl Space, limits: Limits, told: &mut dyn FnMut(Progress)) -> Explored {
    let mut found = Explored::default();
    let start = match space.start() {
        Ok(start) => start,
        Err(text) => {
            found.violation = Some(Violation { text, path: Vec::new() });
            return found;
        }
    };
    let mut search = Search {
        seen: HashedMap::default(),
        parents: vec![(0, 0)],
        edges: Vec::new(),
        done: Vec::new(),
        limits,
        found,
    };
    search.seen.insert(hash_numbers(&start), 0);
    let mut frontier = Frontier { width: start.len(), numbers: vec![0], states: start.into_vec() };
    while !frontier.numbers.is_empty() && search.found.violation.is_none() {
        if search.found.depth == limits.depth || search.parents.len() >= limits.states {
            search.found.states = search.parents.len();
            return search.found;
        }
        let (depth, states) = (search.found.depth, search.parents.len());
        told(Progress { depth, states, frontier: frontier.numbers.len() });
        frontier = search.level(space, &frontier);
        search.found.depth += usize::from(!frontier.numbers.is_empty());
    }
    search.end()
}

struct Search {
    seen: HashedMap<u32>,
    /// Per state the one before it and the action that led here.
    parents: Vec<(u32, u64)>,
    edges: Vec<(u32, u32)>,
    done: Vec<u32>,
    limits: Limits,
    found: Explored,
}

impl Search {
    /// Expands all states of one depth; those of the next.
    fn level(&mut self, space: &mut impl Space, frontier: &Frontier) -> Frontier {
        let mut next = Frontier { width: frontier.width, numbers: Vec::new(), states: Vec::new() };
        let mut actions = Vec::new();
        for (number, state) in frontier.numbers.iter().zip(frontier.states.chunks(frontier.width)) {
            let finished = space.finished(state);
            if finished {
                self.found.finished += 1;
                if self.limits.live {
                    self.done.push(*number);
                }
            }
            space.actions(state, &mut actions);
            if actions.is_empty() && !finished {
                self.violate("nothing can happen any more, but not everything is answered", *number, None);
                return next;
            }
            for action in &actions {
                self.found.transitions += 1;
                match space.next(state, *action) {
                    Ok(to) => self.reach(*number, *action, &to, &mut next),
                    Err(text) => {
                        self.violate(&text, *number, Some(*action));
                        return next;
                    }
                }
            }
        }
        next
    }

    fn reach(&mut self, from: u32, action: u64, to: &[u32], next: &mut Frontier) {
        let fresh = self.parents.len() as u32;
        let number = *self.seen.entry(hash_numbers(to)).or_insert(fresh);
        if number == fresh {
            self.parents.push((from, action));
            next.push(number, to);
        }
        if self.limits.live {
            self.edges.push((number, from));
        }
    }

    fn violate(&mut self, text: &str, state: u32, action: Option<u64>) {
        let mut path: Vec<u64> = action.into_iter().collect();
        let mut at = state;
        while at != 0 {
            let (before, action) = self.parents[at as usize];
            path.push(action);
            at = before;
        }
        path.reverse();
        self.found.violation = Some(Violation { text: text.to_string(), path });
    }

    fn end(mut self) -> Explored {
        if self.limits.live && self.found.violation.is_none() {
            self.look_for_dead_ends();
        }
        self.found.states = self.parents.len();
        self.found.complete = self.found.violation.is_none();
        self.found
    }

    /// A state from which nothing finished can be reached.
    fn look_for_dead_ends(&mut self) {
        self.edges.sort_unstable();
        let mut reaches = vec![false; self.parents.len()];
        let mut stack = std::mem::take(&mut self.done);
        stack.iter().for_each(|state| reaches[*state as usize] = true);
        while let Some(state) = stack.pop() {
            let first = self.edges.partition_point(|(to, _)| *to < state);
            for (_, from) in self.edges[first..].iter().take_while(|(to, _)| *to == state) {
                if !std::mem::replace(&mut reaches[*from as usize], true) {
                    stack.push(*from);
                }
            }
        }
        if let Some(stuck) = reaches.iter().position(|reaches| !reaches) {
            self.violate("from here on not everything can be answered any more", stuck as u32, None);
        }
    }
}

/// One way through a space, chosen by a seed; ends in a state without actions.
///
/// # Errors
/// What went wrong, or that the walk did not end after `limit` actions.
pub fn walk(space: &mut impl Space, seed: u64, limit: usize) -> Result<usize, Violation> {
    let mut path = Vec::new();
    let mut random = seed ^ 0x5851_f42d_4c95_7f2d;
    let mut actions = Vec::new();
    let mut state = space.start().map_err(|text| Violation { text, path: Vec::new() })?;
    while path.len() < limit {
        space.actions(&state, &mut actions);
        if actions.is_empty() {
            if space.finished(&state) {
                return Ok(path.len());
            }
            let text = "nothing can happen any more, but not everything is answered".to_string();
            return Err(Violation { text, path });
        }
        random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (random ^ random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let action = actions[((mixed ^ mixed >> 31) % actions.len() as u64) as usize];
        path.push(action);
        match space.next(&state, action) {
            Ok(next) => state = next,
            Err(text) => return Err(Violation { text, path }),
        }
    }
    Err(Violation { text: format!("not everything is answered after {limit} actions"), path })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two counters up to a limit; both may step, `bad` must not be reached together, and one step may lead into a trap.
    struct Counters {
        bad: Option<[u32; 2]>,
        trap: bool,
        stuck: bool,
    }

    impl Space for Counters {
        fn start(&mut self) -> Result<Box<[u32]>, String> {
            Ok(Box::new([0, 0]))
        }
        fn actions(&mut self, state: &[u32], out: &mut Vec<u64>) {
            out.clear();
            if state[0] == 9 {
                out.push(9);
                return;
            }
            out.extend((0..2).filter(|i| state[*i as usize] < 3));
            if self.trap && state == [2, 1] {
                out.push(2);
            }
            if self.stuck && state == [3, 1] {
                out.clear();
            }
        }
        fn next(&mut self, state: &[u32], action: u64) -> Result<Box<[u32]>, String> {
            let mut next: Box<[u32]> = state.into();
            match action {
                9 => {}
                2 => next[0] = 9,
                i => next[i as usize] += 1,
            }
            if self.bad.is_some_and(|bad| next[..] == bad) { Err("bad".into()) } else { Ok(next) }
        }
        fn finished(&self, state: &[u32]) -> bool {
            state == [3, 3]
        }
    }

    fn run(bad: Option<[u32; 2]>, trap: bool, stuck: bool) -> Explored {
        let limits = Limits { live: true, ..Limits::default() };
        explore(&mut Counters { bad, trap, stuck }, limits, &mut |_| {})
    }

    #[test]
    fn every_state_once() {
        let found = run(None, false, false);
        assert_eq!((found.states, found.transitions, found.depth, found.finished), (16, 24, 6, 1));
        assert!(found.complete);
    }

    #[test]
    fn the_shortest_way_to_what_is_bad() {
        let violation = run(Some([1, 2]), false, false).violation.expect("it is reached");
        assert_eq!((violation.text.as_str(), violation.path.len()), ("bad", 3));
    }

    #[test]
    fn an_endless_loop_is_a_dead_end_and_a_stop_is_a_deadlock() {
        let trap = run(None, true, false).violation.expect("the trap is found");
        assert_eq!((trap.path.len(), trap.path[3]), (4, 2), "{}", trap.text);
        assert!(!run(None, true, false).complete);
        let stuck = run(None, false, true).violation.expect("the deadlock is found");
        assert!(stuck.text.contains("nothing can happen"), "{}", stuck.text);
        assert_eq!(stuck.path.len(), 4);
    }

    #[test]
    fn limits_end_a_search_unfinished() {
        let limits = Limits { depth: 3, ..Limits::default() };
        let found = explore(&mut Counters { bad: None, trap: false, stuck: false }, limits, &mut |_| {});
        assert_eq!((found.states, found.depth, found.complete), (10, 3, false));
    }

    #[test]
    fn walks_end_and_find() {
        let mut counters = Counters { bad: None, trap: false, stuck: false };
        assert_eq!(walk(&mut counters, 1, 100), Ok(6));
        counters.bad = Some([3, 3]);
        assert_eq!(walk(&mut counters, 1, 100).expect_err("always").path.len(), 6);
    }
}
