//! How a graph's file is read.

use std::fmt;
use std::str::FromStr;

/// File formats that [`super::read`] knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// METIS / Chaco adjacency lines (`.graph`, `.metis`).
    Metis,
    /// Two numbers a line, optional third as weight (`.txt`, `.el`, `.edges`, `.edgelist`, `.snap`); also
    /// of KONECT.
    EdgeList,
    /// Matrix Market coordinate file (`.mtx`).
    MatrixMarket,
    /// DIMACS `p sp` or PACE `p tw` (`.gr`).
    Dimacs,
}

impl Format {
    /// All formats with the names that options give them.
    pub const NAMES: [(&'static str, Format); 4] = [
        ("metis", Format::Metis),
        ("edge-list", Format::EdgeList),
        ("matrix-market", Format::MatrixMarket),
        ("dimacs", Format::Dimacs),
    ];
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Format::NAMES.iter().find(|(_, format)| format == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        let found = Format::NAMES.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, format)| *format)
            .ok_or_else(|| format!("expected one of {}", Format::NAMES.map(|(name, _)| name).join(", ")))
    }
}

/// How a file is read where it does not say it itself, or says it wrongly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Format; by content and name if none is given.
    pub format: Option<Format>,
    /// Whether each edge as it is written is an arc; by the file, which is taken as undirected if it says
    /// nothing. Read as undirected, an arc and its way back of the same weight are one edge.
    pub directed: Option<bool>,
    /// Bytes: of the text when it is unpacked, and of the memory that the graph may take while it is built.
    pub limit: u64,
}

/// Bytes that a graph file may hold, and take in memory, unless it is told otherwise.
pub const DEFAULT_LIMIT: u64 = 2 << 30;

/// The option that sets [`ReadOptions::limit`].
pub(super) const LIMIT_OPTION: &str = "--graph-limit";

impl Default for ReadOptions {
    fn default() -> Self {
        Self { format: None, directed: None, limit: DEFAULT_LIMIT }
    }
}
