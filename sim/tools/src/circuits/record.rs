//! What campaigns have compared, in a table with commas: a row for each seed, number of cycles, peers and
//! sources. A campaign goes on where its row ends.

use serde::{Deserialize, Serialize};
use std::path::Path;
use weft_output::rows::{self, RowsError};

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
    pub fn read(path: &Path) -> Result<Record, RowsError> {
        Ok(Record { rows: rows::read(path, "circuits")? })
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
    pub fn write(&self, path: &Path) -> Result<(), RowsError> {
        rows::write(path, &self.rows)
    }
}
