//! What of a fabric goes through a cycle on several threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, RunOptions};
use weft_workload::*;

/// A program that breaks in the midst of a kernel.
struct Breaks {
    program: Box<dyn Program>,
    steps: AtomicU32,
}

impl Program for Breaks {
    fn name(&self) -> &str {
        self.program.name()
    }

    fn lanes(&self) -> u32 {
        self.program.lanes()
    }

    fn arrays(&self) -> &[Array] {
        self.program.arrays()
    }

    fn host_step(&self, index: usize, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        self.program.host_step(index, memory)
    }

    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        self.program.start(kernel, block, wave)
    }

    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        assert!(self.steps.fetch_add(1, Relaxed) != 100, "step 100 breaks");
        self.program.step(frame, values)
    }

    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        self.program.verify(memory)
    }
}

/// What breaks on one thread is told: no other thread waits for it for ever.
#[test]
fn a_thread_that_panics_ends_the_run() {
    let (send, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let config = FabricConfig::load("rec-4gpu-small").expect("built in");
        let mut params = Default::default();
        config.offer("relu", &mut params);
        let program = weft_workload::build("relu", &params, None).unwrap_or_else(|e| panic!("{e}"));
        let program = Arc::new(Breaks { program, steps: AtomicU32::new(0) });
        let options = RunOptions { threads: 2, ..RunOptions::default() };
        let mut run = FabricRun::new(&config, program, &options).unwrap_or_else(|e| panic!("{e}"));
        assert!(run.is_by_nodes());
        let ended = catch_unwind(AssertUnwindSafe(|| run.run_to(1_000_000).is_ok()));
        let text = ended.map_err(|panic| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        send.send(text).expect("somebody waits");
    });
    let text = told.recv_timeout(Duration::from_secs(60)).expect("the run ends");
    assert_eq!(text, Err(Some("step 100 breaks".into())));
}

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

/// As many threads as pay: one for equal shares of the nodes, if there is a processor for each, and a single one
/// where something needs the whole fabric.
#[test]
fn as_many_threads_as_pay() {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    for (fabric, nodes) in [("rec-4gpu-small", 4), ("hmg-4gpu-small", 16), ("srsp-64cu-small", 2)] {
        let threads = run(fabric, &[], "relu", 0).threads();
        let may: Vec<usize> =
            (1..=nodes).filter(|threads| nodes % threads == 0 && *threads <= processors).collect();
        assert_eq!(Some(&threads), may.last(), "{fabric} on {processors} processors");
    }
    for (fabric, changes) in [("rec-4gpu-small", &["protocol=ideal"][..]), ("spandex-4gpu-small", &[])] {
        assert_eq!(run(fabric, changes, "relu", 0).threads(), 1, "{fabric} {changes:?}");
    }
}
