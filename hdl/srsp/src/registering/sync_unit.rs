//! Sync unit: carries one operation of several steps out at a time. What it does beyond this is the L1's own.
//!
//! | state | values |
//! | --- | --- |
//! | `sync_runs` | the head of the queue is at work |
//! | `sync_pc` | its step's place in the list of all programs |
//! | `sync_issued` | the step has been begun: the drain is waited for |
//! | `walk_set`, `walk_done` | of a kernel's end: the set at work, and its ways that have been looked at |
//!
//! What changes lines or answers the CU is done in a slot; the rest beside slots.

use super::lines::OwnableStates;
use crate::write_combining::steps::{Job, Rom, Steps};
use crate::write_combining::{Lines, Shape};
use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// Steps that mean the same in both systems.
pub(crate) trait CommonSteps: HwEnum {
    /// The CU gate closes.
    const CLOSE: Self;
    /// The CU gate opens.
    const OPEN: Self;
    /// Every owned line is given back.
    const GIVE_BACK: Self;
    /// Nothing that was given back is under way.
    const SETTLE: Self;
}

/// The walk of a kernel's end over the sets.
pub(crate) struct Walk {
    ways: u32,
    /// Bits of a line's number above its set's.
    above: u32,
    set: Reg<Bits>,
    done: Reg<Bits>,
}

impl Walk {
    /// Declares where it is.
    pub fn new(p: &Shape) -> Walk {
        let set = reg::<Bits>("walk_set", p.set_bits());
        Walk { ways: p.ways, above: p.tag_bits(), set, done: reg::<Bits>("walk_done", p.ways) }
    }
}

/// Declares the operation at work and its step, with the steps of the programs and the queue; what is returned declares the wire that makes steps follow one another.
pub(crate) fn steps<J: Job, S: HwEnum>(
    steps_of: impl Fn(J::Program) -> &'static [S],
    queue: impl FnOnce() -> Fifo<J>,
) -> impl FnOnce() -> Steps<J, S> {
    let rom = Rom::new(|program| steps_of(program).to_vec());
    let pc = reg::<Bits>("sync_pc", rom.bits());
    let queue = queue();
    let runs = reg::<Bool>("sync_runs", ());
    let step = rom.step(pc.get()).named("sync_step");
    let issued = reg::<Bool>("sync_issued", ());
    move || Steps { rom, queue, runs, pc, issued, step, advance: wire_or("sync_advances", (), false) }
}

/// The unit, with jobs `J` whose steps are `S`; what else it keeps, `O`, is the L1's own.
pub(crate) struct SyncUnit<J: Job, S, O> {
    pub steps: Steps<J, S>,
    pub walk: Walk,
    pub own: O,
}

impl<J: Job, S: CommonSteps, O> SyncUnit<J, S, O> {
    /// The step at work is one of these.
    pub fn is(&self, steps: &[S]) -> Bool {
        self.steps.is(steps)
    }

    /// The operation at work is this one.
    pub fn runs(&self, program: J::Program) -> Bool {
        self.steps.of(program)
    }

    /// A line of the set that a kernel's end looks at.
    pub fn walk_line(&self) -> Bits {
        cat(&[lit_bv(Bv::zero(self.walk.above)), self.walk.set.get()])
    }

    /// Owned ways of the row that a kernel's end has not looked at.
    pub fn walk_ways(&self, owned: Bits) -> Bits {
        owned & !self.walk.done.get()
    }

    /// A slot of a kernel's end, if `here`. `walked`: the owned way at which it is, leaves, if there is one.
    pub fn walks(&self, here: Bool, owned: Bits, walked: Bool) {
        let ways = self.walk_ways(owned);
        when(here & self.is(&[S::GIVE_BACK]), || {
            when(walked, || {
                self.walk.done.set(self.walk.done.get() | (ways & (!ways + 1)));
            })
            .elsewhen(ways.none(), || {
                self.walk.done.set(lit_bv(Bv::zero(self.walk.ways)));
                self.walk.set.set(self.walk.set.get() + 1);
                when(self.walk.set.get().all(), || self.steps.go_on());
            });
        });
    }

    /// Declares the first of what happens beside slots: operations begin, the gate closes and opens.
    pub fn begin(&self, gate: &Reg<Bool>) {
        self.steps.start(|| self.steps.issued.set(false));
        when(self.is(&[S::CLOSE]), || gate.set(true));
        when(self.is(&[S::OPEN]), || gate.set(false));
        self.steps.goes(&[S::CLOSE], bool_lit(true));
        self.steps.goes(&[S::OPEN], bool_lit(true));
    }

    /// Declares the last of it: a kernel's end ends when no line is owned, and goes on when what was given back has `settled`.
    pub fn finish<L: OwnableStates>(&self, lines: &Lines<L>, settled: impl FnOnce() -> Bool) {
        when(self.is(&[S::GIVE_BACK]) & lines.none_owned(), || {
            self.walk.set.set(lit(0, self.walk.set.width()));
            self.walk.done.set(lit_bv(Bv::zero(self.walk.ways)));
            self.steps.go_on();
        });
        self.steps.goes(&[S::SETTLE], settled());
        self.steps.finish(|| self.steps.issued.set(false));
    }

    /// Observes the programs of the block; the operation at work `ends`. `cycles`: what its cycles are counted from and to.
    pub fn observe(&self, block: &str, ends: Bool, cycles: &str) {
        let names = J::Program::VARIANTS.iter().map(|program| (*program, program.label().to_string()));
        self.steps.observe((&format!("srsp.{block}.op"), block), names, ends, cycles);
        self.steps.count_waits(block);
    }
}
