//! What waits in `denovo-b-l1`, and for what.

use super::*;
use weft_srsp::Shape;

/// Race 1: the grant is in flight.
#[test]
fn a_probe_waits_for_the_grant_and_for_who_waits_for_it() {
    for op in [OwnerOp::Read, OwnerOp::Revoke] {
        let mut l1 = L1::quiet();
        let id = l1.add(A, 1, RELAXED);
        let mshr = l1.asks(ReqOp::Reg, A);
        l1.probe(op, A);
        assert_eq!(l1.sent(), []);
        l1.give(RspOp::RegData, mshr, 3);
        assert_eq!(l1.answers(A), [(id, 3)]);
        let acks = [Sent::ReadAck(A / LINE, 1), Sent::RevokeAck(A / LINE, 1)];
        assert_eq!(l1.sent(), [acks[usize::from(op == OwnerOp::Revoke)]]);
    }
}

/// Owned lines are victims, written ones become owned first; race 2: a probe crosses the UNREG.
#[test]
fn victims_are_given_back_and_written_lines_registered_first() {
    for op in [OwnerOp::Read, OwnerOp::Revoke] {
        let mut l1 = L1::quiet();
        l1.own(A, 1);
        l1.own(B, 1);
        let load = l1.load(C);
        let mshr = l1.asks(ReqOp::Rd, C);
        assert_eq!(l1.sent(), [Sent::Unreg(A / LINE, 1)], "the one used least recently");
        l1.probe(op, A);
        assert_eq!(l1.sent(), [Sent::Empty(A / LINE)]);
        l1.give(RspOp::Fill, mshr, 7);
        assert_eq!(l1.answers(C), [(load, 7)]);
        // A store takes a frame beside the UNREG; its registration waits.
        l1.store(A, 9);
        let fence = l1.whole(CuOp::Rel);
        assert_eq!(l1.asked(), []);
        l1.probe(op, A);
        assert_eq!(l1.sent(), [Sent::Empty(A / LINE)], "the state is W");
        l1.unreg_ack();
        let mshr = l1.asks(ReqOp::Reg, A);
        l1.answers(A);
        l1.give(RspOp::RegData, mshr, 0);
        assert_eq!(l1.answers(A), [(fence, 0)]);
    }
}

#[test]
fn an_operation_waits_for_written_lines_of_its_set() {
    let mut l1 = L1::quiet();
    l1.store(A, 1);
    l1.store(B, 2);
    let load = l1.load(C);
    let asked = l1.asked();
    let of = |op, addr: u64| asked.iter().find(|asked| (asked.0, asked.1) == (op, addr / LINE)).copied();
    let (_, _, mshr) = of(ReqOp::Reg, A).expect("the older one first");
    assert!(of(ReqOp::Rd, C).is_none());
    assert_eq!(l1.sent(), []);
    l1.answers(C);
    l1.give(RspOp::RegData, mshr, 0);
    let mshr = l1.asks(ReqOp::Rd, C);
    assert_eq!(l1.sent(), [Sent::Unreg(A / LINE, 1)]);
    l1.give(RspOp::Fill, mshr, 3);
    assert_eq!(l1.answers(C), [(load, 3)]);
}

/// Race 5: a pop finds no MSHR free.
#[test]
fn a_release_without_an_mshr_waits_and_nothing_else_does() {
    let mut l1 = L1::new(&small().sized(|s| Shape { srsp: Srsp { mshrs: 1, ..s.srsp }, ..s }));
    l1.own(Y, 1);
    let load = l1.load(A);
    let mshr = l1.asks(ReqOp::Rd, A);
    l1.store(Z, 5);
    let release = l1.whole(CuOp::Rel);
    l1.answers(A);
    for _ in 0..4 {
        l1.has(Y + 4, 1);
    }
    l1.give(RspOp::Fill, mshr, 3);
    let reg = l1.asks(ReqOp::Reg, Z);
    assert_eq!(l1.answers(A), [(load, 3)]);
    l1.give(RspOp::RegData, reg, 0);
    assert_eq!(l1.answers(A), [(release, 0)]);
}

#[test]
fn a_kernels_end_gives_everything_back() {
    let mut l1 = L1::quiet();
    l1.own(A, 1);
    l1.own(Y, 1);
    l1.store(Z + 4, 5);
    l1.answers(A);
    let end = l1.whole(CuOp::Kend);
    let mshr = l1.asks(ReqOp::Reg, Z);
    l1.give(RspOp::RegData, mshr, 0);
    let mut sent = l1.sent();
    sent.sort_by_key(|sent| format!("{sent:?}"));
    let of = |addr: u64, words| Sent::Unreg(addr / LINE, words);
    assert_eq!(sent, [of(A, 1), of(Y, 1), of(Z, 2)]);
    assert_eq!(l1.answers(A), []);
    (0..3).for_each(|_| l1.unreg_ack());
    assert_eq!(l1.answers(A), [(end, 0)]);
    l1.load(Z);
    l1.asks(ReqOp::Rd, Z);
}

/// An acquire waits in the queue behind a release; meanwhile its line is revoked.
#[test]
fn the_line_of_an_acquire_may_be_lost_before_its_turn() {
    let mut l1 = L1::quiet();
    l1.own(Y, 1);
    l1.store(A, 5);
    let release = l1.add(Z, 1, RELEASE);
    let a = l1.asks(ReqOp::Reg, A);
    let acquire = l1.add(Y, 1, ACQUIRE);
    l1.answers(A);
    l1.probe(OwnerOp::Revoke, Y);
    assert_eq!(l1.sent(), [Sent::RevokeAck(Y / LINE, 1)]);
    l1.give(RspOp::RegData, a, 0);
    let asked = l1.asked();
    assert_eq!(asked.iter().map(|asked| asked.1).collect::<Vec<_>>(), [Z / LINE, Y / LINE]);
    l1.give(RspOp::RegData, asked[1].2, 7);
    assert_eq!(l1.answers(Y), [(acquire, 7)]);
    l1.give(RspOp::RegData, asked[0].2, 8);
    assert_eq!(l1.answers(Z), [(release, 8)]);
}

/// Operations with steps and acquires in MSHRs share the places of the queue.
#[test]
fn acquires_in_mshrs_have_places_in_the_queue() {
    let mut l1 = L1::new(&small().sized(|s| Shape { sq: 1, ..s }));
    let first = l1.add(A, 1, ACQUIRE);
    let a = l1.asks(ReqOp::Reg, A);
    let second = l1.add(Y, 1, ACQUIRE);
    assert_eq!(l1.asked(), [], "it waits outside");
    l1.give(RspOp::RegData, a, 3);
    let y = l1.asks(ReqOp::Reg, Y);
    l1.give(RspOp::RegData, y, 4);
    assert_eq!(l1.answers(A), [(first, 3), (second, 4)]);
}

#[test]
fn hits_take_their_latency() {
    for latency in [2, 5] {
        let mut l1 = L1::new(&small().sized(|s| Shape { latency, ..s }));
        l1.own(A, 1);
        for addr in [A, A + 4] {
            let before = l1.b.sim.cycle();
            let id = if addr == A { l1.add(A, 1, RELAXED) } else { l1.load(addr) };
            let (at, m) = l1.b.wait("cu_rsp");
            assert_eq!(m.get("id"), id);
            // Taken in the first cycle, its slot is the second.
            assert_eq!(at - before, u64::from(latency) + 1, "latency {latency}");
        }
    }
}

#[test]
fn a_fault_that_does_no_harm_is_seen_as_such() {
    let mut l1 = L1::new(&DenovoL1Params { inject: DenovoInject::ToldAgain, ..small() });
    l1.own(A, 1);
    for _ in 0..2 {
        l1.probe(OwnerOp::Read, A);
        assert_eq!(l1.sent(), [Sent::ReadAck(A / LINE, 1)], "told again");
    }
}
