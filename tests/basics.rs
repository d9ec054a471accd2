//! The command line as a user meets it: what there is, what goes wrong, exit statuses.

use crate::program::{refusal as refused, stdout, weft};
use std::path::Path;

fn stimulus(dir: &Path, text: &str) -> String {
    let path = dir.join("stimulus.txt");
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

#[test]
fn lists_are_json_on_demand() {
    for what in ["blocks", "fabrics", "workloads"] {
        let list: serde_json::Value = serde_json::from_str(&stdout(&["list", what, "--json"])).expect("JSON");
        assert!(list.is_array(), "{what}");
    }
    let workloads = stdout(&["list", "workloads"]);
    for name in ["pagerank", "gemv", "atax", "fir", "transpose", "stencil"] {
        assert!(workloads.contains(name), "{name} is missing:\n{workloads}");
    }
}

/// What is listed of planted faults is what a run takes.
#[test]
fn planted_faults_are_listed_with_their_protocols() {
    let list: serde_json::Value =
        serde_json::from_str(&stdout(&["list", "fabrics", "--json"])).expect("JSON");
    let all = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let fabric = all(&list).into_iter().find(|f| f["name"] == "spandex-soc-small").expect("a fabric");
    let inject = all(&fabric["params"]).into_iter().find(|p| p["name"] == "inject").expect("a key");
    let with = |fault: &str| {
        let groups = inject["with"].as_object().expect("faults of some protocols");
        let group = groups.iter().find(|(names, _)| names.split(", ").any(|name| name == fault));
        group.and_then(|(_, protocols)| protocols.as_str()).unwrap_or_default().to_string()
    };
    assert_eq!(with("tu-mesi-no-r2"), "s-mesi-gpu, s-mesi-denovo");
    assert_eq!(with("llc-stale-owner"), "s-mesi-gpu, s-denovo-gpu, s-flex, s-flex-pred");
    let text = stdout(&["list", "fabrics"]);
    assert!(
        text.lines()
            .any(|l| l.contains("tu-mesi-no-r2") && l.ends_with(": protocol s-mesi-gpu, s-mesi-denovo"))
    );
    let keys = ["--set", "protocol=s-denovo-denovo", "--set", "inject=llc-stale-owner"];
    let said = refused(&[&["run", "spandex-soc-small"], &keys[..]].concat());
    assert!(
        said.contains("legal: none, or protocol = s-mesi-gpu, s-denovo-gpu, s-flex, s-flex-pred"),
        "{said}"
    );
}

#[test]
fn the_version_has_the_commit() {
    let said = stdout(&["--version"]);
    let commit =
        said.trim_end().strip_suffix(')').and_then(|rest| rest.split_once(" (")).expect("in brackets");
    assert_eq!(commit.0, concat!("weft ", env!("CARGO_PKG_VERSION")));
    let hash = commit.1.trim_end_matches("-dirty");
    let hex = hash.len() >= 12 && hash.chars().all(|c| c.is_ascii_hexdigit());
    assert!(hex || hash == "unknown", "{said}");
}

#[test]
fn a_fifo_is_clocked_from_a_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let file =
        stimulus(dir.path(), "+1\nin_valid=1 in_data=0x5a out_ready=0\nin_valid=0 +3\nout_ready=1 +2\n");
    let wave = dir.path().join("f.vcd");
    let text = stdout(&["sim", "fifo", "--stimulus", &file, "--waves", &wave.display().to_string()]);
    assert_eq!(text.lines().count(), 7, "one line per cycle:\n{text}");
    assert!(text.contains("out_valid=1") && text.contains("5a"), "the word comes out:\n{text}");
    assert!(wave.exists() && dir.path().join("f.vcd.gtkw").exists());
    let picture = stdout(&["sim", "fifo", "--stimulus", &file, "--ascii"]);
    assert!(picture.lines().any(|l| l.starts_with("out_valid") && l.contains("_#")), "{picture}");
}

/// `inv_cause` of a directory is an enumeration of one bit.
#[test]
fn an_enumeration_of_one_bit_is_drawn_by_its_names() {
    let dir = tempfile::tempdir().expect("a folder");
    let picture = stdout(&["sim", "rec-directory", "--stimulus", &stimulus(dir.path(), "+3\n"), "--ascii"]);
    let line = picture.lines().find(|l| l.starts_with("inv_cause")).expect("an output of the block");
    let value = line.split('|').nth(1).unwrap_or_else(|| panic!("no value in {line:?}"));
    assert!(value.chars().all(|c| c.is_ascii_alphabetic() || c == '_' || c == '.'), "{line}");
}

#[test]
fn mistakes_are_one_sentence_and_status_2() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = stimulus(dir.path(), "nothing=1\n");
    let said = |args: &[&str], part: &str| {
        let text = refused(args);
        assert!(text.contains(part), "{args:?}: {text}");
    };
    said(
        &["sim", "no-such-block", "--stimulus", &file],
        "there is no block no-such-block, and no fabric; `weft list blocks`",
    );
    said(&["sim", "fifo", "--stimulus", &file], "line 1: there is no input nothing; there are");
    said(&["sim", "fifo", "--stimulus", "/no/such/file"], "cannot read stimulus /no/such/file");
    said(&["sim", "fifo", "--param", "colour=blue", "--stimulus", &file], "has no parameter colour");
    said(&["sim", "fifo", "--param", "depth", "--stimulus", &file], "expected KEY=VALUE");
    said(&["ledger", "no-such-block"], "the ledger has no block no-such-block; `weft ledger` shows all");
    let fine = stimulus(dir.path(), "+1\n");
    said(
        &["sim", "fifo", "--stimulus", &fine, "--waves", "/no/such/folder/w.vcd"],
        "the folder /no does not exist",
    );
    said(&["sim", "fifo", "--stimulus", &fine, "--waves", "w.txt"], "use .vcd or .fst");
}

#[test]
fn an_unknown_verb_is_status_2() {
    assert_eq!(weft(&["fly"]).status.code(), Some(2));
}

#[test]
fn the_ledger_check_names_what_was_never_hit() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().display().to_string();
    let check = || weft(&["ledger", "inv-egress", "--check", "--dir", &folder]);
    let egress = |name: &str| (format!("rec.race.egress_{name}"), "rec.md 4.1");
    let planes = |name: &str| (format!("hmg.race.{name}"), "hmg.md 6");
    let entries = [
        egress("partial_accept"),
        egress("full_fifo_holds_slice"),
        egress("other_slice_passes"),
        egress("round_robin"),
        egress("multicast"),
        planes("marker_enters_both_links"),
        planes("markers_queue_for_other_gpus"),
        planes("far_marker_waits_near_enters"),
        planes("own_gpu_passes_full_link"),
        planes("forwarded_marker_behind_recv"),
    ];
    for (number, (hit, source)) in entries.iter().enumerate() {
        let out = check();
        let text = String::from_utf8(out.stdout).expect("text");
        assert_eq!((out.status.code(), text.lines().count()), (Some(1), entries.len() - number), "{text}");
        let sentence = format!("{hit} (race of inv-egress, {source}) was never hit: ");
        assert!(text.starts_with(&sentence), "{text}");
        let line = format!(r#"{{"id":"{hit}","count":3,"seed":{number},"test":"a test"}}"#);
        std::fs::write(dir.path().join(format!("{number}.jsonl")), line).expect("written");
    }
    let out = check();
    assert_eq!(out.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&out.stdout), "all 10 entries of the ledger were hit\n");
    let table = stdout(&["ledger", "inv-egress", "--dir", &folder]);
    let row: Vec<&str> = table.lines().nth(2).expect("a row").split_whitespace().collect();
    assert_eq!(row, ["rec.race.egress_full_fifo_holds_slice", "inv-egress", "3", "1", "a", "test"]);
}
