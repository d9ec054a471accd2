//! Co-simulation: the exported Verilog of a module under another simulator against the engine, all outputs, every cycle.
//!
//! One random run is recorded on the engine; its inputs are then replayed by Verilator (compiled, two-state) or Icarus Verilog
//! (four-state: an unknown value that reaches an output is a failure). The same recording exports as a self-checking testbench that any
//! simulator can run.
//!
//! Reset is held for [`RESET_CYCLES`] with all inputs 0; outputs are compared before the clock edge of every cycle after it.

mod bench;
mod icarus;
mod legal;
mod ports;
mod program;
mod random;
mod record;
mod stimulus;
mod verilator;

pub use bench::{BenchError, BenchOptions, BenchResult, EngineBench, VerilatorBench, peak_memory};
pub use icarus::export_testbench;
pub use ports::{Channel, Port, Ports};
pub use program::record_program;
pub use random::Xorshift;
pub use record::{RecordError, Recorder, Recording};
pub use stimulus::Traffic;

use crate::external::ToolError;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use weft_engine::EngineError;
use weft_rtl::ir::Module;
use weft_rtl::verilog::{VerilogFile, emit};

/// Cycles in which reset is held, with all inputs 0.
pub const RESET_CYCLES: u32 = 4;

/// The other simulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum With {
    /// Verilator: compiled C++, two-state.
    Verilator,
    /// Icarus Verilog: interpreted, four-state.
    Icarus,
}

impl With {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            With::Verilator => "verilator",
            With::Icarus => "iverilog",
        }
    }
}

/// What memories hold at power-up in a four-state simulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Memories {
    /// Zero, as in the engine.
    Zero,
    /// Unknown values, as in silicon.
    Unknown,
}

/// How a comparison is run.
#[derive(Clone, Debug)]
pub struct CosimOptions {
    /// Cycles after reset.
    pub cycles: u64,
    /// Seed of the random stimulus.
    pub seed: u64,
    /// What the ports carry.
    pub traffic: Traffic,
    /// The other simulator.
    pub with: With,
    /// A four-state simulator's unknown memory content that reaches an output is a failure, not a remark. Random messages may ask for what
    /// was never written (an answer that nobody waits for); traffic that the block's neighbours can produce may not.
    pub strict: bool,
    /// Folder for all files; made if it does not exist.
    pub workdir: PathBuf,
    /// How the engine runs.
    pub engine: weft_engine::Options,
    /// Command that runs this comparison, without cycles, seed and simulator: what a failure tells the user to run again.
    pub command: String,
}

impl CosimOptions {
    /// 100 000 cycles with seed 1.
    pub fn new(module: &Module, with: With, workdir: impl Into<PathBuf>) -> CosimOptions {
        CosimOptions {
            cycles: 100_000,
            seed: 1,
            traffic: Traffic::Both,
            with,
            strict: false,
            workdir: workdir.into(),
            engine: weft_engine::Options::default(),
            command: format!("weft cosim {}", module.name),
        }
    }

    fn replay(&self, cycles: u64) -> String {
        // The traffic of `Both` changes after three quarters of the run, so only the whole run brings it back.
        let (cycles, traffic) = match self.traffic {
            Traffic::Both => (self.cycles, ""),
            Traffic::Channels => (cycles, " --traffic channels"),
            Traffic::Raw => (cycles, " --traffic raw"),
        };
        format!(
            "{} --cycles {cycles} --seed {} --with {}{traffic}",
            self.command,
            self.seed,
            self.with.name()
        )
    }
}

/// What was compared.
#[derive(Clone, Debug)]
pub struct CosimReport {
    /// Name of the top module.
    pub module: String,
    /// The other simulator.
    pub with: With,
    /// Cycles compared.
    pub cycles: u64,
    /// Output ports compared in each cycle.
    pub outputs: usize,
    /// Output bits compared in each cycle.
    pub output_bits: u32,
    /// Transfers seen on channels, both directions.
    pub transfers: u64,
    /// Cycle of the last transfer: nothing passes after it, whatever is offered.
    pub last_transfer: Option<u64>,
    /// Output ports that are no constants of the hardware.
    pub outputs_that_can_move: usize,
    /// Of those, the ones that took more than one value; a run in which few do proves little.
    pub outputs_that_moved: usize,
    /// The others that can.
    pub outputs_still: Vec<String>,
    /// The first output that depends on memory content at power-up, seen by a four-state simulator.
    pub unknown: Option<Difference>,
    /// Time of the engine's run.
    pub engine_time: Duration,
    /// Time of the other simulator: building and running.
    pub other_time: Duration,
}

impl fmt::Display for CosimReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: engine and {} agree in {} cycles on {} outputs ({} bits, {} of {} that can change did, {} \
             transfers",
            self.module,
            self.with.name(),
            self.cycles,
            self.outputs,
            self.output_bits,
            self.outputs_that_moved,
            self.outputs_that_can_move,
            self.transfers
        )?;
        match self.last_transfer {
            Some(last) if last + self.cycles / 10 < self.cycles => write!(f, ", the last in cycle {last})")?,
            _ => write!(f, ")")?,
        }
        if !self.outputs_still.is_empty() {
            write!(f, "; unchanged: {}", some_of(&self.outputs_still))?;
        }
        match &self.unknown {
            None => Ok(()),
            Some(at) => write!(
                f,
                "; with unknown memories at power-up, {} shows one in cycle {} of this traffic",
                at.port, at.cycle
            ),
        }
    }
}

/// The first few of a list of names, and how many more there are.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The first cycle in which the two simulators differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Cycle after reset, from 0.
    pub cycle: u64,
    /// Output port.
    pub port: String,
    /// The engine's value, hexadecimal.
    pub engine: String,
    /// The other simulator's value, hexadecimal; with `x` digits where it is unknown.
    pub other: String,
}

/// Why a comparison gave no agreement.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum CosimError {
    #[error("{module}: output {} differs in cycle {}: engine {}, {} {}; replay: {replay}", .at.port, .at.cycle, .at.engine, .with.name(), .at.other)]
    Differs { module: String, with: With, at: Box<Difference>, replay: String },
    #[error(
        "{module}: an unknown value reaches output {} in cycle {}: engine {}, {} {}: clear the state it comes from; replay: {replay}",
        .at.port, .at.cycle, .at.engine, .with.name(), .at.other
    )]
    XEscapes { module: String, with: With, at: Box<Difference>, replay: String },
    #[error("{module} has no outputs, so there is nothing to compare")]
    NoOutputs { module: String },
    #[error("{module}: {stood} in {cycles} cycles, so agreement would say nothing; {remedy}")]
    Still { module: String, cycles: u64, stood: &'static str, remedy: String },
    #[error("the simulation of {module} ended without a verdict; it said: {said}")]
    NoVerdict { module: String, said: String },
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// Runs a module on the engine and its Verilog on another simulator with the same random stimulus, and compares every output in every cycle.
///
/// # Errors
/// [`CosimError`]: the first difference with its replay command, a module that the engine refuses, or a missing tool.
pub fn cosim(module: &Arc<Module>, options: &CosimOptions) -> Result<CosimReport, CosimError> {
    let start = Instant::now();
    let run = Recording::random(module, options.cycles, options.seed, options.traffic, options.engine)?;
    cosim_recorded(module, &run, start.elapsed(), options)
}

/// Replays a recorded run of the module on its Verilog and compares every output in every cycle. Of the options, cycles, seed and traffic
/// only say in a failure how the run came about.
///
/// # Errors
/// As [`cosim`].
pub fn cosim_recorded(
    module: &Arc<Module>,
    run: &Recording,
    engine_time: Duration,
    options: &CosimOptions,
) -> Result<CosimReport, CosimError> {
    if run.ports.outputs.is_empty() {
        return Err(CosimError::NoOutputs { module: module.name.clone() });
    }
    refuse_still(module, run, options)?;
    make_folder(&options.workdir)?;
    let sources = write_files(&options.workdir, &emit(module))?;
    let start = Instant::now();
    let unknown = match options.with {
        With::Verilator => {
            let said = verilator::replay(module, run, &sources, &options.workdir)?;
            verdict(module, run, options, &said)?;
            None
        }
        With::Icarus => with_icarus(module, run, &sources, options)?,
    };
    Ok(CosimReport {
        module: module.name.clone(),
        with: options.with,
        cycles: run.cycles(),
        outputs: run.ports.outputs.len(),
        output_bits: run.ports.outputs.iter().map(|p| p.width).sum(),
        transfers: run.transfers,
        last_transfer: run.last_transfer,
        outputs_that_can_move: run.can_move(),
        outputs_that_moved: run.moved(),
        outputs_still: run.still().into_iter().map(String::from).collect(),
        unknown,
        engine_time,
        other_time: start.elapsed(),
    })
}

/// A run in which nothing happens is equal in every simulator.
fn refuse_still(module: &Module, run: &Recording, options: &CosimOptions) -> Result<(), CosimError> {
    let silent = !run.ports.channels.is_empty() && run.transfers == 0;
    let stood = match (run.moved(), silent) {
        (0, _) => "no output changed",
        (_, true) => "no message passed a channel",
        (_, false) => return Ok(()),
    };
    Err(CosimError::Still {
        module: module.name.clone(),
        cycles: run.cycles(),
        stood,
        remedy: format!(
            "take more cycles or another seed ({} --cycles {} --seed {})",
            options.command,
            (10 * run.cycles()).max(1_000),
            options.seed + 1
        ),
    })
}

/// First with unknown memories; where those show at an output, once more with cleared ones.
fn with_icarus(
    module: &Arc<Module>,
    run: &Recording,
    sources: &[PathBuf],
    options: &CosimOptions,
) -> Result<Option<Difference>, CosimError> {
    let attempt = |memories| {
        let said = icarus::replay(module, run, sources, &options.workdir, memories)?;
        verdict(module, run, options, &said)
    };
    match attempt(Memories::Unknown) {
        Err(CosimError::XEscapes { at, .. } | CosimError::Differs { at, .. }) if !options.strict => {
            attempt(Memories::Zero)?;
            Ok(Some(*at))
        }
        other => other.map(|()| None),
    }
}

/// Reads `PASS N` or `FAIL cycle N port P expected H got H` from a simulation's output.
fn verdict(module: &Module, run: &Recording, options: &CosimOptions, said: &str) -> Result<(), CosimError> {
    let line = said.lines().find(|l| l.starts_with("PASS") || l.starts_with("FAIL"));
    let words: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
    match words.as_slice() {
        ["PASS", cycles, ..] if cycles.parse() == Ok(run.cycles()) => Ok(()),
        ["FAIL", "cycle", cycle, "port", port, "expected", engine, "got", other] => {
            let cycle: u64 = cycle.parse().unwrap_or_default();
            let (engine, other) = (engine.to_string(), other.to_string());
            let unknown = other.contains(['x', 'X', 'z', 'Z']);
            let at = Box::new(Difference { cycle, port: port.to_string(), engine, other });
            let (module, with, replay) = (module.name.clone(), options.with, options.replay(cycle + 1));
            Err(if unknown {
                CosimError::XEscapes { module, with, at, replay }
            } else {
                CosimError::Differs { module, with, at, replay }
            })
        }
        _ => {
            let tail: Vec<&str> = said.lines().rev().take(5).collect();
            let said = tail.into_iter().rev().collect::<Vec<_>>().join(" / ");
            Err(CosimError::NoVerdict { module: module.name.clone(), said })
        }
    }
}

fn make_folder(folder: &Path) -> Result<(), ToolError> {
    fs::create_dir_all(folder).map_err(|cause| file_error(folder, "created", cause))
}

fn file_error(path: &Path, action: &'static str, cause: io::Error) -> ToolError {
    ToolError::File { path: path.to_path_buf(), action, cause }
}

fn write_file(path: &Path, content: impl AsRef<[u8]>) -> Result<(), ToolError> {
    fs::write(path, content).map_err(|cause| file_error(path, "written", cause))
}

/// Writes files into a folder; their paths.
fn write_files(folder: &Path, files: &[VerilogFile]) -> Result<Vec<PathBuf>, ToolError> {
    files
        .iter()
        .map(|file| {
            let path = folder.join(&file.name);
            write_file(&path, &file.text)?;
            Ok(path)
        })
        .collect()
}

#[cfg(test)]
mod tests;
