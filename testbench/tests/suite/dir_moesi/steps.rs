//! The sentences of moesi.md section 4, one by one. Node 0 is the home.

use super::bench::{Bench, Cycle, small};
use weft_blocks::directory::DirParams;
use weft_testbench::golden::moesi::msg::Answer::{Alone, Forwarded, Home, Keep, Stale, Taken};
use weft_testbench::golden::moesi::msg::Asks::{GetM, GetS, OwnHome, Put, ReadHome};
use weft_testbench::golden::moesi::msg::{Answer, Asks, Line, Msg, Node, Packet, SliceOp};

/// A slice, and what has left it since somebody looked.
struct Steps {
    b: Bench,
    answers: Vec<(Asks, Node, Answer)>,
    told: Vec<(Node, Msg)>,
}

const READY: Cycle = Cycle { rsp: true, inv: true, ack: None, done: None };

impl Steps {
    fn new(p: DirParams) -> Steps {
        let b = Bench::new(&p, 0, 1);
        let mut steps = Steps { b, answers: Vec::new(), told: Vec::new() };
        steps.rest(READY);
        steps
    }

    /// A slice in which node 1 owns the lines, and others share them.
    fn owned(p: DirParams, lines: &[Line], sharers: &[Node]) -> Steps {
        let mut steps = Steps::new(p);
        for line in lines {
            assert_eq!(steps.op(GetM, 1, *line), Some(Home));
            steps.done(1, *line);
            for node in sharers {
                assert_eq!(steps.op(GetS, *node, *line), Some(Forwarded));
                steps.done(*node, *line);
            }
        }
        steps.left();
        steps
    }

    /// A cycle, and some more.
    fn rest(&mut self, first: Cycle) {
        for now in [first].into_iter().chain([READY; 20]) {
            let seen = self.b.cycle(now);
            self.answers.extend(seen.answer.map(|(_, op, answer)| (op.asks, op.src, answer)));
            self.told.extend(seen.packets.into_iter().map(|(_, packet)| (packet.to, packet.msg)));
        }
    }

    /// An operation; its answer, if it has one by now.
    fn op(&mut self, asks: Asks, src: Node, line: Line) -> Option<Answer> {
        self.flagged(asks, src, line, asks == ReadHome)
    }

    fn flagged(&mut self, asks: Asks, src: Node, line: Line, alone: bool) -> Option<Answer> {
        self.b.offer(0, SliceOp { asks, src, line, alone }, u64::from(7 * src + line));
        self.rest(READY);
        let at = self.answers.iter().position(|(found, node, _)| (*found, *node) == (asks, src));
        at.map(|at| self.answers.remove(at).2)
    }

    fn comes(&mut self, from: Node, line: Line, msg: Msg) {
        self.rest(Cycle { ack: Some((0, Packet { from, to: 0, line, msg })), ..READY });
    }

    fn ack(&mut self, from: Node, line: Line) {
        self.comes(from, line, Msg::Ack);
    }

    fn done(&mut self, from: Node, line: Line) {
        self.comes(from, line, Msg::Done);
    }

    /// The own bank has the line, or memory has it.
    fn own(&mut self, line: Line, written: bool) {
        self.rest(Cycle { done: Some((0, line, written)), ..READY });
    }

    /// Answers and INV messages that have left.
    fn left(&mut self) -> (Vec<(Asks, Node, Answer)>, Vec<(Node, Msg)>) {
        (std::mem::take(&mut self.answers), std::mem::take(&mut self.told))
    }

    fn end(&self) {
        assert!(self.b.idle());
        self.b.compare_memory();
    }
}

fn four() -> DirParams {
    small(4, 1, 0)
}

#[test]
fn acks_come_before_fwdm_and_a_put_behind_the_row_is_stale() {
    let mut s = Steps::owned(four(), &[0], &[2]);
    assert_eq!(s.op(GetM, 3, 0), None);
    assert_eq!(s.left(), (vec![], vec![(2, Msg::Inv)]), "the sharers first");
    assert_eq!(s.op(Put, 1, 0), None, "the owner's Put waits behind the row");
    s.ack(2, 0);
    assert_eq!(s.left(), (vec![(GetM, 3, Forwarded)], vec![(1, Msg::FwdM(3))]));
    s.done(3, 0);
    assert_eq!(s.left(), (vec![(Put, 1, Stale)], vec![]), "node 3 is the owner");
    assert_eq!(s.op(Put, 3, 0), Some(Taken));
    s.own(0, true);
    s.end();
}

#[test]
fn recall_comes_after_acks_and_the_way_is_free_at_once() {
    let mut s = Steps::owned(DirParams { entries: 1, ways: 1, ..four() }, &[0], &[2]);
    assert_eq!(
        s.flagged(GetS, 3, 1, true),
        Some(Alone),
        "the operation does not wait for the replaced entry"
    );
    assert_eq!(s.left().1, [(2, Msg::Inv)]);
    assert_eq!(s.op(OwnHome, 0, 0), None, "the replaced line has a row");
    s.ack(2, 0);
    assert_eq!(s.left(), (vec![], vec![(1, Msg::Recall)]));
    s.own(0, true);
    assert_eq!(s.left().0, [(OwnHome, 0, Home)], "nobody has the line any more");
    s.own(0, false);
    assert_eq!(s.op(GetM, 2, 0), None, "the only entry has a row: it is no victim");
    assert_eq!(s.left(), (vec![], vec![]));
    s.done(3, 1);
    assert_eq!(s.left(), (vec![(GetM, 2, Home)], vec![(3, Msg::Recall)]));
    s.done(2, 0);
    s.own(1, true);
    s.end();
}

#[test]
fn the_flag_decides_the_grant() {
    let mut s = Steps::new(four());
    assert_eq!(s.flagged(GetS, 2, 0, true), Some(Alone));
    assert_eq!(s.flagged(GetS, 2, 1, false), Some(Home));
    s.done(2, 0);
    s.done(2, 1);
    assert_eq!(s.op(GetS, 3, 0), Some(Forwarded), "node 2 is the owner");
    assert_eq!(s.op(GetS, 3, 1), Some(Home), "node 2 is a sharer");
    assert_eq!(s.left().1, [(2, Msg::FwdS(3))]);
    s.done(3, 1);
    s.done(3, 0);
    assert_eq!(s.op(ReadHome, 0, 2), Some(Alone), "no entry, and none is made");
    s.own(2, false);
    s.end();
}

#[test]
fn operations_of_a_line_keep_their_order_and_hold_no_others() {
    let mut s = Steps::new(four());
    assert_eq!(s.op(GetM, 1, 0), Some(Home));
    assert_eq!((s.op(GetS, 2, 0), s.op(ReadHome, 0, 0), s.op(GetM, 3, 0)), (None, None, None));
    assert_eq!(s.flagged(GetS, 3, 1, true), Some(Alone), "another line goes on");
    s.done(1, 0);
    assert_eq!(s.left(), (vec![(GetS, 2, Forwarded)], vec![(1, Msg::FwdS(2))]), "the oldest, and no more");
    s.done(2, 0);
    assert_eq!(s.left(), (vec![(ReadHome, 0, Forwarded)], vec![(1, Msg::FwdS(0))]));
    s.own(0, false);
    assert_eq!(s.left(), (vec![], vec![(2, Msg::Inv)]));
    s.ack(2, 0);
    assert_eq!(s.left(), (vec![(GetM, 3, Forwarded)], vec![(1, Msg::FwdM(3))]));
    s.done(3, 1);
    s.done(3, 0);
    s.end();
}

#[test]
fn a_put_that_is_taken_has_a_row_until_memory_has_it() {
    let mut s = Steps::owned(four(), &[0], &[]);
    assert_eq!(s.op(Put, 1, 0), Some(Taken));
    assert_eq!(s.flagged(GetS, 2, 0, true), None, "the next operation of the line reads memory");
    assert_eq!(s.op(Put, 3, 1), Some(Stale), "no row, no Done");
    s.own(0, true);
    assert_eq!(s.left().0, [(GetS, 2, Alone)]);
    s.done(2, 0);
    s.end();
}

#[test]
fn an_owner_keeps_its_data() {
    let mut s = Steps::owned(four(), &[0], &[2, 3]);
    assert_eq!(s.op(GetM, 1, 0), None);
    assert_eq!(s.left().1, [(2, Msg::Inv), (3, Msg::Inv)]);
    s.ack(3, 0);
    assert_eq!(s.left(), (vec![], vec![]), "all Acks are awaited");
    s.ack(2, 0);
    assert_eq!(s.left(), (vec![(GetM, 1, Keep)], vec![]));
    s.done(1, 0);
    assert_eq!(s.op(OwnHome, 0, 0), Some(Forwarded));
    assert_eq!(s.left().1, [(1, Msg::FwdM(0))]);
    s.own(0, false);
    s.end();
}

#[test]
fn when_eight_wait_the_input_waits() {
    let mut s = Steps::new(small(1, 8, 0));
    assert_eq!(s.op(GetM, 1, 0), Some(Home));
    for node in 2..8 {
        assert_eq!(s.op(GetS, node, 0), None);
    }
    assert_eq!((s.op(OwnHome, 0, 0), s.op(Put, 1, 0)), (None, None));
    assert_eq!(s.flagged(GetS, 2, 1, true), None, "another line, but the queue is full");
    s.done(1, 0);
    assert!(s.left().0.contains(&(GetS, 2, Alone)), "the queue has room again");
    s.done(2, 1);
    for node in 2..8 {
        s.done(node, 0);
    }
    (2..8).for_each(|node| s.ack(node, 0));
    s.own(0, false);
    assert_eq!(s.left().0.last(), Some(&(Put, 1, Stale)));
    s.end();
}
