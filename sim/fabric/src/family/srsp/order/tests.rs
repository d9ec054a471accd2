//! The check told by hand: four L1s.

use super::*;
use crate::cu::{KIND_ACK, KIND_DATA};

/// Semantics.
const ACQ: u8 = 1;
const REL: u8 = 2;
/// Scopes.
const WG: u8 = 0;
const CMP: u8 = 1;
/// A flag, and data of another line.
const FLAG: u64 = 0x1000;
const DATA: u64 = 0x2004;

/// Events in order, each in a cycle of its own.
struct Bench {
    order: Order,
    now: u64,
}

/// L1 and transaction number.
type Under = (u32, LineAccess);

fn access(op: CuOp, addr: u64, value: u64) -> LineAccess {
    let at = addr % LINE;
    let mut access = LineAccess { line: addr / LINE, mask: 0xf << at, ..LineAccess::bare(op) };
    access.data[(at / 8) as usize] = value << (8 * (at % 8));
    access
}

fn sync(op: CuOp, value: u64, sem: u8, scope: u8, remote: bool) -> LineAccess {
    LineAccess { sync: true, class: 1, sem, scope, remote, want_ack: true, ..access(op, FLAG, value) }
}

fn release(scope: u8, remote: bool, value: u64) -> LineAccess {
    sync(CuOp::St, value, REL, scope, remote)
}

fn acquire(scope: u8, remote: bool) -> LineAccess {
    sync(CuOp::Ld, 0, ACQ, scope, remote)
}

impl Bench {
    fn new() -> Bench {
        Bench { order: Order::new(4, Heeds::Scopes), now: 0 }
    }

    fn take(&mut self, cu: u32, access: LineAccess) -> Under {
        self.now += 1;
        let access = LineAccess { id: self.now as u16, ..access };
        self.order.request(self.now, 0, cu, &access, None);
        (cu, access)
    }

    fn answer(&mut self, (cu, access): Under, value: u64) {
        self.now += 1;
        let at = u64::from(access.mask.trailing_zeros());
        let mut data = [0; 16];
        data[(at / 8) as usize] = value << (8 * (at % 8));
        let kind = if access.op == CuOp::St { KIND_ACK } else { KIND_DATA };
        let reply = LineReply { id: access.id, kind, mask: access.mask, data, src: 0, merged: false };
        self.order.answer(self.now, 0, cu, &reply, None);
    }

    /// Answers the bytes of a mask.
    fn answer_part(&mut self, (cu, access): &Under, mask: u128, data: u64) {
        self.now += 1;
        let mut limbs = [0; 16];
        limbs[0] = data;
        let reply = LineReply { id: access.id, kind: KIND_DATA, mask, data: limbs, src: 0, merged: false };
        self.order.answer(self.now, 0, *cu, &reply, None);
    }

    fn does(&mut self, cu: u32, access: LineAccess, found: u64) {
        let under = self.take(cu, access);
        self.answer(under, found);
    }

    fn store(&mut self, cu: u32, addr: u64, value: u64) {
        self.take(cu, access(CuOp::St, addr, value));
    }

    fn load(&mut self, cu: u32, addr: u64, found: u64) {
        self.does(cu, access(CuOp::Ld, addr, 0), found);
    }

    /// Nothing is wrong, or a sentence with these words.
    fn expect(&self, words: &[&str]) {
        let text = self.order.wrong();
        assert_eq!(text.is_some(), !words.is_empty(), "{text:?}");
        assert!(words.iter().all(|word| text.unwrap_or_default().contains(word)), "{text:?}");
    }

    /// L1 0 writes and releases, another acquires and reads.
    fn message(from: (u8, bool), to: (u32, u8, bool), found: u64) -> Bench {
        let mut b = Bench::new();
        b.store(0, DATA, 7);
        b.does(0, release(from.0, from.1, 1), 0);
        b.does(to.0, acquire(to.1, to.2), 1);
        b.load(to.0, DATA, found);
        b
    }
}

#[test]
fn a_release_reaches_as_far_as_the_scopes_say() {
    // Whoever is reached must not read the old value.
    for (from, to) in [
        ((CMP, false), (1, CMP, false)),
        ((WG, false), (1, CMP, true)),
        ((CMP, true), (1, WG, false)),
        ((WG, false), (0, WG, false)),
    ] {
        Bench::message(from, to, 7).expect(&[]);
        Bench::message(from, to, 0).expect(&["reads 0x00 in byte 0x2004", "0x07 was written by cu 0"]);
    }
    // Others may.
    for (from, to) in [((WG, false), (1, WG, false)), ((WG, false), (1, CMP, false))] {
        Bench::message(from, to, 0).expect(&[]);
        Bench::message(from, to, 7).expect(&[]);
    }
}

#[test]
fn nobody_reads_what_nobody_has_written() {
    Bench::message((WG, false), (1, WG, false), 3).expect(&["0x03"]);
}

#[test]
fn without_scopes_every_atomic_orders() {
    let mut b = Bench { order: Order::new(4, Heeds::Nothing), now: 0 };
    b.store(0, DATA, 7);
    b.does(0, sync(CuOp::St, 1, 0, WG, false), 0);
    b.does(1, sync(CuOp::Ld, 0, 0, WG, false), 1);
    b.load(1, DATA, 0);
    b.expect(&["overwritten"]);
}

/// A load of two neighbouring words that have been left by different accesses, as a cache with words of 4 bytes takes it.
#[test]
fn words_of_one_access_are_variables_of_their_own() {
    let both = |op: CuOp, low: u64, high: u64| {
        let mut access = LineAccess { mask: 0xff, ..sync(op, 0, ACQ, CMP, false) };
        access.data[0] = low | high << 32;
        access
    };
    let run = |of_words: bool, low: u64, high: u64| {
        let mut b = Bench::new();
        b.order.words = of_words;
        b.does(0, release(CMP, false, 1), 0);
        let mut second = LineAccess { mask: 0xf0, ..release(CMP, false, 0) };
        second.data[0] = 2 << 32;
        let under = b.take(2, second);
        b.answer(under, 0);
        b.does(1, both(CuOp::Ld, 0, 0), low | high << 32);
        b
    };
    run(true, 1, 2).expect(&[]);
    run(true, 1, 0).expect(&["finds 0x0 in the variable at 0x1004"]);
    run(true, 3, 2).expect(&["finds 0x3 in the variable at 0x1000"]);
    let mut b = Bench::new();
    b.order = b.order.of_words();
    let store = LineAccess { sem: REL, ..both(CuOp::St, 5, 6) };
    b.does(0, store, 0);
    b.does(1, acquire(CMP, false), 6);
    b.expect(&["finds 0x6 in the variable at 0x1000"]);
}

/// A cache whose words have owners of their own answers those that it has, and the others when it has them.
#[test]
fn words_that_are_answered_later_are_judged_later() {
    let run = |low: u64, high: u64| {
        let mut b = Bench::new();
        b.order = b.order.of_words();
        b.does(0, release(CMP, false, 1), 0);
        let both = b.take(1, LineAccess { mask: 0xff, ..acquire(CMP, false) });
        b.answer_part(&both, 0x0f, low);
        let mut second = LineAccess { mask: 0xf0, ..release(CMP, false, 0) };
        second.data[0] = 2 << 32;
        let under = b.take(2, second);
        b.answer(under, 0);
        b.answer_part(&both, 0xf0, high << 32);
        assert!(b.order.s.open.is_empty());
        b
    };
    run(1, 2).expect(&[]);
    run(1, 0).expect(&[]);
    run(3, 2).expect(&["finds 0x3 in the variable at 0x1000"]);
    run(1, 3).expect(&["finds 0x3 in the variable at 0x1004"]);
}

#[test]
fn a_load_before_the_acquire_may_be_old() {
    let mut b = Bench::new();
    let early = b.take(1, access(CuOp::Ld, DATA, 0));
    b.store(0, DATA, 7);
    b.does(0, release(CMP, false, 1), 0);
    b.does(1, acquire(CMP, false), 1);
    b.answer(early, 0);
    b.expect(&[]);
    b.load(1, DATA, 0);
    b.expect(&["overwritten"]);
}

#[test]
fn a_chain_of_swaps_carries_the_first_release() {
    let swap = |value| LineAccess { amo: AmoOp::Exch, ..sync(CuOp::Amo, value, ACQ, CMP, false) };
    let mut b = Bench::new();
    b.store(0, DATA, 7);
    b.does(0, release(CMP, false, 1), 0);
    b.does(1, swap(2), 1);
    b.does(2, acquire(CMP, false), 2);
    b.load(2, DATA, 0);
    b.expect(&["overwritten"]);
}

#[test]
fn of_two_possible_sources_only_what_both_tell_is_learned() {
    let mut b = Bench::new();
    b.store(0, DATA, 7);
    let one = b.take(0, release(CMP, false, 1));
    let other = b.take(1, release(CMP, false, 1));
    b.answer(one, 0);
    b.answer(other, 0);
    b.does(2, acquire(CMP, false), 1);
    b.load(2, DATA, 0);
    b.expect(&[]);
}

#[test]
fn a_value_that_was_overwritten_is_not_found_again() {
    let mut b = Bench::new();
    b.does(0, release(CMP, false, 1), 0);
    b.does(1, release(CMP, false, 2), 0);
    b.does(2, acquire(CMP, false), 2);
    b.expect(&[]);
    b.does(2, acquire(CMP, false), 1);
    b.expect(&["cu 2 finds 0x1 in the variable at 0x1000"]);
}

#[test]
fn a_swap_that_fails_leaves_nothing() {
    let swap =
        |value, cmp| LineAccess { amo: AmoOp::Cas, cmp, ..sync(CuOp::Amo, value, ACQ | REL, CMP, false) };
    let mut b = Bench::new();
    b.does(0, swap(5, 9), 0);
    b.does(1, swap(6, 0), 0);
    b.does(2, acquire(CMP, false), 6);
    b.expect(&[]);
    b.does(2, acquire(CMP, false), 5);
    b.expect(&["finds 0x5"]);
}

/// The owner of a lock, whose copy must go after another has had it.
#[test]
fn an_owner_learns_what_a_remote_holder_has_written() {
    let swap =
        |scope, remote| LineAccess { amo: AmoOp::Cas, cmp: 0, ..sync(CuOp::Amo, 1, ACQ, scope, remote) };
    for spins in [0, 3] {
        let mut b = Bench::new();
        b.does(0, swap(WG, false), 0);
        b.load(0, DATA, 0);
        b.store(0, DATA, 1);
        b.does(0, release(WG, false, 0), 0);
        let waits = b.take(2, swap(CMP, true));
        b.does(1, swap(CMP, true), 0);
        b.load(1, DATA, 1);
        (0..spins).for_each(|_| b.does(0, swap(WG, false), 1));
        b.store(1, DATA, 2);
        b.does(1, release(CMP, true, 0), 0);
        b.does(0, swap(WG, false), 0);
        b.answer(waits, 1);
        b.expect(&[]);
        b.load(0, DATA, 1);
        b.expect(&["0x02 was written by cu 1"]);
    }
}

#[test]
fn one_value_is_replaced_once() {
    let swap = LineAccess { amo: AmoOp::Cas, cmp: 0, ..sync(CuOp::Amo, 1, ACQ | REL, CMP, false) };
    let mut b = Bench::new();
    let (one, other) = (b.take(0, swap.clone()), b.take(1, swap));
    b.answer(one, 0);
    b.expect(&[]);
    b.answer(other, 0);
    b.expect(&["cu 1 finds 0x0"]);
}

#[test]
fn a_variable_that_is_raced_for_at_work_group_scope_promises_nothing() {
    let mut b = Bench::new();
    b.does(0, release(WG, false, 1), 0);
    b.does(1, release(WG, false, 2), 0);
    b.does(2, acquire(CMP, false), 0);
    b.expect(&[]);
}

#[test]
fn bytes_of_a_word_are_apart() {
    let byte = |op, at: u64, value: u64| LineAccess {
        mask: 1 << (at % LINE),
        ..access(op, at & !3, value << (8 * (at % 4)))
    };
    let mut b = Bench::new();
    b.take(0, byte(CuOp::St, DATA, 5));
    b.take(1, byte(CuOp::St, DATA + 1, 6));
    b.load(0, DATA, 0x605);
    b.load(0, DATA, 0x005);
    b.load(1, DATA, 0x600);
    b.expect(&[]);
    b.load(1, DATA, 0x005);
    b.expect(&["byte 0x2005"]);
}

#[test]
fn a_copy_is_saved_and_resumed() {
    let b = Bench::message((CMP, false), (1, CMP, false), 7);
    let mut other = Order::new(4, Heeds::Scopes);
    assert!(other.resume(&b.order.save()));
    assert_eq!(other.save(), b.order.save());
    assert!(!Order::new(3, Heeds::Scopes).resume(&b.order.save()));
    assert!(!other.resume(&[1, 2]));
}

/// Two compute units, L1s 0 and 1, with stashes 2 and 3.
fn with_stashes() -> Bench {
    Bench { order: Order::new(4, Heeds::Scopes).of_stashes(2), now: 0 }
}

impl Bench {
    fn acknowledge(&mut self, (unit, access): &Under) {
        self.now += 1;
        let reply =
            LineReply { id: access.id, kind: KIND_ACK, mask: 0, data: [0; 16], src: 0, merged: false };
        self.order.answer(self.now, 0, *unit, &reply, None);
    }

    /// A release or acquire of a compute unit, at its L1 and its stash; `at` says which of the two answer.
    fn message_to(&mut self, cu: u32, op: CuOp, at: &[u32]) {
        for unit in [cu, cu + 2].iter().filter(|unit| at.contains(unit)) {
            let under = self.take(*unit, LineAccess { want_ack: true, ..LineAccess::bare(op) });
            self.acknowledge(&under);
        }
    }

    /// `from` writes, its compute unit 0 releases at some units and raises the flag; compute unit 1 finds it, and acquires at some.
    fn by_stash(from: u32, releases: &[u32], acquires: &[u32]) -> Bench {
        let mut b = with_stashes();
        b.store(from, DATA, 7);
        b.message_to(0, CuOp::Rel, releases);
        b.does(0, release(CMP, false, 1), 0);
        b.does(1, acquire(CMP, false), 1);
        b.message_to(1, CuOp::Acq, acquires);
        b
    }
}

#[test]
fn what_a_stash_or_its_l1_writes_is_known_after_release_and_acquire_at_both() {
    let found = |mut b: Bench, to: u32, value: u64| {
        b.load(to, DATA, value);
        b
    };
    for (from, to) in [(0, 1), (0, 3), (2, 1), (2, 3)] {
        found(Bench::by_stash(from, &[0, 2], &[1, 3]), to, 7).expect(&[]);
        let by = format!("0x07 was written by cu {from}");
        found(Bench::by_stash(from, &[0, 2], &[1, 3]), to, 0).expect(&["reads 0x00 in byte 0x2004", &by]);
        // Without its part in it, either value is right.
        found(Bench::by_stash(from, &[2 - from], &[1, 3]), to, 0).expect(&[]);
        found(Bench::by_stash(from, &[0, 2], &[4 - to]), to, 0).expect(&[]);
    }
}

#[test]
fn an_l1_and_its_stash_are_ordered_as_two_compute_units() {
    for (from, to) in [(0, 2), (2, 0)] {
        for (releases, acquires, known) in [(true, true, true), (false, true, false), (true, false, false)] {
            let mut b = with_stashes();
            b.store(from, DATA, 7);
            b.message_to(0, CuOp::Rel, if releases { &[0, 2] } else { &[] });
            b.message_to(0, CuOp::Acq, if acquires { &[0, 2] } else { &[] });
            b.load(to, DATA, 0);
            b.expect(if known { &["is overwritten for it"] } else { &[] });
        }
    }
    // What is stored behind a release, before it is answered, is not released by it.
    let mut b = with_stashes();
    let under = b.take(2, LineAccess { want_ack: true, ..LineAccess::bare(CuOp::Rel) });
    b.store(2, DATA, 7);
    b.acknowledge(&under);
    b.message_to(0, CuOp::Acq, &[0, 2]);
    b.load(0, DATA, 0);
    b.expect(&[]);
}
