//! The directory slice against the golden directory under random operations and back-pressure.
//!
//! Rows: all of `perline.*`, `group4.*`, `rec.*` of the transition tables. Races: sections 2 to 4.1 of rec.md.

use crate::dir_slice_bench;
use crate::dir_support;

use dir_slice_bench::*;
use dir_support::*;
use std::collections::BTreeMap;
use weft_blocks::directory::{self, directory};
use weft_testbench::golden::InvCause;
use weft_testbench::golden::dir_table::DirOp;
use weft_testbench::golden::entry::{decode, encode};
use weft_testbench::golden::params::{DirKind, DirParams, Policy};
use weft_testbench::golden::slice::Request;

fn small(kind: DirKind) -> DirParams {
    DirParams { entries: 32, ways: 4, banks: 1, ..DirParams::new(kind) }
}

fn parameter_sets() -> Vec<(DirParams, u32)> {
    let mut sets = Vec::new();
    for kind in [DirKind::Perline, DirKind::Group4, DirKind::Rec] {
        let base = small(kind);
        sets.push((base, 0));
        sets.push((DirParams { home: 2, evb_depth: 1, policy: Policy::Lru, ..base }, 0));
        sets.push((DirParams { entries: 4 * 4 * 12, banks: 4, home: 3, evb_depth: 2, ..base }, 2));
        sets.push((DirParams { entries: 5 * 3, ways: 3, gpus: 8, home: 1, evb_depth: 3, ..base }, 0));
        sets.push((DirParams { inv_rate: 2, policy: Policy::Fifo, ..base }, 0));
        sets.push((DirParams { inv_rate: 4, line: 128, range: 2048, evb_depth: 8, ..base }, 0));
        sets.push((DirParams { entries: 8, ways: 1, gpus: 2, range: 256, ..base }, 0));
        sets.push((DirParams { entries: 2, ways: 2, gpus: 16, home: 7, range: 128, ..base }, 0));
    }
    sets
}

#[test]
fn agrees_with_the_golden_directory() {
    let mut hits = BTreeMap::new();
    for (i, (p, bank)) in parameter_sets().into_iter().enumerate() {
        for pressure in 0..4 {
            let seed = 4 * i as u64 + pressure;
            add(&mut hits, random_run(p, bank, directory::TagStyle::Published, seed, 1500), seed);
        }
    }
    publish("dir_slice_random", &hits);
    let never: Vec<String> = weft_testbench::ledger::all_entries()
        .into_iter()
        .filter(|e| ["baseline-directory", "group-directory", "rec-directory"].contains(&e.block.as_str()))
        .filter(|e| !hits.contains_key(&e.id) && e.id != "rec.race.init_holds_req")
        .map(|e| e.id)
        .collect();
    assert!(never.is_empty(), "never hit: {never:?}");
}

#[test]
fn a_minimal_tag_changes_nothing_at_the_ports() {
    for (i, (p, bank)) in parameter_sets().into_iter().enumerate() {
        random_run(p, bank, directory::TagStyle::Minimal, 1000 + i as u64, 600);
    }
}

#[test]
fn golden_vectors_of_section_3() {
    let p = DirParams { banks: 1, ..DirParams::new(DirKind::Rec) };
    let mut bench = Bench::new(p, directory::TagStyle::Published);
    let (a0, a1) = (0x1234_5340 / 64, 0x1234_5380 / 64);
    let steps = [
        (DirOp::RdRem, 1, a0, "4000048d140030000000000000"),
        (DirOp::RdRem, 3, a1, "4000048d140930000000000000"),
        (DirOp::WrRem, 2, a1, "4000048d140530000000000000"),
        (DirOp::RdRem, 1, a0, "4000048d140530000000000000"),
        (DirOp::WrLoc, 0, a0, "4000048d140500000000000000"),
    ];
    for _ in 0..p.sets() + 4 {
        bench.cycle(true, |_| true);
    }
    for (id, (op, src, line, expected)) in steps.into_iter().enumerate() {
        bench.offer(Request { op, src, line, id: id as u64 });
        (0..12).for_each(|_| bench.cycle(true, |_| true));
        let bits = bench.sim.peek_mem("entries", 0x114, 0).unwrap();
        assert_eq!(format!("{bits:x}"), expected, "after step {id}");
        assert_eq!(bits.width(), 103);
    }
    bench.offer(Request { op: DirOp::WrLoc, src: 0, line: a1, id: 5 });
    (0..12).for_each(|_| bench.cycle(true, |_| true));
    assert!(!bench.sim.peek_mem("entries", 0x114, 0).unwrap().bit(102));
    bench.check.finish().unwrap();
}

#[test]
fn one_set_is_cleared_per_cycle_and_requests_wait() {
    let p = small(DirKind::Rec);
    let mut bench = Bench::new(p, directory::TagStyle::Published);
    for set in 0..p.sets() as u32 {
        for way in 0..p.ways {
            let width = bench.sim.peek_mem("entries", set, way).unwrap().width();
            let garbage = weft_rtl::bv::Bv::ones(width);
            assert!(bench.sim.poke_mem("entries", set, way, &garbage));
        }
    }
    bench.offer(Request { op: DirOp::RdRem, src: 1, line: 5, id: 9 });
    let mut accepted_at = None;
    for cycle in 0..p.sets() + 8 {
        bench.cycle(true, |_| true);
        if bench.req.idle() && accepted_at.is_none() {
            accepted_at = Some(cycle);
        }
    }
    assert_eq!(accepted_at, Some(p.sets() + 1));
    bench.drain();
    bench.compare_memory(0);
    let mut hits = BTreeMap::new();
    add(&mut hits, covers(&bench.sim), 0);
    assert!(hits.contains_key("rec.race.init_holds_req"));
    publish("dir_slice_init", &hits);
}

#[test]
fn one_op_per_cycle_and_two_cycles_to_the_answer() {
    let p = small(DirKind::Rec);
    let mut bench = Bench::new(p, directory::TagStyle::Published);
    for _ in 0..p.sets() + 4 {
        bench.cycle(true, |_| true);
    }
    for i in 0..20u64 {
        assert_eq!(bench.answered, i.saturating_sub(2), "answers before cycle {i}");
        bench.offer(Request { op: DirOp::RdRem, src: 1, line: 3, id: i });
        bench.cycle(true, |_| true);
        assert!(bench.req.idle(), "op {i} is taken at once");
    }
}

#[test]
fn a_write_is_answered_when_its_own_inv_is_taken_whatever_follows_on_the_port() {
    let p = small(DirKind::Rec);
    let mut bench = Bench::new(p, directory::TagStyle::Published);
    (0..p.sets() + 4).for_each(|_| bench.cycle(true, |_| true));
    // Entries of one set, of three lines each.
    let base = |entry: u64| entry * p.sets() * p.slots() as u64;
    for (entry, slot) in (0..u64::from(p.ways)).flat_map(|entry| (0..3).map(move |slot| (entry, slot))) {
        bench.offer(Request { op: DirOp::RdRem, src: 1, line: base(entry) + slot, id: 0 });
        (0..6).for_each(|_| bench.cycle(true, |_| true));
    }
    // One is evicted by a read, and a line of another one is written, while nothing is taken.
    let before = bench.answers.len();
    for (op, src, entry) in [(DirOp::RdRem, 1, u64::from(p.ways)), (DirOp::WrLoc, 0, 2)] {
        bench.offer(Request { op, src, line: base(entry), id: entry });
        (0..8).for_each(|_| bench.cycle(false, |_| false));
    }
    // The write's Inv takes the port before the rest of the eviction's.
    let written = |bench: &Bench| bench.seen.last().is_some_and(|inv| inv.cause == InvCause::Write);
    for _ in 0..3 {
        if !written(&bench) {
            bench.cycle(false, |_| true);
        }
    }
    assert!(written(&bench));
    let seen = bench.seen.len();
    (0..4).for_each(|_| bench.cycle(true, |_| false));
    let ids: Vec<u64> = bench.answers[before..].iter().map(|answer| answer.id).collect();
    assert_eq!((ids, bench.seen.len()), (vec![u64::from(p.ways), 2], seen));
    bench.drain();
    assert!(bench.seen[seen..].iter().all(|inv| inv.cause == InvCause::Evict) && bench.seen.len() > seen);
}

#[test]
fn entries_have_the_published_bits() {
    let rec = |range, gpus| DirParams { range, gpus, ..DirParams::new(DirKind::Rec) };
    let cases = [
        (DirParams::new(DirKind::Perline), 52),
        (DirParams::new(DirKind::Group4), 52),
        (rec(128, 4), 50),
        (rec(256, 4), 57),
        (rec(512, 4), 72),
        (rec(1024, 4), 103),
        (rec(2048, 4), 166),
        (rec(4096, 4), 293),
        (rec(1024, 8), 167),
        (rec(1024, 16), 295),
        (DirParams { line: 128, ..rec(2048, 4) }, 102),
        (DirParams { gpus: 8, ..DirParams::new(DirKind::Perline) }, 56),
        (DirParams { gpus: 16, ..DirParams::new(DirKind::Perline) }, 64),
    ];
    for (p, bits) in cases {
        let module = directory(&hardware(&DirParams { banks: 1, ..p })).unwrap();
        let mem = module.mems.iter().find(|m| m.name == "entries").unwrap();
        assert_eq!(mem.lane_width(), bits, "{p:?}");
        assert_eq!(mem.rows * mem.lanes * mem.lane_width(), 8192 * bits, "{p:?}");
        let fields: u32 = mem.fields.iter().map(|f| f.1).sum();
        assert_eq!(fields, bits);
        let golden = encode(&p, &weft_testbench::golden::entry::Entry::empty(p.slots()));
        assert_eq!(golden.len(), bits as usize);
        assert!(decode(&p, &golden).is_some());
    }
}
