//! The `weft` program: lists, simulates, exports, counts, compares and measures the blocks and fabrics.
//!
//! Exit status: 0 when everything asked for was done and holds, 1 when a run or a check failed, 2 when the user's input was wrong.

mod cmd;
mod failure;
mod params;

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
    /// Clocks one block cycle by cycle from a stimulus file.
    Sim(cmd::sim::Args),
    /// Every table row and every named race with hit count, smallest seed and test.
    Ledger(cmd::ledger::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::List(args) => cmd::list::run(&args),
        Command::Sim(args) => cmd::sim::run(&args),
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
