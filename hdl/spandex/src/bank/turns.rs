//! What enters the pipeline of a bank above memory: what comes on RSP, from memory, on WB, what a TBE has ready, and what comes on REQ, in this order.

use crate::msg::MemRsp;
use crate::params::Spandex;
use weft_rtl::prelude::*;

/// The channels in.
pub(crate) struct Channels<Q: Data, W: Data, R: Data> {
    pub req: InChannel<Q>,
    pub wb: InChannel<W>,
    pub rsp: InChannel<R>,
    pub mem: InChannel<MemRsp>,
}

impl<Q, W, R> Channels<Q, W, R>
where
    Q: Data<Shape = Spandex>,
    W: Data<Shape = Spandex>,
    R: Data<Shape = Spandex>,
{
    /// Declares the channels `req`, `wb`, `rsp_in` and `mem_rsp`, which wait until the bank is `open`.
    pub fn new(s: &Spandex, open: Bool) -> Channels<Q, W, R> {
        Channels {
            req: in_channel_when("req", s, open),
            wb: in_channel_when("wb", s, open),
            rsp: in_channel_when("rsp_in", s, open),
            mem: in_channel_when("mem_rsp", s, open),
        }
    }
}

/// What enters in this cycle; at most one does.
pub(crate) struct Turns {
    pub rsp: Bool,
    mem: Bool,
    /// One of them.
    first: Bool,
    pub wb: Bool,
    /// What a TBE has ready.
    again: Bool,
    pub req: Bool,
}

impl Turns {
    /// By what may enter: on RSP, from memory; on WB; of a TBE; on REQ.
    pub fn new(
        (rsp, mem): (impl FnOnce() -> Bool, impl FnOnce() -> Bool),
        wb: impl FnOnce() -> Bool,
        again: impl FnOnce() -> Bool,
        req: impl FnOnce() -> Bool,
    ) -> Turns {
        let rsp = rsp().named("s0_rsp");
        let mem = (mem() & !rsp).named("s0_mem");
        let first = rsp | mem;
        let wb = (wb() & !first).named("s0_wb");
        let again = (again() & !first & !wb).named("s0_tbe");
        let req = (req() & !first & !wb & !again).named("s0_req");
        Turns { rsp, mem, first, wb, again, req }
    }

    /// Takes it from its channel, or by `again` from its TBE.
    pub fn take<Q: Data, W: Data, R: Data>(&self, from: &Channels<Q, W, R>, again: impl FnOnce()) {
        when(self.rsp, || from.rsp.take());
        when(self.mem, || from.mem.take());
        when(self.wb, || from.wb.take());
        when(self.req, || from.req.take());
        when(self.again, again);
    }

    /// The operation, and whether there is one: that of REQ unless it is another.
    pub fn op<O: Data>(
        &self,
        shape: &O::Shape,
        req: O,
        (rsp, mem): (impl FnOnce() -> O, impl FnOnce() -> O),
        wb: impl FnOnce() -> O,
        again: impl FnOnce() -> O,
    ) -> (O, Bool) {
        let op = wire_or::<O>("s0_op", shape.clone(), req);
        when(self.rsp, || op.set(rsp()));
        when(self.mem, || op.set(mem()));
        when(self.wb, || op.set(wb()));
        when(self.again, || op.set(again()));
        (op.get(), self.first | self.wb | self.again | self.req)
    }
}
