//! Why a file cannot be written: a sentence with cause and remedy.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: cannot write it: {cause}; {remedy}", path.display())]
pub struct OutputError {
    path: PathBuf,
    cause: String,
    remedy: &'static str,
}

impl OutputError {
    pub(crate) fn new(path: &Path, cause: String, remedy: &'static str) -> OutputError {
        OutputError { path: path.to_path_buf(), cause, remedy }
    }

    /// What the system says of a file.
    pub fn of(path: &Path, cause: &io::Error) -> OutputError {
        let (cause, remedy) = match cause.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                ("no space is left there".into(), "make room, or give a file elsewhere")
            }
            ErrorKind::FileTooLarge => (
                "it would be larger than a file may be here".into(),
                "raise the limit (ulimit -f), or give a file elsewhere",
            ),
            ErrorKind::PermissionDenied => {
                ("permission denied".into(), "give a file that may be written, in a folder that may be")
            }
            ErrorKind::ReadOnlyFilesystem => ("the file system is read-only".into(), "give a file elsewhere"),
            ErrorKind::BrokenPipe => ("its reader has gone away".into(), "start one that reads to the end"),
            _ => (cause.to_string(), "give another file"),
        };
        OutputError::new(path, cause, remedy)
    }

    /// What the system says of a new file beside another one.
    pub(crate) fn beside(path: &Path, target: &Path, cause: &io::Error) -> OutputError {
        let folder = target.parent().unwrap_or(Path::new(".")).display();
        match cause.kind() {
            // The full text names the temporary file.
            ErrorKind::PermissionDenied => OutputError::new(
                path,
                format!("permission denied in the folder {folder}"),
                "give a file in a folder that can be written",
            ),
            _ => OutputError::of(path, &io::Error::from(cause.kind())),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Cause and remedy without the path, to be set behind another name of the file.
    pub fn cause(&self) -> String {
        format!("{}; {}", self.cause, self.remedy)
    }
}
