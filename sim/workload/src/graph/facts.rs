//! What was read: a graph's size and kind, for people and for records.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::csr::{Csr, Graph};
use super::origin::Direction;

/// What was read: a graph's size and kind. [`fmt::Display`] shows it as one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphFacts {
    /// Name: of the file without endings, or of a graph that comes with this crate.
    pub name: String,
    /// Path of the file, as it was given; `None` for a graph that comes with this crate or is made by rule.
    pub file: Option<String>,
    /// Format of the file, or what else the graph is.
    pub format: String,
    /// Fingerprint of vertices, arcs and weights, the same in whichever format and packing they are.
    pub digest: String,
    /// Vertices.
    pub vertices: u64,
    /// Edges; of a directed graph the arcs.
    pub edges: u64,
    /// Arcs: an undirected edge twice, a loop once.
    pub arcs: u64,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Who says so.
    pub direction: Direction,
    /// Whether edges have weights.
    pub weighted: bool,
    /// Vertices without an edge.
    pub isolated: u64,
    /// Edges beyond the first between the same vertices (in the same direction); they are kept.
    pub duplicates: u64,
    /// Edges from a vertex to itself; they are kept.
    pub self_loops: u64,
    /// What else a user should know of how it was read.
    pub notes: Vec<String>,
}

impl GraphFacts {
    /// What a graph is; `digest` is its fingerprint ([`Graph::visit_bytes`]).
    pub fn new(graph: &Graph, digest: String) -> GraphFacts {
        let origin = graph.origin();
        let (duplicates, self_loops) = repeated(graph.out(), graph.is_directed());
        let rows = |csr: &Csr| csr.offsets().windows(2).map(|w| w[0] == w[1]).collect::<Vec<bool>>();
        let isolated = rows(graph.out()).into_iter().zip(rows(graph.incoming()));
        GraphFacts {
            name: graph.name().into(),
            file: origin.file.clone(),
            format: origin.format.clone(),
            digest,
            vertices: graph.vertices().into(),
            edges: graph.edges(),
            arcs: graph.arcs(),
            directed: graph.is_directed(),
            direction: origin.direction,
            weighted: graph.out().weights().is_some(),
            isolated: isolated.filter(|both| *both == (true, true)).count() as u64,
            duplicates,
            self_loops,
            notes: origin.notes.clone(),
        }
    }
}

/// Repeated edges and loops. Rows are in order, so that repeated arcs stand side by side.
fn repeated(out: &Csr, directed: bool) -> (u64, u64) {
    let (mut duplicates, mut loops) = (0, 0);
    for v in 0..out.offsets().len() as u32 - 1 {
        let row = out.row(v);
        loops += row.iter().filter(|to| **to == v).count() as u64;
        // Of an undirected edge one of the two arcs is counted.
        let own = row.windows(2).filter(|pair| pair[0] == pair[1] && (directed || pair[0] >= v));
        duplicates += own.count() as u64;
    }
    (duplicates, loops)
}

impl fmt::Display for GraphFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = |count: u64, one: &str, several: &str| match count {
            1 => format!("1 {one}"),
            n => format!("{n} {several}"),
        };
        let vertices = many(self.vertices, "vertex", "vertices");
        write!(f, "{} ({}): {vertices}, ", self.file.as_ref().unwrap_or(&self.name), self.format)?;
        if !self.directed {
            write!(f, "{}, ", many(self.edges, "edge", "edges"))?;
        }
        write!(f, "{}, ", many(self.arcs, "arc", "arcs"))?;
        f.write_str(if self.directed { "directed" } else { "undirected" })?;
        f.write_str(match self.direction {
            Direction::File => "",
            Direction::Assumed => " (the file does not say; --directed reads each line as an arc)",
            Direction::Option => " (as asked for)",
        })?;
        f.write_str(if self.weighted { ", weighted; " } else { ", no weights; " })?;
        f.write_str(&many(self.isolated, "isolated vertex", "isolated vertices"))?;
        write!(f, ", {}", many(self.duplicates, "duplicate edge", "duplicate edges"))?;
        write!(f, ", {}", many(self.self_loops, "self-loop", "self-loops"))?;
        if self.duplicates + self.self_loops > 0 {
            f.write_str(" (kept)")?;
        }
        self.notes.iter().try_for_each(|note| write!(f, "; {note}"))?;
        write!(f, "; digest {}", self.digest)
    }
}
