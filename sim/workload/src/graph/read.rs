//! From a file to a graph.

use std::path::Path;

use super::GraphError;
use super::csr::Graph;
use super::options::{Format, LIMIT_OPTION, ReadOptions};
use super::source::{Lines, Source};
use super::{dimacs, edge_list, matrix_market, metis};
use crate::compressed::{self, Limit, Unpacked};

/// Reads a graph file.
pub fn read(path: &Path) -> Result<Graph, GraphError> {
    read_as(path, &ReadOptions::default())
}

/// Reads a graph file in a certain way.
pub fn read_as(path: &Path, options: &ReadOptions) -> Result<Graph, GraphError> {
    let shown = path.display().to_string();
    let limit = Limit { bytes: options.limit, option: LIMIT_OPTION };
    match compressed::open(path, limit) {
        Ok(from) => build(&shown, from, options),
        Err(cause) => Err(GraphError::Open { path: shown, cause }),
    }
}

/// Reads a graph from the bytes of a file; `path` serves for the format and for error messages.
pub fn read_bytes(path: &str, bytes: impl AsRef<[u8]>) -> Result<Graph, GraphError> {
    read_bytes_as(path, bytes, &ReadOptions::default())
}

/// Reads a graph from the bytes of a file in a certain way.
pub fn read_bytes_as(
    path: &str,
    bytes: impl AsRef<[u8]>,
    options: &ReadOptions,
) -> Result<Graph, GraphError> {
    let limit = Limit { bytes: options.limit, option: LIMIT_OPTION };
    match compressed::unpack(bytes.as_ref(), limit) {
        Ok(from) => build(path, from, options),
        Err(cause) => Err(GraphError::Open { path: path.to_owned(), cause }),
    }
}

fn build(path: &str, from: Unpacked<'_>, options: &ReadOptions) -> Result<Graph, GraphError> {
    let source = Source { path, options };
    let mut lines = Lines::new(&source, from);
    let first = lines.first()?;
    let format = match options.format {
        Some(format) => format,
        None => detect(path, &first)?,
    };
    let parsed = match format {
        Format::Metis => metis::parse(&source, &mut lines),
        Format::EdgeList => edge_list::parse(&source, &mut lines),
        Format::MatrixMarket => matrix_market::parse(&source, &mut lines),
        Format::Dimacs => dimacs::parse(&source, &mut lines),
    }?;
    if parsed.vertices == 0 {
        return Err(source.empty());
    }
    let mut graph = parsed.graph(options.directed);
    graph.set_name(stem(path));
    graph.set_file(path);
    Ok(graph)
}

/// The file's name without the ending of a packer and that of its format.
fn stem(path: &str) -> &str {
    let file = compressed::plain(path.rsplit(['/', '\\']).next().unwrap_or(path));
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

fn detect(path: &str, first: &str) -> Result<Format, GraphError> {
    let ending = compressed::plain(path).rsplit('.').next().unwrap_or("");
    let by_name = match ending.to_ascii_lowercase().as_str() {
        "graph" | "metis" | "chaco" => Some(Format::Metis),
        "txt" | "el" | "edges" | "edgelist" | "snap" | "tsv" => Some(Format::EdgeList),
        "mtx" | "mm" => Some(Format::MatrixMarket),
        "gr" | "dimacs" => Some(Format::Dimacs),
        _ => None,
    };
    if first.starts_with("%%MatrixMarket") {
        return Ok(Format::MatrixMarket);
    }
    if first.starts_with("p sp") || first.starts_with("p tw") {
        return Ok(Format::Dimacs);
    }
    let konect = first.strip_prefix('%').is_some_and(|rest| {
        let format = rest.split_ascii_whitespace().next();
        format.is_some_and(|word| ["sym", "asym", "bip"].contains(&word))
    });
    match by_name {
        Some(format) => Ok(format),
        None if first.starts_with("c ") || first == "c" => Ok(Format::Dimacs),
        None if first.starts_with('#') || konect => Ok(Format::EdgeList),
        None => Err(GraphError::UnknownFormat { path: path.to_owned() }),
    }
}
