//! What can be wrong with a recording.

use std::path::PathBuf;
use thiserror::Error;

/// A recording that cannot be read.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// No such file, or no permission.
    #[error("cannot read the recording {}: {cause}; give a file that weft run --record has written", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// Another kind of file.
    #[error("{} is no recording; give a file that weft run --record has written", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
    },
    /// A file of another version of the program.
    #[error(
        "the recording {} has format version {found} and this program reads version {}; record the run anew", path.display(), crate::VERSION
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// Bytes are missing or changed.
    #[error("the recording {} is truncated or damaged at byte {at}: {cause}; record the run anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Byte of the file at which the head, section or end begins that is wrong.
        at: u64,
        /// How that shows.
        cause: String,
    },
}
