//! `weft mutate`: mutants of a block, and what catches them.

pub(crate) mod catcher;
pub(crate) mod record;
mod table;

use crate::failure::{Failure, Outcome, say};
use crate::params::BlockArgs;
use crate::signals::{self, Graceful};
use anyhow::anyhow;
use catcher::{Catcher, End};
use indicatif::{ProgressBar, ProgressStyle};
use record::{Record, Row};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use weft_mutate::{Candidate, Subject, Verdict, choose};
use weft_rtl::ir::{Module, ModuleKind};
use weft_rtl::mutant::{VARIABLE, describe, plant};

/// The catcher that is always there.
const ASSERTION: &str = "assertion";

/// Arguments of `weft mutate`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    block: BlockArgs,
    /// How many mutants: in turn of each kind, and of each module in the block or fabric.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: u32,
    /// Seed of the choice; more mutants of one seed begin with the same ones.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A command that is to see mutants: run by `sh` with the mutant in the environment variable WEFT_MUTANT. Status 0: it has seen nothing. May be given several times.
    #[arg(long = "catch", value_name = "NAME=COMMAND")]
    catchers: Vec<String>,
    /// Changes modules of exactly these parameters; else all modules of the same kind, whatever their parameters, that a command makes.
    #[arg(long)]
    exact: bool,
    /// Cycles under random stimulus beside the block, to see whether a mutant differs.
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u64).range(8..=10_000_000))]
    cycles: u64,
    /// A command of which a process takes so many times the CPU time of the whole command without a mutant, and ten seconds more, is ended, and has seen the mutant; so has one that takes twice as long on the clock.
    #[arg(long, default_value_t = 5, value_name = "FACTOR", value_parser = clap::value_parser!(u32).range(1..=1000))]
    patience: u32,
    /// Mutants at a time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: u16,
    /// Notes each mutant in this file of JSON lines, and makes none again that is in it.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Ends with status 1 if less of the mutants that are other hardware are caught.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    least: Option<u8>,
    /// Only prints the mutants and their places.
    #[arg(long)]
    list: bool,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// A wrong block, parameter or catcher, or a command that fails without a mutant; less caught than wanted.
pub fn run(args: &Args) -> Outcome {
    if std::env::var_os(VARIABLE).is_some_and(|value| !value.is_empty()) {
        return Err(Failure::input(anyhow!(
            "{VARIABLE} is set; unset it: this command sets it for its catchers"
        )));
    }
    let catchers = Catcher::parse_all(&args.catchers)?;
    let top = args.block.build()?;
    let chosen = choose(&top, args.count as usize, args.seed, args.exact);
    if chosen.is_empty() {
        return Err(Failure::input(anyhow!(
            "{} has no logic to change; name a block (see `weft list blocks`)",
            args.block.block
        )));
    }
    if args.list {
        return chosen
            .iter()
            .try_for_each(|c| say(format!("{}  {}", c.mutant, describe(&c.module, &c.mutant))));
    }
    let record = Record::open(args.record.as_deref(), &args.block.words(), args.cycles, &catchers)?;
    let rows = Campaign { args, top: &top, chosen: &chosen, record: Mutex::new(record) }.run(catchers)?;
    let catchers: Vec<&str> = [ASSERTION].into_iter().chain(names(args)).collect();
    table::print(&args.block.words(), &rows, &catchers, args.json)?;
    let (caught, all) = table::caught(&rows);
    match args.least {
        Some(least) if caught * 100 < all * usize::from(least) => Err(Failure::check(anyhow!(
            "{caught} of {all} mutants were caught, less than {least} %; the survivors are listed above"
        ))),
        _ => Ok(()),
    }
}

/// Names of the catchers, as given.
fn names(args: &Args) -> impl Iterator<Item = &str> {
    args.catchers.iter().filter_map(|word| word.split_once('=')).map(|(name, _)| name)
}

struct Campaign<'a> {
    args: &'a Args,
    top: &'a Module,
    chosen: &'a [Candidate],
    record: Mutex<Record>,
}

impl Campaign<'_> {
    /// Makes all that is not in the record; rows in the order of the mutants.
    fn run(&self, mut catchers: Vec<Catcher>) -> Result<Vec<Row>, Failure> {
        let scratch = weft_output::Scratch::new().map_err(Failure::check)?;
        let _graceful = Graceful::new();
        let known: Vec<Option<Row>> = {
            let record = self.record.lock().expect("no job runs");
            self.chosen.iter().map(|c| record.row(&c.mutant.to_string())).collect()
        };
        let complete = |row: &Option<Row>| {
            row.as_ref().is_some_and(|row| row.is_equivalent() || catchers.iter().all(|c| row.knows(&c.name)))
        };
        let missing: Vec<usize> = (0..known.len()).filter(|at| !complete(&known[*at])).collect();
        if !missing.is_empty() {
            catchers
                .iter_mut()
                .try_for_each(|catcher| catcher.measure(scratch.path(), self.args.patience))?;
        }
        let subjects = self.subjects(&known, &missing)?;
        let bar = bar(missing.len());
        let mut rows = self.make(&known, &missing, &subjects, &catchers, scratch.path(), &bar)?;
        bar.finish_and_clear();
        // A record may know of more catchers than are asked for.
        let asked = |name: &str| name == ASSERTION || catchers.iter().any(|c| c.name == name);
        rows.iter_mut().for_each(|row| row.caught.retain(|name, _| asked(name)));
        Ok(rows)
    }

    /// The blocks of the mutants that are still to be judged, by name.
    fn subjects(
        &self,
        known: &[Option<Row>],
        missing: &[usize],
    ) -> Result<BTreeMap<String, Subject>, Failure> {
        let mut out = BTreeMap::new();
        for at in missing.iter().filter(|at| known[**at].is_none()) {
            let block = &self.chosen[*at].block;
            if !out.contains_key(&block.name) {
                let subject = Subject::new(block, self.args.cycles, 1).map_err(Failure::input)?;
                out.insert(block.name.clone(), subject);
            }
        }
        Ok(out)
    }

    fn make(
        &self,
        known: &[Option<Row>],
        missing: &[usize],
        subjects: &BTreeMap<String, Subject>,
        catchers: &[Catcher],
        scratch: &Path,
        bar: &ProgressBar,
    ) -> Result<Vec<Row>, Failure> {
        let mut rows = known.to_vec();
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, made) = mpsc::channel();
        let work = |job: u16| {
            let folder = scratch.join(job.to_string());
            while !stop.load(Ordering::SeqCst)
                && let Some(at) = missing.get(next.fetch_add(1, Ordering::SeqCst))
            {
                let row = self.one(&self.chosen[*at], known[*at].clone(), subjects, catchers, &folder);
                if row.is_err() {
                    stop.store(true, Ordering::SeqCst);
                }
                // The receiver waits for all jobs.
                let _ = sender.send((*at, row));
            }
        };
        let mut failed = None;
        std::thread::scope(|scope| {
            let work = &work;
            for job in 0..self.args.jobs {
                scope.spawn(move || work(job));
            }
            let mut early: BTreeMap<usize, Row> = BTreeMap::new();
            let mut order = missing.iter().peekable();
            let mut left = missing.len();
            while left > 0 && failed.is_none() {
                match made.recv_timeout(Duration::from_millis(100)) {
                    Ok((at, Ok(row))) => {
                        left -= 1;
                        bar.inc(1);
                        early.insert(at, row);
                        // In the order of the mutants, whichever job ends first.
                        while let Some(row) = order.peek().and_then(|at| early.remove(*at)) {
                            if let Err(failure) = self.record.lock().expect("a job never panics").add(&row) {
                                failed = Some(failure);
                            }
                            order.next().map(|at| rows[*at].replace(row));
                        }
                    }
                    Ok((_, Err(failure))) => failed = Some(failure),
                    Err(_) => bar.tick(),
                }
            }
            stop.store(true, Ordering::SeqCst);
        });
        match failed {
            Some(failure) => Err(failure),
            None => Ok(rows.into_iter().flatten().collect()),
        }
    }

    /// One mutant: what it is, and which catchers see it.
    fn one(
        &self,
        candidate: &Candidate,
        known: Option<Row>,
        subjects: &BTreeMap<String, Subject>,
        catchers: &[Catcher],
        folder: &Path,
    ) -> Result<Row, Failure> {
        let mut row = match known {
            Some(row) => row,
            None => self.judged(candidate, subjects)?,
        };
        for catcher in catchers {
            if row.is_equivalent() || row.knows(&catcher.name) {
                continue;
            }
            let end = catcher.run(&row.mutant, folder)?;
            row.caught.insert(catcher.name.clone(), end);
        }
        Ok(row)
    }

    fn judged(&self, c: &Candidate, subjects: &BTreeMap<String, Subject>) -> Result<Row, Failure> {
        if let Some(signal) = signals::asked() {
            return Err(Failure::signal(signal, &kept(self.args.record.as_deref())));
        }
        let block = if self.top.kind == ModuleKind::Fabric {
            // The GPUs of a fabric are described side by side, each on a thread of its own.
            c.applied().map_err(Failure::check)?
        } else {
            plant(&c.mutant, || self.args.block.build())?
        };
        let judged = subjects[&c.block.name].judge(&block).map_err(Failure::check)?;
        let (verdict, about) = match judged.verdict {
            Verdict::Different { cycle, port } => ("different", format!("{port} in cycle {cycle}")),
            Verdict::Equivalent => ("equivalent", String::new()),
            Verdict::Undecided => ("undecided", String::new()),
        };
        let assertion = if judged.assertion.is_some() { End::Caught } else { End::Passed };
        Ok(Row {
            mutant: c.mutant.to_string(),
            kind: c.mutant.kind.name().to_string(),
            place: describe(&c.module, &c.mutant),
            verdict: verdict.to_string(),
            about,
            assertion: judged.assertion.unwrap_or_default(),
            caught: BTreeMap::from([(ASSERTION.to_string(), assertion)]),
        })
    }
}

fn bar(count: usize) -> ProgressBar {
    let bar = ProgressBar::new(count as u64);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {pos} of {len} mutants, {eta} left")
    {
        bar.set_style(style);
    }
    bar
}

/// What a signal leaves.
fn kept(path: Option<&Path>) -> String {
    match path {
        Some(path) => format!("{} holds the mutants made so far", path.display()),
        None => "what was made is in the record, if there is one".to_string(),
    }
}
