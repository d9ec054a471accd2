//! The command line: its verbs, and the status that each ends with.

use crate::{cmd, ranks, setup, signals};
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use std::io::Write;
use std::process::ExitCode;
use weft_rtl::mutant;

#[derive(Parser)]
#[command(name = "weft", version = setup::VERSION, about = "A register-level laboratory for multi-GPU cache coherence")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// What there is: blocks, fabrics, workloads or sweeps, with parameters, defaults and legal ranges.
    List(cmd::list::Args),
    /// Writes a crate of one's own, whose blocks, devices, programs and fabrics all commands know.
    New(cmd::new::Args),
    /// Runs a program on a fabric; succeeds only if its result is the host's own.
    Run(Box<cmd::run::Args>),
    /// What brought a line here: its life in a run, from an event log.
    Why(cmd::why::Args),
    /// Results of runs and sweeps, and event logs, as one page for a browser.
    Report(cmd::report::Args),
    /// Makes many runs, several at a time, into one results file, with tables and pictures; goes on where it stopped.
    Sweep(cmd::sweep::Args),
    /// Makes the runs of published figures and sets what was measured beside what was published, in tables, words and pictures; goes on where it stopped.
    Reproduce(cmd::reproduce::Args),
    /// Clocks one block cycle by cycle from a stimulus file.
    Sim(cmd::sim::Args),
    /// Writes a block as Verilog, one file per module, with a file list and on demand a self-checking testbench; or a board's top module around it.
    Export(cmd::export::Args),
    /// Sends requests to a block behind its host port, on a board or on the engine, and prints what comes back.
    Host(cmd::host::Args),
    /// Storage bits by field and in total, and on demand cell counts after synthesis.
    Area(cmd::area::Args),
    /// Compares the exported Verilog with the engine: same random stimulus, all outputs, every cycle.
    Cosim(cmd::cosim::Args),
    /// Random circuits in native code beside the interpreter, Icarus and Verilator; one that differs is made small.
    Circuits(cmd::circuits::Args),
    /// Proves a block's assertions: in all runs of so many cycles after reset, and on demand for ever, by k-induction.
    Prove(cmd::prove::Args),
    /// Every interleaving of a tiny system, on the hardware itself; prints the shortest way to what must not happen.
    Explore(cmd::explore::Args),
    /// Small tests of memory models: what a model allows, by enumeration, and what a fabric shows in many places, layouts and timings.
    Litmus(cmd::litmus::Args),
    /// Random programs on a fabric with random parameters, checked by value and by axioms; a failing one is made small.
    Stress(cmd::stress::Args),
    /// Readers of all files, given what no writer writes: none may panic, hang, or take memory without measure.
    Fuzz(cmd::fuzz::Args),
    /// Judges an execution that `weft run --record` has recorded by the axioms of its memory model, and tells the races of its program.
    Check(cmd::check::Args),
    /// Whether small programs are legal under a memory model, by enumeration: every race with its two accesses.
    Races(cmd::races::Args),
    /// What a trace holds, and the same trace in another format.
    Trace(cmd::trace::Args),
    /// Every state that two abstract coherence protocols can reach: how many, which errors, in what ratio.
    States(cmd::states::Args),
    /// Mutants of a block, each with one place of its logic changed, and what catches them.
    Mutate(cmd::mutate::Args),
    /// What is proved, and by what: tables of the records of explorations, mutants, random programs and proofs.
    Proved(cmd::proved::Args),
    /// Digests of all hardware and of short runs on it, compared with the committed ones: what a change has moved.
    Digest(cmd::digest::Args),
    /// Where the time of a run goes: start-up, modules, models and the engine's own work.
    Profile(cmd::profile::Args),
    /// Speed of the engine beside its peers, on the same design and stimulus, in one run.
    Bench(cmd::bench::Args),
    /// Every table row and every named race with hit count, smallest seed and test.
    Ledger(cmd::ledger::Args),
}

/// Reads the command line and does what it says.
pub fn run() -> ExitCode {
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
    if let Err(error) = signals::install() {
        eprintln!("weft: cannot listen to signals: {error}");
        return ExitCode::from(1);
    }
    if let Some(place) = ranks::place()
        && !matches!(cli.command, Command::Run(_) | Command::Profile(_))
    {
        eprintln!("weft: {}", ranks::refuse(place));
        return ExitCode::from(2);
    }
    if let Some(Err(error)) = mutant::chosen() {
        eprintln!("weft: {}: {error}", mutant::VARIABLE);
        return ExitCode::from(2);
    }
    let result = match cli.command {
        Command::List(args) => cmd::list::run(&args),
        Command::New(args) => cmd::new::run(&args),
        Command::Run(args) => cmd::run::run(&args),
        Command::Why(args) => cmd::why::run(&args),
        Command::Report(args) => cmd::report::run(&args),
        Command::Sweep(args) => cmd::sweep::run(&args),
        Command::Reproduce(args) => cmd::reproduce::run(&args),
        Command::Sim(args) => cmd::sim::run(&args),
        Command::Export(args) => cmd::export::run(&args),
        Command::Host(args) => cmd::host::run(&args),
        Command::Area(args) => cmd::area::run(&args),
        Command::Cosim(args) => cmd::cosim::run(&args),
        Command::Circuits(args) => cmd::circuits::run(&args),
        Command::Prove(args) => cmd::prove::run(&args),
        Command::Explore(args) => cmd::explore::run(&args),
        Command::Litmus(args) => cmd::litmus::run(&args),
        Command::Stress(args) => cmd::stress::run(&args),
        Command::Fuzz(args) => cmd::fuzz::run(&args),
        Command::Check(args) => cmd::check::run(&args),
        Command::Races(args) => cmd::races::run(&args),
        Command::Trace(args) => cmd::trace::run(&args),
        Command::States(args) => cmd::states::run(&args),
        Command::Mutate(args) => cmd::mutate::run(&args),
        Command::Proved(args) => cmd::proved::run(&args),
        Command::Digest(args) => cmd::digest::run(&args),
        Command::Profile(args) => cmd::profile::run(&args),
        Command::Bench(args) => cmd::bench::run(&args),
        Command::Ledger(args) => cmd::ledger::run(&args),
    };
    if let (Some(Ok(planted)), modules) = (mutant::chosen(), mutant::planted())
        && !modules.is_empty()
    {
        // A terminal that is gone is no reason for another status.
        let where_to = modules.join(", ");
        let _ = writeln!(std::io::stderr(), "weft: the mutant {planted} was planted in {where_to}");
    }
    if let (Err(_), Some(error)) = (&result, mutant::refused()) {
        let _ = writeln!(std::io::stderr(), "weft: {}: {error}", mutant::VARIABLE);
        return ExitCode::from(2);
    }
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // A terminal that is gone is no reason for another status.
            let _ = writeln!(std::io::stderr(), "weft: {failure}");
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
