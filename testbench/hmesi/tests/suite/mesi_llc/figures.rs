//! Storage, latency and sleep of a bank.

use super::small;
use crate::mesi_llc::world::World;
use weft_bench::pages;
use weft_rtl::area::area;
use weft_spandex::hmesi::mesi_llc::table::page;
use weft_spandex::hmesi::mesi_llc::{MesiLlcParams, mesi_llc};
use weft_spandex::mesi_port::Get;
use weft_spandex::params::Spandex;

/// spandex.md section 9: tag, state 2, sharers N_CPU + 1, owner 4, dirty, data; 512 sets of 16 ways with a tag of 29.
#[test]
fn lines_have_the_published_bits() {
    let p = MesiLlcParams::published(Spandex::default());
    let found = area(&mesi_llc(&p).expect("legal"));
    let of = |name: &str| -> u64 { found.memories.iter().filter(|m| m.name == name).map(|m| m.bits).sum() };
    assert_eq!((p.bank.sets(), p.bank.tag_bits()), (512, 29));
    let lines = 512 * 16;
    assert_eq!(
        ["tags", "sharers", "lines", "trees"].map(of),
        [lines * (29 + 2 + 1 + 4), lines * 9, lines * 512, 512 * 15]
    );
}

fn idle(p: &MesiLlcParams) -> World {
    let mut w = World::new(p, 4, 1);
    (w.delay, w.memory_delay) = (0, 0);
    w.b.run(100);
    w
}

/// A message is answered five cycles after it was taken: four stages with the queue, and the output register. As in the Spandex LLC.
#[test]
fn a_hit_takes_five_cycles() {
    let mut w = idle(&small());
    let line = w.lines[0];
    for c in [0, 1] {
        w.ask(c, Get::GetS, line);
        w.drain();
    }
    w.log.clear();
    w.times.clear();
    w.ask(2, Get::GetS, line);
    let begun = w.b.sim.cycle();
    while w.log.is_empty() {
        w.step(false);
    }
    assert_eq!(w.times[0] - 1 - begun, 5);
    w.finish();
    w.check();
}

/// Without work nothing changes, nor while everything waits: the engine skips the block.
#[test]
fn a_bank_in_which_nothing_can_happen_sleeps() {
    let mut w = idle(&small());
    let line = w.lines[0];
    w.ask(3, Get::GetM, line);
    w.finish();
    w.check();
    (0..60).for_each(|_| w.b.sim.step());
    assert!(w.b.sim.asleep(), "idle");
    w.clients[3].hold_fwd = true;
    w.ask(1, Get::GetS, line);
    w.rest(20);
    w.ask(2, Get::GetS, line);
    w.rest(60);
    (0..60).for_each(|_| w.b.sim.step());
    assert!(w.b.sim.asleep(), "waiting");
    w.finish();
    w.check();
}

#[test]
fn tables_are_those_of_the_hardware() {
    pages::is_current("spandex/docs/mesi-llc.md", &page());
}
