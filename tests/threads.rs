//! Results do not depend on the number of threads: reports, waveforms, event logs, recordings, snapshots and
//! failures are the same, byte for byte. One test for each fabric, so that one which fails names it.

use crate::program::weft_in;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Two matrix products one after the other: most compute units are at work in most cycles, and all GPUs read
/// what others have written.
const PRODUCTS: [&str; 4] = ["--workload", "mm2", "--param", "n=48"];

/// The same, for runs that write a lot or that start slowly.
const SMALL_PRODUCTS: [&str; 4] = ["--workload", "mm2", "--param", "n=36"];

/// Two short kernels.
const KARATE: [&str; 6] = ["--workload", "pagerank", "--param", "source=karate", "--param", "iterations=2"];

/// Ten kernels, every one of which reads what the one before has written.
const KERNELS: [&str; 6] = ["--workload", "nekbone", "--param", "elements=2", "--param", "iterations=1"];

/// Locks that all compute units take from one another, so that there are atomics and fences in many cycles.
const LOCKS: [&str; 4] = ["--workload", "torn-lines", "--param", "rounds=1"];

/// What a run has left.
#[derive(PartialEq, Eq)]
struct Left {
    status: Option<i32>,
    stdout: String,
    stderr: String,
    /// By name, with folders.
    files: BTreeMap<String, Vec<u8>>,
}

impl Left {
    fn report(&self) -> &[u8] {
        self.files.get("r.json").expect("a run that ends well leaves its report")
    }

    /// What is asserted of a file that is not to be missing, nor to be empty in all of the runs.
    fn has(&self, name: &str) {
        let size = self.files.get(name).map_or(0, Vec::len);
        let names: Vec<&String> = self.files.keys().collect();
        assert!(size > 0, "{name} is missing or empty: {names:?}");
    }

    /// Where two runs do not agree.
    fn differences(&self, other: &Left) -> Vec<String> {
        let mut found = Vec::new();
        if self.status != other.status {
            found.push(format!("status {:?}, and {:?}", self.status, other.status));
        }
        for (what, one, two) in
            [("stdout", &self.stdout, &other.stdout), ("stderr", &self.stderr, &other.stderr)]
        {
            if one != two {
                found.push(format!("{what}:\n{one}\nand:\n{two}"));
            }
        }
        let mut names: Vec<&String> = self.files.keys().chain(other.files.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            match (self.files.get(name), other.files.get(name)) {
                (Some(one), Some(two)) if one == two => {}
                (Some(one), Some(two)) => {
                    let at = one.iter().zip(two).take_while(|(a, b)| a == b).count();
                    let [a, b] = [one, two].map(|bytes| around(bytes, at));
                    found.push(format!("{name} from byte {at}: {a:?}, and {b:?}"));
                }
                (Some(_), None) | (None, Some(_)) => found.push(format!("{name} is left by one of them")),
                (None, None) => {}
            }
        }
        found
    }
}

/// Some of a file, to be printed.
fn around(bytes: &[u8], at: usize) -> String {
    let part = &bytes[at.saturating_sub(40).min(bytes.len())..(at + 40).min(bytes.len())];
    String::from_utf8_lossy(part).into_owned()
}

/// A text without the lines that tell time, and without the name of the run's own folder, which save files
/// have in them.
fn plain(text: &str, folder: &Path) -> String {
    let time = ["\"wall_seconds\"", "\"cycles_per_second\"", "  simulated in "];
    let lines = text.lines().filter(|line| !time.iter().any(|word| line.contains(word)));
    lines.collect::<Vec<_>>().join("\n").replace(&folder.display().to_string(), "FOLDER")
}

/// Adds all files below a folder of a run.
fn files(top: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("listed").path();
        if path.is_dir() {
            files(top, &path, found);
            continue;
        }
        let name = path.strip_prefix(top).expect("below it").display().to_string();
        let mut bytes = std::fs::read(&path).expect("readable");
        if name.ends_with(".json") || name.ends_with(".gtkw") {
            bytes = plain(&String::from_utf8(bytes).expect("text"), top).into_bytes();
        }
        found.insert(name, bytes);
    }
}

/// A run with so many threads, in a folder of its own that has these files before.
fn run(words: &[&str], threads: u32, given: &[(&str, &[u8])]) -> Left {
    let folder = tempfile::tempdir().expect("a folder");
    let top = folder.path().canonicalize().expect("it is there");
    for (name, bytes) in given {
        std::fs::write(top.join(name), bytes).expect("written");
    }
    let threads = threads.to_string();
    let out = weft_in(&top, &[&["run"], words, &["--json", "r.json", "--threads", &threads]].concat());
    let mut found = BTreeMap::new();
    files(&top, &top, &mut found);
    let [stdout, stderr] = [&out.stdout, &out.stderr].map(|said| plain(&String::from_utf8_lossy(said), &top));
    Left { status: out.status.code(), stdout, stderr, files: found }
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
    assert_eq!(left.status, Some(0), "{words:?}: {}", left.stderr);
    let report: Value = serde_json::from_slice(left.report()).expect("JSON");
    assert_eq!(report["verified"], true, "{words:?}");
    (left, report)
}

/// The same of a run with checks, of a program of several kernels whose data GPUs share.
fn well(words: &[&str]) -> Left {
    let (left, report) = succeeds(words);
    assert_eq!(report["config"]["checks"], true, "{words:?}");
    let kernels = report["kernels"].as_array().map_or(0, Vec::len);
    assert!(kernels > 1, "{words:?}: {kernels} kernels");
    // Some fabrics have no such count.
    assert_ne!(report["metrics"]["inter_gpu_requests"], 0, "{words:?}: nothing is shared");
    left
}

/// The same waveform, save file and event log: of what goes on side by side, they tell in one order.
fn watched(words: &[&str], waves: &str) {
    let window = ["--waves", waves, "--from", "600", "--to", "900", "--events", "e.wev"];
    let left = well(&[words, &window].concat());
    for name in [waves, &format!("{waves}.gtkw"), "e.wev"] {
        left.has(name);
    }
    assert!(left.stdout.contains("waveform: cycles 600..899 in"), "{words:?}: {}", left.stdout);
}

/// The run fails in the same cycle with the same words, and leaves the same waveform of the cycles before.
fn fails(words: &[&str]) {
    let left = same(words);
    assert_eq!(left.status, Some(1), "{words:?}: {}", left.stderr);
    assert!(left.stderr.contains("check failed in cycle "), "{words:?}: {}", left.stderr);
    assert!(!left.files.contains_key("r.json"), "{words:?}: a report");
    left.has("vcd_out/failure.fst");
    left.has("vcd_out/failure.fst.gtkw");
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

/// Words of a run on a fabric.
fn on<'a>(fabric: &'a str, program: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [&[fabric], program, more].concat()
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
