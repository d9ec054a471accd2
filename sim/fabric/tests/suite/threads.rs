//! What of a fabric goes through a cycle on several threads.

use std::sync::Arc;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, RunOptions};
use weft_workload::Program;

/// A run that is about to begin.
fn run(fabric: &str, changes: &[&str], workload: &str, threads: usize) -> FabricRun {
    let mut config = FabricConfig::load(fabric).expect("built in");
    changes.iter().for_each(|change| config.set(change).unwrap_or_else(|e| panic!("{e}")));
    let mut params = Default::default();
    config.offer(workload, &mut params);
    let program = weft_workload::build(workload, &params, None).unwrap_or_else(|e| panic!("{e}"));
    let program: Arc<dyn Program> = Arc::from(program);
    let options = RunOptions { threads, ..RunOptions::default() };
    FabricRun::new(&config, program, &options).unwrap_or_else(|e| panic!("{fabric}: {e}"))
}

/// Wherever the cut is, each compute unit and each memory channel has all its ports in one part.
#[test]
fn compute_units_and_memories_are_shared_out() {
    for fabric in ["rec-4gpu-small", "hmg-4gpu-small", "tsm-4gpu-small", "rdma-4gpu-small", "srsp-64cu-small"]
    {
        for threads in [2, 3, 4, 7, 16] {
            assert!(run(fabric, &[], "relu", threads).is_shared(), "{fabric}, {threads} threads");
        }
        assert!(!run(fabric, &[], "relu", 1).is_shared(), "{fabric}, one thread");
    }
}

/// Where threads can have as many nodes each, a node's fences and work-groups go on in the part that has the
/// rest of it.
#[test]
fn nodes_stay_whole_where_their_number_allows_it() {
    for (fabric, nodes) in
        [("rec-4gpu-small", 4), ("hmg-4gpu-small", 16), ("tsm-4gpu-small", 4), ("rdma-4gpu-small", 4)]
    {
        for threads in [2, 4, 8, 16].into_iter().filter(|threads| *threads <= nodes) {
            assert!(run(fabric, &[], "relu", threads).is_by_nodes(), "{fabric}, {threads} threads");
        }
    }
    assert!(!run("srsp-64cu-small", &[], "relu", 2).is_by_nodes(), "one GPU on two threads");
}

/// Where something needs all of a fabric, only its hardware is shared out.
#[test]
fn what_needs_the_whole_fabric_stays_together() {
    assert!(!run("rec-4gpu-small", &["protocol=ideal"], "relu", 2).is_shared());
    assert!(!run("spandex-4gpu-small", &[], "relu", 2).is_shared());
}
