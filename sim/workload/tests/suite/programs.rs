//! Every program on the ideal machine: it computes what the host computes, in every order of its waves and for every
//! number of lanes; and a wrong result is seen.

use crate::small;
use crate::small::cpu_gpu;
use crate::small::relaxed;
use crate::small::sync;

use std::collections::BTreeMap;

use cpu_gpu::CPU_GPU;
use proptest::prelude::*;
use relaxed::RELAXED;
use small::SMALL;
use sync::SYNC;
use weft_workload::graph::{self, Graph};
use weft_workload::ideal::{FlatMemory, IdealError, IdealMachine, Order, run};
use weft_workload::program::{Array, Frame, HostStep, Kernel, LoadedValues, Program, VerifyError};
use weft_workload::{
    Access, Addrs, AmoKind, LdsAccess, Op, Values, WorkloadError, build, full_mask, workloads,
};

fn settings(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    list.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

fn make(name: &str, list: &[(&str, &str)]) -> Box<dyn Program> {
    build(name, &settings(list), None).unwrap_or_else(|e| panic!("{e}"))
}

/// Programs with options that change what they do.
const OPTIONS: &[(&str, &[(&str, &str)])] = &[
    ("atax", &[("rows", "35"), ("columns", "21"), ("accum", "memory")]),
    ("bicg", &[("rows", "35"), ("columns", "21"), ("accum", "memory")]),
    ("gemm", &[("m", "9"), ("n", "37"), ("k", "5"), ("accum", "memory")]),
    ("atax", &[("rows", "19"), ("columns", "37"), ("accum", "stores")]),
    ("gemm", &[("m", "9"), ("n", "37"), ("k", "5"), ("accum", "stores")]),
    ("gemv", &[("n", "23"), ("accum", "memory")]),
    ("mm2", &[("n", "21"), ("k2", "column_bands"), ("repeat", "2"), ("accum", "memory")]),
    ("mm3", &[("n", "13"), ("accum", "memory")]),
];

/// Programs with work queues in each of their ways to synchronise, and without what makes them fast.
const QUEUES: &[(&str, &[(&str, &str)])] = &[
    ("clr", &[("source", "karate"), ("queues", "5"), ("waves", "2"), ("sync", "baseline")]),
    ("mis", &[("source", "karate"), ("queues", "5"), ("waves", "2"), ("sync", "scope"), ("pad", "off")]),
    ("prk", &[("source", "karate"), ("queues", "5"), ("waves", "1"), ("sync", "remote"), ("rounds", "2")]),
    ("sssp", &[("source", "karate"), ("queues", "2"), ("waves", "1"), ("sync", "atomic")]),
    ("sssp", &[("source", "karate"), ("queues", "1"), ("waves", "1"), ("hint", "off")]),
    ("sssp", &[("source", "karate"), ("queues", "7"), ("waves", "1"), ("hint", "off")]),
    ("sssp", &[("source", "karate"), ("queues", "7"), ("waves", "1"), ("victims", "2")]),
    ("clr", &[("source", "karate"), ("queues", "3"), ("waves", "1"), ("lanes", "8"), ("task", "3")]),
    ("mis", &[("source", "karate"), ("queues", "3"), ("waves", "1"), ("lanes", "8"), ("task", "12")]),
    ("lock", &[("owner", "5"), ("remote", "2"), ("spin", "exch"), ("sync", "remote")]),
];

/// Arrays that say which work-group did what, or in which order.
const WHO: &[&str] = &[
    "queue_head",
    "queue_tail",
    "queue_tally",
    "candidate",
    "outliers",
    "saved",
    "tasks",
    "in_queue",
    "written",
    "consumed",
    "stack_items",
    "shared_items",
    "slots",
    "taken",
    "marks",
    "sums",
];

/// Programs whose arrays and host steps differ, or that keep their data elsewhere.
const WAYS: &[(&str, &[(&str, &str)])] = &[
    ("dnn-step", &[("scale", "16"), ("batch", "2"), ("gpus", "2"), ("steps", "2"), ("way", "direct")]),
    ("dnn-step", &[("scale", "16"), ("batch", "2"), ("gpus", "2"), ("steps", "2"), ("way", "zerocopy")]),
    ("dnn-step", &[("scale", "16"), ("batch", "2"), ("gpus", "2"), ("steps", "2"), ("way", "unified")]),
    ("dnn-step", &[("scale", "16"), ("batch", "2"), ("gpus", "2"), ("steps", "2"), ("way", "tsm")]),
    ("implicit", &[("blocks", "3"), ("group", "75"), ("object_bytes", "8"), ("memory", "global")]),
    ("implicit", &[("blocks", "3"), ("group", "75"), ("object_bytes", "8"), ("memory", "dma")]),
    ("implicit", &[("blocks", "2"), ("group", "64"), ("kernels", "3"), ("memory", "stash")]),
];

fn verify(program: &dyn Program, memory: &FlatMemory) -> Result<(), VerifyError> {
    program.verify(&|addr, count| memory.read(addr, count))
}

#[test]
fn every_program_of_the_registry_is_tested() {
    let listed: Vec<_> = workloads().iter().map(|w| w.name).collect();
    let mut tested: Vec<_> =
        SMALL.iter().chain(CPU_GPU).chain(SYNC).chain(RELAXED).map(|(name, _)| *name).collect();
    tested.sort_unstable();
    assert_eq!(listed, tested);
}

#[test]
fn small_programs_verify_for_every_width_and_order() {
    for &(name, list) in
        SMALL.iter().chain(CPU_GPU).chain(SYNC).chain(RELAXED).chain(OPTIONS).chain(WAYS).chain(QUEUES)
    {
        for lanes in ["1", "7", "16", "32", "64"] {
            let mut list = list.to_vec();
            list.push(("lanes", lanes));
            let program = make(name, &list);
            let mut first = None;
            for order in [Order::Forward, Order::Reverse, Order::Mixed(3)] {
                let done = run(&*program, order).unwrap_or_else(|e| panic!("{name}: {e}"));
                verify(&*program, &done.memory).unwrap_or_else(|e| panic!("{lanes} lanes {order:?}: {e}"));
                let results = program.arrays().iter().filter(|a| !WHO.contains(&a.name.as_str()));
                let results: Vec<_> = results.map(|a| done.memory.read(a.addr, a.bytes() as usize)).collect();
                let memory = first.get_or_insert(results.clone());
                assert!(*memory == results, "{name}: the order of waves changes the memory, so they race");
            }
        }
    }
}

#[test]
fn sums_are_kept_and_stored_where_the_program_says() {
    for &(name, list) in OPTIONS {
        let lines = |accum: &str| {
            let list: Vec<_> = list.iter().map(|&(k, v)| (k, if k == "accum" { accum } else { v })).collect();
            let done = run(&*make(name, &list), Order::Forward).unwrap_or_else(|e| panic!("{e}"));
            (done.stats.load_lines, done.stats.store_lines)
        };
        let [registers, stores, memory] = ["registers", "stores", "memory"].map(lines);
        assert!(stores.1 > 2 * registers.1, "{name}: {stores:?} loads and stores of lines, {registers:?}");
        // Loads are the same but for elements that a product begins with.
        assert!(stores.0 <= registers.0 + registers.1, "{name}: {stores:?}, {registers:?}");
        assert!(memory.1 == stores.1 && memory.0 > stores.0 + stores.1 / 2, "{name}: {memory:?}, {stores:?}");
    }
}

#[test]
fn a_thief_looks_at_as_many_queues_as_it_is_told() {
    // Lines that are loaded, and tasks that are stolen.
    let looks = |queues, sync, victims| {
        let list = [("source", "karate"), ("waves", "1"), ("lanes", "4"), ("queues", queues)];
        let program = make("clr", &[&list[..], &[("sync", sync), ("victims", victims)]].concat());
        let done = run(&*program, Order::Forward).unwrap_or_else(|e| panic!("{e}"));
        let tally = program.arrays().iter().find(|a| a.name == "queue_tally").expect("its tallies");
        let stolen = (0..tally.length / 4).map(|q| done.memory.word(tally.at(4 * q + 1), 4));
        (done.stats.load_lines + done.stats.amo_lines, stolen.sum::<u64>())
    };
    let [all, eight, many, one] = ["0", "8", "4095", "1"].map(|victims| looks("9", "remote", victims));
    assert_eq!([eight, many], [all; 2], "nine queues are eight others");
    // Two loads for each look at an empty queue, two kernels with queues at least.
    assert!(one.0 + 2 * 7 * 9 * 2 <= all.0, "{one:?} and {all:?} lines");
    assert!(one.1 > 0, "the next queue is looked at");
    assert_eq!(looks("2", "remote", "0"), looks("2", "remote", "1"));
    assert!(looks("2", "remote", "0").1 > 0, "two queues are one other");
    assert_eq!(looks("9", "scope", "0"), looks("9", "scope", "1"), "who does not steal looks nowhere");
    assert_eq!(looks("9", "scope", "0").1, 0);
}

#[test]
fn default_sizes_verify_and_stay_small() {
    for info in workloads() {
        let program = make(info.name, &[]);
        let done = run(&*program, Order::Forward).unwrap_or_else(|e| panic!("{e}"));
        verify(&*program, &done.memory).unwrap_or_else(|e| panic!("{e}"));
        let lines = done.stats.load_lines + done.stats.store_lines + done.stats.amo_lines;
        println!("{:10} {lines:7} line accesses, {:8} bytes, {:?}", info.name, done.memory.len(), done.stats);
        let waits = ["implicit", "lock"].contains(&info.name)
            || SYNC.iter().chain(RELAXED).any(|(name, _)| *name == info.name);
        let least = if waits { 500 } else { 10_000 };
        assert!((least..500_000).contains(&lines), "{}: {lines} line accesses", info.name);
    }
}

#[test]
fn a_corrupted_result_is_seen() {
    for &(name, list) in SMALL.iter().chain(CPU_GPU).chain(SYNC).chain(RELAXED) {
        let program = make(name, list);
        let mut done = run(&*program, Order::Forward).unwrap_or_else(|e| panic!("{e}"));
        let results: Vec<Array> = program.arrays().iter().filter(|a| !a.read_only).cloned().collect();
        let before = FlatMemory::load(&*program);
        assert!(verify(&*program, &before).is_err(), "{name}: memory before the run verifies");
        let mut seen = 0;
        for array in &results {
            for index in [0, array.length / 2, array.length - 1] {
                let addr = array.at(index);
                let good = done.memory.word(addr, 4);
                done.memory.set_word(addr, 4, good ^ 1);
                if let Err(error) = verify(&*program, &done.memory) {
                    seen += 1;
                    assert_eq!(
                        (error.array.as_str(), error.index, error.wrong),
                        (array.name.as_str(), index, 1)
                    );
                }
                done.memory.set_word(addr, 4, good);
            }
        }
        let least = if name == "stencil" { 1 } else { 3 };
        assert!(seen >= least, "{name}: only {seen} corruptions seen");
        verify(&*program, &done.memory).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn ranks_of_the_karate_club_are_the_known_ones() {
    let graph = graph::bundled("karate").expect("karate is bundled");
    let program = build("pagerank", &settings(&[("iterations", "100")]), Some(&graph)).expect("builds");
    let done = run(&*program, Order::Forward).expect("runs");
    let x = program.arrays().iter().find(|a| a.name == "x").expect("array x");
    let rank = |v: u64| f64::from(f32::from_bits(done.memory.word(x.at(v), 4) as u32));
    // networkx 3, pagerank(karate_club_graph(), weight=None)
    for (vertex, known) in [(0, 0.096_997), (33, 0.100_919), (32, 0.071_693), (2, 0.057_078), (11, 0.009_565)]
    {
        assert!((rank(vertex) - known).abs() < 2e-5, "vertex {vertex}: {}", rank(vertex));
    }
    let sum: f64 = (0..34).map(rank).sum();
    assert!((sum - 1.0).abs() < 1e-4, "{sum}");
}

#[test]
fn ranks_flow_along_the_direction_of_edges() {
    let graph = Graph::directed(3, &[(0, 1), (2, 1)], None);
    let program =
        build("pagerank", &settings(&[("iterations", "1"), ("damping", "1")]), Some(&graph)).expect("builds");
    let done = run(&*program, Order::Forward).expect("runs");
    let y = program.arrays().iter().find(|a| a.name == "y").expect("array y");
    let ranks: Vec<f32> = (0..3).map(|v| f32::from_bits(done.memory.word(y.at(v), 4) as u32)).collect();
    assert_eq!(ranks, [0.0, 2.0 / 3.0, 0.0]);
}

#[test]
fn a_frame_survives_a_snapshot() {
    let program = make("atax", &[("rows", "64"), ("columns", "64")]);
    let Some(HostStep::Launch(kernel)) = program.host_step(0, &|_, n| vec![0; n]) else { panic!("a launch") };
    let mut frame = program.start(&kernel, 0, 0);
    let mut values = LoadedValues::new();
    program.step(&mut frame, &values);
    for token in 0..16 {
        values.set(token, vec![u64::from(1.5f32.to_bits()); 64]);
    }
    program.step(&mut frame, &values);
    let mut copy = frame.clone();
    assert_eq!(program.step(&mut frame, &values), program.step(&mut copy, &values));
    assert_eq!(frame, copy);
}

#[test]
fn illegal_settings_are_one_sentence() {
    let message = |name: &str, list: &[(&str, &str)], graph: Option<&Graph>| match build(
        name,
        &settings(list),
        graph,
    ) {
        Ok(_) => panic!("{name} {list:?} is accepted"),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        message("gem", &[], None),
        "there is no workload gem; the nearest are gemm and gemv; `weft list workloads` shows all, and the path of a trace is a workload, too"
    );
    assert_eq!(
        message("transpose", &[("row", "3")], None),
        "workload transpose has no parameter row; the nearest is rows; `weft list workloads` shows all"
    );
    assert_eq!(
        message("gemv", &[("lanes", "65")], None),
        "workload gemv: lanes = 65 is illegal, expected a whole number 1..64"
    );
    assert_eq!(
        message("pagerank", &[("damping", "nan")], None),
        "workload pagerank: damping = nan is illegal, expected a number 0..1"
    );
    assert_eq!(
        message("fir", &[("samples", "100"), ("blocks", "7")], None),
        "workload fir: blocks = 7 is illegal, expected at most samples / 16 = 6"
    );
    let graph = graph::bundled("karate");
    assert!(matches!(
        build("fir", &BTreeMap::new(), graph.as_ref()),
        Err(WorkloadError::GraphUnused { workload: "fir" })
    ));
}

#[test]
fn every_default_and_published_setting_is_legal() {
    for info in workloads() {
        for (key, _) in info.published {
            assert!(info.params.iter().any(|p| p.name == *key), "{} has no {key}", info.name);
        }
        let specs = info.params;
        let resolved = weft_workload::programs::Params::resolve(info.name, specs, &settings(info.published));
        assert!(resolved.is_ok(), "{resolved:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_size_verifies(which in 0..6usize, a in 16..90u64, b in 1..90u64, lanes in 1..=64u32, group in 1..200u32,
                         seed: u64) {
        let (a, b, lanes, group, seed) =
            (a.to_string(), b.to_string(), lanes.to_string(), group.to_string(), seed.to_string());
        let blocks = (a.parse::<u64>().unwrap_or(16) / 16).to_string();
        let common = [("lanes", lanes.as_str()), ("seed", seed.as_str())];
        let (name, own): (&str, Vec<(&str, &str)>) = match which {
            0 => ("atax", vec![("rows", &a), ("columns", &b), ("group", &group)]),
            1 => ("fir", vec![("samples", &a), ("blocks", &blocks), ("group", &group)]),
            2 => ("gemv", vec![("n", &b), ("group", &group)]),
            3 => ("pagerank", vec![("source", "uniform"), ("nodes", &b), ("edges", &a), ("group", &group), ("iterations", "2")]),
            4 => ("stencil", vec![("n", &b), ("iterations", "2")]),
            _ => ("transpose", vec![("rows", &a), ("columns", &b)]),
        };
        let list: Vec<_> = own.into_iter().chain(common).collect();
        let program = make(name, &list);
        let done = run(&*program, Order::Mixed(1)).unwrap_or_else(|e| panic!("{name}: {e}"));
        verify(&*program, &done.memory).unwrap_or_else(|e| panic!("{list:?}: {e}"));
    }
}

/// Threads add to a counter in the scratchpad, then to one in memory; one work-group waits for the others.
struct Counters {
    arrays: Vec<Array>,
    co_resident: bool,
}

impl Counters {
    fn new(co_resident: bool) -> Self {
        let mut layout = weft_workload::Layout::new();
        layout.add("count", 4, 1, false, vec![]);
        layout.add("seen", 4, 1, false, vec![]);
        Self { arrays: layout.arrays().to_vec(), co_resident }
    }
}

impl Program for Counters {
    fn name(&self) -> &str {
        "counters"
    }
    fn lanes(&self) -> u32 {
        8
    }
    fn arrays(&self) -> &[Array] {
        &self.arrays
    }
    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        (index == 0).then(|| {
            HostStep::Launch(Kernel {
                id: 0,
                name: "count".to_owned(),
                blocks: 3,
                cpus: 0,
                waves_per_block: 2,
                lds_bytes: 4,
                args: vec![],
                co_resident: self.co_resident,
            })
        })
    }
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        Frame { kernel: kernel.id, block, wave, ..Frame::default() }
    }
    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let one = |base| Addrs::Strided { base, stride: 0 };
        let (kind, signed, compare) = (AmoKind::Add, false, 0);
        frame.pc += 1;
        match frame.pc {
            1 => {
                let access = LdsAccess { size: 4, addrs: one(0), mask: full_mask(8) };
                vec![
                    Op::LdsAmo { token: 0, access, kind, signed, values: Values::Const(1), compare },
                    Op::Barrier,
                ]
            }
            2 if frame.wave == 1 => vec![Op::End],
            2 => {
                let access = LdsAccess { size: 4, addrs: one(0), mask: 1 };
                let add = Access::data(4, one(0), 1);
                let amo = Op::Amo {
                    token: 2,
                    access: add,
                    kind,
                    signed,
                    values: Values::Token(1),
                    compare,
                    ret: false,
                };
                vec![Op::LdsLoad { token: 1, access }, amo, Op::Await { tokens: vec![2] }]
            }
            _ if frame.block != 0 => vec![Op::End],
            _ if values.lane(3, 0) == 48 => {
                let access = Access::data(4, one(self.arrays[1].addr), 1);
                vec![Op::Store { access, values: Values::Token(3) }, Op::End]
            }
            _ => {
                let access = Access::data(4, one(0), 1);
                vec![Op::Load { token: 3, access }, Op::Await { tokens: vec![3] }]
            }
        }
    }
    fn verify(&self, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        Ok(())
    }
}

#[test]
fn barriers_atomics_and_waiting_work_groups() {
    let program = Counters::new(true);
    for order in [Order::Forward, Order::Reverse, Order::Mixed(9)] {
        let done = run(&program, order).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((done.memory.word(0, 4), done.memory.word(4096, 4)), (48, 48));
    }
}

/// One wave that makes one given step.
struct OneStep(Vec<Op>);

impl Program for OneStep {
    fn name(&self) -> &str {
        "one-step"
    }
    fn lanes(&self) -> u32 {
        2
    }
    fn arrays(&self) -> &[Array] {
        &[]
    }
    fn host_step(&self, _: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        None
    }
    fn start(&self, _: &Kernel, _: u32, _: u32) -> Frame {
        Frame::default()
    }
    fn step(&self, _: &mut Frame, _: &LoadedValues) -> Vec<Op> {
        self.0.clone()
    }
    fn verify(&self, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        Ok(())
    }
}

#[test]
fn the_ideal_machine_refuses_what_no_machine_runs() {
    let kernel = Kernel {
        id: 0,
        name: "k".to_owned(),
        blocks: 1,
        cpus: 0,
        waves_per_block: 1,
        lds_bytes: 8,
        args: vec![],
        co_resident: false,
    };
    let refuse = |ops: Vec<Op>| {
        let program = OneStep(ops);
        IdealMachine::new(&program).launch(&kernel, Order::Forward).expect_err("refused")
    };
    let lds = |base, mask| {
        let access = LdsAccess { size: 4, addrs: Addrs::Strided { base, stride: 4 }, mask };
        vec![Op::LdsLoad { token: 0, access }, Op::End]
    };
    assert!(matches!(refuse(lds(2, 1)), IdealError::Unaligned { addr: 2, size: 4, .. }));
    assert!(matches!(refuse(lds(4, 3)), IdealError::OutOfRange { addr: 8, end: 8, .. }));
    assert!(matches!(refuse(lds(0, 4)), IdealError::Lanes { mask: 4, lanes: 2, .. }));
    assert!(matches!(refuse(vec![]), IdealError::OpenStep { .. }));
    assert!(matches!(refuse(vec![Op::End, Op::Barrier]), IdealError::OpenStep { .. }));
    assert!(matches!(
        refuse(vec![Op::Fence { sem: Default::default(), scope: Default::default() }]),
        IdealError::OpenStep { .. }
    ));
}
