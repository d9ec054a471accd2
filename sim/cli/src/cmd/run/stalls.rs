//! Why compute units did not issue, for people: as text and as a picture.

use crate::failure::{Outcome, say};
use crate::sweep::plot::stacked::{Bar, Stacked};
use weft_fabric::cu::{GSI_COLUMNS, GsiCounts};
use weft_fabric::run::{RunReport, StallReport};

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

/// The classes of each compute unit's ticks, and of all together, as bars.
pub fn picture(run: &RunReport, report: &StallReport) -> Stacked {
    let bar = |label: String, counts: &GsiCounts| {
        let share = |value: &u64| 100.0 * *value as f64 / counts.ticks.max(1) as f64;
        Bar { label, parts: Ok(counts.values()[CLASSES].iter().map(share).collect()), number: None }
    };
    let units = report.units.iter().filter(|unit| !unit.name.contains("core"));
    let units = units.map(|unit| bar(unit.name.clone(), &unit.counts)).collect();
    Stacked {
        title: format!("{} on {}: ticks by what kept CUs from issuing", run.workload, run.fabric),
        y_label: "share of ticks (%)".into(),
        parts: GSI_COLUMNS[CLASSES].iter().map(|(name, _)| name.replace('_', " ")).collect(),
        groups: vec![("CUs".into(), units), ("all".into(), vec![bar(String::new(), &report.sum)])],
        relative: false,
        mean: true,
    }
}
