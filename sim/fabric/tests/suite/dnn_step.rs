//! The data-parallel training step on small fabrics, with all checks on: arrays where the program wants them, copies over links.

use std::path::Path;
use std::sync::Arc;
use weft_engine::{BackendKind, Design};
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, Identity, RunOptions, RunReport, design};
use weft_workload::Program;

/// A fabric's hardware with its configuration.
struct Fabric {
    config: FabricConfig,
    design: Arc<Design>,
}

const TWO: [&str; 3] = ["gpus=2", "cus=4", "dram_bytes=4M"];
const STEP: [(&str, &str); 3] = [("scale", "16"), ("batch", "3"), ("steps", "2")];
/// Bytes of 25 x 8, 8 x 4 and 4 x 62 weights.
const WEIGHTS: u64 = 1920;

impl Fabric {
    fn new(name: &str, changes: &[&str]) -> Fabric {
        let mut config = FabricConfig::load(name).expect("built in");
        for change in TWO.iter().chain(changes) {
            config.set(change).unwrap_or_else(|e| panic!("{e}"));
        }
        let design = design(&config, &RunOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        Fabric { config, design }
    }

    fn program(&self, way: &str) -> Arc<dyn Program> {
        let own = [("way", way), ("gpus", "2")];
        let params = STEP.iter().chain(&own).map(|(k, v)| (k.to_string(), v.to_string())).collect();
        weft_workload::build("dnn-step", &params, None).unwrap_or_else(|e| panic!("{e}")).into()
    }

    fn start(&self, way: &str) -> FabricRun {
        FabricRun::on(&self.config, &self.design, self.program(way), &RunOptions::default())
            .unwrap_or_else(|e| panic!("{way}: {e}"))
    }

    fn run(&self, way: &str) -> RunReport {
        let mut run = self.start(way);
        assert!(run.run_to(3_000_000).unwrap_or_else(|e| panic!("{way}: {e}")), "{way}: no end");
        let report = run.finish().unwrap_or_else(|e| panic!("{way}: {e}"));
        assert!(report.verified, "{way}: {:?}", report.difference);
        report
    }
}

fn counter(report: &RunReport, name: &str) -> Option<u64> {
    report.counters.get(name).map(|counter| counter.value)
}

#[test]
fn gpus_with_directories_train_by_copies_and_by_remote_access() {
    let fabric = Fabric::new("rec-4gpu-small", &[]);
    let copied = fabric.run("memcpy");
    assert_eq!(counter(&copied, "copy.copies"), Some(2 * 2));
    assert_eq!(counter(&copied, "copy.bytes"), Some(4 * WEIGHTS));
    let direct = fabric.run("direct");
    assert_eq!((counter(&direct, "copy.copies"), counter(&direct, "copy.bytes")), (None, None));
    fabric.run("tsm");
    let error =
        FabricRun::on(&fabric.config, &fabric.design, fabric.program("zerocopy"), &RunOptions::default());
    let error = error.err().expect("no memory of the host").to_string();
    assert!(error.contains("array images0 is to be in memory of the host"), "{error}");
}

#[test]
fn a_copy_takes_the_time_of_its_link() {
    let copies = |report: &RunReport| -> Vec<u64> {
        report.kernels.iter().filter(|k| k.name == "copy").map(|k| k.end - k.start).collect()
    };
    let slow = copies(&Fabric::new("rec-4gpu-small", &["link_bytes=1", "link_latency=400"]).run("memcpy"));
    assert_eq!(slow.len(), 4);
    for cycles in slow {
        assert!(
            (WEIGHTS + 400..WEIGHTS + 3000).contains(&cycles),
            "{cycles} cycles for {WEIGHTS} bytes at 1 byte per cycle"
        );
    }
}

#[test]
fn gpus_with_one_memory_train_with_every_protocol() {
    for protocol in ["wb-nc-rc", "wt-c-rc"] {
        let fabric = Fabric::new("tsm-4gpu-small", &[&format!("protocol={protocol}")]);
        let shared = fabric.run("tsm");
        let copied = fabric.run("memcpy");
        assert_eq!(counter(&shared, "copy.copies"), None);
        assert_eq!(counter(&copied, "copy.bytes"), Some(4 * WEIGHTS));
        assert!(shared.cycles < copied.cycles, "{protocol}: {} and {}", shared.cycles, copied.cycles);
    }
}

#[test]
fn a_run_goes_on_from_the_middle_of_a_copy() {
    let fabric = Fabric::new("rec-4gpu-small", &["link_bytes=1"]);
    goes_on(&fabric, "memcpy", |whole| {
        let copy = whole.kernels.iter().find(|k| k.name == "copy").expect("a copy");
        (copy.start + copy.end) / 2
    });
}

#[test]
fn a_run_goes_on_while_pages_move() {
    let fabric = Fabric::new("rdma-4gpu-small", &RDMA);
    for way in ["zerocopy", "unified"] {
        goes_on(&fabric, way, |whole| whole.cycles / 2);
    }
}

/// A run saved in a cycle and resumed ends as one that was not.
fn goes_on(fabric: &Fabric, way: &str, saved: impl Fn(&RunReport) -> u64) {
    let whole = fabric.run(way);
    let mut first = fabric.start(way);
    first.run_to(saved(&whole)).expect("right so far");
    let program = fabric.program(way);
    let identity =
        Identity::new(&fabric.config, program.as_ref(), Default::default(), BackendKind::Native, None, None);
    let snapshot = first.snapshot(Path::new("unused"), identity).expect("plain state");
    let mut second = fabric.start(way);
    second.resume(&snapshot).expect("of this fabric");
    assert!(second.run_to(whole.cycles + 10).expect("right"));
    let report = second.finish().expect("right");
    assert_eq!((report.cycles, &report.metrics), (whole.cycles, &whole.metrics));
    for (name, counted) in &whole.counters {
        assert_eq!(counter(&report, name), Some(counted.value), "{way}: {name}");
    }
}

/// Two GPUs of two compute units that reach one another by RDMA.
const RDMA: [&str; 8] = [
    "cus=2",
    "link_bytes=32",
    "banks=2",
    "l1_size=1K",
    "l2_size=8K",
    "fault_cycles=1000",
    "host_link_bytes=16",
    "dram_bytes=64M",
];

#[test]
fn gpus_with_rdma_train_in_every_way() {
    let fabric = Fabric::new("rdma-4gpu-small", &RDMA);
    let all = ["memcpy", "direct", "zerocopy", "unified"].map(|way| fabric.run(way));
    let of = |name: &str| all.each_ref().map(|report| counter(report, name).unwrap_or(0));
    let [copied, direct, zero, unified] = of("copy.copies");
    assert_eq!([copied, direct, zero, unified], [2 * 2, 0, 0, 0]);
    assert_eq!(of("copy.bytes"), [4 * WEIGHTS, 0, 0, 0]);
    // Three images of 25 pixels and their labels, for two GPUs in two steps.
    let sent = 2 * 2 * 3 * (25 + 1) * 4;
    assert_eq!(of("copy.host_bytes"), [sent, sent, 0, 0]);
    let remote = of("engine.rdma_requests");
    assert!(remote[1] > 100 && [remote[0], remote[2], remote[3]] == [0; 3], "{remote:?}");
    let far = of("host.accesses");
    assert!(far[2] > 1000 && [far[0], far[1], far[3]] == [0; 3] && of("host.page_waits")[2] > 0, "{far:?}");
    let (faults, moved) = (of("paging.faults"), of("paging.from_gpu"));
    assert!(faults[3] > moved[3] && moved[3] > 10 && faults[..3] == [0; 3], "{faults:?} {moved:?}");
    assert_eq!(of("paging.bytes_from_gpu")[3], 4096 * moved[3]);
    // No copy before or after, for the program says where its arrays are.
    assert_eq!(of("host.copy_bytes"), [0; 4]);
    let cycles = all.each_ref().map(|report| report.cycles);
    assert!(cycles[2] > 2 * cycles[0] && cycles[3] > 2 * cycles[0], "{cycles:?}");
}

#[test]
fn faults_take_their_time_and_pages_their_size() {
    let cycles = |more: &[&str]| {
        let report = Fabric::new("rdma-4gpu-small", &[&RDMA[..], more].concat()).run("unified");
        let [faults, bytes] = ["paging.faults", "paging.bytes_from_host"].map(|name| counter(&report, name));
        (report.cycles, faults.unwrap_or(0), bytes.unwrap_or(0))
    };
    let (first, faults, _) = cycles(&[]);
    let (slow, slow_faults, _) = cycles(&["fault_cycles=10000"]);
    assert!(slow > first && slow_faults <= faults, "{first} and {slow} cycles");
    // Five pages of arrays; a page of 64 KB has them all.
    let (_, few, bytes) = cycles(&["fault_page=64K"]);
    assert!(few <= faults && bytes == 5 * 4096, "{few} of {faults} faults, {bytes} bytes");
}

#[test]
fn a_product_takes_longer_the_more_of_it_is_remote() {
    let fabric = Fabric::new("rdma-4gpu-small", &RDMA);
    let cycles = |remote: &str| {
        let given = [("n", "48"), ("gpus", "2"), ("remote", remote)];
        let params = given.map(|(k, v)| (k.to_string(), v.to_string())).into();
        let program = weft_workload::build("mm-remote", &params, None).expect("legal");
        let run = FabricRun::on(&fabric.config, &fabric.design, program.into(), &RunOptions::default());
        let mut run = run.unwrap_or_else(|e| panic!("{e}"));
        assert!(run.run_to(3_000_000).unwrap_or_else(|e| panic!("{remote}: {e}")), "{remote}: no end");
        let report = run.finish().unwrap_or_else(|e| panic!("{remote}: {e}"));
        assert!(report.verified, "{remote}: {:?}", report.difference);
        report.cycles
    };
    let all = ["0", "1", "2", "3"].map(cycles);
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
}
