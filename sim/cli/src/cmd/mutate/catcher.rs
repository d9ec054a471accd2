//! Commands that are to see a mutant.

use super::{ASSERTION, kept};
use crate::failure::Failure;
use crate::signals;
use anyhow::anyhow;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use weft_rtl::mutant::{NOTE, VARIABLE};
use weft_tools::cpu::children_seconds;

/// Time that a command has for ending what it has started.
const GRACE: Duration = Duration::from_secs(2);

/// How a command ended with a mutant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// With another status than 0.
    Caught,
    /// Not at all in its time.
    Timeout,
    /// With status 0.
    Passed,
    /// With status 0, and without a module in which the mutant has a place.
    Absent,
}

impl End {
    /// Whether the mutant was seen.
    pub fn is_caught(self) -> bool {
        matches!(self, End::Caught | End::Timeout)
    }
}

/// A command.
#[derive(Clone, Debug)]
pub struct Catcher {
    /// Its name in tables.
    pub name: String,
    /// What `sh` runs.
    pub command: String,
    /// Seconds of CPU time after which each of its processes is ended: what else the machine does counts nothing there.
    most: Option<u64>,
    /// Time after which it is ended as a whole, for what waits and never works.
    limit: Duration,
}

impl Catcher {
    /// Commands as they are given, `NAME=COMMAND`.
    ///
    /// # Errors
    /// A word of another form, a name twice, or that of the catcher that is always there.
    pub fn parse_all(words: &[String]) -> Result<Vec<Catcher>, Failure> {
        let mut out: Vec<Catcher> = Vec::new();
        for word in words {
            let whole =
                word.split_once('=').filter(|(name, rest)| !name.is_empty() && !rest.trim().is_empty());
            let Some((name, command)) = whole else {
                return Err(Failure::input(anyhow!("--catch {word}: expected NAME=COMMAND")));
            };
            if name == ASSERTION {
                return Err(Failure::input(anyhow!(
                    "--catch {name}: there always is one; choose another name"
                )));
            }
            if out.iter().any(|catcher| catcher.name == name) {
                return Err(Failure::input(anyhow!("--catch {name} is given twice; give it once")));
            }
            let (name, command) = (name.to_string(), command.to_string());
            out.push(Catcher { name, command, most: None, limit: Duration::MAX });
        }
        Ok(out)
    }

    /// Runs the command without a mutant: twice, for the first time may build what it needs.
    ///
    /// # Errors
    /// A command that fails, with the last line that it has said; a signal.
    pub fn measure(&mut self, folder: &Path, patience: u32) -> Result<(), Failure> {
        for _ in 0..2 {
            let said = folder.join("said");
            let file = File::create(&said).map_err(Failure::check)?;
            let (start, worked) = (Instant::now(), children_seconds());
            let status = self.wait(self.start(None, folder, Some(file))?)?;
            if !status.is_some_and(|status| status.success()) {
                let said = fs::read(&said).unwrap_or_default();
                let said = String::from_utf8_lossy(&said);
                let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
                return Err(Failure::input(anyhow!(
                    "--catch {}: the command fails without a mutant, so it would see one in everything; it said: {}",
                    self.name,
                    last.trim()
                )));
            }
            self.most = Some(((children_seconds() - worked) * f64::from(patience)).ceil() as u64 + 10);
            self.limit = 2 * (start.elapsed() * patience + Duration::from_secs(10));
        }
        Ok(())
    }

    /// Runs the command with a mutant.
    ///
    /// # Errors
    /// A command that cannot be started; a signal.
    pub fn run(&self, mutant: &str, folder: &Path) -> Result<End, Failure> {
        fs::create_dir_all(folder).map_err(Failure::check)?;
        let note = folder.join("note");
        let _ = fs::remove_file(&note);
        let status = self.wait(self.start(Some(mutant), folder, None)?)?;
        Ok(match status {
            None => End::Timeout,
            Some(status) if !status.success() => End::Caught,
            Some(_) if note.exists() => End::Passed,
            Some(_) => End::Absent,
        })
    }

    fn start(&self, mutant: Option<&str>, folder: &Path, said: Option<File>) -> Result<Child, Failure> {
        let stdio = |file: Option<File>| file.map_or(Stdio::null(), Stdio::from);
        let copy = said.as_ref().map(File::try_clone).transpose().map_err(Failure::check)?;
        let mut command = Command::new("sh");
        let limited = self.most.map(|most| format!("ulimit -t {most}; ")).unwrap_or_default() + &self.command;
        command.arg("-c").arg(limited).stdin(Stdio::null()).stdout(stdio(copy)).stderr(stdio(said));
        // What mutants hit is no hit of the hardware's, and the inputs that they fail on are nothing to keep or to make small.
        command
            .env("WEFT_LEDGER_DIR", folder.join("ledger"))
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
            .env("PROPTEST_MAX_SHRINK_ITERS", "0");
        command.env_remove(VARIABLE);
        if let Some(mutant) = mutant {
            command.env(VARIABLE, mutant).env(NOTE, folder.join("note"));
        }
        // In a group of its own, so that all of it can be ended.
        let started = command.process_group(0).spawn();
        started.map_err(|cause| Failure::check(anyhow!("sh cannot be started: {cause}")))
    }

    /// Its status; none if its time was up.
    fn wait(&self, mut child: Child) -> Result<Option<ExitStatus>, Failure> {
        let start = Instant::now();
        loop {
            if let Some(status) = child.try_wait().map_err(Failure::check)? {
                return Ok(Some(status));
            }
            if let Some(signal) = signals::asked() {
                end(&mut child);
                return Err(Failure::signal(signal, &kept(None)));
            }
            if start.elapsed() > self.limit {
                end(&mut child);
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Ends a command with all that it has started; what it has put into groups of their own (a runner of tests does) it ends itself, if it is asked.
fn end(child: &mut Child) {
    let group = format!("-{}", child.id());
    // What has ended by itself meanwhile needs no end.
    let send = |signal: &str| {
        let _ = Command::new("kill").args([signal, "--", &group]).stderr(Stdio::null()).status();
    };
    send("-TERM");
    let asked = Instant::now();
    while asked.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
    send("-KILL");
    let _ = child.wait();
}
