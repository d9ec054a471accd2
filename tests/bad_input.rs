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
        &["--set", "ways = 7", "does not divide entries = 256", "legal: a divisor of entries / banks = 128"],
    ),
    (&["--set", "entries=250"], &["--set", "entries = 250", "does not divide it", "legal: a multiple of 16"]),
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
        &["short.txt", "found 1 edges, expected 3 as line 2 declares", "may be truncated"],
    ),
    (
        &["--workload", "mst", "--graph", "fraction.txt"],
        &[
            "fraction.txt line 1",
            "weight 0.5 is no whole number",
            "0 to 4294967295",
            "--param weight_scale=1000",
        ],
    ),
    (
        &["--workload", "sssp", "--graph", "fraction.txt"],
        &[
            "fraction.txt line 1",
            "weight 0.5 is no whole number",
            "0 to 99999998",
            "--param weight_scale=1000",
        ],
    ),
    (
        &["--workload", "mst", "--graph", "fraction.txt", "--param", "weight_scale=0.1"],
        &["fraction.txt line 1", "weight 0.5 times weight_scale = 0.1 is rounded to 0", "weight_scale=10"],
    ),
    (
        &["--workload", "mst", "--graph", "large.txt"],
        &["large.txt line 1", "weight 5000000000 is above 4294967295", "--param weight_scale=0.1"],
    ),
    (
        &["--workload", "sssp", "--graph", "large.txt"],
        &["large.txt line 1", "weight 5000000000 is above 99999998", "--param weight_scale=0.01"],
    ),
    (
        &["--workload", "mst", "--graph", "negative.txt"],
        &["negative.txt line 2", "weight -3 is negative", "without negative weights"],
    ),
    (
        &["--workload", "sssp", "--graph", "far.txt"],
        &[
            "far.txt: the distance from 0 to 2 is 120000000",
            "99999999 and more as infinite",
            "weight_scale=0.1",
        ],
    ),
    (
        &["--graph", "bip.txt"],
        &["bip.txt line 1", "\"% bip unweighted\"", "expected sym or asym", "bipartite"],
    ),
    (
        &["--graph", "fine.graph", "--graph-format", "mtx"],
        &["--graph-format mtx", "edge-list, matrix-market"],
    ),
    (&["--graph", "fine.graph", "--graph-format", "dimacs"], &["fine.graph line 1", "\"p sp N M\""]),
    (&["--graph", "fine.graph", "--graph-limit", "2T"], &["--graph-limit 2T", "no number of bytes"]),
    (
        &["--graph", "fine.graph", "--graph-limit", "4"],
        &["fine.graph is too large", "more than 4 bytes", "--graph-limit"],
    ),
    (
        &["--graph", "fine.graph", "--directed", "--undirected"],
        &["--directed", "--undirected", "cannot be used with"],
    ),
    (&["--directed"], &["--directed says how a graph is read", "add --graph FILE"]),
    (&["--graph", "word.txt"], &["word.txt line 2", "found \"x\", expected a second vertex"]),
    (&["--graph", "short.graph.xz"], &["short.graph.xz", "truncated xz data", "fetch the file again"]),
    (&["--graph", "range.graph"], &["range.graph line 2", "vertex 9 is out of range", "1..2"]),
    (&["--graph", "what.bin"], &["what.bin", "cannot tell the graph format", ".mtx"]),
    (&["--graph", "empty.txt"], &["empty.txt", "holds no graph", "at least one vertex"]),
    (&["--workload", "gemv", "--graph", "fine.graph"], &["gemv takes no graph", "pagerank"]),
    (&["--workload", "pong"], &["there is no workload pong", "`weft list workloads` shows all"]),
    (&["--param", "iterations=0"], &["pagerank", "iterations = 0", "1..1000"]),
    (&["--param", "speed=9"], &["pagerank has no parameter speed", "`weft list workloads` shows all"]),
    (&["--param", "iteratoins=9"], &["no parameter iteratoins; the nearest is iterations; `weft list"]),
    (&["--workload", "pagernk"], &["there is no workload pagernk; the nearest is pagerank; `weft list"]),
    (
        &["--set", "protocol=gpu-vi", "--set", "inv_rate=4"],
        &["--set: inv_rate = 4", "it must be 1; legal: 1 with protocol gpu-vi"],
    ),
    (&["--set", "protocol=baselin"], &["protocol = baselin", "the nearest is baseline"]),
    (&["--param", "damping"], &["--param damping", "KEY=VALUE"]),
    (
        &["--json", "no/folder/x.json"],
        &["--json no/folder/x.json", "cannot write it: the folder no does not exist", "a folder that exists"],
    ),
    (&["--json", "."], &["--json .", "it is a folder", "give a file"]),
    (&["--json", "fine.graph/x.json"], &["--json fine.graph/x.json", "cannot write it"]),
    (
        &["--waves", "no/folder/x.vcd"],
        &["--waves no/folder/x.vcd", "cannot write it: the folder no does not exist; make it"],
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
    (&["--from", "20"], &["--from says which cycles", "add --waves FILE", "--events FILE", "--trace FILE"]),
    (&["--to", "20"], &["--to says which cycles", "add --waves FILE", "--events FILE", "--trace FILE"]),
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
    let long = format!("{}2 1\n2\n1\n", "% sound up to its end\n".repeat(100));
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut out, long.as_bytes()).expect("packed");
    let whole = out.finish().expect("packed");
    put("short.graph.gz", &whole[..whole.len() - 12]);
    put("short.mtx", b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n");
    put("short.txt", b"# Directed graph\n# Nodes: 3 Edges: 3\n1 2\n");
    put("word.txt", b"1 2\n2 x\n");
    put("fraction.txt", b"0 1 0.5\n1 2 0.25\n0 2 0.9\n");
    put("large.txt", b"0 1 5e9\n1 2 5e9\n");
    put("negative.txt", b"0 1 5\n1 2 -3\n");
    put("far.txt", b"0 1 60000000\n1 2 60000000\n");
    put("bip.txt", b"% bip unweighted\n1 1\n1 2\n");
    let mut out = xz2::write::XzEncoder::new(Vec::new(), 6);
    std::io::Write::write_all(&mut out, long.as_bytes()).expect("packed");
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

/// 4 GiB that a file of 4 MB holds, and vertices that no edge justifies, are refused by a program that has 700 MB of memory.
#[cfg(target_os = "linux")]
#[test]
fn a_graph_takes_no_more_memory_than_it_justifies() {
    let folder = tempfile::tempdir().expect("a folder");
    let gzip = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut out, bytes).and_then(|()| out.finish()).expect("packed")
    };
    // One member of the file for each 8 MiB.
    let bomb = |bytes: &[u8]| gzip(&bytes.repeat((8 << 20) / bytes.len())).repeat(512);
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).expect("written");
    put("zeros.graph.gz", &bomb(b"\0"));
    put("zeros.gr.gz", &bomb(b"\0"));
    put("lines.graph.gz", &bomb(b"\n"));
    put("edges.txt.gz", &bomb(b"1 2\n"));
    put("vertices.mtx", b"%%MatrixMarket matrix coordinate pattern general\n100000000 100000000 1\n1 2\n");
    put("vertices.gr", b"p sp 100000000 1\na 1 2 3\n");
    put("rows.graph.gz", &[gzip(b"100000000 0\n"), gzip(&vec![b'\n'; 100_000_000])].concat());
    let cases: [(&str, &[&str]); 7] = [
        ("zeros.graph.gz", &["zeros.graph.gz line 1: found bytes that are no text"]),
        ("zeros.gr.gz", &["zeros.gr.gz line 1: found bytes that are no text"]),
        ("lines.graph.gz", &["lines.graph.gz is too large", "33554432 bytes", "--graph-limit"]),
        ("edges.txt.gz", &["edges.txt.gz is too large", "33554432 bytes of memory", "--graph-limit"]),
        ("vertices.mtx", &["vertices.mtx line 2: found 100000000 vertices", "1 edges justify"]),
        ("vertices.gr", &["vertices.gr line 1: found 100000000 vertices", "1 edges justify"]),
        ("rows.graph.gz", &["rows.graph.gz line 1048578: found 1048577 vertices", "0 edges justify"]),
    ];
    for (file, parts) in cases {
        let run =
            format!("ulimit -v 700000; exec {WEFT} run rec-4gpu-small --graph-limit 32M --graph {file}");
        let out = Command::new("sh").args(["-c", &run]).current_dir(folder.path()).output().expect("a shell");
        let said = String::from_utf8(out.stderr).expect("text");
        assert_eq!(out.status.code(), Some(2), "{file}: {said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{file}: one sentence, not:\n{said}");
        parts.iter().for_each(|part| assert!(said.contains(part), "{said}\nlacks {part:?}"));
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
    refused(
        folder.path(),
        &["run", "rec-9gpu"],
        &["there is no fabric rec-9gpu; the nearest is rec-4gpu; `weft list fabrics` shows all"],
    );
    refused(folder.path(), &["run", "no/f.toml"], &["cannot read the fabric file no/f.toml"]);
}

#[test]
fn the_other_verbs_refuse_what_cannot_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path());
    std::fs::write(folder.path().join("s.txt"), "+1\n").expect("written");
    let sim = ["sim", "fifo", "--stimulus", "s.txt", "--waves"];
    for (path, cause) in [
        ("no/x.vcd", "the folder no does not exist"),
        ("folder.fst", "it is a folder"),
        ("x.txt", "unknown ending"),
    ] {
        let mut args = sim.to_vec();
        args.push(path);
        refused(folder.path(), &args, &[path, cause]);
    }
    refused(folder.path(), &["export", "fifo", "--out", "fine.graph"], &["fine.graph", "--out"]);
    let states = ["states", "--csv", "no/s.csv"];
    refused(folder.path(), &states, &["--csv no/s.csv: cannot write it: the folder no does not exist"]);
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

#[test]
fn a_name_that_nothing_has_is_answered_with_the_nearest_and_where_all_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases: [(&[&str], &[&str]); 12] = [
        (
            &["export", "tsu2", "--out", "v"],
            &["there is no block tsu2", "the nearest is tsu; `weft list blocks`"],
        ),
        (&["area", "rec-4gpu-smal"], &["the nearest is rec-4gpu-small", "`weft list fabrics`"]),
        (&["area", "fifo", "--param", "dpth=4"], &["fifo has no parameter dpth; the nearest is depth"]),
        (
            &["sweep", "rec-protocol"],
            &["no sweep rec-protocol; the nearest is rec-protocols; `weft list sweeps`"],
        ),
        (
            &["ledger", "rec-directry"],
            &["no block rec-directry; the nearest is rec-directory; `weft ledger`"],
        ),
        (&["litmus", "MPP"], &["no test of the library", "the nearest", "MP.P"]),
        (
            &["states", "--options", "bse"],
            &["--options bse: there is no such set; the nearest is base; there are"],
        ),
        (&["states", "--inject", "nack_lots"], &["no such fault; the nearest is nack_lost"]),
        (&["explore", "mgcc", "--inject", "lit_mwt"], &["no such fault; the nearest is lit_mwts"]),
        (&["reproduce", "hgm"], &["no published results of hgm; the nearest is hmg; there are"]),
        (&["reproduce", "rec", "nope"], &["rec has no figure nope; ", "`weft reproduce list` shows all"]),
        (
            &["digest", "--check", "tu-msi"],
            &["has the name tu-msi; the nearest is tu-mesi; `weft list blocks`"],
        ),
    ];
    for (args, parts) in cases {
        refused(folder.path(), args, parts);
        let out = Command::new(WEFT).args(args).current_dir(folder.path()).output().expect("starts");
        assert!(out.stderr.len() < 400, "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    }
}

#[test]
fn a_value_of_an_enumeration_is_answered_with_the_legal_names() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("s.txt"), "req_op=RDREM\n").expect("written");
    let sim = ["sim", "rec-directory", "--stimulus", "s.txt"];
    let parts =
        ["line 1: req_op: RDREM is no number and no name of its values; the nearest is RD_REM; there are "];
    refused(folder.path(), &sim, &parts);
    std::fs::write(folder.path().join("s.txt"), "req_opp=RD_REM\n").expect("written");
    refused(folder.path(), &sim, &["line 1: there is no input req_opp; the nearest is req_op"]);
}
