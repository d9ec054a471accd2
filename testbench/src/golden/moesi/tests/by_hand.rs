//! Banks and slices driven by hand: the calls that the exploration makes, one at a time.

use crate::golden::moesi::bank::{Bank, Copy};
use crate::golden::moesi::fabric::{Fabric, Params};
use crate::golden::moesi::msg::{Action, Answer, Asks, Line, Msg, Node, Packet, SliceOp};
use crate::golden::moesi::races::Tally;
use crate::golden::moesi::slice::{Entry, Phase, Slice};
use crate::golden::moesi::table::{Event, State};

const HOME: Node = 0;
const LINE: Line = 0;

fn op(asks: Asks, src: Node, alone: bool) -> SliceOp {
    SliceOp { asks, src, line: LINE, alone }
}

fn sent(from: Node, to: Node, msg: Msg) -> Action {
    Action::Send(Packet { from, to, line: LINE, msg })
}

fn begin() -> (Params, Fabric, Tally) {
    let p = Params::tiny(4, 1);
    (p, Fabric::new(&p), Tally::default())
}

#[test]
fn a_slice_asks_the_owner_after_the_acks() {
    let (p, mut f, mut tally) = begin();
    let mut slice = Slice::new(&p);
    slice.entries[0] = Some(Entry { owner: Some(1), sharers: 0b1100 });
    let write = op(Asks::GetM, 3, false);
    slice.offer(write, &p, &mut f, &mut tally);
    assert_eq!(f.take(), [sent(HOME, 2, Msg::Inv)]);
    slice.offer(op(Asks::Put, 1, false), &p, &mut f, &mut tally);
    assert!(f.take().is_empty() && !slice.ready(0, &p, &f), "the line has a row");
    slice.ack(LINE, &p, &mut f, &mut tally);
    let forward = sent(HOME, 1, Msg::FwdM(3));
    assert_eq!(f.take(), [forward, Action::Answer(write, Answer::Forwarded)]);
    slice.done(LINE, 3, &mut f, &mut tally);
    assert_eq!(slice.entries[0], Some(Entry { owner: Some(3), sharers: 0 }));
    assert!(slice.ready(0, &p, &f));
    slice.serve(0, &p, &mut f, &mut tally);
    assert_eq!(f.take(), [Action::Answer(op(Asks::Put, 1, false), Answer::Stale)]);
    assert_eq!(f.wrong, None);
}

#[test]
fn a_slice_recalls_after_the_acks() {
    let (p, mut f, mut tally) = begin();
    let mut slice = Slice::new(&p);
    slice.entries[0] = Some(Entry { owner: Some(1), sharers: 0b0100 });
    assert!(slice.replaceable(LINE, &p, &f));
    slice.replace(LINE, &p, &mut f, &mut tally);
    assert_eq!((f.take(), slice.entries[0]), (vec![sent(HOME, 2, Msg::Inv)], None));
    slice.ack(LINE, &p, &mut f, &mut tally);
    assert_eq!(f.take(), [sent(HOME, 1, Msg::Recall)]);
    assert!(slice.rows[0].is_some_and(|row| row.phase == Phase::Recalled));
    slice.back(LINE, &mut f, &mut tally);
    assert!(slice.rows[0].is_none() && f.take().is_empty() && f.wrong.is_none());
}

#[test]
fn the_flag_decides_the_grant() {
    for (alone, answer, entry) in [
        (true, Answer::Alone, Entry { owner: Some(2), sharers: 0 }),
        (false, Answer::Home, Entry { owner: None, sharers: 0b0100 }),
    ] {
        let (p, mut f, mut tally) = begin();
        let mut slice = Slice::new(&p);
        let read = op(Asks::GetS, 2, alone);
        slice.offer(read, &p, &mut f, &mut tally);
        assert_eq!((f.take(), slice.entries[0]), (vec![Action::Answer(read, answer)], Some(entry)));
        slice.done(LINE, 2, &mut f, &mut tally);
        assert_eq!((slice.entries[0], &f.wrong), (Some(entry), &None));
    }
}

/// Flushes of lines that are not written do nothing.
pub fn flushes_of_clean_lines(tally: &mut Tally) {
    let (p, mut f, _) = begin();
    for (node, event) in [(HOME, Event::Clean), (1, Event::Flush)] {
        for state in [State::I, State::S, State::E] {
            let mut bank = Bank::new(node, &p);
            bank.lines[0].copy.state = state;
            bank.event(LINE, event, node, &p, &mut f, tally);
            assert_eq!((bank.lines[0].copy.state, f.take(), &f.wrong), (state, vec![], &None));
        }
    }
}

#[test]
fn a_getm_drops_the_own_s_copy_when_it_enters() {
    let (p, mut f, mut tally) = begin();
    let mut bank = Bank::new(HOME, &p);
    bank.lines[0].copy = Copy { state: State::S, data: 0 };
    assert!(bank.may_enter(LINE, Msg::GetM, &p));
    bank.message(Packet { from: 2, to: HOME, line: LINE, msg: Msg::GetM }, &p, &mut f, &mut tally);
    let write = op(Asks::GetM, 2, false);
    assert_eq!((f.take(), bank.lines[0].copy.state), (vec![Action::Ask(write)], State::I));
    bank.answered(write, Answer::Home, &mut f, &mut tally);
    bank.turn(0, &p, &mut f, &mut tally);
    assert_eq!(f.take(), [sent(HOME, 2, Msg::Data(crate::golden::moesi::msg::Grant::M, Some(0)))]);
    assert_eq!(f.wrong, None);
}
