//! `weft digest`: hardware and short runs beside their committed digests.

use crate::failure::{Failure, Outcome, say};
use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use weft_digest::agreement::{self, Noted};
use weft_digest::{Kind, Table, TableError};

/// Arguments of `weft digest`. Without `--check` and `--write` it prints the rows of today's hardware.
#[derive(clap::Args)]
pub struct Args {
    /// Blocks and fabrics; all of them, unless some are named.
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
    /// Two short programs on each small fabric under each protocol.
    Runs,
    /// Blocks that Verilator was seen to agree on, from what the tests noted in target/cosim: with --check it fails if a block was not co-simulated at all.
    Cosim,
}

impl Which {
    fn kind(self) -> Option<Kind> {
        match self {
            Which::Blocks => Some(Kind::Blocks),
            Which::Fabrics => Some(Kind::Fabrics),
            Which::Runs => Some(Kind::Runs),
            Which::Cosim => None,
        }
    }
}

/// Runs the verb.
///
/// # Errors
/// Unknown names, a table that cannot be read or written; with `--check` rows that moved.
pub fn run(args: &Args) -> Outcome {
    weft_digest::known(&args.names).map_err(Failure::input)?;
    if args.table == Some(Which::Cosim) {
        return cosim(args);
    }
    let asked = |kind: &Kind| args.table.is_none_or(|which| which.kind() == Some(*kind));
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(asked).collect();
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
    let committed = match args.write && !path.exists() {
        true => None,
        false => Some(today.committed(&path).map_err(Failure::input)?),
    };
    let moved = committed.as_ref().map(|committed| today.moved(committed, whole)).unwrap_or_default();
    moved.iter().try_for_each(|row| say(format!("{}: {row}", kind.file())))?;
    if args.write {
        let written = match committed {
            Some(committed) if !whole => today.over(&committed),
            _ => today,
        };
        written.write(&path).map_err(Failure::input)?;
    }
    Ok(moved.len())
}

fn print(table: &Table) -> Outcome {
    say(table.columns().join("  "))?;
    table.rows().iter().try_for_each(|row| say(row.join("  ")))
}

/// What the co-simulations of the last tests have run, and what not.
fn cosim(args: &Args) -> Outcome {
    let noted = Noted::read(&agreement::notes()).map_err(Failure::input)?;
    let compared: Vec<&str> = noted.verilator.rows().iter().map(|row| row[0].as_str()).collect();
    let all = compared.len() + noted.icarus.len() + noted.missing.len();
    say(format!("{} of {all} blocks co-simulated with Icarus: {}", all - noted.missing.len(), {
        let missing = noted.missing.join(", ");
        if missing.is_empty() { "none is missing".to_string() } else { format!("not {missing}") }
    }))?;
    say(format!(
        "{} of them with Verilator, too{}",
        compared.len(),
        if compared.is_empty() { String::new() } else { format!(": {}", compared.join(", ")) }
    ))?;
    say(format!(
        "{} not with Verilator, which has agreed on the same hardware, engine and harness before ({}): {}",
        noted.icarus.len(),
        args.dir.join(agreement::FILE).display(),
        noted.icarus.join(", ")
    ))?;
    if args.write {
        keep(args, noted.verilator).map_err(Failure::input)?;
    } else if !compared.is_empty() {
        say("`weft digest --table cosim --write` keeps what Verilator agreed on now")?;
    }
    match (args.check, noted.missing.len()) {
        (true, missing) if missing > 0 => Err(Failure::check(anyhow!(
            "{missing} blocks were not co-simulated: run the tests `cosim_blocks::`"
        ))),
        _ => Ok(()),
    }
}

/// Writes the agreements of now over the committed ones.
fn keep(args: &Args, now: Table) -> Result<(), TableError> {
    let path = args.dir.join(agreement::FILE);
    let all = if path.exists() { now.clone().over(&now.committed(&path)?) } else { now };
    all.write(&path)
}
