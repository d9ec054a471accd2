//! Releases of GPU scope, and what of their time goes to other GPUs (hmg.md sections 5.3 and 6).
//!
//! Such a release waits for no message between GPUs but one: a GPU home that lacks the line of an atomic
//! fetches it, and a release of the same GPM that comes after the atomic waits for both. Its answer does not
//! say whether the line was there, so all atomics on lines of other GPUs are told apart: that part of a
//! release ends when the last of those before it is answered, and the rest never waits for another GPU.
//!
//! Not told apart is what waits in the queue of a GPU home's bank behind an atomic that finds no place to wait for
//! its line (`hmg.race.atomic_waits_for_place`): other stores and atomics of the GPU, on whichever line.

use serde::{Deserialize, Serialize};

/// Releases of GPU scope of all nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Releases {
    nodes: Vec<Node>,
    done: Times,
}

/// The release that a node's fence unit has under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Node {
    /// Cycle in which it began.
    since: Option<u64>,
    /// Cycle in which the last of those atomics was answered, 0 if there was none.
    answered: u64,
}

/// Times of all releases that are complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Times {
    /// Releases; those that a fence unit takes together count as one.
    pub count: u64,
    /// Cycles from begin to end, summed up.
    pub cycles: u64,
    /// Of these, cycles until the last atomic before the release on a line of another GPU was answered.
    pub atomics: u64,
}

impl Releases {
    /// None so far.
    pub fn new(nodes: u32) -> Releases {
        Releases { nodes: vec![Node::default(); nodes as usize], done: Times::default() }
    }

    /// A node's fence unit begins or ends a release of GPU scope in cycle `now`.
    pub fn release(&mut self, node: u32, begins: bool, now: u64) {
        let of = &mut self.nodes[node as usize];
        if begins {
            *of = Node { since: Some(now), answered: 0 };
            return;
        }
        let Some(since) = of.since.take() else { return };
        self.done.count += 1;
        self.done.cycles += now - since;
        self.done.atomics += of.answered.min(now).saturating_sub(since);
    }

    /// An atomic of a node on a line of another GPU was taken in cycle `issued` and is answered in cycle
    /// `done`.
    pub fn atomic(&mut self, node: u32, issued: u64, done: u64) {
        let of = &mut self.nodes[node as usize];
        if of.since.is_some_and(|since| issued <= since) {
            of.answered = of.answered.max(done);
        }
    }

    /// Times of those that are complete.
    pub fn times(&self) -> Times {
        self.done
    }

    /// Of as many nodes.
    pub fn fits(&self, other: &Releases) -> bool {
        self.nodes.len() == other.nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_waits_for_the_last_atomic_before_it_on_a_line_of_another_gpu() {
        let mut seen = Releases::new(2);
        seen.atomic(0, 5, 90);
        seen.release(0, true, 100);
        // Before it, before it and later answered, after it, of another node.
        seen.atomic(0, 60, 130);
        seen.atomic(0, 50, 120);
        seen.atomic(0, 101, 180);
        seen.atomic(1, 60, 190);
        seen.release(0, false, 200);
        assert_eq!(seen.times(), Times { count: 1, cycles: 100, atomics: 30 });
        // One without any, and an end without a begin.
        seen.release(0, true, 300);
        seen.release(0, false, 350);
        seen.release(1, false, 360);
        assert_eq!(seen.times(), Times { count: 2, cycles: 150, atomics: 30 });
        assert!(seen.fits(&Releases::new(2)) && !seen.fits(&Releases::new(3)));
    }
}
