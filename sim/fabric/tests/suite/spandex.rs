//! Programs on small Spandex fabrics: CPU threads beside work-groups under every protocol, and what the rest of the programs need of an L1.

use crate::small::cpu_gpu;
pub(crate) mod locks;
mod messages;
pub(crate) mod script;
use crate::small;

use locks::Locks;
use messages::{Message, Writer};
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

/// Two cores and three CUs with caches, buffers and tables of a few lines.
const TINY: [&str; 14] = [
    "cus=3",
    "banks=2",
    "l1_size=1K",
    "l1_ways=2",
    "l1_mshrs=4",
    "l1_sb=4",
    "l1_wbb=2",
    "llc_size=8K",
    "llc_ways=4",
    "llc_tbes=4",
    "llc_stalls=6",
    "gpu_l2_size=4K",
    "gpu_l2_ways=4",
    "dram_latency=20",
];

/// Figures of the traffic's classes.
const CLASSES: [&str; 8] = [
    "flits_reqv",
    "flits_reqs",
    "flits_reqwt",
    "flits_reqo",
    "flits_reqwt_data",
    "flits_reqo_data",
    "flits_reqwb",
    "flits_probe",
];

/// Every protocol.
const PROTOCOLS: [&str; 9] = [
    "s-mesi-gpu",
    "s-mesi-denovo",
    "s-denovo-gpu",
    "s-denovo-denovo",
    "s-flex",
    "s-flex-pred",
    "s-gpu-gpu",
    "h-mesi-gpu",
    "h-mesi-denovo",
];

impl Fabric {
    fn new(changes: &[&str]) -> Fabric {
        let mut config = FabricConfig::load("spandex-soc-small").expect("built in");
        for change in TINY.iter().chain(changes) {
            config.set(change).unwrap_or_else(|e| panic!("{e}"));
        }
        let design = design(&config, &RunOptions::default()).unwrap_or_else(|e| panic!("{changes:?}: {e}"));
        Fabric { config, design }
    }

    /// Every run: its result is right, and what enters the mesh, by class and counted from outside, is what the links carry.
    fn run(&self, workload: &str, given: &[(&str, &str)]) -> RunReport {
        let report = self.try_run(workload, given).unwrap_or_else(|e| panic!("{workload}: {e}"));
        assert!(report.verified, "{workload}: {:?}", report.difference);
        let of_class = |name: &&str| report.metrics.count(name);
        assert_eq!(
            CLASSES.iter().map(of_class).sum::<u64>(),
            report.metrics.count("flit_hops"),
            "{workload}"
        );
        report
    }

    fn try_run(&self, workload: &str, given: &[(&str, &str)]) -> Result<RunReport, String> {
        let mut params = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        self.config.offer(workload, &mut params);
        let program = weft_workload::build(workload, &params, None).unwrap_or_else(|e| panic!("{e}"));
        self.try_program(Arc::from(program), 5_000_000)
    }

    /// Runs a program for so many cycles at most.
    fn try_program(&self, program: Arc<dyn Program>, cycles: u64) -> Result<RunReport, String> {
        let mut run = FabricRun::on(&self.config, &self.design, program, &RunOptions::default())
            .map_err(|e| e.to_string())?;
        let ended = run.run_to(cycles).map_err(|e| e.to_string())?;
        if !ended {
            return Err("no end".into());
        }
        run.finish().map_err(|e| e.to_string())
    }
}

#[test]
fn programs_with_cpu_threads_under_every_protocol() {
    for protocol in PROTOCOLS {
        let fabric = Fabric::new(&[&format!("protocol={protocol}")]);
        for (workload, given) in cpu_gpu::CPU_GPU {
            let m = fabric.run(workload, given).metrics;
            assert!(m.count("l1_atomics") > 0 && m.count("flit_hops") > 0, "{workload}");
            // With atomics at the LLC and GPU coherence in the CUs, nothing need be owned twice.
            if !["s-gpu-gpu", "s-denovo-gpu"].contains(&protocol) {
                assert!(m.count("llc_inv") + m.count("llc_rvko") + m.count("llc_forwards") > 0, "{workload}");
            }
        }
    }
}

/// Classes that a protocol does not use have no flits, and those that it does have some.
#[test]
fn traffic_is_that_of_the_protocol() {
    let classes = |changes: &[&str], workload: &str| {
        let m = Fabric::new(changes).run(workload, of(workload)).metrics;
        CLASSES
            .iter()
            .filter(|name| m.count(name) > 0)
            .map(|name| &name["flits_".len()..])
            .collect::<Vec<_>>()
    };
    assert_eq!(classes(&["protocol=s-gpu-gpu"], "reuse-o"), ["reqv", "reqwt", "reqwt_data"]);
    let all = ["reqv", "reqs", "reqwt", "reqwt_data", "reqo_data", "reqwb", "probe"];
    assert_eq!(classes(&[], "reuse-o"), all);
    // Of DeNovo nothing is written through; under SDG the CUs do that, and cores' atomics go the same way.
    let sdd = classes(&["protocol=s-denovo-denovo"], "reuse-o");
    assert!(sdd.contains(&"reqo") && sdd.contains(&"reqo_data") && !sdd.contains(&"reqwt"), "{sdd:?}");
    let sdg = classes(&["protocol=s-denovo-gpu"], "reuse-o");
    assert!(sdg.contains(&"reqo") && sdg.contains(&"reqwt") && !sdg.contains(&"reqs"), "{sdg:?}");
    let smd = classes(&["protocol=s-mesi-denovo"], "reuse-o");
    assert!(smd.contains(&"reqs") && smd.contains(&"reqo") && !smd.contains(&"reqwt"), "{smd:?}");
    for option in ["opt1", "opt2", "opt3"] {
        assert!(classes(&[&format!("reqs_policy={option}")], "reuse-s").contains(&"reqs"), "{option}");
    }
}

/// The small input of a program with CPU threads.
fn of(workload: &str) -> &'static [(&'static str, &'static str)] {
    cpu_gpu::CPU_GPU.iter().find(|(name, _)| *name == workload).map(|(_, given)| *given).expect("it is there")
}

/// Programs that run with each of a list of keys.
#[derive(Clone, Copy)]
enum Programs {
    /// A third of them, others with the next keys: the default suite.
    Third,
    /// All.
    All,
}

/// Runs programs of these names with each of the keys.
fn with_keys(all: &[&[&str]], names: &[&str], programs: Programs) {
    for (number, changes) in all.iter().enumerate() {
        let fabric = Fabric::new(changes);
        let named = cpu_gpu::CPU_GPU.iter().filter(|(workload, _)| names.contains(workload));
        for (place, (workload, given)) in named.enumerate() {
            if matches!(programs, Programs::All) || (place + number).is_multiple_of(3) {
                fabric.run(workload, given);
            }
        }
    }
}

#[test]
fn keys_of_coherence() {
    keys_of_llc(Programs::Third);
    keys_of_denovo(Programs::Third);
    keys_of_flex(Programs::Third);
}

#[test]
fn long_keys_of_coherence_with_all_programs() {
    keys_of_llc(Programs::All);
    keys_of_denovo(Programs::All);
    keys_of_flex(Programs::All);
}

/// Every key of the LLC and the L1s that changes what they do.
fn keys_of_llc(programs: Programs) {
    let changes: [&[&str]; 6] = [
        &["reqs_policy=opt1", "sharer_mode=broadcast"],
        &["reqs_policy=opt2", "flex_rsp=false"],
        &["reqs_policy=opt3", "rvko_gran=word"],
        &[
            "sb_drain=highwater",
            "n_fail=3",
            "cpu_mlp=4",
            "controllers=1",
            "llc_latency=0",
            "llc_data_latency=9",
        ],
        &["sb_drain=eager", "hop=1", "ni=0", "cu_ticks=20"],
        &["mesh=3", "mesh_rows=1", "hop=8", "ni=20", "cu_ticks=1"],
    ];
    with_keys(&changes, &["pr", "hsti", "flex-odwtd"], programs);
}

/// The same of DeNovo L1s.
fn keys_of_denovo(programs: Programs) {
    let (smd, sdg, sdd) = ("protocol=s-mesi-denovo", "protocol=s-denovo-gpu", "protocol=s-denovo-denovo");
    let hmd = "protocol=h-mesi-denovo";
    let changes: [&[&str]; 10] = [
        &[smd, "reqs_policy=opt1", "sharer_mode=broadcast", "ro_regions=true"],
        &[smd, "reqs_policy=opt2", "flex_rsp=false", "sb_drain=eager"],
        &[smd, "reqs_policy=opt3", "rvko_gran=word", "denovo_atomics=through"],
        &[sdg, "denovo_atomics=own", "sb_drain=highwater", "n_fail=3", "cpu_mlp=4"],
        &[sdg, "rvko_gran=word", "flex_rsp=false", "l1_latency=3"],
        &[sdd, "sb_drain=eager", "hop=1", "ni=0", "cu_ticks=20", "ro_regions=true"],
        &[sdd, "denovo_atomics=through", "sb_drain=highwater", "n_fail=7", "cpu_mlp=4"],
        &[hmd, "denovo_atomics=through", "rvko_gran=word", "flex_rsp=false", "gpu_l2_size=1K", "n_fail=3"],
        &[hmd, "sb_drain=eager", "ro_regions=true", "l1_size=256", "l1_mshrs=1", "l1_sb=1", "l1_wbb=1"],
        &[sdd, "l1_size=256", "l1_mshrs=1", "l1_sb=1", "l1_wbb=1", "l1_targets=1", "l1_releases=1"],
    ];
    with_keys(&changes, &["pr", "hsti", "flex-odwtd", "reuse-o", "tqh", "rsct"], programs);
}

/// The same of Flex L1s and their units.
fn keys_of_flex(programs: Programs) {
    let (so, pred) = ("protocol=s-flex", "protocol=s-flex-pred");
    let changes: [&[&str]; 7] = [
        &[so, "reqs_policy=opt1", "sharer_mode=broadcast", "sb_drain=highwater", "n_fail=3", "cpu_mlp=4"],
        &[so, "reqs_policy=opt2", "flex_rsp=false", "sb_drain=eager"],
        &[so, "reqs_policy=opt3", "rvko_gran=word", "l1_latency=3"],
        &[so, "l1_size=256", "l1_mshrs=1", "l1_sb=1", "l1_wbb=1", "l1_targets=1", "l1_releases=1"],
        &[pred, "opred=table", "hop=1", "ni=0", "cu_ticks=20"],
        &[pred, "opred=table", "reqs_policy=opt1", "flex_rsp=false", "sb_drain=eager"],
        &[pred, "opred=off", "rvko_gran=word", "n_fail=2", "mesh=3", "mesh_rows=1"],
    ];
    let all = cpu_gpu::CPU_GPU.iter().map(|(workload, _)| *workload);
    with_keys(&changes, &all.collect::<Vec<_>>(), programs);
}

/// The oracle names owners, a table guesses them: some requests go to them directly, and of those that an oracle names few are refused.
#[test]
fn likely_owners_are_asked_directly() {
    let named = |p: &&(&str, &[(&str, &str)])| ["flex-owt", "indirection"].contains(&p.0);
    for (opred, direct) in [("oracle", true), ("table", true), ("off", false)] {
        let fabric = Fabric::new(&["protocol=s-flex-pred", &format!("opred={opred}")]);
        let given = cpu_gpu::CPU_GPU.iter().filter(named);
        let runs: Vec<_> = given.map(|(workload, given)| fabric.run(workload, given).metrics).collect();
        let sum = |name: &str| runs.iter().map(|m| m.count(name)).sum::<u64>();
        assert_eq!(sum("direct") > 0, direct, "{opred}");
        let few = opred != "oracle" || 2 * sum("direct_refused") <= sum("direct");
        assert!(few, "{} of {} refused", sum("direct_refused"), sum("direct"));
    }
}

#[test]
fn programs_without_cpu_threads() {
    for protocol in ["s-mesi-gpu", "s-denovo-denovo"] {
        let fabric = Fabric::new(&[&format!("protocol={protocol}")]);
        for (workload, given) in small::SMALL {
            if ["bfs", "transpose", "pagerank", "fir"].contains(workload) {
                fabric.run(workload, &[given, &[("lanes", "16")][..]].concat());
            }
        }
    }
}

#[test]
fn more_threads_than_cores_are_refused() {
    let fabric = Fabric::new(&[]);
    let threads = [("values", "500"), ("cpu_threads", "3"), ("blocks", "2")];
    let error = fabric.try_run("hsti", &threads).map(|r| r.cycles).expect_err("two cores");
    assert!(error.contains("3 threads for CPU cores") && error.contains("cpu_threads"), "{error}");
    let mut config = FabricConfig::load("srsp-64cu-small").expect("built in");
    config.set("cus=4").expect("legal");
    let design = design(&config, &RunOptions::default()).expect("can be built");
    let error = Fabric { config, design }.try_run("hsti", &threads).map(|r| r.cycles).expect_err("no cores");
    assert!(error.contains("the fabric has 0 of them"), "{error}");
}

#[test]
fn the_published_fabric_is_that_of_its_file() {
    let published = FabricConfig::load("spandex-soc").expect("built in");
    published.validate().expect("can be built");
    assert_eq!(published.of, published.of.published(), "the keys' defaults are the published system");
    let record = published.to_json();
    let back: FabricConfig = serde_json::from_value(record.clone()).expect("all keys are known");
    assert_eq!(back.to_json(), record);
}

#[test]
fn what_cannot_be_built_is_refused() {
    let cases: [(&[&str], &str); 7] = [
        (
            &["protocol=s-flex", "opred=table"],
            "--set: opred = table: owners are guessed with protocol s-flex-pred only",
        ),
        (&["gpus=16"], "--set: gpus = 16: "),
        (&["protocol=hmg"], "--set: protocol = hmg: there is no such choice; legal: s-mesi-gpu"),
        (&["model=sc"], "--set: model = sc: the L1s synchronise by the order of an access"),
        (&["l1_size=3K"], "--set: l1_size = 3072: "),
        (&["ro_regions=true"], "--set: ro_regions = true: only DeNovo L1s keep lines of read-only arrays"),
        (&["mesh=17"], "--set: mesh = 17: it is too large"),
    ];
    for (changes, sentence) in cases {
        let mut config = FabricConfig::load("spandex-soc-small").expect("built in");
        let set = changes.iter().try_for_each(|change| config.set(change));
        let error = set.and_then(|()| config.validate()).expect_err(sentence).to_string();
        let said = error.split_once(": ").map_or("", |(_, said)| said);
        let want = sentence.split_once(": ").map_or("", |(_, said)| said);
        assert!(said.starts_with(want), "\n said: {error}\n want: {sentence}");
    }
}

/// Whether a run is judged wrong, and how: it ends with an error, or its result differs.
fn judged(fabric: &Fabric, workload: &str, given: &[(&str, &str)]) -> Option<String> {
    wrong(fabric.try_run(workload, given))
}

fn wrong(run: Result<RunReport, String>) -> Option<String> {
    match run {
        Ok(report) if report.verified => None,
        Ok(report) => Some(format!("result: {}", report.difference.unwrap_or_default())),
        Err(said) => Some(said),
    }
}

/// Faults of blocks that a small program shows: protocol, fault, program, a part of what is said.
const SLIPS: [(&str, &str, &str, &str); 4] = [
    ("s-mesi-gpu", "llc-early-ack", "pr", "llc_ack_expected"),
    ("s-mesi-gpu", "llc-forgotten-sharer", "bc", "happens-before: cu "),
    ("s-mesi-gpu", "llc-forgotten-sharer", "rsct", "owners and sharers at rest: device 0 has line"),
    ("h-mesi-denovo", "l3-forgotten-sharer", "pr", "owners and sharers at rest: client 0 has line"),
];

#[test]
fn faults_of_blocks_are_noticed() {
    for (protocol, slip, workload, words) in SLIPS {
        let changes = [format!("protocol={protocol}"), format!("inject={slip}")];
        let fabric = Fabric::new(&[&changes[0], &changes[1], "watchdog=20000"]);
        let said = judged(&fabric, workload, of(workload)).unwrap_or_else(|| "nothing is noticed".into());
        assert!(said.contains(words), "{slip}: {said}");
    }
}

/// A line of four nodes with a bank each that serves one miss at a time, slowly.
const LINE_OF_BANKS: [&str; 13] = [
    "cus=4",
    "banks=4",
    "mesh=4",
    "mesh_rows=1",
    "hop=1",
    "llc_tbes=2",
    "llc_latency=0",
    "dram_latency=400",
    "l1_mshrs=16",
    "l1_sb=16",
    "l1_size=8K",
    "l1_ways=8",
    "watchdog=20000",
];

/// Ten words in lines of the farthest bank, a flag beside the writer; the receiver looks after 200 ticks for the first time.
fn message(writer: Writer) -> Arc<dyn Program> {
    Arc::new(Message::new(writer, 10, (2, 4, 4), 200))
}

#[test]
fn a_message_arrives_whole_under_every_protocol() {
    for protocol in PROTOCOLS {
        let fabric = Fabric::new(&[&LINE_OF_BANKS[..], &[&format!("protocol={protocol}")]].concat());
        for writer in [Writer::Core, Writer::Cu] {
            assert_eq!(wrong(fabric.try_program(message(writer), 50_000)), None, "{protocol}, {writer:?}");
        }
    }
}

/// No other program has a flag that comes so much earlier than its data.
#[test]
fn a_release_that_does_not_wait_is_noticed() {
    let slips = [
        ("s-mesi-gpu", "gpu-l1-early-release", Writer::Cu),
        ("s-mesi-gpu", "mesi-l1-early-release", Writer::Core),
        ("h-mesi-gpu", "mesi-l1-early-release", Writer::Core),
    ];
    for (protocol, slip, writer) in slips {
        let changes = [format!("protocol={protocol}"), format!("inject={slip}")];
        let fabric = Fabric::new(&[&LINE_OF_BANKS[..], &[&changes[0], &changes[1]]].concat());
        let said =
            wrong(fabric.try_program(message(writer), 50_000)).unwrap_or_else(|| "nothing is noticed".into());
        assert!(said.contains("happens-before: cu 5 reads"), "{protocol}, {slip}: {said}");
    }
}

/// Caches of a few lines.
const CROWDED: [&str; 9] = [
    "hop=8",
    "l1_size=256",
    "l1_ways=2",
    "llc_size=1K",
    "llc_ways=2",
    "gpu_l2_size=1K",
    "gpu_l2_ways=2",
    "banks=2",
    "watchdog=20000",
];

/// Lines of the program of locks, and seeds that are tried.
const LINES: u64 = 24;
const SEEDS: u64 = 32;

impl Fabric {
    fn crowded(protocol: &str, slip: &str) -> Fabric {
        let changes = [format!("protocol={protocol}"), format!("inject={slip}")];
        Fabric::new(&[&CROWDED[..], &[&changes[0], &changes[1]]].concat())
    }

    fn under_locks(&self, seed: u64) -> Result<RunReport, String> {
        self.try_program(Arc::new(Locks::new(seed, LINES, (2, 3), false)), 200_000)
    }
}

#[test]
fn words_under_locks_under_every_protocol() {
    for protocol in PROTOCOLS {
        let fabric = Fabric::crowded(protocol, "none");
        for seed in 0..2 {
            let report = fabric.under_locks(seed);
            let compared = report.as_ref().map_or(0, |r| r.metrics.count("owned_at_rest"));
            assert_eq!(wrong(report), None, "{protocol}, seed {seed}");
            // What CUs own stays theirs to the end.
            let owns = protocol.ends_with("denovo");
            assert!(compared > 0 || !owns, "{protocol}: the check at rest has words to compare");
        }
    }
}

/// Each of these faults is noticed with some seed.
fn noticed_under_locks(protocol: &str, slips: &[&str]) {
    for slip in slips {
        let fabric = Fabric::crowded(protocol, slip);
        let noticed = (0..SEEDS).any(|seed| wrong(fabric.under_locks(seed)).is_some());
        assert!(noticed, "{protocol}, {slip}: nothing is noticed");
    }
}

/// Reads of CUs are refused and asked for again; one that is asked for by ReqV for ever is told as such.
#[test]
fn nacks_are_followed_by_progress() {
    let fabric = Fabric::crowded("s-mesi-gpu", "none");
    let sound = (0..SEEDS).map(|seed| fabric.under_locks(seed).expect("it ends").metrics);
    let sums = sound.fold([0; 2], |sum, m| [sum[0] + m.count("nacks_seen"), sum[1] + m.count("asked_again")]);
    assert!(sums.iter().all(|n| *n > 0), "{sums:?} Nacks and retries");
    let fabric = Fabric::crowded("s-mesi-gpu", "tu-gpu-no-escalation");
    let told = (0..SEEDS).filter_map(|seed| wrong(fabric.under_locks(seed))).collect::<Vec<_>>();
    assert!(told.iter().any(|text| text.contains("by ReqV again")), "{told:?}");
}

#[test]
fn faults_of_the_llc_and_of_units_are_noticed() {
    let slips = [
        "llc-early-ack",
        "llc-no-cross",
        "llc-unlatched-policy",
        "llc-drop-owned",
        "llc-forgotten-sharer",
        "llc-lost-dirty",
        "llc-stale-owner",
        "tu-mesi-removal-first",
        "tu-mesi-lost-word",
        "tu-mesi-no-r2",
        "tu-mesi-no-cross",
        "tu-gpu-nack-lost",
        "gpu-l1-buffer-unseen",
    ];
    noticed_under_locks("s-mesi-gpu", &slips);
}

#[test]
fn faults_of_denovo_are_noticed() {
    let slips = ["denovo-l1-no-cross", "denovo-l1-keeps-ownership", "denovo-l1-no-delay"];
    noticed_under_locks("s-denovo-denovo", &slips);
}

#[test]
fn faults_of_the_l3_and_its_clients_are_noticed() {
    let slips = [
        "l3-drop-shared",
        "l3-stale-put",
        "l3-lost-dirty",
        "l3-short-acks",
        "l3-early-put",
        "l3-forgotten-owner",
        "l3-no-wb-data",
        "client-no-r2",
        "client-early-m",
        "client-lost-dirty",
        "client-keep-copy",
        "client-no-inv",
        "client-no-unblock",
    ];
    noticed_under_locks("h-mesi-denovo", &slips);
}

#[test]
fn faults_of_the_gpu_l2_are_noticed() {
    let slips = [
        "gpu-l2-keep-invalid",
        "gpu-l2-no-revoke",
        "gpu-l2-silent-upgrade",
        "gpu-l2-early-data",
        "gpu-l2-lost-dirty",
        "gpu-l2-drop-owned",
        "gpu-l2-drop-clean",
        "gpu-l2-no-cross",
    ];
    noticed_under_locks("h-mesi-denovo", &slips);
}

#[test]
fn a_fault_of_a_block_that_is_not_there_is_refused() {
    let cases = [
        ("s-gpu-gpu", "tu-mesi-no-r2"),
        ("s-mesi-gpu", "denovo-l1-no-delay"),
        ("s-mesi-gpu", "gpu-l2-no-revoke"),
        ("s-denovo-denovo", "gpu-l1-no-stale"),
        ("h-mesi-denovo", "tu-gpu-nack-lost"),
        ("s-denovo-gpu", "flex-l1-no-cross"),
        ("h-mesi-gpu", "tu-mesi-no-r2"),
        ("h-mesi-gpu", "llc-early-ack"),
        // The block is there, and what the fault spoils never happens.
        ("s-denovo-denovo", "llc-forgotten-sharer"),
        ("s-gpu-gpu", "llc-drop-owned"),
        ("s-denovo-denovo", "llc-stale-owner"),
        ("h-mesi-gpu", "tu-gpu-nack-lost"),
        ("h-mesi-gpu", "gpu-l2-no-revoke"),
        ("s-denovo-gpu", "denovo-l1-no-delay"),
    ];
    for (protocol, slip) in cases {
        let mut config = FabricConfig::load("spandex-soc-small").expect("built in");
        for change in [format!("protocol={protocol}"), format!("inject={slip}")] {
            config.set(&change).expect("legal by itself");
        }
        let error = config.validate().expect_err(slip).to_string();
        assert!(error.contains("inject") && error.contains("no block of this kind"), "{slip}: {error}");
        let legal = error.rsplit("legal: none, or protocol = ").next().unwrap_or_default();
        assert!(!legal.split(", ").any(|one| one == protocol), "{error}");
        let mut config = FabricConfig::load("spandex-soc-small").expect("built in");
        let pairs = config.pairs("inject", "protocol");
        let takes = &pairs.iter().find(|(name, _)| *name == slip).expect("a fault").1;
        assert_eq!(takes.join(", "), legal, "{slip}: what is listed is what the sentence says");
        for protocol in takes {
            for change in [format!("protocol={protocol}"), format!("inject={slip}")] {
                config.set(&change).expect("legal by itself");
            }
            config.validate().unwrap_or_else(|e| panic!("{e}"));
        }
    }
}
