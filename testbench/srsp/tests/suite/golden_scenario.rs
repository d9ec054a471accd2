//! The golden scenario (srsp.md section 8) step by step on the golden system, every cell compared, and its variants.

use weft_srsp::params::Impl;
use weft_srsp_bench::golden::l1::L1Step;
use weft_srsp_bench::golden::lines::State;
use weft_srsp_bench::golden::msg::{ProbeKind, Sem};
use weft_srsp_bench::golden::system::program::{cas, put, remote, wg};
use weft_srsp_bench::golden::system::{Instr, Protocol, Step, System, SystemParams, Wave};

const L: u64 = 0;
const Y: u64 = 64;

fn system(imp: Impl) -> System {
    let p = SystemParams {
        l1: (16, 16),
        l2: (512, 16),
        replaces: (true, true),
        l1_sfifo: 16,
        l2_sfifo: 24,
        pa: 16,
        aff: 64,
        mshrs: (16, 8),
        wbt: 16,
        sq: 8,
        locks: 8,
        ..SystemParams::tiny(Protocol::Scoped(imp), 4)
    };
    System::new(p, (0..4).map(|cu| Wave::new(cu, Vec::new())).collect())
}

fn take() -> Instr {
    Instr::Sync(wg(cas(L, 0, 1), Sem::Acq))
}
fn free() -> Instr {
    Instr::Sync(wg(put(L, 0), Sem::Rel))
}
fn take_remote() -> Instr {
    Instr::Sync(remote(cas(L, 0, 1), Sem::Acq))
}
fn free_remote() -> Instr {
    Instr::Sync(remote(put(L, 0), Sem::Rel))
}

/// A row of the table: lines of L1_0 and L1_1 as {name, value, state}, sFIFO_0 as {index, name}, LR_0 pointer of L, PA of L1_0, L1_1 and L1_2, {L, Y} of the L2, lock of L.
struct Row {
    lines: [&'static [(char, u64, State)]; 2],
    sfifo: &'static [(usize, char)],
    lr: Option<usize>,
    pa: [bool; 3],
    l2: (u64, u64),
    lock: Option<u8>,
}

#[track_caller]
fn compare(system: &System, row: Row) {
    let name = |line: u64| if line == 0 { 'L' } else { 'Y' };
    for cu in 0..2 {
        let frames = system.l1(cu).core.lines.iter();
        let mut lines: Vec<_> = frames.map(|f| (name(f.line), f.data.word(0, false), f.state)).collect();
        lines.sort_unstable();
        assert_eq!(lines, row.lines[cu], "lines of L1 {cu}");
    }
    let sfifo: Vec<_> = system.l1(0).core.rel.sfifo.entries().map(|(i, line)| (i, name(line))).collect();
    assert_eq!(sfifo, row.sfifo);
    let lr: Vec<_> = system.l1(0).core.rel.lr.entries().to_vec();
    assert_eq!(lr, row.lr.map(|ptr| (L, ptr)).into_iter().collect::<Vec<_>>());
    for cu in 0..4 {
        let wanted: &[u64] = if row.pa[cu.min(2)] { &[L] } else { &[] };
        assert_eq!(system.l1(cu).pa.entries(), wanted, "PA of L1 {cu}");
    }
    assert_eq!((system.word(L), system.word(Y)), row.l2);
    assert_eq!(system.l2(0).locks.owner(0), row.lock);
    assert_eq!(system.wrong(), None);
}

const NONE: [&[(char, u64, State)]; 2] = [&[], &[]];

/// Steps 1 to 3.
fn first_part(system: &mut System) {
    assert_eq!(system.execute(0, take()), 0);
    let lines: [&[_]; 2] = [&[('L', 1, State::D)], &[]];
    let pa = [false; 3];
    compare(system, Row { lines, sfifo: &[(0, 'L')], lr: None, pa, l2: (0, 0), lock: None });
    system.execute(0, Instr::St(Y, 3));
    let lines: [&[_]; 2] = [&[('L', 1, State::D), ('Y', 3, State::W)], &[]];
    let sfifo = &[(0, 'L'), (1, 'Y')];
    compare(system, Row { lines, sfifo, lr: None, pa, l2: (0, 0), lock: None });
    system.execute(0, free());
    compare(system, released((0, 0), None));
}

fn released(l2: (u64, u64), lock: Option<u8>) -> Row {
    let lines: [&[_]; 2] = [&[('L', 0, State::D), ('Y', 3, State::W)], &[]];
    let sfifo = &[(0, 'L'), (1, 'Y'), (2, 'L')];
    Row { lines, sfifo, lr: Some(2), pa: [false; 3], l2, lock }
}

/// Step 4, slot by slot.
fn promotion(system: &mut System) {
    system.append(1, take_remote());
    let held = |_: &System, step: &Step| !matches!(step, Step::Probe(..));
    system.advance(held);
    assert!((0..4).all(|cu| system.probe_waits(cu, ProbeKind::SelFlush) == (cu != 1)));
    assert!(!system.l1(1).gate.open());
    compare(system, released((0, 0), Some(1)));
    assert!(system.step(Step::Probe(0, 0)));
    let lines: [&[_]; 2] = [&[('Y', 3, State::W)], &[]];
    let sfifo = &[(0, 'L'), (1, 'Y'), (2, 'L')];
    let pa = [false; 3];
    compare(system, Row { lines, sfifo, lr: Some(2), pa, l2: (0, 0), lock: Some(1) });
    for popped in 0..3 {
        assert_eq!(system.l1(0).core.rel.sfifo.len(), 3 - popped);
        assert!(system.step(Step::Own(0, L1Step::Drain)));
    }
    let packs = |_: &System, step: &Step| !matches!(step, Step::Pack(..));
    system.advance(packs);
    compare(system, Row { lines: NONE, sfifo: &[], lr: None, pa, l2: (0, 3), lock: Some(1) });
    system.advance(|_, _| true);
    assert_eq!(system.waves()[1].results, [0]);
    compare(system, Row { lines: NONE, sfifo: &[], lr: None, pa, l2: (1, 3), lock: None });
    assert!(system.l1(1).gate.open());
}

/// Steps 5 and 6.
fn critical_section(system: &mut System) {
    assert_eq!(system.execute(1, Instr::Ld(Y)), 3);
    system.execute(1, Instr::St(Y, 5));
    let lines: [&[_]; 2] = [&[], &[('Y', 5, State::D)]];
    let row = |lines, pa, l2, lock| Row { lines, sfifo: &[], lr: None, pa, l2, lock };
    compare(system, row(lines, [false; 3], (1, 3), None));
    assert_eq!(system.l1(1).core.rel.sfifo.entries().collect::<Vec<_>>(), [(0, 1)]);
    system.append(1, free_remote());
    system.advance(|system, _| system.l2(0).locks.owner(0).is_none());
    let lines: [&[_]; 2] = [&[], &[('Y', 5, State::V)]];
    compare(system, row(lines, [false; 3], (1, 5), Some(1)));
    system.advance(|_, step| !matches!(step, Step::Pack(..)));
    compare(system, row(lines, [true, false, true], (1, 5), Some(1)));
    system.advance(|_, _| true);
    compare(system, row(lines, [true, false, true], (0, 5), None));
}

#[test]
fn every_cell_of_the_table() {
    let mut system = system(Impl::Srsp);
    first_part(&mut system);
    promotion(&mut system);
    critical_section(&mut system);
    assert_eq!(system.execute(0, take()), 0);
    let row = |lines| Row { lines, sfifo: &[], lr: None, pa: [false, false, true], l2: (1, 5), lock: None };
    compare(&system, row([&[], &[('Y', 5, State::V)]]));
    assert_eq!(system.execute(0, Instr::Ld(Y)), 5);
    compare(&system, row([&[('Y', 5, State::V)], &[('Y', 5, State::V)]]));
}

#[test]
fn the_owner_tries_while_the_thief_holds_the_lock() {
    let mut system = system(Impl::Srsp);
    first_part(&mut system);
    promotion(&mut system);
    assert_eq!(system.execute(0, take()), 1);
    assert_eq!(system.l1(0).core.lines.state(0), State::V);
    assert!(system.l1(0).core.rel.sfifo.is_empty(), "a failing compare-and-swap writes nothing");
    system.execute(1, free_remote());
    assert_eq!(system.l1(0).core.lines.state(0), State::I);
    assert_eq!(system.execute(0, take()), 0);
    assert_eq!(system.word(L), 1, "promoted: performed at the L2");
    assert_eq!(system.wrong(), None);
}

#[test]
fn the_thief_tries_before_any_release() {
    let mut system = system(Impl::Srsp);
    system.execute(0, take());
    system.execute(0, Instr::St(Y, 3));
    assert_eq!(system.execute(1, take_remote()), 1);
    assert_eq!((system.word(L), system.word(Y)), (1, 0), "the line is written back, the data is not");
    assert_eq!(system.l1(0).core.lines.state(0), State::I);
    assert_eq!(system.l1(0).core.lines.state(1), State::W);
    assert_eq!(system.l2(0).locks.owner(0), None);
    assert_eq!(system.wrong(), None);
}

#[test]
fn the_release_is_popped_by_overflow_before_the_thief_comes() {
    let mut system = system(Impl::Srsp);
    first_part(&mut system);
    for i in 0..16 {
        system.execute(0, Instr::St(128 + 64 * i, 7));
    }
    assert!(system.l1(0).core.rel.lr.entries().is_empty());
    assert_eq!((system.word(L), system.word(Y)), (0, 3));
    assert_eq!(system.execute(1, take_remote()), 0);
    assert_eq!(system.l1(0).core.rel.sfifo.len(), 16, "a miss flushes nothing");
    assert_eq!(system.execute(1, Instr::Ld(Y)), 3);
    assert_eq!(system.wrong(), None);
}

#[test]
fn without_a_thief_all_is_local() {
    let mut system = system(Impl::Srsp);
    first_part(&mut system);
    assert_eq!(system.execute(0, take()), 0);
    assert_eq!(system.word(L), 0);
    assert_eq!(system.l1(0).core.lines.state(0), State::D);
    assert_eq!(system.execute(0, Instr::Ld(Y)), 3);
    assert_eq!(system.wrong(), None);
}

#[test]
fn the_predictor_learns_the_owner() {
    let mut system = system(Impl::SrspOpt);
    first_part(&mut system);
    promotion(&mut system);
    assert_eq!(system.l1(1).aff.find(L), Some(0));
    critical_section(&mut system);
    system.execute(0, take());
    system.execute(0, Instr::St(Y, 8));
    system.execute(0, free());
    system.append(1, take_remote());
    system.advance(|_, step| !matches!(step, Step::Probe(..)));
    let asked: Vec<bool> = (0..4).map(|cu| system.probe_waits(cu, ProbeKind::SelFlush)).collect();
    assert_eq!(asked, [true, false, false, false]);
    system.advance(|_, _| true);
    assert_eq!(system.execute(1, Instr::Ld(Y)), 8);
    assert_eq!(system.wrong(), None);
}

#[test]
fn a_wrong_prediction_costs_a_second_round_only() {
    let mut system = system(Impl::SrspOpt);
    first_part(&mut system);
    promotion(&mut system);
    system.execute(1, free_remote());
    system.append(1, take_remote());
    system.advance(|_, step| !matches!(step, Step::Probe(cu, _) if *cu > 1));
    let asked: Vec<bool> = (0..4).map(|cu| system.probe_waits(cu, ProbeKind::SelFlush)).collect();
    assert_eq!(asked, [false, false, true, true], "the others are asked after the miss");
    system.advance(|_, _| true);
    assert_eq!(system.l1(1).aff.find(L), Some(0), "no positive answer: the entry stays");
    assert_eq!(system.waves()[1].results.last(), Some(&0));
    assert_eq!(system.wrong(), None);
}

#[test]
fn the_owner_may_use_remote_operations_locally() {
    let mut system = system(Impl::SrspOpt);
    first_part(&mut system);
    assert_eq!(system.execute(0, take_remote()), 0);
    assert_eq!(system.word(L), 0, "done in the L1");
    assert_eq!(system.l1(0).core.lines.state(0), State::D);
    system.execute(0, free_remote());
    assert_eq!(system.execute(1, take_remote()), 0);
    assert_eq!(system.execute(1, Instr::Ld(Y)), 3);
    assert_eq!(system.wrong(), None);
}
