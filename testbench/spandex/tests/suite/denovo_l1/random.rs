//! Random work on several devices; every value is checked.

use crate::denovo_l1::world::{Shape, World, small};
use std::collections::BTreeSet;
use weft_bench::seeds::{Work, missed_faults, unseen};
use weft_spandex::denovo_l1::Inject;
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain};

/// Covers of the L1 that a trial has not hit.
fn trial(drain: SbDrain, seed: u64) -> BTreeSet<String> {
    let mut w = World::new(&small(drain), seed);
    w.net.slow = [10, 2, 30][seed as usize % 3];
    w.run(15_000);
    w.finish();
    println!("{drain:?} seed {seed}: {} answers, locks {:?}", w.waves.replies, w.taken);
    let others = ["spandex.gpu", "spandex.race.gpu", "spandex.tu", "spandex.llc", "spandex.race.llc"];
    w.b.uncovered(&others).into_iter().filter(|name| w.b.counted(name) == 0).collect()
}

fn every_value_is_kept(work: Work) {
    // Without MESI devices nobody asks for sharing, without prediction nothing is direct, and nobody writes through to an owner. A store while another device's atomic on its
    // word is under way is a data race; a store that meets another's write-back is seldom, see the directed tests. Two Nacks at once: see the unit's own bench. An own entry of several
    // words, answered apart, needs an update of several words of several owners, which this work hardly has: see the Flex L1's bench, which has the same part. Forwards that are seldom, or never
    // come, are not split either: see those by hand. Waves of one device that want one word while another
    // asks for it are few here: see `joins.rs`.
    let rows = ["ReqS.", "ReqWT.", "ReqV.direct", "Inv", "ReqO.PD", "ReqO.pending"]
        .map(|row| format!("spandex.denovo_l1.{row}"));
    let seldom = [
        "forward_behind_joined",
        "joined_late",
        "two_nacks",
        "word_by_word",
        "split_ReqS",
        "split_ReqWT",
        "split_ReqO",
        "split_ReqOdata",
    ];
    let seldom = seldom.map(|race| format!("denovo_{race}"));
    let wanted = |name: &str| {
        !rows.iter().any(|r| name.starts_with(r)) && !seldom.iter().any(|race| name.ends_with(race.as_str()))
    };
    let kinds = [(SbDrain::Eager, 0..6), (SbDrain::Full, 10..13), (SbDrain::Highwater, 20..22)];
    assert_eq!(
        unseen(work, &kinds, wanted, |drain, seed| trial(*drain, seed)),
        BTreeSet::new(),
        "never seen"
    );
}

#[test]
fn every_value_is_kept_and_everything_happens() {
    every_value_is_kept(Work::Needed);
}

#[test]
fn long_every_value_is_kept() {
    every_value_is_kept(Work::All);
}

/// Faults that need a certain order of messages: see the directed tests.
#[test]
fn faults_are_found() {
    let run = |size: u32| {
        move |inject: Inject, seed: u64| {
            let p = small(SbDrain::Eager);
            let l1 = GpuL1Params { size, spandex: p.l1.spandex.clone(), ..p.l1.clone() };
            let mut w = World::new(&Shape { inject, l1, ..p }, seed);
            w.net.slow = [10, 2, 30][seed as usize % 3];
            w.run(20_000);
        }
    };
    // Copies stay for long; what is wrong with write-backs shows where there are many.
    assert_eq!(missed_faults(50..56, Inject::None, [Inject::KeepsOwnership, Inject::NoDelay], run(512)), []);
    assert_eq!(missed_faults(50..56, Inject::None, [Inject::NoCross, Inject::NoWait], run(128)), []);
}
