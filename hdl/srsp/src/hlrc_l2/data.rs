//! Stage 2 and the outputs: reads and writes a line, sends answers and orders to memory.
//!
//! Answers wait in a queue until the bank's latency is over; orders go out as a write of the bytes that leave, then the read that they made room for.

use super::params::HlrcL2Params;
use super::types::*;
use crate::msg::{Atomic, MemOp, MemReq, Rsp, RspOp, SyncOp};
use weft_blocks::common::delay::delayed;
use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// Cycles from a message's arrival to its answer at the output that the stages themselves take.
const STAGES: u32 = 4;

/// Orders to memory that wait for the channel: one in each stage, one that is being sent, and some to smooth.
const JOBS: u32 = 6;

/// The register of stage 2, the data array and the outputs.
pub(super) struct Outputs {
    p: HlrcL2Params,
    pub s2_valid: Reg<Bool>,
    pub s2: Reg<Step>,
    lines: SramPort<Bits>,
    line_in: LaneWriter<Bits>,
    answers: Fifo<Rsp>,
    ripe: Reg<Bits>,
    rsp: OutChannel<Rsp>,
    jobs: Fifo<Job>,
    written: Reg<Bool>,
    req: OutChannel<MemReq>,
}

/// Bit i of a mask repeated over byte i.
fn spread(mask: Bits) -> Bits {
    let bytes: Vec<Bits> = (0..mask.width()).map(|i| mask.bit(i).repeat(8)).collect();
    pack(&bytes)
}

impl Outputs {
    /// Declares channels, registers and the array.
    pub fn new(p: &HlrcL2Params) -> Outputs {
        let s = &p.srsp;
        let lines = sram::<Bits>("lines", p.sets() * p.ways, 1, s.data_bits());
        let depth = p.latency + 4;
        Outputs {
            s2_valid: reg::<Bool>("s2_valid", ()),
            s2: reg::<Step>("s2", p.clone()).field("queue"),
            lines: lines.read_port("look"),
            line_in: lines.lane_writer("put"),
            answers: Fifo::new("answers", depth, s),
            ripe: reg::<Bits>("answers_ripe", bits_for(u64::from(depth) + 1)).field("queue"),
            rsp: out_channel::<Rsp>("rsp", s),
            jobs: Fifo::new("jobs", JOBS, p),
            written: reg::<Bool>("job_written", ()),
            req: out_channel::<MemReq>("mem_req", s),
            p: p.clone(),
        }
    }

    /// One more operation may enter, beside those in stages 1 and 2.
    pub fn room(&self) -> Bool {
        let answers = self.answers.count.le(u64::from(self.p.latency + 1));
        answers & self.jobs.count.le(u64::from(JOBS - 3))
    }

    /// Stage 1 passes its step on.
    pub fn accept(&self, runs: Bool, step: &Step) {
        self.s2_valid.set(runs);
        when(runs, || {
            self.s2.set(step);
            self.lines.present(step.row);
        });
    }

    /// Carries stage 2 out; `landed`: the line from memory.
    pub fn connect(&self, landed: Bits) {
        let (s2, line) = (self.s2.get(), self.lines.lane(0));
        let merged = |mask: Bits, data: Bits| {
            let over = spread(mask);
            (line & !over) | (data & over)
        };
        let filled = mux(s2.put.is(Put::Fill), merged(!s2.dirty, landed), line);
        let after = mux(s2.put.is(Put::Merge), merged(s2.mask, s2.data), filled).named("s2_after");
        when(self.s2_valid.get(), || {
            when(s2.put.is_any(&[Put::Merge, Put::Fill]), || self.line_in.write(s2.row, &after));
            when(s2.answer, || self.answers.push(&self.answer(&s2, after, landed)));
            when(s2.orders, || self.jobs.push(&self.job(&s2, line, after)));
        });
        self.send_answers();
        self.send_jobs();
    }

    fn answer(&self, s2: &Step, line: Bits, landed: Bits) -> Rsp {
        let is = |shows| s2.shows.is(shows);
        let none = lit_bv(Bv::zero(self.p.srsp.data_bits()));
        let data = mux(is(Shows::Line), line, mux(is(Shows::Memory), landed, none));
        let Step { rsp, dst, mshr, wbt, epoch, hit, .. } = *s2;
        Rsp { op: rsp, dst, mshr, wbt, epoch, wrote: bool_lit(false), hit, data }
    }

    fn job(&self, s2: &Step, before: Bits, after: Bits) -> Job {
        let is = |sends| s2.sends.is(sends);
        let data = mux(is(Sends::Message), s2.data, mux(is(Sends::After), after, before));
        Job { order: s2.order, mask: s2.out_mask, data }
    }

    fn send_answers(&self) {
        let pushed = (self.s2_valid.get() & self.s2.get().answer).named("answered");
        let ripens = delayed("answers_under_way", pushed, self.p.latency - STAGES).named("answers_ripen");
        let ripe = &self.ripe;
        let leave = ((ripe.get().any() | ripens) & self.rsp.free).named("answer_leaves");
        when(leave, || {
            self.rsp.send(&self.answers.head);
            self.answers.pop();
        });
        when(ripens & !leave, || ripe.set(ripe.get() + 1));
        when(leave & !ripens, || ripe.set(ripe.get() - 1));
        let text = "cycles in which an answer waits for the output";
        count("l2_answer_waits", ripe.get().any() & !self.rsp.free, text);
    }

    fn send_jobs(&self) {
        let p = &self.p;
        let (job, order) = (self.jobs.head, self.jobs.head.order);
        let writes = order.write & !self.written.get();
        let number = |class: u64, id: Bits| cat(&[lit(class, 2), id.resize(6)]);
        let read_id = mux(order.direct, number(3, order.read_id), order.read_id.zext(8));
        let blank = |width: u32| lit_bv(Bv::zero(width));
        let line = mux(writes, order.write_line, order.read_line);
        let atomic = Atomic {
            op: enum_lit(SyncOp::Ld),
            wide: bool_lit(false),
            addr: p.address(line),
            opnd: blank(64),
            cmp: blank(64),
        };
        when(self.jobs.valid & self.req.free, || {
            self.req.send(&MemReq {
                op: mux(writes, enum_lit(MemOp::Wr), enum_lit(MemOp::Rd)),
                id: mux(writes, number(2, order.write_id), read_id),
                atomic,
                mask: mux(writes, job.mask, blank(p.srsp.line)),
                data: mux(writes, job.data, blank(p.srsp.data_bits())),
            });
            self.written.set(writes & order.read);
            when(!writes | !order.read, || self.jobs.pop());
        });
        let sent = self.jobs.valid & self.req.free;
        count("l2_dram_writes", sent & writes, "writes sent to memory");
        count("l2_dram_reads", sent & !writes, "reads of lines sent to memory");
        let waits = self.jobs.valid & !self.req.free;
        count("l2_dram_waits", waits, "cycles in which an order waits for the memory channel");
    }

    /// An answer of this kind leaves stage 2.
    pub fn answers(&self, op: RspOp) -> Bool {
        self.s2_valid.get() & self.s2.get().answer & self.s2.get().rsp.is(op)
    }
}
