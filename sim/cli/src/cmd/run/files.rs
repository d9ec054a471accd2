//! What became of the files that a run was asked for: what is kept, and what is lost, as it is.

use crate::failure::{Failure, Outcome, say};
use anyhow::{Error, anyhow};
use std::fmt::Display;
use std::path::Path;
use weft_output::OutputError;

/// What is told of a run's files at its end.
#[derive(Default)]
pub struct Told {
    /// A line for each file that is there: where it is, and what reads it.
    lines: Vec<String>,
    kept: Vec<String>,
    lost: Vec<String>,
}

impl Told {
    /// A line about something that is no file.
    pub fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    /// A file is there.
    pub fn kept(&mut self, what: &str, path: &Path, line: String) {
        self.kept.push(format!("{what} {}", path.display()));
        self.lines.push(line);
    }

    /// A file that was asked for is not there.
    pub fn lost(&mut self, what: &str, path: &Path, cause: impl Display) {
        self.lost.push(format!("{what} {} ({cause})", path.display()));
    }

    /// A file of which nothing need be said if it is there.
    pub fn wrote(&mut self, what: &str, path: &Path, written: Result<(), Error>) {
        match written {
            Ok(()) => self.kept.push(format!("{what} {}", path.display())),
            Err(cause) => self.lost(what, path, reason(&cause)),
        }
    }

    /// Prints the lines.
    pub fn say(&self) -> Outcome {
        self.lines.iter().try_for_each(say)
    }

    /// What a failure says of the files.
    pub fn after(&self, failure: Failure) -> Failure {
        let part = |what: &str, files: &[String]| match files {
            [] => String::new(),
            files => format!("; {what}: {}", files.join(", ")),
        };
        failure.and(&format!("{}{}", part("kept", &self.kept), part("lost", &self.lost)))
    }

    /// What a failure that is not about the files says of them: only of what is lost.
    pub fn lost_after(&self, failure: Failure) -> Failure {
        if self.lost.is_empty() { failure } else { self.after(failure) }
    }

    /// A run whose result is there fails all the same if a file is lost.
    pub fn complete(&self) -> Outcome {
        match self.lost.is_empty() {
            true => Ok(()),
            false => Err(self.after(Failure::check(anyhow!(
                "the run has ended, and not all of its files could be written"
            )))),
        }
    }
}

/// Why a file is lost, without its name.
pub fn reason(error: &Error) -> String {
    error.downcast_ref::<OutputError>().map_or_else(|| error.to_string(), OutputError::cause)
}
