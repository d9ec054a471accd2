//! Storage, latency, throughput, limits and sleep of a bank.

use super::{WORDS, small};
use crate::spandex_llc::world::{World, release, world_of};
use weft_bench::pages;
use weft_rtl::area::area;
use weft_spandex::bank::Bank;
use weft_spandex::llc::table::page;
use weft_spandex::llc::{LlcParams, SharerMode, spandex_llc};
use weft_spandex::msg::ReqOp;
use weft_spandex::params::Spandex;
use weft_spandex_bench::devices::Kind;

/// spandex.md section 4.1: sets x (ways x (tag + 3 + W + N_S + 32 W) + ways - 1), 512 sets of 16 ways with a tag of 29.
#[test]
fn lines_have_the_published_bits() {
    for (sharers, mode) in [(8, SharerMode::Exact), (24, SharerMode::Exact), (8, SharerMode::Broadcast)] {
        let p =
            LlcParams { sharers: mode, ..LlcParams::published(Spandex { sharers, ..Spandex::default() }) };
        let found = area(&spandex_llc(&p).expect("legal"));
        let of =
            |name: &str| -> u64 { found.memories.iter().filter(|m| m.name == name).map(|m| m.bits).sum() };
        let kept = if mode == SharerMode::Exact { u64::from(sharers) } else { 0 };
        assert_eq!((p.bank.sets(), p.bank.tag_bits()), (512, 29));
        let lines = 512 * 16;
        assert_eq!(
            ["tags", "owned", "lines", "trees"].map(of),
            [lines * 32, lines * 16, lines * 512, 512 * 15]
        );
        assert_eq!(of("sharers"), lines * kept);
        let arrays = ["tags", "owned", "sharers", "lines", "trees"].map(of).iter().sum::<u64>();
        assert_eq!(arrays, 512 * (16 * (29 + 3 + 16 + kept + 32 * 16) + 15));
        let fields =
            |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
        // What a plain cache has not: two bits of state in place of one valid bit are counted whole.
        assert_eq!((fields("owned"), fields("state")), (lines * 16, lines * 2));
    }
}

fn idle(p: &LlcParams, kinds: &[Kind]) -> World {
    let mut w = world_of(p, kinds, 4, 1);
    (w.delay, w.below.delay) = (0, 0);
    w.b.run(100);
    w
}

/// Another of the same line follows in the third cycle.
#[test]
fn hits_of_a_line_follow_every_three_cycles() {
    let mut w = idle(&small(), &WORDS);
    let line = w.lines[0];
    w.ask(5, ReqOp::ReqV, line, 1);
    w.drain();
    w.log.clear();
    for d in [0, 1, 2, 3, 4, 5] {
        w.ask(d, ReqOp::ReqV, line, 1);
    }
    w.drain();
    let times: Vec<u64> = w.log.iter().map(|l| l.0).collect();
    assert!(times.windows(2).all(|t| t[1] == t[0] + 3), "{times:?}");
    w.check();
}

/// A message is answered five cycles after it was taken: four stages with the queue, and the output register.
#[test]
fn a_hit_takes_five_cycles() {
    let mut w = idle(&small(), &WORDS);
    let line = w.lines[0];
    w.ask(5, ReqOp::ReqV, line, 1);
    w.drain();
    w.log.clear();
    w.ask(5, ReqOp::ReqV, line, 1);
    let begun = w.b.sim.cycle();
    while w.log.is_empty() {
        w.step(false);
    }
    assert_eq!(w.log[0].0 - 1 - begun, 5);
    w.finish();
    w.check();
}

/// One message per cycle, if they are of different sets.
#[test]
fn hits_follow_each_other_without_a_gap() {
    let base = small();
    let s = Spandex { mshrs: 64, tbes: 8, ..base.bank.s.clone() };
    let mut w = idle(&base.sized(|b| Bank { s, size: 4 * b.size, ..b }), &WORDS);
    // One line in each of the eight sets.
    w.lines = (0..8).map(|set| 2 * (8 * 5 + set) + 1).collect();
    for line in w.lines.clone() {
        w.ask(5, ReqOp::ReqV, line, 0xf);
    }
    w.drain();
    w.log.clear();
    for round in 0..5 {
        for line in w.lines.clone() {
            assert!(w.ask([3, 4, 5][round % 3], ReqOp::ReqV, line, 1));
        }
        w.drain();
        let times: Vec<u64> = w.log.iter().map(|l| l.0).collect();
        assert_eq!((times.len(), times[7] - times[0]), (8, 7), "{times:?}");
        w.log.clear();
    }
    w.check();
}

/// Without work nothing changes, nor while everything waits: the engine skips the block.
#[test]
fn a_bank_in_which_nothing_can_happen_sleeps() {
    let mut w = idle(&small(), &WORDS);
    w.lines = vec![29, 33, 41];
    w.ask(3, ReqOp::ReqOData, 29, 3);
    w.finish();
    w.check();
    (0..60).for_each(|_| w.b.sim.step());
    assert!(w.b.sim.asleep(), "idle");
    // A line on its way from memory, a revocation that is not answered, requests that wait for both.
    w.below.held_lines.insert(33);
    w.devs[3].hold_fwd = true;
    w.ask(5, ReqOp::ReqV, 33, 1);
    w.ask(5, ReqOp::ReqWtData, 29, 1);
    w.rest(30);
    w.ask(4, ReqOp::ReqV, 33, 1);
    w.ask(4, ReqOp::ReqV, 29, 1);
    w.rest(60);
    (0..60).for_each(|_| w.b.sim.step());
    assert!(w.b.sim.asleep(), "waiting");
    release(&mut w, 33);
    w.finish();
    w.check();
}

#[test]
fn tables_are_those_of_the_hardware() {
    pages::is_current("spandex/docs/spandex-llc.md", &page());
}

#[test]
fn illegal_values_are_refused() {
    let p = small();
    let bad = [
        p.clone().sized(|b| Bank { ways: 1, ..b }),
        p.clone().sized(|b| Bank { ways: 3, ..b }),
        p.clone().sized(|b| Bank { ways: 32, ..b }),
        p.clone().sized(|b| Bank { size: 1000, ..b }),
        p.clone().sized(|b| Bank { size: 0, ..b }),
        p.clone().sized(|b| Bank { size: 3 * b.size, ..b }),
        p.clone().sized(|b| Bank { stalls: 0, ..b }),
        p.sized(|b| Bank { stalls: 257, ..b }),
    ];
    for p in bad {
        let error = spandex_llc(&p).map(|_| ()).expect_err("illegal").to_string();
        assert!(error.contains("legal:") && error.contains("spandex-llc"), "{error}");
    }
}
