//! What campaigns have checked, in a table with commas: a row for each fabric, keys, seed and hardware. A campaign goes on where its row ends.

use crate::round::Counts;
use serde::{Deserialize, Serialize};
use std::path::Path;
use weft_output::rows::{self, RowsError};

/// What was stressed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// Fabric.
    pub fabric: String,
    /// Keys that were set, as KEY=VALUE with blanks between; parameters of the hardware are drawn beside them unless `fixed` stands among them.
    pub keys: String,
    /// Seed.
    pub seed: u64,
    /// Fingerprint of the hardware with these keys, hexadecimal.
    pub hardware: String,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Fabric, as [`Subject::fabric`].
    pub fabric: String,
    /// Keys, as [`Subject::keys`].
    pub keys: String,
    /// Seed.
    pub seed: u64,
    /// Hardware, as [`Subject::hardware`].
    pub hardware: String,
    /// Groups of rounds, from the first one on.
    pub groups: u64,
    /// Rounds.
    pub rounds: u64,
    /// Operations, as [`Counts::operations`].
    pub operations: u64,
    /// Accesses judged by axioms.
    pub judged: u64,
    /// Simulated cycles.
    pub cycles: u64,
}

/// A record in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    rows: Vec<Row>,
}

impl Row {
    fn is_of(&self, subject: &Subject) -> bool {
        let Subject { fabric, keys, seed, hardware } = subject;
        (&self.fabric, &self.keys, &self.seed, &self.hardware) == (fabric, keys, seed, hardware)
    }

    /// What it has counted.
    pub fn counts(&self) -> Counts {
        let Row { rounds, operations, judged, cycles, .. } = *self;
        Counts { rounds, operations, judged, cycles }
    }
}

impl Record {
    /// Reads a file; an empty record where there is none.
    ///
    /// # Errors
    /// A file that is no record.
    pub fn read(path: &Path) -> Result<Record, RowsError> {
        Ok(Record { rows: rows::read(path, "a campaign")? })
    }

    /// The row of a subject.
    pub fn of(&self, subject: &Subject) -> Option<&Row> {
        self.rows.iter().find(|row| row.is_of(subject))
    }

    /// Adds what was checked of a subject in so many groups more.
    pub fn add(&mut self, subject: &Subject, groups: u64, counts: Counts) {
        let before = self.rows.iter().position(|row| row.is_of(subject)).map(|at| self.rows.remove(at));
        let (mut all, made) = before.map_or_else(Default::default, |row| (row.counts(), row.groups));
        all += counts;
        let Subject { fabric, keys, seed, hardware } = subject.clone();
        let Counts { rounds, operations, judged, cycles } = all;
        let groups = made + groups;
        self.rows.push(Row { fabric, keys, seed, hardware, groups, rounds, operations, judged, cycles });
        let order = |row: &Row| (row.fabric.clone(), row.keys.clone(), row.seed, row.hardware.clone());
        self.rows.sort_by_key(order);
    }

    /// All rows, by fabric, keys, seed and hardware.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Puts it into a file.
    ///
    /// # Errors
    /// A path that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), RowsError> {
        rows::write(path, &self.rows)
    }
}
