//! The races of srsp.md section 7 that one L1 sees, each forced by what the bench holds back: the order that makes it, and the required outcome.
//! `golden_races.rs` has the same list on the golden model, `srsp_fabric/races.rs` runs them through whole GPUs at every distance in time.

use crate::l1_bench::ask::{ACQ, Ask, REL, RLX};
use crate::l1_bench::banks::LINE;
use crate::l1_bench::{mask, word_in};
use crate::srsp_l1::directed::{L, Y, acquire, at_l2, flushed, owner_releases, promotes, quiet, release};
use crate::srsp_l1::world::{OTHER, World, sync};
use std::collections::BTreeSet;
use weft_srsp::msg::{ProbeOp, SyncOp};
use weft_srsp::params::Impl;

/// Another variable in the line of L.
const M: u64 = L + 8;
/// A variable in a line of its own.
const Z: u64 = 0x7000;

/// The answer to the CU that has come, if one has: (its number, the word at `addr`).
fn answer(w: &mut World, addr: u64) -> Option<(u64, u64)> {
    let (_, m) = w.b.received("cu_rsp")?;
    Some((m.get("id"), word_in(&m, addr, 4)))
}

fn seen(w: &World, what: &str, addr: u64) -> usize {
    w.banks.seen.iter().filter(|s| **s == format!("{what} {}", addr / LINE)).count()
}

/// The L2 has served a message of this kind; runs until then.
fn served(w: &mut World, what: &str, addr: u64) {
    let before = seen(w, what, addr);
    let done = (0..2_000).any(|_| {
        w.quiet_cycle();
        seen(w, what, addr) > before
    });
    assert!(done, "no {what} of {addr:#x} is served");
}

/// Two remote operations on one variable: the second waits for its GRANT with its gate open and serves the probes of the first.
#[test]
fn two_remote_operations_on_one_variable() {
    let mut w = quiet(Impl::Srsp);
    w.alone(Ask::Store(Y, 3, true));
    w.alone(release(0, false));
    w.locked.insert(L / LINE, OTHER);
    let own = w.ask(acquire(1, true));
    w.rest(200);
    assert_eq!((seen(&w, "LOCK", L), w.b.counted("srsp_l1_gate_own")), (0, 0));
    assert_eq!(w.alone(Ask::Load(Y)).0, 3, "the CU works on: the gate is open");
    w.probe(ProbeOp::SelFlush, L);
    assert!(w.acknowledged(), "the release here is found");
    assert_eq!(w.banks.word(Y, 4), 3);
    at_l2(&mut w, 1);
    w.rest(200);
    assert_eq!(answer(&mut w, L), Some((own, 1)), "first the other's, then ours, which fails");
    assert_eq!(w.locked.len(), 0);
}

/// The owner's acquires and releases after its PACK need the line again, which waits at the L2 until the remote operation is done.
#[test]
fn the_owner_after_its_pack_waits_for_the_unlock() {
    for (ask, expected) in [(acquire(0, false), Some(1)), (release(0, false), None)] {
        let mut w = quiet(Impl::Srsp);
        owner_releases(&mut w);
        assert!(flushed(&mut w));
        let id = w.ask(ask);
        w.rest(500);
        assert_eq!(answer(&mut w, L), None, "{ask:?} is not answered before the unlock");
        assert_eq!(seen(&w, "RD", L), 1, "nor is the line given out");
        at_l2(&mut w, 1);
        w.rest(200);
        let (got, word) = answer(&mut w, L).expect("answered after the unlock");
        assert_eq!(got, id);
        expected.iter().for_each(|e| assert_eq!(word, *e, "it sees the remote acquire"));
    }
}

/// A fill on its way when the line is probed brings an old value: it is fetched again.
#[test]
fn a_fill_on_its_way_is_fetched_again() {
    let mut w = quiet(Impl::Srsp);
    w.banks.slow = 300;
    let id = w.ask(acquire(0, false));
    served(&mut w, "RD", L);
    w.locked.insert(L / LINE, OTHER);
    w.probe(ProbeOp::SelFlush, L);
    assert!(!w.acknowledged());
    assert_eq!(w.b.counted("srsp_l1_fill_target"), 0);
    at_l2(&mut w, 1);
    w.rest(8_000);
    assert_eq!(answer(&mut w, L), Some((id, 1)), "not the 0 of the first fill");
    assert_eq!(seen(&w, "RD", L), 2);
    assert!(w.b.counted("srsp_l1_replays") > 0);
}

#[test]
fn plain_stores_of_the_owner_after_its_pack_stay() {
    let mut w = quiet(Impl::Srsp);
    owner_releases(&mut w);
    assert!(flushed(&mut w));
    w.alone(Ask::Store(Y, 4, true));
    w.rest(300);
    assert_eq!(w.banks.word(Y, 4), 3, "later than the promoted release");
    at_l2(&mut w, 1);
    w.rest(300);
    assert_eq!((w.banks.word(Y, 4), w.alone(Ask::Load(Y)).0), (3, 4));
}

/// The LR entry has gone with its place in the sFIFO while its write-backs are still under way: the PACK of the miss waits for them.
#[test]
fn a_release_that_was_drained_is_fenced() {
    let mut w = quiet(Impl::Srsp);
    owner_releases(&mut w);
    w.banks.slow = 400;
    (0..4).for_each(|i| {
        w.ask(Ask::Store(0x6000 + LINE * i, 7, false));
    });
    let gone = (0..400).any(|_| {
        w.quiet_cycle();
        w.b.counted("srsp_l1_lr_popped") == 1
    });
    assert!(gone && w.banks.word(Y, 4) == 0, "Y is still under way");
    assert!(!flushed(&mut w), "the LR entry has gone");
    assert_eq!((w.banks.word(L, 4), w.banks.word(Y, 4)), (0, 3));
}

/// A promoted acquire has been performed at the L2; SEL_INV of a later remote release comes before its answer, so before its flash invalidation: the entry is emptied with
/// the rest, rightly, since what that release publishes is at the L2 already.
#[test]
fn a_later_release_during_a_promoted_acquire() {
    let mut w = quiet(Impl::Srsp);
    w.banks.put(Y, 4, 3);
    promotes(&mut w);
    at_l2(&mut w, 0);
    w.banks.slow = 200;
    let id = w.ask(acquire(0, false));
    served(&mut w, "ATM", L);
    w.banks.put(Y, 4, 4);
    promotes(&mut w);
    assert_eq!(w.b.counted("srsp_l1_flash_own"), 0, "the promoted acquire still waits for its answer");
    assert_eq!(answer(&mut w, L), None);
    at_l2(&mut w, 2);
    w.rest(400);
    assert_eq!(answer(&mut w, L), Some((id, 0)));
    assert_eq!(
        (
            w.b.counted("srsp_l1_pa_insert") + w.b.counted("srsp_l1_pa_duplicate"),
            w.b.counted("srsp_l1_flash_own")
        ),
        (2, 1)
    );
    w.banks.slow = 3;
    w.banks.seen.clear();
    assert_eq!(w.alone(sync(SyncOp::Ld, L, 0, 0, ACQ, 0, false)).0, 2);
    assert_eq!(w.banks.seen, [format!("RD {}", L / LINE)], "the second promotion is spent as well");
    assert_eq!(w.alone(Ask::Load(Y)).0, 4);
}

/// The owner invalidates, PA-TBL included, between SEL_INV and the remote store: data is fresh, and the variable itself still waits for the lock.
#[test]
fn the_owner_invalidates_between_sel_inv_and_the_store() {
    let mut w = quiet(Impl::Srsp);
    assert_eq!(w.alone(Ask::Load(Y)).0, 0, "an old copy");
    w.banks.put(Y, 4, 3);
    promotes(&mut w);
    w.alone(sync(SyncOp::Ld, Z, 0, 0, ACQ, 1, false));
    assert_eq!(w.b.counted("srsp_l1_flash_own"), 1);
    assert_eq!(w.alone(Ask::Load(Y)).0, 3);
    let id = w.ask(sync(SyncOp::Ld, L, 0, 0, ACQ, 0, false));
    w.rest(400);
    assert_eq!(answer(&mut w, L), None);
    at_l2(&mut w, 1);
    w.rest(100);
    assert_eq!(answer(&mut w, L), Some((id, 1)));
    assert_eq!(w.b.counted("srsp_l1_pa_hit"), 0, "the entry had gone; it was not needed");
}

/// SEL_INV finds the line dirty: its bytes are at the L2 before the PACK, so before the remote store.
#[test]
fn a_remote_release_over_a_dirty_copy_of_the_owner() {
    for slow in [3, 300] {
        let mut w = quiet(Impl::Srsp);
        assert_eq!(w.alone(sync(SyncOp::Exch, L, 5, 0, ACQ, 0, false)).0, 0);
        w.banks.slow = slow;
        promotes(&mut w);
        assert_eq!(w.banks.log, [(L / LINE, mask(L))], "written back once");
        assert_eq!(w.banks.word(L, 4), 5, "before the PACK");
        at_l2(&mut w, 6);
        w.rest(2 * slow);
        assert_eq!(w.banks.word(L, 4), 6, "nothing comes after the remote store");
    }
}

/// SEL_FLUSH of L drops a line that holds another released variable: the line's write-back publishes that one early, its LR entry stays and finds its data later.
#[test]
fn another_released_variable_in_the_line() {
    let mut w = quiet(Impl::Srsp);
    w.alone(Ask::Store(Y, 3, true));
    w.alone(sync(SyncOp::St, M, 1, 0, REL, 0, false));
    assert!(!flushed(&mut w));
    assert_eq!((w.banks.word(M, 4), w.banks.word(Y, 4)), (1, 0));
    at_l2(&mut w, 1);
    w.locked.insert(L / LINE, OTHER);
    w.probe(ProbeOp::SelFlush, M);
    assert!(w.acknowledged(), "the entry of M is still there");
    assert_eq!(w.banks.word(Y, 4), 3);
}

/// sRSPOpt does the remote acquire here, since the release is its own; at the remote release the entry has gone, and it goes to the L2 after everything before it.
#[test]
fn a_local_conversion_that_becomes_global() {
    let mut w = quiet(Impl::SrspOpt);
    owner_releases(&mut w);
    assert_eq!(w.alone(acquire(1, true)).0, 0);
    assert_eq!((w.b.counted("srsp_l1_converted"), w.banks.seen.len(), w.banks.word(L, 4)), (1, 1, 0));
    w.alone(Ask::Store(Y, 4, true));
    (0..4).for_each(|i| {
        w.alone(Ask::Store(0x6000 + LINE * i, 7, true));
    });
    assert_eq!(w.b.counted("srsp_l1_lr_popped"), 1);
    w.alone(release(1, true));
    assert_eq!((w.b.counted("srsp_l1_converted"), seen(&w, "OP", L)), (1, 1));
    assert_eq!((w.banks.word(L, 4), w.banks.word(Y, 4)), (0, 4));
    let at =
        |what: &str, addr: u64| w.banks.seen.iter().rposition(|s| *s == format!("{what} {}", addr / LINE));
    assert!(at("WB", Y) < at("OP", L) && at("WB", L) < at("OP", L), "everything older is there first");
    assert_eq!(w.casts.iter().map(|c| c.0).collect::<Vec<_>>(), [ProbeOp::SelInv as u64]);
}

/// A fill of the line waits at the L2 behind the lock that this L1 has taken itself: the remote operation does not wait for it.
#[test]
fn an_own_fill_behind_the_own_lock() {
    let mut w = quiet(Impl::Srsp);
    w.locked.insert(L / LINE, OTHER);
    let load = w.ask(Ask::Load(L));
    w.rest(20);
    let remote = w.ask(acquire(1, true));
    w.rest(200);
    w.banks.turn_round();
    w.locked.clear();
    w.rest(400);
    let order = ["LOCK", "OP", "RD"].map(|what| format!("{what} {}", L / LINE));
    assert_eq!(w.banks.seen, order, "the lock is granted before the fill");
    let got: BTreeSet<_> = [answer(&mut w, L), answer(&mut w, L)].into();
    assert_eq!(got, [Some((remote, 0)), Some((load, 1))].into());
}

#[test]
fn a_release_that_left_the_sfifo_is_flushed_all_the_same() {
    let mut w = quiet(Impl::Srsp);
    owner_releases(&mut w);
    (0..4).for_each(|i| {
        w.alone(Ask::Store(0x6000 + LINE * i, 7, true));
    });
    assert_eq!(w.b.counted("srsp_l1_lr_popped"), 1);
    assert!(!flushed(&mut w), "the LR entry has gone with its place");
    assert_eq!((w.banks.word(L, 4), w.banks.word(Y, 4)), (0, 3));
    assert_eq!(w.b.counted("srsp.race.lr_overflow"), 1);
}

/// Two L1s whose remote operations need each other: probes are served while the own gate is closed.
#[test]
fn a_probe_is_served_while_the_own_remote_operation_waits() {
    for (system, op) in [
        (Impl::Srsp, ProbeOp::SelFlush),
        (Impl::Brsp, ProbeOp::FlushAll),
        // The token orders remote operations; the probe stands for one that is ending.
        (Impl::BrspToken, ProbeOp::InvUnlock),
    ] {
        let mut w = quiet(system);
        w.alone(Ask::Store(Y, 3, true));
        w.alone(sync(SyncOp::St, 0x7000, 1, 0, REL, 0, false));
        w.holds_packs = true;
        let id = w.ask(acquire(1, true));
        w.rest(60);
        let load = w.ask(Ask::Load(Y));
        w.rest(60);
        assert!(w.b.received("cu_rsp").is_none(), "the gate is closed: {Y:#x} is here and not read");
        w.probe(op, 0x7000);
        w.acknowledged();
        assert_eq!(w.banks.word(Y, 4), 3);
        w.holds_packs = false;
        w.rest(200);
        let got: BTreeSet<u64> =
            std::iter::from_fn(|| w.b.received("cu_rsp")).map(|(_, m)| m.get("id")).collect();
        assert_eq!(got, [id, load].into());
    }
}

/// An acquire misses, its line is probed by SEL_INV before the fill comes: it looks the PA-TBL up again and goes to the L2.
#[test]
fn an_acquire_that_waits_for_its_fill_is_promoted() {
    let mut w = quiet(Impl::Srsp);
    w.banks.slow = 200;
    w.ask(acquire(0, false));
    w.rest(4);
    w.probe(ProbeOp::SelInv, L);
    w.rest(2_000);
    w.acknowledged();
    assert_eq!(w.banks.seen, ["RD", "ATM"].map(|what| format!("{what} {}", L / LINE)));
    assert_eq!(w.b.counted("srsp.race.replay_promoted"), 1);
}

/// As before, behind an atomic on the same line that is not promoted: its replay fetches the line again, and the acquire looks up once more at that fill.
#[test]
fn an_acquire_behind_a_replay_that_misses_is_promoted() {
    for first in [RLX, REL] {
        let mut w = quiet(Impl::Srsp);
        w.banks.slow = 200;
        w.ask(sync(SyncOp::Add, L + 8, 1, 0, first, 0, false));
        w.ask(acquire(0, false));
        w.rest(8);
        w.probe(ProbeOp::SelInv, L);
        w.rest(4_000);
        w.acknowledged();
        let line = L / LINE;
        let expected = [("RD", line), ("RD", line), ("WB", line), ("ATM", line)];
        assert_eq!(w.banks.seen, expected.map(|(what, line)| format!("{what} {line}")));
        assert_eq!(w.b.counted("srsp.l1.fill.stays_promoted"), 1);
        assert_eq!((w.banks.word(L, 4), w.banks.word(L + 8, 4)), (1, 1));
    }
}
