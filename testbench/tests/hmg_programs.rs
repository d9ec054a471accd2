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

const PROTOCOLS: [&str; 7] =
    ["nhcc", "hmg", "hmg-rec", "sw-flat", "sw-hierarchical", "no-remote-caching", "ideal"];

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
    for protocol in ["hmg", "hmg-rec", "sw-hierarchical"] {
        run(protocol, "namd", &[("steps", "1"), ("atoms", "4")], &[]);
    }
}

#[test]
fn rows_follow_one_another() {
    for protocol in PROTOCOLS {
        run(protocol, "pathfinder", &[("columns", "2048"), ("rows", "9")], &[]);
    }
}

#[test]
fn rows_lie_where_each_placement_puts_them() {
    for placement in ["interleave", "static", "page_rr", "single"] {
        run("hmg", "pathfinder", &[("columns", "2048"), ("rows", "9")], &[&format!("placement={placement}")]);
    }
}

/// Graphs whose lines all 16 GPMs read and rewrite, with directories so small that both levels evict ranges and pass invalidations on.
#[test]
fn graphs_on_four_gpus_of_four_gpms_keep_ranges_exact() {
    let graph = [("source", "uniform"), ("nodes", "256"), ("edges", "1024")];
    let small = ["gpus=4", "gpms=4", "entries=2", "ways=1", "page=512"];
    let (mut forwarded, mut written) = (0, 0);
    for (workload, more) in [("pagerank", Some(("iterations", "2"))), ("bfs", None), ("mst", None)] {
        let given: Vec<(&str, &str)> = graph.into_iter().chain(more).collect();
        let report = run("hmg-rec", workload, &given, &small);
        let (evictions, slots) = (total(&report, ".evictions"), total(&report, ".evicted_slots"));
        assert!(evictions > 0 && slots > evictions, "{workload}: {slots} lines in {evictions} evictions");
        forwarded += total(&report, ".forwarded_invs");
        written += total(&report, ".write_invs");
    }
    assert!(forwarded > 0 && written > 0, "{forwarded} Invs passed on, {written} stores found a sharer");
}

/// One GPM per GPU, and one GPU.
#[test]
fn hierarchies_of_one_level() {
    for protocol in ["hmg", "hmg-rec", "sw-flat", "sw-hierarchical"] {
        run(protocol, "pathfinder", &[("columns", "1024"), ("rows", "5")], &["gpms=1", "gpus=3"]);
        run(protocol, "pathfinder", &[("columns", "1024"), ("rows", "5")], &["gpms=4", "gpus=1"]);
    }
}

/// A counter's sum over the blocks whose name ends so.
fn total(report: &RunReport, name: &str) -> u64 {
    report.counters.iter().filter(|(n, _)| n.ends_with(name)).map(|(_, c)| c.value).sum()
}

/// Copies in small caches are evicted all the time; with all checks on, the directories' precision in every 4096th cycle.
#[test]
fn copies_given_up_are_told_and_the_directories_stay_precise() {
    let given = [("nodes", "512"), ("edges", "4096"), ("iterations", "2")];
    for protocol in ["hmg", "hmg-rec"] {
        let silent = run(protocol, "pagerank", &given, &["l2_size=16K"]);
        let told = run(protocol, "pagerank", &given, &["l2_size=16K", "downgrade=true"]);
        assert_eq!(total(&silent, ".msgs_down"), 0);
        let downs = (total(&told, ".msgs_down"), total(&told, ".downgrades"));
        assert!(downs.0 > 50 && downs.1 > 50, "{protocol}: Downs sent, sharers removed: {downs:?}");
        let missed =
            |report: &RunReport| total(report, ".l2_inv_miss_evict") + total(report, ".l2_inv_miss_write");
        assert!(missed(&told) < missed(&silent), "{protocol}: {} of {}", missed(&told), missed(&silent));
    }
}

/// Stores stay in the caches on their way until a release: results, values, and the directories' precision are right.
fn with_write_back(protocol: &str, workload: &str, given: &[(&str, &str)]) {
    let report = run(protocol, workload, given, &["l2_policy=write-back"]);
    let (held, gone) = (total(&report, ".l2_held"), total(&report, ".l2_written_on"));
    assert!(held > 0 && gone > 0, "{protocol} {workload}: {held} stores held, {gone} lines written on");
}

#[test]
fn held_stores_are_handed_on_by_flags_of_gpu_scope() {
    with_write_back("hmg", "cusolver", &[("tiles", "4")]);
}

#[test]
fn held_stores_are_handed_on_under_software_coherence() {
    with_write_back("sw-hierarchical", "cusolver", &[("tiles", "4")]);
}

#[test]
fn held_stores_go_before_atomics_of_gpu_scope() {
    with_write_back("hmg", "namd", &[("steps", "1"), ("atoms", "4")]);
}

#[test]
fn held_stores_are_there_in_the_next_kernel() {
    with_write_back("hmg", "pathfinder", &[("columns", "2048"), ("rows", "9")]);
}

/// The same with caches so small that lines with dirty bytes displace each other, and together with downgrade.
#[test]
fn small_caches_write_on_what_they_displace() {
    let given = [("nodes", "512"), ("edges", "4096"), ("iterations", "2")];
    for protocol in ["hmg", "sw-hierarchical"] {
        let changes = ["l2_size=8K", "l2_ways=4", "l2_policy=write-back"];
        let report = run(protocol, "pagerank", &given, &changes);
        assert!(total(&report, ".l2_made_room") > 0, "{protocol}: no store displaces dirty bytes");
    }
    run("hmg", "pagerank", &given, &["l2_size=8K", "l2_ways=4", "l2_policy=write-back", "downgrade=true"]);
}
