//! Random work of several threads and other devices; every value is checked.

use crate::tu_mesi::device::{DeviceParams, small};
use crate::tu_mesi::world::World;
use std::collections::BTreeSet;
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

/// Runs some seeds; covers that none of them has hit.
fn trials(p: &DeviceParams, seeds: std::ops::Range<u64>, cycles: u64) -> BTreeSet<String> {
    let mut missed: Option<BTreeSet<String>> = None;
    for seed in seeds {
        println!("seed {seed}");
        let mut w = world(p, seed);
        w.run(cycles);
        w.end();
        let now: BTreeSet<String> = w.b.uncovered(&[]).into_iter().collect();
        missed = Some(missed.map_or(now.clone(), |before| before.intersection(&now).cloned().collect()));
        println!("seed {seed}: {} answers", w.replies);
        assert!(w.replies > cycles / 100, "{} answers", w.replies);
    }
    missed.unwrap_or_default()
}

#[test]
fn every_value_is_kept_and_every_row_is_hit() {
    let mut missed = trials(&small(), 0..12, 30_000);
    let mut weak = small();
    (weak.l1.weak_reads, weak.l1.sync_own) = (true, false);
    (weak.l1.port.spandex.sb, weak.tu.port.spandex.sb) = (4, 4);
    let more = trials(&weak, 12..18, 30_000);
    // No other device asks for ownership of a whole line without its data here.
    missed.retain(|name| more.contains(name) && name != "spandex.tu_mesi.ReqO.O");
    assert!(missed.is_empty(), "never seen: {missed:?}");
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
        trials(&p, 40..43, 15_000);
    }
}

/// A fault is seen as a wrong value, a failed assertion of the hardware, or a core that is answered no more.
#[test]
fn faults_are_found() {
    let found = |p: DeviceParams| {
        let run = |seed: u64| {
            let mut w = world(&p, seed);
            w.run(20_000);
            w.end();
        };
        (60..76).any(|seed| std::panic::catch_unwind(|| run(seed)).is_err())
    };
    let mut missed = Vec::new();
    for (inject, word) in TuMesiInject::WORDS {
        if *inject != TuMesiInject::None && !found(small().with_tu(*inject)) {
            missed.push(*word);
        }
    }
    for (inject, word) in MesiL1Inject::WORDS {
        if *inject != MesiL1Inject::None && !found(small().with_l1(*inject)) {
            missed.push(*word);
        }
    }
    assert_eq!(missed, Vec::<&str>::new());
}
