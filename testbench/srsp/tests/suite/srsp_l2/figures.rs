//! Storage, latency and throughput of a bank.

use super::small;
use crate::srsp_l2::world::{Mix, World};
use weft_rtl::area::area;
use weft_rtl::bv::Bv;
use weft_srsp::bank::Bank;
use weft_srsp::l2::{L2Params, srsp_l2};
use weft_srsp::params::{Impl, Srsp};

/// Bits of the named fields, and of the memory `lines` as data.
fn bits(p: &L2Params, fields: &[&str]) -> u64 {
    let found = area(&srsp_l2(p).expect("legal"));
    found.fields.iter().filter(|f| fields.contains(&f.field.as_str())).map(|f| f.bits).sum()
}

fn one_bank() -> L2Params {
    L2Params::published(Srsp { banks: 1, ..Srsp::default() }, Impl::Srsp)
}

/// srsp.md section 4: 8192 lines of 3 + 33 + 64 + 512 bits and 512 trees of 15.
#[test]
fn lines_of_one_bank_have_the_published_bits() {
    let module = srsp_l2(&one_bank()).expect("legal");
    let found = area(&module);
    let of = |name: &str| -> u64 { found.memories.iter().filter(|m| m.name == name).map(|m| m.bits).sum() };
    let [tags, masks, lines, trees] = ["tags", "masks", "lines", "trees"].map(of);
    assert_eq!([tags, masks, lines, trees], [8192 * 36, 8192 * 64, 8192 * 512, 512 * 15]);
    assert_eq!(tags + masks + lines + trees, 5_021_184);
}

#[test]
fn the_sfifo_has_the_published_bits() {
    assert_eq!(bits(&one_bank(), &["sfifo"]), 1023);
    let four = L2Params::published(Srsp::default(), Impl::Srsp);
    assert_eq!(4 * bits(&four, &["sfifo"]), 1044);
}

#[test]
fn the_lock_table_has_the_published_bits() {
    let p = L2Params::published(Srsp::default(), Impl::Srsp);
    let found = area(&srsp_l2(&p).expect("legal"));
    let of = |name: &str| -> u64 { found.memories.iter().filter(|m| m.name == name).map(|m| m.bits).sum() };
    assert_eq!(of("lock_tbl_keys") + of("lock_tbl_owners") + 8, 392);
}

fn idle(p: &L2Params) -> World {
    World::new(p, Mix { rd: 0.0, wb: 0.0, atm: 0.0, sys_atm: 0.0, remote: 0.0, sys: 0.0 }, 8, 1).at_once(100)
}

/// A hit is offered `latency` cycles after the cycle in which it was taken.
#[test]
fn a_hit_takes_the_latency() {
    for latency in [5, 24, 40] {
        let mut w = idle(&small(Impl::Srsp, 2).sized(|s| Bank { latency, ..s }));
        let line = w.lines[0];
        w.read(0, line);
        w.drain();
        w.read(1, line);
        w.takes(latency, "a read", |w| w.l1s[1].rds.is_empty());
        w.check();
        assert_eq!(w.b.counted("l2_hits"), 1);
    }
}

/// One array access per cycle, once enough L1s ask.
#[test]
fn hits_follow_each_other_without_a_gap() {
    let mut p = small(Impl::Srsp, 6);
    p.bank.srsp.mshrs = 16;
    let mut w = idle(&p);
    let line = w.lines[0];
    w.read(0, line);
    w.drain();
    (0..16 * 6).for_each(|i| assert!(w.read(i % 6, line)));
    let cycles = w.settled();
    assert!(cycles <= 96 + 9 + 8, "{cycles} cycles for 96 reads");
}

/// A write-back is in the array when it is acknowledged, and no line is fetched for it.
#[test]
fn a_write_back_fetches_nothing() {
    let mut w = idle(&small(Impl::Srsp, 2));
    let line = w.lines[0];
    w.write(0, line, Bv::from_u64(0xff, 64), Bv::from_u64(0x1122_3344_5566_7788, 512));
    w.settled();
    assert_eq!((w.memory.reads, w.memory.written), (0, 0));
}
