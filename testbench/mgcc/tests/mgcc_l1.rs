//! `mgcc-l1` against the golden L1: a random CU, banks that answer late and in any order, other GPUs that write, rolls, back-pressure.
//!
//! Every row `mgcc.l1.*` of the two tables and every race `mgcc.race.l1_*` is hit by the random tests. Each loaded byte is also compared with what memory held at the time that `cu_time` tells.

mod mgcc_l1_bench;

use mgcc_l1_bench::{Traffic, Trial, small};
use std::collections::BTreeSet;
use weft_mgcc::choice::{Coherence, Consistency, Inject};
use weft_mgcc::l1::L1Params;
use weft_mgcc::params::Tsm;

fn params(consistency: Consistency, coherence: Coherence) -> L1Params {
    small(&L1Params::published(Tsm::default(), consistency, coherence))
}

/// Random traffic with several seeds; covers that none of them has hit.
fn trials(p: &L1Params, seeds: std::ops::Range<u64>, traffic: Traffic, mean: f64) -> BTreeSet<String> {
    let mut missed: Option<BTreeSet<String>> = None;
    for seed in seeds {
        let mut trial = Trial::new(p, seed, traffic);
        trial.memory.mean = mean;
        for _ in 0..4 {
            trial.run(3_000);
            trial.drain();
        }
        let now: BTreeSet<String> = trial.b.uncovered(&[]).into_iter().collect();
        missed = Some(match missed {
            Some(before) => before.intersection(&now).cloned().collect(),
            None => now,
        });
        assert!(trial.answers.iter().all(|n| *n > 50), "answers by blocks, L2, merged: {:?}", trial.answers);
    }
    missed.unwrap_or_default()
}

#[test]
fn release_consistency_as_the_model() {
    let p = params(Consistency::Rc, Coherence::Mgcc);
    let missed = trials(&p, 0..4, Traffic::default(), 0.05);
    assert!(missed.is_empty(), "never seen: {missed:?}");
}

#[test]
fn sequential_consistency_as_the_model() {
    let p = params(Consistency::Sc, Coherence::Mgcc);
    let missed = trials(&p, 10..14, Traffic::default(), 0.05);
    assert!(missed.is_empty(), "never seen: {missed:?}");
}

#[test]
fn without_coherence_as_the_model() {
    for consistency in [Consistency::Rc, Consistency::Sc] {
        let p = params(consistency, Coherence::None);
        let traffic = Traffic { rolls: 0.0, others: 0.0, ..Traffic::default() };
        let missed = trials(&p, 20..23, traffic, 0.0);
        assert!(missed.is_empty(), "never seen: {missed:?}");
    }
}

#[test]
fn faults_as_the_model_has_them() {
    for inject in [Inject::LitReadCts, Inject::LitBrts, Inject::LitAckNodata] {
        for consistency in [Consistency::Rc, Consistency::Sc] {
            let p = L1Params { inject, ..params(consistency, Coherence::Mgcc) };
            trials(&p, 30..31, Traffic::default(), 0.0);
        }
    }
}
