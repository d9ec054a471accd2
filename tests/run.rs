//! `weft run`: every program and every protocol computes the host's result, graphs come in every format, and the JSON says what was measured.

use crate::program::weft_in as weft;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use weft_fabric::family::directory::PROTOCOLS;

/// A program that ends after a few thousand cycles.
const KARATE: [&str; 4] = ["--param", "source=karate", "--param", "iterations=2"];

/// The JSON of a run that verified.
fn run(args: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let mut all = vec!["run", "rec-4gpu-small", "--json", "run.json"];
    all.extend(args);
    let out = weft(folder.path(), &all);
    let (said, wrong) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{all:?}: {wrong}");
    assert_eq!(said.trim_end().lines().last(), Some("verified: true"), "{all:?}: {said}");
    let text = std::fs::read_to_string(folder.path().join("run.json")).expect("written");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["verified"], true, "{all:?}");
    json
}

fn number(json: &Value, of: &str, name: &str) -> u64 {
    json[of][name].as_u64().unwrap_or_else(|| panic!("{of}.{name} is no count: {}", json[of]))
}

/// Runs programs whose data several GPUs share; all of them verify.
fn verified(programs: &[(&str, &[&str])]) {
    for (name, params) in programs {
        let mut args = vec!["--workload", name];
        args.extend(params.iter().flat_map(|p| ["--param", *p]));
        let json = run(&args);
        assert_eq!(json["workload"], *name);
        let launched = json["kernels"].as_array().expect("a list").len();
        assert!(launched >= 1, "{name} ran no kernel");
        let (accesses, requests) =
            (number(&json, "metrics", "l2_accesses"), number(&json, "metrics", "inter_gpu_requests"));
        assert!(
            accesses > 0 && requests > 0,
            "{name}: {accesses} accesses, {requests} requests: nothing was shared"
        );
    }
}

#[test]
fn every_dense_program_computes_the_hosts_result() {
    verified(&[
        ("pagerank", &["source=uniform", "nodes=64", "edges=256", "iterations=2"]),
        ("gemv", &["n=32"]),
        ("atax", &["rows=64", "columns=32"]),
        ("fir", &["samples=1024", "blocks=2"]),
        ("transpose", &["rows=64", "columns=32"]),
        ("stencil", &["n=32", "iterations=2"]),
        ("c2d", &["n=48"]),
        ("gemm", &["m=32", "n=32", "k=16"]),
        ("j2d", &["n=40", "steps=1"]),
        ("lu", &["n=20"]),
        ("mm2", &["n=36"]),
        ("mm3", &["n=36"]),
        ("sc", &["n=40"]),
        ("aes", &["blocks=256"]),
        ("bicg", &["rows=64", "columns=32"]),
        ("conv", &["n=40"]),
        ("mm", &["n=48"]),
        ("mt", &["n=72"]),
        ("relu", &["length=5000"]),
        ("xtreme1", &["kilobytes=3", "repeat=1"]),
        ("xtreme2", &["kilobytes=3", "repeat=1"]),
        ("xtreme3", &["kilobytes=3", "repeat=1"]),
    ]);
}

#[test]
fn every_layer_computes_the_hosts_result() {
    verified(&[
        ("alexnet", &["channels=2", "filters=8", "image=9"]),
        ("googlenet", &["channels=4", "filters=8", "image=8"]),
        ("overfeat", &["channels=1", "filters=8", "image=31"]),
        ("resnet", &["blocks=1", "channels=4", "image=8"]),
        ("lstm", &["hidden=32", "batch=4", "steps=2"]),
        ("rnn-fw", &["hidden=32", "batch=8", "steps=2"]),
        ("rnn-dgrad", &["hidden=32", "batch=8", "steps=2"]),
        ("rnn-wgrad", &["hidden=32", "batch=4", "steps=2"]),
        ("vgg16", &["batch=1", "scale=64", "classes=3"]),
    ]);
}

#[test]
fn every_irregular_program_computes_the_hosts_result() {
    verified(&[
        ("bfs", &["source=uniform", "nodes=256", "edges=1024"]),
        ("mst", &["source=uniform", "nodes=256", "edges=1024"]),
        ("comd", &["cells=4", "steps=1"]),
        ("cusolver", &["tiles=3"]),
        ("hpgmg", &["levels=3", "cycles=1"]),
        ("miniamr", &["roots=2", "refinements=1", "steps=1"]),
        ("minicontact", &["elements=12", "steps=2"]),
        ("namd", &["atoms=4", "steps=1"]),
        ("nekbone", &["elements=2", "iterations=1"]),
        ("nw", &["tiles=5"]),
        ("pathfinder", &["columns=2000", "rows=9"]),
        ("snap", &["cells=4", "octants=1"]),
    ]);
}

#[test]
fn work_groups_that_wait_for_one_another_must_all_fit() {
    let folder = tempfile::tempdir().expect("a folder");
    let args = ["run", "rec-4gpu-small", "--workload", "cusolver", "--param", "tiles=2", "--param", "cus=65"];
    let out = weft(folder.path(), &args);
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8_lossy(&out.stderr);
    let expected = "the work-groups of kernel cholesky_step wait for one another, and 65 of them share a GPU that holds 32";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn every_protocol_computes_pagerank() {
    let mut cycles = Vec::new();
    for of in PROTOCOLS {
        let protocol = of.name();
        let set = format!("protocol={protocol}");
        let mut args = vec!["--set", set.as_str()];
        args.extend(KARATE);
        let json = run(&args);
        assert_eq!(json["config"]["protocol"], protocol);
        cycles.push((protocol, number(&json, "metrics", "inter_gpu_requests")));
        // Without a directory there is nothing to evict and nobody to invalidate.
        if of.directory().is_none() && !of.ideal() {
            for kind in ["write_invalidations", "evict_invalidations"] {
                assert_eq!(number(&json, "metrics", kind), 0, "{protocol}: {kind}");
            }
        }
    }
    let of = |name: &str| cycles.iter().find(|(p, _)| *p == name).map(|(_, n)| *n).expect("ran");
    assert!(
        of("no-remote-caching") > of("rec"),
        "lines of other GPUs that no L2 keeps are fetched again and again: {cycles:?}"
    );
}

#[test]
fn gpus_of_several_gpms_compute_pagerank() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut args = vec!["run", "hmg-4gpu-small", "--json", "run.json", "--workload", "pagerank"];
    args.extend(KARATE);
    let out = weft(folder.path(), &args);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = std::fs::read_to_string(folder.path().join("run.json")).expect("written");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&json["config"]["gpms"], &json["config"]["protocol"]), (&4.into(), &"hmg".into()));
    let requests = number(&json, "metrics", "inter_gpu_requests");
    let links: u64 = ["rdreq", "wrreq", "atomreq"]
        .iter()
        .filter_map(|kind| json["counters"][format!("link_tx.msgs_{kind}")]["value"].as_u64())
        .sum();
    assert!(0 < requests && requests < links, "{requests} of the {links} that leave a GPM leave its GPU");
    let served = |who: &str| json["metrics"]["served"][who].as_u64().expect("a count");
    let far = served("far_l2") + served("far_dram");
    let loads = number(&json, "metrics", "inter_gpu_loads");
    assert!(
        0 < loads && loads <= far,
        "{loads} of {far} accesses that another GPU answers are loads of their own"
    );
    let share = |name: &str| json["metrics"][name].as_f64().expect("a number");
    assert!(share("redundant_inter_gpu_loads") > 0.0, "all GPMs of a GPU gather from the same vector");
    assert!(share("invalidations_per_store") > 0.0 && share("directory_occupancy") > 0.0);
    args[3] = "alone.json";
    args.extend(["--set", "gpus=1"]);
    let out = weft(folder.path(), &args);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = std::fs::read_to_string(folder.path().join("alone.json")).expect("written");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(number(&json, "metrics", "inter_gpu_messages"), 0, "there is no other GPU");
    assert!(json["counters"]["link_tx.msgs_rdreq"]["value"].as_u64() > Some(0), "GPMs read each other");
}

/// At a kernel's end a GPU asks each other GPU once and is answered once, and each home sends each other GPU
/// one marker, which that acknowledges: joined, fences between GPUs grow with the GPMs of a GPU, not with
/// their square.
#[test]
fn fences_between_gpus_do_not_grow_with_the_gpms_that_release() {
    let bytes = |gpus: u64, gpms: u64, fence: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let sets = [format!("gpus={gpus}"), format!("gpms={gpms}"), format!("fence={fence}")];
        let mut args = vec!["run", "hmg-4gpu-small", "--json", "run.json", "--workload", "pagerank"];
        args.extend(KARATE);
        sets.iter().for_each(|set| args.extend(["--set", set]));
        let out = weft(folder.path(), &args);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let text = std::fs::read_to_string(folder.path().join("run.json")).expect("written");
        let json: Value = serde_json::from_str(&text).expect("JSON");
        let kernels = json["kernels"].as_array().expect("a list").len() as u64;
        number(&json, "metrics", "inter_gpu_fence_bytes") / kernels
    };
    for (gpus, gpms) in [(2, 2), (2, 4), (4, 2), (4, 4)] {
        let pairs = gpus * (gpus - 1);
        assert_eq!(bytes(gpus, gpms, "joined"), 16 * pairs * (2 + 2 * gpms), "{gpus}x{gpms}");
        let each = bytes(gpus, gpms, "each");
        assert!(each >= 16 * pairs * (2 * gpms * gpms + 2 * gpms), "{gpus}x{gpms}: {each}");
    }
}

#[test]
fn a_small_directory_evicts_and_the_result_stays_right() {
    let json = run(&[
        "--param",
        "source=uniform",
        "--param",
        "nodes=512",
        "--param",
        "edges=4096",
        "--param",
        "iterations=2",
        "--set",
        "protocol=baseline",
        "--set",
        "entries=32",
    ]);
    assert_eq!(json["config"]["entries"], 32);
    assert!(number(&json, "metrics", "evict_invalidations") > 0, "{}", json["metrics"]);
    assert!(number(&json, "metrics", "write_invalidations") > 0, "{}", json["metrics"]);
}

#[test]
fn figures_agree_with_each_other() {
    let graph = ["source=uniform", "nodes=512", "edges=4096", "iterations=2"];
    let mut args: Vec<&str> = graph.iter().flat_map(|p| ["--param", *p]).collect();
    args.extend([
        "--set",
        "entries=8",
        "--set",
        "ways=2",
        "--set",
        "range=256",
        "--set",
        "links=6",
        "--set",
        "link_bytes=1",
        "--ledger",
        "hits",
    ]);
    let folder = tempfile::tempdir().expect("a folder");
    let mut all = vec!["run", "rec-4gpu-small", "--json", "run.json"];
    all.extend(&args);
    let out = weft(folder.path(), &all);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = std::fs::read_to_string(folder.path().join("run.json")).expect("written");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let metric = |name: &str| number(&json, "metrics", name);
    let kinds = json["metrics"]["bytes_by_kind"].as_object().expect("a table");
    let bytes: u64 = kinds.values().map(|b| b.as_u64().expect("a count")).sum();
    assert_eq!((kinds.len(), bytes), (12, metric("inter_gpu_bytes")));
    let fences: u64 =
        ["fencereq", "invfence", "fenceack"].iter().map(|k| kinds[*k].as_u64().expect("a count")).sum();
    assert_eq!((metric("inter_gpu_fence_bytes"), metric("inter_gpu_fence_messages")), (fences, fences / 16));
    assert_eq!(metric("inter_gpu_bytes_without_fences"), bytes - fences);
    let requests =
        ["fencereq", "invfence"].iter().map(|k| kinds[*k].as_u64().expect("a count") / 16).sum::<u64>();
    assert_eq!(metric("inter_gpu_transactions_with_fences"), metric("inter_gpu_transactions") + requests);
    assert!(metric("inter_gpu_messages") > metric("inter_gpu_transactions"));
    assert!(metric("inter_gpu_transactions") > metric("inter_gpu_requests"));
    let entries: Vec<u64> = json["metrics"]["coalesced_histogram"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|n| n.as_u64().expect("a count"))
        .collect();
    let counter = |name: &str| json["counters"][name]["value"].as_u64().expect("a counter");
    assert_eq!((entries.len(), entries.iter().sum::<u64>()), (4, counter("dir.evictions")));
    assert!(counter("dir.evictions") > 0 && counter("fence_unit.fences") > 0);
    assert_eq!(metric("false_positive_invalidations"), 0);
    // Each operation of the directory takes one row of its table.
    let covers = json["covers"].as_object().expect("a table");
    let rows = ["RD_REM", "WR_REM", "WR_LOC", "ATOM_REM"].map(|op| format!("rec.{op}."));
    let ops = covers.iter().filter(|(id, _)| rows.iter().any(|row| id.starts_with(row)));
    assert_eq!(ops.map(|(_, n)| n.as_u64().expect("a count")).sum::<u64>(), counter("dir.ops"));
    // The run is in the ledger.
    let out = weft(folder.path(), &["ledger", "rec-directory", "--dir", "hits"]);
    let table = String::from_utf8_lossy(&out.stdout).into_owned();
    let row = table.lines().find(|l| l.starts_with("rec.RD_REM.base_miss ")).expect("a row");
    assert!(row.ends_with("run rec-4gpu-small rec pagerank"), "{row}");
    let count = covers["rec.RD_REM.base_miss"].to_string();
    assert_eq!(row.split_whitespace().nth(2), Some(count.as_str()));
}

/// The same five vertices and six directed pairs of edges in each format: name and text.
fn formats() -> [(&'static str, String); 7] {
    let edges = [(1, 2), (1, 3), (2, 3), (3, 4), (4, 5), (1, 5)];
    let list =
        |line: &dyn Fn(u32, u32) -> String| edges.iter().map(|(a, b)| line(*a, *b)).collect::<String>();
    let arcs = list(&|a, b| format!("a {a} {b} 7\na {b} {a} 7\n"));
    [
        ("g.graph", "% five vertices\n5 6\n2 3 5\n1 3\n1 2 4\n3 5\n1 4\n".into()),
        ("g.txt", format!("# from to\n{}", list(&|a, b| format!("{a}\t{b}\n")))),
        ("arcs.txt", format!("# Directed graph\n{}", list(&|a, b| format!("{a}\t{b}\n{b}\t{a}\n")))),
        (
            "g.mtx",
            format!(
                "%%MatrixMarket matrix coordinate pattern symmetric\n% c\n5 5 6\n{}",
                list(&|a, b| format!("{b} {a}\n"))
            ),
        ),
        (
            "real.mtx",
            format!(
                "%%MatrixMarket matrix coordinate real symmetric\n5 5 6\n{}",
                list(&|a, b| format!("{b} {a} 0.5\n"))
            ),
        ),
        ("g.gr", format!("c roads\np sp 5 12\n{arcs}")),
        ("topology.gr", format!("p tw 5 6\n{}", list(&|a, b| format!("{a} {b}\n")))),
    ]
}

fn gzip(text: &str) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(text.as_bytes()).expect("packed");
    out.finish().expect("packed")
}

fn xz(text: &str) -> Vec<u8> {
    let mut out = xz2::write::XzEncoder::new(Vec::new(), 6);
    out.write_all(text.as_bytes()).expect("packed");
    out.finish().expect("packed")
}

#[test]
fn a_graph_gives_the_same_run_in_every_format_and_packed() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        path
    };
    let mut files = Vec::new();
    for (i, (name, text)) in formats().iter().enumerate() {
        files.push(put(name, text.as_bytes()));
        match i {
            0 | 3 => files.push(put(&format!("{name}.gz"), &gzip(text))),
            1 | 5 => files.push(put(&format!("{name}.xz"), &xz(text))),
            _ => {}
        }
    }
    let mut first: Option<(Value, Value)> = None;
    for file in &files {
        let json = run(&["--graph", &file.display().to_string(), "--param", "iterations=1"]);
        let seen = (json["cycles"].clone(), json["counters"].clone());
        match &first {
            Some(first) => assert!(*first == seen, "{}: the run of {}", file.display(), files[0].display()),
            None => first = Some(seen),
        }
    }
}

/// Standard output and JSON of a run on a small fabric that verified.
fn told(folder: &Path, words: &[&str]) -> (String, Value) {
    let out = weft(folder, &[words, &["--json", "told.json"]].concat());
    assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
    let json = std::fs::read_to_string(folder.join("told.json")).expect("written");
    (String::from_utf8(out.stdout).expect("text"), serde_json::from_str(&json).expect("JSON"))
}

#[test]
fn what_was_read_is_told_and_options_override_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("written");
    put("konect.txt", "% asym unweighted\n1 0\n2 1\n");
    put("snap.txt", "# Directed graph\n1 0\n2 1\n");
    put("plain.txt", "1 0\n2 1\n");
    put("plain.dat", "1 0\n2 1\n");
    put("isolated.txt", "# Undirected graph\n# Nodes: 6 Edges: 3\n0 1\n1 0\n2 2\n");
    let bfs = ["run", "rec-4gpu-small", "--workload", "bfs", "--graph"];
    let of = |words: &[&str]| told(folder, &[&bfs[..], words].concat());
    let (said, konect) = of(&["konect.txt"]);
    let line = "graph: konect.txt (KONECT edge list): 3 vertices, 2 arcs, directed, no weights; \
                0 isolated vertices, 0 duplicate edges, 0 self-loops; digest ";
    assert_eq!(said.lines().next().map(|first| first.starts_with(line)), Some(true), "{said}");
    let same = |words: &[&str]| {
        let (_, other) = of(words);
        assert_eq!(other["counters"], konect["counters"], "{words:?}");
        assert_eq!(other["graph"]["digest"], konect["graph"]["digest"], "{words:?}");
    };
    same(&["snap.txt"]);
    same(&["plain.txt", "--directed"]);
    same(&["plain.dat", "--graph-format", "edge-list", "--directed"]);
    let (said, undirected) = of(&["plain.txt"]);
    assert!(
        said.contains("undirected (the file does not say; --directed reads each line as an arc)"),
        "{said}"
    );
    assert_ne!(undirected["counters"], konect["counters"]);
    let (said, forced) = of(&["konect.txt", "--undirected"]);
    assert!(said.contains("2 edges, 4 arcs, undirected (as asked for)"), "{said}");
    assert_eq!(forced["counters"], undirected["counters"]);
    let (_, isolated) = of(&["isolated.txt"]);
    let graph = &isolated["graph"];
    let numbers = ["vertices", "edges", "arcs", "isolated", "duplicates", "self_loops"];
    assert_eq!(numbers.map(|name| graph[name].clone()), [6, 3, 5, 3, 1, 1]);
    assert_eq!((&graph["file"], &graph["format"]), (&"isolated.txt".into(), &"SNAP edge list".into()));
    assert_eq!((&graph["directed"], &graph["weighted"]), (&false.into(), &false.into()));
}

#[test]
fn the_record_says_what_the_run_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = ["run", "rec-4gpu-small", "--workload", "bfs", "--param", "source=karate"];
    let more = ["--param", "root=3", "--param", "nodes=50", "--set", "range=512", "--seed", "9"];
    let (said, json) = told(folder.path(), &[&run[..], &more].concat());
    assert_eq!(json["schema"], "weft-run-2");
    assert_eq!(json["weft"]["version"], env!("CARGO_PKG_VERSION"));
    let commit = json["weft"]["commit"].as_str().expect("text").to_string();
    let version = String::from_utf8(weft(folder.path(), &["--version"]).stdout).expect("text");
    assert!(!commit.is_empty() && version.contains(&commit), "{commit} is not in {version}");
    let params = &json["params"];
    assert_eq!(
        (&params["root"], &params["source"], &params["lanes"]),
        (&3.into(), &"karate".into(), &64.into())
    );
    assert_eq!(json["params_given"], serde_json::json!(["nodes", "root", "seed", "source"]));
    assert_eq!(json["params_unused"], serde_json::json!(["edges", "nodes", "seed"]));
    assert_eq!(json["changed"], serde_json::json!({"range": {"file": 1024, "run": 512}}));
    assert_eq!(json["seed"], 9);
    assert_eq!((&json["graph"]["name"], &json["graph"]["arcs"]), (&"karate".into(), &156.into()));
    for row in [
        "graph: karate (built in): 34 vertices, 78 edges, 156 arcs, undirected, no weights; ",
        "\nmemory: about ",
        "root=3 source=karate\n",
        "group=64 lanes=64 warmup=0\n",
        "nodes=50 seed=9\n",
        "range=512 (file: 1024)\n",
        &format!("weft {} ({commit})\n", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(said.contains(row), "{said}\nlacks {row:?}");
    }
    let (said, json) =
        told(folder.path(), &["run", "rec-4gpu-small", "--workload", "gemv", "--param", "n=32"]);
    assert!(json["graph"].is_null() && !said.contains("graph:"), "{said}");
}

#[test]
fn weights_that_are_scaled_become_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    put("fraction.txt", "0 1 0.5\n1 2 0.25\n0 2 0.9\n");
    put("half.txt", "0 1 500\n1 2 250\n0 2 900\n");
    put("far.txt", "0 1 60000000\n1 2 60000000\n");
    let graph = |program, fabric, file| ["run", fabric, "--workload", program, "--graph", file];
    for (program, fabric) in [("mst", "rec-4gpu-small"), ("sssp", "srsp-64cu-small")] {
        let scaled =
            [&graph(program, fabric, "fraction.txt")[..], &["--param", "weight_scale=1000"]].concat();
        let (scaled, whole) =
            (told(folder.path(), &scaled).1, told(folder.path(), &graph(program, fabric, "half.txt")).1);
        assert_eq!(scaled["counters"], whole["counters"], "{program}");
        assert_eq!(scaled["params_given"], serde_json::json!(["weight_scale"]));
    }
    let near = [&graph("sssp", "srsp-64cu-small", "far.txt")[..], &["--param", "weight_scale=0.1"]].concat();
    assert_eq!(told(folder.path(), &near).1["verified"], true);
}

#[test]
fn the_json_has_its_keys_and_repeats() {
    let mut args = vec!["--seed", "7", "--set", "range=512"];
    args.extend([
        "--param",
        "source=uniform",
        "--param",
        "nodes=64",
        "--param",
        "edges=256",
        "--param",
        "iterations=1",
    ]);
    let mut twice = [run(&args), run(&args)];
    let one = twice[0].as_object().expect("an object");
    for key in [
        "schema",
        "fabric",
        "workload",
        "seed",
        "config",
        "cycles",
        "verified",
        "wall_seconds",
        "cycles_per_second",
        "counters",
    ] {
        assert!(one.contains_key(key), "{key} is missing");
    }
    assert_eq!((&one["fabric"], &one["seed"]), (&"rec-4gpu-small".into(), &7.into()));
    assert_eq!(one["config"]["range"], 512, "what was set is in the record");
    assert!(
        one["cycles"].as_u64().expect("a count") > 0 && one["wall_seconds"].as_f64().expect("a time") > 0.0
    );
    for (name, counter) in one["counters"].as_object().expect("an object") {
        assert!(
            counter["value"].is_u64() && counter["about"].as_str().is_some_and(|a| a.len() > 5),
            "{name}: {counter}"
        );
    }
    for json in &mut twice {
        let all = json.as_object_mut().expect("an object");
        all.remove("wall_seconds");
        all.remove("cycles_per_second");
    }
    assert_eq!(twice[0], twice[1], "same seed, same run");
    args[1] = "8";
    assert_ne!(run(&args)["counters"], twice[0]["counters"], "another seed is another graph");
}

#[test]
fn the_record_of_a_run_is_a_configuration() {
    let json = run(&["--param", "source=karate", "--param", "iterations=1", "--set", "l2_ways=8"]);
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = String::new();
    for (key, value) in json["config"].as_object().expect("an object") {
        if key != "name" {
            text.push_str(&format!("{key} = {value}\n"));
        }
    }
    std::fs::write(folder.path().join("again.toml"), text).expect("written");
    let mut args = vec!["run", "again.toml", "--json", "again.json"];
    args.extend(["--param", "source=karate", "--param", "iterations=1"]);
    let out = weft(folder.path(), &args);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let again = std::fs::read_to_string(folder.path().join("again.json")).expect("written");
    let again: Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!((&again["cycles"], &again["counters"]), (&json["cycles"], &json["counters"]));
}

#[test]
fn the_interpreter_counts_the_same() {
    let args = ["--param", "source=karate", "--param", "iterations=1"];
    let native = run(&args);
    let reference = run(&["--interpreter", args[0], args[1], args[2], args[3]]);
    assert_eq!((&native["cycles"], &native["counters"]), (&reference["cycles"], &reference["counters"]));
}

#[test]
fn threads_count_the_same() {
    let runs = ["1", "2"].map(|threads| run(&[&KARATE[..], &["--threads", threads]].concat()));
    assert_eq!(runs[0]["counters"], runs[1]["counters"]);
    assert_eq!(runs[0]["cycles"], runs[1]["cycles"]);
}

#[test]
fn a_run_that_does_not_end_says_so_and_leaves_no_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut args = vec!["run", "rec-4gpu-small", "--max-cycles", "500", "--json", "run.json"];
    args.extend(KARATE);
    let out = weft(folder.path(), &args);
    assert_eq!(out.status.code(), Some(1));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("has not ended after 500 cycles; --max-cycles"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}
