//! Traces in the place of programs.

use anyhow::{Error, anyhow};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use weft_engine::digest::Digest;
use weft_workload::Program;
use weft_workload::trace::program::TraceProgram;
use weft_workload::trace::{Gaps, INPUT_LIMIT, ReadOptions, Trace, TraceError, TraceRead};
use weft_workload::trace::{binary, read_with, short_name};

/// What is done with instructions whose accesses cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Unknown {
    /// The trace is refused.
    Refuse,
    /// They are left out and counted.
    Skip,
}

/// What is done with a trace that lacks blocks or warps of its grids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Missing {
    /// It is refused.
    Refuse,
    /// What is there is taken.
    Accept,
}

/// How traces are read.
#[derive(Clone, Debug, clap::Args)]
pub struct TraceArgs {
    /// Instructions of an Accel-Sim trace whose accesses cannot be followed: opcodes in no table, textures,
    /// bulk copies [default: refuse].
    #[arg(long, value_enum, value_name = "WHAT")]
    unknown_opcodes: Option<Unknown>,
    /// Blocks or warps of a grid that an Accel-Sim trace lacks [default: refuse].
    #[arg(long, value_enum, value_name = "WHAT")]
    missing_blocks: Option<Missing>,
    /// Most bytes that are read of each file, unpacked, and that copies of a trace bring.
    #[arg(long, value_name = "BYTES", default_value_t = INPUT_LIMIT)]
    input_limit: u64,
}

impl TraceArgs {
    /// For the reader.
    pub fn options(&self) -> ReadOptions {
        let skip = |skip: bool| if skip { Gaps::Skip } else { Gaps::Refuse };
        ReadOptions {
            unknown: skip(self.unknown_opcodes == Some(Unknown::Skip)),
            missing: skip(self.missing_blocks == Some(Missing::Accept)),
            limit: self.input_limit,
        }
    }

    /// Refuses what only traces take.
    ///
    /// # Errors
    /// The first that is given.
    pub fn none(&self, program: &str) -> Result<(), Error> {
        let given = [
            ("--unknown-opcodes", self.unknown_opcodes.is_some()),
            ("--missing-blocks", self.missing_blocks.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((option, _)) => {
                Err(anyhow!("{option} says how a trace is read, and {program} is a program; leave it out"))
            }
        }
    }
}

/// A trace as a program, what stands for its parameters in results: the fingerprint of what it holds, and
/// what was read.
///
/// # Errors
/// A trace that cannot be read, with its place; one that no machine has room for.
pub fn program(
    path: &Path,
    options: &ReadOptions,
) -> Result<(Arc<dyn Program>, BTreeMap<String, String>, TraceRead), TraceError> {
    let (trace, read) = read_with(path, options)?;
    let params = BTreeMap::from([("digest".to_string(), digest(&trace))]);
    Ok((Arc::new(TraceProgram::new(&short_name(path), trace)?), params, read))
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
