//! `weft circuits`: random circuits in native code beside those who say what they mean.

use super::stress::whole;
use crate::failure::{Failure, Outcome, quietly, say};
use crate::signals::{self, Graceful};
use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use std::time::Duration;
use weft_digest::agreement;
use weft_rtl::mutant::Kind;
use weft_rtl::verilog::emit;
use weft_tools::circuits::{Campaign, Failing, Made, Peer, Plan, Record, Subject};
use weft_tools::external::Tool;

/// What is drawn, and the exit status.
const MEANING: &str = "\
Circuit N of a seed is a block, or a fabric of two: expressions of all operations on 1 to 200 bits, registers, wires, memories \
of both kinds, channels, parts within parts, nested when and switch. All outputs are compared in every cycle; with the \
interpreter also every register, memory and counter. A circuit that differs is made small and printed as Verilog.\n\n\
Machine code is kept for the next run (WEFT_CODE_CACHE): of circuits that are never seen again it only takes room, so set it \
to nothing for a long campaign.\n\n\
Exit status: 0 if all circuits are the same everywhere; 1 if one differs; 2 if the command is wrong.";

/// Arguments of `weft circuits`.
#[derive(clap::Args)]
#[command(after_help = MEANING)]
pub struct Args {
    /// Circuits, those of the record among them; 1e5 is a hundred thousand.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = whole)]
    count: u64,
    /// Seed of circuits and inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What native code is compared with.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "interpreter")]
    with: Vec<Other>,
    /// Clock cycles of each circuit after reset.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    cycles: u64,
    /// Packs of 100 circuits at a time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: u32,
    /// Seconds after which no pack is begun.
    #[arg(long, value_name = "SECONDS")]
    budget: Option<u64>,
    /// Table of what campaigns have compared: this one goes on where it ends, and is added to it.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Only this circuit, by its number.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["count", "budget", "record", "jobs"])]
    only: Option<u64>,
    /// Runs that making a differing circuit small may take; 0 leaves it as it is.
    #[arg(long, value_name = "RUNS", default_value_t = 400)]
    reduce: u32,
    /// The others get each circuit with a change of this kind, as if they were wrong: whether it is seen.
    #[arg(long, value_name = "KIND", value_parser = Kind::NAMES, conflicts_with = "record")]
    planted: Option<String>,
    /// Prints how often each operation occurred, by width, and the rest of the language.
    #[arg(long)]
    coverage: bool,
}

/// What native code is compared with.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Other {
    /// The engine's interpreter.
    Interpreter,
    /// Icarus Verilog on the exported Verilog: interpreted, four-state.
    Iverilog,
    /// Verilator on the exported Verilog: compiled, two-state.
    Verilator,
}

/// Runs the verb.
///
/// # Errors
/// Wrong input; a missing simulator; a circuit that differs.
pub fn run(args: &Args) -> Outcome {
    let mut record = match &args.record {
        Some(path) => Record::read(path).map_err(Failure::input)?,
        None => Record::default(),
    };
    let plan = plan(args)?;
    let subject = subject(&plan)?;
    let before = record.circuits(&subject);
    let plan = Plan {
        first: args.only.unwrap_or(before),
        count: args.only.map_or(args.count.saturating_sub(before), |_| 1),
        ..plan
    };
    let _graceful = Graceful::new();
    let made = watched(&Campaign::new(plan, signals::flag()), args.count);
    if let Some(path) = args.record.as_deref().filter(|_| made.circuits > 0) {
        record.set(&subject, before + made.circuits);
        record.write(path).map_err(Failure::check)?;
    }
    if args.coverage {
        say(&made.coverage)?;
    }
    if let Some(failing) = &made.failing {
        show(failing)?;
    }
    conclude(args, &subject, &made, before + made.circuits)
}

fn plan(args: &Args) -> Result<Plan, Failure> {
    let of = |other: &Other| match other {
        Other::Interpreter => Peer::Interpreter,
        Other::Iverilog => Peer::Icarus,
        Other::Verilator => Peer::Verilator,
    };
    let mut with: Vec<Peer> = args.with.iter().map(of).collect();
    with.sort();
    with.dedup();
    for peer in &with {
        let tools: &[Tool] = match peer {
            Peer::Interpreter => &[],
            Peer::Icarus => &[Tool::Iverilog, Tool::Vvp],
            Peer::Verilator => &[Tool::Verilator],
        };
        tools.iter().try_for_each(|tool| tool.find().map(drop)).map_err(Failure::input)?;
    }
    Ok(Plan {
        seed: args.seed,
        first: 0,
        count: args.count,
        cycles: args.cycles,
        with,
        budget: args.budget.map(Duration::from_secs),
        jobs: args.jobs as usize,
        planted: args.planted.clone(),
        reduce: args.reduce,
    })
}

fn subject(plan: &Plan) -> Result<Subject, Failure> {
    let with = plan.with.iter().map(|peer| peer.name()).collect::<Vec<_>>().join(" ");
    let sources = agreement::circuits().map_err(|cause| {
        Failure::input(anyhow!("the checkout that this program was built from cannot be read: {cause}"))
    })?;
    Ok(Subject { seed: plan.seed, cycles: plan.cycles, with, sources: format!("{sources:016x}") })
}

fn watched(campaign: &Campaign, count: u64) -> Made {
    let bar = ProgressBar::new(count);
    if let Ok(style) =
        ProgressStyle::with_template("{spinner} {elapsed} {human_pos} of {human_len} circuits, {eta} left")
    {
        bar.set_style(style);
    }
    let made = quietly(|| campaign.run(&|circuits| bar.set_position(circuits)));
    bar.finish_and_clear();
    made
}

/// Prints what is left of a circuit.
fn show(failing: &Failing) -> Outcome {
    let Failing { number, fault, left, shows, runs, .. } = failing;
    say(format!("circuit {number} differs: {fault}"))?;
    say(format!("after {runs} runs this is left of it, which shows: {shows}"))?;
    emit(left).iter().try_for_each(|file| say(&file.text))
}

/// The last sentence, and the status.
fn conclude(args: &Args, subject: &Subject, made: &Made, all: u64) -> Outcome {
    let done = format!(
        "seed {}: {} circuits of {} cycles, {} in all",
        subject.seed, made.circuits, subject.cycles, all
    );
    if let Some(failing) = &made.failing {
        return Err(Failure::check(anyhow!(
            "{done}; circuit {number} differs: weft circuits --seed {} --cycles {} --with {}{} --only {number}",
            subject.seed,
            subject.cycles,
            failing.peer.name(),
            args.planted.as_ref().map(|kind| format!(" --planted {kind}")).unwrap_or_default(),
            number = failing.number,
        )));
    }
    if let Some(signal) = signals::asked() {
        return Err(Failure::signal(signal, &done));
    }
    say(format!("{done}: native code is the same as {}", subject.with.replace(' ', ", ")))
}
