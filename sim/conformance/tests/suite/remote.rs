//! Faults of L1s with scopes and of L1s that register lines, and the commands that see them: remote scope promotion,
//! several waves of a CU, dirty lines before a release. A fault shows by an end that the model forbids, or by an
//! assertion of the hardware, which `checks` leaves on; sound hardware shows neither in the same runs.

use crate::common;

use common::{campaign, named, weak_as};
use std::path::Path;
use std::sync::Arc;
use weft_conformance::{CampaignError, Plan};
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, RunOptions, design};
use weft_litmus::program::Placement;
use weft_workload::Program;
use weft_workload::trace::program::TraceProgram;
use weft_workload::trace::read;

/// A fault, other keys, the test that sees it, where its threads are, delay, runs.
type Planted = (&'static str, &'static [&'static str], &'static str, Placement, u32, u32);

/// Few waves of tests on a CU: what the others would flush and invalidate stays as it is.
const FEW: &str = "waves=2";

/// Broadcasts one at a time, by a lock in each L1.
const TOKEN: &str = "broadcast_order=token";

/// Write-backs that reach the L2 slowly, each behind a write to memory.
const SLOW: [&str; 5] = [FEW, "l1_sfifo=2", "l2_sfifo=8", "l2_writes=1", "dram_latency=400"];

const OWED: Planted = ("inject=pa-dropped", &[FEW], "MPr.owed", Placement::Cus, 200, 100);
const SHORT: Planted = ("inject=flush-short", &[], "MPr.thief", Placement::Cus, 64, 50);
const EARLY_PACK: Planted = ("inject=early-pack", &[], "MPr.dirty", Placement::Cus, 64, 50);
const NO_FENCE: Planted = ("inject=no-miss-fence", &SLOW, "MPr.overflow", Placement::Cus, 8, 600);
const OPEN: Planted = ("inject=open-gate", &[], "MPr.beside", Placement::Cus, 64, 50);
const OPEN_LOCK: Planted = ("inject=open-lock", &[FEW, TOKEN], "lostr.two", Placement::Cus, 64, 50);
const EARLY_UNLOCK: Planted = ("inject=early-unlock", &[FEW], "lostr.store", Placement::Cus, 64, 200);
const NO_REPLAY: Planted = ("inject=no-replay", &[FEW], "lostr.two", Placement::Cus, 64, 50);
const NO_REPLAY_OWN: Planted = ("inject=no-replay", &[], "losts.cu-gpu", Placement::Cu, 64, 50);
const NO_NOINST: Planted = ("inject=no-noinst", &[FEW], "lostr.store", Placement::Cus, 64, 50);
const EARLY: Planted = ("inject=early-release", &[FEW], "MPs.dirty", Placement::Cus, 64, 50);
const EARLY_FENCE: Planted = ("inject=early-release", &[FEW], "MPs.fences", Placement::Cus, 64, 50);
const KEEPS: Planted = ("inject=keeps-copies", &[FEW], "MPs.dirty", Placement::Cus, 64, 50);
const OVERTAKES: Planted = ("inject_cu=relaxed-overtakes", &[], "MPs.PN", Placement::Cu, 64, 100);

/// Each fault is seen on a fabric with keys of its own, and nothing in the same runs without it.
fn seen(fabric: &str, protocol: &str, faults: &[Planted]) {
    let protocol = format!("protocol={protocol}");
    for (fault, keys, test, placement, delay, runs) in faults {
        let keys: Vec<&str> =
            [protocol.as_str(), "checks=false"].into_iter().chain(keys.iter().copied()).collect();
        let (tests, plan) = (
            named(&[*test]),
            Plan { placements: vec![*placement], delay: *delay, runs: *runs, ..Plan::default() },
        );
        weak_as(&campaign(fabric, &keys), &tests, &plan);
        let faulty: Vec<&str> = keys.iter().copied().chain([*fault]).collect();
        let said = match campaign(fabric, &faulty).run(&tests[0], &plan) {
            Ok(report) => {
                let times: u32 = report.forbidden().iter().map(|end| end.times).sum();
                assert!(times > 0, "{fabric} {faulty:?}: {test} shows nothing forbidden");
                format!("{times} of {runs} runs")
            }
            Err(CampaignError::Fabric(e)) if !e.is_input() => e.to_string(),
            Err(e) => panic!("{fabric} {faulty:?}: {e}"),
        };
        println!("{fabric} {faulty:?}, {test}: {said}");
    }
}

#[test]
fn selective_remote_operations() {
    let faults = [OWED, SHORT, EARLY_PACK, NO_FENCE, OPEN, NO_REPLAY, KEEPS, EARLY_UNLOCK];
    seen("srsp-64cu-small", "srsp", &faults);
}

#[test]
fn selective_remote_operations_with_a_predictor() {
    seen("srsp-64cu-small", "srsp-opt", &[OWED, SHORT, EARLY_PACK, OPEN, EARLY_UNLOCK]);
}

#[test]
fn broadcast_remote_operations() {
    seen("srsp-64cu-small", "brsp", &[OPEN, OPEN_LOCK, NO_NOINST, NO_REPLAY_OWN, EARLY_UNLOCK]);
}

#[test]
fn scopes_without_remote_operations() {
    seen("srsp-64cu-small", "steal", &[EARLY, EARLY_FENCE, KEEPS, NO_REPLAY_OWN, OVERTAKES]);
}

#[test]
fn lines_that_are_registered() {
    let faults: [Planted; 3] = [
        // A flush that takes long: two write-backs at a time.
        ("inject=flush-after-ack", &[FEW, "l1_wbt=2"], "MPs.dirty", Placement::Cus, 64, 50),
        ("inject=no-gain-inv", &[FEW], "MPs.dirty", Placement::Cus, 64, 50),
        // One line revoked at a time: the paired store comes late to its old owner.
        ("inject_cu=relaxed-overtakes", &["revokes=1"], "MPs.PN-owned", Placement::Cus, 64, 100),
    ];
    seen("hlrc-128cu-small", "hlrc", &faults);
}

#[test]
fn written_lines_that_are_registered() {
    let of = |fault| -> Planted { (fault, &[FEW], "MPs.dirty", Placement::Cus, 64, 50) };
    let faults = [
        EARLY,
        KEEPS,
        of("inject=grant-overwrites"),
        of("inject=read-takes"),
        of("inject=lost-mask"),
        of("inject=old-read"),
        ("inject_cu=relaxed-overtakes", &["revokes=1"], "MPs.PN-owned", Placement::Cus, 64, 100),
    ];
    seen("hlrc-128cu-small", "denovo-b", &faults);
}

/// The trace in the folder of the planted faults, to its end.
fn run_trace(fabric: &str, keys: &[&str], trace: &str) -> Result<(), String> {
    let mut config = FabricConfig::load(fabric).expect("a built-in fabric");
    keys.iter().for_each(|key| config.set(key).expect("a key of it"));
    config.validate().expect("it can be built");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/planted").join(trace);
    let program = TraceProgram::new(trace, read(&path).expect("a trace")).expect("a program");
    let program: Arc<dyn Program> = Arc::new(program);
    let options = RunOptions::default();
    let design = design(&config, &options).expect("it builds");
    let mut run = FabricRun::on(&config, &design, program, &options).expect("it starts");
    let ended = run.run_to(1_000_000).map_err(|e| e.to_string())?;
    assert!(ended, "{trace} has no end");
    let report = run.finish().map_err(|e| e.to_string())?;
    assert!(report.verified, "{:?}", report.difference);
    Ok(())
}

/// Fills come in the order of their banks and wait for little, so that an old one seldom meets an invalidation: traces
/// have it wait behind fills for many loads, and the invalidation come by another way.
#[test]
fn old_fills() {
    let one_entry = ["l1_targets=64", "pa_entries=1"];
    let on_a_mesh = ["l1_targets=64", "l2_write=combine"];
    let cases: [(&str, &[&str], &str); 3] = [
        ("srsp-64cu-small", &one_entry, "old-fill.wtrace"),
        ("srsp-64cu-small", &["l1_targets=64", "pa_entries=1", "protocol=srsp-opt"], "old-fill.wtrace"),
        ("hlrc-128cu-small", &on_a_mesh, "old-fill-mesh.wtrace"),
    ];
    for (fabric, keys, trace) in cases {
        run_trace(fabric, keys, trace).unwrap_or_else(|e| panic!("{fabric} {keys:?}: {e}"));
        let faulty: Vec<&str> = keys.iter().copied().chain(["inject=no-noinst"]).collect();
        let said = run_trace(fabric, &faulty, trace).expect_err(fabric);
        assert!(said.contains("happens-before: cu 0 reads 0x00"), "{fabric}: {said}");
    }
}
