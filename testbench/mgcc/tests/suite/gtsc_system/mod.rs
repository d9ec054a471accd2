//! Three `gtsc-l1` and two `gtsc-l2` with a memory without timestamps: random programs under release consistency, networks that delay and press back, rolls, kernels.
//!
//! The checker of logical time judges every load, memory holds the last values after a write-back, and each fault is caught.

use crate::gtsc_bench;
mod world;

use gtsc_bench::widths;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use weft_mgcc::choice::{GtscFault, Inject};
use weft_mgcc::l1::L1Params;
use weft_mgcc::l2::L2Params;
use weft_mgcc::params::Tsm;
use world::{Shape, World};

fn l1(tsm: Tsm) -> L1Params {
    L1Params {
        size: 256,
        ways: 2,
        latency: 4,
        pool: 4,
        self_inc: 5,
        observe: true,
        ..L1Params::gtsc_published(tsm)
    }
}

fn l2(tsm: Tsm) -> L2Params {
    L2Params { size: 256, ways: 2, pool: 8, ..L2Params::gtsc_published(tsm) }
}

fn world(ts: u32, inject: Inject, shape: Shape, seed: u64) -> World {
    let tsm = Tsm { cus: 3, il: 6, ..widths(ts) };
    World::new(&L1Params { inject, ..l1(tsm.clone()) }, &L2Params { inject, ..l2(tsm) }, shape, seed)
}

/// What only single events bring about, in `gtsc_l1` and `gtsc_l2`.
const SINGLE: [&str; 5] = [
    "mgcc.race.gtsc_l2_behind_atomic",
    "mgcc.race.gtsc_l2_flush_drops",
    "mgcc.race.gtsc_l2_roll_by_request",
    "mgcc.race.l1_begin_rolls",
    "mgcc.race.l1_response_rolls",
];

const SHAPE: Shape = Shape { waves: 6, length: 14, kernels: 2, lines: 10, lease: 10, ready: 0.7 };

#[test]
fn random_programs_are_coherent() {
    let mut missed: Option<BTreeSet<String>> = None;
    let mut rolls = 0;
    for (seed, ts) in [(79, 6), (80, 7), (81, 8), (82, 16), (83, 6), (84, 7)] {
        let lease = if seed % 2 == 0 { 10 } else { 3 };
        let lines = if seed % 3 == 0 { 4 } else { SHAPE.lines };
        let mut world = world(ts, Inject::None, Shape { lease, lines, ..SHAPE }, seed);
        world.run().unwrap_or_else(|fault| panic!("seed {seed}, ts {ts}: {fault}"));
        rolls += world.epoch;
        let now: BTreeSet<String> = world.uncovered(&SINGLE);
        missed = Some(match missed {
            Some(before) => before.intersection(&now).cloned().collect(),
            None => now,
        });
    }
    assert!(rolls > 6, "short timestamps roll often, not {rolls} times");
    let missed = missed.unwrap_or_default();
    assert!(missed.is_empty(), "never seen: {missed:?}");
}

#[test]
fn long_random_programs_are_coherent() {
    for seed in 100..130 {
        let shape = Shape { length: 120, lease: 1 + seed % 16, lines: 6 + seed % 9, ..SHAPE };
        let mut world = world(6 + (seed % 3) as u32, Inject::None, shape, seed);
        world.run().unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
    }
}

/// Each fault is caught: by the checker of logical time on most seeds, else by an assertion of the hardware.
#[test]
fn faults_are_caught() {
    let faults =
        [GtscFault::RenewChanged, GtscFault::LeaseNotKept, GtscFault::EvictUntimed, GtscFault::Unlocked];
    for fault in faults {
        let mut by_checker = 0;
        let mut caught = Vec::new();
        for seed in 0..6 {
            let lines = if fault == GtscFault::EvictUntimed { 12 } else { 5 };
            let shape = Shape { lines, kernels: 1, length: 40, ..SHAPE };
            let mut world = world(16, Inject::Gtsc(fault), shape, seed);
            let end = catch_unwind(AssertUnwindSafe(|| world.run()));
            match end {
                Ok(Ok(())) => {}
                Ok(Err(text)) => {
                    by_checker += 1;
                    caught.push(text);
                }
                Err(_) => caught.push("an assertion of the hardware".to_string()),
            }
            if by_checker > 0 {
                break;
            }
        }
        assert!(by_checker > 0, "{fault:?} is not caught by the checker: {caught:?}");
        println!("{fault:?}: {}", caught.last().expect("one"));
    }
}
