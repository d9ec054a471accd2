//! The races of spandex.md section 5 for a MESI device, one by one.

use crate::tu_mesi::device::small;
use crate::tu_mesi::hand::{ALL, Hand, OTHER};
use crate::words::words;
use weft_spandex::msg::{FwdOp, ReqOp, RspOp};

/// Lines of one set of the small L1, which has two ways.
const A: u64 = 0x10;
const B: u64 = 0x12;
const C: u64 = 0x14;

const WORDS: [u32; 8] = [10, 11, 12, 13, 14, 15, 16, 17];

/// Race 1, pending to the expected state, with everything that can come for the words of one request: the core's operation first, then the read, then the removals of each device, then
/// the rest is written back.
#[test]
fn race_1_removals_wait_for_the_whole_line_and_the_core() {
    let mut h = Hand::new();
    let store = h.store(A, 7, 99);
    let add = h.add(A, 1, 5);
    let tag = h.requested(ReqOp::ReqOData, A);
    h.respond(RspOp::RspOData, A, 0x0f, &[("tag", tag)], &WORDS);
    h.forward(FwdOp::ReqO, A, &[("mask", 0b1)], &[]);
    h.forward(FwdOp::ReqO, A, &[("mask", 0b100), ("for_wt", 1)], &[]);
    h.forward(FwdOp::ReqOData, A, &[("mask", 0b10)], &[]);
    h.forward(FwdOp::RvkO, A, &[("own", 0b1000)], &[]);
    h.forward(FwdOp::ReqS, A, &[("own", 0b11_0000), ("mask", 0b1_0000)], &[]);
    h.rest();
    // A read of a word that is taken fails, the first of others is delayed, the second fails.
    h.forward(FwdOp::ReqV, A, &[("mask", 0b1100_0010)], &[]);
    h.says(RspOp::NackV, A, 0b10);
    h.forward(FwdOp::ReqV, A, &[("mask", 0b100_0000)], &[]);
    h.says(RspOp::NackV, A, 0b100_0000);
    h.forward(FwdOp::ReqWt, A, &[("mask", 0b100_0000)], &WORDS);
    h.says(RspOp::NackWt, A, 0b100_0000);
    h.rest();
    h.respond(RspOp::RspOData, A, 0xf0, &[("tag", tag), ("src", OTHER), ("dirty", 0)], &WORDS);
    h.answered(store);
    assert_eq!(h.answered(add)[1], 11);
    assert_eq!(words(&h.says(RspOp::RspV, A, 0b1100_0000))[7], 99);
    h.says(RspOp::RspO, A, 0b1);
    let given = h.says(RspOp::RspOData, A, 0b10);
    assert_eq!((words(&given)[1], given.get("dirty")), (16, 1));
    h.says(RspOp::RspWt, A, 0b100);
    let back = h.says(RspOp::RspRvkO, A, 0b1000);
    assert_eq!((words(&back)[3], back.get("nodata"), back.get("kept_s")), (13, 0, 0));
    assert_eq!(words(&h.says(RspOp::RspS, A, 0b1_0000))[4], 14);
    assert_eq!(h.says(RspOp::RspRvkO, A, 0b11_0000).get("kept_s"), 0);
    let (wb, rest) = h.written_back(A, 0b1100_0000, true);
    assert_eq!(rest[6..], [16, 99]);
    // The core waits until every word is closed, and then asks.
    h.load(A);
    h.rest();
    h.respond(RspOp::RspWb, A, 0b1100_0000, &[("tag", wb)], &[]);
    h.requested(ReqOp::ReqS, A);
}

/// A word is written by another device while its line is asked for, for another word. The former owner may still be read: the writer is answered only when the line has come, which says
/// that it has gone there.
#[test]
fn race_1_a_writer_waits_until_the_line_has_left_its_former_owner() {
    for (for_wt, says) in [(0, RspOp::RspO), (1, RspOp::RspWt)] {
        let mut h = Hand::new();
        let store = h.store(A, 1, 99);
        let tag = h.requested(ReqOp::ReqOData, A);
        h.forward(FwdOp::ReqO, A, &[("mask", 0b1), ("for_wt", for_wt)], &[]);
        h.rest();
        h.respond(RspOp::RspOData, A, ALL, &[("tag", tag), ("src", OTHER)], &WORDS);
        h.answered(store);
        h.says(says, A, 0b1);
        let (_, rest) = h.written_back(A, 0xfe, true);
        assert_eq!(rest[1..3], [99, 12]);
    }
}

/// All of a line is taken while it is asked for: by one read for sharers it stays shared, by two others it goes.
#[test]
fn race_1_a_whole_line_is_shared_or_gone_after_the_cores_operation() {
    let mut h = Hand::new();
    let add = h.add(A, 0, 1);
    let tag = h.requested(ReqOp::ReqOData, A);
    h.forward(FwdOp::ReqS, A, &[("own", ALL), ("mask", ALL)], &[]);
    h.rest();
    h.respond(RspOp::RspOData, A, ALL, &[("tag", tag)], &WORDS);
    h.answered(add);
    assert_eq!(words(&h.says(RspOp::RspS, A, ALL))[0], 11);
    let back = h.says(RspOp::RspRvkO, A, ALL);
    assert_eq!(["kept_s", "dirty"].map(|f| back.get(f)), [1, 1]);
    let load = h.load(A);
    assert_eq!(h.answered(load)[0], 11);
    h.rest();
    let add = h.add(B, 0, 1);
    let tag = h.requested(ReqOp::ReqOData, B);
    h.forward(FwdOp::RvkO, B, &[("own", 0x0f)], &[]);
    h.forward(FwdOp::ReqOData, B, &[("mask", 0xf0)], &[]);
    h.rest();
    h.respond(RspOp::RspOData, B, ALL, &[("tag", tag)], &WORDS);
    h.answered(add);
    h.says(RspOp::RspRvkO, B, 0x0f);
    h.says(RspOp::RspOData, B, 0xf0);
    h.rest();
    h.load(B);
    h.requested(ReqOp::ReqS, B);
}

/// What loads after a removal must not join: the list of a line that goes on is closed.
#[test]
fn nobody_joins_a_request_whose_words_are_gone() {
    let mut h = Hand::new();
    let first = h.add(A, 0, 1);
    let tag = h.requested(ReqOp::ReqOData, A);
    h.forward(FwdOp::ReqO, A, &[("mask", 0b10)], &[]);
    h.rest();
    let second = h.load(A);
    h.respond(RspOp::RspOData, A, ALL, &[("tag", tag)], &WORDS);
    h.answered(first);
    h.says(RspOp::RspO, A, 0b10);
    let (wb, _) = h.written_back(A, 0xfd, true);
    h.respond(RspOp::RspWb, A, 0xfd, &[("tag", wb)], &[]);
    let tag = h.requested(ReqOp::ReqS, A);
    h.respond(RspOp::RspS, A, ALL, &[("tag", tag)], &[1, 2, 3]);
    assert_eq!(h.answered(second)[..3], [1, 2, 3]);
}

/// Race 2, pending from the expected state: removals meet a write-back, RspWB first or last, and R2 waits for both.
#[test]
fn race_2_a_write_back_answers_removals() {
    for rsp_first in [false, true] {
        let mut h = Hand::new();
        h.own(A, &WORDS);
        let add = h.add(A, 0, 1);
        h.answered(add);
        h.own(B, &WORDS);
        h.own(C, &WORDS);
        let (wb, found) = h.written_back(A, ALL, true);
        assert_eq!(found[0], 11);
        h.forward(FwdOp::ReqV, A, &[("mask", 0b11)], &[]);
        assert_eq!(words(&h.says(RspOp::RspV, A, 0b11))[..2], [11, 11]);
        h.forward(FwdOp::ReqV, A, &[("mask", 0b11), ("direct", 1)], &[]);
        assert_eq!(h.says(RspOp::NackV, A, 0b11).get("direct"), 1);
        h.forward(FwdOp::ReqWt, A, &[("mask", 0b11)], &WORDS);
        h.says(RspOp::NackWt, A, 0b11);
        h.forward(FwdOp::Inv, A, &[], &[]);
        h.says(RspOp::Ack, A, 0);
        // The core wants the line again, and evicts the other one for it.
        h.load(A);
        h.written_back(B, ALL, false);
        h.rest();
        let close = |h: &mut Hand| h.respond(RspOp::RspWb, A, ALL, &[("tag", wb), ("extra", 0b1111)], &[]);
        if rsp_first {
            close(&mut h);
            h.rest();
        }
        h.forward(FwdOp::RvkO, A, &[("own", 0b1)], &[]);
        assert_eq!(h.says(RspOp::RspRvkO, A, 0b1).get("nodata"), 1);
        h.forward(FwdOp::ReqO, A, &[("mask", 0b10)], &[]);
        h.says(RspOp::RspO, A, 0b10);
        h.forward(FwdOp::ReqOData, A, &[("mask", 0b100)], &[]);
        let given = h.says(RspOp::RspOData, A, 0b100);
        assert_eq!((words(&given)[2], given.get("dirty")), (12, 1));
        h.forward(FwdOp::ReqV, A, &[("mask", 0b1100)], &[]);
        assert_eq!(words(&h.says(RspOp::RspV, A, 0b1000))[3], 13);
        h.says(RspOp::NackV, A, 0b100);
        h.rest();
        h.forward(FwdOp::ReqS, A, &[("own", 0b1000), ("mask", 0b1000)], &[]);
        assert_eq!(words(&h.says(RspOp::RspS, A, 0b1000))[3], 13);
        let back = h.says(RspOp::RspRvkO, A, 0b1000);
        assert_eq!(["nodata", "kept_s"].map(|f| back.get(f)), [1, 0]);
        if !rsp_first {
            h.rest();
            close(&mut h);
        }
        h.requested(ReqOp::ReqS, A);
        h.rest();
    }
}

/// Race 2: an invalidation meets an upgrade, which goes on; of an outstanding read it leaves one use.
#[test]
fn race_2_an_invalidation_meets_requests() {
    let mut h = Hand::new();
    h.share(A, &WORDS);
    let store = h.store(A, 0, 99);
    let tag = h.requested(ReqOp::ReqOData, A);
    h.forward(FwdOp::Inv, A, &[], &[]);
    h.says(RspOp::Ack, A, 0);
    h.respond(RspOp::RspOData, A, ALL, &[("tag", tag)], &WORDS);
    h.answered(store);
    let load = h.load(A);
    assert_eq!(h.answered(load)[0], 99);
    let before = h.load(B);
    let tag = h.requested(ReqOp::ReqS, B);
    h.forward(FwdOp::Inv, B, &[], &[]);
    h.says(RspOp::Ack, B, 0);
    let after = h.load(B);
    h.rest();
    h.respond(RspOp::RspS, B, ALL, &[("tag", tag)], &WORDS);
    assert_eq!(h.answered(before), WORDS);
    let tag = h.requested(ReqOp::ReqS, B);
    h.respond(RspOp::RspS, B, ALL, &[("tag", tag)], &[1; 8]);
    assert_eq!(h.answered(after), [1; 8]);
}

/// Race 3, another stable state.
#[test]
fn race_3_nothing_is_here() {
    let mut h = Hand::new();
    h.share(A, &WORDS);
    for line in [A, B] {
        h.forward(FwdOp::ReqV, line, &[("mask", 0b11)], &[]);
        h.says(RspOp::NackV, line, 0b11);
        h.forward(FwdOp::ReqWt, line, &[("mask", 0b11), ("direct", 1)], &WORDS);
        assert_eq!(h.says(RspOp::NackWt, line, 0b11).get("direct"), 1);
        h.forward(FwdOp::Inv, line, &[], &[]);
        h.says(RspOp::Ack, line, 0);
    }
    h.own(C, &WORDS);
    h.forward(FwdOp::Inv, C, &[], &[]);
    h.says(RspOp::Ack, C, 0);
    let load = h.load(C);
    assert_eq!(h.answered(load), WORDS);
    h.load(A);
    h.requested(ReqOp::ReqS, A);
}

/// Some words of an owned line go: the others are written back from the L1, and serve until they are closed.
#[test]
fn a_partial_removal_triggers_a_write_back_in_place() {
    for (op, field) in
        [(FwdOp::RvkO, "own"), (FwdOp::ReqOData, "mask"), (FwdOp::ReqO, "mask"), (FwdOp::ReqS, "own")]
    {
        let mut h = Hand::new();
        h.own(A, &WORDS);
        let given = if op == FwdOp::ReqS { vec![("own", 0b11), ("mask", 0b01)] } else { vec![(field, 0b11)] };
        h.forward(op, A, &given, &[]);
        match op {
            FwdOp::RvkO => assert_eq!(words(&h.says(RspOp::RspRvkO, A, 0b11))[1], 11),
            FwdOp::ReqOData => assert_eq!(h.says(RspOp::RspOData, A, 0b11).get("dirty"), 0),
            FwdOp::ReqO => _ = h.says(RspOp::RspO, A, 0b11),
            _ => {
                h.says(RspOp::RspS, A, 0b01);
                assert_eq!(h.says(RspOp::RspRvkO, A, 0b11).get("kept_s"), 0);
            }
        }
        let (wb, rest) = h.written_back(A, 0xfc, false);
        assert_eq!(rest[2..], WORDS[2..]);
        let store = h.store(A, 0, 1);
        h.forward(FwdOp::ReqV, A, &[("mask", 0b111)], &[]);
        assert_eq!(words(&h.says(RspOp::RspV, A, 0b100))[2], 12);
        h.says(RspOp::NackV, A, 0b11);
        h.forward(FwdOp::ReqV, A, &[("mask", 0b100), ("direct", 1)], &[]);
        h.says(RspOp::NackV, A, 0b100);
        h.forward(FwdOp::RvkO, A, &[("own", 0b100)], &[]);
        assert_eq!(h.says(RspOp::RspRvkO, A, 0b100).get("nodata"), 1);
        h.respond(RspOp::RspWb, A, 0xfc, &[("tag", wb), ("extra", 0b1100)], &[]);
        h.rest();
        h.sleeps();
        h.forward(FwdOp::ReqOData, A, &[("mask", 0b1000)], &[]);
        assert_eq!(words(&h.says(RspOp::RspOData, A, 0b1000))[3], 13);
        let tag = h.requested(ReqOp::ReqOData, A);
        h.respond(RspOp::RspOData, A, ALL, &[("tag", tag)], &WORDS);
        h.answered(store);
    }
}

/// Whole lines: shared after fwd ReqS, gone after the others; reads and writes leave them owned.
#[test]
fn whole_lines_are_shared_taken_read_and_written() {
    let mut h = Hand::new();
    h.own(A, &WORDS);
    h.forward(FwdOp::ReqWt, A, &[("mask", 0b1)], &[50]);
    h.says(RspOp::RspWt, A, 0b1);
    h.forward(FwdOp::ReqWt, A, &[("mask", 0b10), ("direct", 1)], &[0, 51]);
    h.says(RspOp::RspWt, A, 0b10);
    h.forward(FwdOp::ReqV, A, &[("mask", 0b1), ("flex", 1)], &[]);
    let read = h.says(RspOp::RspV, A, 0b1);
    assert_eq!((words(&read)[..3].to_vec(), read.get("extra")), (vec![50, 51, 12], 0xfe));
    h.forward(FwdOp::ReqV, A, &[("mask", 0b1), ("direct", 1)], &[]);
    assert_eq!(h.says(RspOp::RspV, A, 0b1).get("extra"), 0);
    h.forward(FwdOp::ReqS, A, &[("own", ALL), ("mask", 0x0f)], &[]);
    h.says(RspOp::RspS, A, 0x0f);
    let back = h.says(RspOp::RspRvkO, A, ALL);
    assert_eq!(["kept_s", "dirty", "nodata"].map(|f| back.get(f)), [1, 1, 0]);
    let load = h.load(A);
    assert_eq!(h.answered(load)[..2], [50, 51]);
    for (op, field, says) in [
        (FwdOp::RvkO, "own", RspOp::RspRvkO),
        (FwdOp::ReqOData, "mask", RspOp::RspOData),
        (FwdOp::ReqO, "mask", RspOp::RspO),
    ] {
        h.own(B, &WORDS);
        h.forward(op, B, &[(field, ALL)], &[]);
        h.says(says, B, ALL);
        h.rest();
    }
}

/// A line is put while a forward for it waits for room: the forward finds it in the buffer, written back first.
#[test]
fn a_forward_waits_for_a_write_back_that_has_not_left() {
    let mut h = Hand::new();
    h.own(A, &WORDS);
    h.own(B, &WORDS);
    h.b.sink_mut("wb").chance = 0.0;
    // Two write-backs: one in the channel, one behind it.
    h.own(C, &WORDS);
    h.own(0x16, &WORDS);
    for line in [A, B] {
        h.forward(FwdOp::RvkO, line, &[("own", ALL)], &[]);
    }
    h.b.run(60);
    assert_eq!(h.b.received("rsp_out"), None);
    h.b.sink_mut("wb").chance = 1.0;
    for line in [A, B] {
        let (tag, _) = h.written_back(line, ALL, false);
        assert_eq!(h.says(RspOp::RspRvkO, line, ALL).get("nodata"), 1);
        h.respond(RspOp::RspWb, line, ALL, &[("tag", tag), ("extra", ALL)], &[]);
    }
    h.rest();
}

/// Option 2 of ReqS: words that nobody invalidates are used once; a Nack makes the unit ask for the whole line, when all answers are in.
#[test]
fn reads_without_sharing_are_used_once_or_asked_again() {
    let mut p = small();
    p.l1.weak_reads = true;
    let mut h = Hand::of(&p);
    let load = h.load(A);
    let tag = h.requested(ReqOp::ReqS, A);
    h.respond(RspOp::RspV, A, 0x0f, &[("tag", tag)], &WORDS);
    h.respond(RspOp::RspV, A, 0xf0, &[("tag", tag), ("src", OTHER)], &WORDS);
    assert_eq!(h.answered(load), WORDS);
    let load = h.load(A);
    let tag = h.requested(ReqOp::ReqS, A);
    h.respond(RspOp::NackV, A, 0xf0, &[("tag", tag), ("src", OTHER)], &[]);
    h.rest();
    h.respond(RspOp::RspV, A, 0x0f, &[("tag", tag)], &[0; 8]);
    let tag = h.requested(ReqOp::ReqOData, A);
    h.respond(RspOp::RspOData, A, ALL, &[("tag", tag), ("dirty", 1), ("src", OTHER)], &WORDS);
    assert_eq!(h.answered(load), WORDS);
    // A dirty word makes the line dirty.
    h.forward(FwdOp::RvkO, A, &[("own", ALL)], &[]);
    assert_eq!(h.says(RspOp::RspRvkO, A, ALL).get("dirty"), 1);
}

/// A store behind loads asks again when the line comes shared.
#[test]
fn stores_behind_loads_ask_for_ownership() {
    let mut h = Hand::new();
    let load = h.load(A);
    let store = h.store(A, 0, 5);
    let later = h.load(A);
    let tag = h.requested(ReqOp::ReqS, A);
    h.respond(RspOp::RspS, A, ALL, &[("tag", tag)], &WORDS);
    assert_eq!(h.answered(load)[0], 10);
    let tag = h.requested(ReqOp::ReqOData, A);
    h.respond(RspOp::RspOData, A, ALL, &[("tag", tag)], &WORDS);
    h.answered(store);
    assert_eq!(h.answered(later)[0], 5);
}

/// Responses are taken while no answer and no write-back can leave; forwards wait (section 2, rule 1).
#[test]
fn responses_never_wait_for_an_output() {
    let mut h = Hand::new();
    h.own(A, &WORDS);
    let store = h.store(B, 0, 7);
    let tag = h.requested(ReqOp::ReqOData, B);
    for channel in ["rsp_out", "wb", "req"] {
        h.b.sink_mut(channel).chance = 0.0;
    }
    for _ in 0..8 {
        h.forward(FwdOp::ReqV, A, &[("mask", 1)], &[]);
    }
    h.b.run(80);
    h.respond(RspOp::RspOData, B, ALL, &[("tag", tag)], &WORDS);
    h.answered(store);
    h.sleeps();
    h.b.sink_mut("rsp_out").chance = 1.0;
    (0..8).for_each(|_| _ = h.says(RspOp::RspV, A, 1));
}

/// Without work nothing changes, nor while everything waits.
#[test]
fn a_device_in_which_nothing_can_happen_sleeps() {
    let mut h = Hand::new();
    h.sleeps();
    h.own(A, &WORDS);
    h.sleeps();
    h.store(A, 0, 1);
    h.load(B);
    h.load(C);
    h.load(0x16);
    h.b.run(60);
    h.sleeps();
}

/// Messages that the protocol does not know fail an assertion of the hardware.
#[test]
fn what_never_happens_is_asserted() {
    let failures = |send: &dyn Fn(&mut Hand)| {
        let mut h = Hand::new();
        h.share(A, &WORDS);
        h.own(B, &WORDS);
        send(&mut h);
        (0..20).for_each(|_| h.b.advance());
        h.b.sim.failures().iter().map(|f| f.name.to_string()).collect::<Vec<_>>()
    };
    let forward = |op: FwdOp, line: u64, mask: u64| {
        failures(&move |h: &mut Hand| h.forward(op, line, &[("own", mask), ("mask", mask)], &[]))
    };
    for op in [FwdOp::ReqO, FwdOp::ReqOData, FwdOp::RvkO, FwdOp::ReqS] {
        for line in [A, C] {
            let found = forward(op, line, 1);
            assert!(found.contains(&"tu_mesi_forwards_complete".to_string()), "{op:?}: {found:?}");
        }
    }
    // A word is taken twice.
    let found = failures(&|h: &mut Hand| {
        h.forward(FwdOp::RvkO, B, &[("own", 1)], &[]);
        h.forward(FwdOp::RvkO, B, &[("own", 3)], &[]);
    });
    assert!(found.contains(&"tu_mesi_one_removal".to_string()), "{found:?}");
    let respond =
        |op: RspOp, tag: u64| failures(&move |h: &mut Hand| h.respond(op, A, ALL, &[("tag", tag)], &[]));
    for (op, tag) in [(RspOp::RspS, 0), (RspOp::RspOData, 1), (RspOp::RspWb, 9), (RspOp::RspWtData, 0)] {
        let found = respond(op, tag);
        assert!(found.contains(&"tu_mesi_responses_complete".to_string()), "{op:?}: {found:?}");
    }
    let found = failures(&|h: &mut Hand| {
        h.load(C);
        let tag = h.requested(ReqOp::ReqS, C);
        h.respond(RspOp::RspS, C, 0x0f, &[("tag", tag)], &[]);
        h.respond(RspOp::RspOData, C, 0xf0, &[("tag", tag)], &[]);
    });
    assert!(found.contains(&"tu_mesi_mixed".to_string()), "{found:?}");
}
