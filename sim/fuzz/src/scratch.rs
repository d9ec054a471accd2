//! Files for readers that take a path.

use std::cell::RefCell;
use std::path::Path;
use tempfile::TempDir;

thread_local! {
    static FOLDER: RefCell<Option<TempDir>> = const { RefCell::new(None) };
}

/// A folder that is gone with its thread: in memory, where the system has files there.
fn made() -> std::io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).or_else(|_| TempDir::new()) } else { TempDir::new() }
}

/// Gives a reader the path of a file of this name that holds these bytes; errors call the file by its name
/// alone.
///
/// # Errors
/// What the reader says.
///
/// # Panics
/// When there is no room for the file.
pub fn file(name: &str, bytes: &[u8], read: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
    files(&[(name, bytes)], |folder| read(&folder.join(name)))
}

/// The same of a folder with files.
///
/// # Errors
/// What the reader says.
///
/// # Panics
/// When there is no room for the files.
pub fn files(files: &[(&str, &[u8])], read: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
    let folder = FOLDER.with_borrow_mut(|folder| {
        folder.get_or_insert_with(|| made().expect("a folder for inputs")).path().to_path_buf()
    });
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).expect("room for an input");
    }
    read(&folder).map_err(|said| said.replace(&format!("{}/", folder.display()), ""))
}
