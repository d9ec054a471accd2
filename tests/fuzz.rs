//! `weft fuzz`: every target stands some inputs and its corpus, with a row in the record; one input again;
//! one sentence for each mistake.

use crate::program::{refused, stdout, stdout_in, weft_in};
use std::collections::BTreeSet;
use std::path::Path;

/// Inputs of each target.
const INPUTS: &str = "400";

fn corpus() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    folder.to_str().expect("text").to_string()
}

fn listed() -> BTreeSet<String> {
    let text = stdout(&["fuzz", "--list"]);
    text.lines().filter_map(|line| line.split_whitespace().next()).map(String::from).collect()
}

#[test]
fn no_reader_fails_and_each_accepts_and_refuses() {
    let folder = tempfile::tempdir().expect("a folder");
    let args = [
        "fuzz",
        "--inputs",
        INPUTS,
        "--jobs",
        "2",
        "--corpus",
        &corpus(),
        "--record",
        "fuzz.csv",
        "--out",
        "out",
    ];
    let text = stdout_in(folder.path(), &args);
    assert!(text.trim_end().ends_with(": nothing failed"), "{text}");
    let mut table = csv::Reader::from_path(folder.path().join("fuzz.csv")).expect("a record");
    let heads = table.headers().expect("heads").clone();
    let at = |name: &str| heads.iter().position(|head| head == name).expect("a column");
    let mut seen = BTreeSet::new();
    for row in table.records().map(|row| row.expect("a row")) {
        let number =
            |name: &str| row[at(name)].parse::<f64>().unwrap_or_else(|_| panic!("{name} of {row:?}"));
        let (inputs, accepted, refused) = (number("inputs"), number("accepted"), number("refused"));
        assert!(
            inputs == accepted + refused && accepted * 50.0 > inputs && refused * 50.0 > inputs,
            "{row:?}"
        );
        assert!(number("peak") > 0.0 && number("ratio") <= 10.0, "memory is counted: {row:?}");
        seen.insert(row[at("target")].to_string());
    }
    assert_eq!(seen, listed());
    assert_eq!(std::fs::read_dir(folder.path().join("out")).expect("a folder").count(), 0, "nothing is left");
}

#[test]
fn the_corpus_is_of_targets_that_there_are() {
    let known = listed();
    for entry in std::fs::read_dir(corpus()).expect("a corpus") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        assert!(known.contains(&name), "{name} is no target");
    }
}

#[test]
fn the_same_seed_makes_the_same_inputs_whatever_the_jobs() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |jobs: &str, seed: &str| {
        let targets = ["fuzz", "ledger", "mutant", "stimulus", "litmus-own"];
        let rest = ["--inputs", "300", "--jobs", jobs, "--seed", seed, "--record", jobs];
        stdout_in(folder.path(), &[&targets[..], &rest].concat());
        let text = std::fs::read_to_string(folder.path().join(jobs)).expect("a record");
        // Without the time.
        text.lines().map(|line| line.rsplit_once(',').expect("columns").0.to_string()).collect::<Vec<_>>()
    };
    let one = run("1", "5");
    assert_eq!(one, run("3", "5"));
    assert_ne!(one, run("2", "6"));
}

#[test]
fn one_input_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    write("good", "a=3\n+5\n");
    write("bad", "a=99\n");
    let said = stdout_in(folder.path(), &["fuzz", "stimulus", "--input", "good"]);
    assert!(said.starts_with("accepted (") && said.contains(" bytes allocated"), "{said}");
    let said = stdout_in(folder.path(), &["fuzz", "stimulus", "--input", "bad"]);
    assert!(said.contains("): line 1: a: 99 does not fit 4 bits"), "{said}");
}

#[test]
fn mistakes_are_told() {
    refused(&["fuzz", "stimulos"], "there is no target stimulos");
    refused(&["fuzz", "--input", "a"], "--input is for one target");
    refused(&["fuzz", "stimulus", "--input", "/none"], "cannot read --input /none");
    refused(&["fuzz", "stimulus", "--corpus", "/none"], "--corpus /none is no folder");
    refused(&["fuzz", "--inputs", "0"], "a whole number from 1 is expected");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("record"), "a,b\n1,2\n").expect("written");
    let ended = weft_in(folder.path(), &["fuzz", "stimulus", "--record", "record"]);
    assert_eq!(ended.status.code(), Some(2));
}
