//! Rows of other records: a run that two sweeps, or two tiers of one, ask for is made once.

use super::{SETTINGS, Table, path};
use crate::sweep::columns::{Cells, IDENTITY, planned};
use crate::sweep::plan::{Plan, Run};
use anyhow::{Context, Error};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Rows by the number of their run, in the columns of a plan.
pub type Rows = BTreeMap<usize, Vec<String>>;

/// Rows that other records of a folder have of these runs of a plan.
///
/// A run is the same if its identity is: hardware, keys, program and data. As in a sweep's own record the row may be of
/// another version of the program, and says so.
///
/// # Errors
/// A folder or record that cannot be read, or that was changed.
pub fn elsewhere(folder: &Path, plan: &Plan, wanted: &dyn Fn(&Run) -> bool) -> Result<Rows, Error> {
    let mut left: HashMap<&str, Vec<&Run>> = HashMap::new();
    for run in plan.runs.iter().filter(|run| wanted(run)) {
        left.entry(&run.identity).or_default().push(run);
    }
    let own = path(folder, &plan.sweep);
    let mut rows = Rows::new();
    for file in records(folder)?.into_iter().filter(|file| *file != own) {
        if left.is_empty() {
            break;
        }
        let Some(table) = Table::read(&file)? else { continue };
        for row in &table.rows {
            for run in left.remove(table.cell(row, IDENTITY)).unwrap_or_default() {
                rows.insert(run.number, moved(&table, row, plan, run));
            }
        }
    }
    Ok(rows)
}

/// All records of a folder, in order of their names.
fn records(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    files.retain(|file| file.to_string_lossy().ends_with(".csv.gz"));
    files.sort();
    Ok(files)
}

/// A row as that of a run of another sweep: what was measured, by which version, under the names of its own axes.
fn moved(table: &Table, row: &[String], plan: &Plan, run: &Run) -> Vec<String> {
    let mut cells: Cells = table.header.iter().cloned().zip(row.iter().cloned()).collect();
    let weft = cells.remove("weft").unwrap_or_default();
    cells.remove(SETTINGS);
    cells.extend(planned(run, &plan.sweep));
    cells.insert("weft".into(), weft);
    plan.columns.iter().map(|column| cells.get(&column.name).cloned().unwrap_or_default()).collect()
}
