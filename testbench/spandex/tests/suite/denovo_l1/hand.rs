//! The L1 alone, with a CU and a translation unit that are played by hand: every forward meets words of every status, and any mix of them (spandex.md section 5).

use std::collections::BTreeSet;
use weft_bench::{Bench, Msg};
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_rtl::bv::Bv;
use weft_spandex::denovo_l1::{Atomics, DenovoL1Params, denovo_l1};
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain};
use weft_spandex::msg::{Fwd, FwdOp, Req, ReqOp, Rsp, RspOp, Wb, WordOp};
use weft_spandex::params::Spandex;

pub const OWN: u64 = 1;
const PEER: u64 = 2;
const BANK: u64 = 4;
/// The line; all its neighbours by two lie in its set.
pub const A: u64 = 0x40;
/// Transactions of forwards: of the requestor, of the bank.
const TAG: u64 = 5;
const TBE: u64 = 3;

pub struct Hand {
    pub b: Bench,
    pub s: Spandex,
    next: u64,
}

pub fn small(atomics: Atomics) -> DenovoL1Params {
    let spandex = Spandex {
        cpus: 0,
        cus: 4,
        sharers: 0,
        addr_bits: 32,
        line: 32,
        banks: 1,
        mshrs: 4,
        sb: 4,
        wbb: 2,
        tbes: 4,
        ..Spandex::default()
    };
    let plain = GpuL1Params::published(spandex.clone());
    let l1 = GpuL1Params { size: 128, ways: 2, targets: 2, releases: 2, sb_drain: SbDrain::Eager, ..plain };
    DenovoL1Params { l1, atomics, ..DenovoL1Params::published(spandex) }
}

pub fn line_of(words: &[(u64, u32)]) -> Bv {
    let mut all = [0u32; 8];
    words.iter().for_each(|(at, value)| all[*at as usize] = *value);
    let limbs: Vec<u64> = all.chunks(2).map(|c| u64::from(c[0]) | u64::from(c[1]) << 32).collect();
    Bv::from_limbs(&limbs, 256)
}

fn bits(mask: u64) -> impl Iterator<Item = u64> {
    (0..8).filter(move |w| mask >> w & 1 == 1)
}

fn bytes(words: u64) -> u64 {
    bits(words).map(|w| 0xf << (4 * w)).sum()
}

pub fn word(data: &Bv, at: u64) -> u32 {
    data.slice(32 * at as u32, 32).low_u64() as u32
}

/// An answer to a forward, as far as it means something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Out {
    op: u64,
    mask: u64,
    dst: u64,
    tag: u64,
    /// `nodata` of RspRvkO, `direct` of a Nack.
    mark: u64,
    data: Vec<u32>,
}

impl Out {
    fn of(m: &Msg) -> Out {
        let op = m.get("op");
        let is = |ops: &[RspOp]| ops.iter().any(|o| *o as u64 == op);
        let revoked = is(&[RspOp::RspRvkO]);
        let mark = if revoked { "nodata" } else { "direct" };
        let mark = if revoked || is(&[RspOp::NackV, RspOp::NackWt]) { m.get(mark) } else { 0 };
        let with_data = is(&[RspOp::RspV, RspOp::RspS, RspOp::RspOData]) || revoked && mark == 0;
        assert!(!revoked || m.get("kept_s") == 0, "DeNovo does not share");
        assert!(
            !(revoked || is(&[RspOp::RspOData])) || m.get("dirty") == 1,
            "owned words are newer than memory"
        );
        assert!(!is(&[RspOp::RspV]) || m.get("extra") == 0, "extras that nobody wants");
        assert_eq!([m.get("line"), m.get("src")], [A, OWN]);
        let data = bits(m.get("mask")).filter(|_| with_data).map(|w| word(m.wide("data"), w)).collect();
        Out { op, mask: m.get("mask"), dst: m.get("dst"), tag: m.get("tag"), mark, data }
    }
}

impl Hand {
    pub fn new(p: &DenovoL1Params) -> Hand {
        let s = p.l1.spandex.clone();
        let mut b = Bench::new(&denovo_l1(p).expect("legal"), 1);
        b.source::<CuReq>("cu_req", &s.cu());
        b.sink::<CuRsp>("cu_rsp", &s.cu());
        b.sink::<Req>("l1_req", &s);
        b.sink::<Wb>("l1_wb", &s);
        b.sink::<Rsp>("l1_rsp_out", &s);
        b.source::<Fwd>("l1_fwd", &s);
        b.source::<Rsp>("l1_rsp", &s);
        b.set("own", OWN);
        b.run(8);
        Hand { b, s, next: 0 }
    }

    /// Whatever was under way is forgotten.
    fn reset(&mut self) {
        self.b.reset();
        self.b.run(8);
        for channel in ["l1_req", "l1_wb", "l1_rsp_out", "cu_rsp"] {
            while self.b.received(channel).is_some() {}
        }
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
        let given: BTreeSet<&str> = fields.iter().map(|f| f.0).collect();
        let base = base.into_iter().filter(|f| !given.contains(f.0));
        let here = [("line", line), ("mask", bytes(words)), ("amo", AmoOp::Add as u64), ("region", 0)];
        let all: Vec<(&str, u64)> = base.chain(here).chain(fields.iter().copied()).collect();
        self.b.send("cu_req", Msg::of::<CuReq>(&self.s.cu(), &all).with("data", data.clone()));
        id
    }

    pub fn load(&mut self, line: u64, words: u64) -> u64 {
        self.cu(CuOp::Ld, line, words, &[], &line_of(&[]))
    }

    pub fn store(&mut self, line: u64, words: u64, value: impl Fn(u64) -> u32) {
        let data: Vec<(u64, u32)> = bits(words).map(|w| (w, value(w))).collect();
        self.cu(CuOp::St, line, words, &[], &line_of(&data));
    }

    /// Adds `n` to words, with an order.
    pub fn add(&mut self, line: u64, words: u64, n: u32, sem: u64) -> u64 {
        let data: Vec<(u64, u32)> = bits(words).map(|w| (w, n)).collect();
        self.cu(
            CuOp::Amo,
            line,
            words,
            &[("class", 1), ("sync", u64::from(sem != 0)), ("sem", sem)],
            &line_of(&data),
        )
    }

    /// The L1 asks for words; its transaction.
    pub fn asked(&mut self, op: ReqOp, line: u64, words: u64) -> u64 {
        let (_, m) = self.b.wait("l1_req");
        assert_eq!(
            ["op", "line", "mask", "src", "dst"].map(|f| m.get(f)),
            [op as u64, line, words, OWN, BANK]
        );
        m.get("tag")
    }

    pub fn give(
        &mut self,
        op: RspOp,
        line: u64,
        (words, extra): (u64, u64),
        tag: u64,
        value: impl Fn(u64) -> u32,
    ) {
        let fields = [
            ("op", op as u64),
            ("line", line),
            ("mask", words),
            ("extra", extra),
            ("tag", tag),
            ("src", BANK),
        ];
        let data: Vec<(u64, u32)> = (0..8).map(|w| (w, value(w))).collect();
        self.b.send("l1_rsp", Msg::of::<Rsp>(&self.s, &fields).with("data", line_of(&data)));
    }

    /// A forward; `own` of ReqS and RvkO.
    pub fn fwd(&mut self, op: FwdOp, mask: u64, own: u64, (for_wt, direct): (bool, bool)) {
        let fields = [
            ("op", op as u64),
            ("line", A),
            ("mask", mask),
            ("own", own),
            ("src", BANK),
            ("dst", OWN),
            ("req", PEER),
            ("tag", TAG),
            ("tbe", TBE),
            ("flex", 0),
            ("for_wt", u64::from(for_wt)),
            ("direct", u64::from(direct)),
        ];
        let data: Vec<(u64, u32)> = (0..8).map(|w| (w, 0x900 + w as u32)).collect();
        self.b.send("l1_fwd", Msg::of::<Fwd>(&self.s, &fields).with("data", line_of(&data)));
    }

    /// Answers so far, once nothing moves any more.
    fn answers(&mut self) -> Vec<Out> {
        self.b.run(40);
        let mut all = Vec::new();
        while let Some((_, m)) = self.b.received("l1_rsp_out") {
            all.push(Out::of(&m));
        }
        all.sort();
        all
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
        let (_, m) = self.b.wait("l1_wb");
        assert_eq!(["line", "mask", "src", "dst", "dirty"].map(|f| m.get(f)), [line, words, OWN, BANK, 1]);
        m.get("tag")
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

/// What a word holds once its operation is done.
fn value(w: u64) -> u32 {
    0x100 + w as u32
}

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

/// A forward of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Forward {
    op: FwdOp,
    for_wt: bool,
    direct: bool,
    /// RspWB, which says that the forward crosses, comes before it.
    late: bool,
}

impl Forward {
    fn removes(self) -> bool {
        !matches!(self.op, FwdOp::ReqV | FwdOp::ReqWt)
    }

    /// Answers at once, and those after the own operation, to words of a status; `wanted`: of ReqS.
    fn expected(self, status: Status, wanted: u64) -> (Vec<Out>, Vec<Out>) {
        let words = words_of(status);
        let out = |op: RspOp, mask: u64, mark: u64, data: bool| {
            let to_bank = op == RspOp::RspRvkO;
            let (dst, tag) = if to_bank { (BANK, TBE) } else { (PEER, TAG) };
            let data = bits(mask).filter(|_| data).map(value).collect();
            Out { op: op as u64, mask, dst, tag, mark, data }
        };
        let one = |op: RspOp, data: bool| vec![out(op, words, 0, data)];
        let nack = |op: RspOp| vec![out(op, words, u64::from(self.direct), false)];
        let each = |op: RspOp| -> Vec<Out> { bits(words).map(|w| out(op, 1 << w, 0, true)).collect() };
        let now = |answers: Vec<Out>| (answers, vec![]);
        let later = |answers: Vec<Out>| (vec![], answers);
        let share = |words: u64, nodata: bool| {
            let to_req = (words & wanted != 0).then(|| out(RspOp::RspS, words & wanted, 0, true));
            let to_bank = out(RspOp::RspRvkO, words, u64::from(nodata), !nodata);
            to_req.into_iter().chain([to_bank]).collect::<Vec<Out>>()
        };
        use Status::*;
        match (self.op, status) {
            (FwdOp::ReqV, O) => now(one(RspOp::RspV, true)),
            (FwdOp::ReqV, Po | Wb) if !self.direct => now(one(RspOp::RspV, true)),
            (FwdOp::ReqV, Pd) if !self.direct => later(one(RspOp::RspV, true)),
            (FwdOp::ReqV, _) => now(nack(RspOp::NackV)),
            (FwdOp::ReqWt, O) => now(one(RspOp::RspWt, false)),
            (FwdOp::ReqWt, _) => now(nack(RspOp::NackWt)),
            (FwdOp::ReqO, _) => now(one(if self.for_wt { RspOp::RspWt } else { RspOp::RspO }, false)),
            (FwdOp::ReqOData, Pd) => later(each(RspOp::RspOData)),
            (FwdOp::ReqOData, _) => now(one(RspOp::RspOData, true)),
            (FwdOp::RvkO, Pd) => later(each(RspOp::RspRvkO)),
            (FwdOp::RvkO, Wb) => now(vec![out(RspOp::RspRvkO, words, 1, false)]),
            (FwdOp::RvkO, _) => now(one(RspOp::RspRvkO, true)),
            (FwdOp::ReqS, Pd) => later(bits(words).flat_map(|w| share(1 << w, false)).collect()),
            (FwdOp::ReqS, _) => now(share(words, status == Wb)),
            (FwdOp::Inv, _) => unreachable!("it names no words"),
        }
    }
}

/// One forward at words of some statuses in one message, until everything under way is done: the answers, and who owns what afterwards.
fn meets(h: &mut Hand, f: Forward, some: &[Status]) {
    let t = mixed(h);
    let mask = |of: &[Status]| of.iter().map(|s| words_of(*s)).sum::<u64>();
    let hit = |s: Status| if some.contains(&s) && f.removes() { words_of(s) } else { 0 };
    if f.late {
        h.give(RspOp::RspWb, A, (0, hit(Status::Wb)), t.wb, |_| 0);
        h.b.run(6);
    }
    let all = mask(some);
    // The owner of a revoked line loses words that the requestor does not want.
    let wanted = if f.op == FwdOp::ReqS { all & !0b10_0010 } else { all };
    let own = if matches!(f.op, FwdOp::ReqS | FwdOp::RvkO) { all } else { 0 };
    h.fwd(f.op, if f.op == FwdOp::RvkO { 0 } else { wanted }, own, (f.for_wt, f.direct));
    let (mut now, mut later): (Vec<Out>, Vec<Out>) = (vec![], vec![]);
    for status in some {
        let (a, b) = f.expected(*status, wanted);
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
    let plain = Forward { op: FwdOp::ReqV, for_wt: false, direct: false, late: false };
    let mut all = vec![plain, Forward { direct: true, ..plain }, Forward { op: FwdOp::ReqWt, ..plain }];
    for op in [FwdOp::ReqO, FwdOp::ReqOData, FwdOp::RvkO, FwdOp::ReqS] {
        let f = Forward { op, ..plain };
        all.extend([f, Forward { late: true, ..f }]);
    }
    all.push(Forward { op: FwdOp::ReqO, for_wt: true, ..plain });
    for f in all {
        let statuses = if f.removes() { &ALL[..4] } else { &ALL[..] };
        for some in 1..1u32 << statuses.len() {
            let some: Vec<Status> =
                statuses.iter().enumerate().filter(|(i, _)| some >> i & 1 == 1).map(|(_, s)| *s).collect();
            meets(&mut h, f, &some);
        }
    }
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
    let share = Forward { op: FwdOp::ReqS, for_wt: false, direct: false, late: false };
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
            let mut expected = share.expected(first, words).0;
            expected.extend(share.expected(Status::Pd, pd).1);
            expected.sort();
            assert_eq!(h.answers(), expected, "{first:?} after {gap}");
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
    let give = Forward { op: FwdOp::ReqOData, for_wt: false, direct: false, late: false };
    for (w, expected) in bits(pd).zip(give.expected(Status::Pd, pd).1) {
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
            let data = line_of(&[(0, 7), (1, 7), (3, 7)]);
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
