//! Reading a recording.

use crate::error::RecordingError;
use crate::pack::{Base, Way};
use crate::record::{Head, Record};
use crate::write::crc;
use crate::{FIXED, MAGIC, MOST, VERSION};
use flate2::read::DeflateDecoder;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// A recording that is being read, section by section.
pub struct Reader {
    path: PathBuf,
    from: Box<dyn Read>,
    head: Head,
    base: Base,
    raw: Vec<u8>,
    /// Place in `raw`.
    at: usize,
    /// Byte of the file at which the present section begins, and the one behind it.
    begin: u64,
    next: u64,
    records: u64,
    ended: bool,
}

impl Reader {
    /// Opens a recording.
    ///
    /// # Errors
    /// A file that cannot be read, is no recording, of another version, or damaged in its head.
    pub fn open(path: &Path) -> Result<Reader, RecordingError> {
        let file = File::open(path);
        let file = file.map_err(|cause| RecordingError::Read { path: path.to_path_buf(), cause })?;
        Reader::new(Box::new(BufReader::new(file)), path)
    }

    /// Reads a recording from elsewhere; `path` names it in errors.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn new(mut from: Box<dyn Read>, path: &Path) -> Result<Reader, RecordingError> {
        let path = path.to_path_buf();
        let mut fixed = Vec::new();
        let got = from.by_ref().take(FIXED as u64).read_to_end(&mut fixed);
        got.map_err(|cause| RecordingError::Read { path: path.clone(), cause })?;
        if !fixed.starts_with(MAGIC) {
            return Err(RecordingError::Kind { path });
        }
        let damaged =
            |cause: &str| RecordingError::Damaged { path: path.clone(), at: 0, cause: cause.into() };
        if fixed.len() < FIXED {
            return Err(damaged("it ends in its first bytes"));
        }
        let number = |at: usize| u32::from_le_bytes(fixed[at..at + 4].try_into().expect("4 bytes"));
        let (found, length, sum) = (number(8), number(12), number(16));
        if found != VERSION {
            return Err(RecordingError::Version { path, found });
        }
        let mut head = Vec::new();
        let got = from.by_ref().take(u64::from(length)).read_to_end(&mut head);
        got.map_err(|cause| RecordingError::Read { path: path.clone(), cause })?;
        if head.len() as u64 != u64::from(length) {
            return Err(damaged("it ends in its head"));
        }
        if crc(&head) != sum {
            return Err(damaged("the checksum of its head does not fit"));
        }
        let head = serde_json::from_slice(&head).map_err(|_| damaged("its head cannot be read"))?;
        let next = FIXED as u64 + u64::from(length);
        let (base, raw) = (Base::default(), Vec::new());
        Ok(Reader { path, from, head, base, raw, at: 0, begin: next, next, records: 0, ended: false })
    }

    /// What was run.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The next record; none behind the last.
    ///
    /// # Errors
    /// A truncated or damaged file.
    pub fn next_record(&mut self) -> Result<Option<Record>, RecordingError> {
        while self.at == self.raw.len() {
            if self.ended || !self.section()? {
                return Ok(None);
            }
        }
        let before = self.raw.len() - self.at;
        let (mut record, rest) = postcard::take_from_bytes::<Record>(&self.raw[self.at..])
            .map_err(|_| self.damaged("a record in this section cannot be read"))?;
        self.at += before - rest.len();
        self.base.turn(Way::Unpack, &mut record);
        self.records += 1;
        Ok(Some(record))
    }

    fn damaged(&self, cause: &str) -> RecordingError {
        RecordingError::Damaged { path: self.path.clone(), at: self.begin, cause: cause.into() }
    }

    fn bytes(&mut self, count: u64) -> Result<Vec<u8>, RecordingError> {
        let mut bytes = Vec::new();
        let got = self.from.by_ref().take(count).read_to_end(&mut bytes);
        got.map_err(|cause| RecordingError::Read { path: self.path.clone(), cause })?;
        self.next += bytes.len() as u64;
        if bytes.len() as u64 == count { Ok(bytes) } else { Err(self.damaged("it ends before its end")) }
    }

    /// Reads the next section; false behind the last one.
    fn section(&mut self) -> Result<bool, RecordingError> {
        self.begin = self.next;
        let sizes = self.bytes(8)?;
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
        let (length, packed) = (number(&sizes[..4]), number(&sizes[4..]));
        if (length, packed) == (0, 0) {
            return self.end();
        }
        if length == 0 || length > MOST || packed > MOST {
            return Err(self.damaged("a section tells a size that no section has"));
        }
        let sum = number(&self.bytes(4)?);
        let packed = self.bytes(u64::from(packed))?;
        if crc(&packed) != sum {
            return Err(self.damaged("the checksum of a section does not fit"));
        }
        let mut raw = Vec::new();
        let unpacked = DeflateDecoder::new(&packed[..]).take(u64::from(MOST)).read_to_end(&mut raw);
        if unpacked.is_err() || raw.len() as u64 != u64::from(length) {
            return Err(self.damaged("a section cannot be unpacked"));
        }
        (self.raw, self.at) = (raw, 0);
        Ok(true)
    }

    fn end(&mut self) -> Result<bool, RecordingError> {
        let told = self.bytes(8)?;
        if told != self.records.to_le_bytes() {
            return Err(self.damaged("it does not hold as many records as its end tells"));
        }
        let mut more = [0];
        match self.from.read(&mut more) {
            Ok(0) => {
                self.ended = true;
                Ok(false)
            }
            Ok(_) => {
                self.begin = self.next;
                Err(self.damaged("something follows its end"))
            }
            Err(cause) => Err(RecordingError::Read { path: self.path.clone(), cause }),
        }
    }
}
