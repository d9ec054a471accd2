//! Atomics that wait in the own entry of their word (DeNovo, `atomics=join`): the operand of each, beside
//! its target, and entries that none may join.

use super::{Mshrs, OfLine, Target};
use crate::flags::Flags;
use crate::msg::WordOp;
use crate::word_l1::params::WordL1Params;
use weft_rtl::prelude::*;

/// What an atomic that has joined does to its word.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = WordL1Params)]
pub(in crate::word_l1) struct Joined {
    #[field("mshr")]
    pub amo: Enum<WordOp>,
    #[width(32)]
    #[field("mshr")]
    pub cmp: Bits,
    #[width(32)]
    #[field("mshr")]
    pub data: Bits,
}

/// The operands, one row per target of an MSHR; the first target's stands in the MSHR.
pub(super) struct Joins {
    port: SramPort<Joined>,
    new: LaneWriter<Joined>,
    closed: Flags,
}

impl Joins {
    pub fn new(p: &WordL1Params) -> Joins {
        let n = p.l1.spandex.mshrs;
        let rows = sram::<Joined>("mshr_joined", n << p.l1.target_bits(), 1, p.clone());
        Joins {
            port: rows.read_port("look"),
            new: rows.lane_writer("slot"),
            closed: Flags::new("mshr_closed", n, "mshr"),
        }
    }

    /// Chooses the row that is read in the next cycle.
    pub fn present(&self, place: Bits) {
        self.port.present(place);
    }

    /// An entry begins.
    pub fn open(&self, one: Bits) {
        self.closed.lower(one);
    }

    /// Declares how the flags change; called last.
    pub fn finish(&self) {
        self.closed.finish();
    }
}

impl Mshrs {
    /// Of the entries of a line the own one that an atomic on these words may join, and whether there is
    /// one: it asks for the same one word and nothing else, the word has not come, and no removal of it has
    /// been answered.
    pub fn joinable_own(&self, of_line: &OfLine, words: Bits) -> (Bool, Bits) {
        let Some(joins) = &self.joins else {
            return (bool_lit(false), lit(0, self.p.l1.spandex.mshr_bits()));
        };
        let open = of_line.all & self.own.get() & !joins.closed.get();
        let same = |i: u32| self.asked.entry(i).eq(words) & self.served.entry(i).none();
        let some = pack_bools(&(0..self.n()).map(|i| open.bit(i) & same(i)).collect::<Vec<Bool>>());
        (some.any() & words.popcount().eq(1), some.lowest_set())
    }

    /// An atomic joins the own entry of its word.
    pub fn join_atomic(&self, entry: Bits, target: &Target, operand: &Joined) {
        let Some(joins) = &self.joins else { return };
        let last = self.counts.read(entry).resize(self.p.l1.target_bits());
        joins.new.write(self.targets.row(entry, last), operand);
        when(target.ack, || self.stores.raise(self.one(entry)));
        self.wait_in(entry, target);
    }

    /// What the target presented in the cycle before does, if it has joined an own entry.
    pub fn joined(&self) -> Option<Joined> {
        self.joins.as_ref().map(|joins| joins.port.lane(0))
    }

    /// Atomics have joined an own entry.
    pub fn is_joined(&self, entry: Bits) -> Bool {
        self.is_own(entry) & self.counts.read(entry).ne(1)
    }

    /// A removal of a word of an own entry is recorded.
    pub fn is_wanted(&self, entry: Bits) -> Bool {
        self.gone.read(entry).any()
    }

    /// None joins an entry from now on.
    pub fn close(&self, entry: Bits) {
        if let Some(joins) = &self.joins {
            joins.closed.raise(self.one(entry));
        }
    }
}
