//! A stash whose CU and translation unit are played by hand.

use crate::hand::Unit;
use crate::words::{bits, small_cus, word};
use weft_bench::{Bench, Msg};
use weft_blocks::msg::CuOp;
use weft_rtl::bv::Bv;
use weft_spandex::gpu_l1::SbDrain;
use weft_spandex::msg::{FwdOp, ReqOp, RspOp};
use weft_spandex::params::Spandex;
use weft_spandex::stash::{Inject, StashMap, StashParams, StashReq, StashRsp, stash};

/// Words of a line.
pub const W: u64 = 8;

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
    let spandex = Spandex { mshrs: 4, sb: 4, ..small_cus() };
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

impl Unit for Hand {
    const PAUSE: u64 = 60;
    const ZERO: &[&str] = &["flex", "fwd"];

    fn parts(&mut self) -> (&mut Bench, &Spandex) {
        (&mut self.b, &self.s)
    }
}

impl Hand {
    pub fn new(p: &StashParams) -> Hand {
        let s = p.spandex.clone();
        let mut b = Bench::new(&stash(p).expect("legal"), 1);
        b.source::<StashMap>("map", p);
        b.source::<StashReq>("cu_req", p);
        b.sink::<StashRsp>("cu_rsp", p);
        Hand::connect(&mut b, &s);
        Hand { b, p: p.clone(), s, next: 0 }
    }

    /// Whatever was under way is forgotten.
    pub fn reset(&mut self) {
        self.anew(0);
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
        self.b.silent(40, channels);
    }

    /// Words of a line that the stash owns, with their values: only these serve a direct read.
    pub fn owned(&mut self, line: u64) -> Vec<(u64, u32)> {
        self.forward(FwdOp::ReqV, line, (0xff, 0), (false, true, false));
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
