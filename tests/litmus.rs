//! `weft litmus`: verdicts of public tests, runs on a fabric, one sentence for each mistake.

use crate::program::{refused, stdout, weft};

const PUBLIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../litmus/tests/public");

#[test]
fn public_tests_have_their_stated_verdicts() {
    let text = stdout(&["litmus", PUBLIC]);
    assert!(text.ends_with("68 tests: every verdict is the one stated\n"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("2+2W ") && line.ends_with("armv8 allowed")), "{text}");
}

#[test]
fn a_wrong_verdict_is_status_1() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sb.litmus");
    let text = "weft-litmus 1\nname SB\nlocs x y\nT0: W.P x 1 ; r1 = R.P y\nT1: W.P y 1 ; r1 = R.P x\nexists (0:r1=0 /\\ 1:r1=0)\nexpect drf0 allowed\n";
    std::fs::write(&file, text).expect("written");
    let out = weft(&["litmus", file.to_str().expect("text")]);
    assert_eq!(out.status.code(), Some(1));
    let error = String::from_utf8(out.stderr).expect("text");
    assert!(error.contains("SB is forbidden under drf0, and allowed is stated"), "{error}");
}

#[test]
fn a_test_runs_on_a_fabric() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mp.json");
    let json = file.to_str().expect("text");
    let fabric = ["--fabric", "spandex-soc-small", "--set", "protocol=s-gpu-gpu"];
    let args =
        [&["litmus", "MP.D", "--runs", "150", "--model", "drf1", "--json", json], &fabric[..]].concat();
    let text = stdout(&args);
    assert!(text.contains("here allowed, met by") && text.contains("of 150 runs"), "{text}");
    assert!(text.ends_with("1 tests, 150 runs: no end that a model forbids\n"), "{text}");
    let read = || std::fs::read_to_string(&file).expect("results");
    let first = read();
    let rows: serde_json::Value = serde_json::from_str(&first).expect("JSON");
    let ends = rows[0]["fabric"]["ends"].as_array().expect("ends");
    assert_eq!(ends.iter().map(|end| end["times"].as_u64().expect("a number")).sum::<u64>(), 150);
    assert_eq!((stdout(&args), read()), (text, first), "the same for the same seed");
}

#[test]
fn mistakes_are_told() {
    refused(&["litmus", "nothing"], "no test of the library and no file or folder");
    refused(&["litmus", "MP.D", "--model", "tso"], "no model");
    refused(&["litmus", "MP.D", "--fabric", "rec-4gpu-small", "--model", "ptx"], "the model of a language");
    refused(&["litmus", "MP.D", "--fabric", "rec-4gpu-small", "--placement", "far"], "no placement");
    refused(&["litmus", "MP.D", "--runs", "5"], "--fabric");
    let folder = tempfile::tempdir().expect("a folder");
    refused(&["litmus", folder.path().to_str().expect("text")], "no file that ends in .litmus");
    let file = folder.path().join("bad.litmus");
    std::fs::write(&file, "weft-litmus 1\nlocs x\nT0: W.D z 1\nexists (x=1)\n").expect("written");
    refused(&["litmus", file.to_str().expect("text")], "line 3");
}
