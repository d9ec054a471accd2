//! The store buffer: words on their way to the LLC, by line (spandex.md section 7).
//!
//! ```text
//!  ring of entries {line, mask, data}: valid | issued
//!      issue --> oldest that has not left       tail --> next to be taken
//! ```
//! Stores merge into the entry of their line that has not left; there is at most one. It leaves when the one before it, if that is out, is answered: at most one
//! write-through per line is under way, so that they cannot change places. Entries leave in order of their age and are freed in any.

use super::params::{GpuL1Params, Inject, SbDrain};
use crate::flags::Flags;
use crate::params::WORD;
use weft_rtl::prelude::*;

/// The buffer.
pub(crate) struct StoreBuffer {
    p: GpuL1Params,
    /// The L1 that it is part of, for names of checks and counters.
    of: &'static str,
    pub valid: Flags,
    issued: Flags,
    issue: Reg<Bits>,
    tail: Reg<Bits>,
    lines: Memory<Bits>,
    lines_new: LaneWriter<Bits>,
    masks: Memory<Bits>,
    masks_slot: LaneWriter<Bits>,
    /// None where the words stand elsewhere, and the buffer only says that they are on their way.
    data: Option<(Memory<Bits>, RowWriter<Bits>)>,
    /// An operation waits until this entry has left.
    wanted: Reg<Bool>,
    wanted_at: Reg<Bits>,
}

/// What is buffered of a line.
#[derive(Clone, Copy)]
pub(crate) struct Buffered {
    /// The entry that stores merge into.
    pub open: Bool,
    pub at: Bits,
    /// Words, and the youngest value of each.
    pub words: Bits,
    pub data: Bits,
    /// Words that have not left.
    pub unissued: Bits,
    /// An entry of the line is under way: which, its words, its line.
    pub out: Bool,
    pub out_at: Bits,
    pub out_words: Bits,
    pub out_data: Bits,
}

/// The entry that may leave next.
#[derive(Clone, Copy)]
pub(crate) struct Oldest {
    pub there: Bool,
    pub at: Bits,
    pub line: Bits,
    pub mask: Bits,
    pub data: Bits,
    /// The write-through of its line before it is out.
    pub behind: Bool,
}

impl StoreBuffer {
    pub fn new(of: &'static str, p: &GpuL1Params) -> StoreBuffer {
        StoreBuffer::build(of, p, true)
    }

    /// One that keeps no values.
    pub fn without_data(of: &'static str, p: &GpuL1Params) -> StoreBuffer {
        StoreBuffer::build(of, p, false)
    }

    fn build(of: &'static str, p: &GpuL1Params, with_data: bool) -> StoreBuffer {
        let (s, n) = (&p.spandex, p.spandex.sb);
        let flags = |name: &str| Flags::new(&format!("sb_{name}"), n, "store_buffer");
        let file = |name: &str, w: u32| {
            let mem = regfile::<Bits>(&format!("sb_{name}"), n, w).fields(&[("store_buffer", w)]);
            let writer = mem.lane_writer("in");
            (mem, writer)
        };
        let (lines, lines_new) = file("line", s.line_bits());
        let (masks, masks_slot) = file("mask", s.words());
        let data = with_data.then(|| {
            let data = regfile_lanes::<Bits>("sb_data", n, s.words(), WORD).fields(&[("store_buffer", WORD)]);
            let writer = data.row_writer("in");
            (data, writer)
        });
        let index = |name: &str| reg::<Bits>(&format!("sb_{name}"), p.sb_bits()).field("store_buffer");
        StoreBuffer {
            valid: flags("valid"),
            issued: flags("issued"),
            issue: index("issue"),
            tail: index("tail"),
            lines,
            lines_new,
            masks,
            masks_slot,
            data,
            wanted: reg::<Bool>("sb_wanted", ()),
            wanted_at: index("wanted_at"),
            p: p.clone(),
            of,
        }
    }

    fn n(&self) -> u32 {
        self.p.spandex.sb
    }

    fn next(&self, index: Bits) -> Bits {
        let last = index.eq(u64::from(self.n() - 1));
        mux(last, lit(0, self.p.sb_bits()), index + 1)
    }

    fn of_line(&self, line: Bits) -> Bits {
        let same: Vec<Bool> = (0..self.n()).map(|i| self.lines.entry(i).eq(line)).collect();
        pack_bools(&same) & self.valid.get()
    }

    /// No entry is free.
    pub fn full(&self) -> Bool {
        self.valid.get().bit_at(self.tail.get())
    }

    /// Looks a line up.
    pub fn look(&self, line: Bits) -> Buffered {
        let all = self.of_line(line);
        let (open, out) = (all & !self.issued.get(), all & self.issued.get());
        let text = "a line has at most one entry that is out and one that is not";
        let once = open.popcount().zext(16).le(1) & out.popcount().zext(16).le(1);
        assert_always(
            &format!("{}_sb_once", self.of),
            once | bool_lit(self.p.inject == Inject::WtOvertakes),
            text,
        );
        let none = lit_bv(Bv::zero(self.p.spandex.words()));
        let mask = |some: Bits| mux(some.any(), self.masks.read(some.lowest_set()), none);
        let data = |some: Bits| self.data(some.lowest_set());
        let (young, old) = (mask(open), mask(out));
        Buffered {
            open: open.any(),
            at: open.lowest_set(),
            words: young | old,
            data: crate::amo::merge(young, data(open), data(out)),
            unissued: young,
            out: out.any(),
            out_at: out.lowest_set(),
            out_words: old,
            out_data: data(out),
        }
    }

    /// The oldest entry that has not left.
    pub fn oldest(&self) -> Oldest {
        let at = self.issue.get();
        let line = self.lines.read(at);
        let out = self.of_line(line) & self.issued.get();
        let behind = out.any() & bool_lit(self.p.inject != Inject::WtOvertakes);
        Oldest {
            there: self.valid.get().bit_at(at) & !self.issued.get().bit_at(at),
            at,
            line,
            mask: self.masks.read(at),
            data: self.data(at),
            behind,
        }
    }

    /// The oldest entry should leave; `released`: entries that a release waits for.
    pub fn drains(&self, released: Bits) -> Bool {
        let waits = (released & self.valid.get() & !self.issued.get()).any();
        let needed = waits | self.wanted.get();
        let buffered = (self.valid.get() & !self.issued.get()).popcount().zext(16).mul(4);
        match self.p.sb_drain {
            SbDrain::Full => needed | self.full(),
            SbDrain::Highwater => needed | buffered.ge(u64::from(3 * self.n())),
            SbDrain::Eager => bool_lit(true),
        }
    }

    /// The oldest entry leaves.
    pub fn leave(&self, oldest: &Oldest) {
        self.issued.raise(oldest.at.one_hot(self.n()));
        self.issue.set(self.next(oldest.at));
        when(self.wanted_at.get().eq(oldest.at), || self.wanted.set(false));
    }

    /// Line of an entry.
    pub fn line(&self, at: Bits) -> Bits {
        self.lines.read(at)
    }

    /// Words of an entry.
    pub fn mask(&self, at: Bits) -> Bits {
        self.masks.read(at)
    }

    /// The oldest entry has nothing to ask for: it is free.
    pub fn leave_done(&self, oldest: &Oldest) {
        self.valid.lower(oldest.at.one_hot(self.n()));
        self.issue.set(self.next(oldest.at));
        when(self.wanted_at.get().eq(oldest.at), || self.wanted.set(false));
    }

    /// The entry that leaves asks for some of its words only.
    pub fn shrink(&self, at: Bits, words: Bits) {
        self.masks_slot.write(at, &words);
    }

    /// An operation waits for an entry of its line that has not left.
    pub fn want(&self, at: Bits) {
        self.wanted.set(true);
        self.wanted_at.set(at);
    }

    /// Data of an entry; 0 of a buffer that keeps none.
    pub fn data(&self, at: Bits) -> Bits {
        let none = || lit_bv(Bv::zero(self.p.spandex.data_bits()));
        self.data.as_ref().map_or_else(none, |(data, _)| pack(&data.read_row(at)))
    }

    /// A store is buffered; the entry's number.
    pub fn store(&self, found: &Buffered, line: Bits, words: Bits, data: Bits) -> Bits {
        let at = mux(found.open, found.at, self.tail.get());
        let none = lit_bv(Bv::zero(words.width()));
        self.masks_slot.write(at, &(mux(found.open, found.unissued, none) | words));
        if let Some((_, writer)) = &self.data {
            writer.write_packed(at, words, data);
        }
        when(!found.open, || {
            self.lines_new.write(at, &line);
            self.valid.raise(at.one_hot(self.n()));
            self.tail.set(self.next(at));
        });
        at
    }

    /// A write-through is answered.
    pub fn answered(&self, at: Bits) {
        let one = at.one_hot(self.n());
        self.valid.lower(one);
        self.issued.lower(one);
    }

    /// The entry is out.
    #[track_caller]
    pub fn is_out(&self, at: Bits) -> Bool {
        (self.valid.get() & self.issued.get()).bit_at(at)
    }

    /// Declares how the flags change; called last.
    pub fn finish(&self) {
        [&self.valid, &self.issued].into_iter().for_each(Flags::finish);
        let text = "cycles in which no entry of the store buffer is free";
        count(&format!("{}_sb_full", self.of), self.full(), text);
    }
}
