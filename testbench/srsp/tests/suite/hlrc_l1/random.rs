//! Random work of several wavefronts and another CU; every value is checked.

use crate::hlrc_l1::world::{World, small};
use std::collections::BTreeSet;
use weft_bench::seeds::{Work, missed_faults, unseen};
use weft_srsp::Shape;
use weft_srsp::hlrc_l1::{HlrcInject, HlrcL1Params};
use weft_srsp::params::Srsp;

/// Covers that a trial has not hit.
fn trial(p: &HlrcL1Params, seed: u64, cycles: u64) -> BTreeSet<String> {
    let mut w = World::mixed(p, seed);
    w.banks.slow = [20, 3, 60][seed as usize % 3];
    w.works(cycles, &format!("seed {seed}"));
    w.b.uncovered(&[]).into_iter().collect()
}

fn every_value_is_kept(work: Work) {
    // More ways: races of owned victims beside others.
    let wide = small().sized(|s| Shape { size: 1024, ways: 4, sfifo: 8, ..s });
    let kinds = [(small(), 0..12), (wide, 12..18)];
    let missed = unseen(work, &kinds, |_| true, |p, seed| trial(p, seed, 40_000));
    assert!(missed.is_empty(), "never seen: {missed:?}");
}

#[test]
fn every_value_is_kept_and_every_row_is_hit() {
    every_value_is_kept(Work::Needed);
}

#[test]
fn long_every_value_is_kept() {
    every_value_is_kept(Work::All);
}

/// Other sizes: the published one, the smallest, one MSHR, victims by age alone.
#[test]
fn other_sizes_keep_every_value() {
    let p = small();
    let published = HlrcL1Params::published(Srsp { cus: 4, addr_bits: 40, ..Srsp::default() });
    let one = Srsp { mshrs: 1, wbt: 2, banks: 1, ..p.shape.srsp.clone() };
    let smallest = p.clone().sized(|s| Shape { srsp: one, latency: 2, sfifo: 2, targets: 1, sq: 1, ..s });
    let odd = Srsp { mshrs: 5, wbt: 5, banks: 8, ..p.shape.srsp.clone() };
    let odd = p.clone().sized(|_| Shape {
        srsp: odd,
        size: 1024,
        ways: 8,
        sfifo: 7,
        targets: 5,
        sq: 3,
        latency: 9,
    });
    let unaware = HlrcL1Params { owned_aware: false, ..p }.sized(|s| Shape { size: 512, ways: 4, ..s });
    for (name, p) in [("published", published), ("smallest", smallest), ("odd", odd), ("unaware", unaware)] {
        println!("{name}");
        (40..44).for_each(|seed| drop(trial(&p, seed, 15_000)));
    }
}

#[test]
fn a_focused_world_keeps_every_value() {
    let p = small().sized(|s| Shape { size: 4096, ways: 4, sfifo: 16, ..s });
    for seed in 50..56 {
        let mut w = World::focused(&p, seed);
        w.run(40_000);
        assert!(w.taken[crate::hlrc_l1::world::FAR].iter().all(|n| *n > 20), "{:?}", w.taken);
    }
}

/// Lines that stay owned for long: most atomics are local, and plain accesses of their lines are done at the L2.
#[test]
fn a_resident_world_keeps_every_value() {
    let p = small().sized(|s| Shape { size: 1024, ways: 4, sfifo: 8, ..s });
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
    let run = |inject: HlrcInject, seed: u64| {
        let p = HlrcL1Params { inject, ..small() };
        let wide = p.clone().sized(|s| Shape { size: 4096, ways: 4, sfifo: 16, ..s });
        let mut w = match seed % 3 {
            0 => World::focused(&wide, seed),
            1 => World::mixed(&p, seed),
            _ => World::resident(&wide, seed),
        };
        w.banks.slow = [20, 3, 60, 8][seed as usize % 4];
        w.run(30_000);
    };
    let faults = HlrcInject::WORDS.iter().map(|w| w.0).filter(|inject| *inject != HlrcInject::None);
    assert_eq!(missed_faults(60..72, HlrcInject::None, faults, run), []);
}
