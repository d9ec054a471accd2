//! Contests over rows made by hand.

use super::*;
use std::path::Path;

const TEXT: &str = r#"
name = "t"
fabric = "rec-4gpu-small"
workloads = ["gemm", "fir"]
[[axis]]
key = "protocol"
values = ["baseline", "rec", "nhcc"]
[[contest]]
metrics = ["cycles", "bytes"]
classes = { old = ["baseline"], new = ["rec", "nhcc"] }
relative_to = "old"
"#;

fn columns() -> Vec<Column> {
    let column =
        |name: &str, numeric| Column { name: name.into(), unit: name.into(), about: String::new(), numeric };
    vec![column("status", false), column("cycles", true), column("bytes", true)]
}

fn row(status: &str, cycles: u64, bytes: u64) -> Option<Vec<String>> {
    Some(vec![status.into(), cycles.to_string(), bytes.to_string()])
}

fn shown(text: &str, rows: &[Option<Vec<String>>]) -> Result<Vec<String>, Error> {
    let sweep = SweepFile::parse(text, "t.toml", Path::new(""))?;
    Ok(Contest::all(&sweep, &columns())?.iter().flat_map(|contest| contest.texts(&sweep, rows, 0)).collect())
}

/// The other metrics are those of the winner by cycles, be they lower or not.
#[test]
fn the_fastest_of_a_class_stands_for_it() {
    let ok = |cycles, bytes| row("ok", cycles, bytes);
    let rows = [ok(100, 10), ok(80, 30), ok(90, 5), ok(100, 40), ok(70, 10), ok(60, 20)];
    let text = &shown(TEXT, &rows).expect("sound")[0];
    let cells: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(cells[0], ["workload", "old", "new", "cycles: new/old", "bytes: new/old"]);
    assert_eq!(cells[2], ["gemm", "baseline", "rec", "0.800", "3.000"]);
    assert_eq!(cells[3], ["fir", "baseline", "nhcc", "0.600", "0.500"]);
    assert_eq!(cells[4], ["mean", "0.700", "1.750"]);
    assert_eq!(cells[5], ["lowest", "0.600", "0.500"]);
}

/// A class of which a run is missing has no best value: the others may have been slower than that one.
#[test]
fn a_class_with_a_failed_run_has_no_winner() {
    let ok = |cycles, bytes| row("ok", cycles, bytes);
    let rows = [ok(100, 10), ok(80, 30), row("failed", 90, 5), ok(100, 40), ok(70, 10), ok(60, 20)];
    let text = &shown(TEXT, &rows).expect("sound")[0];
    let line = text.lines().find(|line| line.starts_with("| gemm")).expect("a row");
    assert!(line.contains("failed") && line.contains('-') && !line.contains("0.8"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("| mean") && line.contains("0.600")), "{text}");
}

#[test]
fn mistakes_are_told_with_their_line() {
    for (from, to, said) in [
        ("\"nhcc\"] }", "\"nhc\"] }", "class new has nhc, which is no value of axis protocol"),
        ("relative_to = \"old\"", "relative_to = \"elder\"", "needs a class of this name"),
        ("relative_to = \"old\"", "", "there is no key relative_to"),
        ("metrics = [\"cycles\", \"bytes\"]", "metrics = [\"byte\"]", "the nearest is bytes"),
        ("classes = { old = [\"baseline\"], new = [\"rec\", \"nhcc\"] }", "", "a contest has no classes"),
        ("[[contest]]", "[[contest]]\ncolumns = \"size\"", "is no axis beside the workloads"),
    ] {
        let error = shown(&TEXT.replace(from, to), &[]).expect_err("refused").to_string();
        assert!(error.starts_with("t.toml line ") && error.contains(said), "{error}");
    }
}

#[test]
fn a_part_without_a_value_of_a_class_has_no_contest() {
    let mut sweep = SweepFile::parse(TEXT, "t.toml", Path::new("")).expect("sound");
    assert_eq!(sweep.keep_only("workload=fir").expect("there"), [""; 0]);
    let notes = sweep.keep_only("protocol=rec,baseline").expect("there");
    assert!(notes.len() == 1 && notes[0].contains("protocol = nhcc is not in this part"), "{notes:?}");
    assert!(sweep.contests.is_empty());
}
