//! What must not be left behind when the process ends at once.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// Temporary files and folders that are there now.
static THERE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn there() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A set that a panic has left is whole.
    THERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all temporary files and folders, for a process that ends without unwinding. Outputs that are under way are lost.
pub fn abandon() {
    for path in std::mem::take(&mut *there()) {
        // One that another thread has just put in its place is no longer there.
        let _ = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
    }
}

/// A path that [`abandon`] removes.
#[derive(Debug)]
pub(crate) struct Kept(PathBuf);

impl Kept {
    pub fn new(path: &Path) -> Kept {
        there().insert(path.to_path_buf());
        Kept(path.to_path_buf())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        there().remove(&self.0);
    }
}

/// A private folder for temporary files, removed with everything in it when it is dropped, and by [`abandon`].
#[derive(Debug)]
pub struct Scratch {
    // Dropped first, so that the path is known until it is gone.
    folder: TempDir,
    _kept: Kept,
}

impl Scratch {
    /// A folder where the system has its temporary files.
    ///
    /// # Errors
    /// No permission, no room.
    pub fn new() -> io::Result<Scratch> {
        Scratch::of(TempDir::new()?)
    }

    /// A folder inside another one.
    ///
    /// # Errors
    /// As [`Scratch::new`].
    pub fn inside(folder: &Path) -> io::Result<Scratch> {
        Scratch::of(TempDir::new_in(folder)?)
    }

    fn of(folder: TempDir) -> io::Result<Scratch> {
        let _kept = Kept::new(folder.path());
        Ok(Scratch { folder, _kept })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}
