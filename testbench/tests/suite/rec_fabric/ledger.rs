//! Hits of the race ledger from several runs of one test.

use std::collections::BTreeMap;
use weft_testbench::ledger;

/// Count and smallest seed of every entry that was hit.
#[derive(Default)]
pub struct Covered(BTreeMap<String, (u64, u64)>);

impl Covered {
    /// Adds a run's counts.
    pub fn add(&mut self, hits: BTreeMap<String, u64>, seed: u64) {
        for (id, count) in hits.into_iter().filter(|(_, n)| *n > 0) {
            let slot = self.0.entry(id).or_insert((0, seed));
            slot.0 += count;
            slot.1 = slot.1.min(seed);
        }
    }

    /// Writes the ledger.
    pub fn publish(&self, test: &str) {
        ledger::publish(test, &self.0).expect("the ledger's folder");
    }

    /// Fails when an entry was not hit.
    pub fn assert_hit(&self, ids: &[&str]) {
        let missing: Vec<&&str> = ids.iter().filter(|id| !self.0.contains_key(**id)).collect();
        assert!(missing.is_empty(), "never hit: {missing:?}");
    }
}
