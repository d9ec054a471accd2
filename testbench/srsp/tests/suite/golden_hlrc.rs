//! hLRC on the golden system (srsp.md section 9): the rows of its tables as schedules.

use weft_srsp::msg::SyncOp;
use weft_srsp_bench::golden::lines::State;
use weft_srsp_bench::golden::msg::Sem;
use weft_srsp_bench::golden::system::program::{atomic, wg};
use weft_srsp_bench::golden::system::schedule::Schedule;
use weft_srsp_bench::golden::system::{Instr, Protocol, SystemParams};

const X: u64 = 0;
const Y: u64 = 64;
const Z: u64 = 128;
const W: u64 = 192;

fn add(addr: u64) -> Instr {
    Instr::Sync(wg(atomic(SyncOp::Add, addr, 1, 0), Sem::AcqRel))
}

/// Waves 0 and 1 on CU 0 and 1, wave 2 on CU 0.
fn schedule(p: impl Fn(SystemParams) -> SystemParams) -> Schedule {
    let tiny = SystemParams { l1_sfifo: 4, ..SystemParams::tiny(Protocol::Hlrc(false), 2) };
    Schedule::new(p(tiny), &[0, 1, 0])
}

fn state(s: &Schedule, cu: usize, addr: u64) -> State {
    s.system.hlrc(cu).core.lines.state(addr / 64)
}
/// Who owns a line, and whether a REVOKE is under way.
fn owner(s: &Schedule, addr: u64) -> Option<(u8, bool)> {
    s.system.l2(0).owners.get(&(addr / 64)).map(|owner| (owner.cu, owner.revoke.is_some()))
}

#[test]
fn gaining_invalidates_and_losing_flushes() {
    let mut s = schedule(|p| p);
    s.give(1, Instr::Ld(Y)).give(1, add(Z)).give(1, Instr::Ld(Y)).go();
    assert_eq!((state(&s, 1, Y), state(&s, 1, Z)), (State::V, State::O));
    s.give(0, Instr::St(Y, 7)).give(0, add(X)).go();
    assert_eq!((state(&s, 0, X), owner(&s, X)), (State::O, Some((0, false))));
    assert_eq!((state(&s, 0, Y), s.system.word(Y)), (State::I, 7), "the gain's I");
    s.give(0, Instr::St(Y, 8)).go();
    assert_eq!((state(&s, 0, Y), s.system.word(Y)), (State::W, 7));
    s.give(1, add(X)).give(1, Instr::Ld(Y));
    s.end();
    assert_eq!(s.got(1), [0, 0, 0, 1, 8]);
    assert_eq!((state(&s, 0, X), state(&s, 1, X)), (State::I, State::O));
    assert_eq!(state(&s, 1, Z), State::O, "owned lines stay");
    assert_eq!(owner(&s, X), Some((1, false)));
}

#[test]
fn hits_in_an_owned_line_are_local() {
    let mut s = schedule(|p| p);
    s.give(0, add(X)).go();
    s.hold("bank").give(0, add(X)).give(2, add(X)).go();
    assert_eq!((s.got(0), s.got(2)), (&[0, 1][..], &[2][..]));
    s.end();
}

#[test]
fn atomics_that_join_are_answered_after_the_invalidation() {
    let mut s = schedule(|p| p);
    s.hold("L1 0 gets RegData").give(0, add(X)).give(2, add(X)).go();
    assert_eq!(state(&s, 0, X), State::PR);
    s.hold("L1 0: Sync").release("L1 0 gets RegData");
    assert_eq!((state(&s, 0, X), s.got(0), s.got(2)), (State::O, &[][..], &[][..]));
    s.release("L1 0: Sync");
    assert_eq!((s.got(0), s.got(2)), (&[0][..], &[1][..]));
    s.end();
}

#[test]
fn a_revoke_overtakes_the_grant() {
    let mut s = schedule(|p| p);
    s.hold("L1 0 gets RegData").give(0, add(X)).go();
    s.give(1, add(X)).go();
    assert_eq!(owner(&s, X), Some((0, true)));
    assert!(s.waits("L1 0 gets Probe"), "it waits until at least one atomic is done");
    s.release("L1 0 gets RegData");
    assert_eq!((s.got(0), s.got(1)), (&[0][..], &[1][..]));
    s.end();
}

#[test]
fn a_third_registration_waits_for_the_revocation() {
    let mut s = schedule(|p| p);
    s.give(0, add(X)).go();
    s.hold("RevokeAck").give(1, add(X)).go();
    assert_eq!(state(&s, 0, X), State::I);
    s.give(0, add(X)).go();
    assert!(s.waits("kind: Reg"), "at the ingress");
    s.end();
    assert_eq!((s.got(0), s.got(1)), (&[0, 2][..], &[1][..]));
}

/// An L1 of two lines, both owned: a third evicts one.
#[test]
fn an_eviction_is_captured_flushed_and_unregistered() {
    let mut s = schedule(|p| SystemParams { l1: (1, 2), replaces: (true, false), ..p });
    s.give(0, add(X)).give(0, add(Z)).go();
    s.hold("kind: Unreg").give(0, add(W)).go();
    assert_eq!((state(&s, 0, X), owner(&s, X)), (State::I, Some((0, false))));
    s.give(0, add(X)).go();
    assert_eq!(s.got(0), [0, 0, 0], "REG waits for the UNREG_ACK");
    s.release("kind: Unreg");
    s.end();
    assert_eq!(s.got(0), [0, 0, 0, 1]);
}

/// X and Z are all of a set, Y is in the other.
#[test]
fn a_revoke_while_the_evicted_line_is_flushed() {
    let mut s = schedule(|p| SystemParams { l1: (2, 2), wbt: 4, replaces: (true, false), ..p });
    s.give(0, add(X)).give(0, add(Z)).give(0, Instr::St(Y, 7)).go();
    s.hold("kind: Wb {").give(0, add(256)).go();
    let captured = s.system.hlrc(0).capture;
    assert_eq!(captured.map(|capture| (capture.line, capture.revoked)), Some((0, false)));
    s.give(1, add(X)).go();
    let captured = s.system.hlrc(0).capture;
    assert_eq!(captured.map(|capture| (capture.line, capture.revoked)), Some((0, true)));
    assert!(!s.waits("RevokeAck"), "the flush is not done");
    s.hold("kind: Unreg").release("kind: Wb {").give(1, Instr::Ld(Y));
    s.go();
    assert_eq!(s.got(1), [1, 7], "REVOKE_ACK with the line, no UNREG");
    s.end();
}

#[test]
fn a_revoke_crosses_an_unreg() {
    let mut s = schedule(|p| SystemParams { l1: (1, 2), replaces: (true, false), ..p });
    s.give(0, add(X)).give(0, add(Z)).go();
    s.hold("kind: Unreg").give(0, add(W)).go();
    s.give(1, add(X)).go();
    assert_eq!(owner(&s, X), Some((0, true)));
    assert!(s.got(1).is_empty());
    s.release("kind: Unreg");
    assert_eq!(s.got(1), [1]);
    s.end();
    assert!(s.system.hlrc(0).core.wbt.is_empty(), "UNREG is acknowledged");
}

#[test]
fn plain_data_beside_an_owned_variable_is_served_at_the_l2() {
    let mut s = schedule(|p| p);
    s.give(0, add(X)).give(0, Instr::St(X + 32, 5)).go();
    assert_eq!(s.system.word(X + 32), 5, "written back at once");
    s.give(0, Instr::Ld(X + 32)).give(1, Instr::Ld(X + 32)).go();
    assert_eq!((s.got(0), s.got(1)), (&[0, 5][..], &[5][..]));
    assert_eq!((state(&s, 0, X), state(&s, 1, X)), (State::O, State::V));
    s.give(1, add(X)).give(1, Instr::Ld(X + 32));
    s.end();
    assert_eq!(s.got(1), [5, 1, 5]);
}

/// A bank of two lines, both registered.
fn full_bank() -> Schedule {
    let mut s = schedule(|p| SystemParams { l2: (1, 2), replaces: (false, true), ..p });
    s.give(0, add(X)).give(0, add(Z)).go();
    s
}

#[test]
fn a_bank_recalls_a_registered_line() {
    let mut s = full_bank();
    s.hold("L1 0 gets Probe").give(1, add(W)).go();
    let revoked = [X, Z].iter().filter(|addr| owner(&s, **addr) == Some((0, true))).count();
    assert_eq!(revoked, 1, "one victim at a time");
    s.end();
    assert_eq!(s.got(1), [0]);
    assert_eq!(s.system.l2(0).owners.len(), 2);
    s.give(1, add(X)).give(1, add(Z));
    s.end();
    assert_eq!(s.got(1), [0, 1, 1]);
}

#[test]
fn plain_accesses_go_around_a_bank_of_registered_lines() {
    let mut s = full_bank();
    s.give(1, Instr::St(Y, 7)).give(1, add(256)).go();
    s.give(0, Instr::Ld(Y));
    s.end();
    assert_eq!(s.got(0), [0, 0, 7]);
    let mut s = full_bank();
    s.hold("gets Probe").give(1, Instr::Ld(Y)).go();
    assert_eq!(s.got(1), [0], "uncached, without a recall");
    assert_eq!(s.system.l2(0).lines.state(1), State::I);
    s.end();
}

#[test]
fn through_inv_writes_to_memory_and_drops_the_line() {
    let mut s = schedule(|p| SystemParams { protocol: Protocol::Hlrc(true), ..p });
    s.give(1, Instr::Ld(Y)).go();
    assert_eq!(s.system.l2(0).lines.state(1), State::V);
    s.give(0, Instr::St(Y, 7)).give(0, add(X)).go();
    assert_eq!((s.system.l2(0).lines.state(1), s.system.word(Y)), (State::I, 7));
    s.give(1, add(X)).give(1, Instr::Ld(Y));
    s.end();
    assert_eq!(s.got(1), [0, 1, 7]);
}
