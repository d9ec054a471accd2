//! The write-back buffer: lines that the L1 has replaced, until every word is closed (R2).

use super::marks::{Marks, Words, written};
use super::params::TuMesiParams;
use weft_rtl::prelude::*;

/// The buffer. An entry is *unsent* from its Put to its ReqWB.
pub(super) struct Buffer {
    n: u32,
    busy: Marks,
    pub unsent: Marks,
    dirty: Marks,
    lines: (Memory<Bits>, LaneWriter<Bits>),
    words: Memory<Bits>,
    words_new: LaneWriter<Bits>,
    words_more: LaneWriter<Bits>,
    data: (SramPort<Bits>, LaneWriter<Bits>),
    /// Entries that have come free and of which the L1 does not know.
    freed: Reg<Bits>,
    frees: Wire<Bool>,
    tells: Wire<Bool>,
}

impl Buffer {
    pub fn new(p: &TuMesiParams) -> Buffer {
        let s = &p.port.spandex;
        let file = |name: &str, width: u32| regfile::<Bits>(name, s.wbb, width).fields(&[("wbb", width)]);
        let marks = |name: &str| Marks::new(name, s.wbb, "wbb");
        let (lines, words) = (file("wbb_line", s.line_bits()), file("wbb_words", 2 * s.words()));
        let data = sram::<Bits>("wbb_data", s.wbb, 1, s.data_bits()).fields(&[("wbb_data", s.data_bits())]);
        Buffer {
            n: s.wbb,
            busy: marks("wbb_busy"),
            unsent: marks("wbb_unsent"),
            dirty: marks("wbb_dirty"),
            lines: written(lines),
            words_new: words.lane_writer("new"),
            words_more: words.lane_writer("more"),
            words,
            data: (data.read_port("out"), data.lane_writer("in")),
            freed: reg::<Bits>("wbb_freed", bits_for(u64::from(s.wbb) + 1)),
            frees: wire_or::<Bool>("wbb_frees", (), false),
            tells: wire_or::<Bool>("wbb_tells", (), false),
        }
    }

    fn one(&self, index: Bits) -> Bits {
        index.one_hot(self.n)
    }

    /// One bit: the entry of a line.
    pub fn of_line(&self, line: Bits) -> Bits {
        let at = |i: u32| self.lines.0.entry(i).eq(line);
        pack_bools(&(0..self.n).map(at).collect::<Vec<_>>()) & self.busy.get()
    }

    pub fn line(&self, index: Bits) -> Bits {
        self.lines.0.read(index)
    }

    pub fn words(&self, index: Bits) -> Words {
        Words::of(self.words.read(index))
    }

    pub fn is_busy(&self, index: Bits) -> Bool {
        self.busy.at(index)
    }

    /// The same after this cycle, for observers.
    pub fn stays(&self, index: Bits) -> Bool {
        self.busy.after(index)
    }

    pub fn is_dirty(&self, index: Bits) -> Bool {
        self.dirty.at(index)
    }

    /// A Put comes in.
    pub fn put(&self, line: Bits, data: Bits, dirty: Bool) {
        let index = (!self.busy.get()).lowest_set();
        let one = self.one(index);
        self.busy.raise(0, one);
        self.unsent.raise(0, one);
        when(dirty, || self.dirty.raise(0, one)).otherwise(|| self.dirty.lower(0, one));
        self.lines.1.write(index, &line);
        self.data.1.write(index, &data);
        let whole = lit_bv(Bv::ones(self.words(index).here.width()));
        self.words_new.write(index, &Words::pending(whole).row());
    }

    /// No entry is free.
    pub fn full(&self) -> Bool {
        self.busy.get().all()
    }

    /// Words have changed; with the last one the entry is free. One call per cycle.
    pub fn change(&self, index: Bits, words: &Words) {
        self.words_more.write(index, &words.row());
        when(!words.open(), || {
            self.busy.lower(0, self.one(index));
            self.frees.set(true);
        });
    }

    /// The ReqWB of an entry is sent.
    pub fn sent(&self, index: Bits) {
        self.unsent.lower(0, self.one(index));
    }

    /// Chooses the data read in the next cycle.
    pub fn present(&self, index: Bits) {
        self.data.0.present(index);
    }

    /// The data presented in the cycle before.
    pub fn data(&self) -> Bits {
        self.data.0.lane(0)
    }

    /// The L1 is to be told of a free entry.
    pub fn has_news(&self) -> Bool {
        self.freed.get().any()
    }

    /// It is told.
    pub fn tell(&self) {
        self.tells.set(true);
    }

    /// Declares how the entries change; called last.
    pub fn finish(&self) {
        [&self.busy, &self.unsent, &self.dirty].into_iter().for_each(Marks::finish);
        let (more, less) = (self.frees.get(), self.tells.get());
        when(more & !less, || self.freed.set(self.freed.get() + 1));
        when(less & !more, || self.freed.set(self.freed.get() - 1));
    }
}
