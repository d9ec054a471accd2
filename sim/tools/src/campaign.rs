//! Every block at several parameter sets against Verilator, Icarus and the interpreter, one comparison after the other.
//!
//! Passed comparisons are noted in a file, with a digest of the program that made them, so that a campaign goes on where it was stopped, and
//! a program that has changed begins anew.

use crate::cosim::{CosimError, CosimOptions, With, cosim};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use weft_blocks::registry::BlockError;
use weft_catalog::sets::{all, given};
use weft_engine::compare::{CompareError, compare};

/// What the engine's native code is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Other {
    /// Verilator on the exported Verilog.
    Verilator,
    /// Icarus on the exported Verilog.
    Iverilog,
    /// The engine's interpreter: registers and memories too.
    Interpreter,
}

impl Other {
    /// All of them, quickest first.
    pub const ALL: [Other; 3] = [Other::Verilator, Other::Interpreter, Other::Iverilog];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Other::Verilator => "verilator",
            Other::Iverilog => "iverilog",
            Other::Interpreter => "interpreter",
        }
    }

    /// Cycles of a comparison unless others are asked for: what the definition of done of a block wants.
    pub const fn cycles(self) -> u64 {
        match self {
            Other::Verilator | Other::Iverilog => 100_000,
            Other::Interpreter => 1_000_000,
        }
    }
}

/// One comparison.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Name in the registry.
    pub block: String,
    /// Parameters as `key=value` words; empty: the defaults.
    pub params: String,
    /// What the engine is compared with.
    pub with: Other,
    /// Cycles after reset.
    pub cycles: u64,
    /// Seed of the stimulus.
    pub seed: u64,
}

impl Job {
    /// The command that runs this comparison alone.
    pub fn command(&self) -> String {
        let params: String = self.params.split_whitespace().map(|w| format!(" --param {w}")).collect();
        let Job { block, with, cycles, seed, .. } = self;
        format!("weft cosim {block}{params} --cycles {cycles} --seed {seed} --with {}", with.name())
    }
}

/// The comparisons of a campaign: each block, the intricate ones first, at its defaults and at two sets of [`weft_catalog::sets`].
///
/// `with` and `cycles` restrict or change what [`Other::ALL`] and [`Other::cycles`] say.
pub fn jobs(with: Option<Other>, cycles: Option<u64>, seed: u64) -> Vec<Job> {
    let mut out = Vec::new();
    // The registry lists simple blocks first, and blocks after those that they contain.
    for (block, sets) in all().rev() {
        for params in ["", sets[0], sets[1]] {
            for other in Other::ALL.into_iter().filter(|o| with.is_none_or(|w| w == *o)) {
                out.push(Job {
                    block: (*block).to_string(),
                    params: params.to_string(),
                    with: other,
                    cycles: cycles.unwrap_or(other.cycles()),
                    seed,
                });
            }
        }
    }
    out
}

/// What came of a comparison.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Time for all of it: elaboration, tools, both runs.
    pub seconds: f64,
    /// The disagreement, as a sentence with its replay command.
    pub disagreement: Option<String>,
}

/// Why a comparison could not be made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum CampaignError {
    #[error(transparent)]
    Block(#[from] BlockError),
    #[error("{command}: {cause}")]
    Cosim { command: String, cause: Box<CosimError> },
    #[error("{command}: {cause}")]
    Interpreter { command: String, cause: Box<CompareError> },
    #[error("{path} could not be {action}: {cause}; name a file that can be written with --passed")]
    File { path: PathBuf, action: &'static str, cause: io::Error },
    #[error(
        "{path} line {line} is no note of a campaign ({problem}); remove the file or name another with --passed"
    )]
    Note { path: PathBuf, line: usize, problem: String },
}

/// Makes one comparison, with a folder for its files.
///
/// # Errors
/// A missing tool or a design that cannot be simulated; a disagreement is a result.
pub fn compare_one(job: &Job, folder: &Path) -> Result<Outcome, CampaignError> {
    let start = Instant::now();
    let module = weft_catalog::build(&job.block, &given(&job.params))?;
    let disagreement = match job.with {
        Other::Interpreter => match compare(&module, job.cycles, job.seed) {
            Ok(()) => None,
            Err(e @ CompareError::Differ { .. }) => Some(format!("{e}; replay: {}", job.command())),
            Err(e) => {
                return Err(CampaignError::Interpreter { command: job.command(), cause: Box::new(e) });
            }
        },
        Other::Verilator | Other::Iverilog => {
            let with = if job.with == Other::Verilator { With::Verilator } else { With::Icarus };
            let params: String = job.params.split_whitespace().map(|w| format!(" --param {w}")).collect();
            let options = CosimOptions {
                cycles: job.cycles,
                seed: job.seed,
                command: format!("weft cosim {}{params}", job.block),
                ..CosimOptions::new(&module, with, folder)
            };
            match cosim(&module, &options) {
                Ok(_) => None,
                Err(e @ (CosimError::Differs { .. } | CosimError::XEscapes { .. })) => Some(e.to_string()),
                Err(e) => return Err(CampaignError::Cosim { command: job.command(), cause: Box::new(e) }),
            }
        }
    };
    Ok(Outcome { seconds: start.elapsed().as_secs_f64(), disagreement })
}

/// A line of the file of passed comparisons.
#[derive(Serialize, Deserialize)]
struct Note {
    program: String,
    seconds: f64,
    #[serde(flatten)]
    job: Job,
}

/// The comparisons that this program has passed.
#[derive(Debug)]
pub struct Passed {
    file: PathBuf,
    program: String,
    jobs: HashSet<Job>,
}

impl Passed {
    /// Reads the notes of earlier campaigns of the same program; a file that is not there holds none.
    ///
    /// # Errors
    /// A file that cannot be read or is no such file.
    pub fn load(file: &Path) -> Result<Passed, CampaignError> {
        let problem = |action, cause| CampaignError::File { path: file.to_path_buf(), action, cause };
        let program = program_digest().map_err(|e| problem("compared with this program", e))?;
        let text = match fs::read_to_string(file) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
            other => other.map_err(|e| problem("read", e))?,
        };
        let mut jobs = HashSet::new();
        for (at, line) in text.lines().enumerate() {
            let note: Note = serde_json::from_str(line).map_err(|e| CampaignError::Note {
                path: file.to_path_buf(),
                line: at + 1,
                problem: e.to_string(),
            })?;
            if note.program == program {
                jobs.insert(note.job);
            }
        }
        Ok(Passed { file: file.to_path_buf(), program, jobs })
    }

    /// Whether a comparison has passed.
    pub fn has(&self, job: &Job) -> bool {
        self.jobs.contains(job)
    }

    /// Notes a comparison that has passed.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn note(&mut self, job: &Job, seconds: f64) -> Result<(), CampaignError> {
        let note = Note { program: self.program.clone(), seconds, job: job.clone() };
        let line = serde_json::to_string(&note).expect("plain data");
        let write = || {
            self.file.parent().map_or(Ok(()), fs::create_dir_all)?;
            let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.file)?;
            writeln!(file, "{line}")
        };
        let problem = |cause| CampaignError::File { path: self.file.clone(), action: "written", cause };
        write().map_err(problem)?;
        self.jobs.insert(job.clone());
        Ok(())
    }
}

/// A digest of the running program's file.
fn program_digest() -> io::Result<String> {
    let mut hasher = DefaultHasher::new();
    hasher.write(&fs::read(std::env::current_exe()?)?);
    Ok(format!("{:016x}", hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_compared_at_three_sets_with_everything() {
        let all = jobs(None, None, 1);
        for info in weft_catalog::blocks() {
            let of: Vec<&Job> = all.iter().filter(|j| j.block == info.name).collect();
            let distinct: HashSet<(&str, Other)> = of.iter().map(|j| (j.params.as_str(), j.with)).collect();
            assert_eq!((of.len(), distinct.len()), (9, 9), "{}", info.name);
        }
        assert!(
            all.iter().all(|j| j.cycles == if j.with == Other::Interpreter { 1_000_000 } else { 100_000 })
        );
        assert!(jobs(Some(Other::Interpreter), Some(5), 1).iter().all(|j| j.cycles == 5));
    }

    #[test]
    fn passed_comparisons_are_remembered_by_the_same_program_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("deep/passed.jsonl");
        let job = jobs(Some(Other::Interpreter), Some(500), 3).pop().expect("many");
        let mut passed = Passed::load(&file).expect("no file is no note");
        assert!(!passed.has(&job));
        let outcome = compare_one(&job, folder.path()).expect("the interpreter is always there");
        assert_eq!(outcome.disagreement, None);
        passed.note(&job, outcome.seconds).expect("written");
        assert!(Passed::load(&file).expect("readable").has(&job));
        let other = fs::read_to_string(&file).expect("readable").replace(&passed.program, "another");
        fs::write(&file, other).expect("written");
        assert!(!Passed::load(&file).expect("readable").has(&job));
        fs::write(&file, "{\"program\":1").expect("written");
        let error = Passed::load(&file).expect_err("half a line").to_string();
        assert!(error.contains("line 1 is no note of a campaign"), "{error}");
    }
}
