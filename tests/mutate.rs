//! `weft mutate`: tables, catchers, the record, one sentence for each mistake; and what other commands say of a mutant.

use crate::program::{WEFT, refused, stdout, weft};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A small block, compared for a short time.
const BLOCK: [&str; 8] = ["mutate", "fifo", "--param", "depth=3", "--param", "width=4", "--cycles", "400"];

fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    BLOCK.into_iter().chain(more.iter().copied()).collect()
}

/// The row `all`: mutants, equivalent, undecided, caught by each catcher, by any.
fn all(text: &str) -> Vec<usize> {
    let line =
        text.lines().find(|line| line.starts_with("all ")).unwrap_or_else(|| panic!("no sum:\n{text}"));
    line.split_whitespace().skip(1).map(|cell| cell.parse().expect("a number")).collect()
}

#[test]
fn what_sees_everything_and_what_sees_nothing() {
    // `false` alone would fail without a mutant, too.
    let text = stdout(&words(&[
        "--count",
        "12",
        "--catch",
        "all=test -z \"$WEFT_MUTANT\" || false",
        "--catch",
        "none=true",
    ]));
    let head = text.lines().next().expect("a head").split_whitespace().collect::<Vec<_>>();
    assert_eq!(head, ["kind", "mutants", "equivalent", "undecided", "assertion", "all", "none", "any"]);
    let [mutants, equivalent, _, _, seen, none, any] = all(&text)[..] else { panic!("{text}") };
    assert_eq!((mutants, seen, none, any), (12, 12 - equivalent, 0, 12 - equivalent), "{text}");
    refused(&words(&["--catch", "all=false"]), "the command fails without a mutant");
}

#[test]
fn a_record_is_taken_up_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fifo.jsonl");
    let runs = folder.path().join("runs");
    let (file, runs) = (file.to_str().expect("text"), runs.to_str().expect("text"));
    let count = format!("count=echo run >>{runs}; test -z \"$WEFT_MUTANT\"");
    let made = || fs::read_to_string(runs).map_or(0, |text| text.lines().count());
    let once = |n: &str| stdout(&words(&["--count", n, "--record", file, "--catch", &count]));
    let first = once("6");
    let [mutants, equivalent] = all(&first)[..2] else { panic!("{first}") };
    assert_eq!((mutants, made()), (6, 2 + 6 - equivalent), "twice without a mutant:\n{first}");
    assert_eq!((once("6"), made()), (first, 2 + 6 - equivalent), "nothing is made again");
    // A line without an end is made again.
    let text = fs::read_to_string(file).expect("a record");
    fs::write(file, &text[..text.len() - 9]).expect("a file");
    let more = once("9");
    assert_eq!(all(&more)[0], 9);
    let again = fs::read_to_string(file).expect("a record");
    assert!(again.starts_with(&text) && again.lines().count() == 1 + 9, "{again}");
    assert_eq!(
        more,
        stdout(&words(&["--count", "9", "--catch", &count, "--jobs", "3"])),
        "the same with more jobs"
    );
    let alone = all(&stdout(&words(&["--count", "9", "--record", file])));
    assert_eq!(alone[3], alone[4], "only catchers that are asked for are counted");
    refused(&words(&["--record", file, "--catch", "count=true"]), "there the catcher count is");
    refused(&["mutate", "fifo", "--record", file], "it is of fifo --param depth=3");
    fs::write(file, "something else\n").expect("a file");
    refused(&words(&["--record", file]), "line 1 is none of a record of mutants");
}

#[test]
fn a_catcher_that_does_not_end_has_seen_the_mutant_and_one_that_lacks_the_block_has_not() {
    let by = format!("lacks={WEFT} area lr-tbl >/dev/null");
    let sees = format!("sees={WEFT} area fifo >/dev/null");
    let text = stdout(&words(&["--count", "3", "--patience", "1", "--catch", &by, "--catch", &sees]));
    assert!(text.contains("lacks: 3 have no place in the modules that it runs"), "{text}");
    assert!(!text.contains("sees: "), "{text}");
    assert!(text.contains("\nsurvivors\n    fifo_*@hdl/blocks/src/common/fifo.rs:"), "{text}");
    let waits = "waits=test -z \"$WEFT_MUTANT\" || sleep 300";
    let works = "works=test -z \"$WEFT_MUTANT\" || while true; do true; done";
    let text = stdout(&words(&["--count", "1", "--patience", "1", "--catch", waits, "--catch", works]));
    assert_eq!((all(&text)[4], all(&text)[5]), (1, 1), "{text}");
}

#[test]
fn json_names_every_mutant_and_too_few_end_with_status_1() {
    let out = weft(&words(&["--count", "8", "--json", "--least", "100"]));
    assert_eq!(out.status.code(), Some(1));
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(value["mutants"].as_array().map(Vec::len), Some(8));
    assert!(String::from_utf8_lossy(&out.stderr).contains("mutants were caught, less than 100 %"));
    assert_eq!(stdout(&words(&["--count", "8", "--list"])).lines().count(), 8);
}

#[test]
fn commands_with_a_mutant_say_so_or_refuse_it() {
    let list = stdout(&words(&["--count", "1", "--list", "--exact"]));
    let mutant = list.split_whitespace().next().expect("a mutant");
    let with = |mutant: &str, args: &[&str]| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let out = Command::new(WEFT).args(args).current_dir(here).env("WEFT_MUTANT", mutant).output();
        let out = out.expect("the program starts");
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let area = ["area", "fifo", "--param", "depth=3", "--param", "width=4"];
    let (module, _) = mutant.split_once('@').expect("a module");
    assert_eq!(
        with(mutant, &area),
        (Some(0), format!("weft: the mutant {mutant} was planted in {module}\n"))
    );
    assert_eq!(with(mutant, &["area", "lr-tbl"]), (Some(0), String::new()));
    for (wrong, part) in
        [("nonsense", "is no mutant"), (&format!("{module}@none.rs:1#0:stale"), "no such place")]
    {
        let (status, said) = with(wrong, &area);
        assert!(status == Some(2) && said.contains(part) && said.lines().count() == 1, "{said}");
    }
    let (status, said) = with(mutant, &BLOCK);
    assert!(status == Some(2) && said.contains("unset it"), "{said}");
}

#[test]
fn mistakes_are_one_sentence() {
    refused(&words(&["--catch", "true"]), "expected NAME=COMMAND");
    refused(&words(&["--catch", "a=true", "--catch", "a=true"]), "is given twice");
    refused(&words(&["--catch", "assertion=true"]), "choose another name");
    refused(&words(&["--catch", "a=echo it is so; exit 3"]), "it said: it is so");
    refused(&words(&["--count", "0"]), "--count");
    refused(&["mutate", "fifos"], "there is no block fifos");
    refused(&words(&["--record", "no/such/folder/x"]), "cannot be written");
}
