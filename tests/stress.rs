//! `weft stress`: random programs on a fabric, a record that goes on, a planted fault made small and run again, one sentence for each mistake.

use crate::program::{refused, stdout, weft};
use std::path::Path;

#[test]
fn a_campaign_is_the_same_for_the_same_seed_and_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_string();
    let (whole, parts, json) = (path("whole.csv"), path("parts.csv"), path("stress.json"));
    let run = |operations: &str, record: &str| {
        stdout(&["stress", "flat-gpu-small", "--seed", "3", "--operations", operations, "--record", record])
    };
    let text = run("100000", &whole);
    assert!(text.ends_with("operations in all: nothing failed\n"), "{text}");
    run("1", &parts);
    let rows = |record: &str| std::fs::read_to_string(record).expect("a record");
    assert_ne!(rows(&parts), rows(&whole));
    run("100000", &parts);
    assert_eq!(rows(&parts), rows(&whole));
    // There is nothing more to be done.
    let again = run("100000", &whole);
    assert!(again.contains("flat-gpu-small: 0 rounds"), "{again}");
    stdout(&["stress", "flat-gpu-small", "--seed", "3", "--operations", "1", "--fixed", "--json", &json]);
    let result: serde_json::Value = serde_json::from_str(&rows(&json)).expect("JSON");
    assert_eq!((&result["schema"], &result["failing"]), (&"weft-stress 1".into(), &serde_json::Value::Null));
    assert!(result["counts"]["operations"].as_u64() > Some(1000), "{result}");
}

#[test]
fn a_planted_fault_is_made_small_and_runs_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_str().expect("text");
    let fault = ["--set", "inject=early-release", "--seed", "1"];
    let args = [&["stress", "srsp-64cu-small", "--operations", "1e6", "--out", out][..], &fault].concat();
    let ended = weft(&args);
    assert_eq!(ended.status.code(), Some(1));
    let (said, error) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(
        error.contains("weft stress srsp-64cu-small --set inject=early-release --seed 1 --round "),
        "{error}"
    );
    let command = said.lines().find_map(|line| line.trim().strip_prefix("weft run ")).expect("a command");
    let words: Vec<&str> = ["run"].into_iter().chain(command.split(' ')).collect();
    let again = weft(&words);
    assert_eq!(again.status.code(), Some(1), "{}", String::from_utf8_lossy(&again.stderr));
    let sound: Vec<&str> = words.iter().filter(|word| !word.starts_with("inject=")).copied().collect();
    let at = words.iter().position(|word| word.starts_with("inject=")).expect("the fault is set");
    stdout(&[&sound[..at - 1], &sound[at..]].concat());
    assert_eq!(std::fs::read_dir(Path::new(out)).expect("a folder").count(), 1);
}

#[test]
fn mistakes_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = folder.path().join("other.csv");
    std::fs::write(&other, "a,b\n1,2\n").expect("written");
    let other = other.to_str().expect("text");
    for (args, told) in [
        (vec!["stress", "rec"], "rec"),
        (vec!["stress", "rec-4gpu-small", "--operations", "1.5e5"], "a whole number from 1 is expected"),
        (vec!["stress", "rec-4gpu-small", "--set", "waves=0"], "waves"),
        (vec!["stress", "rec-4gpu-small", "--record", other], "is no record of a campaign"),
        (vec!["stress", "rec-4gpu-small", "--round", "3", "--jobs", "2"], "--jobs"),
    ] {
        refused(&args, told);
    }
}
