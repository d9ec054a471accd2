//! `weft ledger`.

use crate::failure::{Failure, Outcome, say};
use std::path::PathBuf;
use weft_testbench::ledger::Ledger;

/// Arguments of `weft ledger`.
#[derive(clap::Args)]
pub struct Args {
    /// Only the entries of this block.
    block: Option<String>,
    /// Folder with the hits that tests and runs wrote.
    #[arg(long, default_value = "target/ledger")]
    dir: PathBuf,
    /// Fails when an entry was never hit.
    #[arg(long)]
    strict: bool,
}

/// Runs the verb.
///
/// # Errors
/// An unknown block or unreadable ledger files; with `--strict` entries never hit.
pub fn run(args: &Args) -> Outcome {
    let mut ledger = Ledger::default();
    if let Some(block) = &args.block
        && !ledger.blocks().contains(&block.as_str())
    {
        let known = ledger.blocks().join(", ");
        return Err(Failure::input(anyhow::anyhow!("the ledger has no block {block}; it has {known}")));
    }
    if args.dir.exists() {
        ledger.merge_dir(&args.dir).map_err(Failure::input)?;
    } else {
        eprintln!("weft: {} does not exist yet: run the tests first (scripts/test)", args.dir.display());
    }
    say(ledger.render(args.block.as_deref()))?;
    let missing = ledger.never_hit(args.block.as_deref());
    if args.strict && !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|e| e.id.as_str()).collect();
        return Err(Failure::check(anyhow::anyhow!(
            "{} entries were never hit: {}",
            names.len(),
            names.join(", ")
        )));
    }
    Ok(())
}
