//! One change-based writer for both formats. What it is told is put into the file by a thread of its own.

use super::WaveVar;
use super::body::{Body, BodyError, Format, fst_start};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use thiserror::Error;
use weft_output::{Output, OutputError};
use weft_rtl::bv::limbs_for;

/// What can go wrong while a waveform is written.
#[derive(Clone, Debug, Error)]
#[allow(missing_docs)]
pub enum WaveError {
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("cannot write waveform {path}: {cause}; give another file")]
    Io { path: PathBuf, cause: String },
    #[error("waveform {path} has an unknown ending; use .vcd or .fst")]
    Ending { path: PathBuf },
    #[error("no signal matches the scope patterns {patterns}; there are {known}, and the signals in them")]
    NoMatch { patterns: String, known: String },
    #[error(
        "no thread starts that would write waveform {path}: {cause}; raise the limit of processes (ulimit -u)"
    )]
    Thread { path: PathBuf, cause: String },
}

impl WaveError {
    /// The file that cannot be written; none if nothing was begun.
    pub fn path(&self) -> Option<&Path> {
        match self {
            WaveError::Output(error) => Some(error.path()),
            WaveError::Io { path, .. } => Some(path),
            WaveError::Ending { .. } | WaveError::NoMatch { .. } | WaveError::Thread { .. } => None,
        }
    }
}

impl Format {
    /// The format that a file's ending asks for.
    ///
    /// # Errors
    /// Another ending than `.vcd` or `.fst`.
    pub fn of(path: &Path) -> Result<Format, WaveError> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("vcd") => Ok(Format::Vcd),
            Some("fst") => Ok(Format::Fst),
            _ => Err(WaveError::Ending { path: path.to_path_buf() }),
        }
    }
}

/// Words in a batch for the thread that writes, and batches that may wait for it.
const BATCH: usize = 1 << 15;
const WAITING: usize = 4;

/// In a batch, in the place of a variable: a time follows, or nothing is known of any variable.
const TIME: u64 = u64::MAX;
const UNKNOWN: u64 = u64::MAX - 1;

/// Writes value changes; times are cycles, one nanosecond each. The file takes its place only when finished ([`Output`]), so that no
/// half-written waveform is left behind.
pub struct WaveWriter {
    output: Output,
    format: Format,
    /// Limbs of each variable.
    limbs: Arc<[usize]>,
    last: Vec<Option<Box<[u64]>>>,
    seen: Vec<bool>,
    moved: Vec<bool>,
    first: Option<u64>,
    time: Option<u64>,
    batch: Vec<u64>,
    /// Takes batches; none once the thread has ended.
    to: Option<SyncSender<Vec<u64>>>,
    thread: Option<JoinHandle<Result<(), BodyError>>>,
}

impl WaveWriter {
    /// Creates the file and writes its declarations.
    ///
    /// # Errors
    /// An unknown ending or a path that cannot be written.
    pub fn create(path: &Path, vars: &[WaveVar]) -> Result<WaveWriter, WaveError> {
        let format = Format::of(path)?;
        let output = Output::create(path)?;
        let file = output.file().try_clone().map_err(|e| output.failed(&e))?;
        let mut body = Body::new(format, file, vars).map_err(|e| failed(&output, e))?;
        let limbs: Arc<[usize]> = vars.iter().map(|var| limbs_for(var.width)).collect();
        let counts = limbs.clone();
        let (to, from) = sync_channel::<Vec<u64>>(WAITING);
        let write = move || {
            for batch in from {
                put(&mut body, &counts, &batch)?;
            }
            body.finish()
        };
        let thread = std::thread::Builder::new().name("waves".into()).spawn(write);
        let thread =
            thread.map_err(|e| WaveError::Thread { path: path.to_path_buf(), cause: e.to_string() })?;
        Ok(WaveWriter {
            output,
            format,
            limbs,
            last: vec![None; vars.len()],
            seen: vec![false; vars.len()],
            moved: vec![false; vars.len()],
            first: None,
            time: None,
            batch: Vec::with_capacity(BATCH),
            to: Some(to),
            thread: Some(thread),
        })
    }

    /// Records the value of variable `var` (number in the list given to [`WaveWriter::create`]) at `time`; an unchanged value costs a comparison. Times must
    /// not go back.
    ///
    /// # Errors
    /// When the file cannot be written, maybe only some calls later.
    pub fn change(&mut self, time: u64, var: usize, limbs: &[u64]) -> Result<(), WaveError> {
        if self.last[var].as_deref() == Some(limbs) {
            return Ok(());
        }
        match &mut self.last[var] {
            Some(old) => old.copy_from_slice(limbs),
            slot => *slot = Some(limbs.into()),
        }
        self.changed(time, var, limbs)
    }

    /// The same for a value that the caller knows to be another one than before.
    ///
    /// # Errors
    /// As above.
    pub fn changed(&mut self, time: u64, var: usize, limbs: &[u64]) -> Result<(), WaveError> {
        self.moved[var] = std::mem::replace(&mut self.seen[var], true);
        self.first.get_or_insert(time);
        self.at(time)?;
        self.batch.push(var as u64);
        self.batch.extend_from_slice(&limbs[..self.limbs[var]]);
        Ok(())
    }

    /// Whether a variable has had more than one value.
    pub fn moved(&self, var: usize) -> bool {
        self.moved[var]
    }

    /// Time of the first value.
    pub fn first(&self) -> Option<u64> {
        self.first
    }

    /// Says that from `time` on nothing is known of any variable.
    ///
    /// # Errors
    /// As above.
    pub fn unknown(&mut self, time: u64) -> Result<(), WaveError> {
        self.at(time)?;
        self.batch.push(UNKNOWN);
        Ok(())
    }

    /// Goes on to a time.
    fn at(&mut self, time: u64) -> Result<(), WaveError> {
        if self.time.replace(time) != Some(time) {
            if self.batch.len() >= BATCH {
                self.send()?;
            }
            self.batch.extend([TIME, time]);
        }
        Ok(())
    }

    /// Hands on what has been gathered. If nobody takes it any more, the thread tells why.
    fn send(&mut self) -> Result<(), WaveError> {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        match &self.to {
            Some(to) if to.send(batch).is_ok() => Ok(()),
            _ => self.join(),
        }
    }

    /// Waits until everything handed on is in the file.
    fn join(&mut self) -> Result<(), WaveError> {
        self.to = None;
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let ended = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        ended.map_err(|e| failed(&self.output, e))
    }

    /// Writes the last time stamp and gives the file its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self, end: u64) -> Result<(), WaveError> {
        if self.time.is_none_or(|time| end > time) {
            self.at(end)?;
        }
        self.send()?;
        self.join()?;
        if self.format == Format::Fst {
            fst_start(self.output.file(), self.first.unwrap_or(0)).map_err(|e| self.output.failed(&e))?;
        }
        self.output.commit()?;
        Ok(())
    }
}

/// Puts a batch into the file.
fn put(body: &mut Body, limbs: &[usize], batch: &[u64]) -> Result<(), BodyError> {
    let mut left = batch;
    while let [what, rest @ ..] = left {
        let taken = match *what {
            TIME => {
                body.time(rest[0])?;
                1
            }
            UNKNOWN => {
                body.unknown()?;
                0
            }
            var => {
                let count = limbs[var as usize];
                body.change(var as usize, &rest[..count])?;
                count
            }
        };
        left = &rest[taken..];
    }
    Ok(())
}

/// Why a file cannot be written, for the user.
fn failed(output: &Output, cause: BodyError) -> WaveError {
    match cause {
        BodyError::Io(cause) => output.failed(&cause).into(),
        BodyError::Fst(other) => {
            WaveError::Io { path: output.path().to_path_buf(), cause: other.to_string() }
        }
    }
}
