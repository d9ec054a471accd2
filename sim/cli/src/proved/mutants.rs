//! What sees the mutants of each block.

use super::table;
use crate::cmd::mutate::catcher::End;
use crate::cmd::mutate::record::{self, Row};
use crate::document::Block;
use anyhow::{Context, Error, anyhow};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use weft_rtl::mutant::Kind;

/// Controllers of each protocol, by name of their block.
pub(super) const PROTOCOLS: [(&str, &[&str]); 14] = [
    ("REC and its baseline", &["rec-directory", "l2-bank", "l1-cache", "fence-unit"]),
    ("NHCC", &["nhcc-directory", "l2-bank", "l1-cache", "hier-fence-unit"]),
    ("HMG", &["hmg-directory", "l2-bank", "l1-cache", "hier-fence-unit"]),
    ("HMG with REC", &["hmg-rec-directory", "l2-bank", "l1-cache", "hier-fence-unit"]),
    ("GPU-VI", &["gpu-vi-directory", "l2-bank", "l1-cache", "hier-fence-unit"]),
    ("MOESI", &["moesi-directory", "moesi-l2", "l1-cache"]),
    ("MGCC", &["tsu", "mgcc-l1", "mgcc-l2"]),
    ("G-TSC", &["gtsc-l1", "gtsc-l2"]),
    ("sRSP and bRSP", &["srsp-l1", "srsp-l2", "lr-tbl", "pa-tbl", "lock-tbl"]),
    ("hLRC", &["hlrc-l1", "hlrc-l2"]),
    ("DeNovo-B", &["denovo-b-l1", "denovo-b-l2"]),
    ("Spandex", &["spandex-llc", "gpu-l1", "tu-gpu", "denovo-l1", "tu-denovo", "mesi-l1", "tu-mesi"]),
    ("Spandex with Flex", &["spandex-llc", "flex-l1", "tu-flex"]),
    ("H-MESI", &["mesi-llc", "gpu-l2", "mesi-l1", "tu-mesi"]),
];

/// The mutants of a block.
struct Of {
    block: String,
    rows: Vec<Row>,
}

/// Why mutants survive, by mutant.
type Why = BTreeMap<String, String>;

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

/// Catchers that are whole programs: a mutant counts where all were asked about it, and one has met its module.
const WHOLE: [&str; 3] = ["litmus", "program", "digest"];

/// Numbers of mutants, and of those that each catcher sees.
#[derive(Default)]
struct Count {
    all: usize,
    equivalent: usize,
    argued: usize,
    undecided: usize,
    /// Of each catcher: other hardware that it was asked about, and that it has seen.
    by: BTreeMap<String, (usize, usize)>,
    /// The blocks' own checks: tests and assertions.
    own: (usize, usize),
    /// Litmus tests, and whole programs by their values or by their cycles and counters.
    whole: (usize, usize),
    any: (usize, usize),
}

impl Count {
    fn of<'a>(rows: impl IntoIterator<Item = &'a Row>, why: &Why) -> Count {
        let mut count = Count::default();
        rows.into_iter().for_each(|row| count.add(row, why));
        count
    }

    fn add(&mut self, row: &Row, why: &Why) {
        self.all += 1;
        if row.is_equivalent() {
            self.equivalent += 1;
            return;
        }
        if !row.is_caught() && why.contains_key(&row.mutant) {
            self.argued += 1;
            return;
        }
        self.undecided += usize::from(row.verdict == "undecided");
        let tally = |(asked, seen): &mut (usize, usize), catchers: &[&str]| {
            let ends = || catchers.iter().filter_map(|catcher| row.caught.get(*catcher));
            *asked += usize::from(ends().count() > 0);
            *seen += usize::from(ends().any(|end| end.is_caught()));
        };
        tally(&mut self.own, &["assertion", "bench"]);
        let whole: Vec<End> = WHOLE.iter().filter_map(|catcher| row.caught.get(*catcher)).copied().collect();
        if whole.len() == WHOLE.len() && whole.iter().any(|end| *end != End::Absent) {
            tally(&mut self.whole, &WHOLE);
        }
        self.any.0 += 1;
        self.any.1 += usize::from(row.is_caught());
        for catcher in row.caught.keys() {
            tally(self.by.entry(catcher.clone()).or_default(), &[catcher]);
        }
    }

    fn cells(&self, catchers: &BTreeSet<String>) -> Vec<String> {
        let by = catchers.iter().map(|c| percent(self.by.get(c).copied().unwrap_or_default()));
        let numbers = [self.all, self.equivalent, self.argued, self.undecided].map(|n| n.to_string());
        numbers.into_iter().chain(by).chain([percent(self.any)]).collect()
    }
}

fn percent((asked, seen): (usize, usize)) -> String {
    match asked {
        0 => "-".to_string(),
        _ => format!("{:.1}", 100.0 * seen as f64 / asked as f64),
    }
}

/// A line for each name, and one of all.
fn counted(name: &str, of: Vec<(String, Vec<&Row>)>, why: &Why) -> Vec<Block> {
    let rows = || of.iter().flat_map(|(_, rows)| rows.iter().copied());
    let catchers: BTreeSet<String> = rows().flat_map(|row| row.caught.keys().cloned()).collect();
    let line = |name: &str, count: Count| {
        [name.to_string()].into_iter().chain(count.cells(&catchers)).collect::<Vec<String>>()
    };
    let mut lines: Vec<Vec<String>> =
        of.iter().map(|(name, rows)| line(name, Count::of(rows.iter().copied(), why))).collect();
    if !lines.is_empty() {
        lines.push(line("all", Count::of(rows(), why)));
    }
    let head = [name, "mutants", "equivalent", "argued", "undecided"].into_iter();
    let by = catchers.iter().map(|name| format!("{name} %"));
    let head: Vec<String> = head.map(str::to_string).chain(by).chain(["any %".to_string()]).collect();
    table(&head.iter().map(String::as_str).collect::<Vec<_>>(), lines)
}

/// A line for each protocol, over its controllers that have a record.
pub fn protocols(records: &Path) -> Result<Vec<Block>, Error> {
    let (all, why) = (read(records)?, exceptions(records)?);
    let mut lines = Vec::new();
    for (protocol, blocks) in PROTOCOLS {
        let of = || all.iter().filter(|of| blocks.contains(&of.block.as_str()));
        if of().count() == 0 {
            continue;
        }
        let count = Count::of(of().flat_map(|of| &of.rows), &why);
        let blocks = match blocks.len() - of().count() {
            0 => blocks.len().to_string(),
            _ => format!("{} of {}", of().count(), blocks.len()),
        };
        let other = count.any.0.to_string();
        let numbers = [other, percent(count.own), count.whole.0.to_string(), percent(count.whole)];
        lines.push([protocol.to_string(), blocks].into_iter().chain(numbers).collect());
    }
    Ok(table(
        &["protocol", "controllers", "mutants", "own checks %", "asked of programs", "programs %"],
        lines,
    ))
}

/// A line for each block.
pub fn blocks(records: &Path) -> Result<Vec<Block>, Error> {
    let all = read(records)?;
    let blocks = all.iter().map(|of| (format!("`{}`", of.block), of.rows.iter().collect()));
    Ok(counted("block", blocks.collect(), &exceptions(records)?))
}

/// A line for each kind, over all blocks.
pub fn kinds(records: &Path) -> Result<Vec<Block>, Error> {
    let all = read(records)?;
    let of = |kind: &str| {
        let rows = all.iter().flat_map(|of| &of.rows).filter(|row| row.kind == kind);
        (format!("`{kind}`"), rows.collect::<Vec<_>>())
    };
    let kinds = Kind::NAMES.into_iter().map(of).filter(|(_, rows)| !rows.is_empty());
    Ok(counted("kind", kinds.collect(), &exceptions(records)?))
}

/// Mutants that are other hardware, or may be, and that nothing sees; each with why that is so, if somebody has said it in `mutants/exceptions.csv`.
pub fn survivors(records: &Path) -> Result<Vec<Block>, Error> {
    let why = exceptions(records)?;
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

/// Why mutants survive.
fn exceptions(records: &Path) -> Result<Why, Error> {
    let file = records.join("mutants/exceptions.csv");
    if !file.exists() {
        return Ok(Why::new());
    }
    let wrong = || format!("{} is no table of mutant and why", file.display());
    let mut reader = csv::Reader::from_path(&file).with_context(wrong)?;
    reader.deserialize().collect::<Result<_, csv::Error>>().with_context(wrong)
}
