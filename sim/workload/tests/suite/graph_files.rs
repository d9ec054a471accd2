//! Graph files: what is written is read back, in every format and compression, and damage is named.

use std::io::Write;
use std::path::PathBuf;

use proptest::prelude::*;
use weft_workload::graph::{
    self, Direction, Format, Graph, GraphError, GraphFacts, ReadOptions, read_bytes, read_bytes_as,
};

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
        let graph = read_bytes(path, b"p sp 1 0\n").expect("reads");
        assert_eq!(graph.name(), name);
    }
}

#[test]
fn loops_and_vertex_weights_of_metis() {
    let loops_once = read_bytes("a.graph", b"2 2\n1 2\n1\n").expect("reads");
    let loops_twice = read_bytes("a.graph", b"2 2 10\n9 1 1 2\n8 1\n").expect("reads");
    same(&loops_once, &loops_twice);
    assert_eq!(loops_once.out().row(0), [0, 1]);
    let sizes_and_two_weights = read_bytes("a.graph", b"2 1 111 2\n1 5 5 2 7\n1 5 5 1 7\n").expect("reads");
    assert_eq!(sizes_and_two_weights.out().weights(), Some([7.0, 7.0].as_slice()));
}

fn complaint(name: &str, text: &str) -> String {
    match read_bytes(name, text) {
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
            "cannot tell the graph format of a: name it .graph (METIS), .txt (edge list), .mtx (Matrix Market) or .gr (DIMACS), optionally followed by .gz, .xz or .zst, or say it by --graph-format",
        ),
    ];
    for (name, text, expected) in cases {
        assert_eq!(complaint(name, text), expected, "{text:?}");
    }
}

#[test]
fn headers_and_weights_that_contradict_are_named_with_their_place() {
    let cases = [
        (
            "a.graph",
            "2 1 1\n2 3\n1 4\n",
            "a.graph line 2: found weight 3 of the edge to 2, expected 4, its weight on the line of 2",
        ),
        (
            "a.txt",
            "# Nodes: 1 Edges: 1\n1 2\n",
            "a.txt: found 2 vertices, expected 1 as line 1 declares; the file may be truncated",
        ),
        (
            "a.txt",
            "% bip unweighted\n1 1\n",
            "a.txt line 1: found \"% bip unweighted\", expected sym or asym: in a bipartite network both sides count their vertices from 1, and a graph has one kind of vertices; add the size of the left side to all numbers of the right one and write sym",
        ),
        (
            "a.txt",
            "% sym dynamic\n1 1\n",
            "a.txt line 1: found \"% sym dynamic\", expected a network whose edges stay: in a dynamic one lines also take edges away",
        ),
        (
            "a.txt",
            "% sym wieghted\n1 1\n",
            "a.txt line 1: found \"% sym wieghted\", expected one of unweighted, positive, posweighted, signed, multisigned, weighted, multiweighted, multiposweighted behind sym",
        ),
        (
            "a.txt",
            "% asym unweighted\n% 1 3 4\n1 1\n",
            "a.txt line 2: found 3 and 4 vertices, expected the same number twice, as the first line says that there is one kind of vertices",
        ),
        (
            "a.txt",
            "% asym unweighted\n1 2 3\n",
            "a.txt line 2: found \"3\", expected 1, as the first line says unweighted",
        ),
        (
            "a.txt",
            "% sym weighted\n1 2\n",
            "a.txt line 2: found the end of the line, expected a weight, as the first line says",
        ),
        (
            "a.txt",
            "% sym positive\n1 2 1.5\n",
            "a.txt line 2: found \"1.5\", expected a multiplicity (a whole number of at least 1)",
        ),
    ];
    for (name, text, expected) in cases {
        assert_eq!(complaint(name, text), expected, "{text:?}");
    }
}

/// A graph read in a certain way.
fn read_in(name: &str, text: &str, format: Option<Format>, directed: Option<bool>) -> Graph {
    let options = ReadOptions { format, directed, ..ReadOptions::default() };
    read_bytes_as(name, text, &options).unwrap_or_else(|e| panic!("{text:?}: {e}"))
}

fn arcs(graph: &Graph) -> Vec<(u32, u32)> {
    (0..graph.vertices()).flat_map(|v| graph.out().row(v).iter().map(move |to| (v, *to))).collect()
}

fn facts(graph: &Graph) -> GraphFacts {
    GraphFacts::new(graph, String::new())
}

#[test]
fn konect_headers_say_direction_and_what_the_columns_hold() {
    let read = |text: &str| read_bytes("out.net", text).unwrap_or_else(|e| panic!("{text:?}: {e}"));
    let directed = read("% asym unweighted\n1 0\n2 1\n");
    assert_eq!((directed.is_directed(), arcs(&directed)), (true, vec![(1, 0), (2, 1)]));
    let sym = read("% sym unweighted\n% 2 4 4\n1 2 1 1082008561\n2 4 1 1082008562\n");
    assert_eq!((sym.is_directed(), sym.vertices(), sym.edges()), (false, 4, 2));
    assert_eq!((sym.label(2), sym.out().row(2).len(), sym.out().weights()), (3, 0, None));
    assert_eq!((facts(&sym).isolated, facts(&sym).notes), (1, vec!["times not used".to_string()]));
    assert_eq!(facts(&sym).format, "KONECT edge list");
    let weighted = read("% asym weighted\n% 2 2\n1 2 2.5\n2 1 -4\n");
    assert_eq!(weighted.out().weights(), Some([2.5, -4.0].as_slice()));
    // The count of edges may count each as often as its multiplicity says.
    let multiple = read("% asym positive\n% 5 2 2\n1 2 2\n2 1 3\n");
    assert_eq!(multiple.out().weights(), Some([2.0, 3.0].as_slice()));
    assert_eq!(facts(&multiple).notes, ["weights are multiplicities"]);
    assert_eq!(read("% asym positive\n1 2\n1 2\n").out().row(0), [1, 1]);
}

#[test]
fn vertices_without_edges_that_a_snap_header_declares_are_there() {
    let read = |text: &str| read_bytes("a.txt", text).unwrap_or_else(|e| panic!("{text:?}: {e}"));
    let labels = |graph: &Graph| (0..graph.vertices()).map(|v| graph.label(v)).collect::<Vec<_>>();
    let from_0 = read("# Directed graph\n# Nodes: 5 Edges: 2\n0 3\n3 1\n");
    assert_eq!((labels(&from_0), arcs(&from_0)), (vec![0, 1, 2, 3, 4], vec![(0, 3), (3, 1)]));
    let from_1 = read("# Undirected graph\n# Nodes: 4 Edges: 1\n1 4\n");
    assert_eq!((labels(&from_1), arcs(&from_1)), (vec![1, 2, 3, 4], vec![(0, 3), (3, 0)]));
    // Where numbers have gaps, nobody knows those of vertices without edges.
    let sparse = read("# Nodes: 4 Edges: 1\n10 70\n");
    assert_eq!((labels(&sparse), arcs(&sparse)), (vec![10, 70, 71, 72], vec![(0, 1), (1, 0)]));
    assert_eq!((facts(&sparse).isolated, facts(&sparse).direction), (2, Direction::Assumed));
    assert_eq!(facts(&from_1).direction, Direction::File);
}

#[test]
fn options_override_what_a_file_says() {
    let one_way = "# Directed graph\n1 2\n2 1\n2 3\n3 3\n";
    let merged = read_in("a.txt", one_way, None, Some(false));
    assert_eq!((merged.edges(), arcs(&merged)), (3, vec![(0, 1), (1, 0), (1, 2), (2, 1), (2, 2)]));
    let said = facts(&merged);
    assert_eq!((said.direction, said.self_loops), (Direction::Option, 1));
    assert_eq!(said.notes, ["1 arcs merged with their ways back"]);
    // Two ways of different weights are two edges; the more frequent direction counts.
    let weighted = "# Directed graph\n1 2 5\n2 1 6\n1 3 7\n3 1 7\n3 1 7\n";
    let merged = read_in("a.txt", weighted, None, Some(false));
    assert_eq!((merged.edges(), merged.out().row_weights(0)), (4, Some([5.0, 6.0, 7.0, 7.0].as_slice())));
    assert_eq!(facts(&merged).duplicates, 2);
    let lines = read_in("a.txt", "5 6\n7 6\n", None, Some(true));
    assert_eq!((lines.is_directed(), arcs(&lines)), (true, vec![(0, 1), (2, 1)]));
    let as_edges = read_in("a.graph", "1 2\n3 1\n", Some(Format::EdgeList), None);
    assert_eq!((as_edges.vertices(), as_edges.edges()), (3, 2));
    assert_eq!(facts(&as_edges).format, "edge list");
    // Adjacency lines without ways back.
    let rows = "3 2\n2 3\n\n\n";
    assert!(read_bytes("a.graph", rows).is_err());
    assert_eq!(arcs(&read_in("a.graph", rows, None, Some(true))), [(0, 1), (0, 2)]);
    assert_eq!("matrix-market".parse(), Ok(Format::MatrixMarket));
    assert!("mtx".parse::<Format>().is_err_and(|e| e.contains("edge-list")));
}

#[test]
fn ways_back_of_a_skew_symmetric_matrix_have_the_opposite_weight() {
    let text = "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 5\n3 2 -1\n";
    let graph = read_bytes("a.mtx", text).expect("reads");
    assert_eq!(arcs(&graph), [(0, 1), (1, 0), (1, 2), (2, 1)]);
    assert_eq!(graph.out().weights(), Some([-5.0, 5.0, 1.0, -1.0].as_slice()));
}

#[test]
fn what_was_read_is_told_in_one_line() {
    let text = "# from to\n1 2 1\n2 1 1\n3 3 1\n";
    let graph = read_bytes("dir/a.txt", text).expect("reads");
    assert_eq!(
        GraphFacts::new(&graph, "0123".into()).to_string(),
        "dir/a.txt (edge list): 3 vertices, 3 edges, 5 arcs, undirected (the file does not say; --directed reads \
         each line as an arc), weighted; 0 isolated vertices, 1 duplicate edge, 1 self-loop (kept); digest 0123"
    );
    let power = facts(&graph::bundled("power").expect("bundled"));
    assert_eq!((power.file, power.name.as_str(), power.format.as_str()), (None, "power", "built in"));
}

#[test]
fn a_graph_has_one_digest_in_all_formats() {
    let digest = |name: &str, text: &str| {
        let mut bytes = Vec::new();
        read_bytes(name, text).expect("reads").visit_bytes(&mut |b| bytes.extend_from_slice(b));
        bytes
    };
    let first = digest("a.graph", "3 2\n2\n1 3\n2\n");
    assert_eq!(first, digest("a.txt", "# Undirected graph\n7 8\n9 8\n"));
    assert_ne!(first, digest("a.txt", "7 8\n9 7\n"));
    assert_ne!(first, digest("a.txt", "7 8 1\n9 8 1\n"), "weights count");
    assert_ne!(first, digest("a.txt", "# Directed graph\n7 8\n8 7\n9 8\n8 9\n"), "direction counts");
}

#[test]
fn a_weight_is_found_with_its_line() {
    let place = |name: &str, text: &str| {
        read_bytes(name, text)
            .expect("reads")
            .first_weight(|weight| (weight.fract() != 0.0).then_some(()))
            .map(|(place, weight, ())| (place, weight))
    };
    assert_eq!(place("a.txt", "9 1 4\n# c\n\n1 2 0.5\n0 2 0.9\n"), Some(("a.txt line 4".into(), 0.5)));
    assert_eq!(place("a.txt", "9 1 4\n1 2 5\n"), None);
    let metis = "% c\n3 2 1\n2 1\n1 1 3 2.5\n2 2.5\n";
    assert_eq!(place("a.graph", metis), Some(("a.graph line 4".into(), 2.5)));
    let dimacs = "p sp 2 2\na 1 2 3\nc\na 2 1 1e-3\n";
    assert_eq!(place("a.gr", dimacs), Some(("a.gr line 4".into(), 0.001)));
}

/// gzip of the same text many times: one member for each, so that making it takes no time.
fn bomb(text: &[u8], times: usize) -> Vec<u8> {
    gzip(text).repeat(times)
}

#[test]
fn a_packed_file_is_read_up_to_the_limit() {
    let options = ReadOptions { limit: 1 << 20, ..ReadOptions::default() };
    let refused = |name: &str, bytes: &[u8]| match read_bytes_as(name, bytes, &options) {
        Ok(graph) => panic!("{name} is accepted with {} vertices", graph.vertices()),
        Err(error) => error.to_string(),
    };
    let mib = |text: &str| text.repeat((1 << 20) / text.len());
    let over = "is too large: it holds more than 1048576 bytes, the limit; --graph-limit sets another";
    for name in ["a.graph.gz", "a.gr.gz", "a.mtx.gz", "a.txt.gz"] {
        let zeros = refused(name, &bomb(&vec![0; 1 << 20], 64));
        assert_eq!(zeros, format!("{name} line 1: found bytes that are no text, expected a plain text file"));
        assert_eq!(refused(name, &bomb(mib("\n").as_bytes(), 64)), format!("{name} {over}"));
        let spaces = refused(name, &bomb(mib(" ").as_bytes(), 64));
        assert!(spaces.contains("line 1: found a line of more than 131072 bytes"), "{spaces}");
    }
    assert_eq!(refused("a.graph.xz", &xz(mib("\n").as_bytes()).repeat(64)), format!("a.graph.xz {over}"));
    let edges = refused("a.txt.gz", &bomb(mib("1 2\n").as_bytes(), 64));
    assert_eq!(
        edges,
        "a.txt.gz is too large: its edges up to line 21846 take more than 1048576 bytes of memory, the limit; \
         --graph-limit sets another"
    );
    // What is within the limit is read.
    assert_eq!(read_bytes_as("a.txt.gz", gzip(b"1 2\n"), &options).expect("reads").edges(), 1);
}

#[test]
fn vertices_are_bounded_by_what_edges_justify() {
    let n = 100_000_000;
    let cases = [
        ("a.mtx", format!("%%MatrixMarket matrix coordinate pattern general\n{n} {n} 1\n1 2\n"), 2, n, 1),
        ("a.gr", format!("p sp {n} 1\na 1 2 3\n"), 1, n, 1),
        ("b.gr", format!("c\np tw {n} 0\n"), 2, n, 0),
        ("a.txt", format!("# Nodes: {n} Edges: 1\n1 2\n"), 1, n, 1),
        ("b.txt", format!("% sym unweighted\n% 1 {n} {n}\n1 2\n"), 2, n, 1),
        // As many lines as vertices cost a packed file nothing.
        ("a.graph", format!("{n} 0\n{}", "\n".repeat(1_100_000)), 1_048_578, 1_048_577, 0),
    ];
    for (name, text, line, vertices, edges) in cases {
        let most = 1_048_576 + 64 * edges;
        assert_eq!(
            complaint(name, &text),
            format!(
                "{name} line {line}: found {vertices} vertices, expected at most {most}, which {edges} edges justify; \
                 correct the number of vertices, or leave out vertices without an edge"
            )
        );
    }
    let sparse = read_bytes("a.gr", "p sp 1000000 0\n").expect("a million vertices are few");
    assert_eq!(facts(&sparse).isolated, 1_000_000);
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
