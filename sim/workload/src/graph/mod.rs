//! Graphs and the files they come from.
//!
//! [`read`] takes a path to a METIS, edge-list (SNAP), Matrix Market, DIMACS shortest-path or PACE tree-width file,
//! plain or compressed by gzip or xz. What a file says about itself wins over its name: Matrix Market and DIMACS files
//! are known by their first lines, compression by its first bytes; only METIS and edge lists are told apart by the
//! name's ending.

mod csr;
mod dimacs;
mod edge_list;
mod error;
mod matrix_market;
mod metis;
mod source;

use std::path::Path;

pub use csr::{Csr, Graph};
pub use error::GraphError;

use source::Source;

/// File formats that [`read`] knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// METIS / Chaco adjacency lines (`.graph`, `.metis`).
    Metis,
    /// Two numbers a line, optional third as weight (`.txt`, `.el`, `.edges`, `.edgelist`, `.snap`).
    EdgeList,
    /// Matrix Market coordinate file (`.mtx`).
    MatrixMarket,
    /// DIMACS `p sp` or PACE `p tw` (`.gr`).
    Dimacs,
}

/// Names of the graphs compiled into this crate; see `data/PROVENANCE.md`.
pub const BUNDLED: [&str; 2] = ["karate", "power"];

/// A graph compiled into this crate: Zachary's karate club (`karate`, 34 vertices) or the power grid of the western
/// USA (`power`, 4941 vertices); `None` for any other name.
pub fn bundled(name: &str) -> Option<Graph> {
    let bytes: &[u8] = match name {
        "karate" => include_bytes!("../../data/karate.graph"),
        "power" => include_bytes!("../../data/power.graph"),
        _ => return None,
    };
    read_bytes(&format!("{name}.graph"), bytes.to_vec()).ok()
}

/// Reads a graph file.
pub fn read(path: &Path) -> Result<Graph, GraphError> {
    let shown = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|cause| GraphError::Open { path: shown.clone(), cause })?;
    read_bytes(&shown, bytes)
}

/// Reads a graph from the bytes of a file; `path` serves for the format and for error messages.
pub fn read_bytes(path: &str, bytes: Vec<u8>) -> Result<Graph, GraphError> {
    let text = source::decompress(path, bytes)?;
    let source = Source::new(path, &text);
    let mut graph = match detect(&source)? {
        Format::Metis => metis::parse(&source),
        Format::EdgeList => edge_list::parse(&source),
        Format::MatrixMarket => matrix_market::parse(&source),
        Format::Dimacs => dimacs::parse(&source),
    }?;
    if graph.vertices() == 0 {
        return Err(GraphError::Empty { path: path.to_owned() });
    }
    graph.set_name(stem(path));
    Ok(graph)
}

/// The file's name without `.gz`, `.xz` and the ending of its format.
fn stem(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let file = file.trim_end_matches(".gz").trim_end_matches(".xz");
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

fn detect(source: &Source<'_>) -> Result<Format, GraphError> {
    let ending = source.path.trim_end_matches(".gz").trim_end_matches(".xz").rsplit('.').next().unwrap_or("");
    let by_name = match ending.to_ascii_lowercase().as_str() {
        "graph" | "metis" | "chaco" => Some(Format::Metis),
        "txt" | "el" | "edges" | "edgelist" | "snap" | "tsv" => Some(Format::EdgeList),
        "mtx" | "mm" => Some(Format::MatrixMarket),
        "gr" | "dimacs" => Some(Format::Dimacs),
        _ => None,
    };
    let first = source.first_line();
    if first.starts_with("%%MatrixMarket") {
        return Ok(Format::MatrixMarket);
    }
    if first.starts_with("p sp") || first.starts_with("p tw") {
        return Ok(Format::Dimacs);
    }
    match by_name {
        Some(format) => Ok(format),
        None if first.starts_with("c ") || first == "c" => Ok(Format::Dimacs),
        None if first.starts_with('#') => Ok(Format::EdgeList),
        None => Err(GraphError::UnknownFormat { path: source.path.to_owned() }),
    }
}
