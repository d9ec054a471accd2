//! Recorded traffic: the ports of a block among neighbours that keep the protocol, replayed on its Verilog.
//!
//! Here an unknown value at an output is a failure: what was never written must not be seen in a system that keeps its rules.

use crate::l1_bench;
use crate::l2_bench;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use weft_blocks::cache::l1::{L1Inject, L1Params, l1_cache};
use weft_blocks::cache::l2::{Caching, L2Params, l2_bank};
use weft_blocks::common::mshr::{MshrParams, mshr_file};
use weft_blocks::msg::Sys;
use weft_engine::{Design, Options, Sim};
use weft_rtl::ir::Module;
use weft_tools::cosim::{CosimOptions, Recorder, Recording, With, Xorshift, cosim_recorded};

fn sys(gpus: u32, mshrs: u32) -> Sys {
    Sys {
        gpus,
        gpms: 1,
        addr_bits: 40,
        line: 64,
        banks: 4,
        l1s: 4,
        l2_mshrs: mshrs,
        l1_mshrs: 8,
        il: 256,
        home_shift: 30,
        owners: false,
    }
}

fn fresh(sim: &Sim) -> Recorder {
    Recorder::new(sim, "").expect("not clocked yet")
}

/// How long traffic is recorded, and who replays it.
#[derive(Clone, Copy)]
struct Replay {
    cycles: u64,
    with: &'static [With],
}

/// Icarus; whether Verilator agrees on a block is seen where the block changes (`cosim_blocks`).
const SHORT: Replay = Replay { cycles: 2_000, with: &[With::Icarus] };

const LONG: Replay = Replay { cycles: 4_000, with: &[With::Verilator, With::Icarus] };

/// Replays what was recorded; every output that moved in the run is thereby compared while it moves.
fn replay(module: &Arc<Module>, run: &Recording, how: Replay, transfers: u64) {
    assert!(run.transfers > transfers, "only {} transfers", run.transfers);
    for with in how.with.iter().copied() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = CosimOptions { strict: true, ..CosimOptions::new(module, with, folder.path()) };
        let report = cosim_recorded(module, run, Duration::ZERO, &options).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((report.cycles, report.unknown), (run.cycles(), None));
    }
}

#[test]
fn cosim_l1_cache_between_a_cu_and_an_l2() {
    l1_agrees(SHORT);
}

#[test]
fn long_cosim_in_their_surroundings() {
    l1_agrees(LONG);
    bank_agrees(&bank(), 7, LONG);
    bank_agrees(&L2Params { downgrade: true, ..hierarchy() }, 8, LONG);
    mshr_file_agrees(LONG);
}

fn l1_agrees(how: Replay) {
    let params = L1Params {
        sys: sys(4, 16),
        size: 1024,
        ways: 4,
        targets: 3,
        stores: 5,
        latency: 7,
        bypass_remote: false,
        scoped: true,
        store_scope: false,
        inject: L1Inject::None,
    };
    let module = l1_cache(&params).expect("legal parameters");
    let setup = l1_bench::Setup { seed: 5, others: true, ..l1_bench::Setup::default() };
    let mut bench = l1_bench::Bench::new(&module, &params, setup);
    bench.recorder = Some(fresh(&bench.sim));
    bench.run(how.cycles);
    bench.drain();
    replay(&module, &bench.recorder.take().expect("recorded").finish(), how, how.cycles / 2);
}

fn bank() -> L2Params {
    L2Params {
        sys: sys(3, 8),
        home: 1,
        sets: 2,
        ways: 4,
        pool: 24,
        caching: Caching::L1L2,
        dir: true,
        group: 4,
        hier: false,
        scoped: false,
        drops: false,
        drops_all: false,
        downgrade: false,
        write_back: false,
        acks: false,
    }
}

fn bank_agrees(p: &L2Params, seed: u64, how: Replay) {
    let module = l2_bank(p).expect("legal parameters");
    let mut bench = l2_bench::Bench::new(p, seed);
    bench.recorder = Some(fresh(&bench.sim));
    bench.run(how.cycles);
    bench.drain();
    replay(&module, &bench.recorder.take().expect("recorded").finish(), how, how.cycles / 2);
}

#[test]
fn cosim_l2_bank_in_its_surroundings() {
    bank_agrees(&bank(), 7, SHORT);
}

/// A bank of two GPUs of two GPMs.
fn hierarchy() -> L2Params {
    L2Params { sys: Sys { gpus: 2, gpms: 2, ..sys(3, 8) }, home: 2, hier: true, ..bank() }
}

#[test]
fn cosim_l2_bank_of_a_hierarchy_in_its_surroundings() {
    bank_agrees(&L2Params { downgrade: true, ..hierarchy() }, 8, SHORT);
}

#[test]
fn long_cosim_l2_bank_of_a_hierarchy_with_software_coherence() {
    bank_agrees(&L2Params { dir: false, drops: true, sets: 8, ..hierarchy() }, 9, LONG);
    bank_agrees(&L2Params { dir: false, drops: true, drops_all: true, sets: 8, ..hierarchy() }, 10, LONG);
}

#[test]
fn long_cosim_l2_bank_of_a_hierarchy_with_held_stores() {
    bank_agrees(&L2Params { write_back: true, ..hierarchy() }, 10, LONG);
}

#[test]
fn cosim_mshr_file_with_answers_to_its_own_fetches() {
    mshr_file_agrees(SHORT);
}

/// Misses on few lines; each fetch is answered once, some cycles later, in another order.
fn mshr_file_agrees(how: Replay) {
    let module =
        mshr_file(MshrParams { entries: 4, targets: 3, line_bits: 8, target_bits: 16 }).expect("legal");
    let mut sim = Sim::new(&Design::new(&module, Options::default()).expect("a block"));
    let mut recorder = fresh(&sim);
    let input = |sim: &Sim, name: &str| sim.input(name).unwrap_or_else(|| panic!("no input {name}"));
    let output = |sim: &Sim, name: &str| sim.output(name).unwrap_or_else(|| panic!("no output {name}"));
    let [miss_valid, miss_line, miss_target, fill_valid, fill_entry, fetch_ready, done_ready] =
        ["miss_valid", "miss_line", "miss_target", "fill_valid", "fill_id", "fetch_ready", "done_ready"]
            .map(|name| input(&sim, name));
    let [miss_taken, fill_taken, fetch_valid, fetch_entry] =
        ["miss_ready", "fill_ready", "fetch_valid", "fetch_id"].map(|name| output(&sim, name));
    let mut rng = Xorshift::new(9);
    let mut waiting: VecDeque<u64> = VecDeque::new();
    let (mut offering, mut filling) = (false, None);
    for _ in 0..how.cycles {
        if !offering {
            offering = rng.chance(200);
            sim.set(miss_line, rng.below(6));
            sim.set(miss_target, rng.draw() & 0xffff);
        }
        if filling.is_none() && rng.chance(100) {
            waiting.rotate_left(rng.below(waiting.len().max(1) as u64) as usize);
            filling = waiting.pop_front();
        }
        sim.set(miss_valid, u64::from(offering));
        sim.set(fill_valid, u64::from(filling.is_some()));
        sim.set(fill_entry, filling.unwrap_or(0));
        let ready = rng.chance(180);
        sim.set(fetch_ready, u64::from(ready));
        sim.set(done_ready, u64::from(rng.chance(200)));
        offering &= sim.get(miss_taken) == 0;
        if sim.get(fill_taken) == 1 {
            filling = None;
        }
        if ready && sim.get(fetch_valid) == 1 {
            waiting.push_back(sim.get(fetch_entry));
        }
        recorder.sample(&sim);
        sim.step();
        assert!(sim.failures().is_empty(), "{:?}", sim.failures());
    }
    replay(&module, &recorder.finish(), how, how.cycles / 4);
}

#[test]
fn a_recorder_wants_a_unit_that_is_there_and_a_fresh_simulation() {
    let module =
        mshr_file(MshrParams { entries: 2, targets: 2, line_bits: 8, target_bits: 8 }).expect("legal");
    let mut sim = Sim::new(&Design::new(&module, Options::default()).expect("a block"));
    let error = Recorder::new(&sim, "l2").unwrap_err();
    assert_eq!(error.to_string(), "the simulation has no unit l2; it has ");
    sim.step();
    let error = Recorder::new(&sim, "").unwrap_err();
    assert_eq!(error.to_string(), "recording must begin right after reset, but the simulation is in cycle 1");
}
