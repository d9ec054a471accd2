//! Why compute units did not issue, for people.

use crate::failure::{Outcome, say};
use weft_fabric::cu::{GSI_COLUMNS, GsiCounts};
use weft_fabric::run::StallReport;

/// Columns that are classes; the subclasses of a class bear its name and a dot.
const CLASSES: std::ops::Range<usize> = 1..9;

/// A line for each class that any tick has, with its subclasses.
pub fn show(report: &StallReport) -> Outcome {
    let units = report.units.iter().filter(|unit| !unit.name.contains("core")).count();
    say(format!("  ticks of {units} CUs, {} in all", report.sum.ticks))?;
    for column in CLASSES {
        let line = line(&report.sum, column);
        if let Some(line) = line {
            say(format!("    {line}"))?;
        }
    }
    Ok(())
}

fn line(sum: &GsiCounts, column: usize) -> Option<String> {
    let values = sum.values();
    let part = |value: u64| format!("{:.1} %", 100.0 * value as f64 / sum.ticks.max(1) as f64);
    let (name, _) = GSI_COLUMNS[column];
    let subclasses = GSI_COLUMNS.iter().zip(values).filter_map(|((sub, _), value)| {
        let sub = sub.strip_prefix(name)?.strip_prefix('.')?;
        (value > 0 && !sub.starts_with("far")).then(|| format!("{} {}", sub.replace('_', " "), part(value)))
    });
    let subclasses: Vec<String> = subclasses.collect();
    let of = if subclasses.is_empty() { String::new() } else { format!("   {}", subclasses.join(", ")) };
    (values[column] > 0).then(|| format!("{:<32} {:>7}{of}", name.replace('_', " "), part(values[column])))
}
