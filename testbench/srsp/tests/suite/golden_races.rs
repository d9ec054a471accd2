//! The races of srsp.md section 7 as directed schedules on the golden system: the order that makes each one, and its outcome.

use weft_srsp::msg::SyncOp;
use weft_srsp::params::Impl;
use weft_srsp_bench::golden::lines::State;
use weft_srsp_bench::golden::msg::{Scope, Sem, Sync};
use weft_srsp_bench::golden::system::program::{atomic, cas, cmp, get, put, remote, wg};
use weft_srsp_bench::golden::system::schedule::Schedule;
use weft_srsp_bench::golden::system::{Instr, Protocol, SystemParams};

const X: u64 = 0;
/// Another variable of the line of X.
const M: u64 = 8;
const Y: u64 = 64;
const Z: u64 = 128;

/// Waves 0 and 3 on CU 0, 1 and 2 on CU 1 and 2.
fn schedule(imp: Impl) -> Schedule {
    let p = SystemParams { l1_sfifo: 4, wbt: 4, pa: 4, ..SystemParams::tiny(Protocol::Scoped(imp), 3) };
    Schedule::new(p, &[0, 1, 2, 0])
}
/// Who has locked the line of X.
fn locked(s: &Schedule) -> Option<u8> {
    s.system.l2(0).locks.owner(0)
}
/// State of the line of X.
fn x(s: &Schedule, cu: usize) -> State {
    s.system.l1(cu).core.lines.state(0)
}

fn take_wg() -> Instr {
    Instr::Sync(wg(cas(X, 0, 1), Sem::Acq))
}
fn set_wg(value: u64) -> Instr {
    Instr::Sync(wg(put(X, value), Sem::Rel))
}
fn look_wg() -> Instr {
    Instr::Sync(wg(get(X), Sem::Acq))
}
fn take_remote() -> Instr {
    Instr::Sync(remote(cas(X, 0, 1), Sem::Acq))
}
fn look_remote() -> Instr {
    Instr::Sync(remote(get(X), Sem::Acq))
}
fn set_remote(value: u64) -> Instr {
    Instr::Sync(remote(put(X, value), Sem::Rel))
}

#[test]
fn two_remote_operations_on_one_variable() {
    let mut s = schedule(Impl::Srsp);
    s.hold("L1 2 gets Probe").give(1, take_remote()).go();
    assert_eq!(locked(&s), Some(1));
    s.give(2, take_remote()).go();
    assert!(s.system.l1(2).gate.open(), "the second waits for its GRANT with its gate open");
    s.release("L1 2 gets Probe");
    assert_eq!((s.got(1), s.got(2)), (&[0][..], &[1][..]));
    s.end();
}

#[test]
fn each_acquires_what_the_other_owns() {
    let mut s = schedule(Impl::Srsp);
    let theirs = |value| Instr::Sync(wg(put(Z, value), Sem::Rel));
    s.give(0, set_wg(1)).give(1, theirs(1)).go();
    s.hold("Probe {");
    s.give(0, Instr::Sync(remote(get(Z), Sem::Acq))).give(1, look_remote()).go();
    assert!(!s.system.l1(0).gate.open() && !s.system.l1(1).gate.open(), "both are granted");
    s.release("Probe {");
    assert_eq!((s.got(0), s.got(1)), (&[0, 1][..], &[0, 1][..]));
    s.end();
}

#[test]
fn the_owner_after_its_pack_waits_for_the_unlock() {
    let mut s = schedule(Impl::Srsp);
    s.give(0, set_wg(0)).go();
    s.hold("RemOp").give(1, take_remote()).go();
    assert_eq!(x(&s, 0), State::I);
    s.give(0, take_wg()).give(3, set_wg(5)).go();
    assert!(s.waits("Rd { line: 0"), "the fill waits at the L2");
    assert_eq!(s.got(0), [0], "nothing but the first store has been answered");
    s.give(0, look_wg());
    s.end();
    assert_eq!(s.got(1), [0]);
    assert_eq!(s.got(0)[1], 1, "the owner's compare-and-swap comes after the thief's");
}

#[test]
fn plain_stores_of_the_owner_after_its_pack_stay() {
    let mut s = schedule(Impl::Srsp);
    s.give(0, Instr::St(Y, 3)).give(0, set_wg(1)).go();
    s.hold("RemOp").give(1, look_remote()).go();
    s.give(0, Instr::St(Y, 4)).go();
    assert_eq!(s.system.word(Y), 3);
    assert_eq!(s.system.l1(0).core.lines.state(1), State::W);
    s.release("RemOp").give(1, Instr::Ld(Y));
    s.end();
    assert_eq!(s.got(1), [1, 3]);
}

#[test]
fn a_release_that_was_drained_is_fenced() {
    let mut s = schedule(Impl::Srsp);
    s.give(0, Instr::St(Y, 3)).give(0, set_wg(1)).go();
    s.hold("takes Some(Wb { src: 0");
    for i in 0..4 {
        s.give(0, Instr::St(Z + 64 * i, 9)).go();
    }
    assert!(s.system.l1(0).core.rel.lr.entries().is_empty());
    s.give(1, look_remote()).go();
    assert!(s.got(1).is_empty(), "the PACK of a miss waits for write-backs under way");
    s.release("takes Some(Wb { src: 0").give(1, Instr::Ld(Y));
    s.end();
    assert_eq!(s.got(1), [1, 3]);
}

#[test]
fn an_acquire_that_waits_for_its_fill_looks_up_again() {
    let mut s = schedule(Impl::Srsp);
    s.give(3, Instr::Ld(Y)).go();
    s.hold("L1 0 gets Fill").give(0, look_wg()).go();
    s.give(1, Instr::St(Y, 3)).give(1, set_remote(1)).go();
    assert_eq!(s.system.word(X), 1);
    s.release("L1 0 gets Fill").give(0, Instr::Ld(Y));
    s.end();
    assert_eq!(s.got(0), [1, 3]);
    assert!(s.system.l1(0).pa.entries().is_empty());
}

#[test]
fn a_later_release_during_a_promoted_acquire() {
    let mut s = schedule(Impl::Srsp);
    s.give(1, Instr::St(Y, 3)).give(1, set_remote(1)).go();
    s.hold("L1 0 gets AtmRsp").give(0, look_wg()).go();
    s.hold("L1 0: Sync").release("L1 0 gets AtmRsp");
    s.give(1, Instr::St(Y, 4)).give(1, set_remote(2)).go();
    assert_eq!(s.system.l1(0).pa.entries(), [0], "inserted before the flash-inv");
    s.release("L1 0: Sync").give(0, Instr::Ld(Y));
    assert!(s.system.l1(0).pa.entries().is_empty(), "then emptied");
    s.give(0, look_wg()).give(0, Instr::Ld(Y));
    s.end();
    assert_eq!(s.got(0), [1, 4, 2, 4]);
}

#[test]
fn the_owner_invalidates_between_sel_inv_and_the_store() {
    let mut s = schedule(Impl::Srsp);
    s.hold("RemOp").give(1, Instr::St(Y, 3)).give(1, set_remote(1)).go();
    assert_eq!(s.system.l1(0).pa.entries(), [0]);
    s.give(0, Instr::Sync(cmp(get(Z), Sem::Acq))).give(0, Instr::Ld(Y)).go();
    assert!(s.system.l1(0).pa.entries().is_empty());
    assert_eq!(s.got(0), [0, 3], "the data is there already");
    s.give(0, look_wg()).go();
    assert_eq!(s.got(0).len(), 2, "the variable still waits for the lock");
    s.end();
    assert_eq!(s.got(0), [0, 3, 1]);
}

#[test]
fn a_remote_release_over_a_dirty_copy_of_the_owner() {
    let mut s = schedule(Impl::Srsp);
    s.give(0, Instr::Sync(wg(atomic(SyncOp::Exch, X, 5, 0), Sem::Acq))).go();
    assert_eq!(x(&s, 0), State::D);
    s.hold("takes Some(Wb { src: 0").give(1, set_remote(6)).go();
    assert!(s.got(1).is_empty(), "the PACK waits until the owner's write-back is there");
    s.release("takes Some(Wb { src: 0");
    assert_eq!(s.system.word(X), 6);
    s.end();
    assert_eq!(s.got(1), [5], "first local, then remote");
}

#[test]
fn another_released_variable_in_the_line() {
    let mut s = schedule(Impl::Srsp);
    let m = |sync: fn(_, _) -> _, atomic, sem| Instr::Sync(sync(atomic, sem));
    s.give(0, Instr::St(Y, 3)).give(0, m(wg, put(M, 1), Sem::Rel)).go();
    s.give(1, look_remote()).go();
    assert_eq!(s.system.word(M), 1, "the line's write-back publishes M early");
    assert_eq!(s.system.word(Y), 0);
    assert_eq!(s.system.l1(0).core.rel.lr.entries().len(), 1, "M's entry stays");
    s.give(1, m(remote, get(M), Sem::Acq)).give(1, Instr::Ld(Y));
    s.end();
    assert_eq!(s.got(1), [0, 1, 3]);
}

#[test]
fn a_local_conversion_that_becomes_global() {
    let mut s = schedule(Impl::SrspOpt);
    s.give(0, set_wg(0)).give(0, take_remote()).go();
    assert_eq!((s.got(0), s.system.word(X)), (&[0, 0][..], 0), "done locally");
    s.give(0, Instr::St(Y, 3)).go();
    for i in 0..4 {
        s.give(0, Instr::St(Z + 64 * i, 9)).go();
    }
    assert!(s.system.l1(0).core.rel.lr.entries().is_empty());
    s.give(0, set_remote(0)).go();
    assert_eq!((s.system.word(X), s.system.word(Y)), (0, 3), "F and O have pushed everything first");
    s.give(1, take_remote()).give(1, Instr::Ld(Y));
    s.end();
    assert_eq!(s.got(1), [0, 3]);
}

#[test]
fn an_own_fill_behind_the_own_lock() {
    let mut s = schedule(Impl::Srsp);
    s.hold("takes Req { src: 0, kind: Rd").give(3, Instr::Ld(X)).go();
    s.give(0, take_remote()).go();
    assert_eq!(s.got(0), [0], "the remote operation does not wait for the MSHR");
    s.end();
    assert_eq!(s.got(3), [1], "the fill comes after the unlock");
}

/// REM_UNLOCK is on VN1 and not answered: the next REM_LOCK of the same L1 may overtake it, and waits.
#[test]
fn the_next_remote_operation_overtakes_the_unlock() {
    let mut s = schedule(Impl::Srsp);
    s.hold("RemUnlock").give(1, Instr::Sync(remote(cas(X, 0, 1), Sem::AcqRel))).go();
    assert_eq!((s.got(1), locked(&s)), (&[0][..], Some(1)));
    s.give(1, look_remote()).go();
    assert_eq!(s.got(1), [0]);
    assert!(s.waits("RemUnlock"));
    s.end();
    assert_eq!(s.got(1), [0, 1]);
}

/// An atomic that waits for memory when SYS INV comes is performed and not lost.
#[test]
fn an_open_fetch_with_an_atomic_when_sys_inv_comes() {
    let p = SystemParams { instant_memory: false, ..SystemParams::tiny(Protocol::Scoped(Impl::Srsp), 2) };
    let mut s = Schedule::new(p, &[0, 1]);
    let sys = Sync { scope: Scope::Sys, ..cmp(get(Z), Sem::Acq) };
    s.hold("memory: MemReq { id: 0, kind: Rd { line: 0").give(0, Instr::Sync(cmp(put(X, 5), Sem::Rel))).go();
    s.give(1, Instr::Sync(sys)).go();
    assert_eq!((s.got(0), s.got(1)), (&[][..], &[][..]), "SYS INV waits for the fetch");
    s.give(1, Instr::Sync(cmp(get(X), Sem::Acq)));
    s.end();
    assert_eq!(s.got(1), [0, 5]);
}
