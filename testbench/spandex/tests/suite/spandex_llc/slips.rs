//! Faults put into a bank are noticed.

use super::{MIXED, small};
use crate::spandex_llc::world::world_of;
use weft_spandex::llc::{LlcFault, LlcParams, RvkoGran};

fn complaint(fault: LlcFault, seed: u64) -> Option<String> {
    let rvko = if seed.is_multiple_of(2) { RvkoGran::Line } else { RvkoGran::Word };
    let mut w = world_of(&LlcParams { fault, rvko, ..small() }, &MIXED, 6, seed);
    w.run(12_000);
    if w.complaint.is_none() {
        w.finish();
    }
    w.complaint
}

fn noticed(fault: LlcFault) {
    let found = (60..66).find_map(|seed| complaint(fault, seed));
    println!("{fault:?}: {}", found.unwrap_or_else(|| panic!("{fault:?} is not noticed")));
}

#[test]
fn without_a_fault_nothing_is_noticed() {
    assert_eq!(complaint(LlcFault::None, 60), None);
}

#[test]
fn an_ack_that_counts_before_it_comes() {
    noticed(LlcFault::EarlyAck);
}

#[test]
fn a_write_back_that_does_not_learn_of_a_revocation() {
    noticed(LlcFault::NoCross);
}

#[test]
fn a_policy_that_is_decided_twice() {
    noticed(LlcFault::UnlatchedPolicy);
}

#[test]
fn a_victim_whose_owners_are_not_asked() {
    noticed(LlcFault::DropOwned);
}

#[test]
fn a_sharer_that_is_forgotten() {
    noticed(LlcFault::ForgottenSharer);
}

#[test]
fn extras_of_owned_words() {
    noticed(LlcFault::OwnedExtras);
}

#[test]
fn dirty_words_that_come_back_and_do_not_count() {
    noticed(LlcFault::LostDirty);
}

#[test]
fn a_revocation_that_does_not_wait_for_the_write_back() {
    noticed(LlcFault::NoWait);
}

#[test]
fn an_old_owner_that_stays_after_a_write_through() {
    noticed(LlcFault::StaleOwner);
}
