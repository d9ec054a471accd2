//! Hierarchical fence units: whole systems of them among modelled banks, lanes and networks, each beside its golden unit. Hits every row of the tables
//! `hfence.*` and the unit's races `hmg.race.*`.

mod dir_support;
mod hier_fence_bench;

use dir_support::*;
use hier_fence_bench::{Mood, Unit, World};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use weft_blocks::directory::hier_fence::{FenceScheme, HierFenceParams, hier_fence_unit};
use weft_blocks::directory::hier_fence_table::tables;
use weft_testbench::golden::hier_fence::{Scheme, Scope, receipts};
use weft_testbench::golden::hier_fence_table::rows_of;
use weft_testbench::golden::planes::Nodes;

const HMG: Scheme = Scheme::Hmg { flush: false };
const FLUSHING: Scheme = Scheme::Hmg { flush: true };

fn unit(gpus: u32, gpms: u32, banks: u32, scheme: Scheme) -> Unit {
    Unit { nodes: Nodes { gpus, gpms }, banks, scheme }
}

fn random_run(unit: Unit, cycles: u32, seed: u64, hits: &mut BTreeMap<String, (u64, u64)>) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut world = World::new(unit);
    let mut mood = Mood::draw(&mut rng);
    for cycle in 0..cycles {
        if cycle % 150 == 0 {
            mood = Mood::draw(&mut rng);
        }
        world.cycle(&mood, &mut rng);
    }
    world.cycles(1500, &Mood::open(), &mut rng);
    world.assert_idle();
    let fences = [world.fences(Scope::Gpu), world.fences(Scope::Sys)];
    assert!(fences.iter().all(|n| *n > 10) && world.promised > 100, "{fences:?}, {} writes", world.promised);
    if !unit.scheme.markers() {
        assert_eq!(world.counts()[2..], [0, 0], "software coherence sends no markers");
    }
    world.nodes.iter().for_each(|node| add(hits, covers(&node.sim), seed));
}

#[test]
fn releases_end_when_everything_before_them_has_taken_effect() {
    let mut hits = BTreeMap::new();
    let sets = [
        (unit(2, 2, 1, HMG), 6000),
        (unit(3, 3, 2, HMG), 4000),
        (unit(2, 2, 2, FLUSHING), 6000),
        (unit(4, 4, 2, FLUSHING), 3000),
        (unit(1, 4, 2, HMG), 4000),
        (unit(4, 1, 1, HMG), 4000),
        (unit(2, 2, 2, Scheme::SwHierarchical), 5000),
        (unit(2, 4, 1, Scheme::SwHierarchical), 4000),
        (unit(2, 2, 2, Scheme::SwFlat), 3000),
    ];
    for (seed, (unit, cycles)) in sets.into_iter().enumerate() {
        random_run(unit, cycles, seed as u64, &mut hits);
    }
    publish("hier_fence_random", &hits);
    assert_all_hit("hier-fence-unit", &hits, &[]);
}

/// Nothing moves between GPUs; fences of system scope stand, those of GPU scope end all the same.
#[test]
fn gpu_scope_waits_for_no_other_gpu() {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut world = World::new(unit(4, 4, 2, HMG));
    let blocked = Mood { far_blocked: true, ..Mood::open() };
    let all = world.unit.nodes.all();
    // Systems fences of all nodes, some of whose messages have left before nothing moves any more.
    world.cycle(&Mood::open(), &mut rng);
    all.iter().for_each(|node| world.token(*node, Scope::Sys, false));
    for (i, node) in all.iter().enumerate() {
        world.write(*node, i % 2, all[(i + 5) % 16]);
    }
    world.cycles(40, &Mood::open(), &mut rng);
    world.cycles(200, &blocked, &mut rng);
    for (i, node) in all.iter().enumerate() {
        world.write(*node, i % 2, all[(i + 7) % 16]);
    }
    for round in 1..=6 {
        all.iter().for_each(|node| world.token(*node, Scope::Gpu, false));
        world.cycles(150, &blocked, &mut rng);
        assert_eq!(world.ended, [16 * round, 0], "GPU scope ends, system scope cannot");
    }
    world.cycles(1500, &Mood::open(), &mut rng);
    world.assert_idle();
    assert_eq!(world.ended[1], 16);
}

#[test]
fn a_lone_fence_has_the_messages_of_section_6() {
    for (gpus, gpms) in [(4, 4), (2, 3), (1, 4), (4, 1)] {
        let nodes = Nodes { gpus, gpms };
        let (n, m) = (u64::from(gpus * gpms), u64::from(gpms));
        for scope in [Scope::Gpu, Scope::Sys] {
            let mut rng = SmallRng::seed_from_u64(0);
            let mut world = World::new(Unit { nodes, banks: 2, scheme: HMG });
            world.cycle(&Mood::open(), &mut rng);
            world.token(nodes.all()[1], scope, false);
            world.cycles(600, &Mood::open(), &mut rng);
            world.assert_idle();
            let passed_on = if m > 1 { n * u64::from(gpus - 1) } else { 0 };
            let expected = match scope {
                Scope::Gpu if m == 1 => [0; 4],
                Scope::Gpu => [m - 1, (m - 1) * (m - 1), m, 0],
                // Far drains of the other GPMs, then every home and receiver.
                Scope::Sys => [m - 1 + n - 1, m - 1 + (n - 1) * (n - 1), n, passed_on],
            };
            assert_eq!(world.counts(), expected, "{gpus}x{gpms} {scope:?}");
            let own = if scope == Scope::Gpu { m - 1 } else { n - 1 };
            let messages = if scope == Scope::Gpu { expected[1] } else { expected[1] - (m - 1) };
            assert_eq!(messages + own, u64::from(receipts(nodes, scope)), "with the own receipts");
        }
    }
}

#[test]
fn tokens_during_a_fence_share_the_next_one() {
    for scope in [Scope::Gpu, Scope::Sys] {
        let mut rng = SmallRng::seed_from_u64(0);
        let mut world = World::new(unit(2, 2, 1, HMG));
        world.cycle(&Mood::open(), &mut rng);
        for release in 0..5 {
            world.token(1, scope, false);
            world.cycles(60, &Mood { net: 0.0, ..Mood::open() }, &mut rng);
            assert_eq!(world.fences(scope), 0, "release {release} waits for acknowledgements");
        }
        world.cycles(300, &Mood::open(), &mut rng);
        world.assert_idle();
        assert_eq!(world.fences(scope), 2, "one for the first release, one for the other four");
    }
}

/// What GPU homes have passed on delays a release of system scope by any GPM of that GPU, and no release of GPU scope.
#[test]
fn far_drains_wait_for_what_was_passed_on() {
    for scheme in [HMG, Scheme::SwHierarchical] {
        let mut rng = SmallRng::seed_from_u64(3);
        let mut world = World::new(unit(2, 2, 1, scheme));
        let blocked = Mood { far_blocked: true, ..Mood::open() };
        world.cycle(&blocked, &mut rng);
        // Node 0 stores to a line of node 3 (GPU 1, GPM 1); its GPU home is node 1.
        world.write(0, 0, 3);
        world.cycles(30, &blocked, &mut rng);
        world.token(0, Scope::Gpu, false);
        world.cycles(200, &blocked, &mut rng);
        assert_eq!(world.ended, [1, 0]);
        world.token(0, Scope::Sys, false);
        world.cycles(300, &blocked, &mut rng);
        assert_eq!(world.ended, [1, 0], "node 1 has no acknowledgement of the system home");
        assert_eq!(world.counts()[3], 0, "no marker is sent before that");
        world.cycles(500, &Mood::open(), &mut rng);
        world.assert_idle();
    }
}

#[test]
fn tables_equal_the_golden_ones() {
    let schemes = [
        (FenceScheme::Hmg { flush: false }, HMG),
        (FenceScheme::Hmg { flush: true }, FLUSHING),
        (FenceScheme::SwHierarchical, Scheme::SwHierarchical),
        (FenceScheme::SwFlat, Scheme::SwFlat),
    ];
    for (scheme, golden) in schemes {
        let mut rows = BTreeMap::new();
        for engine in tables(scheme) {
            let table = engine.table();
            assert!(table.overlaps().is_empty());
            rows.extend(table.rows.into_iter().map(|r| (r.id, r.actions[0])));
        }
        let expected: BTreeMap<String, &str> = rows_of(golden).map(|r| (r.id.to_string(), r.next)).collect();
        assert_eq!(rows, expected, "{scheme:?}");
    }
}

#[test]
fn any_size_elaborates_with_the_counters_of_section_6() {
    for (gpus, gpms) in [(16, 4), (8, 8), (16, 1), (2, 1), (1, 8), (1, 2), (5, 3)] {
        for scheme in [FenceScheme::Hmg { flush: true }, FenceScheme::SwHierarchical, FenceScheme::SwFlat] {
            let sys = module_sys(gpus, gpms, 1);
            let home = *sys.all_nodes().last().unwrap();
            let p = HierFenceParams { sys, home, scheme };
            let module = hier_fence_unit(&p).unwrap_or_else(|e| panic!("{gpus}x{gpms} {scheme:?}: {e}"));
            if scheme.markers() {
                let nodes = Nodes { gpus, gpms };
                let bits = |n: u32| (u32::BITS - n.leading_zeros()).max(1);
                let width = |name: &str| module.signals.iter().find(|s| s.name == name).unwrap().width;
                assert_eq!(width("gpu_acks"), bits(receipts(nodes, Scope::Gpu)), "{gpus}x{gpms}");
                assert_eq!(width("sys_acks"), bits(receipts(nodes, Scope::Sys).max(gpms)), "{gpus}x{gpms}");
            }
        }
    }
    let mut sys = module_sys(2, 2, 1);
    sys.l2_mshrs = 2;
    let p = HierFenceParams { sys, home: 0, scheme: FenceScheme::SwFlat };
    let sentence = hier_fence_unit(&p).unwrap_err().to_string();
    assert!(sentence.contains("l2_mshrs = 2; legal: 3 and more, for the order in an answer"), "{sentence}");
}
