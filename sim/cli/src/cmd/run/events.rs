//! Event logs and transaction traces of a run.

use crate::failure::{Failure, Outcome};
use crate::perfetto;
use anyhow::{Context, anyhow};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use weft_events::Log;
use weft_fabric::run::EventRequest;

/// Options of `weft run` about events.
#[derive(clap::Args)]
pub struct EventArgs {
    /// Writes every message between blocks, every row and race, and the bytes on links to this file, for `weft why` and `weft report`.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// With --events or --trace: blocks to record, such as `gpu0.*`; may be given several times.
    #[arg(long, value_name = "GLOB")]
    events_scope: Vec<String>,
    /// Writes the same as transactions for ui.perfetto.dev: .json or .json.gz.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}

impl EventArgs {
    /// Something is to be recorded.
    pub fn any(&self) -> bool {
        self.events.is_some() || self.trace.is_some()
    }

    /// Checks the options beside each other, and that the files can be written.
    pub fn plan(&self) -> Result<Option<Plan>, Failure> {
        if !self.any() {
            return match self.events_scope.first() {
                None => Ok(None),
                Some(scope) => Err(Failure::input(anyhow!(
                    "--events-scope {scope} says what an event log holds, and none is asked for: add --events FILE or --trace FILE.json"
                ))),
            };
        }
        if let Some(path) = &self.trace {
            perfetto::check_name(path).map_err(Failure::Input)?;
            super::writable("--trace", path)?;
        }
        if let Some(path) = &self.events {
            super::writable("--events", path)?;
            return Ok(Some(Plan {
                log: path.clone(),
                trace: self.trace.clone(),
                kept: true,
                _folder: None,
            }));
        }
        let folder = tempfile::tempdir().context("cannot make a folder for the events of --trace");
        let folder = folder.map_err(Failure::Input)?;
        let log = folder.path().join("events");
        Ok(Some(Plan { log, trace: self.trace.clone(), kept: false, _folder: Some(folder) }))
    }
}

/// What is recorded, and what is made of it.
pub struct Plan {
    log: PathBuf,
    trace: Option<PathBuf>,
    /// The user asked for the log itself.
    kept: bool,
    /// Holds a log that was not asked for.
    _folder: Option<TempDir>,
}

impl Plan {
    /// What the run is asked for.
    pub fn request(&self, args: &super::Args) -> EventRequest {
        EventRequest {
            path: self.log.clone(),
            scopes: args.events.events_scope.clone(),
            from: args.from.unwrap_or(0),
            to: args.to.unwrap_or(u64::MAX),
            seed: args.seed,
        }
    }

    /// Makes what is made of the log; gives what there is to be told.
    pub fn carry_out(&self) -> Result<Vec<String>, Failure> {
        let mut told = Vec::new();
        if self.kept {
            let log = self.log.display();
            told.push(format!("events: in {log}, read by weft why {log} --address A and by weft report"));
        }
        if let Some(path) = &self.trace {
            self.export(path)?;
            told.push(format!("trace: in {}, opened by ui.perfetto.dev", path.display()));
        }
        Ok(told)
    }

    /// A run that has failed tells where its events are.
    pub fn after(&self, failure: Failure) -> Failure {
        let told = match self.carry_out() {
            Ok(told) => told.join("; "),
            Err(other) => other.to_string(),
        };
        Failure::check(anyhow!("{failure}; {told}"))
    }

    fn export(&self, path: &Path) -> Outcome {
        let log = Log::read(&self.log).map_err(Failure::check)?;
        let written = perfetto::write(&log, path, super::writable("--trace", path)?);
        written.with_context(|| format!("cannot write {}", path.display())).map_err(Failure::Check)
    }
}
