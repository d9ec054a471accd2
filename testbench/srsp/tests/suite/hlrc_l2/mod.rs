//! `hlrc_l2`: a bank of the L2 of hLRC among random L1s and a slow memory, checked against one plain memory and one owner per line; each rule of srsp.md section 9 directed; faults put in
//! are noticed.

mod denovo;
mod directed;
mod figures;
mod follow;
mod slips;
mod world;

use weft_bench::seeds::{Work, unseen};
use weft_srsp::bank::Bank;
use weft_srsp::hlrc_l2::{HlrcL2Params, L2Write};
use weft_srsp::params::Srsp;
use world::{Mix, World};

/// A small bank: 2 sets of 2 ways, 3 sFIFO entries, 2 revocations.
fn small(write: L2Write, cus: u32) -> HlrcL2Params {
    let srsp = Srsp { cus, addr_bits: 32, banks: 2, mshrs: 4, wbt: 4, ..Srsp::default() };
    HlrcL2Params { revokes: 2, write, ..HlrcL2Params::published(srsp) }.sized(|s| Bank {
        size: 2 * 2 * 2 * 64,
        ways: 2,
        sfifo: 6,
        latency: 9,
        mshrs: 3,
        targets: 2,
        writes: 3,
        ..s
    })
}

/// The same with sets of four ways.
fn wider(write: L2Write, cus: u32) -> HlrcL2Params {
    small(write, cus).sized(|s| Bank { ways: 4, size: 2 * s.size, ..s })
}

fn sound(p: &HlrcL2Params, mix: Mix, seed: u64, cycles: u64) -> World {
    let mut w = World::new(p, mix, 10, seed);
    w.run(cycles);
    w.finish_all();
    w.check();
    w
}

/// A bank that replaces unregistered lines first, and one that does not.
fn at_random(work: Work, write: L2Write) {
    for owned_aware in [true, false] {
        let missed = unseen(
            work,
            &[(owned_aware, 0..6)],
            |_| true,
            |owned_aware, seed| {
                let cus = [3, 6][seed as usize / 3];
                let p = if seed % 2 == 0 { small(write, cus) } else { wider(write, cus) };
                let mix = [Mix::ALL, Mix { reg: 0.01, ..Mix::ALL }][seed as usize % 3 / 2];
                let w = sound(&HlrcL2Params { owned_aware: *owned_aware, ..p }, mix, 10 + seed, 24_000);
                for (what, count) in [("rd", 200), ("reg", 200), ("revokes", 100), ("unreg", 30)] {
                    w.least(what, count);
                }
                w.b.uncovered(&[]).into_iter().collect()
            },
        );
        assert!(missed.is_empty(), "never seen: {missed:?}");
    }
}

#[test]
fn a_bank_that_combines() {
    at_random(Work::Needed, L2Write::Combine);
}

#[test]
fn a_bank_that_writes_through() {
    at_random(Work::Needed, L2Write::ThroughInv);
}

#[test]
fn long_every_bank_at_random() {
    L2Write::WORDS.iter().for_each(|(write, _)| at_random(Work::All, *write));
}

/// One L1, one set; lines of 128 bytes; a bank of long latency.
#[test]
fn odd_banks() {
    for (i, (write, _)) in L2Write::WORDS.iter().enumerate() {
        let base = wider(*write, 5);
        let lines = Srsp { line: 128, banks: 1, cus: 1, ..base.bank.srsp.clone() };
        let odd = [
            HlrcL2Params { revokes: 1, ..base.clone() }.sized(|s| Bank {
                srsp: lines,
                size: 1024,
                sfifo: 2,
                ..s
            }),
            HlrcL2Params { revokes: 16, ..base }.sized(|s| Bank {
                ways: 16,
                size: 16 * 64 * 2 * 4,
                latency: 31,
                targets: 8,
                writes: 16,
                ..s
            }),
        ];
        for (seed, p) in odd.iter().enumerate() {
            let w = sound(p, Mix::ALL, 40 + 2 * i as u64 + seed as u64, 8_000);
            w.least("reg", 20);
        }
    }
}

/// Everybody wants the same few lines all the time: nobody is passed over for ever.
fn go_round(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let write = L2Write::WORDS[seed as usize % 2].0;
        let p = HlrcL2Params { revokes: [1, 2, 4][seed as usize % 3], ..small(write, 7) };
        let mix = Mix { rd: 0.05, wb: 0.02, reg: 1.0, atomic: 0.1, evict: 0.002 };
        let mut w = World::new(&p, mix, [2, 5][seed as usize % 2], seed);
        w.run(30_000);
        w.finish_all();
        w.check();
        w.least("reg", 200);
        assert!(w.overtaken <= 8 * 7, "passed over {} times", w.overtaken);
    }
}

#[test]
fn registrations_go_round() {
    go_round(50..53);
}

#[test]
fn long_registrations_go_round() {
    go_round(50..56);
}
