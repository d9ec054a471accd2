//! When operations issue: units, tokens, policies, starvation, scratchpad passes.

use weft_workload::{LdsAccess, Unit};

use super::*;

/// Tick of the first store taken, less that of a wave that stores at once.
fn delay(ops: Vec<Op>) -> u64 {
    let at = |mut ops: Vec<Op>| {
        ops.extend([store(0, 1), Op::End]);
        let mut bench = Script::once(64, ops).bench(&CuParams::default(), Port::FAST);
        bench.run().expect("runs");
        bench.times(CuOp::St, 0).0
    };
    at(ops) - at(vec![])
}

#[test]
fn units_hold_for_their_occupancy_and_tokens_for_their_latency() {
    assert_eq!(delay(vec![compute(9, 1, vec![], None)]), 1, "nothing waits for it");
    assert_eq!(delay(vec![compute(9, 0, vec![], None); 3]), 2 * 4 + 1, "64 lanes on 16 take 4 ticks");
    assert_eq!(delay(vec![compute(9, 1, vec![], Some(0)), compute(1, 1, vec![0], None)]), 10);
    let sfu = Op::Compute { unit: Unit::Sfu, latency: 9, occupancy: 7, needs: vec![], token: None };
    assert_eq!(delay(vec![compute(9, 7, vec![], None), sfu.clone()]), 2, "each unit on its own");
    assert_eq!(delay(vec![sfu.clone(), sfu]), 8);
    let script = |frame: &mut Frame, _: &LoadedValues| match frame.pc {
        1 => vec![Op::Await { tokens: vec![] }],
        _ => vec![store(0, 1), Op::End],
    };
    let taken = |refill| {
        let mut bench =
            Script::of(64, 1, script).bench(&CuParams { refill, ..CuParams::default() }, Port::FAST);
        bench.run().expect("runs");
        bench.times(CuOp::St, 0).0
    };
    assert_eq!((taken(2) - taken(0), taken(16) - taken(0)), (2, 16));
}

#[test]
fn a_work_group_starts_after_its_launch_delay() {
    let taken = |launch| {
        let params = CuParams { launch, ..CuParams::default() };
        let mut bench = Script::once(64, vec![store(0, 1), Op::End]).bench(&params, Port::FAST);
        bench.run().expect("runs");
        bench.times(CuOp::St, 0).0
    };
    assert_eq!(taken(10) - taken(0), 10);
}

#[test]
fn scratchpad_passes_hold_the_load_store_unit() {
    let lds = |stride| LdsAccess { size: 4, addrs: Addrs::Strided { base: 0, stride }, mask: u64::MAX };
    let taken = |stride| {
        let ops = vec![Op::LdsLoad { token: 0, access: lds(stride) }, store(0, 1), Op::End];
        let script = Script { lds: 64 * 128, ..Script::once(64, ops) };
        let mut bench = script.bench(&CuParams::default(), Port::FAST);
        bench.run().expect("runs");
        (bench.times(CuOp::St, 0).0, bench.cu.counters().lds_passes)
    };
    let (base, one) = taken(0);
    assert_eq!(one, 1);
    assert_eq!((taken(4).0 - base, taken(4).1), (1, 2));
    assert_eq!((taken(128).0 - base, taken(128).1), (63, 64));
    let result = |stride| {
        let script = Script {
            lds: 64 * 128,
            ..Script::of(64, 1, move |frame, _| match frame.pc {
                1 => vec![Op::LdsLoad { token: 0, access: lds(stride) }, Op::Await { tokens: vec![0] }],
                _ => vec![store(0, 1), Op::End],
            })
        };
        let mut bench = script.bench(&CuParams { refill: 0, ..CuParams::default() }, Port::FAST);
        bench.run().expect("runs");
        bench.times(CuOp::St, 0).0
    };
    assert_eq!(result(128) - result(0), 63);
}

/// Order in which waves of one issue slot get their loads out; each wave makes three.
fn order(policy: CuPolicy) -> Vec<u64> {
    let script = Script::of(64, 3, |frame, _| {
        let at = |k: u64| load(k as u32, 64 * (4 * u64::from(frame.wave) + k));
        vec![at(0), at(1), at(2), Op::End]
    });
    let params = CuParams { issue_slots: 1, policy, ..CuParams::default() };
    let mut bench = script.bench(&params, Port::FAST);
    bench.run().expect("runs");
    bench.taken().iter().map(|(_, a)| (a.line - OFFSET / 64) / 4).collect()
}

#[test]
fn policies_choose_as_they_say() {
    assert_eq!(order(CuPolicy::Oldest), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    assert_eq!(order(CuPolicy::Gto), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    assert_eq!(order(CuPolicy::RoundRobin), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

#[test]
fn greedy_stays_with_the_wave_that_issued_last() {
    let run = |policy| {
        let script = Script::of(64, 2, |frame, _| {
            let wave = u64::from(frame.wave);
            let at = |k: u64| load(k as u32, 64 * (8 * wave + k));
            let mut ops = vec![];
            if wave == 0 {
                ops = vec![compute(3, 1, vec![], Some(9)), compute(1, 1, vec![9], None)];
            }
            ops.extend((0..6).map(at));
            ops.push(Op::End);
            ops
        });
        let params = CuParams { issue_slots: 1, policy, ..CuParams::default() };
        let mut bench = script.bench(&params, Port::FAST);
        bench.run().expect("runs");
        bench.taken().iter().map(|(_, a)| (a.line - OFFSET / 64) / 8).collect::<Vec<_>>()
    };
    assert_eq!(run(CuPolicy::Gto), [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(run(CuPolicy::Oldest), [1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn a_starved_wave_goes_first_once() {
    let taken = |starve| {
        let script = Script::of(64, 2, |frame, _| match frame.wave {
            0 => {
                let mut ops = vec![compute(1, 1, vec![], None); 500];
                ops.push(Op::End);
                ops
            }
            _ => vec![compute(1, 1, vec![], None), store(0, 1), Op::End],
        });
        let params = CuParams { issue_slots: 1, starve, ..CuParams::default() };
        let mut bench = script.bench(&params, Port::FAST);
        bench.run().expect("runs");
        bench.times(CuOp::St, 0).0
    };
    let (never, soon) = (taken(None), taken(Some(16)));
    assert!(never > 500 && soon < 60, "{never} {soon}");
    assert_eq!(taken(Some(40)) - soon, 48, "each of its two operations waits");
}

#[test]
fn every_issue_slot_reaches_a_full_load_store_unit() {
    let script = Script::of(64, 4, |frame, _| {
        let base = 4096 * u64::from(frame.wave);
        let wide = |k: u32| {
            let addrs = Addrs::Strided { base: base + 4 * u64::from(k), stride: 64 };
            Op::Load { token: k, access: Access::data(4, addrs, u64::MAX) }
        };
        let mut ops: Vec<Op> = (0..6).map(wide).collect();
        ops.push(Op::End);
        ops
    });
    let params = CuParams { lsu_depth: 1, ..CuParams::default() };
    let mut bench = script.bench(&params, Port::FAST);
    bench.run().expect("runs");
    let mut waves: Vec<u64> = bench.taken().iter().map(|(_, a)| (a.line - OFFSET / 64) / 64).collect();
    waves.dedup();
    assert_eq!(waves[..8], [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn waves_and_blocks_bound_what_is_resident() {
    let params = CuParams { waves: 7, blocks: 3, lds_bytes: 1024, ..CuParams::default() };
    let program: Arc<dyn Program> = Arc::new(Script::once(64, vec![Op::End]));
    let kernel = |waves, lds| {
        let Some(HostStep::Launch(kernel)) = program.host_step(0, &|_, n| vec![0; n]) else {
            panic!("launch")
        };
        Arc::new(Kernel { waves_per_block: waves, lds_bytes: lds, ..kernel })
    };
    for (waves, lds, fits) in
        [(1, 0, 3), (2, 0, 3), (3, 0, 2), (4, 0, 1), (8, 0, 0), (1, 512, 2), (1, 1025, 0)]
    {
        let mut cu = Cu::new(params.clone(), Arc::clone(&program), 0, 0).expect("legal");
        let kernel = kernel(waves, lds);
        let mut count = 0;
        while cu.has_room(&kernel) {
            cu.launch(&kernel, count, u64::from(count), 0).expect("fits");
            count += 1;
        }
        assert_eq!((count, params.capacity(&kernel), cu.resident()), (fits, fits, fits));
        assert!(matches!(cu.launch(&kernel, 9, 9, 0), Err(CuError::NoRoom { .. })));
    }
}
