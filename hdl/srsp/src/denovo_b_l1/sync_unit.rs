//! Operations of several steps: accesses that release, acquires and their I, fences, begin and end of kernels (denovo-b.md).
//!
//! | state | values |
//! | --- | --- |
//! | `sync_old` | old value of its access, which acquires |
//! | `acquires_held` | acquires that wait in MSHRs: each has a place in the queue |
//! | `acquires_done` | acquires that are performed and have not dropped: while there are some, the gate is closed |

use super::Core;
use super::arrays::Ways;
use super::misses::Target;
use super::params::{DenovoInject, DenovoL1Params};
use super::table::{Program, Step};
use crate::msg::SyncOp;
use crate::registering::sync_unit::{self, Walk};
use crate::write_combining::Shape;
use crate::write_combining::op::{Op, place, wide};
use crate::write_combining::steps;
use weft_blocks::common::fifo::Fifo;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// An operation in the queue.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
pub(super) struct Job {
    pub program: Enum<Program>,
    /// Its access, whose operand is the old value if it is performed; of others the number alone counts.
    #[shape(p.clone())]
    pub target: Target,
    /// Line of the access.
    #[width(p.srsp.line_bits())]
    pub line: Bits,
    /// It was performed on a line that came from the L2, not from memory.
    pub from_l2: Bool,
}

impl steps::Job for Job {
    type Program = Program;
    fn program(&self) -> Enum<Program> {
        self.program
    }
}

/// A number of acquires.
struct Acquires {
    count: Reg<Bits>,
    up: Wire<Bool>,
    down: Wire<Bool>,
}

impl Acquires {
    fn new(name: &str, most: u32) -> Acquires {
        Acquires {
            count: reg::<Bits>(&format!("acquires_{name}"), bits_for(u64::from(most) + 1)).field("queue"),
            up: wire_or::<Bool>(&format!("acquires_{name}_up"), (), false),
            down: wire_or::<Bool>(&format!("acquires_{name}_down"), (), false),
        }
    }

    fn connect(&self) {
        let (up, down) = (self.up.get(), self.down.get());
        when(up & !down, || self.count.set(self.count.get() + 1));
        when(down & !up, || self.count.set(self.count.get() - 1));
    }
}

/// What the unit keeps of acquires.
pub(super) struct Own {
    p: DenovoL1Params,
    old: Reg<Bits>,
    held: Acquires,
    done: Acquires,
}

/// The unit.
pub(super) type SyncUnit = sync_unit::SyncUnit<Job, Step, Own>;

/// Declares the unit.
pub(super) fn declare(p: &DenovoL1Params, shape: &Shape) -> SyncUnit {
    let steps = sync_unit::steps(Program::steps, || Fifo::new("sq", p.shape.sq, shape));
    let steps = steps();
    let own = Own {
        p: p.clone(),
        old: reg::<Bits>("sync_old", 64).field("pipeline"),
        held: Acquires::new("held", p.shape.sq),
        done: Acquires::new("done", p.shape.sq),
    };
    SyncUnit { steps, own, walk: Walk::new(shape) }
}

impl SyncUnit {
    /// An operation of the CU may come: of those in the queue and the acquires in MSHRs there are fewer than the queue has places.
    pub fn room(&self) -> Bool {
        let taken = self.steps.queue.count.zext(16) + self.own.held.count.get().zext(16);
        taken.lt(u64::from(self.own.p.shape.sq))
    }

    /// Some acquire is performed whose copies are not dropped.
    pub fn acquired(&self) -> Bool {
        self.own.done.count.get().any()
    }

    /// Puts an operation of the CU into the queue.
    pub fn push(&self, program: Enum<Program>, op: &Op) {
        let target = Target::of(op, op.acquires());
        self.steps.queue.push(&Job { program, target, line: op.line, from_l2: bool_lit(false) });
    }

    /// An acquire goes into an MSHR.
    pub fn hold(&self) {
        self.own.held.up.set(true);
    }

    /// REG_DATA has performed an acquire, whose operand is the old value by now.
    pub fn push_acquired(&self, target: &Target, line: Bits, from_l2: Bool) {
        self.own.held.down.set(true);
        self.own.done.up.set(true);
        let program = enum_lit(Program::Acquired);
        self.steps.queue.push(&Job { program, target: *target, line, from_l2 });
    }

    /// The access of the operation at work.
    pub fn access(&self, shape: &Shape) -> Op {
        let job = &self.steps.queue.head;
        job.target.again(job.line, shape)
    }

    /// The access is done: it `acquires` on an owned line, where it found `old`, or it is over.
    pub fn accessed(&self, acquires: Bool, old: Bits) {
        when(acquires, || {
            self.own.old.set(old);
            self.own.done.up.set(true);
            self.steps.go_on();
        })
        .otherwise(|| self.steps.end());
    }

    /// Line of the unit's slot: that of the access, or one of the set that a kernel's end looks at.
    pub fn line(&self) -> Bits {
        mux(self.is(&[Step::Access]), self.steps.queue.head.line, self.walk_line())
    }

    /// The next slot is wanted; `here` is true while this one is the unit's, which lets others go between.
    pub fn wants(&self, core: &Core, here: Bool) -> Bool {
        let answers = self.is(&[Step::Answer]) & core.replies.room();
        // Without owned lines the step ends beside slots, and with it the line that a slot would look at.
        let walks = self.is(&[Step::GiveBack]) & core.can_give_back() & !core.arrays.none_owned();
        (self.is(&[Step::Drop, Step::Access]) | answers | walks) & !here
    }

    /// A slot of the unit, but for an access. `walked`: the owned way at which a kernel's end is, leaves, if there is one.
    pub fn slot(&self, core: &Core, here: Bool, ways: &Ways, walked: Bool) {
        let access = self.steps.queue.head.program.is_any(&Program::ACCESSES);
        when(here & self.is(&[Step::Drop]), || {
            if core.p.inject != DenovoInject::KeepsCopies {
                core.drop_all();
            }
            when(access, || self.own.done.down.set(true));
            self.steps.go_on();
        });
        self.walks(here, ways.owned, walked);
        when(here & self.is(&[Step::Answer]) & core.replies.room(), || {
            core.replies.send(&self.answer(core, access));
            self.steps.end();
        });
    }

    /// The answer to an access, or one without data.
    fn answer(&self, core: &Core, access: Bool) -> CuRsp {
        let job = &self.steps.queue.head;
        let word = &job.target.waiter.word;
        let later = job.program.is(Program::Acquired);
        let old = mux(later, word.opnd, self.own.old.get());
        let store = job.target.waiter.what.op.is(SyncOp::St);
        let zero = |bits: u32| lit_bv(Bv::zero(bits));
        let from = mux(later, mux(job.from_l2, lit(1, 3), lit(3, 3)), lit(0, 3));
        CuRsp {
            id: word.id,
            kind: mux(store | !access, lit(1, 2), lit(0, 2)),
            mask: mux(access, word.mask, zero(core.p.shape.srsp.line)),
            data: place(old, wide(word.mask), core.p.shape.srsp.data_bits()),
            src: mux(access, from, lit(1, 3)),
            merged: bool_lit(false),
        }
    }

    /// Declares the steps beside slots.
    pub fn run(&self, core: &Core) {
        self.begin(&core.gate);
        let flushes: &[Step] = match core.p.inject {
            DenovoInject::EarlyRelease => &[Step::Flush],
            _ => &[Step::Flush, Step::Register],
        };
        self.steps.flush(self.is(flushes), &core.drain, &core.sfifo);
        self.steps.goes(flushes, self.steps.issued.get() & core.drain.sync.done.get());
        if core.p.inject == DenovoInject::EarlyRelease {
            self.steps.goes(&[Step::Register], bool_lit(true));
        }
        self.finish(&core.arrays, || !core.unregs.some());
        [&self.own.held, &self.own.done].into_iter().for_each(Acquires::connect);
        let open = self.is(&[Step::Drop]) & core.gate_open();
        assert_always("denovo_b_l1_drop_closed", !open, "lines are dropped while the gate is closed");
        let most = self.steps.queue.count.zext(16) + self.own.held.count.get().zext(16);
        let text = "every acquire in an MSHR has a place in the queue";
        assert_always("denovo_b_l1_acquires", most.le(u64::from(self.own.p.shape.sq)), text);
    }
}
