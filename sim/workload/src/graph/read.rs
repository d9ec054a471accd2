//! From a file to a graph.

use std::path::Path;

use super::GraphError;
use super::csr::Graph;
use super::entries::Entries;
use super::options::{Format, LIMIT_OPTION, ReadOptions};
use super::origin::{Direction, Origin};
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

/// What a file holds.
pub struct Parsed {
    /// Format in the words of its users.
    pub format: &'static str,
    pub vertices: u32,
    /// Whether the file says that its edges have a direction; `None` if it says nothing.
    pub directed: Option<bool>,
    /// As they are written; of an undirected graph each once.
    pub edges: Vec<(u32, u32)>,
    /// Weights in the order of the file.
    pub weights: Option<Entries>,
    /// Weights of the edges, where they are others, or in another order.
    pub edge_weights: Option<Vec<f64>>,
    /// Numbers of the vertices in the file, if they are not 1..=n.
    pub labels: Option<Vec<u64>>,
    /// What a user should know of how it was read.
    pub notes: Vec<String>,
}

impl Parsed {
    /// Nothing yet.
    pub fn new(format: &'static str) -> Self {
        Self {
            format,
            vertices: 0,
            directed: None,
            edges: Vec::new(),
            weights: None,
            edge_weights: None,
            labels: None,
            notes: Vec::new(),
        }
    }

    /// Makes a directed graph of edges whose ways back have the opposite weight.
    pub fn with_opposite_ways(&mut self) {
        let back: Vec<(u32, u32)> = self.edges.iter().map(|&(u, v)| (v, u)).collect();
        self.edges.extend(back);
        if let Some(weights) = &self.weights {
            let there = weights.values().iter().copied();
            self.edge_weights = Some(there.clone().chain(there.map(|w| -w)).collect());
        }
        self.directed = Some(true);
        self.notes.push("ways back have the opposite weight".into());
    }

    fn graph(mut self, asked: Option<bool>) -> Graph {
        let directed = asked.or(self.directed).unwrap_or(false);
        if !directed && self.directed == Some(true) {
            self.merge_opposite();
        }
        let direction = match (asked, self.directed) {
            (Some(_), _) => Direction::Option,
            (None, Some(_)) => Direction::File,
            (None, None) => Direction::Assumed,
        };
        let weights = self.edge_weights.as_deref().or(self.weights.as_ref().map(Entries::values));
        let build = if directed { Graph::directed } else { Graph::undirected };
        let mut graph = build(self.vertices, &self.edges, weights);
        graph.set_entries(self.weights);
        if let Some(labels) = self.labels {
            graph.set_labels(labels);
        }
        graph.set_origin(Origin { file: None, format: self.format.into(), direction, notes: self.notes });
        graph
    }

    /// Makes one edge of an arc and its way back, if they have the same weight; every other arc is an edge
    /// of its own.
    fn merge_opposite(&mut self) {
        let weights = self.edge_weights.as_deref().or(self.weights.as_ref().map(Entries::values));
        let weight = |i: usize| weights.map_or(0.0, |w| w[i]);
        let ends = |i: usize| {
            let (u, v) = self.edges[i];
            (u.min(v), u.max(v))
        };
        let mut order: Vec<usize> = (0..self.edges.len()).collect();
        order.sort_by(|&a, &b| ends(a).cmp(&ends(b)).then(weight(a).total_cmp(&weight(b))).then(a.cmp(&b)));
        let alike = |a: &usize, b: &usize| ends(*a) == ends(*b) && weight(*a).total_cmp(&weight(*b)).is_eq();
        let mut kept: Vec<usize> = Vec::with_capacity(order.len());
        for group in order.chunk_by(alike) {
            let there = group.iter().filter(|&&i| self.edges[i].0 <= self.edges[i].1).count();
            // As many edges as the more frequent direction has arcs.
            kept.extend(&group[..there.max(group.len() - there)]);
        }
        kept.sort_unstable();
        let merged = self.edges.len() - kept.len();
        let edge_weights = weights.map(|w| kept.iter().map(|&i| w[i]).collect());
        self.edges = kept.iter().map(|&i| self.edges[i]).collect();
        self.edge_weights = edge_weights;
        if merged > 0 {
            self.notes.push(format!("{merged} arcs merged with their ways back"));
        }
    }
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
