//! Rows that tasks on several machines have made: each start of a task writes a file of its own, in a folder beside the results.
//!
//! A lock on one file for all would not do: file systems of clusters keep locks within a machine, or not at all. Nor is a file ever
//! written again by another start of the same task, of which the first may still be at work where nobody sees it.

use super::shard::Shard;
use anyhow::{Error, anyhow};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The folder of the tasks' files.
pub struct Parts {
    folder: PathBuf,
}

impl Parts {
    /// That of a results file: `NAME.parts` beside `NAME.csv`.
    pub fn of(results: &Path) -> Parts {
        Parts { folder: results.with_extension("parts") }
    }

    /// That folder itself.
    pub fn at(folder: &Path) -> Parts {
        Parts { folder: folder.to_path_buf() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the folder.
    ///
    /// # Errors
    /// A folder that cannot be made.
    pub fn make(&self) -> Result<(), Error> {
        let folder = self.folder.display();
        std::fs::create_dir_all(&self.folder)
            .map_err(|e| anyhow!("cannot make the folder {folder}: {e}; give another one by --out"))
    }

    /// Makes a new file for a start of a task, `I-of-N.csv` or, for later ones, `I-of-N.K.csv`.
    ///
    /// # Errors
    /// A folder in which no file can be made.
    pub fn create(&self, shard: Shard) -> Result<(PathBuf, File), Error> {
        self.make()?;
        let Shard { number, of } = shard;
        let names = [format!("{number}-of-{of}.csv")].into_iter();
        for name in names.chain((2u32..).map(|start| format!("{number}-of-{of}.{start}.csv"))) {
            let path = self.folder.join(name);
            match OpenOptions::new().append(true).create_new(true).open(&path) {
                Ok(file) => {
                    // Where there are locks, it tells who begins anew that a task is at work.
                    let _ = file.try_lock();
                    return Ok((path, file));
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => {
                    return Err(anyhow!(
                        "cannot write {}: {e}; give another folder by --out",
                        path.display()
                    ));
                }
            }
        }
        unreachable!("some number is free")
    }

    /// All files of tasks, in order of their names; others in the folder are left alone.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let folder = self.folder.display();
        let unread = |e: std::io::Error| anyhow!("cannot read the folder {folder}: {e}; move it away");
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(unread(e)),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(unread)?.path();
            if path.file_name().and_then(|name| name.to_str()).is_some_and(is_of_task) {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }
}

/// Whether somebody has locked a file, as far as locks tell.
pub fn is_locked(path: &Path) -> bool {
    // Some file systems lock only what is open for writing; a pipe would wait for a reader.
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let file = is_file.then(|| OpenOptions::new().append(true).open(path).ok()).flatten();
    file.is_some_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Whether a name is one that [`Parts::create`] gives.
fn is_of_task(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let Some((first, rest)) = name.strip_suffix(".csv").and_then(|name| name.split_once("-of-")) else {
        return false;
    };
    let (of, start) = rest.split_once('.').map_or((rest, None), |(of, start)| (of, Some(start)));
    number(first) && number(of) && start.is_none_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_of_a_task_has_a_file_and_foreign_ones_are_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let parts = Parts::of(&folder.path().join("x.csv"));
        assert_eq!(parts.files().expect("none"), Vec::<PathBuf>::new());
        let shard = Shard { number: 3, of: 12 };
        let made = [(); 2].map(|()| parts.create(shard).expect("made").0);
        for other in ["job", "task-1.log", "y.csv", "3-of-12", "-of-.csv", "1-of-2.x.csv"] {
            std::fs::write(parts.folder().join(other), "").expect("written");
        }
        let mut found = parts.files().expect("read");
        found.sort_by_key(|path| path.as_os_str().len());
        assert_eq!(found, made);
        assert!(made[0].ends_with("x.parts/3-of-12.csv") && made[1].ends_with("x.parts/3-of-12.2.csv"));
    }
}
