//! What campaigns have compared, in a table with commas: a row for each seed, number of cycles, peers and
//! sources. A campaign goes on where its row ends.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use thiserror::Error;
use weft_output::{Output, OutputError};

/// What was compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// Seed of circuits and inputs.
    pub seed: u64,
    /// Cycles of each circuit.
    pub cycles: u64,
    /// Whom native code was compared with, with blanks between.
    pub with: String,
    /// Digest of the sources of generator, language, engine and comparison, hexadecimal.
    pub sources: String,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Row {
    /// As [`Subject::seed`].
    pub seed: u64,
    /// As [`Subject::cycles`].
    pub cycles: u64,
    /// As [`Subject::with`].
    pub with: String,
    /// As [`Subject::sources`].
    pub sources: String,
    /// Circuits that are the same everywhere, from number 0 on.
    pub circuits: u64,
}

/// A record that cannot be read or written.
#[derive(Debug, Error)]
pub enum RecordError {
    /// It cannot be read.
    #[error("{path} is no record of circuits ({cause}); give another file, or remove this one", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: csv::Error,
    },
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] OutputError),
}

/// A record in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    rows: Vec<Row>,
}

impl Row {
    fn is_of(&self, subject: &Subject) -> bool {
        let Subject { seed, cycles, with, sources } = subject;
        (&self.seed, &self.cycles, &self.with, &self.sources) == (seed, cycles, with, sources)
    }
}

impl Record {
    /// Reads a file; an empty record where there is none.
    ///
    /// # Errors
    /// A file that is no record.
    pub fn read(path: &Path) -> Result<Record, RecordError> {
        if !path.exists() {
            return Ok(Record::default());
        }
        let failed = |cause| RecordError::Read { path: path.to_path_buf(), cause };
        let mut reader = csv::Reader::from_path(path).map_err(failed)?;
        let rows = reader.deserialize().collect::<Result<Vec<Row>, csv::Error>>().map_err(failed)?;
        Ok(Record { rows })
    }

    /// Circuits compared of a subject.
    pub fn circuits(&self, subject: &Subject) -> u64 {
        self.rows.iter().find(|row| row.is_of(subject)).map_or(0, |row| row.circuits)
    }

    /// Notes that so many circuits of a subject have been compared.
    pub fn set(&mut self, subject: &Subject, circuits: u64) {
        self.rows.retain(|row| !row.is_of(subject));
        let Subject { seed, cycles, with, sources } = subject.clone();
        self.rows.push(Row { seed, cycles, with, sources, circuits });
        self.rows.sort();
    }

    /// Puts it into a file.
    ///
    /// # Errors
    /// A path that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        let mut out = Output::create(path)?;
        let mut writer = csv::Writer::from_writer(&mut out);
        let rows = self.rows.iter().try_for_each(|row| writer.serialize(row));
        let written = rows.map_err(std::io::Error::from).and_then(|()| writer.flush());
        drop(writer);
        written.map_err(|cause| out.failed(&cause))?;
        out.commit()?;
        Ok(())
    }
}
