//! Random work of several threads and other devices; every value is checked.

use crate::tu_mesi::device::{DeviceParams, small};
use crate::tu_mesi::world::World;
use std::collections::BTreeSet;
use weft_bench::seeds::{Work, missed_faults, unseen};
use weft_spandex::mesi_l1::MesiL1Inject;
use weft_spandex::mesi_port::MesiPort;
use weft_spandex::params::Spandex;
use weft_spandex::tu_mesi::TuMesiInject;

/// A world of a seed: delays, options and grain of revocations differ.
fn world(p: &DeviceParams, seed: u64) -> World {
    let mut w = World::new(p, seed);
    w.llc.slow = [20, 3, 60, 8][seed as usize % 4];
    w.llc.word_revoke = seed % 3 == 1;
    w.llc.rate = [0.1, 0.3, 0.05][seed as usize % 3];
    if p.l1.weak_reads {
        w.llc.options = vec![1, 2, 3];
    }
    w
}

/// Covers that a trial has not hit.
fn trial(p: &DeviceParams, seed: u64, cycles: u64) -> BTreeSet<String> {
    println!("seed {seed}");
    let mut w = world(p, seed);
    w.run(cycles);
    w.end();
    println!("seed {seed}: {} answers", w.replies);
    assert!(w.replies > cycles / 100, "{} answers", w.replies);
    w.b.uncovered(&[]).into_iter().collect()
}

fn every_value_is_kept(work: Work) {
    let mut weak = small();
    (weak.l1.weak_reads, weak.l1.sync_own) = (true, false);
    (weak.l1.port.spandex.sb, weak.tu.port.spandex.sb) = (4, 4);
    // No other device asks for ownership of a whole line without its data here.
    let wanted = |name: &str| name != "spandex.tu_mesi.ReqO.O";
    let kinds = [(small(), 0..12), (weak, 12..18)];
    let missed = unseen(work, &kinds, wanted, |p, seed| trial(p, seed, 30_000));
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

/// Other sizes: one MSHR, no room anywhere; more ways and lines of four words.
#[test]
fn other_sizes_keep_every_value() {
    let p = small();
    let shaped = |size: u32, ways: u32, change: &dyn Fn(&mut Spandex)| {
        let mut port = MesiPort { size, ways, ..p.l1.port.clone() };
        change(&mut port.spandex);
        DeviceParams::new(port)
    };
    let smallest = shaped(128, 2, &|s| (s.mshrs, s.sb, s.wbb, s.banks) = (1, 2, 1, 1));
    let odd = shaped(512, 8, &|s| (s.mshrs, s.sb, s.wbb, s.line) = (5, 11, 3, 16));
    for (name, p) in [("smallest", smallest), ("odd", odd)] {
        println!("{name}");
        (40..43).for_each(|seed| drop(trial(&p, seed, 15_000)));
    }
}

/// A fault is seen as a wrong value, a failed assertion of the hardware, or a core that is answered no more.
#[test]
fn faults_are_found() {
    let run = |p: &DeviceParams, seed: u64| {
        let mut w = world(p, seed);
        w.run(20_000);
        w.end();
    };
    let of_unit = TuMesiInject::WORDS.iter().map(|w| w.0).filter(|inject| *inject != TuMesiInject::None);
    let run_unit = |inject, seed| run(&small().with_tu(inject), seed);
    assert_eq!(missed_faults(60..76, TuMesiInject::None, of_unit, run_unit), []);
    let of_l1 = MesiL1Inject::WORDS.iter().map(|w| w.0).filter(|inject| *inject != MesiL1Inject::None);
    let run_l1 = |inject, seed| run(&small().with_l1(inject), seed);
    assert_eq!(missed_faults(60..76, MesiL1Inject::None, of_l1, run_l1), []);
}
