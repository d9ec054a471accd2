//! An L1 that owns words, with its CU and its translation unit played by hand: what is asked of it, what it answers, and every kind of forward.

use crate::words::{WORDS, bits, line_at, word};
use weft_bench::{Bench, Msg};
use weft_spandex::msg::{Fwd, FwdOp, Req, ReqOp, Rsp, RspOp, Wb};
use weft_spandex::params::Spandex;

/// The device under test, another one, and the bank.
pub const OWN: u64 = 1;
pub const PEER: u64 = 2;
pub const BANK: u64 = 4;
/// A line.
pub const A: u64 = 0x40;
/// Transactions of forwards: of the requestor, of the bank.
pub const TAG: u64 = 5;
pub const TBE: u64 = 3;

/// What a word holds.
pub fn value(w: u64) -> u32 {
    0x100 + w as u32
}

/// An answer to a forward, as far as it means something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Out {
    pub op: u64,
    pub line: u64,
    pub mask: u64,
    pub dst: u64,
    pub tag: u64,
    /// `nodata` of RspRvkO, `direct` of a Nack.
    pub mark: u64,
    pub data: Vec<u32>,
}

impl Out {
    fn of(m: &Msg) -> Out {
        let op = m.get("op");
        let is = |ops: &[RspOp]| ops.iter().any(|o| *o as u64 == op);
        let revoked = is(&[RspOp::RspRvkO]);
        let mark = if revoked { "nodata" } else { "direct" };
        let mark = if revoked || is(&[RspOp::NackV, RspOp::NackWt]) { m.get(mark) } else { 0 };
        let with_data = is(&[RspOp::RspV, RspOp::RspS, RspOp::RspOData]) || revoked && mark == 0;
        assert!(!revoked || m.get("kept_s") == 0, "it does not share");
        let owned = revoked || is(&[RspOp::RspOData]);
        assert!(!owned || m.get("dirty") == 1, "owned words are newer than memory");
        assert_eq!(m.get("src"), OWN);
        let data = bits(m.get("mask")).filter(|_| with_data).map(|w| word(m.wide("data"), w)).collect();
        Out { op, line: m.get("line"), mask: m.get("mask"), dst: m.get("dst"), tag: m.get("tag"), mark, data }
    }
}

/// The side of the translation unit.
pub trait Unit {
    /// Cycles after which nothing moves any more.
    const PAUSE: u64;
    /// Fields of its requests that are 0.
    const ZERO: &[&str] = &[];

    /// The bench, and the system's parameters.
    fn parts(&mut self) -> (&mut Bench, &Spandex);

    /// More that holds of an answer.
    fn judge(_: &Msg) {}

    /// Receivers and senders of the unit.
    fn connect(b: &mut Bench, s: &Spandex) {
        b.sink::<Req>("l1_req", s);
        b.sink::<Wb>("l1_wb", s);
        b.sink::<Rsp>("l1_rsp_out", s);
        b.source::<Fwd>("l1_fwd", s);
        b.source::<Rsp>("l1_rsp", s);
        b.set("own", OWN);
    }

    /// Whatever was under way is forgotten; some cycles later.
    fn anew(&mut self, cycles: u64) {
        let b = self.parts().0;
        b.reset();
        b.run(cycles);
        for channel in ["l1_req", "l1_wb", "l1_rsp_out", "cu_rsp"] {
            while b.received(channel).is_some() {}
        }
    }

    /// The L1 asks for words; its transaction.
    fn asked(&mut self, op: ReqOp, line: u64, words: u64) -> u64 {
        let (_, m) = self.parts().0.wait("l1_req");
        let found = ["op", "line", "mask", "src", "dst"].map(|f| m.get(f));
        assert_eq!(found, [op as u64, line, words, OWN, BANK]);
        Self::ZERO.iter().for_each(|f| assert_eq!(m.get(f), 0, "{f}"));
        m.get("tag")
    }

    /// It writes words back; transaction and values.
    fn written_back(&mut self, line: u64, words: u64) -> (u64, Vec<u32>) {
        let (_, m) = self.parts().0.wait("l1_wb");
        assert_eq!(["line", "mask", "src", "dst", "dirty"].map(|f| m.get(f)), [line, words, OWN, BANK, 1]);
        (m.get("tag"), bits(words).map(|w| word(m.wide("data"), w)).collect())
    }

    /// Somebody answers.
    fn gives(
        &mut self,
        src: u64,
        op: RspOp,
        line: u64,
        (words, extra): (u64, u64),
        tag: u64,
        value: impl Fn(u64) -> u32,
    ) {
        let (b, s) = self.parts();
        let head = [("op", op as u64), ("line", line), ("mask", words), ("extra", extra)];
        let m = Msg::of::<Rsp>(s, &[&head[..], &[("tag", tag), ("src", src)]].concat());
        b.send("l1_rsp", m.with("data", line_at((0..WORDS).map(|w| (w, value(w))))));
    }

    /// The LLC answers.
    fn give(&mut self, op: RspOp, line: u64, words: (u64, u64), tag: u64, value: impl Fn(u64) -> u32) {
        self.gives(BANK, op, line, words, tag, value);
    }

    /// A forward for words of a line; `own` of ReqS and RvkO.
    fn forward(
        &mut self,
        op: FwdOp,
        line: u64,
        (mask, own): (u64, u64),
        (for_wt, direct, flex): (bool, bool, bool),
    ) {
        let fields = [
            ("op", op as u64),
            ("line", line),
            ("mask", mask),
            ("own", own),
            ("src", BANK),
            ("dst", OWN),
            ("req", PEER),
            ("tag", TAG),
            ("tbe", TBE),
            ("flex", u64::from(flex)),
            ("for_wt", u64::from(for_wt)),
            ("direct", u64::from(direct)),
        ];
        let (b, s) = self.parts();
        let data = line_at((0..WORDS).map(|w| (w, 0x900 + w as u32)));
        b.send("l1_fwd", Msg::of::<Fwd>(s, &fields).with("data", data));
    }

    /// Answers to forwards so far, once nothing moves any more.
    fn answers(&mut self) -> Vec<Out> {
        let b = self.parts().0;
        b.run(Self::PAUSE);
        let mut all = Vec::new();
        while let Some((_, m)) = b.received("l1_rsp_out") {
            Self::judge(&m);
            all.push(Out::of(&m));
        }
        all.sort();
        all
    }
}

/// A forward of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forward {
    pub op: FwdOp,
    pub for_wt: bool,
    pub direct: bool,
    /// RspWB, which says that the forward crosses, comes before it.
    pub late: bool,
}

impl Forward {
    pub fn plain(op: FwdOp) -> Forward {
        Forward { op, for_wt: false, direct: false, late: false }
    }

    /// Every kind of forward that names words.
    fn all() -> Vec<Forward> {
        let plain = Forward::plain(FwdOp::ReqV);
        let mut all = vec![plain, Forward { direct: true, ..plain }, Forward::plain(FwdOp::ReqWt)];
        for op in [FwdOp::ReqO, FwdOp::ReqOData, FwdOp::RvkO, FwdOp::ReqS] {
            let f = Forward::plain(op);
            all.extend([f, Forward { late: true, ..f }]);
        }
        all.push(Forward { for_wt: true, ..Forward::plain(FwdOp::ReqO) });
        all
    }

    /// Every kind of forward with every mix of statuses; the last status is of words that nothing removes.
    pub fn every_mix<S: Copy>(statuses: &[S], mut meets: impl FnMut(Forward, &[S])) {
        for f in Forward::all() {
            let statuses = if f.removes() { &statuses[..statuses.len() - 1] } else { statuses };
            for some in 1..1u64 << statuses.len() {
                let some: Vec<S> = bits(some).map(|i| statuses[i as usize]).collect();
                meets(f, &some);
            }
        }
    }

    pub fn removes(self) -> bool {
        !matches!(self.op, FwdOp::ReqV | FwdOp::ReqWt)
    }

    /// Words sent and words that are owned, of words that the message is about: the owner of a revoked line loses words that the requestor does not want.
    pub fn words(self, all: u64) -> (u64, u64) {
        let wanted = if self.op == FwdOp::ReqS { all & !0b10_0010 } else { all };
        let own = if matches!(self.op, FwdOp::ReqS | FwdOp::RvkO) { all } else { 0 };
        (wanted, own)
    }

    /// An answer to it about words of the line.
    pub fn out(self, op: RspOp, mask: u64, mark: u64, data: bool) -> Out {
        let to_bank = op == RspOp::RspRvkO;
        let (dst, tag) = if to_bank { (BANK, TBE) } else { (PEER, TAG) };
        let data = bits(mask).filter(|_| data).map(value).collect();
        Out { op: op as u64, line: A, mask, dst, tag, mark, data }
    }

    /// One answer about words.
    pub fn one(self, op: RspOp, words: u64, data: bool) -> Vec<Out> {
        vec![self.out(op, words, 0, data)]
    }

    /// The words are refused.
    pub fn nack(self, op: RspOp, words: u64) -> Vec<Out> {
        vec![self.out(op, words, u64::from(self.direct), false)]
    }

    /// Words are shared: with the requestor those that it wants, and the bank gets all of them.
    pub fn share(self, words: u64, wanted: u64, nodata: bool) -> Vec<Out> {
        let to_req = (words & wanted != 0).then(|| self.out(RspOp::RspS, words & wanted, 0, true));
        let to_bank = self.out(RspOp::RspRvkO, words, u64::from(nodata), !nodata);
        to_req.into_iter().chain([to_bank]).collect()
    }
}
