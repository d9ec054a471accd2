//! What is under way at memory: lines, writes, and reads around the bank; and what memory has answered.
//!
//! The number of a request tells them apart: `0xxxxxxx` a line by its MSHR, `10xxxxxx` a write, `11xxxxxx` a read around the bank. Answers are always taken: a line lands in a
//! place of its own and waits there for the pipeline.
//!
//! ```text
//! fill: Idle -> a line has landed: Fill enters -> Serve: its targets enter one by one -> Idle
//! ```
//! Nothing else enters the pipeline until the last target has, so that the line is still there. A registration is served in its turn among the targets; a line has one at most
//! that waits for it, for the next would find it registered.

use super::ingress::Ingress;
use super::params::HlrcL2Params;
use super::types::{Kind, Named, Op, Target};
use crate::bank::{self, Asker, Bank, Fills, Lines, NumberedFile, Others, Writer, Writes};
use crate::heads::Flags;
use crate::msg::Written;
use weft_rtl::prelude::*;

/// Everything under way. Beside MSHRs: those for whose line a registration waits.
pub(super) type UnderWay = bank::UnderWay<Target, Flags, (), Directs>;

/// Reads around the bank.
pub(super) struct Directs {
    there: Flags,
    /// Those that memory has answered.
    passed: Flags,
    readers: NumberedFile<Asker>,
}

impl Others for Directs {
    fn there(&self) -> &Flags {
        &self.there
    }
    fn done(&self) -> &Flags {
        &self.passed
    }
}

/// Lines that may have come from memory and wait for the pipeline: those of MSHRs, then those of reads around the bank.
fn landings(bank: &Bank) -> u32 {
    bank.mshrs + bank.writes
}

impl UnderWay {
    /// Declares channel and registers.
    pub fn new(p: &HlrcL2Params, open: Bool) -> UnderWay {
        let (bank, n) = (&p.bank, p.bank.writes);
        UnderWay {
            lines: Lines::new(bank, landings(bank), open, || Flags::new("mshr_registers", p.bank.mshrs)),
            writes: Writes::new(bank, || ()),
            own: Directs {
                there: Flags::new("directs_valid", n),
                passed: Flags::new("directs_passed", n),
                readers: NumberedFile::new("directs_of", n, bank),
            },
            fills: Fills::new(bank),
            bank: bank.clone(),
        }
    }

    /// Place where the line of an MSHR, or of a read around the bank, lands.
    fn landing(&self, direct: Bool, number: Bits) -> Bits {
        let bits = bits_for(u64::from(landings(&self.bank)));
        let wide = number.zext(bits.max(number.width()));
        mux(direct, wide + u64::from(self.bank.mshrs), wide).resize(bits)
    }

    /// Takes memory's answers.
    pub fn receive(&self) {
        self.land(|came| {
            when(came.line | came.other, || {
                let wide = |number: Bits| number.resize(self.bank.own_bits());
                let number = mux(came.other, wide(came.index), wide(came.mshr));
                self.lines.land(self.landing(came.other, number));
                when(came.other, || self.own.passed.raise(came.one))
                    .otherwise(|| self.lines.landed.raise(came.mshr.one_hot(self.bank.mshrs)));
            })
        });
    }

    /// Something has come from memory that enters the pipeline first; `enter`: it may enter in this cycle.
    pub fn choose(&self, ingress: &Ingress, op: &Wire<Op>, enter: Bool) -> Bool {
        let (lines, fills) = (&self.lines, &self.fills);
        let offer = self.offer();
        let serve = |target: &Target, line| op.set(ingress.target_op(target, line));
        let done = |mshr: Bits| self.lines.beside.lower(mshr.one_hot(self.bank.mshrs));
        fills.serve((&offer, enter), lines, serve, done);
        let blank = Op { from_head: bool_lit(false), ..ingress.blank() };
        let named = |line| Named { line, ..blank.about };
        fills.begin((&offer, enter), lines, (op, Kind::Fill, &blank), named);
        fills.answer((&offer, enter), |index| self.answer(index, op, &blank));
        offer.more | offer.begins | offer.answers
    }

    fn answer(&self, index: Bits, op: &Wire<Op>, blank: &Op) {
        let p = &self.bank;
        let (direct, number) = self.answered(index);
        let (writer, reader) = (self.writes.writers.read(number), self.own.readers.read(number));
        let kind = mux(direct, enum_lit(Kind::Direct), enum_lit(Kind::Ack));
        let src = mux(direct, reader.src, writer.src);
        let own = number.resize(p.own_bits());
        let written = Written { wbt: writer.wbt, epoch: writer.epoch, ..blank.written };
        op.set(Op { kind, src, mshr: reader.mshr, written, own, ..*blank });
    }

    /// A write goes to memory; `around`: `writer` gets its acknowledgement.
    pub fn open_write(&self, around: Bool, writer: &Writer) {
        self.writes.open(around, writer, |_, _| ());
    }

    /// A read goes around the bank.
    pub fn open_direct(&self, reader: &Asker) {
        self.own.readers.write(self.open_other(), reader);
    }

    /// A registration waits for the line of an MSHR.
    pub fn register(&self, mshr: Bits) {
        self.lines.beside.raise(mshr.one_hot(self.bank.mshrs));
    }

    /// A registration waits for it already.
    pub fn registers(&self, mshr: Bits) -> Bool {
        self.lines.beside.get().bit_at(mshr)
    }

    /// Presents the line that has come; it is read in the next cycle.
    pub fn present(&self, direct: Bool, number: Bits) {
        self.lines.present(self.landing(direct, number));
    }
}
