//! Records that are shown as they are: some of their columns.

use super::{grouped, table};
use crate::document::Block;
use anyhow::{Context, Error, anyhow};
use std::path::Path;

/// Random circuits.
pub fn circuits(records: &Path) -> Result<Vec<Block>, Error> {
    let columns =
        [("seed", "seed"), ("with", "native code beside"), ("cycles", "cycles"), ("circuits", "circuits")];
    shown(&records.join("circuits.csv"), &columns)
}

/// Readers under random input.
pub fn readers(records: &Path) -> Result<Vec<Block>, Error> {
    let columns = [
        ("target", "reader"),
        ("inputs", "inputs"),
        ("accepted", "accepted"),
        ("refused", "refused"),
        ("kinds", "kinds of refusal"),
        ("faults", "faults"),
        ("ratio", "bytes per byte"),
        ("slowest_ms", "slowest, ms"),
    ];
    shown(&records.join("fuzz.csv"), &columns)
}

/// Columns of a file, each under another heading; whole numbers of more than four digits in groups.
fn shown(file: &Path, columns: &[(&str, &str)]) -> Result<Vec<Block>, Error> {
    let heads: Vec<&str> = columns.iter().map(|(_, head)| *head).collect();
    if !file.exists() {
        return Ok(table(&heads, Vec::new()));
    }
    let wrong = || format!("cannot read the record {}", file.display());
    let mut reader = csv::Reader::from_path(file).with_context(wrong)?;
    let names = reader.headers().with_context(wrong)?.clone();
    let place = |(name, _): &(&str, &str)| {
        let at = names.iter().position(|other| other == *name);
        at.ok_or_else(|| anyhow!("{} has no column {name}", file.display()))
    };
    let places: Vec<usize> = columns.iter().map(place).collect::<Result<_, _>>()?;
    let cell = |text: &str| match text.parse::<u64>() {
        Ok(number) if text.len() > 4 => grouped(number),
        _ => text.to_string(),
    };
    let mut lines = Vec::new();
    for row in reader.records() {
        let row = row.with_context(wrong)?;
        lines.push(places.iter().map(|at| cell(&row[*at])).collect());
    }
    Ok(table(&heads, lines))
}
