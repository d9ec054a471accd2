//! Faults of Spandex blocks that a few accesses show, if they come at the right moment: for each a program that is right without it, and judged wrong with it.

use crate::spandex::locks;
use crate::spandex::script;

use Do::{Add, Await, Hear, Keep, Load, Pause, Say, Store};
use locks::Locks;
use script::{Do, Place, Script};
use std::sync::Arc;
use weft_engine::Design;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, RunOptions, design};
use weft_workload::Program;
use weft_workload::op::{Hint, Request};

/// A line of eight nodes, long hops: cores on the even ones, CUs and banks from the first on. A CU has a tick in every cycle.
const LONG: [&str; 19] = [
    "cpus=4",
    "cus=3",
    "banks=8",
    "mesh=8",
    "mesh_rows=1",
    "hop=8",
    "cu_ticks=20",
    "cpu_mlp=4",
    "l1_size=4K",
    "l1_ways=4",
    "l1_mshrs=16",
    "l1_sb=16",
    "l1_wbb=16",
    "llc_size=16K",
    "llc_ways=4",
    "llc_latency=0",
    "llc_data_latency=0",
    "dram_latency=20",
    "watchdog=20000",
];
/// Its cores and CUs, a core at the far end, first and second wave of the first CU, first wave of the second and third.
const UNITS: (u32, u32) = (4, 3);
const FAR: u32 = 3;
const CU: [u32; 4] = [4, 5, 6, 8];

/// Lines whose banks are at the near and at the far end, and flags at the near end.
const NEAR: u64 = 8;
const DISTANT: u64 = 15;
const F: Place = (16, 0);
const G: Place = (24, 0);

const OWN: Hint = Hint::word(Request::Own);
const WT: Hint = Hint::word(Request::ReqWt);

type Threads = Vec<(u32, Vec<Do>)>;

/// Hardware with its configuration.
struct Fabric {
    config: FabricConfig,
    design: Arc<Design>,
}

impl Fabric {
    fn new(protocol: &str, slip: &str, changes: &[&str]) -> Fabric {
        let mut config = FabricConfig::load("spandex-soc-small").expect("built in");
        let own = [format!("protocol={protocol}"), format!("inject={slip}")];
        for change in LONG.iter().chain(changes).copied().chain(own.iter().map(String::as_str)) {
            config.set(change).unwrap_or_else(|e| panic!("{e}"));
        }
        let design = design(&config, &RunOptions::default()).unwrap_or_else(|e| panic!("{changes:?}: {e}"));
        Fabric { config, design }
    }

    /// What is wrong with the run of a program.
    fn wrong(&self, program: Arc<dyn Program>) -> Option<String> {
        let run = || -> Result<Option<String>, String> {
            let mut run = FabricRun::on(&self.config, &self.design, program, &RunOptions::default())
                .map_err(|e| e.to_string())?;
            if !run.run_to(100_000).map_err(|e| e.to_string())? {
                return Err("no end".into());
            }
            let report = run.finish().map_err(|e| e.to_string())?;
            let differs = || format!("result: {}", report.difference.clone().unwrap_or_default());
            Ok((!report.verified).then(differs))
        };
        run().unwrap_or_else(Some)
    }
}

/// With each of these pauses the program is right without the fault; with the fault it is judged wrong with one of them.
fn noticed(protocol: &str, slip: &str, changes: &[&str], pauses: &[u32], threads: impl Fn(u32) -> Threads) {
    let program = |pause: u32| Arc::new(Script::new(UNITS, &threads(pause)));
    let sound = Fabric::new(protocol, "none", changes);
    for pause in pauses {
        assert_eq!(sound.wrong(program(*pause)), None, "{protocol}, for {slip}, pause {pause}");
    }
    let faulty = Fabric::new(protocol, slip, changes);
    let said = pauses.iter().find_map(|pause| faulty.wrong(program(*pause)));
    assert!(said.is_some(), "{protocol}, {slip}: nothing is noticed");
}

/// The far core owns word 5 of a near line, so that a read of it is long under way.
fn far_owner() -> (u32, Vec<Do>) {
    (FAR, vec![Store((NEAR, 5), 1, OWN), Say(F)])
}

#[test]
fn stores_and_atomics_that_overtake_stores() {
    let second = |_| {
        let list = [Store((DISTANT, 2), 1, OWN), Pause(20), Store((DISTANT, 2), 2, OWN), Pause(20)];
        vec![(CU[0], [&list[..], &[Load(1, (DISTANT, 2), OWN), Await(1), Keep(1, 2)]].concat())]
    };
    noticed("s-mesi-gpu", "gpu-l1-wt-overtakes", &["sb_drain=eager"], &[0], second);
    let atomic = |_| {
        let list = vec![
            Store((DISTANT, 2), 5, OWN),
            Add(1, (DISTANT, 2), OWN),
            Await(1),
            Load(2, (DISTANT, 2), OWN),
            Await(2),
            Keep(1, 5),
            Keep(2, 6),
        ];
        vec![(CU[0], list)]
    };
    noticed("s-mesi-gpu", "gpu-l1-atomic-overtakes", &[], &[0], atomic);
}

/// A line comes in, or is read, while words of it are stored or updated here.
#[test]
fn reads_that_bring_old_words() {
    let list = vec![
        Load(1, (DISTANT, 1), OWN),
        Store((DISTANT, 2), 7, OWN),
        Await(1),
        Load(2, (DISTANT, 2), OWN),
        Await(2),
        Keep(2, 7),
    ];
    noticed("s-mesi-gpu", "gpu-l1-fill-over-store", &[], &[0], |_| vec![(CU[0], list.clone())]);
    let list = vec![
        Hear(F),
        Load(1, (NEAR, 5), OWN),
        Add(2, (NEAR, 2), OWN),
        Add(3, (NEAR, 2), OWN),
        Pause(30),
        Load(4, (NEAR, 2), OWN),
        Await(4),
        Keep(4, 2),
    ];
    noticed("s-denovo-gpu", "gpu-l1-atomic-no-mark", &[], &[0], |_| vec![far_owner(), (CU[0], list.clone())]);
    let line = Hint::line(Request::ReqV);
    let list = vec![
        Hear(F),
        Load(1, (NEAR, 5), line),
        Store((NEAR, 2), 7, WT),
        Await(1),
        Load(2, (NEAR, 2), OWN),
        Await(2),
        Keep(2, 7),
    ];
    let eager = &["sb_drain=eager"];
    noticed("s-flex", "flex-l1-fill-over-store", eager, &[0], |_| vec![far_owner(), (CU[0], list.clone())]);
}

/// The line is asked for without word 2, which is buffered, and word 2 comes as an extra. It is written through before
/// word 5, which is far away, completes the line.
#[test]
fn extras_that_are_older_than_what_was_stored_here() {
    let list = vec![
        Hear(F),
        Store((NEAR, 2), 7, WT),
        Load(1, (NEAR, 5), Hint::line(Request::ReqV)),
        Await(1),
        Load(2, (NEAR, 2), OWN),
        Await(2),
        Keep(2, 7),
    ];
    let program =
        |pause| vec![far_owner(), (CU[0], list.clone()), (CU[1], vec![Hear(F), Pause(pause), Say(G)])];
    noticed("s-flex", "flex-l1-stale-extras", &[], &[10, 30, 50], program);
}

/// A wave reads a line; another device writes a word of it, which another wave of the first CU is told before the line is there.
#[test]
fn reads_under_way_at_an_acquire() {
    let program = |pause| {
        let writer = vec![Hear(F), Pause(pause), Store((NEAR, 2), 9, OWN), Say(G)];
        let reader = vec![Hear(F), Load(1, (NEAR, 5), OWN), Load(2, (NEAR, 1), OWN), Await(2)];
        let told = vec![Hear(G), Load(1, (NEAR, 2), OWN), Pause(200), Load(2, (NEAR, 2), OWN)];
        let told = [told, vec![Await(2), Keep(1, 9), Keep(2, 9)]].concat();
        vec![far_owner(), (CU[0], reader), (CU[1], told), (CU[2], writer)]
    };
    noticed("s-denovo-gpu", "gpu-l1-no-stale", &[], &[0, 10, 20, 30, 40], program);
}

#[test]
fn copies_that_stay() {
    let list = vec![
        Load(1, (NEAR, 2), OWN),
        Await(1),
        Add(1, (NEAR, 2), WT),
        Await(1),
        Load(1, (NEAR, 2), OWN),
        Await(1),
        Keep(1, 1),
    ];
    noticed("s-flex", "flex-l1-keeps-copy", &[], &[0], |_| vec![(CU[0], list.clone())]);
    let shared = Hint::word(Request::ReqS);
    let reader = vec![
        Load(1, (NEAR, 2), shared),
        Await(1),
        Say(F),
        Hear(G),
        Load(1, (NEAR, 2), shared),
        Await(1),
        Keep(1, 9),
    ];
    let writer = vec![Hear(F), Store((NEAR, 2), 9, WT), Say(G)];
    let program = |_| vec![(0, reader.clone()), (CU[0], writer.clone())];
    noticed("s-flex", "flex-l1-keeps-shared", &["reqs_policy=opt1"], &[0], program);
}

/// What the LLC answers takes so long that an invalidation overtakes it.
#[test]
fn invalidations_that_come_first() {
    let changes = ["reqs_policy=opt1", "llc_data_latency=64", "sb_drain=eager"];
    let program = |hint: Hint| {
        move |pause| {
            let reader = vec![Load(1, (NEAR, 1), hint), Await(1), Hear(G), Load(1, (NEAR, 2), OWN)];
            let reader = [reader, vec![Await(1), Keep(1, 9)]].concat();
            vec![(0, reader), (CU[0], vec![Pause(pause), Store((NEAR, 2), 9, WT), Say(G)])]
        }
    };
    let pauses = [5, 10, 20, 30, 40];
    noticed("s-flex", "flex-l1-keeps-once", &changes, &pauses, program(Hint::line(Request::ReqS)));
    noticed("s-mesi-gpu", "tu-mesi-keep-once", &changes, &pauses, program(OWN));
}

/// A write-through goes to an owner whose line is still on its way, and is refused.
#[test]
fn refused_words_that_are_not_written() {
    let program = |pause| {
        let owner = vec![Store((NEAR, 1), 3, Hint::line(Request::ReqOData))];
        let writer = vec![Pause(pause), Store((NEAR, 2), 7, Hint::word(Request::ReqWtFwd)), Say(F)];
        let reader = vec![Hear(F), Load(1, (NEAR, 2), OWN), Await(1), Keep(1, 7)];
        vec![(0, owner), (1, reader), (CU[0], writer)]
    };
    let changes = ["llc_data_latency=64", "sb_drain=eager"];
    noticed("s-flex", "flex-l1-drops-refused", &changes, &[5, 10, 20, 30, 40], program);
}

/// Caches of a few lines; words under locks.
#[test]
fn faults_of_flex_are_noticed_under_locks() {
    let crowded = ["cpus=2", "cus=3", "mesh=4", "mesh_rows=4", "banks=2", "l1_size=256", "l1_ways=2"];
    let crowded =
        [&crowded[..], &["l1_mshrs=4", "l1_sb=4", "l1_wbb=2", "llc_size=1K", "llc_ways=2"]].concat();
    let locks = |seed| Arc::new(Locks::new(seed, 24, (2, 3), false));
    let sound = Fabric::new("s-flex", "none", &crowded);
    assert_eq!(sound.wrong(locks(0)), None);
    for slip in ["flex-l1-no-cross", "flex-l1-keeps-ownership", "flex-l1-no-delay"] {
        let fabric = Fabric::new("s-flex", slip, &crowded);
        assert!((0..8).any(|seed| fabric.wrong(locks(seed)).is_some()), "{slip}: nothing is noticed");
    }
}
