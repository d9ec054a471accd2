//! What a run leaves: words, status and files, to be compared with what another one leaves.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

/// Two short kernels.
pub const KARATE: [&str; 6] =
    ["--workload", "pagerank", "--param", "source=karate", "--param", "iterations=2"];

/// Ten kernels, every one of which reads what the one before has written.
pub const KERNELS: [&str; 6] = ["--workload", "nekbone", "--param", "elements=2", "--param", "iterations=1"];

/// Fabrics of published size, each with a fault that a run of [`KERNELS`] shows, if it has one.
pub const FAULTS: [(&str, &str); 4] = [
    ("rec-4gpu", "inject=fence-early-done"),
    ("tsm-4gpu", "inject=lit_mwts"),
    ("hmg-4gpu", "inject=fence-early-done"),
    ("spandex-4gpu", "inject=gpu-l1-keeps-copies"),
];

/// Fabrics of published size, each with some of its hierarchy.
pub const SCOPES: [(&str, &str); 5] = [
    ("rec-4gpu", "gpu1*"),
    ("tsm-4gpu", "gpu1*"),
    ("rdma-4gpu", "gpu1*"),
    ("hmg-4gpu", "gpu1*"),
    ("spandex-4gpu", "bank*"),
];

/// What a run has left.
#[derive(PartialEq, Eq)]
pub struct Left {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// By name, with folders.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Left {
    pub fn report(&self) -> &[u8] {
        self.files.get("r.json").expect("a run that ends well leaves its report")
    }

    /// What is asserted of a file that is not to be missing, nor to be empty in all of the runs.
    pub fn has(&self, name: &str) {
        let size = self.files.get(name).map_or(0, Vec::len);
        let names: Vec<&String> = self.files.keys().collect();
        assert!(size > 0, "{name} is missing or empty: {names:?}");
    }

    /// Where two runs do not agree.
    pub fn differences(&self, other: &Left) -> Vec<String> {
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

/// Starts the program in a folder, with the words of a run.
type Start<'a> = &'a dyn Fn(&Path, &[&str]) -> Output;

/// A run in a folder of its own that has these files before. Its report is r.json.
pub fn left_by(start: Start, words: &[&str], given: &[(&str, &[u8])]) -> Left {
    let folder = tempfile::tempdir().expect("a folder");
    let top = folder.path().canonicalize().expect("it is there");
    for (name, bytes) in given {
        std::fs::write(top.join(name), bytes).expect("written");
    }
    let out = start(&top, &[&["run"], words, &["--json", "r.json"]].concat());
    let mut found = BTreeMap::new();
    files(&top, &top, &mut found);
    let [stdout, stderr] = [&out.stdout, &out.stderr].map(|said| plain(&String::from_utf8_lossy(said), &top));
    Left { status: out.status.code(), stdout, stderr, files: found }
}

impl Left {
    /// The run has succeeded; its report.
    pub fn succeeded(&self, words: &[&str]) -> Value {
        assert_eq!(self.status, Some(0), "{words:?}: {}", self.stderr);
        let report: Value = serde_json::from_slice(self.report()).expect("JSON");
        assert_eq!(report["verified"], true, "{words:?}");
        report
    }

    /// The same of a run with checks, of a program of several kernels whose data GPUs share.
    pub fn went_well(&self, words: &[&str]) {
        let report = self.succeeded(words);
        assert_eq!(report["config"]["checks"], true, "{words:?}");
        let kernels = report["kernels"].as_array().map_or(0, Vec::len);
        assert!(kernels > 1, "{words:?}: {kernels} kernels");
        // Some fabrics have no such count.
        assert_ne!(report["metrics"]["inter_gpu_requests"], 0, "{words:?}: nothing is shared");
    }

    /// A check has failed, with a waveform of the cycles before.
    pub fn failed(&self, words: &[&str]) {
        assert_eq!(self.status, Some(1), "{words:?}: {}", self.stderr);
        assert!(self.stderr.contains("check failed in cycle "), "{words:?}: {}", self.stderr);
        assert!(!self.files.contains_key("r.json"), "{words:?}: a report");
        self.has("vcd_out/failure.fst");
        self.has("vcd_out/failure.fst.gtkw");
    }

    /// A waveform, its save file and an event log were written.
    pub fn was_watched(&self, waves: &str) {
        for name in [waves, &format!("{waves}.gtkw"), "e.wev"] {
            self.has(name);
        }
    }
}

/// Words of a run on a fabric.
pub fn on<'a>(fabric: &'a str, program: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [&[fabric], program, more].concat()
}
