//! Parameters and data of the programs that work on a graph.

use super::params::{Legal, ParamSpec, Params};
use crate::data;
use crate::graph::{self, Graph};

/// A vertex or distance that does not exist.
pub const NONE: u32 = u32::MAX;

/// Parameter `source`.
pub const SOURCE: ParamSpec = ParamSpec {
    name: "source",
    default: "power",
    legal: Legal::Choice(&["power", "karate", "uniform"]),
    unit: "",
    about: "Graph when no file is given: two real ones that come with the program, or a uniform random one.",
};

/// Parameter `nodes`.
pub const NODES: ParamSpec = ParamSpec {
    name: "nodes",
    default: "4096",
    legal: Legal::Integer { min: 1, max: 1 << 24 },
    unit: "vertices",
    about: "Vertices of the uniform random graph.",
};

/// Parameter `edges`.
pub const EDGES: ParamSpec = ParamSpec {
    name: "edges",
    default: "32768",
    legal: Legal::Integer { min: 1, max: 1 << 27 },
    unit: "edges",
    about: "Directed edges of the uniform random graph.",
};

/// The graph given, or the one that the parameters name.
pub fn chosen(params: &Params, graph: Option<&Graph>) -> Graph {
    let uniform = || uniform(params.integer("nodes") as u32, params.integer("edges"), params.integer("seed"));
    graph.cloned().unwrap_or_else(|| graph::bundled(params.text("source")).unwrap_or_else(uniform))
}

/// A directed graph whose edges join vertices drawn independently and uniformly.
fn uniform(nodes: u32, edges: u64, seed: u64) -> Graph {
    let draw = |stream, i| (data::mix(seed, stream, i) % u64::from(nodes)) as u32;
    let arcs: Vec<(u32, u32)> = (0..edges).map(|i| (draw(0, i), draw(1, i))).collect();
    let mut graph = Graph::directed(nodes, &arcs, None);
    graph.set_name("uniform");
    graph
}

/// The list, with one element if it is empty: no array is.
pub fn padded(list: &[u32]) -> Vec<u32> {
    if list.is_empty() { vec![0] } else { list.to_vec() }
}
