//! Operations of several steps: the I of each gain, fences, begin and end of kernels (srsp.md section 9).

use super::Core;
use super::params::{HlrcInject, HlrcL1Params};
use super::table::{Program, Step};
use crate::msg::SyncOp;
use crate::registering::sync_unit::{self, Walk};
use crate::write_combining::Shape;
use crate::write_combining::op::{place, wide};
use crate::write_combining::steps;
use weft_blocks::common::fifo::Fifo;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// An operation in the queue.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
pub(super) struct Job {
    pub program: Enum<Program>,
    /// Of a gain: whose atomics are to be answered.
    #[width(p.srsp.mshr_bits())]
    pub mshr: Bits,
    /// Of anything else.
    #[width(12)]
    pub id: Bits,
}

impl steps::Job for Job {
    type Program = Program;
    fn program(&self) -> Enum<Program> {
        self.program
    }
}

/// The unit.
pub(super) type SyncUnit = sync_unit::SyncUnit<Job, Step, HlrcL1Params>;

/// Declares the unit.
pub(super) fn declare(p: &HlrcL1Params, shape: &Shape) -> SyncUnit {
    // Each MSHR has one gain at most, which never waits for room.
    let steps = sync_unit::steps(Program::steps, || Fifo::new("sq", p.shape.sq + p.shape.srsp.mshrs, shape));
    SyncUnit { walk: Walk::new(shape), steps: steps(), own: p.clone() }
}

impl SyncUnit {
    /// The queue takes an operation of the CU.
    pub fn room(&self) -> Bool {
        self.steps.queue.count.zext(16).lt(u64::from(self.own.shape.sq))
    }

    /// Puts an operation of the CU into the queue.
    pub fn push(&self, program: Enum<Program>, id: Bits) {
        self.steps.queue.push(&Job { program, mshr: lit(0, self.own.shape.srsp.mshr_bits()), id });
    }

    /// Puts a gain into the queue.
    pub fn push_gain(&self, mshr: Bits) {
        self.steps.queue.push(&Job { program: enum_lit(Program::Gain), mshr, id: lit(0, 12) });
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
        self.walks(here, owned, walked);
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
            data: place(t.word.opnd, wide, self.own.shape.srsp.data_bits()),
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
            mask: lit_bv(Bv::zero(core.p.shape.srsp.line)),
            data: lit_bv(Bv::zero(core.p.shape.srsp.data_bits())),
            src: lit(1, 3),
            merged: bool_lit(false),
        }
    }

    /// Declares the steps beside slots.
    pub fn run(&self, core: &Core) {
        self.begin(&core.gate);
        self.steps.flush(self.is(&[Step::Flush]), &core.drain, &core.sfifo);
        self.steps.goes(&[Step::Flush], self.steps.issued.get() & core.drain.sync.done.get());
        self.finish(&core.arrays, || !core.capture.busy.get() & !core.wbt.some_given_back());
        let open = self.is(&[Step::Drop]) & core.gate_open();
        let fault = bool_lit(core.p.inject == HlrcInject::OpenGate);
        assert_always("hlrc_l1_drop_closed", !open | fault, "lines are dropped while the gate is closed");
    }

    /// The unit ends an operation in this cycle, if the slot is its own (`here`); for observers.
    pub fn ends(&self, core: &Core, here: Bool) -> Bool {
        let left = core.misses.all.waiting(self.steps.queue.head.mshr).left;
        let last = self.is(&[Step::Answer]) & (left & !(left & (!left + 1))).none();
        here & core.replies.room() & (self.is(&[Step::Reply]) | last)
    }
}
