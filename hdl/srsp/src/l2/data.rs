//! Stage 2 and the outputs: reads and writes a line, carries atomics out, sends answers and orders to memory.
//!
//! Answers wait in a queue until the bank's latency is over; orders go out as a write of the bytes that leave, then the read or atomic that they made room for.

use super::arrays::Arrays;
use super::ingress::Ingress;
use super::params::{L2Fault, L2Params};
use super::types::*;
use crate::amo::{Amoed, amo};
use crate::lock_tbl::LockTbl;
use crate::msg::{MemOp, MemReq, Rsp, RspOp};
use crate::sfifo::Sfifo;
use weft_blocks::common::delay::delayed;
use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// Cycles from a message's arrival to its answer at the output that the stages themselves take.
const STAGES: u32 = 4;

/// Orders to memory that wait for the channel: one in each stage, one that is being sent, and some to smooth.
const JOBS: u32 = 6;

/// The register of stage 2, the data array and the outputs.
pub(super) struct Outputs {
    p: L2Params,
    pub s2_valid: Reg<Bool>,
    pub s2: Reg<Step>,
    /// The atomic of stage 2, and the line that it makes dirty.
    s2_atomic: Reg<Bool>,
    lines: SramPort<Bits>,
    line_in: LaneWriter<Bits>,
    answers: Fifo<Rsp>,
    ripe: Reg<Bits>,
    rsp: OutChannel<Rsp>,
    jobs: Fifo<Job>,
    written: Reg<Bool>,
    req: OutChannel<MemReq>,
}

/// What stage 2 does to others.
pub(super) struct Effects {
    /// An atomic is carried out.
    pub atomic: Bool,
    /// A lock ends; it stays although the atomic was to end it unless it wrote.
    pub unlocks: Bool,
    /// An atomic that was to keep its lock failed.
    pub failed: Bool,
}

/// Bit i of a mask repeated over byte i.
fn spread(mask: Bits) -> Bits {
    let bytes: Vec<Bits> = (0..mask.width()).map(|i| mask.bit(i).repeat(8)).collect();
    pack(&bytes)
}

/// The bytes of a word of a line.
pub(super) fn word_bytes(p: &L2Params, addr: Bits, wide: Bool) -> Bits {
    let line = p.srsp.line;
    let word = addr.slice(2, line.trailing_zeros() - 2);
    mux(wide, lit(0xff, line), lit(0xf, line)).shl_by(cat(&[word, lit(0, 2)]))
}

impl Outputs {
    /// Declares channels, registers and the array.
    pub fn new(p: &L2Params) -> Outputs {
        let s = &p.srsp;
        let lines = sram::<Bits>("lines", p.sets() * p.ways, 1, s.data_bits());
        let depth = p.latency + 4;
        Outputs {
            s2_valid: reg::<Bool>("s2_valid", ()),
            s2: reg::<Step>("s2", p.clone()).field("queue"),
            s2_atomic: reg::<Bool>("s2_atomic", ()),
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
        self.s2_atomic.set(runs & step.put.is(Put::Amo));
        when(runs, || {
            self.s2.set(step);
            self.lines.present(self.p.row_of(step.set, step.way));
        });
    }

    /// Stage 2 holds an atomic.
    pub fn executing(&self) -> Bool {
        self.s2_atomic.get()
    }

    /// Carries stage 2 out; `filled`: the line from memory.
    pub fn connect(
        &self,
        filled: Bits,
        (arrays, sfifo): (&Arrays, &Sfifo),
        (ingress, locks): (&Ingress, &LockTbl),
    ) -> Effects {
        let (p, s2, line) = (&self.p, self.s2.get(), self.lines.lane(0));
        let access = s2.order.atomic;
        let word = access.addr.slice(3, p.srsp.line.trailing_zeros() - 3);
        let eight = line.element(word, 64);
        let four = mux(access.addr.bit(2), eight.slice(32, 32), eight.slice(0, 32));
        let old = mux(access.wide, eight, four.zext(64)).named("s2_old");
        let Amoed { new, wrote } = amo(&access, old);
        let is_amo = self.executing();
        let wrote = (wrote & is_amo).named("s2_wrote");
        let bytes = word_bytes(p, access.addr, access.wide);
        let after = self.after(&s2, line, filled, (new, bytes, wrote));
        let keeps = s2.keep & if p.fault == L2Fault::UnlockMissed { bool_lit(true) } else { wrote };
        let unlocks = (is_amo & s2.unlocks & !keeps).named("s2_lock_ends");
        when(self.s2_valid.get(), || {
            when(s2.put.is_any(&[Put::Merge, Put::Fill]) | wrote, || {
                self.line_in.write(p.row_of(s2.set, s2.way), &after);
            });
            when(s2.answer, || self.answers.push(&self.answer(&s2, after, old, wrote)));
            when(s2.orders, || self.jobs.push(&self.job(&s2, line)));
        });
        when(wrote, || {
            let clean = s2.state.is(LineState::V);
            let state = mux(clean, enum_lit(LineState::D), s2.state);
            arrays.put(s2.set, s2.way, Tag { tag: s2.tag, state }, s2.dirty | bytes);
            when(clean, || sfifo.push(p.srsp.line_of(access.addr)));
        });
        when(unlocks, || ingress.unlock(locks, s2.lock));
        self.send_answers();
        self.send_jobs();
        let failed = is_amo & s2.unlocks & s2.keep & !wrote;
        Effects { atomic: is_amo, unlocks, failed }
    }

    /// The line after stage 2.
    fn after(&self, s2: &Step, line: Bits, filled: Bits, (new, bytes, wrote): (Bits, Bits, Bool)) -> Bits {
        let p = &self.p;
        let low = new.slice(0, 32);
        let placed = mux(s2.order.atomic.wide, new, cat(&[low, low]));
        let words = pack(&vec![placed; p.srsp.line as usize / 8]);
        let keep = match p.fault {
            L2Fault::FillOverwrites => lit(0, p.srsp.line),
            _ => s2.dirty,
        };
        let merged = |mask: Bits, data: Bits| {
            let over = spread(mask);
            (line & !over) | (data & over)
        };
        let amo = merged(bytes & wrote.repeat(p.srsp.line), words);
        let fill = merged(!keep, filled);
        let merge = merged(s2.mask, s2.data);
        let is = |put| s2.put.is(put);
        mux(is(Put::Merge), merge, mux(is(Put::Fill), fill, mux(is(Put::Amo), amo, line))).named("s2_after")
    }

    fn answer(&self, s2: &Step, line: Bits, old: Bits, wrote: Bool) -> Rsp {
        let width = self.p.srsp.data_bits();
        let is = |shows| s2.shows.is(shows);
        let word = mux(is(Shows::Old), old, s2.data.slice(0, 64));
        let none = lit_bv(Bv::zero(width));
        let data = mux(is(Shows::Line), line, mux(is(Shows::Nothing), none, word.zext(width)));
        let Step { rsp, dst, mshr, wbt, epoch, hit, .. } = *s2;
        Rsp { op: rsp, dst, mshr, wbt, epoch, wrote, hit, data }
    }

    fn job(&self, s2: &Step, line: Bits) -> Job {
        let bytes = mux(s2.around, s2.data, line);
        Job { order: s2.order, mask: mux(s2.around, s2.mask, s2.dirty), data: bytes }
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
        count(
            "l2_answer_waits",
            ripe.get().any() & !self.rsp.free,
            "cycles in which an answer waits for the output",
        );
    }

    fn send_jobs(&self) {
        let p = &self.p;
        let (job, order) = (self.jobs.head, self.jobs.head.order);
        let writes = order.write & !self.written.get();
        let alone = order.then.is(Then::Nothing);
        let number = |class: u64, id: Bits| cat(&[lit(class, 2), id.resize(6)]);
        let amo = order.then.is(Then::Amo);
        let then_id = mux(amo, number(3, order.then_id), order.then_id.zext(8));
        let blank = |width: u32| lit_bv(Bv::zero(width));
        let then_op = mux(amo, enum_lit(MemOp::Amo), enum_lit(MemOp::Rd));
        let of_line = crate::msg::Atomic { addr: p.address(order.write_line), ..order.atomic };
        when(self.jobs.valid & self.req.free, || {
            self.req.send(&MemReq {
                op: mux(writes, enum_lit(MemOp::Wr), then_op),
                id: mux(writes, number(2, order.write_id), then_id),
                atomic: mux(writes, of_line, order.atomic),
                mask: mux(writes, job.mask, blank(p.srsp.line)),
                data: mux(writes, job.data, blank(p.srsp.data_bits())),
            });
            self.written.set(writes & !alone);
            when(!writes | alone, || self.jobs.pop());
        });
        let sent = self.jobs.valid & self.req.free;
        count("l2_dram_writes", sent & writes, "writes sent to memory");
        count("l2_dram_reads", sent & !writes & order.then.is(Then::Read), "reads of lines sent to memory");
        count("l2_dram_atomics", sent & !writes & amo, "atomics sent to memory");
        let waits = self.jobs.valid & !self.req.free;
        count("l2_dram_waits", waits, "cycles in which an order waits for the memory channel");
    }

    /// An answer with these marks leaves stage 2.
    pub fn answers(&self, op: RspOp) -> Bool {
        self.s2_valid.get() & self.s2.get().answer & self.s2.get().rsp.is(op)
    }
}
