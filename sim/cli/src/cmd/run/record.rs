//! `weft run --record`: what waves do to memory, into a file that `weft check` judges.

use super::Args;
use crate::failure::{Failure, Outcome, say};
use anyhow::anyhow;
use std::io::BufWriter;
use std::path::PathBuf;
use tempfile::NamedTempFile;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, Recording};

/// A recording under way, in a file beside the one asked for.
pub struct Record {
    path: PathBuf,
    file: NamedTempFile,
    recording: Recording,
}

impl Record {
    /// Begins the recording that is asked for, if one is.
    ///
    /// # Errors
    /// A file that cannot be written; a run that goes on from a snapshot; a fabric whose accesses are not all recorded.
    pub fn begin(args: &Args, config: &FabricConfig) -> Result<Option<Record>, Failure> {
        let Some(path) = &args.record else { return Ok(None) };
        if args.keep.resumes() {
            return Err(Failure::input(anyhow!(
                "--record needs the run from its beginning, and --resume goes on from a snapshot: leave one of them out"
            )));
        }
        if let Some(cause) = Recording::refuses(config) {
            return Err(Failure::input(anyhow!("--record: {cause}")));
        }
        let failed =
            |e: std::io::Error| Failure::input(anyhow!("--record {}: cannot write it: {e}", path.display()));
        let file = super::writable("--record", path)?;
        let out = BufWriter::with_capacity(1 << 16, file.as_file().try_clone().map_err(failed)?);
        let head = Recording::head(config, &args.workload, words(args));
        let recording = Recording::new(Box::new(out), &head).map_err(failed)?;
        Ok(Some(Record { path: path.clone(), file, recording }))
    }

    /// Tells a run to record.
    pub fn attach(&self, run: &mut FabricRun) {
        run.record(&self.recording);
    }

    /// Puts the recording of a run that has ended, or has failed, in its place.
    ///
    /// # Errors
    /// A recording that could not be written.
    pub fn end(self, failure: Option<String>) -> Outcome {
        let failed = failure.is_some();
        let path = self.path.display().to_string();
        let written =
            self.recording.finish(failure).and_then(|()| self.file.persist(&self.path).map_err(|e| e.error));
        written.map_err(|e| Failure::check(anyhow!("cannot write --record {path}: {e}")))?;
        let part = if failed { " up to the failure" } else { "" };
        say(format!("recording{part}: {path}, judged by weft check {path}"))
    }
}

/// The words of a run that is the same in every cycle.
fn words(args: &Args) -> Vec<String> {
    let mut words = vec!["run".to_string(), args.fabric.clone(), "--workload".into(), args.workload.clone()];
    let mut add = |option: &str, value: String| words.extend([option.to_string(), value]);
    args.graph.iter().for_each(|graph| add("--graph", graph.display().to_string()));
    args.params.iter().for_each(|param| add("--param", param.clone()));
    args.set.iter().for_each(|set| add("--set", set.clone()));
    args.seed.iter().for_each(|seed| add("--seed", seed.to_string()));
    if args.max_cycles != super::MAX_CYCLES {
        add("--max-cycles", args.max_cycles.to_string());
    }
    words
}
