//! What is under way at memory: lines, writes and atomics; and what memory has answered.
//!
//! The number of a request tells them apart: `0xxxxxxx` a line by its MSHR, `10xxxxxx` a write, `11xxxxxx` an atomic. Answers are always taken: a line or old word lands in a
//! place of its own and waits there for the pipeline.
//!
//! ```text
//! fill: Idle -> a line has landed: Fill enters -> Serve: its targets enter one by one -> Idle
//! ```
//! Nothing else enters the pipeline until the last target has, so that the line is still there.

use super::ingress::Ingress;
use super::params::L2Params;
use super::types::{Access, Kind, Op, Target};
use crate::bank::{self, Fills, Lines, NumberedFile, Others, Writer, Writes};
use crate::heads::Flags;
use crate::msg::{Atomic, Written};
use weft_rtl::prelude::*;

/// Everything under way. Beside writes: their epochs.
pub(super) type UnderWay = bank::UnderWay<Target, (), Reg<Bits>, Amos>;

/// Atomics at memory, and what fences look at.
pub(super) struct Amos {
    /// The epoch of writes sent now.
    pub epoch: Reg<Bits>,
    there: Flags,
    askers: NumberedFile<Bits>,
    answered: Flags,
    olds: NumberedFile<Bits>,
}

impl Others for Amos {
    fn there(&self) -> &Flags {
        &self.there
    }
    fn done(&self) -> &Flags {
        &self.answered
    }
}

impl UnderWay {
    /// Declares channel and registers.
    pub fn new(p: &L2Params, open: Bool) -> UnderWay {
        let (bank, n) = (&p.bank, p.bank.writes);
        UnderWay {
            lines: Lines::new(bank, p.bank.mshrs, open, || ()),
            writes: Writes::new(bank, || reg::<Bits>("writes_epoch", n).field("state")),
            own: Amos {
                epoch: reg::<Bits>("write_epoch", 1).field("state"),
                there: Flags::new("amos_valid", n),
                askers: NumberedFile::new("amos_of", n, &p.bank.srsp.cu_bits()),
                answered: Flags::new("amos_answered", n),
                olds: NumberedFile::new("amos_old", n, &64),
            },
            fills: Fills::new(bank),
            bank: bank.clone(),
        }
    }

    /// Takes memory's answers.
    pub fn receive(&self) {
        self.land(|came| {
            when(came.line, || {
                self.lines.land(came.mshr);
                self.lines.landed.raise(came.mshr.one_hot(self.bank.mshrs));
            })
            .elsewhen(came.other, || {
                self.own.olds.write(came.index, &self.lines.rsp.msg.data.slice(0, 64));
                self.own.answered.raise(came.one);
            })
        });
    }

    /// Something has come from memory that enters the pipeline first: whether there is something, and whether it is a target. `enter`: it may enter in this cycle.
    pub fn choose(&self, ingress: &Ingress, op: &Wire<Op>, enter: Bool) -> (Bool, Bool) {
        let (lines, fills) = (&self.lines, &self.fills);
        let offer = self.offer();
        let serve = |target: &Target, line| ingress.target_op(target, self.bank.address(line), op);
        fills.serve((&offer, enter), lines, serve, |_| ());
        let blank = Op { from_head: bool_lit(false), ..ingress.blank() };
        fills.begin((&offer, enter), lines, (op, Kind::Fill, &blank), |line| {
            let addr = self.bank.address(line);
            Access { atomic: Atomic { addr, ..blank.about.atomic }, ..blank.about }
        });
        fills.answer((&offer, enter), |index| self.answer(index, op, &blank));
        (offer.more | offer.begins | offer.answers, offer.more)
    }

    fn answer(&self, index: Bits, op: &Wire<Op>, blank: &Op) {
        let p = &self.bank;
        let (amo, number) = self.answered(index);
        let writer = self.writes.writers.read(number);
        let kind = mux(amo, enum_lit(Kind::AmoAck), enum_lit(Kind::Ack));
        let src = mux(amo, self.own.askers.read(number), writer.src);
        let own = number.resize(p.own_bits());
        // The old word travels where a write-back's bytes do.
        let data = self.own.olds.read(number).zext(p.srsp.data_bits());
        let written = Written { wbt: writer.wbt, epoch: writer.epoch, data, ..blank.written };
        op.set(Op { kind, src, written, own, ..*blank });
    }

    /// A write goes to memory; around the bank for `writer`, else by the bank itself.
    pub fn open_write(&self, around: Bool, writer: &Writer) {
        self.writes.open(around, writer, |epochs, one| {
            let of = one & self.own.epoch.get().as_bool().repeat(self.bank.writes);
            epochs.set((epochs.get() & !one) | of);
        });
    }

    /// An atomic goes to memory.
    pub fn open_amo(&self, src: Bits) {
        self.own.askers.write(self.open_other(), &src);
    }

    /// Writes of the other epoch are not all acknowledged.
    pub fn owes(&self) -> Bool {
        let of_now = self.own.epoch.get().as_bool().repeat(self.bank.writes);
        (self.writes.valid.get() & (self.writes.beside.get() ^ of_now)).any()
    }
}
