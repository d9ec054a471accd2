//! `weft states`: every state of two abstract coherence protocols, counted and checked.

use crate::failure::{Failure, Outcome, say};
use crate::output;
use anyhow::anyhow;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use weft_explore::search::Progress;
use weft_states::fault::Fault;
use weft_states::report::{
    COLUMNS, OptionSet, Run, SETS, explore, protocols, ratios, records, table, unused,
};
use weft_states::space::Config;

/// Arguments of `weft states`.
#[derive(clap::Args)]
pub struct Args {
    /// Devices.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=4), value_name = "N")]
    devices: u8,
    /// Sets of options: base, wtfwd (write-throughs forwarded to the owner), opred (and requests sent directly to any device), opred-owner (only to the owner),
    /// opred-alone (without wtfwd).
    #[arg(long, value_delimiter = ',', default_value = "base,wtfwd,opred", value_name = "SET,SET..")]
    options: Vec<String>,
    /// States that differ only in the devices' names count once.
    #[arg(long)]
    symmetry: bool,
    /// Data of one bit: reads must return what they may, no update may be lost.
    #[arg(long)]
    values: bool,
    /// The LLC fetches and evicts the line.
    #[arg(long)]
    evict: bool,
    /// Most states of one exploration.
    #[arg(long, default_value_t = 100_000_000, value_name = "N")]
    states: usize,
    /// A fault: nack_lost, no_cross, chi_no_unblock and others; an unknown word lists them.
    #[arg(long, default_value = "none", value_name = "FAULT")]
    inject: String,
    /// Prints the rows of the transition tables, each with how often it was carried out.
    #[arg(long)]
    rows: bool,
    /// Writes the table as CSV.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

impl Args {
    /// The chosen sets, in the order of [`SETS`].
    fn sets(&self) -> Result<Vec<OptionSet>, Failure> {
        let known = |name: &&String| SETS.iter().any(|set| set.name == **name);
        if let Some(unknown) = self.options.iter().find(|name| !known(name)) {
            let remedy = weft_names::choice(unknown, SETS.iter().map(|set| set.name));
            return Err(Failure::input(anyhow!("--options {unknown}: there is no such set; {remedy}")));
        }
        let chosen = |set: &&OptionSet| self.options.iter().any(|name| name == set.name);
        Ok(SETS.iter().filter(chosen).copied().collect())
    }

    fn fault(&self) -> Result<Option<Fault>, Failure> {
        let fault = Fault::WORDS.iter().find(|(_, word)| *word == self.inject);
        if fault.is_none() && self.inject != "none" {
            let words = Fault::WORDS.iter().map(|(_, word)| *word);
            let remedy = weft_names::choice(&self.inject, ["none"].into_iter().chain(words));
            return Err(Failure::input(anyhow!(
                "--inject {}: there is no such fault; {remedy}",
                self.inject
            )));
        }
        Ok(fault.map(|(fault, _)| *fault))
    }
}

/// Runs the verb.
///
/// # Errors
/// Unknown options; a violation; a file that cannot be written.
pub fn run(args: &Args) -> Outcome {
    let (sets, fault) = (args.sets()?, args.fault()?);
    if let Some(path) = &args.csv {
        output::check("--csv", path)?;
    }
    let Args { symmetry, values, evict, .. } = *args;
    let config = Config { devices: usize::from(args.devices), symmetry, values, evict, ..Config::default() };
    let shown = std::io::stderr().is_terminal();
    let mut runs = Vec::new();
    for set in sets {
        for protocol in protocols() {
            let name = protocol.name;
            let mut told = |at| {
                if shown {
                    show(name, set.name, at);
                }
            };
            runs.push(explore(protocol, set, config, fault, args.states, &mut told));
        }
    }
    if shown {
        eprint!("\r\x1b[K");
    }
    report(args, &runs)?;
    if let Some(path) = &args.csv {
        write_csv(&runs, config, path)?;
    }
    let Some(run) = runs.iter().find(|run| run.trace.is_some()) else { return Ok(()) };
    let text = run.found.violation.as_ref().map_or("", |violation| violation.text.as_str());
    Err(Failure::check(anyhow!("{}, {}: {text}", run.protocol, run.set.name)))
}

fn report(args: &Args, runs: &[Run]) -> Outcome {
    say(table(runs).trim_end())?;
    say(format!("\n{}", ratios(runs).trim_end()))?;
    let rows: usize = protocols().iter().map(|protocol| protocol.device.len() + protocol.llc.len()).sum();
    let unused = unused(runs);
    say(format!("\nrows of the tables carried out: {} of {rows}", rows - unused.len()))?;
    for row in &unused {
        say(format!("  never: {row}"))?;
    }
    if args.rows {
        for run in runs {
            say(format!(
                "\n{}, {}: times | side | states | events | when | actions | next",
                run.protocol, run.set.name
            ))?;
            for (row, times) in &run.rows {
                say(format!("{times:>10} | {row}"))?;
            }
        }
    }
    for run in runs {
        if let Some(trace) = &run.trace {
            say(format!(
                "\n{}, {}: the shortest way to a violation\n{}",
                run.protocol,
                run.set.name,
                trace.trim_end()
            ))?;
        }
    }
    Ok(())
}

fn write_csv(runs: &[Run], config: Config, path: &Path) -> Outcome {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS).map_err(Failure::check)?;
    for record in records(runs, config) {
        writer.write_record(record).map_err(Failure::check)?;
    }
    let bytes = writer.into_inner().map_err(|error| Failure::check(anyhow!("{error}")))?;
    weft_output::write(path, &bytes).map_err(Failure::check)
}

/// One line on the terminal.
fn show(protocol: &str, set: &str, at: Progress) {
    eprint!("\r\x1b[K{protocol}, {set}: depth {}, {} states", at.depth, at.states);
    // Without it the line would wait for its end.
    let _ = std::io::stderr().flush();
}
