//! Random work of several wavefronts and other devices; every value is checked.

use crate::gpu_l1::world::{World, small};
use std::collections::BTreeSet;
use weft_bench::seeds::{Work, missed_faults, unseen};
use weft_spandex::gpu_l1::{GpuL1Params, Inject, SbDrain};
use weft_spandex::params::Spandex;
use weft_spandex::tu_gpu::{self, TuGpuParams};

fn unit(p: &GpuL1Params, n_fail: u32) -> TuGpuParams {
    TuGpuParams { n_fail, ..TuGpuParams::published(p.spandex.clone()) }
}

/// Covers that a trial has not hit.
fn trial(p: &GpuL1Params, n_fail: u32, seed: u64, cycles: u64) -> BTreeSet<String> {
    let focus = seed % 3 == 2;
    let new = if focus { World::focused } else { World::mixed };
    let mut w = new(p, &unit(p, n_fail), seed);
    w.llc.slow = [20, 3, 60][seed as usize % 3];
    w.run(cycles);
    w.finish();
    println!("{:?} seed {seed}: {} answers, locks {:?}", p.sb_drain, w.waves.replies, w.taken);
    assert!(w.waves.replies > cycles / (20 + 4 * w.llc.slow), "{} answers", w.waves.replies);
    assert!(w.taken[..2].as_flattened().iter().all(|n| *n > 0), "{:?}", w.taken);
    assert_eq!(w.taken[2][0] > 0, p.scopes, "{:?}", w.taken);
    w.b.uncovered(&[]).into_iter().collect()
}

/// Every row and race is hit by some seed.
fn every_value_is_kept(work: Work) {
    let kinds = [
        ((small(SbDrain::Full), 2), 0..6),
        ((small(SbDrain::Highwater), 1), 10..13),
        ((small(SbDrain::Eager), 1), 20..26),
    ];
    let missed = unseen(work, &kinds, |_| true, |(p, n_fail), seed| trial(p, *n_fail, seed, 20_000));
    assert_eq!(missed, BTreeSet::new(), "never seen");
}

/// The same where atomics of CU scope are done in the L1, and where stores wait for releases.
fn scopes_keep_every_value(work: Work) {
    let shape = |drain: SbDrain, hold: bool| {
        (GpuL1Params { scopes: true, hold, ..small(drain) }, if hold { 1 } else { 2 })
    };
    let kinds = [
        (shape(SbDrain::Full, false), 0..6),
        (shape(SbDrain::Highwater, true), 10..13),
        (shape(SbDrain::Eager, false), 20..26),
    ];
    // That two Nacks meet is the unit's affair, and seen without scopes.
    let wanted = |name: &str| name != "spandex.race.gpu_two_nacks";
    let missed = unseen(work, &kinds, wanted, |(p, n_fail), seed| trial(p, *n_fail, seed, 20_000));
    assert_eq!(missed, BTreeSet::new(), "never seen");
}

#[test]
fn every_value_is_kept_and_everything_happens() {
    every_value_is_kept(Work::Needed);
}

#[test]
fn scopes_keep_every_value_and_everything_happens() {
    scopes_keep_every_value(Work::Needed);
}

#[test]
fn long_every_value_is_kept() {
    every_value_is_kept(Work::All);
    scopes_keep_every_value(Work::All);
}

/// Other sizes: the published one, the smallest, odd ones.
#[test]
fn other_sizes_keep_every_value() {
    let p = small(SbDrain::Full);
    let s = p.spandex.clone();
    let published = GpuL1Params {
        spandex: Spandex { mshrs: 128, sb: 128, wbb: 16, ..s.clone() },
        ..GpuL1Params::published(s.clone())
    };
    let smallest = GpuL1Params {
        spandex: Spandex { mshrs: 1, sb: 1, wbb: 1, banks: 1, ..s.clone() },
        targets: 1,
        releases: 1,
        ..p.clone()
    };
    let odd = GpuL1Params {
        spandex: Spandex { mshrs: 5, sb: 7, banks: 4, ..s },
        size: 1024,
        ways: 8,
        targets: 5,
        releases: 3,
        latency: 9,
        sb_drain: SbDrain::Highwater,
        ..p.clone()
    };
    for (name, p, n_fail) in [("published", published, 1), ("smallest", smallest, 2), ("odd", odd, 7)] {
        println!("{name}");
        for sb_drain in [SbDrain::Full, SbDrain::Eager] {
            let p = GpuL1Params { sb_drain, ..p.clone() };
            (40..42).for_each(|seed| drop(trial(&p, n_fail, seed, 8_000)));
        }
    }
}

/// A run that may panic: a wrong value, a failed assertion of the hardware, or a CU that is answered no more.
fn run(p: &GpuL1Params, tu: &TuGpuParams, seed: u64) {
    let mut w = if seed.is_multiple_of(2) { World::focused(p, tu, seed) } else { World::mixed(p, tu, seed) };
    w.llc.slow = [20, 3, 60][seed as usize % 3];
    w.run(20_000);
}

#[test]
fn faults_of_the_l1_are_found() {
    let run = |scopes: bool| {
        move |inject: Inject, seed: u64| {
            // What is done here on buffered words needs some that stay.
            let p = small(if scopes { SbDrain::Full } else { SbDrain::Eager });
            let spandex = Spandex { mshrs: 6, ..p.spandex.clone() };
            let p = GpuL1Params { inject, size: 512, scopes, spandex, ..p };
            run(&p, &unit(&p, 2), seed);
        }
    };
    let of_scopes = [Inject::LocalUnbuffered, Inject::LocalUncaptured];
    let all = Inject::WORDS.iter().map(|w| w.0).filter(|inject| *inject != Inject::None);
    let others = all.filter(|inject| !of_scopes.contains(inject));
    assert_eq!(missed_faults(50..58, Inject::None, others, run(false)), []);
    assert_eq!(missed_faults(50..58, Inject::None, of_scopes, run(true)), []);
}

/// That a read is never escalated needs an owner who never has its words: see the directed tests.
#[test]
fn faults_of_the_unit_are_found() {
    use tu_gpu::Inject;
    let p = small(SbDrain::Eager);
    let run = |inject, seed| run(&p, &TuGpuParams { inject, ..unit(&p, 2) }, seed);
    let faults = [Inject::Extras, Inject::NackLost, Inject::EarlyWt];
    assert_eq!(missed_faults(50..58, Inject::None, faults, run), []);
}
