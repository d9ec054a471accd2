//! What counts of a record, and what does not.

use super::*;
use crate::sweep::columns::{failed, planned};
use std::path::Path;

const SWEEP: &str = r#"name = "own"
about = "Two protocols"
fabric = "rec-4gpu-small"
workloads = [{ workload = "stencil", n = 32 }]
[[axis]]
key = "protocol"
values = ["baseline", "rec"]
"#;

fn sweep(text: &str) -> SweepFile {
    SweepFile::parse(text, "own.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e:#}"))
}

/// A plan with a row for each run: the first one of a success of so many cycles.
fn made(cycles: u64) -> (Plan, Vec<Option<Vec<String>>>) {
    let plan = Plan::new(sweep(SWEEP)).unwrap_or_else(|e| panic!("{e:#}"));
    let header: Vec<String> = plan.columns.iter().map(|column| column.name.clone()).collect();
    let rows = plan.runs.iter().map(|run| {
        let mut cells = planned(run, &plan.sweep);
        match run.number {
            0 => cells.extend([("status".into(), "ok".into()), ("cycles".into(), cycles.to_string())]),
            _ => cells.extend(failed("it was too long")),
        }
        Some(header.iter().map(|name| cells.get(name).cloned().unwrap_or_default()).collect())
    });
    let rows = rows.collect();
    (plan, rows)
}

fn read(folder: &Path, text: &str) -> Result<Option<Record>, Error> {
    Record::read(folder, sweep(text))
}

/// Whether each run has a row that counts.
fn there(record: &Record) -> Vec<bool> {
    record.rows.iter().map(Option::is_some).collect()
}

#[test]
fn rows_of_success_are_kept_and_count_while_the_sweep_asks_for_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(read(folder.path(), SWEEP).expect("no mistake").is_none());
    let (plan, rows) = made(1234);
    let path = Record::keep(folder.path(), &plan, &rows).expect("written").expect("something to keep");
    let bytes = std::fs::read(&path).expect("there");

    let record = read(folder.path(), SWEEP).expect("whole").expect("there");
    assert_eq!(there(&record), [true, false]);
    let cycles = record.plan.columns.iter().position(|c| c.name == "cycles").expect("a column");
    assert_eq!(record.rows[0].as_ref().expect("a row")[cycles], "1234");
    assert!(record.plan.columns[cycles].numeric && record.stale.is_none());
    assert!(record.told("own").starts_with("1 of 2 runs of `weft sweep own` are recorded: 1 by weft "));

    // A longer axis moves no row to another place, and new programs have none.
    let longer = SWEEP.replace("[\"baseline\", \"rec\"]", "[\"ideal\", \"baseline\", \"rec\"]");
    assert_eq!(there(&read(folder.path(), &longer).expect("whole").expect("there")), [false, true, false]);

    // Nothing to add: the same file, byte for byte.
    Record::keep(folder.path(), &plan, &[None, None]).expect("written");
    assert_eq!(std::fs::read(&path).expect("there"), bytes);
    // A run that was made again takes the place of the old one.
    Record::keep(folder.path(), &plan, &made(99).1).expect("written");
    let record = read(folder.path(), SWEEP).expect("whole").expect("there");
    assert_eq!(record.rows[0].as_ref().expect("a row")[cycles], "99");
}

#[test]
fn rows_of_other_settings_do_not_count_and_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let (plan, rows) = made(1);
    Record::keep(folder.path(), &plan, &rows).expect("written");
    let cases = [
        ("n = 32", "n = 64", "n was 32 and is 64"),
        ("n = 32", "n = 32, iterations = 1", "iterations was not given and is 1"),
        ("rec-4gpu-small", "rec-4gpu", "banks was 2 and is 16"),
        ("[[axis]]", "[set]\nlink_bytes = 9\n[[axis]]", "link_bytes was 5 and is 9"),
        ("\"stencil\"", "\"stencil\", label = \"ST\"", ""),
    ];
    for (old, new, how) in cases {
        let record = read(folder.path(), &SWEEP.replace(old, new)).expect("whole").expect("there");
        assert_eq!(there(&record), [false, false], "{new}");
        assert_eq!(record.stale.is_some(), !how.is_empty(), "{new}: {:?}", record.stale);
        assert!(record.stale.unwrap_or_default().contains(how), "{new}");
    }
}

#[test]
fn a_record_that_was_changed_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (plan, rows) = made(1234);
    let path = Record::keep(folder.path(), &plan, &rows).expect("written").expect("something to keep");
    let mut text = String::new();
    let packed = std::fs::read(&path).expect("there");
    GzDecoder::new(&packed[..]).read_to_string(&mut text).expect("packed");
    let mut forged = GzEncoder::new(Vec::new(), Compression::best());
    forged.write_all(text.replace(",1234,", ",234,").as_bytes()).expect("in memory");
    std::fs::write(&path, forged.finish().expect("in memory")).expect("written");
    let refused = read(folder.path(), SWEEP).err().expect("refused").to_string();
    assert!(refused.contains("own.csv.gz line 2 was changed or damaged"), "{refused}");
    std::fs::write(&path, &packed[..packed.len() / 2]).expect("written");
    let refused = read(folder.path(), SWEEP).err().expect("refused").to_string();
    assert!(refused.contains("own.csv.gz is no record"), "{refused}");
}

#[test]
fn rows_of_the_same_runs_are_taken_from_other_records_and_no_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let (plan, mut rows) = made(1234);
    let weft = plan.column("weft");
    rows[0].as_mut().expect("a row")[weft] = "another version".into();
    Record::keep(folder.path(), &plan, &rows).expect("written");

    // Wide and narrow under REC and the baseline: only the narrow one under the baseline was recorded.
    let other =
        SWEEP.replace("\"own\"", "\"other\"").replace("[\"baseline\", \"rec\"]", "[\"rec\", \"baseline\"]");
    let other = other.replace("[{", "[{ workload = \"stencil\", label = \"wide\", n = 64 }, {");
    let other = Plan::new(sweep(&other)).unwrap_or_else(|e| panic!("{e:#}"));
    let found = elsewhere(folder.path(), &other, &|_| true).expect("readable");
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [3]);
    let cell = |name: &str| found[&3][other.column(name)].as_str();
    assert_eq!(
        ["run", "axis.workload", "axis.protocol", "cycles", "weft"].map(cell),
        ["4", "stencil", "baseline", "1234", "another version"]
    );
    assert!(elsewhere(folder.path(), &other, &|run| run.number != 3).expect("readable").is_empty());
    // A sweep's own record is not elsewhere.
    assert!(elsewhere(folder.path(), &plan, &|_| true).expect("readable").is_empty());

    // Kept, it counts as a row of that sweep.
    let mut rows = vec![None; 4];
    rows[3] = Some(found[&3].clone());
    Record::keep(folder.path(), &other, &rows).expect("written");
    let record = Record::read(folder.path(), other.sweep.clone()).expect("whole").expect("there");
    assert_eq!(there(&record), [false, false, false, true]);
}

#[test]
fn a_row_from_before_the_fingerprint_of_hardware_gets_it_where_it_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let (plan, rows) = made(1234);
    let [hardware, identity, data] = [HARDWARE, IDENTITY, DATA].map(|name| plan.column(name));
    let own = &plan.runs[0].hardware;
    let keep = |change: &dyn Fn(&mut Vec<String>)| {
        let mut row = rows[0].clone().expect("a row");
        change(&mut row);
        Record::keep(folder.path(), &plan, &[Some(row), None]).expect("written");
        Record::read(folder.path(), plan.sweep.clone()).expect("whole").expect("there")
    };
    let cell = |record: &Record, at: usize| record.rows[0].as_ref().expect("a row")[at].clone();

    let before = keep(&|row| (row[hardware], row[data]) = (String::new(), String::new()));
    assert_eq!(
        [cell(&before, hardware), cell(&before, data)],
        [own.clone(), data_bytes(&plan.runs[0]).to_string()]
    );
    let unknown = keep(&|row| (row[hardware], row[identity]) = (String::new(), "0".into()));
    assert_eq!(cell(&unknown, hardware), "");
    assert!(before.outdated(&plan).is_empty() && unknown.outdated(&plan).is_empty());
    let other = keep(&|row| row[hardware] = "0".into());
    assert_eq!(other.outdated(&plan), BTreeSet::from([0]));
}
