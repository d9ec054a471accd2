//! Commands of this program, or of another version of it, and the CPU time that they take.

use crate::failure::Failure;
use anyhow::anyhow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use weft_tools::cpu::children_seconds;

/// A command that has ended well.
pub struct Ended {
    /// Seconds of CPU time.
    pub cpu: f64,
    /// Seconds on the clock.
    pub wall: f64,
    /// What it printed.
    pub stdout: String,
}

/// This program's own file.
///
/// # Errors
/// A system that does not tell.
pub fn own() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(Failure::check)
}

/// Runs a command to its end; `store` is where machine code is kept, if anywhere.
///
/// # Errors
/// A program that does not start (the user's mistake) or that fails.
pub fn run(program: &Path, words: &[String], store: Option<&Path>) -> Result<Ended, Failure> {
    let mut command = Command::new(program);
    command.args(words).env("WEFT_CODE_CACHE", store.unwrap_or(Path::new("")));
    let (cpu, begun) = (children_seconds(), Instant::now());
    let out = command.output().map_err(|cause| {
        let program = program.display();
        Failure::input(anyhow!("{program} does not start: {cause}; name a weft program"))
    })?;
    let (cpu, wall) = (children_seconds() - cpu, begun.elapsed().as_secs_f64());
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        let (program, words) = (program.display(), words.join(" "));
        let failure = anyhow!("`{program} {words}` has failed: {}", said.trim_end());
        // What the user has given wrong is refused as the command itself refuses it.
        let refused = out.status.code() == Some(2);
        return Err(if refused { Failure::input(failure) } else { Failure::check(failure) });
    }
    Ok(Ended { cpu, wall, stdout: String::from_utf8_lossy(&out.stdout).into_owned() })
}
