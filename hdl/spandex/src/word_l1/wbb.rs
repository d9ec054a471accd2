//! The write-back buffer: owned words of lines that were replaced, until nothing can come for them any more (spandex.md section 2, R2).
//!
//! | field | meaning |
//! | --- | --- |
//! | `answered` | RspWB has come |
//! | `cross` | words for which it said that a forward is on its way |
//! | `gone` | words whose forward has come |
//!
//! A word is open until RspWB has come and, if it crosses, its forward too, in any order.

use super::params::{Inject, WordL1Params};
use crate::flags::Flags;
use crate::params::WORD;
use weft_rtl::prelude::*;

/// The buffer.
pub(crate) struct Wbb {
    p: WordL1Params,
    pub valid: Flags,
    answered: Flags,
    lines: Memory<Bits>,
    lines_new: LaneWriter<Bits>,
    masks: Memory<Bits>,
    masks_new: LaneWriter<Bits>,
    cross: Memory<Bits>,
    cross_rsp: LaneWriter<Bits>,
    gone: Memory<Bits>,
    gone_new: LaneWriter<Bits>,
    gone_fwd: LaneWriter<Bits>,
    data: Memory<Bits>,
    data_new: RowWriter<Bits>,
    free_rsp: Wire<Bits>,
    free_fwd: Wire<Bits>,
}

/// What is written back of a line.
#[derive(Clone, Copy)]
pub(crate) struct WrittenBack {
    /// Words for which nothing may be asked.
    pub open: Bits,
    /// Words that a forward may still come for.
    pub live: Bits,
}

impl Wbb {
    pub fn new(p: &WordL1Params) -> Wbb {
        let (s, n) = (&p.l1.spandex, p.l1.spandex.wbb);
        let flags = |name: &str| Flags::new(&format!("wbb_{name}"), n, "write_back_buffer");
        let file = |name: &str, w: u32| {
            regfile::<Bits>(&format!("wbb_{name}"), n, w).fields(&[("write_back_buffer", w)])
        };
        let lines = file("line", s.line_bits());
        let [masks, cross, gone] = ["mask", "cross", "gone"].map(|name| file(name, s.words()));
        let data =
            regfile_lanes::<Bits>("wbb_data", n, s.words(), WORD).fields(&[("write_back_buffer", WORD)]);
        Wbb {
            valid: flags("valid"),
            answered: flags("answered"),
            lines_new: lines.lane_writer("new"),
            lines,
            masks_new: masks.lane_writer("new"),
            masks,
            cross_rsp: cross.lane_writer("rsp"),
            cross,
            gone_new: gone.lane_writer("new"),
            gone_fwd: gone.lane_writer("fwd"),
            gone,
            data_new: data.row_writer("new"),
            data,
            free_rsp: wire_zero::<Bits>("wbb_free_rsp", n),
            free_fwd: wire_zero::<Bits>("wbb_free_fwd", n),
            p: p.clone(),
        }
    }

    fn n(&self) -> u32 {
        self.p.l1.spandex.wbb
    }

    /// No entry is free.
    pub fn full(&self) -> Bool {
        self.valid.get().all()
    }

    /// Owned words of a line leave; the entry's number.
    pub fn take(&self, line: Bits, mask: Bits, data: Bits) -> Bits {
        let at = (!self.valid.get()).lowest_set();
        let one = at.one_hot(self.n());
        self.valid.raise(one);
        self.answered.lower(one);
        self.lines_new.write(at, &line);
        self.masks_new.write(at, &mask);
        self.gone_new.write(at, &lit_bv(Bv::zero(mask.width())));
        self.data_new.write_packed(at, mask, data);
        at
    }

    /// Words of an entry that a forward may still come for.
    fn live(&self, at: Bits) -> Bits {
        let words = self.masks.read(at) & !self.gone.read(at);
        mux(self.answered.get().bit_at(at), words & self.cross.read(at), words)
    }

    /// Words of an entry that have gone, after this cycle; for observers.
    pub fn gone_after(&self, at: Bits) -> Bits {
        self.gone_fwd.leaves(at, lit(0, 1), &self.gone.read(at))
    }

    /// Looks a line up.
    pub fn look(&self, line: Bits) -> WrittenBack {
        let none = lit_bv(Bv::zero(self.p.l1.spandex.words()));
        let (mut open, mut live) = (none, none);
        for i in 0..self.n() {
            let at = lit(u64::from(i), self.p.wbb_bits());
            let here = self.valid.get().bit(i) & self.lines.entry(i).eq(line);
            let waits = mux(self.answered.get().bit(i), self.live(at), self.masks.read(at));
            open = open | mux(here, waits, none);
            live = live | mux(here, self.live(at), none);
        }
        WrittenBack { open, live }
    }

    /// The first entry of a line with live words among some, these, and its data.
    pub fn first_live(&self, line: Bits, among: Bits) -> (Bits, Bits, Bits) {
        let some: Vec<Bool> = (0..self.n())
            .map(|i| {
                let words = self.live(lit(u64::from(i), self.p.wbb_bits())) & among;
                self.valid.get().bit(i) & self.lines.entry(i).eq(line) & words.any()
            })
            .collect();
        let some = pack_bools(&some);
        let at = some.lowest_set();
        let words = self.live(at) & among & some.any().repeat(among.width());
        (at, words, pack(&self.data.read_row(at)))
    }

    /// RspWB comes.
    pub fn answer(&self, at: Bits, cross: Bits) {
        let one = at.one_hot(self.n());
        self.answered.raise(one);
        let waits = cross & self.masks.read(at) & !self.gone.read(at);
        let waits = if self.p.inject == Inject::NoCross { waits & !waits } else { waits };
        self.cross_rsp.write(at, &cross);
        when(waits.none(), || self.free_rsp.set(one));
    }

    /// A forward has come for words of an entry; `answers`: the entry that gets RspWB in this cycle, one bit.
    pub fn removed(&self, at: Bits, words: Bits) {
        let gone = self.gone.read(at) | words;
        self.gone_fwd.write(at, &gone);
        let left = self.cross.read(at) & self.masks.read(at) & !gone;
        when(self.answered.get().bit_at(at) & left.none(), || self.free_fwd.set(at.one_hot(self.n())));
    }

    /// The entry waits for RspWB.
    pub fn is_open(&self, at: Bits) -> Bool {
        self.valid.get().bit_at(at) & !self.answered.get().bit_at(at)
    }

    /// Declares how the flags change; called last.
    pub fn finish(&self) {
        self.valid.lower(self.free_rsp.get() | self.free_fwd.get());
        [&self.valid, &self.answered].into_iter().for_each(Flags::finish);
    }
}
