//! Storage, latency and throughput of a bank.

use super::small;
use crate::hlrc_l2::world::{Mix, World};
use weft_rtl::area::area;
use weft_srsp::bank::Bank;
use weft_srsp::hlrc_l2::{HlrcL2Params, L2Write, hlrc_l2};
use weft_srsp::params::Srsp;

/// srsp.md section 4: lines of 3 bits of state, tag, 64 + 512 and an owner of 7; 65 536 of them in 4 MB; a tree of 15 per set.
#[test]
fn lines_have_the_published_bits() {
    let srsp = Srsp { cus: 128, banks: 1, ..Srsp::default() };
    let p = HlrcL2Params::published(srsp);
    let found = area(&hlrc_l2(&p).expect("legal"));
    let of = |name: &str| -> u64 { found.memories.iter().filter(|m| m.name == name).map(|m| m.bits).sum() };
    let lines = 65_536;
    assert_eq!(p.bank.tag_bits(), 30);
    assert_eq!(["tags", "masks", "lines", "trees"].map(of), [lines * 33, lines * 64, lines * 512, 4096 * 15]);
    assert_eq!(of("owners"), lines * 7);
    let sfifo: u64 = found.fields.iter().filter(|f| f.field == "sfifo").map(|f| f.bits).sum();
    assert_eq!(sfifo, 1023);
}

fn idle(p: &HlrcL2Params) -> World {
    let mut w = World::new(p, Mix::NOTHING, 8, 1).at_once(100);
    w.flush = 0;
    w
}

/// A hit is offered `latency` cycles after the cycle in which it was taken, and so is a REVOKE.
#[test]
fn hits_and_revokes_take_the_latency() {
    for latency in [5, 24, 40] {
        let mut w = idle(&small(L2Write::ThroughInv, 3).sized(|s| Bank { latency, ..s }));
        let line = w.lines[0];
        w.read(0, line);
        w.drain();
        w.read(1, line);
        w.takes(latency, "a read", |w| w.l1s[1].rds.is_empty());
        w.register(1, line);
        w.takes(latency, "a registration of a line that is here", |w| w.l1s[1].regs.is_empty());
        w.l1s[1].frozen = true;
        w.register(2, line);
        w.takes(latency, "a REVOKE", |w| !w.l1s[1].probes.is_empty());
        w.settled();
        assert_eq!(w.b.counted("l2_hits"), 2);
    }
}

/// One array access per cycle, once enough L1s ask.
#[test]
fn hits_follow_each_other_without_a_gap() {
    let mut p = small(L2Write::Combine, 6);
    p.bank.srsp.mshrs = 16;
    let mut w = idle(&p);
    let line = w.lines[0];
    w.read(0, line);
    w.drain();
    (0..16 * 6).for_each(|i| assert!(w.read(i % 6, line)));
    let cycles = w.settled();
    assert!(cycles <= 96 + 9 + 8, "{cycles} cycles for 96 reads");
}
