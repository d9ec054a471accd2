//! What is counted in a run.

use serde::Serialize;

/// A counter's value over the whole fabric.
#[derive(Clone, Debug, Serialize)]
pub struct Counter {
    /// Sum over all blocks.
    pub value: u64,
    /// What is counted.
    pub about: String,
}
