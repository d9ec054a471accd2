//! Random work with random hints on several devices; every value is checked.

use crate::flex_l1::world::{Shape, World, small};
use std::collections::BTreeSet;
use weft_spandex::flex_l1::Inject;
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain};
use weft_spandex::llc::{LlcParams, ReqsPolicy, RvkoGran};
use weft_spandex::params::Spandex;
use weft_spandex::tu_flex::Opred;

/// Two Flex devices, one DeNovo, one with GPU coherence; small.
pub fn mixed(sb_drain: SbDrain, opred: Opred) -> Shape {
    let p = small(sb_drain);
    let s = Spandex { sharers: 2, ..p.l1.spandex.clone() };
    let l1 = GpuL1Params { spandex: s.clone(), ..p.l1.clone() };
    let llc = LlcParams { s, ..p.llc.clone() };
    Shape { l1, llc, flex: 2, denovo: 1, opred, ..p }
}

/// Four Flex devices.
pub fn all_flex(sb_drain: SbDrain, opred: Opred) -> Shape {
    let p = mixed(sb_drain, opred);
    let s = Spandex { sharers: 4, ..p.l1.spandex.clone() };
    let l1 = GpuL1Params { spandex: s.clone(), ..p.l1.clone() };
    let llc = LlcParams { s, ..p.llc.clone() };
    Shape { l1, llc, flex: 4, denovo: 0, ..p }
}

/// Runs some seeds; covers of the L1 and its unit that none of them has hit.
fn trials(p: &Shape, seeds: std::ops::Range<u64>, cycles: u64) -> BTreeSet<String> {
    let mut missed: Option<BTreeSet<String>> = None;
    for seed in seeds {
        let mut w = World::new(p, seed);
        w.slow = [10, 2, 30][seed as usize % 3];
        w.run(cycles);
        w.finish();
        let all = w.b.uncovered(&[]).into_iter().filter(|name| name.contains("flex"));
        let now: BTreeSet<String> = all.filter(|name| w.b.counted(name) == 0).collect();
        missed = Some(missed.map_or(now.clone(), |before| before.intersection(&now).cloned().collect()));
        println!(
            "{:?} seed {seed}: {} answers, {} direct, locks {:?}",
            p.l1.sb_drain, w.replies, w.direct, w.taken
        );
    }
    missed.unwrap_or_default()
}

#[test]
fn every_value_is_kept_and_everything_happens() {
    let opt =
        |p: Shape, reqs: ReqsPolicy, rvko: RvkoGran| Shape { llc: LlcParams { reqs, rvko, ..p.llc }, ..p };
    let runs = [
        (Shape { n_fail: 1, ..mixed(SbDrain::Eager, Opred::Oracle) }, 0..3),
        (mixed(SbDrain::Full, Opred::Off), 10..12),
        (mixed(SbDrain::Highwater, Opred::Table), 20..22),
        (Shape { n_fail: 1, ..all_flex(SbDrain::Eager, Opred::Table) }, 30..32),
        (all_flex(SbDrain::Full, Opred::Oracle), 40..42),
        (opt(all_flex(SbDrain::Eager, Opred::Off), ReqsPolicy::Opt2, RvkoGran::Word), 50..52),
        (opt(all_flex(SbDrain::Eager, Opred::Oracle), ReqsPolicy::Opt1, RvkoGran::Word), 60..62),
        (opt(mixed(SbDrain::Eager, Opred::Oracle), ReqsPolicy::Opt3, RvkoGran::Line), 70..72),
    ];
    let mut missed: Option<BTreeSet<String>> = None;
    for (p, seeds) in runs {
        let now = trials(&p, seeds, 12_000);
        missed = Some(missed.map_or(now.clone(), |before| before.intersection(&now).cloned().collect()));
    }
    // Writes of several words of which the owner has some only are seldom: see the directed tests.
    let seldom = ["flex_split_ReqO", "flex_split_ReqWT"];
    let missed = missed.unwrap_or_default().into_iter();
    assert_eq!(
        missed.filter(|name| seldom.iter().all(|race| !name.ends_with(race))).collect::<Vec<String>>(),
        Vec::<String>::new(),
        "never seen"
    );
}

/// Faults that need a certain order of messages: see the directed tests.
#[test]
fn faults_are_found() {
    let found = |inject: Inject| {
        let run = |seed: u64| {
            let p = all_flex(SbDrain::Eager, Opred::Oracle);
            // Copies stay for long; what is wrong with write-backs shows where there are many.
            let small_l1 = matches!(inject, Inject::NoCross | Inject::NoWait | Inject::ServesBuffer);
            let size = if small_l1 { 128 } else { 512 };
            let l1 = GpuL1Params { size, spandex: p.l1.spandex.clone(), ..p.l1.clone() };
            let mut w = World::new(&Shape { inject, l1, ..p }, seed);
            w.slow = [10, 2, 30][seed as usize % 3];
            w.run(20_000);
        };
        (50..56).any(|seed| std::panic::catch_unwind(|| run(seed)).is_err())
    };
    assert!(!found(Inject::None), "what is found is no fault");
    let faults =
        [Inject::NoCross, Inject::KeepsOwnership, Inject::NoDelay, Inject::NoWait, Inject::KeepsShared];
    assert_eq!(faults.into_iter().filter(|inject| !found(*inject)).collect::<Vec<Inject>>(), []);
}
