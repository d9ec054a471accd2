//! Stage 2: reads and writes the data array, sends answers and requests.

use super::params::L2Params;
use super::queue::OutQueue;
use super::types::Step;
use crate::msg::{TsmOp, UmcReq, UpRsp};
use crate::params::LINE;
use weft_blocks::common::atomic::Atomic;
use weft_rtl::prelude::*;

/// A block that was dropped.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Note {
    #[width(p.tsm.line_bits())]
    pub line: Bits,
    #[width(p.tsm.ts)]
    pub rts: Bits,
    #[width(p.tsm.eb)]
    pub tag: Bits,
}

/// What stage 2 of a write-back bank knows beside its step.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct BackStep {
    /// The request carries the line read, under the mask of its dirty bytes.
    pub evict: Bool,
    /// The line had dirty bytes before.
    pub dirty: Bool,
}

/// Dirty bytes of a write-back bank.
struct Dirty {
    step: Reg<BackStep>,
    masks: SramPort<Bits>,
    writer: LaneWriter<Bits>,
}

/// The register of stage 2, the data array and the outputs.
pub(super) struct Outputs {
    p: L2Params,
    own_gpu: Bits,
    pub rsp: OutQueue<UpRsp>,
    pub req: OutQueue<UmcReq>,
    pub s2_valid: Reg<Bool>,
    pub s2: Reg<Step>,
    pub note: Option<(Reg<Bool>, Reg<Note>)>,
    lines: SramPort<Bits>,
    writer: LaneWriter<Bits>,
    dirty: Option<Dirty>,
}

/// Bit i of a mask repeated over byte i.
fn spread(mask: Bits) -> Bits {
    let bytes: Vec<Bits> = (0..mask.width()).map(|i| mask.bit(i).repeat(8)).collect();
    pack(&bytes)
}

/// What is written into the line, and an atomic's old value.
struct Written {
    mask: Bits,
    data: Bits,
    old: Bits,
}

/// A store, or an atomic carried out on the line.
fn execute(s2: &Step, line: Bits) -> Written {
    let w = &s2.payload;
    let eight = line.element(w.word.slice(1, 3), 64);
    let four = mux(w.word.bit(0), eight.slice(32, 32), eight.slice(0, 32));
    let old = mux(w.wide, eight, four.zext(64));
    let (operand, compare) = (w.data.slice(0, 64), w.data.slice(64, 64));
    let atomic = Atomic { op: w.amo, sgn: w.sgn, wide: w.wide, old, operand, compare };
    let result = atomic.result("s2_atomic");
    let low = result.slice(0, 32);
    let placed = mux(w.wide, result, cat(&[low, low]));
    let bytes = mux(w.wide, lit(0xff, LINE), lit(0xf, LINE)).shl_by(cat(&[w.word, lit(0, 2)]));
    // What went past the bank was carried out by memory.
    let here = s2.who.op.is(TsmOp::Amo) & s2.array;
    Written {
        mask: mux(here, bytes, w.mask),
        data: mux(here, pack(&vec![placed; LINE as usize / 8]), w.data),
        old: mux(here, old, s2.old),
    }
}

impl Dirty {
    fn new(p: &L2Params) -> Dirty {
        let masks = sram::<Bits>("dirty", p.sets() * p.ways, 1, LINE).fields(&[("state", LINE)]);
        Dirty {
            step: reg::<BackStep>("s2_back", p.clone()),
            masks: masks.read_port("look"),
            writer: masks.lane_writer("put"),
        }
    }
}

impl Outputs {
    /// Declares channels, registers and the array.
    pub fn new(p: &L2Params) -> Outputs {
        let lines = sram::<Bits>("lines", p.sets() * p.ways, 1, p.tsm.data_bits());
        Outputs {
            own_gpu: input::<Bits>("own_gpu", p.tsm.gpu_bits()),
            rsp: OutQueue::new("l1_rsp", &p.tsm),
            req: OutQueue::new("mem_req", &p.tsm),
            s2_valid: reg::<Bool>("s2_valid", ()),
            s2: reg::<Step>("s2", p.clone()).field("queue"),
            note: (p.mgcc() && p.evict_notes)
                .then(|| (reg::<Bool>("note_valid", ()), reg::<Note>("note", p.clone()).field("queue"))),
            dirty: p.back().then(|| Dirty::new(p)),
            lines: lines.read_port("look"),
            writer: lines.lane_writer("put"),
            p: p.clone(),
        }
    }

    /// Stage 1 passes its step on; `note`: a block that it drops; `back`: with dirty bytes.
    pub fn accept(&self, runs: Bool, step: &Step, note: Option<(Bool, Note)>, back: Option<BackStep>) {
        self.s2_valid.set(runs);
        when(runs, || {
            self.s2.set(step);
            self.lines.present(step.row);
        });
        if let (Some((valid, held)), Some((drops, note))) = (&self.note, note) {
            valid.set(drops);
            when(drops, || held.set(note));
        }
        if let (Some(dirty), Some(back)) = (&self.dirty, back) {
            when(runs, || {
                dirty.step.set(back);
                dirty.masks.present(step.row);
            });
        }
    }

    /// Carries stage 2 out.
    pub fn connect(&self) {
        let s2 = self.s2.get();
        let line = self.lines.lane(0);
        let Written { mask, data, old } = match self.p.orders() {
            true => execute(&s2, line),
            false => Written { mask: s2.payload.mask, data: s2.payload.data, old: s2.old },
        };
        let keep = spread(mask);
        let merged = mux(mask.all(), data, (line & !keep) | (data & keep));
        let after = mux(s2.write, merged, line).named("s2_after");
        when(self.s2_valid.get(), || {
            when(s2.write, || self.writer.write(s2.row, &after));
            when(s2.answer, || self.rsp.push(&self.answer(&Step { old, ..s2 }, after)));
            when(s2.request, || self.req.push(&self.with_dirty(self.request(&s2), line)));
            if let Some(dirty) = &self.dirty {
                let old = dirty.masks.lane(0) & dirty.step.get().dirty.repeat(LINE);
                when(s2.write, || dirty.writer.write(s2.row, &(old | mask)));
            }
        });
    }

    fn answer(&self, s2: &Step, line: Bits) -> UpRsp {
        UpRsp {
            op: s2.who.op,
            dst: s2.who.src,
            txn: s2.who.txn,
            tag: s2.tag,
            wts: s2.wts,
            rts: s2.rts,
            with_data: s2.with_data,
            data: mux(s2.array, line, s2.payload.data),
            old: s2.old,
            from_memory: s2.from_memory,
        }
    }

    fn request(&self, s2: &Step) -> UmcReq {
        UmcReq {
            op: s2.op,
            src: self.own_gpu,
            txn: s2.mshr,
            line: s2.line,
            // Memory of G-TSC knows no times.
            tag: if self.p.gtsc() { lit(0, self.p.tsm.eb) } else { s2.tag },
            ts: s2.ts,
            mask: s2.payload.mask,
            data: s2.payload.data,
            amo: s2.payload.amo,
            sgn: s2.payload.sgn,
            word: s2.payload.word,
            wide: s2.payload.wide,
        }
    }

    /// The request, or the dirty bytes that go before it.
    fn with_dirty(&self, req: UmcReq, line: Bits) -> UmcReq {
        let Some(dirty) = &self.dirty else { return req };
        let (evict, mask) = (dirty.step.get().evict, dirty.masks.lane(0));
        UmcReq { mask: mux(evict, mask, req.mask), data: mux(evict, line & spread(mask), req.data), ..req }
    }

    /// The message about the block dropped; without notes nothing.
    pub fn note_message(&self) -> (Bool, UmcReq) {
        let (valid, note) = match &self.note {
            Some((valid, note)) => (valid.get(), note.get()),
            None => {
                let (t, zero) = (&self.p.tsm, |bits| lit(0, bits));
                (bool_lit(false), Note { line: zero(t.line_bits()), rts: zero(t.ts), tag: zero(t.eb) })
            }
        };
        let s2 = self.s2.get();
        let message = UmcReq {
            op: enum_lit(TsmOp::Evict),
            line: note.line,
            tag: note.tag,
            ts: note.rts,
            mask: lit(0, LINE),
            ..self.request(&s2)
        };
        (valid, message)
    }
}
