//! What can be wrong with a graph file.

use thiserror::Error;

/// A graph file that cannot be used: each message names the file, the line, what stands there and what belongs there.
#[derive(Debug, Error)]
pub enum GraphError {
    /// The file cannot be read.
    #[error("cannot read graph file {path}: {cause}; give the path of a readable graph file")]
    Open {
        /// File.
        path: String,
        /// Reason of the operating system.
        cause: std::io::Error,
    },
    /// The compressed data end early or are damaged.
    #[error("{path} is damaged or truncated {kind} data ({cause}); fetch the file again")]
    Compressed {
        /// File.
        path: String,
        /// `gzip`, `xz` or `Zstandard`.
        kind: &'static str,
        /// Reason of the decompressor.
        cause: std::io::Error,
    },
    /// Neither name nor content tell the format.
    #[error(
        "cannot tell the graph format of {path}: name it .graph (METIS), .txt (edge list), .mtx (Matrix Market) or \
         .gr (DIMACS), optionally followed by .gz, .xz or .zst, or say it by --graph-format"
    )]
    UnknownFormat {
        /// File.
        path: String,
    },
    /// Something else stands where a certain thing is expected.
    #[error("{path} line {line}: found {found}, expected {expected}")]
    Syntax {
        /// File.
        path: String,
        /// Line, counted from 1.
        line: usize,
        /// What stands there.
        found: String,
        /// What belongs there.
        expected: String,
    },
    /// A vertex that the header's count excludes.
    #[error("{path} line {line}: vertex {vertex} is out of range, expected 1..{vertices}")]
    VertexRange {
        /// File.
        path: String,
        /// Line, counted from 1.
        line: usize,
        /// Number found.
        vertex: u64,
        /// Largest legal number.
        vertices: u64,
    },
    /// The header promises another count than the file holds.
    #[error(
        "{path}: found {found} {what}, expected {expected} as line {line} declares; the file may be truncated"
    )]
    Count {
        /// File.
        path: String,
        /// Line of the declaration, counted from 1.
        line: usize,
        /// What is counted.
        what: &'static str,
        /// Count in the file.
        found: u64,
        /// Count in the declaration.
        expected: u64,
    },
    /// More vertices than the edges of the file justify.
    #[error(
        "{path} line {line}: found {vertices} vertices, expected at most {most}, which {edges} edges justify; correct \
         the number of vertices, or leave out vertices without an edge"
    )]
    Unjustified {
        /// File.
        path: String,
        /// Line that declares them, counted from 1.
        line: usize,
        /// Vertices declared.
        vertices: u64,
        /// Edges of the file.
        edges: u64,
        /// Vertices that may be declared with so many edges.
        most: u64,
    },
    /// More than the limit.
    #[error("{path} is too large: {cause}")]
    Large {
        /// File.
        path: String,
        /// What passes the limit, and the option that sets it.
        cause: String,
    },
    /// The file holds no header or no vertex.
    #[error("{path} holds no graph: found the end of the file, expected at least one vertex")]
    Empty {
        /// File.
        path: String,
    },
}
