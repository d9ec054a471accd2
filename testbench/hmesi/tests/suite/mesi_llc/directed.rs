//! Each row of the tables and each race by itself.

use super::small;
use crate::mesi_llc::world::World;
use weft_hmesi_bench::client::St;
use weft_spandex::mesi_port::Get::{GetM, GetS};

/// Lines of set 0, by number.
const A: u64 = 2 * 14 + 1;
const B: u64 = 2 * 16 + 1;
const C: u64 = 2 * 20 + 1;
/// The GPU L2.
const GPU: usize = 4;

/// A bank whose networks and memory are fast, and which is clear by now.
fn world() -> World {
    let mut w = World::new(&small(), 1, 1);
    w.lines = vec![A, B, C];
    (w.delay, w.memory_delay) = (0, 0);
    w.b.run(20);
    w
}

fn end(w: &mut World) {
    w.finish();
    w.check();
}

/// A request is answered; the log begins after it.
fn gets(w: &mut World, c: usize, op: weft_spandex::mesi_port::Get, line: u64) {
    assert!(w.ask(c, op, line));
    end(w);
    w.log.clear();
}

/// A, shared by 0 and 1.
fn shared(w: &mut World) {
    gets(w, 0, GetS, A);
    gets(w, 1, GetS, A);
    let there = w.line(A).expect("here");
    assert_eq!((there.state, there.sharers), (2, 0b11));
}

/// A, written by a client.
fn modified(w: &mut World, c: usize) {
    gets(w, c, GetM, A);
    assert!(w.write(c, A));
    assert_eq!(w.line(A).expect("here").owner, c as u64);
}

fn saw(w: &World, name: &str) {
    assert!(w.b.counted(&format!("spandex.{name}")) > 0, "{name} was not seen");
}

#[test]
fn the_first_reader_owns() {
    let mut w = world();
    w.ask(GPU, GetS, A);
    end(&mut w);
    assert_eq!(w.sent(), [(GPU, "DataE")]);
    assert_eq!(w.clients[GPU].st(A), St::E);
    let there = w.line(A).expect("here");
    assert_eq!((there.state, there.owner, there.dirty), (3, GPU as u64, false));
}

#[test]
fn a_second_reader_shares_with_the_owner() {
    let mut w = world();
    modified(&mut w, 2);
    w.ask(GPU, GetS, A);
    end(&mut w);
    assert_eq!(w.sent(), [(2, "FwdGetS")]);
    let there = w.line(A).expect("here");
    assert_eq!((there.state, there.sharers, there.dirty, there.value), (2, 0b10100, true, 1));
    w.log.clear();
    // A third is answered from here, at once.
    w.ask(0, GetS, A);
    end(&mut w);
    assert_eq!(w.sent(), [(0, "DataS")]);
    assert_eq!(w.line(A).expect("here").sharers, 0b10101);
}

#[test]
fn a_clean_owner_brings_no_data() {
    let mut w = world();
    gets(&mut w, 2, GetS, A);
    w.ask(3, GetS, A);
    end(&mut w);
    let there = w.line(A).expect("here");
    assert_eq!((there.state, there.sharers, there.dirty), (2, 0b1100, false));
}

#[test]
fn a_writer_takes_the_line_from_its_owner() {
    let mut w = world();
    modified(&mut w, 2);
    w.ask(0, GetM, A);
    end(&mut w);
    assert_eq!(w.sent(), [(2, "FwdGetM")]);
    assert_eq!((w.clients[0].st(A), w.clients[2].st(A)), (St::M, St::I));
    assert_eq!(w.clients[0].lines[&A].value, 1);
    assert_eq!(w.line(A).expect("here").owner, 0);
}

#[test]
fn a_writer_invalidates_sharers() {
    let mut w = world();
    shared(&mut w);
    // One that has no copy, and one of the two.
    w.ask(GPU, GetM, A);
    end(&mut w);
    assert_eq!(w.sent().iter().filter(|m| m.1 == "Inv").count(), 2);
    let data = w.log.iter().find(|m| m.1 == "DataM").expect("answered");
    assert_eq!((data.0, data.2.get("acks")), (GPU, 2));
    let mut w = world();
    shared(&mut w);
    w.ask(1, GetM, A);
    end(&mut w);
    let mut sent = w.sent();
    sent.sort_unstable();
    assert_eq!(sent, [(0, "Inv"), (1, "DataM")]);
    saw(&w, "race.hmesi_llc_upgrade");
}

#[test]
fn the_only_sharer_writes_without_inv() {
    let mut w = world();
    gets(&mut w, 2, GetS, A);
    gets(&mut w, 0, GetS, A);
    w.clients[2].lines.remove(&A);
    gets(&mut w, 2, GetM, A);
    w.put(2, A);
    end(&mut w);
    assert_eq!(w.line(A).expect("here").state, 1);
    // Of a line in SS whose other sharer has put before.
    gets(&mut w, 0, GetS, A);
    w.clients[0].hold_fwd = true;
    w.ask(1, GetS, A);
    w.rest(20);
    w.put(0, A);
    end(&mut w);
    assert_eq!((w.line(A).expect("here").sharers, w.clients[0].st(A)), (0b10, St::I));
    saw(&w, "race.hmesi_llc_owner_gone");
    w.log.clear();
    w.ask(1, GetM, A);
    end(&mut w);
    assert_eq!(w.sent(), [(1, "DataM")]);
    saw(&w, "race.hmesi_llc_upgrade_alone");
}

#[test]
fn puts_of_the_owner() {
    for dirty in [false, true] {
        let mut w = world();
        gets(&mut w, 3, GetS, A);
        if dirty {
            w.write(3, A);
        }
        w.put(3, A);
        end(&mut w);
        assert_eq!(w.sent(), [(3, "WbAck")]);
        let there = w.line(A).expect("here");
        assert_eq!((there.state, there.dirty, there.value), (1, dirty, u64::from(dirty)));
    }
}

/// The owner's Put crosses a forward: it is answered from the buffer, the Put waits for that and changes nothing.
#[test]
fn a_put_crosses_a_forward() {
    for op in [GetS, GetM] {
        let mut w = world();
        modified(&mut w, 2);
        w.clients[2].hold_fwd = true;
        w.ask(0, op, A);
        w.rest(20);
        w.put(2, A);
        w.rest(30);
        assert!(!w.sent().contains(&(2, "WbAck")), "the Put waits");
        saw(&w, "race.hmesi_llc_put_waits");
        w.clients[2].hold_fwd = false;
        end(&mut w);
        assert!(w.sent().contains(&(2, "WbAck")));
        let there = w.line(A).expect("here");
        let expected = if op == GetS { (2, 0b1) } else { (3, 0) };
        assert_eq!((there.state, there.sharers), expected);
        assert_eq!(w.clients[0].lines[&A].value, 1);
    }
}

#[test]
fn a_line_with_copies_is_replaced() {
    let mut w = world();
    shared(&mut w);
    gets(&mut w, 2, GetM, B);
    w.write(2, B);
    // Both ways of the set are held.
    w.ask(3, GetS, C);
    end(&mut w);
    assert!(w.sent().iter().filter(|m| m.1 == "Inv").count() == 2 || w.sent().contains(&(2, "Recall")));
    w.log.clear();
    let left = if w.line(A).is_some() { A } else { B };
    w.ask(3, GetS, if left == A { B } else { A });
    end(&mut w);
    // In the end B's version is in memory or here.
    assert_eq!(w.last(B), 1);
}

#[test]
fn a_recall_crosses_a_put() {
    let mut w = world();
    modified(&mut w, 2);
    gets(&mut w, 1, GetM, B);
    w.write(1, B);
    (w.clients[2].hold_fwd, w.clients[1].hold_fwd) = (true, true);
    w.ask(3, GetS, C);
    w.rest(20);
    w.put(2, A);
    w.put(1, B);
    w.rest(20);
    end(&mut w);
    assert_eq!((w.clients[2].st(A), w.clients[1].st(B), w.clients[3].st(C)), (St::I, St::I, St::E));
}

/// Requests to a busy line wait in its list and are served in order.
#[test]
fn requests_to_a_busy_line_wait() {
    let mut w = world();
    w.held_lines.insert(A);
    w.ask(0, GetS, A);
    w.rest(10);
    w.ask(1, GetM, A);
    w.rest(10);
    w.ask(2, GetS, A);
    w.rest(10);
    assert_eq!(w.sent(), []);
    w.release(A);
    end(&mut w);
    assert_eq!(w.sent(), [(0, "DataE"), (0, "FwdGetM"), (1, "FwdGetS")]);
    saw(&w, "race.hmesi_llc_replay_takes_rest");
}

/// Clients that ask for a line without end do not hold up a Put of it.
#[test]
fn a_put_goes_before_the_list() {
    let mut w = world();
    modified(&mut w, 2);
    w.clients[2].hold_fwd = true;
    for c in [0, 1, 3] {
        w.ask(c, GetM, A);
        w.rest(12);
    }
    w.put(2, A);
    w.rest(12);
    w.clients[2].hold_fwd = false;
    w.rest(40);
    let at = w.sent().iter().position(|m| *m == (2, "WbAck")).expect("answered");
    let later = w.sent()[at..].iter().filter(|m| m.1 == "FwdGetM").count();
    assert!(later > 0, "before the list is empty: {:?}", w.sent());
    saw(&w, "race.hmesi_llc_put_in_list");
    end(&mut w);
}
