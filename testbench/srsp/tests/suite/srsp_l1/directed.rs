//! The golden scenario of srsp.md section 8, seen from the owner and from the remote modifier, with its variants; races that one L1 sees; latencies.

use crate::l1_bench::ask::{ACQ, AR, Ask, REL, RLX};
use crate::l1_bench::banks::{LINE, OWN};
use crate::l1_bench::{mask, word_in};
use crate::srsp_l1::world::{OTHER, OWNER, THERE, World, small, sync};
use weft_srsp::Shape;
use weft_srsp::l1::{Closes, L1Params};
use weft_srsp::msg::{ProbeOp, SyncOp};
use weft_srsp::params::Impl;

pub const L: u64 = 0x4000;
pub const Y: u64 = 0x5048;

pub fn quiet(system: Impl) -> World {
    let p = small(system).sized(|s| Shape { size: 2048, ways: 4, sfifo: 4, ..s });
    let mut w = World::new(&p, 1);
    w.banks.slow = 3;
    w.rest(40);
    w
}

pub fn acquire(scope: u64, remote: bool) -> Ask {
    sync(SyncOp::Cas, L, 1, 0, ACQ, scope, remote)
}

pub fn release(scope: u64, remote: bool) -> Ask {
    sync(SyncOp::St, L, 0, 0, REL, scope, remote)
}

/// Steps 1 to 3: the owner takes the lock, writes Y, releases.
pub fn owner_releases(w: &mut World) {
    assert_eq!(w.alone(acquire(0, false)).0, 0);
    w.ask(Ask::Store(Y, 3, false));
    w.alone(release(0, false));
    assert_eq!(w.banks.log, [], "nothing leaves the L1");
    assert_eq!(w.b.counted("srsp_l1_lr_insert"), 1);
}

/// Step 4 up to the PACK: CU 3 locks the line and flushes the owner selectively.
pub fn flushed(w: &mut World) -> bool {
    w.locked.insert(L / LINE, OTHER);
    w.probe(ProbeOp::SelFlush, L);
    w.acknowledged()
}

/// Step 6 up to the PACK.
pub fn promotes(w: &mut World) {
    w.locked.insert(L / LINE, OTHER);
    w.probe(ProbeOp::SelInv, L);
    w.acknowledged();
}

pub fn at_l2(w: &mut World, value: u64) {
    w.banks.put(L, 4, value);
    w.locked.remove(&(L / LINE));
}

#[test]
fn the_golden_scenario_seen_by_the_owner() {
    for system in [Impl::Srsp, Impl::SrspOpt] {
        let mut w = quiet(system);
        owner_releases(&mut w);
        assert!(flushed(&mut w), "the release is found");
        assert_eq!(w.banks.log, [(L / LINE, mask(L)), (Y / LINE, mask(Y))], "4b: L; 4c: Y, once each");
        assert_eq!((w.banks.word(L, 4), w.banks.word(Y, 4)), (0, 3));
        at_l2(&mut w, 1);
        w.banks.put(Y, 4, 5);
        promotes(&mut w);
        at_l2(&mut w, 0);
        w.banks.seen.clear();
        assert_eq!(w.alone(acquire(0, false)).0, 0);
        assert_eq!(w.banks.seen, [format!("ATM {}", L / LINE)], "7: the acquire goes to the L2");
        assert_eq!(w.banks.word(L, 4), 1);
        assert_eq!(w.alone(Ask::Load(Y)).0, 5);
        let counts = ["srsp_l1_pa_hit", "srsp_l1_flash_own", "srsp_l1_lr_hit", "srsp_l1_pa_insert"];
        assert_eq!(counts.map(|name| w.b.counted(name)), [1, 1, 1, 1]);
        // The promotion is spent: the next acquire is a local one.
        w.banks.seen.clear();
        assert_eq!(w.alone(acquire(0, false)).0, 1);
        assert_eq!(w.banks.seen, [format!("RD {}", L / LINE)]);
    }
}

#[test]
fn an_acquire_between_flush_and_promotion_fails_in_the_l1() {
    let mut w = quiet(Impl::Srsp);
    owner_releases(&mut w);
    flushed(&mut w);
    at_l2(&mut w, 1);
    assert_eq!(w.alone(acquire(0, false)).0, 1);
    w.banks.seen.clear();
    assert_eq!(w.alone(acquire(0, false)).0, 1);
    assert_eq!(w.banks.seen, [] as [&str; 0], "the copy stays until it is promoted");
    assert_eq!(w.b.counted("srsp_l1_lr_insert"), 1, "a compare-and-swap that fails releases nothing");
    promotes(&mut w);
    at_l2(&mut w, 0);
    assert_eq!(w.alone(acquire(0, false)).0, 0);
    assert_eq!(w.banks.seen, [format!("ATM {}", L / LINE)]);
}

#[test]
fn without_a_release_the_flush_misses_and_the_line_is_written_back() {
    let mut w = quiet(Impl::Srsp);
    assert_eq!(w.alone(acquire(0, false)).0, 0);
    assert!(!flushed(&mut w));
    assert_eq!(w.banks.log, [(L / LINE, mask(L))]);
    assert_eq!(w.banks.word(L, 4), 1, "the remote compare-and-swap fails");
}

#[test]
fn the_next_acquire_is_local_when_nobody_was_interested() {
    let mut w = quiet(Impl::Srsp);
    owner_releases(&mut w);
    w.banks.seen.clear();
    assert_eq!(w.alone(acquire(0, false)).0, 0);
    assert_eq!(w.banks.seen, [] as [&str; 0]);
    assert_eq!(w.b.counted("srsp_l1_pa_miss"), 2);
}

#[test]
fn the_golden_scenario_seen_by_the_remote_modifier() {
    let mut w = quiet(Impl::Srsp);
    w.banks.put(Y, 4, 3);
    let others = 0b1111 & !(1 << OWN);
    assert_eq!(w.alone(acquire(1, true)).0, 0);
    assert_eq!(w.casts, [(ProbeOp::SelFlush as u64, L, others)]);
    assert_eq!(w.alone(Ask::Load(Y)).0, 3);
    w.ask(Ask::Store(Y, 5, false));
    w.alone(release(1, true));
    assert_eq!(w.casts[1..], [(ProbeOp::SelInv as u64, L, others)]);
    let (l, y) = (L / LINE, Y / LINE);
    let expected = [("LOCK", l), ("OP", l), ("RD", y), ("WB", y), ("LOCK", l), ("OP", l)];
    assert_eq!(w.banks.seen, expected.map(|(what, line)| format!("{what} {line}")));
    assert_eq!((w.banks.word(L, 4), w.banks.word(Y, 4)), (0, 5));
    assert_eq!(w.alone(Ask::Load(Y)).0, 5, "Y is still here, clean");
    assert_eq!(w.banks.seen.len(), 6);
    assert!(w.locked.is_empty());
}

#[test]
fn a_remote_exchange_keeps_its_lock_only_if_it_writes() {
    let mut w = quiet(Impl::Srsp);
    let exchange = |cmp| sync(SyncOp::Cas, L, 9, cmp, AR, 1, true);
    w.alone(exchange(0));
    let expected = ["LOCK", "OP", "UNLOCK"].map(|what| format!("{what} {}", L / LINE));
    assert_eq!(w.banks.seen, expected);
    assert_eq!(w.casts.iter().map(|c| c.0).collect::<Vec<_>>(), [0, 1], "SEL_FLUSH, SEL_INV");
    w.banks.seen.clear();
    assert_eq!(w.alone(exchange(0)).0, 9);
    assert_eq!(w.banks.seen, expected[..2]);
    assert_eq!(w.casts.len(), 3, "without SEL_INV");
    assert!(w.locked.is_empty());
}

#[test]
fn brsp_tells_everybody() {
    for (system, first) in [
        (Impl::Brsp, [ProbeOp::FlushAll, ProbeOp::InvAll]),
        (Impl::BrspToken, [ProbeOp::LockFlush, ProbeOp::InvUnlock]),
    ] {
        let mut w = quiet(system);
        w.alone(acquire(1, true));
        w.alone(release(1, true));
        let others = 0b1111 & !(1 << OWN);
        let expected = [first[0], first[1], ProbeOp::InvAll].map(|op| (op as u64, L, others));
        assert_eq!(w.casts, expected);
        assert_eq!(w.token, None);
        assert!(w.locked.is_empty());
        // A compare-and-swap that fails: without a token nothing is left to be unlocked in the L1s.
        w.banks.put(L, 4, 9);
        w.casts.clear();
        assert_eq!(w.alone(acquire(1, true)).0, 9);
        let casts = if system == Impl::Brsp { &expected[..1] } else { &expected[..2] };
        assert_eq!(w.casts, casts, "{system:?}");
        assert!(w.locked.is_empty());
    }
}

/// Without a token nothing is locked here: after FLUSH_ALL only what asks the L2 for the line waits, for its
/// lock.
#[test]
fn a_flush_of_all_stops_nothing_but_its_line() {
    let p = small(Impl::Brsp).sized(|s| Shape { size: 2048, ways: 4, sfifo: 4, ..s });
    let mut w = World::new(&p, 1);
    w.rest(40);
    w.alone(acquire(0, false));
    w.alone(Ask::Store(Y, 3, true));
    w.locked.insert(L / LINE, OTHER);
    w.probe(ProbeOp::FlushAll, L);
    w.acknowledged();
    assert_eq!((w.banks.word(L, 4), w.banks.word(Y, 4)), (1, 3), "what was dirty is in the L2");
    assert_eq!(w.alone(Ask::Load(Y)).0, 3);
    w.alone(Ask::Store(Y, 4, true));
    let elsewhere = sync(SyncOp::Cas, L + 0x100, 1, 0, ACQ, 0, false);
    assert_eq!(w.alone(elsewhere).0, 0, "another variable");
    w.ask(acquire(0, false));
    w.rest(300);
    assert!(w.b.received("cu_rsp").is_none(), "the variable");
    w.banks.put(L, 4, 5);
    w.locked.clear();
    w.rest(300);
    let (_, answer) = w.b.received("cu_rsp").expect("answered");
    assert_eq!(word_in(&answer, L, 4), 5, "as the L2 has it");
}

/// Whatever a broadcast's lock stops, nobody here takes its variable; a smaller one lets other accesses pass, and what
/// these leave dirty is flushed before the lines are dropped.
#[test]
fn a_broadcast_stops_what_its_lock_says() {
    for (closes, loads, stores, other_lock) in
        [(Closes::All, 0, 0, 0), (Closes::Sync, 1, 1, 0), (Closes::Line, 1, 1, 1)]
    {
        let p = L1Params { closes, ..small(Impl::BrspToken) }.sized(|s| Shape {
            size: 2048,
            ways: 4,
            sfifo: 4,
            ..s
        });
        let passes = |ask: Ask| {
            let mut w = World::new(&p, 1);
            w.banks.slow = 3;
            w.rest(40);
            w.probe(ProbeOp::LockFlush, L);
            assert!(!w.acknowledged());
            w.ask(ask);
            w.rest(200);
            let within = w.b.received("cu_rsp").is_some();
            w.probe(ProbeOp::InvUnlock, L);
            w.acknowledged();
            w.rest(200);
            assert!(within || w.b.received("cu_rsp").is_some(), "{closes:?}: answered at last");
            (u64::from(within), w.banks.word(Y, 4))
        };
        assert_eq!(passes(Ask::Load(Y)).0, loads, "{closes:?}: a load");
        assert_eq!(passes(acquire(0, false)).0, 0, "{closes:?}: the variable");
        let elsewhere = sync(SyncOp::Cas, L + 0x100, 1, 0, ACQ, 0, false);
        assert_eq!(passes(elsewhere).0, other_lock, "{closes:?}: another variable");
        let stored = passes(Ask::Store(Y, 7, true));
        assert_eq!(stored.0, stores, "{closes:?}: a store");
        // What passed has been flushed; what waited is still here.
        assert_eq!(stored.1, 7 * stores, "{closes:?}");
    }
}

/// An L1 with nothing to flush acknowledges a broadcast as soon as it has looked.
#[test]
fn a_broadcast_costs_a_clean_l1_a_look() {
    for (system, ops) in [
        (Impl::Brsp, [ProbeOp::FlushAll, ProbeOp::InvAll].as_slice()),
        (Impl::BrspToken, &[ProbeOp::LockFlush, ProbeOp::InvUnlock, ProbeOp::InvAll]),
    ] {
        let mut w = quiet(system);
        let cycles = |w: &mut World, op| {
            let begin = w.now();
            w.probe(op, L);
            w.acknowledged();
            w.now() - begin
        };
        let clean: Vec<u64> = ops.iter().map(|op| cycles(&mut w, *op)).collect();
        assert!(clean.iter().all(|c| *c <= 6), "{system:?}: {clean:?} cycles");
        w.ask(Ask::Store(Y, 3, false));
        w.rest(20);
        assert!(cycles(&mut w, ops[0]) > clean[0], "{system:?}: a dirty line takes longer");
    }
}

/// A right prediction asks one L1, a wrong one the others afterwards.
#[test]
fn the_predictor_asks_the_owner_alone() {
    let mut w = quiet(Impl::SrspOpt);
    let lock = w.locks[THERE].addr;
    let ask = || sync(SyncOp::Cas, lock, 1, 5, ACQ, 1, true);
    let others = 0b1111 & !(1 << OWN);
    w.owner_has_released(1);
    w.alone(ask());
    w.owner_has_released(2);
    w.alone(ask());
    w.alone(ask());
    let dst: Vec<u64> = w.casts.iter().map(|c| c.2).collect();
    assert_eq!(dst, [others, 1 << OWNER, 1 << OWNER, others & !(1 << OWNER)]);
    let counts = ["srsp_l1_aff_absent", "srsp_l1_aff_correct", "srsp_l1_aff_negative"];
    assert_eq!(counts.map(|name| w.b.counted(name)), [1, 1, 1]);
}

/// srsp.md section 5.3: a remote operation on an address released here is done here.
#[test]
fn a_remote_operation_of_the_owner_is_a_local_one() {
    let mut w = quiet(Impl::SrspOpt);
    owner_releases(&mut w);
    w.banks.seen.clear();
    assert_eq!(w.alone(acquire(1, true)).0, 0);
    w.alone(release(1, true));
    assert_eq!(w.banks.seen, [] as [&str; 0]);
    assert_eq!((w.casts.len(), w.b.counted("srsp_l1_converted")), (0, 2));
}

#[test]
fn scopes_reach_as_far_as_they_say() {
    let mut w = quiet(Impl::Base);
    w.alone(Ask::Load(Y));
    w.alone(Ask::Store(Y, 3, true));
    w.alone(release(0, false));
    assert_eq!(w.banks.log, []);
    w.banks.seen.clear();
    w.alone(release(1, false));
    assert_eq!(w.banks.word(Y, 4), 3, "a release of GPU scope writes everything to the L2 first");
    let last = w.banks.seen.last().cloned();
    assert_eq!(last, Some(format!("ATM {}", L / LINE)));
    w.banks.put(Y, 4, 8);
    assert_eq!(w.alone(Ask::Load(Y)).0, 3, "a copy may be old");
    w.alone(acquire(1, false));
    assert_eq!(w.alone(Ask::Load(Y)).0, 8, "until the next acquire");
    w.banks.seen.clear();
    w.alone(sync(SyncOp::Add, L, 1, 0, AR, 2, false));
    let count = |what: &str| w.banks.seen.iter().filter(|s| s.starts_with(what)).count();
    assert_eq!((count("SYS"), count("ATM")), (4, 1), "two banks flush, two drop");
    w.alone(sync(SyncOp::Ld, L, 0, 0, RLX, 0, false));
    w.alone(Ask::Fence { acquire: true, scope: 0 });
    w.alone(Ask::Begin);
    w.alone(Ask::End);
}

#[test]
fn hits_take_the_latency_and_stream() {
    for latency in [2, 4, 9] {
        let p = small(Impl::Srsp).sized(|s| Shape { latency, size: 2048, ..s });
        let mut w = World::new(&p, 1);
        w.rest(40);
        w.alone(Ask::Load(Y));
        w.streams(Ask::Load(Y), latency);
    }
}

/// Without work nothing changes: the engine skips the block.
#[test]
fn an_idle_l1_sleeps() {
    let mut w = quiet(Impl::SrspOpt);
    owner_releases(&mut w);
    w.falls_asleep();
}

/// Nor while everything waits: a fill and a lock that do not come, a store behind the fill, an acquire behind the remote operation.
#[test]
fn a_waiting_l1_sleeps() {
    let mut w = quiet(Impl::Srsp);
    w.banks.slow = 1_000_000;
    for ask in [acquire(1, true), acquire(1, false), Ask::Load(Y), Ask::Store(Y, 3, false)] {
        w.ask(ask);
    }
    w.falls_asleep();
}
