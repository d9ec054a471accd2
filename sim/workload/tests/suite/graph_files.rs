//! Graph files: what is written is read back, in every format and compression, and damage is named.

use std::io::Write;
use std::path::PathBuf;

use proptest::prelude::*;
use weft_workload::graph::{self, Graph, GraphError, read_bytes};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
}

type Edges = Vec<(u32, u32, u32)>;

/// Vertices, and directed edges with weights.
fn any_edges() -> impl Strategy<Value = (u32, Edges)> {
    (1..40u32).prop_flat_map(|n| (Just(n), prop::collection::vec((0..n, 0..n, 0..1000u32), 0..120)))
}

fn directed(n: u32, edges: &Edges, weighted: bool) -> Graph {
    let (arcs, weights) = split(edges);
    Graph::directed(n, &arcs, weighted.then_some(&weights))
}

fn undirected(n: u32, edges: &Edges, weighted: bool) -> Graph {
    let (arcs, weights) = split(edges);
    Graph::undirected(n, &arcs, weighted.then_some(&weights))
}

fn split(edges: &Edges) -> (Vec<(u32, u32)>, Vec<f64>) {
    edges.iter().map(|&(u, v, w)| ((u, v), f64::from(w))).unzip()
}

fn same(read: &Graph, made: &Graph) {
    assert_eq!(read.vertices(), made.vertices());
    assert_eq!(read.edges(), made.edges());
    assert_eq!(read.is_directed(), made.is_directed());
    assert_eq!(sorted(read.out()), sorted(made.out()));
    assert_eq!(sorted(read.incoming()), sorted(made.incoming()));
}

/// Rows with their weights; parallel edges in the order of their weights.
fn sorted(csr: &graph::Csr) -> Vec<Vec<(u32, Option<u64>)>> {
    let rows = csr.offsets().windows(2);
    rows.map(|w| {
        let weight = |i: usize| csr.weights().map(|all| all[i].to_bits());
        let mut row: Vec<_> = (w[0] as usize..w[1] as usize).map(|i| (csr.targets()[i], weight(i))).collect();
        row.sort_unstable();
        row
    })
    .collect()
}

fn metis(graph: &Graph, weighted: bool) -> String {
    let mut text = format!(
        "% made by a test\n{} {}{}\n",
        graph.vertices(),
        graph.edges(),
        if weighted { " 1" } else { "" }
    );
    for v in 0..graph.vertices() as usize {
        let arcs = graph.out().offsets()[v] as usize..graph.out().offsets()[v + 1] as usize;
        for i in arcs {
            text += &format!("{} ", graph.out().targets()[i] + 1);
            if let (true, Some(weights)) = (weighted, graph.out().weights()) {
                text += &format!("{} ", weights[i]);
            }
        }
        text += "\n";
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn metis_round_trip((n, edges) in any_edges(), weighted: bool) {
        // Parallel edges of different weights have no order that both ends share.
        let mut edges: Edges = edges.into_iter().filter(|(u, v, _)| u != v)
            .map(|(u, v, w)| (u.min(v), u.max(v), w)).collect();
        edges.sort_unstable();
        edges.dedup_by_key(|e| (e.0, e.1));
        let made = undirected(n, &edges, weighted);
        same(&read_bytes("g.graph", metis(&made, weighted).into_bytes()).expect("reads"), &made);
    }

    #[test]
    fn edge_list_round_trip((n, edges) in any_edges(), is_directed: bool, weighted: bool, factor in 1..1000u64) {
        prop_assume!(!edges.is_empty());
        let mut used: Vec<u32> = edges.iter().flat_map(|e| [e.0, e.1]).collect();
        used.sort_unstable();
        used.dedup();
        let dense = |v: u32| used.binary_search(&v).expect("used") as u32;
        let small: Edges = edges.iter().map(|&(u, v, w)| (dense(u), dense(v), w)).collect();
        let mut text = format!("# {} graph\r\n# Nodes: {} Edges: {}\r\n", if is_directed { "Directed" } else { "Undirected" }, used.len(), edges.len());
        for &(u, v, w) in &edges {
            text += &format!("{}\t{}", u64::from(u) * factor, u64::from(v) * factor);
            text += &if weighted { format!(" {w}\r\n") } else { "\r\n".to_owned() };
        }
        let read = read_bytes("g.txt", text.into_bytes()).expect("reads");
        let count = used.len() as u32;
        same(&read, &if is_directed { directed(count, &small, weighted) } else { undirected(count, &small, weighted) });
        for (i, &v) in used.iter().enumerate() {
            prop_assert_eq!(read.label(i as u32), u64::from(v) * factor);
        }
        prop_assert!(n >= count);
    }

    #[test]
    fn matrix_market_round_trip((n, edges) in any_edges(), symmetric: bool, weighted: bool) {
        let edges: Edges = if symmetric { edges.into_iter().map(|(u, v, w)| (u.max(v), u.min(v), w)).collect() } else { edges };
        let mut text = format!("%%MatrixMarket matrix coordinate {} {}\n% made\n{n} {n} {}\n",
            if weighted { "real" } else { "pattern" }, if symmetric { "symmetric" } else { "general" }, edges.len());
        for (u, v, w) in &edges {
            text += &format!("{} {}", u + 1, v + 1);
            text += &if weighted { format!(" {w}.0e0\n") } else { "\n".to_owned() };
        }
        let made = if symmetric { undirected(n, &edges, weighted) } else { directed(n, &edges, weighted) };
        same(&read_bytes("g.mtx", text.clone().into_bytes()).expect("reads"), &made);
        same(&read_bytes("no-ending", text.into_bytes()).expect("reads by content"), &made);
    }

    #[test]
    fn dimacs_and_pace_round_trip((n, edges) in any_edges(), pace: bool, compression in 0..3) {
        let mut text = format!("c made\nc\np {} {n} {}\n", if pace { "tw" } else { "sp" }, edges.len());
        for (u, v, w) in &edges {
            text += &if pace { format!("{} {}\n", u + 1, v + 1) } else { format!("a {} {} {w}\n", u + 1, v + 1) };
        }
        let bytes = match compression {
            0 => text.into_bytes(),
            1 => gzip(text.as_bytes()),
            _ => xz(text.as_bytes()),
        };
        let name = ["g.gr", "g.gr.gz", "g.gr.xz"][compression as usize];
        let made = if pace { undirected(n, &edges, false) } else { directed(n, &edges, true) };
        same(&read_bytes(name, bytes).expect("reads"), &made);
    }

    #[test]
    fn a_file_cut_anywhere_is_never_a_panic(cut in 0usize..450, name in prop::sample::select(vec!["g.graph", "g.gr", "g.mtx", "g.txt"])) {
        let mut bytes = std::fs::read(data("karate.graph")).expect("bundled");
        bytes.truncate(cut);
        if let Err(error) = read_bytes(name, bytes) {
            prop_assert!(error.to_string().contains(name));
        }
    }

    #[test]
    fn arbitrary_bytes_are_never_a_panic(bytes: Vec<u8>, name in prop::sample::select(vec!["g.graph", "g.gr", "g.mtx", "g.txt", "g"])) {
        let _ = read_bytes(name, bytes);
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("compresses")
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = xz2::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("compresses")
}

#[test]
fn the_bundled_graphs_have_their_known_sizes() {
    for (name, vertices, edges) in [("karate", 34, 78), ("power", 4941, 6594)] {
        let inside = graph::bundled(name).expect("bundled");
        assert_eq!(
            (inside.name(), inside.vertices(), inside.edges(), inside.arcs()),
            (name, vertices, edges, 2 * edges)
        );
        same(&graph::read(&data(&format!("{name}.graph"))).expect("reads"), &inside);
    }
    assert_eq!(graph::bundled("karate").expect("bundled").out().row(4), [0, 6, 10]);
    assert!(graph::bundled("other").is_none());
}

#[test]
fn a_graph_is_named_after_its_file() {
    for (path, name) in [("/data/USA-road-d.NY.gr.gz", "USA-road-d.NY"), ("c:\\x.gr.xz", "x"), ("y.gr", "y")]
    {
        let graph = read_bytes(path, b"p sp 1 0\n".to_vec()).expect("reads");
        assert_eq!(graph.name(), name);
    }
}

#[test]
fn loops_and_vertex_weights_of_metis() {
    let loops_once = read_bytes("a.graph", b"2 2\n1 2\n1\n".to_vec()).expect("reads");
    let loops_twice = read_bytes("a.graph", b"2 2 10\n9 1 1 2\n8 1\n".to_vec()).expect("reads");
    same(&loops_once, &loops_twice);
    assert_eq!(loops_once.out().row(0), [0, 1]);
    let sizes_and_two_weights =
        read_bytes("a.graph", b"2 1 111 2\n1 5 5 2 7\n1 5 5 1 7\n".to_vec()).expect("reads");
    assert_eq!(sizes_and_two_weights.out().weights(), Some([7.0, 7.0].as_slice()));
}

fn complaint(name: &str, text: &str) -> String {
    match read_bytes(name, text.as_bytes().to_vec()) {
        Ok(graph) => panic!("{text:?} is accepted with {} vertices", graph.vertices()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_fault_is_named_with_its_place() {
    let cases = [
        ("a.graph", "", "a.graph holds no graph: found the end of the file, expected at least one vertex"),
        ("a.graph", "3 x\n", "a.graph line 1: found \"x\", expected the number of edges (a whole number)"),
        (
            "a.graph",
            "2 1\n2\n",
            "a.graph: found 1 vertex lines, expected 2 as line 1 declares; the file may be truncated",
        ),
        (
            "a.graph",
            "2 2\n2\n1\n",
            "a.graph: found 2 neighbour entries, expected 4 as line 1 declares; the file may be truncated",
        ),
        ("a.graph", "2 1\n3\n1\n", "a.graph line 2: vertex 3 is out of range, expected 1..2"),
        (
            "a.graph",
            "2 1\n2\n1\n1\n",
            "a.graph line 4: found \"1\", expected the end of the file after 2 vertex lines",
        ),
        (
            "a.graph",
            "3 1\n2\n3\n\n",
            "a.graph line 2: found neighbour 2 without its way back, expected 1 among the neighbours of 2",
        ),
        (
            "a.graph",
            "2 1 2\n2\n1\n",
            "a.graph line 1: found \"2\", expected a METIS format code of up to three digits 0 or 1",
        ),
        ("a.gr", "p sp 2 1\na 1 0 4\n", "a.gr line 2: vertex 0 is out of range, expected 1..2"),
        (
            "a.gr",
            "p sp 2 2\na 1 2 4\n",
            "a.gr: found 1 edges, expected 2 as line 1 declares; the file may be truncated",
        ),
        ("a.gr", "p sp 2 1\na 1 2\n", "a.gr line 2: found the end of the line, expected a length"),
        ("a.gr", "p sp 2 1\n1 2\n", "a.gr line 2: found \"1 2\", expected \"a FROM TO LENGTH\""),
        ("a.gr", "c\nq\n", "a.gr line 2: found \"q\", expected \"p sp N M\" or \"p tw N M\""),
        (
            "a.gr",
            "p tw 9999999999 1\n1 2\n",
            "a.gr line 1: found 9999999999, expected the number of vertices of at most 268435456",
        ),
        ("a.txt", "1 2\n1 x\n", "a.txt line 2: found \"x\", expected a second vertex (a whole number)"),
        ("a.txt", "1 2\n1 2 3\n", "a.txt line 2: found a weight, expected none, as on the lines before"),
        (
            "a.txt",
            "# Nodes: 2 Edges: 2\n1 2\n",
            "a.txt: found 1 edges, expected 2 as line 1 declares; the file may be truncated",
        ),
        (
            "a.mtx",
            "%%MatrixMarket matrix array real general\n",
            "a.mtx line 1: found \"%%MatrixMarket matrix array real general\", expected \"%%MatrixMarket matrix coordinate FIELD SYMMETRY\"",
        ),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate real general\n2 3 0\n",
            "a.mtx line 2: found 2 rows and 3 columns, expected a square matrix, which a graph is",
        ),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 5\n",
            "a.mtx line 3: found entry 1 2 outside the lower triangle, expected one triangle only, as the symmetry says",
        ),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 inf\n",
            "a.mtx line 3: found \"inf\", expected a value (a number)",
        ),
        (
            "a",
            "1 2\n",
            "cannot tell the graph format of a: name it .graph (METIS), .txt (edge list), .mtx (Matrix Market) or .gr (DIMACS), optionally followed by .gz or .xz",
        ),
    ];
    for (name, text, expected) in cases {
        assert_eq!(complaint(name, text), expected, "{text:?}");
    }
}

#[test]
fn missing_and_damaged_files_are_named() {
    let missing = graph::read(&data("absent.graph")).expect_err("absent");
    assert!(matches!(missing, GraphError::Open { .. }), "{missing}");
    assert!(missing.to_string().contains("absent.graph"));
    for (packed, kind) in [(gzip(b"2 1\n2\n1\n"), "gzip"), (xz(b"2 1\n2\n1\n"), "xz")] {
        let half = packed[..packed.len() / 2].to_vec();
        let error = read_bytes("a.graph.gz", half).expect_err("half a file");
        assert!(error.to_string().contains(kind), "{error}");
    }
}
