//! What is said of programs.

use super::*;
use crate::sweep::columns::planned;
use crate::sweep::plan::Plan;

const SWEEP: &str = r#"name = "own"
about = "Two sizes of a cache"
fabric = "rec-4gpu-small"
workloads = [{ workload = "stencil", n = 32 }, { workload = "gemv", n = 64 }]
[[axis]]
key = "l2_size"
values = ["64K", "128K"]
"#;

/// A record in which the runs of a program take so many cycles in two kernels, with fences of 50.
fn record(folder: &Path, cycles: [[u64; 2]; 2]) -> Record {
    let sweep = SweepFile::parse(SWEEP, "own.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e:#}"));
    let plan = Plan::new(sweep.clone()).unwrap_or_else(|e| panic!("{e:#}"));
    let rows = plan.runs.iter().map(|run| {
        let mut cells = planned(run, &plan.sweep);
        let numbers = [
            ("cycles", cycles[run.number / 2][run.number % 2]),
            ("kernels", 2),
            ("cu.releases_kernel_sys", 8),
            ("cu.releases_kernel_sys_cycles", 400),
        ];
        cells.extend(numbers.map(|(name, number)| (name.into(), number.to_string())));
        cells.insert("status".into(), "ok".into());
        Some(plan.columns.iter().map(|c| cells.get(&c.name).cloned().unwrap_or_default()).collect())
    });
    let rows: Vec<Option<Vec<String>>> = rows.collect();
    Record::keep(folder, &plan, &rows).expect("written").expect("something to keep");
    Record::read(folder, sweep).expect("whole").expect("there")
}

#[test]
fn programs_have_their_data_beside_the_caches_and_kernels_beside_fences() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = record(folder.path(), [[1000, 1200], [9000, 9000]]);
    let programs = programs(&record).unwrap_or_else(|e| panic!("{e:#}"));
    let names: Vec<&str> = programs.iter().map(|own| own.workload.as_str()).collect();
    assert_eq!(names, ["stencil", "gemv"]);
    // A square of 64 x 64 words and eight vectors. Four GPUs with an L2 each.
    let data = f64::from(4 * (64 * 64 + 8 * 64));
    assert_eq!(programs[1].data, data);
    let l2s = |kilobytes: f64| 4.0 * kilobytes * 1024.0;
    assert_eq!(programs[1].to_caches.0, Some((data / l2s(128.0), data / l2s(64.0))));
    assert_eq!(programs[0].to_fence.0, Some((10.0, 12.0)));
    assert_eq!(programs[1].to_fence.0, Some((90.0, 90.0)));
    let lines = lines(&[(Tier::Small, programs), (Tier::Middle, Vec::new())]);
    assert_eq!(lines[0][1..4], ["small: data, MB", "to the caches", "kernel to its fence"]);
    assert_eq!(lines[2], ["gemv", "0.018", "0.035 to 0.070", "90", "-", "-", "-"]);
    assert_eq!(lines[1][3], "10 to 12");
}

#[test]
fn a_row_without_the_programs_data_says_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut record = record(folder.path(), [[1000, 1000], [2000, 2000]]);
    let data = record.plan.columns.iter().position(|column| column.name == DATA).expect("a column");
    for row in record.rows.iter_mut().take(2).flatten() {
        row[data].clear();
    }
    let programs = programs(&record).unwrap_or_else(|e| panic!("{e:#}"));
    assert_eq!(programs.iter().map(|own| own.workload.as_str()).collect::<Vec<_>>(), ["gemv"]);
}

#[test]
fn numbers_have_two_digits_at_least() {
    let shown = [12.34, 1.234, 0.1234, 0.01234, 0.00012].map(digits);
    assert_eq!(shown, ["12", "1.2", "0.12", "0.012", "0.00012"]);
}
