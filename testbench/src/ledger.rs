//! The race ledger: every row of a transition table and every race that a specification names, with its hit count, the
//! smallest seed that reproduces it, and the test.
//!
//! Tests and runs write hits as JSON lines, one file per process, into a folder (`target/ledger`); [`Ledger::merge_dir`]
//! collects them. Cover points in the hardware carry the identifiers of [`all_entries`] as their names.

use crate::golden::PARTS;
use crate::golden::dir_table::{DirOp, Found, table};
use crate::golden::fence_table::FENCE;
use crate::golden::hier_fence_table::HIER_FENCE;
use crate::golden::l1_table::L1;
use crate::golden::l2_held_table::{GPU_HOME_HELD, REQUESTER_HELD};
use crate::golden::l2_hier_table::{FORCED, GPU_HOME};
use crate::golden::l2_table::{HOME, Legality, REQUESTER};
use crate::golden::mgcc;
use crate::golden::params::DirKind;
use crate::golden::races::{Race, all_races};
use crate::golden::spandex;
use crate::golden::srsp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
pub use weft_hits::{Hit, hits_dir};

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

fn directory_rows(out: &mut Vec<Entry>) {
    let kinds = [
        (DirKind::Perline, "baseline-directory"),
        (DirKind::Group4, "group-directory"),
        (DirKind::Rec, "rec-directory"),
        (DirKind::Ideal, "ideal-directory"),
        (DirKind::Nhcc, "nhcc-directory"),
        (DirKind::Hmg, "hmg-directory"),
        (DirKind::HmgRec, "hmg-rec-directory"),
    ];
    for (kind, block) in kinds {
        for row in table(kind) {
            let source = match kind {
                DirKind::Ideal => "rec.md 8",
                DirKind::Nhcc | DirKind::Hmg => "hmg.md 4",
                DirKind::HmgRec => "rec.md 8.1",
                _ => "rec.md 4",
            };
            let who = if source.starts_with("hmg") { "s" } else { "g" };
            let op = match row.op {
                DirOp::RdRem => format!("RD_REM of {who}"),
                DirOp::WrRem => format!("WR_REM of {who}"),
                DirOp::WrLoc => "WR_LOC".into(),
                DirOp::AtomRem => format!("ATOM_REM of {who}"),
                DirOp::InvRecv => "INV received (cause WRITE)".into(),
                DirOp::InvRecvEvict => "INV received (cause EVICT)".into(),
                DirOp::Downgrade => format!("DOWNGRADE of {who}"),
            };
            let found = match row.found {
                Found::Miss => "miss",
                Found::SlotEmpty => "hit, slot empty",
                Found::SlotSet if who == "s" => "hit",
                Found::SlotSet => "hit, s not empty",
            };
            out.push(entry(row.id, block, EntryKind::Row, format!("{op}, {found}: {}.", row.text), source));
        }
    }
}

fn entry(id: &str, block: &str, kind: EntryKind, text: String, source: &str) -> Entry {
    Entry { id: id.into(), block: block.into(), kind, text, source: source.into() }
}

/// Every entry: rows of the golden tables that can occur, then the races, in a fixed order.
pub fn all_entries() -> Vec<Entry> {
    let mut out = Vec::new();
    directory_rows(&mut out);
    for part in PARTS {
        let source = format!("{} {}", part.page, part.section);
        out.extend(
            (part.rows)().into_iter().map(|(id, text)| entry(id, part.block, EntryKind::Row, text, &source)),
        );
    }
    for row in REQUESTER.iter().filter(|r| r.legality == Legality::Legal) {
        let text = format!("Remote-homed line in {:?}, {:?}: {}.", row.state, row.event, row.text);
        out.push(entry(row.id, "l2-bank", EntryKind::Row, text, "rec.md 6.1"));
    }
    for row in HOME.iter().filter(|r| r.legality == Legality::Legal) {
        let text = format!("Home line in {:?}, {:?}: {}.", row.state, row.event, row.text);
        out.push(entry(row.id, "l2-bank", EntryKind::Row, text, "rec.md 6.2"));
    }
    for row in &L1 {
        let states = match row.states {
            [state] => format!("Line in {state:?}"),
            _ => "Any state".into(),
        };
        let text = format!("{states}, {:?}: {}.", row.event, row.text);
        out.push(entry(row.id, "l1-cache", EntryKind::Row, text, row.source));
    }
    for row in &FORCED {
        let text = format!("Line served by another node in {:?}, {:?}: {}.", row.state, row.event, row.text);
        out.push(entry(row.id, "l2-bank", EntryKind::Row, text, "hmg.md 5.1"));
    }
    for row in GPU_HOME.iter().filter(|r| r.legality == Legality::Legal) {
        let text = format!("Line at its GPU home in {:?}, {:?}: {}.", row.state, row.event, row.text);
        out.push(entry(row.id, "l2-bank", EntryKind::Row, text, "hmg.md 5"));
    }
    for row in &REQUESTER_HELD {
        let text = format!(
            "Write-back, line served by another node in {:?}, {:?}: {}.",
            row.state, row.event, row.text
        );
        out.push(entry(row.id, "l2-bank", EntryKind::Row, text, "hmg.md 5.2"));
    }
    for row in &GPU_HOME_HELD {
        let text =
            format!("Write-back, line at its GPU home in {:?}, {:?}: {}.", row.state, row.event, row.text);
        out.push(entry(row.id, "l2-bank", EntryKind::Row, text, "hmg.md 5.2"));
    }
    for row in &FENCE {
        let text = format!("{:?}, {:?}: {}.", row.state, row.event, row.text);
        out.push(entry(row.id, "fence-unit", EntryKind::Row, text, "rec.md 7"));
    }
    for row in HIER_FENCE {
        let text = format!("Engine {}, {} -> {}: {}.", row.engine, row.state, row.next, row.text);
        out.push(entry(row.id, "hier-fence-unit", EntryKind::Row, text, "hmg.md 6"));
    }
    out.extend(mgcc::entries());
    out.extend(srsp::entries());
    out.extend(spandex::entries());
    for race in all_races() {
        let source = format!("{} {}", race.page(), race.section);
        out.push(entry(race.id, race.block, EntryKind::Race, race.text.into(), &source));
    }
    for part in PARTS {
        let race = |race: &Race| {
            let source = format!("{} {}", part.page, race.section);
            entry(race.id, race.block, EntryKind::Race, race.text.into(), &source)
        };
        out.extend(part.races.iter().map(race));
    }
    out
}

/// Pairs of state and event that a table calls an error: identifiers of assertions, never of cover points.
pub fn error_rows() -> Vec<(&'static str, &'static str)> {
    let req = REQUESTER.iter().filter(|r| r.legality == Legality::Error).map(|r| (r.id, "rec.md 6.1"));
    let home = HOME.iter().filter(|r| r.legality == Legality::Error).map(|r| (r.id, "rec.md 6.2"));
    let gpu = GPU_HOME.iter().filter(|r| r.legality == Legality::Error).map(|r| (r.id, "hmg.md 5"));
    req.chain(home).chain(gpu).collect()
}

/// Entries and what hit them.
#[derive(Clone, Debug)]
pub struct Ledger {
    entries: Vec<Entry>,
    tallies: BTreeMap<String, Tally>,
}

impl Default for Ledger {
    fn default() -> Self {
        Ledger::new(all_entries())
    }
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

/// Writes what a test has hit, by identifier its count and smallest seed, into [`hits_dir`]; identifiers that are no entries are left out.
pub fn publish(test: &str, counts: &BTreeMap<String, (u64, u64)>) -> Result<PathBuf, LedgerError> {
    publish_in(&hits_dir(), test, counts)
}

/// The same into a folder of one's own.
pub fn publish_in(
    dir: &Path,
    test: &str,
    counts: &BTreeMap<String, (u64, u64)>,
) -> Result<PathBuf, LedgerError> {
    let ledger = Ledger::default();
    let known = counts.iter().filter(|(id, (count, _))| *count > 0 && ledger.tally(id).is_some());
    let hits: Vec<Hit> = known
        .map(|(id, (count, seed))| Hit { id: id.clone(), count: *count, seed: *seed, test: test.into() })
        .collect();
    write_hits(dir, test, &hits)
}

/// Writes hits as one file of JSON lines: [`weft_hits::write_hits`].
///
/// # Errors
/// A folder or file that cannot be written.
pub fn write_hits(dir: &Path, test: &str, hits: &[Hit]) -> Result<PathBuf, LedgerError> {
    weft_hits::write_hits(dir, test, hits).map_err(|(path, cause)| LedgerError::Io { path, cause })
}

#[cfg(test)]
mod tests;
