//! Stage 2: reads and writes a line, carries atomics out, sends answers and orders to memory.

use super::ingress::Ingress;
use super::params::{L2Fault, L2Params};
use super::types::*;
use crate::amo::{Amoed, amo};
use crate::bank::{Job, Stage2, Tag, merged, numbered};
use crate::lock_tbl::LockTbl;
use crate::msg::{Atomic, MemOp};
use crate::sfifo::Sfifo;
use weft_rtl::prelude::*;

/// Stage 2 and the outputs. Beside the step: it is an atomic.
pub(super) struct Outputs {
    p: L2Params,
    pub stage: Stage2<Step, Reg<Bool>, Follows>,
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

/// The bytes of a word of a line.
pub(super) fn word_bytes(p: &L2Params, addr: Bits, wide: Bool) -> Bits {
    let line = p.bank.srsp.line;
    let word = addr.slice(2, line.trailing_zeros() - 2);
    mux(wide, lit(0xff, line), lit(0xf, line)).shl_by(cat(&[word, lit(0, 2)]))
}

impl Outputs {
    /// Declares channels, registers and the array.
    pub fn new(p: &L2Params) -> Outputs {
        Outputs { p: p.clone(), stage: Stage2::new(&p.bank, p, || reg::<Bool>("s2_atomic", ())) }
    }

    /// Stage 1 passes its step on.
    pub fn accept(&self, runs: Bool, step: &Step) {
        let atomic = |s2_atomic: &Reg<Bool>| s2_atomic.set(runs & step.work.put.is(Put::Amo));
        self.stage.accept(runs, step, atomic, || self.stage.bank.row_of(step.set, step.way));
    }

    /// Stage 2 holds an atomic.
    pub fn executing(&self) -> Bool {
        self.stage.beside.get()
    }

    /// Carries stage 2 out; `filled`: the line from memory.
    pub fn connect(
        &self,
        filled: Bits,
        (arrays, sfifo): (&Arrays, &Sfifo),
        (ingress, locks): (&Ingress, &LockTbl),
    ) -> Effects {
        let (p, stage) = (&self.p, &self.stage);
        let (s2, line) = (stage.step.get(), stage.lines.look.lane(0));
        let work = &s2.work;
        let access = work.order.then.atomic;
        let word = access.addr.slice(3, p.bank.srsp.line.trailing_zeros() - 3);
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
        when(stage.valid.get(), || {
            when(work.put.is_any(&[Put::Merge, Put::Fill]) | wrote, || {
                stage.lines.put.write(stage.bank.row_of(s2.set, s2.way), &after);
            });
            stage.send(work, (wrote, || self.answer(&s2, after, old)), || self.job(&s2, line));
        });
        when(wrote, || {
            let clean = s2.state.is(LineState::V);
            let state = mux(clean, enum_lit(LineState::D), s2.state);
            arrays.put(s2.set, s2.way, Tag { tag: s2.tag, state }, work.dirty | bytes, ());
            when(clean, || sfifo.push(p.bank.srsp.line_of(access.addr)));
        });
        when(unlocks, || ingress.unlock(locks, s2.lock));
        stage.send_answers(work.reply.answer);
        self.send_jobs();
        let failed = is_amo & s2.unlocks & s2.keep & !wrote;
        Effects { atomic: is_amo, unlocks, failed }
    }

    /// The line after stage 2.
    fn after(&self, s2: &Step, line: Bits, filled: Bits, (new, bytes, wrote): (Bits, Bits, Bool)) -> Bits {
        let p = &self.p;
        let low = new.slice(0, 32);
        let placed = mux(s2.work.order.then.atomic.wide, new, cat(&[low, low]));
        let words = pack(&vec![placed; p.bank.srsp.line as usize / 8]);
        let keep = match p.fault {
            L2Fault::FillOverwrites => lit(0, p.bank.srsp.line),
            _ => s2.work.dirty,
        };
        let amo = merged(line, bytes & wrote.repeat(p.bank.srsp.line), words);
        let fill = merged(line, !keep, filled);
        let merge = merged(line, s2.work.mask, s2.work.data);
        let is = |put| s2.work.put.is(put);
        mux(is(Put::Merge), merge, mux(is(Put::Fill), fill, mux(is(Put::Amo), amo, line))).named("s2_after")
    }

    fn answer(&self, s2: &Step, line: Bits, old: Bits) -> Bits {
        let width = self.p.bank.srsp.data_bits();
        let is = |shows| s2.work.reply.shows.is(shows);
        let word = mux(is(Shows::Old), old, s2.work.data.slice(0, 64));
        let none = lit_bv(Bv::zero(width));
        mux(is(Shows::Line), line, mux(is(Shows::Nothing), none, word.zext(width)))
    }

    fn job(&self, s2: &Step, line: Bits) -> Job<Follows> {
        let bytes = mux(s2.around, s2.work.data, line);
        Job { order: s2.work.order, mask: mux(s2.around, s2.work.mask, s2.work.dirty), data: bytes }
    }

    fn send_jobs(&self) {
        let (jobs, order) = (&self.stage.jobs, self.stage.jobs.queue.head.order);
        let Follows { then, then_id, atomic } = order.then;
        let writes = jobs.writes();
        let alone = then.is(Then::Nothing);
        let amo = then.is(Then::Amo);
        let id = mux(amo, numbered(3, then_id), then_id.zext(8));
        let op = mux(amo, enum_lit(MemOp::Amo), enum_lit(MemOp::Rd));
        let of_line = Atomic { addr: self.stage.bank.address(order.write_line), ..atomic };
        let sent = jobs.send(writes, (!alone, alone), (op, id), || mux(writes, of_line, atomic));
        count("l2_dram_reads", sent & !writes & then.is(Then::Read), "reads of lines sent to memory");
        count("l2_dram_atomics", sent & !writes & amo, "atomics sent to memory");
    }
}
