//! Random work on several devices; every value is checked.

use crate::denovo_l1::world::{Shape, World, small};
use std::collections::BTreeSet;
use weft_spandex::denovo_l1::Inject;
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain};

/// Runs some seeds; covers of the L1 that none of them has hit.
fn trials(p: &Shape, seeds: std::ops::Range<u64>, cycles: u64) -> BTreeSet<String> {
    let mut missed: Option<BTreeSet<String>> = None;
    for seed in seeds {
        let mut w = World::new(p, seed);
        w.slow = [10, 2, 30][seed as usize % 3];
        w.run(cycles);
        w.finish();
        let all = w.b.uncovered(&[
            "spandex.gpu",
            "spandex.race.gpu",
            "spandex.tu",
            "spandex.llc",
            "spandex.race.llc",
        ]);
        let now: BTreeSet<String> = all.into_iter().filter(|name| w.b.counted(name) == 0).collect();
        missed = Some(missed.map_or(now.clone(), |before| before.intersection(&now).cloned().collect()));
        println!("{:?} seed {seed}: {} answers, locks {:?}", p.l1.sb_drain, w.replies, w.taken);
    }
    missed.unwrap_or_default()
}

#[test]
fn every_value_is_kept_and_everything_happens() {
    let mut missed: Option<BTreeSet<String>> = None;
    for (drain, seeds) in [(SbDrain::Eager, 0..6), (SbDrain::Full, 10..13), (SbDrain::Highwater, 20..22)] {
        let now = trials(&small(drain), seeds, 15_000);
        missed = Some(missed.map_or(now.clone(), |before| before.intersection(&now).cloned().collect()));
    }
    // Without MESI devices nobody asks for sharing, without prediction nothing is direct, and nobody writes through to an owner. A store while another device's atomic on its
    // word is under way is a data race; a store that meets another's write-back is seldom, see the directed tests. Two Nacks at once: see the unit's own bench. An own entry of several
    // words, answered apart, needs an update of several words of several owners, which this work hardly has: see the Flex L1's bench, which has the same part. Forwards that are seldom, or never
    // come, are not split either: see those by hand.
    let rows = ["ReqS.", "ReqWT.", "ReqV.direct", "Inv", "ReqO.PD", "ReqO.pending"]
        .map(|row| format!("spandex.denovo_l1.{row}"));
    let seldom = ["two_nacks", "word_by_word", "split_ReqS", "split_ReqWT", "split_ReqO", "split_ReqOdata"];
    let seldom = seldom.map(|race| format!("denovo_{race}"));
    let never = |name: &String| {
        rows.iter().any(|r| name.starts_with(r)) || seldom.iter().any(|race| name.ends_with(race.as_str()))
    };
    let rest = missed.unwrap_or_default().into_iter().filter(|name| !never(name));
    assert_eq!(rest.collect::<Vec<String>>(), Vec::<String>::new(), "never seen");
}

/// Faults that need a certain order of messages: see the directed tests.
#[test]
fn faults_are_found() {
    let found = |inject: Inject| {
        let run = |seed: u64| {
            let p = small(SbDrain::Eager);
            // Copies stay for long; what is wrong with write-backs shows where there are many.
            let small_l1 = matches!(inject, Inject::NoCross | Inject::NoWait);
            let size = if small_l1 { 128 } else { 512 };
            let l1 = GpuL1Params { size, spandex: p.l1.spandex.clone(), ..p.l1.clone() };
            let mut w = World::new(&Shape { inject, l1, ..p }, seed);
            w.slow = [10, 2, 30][seed as usize % 3];
            w.run(20_000);
        };
        (50..56).any(|seed| std::panic::catch_unwind(|| run(seed)).is_err())
    };
    assert!(!found(Inject::None), "what is found is no fault");
    let faults = [Inject::NoCross, Inject::KeepsOwnership, Inject::NoDelay, Inject::NoWait];
    assert_eq!(faults.into_iter().filter(|inject| !found(*inject)).collect::<Vec<Inject>>(), []);
}
