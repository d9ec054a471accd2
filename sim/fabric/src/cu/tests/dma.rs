//! Mappings of work-groups, and the DMA engine (section 8): whole transfers in every kind of port, the load-store unit held meanwhile, errors.

use weft_workload::{LdsAccess, LocalMemory, MapKind, Mapping, Values};

use super::*;

const MAP: Mapping = Mapping { local: 8, global: 0x1010, element: 8, stride: 24, count: 40 };

/// Compute units with an engine, of one operation in the load-store unit.
fn params() -> CuParams {
    CuParams { local: LocalMemory::Dma, lsu_depth: 1, line: 64, ..CuParams::default() }
}

fn map(kind: MapKind, map: Mapping) -> Op {
    Op::Map { kind, map }
}

fn at(local: u64, mask: u64) -> LdsAccess {
    LdsAccess { size: 4, addrs: Addrs::Strided { base: local, stride: 4 }, mask }
}

fn read(token: u32, local: u64) -> Op {
    Op::LdsLoad { token, access: at(local, 1) }
}

fn awaits(token: u32) -> Op {
    Op::Await { tokens: vec![token] }
}

/// A bench on which each of `waves` waves makes the steps.
fn steps(waves: u32, port: Port, list: Vec<Vec<Op>>) -> Bench {
    let script =
        Script { lds: 1024, ..Script::of(64, waves, move |frame, _| list[frame.pc as usize - 1].clone()) };
    script.bench(&params(), port)
}

/// The work-group copies its elements in, doubles the words, and copies them back.
fn doubling(waves: u32) -> Script {
    let words = (MAP.bytes() / 4) as u32;
    let step = move |frame: &mut Frame, values: &LoadedValues| {
        let first = frame.wave * 64;
        let mask = weft_workload::full_mask(words.saturating_sub(first).min(64));
        let access = at(8 + 4 * u64::from(first), mask);
        match frame.pc {
            1 => vec![map(MapKind::DmaIn, MAP), Op::LdsLoad { token: 0, access }, awaits(0)],
            _ => {
                let doubled = values.get(0).iter().map(|v| 2 * v).collect();
                vec![
                    Op::LdsStore { access, values: Values::Lanes(doubled) },
                    map(MapKind::DmaOut, MAP),
                    Op::End,
                ]
            }
        }
    };
    let mut script = Script { lds: 1024, ..Script::of(64, waves, step) };
    let bytes: Vec<u8> = (0..16_384u32).flat_map(u32::to_le_bytes).collect();
    script.arrays[0].init = bytes.into();
    script
}

/// What memory holds then.
fn doubled() -> Vec<u32> {
    let mapped = |word: u64| (0..MAP.count).any(|i| word & !1 == MAP.global_of(i) / 4);
    (0..16_384u32).map(|word| if mapped(u64::from(word)) { 2 * word } else { word }).collect()
}

fn words(bench: &Bench) -> Vec<u32> {
    let bytes = bench.memory.read(0, 65_536);
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

#[test]
fn elements_go_in_and_come_back_whatever_the_port_does() {
    let ports = (1..=12).map(Port::wild).chain([Port::FAST]);
    for (case, port) in ports.enumerate() {
        for skip in [false, true] {
            let mut bench = Bench::new(&params(), Arc::new(doubling(2)), port, skip);
            bench.restore_at = (case % 3 == 0).then_some(60 + 7 * case as u64);
            bench.run().expect("runs");
            assert_eq!(words(&bench), doubled(), "port {case}");
            let lines = (MAP.global_of(MAP.count - 1) / 64 - MAP.global / 64 + 1) as usize;
            assert_eq!(bench.cu.counters().dma_lines as usize, 2 * lines, "a request per line and direction");
            assert_eq!((bench.cu.counters().maps, bench.watch.stores), (4, lines as u64));
            let taken = bench.taken();
            assert!(taken.iter().all(|(_, a)| a.dma && a.want_ack == (a.op == CuOp::St)));
            let order: Vec<u64> = taken.iter().map(|(_, a)| a.line).collect();
            assert!(order[..lines].is_sorted() && order[lines..].is_sorted());
        }
    }
}

#[test]
fn one_line_is_asked_for_in_each_tick() {
    let map_in = Mapping { local: 0, global: 0, element: 64, stride: 64, count: 8 };
    let mut bench = steps(1, Port::FAST, vec![vec![map(MapKind::DmaIn, map_in), Op::End]]);
    bench.run().expect("runs");
    let ticks: Vec<u64> = bench.taken().iter().map(|(tick, _)| *tick).collect();
    assert_eq!(ticks, (13..21).collect::<Vec<u64>>(), "issued in tick 12, asked for from the next one on");
}

/// A wave that reads the mapping waits in the load-store unit, which takes nothing else; one beside the mapping does not wait.
#[test]
fn an_access_to_a_mapping_under_transfer_holds_the_unit() {
    let delay = |access: &LineAccess| if access.dma { 50 } else { 0 };
    let far = 512;
    for (local, held) in [(16, true), (far, false)] {
        let reads = vec![map(MapKind::DmaIn, MAP), read(0, local), read(1, far), awaits(1)];
        let mut bench = steps(2, Port::FAST, vec![reads, vec![store(0x8000, 1), Op::End]]);
        bench.delay = delay;
        bench.run().expect("runs");
        let goes_on = bench.times(CuOp::St, 0x8000).0;
        assert_eq!(goes_on > 60, held, "{goes_on}");
        let stalls = &bench.stalls;
        let pending = stalls.blocked_by(Structural::Dma);
        // Also the wave that has begun the transfer ends with it.
        assert!(pending > 25, "{pending}");
        assert_eq!(stalls.of(StallClass::MemoryStructural) - pending, stalls.blocked_by(Structural::Bank));
        assert_eq!(bench.cu.counters().lds_ops, 4);
    }
}

#[test]
fn a_barrier_does_not_wait_for_a_transfer_but_a_fence_does() {
    let delay = |access: &LineAccess| if access.dma { 100 } else { 0 };
    let begin = map(MapKind::DmaIn, MAP);
    let fence = Op::Fence { sem: weft_workload::Sem::Release, scope: weft_workload::Scope::Sys };
    let mut bench = steps(1, Port::FAST, vec![vec![begin.clone(), Op::Barrier], vec![Op::End]]);
    bench.delay = delay;
    bench.run().expect("runs");
    assert!(bench.watch.barriers[0].0 < 20, "{:?}", bench.watch.barriers);
    let mut bench = steps(1, Port::FAST, vec![vec![begin, fence, Op::End]]);
    bench.delay = delay;
    bench.run().expect("runs");
    assert!(bench.taken().iter().any(|(tick, a)| a.op == CuOp::Rel && *tick > 100));
}

/// What is copied back begins when the last wave asks for it, and the work-group's scratchpad is free when it is performed.
#[test]
fn a_work_group_ends_when_its_elements_are_back() {
    let delay = |access: &LineAccess| if access.dma && access.op == CuOp::St { 500 } else { 0 };
    let mut script = doubling(2);
    script.blocks = 2;
    let mut bench = script.bench(&CuParams { lds_bytes: 1024, ..params() }, Port::FAST);
    bench.delay = delay;
    bench.run().expect("runs");
    let taken = bench.taken();
    let loads: Vec<u64> = taken.iter().filter(|(_, a)| a.op == CuOp::Ld).map(|(tick, _)| *tick).collect();
    let stores: Vec<u64> = taken.iter().filter(|(_, a)| a.op == CuOp::St).map(|(tick, _)| *tick).collect();
    let half = loads.len() / 2;
    assert!(loads[half] > stores[half - 1] + 500, "the second work-group begins after the first");
    let counts = &bench.stalls;
    assert!(counts.blocked_by(Structural::Dma) > 900, "END waits for them: {counts:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let error = |params: &CuParams, ops: Vec<Op>| {
        let script = Script { lds: 1024, ..Script::once(64, ops) };
        script.bench(params, Port::FAST).run().expect_err("is refused").to_string()
    };
    let plain = CuParams { local: LocalMemory::Scratchpad, ..params() };
    assert_eq!(
        error(&plain, vec![map(MapKind::DmaIn, MAP), Op::End]),
        "kernel k work-group 0 wave 0 (gpu 0 cu 0) maps its local memory for dma, and the compute unit has scratchpad; set local_memory = \"dma\""
    );
    let long = Mapping { count: 1000, ..MAP };
    assert_eq!(
        error(&params(), vec![map(MapKind::DmaIn, long), Op::End]),
        "kernel k work-group 0 wave 0 (gpu 0 cu 0) maps local bytes 0x8 and the 7999 after it, expected all below 0x400"
    );
    let only_first = |frame: &mut Frame, _: &LoadedValues| {
        if frame.wave == 0 { vec![map(MapKind::DmaOut, MAP), Op::End] } else { vec![Op::End] }
    };
    let script = Script { lds: 1024, ..Script::of(64, 2, only_first) };
    assert_eq!(
        script.bench(&params(), Port::FAST).run().expect_err("is refused").to_string(),
        "kernel k work-group 0 maps a DMA_OUT in 1 of its 2 waves, expected it in each before the work-group ends"
    );
}

/// Programs are told before they run.
#[test]
fn a_program_for_another_local_memory_is_refused() {
    let build = |memory: &str| {
        let given = [("memory", memory), ("lanes", "32")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        Arc::from(weft_workload::build("implicit", &given.into(), None).expect("legal"))
    };
    let error = Cu::new(CuParams::default(), build("dma"), 0, 0).err().expect("is refused").to_string();
    assert_eq!(
        error,
        "program implicit needs compute units with local memory dma, and these have scratchpad: set local_memory = \"dma\" on a fabric of family spandex, or give the program another memory (its parameter memory)"
    );
    for memory in ["dma", "scratchpad", "global"] {
        assert!(Cu::new(params(), build(memory), 0, 0).is_ok(), "{memory}");
    }
    assert!(Cu::new(params(), build("stash"), 0, 0).is_err());
}
