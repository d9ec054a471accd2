//! Snapshots of runs: whole, of this version, with a head that tells what they are of.

use super::{SMALL, said};
use std::cell::RefCell;
use std::collections::BTreeMap;
use weft_engine::BackendKind;
use weft_engine::digest::Digest;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, Identity, RunOptions, Snapshot};
use weft_fuzz::{Form, Kind, Part, Target, scratch};

/// Before the head: magic, version, lengths of head and state.
const FIXED: usize = 28;

fn identity() -> Identity {
    let pairs =
        |all: &[(&str, &str)]| all.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Identity {
        fabric: "rec-4gpu-small".into(),
        config: pairs(&[("gpus", "4"), ("protocol", "rec")]),
        workload: "stencil".into(),
        params: pairs(&[("n", "32")]),
        engine: "native code".into(),
        seed: Some(7),
        graph: None,
        data: 5,
        made_by: "0.1.0".into(),
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let head = |cycle: u64| postcard::to_stdvec(&(identity(), cycle, 0x1234_u64)).unwrap_or_default();
    // Magic and version are those of a snapshot that the program has written.
    let Some(fixed) = state_seeds().first().and_then(|written| open(written)).map(|parts| parts[0].clone())
    else {
        return Vec::new();
    };
    let of = |cycle, state: &[u8]| close(&[fixed.clone(), Part::fields(head(cycle)), Part::fields(state)]);
    vec![of(0, &[]), of(123_456, &[7; 100])]
}

fn open(input: &[u8]) -> Option<Vec<Part>> {
    let number = |at: usize| Some(u64::from_le_bytes(input.get(at..at + 8)?.try_into().ok()?) as usize);
    let (head, state) = (number(12)?, number(20)?);
    let behind = FIXED.checked_add(head)?;
    let parts = [input.get(..12)?, input.get(FIXED..behind)?, input.get(behind..behind.checked_add(state)?)?];
    Some(parts.into_iter().map(Part::fields).collect())
}

fn close(parts: &[Part]) -> Vec<u8> {
    let mut out = parts[0].bytes.clone();
    for part in &parts[1..] {
        out.extend((part.bytes.len() as u64).to_le_bytes());
    }
    parts[1..].iter().for_each(|part| out.extend_from_slice(&part.bytes));
    let sum = Digest::of(&out).to_le_bytes();
    out.extend(sum);
    out
}

fn read(input: &[u8]) -> Result<(), String> {
    scratch::file("run.snapshot", input, |path| {
        let snapshot = Snapshot::read(path).map_err(said)?;
        snapshot.check(&identity()).map_err(said)
    })
}

/// What putting a state back may allocate whatever the size of the file: the state of this small run, a few
/// times.
const STATE: u64 = 1 << 22;

/// The run whose state is put back, clocked by the interpreter; what it is a run of.
type Own = (FabricRun, Identity);

thread_local! {
    static RUN: RefCell<Option<Own>> = RefCell::new(own());
}

/// A small program on a small fabric.
fn own() -> Option<Own> {
    let mut config = FabricConfig::load("rdma-4gpu-small").ok()?;
    ["gpus=2", "cus=1", "l1_size=1K", "l2_size=4K"].iter().try_for_each(|key| config.set(key)).ok()?;
    let params = [("samples", "64"), ("blocks", "1"), ("group", "16")];
    let params = BTreeMap::from(params.map(|(key, value)| (key.to_string(), value.to_string())));
    let program = config.fit("fir", &params, None).ok()?.program.clone();
    let backend = BackendKind::Interp;
    let run = FabricRun::new(
        &config,
        program.clone(),
        &RunOptions { backend, threads: 1, ..RunOptions::default() },
    )
    .ok()?;
    let identity = Identity::new(&config, &*program, params, backend, None, None);
    Some((run, identity))
}

/// Snapshots of the run at its beginning and in the middle.
fn state_seeds() -> Vec<Vec<u8>> {
    // It is made before anything is measured.
    RUN.with_borrow(|_| ());
    let Some((mut run, identity)) = own() else { return Vec::new() };
    let Ok(folder) = tempfile::tempdir() else { return Vec::new() };
    let path = folder.path().join("run.snapshot");
    let mut all = Vec::new();
    for cycles in [0, 150, 600] {
        let kept = run.run_to(cycles).ok().and_then(|_| run.snapshot(&path, identity.clone()).ok());
        if kept.is_some_and(|snapshot| snapshot.write().is_ok()) {
            all.extend(std::fs::read(&path).ok());
        }
    }
    all
}

/// Only the state is changed: another head is another run.
fn open_state(input: &[u8]) -> Option<Vec<Part>> {
    let mut parts = open(input)?;
    parts[..2].iter_mut().for_each(|part| part.kind = Kind::Derived);
    Some(parts)
}

fn resume(input: &[u8]) -> Result<(), String> {
    scratch::file("run.snapshot", input, |path| {
        let snapshot = Snapshot::read(path).map_err(said)?;
        RUN.with_borrow_mut(|run| {
            let (run, identity) = run.as_mut().ok_or("the run itself is refused")?;
            snapshot.check(identity).map_err(said)?;
            run.resume(&snapshot).map_err(said)
        })
    })
}

pub(super) fn targets() -> Vec<Target> {
    let file = Target {
        name: "snapshot",
        about: "snapshots of runs: that they are whole, and of which run",
        seeds,
        words: "",
        form: Form::Parts { open, close },
        constant: SMALL,
        read,
    };
    let state = Target {
        name: "snapshot-state",
        about: "states in snapshots of the right run and hardware, put back into hardware and models",
        seeds: state_seeds,
        form: Form::Parts { open: open_state, close },
        constant: STATE,
        read: resume,
        ..file
    };
    vec![file, state]
}
