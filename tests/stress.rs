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

/// Makes a fault's failing round small, and shows it by the commands that are printed; without the fault they show nothing. Returns how many there are.
fn shown_again(fabric: &str, fault: &str) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_str().expect("text");
    let args = ["stress", fabric, "--operations", "1e6", "--out", out, "--set", fault, "--seed", "1"];
    let ended = weft(&args);
    assert_eq!(ended.status.code(), Some(1));
    let (said, error) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(error.contains(&format!("weft stress {fabric} --set {fault} --seed 1 --round ")), "{error}");
    let commands = said.lines().filter_map(|line| line.strip_prefix("    weft "));
    let commands: Vec<Vec<&str>> = commands.map(|command| command.split(' ').collect()).collect();
    let (last, before) = commands.split_last().expect("a command");
    before.iter().for_each(|command| _ = stdout(command));
    let again = weft(last);
    assert_eq!(again.status.code(), Some(1), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!(std::fs::read_dir(Path::new(out)).expect("a folder").count(), commands.len());
    for command in &commands {
        let at = command.iter().position(|word| word.starts_with("inject="));
        let sound = command.iter().enumerate().filter(|(n, _)| at.is_none_or(|at| *n != at && *n != at - 1));
        stdout(&sound.map(|(_, word)| *word).collect::<Vec<_>>());
    }
    commands.len()
}

#[test]
fn a_planted_fault_is_made_small_and_runs_again() {
    assert_eq!(shown_again("rec-4gpu-small", "inject=l1-keeps-copies"), 1, "the run fails");
}

#[test]
fn what_only_an_axiom_shows_is_recorded_and_judged_again() {
    assert_eq!(shown_again("srsp-64cu-small", "inject=early-release"), 2, "the recording is wrong");
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
