//! Atomics of one CU on a word for which it has asked already (`atomics=join`): one request, one transfer of
//! ownership for all of them, and forwards behind.

use crate::denovo_l1::hand::{Hand, small};
use crate::hand::{A, Unit};
use crate::words::{line_at, word};
use weft_blocks::msg::{AmoOp, CuOp};
use weft_spandex::denovo_l1::{Atomics, DenovoL1Params};
use weft_spandex::gpu_l1::GpuL1Params;
use weft_spandex::msg::{FwdOp, ReqOp, RspOp};

/// Atomics that an MSHR holds.
const TARGETS: u32 = 4;

/// The small L1 with atomics as published, or otherwise.
fn l1(atomics: Option<Atomics>) -> Hand {
    let p = small(Atomics::Own);
    let published = DenovoL1Params::published(p.l1.spandex.clone()).atomics;
    let l1 = GpuL1Params { targets: TARGETS, ..p.l1.clone() };
    let mut h = Hand::new(&DenovoL1Params { l1, atomics: atomics.unwrap_or(published), ..p });
    h.b.sources.values_mut().for_each(|source| source.chance = 1.0);
    h.b.sinks.values_mut().for_each(|sink| sink.chance = 1.0);
    h
}

/// Answers to the CU: when, number, kind, the first word.
fn replies(h: &mut Hand) -> Vec<(u64, u64, u64, u32)> {
    h.b.run(20);
    let mut all = Vec::new();
    while let Some((at, m)) = h.b.received("cu_rsp") {
        all.push((at, m.get("id"), m.get("kind"), word(m.wide("data"), 0)));
    }
    all
}

/// What leaves for other devices: kind and the first word.
fn answers(h: &mut Hand) -> Vec<(u64, u32)> {
    let mut all = Vec::new();
    while let Some((_, m)) = h.b.received("l1_rsp_out") {
        all.push((m.get("op"), word(m.wide("data"), 0)));
    }
    all
}

/// Transfers of ownership until `n` additions to one word are done, with a forward behind each request; and
/// the values that leave.
fn transfers(h: &mut Hand, n: u32) -> (u32, Vec<u32>) {
    let ids: Vec<u64> = (0..n).map(|_| h.add(A, 1, 1, 0)).collect();
    let (mut done, mut requests, mut left, mut value) = (Vec::new(), 0, Vec::new(), 10);
    while done.len() < ids.len() {
        let tag = h.asked(ReqOp::ReqOData, A, 1);
        requests += 1;
        h.fwd(FwdOp::ReqOData, 1, 0, (false, false));
        h.b.run(30);
        assert!(answers(h).is_empty(), "the forward waits");
        h.give(RspOp::RspOData, A, (1, 0), tag, |_| value);
        done.extend(replies(h));
        let given = answers(h);
        assert_eq!(given.len(), 1);
        assert_eq!(given[0].0, RspOp::RspOData as u64);
        value = given[0].1;
        left.push(value);
    }
    let order: Vec<(u64, u32)> = done.iter().map(|reply| (reply.1, reply.3)).collect();
    let expected: Vec<(u64, u32)> = ids.iter().zip(0..).map(|(id, i)| (*id, 10 + i)).collect();
    assert_eq!(order, expected, "in the order in which they came");
    h.b.run(40);
    assert!(h.b.received("l1_req").is_none());
    (requests, left)
}

/// All that fit into an MSHR are done with one transfer, before the forward is answered, one per cycle.
#[test]
fn atomics_on_a_word_under_way_take_one_transfer() {
    for n in 1..=TARGETS {
        let mut h = l1(None);
        assert_eq!(transfers(&mut h, n), (1, vec![10 + n]), "{n} atomics");
        let counts = ["denovo_l1_joined", "denovo_l1_atomics", "spandex_tu_delayed"].map(|c| h.b.counted(c));
        assert_eq!(counts, [u64::from(n) - 1, 1, 1]);
        let mut h = l1(Some(Atomics::Own));
        assert_eq!(transfers(&mut h, n).0, n, "each with a request of its own");
    }
    let mut h = l1(None);
    let all = (0..TARGETS).map(|_| h.add(A, 1, 1, 0)).count();
    let tag = h.asked(ReqOp::ReqOData, A, 1);
    h.b.run(30);
    h.give(RspOp::RspOData, A, (1, 0), tag, |_| 0);
    let at: Vec<u64> = replies(&mut h).iter().map(|reply| reply.0).collect();
    assert_eq!(at.len(), all);
    assert!(at.windows(2).all(|two| two[1] == two[0] + 1), "in consecutive cycles: {at:?}");
}

/// An atomic may also join when a forward waits already: it is done before that.
#[test]
fn a_forward_waits_for_atomics_that_joined_before_it_and_behind_it() {
    let mut h = l1(None);
    let first = [(); 2].map(|()| h.add(A, 1, 1, 0));
    let tag = h.asked(ReqOp::ReqOData, A, 1);
    h.b.run(20);
    h.fwd(FwdOp::RvkO, 0, 1, (false, false));
    h.b.run(20);
    let last = h.add(A, 1, 1, 0);
    h.b.run(20);
    h.give(RspOp::RspOData, A, (1, 0), tag, |_| 10);
    let done: Vec<(u64, u32)> = replies(&mut h).iter().map(|reply| (reply.1, reply.3)).collect();
    assert_eq!(done, [(first[0], 10), (first[1], 11), (last, 12)]);
    assert_eq!(answers(&mut h), [(RspOp::RspRvkO as u64, 13)]);
    let races = ["forward_behind_joined", "joined_late"];
    assert_eq!(races.map(|race| h.b.counted(&format!("spandex.race.denovo_{race}"))), [1, 1]);
}

/// A further one waits until the MSHR is free, and then asks behind the forward: none is starved, nor is the
/// forward.
#[test]
fn an_mshr_holds_so_many_atomics() {
    let mut h = l1(None);
    assert_eq!(transfers(&mut h, TARGETS + 1), (2, vec![10 + TARGETS, 11 + TARGETS]));
}

/// Every operation sees what those before it left, and answers as it would alone: here a lock that two waves
/// try to take while a third one gives it back.
#[test]
fn joined_operations_are_done_in_order() {
    let mut h = l1(None);
    let acquires = [("class", 1), ("sync", 1), ("sem", 1), ("cmp", 0), ("amo", AmoOp::Cas as u64)];
    let take = |h: &mut Hand| {
        let fields: Vec<(&str, u64)> = acquires.iter().copied().filter(|f| f.0 != "amo").collect();
        h.cu(CuOp::Amo, A, 1, &[&fields[..], &[("amo", AmoOp::Cas as u64)]].concat(), &line_at([(0, 1)]))
    };
    let first = take(&mut h);
    let tag = h.asked(ReqOp::ReqOData, A, 1);
    let order = [("class", 1), ("sync", 1), ("sem", 0), ("want_ack", 1)];
    let frees = h.cu(CuOp::St, A, 1, &order, &line_at([(0, 0)]));
    let second = take(&mut h);
    let looks = h.cu(CuOp::Ld, A, 1, &[("class", 1), ("sync", 1), ("sem", 1)], &line_at([]));
    h.b.run(30);
    let before = h.b.counted("denovo_l1_flashes");
    h.give(RspOp::RspOData, A, (1, 0), tag, |_| 1);
    let seen: Vec<(u64, u64, u32)> = replies(&mut h).iter().map(|r| (r.1, r.2, r.3)).collect();
    assert_eq!(seen, [(first, 0, 1), (frees, 1, seen[1].2), (second, 0, 0), (looks, 0, 1)]);
    assert_eq!(h.b.counted("denovo_l1_flashes") - before, 3, "each that acquires");
    assert!(h.b.received("l1_req").is_none());
}

/// What waits for its word is in nobody's way: the L1 goes on with the next request of the CU, as the wave
/// that holds the lock needs it.
#[test]
fn the_l1_goes_on_behind_atomics_that_wait() {
    for (atomics, goes) in [(None, true), (Some(Atomics::Own), false)] {
        let mut h = l1(atomics);
        h.add(A, 1, 1, 0);
        h.asked(ReqOp::ReqOData, A, 1);
        h.add(A, 1, 1, 0);
        h.load(A + 1, 1);
        h.b.run(40);
        assert_eq!(h.b.received("l1_req").is_some_and(|(_, m)| m.get("line") == A + 1), goes);
    }
}

/// Once a removal has been answered (fwd ReqO) its sender may have stored: a later atomic asks for itself
/// and sees that.
#[test]
fn none_joins_behind_a_removal_that_was_answered() {
    let mut h = l1(None);
    let first = h.add(A, 1, 1, 0);
    let tag = h.asked(ReqOp::ReqOData, A, 1);
    h.fwd(FwdOp::ReqO, 1, 0, (false, false));
    h.b.run(20);
    assert_eq!(answers(&mut h).len(), 1, "answered at once");
    let second = h.add(A, 1, 1, 0);
    h.b.run(30);
    h.give(RspOp::RspOData, A, (1, 0), tag, |_| 10);
    assert_eq!(replies(&mut h).iter().map(|r| (r.1, r.3)).collect::<Vec<_>>(), [(first, 10)]);
    let tag = h.asked(ReqOp::ReqOData, A, 1);
    h.give(RspOp::RspOData, A, (1, 0), tag, |_| 70);
    assert_eq!(replies(&mut h).iter().map(|r| (r.1, r.3)).collect::<Vec<_>>(), [(second, 70)]);
}

/// Operations on several words, those on another word of the line and byte stores wait as before.
#[test]
fn only_single_words_are_joined() {
    let mut h = l1(None);
    h.add(A, 0b11, 1, 0);
    let tag = h.asked(ReqOp::ReqOData, A, 0b11);
    h.add(A, 1, 1, 0);
    h.b.run(40);
    assert_eq!((h.b.received("l1_req").is_none(), h.b.counted("denovo_l1_joined")), (true, 0));
    h.give(RspOp::RspOData, A, (0b11, 0), tag, |_| 10);
    assert_eq!(replies(&mut h).iter().map(|r| r.3).collect::<Vec<_>>(), [10, 11]);
    let mut h = l1(None);
    h.add(A, 1, 1, 0);
    h.asked(ReqOp::ReqOData, A, 1);
    h.add(A, 0b10, 1, 0);
    h.asked(ReqOp::ReqOData, A, 0b10);
    h.add(A, 0b11, 1, 0);
    h.b.run(40);
    assert_eq!((h.b.received("l1_req").is_none(), h.b.counted("denovo_l1_joined")), (true, 0));
}

/// A release waits for stores, of bytes and with an order too, and not for atomics that return a value,
/// joined or not: those are other waves'.
#[test]
fn a_release_waits_for_stores_only() {
    let order = [("class", 1), ("sync", 0), ("sem", 0), ("want_ack", 1)];
    for (joined, store) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut h = l1(None);
        if joined || !store {
            h.add(A, 1, 1, 0);
        }
        if store {
            h.cu(CuOp::St, A, 1, &order, &line_at([(0, 7)]));
        } else if joined {
            h.add(A, 1, 1, 0);
        }
        let tag = h.asked(ReqOp::ReqOData, A, 1);
        h.b.run(20);
        let release = h.cu(CuOp::Rel, 0, 0, &[], &line_at([]));
        let done = replies(&mut h).iter().any(|reply| reply.1 == release);
        assert_eq!(done, !store, "joined: {joined}, a store: {store}");
        h.give(RspOp::RspOData, A, (1, 0), tag, |_| 10);
        assert_eq!(replies(&mut h).iter().any(|reply| reply.1 == release), store);
    }
}
