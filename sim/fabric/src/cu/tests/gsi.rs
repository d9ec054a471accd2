//! Every class and subclass of stall inspection, to the tick.

use proptest::prelude::*;
use weft_workload::{Class, LdsAccess, Scope, Sem, Values};

use super::*;

/// Ticks from the launch to a wave's first operation, all *control*.
const LAUNCH: u64 = 10;

/// The first tick in which a wave can issue: KBEGIN takes two, the launch the rest.
const FIRST: u64 = 2 + LAUNCH;

/// Columns that are not 0, without the sum.
fn shown(counts: &GsiCounts) -> Vec<(&'static str, u64)> {
    let names = GSI_COLUMNS.iter().map(|(name, _)| *name);
    names.zip(counts.values()).skip(1).filter(|(_, value)| *value > 0).collect()
}

/// A bench on which one wave makes each of the steps in turn.
fn steps(list: Vec<Vec<Op>>) -> Bench {
    let script =
        Script { lds: 64 * 128, ..Script::of(64, 1, move |frame, _| list[frame.pc as usize - 1].clone()) };
    script.bench(&CuParams { lsu_depth: 1, ..CuParams::default() }, Port::FAST)
}

/// Ends a run; what it shows beside the ticks of its launch, its kernel's begin and end, and the issue of END.
fn finish(mut bench: Bench) -> Vec<(&'static str, u64)> {
    bench.run().expect("runs");
    let around = [("control", LAUNCH), ("idle", 4), ("kernel_flush", 1), ("no_stall", 1)];
    let less = |(name, value): (&'static str, u64)| {
        let known = around.iter().find(|(other, _)| *other == name);
        (name, value - known.map_or(0, |(_, ticks)| *ticks))
    };
    shown(&bench.stalls).into_iter().map(less).filter(|(_, value)| *value > 0).collect()
}

/// Twenty ticks more for answers with data.
fn slow(access: &LineAccess) -> u64 {
    if matches!(access.op, CuOp::Ld | CuOp::Amo) { 20 } else { 0 }
}

fn awaits(token: u32) -> Op {
    Op::Await { tokens: vec![token] }
}

fn lds(token: u32, stride: i64) -> Op {
    Op::LdsLoad {
        token,
        access: LdsAccess { size: 4, addrs: Addrs::Strided { base: 0, stride }, mask: u64::MAX },
    }
}

#[test]
fn a_wave_that_only_ends_leaves_launch_begin_and_end() {
    let mut bench = steps(vec![vec![Op::End]]);
    bench.run().expect("runs");
    assert_eq!(bench.stalls.ticks, 15);
    assert_eq!(shown(&bench.stalls), [("no_stall", 1), ("control", 10), ("idle", 4), ("kernel_flush", 1)]);
}

#[test]
fn compute_stalls_and_refill() {
    let ops = vec![
        compute(20, 1, vec![], Some(0)),
        compute(1, 9, vec![0], None),
        compute(1, 1, vec![], None),
        Op::End,
    ];
    let found = finish(steps(vec![ops]));
    assert_eq!(found, [("no_stall", 3), ("compute_structural", 8), ("compute_data", 19)]);
    let found = finish(steps(vec![vec![Op::Await { tokens: vec![] }], vec![Op::End]]));
    assert_eq!(found, [("no_stall", 1), ("control", 2)], "two ticks of refill");
}

#[test]
fn a_load_is_blamed_on_who_serves_it() {
    let run = |served: fn(&LineAccess) -> (u8, bool)| {
        let mut bench = steps(vec![vec![load(0, 0), awaits(0)], vec![Op::End]]);
        (bench.served, bench.delay) = (served, slow);
        let found = finish(bench);
        assert_eq!(found[..3], [("no_stall", 2), ("memory_data", 21), ("control", 2)]);
        found[3..].to_vec()
    };
    assert_eq!(run(|_| (0, false)), [("memory_data.l1", 21)]);
    assert_eq!(run(|_| (1, false)), [("memory_data.l2", 21)]);
    assert_eq!(run(|_| (2, false)), [("memory_data.remote_l1", 21)]);
    assert_eq!(run(|_| (3, false)), [("memory_data.memory", 21)]);
    assert_eq!(run(|_| (4, false)), [("memory_data.l2", 21), ("memory_data.far_l2", 21)]);
    assert_eq!(run(|_| (5, false)), [("memory_data.memory", 21), ("memory_data.far_memory", 21)]);
    assert_eq!(run(|_| (6, false)), [("memory_data.l2", 21)]);
    assert_eq!(run(|_| (7, false)), [("memory_data.memory", 21)]);
    assert_eq!(run(|_| (0, true)), [("memory_data.coalescing", 21)]);
    assert_eq!(run(|_| (5, true)), [("memory_data.coalescing", 21)]);
}

#[test]
#[should_panic(expected = "the subclasses of memory data stalls sum to 0 and not to their class, 21")]
fn a_server_that_there_is_not_breaks_the_sum() {
    let mut bench = steps(vec![vec![load(0, 0), awaits(0)], vec![Op::End]]);
    (bench.served, bench.delay) = (|_: &LineAccess| (8, false), slow);
    finish(bench);
}

/// Line 0 is served by memory, line 1 by the L2.
fn by_line(access: &LineAccess) -> (u8, bool) {
    (if access.line == OFFSET / 64 { 3 } else { 1 }, false)
}

#[test]
fn the_oldest_unanswered_load_that_is_needed_takes_the_blame() {
    let run = |needs: Vec<u32>, delay: fn(&LineAccess) -> u64| {
        let mut bench =
            steps(vec![vec![load(0, 0), load(1, 64), Op::Await { tokens: needs }], vec![Op::End]]);
        (bench.served, bench.delay) = (by_line, delay);
        finish(bench)[3..].to_vec()
    };
    let first = |a: &LineAccess| if a.line == OFFSET / 64 { 40 } else { slow(a) };
    let second = |a: &LineAccess| if a.line == OFFSET / 64 + 1 { 40 } else { slow(a) };
    assert_eq!(run(vec![1, 0], first), [("memory_data.memory", 40)], "not the one named first");
    assert_eq!(run(vec![0, 1], second), [("memory_data.l2", 21), ("memory_data.memory", 20)]);
    // Only what is needed; then END waits for the rest.
    assert_eq!(run(vec![1], first), [("memory_data.l2", 21), ("memory_data.memory", 16)]);
}

#[test]
fn the_oldest_wave_of_the_class_takes_the_blame() {
    let script = Script::of(64, 2, |frame, _| match frame.pc {
        1 => vec![load(0, 64 * u64::from(frame.wave)), awaits(0)],
        _ => vec![Op::End],
    });
    let mut bench = script.bench(&CuParams::default(), Port::FAST);
    (bench.served, bench.delay) =
        (by_line, |a: &LineAccess| if a.line == OFFSET / 64 + 1 { 40 } else { slow(a) });
    // Wave 0 is answered in FIRST + 22, is refilled for two ticks and ends; wave 1 is answered in FIRST + 43.
    let found = finish(bench);
    assert_eq!(found[..2], [("no_stall", 4), ("memory_data", 21 + 2 + 17)]);
    let mut last = found[found.len() - 2..].to_vec();
    last.sort();
    assert_eq!(last, [("memory_data.l2", 19), ("memory_data.memory", 21)]);
}

#[test]
fn the_last_line_of_a_load_decides() {
    let two = Access::data(4, Addrs::Strided { base: 0, stride: 64 }, 3);
    let mut bench = steps(vec![vec![Op::Load { token: 0, access: two }, awaits(0)], vec![Op::End]]);
    (bench.served, bench.delay) =
        (by_line, |a: &LineAccess| if a.line == OFFSET / 64 { 40 } else { slow(a) });
    assert_eq!(finish(bench)[3..], [("memory_data.memory", 41)]);
}

#[test]
fn scratchpad_passes_are_a_bank_conflict_and_its_results_come_from_the_l1() {
    let found = finish(steps(vec![vec![lds(0, 128), awaits(0)], vec![Op::End]]));
    assert_eq!(found[1], ("memory_data", 63));
    assert_eq!(found[3..], [("memory_data.l1", 63)]);
    let found = finish(steps(vec![vec![lds(0, 128), lds(1, 0), Op::End]]));
    assert_eq!(found[1], ("memory_structural", 63));
    assert!(found.contains(&("memory_structural.bank", 63)));
}

#[test]
fn further_lines_of_an_earlier_instruction_are_a_bank_conflict() {
    let wide = Access::data(4, Addrs::Strided { base: 0, stride: 64 }, u64::MAX);
    let ops = vec![Op::Store { access: wide, values: Values::Const(1) }, store(8, 1), Op::End];
    let found = finish(steps(vec![ops]));
    assert_eq!(found, [("no_stall", 2), ("memory_structural", 63), ("memory_structural.bank", 63)]);
}

#[test]
fn the_bound_on_a_waves_accesses_is_other() {
    let two = Access::data(4, Addrs::Strided { base: 0, stride: 64 }, 3);
    let ops = vec![Op::Load { token: 0, access: two }, load(1, 256), awaits(1)];
    let mut bench = steps(vec![ops, vec![Op::End]]);
    bench.cu.params.wave_mem = 1;
    bench.delay = slow;
    let found = finish(bench);
    let of = |name| found.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
    assert_eq!(of("memory_structural.other"), Some(21), "until the first line is answered");
    assert_eq!(of("memory_structural.bank"), Some(1), "then the second one goes");
}

const REASONS: [(u64, &str); 6] = [
    (1, "memory_structural.mshr"),
    (2, "memory_structural.store_buffer"),
    (3, "memory_structural.bank"),
    (4, "memory_structural.release"),
    (5, "memory_structural.dma"),
    (6, "memory_structural.other"),
];

#[test]
fn an_l1_that_takes_nothing_says_why() {
    for (stall, name) in REASONS {
        // The second store waits in the unit behind the first at the port, the third for the unit: nine ticks for the port, one for the unit.
        let mut bench = steps(vec![vec![store(0, 1), store(64, 1), store(128, 1), Op::End]]);
        (bench.shut, bench.refusal) = (FIRST + 1..FIRST + 11, Structural::of_status(stall));
        let found = finish(bench);
        assert_eq!(found[..2], [("no_stall", 3), ("memory_structural", 10)]);
        let rest: BTreeMap<_, _> = found[2..].iter().copied().collect();
        let bank = if stall == 3 { 10 } else { 1 };
        assert_eq!(
            (rest.get("memory_structural.bank"), rest[name]),
            (Some(&bank), if stall == 3 { 10 } else { 9 })
        );
    }
    assert_eq!(Structural::of_status(0), Structural::Other, "an L1 that does not say why");
}

#[test]
fn end_waits_for_its_stores() {
    let mut bench = steps(vec![vec![store(0, 1), Op::End]]);
    (bench.shut, bench.refusal) = (FIRST + 1..FIRST + 11, Structural::StoreBuffer);
    let store_buffer = [("no_stall", 1), ("memory_structural", 10), ("memory_structural.store_buffer", 10)];
    assert_eq!(finish(bench), store_buffer);
    let mut bench =
        steps(vec![vec![store(0, 1), Op::End]]).with_mode(CuMode { acks: true, ..CuMode::default() });
    bench.delay = |a| if a.op == CuOp::St { 20 } else { 0 };
    let other = [("no_stall", 1), ("memory_structural", 21), ("memory_structural.other", 21)];
    assert_eq!(finish(bench), other, "an acknowledgement awaited");
    let mut bench = steps(vec![vec![load(0, 0), Op::End]]);
    bench.delay = slow;
    assert_eq!(finish(bench), [("no_stall", 1), ("memory_data", 21), ("memory_data.memory", 21)]);
}

#[test]
fn the_same_word_rule_waits_for_an_access() {
    let mut bench = steps(vec![vec![load(0, 0), store(0, 1), Op::End]]);
    bench.delay = slow;
    assert_eq!(finish(bench), [("no_stall", 2), ("memory_data", 21), ("memory_data.memory", 21)]);
    let mut bench = steps(vec![vec![store(0, 1), load(0, 0), Op::End]]);
    (bench.shut, bench.refusal) = (FIRST + 1..FIRST + 11, Structural::Release);
    let found = finish(bench);
    assert_eq!(found[..2], [("no_stall", 2), ("memory_structural", 10)]);
    assert!(found.contains(&("memory_structural.release", 10)));
}

#[test]
fn acquires_releases_fences_and_the_order_of_atomics_are_synchronization() {
    let class = |class, op: fn(Access) -> Op| op(Access { class, ..one(0) });
    let paired = class(Class::P, |access| Op::Load { token: 0, access });
    let mut bench = steps(vec![vec![paired, awaits(0)], vec![Op::End]]);
    bench.delay = slow;
    let found = finish(bench);
    assert_eq!(
        found,
        [("no_stall", 3), ("synchronization", 22), ("control", 2)],
        "the load, then its acquire"
    );
    let unpaired = |addr| add(addr as u32, Access { class: Class::U, ..one(addr) }, false);
    let mut bench = steps(vec![vec![unpaired(0), unpaired(64), Op::End]])
        .with_mode(CuMode { model: Model::Drf1, ..CuMode::default() });
    bench.delay = |a| if a.line == OFFSET / 64 { 20 } else { 0 };
    let found = finish(bench);
    assert_eq!(found[0], ("no_stall", 2));
    assert!(found.contains(&("synchronization", 21)), "{found:?}");
    let fence = Op::Fence { sem: Sem::AcquireRelease, scope: Scope::Sys };
    let mut bench = steps(vec![vec![load(0, 0), fence, Op::End]]);
    bench.delay = slow;
    let found = finish(bench);
    // The load, the release with one tick to its answer, the acquire with one more.
    assert_eq!(found, [("no_stall", 3), ("synchronization", 21 + 1 + 1)]);
}

#[test]
fn a_barrier_comes_before_compute() {
    let script = Script::of(64, 2, |frame, _| match (frame.pc, frame.wave) {
        (1, 0) => vec![Op::Barrier],
        (1, _) => vec![compute(20, 1, vec![], Some(0)), compute(1, 1, vec![0], None), Op::Barrier],
        _ => vec![Op::End],
    });
    let found = finish(script.bench(&CuParams::default(), Port::FAST));
    // Wave 1 computes for 19 ticks and issues twice more; both then end in one tick, in slots of their own.
    assert_eq!(found, [("no_stall", 3), ("synchronization", 19)]);
}

#[test]
fn sums_that_do_not_hold_are_told() {
    let good = GsiCounts { ticks: 7, classes: [1, 2, 3, 0, 0, 0, 0, 1], ..GsiCounts::default() };
    let good = GsiCounts { structural: [0, 0, 1, 0, 1, 0], data: [0, 0, 2, 0, 1], kernel_flush: 1, ..good };
    assert_eq!(good.check(), Ok(()));
    let wrong = [
        (GsiCounts { ticks: 8, ..good }, "the classes sum to 7 and not to the ticks, 8"),
        (GsiCounts { structural: [0; 6], ..good }, "the subclasses of memory structural stalls sum to 0"),
        (GsiCounts { data: [1; 5], ..good }, "the subclasses of memory data stalls sum to 5"),
        (
            GsiCounts { between: 1, ..good },
            "1 ticks of kernel flush and 1 between kernels are more than the 1 idle",
        ),
    ];
    for (counts, text) in wrong {
        assert!(counts.check().is_err_and(|error| error.starts_with(text)), "{text}");
    }
}

/// A random operation of a wave; tokens are those of the step.
fn random_op(draw: &mut impl FnMut(u64) -> u64, token: u32) -> Op {
    let class = [Class::D, Class::D, Class::P, Class::U, Class::C, Class::N][draw(6) as usize];
    let stride = [0, 4, 64, 132][draw(4) as usize];
    let mask = [1, 0xff, 0xffff][draw(3) as usize];
    let access = Access { class, ..Access::data(4, Addrs::Strided { base: 4 * draw(256), stride }, mask) };
    let values = if token > 0 && draw(2) == 0 { Values::Token(token - 1) } else { Values::Const(1) };
    match draw(8) {
        0 | 1 => Op::Load { token, access },
        2 => Op::Store { access, values },
        3 => Op::Amo {
            token,
            access,
            kind: AmoKind::Add,
            signed: false,
            values,
            compare: 0,
            ret: draw(2) == 0,
        },
        4 => lds(token, [0, 4, 128][draw(3) as usize]),
        5 => compute(1 + draw(30) as u32, draw(6) as u32, vec![], Some(token)),
        6 => compute(1, 0, (0..token).collect(), None),
        _ => Op::Fence { sem: Sem::AcquireRelease, scope: [Scope::Cu, Scope::Sys][draw(2) as usize] },
    }
}

fn random_script(seed: u64, waves: u32) -> Script {
    let script = Script::of(64, waves, move |frame, _| {
        let mut count = 0;
        let at = u64::from(frame.pc) << 8 | u64::from(frame.wave);
        let mut draw = |below: u64| {
            count += 1;
            weft_workload::data::mix(seed, at, count) % below
        };
        let length = 1 + draw(5) as u32;
        let mut ops: Vec<Op> = (0..length).map(|token| random_op(&mut draw, token)).collect();
        ops.push(match frame.pc {
            6 => Op::End,
            pc if pc % 3 == 0 => Op::Barrier,
            _ => Op::Await { tokens: (0..length).filter(|_| draw(2) == 0).collect() },
        });
        ops
    });
    Script { lds: 64 * 128, blocks: 3, ..script }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every tick is counted once, whatever is left out, and inspection changes nothing. The bench checks the sums of each kernel.
    #[test]
    fn random_programs_are_classed_exactly(
        seed: u64, waves in 1..7u32, slots in 1..5u32, depth in 1..5u32, rate in 1..3u32, wave_mem in 1..9u32, model in 0..4usize,
        slow: bool, acks: bool, rest in (0..5u64, 0..3u32),
    ) {
        let pace = if slow { Pace { ticks: 7, cycles: 20 } } else { Pace::default() };
        let params = CuParams {
            issue_slots: slots, lsu_depth: depth, lsu_rate: rate, wave_mem, pace, refill: rest.1, ..CuParams::default()
        };
        let model = [Model::Sc, Model::Drf0, Model::Drf1, Model::Drfrlx][model];
        let mode = CuMode { model, acks, ..CuMode::default() };
        let run = |skip: bool, inspect: bool| {
            let port = Port { stall: 20 * rest.0, ..Port::wild(seed) };
            let mut bench = Bench::new(&params, Arc::new(random_script(seed, waves)), port, skip).with_mode(mode);
            bench.cu = bench.cu.inspecting(inspect);
            (bench.served, bench.refusal) = (|a: &LineAccess| ((a.line % 7) as u8, a.id.is_multiple_of(5)), Structural::Mshr);
            bench.run().expect("runs");
            bench
        };
        let (every, skip, off) = (run(false, true), run(true, true), run(true, false));
        prop_assert_eq!(every.stalls, skip.stalls);
        prop_assert_eq!(every.stalls.check(), Ok(()));
        let end = if slow { pace.ticks(0, every.now) } else { every.now };
        prop_assert_eq!(every.stalls.ticks, end);
        prop_assert!(every.events == skip.events && off.events == skip.events);
        prop_assert_eq!((every.now, off.now, off.stalls), (skip.now, skip.now, GsiCounts::default()));
        let issues = every.cu.counters().issue_ticks;
        prop_assert_eq!(every.stalls.of(StallClass::NoStall), issues);
    }
}
