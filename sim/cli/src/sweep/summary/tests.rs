//! Tables from rows made by hand.

use super::*;
use std::path::Path;

const TEXT: &str = r#"
name = "t"
fabric = "rec-4gpu-small"
workloads = ["gemm", "fir"]
[[axis]]
key = "entries"
values = ["1K", "2K", "4K"]
[[axis]]
key = "protocol"
values = ["baseline", "rec"]
[[summary]]
columns = "protocol"
relative_to = { protocol = "baseline", entries = "2K" }
[[summary]]
name = "amount"
columns = "entries"
"#;

/// Status and cycles: gemm 10, 20, ... 60; fir failed, 0, nothing to count, then 4, 5, 6.
fn rows() -> Vec<Option<Vec<String>>> {
    let cells = |status: &str, cycles: &str| Some(vec![status.to_string(), cycles.to_string()]);
    let mut rows: Vec<_> = (1..=6).map(|n| cells("ok", &(n * 10).to_string())).collect();
    rows.extend([cells("failed", ""), cells("ok", "0"), cells("ok", "")]);
    rows.extend(["4", "5", "6"].map(|n| cells("ok", n)));
    rows
}

fn summaries() -> (SweepFile, Vec<Summary>) {
    let sweep = SweepFile::parse(TEXT, "t.toml", Path::new("")).expect("sound");
    let column =
        |name: &str, numeric| Column { name: name.into(), unit: name.into(), about: String::new(), numeric };
    let all = Summary::all(&sweep, &[column("status", false), column("cycles", true)]).expect("sound");
    (sweep, all)
}

#[test]
fn each_cell_is_set_against_the_fixed_reference() {
    let (sweep, all) = summaries();
    let panels = all[0].panels(&sweep, &rows(), 0);
    let headings: Vec<_> = panels.iter().map(|panel| panel.heading[0].1.as_str()).collect();
    assert_eq!(headings, ["1K", "2K", "4K"]);
    // The reference is gemm's third row, 30, and fir's, in which there is nothing to count.
    assert_eq!(panels[0].rows[0].1, [Cell::Value(3.0), Cell::Value(1.5)]);
    assert_eq!(panels[2].rows[0].1, [Cell::Value(0.6), Cell::Value(0.5)]);
    assert_eq!(panels[0].rows[1].1, [Cell::Failed, Cell::Undefined]);
    assert_eq!(panels[2].rows[1].1, [Cell::Undefined, Cell::Undefined]);
    assert_eq!(panels[0].mean, [Cell::Value(3.0), Cell::Value(1.5)], "over gemm alone");
    let text = all[0].text(&sweep, &panels[0]);
    assert!(
        text.starts_with(
            "speedup over entries 2K, protocol baseline, entries = 1K\n\n| workload \\ protocol | baseline |"
        ),
        "{text}"
    );
    assert!(text.contains("| fir                 |   failed |     - |"), "{text}");
    assert!(text.contains("failed: ") && text.contains("-: a ratio to 0"), "{text}");
}

#[test]
fn amounts_are_as_measured_and_their_means_leave_out_what_is_missing() {
    let (sweep, all) = summaries();
    assert_eq!(
        (all[1].show, all[1].plot, all[1].average),
        (Show::Value, PlotKind::Lines, Average::Arithmetic)
    );
    let panels = all[1].panels(&sweep, &rows(), 0);
    assert_eq!(panels[0].rows[1].1, [Cell::Failed, Cell::Undefined, Cell::Value(5.0)]);
    assert_eq!(panels[0].mean, [Cell::Value(10.0), Cell::Value(30.0), Cell::Value(27.5)]);
    assert_eq!(panels[1].geomean[0], Cell::Undefined, "a value is 0");
    assert_eq!(numbers(&sweep, 1), Some(vec![1024.0, 2048.0, 4096.0]));
    assert_eq!(numbers(&sweep, 2), None);
}

#[test]
fn means_are_those_of_the_textbook() {
    assert_eq!(mean(&[1.0, 2.0, 6.0]), Cell::Value(3.0));
    let Cell::Value(two) = geomean(&[1.0, 2.0, 4.0]) else { panic!("a number") };
    assert!((two - 2.0).abs() < 1e-12);
    assert_eq!(geomean(&[1.0, 0.0]), Cell::Undefined);
    assert_eq!(mean(&[]), Cell::Undefined);
}

/// Status and two parts: a 1 and 3, then 2 and 2; b 5 and 0, then failed.
#[test]
fn parts_are_relative_to_the_whole_and_add_up() {
    let text = r#"
name = "t"
fabric = "rec-4gpu-small"
workloads = ["gemm", "fir"]
[[axis]]
key = "protocol"
values = ["baseline", "rec"]
[[summary]]
parts = ["e.core", "e.l1"]
relative_to = "baseline"
"#;
    let sweep = SweepFile::parse(text, "t.toml", Path::new("")).expect("sound");
    let column =
        |name: &str| Column { name: name.into(), unit: "u".into(), about: String::new(), numeric: true };
    let all = Summary::all(&sweep, &[column("status"), column("e.core"), column("e.l1")]).expect("sound");
    assert_eq!(
        (all[0].name.as_str(), all[0].parts.as_slice()),
        ("e", &["core".to_string(), "l1".into()][..])
    );
    assert_eq!(
        (all[0].show, all[0].plot, all[0].average),
        (Show::Ratio, PlotKind::Stacked, Average::Arithmetic)
    );
    let cells = |cells: [&str; 3]| Some(cells.map(String::from).to_vec());
    let rows = [["ok", "1", "3"], ["ok", "2", "2"], ["ok", "5", "0"], ["failed", "", ""]].map(cells);
    let panel = &all[0].panels(&sweep, &rows, 0)[0];
    assert_eq!(panel.rows[0].1, [Cell::Value(1.0), Cell::Value(1.0)]);
    assert_eq!(panel.rows[1].1, [Cell::Value(1.0), Cell::Failed]);
    assert_eq!(
        panel.parts[0].rows,
        [[Cell::Value(0.25), Cell::Value(0.5)], [Cell::Value(1.0), Cell::Failed]]
    );
    assert_eq!(panel.parts[1].mean, [Cell::Value(0.375), Cell::Value(0.5)], "of the second over gemm alone");
    let text = all[0].text(&sweep, panel);
    assert!(text.contains("of these, by part, arithmetic mean\n\n| part \\ protocol | baseline |"), "{text}");
}
