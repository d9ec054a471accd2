//! `weft ledger`.

use crate::failure::{Failure, Outcome, say};
use std::path::PathBuf;
use weft_testbench::ledger::ledger;

/// Arguments of `weft ledger`.
#[derive(clap::Args)]
pub struct Args {
    /// Only the entries of this block.
    block: Option<String>,
    /// Folder with the hits that tests and runs wrote.
    #[arg(long, default_value = "target/ledger")]
    dir: PathBuf,
    /// Says only which entries were never hit, one sentence each, and fails with exit status 1 if there is one.
    #[arg(long)]
    check: bool,
}

/// Runs the verb.
///
/// # Errors
/// An unknown block or unreadable ledger files; with `--check` entries never hit.
pub fn run(args: &Args) -> Outcome {
    let mut ledger = ledger();
    if let Some(block) = &args.block
        && !ledger.blocks().contains(&block.as_str())
    {
        let remedy = weft_names::remedy(block, ledger.blocks(), "`weft ledger` shows all");
        return Err(Failure::input(anyhow::anyhow!("the ledger has no block {block}; {remedy}")));
    }
    let block = args.block.as_deref();
    if args.dir.exists() {
        ledger.merge_dir(&args.dir).map_err(Failure::input)?;
    } else {
        eprintln!("weft: {} does not exist yet: run the tests first (scripts/test)", args.dir.display());
    }
    if !args.check {
        return say(ledger.render(block));
    }
    let (all, missing) = (ledger.count(block), ledger.complaints(block));
    if missing.is_empty() {
        return say(format!("all {all} entries of the ledger were hit"));
    }
    missing.iter().try_for_each(say)?;
    Err(Failure::check(anyhow::anyhow!(
        "{} of {all} entries of the ledger were never hit: add a test that hits each (`weft ledger` shows those that are)",
        missing.len()
    )))
}
