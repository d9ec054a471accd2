//! Loads of words of one line that are not here.

use crate::denovo_l1::hand::{Hand, small};
use crate::hand::{A, Unit};
use crate::words::{line_at, word};
use weft_blocks::msg::CuOp;
use weft_spandex::denovo_l1::Atomics;
use weft_spandex::msg::{ReqOp, RspOp};

fn quick() -> Hand {
    let mut h = Hand::new(&small(Atomics::Join));
    h.b.sources.values_mut().for_each(|source| source.chance = 1.0);
    h.b.sinks.values_mut().for_each(|sink| sink.chance = 1.0);
    h
}

/// The L1 reads words; its transaction, and whether other words of the line are welcome.
fn reads(h: &mut Hand, words: u64) -> (u64, bool) {
    let (_, m) = h.b.wait("l1_req");
    assert_eq!([m.get("op"), m.get("line"), m.get("mask")], [ReqOp::ReqV as u64, A, words]);
    (m.get("tag"), m.get("flex") == 1)
}

/// Numbers of loads that are answered, with their first words.
fn answered(h: &mut Hand, at: u64) -> Vec<(u64, u32)> {
    h.b.run(20);
    std::iter::from_fn(|| h.b.received("cu_rsp"))
        .map(|(_, m)| (m.get("id"), word(m.wide("data"), at)))
        .collect()
}

/// The rest of the line comes once, with the answer to the first load.
#[test]
fn a_line_under_way_is_asked_for_once() {
    let mut h = quick();
    let first = h.load(A, 0b10);
    let (tag, rest) = reads(&mut h, 0b10);
    assert!(rest, "the first is answered with what else there is of the line");
    let second = h.load(A, 0b100);
    assert_eq!(reads(&mut h, 0b100), (tag, false), "the same transaction asks for a word, not for the line");
    h.give(RspOp::RspV, A, (0b10, 0b1111_1001), tag, |w| 0x10 + w as u32);
    assert_eq!(answered(&mut h, 1), [], "a word is outstanding");
    h.give(RspOp::RspV, A, (0b100, 0), tag, |w| 0x20 + w as u32);
    let got = answered(&mut h, 2);
    assert_eq!(got.iter().map(|(id, _)| *id).collect::<Vec<u64>>(), [first, second]);
    assert_eq!(got[1].1, 0x22);
    let third = h.load(A, 0b1000);
    assert_eq!(answered(&mut h, 3), [(third, 0x13)], "what came beside is here");
    assert!(h.b.received("l1_req").is_none());
}

/// What a read that was begun before an acquire brings beside its words is not kept: the next read wants the line.
#[test]
fn a_read_behind_an_acquire_asks_for_the_line_again() {
    let mut h = quick();
    h.load(A, 0b10);
    let (before, _) = reads(&mut h, 0b10);
    h.cu(CuOp::Acq, A, 0, &[], &line_at([]));
    answered(&mut h, 0);
    h.load(A, 0b100);
    let (after, rest) = reads(&mut h, 0b100);
    assert_ne!(before, after);
    assert!(rest);
}
