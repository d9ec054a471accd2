//! A user's mistakes: each is one sentence with place, cause and what would be legal, status 2, and nothing is simulated or left behind.

use crate::program::WEFT;
use std::path::Path;
use std::process::Command;

/// Words after `weft run rec-4gpu-small`, and what the sentence must hold: place, cause, legal range or remedy.
type Case = (&'static [&'static str], &'static [&'static str]);

const CASES: &[Case] = &[
    (&["--set", "rnage=512"], &["--set", "there is no key rnage", "the nearest is range"]),
    (&["--set", "colour_of_the_bus=blue"], &["no key colour_of_the_bus", "weft list fabrics"]),
    (&["--set", "range"], &["--set range", "KEY=VALUE"]),
    (&["--set", "range=96"], &["--set", "range = 96", "no power of two", "legal: a power of two in 128..8K"]),
    (&["--set", "range=64"], &["--set", "range = 64", "too small", "legal: a power of two in 128..8K"]),
    (
        &["--set", "line=128", "--set", "range=128"],
        &["--set", "range = 128", "smaller than two lines of 128 bytes", "legal: a power of two in 256..4K"],
    ),
    (
        &["--set", "range=8192"],
        &["--set", "range = 8192", "larger than il", "legal: a power of two in 128..4K"],
    ),
    (
        &["--set", "ways=7"],
        &["--set", "ways = 7", "does not divide entries = 256", "legal: a divisor of entries / banks = 64"],
    ),
    (&["--set", "entries=250"], &["--set", "entries = 250", "does not divide it", "legal: a multiple of 32"]),
    (&["--set", "gpus=zero"], &["--set", "gpus = zero", "legal: "]),
    (&["--set", "protocol=mesi"], &["--set", "protocol = mesi", "legal: baseline, "]),
    (&["--graph", "missing.graph"], &["missing.graph", "cannot read", "give the path of a readable graph"]),
    (&["--graph", "."], &["graph file .", "irectory"]),
    (&["--graph", "short.graph"], &["short.graph", "found 2 vertex lines, expected 5 as line 1 declares"]),
    (&["--graph", "short.gr"], &["short.gr", "expected 9", "may be truncated"]),
    (&["--graph", "short.graph.gz"], &["short.graph.gz", "truncated gzip data", "fetch the file again"]),
    (
        &["--graph", "short.mtx"],
        &["short.mtx", "found 1 entries, expected 3 as line 2 declares", "may be truncated"],
    ),
    (
        &["--graph", "short.txt"],
        &["short.txt", "found 2 vertices, expected 3 as line 2 declares", "may be truncated"],
    ),
    (&["--graph", "word.txt"], &["word.txt line 2", "found \"x\", expected a second vertex"]),
    (&["--graph", "short.graph.xz"], &["short.graph.xz", "truncated xz data", "fetch the file again"]),
    (&["--graph", "range.graph"], &["range.graph line 2", "vertex 9 is out of range", "1..2"]),
    (&["--graph", "what.bin"], &["what.bin", "cannot tell the graph format", ".mtx"]),
    (&["--graph", "empty.txt"], &["empty.txt", "holds no graph", "at least one vertex"]),
    (&["--workload", "gemv", "--graph", "fine.graph"], &["gemv takes no graph", "pagerank"]),
    (&["--workload", "pong"], &["unknown workload", "pong", "expected one of"]),
    (&["--param", "iterations=0"], &["pagerank", "iterations = 0", "1..1000"]),
    (&["--param", "speed=9"], &["no parameter \"speed\"", "expected one of iterations"]),
    (&["--param", "damping"], &["--param damping", "KEY=VALUE"]),
    (
        &["--json", "no/folder/x.json"],
        &["--json no/folder/x.json", "cannot write it", "a folder that exists"],
    ),
    (&["--json", "."], &["--json .", "it is a folder", "give a file"]),
    (&["--json", "fine.graph/x.json"], &["--json fine.graph/x.json", "cannot write it"]),
    (
        &["--waves", "no/folder/x.vcd"],
        &["--waves no/folder/x.vcd", "cannot write it", "a folder that exists"],
    ),
    (&["--waves", "folder.fst"], &["--waves folder.fst", "it is a folder", "give a file"]),
    (&["--waves", "x.ghw"], &["x.ghw", "unknown ending", ".vcd or .fst"]),
    (
        &["--waves", "x.vcd", "--from", "20", "--to", "10"],
        &["--from 20 is not before --to 10", "--from in 0..9"],
    ),
    (
        &["--waves", "x.fst", "--from", "5", "--to", "5"],
        &["--from 5 is not before --to 5", "at least one cycle"],
    ),
    (&["--from", "20", "--to", "10"], &["--from 20 is not before --to 10"]),
    (&["--from", "20"], &["--from", "add --waves"]),
    (&["--scope", "gpu0"], &["--scope", "add --waves"]),
    (&["--waves", "x.vcd", "--scope", "gpu9.dir0"], &["gpu9.dir0", "no signal matches", "gpu*.dir*"]),
    (&["--seed", "abc"], &["'abc'", "--seed", "invalid"]),
    (&["--sed", "3"], &["--sed", "--seed"]),
];

/// Files that some of the cases read.
fn fill(folder: &Path) {
    let put = |name: &str, text: &[u8]| std::fs::write(folder.join(name), text).expect("written");
    put("fine.graph", b"2 1\n2\n1\n");
    put("short.graph", b"5 6\n2 3 5\n1 3\n");
    put("short.gr", b"p sp 5 9\na 1 2 1\na 2 3 1\n");
    put("range.graph", b"2 1\n9\n1\n");
    put("what.bin", b"\x01\x02\x03\n");
    put("empty.txt", b"# nothing\n");
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut out, "2 1\n2\n1\n".repeat(100).as_bytes()).expect("packed");
    let whole = out.finish().expect("packed");
    put("short.graph.gz", &whole[..whole.len() - 12]);
    put("short.mtx", b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n");
    put("short.txt", b"# Directed graph\n# Nodes: 3 Edges: 3\n1 2\n");
    put("word.txt", b"1 2\n2 x\n");
    let mut out = xz2::write::XzEncoder::new(Vec::new(), 6);
    std::io::Write::write_all(&mut out, "2 1\n2\n1\n".repeat(100).as_bytes()).expect("packed");
    let whole = out.finish().expect("packed");
    put("short.graph.xz", &whole[..whole.len() - 12]);
    std::fs::create_dir(folder.join("folder.fst")).expect("a folder");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("listed").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn refused(folder: &Path, args: &[&str], parts: &[&str]) {
    let before = names(folder);
    let out = Command::new(WEFT).args(args).current_dir(folder).output();
    let out = out.expect("the program starts");
    let said = String::from_utf8(out.stderr).expect("text");
    assert_eq!(out.status.code(), Some(2), "{args:?}: {said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{args:?}: one sentence, not:\n{said}");
    for part in parts {
        assert!(said.contains(part), "{args:?}: {said}\nlacks {part:?}");
    }
    assert!(out.stdout.is_empty(), "{args:?}: nothing is simulated, so nothing is reported");
    assert_eq!(names(folder), before, "{args:?}: nothing is left behind");
}

#[test]
fn each_mistake_of_a_run_is_one_sentence_and_status_2() {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path());
    for (words, parts) in CASES {
        let mut args = vec!["run", "rec-4gpu-small"];
        args.extend(*words);
        refused(folder.path(), &args, parts);
    }
}

#[test]
fn a_fabric_file_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases: [(&str, &[&str]); 6] = [
        ("gpus = 4\nrnage = 512\n", &["f.toml line 2", "there is no key rnage", "the nearest is range"]),
        ("range = 96\n", &["f.toml line 1", "range = 96", "no power of two", "legal: "]),
        ("line = 64\n\nrange = 64\n", &["f.toml line 3", "range = 64", "legal: a power of two in 128.."]),
        (
            "ways = 8\nentries = 8200\n",
            &["f.toml line 2", "entries = 8200", "does not divide it", "legal: a multiple of"],
        ),
        ("gpus = 4\ngpus 5\n", &["f.toml line 2"]),
        ("gpus = [1, 2]\n", &["f.toml line 1", "gpus", "legal: "]),
    ];
    for (text, parts) in cases {
        std::fs::write(folder.path().join("f.toml"), text).expect("written");
        refused(folder.path(), &["run", "f.toml"], parts);
    }
    refused(folder.path(), &["run", "rec-9gpu"], &["there is no fabric rec-9gpu", "rec-4gpu-small"]);
    refused(folder.path(), &["run", "no/f.toml"], &["cannot read the fabric file no/f.toml"]);
}

#[test]
fn the_other_verbs_refuse_what_cannot_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path());
    std::fs::write(folder.path().join("s.txt"), "+1\n").expect("written");
    let sim = ["sim", "fifo", "--stimulus", "s.txt", "--waves"];
    for (path, cause) in
        [("no/x.vcd", "o such file"), ("folder.fst", "it is a folder"), ("x.txt", "unknown ending")]
    {
        let mut args = sim.to_vec();
        args.push(path);
        refused(folder.path(), &args, &[path, cause]);
    }
    refused(folder.path(), &["export", "fifo", "--out", "fine.graph"], &["fine.graph", "--out"]);
}

#[test]
fn cpu_threads_need_cpu_cores() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |fabric, workload, threads| ["run", fabric, "--workload", workload, "--param", threads];
    refused(
        folder.path(),
        &run("rec-4gpu-small", "hsti", "cpu_threads=2"),
        &["2 threads for CPU cores", "the fabric has 0", "cpu_threads"],
    );
    refused(
        folder.path(),
        &run("spandex-soc-small", "pr", "cpu_threads=3"),
        &["3 threads for CPU cores", "the fabric has 2"],
    );
    // Without cores a program that needs one says so itself.
    refused(folder.path(), &["run", "rec-4gpu-small", "--workload", "reuse-o"], &["cpu_threads"]);
}
