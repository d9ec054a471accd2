//! Where a graph comes from.

use serde::{Deserialize, Serialize};

/// Who says whether edges have a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The file, or the rule that makes the graph.
    #[default]
    File,
    /// Nobody: it is taken as undirected.
    Assumed,
    /// An option.
    Option,
}

/// Where a graph comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Path of the file; `None` for a graph that comes with this crate or is made by rule.
    pub file: Option<String>,
    /// Format of the file, or what else the graph is.
    pub format: String,
    /// Who says whether edges have a direction.
    pub direction: Direction,
    /// What a user should know of how it was read.
    pub notes: Vec<String>,
}
