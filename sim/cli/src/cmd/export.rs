//! `weft export`: Verilog, one file per module, a file list, and a self-checking testbench; on demand behind a port of bytes, or as the top of a board with its constraints.

use crate::failure::{Failure, Outcome, say};
use crate::output;
use crate::params::BlockArgs;
use anyhow::anyhow;
use std::path::PathBuf;
use std::sync::Arc;
use weft_host::board::{BOARDS, Board};
use weft_host::{Interface, hosted, with_uart};
use weft_rtl::ir::Module;
use weft_rtl::verilog::{VerilogFile, emit, file_list};
use weft_tools::cosim::{Recording, Traffic, export_testbench};

/// Arguments of `weft export`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    block: BlockArgs,
    /// Folder for the files; made if it does not exist.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Adds a testbench that replays a recorded random run and checks every output in every cycle.
    #[arg(long)]
    testbench: bool,
    /// Cycles of the testbench's run.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000), requires = "testbench")]
    cycles: u64,
    /// Seed of the testbench's run.
    #[arg(long, default_value_t = 1, requires = "testbench")]
    seed: u64,
    /// Puts the block behind a port of bytes: frames on two byte channels (`weft host` speaks them).
    #[arg(long, conflicts_with = "board")]
    host: bool,
    /// Puts the block behind a UART into the top module of a board (ulx3s-85f), with its constraints.
    #[arg(long, value_name = "BOARD", conflicts_with = "testbench")]
    board: Option<String>,
    /// Baud rate of the board's serial line.
    #[arg(long, default_value_t = 115_200, requires = "board")]
    baud: u64,
}

/// Name of the list of the design's files, for `verilator -f` and `iverilog -c`.
const LIST: &str = "files.f";
/// Name of the list of the design's files and the testbench.
const BENCH_LIST: &str = "testbench.f";
/// Name of the list of frames that a hosted block understands.
const INTERFACE: &str = "interface.txt";

/// Runs the verb.
///
/// # Errors
/// A wrong block or parameter; a folder that cannot be written.
pub fn run(args: &Args) -> Outcome {
    let block = args.block.build()?;
    if let Some((name, key, value)) = weft_catalog::simulation_only(&block) {
        return Err(Failure::input(anyhow!(
            "module {name} is for simulation only ({key} = {value}) and is not exported; choose another value"
        )));
    }
    let Design { module, beside } = design(args, block)?;
    let mut files = emit(&module);
    let list = file_list(&files);
    if args.testbench {
        let run = Recording::random(
            &module,
            args.cycles,
            args.seed,
            Traffic::Channels,
            weft_engine::Options::default(),
        )
        .map_err(Failure::input)?;
        let bench = export_testbench(&module, &run);
        files.push(VerilogFile { name: BENCH_LIST.into(), text: format!("{list}{}\n", bench[0].name) });
        files.extend(bench);
    }
    let list = beside.iter().filter(|f| f.name.ends_with(".v")).fold(list, |list, f| list + &f.name + "\n");
    files.push(VerilogFile { name: LIST.into(), text: list });
    files.extend(beside);
    let files: Vec<(String, String)> = files.into_iter().map(|file| (file.name, file.text)).collect();
    output::folder(&args.out, &files).map_err(|e| {
        let out = args.out.display();
        Failure::input(anyhow!("cannot write to {out}: {e}; name a folder that can be written with --out"))
    })?;
    let top = if args.board.is_some() { "top" } else { module.name.as_str() };
    say(format!("wrote {} files to {}; top module {top}", files.len(), args.out.display()))?;
    if args.testbench {
        let top = &module.name;
        say(format!(
            "to run the testbench there: iverilog -g2005 -s tb_{top} -c {BENCH_LIST} -o tb.vvp && vvp -n tb.vvp"
        ))?;
    }
    Ok(())
}

/// What is exported: a module, and files beside its own.
struct Design {
    module: Arc<Module>,
    beside: Vec<VerilogFile>,
}

/// The block as it is, behind a port of bytes, or on a board.
fn design(args: &Args, block: Arc<Module>) -> Result<Design, Failure> {
    let frames = |interface: &Interface| VerilogFile { name: INTERFACE.into(), text: interface.listing() };
    if args.host {
        let (module, interface) = hosted(&block).map_err(Failure::input)?;
        return Ok(Design { module, beside: vec![frames(&interface)] });
    }
    let Some(name) = &args.board else { return Ok(Design { module: block, beside: Vec::new() }) };
    let board = Board::named(name).ok_or_else(|| {
        let remedy = weft_names::choice(name, BOARDS.iter().map(|board| board.name));
        Failure::input(anyhow!("there is no board {name}; {remedy}"))
    })?;
    let clocks = board.clocks_per_bit(args.baud).ok_or_else(|| {
        let (baud, hertz) = (args.baud, board.hertz);
        Failure::input(anyhow!(
            "{baud} baud cannot be made from the {hertz} Hz of {name} within 2 %; choose another, for example 115200 or 1000000"
        ))
    })?;
    let (module, interface) = with_uart(&block, clocks).map_err(Failure::input)?;
    let file = |name: String, text: &str| VerilogFile { name, text: text.into() };
    let top = file("top.v".into(), &board.top(&module.name));
    let pins = file(format!("{name}.lpf"), board.constraints);
    Ok(Design { module, beside: vec![frames(&interface), top, pins] })
}
