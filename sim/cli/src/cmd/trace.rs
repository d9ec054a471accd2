//! `weft trace`: what a trace holds, and the same trace in another format.

use crate::failure::{Failure, Outcome, say};
use crate::trace::{TraceArgs, digest};
use anyhow::anyhow;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use weft_workload::trace::{Counts, Trace, TraceRead, binary, read_with, short_name, text};

/// Arguments of `weft trace`.
#[derive(clap::Args)]
pub struct Args {
    /// A folder of Accel-Sim traces (kernelslist.g), a .wtrace or .wtrb, also .gz, .xz or .zst.
    trace: PathBuf,
    /// Writes the trace to this file, as its ending says: .wtrace, text, or .wtrb, compact.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Prints the counts as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: TraceArgs,
}

/// A trace in numbers.
#[derive(Serialize)]
struct Summary {
    trace: String,
    digest: String,
    lanes: u32,
    copies: u64,
    copied_bytes: u64,
    /// All that was read, and what was left out of it.
    read: TraceRead,
    kernels: Vec<Counts>,
    /// Opcodes of an import that are in no table, with how often they came.
    unknown_opcodes: BTreeMap<String, u64>,
}

/// Runs the verb.
///
/// # Errors
/// A trace that cannot be read, with its place; a file that cannot be written.
pub fn run(args: &Args) -> Outcome {
    let (trace, read) = read_with(&args.trace, &args.reading.options()).map_err(Failure::input)?;
    if let Some(out) = &args.out {
        write(&trace, out)?;
    }
    let summary = Summary {
        trace: short_name(&args.trace),
        digest: digest(&trace),
        lanes: trace.lanes,
        copies: read.copies,
        copied_bytes: read.copied_bytes.unwrap_or(0),
        kernels: trace.kernels().map(Counts::of).collect(),
        unknown_opcodes: read.unknown_opcodes.clone(),
        read,
    };
    match args.json {
        true => say(serde_json::to_string_pretty(&summary).map_err(Failure::check)?),
        false => show(&summary),
    }
}

fn write(trace: &Trace, out: &Path) -> Outcome {
    let bytes = match out.extension().and_then(|ending| ending.to_str()) {
        Some("wtrace") => text::write(trace).into_bytes(),
        Some("wtrb") => binary::write(trace),
        _ => {
            let out = out.display();
            return Err(Failure::input(anyhow!(
                "--out {out}: the ending says no format of traces; give a file .wtrace (text) or .wtrb (compact)"
            )));
        }
    };
    weft_output::write(out, &bytes).map_err(|cause| Failure::input(anyhow!("--out {cause}")))
}

fn show(summary: &Summary) -> Outcome {
    let Summary { trace, digest, lanes, copies, copied_bytes, .. } = summary;
    say(format!("{trace}: {lanes} lanes, {copies} copies of {copied_bytes} bytes in all, digest {digest}"))?;
    say(summary.read.sentence())?;
    let wide = summary.kernels.iter().map(|c| c.kernel.len().min(40)).max().unwrap_or(0).max(6);
    let row = |cells: [&str; 11]| {
        let [kernel, rest @ ..] = cells;
        let rest: Vec<String> = rest.iter().map(|cell| format!("{cell:>10}")).collect();
        format!("{kernel:<wide$} {}", rest.join(" "))
    };
    say(row([
        "kernel",
        "blocks",
        "waves",
        "compute",
        "loads",
        "stores",
        "atomics",
        "scratchpad",
        "fences",
        "barriers",
        "bytes",
    ]))?;
    for c in &summary.kernels {
        let name: String = c.kernel.chars().take(40).collect();
        let waves = c.waves as u64;
        let numbers = [
            u64::from(c.blocks),
            waves,
            c.compute,
            c.loads,
            c.stores,
            c.atomics,
            c.scratchpad,
            c.fences,
            c.barriers,
            c.touched_bytes,
        ];
        let numbers = numbers.map(|number| number.to_string());
        let mut cells = [""; 11];
        cells[0] = &name;
        cells[1..].iter_mut().zip(&numbers).for_each(|(cell, number)| *cell = number);
        say(row(cells))?;
    }
    for (opcode, count) in &summary.unknown_opcodes {
        say(format!("unknown opcode {opcode}, {count} times, taken as arithmetic of 4 ticks"))?;
    }
    Ok(())
}
