//! `weft run --record`, `weft check` and `weft races`: runs of every family keep their models, a fault in the hardware is a violation, a race of a program is told apart.

use crate::program::{refusal_in, weft_in as weft};
use serde_json::Value;
use std::path::Path;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Standard output of a command that succeeds.
fn said(folder: &Path, args: &[&str]) -> String {
    let out = weft(folder, args);
    assert!(out.status.success(), "{args:?}: {}{}", text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

/// The sentence about wrong input has these words in it.
fn refused(folder: &Path, args: &[&str], part: &str) {
    let error = refusal_in(folder, args);
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

/// Lines that a DMA engine transfers are recorded as the accesses of the wave that has begun the transfer; a program that copies by itself does the same.
#[test]
fn local_memories_keep_drf0() {
    let implicit = ["--workload", "implicit", "--param", "blocks=4", "--param", "object_bytes=12"];
    let words = |memory: &'static str| {
        [&implicit[..], &DENOVO, &["--set", "denovo_atomics=through", "--set", memory]].concat()
    };
    let check = kept("flat-gpu-small", &words("local_memory=scratchpad"), "drf0");
    assert!(check.contains("races: none in this execution"), "{check}");
    // Transfers of one work-group by different waves, which the recording does not order, are told as races.
    let check = kept("flat-gpu-small", &words("local_memory=dma"), "drf0");
    assert!(check.contains("R.D [0xc00]") && !check.contains("races: none"), "{check}");
    let folder = tempfile::tempdir().expect("a folder");
    let stash =
        [&["run", "flat-gpu-small", "--record", "r.weftrec"], &words("local_memory=stash")[..]].concat();
    refused(folder.path(), &stash, "--record: accesses to the stashes of flat-gpu-small are not recorded");
    assert!(!folder.path().join("r.weftrec").exists());
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

/// Minimum spanning tree: waves whose lanes update many words at once, some of them one word.
#[test]
fn updates_of_many_lanes_keep_drf0_with_scopes() {
    let small = ["source=uniform", "nodes=128", "edges=512"].map(|param| ["--param", param]).concat();
    kept("hmg-4gpu-small", &[&["--workload", "mst"], &small[..]].concat(), "drf0+scopes");
}

#[test]
fn spandex_and_srsp_keep_their_models() {
    kept("spandex-soc-small", &["--workload", "hsti", "--param", "values=512"], "drf1");
    kept("srsp-64cu-small", &["--workload", "prk", "--param", "source=karate"], "drfrlx+scopes");
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

/// A program whose threads find old copies when the LLC forgets who shares a line; it never ends then.
const FORGETFUL: [&str; 14] = [
    "run",
    "spandex-soc-small",
    "--workload",
    "bc",
    "--param",
    "source=karate",
    "--param",
    "blocks=4",
    "--param",
    "cpu_threads=2",
    "--set",
    "protocol=s-mesi-gpu",
    "--max-cycles",
    "60000",
];

#[test]
fn a_fault_in_the_hardware_is_a_violation() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    said(folder, &[&FORGETFUL[..], &["--record", "sound.weftrec"]].concat());
    assert!(said(folder, &["check", "sound.weftrec"]).ends_with("violations: none\n"));
    let fault = ["--set", "inject=llc-forgotten-sharer", "--set", "checks=false", "--record", "bad.weftrec"];
    let run = weft(folder, &[&FORGETFUL[..], &fault].concat());
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stderr));
    assert!(text(&run.stdout).contains("recording up to the failure: bad.weftrec"), "{}", text(&run.stdout));
    let check = weft(folder, &["check", "bad.weftrec", "--json", "check.json"]);
    let (out, error) = (text(&check.stdout), text(&check.stderr));
    assert_eq!(check.status.code(), Some(1), "{out}{error}");
    assert!(error.contains("the hardware has violated its memory model"), "{error}");
    assert!(
        out.contains(
            "the run did not end, and is judged up to there: the run has not ended after 60000 cycles"
        ),
        "{out}"
    );
    let lines: Vec<&str> = out.lines().collect();
    let begin = lines.iter().position(|line| line.starts_with("violation of A2")).expect("a violation");
    let relation = |n: usize| lines[begin + n].split_whitespace().next();
    assert_eq!((relation(2), relation(3)), (Some("hb"), Some("fr")), "{out}");
    assert!(lines[begin + 2].contains("core"), "a core finds an old copy: {out}");
    // The command that is printed makes the same run, of which it shows those cycles.
    let replay = out.lines().find_map(|line| line.trim().strip_prefix("shown by weft ")).expect("a command");
    assert!(replay.contains("inject=llc-forgotten-sharer") && replay.contains("--from"), "{replay}");
    let words: Vec<&str> = replay.split(' ').collect();
    std::fs::create_dir_all(folder.join("vcd_out")).expect("made");
    assert_eq!(weft(folder, &words).status.code(), Some(1));
    assert!(folder.join("vcd_out/check.fst").is_file(), "{replay}");
    let json = std::fs::read_to_string(folder.join("check.json")).expect("written");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["schema"], "weft-check 1");
    assert!(json["report"]["violations"].as_array().is_some_and(|all| !all.is_empty()), "{json}");
}

#[test]
fn races_of_small_programs_are_told_with_both_accesses() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = said(folder.path(), &["races", "MPg.DU", "--model", "drf1"]);
    assert!(told.starts_with("MPg.DU"), "{told}");
    assert!(told.contains("drf1         illegal"), "{told}");
    assert!(told.contains("data           T0 W.D x 1  |  T1 r2 = R.D x"), "{told}");
    let legal = said(folder.path(), &["races", "MPg.DU", "--model", "drf0"]);
    assert!(legal.contains("drf0         legal"), "{legal}");
    let all = said(folder.path(), &["races", "all"]);
    assert!(all.ends_with("every race stated is found, and no other\n"), "{all}");
    for kind in ["data", "commutative", "non-ordering", "speculative", "heterogeneous"] {
        assert!(all.contains(&format!("    {kind} ")), "no {kind} race in all of the library");
    }
    let quantum =
        "weft-litmus 1\nname Q\nlocs x\nT0: W.Q x 1\nT1: r1 = R.N x\nexists (1:r1=1)\nrace drfrlx quantum\n";
    std::fs::write(folder.path().join("q.litmus"), quantum).expect("written");
    let told = said(folder.path(), &["races", "q.litmus"]);
    assert!(told.contains("    quantum        T0 W.Q x 1  |  T1 r1 = R.N x"), "{told}");
    let test = "weft-litmus 1\nname MP\nlocs x y\nT0: W.D x 1 ; W.P y 1\nT1: r1 = R.P y ; r2 = R.D x\nexists (1:r1=1 /\\ 1:r2=0)\nrace drf0 none\n";
    std::fs::write(folder.path().join("mp.litmus"), test).expect("written");
    let out = weft(folder.path(), &["races", "mp.litmus"]);
    let error = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{error}");
    assert!(error.contains("MP under drf0: data, and none is stated"), "{error}");
}

#[test]
fn mistakes_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    refused(folder, &["check", "nothing.weftrec"], "cannot read the recording nothing.weftrec");
    std::fs::write(folder.join("text.weftrec"), "hello").expect("written");
    refused(folder, &["check", "text.weftrec"], "text.weftrec is no recording");
    let run = ["run", "flat-gpu-small", "--workload", "spm-l", "--param", "iterations=1"];
    said(folder, &[&run[..], &["--record", "r.weftrec"]].concat());
    let bytes = std::fs::read(folder.join("r.weftrec")).expect("written");
    std::fs::write(folder.join("half.weftrec"), &bytes[..bytes.len() / 2]).expect("written");
    refused(
        folder,
        &["check", "half.weftrec"],
        "the recording half.weftrec is truncated or damaged at byte ",
    );
    refused(folder, &["check", "r.weftrec", "--model", "ptx"], "the model of a language");
    refused(folder, &["check", "r.weftrec", "--json", "no/x.json"], "--json no/x.json: cannot write it");
    refused(
        folder,
        &[&run[..], &["--record", "no/r.weftrec"]].concat(),
        "--record no/r.weftrec: cannot write it",
    );
    refused(folder, &[&run[..], &["--record", "x", "--json", "x"]].concat(), "both name x");
    refused(folder, &["races", "nothing"], "no test of the library");
    refused(folder, &["races", "MP.D", "--model", "sc"], "races are those of drf0, drf1 and drfrlx");
}

#[test]
fn a_race_of_the_program_is_no_fault_of_the_hardware() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    // Waves mark vertices as found, with one value.
    let small =
        ["--workload", "bfs", "--param", "source=uniform", "--param", "nodes=256", "--param", "edges=1024"];
    said(folder, &[&["run", "rec-4gpu-small", "--record", "r.weftrec"], &small[..]].concat());
    let check = said(folder, &["check", "r.weftrec"]);
    let lines: Vec<&str> = check.lines().collect();
    let race = lines.iter().position(|line| *line == "data race in kernel bfs_advance:").expect("a race");
    assert!(lines[race + 1..=race + 2].iter().all(|line| line.trim_start().starts_with("W.D [")), "{check}");
    assert!(check.contains("the program is not legal under this model"), "{check}");
    assert!(check.ends_with("violations: none\n"), "{check}");
    let strict = weft(folder, &["check", "r.weftrec", "--race-free"]);
    assert_eq!(strict.status.code(), Some(1));
    assert!(text(&strict.stderr).contains("the program has races: "), "{}", text(&strict.stderr));
}
