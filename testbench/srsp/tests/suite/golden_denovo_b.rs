//! DeNovo-B on the golden system (denovo-b.md): the rows of its tables and its races as schedules.

use weft_srsp::msg::SyncOp;
use weft_srsp_bench::golden::lines::State;
use weft_srsp_bench::golden::msg::{CuOp, Sem};
use weft_srsp_bench::golden::system::program::{atomic, get, put, wg};
use weft_srsp_bench::golden::system::schedule::Schedule;
use weft_srsp_bench::golden::system::{Instr, Protocol, SystemParams};

const X: u64 = 0;
const Y: u64 = 64;
const Z: u64 = 128;
const W: u64 = 192;
/// A word beside Y.
const B: u64 = 68;

fn add(addr: u64) -> Instr {
    Instr::Sync(wg(atomic(SyncOp::Add, addr, 1, 0), Sem::Rlx))
}
fn release(addr: u64) -> Instr {
    Instr::Sync(wg(put(addr, 1), Sem::Rel))
}
fn acquire(addr: u64) -> Instr {
    Instr::Sync(wg(get(addr), Sem::Acq))
}

/// Waves 0 and 1 on CU 0 and 1, wave 2 on CU 0, wave 3 on CU 2.
fn schedule(p: impl Fn(SystemParams) -> SystemParams) -> Schedule {
    let tiny = SystemParams { l1_sfifo: 4, ..SystemParams::tiny(Protocol::DenovoB, 3) };
    Schedule::new(p(tiny), &[0, 1, 0, 2])
}
/// L1s of two lines.
fn narrow() -> Schedule {
    schedule(|p| SystemParams { l1: (1, 2), replaces: (true, false), ..p })
}
fn state(s: &Schedule, cu: usize, addr: u64) -> State {
    s.system.denovo(cu).core.lines.state(addr / 64)
}
fn mask(s: &Schedule, cu: usize, addr: u64) -> u64 {
    s.system.denovo(cu).core.lines.get(addr / 64).map_or(0, |frame| frame.mask)
}
/// Who owns a line; whether it is asked for it or read.
fn owner(s: &Schedule, addr: u64) -> Option<(u8, Option<bool>)> {
    let owner = s.system.l2(0).owners.get(&(addr / 64))?;
    Some((owner.cu, owner.revoke.map(|revoke| revoke.read)))
}
/// CU 0 owns Y with 7 in it.
fn owned() -> Schedule {
    let mut s = schedule(|p| p);
    s.give(0, Instr::St(Y, 7)).give(0, release(X)).go();
    assert_eq!((state(&s, 0, Y), owner(&s, Y)), (State::O, Some((0, None))));
    s
}

#[test]
fn loads_miss_join_and_hit() {
    let mut s = schedule(|p| SystemParams { mshrs: (2, 1), ..p });
    s.hold("gets Fill").give(0, Instr::Ld(Y)).go();
    assert_eq!(state(&s, 0, Y), State::P);
    s.give(2, Instr::Ld(B)).give(2, Instr::St(B, 3)).go();
    assert_eq!(state(&s, 0, Y), State::P, "the second load waits outside: the MSHR is full");
    s.hold("bank").release("gets Fill");
    assert_eq!((state(&s, 0, Y), s.got(0), s.got(2)), (State::D, &[0][..], &[0][..]));
    s.give(0, Instr::Ld(Y)).give(2, Instr::Ld(B)).go();
    assert_eq!((s.got(0), s.got(2)), (&[0, 0][..], &[0, 3][..]));
    s.end();
}

#[test]
fn a_store_is_registered_when_it_is_popped() {
    let mut s = schedule(|p| p);
    s.hold("bank").give(0, Instr::St(Y, 7)).give(0, Instr::Ld(Y)).go();
    assert_eq!((state(&s, 0, Y), s.got(0)), (State::W, &[7][..]));
    s.give(0, release(X)).go();
    assert_eq!((state(&s, 0, Y), state(&s, 0, X)), (State::PR, State::I), "the access comes behind the F");
    s.hold("Reg { line: 0").release("bank");
    assert_eq!((state(&s, 0, Y), state(&s, 0, X)), (State::O, State::PR));
    assert_eq!((owner(&s, Y), s.system.word(Y)), (Some((0, None)), 0), "nothing is written back");
    s.end();
}

#[test]
fn a_load_of_other_bytes_registers_a_line_that_was_not_fetched() {
    let mut s = schedule(|p| p);
    s.give(1, Instr::St(B, 9)).give(1, release(X)).go();
    s.hold("gets RegData").give(0, Instr::St(Y, 7)).give(0, Instr::Ld(B)).go();
    assert_eq!((state(&s, 0, Y), s.got(0)), (State::PR, &[][..]));
    s.release("gets RegData");
    assert_eq!((state(&s, 0, Y), s.got(0)), (State::O, &[9][..]));
    assert_eq!(owner(&s, Y), Some((0, None)));
    s.give(0, release(Z));
    s.end();
}

#[test]
fn owned_lines_are_used_without_messages() {
    let mut s = owned();
    s.hold("bank")
        .give(0, Instr::St(B, 3))
        .give(0, Instr::Ld(B))
        .give(0, add(Y + 8))
        .give(2, Instr::Ld(Y))
        .go();
    assert_eq!((s.got(0), s.got(2)), (&[0, 3, 0][..], &[7][..]));
    assert_eq!((mask(&s, 0, Y), s.system.denovo(0).core.rel.sfifo.len()), (0xfff, 0));
    s.end();
}

#[test]
fn atomics_register_a_line_with_its_dirty_bytes() {
    for first in [vec![], vec![Instr::Ld(Y)], vec![Instr::St(B, 3)], vec![Instr::Ld(Y), Instr::St(B, 3)]] {
        let mut s = schedule(|p| p);
        for instr in &first {
            s.give(0, instr.clone());
        }
        s.go().hold("gets RegData").give(0, add(Y)).go();
        assert_eq!(state(&s, 0, Y), State::PR);
        let stored = first.iter().any(|instr| matches!(instr, Instr::St(..)));
        assert_eq!(mask(&s, 0, Y), if stored { 0xf0 } else { 0 });
        s.release("gets RegData").give(0, Instr::Ld(B)).go();
        assert_eq!(s.got(0).last(), Some(&if stored { 3 } else { 0 }));
        // Its entry in the sFIFO is dead.
        s.give(0, release(X));
        s.end();
    }
}

#[test]
fn operations_join_a_registration_until_it_is_full() {
    let mut s = schedule(|p| p);
    s.hold("gets RegData").give(0, add(Y)).give(2, Instr::Ld(Y)).go();
    let joined = |s: &Schedule| s.system.denovo(0).core.mshrs[0].as_ref().map(|mshr| mshr.targets.len());
    assert_eq!(joined(&s), Some(2));
    s.release("gets RegData");
    assert_eq!((s.got(0), s.got(2)), (&[0][..], &[1][..]), "in order");
    let mut s = schedule(|p| SystemParams { mshrs: (2, 1), ..p });
    s.hold("gets RegData").give(0, add(Y)).give(2, add(Y)).go();
    assert_eq!(joined(&s), Some(1));
    s.end();
    assert_eq!((s.got(0), s.got(2)), (&[0][..], &[1][..]));
}

/// Or it would be seen by what has come before it.
#[test]
fn a_store_waits_for_what_has_joined() {
    for first in [add(Y), Instr::Ld(B)] {
        let mut s = schedule(|p| p);
        s.give(0, Instr::St(Y + 8, 3)).go();

        s.hold("gets RegData").give(0, first).give(2, Instr::St(B, 5)).go();
        assert_eq!((state(&s, 0, Y), mask(&s, 0, Y)), (State::PR, 0xf00));
        s.release("gets RegData");
        assert_eq!((s.got(0), mask(&s, 0, Y) & 0xf0), (&[0][..], 0xf0));
        s.give(0, release(X));
        s.end();
    }
}

#[test]
fn an_atomic_waits_for_a_fill() {
    let mut s = schedule(|p| p);
    s.hold("gets Fill").give(0, Instr::Ld(Y)).give(2, add(Y)).give(1, Instr::Ld(Y)).go();
    assert_eq!((state(&s, 0, Y), owner(&s, Y)), (State::P, None));
    s.end();
    assert_eq!((state(&s, 0, Y), owner(&s, Y)), (State::O, Some((0, None))));
}

#[test]
fn a_revoke_takes_the_line_at_once_and_flushes_nothing() {
    let mut s = owned();
    s.give(0, Instr::St(Z, 5)).give(0, Instr::St(B, 3)).go();
    s.hold("takes Some(Wb").give(1, add(Y + 8)).go();
    assert_eq!((state(&s, 0, Y), state(&s, 0, Z)), (State::I, State::W));
    assert_eq!(owner(&s, Y), Some((0, Some(false))));
    s.hold("src: 0, kind: Reg").release("takes Some(Wb");
    assert_eq!((s.got(1), s.system.word(B)), (&[0][..], 3));
    s.give(0, release(X));
    s.end();
}

#[test]
fn a_read_leaves_the_line_and_brings_what_was_written() {
    let mut s = owned();
    assert_eq!(mask(&s, 0, Y), 0xf);
    s.hold("takes Some(Wb").give(1, Instr::Ld(Y)).go();
    assert_eq!((state(&s, 0, Y), mask(&s, 0, Y), owner(&s, Y)), (State::O, 0, Some((0, Some(true)))));
    // Race 8: what the owner stores now is not in it.
    s.give(0, Instr::St(Y, 8)).go();
    s.release("takes Some(Wb");
    assert_eq!((s.got(1), s.system.word(Y), mask(&s, 0, Y)), (&[7][..], 7, 0xf));
    assert_eq!((state(&s, 1, Y), owner(&s, Y)), (State::V, Some((0, None))));
    s.give(1, Instr::Ld(Y)).go();
    assert_eq!(s.got(1), [7, 7], "a hit on the copy");
    s.give(0, release(X)).go();
    s.give(1, acquire(X)).give(1, Instr::Ld(Y));
    s.end();
    assert_eq!(s.got(1), [7, 7, 1, 8]);
}

#[test]
fn a_bank_keeps_others_waiting_while_it_asks() {
    for read in [true, false] {
        let mut s = owned();
        s.hold("takes Some(Wb").give(1, if read { Instr::Ld(Y) } else { add(Y + 8) }).go();
        s.give(3, if read { add(Y + 8) } else { Instr::Ld(Y) }).go();
        assert_eq!(owner(&s, Y), Some((0, Some(read))));
        assert!(s.waits("takes Req { src: 2"), "at the ingress");
        s.end();
        assert_eq!((s.got(1), s.got(3)), if read { (&[7][..], &[0][..]) } else { (&[0][..], &[7][..]) });
    }
}

/// Two readers, one after the other.
#[test]
fn a_second_reader_waits_for_the_first() {
    let mut s = owned();
    s.hold("takes Some(Wb").give(1, Instr::Ld(Y)).give(3, Instr::Ld(Y)).go();
    assert!(s.waits("takes Req { src: 2"));
    s.end();
    assert_eq!((s.got(1), s.got(3), owner(&s, Y)), (&[7][..], &[7][..], Some((0, None))));
}

#[test]
fn plain_victims_are_dropped_and_owned_ones_given_back() {
    let mut s = narrow();
    s.give(0, Instr::Ld(X)).give(0, add(Y)).give(0, Instr::Ld(Z)).go();
    assert_eq!((state(&s, 0, X), state(&s, 0, Y), state(&s, 0, Z)), (State::I, State::O, State::V));
    s.give(0, add(Z)).go();
    s.hold("gets UnregAck").give(0, Instr::Ld(W)).go();
    assert_eq!((state(&s, 0, Y), owner(&s, Y), s.system.word(Y)), (State::I, None, 1));
    s.give(0, Instr::Ld(Y)).go();
    assert_eq!(s.got(0).len(), 5, "a read waits for the UNREG_ACK");
    s.end();
    assert_eq!(s.got(0), [0, 0, 0, 0, 0, 1]);
}

/// All frames dirty: one is registered for the operation that needs a frame, and then leaves.
#[test]
fn a_dirty_line_is_no_victim() {
    for fetched in [true, false] {
        let mut s = narrow();
        if fetched {
            s.give(0, Instr::Ld(X)).give(0, Instr::Ld(Y));
        }
        s.give(0, Instr::St(X, 1)).give(0, Instr::St(Y, 2)).go();
        assert_eq!(state(&s, 0, X), if fetched { State::D } else { State::W });
        s.hold("kind: Reg").give(0, Instr::Ld(Z)).go();
        let states = [state(&s, 0, X), state(&s, 0, Y)];
        assert!(states.contains(&State::PR), "{states:?}");
        s.release("kind: Reg").give(0, release(W));
        s.end();
        s.give(1, acquire(W)).give(1, Instr::Ld(X)).give(1, Instr::Ld(Y));
        s.end();
        assert_eq!(s.got(1), [1, 1, 2]);
    }
}

#[test]
fn an_acquire_registers_what_is_dirty_and_drops_the_rest() {
    let mut s = owned();
    s.give(0, Instr::Ld(Z)).give(0, Instr::St(W, 4)).go();
    s.hold("Reg { line: 3").give(0, acquire(X)).go();
    assert_eq!((state(&s, 0, X), state(&s, 0, Z), state(&s, 0, W)), (State::O, State::V, State::PR));
    s.give(2, Instr::Ld(Z)).go();
    assert_eq!((s.got(0).len(), s.got(2).len()), (2, 0), "the gate is closed, and the F not done");
    s.hold("L1 0: Sync").release("Reg { line: 3");
    assert_eq!(state(&s, 0, W), State::O);
    s.hold("gets Fill").release("L1 0: Sync");
    assert_eq!((state(&s, 0, Y), state(&s, 0, Z)), (State::O, State::P), "read again");
    s.end();
    assert_eq!((s.got(0), s.got(2)), (&[0, 0, 1][..], &[0][..]));
}

#[test]
fn relaxed_atomics_neither_flush_nor_drop() {
    let mut s = schedule(|p| p);
    s.give(0, Instr::Ld(Y)).give(0, Instr::St(Z, 4)).give(0, add(X)).give(0, add(X)).go();
    assert_eq!((state(&s, 0, Y), state(&s, 0, Z), state(&s, 0, X)), (State::V, State::W, State::O));
    s.give(0, release(W));
    s.end();
}

#[test]
fn a_kernels_end_gives_everything_back() {
    let mut s = owned();
    s.give(0, Instr::St(Z, 5)).give(0, Instr::Op(CuOp::End)).go();
    assert!(s.system.l2(0).owners.is_empty());
    assert_eq!([X, Y, Z].map(|addr| s.system.word(addr)), [1, 7, 5]);
    s.give(1, Instr::Op(CuOp::Begin)).give(1, Instr::Ld(Z));
    s.end();
    assert_eq!(s.got(1), [5]);
}

#[test]
fn a_begin_drops_what_is_not_owned() {
    let mut s = owned();
    s.give(0, Instr::Ld(Z)).give(0, Instr::Op(CuOp::Begin));
    s.end();
    assert_eq!((state(&s, 0, Z), state(&s, 0, Y)), (State::I, State::O));
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
    let asked = [X, Z].iter().filter(|addr| owner(&s, **addr) == Some((0, Some(false)))).count();
    assert_eq!(asked, 1, "one victim at a time");
    s.end();
    s.give(1, add(X)).give(1, add(Z));
    s.end();
    assert_eq!(s.got(1), [0, 1, 1]);
}

#[test]
fn a_line_that_is_read_is_no_victim() {
    let mut s = full_bank();
    s.hold("L1 0 gets Probe").give(1, Instr::Ld(X)).go();
    s.give(3, add(W)).go();
    assert_eq!((owner(&s, X), owner(&s, Z)), (Some((0, Some(true))), Some((0, None))));
    s.end();
    assert_eq!((s.got(1), s.got(3)), (&[1][..], &[0][..]));
}

#[test]
fn reads_go_around_a_bank_of_registered_lines() {
    let mut s = full_bank();
    s.hold("gets Probe").give(1, Instr::Ld(Y)).go();
    assert_eq!((s.got(1), s.system.l2(0).lines.state(1)), (&[0][..], State::I));
    s.end();
}

#[test]
fn race_1_revoke_and_read_overtake_the_grant() {
    for read in [true, false] {
        let mut s = schedule(|p| p);
        s.hold("L1 0 gets RegData").give(0, add(X)).go();
        s.give(1, if read { Instr::Ld(X) } else { add(X) }).go();
        assert_eq!(owner(&s, X), Some((0, Some(read))));
        assert!(s.waits("L1 0 gets Probe") && s.got(1).is_empty());
        s.end();
        assert_eq!((s.got(0), s.got(1)), (&[0][..], &[1][..]));
    }
}

#[test]
fn race_2_revoke_and_read_cross_an_unreg() {
    for read in [true, false] {
        let mut s = narrow();
        s.give(0, add(X)).give(0, add(Z)).go();
        s.hold("takes Some(Wb { src: 0").give(0, add(W)).go();
        assert_eq!((state(&s, 0, X), owner(&s, X)), (State::I, Some((0, None))));
        s.give(1, if read { Instr::Ld(X) } else { add(X) }).go();
        assert_eq!(owner(&s, X), Some((0, Some(read))));
        s.hold("ReadAck").hold("RevokeAck").release("takes Some(Wb { src: 0");
        assert!(s.got(1).is_empty() && !s.system.denovo(0).core.wbt.is_empty(), "noted");
        s.end();
        assert_eq!(s.got(1), [1]);
        assert_eq!(owner(&s, X), (!read).then_some((1, None)));
        assert_eq!(s.system.l2(0).lines.state(0), if read { State::D } else { State::V });
    }
}

#[test]
fn race_3_two_cus_store_words_of_a_line() {
    let mut s = schedule(|p| p);
    for i in 0..3 {
        s.give(0, Instr::St(Y, 10 + i)).give(1, Instr::St(B, 20 + i)).go();
        s.give(0, release(X)).give(1, release(Z)).go();
    }
    s.give(3, acquire(X)).give(3, acquire(Z)).give(3, Instr::Ld(Y)).give(3, Instr::Ld(B));
    s.end();
    assert_eq!(s.got(3), [1, 1, 12, 22]);
}

#[test]
fn race_4_a_store_between_reg_and_reg_data() {
    let mut s = schedule(|p| p);
    s.give(1, Instr::St(B, 9)).give(1, Instr::St(Y + 8, 9)).give(1, release(Z)).go();
    s.hold("L1 0 gets RegData").give(0, Instr::St(Y, 7)).give(0, release(X)).go();
    s.give(2, Instr::St(B, 3)).go();
    assert_eq!((state(&s, 0, Y), mask(&s, 0, Y)), (State::PR, 0xff), "acknowledged at once");
    s.release("L1 0 gets RegData");
    s.give(2, Instr::Ld(Y)).give(2, Instr::Ld(B)).give(2, Instr::Ld(Y + 8));
    s.end();
    assert_eq!(s.got(2), [7, 3, 9]);
}

#[test]
fn race_5_a_pop_without_an_mshr() {
    let mut s = schedule(|p| SystemParams { mshrs: (1, 2), ..p });
    s.give(0, Instr::St(Z, 1)).give(2, Instr::St(W, 2)).go();
    s.hold("gets Fill").give(0, Instr::Ld(Y)).give(2, release(X)).go();
    assert_eq!(state(&s, 0, W), State::W);
    s.give(0, Instr::Ld(Z)).go();
    assert!(s.got(0).is_empty(), "wave 0 waits for its own load");
    s.end();
    assert_eq!((s.got(0), s.got(2)), (&[0, 1][..], &[0][..]));
}

#[test]
fn race_6_a_release_ends_while_its_line_is_revoked() {
    let mut s = schedule(|p| p);
    s.give(0, Instr::St(Y, 7)).go();
    s.hold("L1 0 gets Probe").hold("L1 0 gets RegData").give(0, release(X)).go();
    s.give(1, add(B)).go();
    assert_eq!(owner(&s, Y), Some((0, Some(false))));
    s.release("L1 0 gets RegData");
    assert_eq!(s.got(0), [0], "it ends");
    assert_eq!(owner(&s, Y), Some((0, Some(false))));
    s.give(3, acquire(X)).give(3, Instr::Ld(Y));
    s.end();
    assert_eq!(s.got(3), [1, 7]);
}

#[test]
fn race_7_a_drop_marks_a_fill_under_way() {
    let mut s = schedule(|p| p);
    s.hold("L1 0 gets Fill").give(0, Instr::Ld(Y)).go();
    s.give(1, Instr::St(Y, 5)).give(1, release(X)).go();
    s.give(2, acquire(X)).go();
    assert_eq!((s.got(2), state(&s, 0, Y)), (&[1][..], State::P));
    s.hold("bank 0 takes Req { src: 0").release("L1 0 gets Fill");
    assert_eq!((s.got(0), state(&s, 0, Y)), (&[0][..], State::I), "answered, not installed");
    s.give(2, Instr::Ld(Y));
    s.end();
    assert_eq!(s.got(2), [1, 5]);
}

/// The access of a release comes through the gate that an acquire has closed behind it.
#[test]
fn a_release_goes_on_while_another_wavefront_acquires() {
    let mut s = schedule(|p| p);
    s.give(0, Instr::St(Y, 7)).give(2, add(Z)).go();
    s.hold("L1 0: Replay").give(0, release(X)).go();
    s.hold("L1 0: Sync").give(2, acquire(Z)).go();
    assert!(!s.system.denovo(0).open());
    s.release("L1 0: Replay");
    assert_eq!(s.got(0), [0]);
    s.end();
}

/// A store takes a frame for a line whose UNREG is under way; it is registered only after its UNREG_ACK.
#[test]
fn a_registration_waits_for_the_unreg_of_its_line() {
    let mut s = narrow();
    s.give(0, add(X)).give(0, add(Z)).go();
    s.hold("takes Some(Wb { src: 0").give(0, add(W)).go();
    // CU 1 takes Z, whose frame is free then.
    s.give(1, add(Z)).give(0, Instr::St(X + 8, 5)).go();
    assert_eq!(state(&s, 0, X), State::W);
    s.give(0, release(Y)).go();
    assert_eq!(state(&s, 0, X), State::W, "the pop waits");
    s.end();
    s.give(1, acquire(Y)).give(1, Instr::Ld(X)).give(1, Instr::Ld(X + 8));
    s.end();
    assert_eq!(s.got(1), [1, 1, 1, 5]);
}
