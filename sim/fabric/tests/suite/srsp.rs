//! Programs on small sRSP fabrics: work queues in every way to synchronise, and what the rest of the programs need of an L1.

use crate::small;

use std::sync::Arc;
use weft_engine::Design;
use weft_fabric::config::FabricConfig;
use weft_fabric::family::srsp::Gpu;
use weft_fabric::run::{FabricRun, RunOptions, RunReport, design};
use weft_srsp::fabric::{HlrcFabricParams, SrspFabricParams};
use weft_srsp::params::Impl;
use weft_workload::Program;

/// Hardware with its configuration.
struct Fabric {
    config: FabricConfig,
    design: Arc<Design>,
}

/// Four CUs with caches and tables of a few lines.
const TINY: [&str; 9] = [
    "cus=4",
    "banks=2",
    "l1_size=2K",
    "l1_ways=4",
    "l1_sfifo=4",
    "pa_entries=2",
    "l2_size=8K",
    "l2_ways=4",
    "dram_latency=20",
];

/// Every protocol.
const PROTOCOLS: [&str; 8] = ["global", "scope", "steal", "brsp", "srsp", "srsp-opt", "hlrc", "denovo-b"];

impl Fabric {
    fn new(changes: &[&str]) -> Fabric {
        let mut config = FabricConfig::load("srsp-64cu-small").expect("built in");
        for change in TINY.iter().chain(changes) {
            config.set(change).unwrap_or_else(|e| panic!("{e}"));
        }
        let design = design(&config, &RunOptions::default()).unwrap_or_else(|e| panic!("{changes:?}: {e}"));
        Fabric { config, design }
    }

    fn run(&self, workload: &str, given: &[(&str, &str)]) -> RunReport {
        let report = self.try_run(workload, given).unwrap_or_else(|e| panic!("{workload}: {e}"));
        assert!(report.verified, "{workload}: {:?}", report.difference);
        report
    }

    fn try_run(&self, workload: &str, given: &[(&str, &str)]) -> Result<RunReport, String> {
        let mut params = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        self.config.offer(workload, &mut params);
        let program = weft_workload::build(workload, &params, None).unwrap_or_else(|e| panic!("{e}"));
        let program: Arc<dyn Program> = Arc::from(program);
        let mut run = FabricRun::on(&self.config, &self.design, program, &RunOptions::default())
            .unwrap_or_else(|e| panic!("{workload}: {e}"));
        let ended = run.run_to(3_000_000).map_err(|e| e.to_string())?;
        if !ended {
            return Err("no end".into());
        }
        run.finish().map_err(|e| e.to_string())
    }
}

/// Programs with work queues on a small graph, tasks of one wave.
const QUEUES: [&str; 4] = ["clr", "mis", "prk", "sssp"];

/// A karate club, few lanes, so that there are more tasks than queues.
const CLUB: [(&str, &str); 4] = [("source", "karate"), ("lanes", "4"), ("waves", "1"), ("rounds", "6")];

#[test]
fn work_queues_under_every_protocol() {
    let token = ("brsp", "broadcast_order=token");
    for (protocol, order) in
        PROTOCOLS.map(|protocol| (protocol, "broadcast_order=line")).into_iter().chain([token])
    {
        let fabric = Fabric::new(&[&format!("protocol={protocol}"), order]);
        for workload in QUEUES {
            let report = fabric.run(workload, &CLUB);
            let m = &report.metrics;
            let remote = m.count("l2_grants") + m.count("tokens");
            let promotes = ["brsp", "srsp", "srsp-opt"].contains(&protocol);
            assert_eq!(remote > 0, promotes, "{protocol}, {workload}: {remote} remote operations");
            assert_eq!(m.count("tokens") > 0, order == token.1, "{protocol}, {order}, {workload}");
            assert!(m.count("a1") > 0 || matches!(protocol, "global" | "steal"), "{protocol}, {workload}");
        }
    }
}

/// Relaxed additions of floating-point numbers to what others add to.
#[test]
fn ranks_are_pushed_by_relaxed_atomics() {
    for protocol in ["global", "brsp", "srsp", "hlrc", "denovo-b"] {
        let fabric = Fabric::new(&[&format!("protocol={protocol}")]);
        let given: Vec<_> = CLUB.into_iter().chain([("way", "push")]).collect();
        fabric.run("prk", &given);
    }
}

#[test]
fn a_lock_with_an_owner_and_rare_others() {
    for protocol in PROTOCOLS {
        for spin in ["cas", "exch"] {
            let fabric = Fabric::new(&[&format!("protocol={protocol}")]);
            // Without remote operations only GPU scope keeps others out.
            let sync = if protocol == "scope" { "steal" } else { "" };
            let mut given = vec![("spin", spin), ("owner", "12"), ("remote", "3"), ("others", "3")];
            given.extend((!sync.is_empty()).then_some(("sync", sync)));
            fabric.run("lock", &given);
        }
    }
}

/// Slips of the L1 that a small program shows: what of the fabric and of the program differs, and a part of what is said.
const SLIPS: [(&str, &[&str], &[(&str, &str)], &str); 4] = [
    ("pa-dropped", &["crossbar_latency=1"], &[("others", "2"), ("lines", "3")], "happens-before: cu 0 reads"),
    ("no-replay", &[], &[], "happens-before: cu 1 finds 0x0 in the variable"),
    ("early-pack", &[], &[], "srsp_l1_flushed_gone"),
    ("flush-short", &["l1_sfifo=16"], &[], "srsp_l1_flushed_gone"),
];

#[test]
fn slips_of_the_l1_are_noticed() {
    for (slip, changes, given, words) in SLIPS {
        let inject = format!("inject={slip}");
        let changes: Vec<&str> = changes.iter().copied().chain([inject.as_str()]).collect();
        let fabric = Fabric::new(&changes);
        let given: Vec<_> =
            [("owner", "300"), ("remote", "30")].into_iter().chain(given.iter().copied()).collect();
        let said = fabric.try_run("lock", &given).err().unwrap_or_else(|| "nothing is noticed".into());
        assert!(said.contains(words), "{slip}: {said}");
    }
}

/// Slips with the protocols whose L1s can have them; brsp-token is brsp with the other order.
const OF_PROTOCOLS: [(&str, &str); 18] = [
    ("pa-dropped", "srsp srsp-opt"),
    ("flush-short", "srsp srsp-opt"),
    ("early-pack", "srsp srsp-opt"),
    ("no-miss-fence", "srsp srsp-opt"),
    ("no-replay", "global scope steal brsp brsp-token srsp srsp-opt"),
    ("no-noinst", "brsp brsp-token srsp srsp-opt hlrc"),
    ("open-gate", "brsp brsp-token srsp srsp-opt"),
    ("open-lock", "brsp-token"),
    ("early-unlock", "brsp srsp srsp-opt"),
    ("early-release", "global scope steal brsp brsp-token srsp srsp-opt denovo-b"),
    ("keeps-copies", "global scope steal brsp brsp-token srsp srsp-opt denovo-b"),
    ("flush-after-ack", "hlrc"),
    ("no-gain-inv", "hlrc"),
    ("grant-overwrites", "denovo-b"),
    ("read-takes", "denovo-b"),
    ("lost-mask", "denovo-b"),
    ("told-again", "denovo-b"),
    ("old-read", "denovo-b"),
];

/// A slip of an L1 that a protocol does not have would change nothing: it is refused, and the sentence of the key says which are whose.
#[test]
fn slips_are_those_of_the_protocol() {
    let published = FabricConfig::load("srsp-64cu-small").expect("built in");
    let key = published.keys().into_iter().find(|key| key.name == "inject").expect("a key");
    for (slip, own) in OF_PROTOCOLS {
        assert!(key.about.contains(slip), "{slip}: {}", key.about);
        for of in PROTOCOLS.into_iter().chain(["brsp-token"]) {
            let mut config = published.clone();
            let (protocol, order) = of.split_once("-token").map_or((of, "line"), |(of, _)| (of, "token"));
            config.set(&format!("protocol={protocol}")).expect("a protocol");
            config.set(&format!("broadcast_order={order}")).expect("an order");
            config.set(&format!("inject={slip}")).expect("a slip");
            let found = config.validate();
            assert_eq!(found.is_ok(), own.split(' ').any(|one| one == of), "{slip}, {of}");
            if let Err(error) = found {
                let said = error.to_string();
                let ordered = format!(" with broadcast_order {order}");
                let ordered = if protocol == "brsp" { ordered.as_str() } else { "" };
                let sentence = format!(
                    "inject = {slip}: the L1s of protocol {protocol}{ordered} have no such slip; legal: none, "
                );
                assert!(said.contains(&sentence), "{said}");
                let legal = said.split("legal: ").last().expect("a list").split(", ");
                let others = OF_PROTOCOLS.iter().filter(|(_, own)| own.split(' ').any(|one| one == of));
                assert_eq!(legal.count(), 1 + others.count(), "{said}");
            }
        }
    }
}

/// An owner that fetches its lock again and again gets it, however far the L2 is from the L1s.
#[test]
fn a_distant_l2_starves_nobody() {
    let fabric = Fabric::new(&["cus=8", "crossbar_latency=64"]);
    fabric.run("lock", &[("owner", "60"), ("remote", "8"), ("others", "3"), ("spin", "exch")]);
}

#[test]
fn programs_without_queues() {
    let fabric = Fabric::new(&[]);
    for (workload, given) in small::SMALL {
        if ["stencil", "bfs", "dnn-step", "pagerank", "mt", "nw"].contains(workload) {
            fabric.run(workload, given);
        }
    }
}

#[test]
fn the_published_fabric_is_that_of_its_file() {
    let published = FabricConfig::load("srsp-64cu").expect("built in");
    published.validate().expect("can be built");
    assert_eq!(published.srsp(), Some(Gpu::Scoped(SrspFabricParams::published(Impl::Srsp))));
    let record = published.to_json();
    let back: FabricConfig = serde_json::from_value(record.clone()).expect("all keys are known");
    assert_eq!(back.to_json(), record);
}

#[test]
fn the_fabric_of_the_hlrc_study_is_that_of_its_file() {
    let published = FabricConfig::load("hlrc-128cu").expect("built in");
    published.validate().expect("can be built");
    assert_eq!(published.srsp(), Some(Gpu::Registering(HlrcFabricParams::published())));
}

/// Atomics register their lines, on a mesh and with both ways to write.
#[test]
fn registered_lines_on_a_mesh() {
    for write in ["combine", "through-inv"] {
        let write = format!("l2_write={write}");
        let fabric = Fabric::new(&["protocol=hlrc", "mesh=2", &write]);
        for (workload, given) in [("sssp", &CLUB[..]), ("lock", &[("owner", "40"), ("remote", "10")])] {
            let m = fabric.run(workload, given).metrics;
            assert!(m.count("registrations") > 0 && m.count("revokes") > 0, "{write}, {workload}");
        }
    }
}

/// Every line that is written is registered, on a mesh and with crossbars.
#[test]
fn registered_writes() {
    for mesh in ["mesh=2", "mesh=0"] {
        let fabric = Fabric::new(&["protocol=denovo-b", mesh]);
        for (workload, given) in [("sssp", &CLUB[..]), ("lock", &[("owner", "40"), ("remote", "10")])] {
            let m = fabric.run(workload, given).metrics;
            for figure in ["reg_stores", "revokes", "owner_reads", "flush_release", "flash_acquire"] {
                assert!(m.count(figure) > 0, "{mesh}, {workload}: {figure}");
            }
            assert!(m.count("registrations") > m.count("reg_stores"), "atomics register, too");
        }
    }
}

/// Slips of DeNovo-B's L1s and banks, all but the one that does no harm.
#[test]
fn slips_of_registered_writes_are_noticed() {
    for slip in [
        "early-release",
        "keeps-copies",
        "grant-overwrites",
        "read-takes",
        "lost-mask",
        "old-read",
        "told-again",
    ] {
        let inject = format!("inject={slip}");
        let fabric = Fabric::new(&["protocol=denovo-b", &inject]);
        let found = ["lock", "sssp"].iter().any(|workload| {
            let given =
                if *workload == "lock" { &[("owner", "300"), ("remote", "30")][..] } else { &CLUB[..] };
            !matches!(fabric.try_run(workload, given), Ok(report) if report.verified)
        });
        assert_eq!(found, slip != "told-again", "{slip}");
    }
}

/// L1s with scopes on a mesh, under every choice of what a broadcast stops.
#[test]
fn scopes_on_a_mesh() {
    for changes in [
        &["protocol=steal"][..],
        &["protocol=srsp"],
        &["protocol=brsp"],
        &["protocol=brsp", "broadcast_order=token", "broadcast_closes=all"],
        &["protocol=brsp", "broadcast_order=token", "broadcast_closes=sync"],
        &["protocol=brsp", "broadcast_order=token", "broadcast_closes=line"],
    ] {
        let fabric = Fabric::new(&[&["mesh=2"], changes].concat());
        let given: Vec<_> = CLUB.into_iter().chain([("task", "3")]).collect();
        let m = fabric.run("prk", &given).metrics;
        let promotes = changes[0] != "protocol=steal";
        assert_eq!(m.count("remote_ops") > 0, promotes, "{changes:?}");
        fabric.run("lock", &[("owner", "40"), ("remote", "10")]);
    }
}

#[test]
fn what_cannot_be_built_is_refused() {
    let cases: [(&[&str], &str); 8] = [
        (
            &["protocol=brsp", "broadcast_closes=all"],
            "--set: broadcast_closes = all: with broadcast_order line the L2 locks the line of the address",
        ),
        (&["mesh=3"], "--set: mesh = 3: the CUs do not fill a mesh of that width"),
        (&["protocol=hlrc", "mesh=3"], "--set: mesh = 3: the CUs do not fill a mesh of that width"),
        (&["gpus=2"], "--set: gpus = 2: it is too large; legal: 1..1"),
        (
            &["protocol=denovo"],
            "--set: protocol = denovo: there is no such choice, the nearest is denovo-b; legal: global",
        ),
        (&["scopes=false"], "--set: scopes = false: the L1s go by scopes"),
        (&["aff_entries=24"], "--set: aff_entries = 24: it is no supported size"),
        (&["l1_size=3K"], "--set: l1_size = 3072: size / (ways * line) is no power of two"),
    ];
    for (changes, sentence) in cases {
        let mut config = FabricConfig::load("srsp-64cu-small").expect("built in");
        let set = changes.iter().try_for_each(|change| config.set(change));
        let error = set.and_then(|()| config.validate()).expect_err(sentence).to_string();
        let said = error.split_once(": ").map_or("", |(_, said)| said);
        let want = sentence.split_once(": ").map_or("", |(_, said)| said);
        assert!(said.starts_with(want), "\n said: {error}\n want: {sentence}");
    }
}

#[test]
fn long_every_program() {
    for protocol in ["srsp", "brsp"] {
        let fabric = Fabric::new(&[&format!("protocol={protocol}")]);
        for (workload, given) in small::SMALL {
            fabric.run(workload, given);
        }
    }
}
