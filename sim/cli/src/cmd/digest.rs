//! `weft digest`: hardware and short runs beside their committed digests.

use crate::failure::{Failure, Outcome, say};
use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use weft_digest::agreement::{Noted, Tool};
use weft_digest::{Kind, Table, TableError};

/// Arguments of `weft digest`. Without `--check` and `--write` it prints the rows of today's hardware.
#[derive(clap::Args)]
pub struct Args {
    /// Blocks, fabrics, or a fabric under some of its keys (rec-4gpu-small,protocol=rec); all of them, unless some are named.
    names: Vec<String>,
    /// Compares with the committed tables and fails with exit status 1 if a row moved.
    #[arg(long, conflicts_with = "write")]
    check: bool,
    /// Rewrites the committed tables, of named blocks and fabrics their rows only, and says what moved.
    #[arg(long)]
    write: bool,
    /// One table only; blocks, fabrics and runs, unless this is given.
    #[arg(long, value_enum)]
    table: Option<Which>,
    /// Folder of the committed tables.
    #[arg(long, value_name = "DIR", default_value = "testbench/digest/committed")]
    dir: PathBuf,
}

/// A table by its name.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    /// Blocks at their parameter sets.
    Blocks,
    /// Fabrics under their protocols.
    Fabrics,
    /// Two short programs on each small fabric under each protocol, as it is and with small caches, tables and queues.
    Runs,
    /// Blocks that Verilator was seen to agree on, from what the tests noted in target/cosim: with --check it fails if a block was not co-simulated at all.
    Cosim,
    /// Modules that Yosys was seen to agree on, from what the tests noted in target/synth: with --check it
    /// fails if a module was not asked about.
    Synth,
}

/// How a table's rows are made.
enum Source {
    /// From today's hardware.
    Hardware(Kind),
    /// From what the tests have noted.
    Notes(Tool),
}

impl Which {
    fn source(self) -> Source {
        match self {
            Which::Blocks => Source::Hardware(Kind::Blocks),
            Which::Fabrics => Source::Hardware(Kind::Fabrics),
            Which::Runs => Source::Hardware(Kind::Runs),
            Which::Cosim => Source::Notes(Tool::Verilator),
            Which::Synth => Source::Notes(Tool::Yosys),
        }
    }
}

/// Runs the verb.
///
/// # Errors
/// Unknown names, a table that cannot be read or written; with `--check` rows that moved.
pub fn run(args: &Args) -> Outcome {
    weft_digest::known(&args.names).map_err(Failure::input)?;
    let kinds = match args.table.map(Which::source) {
        Some(Source::Notes(tool)) => return asked(args, tool),
        Some(Source::Hardware(kind)) => vec![kind],
        None => Kind::ALL.to_vec(),
    };
    let mut moved = 0;
    let mut rows = 0;
    for kind in kinds {
        let today = made(kind, &args.names)?;
        rows += today.rows().len();
        if args.check || args.write {
            moved += compared(args, kind, today)?;
        } else if !today.rows().is_empty() {
            print(&today)?;
        }
    }
    match (moved, args.check, args.write) {
        (0, false, false) => Ok(()),
        (0, ..) => say(format!("{rows} rows, none moved")),
        (moved, false, _) => {
            say(format!("{rows} rows, {moved} moved and are written; review them in the diff"))
        }
        (moved, true, _) => Err(Failure::check(anyhow!(
            "{moved} rows moved: if hardware was meant to change, `weft digest --write` and commit the tables; if not, this change is no refactoring"
        ))),
    }
}

/// The rows of today, with progress on a terminal.
fn made(kind: Kind, names: &[String]) -> Result<Table, Failure> {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg} {pos}/{len} {wide_bar} {eta}") {
        bar.set_style(style);
    }
    bar.set_message(kind.file());
    let done = |_, all: usize| {
        bar.set_length(all as u64);
        bar.inc(1);
    };
    let table = kind.today(names, &done);
    bar.finish_and_clear();
    table.map_err(Failure::check)
}

/// Says what moved, and with `--write` writes it; the number of rows.
fn compared(args: &Args, kind: Kind, today: Table) -> Result<usize, Failure> {
    let path = args.dir.join(kind.file());
    let whole = args.names.is_empty();
    let committed = match today.committed(&path) {
        Ok(committed) => committed,
        Err(_) if args.write && !path.exists() => today.without_rows(),
        // A whole table is written anew; a part of one cannot be.
        Err(cause @ TableError::Columns { .. }) if args.write && whole => {
            say(format!("{cause}: all rows are new"))?;
            today.without_rows()
        }
        Err(cause) => return Err(Failure::input(cause)),
    };
    let moved = today.moved(&committed, whole);
    moved.iter().try_for_each(|row| say(format!("{}: {row}", kind.file())))?;
    if args.write {
        let written = if whole { today } else { today.over(&committed) };
        written.write(&path).map_err(Failure::input)?;
    }
    Ok(moved.len())
}

fn print(table: &Table) -> Outcome {
    say(table.columns().join("  "))?;
    table.rows().iter().try_for_each(|row| say(row.join("  ")))
}

/// What the last tests have asked of a slow tool, and what not.
fn asked(args: &Args, tool: Tool) -> Outcome {
    let committed = tool.committed(&args.dir).map_err(Failure::input)?;
    let wanted: Vec<String> = match tool {
        Tool::Verilator => weft_catalog::blocks().iter().map(|block| block.name.to_string()).collect(),
        Tool::Yosys => committed.rows().iter().map(|row| row[0].clone()).collect(),
    };
    let noted = Noted::read(tool, &tool.notes(), &wanted).map_err(Failure::input)?;
    let looked: Vec<&str> = noted.looked.rows().iter().map(|row| row[0].as_str()).collect();
    let (asked, all) =
        (looked.len() + noted.before.len(), looked.len() + noted.before.len() + noted.missing.len());
    let (what, tools, tests) = match tool {
        Tool::Verilator => ("blocks co-simulated with Icarus", "Verilator and the linters", "cosim_blocks::"),
        Tool::Yosys => ("modules asked about", "Yosys", "synth::"),
    };
    let missing = noted.missing.join(", ");
    let missing = if missing.is_empty() { "none is missing".to_string() } else { format!("not {missing}") };
    say(format!("{asked} of {all} {what}: {missing}"))?;
    let list = if looked.is_empty() { String::new() } else { format!(": {}", looked.join(", ")) };
    say(format!("{} of them looked at by {tools}{list}", looked.len()))?;
    say(format!(
        "{} not, because of the agreement on just this hardware and harness in {}: {}",
        noted.before.len(),
        args.dir.join(tool.file()).display(),
        noted.before.join(", ")
    ))?;
    if args.write {
        let path = args.dir.join(tool.file());
        noted.looked.over(&committed).write(&path).map_err(Failure::input)?;
    } else if !looked.is_empty() {
        let table = if tool == Tool::Verilator { "cosim" } else { "synth" };
        say(format!("`weft digest --table {table} --write` keeps what {tools} agreed on now"))?;
    }
    match (args.check, noted.missing.len()) {
        (true, missing) if missing > 0 => {
            let or = if tool == Tool::Yosys {
                ", or delete the rows of what no test asks about any more"
            } else {
                ""
            };
            Err(Failure::check(anyhow!(
                "{missing} of {all} were not asked about: run the tests `{tests}`{or}"
            )))
        }
        _ => Ok(()),
    }
}
