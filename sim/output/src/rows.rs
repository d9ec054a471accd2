//! Records of campaigns: tables with commas, a row for each thing that was made.

use crate::{OutputError, write as write_whole};
use serde::{Serialize, de::DeserializeOwned};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A record that cannot be read or written.
#[derive(Debug, Error)]
pub enum RowsError {
    /// It cannot be read.
    #[error("{path} is no record of {what} ({cause}); give another file, or remove this one", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// Why not.
        cause: csv::Error,
    },
    /// A row cannot be put into words.
    #[error(transparent)]
    Row(#[from] csv::Error),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] OutputError),
}

/// The rows of a file, `what` they are in the plural; none where there is no file.
///
/// # Errors
/// A file with other rows.
pub fn read<R: DeserializeOwned>(path: &Path, what: &'static str) -> Result<Vec<R>, RowsError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let failed = |cause| RowsError::Read { path: path.to_path_buf(), what, cause };
    let mut reader = csv::Reader::from_path(path).map_err(failed)?;
    reader.deserialize().collect::<Result<_, _>>().map_err(failed)
}

/// Puts rows into a file, in the place of all that it held; it is written whole or not at all.
///
/// # Errors
/// A path that cannot be written.
pub fn write<R: Serialize>(path: &Path, rows: &[R]) -> Result<(), RowsError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row))?;
    let bytes = writer.into_inner().map_err(|cause| csv::Error::from(cause.into_error()))?;
    Ok(write_whole(path, &bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row {
        name: String,
        count: u64,
    }

    #[test]
    fn rows_come_back_and_other_tables_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rows.csv");
        assert_eq!(read::<Row>(&file, "counts").expect("no file"), []);
        let rows = [Row { name: "a, b".into(), count: 7 }, Row { name: "c".into(), count: u64::MAX }];
        write(&file, &rows).expect("a file");
        assert_eq!(read::<Row>(&file, "counts").expect("rows"), rows);
        std::fs::write(&file, "name\nd\n").expect("a file");
        let told = read::<Row>(&file, "counts").expect_err("a column is missing").to_string();
        assert!(told.contains("rows.csv is no record of counts"), "{told}");
    }
}
