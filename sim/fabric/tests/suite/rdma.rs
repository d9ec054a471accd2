//! Programs on small RDMA fabrics with all checks on: the results are the host's own, faults are noticed, copies of the host take their time.

use crate::small;

use std::sync::Arc;
use weft_engine::{BackendKind, Design};
use weft_fabric::config::FabricConfig;
use weft_fabric::family::FigureValue;
use weft_fabric::run::{FabricError, FabricRun, Identity, RunOptions, RunReport, design};
use weft_workload::Program;

/// A program whose waves add with atomics and hand the sum on inside a kernel. An old L1 line may hold a sum between two of them: it is one that the word has had among
/// additions without order, so that the check of values cannot call it stale.
const SUMS: &str = "namd";

/// Hardware with its configuration.
struct Fabric {
    /// Its caches are coherent, or each GPU has one L1: what the waves of a GPU hand to one another is never stale.
    alone: bool,
    config: FabricConfig,
    design: Arc<Design>,
}

/// Two GPUs of two compute units with caches of a few lines, and a few entries in their engines.
const TINY: [&str; 13] = [
    "gpus=2",
    "cus=2",
    "banks=2",
    "l1_size=1K",
    "l2_size=8K",
    "il=256",
    "l1_latency=6",
    "link_latency=12",
    "dram_latency=10",
    "rdma_entries=6",
    "rdma_slots=5",
    "l2_mshrs=8",
    "l2_pool=8",
];

/// HMG on two such GPUs.
const TINY_HMG: [&str; 8] = [
    "gpus=2",
    "cus=2",
    "banks=2",
    "l1_size=1K",
    "l2_size=8K",
    "entries=64",
    "l1_latency=6",
    "link_latency=12",
];

impl Fabric {
    fn new(changes: &[&str]) -> Fabric {
        Fabric::of("rdma-4gpu-small", &TINY, changes)
    }

    fn of(name: &str, tiny: &[&str], changes: &[&str]) -> Fabric {
        let mut config = FabricConfig::load(name).expect("built in");
        for change in tiny.iter().chain(changes) {
            config.set(change).unwrap_or_else(|e| panic!("{e}"));
        }
        let design = design(&config, &RunOptions::default()).unwrap_or_else(|e| panic!("{changes:?}: {e}"));
        let alone = config.directory().is_some() || config.common.cus == 1;
        Fabric { alone, config, design }
    }

    fn start(&self, workload: &str, given: &[(&str, &str)]) -> FabricRun {
        let mut params = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        self.config.offer(workload, &mut params);
        let program = weft_workload::build(workload, &params, None).unwrap_or_else(|e| panic!("{e}"));
        let program: Arc<dyn Program> = Arc::from(program);
        FabricRun::on(&self.config, &self.design, program, &RunOptions::default())
            .unwrap_or_else(|e| panic!("{workload}: {e}"))
    }

    fn try_run(&self, workload: &str, given: &[(&str, &str)]) -> Result<RunReport, FabricError> {
        let mut run = self.start(workload, given);
        assert!(run.run_to(3_000_000)?, "{workload}: no end");
        run.finish()
    }

    fn run(&self, workload: &str, given: &[(&str, &str)]) -> RunReport {
        let report = self.try_run(workload, given).unwrap_or_else(|e| panic!("{workload}: {e}"));
        let excused = workload == SUMS && !self.alone;
        assert!(report.verified || excused, "{workload}: {:?}", report.difference);
        report
    }
}

/// Sum of a figure's parts.
fn parts(report: &RunReport, name: &str) -> u64 {
    match report.metrics.get(name) {
        Some(FigureValue::Parts(parts)) => parts.iter().map(|(_, bytes)| bytes).sum(),
        other => panic!("{name}: {other:?}"),
    }
}

/// Programs of several kinds whose waves hand nothing on inside a kernel.
const STRICT: [&str; 6] = ["relu", "mt", "fir", "mm", "atax", "aes"];

#[test]
fn programs_of_several_kinds_are_verified() {
    let fabric = Fabric::new(&[]);
    for (workload, given) in small::SMALL.iter().filter(|(name, _)| STRICT.contains(name)) {
        let report = fabric.run(workload, given);
        assert!(report.verified && report.metrics.count("stale") == 0, "{workload}: {:?}", report.difference);
    }
}

/// HMG on the same GPUs: one module each, homes by a hash, host copies; nothing is ever stale.
#[test]
fn hmg_on_the_same_gpus() {
    let fabric = Fabric::of("hmg-tsm-4gpu-small", &TINY_HMG, &["page=512"]);
    let mut copied = 0;
    for (workload, given) in small::SMALL.iter().filter(|(name, _)| STRICT.contains(name) || *name == "bfs") {
        let report = fabric.run(workload, given);
        assert!(report.verified, "{workload}: {:?}", report.difference);
        copied += report.counters["host.copy_bytes"].value;
    }
    assert!(copied > 10_000, "{copied}");
    let published = FabricConfig::load("hmg-tsm-4gpu").expect("built in");
    let (p, common) = (published.directory().expect("of this family"), &published.common);
    assert_eq!((p.sys.gpms, p.sys.banks, p.dir_entries, p.group), (1, 8, 16384, 4));
    assert_eq!((p.link.bytes_per_cycle, 2 * p.link.latency, p.sys.line), (32, 140, 64));
    assert_eq!((common.host_link_bytes, common.scopes, p.write_back), (32, false, false));
}

#[test]
fn placement_decides_what_crosses_the_switch() {
    let crossed = |placement: &str| {
        let fabric = Fabric::new(&[&format!("placement={placement}"), "page=512"]);
        let report = fabric.run("relu", &[("length", "4096")]);
        assert!(report.verified, "{placement}: {:?}", report.difference);
        let m = &report.metrics;
        let kinds = ["rdma_reads", "rdma_writes", "rdma_atomics"].map(|kind| m.count(kind));
        assert_eq!(m.count("rdma_transactions"), kinds.iter().sum::<u64>(), "{placement}");
        let bytes = [parts(&report, "bytes_rdma"), parts(&report, "bytes_rdma_back")];
        // A read has 12 bytes and its answer 80; a store of a line 76 and 12.
        assert_eq!(bytes[1], 80 * kinds[0] + 12 * kinds[1], "{placement}");
        assert_eq!(bytes[0], 12 * kinds[0] + 76 * kinds[1], "{placement}");
        assert_eq!(m.real("rdma_latency") > 24.0, kinds[0] > 0, "{placement}");
        m.count("rdma_transactions")
    };
    let [block, round, hash, single] = ["block", "page_rr", "page-hash", "single"].map(crossed);
    assert_eq!(block, 0, "each GPU works on its own part");
    assert!(round > 0 && hash > 0 && single >= round, "{round} {hash} {single}");
}

/// What a stream crosses the switch with, and what memory has to do for it, written back or not.
#[test]
fn written_arrays_lie_where_they_are_told() {
    let elements = 8192;
    let counts = |changes: &[&str]| {
        let report = Fabric::new(changes).run("relu", &[("length", "8192")]);
        ["rdma_transactions", "dram_transactions", "dram_reads"].map(|name| report.metrics.count(name))
    };
    let lines = elements * 4 / 64;
    assert_eq!(counts(&["placement=block"]), [0, 2 * lines, lines], "each GPU has its parts");
    let out = counts(&["placement=block", "placement_written=page_rr"]);
    assert_eq!(out, [lines / 2, 2 * lines, lines], "half of what is written goes to the other GPU");
    assert_eq!(counts(&["placement=page_rr"]), [lines, 2 * lines, lines], "half of all");
}

#[test]
fn copies_of_the_host_take_their_time() {
    let run = |changes: &[&str]| Fabric::new(changes).run("relu", &[("length", "4096")]);
    let (without, with) = (run(&["host_link_bytes=0"]), run(&["host_link_bytes=8", "host_link_latency=50"]));
    let copy = |report: &RunReport| ["host_copy_bytes", "host_copy_cycles"].map(|f| report.metrics.count(f));
    assert_eq!(copy(&without), [0, 0]);
    let [bytes, cycles] = copy(&with);
    // 16 KB in and 16 KB out, half of each for each GPU.
    assert_eq!((bytes, cycles), (2 * 16384, 2 * (16384 / 2 / 8 + 50)));
    assert_eq!(with.kernels[0].start - without.kernels[0].start, cycles / 2, "before the first kernel");
    let after = |report: &RunReport| report.cycles - report.kernels.last().expect("a kernel").end;
    assert_eq!(after(&with) - after(&without), cycles / 2, "after the last");
    let record = |report: &RunReport| report.config.get("host_link_bytes").is_some();
    assert_eq!(
        (record(&without), record(&with)),
        (false, true),
        "a record without copies says nothing of them"
    );
    assert!(!without.counters.keys().any(|counter| counter.starts_with("host.")));
}

/// A launch before the kernel, the wait for it behind: the kernel itself is the same but for the cycles in which a fabric that has just been
/// reset begins.
#[test]
fn calls_of_the_host_take_their_time() {
    let own = ["host_link_bytes=0"];
    let run = |changes: &[&str]| Fabric::new(&[&own, changes].concat()).run("relu", &[("length", "2048")]);
    let reports = [&[][..], &["call_launch=700", "call_sync=90", "call_copy=5"], &["runtime=cuda"]].map(run);
    let parts = reports.each_ref().map(|report| {
        let [kernel] = &report.kernels[..] else { panic!("one kernel: {:?}", report.kernels) };
        (kernel.start, kernel.end - kernel.start, report.cycles - kernel.end)
    });
    let [(start, length, after), dear, cuda] = parts;
    assert_eq!((dear.0 - start, dear.2 - after), (700, 90));
    assert_eq!((cuda.0 - start, cuda.2 - after), (900, 5800), "0.9 and 5.8 us at 1 GHz");
    assert!([dear.1, cuda.1].iter().all(|other| other.abs_diff(length) < 10), "{parts:?}");
    let counted = reports.each_ref().map(|report| {
        ["host.calls", "host.call_cycles"].map(|name| report.counters.get(name).map(|counter| counter.value))
    });
    assert_eq!(counted, [[None, None], [Some(2), Some(790)], [Some(2), Some(6700)]]);
    let moved = reports.each_ref().map(|report| report.metrics.count("dram_transactions"));
    assert!(moved[0] > 0 && moved == [moved[0]; 3], "{moved:?}");
    let record = reports.each_ref().map(|report| report.config.get("runtime").is_some());
    assert_eq!(record, [false, true, true], "a record without calls says nothing of them");
}

#[test]
fn a_run_goes_on_from_the_middle() {
    let fabric = Fabric::new(&["placement=page_rr", "page=512"]);
    let given: &[(&str, &str)] = &[("length", "4096")];
    let whole = fabric.run("relu", given);
    // In the first copy, in the kernel, in the last copy.
    for at in [100, whole.cycles / 2, whole.cycles - 100] {
        let mut first = fabric.start("relu", given);
        first.run_to(at).expect("right so far");
        let program = weft_workload::build("relu", &Default::default(), None).expect("legal");
        let (params, native) = (Default::default(), BackendKind::Native);
        let identity = Identity::new(&fabric.config, program.as_ref(), params, native, None, None);
        let snapshot = first.snapshot(std::path::Path::new("unused"), identity).expect("plain state");
        let mut second = fabric.start("relu", given);
        second.resume(&snapshot).expect("of this fabric");
        assert!(second.run_to(whole.cycles + 10).expect("right"));
        let report = second.finish().expect("right");
        assert_eq!((report.cycles, &report.metrics), (whole.cycles, &whole.metrics), "from {at}");
    }
}

#[test]
fn the_published_fabric_is_that_of_its_file() {
    let published = FabricConfig::load("rdma-4gpu").expect("built in");
    published.validate().expect("can be built");
    assert_eq!(published.rdma(), Some(weft_mgcc::rdma::RdmaFabricParams::default()));
    let record = published.to_json();
    assert_eq!((&record["family"], &record["host_link_bytes"]), (&"rdma".into(), &32.into()));
    let back: FabricConfig = serde_json::from_value(record.clone()).expect("all keys are known");
    assert_eq!(back.to_json(), record);
    let small = FabricConfig::load("rdma-4gpu-small").expect("built in").rdma().expect("of the family");
    let tsm = FabricConfig::load("tsm-4gpu-small").expect("built in").tsm().expect("of its family");
    let sizes = (small.l1_size, small.l2_size, small.rdma.tsm.cus, small.l1_latency, small.l2_latency);
    assert_eq!(sizes, (tsm.l1_size, tsm.l2_size, tsm.tsm.cus, tsm.l1_latency, tsm.l2_latency));
    let hits = (small.rdma.tsm.l1_mshrs, small.rdma.tsm.l2_mshrs, small.l1_pool, small.l2_pool);
    assert_eq!(hits, (tsm.tsm.l1_mshrs, tsm.tsm.l2_mshrs, tsm.l1_pool, tsm.l2_pool));
}

/// Values of keys and combinations that cannot be built, with what is said of them.
#[test]
fn what_cannot_be_built_is_refused() {
    let cases: [(&[&str], &str); 9] = [
        (&["gpus=1"], "--set: gpus = 1: it is too small; legal: a power of two in 2..16"),
        (&["gpms=2"], "--set: gpms = 2: it is too large; legal: 1..1"),
        (&["rdma_entries=0"], "--set: rdma_entries = 0: it is too small; legal: 1..256"),
        (&["protocol=hmg"], "--set: protocol = hmg: there is no such choice; legal: rdma"),
        (&["rd_lease=3"], "--set: key rd_lease belongs to family tsm, and this fabric is of family rdma"),
        (&["model=sc"], "--set: model = sc: the L1s keep release consistency"),
        (&["l2_size=96K"], "--set: l2_size = 98304: it is not banks * l2_ways * line"),
        (&["addr_bits=32"], "published value: dram_bytes = 4294967296: the memory of all GPUs is larger"),
        (
            &["placement=first-touch"],
            "x: host_link_bytes = 2: with placement = first-touch pages lie nowhere when the host copies",
        ),
    ];
    for (changes, sentence) in cases {
        let mut config = FabricConfig::load("rdma-4gpu-small").expect("built in");
        let set = changes.iter().try_for_each(|change| config.set(change));
        let error = set.and_then(|()| config.validate()).expect_err(sentence).to_string();
        let said = error.split_once(": ").map_or("", |(_, said)| said);
        let want = sentence.split_once(": ").map_or("", |(_, said)| said);
        assert!(said.starts_with(want), "\n said: {error}\n want: {sentence}");
    }
}

/// But for `lock`, whose work-groups hand plain data on inside a kernel, which nothing keeps coherent here.
#[test]
fn long_every_program() {
    let alone = ["placement=page-hash", "page=512", "cus=1", "blocks=32"];
    for changes in
        [&["placement=page_rr"][..], &["placement=page-hash", "rdma_entries=1", "page=512"], &alone]
    {
        let fabric = Fabric::new(changes);
        for (workload, given) in small::SMALL.iter().filter(|(name, _)| *name != "lock") {
            fabric.run(workload, given);
        }
    }
}

#[test]
fn long_every_program_under_hmg() {
    let fabric = Fabric::of("hmg-tsm-4gpu-small", &TINY_HMG, &["page=512"]);
    for (workload, given) in small::SMALL {
        fabric.run(workload, given);
    }
}
