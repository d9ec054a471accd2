//! A family runs programs without anything outside its folder knowing it.

use crate::config::{FabricConfig, all_keys};
use crate::run::{FabricRun, Identity, RunOptions, RunReport};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use weft_engine::BackendKind;
use weft_workload::Program;

const FILE: &str = "family = \"toy\"\ndelay = 7\n";

fn toy(more: &str) -> Result<FabricConfig, String> {
    let parsed = FabricConfig::parse(&format!("{FILE}{more}"), "toy", "toy.toml");
    parsed.and_then(|config| config.validate().map(|()| config)).map_err(|e| e.to_string())
}

fn fir() -> Arc<dyn Program> {
    let settings = [("samples", "600"), ("blocks", "3"), ("lanes", "16")];
    let settings: BTreeMap<String, String> = settings.map(|(k, v)| (k.into(), v.into())).into();
    Arc::from(weft_workload::build("fir", &settings, None).expect("legal"))
}

fn run(config: &FabricConfig) -> FabricRun {
    run_of(config, fir())
}

fn run_of(config: &FabricConfig, program: Arc<dyn Program>) -> FabricRun {
    let options = RunOptions { backend: BackendKind::Interp, ..RunOptions::default() };
    FabricRun::new(config, program, &options).expect("builds")
}

fn counter(report: &RunReport, name: &str) -> u64 {
    report.counters.get(name).map_or(0, |counter| counter.value)
}

fn step(way: &str) -> Arc<dyn Program> {
    let settings = [("scale", "16"), ("batch", "2"), ("steps", "2"), ("gpus", "2"), ("way", way)];
    let settings = settings.map(|(k, v)| (k.into(), v.into())).into();
    Arc::from(weft_workload::build("dnn-step", &settings, None).expect("legal"))
}

/// What a record says of a run, without its speed.
fn record(report: &RunReport) -> Value {
    let mut record = serde_json::to_value(report).expect("plain data");
    for key in ["wall_seconds", "cycles_per_second"] {
        record.as_object_mut().expect("an object").remove(key);
    }
    record
}

#[test]
fn keys_belong_to_families() {
    let config = toy("gpus = 4").expect("legal");
    assert_eq!((config.common.gpus, config.get("delay")), (4, Some(7.into())));
    assert_eq!(config.get("range"), None);
    assert_eq!(
        toy("range = 2048").expect_err("foreign"),
        "toy.toml line 3: key range belongs to family directory, and this fabric is of family toy"
    );
    let mut directory = FabricConfig::load("rec-4gpu-small").expect("built in");
    assert_eq!(
        directory.set("delay=3").expect_err("foreign").to_string(),
        "--set: key delay belongs to family toy, and this fabric is of family directory"
    );
    assert_eq!(
        toy("gpus = 3").expect_err("adapted"),
        "toy.toml line 3: gpus = 3: it is no power of two; legal: a power of two in 1..4"
    );
    assert_eq!(
        toy("gpms = 2").expect_err("combination"),
        "toy.toml line 3: gpms = 2: a toy has no modules; legal: 1"
    );
    assert!(directory.set("gpus=3").is_ok(), "other families' ranges stay");
    assert!(all_keys().iter().any(|key| key.name == "delay"));
}

#[test]
fn a_record_names_the_family() {
    let config = toy("").expect("legal");
    let json = config.to_json();
    assert_eq!((json["family"].as_str(), json["cus"].as_u64()), (Some("toy"), Some(2)));
    let mut again: FabricConfig = serde_json::from_value(json.clone()).expect("a record is read");
    assert_eq!(again.to_json(), json);
    again.places.clear();
    assert_eq!(again.of, config.of);
}

#[test]
fn a_program_runs_with_the_checks_and_figures_of_its_family() {
    let mut run = run(&toy("").expect("legal"));
    assert!(run.run_to(1_000_000).expect("no check fails"), "it ends");
    let report = run.finish().expect("no check fails");
    assert_eq!((report.verified, &report.difference), (true, &None));
    let count = |name| report.metrics.count(name);
    assert_eq!(report.summary[1..], [("loads", count("loads").to_string())]);
    // All that come after something on the four compute units: what kernels and host copies have done is handed on.
    let later = report.kernels.iter().skip(1).filter(|kernel| kernel.name != "host copy").count() as u64;
    assert!(report.kernels.len() as u64 > later + 1, "the host copies too");
    assert_eq!(count("handed"), 4 * later);
    assert!(count("timed") > count("loads") && count("loads") > 0);
    assert!(report.counters["memory.accesses"].value > count("loads"));
}

#[test]
fn a_snapshot_goes_on() {
    let config = toy("").expect("legal");
    let mut whole = run(&config);
    assert!(whole.run_to(1_000_000).expect("runs"));
    let whole = whole.finish().expect("runs");
    let mut first = run(&config);
    assert!(!first.run_to(whole.cycles / 2).expect("runs"));
    let program = fir();
    let identity = Identity::new(&config, &*program, BTreeMap::new(), BackendKind::Interp, None, None);
    let snapshot = first.snapshot(Path::new("toy.snapshot"), identity).expect("saved");
    let mut second = run(&config);
    second.resume(&snapshot).expect("of the same fabric");
    assert!(second.run_to(1_000_000).expect("runs"));
    assert_eq!(record(&second.finish().expect("runs")), record(&whole));
}

#[test]
fn memory_of_the_host_is_reached_over_its_link() {
    let mut run = run_of(&toy("").expect("legal"), step("zerocopy"));
    assert!(run.run_to(10_000_000).expect("no check fails"), "it ends");
    let report = run.finish().expect("no check fails");
    assert_eq!((report.verified, &report.difference), (true, &None));
    let accesses = counter(&report, "host.accesses");
    assert!(accesses > 1000 && counter(&report, "host.page_waits") > 0, "{accesses}");
    assert!(counter(&report, "host.bytes_down") > 12 * accesses);
    assert_eq!(counter(&report, "paging.faults"), 0);
}

#[test]
fn pages_move_to_the_gpu_that_accesses_them() {
    let mut run = run_of(&toy("dram_bytes = \"64M\"").expect("legal"), step("unified"));
    assert!(run.run_to(100_000_000).expect("no check fails"), "it ends");
    let report = run.finish().expect("no check fails");
    assert_eq!((report.verified, &report.difference), (true, &None));
    // Images and labels share a page of 8 KB, weights and a gradient do; two gradients remain.
    let [host, gpu] = ["paging.from_host", "paging.from_gpu"].map(|name| counter(&report, name));
    assert_eq!(counter(&report, "paging.faults"), host + gpu);
    assert!(host > 0 && gpu > host, "{host} and {gpu}");
    assert!(report.cycles > 300 * gpu / 2, "{} cycles", report.cycles);
    assert_eq!(counter(&report, "host.accesses"), 0);
}

#[test]
fn a_snapshot_goes_on_while_pages_move() {
    let config = toy("dram_bytes = \"64M\"").expect("legal");
    for way in ["unified", "zerocopy"] {
        let mut whole = run_of(&config, step(way));
        assert!(whole.run_to(100_000_000).expect("runs"));
        let whole = whole.finish().expect("runs");
        let mut first = run_of(&config, step(way));
        assert!(!first.run_to(whole.cycles / 2).expect("runs"));
        let identity = Identity::new(&config, &*step(way), BTreeMap::new(), BackendKind::Interp, None, None);
        let snapshot = first.snapshot(Path::new("toy.snapshot"), identity).expect("saved");
        let mut second = run_of(&config, step(way));
        second.resume(&snapshot).expect("of the same fabric");
        assert!(second.run_to(100_000_000).expect("runs"));
        assert_eq!(record(&second.finish().expect("runs")), record(&whole), "{way}");
    }
}
