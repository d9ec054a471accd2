//! The checker of logical time says each of its sentences where it should, and nothing where it should not.

use weft_blocks::msg::AmoOp;
use weft_mgcc_bench::checker::{LogicalTime, Promise};
use weft_mgcc_bench::golden::msg::{Atomic, Data};
use weft_mgcc_bench::golden::time::Time;

fn at(ts: u64) -> Time {
    Time::new(0, ts)
}

fn bytes(value: u8) -> Data {
    Data([value; 64])
}

fn verdict(log: &LogicalTime) -> Vec<String> {
    log.check(|_| Data::default()).iter().map(ToString::to_string).collect()
}

#[test]
fn a_load_sees_the_greatest_time_also_of_writes_logged_later() {
    let mut log = LogicalTime::new(Promise::Sc);
    log.load((0, 0), 7, u64::MAX, at(9), bytes(1));
    log.store((1, 0), 7, u64::MAX, at(5), bytes(1));
    log.store((2, 0), 7, u64::MAX, at(10), bytes(2));
    log.load((3, 0), 7, u64::MAX, at(10), bytes(2));
    log.load((4, 0), 7, u64::MAX, at(4), bytes(0));
    assert_eq!(verdict(&log), [""; 0]);
    log.store((5, 0), 7, 0b100, at(8), bytes(3));
    assert_eq!(
        verdict(&log),
        [
            "wave 0, operation 0: byte 2 of line 0x7 at 0.9 is 0x01; the write with the greatest time up to then (of wave 5 at 0.8) left 0x03"
        ]
    );
}

#[test]
fn bytes_outside_the_mask_do_not_count() {
    let mut log = LogicalTime::new(Promise::Sc);
    log.store((0, 0), 1, 0xff, at(3), bytes(1));
    log.load((1, 0), 1, 0xf0, at(3), bytes(1));
    assert_eq!(verdict(&log), [""; 0]);
    log.load((2, 0), 1, 0x1f0, at(3), bytes(1));
    assert_eq!(verdict(&log).len(), 1);
}

#[test]
fn epochs_come_first() {
    let mut log = LogicalTime::new(Promise::Sc);
    log.store((0, 0), 1, u64::MAX, at(60), bytes(1));
    log.store((1, 0), 1, u64::MAX, Time::new(1, 1), bytes(2));
    log.load((2, 0), 1, u64::MAX, Time::new(1, 30), bytes(2));
    assert_eq!(verdict(&log), [""; 0]);
}

#[test]
fn an_atomic_reads_what_was_before_it_and_writes_at_its_time() {
    let add = Atomic { op: AmoOp::Add, signed: false, word: 1, wide: false, operand: 5, compare: 0 };
    let mut log = LogicalTime::new(Promise::Rc);
    log.atomic((0, 0), 1, at(2), add, 0);
    log.atomic((1, 0), 1, at(3), add, 5);
    let mut line = Data::default();
    line.set_number(4, 4, 10);
    log.load((2, 0), 1, u64::MAX, at(3), line);
    assert_eq!(verdict(&log), [""; 0]);
    log.atomic((3, 0), 1, at(4), add, 5);
    assert_eq!(
        verdict(&log),
        [
            "wave 3, operation 0: byte 4 of line 0x1 at 0.4 is 0x05; the write with the greatest time up to then (of wave 1 at 0.3) left 0x0a"
        ]
    );
}

#[test]
fn one_writer_at_an_instant() {
    let mut log = LogicalTime::new(Promise::Sc);
    log.store((0, 0), 1, 0xf, at(3), bytes(1));
    log.store((1, 0), 1, 0xf0, at(3), bytes(1));
    log.store((2, 0), 2, 0xf0, at(3), bytes(1));
    assert_eq!(verdict(&log), ["line 0x1 is written twice at 0.3, by wave 0 and by wave 1"]);
}

#[test]
fn time_along_a_wave() {
    for promise in [Promise::Sc, Promise::Rc] {
        let mut log = LogicalTime::new(promise);
        log.load((0, 0), 1, u64::MAX, at(9), bytes(0));
        log.load((0, 1), 2, u64::MAX, at(8), bytes(0));
        log.load((1, 4), 1, u64::MAX, at(9), bytes(0));
        log.load((1, 4), 2, u64::MAX, at(8), bytes(0));
        let sc = "wave 0, operation 1 binds at 0.8, but must not bind before 0.9: earlier operations, ordered before it, bound there";
        assert_eq!(verdict(&log), if promise == Promise::Sc { vec![sc] } else { vec![] });
    }
}

#[test]
fn time_across_fences() {
    let mut log = LogicalTime::new(Promise::Rc);
    log.load((0, 0), 1, u64::MAX, at(9), bytes(0));
    log.fence(0, 2);
    log.load((0, 1), 2, u64::MAX, at(3), bytes(0));
    log.load((0, 3), 3, u64::MAX, at(9), bytes(0));
    assert_eq!(verdict(&log), [""; 0]);
    log.load((0, 4), 2, u64::MAX, at(8), bytes(0));
    assert_eq!(
        verdict(&log),
        [
            "wave 0, operation 4 binds at 0.8, but must not bind before 0.9: earlier operations, ordered before it, bound there"
        ]
    );
}

#[test]
fn time_brought_by_a_barrier() {
    let mut log = LogicalTime::new(Promise::Rc);
    log.load((0, 0), 1, u64::MAX, at(1), bytes(0));
    log.floor(0, 1, at(20));
    log.load((0, 2), 1, u64::MAX, at(20), bytes(0));
    assert_eq!(verdict(&log), [""; 0]);
    log.load((0, 3), 1, u64::MAX, at(19), bytes(0));
    assert_eq!(
        verdict(&log),
        ["wave 0, operation 3 binds at 0.19, but must not bind before 0.20: a barrier has brought that time"]
    );
}

#[test]
fn versions_of_a_line_do_not_go_back() {
    let mut log = LogicalTime::new(Promise::Rc);
    log.store((1, 0), 1, u64::MAX, at(5), bytes(1));
    log.load((0, 0), 1, u64::MAX, at(9), bytes(1));
    log.load((0, 1), 1, u64::MAX, at(6), bytes(1));
    assert_eq!(verdict(&log), [""; 0], "inside a version T may go back");
    log.load((0, 2), 1, u64::MAX, at(4), bytes(0));
    assert_eq!(
        verdict(&log),
        ["wave 0, operation 2 sees line 0x1 as of 0.0, after it has seen it as of 0.5"]
    );
}

#[test]
fn clocks_do_not_go_back() {
    let mut log = LogicalTime::new(Promise::Sc);
    log.clock("l1", at(60));
    log.clock("l2", at(3));
    log.clock("l1", Time::new(1, 0));
    assert_eq!(verdict(&log), [""; 0]);
    log.clock("l1", at(61));
    assert_eq!(verdict(&log), ["the clock of l1 goes back from 1.0 to 0.61"]);
}

/// Two waves that each load the other's store of the same instant before their own: values and times are right one by one, but no order holds all.
#[test]
fn an_instant_without_an_order() {
    let log = |writer| {
        let mut log = LogicalTime::new(Promise::Sc);
        log.load((0, 0), 1, u64::MAX, at(5), bytes(1));
        log.store((0, 1), 2, u64::MAX, at(5), bytes(2));
        log.load((1, 0), 2, u64::MAX, at(5), bytes(2));
        log.store((writer, 1), 1, u64::MAX, at(5), bytes(1));
        verdict(&log)
    };
    assert_eq!(log(2), [""; 0], "a third wave's store comes first");
    assert_eq!(log(1), ["the operations at 0.5 have no order: wave 0, operation 0 would come before itself"]);
}
