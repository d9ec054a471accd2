//! Addresses that differ in one bit: what is under way, noted or held of one of them does not concern the
//! other.

use crate::l1_bench::ask::{ACQ, Ask, REL, RLX};
use crate::l1_bench::banks::LINE;
use crate::srsp_l1::world::{OTHER, World, small, sync};
use weft_srsp::Shape;
use weft_srsp::l1::L1Params;
use weft_srsp::msg::{ProbeOp, RspOp, SyncOp};
use weft_srsp::params::Impl;

/// Bits of an address, and those that tell lines and words apart.
const BITS: u32 = 32;
const OF_LINE: std::ops::Range<u32> = 6..BITS;
const OF_WORD: std::ops::Range<u32> = 2..BITS;

/// Words of set 5 of 8: all other bits are 0, or 1.
const WORDS: [u64; 2] = [0x140, 0xffff_ff7c];

/// Two ways in each of 8 sets; the tables have four entries each.
fn world() -> World {
    let p = small(Impl::Srsp).sized(|s| Shape { size: 1024, ways: 2, ..s });
    let mut w = World::new(&L1Params { pa: 4, ..p }, 1);
    w.banks.slow = 1;
    w.rest(40);
    w
}

/// A word of set 0 that has nothing to do with others; `n` tells them apart.
fn elsewhere(n: u64) -> u64 {
    0x5a5a_0000 + 8 * LINE * n
}

fn load(addr: u64) -> Ask {
    Ask::Load(addr & !3)
}

fn atomic(addr: u64, scope: u64) -> Ask {
    sync(SyncOp::Add, addr & !3, 1, 0, RLX, scope, false)
}

/// The answer to what is asked comes in so many cycles.
fn comes(w: &mut World, ask: Ask, cycles: u64) -> bool {
    w.ask(ask);
    w.rest(cycles);
    !w.answered().is_empty()
}

fn pack_comes(w: &mut World, op: ProbeOp, addr: u64) -> Option<bool> {
    w.probe(op, addr);
    w.rest(40);
    w.acks.pop()
}

/// Write-backs of `others` lines are under way, then that of the line of `addr`.
fn writes_back(w: &mut World, addr: u64, others: u64) {
    let dirty: Vec<u64> = (0..others).map(elsewhere).collect();
    dirty.iter().chain([&addr]).for_each(|addr| drop(w.answer(Ask::Store(addr & !3, 7, true))));
    w.banks.hold = vec![RspOp::WbAck];
    // Two other lines for each of the two sets take their ways.
    let over = [2, 3].map(elsewhere).into_iter().chain([addr ^ 3 << 12, addr ^ 3 << 14]);
    over.for_each(|addr| drop(w.answer(load(addr))));
    w.rest(20);
    assert_eq!(w.banks.log.len() as u64, others + 1);
}

#[test]
fn a_write_back_holds_up_what_concerns_its_line_alone() {
    for (addr, others) in WORDS.into_iter().flat_map(|addr| (0..3).map(move |others| (addr, others))) {
        for who in 0..3 {
            let mut w = world();
            writes_back(&mut w, addr, others);
            let mut goes = |addr: u64| match who {
                0 => comes(&mut w, load(addr), 40),
                1 => comes(&mut w, atomic(addr, 1), 40),
                _ => pack_comes(&mut w, ProbeOp::SelInv, addr).is_some(),
            };
            // A full PA-TBL flushes.
            let near = OF_LINE.step_by(if who == 2 { 9 } else { 1 });
            near.for_each(|bit| assert!(goes(addr ^ 1 << bit), "{addr:#x}, bit {bit}"));
            assert!(!goes(addr), "{addr:#x} waits for the acknowledgement");
            w.banks.hold.clear();
            w.rest(40);
            assert!(!w.acks.is_empty() || !w.answered().is_empty());
        }
    }
}

/// SEL_FLUSH finds a release by its word, whichever entry it has.
#[test]
fn a_release_is_of_its_word() {
    for (addr, others) in WORDS.into_iter().flat_map(|addr| (0..4).map(move |others| (addr, others))) {
        let mut w = world();
        let before = (0..others).map(elsewhere);
        let after = (others..3).map(elsewhere);
        for addr in before.chain([addr]).chain(after) {
            w.answer(sync(SyncOp::St, addr & !3, 1, 0, REL, 0, false));
        }
        for bit in OF_WORD {
            assert_eq!(pack_comes(&mut w, ProbeOp::SelFlush, addr ^ 1 << bit), Some(false), "bit {bit}");
        }
        assert_eq!(pack_comes(&mut w, ProbeOp::SelFlush, addr), Some(true), "{addr:#x}");
    }
}

/// An acquire finds that it is owed a promotion by its word, whichever entry says so.
#[test]
fn a_promotion_is_of_its_word() {
    for (addr, others) in WORDS.into_iter().flat_map(|addr| (0..4).map(move |others| (addr, others))) {
        let mut w = world();
        let acquire = |addr: u64| sync(SyncOp::Ld, addr & !3, 0, 0, ACQ, 0, false);
        for addr in (0..others).map(elsewhere).chain([addr]).chain((others..3).map(elsewhere)) {
            assert!(pack_comes(&mut w, ProbeOp::SelInv, addr).is_some());
        }
        for bit in OF_WORD {
            w.answer(acquire(addr ^ 1 << bit));
        }
        assert_eq!(w.b.counted("srsp_l1_pa_hit"), 0);
        w.banks.seen.clear();
        w.answer(acquire(addr));
        assert_eq!(w.banks.seen, [format!("ATM {}", addr / LINE)]);
    }
}

/// A load joins the MSHR of its own line.
#[test]
fn an_mshr_is_of_its_line() {
    for (addr, others) in WORDS.into_iter().flat_map(|addr| (0..2).map(move |others| (addr, others))) {
        let mut w = world();
        for bit in OF_LINE {
            w.banks.seen.clear();
            w.banks.hold = vec![RspOp::Fill];
            let asks: Vec<u64> = (0..others).map(elsewhere).chain([addr, addr ^ 1 << bit, addr]).collect();
            for addr in &asks {
                w.ask(load(*addr));
            }
            w.rest(30);
            let fetched = [&asks[..others as usize], &[addr, addr ^ 1 << bit]].concat();
            let mut expected: Vec<String> =
                fetched.iter().map(|addr| format!("RD {}", addr / LINE)).collect();
            expected.sort();
            w.banks.seen.sort();
            assert_eq!(w.banks.seen, expected, "bit {bit}");
            w.banks.hold.clear();
            w.rest(30);
            assert_eq!(w.answered().len(), asks.len());
            w.answer(Ask::Begin);
        }
    }
}

/// An atomic at the L2 keeps its line from others.
#[test]
fn an_atomic_at_the_l2_holds_its_line() {
    for addr in WORDS {
        let mut w = world();
        w.banks.hold = vec![RspOp::AtmRsp];
        w.ask(atomic(addr, 1));
        w.rest(20);
        OF_LINE.for_each(|bit| assert!(comes(&mut w, load(addr ^ 1 << bit), 40), "bit {bit}"));
        assert!(!comes(&mut w, load(addr), 40));
        w.banks.hold.clear();
        w.rest(40);
        assert_eq!(w.answered().len(), 2);
    }
}

/// A line that another CU has locked is asked for all the same; it comes when the lock ends.
#[test]
fn requests_have_their_own_address() {
    for addr in WORDS {
        for bit in OF_LINE {
            let mut w = world();
            let near = addr ^ 1 << bit;
            w.locked.insert(near / LINE, OTHER);
            assert!(comes(&mut w, atomic(addr, 1), 40) && !comes(&mut w, atomic(near, 1), 40), "bit {bit}");
            w.locked.clear();
            w.rest(40);
            assert_eq!(w.answered().len(), 1);
        }
    }
}
