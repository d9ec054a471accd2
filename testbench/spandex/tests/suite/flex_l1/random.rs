//! Random work with random hints on several devices; every value is checked.

use crate::flex_l1::world::{Shape, World, small};
use std::collections::BTreeSet;
use weft_bench::seeds::{Work, missed_faults, unseen};
use weft_spandex::bank::Bank;
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
    let llc = p.llc.clone().sized(|b| Bank { s, ..b });
    Shape { l1, llc, flex: 2, denovo: 1, opred, ..p }
}

/// Four Flex devices.
pub fn all_flex(sb_drain: SbDrain, opred: Opred) -> Shape {
    let p = mixed(sb_drain, opred);
    let s = Spandex { sharers: 4, ..p.l1.spandex.clone() };
    let l1 = GpuL1Params { spandex: s.clone(), ..p.l1.clone() };
    let llc = p.llc.clone().sized(|b| Bank { s, ..b });
    Shape { l1, llc, flex: 4, denovo: 0, ..p }
}

/// Covers of the L1 and its unit that a trial has not hit.
fn trial(p: &Shape, seed: u64) -> BTreeSet<String> {
    let mut w = World::new(p, seed);
    w.net.slow = [10, 2, 30][seed as usize % 3];
    w.run(12_000);
    w.finish();
    println!(
        "{:?} seed {seed}: {} answers, {} direct, locks {:?}",
        p.l1.sb_drain, w.waves.replies, w.direct, w.taken
    );
    let all = w.b.uncovered(&[]).into_iter().filter(|name| name.contains("flex"));
    all.filter(|name| w.b.counted(name) == 0).collect()
}

fn every_value_is_kept(work: Work) {
    let opt =
        |p: Shape, reqs: ReqsPolicy, rvko: RvkoGran| Shape { llc: LlcParams { reqs, rvko, ..p.llc }, ..p };
    let kinds = [
        (Shape { n_fail: 1, ..mixed(SbDrain::Eager, Opred::Oracle) }, 0..3),
        (mixed(SbDrain::Full, Opred::Off), 10..12),
        (mixed(SbDrain::Highwater, Opred::Table), 20..22),
        (Shape { n_fail: 1, ..all_flex(SbDrain::Eager, Opred::Table) }, 30..32),
        (all_flex(SbDrain::Full, Opred::Oracle), 40..42),
        (opt(all_flex(SbDrain::Eager, Opred::Off), ReqsPolicy::Opt2, RvkoGran::Word), 50..52),
        (opt(all_flex(SbDrain::Eager, Opred::Oracle), ReqsPolicy::Opt1, RvkoGran::Word), 60..62),
        (opt(mixed(SbDrain::Eager, Opred::Oracle), ReqsPolicy::Opt3, RvkoGran::Line), 70..72),
    ];
    // Writes of several words of which the owner has some only are seldom: see the directed tests.
    let seldom = ["flex_split_ReqO", "flex_split_ReqWT"];
    let wanted = |name: &str| seldom.iter().all(|race| !name.ends_with(race));
    assert_eq!(unseen(work, &kinds, wanted, trial), BTreeSet::new(), "never seen");
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
            let p = all_flex(SbDrain::Eager, Opred::Oracle);
            let l1 = GpuL1Params { size, spandex: p.l1.spandex.clone(), ..p.l1.clone() };
            let mut w = World::new(&Shape { inject, l1, ..p }, seed);
            w.net.slow = [10, 2, 30][seed as usize % 3];
            w.run(20_000);
        }
    };
    // Copies stay for long; what is wrong with write-backs shows where there are many.
    let of_copies = [Inject::KeepsOwnership, Inject::NoDelay, Inject::KeepsShared];
    assert_eq!(missed_faults(50..56, Inject::None, of_copies, run(512)), []);
    assert_eq!(missed_faults(50..56, Inject::None, [Inject::NoCross, Inject::NoWait], run(128)), []);
}
