//! Random work of stashes and L1s, kernel after kernel.

use crate::stash::system::{Shape, small};
use crate::stash::world::World;
use std::collections::BTreeSet;
use weft_spandex::gpu_l1::SbDrain;
use weft_spandex::stash::Inject;

/// Runs some kernels; covers of the stash that were not hit.
fn runs(p: &Shape, seed: u64, kernels: u64, races: bool) -> BTreeSet<String> {
    let mut w = World::new(p, seed);
    w.net.slow = [10, 2, 30][seed as usize % 3];
    for _ in 0..kernels {
        w.kernel(400, races);
    }
    println!("seed {seed}: {} answers, {} mappings", w.answers, w.maps);
    let all = w.b.uncovered(&[]).into_iter().filter(|name| name.contains("stash"));
    all.filter(|name| w.b.counted(name) == 0).collect()
}

/// Work of each drain; covers that were in none of it.
fn work(seeds: u64, kernels: u64) -> BTreeSet<String> {
    let mut missed: Option<BTreeSet<String>> = None;
    for seed in 0..seeds {
        let drain = [SbDrain::Eager, SbDrain::Full, SbDrain::Highwater][seed as usize % 3];
        let p = small(Inject::None, drain, if seed % 2 == 0 { 32 * 32 * 2 } else { 4 * 2 * 32 });
        let now = runs(&p, seed, kernels, seed % 3 == 1);
        missed = Some(missed.map_or(now.clone(), |before| before.intersection(&now).cloned().collect()));
    }
    missed.unwrap_or_default()
}

/// Values of all loads, who owns each word at rest, that nothing valid or pending is left then: as the model says. In a small LLC lines are replaced, so that it takes words back.
#[test]
fn random_work_is_as_the_model_says() {
    work(3, 1);
}

/// More of it meets every row that it can.
#[test]
fn long_random_work_meets_the_rows() {
    // Without MESI and Flex devices nobody asks for sharing, nobody writes through to an owner, and nobody invalidates; see the forwards by hand for these and for what is split.
    let never =
        ["ReqS.", "ReqWT.", "Inv", "split_ReqS", "split_ReqWT", "split_ReqO", "split_RvkO", "split_ReqV"];
    let seldom =
        ["flash.P", "map.same", "ReqO.pending", "ReqOdata", "RvkO.", "stored_again", "full_write_backs"];
    let rest = work(6, 6).into_iter();
    let rest = rest.filter(|name| !never.iter().chain(&seldom).any(|part| name.contains(part)));
    assert_eq!(rest.collect::<Vec<String>>(), Vec::<String>::new(), "never seen");
}

/// Random work alone finds a fault, in some of these seeds.
fn found(inject: Inject, seeds: std::ops::Range<u64>, kernels: u64) -> bool {
    let run = |seed: u64| {
        let p = small(inject, SbDrain::Eager, 32 * 32 * 2);
        runs(&p, seed, kernels, false);
    };
    seeds.into_iter().any(|seed| std::panic::catch_unwind(|| run(seed)).is_err())
}

#[test]
fn a_fault_is_found() {
    assert!(!found(Inject::None, 51..52, 1), "what is found is no fault");
    assert!(found(Inject::KeepsAlias, 50..54, 5));
}

#[test]
fn long_faults_are_found() {
    assert!(!found(Inject::None, 50..54, 5), "what is found is no fault");
    let faults = [Inject::KeepsAlias, Inject::ForgetsOwned, Inject::FirstMapOnly, Inject::NoWait];
    let missed = faults.into_iter().filter(|inject| !found(*inject, 50..54, 5));
    assert_eq!(missed.collect::<Vec<Inject>>(), []);
}
