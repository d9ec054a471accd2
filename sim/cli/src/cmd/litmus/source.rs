//! Where tests come from.

use crate::failure::Failure;
use anyhow::anyhow;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use weft_litmus::library::library;
use weft_litmus::read::read;
use weft_litmus::test::{Test, Verdict};

/// A test, and what is said about it elsewhere.
pub struct Item {
    /// The file that it is from; tests of the library have none.
    pub file: Option<String>,
    /// The test.
    pub test: Test,
    /// Verdict of the `expected.csv` beside it.
    pub stated: Option<Verdict>,
}

impl Item {
    /// Its file, or the library.
    pub fn source(&self) -> &str {
        self.file.as_deref().unwrap_or("library")
    }
}

/// A test that could not be read, or not be judged.
#[derive(Clone, Debug, Serialize)]
pub struct Unread {
    /// File.
    pub file: String,
    /// Line of what cannot be read, from 1; none of a test that is too large.
    pub line: Option<usize>,
    /// Why.
    pub reason: String,
}

impl Unread {
    /// File, line and reason.
    pub fn words(&self) -> String {
        let line = self.line.map_or(String::new(), |line| format!(", line {line}"));
        format!("{}{line}: {}", self.file, self.reason)
    }

    /// The end of a command that judged `judged` tests of a folder and could not read these; none if there
    /// are none.
    pub fn failure(unread: &[Unread], judged: usize) -> Option<Failure> {
        let first = unread.first()?;
        let all = unread.len() + judged;
        let error = anyhow!("{} of {all} tests could not be read; {}", unread.len(), first.words());
        Some(if judged == 0 { Failure::input(error) } else { Failure::Partial(error) })
    }
}

/// The tests that a word on the command line means.
#[derive(Default)]
pub struct Items {
    /// Those that can be read.
    pub tests: Vec<Item>,
    /// The others of a folder.
    pub unread: Vec<Unread>,
    /// Whether it is a folder: then one test that cannot be judged does not keep the others from it.
    pub folder: bool,
}

/// The tests that a word on the command line means.
///
/// # Errors
/// No such test; a file that cannot be read.
pub fn items(word: &str) -> Result<Items, Failure> {
    let path = Path::new(word);
    if path.is_dir() {
        return folder(path);
    }
    if path.is_file() {
        let test = file(path).map_err(|unread| Failure::input(anyhow!("{}", unread.words())))?;
        return Ok(Items {
            tests: vec![Item { file: Some(word.into()), test, stated: None }],
            ..Items::default()
        });
    }
    let all = library().map_err(|e| Failure::check(anyhow!("the library of tests: {e}")))?;
    let names: Vec<String> = all.iter().map(|test| test.name.clone()).collect();
    let items = all.into_iter().map(|test| Item { file: None, test, stated: None });
    let named = |name: &str| match word.split_once('*') {
        Some((first, last)) => {
            name.len() >= first.len() + last.len() && name.starts_with(first) && name.ends_with(last)
        }
        None => word == "all" || name == word,
    };
    let some: Vec<Item> = items.filter(|item| named(&item.test.name)).collect();
    if some.is_empty() {
        let names = names.iter().map(String::as_str);
        let remedy = weft_names::remedy(word, names, "`weft litmus` alone lists the library's names");
        return Err(Failure::input(anyhow!(
            "{word:?} is no test of the library and no file or folder; {remedy}"
        )));
    }
    Ok(Items { tests: some, ..Items::default() })
}

fn file(path: &Path) -> Result<Test, Unread> {
    let unread = |line, reason| Unread { file: path.display().to_string(), line, reason };
    let text = std::fs::read_to_string(path)
        .map_err(|e| unread(None, format!("the file cannot be read: {e}; give a litmus test as text")))?;
    read(&text).map_err(|e| unread(Some(e.line), e.problem))
}

fn folder(path: &Path) -> Result<Items, Failure> {
    let mut files = Vec::new();
    collect(path, &mut files)?;
    files.sort();
    if files.is_empty() {
        return Err(Failure::input(anyhow!("{} has no file that ends in .litmus", path.display())));
    }
    let name = |at: &Path| at.strip_prefix(path).unwrap_or(at).to_string_lossy().replace('\\', "/");
    let stated = expected(path, &files.iter().map(|at| name(at)).collect::<Vec<_>>())?;
    let mut items = Items { folder: true, ..Items::default() };
    for at in files {
        match file(&at) {
            Ok(test) => {
                let (file, stated) = (Some(at.display().to_string()), stated.get(&name(&at)).copied());
                items.tests.push(Item { file, test, stated });
            }
            Err(unread) => items.unread.push(unread),
        }
    }
    Ok(items)
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

/// Verdicts of a folder's `expected.csv` (columns `file` and `verdict`), if it has one; a row for each of
/// some of its files.
fn expected(folder: &Path, files: &[String]) -> Result<BTreeMap<String, Verdict>, Failure> {
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
        let line = row.position().map_or(0, csv::Position::line);
        let known = [Verdict::Forbidden, Verdict::Allowed, Verdict::Always];
        let word = row.get(verdict).unwrap_or_default();
        let found = known.into_iter().find(|v| v.name() == word);
        let found = found.ok_or_else(|| {
            wrong(format!("line {line}: {word:?} is no verdict; legal: forbidden, allowed, always"))
        })?;
        let file = row.get(name).unwrap_or_default().to_string();
        if !files.contains(&file) {
            return Err(wrong(format!(
                "line {line}: there is no test {file:?} in this folder; leave out its row"
            )));
        }
        stated.insert(file, found);
    }
    Ok(stated)
}
