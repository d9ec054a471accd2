//! Writing a recording.

use crate::pack::{Base, Way};
use crate::record::{Head, Record};
use crate::{MAGIC, SECTION, VERSION};
use flate2::{Compression, Crc, write::DeflateEncoder};
use std::io::{Result, Write};

/// A recording that is being written.
pub struct Writer<W: Write> {
    out: W,
    base: Base,
    /// Records of the section that is being filled.
    raw: Vec<u8>,
    records: u64,
}

pub(crate) fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

impl<W: Write> Writer<W> {
    /// Writes the head.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(mut out: W, head: &Head) -> Result<Writer<W>> {
        let head = serde_json::to_vec(head)?;
        out.write_all(MAGIC)?;
        for number in [VERSION, head.len() as u32, crc(&head)] {
            out.write_all(&number.to_le_bytes())?;
        }
        out.write_all(&head)?;
        Ok(Writer { out, base: Base::default(), raw: Vec::new(), records: 0 })
    }

    /// Records so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Writes a record.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, mut record: Record) -> Result<()> {
        self.base.turn(Way::Pack, &mut record);
        self.raw = postcard::to_extend(&record, std::mem::take(&mut self.raw))
            .map_err(|e| std::io::Error::other(e.to_string()))?;
        self.records += 1;
        if self.raw.len() >= SECTION { self.section() } else { Ok(()) }
    }

    fn section(&mut self) -> Result<()> {
        if self.raw.is_empty() {
            return Ok(());
        }
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&self.raw)?;
        let packed = packed.finish()?;
        for number in [self.raw.len() as u32, packed.len() as u32, crc(&packed)] {
            self.out.write_all(&number.to_le_bytes())?;
        }
        self.raw.clear();
        self.out.write_all(&packed)
    }

    /// Closes the recording.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> Result<W> {
        self.section()?;
        self.out.write_all(&[0; 8])?;
        self.out.write_all(&self.records.to_le_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }
}
