//! What is known of mutants, in a file of JSON lines: a line with the block and the commands, then one for each mutant. A later line takes the place of an earlier one.

use super::catcher::{Catcher, End};
use crate::failure::Failure;
use anyhow::anyhow;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A mutant with all that is known of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// As [`weft_rtl::mutant::Mutant`] is written.
    pub mutant: String,
    /// The kind, without the number of a bit.
    pub kind: String,
    /// Its place in words.
    pub place: String,
    /// `different`, `equivalent` or `undecided`.
    pub verdict: String,
    /// The first output that differs, and when.
    pub about: String,
    /// The assertion that fails under random stimulus.
    pub assertion: String,
    /// How each catcher ended.
    pub caught: BTreeMap<String, End>,
}

impl Row {
    /// Whether it is the same hardware.
    pub fn is_equivalent(&self) -> bool {
        self.verdict == "equivalent"
    }

    /// Whether a catcher has been tried.
    pub fn knows(&self, catcher: &str) -> bool {
        self.caught.contains_key(catcher)
    }

    /// Whether some catcher has seen it.
    pub fn is_caught(&self) -> bool {
        self.caught.values().any(|end| end.is_caught())
    }
}

/// The first line, and one more when catchers are added.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    block: String,
    cycles: u64,
    catchers: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Head(Head),
    Row(Row),
}

/// The rows known, and the file that more are added to.
pub struct Record {
    rows: BTreeMap<String, Row>,
    file: Option<(PathBuf, File)>,
}

impl Record {
    /// Reads the file, if there is one, and makes it ready for more.
    ///
    /// # Errors
    /// A file that cannot be read or written, is no record, or one of another block or of other commands.
    pub fn open(
        path: Option<&Path>,
        block: &str,
        cycles: u64,
        catchers: &[Catcher],
    ) -> Result<Record, Failure> {
        let mut record = Record { rows: BTreeMap::new(), file: None };
        let Some(path) = path else { return Ok(record) };
        let commands = catchers.iter().map(|c| (c.name.clone(), c.command.clone())).collect();
        let mut head = Head { block: block.to_string(), cycles, catchers: commands };
        let (known, rows, whole) = parse(path)?;
        record.rows = rows;
        let before = known.clone();
        if let Some(known) = known {
            head = merged(path, Some(known), head)?;
        }
        let cannot = |cause: io::Error| wrong(path, &format!("cannot be written: {cause}"));
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(cannot)?;
        file.set_len(whole).map_err(cannot)?;
        record.file = Some((path.to_path_buf(), file));
        if before.as_ref() != Some(&head) {
            record.write(&Line::Head(head))?;
        }
        Ok(record)
    }

    /// What is known of a mutant.
    pub fn row(&self, mutant: &str) -> Option<Row> {
        self.rows.get(mutant).cloned()
    }

    /// Adds a mutant.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn add(&mut self, row: &Row) -> Result<(), Failure> {
        self.write(&Line::Row(row.clone()))
    }

    fn write(&mut self, line: &Line) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        let text = serde_json::to_string(line).map_err(Failure::check)?;
        file.write_all(format!("{text}\n").as_bytes())
            .map_err(|cause| Failure::check(anyhow!("{} cannot be written: {cause}", path.display())))
    }
}

/// Rows by mutant.
type Rows = BTreeMap<String, Row>;

/// What a file holds, and its bytes up to the end of its last whole line; nothing where there is none.
fn parse(path: &Path) -> Result<(Option<Head>, Rows, u64), Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => String::new(),
        Err(cause) => return Err(wrong(path, &format!("cannot be read: {cause}"))),
    };
    // A line that a killed program has left without its end is made again.
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let (mut known, mut rows) = (None, Rows::new());
    for (at, line) in text[..whole].lines().enumerate() {
        match serde_json::from_str(line) {
            Ok(Line::Head(found)) => known = Some(merged(path, known, found)?),
            Ok(Line::Row(row)) if known.is_some() => drop(rows.insert(row.mutant.clone(), row)),
            _ => return Err(wrong(path, &format!("line {} is none of a record of mutants", at + 1))),
        }
    }
    Ok((known, rows, whole as u64))
}

/// The block of a record with its parameters, names of the catchers, and rows by mutant.
///
/// # Errors
/// A file that cannot be read, or is no record.
pub fn read(path: &Path) -> Result<(String, Vec<String>, Vec<Row>), Failure> {
    let (head, rows, _) = parse(path)?;
    let head = head.ok_or_else(|| wrong(path, "it is empty"))?;
    Ok((head.block, head.catchers.into_keys().collect(), rows.into_values().collect()))
}

fn wrong(path: &Path, what: &str) -> Failure {
    Failure::input(anyhow!("--record {}: {what}; name another file", path.display()))
}

/// The catchers of both.
fn merged(path: &Path, known: Option<Head>, more: Head) -> Result<Head, Failure> {
    let Some(mut known) = known else { return Ok(more) };
    if (&known.block, known.cycles) != (&more.block, more.cycles) {
        let (block, cycles) = (&known.block, known.cycles);
        return Err(wrong(path, &format!("it is of {block} in {cycles} cycles")));
    }
    for (name, command) in more.catchers {
        match known.catchers.get(&name) {
            Some(other) if *other != command => {
                return Err(wrong(path, &format!("there the catcher {name} is `{other}`")));
            }
            _ => drop(known.catchers.insert(name, command)),
        }
    }
    Ok(known)
}
