//! Faults put into a bank are noticed.

use super::small;
use crate::l2_bench;
use crate::srsp_l2::world::{Mix, World};
use weft_srsp::l2::{L2Fault, L2Params};
use weft_srsp::msg::ReqOp;
use weft_srsp::params::Impl;

fn complaint(fault: L2Fault, seed: u64) -> Option<String> {
    let p = L2Params { fault, ..small(Impl::Srsp, 4) };
    let mut w = World::new(&p, Mix { sys: 0.002, ..Mix::ALL }, 10, seed);
    w.run(6_000);
    w.finish_all(ReqOp::SysFlush);
    w.complaint
}

fn noticed(fault: L2Fault, sign: &str) {
    l2_bench::noticed(&format!("{fault:?}"), sign, |seed| complaint(fault, seed));
}

#[test]
fn without_a_fault_nothing_is_noticed() {
    assert_eq!(complaint(L2Fault::None, 60), None);
}

#[test]
fn a_lock_that_is_not_taken() {
    noticed(L2Fault::LockNotTaken, "");
}

#[test]
fn an_unlock_that_is_missed() {
    noticed(L2Fault::UnlockMissed, "");
}

#[test]
fn an_overflow_that_loses_the_head() {
    noticed(L2Fault::OverflowLosesHead, "");
}

#[test]
fn a_fill_that_overwrites_dirty_bytes() {
    noticed(L2Fault::FillOverwrites, "instead of");
}

#[test]
fn a_fence_that_does_not_wait() {
    noticed(L2Fault::FenceMissed, "after a SYS operation");
}
