//! Programs with synchronisation of GPU scope on small hierarchical fabrics, in every protocol of hmg.md, with all checks on: the results are the host's own.

use std::sync::Arc;
use weft_engine::Design;
use weft_fabric::config::FabricConfig;
use weft_fabric::family::directory::PROTOCOLS;
use weft_fabric::run::{FabricRun, RunOptions, RunReport, design};

/// Hardware with its configuration: two GPUs of two GPMs, or as `changes` say.
struct Fabric {
    config: FabricConfig,
    design: Arc<Design>,
}

impl Fabric {
    fn new(protocol: &str, changes: &[&str]) -> Fabric {
        let mut config = FabricConfig::load("hmg-4gpu-small").expect("built in");
        let protocol = format!("protocol={protocol}");
        for change in ["gpus=2", "gpms=2", &protocol].iter().chain(changes) {
            config.set(change).unwrap_or_else(|e| panic!("{e}"));
        }
        let design = design(&config, &RunOptions::default()).unwrap_or_else(|e| panic!("{protocol}: {e}"));
        Fabric { config, design }
    }

    /// The same hardware with other settings of what is beside it.
    fn with(&self, change: &str) -> Fabric {
        let mut config = self.config.clone();
        config.set(change).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(config.directory(), self.config.directory(), "{change} changes the hardware");
        Fabric { config, design: self.design.clone() }
    }

    fn run(&self, workload: &str, given: &[(&str, &str)]) -> RunReport {
        let config = &self.config;
        let mut params = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        config.offer(workload, &mut params);
        let program = weft_workload::build(workload, &params, None).unwrap_or_else(|e| panic!("{e}"));
        let at = format!("{}, {workload}", config.get("protocol").expect("a key of this family"));
        let mut run = FabricRun::on(config, &self.design, Arc::from(program), &RunOptions::default())
            .unwrap_or_else(|e| panic!("{at}: {e}"));
        assert!(run.run_to(3_000_000).unwrap_or_else(|e| panic!("{at}: {e}")), "{at}: no end");
        let report = run.finish().unwrap_or_else(|e| panic!("{at}: {e}"));
        assert!(report.verified, "{at}: {:?}", report.difference);
        report
    }
}

const RANKS: &[(&str, &str)] = &[("nodes", "512"), ("edges", "2048"), ("iterations", "2")];
const PATHFINDER: &[(&str, &str)] = &[("columns", "1024"), ("rows", "5")];

/// Rows that follow one another, flags of GPU scope that hand panels on, sums combined by atomics of GPU scope.
fn programs(protocol: &str) -> Fabric {
    let fabric = Fabric::new(protocol, &[]);
    fabric.run("pathfinder", PATHFINDER);
    let report = fabric.run("cusolver", &[("tiles", "4")]);
    let fences = report.counters.iter().filter(|(name, _)| name.contains("fence_unit"));
    assert!(fences.map(|(_, c)| c.value).sum::<u64>() > 0, "{protocol}: releases reach the fence units");
    fabric.run("namd", &[("steps", "1"), ("atoms", "4")]);
    fabric
}

#[test]
fn programs_with_nhcc() {
    programs("nhcc");
}

#[test]
fn programs_with_gpu_vi() {
    programs("gpu-vi");
}

/// Graphs that all 16 GPMs read and rewrite, with directories so small that stores meet groups whose eviction is not acknowledged, and queues of operations
/// that wait for acknowledgements.
#[test]
fn graphs_on_four_gpus_of_four_gpms_with_acknowledged_invalidations() {
    let graph = [("source", "uniform"), ("nodes", "256"), ("edges", "1024")];
    let fabric = Fabric::new("gpu-vi", &["gpus=4", "gpms=4", "entries=4", "ways=2", "page=512"]);
    let mut of_eviction = 0;
    for (workload, more) in [("pagerank", Some(("iterations", "2"))), ("bfs", None), ("mst", None)] {
        let given: Vec<(&str, &str)> = graph.into_iter().chain(more).collect();
        let report = fabric.run(workload, &given);
        let acked = total(&report, "dir.acks");
        let told = total(&report, "dir.write_unicasts") + total(&report, "dir.evict_unicasts0");
        assert!(acked > 0 && acked == told, "{workload}: {acked} acknowledgements of {told} invalidations");
        assert!(total(&report, "dir.queued_ops") > 0, "{workload}: operations wait");
        of_eviction += total(&report, "dir.evict_unicasts0");
    }
    assert!(of_eviction > 0, "entries are evicted");
}

#[test]
fn programs_with_hmg_rec() {
    programs("hmg-rec");
}

#[test]
fn programs_with_sw_flat() {
    programs("sw-flat");
}

#[test]
fn programs_with_sw_hierarchical() {
    programs("sw-hierarchical");
}

#[test]
fn programs_with_no_remote_caching() {
    programs("no-remote-caching");
}

#[test]
fn programs_with_ideal_caches() {
    programs("ideal");
}

#[test]
fn programs_with_hmg_and_every_placement() {
    let fabric = programs("hmg");
    for placement in ["interleave", "static", "page_rr", "single"] {
        fabric.with(&format!("placement={placement}")).run("pathfinder", PATHFINDER);
    }
}

/// Protocols with a test of their own here, or that keep no GPMs coherent.
const TOLD: [&str; 8] =
    ["nhcc", "gpu-vi", "hmg", "hmg-rec", "sw-flat", "sw-hierarchical", "no-remote-caching", "ideal"];

#[test]
fn programs_with_every_other_protocol() {
    let others = PROTOCOLS.iter().filter(|of| of.keeps_modules() && !TOLD.contains(&of.name()));
    others.for_each(|of| drop(programs(of.name())));
}

#[test]
fn long_larger_programs_with_every_protocol() {
    for protocol in PROTOCOLS.iter().filter(|of| of.keeps_modules() || of.ideal()) {
        let fabric = Fabric::new(protocol.name(), &[]);
        fabric.run("pathfinder", &[("columns", "2048"), ("rows", "9")]);
        fabric.run("pagerank", &[("nodes", "512"), ("edges", "4096"), ("iterations", "2")]);
    }
}

/// Graphs whose lines all 16 GPMs read and rewrite, with directories so small that both levels evict ranges and pass invalidations on.
#[test]
fn graphs_on_four_gpus_of_four_gpms_keep_ranges_exact() {
    let graph = [("source", "uniform"), ("nodes", "256"), ("edges", "1024")];
    let fabric = Fabric::new("hmg-rec", &["gpus=4", "gpms=4", "entries=2", "ways=1", "page=512"]);
    let (mut forwarded, mut written) = (0, 0);
    for (workload, more) in [("pagerank", Some(("iterations", "2"))), ("bfs", None), ("mst", None)] {
        let given: Vec<(&str, &str)> = graph.into_iter().chain(more).collect();
        let report = fabric.run(workload, &given);
        let (evictions, slots) = (total(&report, ".evictions"), total(&report, ".evicted_slots"));
        assert!(evictions > 0 && slots > evictions, "{workload}: {slots} lines in {evictions} evictions");
        forwarded += total(&report, ".forwarded_invs");
        written += total(&report, ".write_invs");
    }
    assert!(forwarded > 0 && written > 0, "{forwarded} Invs passed on, {written} stores found a sharer");
}

/// GPUs of one GPM, a single GPU.
const ONE_LEVEL: [[&str; 2]; 2] = [["gpms=1", "gpus=3"], ["gpms=4", "gpus=1"]];

fn of_one_level(protocol: &str, changes: &[&str]) {
    Fabric::new(protocol, changes).run("pathfinder", &[("columns", "1024"), ("rows", "5")]);
}

#[test]
fn hierarchies_of_one_level() {
    of_one_level("hmg", &ONE_LEVEL[0]);
    of_one_level("sw-hierarchical", &ONE_LEVEL[1]);
}

#[test]
fn long_hierarchies_of_one_level_with_every_protocol() {
    for protocol in ["hmg", "hmg-rec", "sw-flat", "sw-hierarchical"] {
        ONE_LEVEL.iter().for_each(|changes| of_one_level(protocol, changes));
    }
}

/// A counter's sum over the blocks whose name ends so.
fn total(report: &RunReport, name: &str) -> u64 {
    report.counters.iter().filter(|(n, _)| n.ends_with(name)).map(|(_, c)| c.value).sum()
}

/// Copies in small caches are evicted all the time; with all checks on, the directories' precision in every 4096th cycle.
#[test]
fn copies_given_up_are_told_and_the_directories_stay_precise() {
    for protocol in ["hmg", "hmg-rec"] {
        let silent = Fabric::new(protocol, &["l2_size=16K"]).run("pagerank", RANKS);
        let told = Fabric::new(protocol, &["l2_size=16K", "downgrade=true"]).run("pagerank", RANKS);
        assert_eq!(total(&silent, ".msgs_down"), 0);
        let downs = (total(&told, ".msgs_down"), total(&told, ".downgrades"));
        assert!(downs.0 > 50 && downs.1 > 50, "{protocol}: Downs sent, sharers removed: {downs:?}");
        let missed =
            |report: &RunReport| total(report, ".l2_inv_miss_evict") + total(report, ".l2_inv_miss_write");
        assert!(missed(&told) < missed(&silent), "{protocol}: {} of {}", missed(&told), missed(&silent));
    }
}

/// Stores stay in the caches on their way until a release: flags of GPU scope and new kernels hand them on, atomics of GPU scope come after them, and
/// results, values, and the directories' precision are right.
fn with_write_back(protocol: &str) {
    let fabric = Fabric::new(protocol, &["l2_policy=write-back"]);
    let programs: [(&str, &[(&str, &str)]); 3] = [
        ("cusolver", &[("tiles", "4")]),
        ("pathfinder", PATHFINDER),
        ("namd", &[("steps", "1"), ("atoms", "4")]),
    ];
    for (workload, given) in programs {
        let report = fabric.run(workload, given);
        let (held, gone) = (total(&report, ".l2_held"), total(&report, ".l2_written_on"));
        assert!(held > 0 && gone > 0, "{protocol} {workload}: {held} stores held, {gone} lines written on");
    }
}

#[test]
fn held_stores_are_handed_on_with_hmg() {
    with_write_back("hmg");
}

#[test]
fn long_held_stores_are_handed_on_under_software_coherence() {
    with_write_back("sw-hierarchical");
}

/// The same with caches so small that lines with dirty bytes displace each other, and together with downgrade.
#[test]
fn small_caches_write_on_what_they_displace() {
    let small = ["l2_size=8K", "l2_ways=4", "l2_policy=write-back"];
    for protocol in ["hmg", "sw-hierarchical"] {
        let report = Fabric::new(protocol, &small).run("pagerank", RANKS);
        assert!(total(&report, ".l2_made_room") > 0, "{protocol}: no store displaces dirty bytes");
    }
    Fabric::new("hmg", &[&small[..], &["downgrade=true"]].concat()).run("pagerank", RANKS);
}
