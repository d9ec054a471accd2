//! Rows of other sweeps: a run that two sweeps of a folder ask for is made once.

use super::columns::{Cells, planned, unchanged};
use super::plan::{Plan, Run};
use super::results::{Results, failed};
use crate::setup::VERSION;
use anyhow::{Context, Error};
use std::collections::HashMap;
use std::path::Path;

/// Gives these runs of a plan the rows that other results of the folder have of the same runs, made by this version
/// of the program, and says how many. Runs that have a row keep it; rows that are damaged are left to whoever
/// works on their own results.
///
/// # Errors
/// A folder or file that cannot be read, results that cannot be written.
pub fn take(
    plan: &Plan,
    results: &mut Results,
    wanted: &dyn Fn(&Run) -> bool,
    folder: &Path,
) -> Result<usize, Error> {
    let mut left: HashMap<&str, Vec<&Run>> = HashMap::new();
    for run in plan.runs.iter().filter(|run| wanted(run) && !results.has(run.number)) {
        left.entry(&run.identity).or_default().push(run);
    }
    let mut taken = 0;
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "csv")) {
        if left.is_empty() || file == results.path() {
            continue;
        }
        let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        for cells in rows(&bytes) {
            for run in left.remove(cells["identity"].as_str()).unwrap_or_default() {
                let mut cells = cells.clone();
                cells.extend(planned(run, &plan.sweep));
                results.append(run.number, &cells)?;
                taken += 1;
            }
        }
    }
    Ok(taken)
}

/// Whole rows of success that this version of the program has written.
fn rows(bytes: &[u8]) -> Vec<Cells> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&bytes[..whole]);
    let mut records = reader.records().map_while(Result::ok);
    let mut next = || Some(records.next()?.iter().map(str::to_string).collect::<Vec<_>>());
    let Some(header) = next() else { return Vec::new() };
    if !["identity", "weft", "status"].iter().all(|name| header.iter().any(|known| known == name)) {
        return Vec::new();
    }
    let is_whole = |row: &Vec<String>| {
        row.len() == header.len() && !failed(&header, row) && unchanged(&header, row).is_ok()
    };
    let named = |row: Vec<String>| header.iter().cloned().zip(row).collect::<Cells>();
    std::iter::from_fn(next).filter(is_whole).map(named).filter(|cells| cells["weft"] == VERSION).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::file::SweepFile;
    use crate::sweep::results::Purpose;

    /// Two sizes of a program under these protocols.
    fn plan(name: &str, protocols: &str) -> Plan {
        let text = format!(
            r#"name = "{name}"
about = "Protocols"
fabric = "rec-4gpu-small"
workloads = [{{ workload = "stencil", n = 32 }}, {{ workload = "stencil", label = "wide", n = 64 }}]
[[axis]]
key = "protocol"
values = {protocols}
"#
        );
        let sweep = SweepFile::parse(&text, "own.toml", Path::new("."));
        Plan::new(sweep.unwrap_or_else(|e| panic!("{e:#}"))).unwrap_or_else(|e| panic!("{e:#}"))
    }

    fn open(folder: &Path, plan: &Plan) -> Results {
        let path = folder.join(format!("{}.csv", plan.sweep.name));
        Results::open(&path, plan, Purpose::GoOn).unwrap_or_else(|e| panic!("{e:#}")).0
    }

    /// Numbers of the runs that have a row after those of the others were taken, and how many were.
    fn taken(folder: &Path, plan: &Plan) -> (Vec<usize>, usize) {
        let mut results = open(folder, plan);
        let taken = take(plan, &mut results, &|_| true, folder).unwrap_or_else(|e| panic!("{e:#}"));
        ((0..plan.runs.len()).filter(|number| results.has(*number)).collect(), taken)
    }

    #[test]
    fn a_run_that_another_sweep_has_made_is_taken_and_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = plan("first", r#"["baseline", "rec"]"#);
        let mut results = open(folder.path(), &first);
        for run in &first.runs {
            let mut cells = planned(run, &first.sweep);
            // The last one has failed.
            let status = if run.number == 3 { "failed" } else { "ok" };
            cells.extend([
                ("status".into(), status.into()),
                ("cycles".into(), format!("{}", 100 + run.number)),
            ]);
            if run.number == 0 {
                cells.insert("weft".into(), "another version".into());
            }
            results.append(run.number, &cells).expect("written");
        }
        drop(results);

        // Stencil under REC is run 1 there and run 1 here, wide under the baseline run 2 there and run 5 here.
        let second = plan("second", r#"["ideal", "rec", "baseline"]"#);
        assert_eq!(taken(folder.path(), &second), (vec![1, 5], 2));
        let results = open(folder.path(), &second);
        let cell = |number: usize, name: &str| {
            results.rows()[number].as_ref().expect("a row")[second.column(name)].clone()
        };
        assert_eq!([cell(1, "cycles"), cell(5, "cycles")], ["101", "102"]);
        assert_eq!([cell(5, "run"), cell(5, "axis.protocol")], ["6", "baseline"]);
        drop(results);
        // What is there is not taken again.
        assert_eq!(taken(folder.path(), &second), (vec![1, 5], 0));
    }

    #[test]
    fn damaged_rows_are_not_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = plan("first", r#"["baseline"]"#);
        let mut results = open(folder.path(), &first);
        for run in &first.runs {
            let mut cells = planned(run, &first.sweep);
            cells.extend([("status".into(), "ok".into()), ("cycles".into(), "4321".into())]);
            results.append(run.number, &cells).expect("written");
        }
        drop(results);
        let path = folder.path().join("first.csv");
        let text = std::fs::read_to_string(&path).expect("text");
        std::fs::write(&path, text.replacen("4321", "1", 1)).expect("written");
        assert_eq!(taken(folder.path(), &plan("second", r#"["baseline"]"#)).1, 1);
        std::fs::write(&path, "something else\n1\n").expect("written");
        assert_eq!(taken(folder.path(), &plan("third", r#"["rec"]"#)).1, 0);
    }
}
