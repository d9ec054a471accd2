//! The fence unit against the golden one, with random banks, homes, networks and command processor around it, and back-pressure on every channel.

use crate::dir_fence_bench;
use crate::dir_support;

use dir_fence_bench::{Bench, Mood, stimulus};
use dir_support::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use weft_blocks::directory::fence::{FenceParams, fence_unit};
use weft_testbench::golden::fence::{ack_counter_bits, acks_per_fence, traffic};
use weft_testbench::golden::fence_table::FenceState;

fn random_run(gpus: u32, home: u32, banks: u32, flush: bool, seed: u64) -> BTreeMap<String, u64> {
    run_of(Bench::new(gpus, home, banks, flush), seed)
}

fn run_of(mut bench: Bench, seed: u64) -> BTreeMap<String, u64> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut mood = Mood::draw(&mut rng);
    for cycle in 0..9000u32 {
        if cycle % 150 == 0 {
            mood = if cycle < 7000 { Mood::draw(&mut rng) } else { Mood::open() };
        }
        stimulus(&mut bench, &mood, &mut rng);
        bench.outputs(|| rng.random_bool(mood.ready));
        bench.inputs();
        bench.step();
    }
    finish(&bench, 3);
    covers(&bench.sim)
}

/// Nothing is left, the messages have the golden counts, and so have the rows.
fn finish(bench: &Bench, least: u64) {
    assert!(bench.fences >= least && bench.completed == bench.fences, "{} fences", bench.fences);
    assert_eq!(bench.golden.state(), FenceState::Idle);
    assert!(bench.releases.is_empty() && bench.completions.is_empty() && bench.marks.is_empty());
    assert!(bench.responses.is_empty() && bench.markers.is_empty() && bench.acks_due.is_empty());
    assert!(bench.golden.next_markers().is_empty(), "every request has its marker");
    let hits = covers(&bench.sim);
    let sum = |event: &str| -> (u64, u64) {
        let of = |id: &str| id.starts_with("fence.") && id.ends_with(event);
        let hardware = hits.iter().filter(|(id, _)| of(id)).map(|(_, n)| n).sum();
        (hardware, bench.rows.iter().filter(|(id, _)| of(id)).map(|(_, n)| n).sum())
    };
    for event in [".drained", ".flushed", ".sent", ".last_ack", ".ack", ".FenceReq"] {
        let (hardware, golden) = sum(event);
        assert_eq!(hardware, golden, "rows {event}");
    }
    assert_eq!(sum(".release").0, bench.released);
    let asked = sum(".FenceReq").0;
    let t = traffic(bench.p.sys.gpus, 1);
    let others = u64::from(bench.p.sys.gpus - 1);
    let expected = [
        bench.fences * u64::from(t.fence_req),
        bench.fences + asked,
        asked * others,
        bench.fences * u64::from(t.own_receipts),
    ];
    assert_eq!(bench.counts, expected, "FenceReqs, markers, FenceAcks, own receipts");
}

/// What only a bank can see: the ledger's entries of the fence unit that the L2 bank covers.
const IN_THE_BANK: [&str; 4] = [
    "rec.race.drain_waits_remote_write",
    "rec.race.drain_waits_local_store",
    "rec.race.new_epoch_write_while_draining",
    "rec.race.flush_dirty_lines",
];

#[test]
fn follows_the_golden_unit_under_back_pressure() {
    let mut hits = BTreeMap::new();
    let mut seed = 0;
    for (gpus, home) in [(2, 1), (3, 0), (4, 2), (8, 7)] {
        for banks in [1, 4] {
            for flush in [true, false, true] {
                add(&mut hits, random_run(gpus, home, banks, flush, seed), seed);
                seed += 1;
            }
        }
    }
    publish("dir_fence_random", &hits);
    let mut elsewhere = IN_THE_BANK.to_vec();
    // The marker waits for a FIFO of the egress.
    elsewhere.push("rec.race.inv_fence_push_waits");
    assert_all_hit("fence-unit", &hits, &elsewhere);
}

#[test]
fn a_lone_fence_has_the_messages_of_section_7() {
    for gpus in [2, 4, 16] {
        let mut bench = Bench::new(gpus, gpus / 2, 2, true);
        let mut rng = SmallRng::seed_from_u64(0);
        bench.step();
        bench.release();
        for _ in 0..400 {
            stimulus(&mut bench, &Mood::open(), &mut rng);
            bench.outputs(|| true);
            bench.inputs();
            bench.step();
        }
        assert_eq!(bench.fences, 1);
        finish(&bench, 1);
    }
}

#[test]
fn releases_during_a_fence_share_the_next_one() {
    let mut bench = Bench::new(4, 0, 1, true);
    let mut rng = SmallRng::seed_from_u64(0);
    let held = Mood { ack: 0.0, ..Mood::open() };
    for release in 0..5 {
        bench.release();
        for _ in 0..40 {
            stimulus(&mut bench, &held, &mut rng);
            bench.outputs(|| true);
            bench.inputs();
            bench.step();
        }
        assert_eq!(bench.fences, 0, "release {release} waits for acknowledgements");
    }
    for _ in 0..200 {
        stimulus(&mut bench, &Mood::open(), &mut rng);
        bench.outputs(|| true);
        bench.inputs();
        bench.step();
    }
    finish(&bench, 2);
    assert_eq!(bench.fences, 2, "one for the first release, one for the other four");
}

#[test]
fn the_last_acknowledgement_waits_for_the_completion_before() {
    for seed in 0..24 {
        let mut bench = Bench::new(4, 2, 2, true);
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut run = |bench: &mut Bench, taken: bool| {
            for _ in 0..400 {
                stimulus(bench, &Mood::open(), &mut rng);
                bench.messages(&mut || true);
                bench.completion(taken);
                bench.inputs();
                bench.step();
            }
        };
        for _ in 0..2 {
            bench.release();
            run(&mut bench, false);
        }
        assert_eq!(bench.fences, 1, "nobody has taken the first completion, so the second cannot be told");
        run(&mut bench, true);
        finish(&bench, 2);
    }
}

#[test]
fn the_counter_has_the_bits_of_section_7() {
    for gpus in 2..=16 {
        let p = FenceParams { sys: small_sys(gpus, 1), home: 0, flush: true, early: false };
        assert_eq!((p.acks(), p.ack_bits()), (acks_per_fence(gpus), ack_counter_bits(gpus)));
        let module = fence_unit(&p).unwrap();
        let acks = module.signals.iter().find(|s| s.name == "acks").unwrap();
        assert_eq!(acks.width, p.ack_bits());
    }
}

#[test]
fn a_fence_that_is_told_complete_when_it_begins_is_seen() {
    let p = FenceParams { sys: small_sys(2, 1), home: 0, flush: true, early: true };
    assert!(std::panic::catch_unwind(|| run_of(Bench::of(p), 1)).is_err(), "nothing is noticed");
}
