//! Whose slot a cycle is: a replay that must wait lets others go, and goes itself when it can.

use crate::l1_bench::ask::{Ask, REL, RLX};
use crate::l1_bench::banks::LINE;
use crate::srsp_l1::world::{OTHER, World, small, sync};
use weft_srsp::Shape;
use weft_srsp::msg::{ProbeOp, RspOp, SyncOp};
use weft_srsp::params::Impl;

/// Lines of set 5 of 8.
const A: u64 = 0x4140;
const B: u64 = A + 8 * LINE;
const C: u64 = B + 8 * LINE;
/// One of another set.
const E: u64 = 0x6000;

fn world(sfifo: u32) -> World {
    let p = small(Impl::Srsp).sized(|s| Shape { size: 1024, ways: 2, sfifo, ..s });
    let mut w = World::new(&p, 1);
    w.banks.slow = 1;
    w.rest(40);
    w
}

fn atomic(addr: u64) -> Ask {
    sync(SyncOp::Add, addr, 1, 0, RLX, 0, false)
}

fn fetched(w: &World, addr: u64) -> usize {
    w.banks.seen.iter().filter(|s| **s == format!("RD {}", addr / LINE)).count()
}

/// An atomic on A is to be looked up again, and cannot: its line has not been installed, and the way of
/// requests is blocked by one of E.
fn replays(w: &mut World) {
    w.locked.insert(A / LINE, OTHER);
    w.ask(atomic(A));
    w.rest(20);
    w.probe(ProbeOp::SelInv, A);
    w.acknowledged();
    w.b.chances(&[("req", 0.0)]);
    w.ask(Ask::Load(E));
    w.rest(20);
    w.locked.clear();
    w.rest(20);
    assert_eq!((fetched(w, A), fetched(w, E)), (1, 0));
}

/// The flush wants a slot all the time, for the way of write-backs is blocked.
#[test]
fn a_replay_goes_on_while_a_flush_waits() {
    let mut w = world(6);
    for i in 0..3 {
        w.answer(Ask::Store(0x7000 + LINE * i, 7, true));
    }
    w.answer(sync(SyncOp::St, 0x7100, 1, 0, REL, 0, false));
    w.b.chances(&[("wb", 0.0)]);
    replays(&mut w);
    w.probe(ProbeOp::SelFlush, 0x7100);
    w.rest(40);
    // Nothing else has a slot meanwhile.
    w.banks.hold = vec![RspOp::Fill];
    w.b.chances(&[("req", 1.0)]);
    w.rest(20);
    assert_eq!((fetched(&w, A), fetched(&w, E), w.acks.len()), (2, 1, 0), "the replay goes on");
    w.banks.hold.clear();
    w.b.hold_nothing();
    assert!(w.acknowledged(), "the flush goes on");
    assert_eq!(w.answered().len(), 2);
}

/// Requests of the CU want a slot all the time.
#[test]
fn a_replay_and_requests_take_turns() {
    let mut w = world(6);
    w.answer(Ask::Load(B));
    replays(&mut w);
    for _ in 0..60 {
        w.ask(Ask::Load(B));
    }
    w.rest(10);
    w.answered();
    w.rest(30);
    let hits = w.answered().len();
    assert!(hits >= 19, "a replay that waits leaves two of three slots: {hits} hits in 30 cycles");
    w.b.chances(&[("req", 1.0)]);
    w.rest(12);
    assert_eq!(fetched(&w, A), 2, "the replay goes on");
    assert!(w.b.source_mut("cu_req").queue.len() > 5, "requests wait");
}

/// A line is used when it comes, even if what has asked for it is put off: another one is replaced.
#[test]
fn a_line_that_comes_is_the_youngest() {
    let mut w = world(4);
    w.answer(Ask::Load(B));
    for line in [A, E] {
        w.locked.insert(line / LINE, OTHER);
        w.ask(if line == A { atomic(A) } else { Ask::Load(E) });
    }
    // All places for answers but one are taken: one at the port, four of five behind it.
    w.rest(20);
    w.b.chances(&[("cu_rsp", 0.0)]);
    for _ in 0..5 {
        w.ask(Ask::Load(B));
    }
    // The gate closes, and nothing is dropped.
    w.holds_packs = true;
    w.ask(sync(SyncOp::St, 0x7000, 1, 0, REL, 1, true));
    w.rest(60);
    w.ask(Ask::Load(C));
    w.locked.remove(&(A / LINE));
    w.rest(20);
    // The last place is taken. The atomic waits for another one, and the load goes.
    w.locked.remove(&(E / LINE));
    w.rest(20);
    w.holds_packs = false;
    w.rest(40);
    assert_eq!([A, C, E].map(|line| fetched(&w, line)), [1, 1, 1]);
    w.b.hold_nothing();
    w.rest(60);
    assert_eq!(w.answered().len(), 9);
    w.answer(Ask::Load(A));
    w.answer(Ask::Load(B));
    assert_eq!(
        [A, B].map(|line| fetched(&w, line)),
        [1, 2],
        "B was replaced, though it was used after A was asked for"
    );
}
