//! Event logs and transaction traces of a run.

use super::files::{Told, reason};
use crate::failure::Failure;
use crate::output;
use crate::perfetto;
use crate::setup::Setup;
use anyhow::{Context, anyhow};
use std::path::{Path, PathBuf};
use weft_events::Log;
use weft_fabric::run::EventRequest;
use weft_output::{OutputError, Scratch};

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
    /// With --trace: bytes (before packing) at which it ends, with the cycle that is reached then.
    #[arg(long, value_name = "BYTES", default_value_t = TRACE_LIMIT, value_parser = clap::value_parser!(u64).range(1..))]
    trace_limit: u64,
}

/// What the viewer opens in a browser without complaint.
const TRACE_LIMIT: u64 = 512 << 20;

impl EventArgs {
    /// Says before it begins that a trace of a whole run is large and slow.
    pub fn forewarn(&self, to: Option<u64>) {
        if let (Some(path), None) = (&self.trace, to) {
            eprintln!(
                "--trace {}: every message of the run, some 3 kB for each cycle of four busy GPUs, until {} bytes are reached; --from and --to choose cycles",
                path.display(),
                self.trace_limit
            );
        }
    }

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
            output::check("--trace", path)?;
        }
        if let Some(path) = &self.events {
            output::check("--events", path)?;
            return Ok(Some(Plan {
                log: path.clone(),
                trace: self.trace.clone(),
                limit: self.trace_limit,
                kept: true,
                _folder: None,
            }));
        }
        let folder = Scratch::new().context("cannot make a folder for the events of --trace");
        let folder = folder.map_err(Failure::Input)?;
        let log = folder.path().join("events");
        let (trace, limit) = (self.trace.clone(), self.trace_limit);
        Ok(Some(Plan { log, trace, limit, kept: false, _folder: Some(folder) }))
    }
}

/// What is recorded, and what is made of it.
pub struct Plan {
    log: PathBuf,
    trace: Option<PathBuf>,
    /// Bytes at which the trace ends.
    limit: u64,
    /// The user asked for the log itself.
    kept: bool,
    /// Holds a log that was not asked for.
    _folder: Option<Scratch>,
}

impl Plan {
    /// What the run is asked for.
    pub fn request(&self, args: &super::Args, setup: &Setup) -> EventRequest {
        EventRequest {
            path: self.log.clone(),
            scopes: args.events.events_scope.clone(),
            from: args.from.unwrap_or(0),
            to: args.to.unwrap_or(u64::MAX),
            seed: args.subject.seed,
            setup: setup.members().into(),
        }
    }

    /// Tells what became of the log, and makes what is made of it.
    pub fn carry_out(&self, closed: Option<Result<(), OutputError>>, told: &mut Told) {
        let log = &self.log;
        if let Err(cause) = closed.unwrap_or(Ok(())) {
            if self.kept {
                told.lost("event log", log, cause.cause());
            }
            self.trace
                .iter()
                .for_each(|path| told.lost("trace", path, "there is no event log to make it of"));
            return;
        }
        if self.kept {
            let file = log.display();
            let line = format!("events: in {file}, read by weft why {file} --address A and by weft report");
            told.kept("event log", log, line);
        }
        let Some(path) = &self.trace else { return };
        match self.export(path) {
            Err(cause) => told.lost("trace", path, reason(&cause)),
            Ok(left) => {
                let cut = left.map_or(String::new(), |cycle| {
                    format!(
                        ", of the cycles before {cycle}: there it has {} bytes; --from and --to choose other cycles, --trace-limit more bytes",
                        self.limit
                    )
                });
                let line = format!("trace: in {}, opened by ui.perfetto.dev{cut}", path.display());
                told.kept("trace", path, line);
            }
        }
    }

    fn export(&self, path: &Path) -> Result<Option<u64>, anyhow::Error> {
        perfetto::write(&Log::read_within(&self.log, u64::MAX)?, path, self.limit)
    }
}
