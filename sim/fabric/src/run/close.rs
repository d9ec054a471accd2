//! The end of what a run writes while it goes: its waveform and its event log.

use super::FabricRun;
use std::path::{Path, PathBuf};
use weft_engine::runner::RunError;
use weft_engine::wave::WaveError;
use weft_output::OutputError;

/// What became of the files that a run was asked for.
#[derive(Debug, Default)]
pub struct Files {
    /// The waveform, if one was asked for.
    pub waves: Option<Result<(), WaveError>>,
    /// The event log, if one was asked for.
    pub events: Option<Result<(), OutputError>>,
}

impl FabricRun {
    /// Closes waveform and event log where the run stands, and tells what became of them. A run that goes on records nothing more.
    pub fn close(&mut self) -> Files {
        self.close_waves();
        self.close_events(self.reached());
        std::mem::take(&mut self.files)
    }

    /// Ends the event log, if one is written; the program has ended, or failed, in cycle `end`.
    pub(super) fn close_events(&mut self, end: u64) {
        self.runner.end_listening();
        if let Some(events) = self.events.take() {
            self.files.events = Some(events.finish(end, &self.runner.model.processor.records));
        }
    }

    pub(super) fn close_waves(&mut self) {
        if self.waves.take().is_some() {
            self.files.waves = Some(self.runner.finish());
        }
    }

    /// Notes that a failure has cost the waveform that was asked for, if it has.
    pub(super) fn lost_waves(&mut self, error: RunError) -> RunError {
        let (RunError::Wave(cause) | RunError::Unseen { cause, .. }) = &error else { return error };
        // The save file and the names of enumerations beside a waveform begin as it does.
        let named = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let own = |wave: &PathBuf| {
            let stem = wave.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            cause.path().and_then(named).zip(stem).is_some_and(|(name, stem)| name.starts_with(&stem))
        };
        if self.waves.as_ref().is_some_and(own) {
            self.waves = None;
            self.files.waves = Some(Err(cause.clone()));
        }
        error
    }
}
