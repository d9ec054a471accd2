//! Tables of digests: read, written, compared row by row.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// A table whose first columns name a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    keys: usize,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Why a table cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum TableError {
    #[error(
        "{path} cannot be read: {cause}; run `weft digest` in the checkout, or name the folder with --dir"
    )]
    Read { path: PathBuf, cause: csv::Error },
    #[error(
        "{path} has the columns {found}, expected {expected}; `weft digest --write` without names writes the table again"
    )]
    Columns { path: PathBuf, found: String, expected: String },
    #[error(transparent)]
    Write(#[from] weft_output::OutputError),
}

impl Table {
    /// A table; its first `keys` columns name a row.
    pub fn new(keys: usize, columns: &[&str], rows: Vec<Vec<String>>) -> Table {
        Table { keys, columns: columns.iter().map(ToString::to_string).collect(), rows }
    }

    /// A table of this form without rows.
    pub fn without_rows(&self) -> Table {
        Table { rows: Vec::new(), ..self.clone() }
    }

    /// The same table with other rows.
    pub(crate) fn with_rows(self, rows: Vec<Vec<String>>) -> Table {
        Table { rows, ..self }
    }

    /// Rows.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The committed table of the form of this one.
    ///
    /// # Errors
    /// A file that cannot be read or has other columns.
    pub fn committed(&self, path: &Path) -> Result<Table, TableError> {
        let failed = |cause| TableError::Read { path: path.to_path_buf(), cause };
        let mut reader = csv::Reader::from_path(path).map_err(failed)?;
        let words = |record: &csv::StringRecord| record.iter().map(ToString::to_string).collect::<Vec<_>>();
        let columns = words(reader.headers().map_err(failed)?);
        if columns != self.columns {
            let (found, expected) = (columns.join(", "), self.columns.join(", "));
            return Err(TableError::Columns { path: path.to_path_buf(), found, expected });
        }
        let rows = reader.records().map(|record| record.map(|r| words(&r)));
        Ok(Table { rows: rows.collect::<Result<_, _>>().map_err(failed)?, ..self.clone() })
    }

    /// Writes the table; the file appears complete or not at all.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), TableError> {
        let encoded = || -> io::Result<Vec<u8>> {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(&self.columns)?;
            self.rows.iter().try_for_each(|row| writer.write_record(row))?;
            writer.into_inner().map_err(csv::IntoInnerError::into_error)
        };
        let bytes = encoded().expect("a table is always encoded");
        Ok(weft_output::write(path, &bytes)?)
    }

    fn by_name(&self) -> BTreeMap<&[String], &[String]> {
        self.rows.iter().map(|row| row.split_at(self.keys)).collect()
    }

    /// This table's rows in place of, or beside, the rows of the same names in another; rows of other names stay.
    #[must_use]
    pub fn over(self, committed: &Table) -> Table {
        let fresh = self.by_name();
        let mut rows: Vec<Vec<String>> = committed.rows.clone();
        for row in &mut rows {
            if let Some(values) = fresh.get(&row[..self.keys]) {
                row.truncate(self.keys);
                row.extend_from_slice(values);
            }
        }
        let known = committed.by_name();
        rows.extend(self.rows.iter().filter(|row| !known.contains_key(&row[..self.keys])).cloned());
        Table { rows, ..self }
    }

    /// What moved from the committed table to this one, a sentence a row. With `whole`, rows that this one lacks are gone; without, this one is a part.
    pub fn moved(&self, committed: &Table, whole: bool) -> Vec<String> {
        let (before, now) = (committed.by_name(), self.by_name());
        let name =
            |keys: &[String]| keys.iter().filter(|k| !k.is_empty()).cloned().collect::<Vec<_>>().join(" ");
        let mut said = Vec::new();
        for row in &self.rows {
            let (keys, values) = row.split_at(self.keys);
            match before.get(keys) {
                None => said.push(format!("{}: new", name(keys))),
                Some(old) if *old == values => {}
                Some(old) => said.push(format!("{}: {}", name(keys), self.differences(old, values))),
            }
        }
        let gone = committed
            .rows
            .iter()
            .map(|row| &row[..self.keys])
            .filter(|keys| whole && !now.contains_key(keys));
        said.extend(gone.map(|keys| format!("{}: gone", name(keys))));
        said
    }

    fn differences(&self, old: &[String], new: &[String]) -> String {
        let columns = &self.columns[self.keys..];
        let pairs = columns.iter().zip(old.iter().zip(new)).filter(|(_, (old, new))| old != new);
        pairs.map(|(column, (old, new))| format!("{column} {old} -> {new}")).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[&str; 3]]) -> Table {
        let rows = rows.iter().map(|row| row.map(ToString::to_string).to_vec()).collect();
        Table::new(1, &["block", "verilog", "bits"], rows)
    }

    #[test]
    fn what_moved_is_told_by_row_and_column() {
        let before = table(&[["a", "1", "8"], ["b", "2", "8"], ["c", "3", "8"]]);
        let now = table(&[["a", "1", "8"], ["b", "5", "9"], ["d", "4", "8"]]);
        assert_eq!(now.moved(&before, true), ["b: verilog 2 -> 5, bits 8 -> 9", "d: new", "c: gone"]);
        assert_eq!(now.moved(&before, false), ["b: verilog 2 -> 5, bits 8 -> 9", "d: new"]);
        assert_eq!(before.moved(&before, true), Vec::<String>::new());
    }

    #[test]
    fn a_part_is_written_over_the_whole() {
        let before = table(&[["a", "1", "8"], ["b", "2", "8"]]);
        let part = table(&[["b", "7", "8"], ["c", "3", "8"]]);
        assert_eq!(part.over(&before), table(&[["a", "1", "8"], ["b", "7", "8"], ["c", "3", "8"]]));
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, whole) = (folder.path().join("t.csv"), table(&[["a x=1, y=2", "1", "8"]]));
        whole.write(&path).expect("written");
        assert_eq!(whole.committed(&path).expect("read"), whole);
        let other = Table::new(1, &["block", "verilog"], Vec::new());
        let said = other.committed(&path).expect_err("other columns").to_string();
        assert!(said.contains("block, verilog, bits") && said.contains("--write"), "{said}");
        assert!(whole.committed(&folder.path().join("none.csv")).is_err());
    }
}
