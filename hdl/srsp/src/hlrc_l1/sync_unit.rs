//! Sync unit: carries one operation of several steps out at a time: the I of each gain, fences, begin and end of kernels (srsp.md section 9).
//!
//! | state | values |
//! | --- | --- |
//! | `sync_runs` | the head of the queue is at work |
//! | `sync_pc` | its step's place in the list of all programs |
//! | `sync_issued` | the step has been begun: the drain is waited for |
//! | `walk_set`, `walk_done` | of a kernel's end: the set at work, and its ways that have been looked at |
//!
//! What changes lines or answers the CU is done in a slot; the rest beside slots.

use super::Core;
use super::params::{HlrcInject, HlrcL1Params};
use super::table::{Program, Step};
use crate::msg::SyncOp;
use crate::write_combining::Shape;
use crate::write_combining::op::{place, wide};
use crate::write_combining::steps::{Rom, Steps};
use weft_blocks::common::fifo::Fifo;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// An operation in the queue.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = HlrcL1Params)]
pub(super) struct Job {
    pub program: Enum<Program>,
    /// Of a gain: whose atomics are to be answered.
    #[width(p.srsp.mshr_bits())]
    pub mshr: Bits,
    /// Of anything else.
    #[width(12)]
    pub id: Bits,
}

/// The unit.
pub(super) struct SyncUnit {
    p: HlrcL1Params,
    rom: Rom<Program, Step>,
    pub steps: Steps<Job, Step>,
    walk_set: Reg<Bits>,
    walk_done: Reg<Bits>,
}

impl SyncUnit {
    pub fn new(p: &HlrcL1Params, shape: &Shape) -> SyncUnit {
        let rom = Rom::new(|program: Program| program.steps().to_vec());
        let pc = reg::<Bits>("sync_pc", rom.bits());
        // Each MSHR has one gain at most, which never waits for room.
        let queue = Fifo::new("sq", p.sq + p.srsp.mshrs, p);
        let runs = reg::<Bool>("sync_runs", ());
        let step = rom.step(pc.get()).named("sync_step");
        let issued = reg::<Bool>("sync_issued", ());
        SyncUnit {
            p: p.clone(),
            rom,
            walk_set: reg::<Bits>("walk_set", shape.set_bits()),
            walk_done: reg::<Bits>("walk_done", p.ways),
            steps: Steps { queue, runs, pc, issued, step, advance: wire_or("sync_advances", (), false) },
        }
    }

    /// The step at work is one of these.
    pub fn is(&self, steps: &[Step]) -> Bool {
        self.steps.is(steps)
    }

    /// The operation at work is this one.
    pub fn runs(&self, program: Program) -> Bool {
        self.steps.runs.get() & self.steps.queue.head.program.is(program)
    }

    /// The queue takes an operation of the CU.
    pub fn room(&self) -> Bool {
        self.steps.queue.count.zext(16).lt(u64::from(self.p.sq))
    }

    /// Puts an operation of the CU into the queue.
    pub fn push(&self, program: Enum<Program>, id: Bits) {
        self.steps.queue.push(&Job { program, mshr: lit(0, self.p.srsp.mshr_bits()), id });
    }

    /// Puts a gain into the queue.
    pub fn push_gain(&self, mshr: Bits) {
        self.steps.queue.push(&Job { program: enum_lit(Program::Gain), mshr, id: lit(0, 12) });
    }

    /// A line of the set that a kernel's end looks at.
    pub fn walk_line(&self) -> Bits {
        cat(&[lit_bv(Bv::zero(self.p.srsp.line_bits() - self.walk_set.width())), self.walk_set.get()])
    }

    /// Owned ways of the row that a kernel's end has not looked at.
    pub fn walk_ways(&self, owned: Bits) -> Bits {
        owned & !self.walk_done.get()
    }

    /// Presents the target that is answered next.
    pub fn present(&self, core: &Core) {
        let entry = self.steps.queue.head.mshr;
        core.misses.all.present(entry, core.misses.all.waiting(entry).left.lowest_set());
    }

    /// The next slot is wanted; `here` is true while this one is the unit's.
    pub fn wants(&self, core: &Core, here: Bool) -> Bool {
        let replies = self.is(&[Step::Reply, Step::Answer]) & core.replies.room();
        let walks = self.is(&[Step::GiveBack]) & core.can_capture();
        (self.is(&[Step::Drop]) | replies | walks) & !here
    }

    /// A slot of the unit. `walked`: the owned way at which a kernel's end is, leaves, if there is one.
    pub fn slot(&self, core: &Core, here: Bool, owned: Bits, walked: Bool) {
        let gain = self.steps.queue.head.program.is(Program::Gain);
        when(here & self.is(&[Step::Drop]), || {
            let fault = bool_lit(core.p.inject == HlrcInject::NoGainInv);
            when(!(gain & fault), || core.drop_all());
            when(gain, || core.misses.settle(self.steps.queue.head.mshr));
            self.steps.go_on();
        });
        let ways = self.walk_ways(owned);
        when(here & self.is(&[Step::GiveBack]), || {
            when(walked, || {
                self.walk_done.set(self.walk_done.get() | (ways & (!ways + 1)));
            })
            .elsewhen(ways.none(), || {
                self.walk_done.set(lit_bv(Bv::zero(self.p.ways)));
                self.walk_set.set(self.walk_set.get() + 1);
                when(self.walk_set.get().all(), || self.steps.go_on());
            });
        });
        let answers = here & core.replies.room();
        when(answers & self.is(&[Step::Reply]), || {
            core.replies.send(&self.done(core));
            self.steps.end();
        });
        when(answers & self.is(&[Step::Answer]), || self.answer_next(core));
    }

    /// Answers an atomic of a gain.
    fn answer_next(&self, core: &Core) {
        let (misses, entry) = (&core.misses, self.steps.queue.head.mshr);
        let left = misses.all.waiting(entry).left;
        let (here, t) = (left & (!left + 1), misses.all.target());
        let wide = wide(t.word.mask);
        core.replies.send(&CuRsp {
            id: t.word.id,
            kind: mux(t.what.op.is(SyncOp::St), lit(1, 2), lit(0, 2)),
            mask: t.word.mask,
            data: place(t.word.opnd, wide, self.p.srsp.data_bits()),
            src: mux(misses.came_from_l2(entry), lit(1, 3), lit(3, 3)),
            merged: !here.bit(0),
        });
        misses.all.leave(entry, left & !here);
        when((left & !here).none(), || self.steps.end());
    }

    /// The answer without data.
    fn done(&self, core: &Core) -> CuRsp {
        CuRsp {
            id: self.steps.queue.head.id,
            kind: lit(1, 2),
            mask: lit_bv(Bv::zero(core.p.srsp.line)),
            data: lit_bv(Bv::zero(core.p.srsp.data_bits())),
            src: lit(1, 3),
            merged: bool_lit(false),
        }
    }

    /// Declares the steps beside slots.
    pub fn run(&self, core: &Core) {
        when(self.steps.begins(), || {
            self.steps.runs.set(true);
            self.steps.pc.set(self.rom.start(self.steps.queue.head.program));
            self.steps.issued.set(false);
        });
        let goes = |step: Step, cond: Bool| self.steps.goes(&[step], cond);
        when(self.is(&[Step::Close]), || core.gate.set(true));
        when(self.is(&[Step::Open]), || core.gate.set(false));
        goes(Step::Close, bool_lit(true));
        goes(Step::Open, bool_lit(true));
        self.steps.flush(self.is(&[Step::Flush]), &core.drain, &core.sfifo);
        goes(Step::Flush, self.steps.issued.get() & core.drain.sync.done.get());
        when(self.is(&[Step::GiveBack]) & core.arrays.none_owned(), || {
            self.walk_set.set(lit(0, self.walk_set.width()));
            self.walk_done.set(lit_bv(Bv::zero(self.p.ways)));
            self.steps.go_on();
        });
        goes(Step::Settle, !core.capture.busy.get() & !core.wbt.some_given_back());
        self.steps.finish(|| self.steps.issued.set(false));
        let open = self.is(&[Step::Drop]) & core.gate_open();
        let fault = bool_lit(core.p.inject == HlrcInject::OpenGate);
        assert_always("hlrc_l1_drop_closed", !open | fault, "lines are dropped while the gate is closed");
    }

    /// Counters and covers of the unit.
    pub fn observe(&self, core: &Core, here: Bool) {
        let left = core.misses.all.waiting(self.steps.queue.head.mshr).left;
        let last = self.is(&[Step::Answer]) & (left & !(left & (!left + 1))).none();
        let ends = here & core.replies.room() & (self.is(&[Step::Reply]) | last);
        for program in Program::VARIANTS {
            let mine = self.steps.queue.head.program.is(*program);
            let (names, cycles) = (("srsp.hlrc_l1.op", "hlrc_l1"), "cycles from begin to the last answer");
            self.steps.observe(names, program.label(), [mine, ends], cycles);
        }
        self.steps.count_waits("hlrc_l1");
    }
}
