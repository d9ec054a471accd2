//! Loads, stores, reads, releases and acquires (cu-and-consistency.md sections 4 and 8; spandex.md sections 5 and 7).

use crate::hand::{A, PEER, Unit, value};
use crate::stash::hand::{Area, Hand, W, small, with};
use weft_blocks::cache::l1::StallCause;
use weft_blocks::msg::CuOp;
use weft_spandex::gpu_l1::SbDrain;
use weft_spandex::msg::{FwdOp, ReqOp, RspOp};
use weft_spandex::stash::{Inject, StashParams};

fn dense(p: &StashParams) -> Hand {
    let mut h = Hand::new(p);
    h.map(0, Area::dense(0, A * W, 32));
    h
}

/// The first load reads the mapped words of its line; later ones hit.
#[test]
fn a_load_reads_its_line_and_later_ones_hit() {
    let mut h = dense(&small());
    let id = h.load(&[2, 5]);
    let tag = h.asked(ReqOp::ReqV, A, 0xff);
    h.gives(PEER, RspOp::RspV, A, (0b100, 0), tag, value);
    h.silent(&["cu_rsp"]);
    h.give(RspOp::RspV, A, (0xfb, 0), tag, value);
    let (of, kind, words, src, merged) = h.part();
    assert_eq!((of, kind, words, src, merged), (id, 0, vec![(2, value(2)), (5, value(5))], 2, 0));
    let id = h.load(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let (of, _, words, src, merged) = h.part();
    assert_eq!((of, words.len(), src, merged), (id, 8, 0, 0));
    let id = h.load(&[8]);
    let tag = h.asked(ReqOp::ReqV, A + 1, 0xff);
    h.give(RspOp::RspV, A + 1, (0xff, 0), tag, value);
    assert_eq!((h.part().3, h.b.counted("stash_misses")), (1, 2));
    assert!(id > 0);
    h.silent(&["l1_req", "cu_rsp"]);
}

/// A pass over words here and of several lines: what is here at once, then line by line; a second one joins the reads. The port goes on meanwhile.
#[test]
fn a_load_is_answered_in_parts() {
    let mut h = Hand::new(&small());
    // Every word in a line of its own.
    h.map(0, Area { base: 0, global: A * W, element: 1, stride: 16, count: 8 });
    h.map(1, Area::dense(8, (A + 40) * W, 8));
    h.own(&[1], A + 2, 1, value);
    let first = h.load(&[0, 1, 2]);
    let (id, _, words, ..) = h.part();
    assert_eq!((id, words), (first, vec![(1, value(1))]));
    let tags = [A, A + 4].map(|line| h.asked(ReqOp::ReqV, line, 1));
    let second = h.load(&[0, 2]);
    // Two loads are all that an entry takes; another wave's load of owned words is not held up by them.
    h.own(&[8], A + 40, 1, value);
    let third = h.load(&[8]);
    assert_eq!(h.answered(third, &[8]), [value(8)]);
    let fourth = h.load(&[2]);
    h.silent(&["l1_req", "cu_rsp"]);
    assert_eq!(h.b.get("stall"), StallCause::MshrFull as u64, "the last load waits");
    h.give(RspOp::RspV, A + 4, (1, 0), tags[1], |_| 12);
    assert_eq!(h.part(), (first, 0, vec![(2, 12)], 1, 0));
    assert_eq!(h.part(), (second, 0, vec![(2, 12)], 1, 1));
    assert_eq!(h.part(), (fourth, 0, vec![(2, 12)], 0, 0));
    h.give(RspOp::RspV, A, (1, 0), tags[0], |_| 10);
    assert_eq!(h.part(), (first, 0, vec![(0, 10)], 1, 0));
    assert_eq!(h.part(), (second, 0, vec![(0, 10)], 1, 1));
    h.silent(&["l1_req", "cu_rsp"]);
}

/// More reads than MSHRs: the next load waits, and says why.
#[test]
fn a_load_waits_for_an_mshr() {
    let mut h = Hand::new(&small());
    h.map(0, Area { base: 0, global: A * W, element: 1, stride: 8, count: 8 });
    let id = h.load(&[0, 1, 2, 3, 4, 5]);
    let tags = [0, 1, 2, 3].map(|line| h.asked(ReqOp::ReqV, A + line, 1));
    h.silent(&["l1_req"]);
    assert_eq!(h.b.get("stall"), StallCause::MshrFull as u64);
    h.give(RspOp::RspV, A + 1, (1, 0), tags[1], value);
    assert_eq!(h.part().0, id);
    h.asked(ReqOp::ReqV, A + 4, 1);
}

/// A store is pending until its ownership has come; loads and stores of pending words are done at once.
#[test]
fn a_store_is_pending_until_it_is_owned() {
    let mut h = dense(&small());
    h.store(&[1, 2], value);
    let tag = h.asked(ReqOp::ReqO, A, 0b110);
    let id = h.load(&[1]);
    assert_eq!(h.answered(id, &[1]), [value(1)]);
    h.store(&[2], |_| 9);
    let id = h.load(&[2]);
    assert_eq!(h.answered(id, &[2]), [9]);
    h.silent(&["l1_req"]);
    assert_eq!(h.owned(A), [], "not before the LLC says so");
    h.give(RspOp::RspO, A, (0b010, 0), tag, |_| 0);
    assert_eq!(h.owned(A), []);
    h.give(RspOp::RspO, A, (0b100, 0), tag, |_| 0);
    h.b.run(10);
    assert_eq!(h.owned(A), [(1, value(1)), (2, 9)]);
    h.store(&[1], |_| 4);
    h.silent(&["l1_req"]);
    assert_eq!(h.owned(A), [(1, 4), (2, 9)]);
}

/// A word is taken away before its ownership has come, and stored again: the second store asks again, behind the first, and is not lost with it.
#[test]
fn a_word_is_stored_again_after_its_removal() {
    for (inject, fine) in [(Inject::None, true), (Inject::KeepsOwnership, false)] {
        let run = || {
            let mut h = dense(&with(inject));
            h.store(&[1, 2], value);
            let first = h.asked(ReqOp::ReqO, A, 0b110);
            h.forward(FwdOp::ReqOData, A, (0b010, 0), (false, false, false));
            assert_eq!(h.answers()[0].data, [value(1)]);
            // It may not be read before its ownership has come and gone.
            let id = h.load(&[1]);
            h.silent(&["l1_req", "cu_rsp"]);
            h.give(RspOp::RspO, A, (0b110, 0), first, |_| 0);
            let tag = h.asked(ReqOp::ReqV, A, 0b1111_1011);
            h.give(RspOp::RspV, A, (0b1111_1011, 0), tag, |_| 77);
            assert_eq!(h.answered(id, &[1]), [77]);
            assert_eq!(h.owned(A), [(2, value(2))]);
            // The same again, with a store between.
            h.store(&[10, 11], value);
            let first = h.asked(ReqOp::ReqO, A + 1, 0b1100);
            h.forward(FwdOp::ReqO, A + 1, (0b100, 0), (false, false, false));
            assert_eq!(h.answers().len(), 1);
            h.store(&[10], |_| 5);
            let id = h.load(&[10]);
            assert_eq!(h.answered(id, &[10]), [5]);
            h.forward(FwdOp::ReqV, A + 1, (0b100, 0), (false, false, false));
            assert_eq!(h.answers()[0].op, RspOp::NackV as u64, "not asked for yet");
            h.give(RspOp::RspO, A + 1, (0b1100, 0), first, |_| 0);
            let second = h.asked(ReqOp::ReqO, A + 1, 0b100);
            assert_eq!(h.owned(A + 1), [(3, value(11))]);
            h.give(RspOp::RspO, A + 1, (0b100, 0), second, |_| 0);
            h.b.run(10);
            assert_eq!(h.owned(A + 1), [(2, 5), (3, value(11))]);
            assert_eq!(h.b.counted("spandex.race.stash_stored_again"), 1);
        };
        assert_eq!(std::panic::catch_unwind(run).is_ok(), fine, "{inject:?}");
    }
}

/// A read is under way when an acquire comes: it answers the load before, keeps nothing, and the load after it asks again.
#[test]
fn a_stale_read_is_not_kept() {
    for inject in [Inject::None, Inject::NoStale] {
        let mut h = dense(&with(inject));
        let before = h.load(&[0]);
        let old = h.asked(ReqOp::ReqV, A, 0xff);
        let id = h.order(CuOp::Acq);
        h.acked(id);
        let after = h.load(&[0]);
        if inject == Inject::NoStale {
            h.silent(&["l1_req"]);
            continue;
        }
        let new = h.asked(ReqOp::ReqV, A, 0xff);
        h.give(RspOp::RspV, A, (0xff, 0), new, |_| 8);
        assert_eq!(h.answered(after, &[0]), [8]);
        h.give(RspOp::RspV, A, (0xff, 0), old, |_| 7);
        assert_eq!(h.answered(before, &[0]), [7]);
        let id = h.load(&[0]);
        assert_eq!(h.answered(id, &[0]), [8]);
        assert_eq!(h.b.counted("spandex.stash.done.stale"), 1);
    }
}

/// A word is stored here and lost while its line is read: what the read brings is older.
#[test]
fn a_read_brings_nothing_older_than_what_was_stored_here() {
    for (inject, asks) in [(Inject::None, true), (Inject::FillOverStore, false)] {
        let mut h = dense(&StashParams { sb_drain: SbDrain::Full, ..with(inject) });
        let before = h.load(&[0]);
        let old = h.asked(ReqOp::ReqV, A, 0xff);
        h.store(&[3], |_| 5);
        let release = h.order(CuOp::Rel);
        // No second request for a word that may give ownership.
        h.silent(&["l1_req", "cu_rsp"]);
        assert!(h.b.counted("spandex.stash.drain.busy") > 0);
        h.give(RspOp::RspV, A, (0xfe, 0), old, |_| 7);
        let tag = h.asked(ReqOp::ReqO, A, 0b1000);
        h.give(RspOp::RspO, A, (0b1000, 0), tag, |_| 0);
        h.acked(release);
        h.forward(FwdOp::RvkO, A, (0, 0b1000), (false, false, false));
        assert_eq!(h.answers()[0].data, [5]);
        h.give(RspOp::RspV, A, (1, 0), old, |_| 7);
        assert_eq!(h.answered(before, &[0]), [7]);
        let id = h.load(&[3]);
        if asks {
            let (_, m) = h.b.wait("l1_req");
            h.give(RspOp::RspV, A, (m.get("mask"), 0), m.get("tag"), |_| 6);
            assert_eq!(h.answered(id, &[3]), [6]);
        } else {
            assert_eq!(h.answered(id, &[3]), [7], "the fault shows");
        }
    }
}

/// A word that is being written back is not asked for before RspWB and a forward that crosses it have come, in any order.
#[test]
fn a_write_back_closes_before_its_words_are_asked_for() {
    for inject in [Inject::None, Inject::NoCross, Inject::NoWait] {
        let run = || {
            let mut h = Hand::new(&with(inject));
            for (crossing, early) in [(false, false), (true, false), (true, true)] {
                h.reset();
                h.map(0, Area::dense(0, A * W, 2));
                h.own(&[0, 1], A, 0b11, value);
                h.map(0, Area::dense(0, (A + 1) * W, 2));
                let (wb, _) = h.written_back(A, 0b11);
                h.map(1, Area::dense(8, A * W, 2));
                let id = h.load(&[8]);
                h.silent(&["l1_req"]);
                if crossing && early {
                    h.forward(FwdOp::RvkO, A, (0, 1), (false, false, false));
                    assert_eq!(h.answers().len(), 1);
                }
                h.silent(&["l1_req"]);
                h.give(RspOp::RspWb, A, (0, u64::from(crossing)), wb, |_| 0);
                if crossing && !early {
                    h.silent(&["l1_req"]);
                    h.forward(FwdOp::RvkO, A, (0, 1), (false, false, false));
                    assert_eq!(h.answers().len(), 1);
                }
                let tag = h.asked(ReqOp::ReqV, A, 0b11);
                h.give(RspOp::RspV, A, (0b11, 0), tag, value);
                assert_eq!(h.answered(id, &[8]), [value(0)]);
                // The same for a store.
                h.own(&[8, 9], A, 0b11, value);
                h.map(1, Area::dense(8, (A + 1) * W, 2));
                let (wb, _) = h.written_back(A, 0b11);
                h.map(1, Area::dense(8, A * W, 2));
                h.store(&[9], value);
                h.silent(&["l1_req"]);
                h.give(RspOp::RspWb, A, (0, 0), wb, |_| 0);
                h.asked(ReqOp::ReqO, A, 0b10);
            }
        };
        assert_eq!(std::panic::catch_unwind(run).is_ok(), inject == Inject::None, "{inject:?}");
    }
}

/// Releases, and stores that want it, are acknowledged when everything before is owned; the store buffer may be full, or hold another mapping's words of the line.
#[test]
fn a_release_waits_for_ownership() {
    for drain in [SbDrain::Full, SbDrain::Highwater, SbDrain::Eager] {
        let mut h = Hand::new(&StashParams { sb_drain: drain, ..small() });
        h.map(0, Area { base: 0, global: A * W, element: 1, stride: 8, count: 16 });
        h.map(1, Area { base: 16, global: A * W + 1, element: 1, stride: 8, count: 16 });
        h.store(&[0], value);
        h.store(&[16], value);
        // The other mapping has the line's entry: it must leave first.
        let first = h.asked(ReqOp::ReqO, A, 1);
        h.silent(&["l1_req"]);
        h.give(RspOp::RspO, A, (1, 0), first, |_| 0);
        let id = h.order(CuOp::Rel);
        let second = h.asked(ReqOp::ReqO, A, 2);
        h.silent(&["cu_rsp"]);
        assert_eq!(h.b.get("busy_release"), 1);
        h.give(RspOp::RspO, A, (2, 0), second, |_| 0);
        h.acked(id);
        assert_eq!(h.b.get("busy_release"), 0);
        for word in 1..=4 {
            h.cu(CuOp::St, &[(word, value(word))], false);
        }
        let wants = h.cu(CuOp::St, &[(5, value(5))], true);
        h.b.run(40);
        let mut tags = Vec::new();
        while let Some((_, m)) = h.b.received("l1_req") {
            tags.push((m.get("line"), m.get("tag")));
        }
        assert!(!tags.is_empty() && h.b.get("stall") == StallCause::SbFull as u64, "{drain:?}: {tags:?}");
        h.b.run(10);
        assert!(h.b.received("cu_rsp").is_none());
        let mut owned = 0;
        while owned < 5 {
            let (line, tag) = tags.pop().unwrap_or_else(|| {
                let (_, m) = h.b.wait("l1_req");
                (m.get("line"), m.get("tag"))
            });
            h.give(RspOp::RspO, line, (1, 0), tag, |_| 0);
            owned += 1;
        }
        h.acked(wants);
        // An acquire drops copies, and nothing that is owned or pending.
        h.store(&[6], value);
        let id = h.load(&[7]);
        let (_, m) = loop {
            let got = h.b.wait("l1_req");
            if got.1.get("op") == ReqOp::ReqV as u64 {
                break got;
            }
        };
        h.give(RspOp::RspV, A + 7, (1, 0), m.get("tag"), value);
        assert_eq!(h.answered(id, &[7]), [value(0)]);
        let id = h.order(CuOp::Acq);
        h.acked(id);
        let id = h.load(&[5, 6]);
        assert_eq!(h.answered(id, &[5, 6]), [value(5), value(6)]);
        h.load(&[7]);
        h.asked(ReqOp::ReqV, A + 7, 1);
    }
}

/// From the cycle in which a load is taken to its answer one cycle in S1, and the latency; then one in each cycle.
#[test]
fn hits_take_a_cycle() {
    let mut h = dense(&small());
    h.own(&[0, 3], A, 0b1001, value);
    h.own(&[9], A + 1, 0b10, value);
    h.b.run(20);
    let mut all = Vec::new();
    for _ in 0..4 {
        all.extend([h.load(&[0, 9]), h.load(&[9, 0, 3].map(|w| w)), h.store(&[3, 9], value)]);
    }
    let mut taken = None;
    while taken.is_none() {
        h.b.step();
        taken = h.b.taken("cu_req").map(|_| h.b.sim.cycle());
    }
    let (at, _) = h.b.wait("cu_rsp");
    let taken = taken.expect("taken");
    assert_eq!(at - taken, 1);
    let mut last = at;
    (0..7).for_each(|_| last = h.b.wait("cu_rsp").0);
    assert_eq!(last - at, 10, "twelve operations in twelve cycles");
}

/// Without work nothing changes, nor while everything waits: the engine skips the block.
#[test]
fn a_stash_in_which_nothing_can_happen_sleeps() {
    let mut h = dense(&small());
    let sleeps = |h: &mut Hand| {
        h.b.run(40);
        // Noise on idle channels wakes nobody up.
        h.b.falls_asleep(60);
    };
    sleeps(&mut h);
    h.load(&[0]);
    h.store(&[8], value);
    h.order(CuOp::Rel);
    h.b.run(40);
    h.maps(0, Area::dense(0, (A + 9) * W, 8));
    sleeps(&mut h);
    assert_eq!([h.b.get("busy_map"), h.b.get("busy_release")], [1, 1]);
}
