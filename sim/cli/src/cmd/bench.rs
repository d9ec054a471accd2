//! `weft bench`: speed of the engine beside its peers on the same design and the same stimulus.

mod idle;
mod process;
mod program;
mod report;
mod start;

use crate::failure::{Failure, Outcome};
use crate::params::BlockArgs;
use report::{Peer, Report};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use weft_blocks::fabric::{ClosedParams, closed_fabric};
use weft_engine::{BackendKind, Options};
use weft_fabric::config::FabricConfig;
use weft_rtl::ir::Module;
use weft_tools::cosim::{BenchError, BenchOptions, BenchResult, EngineBench, Ports, VerilatorBench};
use weft_tools::external::rust_hdl_peer;

/// Low bits of a line number that vary in the traffic of a block, so that lines meet again: twice the ranges that the published
/// directory can hold.
const LINE_MASK: u64 = (1 << 18) - 1;

/// Arguments of `weft bench`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

/// What is measured.
#[derive(clap::Subcommand)]
enum What {
    /// A block under random messages.
    Block(BlockBench),
    /// A closed fabric: generators in place of the CUs and small memories in place of DRAM, all of it RTL.
    Fabric(FabricBench),
    /// A whole program: CPU time of `weft run`, beside that of another version of this program.
    Program(program::Args),
    /// Time until a fabric can be clocked, at first and with its machine code kept on disk.
    Start(start::Args),
    /// What waveforms, event logs and traces cost: CPU time of a run with each of them over that of the run without.
    Record(program::RecordArgs),
    /// What further threads bring: time of a run on the clock, start-up aside, with one thread over that with several.
    Threads(program::ThreadsArgs),
    /// What idle CUs cost: the closed fabric with few busy CUs, then with twice as many idle ones.
    Idle(idle::Args),
}

/// Arguments of `weft bench block`.
#[derive(clap::Args)]
struct BlockBench {
    #[command(flatten)]
    block: BlockArgs,
    /// Clock cycles timed.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    cycles: u64,
    /// Load: in how many of 16 cycles an idle sender offers a message. 1 is what a directory slice sees while PageRank runs on
    /// rec-4gpu-small (0.06 operations per cycle); 12 keeps a block busy.
    #[arg(long, value_name = "OF_16", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=16))]
    load: u64,
    /// The peers, separated by commas; rust-hdl has a directory only.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "verilator,interpreter")]
    peers: Vec<PeerKind>,
    #[command(flatten)]
    common: Common,
}

/// Arguments of `weft bench fabric`.
#[derive(clap::Args)]
struct FabricBench {
    /// `closed`: 4 GPUs, each 16 L1s and 4 banks; or a fabric (see `weft list fabrics`) or a file, whose hardware is taken.
    #[arg(default_value = "closed")]
    fabric: String,
    /// Key of the fabric's configuration; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Clock cycles timed.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    cycles: u64,
    /// The peers, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "verilator")]
    peers: Vec<PeerKind>,
    #[command(flatten)]
    common: Common,
}

/// What both measurements take.
#[derive(clap::Args)]
struct Common {
    /// Seed of the random stimulus.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs of the engine and of Verilator, which take turns; CPU time is measured.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// Keeps Verilog and Verilator's program in this folder.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// Another simulator.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PeerKind {
    /// Verilator on the exported Verilog, at its fastest settings.
    Verilator,
    /// The engine's own interpreter.
    Interpreter,
    /// rust-hdl 0.46 on a comparable directory of its own; the first time it is built, which takes minutes.
    RustHdl,
}

/// Runs the verb.
///
/// # Errors
/// A wrong block, fabric or parameter; a missing tool; simulators that did not do the same work.
pub fn run(args: &Args) -> Outcome {
    match &args.what {
        What::Block(args) => block(args),
        What::Fabric(args) => fabric(args),
        What::Program(args) => program::run(args),
        What::Start(args) => start::run(args),
        What::Record(args) => program::record(args),
        What::Threads(args) => program::threads(args),
        What::Idle(args) => idle::run(args),
    }
}

fn block(args: &BlockBench) -> Outcome {
    if args.peers.contains(&PeerKind::RustHdl) && !args.block.block.ends_with("-directory") {
        let block = &args.block.block;
        return Err(Failure::input(anyhow::anyhow!(
            "--peers rust-hdl: its design is a directory, not a {block}; name it with rec-directory, group-directory or baseline-directory"
        )));
    }
    let start = Instant::now();
    let module = args.block.build()?;
    let elaboration = start.elapsed().as_secs_f64();
    let lines =
        Ports::of(&module).inputs.into_iter().filter(|p| p.varies.is_none() && p.name.ends_with("_line"));
    let masks = lines.map(|p| (p.name, LINE_MASK)).collect();
    let offer_of_16 = args.load;
    let options = BenchOptions { masks, offer_of_16, ..BenchOptions::new(args.cycles, args.common.seed, "") };
    measure(&args.block.words(), &module, elaboration, options, &args.peers, 20_000, &args.common)
}

fn fabric(args: &FabricBench) -> Outcome {
    if args.peers.contains(&PeerKind::RustHdl) {
        return Err(Failure::input(anyhow::anyhow!(
            "--peers rust-hdl: its design is a directory, not a fabric; use it with `weft bench block rec-directory`"
        )));
    }
    let start = Instant::now();
    let params = closed(&args.fabric, &args.sets)?;
    let module = closed_fabric(&params).map_err(Failure::input)?;
    let elaboration = start.elapsed().as_secs_f64();
    let held = vec![("enable".to_string(), 1)];
    let options = BenchOptions { held, ..BenchOptions::new(args.cycles, args.common.seed, "") };
    let sets: String = args.sets.iter().map(|s| format!(" --set {s}")).collect();
    let design = format!("{}{sets}", args.fabric);
    measure(&design, &module, elaboration, options, &args.peers, 500, &args.common)
}

/// The closed fabric of a name: the bench's own, or that of a configuration.
fn closed(name: &str, sets: &[String]) -> Result<ClosedParams, Failure> {
    let bench = ClosedParams::bench();
    if name == "closed" {
        if let Some(set) = sets.first() {
            return Err(Failure::input(anyhow::anyhow!(
                "--set {set}: the fabric `closed` is fixed; name a fabric of `weft list fabrics` to change keys"
            )));
        }
        return Ok(bench);
    }
    let mut config = FabricConfig::load(name).map_err(Failure::input)?;
    for set in sets {
        config.set(set).map_err(Failure::input)?;
    }
    config.validate().map_err(Failure::input)?;
    let Some(fabric) = config.directory() else {
        return Err(Failure::input(anyhow::anyhow!(
            "{name} is of family {}, which has no closed fabric; name one of family directory",
            config.of.family().name()
        )));
    };
    Ok(ClosedParams { active: fabric.sys.l1s, fabric, ..bench })
}

/// Runs the engine and then every peer.
fn measure(
    design: &str,
    module: &Arc<Module>,
    elaboration_seconds: f64,
    options: BenchOptions,
    peers: &[PeerKind],
    interpreted: u64,
    common: &Common,
) -> Outcome {
    let scratch = weft_output::Scratch::new().map_err(Failure::check)?;
    let workdir = common.keep.clone().unwrap_or_else(|| scratch.path().to_path_buf());
    let options = BenchOptions { workdir, ..options };
    let mut engine = EngineBench::new(module, &options).map_err(sort)?;
    let verilator = peers.contains(&PeerKind::Verilator).then(|| VerilatorBench::new(module, &options));
    let mut verilator = verilator.transpose().map_err(sort)?;
    for _ in 0..common.repeat {
        engine.run();
        verilator.as_mut().map_or(Ok(()), VerilatorBench::run).map_err(sort)?;
    }
    let mut report = Report::new(design, module, &options, elaboration_seconds, engine.result());
    for peer in peers {
        let peer = match peer {
            PeerKind::Verilator => {
                let Some(run) = verilator.take().map(VerilatorBench::result) else { continue };
                agree(module, &report.engine, &run)?;
                Peer::of("verilator", &run)
            }
            PeerKind::Interpreter => Peer::of("interpreter", &interpreter(module, &options, interpreted)?),
            PeerKind::RustHdl => {
                let line = rust_hdl_peer(options.cycles.min(200_000)).map_err(Failure::check)?;
                Peer::foreign(&line).map_err(Failure::check)?
            }
        };
        report.add(peer);
    }
    report.print(common.json)
}

/// The interpreter, for at most `most` cycles, beside the engine for as many.
fn interpreter(module: &Arc<Module>, options: &BenchOptions, most: u64) -> Result<BenchResult, Failure> {
    let short = BenchOptions { cycles: options.cycles.min(most), ..options.clone() };
    let once = |options: &BenchOptions| {
        let mut bench = EngineBench::new(module, options).map_err(sort)?;
        bench.run();
        Ok(bench.result())
    };
    let native = once(&short)?;
    let backend = Options { backend: BackendKind::Interp, ..short.engine };
    let mut run = once(&BenchOptions { engine: backend, ..short })?;
    agree(module, &native, &run)?;
    // It ran in this process, whose peak is the engine's too.
    run.peak_bytes = None;
    Ok(run)
}

/// Both did the same work, or the figures mean nothing.
fn agree(module: &Module, engine: &BenchResult, other: &BenchResult) -> Outcome {
    if (engine.checksum, engine.transfers) == (other.checksum, other.transfers) {
        return Ok(());
    }
    Err(Failure::check(anyhow::anyhow!(
        "{}: engine and {} did not do the same in {} cycles ({} and {} messages, outputs {:x} and {:x}); find the first difference with `weft cosim`",
        module.name,
        other.name,
        other.cycles,
        engine.transfers,
        other.transfers,
        engine.checksum,
        other.checksum
    )))
}

fn sort(error: BenchError) -> Failure {
    match error {
        BenchError::Engine(_) => Failure::input(error),
        _ => Failure::check(error),
    }
}
