//! `weft trace` and traces in the place of programs: counts, formats, runs, sweeps, one sentence for each mistake.

use crate::program::{refused, stdout};
use std::path::Path;

const VECTORADD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../workload/data/traces/vectoradd");

/// Two blocks of two waves; the waves of the first load what the other has stored.
const HALO: &str = "weft-trace 1
lanes 32
copy 0x1000000 4096
kernel halo grid 2,1,1 block 64,1,1 lds 0
block 0,0,0
wave 0
S 4 0x1000000+4 =#
B
L %1 4 0x1000080+4
C 4 alu
W %1
E
wave 1
S 4 0x1000080+4 =7
B
L %1 4 0x1000000+4
W %1
E
block 1,0,0
wave 0
A %1 add 4 [0x1000800] =1 k=C s=sys m=1
W %1
E
wave 1
E
";

fn halo(folder: &Path) -> String {
    let path = folder.join("halo.wtrace");
    std::fs::write(&path, HALO).expect("written");
    path.to_str().expect("text").to_string()
}

#[test]
fn a_trace_is_counted() {
    let text = stdout(&["trace", VECTORADD]);
    let row = text.lines().last().expect("a row").split_whitespace().collect::<Vec<_>>();
    assert_eq!((row[1], row[2], row[4], row[5]), ("196", "1568", "3126", "1563"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&["trace", VECTORADD, "--json"])).expect("JSON");
    assert_eq!(json["kernels"][0]["touched_bytes"], 600_000, "three vectors of 50 000 floats");
    assert_eq!((&json["copies"], &json["copied_bytes"]), (&2.into(), &400_000.into()));
}

#[test]
fn formats_hold_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let (compact, words) = (folder.path().join("v.wtrb"), folder.path().join("v.wtrace"));
    let (compact, words) = (compact.to_str().expect("text"), words.to_str().expect("text"));
    let digest = |text: &str| text.split("digest ").nth(1).and_then(|t| t.lines().next()).map(String::from);
    let first = digest(&stdout(&["trace", VECTORADD, "--out", compact]));
    assert!(first.is_some());
    assert_eq!(digest(&stdout(&["trace", compact, "--out", words])), first);
    assert_eq!(digest(&stdout(&["trace", words])), first);
}

#[test]
fn a_trace_runs_in_the_place_of_a_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let (trace, json) = (halo(folder.path()), folder.path().join("run.json"));
    let json = json.to_str().expect("text");
    let text = stdout(&["run", "rec-4gpu-small", "--workload", &trace, "--json", json]);
    assert!(text.starts_with("halo on rec-4gpu-small") && text.ends_with("verified: true\n"), "{text}");
    let result: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(json).expect("results")).expect("JSON");
    assert_eq!(result["workload"], "halo");
}

#[test]
fn a_sweep_takes_traces_beside_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    halo(folder.path());
    let sweep = folder.path().join("s.toml");
    let text = "name = \"s\"\nfabric = \"rec-4gpu-small\"\nworkloads = [\"./halo.wtrace\"]\n[[axis]]\nkey = \"protocol\"\nvalues = [\"baseline\", \"rec\"]\n[[summary]]\ncolumns = \"protocol\"\nmetric = \"cycles\"\n";
    std::fs::write(&sweep, text).expect("written");
    let out = folder.path().join("out");
    let text = stdout(&["sweep", sweep.to_str().expect("text"), "--out", out.to_str().expect("text")]);
    assert!(text.lines().any(|line| line.starts_with("| halo ")), "{text}");
    let rows = std::fs::read_to_string(out.join("s.csv")).expect("results");
    let done = rows.lines().filter(|row| row.contains("ok,") && row.contains("halo,digest="));
    assert_eq!(done.count(), 2, "{rows}");
}

#[test]
fn mistakes_are_told_in_one_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = halo(folder.path());
    let run = |trace: &str, more: &[&str], part: &str| {
        refused(&[&["run", "rec-4gpu-small", "--workload", trace], more].concat(), part);
    };
    refused(&["trace", "./nowhere.wtrb"], "./nowhere.wtrb: No such file");
    refused(&["trace", &trace, "--out", "./a.txt"], "the ending says no format");
    run(&trace, &["--param", "n=3"], "takes no --param");
    run(&trace, &["--graph", "g.mtx"], "takes no --graph");
    let cut = folder.path().join("cut.wtrace");
    std::fs::write(&cut, &HALO[..HALO.len() - 30]).expect("written");
    run(cut.to_str().expect("text"), &[], "cut.wtrace, line ");
    let packed = folder.path().join("halo.wtrace.zst");
    std::fs::write(&packed, HALO).expect("written");
    run(
        packed.to_str().expect("text"),
        &[],
        "halo.wtrace.zst: cannot be unpacked to its end: these bytes are no frame of Zstandard",
    );
}
