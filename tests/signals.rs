//! Signals: a command that is asked to end keeps what it has, leaves no temporary file, and says so in a sentence; a second signal ends it at once.
#![cfg(unix)]

use crate::program::{WEFT, weft_in as weft};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A run of some ten thousand cycles.
const RUN: [&str; 6] = ["run", "rec-4gpu-small", "--param", "source=karate", "--param", "iterations=12"];

/// The same, for ever.
const LONG: [&str; 6] = ["run", "rec-4gpu-small", "--param", "source=karate", "--param", "iterations=1000"];

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn start(folder: &Path, args: &[&str]) -> Child {
    let mut command = Command::new(WEFT);
    command.args(args).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
    assert!(sent.expect("kill").success(), "{signal}");
}

/// Waits until something holds; a child that ends before has nothing to be interrupted in.
fn until(child: &mut Child, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(child.try_wait().expect("a child").is_none(), "it has ended too early");
        assert!(Instant::now() < end, "nothing happens");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Status, standard output and the sentence.
fn ended(child: Child) -> (Option<i32>, String, String) {
    let out = child.wait_with_output().expect("ended");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (out.status.code(), text(out.stdout), text(out.stderr))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("listed").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn no_temporaries(folder: &Path) {
    let left: Vec<String> = names(folder).into_iter().filter(|name| name.starts_with('.')).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// The number behind some words.
fn number(text: &str, words: &str) -> u64 {
    let digits = text.split(words).nth(1).unwrap_or_default();
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number behind {words:?}: {text}"))
}

/// The text of a record without the two lines that tell time.
fn record(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("written");
    let timeless =
        |line: &&str| !line.contains("\"wall_seconds\"") && !line.contains("\"cycles_per_second\"");
    text.lines().filter(timeless).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_run_that_is_asked_to_end_keeps_all_its_files() {
    let folder = folder();
    let folder = folder.path();
    let files = [
        "--waves",
        "w.fst",
        "--scope",
        "gpu0.dir0",
        "--events",
        "e.wev",
        "--record",
        "r.rec",
        "--json",
        "j.json",
        "--ledger",
        "hits",
        "--snapshot",
        "s.snap",
        "--snapshot-every",
        "500",
    ];
    let mut child = start(folder, &[&RUN[..], &files].concat());
    until(&mut child, || folder.join("s.snap").exists());
    send(&child, "TERM");
    let (status, stdout, said) = ended(child);
    assert_eq!(status, Some(143), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let cycle = number(&said, "weft: ended by SIGTERM: the run has stopped in cycle ");
    let rest = format!(
        "; kept: snapshot of cycle {cycle} s.snap, recording r.rec, waveform w.fst, event log e.wev, race ledger hits; lost: results j.json (the run has not ended)\n"
    );
    assert!(said.ends_with(&rest), "{said}");
    assert!(stdout.contains(&format!("waveform: cycles 0..{} in w.fst", cycle - 1)), "{stdout}");
    no_temporaries(folder);
    assert!(!folder.join("j.json").exists());

    let wave = wellen::simple::read(folder.join("w.fst")).expect("a waveform");
    let last = wave.time_table().last().copied();
    assert_eq!(last, Some(cycle), "the waveform goes up to there");
    let log = weft_events::Log::read(&folder.join("e.wev")).expect("sound");
    assert_eq!(log.end, cycle);
    let judged = weft(folder, &["check", "r.rec"]);
    let text = String::from_utf8_lossy(&judged.stdout).into_owned();
    assert!(judged.status.success() && text.contains("judged up to there: ended by SIGTERM"), "{text}");
    let hits = std::fs::read_dir(folder.join("hits")).expect("made").next().expect("a file").expect("listed");
    assert!(std::fs::read_to_string(hits.path()).expect("text").lines().count() > 10);

    // The run goes on from there, and ends as if nothing had been.
    let resumed = weft(folder, &[&RUN[..], &["--resume", "s.snap", "--json", "j.json"]].concat());
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    let whole = weft(folder, &[&RUN[..], &["--json", "whole.json"]].concat());
    assert!(whole.status.success());
    assert_eq!(record(&folder.join("j.json")), record(&folder.join("whole.json")));
}

#[test]
fn a_snapshot_for_later_is_written_when_the_run_is_asked_to_end_before() {
    let folder = folder();
    let folder = folder.path();
    let files = ["--snapshot", "s.snap", "--snapshot-at", "100000000", "--events", "e.wev"];
    let mut child = start(folder, &[&LONG[..], &files].concat());
    // The head of the log is written just before the first cycle.
    let begun = |name: &String| folder.join(name).metadata().is_ok_and(|found| found.len() > 0);
    until(&mut child, || names(folder).iter().any(begun));
    std::thread::sleep(Duration::from_millis(3000));
    send(&child, "INT");
    let (status, _, said) = ended(child);
    assert_eq!(status, Some(130), "{said}");
    let cycle = number(&said, "weft: ended by SIGINT: the run has stopped in cycle ");
    assert!(said.contains(&format!("; kept: snapshot of cycle {cycle} s.snap, event log e.wev")), "{said}");
    assert_eq!(names(folder), ["e.wev", "s.snap"]);
}

#[test]
fn a_second_signal_ends_at_once_and_leaves_nothing_half_written() {
    let folder = folder();
    let folder = folder.path();
    let pipe = folder.join("e.wev");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    // A reader that does not read, and no room in the pipe: the log cannot be finished.
    let mut full = std::fs::File::options().read(true).write(true).open(&pipe).expect("opened");
    full.write_all(&[0; 1 << 16]).expect("as much as a pipe holds");
    let files = ["--events", "e.wev", "--waves", "w.vcd", "--snapshot", "s.snap", "--snapshot-every", "500"];
    let mut child = start(folder, &[&LONG[..], &files].concat());
    until(&mut child, || folder.join("s.snap").exists());
    std::thread::sleep(Duration::from_millis(300));
    send(&child, "TERM");
    std::thread::sleep(Duration::from_millis(1500));
    assert!(child.try_wait().expect("a child").is_none(), "it waits for the reader of its log");
    send(&child, "TERM");
    let (status, _, said) = ended(child);
    assert_eq!(status, Some(143), "{said}");
    assert_eq!(said, "weft: ended by SIGTERM: at once, by a second signal, and nothing more was kept\n");
    no_temporaries(folder);
    drop(full);
}

/// Four runs, of which two are short.
const SWEEP: &str = r#"
name = "tiny"
fabric = "rec-4gpu-small"
workloads = [{ workload = "stencil", n = 16, iterations = 1 }, { workload = "pagerank", source = "karate", iterations = 500 }]
[[axis]]
key = "protocol"
values = ["baseline", "rec"]
"#;

#[test]
fn a_sweep_that_is_asked_to_end_keeps_rows_and_begun_runs_and_goes_on_with_both() {
    let folder = folder();
    let folder = folder.path();
    std::fs::write(folder.join("s.toml"), SWEEP).expect("written");
    let args = ["sweep", "s.toml", "--out", "out", "--jobs", "1"];
    let path = folder.join("out/tiny.csv");
    let rows = || std::fs::read_to_string(&path).map_or(0, |text| text.lines().count().saturating_sub(1));
    let mut child = start(folder, &args);
    until(&mut child, || rows() > 0);
    // The second run, on the same hardware, begins at once and takes some seconds.
    std::thread::sleep(Duration::from_millis(500));
    send(&child, "INT");
    let (status, _, said) = ended(child);
    assert_eq!(status, Some(130), "{said}");
    let there = rows();
    let expected = format!(
        "weft: ended by SIGINT: {there} of 4 runs are kept in out/tiny.csv, and the same command goes on with the others, 1 of them from where they are (in out/tiny.begun)\n"
    );
    assert_eq!(said, expected);
    assert_eq!(there, 1);
    assert_eq!(names(&folder.join("out")), ["tiny.begun", "tiny.csv"]);
    no_temporaries(&folder.join("out/tiny.begun"));
    no_temporaries(folder);
    let out = weft(folder, &args);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert!(number(&said, "weft: pagerank, baseline goes on in cycle ") > 0, "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!folder.join("out/tiny.begun").exists());
    let whole = weft(folder, &["sweep", "s.toml", "--out", "whole"]);
    assert!(whole.status.success());
    let table = |out: &str| std::fs::read_to_string(folder.join(out).join("tiny.csv")).expect("a table");
    assert_eq!(table("out"), table("whole"));
}

/// The rows so far are in the records, so that the rest can be made in another folder.
#[test]
fn a_reproduction_that_is_asked_to_end_records_its_rows() {
    let folder = folder();
    let folder = folder.path();
    let args = |out| {
        let what = ["reproduce", "dnn-step", "remote", "--tier=small", "--jobs=1"];
        [&what[..], &["--record", "kept", "--missing", "--out", out]].concat()
    };
    let path = folder.join("first/runs/dnn-remote-small.csv");
    let rows = || std::fs::read_to_string(&path).map_or(0, |text| text.lines().count().saturating_sub(1));
    let mut child = start(folder, &args("first"));
    until(&mut child, || rows() > 0);
    send(&child, "INT");
    let (status, _, said) = ended(child);
    assert_eq!(status, Some(130), "{said}");
    let there = rows();
    assert!((1..8).contains(&there), "{there} rows");
    no_temporaries(&folder.join("kept"));
    let out = weft(folder, &args("second"));
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && said.contains(&format!("runs made: {}, ", 8 - there)), "{said}");
}

#[test]
fn litmus_tests_that_were_judged_are_kept() {
    let folder = folder();
    let folder = folder.path();
    let args = ["litmus", "all", "--fabric", "rec-4gpu-small", "--runs", "200", "--json", "l.json"];
    let mut child = start(folder, &args);
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let first = lines.next().expect("a line").expect("text");
    send(&child, "INT");
    lines.for_each(drop);
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert_eq!(child.wait().expect("ended").code(), Some(130), "{said}");
    let judged = number(&said, "weft: ended by SIGINT: ");
    assert!(said.contains("tests were judged, and l.json holds these"), "{said}");
    let text = std::fs::read_to_string(folder.join("l.json")).expect("written");
    let rows: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rows = rows.as_array().expect("a list");
    assert_eq!(rows.len() as u64, judged);
    assert!(first.starts_with(rows[0]["test"].as_str().expect("a name")), "{first}");
    no_temporaries(folder);
}

#[test]
fn a_command_that_has_nothing_to_keep_ends_at_once() {
    let folder = folder();
    let mut child = start(folder.path(), &["litmus", "all"]);
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    lines.next().expect("a line").expect("text");
    send(&child, "TERM");
    lines.for_each(drop);
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert_eq!(child.wait().expect("ended").code(), Some(143), "{said}");
    assert_eq!(said, "weft: ended by SIGTERM: nothing was left behind\n");
}
