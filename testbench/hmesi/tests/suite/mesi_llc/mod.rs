//! `mesi-llc`: a bank among random clients and a slow memory, every value checked; each row of the tables and each race directed; faults put in are noticed.

mod directed;
mod figures;
mod golden;
mod world;

use weft_bench::seeds::missed_by_all;
use weft_spandex::bank::Bank;
use weft_spandex::hmesi::mesi_llc::{MesiLlcFault, MesiLlcParams};
use weft_spandex::params::Spandex;
use world::World;

/// A small bank: 2 sets of 2 ways, lines of 4 words, 3 TBEs, 4 stalled requests; 4 CPU L1s and a GPU L2.
fn small() -> MesiLlcParams {
    let s = Spandex {
        cpus: 4,
        cus: 3,
        sharers: 4,
        addr_bits: 32,
        line: 16,
        banks: 2,
        mshrs: 4,
        sb: 2,
        wbb: 3,
        tbes: 3,
        ..Spandex::default()
    };
    MesiLlcParams::published(s).sized(|b| Bank { size: 2 * 2 * 2 * 16, ways: 2, stalls: 4, ..b })
}

fn sound(p: &MesiLlcParams, lines: usize, seed: u64, cycles: u64) -> World {
    let mut w = World::new(p, lines, seed);
    w.run(cycles);
    w.finish();
    w.check();
    assert!(w.reads > cycles / 400 && w.writes > cycles / 400, "{} reads, {} writes", w.reads, w.writes);
    w
}

/// Every row and race of a bank as published, but small; with few lines for much contention, with more for evictions.
#[test]
fn random_clients() {
    let worlds: Vec<World> =
        (0..6).map(|seed| sound(&small(), [2, 5, 9][seed as usize % 3], seed, 30_000)).collect();
    assert_eq!(missed_by_all(worlds.iter().map(|w| w.b.uncovered(&[]))), [""; 0]);
}

/// The golden model could have sent every message that the bank sends, with no other way out.
#[test]
fn the_golden_model_agrees() {
    for seed in 0..4 {
        let mut w = World::new(&small(), [2, 5, 9][seed as usize % 3], 100 + seed);
        w.watch();
        w.run(6_000);
        w.finish();
        w.check();
    }
}

/// It is the one that notices a wrong number of InvAcks, before a client counts them.
#[test]
fn the_golden_model_disagrees_with_a_fault() {
    let mut w = World::new(&MesiLlcParams { fault: MesiLlcFault::ShortAcks, ..small() }, 2, 100);
    w.watch();
    w.run(6_000);
    let complaint = w.complaint.expect("noticed");
    assert!(complaint.contains("golden model") && complaint.contains("DataM"), "{complaint}");
}

/// One TBE, one stalled request; short lines and long; one set of many ways; one CPU; many.
#[test]
fn odd_banks() {
    let base = small();
    let s = |line, cpus| Spandex { line, cpus, sharers: cpus, ..base.bank.s.clone() };
    let odd = [
        base.clone().sized(|b| Bank {
            s: Spandex { tbes: 1, ..s(8, 4) },
            size: 2 * 2 * 2 * 8,
            stalls: 1,
            ..b
        }),
        base.clone().sized(|b| Bank {
            s: Spandex { banks: 1, tbes: 7, ..s(64, 1) },
            size: 4 * 64,
            ways: 4,
            ..b
        }),
        base.clone().sized(|b| Bank { s: s(128, 12), size: 2 * 128 * 16 * 2, ways: 16, stalls: 9, ..b }),
        base.clone().sized(|b| Bank { s: Spandex { banks: 1, ..s(32, 0) }, size: 32 * 2, ways: 2, ..b }),
    ];
    for (seed, p) in odd.iter().enumerate() {
        for lines in [3, 9] {
            sound(p, lines, 70 + seed as u64, 6_000);
        }
    }
}

/// A reset in the middle of everything leaves an empty bank.
#[test]
fn reset_in_flight() {
    let mut w = World::new(&small(), 4, 90);
    w.run(3_000);
    w.check();
    w.reset();
    w.run(3_000);
    w.finish();
    w.check();
}

/// A fault is seen as a wrong value, a failed assertion of the hardware, or a client that waits for ever.
#[test]
fn faults_are_noticed() {
    let complaint = |fault, seed: u64| {
        let mut w = World::new(&MesiLlcParams { fault, ..small() }, [2, 5, 9][seed as usize % 3], seed);
        w.run(12_000);
        if w.complaint.is_none() {
            w.finish();
        }
        w.complaint
    };
    assert_eq!(complaint(MesiLlcFault::None, 60), None);
    for (fault, word) in MesiLlcFault::WORDS {
        if *fault != MesiLlcFault::None {
            let found = (60..66).find_map(|seed| complaint(*fault, seed));
            println!("{word}: {}", found.unwrap_or_else(|| panic!("{word} is not noticed")));
        }
    }
}
