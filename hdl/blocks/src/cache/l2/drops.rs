//! Software coherence: copies dropped on command, all of a class at once (hmg.md section 8).
//!
//! ```text
//! Idle -DROP-> Empty (the pipeline ends its operations) -> Walk (sets / 8 cycles) -> Answer -> Idle
//! ```
//!
//! Reads under way are poisoned, so that nothing that was read before is installed after. Meanwhile the bank serves nothing.
//!
//! With `drops_all` a command drops every line, whatever its class. Lines of this home are written back
//! before, as by a flush, and those that become dirty between that and the walk stay: their home has no
//! other copy.

use super::mshr::Mshrs;
use super::outputs::Outputs;
use super::params::L2Params;
use super::tags::Tags;
use crate::msg::FenceOp;
use weft_rtl::prelude::*;

/// State of a drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum DropState {
    Idle,
    /// Waits until no operation is in stage 1.
    Empty,
    /// One row of the tag array per cycle.
    Walk,
    /// The answer can be given.
    Answer,
}

/// The walk over the tags.
pub(super) struct Drops {
    pub state: Reg<Enum<DropState>>,
    pub op: Reg<Enum<FenceOp>>,
    row: Reg<Bits>,
    /// The row before is being looked at.
    looks: Reg<Bool>,
    looked: Reg<Bits>,
    /// With `drops_all`: a command waits for the write-back.
    pub ordered: Option<Reg<Bool>>,
    p: L2Params,
}

impl Drops {
    /// Declares the registers.
    pub fn new(p: &L2Params) -> Drops {
        let bits = bits_for(u64::from(p.sets / p.bulk()));
        Drops {
            state: reg::<Enum<DropState>>("drop_state", ()),
            op: reg::<Enum<FenceOp>>("drop_op", ()),
            row: reg::<Bits>("drop_row", bits),
            looks: reg::<Bool>("drop_looks", ()),
            looked: reg::<Bits>("drop_looked", bits),
            ordered: p.drops_all.then(|| reg::<Bool>("drop_ordered", ())),
            p: p.clone(),
        }
    }

    /// Begins to carry out a command.
    pub fn begin(&self, op: Enum<FenceOp>) {
        self.op.set(op);
        self.state.set(DropState::Empty);
    }

    /// A command is to be carried out when dirty lines of this home are written back.
    pub fn order(&self, op: Enum<FenceOp>) {
        self.op.set(op);
        self.ordered.iter().for_each(|ordered| ordered.set(true));
    }

    /// The copy of this line goes.
    fn goes(&self, line: Bits) -> Bool {
        if self.p.drops_all { bool_lit(true) } else { self.names(line) }
    }

    /// The command's class has this line.
    fn names(&self, line: Bits) -> Bool {
        let (leaf, far, all) = (self.p.leaf(line), !self.p.of_own_gpu(line), !self.p.homed(line));
        let op = self.op.get();
        mux(op.is(FenceOp::DropLeaf), leaf, mux(op.is(FenceOp::DropFar), far, all))
    }

    /// Moves the walk; `busy`: an operation is in stage 1.
    pub fn connect(&self, tags: &Tags, m: &Mshrs, outs: &Outputs, busy: Bool) {
        let rows = u64::from(self.p.sets / self.p.bulk());
        switch(self.state.get(), |s| {
            s.case(DropState::Empty, || {
                when(!busy & tags.ready.get(), || {
                    m.poison_lines(|line| self.names(line));
                    self.state.set(DropState::Walk);
                });
            });
            s.case(DropState::Walk, || {
                let end = self.row.get().eq(rows - 1);
                tags.present_row(self.row.get());
                self.looks.set(true);
                self.looked.set(self.row.get());
                self.row.set(mux(end, lit(0, self.row.get().width()), self.row.get() + 1));
                when(end, || self.state.set(DropState::Answer));
            });
            s.case(DropState::Answer, || self.looks.set(false));
        });
        let bank = outs.bank.get();
        let dropped = wire_zero::<Bits>("drop_lanes", self.p.ways * self.p.bulk());
        when(self.looks.get(), || dropped.set(tags.clear(self.looked.get(), bank, |line| self.goes(line))));
        if self.p.drops_all {
            cover(
                "hmg.race.line_dirty_again_before_drop",
                self.looks.get() & tags.row_has_dirty_of_home(),
                "A line of this home is dirty again when all lines are dropped: it stays.",
            );
        }
        let waits = (m.valid.get() & m.read.get()).any();
        cover(
            "hmg.race.drop_beside_reads",
            self.state.get().is(DropState::Empty) & !busy & waits,
            "Copies are dropped while reads are under way: those of the class install nothing.",
        );
        count_amount(
            "l2_dropped",
            self.looks.get(),
            dropped.get().popcount(),
            "Copies dropped by acquires of software coherence.",
        );
        count("l2_drop_cycles", !self.state.get().is(DropState::Idle), "Cycles in which copies are dropped.");
    }
}
