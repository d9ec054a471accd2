//! `weft explore`: every interleaving of a tiny system, on the hardware itself. One file per family.

mod directory;
mod mgcc;

use crate::failure::{Failure, Outcome, say};
use anyhow::anyhow;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;
use weft_explore::net::{Net, World};
use weft_explore::search::{Explored, Limits, Progress, Violation};

/// What can be explored.
#[derive(clap::Subcommand)]
enum What {
    /// L1s, banks, lanes with their TSUs, relays and epoch controller of MGPU-TSM with MGCC.
    Mgcc(mgcc::Args),
    /// L1s, banks, directory slices, fence units and INV networks of a protocol of `rec-4gpu` and `hmg-4gpu`.
    Directory(directory::Args),
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
        What::Directory(args) => directory::run(args),
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
}

impl Ends {
    fn limits(&self) -> Limits {
        Limits { states: self.states, depth: self.depth.unwrap_or(usize::MAX), live: self.live }
    }

    /// Writes the waveform of a violation that has been told.
    fn violated<W: World>(&self, net: &mut Net<W>, violation: &Violation) -> Outcome {
        if let Some(file) = &self.waves {
            weft_explore::wave::write(net, &violation.path, file).map_err(Failure::input)?;
            say(format!("\nwaveform {}: time is the number of the action", file.display()))?;
        }
        Err(Failure::check(anyhow!("{}", violation.text)))
    }
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
