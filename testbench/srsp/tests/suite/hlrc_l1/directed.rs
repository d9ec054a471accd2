//! Every row and race of srsp.md section 9, one at a time; latencies; what must never happen.

use crate::hlrc_l1::l2::Owner;
use crate::hlrc_l1::world::{World, atomic, small};
use crate::l1_bench::ask::Ask;
use crate::l1_bench::banks::{LINE, OWN};
use crate::l1_bench::mask;
use weft_srsp::Shape;
use weft_srsp::hlrc_l1::HlrcL1Params;
use weft_srsp::msg::{Probe, ProbeOp, Rsp, RspOp, SyncOp};
use weft_srsp_bench::bench::Msg;

/// Lines of one set.
const A: u64 = 0x4000;
const B: u64 = 0x4100;
const C: u64 = 0x4200;
/// A word in another set, and one in a third.
const Y: u64 = 0x5048;
const Z: u64 = 0x5084;

fn quiet_at(p: &HlrcL1Params) -> World {
    let mut w = World::new(p, 1);
    w.banks.slow = 3;
    w.rest(40);
    w
}

/// 4 sets of 2 ways.
fn quiet() -> World {
    quiet_at(&small().sized(|s| Shape { size: 512, ..s }))
}

fn line(addr: u64) -> u64 {
    addr / LINE
}

fn add(addr: u64, value: u64) -> Ask {
    atomic(SyncOp::Add, addr, value, 0)
}

fn seen(list: &[(&str, u64)]) -> Vec<String> {
    list.iter().map(|(what, addr)| format!("{what} {}", line(*addr))).collect()
}

/// Takes what the L2 has seen since the last call.
fn saw(w: &mut World) -> Vec<String> {
    std::mem::take(&mut w.banks.seen)
}

/// The line is owned; what it took is forgotten.
fn own(w: &mut World, addr: u64) {
    w.alone(add(addr, 1));
    saw(w);
}

#[test]
fn the_first_atomic_registers_and_the_next_ones_stay() {
    let mut w = quiet();
    w.banks.put(A, 4, 7);
    assert_eq!(w.alone(add(A, 1)).0, 7);
    assert_eq!(saw(&mut w), seen(&[("REG", A)]));
    for old in 8..12 {
        let (found, cycles) = w.alone(add(A, 1));
        // Taken in the first cycle, its slot is the second.
        assert_eq!((found, cycles), (old, u64::from(w.p.shape.latency) + 1));
    }
    assert_eq!(saw(&mut w), seen(&[]));
    assert_eq!((w.b.counted("hlrc_l1_reg"), w.b.counted("hlrc_l1_local")), (1, 4));
    assert_eq!(w.banks.word(A, 4), 7, "what atomics write stays here");
}

#[test]
fn a_clean_line_keeps_its_frame_and_a_dirty_one_is_written_back_first() {
    let mut w = quiet();
    w.alone(Ask::Load(A));
    w.alone(add(A, 1));
    assert_eq!(saw(&mut w), seen(&[("RD", A), ("REG", A)]));
    w.ask(Ask::Store(B, 5, false));
    w.banks.hold = vec![RspOp::WbAck];
    let id = w.ask(add(B, 1));
    w.rest(60);
    assert_eq!(saw(&mut w), seen(&[("WB", B)]), "REG waits until the WBT has lost the line");
    w.banks.hold.clear();
    w.rest(60);
    assert_eq!((saw(&mut w), w.answered()), (seen(&[("REG", B)]), vec![id]));
    w.alone(Ask::Load(C));
    w.alone(Ask::Store(C, 5, true));
    assert_eq!(w.alone(add(C, 1)).0, 5);
}

#[test]
fn a_gain_flushes_and_drops_all_but_owned_lines() {
    let mut w = quiet();
    own(&mut w, A);
    w.alone(Ask::Load(Y));
    w.ask(Ask::Store(Z, 3, false));
    w.banks.put(Y, 4, 9);
    assert_eq!(w.alone(Ask::Load(Y)).0, 0, "a copy may be old");
    w.banks.hold = vec![RspOp::WbAck];
    let id = w.ask(add(B, 1));
    w.rest(60);
    assert_eq!(w.answered(), [0; 0], "the answer comes after I");
    assert_eq!(w.banks.log, [(line(Z), mask(Z))]);
    w.banks.hold.clear();
    w.rest(60);
    assert_eq!(w.answered(), [id]);
    assert_eq!(w.alone(Ask::Load(Y)).0, 9);
    saw(&mut w);
    w.alone(add(A, 1));
    w.alone(add(B, 1));
    assert_eq!(saw(&mut w), seen(&[]), "owned lines stay");
    assert_eq!(w.b.counted("hlrc_l1_flash_gain"), 2);
}

#[test]
fn a_loss_hands_over_at_once_what_it_captured_and_only_after_its_flush() {
    let mut w = quiet();
    own(&mut w, A);
    w.alone(Ask::Store(Y, 3, true));
    w.banks.hold = vec![RspOp::WbAck];
    w.take(line(A));
    w.rest(60);
    assert_eq!(saw(&mut w), seen(&[("WB", Y)]), "REVOKE_ACK waits for the flush");
    // An atomic on the line that is captured waits; a store goes on, and the flush does not wait for it.
    w.alone(Ask::Store(Z, 4, true));
    let id = w.ask(add(A, 1));
    w.rest(60);
    assert_eq!((saw(&mut w), w.answered()), (seen(&[]), vec![]));
    w.banks.hold.clear();
    w.until_seen(&format!("REVOKE_ACK1 {}", line(A)));
    assert_eq!((w.banks.word(A, 4), w.banks.word(Y, 4), w.banks.word(Z, 4)), (1, 3, 0));
    w.owners.clear();
    w.rest(80);
    assert_eq!(w.answered(), [id]);
    assert_eq!(saw(&mut w), seen(&[("REVOKE_ACK1", A), ("REG", A), ("WB", Z)]), "the gain flushes Z");
    assert_eq!(
        (w.b.counted("hlrc_l1_flush_loss"), w.b.counted("srsp.race.hlrc_l1_op_captured") > 0),
        (1, true)
    );
}

/// The grant is in flight: the REVOKE waits until its atomics are done.
#[test]
fn a_revoke_that_overtakes_its_grant_waits() {
    let mut w = quiet();
    w.banks.hold = vec![RspOp::RegData];
    let ids = [1, 2, 3].map(|n| w.ask(add(A, n)));
    w.until_seen(&format!("REG {}", line(A)));
    w.take(line(A));
    w.rest(60);
    assert_eq!((saw(&mut w), w.answered()), (seen(&[("REG", A)]), vec![]));
    assert_eq!(w.b.counted("srsp.hlrc_l1.REVOKE.PR"), 1);
    w.banks.hold.clear();
    w.rest(60);
    assert_eq!((saw(&mut w), w.answered()), (seen(&[("REVOKE_ACK1", A)]), ids.to_vec()));
    assert_eq!(w.banks.word(A, 4), 6, "all that joined is done before");
}

/// Two lines of a set are owned, Y is dirty, acknowledgements are held; an atomic on a third line evicts the first.
fn evicts_first(w: &mut World) -> u64 {
    own(w, A);
    own(w, B);
    w.alone(Ask::Store(Y, 3, true));
    w.banks.hold = vec![RspOp::WbAck];
    let id = w.ask(add(C, 1));
    w.rest(60);
    let mut found = saw(w);
    found.sort();
    assert_eq!(found, seen(&[("REG", C), ("WB", Y)]));
    id
}

#[test]
fn an_owned_victim_is_given_back_after_a_flush() {
    let mut w = quiet();
    let id = evicts_first(&mut w);
    w.banks.hold = vec![RspOp::UnregAck];
    w.rest(60);
    assert_eq!((saw(&mut w), w.answered()), (seen(&[("UNREG", A)]), vec![id]));
    assert_eq!((w.banks.word(A, 4), w.banks.word(Y, 4)), (1, 3));
    // REG and reads wait for UNREG_ACK.
    let ids = [w.ask(add(A, 1)), w.ask(Ask::Load(A))];
    w.rest(60);
    assert_eq!(saw(&mut w), seen(&[]));
    w.banks.hold.clear();
    w.rest(120);
    assert_eq!(w.answered(), ids);
    assert!(saw(&mut w).contains(&format!("REG {}", line(A))));
}

#[test]
fn a_revoke_of_a_captured_victim_makes_its_unreg_a_revoke_ack() {
    let mut w = quiet();
    evicts_first(&mut w);
    w.take(line(A));
    w.rest(60);
    assert_eq!(saw(&mut w), seen(&[]), "its flush goes on");
    w.banks.hold.clear();
    w.rest(60);
    assert_eq!(saw(&mut w), seen(&[("REVOKE_ACK1", A)]));
    assert_eq!((w.banks.word(A, 4), w.b.counted("srsp.hlrc_l1.REVOKE.captured")), (1, 1));
    // The WBT entry of the UNREG that was not sent is free again.
    w.rest(60);
    assert_eq!(w.answered().len(), 1);
    w.owners.retain(|_, owner| *owner == Owner::Ours);
    w.alone(Ask::End);
    assert_eq!(w.owners.len(), 0);
}

#[test]
fn a_revoke_that_crosses_an_unreg_is_answered_without_the_line() {
    let mut w = quiet();
    own(&mut w, A);
    own(&mut w, B);
    w.hold_probes = true;
    w.take(line(A));
    w.alone(add(C, 1));
    w.rest(60);
    assert_eq!(saw(&mut w), seen(&[("REG", C), ("UNREG", A)]));
    // A store may take a frame for the line meanwhile.
    w.alone(Ask::Store(A + 8, 5, true));
    w.hold_probes = false;
    w.rest(60);
    let found = saw(&mut w);
    assert_eq!(found.last(), seen(&[("REVOKE_ACK0", A)]).last(), "{found:?}");
    assert_eq!(w.b.counted("srsp.hlrc_l1.REVOKE.unreg"), 1);
}

#[test]
fn the_second_user_of_the_capture_buffer_waits() {
    // Two REVOKEs.
    let mut w = quiet();
    own(&mut w, A);
    own(&mut w, B);
    w.alone(Ask::Store(Y, 3, true));
    w.banks.hold = vec![RspOp::WbAck];
    w.take(line(A));
    w.take(line(B));
    w.rest(60);
    // What is still owned is still used.
    let before = w.b.counted("hlrc_l1_local");
    let ids = [w.ask(add(A, 1)), w.ask(add(B, 1))];
    w.rest(60);
    assert_eq!(saw(&mut w), seen(&[("WB", Y)]));
    w.banks.hold.clear();
    w.rest(60);
    let mut found = saw(&mut w);
    found.sort();
    assert_eq!(found, seen(&[("REVOKE_ACK1", A), ("REVOKE_ACK1", B)]));
    assert!(w.b.counted("srsp.hlrc_l1.REVOKE.O.wait") > 0);
    w.owners.clear();
    w.rest(200);
    assert_eq!(w.answered().len(), ids.len());
    assert!(w.b.counted("hlrc_l1_local") <= before + 1);
    // A victim behind a REVOKE.
    let mut w = quiet();
    [A, B, Z].iter().for_each(|addr| own(&mut w, *addr));
    w.alone(Ask::Store(Y, 3, true));
    w.banks.hold = vec![RspOp::WbAck];
    w.take(line(Z));
    w.rest(20);
    let id = w.ask(Ask::Load(C));
    w.rest(60);
    assert!(w.b.counted("srsp.race.hlrc_l1_evict_waits") > 0);
    assert_eq!(saw(&mut w), seen(&[("WB", Y)]));
    w.banks.hold.clear();
    w.rest(120);
    assert_eq!(w.answered(), [id]);
    let mut found = saw(&mut w);
    found.sort();
    assert_eq!(found, seen(&[("RD", C), ("REVOKE_ACK1", Z), ("UNREG", A)]));
}

/// UNREG_ACKs wait for REVOKE_ACK{0}s, whose REVOKEs stand behind one that waits for the capture buffer, whose holder flushes: an entry of the WBT is left for its write-backs.
#[test]
fn given_back_lines_never_fill_the_wbt() {
    for wbt in [2, 3] {
        let mut p = small().sized(|s| Shape { size: 2048, ways: 4, ..s });
        p.shape.srsp.wbt = wbt;
        let mut w = quiet_at(&p);
        w.hold_probes = true;
        let lines: Vec<u64> = (0..4).map(|i| 0x8000 + 0x200 * i).collect();
        lines.iter().for_each(|addr| own(&mut w, *addr));
        // As many lines as may be given back, of which each is revoked at the L2 before its UNREG comes.
        let given = wbt as usize - 1;
        lines[..given].iter().for_each(|addr| w.take(line(*addr)));
        for i in 0..given as u64 {
            w.alone(add(0x8800 + 0x200 * i, 1));
            w.rest(40);
        }
        assert_eq!(w.banks.seen.iter().filter(|s| s.starts_with("UNREG")).count(), given);
        // One more victim, dirty data, and a REVOKE of an owned line before those of the others.
        w.alone(Ask::Store(Y, 3, true));
        w.take(line(0x8800));
        w.ask(add(0x9000, 1));
        w.rest(60);
        w.hold_probes = false;
        w.rest(300);
        assert_eq!(w.answered().len(), 1);
        assert_eq!(w.banks.seen.iter().filter(|s| s.starts_with("REVOKE_ACK0")).count(), given);
        assert!(w.banks.seen.contains(&format!("REVOKE_ACK1 {}", line(0x8800))));
    }
}

#[test]
fn plain_accesses_of_an_owned_line_are_done_at_the_l2() {
    let mut w = quiet();
    own(&mut w, A);
    w.banks.put(A + 8, 4, 6);
    assert_eq!(w.alone(Ask::Load(A + 8)).0, 6);
    w.banks.put(A + 8, 4, 7);
    assert_eq!(w.alone(Ask::Load(A + 8)).0, 7, "nothing is installed");
    assert_eq!(saw(&mut w), seen(&[("RDU", A), ("RDU", A)]));
    w.banks.hold = vec![RspOp::WbAck];
    w.alone(Ask::Store(A + 8, 9, true));
    let id = w.ask(Ask::Load(A + 8));
    w.rest(60);
    assert_eq!(saw(&mut w), seen(&[("WB", A)]), "the read waits for the write-back");
    assert_eq!(w.banks.log, [(line(A), mask(A + 8))]);
    w.banks.hold.clear();
    w.rest(60);
    assert_eq!((saw(&mut w), w.answered()), (seen(&[("RDU", A)]), vec![id]));
    // A store waits for a read under way, or the read could see it.
    w.banks.hold = vec![RspOp::Fill];
    let ids = [w.ask(Ask::Load(A + 8)), w.ask(Ask::Store(A + 8, 10, true))];
    w.rest(60);
    assert_eq!(saw(&mut w), seen(&[("RDU", A)]));
    w.banks.hold.clear();
    w.rest(60);
    assert_eq!((saw(&mut w), w.answered()), (seen(&[("WB", A)]), ids.to_vec()));
}

/// The bytes of a plain store are also changed here: the own atomics see them, and the line does not bring old ones back.
#[test]
fn a_plain_store_to_an_owned_line_is_seen_by_atomics_and_survives_the_loss() {
    let mut w = quiet();
    own(&mut w, A);
    w.alone(Ask::Store(A, 20, true));
    w.take(line(A));
    w.until_seen(&format!("REVOKE_ACK1 {}", line(A)));
    assert_eq!(w.banks.word(A, 4), 20);
    w.owners.clear();
    own(&mut w, A);
    w.alone(Ask::Store(A, 30, true));
    assert_eq!(w.alone(add(A, 1)).0, 30);
}

#[test]
fn a_flush_waits_for_plain_stores_to_owned_lines() {
    let mut w = quiet();
    own(&mut w, A);
    w.banks.hold = vec![RspOp::WbAck];
    w.alone(Ask::Store(A + 8, 9, true));
    w.take(line(A));
    w.rest(60);
    assert_eq!(saw(&mut w), seen(&[("WB", A)]));
    w.banks.hold.clear();
    w.rest(60);
    assert_eq!(saw(&mut w), seen(&[("REVOKE_ACK1", A)]));
}

/// Two lines come at once: the atomics of the second are done while the gate is closed for the first, and each has its own I.
#[test]
fn a_closed_gate_does_not_stop_a_gain() {
    let mut w = quiet();
    w.alone(Ask::Store(Y, 3, true));
    w.banks.hold = vec![RspOp::RegData, RspOp::WbAck];
    let mut ids = vec![w.ask(add(A, 1)), w.ask(add(Z, 1))];
    w.until_seen(&format!("REG {}", line(Z)));
    w.banks.hold = vec![RspOp::WbAck];
    w.rest(60);
    assert_eq!((w.b.counted("srsp.hlrc_l1.REG_DATA"), w.b.counted("srsp.race.hlrc_l1_gain_in_gain")), (2, 1));
    // Nobody else gets through meanwhile.
    ids.push(w.ask(add(A, 1)));
    w.rest(60);
    assert_eq!(w.answered(), [0; 0]);
    // A REVOKE does.
    w.take(line(Z));
    w.rest(60);
    assert!(w.b.counted("srsp.race.hlrc_l1_revoke_in_gain") > 0);
    w.banks.hold.clear();
    w.rest(80);
    let mut answered = w.answered();
    answered.sort_unstable();
    assert_eq!((answered, w.b.counted("hlrc_l1_flash_gain")), (ids, 2));
    assert_eq!(w.banks.word(Z, 4), 1);
}

#[test]
fn a_fill_that_a_gain_overtakes_is_not_installed() {
    let mut w = quiet();
    w.banks.hold = vec![RspOp::Fill];
    let mut ids = vec![w.ask(Ask::Load(Y)), w.ask(add(A, 1))];
    w.rest(60);
    // The marked MSHR takes no other load.
    ids.push(w.ask(Ask::Load(Y)));
    w.rest(60);
    assert_eq!(w.answered(), [ids[1]]);
    w.banks.put(Y, 4, 9);
    w.banks.hold.clear();
    w.rest(60);
    assert_eq!(w.answered(), [ids[0], ids[2]]);
    assert_eq!(saw(&mut w).iter().filter(|s| **s == format!("RD {}", line(Y))).count(), 2);
    assert_eq!(w.alone(Ask::Load(Y)).0, 9);
}

#[test]
fn a_pending_registration_stays_over_an_invalidation() {
    let mut w = quiet();
    w.banks.hold = vec![RspOp::RegData];
    let ids = [w.ask(add(A, 1)), w.ask(Ask::Begin)];
    w.rest(60);
    assert_eq!((w.answered(), w.b.counted("srsp.hlrc_l1.flash.PR")), (vec![ids[1]], 1));
    w.banks.hold.clear();
    w.rest(60);
    assert_eq!((w.answered(), saw(&mut w)), (vec![ids[0]], seen(&[("REG", A)])));
}

#[test]
fn victims_are_lines_that_are_not_registered() {
    for aware in [true, false] {
        let p = HlrcL1Params { owned_aware: aware, ..small() }.sized(|s| Shape { size: 2048, ways: 4, ..s });
        let mut w = quiet_at(&p);
        let lines: Vec<u64> = (0..5).map(|i| 0x8000 + 0x200 * i).collect();
        own(&mut w, lines[0]);
        lines[1..].iter().for_each(|addr| {
            w.alone(Ask::Load(*addr));
        });
        w.rest(60);
        saw(&mut w);
        w.alone(add(lines[0], 1));
        let expected = if aware { vec![] } else { seen(&[("REG", lines[0])]) };
        assert_eq!(saw(&mut w), expected, "aware: {aware}");
    }
}

/// A kernel's end: everything is at the L2, and nothing is registered.
#[test]
fn a_kernel_ends_with_nothing_owned() {
    let mut w = quiet();
    for (i, addr) in [A, B, Y, Z].into_iter().enumerate() {
        w.alone(add(addr, 10 + i as u64));
    }
    w.ask(Ask::Store(C + 0x40, 3, false));
    w.alone(Ask::End);
    assert_eq!([A, B, Y, Z, C + 0x40].map(|addr| w.banks.word(addr, 4)), [10, 11, 12, 13, 3]);
    assert!(w.owners.is_empty());
    assert_eq!(w.b.counted("hlrc_l1_flush_kend"), 4);
    w.alone(Ask::Begin);
    // Another CU stores plainly in between; the next kernel's atomics see it.
    w.banks.put(A, 4, 40);
    assert_eq!(w.alone(add(A, 1)).0, 40);
    // Without an owned line an end is short.
    let mut w = quiet();
    assert!(w.alone(Ask::End).1 < 20);
}

#[test]
fn fences_do_what_they_say_beyond_the_work_group() {
    let mut w = quiet();
    w.alone(Ask::Load(Y));
    w.alone(Ask::Store(Z, 3, true));
    w.banks.put(Y, 4, 9);
    w.alone(Ask::Fence { acquire: true, scope: 0 });
    w.alone(Ask::Fence { acquire: false, scope: 0 });
    assert_eq!((w.alone(Ask::Load(Y)).0, w.banks.word(Z, 4)), (0, 0));
    w.alone(Ask::Fence { acquire: false, scope: 1 });
    assert_eq!((w.alone(Ask::Load(Y)).0, w.banks.word(Z, 4)), (0, 3));
    w.alone(Ask::Fence { acquire: true, scope: 2 });
    assert_eq!(w.alone(Ask::Load(Y)).0, 9);
}

#[test]
fn hits_and_owned_atomics_take_the_latency_and_stream() {
    for latency in [2, 4, 9] {
        let mut w = quiet_at(&small().sized(|s| Shape { latency, size: 2048, ..s }));
        own(&mut w, A);
        w.alone(Ask::Load(Y));
        for ask in [Ask::Load(Y), add(A, 1)] {
            w.streams(ask, latency);
        }
    }
}

/// Without work nothing changes, nor while everything waits: the engine skips the block.
#[test]
fn an_l1_in_which_nothing_can_happen_sleeps() {
    let mut w = quiet();
    own(&mut w, A);
    w.falls_asleep();
    // A REVOKE waits for a grant that does not come, another CU's request for a fill.
    w.banks.hold = vec![RspOp::RegData, RspOp::Fill, RspOp::WbAck];
    w.alone(Ask::Store(Z, 3, true));
    w.ask(add(B, 1));
    w.until_seen(&format!("REG {}", line(B)));
    w.take(line(B));
    w.ask(Ask::Load(Y));
    w.ask(Ask::Store(Y, 3, false));
    w.falls_asleep();
}

/// Messages that the protocol does not know fail an assertion of the hardware.
#[test]
fn what_never_happens_is_asserted() {
    let failures = |channel: &str, message: &dyn Fn(&HlrcL1Params) -> Msg| {
        let mut w = quiet();
        own(&mut w, A);
        w.alone(Ask::Load(Y));
        let m = message(&w.p);
        w.b.send(channel, m);
        (0..10).for_each(|_| w.b.advance());
        w.b.sim.failures().iter().map(|f| f.name.to_string()).collect::<Vec<_>>()
    };
    let revoke = |addr: u64| {
        move |p: &HlrcL1Params| {
            let fields = [("op", ProbeOp::Revoke as u64), ("addr", addr), ("req", OWN)];
            Msg::of::<Probe>(&p.shape.srsp, &fields)
        }
    };
    // Of a line that is not here, and of one that is not owned.
    for addr in [B, Y] {
        assert!(failures("probe", &revoke(addr)).contains(&"revokes_complete".to_string()));
    }
    let other =
        |p: &HlrcL1Params| Msg::of::<Probe>(&p.shape.srsp, &[("op", ProbeOp::SelInv as u64), ("addr", A)]);
    assert!(failures("probe", &other).contains(&"hlrc_l1_revoke".to_string()));
    let rsp = |op: RspOp| {
        move |p: &HlrcL1Params| {
            Msg::of::<Rsp>(&p.shape.srsp, &[("op", op as u64), ("mshr", 0), ("wbt", 0), ("epoch", 0)])
        }
    };
    let found = failures("rsp", &rsp(RspOp::WbAck));
    assert!(found.contains(&"hlrc_l1_fence0_underflow".to_string()), "{found:?}");
    assert!(found.contains(&"hlrc_l1_ack_known".to_string()), "{found:?}");
    for (op, name) in [
        (RspOp::UnregAck, "hlrc_l1_ack_known"),
        (RspOp::RegData, "hlrc_l1_fill_open"),
        (RspOp::AtmRsp, "hlrc_l1_rsp"),
    ] {
        let found = failures("rsp", &rsp(op));
        assert!(found.contains(&name.to_string()), "{op:?}: {found:?}");
    }
}
