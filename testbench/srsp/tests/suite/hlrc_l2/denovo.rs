//! The bank of DeNovo-B: owners are read, and nobody writes through.

use super::{small, sound, wider};
use crate::hlrc_l2::world::{Mix, World};
use crate::l2_bench;
use weft_bench::seeds::{Work, unseen};
use weft_srsp::hlrc_l2::{HlrcL2Fault, HlrcL2Params, L2Write, Registered};

fn stores(p: HlrcL2Params) -> HlrcL2Params {
    HlrcL2Params { registered: Registered::Writes, ..p }
}

fn at_random(work: Work) {
    for owned_aware in [true, false] {
        let missed = unseen(
            work,
            &[(owned_aware, 0..6)],
            |_| true,
            |owned_aware, seed| {
                let cus = [3, 6][seed as usize / 3];
                let (write, mix) = (L2Write::ThroughInv, Mix::ALL);
                let p = if seed % 2 == 0 { small(write, cus) } else { wider(write, cus) };
                let mix = [mix, Mix { reg: 0.01, ..mix }][seed as usize % 3 / 2];
                let w =
                    sound(&stores(HlrcL2Params { owned_aware: *owned_aware, ..p }), mix, 10 + seed, 24_000);
                println!("{:?}", w.done);
                for (what, count) in
                    [("rd", 200), ("reg", 200), ("revokes", 100), ("reads", 50), ("unreg", 30)]
                {
                    w.least(what, count);
                }
                w.b.uncovered(&[]).into_iter().collect()
            },
        );
        assert!(missed.is_empty(), "never seen: {missed:?}");
    }
}

#[test]
fn a_bank_whose_owners_are_read() {
    at_random(Work::Needed);
}

#[test]
fn long_banks_whose_owners_are_read() {
    at_random(Work::All);
}

/// A bank whose memory answers at once, and which is clear by now.
fn world(cus: u32) -> World {
    World::new(&stores(small(L2Write::ThroughInv, cus)), Mix::NOTHING, 24, 1).at_once(20)
}

fn run(w: &mut World, cycles: u64) {
    w.rest(cycles);
    w.check();
}

/// An L1 registers a line and changes a word of it.
fn own(w: &mut World, c: usize, line: u64, value: u64) {
    assert!(w.register(c, line));
    w.settled();
    w.atomic(c, line, 1, value);
}

fn word(w: &mut World, line: u64) -> u64 {
    w.model(line)[8..].iter().take(8).rev().fold(0, |sum, b| sum << 8 | u64::from(*b))
}

#[test]
fn a_read_of_an_owned_line_brings_what_was_written() {
    let mut w = world(3);
    let line = w.lines[0];
    own(&mut w, 0, line, 7);
    w.read(1, line);
    w.settled();
    assert_eq!((word(&mut w, line), w.owners.get(&line).copied()), (7, Some(0)));
    w.atomic(0, line, 1, 8);
    w.read(2, line);
    w.settled();
    assert_eq!((word(&mut w, line), w.done["reads"], w.memory.reads), (8, 2, 1));
    w.register(1, line);
    w.settled();
    assert_eq!((w.owners.get(&line), w.l1s[1].owned[&line].data[8]), (Some(&1), 8));
}

/// A second reader, and whoever registers, wait while the owner is read; other lines do not.
#[test]
fn others_wait_while_the_owner_is_read() {
    let mut w = world(4);
    let (line, other) = (w.lines[0], w.lines[1]);
    own(&mut w, 0, line, 7);
    w.l1s[0].frozen = true;
    w.read(1, line);
    run(&mut w, 60);
    w.read(2, line);
    w.register(3, line);
    run(&mut w, 60);
    assert_eq!((w.l1s[0].probes.len(), w.l1s[0].probes[0]), (1, (line, true)));
    w.read(1, other);
    run(&mut w, 60);
    assert_eq!(w.l1s[1].rds.len(), 1, "only the read of the owned line waits");
    w.settled();
    assert_eq!((w.owners.get(&line).copied(), word(&mut w, line)), (Some(3), 7));
}

/// UNREG is on its way when the line is read.
#[test]
fn an_unreg_that_crosses_a_read() {
    let mut w = world(2);
    let line = w.lines[0];
    own(&mut w, 0, line, 7);
    w.b.source_mut("wb0").chance = 0.0;
    w.give_up(0, line, false);
    w.read(1, line);
    run(&mut w, 5);
    w.l1s[0].frozen = true;
    run(&mut w, 60);
    assert_eq!(w.l1s[0].probes.len(), 1);
    w.b.source_mut("wb0").chance = 1.0;
    run(&mut w, 60);
    assert_eq!((w.l1s[0].unregs.len(), w.l1s[1].rds.len()), (1, 1), "neither is answered");
    w.settled();
    assert_eq!((w.owners.get(&line).copied(), word(&mut w, line)), (None, 7));
    assert_eq!(w.memory.written, 0, "it stays in the bank, dirty");
}

/// Everybody wants the same few lines all the time: nobody is passed over for ever.
#[test]
fn reads_and_registrations_go_round() {
    for seed in 50..53 {
        let p =
            stores(HlrcL2Params { revokes: [1, 2, 4][seed as usize % 3], ..small(L2Write::ThroughInv, 7) });
        let mix = Mix { rd: 0.3, wb: 0.0, reg: 1.0, atomic: 0.1, evict: 0.002 };
        let mut w = World::new(&p, mix, [2, 5][seed as usize % 2], seed);
        w.run(30_000);
        w.finish_all();
        w.check();
        w.least("reg", 200);
        w.least("rd", 200);
        assert!(w.overtaken <= 8 * 7, "passed over {} times", w.overtaken);
    }
}

fn complaint(fault: HlrcL2Fault, seed: u64) -> Option<String> {
    let write = L2Write::ThroughInv;
    let p = if seed.is_multiple_of(2) { small(write, 4) } else { wider(write, 4) };
    let mut w = World::new(&stores(HlrcL2Params { fault, ..p }), Mix::ALL, 10, seed);
    w.run(8_000);
    if w.complaint.is_none() {
        w.finish_all();
    }
    w.complaint
}

#[test]
fn faults_are_noticed() {
    assert_eq!(complaint(HlrcL2Fault::None, 60), None);
    for (fault, sign) in [
        (HlrcL2Fault::GrantBeforeFlush, "although"),
        (HlrcL2Fault::LostUnreg, "instead of"),
        (HlrcL2Fault::EarlyUnregAck, ""),
        (HlrcL2Fault::LostRecall, "instead of"),
        (HlrcL2Fault::OldRead, "beside its owner"),
    ] {
        l2_bench::noticed(&format!("{fault:?}"), sign, |seed| complaint(fault, seed));
    }
}
