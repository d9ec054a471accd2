//! What a run is said to take of the host's memory, beside what it takes.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::sync::Arc;
use weft_engine::runner::Rewind;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, RunOptions};

/// Most bytes that this process has had.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
}

/// Measured over said, of a program that is run to its end, or so many cycles.
fn ratio(fabric: &str, workload: &str, params: &[(&str, &str)], cycles: u64) -> f64 {
    let config = FabricConfig::load(fabric).expect("built in");
    let params: BTreeMap<String, String> =
        params.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let program = Arc::clone(&config.fit(workload, &params, None).expect("it fits").program);
    // As all commands do it, with two states to go back to.
    let rewind = Some(Rewind { cycles: 1000, wave: "unused.fst".into() });
    let options = RunOptions { rewind, ..RunOptions::default() };
    let mut run = FabricRun::new(&config, program, &options).expect("built");
    run.run_to(cycles).expect("no failure");
    peak() as f64 / run.footprint().bytes() as f64
}

/// Most of it is the state, of which there are two so early: the third comes after some 700 000 cycles.
#[test]
fn hardware_takes_what_is_said() {
    let ratio = ratio("hmg-4gpu", "stencil", &[("n", "64"), ("iterations", "1")], 2_500);
    assert!((0.55..1.1).contains(&ratio), "{ratio}");
}

/// Half of the data are written, by one kernel.
#[test]
fn data_take_what_is_said() {
    let ratio = ratio("tsm-4gpu-small", "mt", &[("n", "1024")], u64::MAX);
    assert!((0.7..1.3).contains(&ratio), "{ratio}");
}
