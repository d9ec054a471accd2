//! `weft why`: what brought a line here, as text, from an event log.

use crate::failure::{Failure, Outcome, say};
use anyhow::{Error, anyhow};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use weft_events::hops::Hops;
use weft_events::life::{self, Kind, Moment};
use weft_events::read::MEMORY;
use weft_events::{Header, Log, LogError};

/// Arguments of `weft why`.
#[derive(clap::Args)]
pub struct Args {
    /// An event log, written by `weft run ... --events FILE`.
    log: PathBuf,
    /// A byte of the line: physical address (`0x1f40`), or element of an array of the program (`rank[12]`).
    #[arg(long, value_name = "ADDRESS")]
    address: String,
    /// What brought the line here by this cycle [default: the end].
    #[arg(long, value_name = "CYCLE")]
    at: Option<u64>,
    /// Moments shown, the newest ones.
    #[arg(long, value_name = "N", default_value_t = 60, conflicts_with = "all")]
    last: usize,
    /// Shows all moments.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    memory: LogMemory,
}

/// How large an event log may be.
#[derive(clap::Args)]
pub struct LogMemory {
    /// Most memory that an event log may take.
    #[arg(long, value_name = "MB", default_value_t = MEMORY >> 20, value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    log_memory: u64,
}

impl LogMemory {
    /// So many MB.
    pub fn new(log_memory: u64) -> LogMemory {
        LogMemory { log_memory }
    }

    /// Reads a log that takes no more.
    ///
    /// # Errors
    /// As [`Log::read_within`].
    pub fn read(&self, path: &Path) -> Result<Log, LogError> {
        Log::read_within(path, self.log_memory << 20)
    }
}

/// Runs the verb.
///
/// # Errors
/// No event log, an address of which it knows nothing.
pub fn run(args: &Args) -> Outcome {
    let log = args.memory.read(&args.log).map_err(Failure::input)?;
    let at = args.at.unwrap_or(u64::MAX);
    if at < log.header.from {
        return Err(Failure::input(anyhow!(
            "--at {at} is before the first cycle of the log, {}; give a later one",
            log.header.from
        )));
    }
    let address = address(&log.header, &args.address).map_err(Failure::Input)?;
    let line = address / u64::from(log.header.line);
    let hops = Hops::new(&log);
    let moments = life::of_line(&log, &hops, line);
    if moments.is_empty() {
        let most = life::busiest(&hops);
        let most: Vec<String> = most.iter().take(5).map(|(line, _)| title(&log.header, *line)).collect();
        return Err(Failure::input(anyhow!(
            "nothing befell {} in {}; most befell {}",
            title(&log.header, line),
            args.log.display(),
            if most.is_empty() { "no line at all".into() } else { most.join(", ") }
        )));
    }
    let until = moments.partition_point(|moment| moment.cycle <= at);
    let from = if args.all { 0 } else { until.saturating_sub(args.last) };
    let header = &log.header;
    say(format!("{}: {} on {}", title(header, line), header.workload, header.fabric))?;
    if from > 0 {
        say(format!("  {from} earlier moments are not shown; --all shows them"))?;
    }
    let mut step = None;
    for moment in &moments[from..until] {
        let now = log.steps.iter().rfind(|s| s.start <= moment.cycle).map(|s| (s.start, s.name.as_str()));
        if now != step {
            step = now;
            say(format!("  -- {}", now.map_or("before the program's first step", |(_, name)| name)))?;
        }
        say(format!("{:>9}  {}", moment.cycle, sentence(&log, moment)))?;
    }
    say(format!("  {}", if at >= log.end { "at the end:".into() } else { format!("in cycle {at}:") }))?;
    let moments = &moments[..until];
    standing(&log, moments).into_iter().try_for_each(|text| say(format!("    {text}")))?;
    reasons(&log, moments).into_iter().try_for_each(|text| say(format!("  {text}")))
}

/// How a line last came to one of the models outside, and how a copy was last taken away, each back to who asked.
fn reasons(log: &Log, moments: &[Moment]) -> Vec<String> {
    let model = |actor: u32| log.header.actors[actor as usize].block.is_none();
    let brought = |m: &Moment| m.kind == Kind::Message && m.asked.is_some() && m.to.is_some_and(model);
    let mut out = Vec::new();
    let mut tell = |title: &str, wanted: &dyn Fn(&Moment) -> bool| {
        let Some(last) = moments.iter().rposition(wanted) else { return };
        out.push(format!("{title}, the newest first:"));
        let steps = life::chain(log, moments, last);
        out.extend(
            steps.iter().map(|n| format!("{:>9}  {}", moments[*n].cycle, sentence(log, &moments[*n]))),
        );
    };
    tell("what brought it last", &brought);
    tell("what took a copy away last", &Moment::takes_away);
    out
}

/// The byte that the user means.
///
/// # Errors
/// No number and no element of an array of the program.
pub fn address(header: &Header, text: &str) -> Result<u64, Error> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    if let Some(address) = number(text) {
        return Ok(address);
    }
    let names: Vec<&str> = header.arrays.iter().map(|a| a.name.as_str()).collect();
    let parts = text.strip_suffix(']').and_then(|text| text.split_once('['));
    let Some((name, index)) = parts.and_then(|(name, index)| Some((name, number(index)?))) else {
        return Err(anyhow!(
            "--address {text} is neither a number, such as 0x1f40, nor an element of an array, such as {}[0]",
            names.first().unwrap_or(&"rank")
        ));
    };
    let mut pieces = header.arrays.iter().filter(|a| a.name == name).peekable();
    if pieces.peek().is_none() {
        let mut known = names;
        known.dedup();
        let remedy = weft_names::choice(name, known);
        return Err(anyhow!("--address {text}: the program has no array {name}; {remedy}"));
    }
    let found = pieces.find_map(|a| {
        let byte = index.checked_mul(a.element)?.checked_sub(a.offset)?;
        (byte < a.bytes).then_some(a.at + byte)
    });
    found.ok_or_else(|| {
        anyhow!("--address {text}: {name} has no element {index} with a place known from the start")
    })
}

/// A line by its address and what lies there.
pub fn title(header: &Header, line: u64) -> String {
    let at = format!("line {:#x}", header.address(line));
    header.contents(line).map_or(at.clone(), |contents| format!("{at}, {contents}"))
}

/// A moment as a sentence.
fn sentence(log: &Log, moment: &Moment) -> String {
    let from = log.name(moment.from);
    let Some(to) = moment.to else {
        let kind = if moment.kind == Kind::Race { "race" } else { "row" };
        return format!("{from}: {kind} {}  {}", moment.what, moment.details);
    };
    let via: Vec<&str> = moment.via.iter().map(|actor| log.name(*actor)).collect();
    let way = if via.is_empty() { String::new() } else { format!(" by way of {}", via.join(", ")) };
    let details = if moment.details.is_empty() { String::new() } else { format!(" {{{}}}", moment.details) };
    let later = |cycle: u64| cycle.saturating_sub(moment.cycle);
    let arrives = if via.is_empty() { String::new() } else { format!(", there in {}", moment.arrives) };
    let answer = match (moment.answered, moment.asked) {
        (Some(cycle), _) => format!(", answered in {cycle}, after {} cycles", later(cycle)),
        (None, Some(cycle)) => format!(", asked for in {cycle}"),
        (None, None) => String::new(),
    };
    format!("{from} -> {}: {}{details}{way}{arrives}{answer}", log.name(to), moment.what)
}

/// What holds after these moments: the newest message between models and blocks, and the newest row of every block.
fn standing(log: &Log, moments: &[Moment]) -> Vec<String> {
    let mut rows: BTreeMap<u32, &Moment> = BTreeMap::new();
    let mut asked: BTreeMap<u32, &Moment> = BTreeMap::new();
    for moment in moments {
        match moment.kind {
            Kind::Row => {
                rows.insert(moment.from, moment);
            }
            Kind::Message
                if log.header.actors[moment.from as usize].block.is_none() && moment.asked.is_none() =>
            {
                asked.insert(moment.from, moment);
            }
            Kind::Message | Kind::Race => {}
        }
    }
    let last = |moment: &Moment| format!("{} in cycle {}", moment.what, moment.cycle);
    let asked =
        asked.iter().map(|(actor, m)| format!("{} last asked for it by {}", log.name(*actor), last(m)));
    let rows = rows
        .iter()
        .map(|(actor, m)| format!("{} last took row {}: {}", log.name(*actor), last(m), m.details));
    asked.chain(rows).collect()
}
