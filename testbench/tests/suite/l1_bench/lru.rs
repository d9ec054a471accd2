//! One operation after the other on a few sets, and a model of which copies they leave: the oldest of a set is replaced.

use super::{ACQ, AMO, Bench, LD, Op, ST};
use rand::Rng;

/// A set: the line of each way, and the ways from the youngest to the oldest.
struct Set {
    lines: Vec<Option<u64>>,
    order: Vec<usize>,
}

impl Set {
    fn new(ways: usize) -> Set {
        Set { lines: vec![None; ways], order: (0..ways).collect() }
    }

    fn find(&self, line: u64) -> Option<usize> {
        self.lines.iter().position(|held| *held == Some(line))
    }

    fn touch(&mut self, way: usize) {
        self.order.retain(|other| *other != way);
        self.order.insert(0, way);
    }

    /// In the lowest empty way, else in the oldest one.
    fn install(&mut self, line: u64) {
        let oldest = *self.order.last().expect("a way");
        let way = self.lines.iter().position(Option::is_none).unwrap_or(oldest);
        self.lines[way] = Some(line);
        self.touch(way);
    }

    /// What an operation on a line does; whether it has hit.
    fn act(&mut self, op: u64, line: u64) -> bool {
        let way = self.find(line);
        match (op, way) {
            (LD | ST, Some(way)) => self.touch(way),
            (LD, None) => self.install(line),
            (AMO, Some(way)) => self.lines[way] = None,
            _ => {}
        }
        way.is_some()
    }
}

impl Bench {
    /// Every load hits exactly if its line is among the youngest of its set; hits and misses.
    pub fn replaces_the_oldest(&mut self, count: usize) -> [usize; 2] {
        let (sets, ways) = (u64::from(self.p.sets()), self.p.ways as usize);
        let mut model: Vec<Set> = (0..sets).map(|_| Set::new(ways)).collect();
        let mut loads = [0; 2];
        self.settle();
        for _ in 0..count {
            let (set, tag) = (self.rng.random_range(0..sets), self.rng.random_range(0..ways as u64 + 2));
            let op = match self.rng.random_range(0..100) {
                0..70 => LD,
                70..90 => ST,
                90..99 => AMO,
                _ => ACQ,
            };
            let line = (1 << 24) | (tag * sets * 64) | set;
            let scope = if op == ACQ { 2 } else { 0 };
            self.answers.clear();
            self.alone(Op { scope, ..Op::word(op, line) });
            if op == ACQ {
                model.iter_mut().for_each(|set| set.lines.fill(None));
                continue;
            }
            let hits = model[set as usize].act(op, line);
            if op == LD {
                loads[usize::from(hits)] += 1;
                let from = self.answers.last().expect("the load is answered").1;
                assert_eq!(from == 0, hits, "line {tag} of set {set}: {:?}", model[set as usize].lines);
            }
        }
        loads
    }

    /// One operation, until nothing of it is left.
    fn alone(&mut self, op: Op) {
        self.offer(op);
        self.step();
        for _ in 0..200 {
            if self.offered.is_none() && self.pending.is_empty() && self.below.is_empty() {
                break;
            }
            self.step();
        }
        assert!(self.offered.is_none() && self.pending.is_empty(), "an operation alone is answered");
        (0..4).for_each(|_| self.step());
    }
}
