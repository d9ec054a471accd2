//! Files that options name.

use crate::failure::{Failure, Outcome};
use anyhow::{Error, anyhow};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use weft_output::Output;

/// The file of an option, beside its place until it is complete.
///
/// # Errors
/// A path that cannot be written.
pub fn begin(option: &str, path: &Path) -> Result<Output, Failure> {
    Output::create(path).map_err(|cause| Failure::input(anyhow!("{option} {cause}")))
}

/// Refuses a file that cannot be written.
///
/// # Errors
/// A path that cannot be written.
pub fn check(option: &str, path: &Path) -> Outcome {
    Output::check(path).map_err(|cause| Failure::input(anyhow!("{option} {cause}")))
}

/// Writes a value as JSON that people can read, too, and puts the file in its place.
///
/// # Errors
/// A disk that is full.
pub fn json(value: &impl Serialize, mut file: Output) -> Result<(), Error> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    file.write_all(&bytes).map_err(|cause| file.failed(&cause))?;
    file.commit()?;
    Ok(())
}
