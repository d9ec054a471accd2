//! Directed steps of the bench, and what its runs have hit.

use super::{Bench, LD, Op};
use weft_rtl::ir::ProbeKind;

impl Op {
    /// An operation of CU scope on the first eight bytes of a line of 64, of which a store is answered.
    pub(super) fn word(op: u64, line: u64) -> Op {
        Op { op, scope: 0, want_ack: true, line, mask: 0xff, data: vec![0; 64], amo: [0; 3] }
    }
}

impl Bench {
    /// Every row of the table was taken, but for the rows named.
    pub fn every_row_but(&self, not: &[&str]) {
        let covers: Vec<_> = self.sim.probes().filter(|p| p.kind == ProbeKind::Cover).collect();
        assert!(covers.len() >= 13, "the table's rows are cover points");
        for p in covers {
            assert_eq!(p.count == 0, not.contains(&p.name), "row {} was taken {} times", p.name, p.count);
        }
    }

    /// Loads one line until it is there, then `count` times in a row; times of sending and answer of those.
    pub fn stream_of_hits(&mut self, count: usize) -> Vec<(u64, u64)> {
        let load = Op::word(LD, 1 << 24);
        self.settle();
        self.offer(load.clone());
        for _ in 0..50 {
            self.step();
        }
        assert!(self.pending.is_empty(), "the miss is answered");
        self.finished.clear();
        for _ in 0..count {
            self.offer(load.clone());
            self.step();
            assert!(self.offered.is_none(), "a hit is taken at once");
        }
        for _ in 0..50 {
            self.step();
        }
        assert_eq!(self.finished.len(), count);
        self.finished.drain(..).collect()
    }

    /// Loads one line with these scopes in successive cycles; the server of each answer and whether it was merged, in the order of the loads.
    pub fn loads_of_a_line(&mut self, scopes: &[u64]) -> Vec<(u64, bool)> {
        self.answers.clear();
        let mut ids = Vec::new();
        for scope in scopes {
            ids.push(self.offer(Op { scope: *scope, ..Op::word(LD, 1 << 24) }));
            self.step();
            assert!(self.offered.is_none(), "nothing holds the load");
        }
        for _ in 0..50 {
            self.step();
        }
        let find = |id: &u64| *self.answers.iter().find(|a| a.0 == *id).expect("every load is answered");
        ids.iter().map(|id| (find(id).1, find(id).2)).collect()
    }

    /// Waits until the cache is initialised.
    pub fn settle(&mut self) {
        for _ in 0..200 {
            self.step();
        }
    }

    /// How often each row was taken, for the ledger, under the bench's seed.
    pub fn publish(&self, test: &str) {
        let covers = self.sim.probes().filter(|p| p.kind == ProbeKind::Cover && p.count > 0);
        let hits = covers.map(|p| (p.name.to_string(), (p.count, self.setup.seed))).collect();
        weft_testbench::ledger::publish(test, &hits).expect("the ledger's folder can be written");
    }

    /// Without traffic the block falls asleep.
    pub fn sleeps_when_idle(&mut self) {
        for _ in 0..10 {
            self.step();
        }
        assert!(self.sim.asleep(), "an idle L1 changes nothing");
    }
}
