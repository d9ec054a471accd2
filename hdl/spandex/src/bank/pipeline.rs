//! The pipeline: stage 0 chooses what enters, stage 1 reads its set and the TBEs, stage 2 its line, stage 3 acts.
//!
//! Of a set one operation is in the pipeline at a time, so stage 3 finds everything as stages 1 and 2 have read it. The next of the set may enter when it is in stage 3, which writes what
//! stage 1 reads in the next cycle.

use super::Bank;
use super::arrays::{Arrays, Found, Kept, LineTag, Spare};
use super::look::{Look, Searched};
use weft_blocks::common::arbiter::RoundRobin;
use weft_rtl::prelude::*;

/// Operations that may be in the pipeline: room is left for what they may send.
pub(crate) const STAGES: u64 = 3;

/// What passes through the pipeline.
pub(crate) trait Operation: Data<Shape: Clone> + Copy {
    type Kind: HwEnum;
    /// What it is.
    fn kind(&self) -> Enum<Self::Kind>;
    /// The line that it is about.
    fn line(&self) -> Bits;
}

/// The registers between stages.
pub(crate) struct Pipeline<O: Operation, T: LineTag> {
    bank: Bank,
    /// Sets cleared since reset; all are clear.
    cleared: Reg<Bits>,
    open: Bool,
    /// TBEs that have something ready take turns.
    pub order: RoundRobin,
    pub s1_valid: Reg<Bool>,
    pub s1: Reg<O>,
    s2_valid: Reg<Bool>,
    s2: Reg<O>,
    s2_look: Reg<Look<T>>,
    s3_valid: Reg<Bool>,
    s3: Reg<O>,
    s3_look: Reg<Look<T>>,
    /// The line's data.
    pub s3_line: Reg<Bits>,
}

/// Everything that the stages of a bank look at: its parameters `P`, its TBEs `E`, its outputs `U`.
pub(crate) struct Parts<'a, P, T: LineTag, E, U> {
    pub p: &'a P,
    /// The bank's node.
    pub own: Bits,
    pub arrays: &'a Arrays<T>,
    pub tbes: &'a E,
    pub outs: &'a U,
}

/// What entered, for observers.
pub(crate) struct Entered {
    pub req: Bool,
    /// A request waits at the channel.
    pub req_waits: Bool,
    /// It waits for a TBE, a place in the stall memory, the outputs.
    pub no_tbe: Bool,
    pub no_place: Bool,
    pub no_room: Bool,
    pub wb_waits: Bool,
}

impl Entered {
    /// A request that is `at_channel` enters (`req`) or waits: for one that is not there of a TBE, a place, and room.
    pub fn new(req: Bool, at_channel: Bool, [tbe, place, room]: [Bool; 3], wb_waits: Bool) -> Entered {
        let waits = at_channel & !req;
        let (no_tbe, no_place, no_room) = (waits & !tbe, waits & !place, waits & !room);
        Entered { req, req_waits: waits, no_tbe, no_place, no_room, wb_waits }
    }
}

impl<O: Operation, T: LineTag> Pipeline<O, T> {
    /// Declares the registers, and the channels in, which are open when all sets are clear.
    pub fn new<C>(
        bank: &Bank,
        op: &O::Shape,
        kept: Kept,
        channels: impl FnOnce(Bool) -> C,
    ) -> (Pipeline<O, T>, C) {
        let bits = bank.sets().trailing_zeros() + 1;
        let cleared = reg::<Bits>("cleared", bits).doc("Sets cleared since reset.");
        let open = cleared.get().bit(bits - 1).named("open");
        let channels = channels(open);
        let op = |name| reg::<O>(name, op.clone()).field("pipeline");
        let look = |name| reg::<Look<T>>(name, (bank.clone(), kept)).field("pipeline");
        let pipeline = Pipeline {
            bank: bank.clone(),
            cleared,
            open,
            order: RoundRobin::new("tbe_order", bank.s.tbes),
            s1_valid: reg::<Bool>("s1_valid", ()),
            s1: op("s1"),
            s2_valid: reg::<Bool>("s2_valid", ()),
            s2: op("s2"),
            s2_look: look("s2_look"),
            s3_valid: reg::<Bool>("s3_valid", ()),
            s3: op("s3"),
            s3_look: look("s3_look"),
            s3_line: reg::<Bits>("s3_line", bank.s.data_bits()).field("pipeline"),
        };
        (pipeline, channels)
    }

    /// Empties the arrays, a set per cycle, until all are clear.
    fn clear(&self, arrays: &Arrays<T>) {
        when(!self.open, || {
            self.cleared.set(self.cleared.get() + 1);
            arrays.empty(self.cleared.get().resize(self.bank.set_bits()));
        });
    }

    /// Operations in the pipeline.
    fn under_way(&self) -> [(Bool, O); 3] {
        [
            (self.s1_valid.get(), self.s1.get()),
            (self.s2_valid.get(), self.s2.get()),
            (self.s3_valid.get(), self.s3.get()),
        ]
    }

    /// An operation of a set is in the first stages of the pipeline.
    pub fn busy(&self, set: Bits, stages: usize) -> Bool {
        let first = &self.under_way()[..stages];
        let same: Vec<Bool> =
            first.iter().map(|(valid, op)| *valid & self.bank.set_of(op.line()).eq(set)).collect();
        any_of(&same)
    }

    /// No operation of a line's set is in the first two stages.
    pub fn quiet(&self, line: Bits) -> Bool {
        !self.busy(self.bank.set_of(line), 2)
    }

    /// Sets of which no operation is in the pipeline: what stage 3 leaves of them is known.
    pub fn calm(&self, sets: &[Bits]) -> Bits {
        pack_bools(&sets.iter().map(|set| !self.busy(*set, 3)).collect::<Vec<_>>())
    }

    /// Operations in the pipeline that take an entry of something.
    pub fn takers(&self, takes: impl Fn(&O) -> Bool) -> Vec<Bool> {
        self.under_way().iter().map(|(valid, op)| *valid & takes(op)).collect()
    }

    /// Moves the operation in that stage 0 selects, and by `look`, stage 1, the others on. Returns what entered, and the ways that hold the line in stage 1.
    pub fn connect<E>(
        &self,
        arrays: &Arrays<T>,
        select: impl FnOnce() -> (O, Bool, E),
        look: impl FnOnce() -> Bits,
    ) -> (E, Bits) {
        self.clear(arrays);
        let (op, go, entered) = select();
        self.s1_valid.set(go);
        when(go, || {
            self.s1.set(op);
            arrays.present(self.bank.set_of(op.line()));
        });
        (entered, look())
    }

    /// Stage 1 looks a line up, and moves what it finds on to stage 3. `blocked`: ways that must stay; `by`: entries that block the line, and those that block ways of its set; `way`: the way of
    /// the operation, which may be a TBE's in place of the one searched. Returns the ways that hold the line.
    pub fn look<'a>(
        &self,
        arrays: &'a Arrays<T>,
        blocked: Bits,
        spare: impl FnOnce(&[T]) -> Spare + 'a,
        by: impl FnOnce() -> (Bits, Bits),
        way: impl FnOnce(Bits) -> Bits,
    ) -> Bits {
        let found = arrays.look(self.bank.tag_of(self.s1.get().line()), blocked, spare);
        let (by_line, same_set) = by();
        let searched = found.searched(by_line, same_set, way);
        let way = searched.way;
        let look = Look::new(searched, arrays.place(way), &arrays.kept);
        let (op, valid) = (self.s1.get(), self.s1_valid.get());
        self.s2_valid.set(valid);
        when(valid, || {
            self.s2.set(op);
            self.s2_look.set(look);
            arrays.present_line(self.bank.row_of(self.bank.set_of(op.line()), way));
        });
        self.s3_valid.set(self.s2_valid.get());
        when(self.s2_valid.get(), || {
            self.s3.set(self.s2.get());
            self.s3_look.set(self.s2_look.get());
            self.s3_line.set(arrays.line());
        });
        found.matches
    }

    /// The operation in stage 3: whether there is one, it, and what stage 1 has found.
    pub fn last(&self) -> (Bool, O, Look<T>) {
        (self.s3_valid.get(), self.s3.get(), self.s3_look.get())
    }
}

impl Found {
    /// What stage 1 makes of it. `by_line`: entries that block the line, `same_set`: those that block ways of its set; `way`: the way, which may be a TBE's in place of the one searched.
    fn searched(&self, by_line: Bits, same_set: Bits, way: impl FnOnce(Bits) -> Bits) -> Searched {
        let hit = self.matches.any();
        let searched = mux(hit, self.matches.lowest_set(), self.victim);
        Searched {
            hit,
            way: way(searched).named("s1_way"),
            tree: self.tree,
            blocked: by_line.any(),
            full: self.full,
            by: mux(by_line.any(), by_line, same_set).lowest_set(),
        }
    }
}

/// More entries of `used` are free than are taken.
pub(crate) fn more(used: Bits, takers: &[Bool]) -> Bool {
    let (takers, free) = (pack_bools(takers).popcount(), (!used).popcount());
    let width = free.width().max(takers.width());
    takers.resize(width).lt(free.resize(width))
}
