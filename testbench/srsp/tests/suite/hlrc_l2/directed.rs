//! Each row of srsp.md section 9 by itself.

use super::{small, wider};
use crate::hlrc_l2::world::{Mix, World};
use weft_rtl::bv::Bv;
use weft_srsp::hlrc_l2::{HlrcL2Params, L2Write};

const BOTH: [L2Write; 2] = [L2Write::Combine, L2Write::ThroughInv];

/// A bank whose memory answers at once, and which is clear by now; L1s flush in no time.
fn world(p: &HlrcL2Params) -> World {
    let mut w = World::new(p, Mix::NOTHING, 24, 1).at_once(20);
    w.flush = 0;
    w
}

fn run(w: &mut World, cycles: u64) {
    w.rest(cycles);
    w.check();
}

/// Eight bytes from the beginning of a line.
fn write8(w: &mut World, c: usize, line: u64, value: u64) {
    assert!(w.write(c, line, Bv::from_u64(0xff, 64), Bv::from_u64(value, 512)));
}

/// An L1 registers a line and changes a word of it.
fn own(w: &mut World, c: usize, line: u64, value: u64) {
    assert!(w.register(c, line));
    w.settled();
    w.atomic(c, line, 1, value);
}

fn word(w: &mut World, line: u64, at: usize) -> u64 {
    w.model(line)[8 * at..].iter().take(8).rev().fold(0, |sum, b| sum << 8 | u64::from(*b))
}

fn owner(w: &World, line: u64) -> Option<u64> {
    w.owners.get(&line).copied()
}

#[test]
fn a_line_goes_from_owner_to_owner_with_its_bytes() {
    for write in BOTH {
        let mut w = world(&small(write, 2));
        let line = w.lines[0];
        own(&mut w, 0, line, 7);
        assert_eq!(w.memory.reads, 1);
        w.register(1, line);
        w.settled();
        assert_eq!((owner(&w, line), word(&mut w, line, 1)), (Some(1), 7));
        assert_eq!(w.l1s[1].owned[&line].data[8], 7);
        assert_eq!((w.memory.reads, w.b.counted("l2_revokes")), (1, 1));
    }
}

#[test]
fn a_third_registration_waits_and_nobody_else_does() {
    for write in BOTH {
        let mut w = world(&small(write, 4));
        let line = w.lines[0];
        own(&mut w, 0, line, 7);
        w.l1s[0].frozen = true;
        w.register(1, line);
        w.register(2, line);
        run(&mut w, 60);
        w.read(3, line);
        write8(&mut w, 3, line + 2, 1);
        run(&mut w, 60);
        assert!(w.l1s[3].rds.is_empty() && w.l1s[3].wbs.is_empty());
        write8(&mut w, 3, line, 1);
        run(&mut w, 60);
        assert!(w.l1s[3].wbs.is_empty(), "a write-back of a revoked line is served");
        assert!(w.b.counted("srsp.race.hlrc_l2_third_reg_waits") > 0);
        assert_eq!((w.l1s[1].regs.len(), w.l1s[2].regs.len()), (1, 1));
        w.settled();
        assert_eq!((word(&mut w, line, 0), word(&mut w, line, 1)), (1, 7));
        assert_eq!(w.done["reg"], 3);
    }
}

#[test]
fn a_registration_overtakes_the_own_revoke_ack() {
    for write in BOTH {
        let mut w = world(&small(write, 2));
        let line = w.lines[0];
        own(&mut w, 0, line, 7);
        w.b.source_mut("wb0").chance = 0.0;
        w.register(1, line);
        run(&mut w, 60);
        assert_eq!(w.l1s[0].acks.len(), 1);
        assert!(w.register(0, line));
        run(&mut w, 60);
        assert_eq!(w.b.counted("srsp.race.hlrc_l2_reg_overtakes_ack"), 1);
        w.settled();
        assert_eq!(owner(&w, line), Some(0));
        assert_eq!(w.l1s[0].owned[&line].data[8], 7);
    }
}

#[test]
fn an_unreg_gives_the_line_back() {
    for write in BOTH {
        let mut w = world(&small(write, 2));
        let line = w.lines[0];
        own(&mut w, 0, line, 7);
        w.give_up(0, line, false);
        w.settled();
        assert_eq!((owner(&w, line), word(&mut w, line, 1)), (None, 7));
        assert_eq!(w.memory.written, 0, "it stays in the bank");
        own(&mut w, 1, line, 8);
        assert_eq!((w.memory.reads, w.b.counted("l2_revokes")), (1, 0));
        // Without a changed byte it is clean.
        let other = w.lines[1];
        w.register(0, other);
        w.settled();
        w.give_up(0, other, false);
        w.settled();
        w.read(1, other);
        w.settled();
    }
}

/// UNREG is on its way when the line is asked for.
#[test]
fn an_unreg_that_crosses_a_revoke_is_acknowledged_after_its_answer() {
    for write in BOTH {
        let mut w = world(&small(write, 2));
        let line = w.lines[0];
        own(&mut w, 0, line, 7);
        w.b.source_mut("wb0").chance = 0.0;
        w.give_up(0, line, false);
        w.register(1, line);
        run(&mut w, 5);
        w.l1s[0].frozen = true;
        run(&mut w, 60);
        assert_eq!(w.l1s[0].probes.len(), 1);
        w.b.source_mut("wb0").chance = 1.0;
        run(&mut w, 60);
        assert_eq!(w.b.counted("srsp.hlrc_l2.RV.UNREG"), 1);
        assert_eq!((w.l1s[0].unregs.len(), w.l1s[1].regs.len()), (1, 1), "neither is answered");
        w.settled();
        assert_eq!((owner(&w, line), w.l1s[1].owned[&line].data[8]), (Some(1), 7));
        assert_eq!(w.b.counted("srsp.hlrc_l2.asked.acknowledged"), 1);
    }
}

/// A set of two ways, both registered, and a third line of it.
fn full_set(p: &HlrcL2Params) -> (World, Vec<u64>) {
    let mut w = world(p);
    let set = [0, 1].map(|set| w.of_set(set)).into_iter().max_by_key(Vec::len).expect("sets");
    assert!(set.len() >= 5, "{set:x?}");
    own(&mut w, 0, set[0], 7);
    own(&mut w, 0, set[1], 8);
    (w, set)
}

#[test]
fn a_registration_recalls_and_others_go_around() {
    for write in BOTH {
        let (mut w, set) = full_set(&small(write, 3));
        w.l1s[0].frozen = true;
        w.read(1, set[2]);
        write8(&mut w, 1, set[3], 5);
        run(&mut w, 60);
        assert!(w.l1s[1].rds.is_empty() && w.l1s[1].wbs.is_empty());
        assert_eq!((w.b.counted("l2_read_around"), w.b.counted("l2_recalls")), (1, 0));
        w.register(1, set[2]);
        w.register(2, set[4]);
        run(&mut w, 60);
        assert_eq!((w.l1s[0].probes.len(), w.b.counted("l2_recalls")), (1, 1), "one at a time");
        // A write-back needs nobody's line.
        write8(&mut w, 1, set[3], 6);
        run(&mut w, 60);
        assert!(w.l1s[1].wbs.is_empty());
        w.settled();
        assert_eq!((owner(&w, set[2]), owner(&w, set[4])), (Some(1), Some(2)));
        assert_eq!((w.b.counted("l2_recalls"), w.memory.written >= 2), (2, true));
        for line in &set {
            w.read(2, *line);
            w.settled();
        }
    }
}

#[test]
fn a_recalled_line_comes_by_unreg() {
    for write in BOTH {
        let (mut w, set) = full_set(&small(write, 2));
        w.b.source_mut("wb0").chance = 0.0;
        w.give_up(0, set[0], false);
        run(&mut w, 5);
        w.give_up(0, set[1], false);
        run(&mut w, 5);
        w.register(1, set[2]);
        run(&mut w, 60);
        w.settled();
        assert_eq!(w.b.counted("srsp.hlrc_l2.recall.unregistered"), 1);
        assert_eq!(owner(&w, set[2]), Some(1));
        w.read(1, set[0]);
        w.read(1, set[1]);
        w.settled();
    }
}

/// With `owned_aware` off a read asks for the frame of a registered line, but does not wait for it.
#[test]
fn a_read_replaces_a_registered_line() {
    for write in BOTH {
        let (mut w, set) = full_set(&HlrcL2Params { owned_aware: false, ..small(write, 2) });
        w.l1s[0].frozen = true;
        w.read(1, set[2]);
        run(&mut w, 60);
        assert!(w.l1s[1].rds.is_empty());
        assert_eq!((w.l1s[0].probes.len(), w.b.counted("srsp.race.hlrc_l2_access_recalls")), (1, 1));
        w.settled();
        let recalled = set[..2].iter().filter(|line| owner(&w, **line).is_none()).count();
        assert_eq!(recalled, 1);
        w.read(1, set[2]);
        w.settled();
        w.read(1, set[2]);
        let reads = w.memory.reads;
        w.settled();
        assert_eq!(w.memory.reads, reads, "it has the frame now");
    }
}

#[test]
fn unregistered_lines_are_replaced_first() {
    for write in BOTH {
        let mut w = world(&wider(write, 2));
        let set = [0, 1].map(|set| w.of_set(set)).into_iter().max_by_key(Vec::len).expect("sets");
        own(&mut w, 0, set[0], 7);
        for line in &set[1..] {
            w.read(1, *line);
            w.settled();
        }
        assert!(set.len() > 5, "{set:x?}");
        assert_eq!((owner(&w, set[0]), w.b.counted("l2_recalls")), (Some(0), 0));
    }
}

#[test]
fn without_a_free_entry_a_registration_waits_and_the_rest_goes_on() {
    for write in BOTH {
        let mut w = world(&HlrcL2Params { revokes: 1, ..wider(write, 4) });
        let (a, b) = (w.lines[0], w.lines[1]);
        own(&mut w, 0, a, 7);
        own(&mut w, 0, b, 8);
        w.l1s[0].frozen = true;
        w.register(1, a);
        w.register(2, b);
        run(&mut w, 60);
        assert_eq!(w.b.counted("srsp.race.hlrc_l2_no_entry"), 1);
        assert_eq!(w.l1s[0].probes.len(), 1);
        w.read(3, b);
        write8(&mut w, 3, a, 3);
        run(&mut w, 60);
        assert!(w.l1s[3].rds.is_empty() && w.l1s[3].wbs.is_empty());
        w.settled();
        assert_eq!((owner(&w, a), owner(&w, b)), (Some(1), Some(2)));
    }
}

#[test]
fn a_dirty_line_stays_dirty_while_it_is_registered() {
    let mut w = world(&wider(L2Write::Combine, 2));
    let set: Vec<u64> = w.lines.clone();
    let line = set[0];
    w.read(0, line);
    w.settled();
    write8(&mut w, 0, line, 5);
    w.settled();
    own(&mut w, 1, line, 7);
    assert_eq!(w.b.counted("srsp.hlrc_l2.D.REG"), 1);
    // Other lines fill the sFIFO: the registered one is not written to memory.
    for (i, other) in set[1..].iter().enumerate().take(4) {
        write8(&mut w, 0, *other, i as u64);
        w.settled();
    }
    assert!(w.b.counted("srsp.race.hlrc_l2_pops_registered") > 0);
    assert_eq!(w.memory.line(line)[..8], weft_srsp_bench::memory::initial(line, 64)[..8]);
    w.give_up(1, line, false);
    w.settled();
    for (i, other) in set[5..].iter().enumerate().take(4) {
        write8(&mut w, 0, *other, i as u64);
        w.settled();
    }
    let found = w.memory.line(line)[..16].to_vec();
    assert_eq!((found[0], found[8]), (5, 7), "both bytes are in memory now");
}

#[test]
fn through_inv_drops_the_line() {
    let mut w = world(&small(L2Write::ThroughInv, 2));
    let line = w.lines[0];
    w.read(0, line);
    w.settled();
    w.memory.delay = 100_000;
    write8(&mut w, 1, line, 5);
    run(&mut w, 60);
    assert_eq!(w.memory.line(line)[..8], 5u64.to_le_bytes());
    assert_eq!(w.l1s[1].wbs.len(), 1, "memory has not acknowledged it");
    let mut w = world(&small(L2Write::ThroughInv, 2));
    w.read(0, line);
    write8(&mut w, 1, line, 5);
    w.settled();
    w.read(0, line);
    w.settled();
    assert_eq!(w.memory.reads, 2, "the copy was dropped");
    own(&mut w, 0, line, 7);
    write8(&mut w, 1, line, 6);
    w.settled();
    assert_eq!(w.memory.written, 1, "a registered line is written in the bank");
    w.give_up(0, line, false);
    w.settled();
    assert!(w.write(1, line, Bv::from_u64(0xff << 16, 64), Bv::zero(512)));
    w.settled();
    assert_eq!(w.b.counted("srsp.race.hlrc_l2_through_with_dirty"), 1);
    let found = w.memory.line(line).clone();
    assert_eq!((found[0], found[8], found[16], w.memory.written), (6, 7, 0, 2), "one write for all");
}

#[test]
fn through_inv_waits_for_a_line_on_its_way() {
    let mut w = world(&small(L2Write::ThroughInv, 3));
    let line = w.lines[0];
    w.memory.delay = 400;
    w.read(0, line);
    run(&mut w, 30);
    write8(&mut w, 1, line, 5);
    w.read(2, line);
    w.settled();
    assert!(w.b.counted("srsp.race.hlrc_l2_wb_waits_for_line") > 0);
    w.read(0, line);
    w.settled();
    assert_eq!(w.memory.reads, 2);
}

#[test]
fn combined_bytes_are_completed_for_an_owner() {
    let mut w = world(&small(L2Write::Combine, 2));
    let (line, other) = (w.lines[0], w.lines[1]);
    write8(&mut w, 0, line, 5);
    w.settled();
    own(&mut w, 1, line, 7);
    assert_eq!((w.b.counted("srsp.hlrc_l2.W.REG"), w.memory.reads), (1, 1));
    assert!(w.write(0, other, Bv::ones(64), Bv::zero(512)));
    w.settled();
    own(&mut w, 1, other, 7);
    assert_eq!((w.b.counted("srsp.hlrc_l2.W.REG_in"), w.memory.reads), (1, 1), "no byte is missing");
}
