//! Readers of files and of words of the command line, given what no writer writes.
//!
//! A [`Target`] is a reader with seeds, sound inputs of its format, and what is known of the format: words of
//! a text, fields of a binary file, and how its lengths and checksums are made fit again. [`drive::campaign`]
//! changes the seeds ([`mutate`]) and looks at what the reader makes of each: it is to accept, or to refuse
//! with one sentence; not to panic, not to take longer than a limit, and not to allocate more than ten times
//! the input beside the target's constant ([`Target::constant`]). What a reader refuses in a new way, and
//! some of what it accepts, is changed further. Inputs are the same for the same seed.
//!
//! [`readers::all`] are the targets of the library crates; those of the command line are beside their readers
//! in the crate `weft`. [`run`] is the entry of other drivers, as `cargo fuzz` is one:
//!
//! ```
//! let target = weft_fuzz::named("litmus-own").expect("a target");
//! assert!(weft_fuzz::run(&target, b"weft-litmus").is_err());
//! ```

pub mod drive;
pub mod memory;
pub mod mutate;
pub mod readers;
pub mod record;
pub mod scratch;
mod target;

pub use target::{Form, Kind, Part, Target};

use std::io;
use std::path::Path;

/// The target of this name among those of the library crates.
pub fn named(name: &str) -> Option<Target> {
    readers::all().into_iter().find(|target| target.name == name)
}

/// The inputs of a target in a corpus: the files of its folder there, in order of their names; none without
/// that.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn corpus(folder: &Path, target: &str) -> io::Result<Vec<Vec<u8>>> {
    let folder = folder.join(target);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut files =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.sort();
    files.iter().map(std::fs::read).collect()
}

/// Gives an input to a reader, without watching it.
///
/// # Errors
/// What the reader says of an input that it refuses.
pub fn run(target: &Target, input: &[u8]) -> Result<(), String> {
    (target.read)(input)
}
