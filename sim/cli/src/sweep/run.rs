//! A run of a sweep.

use crate::setup::Params;
use std::path::PathBuf;
use std::sync::Arc;
use weft_fabric::config::FabricConfig;
use weft_workload::Program;

/// A run to be made.
#[derive(Clone)]
pub struct Run {
    /// Place in the product, from 0.
    pub number: usize,
    /// Its value on each axis.
    pub labels: Vec<String>,
    /// The fabric.
    pub config: FabricConfig,
    /// Name of the program.
    pub workload: String,
    /// The program.
    pub program: Arc<dyn Program>,
    /// Its parameters and graph.
    pub params: Params,
    /// Graph file, as the sweep names it.
    pub graph: Option<PathBuf>,
    /// Seed, if the sweep gives one.
    pub seed: Option<u64>,
    /// Keys that differ from the fabric's file.
    pub changed: String,
    /// Fingerprint of its hardware.
    pub hardware: String,
    /// Bytes of the host's memory that it takes, about.
    pub memory: u64,
    /// Fingerprint of everything its results depend on; of the same run in another sweep it is the same.
    pub identity: String,
}

impl Run {
    /// Its values on all axes, for people.
    pub fn words(&self) -> String {
        self.labels.join(", ")
    }
}
