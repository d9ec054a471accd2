//! Operations, lists, evictions and lookups, one by one.

use crate::mesi_l1::hand::{Hand, small};
use crate::words::words;
use weft_blocks::msg::{AmoOp, CuOp};
use weft_spandex::mesi_l1::MesiL1Params;
use weft_spandex::mesi_port::LineState::{E, I, M, P, S, WE, WM};
use weft_spandex::mesi_port::{ExtOp, Get, LineState, UpOp};

/// Lines of one set.
const A: u64 = 0x10;
const B: u64 = 0x12;
const C: u64 = 0x14;
const D: u64 = 0x16;

const WORDS: [u32; 8] = [10, 11, 12, 13, 14, 15, 16, 17];

/// Hits of every kind leave in the cycle after their slot, one per cycle.
#[test]
fn hits_take_one_cycle() {
    let mut h = Hand::new();
    h.fill(A, M, &WORDS);
    h.b.run(10);
    let start = h.b.sim.cycle();
    h.load(A);
    assert_eq!(h.b.wait("cu_rsp").0 - start, 2, "taken, slot, answer");
    let ids: Vec<u64> = (0..20)
        .map(|i| match i % 3 {
            0 => h.load(A),
            1 => h.store(A, 0xf, &[1], true),
            _ => h.amo(AmoOp::Add, A, 0xf0, &[0, 1], 0),
        })
        .collect();
    h.b.run(30);
    let got: Vec<_> = std::iter::from_fn(|| h.b.received("cu_rsp")).collect();
    assert_eq!(got.iter().map(|g| g.1.get("id")).collect::<Vec<_>>(), ids);
    assert!(got.windows(2).all(|g| g[1].0 == g[0].0 + 1), "one per cycle");
    assert_eq!(got[0].1.get("src"), 0);
}

#[test]
fn bytes_are_stored_and_words_updated() {
    let mut h = Hand::new();
    h.fill(A, E, &WORDS);
    let store = h.store(A, 0b0110_0001, &[0xaabb_ccdd, 0x1122_3344], true);
    assert_eq!(h.answered(store).0, 1);
    // One atomic on two words; a compare-and-swap that fails and one that does not.
    let add = h.amo(AmoOp::Add, A, 0xff00, &[0, 0, 100, 200], 0);
    assert_eq!(h.answered(add), (0, vec![0xdd, 0x0022_330b, 12, 13, 14, 15, 16, 17]));
    let cas = h.amo(AmoOp::Cas, A, 0xf00, &[0, 0, 1], 5);
    h.answered(cas);
    let cas = h.amo(AmoOp::Cas, A, 0xf00, &[0, 0, 1], 112);
    assert_eq!(h.answered(cas).1[2..4], [112, 213]);
    let load = h.load(A);
    assert_eq!(h.answered(load).1[..4], [0xdd, 0x0022_330b, 1, 213]);
    assert_eq!(h.look(ExtOp::Look, A, M)[2], 1);
}

/// An atomic that writes nothing leaves a clean line clean.
#[test]
fn a_failed_swap_and_a_synchronising_load_keep_a_line_clean() {
    let mut h = Hand::new();
    h.fill(A, E, &WORDS);
    let cas = h.amo(AmoOp::Cas, A, 0xf, &[1], 5);
    h.answered(cas);
    let load = h.cu(CuOp::Ld, &[("line", A), ("mask", 0xff), ("sync", 1)], &[]);
    assert_eq!(h.answered(load).1[..2], [10, 11]);
    h.look(ExtOp::Look, A, E);
}

/// Section 7: a load that synchronises needs ownership, unless it is told not to.
#[test]
fn synchronising_loads_ask_for_ownership() {
    for sync_own in [true, false] {
        let mut h = Hand::of(&MesiL1Params { sync_own, ..small() });
        h.fill(A, S, &WORDS);
        let load = h.cu(CuOp::Ld, &[("line", A), ("mask", 0xf), ("sync", 1)], &[]);
        if sync_own {
            let tag = h.asked(Get::GetM, A);
            h.give(tag, E, &WORDS);
        }
        assert_eq!(h.answered(load).1[0], 10);
    }
}

/// The list of a line keeps the core's order: loads before the first store are served by a shared line, the rest asks for ownership.
#[test]
fn a_list_keeps_order_and_asks_again_for_ownership() {
    for comes in [S, I] {
        let mut h = Hand::new();
        let first = h.load(A);
        h.store(A, 0xf, &[1], false);
        let second = h.load(A);
        let add = h.amo(AmoOp::Add, A, 0xf, &[5], 0);
        let third = h.load(A);
        let tag = h.asked(Get::GetS, A);
        h.rest();
        h.give(tag, comes, &WORDS);
        assert_eq!(h.answered(first).1[0], 10);
        h.up(UpOp::Done, A, if comes == S { S } else { P });
        assert_eq!(h.asked(Get::GetM, A), tag);
        // The old copy is not read.
        h.look(ExtOp::Look, A, P);
        h.give(tag, E, &[20; 8]);
        assert_eq!(h.answered(second).1[..2], [1, 20]);
        assert_eq!(h.answered(add).1[0], 1);
        assert_eq!(h.answered(third).1[0], 6);
        assert_eq!(words(&h.up(UpOp::Done, A, M))[..2], [6, 20]);
        h.rest();
    }
}

/// A line installed in WBP serves its list, stores too, and then lets nobody in.
#[test]
fn a_line_whose_words_are_wanted_serves_its_list_only() {
    for (comes, ends, cmp) in [(WE, WE, 0), (WE, WM, 10), (WM, WM, 0)] {
        let mut h = Hand::new();
        let swap = h.amo(AmoOp::Cas, A, 0xf, &[1], cmp);
        let tag = h.asked(Get::GetM, A);
        h.give(tag, comes, &WORDS);
        h.answered(swap);
        h.up(UpOp::Done, A, ends);
        let load = h.load(A);
        h.store(B, 1, &[1], false);
        h.rest();
        h.sleeps();
        h.look(ExtOp::Hold, A, ends);
        h.look(ExtOp::Drop, A, ends);
        h.look(ExtOp::Share, A, ends);
        h.look(ExtOp::Keep, A, ends);
        assert_eq!(h.answered(load).1[1], 11);
        h.asked(Get::GetM, B);
        h.look(ExtOp::Look, A, S);
    }
}

/// What closes a list, and what does not.
#[test]
fn removals_close_a_list() {
    let closing = [ExtOp::Inv, ExtOp::Drop, ExtOp::Hold, ExtOp::Share];
    for op in [ExtOp::Look, ExtOp::Write].into_iter().chain(closing) {
        let mut h = Hand::new();
        let first = h.load(A);
        let tag = h.asked(Get::GetS, A);
        h.look(op, A, P);
        let second = h.load(A);
        h.rest();
        h.give(tag, I, &WORDS);
        h.answered(first);
        if closing.contains(&op) {
            h.up(UpOp::Done, A, P);
            let tag = h.asked(Get::GetS, A);
            h.give(tag, S, &[1; 8]);
            assert_eq!(h.answered(second).1, [1; 8], "{op:?}");
        } else {
            assert_eq!(h.answered(second).1, WORDS, "{op:?}");
        }
    }
}

/// Where nobody invalidates what a read brings, an acquire closes lists that ask for shared lines.
#[test]
fn an_acquire_closes_reads_that_are_not_invalidated() {
    for weak_reads in [false, true] {
        let mut h = Hand::of(&MesiL1Params { weak_reads, ..small() });
        let first = h.load(A);
        let tag = h.asked(Get::GetS, A);
        let acquire = h.cu(CuOp::Acq, &[], &[]);
        h.answered(acquire);
        let second = h.load(A);
        h.rest();
        h.give(tag, I, &WORDS);
        h.answered(first);
        if weak_reads {
            h.up(UpOp::Done, A, P);
            h.asked(Get::GetS, A);
        } else {
            h.answered(second);
        }
    }
}

/// Every lookup in every state.
#[test]
fn lookups_change_what_they_say() {
    let after = |op: ExtOp, state: LineState| match (op, state) {
        (ExtOp::Write, E | M) => M,
        (ExtOp::Share, E | M) => S,
        (ExtOp::Drop, E | M) | (ExtOp::Inv, S) => I,
        (ExtOp::Hold, E) => WE,
        (ExtOp::Hold, M) => WM,
        _ => state,
    };
    for op in [ExtOp::Look, ExtOp::Write, ExtOp::Share, ExtOp::Drop, ExtOp::Hold, ExtOp::Inv] {
        let mut h = Hand::new();
        for (line, state) in [(A, E), (A + 1, M), (B, S), (C, I)] {
            if state != I {
                h.fill(line, state, &WORDS);
            }
            let found = h.look(op, line, state);
            assert!(state == I || found == WORDS);
            let now = after(op, state);
            let found = h.look(ExtOp::Look, line, now);
            let second = if op == ExtOp::Write && now == M { 77 } else { 11 };
            assert!(now == I || found[1] == second, "{op:?} {state:?}: {found:?}");
            if now == WE || now == WM {
                h.look(ExtOp::Write, line, now);
                h.look(ExtOp::Inv, line, now);
                h.look(ExtOp::Free, line, now);
                h.look(ExtOp::Look, line, I);
            }
        }
    }
}

/// Owned victims are put while entries of the write-back buffer are known to be free; others go silently.
#[test]
fn victims_are_put_with_credits() {
    let mut h = Hand::new();
    h.fill(A, M, &WORDS);
    h.fill(B, E, &[1; 8]);
    for (line, victim, state, found) in [(C, A, M, WORDS), (D, B, E, [1; 8])] {
        let id = h.load(line);
        assert_eq!(words(&h.up(UpOp::Put, victim, state)), found);
        let tag = h.asked(Get::GetS, line);
        h.give(tag, E, &[2; 8]);
        h.answered(id);
        h.up(UpOp::Done, line, E);
    }
    // Both entries are taken.
    let id = h.load(A);
    h.rest();
    h.sleeps();
    h.free();
    h.up(UpOp::Put, C, E);
    let tag = h.asked(Get::GetS, A);
    h.give(tag, S, &[3; 8]);
    h.answered(id);
    h.up(UpOp::Done, A, S);
    h.look(ExtOp::Inv, A, S);
    h.load(B);
    h.asked(Get::GetS, B);
    h.rest();
}

/// Pending lines and lines in WBP keep their ways.
#[test]
fn reserved_ways_are_not_taken() {
    let mut h = Hand::new();
    h.load(A);
    let tag = h.asked(Get::GetS, A);
    h.fill(B, E, &WORDS);
    h.look(ExtOp::Hold, B, E);
    let id = h.load(C);
    h.rest();
    h.sleeps();
    assert_eq!(h.b.get("stall"), weft_blocks::cache::l1::StallCause::Other as u64);
    h.look(ExtOp::Free, B, WE);
    let other = h.asked(Get::GetS, C);
    h.give(other, S, &WORDS);
    h.answered(id);
    h.give(tag, S, &WORDS);
}

/// A release waits until every store before it is done, acknowledged or not.
#[test]
fn a_release_waits_for_stores() {
    for op in [CuOp::Rel, CuOp::Kend] {
        let mut h = Hand::new();
        h.store(A, 0xf, &[1], false);
        h.store(A + 1, 0xf, &[2], false);
        let release = h.cu(op, &[], &[]);
        let (first, second) = (h.asked(Get::GetM, A), h.asked(Get::GetM, A + 1));
        h.rest();
        assert_eq!(h.b.get("busy_release"), 1);
        h.sleeps();
        h.give(second, E, &WORDS);
        h.up(UpOp::Done, A + 1, M);
        h.rest();
        h.give(first, E, &WORDS);
        assert_eq!(h.answered(release).0, 1);
    }
    let mut h = Hand::new();
    h.store(A, 0xf, &[1], false);
    for op in [CuOp::Acq, CuOp::Kbegin] {
        let id = h.cu(op, &[], &[]);
        h.answered(id);
    }
}

/// So does an access that releases, though its own line is owned; one that acquires does not.
#[test]
fn an_access_that_releases_waits_for_stores() {
    for (sem, waits) in [(0, false), (1, false), (2, true), (3, true)] {
        let mut h = Hand::new();
        h.fill(A + 1, M, &WORDS);
        h.store(A, 0xf, &[1], false);
        let fields = [("line", A + 1), ("mask", 0xf), ("sync", 1), ("sem", sem)];
        let store = h.cu(CuOp::St, &fields, &[2]);
        let tag = h.asked(Get::GetM, A);
        if waits {
            h.rest();
            h.give(tag, E, &WORDS);
        }
        assert_eq!(h.answered(store).0, 1);
    }
}

/// MSHRs and store buffer fill up; the head waits and nothing is lost.
#[test]
fn a_full_store_buffer_and_full_mshrs_wait() {
    let mut h = Hand::new();
    for line in [A, A + 1, B, B + 1] {
        h.store(line, 0xf, &[1], false);
    }
    let tags: Vec<u64> = [A, A + 1, B].map(|line| h.asked(Get::GetM, line)).to_vec();
    h.rest();
    h.give(tags[0], E, &WORDS);
    h.up(UpOp::Done, A, M);
    h.asked(Get::GetM, B + 1);
    (0..8).for_each(|i| _ = h.store(B, 0xf << (4 * i), &[i as u32; 8], false));
    h.rest();
    h.sleeps();
    assert_eq!(h.b.get("stall"), weft_blocks::cache::l1::StallCause::SbFull as u64);
    h.give(tags[2], E, &WORDS);
    h.up(UpOp::Done, B, M);
    h.b.run(20);
    assert_eq!(h.look(ExtOp::Look, B, M), [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// Messages that the port does not know fail an assertion of the hardware.
#[test]
fn what_never_happens_is_asserted() {
    let failures = |send: &dyn Fn(&mut Hand)| {
        let mut h = Hand::new();
        h.fill(A, S, &WORDS);
        send(&mut h);
        (0..20).for_each(|_| h.b.advance());
        h.b.sim.failures().iter().map(|f| f.name.to_string()).collect::<Vec<_>>()
    };
    let found = failures(&|h| h.give(1, S, &WORDS));
    assert!(found.contains(&"mesi_l1_answer_known".to_string()), "{found:?}");
    let found = failures(&|h| h.free());
    assert!(found.contains(&"mesi_l1_credits".to_string()), "{found:?}");
    let found = failures(&|h| h.free_line(A));
    assert!(found.contains(&"mesi_l1_lookups_complete".to_string()), "{found:?}");
    let found = failures(&|h| _ = h.amo(AmoOp::Cas, A, 0xff, &[1], 0));
    assert!(found.contains(&"mesi_l1_legal".to_string()), "{found:?}");
}
