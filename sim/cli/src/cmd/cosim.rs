//! `weft cosim`: the exported Verilog, or the interpreter, against the engine.

mod campaign;
mod unit;

use crate::failure::{Failure, Outcome, say};
use crate::params::BlockArgs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use weft_rtl::ir::Module;
use weft_tools::cosim::{CosimError, CosimOptions, Traffic, With, cosim, cosim_recorded};

/// The name that stands for all blocks.
const ALL: &str = "all";

/// Arguments of `weft cosim`. The block `all` is every block at three parameter sets, with verilator, iverilog and the interpreter.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    block: BlockArgs,
    /// Clock cycles compared: 100000, with `all` and the interpreter 1000000.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    cycles: Option<u64>,
    /// Seed of the random stimulus.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The other simulator: verilator, with `all` each of them.
    #[arg(long, value_enum)]
    with: Option<Other>,
    /// What the ports carry.
    #[arg(long, value_enum, default_value_t = Ports::Both)]
    traffic: Ports,
    /// With iverilog: unknown memory content at power-up that reaches an output is a failure, not a remark.
    #[arg(long)]
    strict: bool,
    /// Of a fabric: this unit alone (such as `gpu0.dir0`), with the traffic that its neighbours send it while the fabric runs a program.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["traffic", "budget", "passed"])]
    unit: Option<String>,
    /// With --unit: the program (see `weft list workloads`).
    #[arg(long, value_name = "NAME", requires = "unit", default_value = "pagerank")]
    workload: String,
    /// Keeps Verilog, stimulus and the other simulator's program in this folder.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// With `all`: no comparison begins after this time.
    #[arg(long, value_name = "SECONDS")]
    budget: Option<u64>,
    /// With `all`: comparisons that passed are noted in this file, and not made again by the same program.
    #[arg(long, value_name = "FILE")]
    passed: Option<PathBuf>,
}

/// Cycles of one comparison.
const CYCLES: u64 = 100_000;

/// What the engine is compared with.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Other {
    /// Verilator on the exported Verilog: compiled, two-state.
    Verilator,
    /// Icarus Verilog on the exported Verilog: interpreted, four-state.
    Iverilog,
    /// The engine's own interpreter: every register and memory, random port values.
    Interpreter,
}

impl Other {
    fn of_campaign(self) -> weft_tools::campaign::Other {
        use weft_tools::campaign::Other as Same;
        match self {
            Other::Verilator => Same::Verilator,
            Other::Iverilog => Same::Iverilog,
            Other::Interpreter => Same::Interpreter,
        }
    }
}

/// What the ports carry.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Ports {
    /// Random messages; a sender holds valid and message until the receiver is ready.
    Channels,
    /// Random values on every port in every cycle, whatever the channel rule says.
    Raw,
    /// Messages for three quarters of the cycles, then raw values.
    Both,
}

/// Runs the verb.
///
/// # Errors
/// A wrong block or parameter; a difference; a missing tool.
pub fn run(args: &Args) -> Outcome {
    if args.block.block == ALL {
        return campaign::run(args);
    }
    if let Some(option) = args.budget.map(|_| "--budget").or(args.passed.as_ref().map(|_| "--passed")) {
        return Err(Failure::input(anyhow::anyhow!(
            "{option} belongs to `weft cosim all`; one comparison has --cycles"
        )));
    }
    if args.unit.is_some() && args.with == Some(Other::Interpreter) {
        return Err(Failure::input(anyhow::anyhow!(
            "--unit is replayed on the unit's Verilog; use --with verilator or iverilog"
        )));
    }
    let cycles = args.cycles.unwrap_or(CYCLES);
    let recorded = args.unit.as_ref().map(|path| unit::record(args, path, cycles)).transpose()?;
    let module = match &recorded {
        Some((module, _)) => module.clone(),
        None => args.block.build()?,
    };
    let with = match args.with.unwrap_or(Other::Verilator) {
        Other::Verilator => With::Verilator,
        Other::Iverilog => With::Icarus,
        Other::Interpreter => return against_interpreter(&module, cycles, args.seed),
    };
    let scratch = match args.keep {
        Some(_) => None,
        None => Some(weft_output::Scratch::new().map_err(Failure::check)?),
    };
    let workdir = match (&args.keep, &scratch) {
        (Some(folder), _) => folder.clone(),
        (None, Some(folder)) => folder.path().to_path_buf(),
        (None, None) => PathBuf::from("."),
    };
    let options = options(args, &module, with, workdir);
    let result = match &recorded {
        Some((module, run)) => cosim_recorded(module, run, Duration::ZERO, &options),
        None => cosim(&module, &options),
    };
    match result {
        Ok(report) if recorded.is_some() => say(report),
        Ok(report) => say(format!(
            "{report}; engine {:.2} s, {} {:.2} s",
            report.engine_time.as_secs_f64(),
            with.name(),
            report.other_time.as_secs_f64()
        )),
        Err(error @ (CosimError::Engine(_) | CosimError::NoOutputs { .. })) => Err(Failure::input(error)),
        Err(error) => Err(Failure::check(error)),
    }
}

/// How the comparison is run.
fn options(args: &Args, module: &Module, with: With, workdir: PathBuf) -> CosimOptions {
    let traffic = match args.traffic {
        Ports::Channels => Traffic::Channels,
        Ports::Raw => Traffic::Raw,
        Ports::Both => Traffic::Both,
    };
    CosimOptions {
        cycles: args.cycles.unwrap_or(CYCLES),
        seed: args.seed,
        traffic,
        strict: args.strict,
        command: format!("weft cosim {}{}", args.block.words(), unit::words(args)),
        ..CosimOptions::new(module, with, workdir)
    }
}

fn against_interpreter(module: &Arc<Module>, cycles: u64, seed: u64) -> Outcome {
    weft_engine::compare::compare(module, cycles, seed).map_err(Failure::check)?;
    say(format!(
        "{}: native code and interpreter agree in {cycles} cycles on every register and memory",
        module.name
    ))
}
