//! Rows of the specification on the golden block models: TSU (section 6, 8), L1 (4, 9), L2 (5), request tracker (7).

use weft_mgcc_bench::golden::array::State;
use weft_mgcc_bench::golden::l1::{CuReq, CuRsp, CuWork, L1, L1Action, L1Params, Stall};
use weft_mgcc_bench::golden::l2::{L2, L2Action, L2Params};
use weft_mgcc_bench::golden::layout::Layout;
use weft_mgcc_bench::golden::msg::{Data, Op, UmcReq, UmcRsp, UpReq, UpRsp, Work};
use weft_mgcc_bench::golden::time::{Age, Time, Widths};
use weft_mgcc_bench::golden::tracker::{Tracker, TrackerParams};
use weft_mgcc_bench::golden::tsu::{Grant, Tsu, TsuOp, TsuParams, TsuReq};

const WIDTHS: Widths = Widths { ts: 8, eb: 3 };
const LAYOUT: Layout = Layout { banks: 2, lanes: 2, il: 7 };

#[test]
fn lines_have_places() {
    let places = |line| (LAYOUT.bank(line), LAYOUT.in_umc(line), LAYOUT.lane(line), LAYOUT.in_lane(line));
    assert_eq!(places(0b1011), (1, 0b101, 1, 0b10));
    assert_eq!(places(0b1100), (0, 0b110, 0, 0b11));
}

#[test]
fn tags_name_the_nearest_epoch() {
    assert_eq!(
        (-3..=1).map(|d| WIDTHS.epoch_of(WIDTHS.tag((9 + d) as u64), 9)).collect::<Vec<_>>(),
        [6, 7, 8, 9, 10]
    );
    assert_eq!(
        (WIDTHS.age(2, 1), WIDTHS.age(1, 1), WIDTHS.age(0, 1)),
        (Age::Newer, Age::Current, Age::Older)
    );
    assert!(std::panic::catch_unwind(|| WIDTHS.age(3, 1)).is_err(), "two ahead");
}

fn tsu(sets: usize, ways: usize, accumulate: bool, exact: bool) -> Tsu {
    Tsu::new(TsuParams { sets, ways, widths: WIDTHS, accumulate, exact, inject: None })
}

/// {wts, rts} with leases 10 and 5, in the TSU's epoch.
fn ask(tsu: &mut Tsu, op: TsuOp, line: u64, ts: u64) -> (u64, u64) {
    let tag = WIDTHS.tag(tsu.epoch());
    let grant = tsu.operate(&TsuReq { op, line, tag, ts }, 10, 5).expect("an answer");
    assert!(!grant.ovf, "it fits");
    (grant.wts, grant.rts)
}

#[test]
fn tsu_grants() {
    let mut exact = tsu(1, 2, true, true);
    assert_eq!(ask(&mut exact, TsuOp::Read, 1, 0), (0, 10));
    assert_eq!(ask(&mut exact, TsuOp::Read, 1, 3), (0, 20), "accumulates");
    assert_eq!(ask(&mut exact, TsuOp::Write, 1, 0), (21, 25), "behind every lease");
    assert_eq!(ask(&mut exact, TsuOp::Read, 1, 40), (21, 50));
    assert_eq!(ask(&mut exact, TsuOp::Write, 1, 90), (90, 94), "not before the writer");
    let mut bound = tsu(1, 2, false, false);
    assert_eq!(ask(&mut bound, TsuOp::Read, 1, 0), (0, 10));
    assert_eq!(ask(&mut bound, TsuOp::Read, 1, 3), (10, 13), "covers; an upper bound of the last write");
    assert_eq!(ask(&mut bound, TsuOp::Read, 1, 0), (13, 13));
}

#[test]
fn tsu_eviction_raises_the_floor() {
    let mut t = tsu(1, 2, true, true);
    ask(&mut t, TsuOp::Write, 1, 30);
    ask(&mut t, TsuOp::Write, 2, 20);
    ask(&mut t, TsuOp::Read, 3, 0);
    assert_eq!((t.entry(2), t.floors(0)), (None, (24, 20)), "the lowest memts goes");
    assert_eq!(t.entry(3).expect("allocated").memts, 10, "the new entry started at the old floor");
    assert_eq!(ask(&mut t, TsuOp::Write, 2, 0), (25, 29), "never inside an old lease");
    assert_eq!(ask(&mut t, TsuOp::Read, 3, 0), (20, 34), "evicted by 2, again from the floors");
    let mut ties = tsu(1, 2, true, true);
    for line in 0..3 {
        ask(&mut ties, TsuOp::Read, line, 0);
    }
    assert!(ties.entry(0).is_none(), "ties: the lowest index");
}

#[test]
fn tsu_evict_notes() {
    let note = |line, tag, ts| TsuReq { op: TsuOp::Evict, line, tag, ts };
    let mut t = tsu(2, 2, true, true);
    ask(&mut t, TsuOp::Write, 4, 30);
    assert_eq!(t.operate(&note(4, 0, 33), 10, 5), None);
    assert!(t.entry(4).is_some(), "somebody has a later lease");
    t.operate(&note(6, 0, 34), 10, 5);
    assert!(t.entry(4).is_some(), "another line of the set");
    t.operate(&note(4, 0, 34), 10, 5);
    assert_eq!((t.entry(4), t.floors(0), t.floors(1)), (None, (34, 30), (0, 0)));
    t.roll(1);
    ask(&mut t, TsuOp::Read, 4, 24);
    t.operate(&note(4, 0, 34), 10, 5);
    assert!(t.entry(4).is_some(), "a note of an epoch that is over");
}

#[test]
fn tsu_overflow_and_rolls() {
    let mut t = tsu(1, 1, true, true);
    let ask_raw =
        |t: &mut Tsu, op, tag, ts| t.operate(&TsuReq { op, line: 1, tag, ts }, 10, 5).expect("an answer");
    let late = ask_raw(&mut t, TsuOp::Read, 0, 240);
    assert_eq!((late.rts, late.ask), (250, false));
    let later = ask_raw(&mut t, TsuOp::Read, 0, 251);
    assert_eq!((later.wts, later.rts, later.ask), (0, 255, true), "saturates, covers, asks for a roll");
    let full = ask_raw(&mut t, TsuOp::Write, 0, 0);
    assert!(full.ovf && full.ask);
    assert_eq!(t.entry(1).expect("unchanged").memts, 255);
    let older = {
        t.roll(1);
        ask_raw(&mut t, TsuOp::Write, 0, 200)
    };
    assert_eq!((older.tag, older.wts, older.rts), (1, 1, 5), "after the roll; the old clock counts as 0");
    let newer = ask_raw(&mut t, TsuOp::Read, 2, 7);
    assert_eq!((t.epoch(), newer.tag, newer.wts, newer.rts), (2, 2, 0, 17), "a newer tag rolls first");
    t.roll(1);
    assert_eq!(t.epoch(), 2, "an old roll changes nothing");
}

fn l1(eager: bool) -> L1 {
    let (own, sets, ways, mshrs, pool) = (3, 2, 2, 2, 2);
    let (widths, layout, self_inc, repl_ts) = (WIDTHS, LAYOUT, 2, true);
    let coherent = true;
    L1::new(L1Params {
        own,
        sets,
        ways,
        layout,
        widths,
        mshrs,
        pool,
        coherent,
        eager,
        self_inc,
        repl_ts,
        inject: None,
    })
}

fn ld(id: u32, line: u64) -> CuReq {
    CuReq { id, line, mask: 0xf, work: CuWork::Load { sync: false } }
}

fn st(id: u32, line: u64, mask: u64) -> CuReq {
    CuReq { id, line, mask, work: CuWork::Store { data: Data([id as u8; 64]).masked(mask), want_ack: true } }
}

fn fence(id: u32) -> CuReq {
    CuReq { id, line: 0, mask: 0, work: CuWork::Fence }
}

/// The one request that was sent.
fn up(actions: &[L1Action]) -> UpReq {
    let [L1Action::Up(req)] = actions else { panic!("one request: {actions:?}") };
    *req
}

fn answers(actions: &[L1Action]) -> Vec<(u32, Time)> {
    let answer = |action: &L1Action| match action {
        L1Action::Cu(CuRsp { id, time, .. }) => Some((*id, *time)),
        _ => None,
    };
    actions.iter().filter_map(answer).collect()
}

fn reply(req: &UpReq, tag: u64, wts: u64, rts: u64, data: Option<u8>) -> UpRsp {
    let data = data.map(|byte| Data([byte; 64]));
    UpRsp { op: req.work.op(), dst: req.src, txn: req.txn, tag, wts, rts, data, old: 0, from_memory: true }
}

#[test]
fn l1_sends_its_clock_once_per_bank() {
    let mut l1 = l1(true);
    let x = up(&l1.cu(ld(1, 0)).expect("room"));
    assert_eq!((x.ts, x.force, x.src), (None, false, 3));
    l1.rsp(&reply(&x, 0, 9, 20, Some(1)));
    assert_eq!((l1.cts(), l1.bank_lb(0), l1.bank_lb(1)), (Time::new(0, 9), 9, 0));
    assert_eq!(up(&l1.cu(ld(2, 1)).expect("room")).ts, None, "bank 0 has told it that clock");
    assert_eq!(up(&l1.cu(ld(3, 2)).expect("room")).ts, Some(9), "bank 1 may be behind");
    assert_eq!(l1.bank_lb(1), 9);
}

#[test]
fn l1_hits_move_the_clock_slowly() {
    let mut l1 = l1(true);
    let x = up(&l1.cu(ld(1, 0)).expect("room"));
    l1.rsp(&reply(&x, 0, 5, 6, Some(1)));
    let times: Vec<_> = (2..7).flat_map(|id| answers(&l1.cu(ld(id, 0)).expect("room"))).collect();
    let at = |ts| Time::new(0, ts);
    assert_eq!(times, [(2, at(5)), (3, at(5)), (4, at(6)), (5, at(6))], "the fifth has expired");
    assert_eq!((l1.cts(), l1.txn_of(0)), (at(7), Some(0)));
}

#[test]
fn l1_store_locks_and_loads_wait() {
    let mut l1 = l1(true);
    let x = up(&l1.cu(ld(1, 0)).expect("room"));
    l1.rsp(&reply(&x, 0, 0, 20, Some(7)));
    let w = up(&l1.cu(st(2, 0, 0xf0)).expect("room"));
    assert_eq!(w.work.op(), Op::Write);
    let locked = l1.array().iter().find(|way| way.line == 0).expect("there");
    assert_eq!((locked.state, locked.data.number(4, 4)), (State::Locked, 0x0202_0202));
    assert_eq!(l1.cu(ld(3, 0)).expect("room"), vec![]);
    assert_eq!(l1.cu(ld(4, 0)).expect("room"), vec![]);
    assert_eq!(l1.cu(ld(5, 0)), Err(Stall), "the pool is full");
    let done = l1.rsp(&reply(&w, 0, 21, 25, Some(9)));
    assert_eq!(answers(&done), [(2, Time::new(0, 21))]);
    assert_eq!(answers(&l1.replay(w.txn)), [(3, Time::new(0, 21))]);
    assert_eq!(answers(&l1.replay(w.txn)), [(4, Time::new(0, 21))]);
    assert!(l1.idle());
}

#[test]
fn l1_serves_the_waiting_that_the_lease_covers() {
    let mut l1 = l1(true);
    let x = up(&l1.cu(ld(1, 0)).expect("room"));
    let other = up(&l1.cu(ld(2, 1)).expect("room"));
    assert_eq!(l1.cu(ld(3, 0)).expect("room"), vec![]);
    l1.rsp(&reply(&other, 0, 30, 40, Some(1)));
    assert_eq!(l1.cu(ld(4, 0)).expect("room"), vec![]);
    let served = l1.rsp(&reply(&x, 0, 0, 10, Some(2)));
    assert_eq!(answers(&served), [(1, Time::new(0, 0)), (3, Time::new(0, 0))]);
    assert!(l1.array().iter().all(|way| way.line != 0), "already expired: not installed");
    let again = up(&l1.replay(x.txn));
    assert_eq!((again.txn, again.work, again.ts), (x.txn, Work::Read, None), "bank 0 is at 30 already");
}

#[test]
fn l1_rolls() {
    let mut l1 = l1(true);
    let x = up(&l1.cu(st(1, 0, u64::MAX)).expect("room"));
    let y = up(&l1.cu(ld(2, 1)).expect("room"));
    let served = l1.rsp(&reply(&y, 1, 3, 9, Some(5)));
    assert_eq!(answers(&served), [(2, Time::new(1, 3))], "a newer tag rolls first");
    assert_eq!(l1.cts(), Time::new(1, 3));
    assert_eq!(l1.roll(1), L1Action::RollAck(1), "the later Roll is only acknowledged");
    assert_eq!((l1.cts(), l1.array().iter().count()), (Time::new(1, 3), 2));
    let done = l1.rsp(&reply(&x, 0, 50, 55, None));
    assert_eq!(answers(&done), [(1, Time::new(0, 50))]);
    assert_eq!(l1.cts(), Time::new(1, 3), "times of an epoch that is over");
    assert!(l1.array().iter().all(|way| way.line == 1), "the locked way is not stamped: invalid");
    l1.roll(2);
    assert_eq!((l1.cts(), l1.array().iter().count()), (Time::new(2, 0), 0));
}

#[test]
fn l1_fences_fold_and_wait_for_stores() {
    let mut l1 = l1(false);
    let x = up(&l1.cu(ld(1, 0)).expect("room"));
    l1.rsp(&reply(&x, 0, 12, 20, Some(1)));
    assert_eq!((l1.cts().ts, l1.acq()), (0, 12), "reads wait for the fence");
    let w = up(&l1.cu(st(2, 1, u64::MAX)).expect("room"));
    l1.cu(fence(3)).expect("room");
    let later = up(&l1.cu(st(4, 2, u64::MAX)).expect("room"));
    assert_eq!(l1.fences(), [0u32; 0], "a store is outstanding");
    l1.rsp(&reply(&w, 0, 5, 9, None));
    assert_eq!(l1.fences(), [3], "the later store does not matter");
    assert_eq!(answers(&[l1.fence(3)]), [(3, Time::new(0, 12))]);
    assert_eq!((l1.cts().ts, l1.acq()), (12, 0));
    l1.rsp(&reply(&later, 0, 1, 5, None));
    let begin = CuReq { id: 5, line: 0, mask: 0, work: CuWork::Kbegin(Time::new(2, 40)) };
    assert_eq!(answers(&l1.cu(begin).expect("room")), [(5, Time::new(2, 40))]);
    assert_eq!(l1.array().iter().count(), 0, "a newer epoch");
    l1.cu(CuReq { id: 6, line: 0, mask: 0, work: CuWork::Kend }).expect("room");
    let L1Action::Cu(end) = l1.fence(6) else { panic!("an answer") };
    assert_eq!(Time::unpack(end.data.number(0, 8), WIDTHS.ts), Time::new(2, 40));
}

#[test]
fn l2_checks_each_need() {
    let mut l2 = L2::new(L2Params {
        gpu: 1,
        sets: 1,
        ways: 1,
        layout: LAYOUT,
        widths: WIDTHS,
        mshrs: 2,
        pool: 4,
        coherent: true,
        eager: false,
        repl_ts: true,
        wrsp_always: false,
        inject: None,
    });
    let req = |src, line, ts, work| UpReq { src, txn: 0, line, force: false, tag: 0, ts, work };
    let answer = |asked: &UmcReq, wts, rts, data: Option<u8>| UmcRsp {
        op: asked.work.op(),
        dst: 1,
        txn: asked.txn,
        tag: 0,
        wts,
        rts,
        data: data.map(|byte| Data([byte; 64])),
        old: 0,
    };
    let actions = l2.request(req(0, 0, Some(4), Work::Read)).expect("room");
    let [L2Action::Mem(first)] = actions[..] else { panic!("a miss: {actions:?}") };
    assert_eq!((first.ts, first.src), (4, 1));
    l2.request(req(1, 0, None, Work::Read)).expect("room");
    l2.request(req(2, 0, Some(15), Work::Read)).expect("room");
    let served = l2.rsp(&answer(&first, 0, 14, Some(1)));
    let to = |action: &L2Action| matches!(action, L2Action::Rsp(rsp) if (rsp.wts, rsp.rts) == (0, 14) && rsp.from_memory);
    assert!(served.len() == 2 && served.iter().all(to), "the third needs 15: {served:?}");
    assert_eq!(l2.array().iter().count(), 0, "expired on arrival");
    let again = l2.replay(first.txn);
    let [L2Action::Mem(second)] = again[..] else { panic!("it asks again: {again:?}") };
    assert_eq!((second.txn, second.ts), (first.txn, 15));
    l2.rsp(&answer(&second, 0, 25, Some(1)));
    let full = Work::Write { mask: u64::MAX, data: Data([6; 64]) };
    let evicting = l2.request(req(0, 1, None, full)).expect("room");
    let [note, L2Action::Mem(write)] = evicting[..] else { panic!("a note, a write: {evicting:?}") };
    assert_eq!((note, write.ts), (L2Action::Note { line: 0, tag: 0, rts: 25 }, 15));
    let done = l2.rsp(&answer(&write, 30, 34, None));
    assert!(matches!(done[..], [L2Action::Rsp(rsp)] if rsp.data.is_none() && rsp.wts == 30));
    assert_eq!(l2.cts(), Time::new(0, 30), "writes move the clock in every mode");
}

fn tracker(sc: bool, merge_raw: bool, age_max: u32) -> Tracker {
    let (entries, coherent, wrsp_always) = (4, true, false);
    Tracker::new(TrackerParams {
        entries,
        age_max,
        sc,
        merge_raw,
        coherent,
        wrsp_always,
        layout: LAYOUT,
        widths: WIDTHS,
    })
}

fn asks(src: u32, line: u64, tag: u64, ts: u64, work: Work) -> UmcReq {
    UmcReq { src, txn: 0, line, tag, ts, work }
}

const WRITE: Work = Work::Write { mask: 0xf, data: Data([8; 64]) };

fn granted(wts: u64, rts: u64) -> Grant {
    Grant { tag: 1, wts, rts, ovf: false, ask: false, hit: true, victim: None }
}

#[test]
fn tracker_serves_the_slowest_clock_first() {
    let mut t = tracker(true, false, 3);
    for (src, line, tag, ts) in [(0, 0, 1, 9), (1, 1, 0, 50), (2, 0, 1, 2)] {
        t.arrive(asks(src, line, tag, ts, Work::Read)).expect("room");
    }
    assert_eq!(t.choices(1), [1], "an older epoch is slower");
    t.issue(1);
    assert_eq!(t.choices(1), [2], "then the lower clock");
    t.issue(2);
    assert_eq!((t.choices(1), t.issuable()), (vec![], vec![]), "its line is in service");
    t.tsu(2, granted(0, 9), 1);
    t.dram(2, Data([1; 64]), 0);
    assert_eq!(t.ready(), [2]);
    let rsp = t.respond(2);
    assert_eq!((rsp.dst, rsp.wts, rsp.rts, rsp.data), (2, 0, 9, Some(Data([1; 64]))));
    assert_eq!(t.choices(1), [0]);
}

#[test]
fn tracker_starves_nobody() {
    let mut t = tracker(true, false, 2);
    t.arrive(asks(0, 0, 1, 99, Work::Read)).expect("room");
    for line in 1..3 {
        let slot = t.arrive(asks(1, line, 1, 1, Work::Read)).expect("room");
        assert_eq!(t.choices(1), [slot]);
        t.issue(slot);
    }
    t.arrive(asks(1, 3, 1, 1, Work::Read)).expect("room");
    assert_eq!(t.choices(1), [0], "passed over twice");
}

#[test]
fn tracker_in_order_of_arrival() {
    let mut t = tracker(false, false, 9);
    t.arrive(asks(0, 0, 1, 9, WRITE)).expect("room");
    t.arrive(asks(1, 0, 1, 0, Work::Read)).expect("room");
    t.arrive(asks(1, 1, 1, 5, Work::Read)).expect("room");
    assert_eq!(t.choices(1), [0]);
    t.issue(0);
    assert_eq!(t.choices(1), [2], "other lines pass freely");
}

#[test]
fn tracker_merges_reads_into_a_write() {
    let mut t = tracker(true, true, 9);
    t.arrive(asks(0, 0, 1, 1, WRITE)).expect("room");
    t.arrive(asks(1, 0, 1, 2, Work::Read)).expect("room");
    t.arrive(asks(2, 0, 1, 3, WRITE)).expect("room");
    assert!(t.issue(0).dram.is_some());
    assert_eq!(t.choices(1), [0usize; 0], "the write's stamps are not known");
    t.tsu(0, granted(5, 9), 1);
    assert_eq!(t.choices(1), [1]);
    let issue = t.issue(1);
    assert!(issue.dram.is_none() && issue.tsu.is_some(), "no DRAM transaction");
    t.tsu(1, granted(5, 19), 1);
    t.dram(0, Data([3; 64]), 0);
    assert_eq!(t.ready(), [0, 1]);
    assert_eq!(t.respond(0).data, Some(Data([3; 64])), "the mask was partial");
    assert_eq!(t.issuable(), [0usize; 0], "in service until the last attached read has answered");
    let read = t.respond(1);
    assert_eq!((read.dst, read.rts, read.data), (1, 19, Some(Data([3; 64]))));
    assert_eq!(t.choices(1), [2]);
}

#[test]
fn tracker_asks_again_after_a_roll() {
    let mut t = tracker(false, false, 9);
    t.arrive(asks(0, 0, 1, 1, WRITE)).expect("room");
    t.issue(0);
    t.dram(0, Data([3; 64]), 0);
    t.tsu(0, Grant { ovf: true, ..granted(0, 0) }, 1);
    assert_eq!((t.ready(), t.retries(1), t.retries(2)), (vec![], vec![], vec![0]));
    assert_eq!(t.retry(0).op, TsuOp::Write);
    assert_eq!(t.retries(2), [0usize; 0]);
    t.tsu(0, granted(1, 5), 2);
    assert_eq!(t.ready(), [0]);
}
