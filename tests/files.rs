//! Files that commands write: what a path leads to decides where bytes go, nothing is written through what somebody else has planted, and a full
//! disk costs no more than it must.
#![cfg(unix)]

use crate::program::{WEFT, stdout_in as done, weft_in as weft};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A run of a few thousand cycles.
const RUN: [&str; 6] = ["run", "rec-4gpu-small", "--param", "source=karate", "--param", "iterations=1"];

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn run(folder: &Path, more: &[&str]) -> Output {
    weft(folder, &[&RUN[..], more].concat())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("listed").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file")
}

fn made(program: &str, path: &Path, more: &[&str]) -> bool {
    Command::new(program).arg(path).args(more).output().is_ok_and(|out| out.status.success())
}

/// What a command writes into a pipe, which must still be there afterwards.
fn through_pipe(folder: &Path, name: &str, args: &[&str]) -> String {
    let path = folder.join(name);
    assert!(made("mkfifo", &path, &[]), "mkfifo");
    let reader = {
        let path = path.clone();
        std::thread::spawn(move || read(&path))
    };
    done(folder, args);
    assert!(path.metadata().expect("there").file_type().is_fifo(), "{name} was replaced");
    reader.join().expect("read")
}

#[test]
fn pipes_and_devices_are_written_to() {
    let folder = folder();
    let folder = folder.path();
    let piped = through_pipe(folder, "pipe.json", &[&RUN[..], &["--json", "pipe.json"]].concat());
    assert_eq!(json(&piped)["verified"], true);
    std::fs::write(folder.join("run.json"), &piped).expect("written");
    let page = through_pipe(folder, "pipe.html", &["report", "run.json", "--out", "pipe.html"]);
    assert!(page.contains("</html>"));
    let csv = through_pipe(folder, "pipe.csv", &["states", "--devices", "2", "--csv", "pipe.csv"]);
    assert!(csv.lines().count() > 2, "{csv}");

    // A device of one's own if that is allowed: nobody's is put at risk.
    let own = folder.join("nul.json");
    if made("mknod", &own, &["c", "1", "3"]) {
        done(folder, &[&RUN[..], &["--json", "nul.json"]].concat());
        assert!(own.metadata().expect("there").file_type().is_char_device(), "the device was replaced");
    }
    // What is open is added to.
    let said = done(folder, &[&RUN[..], &["--json", "/dev/stdout"]].concat());
    assert!(said.contains("\"schema\"") && said.contains("verified: true"), "{said}");
}

#[test]
fn links_stay_and_what_they_lead_to_is_replaced() {
    let folder = folder();
    let folder = folder.path();
    std::fs::create_dir(folder.join("deep")).expect("made");
    for (link, target) in
        [("a.json", "deep/a.json"), ("w.vcd", "deep/w.vcd"), ("e", "deep/e"), ("s", "deep/s")]
    {
        symlink(target, folder.join(link)).expect("linked");
    }
    std::fs::write(folder.join("deep/a.json"), "old").expect("written");
    std::fs::set_permissions(folder.join("deep/a.json"), std::fs::Permissions::from_mode(0o600))
        .expect("set");
    let files = ["--json", "a.json", "--waves", "w.vcd", "--scope", "gpu0.dir0", "--events", "e"];
    done(folder, &[&RUN[..], &files, &["--snapshot", "s", "--snapshot-at", "500"]].concat());
    assert!(["a.json", "w.vcd", "e", "s"].iter().all(|name| folder.join(name).is_symlink()));
    assert_eq!(names(&folder.join("deep")), ["a.json", "e", "s", "w.vcd"]);
    assert_eq!(json(&read(&folder.join("a.json")))["verified"], true);
    assert_eq!(folder.join("a.json").metadata().expect("there").mode() & 0o777, 0o600, "the mode is kept");

    // Two names of one file are one file.
    symlink("deep/a.json", folder.join("b.json")).expect("linked");
    let out = run(folder, &["--json", "a.json", "--record", "b.json"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(2) && said.contains("--json and --record both name"), "{said}");

    // Verilog goes where links lead, too.
    std::fs::create_dir(folder.join("v")).expect("made");
    symlink("../deep/list", folder.join("v/files.f")).expect("linked");
    done(folder, &["export", "fifo", "--out", "v"]);
    assert!(folder.join("v/files.f").is_symlink() && read(&folder.join("deep/list")).ends_with(".v\n"));
}

#[test]
fn nothing_is_written_through_a_planted_link() {
    let folder = folder();
    let folder = folder.path();
    std::fs::write(folder.join("victim"), "precious").expect("written");
    let pid = std::process::id();
    for name in ["w.fst.part", "w.vcd.part", "w.part"] {
        symlink("victim", folder.join(name)).expect("linked");
    }
    done(folder, &[&RUN[..], &["--waves", "w.fst", "--to", "300", "--scope", "gpu0.dir0"]].concat());
    std::fs::write(folder.join("s.txt"), "+9\n").expect("written");
    done(folder, &["sim", "fifo", "--stimulus", "s.txt", "--waves", "w.vcd"]);
    assert_eq!(read(&folder.join("victim")), "precious", "process {pid}");
    assert!(folder.join("w.fst").is_file() && folder.join("w.vcd").is_file());
}

/// Runs with a limit on the size of files, in blocks of 1024 bytes.
fn limited(folder: &Path, blocks: u32, more: &[&str]) -> (Option<i32>, String, String) {
    let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let out =
        Command::new("bash").args(["-c", &script, WEFT]).args(RUN).args(more).current_dir(folder).output();
    let out = out.expect("bash starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (out.status.code(), text(out.stdout), text(out.stderr))
}

/// The files that a sentence names behind a word.
fn named(said: &str, word: &str) -> Vec<String> {
    let part = said.split(&format!("; {word}: ")).nth(1).unwrap_or_default();
    let part = part.split("; lost: ").next().unwrap_or_default();
    let files = ["w.fst", "e.wev", "r.rec", "j.json", "t.json"];
    files.iter().filter(|name| part.contains(*name)).map(ToString::to_string).collect()
}

#[test]
fn a_full_disk_costs_what_does_not_fit_and_the_message_says_which() {
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
        "--trace",
        "t.json",
    ];
    let mut seen = std::collections::BTreeSet::new();
    for blocks in [3, 20, 60] {
        let folder = folder();
        let (status, stdout, said) = limited(folder.path(), blocks, &files);
        assert_eq!(status, Some(1), "{blocks}: {said}");
        let (kept, lost) = (named(&said, "kept"), named(&said, "lost"));
        let mut all = [&kept[..], &lost].concat();
        all.sort();
        assert_eq!(all, ["e.wev", "j.json", "r.rec", "t.json", "w.fst"], "{blocks}: {said}");
        for name in &kept {
            assert!(folder.path().join(name).is_file(), "{blocks}: {name} is not there: {said}");
        }
        for name in &lost {
            assert!(!folder.path().join(name).exists(), "{blocks}: {name} is there: {said}");
            assert!(!stdout.contains(name), "{blocks}: {name} is told of: {stdout}");
        }
        assert!(lost.is_empty() || said.contains("larger than a file may be"), "{said}");
        assert!(
            !names(folder.path()).iter().any(|name| name.starts_with(".tmp")),
            "{:?}",
            names(folder.path())
        );
        if kept.contains(&"e.wev".to_string()) {
            weft_events::Log::read(&folder.path().join("e.wev")).expect("sound");
        }
        seen.insert(kept.len());
    }
    assert!(seen.len() > 1, "the limits differ in what they leave: {seen:?}");
}

/// As a full disk does, a limit of sizes answers with an error where its signal is ignored.
#[test]
fn no_file_is_told_of_that_is_not_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["--waves", "w.fst", "--scope", "gpu0.dir0", "--events", "e.wev", "--record", "r.rec"];
    let script = "trap '' XFSZ; ulimit -f 20; exec \"$0\" \"$@\"";
    let mut command = Command::new("bash");
    command.args(["-c", script, WEFT]).args(RUN).args(files).current_dir(folder.path());
    let out = command.output().expect("bash starts");
    let [stdout, said] = [out.stdout, out.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(!folder.path().join("e.wev").exists(), "the log fits into 20 KB: take a smaller limit");
    assert!(said.contains("; lost: event log e.wev (") && !said.contains("; events: in e.wev"), "{said}");
    assert!(!stdout.contains("events: in e.wev"), "{stdout}");
    assert!(folder.path().join("w.fst").is_file() && said.contains("; kept: "), "{said}");
}

#[test]
fn results_that_find_no_room_do_not_take_the_run_with_them() {
    let folder = folder();
    let out = run(folder.path(), &["--json", "/dev/full"]);
    let (stdout, said) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(stdout.contains("verified: true"), "{stdout}");
    let expected = "weft: the run has ended, and not all of its files could be written; lost: results /dev/full (no space is left there; make room, or give a file elsewhere)\n";
    assert_eq!(said, expected);
}
