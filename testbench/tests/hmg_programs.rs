//! Programs with synchronisation of GPU scope on small hierarchical fabrics, in every protocol of hmg.md, with all checks on: the results are the host's own.

use std::sync::Arc;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, RunOptions, RunReport};

/// A program on two GPUs of two GPMs (or as `changes` say).
fn run(protocol: &str, workload: &str, given: &[(&str, &str)], changes: &[&str]) -> RunReport {
    let mut config = FabricConfig::load("hmg-4gpu-small").expect("built in");
    let protocol_key = format!("protocol={protocol}");
    for change in ["gpus=2", "gpms=2", "scopes=true", &protocol_key].iter().chain(changes) {
        config.set(change).unwrap_or_else(|e| panic!("{e}"));
    }
    let mut params = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    weft_workload::offer(workload, &mut params, config.gpus, config.gpms * config.cus);
    let program = weft_workload::build(workload, &params, None).unwrap_or_else(|e| panic!("{e}"));
    let at = format!("{protocol}, {workload} {changes:?}");
    let mut run = FabricRun::new(&config, Arc::from(program), &RunOptions::default())
        .unwrap_or_else(|e| panic!("{at}: {e}"));
    assert!(run.run_to(3_000_000).unwrap_or_else(|e| panic!("{at}: {e}")), "{at}: no end");
    let report = run.finish().unwrap_or_else(|e| panic!("{at}: {e}"));
    assert!(report.verified, "{at}: {:?}", report.difference);
    report
}

const PROTOCOLS: [&str; 6] = ["nhcc", "hmg", "sw-flat", "sw-hierarchical", "no-remote-caching", "ideal"];

#[test]
fn flags_of_gpu_scope_hand_panels_on() {
    for protocol in PROTOCOLS {
        let report = run(protocol, "cusolver", &[("tiles", "4")], &[]);
        let fences = report.counters.iter().filter(|(name, _)| name.contains("fence_unit"));
        assert!(fences.map(|(_, c)| c.value).sum::<u64>() > 0, "{protocol}: releases reach the fence units");
    }
}

#[test]
fn sums_are_combined_by_atomics_of_gpu_scope() {
    for protocol in ["hmg", "sw-hierarchical"] {
        run(protocol, "namd", &[("steps", "1"), ("atoms", "4")], &[]);
    }
}

#[test]
fn rows_follow_one_another_with_every_placement() {
    for protocol in PROTOCOLS {
        run(protocol, "pathfinder", &[("columns", "2048"), ("rows", "9")], &[]);
    }
    for placement in ["interleave", "static", "page_rr", "single"] {
        run("hmg", "pathfinder", &[("columns", "2048"), ("rows", "9")], &[&format!("placement={placement}")]);
    }
}

/// One GPM per GPU, and one GPU.
#[test]
fn hierarchies_of_one_level() {
    for protocol in ["hmg", "sw-flat", "sw-hierarchical"] {
        run(protocol, "pathfinder", &[("columns", "1024"), ("rows", "5")], &["gpms=1", "gpus=3"]);
        run(protocol, "pathfinder", &[("columns", "1024"), ("rows", "5")], &["gpms=4", "gpus=1"]);
    }
}
