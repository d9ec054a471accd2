//! The scoreboard: what it allows and what it reports, event by event.

use weft_srsp::msg::SyncOp;
use weft_srsp_bench::checker::{Model, Scoreboard};
use weft_srsp_bench::golden::msg::{CuOp, Sem, Sync};
use weft_srsp_bench::golden::system::program::{atomic, cas, cmp, get, put, remote, wg};
use weft_srsp_bench::golden::word::Data;

const X: u64 = 0;
const Y: u64 = 1;

/// A scoreboard of three waves: 0 and 2 on CU 0, 1 on CU 1. Ids are counted.
struct Board {
    board: Scoreboard,
    next: u32,
}

impl Board {
    fn new() -> Board {
        Board { board: Scoreboard::new(Model::Scoped, vec![0, 1, 0], |_| Data::default()), next: 0 }
    }
    fn begin(&mut self, wave: usize, op: CuOp) -> u32 {
        self.next += 1;
        self.board.issue(wave, self.next, &op);
        self.next
    }
    fn store(&mut self, wave: usize, value: u64) {
        let mut data = Data::default();
        data.set_word(0, false, value);
        let id = self.begin(wave, CuOp::Store { line: Y, mask: 0xf, data });
        self.board.reply(id, &Data::default());
    }
    /// A load of Y that gets this value: whether that is allowed.
    fn load(&mut self, wave: usize, value: u64) -> bool {
        let id = self.begin(wave, CuOp::Load { line: Y, mask: 0xf });
        let mut data = Data::default();
        data.set_word(0, false, value);
        let before = self.board.faults().len();
        self.board.reply(id, &data);
        self.board.faults().len() == before
    }
    /// A synchronising access that finds this value.
    fn sync(&mut self, wave: usize, sync: Sync, old: u64) {
        let id = self.begin(wave, CuOp::Sync(sync));
        let wrote = sync.atomic.result(old).is_some();
        self.board.performed(id, &sync.atomic, old, wrote);
        let mut data = Data::default();
        data.set_word(sync.atomic.addr % 64, sync.atomic.wide, old);
        self.board.reply(id, &data);
    }
    #[track_caller]
    fn reports(&self, words: &str) {
        assert!(self.board.faults().iter().any(|fault| fault.contains(words)), "{:?}", self.board.faults());
    }
    #[track_caller]
    fn clean(&self) {
        assert_eq!(self.board.faults(), &[] as &[String]);
    }
}

#[test]
fn a_race_may_go_either_way() {
    let mut b = Board::new();
    b.store(0, 7);
    assert!(b.load(1, 0) && b.load(1, 7));
    assert!(!b.load(1, 8), "nobody has written that");
}

#[test]
fn an_acquire_of_a_release_sees_what_came_before() {
    for (release, acquire, ordered) in [
        (wg(put(X, 1), Sem::Rel), remote(get(X), Sem::Acq), true),
        (cmp(put(X, 1), Sem::Rel), cmp(get(X), Sem::Acq), true),
        (remote(put(X, 1), Sem::Rel), wg(get(X), Sem::Acq), true),
        (wg(put(X, 1), Sem::Rel), cmp(get(X), Sem::Acq), false),
        (cmp(put(X, 1), Sem::Rel), wg(get(X), Sem::Acq), false),
        (wg(put(X, 1), Sem::Rlx), remote(get(X), Sem::Acq), false),
    ] {
        let mut b = Board::new();
        b.store(0, 7);
        b.sync(0, release, 0);
        b.sync(1, acquire, 1);
        b.clean();
        assert!(b.load(1, 7));
        assert_eq!(b.load(1, 0), !ordered, "{release:?} {acquire:?}");
    }
}

#[test]
fn within_a_cu_wg_scope_is_enough_and_order_passes_on() {
    let mut b = Board::new();
    b.store(0, 7);
    b.sync(0, wg(put(X, 1), Sem::Rel), 0);
    b.sync(2, wg(cas(X, 1, 2), Sem::AcqRel), 1);
    b.sync(1, remote(get(X), Sem::Acq), 2);
    assert!(!b.load(2, 0) && !b.load(1, 0) && b.load(1, 7));
}

#[test]
fn a_read_modify_write_carries_a_release_on_and_a_store_ends_it() {
    let mut b = Board::new();
    b.store(0, 7);
    b.sync(0, wg(put(X, 1), Sem::Rel), 0);
    b.sync(2, wg(atomic(SyncOp::Add, X, 1, 0), Sem::Rlx), 1);
    b.sync(1, remote(get(X), Sem::Acq), 2);
    assert!(!b.load(1, 0));
    let mut b = Board::new();
    b.store(0, 7);
    b.sync(0, wg(put(X, 1), Sem::Rel), 0);
    b.sync(2, wg(put(X, 2), Sem::Rlx), 1);
    b.sync(1, remote(get(X), Sem::Acq), 2);
    assert!(b.load(1, 0));
}

#[test]
fn what_comes_after_a_release_is_not_published() {
    let mut b = Board::new();
    b.store(0, 7);
    let release = wg(put(X, 1), Sem::Rel);
    let id = b.begin(0, CuOp::Sync(release));
    b.store(0, 8);
    b.board.performed(id, &release.atomic, 0, true);
    b.sync(1, remote(get(X), Sem::Acq), 1);
    assert!(b.load(1, 7) && b.load(1, 8));
    assert!(!b.load(1, 0));
}

#[test]
fn an_overwritten_value_is_gone() {
    let mut b = Board::new();
    b.store(0, 7);
    b.store(0, 8);
    b.sync(0, cmp(put(X, 1), Sem::Rel), 0);
    b.sync(1, cmp(get(X), Sem::Acq), 1);
    b.store(1, 9);
    assert!(b.load(1, 9));
    assert!(!b.load(1, 8) && !b.load(1, 7));
    assert!(b.load(0, 8) && b.load(0, 9));
    assert!(!b.load(0, 7));
}

#[test]
fn atomics_follow_one_another() {
    let mut b = Board::new();
    b.sync(0, wg(cas(X, 0, 1), Sem::Acq), 0);
    b.sync(1, remote(cas(X, 0, 1), Sem::Acq), 0);
    b.reports("the access before it left 0x1");
}

#[test]
fn a_lock_has_one_holder() {
    let mut b = Board::new();
    b.board.lock(X);
    b.sync(0, wg(cas(X, 0, 1), Sem::Acq), 0);
    b.sync(0, wg(put(X, 0), Sem::Rel), 1);
    b.sync(1, remote(cas(X, 0, 1), Sem::Acq), 0);
    b.clean();
    b.sync(2, wg(cas(X, 0, 1), Sem::Acq), 0);
    b.reports("waves 1 and 2 hold lock");
}

#[test]
fn an_answer_must_come_and_come_once() {
    let mut b = Board::new();
    b.board.patience(100);
    let id = b.begin(0, CuOp::Load { line: Y, mask: 0xf });
    b.board.tick(100);
    b.clean();
    b.board.tick(101);
    b.reports("is not answered");
    b.board.reply(id, &Data::default());
    b.reports("not under way");
    let mut b = Board::new();
    let id = b.begin(0, CuOp::Sync(wg(get(X), Sem::Acq)));
    b.board.reply(id, &Data::default());
    b.reports("was not performed");
    assert!(b.board.idle());
}

#[test]
fn in_hlrc_every_atomic_orders() {
    let mut b = Board::new();
    b.board = Scoreboard::new(Model::Global, vec![0, 1, 0], |_| Data::default());
    b.store(0, 7);
    b.sync(0, wg(atomic(SyncOp::Add, X, 1, 0), Sem::Rlx), 0);
    b.sync(1, wg(get(X), Sem::Rlx), 1);
    assert!(b.load(1, 7) && !b.load(1, 0));
}
