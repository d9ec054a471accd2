//! `sel_hub` (srsp.md section 3): copies of multicasts, PACKs. One multicast is taken at a time and kept until every target has its copy.

use super::msg::{Pack, Probe};
use std::collections::VecDeque;

/// The hub between so many L1s.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Hub {
    /// Per L1 what it wants to cast.
    input: Vec<VecDeque<(Probe, u128)>>,
    /// The multicast that is being copied, and who still lacks a copy.
    now: Option<(Probe, u128)>,
    /// L1 that is asked first for the next multicast.
    turn: usize,
    /// Per L1, copies that it has not taken.
    output: Vec<VecDeque<Probe>>,
    /// Copies that an output queue holds.
    depth: usize,
}

impl Hub {
    /// Empty, with output queues of this depth.
    pub fn new(cus: usize, depth: usize) -> Hub {
        let (input, output) = (vec![VecDeque::new(); cus], vec![VecDeque::new(); cus]);
        Hub { input, now: None, turn: 0, output, depth }
    }
    /// An L1 hands over a multicast.
    pub fn cast(&mut self, from: usize, probe: Probe, to: u128) {
        self.input[from].push_back((probe, to));
    }
    /// A cycle: takes the next multicast in turn if none is being copied, then puts a copy into every queue that lacks one and has room. The L1s that got one.
    pub fn cycle(&mut self) -> Vec<usize> {
        if self.now.is_none() {
            let cus = self.input.len();
            let next = (0..cus).map(|i| (self.turn + i) % cus).find(|i| !self.input[*i].is_empty());
            if let Some(from) = next {
                self.turn = (from + 1) % cus;
                self.now = self.input[from].pop_front();
            }
        }
        let Some((probe, left)) = self.now else { return Vec::new() };
        let lacks = |i: &usize| left >> i & 1 == 1 && self.output[*i].len() < self.depth;
        let got: Vec<usize> = (0..self.output.len()).filter(lacks).collect();
        got.iter().for_each(|i| self.output[*i].push_back(probe));
        let left = got.iter().fold(left, |left, i| left & !(1 << i));
        self.now = (left != 0).then_some((probe, left));
        got
    }
    /// An L1 takes its next probe.
    pub fn take(&mut self, to: usize) -> Option<Probe> {
        self.output[to].pop_front()
    }
    /// Where a PACK goes.
    pub fn pack(&self, pack: &Pack) -> usize {
        usize::from(pack.dst)
    }
    /// Nothing is inside.
    pub fn idle(&self) -> bool {
        self.now.is_none()
            && self.input.iter().all(VecDeque::is_empty)
            && self.output.iter().all(VecDeque::is_empty)
    }
}
