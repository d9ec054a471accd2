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
    let whole = fabric.run("memcpy");
    let copy = whole.kernels.iter().find(|k| k.name == "copy").expect("a copy");
    let mut first = fabric.start("memcpy");
    first.run_to((copy.start + copy.end) / 2).expect("right so far");
    let program = fabric.program("memcpy");
    let identity =
        Identity::new(&fabric.config, program.as_ref(), Default::default(), BackendKind::Native, None, None);
    let snapshot = first.snapshot(Path::new("unused"), identity).expect("plain state");
    let mut second = fabric.start("memcpy");
    second.resume(&snapshot).expect("of this fabric");
    assert!(second.run_to(whole.cycles + 10).expect("right"));
    let report = second.finish().expect("right");
    assert_eq!((report.cycles, &report.metrics), (whole.cycles, &whole.metrics));
    assert_eq!(counter(&report, "copy.bytes"), counter(&whole, "copy.bytes"));
}
