//! `mesi-l1` on `hmesi-client`, between a core and a world of other clients around a directory.

mod directory;
mod storage;
mod world;

use std::collections::BTreeSet;
use weft_bench::seeds::{Work, missed_faults, unseen};
use weft_spandex::hmesi::client::{ClientInject, ClientParams};
use weft_spandex::mesi_l1::MesiL1Params;
use weft_spandex::mesi_port::MesiPort;
use weft_spandex::params::Spandex;
use world::World;

/// 2 sets of 2 ways, lines of 8 words, short queues.
fn small() -> (MesiL1Params, ClientParams) {
    let spandex = Spandex {
        cpus: 3,
        cus: 2,
        sharers: 3,
        addr_bits: 32,
        line: 32,
        banks: 2,
        mshrs: 3,
        sb: 6,
        wbb: 2,
        tbes: 4,
        ..Spandex::default()
    };
    let port = MesiPort { spandex, size: 128, ways: 2 };
    (MesiL1Params::new(port.clone()), ClientParams::new(port))
}

/// A world of a seed: delays and how busy the others are differ.
fn world(p: &(MesiL1Params, ClientParams), seed: u64) -> World {
    let mut w = World::new(p, seed);
    w.slow = [20, 3, 60, 8][seed as usize % 4];
    w.rate = [0.1, 0.4, 0.05][seed as usize % 3];
    w
}

/// Covers of the client that a trial has not hit.
fn trial(p: &(MesiL1Params, ClientParams), seed: u64, cycles: u64) -> BTreeSet<String> {
    println!("seed {seed}");
    let mut w = world(p, seed);
    w.run(cycles);
    w.end();
    assert!(w.replies > cycles / 100, "{} answers", w.replies);
    w.b.uncovered(&[]).into_iter().collect()
}

fn every_value_is_kept(work: Work) {
    // What only the Spandex unit asks of the L1: words, and write-backs in place.
    let others = ["spandex.mesi_l1.", "spandex.race.mesi_l1"];
    let wanted = |name: &str| !others.iter().any(|part| name.contains(part));
    let missed = unseen(work, &[(small(), 0..8)], wanted, |p, seed| trial(p, seed, 30_000));
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

/// Other sizes: one MSHR, no room anywhere; more ways and longer lines.
#[test]
fn other_sizes_keep_every_value() {
    let shaped = |size: u32, ways: u32, change: &dyn Fn(&mut Spandex)| {
        let mut port = MesiPort { size, ways, ..small().0.port };
        change(&mut port.spandex);
        (MesiL1Params::new(port.clone()), ClientParams::new(port))
    };
    let smallest = shaped(128, 2, &|s| (s.mshrs, s.sb, s.wbb, s.banks) = (1, 2, 1, 1));
    let odd = shaped(1024, 8, &|s| (s.mshrs, s.sb, s.wbb, s.line) = (5, 11, 3, 64));
    for (name, p) in [("smallest", smallest), ("odd", odd)] {
        println!("{name}");
        (40..43).for_each(|seed| drop(trial(&p, seed, 15_000)));
    }
}

/// A fault is seen as a wrong value, a failed assertion of the hardware, or a core that is answered no more.
#[test]
fn faults_are_found() {
    let run = |inject: ClientInject, seed: u64| {
        let (l1, client) = small();
        let mut w = world(&(l1, ClientParams { inject, ..client }), seed);
        w.run(15_000);
        w.end();
    };
    let faults = ClientInject::WORDS.iter().map(|w| w.0).filter(|inject| *inject != ClientInject::None);
    assert_eq!(missed_faults(60..72, ClientInject::None, faults, run), []);
}
