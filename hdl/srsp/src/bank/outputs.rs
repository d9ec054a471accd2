//! Stage 2 and the outputs: the data array, answers, orders to memory.
//!
//! Answers wait in a queue until the bank's latency is over; orders go out as a write of the bytes that leave, then what follows them.

use super::{Bank, BankData, Job, Reply, Work, numbered};
use crate::msg::{Atomic, MemOp, MemReq, Rsp};
use weft_blocks::common::delay::delayed;
use weft_blocks::common::fifo::Fifo;
use weft_cache::{Array, ByLane};
use weft_rtl::prelude::*;

/// Cycles from a message's arrival to its answer at the output that the stages themselves take.
const STAGES: u32 = 4;

/// Orders to memory that wait for the channel: one in each stage, one that is being sent, and some to smooth.
const JOBS: u32 = 6;

/// The line with these bytes of others.
pub(crate) fn merged(line: Bits, mask: Bits, data: Bits) -> Bits {
    let bytes: Vec<Bits> = (0..mask.width()).map(|i| mask.bit(i).repeat(8)).collect();
    let over = pack(&bytes);
    (line & !over) | (data & over)
}

/// The register of stage 2, with what is kept beside it (`E`), the data array and the outputs.
pub(crate) struct Stage2<S: Data + Copy, E, A: BankData> {
    pub bank: Bank,
    pub valid: Reg<Bool>,
    pub step: Reg<S>,
    pub beside: E,
    pub lines: ByLane<Bits>,
    pub answers: Answers,
    pub jobs: Jobs<A>,
}

impl<S: Data + Copy, E, A: BankData> Stage2<S, E, A> {
    /// Declares channels, registers and the array.
    pub fn new(bank: &Bank, shape: &S::Shape, beside: impl FnOnce() -> E) -> Stage2<S, E, A> {
        let lines = sram::<Bits>("lines", bank.sets() * bank.ways, 1, bank.srsp.data_bits());
        Stage2 {
            bank: bank.clone(),
            valid: reg::<Bool>("s2_valid", ()),
            step: reg::<S>("s2", shape.clone()).field("queue"),
            beside: beside(),
            lines: Array::by_lane(&lines),
            answers: Answers::new(bank),
            jobs: Jobs::new(bank),
        }
    }

    /// One more operation may enter, beside those in stages 1 and 2.
    pub fn room(&self) -> Bool {
        let answers = self.answers.queue.count.le(u64::from(self.bank.latency + 1));
        answers & self.jobs.queue.count.le(u64::from(JOBS - 3))
    }

    /// Stage 1 passes its step on, which is about this row; `beside` sets what is kept beside it.
    pub fn accept(&self, runs: Bool, step: &S, beside: impl FnOnce(&E), row: impl FnOnce() -> Bits) {
        self.valid.set(runs);
        beside(&self.beside);
        when(runs, || {
            self.step.set(step);
            self.lines.look.present(row());
        });
    }

    /// Passes on what the step in the stage sends: its answer, with `wrote` and data, and its order.
    pub fn send<P: HwEnum, T: HwEnum>(
        &self,
        work: &Work<P, T, A>,
        (wrote, data): (Bool, impl FnOnce() -> Bits),
        job: impl FnOnce() -> Job<A>,
    ) {
        when(work.reply.answer, || self.answers.push(&work.reply, wrote, data()));
        when(work.orders, || self.jobs.queue.push(&job()));
    }

    /// Sends answers whose time has come; `answers`: the step is to be answered.
    pub fn send_answers(&self, answers: Bool) {
        let pushed = (self.valid.get() & answers).named("answered");
        let Answers { queue, ripe, rsp, .. } = &self.answers;
        let waits =
            ripening(("answers", "answer"), (pushed, self.bank.latency - STAGES), ripe, rsp.free, || {
                rsp.send(&queue.head);
                queue.pop();
            });
        count("l2_answer_waits", waits, "cycles in which an answer waits for the output");
    }
}

/// What waits for `delay` cycles after it was `pushed` leaves as soon as the output is `free`; `ripe` counts what has waited long enough.
/// Names are those of the queue, and of one that leaves it. The result: something waits for the output.
pub(crate) fn ripening(
    (many, one): (&str, &str),
    (pushed, delay): (Bool, u32),
    ripe: &Reg<Bits>,
    free: Bool,
    leave: impl FnOnce(),
) -> Bool {
    let ripens = delayed(&format!("{many}_under_way"), pushed, delay).named(&format!("{many}_ripen"));
    let leaves = ((ripe.get().any() | ripens) & free).named(&format!("{one}_leaves"));
    when(leaves, leave);
    when(ripens & !leaves, || ripe.set(ripe.get() + 1));
    when(leaves & !ripens, || ripe.set(ripe.get() - 1));
    ripe.get().any() & !free
}

/// Answers that wait for the bank's latency.
pub(crate) struct Answers {
    queue: Fifo<Rsp>,
    ripe: Reg<Bits>,
    rsp: OutChannel<Rsp>,
}

impl Answers {
    fn new(bank: &Bank) -> Answers {
        let depth = bank.latency + 4;
        Answers {
            queue: Fifo::new("answers", depth, &bank.srsp),
            ripe: reg::<Bits>("answers_ripe", bits_for(u64::from(depth) + 1)).field("queue"),
            rsp: out_channel::<Rsp>("rsp", &bank.srsp),
        }
    }

    /// An answer leaves stage 2.
    pub fn push<S: HwEnum>(&self, reply: &Reply<S>, wrote: Bool, data: Bits) {
        let Reply { rsp: op, dst, mshr, wbt, epoch, hit, .. } = *reply;
        self.queue.push(&Rsp { op, dst, mshr, wbt, epoch, wrote, hit, data });
    }
}

/// Orders that wait for the channel to memory.
pub(crate) struct Jobs<A: BankData> {
    pub queue: Fifo<Job<A>>,
    written: Reg<Bool>,
    req: OutChannel<MemReq>,
}

impl<A: BankData> Jobs<A> {
    fn new(bank: &Bank) -> Jobs<A> {
        Jobs {
            queue: Fifo::new("jobs", JOBS, bank),
            written: reg::<Bool>("job_written", ()),
            req: out_channel::<MemReq>("mem_req", &bank.srsp),
        }
    }

    /// The oldest order is at its write.
    pub fn writes(&self) -> Bool {
        self.queue.head.order.write & !self.written.get()
    }

    /// Sends the oldest order's write, or what follows it: its kind and number; something follows, nothing does. `atomic`: the access of both. The result: something is sent.
    pub fn send(
        &self,
        writes: Bool,
        (more, alone): (Bool, Bool),
        (op, id): (Enum<MemOp>, Bits),
        atomic: impl FnOnce() -> Atomic,
    ) -> Bool {
        let job = &self.queue.head;
        let blank = |width: u32| lit_bv(Bv::zero(width));
        when(self.queue.valid & self.req.free, || {
            self.req.send(&MemReq {
                op: mux(writes, enum_lit(MemOp::Wr), op),
                id: mux(writes, numbered(2, job.order.write_id), id),
                atomic: atomic(),
                mask: mux(writes, job.mask, blank(job.mask.width())),
                data: mux(writes, job.data, blank(job.data.width())),
            });
            self.written.set(writes & more);
            when(!writes | alone, || self.queue.pop());
        });
        let sent = self.queue.valid & self.req.free;
        count("l2_dram_writes", sent & writes, "writes sent to memory");
        let waits = self.queue.valid & !self.req.free;
        count("l2_dram_waits", waits, "cycles in which an order waits for the memory channel");
        sent
    }
}
