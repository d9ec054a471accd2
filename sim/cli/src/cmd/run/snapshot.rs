//! Snapshots of a run: when they are written, and going on from one.

use super::files::Told;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::ranks;
use anyhow::anyhow;
use std::path::PathBuf;
use weft_fabric::run::{FabricRun, Identity, Snapshot};

/// Options of `weft run` about snapshots.
#[derive(clap::Args)]
pub struct SnapshotArgs {
    /// Writes the whole state of the run to this file, to go on from it with --resume.
    #[arg(long, value_name = "FILE")]
    pub snapshot: Option<PathBuf>,
    /// With --snapshot: in this cycle, once.
    #[arg(long, value_name = "CYCLE", conflicts_with = "snapshot_every")]
    snapshot_at: Option<u64>,
    /// With --snapshot: every so many cycles, the newest in place of the one before; also where --max-cycles or a signal ends the run [default: 1000000].
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u64).range(1..))]
    snapshot_every: Option<u64>,
    /// Goes on from a file that --snapshot has written; all other words must be those of the run that wrote it.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
}

/// Cycles from one snapshot to the next when nothing is said.
const EVERY: u64 = 1_000_000;

impl SnapshotArgs {
    /// Whether the run goes on from a snapshot.
    pub fn resumes(&self) -> bool {
        self.resume.is_some()
    }

    /// Checks the options beside each other, and that the file can be written.
    pub fn validate(&self) -> Outcome {
        let when = [
            ("--snapshot-at", self.snapshot_at.is_some()),
            ("--snapshot-every", self.snapshot_every.is_some()),
        ];
        match (&self.snapshot, when.iter().find(|(_, given)| *given)) {
            (Some(path), _) => output::check("--snapshot", path),
            (None, None) => Ok(()),
            (None, Some((option, _))) => Err(Failure::input(anyhow!(
                "{option} says when a snapshot is written, and none is asked for: add --snapshot FILE"
            ))),
        }
    }

    /// The snapshot to go on from; it must be of this run and lie before all that is asked for.
    pub fn read(&self, identity: &Identity, run: &super::Args) -> Result<Option<Snapshot>, Failure> {
        let Some(path) = &self.resume else { return Ok(None) };
        let snapshot = Snapshot::read(path).map_err(Failure::input)?;
        snapshot.check(identity).map_err(Failure::input)?;
        let begin = snapshot.cycle();
        let asked = [
            ("--to", run.to, begin + 1),
            ("--snapshot-at", self.snapshot_at, begin),
            ("--max-cycles", Some(run.max_cycles), begin + 1),
        ];
        for (option, cycle, least) in asked {
            if let Some(cycle) = cycle.filter(|cycle| *cycle < least) {
                return Err(Failure::input(anyhow!(
                    "{option} {cycle} is before the cycle {begin} in which --resume {} begins; give at least {least}",
                    path.display()
                )));
            }
        }
        Ok(Some(snapshot))
    }

    /// When this run writes snapshots.
    pub fn plan(&self, identity: Identity) -> Option<Plan> {
        let path = self.snapshot.clone()?;
        let every = self.snapshot_every.unwrap_or(EVERY);
        Some(Plan { path, identity, at: self.snapshot_at, every, written: None, failed: false })
    }
}

/// Snapshots of a run as it goes.
pub struct Plan {
    path: PathBuf,
    identity: Identity,
    at: Option<u64>,
    every: u64,
    /// Cycle of the newest one.
    written: Option<u64>,
    /// One could not be written.
    failed: bool,
}

impl Plan {
    /// The next cycle in which one is due, the present one included.
    pub fn next(&self, now: u64) -> Option<u64> {
        match self.at {
            Some(at) => self.written.is_none().then_some(at),
            None => Some((now / self.every + 1) * self.every),
        }
    }

    /// Writes one if it is due, or if the run stops here before its end. A run that has ended needs none, and one that was asked for in a cycle
    /// is not written over.
    pub fn write(&mut self, run: &FabricRun, ended: bool, stops: bool) -> Outcome {
        let now = run.cycle();
        let due = match self.at {
            Some(at) => now == at || stops && self.written.is_none(),
            None => now.is_multiple_of(self.every) || stops,
        };
        if ended || !due || self.written == Some(now) {
            return Ok(());
        }
        let snapshot = run.snapshot(&self.path, self.identity.clone()).map_err(Failure::check)?;
        match snapshot.write() {
            Ok(()) => {
                ranks::kept(now, &self.path);
                self.written = Some(now);
            }
            Err(cause) => {
                self.failed = true;
                return Err(Failure::check(cause));
            }
        }
        Ok(())
    }

    /// Says at the end of the run what was written.
    pub fn tell(&self, cycles: u64, told: &mut Told) {
        let (path, file) = (&self.path, self.path.display());
        match self.written {
            Some(cycle) => {
                let line = format!(
                    "snapshot: cycle {cycle} in {file}, continued by the same command with --resume {file}"
                );
                told.kept(&format!("snapshot of cycle {cycle}"), path, line);
            }
            None if self.failed => told.lost("snapshot", path, "it could not be written"),
            None => {
                told.line(format!("snapshot: none, for the run ended in cycle {cycles}, before one was due"))
            }
        }
    }
}
