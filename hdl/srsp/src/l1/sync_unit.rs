//! Sync unit: carries one operation of several steps out at a time, step by step from the ROM of [`micro`](super::micro) (srsp.md section 5.1).
//!
//! | state | values |
//! | --- | --- |
//! | `sync_runs` | the head of the queue is at work |
//! | `sync_pc` | its step's place in the ROM |
//! | `sync_issued` | the step has been begun: an answer is waited for |
//! | `sync_got` | the answer is in |
//! | `sync_holds` | from OwnLine to the answer: nobody here touches the line (the paper's `su_line` is the head's address) |
//! | `packs_due` | PACKs still to come |
//!
//! What changes lines, sends to the L2 or answers the CU is done in a slot; the rest beside slots.

use super::Core;
use super::micro::{Micro, Program, rom, steps};
use super::params::{Inject, L1Params};
use crate::Shape;
use crate::msg::{Atomic, Cast, Pack, Probe, ProbeOp, Req, ReqOp, Rsp, RspOp, SyncOp, Wb, WbOp, Written};
use crate::write_combining::op::{Kind, Op, place};
use crate::write_combining::steps::{self as several, Steps};
use weft_blocks::common::fifo::Fifo;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// An operation in the queue.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
pub(super) struct Job {
    pub program: Enum<Program>,
    /// It has an access; `mask` says where.
    #[shape(p.srsp)]
    pub atomic: Atomic,
    #[width(p.srsp.line)]
    pub mask: Bits,
    /// It is answered without data.
    pub ack: Bool,
    #[width(12)]
    pub id: Bits,
}

impl several::Job for Job {
    type Program = Program;
    fn program(&self) -> Enum<Program> {
        self.program
    }
}

/// The unit.
pub(super) struct SyncUnit {
    pub steps: Steps<Job, Micro>,
    got: Reg<Bool>,
    holds: Reg<Bool>,
    wrote: Reg<Bool>,
    old: Reg<Bits>,
    from_l2: Reg<Bool>,
    told: Reg<Bits>,
    acks: Reg<Bits>,
    due: Reg<Bits>,
    any_hit: Reg<Bool>,
    predicted: Option<(Reg<Bool>, Reg<Bits>)>,
    cast: OutChannel<Cast>,
}

impl SyncUnit {
    pub fn new(p: &L1Params) -> SyncUnit {
        let rom = rom(p.system, p.inject);
        let pc = reg::<Bits>("sync_pc", rom.bits());
        let runs = reg::<Bool>("sync_runs", ());
        let step = rom.step(pc.get()).named("sync_step");
        let banks = bits_for(u64::from(p.shape.srsp.banks) + 1);
        let queue = Fifo::new("sq", p.shape.sq + 1, &p.shape);
        let issued = reg::<Bool>("sync_issued", ());
        SyncUnit {
            got: reg::<Bool>("sync_got", ()),
            holds: reg::<Bool>("sync_holds", ()),
            wrote: reg::<Bool>("sync_wrote", ()),
            old: reg::<Bits>("sync_old", 64).field("pipeline"),
            from_l2: reg::<Bool>("sync_from_l2", ()),
            told: reg::<Bits>("sync_told", banks),
            acks: reg::<Bits>("sync_acks", banks),
            due: reg::<Bits>("packs_due", bits_for(u64::from(p.shape.srsp.cus) + 1)),
            any_hit: reg::<Bool>("packs_hit", ()),
            predicted: p
                .predicts()
                .then(|| (reg::<Bool>("sf_predicted", ()), reg::<Bits>("sf_to", p.shape.srsp.cu_bits()))),
            cast: out_channel::<Cast>("probe_out", &p.shape.srsp),
            steps: Steps { rom, queue, runs, pc, issued, step, advance: wire_or("sync_advances", (), false) },
        }
    }

    fn is(&self, steps: &[Micro]) -> Bool {
        self.steps.is(steps)
    }

    /// Line of the operation at work.
    pub fn line(&self, p: &L1Params) -> Bits {
        p.shape.srsp.line_of(self.steps.queue.head.atomic.addr)
    }

    /// Nobody may touch a line now.
    pub fn holds_line(&self, p: &L1Params, line: Bits) -> Bool {
        self.holds.get() & self.line(p).eq(line)
    }

    /// A remote operation is at work.
    pub fn remote(&self) -> Bool {
        self.steps.runs.get() & self.steps.queue.head.program.is_any(&Program::REMOTE)
    }

    /// The operation at work is on this address.
    pub fn same_word(&self, addr: Bits) -> Bool {
        self.steps.runs.get() & self.steps.queue.head.atomic.addr.eq(addr)
    }

    /// A promoted acquire has done its atomic at the L2 and not yet dropped the lines here.
    pub fn between_atomic_and_drop(&self) -> Bool {
        let promoted = self.steps.queue.head.program.is_any(&[Program::PromotedAcq, Program::PromotedAr]);
        self.is(&[Micro::Close, Micro::Flush, Micro::Drop]) & promoted & self.holds.get()
    }

    /// Puts an operation into the queue.
    pub fn push(&self, program: Enum<Program>, op: &Op) {
        let ack = op.op.is(SyncOp::St) | !op.kind.is(Kind::Sync);
        let mask = mux(op.kind.is(Kind::Sync), op.mask, lit_bv(Bv::zero(op.mask.width())));
        self.steps.queue.push(&Job { program, atomic: op.atomic(), mask, ack, id: op.id });
    }

    /// The step changes the own line.
    pub fn needs_inv(&self) -> Bool {
        self.is(&[Micro::OwnLine]) & !self.steps.issued.get()
    }

    fn needs_req(&self, p: &L1Params) -> Bool {
        let one = self.is(&[Micro::Atm, Micro::AtmSys, Micro::Lock, Micro::Token]) & !self.steps.issued.get();
        let all =
            self.is(&[Micro::SysFlush, Micro::SysInv]) & self.told.get().ne(u64::from(p.shape.srsp.banks));
        one | all
    }

    fn needs_wb(&self) -> Bool {
        let op = self.is(&[Micro::RemOp, Micro::RemKeep]) & !self.steps.issued.get();
        op | (self.is(&[Micro::Unlock]) & self.wrote.get()) | self.is(&[Micro::TokenRel])
    }

    fn needs_drop(&self) -> Bool {
        self.is(&[Micro::Drop, Micro::Forget])
    }

    /// The next slot is wanted; `here` is true while this one is the unit's.
    pub fn wants(&self, core: &Core, here: Bool) -> Bool {
        let sends = (self.needs_req(&core.p) & core.req.free) | (self.needs_wb() & core.wb.free);
        let reply = self.is(&[Micro::Reply]);
        (self.needs_inv() | sends | self.needs_drop() | reply) & !here
    }

    /// A slot of the unit; `inv_goes` says that the own line can leave. True when lines are dropped.
    pub fn slot(&self, core: &Core, here: Bool, inv_goes: Bool) {
        when(here & self.needs_inv() & inv_goes, || {
            self.steps.issued.set(true);
            self.holds.set(true);
        });
        when(here & self.needs_req(&core.p) & core.req.free, || {
            core.req.send(&self.request(core));
            self.steps.issued.set(true);
            when(self.is(&[Micro::SysFlush, Micro::SysInv]), || self.told.set(self.told.get() + 1));
        });
        when(here & self.needs_wb() & core.wb.free, || {
            core.wb.send(&self.message(core));
            self.steps.issued.set(true);
            when(self.is(&[Micro::Unlock, Micro::TokenRel]), || self.steps.go_on());
        });
        when(here & self.needs_drop(), || {
            match core.p.inject {
                Inject::KeepsCopies => {
                    when(self.steps.step.is(Micro::Forget), || core.drop_all());
                }
                _ => core.drop_all(),
            }
            self.steps.go_on();
            if let Some(aff) = &core.aff {
                when(self.is(&[Micro::Forget]), || aff.clear());
            }
        });
        when(here & self.is(&[Micro::Reply]) & core.replies.room(), || {
            core.replies.send(&self.answer(&core.p));
            self.steps.end();
            self.holds.set(false);
        });
    }

    /// An own flash-inv happens in a slot of the unit.
    pub fn drops(&self, here: Bool) -> Bool {
        here & self.needs_drop()
    }

    fn request(&self, core: &Core) -> Req {
        let p = &core.p.shape.srsp;
        let kind = |op: ReqOp| enum_lit(op);
        let op = mux(self.steps.step.is(Micro::Lock), kind(ReqOp::RemLock), kind(ReqOp::Atm));
        let op = mux(self.steps.step.is(Micro::Token), kind(ReqOp::Token), op);
        let op = mux(self.steps.step.is(Micro::SysFlush), kind(ReqOp::SysFlush), op);
        let op = mux(self.steps.step.is(Micro::SysInv), kind(ReqOp::SysInv), op);
        // What is for a bank and not for an address has an address of that bank.
        let bank = cat(&[self.told.get(), lit(0, p.line.trailing_zeros())]).zext(p.addr_bits);
        let to_bank = self.steps.step.is_any(&[Micro::SysFlush, Micro::SysInv, Micro::Token]);
        let mut atomic = self.steps.queue.head.atomic;
        atomic.addr = mux(to_bank, bank, atomic.addr);
        let sys = self.steps.step.is(Micro::AtmSys);
        Req { op, src: core.own, mshr: lit(0, p.mshr_bits()), sys, atomic }
    }

    fn message(&self, core: &Core) -> Wb {
        let p = &core.p.shape.srsp;
        let kind = |op: WbOp| enum_lit(op);
        let op = mux(self.steps.step.is(Micro::Unlock), kind(WbOp::RemUnlock), kind(WbOp::RemOp));
        let token = self.steps.step.is(Micro::TokenRel);
        let mut atomic = self.steps.queue.head.atomic;
        atomic.addr = mux(token, lit(0, p.addr_bits), atomic.addr);
        Wb {
            op: mux(token, kind(WbOp::TokenRel), op),
            src: core.own,
            atomic,
            keep: self.steps.step.is(Micro::RemKeep),
            has: bool_lit(false),
            written: Written {
                wbt: lit(0, p.wbt_bits()),
                epoch: lit(0, 1),
                mask: lit_bv(Bv::zero(p.line)),
                data: lit_bv(Bv::zero(p.data_bits())),
            },
        }
    }

    fn answer(&self, p: &L1Params) -> CuRsp {
        let job = &self.steps.queue.head;
        CuRsp {
            id: job.id,
            kind: mux(job.ack, lit(1, 2), lit(0, 2)),
            mask: job.mask,
            data: place(self.old.get(), job.atomic.wide, p.shape.srsp.data_bits()),
            src: mux(self.from_l2.get(), lit(1, 3), lit(3, 3)),
            merged: bool_lit(false),
        }
    }

    /// A response that is no FILL and no WB_ACK.
    pub fn take(&self, p: &L1Params, here: Bool, m: &Rsp) {
        let value = m.op.is_any(&[RspOp::AtmRsp, RspOp::RemRsp]);
        let grant = m.op.is_any(&[RspOp::RemGrant, RspOp::TokenGrant]);
        when(here & (value | grant), || self.got.set(true));
        when(here & value, || {
            self.old.set(m.data.slice(0, 64));
            self.wrote.set(m.wrote);
            self.from_l2.set(m.hit);
        });
        when(here & m.op.is(RspOp::SysAck), || self.acks.set(self.acks.get() + 1));
        let pairs: [(RspOp, &[Micro]); 5] = [
            (RspOp::AtmRsp, &[Micro::Atm, Micro::AtmSys]),
            (RspOp::RemRsp, &[Micro::RemOp, Micro::RemKeep]),
            (RspOp::RemGrant, &[Micro::Lock]),
            (RspOp::TokenGrant, &[Micro::Token]),
            (RspOp::SysAck, &[Micro::SysFlush, Micro::SysInv]),
        ];
        let expected: Vec<Bool> = pairs.iter().map(|(op, steps)| m.op.is(*op) & self.is(steps)).collect();
        let text = "a response of the L2 is one that the step at work waits for";
        let once = !self.got.get() | m.op.is(RspOp::SysAck);
        let fine = any_of(&expected) & self.steps.issued.get() & once;
        assert_always("srsp_l1_answer_expected", !here | fine, text);
        let over = here & m.op.is(RspOp::SysAck) & self.acks.get().eq(u64::from(p.shape.srsp.banks));
        assert_always("srsp_l1_sys_acks", !over, "a bank answers a command of system scope once");
    }

    /// A PACK comes.
    pub fn pack(&self, core: &Core, here: Bool, m: &Pack) {
        when(here, || {
            self.due.set(self.due.get() - 1);
            when(m.hit, || self.any_hit.set(true));
        });
        if let Some(aff) = &core.aff {
            when(here & m.hit, || aff.learn(self.steps.queue.head.atomic.addr, m.src));
        }
        let text = "no more PACKs come than L1s were asked";
        assert_always("srsp_l1_pack_due", !here | self.due.get().any(), text);
        assert_always("srsp_l1_pack_dst", !here | m.dst.eq(core.own), "a PACK comes to the L1 that asked");
    }

    /// Declares the steps beside slots.
    pub fn run(&self, core: &Core) {
        self.steps.start(|| {
            self.wrote.set(true);
            self.from_l2.set(true);
            self.begin();
        });
        self.local_steps(core);
        self.casts(core);
        self.steps.finish(|| self.begin());
        let gate = self.is(&[Micro::Drop, Micro::Forget]) & !core.gate.own.get();
        let faulty = bool_lit(core.p.inject == Inject::OpenGate);
        assert_always("srsp_l1_drop_closed", !gate | faulty, "lines are dropped while the gate is closed");
    }

    fn begin(&self) {
        self.steps.issued.set(false);
        self.got.set(false);
        self.told.set(lit(0, self.told.width()));
        self.acks.set(lit(0, self.acks.width()));
    }

    fn local_steps(&self, core: &Core) {
        let goes = |steps: &[Micro], cond: Bool| self.steps.goes(steps, cond);
        let remote = self.steps.queue.head.program.is_any(&Program::REMOTE);
        let stays = if core.p.inject == Inject::OpenGate { remote } else { bool_lit(false) };
        when(self.is(&[Micro::Close]), || core.gate.own.set(!stays));
        when(self.is(&[Micro::Open]), || core.gate.own.set(false));
        goes(&[Micro::Close, Micro::Open], bool_lit(true));
        let flushed = self.steps.issued.get() & core.drain.sync.done.get();
        let (flushes, flushed) = match core.p.inject {
            Inject::EarlyRelease => {
                let early = self.steps.queue.head.program.is_any(&Program::RELEASES);
                (self.is(&[Micro::Flush]) & !early, flushed | early)
            }
            _ => (self.is(&[Micro::Flush]), flushed),
        };
        self.steps.flush(flushes, &core.drain, &core.sfifo);
        goes(&[Micro::Flush], flushed);
        goes(&[Micro::OwnLine], self.steps.issued.get() & !core.wbt.table.has(self.line(&core.p)));
        let answered = [Micro::Atm, Micro::AtmSys, Micro::Lock, Micro::Token, Micro::RemOp, Micro::RemKeep];
        goes(&answered, self.got.get());
        goes(&[Micro::Unlock], !self.wrote.get());
        goes(&[Micro::SysFlush, Micro::SysInv], self.acks.get().eq(u64::from(core.p.shape.srsp.banks)));
    }

    fn casts(&self, core: &Core) {
        let p = &core.p.shape.srsp;
        let all = [
            (Micro::CastFlush, ProbeOp::SelFlush),
            (Micro::CastInv, ProbeOp::SelInv),
            (Micro::CastLock, ProbeOp::LockFlush),
            (Micro::CastUnlock, ProbeOp::InvUnlock),
            (Micro::CastAll, ProbeOp::InvAll),
            (Micro::CastFlushAll, ProbeOp::FlushAll),
        ];
        let first = enum_lit(ProbeOp::SelFlush);
        let kind =
            all.iter().fold(first, |rest, (step, op)| mux(self.steps.step.is(*step), enum_lit(*op), rest));
        let invalidates = self.is(&[Micro::CastInv, Micro::CastAll]);
        let skips = (invalidates & !self.wrote.get()) | bool_lit(p.cus == 1);
        let casting = self.is(&all.map(|pair| pair.0));
        let (to_one, one) = self.predict(core);
        let width = self.due.width();
        when(casting & (skips | self.cast.free), || {
            self.steps.go_on();
            self.any_hit.set(false);
            when(!skips, || {
                let dst = mux(to_one, one.one_hot(p.cus), !core.own.one_hot(p.cus));
                self.cast.send(&self.cast_of(core, kind, dst));
                self.due.set(mux(to_one, lit(1, width), lit(u64::from(p.cus.max(2) - 1), width)));
                if let Some((predicted, to)) = &self.predicted {
                    predicted.set(to_one);
                    to.set(one);
                }
            });
        });
        let done = self.is(&[Micro::Collect]) & self.due.get().none();
        let again = self.ask_others(core, done);
        when(done & !again, || self.steps.go_on());
        if let Some((predicted, _)) = &self.predicted {
            let right = done & predicted.get() & self.any_hit.get();
            count("srsp_l1_aff_correct", right, "predictions that were right");
            let absent = self.is(&[Micro::CastFlush]) & !to_one & self.cast.free;
            count("srsp_l1_aff_absent", absent, "SEL_FLUSHes without a prediction");
            cover("srsp.race.aff_right", right, "only the predicted L1 is asked");
        }
    }

    fn cast_of(&self, core: &Core, op: Enum<ProbeOp>, dst: Bits) -> Cast {
        Cast { probe: Probe { op, addr: self.steps.queue.head.atomic.addr, req: core.own }, dst }
    }

    /// Whether a SEL_FLUSH goes to one L1 only, and to which.
    fn predict(&self, core: &Core) -> (Bool, Bits) {
        let Some(aff) = &core.aff else { return (bool_lit(false), lit(0, core.p.shape.srsp.cu_bits())) };
        let (hit, cu) = aff.look(self.steps.queue.head.atomic.addr);
        (self.steps.step.is(Micro::CastFlush) & hit & cu.ne(core.own), cu)
    }

    /// A predicted L1 had no release of the address: the others are asked. True while that is to be done.
    fn ask_others(&self, core: &Core, done: Bool) -> Bool {
        let p = &core.p.shape.srsp;
        let Some((predicted, to)) = self.predicted.as_ref().filter(|_| p.cus > 2) else {
            return bool_lit(false);
        };
        let again = done & predicted.get() & !self.any_hit.get();
        when(again & self.cast.free, || {
            let rest = !(core.own.one_hot(p.cus) | to.get().one_hot(p.cus));
            self.cast.send(&self.cast_of(core, enum_lit(ProbeOp::SelFlush), rest));
            self.due.set(lit(u64::from(p.cus - 2), self.due.width()));
            predicted.set(false);
        });
        let text = "the predicted L1 has no release of the address: the others are asked";
        cover("srsp.race.aff_wrong", again, text);
        count("srsp_l1_aff_negative", again & self.cast.free, "predictions that were wrong");
        again
    }

    /// Flushes and invalidations by what they are for.
    fn causes(&self, core: &Core, here: Bool) {
        use Program::*;
        let flushes = self.is(&[Micro::Flush]) & !self.steps.issued.get();
        let drops = self.drops(here);
        let releases = [RelCmp, ArCmp, RelSys, ArSys, PromotedAr, FenceRelCmp, FenceRelSys];
        let acquires = [AcqCmp, AcqSys, FenceAcqCmp, FenceAcqSys];
        let ordered = [AcqCmp, AcqSys, ArCmp, ArSys, FenceAcqCmp, FenceAcqSys];
        let promoted = [PromotedAcq, PromotedAr];
        let listed: [(&str, Bool, &[Program], &str); 8] = [
            ("flush_release", flushes, &releases, "flushes of operations that release"),
            (
                "flush_acquire",
                flushes,
                &[acquires.as_slice(), &[PromotedAcq]].concat(),
                "flushes of acquires",
            ),
            ("flush_remote", flushes, &Program::REMOTE, "flushes of own remote operations"),
            ("flush_kernel", flushes, &[Kbegin, Kend], "flushes of kernels' ends and beginnings"),
            ("flash_acquire", drops, &ordered, "invalidations of operations that acquire"),
            ("flash_promoted", drops, &promoted, "invalidations of promoted acquires"),
            ("flash_remote", drops, &Program::REMOTE, "invalidations of own remote operations"),
            ("flash_kernel", drops, &[Kbegin], "invalidations of kernels' beginnings"),
        ];
        for (name, cond, programs, text) in listed {
            let known: Vec<Program> =
                programs.iter().copied().filter(|q| !steps(core.p.system, *q).is_empty()).collect();
            if !known.is_empty() {
                count(&format!("srsp_l1_{name}"), cond & self.steps.queue.head.program.is_any(&known), text);
            }
        }
    }

    /// Counters of the unit.
    pub fn observe(&self, core: &Core, here: Bool) {
        let ends = here & self.is(&[Micro::Reply]) & core.replies.room();
        let known = Program::VARIANTS.iter().copied().filter(|q| !steps(core.p.system, *q).is_empty());
        let names = known.map(|program| (program, program.name()));
        self.steps.observe(("srsp.op", "srsp_l1"), names, ends, "cycles from begin to answer");
        self.causes(core, here);
        count("srsp_l1_a2", here & self.is(&[Micro::Atm]) & core.req.free, "atomics sent to the L2");
        self.steps.count_waits("srsp_l1");
        if core.p.system != crate::params::Impl::Base {
            let failed = self.is(&[Micro::Unlock]) & !self.wrote.get();
            if core.p.system.locks_lines() {
                cover(
                    "srsp.race.rem_ar_failed",
                    failed,
                    "a remote compare-and-swap fails: the L2 has unlocked already",
                );
            }
        }
    }
}
