//! `weft reproduce`: published results beside measured ones.

mod recorded;
mod tasks;

use crate::cluster::{ClusterArgs, nobody_submits, tell_aside};
use crate::document::{Block, markdown};
use crate::failure::{Failure, Outcome, say};
use crate::reproduce::built_in::{SYSTEMS, load};
use crate::reproduce::explored::Explored;
use crate::reproduce::figure::{FigureDone, wanted};
use crate::reproduce::published::{Figure, Published};
use crate::reproduce::report::{SystemDone, write, write_all};
use crate::sweep::board::{Board, words};
use crate::sweep::execute::execute;
use crate::sweep::file::SweepFile;
use crate::sweep::known;
use crate::sweep::plan::{Plan, Run};
use crate::sweep::record::{Record, Rows, elsewhere};
use crate::sweep::results::{self, Results};
use crate::sweep::tier::Tier;
use anyhow::{Error, anyhow};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Arguments of `weft reproduce`.
#[derive(clap::Args)]
pub struct Args {
    /// rec, hmg, mgcc, dnn-step, srsp, spandex or flat; all of them; or list, for their figures.
    system: String,
    /// One of its figures; all unless given.
    figure: Option<String>,
    /// Size of fabrics and inputs; a sweep that does not have it is made as its file is.
    #[arg(long, default_value = "small")]
    tier: Tier,
    /// Folder of the report, its pictures and the results of the runs [default: reproduce_out].
    #[arg(long, value_name = "DIR", default_value = "reproduce_out", hide_default_value = true)]
    out: PathBuf,
    /// Runs at a time [default: the processor's cores, of a task one]; results do not depend on their number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Keeps results that are there aside under another name and begins anew.
    #[arg(long)]
    restart: bool,
    /// Keeps the rows of the runs in a folder of records, one packed table a sweep.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = RECORDS)]
    record: Option<PathBuf>,
    /// With --record: makes only the runs that the records do not have, and reports of both.
    #[arg(long, requires = "record")]
    missing: bool,
    /// With --missing: rows of other hardware are there, too, as when only names in it have changed.
    #[arg(long, requires = "missing")]
    any_hardware: bool,
    /// Makes only the runs of the figure with these values of an axis of its sweep; may be given several times. The others are missing in the report.
    #[arg(long, value_name = "AXIS=VALUE,...", requires = "figure", conflicts_with = "recorded")]
    only: Vec<String>,
    /// Makes no run: takes the rows that a folder of records has.
    #[arg(
        long, value_name = "DIR", num_args = 0..=1, default_missing_value = RECORDS,
        conflicts_with_all = ["record", "restart", "shard", "collect", "slurm"]
    )]
    recorded: Option<PathBuf>,
    /// With --recorded: writes the tables of a Markdown page anew, of all tiers, where it has marks for them.
    #[arg(long, value_name = "FILE", requires = "recorded", conflicts_with_all = ["figure", "tier"])]
    page: Option<PathBuf>,
    #[command(flatten)]
    cluster: ClusterArgs,
    /// With --slurm: prints the script and ends.
    #[arg(long, requires = "slurm")]
    dry_run: bool,
}

/// The folder of records unless another is given.
const RECORDS: &str = "records";

impl Args {
    /// Runs at a time.
    fn jobs(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
        self.jobs.map_or_else(cores, usize::from)
    }

    /// A sweep at the size asked for.
    fn sweep(&self, name: &str) -> Result<SweepFile, Failure> {
        let sweep = SweepFile::load(name).map_err(Failure::check)?;
        sweep.at(self.tier).map_err(Failure::check)
    }

    /// The folder of records to which the runs are added, if the report is to be made from both.
    fn completed(&self) -> Option<&Path> {
        self.record.as_deref().filter(|records| self.missing && records.is_dir())
    }

    /// Numbers of the runs that these figures of one sweep need, of the part asked for.
    fn needed<'f>(
        &self,
        plan: &Plan,
        figures: impl Iterator<Item = &'f Figure>,
    ) -> Result<BTreeSet<usize>, Failure> {
        let mut numbers = BTreeSet::new();
        for figure in figures {
            numbers.extend(wanted(figure, plan).map_err(Failure::check)?);
        }
        for words in &self.only {
            let (axis, values) = plan.sweep.named(words).map_err(Failure::Input)?;
            numbers.retain(|number| values.contains(&plan.runs[*number].labels[axis]));
        }
        Ok(numbers)
    }

    /// Runs of a sweep that need not be made, since the records have them.
    fn known(&self, plan: &Plan) -> Result<Known, Failure> {
        let Some(records) = self.record.as_deref().filter(|_| self.missing) else {
            return Ok(Known::default());
        };
        let record = Record::read(records, plan.sweep.clone()).map_err(Failure::Input)?;
        let outdated = record.as_ref().map(|record| record.outdated(plan)).unwrap_or_default();
        let rows = record.map(|record| record.rows).unwrap_or_default();
        let mut numbers: BTreeSet<usize> = (0..rows.len()).filter(|at| rows[*at].is_some()).collect();
        if !self.any_hardware {
            numbers.retain(|number| !outdated.contains(number));
        }
        let elsewhere = match records.is_dir() {
            true => {
                elsewhere(records, plan, &|run| !numbers.contains(&run.number)).map_err(Failure::Input)?
            }
            false => Rows::new(),
        };
        numbers.extend(elsewhere.keys());
        Ok(Known { numbers, elsewhere, outdated })
    }
}

/// What records have of a sweep.
#[derive(Default)]
struct Known {
    /// Numbers of the runs.
    numbers: BTreeSet<usize>,
    /// Rows of those that only the records of other sweeps have.
    elsewhere: Rows,
    /// Numbers of those whose row is of other hardware.
    outdated: BTreeSet<usize>,
}

/// Runs the verb.
///
/// # Errors
/// An unknown system or figure; results of other runs in the folder; at the end, runs that have failed or gave a wrong result.
pub fn run(args: &Args) -> Outcome {
    if args.system == "list" {
        let ClusterArgs { shard, collect, slurm, .. } = &args.cluster;
        if shard.is_some() || *collect || *slurm {
            return Err(Failure::input(anyhow!(
                "a list has no runs; name a system for --shard, --slurm or --collect"
            )));
        }
        return list(args);
    }
    let systems = load(&args.system).map_err(Failure::Input)?;
    let chosen = chosen(&systems, args.figure.as_deref())?;
    if let (Some(records), Some(page)) = (&args.recorded, &args.page) {
        return recorded::page(&systems, records, page);
    }
    let figures: Vec<&Figure> = chosen.iter().flatten().collect();
    if args.cluster.slurm {
        return tasks::submit(args, &figures);
    }
    ready(args, &figures)?;
    folders(&args.out)?;
    if args.cluster.shard.is_some() {
        return tasks::share(args, &figures);
    }
    let mut maker = Maker::new(args, &chosen)?;
    let mut all = Vec::new();
    for (published, figures) in systems.into_iter().zip(chosen) {
        let done = system(args, published, &figures, &mut maker)?;
        let name = match &args.figure {
            Some(figure) => format!("{}-{figure}", args.system),
            None => done.published.system.clone(),
        };
        let files = write(&done, &name, &args.out).map_err(Failure::check)?;
        all.push((done, files));
    }
    let Maker { missing, shared, outdated, .. } = maker;
    let (made, time) = maker.board.finish();
    let (all, mut files): (Vec<SystemDone>, Vec<Vec<PathBuf>>) = all.into_iter().unzip();
    if args.system == "all" {
        files.push(write_all(&all, &args.out).map_err(Failure::check)?);
    }
    all.iter().try_for_each(print)?;
    if args.recorded.is_none() {
        let others = match shared {
            0 => String::new(),
            _ => format!("; {shared} more are the same as runs of other sweeps"),
        };
        say(format!("runs made: {made}, which took {} one after the other{others}", words(time)))?;
        if outdated > 0 {
            let done = if args.any_hardware {
                "taken all the same"
            } else {
                "made again; --any-hardware takes them"
            };
            say(format!("runs that the records have of other hardware: {outdated}, {done}"))?;
        }
    }
    files.concat().iter().try_for_each(|file| say(format!("report: {}", file.display())))?;
    match args.recorded.is_some() {
        true => Ok(()),
        false => ending(args, &all, missing),
    }
}

/// What is said at the end of runs that were left out, that nobody has made, that failed.
fn ending(args: &Args, all: &[SystemDone], missing: usize) -> Outcome {
    let figures = || all.iter().flat_map(|done| &done.figures);
    let failed: usize = figures().map(|done| done.runs.failed).sum();
    if missing > 0 {
        return Err(Failure::check(anyhow!(
            "{missing} runs are missing: wait for the tasks that make them, or make them here by the same command without --collect; {failed} that were made failed or gave a wrong result"
        )));
    }
    let left: usize = figures().map(|done| done.runs.missing).sum();
    if left > 0 {
        say(format!("runs left out by --only, and missing in the report: {left}"))?;
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure::check(anyhow!(
            "{failed} runs of the figures failed or gave a wrong result; see status and error in {}",
            args.out.join("runs").display()
        ))),
    }
}

/// A system's figures, from runs or from records, or from both.
fn system(
    args: &Args,
    published: Published,
    figures: &[Figure],
    maker: &mut Maker,
) -> Result<SystemDone, Failure> {
    if let Some(records) = &args.recorded {
        return recorded::system(args, published, figures, records, &mut maker.explored);
    }
    let made = maker.system(&published, figures)?;
    match args.completed() {
        Some(records) => recorded::system(args, published, figures, records, &mut maker.explored),
        None => Ok(made),
    }
}

/// Refuses to collect nothing, and to begin anew what somebody is making.
fn ready(args: &Args, figures: &[&Figure]) -> Outcome {
    if args.restart {
        nobody_submits(&tasks::note(args))?;
    }
    let mut there = figures.iter().any(|figure| figure.sweep.is_none());
    if let (Some(only), true) = (args.only.first(), there) {
        return Err(Failure::input(anyhow!("--only {only}: this figure needs no run; leave it out")));
    }
    for name in figures.iter().filter_map(|figure| figure.sweep.as_ref()) {
        let sweep = args.sweep(name)?;
        args.only.iter().try_for_each(|only| sweep.named(only).map(drop)).map_err(Failure::Input)?;
        let path = args.out.join("runs").join(format!("{}.csv", sweep.name));
        if args.restart {
            results::free(&path).map_err(Failure::Input)?;
        }
        there |= results::are_there(&path).map_err(Failure::Input)?;
    }
    match args.cluster.collect && !there {
        true => Err(Failure::input(anyhow!(
            "there are no results of these figures in {}: give the folder in which tasks make them by --out",
            args.out.display()
        ))),
        false => Ok(()),
    }
}

/// Makes the folders of results and pictures.
fn folders(out: &Path) -> Outcome {
    for folder in ["runs", "pictures"] {
        let dir = out.join(folder);
        std::fs::create_dir_all(&dir).map_err(|e| {
            Failure::input(anyhow!(
                "--out {}: cannot make this folder: {e}; give one that can be written",
                dir.display()
            ))
        })?;
    }
    Ok(())
}

/// The figures asked for, of each system.
fn chosen(systems: &[Published], figure: Option<&str>) -> Result<Vec<Vec<Figure>>, Failure> {
    let Some(name) = figure else { return Ok(systems.iter().map(|system| system.figures.clone()).collect()) };
    let [system] = systems else {
        return Err(Failure::input(anyhow!("figure {name} is of one system; name this in the place of all")));
    };
    match system.figures.iter().find(|figure| figure.name == name) {
        Some(figure) => Ok(vec![vec![figure.clone()]]),
        None => {
            let known = system.figures.iter().map(|figure| figure.name.as_str());
            let remedy = weft_names::remedy(name, known, "`weft reproduce list` shows all");
            Err(Failure::input(anyhow!("{} has no figure {name}; {remedy}", system.system)))
        }
    }
}

/// What makes the runs.
struct Maker<'a> {
    args: &'a Args,
    jobs: usize,
    board: Board,
    explored: Explored,
    /// Runs that nobody has made yet, where none is to be made now.
    missing: usize,
    /// Runs that another sweep had made.
    shared: usize,
    /// Runs whose row in the records is of other hardware.
    outdated: usize,
}

impl<'a> Maker<'a> {
    fn new(args: &'a Args, chosen: &[Vec<Figure>]) -> Result<Maker<'a>, Failure> {
        let mut sweeps: Vec<&String> =
            chosen.iter().flatten().filter_map(|figure| figure.sweep.as_ref()).collect();
        sweeps.sort();
        sweeps.dedup();
        let mut left: BTreeMap<String, usize> = BTreeMap::new();
        for name in sweeps {
            for (workload, runs) in args.sweep(name)?.by_workload() {
                *left.entry(workload).or_default() += runs;
            }
        }
        let jobs = args.jobs();
        let mut rows = chosen.iter().flatten().flat_map(Figure::rows);
        let anew = args.restart && rows.any(|row| row.states.is_some());
        let explored = Explored::open(&args.out.join("runs"), anew).map_err(Failure::Input)?;
        Ok(Maker { args, jobs, board: Board::new(left, jobs), explored, missing: 0, shared: 0, outdated: 0 })
    }

    /// All runs of a system, sweep by sweep, so that the hardware of one is in memory at a time.
    fn system(&mut self, published: &Published, figures: &[Figure]) -> Result<SystemDone, Failure> {
        let mut done: Vec<Option<FigureDone>> = figures.iter().map(|_| None).collect();
        let whole = figures.len() == published.figures.len();
        for at in 0..figures.len() {
            if done[at].is_some() {
                continue;
            }
            let Some(sweep) = &figures[at].sweep else {
                let figure = FigureDone::new(&figures[at], None, &mut self.explored, Some(&self.args.out));
                done[at] = Some(figure.map_err(Failure::check)?);
                continue;
            };
            let same: Vec<usize> =
                (at..figures.len()).filter(|other| figures[*other].sweep.as_ref() == Some(sweep)).collect();
            let plan = Plan::new(self.args.sweep(sweep)?).map_err(Failure::Input)?;
            let results = self.runs(&plan, same.iter().map(|at| &figures[*at]))?;
            for at in same {
                let results = Some((&plan, results.rows()));
                let figure = FigureDone::new(&figures[at], results, &mut self.explored, Some(&self.args.out));
                done[at] = Some(figure.map_err(Failure::check)?);
            }
        }
        let figures = done.into_iter().flatten().collect();
        Ok(SystemDone { published: published.clone(), figures, whole, tier: self.args.tier })
    }

    /// The runs of a sweep that these figures need.
    fn runs<'f>(
        &mut self,
        plan: &Plan,
        figures: impl Iterator<Item = &'f Figure>,
    ) -> Result<Results, Failure> {
        let mut numbers = self.args.needed(plan, figures)?;
        let Known { numbers: known, elsewhere, outdated } = self.args.known(plan)?;
        self.outdated += numbers.intersection(&outdated).count();
        self.shared += numbers.iter().filter(|number| elsewhere.contains_key(number)).count();
        numbers.retain(|number| !known.contains(number));
        let path = self.args.out.join("runs").join(format!("{}.csv", plan.sweep.name));
        let note = tasks::note(self.args);
        let (mut results, aside) = self.args.cluster.open(&path, plan, self.args.restart, &note)?;
        tell_aside(&aside)?;
        if self.args.cluster.collect {
            self.missing += numbers.iter().filter(|number| !results.has(**number)).count();
            self.keep(plan, &results, &elsewhere).map_err(Failure::check)?;
            return Ok(results);
        }
        let wanted = |run: &Run| numbers.contains(&run.number);
        for run in plan.runs.iter().filter(|run| !wanted(run)) {
            self.board.was_there(&plan.sweep.workload(&run.labels));
        }
        let folder = self.args.out.join("runs");
        self.shared += known::take(plan, &mut results, &wanted, &folder).map_err(Failure::check)?;
        // What a signal has cut off has its rows so far in the records.
        let parting = |results: &Results| self.keep(plan, results, &elsewhere);
        execute(plan, &mut results, self.jobs, &wanted, &self.board, &parting).map_err(Failure::check)?;
        results.sort().map_err(Failure::check)?;
        self.keep(plan, &results, &elsewhere).map_err(Failure::check)?;
        Ok(results)
    }
}

impl Maker<'_> {
    /// Puts what there is of a sweep into the records, if there are any.
    fn keep(&self, plan: &Plan, results: &Results, elsewhere: &Rows) -> Result<(), Error> {
        let Some(folder) = &self.args.record else { return Ok(()) };
        let mut rows = results.rows().to_vec();
        for (number, row) in elsewhere {
            rows[*number].get_or_insert_with(|| row.clone());
        }
        Record::keep(folder, plan, &rows).map(drop)
    }
}

/// A system's comparisons on standard output.
fn print(done: &SystemDone) -> Outcome {
    for figure in &done.figures {
        let mut blocks = vec![Block::Heading(
            2,
            format!("{} {}: {}", done.published.system, figure.figure.name, figure.figure.title),
        )];
        blocks.extend(figure.table().map(Block::Table));
        let words = figure.words();
        if !words.is_empty() {
            blocks.push(Block::List(words));
        }
        say(markdown(&blocks).trim_end())?;
        say("")?;
    }
    Ok(())
}

/// Systems with their figures.
fn list(args: &Args) -> Outcome {
    for (system, _) in SYSTEMS {
        for published in load(system).map_err(Failure::check)? {
            say(format!("{}\n    {}; {}", published.system, published.about, published.source))?;
            for figure in &published.figures {
                let runs = match &figure.sweep {
                    None => "no run".to_string(),
                    Some(name) => {
                        let runs: usize = args.sweep(name)?.by_workload().values().sum();
                        format!("{name}, {runs} runs")
                    }
                };
                say(format!("      {:<20} {} ({runs})", figure.name, figure.title))?;
            }
        }
    }
    Ok(())
}
