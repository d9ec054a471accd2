//! Entries, how often each was hit, and what nobody has hit.

use crate::hits::Hit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A row of a transition table.
    Row,
    /// A race or special case.
    Race,
}

/// One thing that must be seen to happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Stable identifier, the name of the cover point.
    pub id: String,
    /// Block that owns it, by its name on the command line; `fabric` for what spans blocks.
    pub block: String,
    /// Row or race.
    pub kind: EntryKind,
    /// One sentence, or the table row in words.
    pub text: String,
    /// Where it comes from, as `rec.md 4.1`.
    pub source: String,
}

/// What is known of one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Sum of all counts.
    pub count: u64,
    /// Smallest seed that hit it, with its test (the first by name among equals).
    pub smallest: Option<(u64, String)>,
}

/// Why a ledger could not be filled.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A hit on something that no specification names.
    #[error("{place}: '{id}' is no ledger entry: use an identifier from testbench/src/golden/IDS.md")]
    UnknownId {
        /// Identifier found.
        id: String,
        /// File and line, or the caller.
        place: String,
    },
    /// A line that is no hit.
    #[error("{place}: not a ledger line ({cause}): expected {{\"id\", \"count\", \"seed\", \"test\"}}")]
    BadLine {
        /// File and line.
        place: String,
        /// What the parser said.
        cause: String,
    },
    /// A file or folder that cannot be read or written.
    #[error("{path}: {cause}: the ledger folder is filled by running the tests", path = .path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
}

/// Entries and what hit them.
#[derive(Clone, Debug)]
pub struct Ledger {
    entries: Vec<Entry>,
    tallies: BTreeMap<String, Tally>,
}

impl Ledger {
    /// A ledger over these entries, none of them hit.
    pub fn new(entries: Vec<Entry>) -> Self {
        let tallies = entries.iter().map(|e| (e.id.clone(), Tally::default())).collect();
        Ledger { entries, tallies }
    }

    /// The entries, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What is known of an entry; `None` for an unknown identifier.
    pub fn tally(&self, id: &str) -> Option<&Tally> {
        self.tallies.get(id)
    }

    /// Records hits. A count of 0 is accepted and changes nothing; an unknown identifier is an error.
    pub fn hit(&mut self, id: &str, count: u64, seed: u64, test: &str) -> Result<(), LedgerError> {
        let Some(tally) = self.tallies.get_mut(id) else {
            return Err(LedgerError::UnknownId { id: id.into(), place: format!("test {test}") });
        };
        if count > 0 {
            tally.count = tally.count.saturating_add(count);
            let new = (seed, test.to_string());
            let old = tally.smallest.take();
            tally.smallest = Some(old.map_or(new.clone(), |o| o.min(new)));
        }
        Ok(())
    }

    /// Merges one file of JSON lines; empty lines are skipped. Errors name file and line.
    pub fn merge_file(&mut self, path: &Path) -> Result<(), LedgerError> {
        let io = |cause| LedgerError::Io { path: path.into(), cause };
        for (i, line) in std::fs::read_to_string(path).map_err(io)?.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let place = format!("{}:{}", path.display(), i + 1);
            let hit: Hit = serde_json::from_str(line)
                .map_err(|e| LedgerError::BadLine { place: place.clone(), cause: e.to_string() })?;
            self.hit(&hit.id, hit.count, hit.seed, &hit.test).map_err(|e| match e {
                LedgerError::UnknownId { id, .. } => LedgerError::UnknownId { id, place },
                other => other,
            })?;
        }
        Ok(())
    }

    /// Merges every `*.jsonl` of a folder, in the order of their names.
    pub fn merge_dir(&mut self, dir: &Path) -> Result<(), LedgerError> {
        let io = |cause| LedgerError::Io { path: dir.into(), cause };
        let mut files = Vec::new();
        for item in std::fs::read_dir(dir).map_err(io)? {
            let path = item.map_err(io)?.path();
            if path.extension().is_some_and(|e| e == "jsonl") {
                files.push(path);
            }
        }
        files.sort();
        files.iter().try_for_each(|f| self.merge_file(f))
    }

    /// Entries never hit, in order; of one block if given.
    pub fn never_hit<'a>(&'a self, block: Option<&'a str>) -> Vec<&'a Entry> {
        self.of_block(block).filter(|e| self.tallies[&e.id].count == 0).collect()
    }

    /// One plain sentence for each entry never hit, in order; of one block if given.
    pub fn complaints(&self, block: Option<&str>) -> Vec<String> {
        let say = |e: &Entry| {
            let kind = if e.kind == EntryKind::Row { "row" } else { "race" };
            format!("{} ({kind} of {}, {}) was never hit: {}", e.id, e.block, e.source, e.text)
        };
        self.never_hit(block).into_iter().map(say).collect()
    }

    /// Entries of a block (all without one), with how often they were hit, as a table of text; the last line counts
    /// entries hit and all. Never-hit entries show `never`.
    pub fn render(&self, block: Option<&str>) -> String {
        let rows: Vec<_> = self.of_block(block).map(|e| (e, &self.tallies[&e.id])).collect();
        let width = |f: fn(&Entry) -> usize| rows.iter().map(|(e, _)| f(e)).max().unwrap_or(0);
        let (ids, blocks) = (width(|e| e.id.len()).max(5), width(|e| e.block.len()).max(5));
        let mut text =
            format!("{:ids$}  {:blocks$}  {:>10}  {:>20}  test\n", "entry", "block", "hits", "smallest seed");
        for (e, tally) in &rows {
            let (seed, test) =
                tally.smallest.as_ref().map_or((String::new(), ""), |(s, t)| (s.to_string(), t));
            let hits = if tally.count == 0 { "never".into() } else { tally.count.to_string() };
            let line = format!("{:ids$}  {:blocks$}  {hits:>10}  {seed:>20}  {test}", e.id, e.block);
            text += line.trim_end();
            text += "\n";
        }
        let hit = rows.iter().filter(|(_, t)| t.count > 0).count();
        text += &format!("{hit} of {} entries hit\n", rows.len());
        text
    }

    /// Number of entries; of one block if given.
    pub fn count(&self, block: Option<&str>) -> usize {
        self.of_block(block).count()
    }

    /// Blocks that own entries, in the order of their first entry.
    pub fn blocks(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for e in &self.entries {
            if !names.contains(&e.block.as_str()) {
                names.push(&e.block);
            }
        }
        names
    }

    fn of_block<'a>(&'a self, block: Option<&'a str>) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(move |e| block.is_none_or(|b| b == e.block))
    }
}
