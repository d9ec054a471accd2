//! `weft explore`: every interleaving of a tiny system, on the hardware itself. One file per family.

mod directory;
mod gtsc;
mod hmesi;
mod mgcc;
mod spandex;
mod srsp;

use crate::failure::{Failure, Outcome, say};
use crate::proved::explored::{self, Row};
use anyhow::anyhow;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;
use weft_engine::digest::Digest;
use weft_explore::guess::OfNet;
use weft_explore::net::{Net, World};
use weft_explore::report;
use weft_explore::search::{Explored, Limits, Progress, Violation};

/// What can be explored.
#[derive(clap::Subcommand)]
enum What {
    /// L1s, banks, lanes with their TSUs, relays and epoch controller of MGPU-TSM with MGCC.
    Mgcc(mgcc::Args),
    /// L1s, banks, relay and epoch controller of a GPU with G-TSC.
    Gtsc(gtsc::Args),
    /// L1s, banks, directory slices, fence units and INV networks of a protocol of `rec-4gpu` and `hmg-4gpu`.
    Directory(directory::Args),
    /// CPU L1s with their clients, a GPU L2 with its CUs, and the L3 of the hierarchical baseline, H-MESI.
    Hmesi(hmesi::Args),
    /// L1s and an L2 bank of a protocol of `srsp-64cu`: sRSP, bRSP, sRSPOpt, hLRC, DeNovo-B.
    Srsp(srsp::Args),
    /// L1s with their translation units and a bank of the LLC, of any mix of coherence: MESI, Flex, DeNovo, GPU.
    Spandex(spandex::Args),
}

/// Arguments of `weft explore`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

/// Runs the verb.
///
/// # Errors
/// Values out of their range; a violation; a waveform that cannot be written.
pub fn run(args: &Args) -> Outcome {
    match &args.what {
        What::Mgcc(args) => mgcc::run(args),
        What::Gtsc(args) => gtsc::run(args),
        What::Directory(args) => directory::run(args),
        What::Hmesi(args) => hmesi::run(args),
        What::Srsp(args) => srsp::run(args),
        What::Spandex(args) => spandex::run(args),
    }
}

/// How far an exploration goes, and what is left of it.
#[derive(clap::Args)]
struct Ends {
    /// Also looks for states from which not everything can be answered any more (keeps every transition).
    #[arg(long)]
    live: bool,
    /// Most clock cycles of a block after each other.
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// Most states.
    #[arg(long, default_value_t = 100_000_000, value_name = "N")]
    states: usize,
    /// Writes the registers of all blocks on the way to a violation, .vcd or .fst.
    #[arg(long, value_name = "FILE")]
    waves: Option<PathBuf>,
    /// Names the rows of the tables and the races that were not reached, each with why.
    #[arg(long)]
    unreached: bool,
    /// Notes the result in this table with commas, in the place of that of older hardware; what is in it is not explored again.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

impl Ends {
    fn limits(&self) -> Limits {
        Limits { states: self.states, depth: self.depth.unwrap_or(usize::MAX), live: self.live }
    }

    /// What the record has of this command, on this hardware.
    fn known<W: World>(&self, net: &Net<W>) -> Result<Option<Row>, Failure> {
        let Some(file) = &self.record else { return Ok(None) };
        let (command, hardware) = (command(std::env::args()), fingerprint(net));
        let rows = explored::read(file).map_err(Failure::Input)?;
        Ok(rows.into_iter().find(|row| row.command == command && row.hardware == hardware))
    }

    /// Tells what is recorded.
    fn tell(&self, row: &Row) -> Outcome {
        let Row { command, end, states, depth, reached, rows, .. } = row;
        say(format!(
            "recorded: {command}: {end}; states {states}, depth {depth}, rows and races {reached} of {rows}"
        ))?;
        match row.is_violation() {
            true => Err(Failure::check(anyhow!("{end}"))),
            false => Ok(()),
        }
    }

    /// Notes what was found.
    fn note<W: World>(&self, net: &Net<W>, found: &Explored) -> Outcome {
        let Some(file) = &self.record else { return Ok(()) };
        let end = match (&found.violation, found.complete) {
            (Some(violation), _) => violation.text.lines().next().unwrap_or_default(),
            (None, true) => "all",
            (None, false) if found.states == 0 => "walks",
            (None, false) => "limit",
        };
        let (reached, rows) = report::covered(&net.blocks);
        let way = found.violation.as_ref().map_or(found.depth, |violation| violation.path.len());
        let row = Row {
            command: command(std::env::args()),
            hardware: fingerprint(net),
            end: end.to_string(),
            states: found.states as u64,
            depth: way as u64,
            reached: reached.len() as u64,
            rows: rows.len() as u64,
        };
        explored::add(file, row).map_err(Failure::Input)
    }

    /// Explores a system, unless that is recorded, and tells what was found.
    fn explored<S: OfNet>(
        &self,
        system: &mut S,
        (table, counterexample): Told<S>,
        search: impl FnOnce(&mut S) -> Explored,
    ) -> Outcome {
        if let Some(row) = self.known(system.net())? {
            return self.tell(&row);
        }
        let found = search(system);
        say(table(system, &found, self.unreached).trim_end())?;
        self.note(system.net(), &found)?;
        let Some(violation) = &found.violation else { return Ok(()) };
        say(format!("\n{}", counterexample(system, violation).trim_end()))?;
        if let Some(file) = &self.waves {
            weft_explore::wave::write(system, &violation.path, file).map_err(Failure::input)?;
            say(format!("\nwaveform {}: time is the number of the action", file.display()))?;
        }
        Err(Failure::check(anyhow!("{}", violation.text)))
    }
}

/// How a family tells what was found, with the rows that were not reached or without, and the way to a violation.
type Told<S> = (fn(&S, &Explored, bool) -> String, fn(&mut S, &Violation) -> String);

/// All blocks of a net with what is between them.
fn fingerprint<W: World>(net: &Net<W>) -> String {
    let mut digest = Digest::default();
    net.blocks.iter().for_each(|block| digest.add(&block.design.fingerprint().to_le_bytes()));
    format!("{:016x}", digest.value())
}

/// What stands behind `weft explore`, without what only says where something is written or how much is told.
fn command(words: impl Iterator<Item = String>) -> String {
    let mut words = words.skip_while(|word| word != "explore").skip(1);
    let mut kept: Vec<String> = Vec::new();
    while let Some(word) = words.next() {
        match word.split('=').next() {
            Some("--record" | "--waves") if !word.contains('=') => drop(words.next()),
            Some("--record" | "--waves" | "--unreached") => {}
            _ => kept.push(quoted(&word)),
        }
    }
    kept.join(" ")
}

/// A word as it is typed.
fn quoted(word: &str) -> String {
    if word.contains(' ') { format!("\"{word}\"") } else { word.to_string() }
}

/// Explores, with one line on the terminal that tells how far it is.
fn shown(explore: impl FnOnce(&mut dyn FnMut(Progress)) -> Explored) -> Explored {
    let (start, shown) = (Instant::now(), std::io::stderr().is_terminal());
    let found = explore(&mut |at| {
        if shown {
            show(at, start);
        }
    });
    if shown {
        eprint!("\r\x1b[K");
    }
    found
}

/// One line on the terminal.
fn show(at: Progress, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    let speed = at.states as f64 / seconds.max(0.001);
    eprint!("\r\x1b[Kdepth {}, {} states, {:.0} states/s", at.depth, at.states, speed);
    // Without it the line would wait for its end.
    let _ = std::io::stderr().flush();
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_command_is_noted_without_its_files() {
        let words =
            ["weft", "explore", "directory", "--record", "r.csv", "--ops", "LD X,ACQ", "--waves=w.vcd"];
        let words = words.into_iter().chain(["--unreached", "--budget=2"]).map(String::from);
        assert_eq!(super::command(words), "directory --ops \"LD X,ACQ\" --budget=2");
    }
}
