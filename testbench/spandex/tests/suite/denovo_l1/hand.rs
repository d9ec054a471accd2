//! The L1 alone, with a CU and a translation unit that are played by hand: every forward meets words of every status, and any mix of them (spandex.md section 5).

use crate::hand::{A, BANK, Forward, Out, TBE, Unit, value};
use crate::words::{bits, bytes_of, line_at, small_cus, word};
use weft_bench::{Bench, Msg};
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_rtl::bv::Bv;
use weft_spandex::denovo_l1::{Atomics, DenovoL1Params, denovo_l1};
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain};
use weft_spandex::msg::{FwdOp, ReqOp, RspOp, WordOp};
use weft_spandex::params::Spandex;

pub struct Hand {
    pub b: Bench,
    pub s: Spandex,
    next: u64,
}

pub fn small(atomics: Atomics) -> DenovoL1Params {
    let spandex = Spandex { mshrs: 4, sb: 4, ..small_cus() };
    let plain = GpuL1Params::published(spandex.clone());
    let l1 = GpuL1Params { size: 128, ways: 2, targets: 2, releases: 2, sb_drain: SbDrain::Eager, ..plain };
    DenovoL1Params { l1, atomics, ..DenovoL1Params::published(spandex) }
}

impl Unit for Hand {
    const PAUSE: u64 = 40;

    fn parts(&mut self) -> (&mut Bench, &Spandex) {
        (&mut self.b, &self.s)
    }

    fn judge(m: &Msg) {
        assert!(m.get("op") != RspOp::RspV as u64 || m.get("extra") == 0, "extras that nobody wants");
        assert_eq!(m.get("line"), A);
    }
}

impl Hand {
    pub fn new(p: &DenovoL1Params) -> Hand {
        let s = p.l1.spandex.clone();
        let mut b = Bench::new(&denovo_l1(p).expect("legal"), 1);
        b.source::<CuReq>("cu_req", &s.cu());
        b.sink::<CuRsp>("cu_rsp", &s.cu());
        Hand::connect(&mut b, &s);
        b.run(8);
        Hand { b, s, next: 0 }
    }

    /// Whatever was under way is forgotten.
    fn reset(&mut self) {
        self.anew(8);
    }

    pub fn cu(&mut self, op: CuOp, line: u64, words: u64, fields: &[(&str, u64)], data: &Bv) -> u64 {
        let id = self.next;
        self.next += 1;
        let base = [
            ("op", op as u64),
            ("id", id),
            ("sync", 0),
            ("sem", 0),
            ("class", 0),
            ("want_ack", 0),
            ("sgn", 0),
        ];
        let here = [("line", line), ("mask", bytes_of(words)), ("amo", AmoOp::Add as u64), ("region", 0)];
        let all = [&base[..], &here, fields].concat();
        self.b.send("cu_req", Msg::of::<CuReq>(&self.s.cu(), &all).with("data", data.clone()));
        id
    }

    pub fn load(&mut self, line: u64, words: u64) -> u64 {
        self.cu(CuOp::Ld, line, words, &[], &line_at([]))
    }

    pub fn store(&mut self, line: u64, words: u64, value: impl Fn(u64) -> u32) {
        let data = bits(words).map(|w| (w, value(w)));
        self.cu(CuOp::St, line, words, &[], &line_at(data));
    }

    /// Adds `n` to words, with an order.
    pub fn add(&mut self, line: u64, words: u64, n: u32, sem: u64) -> u64 {
        let data = bits(words).map(|w| (w, n));
        self.cu(
            CuOp::Amo,
            line,
            words,
            &[("class", 1), ("sync", u64::from(sem != 0)), ("sem", sem)],
            &line_at(data),
        )
    }

    /// A forward for words of the line; `own` of ReqS and RvkO.
    pub fn fwd(&mut self, op: FwdOp, mask: u64, own: u64, (for_wt, direct): (bool, bool)) {
        self.forward(op, A, (mask, own), (for_wt, direct, false));
    }

    /// The CU is answered; words of the answer.
    fn answered(&mut self, id: u64) -> Bv {
        let (_, m) = self.b.wait("cu_rsp");
        assert_eq!(m.get("id"), id);
        m.wide("data").clone()
    }

    /// Words become owned.
    fn own(&mut self, line: u64, words: u64, value: impl Fn(u64) -> u32) {
        self.store(line, words, value);
        let tag = self.asked(ReqOp::ReqO, line, words);
        self.give(RspOp::RspO, line, (words, 0), tag, |_| 0);
        self.b.run(6);
    }

    /// The line is replaced by two others; the transaction of its write-back of these words.
    fn replace(&mut self, line: u64, words: u64) -> u64 {
        for other in [line + 2, line + 4] {
            let id = self.load(other, 1);
            let tag = self.asked(ReqOp::ReqV, other, 1);
            self.give(RspOp::RspV, other, (1, 0), tag, |_| 0);
            self.answered(id);
        }
        self.written_back(line, words).0
    }
}

/// Status of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    O,
    Po,
    Pd,
    Wb,
    Other,
}

/// Words of a status in the line of [`mixed`].
fn words_of(status: Status) -> u64 {
    match status {
        Status::O => 0b10_0001,
        Status::Po => 0b10,
        Status::Pd => 0b100_0100,
        Status::Wb => 0b1000,
        Status::Other => 0b1_0000,
    }
}

const ALL: [Status; 5] = [Status::O, Status::Po, Status::Pd, Status::Wb, Status::Other];

/// Transactions of a line whose words have every status.
struct Mixed {
    po: u64,
    pd: u64,
    wb: u64,
    atomic: u64,
}

fn mixed(h: &mut Hand) -> Mixed {
    h.reset();
    h.own(A, words_of(Status::Wb), value);
    let wb = h.replace(A, words_of(Status::Wb));
    h.own(A, words_of(Status::O), value);
    h.store(A, words_of(Status::Po), value);
    let po = h.asked(ReqOp::ReqO, A, words_of(Status::Po));
    let atomic = h.add(A, words_of(Status::Pd), 1, 0);
    let pd = h.asked(ReqOp::ReqOData, A, words_of(Status::Pd));
    assert_eq!(h.answers(), []);
    Mixed { po, pd, wb, atomic }
}

/// Answers to a forward at once, and those after the own operation, to words of a status; `wanted`: of ReqS.
fn expected(f: Forward, status: Status, wanted: u64) -> (Vec<Out>, Vec<Out>) {
    let words = words_of(status);
    let each = |op: RspOp| -> Vec<Out> { bits(words).map(|w| f.out(op, 1 << w, 0, true)).collect() };
    let now = |answers: Vec<Out>| (answers, vec![]);
    let later = |answers: Vec<Out>| (vec![], answers);
    use Status::*;
    match (f.op, status) {
        (FwdOp::ReqV, O) => now(f.one(RspOp::RspV, words, true)),
        (FwdOp::ReqV, Po | Wb) if !f.direct => now(f.one(RspOp::RspV, words, true)),
        (FwdOp::ReqV, Pd) if !f.direct => later(f.one(RspOp::RspV, words, true)),
        (FwdOp::ReqV, _) => now(f.nack(RspOp::NackV, words)),
        (FwdOp::ReqWt, O) => now(f.one(RspOp::RspWt, words, false)),
        (FwdOp::ReqWt, _) => now(f.nack(RspOp::NackWt, words)),
        (FwdOp::ReqO, _) => now(f.one(if f.for_wt { RspOp::RspWt } else { RspOp::RspO }, words, false)),
        (FwdOp::ReqOData, Pd) => later(each(RspOp::RspOData)),
        (FwdOp::ReqOData, _) => now(f.one(RspOp::RspOData, words, true)),
        (FwdOp::RvkO, Pd) => later(each(RspOp::RspRvkO)),
        (FwdOp::RvkO, Wb) => now(vec![f.out(RspOp::RspRvkO, words, 1, false)]),
        (FwdOp::RvkO, _) => now(f.one(RspOp::RspRvkO, words, true)),
        (FwdOp::ReqS, Pd) => later(bits(words).flat_map(|w| f.share(1 << w, wanted, false)).collect()),
        (FwdOp::ReqS, _) => now(f.share(words, wanted, status == Wb)),
        (FwdOp::Inv, _) => unreachable!("it names no words"),
    }
}

/// One forward at words of some statuses in one message, until everything under way is done: the answers, and who owns what afterwards.
fn meets(h: &mut Hand, f: Forward, some: &[Status]) {
    let t = mixed(h);
    let hit = |s: Status| if some.contains(&s) && f.removes() { words_of(s) } else { 0 };
    if f.late {
        h.give(RspOp::RspWb, A, (0, hit(Status::Wb)), t.wb, |_| 0);
        h.b.run(6);
    }
    let (wanted, own) = f.words(some.iter().map(|s| words_of(*s)).sum());
    h.fwd(f.op, if f.op == FwdOp::RvkO { 0 } else { wanted }, own, (f.for_wt, f.direct));
    let (mut now, mut later): (Vec<Out>, Vec<Out>) = (vec![], vec![]);
    for status in some {
        let (a, b) = expected(f, *status, wanted);
        now.extend(a);
        later.extend(b);
    }
    now.sort();
    later.sort();
    assert_eq!(h.answers(), now, "{f:?} at {some:?}");
    // Everything ends.
    h.give(RspOp::RspO, A, (words_of(Status::Po), 0), t.po, |_| 0);
    h.give(RspOp::RspOData, A, (words_of(Status::Pd), 0), t.pd, |w| value(w) - 1);
    assert_eq!(h.answers(), later, "{f:?} at {some:?}, after the own operation");
    let old = h.answered(t.atomic);
    bits(words_of(Status::Pd)).for_each(|w| assert_eq!(word(&old, w), value(w) - 1));
    if !f.late {
        h.give(RspOp::RspWb, A, (0, hit(Status::Wb)), t.wb, |_| 0);
        h.b.run(6);
    }
    // Who owns what.
    let lost: u64 = ALL.into_iter().map(hit).sum();
    for status in ALL {
        let owned =
            if matches!(status, Status::O | Status::Po | Status::Pd) { words_of(status) & !lost } else { 0 };
        for w in bits(words_of(status)) {
            h.fwd(FwdOp::ReqV, 1 << w, 0, (false, true));
            let written = f.op == FwdOp::ReqWt && some.contains(&Status::O) && status == Status::O;
            let data = if written { 0x900 + w as u32 } else { value(w) };
            let op = if owned >> w & 1 == 1 { RspOp::RspV } else { RspOp::NackV };
            let answer = h.answers();
            assert_eq!(answer.len(), 1);
            assert_eq!(answer[0].op, op as u64, "word {w} after {f:?} at {some:?}");
            assert!(op == RspOp::NackV || answer[0].data == [data], "word {w} after {f:?} at {some:?}");
        }
    }
    // The write-back is closed: its word is asked for; words shared stay as copies.
    let id = h.load(A, words_of(Status::Wb));
    let tag = h.asked(ReqOp::ReqV, A, words_of(Status::Wb));
    h.give(RspOp::RspV, A, (words_of(Status::Wb), 0), tag, value);
    h.answered(id);
    let copies = if f.op == FwdOp::ReqS { hit(Status::O) | hit(Status::Pd) } else { 0 };
    if copies != 0 {
        let id = h.load(A, copies);
        let data = h.answered(id);
        bits(copies).for_each(|w| assert_eq!(word(&data, w), value(w)));
    }
    assert!(h.b.received("l1_req").is_none() && h.b.received("l1_wb").is_none());
}

/// Every row of the table of forwards, and every mix of statuses in one message: the three cases of races of section 5 (from pending to the expected state, from it, any other stable state).
#[test]
fn forwards_meet_words_of_every_mix() {
    let mut h = Hand::new(&small(Atomics::Own));
    Forward::every_mix(&ALL, |f, some| meets(&mut h, f, some));
    h.fwd(FwdOp::Inv, 0, 0, (false, false));
    let acks = h.answers();
    assert_eq!((acks.len(), acks[0].op, acks[0].dst, acks[0].tag), (1, RspOp::Ack as u64, BANK, TBE));
    let rows = h.b.uncovered(&["spandex.denovo_l1.flash", "spandex.denovo_l1.done.stale"]);
    let forwards = ["ReqV.", "ReqO.", "ReqOdata.", "RvkO.", "ReqS.", "ReqWT.", "Inv"];
    let forwards = forwards.map(|f| format!("denovo_l1.{f}"));
    let missed = rows.iter().filter(|r| r.contains("denovo_split") || forwards.iter().any(|f| r.contains(f)));
    assert_eq!(missed.collect::<Vec<_>>(), Vec::<&String>::new(), "never seen");
}

/// A second read of words whose data is outstanding cannot be kept; the first is answered behind the operation.
#[test]
fn one_read_is_delayed_the_next_refused() {
    let mut h = Hand::new(&small(Atomics::Own));
    let t = mixed(&mut h);
    let pd = words_of(Status::Pd);
    h.fwd(FwdOp::ReqV, pd, 0, (false, false));
    assert_eq!(h.answers(), []);
    h.fwd(FwdOp::ReqV, pd, 0, (false, false));
    let refused = h.answers();
    assert_eq!((refused.len(), refused[0].op, refused[0].mask), (1, RspOp::NackV as u64, pd));
    h.fwd(FwdOp::ReqOData, pd, 0, (false, false));
    assert_eq!(h.answers(), []);
    h.give(RspOp::RspOData, A, (pd, 0), t.pd, |w| value(w) - 1);
    let mut seen = Vec::new();
    h.b.run(40);
    while let Some((_, m)) = h.b.received("l1_rsp_out") {
        seen.push((m.get("op"), m.get("mask")));
    }
    let gives = bits(pd).map(|w| (RspOp::RspOData as u64, 1 << w));
    assert_eq!(
        seen,
        [(RspOp::RspV as u64, pd)].into_iter().chain(gives).collect::<Vec<_>>(),
        "the read first"
    );
}

/// Both answers to a fwd ReqS come out whatever ends in between: here an operation behind which another ReqS is delayed, or a word's own ownership.
#[test]
fn a_downgrade_is_answered_twice_whatever_comes_between() {
    let mut h = Hand::new(&small(Atomics::Own));
    let share = Forward::plain(FwdOp::ReqS);
    for (first, slow) in [(Status::O, 0), (Status::Po, 0), (Status::O, 3), (Status::Po, 3)] {
        for gap in 0..12 {
            let t = mixed(&mut h);
            let (pd, words) = (words_of(Status::Pd), words_of(first));
            h.fwd(FwdOp::ReqS, pd, pd, (false, false));
            h.b.run(10);
            h.fwd(FwdOp::ReqS, words, words, (false, false));
            h.b.run(gap);
            h.give(RspOp::RspOData, A, (pd, 0), t.pd, |w| value(w) - 1);
            h.give(RspOp::RspO, A, (words_of(Status::Po), 0), t.po, |_| 0);
            h.b.sink_mut("l1_rsp_out").chance = 0.0;
            h.b.run(slow);
            h.b.sink_mut("l1_rsp_out").chance = 1.0;
            let mut all = expected(share, first, words).0;
            all.extend(expected(share, Status::Pd, pd).1);
            all.sort();
            assert_eq!(h.answers(), all, "{first:?} after {gap}");
        }
    }
}

/// Words of one operation come apart: what is delayed for those that are here follows before the others have come.
#[test]
fn words_of_an_operation_follow_one_by_one() {
    let mut h = Hand::new(&small(Atomics::Own));
    let t = mixed(&mut h);
    let pd = words_of(Status::Pd);
    h.fwd(FwdOp::ReqOData, pd, 0, (false, false));
    assert_eq!(h.answers(), []);
    let give = Forward::plain(FwdOp::ReqOData);
    for (w, expected) in bits(pd).zip(expected(give, Status::Pd, pd).1) {
        assert!(h.b.received("cu_rsp").is_none(), "the CU is answered once");
        h.give(RspOp::RspOData, A, (1 << w, 0), t.pd, |w| value(w) - 1);
        assert_eq!(h.answers(), [expected]);
    }
    h.answered(t.atomic);
    assert_eq!(h.b.counted("spandex.race.denovo_word_by_word"), 1);
}

/// The CU does not see a word between the operation that asked for it and its removal, which somebody has been answered before.
#[test]
fn a_word_that_is_gone_already_is_not_read() {
    let mut h = Hand::new(&small(Atomics::Own));
    for gap in 0..8 {
        let t = mixed(&mut h);
        let pd = words_of(Status::Pd);
        h.fwd(FwdOp::ReqO, pd, 0, (false, false));
        assert_eq!(h.answers().len(), 1);
        let id = h.load(A, pd);
        h.b.run(gap);
        h.give(RspOp::RspOData, A, (pd, 0), t.pd, |w| value(w) - 1);
        h.answered(t.atomic);
        let tag = h.asked(ReqOp::ReqV, A, pd);
        h.give(RspOp::RspV, A, (pd, 0), tag, |_| 0x77);
        assert_eq!(word(&h.answered(id), 2), 0x77, "what the remover stored");
    }
}

/// A word that is being written back is not asked for before RspWB and a forward that crosses it have come, in any order.
#[test]
fn a_write_back_closes_before_its_words_are_asked_for() {
    let mut h = Hand::new(&small(Atomics::Own));
    for crossing in [false, true] {
        for early in [false, true] {
            h.reset();
            h.own(A, 0b11, value);
            let wb = h.replace(A, 0b11);
            let id = h.load(A, 0b11);
            h.store(A, 0b100, value);
            h.b.run(40);
            assert!(h.b.received("l1_req").is_none(), "the words are still on their way back");
            if crossing && early {
                h.fwd(FwdOp::RvkO, 0, 0b01, (false, false));
                assert_eq!(h.answers().len(), 1);
                assert!(h.b.received("l1_req").is_none());
            }
            h.give(RspOp::RspWb, A, (0, u64::from(crossing)), wb, |_| 0);
            if crossing && !early {
                h.b.run(40);
                assert!(h.b.received("l1_req").is_none(), "the forward is still to come");
                h.fwd(FwdOp::RvkO, 0, 0b01, (false, false));
                assert_eq!(h.answers().len(), 1);
            }
            let tag = h.asked(ReqOp::ReqV, A, 0b11);
            h.give(RspOp::RspV, A, (0b11, 0), tag, value);
            h.answered(id);
        }
    }
}

/// A full write-back buffer stalls the miss that needs a way, not forwards.
#[test]
fn a_full_write_back_buffer_stalls_the_miss_only() {
    let mut h = Hand::new(&small(Atomics::Own));
    let mut open = Vec::new();
    for line in [A, A + 1] {
        h.own(line, 1, value);
        open.push((line, h.replace(line, 1)));
    }
    h.own(A + 6, 1, value);
    h.own(A + 8, 1, value);
    let id = h.load(A + 10, 1);
    h.b.run(40);
    assert!(h.b.received("l1_req").is_none(), "no room");
    h.fwd(FwdOp::RvkO, 0, 1, (false, false));
    assert_eq!(h.answers().len(), 1);
    h.give(RspOp::RspWb, A + 1, (0, 0), open[1].1, |_| 0);
    let tag = h.asked(ReqOp::ReqV, A + 10, 1);
    h.give(RspOp::RspV, A + 10, (1, 0), tag, value);
    h.answered(id);
}

/// An operation on several words with a release, of which some are owned, is answered in parts; a store that synchronises once.
#[test]
fn operations_on_several_words() {
    for atomics in [Atomics::Join, Atomics::Own, Atomics::Through] {
        let (asks, gives) = match atomics {
            Atomics::Join | Atomics::Own => (ReqOp::ReqOData, RspOp::RspOData),
            Atomics::Through => (ReqOp::ReqWtData, RspOp::RspWtData),
        };
        for sem in [0, 1, 2, 3] {
            let mut h = Hand::new(&small(atomics));
            h.own(A, 0b11, value);
            let id = h.add(A, 0b111, 1, sem);
            let tag = h.asked(asks, A, 0b100);
            h.give(gives, A, (0b100, 0), tag, value);
            let mut seen = 0;
            while seen != 0b111 {
                let (_, m) = h.b.wait("cu_rsp");
                assert_eq!((m.get("id"), m.get("kind")), (id, 0));
                bits(7).filter(|w| m.get("mask") >> (4 * w) & 1 == 1).for_each(|w| {
                    assert_eq!((word(m.wide("data"), w), seen >> w & 1), (value(w), 0));
                    seen |= 1 << w;
                });
            }
            // A synchronising store.
            let data = line_at([(0, 7), (1, 7), (3, 7)]);
            let order = [("class", 1), ("sync", u64::from(sem != 0)), ("sem", sem), ("want_ack", 1)];
            let id = h.cu(CuOp::St, A, 0b1011, &order, &data);
            let (_, m) = h.b.wait("l1_req");
            assert_eq!((m.get("op"), m.get("mask")), (asks as u64, 0b1000));
            if atomics == Atomics::Through {
                assert_eq!((m.get("amo"), word(m.wide("data"), 3)), (WordOp::Write as u64, 7));
            }
            assert!(h.b.received("cu_rsp").is_none(), "nothing is answered before everything is done");
            h.give(gives, A, (0b1000, 0), m.get("tag"), value);
            let (_, m) = h.b.wait("cu_rsp");
            assert_eq!((m.get("id"), m.get("kind")), (id, 1));
            h.b.run(40);
            assert!(h.b.received("cu_rsp").is_none(), "one acknowledgement");
            for w in [0, 1, 3] {
                h.fwd(FwdOp::ReqV, 1 << w, 0, (false, false));
                let answer = h.answers();
                let owned = w != 3 || atomics != Atomics::Through;
                assert_eq!(answer[0].op, if owned { RspOp::RspV } else { RspOp::NackV } as u64);
                assert!(!owned || answer[0].data == [7]);
            }
        }
    }
}

/// `atomics=through` while the word's line is read, replaced or asked for: the answer leaves the word I, and forwards find nothing.
#[test]
fn an_atomic_at_the_llc_owns_nothing() {
    let mut h = Hand::new(&small(Atomics::Through));
    // A copy goes when the request leaves, and no way is taken for it.
    let id = h.load(A, 0b11);
    let tag = h.asked(ReqOp::ReqV, A, 0b11);
    h.give(RspOp::RspV, A, (0b11, 0), tag, value);
    h.answered(id);
    let atomic = h.add(A, 1, 1, 0);
    let at = h.asked(ReqOp::ReqWtData, A, 1);
    h.fwd(FwdOp::ReqV, 1, 0, (false, false));
    assert_eq!(h.answers()[0].op, RspOp::NackV as u64);
    // Another word of the line is here; the word itself waits for the atomic, and then is asked for.
    let other = h.load(A, 0b10);
    assert_eq!(word(&h.answered(other), 1), value(1));
    let same = h.load(A, 1);
    h.b.run(40);
    assert!(h.b.received("l1_req").is_none() && h.b.received("cu_rsp").is_none());
    h.give(RspOp::RspWtData, A, (1, 0), at, |_| 5);
    assert_eq!(word(&h.answered(atomic), 0), 5);
    let tag = h.asked(ReqOp::ReqV, A, 1);
    h.give(RspOp::RspV, A, (1, 0), tag, |_| 6);
    assert_eq!(word(&h.answered(same), 0), 6);
    // Its line may be replaced meanwhile.
    h.add(A, 1, 1, 0);
    let at = h.asked(ReqOp::ReqWtData, A, 1);
    for line in [A + 2, A + 4, A + 6] {
        h.own(line, 1, value);
    }
    h.give(RspOp::RspWtData, A, (1, 0), at, |_| 7);
    h.b.wait("cu_rsp");
    let id = h.load(A + 8, 1);
    let tag = h.asked(ReqOp::ReqV, A + 8, 1);
    h.give(RspOp::RspV, A + 8, (1, 0), tag, value);
    h.answered(id);
}

/// `atomics=through` on a word that is being asked for: it waits, and is then done here, on the owned word.
#[test]
fn an_atomic_waits_for_the_words_own_request() {
    let mut h = Hand::new(&small(Atomics::Through));
    h.store(A, 1, value);
    let tag = h.asked(ReqOp::ReqO, A, 1);
    let id = h.add(A, 1, 1, 0);
    h.b.run(40);
    assert!(h.b.received("l1_req").is_none() && h.b.received("cu_rsp").is_none());
    assert!(h.b.counted("spandex.denovo_l1.Through.busy") > 0);
    h.give(RspOp::RspO, A, (1, 0), tag, |_| 0);
    assert_eq!(word(&h.answered(id), 0), value(0));
    assert!(h.b.received("l1_req").is_none(), "the LLC has nothing to do");
    h.fwd(FwdOp::ReqV, 1, 0, (false, false));
    assert_eq!(h.answers()[0].data, [value(0) + 1]);
}

/// From the cycle in which an operation is taken to its answer: one cycle in S1, and the latency.
#[test]
fn hits_take_the_latency() {
    for latency in [1, 2, 5] {
        let p = small(Atomics::Own);
        let mut h = Hand::new(&DenovoL1Params { l1: GpuL1Params { latency, ..p.l1 }, ..p });
        h.own(A, 1, value);
        h.b.run(20);
        let hits: [fn(&mut Hand) -> u64; 2] = [|h| h.load(A, 1), |h| h.add(A, 1, 1, 0)];
        for hit in hits {
            hit(&mut h);
            let mut taken = None;
            while taken.is_none() {
                h.b.step();
                taken = h.b.taken("cu_req").map(|_| h.b.sim.cycle());
            }
            let (at, _) = h.b.wait("cu_rsp");
            assert_eq!(at - taken.expect("taken"), u64::from(latency), "latency={latency}");
            h.b.run(20);
        }
    }
}

/// A reset in the midst of everything leaves nothing behind.
#[test]
fn a_reset_leaves_nothing() {
    let mut h = Hand::new(&small(Atomics::Own));
    for cycles in 0..20 {
        let t = mixed(&mut h);
        h.fwd(FwdOp::ReqS, 0b10_1011, 0b10_1011, (false, false));
        h.fwd(FwdOp::ReqV, words_of(Status::Pd), 0, (false, false));
        h.give(RspOp::RspOData, A, (words_of(Status::Pd), 0), t.pd, value);
        h.b.run(cycles);
        h.reset();
        h.fwd(FwdOp::ReqV, 0xff, 0, (false, false));
        let none = h.answers();
        assert_eq!((none.len(), none[0].op, none[0].mask), (1, RspOp::NackV as u64, 0xff), "after {cycles}");
        let id = h.load(A, 1);
        let tag = h.asked(ReqOp::ReqV, A, 1);
        assert_eq!(tag, 0, "every MSHR is free");
        h.give(RspOp::RspV, A, (1, 0), tag, value);
        h.answered(id);
    }
}
