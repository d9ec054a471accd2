//! `weft trace`: what a trace holds, and the same trace in another format.

use crate::cmd::run::writable;
use crate::failure::{Failure, Outcome, say};
use crate::trace::digest;
use anyhow::{Context, anyhow};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use weft_workload::trace::op::TraceOp;
use weft_workload::trace::{Trace, TraceKernel, TraceStep, accel_sim, binary, read, short_name, text};

/// Bytes of the pieces of memory that are counted as touched.
const PIECE: u64 = 64;

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
}

/// What a kernel does.
#[derive(Serialize)]
struct Counts {
    kernel: String,
    blocks: u32,
    waves: usize,
    operations: u64,
    compute: u64,
    loads: u64,
    stores: u64,
    atomics: u64,
    scratchpad: u64,
    fences: u64,
    barriers: u64,
    /// Bytes of global memory touched, in whole pieces of 64.
    touched_bytes: u64,
}

/// A trace in numbers.
#[derive(Serialize)]
struct Summary {
    trace: String,
    digest: String,
    lanes: u32,
    copies: usize,
    copied_bytes: u64,
    kernels: Vec<Counts>,
    /// Opcodes of an import that are in no table, with how often they came.
    unknown_opcodes: BTreeMap<String, u64>,
}

fn counts(kernel: &TraceKernel) -> Counts {
    let mut c = Counts {
        kernel: kernel.name.clone(),
        blocks: kernel.blocks(),
        waves: kernel.waves.len(),
        operations: 0,
        compute: 0,
        loads: 0,
        stores: 0,
        atomics: 0,
        scratchpad: 0,
        fences: 0,
        barriers: 0,
        touched_bytes: 0,
    };
    let mut touched = BTreeSet::new();
    for op in (0..kernel.waves.len()).flat_map(|wave| kernel.ops(wave)).flatten() {
        let count = match &op {
            TraceOp::Compute { .. } => &mut c.compute,
            TraceOp::Load { .. } => &mut c.loads,
            TraceOp::Store { .. } => &mut c.stores,
            TraceOp::Amo { .. } => &mut c.atomics,
            TraceOp::LdsLoad { .. } | TraceOp::LdsStore { .. } => &mut c.scratchpad,
            TraceOp::Fence { .. } => &mut c.fences,
            TraceOp::Barrier => &mut c.barriers,
            TraceOp::Await { .. } | TraceOp::End => continue,
        };
        *count += 1;
        c.operations += 1;
        if let TraceOp::Load { access, .. } | TraceOp::Store { access, .. } | TraceOp::Amo { access, .. } =
            &op
        {
            let lanes = (0..64).filter(|lane| access.mask >> lane & 1 == 1);
            touched.extend(lanes.map(|lane| access.addrs.at(lane) / PIECE));
        }
    }
    c.touched_bytes = touched.len() as u64 * PIECE;
    c
}

/// Runs the verb.
///
/// # Errors
/// A trace that cannot be read, with its place; a file that cannot be written.
pub fn run(args: &Args) -> Outcome {
    let (trace, unknown) = match args.trace.is_dir() {
        true => accel_sim::read(&args.trace).map(|import| (import.trace, import.unknown)),
        false => read(&args.trace).map(|trace| (trace, BTreeMap::new())),
    }
    .map_err(Failure::input)?;
    if let Some(out) = &args.out {
        write(&trace, out)?;
    }
    let copies = trace.steps.iter().filter_map(|step| match step {
        TraceStep::Copy { bytes, .. } => Some(*bytes),
        TraceStep::Kernel(_) => None,
    });
    let summary = Summary {
        trace: short_name(&args.trace),
        digest: digest(&trace),
        lanes: trace.lanes,
        copies: copies.clone().count(),
        copied_bytes: copies.sum(),
        kernels: trace.kernels().map(counts).collect(),
        unknown_opcodes: unknown,
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
    let mut file = writable("--out", out)?;
    let written = file
        .write_all(&bytes)
        .map_err(anyhow::Error::from)
        .and_then(|()| file.persist(out).map(|_| ()).map_err(anyhow::Error::from));
    written.with_context(|| format!("cannot write {}", out.display())).map_err(Failure::Check)
}

fn show(summary: &Summary) -> Outcome {
    let Summary { trace, digest, lanes, copies, copied_bytes, .. } = summary;
    say(format!("{trace}: {lanes} lanes, {copies} copies of {copied_bytes} bytes in all, digest {digest}"))?;
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
