//! Storage, latency, throughput and sleep of a bank.

use super::{MIXED, small};
use crate::gpu_l2::l3::cpu_writes;
use crate::gpu_l2::world::{World, world_of};
use weft_bench::pages;
use weft_rtl::area::area;
use weft_spandex::bank::Bank;
use weft_spandex::hmesi::gpu_l2::table::page;
use weft_spandex::hmesi::gpu_l2::{GpuL2Params, gpu_l2};
use weft_spandex::hmesi::msg::HRspOp;
use weft_spandex::msg::ReqOp;
use weft_spandex::params::Spandex;

/// spandex.md section 9: section 4's bank without sharers and state S, with two bits of permission: sets x (ways x (tag + 2 + W + 32 W) + ways - 1), 256 sets of 16 ways with a tag of 30.
#[test]
fn lines_have_the_published_bits() {
    let p = GpuL2Params::published(Spandex::default());
    let found = area(&gpu_l2(&p).expect("legal"));
    let of = |name: &str| -> u64 { found.memories.iter().filter(|m| m.name == name).map(|m| m.bits).sum() };
    assert_eq!((p.bank.sets(), p.bank.tag_bits()), (256, 30));
    let lines = 256 * 16;
    assert_eq!(["tags", "owned", "lines", "trees"].map(of), [lines * 32, lines * 16, lines * 512, 256 * 15]);
    let arrays = ["tags", "owned", "sharers", "lines", "trees"].map(of).iter().sum::<u64>();
    assert_eq!(arrays, 256 * (16 * (30 + 2 + 16 + 32 * 16) + 15));
    let fields =
        |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    assert_eq!((fields("owned"), fields("state")), (lines * 16, lines * 2));
}

fn idle(p: &GpuL2Params) -> World {
    let mut w = world_of(p, &MIXED, 4, 1);
    (w.delay, w.below.pester) = (0, 0.0);
    w.b.run(100);
    w
}

/// As a bank of the LLC: a message is answered five cycles after it was taken.
#[test]
fn a_hit_takes_five_cycles() {
    let mut w = idle(&small());
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

/// So is a forward of the L3 whose line nobody below owns.
#[test]
fn a_forward_takes_five_cycles() {
    let mut w = idle(&small());
    let line = w.lines[0];
    w.ask(5, ReqOp::ReqV, line, 1);
    w.drain();
    w.below.log.clear();
    cpu_writes(&mut w, line, 0);
    let begun = w.b.sim.cycle();
    while w.below.sent(HRspOp::DataM).is_empty() {
        w.step(false);
    }
    assert_eq!(w.b.sim.cycle() - 1 - begun, 5);
    w.finish();
    w.check();
}

/// One message per cycle, if they are of different sets.
#[test]
fn hits_follow_each_other_without_a_gap() {
    let base = small();
    let s = Spandex { mshrs: 64, tbes: 9, ..base.bank.s.clone() };
    let mut w = idle(&base.sized(|b| Bank { s, size: 4 * b.size, ..b }));
    w.lines = (0..8).map(|set| 2 * (8 * 5 + set) + 1).collect();
    for line in w.lines.clone() {
        w.ask(5, ReqOp::ReqV, line, 0xf);
    }
    w.drain();
    w.log.clear();
    for line in w.lines.clone() {
        assert!(w.ask(4, ReqOp::ReqV, line, 1));
    }
    w.drain();
    let times: Vec<u64> = w.log.iter().map(|l| l.0).collect();
    assert_eq!((times.len(), times[7] - times[0]), (8, 7), "{times:?}");
    w.check();
}

/// Without work nothing changes, nor while everything waits: the engine skips the block.
#[test]
fn a_bank_in_which_nothing_can_happen_sleeps() {
    let mut w = idle(&small());
    w.lines = vec![29, 33, 41];
    w.ask(3, ReqOp::ReqOData, 29, 3);
    w.finish();
    w.check();
    (0..60).for_each(|_| w.b.sim.step());
    assert!(w.b.sim.asleep(), "idle");
    // A line on its way from the L3, a revocation that is not answered, requests that wait for both.
    w.below.deaf = true;
    w.devs[3].hold_fwd = true;
    w.ask(5, ReqOp::ReqV, 33, 1);
    w.ask(5, ReqOp::ReqWtData, 29, 1);
    w.rest(30);
    w.ask(4, ReqOp::ReqV, 33, 1);
    w.ask(4, ReqOp::ReqV, 29, 1);
    w.rest(60);
    (0..60).for_each(|_| w.b.sim.step());
    assert!(w.b.sim.asleep(), "waiting");
    w.finish();
    w.check();
}

#[test]
fn tables_are_those_of_the_hardware() {
    pages::is_current("spandex/docs/gpu-l2.md", &page());
}
