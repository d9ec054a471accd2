//! Hierarchical fence units where the GPMs of a GPU join their releases (hmg.md section 6): what a kernel's
//! end and a lone release cost, and the units' sizes. Under random stimulus they are in `hier_fence`.

use crate::dir_support;
use crate::hier_fence_bench;

use dir_support::*;
use hier_fence_bench::{Mood, Unit, World};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use weft_blocks::directory::hier_fence::{FenceScheme, HierFenceParams, hier_fence_unit};
use weft_testbench::golden::hier_fence::{Scheme, Scope};
use weft_testbench::golden::planes::Nodes;

const HMG: Scheme = Scheme::Hmg { flush: false };
const JOINED: Scheme = Scheme::Joined { flush: false };

fn unit(gpus: u32, gpms: u32, scheme: Scheme) -> Unit {
    Unit { nodes: Nodes { gpus, gpms }, banks: 1, scheme, marks: HierFenceParams::MARKS, early: false }
}

/// At a kernel's end all nodes release. Where GPMs join, a GPU sends one request and one acknowledgement to
/// each other GPU, and each home one marker, whatever the number of GPMs that release; each home's marker is
/// acknowledged once by each GPU.
#[test]
fn a_kernel_s_end_costs_a_few_messages_between_gpus() {
    for (gpus, gpms) in [(2, 2), (4, 2), (4, 4), (3, 3), (8, 2), (2, 8), (1, 4)] {
        let far = |scheme: Scheme| {
            let mut rng = SmallRng::seed_from_u64(0);
            let mut world = World::new(unit(gpus, gpms, scheme));
            let mood = Mood { net: 0.5, ..Mood::open() };
            world.cycle(&mood, &mut rng);
            if scheme.joined() {
                world.common_release();
            } else {
                let all = world.unit.nodes.all();
                all.iter().for_each(|node| world.token(*node, Scope::Sys, false));
            }
            world.cycles(1500, &mood, &mut rng);
            world.assert_idle();
            assert_eq!(world.ended[1], u64::from(gpus * gpms));
            (world.far_counts(), world.counts()[2])
        };
        let (n, m) = (u64::from(gpus), u64::from(gpms));
        let pairs = n * (n - 1);
        let (joined, markers) = far(JOINED);
        assert_eq!((joined, markers), ([pairs, pairs + pairs * m], n * m), "{gpus}x{gpms}");
        let (each, _) = far(HMG);
        assert_eq!(each[0], pairs * m * m, "{gpus}x{gpms}");
        assert!(each[1] >= pairs * (m * m + m), "{gpus}x{gpms}: {each:?}");
    }
}

/// A release of one GPM waits for no other one that releases.
#[test]
fn a_lone_release_goes_through_the_leader() {
    for by in [0, 1] {
        let mut rng = SmallRng::seed_from_u64(0);
        let mut world = World::new(unit(4, 4, JOINED));
        world.cycle(&Mood::open(), &mut rng);
        world.token(by, Scope::Sys, false);
        world.cycles(600, &Mood::open(), &mut rng);
        world.assert_idle();
        assert_eq!(world.ended, [0, 1]);
        // A request to each leader and an acknowledgement of it; of 16 markers each goes to three GPUs.
        assert_eq!((world.far_counts(), world.counts()[2]), ([3, 3 + 16 * 3], 16), "node {by}");
    }
}

/// Where GPMs join, a home keeps a bit for each GPU that asks, and a GPM that follows counts one
/// acknowledgement.
#[test]
fn joined_units_elaborate_with_a_bit_for_each_gpu() {
    for (gpus, gpms) in [(16, 4), (8, 8), (2, 2), (1, 8), (1, 2), (5, 3)] {
        let sys = module_sys(gpus, gpms, 1);
        for (home, acks) in [(sys.all_nodes()[0], gpus.max(gpms)), (*sys.all_nodes().last().unwrap(), 1)] {
            let scheme = FenceScheme::Joined { flush: true };
            let p = HierFenceParams { sys: sys.clone(), home, scheme, marks: 4, early: false };
            let module = hier_fence_unit(&p).unwrap_or_else(|e| panic!("{gpus}x{gpms}: {e}"));
            let width = |name: &str| module.signals.iter().find(|s| s.name == name).unwrap().width;
            let bits = u32::BITS - acks.leading_zeros();
            assert_eq!((width("sys_acks"), width("sys_served0")), (bits, gpus), "{gpus}x{gpms} {home}");
        }
    }
    let scheme = FenceScheme::Joined { flush: true };
    let p = HierFenceParams { sys: module_sys(4, 1, 1), home: 0, scheme, marks: 4, early: false };
    let sentence = hier_fence_unit(&p).unwrap_err().to_string();
    assert!(sentence.contains("gpms = 1; legal: 2..8 with scheme joined"), "{sentence}");
}

/// GPMs that join while the leader's requests to other GPUs cannot leave, or while its end is not taken, are served by its next batch.
#[test]
fn a_gpm_that_joins_late_is_served_by_the_next_batch() {
    let mut hits = BTreeMap::new();
    let mut rng = SmallRng::seed_from_u64(0);
    let mut world = World::new(unit(4, 2, JOINED));
    let blocked = Mood { far_blocked: true, ..Mood::open() };
    world.cycle(&blocked, &mut rng);
    world.token(0, Scope::Sys, false);
    world.cycles(100, &blocked, &mut rng);
    world.token(1, Scope::Sys, false);
    world.cycles(100, &blocked, &mut rng);
    assert_eq!(world.ended, [0, 0]);
    world.cycles(600, &Mood::open(), &mut rng);
    world.assert_idle();
    assert_eq!(world.fences(Scope::Sys), 2);
    add(&mut hits, covers(&world.nodes[0].sim), 0);
    let mut world = World::new(unit(2, 2, JOINED));
    let untold = Mood { untold: true, ..Mood::open() };
    world.cycle(&untold, &mut rng);
    // The end of the first stands in the way of the second one's.
    for (node, scope) in [(0, Scope::Gpu), (0, Scope::Sys), (1, Scope::Sys)] {
        world.token(node, scope, false);
        world.cycles(300, &untold, &mut rng);
    }
    assert_eq!(world.ended, [0, 0]);
    world.cycles(600, &Mood::open(), &mut rng);
    world.assert_idle();
    assert_eq!(world.ended, [1, 2]);
    add(&mut hits, covers(&world.nodes[0].sim), 1);
    for id in ["hfence.sys.SEND.join", "hfence.sys.DONE.join"] {
        assert!(hits.contains_key(id), "{id}");
    }
    publish("hier_fence_joins", &hits);
}
