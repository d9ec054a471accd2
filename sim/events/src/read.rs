//! A whole log, read back.

use crate::header::{Header, SCHEMA};
use crate::write::{Record, Step};
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A log that cannot be used.
#[derive(Debug, Error)]
pub enum LogError {
    /// No such file, or no permission.
    #[error("cannot read {}: {cause}; give a file that weft run --events has written", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// Another kind of file.
    #[error("{} is no event log; give a file that weft run --events has written", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
    },
    /// A log of another version of the format.
    #[error("the event log {} has format {found} and this program reads {SCHEMA}; record it anew", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: String,
    },
    /// A log that takes more memory than is allowed.
    #[error(
        "the event log {} takes more than {} MB of memory; allow more with --log-memory, or record less of the run (--from, --to, --events-scope)",
        path.display(), memory >> 20
    )]
    Large {
        /// The file.
        path: PathBuf,
        /// Bytes allowed.
        memory: u64,
    },
    /// Bytes are missing or changed.
    #[error("the event log {} is damaged {place}: {cause}; record it anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        place: String,
        /// How that shows.
        cause: String,
    },
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub cycle: u64,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A message went over a channel.
    Message {
        /// Channel.
        channel: u32,
        /// Number of the line, if the message names one.
        line: Option<u64>,
        /// Its fields, in [`Log::limbs`].
        limbs: Range<usize>,
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
}

/// Bytes counted in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Meter.
    pub meter: u32,
    /// First cycle of the interval.
    pub start: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A whole log.
#[derive(Clone, Debug)]
pub struct Log {
    /// What it says of the design.
    pub header: Header,
    /// Events in order.
    pub events: Vec<Event>,
    /// Fields of all messages.
    pub limbs: Vec<u64>,
    /// Bytes on links.
    pub sent: Vec<Sent>,
    /// Kernels and copies of the host.
    pub steps: Vec<Step>,
    /// Cycle in which the run ended.
    pub end: u64,
}

/// Bytes of memory that a log may take unless more are allowed.
pub const MEMORY: u64 = 4 << 30;

/// Longest first line, of this or another version of the format.
const NAME: usize = 64;

/// Longest head.
const HEAD: usize = 64 << 20;

/// Longest record.
const RECORD: usize = 16 << 20;

impl Log {
    /// Reads a log that takes at most [`MEMORY`].
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn read(path: &Path) -> Result<Log, LogError> {
        Log::read_within(path, MEMORY)
    }

    /// Reads a log that takes at most so many bytes of memory. The file is unpacked piece by piece: no more is held than what has been read of it.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn read_within(path: &Path, memory: u64) -> Result<Log, LogError> {
        let file = File::open(path).map_err(|cause| LogError::Open { path: path.into(), cause })?;
        let mut pieces = Pieces::new(GzDecoder::new(BufReader::new(file)));
        let kind = || LogError::Kind { path: path.into() };
        let name = pieces.line(NAME).map_err(|_| kind())?;
        let name = String::from_utf8(name).map_err(|_| kind())?;
        if name != SCHEMA {
            let other = name.starts_with("weft-events-");
            let version = || LogError::Version { path: path.into(), found: name.clone() };
            return Err(if other { version() } else { kind() });
        }
        let damaged = |place: String, cause: String| LogError::Damaged { path: path.into(), place, cause };
        let in_head = || "in its head".to_string();
        let head = pieces.line(HEAD).map_err(|cause| damaged(in_head(), cause))?;
        let header: Header = serde_json::from_slice(&head).map_err(|e| damaged(in_head(), e.to_string()))?;
        let mut log = Log::empty(header);
        let mut parser = Parser { log: &mut log, cycle: 0, records: 0, memory };
        let parsed = parser.all(&mut pieces);
        let place = format!("after record {} in cycle {}", parser.records, parser.cycle);
        parsed.map_err(|wrong| match wrong {
            Wrong::Damaged(cause) => damaged(place, cause),
            Wrong::Large => LogError::Large { path: path.into(), memory },
        })?;
        Ok(log)
    }

    fn empty(header: Header) -> Log {
        let (events, limbs, sent, steps) = Default::default();
        Log { header, events, limbs, sent, steps, end: 0 }
    }

    /// The fields of a message.
    pub fn fields(&self, limbs: &Range<usize>) -> &[u64] {
        &self.limbs[limbs.clone()]
    }

    /// The name of an actor.
    pub fn name(&self, actor: u32) -> &str {
        &self.header.actors[actor as usize].name
    }

    /// The row of an actor's block.
    pub fn row(&self, actor: u32, row: u32) -> &crate::header::Row {
        let block = self.header.actors[actor as usize].block.expect("checked when it was read");
        &self.header.blocks[block as usize].rows[row as usize]
    }
}

/// Bytes of memory that a record takes in a [`Log`].
fn taken(record: &Record) -> u64 {
    let size = match record {
        Record::Message { limbs, .. } => size_of::<Event>() + limbs.len() * size_of::<u64>(),
        Record::Row { .. } => size_of::<Event>(),
        Record::Bytes { .. } => size_of::<Sent>(),
        Record::Cycle(_) | Record::End { .. } => 0,
    };
    size as u64
}

/// What is unpacked of a file, a piece at a time.
struct Pieces<R> {
    from: R,
    /// What has been unpacked and not yet been used, from `at` on.
    held: Vec<u8>,
    at: usize,
    /// Why no more comes: the end of the file, or damage.
    ended: Option<Result<(), String>>,
}

/// Bytes that are unpacked at a time.
const PIECE: usize = 1 << 16;

impl<R: Read> Pieces<R> {
    fn new(from: R) -> Pieces<R> {
        Pieces { from, held: Vec::new(), at: 0, ended: None }
    }

    fn rest(&self) -> &[u8] {
        &self.held[self.at..]
    }

    /// Unpacks another piece; false when there is none.
    fn more(&mut self) -> bool {
        if self.ended.is_some() {
            return false;
        }
        self.held.drain(..self.at);
        self.at = 0;
        let before = self.held.len();
        // As much again as is held, so that a long record is not looked at too often.
        let wanted = PIECE.max(before) as u64;
        match self.from.by_ref().take(wanted).read_to_end(&mut self.held) {
            Err(e) => self.ended = Some(Err(format!("it cannot be unpacked further: {e}"))),
            Ok(0) => self.ended = Some(Ok(())),
            Ok(_) => {}
        }
        self.held.len() > before
    }

    /// Why there is no more, if that is damage.
    fn damage(&self) -> Option<String> {
        self.ended.as_ref().and_then(|ended| ended.as_ref().err().cloned())
    }

    /// Goes to the end of the file; bytes that were left.
    fn skip(&mut self) -> u64 {
        let mut skipped = 0;
        loop {
            skipped += self.rest().len() as u64;
            self.at = self.held.len();
            if !self.more() {
                return skipped;
            }
        }
    }

    /// The next line, without its end.
    fn line(&mut self, most: usize) -> Result<Vec<u8>, String> {
        loop {
            if let Some(length) = self.rest().iter().take(most + 1).position(|byte| *byte == b'\n') {
                let line = self.rest()[..length].to_vec();
                self.at += length + 1;
                return Ok(line);
            }
            if self.rest().len() > most {
                return Err(format!("it has no end in its first {most} bytes"));
            }
            if !self.more() {
                return Err(self.damage().unwrap_or_else(|| "it ends there".into()));
            }
        }
    }

    /// The next record.
    fn record(&mut self) -> Result<Record, String> {
        loop {
            match postcard::take_from_bytes::<Record>(self.rest()) {
                Ok((record, behind)) => {
                    self.at = self.held.len() - behind.len();
                    return Ok(record);
                }
                Err(postcard::Error::DeserializeUnexpectedEnd) if self.rest().len() < RECORD => {
                    let empty = self.rest().is_empty();
                    if !self.more() {
                        // A file that cannot be unpacked to its end tells more than the record that is cut.
                        let cut =
                            || if empty { "its end is missing".into() } else { "a record is cut off".into() };
                        return Err(self.damage().unwrap_or_else(cut));
                    }
                }
                Err(cause) => return Err(format!("this is no record: {cause}")),
            }
        }
    }
}

/// Why a log is not read to its end.
enum Wrong {
    Damaged(String),
    /// More memory than is allowed.
    Large,
}

struct Parser<'a> {
    log: &'a mut Log,
    cycle: u64,
    records: u64,
    /// Bytes that are still allowed.
    memory: u64,
}

impl Parser<'_> {
    fn all(&mut self, pieces: &mut Pieces<impl Read>) -> Result<(), Wrong> {
        self.head().map_err(Wrong::Damaged)?;
        loop {
            let record = pieces.record().map_err(Wrong::Damaged)?;
            if let Record::End { cycle, records, steps } = record {
                if records != self.records {
                    return Err(Wrong::Damaged(format!("it ends after {records} records by its own count")));
                }
                let more = pieces.skip();
                if let Some(cause) = pieces.damage() {
                    return Err(Wrong::Damaged(cause));
                }
                if more > 0 {
                    return Err(Wrong::Damaged(format!("{more} bytes follow its end")));
                }
                (self.log.end, self.log.steps) = (cycle, steps);
                return Ok(());
            }
            self.memory = self.memory.checked_sub(taken(&record)).ok_or(Wrong::Large)?;
            self.record(record).map_err(Wrong::Damaged)?;
            self.records += 1;
        }
    }

    /// Numbers of the head that point outside of it.
    fn head(&self) -> Result<(), String> {
        let h = &self.log.header;
        let actor = |a: u32| (a as usize) < h.actors.len();
        let block = |a: &crate::Actor| a.block.is_none_or(|b| (b as usize) < h.blocks.len());
        let sound = h.actors.iter().all(block)
            && h.channels
                .iter()
                .all(|c| actor(c.from) && actor(c.to) && c.fields.iter().all(|f| f.width > 0))
            && h.meters.iter().all(|m| actor(m.actor));
        if sound && h.line > 0 && h.interval > 0 { Ok(()) } else { Err("its head contradicts itself".into()) }
    }

    fn record(&mut self, record: Record) -> Result<(), String> {
        let header = &self.log.header;
        match record {
            Record::Cycle(0) => return Err("a step of no cycles".into()),
            Record::Cycle(cycles) => {
                let next = self.cycle.checked_add(cycles);
                self.cycle = next.ok_or("its cycles are more than can be counted")?;
            }
            Record::Message { channel, line, limbs } => {
                let known = header.channels.get(channel as usize).map(|_| header.limbs(channel));
                if known != Some(limbs.len()) {
                    return Err(format!("a message of {} fields on channel {channel}", limbs.len()));
                }
                let at = self.log.limbs.len();
                self.log.limbs.extend(limbs);
                let what = What::Message { channel, line, limbs: at..self.log.limbs.len() };
                self.log.events.push(Event { cycle: self.cycle, what });
            }
            Record::Row { actor, row, line, cycles } => {
                let block = header.actors.get(actor as usize).and_then(|a| a.block);
                let rows = block.map_or(0, |b| header.blocks[b as usize].rows.len());
                if row as usize >= rows {
                    return Err(format!("row {row} of actor {actor}, which has {rows}"));
                }
                self.log
                    .events
                    .push(Event { cycle: self.cycle, what: What::Row { actor, row, line, cycles } });
            }
            Record::Bytes { meter, start, bytes } => {
                if meter as usize >= header.meters.len() {
                    return Err(format!("bytes of meter {meter}, and there are {}", header.meters.len()));
                }
                self.log.sent.push(Sent { meter, start, bytes });
            }
            Record::End { .. } => unreachable!("taken above"),
        }
        Ok(())
    }
}
