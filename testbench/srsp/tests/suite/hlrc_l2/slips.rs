//! Faults put into a bank are noticed.

use super::{small, wider};
use crate::hlrc_l2::world::{Mix, World};
use crate::l2_bench;
use weft_srsp::hlrc_l2::{HlrcL2Fault, HlrcL2Params, L2Write};

fn complaint(fault: HlrcL2Fault, write: L2Write, seed: u64) -> Option<String> {
    let p = if seed.is_multiple_of(2) { small(write, 4) } else { wider(write, 4) };
    let mut w = World::new(&HlrcL2Params { fault, ..p }, Mix::ALL, 10, seed);
    w.run(8_000);
    if w.complaint.is_none() {
        w.finish_all();
    }
    w.complaint
}

fn noticed(fault: HlrcL2Fault, write: L2Write, sign: &str) {
    l2_bench::noticed(&format!("{fault:?}"), sign, |seed| complaint(fault, write, seed));
}

#[test]
fn without_a_fault_nothing_is_noticed() {
    for (write, _) in L2Write::WORDS {
        assert_eq!(complaint(HlrcL2Fault::None, *write, 60), None);
    }
}

#[test]
fn a_grant_before_the_flush() {
    noticed(HlrcL2Fault::GrantBeforeFlush, L2Write::ThroughInv, "although");
}

#[test]
fn an_unreg_whose_bytes_are_lost() {
    noticed(HlrcL2Fault::LostUnreg, L2Write::Combine, "instead of");
}

#[test]
fn an_unreg_that_is_acknowledged_before_the_revoke_is_answered() {
    noticed(HlrcL2Fault::EarlyUnregAck, L2Write::ThroughInv, "");
}

#[test]
fn a_recall_that_loses_bytes() {
    noticed(HlrcL2Fault::LostRecall, L2Write::ThroughInv, "instead of");
}

#[test]
fn a_write_that_is_acknowledged_before_memory_has_it() {
    noticed(HlrcL2Fault::EarlyWbAck, L2Write::ThroughInv, "before memory has it");
}

#[test]
fn a_write_that_leaves_old_bytes_behind() {
    noticed(HlrcL2Fault::StaleFill, L2Write::ThroughInv, "instead of");
}
