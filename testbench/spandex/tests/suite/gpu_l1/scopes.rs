//! What is of CU scope is done in the L1 (cu-and-consistency.md section 4), and meets fills, drains, releases and what is of wider scope.

use crate::gpu_l1::world::{World, small};
use crate::waves::{ACQ, AR, Ask, DATA, REL, RLX, load, store, sync};
use crate::words::{LINE, word_in};
use weft_bench::Msg;
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain};
use weft_spandex::msg::{ReqOp, RspOp, WordOp};
use weft_spandex::params::Spandex;

const A: u64 = DATA.start * LINE;
const B: u64 = A + 4;
/// Of another set.
const Y: u64 = A + LINE;

fn params(sb_drain: SbDrain, hold: bool) -> GpuL1Params {
    let p = small(sb_drain);
    let spandex = Spandex { mshrs: 6, sb: 6, ..p.spandex.clone() };
    GpuL1Params { size: 2048, scopes: true, hold, spandex, ..p }
}

fn quiet(sb_drain: SbDrain, hold: bool) -> World {
    let mut w = World::new(&params(sb_drain, hold), 1, 1);
    w.llc.slow = 2;
    w.others = false;
    w.rest(40);
    w
}

fn here(addr: u64, n: u32) -> Ask {
    Ask::Here(WordOp::Add, addr, n, 0)
}

fn add(addr: u64, n: u32, sem: u64) -> Ask {
    sync(WordOp::Add, addr, n, 0, sem)
}

fn ops(w: &World) -> Vec<ReqOp> {
    w.llc.log.iter().map(|l| l.0).collect()
}

/// Answers so far: number and message.
fn answers(w: &mut World) -> Vec<(u64, Msg)> {
    std::iter::from_fn(|| w.b.received("cu_rsp")).map(|(_, m)| (m.get("id"), m)).collect()
}

/// The value of a word in the answer to a request.
fn found(got: &[(u64, Msg)], id: u64, addr: u64) -> Option<u32> {
    got.iter().find(|a| a.0 == id).map(|a| word_in(&a.1, addr))
}

#[test]
fn atomics_are_done_in_the_l1() {
    let mut w = quiet(SbDrain::Full, false);
    w.llc.put(A, 5);
    let (m, _) = w.alone(&here(A, 1));
    assert_eq!((word_in(&m, A), ops(&w)), (5, vec![ReqOp::ReqV]), "the line is read");
    let (m, cycles) = w.alone(&here(A, 2));
    assert_eq!((word_in(&m, A), cycles), (6, 2), "one slot, as a hit");
    assert_eq!((w.value(A), w.llc.word(A)), (8, 5));
    let swap = |cmp| Ask::Here(WordOp::Cas, A, 20, cmp);
    assert_eq!(word_in(&w.alone(&swap(9)).0, A), 8);
    assert_eq!(w.b.counted("gpu_l1_swaps_failed_here"), 1);
    assert_eq!(word_in(&w.alone(&swap(8)).0, A), 8);
    let (m, _) = w.alone(&Ask::Here(WordOp::Write, A, 30, 0));
    assert_eq!(m.get("kind"), 1, "a store is acknowledged at once");
    assert_eq!(word_in(&w.alone(&Ask::Here(WordOp::Read, A, 0, 0)).0, A), 30);
    assert_eq!(ops(&w), [ReqOp::ReqV], "nothing else has left");
    w.alone(&Ask::End);
    assert_eq!((w.llc.word(A), ops(&w)), (30, vec![ReqOp::ReqV, ReqOp::ReqWt]));
}

/// An acquire of CU scope leaves copies, one of wider scope does not.
#[test]
fn what_is_of_cu_scope_orders_nothing_beyond_the_l1() {
    let mut w = quiet(SbDrain::Full, false);
    w.value(Y);
    w.ask(&store(Y, 1, false));
    (0..8).for_each(|_| {
        // Of every order.
        w.alone(&here(A, 1));
    });
    assert_eq!((w.value(Y), w.llc.word(Y), w.b.counted("gpu_l1_flashes")), (1, 0, 0));
    assert_eq!(w.b.counted("gpu_l1_releases"), 0);
    w.alone(&add(A + 2 * LINE, 1, ACQ));
    assert_eq!(w.b.counted("gpu_l1_flashes"), 1);
    assert_eq!(word_in(&w.alone(&here(A, 1)).0, A), 8, "buffered words outlive it");
}

/// Fill in flight: opened by a load, then an atomic on a word that is buffered, and one that waits.
#[test]
fn atomics_meet_a_fill_in_flight() {
    let mut w = quiet(SbDrain::Full, false);
    w.llc.put(A, 3);
    w.ask(&store(B, 7, false));
    w.llc.hold = vec![RspOp::RspV];
    let first = w.ask(&load(A));
    let covered = w.ask(&here(B, 1));
    let missing = w.ask(&here(A, 1));
    w.rest(40);
    let got = answers(&mut w);
    assert_eq!((got.len(), found(&got, covered, B)), (1, Some(7)), "what is buffered waits for nothing");
    assert!(w.b.counted("spandex.gpu_l1.Local.I.read") > 0);
    w.llc.hold.clear();
    w.rest(40);
    let got = answers(&mut w);
    assert_eq!((found(&got, first, A), found(&got, missing, A)), (Some(3), Some(3)));
    assert_eq!((w.value(A), w.value(B)), (4, 8), "the line has not overwritten it");
    assert_eq!(ops(&w), [ReqOp::ReqV]);
}

/// An acquire of another wavefront makes the read of an atomic stale: it is read again, and no value is lost.
#[test]
fn a_stale_line_is_read_again() {
    let mut w = quiet(SbDrain::Full, false);
    // Its answer, and with it the acquire, comes while the read is under way.
    w.llc.hold = vec![RspOp::RspV, RspOp::RspWtData];
    let acquire = w.ask(&add(Y, 1, ACQ));
    let atomic = w.ask(&here(A, 1));
    w.rest(30);
    w.llc.put(A, 9);
    w.llc.hold = vec![RspOp::RspV];
    w.rest(30);
    assert_eq!(answers(&mut w).iter().map(|a| a.0).collect::<Vec<_>>(), [acquire]);
    w.llc.hold.clear();
    w.rest(60);
    let got = answers(&mut w);
    assert_eq!((got.len(), found(&got, atomic, A)), (1, Some(9)));
    assert_eq!(ops(&w), [ReqOp::ReqWtData, ReqOp::ReqV, ReqOp::ReqV]);
    assert_eq!(w.b.counted("gpu_l1_stale_fills"), 1);
}

/// The entry of the line is out: it is left alone, a second opens, and leaves behind it.
#[test]
fn atomics_meet_a_drain_in_flight() {
    let mut w = quiet(SbDrain::Full, false);
    w.alone(&here(A, 1));
    w.llc.hold = vec![RspOp::RspWt];
    let release = w.ask(&Ask::Release);
    w.rest(20);
    assert_eq!(w.llc.word(A), 1);
    assert_eq!(word_in(&w.alone(&here(A, 1)).0, A), 1);
    assert_eq!(w.b.counted("spandex.race.gpu_local_second_entry"), 1);
    w.rest(20);
    assert_eq!(w.llc.word(A), 1, "the second waits for the first");
    w.llc.hold.clear();
    w.rest(40);
    assert_eq!(answers(&mut w)[0].0, release);
    assert_eq!((w.llc.word(A), w.value(A)), (1, 2));
    w.alone(&Ask::Release);
    assert_eq!(w.llc.word(A), 2);
}

/// An atomic of wider scope first drains what is buffered of its line, and waits for the answers; one of CU scope then waits for it.
#[test]
fn scopes_mixed_on_a_line_are_in_order() {
    for (addr, sem) in [(A, RLX), (A, AR), (B, RLX), (B, REL)] {
        let mut w = quiet(SbDrain::Full, false);
        w.alone(&here(A, 5));
        w.llc.hold = vec![RspOp::RspWt];
        let wide = w.ask(&add(addr, 1, sem));
        w.rest(60);
        assert_eq!((ops(&w), w.llc.word(A)), (vec![ReqOp::ReqV, ReqOp::ReqWt], 5), "{addr:#x}");
        w.llc.hold = vec![RspOp::RspWtData];
        w.rest(60);
        assert_eq!(ops(&w)[2..], [ReqOp::ReqWtData]);
        let local = w.ask(&here(addr, 1));
        w.rest(60);
        assert!(answers(&mut w).is_empty());
        w.llc.hold.clear();
        w.rest(60);
        let got = answers(&mut w);
        let before = if addr == A { 5 } else { 0 };
        let values = (found(&got, wide, addr), found(&got, local, addr));
        assert_eq!(values, (Some(before), Some(before + 1)), "{addr:#x}");
        w.alone(&Ask::End);
        assert_eq!(w.llc.word(addr), before + 2);
    }
}

/// Another CU writes the word meanwhile, at the LLC or as its owner: a race, in which some value is lost, and nothing hangs.
#[test]
fn another_cu_writes_the_word() {
    for owns in [false, true] {
        let mut w = quiet(SbDrain::Eager, true);
        let mut rng = w.b.rng.clone();
        for n in 0..60 {
            if owns {
                let now = w.now();
                w.llc.own(0, A, now, &mut rng);
            } else {
                w.llc.put(A, 1000 + n);
            }
            let atomic = [here(A, 1), add(A, 1, RLX), here(A, 1), add(A, 1, AR), here(B, 1)];
            w.alone(&atomic[n as usize % 5]);
        }
        w.alone(&Ask::End);
        w.alone(&Ask::Begin);
        assert_eq!(w.value(A), w.llc.word(A));
    }
}

/// `hold`: while a release drains no store is taken and nothing of CU scope; loads are. Releases that come meanwhile are acknowledged with it.
#[test]
fn stores_wait_for_a_release() {
    for hold in [false, true] {
        for late in [store(Y, 2, false), here(Y, 2), Ask::Store(Y / LINE, 1, vec![2; LINE as usize], false)] {
            let mut w = quiet(SbDrain::Full, hold);
            w.value(A);
            w.value(Y);
            w.ask(&store(A, 1, false));
            w.llc.hold = vec![RspOp::RspWt];
            let releases = [w.ask(&Ask::Release), w.ask(&Ask::Release)];
            w.rest(20);
            assert_eq!(w.value(A), 1, "loads are taken");
            w.ask(&late);
            let behind = w.ask(&load(Y));
            w.rest(60);
            let passes = answers(&mut w).iter().any(|a| a.0 == behind);
            assert_eq!(passes, !hold, "{late:?}");
            w.llc.hold.clear();
            w.rest(80);
            let got = answers(&mut w);
            assert!(releases.iter().all(|id| got.iter().any(|a| a.0 == *id)), "{late:?}");
            assert!(passes || got.iter().any(|a| a.0 == behind));
            if hold && w.b.counted("gpu_l1_byte_stores") == 0 {
                assert_eq!(ops(&w).iter().filter(|op| **op == ReqOp::ReqWt).count(), 1, "one drain for both");
            }
        }
    }
}
