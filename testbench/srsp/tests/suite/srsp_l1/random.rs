//! Random work of several wavefronts and other CUs; every value is checked.

use crate::srsp_l1::world::{World, small};
use std::collections::BTreeSet;
use weft_srsp::l1::{Inject, L1Params};
use weft_srsp::params::{Impl, Srsp};

/// What random work hardly meets; a directed test does.
const RARE: &str = "srsp.l1.fill.stays_promoted";

/// Runs some seeds; covers that none of them has hit.
fn trials(p: &L1Params, seeds: std::ops::Range<u64>, cycles: u64) -> BTreeSet<String> {
    let mut missed: Option<BTreeSet<String>> = None;
    for seed in seeds {
        let mut w = World::mixed(p, seed);
        w.memory.slow = [20, 3, 60][seed as usize % 3];
        w.run(cycles);
        let now: BTreeSet<String> = w.b.uncovered(&[RARE]).into_iter().collect();
        missed = Some(missed.map_or(now.clone(), |before| before.intersection(&now).cloned().collect()));
        println!("{:?} seed {seed}: {} answers, locks {:?}", p.system, w.replies, w.taken);
        assert!(w.replies > cycles / (20 + 4 * w.memory.slow), "{} answers", w.replies);
    }
    missed.unwrap_or_default()
}

/// Every row and race of a system is hit by some seed.
fn all_hit(p: &L1Params, seeds: std::ops::Range<u64>) {
    let missed = trials(p, seeds, 40_000);
    assert!(missed.is_empty(), "never seen: {missed:?}");
}

#[test]
fn base_keeps_every_value() {
    all_hit(&small(Impl::Base), 0..4);
}

#[test]
fn srsp_keeps_every_value() {
    all_hit(&small(Impl::Srsp), 10..18);
}

#[test]
fn brsp_keeps_every_value() {
    all_hit(&small(Impl::Brsp), 20..24);
}

#[test]
fn srsp_opt_keeps_every_value() {
    all_hit(&small(Impl::SrspOpt), 30..42);
}

/// Other sizes: the published one, the smallest, one MSHR, no predictor.
#[test]
fn other_sizes_keep_every_value() {
    let p = small(Impl::Srsp);
    let published = L1Params {
        srsp: Srsp { cus: 4, addr_bits: 40, ..Srsp::default() },
        ..L1Params::published(p.srsp.clone(), Impl::SrspOpt)
    };
    let one = Srsp { mshrs: 1, wbt: 2, banks: 1, ..p.srsp.clone() };
    let smallest = L1Params { srsp: one, latency: 2, sfifo: 2, pa: 1, targets: 1, sq: 1, ..p.clone() };
    let odd = Srsp { mshrs: 5, wbt: 5, banks: 8, ..p.srsp.clone() };
    let odd = L1Params {
        srsp: odd,
        size: 1024,
        ways: 8,
        sfifo: 7,
        pa: 5,
        targets: 5,
        sq: 3,
        latency: 9,
        ..p.clone()
    };
    let plain = L1Params { aff: 0, ..small(Impl::SrspOpt) };
    for (name, p) in [("published", published), ("smallest", smallest), ("odd", odd), ("no predictor", plain)]
    {
        println!("{name}");
        for system in [p.system, Impl::Base, Impl::Brsp] {
            trials(&L1Params { system, ..p.clone() }, 40..42, 10_000);
        }
    }
}

#[test]
fn a_focused_world_keeps_every_value() {
    for system in [Impl::Srsp, Impl::SrspOpt, Impl::Brsp] {
        let p = L1Params { size: 4096, ways: 4, sfifo: 16, pa: 16, ..small(system) };
        for seed in 50..53 {
            let mut w = World::focused(&p, seed);
            w.run(40_000);
            assert!(w.taken[0].iter().all(|n| *n > 20), "{:?}", w.taken);
        }
    }
}

/// A fault is seen as a wrong value, a failed assertion of the hardware, or a CU that is answered no more.
#[test]
fn faults_are_found() {
    let found = |inject: Inject| {
        let p = L1Params { inject, ..small(Impl::Srsp) };
        let wide = L1Params { size: 4096, ways: 4, sfifo: 16, pa: 16, ..p.clone() };
        let run = |seed: u64| {
            let focus = seed.is_multiple_of(2);
            let mut w = if focus { World::focused(&wide, seed) } else { World::mixed(&p, seed) };
            w.memory.slow = [20, 3, 60][seed as usize % 3];
            w.run(40_000);
        };
        (50..62).find(|seed| std::panic::catch_unwind(|| run(*seed)).is_err())
    };
    let faults = Inject::WORDS.iter().map(|w| w.0).filter(|inject| *inject != Inject::None);
    let missed: Vec<Inject> = faults.filter(|inject| found(*inject).is_none()).collect();
    assert_eq!(missed, []);
}
