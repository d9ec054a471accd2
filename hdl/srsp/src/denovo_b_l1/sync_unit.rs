//! Sync unit: carries one operation of several steps out at a time: accesses that release, acquires and their I, fences, begin and end of kernels (denovo-b.md).
//!
//! | state | values |
//! | --- | --- |
//! | `sync_runs` | the head of the queue is at work |
//! | `sync_pc` | its step's place in the list of all programs |
//! | `sync_issued` | the step has been begun: the drain is waited for |
//! | `sync_old` | old value of its access, which acquires |
//! | `acquires_held` | acquires that wait in MSHRs: each has a place in the queue |
//! | `acquires_done` | acquires that are performed and have not dropped: while there are some, the gate is closed |
//! | `walk_set`, `walk_done` | of a kernel's end: the set at work, and its ways that have been looked at |
//!
//! What changes lines or answers the CU is done in a slot; the rest beside slots.

use super::Core;
use super::arrays::Ways;
use super::misses::Target;
use super::params::{DenovoInject, DenovoL1Params};
use super::table::{Program, Step};
use crate::msg::SyncOp;
use crate::write_combining::Shape;
use crate::write_combining::op::{Op, place, wide};
use crate::write_combining::steps::{Rom, Steps};
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

/// The unit.
pub(super) struct SyncUnit {
    p: DenovoL1Params,
    rom: Rom<Program, Step>,
    pub steps: Steps<Job, Step>,
    old: Reg<Bits>,
    held: Acquires,
    done: Acquires,
    walk_set: Reg<Bits>,
    walk_done: Reg<Bits>,
}

impl SyncUnit {
    pub fn new(p: &DenovoL1Params, shape: &Shape) -> SyncUnit {
        let rom = Rom::new(|program: Program| program.steps().to_vec());
        let pc = reg::<Bits>("sync_pc", rom.bits());
        let queue = Fifo::new("sq", p.sq, shape);
        let runs = reg::<Bool>("sync_runs", ());
        let step = rom.step(pc.get()).named("sync_step");
        let issued = reg::<Bool>("sync_issued", ());
        SyncUnit {
            p: p.clone(),
            rom,
            steps: Steps { queue, runs, pc, issued, step, advance: wire_or("sync_advances", (), false) },
            old: reg::<Bits>("sync_old", 64).field("pipeline"),
            held: Acquires::new("held", p.sq),
            done: Acquires::new("done", p.sq),
            walk_set: reg::<Bits>("walk_set", shape.set_bits()),
            walk_done: reg::<Bits>("walk_done", p.ways),
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

    /// An operation of the CU may come: of those in the queue and the acquires in MSHRs there are fewer than the queue has places.
    pub fn room(&self) -> Bool {
        let taken = self.steps.queue.count.zext(16) + self.held.count.get().zext(16);
        taken.lt(u64::from(self.p.sq))
    }

    /// Some acquire is performed whose copies are not dropped.
    pub fn acquired(&self) -> Bool {
        self.done.count.get().any()
    }

    /// Puts an operation of the CU into the queue.
    pub fn push(&self, program: Enum<Program>, op: &Op) {
        let target = Target::of(op, op.acquires());
        self.steps.queue.push(&Job { program, target, line: op.line, from_l2: bool_lit(false) });
    }

    /// An acquire goes into an MSHR.
    pub fn hold(&self) {
        self.held.up.set(true);
    }

    /// REG_DATA has performed an acquire, whose operand is the old value by now.
    pub fn push_acquired(&self, target: &Target, line: Bits, from_l2: Bool) {
        self.held.down.set(true);
        self.done.up.set(true);
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
            self.old.set(old);
            self.done.up.set(true);
            self.steps.go_on();
        })
        .otherwise(|| self.steps.end());
    }

    /// Line of the unit's slot: that of the access, or one of the set that a kernel's end looks at.
    pub fn line(&self) -> Bits {
        let above = lit_bv(Bv::zero(self.p.srsp.line_bits() - self.walk_set.width()));
        mux(self.is(&[Step::Access]), self.steps.queue.head.line, cat(&[above, self.walk_set.get()]))
    }

    /// Owned ways of the row that a kernel's end has not looked at.
    pub fn walk_ways(&self, owned: Bits) -> Bits {
        owned & !self.walk_done.get()
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
            when(access, || self.done.down.set(true));
            self.steps.go_on();
        });
        let ways = self.walk_ways(ways.owned);
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
        let old = mux(later, word.opnd, self.old.get());
        let store = job.target.waiter.what.op.is(SyncOp::St);
        let zero = |bits: u32| lit_bv(Bv::zero(bits));
        let from = mux(later, mux(job.from_l2, lit(1, 3), lit(3, 3)), lit(0, 3));
        CuRsp {
            id: word.id,
            kind: mux(store | !access, lit(1, 2), lit(0, 2)),
            mask: mux(access, word.mask, zero(core.p.srsp.line)),
            data: place(old, wide(word.mask), core.p.srsp.data_bits()),
            src: mux(access, from, lit(1, 3)),
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
        let flushes: &[Step] = match core.p.inject {
            DenovoInject::EarlyRelease => &[Step::Flush],
            _ => &[Step::Flush, Step::Register],
        };
        self.steps.flush(self.is(flushes), &core.drain, &core.sfifo);
        self.steps.goes(flushes, self.steps.issued.get() & core.drain.sync.done.get());
        if core.p.inject == DenovoInject::EarlyRelease {
            goes(Step::Register, bool_lit(true));
        }
        when(self.is(&[Step::GiveBack]) & core.arrays.none_owned(), || {
            self.walk_set.set(lit(0, self.walk_set.width()));
            self.walk_done.set(lit_bv(Bv::zero(self.p.ways)));
            self.steps.go_on();
        });
        goes(Step::Settle, !core.unregs.some());
        self.steps.finish(|| self.steps.issued.set(false));
        [&self.held, &self.done].into_iter().for_each(Acquires::connect);
        let open = self.is(&[Step::Drop]) & core.gate_open();
        assert_always("denovo_b_l1_drop_closed", !open, "lines are dropped while the gate is closed");
        let most = self.steps.queue.count.zext(16) + self.held.count.get().zext(16);
        let text = "every acquire in an MSHR has a place in the queue";
        assert_always("denovo_b_l1_acquires", most.le(u64::from(self.p.sq)), text);
    }

    /// Counters and covers of the unit; `ends`: an access has ended the operation in this cycle.
    pub fn observe(&self, core: &Core, here: Bool, ends: Bool) {
        let ends = ends | (here & core.replies.room() & self.is(&[Step::Answer]));
        for program in Program::VARIANTS {
            let mine = self.steps.queue.head.program.is(*program);
            let (names, cycles) = (("srsp.denovo_b_l1.op", "denovo_b_l1"), "cycles from begin to end");
            self.steps.observe(names, program.label(), [mine, ends], cycles);
        }
        self.steps.count_waits("denovo_b_l1");
    }
}
