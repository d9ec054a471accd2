//! What a graph file holds, and the graph that it becomes.

use super::csr::Graph;
use super::entries::Entries;
use super::origin::{Direction, Origin};

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

    /// The graph; `asked` says whether its edges have a direction, whatever the file does.
    pub fn graph(mut self, asked: Option<bool>) -> Graph {
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
