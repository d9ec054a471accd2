//! A log as it grows.

use crate::header::{Header, SCHEMA};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use weft_output::{Output, OutputError};

/// A record of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// What follows happened so many cycles later than what was before.
    Cycle(u64),
    /// A message went over a channel; its fields in limbs, the lowest first.
    Message {
        /// Channel.
        channel: u32,
        /// Number of the line, if the message names one.
        line: Option<u64>,
        /// Fields.
        limbs: Vec<u64>,
    },
    /// A row was taken, or a race was seen.
    Row {
        /// Actor.
        actor: u32,
        /// Number among the rows of its block.
        row: u32,
        /// Number of the line, if the row says which.
        line: Option<u64>,
        /// Cycles, 1; more where it held on while its block slept, up to now.
        cycles: u64,
    },
    /// Bytes counted in an interval.
    Bytes {
        /// Meter.
        meter: u32,
        /// First cycle of the interval.
        start: u64,
        /// Bytes.
        bytes: u64,
    },
    /// The end of the log.
    End {
        /// Cycle in which the run ended.
        cycle: u64,
        /// Records before this one.
        records: u64,
        /// Kernels and host copies in order.
        steps: Vec<Step>,
    },
}

/// A kernel or a copy of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// First cycle.
    pub start: u64,
    /// Last cycle.
    pub end: u64,
}

/// Writes a log beside its final place; [`Writer::finish`] puts it there.
pub struct Writer {
    path: PathBuf,
    out: GzEncoder<BufWriter<Output>>,
    /// Cycle of the records that follow.
    cycle: u64,
    records: u64,
    /// Records that the encoder does not have yet: it is slow with small pieces.
    buffer: Vec<u8>,
}

/// Bytes that wait for the encoder.
const PIECE: usize = 1 << 15;

impl Writer {
    /// Begins a log.
    ///
    /// # Errors
    /// A disk that is full.
    pub fn create(file: Output, header: &Header) -> Result<Writer, OutputError> {
        let path = file.path().to_path_buf();
        let mut out = GzEncoder::new(BufWriter::new(file), Compression::fast());
        let mut head = || -> io::Result<()> {
            writeln!(out, "{SCHEMA}")?;
            serde_json::to_writer(&mut out, header)?;
            writeln!(out)
        };
        head().map_err(|cause| OutputError::of(&path, &cause))?;
        Ok(Writer { path, out, cycle: 0, records: 0, buffer: Vec::new() })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// A disk that is full.
    pub fn add(&mut self, record: &Record) -> io::Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        self.buffer = postcard::to_extend(record, buffer).map_err(io::Error::other)?;
        self.records += 1;
        if self.buffer.len() < PIECE { Ok(()) } else { self.encode() }
    }

    fn encode(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// What follows happened in `cycle`, which is not before what was added.
    ///
    /// # Errors
    /// A disk that is full.
    pub fn advance(&mut self, cycle: u64) -> io::Result<()> {
        match cycle.saturating_sub(std::mem::replace(&mut self.cycle, cycle)) {
            0 => Ok(()),
            cycles => self.add(&Record::Cycle(cycles)),
        }
    }

    /// Ends the log and puts it in its place.
    ///
    /// # Errors
    /// A disk that is full.
    pub fn finish(mut self, cycle: u64, steps: Vec<Step>) -> Result<(), OutputError> {
        let path = self.path.clone();
        let failed = |cause| OutputError::of(&path, &cause);
        let records = self.records;
        self.add(&Record::End { cycle, records, steps }).map_err(failed)?;
        self.encode().map_err(failed)?;
        let file = self.out.finish().map_err(failed)?;
        file.into_inner().map_err(|cause| failed(cause.into_error()))?.commit().map(drop)
    }
}
