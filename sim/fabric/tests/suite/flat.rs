//! The flat GPU in the configurations of cu-and-consistency.md section 4: GPU coherence against DeNovo.

use crate::small::cpu_gpu;
use crate::spandex::locks;

use locks::Locks;
use std::sync::Arc;
use weft_engine::Design;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, RunOptions, RunReport, design};
use weft_workload::Program;

/// Configurations of the table.
const CONFIGS: [(&str, &[&str]); 9] = [
    ("GD", &[]),
    ("GH", &["scopes=true"]),
    ("DD", &["protocol=s-denovo-denovo"]),
    ("DD+RO", &["protocol=s-denovo-denovo", "ro_regions=true"]),
    ("DH", &["protocol=s-denovo-denovo", "scopes=true"]),
    ("GD1", &["model=drf1"]),
    ("DD1", &["protocol=s-denovo-denovo", "model=drf1"]),
    ("GDR", &["model=drfrlx"]),
    ("DDR", &["protocol=s-denovo-denovo", "model=drfrlx"]),
];

/// Caches and buffers of a few lines, so that everything is short of room.
const TINY: [&str; 9] = [
    "banks=2",
    "l1_size=1K",
    "l1_ways=2",
    "l1_mshrs=4",
    "l1_sb=4",
    "l1_wbb=2",
    "llc_size=16K",
    "llc_tbes=4",
    "dram_latency=20",
];

struct Fabric {
    config: FabricConfig,
    design: Arc<Design>,
}

impl Fabric {
    /// One of the configurations with other changes.
    fn new(name: &str, changes: &[&str]) -> Fabric {
        let (_, keys) = CONFIGS.iter().find(|c| c.0 == name).expect("a configuration");
        let mut config = FabricConfig::load("flat-gpu-small").expect("built in");
        for change in keys.iter().chain(changes) {
            config.set(change).unwrap_or_else(|e| panic!("{e}"));
        }
        let design = design(&config, &RunOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        Fabric { config, design }
    }

    fn run(&self, program: Arc<dyn Program>) -> RunReport {
        let name = program.name().to_owned();
        let run = FabricRun::on(&self.config, &self.design, program, &RunOptions::default());
        let mut run = run.unwrap_or_else(|e| panic!("{name}: {e}"));
        let ended = run.run_to(5_000_000).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(ended, "{name} has no end");
        let report = run.finish().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(report.verified, "{name}: {:?}", report.difference);
        report
    }

    fn workload(&self, name: &str, given: &[(&str, &str)]) -> RunReport {
        let mut params = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        self.config.offer(name, &mut params);
        self.run(Arc::from(weft_workload::build(name, &params, None).unwrap_or_else(|e| panic!("{e}"))))
    }
}

/// Programs with a thread on the CPU core, and locks that everybody takes, with no room anywhere.
#[test]
fn programs_in_every_configuration() {
    for (name, _) in CONFIGS {
        let fabric = Fabric::new(name, &TINY);
        for (workload, given) in cpu_gpu::CPU_GPU.iter().filter(|w| ["reuse-o", "hsti", "tqh"].contains(&w.0))
        {
            let given: Vec<(&str, &str)> =
                given.iter().map(|(k, v)| if *k == "cpu_threads" { (*k, "1") } else { (*k, *v) }).collect();
            fabric.workload(workload, &given);
        }
        fabric.run(Arc::new(Locks::new(7, 8, (1, 3), false)));
    }
}

/// Locks and words that a CU has for itself, interleaved with those of the others in every line: with scopes everything stays in the L1, and reaches memory when the kernel ends.
#[test]
fn what_a_cu_has_for_itself_is_synchronised_in_its_l1() {
    for (changes, seeds) in [(&[][..], 1..3), (&TINY[..], 3..6)] {
        let [gd, gh, dd, dh] = ["GD", "GH", "DD", "DH"].map(|name| Fabric::new(name, changes));
        for seed in seeds {
            let run = |fabric: &Fabric| fabric.run(Arc::new(Locks::new(seed, 8, (0, 3), true)));
            let [gd, gh, dd, dh] = [&gd, &gh, &dd, &dh].map(run);
            assert!(gh.cycles < gd.cycles && dh.cycles < dd.cycles, "seed {seed}");
            let of = |report: &RunReport, name: &str| report.metrics.count(name);
            assert_eq!((of(&gd, "atomics_here"), of(&gh, "atomics_at_llc")), (0, 0));
            assert!(of(&gh, "atomics_here") > 0 && of(&gd, "atomics_at_llc") > 0);
            assert!(
                of(&gh, "flashes") < of(&gd, "flashes") / 4 && of(&dh, "flashes") < of(&dd, "flashes") / 4
            );
            assert!(of(&gh, "releases") < of(&gd, "releases") / 4);
        }
    }
}

/// A work-group goes to the CU of its number, even if another one has room, and waits for it.
#[test]
fn work_groups_wait_for_their_cus() {
    let fabric = Fabric::new("GD", &["blocks=1", "lanes=64", "lds_bytes=64K"]);
    fabric.workload("mt", &[("n", "75")]);
}

/// Work-groups of a CU that want one word get it together, and give it on when all have had it: the word
/// travels less, and a lock passes within a CU, whose L1 has what it guards. So global synchronisation is
/// faster with DeNovo than with GPU coherence.
#[test]
fn owners_of_a_word_form_a_queue() {
    for workload in ["fam-g", "slm-g"] {
        let run = |name: &str, changes: &[&str]| {
            Fabric::new(name, changes).workload(workload, &[("iterations", "2")])
        };
        let (gpu, joined, alone) = (run("GD", &[]), run("DD", &[]), run("DD", &["denovo_atomics=own"]));
        assert!(joined.cycles < gpu.cycles, "{workload}: {} and {} cycles", joined.cycles, gpu.cycles);
        let of = |name: &str| [&joined, &alone].map(|report| report.metrics.count(name));
        let (joins, forwards) = (of("atomics_joined"), of("llc_forwards"));
        assert!(joins[0] > 0 && joins[1] == 0, "{workload}: {joins:?} atomics join");
        assert!(3 * forwards[0] < 2 * forwards[1], "{workload}: {forwards:?} forwards");
    }
}
