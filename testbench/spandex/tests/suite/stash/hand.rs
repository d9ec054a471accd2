//! A stash whose CU and translation unit are played by hand.

use weft_bench::{Bench, Msg};
use weft_blocks::msg::CuOp;
use weft_rtl::bv::Bv;
use weft_spandex::gpu_l1::SbDrain;
use weft_spandex::msg::{Fwd, FwdOp, Req, ReqOp, Rsp, RspOp, Wb};
use weft_spandex::params::Spandex;
use weft_spandex::stash::{Inject, StashMap, StashParams, StashReq, StashRsp, stash};

pub const OWN: u64 = 1;
pub const PEER: u64 = 2;
pub const BANK: u64 = 4;
/// A line, and the first of its global words.
pub const A: u64 = 0x40;
pub const W: u64 = 8;
/// Transactions of forwards: of the requestor, of the bank.
pub const TAG: u64 = 5;
pub const TBE: u64 = 3;

/// A mapping: stash base, global word, words of an element, stride, count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    pub base: u64,
    pub global: u64,
    pub element: u64,
    pub stride: u64,
    pub count: u64,
}

impl Area {
    /// So many words side by side.
    pub fn dense(base: u64, global: u64, words: u64) -> Area {
        Area { base, global, element: 1, stride: 1, count: words }
    }

    /// Stash words with their global words (cu-and-consistency.md section 8).
    pub fn words(self) -> Vec<(u64, u64)> {
        let of = |i: u64| {
            let at = move |e: u64| (self.base + i * self.element + e, self.global + i * self.stride + e);
            (0..self.element).map(at)
        };
        (0..self.count).flat_map(of).collect()
    }
}

pub struct Hand {
    pub b: Bench,
    pub p: StashParams,
    pub s: Spandex,
    next: u64,
}

/// 64 words in 8 banks, 4 mappings.
pub fn small() -> StashParams {
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
    StashParams {
        size: 256,
        banks: 8,
        maps: 4,
        targets: 2,
        releases: 2,
        sb_drain: SbDrain::Eager,
        ..StashParams::published(spandex)
    }
}

pub fn with(inject: Inject) -> StashParams {
    StashParams { inject, ..small() }
}

pub fn line_of(words: &[(u64, u32)]) -> Bv {
    let mut all = [0u32; 8];
    words.iter().for_each(|(at, value)| all[*at as usize] = *value);
    let limbs: Vec<u64> = all.chunks(2).map(|c| u64::from(c[0]) | u64::from(c[1]) << 32).collect();
    Bv::from_limbs(&limbs, 256)
}

pub fn bits(mask: u64) -> impl Iterator<Item = u64> {
    (0..64).filter(move |w| mask >> w & 1 == 1)
}

pub fn word(data: &Bv, at: u64) -> u32 {
    data.slice(32 * at as u32, 32).low_u64() as u32
}

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
        assert!(!revoked || m.get("kept_s") == 0, "a stash does not share");
        assert!(
            !(revoked || is(&[RspOp::RspOData])) || m.get("dirty") == 1,
            "owned words are newer than memory"
        );
        assert_eq!(m.get("src"), OWN);
        let data = bits(m.get("mask")).filter(|_| with_data).map(|w| word(m.wide("data"), w)).collect();
        Out { op, line: m.get("line"), mask: m.get("mask"), dst: m.get("dst"), tag: m.get("tag"), mark, data }
    }
}

impl Hand {
    pub fn new(p: &StashParams) -> Hand {
        let s = p.spandex.clone();
        let mut b = Bench::new(&stash(p).expect("legal"), 1);
        b.source::<StashMap>("map", p);
        b.source::<StashReq>("cu_req", p);
        b.sink::<StashRsp>("cu_rsp", p);
        b.sink::<Req>("l1_req", &s);
        b.sink::<Wb>("l1_wb", &s);
        b.sink::<Rsp>("l1_rsp_out", &s);
        b.source::<Fwd>("l1_fwd", &s);
        b.source::<Rsp>("l1_rsp", &s);
        b.set("own", OWN);
        Hand { b, p: p.clone(), s, next: 0 }
    }

    /// Whatever was under way is forgotten.
    pub fn reset(&mut self) {
        self.b.reset();
        for channel in ["l1_req", "l1_wb", "l1_rsp_out", "cu_rsp"] {
            while self.b.received(channel).is_some() {}
        }
    }

    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// STASH_MAP; its transaction.
    pub fn maps(&mut self, index: u64, area: Area) -> u64 {
        let id = self.id();
        let Area { base, global, element, stride, count } = area;
        let fields = [
            ("index", index),
            ("base", base),
            ("global", global),
            ("element", element),
            ("stride", stride),
            ("count", count),
            ("id", id),
        ];
        self.b.send("map", Msg::of::<StashMap>(&self.p, &fields));
        id
    }

    /// The same, until it is acknowledged.
    pub fn map(&mut self, index: u64, area: Area) {
        let id = self.maps(index, area);
        self.acked(id);
    }

    /// A pass over stash words, at most one per bank.
    pub fn cu(&mut self, op: CuOp, words: &[(u64, u32)], want_ack: bool) -> u64 {
        let id = self.id();
        let (banks, rows) = (u64::from(self.p.banks), self.p.row_bits());
        let mut mask = 0;
        let mut row = Bv::zero(self.p.banks * rows);
        let mut data = Bv::zero(32 * self.p.banks);
        for (at, value) in words {
            let (bank, of_bank) = (at % banks, at / banks);
            assert_eq!(mask >> bank & 1, 0, "one word per bank");
            mask |= 1 << bank;
            (0..rows).for_each(|i| row.set_bit(bank as u32 * rows + i, of_bank >> i & 1 == 1));
            (0..32).for_each(|i| data.set_bit(32 * bank as u32 + i, value >> i & 1 == 1));
        }
        let fields = [("op", op as u64), ("mask", mask), ("want_ack", u64::from(want_ack)), ("id", id)];
        let m = Msg::of::<StashReq>(&self.p, &fields).with("row", row).with("data", data);
        self.b.send("cu_req", m);
        id
    }

    pub fn load(&mut self, words: &[u64]) -> u64 {
        self.cu(CuOp::Ld, &words.iter().map(|w| (*w, 0)).collect::<Vec<_>>(), false)
    }

    pub fn store(&mut self, words: &[u64], value: impl Fn(u64) -> u32) -> u64 {
        self.cu(CuOp::St, &words.iter().map(|w| (*w, value(*w))).collect::<Vec<_>>(), false)
    }

    pub fn order(&mut self, op: CuOp) -> u64 {
        self.cu(op, &[], false)
    }

    /// A part of an answer: its number, kind, banks with their words, who served it, and whether it joined.
    pub fn part(&mut self) -> (u64, u64, Vec<(u64, u32)>, u64, u64) {
        let (_, m) = self.b.wait("cu_rsp");
        let words = bits(m.get("mask")).map(|b| (b, word(m.wide("data"), b))).collect();
        (m.get("id"), m.get("kind"), words, m.get("src"), m.get("merged"))
    }

    /// A load is answered, in any parts; the words by bank.
    pub fn answered(&mut self, id: u64, words: &[u64]) -> Vec<u32> {
        let banks = u64::from(self.p.banks);
        let mut found = std::collections::BTreeMap::new();
        while found.len() < words.len() {
            let (of, kind, part, ..) = self.part();
            assert_eq!((of, kind), (id, 0));
            for (bank, value) in part {
                assert!(found.insert(bank, value).is_none(), "a word is answered once");
            }
        }
        words.iter().map(|w| found[&(w % banks)]).collect()
    }

    pub fn acked(&mut self, id: u64) {
        let (of, kind, words, ..) = self.part();
        assert_eq!((of, kind, words.len()), (id, 1, 0));
    }

    /// Nothing comes for a while.
    pub fn silent(&mut self, channels: &[&str]) {
        self.b.run(40);
        for channel in channels {
            let got = self.b.received(channel);
            assert!(got.is_none(), "{channel}: {got:?}");
        }
    }

    /// The stash asks for words; its transaction.
    pub fn asked(&mut self, op: ReqOp, line: u64, words: u64) -> u64 {
        let (_, m) = self.b.wait("l1_req");
        assert_eq!(
            ["op", "line", "mask", "src", "dst", "flex", "fwd"].map(|f| m.get(f)),
            [op as u64, line, words, OWN, BANK, 0, 0]
        );
        m.get("tag")
    }

    /// It writes words back; transaction and values.
    pub fn written_back(&mut self, line: u64, words: u64) -> (u64, Vec<u32>) {
        let (_, m) = self.b.wait("l1_wb");
        assert_eq!(["line", "mask", "src", "dst", "dirty"].map(|f| m.get(f)), [line, words, OWN, BANK, 1]);
        (m.get("tag"), bits(words).map(|w| word(m.wide("data"), w)).collect())
    }

    pub fn gives(
        &mut self,
        src: u64,
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
            ("src", src),
        ];
        let data: Vec<(u64, u32)> = (0..W).map(|w| (w, value(w))).collect();
        self.b.send("l1_rsp", Msg::of::<Rsp>(&self.s, &fields).with("data", line_of(&data)));
    }

    /// The LLC answers.
    pub fn give(&mut self, op: RspOp, line: u64, words: (u64, u64), tag: u64, value: impl Fn(u64) -> u32) {
        self.gives(BANK, op, line, words, tag, value);
    }

    /// A forward; `own` of ReqS and RvkO.
    pub fn fwd(
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
        let data: Vec<(u64, u32)> = (0..W).map(|w| (w, 0x900 + w as u32)).collect();
        self.b.send("l1_fwd", Msg::of::<Fwd>(&self.s, &fields).with("data", line_of(&data)));
    }

    /// Answers to forwards so far, once nothing moves any more.
    pub fn answers(&mut self) -> Vec<Out> {
        self.b.run(60);
        let mut all = Vec::new();
        while let Some((_, m)) = self.b.received("l1_rsp_out") {
            all.push(Out::of(&m));
        }
        all.sort();
        all
    }

    /// Words of a line that the stash owns, with their values: only these serve a direct read.
    pub fn owned(&mut self, line: u64) -> Vec<(u64, u32)> {
        self.fwd(FwdOp::ReqV, line, (0xff, 0), (false, true, false));
        let mut all = Vec::new();
        let mut seen = 0;
        for out in self.answers() {
            assert_eq!((out.line, seen & out.mask), (line, 0), "a word is answered once");
            seen |= out.mask;
            if out.op == RspOp::RspV as u64 {
                all.extend(bits(out.mask).zip(out.data));
            }
        }
        assert_eq!(seen, 0xff);
        all.sort();
        all
    }

    /// Words of a line that lie in stash words of a mapping become owned.
    pub fn own(&mut self, words: &[u64], line: u64, mask: u64, value: impl Fn(u64) -> u32) {
        self.store(words, value);
        let tag = self.asked(ReqOp::ReqO, line, mask);
        self.give(RspOp::RspO, line, (mask, 0), tag, |_| 0);
        self.b.run(6);
    }
}
