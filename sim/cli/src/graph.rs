//! Options about graphs, for the command line and for sweep files.

use crate::failure::Failure;
use anyhow::{Error, anyhow};
use std::path::{Path, PathBuf};
use weft_engine::digest::Digest;
use weft_workload::graph::{Format, Graph, GraphFacts, ReadOptions, read_as};

/// Options of `weft run` about the graph.
#[derive(clap::Args)]
pub struct GraphArgs {
    /// Graph for programs that work on one: METIS, edge list (SNAP, KONECT), Matrix Market, DIMACS .gr or PACE, also .gz, .xz or .zst.
    #[arg(long, value_name = "FILE")]
    graph: Option<PathBuf>,
    /// With --graph: its format, whatever its name and first line say: metis, edge-list, matrix-market or dimacs.
    #[arg(long, value_name = "FORMAT")]
    graph_format: Option<String>,
    /// With --graph: reads each edge, as it is written, as an arc, whatever the file says.
    #[arg(long, conflicts_with = "undirected")]
    directed: bool,
    /// With --graph: reads each edge in both directions, whatever the file says; an arc and its way back of the same weight are one edge.
    #[arg(long)]
    undirected: bool,
    /// With --graph: bytes that it may hold when unpacked, and take in memory while it is read, such as 512M [default: 2G].
    #[arg(long, value_name = "BYTES")]
    graph_limit: Option<String>,
}

impl GraphArgs {
    /// The file, if one is given.
    pub fn file(&self) -> Option<&Path> {
        self.graph.as_deref()
    }

    /// Reads the graph, if one is given.
    ///
    /// # Errors
    /// Options without a graph, illegal values, a graph that cannot be read.
    pub fn read(&self) -> Result<Option<Graph>, Failure> {
        let Some(path) = &self.graph else {
            return match self.words().first() {
                None => Ok(None),
                Some(option) => Err(Failure::input(anyhow!(
                    "{option} says how a graph is read, and none is given: add --graph FILE"
                ))),
            };
        };
        let mut options = ReadOptions { directed: self.direction(), ..ReadOptions::default() };
        if let Some(text) = &self.graph_format {
            options.format =
                Some(format(text).map_err(|e| Failure::input(anyhow!("--graph-format {text}: {e}")))?);
        }
        if let Some(text) = &self.graph_limit {
            options.limit = bytes(text).map_err(|e| Failure::input(anyhow!("--graph-limit {text}: {e}")))?;
        }
        read_as(path, &options).map(Some).map_err(Failure::input)
    }

    fn direction(&self) -> Option<bool> {
        match (self.directed, self.undirected) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// The words of a command that reads the same graph.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |option: &str, value: Option<String>| {
            if let Some(value) = value {
                words.extend([option.to_string(), value]);
            }
        };
        add("--graph", self.graph.as_ref().map(|path| path.display().to_string()));
        add("--graph-format", self.graph_format.clone());
        add("--graph-limit", self.graph_limit.clone());
        words.extend(self.directed.then(|| "--directed".to_string()));
        words.extend(self.undirected.then(|| "--undirected".to_string()));
        words
    }
}

/// A format by its name.
///
/// # Errors
/// Another name.
pub fn format(text: &str) -> Result<Format, Error> {
    text.parse().map_err(|e: String| anyhow!("there is no such format; {e}"))
}

/// A number of bytes, perhaps with suffix K, M or G (powers of 1024).
///
/// # Errors
/// Something else, or nothing.
pub fn bytes(text: &str) -> Result<u64, Error> {
    let digits = text.trim_end_matches(['K', 'M', 'G', 'k', 'm', 'g']);
    let shift = match &text[digits.len()..] {
        "" => Some(0),
        "K" | "k" => Some(10),
        "M" | "m" => Some(20),
        "G" | "g" => Some(30),
        _ => None,
    };
    let number = digits.replace('_', "").parse::<u64>().ok().filter(|n| *n > 0);
    let bytes = number.zip(shift).and_then(|(n, shift)| n.checked_mul(1 << shift));
    bytes.ok_or_else(|| {
        anyhow!("it is no number of bytes; give a whole number of at least 1, perhaps with K, M or G")
    })
}

/// What a graph is, with its fingerprint.
pub fn facts(graph: &Graph) -> GraphFacts {
    let mut digest = Digest::default();
    graph.visit_bytes(&mut |bytes| digest.add(bytes));
    GraphFacts::new(graph, format!("{:016x}", digest.value()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_bytes() {
        let read = |text: &str| bytes(text).ok();
        assert_eq!(
            ["1", "3K", "512M", "2g", "1_000"].map(read),
            [1, 3 << 10, 512 << 20, 2 << 30, 1000].map(Some)
        );
        assert_eq!(["0", "", "K", "-1", "1.5G", "1KK", "1T", "99999999999G"].map(read), [None; 8]);
    }
}
