//! Spandex as the last-level cache of several GPUs: programs under every protocol, traffic between GPUs, what cannot be built.

use crate::small::cpu_gpu;

use std::sync::Arc;
use weft_engine::Design;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, RunOptions, RunReport, design};
use weft_workload::Program;

/// Hardware with its configuration.
struct Fabric {
    config: FabricConfig,
    design: Arc<Design>,
}

/// The classes of traffic.
const CLASSES: [&str; 8] = ["reqv", "reqs", "reqwt", "reqo", "reqwt_data", "reqo_data", "reqwb", "probe"];

impl Fabric {
    fn new(changes: &[&str]) -> Fabric {
        let mut config = FabricConfig::load("spandex-4gpu-small").expect("built in");
        changes.iter().for_each(|change| config.set(change).unwrap_or_else(|e| panic!("{e}")));
        let design = design(&config, &RunOptions::default()).unwrap_or_else(|e| panic!("{changes:?}: {e}"));
        Fabric { config, design }
    }

    /// Every run: its result is right, the checks at rest agree, and what classes have is what meshes and links carry.
    fn run(&self, workload: &str, given: &[(&str, &str)]) -> RunReport {
        let mut params = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        self.config.offer(workload, &mut params);
        let program = weft_workload::build(workload, &params, None).unwrap_or_else(|e| panic!("{e}"));
        let program: Arc<dyn Program> = Arc::from(program);
        let mut run = FabricRun::on(&self.config, &self.design, program, &RunOptions::default())
            .unwrap_or_else(|e| panic!("{workload}: {e}"));
        assert!(run.run_to(5_000_000).unwrap_or_else(|e| panic!("{workload}: {e}")), "{workload}: no end");
        let report = run.finish().unwrap_or_else(|e| panic!("{workload}: {e}"));
        assert!(report.verified, "{workload}: {:?}", report.difference);
        for (all, part) in [("flit_hops", "flits"), ("link_bytes", "link")] {
            let of_class = |class: &&str| report.metrics.count(&format!("{part}_{class}"));
            let classes: u64 = CLASSES.iter().map(of_class).sum();
            assert_eq!(classes, report.metrics.count(all), "{workload}: {all}");
        }
        report
    }
}

/// The small input of a program with CPU threads.
fn of(workload: &str) -> &'static [(&'static str, &'static str)] {
    cpu_gpu::CPU_GPU.iter().find(|(name, _)| *name == workload).map(|(_, given)| *given).expect("it is there")
}

/// The same with a CPU thread and more than a work-group on every GPU.
fn on_all_gpus(given: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let wider = |&(key, value): &(&'static str, &'static str)| match key {
        "cpu_threads" => (key, "4"),
        "blocks" => (key, "6"),
        _ => (key, value),
    };
    given.iter().map(wider).collect()
}

/// Protocols, each with a test that runs every other program.
const PROTOCOLS: [&str; 7] =
    ["s-mesi-gpu", "s-mesi-denovo", "s-denovo-gpu", "s-denovo-denovo", "s-flex", "s-flex-pred", "s-gpu-gpu"];

/// Every other program with CPU threads, the others under the next protocol.
fn half_of_programs(protocol: &str) {
    let number = PROTOCOLS.iter().position(|name| *name == protocol).expect("a protocol");
    programs(protocol, |place| (place + number).is_multiple_of(2));
}

#[test]
fn long_all_programs_under_every_protocol() {
    PROTOCOLS.iter().for_each(|protocol| programs(protocol, |_| true));
}

/// Programs with CPU threads, by their place in the list, with every check on.
fn programs(protocol: &str, wanted: impl Fn(usize) -> bool) {
    let fabric = Fabric::new(&[&format!("protocol={protocol}")]);
    assert!(fabric.config.common.checks, "happens-before, and owners and sharers at rest");
    let mut owned = 0;
    let chosen = cpu_gpu::CPU_GPU.iter().enumerate().filter(|(place, _)| wanted(*place));
    for (_, (workload, given)) in chosen {
        let m = fabric.run(workload, &on_all_gpus(given)).metrics;
        assert!(m.count("link_bytes") > 0 && m.count("l1_atomics") > 0, "{workload}");
        owned += m.count("owned_at_rest");
    }
    // With GPU coherence everywhere nobody owns a word.
    assert_eq!(owned > 0, protocol != "s-gpu-gpu", "{owned}");
}

#[test]
fn programs_under_mesi_and_gpu_coherence() {
    half_of_programs("s-mesi-gpu");
}

#[test]
fn programs_under_mesi_and_denovo() {
    half_of_programs("s-mesi-denovo");
}

#[test]
fn programs_under_denovo_and_gpu_coherence() {
    half_of_programs("s-denovo-gpu");
}

#[test]
fn programs_under_denovo() {
    half_of_programs("s-denovo-denovo");
}

#[test]
fn programs_under_flex() {
    half_of_programs("s-flex");
}

#[test]
fn programs_under_flex_with_prediction() {
    half_of_programs("s-flex-pred");
}

#[test]
fn programs_under_gpu_coherence() {
    half_of_programs("s-gpu-gpu");
}

/// Caches, buffers and links of a few lines, wherever pages lie.
#[test]
fn small_buffers_and_every_placement() {
    let tiny = ["cus=2", "banks=2", "l1_size=1K", "l1_ways=2", "l1_mshrs=4", "l1_sb=4", "l1_wbb=2"];
    let llc = ["llc_size=4K", "llc_ways=4", "llc_tbes=4", "llc_stalls=6", "dram_latency=20"];
    for (placement, link) in [
        ("first-touch", ["link_bytes=1", "link_latency=4", "link_credits=1"]),
        ("block", ["link_bytes=16", "link_latency=600", "link_credits=200"]),
        ("interleave", ["link_bytes=40", "link_latency=20", "link_credits=3"]),
    ] {
        let placement = format!("placement={placement}");
        let fabric = Fabric::new(&[&tiny[..], &llc, &link, &[&placement]].concat());
        for workload in ["pr", "hsti", "trns", "flex-owt"] {
            fabric.run(workload, of(workload));
        }
    }
}

/// With two GPUs, and with meshes of one node.
#[test]
fn other_numbers_of_gpus() {
    for changes in
        [&["gpus=2"][..], &["gpus=2", "cpus=2", "cus=1", "banks=1", "mesh=1", "mesh_rows=1", "llc_size=64K"]]
    {
        let fabric = Fabric::new(changes);
        for workload in ["bc", "tqh"] {
            fabric.run(workload, of(workload));
        }
    }
    let alone = Fabric::new(&["gpus=1", "cpus=2"]);
    assert_eq!(alone.run("pr", of("pr")).metrics.count("link_bytes"), 0);
}

/// Pages that lie with one GPU are read over the links by the others; slower links make a program slower.
#[test]
fn links_and_placement_matter() {
    let run = |changes: &[&str]| {
        let report = Fabric::new(changes).run("pr", of("pr"));
        (report.cycles, report.metrics.count("link_bytes"))
    };
    let (near, far) =
        (run(&["link_latency=20", "link_bytes=16"]), run(&["link_latency=2000", "link_bytes=16"]));
    assert!(near.0 < far.0, "{near:?} {far:?}");
    let narrow = run(&["link_latency=20", "link_bytes=1"]);
    assert!(near.0 < narrow.0, "{near:?} {narrow:?}");
}

#[test]
fn what_cannot_be_built_is_refused() {
    let cases: [(&[&str], &str); 9] = [
        (&["gpus=3"], "gpus = 3: "),
        (&["protocol=h-mesi-gpu"], "gpus = 4: the GPU L2 and the directory of a hierarchical system"),
        (&["cpus=6"], "cpus = 6: every GPU has as many cores; legal: a multiple of gpus = 4"),
        (&["cpus=2"], "cpus = 2: every GPU has as many cores"),
        (&["cus=17"], "cus = 17: 4 GPUs have more than 64 CUs then; legal: 1..16"),
        (&["banks=32"], "banks = 32: 4 GPUs have more than 64 banks then; legal: 1..16"),
        (
            &["link_latency=7"],
            "link_latency = 7: half of it is on either side of the switch; legal: an even number",
        ),
        (&["link_bytes=0"], "link_bytes = 0: "),
        (&["addr_bits=32", "dram_bytes=2G"], "dram_bytes = "),
    ];
    for (changes, sentence) in cases {
        let mut config = FabricConfig::load("spandex-4gpu-small").expect("built in");
        let set = changes.iter().try_for_each(|change| config.set(change));
        let error = set.and_then(|()| config.validate()).expect_err(sentence).to_string();
        assert!(error.contains(sentence), "\n said: {error}\n want: {sentence}");
    }
}

#[test]
fn the_full_size_is_as_its_file_says() {
    let config = FabricConfig::load("spandex-4gpu").expect("built in");
    config.validate().expect("can be built");
    let shape = config.hardware().shape();
    assert_eq!((shape.nodes, shape.cus, shape.cores, shape.homes), (4, 18, 8, 4));
}
