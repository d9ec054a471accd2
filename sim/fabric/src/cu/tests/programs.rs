//! Every program end to end; skipped ticks, snapshots and tight limits change no result.

use proptest::prelude::*;

use super::*;

/// Programs of every kind of access, in sizes that leave partial waves, work-groups and tiles; all programs run in `weft-workload`'s tests and through
/// `weft run`.
const SMALL: [(&str, &[(&str, &str)]); 6] = [
    ("atax", &[("rows", "75"), ("columns", "45")]),
    ("fir", &[("samples", "1001"), ("blocks", "3")]),
    ("gemv", &[("n", "71")]),
    ("pagerank", &[("source", "karate"), ("iterations", "5")]),
    ("stencil", &[("n", "70"), ("iterations", "3")]),
    ("transpose", &[("rows", "70"), ("columns", "37")]),
];

fn make(name: &str, list: &[(&str, &str)], lanes: u32) -> Arc<dyn Program> {
    let mut settings: BTreeMap<String, String> =
        list.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    settings.insert("lanes".to_owned(), lanes.to_string());
    Arc::from(weft_workload::build(name, &settings, None).unwrap_or_else(|e| panic!("{e}")))
}

/// Runs and verifies; the bench holds what happened.
fn check(params: &CuParams, program: &Arc<dyn Program>, port: Port, skip: bool) -> Bench {
    let mut bench = Bench::new(params, Arc::clone(program), port, skip);
    bench.run().unwrap_or_else(|e| panic!("{e}"));
    let memory = &bench.memory;
    program.verify(&|addr, count| memory.read(addr, count)).unwrap_or_else(|e| panic!("{e}"));
    let c = bench.cu.counters();
    assert_eq!((bench.watch.loads, bench.watch.stores), (c.load_lines, c.store_lines));
    assert_eq!(c.served, [0, 0, 0, c.load_lines, 0, 0, 0, 0]);
    assert!(bench.cu.outstanding() == 0 && bench.cu.open_accesses().next().is_none());
    bench
}

#[test]
fn small_programs_verify_for_every_width() {
    for (at, (name, list)) in SMALL.into_iter().enumerate() {
        for lanes in [7, 16, 64] {
            let program = make(name, list, lanes);
            check(&CuParams::default(), &program, Port::wild(at as u64 + u64::from(lanes)), true);
        }
    }
}

#[test]
fn line_accesses_are_those_of_the_ideal_machine() {
    for (name, list) in SMALL {
        let program = make(name, list, 64);
        let ideal = weft_workload::ideal::run(&*program, weft_workload::ideal::Order::Forward).expect("runs");
        let bench = check(&CuParams::default(), &program, Port::FAST, true);
        let c = bench.cu.counters();
        assert_eq!((c.load_lines, c.store_lines), (ideal.stats.load_lines, ideal.stats.store_lines));
        assert_eq!(c.lds_ops, ideal.stats.lds_operations);
        assert_eq!(c.instructions, ideal.stats.operations);
    }
}

#[test]
fn tightest_limits_do_not_deadlock() {
    let tight = CuParams { wave_mem: 1, lsu_depth: 1, refill: 0, starve: Some(16), ..CuParams::default() };
    for (name, list) in SMALL {
        for policy in [CuPolicy::Oldest, CuPolicy::Gto, CuPolicy::RoundRobin] {
            let program = make(name, list, 16);
            check(&CuParams { policy, ..tight.clone() }, &program, Port::wild(5), true);
        }
    }
}

#[test]
fn wide_and_fast_units_verify() {
    let wide =
        CuParams { lsu_rate: 4, lsu_depth: 16, line: 128, issue_slots: 8, launch: 0, ..CuParams::default() };
    for (name, list) in SMALL {
        check(&wide, &make(name, list, 32), Port::wild(8), true);
    }
}

#[test]
fn skipped_ticks_change_nothing() {
    for (at, (name, list)) in SMALL.into_iter().enumerate() {
        let program = make(name, list, 64);
        let pace = [Pace::default(), Pace { ticks: 7, cycles: 20 }][at % 2];
        let params = CuParams { pace, ..CuParams::default() };
        let every = check(&params, &program, Port::wild(at as u64), false);
        let skip = check(&params, &program, Port::wild(at as u64), true);
        assert_eq!(every.now, skip.now, "{name}");
        assert!(every.events == skip.events, "{name}");
        assert_eq!((every.cu.counters(), &every.watch), (skip.cu.counters(), &skip.watch));
        assert!(skip.ticks < every.ticks, "{name}: {} of {}", skip.ticks, every.ticks);
        assert_eq!(every.cu.save(), skip.cu.save());
        assert_eq!(every.stalls, skip.stalls, "{name}");
    }
}

/// A unit with a tick in 7 of 20 cycles does the same, later: at a memory that answers in no time, by that ratio.
#[test]
fn a_slower_unit_does_the_same() {
    for (name, list) in SMALL {
        let program = make(name, list, 32);
        let slow = CuParams { pace: Pace { ticks: 7, cycles: 20 }, ..CuParams::default() };
        let [fast, slow] =
            [CuParams::default(), slow].map(|params| check(&params, &program, Port::FAST, true));
        let counts = |bench: &Bench| {
            let c = bench.cu.counters();
            (c.instructions, c.load_lines, c.store_lines, c.lds_ops)
        };
        assert_eq!(counts(&fast), counts(&slow), "{name}");
        let ratio = slow.now as f64 / fast.now as f64;
        assert!((2.3..=20.0 / 7.0 + 0.1).contains(&ratio), "{name}: {ratio}");
    }
}

#[test]
fn a_tick_before_the_next_event_changes_no_bit() {
    let program = make("stencil", &[("n", "20"), ("iterations", "2")], 16);
    let params = CuParams { waves: 20, ..CuParams::default() };
    let mut bench = Bench::new(&params, Arc::clone(&program), Port::wild(2), false);
    bench.cu = bench.cu.inspecting(false);
    let Some(HostStep::Launch(kernel)) = program.host_step(0, &|_, n| vec![0; n]) else { panic!("a launch") };
    bench.cu.begin_kernel(0, 0);
    let (mut next, mut quiet) = (0, 0);
    let kernel = Arc::new(kernel);
    assert!(params.capacity(&kernel) > 0);
    while !(next == kernel.blocks && bench.cu.idle()) {
        if bench.cu.kbegin_done() && next < kernel.blocks && bench.cu.has_room(&kernel) {
            bench.cu.launch(&kernel, next, u64::from(next), bench.now).expect("fits");
            next += 1;
        }
        let before = bench.now;
        bench.skip = true;
        bench.tick().expect("runs");
        bench.skip = false;
        if bench.cu.next_event(before + 1) != Some(before + 1) {
            let state = bench.cu.save();
            bench.cu.tick(before + 1, &|addr| addr, &mut NoObserver).expect("runs");
            assert_eq!(bench.cu.save(), state, "tick {}", before + 1);
            quiet += 1;
        }
        bench.now += 1;
    }
    assert!(quiet > 100, "{quiet}");
}

#[test]
fn a_restored_compute_unit_goes_on_as_if_nothing_had_happened() {
    for (name, list) in SMALL {
        let program = make(name, list, 32);
        let straight = check(&CuParams::default(), &program, Port::wild(4), true);
        for share in [3, 2] {
            let mut again = Bench::new(&CuParams::default(), Arc::clone(&program), Port::wild(4), false);
            again.restore_at = Some(straight.now / share);
            again.run().expect("runs");
            assert!(straight.events == again.events, "{name}");
            assert_eq!(straight.cu.save(), again.cu.save());
            assert_eq!(straight.stalls, again.stalls, "{name}");
        }
    }
}

#[test]
fn all_models_compute_the_same() {
    for model in [Model::Sc, Model::Drf0, Model::Drf1, Model::Drfrlx] {
        for scopes in [false, true] {
            let program = make("fir", &[("samples", "500"), ("blocks", "2")], 16);
            let mode = CuMode { model, scopes, ..CuMode::default() };
            let mut bench =
                Bench::new(&CuParams::default(), Arc::clone(&program), Port::wild(6), true).with_mode(mode);
            bench.run().expect("runs");
            let memory = &bench.memory;
            program
                .verify(&|addr, count| memory.read(addr, count))
                .unwrap_or_else(|e| panic!("{model:?} {e}"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_compute_unit_verifies_and_skips_exactly(
        which in 0..6usize, seed in 0..1000u64, waves in 8..64u32, slots in 1..9u32, policy in 0..3usize, rate in 1..5u32,
        depth in 1..17u32, refill in 0..4u32, wave_mem in 1..20u32, lanes in 16..=64u32, wide: bool,
    ) {
        let policy = [CuPolicy::Oldest, CuPolicy::Gto, CuPolicy::RoundRobin][policy];
        let params = CuParams {
            waves: waves.max(256u32.div_ceil(lanes)), issue_slots: slots, policy, lsu_rate: rate, lsu_depth: depth, refill, wave_mem,
            line: if wide { 128 } else { 64 }, starve: (seed % 3 > 0).then_some(16 + seed as u32), ..CuParams::default()
        };
        let (name, list) = SMALL[which];
        let program = make(name, list, lanes);
        let every = check(&params, &program, Port::wild(seed), false);
        let skip = check(&params, &program, Port::wild(seed), true);
        prop_assert!(every.events == skip.events && every.cu.save() == skip.cu.save());
        prop_assert_eq!(every.stalls, skip.stalls);
        let mut off = Bench::new(&params, program, Port::wild(seed), true);
        off.cu = off.cu.inspecting(false);
        off.run().expect("runs");
        prop_assert!(off.events == skip.events && off.now == skip.now && off.stalls == GsiCounts::default());
    }
}
