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

impl Log {
    /// Reads a log.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn read(path: &Path) -> Result<Log, LogError> {
        let file = File::open(path).map_err(|cause| LogError::Open { path: path.into(), cause })?;
        let mut bytes = Vec::new();
        // What could be unpacked of a damaged file tells how far it is good.
        let unpacked = GzDecoder::new(BufReader::new(file)).read_to_end(&mut bytes);
        let lines = |bytes: &[u8]| bytes.iter().position(|b| *b == b'\n');
        let kind = || LogError::Kind { path: path.into() };
        let first = lines(&bytes).ok_or_else(kind)?;
        let name = std::str::from_utf8(&bytes[..first]).map_err(|_| kind())?;
        if name != SCHEMA {
            let other = name.starts_with("weft-events-");
            let version = || LogError::Version { path: path.into(), found: name.into() };
            return Err(if other { version() } else { kind() });
        }
        let damaged = |place: String, cause: String| LogError::Damaged { path: path.into(), place, cause };
        let head = &bytes[first + 1..];
        let in_head = || "in its head".to_string();
        let length = lines(head).ok_or_else(|| damaged(in_head(), "it ends there".into()))?;
        let header: Header =
            serde_json::from_slice(&head[..length]).map_err(|e| damaged(in_head(), e.to_string()))?;
        let mut log = Log::empty(header);
        let mut parser = Parser { log: &mut log, cycle: 0, records: 0 };
        let parsed = parser.all(&head[length + 1..]);
        let place = format!("after record {} in cycle {}", parser.records, parser.cycle);
        // A file that cannot be unpacked to its end tells more than the record that is cut.
        unpacked.map_err(|e| damaged(place.clone(), format!("it cannot be unpacked further: {e}")))?;
        parsed.map_err(|cause| damaged(place, cause))?;
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

struct Parser<'a> {
    log: &'a mut Log,
    cycle: u64,
    records: u64,
}

impl Parser<'_> {
    fn all(&mut self, mut rest: &[u8]) -> Result<(), String> {
        self.head()?;
        loop {
            if rest.is_empty() {
                return Err("its end is missing".into());
            }
            let taken = postcard::take_from_bytes::<Record>(rest);
            let (record, behind) = taken.map_err(|e| format!("this is no record: {e}"))?;
            rest = behind;
            if let Record::End { cycle, records, steps } = record {
                if records != self.records {
                    return Err(format!("it ends after {records} records by its own count"));
                }
                if !rest.is_empty() {
                    return Err(format!("{} bytes follow its end", rest.len()));
                }
                (self.log.end, self.log.steps) = (cycle, steps);
                return Ok(());
            }
            self.record(record)?;
            self.records += 1;
        }
    }

    /// Numbers of the head that point outside of it.
    fn head(&self) -> Result<(), String> {
        let h = &self.log.header;
        let actor = |a: u32| (a as usize) < h.actors.len();
        let block = |a: &crate::Actor| a.block.is_none_or(|b| (b as usize) < h.blocks.len());
        let sound = h.actors.iter().all(block)
            && h.channels.iter().all(|c| actor(c.from) && actor(c.to))
            && h.meters.iter().all(|m| actor(m.actor));
        if sound && h.line > 0 && h.interval > 0 { Ok(()) } else { Err("its head contradicts itself".into()) }
    }

    fn record(&mut self, record: Record) -> Result<(), String> {
        let header = &self.log.header;
        match record {
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
