//! Why requests are not taken, brought about one by one.

use crate::l1_bench::ask::{ACQ, Ask, RLX};
use crate::l1_bench::banks::LINE;
use crate::srsp_l1::world::{World, small, sync};
use std::collections::BTreeSet;
use weft_blocks::cache::l1::StallCause;
use weft_rtl::value::HwEnum;
use weft_srsp::Shape;
use weft_srsp::msg::{RspOp, SyncOp};
use weft_srsp::params::Impl;

/// Lines in sets of their own.
const A: u64 = 0x4000;

fn load(line: u64) -> Ask {
    Ask::Load(A + LINE * line)
}

fn store(line: u64) -> Ask {
    Ask::Store(A + LINE * line, 7, false)
}

fn atomic(line: u64, scope: u64) -> Ask {
    sync(SyncOp::Add, A + LINE * line, 1, 0, RLX, scope, false)
}

fn world(ways: u32) -> World {
    let p = small(Impl::Srsp).sized(|s| Shape { size: 64 * 8 * ways, ways, ..s });
    let mut w = World::new(&p, 1);
    w.banks.slow = 2;
    w.rest(40);
    w
}

fn is(w: &mut World, cause: StallCause) -> bool {
    w.b.get("stall") == cause.encoding()
}

/// Asks one after the other, with some cycles for each: none of them waits but the last, for this.
fn last_waits(w: &mut World, asks: &[Ask], cause: StallCause) {
    for (i, ask) in asks.iter().enumerate() {
        w.ask(*ask);
        w.rest(20);
        let expected = if i + 1 == asks.len() { cause } else { StallCause::None };
        assert!(is(w, expected), "{ask:?}: {} instead of {expected:?}", w.b.get("stall"));
    }
}

/// The causes seen in some cycles.
fn causes(w: &mut World, cycles: u64) -> BTreeSet<u64> {
    let seen = (0..cycles).map(|_| {
        w.quiet_cycle();
        w.b.get("stall")
    });
    seen.collect()
}

/// Nothing is held back any more; the causes seen until everything is answered.
fn goes_on(w: &mut World, answers: usize) -> BTreeSet<u64> {
    w.banks.hold.clear();
    w.b.hold_nothing();
    let seen = causes(w, 200);
    assert_eq!(w.answered().len(), answers);
    assert!(is(w, StallCause::None) && w.b.get("busy_release") == 0);
    seen
}

#[test]
fn a_miss_waits_for_an_mshr() {
    let mut w = world(4);
    assert!(is(&mut w, StallCause::None), "nothing is asked");
    w.banks.hold = vec![RspOp::Fill];
    last_waits(&mut w, &[0, 1, 2, 3].map(load), StallCause::MshrFull);
    goes_on(&mut w, 4);
    // An MSHR has three places for operations.
    w.banks.hold = vec![RspOp::Fill];
    last_waits(&mut w, &[load(8), atomic(8, 0), load(8), load(8)], StallCause::MshrFull);
    let seen = goes_on(&mut w, 4);
    assert!(seen.contains(&StallCause::Bank.encoding()), "the FILL has the slots: {seen:?}");
    w.banks.hold = vec![RspOp::Fill];
    last_waits(&mut w, &[load(16), store(16)], StallCause::MshrFull);
    goes_on(&mut w, 1);
}

#[test]
fn a_request_waits_for_room() {
    // Both ways of a set are under way.
    let mut w = world(2);
    w.banks.hold = vec![RspOp::Fill];
    last_waits(&mut w, &[0, 8, 16].map(load), StallCause::Other);
    goes_on(&mut w, 3);
    // The write-back of the line is under way.
    w.banks.hold = vec![RspOp::WbAck];
    let other_word = Ask::Load(A + 4 + LINE);
    last_waits(&mut w, &[store(1), other_word], StallCause::Other);
    goes_on(&mut w, 1);
    // The sFIFO is full: a store waits for room, then for its slot while the head leaves.
    w.answer(Ask::End);
    w.banks.hold = vec![RspOp::WbAck];
    for line in 0..4 + 3 {
        w.ask(store(line));
        w.rest(20);
    }
    w.ask(store(7));
    let seen = causes(&mut w, 20);
    let expected = [StallCause::None, StallCause::Other, StallCause::Bank].map(StallCause::encoding);
    assert!(seen.contains(&expected[1]) && seen.is_subset(&expected.into()), "{seen:?}");
    goes_on(&mut w, 0);
}

#[test]
fn a_request_waits_for_operations_of_several_steps() {
    let mut w = world(4);
    // One is at work, two wait, and there is no more room.
    w.banks.hold = vec![RspOp::AtmRsp];
    last_waits(&mut w, &[0, 1, 2, 3].map(|line| atomic(line, 1)), StallCause::Release);
    assert_eq!(w.b.get("busy_release"), 1);
    goes_on(&mut w, 4);
    // What is done at the L2 keeps its line from others.
    w.banks.hold = vec![RspOp::AtmRsp];
    last_waits(&mut w, &[atomic(0, 1), load(1), load(0)], StallCause::Release);
    assert_eq!((w.answered().len(), w.b.get("busy_release")), (1, 1));
    goes_on(&mut w, 2);
    // The gate is closed while an acquire flushes.
    w.alone(Ask::Store(A, 7, true));
    w.banks.hold = vec![RspOp::WbAck];
    let acquire = sync(SyncOp::Ld, A + LINE, 0, 0, ACQ, 1, false);
    last_waits(&mut w, &[acquire, load(2)], StallCause::Release);
    goes_on(&mut w, 2);
}

/// A way that is blocked is none of the other causes.
#[test]
fn a_blocked_way_is_nothing_else() {
    let mut w = world(4);
    w.alone(load(0));
    for (port, ask) in [
        ("req", load as fn(u64) -> Ask),
        ("wb", |line| Ask::Load(A + 4 + LINE * line)),
        ("cu_rsp", |_| load(0)),
    ] {
        if port == "wb" {
            (8..11).for_each(|line| drop(w.answer(Ask::Store(A + LINE * line, 7, true))));
        }
        w.b.chances(&[(port, 0.0)]);
        for i in 0..3 + 4 {
            w.ask(ask(8 + i));
            w.rest(20);
            assert!(
                is(&mut w, StallCause::None) || is(&mut w, StallCause::Other),
                "{port}: {}",
                w.b.get("stall")
            );
        }
        goes_on(&mut w, 7);
    }
}
