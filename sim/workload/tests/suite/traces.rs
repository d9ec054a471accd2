//! Traces: text, binary and import say the same; what is damaged is refused at its place; a trace runs and its memory is judged.

use proptest::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};
use weft_workload::Program;
use weft_workload::ideal::{Order, run};
use weft_workload::op::{Addrs, AmoKind, Class, Hint, Request, Scope, Sem, Unit};
use weft_workload::trace::op::{TraceAccess, TraceOp, TraceValue};
use weft_workload::trace::program::TraceProgram;
use weft_workload::trace::{Trace, TraceKernel, TraceStep, accel_sim, binary, read, text};

fn vectoradd() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/traces/vectoradd")
}

fn access() -> impl Strategy<Value = TraceAccess> {
    let size = prop_oneof![Just(1_u8), Just(2), Just(4), Just(8)];
    let addrs = prop_oneof![
        (0..1_u64 << 40, -64..64_i64).prop_map(|(base, stride)| (Some((base, stride)), vec![])),
        prop::collection::vec(0..1_u64 << 40, 32).prop_map(|list| (None, list)),
    ];
    let class = prop_oneof![Just(Class::D), Just(Class::P), Just(Class::N), Just(Class::C)];
    let sem = prop_oneof![Just(Sem::Relaxed), Just(Sem::Acquire), Just(Sem::AcquireRelease)];
    let scope = prop_oneof![Just(Scope::Cu), Just(Scope::Gpu), Just(Scope::Sys)];
    (size, addrs, 1..=u64::from(u32::MAX), class, sem, scope, any::<bool>()).prop_map(
        |(size, (even, list), mask, class, sem, scope, remote)| {
            let step = u64::from(size);
            let addrs = match even {
                Some((base, stride)) => {
                    Addrs::Strided { base: (base + (1 << 20)) * step, stride: stride * step as i64 }
                }
                None => Addrs::Lanes(list.iter().map(|a| a * step).collect()),
            };
            TraceAccess { size, addrs, mask, class, sem, scope, remote, hint: Hint::default() }
        },
    )
}

fn value() -> impl Strategy<Value = TraceValue> {
    prop_oneof![
        any::<u64>().prop_map(TraceValue::Const),
        (0..300_u32).prop_map(TraceValue::Token),
        Just(TraceValue::Unique)
    ]
}

/// Any operation, with a request that can serve it.
fn op() -> impl Strategy<Value = TraceOp> {
    let hint = (0..Request::ALL.len(), any::<bool>());
    (unhinted(), hint).prop_map(|(op, (request, line))| {
        let mut hinted = op.clone();
        hinted
            .access_mut()
            .into_iter()
            .for_each(|access| access.hint = Hint { request: Request::ALL[request], line });
        if hinted.hint_fits().is_ok() { hinted } else { op }
    })
}

fn unhinted() -> impl Strategy<Value = TraceOp> {
    let tokens = || prop::collection::vec(0..300_u32, 1..4);
    let unit = prop_oneof![Just(Unit::Alu), Just(Unit::Sfu), Just(Unit::Mem)];
    prop_oneof![
        (unit, 0..1000_u32, prop::option::of(0..300_u32), prop::collection::vec(0..300_u32, 0..4))
            .prop_map(|(unit, latency, token, needs)| TraceOp::Compute { unit, latency, token, needs }),
        (0..300_u32, access()).prop_map(|(token, access)| TraceOp::Load { token, access }),
        (access(), value()).prop_map(|(access, value)| TraceOp::Store { access, value }),
        (0..300_u32, access(), value(), any::<u64>()).prop_map(|(token, access, value, compare)| {
            TraceOp::Amo { token, access, kind: AmoKind::Cas, value, compare }
        }),
        (0..300_u32, access()).prop_map(|(token, access)| TraceOp::LdsLoad { token, access }),
        (access(), value()).prop_map(|(access, value)| TraceOp::LdsStore { access, value }),
        Just(TraceOp::Fence { sem: Sem::Release, scope: Scope::Gpu }),
        Just(TraceOp::Barrier),
        tokens().prop_map(|tokens| TraceOp::Await { tokens }),
    ]
}

/// The same access whichever way its addresses are held.
fn plain(op: &TraceOp) -> TraceOp {
    let mut op = op.clone();
    if let Some(access) = op.access_mut() {
        let active = |lane: &u32| access.mask >> lane & 1 == 1;
        let of = |lane: u32| if active(&lane) { access.addrs.at(lane) } else { 0 };
        access.addrs = Addrs::Lanes((0..64).map(of).collect());
    }
    op
}

fn listing(trace: &Trace) -> Vec<String> {
    let of = |kernel: &TraceKernel| -> Vec<String> {
        let waves = 0..kernel.waves.len();
        let ops = waves
            .flat_map(|w| kernel.ops(w).map(move |op| (w, op.expect("an operation"))).collect::<Vec<_>>());
        ops.map(|(wave, op)| format!("{} {wave} {:?}", kernel.name, plain(&op))).collect()
    };
    trace
        .steps
        .iter()
        .flat_map(|step| match step {
            TraceStep::Copy { .. } => vec![format!("{step:?}")],
            TraceStep::Kernel(kernel) => of(kernel),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn text_and_binary_hold_all_of_a_trace(waves in prop::collection::vec(prop::collection::vec(op(), 0..12), 1..6)) {
        let mut kernel = TraceKernel::new("k", [3, 1, 1], [64, 1, 1], 128, 32);
        for (n, mut ops) in waves.into_iter().enumerate() {
            ops.push(TraceOp::End);
            kernel.add_wave(n as u32 / 2, n as u32 % 2, &ops).expect("a wave of the grid");
        }
        let copy = TraceStep::Copy { addr: 4096, bytes: 100 };
        let trace = Trace { lanes: 32, steps: vec![copy, TraceStep::Kernel(kernel)] };
        let bytes = binary::write(&trace);
        prop_assert_eq!(&binary::read(&bytes, "a.wtrb").expect("what was written"), &trace);
        let words = text::write(&trace);
        let back = text::read(words.as_bytes(), "a.wtrace").expect(&words);
        prop_assert_eq!(listing(&back), listing(&trace));
        prop_assert_eq!(text::write(&back), words);
    }

    #[test]
    fn damaged_binary_traces_are_refused(at in any::<prop::sample::Index>(), bit in 0..8_u32, cut in any::<bool>()) {
        let trace = read(&vectoradd()).expect("the trace");
        let mut bytes = binary::write(&trace);
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
        // Names and addresses of copies are any; all else is told.
        if let Err(error) = binary::read(&bytes, "a.wtrb") {
            prop_assert!(error.to_string().starts_with("a.wtrb, byte "), "{}", error);
        } else {
            prop_assert!(!cut && at < 200, "a changed byte {at} was not noticed");
        }
    }
}

#[test]
fn blocks_on_cpu_cores_are_one_wave_of_one_lane() {
    let trace = |block: &str, wave: u32, op: &str| {
        format!(
            "weft-trace 1\nkernel k grid 3,1,1 block 64,1,1 lds 0 cpus 2\nblock {block}\nwave {wave}\n{op}\nE\n"
        )
    };
    let read = |text: String| text::read(text.as_bytes(), "a.wtrace").map_err(|e| e.to_string());
    let core = read(trace("1,0,0", 0, "S 4 0x1000+4 =7")).expect("a trace");
    let kernel = core.kernels().next().expect("a kernel");
    let op = kernel.all_ops().next().expect("an operation");
    assert_eq!((kernel.cpus, op.access().map(|access| access.mask)), (2, Some(1)));
    let bytes = binary::write(&core);
    assert_eq!(binary::read(&bytes, "a.wtrb").expect("what was written"), core);
    assert!(text::write(&core).contains(" lds 0 cpus 2\n"), "{}", text::write(&core));
    let wrong = [
        (trace("1,0,0", 1, "B"), "line 4: wave 1 of a block on a CPU core, which has wave 0 only"),
        (
            trace("1,0,0", 0, "S 4 0x1000+4 =7 m=2"),
            "line 5: mask 2 has no lane, or one beyond the 1 of a wave",
        ),
        (trace("1,0,0", 0, "X %1 4 0x0"), "line 5: \"X\" on a CPU core, which has no scratchpad"),
        (trace("1,0,0", 0, "B").replace("cpus 2", "cpus 4"), "line 2: 4 blocks on CPU cores, of a grid of 3"),
    ];
    for (text, problem) in wrong {
        assert_eq!(read(text), Err(format!("a.wtrace, {problem}")));
    }
    // The same of a compute unit is legal.
    read(trace("2,0,0", 1, "X %1 4 0x0 m=2")).expect("a trace");
    let at = bytes.iter().position(|byte| *byte == 2).expect("the kind of step");
    let refused = |cpus: u8| {
        let mut bytes = bytes.clone();
        bytes[at + 1] = cpus;
        binary::read(&bytes, "a.wtrb").map_err(|e| e.to_string())
    };
    let problem = "a.wtrb, byte 50: 4 blocks on CPU cores, of a grid of 3";
    assert_eq!(refused(4), Err(problem.to_string()));
}

#[test]
fn vectoradd_is_what_its_origin_says() {
    let import = accel_sim::read(&vectoradd()).expect("the trace");
    assert_eq!(import.unknown, std::collections::BTreeMap::new());
    let kernel = import.trace.kernels().next().expect("a kernel");
    assert_eq!((import.trace.kernels().count(), kernel.blocks(), kernel.waves_per_block), (1, 196, 8));
    let ops: Vec<TraceOp> =
        (0..kernel.waves.len()).flat_map(|w| kernel.ops(w).flatten().collect::<Vec<_>>()).collect();
    let count = |holds: fn(&TraceOp) -> bool| ops.iter().filter(|op| holds(op)).count();
    let (loads, stores) =
        (count(|op| matches!(op, TraceOp::Load { .. })), count(|op| matches!(op, TraceOp::Store { .. })));
    assert_eq!(loads + stores, 4689, "{loads} loads, {stores} stores");
    let lanes: u32 = ops
        .iter()
        .filter_map(|op| match op {
            TraceOp::Store { access, .. } => Some(access.mask.count_ones()),
            _ => None,
        })
        .sum();
    assert_eq!(lanes, 50_000, "one store per element");
}

#[test]
fn a_trace_runs_and_its_memory_is_judged() {
    let program = TraceProgram::new("vectoradd", read(&vectoradd()).expect("the trace")).expect("a program");
    let run = run(&program, Order::Mixed(1)).expect("it ends");
    program.verify(&|addr, count| run.memory.read(addr, count)).expect("every store is there");
    assert_eq!((run.stats.kernels, run.stats.host_bytes), (1, 400_000));
    // An element of the third vector: the sum of the other two.
    let at = program.arrays()[0].addr + 0x61c00 + 4 * 1000;
    let damaged = |addr: u64, count: usize| {
        let mut bytes = run.memory.read(addr, count);
        if (addr..addr + count as u64).contains(&at) {
            bytes[(at - addr) as usize] ^= 1;
        }
        bytes
    };
    let error = program.verify(&damaged).expect_err("a byte is wrong");
    assert_eq!((error.wrong, error.total), (1, 200_000));
}

const WRONG: &[(&str, u64, &str)] = &[
    ("", 1, "\"weft-trace 1\" is expected"),
    ("weft-trace 2\n", 1, "\"2\" where \"1\" is expected"),
    ("weft-trace 1\nlanes 65\n", 2, "1 to 64 are legal"),
    ("weft-trace 1\nkernel K grid 2,1 block 32,1,1 lds 0\n", 2, "where x,y,z is expected"),
    ("weft-trace 1\nblock 0,0,0\n", 2, "a block or wave without a kernel"),
    ("weft-trace 1\nkernel K grid 2,1,1 block 32,1,1 lds 0\nblock 2,0,0\n", 3, "outside the grid 2,1,1"),
    ("weft-trace 1\nkernel K grid 2,1,1 block 32,1,1 lds 0\nwave 0\n", 3, "a wave without a block"),
    (
        "weft-trace 1\nkernel K grid 2,1,1 block 32,1,1 lds 0\nblock 0,0,0\nwave 1\n",
        4,
        "wave 1 of a block of 1",
    ),
    (
        "weft-trace 1\nkernel K grid 1,1,1 block 32,1,1 lds 0\nblock 0,0,0\nwave 0\nB\n",
        6,
        "ends inside a wave",
    ),
    (
        "weft-trace 1\nkernel K grid 1,1,1 block 32,1,1 lds 0\nblock 0,0,0\nwave 0\nwave 0\n",
        5,
        "E is expected before",
    ),
    (
        "weft-trace 1\nkernel K grid 1,1,1 block 32,1,1 lds 0\nblock 0,0,0\nwave 0\nL %1 3 0x0\n",
        5,
        "\"3\" where one of 1, 2, 4, 8",
    ),
    (
        "weft-trace 1\nkernel K grid 1,1,1 block 32,1,1 lds 0\nblock 0,0,0\nwave 0\nL %1 4 0x1+4\n",
        5,
        "no multiple of 4",
    ),
    (
        "weft-trace 1\nkernel K grid 1,1,1 block 32,1,1 lds 0\nblock 0,0,0\nwave 0\nL %1 4 [0,4]\n",
        5,
        "2 addresses for 32",
    ),
    (
        "weft-trace 1\nkernel K grid 1,1,1 block 32,1,1 lds 0\nblock 0,0,0\nwave 0\nS 4 0x0\n",
        5,
        "where a value",
    ),
    (
        "weft-trace 1\nkernel K grid 1,1,1 block 32,1,1 lds 0\nblock 0,0,0\nwave 0\nB B\n",
        5,
        "\"B\" is left over",
    ),
    (
        "weft-trace 1\nkernel K grid 1,1,1 block 32,1,1 lds 0\nblock 0,0,0\nwave 0\nL %1 4 0x0 m=0\n",
        5,
        "has no lane",
    ),
    (
        "weft-trace 1\nkernel K grid 1,1,1 block 32,1,1 lds 0\nblock 0,0,0\nwave 0\nL %1 4 0x0 h=ReqW\n",
        5,
        "\"ReqW\" where one of own, ReqV, ReqS,",
    ),
    (
        "weft-trace 1\nkernel K grid 1,1,1 block 32,1,1 lds 0\nblock 0,0,0\nwave 0\nL %1 4 0x0 h=ReqWT,line\n",
        5,
        "ReqWT,line cannot serve a load",
    ),
    (
        "weft-trace 1\nkernel K grid 1,1,1 block 32,1,1 lds 0\nblock 0,0,0\nwave 0\nX %1 4 0x0 h=ReqV\n",
        5,
        "ReqV cannot serve an access to the scratchpad",
    ),
];

#[test]
fn text_that_is_none_is_told_with_its_line_and_what_was_expected() {
    for (words, line, problem) in WRONG {
        let error = text::read(words.as_bytes(), "a.wtrace").expect_err(words).to_string();
        assert!(
            error.starts_with(&format!("a.wtrace, line {line}: ")) && error.contains(problem),
            "{words:?}: {error}"
        );
    }
}

/// A folder with the trace's list and its kernel, changed.
fn changed(change: impl Fn(String) -> String) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy(vectoradd().join("kernelslist.g"), folder.path().join("kernelslist.g")).expect("the list");
    let packed = std::fs::File::open(vectoradd().join("kernel-1.traceg.gz")).expect("the kernel");
    let words = std::io::read_to_string(flate2::read::GzDecoder::new(packed)).expect("text");
    let mut out = std::fs::File::create(folder.path().join("kernel-1.traceg")).expect("a file");
    out.write_all(change(words).as_bytes()).expect("written");
    folder
}

#[test]
fn damaged_imports_are_told_with_their_line() {
    let whole = changed(|words| words);
    assert_eq!(read(whole.path()), read(&vectoradd()), "packed and plain are the same");
    let cases: [(&dyn Fn(String) -> String, &str); 6] = [
        (&|words| words.lines().take(605).map(|l| format!("{l}\n")).collect(), "the file ends after"),
        (
            &|words| words.replacen("LDG.E 1 R4 4 1 0x", "LDG.E 1 R4 4 7 0x", 1),
            "where an address mode (0, 1, 2) is expected",
        ),
        (&|words| words.replacen("insts = 17", "inst = 17", 1), "where \"insts = ...\" is expected"),
        (&|words| words.replacen("thread block = 1,0,0", "thread block = 999,0,0", 1), "is none of the grid"),
        (&|words| words.replacen("ffffffff", "fffffffff", 1), "has more than 32 lanes"),
        (&|words| words.replacen("-grid dim", "-dim", 1), "the header has no \"-grid dim"),
    ];
    for (change, problem) in cases {
        let folder = changed(change);
        let error = read(folder.path()).expect_err(problem).to_string();
        assert!(error.contains("kernel-1.traceg, line ") && error.contains(problem), "{problem}: {error}");
    }
    let cut = tempfile::tempdir().expect("a folder");
    std::fs::copy(vectoradd().join("kernelslist.g"), cut.path().join("kernelslist.g")).expect("the list");
    let packed = std::fs::read(vectoradd().join("kernel-1.traceg.gz")).expect("the kernel");
    std::fs::write(cut.path().join("kernel-1.traceg.gz"), &packed[..packed.len() / 2]).expect("written");
    let error = read(cut.path()).expect_err("half of it").to_string();
    assert!(
        error.contains("kernel-1.traceg.gz, line ") && error.contains("cannot be read to its end"),
        "{error}"
    );
}
