//! Random work of several wavefronts and another CU; every value is checked.

use crate::hlrc_l1::world::{World, small};
use std::collections::BTreeSet;
use weft_srsp::hlrc_l1::{HlrcInject, HlrcL1Params};
use weft_srsp::params::Srsp;

/// Runs some seeds; covers that none of them has hit.
fn trials(p: &HlrcL1Params, seeds: std::ops::Range<u64>, cycles: u64) -> BTreeSet<String> {
    let mut missed: Option<BTreeSet<String>> = None;
    for seed in seeds {
        let mut w = World::mixed(p, seed);
        w.l2.slow = [20, 3, 60][seed as usize % 3];
        w.run(cycles);
        let now: BTreeSet<String> = w.b.uncovered(&[]).into_iter().collect();
        missed = Some(missed.map_or(now.clone(), |before| before.intersection(&now).cloned().collect()));
        println!("seed {seed}: {} answers, {} kernels, locks {:?}", w.replies, w.kernels, w.taken);
        assert!(w.replies > cycles / (20 + 4 * w.l2.slow), "{} answers", w.replies);
    }
    missed.unwrap_or_default()
}

#[test]
fn every_value_is_kept_and_every_row_is_hit() {
    let mut missed = trials(&small(), 0..12, 40_000);
    // More ways: races of owned victims beside others.
    let wide = HlrcL1Params { size: 1024, ways: 4, sfifo: 8, ..small() };
    let more = trials(&wide, 12..18, 40_000);
    missed.retain(|name| more.contains(name));
    assert!(missed.is_empty(), "never seen: {missed:?}");
}

/// Other sizes: the published one, the smallest, one MSHR, victims by age alone.
#[test]
fn other_sizes_keep_every_value() {
    let p = small();
    let published = HlrcL1Params::published(Srsp { cus: 4, addr_bits: 40, ..Srsp::default() });
    let one = Srsp { mshrs: 1, wbt: 2, banks: 1, ..p.srsp.clone() };
    let smallest = HlrcL1Params { srsp: one, latency: 2, sfifo: 2, targets: 1, sq: 1, ..p.clone() };
    let odd = Srsp { mshrs: 5, wbt: 5, banks: 8, ..p.srsp.clone() };
    let odd =
        HlrcL1Params { srsp: odd, size: 1024, ways: 8, sfifo: 7, targets: 5, sq: 3, latency: 9, ..p.clone() };
    let unaware = HlrcL1Params { owned_aware: false, size: 512, ways: 4, ..p };
    for (name, p) in [("published", published), ("smallest", smallest), ("odd", odd), ("unaware", unaware)] {
        println!("{name}");
        trials(&p, 40..44, 15_000);
    }
}

#[test]
fn a_focused_world_keeps_every_value() {
    let p = HlrcL1Params { size: 4096, ways: 4, sfifo: 16, ..small() };
    for seed in 50..56 {
        let mut w = World::focused(&p, seed);
        w.run(40_000);
        assert!(w.taken[crate::hlrc_l1::world::FAR].iter().all(|n| *n > 20), "{:?}", w.taken);
    }
}

/// Lines that stay owned for long: most atomics are local, and plain accesses of their lines are done at the L2.
#[test]
fn a_resident_world_keeps_every_value() {
    let p = HlrcL1Params { size: 1024, ways: 4, sfifo: 8, ..small() };
    for seed in 56..60 {
        let mut w = World::resident(&p, seed);
        w.run(40_000);
        let counts = ["hlrc_l1_local", "hlrc_l1_wb_through", "hlrc_l1_rdu"].map(|name| w.b.counted(name));
        println!("{counts:?}, {} kernels", w.kernels);
        assert!(counts.iter().all(|n| *n > 500), "{counts:?}");
    }
}

/// A fault is seen as a wrong value, a failed assertion of the hardware, or a CU that is answered no more.
#[test]
fn faults_are_found() {
    let found = |inject: HlrcInject| {
        let p = HlrcL1Params { inject, ..small() };
        let wide = HlrcL1Params { size: 4096, ways: 4, sfifo: 16, ..p.clone() };
        let run = |seed: u64| {
            let mut w = match seed % 3 {
                0 => World::focused(&wide, seed),
                1 => World::mixed(&p, seed),
                _ => World::resident(&wide, seed),
            };
            w.l2.slow = [20, 3, 60, 8][seed as usize % 4];
            w.run(30_000);
        };
        (60..72).find(|seed| std::panic::catch_unwind(|| run(*seed)).is_err())
    };
    let faults = HlrcInject::WORDS.iter().map(|w| w.0).filter(|inject| *inject != HlrcInject::None);
    let missed: Vec<HlrcInject> = faults.filter(|inject| found(*inject).is_none()).collect();
    assert_eq!(missed, []);
}
