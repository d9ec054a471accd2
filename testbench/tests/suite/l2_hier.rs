//! `l2-bank` in a hierarchy against the golden line models with data (hmg.md section 5): home lines, lines whose GPU home it is, lines that other GPMs
//! serve; requests of L1s, of other GPMs, of other GPUs, of all scopes; drains of both sorts, tokens, Invs passed on, copies dropped.

#[allow(dead_code)] // The bench serves two tests.
use crate::l2_bench;

use l2_bench::{Bench, Role, Seen};
use weft_blocks::cache::l2::{Caching, L2Params};
use weft_blocks::msg::Sys;
use weft_rtl::transitions::{Columns, Transitions};
use weft_rtl::value::HwEnum;
use weft_testbench::golden::l2::held_table::{GPU_HOME_HELD, REQUESTER_HELD};

/// A bank of GPU 1, GPM 0 (of 2x2 nodes) or GPM 1.
fn small(gpus: u32, gpms: u32) -> L2Params {
    let sys = Sys {
        gpus,
        gpms,
        addr_bits: 40,
        line: 64,
        banks: 4,
        l1s: 4,
        l2_mshrs: 8,
        l1_mshrs: 8,
        il: 256,
        home_shift: 30,
        owners: false,
    };
    L2Params {
        home: sys.node(1, u32::from(gpms > 2)),
        sys,
        sets: 2,
        ways: 4,
        pool: 24,
        caching: Caching::L1L2,
        dir: true,
        group: 4,
        hier: true,
        scoped: false,
        drops: false,
        drops_all: false,
        downgrade: false,
        write_back: false,
        acks: false,
    }
}

fn run(p: &L2Params, seed: u64, cycles: u64, seen: &mut Seen) -> Bench {
    let mut bench = Bench::new(p, seed);
    bench.run(cycles);
    bench.drain();
    bench.collect(seen);
    assert!(bench.answered > cycles / 20, "only {} answers", bench.answered);
    bench
}

/// Rows and races of banks that hold stores.
fn is_of_write_back(id: &str) -> bool {
    let races = ["held_store_makes_room", "own_bytes_before_request", "release_passes_far_walk"];
    let row =
        REQUESTER_HELD.iter().map(|r| r.id).chain(GPU_HOME_HELD.iter().map(|r| r.id)).any(|row| row == id);
    row || id.strip_prefix("hmg.race.").is_some_and(|race| races.contains(&race))
}

#[test]
fn every_row_and_race_of_a_hierarchy_is_hit() {
    let mut seen = Seen::default();
    let (mut tokens, mut fences) = ([0; 3], [0; 3]);
    for seed in 0..10 {
        let bench = run(&small(2, 2), seed, 6_000, &mut seen);
        tokens = std::array::from_fn(|i| tokens[i] + bench.tokens[i]);
        fences = std::array::from_fn(|i| fences[i] + bench.fences[i]);
    }
    for seed in 20..25 {
        run(&small(4, 4), seed, 6_000, &mut seen);
    }
    let drops = L2Params { dir: false, drops: true, sets: 8, ways: 2, ..small(4, 4) };
    for seed in 30..34 {
        let bench = run(&drops, seed, 6_000, &mut seen);
        assert!(bench.fences[2] > 3, "only {} drops", bench.fences[2]);
    }
    for seed in 34..37 {
        let bench = run(&L2Params { drops_all: true, ..drops.clone() }, seed, 6_000, &mut seen);
        assert!(bench.fences[2] > 3, "only {} drops", bench.fences[2]);
    }
    assert!(tokens.iter().all(|n| *n > 20), "tokens of fence markers: {tokens:?}");
    assert!(fences[0] > 5 && fences[1] > 50, "drains beside writes to other GPUs, far drains: {fences:?}");
    let hier = |id: &str| id.starts_with("l2gpu.") || id.starts_with("hmg.") || id.ends_with(".load_forced");
    let hier = |id: &str| hier(id) && !id.starts_with("hmg.race.down_") && !is_of_write_back(id);
    seen.assert_all("l2_hier::every_row_and_race_of_a_hierarchy_is_hit", hier);
}

#[test]
fn groups_given_up_are_told_and_no_others() {
    let (mut seen, mut downs) = (Seen::default(), [0; 2]);
    let base = L2Params { downgrade: true, sets: 4, ways: 2, ..small(2, 2) };
    let shapes =
        [base.clone(), L2Params { downgrade: true, ..small(4, 2) }, L2Params { group: 1, ..base.clone() }];
    for (seed, p) in (120..).zip(shapes.iter().chain([&base])) {
        let bench = run(p, seed, 6_000, &mut seen);
        downs = [downs[0] + bench.downs[0], downs[1] + bench.downs[1]];
    }
    assert!(downs[0] > 50 && downs[1] > 20, "Downs to GPU homes and to other GPUs: {downs:?}");
    let of = |id: &str| id.starts_with("hmg.race.down_");
    seen.assert_all("l2_hier::groups_given_up_are_told_and_no_others", of);
}

#[test]
fn stores_stay_behind_and_every_row_of_that_is_hit() {
    let (mut seen, mut gone) = (Seen::default(), [0; 2]);
    let base = L2Params { write_back: true, ..small(2, 2) };
    let shapes = [
        base.clone(),
        L2Params { ways: 8, ..base.clone() },
        L2Params { write_back: true, ..small(4, 4) },
        L2Params { downgrade: true, ..base.clone() },
        L2Params { dir: false, drops: true, sets: 4, ..base.clone() },
    ];
    for (seed, p) in (130..).zip(shapes.iter().chain(&shapes)) {
        let bench = run(p, seed, 5_000, &mut seen);
        gone = [gone[0] + bench.wrote_on[0], gone[1] + bench.wrote_on[1]];
    }
    let all = L2Params { dir: false, drops: true, drops_all: true, sets: 4, ..base.clone() };
    run(&all, 150, 5_000, &mut seen);
    // Nothing but lines of other GPMs, and nothing but lines of other GPUs.
    for (seed, role) in [(140, Role::Leaf), (141, Role::GpuHome)] {
        let mut bench = Bench::new(&base, seed);
        bench.local_roles = vec![role];
        bench.press(3_000, [0.6, 0.8, 1.0]);
        bench.drain();
        bench.collect(&mut seen);
        gone = [gone[0] + bench.wrote_on[0], gone[1] + bench.wrote_on[1]];
    }
    assert!(gone[0] > 100 && gone[1] > 300, "lines written on to GPU homes and to other GPUs: {gone:?}");
    seen.assert_all("l2_hier::stores_stay_behind_and_every_row_of_that_is_hit", is_of_write_back);
}

#[test]
fn other_numbers_of_nodes_and_lines() {
    let mut seen = Seen::default();
    let mut long = small(2, 4);
    long.sys.line = 128;
    long.sys.il = 512;
    long.sys.l2_mshrs = 4;
    run(&L2Params { sets: 3, pool: 8, group: 2, ..long }, 40, 4_000, &mut seen);
    // Every GPU is one node: nobody is a leaf. One GPU: nothing is passed on.
    run(&L2Params { group: 1, ..small(4, 1) }, 41, 4_000, &mut seen);
    let alone = L2Params { home: 2, ..small(1, 4) };
    run(&alone, 42, 4_000, &mut seen);
    let mut eight = L2Params { group: 8, drops: true, sets: 6, ..small(2, 2) };
    eight.sys.il = 512;
    run(&eight, 43, 4_000, &mut seen);
}

#[test]
fn lines_of_other_gpus_are_kept_nowhere_with_own_gpu() {
    let mut seen = Seen::default();
    let base = L2Params { caching: Caching::OwnGpu, ..small(2, 2) };
    run(&base, 50, 4_000, &mut seen);
    let flat = L2Params { hier: false, scoped: true, drops: true, dir: false, ..base };
    for seed in 51..54 {
        let bench = run(&flat, seed, 6_000, &mut seen);
        assert!(bench.fences[2] > 3, "only {} drops", bench.fences[2]);
    }
}

#[test]
fn flat_banks_with_scopes_and_drops() {
    let mut seen = Seen::default();
    for (seed, dir, sets) in [(60, true, 2), (61, false, 12), (62, false, 16)] {
        let p = L2Params { hier: false, scoped: true, drops: true, dir, sets, ..small(2, 2) };
        run(&p, seed, 5_000, &mut seen);
        run(&L2Params { drops_all: true, ..p }, seed + 3, 5_000, &mut seen);
    }
}

/// Where invalidations are acknowledged the answers to reads of other nodes wait for the directory, and drains for all writes under way.
#[test]
fn flat_banks_whose_directories_await_acknowledgements() {
    let (mut seen, mut behind) = (Seen::default(), [0; 2]);
    let flat = L2Params { hier: false, scoped: true, acks: true, ..small(2, 2) };
    for (seed, p) in [
        (70, flat.clone()),
        (71, L2Params { group: 1, sets: 6, ..flat.clone() }),
        (72, L2Params { scoped: false, ways: 2, ..small(3, 1) }),
        (73, L2Params { pool: 6, ..flat }),
    ] {
        let p = L2Params { hier: false, acks: true, ..p };
        let bench = run(&p, seed, 6_000, &mut seen);
        behind = std::array::from_fn(|i| behind[i] + bench.behind[i]);
    }
    assert!(behind[0] > 500 && behind[1] > 3, "{behind:?} reads behind the directory, drains behind stores");
    seen.assert_all("l2_hier::flat_banks_whose_directories_await_acknowledgements", |id| {
        id.starts_with("gpu_vi.")
    });
}

/// Answers of a queue to requests for lines of a role.
fn of(served: &l2_bench::Served, queue: &'static str, role: Role) -> u64 {
    served.get(&(queue, role)).copied().unwrap_or(0)
}

/// A bank whose queues were full of everything with some outputs blocked: what it still answers.
fn blocked(p: &L2Params, outputs: &[&'static str], local: &[Role], seed: u64) -> l2_bench::Served {
    let mut bench = Bench::new(p, seed);
    bench.press(300, [0.5, 0.5, 1.0]);
    bench.local_roles = local.to_vec();
    bench.blocked = outputs.to_vec();
    bench.press(2_000, [0.5, 0.5, 1.0]);
    let served = bench.press(1_000, [0.5, 0.5, 1.0]);
    // Nothing was lost: with the outputs free again everything ends.
    bench.blocked.clear();
    bench.drain();
    served
}

fn sizes() -> Vec<L2Params> {
    let mut few = small(4, 4);
    few.sys.l2_mshrs = 4;
    few.pool = 8;
    let back = L2Params { write_back: true, ..few.clone() };
    vec![small(2, 2), small(4, 4), few, back]
}

const ALL: [Role; 3] = [Role::Home, Role::GpuHome, Role::Leaf];

#[test]
fn other_gpus_are_served_at_home_while_both_request_outputs_are_blocked() {
    for (seed, p) in sizes().iter().enumerate() {
        for outputs in [&["req_out", "far_out"][..], &["req_out"], &["far_out"]] {
            let served = blocked(p, outputs, &ALL, 70 + seed as u64);
            assert!(of(&served, "far", Role::Home) > 60, "{outputs:?} of {p:?}: {served:?}");
        }
    }
}

#[test]
fn other_gpms_are_served_while_the_output_to_other_gpms_is_blocked() {
    for (seed, p) in sizes().iter().enumerate() {
        let served = blocked(p, &["req_out"], &ALL, 80 + seed as u64);
        for role in [Role::Home, Role::GpuHome] {
            assert!(of(&served, "remote", role) > 20, "{role:?} of {p:?}: {served:?}");
        }
    }
}

#[test]
fn lines_of_other_gpms_are_served_while_the_output_to_other_gpus_is_blocked() {
    for (seed, p) in sizes().iter().enumerate() {
        let mut bench = Bench::new(p, 90 + seed as u64);
        bench.local_roles = vec![Role::Leaf];
        bench.blocked = vec!["far_out"];
        bench.press(2_000, [0.5, 0.5, 1.0]);
        let served = bench.press(1_000, [0.5, 0.5, 1.0]);
        assert!(of(&served, "local", Role::Leaf) > 30, "{p:?}: {served:?}");
        bench.blocked.clear();
        bench.drain();
    }
}

#[test]
fn invs_of_this_gpu_pass_invs_that_wait_to_be_passed_on() {
    for (seed, p) in [small(2, 2), small(4, 4)].iter().enumerate() {
        let served = blocked(p, &["recv_out"], &ALL, 100 + seed as u64);
        assert_eq!(of(&served, "inv", Role::GpuHome), 0, "{served:?}");
        assert!(of(&served, "inv", Role::Leaf) > 50, "{p:?}: {served:?}");
    }
}

#[test]
fn a_drain_of_gpu_scope_waits_for_no_other_gpu() {
    for (seed, p) in sizes().iter().enumerate() {
        let mut bench = Bench::new(p, 110 + seed as u64);
        // Stores only, and no answer of another GPU.
        bench.press(4_000, [0.0, 1.0, 0.0]);
        assert!(bench.fences[0] > 2, "{p:?}: {:?}", bench.fences);
        assert!(bench.fences[1] <= 1, "a far drain waits for them: {:?}", bench.fences);
        bench.drain();
    }
}

/// Identifiers of a table's rows, sorted.
fn rows<C: Columns, S: HwEnum, A: HwEnum>(table: &Transitions<C, S, A>) -> Vec<String> {
    let mut ids: Vec<String> = table.rows().iter().map(|row| row.id.clone()).collect();
    ids.sort();
    ids
}

#[test]
fn the_tables_have_the_rows_of_the_specification() {
    use weft_blocks::cache::l2::tables;
    use weft_testbench::golden::l2::hier_table::{FORCED, GPU_HOME, GpuEvent};
    use weft_testbench::golden::l2::table::{Legality, REQUESTER, ReqEvent};
    let requester = |holds| rows(&tables::requester(true, holds));
    let gpu_home = |holds| rows(&tables::gpu_home(holds));
    let sorted = |ids: Vec<&str>| {
        let mut ids: Vec<String> = ids.into_iter().map(String::from).collect();
        ids.sort();
        ids
    };
    let legal = GPU_HOME.iter().filter(|r| r.legality == Legality::Legal && r.event != GpuEvent::Victim);
    assert_eq!(gpu_home(false), sorted(legal.map(|r| r.id).collect()));
    let flat = REQUESTER.iter().filter(|r| r.legality == Legality::Legal && r.event != ReqEvent::Victim);
    assert_eq!(requester(false), sorted(flat.chain(&FORCED).map(|r| r.id).collect()));
    // With write-back both tables have further rows; what a walk or a displaced line does is no request.
    let requests = |ids: Vec<&'static str>| ids.into_iter().filter(|id| !id.ends_with(".write_on"));
    let held: Vec<&str> = REQUESTER_HELD.iter().map(|r| r.id).collect();
    let mut all = requester(false);
    all.extend(requests(held).map(String::from));
    all.sort();
    assert_eq!(requester(true), all);
    let held: Vec<&str> = GPU_HOME_HELD.iter().map(|r| r.id).collect();
    let mut all = gpu_home(false);
    all.extend(requests(held).map(String::from));
    all.sort();
    assert_eq!(gpu_home(true), all);
}
