//! Snapshots: a run that goes on from a file ends as if it had never stopped, and a file that is not of this run is refused before anything runs.

use crate::program::WEFT;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Words of a run that ends after a few thousand cycles with its share of evictions and invalidations.
const RUN: [&str; 8] =
    ["run", "rec-4gpu-small", "--param", "source=karate", "--param", "iterations=2", "--set", "entries=64"];

fn weft(folder: &Path, base: &[&str], more: &[&str]) -> Output {
    let mut command = Command::new(WEFT);
    command.args(base).args(more).current_dir(folder).output().expect("the program starts")
}

fn done(folder: &Path, base: &[&str], more: &[&str]) -> String {
    let out = weft(folder, base, more);
    assert!(out.status.success(), "{base:?} {more:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

fn refused(folder: &Path, base: &[&str], more: &[&str], parts: &[&str]) {
    let out = weft(folder, base, more);
    let said = String::from_utf8(out.stderr).expect("text");
    assert_eq!(out.status.code(), Some(2), "{more:?}: {said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{more:?}: one sentence, not:\n{said}");
    for part in parts {
        assert!(said.contains(part), "{more:?}: {said}\nlacks {part:?}");
    }
    assert!(out.stdout.is_empty(), "{more:?}: nothing is simulated");
}

/// The text of a record without the two lines that tell time.
fn record(folder: &Path, name: &str) -> String {
    let text = std::fs::read_to_string(folder.join(name)).expect("written");
    let timeless =
        |line: &&str| !line.contains("\"wall_seconds\"") && !line.contains("\"cycles_per_second\"");
    text.lines().filter(timeless).collect::<Vec<_>>().join("\n")
}

fn cycles(folder: &Path, name: &str) -> u64 {
    let text = std::fs::read_to_string(folder.join(name)).expect("written");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["verified"], true);
    json["cycles"].as_u64().expect("a number")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("listed").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Cuts a run at some of its cycles and compares the records, byte for byte.
fn cut(base: &[&str], parts: &[u64]) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    done(folder, base, &["--json", "whole.json"]);
    let (whole, end) = (record(folder, "whole.json"), cycles(folder, "whole.json"));
    for part in parts {
        let at = (end * part / 100).to_string();
        let said =
            done(folder, base, &["--snapshot", "s.snap", "--snapshot-at", &at, "--json", "first.json"]);
        assert!(said.contains(&format!("snapshot: cycle {at} in s.snap")), "{said}");
        assert_eq!(record(folder, "first.json"), whole, "{base:?}: a snapshot in cycle {at} changes the run");
        done(folder, base, &["--resume", "s.snap", "--json", "second.json"]);
        assert_eq!(record(folder, "second.json"), whole, "{base:?}: resumed in cycle {at}");
    }
    assert_eq!(names(folder), ["first.json", "s.snap", "second.json", "whole.json"]);
}

#[test]
fn a_resumed_run_ends_with_the_same_record_wherever_it_was_cut() {
    cut(&RUN, &[0, 3, 55, 97]);
}

#[test]
fn every_protocol_and_program_can_be_cut() {
    let karate = ["run", "rec-4gpu-small", "--param", "source=karate", "--param", "iterations=1", "--set"];
    cut(&[&karate[..], &["protocol=ideal"]].concat(), &[40]);
    cut(&[&karate[..], &["protocol=l1-only", "--set", "checks=false"]].concat(), &[40]);
    // Copies of the host between kernels.
    let fir =
        ["run", "rec-4gpu-small", "--workload", "fir", "--param", "samples=1024", "--param", "blocks=2"];
    cut(&fir, &[25, 60]);
}

#[test]
fn a_run_cut_at_a_limit_goes_on_again_and_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    done(folder, &RUN, &["--json", "whole.json"]);
    let keep = ["--snapshot", "s.snap", "--snapshot-every", "700"];
    let out = weft(folder, &RUN, &[&keep[..], &["--max-cycles", "1000"]].concat());
    assert_eq!(out.status.code(), Some(1), "the limit ends the run");
    let limit = [&keep[..], &["--resume", "s.snap", "--max-cycles", "1900"]].concat();
    assert_eq!(weft(folder, &RUN, &limit).status.code(), Some(1));
    let first = std::fs::read(folder.join("s.snap")).expect("written");
    refused(
        folder,
        &RUN,
        &limit,
        &["--max-cycles 1900", "the cycle 1900 in which --resume s.snap begins", "at least 1901"],
    );
    assert!(std::fs::read(folder.join("s.snap")).expect("kept") == first);
    let said = done(folder, &RUN, &["--resume", "s.snap", "--json", "resumed.json"]);
    assert!(!said.contains("snapshot"), "{said}");
    assert_eq!(record(folder, "resumed.json"), record(folder, "whole.json"));
}

#[test]
fn a_resumed_run_has_the_same_waveform_from_there_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let scope = ["--scope", "gpu0.dir0", "--scope", "gpu1.bank0"];
    let window = |file, from| [&scope[..], &["--waves", file, "--from", from, "--to", "1800"]].concat();
    done(
        folder,
        &RUN,
        &[&window("whole.vcd", "1200")[..], &["--snapshot", "s.snap", "--snapshot-at", "1000"]].concat(),
    );
    done(folder, &RUN, &[&window("part.vcd", "1200")[..], &["--resume", "s.snap"]].concat());
    let bytes = |name: &str| std::fs::read(folder.join(name)).expect("written");
    assert!(bytes("whole.vcd") == bytes("part.vcd"));
    let said = done(folder, &RUN, &[&window("late.vcd", "0")[..], &["--resume", "s.snap"]].concat());
    assert!(said.contains("waveform: cycles 1000..1799 in late.vcd"), "{said}");
}

#[test]
fn another_run_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("written");
    put("a.graph", "4 3\n2\n1 3\n2 4\n3\n");
    put("b.graph", "4 3\n2\n1 3\n2 4\n3\n");
    put("c.graph", "4 3\n3\n3\n1 2 4\n3\n");
    let base = ["run", "rec-4gpu-small", "--param", "iterations=2", "--graph"];
    let with = |graph| [&base[..], &[graph]].concat();
    done(folder, &with("a.graph"), &["--snapshot", "s.snap", "--snapshot-at", "300"]);
    let resume = |more: &[&'static str]| [&["--resume", "s.snap", "--json", "x.json"][..], more].concat();
    let same = with("a.graph");
    let cases: [(&[&'static str], &[&str]); 6] = [
        (
            &["--set", "range=512"],
            &["s.snap is of a run with range = 1024, and this one has range = 512", "give the same --set"],
        ),
        (&["--param", "damping=0.5"], &["damping = 0.85", "damping = 0.5", "--param"]),
        (&["--seed", "3"], &["seed = ", "and this one has seed = 3", "--seed"]),
        (&["--interpreter"], &["native code", "the interpreter", "--interpreter"]),
        (&["--snapshot", "t.snap", "--snapshot-at", "299"], &["--snapshot-at 299", "at least 300"]),
        (&["--waves", "x.vcd", "--to", "300"], &["--to 300", "at least 301"]),
    ];
    let before = names(folder);
    for (more, parts) in cases {
        refused(folder, &same, &resume(more), parts);
        assert_eq!(names(folder), before, "{more:?}: nothing is left behind");
    }
    refused(
        folder,
        &with("c.graph"),
        &resume(&[]),
        &["the graph a.graph", "has the graph c.graph", "the same --graph"],
    );
    refused(folder, &["run", "rec-4gpu"], &resume(&[]), &["fabric rec-4gpu-small", "has fabric rec-4gpu;"]);
    refused(
        folder,
        &["run", "rec-4gpu-small", "--workload", "gemv"],
        &resume(&[]),
        &["workload pagerank", "workload gemv"],
    );
    // The same file with another graph in it; a search does not even look at weights.
    let bfs = ["run", "rec-4gpu-small", "--workload", "bfs", "--graph", "w.txt"];
    put("w.txt", "0 1 5\n1 2 5\n2 3 5\n");
    done(folder, &bfs, &["--snapshot", "w.snap", "--snapshot-at", "300"]);
    put("w.txt", "0 1 5\n1 2 6\n2 3 5\n");
    refused(folder, &bfs, &["--resume", "w.snap"], &["the graph w.txt of digest ", "the same --graph"]);
    // Another file with the same graph in it is the same run.
    done(folder, &with("b.graph"), &resume(&[]));
}

#[test]
fn a_file_that_is_no_whole_snapshot_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    done(folder, &RUN, &["--snapshot", "s.snap", "--snapshot-at", "900"]);
    let whole = std::fs::read(folder.join("s.snap")).expect("written");
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect("written");
    for (i, length) in [9, 12, 20, 27, 28, 500, whole.len() / 2, whole.len() - 1].into_iter().enumerate() {
        put("short.snap", &whole[..length]);
        refused(folder, &RUN, &["--resume", "short.snap"], &["short.snap is truncated or damaged"]);
        let mut bytes = whole.clone();
        bytes[12 + i * (whole.len() - 13) / 7] ^= 0x10;
        put("changed.snap", &bytes);
        refused(folder, &RUN, &["--resume", "changed.snap"], &["changed.snap is truncated or damaged"]);
    }
    let mut newer = whole.clone();
    newer[8] += 1;
    put("newer.snap", &newer);
    let versions = [format!("format version {}", newer[8]), format!("reads version {}", whole[8])];
    refused(folder, &RUN, &["--resume", "newer.snap"], &versions.each_ref().map(String::as_str));
    put("text.snap", b"5 6\n2 3 5\n");
    refused(
        folder,
        &RUN,
        &["--resume", "text.snap"],
        &["text.snap is no snapshot", "--snapshot has written"],
    );
    refused(folder, &RUN, &["--resume", "none.snap"], &["cannot read the snapshot none.snap"]);
    refused(folder, &RUN, &["--snapshot", "no/s.snap"], &["--snapshot no/s.snap", "cannot write it"]);
    refused(folder, &RUN, &["--snapshot-at", "5"], &["--snapshot-at", "add --snapshot FILE"]);
    refused(folder, &RUN, &["--snapshot-every", "5"], &["--snapshot-every", "add --snapshot FILE"]);
    refused(
        folder,
        &RUN,
        &["--snapshot", "x.json", "--json", "x.json"],
        &["--json and --snapshot both name x.json"],
    );
}
