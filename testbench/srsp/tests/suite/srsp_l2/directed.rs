//! Each rule of srsp.md section 6 by itself.

use super::small;
use crate::srsp_l2::world::{Answered, Mix, Remote, World};
use weft_rtl::bv::Bv;
use weft_srsp::msg::{ReqOp, RspOp, SyncOp};
use weft_srsp::params::Impl;
use weft_srsp_bench::memory::{Access, initial};

pub const NOTHING: Mix = Mix { rd: 0.0, wb: 0.0, atm: 0.0, sys_atm: 0.0, remote: 0.0, sys: 0.0 };

/// A bank whose memory answers at once, and which is clear by now.
fn world(system: Impl, cus: u32) -> World {
    World::new(&small(system, cus), NOTHING, 10, 1).at_once(20)
}

/// Eight bytes from the beginning of a line.
pub fn write8(w: &mut World, c: usize, line: u64, value: u64) {
    assert!(w.write(c, line, Bv::from_u64(0xff, 64), Bv::from_u64(value, 512)));
}

pub fn access(w: &World, op: SyncOp, line: u64, opnd: u64, cmp: u64) -> Access {
    Access { op, wide: true, addr: line * u64::from(w.p.bank.srsp.line), opnd, cmp }
}

/// Begins a remote operation, which then waits between lock and operation for ever.
pub fn lock(w: &mut World, c: usize, op: Access, keep: bool) {
    w.l1s[c].op = Some((op, keep));
    w.lock(c);
    stays(w, c);
}

/// Runs until a remote operation works, which it does for ever, or for a while.
pub fn stays(w: &mut World, c: usize) {
    for _ in 0..200 {
        w.step(false);
        if let Remote::Works(until) = &mut w.l1s[c].remote {
            *until = u64::MAX;
            return;
        }
    }
}

fn locked(w: &World, c: usize) -> bool {
    matches!(w.l1s[c].remote, Remote::Works(_))
}

/// Goes on with a remote operation that waits.
fn operate(w: &mut World, c: usize) {
    assert!(locked(w, c));
    w.operate(c);
}

#[test]
fn a_read_of_written_bytes_fetches_the_others() {
    let mut w = world(Impl::Srsp, 2);
    let line = w.lines[0];
    write8(&mut w, 0, line, 0x0102_0304_0506_0708);
    w.drain();
    assert_eq!(w.memory.reads, 0);
    w.read(1, line);
    w.settled();
    assert_eq!(w.memory.reads, 1);
    assert_eq!(w.b.counted("srsp.l2.W.RD"), 1);
    assert_eq!(w.b.counted("srsp.l2.Pd.FILL"), 1);
    // What was combined is the line now, and still dirty.
    w.finish_all(ReqOp::SysFlush);
    w.check();
    assert_eq!(w.memory.line(line)[..8], 0x0102_0304_0506_0708u64.to_le_bytes());
    assert_eq!(w.memory.written, 1);
}

#[test]
fn a_line_that_was_written_whole_is_read_without_memory() {
    let mut w = world(Impl::Srsp, 2);
    let line = w.lines[0];
    let data = Bv::from_limbs(&[1, 2, 3, 4, 5, 6, 7, 8], 512);
    w.write(0, line, Bv::ones(64), data);
    w.drain();
    w.read(1, line);
    let op = access(&w, SyncOp::Add, line, 5, 0);
    w.atomic(0, op, false);
    w.settled();
    assert_eq!(w.memory.reads, 0);
    assert_eq!((w.b.counted("srsp.l2.W.RD_in"), w.b.counted("srsp.l2.W.AMO_in")), (1, 1));
}

/// The answer to a read says whether the line was here, without memory.
#[test]
fn a_read_says_whether_it_has_hit() {
    let mut w = world(Impl::Srsp, 2);
    let (line, partial, whole) = (w.lines[0], w.lines[1], w.lines[2]);
    let told = |w: &mut World, reads: &[(usize, u64)], expected: bool| {
        for (c, line) in reads {
            w.read(*c, *line);
        }
        w.settled();
        let of_read = |a: &&Answered| a.op == RspOp::Fill as u64;
        let hits: Vec<bool> = w.answered.iter().filter(of_read).map(|a| a.hit).collect();
        assert_eq!(hits, vec![expected; reads.len()], "{reads:x?}");
        w.answered.clear();
    };
    // The second of two that wait for it has not hit either.
    w.memory.delay = 60;
    told(&mut w, &[(0, line), (1, line)], false);
    told(&mut w, &[(0, line)], true);
    write8(&mut w, 1, line, 3);
    told(&mut w, &[(0, line), (1, line)], true);
    write8(&mut w, 1, partial, 3);
    told(&mut w, &[(0, partial)], false);
    told(&mut w, &[(0, partial)], true);
    w.write(1, whole, Bv::ones(64), Bv::zero(512));
    w.drain();
    told(&mut w, &[(0, whole)], true);
}

/// What writes nothing needs no entry of the sFIFO.
#[test]
fn a_load_at_a_full_sfifo_writes_nothing_to_memory() {
    let mut w = world(Impl::Srsp, 1);
    let line = w.lines[0];
    w.read(0, line);
    w.drain();
    let mut others = w.lines[1..].to_vec();
    others.sort_by_key(|other| other >> 1 & 1 == line >> 1 & 1);
    let split = others.partition_point(|other| other >> 1 & 1 != line >> 1 & 1);
    for dirty in [others[0], others[1], others[split]] {
        write8(&mut w, 0, dirty, 1);
    }
    w.drain();
    let load = access(&w, SyncOp::Ld, line, 0, 0);
    w.atomic(0, load, false);
    w.settled();
    assert_eq!((w.memory.written, w.b.counted("srsp.l2.V.AMO")), (0, 1));
}

#[test]
fn a_write_back_of_a_line_on_its_way_is_acknowledged_at_once() {
    let mut w = world(Impl::Srsp, 2);
    let line = w.lines[0];
    w.memory.delay = 100_000;
    w.read(1, line);
    w.rest(40);
    write8(&mut w, 0, line, 77);
    w.rest(40);
    assert!(w.l1s[0].wbs.is_empty(), "the bytes are in the array");
    assert_eq!(w.l1s[1].rds.len(), 1);
    assert_eq!(w.b.counted("srsp.l2.P.WB"), 1);
}

#[test]
fn a_locked_line_keeps_readers_out_and_lets_write_backs_in() {
    let mut w = world(Impl::Srsp, 4);
    let line = w.lines[0];
    let cas = access(&w, SyncOp::Cas, line, 9, 1);
    lock(&mut w, 0, cas, false);
    assert!(locked(&w, 0));
    w.read(0, line);
    w.read(1, line);
    let add = access(&w, SyncOp::Add, line, 1, 0);
    w.atomic(2, add, false);
    write8(&mut w, 3, line, 1);
    w.rest(100);
    w.check();
    assert!(w.l1s[3].wbs.is_empty(), "a write-back never waits for a lock");
    assert!(w.l1s[0].rds.len() == 1 && w.l1s[1].rds.len() == 1 && w.l1s[2].atm.is_some());
    for race in ["fill_at_own_lock", "fill_at_lock", "atomic_at_lock", "wb_at_lock"] {
        assert!(w.b.counted(&format!("srsp.race.l2_{race}")) > 0, "{race}");
    }
    operate(&mut w, 0);
    w.settled();
    // The compare-and-swap has found what was written back under the lock; the atomic came after it.
    assert_eq!(w.model(line).0[..8], 10u64.to_le_bytes());
}

#[test]
fn a_kept_lock_ends_with_its_unlock() {
    let mut w = world(Impl::Srsp, 2);
    let line = w.lines[0];
    let op = access(&w, SyncOp::Exch, line, 9, 0);
    lock(&mut w, 0, op, true);
    operate(&mut w, 0);
    for _ in 0..100 {
        w.step(false);
        if let Remote::Kept(until) = &mut w.l1s[0].remote {
            *until = u64::MAX;
        }
    }
    assert!(matches!(w.l1s[0].remote, Remote::Kept(_)));
    w.read(1, line);
    w.rest(100);
    assert_eq!(w.l1s[1].rds.len(), 1, "still locked");
    w.unlock(0);
    w.settled();
}

#[test]
fn a_failed_compare_and_swap_unlocks_at_once() {
    let mut w = world(Impl::Srsp, 2);
    let line = w.lines[0];
    write8(&mut w, 1, line, 5);
    w.drain();
    let op = access(&w, SyncOp::Cas, line, 9, 4);
    lock(&mut w, 0, op, true);
    w.read(1, line);
    w.rest(50);
    assert_eq!(w.l1s[1].rds.len(), 1);
    operate(&mut w, 0);
    w.rest(100);
    w.check();
    assert!(w.l1s[1].rds.is_empty() && w.l1s[0].remote == Remote::None);
    assert_eq!(w.b.counted("srsp.race.l2_failed_unlocks"), 1);
}

#[test]
fn a_second_remote_operation_gets_the_lock_when_the_first_is_over() {
    let mut w = world(Impl::Srsp, 3);
    let line = w.lines[0];
    let op = access(&w, SyncOp::Add, line, 1, 0);
    lock(&mut w, 0, op, false);
    for c in 1..3 {
        w.l1s[c].op = Some((op, false));
        w.lock(c);
    }
    w.rest(100);
    assert!(!locked(&w, 1) && !locked(&w, 2));
    operate(&mut w, 0);
    w.settled();
    assert!(w.b.counted("srsp.race.l2_handed") >= 2);
    assert_eq!(w.done["remote"], 3);
}

#[test]
fn without_a_free_entry_a_lock_waits_and_the_rest_goes_on() {
    let mut w = world(Impl::Srsp, 4);
    let lines = w.lines.clone();
    for (c, line) in lines[..3].iter().enumerate() {
        let op = access(&w, SyncOp::Add, *line, 1, 0);
        if c < 2 {
            lock(&mut w, c, op, false);
        } else {
            w.l1s[c].op = Some((op, false));
            w.lock(c);
        }
    }
    w.read(3, lines[2]);
    w.rest(100);
    assert!(locked(&w, 0) && locked(&w, 1) && !locked(&w, 2));
    assert!(w.l1s[3].rds.is_empty(), "the line is not locked");
    operate(&mut w, 0);
    w.rest(100);
    assert!(w.l1s[2].remote != Remote::Lock, "the entry is free");
    operate(&mut w, 1);
    w.settled();
}

#[test]
fn a_full_sfifo_writes_its_oldest_line() {
    let mut w = world(Impl::Srsp, 1);
    let set = |line: u64| line >> 1 & 1;
    let mut chosen: Vec<u64> = Vec::new();
    for line in w.lines.clone() {
        if chosen.iter().filter(|l| set(**l) == set(line)).count() < 2 {
            chosen.push(line);
        }
    }
    assert!(chosen.len() == 4, "two lines for each of two sets: {chosen:x?}");
    for (i, line) in chosen.iter().enumerate() {
        write8(&mut w, 0, *line, i as u64);
        w.drain();
        assert_eq!(w.memory.written, u64::from(i == 3), "3 entries");
    }
    w.check();
    assert_eq!(w.memory.line(chosen[0])[..8], [0; 8]);
    assert_eq!(w.b.counted("l2_pops_overflow"), 1);
}

#[test]
fn an_atomic_of_sys_scope_takes_the_line_away() {
    let mut w = world(Impl::Srsp, 2);
    let line = w.lines[0];
    write8(&mut w, 0, line, 100);
    w.drain();
    let op = access(&w, SyncOp::Add, line, 11, 0);
    w.atomic(1, op, true);
    w.settled();
    assert_eq!(w.memory.line(line)[..8], 111u64.to_le_bytes());
    assert_eq!(w.b.counted("srsp.l2.W.ATM_SYS"), 1);
    w.read(0, line);
    w.settled();
    assert_eq!(w.memory.reads, 1, "the line was dropped");
}

#[test]
fn sys_inv_drops_everything() {
    let mut w = world(Impl::Srsp, 2);
    let (line, other) = (w.lines[0], w.lines[1]);
    w.read(0, line);
    write8(&mut w, 1, other, 3);
    w.drain();
    w.system(0, ReqOp::SysInv);
    w.settled();
    assert_eq!(w.memory.line(other)[..8], 3u64.to_le_bytes());
    // Another device writes memory now.
    w.memory.line(line)[7] ^= 0x55;
    let changed = w.memory.line(line).clone();
    w.model(line).0 = changed;
    let reads = w.memory.reads;
    w.read(0, line);
    w.read(1, other);
    w.settled();
    assert_eq!(w.memory.reads, reads + 2);
}

#[test]
fn sys_flush_keeps_the_lines() {
    let mut w = world(Impl::Base, 2);
    let line = w.lines[0];
    w.read(0, line);
    w.drain();
    write8(&mut w, 1, line, 3);
    w.drain();
    w.system(0, ReqOp::SysFlush);
    w.settled();
    assert_eq!(w.memory.line(line)[..8], 3u64.to_le_bytes());
    let reads = w.memory.reads;
    w.read(0, line);
    w.settled();
    assert_eq!(w.memory.reads, reads);
}

#[test]
fn a_flush_waits_for_memory() {
    let mut w = world(Impl::Srsp, 2);
    let line = w.lines[0];
    write8(&mut w, 1, line, 3);
    w.drain();
    w.memory.delay = 100_000;
    w.system(0, ReqOp::SysFlush);
    w.rest(300);
    assert_eq!(w.memory.written, 1);
    assert!(w.l1s[0].sys.is_some(), "memory has not acknowledged");
    // Traffic goes on meanwhile.
    w.write(1, line, Bv::from_u64(0xf00, 64), Bv::from_u64(0, 512));
    w.rest(100);
    assert!(w.l1s[1].wbs.is_empty());
}

#[test]
fn the_token_goes_round() {
    let mut w = world(Impl::BrspToken, 3);
    let line = w.lines[0];
    let op = access(&w, SyncOp::Add, line, 1, 0);
    for c in 0..3 {
        w.l1s[c].op = Some((op, false));
        w.l1s[c].remote = Remote::Token { locks: c == 1 };
        w.request(c, ReqOp::Token, &[]);
    }
    w.settled();
    assert_eq!((w.done["tokens"], w.done["remote"], w.done["grants"]), (3, 3, 1));
    let mut expected = initial(line, 64);
    for _ in 0..3 {
        op.perform(&mut expected);
    }
    assert_eq!(w.model(line).0, expected);
}
