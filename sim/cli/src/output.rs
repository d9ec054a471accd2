//! Files that options name.

use crate::failure::{Failure, Outcome};
use anyhow::{Error, anyhow};
use serde::Serialize;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use weft_output::{Output, OutputError, Staged};

/// The file of an option, beside its place until it is complete.
///
/// # Errors
/// A path that cannot be written.
pub fn begin(option: &str, path: &Path) -> Result<Output, Failure> {
    Output::create(path).map_err(|cause| Failure::input(anyhow!("{option} {cause}")))
}

/// Refuses a file that cannot be written.
///
/// # Errors
/// A path that cannot be written.
pub fn check(option: &str, path: &Path) -> Outcome {
    Output::check(path).map_err(|cause| Failure::input(anyhow!("{option} {cause}")))
}

/// Writes a value as JSON that people can read, too, and puts the file in its place.
///
/// # Errors
/// A disk that is full.
pub fn json(value: &impl Serialize, mut file: Output) -> Result<(), Error> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    file.write_all(&bytes).map_err(|cause| file.failed(&cause))?;
    file.commit()?;
    Ok(())
}

/// Writes files, each with its path in a folder, then puts them in their places, so that a full disk or a forbidden folder leaves nothing half written.
///
/// # Errors
/// What went wrong, as a part of a sentence.
pub fn folder<P: AsRef<Path>>(out: &Path, files: &[(P, String)]) -> Result<(), String> {
    let parent = |path: &P| out.join(path).parent().unwrap_or(out).to_path_buf();
    let made: Vec<PathBuf> = files.iter().filter_map(|(path, _)| first_missing(&parent(path))).collect();
    let write = |(path, text): &(P, String)| -> Result<Staged, String> {
        fs::create_dir_all(parent(path)).map_err(|e| e.to_string())?;
        let path = out.join(path);
        let mut output = Output::create(&path).map_err(|e| e.to_string())?;
        output.write_all(text.as_bytes()).map_err(|cause| output.failed(&cause).to_string())?;
        output.stage().map_err(|e: OutputError| e.to_string())
    };
    let staged = files.iter().map(write).collect::<Result<Vec<Staged>, String>>();
    let written =
        staged.and_then(|files| files.into_iter().try_for_each(Staged::commit).map_err(|e| e.to_string()));
    if written.is_err() {
        // What remains is removed as far as possible; the first error is the one to tell.
        made.iter().for_each(|folder| drop(fs::remove_dir_all(folder)));
    }
    written
}

/// The outermost folder of a path that does not exist yet.
fn first_missing(path: &Path) -> Option<PathBuf> {
    let missing = path.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists());
    missing.last().map(Path::to_path_buf)
}
