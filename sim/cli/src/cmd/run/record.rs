//! `weft run --record`: what waves do to memory, into a file that `weft check` judges.

use super::Args;
use super::files::Told;
use crate::failure::Failure;
use crate::output;
use anyhow::anyhow;
use std::io::BufWriter;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, Recording};
use weft_output::Output;

/// A recording under way, in a file beside the one asked for.
pub struct Record {
    file: Output,
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
        let file = output::begin("--record", path)?;
        let failed = |cause: std::io::Error| Failure::input(anyhow!("--record {}", file.failed(&cause)));
        let out = BufWriter::with_capacity(1 << 16, file.file().try_clone().map_err(failed)?);
        let head = Recording::head(config, &args.subject.workload, words(args));
        let recording = Recording::new(Box::new(out), &head).map_err(failed)?;
        Ok(Some(Record { file, recording }))
    }

    /// Tells a run to record.
    pub fn attach(&self, run: &mut FabricRun) {
        run.record(&self.recording);
    }

    /// Puts the recording of a run that has ended, or has failed, in its place, and tells of it.
    pub fn end(self, failure: Option<String>, told: &mut Told) {
        let part = if failure.is_some() { " up to the failure" } else { "" };
        let path = self.file.path().to_path_buf();
        let written = self.recording.finish(failure).map_err(|cause| self.file.failed(&cause));
        match written.and_then(|()| self.file.commit()) {
            Err(cause) => told.lost("recording", &path, cause.cause()),
            Ok(_) => {
                let file = path.display();
                told.kept(
                    "recording",
                    &path,
                    format!("recording{part}: {file}, judged by weft check {file}"),
                );
            }
        }
    }
}

/// The words of a run that is the same in every cycle.
fn words(args: &Args) -> Vec<String> {
    let mut words = vec![
        "run".to_string(),
        args.subject.fabric.clone(),
        "--workload".into(),
        args.subject.workload.clone(),
    ];
    let mut add = |option: &str, value: String| words.extend([option.to_string(), value]);
    args.subject.params.iter().for_each(|param| add("--param", param.clone()));
    args.subject.set.iter().for_each(|set| add("--set", set.clone()));
    args.subject.seed.iter().for_each(|seed| add("--seed", seed.to_string()));
    if args.max_cycles != super::MAX_CYCLES {
        add("--max-cycles", args.max_cycles.to_string());
    }
    words.extend(args.subject.graph.words());
    words
}
