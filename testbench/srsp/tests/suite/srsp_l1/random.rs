//! Random work of several wavefronts and other CUs; every value is checked.

use crate::srsp_l1::world::{World, small};
use std::collections::BTreeSet;
use std::ops::Range;
use weft_bench::seeds::{Work, missed_faults, unseen};
use weft_srsp::Shape;
use weft_srsp::l1::{Closes, Inject, L1Params};
use weft_srsp::params::{Impl, Srsp};

/// What random work hardly meets; a directed test does.
const RARE: &str = "srsp.l1.fill.stays_promoted";

/// Covers that a trial has not hit.
fn trial(p: &L1Params, seed: u64, cycles: u64) -> BTreeSet<String> {
    let mut w = World::mixed(p, seed);
    w.banks.slow = [20, 3, 60][seed as usize % 3];
    w.works(cycles, &format!("{:?} seed {seed}", p.system));
    w.b.uncovered(&[RARE]).into_iter().collect()
}

/// Seeds of each system.
const SEEDS: [(Impl, Range<u64>); 5] = [
    (Impl::Base, 0..4),
    (Impl::Srsp, 10..18),
    (Impl::BrspToken, 20..24),
    (Impl::SrspOpt, 30..42),
    (Impl::Brsp, 70..78),
];

/// What a broadcast's lock stops in an L1 of bRSP with a token is a choice: the usual one has every row, the
/// others keep every value.
#[test]
fn brsp_keeps_every_value_whatever_a_lock_stops() {
    for (seed, (closes, _)) in Closes::WORDS.iter().enumerate() {
        drop(trial(&L1Params { closes: *closes, ..small(Impl::BrspToken) }, 60 + seed as u64, 20_000));
    }
}

/// Every row and race of a system is hit by some seed.
fn all_hit(work: Work, system: Impl) {
    let (_, seeds) = SEEDS.into_iter().find(|of| of.0 == system).expect("every system has seeds");
    let missed = unseen(work, &[(small(system), seeds)], |_| true, |p, seed| trial(p, seed, 40_000));
    assert!(missed.is_empty(), "never seen: {missed:?}");
}

#[test]
fn base_keeps_every_value() {
    all_hit(Work::Needed, Impl::Base);
}

#[test]
fn srsp_keeps_every_value() {
    all_hit(Work::Needed, Impl::Srsp);
}

#[test]
fn brsp_keeps_every_value() {
    all_hit(Work::Needed, Impl::Brsp);
}

#[test]
fn brsp_with_a_token_keeps_every_value() {
    all_hit(Work::Needed, Impl::BrspToken);
}

#[test]
fn srsp_opt_keeps_every_value() {
    all_hit(Work::Needed, Impl::SrspOpt);
}

#[test]
fn long_every_system_keeps_every_value() {
    SEEDS.into_iter().for_each(|(system, _)| all_hit(Work::All, system));
}

/// Other sizes: the published one, the smallest, one MSHR, no predictor.
#[test]
fn other_sizes_keep_every_value() {
    let p = small(Impl::Srsp);
    let published = L1Params::published(p.shape.srsp.clone(), Impl::SrspOpt)
        .sized(|s| Shape { srsp: Srsp { cus: 4, addr_bits: 40, ..Srsp::default() }, ..s });
    let one = Srsp { mshrs: 1, wbt: 2, banks: 1, ..p.shape.srsp.clone() };
    let smallest = L1Params { pa: 1, ..p.clone() }.sized(|s| Shape {
        srsp: one,
        latency: 2,
        sfifo: 2,
        targets: 1,
        sq: 1,
        ..s
    });
    let odd = Srsp { mshrs: 5, wbt: 5, banks: 8, ..p.shape.srsp.clone() };
    let odd = L1Params { pa: 5, ..p.clone() }.sized(|_| Shape {
        srsp: odd,
        size: 1024,
        ways: 8,
        sfifo: 7,
        targets: 5,
        sq: 3,
        latency: 9,
    });
    let plain = L1Params { aff: 0, ..small(Impl::SrspOpt) };
    for (name, p) in [("published", published), ("smallest", smallest), ("odd", odd), ("no predictor", plain)]
    {
        println!("{name}");
        for system in [p.system, Impl::Base, Impl::Brsp, Impl::BrspToken] {
            let p = L1Params { system, ..p.clone() };
            (40..42).for_each(|seed| drop(trial(&p, seed, 10_000)));
        }
    }
}

#[test]
fn a_focused_world_keeps_every_value() {
    for system in [Impl::Srsp, Impl::SrspOpt, Impl::Brsp, Impl::BrspToken] {
        let p = L1Params { pa: 16, ..small(system) }.sized(|s| Shape { size: 4096, ways: 4, sfifo: 16, ..s });
        for seed in 50..53 {
            let mut w = World::focused(&p, seed);
            w.run(40_000);
            assert!(w.taken[0].iter().all(|n| *n > 20), "{:?}", w.taken);
        }
    }
}

/// A fault is seen as a wrong value, a failed assertion of the hardware, or a CU that is answered no more.
/// Here the other L1s lose what a probe takes when it is sent; so what comes of an early unlock is shown by
/// whole GPUs (`srsp_fabric`).
#[test]
fn faults_are_found() {
    let run = |inject: Inject, seed: u64| {
        // A lock in the L1 is of bRSP with a token.
        let system = if inject == Inject::OpenLock { Impl::BrspToken } else { Impl::Srsp };
        let p = L1Params { inject, ..small(system) };
        let wide = L1Params { pa: 16, ..p.clone() }.sized(|s| Shape { size: 4096, ways: 4, sfifo: 16, ..s });
        let focus = seed.is_multiple_of(2);
        let mut w = if focus { World::focused(&wide, seed) } else { World::mixed(&p, seed) };
        w.banks.slow = [20, 3, 60][seed as usize % 3];
        w.run(40_000);
    };
    let faults = Inject::WORDS
        .iter()
        .map(|w| w.0)
        .filter(|inject| ![Inject::None, Inject::EarlyUnlock].contains(inject));
    assert_eq!(missed_faults(50..62, Inject::None, faults, run), []);
}
