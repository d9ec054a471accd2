//! Each rule of section 7 by itself, the starvation of reads, times, sleep.

use crate::gpu_l1::llc::OTHERS;
use crate::gpu_l1::world::{World, small};
use crate::waves::{ACQ, AR, Ask, DATA, REL, RLX, load, store, sync};
use crate::words::{LINE, word_in};
use weft_bench::Msg;
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain};
use weft_spandex::msg::{FwdOp, ReqOp, RspOp, WordOp};
use weft_spandex::params::Spandex;
use weft_spandex::tu_gpu::{Inject, TuGpuParams};

const A: u64 = DATA.start * LINE;
const B: u64 = A + 4;
/// Of another set.
const Y: u64 = A + LINE;

fn roomy(sb_drain: SbDrain) -> GpuL1Params {
    let p = small(sb_drain);
    GpuL1Params { size: 2048, spandex: Spandex { mshrs: 6, sb: 6, ..p.spandex.clone() }, ..p }
}

fn quiet(sb_drain: SbDrain) -> World {
    let mut w = World::new(&roomy(sb_drain), 1, 1);
    w.llc.slow = 2;
    w.others = false;
    w.rest(40);
    w
}

fn add(addr: u64, sem: u64) -> Ask {
    sync(WordOp::Add, addr, 1, 0, sem)
}

fn ops(w: &World) -> Vec<ReqOp> {
    w.llc.log.iter().map(|l| l.0).collect()
}

/// Answers so far: number and message.
fn answers(w: &mut World) -> Vec<(u64, Msg)> {
    std::iter::from_fn(|| w.b.received("cu_rsp")).map(|(_, m)| (m.get("id"), m)).collect()
}

#[test]
fn a_line_comes_from_the_llc_and_several_owners() {
    let mut w = quiet(SbDrain::Full);
    for word in 0..8 {
        w.llc.put(A + 4 * word, 100 + word as u32);
    }
    let mut rng = w.b.rng.clone();
    for (word, dev) in [(1, 0), (2, 1), (3, 3), (5, 0)] {
        assert!(w.llc.own(dev, A + 4 * word, 0, &mut rng));
        w.llc.write(dev, A + 4 * word, 200 + word as u32, 0, &mut rng);
    }
    let (m, _) = w.alone(&Ask::Load(DATA.start, 0xffff_ffff));
    let words: Vec<u32> = (0..8).map(|i| word_in(&m, A + 4 * i)).collect();
    assert_eq!(words, [100, 201, 202, 203, 104, 205, 106, 107]);
    assert_eq!(m.get("src"), 2, "words of other devices are among them");
    assert_eq!((ops(&w), w.b.counted("spandex_tu_partial")), (vec![ReqOp::ReqV], 3));
    w.value(A);
    assert_eq!(w.b.counted("gpu_l1_hit_v"), 1);
}

/// An owner that never has the word when a read comes by: after `n_fail` Nacks the LLC serialises.
#[test]
fn a_read_is_not_starved() {
    for n_fail in [1, 2, 7] {
        let p = roomy(SbDrain::Full);
        let mut w = World::new(&p, n_fail, 1);
        w.llc.put(B, 7);
        let mut rng = w.b.rng.clone();
        w.llc.own(OTHERS[0], B, 0, &mut rng);
        w.llc.refuses = true;
        assert_eq!(w.value(B), 7);
        let mut expected = vec![ReqOp::ReqV; n_fail as usize];
        expected.push(ReqOp::ReqWtData);
        assert_eq!(ops(&w), expected);
        assert!(w.llc.log[1..].iter().all(|l| l.2 == 2), "only the failed word: {:?}", w.llc.log);
        assert_eq!(w.value(A), 0, "words that were read are installed");
        assert_eq!(w.b.counted("gpu_l1_hit_v"), 1);
        let tu =
            TuGpuParams { n_fail, inject: Inject::NoEscalation, ..TuGpuParams::published(p.spandex.clone()) };
        let mut w = World::with(&p, &tu, 1);
        w.llc.own(OTHERS[0], B, 0, &mut rng);
        w.llc.refuses = true;
        w.ask(&load(B));
        w.rest(3_000);
        assert_eq!(answers(&mut w).len(), 0, "a unit that does not escalate starves");
    }
}

/// Another wavefront's acquire comes between a read and its answer: the load is served, nothing is installed, a later load asks again.
#[test]
fn a_stale_read_installs_nothing() {
    for acquire in [Ask::Acquire, Ask::Begin, add(Y, ACQ), add(Y, AR)] {
        let mut w = quiet(SbDrain::Full);
        w.llc.hold = vec![RspOp::RspV];
        w.ask(&load(A));
        w.rest(20);
        w.alone(&acquire);
        w.llc.put(A, 5);
        let second = w.ask(&load(A));
        w.rest(20);
        w.llc.hold.clear();
        w.rest(40);
        let got = answers(&mut w);
        let value = |id: u64| got.iter().find(|a| a.0 == id).map(|a| word_in(&a.1, A));
        assert_eq!((value(0), value(second)), (Some(0), Some(5)), "{acquire:?}");
        assert_eq!((w.b.counted("gpu_l1_stale_fills"), w.b.counted("gpu_l1_fills")), (1, 1));
        w.alone(&add(Y, RLX));
        assert_eq!(w.value(A), 5);
        assert_eq!(w.b.counted("gpu_l1_hit_v"), 1, "what orders nothing drops nothing else");
    }
}

/// A store during a read of its line, written through before the line comes in.
#[test]
fn a_line_does_not_overwrite_stores() {
    let mut w = quiet(SbDrain::Eager);
    w.llc.hold = vec![RspOp::RspV];
    w.ask(&load(A));
    w.rest(20);
    w.ask(&store(B, 9, false));
    w.rest(60);
    assert_eq!(w.llc.word(B), 9);
    assert_eq!(w.b.counted("spandex.gpu_l1.Wt"), 1);
    w.llc.hold.clear();
    w.rest(40);
    assert_eq!(answers(&mut w).len(), 1);
    assert_eq!(w.value(B), 9);
    assert_eq!(w.b.counted("gpu_l1_hit_v"), 1);
    assert!(w.b.counted("spandex.race.gpu_own_store_written") > 0);
}

#[test]
fn loads_see_the_youngest_buffered_word() {
    let mut w = quiet(SbDrain::Full);
    w.llc.put(B, 3);
    w.ask(&store(A, 1, false));
    assert_eq!(w.value(A), 1, "nothing is read: the word is buffered");
    assert_eq!(w.llc.log, []);
    w.llc.hold = vec![RspOp::RspWt];
    w.ask(&Ask::Release);
    w.rest(20);
    w.ask(&store(A, 2, false));
    assert_eq!((w.value(A), w.llc.word(A)), (2, 1), "one entry is out, the other is younger");
    assert_eq!(w.value(B), 3);
    assert_eq!(w.value(A), 2, "captured by the read, so in the line");
    assert_eq!(ops(&w), [ReqOp::ReqWt, ReqOp::ReqV]);
    // The release does not wait for the second store, which waits for the first.
    w.llc.hold.clear();
    w.rest(40);
    assert_eq!((answers(&mut w).len(), w.llc.word(A)), (1, 1));
    w.alone(&Ask::End);
    assert_eq!(w.llc.word(A), 2);
}

/// A release is complete when the old owners have answered too.
#[test]
fn a_release_waits_for_the_llc_and_old_owners() {
    for release in [Ask::Release, Ask::End, add(Y, REL), add(Y, AR), store(Y, 1, true)] {
        let mut w = quiet(SbDrain::Full);
        let mut rng = w.b.rng.clone();
        w.llc.own(OTHERS[1], B, 0, &mut rng);
        w.ask(&store(A, 1, false));
        w.ask(&store(B, 2, false));
        w.rest(40);
        assert_eq!(w.llc.log, [], "stores stay in the buffer");
        w.llc.hold = vec![RspOp::RspWt];
        w.ask(&release);
        w.rest(60);
        assert!(answers(&mut w).is_empty() && !ops(&w).contains(&ReqOp::ReqWtData), "{release:?}");
        assert_eq!(w.llc.log[0].2, 3, "both words in one write-through");
        w.llc.hold.clear();
        w.rest(60);
        assert_eq!(answers(&mut w).len(), 1, "{release:?}");
        assert_eq!((w.llc.word(A), w.llc.word(B), w.llc.settled(B)), (1, 2, true));
    }
}

/// A release waits for stores of bytes at the LLC, and not for atomics that return a value: those are other
/// waves'.
#[test]
fn a_release_waits_for_stores_only() {
    let bytes = Ask::Store(DATA.start, 0b0110, (0..LINE as u8).collect(), false);
    for (ask, waits) in [(add(A, RLX), false), (bytes, true)] {
        let mut w = quiet(SbDrain::Full);
        w.llc.hold = vec![RspOp::RspWtData];
        w.ask(&ask);
        w.rest(20);
        w.ask(&Ask::Release);
        w.rest(60);
        assert_eq!((ops(&w).len(), answers(&mut w).is_empty()), (1, waits), "{ask:?}");
        w.llc.hold.clear();
        w.rest(60);
        assert_eq!(answers(&mut w).len(), 1, "{ask:?}");
    }
}

/// An atomic waits for buffered stores to its word, drops the line, and is not overtaken by an older line.
#[test]
fn atomics_are_done_at_the_llc() {
    let mut w = quiet(SbDrain::Full);
    assert_eq!(w.value(A), 0);
    w.ask(&store(A, 4, false));
    let (m, _) = w.alone(&add(A, RLX));
    assert_eq!((word_in(&m, A), w.llc.word(A)), (4, 5));
    assert_eq!(ops(&w), [ReqOp::ReqV, ReqOp::ReqWt, ReqOp::ReqWtData]);
    assert_eq!(w.value(A), 5, "the own copy is gone");
    // Stores to other words of the line stay where they are.
    w.ask(&store(B, 4, false));
    w.alone(&add(A, RLX));
    assert_eq!(ops(&w)[3..], [ReqOp::ReqV, ReqOp::ReqWtData]);
    // A read opened while the atomic is at the LLC may be older than it.
    let mut w = quiet(SbDrain::Full);
    w.llc.hold = vec![RspOp::RspWtData, RspOp::RspV];
    w.ask(&load(B));
    w.rest(10);
    w.ask(&add(A, RLX));
    w.ask(&load(B));
    w.rest(20);
    w.llc.hold.clear();
    w.rest(40);
    assert_eq!((answers(&mut w).len(), w.b.counted("gpu_l1_stale_fills")), (3, 2));
    assert_eq!(w.value(A), 1);
}

/// Bytes are merged at the LLC, words go through the buffer; everything stays in order.
#[test]
fn byte_stores_are_merged_at_the_llc() {
    let mut w = quiet(SbDrain::Full);
    w.llc.put(A, 0x1111_1111);
    w.llc.put(B, 0x2222_2222);
    let bytes: Vec<u8> = (0..LINE as u8).collect();
    // Bytes 1 and 2 of A and of the third word, byte 0 of the fourth, the fifth as a whole.
    w.ask(&Ask::Store(DATA.start, 0x000f_1606, bytes, false));
    w.llc.hold = vec![RspOp::RspWtData];
    w.rest(20);
    w.ask(&load(A));
    w.rest(40);
    assert!(answers(&mut w).is_empty(), "a load waits for bytes of its word");
    w.llc.hold.clear();
    w.rest(40);
    let got = answers(&mut w);
    assert_eq!((got.len(), word_in(&got[0].1, A)), (1, 0x1102_0111));
    w.alone(&Ask::Release);
    let words: Vec<u32> = (0..5).map(|i| w.llc.word(A + 4 * i)).collect();
    assert_eq!(words, [0x1102_0111, 0x2222_2222, 0x000a_0900, 0x0000_000c, 0x1312_1110]);
    assert_eq!(w.b.counted("gpu_l1_byte_stores"), 2);
}

#[test]
fn stores_leave_as_sb_drain_says() {
    for (drain, left) in [
        (SbDrain::Full, [0, 0, 0, 0, 0, 1]),
        (SbDrain::Highwater, [0, 0, 0, 0, 1, 1]),
        (SbDrain::Eager, [1; 6]),
    ] {
        let mut w = quiet(drain);
        for (i, out) in left.into_iter().enumerate() {
            let before = w.llc.log.len();
            w.ask(&store(A + LINE * i as u64, 1, false));
            w.ask(&store(A + LINE * i as u64, 2, false));
            w.rest(60);
            assert_eq!(usize::from(w.llc.log.len() > before), out, "{drain:?}, store {i}");
        }
        w.alone(&Ask::Release);
        assert!((0..6).all(|i| w.llc.word(A + LINE * i) == 2));
    }
}

/// One hit per cycle, shown `latency` cycles after its slot, which is the cycle after the request was taken.
#[test]
fn times() {
    for latency in [1, 2, 9] {
        let p = GpuL1Params { latency, ..roomy(SbDrain::Full) };
        let mut w = World::new(&p, 1, 1);
        w.llc.slow = 1;
        w.rest(40);
        let (_, miss) = w.alone(&load(A));
        let (_, hit) = w.alone(&load(A));
        // Offered in one cycle, slot in the next.
        assert_eq!(hit, u64::from(latency) + 1);
        // Request and answer of the unit, two messages of one cycle in the network, each taken one cycle after it was sent.
        println!("miss {miss}, hit {hit}");
        (0..40).for_each(|_| {
            w.ask(&load(A));
        });
        w.rest(80);
        let times: Vec<u64> = std::iter::from_fn(|| w.b.received("cu_rsp")).map(|(cycle, _)| cycle).collect();
        assert_eq!(times.len(), 40);
        assert!(times.windows(2).all(|t| t[1] == t[0] + 1), "one hit per cycle: {times:?}");
    }
}

/// Without work nothing changes, nor while everything waits: the engine skips the blocks.
#[test]
fn a_device_in_which_nothing_can_happen_sleeps() {
    let mut w = quiet(SbDrain::Full);
    w.value(A);
    w.ask(&store(A, 1, false));
    w.rest(60);
    w.b.falls_asleep(60);
    // A read, a release with an atomic behind it, an atomic behind a store to its word, all unanswered.
    w.llc.hold = vec![RspOp::RspV, RspOp::RspWt, RspOp::RspWtData];
    for ask in [load(Y), add(Y, REL), store(B, 1, false), add(B, RLX), load(A)] {
        w.ask(&ask);
    }
    w.rest(60);
    w.b.falls_asleep(60);
    w.llc.hold.clear();
    w.rest(100);
    assert_eq!(answers(&mut w).len(), 4);
}

/// Reset while everything is under way: afterwards the device knows nothing.
#[test]
fn reset_in_flight() {
    let mut w = quiet(SbDrain::Eager);
    w.value(A);
    w.llc.hold = vec![RspOp::RspV, RspOp::RspWt, RspOp::RspWtData];
    for ask in [load(Y), store(B, 1, false), add(Y, RLX), Ask::Release] {
        w.ask(&ask);
    }
    w.rest(30);
    w.b.reset();
    let mut fresh = crate::gpu_l1::llc::Llc::new(&w.p.spandex);
    fresh.put(A, 3);
    fresh.slow = 2;
    w.llc = fresh;
    w.rest(40);
    assert_eq!(w.value(A), 3);
    w.alone(&Ask::Release);
    assert_eq!(ops(&w), [ReqOp::ReqV]);
}

#[test]
fn forwards_are_answered_while_everything_waits() {
    let mut w = quiet(SbDrain::Full);
    w.llc.hold = vec![RspOp::RspV];
    w.ask(&load(A));
    for op in [FwdOp::Inv, FwdOp::ReqV, FwdOp::ReqWt] {
        w.forward(op, 3, 5);
    }
    w.run(40);
    assert_eq!((w.b.counted("spandex_tu_acks"), w.b.counted("spandex_tu_refused")), (1, 2));
}
