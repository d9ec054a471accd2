//! Tiny programs in every interleaving on the golden system, SC and RC, with the outcomes that each promise allows (mgcc.md sections 3, 9).

use std::collections::BTreeSet;
use weft_blocks::msg::AmoOp;
use weft_mgcc_bench::golden::layout::Layout;
use weft_mgcc_bench::golden::msg::{Atomic, Data};
use weft_mgcc_bench::golden::system::explore::{Explored, Memory, explore};
use weft_mgcc_bench::golden::system::{System, SystemParams, Wave, WaveOp};

const X: u64 = 0;
const Y: u64 = 1;
const WORD: u64 = 0xf;
const LIMIT: usize = 3_000_000;

fn ld(line: u64) -> WaveOp {
    WaveOp::Load { line, mask: WORD, sync: false }
}

/// A full-line store (the bank answers without data).
fn st(line: u64, value: u64) -> WaveOp {
    let mut data = Data::default();
    data.set_number(0, 4, value);
    WaveOp::Store { line, mask: u64::MAX, data }
}

fn add(line: u64, operand: u64) -> WaveOp {
    let (op, signed, word, wide, compare) = (AmoOp::Add, false, 0, false, 0);
    WaveOp::Atomic { line, atomic: Atomic { op, signed, word, wide, operand, compare } }
}

const FENCE: WaveOp = WaveOp::Fence;

/// Where the waves run: GPU and L1 of each.
type Places = &'static [(usize, usize)];

/// A system with room for these waves only: states stay few.
fn params(sc: bool, places: Places) -> SystemParams {
    SystemParams {
        gpus: places.iter().map(|place| place.0 + 1).max().unwrap_or(1),
        cus: places.iter().map(|place| place.1 + 1).max().unwrap_or(1),
        layout: Layout { banks: 1, lanes: 1, il: 6 },
        self_inc: 0,
        evict_notes: false,
        leases: (4, 2),
        ..SystemParams::small(sc, 6)
    }
}

fn all(p: SystemParams, places: Places, programs: &[Vec<WaveOp>], from: u64) -> Explored {
    let memory = if places.len() > 2 { Memory::AtOnce } else { Memory::Steps };
    let wave =
        |(program, place): (&Vec<WaveOp>, &(usize, usize))| Wave::new(place.0, place.1, program.clone());
    let mut system = System::new(p, programs.iter().zip(places).map(wave).collect());
    if from > 0 {
        system.start_at(from);
    }
    let found = explore(&system, LIMIT, memory);
    assert!(!found.incomplete, "more than {LIMIT} states");
    assert!(!found.deadlock, "a run stops before its end");
    assert_eq!(found.faults, BTreeSet::new());
    found
}

fn without_fences(programs: &[Vec<WaveOp>]) -> Vec<Vec<WaveOp>> {
    let plain = |program: &Vec<WaveOp>| program.iter().copied().filter(|op| *op != FENCE).collect();
    programs.iter().map(plain).collect()
}

/// Explores (more than two waves: with memory at once), with both lines in one bank and in two: `bad` must not occur in SC without fences, nor in RC with them.
fn litmus(name: &str, places: Places, programs: &[Vec<WaveOp>], bad: impl Fn(&[Vec<u32>]) -> bool) {
    for banks in [1, 2] {
        let p = |sc| SystemParams { layout: Layout { banks, lanes: 1, il: 6 }, ..params(sc, places) };
        let sc = all(p(true), places, &without_fences(programs), 0);
        assert!(!sc.outcomes.iter().any(|outcome| bad(outcome)), "{name}: SC allows {:?}", sc.outcomes);
        let rc = all(p(false), places, programs, 0);
        assert!(!rc.outcomes.iter().any(|outcome| bad(outcome)), "{name}: RC allows {:?}", rc.outcomes);
        let (sc_ends, rc_ends) = (sc.outcomes.len(), rc.outcomes.len());
        let states = (sc.states, rc.states);
        println!("{name} {places:?}, banks {banks}: {states:?} states, {sc_ends} and {rc_ends} outcomes");
    }
}

/// RC without fences shows the outcome.
fn weak(places: Places, programs: &[Vec<WaveOp>], banks: u64, bad: impl Fn(&[Vec<u32>]) -> bool) -> bool {
    let p = SystemParams { layout: Layout { banks, lanes: 1, il: 6 }, ..params(false, places) };
    let found = all(p, places, &without_fences(programs), 0);
    println!("unfenced {places:?}, banks {banks}: {} states, {:?}", found.states, found.outcomes);
    found.outcomes.iter().any(|outcome| bad(outcome))
}

const TWO_GPUS: Places = &[(0, 0), (1, 0)];
const ONE_GPU: Places = &[(0, 0), (0, 1)];
const ONE_L1: Places = &[(0, 0), (0, 0)];

#[test]
fn store_buffering() {
    let programs = [vec![st(X, 1), FENCE, ld(Y)], vec![st(Y, 1), FENCE, ld(X)]];
    let bad = |r: &[Vec<u32>]| r[0][0] == 0 && r[1][0] == 0;
    for places in [TWO_GPUS, ONE_GPU, ONE_L1] {
        litmus("SB", places, &programs, bad);
    }
}

/// Both waves have leases from before: without fences both loads may hit while the stores are on their way.
#[test]
fn store_buffering_with_old_leases() {
    let programs = [vec![ld(Y), FENCE, st(X, 1), FENCE, ld(Y)], vec![ld(X), FENCE, st(Y, 1), FENCE, ld(X)]];
    let bad = |r: &[Vec<u32>]| r[0][1] == 0 && r[1][1] == 0;
    litmus("SB, old leases", TWO_GPUS, &programs, bad);
    assert!(weak(TWO_GPUS, &programs, 1, bad), "RC without fences may buffer stores");
}

#[test]
fn message_passing() {
    let programs = [vec![st(X, 1), FENCE, st(Y, 1)], vec![ld(Y), FENCE, ld(X)]];
    let bad = |r: &[Vec<u32>]| r[1] == [1, 0];
    for places in [TWO_GPUS, ONE_GPU, ONE_L1] {
        litmus("MP", places, &programs, bad);
    }
    assert!(
        !weak(TWO_GPUS, &programs, 1, bad),
        "one bank's link keeps the stores, and its answers the loads, in order"
    );
    assert!(weak(TWO_GPUS, &programs, 2, bad), "RC without fences may reorder the banks");
}

/// The reader has an old lease of the data from before.
#[test]
fn message_passing_with_an_old_lease() {
    let programs = [vec![st(X, 1), FENCE, st(Y, 1)], vec![ld(X), FENCE, ld(Y), FENCE, ld(X)]];
    let bad = |r: &[Vec<u32>]| r[1][1..] == [1, 0] || r[1][0] > r[1][2];
    litmus("MP, old lease", TWO_GPUS, &programs, bad);
    assert!(weak(TWO_GPUS, &programs, 1, bad), "RC without fences may read the old lease");
}

#[test]
fn load_buffering() {
    let programs = [vec![ld(X), FENCE, st(Y, 1)], vec![ld(Y), FENCE, st(X, 1)]];
    for places in [TWO_GPUS, ONE_GPU] {
        litmus("LB", places, &programs, |r| r[0][0] == 1 && r[1][0] == 1);
    }
}

#[test]
fn coherence_of_one_line() {
    let programs = [vec![st(X, 1)], vec![ld(X), ld(X)]];
    for places in [TWO_GPUS, ONE_GPU, ONE_L1] {
        litmus("CoRR", places, &programs, |r| r[1] == [1, 0]);
    }
    let programs = [vec![st(X, 1), ld(X)], vec![st(X, 2), ld(X)]];
    litmus("CoWR", TWO_GPUS, &programs, |r| r[0][0] == 0 || r[1][0] == 0);
}

#[test]
fn write_to_read_causality() {
    let programs = [vec![st(X, 1)], vec![ld(X), FENCE, st(Y, 1)], vec![ld(Y), FENCE, ld(X)]];
    litmus("WRC", &[(0, 0), (0, 1), (1, 0)], &programs, |r| r[1][0] == 1 && r[2] == [1, 0]);
}

#[test]
fn independent_reads_of_independent_writes() {
    let programs = [vec![st(X, 1)], vec![st(Y, 1)], vec![ld(X), FENCE, ld(Y)], vec![ld(Y), FENCE, ld(X)]];
    let bad = |r: &[Vec<u32>]| r[2] == [1, 0] && r[3] == [1, 0];
    litmus("IRIW", &[(0, 0), (1, 0), (0, 0), (1, 0)], &programs, bad);
}

#[test]
fn atomics_lose_nothing() {
    let programs = [vec![add(X, 1), add(X, 1)], vec![add(X, 1), ld(X)]];
    for places in [TWO_GPUS, ONE_GPU, ONE_L1] {
        let bad = |r: &[Vec<u32>]| {
            let old: BTreeSet<u32> = [r[0][0], r[0][1], r[1][0]].into();
            old != BTreeSet::from([0, 1, 2]) || r[1][1] <= r[1][0]
        };
        litmus("AMO", places, &programs, bad);
    }
}

/// Atomics as flags: a release by an atomic, an acquire by an atomic.
#[test]
fn message_passing_by_atomics() {
    let programs = [vec![st(X, 1), FENCE, add(Y, 1)], vec![add(Y, 0), FENCE, ld(X)]];
    litmus("MP, AMO", TWO_GPUS, &programs, |r| r[1] == [1, 0]);
}

/// The epoch ends in the middle of the program: stores overflow, everybody rolls at a moment of its own.
#[test]
fn epochs_end_in_the_middle() {
    let programs = [vec![st(X, 1), FENCE, st(Y, 1)], vec![ld(Y), FENCE, ld(X)]];
    for sc in [true, false] {
        let p = SystemParams { tracker: (2, 4), ..params(sc, TWO_GPUS) };
        let found = all(p, TWO_GPUS, &programs, p.widths.max() - 2);
        println!("MP, roll: {} states, epochs {:?}", found.states, found.epochs);
        assert!(found.epochs.contains(&1), "no run reaches the next epoch");
        assert!(!found.outcomes.iter().any(|r| r[1] == [1, 0]), "{:?}", found.outcomes);
    }
}

/// The explorer is not blind: a published rule put back shows the forbidden outcome.
#[test]
fn an_injected_rule_breaks_message_passing() {
    use weft_mgcc_bench::golden::inject::Inject;
    let programs = [vec![st(X, 1), st(Y, 1)], vec![ld(X), ld(Y), ld(X)]];
    let wave = |i: usize| Wave::new(i, 0, programs[i].clone());
    let p = SystemParams { inject: Some(Inject::LitReadCts), ..params(true, TWO_GPUS) };
    let found = explore(&System::new(p, vec![wave(0), wave(1)]), LIMIT, Memory::Steps);
    assert!(found.outcomes.iter().any(|r| r[1] == [0, 1, 0]), "{:?}", found.outcomes);
    assert!(!found.faults.is_empty(), "the checker says nothing");
}
