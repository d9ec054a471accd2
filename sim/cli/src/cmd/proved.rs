//! `weft proved`: what is proved, from the records of campaigns.

use crate::document::markdown;
use crate::failure::{Failure, Outcome, say};
use crate::proved;
use anyhow::{Context, anyhow};
use std::path::PathBuf;

/// Arguments of `weft proved`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of records, in which campaigns keep what they have made.
    #[arg(long, default_value = "records", value_name = "FOLDER")]
    records: PathBuf,
    /// Writes the tables of a Markdown page anew, where it has marks for them, and prints none.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// Runs the verb.
///
/// # Errors
/// A folder or a page that is not there, a record that is none, a mark that names nothing.
pub fn run(args: &Args) -> Outcome {
    if !args.records.is_dir() {
        let folder = args.records.display();
        return Err(Failure::input(anyhow!(
            "there are no records in {folder}; name their folder by --records"
        )));
    }
    let Some(file) = &args.page else {
        let blocks = proved::all(&args.records).map_err(Failure::Input)?;
        return say(markdown(&blocks).trim_end());
    };
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"));
    let text = text.map_err(Failure::Input)?;
    let filled =
        proved::page(&args.records, &text).with_context(|| shown.to_string()).map_err(Failure::Input)?;
    if filled == text {
        return say(format!("{shown} is as the records have it"));
    }
    weft_output::write(file, filled.as_bytes()).map_err(Failure::check)?;
    say(format!("tables: {shown}"))
}
