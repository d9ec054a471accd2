//! Hierarchical fence units: whole systems of them among modelled banks, lanes and networks, each beside its golden unit. Hits every row of the tables
//! `hfence.*` and the unit's races `hmg.race.*`.

use crate::dir_support;
use crate::hier_fence_bench;

use dir_support::*;
use hier_fence_bench::{Fault, Mood, Unit, World};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use weft_blocks::directory::hier_fence::table::{mark_table, scope_tables, serve_tables};
use weft_blocks::directory::hier_fence::{FenceScheme, HierFenceParams, hier_fence_unit};
use weft_rtl::transitions::{NoAction, Transitions};
use weft_rtl::value::HwEnum;
use weft_testbench::golden::hier_fence::table::rows_of;
use weft_testbench::golden::hier_fence::{Scheme, Scope, homes};
use weft_testbench::golden::planes::Nodes;

const HMG: Scheme = Scheme::Hmg { flush: false };
const FLUSHING: Scheme = Scheme::Hmg { flush: true };
const JOINED: Scheme = Scheme::Joined { flush: false };
const JOINED_FLUSHING: Scheme = Scheme::Joined { flush: true };
const FLAT: Scheme = Scheme::Flat { flush: false };
const FLAT_FLUSHING: Scheme = Scheme::Flat { flush: true };

fn unit(gpus: u32, gpms: u32, banks: u32, scheme: Scheme) -> Unit {
    Unit { nodes: Nodes { gpus, gpms }, banks, scheme, marks: HierFenceParams::MARKS, early: false }
}

fn with_marks(marks: u32, unit: Unit) -> Unit {
    Unit { marks, ..unit }
}

fn random_cycles(world: &mut World, cycles: u32, rng: &mut SmallRng) {
    let mut mood = Mood::draw(rng);
    for cycle in 0..cycles {
        if cycle % 150 == 0 {
            mood = Mood::draw(rng);
        }
        world.cycle(&mood, rng);
    }
    world.cycles(1500, &Mood::open(), rng);
    world.assert_idle();
}

fn random_run(unit: Unit, cycles: u32, seed: u64, hits: &mut BTreeMap<String, (u64, u64)>) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut world = World::new(unit);
    random_cycles(&mut world, cycles, &mut rng);
    let fences = [world.fences(Scope::Gpu), world.fences(Scope::Sys)];
    assert!(fences[1] > 10 && (fences[0] > 10 || !unit.scheme.gpu_scope()), "{fences:?}");
    assert!(world.promised > 100, "{} writes", world.promised);
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
        (with_marks(1, unit(2, 2, 2, FLUSHING)), 6000),
        (unit(4, 4, 2, FLUSHING), 3000),
        (with_marks(2, unit(1, 4, 2, HMG)), 4000),
        (unit(1, 2, 1, HMG), 3000),
        (unit(4, 1, 1, HMG), 4000),
        (unit(2, 2, 2, Scheme::SwHierarchical), 5000),
        (unit(2, 4, 1, Scheme::SwHierarchical), 4000),
        (unit(2, 2, 2, Scheme::SwFlat), 3000),
        (unit(2, 2, 2, FLAT), 4000),
        (with_marks(2, unit(3, 3, 1, FLAT_FLUSHING)), 3000),
        (unit(4, 4, 1, FLAT), 2000),
        (unit(2, 2, 2, Scheme::Drain { flush: false }), 2000),
        (unit(3, 2, 1, Scheme::Drain { flush: true }), 3000),
        (unit(2, 2, 1, JOINED), 6000),
        (unit(3, 3, 2, JOINED), 5000),
        (with_marks(1, unit(2, 2, 2, JOINED_FLUSHING)), 6000),
        (unit(4, 4, 1, JOINED_FLUSHING), 4000),
        (unit(1, 4, 1, JOINED), 4000),
    ];
    for (seed, (unit, cycles)) in sets.into_iter().enumerate() {
        random_run(unit, cycles, seed as u64, &mut hits);
    }
    publish("hier_fence_random", &hits);
    // Those need requests or ends that stand still; see a test below, and `hier_fence_joined`.
    let standing =
        ["hfence.gpu.SEND.ack", "hfence.sys.SEND.ack", "hfence.sys.SEND.join", "hfence.sys.DONE.join"];
    assert_all_hit("hier-fence-unit", &hits, &standing);
}

/// Nothing moves between GPUs; fences of system scope stand, those of GPU scope end all the same.
#[test]
fn gpu_scope_waits_for_no_other_gpu() {
    stand_between_gpus(JOINED, 4);
    for marks in [1, 4] {
        let world = stand_between_gpus(HMG, marks);
        let hits = covers(&world.nodes[5].sim);
        // With one serial of system scope, which is in flight, the requests of others wait, and markers of GPU scope leave.
        assert_eq!(hits["hmg.race.scope_passes_exhausted_one"] > 0, marks == 1, "{marks} marks");
    }
}

fn stand_between_gpus(scheme: Scheme, marks: u32) -> World {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut world = World::new(with_marks(marks, unit(4, 4, 2, scheme)));
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
    world
}

/// Sixteen releases at a kernel's end: each home needs a few markers for all, not one for each.
#[test]
fn releases_of_all_nodes_share_markers() {
    for (scheme, marks) in [(HMG, 4), (HMG, 1), (FLAT, 4), (FLAT, 1)] {
        let mut rng = SmallRng::seed_from_u64(0);
        let mut world = World::new(with_marks(marks, unit(4, 4, 2, scheme)));
        let mood = Mood { net: 0.5, ..Mood::open() };
        world.cycle(&mood, &mut rng);
        let all = world.unit.nodes.all();
        all.iter().for_each(|node| world.token(*node, Scope::Sys, false));
        world.cycles(1500, &mood, &mut rng);
        world.assert_idle();
        assert_eq!(world.ended[1], 16);
        let [_, acks, own, _] = world.counts();
        let most = 16 * if marks == 1 { 3 } else { 8 };
        assert!(
            (16..most).contains(&own),
            "{scheme:?}, {marks} marks: {own} markers, {acks} acknowledgements"
        );
    }
}

/// A write of home 1 whose directory has not answered holds its marker for node 2; nodes 3 and 0 ask meanwhile and share the next one.
#[test]
fn a_request_during_a_marker_waits_for_the_next_one() {
    let mut rng = SmallRng::seed_from_u64(0);
    let mut world = World::new(unit(1, 4, 1, HMG));
    let still = Mood { write_moves: 0.0, ..Mood::open() };
    world.cycle(&still, &mut rng);
    world.write(1, 0, 1);
    world.cycle(&Mood::open(), &mut rng);
    for node in [2, 3, 0] {
        world.token(node, Scope::Gpu, false);
        world.cycles(60, &still, &mut rng);
    }
    assert_eq!((world.ended, world.counts()[2]), ([0, 0], 9), "the other homes have served all three");
    world.cycles(200, &Mood::open(), &mut rng);
    world.assert_idle();
    assert_eq!((world.ended, world.counts()[2]), ([3, 0], 11));
    let hits = covers(&world.nodes[1].sim);
    for id in ["request_while_ordering", "marker_serves_several"] {
        assert!(hits[&format!("hmg.race.{id}")] > 0, "{id}");
    }
}

/// The first home has acknowledged before the last one is asked.
#[test]
fn a_home_may_acknowledge_while_others_are_not_asked_yet() {
    for (scope, id) in [(Scope::Gpu, "hfence.gpu.SEND.ack"), (Scope::Sys, "hfence.sys.SEND.ack")] {
        let mut rng = SmallRng::seed_from_u64(0);
        let mut world = World::new(unit(1, 4, 1, HMG));
        world.cycle(&Mood::open(), &mut rng);
        world.token(1, scope, false);
        // Of system scope three far drains are asked for first.
        let asked = if scope == Scope::Gpu { 1 } else { 4 };
        while world.counts()[0] < asked {
            world.cycle(&Mood::open(), &mut rng);
        }
        world.cycles(100, &Mood { mute: Some(1), ..Mood::open() }, &mut rng);
        assert_eq!((world.counts()[0], world.ended), (asked, [0, 0]));
        world.cycles(200, &Mood::open(), &mut rng);
        world.assert_idle();
        let mut hits = BTreeMap::new();
        add(&mut hits, covers(&world.nodes[1].sim), 0);
        assert!(hits.contains_key(id), "{id}");
        publish(&format!("hier_fence_asks_{scope:?}").to_lowercase(), &hits);
    }
}

#[test]
fn a_lone_fence_has_the_messages_of_section_6() {
    for (gpus, gpms) in [(4, 4), (2, 3), (1, 4), (4, 1)] {
        let nodes = Nodes { gpus, gpms };
        let (n, m) = (u64::from(gpus * gpms), u64::from(gpms));
        for scope in [Scope::Gpu, Scope::Sys] {
            let mut rng = SmallRng::seed_from_u64(0);
            let mut world = World::new(unit(gpus, gpms, 2, HMG));
            world.cycle(&Mood::open(), &mut rng);
            world.token(nodes.all()[1], scope, false);
            world.cycles(600, &Mood::open(), &mut rng);
            world.assert_idle();
            let other_gpus = u64::from(gpus - 1);
            let passed_on = if m > 1 { n * other_gpus } else { 0 };
            // Each home hears of its receivers, each GPU home of its GPMs, the requester of the other homes.
            let receipts = n * (m - 1 + other_gpus) + passed_on * (m - 1);
            let expected = match scope {
                Scope::Gpu if m == 1 => [0; 4],
                Scope::Gpu => [m - 1, m * (m - 1) + m - 1, m, 0],
                // Before the markers, far drains of the other GPMs.
                Scope::Sys => [m - 1 + n - 1, m - 1 + receipts + n - 1, n, passed_on],
            };
            assert_eq!(world.counts(), expected, "{gpus}x{gpms} {scope:?}");
        }
    }
}

#[test]
fn a_lone_fence_of_flat_directories_has_every_node_marked_by_every_home() {
    for (gpus, gpms) in [(4, 4), (2, 3), (1, 4), (4, 1)] {
        let nodes = Nodes { gpus, gpms };
        let n = u64::from(gpus * gpms);
        let mut rng = SmallRng::seed_from_u64(0);
        let mut world = World::new(unit(gpus, gpms, 2, FLAT));
        world.cycle(&Mood::open(), &mut rng);
        world.token(nodes.all()[1], Scope::Sys, false);
        world.cycles(600, &Mood::open(), &mut rng);
        world.assert_idle();
        assert_eq!(world.counts(), [n - 1, n * (n - 1) + n - 1, n, 0], "{gpus}x{gpms}");
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
    for scheme in [HMG, JOINED, Scheme::SwHierarchical] {
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

/// Adds the rows of an engine's table, with the state to which each leads.
fn add_rows<S: HwEnum, E: HwEnum>(
    rows: &mut BTreeMap<String, &'static str>,
    table: &Transitions<(S, E), S, NoAction>,
) {
    assert_eq!(table.faults(), []);
    for row in table.rows() {
        // A row that leads nowhere keeps its one state.
        let code = row.next.first().unwrap_or(&row.when[0][0]);
        let next = S::VARIANTS.iter().find(|state| state.encoding() == *code).unwrap();
        rows.insert(row.id.clone(), next.label());
    }
}

#[test]
fn tables_equal_the_golden_ones() {
    let schemes = [
        (FenceScheme::Hmg { flush: false }, HMG),
        (FenceScheme::Hmg { flush: true }, FLUSHING),
        (FenceScheme::Joined { flush: false }, JOINED),
        (FenceScheme::Joined { flush: true }, JOINED_FLUSHING),
        (FenceScheme::Flat { flush: false }, FLAT),
        (FenceScheme::Flat { flush: true }, FLAT_FLUSHING),
        (FenceScheme::Drain { flush: false }, Scheme::Drain { flush: false }),
        (FenceScheme::Drain { flush: true }, Scheme::Drain { flush: true }),
        (FenceScheme::SwHierarchical, Scheme::SwHierarchical),
        (FenceScheme::SwFlat, Scheme::SwFlat),
    ];
    for (scheme, golden) in schemes {
        let mut rows = BTreeMap::new();
        scope_tables(scheme).iter().for_each(|table| add_rows(&mut rows, table));
        serve_tables(scheme).iter().for_each(|table| add_rows(&mut rows, table));
        if scheme.markers() {
            add_rows(&mut rows, &mark_table());
        }
        let expected: BTreeMap<String, &str> = rows_of(golden).map(|r| (r.id.to_string(), r.next)).collect();
        assert_eq!(rows, expected, "{scheme:?}");
    }
}

#[test]
fn any_size_elaborates_with_the_counters_of_section_6() {
    for (gpus, gpms) in [(16, 4), (8, 8), (16, 1), (2, 1), (1, 8), (1, 2), (5, 3)] {
        for scheme in [
            FenceScheme::Hmg { flush: true },
            FenceScheme::Flat { flush: true },
            FenceScheme::Drain { flush: true },
            FenceScheme::SwHierarchical,
            FenceScheme::SwFlat,
        ] {
            let sys = module_sys(gpus, gpms, 1);
            let home = *sys.all_nodes().last().unwrap();
            let marks = if gpus == 5 { 1 } else { 4 };
            let p = HierFenceParams { sys, home, scheme, marks, early: false };
            let module = hier_fence_unit(&p).unwrap_or_else(|e| panic!("{gpus}x{gpms} {scheme:?}: {e}"));
            if scheme.markers() {
                let nodes = Nodes { gpus, gpms };
                let bits = |n: u32| (u32::BITS - n.leading_zeros()).max(1);
                let width = |name: &str| module.signals.iter().find(|s| s.name == name).unwrap().width;
                if scheme.gpu_scope() {
                    assert_eq!(width("gpu_acks"), bits(homes(nodes, Scope::Gpu)), "{gpus}x{gpms}");
                }
                assert_eq!(width("sys_acks"), bits(homes(nodes, Scope::Sys)), "{gpus}x{gpms}");
                // Nothing but who waits and who is served is there for each requester.
                let serials = if gpus * gpms == 2 { 2 } else { marks };
                assert_eq!(width("sys_awaited_bit0"), serials, "{gpus}x{gpms}");
                let nodes = gpus * gpms.next_power_of_two();
                assert_eq!((width("sys_receipts"), width("sys_served0")), (nodes * serials, nodes));
                assert!(!module.signals.iter().any(|s| s.name == format!("sys_served{serials}")));
            }
        }
    }
    let mut sys = module_sys(2, 2, 1);
    sys.l2_mshrs = 2;
    let p = HierFenceParams { sys, home: 0, scheme: FenceScheme::SwFlat, marks: 4, early: false };
    let sentence = hier_fence_unit(&p).unwrap_err().to_string();
    assert!(sentence.contains("l2_mshrs = 2; legal: 3 and more, for the order in an answer"), "{sentence}");
    let p = HierFenceParams { sys: module_sys(2, 2, 1), marks: 3, ..p };
    let sentence = hier_fence_unit(&p).unwrap_err().to_string();
    assert!(sentence.contains("marks = 3; legal: 1, 2, 4"), "{sentence}");
}

/// A release of system scope by node 1 of 2x2 nodes. Node 0 has stored to a line that all share, and its Inv reaches node 2, the GPU home, behind node 2's
/// own marker; what node 2 passes on to node 3 stands still.
fn passed_on_late(fault: Option<Fault>) -> (World, SmallRng) {
    let mut rng = SmallRng::seed_from_u64(0);
    let mut world = World::new(unit(2, 2, 1, HMG));
    world.share = 1.0;
    fault.into_iter().for_each(|fault| world.inject(fault));
    let still = Mood { lane: 0.0, ..Mood::open() };
    world.cycle(&still, &mut rng);
    world.write(0, 0, 0);
    world.cycles(10, &still, &mut rng);
    world.token(1, Scope::Sys, false);
    world.cycles(100, &still, &mut rng);
    world.cycles(200, &Mood { held: true, ..Mood::open() }, &mut rng);
    (world, rng)
}

#[test]
fn a_gpu_home_acknowledges_when_its_gpms_have_applied_what_it_passed_on() {
    let (mut world, mut rng) = passed_on_late(None);
    assert_eq!((world.ended, world.counts()[3]), ([0, 0], 4), "all markers are passed on");
    world.cycles(200, &Mood::open(), &mut rng);
    world.assert_idle();
    assert_eq!(world.ended, [0, 1]);
    let text = text_of(|| drop(passed_on_late(Some(Fault::GpuHomeEarly)))).expect("the promise is broken");
    assert!(
        text.contains("release of Sys scope by node 1 ends before write 0 of node 0 has taken effect"),
        "{text}"
    );
}

/// Node 2 releases, and markers for it stand in the lanes; behind that of home 1 come invalidations of a store by node 3, which then releases too. The
/// markers arrive, the invalidations are not applied.
fn asks_late(scheme: Scheme, fault: Option<Fault>) -> (World, SmallRng) {
    let mut rng = SmallRng::seed_from_u64(0);
    let (gpus, scope) = if scheme.gpu_scope() { (1, Scope::Gpu) } else { (2, Scope::Sys) };
    let mut world = World::new(with_marks(1, unit(gpus, 4 / gpus, 1, scheme)));
    world.share = 1.0;
    fault.into_iter().for_each(|fault| world.inject(fault));
    let still = Mood { lane: 0.0, ..Mood::open() };
    world.cycle(&still, &mut rng);
    world.token(2, scope, false);
    world.cycles(60, &still, &mut rng);
    world.write(3, 0, 1);
    world.cycles(20, &still, &mut rng);
    world.token(3, scope, false);
    world.cycles(60, &still, &mut rng);
    world.cycles(200, &Mood { apply: 0.0, ..Mood::open() }, &mut rng);
    (world, rng)
}

#[test]
fn a_release_waits_for_a_marker_that_began_after_it_has_asked() {
    for scheme in [HMG, FLAT] {
        let (mut world, mut rng) = asks_late(scheme, None);
        assert_eq!(world.ended.iter().sum::<u64>(), 1, "{scheme:?}: node 2's release ends, node 3's cannot");
        world.cycles(200, &Mood::open(), &mut rng);
        world.assert_idle();
        assert_eq!(world.ended.iter().sum::<u64>(), 2);
        for fault in [Fault::ServedLate, Fault::MarkerEarly] {
            let seen = text_of(|| drop(asks_late(scheme, Some(fault))));
            let words = "by node 3 ends before write 0 of node 3 has taken effect";
            assert!(seen.as_ref().is_some_and(|s| s.contains(words)), "{fault:?} {scheme:?}: {seen:?}");
        }
    }
}

/// A store of node 0 stands still, a release that covers it begins: node, scope. `fault` is what the banks can answer too early.
fn store_stands(fault: Fault, scheme: Scheme, strikes: bool) -> (World, SmallRng) {
    let mut rng = SmallRng::seed_from_u64(0);
    let mut world = World::new(unit(2, 2, 1, scheme));
    if strikes {
        world.inject(fault);
    }
    let still = Mood { write_moves: 0.0, ..Mood::open() };
    world.cycle(&still, &mut rng);
    let node = match fault {
        // On its way to its home.
        Fault::DrainEarly => {
            world.write(0, 0, 3);
            0
        }
        // On its way from the GPU home, which has acknowledged it.
        Fault::FarDrainEarly => {
            world.write(0, 0, 3);
            world.cycles(10, &Mood { far_blocked: true, ..Mood::open() }, &mut rng);
            0
        }
        // Performed at its home, node 0, which releases what its threads may have read; the directory has not answered.
        _ => {
            world.write(1, 0, 0);
            world.cycle(&Mood::open(), &mut rng);
            0
        }
    };
    world.token(node, Scope::Sys, false);
    world.cycles(300, &still, &mut rng);
    (world, rng)
}

#[test]
fn what_banks_answer_too_early_breaks_a_promise() {
    let cases = [
        (Fault::DrainEarly, HMG),
        (Fault::DrainEarly, FLAT),
        (Fault::DrainEarly, Scheme::SwFlat),
        (Fault::DrainEarly, Scheme::Drain { flush: false }),
        (Fault::DrainEarly, Scheme::SwHierarchical),
        (Fault::DrainEarly, JOINED),
        (Fault::FarDrainEarly, HMG),
        (Fault::FarDrainEarly, JOINED),
        (Fault::FarDrainEarly, Scheme::SwHierarchical),
        (Fault::TokenEarly, JOINED),
        (Fault::TokenEarly, HMG),
        (Fault::TokenEarly, FLAT),
    ];
    for (fault, scheme) in cases {
        let (mut world, mut rng) = store_stands(fault, scheme, false);
        assert_eq!(world.ended, [0, 0], "{fault:?} {scheme:?}: the release waits for the store");
        world.cycles(300, &Mood::open(), &mut rng);
        world.assert_idle();
        assert_eq!(world.ended, [0, 1]);
        let seen = text_of(|| drop(store_stands(fault, scheme, true)));
        let by = u32::from(fault == Fault::TokenEarly);
        let words = format!("ends before write 0 of node {by} has taken effect");
        assert!(seen.as_ref().is_some_and(|s| s.contains(&words)), "{fault:?} {scheme:?}: {seen:?}");
    }
}

/// What the checks say of a run, if they say anything.
fn text_of(run: impl FnOnce() + std::panic::UnwindSafe) -> Option<String> {
    let panic = std::panic::catch_unwind(run).err()?;
    let text = panic.downcast_ref::<String>().cloned();
    Some(text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default())
}

/// What they say of a faulty world, in several runs.
fn outcomes(unit: Unit, fault: Fault) -> Vec<String> {
    let run = |seed| {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut world = World::new(unit);
        world.inject(fault);
        random_cycles(&mut world, 1500, &mut rng);
    };
    (0..4).filter_map(|seed| text_of(|| run(seed))).collect()
}

/// Units that tell a fence complete when it begins, releases and acquires alike.
#[test]
fn fences_told_complete_when_they_begin_are_seen() {
    for scheme in [HMG, JOINED, FLAT, Scheme::SwHierarchical, Scheme::SwFlat] {
        let faulty = Unit { early: true, ..unit(2, 2, 1, scheme) };
        let run = |seed| {
            let mut rng = SmallRng::seed_from_u64(seed);
            random_cycles(&mut World::new(faulty), 1500, &mut rng);
        };
        assert!((0..4).any(|seed| text_of(|| run(seed)).is_some()), "{scheme:?}: nothing is noticed");
    }
}

/// Each is seen by the check that is there for it: by what a release promises, by the golden unit, or because a fence never ends.
#[test]
fn messages_lost_or_out_of_order_are_seen() {
    let promise = "has taken effect";
    let cases = [
        (Fault::AckLost, HMG, "every token is covered"),
        (Fault::AckLost, FLAT, "every token is covered"),
        (Fault::AckLost, JOINED, "every token is covered"),
        (Fault::AckTwice, JOINED, "acknowledge"),
        (Fault::MarkerOvertakes, JOINED, promise),
        (Fault::MarkerEarly, JOINED, promise),
        (Fault::AckTwice, HMG, "acknowledge"),
        (Fault::AckOfAnother, HMG, "acknowledge"),
        (Fault::SerialWrong, HMG, "and had not to"),
        (Fault::AckAstray, HMG, "acknowledge"),
        (Fault::MarkerOvertakes, HMG, promise),
        (Fault::MarkerOvertakes, FLAT, promise),
        (Fault::MarkerEarly, HMG, promise),
    ];
    for (fault, scheme, words) in cases {
        let seen = outcomes(unit(2, 3, 1, scheme), fault);
        assert!(seen.iter().any(|text| text.contains(words)), "{fault:?} with {scheme:?}: {seen:?}");
    }
}
