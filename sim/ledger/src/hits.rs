//! What tests and runs have hit: JSON lines, one file per test and process, in a folder that the ledger collects.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// One report: `id` was hit `count` times by `test` under `seed`. A line of a ledger file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// Entry that was hit.
    pub id: String,
    /// How often.
    pub count: u64,
    /// Seed of the run.
    pub seed: u64,
    /// Name of the test or run.
    pub test: String,
}

/// Folder that tests write their hits to: the variable `WEFT_LEDGER_DIR`, else `target/ledger` of the workspace whose test runs.
pub fn hits_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("WEFT_LEDGER_DIR") {
        return dir.into();
    }
    // Cargo tells a test its package's folder; the workspace is the next folder up with a lock file.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from);
    let root = package.ancestors().find(|dir| dir.join("Cargo.lock").exists()).unwrap_or(&package);
    root.join("target/ledger")
}

/// Name of a test's file, the same in every call of a process.
fn file_name(test: &str) -> String {
    let safe: String = test.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("{safe}-{}.jsonl", std::process::id())
}

/// Writes hits as one file of JSON lines in `dir` (made if absent) and returns its path. The file is named by `test`
/// and the process, and appears complete or not at all; a later call of the same test in the same process replaces it.
///
/// # Errors
/// A folder or file that cannot be written, with its path.
pub fn write_hits(dir: &Path, test: &str, hits: &[Hit]) -> Result<PathBuf, (PathBuf, io::Error)> {
    let path = dir.join(file_name(test));
    let write = || -> io::Result<()> {
        let mut text = String::new();
        for hit in hits {
            text += &serde_json::to_string(hit)?;
            text.push('\n');
        }
        std::fs::create_dir_all(dir)?;
        weft_output::write(&path, text.as_bytes()).map_err(io::Error::other)
    };
    match write() {
        Ok(()) => Ok(path),
        Err(cause) => Err((path, cause)),
    }
}

/// Hits of this process by test and identifier: how often, and the smallest seed.
type Noted = BTreeMap<String, BTreeMap<String, (u64, u64)>>;

static NOTED: Mutex<Noted> = Mutex::new(Noted::new());

/// Adds hits of a run to those of the same test in this process, and writes the test's file in [`hits_dir`] anew.
///
/// # Errors
/// As [`write_hits`].
pub fn note(test: &str, seed: u64, counts: &BTreeMap<String, u64>) -> Result<(), (PathBuf, io::Error)> {
    // What another thread's panic left is a sum that was complete before it.
    let mut noted = NOTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let of = noted.entry(test.to_string()).or_default();
    for (id, count) in counts.iter().filter(|(_, count)| **count > 0) {
        let sum = of.entry(id.clone()).or_insert((0, seed));
        *sum = (sum.0.saturating_add(*count), sum.1.min(seed));
    }
    let hit = |(id, (count, seed)): (&String, &(u64, u64))| Hit {
        id: id.clone(),
        count: *count,
        seed: *seed,
        test: test.to_string(),
    };
    let hits: Vec<Hit> = of.iter().map(hit).collect();
    write_hits(&hits_dir(), test, &hits).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_of_a_test_add_up_in_one_file() {
        let dir = std::env::temp_dir().join(format!("weft-ledger-{}", std::process::id()));
        // The only test of this program, so nobody else reads the variable meanwhile.
        unsafe { std::env::set_var("WEFT_LEDGER_DIR", &dir) };
        let counts = |a: u64, b: u64| [("x.a".to_string(), a), ("x.b".to_string(), b)].into();
        note("one::two", 9, &counts(3, 0)).expect("written");
        note("one::two", 4, &counts(2, 1)).expect("written");
        let text = std::fs::read_to_string(dir.join(file_name("one::two"))).expect("there");
        let hits: Vec<Hit> = text.lines().map(|l| serde_json::from_str(l).expect("a hit")).collect();
        let expected = [("x.a", 5, 4), ("x.b", 1, 4)].map(|(id, count, seed)| Hit {
            id: id.into(),
            count,
            seed,
            test: "one::two".into(),
        });
        assert_eq!(hits, expected);
        std::fs::remove_dir_all(&dir).expect("removed");
    }
}
