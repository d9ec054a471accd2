//! Faults put into a bank are noticed.

use super::{MIXED, small};
use crate::gpu_l2::directed::read_once;
use crate::gpu_l2::world::world_of;
use weft_spandex::bank::Bank;
use weft_spandex::hmesi::gpu_l2::{GpuL2Fault, GpuL2Params};
use weft_spandex::llc::RvkoGran;
use weft_spandex::params::Spandex;

fn complaint(fault: GpuL2Fault, seed: u64) -> Option<String> {
    let rvko = if seed.is_multiple_of(2) { RvkoGran::Line } else { RvkoGran::Word };
    let s = Spandex { tbes: if fault == GpuL2Fault::NoReserve { 2 } else { 3 }, ..small().bank.s };
    let mut w = world_of(&GpuL2Params { fault, rvko, ..small() }.sized(|b| Bank { s, ..b }), &MIXED, 6, seed);
    w.run(12_000);
    if w.complaint.is_none() {
        w.finish();
    }
    w.complaint
}

#[test]
fn without_a_fault_nothing_is_noticed() {
    assert_eq!(complaint(GpuL2Fault::None, 60), None);
}

#[test]
fn every_fault_is_noticed() {
    for (fault, name) in GpuL2Fault::WORDS.iter().filter(|f| f.0 != GpuL2Fault::None) {
        let found = match fault {
            // A line that should have been used once is seldom asked for before its set is full.
            GpuL2Fault::KeepOnce => read_once(*fault).complaint,
            _ => (60..66).find_map(|seed| complaint(*fault, seed)),
        };
        println!("{name}: {}", found.unwrap_or_else(|| panic!("{name} is not noticed")));
    }
}
