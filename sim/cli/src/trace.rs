//! Traces in the place of programs.

use anyhow::{Error, anyhow};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use weft_engine::digest::Digest;
use weft_workload::Program;
use weft_workload::trace::program::TraceProgram;
use weft_workload::trace::{Trace, TraceError, binary, read, short_name};

/// A trace as a program, and what stands for its parameters in results: the fingerprint of what it holds.
///
/// # Errors
/// A trace that cannot be read, with its place; one that no machine has room for.
pub fn program(path: &Path) -> Result<(Arc<dyn Program>, BTreeMap<String, String>), TraceError> {
    let trace = read(path)?;
    let params = BTreeMap::from([("digest".to_string(), digest(&trace))]);
    Ok((Arc::new(TraceProgram::new(&short_name(path), trace)?), params))
}

/// Fingerprint of a trace, the same however it is packed and in whichever format.
pub fn digest(trace: &Trace) -> String {
    let mut digest = Digest::default();
    digest.add(&binary::write(trace));
    format!("{:016x}", digest.value())
}

/// Refuses what says more than a trace can take.
///
/// # Errors
/// The first that is given.
pub fn takes_nothing(name: &str, given: &[(&str, bool)]) -> Result<(), Error> {
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((what, _)) => Err(anyhow!(
            "{name} is a trace, which fixes what its waves do, and takes no {what}; leave it out"
        )),
    }
}
