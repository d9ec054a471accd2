//! What a table is of: a metric, or the sum of several columns, whose parts are shown, too.

use super::super::columns::Column;
use super::super::file::SummaryText;
use super::{Average, Cell, Part, Show, column_of, mean, over_rows};
use anyhow::Error;

/// Parts that have colours of their own.
const MOST: usize = 9;

/// The columns of a table.
pub(super) struct Measure {
    /// Their places among those of the results.
    pub at: Vec<usize>,
    /// What they are called as parts of the sum; empty for a metric alone.
    pub parts: Vec<String>,
    /// What the metric, or the sum, is called.
    pub name: String,
    /// Its unit.
    pub unit: String,
}

impl Measure {
    /// What a summary asks for.
    ///
    /// # Errors
    /// A column that there is not or that is no number, both a metric and parts, parts of different units or too many of them.
    pub fn of(text: &SummaryText, columns: &[Column]) -> Result<Measure, Error> {
        let metric = text.keys.get("metric");
        let Some(first) = text.parts.first() else {
            let at = column_of(metric, &text.place, columns)?;
            let Column { name, unit, .. } = columns[at].clone();
            return Ok(Measure { at: vec![at], parts: Vec::new(), name, unit });
        };
        if let Some(metric) = metric {
            return Err(metric.error("a summary is of a metric or of parts, not of both; leave one out"));
        }
        if text.parts.len() > MOST {
            return Err(first.error(format!(
                "parts has {} columns, of which colours tell {MOST} apart; leave some out",
                text.parts.len()
            )));
        }
        let mut at = Vec::new();
        for part in &text.parts {
            at.push(column_of(Some(part), &text.place, columns)?);
            let (unit, common) = (&columns[at[at.len() - 1]].unit, &columns[at[0]].unit);
            if unit != common {
                return Err(part.error(format!(
                    "part {} has the unit {unit:?} and {} has {common:?}; give parts of one unit",
                    part.value, first.value
                )));
            }
        }
        let names: Vec<&str> = text.parts.iter().map(|part| part.value.as_str()).collect();
        let common = common(&names);
        let label = |name: &&str| name[common.len()..].replace(['_', '.'], " ");
        let name = common.trim_end_matches(['_', '.']);
        Ok(Measure {
            parts: names.iter().map(label).collect(),
            name: if name.is_empty() { "parts".into() } else { name.into() },
            unit: columns[at[0]].unit.clone(),
            at,
        })
    }
}

/// What all names begin with, up to a `_` or `.`, so that something is left of each.
fn common<'a>(names: &[&'a str]) -> &'a str {
    let first = names.first().copied().unwrap_or("");
    let ends = first.char_indices().filter(|(_, c)| "_.".contains(*c)).map(|(at, _)| &first[..=at]);
    let mut shared = ends.filter(|start| names.iter().all(|n| n.starts_with(start) && n.len() > start.len()));
    if names.len() > 1 { shared.next_back().unwrap_or("") } else { "" }
}

/// Refuses what does not add up.
pub(super) fn additive(text: &SummaryText, show: Show, average: Average) -> Result<(), Error> {
    if text.parts.is_empty() {
        return Ok(());
    }
    let wrong =
        [("show", show == Show::Speedup, "ratio"), ("mean", average == Average::Geometric, "arithmetic")];
    let given = wrong.iter().filter(|(_, wrong, _)| *wrong);
    let mut given = given.filter_map(|(key, _, remedy)| Some((key, text.keys.get(*key)?, remedy)));
    match given.next() {
        Some((key, at, remedy)) => {
            Err(at.error(format!("{key} = {} of parts does not add up; use {key} = {remedy}", at.value)))
        }
        None => Ok(()),
    }
}

impl Part {
    /// A part with its cells.
    pub(super) fn new(label: &str, rows: Vec<Vec<Cell>>) -> Part {
        Part { label: label.into(), mean: over_rows(&rows, mean), rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_leave_out_what_all_names_begin_with() {
        assert_eq!(common(&["gsi_no_stall", "gsi_memory_data.l2"]), "gsi_");
        assert_eq!(common(&["energy.l1", "energy.l2"]), "energy.");
        assert_eq!(common(&["traffic.read", "traffic.read.far"]), "traffic.");
        assert_eq!(common(&["a_b", "a_"]), "", "nothing would be left of the second");
        assert_eq!((common(&["flits", "bytes"]), common(&["a_b"])), ("", ""));
    }
}
