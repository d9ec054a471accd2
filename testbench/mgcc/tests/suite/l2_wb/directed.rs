//! Single cases: order of write-back and miss, dirty bytes, atomics on dirty lines, commands, storage.

use crate::l2_wb::back;
use crate::l2_wb::l2_bench::{Bench, Mood, op};
use weft_mgcc::l2::{BackKind, back_table};
use weft_mgcc::l2::{L2Params, back_info, l2_wb, mgcc_l2};
use weft_mgcc::params::Tsm;

fn quick(p: &L2Params, seed: u64) -> Bench {
    let mut b = Bench::new(p, seed);
    b.memory.slack = 0;
    b.keep = true;
    (0..20).for_each(|_| b.cycle());
    b
}

fn kinds(b: &Bench) -> Vec<(u64, u64)> {
    b.sent.iter().map(|m| (m.op, m.line)).collect()
}

/// A dirty victim is written back, and only when memory has acknowledged that is the miss sent.
#[test]
fn a_dirty_victim_goes_first() {
    let mut b = quick(&L2Params { size: 256, ..back() }, 1);
    let lines: Vec<u64> = b.lines[..5].to_vec();
    b.complete(0, op::WR, false, 0xf0, lines[0]);
    for line in &lines[1..4] {
        b.complete(0, op::RD, false, 0, *line);
    }
    b.sent.clear();
    b.mood = Mood { serve: 0.0, ..Mood::calm() };
    let ask = b.ask(1, op::RD, false, 0, lines[4]).expect("room");
    b.offer(ask);
    (0..100).for_each(|_| b.cycle());
    assert_eq!(kinds(&b), vec![(op::WR, lines[0])], "the miss waits");
    assert_eq!(b.sent[0].mask, 0xf0, "only the dirty bytes");
    b.mood.serve = 1.0;
    (0..100).for_each(|_| b.cycle());
    assert_eq!(kinds(&b), vec![(op::WR, lines[0]), (op::RD, lines[4])]);
    b.drain();
    assert_eq!(b.counter("l2_write_backs"), 1);
}

/// Full-line stores of absent lines need no memory while ways are clean; hits collect dirty bytes.
#[test]
fn stores_stay() {
    let mut b = quick(&back(), 2);
    let line = b.lines[0];
    let a = b.complete(0, op::WR, false, u64::MAX, line);
    assert!(!a.with_data && !a.from_memory && b.sent.is_empty());
    let a = b.complete(1, op::WR, false, 0xff, line);
    assert!(a.with_data && b.sent.is_empty(), "the answer to a partial store has the line");
    let a = b.complete(2, op::WR, false, 0xff00, b.lines[1]);
    assert!(
        a.from_memory && kinds(&b) == vec![(op::RD, b.lines[1])],
        "a partial store of an absent line fetches it"
    );
    let a = b.complete(3, op::WR, false, 0xff_0000, b.lines[1]);
    assert!(!a.from_memory);
    let dirty = b.blocks().iter().find(|x| x.2 == b.lines[1]).map(|x| b.dirty_at(x.0, x.1));
    assert_eq!(dirty, Some(0xff_ff00));
    b.drain();
}

/// An atomic and an LD_SYNC: dirty bytes of the line first, then the request; the line is dropped.
#[test]
fn atomics_and_forced_reads_go_past() {
    for (code, force) in [(op::AMO, false), (op::RD, true)] {
        let mut b = quick(&back(), 3);
        let line = b.lines[0];
        b.complete(0, op::WR, false, 0xff, line);
        b.sent.clear();
        let a = b.complete(1, code, force, 0, line);
        assert!(a.from_memory && a.with_data);
        assert_eq!(kinds(&b), vec![(op::WR, line), (code, line)]);
        (0..10).for_each(|_| b.cycle());
        assert_eq!(b.blocks(), Vec::new());
        // Clean: nothing to write.
        b.complete(0, op::RD, false, 0, line);
        b.sent.clear();
        b.complete(1, code, force, 0, line);
        assert_eq!(kinds(&b), vec![(code, line)]);
        b.drain();
    }
}

/// Commands take a cycle per set, and one for each further dirty line of a set.
#[test]
fn commands() {
    let p = L2Params { size: 8192, ..back() };
    let mut b = quick(&p, 4);
    (0..30).for_each(|_| b.cycle());
    let clean = b.command(1);
    assert!((32..48).contains(&clean), "32 clean sets in {clean} cycles");
    let lines = [&b.lines[..4], &b.lines[12..15]].concat();
    for line in &lines {
        b.complete(0, op::WR, false, u64::MAX, *line);
    }
    b.sent.clear();
    b.command(1);
    let mut written: Vec<u64> = b.sent.iter().map(|m| m.line).collect();
    written.sort_unstable();
    let mut wanted = lines.clone();
    wanted.sort_unstable();
    assert_eq!(written, wanted);
    assert_eq!(b.blocks().len(), 7, "lines stay");
    b.check_memory();
    b.complete(1, op::WR, false, 1, lines[0]);
    b.command(0);
    assert_eq!(b.blocks(), Vec::new(), "dropped, dirty bytes written");
    b.check_memory();
    b.drain();
    assert_eq!(b.maint_done, 3);
}

#[test]
fn it_has_its_storage_and_tables() {
    let module = back_info().with(&[]).expect("defaults");
    let bits = |name: &str| module.mems.iter().find(|m| m.name == name).map_or(0, |m| m.rows * m.row_width());
    assert_eq!((bits("lines"), bits("tags"), bits("dirty")), (256 * 8192, 4096 * 33, 4096 * 64));
    assert_eq!(bits("stamps") + bits("landing_stamps"), 0, "no timestamps");
    for kind in [BackKind::Plain, BackKind::Home] {
        assert_eq!(back_table::requests(kind).faults(), []);
        assert_eq!(back_table::fills(kind).faults(), []);
    }
    let through = L2Params::published(Tsm::default());
    assert!(l2_wb(&through).is_err() && mgcc_l2(&back()).is_err(), "each block has its policy");
}

/// In a home bank atomics and LD_SYNC need no memory once the line is here, and dirty bytes stay.
#[test]
fn a_home_bank_keeps_its_lines() {
    let mut b = quick(&L2Params { home: Some(32), ..back() }, 7);
    let line = b.lines[0];
    b.complete(0, op::WR, false, 0xff, line);
    assert_eq!(kinds(&b), vec![(op::RD, line)], "fetched for the store");
    b.sent.clear();
    let a = b.complete(1, op::AMO, false, 0, line);
    assert!(!a.from_memory && b.sent.is_empty(), "carried out here");
    let a = b.complete(2, op::RD, true, 0, line);
    assert!(!a.from_memory && b.sent.is_empty(), "this is the one place where the line can be");
    let a = b.complete(3, op::AMO, false, 0, b.lines[1]);
    assert!(a.from_memory && kinds(&b) == vec![(op::RD, b.lines[1])], "an atomic fetches its line");
    let dirty = b.blocks().iter().filter(|x| x.3 == 2).count();
    assert_eq!((dirty, b.counter("l2_write_backs")), (2, 0));
    b.drain();
    let through = L2Params { home: Some(32), ..crate::l2_wb::l2_bench::small(8) };
    assert!(mgcc_l2(&through).expect_err("it has timestamps").to_string().contains("home"));
}
