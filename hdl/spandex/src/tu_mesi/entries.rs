//! The entries: what the unit remembers of each request of the L1, by the L1's MSHR.
//!
//! ```text
//!  busy | own | again | once | full | after | line | got (W) --> line buffer (SRAM)
//!  gone (W), delayed (W) --> delayed removals (SRAM) | a delayed ReqV
//! ```
//! `gone`: words whose ownership has been given up; `delayed`: words whose removal is to be answered. Both are the specification's `dg`.

use super::marks::{Marks, written};
use super::params::TuMesiParams;
use crate::params::WORD;
use weft_rtl::prelude::*;

/// Kinds of delayed removals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub(super) enum RemovalOp {
    /// fwd ReqO+data.
    Give,
    /// RvkO.
    Return,
    /// fwd ReqS of a word that the requestor wants.
    Share,
    /// fwd ReqS of a word that it does not want.
    Leave,
    /// fwd ReqO.
    Grant,
    /// fwd ReqO for a write-through.
    GrantWt,
}

/// A delayed removal of a word.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = TuMesiParams)]
pub(super) struct Removal {
    #[field("removal")]
    pub op: Enum<RemovalOp>,
    #[width(p.port.spandex.dev_bits())]
    #[field("removal")]
    pub dev: Bits,
    #[width(p.port.spandex.tag_bits())]
    #[field("removal")]
    pub tag: Bits,
    #[width(p.port.spandex.tbe_bits())]
    #[field("removal")]
    pub tbe: Bits,
}

/// A delayed ReqV.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = TuMesiParams)]
pub(super) struct Reader {
    #[width(p.port.spandex.words())]
    #[field("tu")]
    pub mask: Bits,
    #[width(p.port.spandex.dev_bits())]
    #[field("tu")]
    pub dev: Bits,
    #[width(p.port.spandex.tag_bits())]
    #[field("tu")]
    pub tag: Bits,
}

/// What is left to do after the L1's operations.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = TuMesiParams)]
pub(super) struct After {
    #[width(p.port.way_bits())]
    #[field("tu")]
    pub way: Bits,
    #[field("tu")]
    pub dirty: Bool,
}

/// Parts that change marks: requests and responses are one, the engine the other.
pub(super) const NET: usize = 0;
pub(super) const ENGINE: usize = 1;

pub(super) struct Entries {
    p: TuMesiParams,
    /// A request is out, or its line is not yet dealt with.
    pub busy: Marks,
    /// It asks for ownership.
    pub own: Marks,
    /// All answers have come, some of them NackV: to be asked again.
    pub again: Marks,
    /// Inv has come.
    pub once: Marks,
    /// The line is whole.
    pub full: Marks,
    /// Delayed answers wait.
    pub after: Marks,
    /// A ReqV is delayed.
    pub reader: Marks,
    pub some_s: Marks,
    pub some_v: Marks,
    pub some_o: Marks,
    pub failed: Marks,
    /// Some word came from another device; differs from memory.
    pub peer: Marks,
    pub dirty: Marks,
    lines: (Memory<Bits>, LaneWriter<Bits>),
    got: Memory<Bits>,
    got_new: LaneWriter<Bits>,
    got_rsp: LaneWriter<Bits>,
    gone: Memory<Bits>,
    gone_new: LaneWriter<Bits>,
    gone_engine: LaneWriter<Bits>,
    delayed: Memory<Bits>,
    delayed_new: LaneWriter<Bits>,
    delayed_engine: LaneWriter<Bits>,
    readers: (Memory<Reader>, LaneWriter<Reader>),
    afters: (Memory<After>, LaneWriter<After>),
    buffer: (SramPort<Bits>, RowWriter<Bits>),
    removals: (SramPort<Removal>, RowWriter<Removal>),
}

impl Entries {
    pub fn new(p: &TuMesiParams) -> Entries {
        let s = &p.port.spandex;
        let marks = |name: &str| Marks::new(name, s.mshrs, "tu");
        let file = |name: &str, width: u32| regfile::<Bits>(name, s.mshrs, width).fields(&[("tu", width)]);
        let lines = file("line", s.line_bits());
        let [got, gone, delayed] = ["got", "gone", "delayed"].map(|name| file(name, s.words()));
        let readers = regfile::<Reader>("readers", s.mshrs, p.clone());
        let afters = regfile::<After>("afters", s.mshrs, p.clone());
        let buffer = sram::<Bits>("buffer", s.mshrs, s.words(), WORD).fields(&[("line_buffer", WORD)]);
        let removals = sram::<Removal>("removals", s.mshrs, s.words(), p.clone());
        let two = |file: &Memory<Bits>| (file.lane_writer("new"), file.lane_writer("more"));
        let ((got_new, got_rsp), (gone_new, gone_engine)) = (two(&got), two(&gone));
        let (delayed_new, delayed_engine) = two(&delayed);
        Entries {
            p: p.clone(),
            busy: marks("busy"),
            own: marks("own_line"),
            again: marks("again"),
            once: marks("once"),
            full: marks("full"),
            after: marks("after"),
            reader: marks("reader"),
            some_s: marks("some_s"),
            some_v: marks("some_v"),
            some_o: marks("some_o"),
            failed: marks("failed"),
            peer: marks("peer"),
            dirty: marks("dirty"),
            lines: written(lines),
            got,
            got_new,
            got_rsp,
            gone,
            gone_new,
            gone_engine,
            delayed,
            delayed_new,
            delayed_engine,
            readers: written(readers),
            afters: written(afters),
            buffer: (buffer.read_port("out"), buffer.row_writer("in")),
            removals: (removals.read_port("out"), removals.row_writer("in")),
        }
    }

    pub fn one(&self, entry: Bits) -> Bits {
        entry.one_hot(self.p.port.spandex.mshrs)
    }

    fn none(&self) -> Bits {
        lit_bv(Bv::zero(self.p.port.spandex.words()))
    }

    /// One bit: the entry of a line whose request is out.
    pub fn of_line(&self, line: Bits) -> Bits {
        let n = self.p.port.spandex.mshrs;
        let at = |i: u32| self.lines.0.entry(i).eq(line);
        pack_bools(&(0..n).map(at).collect::<Vec<_>>()) & self.busy.get()
    }

    pub fn line(&self, entry: Bits) -> Bits {
        self.lines.0.read(entry)
    }

    /// Words answered.
    pub fn got(&self, entry: Bits) -> Bits {
        self.got.read(entry)
    }

    pub fn gone(&self, entry: Bits) -> Bits {
        self.gone.read(entry)
    }

    pub fn delayed(&self, entry: Bits) -> Bits {
        self.delayed.read(entry)
    }

    pub fn reader(&self, entry: Bits) -> Reader {
        self.readers.0.read(entry)
    }

    pub fn after(&self, entry: Bits) -> After {
        self.afters.0.read(entry)
    }

    /// A request leaves.
    pub fn open(&self, entry: Bits, line: Bits, own: Bool) {
        let one = self.one(entry);
        self.busy.raise(NET, one);
        self.lines.1.write(entry, &line);
        when(own, || self.own.raise(NET, one)).otherwise(|| self.own.lower(NET, one));
        self.gone_new.write(entry, &self.none());
        self.delayed_new.write(entry, &self.none());
        let stale = [&self.once, &self.reader, &self.dirty, &self.peer];
        stale.iter().for_each(|marks| marks.lower(NET, one));
        self.ask(entry);
    }

    /// Failed words are asked for again, by ReqO+data of the whole line.
    pub fn repeat(&self, entry: Bits) {
        let one = self.one(entry);
        self.own.raise(NET, one);
        self.again.lower(NET, one);
        self.ask(entry);
    }

    fn ask(&self, entry: Bits) {
        let one = self.one(entry);
        self.got_new.write(entry, &self.none());
        let stale = [&self.some_s, &self.some_v, &self.some_o, &self.failed];
        stale.iter().for_each(|marks| marks.lower(ENGINE, one));
    }

    /// Words are answered.
    pub fn answered(&self, entry: Bits, got: Bits) {
        self.got_rsp.write(entry, &got);
    }

    /// Words come into the line buffer: one call per cycle.
    pub fn store(&self, entry: Bits, mask: Bits, data: Bits) {
        self.buffer.1.write_packed(entry, mask, data);
    }

    /// Ownership of words is given up.
    pub fn give_up(&self, entry: Bits, words: Bits) {
        self.gone_engine.write(entry, &(self.gone(entry) | words));
    }

    pub fn set_delayed(&self, entry: Bits, words: Bits) {
        self.delayed_engine.write(entry, &words);
    }

    /// A removal is delayed.
    pub fn record(&self, entry: Bits, words: Bits, rows: &[Removal]) {
        self.set_delayed(entry, self.delayed(entry) | words);
        self.removals.1.write_masked(entry, words, rows);
    }

    pub fn delay(&self, entry: Bits, reader: &Reader) {
        self.reader.raise(ENGINE, self.one(entry));
        self.readers.1.write(entry, reader);
    }

    pub fn put_after(&self, entry: Bits, after: &After) {
        self.after.raise(ENGINE, self.one(entry));
        self.afters.1.write(entry, after);
    }

    /// Everything about an entry is done.
    pub fn free(&self, entry: Bits) {
        let one = self.one(entry);
        self.busy.lower(ENGINE, one);
        self.after.lower(ENGINE, one);
    }

    /// Chooses the rows that are read in the next cycle.
    pub fn present(&self, entry: Bits) {
        self.buffer.0.present(entry);
        self.removals.0.present(entry);
    }

    /// The line buffer presented in the cycle before.
    pub fn row(&self) -> Bits {
        pack(&self.buffer.0.row())
    }

    /// The delayed removals presented in the cycle before.
    pub fn removals(&self) -> Vec<Removal> {
        self.removals.0.row()
    }

    /// A delayed removal of that row.
    pub fn removal(&self, word: Bits) -> Removal {
        self.removals.0.lane_at(word)
    }

    /// Declares how the marks change; called last.
    pub fn finish(&self) {
        let marks = [&self.busy, &self.own, &self.again, &self.once, &self.full, &self.after, &self.reader];
        marks.into_iter().for_each(Marks::finish);
        let marks = [&self.some_s, &self.some_v, &self.some_o, &self.failed, &self.peer, &self.dirty];
        marks.into_iter().for_each(Marks::finish);
    }
}
