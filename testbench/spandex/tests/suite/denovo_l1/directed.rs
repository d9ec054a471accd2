//! What random work hardly meets.

use crate::denovo_l1::world::{Shape, World, small};
use crate::waves::{ACQ, Ask, DATA, RLX};
use crate::words::LINE;
use weft_spandex::denovo_l1::{Atomics, Inject};
use weft_spandex::gpu_l1::SbDrain;
use weft_spandex::msg::{FwdOp, RspOp, WordOp};

fn quiet(inject: Inject) -> World {
    quiet_of(Shape { inject, ..small(SbDrain::Eager) })
}

fn quiet_of(p: Shape) -> World {
    let mut w = World::new(&p, 1);
    w.net.slow = 2;
    w.stop();
    w.run(60);
    w
}

fn store(byte: u8) -> Ask {
    Ask::Store(DATA.start, 0xf, vec![byte; LINE as usize], true)
}

const LOAD: Ask = Ask::Load(DATA.start, 0xf);

/// A read is under way while another device writes and this one acquires: what it brings is not kept. Without the mark it is.
#[test]
fn a_stale_read_installs_nothing() {
    for (inject, seen) in [(Inject::None, 7), (Inject::NoStale, 0)] {
        let mut w = quiet(inject);
        w.net.hold = vec![("d0_rsp", RspOp::RspV as u64)];
        w.asks(0, LOAD);
        w.run(100);
        w.does(1, store(7));
        w.does(0, Ask::Acquire);
        w.net.hold.clear();
        w.run(100);
        assert_eq!(w.last[&(DATA.start * LINE)], 0, "the load came before");
        w.does(0, LOAD);
        assert_eq!(w.last[&(DATA.start * LINE)], seen, "{inject:?}");
    }
}

/// An acquire drops the words that are valid here, so that what others have written since is seen.
#[test]
fn an_acquire_leaves_no_valid_word() {
    for (inject, seen) in [(Inject::None, 7), (Inject::KeepsValid, 0)] {
        let mut w = quiet(inject);
        w.does(0, LOAD);
        w.does(1, store(7));
        w.does(0, Ask::Acquire);
        w.does(0, LOAD);
        assert_eq!(w.last[&(DATA.start * LINE)], seen, "{inject:?}");
    }
}

/// Adds to word 6 of the first line.
fn add(n: u32) -> Ask {
    Ask::Sync(WordOp::Add, DATA.start, 0xf << 24, n, 0, 0)
}

/// A word stored here leaves, while its line is read, with others that the LLC takes back for an atomic of another device: what the read brings is older, be it a word asked for that is stored meanwhile,
/// or an extra that was buffered before.
#[test]
fn a_read_brings_nothing_older_than_what_was_stored_here() {
    let quick = (Inject::FillOverStore, SbDrain::Eager, 0xf000_000f, ("d1_fwd", FwdOp::ReqV as u64));
    let late = (Inject::StaleExtras, SbDrain::Full, 0xf0, ("d0_rsp", RspOp::RspV as u64));
    for (fault, drain, asked, hold) in [quick, late] {
        for (inject, seen) in [(Inject::None, 5), (fault, 0)] {
            let mut w = quiet_of(Shape { inject, ..small(drain) });
            w.does(0, add(1));
            w.does(1, Ask::Store(DATA.start, 0xf << 28, vec![1; LINE as usize], true));
            let buffered = Ask::Store(DATA.start, 0xf, vec![5; LINE as usize], false);
            if drain == SbDrain::Full {
                w.asks(0, buffered.clone());
                w.run(100);
            }
            w.net.hold = vec![hold];
            w.asks(0, Ask::Load(DATA.start, asked));
            w.run(100);
            if drain == SbDrain::Eager {
                w.asks(0, buffered);
            }
            w.does(0, Ask::Release);
            w.does(3, add(1));
            w.net.hold.clear();
            w.run(100);
            w.does(0, LOAD);
            assert_eq!(w.last[&(DATA.start * LINE)], seen, "{inject:?}");
        }
    }
}

/// `atomics=through`: an atomic on a word that is not owned is done at the LLC, whatever copy is here; on an owned word it is done here.
#[test]
fn atomics_go_to_the_llc_unless_the_word_is_owned() {
    for (inject, seen) in [(Inject::None, 4), (Inject::KeepsCopy, 0)] {
        let mut w = quiet_of(Shape { inject, atomics: Atomics::Through, ..small(SbDrain::Eager) });
        let sixth = Ask::Load(DATA.start, 0xf << 24);
        w.does(0, sixth.clone());
        w.does(0, add(4));
        w.does(0, sixth.clone());
        assert_eq!(w.last[&(DATA.start * LINE + 24)], seen, "{inject:?}");
        let count = |w: &World| ["atomics", "atomics_owned"].map(|n| w.b.counted(&format!("denovo_l1_{n}")));
        assert_eq!(count(&w), [1, 0]);
        w.does(0, Ask::Store(DATA.start, 0xf << 24, vec![1; LINE as usize], true));
        w.does(0, add(4));
        w.does(0, sixth);
        assert_eq!(w.last[&(DATA.start * LINE + 24)], 5);
        assert_eq!(count(&w), [1, 1]);
    }
}

/// Copies of a read-only region outlive acquires, but not the beginning of a kernel, and other loads do not see them.
#[test]
fn copies_of_read_only_regions_last_for_a_kernel() {
    for (inject, seen) in [(Inject::None, 7), (Inject::KeepsRegion, 0)] {
        let mut w = quiet_of(Shape { inject, regions: true, ..small(SbDrain::Eager) });
        let (first, second) = (DATA.start * LINE, (DATA.start + 1) * LINE);
        let region = |line: u64| Ask::Region(line, 0xf);
        w.does(0, region(DATA.start));
        w.does(0, region(DATA.start + 1));
        // The region is written, as a program must not do: so the copies show.
        w.does(1, store(7));
        w.does(1, Ask::Store(DATA.start + 1, 0xf, vec![7; LINE as usize], true));
        w.does(0, Ask::Acquire);
        w.does(0, region(DATA.start));
        assert_eq!(w.last[&first], 0, "the copy stays");
        w.does(0, LOAD);
        assert_eq!(w.last[&first], 7, "a load without region reads again");
        w.does(0, Ask::Begin);
        w.does(0, region(DATA.start + 1));
        assert_eq!(w.last[&second], seen, "{inject:?}");
    }
}

/// Another device's store takes a word away before its ownership has come: the word is not owned afterwards. (In a program without data races the other store waits for this one.)
#[test]
fn a_removal_overtakes_ownership() {
    let mut w = quiet(Inject::None);
    w.net.hold = vec![("d0_rsp", RspOp::RspO as u64)];
    w.asks(0, store(3));
    w.run(100);
    w.does(1, store(4));
    w.net.hold.clear();
    w.run(100);
    assert_eq!(w.b.counted("spandex.denovo_l1.ReqO.pending"), 1);
    w.does(0, Ask::Acquire);
    w.does(0, LOAD);
    assert_eq!(w.last[&(DATA.start * LINE)], 4);
}

/// A read whose word always goes to another owner before it comes by: after `n_fail` Nacks the LLC serialises it, which cannot fail.
#[test]
fn a_read_is_not_starved() {
    for n_fail in [1, 2, 3, 7] {
        let mut w = quiet_of(Shape { n_fail, ..small(SbDrain::Eager) });
        let read = FwdOp::ReqV as u64;
        w.does(1, store(1));
        w.net.hold = vec![("d1_fwd", read)];
        w.asks(0, LOAD);
        w.run(100);
        for round in 0..n_fail {
            let (taker, held) = [(2, "d2_fwd"), (1, "d1_fwd")][round as usize % 2];
            w.does(taker, store(2 + round as u8));
            w.net.hold = if round + 1 < n_fail { vec![(held, read)] } else { vec![] };
            w.run(150);
        }
        assert_eq!(u32::from(w.last[&(DATA.start * LINE)]), 1 + n_fail);
        let counts = ["nacks", "retries", "escalations"].map(|n| w.b.counted(&format!("spandex_tu_{n}")));
        assert_eq!(counts, [u64::from(n_fail), u64::from(n_fail) - 1, 1]);
    }
}

/// Word 0 is here and valid when another device writes it; an atomic of word 1 of the same line acquires, where it is done in place and where the word has to be asked for.
#[test]
fn an_atomic_that_acquires_drops_the_other_words_of_its_line() {
    for in_place in [false, true] {
        let mut w = quiet(Inject::None);
        let atomic = |order| Ask::Sync(WordOp::Add, DATA.start, 0xf0, 1, 0, order);
        if in_place {
            w.does(0, atomic(RLX));
        }
        w.does(0, LOAD);
        w.does(1, store(7));
        w.does(0, atomic(ACQ));
        w.does(0, LOAD);
        assert_eq!(w.last[&(DATA.start * LINE)], 7, "in place: {in_place}");
    }
}

/// Without work nothing changes, nor while everything waits: the engine skips the blocks.
#[test]
fn devices_in_which_nothing_can_happen_sleep() {
    let mut w = quiet(Inject::None);
    w.does(0, store(3));
    w.does(1, LOAD);
    w.b.falls_asleep(60);
    w.net.hold = vec![("d0_rsp", RspOp::RspV as u64), ("d0_rsp", RspOp::RspO as u64)];
    w.asks(0, Ask::Load(DATA.start + 1, 0xf));
    w.asks(0, Ask::Store(DATA.start + 2, 0xf, vec![1; LINE as usize], true));
    w.run(100);
    w.b.falls_asleep(60);
}
