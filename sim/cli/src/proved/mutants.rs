//! What sees the mutants of each block.

use super::table;
use crate::cmd::mutate::record::{self, Row};
use crate::document::Block;
use anyhow::{Context, Error, anyhow};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use weft_rtl::mutant::Kind;

/// The mutants of a block.
struct Of {
    block: String,
    rows: Vec<Row>,
}

/// The folder's records, by name of the file.
fn read(records: &Path) -> Result<Vec<Of>, Error> {
    let folder = records.join("mutants");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let shown = || format!("cannot read {}", folder.display());
    let entries = std::fs::read_dir(&folder).with_context(shown)?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    let one = |file: &std::path::PathBuf| {
        let (words, _, rows) = record::read(file).map_err(|failure| anyhow!("{failure}"))?;
        // Its parameters are those that its tests take; the record has them.
        let block = words.split_whitespace().next().unwrap_or_default().to_string();
        Ok(Of { block, rows })
    };
    files.iter().map(one).collect()
}

/// Numbers of mutants, and of those that each catcher sees.
#[derive(Default)]
struct Count {
    all: usize,
    equivalent: usize,
    undecided: usize,
    /// Of each catcher: other hardware that it was asked about, and that it has seen.
    by: BTreeMap<String, (usize, usize)>,
    any: usize,
}

impl Count {
    fn add(&mut self, row: &Row) {
        self.all += 1;
        self.equivalent += usize::from(row.is_equivalent());
        self.undecided += usize::from(row.verdict == "undecided");
        if row.is_equivalent() {
            return;
        }
        self.any += usize::from(row.is_caught());
        for (catcher, end) in &row.caught {
            let (asked, seen) = self.by.entry(catcher.clone()).or_default();
            *asked += 1;
            *seen += usize::from(end.is_caught());
        }
    }

    fn cells(&self, catchers: &BTreeSet<String>) -> Vec<String> {
        let percent = |(asked, seen): (usize, usize)| match asked {
            0 => "-".to_string(),
            _ => format!("{:.1}", 100.0 * seen as f64 / asked as f64),
        };
        let by = catchers.iter().map(|c| percent(self.by.get(c).copied().unwrap_or_default()));
        let any = percent((self.all - self.equivalent, self.any));
        let numbers = [self.all, self.equivalent, self.undecided].map(|n| n.to_string());
        numbers.into_iter().chain(by).chain([any]).collect()
    }
}

/// A line for each name, and one of all.
fn counted(name: &str, of: Vec<(String, Vec<&Row>)>) -> Vec<Block> {
    let rows = || of.iter().flat_map(|(_, rows)| rows);
    let catchers: BTreeSet<String> = rows().flat_map(|row| row.caught.keys().cloned()).collect();
    let count = |rows: &mut dyn Iterator<Item = &&Row>| {
        let mut count = Count::default();
        rows.for_each(|row| count.add(row));
        count
    };
    let line = |name: &str, count: Count| {
        [name.to_string()].into_iter().chain(count.cells(&catchers)).collect::<Vec<String>>()
    };
    let mut lines: Vec<Vec<String>> =
        of.iter().map(|(name, rows)| line(name, count(&mut rows.iter()))).collect();
    if !lines.is_empty() {
        lines.push(line("all", count(&mut rows())));
    }
    let head = [name, "mutants", "equivalent", "undecided"].into_iter();
    let by = catchers.iter().map(|name| format!("{name} %"));
    let head: Vec<String> = head.map(str::to_string).chain(by).chain(["any %".to_string()]).collect();
    table(&head.iter().map(String::as_str).collect::<Vec<_>>(), lines)
}

/// A line for each block.
pub fn blocks(records: &Path) -> Result<Vec<Block>, Error> {
    let all = read(records)?;
    Ok(counted("block", all.iter().map(|of| (format!("`{}`", of.block), of.rows.iter().collect())).collect()))
}

/// A line for each kind, over all blocks.
pub fn kinds(records: &Path) -> Result<Vec<Block>, Error> {
    let all = read(records)?;
    let of = |kind: &str| {
        let rows = all.iter().flat_map(|of| &of.rows).filter(|row| row.kind == kind);
        (format!("`{kind}`"), rows.collect::<Vec<_>>())
    };
    let kinds = Kind::NAMES.into_iter().map(of).filter(|(_, rows)| !rows.is_empty());
    Ok(counted("kind", kinds.collect()))
}

/// Mutants that are other hardware, or may be, and that nothing sees; each with why that is so, if somebody has said it in `mutants/exceptions.csv`.
pub fn survivors(records: &Path) -> Result<Vec<Block>, Error> {
    let why = exceptions(&records.join("mutants/exceptions.csv"))?;
    let mut lines = Vec::new();
    for of in read(records)? {
        for row in of.rows.iter().filter(|row| !row.is_equivalent() && !row.is_caught()) {
            let shown = if row.about.is_empty() { "no difference found" } else { "other hardware" };
            let why = why.get(&row.mutant).map_or("not argued", String::as_str);
            lines.push(vec![format!("`{}`", row.mutant), shown.into(), why.to_string()]);
        }
    }
    Ok(table(&["mutant", "random stimulus", "why"], lines))
}

/// Of each block the first one of the mutants that the most catchers see, if two of them do.
pub fn twice(records: &Path) -> Result<Vec<Block>, Error> {
    let seen = |row: &&Row| row.caught.values().filter(|end| end.is_caught()).count();
    let mut lines = Vec::new();
    for of in read(records)? {
        let best = of.rows.iter().rev().filter(|row| !row.is_equivalent()).max_by_key(seen);
        if let Some(row) = best.filter(|row| seen(row) > 1) {
            let by = row.caught.iter().filter(|(_, end)| end.is_caught()).map(|(name, _)| name.as_str());
            let by = by.collect::<Vec<_>>().join(", ");
            lines.push(vec![format!("`{}`", of.block), format!("`{}`", row.mutant), by]);
        }
    }
    Ok(table(&["block", "mutant", "seen by"], lines))
}

/// Why a mutant survives, by mutant.
fn exceptions(file: &Path) -> Result<BTreeMap<String, String>, Error> {
    if !file.exists() {
        return Ok(BTreeMap::new());
    }
    let wrong = || format!("{} is no table of mutant and why", file.display());
    let mut reader = csv::Reader::from_path(file).with_context(wrong)?;
    reader.deserialize().collect::<Result<_, csv::Error>>().with_context(wrong)
}
