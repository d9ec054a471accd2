//! `weft litmus`: verdicts of public tests, runs on a fabric, one sentence for each mistake.

use crate::program::{refused, stdout, weft};
use std::path::Path;

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

/// The owner of a lock and a remote CU: a lost update is seen on the faulty L1s, and none on the sound ones.
#[test]
fn a_fault_of_remote_operations_is_status_1() {
    let fabric = ["--fabric", "srsp-64cu-small", "--set", "checks=false", "--set", "waves=2"];
    let args = [&["litmus", "lostr.two", "--placement", "cus", "--runs", "40"], &fabric[..]].concat();
    assert!(stdout(&args).contains("here forbidden, met by 0 of 40 runs"));
    let out = weft(&[&args[..], &["--set", "inject=no-replay"]].concat());
    assert_eq!(out.status.code(), Some(1));
    let error = String::from_utf8(out.stderr).expect("text");
    assert!(error.contains("lostr.two ended") && error.contains("in a forbidden way"), "{error}");
}

/// What runs nowhere has not been asked, and is not passed.
#[test]
fn a_test_without_a_place_is_refused() {
    let steal = ["--fabric", "srsp-64cu-small", "--set", "protocol=steal"];
    refused(
        &[&["litmus", "MPr.thief"], &steal[..]].concat(),
        "MPr.thief has remote operations, and srsp-64cu-small",
    );
    refused(
        &[&["litmus", "MP.D", "--placement", "gpus"], &steal[..]].concat(),
        "MP.D has no run on srsp-64cu-small: the placements asked for do not exist there",
    );
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

/// A test of two threads that pass a value: the second may see it.
const PASSING: &str = "AArch64 ne1\n{ 0:X1=x; 1:X1=x; }\n P0 | P1 ;\n MOV W0,#1 | LDR W0,[X1] ;\n STR W0,[X1] | LDR W2,[X1] ;\n";

/// What the program says of a test: status, standard output, standard error.
fn said(args: &[&str]) -> (Option<i32>, String, String) {
    let out = weft(args);
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (out.status.code(), text(out.stdout), text(out.stderr))
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let file = folder.join(name);
    std::fs::write(&file, text).expect("written");
    file.to_str().expect("text").into()
}

#[test]
fn a_condition_that_states_something_holds_or_is_broken_by_an_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let judged = |condition: &str| {
        said(&["litmus", &write(folder.path(), "a.litmus", &format!("{PASSING}{condition}\n"))])
    };
    let (status, out, error) = judged("~exists (1:X0=1)");
    assert_eq!(status, Some(1), "{out}");
    assert!(out.contains("armv8: the condition does not hold: ") && out.contains("1:X0=1"), "{out}");
    assert!(
        error.contains("ne1: the condition does not hold under armv8: ") && error.contains("1:X0=1"),
        "{error}"
    );
    let (status, out, error) = judged("forall (1:X0=1)");
    assert_eq!(status, Some(1), "{out}");
    assert!(error.contains("does not hold under armv8: ") && error.contains("1:X0=0"), "{error}");
    let holds =
        "ne1                          armv8: the condition holds\n1 tests: every verdict is the one stated\n";
    for condition in ["~exists (1:X0=2)", "forall (x=1)", "forall (1:X0=1 \\/ 1:X0=0)"] {
        assert_eq!(judged(condition), (Some(0), holds.into(), String::new()), "{condition}");
    }
    let own = "weft-litmus 1\nname own\nlocs x\nT0 : W.P x 1\n~exists (x=1)\n";
    let (status, _, error) = said(&["litmus", &write(folder.path(), "own.litmus", own)]);
    assert_eq!(status, Some(1));
    assert!(error.contains("own: the condition does not hold under drf0: x=1"), "{error}");
    // A question states nothing.
    for (condition, verdict) in [("exists (1:X0=1)", "allowed"), ("exists (1:X0=2)", "forbidden")] {
        let asked = format!("ne1                          armv8 {verdict}\n1 tests: no verdict is stated\n");
        assert_eq!(judged(condition), (Some(0), asked, String::new()), "{condition}");
    }
}

#[test]
fn a_list_says_more_than_a_condition() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("text");
    write(folder.path(), "a.litmus", &format!("{PASSING}~exists (1:X0=1)\n"));
    write(folder.path(), "b.litmus", &format!("{PASSING}exists (1:X0=1)\n"));
    write(folder.path(), "expected.csv", "file,verdict\na.litmus,allowed\n");
    let (status, out, error) = said(&["litmus", path]);
    assert_eq!(status, Some(0), "{error}");
    assert!(out.ends_with("2 tests: every verdict is the one stated, by 1 of them\n"), "{out}");
    write(folder.path(), "expected.csv", "file,verdict\na.litmus,forbidden\n");
    assert_eq!(said(&["litmus", path]).0, Some(1));
    write(folder.path(), "expected.csv", "file,verdict\nc.litmus,allowed\n");
    refused(&["litmus", path], "expected.csv: line 2: there is no test \"c.litmus\"");
}

#[test]
fn a_folder_goes_on_without_what_cannot_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("text");
    let bad = write(folder.path(), "a.litmus", "PTX a\n{}\n P0 ;\n st.odd x, 1 ;\nexists (x=1)\n");
    let mixed = write(
        folder.path(),
        "m.litmus",
        "AArch64 m\n{ x=y; 0:X1=x; 0:X3=y; }\n P0 ;\n LDR X2,[X1] ;\n LDRB W0,[X2] ;\n STR W0,[X3] ;\nexists (0:X0=0)\n",
    );
    let json = folder.path().join("rows.json");
    // None of them: wrong input.
    assert_eq!(said(&["litmus", path]).0, Some(2));
    write(folder.path(), "b.litmus", &format!("{PASSING}~exists (1:X0=2)\n"));
    let (status, out, error) = said(&["litmus", path, "--json", json.to_str().expect("text")]);
    assert_eq!(status, Some(3), "{error}");
    assert!(out.contains(&format!("not read: {bad}, line 4: \"st.odd x, 1\" is no instruction")), "{out}");
    assert!(out.contains(&format!("not judged: {mixed}: m accesses y as ")), "{out}");
    assert!(out.ends_with("1 tests: every verdict is the one stated\n"), "{out}");
    assert!(error.starts_with(&format!("weft: 2 of 3 tests could not be read; {bad}, line 4: ")), "{error}");
    let rows: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(json).expect("results")).expect("JSON");
    assert_eq!(rows.as_array().map(Vec::len), Some(3));
    assert_eq!(rows[0]["verdicts"][0]["holds"], true);
    assert_eq!(rows[0]["file"], folder.path().join("b.litmus").to_str().expect("text"));
    assert_eq!((&rows[1]["unread"]["file"], &rows[1]["unread"]["line"]), (&bad.into(), &4.into()));
    let (status, out, error) = said(&["litmus", path, "--skip-unread"]);
    assert_eq!((status, error.as_str()), (Some(0), ""));
    assert!(out.ends_with("2 more could not be read\n"), "{out}");
    // What is wrong is told before what is missing.
    write(folder.path(), "b.litmus", &format!("{PASSING}~exists (1:X0=1)\n"));
    let (status, _, error) = said(&["litmus", path, "--skip-unread"]);
    assert_eq!(status, Some(1));
    assert!(
        error.contains("does not hold") && error.trim_end().ends_with("; 2 could not be read"),
        "{error}"
    );
    assert_eq!(said(&["races", path]).0, Some(3));
}

#[test]
fn a_register_that_nothing_writes_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "a.litmus", &format!("{PASSING}exists (1:X9=1)\n"));
    refused(&["litmus", &file], "line 6: 1:X9 is a register that nothing writes");
}

#[test]
fn opencl_has_two_models() {
    let folder = tempfile::tempdir().expect("a folder");
    let thread = |n, from, to| {
        format!(
            "P{n}@wg {n}, dev 0 (global atomic_int* x, global atomic_int* y) {{\n  int r = atomic_load_explicit({from}, memory_order_relaxed);\n  atomic_store_explicit({to}, 1, memory_order_relaxed);\n}}\n"
        )
    };
    let text = format!(
        "OPENCL LB\n{{ x = 0; y = 0; }}\n{}{}exists (0:r=1 /\\ 1:r=1)\n",
        thread(0, "x", "y"),
        thread(1, "y", "x")
    );
    let file = write(folder.path(), "lb.litmus", &text);
    assert!(stdout(&["litmus", &file]).starts_with("LB                           opencl allowed\n"));
    let other = stdout(&["litmus", &file, "--model", "rc11-scopes"]);
    assert!(other.starts_with("LB                           rc11-scopes forbidden\n"), "{other}");
}
