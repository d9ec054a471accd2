//! Where tests come from.

use crate::failure::Failure;
use anyhow::anyhow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use weft_litmus::library::library;
use weft_litmus::read::read;
use weft_litmus::test::{Test, Verdict};

/// A test, and what is said about it elsewhere.
pub struct Item {
    /// File, or the library.
    pub source: String,
    /// The test.
    pub test: Test,
    /// Verdict of the `expected.csv` beside it.
    pub stated: Option<Verdict>,
}

/// The tests that a word on the command line means.
///
/// # Errors
/// No such test; a file that cannot be read.
pub fn items(word: &str) -> Result<Vec<Item>, Failure> {
    let path = Path::new(word);
    if path.is_dir() {
        return folder(path);
    }
    if path.is_file() {
        return Ok(vec![Item { source: word.into(), test: file(path)?, stated: None }]);
    }
    let all = library().map_err(|e| Failure::check(anyhow!("the library of tests: {e}")))?;
    let source = || "library".to_string();
    let items = all.into_iter().map(|test| Item { source: source(), test, stated: None });
    let named = |name: &str| match word.split_once('*') {
        Some((first, last)) => {
            name.len() >= first.len() + last.len() && name.starts_with(first) && name.ends_with(last)
        }
        None => word == "all" || name == word,
    };
    let some: Vec<Item> = items.filter(|item| named(&item.test.name)).collect();
    if some.is_empty() {
        return Err(Failure::input(anyhow!(
            "{word:?} is no test of the library and no file or folder; `weft litmus` alone lists the library's names"
        )));
    }
    Ok(some)
}

fn file(path: &Path) -> Result<Test, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::input(anyhow!("cannot read {shown}: {e}; give a litmus test as text")))?;
    read(&text).map_err(|e| Failure::input(anyhow!("{shown}, {e}")))
}

fn folder(path: &Path) -> Result<Vec<Item>, Failure> {
    let stated = expected(path)?;
    let mut files = Vec::new();
    collect(path, &mut files)?;
    files.sort();
    if files.is_empty() {
        return Err(Failure::input(anyhow!("{} has no file that ends in .litmus", path.display())));
    }
    let item = |at: &PathBuf| {
        let name = at.strip_prefix(path).unwrap_or(at).to_string_lossy().replace('\\', "/");
        Ok(Item { source: at.display().to_string(), test: file(at)?, stated: stated.get(&name).copied() })
    };
    files.iter().map(item).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed =
        |e: std::io::Error| Failure::input(anyhow!("cannot read the folder {}: {e}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "litmus") {
            files.push(path);
        }
    }
    Ok(())
}

/// Verdicts of a folder's `expected.csv` (columns `file` and `verdict`), if it has one.
fn expected(folder: &Path) -> Result<BTreeMap<String, Verdict>, Failure> {
    let path = folder.join("expected.csv");
    if !path.is_file() {
        return Ok(BTreeMap::new());
    }
    let wrong = |cause: String| Failure::input(anyhow!("{}: {cause}", path.display()));
    let mut table = csv::Reader::from_path(&path).map_err(|e| wrong(e.to_string()))?;
    let heads = table.headers().map_err(|e| wrong(e.to_string()))?.clone();
    let column = |name: &str| {
        heads.iter().position(|head| head == name).ok_or_else(|| wrong(format!("there is no column {name}")))
    };
    let (name, verdict) = (column("file")?, column("verdict")?);
    let mut stated = BTreeMap::new();
    for row in table.records() {
        let row = row.map_err(|e| wrong(e.to_string()))?;
        let known = [Verdict::Forbidden, Verdict::Allowed, Verdict::Always];
        let word = row.get(verdict).unwrap_or_default();
        let found = known.into_iter().find(|v| v.name() == word);
        let found = found.ok_or_else(|| {
            let line = row.position().map_or(0, csv::Position::line);
            wrong(format!("line {line}: {word:?} is no verdict; legal: forbidden, allowed, always"))
        })?;
        stated.insert(row.get(name).unwrap_or_default().to_string(), found);
    }
    Ok(stated)
}
