//! Proofs of a block's assertions: Yosys makes a transition system of the exported Verilog, `yosys-smtbmc` asks a solver.
//!
//! | phase | what is asked | what it gives |
//! | --- | --- | --- |
//! | reach | a run to the bound and a message on each channel, under the assumptions alone | the assumptions leave something to prove |
//! | bounded | an assertion that fails within so many cycles after reset | [`Verdict::Failed`], [`Verdict::Bounded`] |
//! | induction | an assertion that fails after k cycles, of any state, in which all held | [`Verdict::Proved`] |
//!
//! Induction begins with all assertions that no bounded run has broken. Those that a counterexample breaks are left out, and the rest is asked for
//! again, so that what remains is the largest set that is inductive together. Memories and registers without reset hold anything at first.

mod checker;
mod design;
mod environment;
mod rules;

use crate::external::ToolError;
use checker::{Answer, Checker, Question};
use design::{Design, Sources};
use environment::{FIRES, RUN};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use weft_rtl::ir::Module;

/// What decides the formulas.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Solver {
    /// Yices 2: the quickest of them here, and the default.
    Yices,
    /// Z3.
    Z3,
    /// Bitwuzla; not among what `scripts/setup` installs.
    Bitwuzla,
    /// Boolector; not among what `scripts/setup` installs.
    Boolector,
}

impl Solver {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Solver; 4] = [Solver::Yices, Solver::Z3, Solver::Bitwuzla, Solver::Boolector];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Solver::Yices => "yices",
            Solver::Z3 => "z3",
            Solver::Bitwuzla => "bitwuzla",
            Solver::Boolector => "boolector",
        }
    }

    /// The program.
    const fn program(self) -> &'static str {
        match self {
            Solver::Yices => "yices-smt2",
            other => other.name(),
        }
    }
}

/// How a block is proved.
#[derive(Clone, Debug)]
pub struct ProveOptions {
    /// Cycles after reset in which assertions are checked, at most 65 534.
    pub depth: u32,
    /// Longest k of k-induction; none: bounded only.
    pub induction: Option<u32>,
    /// What decides the formulas.
    pub solver: Solver,
    /// Time for each of the three phases.
    pub limit: Duration,
    /// Solvers at a time in the bounded phase: each has a share of the assertions.
    pub jobs: usize,
    /// Folder for all files, which exists.
    pub workdir: PathBuf,
    /// Ends everything when set; what is known then is in the report.
    pub stop: Arc<AtomicBool>,
}

/// What is known of an assertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "result", rename_all = "lowercase")]
pub enum Verdict {
    /// It holds for ever: by induction over so many cycles.
    Proved {
        /// Cycles, of any state, after which it holds in the next.
        k: u32,
    },
    /// It holds in the first cycles after reset.
    Bounded {
        /// How many.
        cycles: u32,
    },
    /// It fails.
    Failed {
        /// Cycle after reset, from 0.
        cycle: u32,
    },
    /// Time was up before the bound.
    Unknown {
        /// Cycles after reset in which it holds.
        cycles: u32,
    },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Proved { k } => write!(f, "proved (k = {k})"),
            Verdict::Bounded { cycles } => write!(f, "holds for {cycles} cycles"),
            Verdict::Failed { cycle } => write!(f, "FAILED in cycle {cycle}"),
            Verdict::Unknown { cycles } => write!(f, "unknown after {cycles} cycles (time)"),
        }
    }
}

/// An assertion of a block.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Assertion {
    /// Path of its instance in the block and its label.
    pub name: String,
    /// What is known.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Time of the phases that asked for it, shared with all others of them.
    pub seconds: f64,
}

/// What is known of a block.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ProveReport {
    /// Name of the module.
    pub module: String,
    /// Digest of the Verilog of the block and of its environment.
    pub digest: String,
    /// Its assertions, in the order of their names.
    pub assertions: Vec<Assertion>,
    /// For each channel the first cycle after reset in which a message can pass it; none: in no cycle of the bound, or time was up.
    pub channels: BTreeMap<String, Option<u32>>,
    /// The assumptions allow a run to the bound.
    pub reaches: bool,
    /// Names of the rules that were assumed beside those of ports and channels.
    pub rules: Vec<&'static str>,
    /// The trace of the first failure, as VCD, in the folder of the options.
    pub trace: Option<PathBuf>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ProveError {
    #[error("{module} has no assertions and no channel that it sends on, so there is nothing to prove")]
    Nothing { module: String },
    #[error(
        "no input of {module} satisfies its environment, so a proof would say nothing: a rule of it is wrong"
    )]
    Contradiction { module: String },
    #[error(
        "yosys keeps {found} of {expected} assertions of {module}: its Verilog is not what was expected of it"
    )]
    Lost { module: String, found: usize, expected: usize },
    #[error("the checker ended without a verdict; it said: {said}")]
    NoVerdict { said: String },
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// Digest of what [`prove`] gives to Yosys whatever the bound: the Verilog of a block, its environment and invariants. Needs no tool.
pub fn digest(module: &Arc<Module>) -> String {
    Sources::of(module, 0).digest()
}

/// Proves the assertions of a block; `progress` is told of the phase and its step.
///
/// # Errors
/// [`ProveError`]; an assertion that fails is a result.
pub fn prove(
    module: &Arc<Module>,
    options: &ProveOptions,
    progress: &(dyn Fn(&str, u32) + Sync),
) -> Result<ProveReport, ProveError> {
    let checker = Checker::find(options.solver)?;
    let sources = Sources::of(module, options.depth);
    if sources.assertions == 0 {
        return Err(ProveError::Nothing { module: module.name.clone() });
    }
    progress("yosys", 0);
    let design = Design::make(module, &sources, &options.workdir)?;
    let proof = Proof { checker, design, options, progress };
    let reach = proof.reach()?;
    if reach.contradiction || (reach.ended && !reach.reached.contains_key(RUN)) {
        return Err(ProveError::Contradiction { module: module.name.clone() });
    }
    let fires =
        |name: &String| reach.reached.get(&format!("{name}{FIRES}")).map(|step| step.saturating_sub(1));
    let mut report = ProveReport {
        module: module.name.clone(),
        digest: digest(module),
        assertions: proof.bounded()?,
        channels: sources.channels.iter().map(|name| (name.clone(), fires(name))).collect(),
        reaches: reach.reached.contains_key(RUN),
        rules: sources.rules.iter().map(|rule| rule.name).collect(),
        trace: None,
    };
    report.trace = proof.trace(&report.assertions);
    if let Some(k) = options.induction {
        proof.induction(k, &mut report.assertions)?;
    }
    report.assertions.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(report)
}

struct Proof<'a> {
    checker: Checker,
    design: Design,
    options: &'a ProveOptions,
    progress: &'a (dyn Fn(&str, u32) + Sync),
}

/// Name of the traces of a share of the bounded phase; `%` is their number.
fn traces(share: usize) -> String {
    format!("fail{share}-%.vcd")
}

impl Proof<'_> {
    fn ask(
        &self,
        phase: &str,
        name: &str,
        wanted: &BTreeSet<usize>,
        options: &[&str],
        until: Instant,
    ) -> Result<Answer, ProveError> {
        self.checker.ask(&Question {
            folder: &self.options.workdir,
            name,
            smt: self.design.only(wanted),
            options: options.iter().map(ToString::to_string).collect(),
            until,
            stop: &self.options.stop,
            step: &|step| (self.progress)(phase, step),
        })
    }

    fn all(&self) -> BTreeSet<usize> {
        (0..self.design.assertions.len()).collect()
    }

    fn steps(&self) -> String {
        (self.options.depth + 1).to_string()
    }

    fn reach(&self) -> Result<Answer, ProveError> {
        let until = Instant::now() + self.options.limit;
        self.ask("reach", "reach", &BTreeSet::new(), &["-c", "--keep-going", "-t", &self.steps()], until)
    }

    /// The bounded phase, each job with every so many-th assertion.
    fn bounded(&self) -> Result<Vec<Assertion>, ProveError> {
        let jobs = self.options.jobs.clamp(1, self.design.assertions.len());
        let until = Instant::now() + self.options.limit;
        let share = |job: usize| -> Result<Vec<Assertion>, ProveError> {
            let start = Instant::now();
            let wanted: BTreeSet<usize> = self.all().into_iter().skip(job).step_by(jobs).collect();
            let (steps, traces) = (self.steps(), traces(job));
            let words = ["--keep-going", "-t", &steps, "--dump-vcd", &traces];
            let answer = self.ask("bounded", &format!("bounded{job}"), &wanted, &words, until)?;
            let seconds = start.elapsed().as_secs_f64();
            let one = |at: usize| {
                let name = self.design.assertions[at].clone();
                Assertion { verdict: self.verdict(&answer, &name), name, seconds }
            };
            Ok(wanted.into_iter().map(one).collect())
        };
        let shares: Vec<Result<Vec<Assertion>, ProveError>> = thread::scope(|scope| {
            let share = &share;
            let running: Vec<_> = (0..jobs).map(|job| scope.spawn(move || share(job))).collect();
            running.into_iter().map(|job| job.join().expect("a share does not panic")).collect()
        });
        Ok(shares.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    fn verdict(&self, answer: &Answer, name: &str) -> Verdict {
        let depth = self.options.depth;
        // Step 0 is the cycle of reset.
        match answer.failed.get(name) {
            Some(step) => Verdict::Failed { cycle: step.saturating_sub(1) },
            None if answer.ended => Verdict::Bounded { cycles: depth },
            None => Verdict::Unknown { cycles: answer.step.saturating_sub(1) },
        }
    }

    /// The trace of the first failure.
    fn trace(&self, assertions: &[Assertion]) -> Option<PathBuf> {
        let jobs = self.options.jobs.clamp(1, self.design.assertions.len());
        let cycle = |a: &Assertion| match a.verdict {
            Verdict::Failed { cycle } => Some(cycle),
            _ => None,
        };
        let (_, first) = assertions.iter().filter_map(|a| Some((cycle(a)?, &a.name))).min()?;
        let at = self.design.assertions.iter().position(|name| name == first)?;
        let path: &Path = &self.options.workdir;
        Some(path.join(traces(at % jobs).replace('%', "0"))).filter(|path| path.is_file())
    }

    /// Looks for the largest set that is inductive together, and marks what is in it.
    fn induction(&self, longest: u32, assertions: &mut [Assertion]) -> Result<(), ProveError> {
        let start = Instant::now();
        let until = start + self.options.limit;
        let known: BTreeMap<String, Verdict> =
            assertions.iter().map(|a| (a.name.clone(), a.verdict)).collect();
        let names = &self.design.assertions;
        let cycles = |at: &usize| match known.get(&names[*at]) {
            Some(Verdict::Bounded { cycles } | Verdict::Unknown { cycles }) => Some(*cycles),
            _ => None,
        };
        let mut wanted: BTreeSet<usize> = self.all().into_iter().filter(|at| cycles(at).is_some()).collect();
        // Induction over more cycles than all of them are known to hold for proves nothing.
        let base = wanted.iter().filter_map(cycles).min().unwrap_or(0);
        let longest = longest.min(base);
        let words = ["-i", "-t", &longest.to_string()].map(String::from);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        while !wanted.is_empty() && Instant::now() < until && !self.options.stop.load(Ordering::SeqCst) {
            let answer = self.ask("induction", "induction", &wanted, &words, until)?;
            if answer.passed {
                let k = longest - answer.step;
                let proved: BTreeSet<&String> = wanted.iter().map(|at| &names[*at]).collect();
                for assertion in assertions.iter_mut().filter(|a| proved.contains(&a.name)) {
                    assertion.verdict = Verdict::Proved { k };
                    assertion.seconds += start.elapsed().as_secs_f64();
                }
                return Ok(());
            }
            let before = wanted.len();
            wanted.retain(|at| !answer.failed.contains_key(&names[*at]));
            if !answer.ended || wanted.len() == before {
                return Ok(());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
