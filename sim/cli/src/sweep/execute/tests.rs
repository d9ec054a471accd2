use super::*;
use std::path::Path;

/// One run of some twenty thousand cycles and more.
fn plan() -> Plan {
    let text = r#"name = "long"
about = "A run of some time"
fabric = "rec-4gpu-small"
workloads = [{ workload = "pagerank", source = "karate", iterations = 60 }]
[[axis]]
key = "protocol"
values = ["rec"]
"#;
    let sweep = SweepFile::parse(text, "own.toml", Path::new("."));
    Plan::new(sweep.unwrap_or_else(|e| panic!("{e:#}"))).unwrap_or_else(|e| panic!("{e:#}"))
}

fn work<'a>(plan: &'a Plan, folder: &Path, board: &'a Board) -> Work<'a> {
    let begun = Begun::of(&folder.join("long.csv"));
    Work { every: Duration::ZERO, ..Work::new(plan, vec![&plan.runs[0]], begun, board) }
}

/// Begins the only run and gives the cycle of its beginning and what it measures.
fn made(work: &Work) -> (u64, Cells) {
    let (run, options) = (work.todo[0], options(PathBuf::from("unused.fst")));
    let design = work.designs.of(run, &options).expect("a design");
    let mut fabric = work.begin(run, &design, &options).expect("begun");
    let begin = fabric.cycle();
    let report = work.simulate(0, run, &mut fabric).expect("no failure").expect("not given up");
    (begin, measured(&report))
}

#[test]
fn a_run_that_was_killed_goes_on_from_its_last_snapshot_and_measures_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let (plan, board) = (plan(), Board::new(BTreeMap::new(), 1));
    let first = work(&plan, folder.path(), &board);
    let (begin, whole) = made(&first);
    assert_eq!(begin, 0);
    // As a sweep leaves it that is killed before the row is written.
    let (begin, rest) = made(&work(&plan, folder.path(), &board));
    assert!(begin >= SLICE && begin.is_multiple_of(SLICE), "the last look before the end: {begin}");
    assert_eq!(rest, whole);
    assert_eq!(first.begun.count(&plan, &[0]), 1);
    first.begun.forget(&plan.runs[0]);
    assert!(!first.begun.folder().exists(), "nothing is left of a run with a row");
}

#[test]
fn a_run_whose_snapshot_is_damaged_begins_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let (plan, board) = (plan(), Board::new(BTreeMap::new(), 1));
    let work = work(&plan, folder.path(), &board);
    let (_, whole) = made(&work);
    let entry = std::fs::read_dir(work.begun.folder()).expect("made").next().expect("one").expect("listed");
    let bytes = std::fs::read(entry.path()).expect("read");
    std::fs::write(entry.path(), &bytes[..bytes.len() / 2]).expect("written");
    let cause = work.begun.find(&plan.runs[0]).expect_err("half of it").to_string();
    assert!(cause.contains("is truncated or damaged"), "{cause}");
    assert_eq!(made(&work), (0, whole));
}

#[test]
fn runs_that_take_more_memory_than_there_is_are_told_before_the_first() {
    let mut plan = plan();
    assert_eq!(forewarn(&[&plan.runs[0]], 1), None);
    plan.runs[0].memory = 1 << 50;
    let said = forewarn(&[&plan.runs[0]; 3], 2).expect("a warning");
    assert!(said.starts_with("the largest 2 of the runs take about 2251799.8 GB of memory, and "), "{said}");
    assert!(said.contains("--jobs"), "{said}");
}
