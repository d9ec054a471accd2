//! The channels to and from the L2.

use crate::msg::{Atomic, Req, ReqOp, Rsp, RspOp, Wb, WbOp, Written};
use crate::params::Srsp;
use crate::write_combining::fill::Filler;
use weft_rtl::prelude::*;

/// What goes to the L2: requests, and lines and bytes.
pub(crate) struct Upward {
    p: Srsp,
    pub own: Bits,
    pub req: OutChannel<Req>,
    pub wb: OutChannel<Wb>,
}

impl Upward {
    /// Declares the channels of the L1 whose number is `own`.
    pub fn new(own: Bits, p: &Srsp) -> Upward {
        Upward { p: p.clone(), own, req: out_channel::<Req>("req", p), wb: out_channel::<Wb>("wb", p) }
    }

    /// The address of a line, as messages have it.
    fn at_line(&self, line: Bits) -> Atomic {
        Atomic::at(cat(&[line, lit(0, self.p.line.trailing_zeros())]))
    }

    /// Asks the L2 for a line.
    pub fn ask(&self, op: ReqOp, line: Bits, mshr: Bits) {
        let atomic = self.at_line(line);
        self.req.send(&Req { op: enum_lit(op), src: self.own, mshr, sys: bool_lit(false), atomic });
    }

    /// WBT entry and epoch of a message that has none.
    pub fn no_wbt(&self) -> (Bits, Bits) {
        (lit(0, self.p.wbt_bits()), lit(0, 1))
    }

    /// A message without bytes: their places, and they.
    pub fn no_bytes(&self) -> (Bits, Bits) {
        (lit_bv(Bv::zero(self.p.line)), lit_bv(Bv::zero(self.p.data_bits())))
    }

    /// Sends a line, or bytes of it: whether it stays here (`keep`), whether it is there (`has`), WBT entry and epoch, places of the bytes, and they.
    pub fn send(
        &self,
        op: WbOp,
        line: Bits,
        (keep, has): (Bool, Bool),
        (wbt, epoch): (Bits, Bits),
        (mask, data): (Bits, Bits),
    ) {
        self.wb.send(&Wb {
            op: enum_lit(op),
            src: self.own,
            atomic: self.at_line(line),
            keep,
            has,
            written: Written { wbt, epoch, mask, data },
        });
    }
}

/// Takes responses to a block of a system, which are of `known` kinds. They need no slot, but for a FILL or REG_DATA, of which one is at work; it names one of the `open` MSHRs. `acks`: does what the
/// others ask.
pub(crate) fn take_responses(
    (block, system): (&str, &str),
    rsp: &InChannel<Rsp>,
    (filler, open): (&Filler, &Reg<Bits>),
    known: &[RspOp],
    acks: impl FnOnce(),
) {
    unused_input(&rsp.msg.dst);
    unused_input(&rsp.msg.wrote);
    let m = &rsp.msg;
    let line = rsp.valid & m.op.is_any(&[RspOp::Fill, RspOp::RegData]);
    let busy = filler.valid.get();
    when(rsp.valid & !(line & busy), || rsp.take());
    when(line & !busy, || {
        filler.take(m);
        filler.note.set(m.op.is(RspOp::RegData));
    });
    acks();
    let text = "a FILL or REG_DATA names an open MSHR";
    let open = open.get().bit_at(m.mshr);
    assert_always(&format!("{block}_fill_open"), !(line & !busy) | open, text);
    let text = format!("a response is one that {system} knows");
    assert_always(&format!("{block}_rsp"), !rsp.valid | m.op.is_any(known), &text);
}
