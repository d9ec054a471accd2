//! Hits of the race ledger from several runs of one test.

use std::collections::BTreeMap;
use std::path::PathBuf;
use weft_testbench::ledger::{Hit, Ledger, write_hits};

/// Count and smallest seed of every entry that was hit.
#[derive(Default)]
pub struct Covered(BTreeMap<String, (u64, u64)>);

impl Covered {
    /// Adds a run's counts; what the ledger does not know is no entry.
    pub fn add(&mut self, hits: BTreeMap<String, u64>, seed: u64) {
        let ledger = Ledger::default();
        for (id, count) in hits.into_iter().filter(|(id, n)| *n > 0 && ledger.tally(id).is_some()) {
            let slot = self.0.entry(id).or_insert((0, seed));
            slot.0 += count;
            slot.1 = slot.1.min(seed);
        }
    }

    /// Writes the ledger.
    pub fn publish(&self, test: &str) {
        let hits: Vec<Hit> = self
            .0
            .iter()
            .map(|(id, (count, seed))| Hit { id: id.clone(), count: *count, seed: *seed, test: test.into() })
            .collect();
        let dir = std::env::var_os("WEFT_LEDGER_DIR").map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/ledger")),
            PathBuf::from,
        );
        write_hits(&dir, test, &hits).expect("the ledger's folder");
    }

    /// Fails when an entry was not hit.
    pub fn assert_hit(&self, ids: &[&str]) {
        let missing: Vec<&&str> = ids.iter().filter(|id| !self.0.contains_key(**id)).collect();
        assert!(missing.is_empty(), "never hit: {missing:?}");
    }
}
