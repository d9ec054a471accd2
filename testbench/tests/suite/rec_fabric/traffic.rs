//! Free-running traffic in every protocol, size and shape: no load is older than it may be, every request is answered once, all of it ends. The
//! ledger entries that need a whole fabric are hit here.

use crate::rec_fabric::bench::{Fabric, Noise};
use crate::rec_fabric::ledger::Covered;
use crate::rec_fabric::stress::Stress;
use crate::rec_fabric::{modules, tiny};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use weft_blocks::common::link::LinkParams;
use weft_blocks::fabric::{FabricParams, Protocol};
use weft_blocks::msg::Sys;

type Lines = Vec<(u64, u64)>;

/// Invalidations wait: wide bursts of long-shared ranges over slow links.
fn congested(protocol: Protocol) -> FabricParams {
    let p = tiny(protocol);
    FabricParams {
        sys: Sys { l2_mshrs: 24, l1_mshrs: 12, ..p.sys.clone() },
        dir_entries: 4,
        dir_ways: 2,
        evb_depth: 1,
        l2_sets: 8,
        l2_ways: 8,
        link: LinkParams { bytes_per_cycle: 8, latency: 2, credits: [8, 8, 1] },
        ..p
    }
}

/// Two GPUs of one bank each, no dirty lines written back at a release.
fn pair(protocol: Protocol) -> FabricParams {
    let p = tiny(protocol);
    FabricParams {
        sys: Sys { gpus: 2, banks: 1, l1s: 4, ..p.sys.clone() },
        release_l2_flush: false,
        evb_depth: 1,
        ..p
    }
}

/// Three GPUs, two links, two lines expanded per cycle, a long way.
fn far(protocol: Protocol) -> FabricParams {
    let p = tiny(protocol);
    FabricParams {
        sys: Sys { gpus: 3, ..p.sys.clone() },
        links: 2,
        inv_rate: 2,
        range: 512,
        link: LinkParams { bytes_per_cycle: 32, latency: 40, credits: [16, 16, 16] },
        ..p
    }
}

/// The least of everything: one credit per network, four miss registers.
fn starved(protocol: Protocol) -> FabricParams {
    let p = tiny(protocol);
    FabricParams {
        sys: Sys { l2_mshrs: 4, ..p.sys.clone() },
        l2_pool: 8,
        evb_depth: 1,
        link: LinkParams { bytes_per_cycle: 6, latency: 9, credits: [1, 1, 1] },
        ..p
    }
}

/// Eight GPUs of four links.
fn eight(protocol: Protocol) -> FabricParams {
    let p = tiny(protocol);
    FabricParams { sys: Sys { gpus: 8, ..p.sys.clone() }, links: 4, dir_ways: 4, ..p }
}

/// Lines over all homes, some beside each other, some in the same sets.
fn scattered(seed: u64, gpus: u32, count: usize) -> Lines {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut lines = BTreeSet::new();
    while lines.len() < count {
        let n = rng.random_range(0..8) + 64 * rng.random_range(0..6u64) + 1024 * rng.random_range(0..2);
        lines.insert((rng.random_range(0..u64::from(gpus)), n));
    }
    lines.into_iter().collect()
}

/// Whole ranges of 16 lines of one home, in both banks.
fn dense(home: u64) -> Lines {
    (0..6).flat_map(|range| (0..16).map(move |n| (home, 64 * range + n))).collect()
}

fn run(covered: &mut Covered, p: &FabricParams, cycles: u64, seeds: u64, lines: impl Fn(u64) -> Lines) {
    let design = Fabric::design(p);
    for seed in 1..=seeds {
        let noise = Noise { seed, memory: 5..=120, memory_ready: 0.6, directory_ready: 0.5 };
        let done = Stress::new(p, &design, noise, &lines(seed)).run(cycles);
        assert!(done.loads > cycles / 20, "{p:?}, seed {seed}: only {} loads", done.loads);
        assert!(done.demanded > 0, "{p:?}, seed {seed}: no acquire asked for anything");
        covered.add(done.hits(), seed);
    }
}

fn protocol(protocol: Protocol) -> Covered {
    let mut covered = Covered::default();
    run(&mut covered, &tiny(protocol), 12_000, 2, |seed| scattered(seed, 4, 48));
    run(&mut covered, &congested(protocol), 12_000, 2, |seed| dense(seed % 4));
    run(&mut covered, &pair(protocol), 12_000, 1, |seed| scattered(seed, 2, 24));
    run(&mut covered, &far(protocol), 12_000, 1, |seed| scattered(seed, 3, 40));
    run(&mut covered, &starved(protocol), 10_000, 1, |seed| scattered(seed, 4, 32));
    covered
}

/// What only a fabric shows, in every protocol that keeps copies in the L2.
const OF_COPIES: [&str; 2] = ["rec.race.stale_read_between_acquires", "rec.race.cumulative_release"];

#[test]
fn rec_under_traffic() {
    let covered = protocol(Protocol::REC);
    covered.publish("rec_under_traffic");
    covered.assert_hit(&OF_COPIES);
    covered.assert_hit(&[
        "rec.race.drain_waits_remote_write",
        "rec.race.drain_waits_local_store",
        "rec.race.new_epoch_write_while_draining",
        "rec.race.flush_dirty_lines",
    ]);
}

/// Two GPUs of two GPMs, and three of four.
fn of_modules(protocol: Protocol) -> Covered {
    let mut covered = Covered::default();
    let p = modules(protocol);
    let wide = FabricParams { sys: Sys { gpus: 3, gpms: 4, ..p.sys.clone() }, ..p.clone() };
    let starved =
        FabricParams { sys: Sys { l2_mshrs: 4, ..p.sys.clone() }, l2_pool: 8, evb_depth: 1, ..p.clone() };
    run(&mut covered, &p, 12_000, 3, |seed| scattered(seed, 4, 40));
    run(&mut covered, &wide, 5_000, 1, |seed| scattered(seed, 12, 40));
    run(&mut covered, &starved, 10_000, 1, |seed| scattered(seed, 4, 32));
    covered
}

#[test]
fn hmg_under_traffic() {
    of_modules(Protocol::HMG).publish("hmg_under_traffic");
}

#[test]
fn hmg_rec_under_traffic() {
    of_modules(Protocol::HMG_REC).publish("hmg_rec_under_traffic");
}

#[test]
fn nhcc_over_modules_under_traffic() {
    of_modules(Protocol::NHCC).publish("nhcc_over_modules_under_traffic");
}

#[test]
fn gpu_vi_under_traffic() {
    of_modules(Protocol::GPU_VI).publish("gpu_vi_under_traffic");
}

#[test]
fn sw_flat_under_traffic() {
    of_modules(Protocol::SW_FLAT).publish("sw_flat_under_traffic");
}

#[test]
fn sw_hierarchical_under_traffic() {
    of_modules(Protocol::SW_HIERARCHICAL).publish("sw_hierarchical_under_traffic");
}

#[test]
fn no_remote_caching_over_modules_under_traffic() {
    of_modules(Protocol::NO_REMOTE_CACHING).publish("no_remote_caching_over_modules_under_traffic");
}

#[test]
fn eight_gpus_under_traffic() {
    let mut covered = Covered::default();
    run(&mut covered, &eight(Protocol::REC), 5_000, 1, |seed| scattered(seed, 8, 40));
    covered.publish("eight_gpus_under_traffic");
    covered.assert_hit(&["rec.race.inv_fence_waits_other_links"]);
}

/// Invs that are older than what they meet.
#[test]
fn late_invalidations_cost_a_miss_and_no_more() {
    let p = FabricParams { l2_sets: 2, l2_ways: 4, ..congested(Protocol::REC) };
    let design = Fabric::design(&p);
    let mut covered = Covered::default();
    for seed in 1..=3 {
        let noise = Noise { seed, memory: 5..=40, memory_ready: 0.9, directory_ready: 1.0 };
        covered.add(Stress::new(&p, &design, noise, &dense(seed % 4)).watch().run(10_000).hits(), seed);
    }
    covered.publish("late_invalidations_cost_a_miss_and_no_more");
    covered.assert_hit(&["rec.race.late_evict_inv_drops_fresh_copy", "rec.race.over_poison"]);
}

#[test]
fn baseline_under_traffic() {
    let covered = protocol(Protocol::BASELINE);
    covered.publish("baseline_under_traffic");
    covered.assert_hit(&OF_COPIES);
}

#[test]
fn baseline_2x_under_traffic() {
    protocol(Protocol::BASELINE_2X).publish("baseline_2x_under_traffic");
}

#[test]
fn hmg_entry_under_traffic() {
    let covered = protocol(Protocol::HMG_ENTRY);
    covered.publish("hmg_entry_under_traffic");
    covered.assert_hit(&["rec.race.group_inv_four_lookups", "rec.race.group_inv_other_line_hit"]);
}

#[test]
fn ideal_under_traffic() {
    let covered = protocol(Protocol::IDEAL);
    covered.publish("ideal_under_traffic");
    covered.assert_hit(&OF_COPIES);
    covered.assert_hit(&["rec.race.home_victim_keeps_directory"]);
}

#[test]
fn l1_only_under_traffic() {
    let covered = protocol(Protocol::L1_ONLY);
    covered.publish("l1_only_under_traffic");
    covered.assert_hit(&["rec.race.remote_load_bypasses"]);
}

#[test]
fn no_remote_caching_under_traffic() {
    let covered = protocol(Protocol::NO_REMOTE_CACHING);
    covered.publish("no_remote_caching_under_traffic");
    covered.assert_hit(&["rec.race.remote_load_bypasses"]);
}
