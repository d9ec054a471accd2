//! The slice checker accepts a well-behaved slice and catches each kind of misbehaviour.

use crate::golden::dir_table::DirOp;
use crate::golden::directory::Directory;
use crate::golden::evb::Evb;
use crate::golden::params::{DirKind, DirParams, Policy};
use crate::golden::slice::{Received, Request, Response, SliceCheck};
use crate::golden::{Inv, InvCause, only};
use proptest::prelude::*;
use std::collections::VecDeque;

fn params(kind: DirKind, inv_rate: u32) -> DirParams {
    let base = DirParams::new(kind);
    DirParams {
        banks: 1,
        ways: 2,
        entries: 2,
        range: 256,
        il: 256,
        policy: Policy::Lru,
        evb_depth: 2,
        inv_rate,
        ..base
    }
}

/// A slice without a pipeline: requests queue, the head is performed when the EVB allows it, Invs leave one at a time.
struct Slow {
    dir: Directory,
    evb: Evb,
    queue: VecDeque<Request>,
    write: Option<(Inv, Response)>,
}

impl Slow {
    fn perform(&mut self, check: &mut SliceCheck) -> Result<(), String> {
        let (None, Some(request)) = (self.write, self.queue.front().copied()) else { return Ok(()) };
        let mut trial = self.dir.clone();
        let out = trial.op(request.op, request.src, request.line);
        if self.evb.stall(request.op, request.line, out.eviction.is_some()).is_some() {
            return Ok(());
        }
        self.dir = trial;
        self.queue.pop_front();
        let response =
            Response { id: request.id, hit: out.hit, evicted: out.eviction.is_some(), empty: out.empty };
        out.eviction.iter().for_each(|e| assert!(self.evb.push(&e.victim)));
        match out.write_inv {
            Some(inv) => self.write = Some((inv, response)),
            None => check.responded(response)?,
        }
        Ok(())
    }

    fn invalidate(&mut self, check: &mut SliceCheck, pick: usize) -> Result<(), String> {
        if let Some((inv, response)) = self.write.take() {
            check.invalidated(inv)?;
            return check.responded(response);
        }
        let offers = self.evb.offers();
        let Some(inv) = offers.get(pick % offers.len().max(1)) else { return Ok(()) };
        assert!(self.evb.accepted(*inv));
        check.invalidated(*inv)
    }
}

proptest! {
    #[test]
    fn a_correct_slice_passes(
        kind in prop_oneof![Just(DirKind::Rec), Just(DirKind::Perline), Just(DirKind::Group4)],
        rate in prop_oneof![Just(1u32), Just(2), Just(4)],
        steps in proptest::collection::vec((0usize..3, 0usize..4, 1u32..4, 0u64..16), 1..300),
    ) {
        let p = params(kind, rate);
        let mut check = SliceCheck::new(p).unwrap();
        let (dir, evb) = (Directory::new(p).unwrap(), Evb::new(p));
        let mut slow = Slow { dir, evb, queue: VecDeque::new(), write: None };
        let drain = std::iter::repeat_n([(1, 0, 1, 0), (2, 0, 1, 0)], 1500).flatten();
        for (id, (action, op, src, line)) in steps.into_iter().chain(drain).enumerate() {
            match action {
                0 => {
                    let request = Request { op: DirOp::ALL[op], src, line, id: id as u64 };
                    check.accepted(request);
                    slow.queue.push_back(request);
                }
                1 => slow.perform(&mut check).map_err(TestCaseError::fail)?,
                _ => slow.invalidate(&mut check, line as usize).map_err(TestCaseError::fail)?,
            }
        }
        prop_assert_eq!(check.finish(), Ok(()));
    }
}

fn request(op: DirOp, src: u32, line: u64, id: u64) -> Request {
    Request { op, src, line, id }
}

fn response(id: u64, hit: bool, evicted: bool) -> Response {
    Response { id, hit, evicted, empty: false }
}

#[test]
fn wrong_early_and_repeated_transfers_are_named() {
    let mut check = SliceCheck::new(params(DirKind::Rec, 1)).unwrap();
    check.accepted(request(DirOp::RdRem, 1, 0, 7));
    assert!(
        check
            .clone()
            .responded(response(7, true, false))
            .unwrap_err()
            .contains("expected Response { id: 7, hit: false")
    );
    check.responded(response(7, false, false)).unwrap();
    assert!(check.responded(response(7, false, false)).unwrap_err().contains("answers nothing"));
    check.accepted(request(DirOp::WrRem, 2, 0, 8));
    assert!(
        check.clone().responded(response(8, true, false)).unwrap_err().contains("answered before its Inv")
    );
    let inv = Inv { line: 0, dest: only(1), cause: InvCause::Write, grp: false };
    assert!(
        check.clone().invalidated(Inv { dest: only(3), ..inv }).unwrap_err().contains("expected Some(Inv")
    );
    check.invalidated(inv).unwrap();
    assert!(check.invalidated(inv).unwrap_err().contains("was not due"));
    assert!(check.finish().unwrap_err().contains("1 requests are unanswered"));
    check.responded(response(8, true, false)).unwrap();
    assert_eq!(check.finish(), Ok(()));
    assert_eq!(check.rows()["rec.WR_REM.hit_slot_set"], 1);
}

/// Node 5 of 4 GPUs of 4 GPMs, one way and one row of the eviction buffer; lines of node 9.
#[test]
fn whoever_is_recorded_and_not_told_hears_a_received_inv() {
    let p = DirParams { home: 5, ways: 1, entries: 1, banks: 1, ..DirParams::new(DirKind::Hmg) };
    let line = |number: u64| 9 << (p.home_shift - p.line.ilog2()) | number;
    let mut check = SliceCheck::new(p).unwrap();
    for (id, (op, src, number)) in
        [(DirOp::RdRem, 4, 0), (DirOp::WrRem, 6, 1), (DirOp::RdRem, 7, 4)].into_iter().enumerate()
    {
        check.accepted(request(op, src, line(number), id as u64));
    }
    let recv = |number, also, link| Received { line: line(number), cause: InvCause::Write, also, link };
    let nodes = |list: &[u32]| list.iter().map(|n| only(*n)).sum::<u128>();
    assert_eq!(check.received(recv(2, 0, 1)), nodes(&[4, 6]), "of the write's Inv, of the eviction's");
    let inv = Inv { line: line(0), dest: nodes(&[4, 6]), cause: InvCause::Write, grp: true };
    let early = check.clone().recv_done(1).unwrap_err();
    assert!(early.contains("answered before Inv"), "{early}");
    for wrong in [Inv { dest: nodes(&[4]), ..inv }, Inv { cause: InvCause::Evict, ..inv }] {
        assert!(check.clone().passed_on(wrong).unwrap_err().contains("expected Some(Inv"));
    }
    check.invalidated(Inv { dest: nodes(&[4]), ..inv }).unwrap();
    assert_eq!(check.received(recv(0, 1 << 3, 0)), nodes(&[6, 7]), "node 4 is told; GPM 3 is named");
    assert_eq!(check.received(recv(5, 0, 2)), nodes(&[7]), "recorded");
    assert_eq!(check.received(recv(5, 0, 3)), 0);
    check.passed_on(Inv { line: line(3), ..inv }).unwrap();
    assert!(check.clone().recv_done(0).unwrap_err().contains("expected 1"));
    check.recv_done(1).unwrap();
    check.passed_on(Inv { dest: nodes(&[6, 7]), ..inv }).unwrap();
    check.passed_on(Inv { line: line(4), dest: nodes(&[7]), ..inv }).unwrap();
    assert!(check.clone().passed_on(inv).unwrap_err().contains("nobody had to be told"));
    (0..2).for_each(|i| check.recv_done([0, 2][i]).unwrap());
    assert!(check.finish().unwrap_err().contains("unanswered"));
    check.recv_done(3).unwrap();
    assert!(check.recv_done(3).unwrap_err().contains("nothing was received"));
    assert_eq!(check.rows()["hmg.INV_RECV.miss"], 3);
}

#[test]
fn a_write_may_not_pass_the_eviction_of_its_line() {
    let mut check = SliceCheck::new(params(DirKind::Rec, 1)).unwrap();
    for (id, line) in [0, 1, 4, 8].into_iter().enumerate() {
        check.accepted(request(DirOp::RdRem, 1, line, id as u64));
        check.responded(response(id as u64, line == 1, line == 8)).unwrap();
    }
    assert_eq!(check.open_bursts(), 1);
    check.accepted(request(DirOp::WrLoc, 0, 1, 9));
    assert!(check.responded(response(9, false, false)).unwrap_err().contains("older eviction Inv"));
    let evict = |line| Inv { line, dest: only(1), cause: InvCause::Evict, grp: false };
    assert!(check.invalidated(evict(1)).unwrap_err().contains("first"), "lowest slot first");
    check.invalidated(evict(0)).unwrap();
    assert!(check.finish().is_err());
    check.invalidated(evict(1)).unwrap();
    check.responded(response(9, false, false)).unwrap();
    assert_eq!(check.finish(), Ok(()));
}
