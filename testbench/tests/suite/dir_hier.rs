//! `nhcc-directory` and `hmg-directory` against the golden directory under random operations and back-pressure, and the
//! sentences of hmg.md section 4 one by one.
//!
//! Rows: all of `nhcc.*` and `hmg.*`. Races: those of hmg.md sections 4 and 5.4 that a directory sees.

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
use weft_testbench::golden::{InvCause, only};

fn small(kind: DirKind) -> DirParams {
    DirParams { entries: 32, ways: 4, banks: 1, downgrade: true, ..DirParams::new(kind) }
}

/// Numbers of GPUs and GPMs, homes, groups and the rest; with the slice that is looked at.
fn parameter_sets(kind: DirKind) -> Vec<(DirParams, u32)> {
    let base = small(kind);
    let of = |gpus, gpms, home, group| DirParams { gpus, gpms, home, group, ..base };
    vec![
        (base, 0),
        (DirParams { downgrade: false, evb_depth: 1, ..of(4, 4, 6, 4) }, 0),
        (DirParams { policy: Policy::Fifo, ..of(2, 3, 5, 1) }, 0),
        (DirParams { entries: 4 * 4 * 12, banks: 4, evb_depth: 2, line: 64, ..of(3, 2, 3, 8) }, 2),
        (DirParams { entries: 5 * 3, ways: 3, evb_depth: 3, ..of(1, 8, 7, 2) }, 0),
        (DirParams { inv_rate: 2, evb_depth: 8, ..of(8, 1, 3, 4) }, 0),
        (DirParams { entries: 2, ways: 2, inv_rate: 4, ..of(16, 4, 37, 8) }, 0),
        (DirParams { entries: 8, ways: 1, ..of(2, 2, 0, 2) }, 0),
        (DirParams { entries: 8, ..of(3, 3, 10, 4) }, 0),
    ]
}

fn agrees(kind: DirKind, block: &str) {
    let mut hits = BTreeMap::new();
    for (i, (p, bank)) in parameter_sets(kind).into_iter().enumerate() {
        for pressure in 0..4 {
            let seed = 4 * i as u64 + pressure;
            add(&mut hits, random_run(p, bank, directory::TagStyle::Published, seed, 1500), seed);
        }
    }
    publish(&format!("dir_hier_{block}"), &hits);
    assert_all_hit(block, &hits, &[]);
}

#[test]
fn nhcc_agrees_with_the_golden_directory() {
    agrees(DirKind::Nhcc, "nhcc-directory");
}

#[test]
fn hmg_agrees_with_the_golden_directory() {
    agrees(DirKind::Hmg, "hmg-directory");
}

#[test]
fn a_minimal_tag_changes_nothing_at_the_ports() {
    for kind in [DirKind::Nhcc, DirKind::Hmg] {
        for (i, (p, bank)) in parameter_sets(kind).into_iter().enumerate() {
            random_run(p, bank, directory::TagStyle::Minimal, 1000 + i as u64, 600);
        }
    }
}

/// A slice of GPM 1 of GPU 1 among 4 GPUs of 4 GPMs: node 5. Nodes are 4 * GPU + GPM.
fn steps(kind: DirKind) -> Steps {
    Steps::new(DirParams { home: 5, ..small(kind) })
}

#[test]
fn the_system_home_tells_gpms_and_gpus() {
    let mut s = steps(DirKind::Hmg);
    let line = s.line(5, 12);
    // GPM 0 of the own GPU, GPM 1 of GPU 2, and two GPMs of GPU 3, which count as one.
    for src in [4, 9, 14, 12] {
        assert!(s.invs(DirOp::RdRem, src, line).is_empty());
    }
    // "sharers := {that GPU}; local GPMs and other GPUs get Inv": GPU 3 hears it as its home of the line, node 13.
    assert_eq!(s.invs(DirOp::WrRem, 9, line + 1), by_write(&[4, 13]));
    // "A store by a GPM of the home GPU: sharers := {that GPM}; all GPUs get Inv".
    assert_eq!(s.invs(DirOp::WrRem, 7, line), by_write(&[9]));
    assert!(s.invs(DirOp::RdRem, 1, line).is_empty());
    // "Atomics count as stores, so s is recorded".
    assert_eq!(s.invs(DirOp::AtomRem, 2, line), by_write(&[7]));
    assert_eq!(s.invs(DirOp::WrLoc, 5, line), by_write(&[1]));
    assert!(s.invs(DirOp::WrLoc, 5, line).is_empty(), "the entry is gone");
    s.bench.drain();
}

#[test]
fn a_gpu_home_tells_its_gpms_and_forwards() {
    let mut s = steps(DirKind::Hmg);
    // Homed in GPM 1 of GPU 2; node 5 is the home in GPU 1.
    let line = s.line(9, 64);
    for src in [4, 6, 7] {
        assert!(s.invs(DirOp::RdRem, src, line).is_empty());
    }
    assert_eq!(s.invs(DirOp::WrRem, 6, line), by_write(&[4, 7]));
    assert!(s.invs(DirOp::RdRem, 7, line + 2).is_empty());
    assert_eq!(s.recv(line, InvCause::Write, 0), by_write(&[6, 7]), "forward Inv to all sharers");
    assert!(s.recv(line, InvCause::Write, 0).is_empty(), "I: nothing to forward");
    assert!(s.invs(DirOp::AtomRem, 4, line).is_empty());
    assert_eq!(s.recv(line + 3, InvCause::Evict, 0), [(only(4), InvCause::Evict)], "with its cause");
    assert_eq!(s.recv(line, InvCause::Write, 0b1001), by_write(&[4, 7]), "those whom the bank names");
    assert!(s.invs(DirOp::RdRem, 6, line).is_empty());
    assert_eq!(s.recv(line, InvCause::Write, 0b0001), by_write(&[4, 6]), "beside the recorded");
    assert!(s.invs(DirOp::RdRem, 4, line).is_empty());
    assert_eq!(s.invs(DirOp::WrLoc, 5, line), by_write(&[4]), "the GPU home's own store");
    s.bench.drain();
}

/// One way, one row of the eviction buffer, and `inv` that takes nothing: the first victim's Inv is on the port, the second victim in the buffer, and the
/// fourth load cannot evict the third.
#[test]
fn a_received_inv_passes_an_operation_that_waits_for_the_eviction_buffer() {
    let mut s = Steps::new(DirParams { home: 5, entries: 8, ways: 1, evb_depth: 1, ..small(DirKind::Hmg) });
    let lines = [0, 32, 64, 96].map(|number| s.line(9, number));
    for (src, line) in [4, 6, 7, 4].into_iter().zip(lines) {
        s.stuck(DirOp::RdRem, src, line);
    }
    assert_eq!((s.bench.answers.len(), s.bench.seen.len()), (3, 0), "the fourth load waits");
    assert_eq!(s.recv(lines[0], InvCause::Write, 0), by_write(&[4]), "its eviction Inv waits on the port");
    assert_eq!(s.recv(lines[1] + 1, InvCause::Evict, 0), [(only(6), InvCause::Evict)], "in the buffer");
    assert!(s.recv(lines[3], InvCause::Write, 0).is_empty(), "the load that waits is not recorded");
    assert_eq!(s.recv(lines[2], InvCause::Write, 0b0001), by_write(&[4, 7]), "recorded, and named");
    (0..4).for_each(|_| s.bench.cycle(true, |_| false));
    assert_eq!(s.bench.answers.len(), 4, "the way is free: the load needs no eviction any more");
    assert_eq!(s.recv(lines[3] + 3, InvCause::Write, 0), by_write(&[4]));
    s.bench.drain();
}

#[test]
fn a_received_inv_passes_an_operation_that_waits_for_the_write_inv_register() {
    let mut s = steps(DirKind::Hmg);
    let (line, other) = (s.line(9, 64), s.line(9, 128));
    for (op, src, line) in [
        (DirOp::RdRem, 4, other),
        (DirOp::RdRem, 6, line),
        (DirOp::WrRem, 4, line),
        (DirOp::WrRem, 7, line + 1),
    ] {
        s.stuck(op, src, line);
    }
    assert_eq!((s.bench.answers.len(), s.bench.seen.len()), (2, 0), "both writes wait");
    assert_eq!(s.recv(line + 2, InvCause::Write, 0), by_write(&[4, 6]), "recorded, and not told yet");
    assert_eq!(s.recv(line, InvCause::Write, 0), by_write(&[6]), "still not told");
    assert_eq!(s.recv(other, InvCause::Write, 0), by_write(&[4]));
    (0..20).for_each(|_| s.bench.cycle(true, |_| true));
    assert_eq!(s.bench.answers.len(), 4);
    assert_eq!(s.bench.seen.len(), 1, "the second write finds no sharer");
    assert_eq!(s.recv(line, InvCause::Write, 0), by_write(&[7]));
    s.bench.drain();
}

/// Received Invs before, beside and behind operations of their group, a cycle more or less; the golden directory says what each must find.
#[test]
fn received_invs_meet_operations_of_their_group_in_every_cycle() {
    let mut hits = BTreeMap::new();
    for offset in 0..8u64 {
        for op in [DirOp::RdRem, DirOp::WrRem, DirOp::AtomRem, DirOp::WrLoc, DirOp::Downgrade] {
            for shared in [false, true] {
                let mut s = steps(DirKind::Hmg);
                let line = s.line(9, 64);
                if shared {
                    s.op(DirOp::RdRem, 4, line);
                    s.op(DirOp::RdRem, 7, line);
                }
                for cycle in 0..24 {
                    if cycle % 8 == 3 && s.bench.req.idle() {
                        let src = if op == DirOp::WrLoc { 5 } else { 7 };
                        s.bench.offer(Request { op, src, line, id: 1 });
                    }
                    if cycle % 8 == offset && s.bench.may_receive() {
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

/// A GPU home that is told without end still answers: every third cycle at most belongs to a received Inv.
#[test]
fn received_invs_without_end_do_not_hold_operations() {
    let mut s = steps(DirKind::Hmg);
    let line = s.line(9, 64);
    let mut offered = 0;
    for _ in 0..300 {
        if s.bench.may_receive() {
            s.bench.receive(Received { line, cause: InvCause::Write, also: 1, link: 0 });
        }
        if s.bench.req.idle() {
            s.bench.offer(Request { op: DirOp::RdRem, src: 4 + offered % 2 * 2, line, id: 1 });
            offered += 1;
        }
        s.bench.cycle(true, |_| true);
    }
    let (answered, done) = (s.bench.answered, s.bench.done);
    assert!(answered >= 190 && done >= 95, "{answered} operations and {done} received Invs in 300 cycles");
    s.bench.drain();
}

#[test]
fn a_flat_directory_knows_every_gpm() {
    let mut s = steps(DirKind::Nhcc);
    let line = s.line(5, 8);
    for src in [4, 9, 14, 12] {
        assert!(s.invs(DirOp::RdRem, src, line).is_empty());
    }
    assert_eq!(s.invs(DirOp::WrRem, 9, line), by_write(&[4, 12, 14]));
    assert_eq!(s.invs(DirOp::AtomRem, 8, line), by_write(&[9]));
    assert_eq!(s.invs(DirOp::WrLoc, 5, line), by_write(&[8]));
    s.bench.drain();
}

#[test]
fn downgrades_remove_sharers_and_say_when_none_is_left() {
    for kind in [DirKind::Nhcc, DirKind::Hmg] {
        let mut s = steps(kind);
        let line = s.line(5, 12);
        assert_eq!(s.op(DirOp::Downgrade, 4, line), (vec![], true), "nothing was recorded");
        s.op(DirOp::RdRem, 4, line);
        s.op(DirOp::RdRem, 9, line + 1);
        assert_eq!(s.op(DirOp::Downgrade, 5, line), (vec![], false), "the home asks");
        assert_eq!(s.op(DirOp::Downgrade, 4, line + 3), (vec![], false), "node 9 is left");
        assert_eq!(s.op(DirOp::Downgrade, 4, line), (vec![], false), "again: a no-op");
        assert_eq!(s.op(DirOp::Downgrade, 9, line), (vec![], true), "the last one");
        assert_eq!(s.op(DirOp::Downgrade, 5, line), (vec![], true));
        assert!(s.invs(DirOp::WrLoc, 5, line).is_empty());
        s.op(DirOp::RdRem, 4, line);
        assert_eq!(s.op(DirOp::WrLoc, 5, line), (by_write(&[4]), false), "a later load records it again");
        s.bench.drain();
    }
}

#[test]
fn a_slice_without_an_operation_says_so() {
    for (kind, op) in [
        (DirKind::Rec, 4u64),
        (DirKind::Rec, 6),
        (DirKind::Nhcc, 4),
        (DirKind::Nhcc, 6),
        (DirKind::Hmg, 4),
        (DirKind::Hmg, 5),
        (DirKind::HmgRec, 4),
        (DirKind::HmgRec, 5),
    ] {
        let p = DirParams { downgrade: false, ..small(kind) };
        let mut sim = sim(&directory(&hardware(&p)).unwrap());
        let mut req = Sender::new(&sim, "req", &["op", "src", "line", "id"]);
        req.offer(&mut sim, &[op, 1, 0, 0]);
        for _ in 0..p.sets() + 6 {
            req.taken(&mut sim);
            sim.step();
            req.after(&mut sim);
        }
        let failed: Vec<&str> = sim.failures().iter().map(|f| f.name.as_str()).collect();
        assert!(failed.iter().any(|name| name.ends_with("_table_complete")), "{kind:?} {op}: {failed:?}");
    }
}

#[test]
fn entries_have_the_published_bits() {
    for kind in [DirKind::Nhcc, DirKind::Hmg] {
        for (gpus, gpms, home) in
            [(4, 4, 0), (4, 4, 15), (1, 2, 1), (2, 1, 0), (12, 5, 92), (3, 3, 6), (16, 4, 63)]
        {
            let p = DirParams { gpus, gpms, home, banks: 1, ..DirParams::new(kind) };
            let sharers = if kind == DirKind::Nhcc { gpus * gpms - 1 } else { gpus + gpms - 2 };
            let module = directory(&hardware(&p)).unwrap();
            let mem = module.mems.iter().find(|m| m.name == "entries").unwrap();
            assert_eq!(mem.lane_width(), 48 + sharers + 1, "{p:?}");
            let golden = encode(&p, &Entry::empty(1));
            assert_eq!(golden.len() as u32, mem.lane_width());
            assert!(decode(&p, &golden).is_some());
        }
    }
}

/// Any destination that the hardware can name is a node: with 12 GPUs of 5 GPMs numbers go to 95.
#[test]
fn wide_node_numbers_reach_their_nodes() {
    for (kind, expected) in [(DirKind::Hmg, 90), (DirKind::Nhcc, 91)] {
        let p = DirParams { gpus: 12, gpms: 5, home: 2, group: 1, ..small(kind) };
        let mut sim = sim(&directory(&hardware(&p)).unwrap());
        let mut req = Sender::new(&sim, "req", &["op", "src", "line", "id"]);
        let (valid, ready) = (sim.output("inv_valid").unwrap(), sim.input("inv_ready").unwrap());
        let (dest, rsp) = (sim.output("inv_dest").unwrap(), sim.input("rsp_ready").unwrap());
        sim.set(ready, 1);
        sim.set(rsp, 1);
        let line = 2 << (p.home_shift - p.line.ilog2());
        let mut seen = Vec::new();
        // GPM 3 of GPU 11 loads, then the home stores.
        for (op, src) in [(0, 91), (2, 2)] {
            req.offer(&mut sim, &[op, src, line, 0]);
            for _ in 0..p.sets() + 12 {
                if sim.get(valid) == 1 {
                    seen.push(sim.get_bv(dest));
                }
                req.taken(&mut sim);
                sim.step();
                req.after(&mut sim);
            }
        }
        assert_sound(&sim);
        assert_eq!(seen.len(), 1);
        let told: Vec<u32> = (0..seen[0].width()).filter(|bit| seen[0].bit(*bit)).collect();
        assert_eq!(told, [expected], "{kind:?}");
    }
}
