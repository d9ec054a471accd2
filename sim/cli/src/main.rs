//! The `weft` program: lists, simulates, exports, counts, compares and measures the blocks and fabrics.
//!
//! Exit status: 0 when everything asked for was done and holds, 1 when a run or a check failed, 2 when the user's input was wrong.

mod cmd;
mod failure;
mod params;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "weft", version, about = "A register-level laboratory for multi-GPU cache coherence")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// What there is: blocks, fabrics or workloads, with parameters, defaults and legal ranges.
    List(cmd::list::Args),
    /// Runs a program on a fabric; succeeds only if its result is the host's own.
    Run(Box<cmd::run::Args>),
    /// Clocks one block cycle by cycle from a stimulus file.
    Sim(cmd::sim::Args),
    /// Writes a block as Verilog, one file per module, with a file list and on demand a self-checking testbench.
    Export(cmd::export::Args),
    /// Storage bits by field and in total, and on demand cell counts after synthesis.
    Area(cmd::area::Args),
    /// Compares the exported Verilog with the engine: same random stimulus, all outputs, every cycle.
    Cosim(cmd::cosim::Args),
    /// Speed of the engine beside its peers, on the same design and stimulus, in one run.
    Bench(cmd::bench::Args),
    /// Every table row and every named race with hit count, smallest seed and test.
    Ledger(cmd::ledger::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error)
            if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
        {
            eprintln!("weft: {}", sentence(&error.render().to_string()));
            return ExitCode::from(2);
        }
        Err(help) => help.exit(),
    };
    let result = match cli.command {
        Command::List(args) => cmd::list::run(&args),
        Command::Run(args) => cmd::run::run(&args),
        Command::Sim(args) => cmd::sim::run(&args),
        Command::Export(args) => cmd::export::run(&args),
        Command::Area(args) => cmd::area::run(&args),
        Command::Cosim(args) => cmd::cosim::run(&args),
        Command::Bench(args) => cmd::bench::run(&args),
        Command::Ledger(args) => cmd::ledger::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("weft: {failure}");
            failure.code()
        }
    }
}

/// What the argument parser says over several lines, as one: `error: ` in front and the usage behind are left out, hints are kept.
fn sentence(text: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for paragraph in text.trim_start_matches("error: ").split("\n\n") {
        if !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more information") {
            parts.push(paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    format!("{}; --help shows what there is", parts.join("; "))
}
