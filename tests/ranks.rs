//! Results do not depend on the number of processes that share a run: reports, waveforms, event logs,
//! recordings, snapshots and failures are the same, byte for byte, with two and with four. One test for each
//! fabric, so that one which fails names it. They need the program with `--features mpi`, and Open MPI.

use crate::left::{FAULTS, KARATE, KERNELS, Left, SCOPES, left_by, on};
use crate::program::{WEFT, weft_in};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Two matrix products one after the other: most compute units are at work in most cycles, and all GPUs read
/// what others have written.
const PRODUCTS: [&str; 4] = ["--workload", "mm2", "--param", "n=36"];

/// `mpirun` with so many ranks in a folder, whoever runs it and however few processors there are.
fn mpirun(folder: &Path, ranks: u32) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--oversubscribe", "-n", &ranks.to_string(), WEFT]).current_dir(folder);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

/// What the program has said on standard error, without what `mpirun` says of a status that is not 0.
fn own(stderr: &str) -> String {
    let mut quoted = false;
    let mut own = Vec::new();
    for line in stderr.lines() {
        if line.starts_with("-----") {
            quoted = !quoted;
        } else if !quoted {
            own.push(line);
        }
    }
    own.join("\n")
}

/// A run that so many ranks share.
fn shared(words: &[&str], ranks: u32, given: &[(&str, &[u8])]) -> Left {
    let start = |folder: &Path, words: &[&str]| -> Output {
        mpirun(folder, ranks).args(words).output().expect("mpirun starts; scripts/setup --mpi installs it")
    };
    let left = left_by(&start, words, given);
    Left { stderr: own(&left.stderr), ..left }
}

/// The run leaves the same with one process, with two and with four ranks; gives what that is.
fn same(words: &[&str]) -> Left {
    let one = left_by(&|folder, words| weft_in(folder, words), words, &[]);
    for ranks in [2, 4] {
        let different = one.differences(&shared(words, ranks, &[]));
        assert!(different.is_empty(), "{words:?} alone and with {ranks} ranks:\n{}", different.join("\n"));
    }
    one
}

fn well(words: &[&str]) {
    same(words).went_well(words);
}

fn watched(words: &[&str], waves: &str) {
    let window = ["--waves", waves, "--from", "600", "--to", "900", "--events", "e.wev"];
    same(&[words, &window].concat()).was_watched(waves);
}

fn fails(words: &[&str]) {
    same(words).failed(words);
}

#[test]
fn rec_4gpu_small() {
    well(&on("rec-4gpu-small", &PRODUCTS, &[]));
    watched(&on("rec-4gpu-small", &KARATE, &["--scope", "gpu?.bank0"]), "w.vcd");
    fails(&on("rec-4gpu-small", &KERNELS, &["--set", "inject=fence-early-done"]));
}

#[test]
fn tsm_4gpu_small() {
    well(&on("tsm-4gpu-small", &PRODUCTS, &[]));
    watched(&on("tsm-4gpu-small", &KARATE, &[]), "w.fst");
    fails(&on("tsm-4gpu-small", &KERNELS, &["--set", "inject=lit_mwts"]));
}

/// The family has no fault that a run shows, so a run that a limit ends stands for it, with what it leaves to
/// go on from.
#[test]
fn rdma_4gpu_small() {
    well(&on("rdma-4gpu-small", &PRODUCTS, &[]));
    watched(&on("rdma-4gpu-small", &KARATE, &[]), "w.fst");
    let limit = ["--max-cycles", "1500", "--snapshot", "s.snap", "--snapshot-every", "1000"];
    let left = same(&on("rdma-4gpu-small", &PRODUCTS, &limit));
    assert_eq!(left.status, Some(1), "{}", left.stderr);
    assert!(left.stderr.contains("has not ended after 1500 cycles"), "{}", left.stderr);
    left.has("s.snap");
}

/// Pages are placed by the first touch, and ranks may want the same one in the same cycle.
#[test]
fn hmg_4gpu_small() {
    well(&on("hmg-4gpu-small", &PRODUCTS, &[]));
    watched(&on("hmg-4gpu-small", &KARATE, &["--set", "gpms=2", "--scope", "gpu?_gpm?.bank*"]), "w.fst");
    fails(&on("hmg-4gpu-small", &KERNELS, &["--set", "gpms=2", "--set", "inject=fence-early-done"]));
}

/// The observer of the mesh sees every cycle, so rank 0 goes through all of them.
#[test]
fn spandex_4gpu_small() {
    well(&on("spandex-4gpu-small", &PRODUCTS, &[]));
    watched(&on("spandex-4gpu-small", &KARATE, &[]), "w.fst");
    fails(&on("spandex-4gpu-small", &KERNELS, &["--set", "inject=gpu-l1-keeps-copies"]));
}

#[test]
fn rec_4gpu() {
    well(&on("rec-4gpu", &KARATE, &[]));
}

#[test]
fn tsm_4gpu() {
    well(&on("tsm-4gpu", &KARATE, &[]));
}

#[test]
fn rdma_4gpu() {
    well(&on("rdma-4gpu", &KARATE, &[]));
}

#[test]
fn hmg_4gpu() {
    well(&on("hmg-4gpu", &KARATE, &[]));
}

#[test]
fn spandex_4gpu() {
    well(&on("spandex-4gpu", &KARATE, &[]));
}

/// The published sizes as their small ones: the same waveform and event log.
#[test]
fn long_published_sizes_are_watched() {
    for (fabric, scope) in SCOPES {
        watched(&on(fabric, &PRODUCTS, &["--scope", scope]), "w.fst");
    }
}

/// The same failure, in the same cycle.
#[test]
fn long_published_sizes_fail() {
    for (fabric, fault) in FAULTS {
        fails(&on(fabric, &KERNELS, &["--set", fault]));
    }
}

/// Two ranks of two threads each.
#[test]
fn ranks_have_threads() {
    let words = on("rec-4gpu-small", &PRODUCTS, &[]);
    let one = left_by(&|folder, words| weft_in(folder, words), &words, &[]);
    let four = shared(&[&words[..], &["--threads", "2"]].concat(), 2, &[]);
    assert_eq!(one.differences(&four), [""; 0]);
}

/// Two ranks go on from a snapshot that one process has written, and the other way round.
#[test]
fn snapshots_go_from_ranks_to_one_process_and_back() {
    let words = on("hmg-4gpu-small", &KERNELS, &[]);
    let cut = [&words[..], &["--snapshot", "s.snap", "--snapshot-at", "20000"]].concat();
    let one = left_by(&|folder, words| weft_in(folder, words), &cut, &[]);
    let two = shared(&cut, 2, &[]);
    assert_eq!(one.differences(&two), [""; 0]);
    one.has("s.snap");
    let words = [&words[..], &["--resume", "s.snap"]].concat();
    let resumed = shared(&words, 2, &[("s.snap", &two.files["s.snap"])]);
    assert_eq!(resumed.status, Some(0), "{}", resumed.stderr);
    assert!(resumed.report() == one.report(), "the report of a resumed run");
}

/// One sentence, however many have met the same mistake.
#[test]
fn what_is_wrong_is_said_once() {
    for words in [&["rec-4gpu-small", "--workload", "none"][..], &["rec-4gpu-small", "--set", "gpus=99"]] {
        let left = shared(words, 2, &[]);
        assert_eq!(left.status, Some(2), "{}", left.stderr);
        assert_eq!(left.stderr.lines().count(), 1, "{}", left.stderr);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let out = mpirun(folder.path(), 2).args(["list", "blocks"]).output().expect("mpirun starts");
    let said = own(&String::from_utf8_lossy(&out.stderr));
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(said.lines().count() == 1 && said.contains("leave mpirun out"), "{said}");
}

/// The process of a rank, once it has begun.
fn process_of(mpirun: &Child, rank: u32) -> Option<u32> {
    let children = format!("/proc/{0}/task/{0}/children", mpirun.id());
    let children = std::fs::read_to_string(children).ok()?;
    let mut ids = children.split_whitespace().filter_map(|id| id.parse().ok());
    ids.find(|id| {
        let variables = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
        variables.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    })
}

/// A rank that dies ends the run with one sentence; the last snapshot is whole, and the run goes on from it.
#[test]
fn a_rank_that_dies() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["run", "hmg-4gpu-small", "--workload", "nekbone", "--json", "r.json"];
    let kept = ["--snapshot", "s.snap", "--snapshot-every", "10000"];
    let mut running = mpirun(folder.path(), 2);
    running.args(words).args(kept).stdout(Stdio::null()).stderr(Stdio::piped());
    let running = running.spawn().expect("mpirun starts; scripts/setup --mpi installs it");
    let begun = Instant::now();
    while !folder.path().join("s.snap").exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "no snapshot is written");
        std::thread::sleep(Duration::from_millis(20));
    }
    let rank = process_of(&running, 1).expect("rank 1 runs");
    let killed = Command::new("kill").args(["-KILL", &rank.to_string()]).status().expect("kill starts");
    assert!(killed.success());
    let out = running.wait_with_output().expect("it ends");
    assert!(out.status.code() != Some(0) || out.status.signal().is_some(), "{:?}", out.status);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    let said: Vec<&str> = said.lines().filter(|line| line.starts_with("weft:")).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("no longer answers") && said[0].contains("--resume s.snap"), "{said:?}");
    assert!(!folder.path().join("r.json").exists(), "a report");
    let out = weft_in(folder.path(), &[&words[..], &["--resume", "s.snap"]].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

/// What is sent and waited for is told.
#[test]
fn a_profile_of_ranks() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["profile", "rec-4gpu-small", "--workload", "mm2", "--param", "n=36", "--json"];
    let out = mpirun(folder.path(), 2).args(words).output().expect("mpirun starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let told: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    for count in ["windows", "cycles", "gathers", "letters", "letter_bytes", "report_bytes", "state_bytes"] {
        assert!(told["ranks"][count].as_u64() > Some(0), "{count}: {}", told["ranks"]);
    }
    assert!(told["ranks"]["window_seconds"].as_f64() > Some(0.0), "{}", told["ranks"]);
}
