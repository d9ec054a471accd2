//! Graphs and the files they come from.
//!
//! [`read`] takes a path to a METIS, edge-list (SNAP, KONECT), Matrix Market, DIMACS shortest-path or PACE
//! tree-width file, plain or compressed by gzip, xz or Zstandard. What a file says about itself wins over
//! its name: Matrix Market and DIMACS files are known by their first lines, compression by its first bytes;
//! only METIS and edge lists are told apart by the name's ending. [`ReadOptions`] overrides what the file
//! and its name say, and [`GraphFacts`] tells what was taken.
//!
//! A file is read as a stream. It takes memory for the edges that it has, for as many vertices as these
//! justify, and no more than [`ReadOptions::limit`].

mod csr;
mod dimacs;
mod edge_list;
mod entries;
mod error;
mod facts;
mod konect;
mod matrix_market;
mod metis;
mod options;
mod origin;
mod parsed;
mod read;
mod source;

pub use csr::{Csr, Graph};
pub use error::GraphError;
pub use facts::GraphFacts;
pub use options::{DEFAULT_LIMIT, Format, ReadOptions};
pub use origin::{Direction, Origin};
pub use read::{read, read_as, read_bytes, read_bytes_as};

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
    let mut graph = read_bytes(&format!("{name}.graph"), bytes).ok()?;
    graph.set_origin(Origin { file: None, format: "built in".into(), ..graph.origin().clone() });
    Some(graph)
}
