//! Why the program ends with another status than 0.

use crate::signals::{Signal, sentence};
use std::fmt;
use std::panic::{self, AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

/// A failed command.
#[derive(Debug)]
pub enum Failure {
    /// The user's input was wrong: status 2.
    Input(anyhow::Error),
    /// A run or a check failed: status 1.
    Check(anyhow::Error),
    /// All that could be done is right, but some of what was asked could not be done: status 3.
    Partial(anyhow::Error),
    /// A signal has ended the command: status 128 and the signal's number.
    Signal(Signal, anyhow::Error),
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

    /// A command that has ended because of a signal; `told` says where it was and what was kept.
    pub fn signal(signal: Signal, told: &str) -> Failure {
        Failure::Signal(signal, anyhow::anyhow!(sentence(signal, told)))
    }

    /// The exit status.
    pub fn code(&self) -> ExitCode {
        match self {
            Failure::Input(_) => ExitCode::from(2),
            Failure::Check(_) => ExitCode::from(1),
            Failure::Partial(_) => ExitCode::from(3),
            Failure::Signal(signal, _) => ExitCode::from(signal.status()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(e) => f.write_str(&line(&format!("{e:#}"))),
            Failure::Check(e) | Failure::Partial(e) | Failure::Signal(_, e) => write!(f, "{e:#}"),
        }
    }
}

/// A sentence in one line, whatever it quotes of a file: what would end the line, or steer a terminal, is escaped.
fn line(text: &str) -> String {
    let shown = |c: char| match c.is_control() {
        true => c.escape_default().collect(),
        false => c.to_string(),
    };
    text.chars().map(shown).collect()
}

impl Failure {
    /// The same failure, and what is told besides.
    #[must_use]
    pub fn and(self, told: &str) -> Failure {
        let with = |e: anyhow::Error| anyhow::anyhow!("{e:#}{told}");
        match self {
            Failure::Input(e) => Failure::Input(with(e)),
            Failure::Check(e) => Failure::Check(with(e)),
            Failure::Partial(e) => Failure::Partial(with(e)),
            Failure::Signal(signal, e) => Failure::Signal(signal, with(e)),
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
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {
            weft_output::abandon();
            std::process::exit(0)
        }
        Err(e) => Err(Failure::check(anyhow::anyhow!("cannot write to standard output: {e}"))),
    }
}

/// Work that catches what breaks off in it, and tells of it by itself: the runtime is silent meanwhile.
///
/// # Panics
/// When `work` does after all, once the runtime's words for it are written.
pub fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let last = Arc::<Mutex<String>>::default();
    let (hook, told) = (panic::take_hook(), last.clone());
    panic::set_hook(Box::new(move |info| {
        *told.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
    let done = catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(hook);
    done.unwrap_or_else(|panic| {
        eprintln!("{}", last.lock().unwrap_or_else(PoisonError::into_inner));
        resume_unwind(panic)
    })
}
