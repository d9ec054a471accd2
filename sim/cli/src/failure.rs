//! Why the program ends with another status than 0.

use std::fmt;
use std::process::ExitCode;

/// A failed command.
#[derive(Debug)]
pub enum Failure {
    /// The user's input was wrong: status 2.
    Input(anyhow::Error),
    /// A run or a check failed: status 1.
    Check(anyhow::Error),
}

impl Failure {
    /// A mistake in the user's input.
    pub fn input(error: impl Into<anyhow::Error>) -> Failure {
        Failure::Input(error.into())
    }

    /// A run or check that failed.
    pub fn check(error: impl Into<anyhow::Error>) -> Failure {
        Failure::Check(error.into())
    }

    /// The exit status.
    pub fn code(&self) -> ExitCode {
        match self {
            Failure::Input(_) => ExitCode::from(2),
            Failure::Check(_) => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(e) | Failure::Check(e) => write!(f, "{e:#}"),
        }
    }
}

/// Result of a command.
pub type Outcome = Result<(), Failure>;

/// Prints a line to standard output; a reader that has gone away ends the program quietly.
pub fn say(text: impl fmt::Display) -> Outcome {
    use std::io::Write;
    match writeln!(std::io::stdout(), "{text}") {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(e) => Err(Failure::check(anyhow::anyhow!("cannot write to standard output: {e}"))),
    }
}
