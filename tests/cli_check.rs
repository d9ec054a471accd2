//! `weft run --record`, `weft check` and `weft races`: runs of every family keep their models, a fault in the hardware is a violation, a race of a program is told apart.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn weft(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weft"))
        .args(args)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Standard output of a command that succeeds.
fn said(folder: &Path, args: &[&str]) -> String {
    let out = weft(folder, args);
    assert!(out.status.success(), "{args:?}: {}{}", text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

/// One sentence on standard error, status 2.
fn refused(folder: &Path, args: &[&str], part: &str) {
    let out = weft(folder, args);
    let error = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{args:?}: {error}");
    assert_eq!(error.trim_end().lines().count(), 1, "{args:?}: one sentence, not: {error}");
    assert!(error.contains(part), "{args:?}: {error}");
}

/// Records a run that verifies and judges it; gives what `weft check` says.
fn kept(fabric: &str, words: &[&str], model: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let run = said(folder.path(), &[&["run", fabric, "--record", "r.weftrec"], words].concat());
    assert!(run.contains("recording: r.weftrec, judged by weft check r.weftrec"), "{run}");
    let check = said(folder.path(), &["check", "r.weftrec"]);
    assert!(
        check.lines().any(|line| line.contains(&format!(" on {fabric}, judged under {model}"))),
        "{check}"
    );
    assert!(check.ends_with("violations: none\n"), "{check}");
    let accesses = check.lines().find(|line| line.contains("accesses to what is written")).expect("counted");
    let count: u64 = accesses.split_whitespace().last().expect("a number").parse().expect("a number");
    assert!(count > 100, "{fabric}: only {count} accesses were judged");
    check
}

const LOCK: [&str; 4] = ["--workload", "spm-g", "--param", "iterations=1"];
const LOCAL: [&str; 4] = ["--workload", "spm-l", "--param", "iterations=1"];
const DENOVO: [&str; 2] = ["--set", "protocol=s-denovo-denovo"];

#[test]
fn gpu_coherence_and_denovo_keep_drf0() {
    let gd = kept("flat-gpu-small", &LOCK, "drf0");
    assert!(gd.contains("races: none in this execution"), "{gd}");
    let dd = kept("flat-gpu-small", &[&LOCK[..], &DENOVO].concat(), "drf0");
    assert!(dd.contains("races: none in this execution"), "{dd}");
}

#[test]
fn with_scopes_they_keep_drf0_with_scopes() {
    for protocol in [&[][..], &DENOVO] {
        let check = kept(
            "flat-gpu-small",
            &[&LOCAL[..], &["--set", "scopes=true"], protocol].concat(),
            "drf0+scopes",
        );
        assert!(check.contains("races: none in this execution"), "{check}");
    }
}

#[test]
fn relaxed_atomics_keep_drf1_and_drfrlx() {
    let small = ["--workload", "split-counter", "--param", "blocks=3"];
    for model in ["drf1", "drfrlx"] {
        kept("flat-gpu-small", &[&small[..], &["--set", &format!("model={model}")]].concat(), model);
    }
}

#[test]
fn spandex_and_srsp_keep_their_models() {
    kept("spandex-soc-small", &["--workload", "hsti", "--param", "values=512"], "drf1");
    kept("srsp-64cu-small", &["--workload", "prk", "--param", "source=karate"], "drf0+scopes");
}

#[test]
fn directories_and_timestamps_keep_theirs() {
    let small = ["--workload", "cusolver", "--param", "tiles=2"];
    kept("rec-4gpu-small", &small, "drf0");
    kept("hmg-4gpu-small", &small, "drf0+scopes");
    kept("tsm-4gpu-small", &["--workload", "mst", "--param", "source=karate"], "drf0");
}

#[test]
fn a_recording_changes_no_cycle() {
    let folder = tempfile::tempdir().expect("a folder");
    let cycles = |more: &[&str]| {
        said(folder.path(), &[&["run", "flat-gpu-small", "--json", "run.json"], &LOCK[..], more].concat());
        let json = std::fs::read_to_string(folder.path().join("run.json")).expect("written");
        let mut json: Value = serde_json::from_str(&json).expect("JSON");
        for time in ["wall_seconds", "cycles_per_second"] {
            json[time] = Value::Null;
        }
        json
    };
    assert_eq!(cycles(&[]), cycles(&["--record", "r.weftrec"]));
    let read = || std::fs::read(folder.path().join("r.weftrec")).expect("written");
    let first = read();
    cycles(&["--record", "r.weftrec"]);
    assert_eq!(first, read(), "the same bytes each time");
}
