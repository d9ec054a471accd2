//! Faults planted on purpose, and litmus tests that catch them: a release that does not wait, an acquire that leaves copies, a relaxed atomic that goes before the end of a paired access.
//! Each ends in a way that a model forbids where it can matter, and in none without the fault.

use crate::common;

use common::{campaign, named, steps, weak, weak_as};
use weft_conformance::Plan;
use weft_litmus::program::Placement;

/// A fault, the test that catches it, where its threads are, and runs.
type Planted = (&'static str, &'static str, Placement, u32);

/// Each fault of the list is caught on the fabric, whose checks are off, so that its models judge; nothing is seen in
/// the same runs without the fault.
fn caught(fabric: &str, keys: &[&str], faults: &[Planted]) {
    let unchecked: Vec<&str> = keys.iter().copied().chain(["checks=false"]).collect();
    let sound = campaign(fabric, &unchecked);
    for (fault, test, placement, runs) in faults {
        let tests = named(&[*test]);
        let plan = Plan { placements: vec![*placement], runs: *runs, ..Plan::default() };
        let faulty: Vec<&str> = unchecked.iter().copied().chain([*fault]).collect();
        let faulty = campaign(fabric, &faulty);
        let seen = steps(&plan).find_map(|step| {
            weak_as(&sound, &tests, &step);
            let report = faulty.run(&tests[0], &step).expect("it runs");
            report.forbidden().into_iter().next().map(|first| (step.seed, first))
        });
        let (seed, first) =
            seen.unwrap_or_else(|| panic!("{fabric}, {fault}: {test} shows nothing forbidden"));
        println!(
            "{fabric}, {fault}: {test}, {}, seed {seed}, {} times {}",
            first.placement,
            first.times,
            tests[0].describe(&first.end)
        );
    }
}

/// A line of four nodes, whose banks serve two misses at a time, slowly: stores are long on their way.
const LINE_OF_BANKS: [&str; 10] = [
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
];

fn spandex(protocol: &str, keys: &[&str], faults: &[Planted]) {
    caught("spandex-soc-small", &[&[protocol], keys].concat(), faults);
}

/// A release of these L1s that does not wait is not among them: 1500 runs of MPg.DP showed nothing, for a flag seldom comes so much earlier than one word of data. The program of a message of
/// ten words notices it, in GPU coherence and MESI L1s (`a_release_that_does_not_wait_is_noticed` of the fabric's own tests). Acquires of MESI L1s do nothing, since writers invalidate.
#[test]
fn gpu_coherence() {
    spandex("protocol=s-gpu-gpu", &[], &[("inject=gpu-l1-keeps-copies", "MPg.DP", Placement::Cus, 600)]);
}

#[test]
fn denovo() {
    spandex(
        "protocol=s-denovo-denovo",
        &[],
        &[("inject=denovo-l1-keeps-valid", "MPg.DP", Placement::Cus, 600)],
    );
    let slow = [("inject=denovo-l1-early-release", "MPg.DP", Placement::Cus, 600)];
    spandex("protocol=s-denovo-denovo", &LINE_OF_BANKS, &slow);
}

#[test]
fn flex() {
    spandex("protocol=s-flex", &[], &[("inject=flex-l1-keeps-valid", "MPg.DP", Placement::Cus, 600)]);
    let slow = [("inject=flex-l1-early-release", "MPg.DP", Placement::Cus, 600)];
    spandex("protocol=s-flex", &LINE_OF_BANKS, &slow);
}

/// Copies left in an L1 show at once. Releases and fences that do not wait need a test of their own: `planted/directory.csv`.
#[test]
fn directories() {
    caught("rec-4gpu-small", &[], &[("inject=l1-keeps-copies", "MPg.DP", Placement::Cus, 1200)]);
    let hmg = ["gpus=2", "gpms=2", "cus=2"];
    caught("hmg-4gpu-small", &hmg, &[("inject=l1-keeps-copies", "MPg.DP", Placement::Cus, 600)]);
}

/// A fence that leaves the clock as it was is told by the check of logical time, before a lease that is too old is ever used: at a fence of a
/// wave or at that of its kernel's end.
/// Without checks its ends show it: `planted/tsm.csv`.
#[test]
fn timestamps() {
    let (tests, plan) = (named(&["MPg.DP"]), Plan { runs: 60, ..Plan::default() });
    weak(&campaign("tsm-4gpu-small", &[]), &tests, plan.runs);
    let error =
        campaign("tsm-4gpu-small", &["inject=keep_clock"]).run(&tests[0], &plan).expect_err("noticed");
    let error = error.to_string();
    assert!(
        error.contains("logical time: a fence") || error.contains(" ends its kernel at time "),
        "{error}"
    );
}

/// The waiting rules of the CUs themselves. Those of srsp-64cu-small and hlrc-128cu-small are seen by tests of scopes (`remote`). Fabrics of directories and timestamps promise nothing of relaxed atomics.
#[test]
fn relaxed_atomics_that_overtake_paired_ones() {
    for model in ["model=drf1", "model=drfrlx"] {
        let fault = [("inject_cu=relaxed-overtakes", "MPg.PN", Placement::Cus, 300)];
        spandex("protocol=s-gpu-gpu", &[model], &fault);
        spandex("protocol=s-denovo-denovo", &[model], &fault);
    }
}
