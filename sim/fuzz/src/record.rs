//! What campaigns have seen, in a table with commas: a row for each target. A later campaign of a target
//! takes the place of an earlier one.

use crate::drive::Found;
use serde::{Deserialize, Serialize};
use std::path::Path;
use weft_output::rows::{self, RowsError};

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Target.
    pub target: String,
    /// Seed.
    pub seed: u64,
    /// Inputs read.
    pub inputs: u64,
    /// Of these accepted.
    pub accepted: u64,
    /// Refused.
    pub refused: u64,
    /// Kinds of refusals.
    pub kinds: u64,
    /// Faults, each kind and place once.
    pub faults: u64,
    /// Bytes that the target may allocate whatever the size of the input.
    pub constant: u64,
    /// Most bytes allocated beyond the constant for each byte of an input, two digits; empty where nothing
    /// was counted.
    pub ratio: Option<f64>,
    /// Most bytes allocated for an input; empty where nothing was counted.
    pub peak: Option<u64>,
    /// Most processor time for an input, in ms.
    pub slowest_ms: u64,
}

impl Row {
    /// The row of a campaign.
    pub fn of(target: &crate::Target, seed: u64, found: &Found) -> Row {
        Row {
            target: target.name.into(),
            seed,
            inputs: found.inputs,
            accepted: found.accepted,
            refused: found.refused,
            kinds: found.kinds,
            faults: found.faults.len() as u64,
            constant: target.constant,
            ratio: found.ratio.map(|ratio| (ratio * 100.0).round() / 100.0),
            peak: found.peak,
            slowest_ms: found.slowest.as_millis() as u64,
        }
    }
}

/// Reads a file; no rows where there is none.
///
/// # Errors
/// A file that is no record.
pub fn read(path: &Path) -> Result<Vec<Row>, RowsError> {
    rows::read(path, "campaigns")
}

/// Puts rows into a file, in the place of those of the same targets; the file appears complete or not at all.
///
/// # Errors
/// A file that is no record, a path that cannot be written.
pub fn add(path: &Path, new: Vec<Row>) -> Result<(), RowsError> {
    let mut all = read(path)?;
    all.retain(|row| new.iter().all(|new| new.target != row.target));
    all.extend(new);
    all.sort_by(|a, b| a.target.cmp(&b.target));
    rows::write(path, &all)
}
