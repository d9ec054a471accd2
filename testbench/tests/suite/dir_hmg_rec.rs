//! `hmg-rec-directory` against the golden directory under random operations and back-pressure, and the sentences of rec.md section 8.1 one by one.
//!
//! Rows: all of `hmg_rec.*`. Races: those of rec.md section 8.1; of the pipeline that all directories share, and of both levels of hmg.md, as far as they come up.

use crate::dir_slice_bench;
use crate::dir_support;

use dir_slice_bench::steps::{Steps, by_write};
use dir_slice_bench::*;
use dir_support::*;
use std::collections::BTreeMap;
use weft_blocks::directory::{self, directory};
use weft_testbench::golden::dir_table::DirOp;
use weft_testbench::golden::entry::{Entry, decode, encode};
use weft_testbench::golden::params::{DirKind, DirParams, Policy};
use weft_testbench::golden::slice::{Received, Request};
use weft_testbench::golden::{GpuMask, Inv, InvCause, only};

fn small() -> DirParams {
    DirParams { entries: 32, ways: 4, banks: 1, downgrade: true, ..DirParams::new(DirKind::HmgRec) }
}

/// Numbers of GPUs and GPMs, homes, ranges and the rest; with the slice that is looked at.
fn parameter_sets() -> Vec<(DirParams, u32)> {
    let base = small();
    let of = |gpus, gpms, home, range| DirParams { gpus, gpms, home, range, ..base };
    vec![
        (base, 0),
        (DirParams { downgrade: false, evb_depth: 1, ..of(4, 4, 6, 1024) }, 0),
        (DirParams { policy: Policy::Fifo, line: 128, ..of(2, 3, 5, 256) }, 0),
        (DirParams { entries: 4 * 4 * 12, banks: 4, evb_depth: 2, ..of(3, 2, 3, 512) }, 2),
        (DirParams { entries: 5 * 3, ways: 3, evb_depth: 3, ..of(1, 8, 7, 128) }, 0),
        (DirParams { inv_rate: 2, evb_depth: 8, ..of(8, 1, 3, 4096) }, 0),
        (DirParams { entries: 2, ways: 2, inv_rate: 4, ..of(16, 4, 37, 256) }, 0),
        (DirParams { entries: 8, ways: 1, ..of(2, 2, 0, 512) }, 0),
        (DirParams { entries: 8, evb_depth: 1, ..of(3, 3, 10, 2048) }, 0),
    ]
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
    publish("dir_hmg_rec", &hits);
    assert_all_hit("hmg-rec-directory", &hits, &[]);
    // Races of both levels, of whom only one concerns atomics that record who asks.
    assert_all_hit("hmg-directory", &hits, &not_of_ranges());
}

/// Entries of `hmg-directory` that cannot come up where entries cover ranges: its rows, and the race of atomics that count as stores.
fn not_of_ranges() -> Vec<&'static str> {
    use weft_testbench::golden::dir_table::HMG;
    let mut ids: Vec<&str> = HMG.iter().map(|row| row.id).collect();
    ids.push("hmg.race.atomic_records_requester");
    ids
}

#[test]
fn a_minimal_tag_changes_nothing_at_the_ports() {
    for (i, (p, bank)) in parameter_sets().into_iter().enumerate() {
        random_run(p, bank, directory::TagStyle::Minimal, 1000 + i as u64, 600);
    }
}

/// GPM 1 of GPU 1 among 4 GPUs of 4 GPMs: node 5. Nodes are 4 * GPU + GPM.
fn node_5() -> Steps {
    Steps::new(DirParams { home: 5, ..small() })
}

/// The steps of rec.md section 3 in two levels, worked out by hand from the layout of section 8.1: slots of 7 bits, of which bit 0 is the position, bits 1 to 3
/// are GPMs 0, 2, 3 of the own GPU and bits 4 to 6 GPUs 0, 2, 3; the base from bit 112, valid at 150.
#[test]
fn golden_vectors_of_two_levels() {
    let p = DirParams { entries: 8192, ways: 8, downgrade: false, home: 5, ..small() };
    let mut bench = Bench::new(p, directory::TagStyle::Published);
    // Bytes 0x12345340 and 0x12345380 of node 5's 8 GB: slots 13 and 14 of base 0x2848d14, in set 0x114.
    let (a0, a1) = (0xa_1234_5340 / 64, 0xa_1234_5380 / 64);
    let (write, nobody) = (InvCause::Write, None);
    let steps = [
        (DirOp::RdRem, 4, a0, "4002848d140000180000000000000000000000", nobody),
        (DirOp::RdRem, 14, a1, "4002848d140104180000000000000000000000", nobody),
        (DirOp::WrRem, 9, a1, "4002848d140084180000000000000000000000", Some((a1, 13))),
        (DirOp::RdRem, 4, a0, "4002848d140084180000000000000000000000", nobody),
        (DirOp::WrLoc, 5, a0, "4002848d140084000000000000000000000000", Some((a0, 4))),
        (DirOp::WrLoc, 5, a1, "", Some((a1, 9))),
    ];
    (0..p.sets() + 4).for_each(|_| bench.cycle(true, |_| true));
    for (id, (op, src, line, expected, told)) in steps.into_iter().enumerate() {
        let before = bench.seen.len();
        bench.offer(Request { op, src, line, id: id as u64 });
        (0..12).for_each(|_| bench.cycle(true, |_| true));
        let bits = bench.sim.peek_mem("entries", 0x114, 0).unwrap();
        assert_eq!(bits.width(), 151);
        assert_eq!(bits.bit(150), !expected.is_empty(), "after step {id}");
        if !expected.is_empty() {
            assert_eq!(format!("{bits:x}").trim_start_matches('0'), expected, "after step {id}");
        }
        let inv = told.map(|(line, node)| Inv { line, dest: only(node), cause: write, grp: false });
        assert_eq!(bench.seen[before..], Vec::from_iter(inv), "after step {id}");
    }
    bench.check.finish().unwrap();
}

#[test]
fn the_system_home_tells_gpms_and_gpus_of_the_line_only() {
    let mut s = node_5();
    let line = s.line(5, 32);
    for src in [4, 9, 14, 12] {
        assert!(s.invs(DirOp::RdRem, src, line).is_empty());
        assert!(s.invs(DirOp::RdRem, src, line + 7).is_empty());
    }
    assert_eq!(
        s.invs(DirOp::WrRem, 9, line),
        by_write(&[4, 13]),
        "the writer's GPU stays, GPU 3 hears it once"
    );
    assert_eq!(s.invs(DirOp::WrRem, 7, line), by_write(&[9]));
    assert!(s.invs(DirOp::RdRem, 1, line).is_empty());
    assert_eq!(s.invs(DirOp::AtomRem, 2, line), by_write(&[7]), "GPU 0 has dropped its copies itself");
    assert!(s.invs(DirOp::WrLoc, 5, line).is_empty(), "and is not retained");
    assert_eq!(s.invs(DirOp::WrLoc, 5, line + 7), by_write(&[4, 9, 13]), "the other line is as it was");
    s.bench.drain();
}

#[test]
fn a_received_inv_clears_its_slot_only() {
    let mut s = node_5();
    // Homed in GPM 1 of GPU 2; node 5 is the home in GPU 1.
    let line = s.line(9, 64);
    for (src, number) in [(4, 0), (6, 0), (7, 15), (4, 3)] {
        assert!(s.invs(DirOp::RdRem, src, line + number).is_empty());
    }
    assert_eq!(s.recv(line, InvCause::Write, 0), by_write(&[4, 6]), "forward to recorded GPMs");
    assert!(s.recv(line, InvCause::Write, 0).is_empty(), "the slot is cleared");
    assert_eq!(s.recv(line, InvCause::Write, 0b1001), by_write(&[4, 7]), "those whom the bank names");
    assert_eq!(
        s.recv(line + 3, InvCause::Evict, 0b1000),
        [(only(4) | only(7), InvCause::Evict)],
        "with its cause"
    );
    assert_eq!(s.invs(DirOp::WrLoc, 5, line + 15), by_write(&[7]), "the GPU home's own store: the last slot");
    let (_, empty) = s.op(DirOp::Downgrade, 7, line + 15);
    assert!(empty);
    s.bench.drain();
    s.bench.compare_memory(0);
}

/// One way, and `inv` that takes nothing: the lines of a victim stand in the eviction buffer, the first of them on the port.
#[test]
fn a_received_inv_tells_those_of_a_pending_burst_line_by_line() {
    let mut s = Steps::new(DirParams { home: 5, entries: 8, ways: 1, evb_depth: 1, ..small() });
    let [first, second, third] = [0, 8 * 16, 2 * 8 * 16].map(|number| s.line(9, number));
    for (src, line) in [(4, first), (6, first + 5), (7, first + 5), (4, second), (6, third)] {
        s.stuck(DirOp::RdRem, src, line);
    }
    assert_eq!((s.bench.answers.len(), s.bench.seen.len()), (4, 0), "the last load waits for the buffer");
    assert!(s.recv(first + 1, InvCause::Write, 0).is_empty(), "a line of the range that nobody shares");
    assert_eq!(s.recv(first, InvCause::Write, 0), by_write(&[4]), "its Inv waits on the port");
    assert_eq!(
        s.recv(first + 5, InvCause::Evict, 0),
        [(only(6) | only(7), InvCause::Evict)],
        "in the buffer"
    );
    assert_eq!(s.recv(second, InvCause::Write, 0b0100), by_write(&[4, 6]), "recorded, and named");
    s.bench.drain();
    let burst: Vec<(u64, GpuMask)> = s.bench.seen.iter().map(|i| (i.line, i.dest)).collect();
    assert_eq!(burst, [(first, only(4)), (first + 5, only(6) | only(7))], "lowest first, GPMs only");
}

#[test]
fn a_received_inv_tells_those_of_a_waiting_write_inv_of_its_line_only() {
    let mut s = node_5();
    let line = s.line(9, 64);
    for (op, src, line) in [
        (DirOp::RdRem, 4, line + 1),
        (DirOp::RdRem, 6, line),
        (DirOp::WrRem, 4, line),
        (DirOp::WrRem, 7, line + 1),
    ] {
        s.stuck(op, src, line);
    }
    assert_eq!((s.bench.answers.len(), s.bench.seen.len()), (2, 0), "both writes wait");
    assert_eq!(s.recv(line + 1, InvCause::Write, 0), by_write(&[4]), "nobody of the other line");
    assert_eq!(s.recv(line, InvCause::Write, 0), by_write(&[4, 6]), "recorded, and not told yet");
    assert_eq!(s.recv(line, InvCause::Write, 0), by_write(&[6]), "still not told");
    (0..20).for_each(|_| s.bench.cycle(true, |_| true));
    assert_eq!(s.bench.answers.len(), 4);
    assert_eq!(s.recv(line + 1, InvCause::Write, 0), by_write(&[7]));
    s.bench.drain();
}

/// At the system home a burst tells GPMs and GPUs, each line's own.
#[test]
fn an_eviction_tells_each_lines_sharers() {
    let mut s = Steps::new(DirParams { home: 5, entries: 8, ways: 1, ..small() });
    let line = s.line(5, 0);
    for (src, number) in [(4, 2), (14, 2), (9, 11), (7, 0)] {
        s.op(DirOp::RdRem, src, line + number);
    }
    let before = s.bench.seen.len();
    s.bench.offer(Request { op: DirOp::RdRem, src: 4, line: line + 8 * 16, id: 1 });
    s.bench.drain();
    let burst: Vec<(u64, GpuMask)> = s.bench.seen[before..].iter().map(|i| (i.line - line, i.dest)).collect();
    assert_eq!(burst, [(0, only(7)), (2, only(4) | only(13)), (11, only(9))]);
    assert!(s.bench.seen[before..].iter().all(|i| i.cause == InvCause::Evict && !i.grp));
}

#[test]
fn downgrades_remove_sharers_line_by_line() {
    let mut s = node_5();
    let line = s.line(5, 16);
    for (src, line) in [(4, line), (9, line), (4, line + 1)] {
        s.op(DirOp::RdRem, src, line);
    }
    assert_eq!(s.op(DirOp::Downgrade, 4, line), (vec![], false), "GPU 2 is left");
    assert_eq!(s.op(DirOp::Downgrade, 9, line), (vec![], true), "nothing is recorded for the line");
    assert_eq!(s.op(DirOp::Downgrade, 5, line + 1), (vec![], false), "the home asks");
    assert_eq!(s.op(DirOp::Downgrade, 5, line + 2), (vec![], true));
    assert_eq!(s.op(DirOp::WrLoc, 5, line + 1), (by_write(&[4]), false), "the other line's sharer stayed");
    assert_eq!(s.op(DirOp::Downgrade, 4, line + 1), (vec![], true), "no entry");
    s.bench.drain();
}

/// Received Invs before, beside and behind operations of their line and of its neighbour, a cycle more or less; the golden directory says what each must find.
#[test]
fn received_invs_meet_operations_of_their_range_in_every_cycle() {
    let mut hits = BTreeMap::new();
    for offset in 0..8u64 {
        for op in [DirOp::RdRem, DirOp::WrRem, DirOp::AtomRem, DirOp::WrLoc, DirOp::Downgrade] {
            for (shared, beside) in [(false, 0), (true, 0), (true, 1)] {
                let mut s = node_5();
                let line = s.line(9, 64);
                if shared {
                    s.op(DirOp::RdRem, 4, line);
                    s.op(DirOp::RdRem, 7, line + 1);
                }
                for cycle in 0..24 {
                    if cycle % 8 == 3 && s.bench.req.idle() {
                        let src = if op == DirOp::WrLoc { 5 } else { 7 };
                        s.bench.offer(Request { op, src, line, id: 1 });
                    }
                    if cycle % 8 == offset && s.bench.may_receive() {
                        let line = line + beside;
                        s.bench.receive(Received { line, cause: InvCause::Write, also: 0, link: 0 });
                    }
                    s.bench.cycle(true, |_| true);
                }
                s.bench.drain();
                s.bench.compare_memory(0);
                add(&mut hits, covers(&s.bench.sim), offset);
            }
        }
    }
    for race in ["recv_behind_operation", "operation_behind_recv"] {
        assert!(hits.contains_key(&format!("hmg.race.{race}")), "{race}");
    }
}

#[test]
fn entries_have_the_published_bits() {
    let places = [(4, 4, 0), (4, 4, 15), (1, 2, 1), (2, 1, 0), (12, 5, 92), (3, 3, 6), (16, 4, 63)];
    for (gpus, gpms, home) in places {
        for (range, line) in [(1024u64, 64), (128, 64), (4096, 64), (2048, 128)] {
            let p = DirParams { gpus, gpms, home, range, line, banks: 1, ..DirParams::new(DirKind::HmgRec) };
            let module = directory(&hardware(&p)).unwrap();
            let mem = module.mems.iter().find(|m| m.name == "entries").unwrap();
            let slots = (range / line) as u32 * (gpms + gpus - 1);
            assert_eq!(mem.lane_width(), 48 - range.ilog2() + slots + 1, "{p:?}");
            let golden = encode(&p, &Entry::empty(p.slots()));
            assert_eq!(golden.len() as u32, mem.lane_width());
            assert!(decode(&p, &golden).is_some());
        }
    }
}
