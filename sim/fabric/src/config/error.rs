//! What is wrong with a configuration: one sentence with place, key, value, cause and legal range.

use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere: the published value.
    Default,
    /// On a line of a file, from 1.
    Line {
        /// Path of the file, or the name of a built-in one.
        file: String,
        /// Line number.
        line: usize,
    },
    /// By `--set`.
    Set,
    /// In the record of an earlier run.
    Record,
}

impl Place {
    /// The line of a byte position in a file's text.
    pub fn line(file: &str, text: &str, at: usize) -> Place {
        let before = text.get(..at).unwrap_or(text);
        Place::Line { file: file.into(), line: before.matches('\n').count() + 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Default => f.write_str("published value"),
            Place::Line { file, line } => write!(f, "{file} line {line}"),
            Place::Set => f.write_str("--set"),
            Place::Record => f.write_str("run record"),
        }
    }
}

/// A configuration that cannot be read or built.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// Neither a built-in fabric nor a file.
    #[error("there is no fabric {name}; {remedy}, and the path of a TOML file is a fabric, too")]
    NoFabric {
        /// As given.
        name: String,
        /// The fabric probably meant, and where all are listed.
        remedy: String,
    },
    /// The file cannot be read.
    #[error("cannot read the fabric file {}: {cause}", path.display())]
    Read {
        /// Its path.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The file is no TOML.
    #[error("{place}: {cause}")]
    Syntax {
        /// Where.
        place: Place,
        /// What the parser says.
        cause: String,
    },
    /// `--set` without `=`.
    #[error("--set {word}: expected KEY=VALUE")]
    NoPair {
        /// As given.
        word: String,
    },
    /// A key that no fabric has.
    #[error("{place}: there is no key {key}; {nearest}")]
    UnknownKey {
        /// Where.
        place: Place,
        /// As given.
        key: String,
        /// A remedy: the key probably meant.
        nearest: String,
    },
    /// A key that only fabrics of another family have.
    #[error("{place}: key {key} belongs to family {family}, and this fabric is of family {own}")]
    ForeignKey {
        /// Where.
        place: Place,
        /// As given.
        key: String,
        /// The family that has it.
        family: &'static str,
        /// The fabric's own family.
        own: &'static str,
    },
    /// A value that the key cannot have, alone or beside the others.
    #[error("{place}: {key} = {value}: {problem}; legal: {legal}")]
    Illegal {
        /// Where the value was given.
        place: Box<Place>,
        /// The key.
        key: String,
        /// As given.
        value: String,
        /// Why not.
        problem: String,
        /// What would be.
        legal: String,
    },
}

/// The remedy for a misspelt key: the one probably meant, and where all are listed.
pub fn nearest<'a>(key: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    weft_names::remedy(key, known, "`weft list fabrics` shows all keys")
}
