//! Comparisons from records, without a run.

use super::Args;
use crate::failure::{Failure, Outcome, say};
use crate::reproduce::explored::Explored;
use crate::reproduce::published::{Figure, Published};
use crate::reproduce::recorded::{self, Recorded};
use crate::reproduce::report::SystemDone;
use crate::sweep::file::SweepFile;
use anyhow::{Context, anyhow};
use std::path::Path;

/// A system's figures from a folder of records.
///
/// # Errors
/// No such folder; a record that cannot be read or was changed.
pub(super) fn system(
    args: &Args,
    published: Published,
    figures: &[Figure],
    records: &Path,
    explored: &mut Explored,
) -> Result<SystemDone, Failure> {
    is_there(records)?;
    let whole = figures.len() == published.figures.len();
    let recorded = Recorded { records, out: Some(&args.out) };
    let find = |name: &str| SweepFile::load(name)?.at(args.tier).map(Some);
    let figures = recorded.figures(figures, explored, &find).map_err(Failure::Input)?;
    Ok(SystemDone { published, figures, whole, tier: args.tier })
}

fn is_there(records: &Path) -> Outcome {
    match records.is_dir() {
        true => Ok(()),
        false => Err(Failure::input(anyhow!(
            "there are no records in {}: name their folder, or keep some there by --record",
            records.display()
        ))),
    }
}

/// Writes the tables of a page anew.
///
/// # Errors
/// A page that cannot be read or written, a mark in it that names nothing.
pub(super) fn page(systems: &[Published], records: &Path, page: &Path) -> Outcome {
    is_there(records)?;
    let shown = page.display();
    let text = std::fs::read_to_string(page).with_context(|| format!("cannot read {shown}"));
    let text = text.map_err(Failure::Input)?;
    // States that are there are not explored again.
    let mut explored = Explored::open(records, false).map_err(Failure::Input)?;
    let filled = recorded::page(systems, records, &mut explored, &text);
    let filled = filled.with_context(|| shown.to_string()).map_err(Failure::Input)?;
    if filled == text {
        return say(format!("{shown} is as the records have it"));
    }
    weft_output::write(page, filled.as_bytes()).map_err(Failure::check)?;
    say(format!("tables: {shown}"))
}
