//! The synchronisation microbenchmarks, the programs of the relaxed-atomics study and the applications of cu-and-consistency.md section 7 on the fabrics that run them.

use crate::small;
use crate::small::relaxed;
use crate::small::sync as small_sync;

use relaxed::RELAXED;
use small::SMALL;
use small_sync::SYNC;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_engine::Design;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, RunOptions, RunReport, design};
use weft_workload::Program;

/// A configuration of a fabric: name, built-in fabric, changes.
type Machine = (&'static str, &'static str, &'static [&'static str]);

const MACHINES: &[Machine] = &[
    ("GD", "flat-gpu-small", &[]),
    ("GH", "flat-gpu-small", &["scopes=true"]),
    ("DD", "flat-gpu-small", &["protocol=s-denovo-denovo"]),
    ("DD+RO", "flat-gpu-small", &["protocol=s-denovo-denovo", "ro_regions=true"]),
    ("DH", "flat-gpu-small", &["protocol=s-denovo-denovo", "scopes=true"]),
    ("GD1", "flat-gpu-small", &["model=drf1"]),
    ("DD1", "flat-gpu-small", &["protocol=s-denovo-denovo", "model=drf1"]),
    ("GDR", "flat-gpu-small", &["model=drfrlx"]),
    ("DDR", "flat-gpu-small", &["protocol=s-denovo-denovo", "model=drfrlx"]),
    ("spandex SMG", "spandex-soc-small", &["cus=2"]),
    ("spandex SO", "spandex-soc-small", &["cus=2", "protocol=s-flex"]),
    ("spandex HMG", "spandex-soc-small", &["cus=2", "protocol=h-mesi-gpu"]),
    ("hmg", "hmg-4gpu-small", &["gpus=2", "gpms=2"]),
    ("rec", "rec-4gpu-small", &["gpus=2", "cus=2", "cus_per_sa=2"]),
    ("srsp", "srsp-64cu-small", &["cus=4", "banks=2"]),
    ("global", "srsp-64cu-small", &["cus=4", "banks=2", "protocol=global"]),
    ("hlrc", "hlrc-128cu-small", &["cus=4", "mesh=2", "banks=2"]),
    ("denovo-b", "hlrc-128cu-small", &["cus=4", "mesh=2", "banks=2", "protocol=denovo-b"]),
    ("tsm", "tsm-4gpu-small", &["gpus=2", "cus=2", "banks=2"]),
];

/// The applications without synchronisation inside kernels.
const APPS: [&str; 10] =
    ["backprop", "pathfinder", "lud", "nw", "sgemm", "stencil3d", "hotspot", "nn", "srad", "lava"];

/// In hLRC a kernel accesses a word by atomics or plainly (srsp.md section 9); these add by atomics to what they read plainly behind a barrier.
const MIXED: [&str; 2] = ["bc-gpu", "pr-push"];

type Params = &'static [(&'static str, &'static str)];

/// All programs with small sizes.
fn programs() -> impl Iterator<Item = (&'static str, Params)> {
    let apps = SMALL.iter().filter(|(name, _)| APPS.contains(name));
    SYNC.iter().chain(RELAXED).chain(apps).copied()
}

struct Fabric {
    name: &'static str,
    config: FabricConfig,
    design: Arc<Design>,
}

impl Fabric {
    fn new(name: &str, more: &[&str]) -> Fabric {
        let (name, fabric, keys) = MACHINES.iter().find(|machine| machine.0 == name).expect("a machine");
        let mut config = FabricConfig::load(fabric).expect("built in");
        for key in keys.iter().chain(more) {
            config.set(key).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        let design = design(&config, &RunOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        Fabric { name, config, design }
    }

    /// A program with its small sizes on the machine as it is.
    fn run(&self, workload: &str) -> RunReport {
        let (_, small) = programs().find(|(name, _)| *name == workload).expect("a program of the lists");
        let of_machine = ["gpus", "gpms", "cus", "line", "lanes"];
        let given = small.iter().filter(|(key, _)| !of_machine.contains(key));
        let mut params: BTreeMap<String, String> =
            given.map(|(key, value)| (key.to_string(), value.to_string())).collect();
        self.config.offer(workload, &mut params);
        weft_workload::supply(workload, &mut params, "lanes", &self.config.common.lanes.to_string());
        let at = format!("{workload} on {}", self.name);
        let program = weft_workload::build(workload, &params, None).unwrap_or_else(|e| panic!("{at}: {e}"));
        let program: Arc<dyn Program> = Arc::from(program);
        let run = FabricRun::on(&self.config, &self.design, program, &RunOptions::default());
        let mut run = run.unwrap_or_else(|e| panic!("{at}: {e}"));
        let ended = run.run_to(10_000_000).unwrap_or_else(|e| panic!("{at}: {e}"));
        assert!(ended, "{at} has no end");
        let report = run.finish().unwrap_or_else(|e| panic!("{at}: {e}"));
        assert!(report.verified, "{at}: {:?}", report.difference);
        report
    }
}

/// What runs on which machine by default: every program somewhere.
const SHORT: &[(&str, &[&str])] = &[
    ("GD", &["spm-g", "histg", "backprop", "lud"]),
    ("GH", &["spm-l", "tb-lg", "ss-l", "uts"]),
    ("DD", &["fam-g", "reference-counter", "pathfinder"]),
    ("DD+RO", &["spmbo-g", "sgemm", "nn"]),
    ("DH", &["slm-l", "tbex-lg", "hotspot"]),
    ("GD1", &["work-queue", "pr-push"]),
    ("DD1", &["flags", "hist"]),
    ("GDR", &["seqlocks", "split-counter"]),
    ("DDR", &["histg-no", "bc-gpu", "srad"]),
    ("spandex SMG", &["ss-l", "bc-gpu", "lava"]),
    ("hmg", &["spmbo-l", "fam-l", "nw"]),
    ("rec", &["slm-g", "stencil3d"]),
    ("srsp", &["bc-gpu", "seqlocks", "ssbo-l"]),
    ("hlrc", &["spm-l", "split-counter"]),
    ("denovo-b", &["spm-g", "split-counter", "bc-gpu"]),
    ("tsm", &["ss-l", "fam-g"]),
];

fn short(name: &str) {
    let (_, programs) = SHORT.iter().find(|(machine, _)| *machine == name).expect("a machine");
    let fabric = Fabric::new(name, &[]);
    programs.iter().for_each(|workload| _ = fabric.run(workload));
}

#[test]
fn every_program_runs_somewhere() {
    let runs = |name: &str| SHORT.iter().any(|(_, programs)| programs.contains(&name));
    assert_eq!(programs().filter(|(name, _)| !runs(name)).collect::<Vec<_>>(), []);
}

#[test]
fn programs_under_gpu_coherence() {
    ["GD", "GH"].into_iter().for_each(short);
}

#[test]
fn programs_under_denovo() {
    ["DD", "DD+RO", "DH"].into_iter().for_each(short);
}

#[test]
fn programs_under_relaxed_models() {
    ["GD1", "DD1", "GDR", "DDR"].into_iter().for_each(short);
}

#[test]
fn programs_beside_cpu_cores() {
    short("spandex SMG");
}

#[test]
fn programs_with_scopes_over_gpms() {
    short("hmg");
}

#[test]
fn programs_over_gpus_with_directories() {
    short("rec");
}

#[test]
fn programs_with_remote_scope_promotion() {
    ["srsp", "hlrc", "denovo-b"].into_iter().for_each(short);
}

#[test]
fn programs_in_shared_memory() {
    short("tsm");
}

/// What compute units count of a lock: all looks, and those that failed.
#[test]
fn counters_tell_of_locks() {
    for (name, workload) in [("GD", "spm-g"), ("GH", "spm-l"), ("srsp", "fam-l")] {
        let report = Fabric::new(name, &[]).run(workload);
        let of = |counter: &str| report.counters[&format!("cu.{counter}")].value;
        let (scope, other) = if workload.ends_with("-l") { ("cu", "gpu") } else { ("sys", "gpu") };
        let [acquires, cycles] = ["", "_cycles"].map(|end| of(&format!("acquires_access_{scope}{end}")));
        assert!(acquires > 0 && cycles >= acquires, "{name}");
        assert_eq!(of(&format!("acquires_access_{other}")), 0, "{name}");
        assert_eq!((of("acquires_kernel_sys") > 0, of("acquires_fence_sys")), (true, 0), "{name}");
        let failed = of("failed_locks");
        assert!(failed > 0, "{name}");
        match workload {
            "fam-l" => assert_eq!((of("failed_swaps"), acquires > failed), (0, true)),
            _ => assert_eq!((of("failed_swaps"), of("amos_p")), (failed, acquires), "{name}"),
        }
        assert!(of("loads_p") + of("amos_p") >= acquires, "{name}");
    }
}

fn long(names: &[&str]) {
    for name in names {
        let fabric = Fabric::new(name, &[]);
        let fits = |workload: &str| *name != "hlrc" || !MIXED.contains(&workload);
        programs().filter(|(workload, _)| fits(workload)).for_each(|(workload, _)| _ = fabric.run(workload));
    }
}

#[test]
fn long_all_programs_on_the_flat_gpu() {
    long(&["GD", "GH", "DD", "DD+RO", "DH"]);
}

#[test]
fn long_all_programs_under_relaxed_models() {
    long(&["GD1", "DD1", "GDR", "DDR"]);
}

#[test]
fn long_all_programs_beside_cpu_cores() {
    long(&["spandex SMG", "spandex SO", "spandex HMG"]);
}

#[test]
fn long_all_programs_over_gpus() {
    long(&["hmg", "rec", "tsm"]);
}

#[test]
fn long_all_programs_with_scopes() {
    long(&["srsp", "global", "hlrc", "denovo-b"]);
}
