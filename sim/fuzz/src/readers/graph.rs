//! Graphs: METIS, edge lists, Matrix Market, DIMACS, plain and packed.

use super::{gunzip, gzip, text, texts};
use crate::{Form, Part, Target};
use weft_workload::graph::{ReadOptions, read_bytes_as};

/// Bytes that a graph may take here: each reader keeps to the limit that it is given.
const LIMIT: u64 = 1 << 20;

/// What a reader may allocate whatever the size of the file: the limit, in arrays that grow by doubling.
const CONSTANT: u64 = 4 * LIMIT;

const METIS: [&str; 4] = [
    "% a triangle and more\n4 4\n2 3\n1 3\n1 2 4\n3\n",
    "3 2 011 2\n1 2 2 7\n3 1 1 7 3 9\n4 4 2 9\n",
    "3 2 1\n2 5\n1 5 3 6\n2 6\n",
    "2 1 10\n4 2\n4 1\n",
];

const EDGES: [&str; 4] = [
    "# Directed graph\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n2\t0\n7\t7\n",
    "0 1 0.5\n1 2 2\n2 0 1e3\n",
    "% asym weighted\n% 3 4 4\n1 2 3\n2 3 1\n4 1 2\n",
    "% sym unweighted\n% 2 3 3\n1 2\n2 3\n",
];

const MATRIX_MARKET: [&str; 4] = [
    "%%MatrixMarket matrix coordinate pattern symmetric\n% a comment\n4 4 3\n2 1\n3 1\n4 4\n",
    "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 0.5\n2 3 1e2\n3 1 4\n",
    "%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 5\n3 2 -6\n",
    "%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 1.0 2.0\n",
];

const DIMACS: [&str; 3] = [
    "c shortest paths\np sp 4 3\na 1 2 5\na 2 3 7\na 4 1 1\n",
    "p tw 4 3\n1 2\n2 3\n4 1\n",
    "c edges\np sp 2 2\na 1 2 1\na 2 1 1\n",
];

fn read(name: &str, input: &[u8]) -> Result<(), String> {
    let options = ReadOptions { limit: LIMIT, ..ReadOptions::default() };
    read_bytes_as(name, input, &options).map(|_| ()).map_err(|error| error.to_string())
}

/// One of each format that its content tells, packed by gzip; one by xz and one by Zstandard, which are damaged only.
fn packed() -> Vec<Vec<u8>> {
    let plain = [EDGES[0], EDGES[3], MATRIX_MARKET[1], DIMACS[0]];
    let mut all: Vec<Vec<u8>> = plain.iter().map(|text| gzip(text.as_bytes())).collect();
    all.push(include_bytes!("seeds/triangle.txt.xz").to_vec());
    all.push(include_bytes!("seeds/triangle.txt.zst").to_vec());
    all
}

pub(super) fn targets() -> Vec<Target> {
    let with = |target: Target| Target { constant: CONSTANT, ..target };
    vec![
        with(text(
            "graph-metis",
            "METIS and Chaco graphs",
            || texts(&METIS),
            "011  10  %",
            |input| read("g.graph", input),
        )),
        with(text(
            "graph-edges",
            "edge lists of SNAP and KONECT",
            || texts(&EDGES),
            "sym  asym  bip  weighted  posweighted  signed  multirating  dynamic  #  %",
            |input| read("g.txt", input),
        )),
        with(text(
            "graph-matrix-market",
            "Matrix Market files",
            || texts(&MATRIX_MARKET),
            "coordinate  array  pattern  integer  complex  general  skew-symmetric  \
            hermitian",
            |input| read("g.mtx", input),
        )),
        with(text(
            "graph-dimacs",
            "DIMACS and PACE graphs",
            || texts(&DIMACS),
            "p sp  p tw  a  c",
            |input| read("g.gr", input),
        )),
        Target {
            name: "graph-packed",
            about: "graphs packed by gzip, xz or Zstandard, of a format told by content",
            seeds: packed,
            words: "p  sp  %%MatrixMarket  #",
            form: Form::Parts {
                open: |input| gunzip(input).map(|bytes| vec![Part::text(bytes)]),
                close: |parts| gzip(&parts[0].bytes),
            },
            constant: CONSTANT,
            read: |input| read("g.gz", input),
        },
    ]
}
