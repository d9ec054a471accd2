//! Results do not depend on the number of threads: reports, waveforms, event logs, recordings, snapshots and
//! failures are the same, byte for byte. One test for each fabric, so that one which fails names it.

use crate::left::{FAULTS, KARATE, KERNELS, Left, SCOPES, left_by, on};
use crate::program::weft_in;
use serde_json::Value;

/// Two matrix products one after the other: most compute units are at work in most cycles, and all GPUs read
/// what others have written.
const PRODUCTS: [&str; 4] = ["--workload", "mm2", "--param", "n=48"];

/// The same, for runs that write a lot or that start slowly.
const SMALL_PRODUCTS: [&str; 4] = ["--workload", "mm2", "--param", "n=36"];

/// Locks that all compute units take from one another, so that there are atomics and fences in many cycles.
const LOCKS: [&str; 4] = ["--workload", "torn-lines", "--param", "rounds=1"];

/// A run with so many threads, in a folder of its own that has these files before.
fn run(words: &[&str], threads: u32, given: &[(&str, &[u8])]) -> Left {
    let threads = threads.to_string();
    left_by(&|folder, words| weft_in(folder, words), &[words, &["--threads", &threads]].concat(), given)
}

/// The run leaves the same with one to four threads; gives what that is.
fn same(words: &[&str]) -> Left {
    let one = run(words, 1, &[]);
    for threads in 2..=4 {
        let different = one.differences(&run(words, threads, &[]));
        assert!(different.is_empty(), "{words:?} with 1 and {threads} threads:\n{}", different.join("\n"));
    }
    one
}

/// The run succeeds, with the same report.
fn succeeds(words: &[&str]) -> (Left, Value) {
    let left = same(words);
    let report = left.succeeded(words);
    (left, report)
}

/// The same of a run with checks, of a program of several kernels whose data GPUs share.
fn well(words: &[&str]) -> Left {
    let left = same(words);
    left.went_well(words);
    left
}

/// The same waveform, save file and event log: of what goes on side by side, they tell in one order.
fn watched(words: &[&str], waves: &str) {
    let window = ["--waves", waves, "--from", "600", "--to", "900", "--events", "e.wev"];
    let left = well(&[words, &window].concat());
    left.was_watched(waves);
    assert!(left.stdout.contains("waveform: cycles 600..899 in"), "{words:?}: {}", left.stdout);
}

/// The run fails in the same cycle with the same words, and leaves the same waveform of the cycles before.
fn fails(words: &[&str]) {
    same(words).failed(words);
}

/// One and three threads write the same snapshot in this cycle, so that two which go on from the one go on
/// from both; they end with the report of a run that was never stopped.
fn goes_on(words: &[&str], at: &str) {
    let cut = [words, &["--snapshot", "s.snap", "--snapshot-at", at]].concat();
    let [one, three] = [1, 3].map(|threads| run(&cut, threads, &[]));
    let different = one.differences(&three);
    assert!(different.is_empty(), "{cut:?} with 1 and 3 threads:\n{}", different.join("\n"));
    one.has("s.snap");
    let words = [words, &["--resume", "s.snap"]].concat();
    let two = run(&words, 2, &[("s.snap", &one.files["s.snap"])]);
    assert_eq!(two.status, Some(0), "{words:?}: {}", two.stderr);
    let [whole, resumed] = [&one, &two].map(|left| String::from_utf8_lossy(left.report()));
    let line = whole.lines().zip(resumed.lines()).find(|(a, b)| a != b);
    assert!(whole == resumed, "{words:?}: 2 threads go on otherwise from cycle {at}: {line:?}");
}

#[test]
fn rec_4gpu_small() {
    well(&on("rec-4gpu-small", &PRODUCTS, &[]));
    succeeds(&on("rec-4gpu-small", &LOCKS, &[]));
    watched(&on("rec-4gpu-small", &SMALL_PRODUCTS, &["--scope", "gpu?.bank0", "--scope", "gpu1"]), "w.vcd");
    fails(&on("rec-4gpu-small", &KERNELS, &["--set", "inject=fence-early-done"]));
}

/// A directory that is not hardware has all GPUs before it at once.
#[test]
fn rec_4gpu_small_with_an_ideal_directory() {
    well(&on("rec-4gpu-small", &PRODUCTS, &["--set", "protocol=ideal"]));
}

/// With the checks off, nobody listens to what compute units do.
#[test]
fn rec_4gpu_small_without_checks() {
    succeeds(&on("rec-4gpu-small", &PRODUCTS, &["--set", "checks=false"]));
}

#[test]
fn tsm_4gpu_small() {
    well(&on("tsm-4gpu-small", &PRODUCTS, &[]));
    watched(&on("tsm-4gpu-small", &SMALL_PRODUCTS, &[]), "w.fst");
    fails(&on("tsm-4gpu-small", &KERNELS, &["--set", "inject=lit_mwts"]));
}

/// The family has no fault that a run shows, so a run that a limit ends stands for it, with what it leaves to
/// go on from.
#[test]
fn rdma_4gpu_small() {
    well(&on("rdma-4gpu-small", &PRODUCTS, &[]));
    watched(&on("rdma-4gpu-small", &SMALL_PRODUCTS, &[]), "w.fst");
    let limit = ["--max-cycles", "2500", "--snapshot", "s.snap", "--snapshot-every", "1000"];
    let left = same(&on("rdma-4gpu-small", &PRODUCTS, &limit));
    assert_eq!(left.status, Some(1), "{}", left.stderr);
    assert!(left.stderr.contains("has not ended after 2500 cycles"), "{}", left.stderr);
    left.has("s.snap");
}

/// Pages are placed by the first touch, and GPUs may want the same one in the same cycle.
#[test]
fn hmg_4gpu_small() {
    well(&on("hmg-4gpu-small", &SMALL_PRODUCTS, &[]));
    let banks = ["--set", "gpms=2", "--scope", "gpu?_gpm?.bank*"];
    watched(&on("hmg-4gpu-small", &KERNELS, &banks), "w.fst");
    fails(&on("hmg-4gpu-small", &KERNELS, &["--set", "gpms=2", "--set", "inject=fence-early-done"]));
}

#[test]
fn spandex_4gpu_small() {
    well(&on("spandex-4gpu-small", &PRODUCTS, &[]));
    watched(&on("spandex-4gpu-small", &SMALL_PRODUCTS, &[]), "w.fst");
    fails(&on("spandex-4gpu-small", &KERNELS, &["--set", "inject=gpu-l1-keeps-copies"]));
}

#[test]
fn spandex_soc_small() {
    well(&on("spandex-soc-small", &SMALL_PRODUCTS, &[]));
    watched(&on("spandex-soc-small", &KERNELS, &[]), "w.fst");
    fails(&on("spandex-soc-small", &KERNELS, &["--set", "inject=gpu-l1-keeps-copies"]));
}

#[test]
fn srsp_64cu_small() {
    well(&on("srsp-64cu-small", &PRODUCTS, &[]));
    watched(&on("srsp-64cu-small", &SMALL_PRODUCTS, &[]), "w.vcd");
    fails(&on("srsp-64cu-small", &["--workload", "torn-lines"], &["--set", "inject=keeps-copies"]));
}

#[test]
fn hlrc_128cu_small() {
    well(&on("hlrc-128cu-small", &PRODUCTS, &[]));
    watched(&on("hlrc-128cu-small", &SMALL_PRODUCTS, &[]), "w.fst");
    fails(&on("hlrc-128cu-small", &["--workload", "torn-lines"], &["--set", "inject=no-gain-inv"]));
}

#[test]
fn rec_4gpu() {
    well(&on("rec-4gpu", &SMALL_PRODUCTS, &[]));
}

#[test]
fn tsm_4gpu() {
    well(&on("tsm-4gpu", &SMALL_PRODUCTS, &[]));
}

#[test]
fn rdma_4gpu() {
    well(&on("rdma-4gpu", &SMALL_PRODUCTS, &[]));
}

/// The hardware of its sixteen GPMs takes longer to be described than the program to run.
#[test]
fn hmg_4gpu() {
    well(&on("hmg-4gpu", &KARATE, &[]));
}

#[test]
fn spandex_4gpu() {
    well(&on("spandex-4gpu", &SMALL_PRODUCTS, &[]));
}

/// Arrays that stay with the host, and pages that go where they are wanted: any GPU may reach them in any
/// cycle. With few images the GPUs want the same pages more often.
#[test]
fn memory_with_the_host() {
    for way in ["way=zerocopy", "way=unified"] {
        let step = ["--workload", "dnn-step", "--param", "batch=4", "--param", way];
        well(&on("rdma-4gpu-small", &step, &["--set", "gpus=2"]));
    }
}

/// A recording has the accesses of all compute units in one order.
#[test]
fn a_recording() {
    let multi = ["rec-4gpu-small", "tsm-4gpu-small", "rdma-4gpu-small", "spandex-4gpu-small"];
    for fabric in multi.into_iter().chain(["srsp-64cu-small", "hlrc-128cu-small"]) {
        well(&on(fabric, &KARATE, &["--record", "r.weftrec"])).has("r.weftrec");
    }
}

/// Many GPUs touch many pages first, in cycles close to each other.
#[test]
fn pages_that_are_touched_first() {
    let touch = ["--set", "placement=first-touch"];
    for program in ["hist", "nn"] {
        succeeds(&on("rec-4gpu-small", &["--workload", program], &touch));
        succeeds(&on("hmg-4gpu-small", &["--workload", program], &[]));
    }
    let cut = ["--snapshot", "s.snap", "--snapshot-at", "258", "--max-cycles", "300"];
    same(&on("tsm-4gpu-small", &["--workload", "tb-lg"], &[&touch[..], &cut].concat())).has("s.snap");
}

/// Memory that answers long after the watchdog's limit: threads agree on since when nothing has moved, and on
/// who waits for whom.
#[test]
fn fabrics_that_stand_still() {
    for fabric in ["rec-4gpu-small", "tsm-4gpu-small", "hmg-4gpu-small"] {
        fails(&on(fabric, &SMALL_PRODUCTS, &["--set", "watchdog=1K", "--set", "dram_latency=4000"]));
    }
}

/// A run that fails leaves what was written until then.
#[test]
fn logs_of_a_run_that_fails() {
    let fault = ["--set", "inject=fence-early-done", "--record", "r.weftrec", "--events", "e.wev"];
    let left = same(&on("rec-4gpu-small", &KERNELS, &fault));
    assert_eq!(left.status, Some(1), "{}", left.stderr);
    left.has("r.weftrec");
}

#[test]
fn a_snapshot_of_every_family() {
    for fabric in ["rec", "tsm", "hmg", "spandex"] {
        goes_on(&on(&format!("{fabric}-4gpu-small"), &SMALL_PRODUCTS, &[]), "2000");
    }
    goes_on(&on("srsp-64cu-small", &SMALL_PRODUCTS, &[]), "2000");
}

/// The published sizes as their small ones: the same waveform and event log.
#[test]
fn long_published_sizes_are_watched() {
    for (fabric, scope) in SCOPES {
        watched(&on(fabric, &SMALL_PRODUCTS, &["--scope", scope]), "w.fst");
    }
}

/// The same failure, in the same cycle.
#[test]
fn long_published_sizes_fail() {
    for (fabric, fault) in FAULTS {
        fails(&on(fabric, &KERNELS, &["--set", fault]));
    }
}
