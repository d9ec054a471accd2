//! What was explored: a row for each command.

use super::{grouped, table};
use crate::document::Block;
use anyhow::Error;
use serde::{Deserialize, Serialize};
use std::path::Path;
use weft_output::rows;

/// An exploration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// What stands behind `weft explore`, without the names of files.
    pub command: String,
    /// Fingerprint of the blocks, hexadecimal.
    pub hardware: String,
    /// `all`: all states were visited; `limit`: not all; `walks`: random walks; or what is wrong.
    pub end: String,
    /// States.
    pub states: u64,
    /// Actions on the longest way; of a violation: on the way to it.
    pub depth: u64,
    /// Rows of tables and named races that were reached.
    pub reached: u64,
    /// Rows of tables and named races of the blocks.
    pub rows: u64,
}

/// The rows of a record, in its order; none where there is no file.
///
/// # Errors
/// A file that is no record.
pub fn read(file: &Path) -> Result<Vec<Row>, Error> {
    Ok(rows::read(file, "explorations")?)
}

/// Puts a row into a record, in the place of an older one of the same command; the file is written whole or not at all.
///
/// # Errors
/// A file that is no record, or cannot be written.
pub fn add(file: &Path, row: Row) -> Result<(), Error> {
    let mut all = read(file)?;
    match all.iter_mut().find(|known| known.command == row.command) {
        Some(known) => *known = row,
        None => all.push(row),
    }
    Ok(rows::write(file, &all)?)
}

impl Row {
    /// Whether a fault was planted.
    fn is_faulty(&self) -> bool {
        self.command.split_whitespace().any(|word| word == "--inject")
    }

    /// Family and planted fault, if there is one.
    pub(super) fn planted(&self) -> Option<(&str, &str)> {
        let mut words = self.command.split_whitespace();
        let family = words.next()?;
        words.find(|word| *word == "--inject")?;
        Some((family, words.next()?))
    }

    /// Whether something is wrong.
    pub fn is_violation(&self) -> bool {
        !matches!(self.end.as_str(), "all" | "limit" | "walks")
    }
}

/// A command in parts.
struct Command<'a> {
    /// Family, protocol or devices, and keys.
    of: String,
    fault: Option<&'a str>,
    /// What may be issued, a list for each.
    lists: Vec<&'a str>,
    /// All other options.
    rest: Vec<&'a str>,
}

impl Command<'_> {
    fn of(row: &Row) -> Command<'_> {
        let mut parts = row.command.split(" --");
        let of = parts.next().unwrap_or_default().into();
        let mut command = Command { of, fault: None, lists: Vec::new(), rest: Vec::new() };
        for part in parts {
            match part.split_once(' ') {
                Some(("protocol" | "set" | "devices" | "mix", value)) => command.of += &format!(" {value}"),
                Some(("inject", fault)) => command.fault = Some(fault),
                Some(("ops", list)) => command.lists.push(list.trim_matches('"')),
                _ => command.rest.push(part),
            }
        }
        command
    }

    /// All other options as they are typed.
    fn rest(&self) -> String {
        let words: Vec<String> = self.rest.iter().map(|part| format!("--{part}")).collect();
        if words.is_empty() { String::new() } else { format!("`{}`", words.join(" ")) }
    }

    /// The lists, each as it stands behind `--ops`.
    fn lists(&self) -> String {
        let quoted: Vec<String> = self.lists.iter().map(|list| format!("`{list}`")).collect();
        quoted.join("; ")
    }
}

/// Most characters of a cell.
const CELL: usize = 100;

/// A text that fits into a cell.
fn clipped(text: &str) -> String {
    match text.char_indices().nth(CELL - 2) {
        Some((at, _)) => format!("{} …", text[..at].trim_end()),
        None => text.to_string(),
    }
}

/// Explorations of the hardware as it is.
pub fn sound(records: &Path) -> Result<Vec<Block>, Error> {
    let rows = read(&records.join("explored.csv"))?;
    let line = |row: &Row| {
        let command = Command::of(row);
        vec![
            format!("`{}`", command.of),
            command.rest(),
            command.lists(),
            grouped(row.states),
            row.depth.to_string(),
            format!("{} of {}", row.reached, row.rows),
            clipped(&row.end),
        ]
    };
    let lines = rows.iter().filter(|row| !row.is_faulty()).map(line).collect();
    Ok(table(&["weft explore", "with", "--ops", "states", "depth", "rows and races", "visited"], lines))
}

/// Explorations of planted faults.
pub fn faults(records: &Path) -> Result<Vec<Block>, Error> {
    let rows = read(&records.join("explored.csv"))?;
    let line = |row: &Row| {
        let way = if row.is_violation() { row.depth.to_string() } else { "not found".into() };
        let command = Command::of(row);
        let fault = format!("`{}`", command.fault.unwrap_or_default());
        vec![format!("`{}`", command.of), fault, command.rest(), command.lists(), way, clipped(&row.end)]
    };
    let lines = rows.iter().filter(|row| row.is_faulty()).map(line).collect();
    Ok(table(&["weft explore", "--inject", "with", "--ops", "actions", "what is wrong"], lines))
}
