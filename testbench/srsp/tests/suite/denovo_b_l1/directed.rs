//! Rows and races of denovo-b.md, one at a time.

use crate::denovo_b_l1::world::{World, small};
use crate::l1_bench::ask::{ACQ, Ask, REL, RLX};
use crate::l1_bench::banks::LINE;
use weft_srsp::Shape;
use weft_srsp::denovo_b_l1::{DenovoInject, DenovoL1Params};
use weft_srsp::msg::{RspOp, SyncOp};
use weft_srsp_bench::memory::Access;

/// Lines of one set.
const A: u64 = 0x4000;
const B: u64 = 0x4100;
const C: u64 = 0x4200;
/// A word in another set, and one in a third.
const Y: u64 = 0x5048;
const Z: u64 = 0x5084;

/// 4 sets of 2 ways.
fn quiet() -> World {
    quiet_with(DenovoInject::None)
}
fn quiet_with(inject: DenovoInject) -> World {
    let mut w = World::new(&DenovoL1Params { inject, ..small() }.sized(|s| Shape { size: 512, ..s }), 1);
    w.banks.slow = 3;
    w.rest(40);
    w
}
fn line(addr: u64) -> u64 {
    addr / LINE
}
fn access(op: SyncOp, addr: u64, opnd: u64, sem: u64) -> Ask {
    Ask::Sync(Access { op, wide: false, addr, opnd, cmp: 0 }, (sem, 0, false))
}
fn add(addr: u64, value: u64) -> Ask {
    access(SyncOp::Add, addr, value, RLX)
}
fn release(addr: u64) -> Ask {
    access(SyncOp::St, addr, 1, REL)
}
fn acquire(addr: u64) -> Ask {
    access(SyncOp::Ld, addr, 0, ACQ)
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
fn a_release_registers_what_was_stored_and_writes_nothing_back() {
    let mut w = quiet();
    own(&mut w, A);
    w.alone(Ask::Store(Y, 3, true));
    w.alone(Ask::Store(Z, 4, true));
    w.rest(60);
    assert_eq!(saw(&mut w), seen(&[]), "nothing happens before");
    w.banks.hold = vec![RspOp::RegData];
    let id = w.ask(release(A));
    w.rest(60);
    let mut found = saw(&mut w);
    found.sort();
    assert_eq!((found, w.answered()), (seen(&[("REG", Y), ("REG", Z)]), vec![]));
    w.banks.hold.clear();
    w.rest(60);
    assert_eq!((saw(&mut w), w.answered()), (seen(&[]), vec![id]));
    assert_eq!(w.banks.word(Y, 4), 0);
    // Hits: no message, and no entry of the sFIFO.
    w.alone(Ask::Store(Y, 5, true));
    assert_eq!(w.alone(Ask::Load(Y)).0, 5);
    w.alone(release(A));
    assert_eq!(saw(&mut w), seen(&[]));
}

#[test]
fn an_acquire_drops_what_is_not_owned() {
    let mut w = quiet();
    own(&mut w, A);
    w.alone(Ask::Load(Y));
    w.alone(add(B, 1));
    w.banks.put(Y, 4, 9);
    assert_eq!(w.alone(Ask::Load(Y)).0, 0, "what is relaxed drops nothing");
    w.alone(acquire(A));
    assert_eq!(w.alone(Ask::Load(Y)).0, 9);
    saw(&mut w);
    w.alone(add(A, 1));
    w.alone(add(B, 1));
    assert_eq!(saw(&mut w), seen(&[]), "owned lines stay");
    // Bytes that are stored here stay, those beside them are as they are now.
    w.alone(Ask::Store(Y + 4, 7, true));
    w.banks.put(Y, 4, 10);
    w.alone(acquire(A));
    assert_eq!((w.alone(Ask::Load(Y)).0, w.alone(Ask::Load(Y + 4)).0), (10, 7));
}

#[test]
fn a_revoke_is_answered_at_once() {
    let mut w = quiet();
    own(&mut w, A);
    w.alone(Ask::Store(A + 4, 6, true));
    w.alone(Ask::Store(Y, 3, true));
    w.take(line(A));
    w.rest(60);
    assert_eq!(saw(&mut w), seen(&[("REVOKE_ACK1", A)]), "and nothing is flushed");
    assert_eq!((w.banks.word(A, 4), w.banks.word(A + 4, 4), w.banks.word(Y, 4)), (1, 6, 0));
}

#[test]
fn a_read_leaves_the_line() {
    let mut w = quiet();
    own(&mut w, A);
    w.alone(Ask::Store(A + 4, 6, true));
    w.read(line(A));
    w.rest(60);
    assert_eq!((w.banks.word(A, 4), w.banks.word(A + 4, 4)), (1, 6));
    assert_eq!(saw(&mut w), seen(&[("READ_ACK1", A)]));
    w.banks.log.clear();
    w.alone(Ask::Store(A + 8, 7, true));
    assert_eq!(w.alone(add(A, 1)).0, 1);
    assert_eq!(saw(&mut w), seen(&[]), "it is still owned");
    w.read(line(A));
    w.rest(60);
    assert_eq!(w.banks.log, [(line(A), 0xf0f)], "the mask was cleared");
    assert_eq!((w.banks.word(A, 4), w.banks.word(A + 8, 4)), (2, 7));
}

/// The fault that does no harm is in the hardware when it is planted.
#[test]
fn a_read_that_leaves_the_mask_tells_bytes_again() {
    let mut w = quiet_with(DenovoInject::ToldAgain);
    own(&mut w, A);
    for masks in [vec![0xf], vec![0xf; 2]] {
        w.read(line(A));
        w.rest(60);
        assert_eq!(w.banks.log.iter().map(|log| log.1).collect::<Vec<_>>(), masks);
    }
}

/// The grant is in flight: REVOKE and READ wait until what has joined is done.
#[test]
fn a_probe_that_overtakes_its_grant_waits() {
    for read in [false, true] {
        let mut w = quiet();
        w.banks.hold = vec![RspOp::RegData];
        let ids = [1, 2, 3].map(|n| w.ask(add(A, n)));
        w.until_seen(&format!("REG {}", line(A)));
        if read {
            w.read(line(A));
        } else {
            w.take(line(A));
        }
        w.rest(60);
        assert_eq!((saw(&mut w), w.answered()), (seen(&[("REG", A)]), vec![]));
        w.banks.hold.clear();
        w.rest(60);
        let answer = if read { "READ_ACK1" } else { "REVOKE_ACK1" };
        assert_eq!((saw(&mut w), w.answered()), (seen(&[(answer, A)]), ids.to_vec()));
        assert_eq!(w.banks.word(A, 4), 6, "all that joined is done before");
    }
}

#[test]
fn a_probe_that_crosses_an_unreg_is_answered_without_the_line() {
    for read in [false, true] {
        let mut w = quiet();
        own(&mut w, A);
        own(&mut w, B);
        w.hold_probes = true;
        if read {
            w.read(line(A));
        } else {
            w.take(line(A));
        }
        w.alone(add(C, 1));
        w.rest(60);
        let mut found = saw(&mut w);
        found.sort();
        assert_eq!(found, seen(&[("REG", C), ("UNREG", A)]));
        assert_eq!(w.banks.word(A, 4), 1);
        // A store takes a frame for the line, whose registration waits for the UNREG_ACK.
        w.alone(Ask::Store(A + 8, 5, true));
        let id = w.ask(release(Z));
        w.rest(60);
        assert!(!saw(&mut w).contains(&format!("REG {}", line(A))));
        w.hold_probes = false;
        w.rest(20);
        w.owners.retain(|_, owner| *owner != crate::hlrc_l1::l2::Owner::Other);
        w.rest(80);
        let found = saw(&mut w);
        assert!(found.contains(&format!("{} {}", if read { "READ_ACK0" } else { "REVOKE_ACK0" }, line(A))));
        assert!(found.contains(&format!("REG {}", line(A))), "{found:?}");
        assert_eq!(w.answered(), [id]);
    }
}

#[test]
fn a_load_of_missing_bytes_registers_the_line() {
    let mut w = quiet();
    w.banks.put(Y, 4, 9);
    w.alone(Ask::Store(Y + 4, 3, true));
    assert_eq!(w.alone(Ask::Load(Y + 4)).0, 3);
    assert_eq!(saw(&mut w), seen(&[]));
    assert_eq!(w.alone(Ask::Load(Y)).0, 9);
    assert_eq!(w.alone(Ask::Load(Y + 4)).0, 3);
    assert_eq!(saw(&mut w), seen(&[("REG", Y)]));
}

#[test]
fn a_store_is_merged_between_reg_and_reg_data() {
    let mut w = quiet();
    own(&mut w, A);
    w.banks.put(Y + 8, 4, 9);
    w.alone(Ask::Store(Y, 3, true));
    w.banks.hold = vec![RspOp::RegData];
    let id = w.ask(release(A));
    w.until_seen(&format!("REG {}", line(Y)));
    w.banks.put(Y + 4, 4, 8);
    let store = w.ask(Ask::Store(Y + 4, 4, true));
    w.rest(40);
    assert_eq!(w.answered(), [store], "acknowledged at once");
    w.banks.hold.clear();
    w.rest(60);
    assert_eq!(w.answered(), [id]);
    assert_eq!([Y, Y + 4, Y + 8].map(|addr| w.alone(Ask::Load(addr)).0), [3, 4, 9]);
}

/// A fence waits for the registration of stored bytes, whoever asked for it (finding of the golden model: else a release passes it).
#[test]
fn a_release_waits_for_what_an_atomic_registers() {
    for fetched in [false, true] {
        let mut w = quiet();
        own(&mut w, A);
        if fetched {
            w.alone(Ask::Load(Y));
        }
        w.alone(Ask::Store(Y, 3, true));
        w.banks.hold = vec![RspOp::RegData];
        let ids = [w.ask(add(Y + 8, 1)), w.ask(release(A))];
        w.rest(80);
        assert_eq!(w.answered(), [0; 0]);
        w.banks.hold.clear();
        w.rest(80);
        assert_eq!(w.answered().len(), ids.len());
    }
}

/// Both frames of a set are dirty: one is registered, and leaves.
#[test]
fn a_dirty_line_is_no_victim() {
    let mut w = quiet();
    w.alone(Ask::Store(A, 1, true));
    w.alone(Ask::Store(B, 2, true));
    assert_eq!(w.alone(Ask::Load(C)).0, 0);
    w.rest(60);
    let found = saw(&mut w);
    assert!(
        found.iter().any(|s| s.starts_with("REG")) && found.iter().any(|s| s.starts_with("UNREG")),
        "{found:?}"
    );
    assert_eq!((w.alone(Ask::Load(A)).0, w.alone(Ask::Load(B)).0), (1, 2));
}

#[test]
fn a_drop_marks_a_fill_under_way() {
    let mut w = quiet();
    own(&mut w, A);
    w.banks.hold = vec![RspOp::Fill];
    let load = w.ask(Ask::Load(Y));
    w.until_seen(&format!("RD {}", line(Y)));
    w.banks.put(Y, 4, 9);
    let id = w.ask(acquire(A));
    w.rest(60);
    assert_eq!(w.answered(), [id]);
    w.banks.hold.clear();
    w.rest(60);
    assert_eq!(w.answered(), [load]);
    assert_eq!(w.alone(Ask::Load(Y)).0, 9, "not installed");
}

#[test]
fn a_kernels_end_gives_everything_back() {
    let mut w = quiet();
    own(&mut w, A);
    w.alone(Ask::Store(Y, 3, true));
    w.alone(Ask::End);
    w.rest(60);
    assert_eq!((w.banks.word(A, 4), w.banks.word(Y, 4), w.owners.len()), (1, 3, 0));
}

/// A pop that finds no MSHR goes on when one is free, whenever that is; so does one behind the UNREG of its line.
#[test]
fn a_pop_that_waits_goes_on() {
    for wait in 0..24 {
        for acknowledged in [false, true] {
            let mut w = quiet();
            if acknowledged {
                own(&mut w, A);
                own(&mut w, B);
                w.banks.hold = vec![RspOp::UnregAck];
                w.alone(add(C, 1));
                w.take(line(B));
                w.rest(40);
                w.owners.clear();
                w.alone(Ask::Store(A + 8, 5, true));
            } else {
                w.banks.hold = vec![RspOp::Fill];
                w.alone(Ask::Store(Y, 3, true));
                for addr in [A, B, Z] {
                    w.ask(Ask::Load(addr));
                }
            }
            let id = w.ask(release(Y + 0x40));
            w.rest(wait);
            w.banks.hold.clear();
            w.rest(200);
            assert!(w.answered().contains(&id), "after {wait} cycles, an UNREG: {acknowledged}");
        }
    }
}
