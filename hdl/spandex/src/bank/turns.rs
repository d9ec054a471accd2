//! What enters the pipeline of a bank above memory: what comes on RSP, from memory, on WB, what a TBE has ready, and what comes on REQ, in this order.

use super::Bank;
use super::arrays::{Kept, LineTag};
use super::entries::Entries;
use super::lists::Lists;
use super::pipeline::{Entered, Operation, Pipeline, more};
use crate::msg::MemRsp;
use crate::params::Spandex;
use weft_blocks::common::arbiter::Pick;
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

/// The registers between stages, and the channels in.
pub(crate) struct Stages<O: Operation, T: LineTag, Q: Data, W: Data, R: Data> {
    pub pipe: Pipeline<O, T>,
    pub from: Channels<Q, W, R>,
}

/// What may enter, and what stage 0 has found for it.
pub(crate) struct Offer {
    /// Line of what comes from memory.
    pub mem_line: Bits,
    /// A TBE that has something ready.
    pub entry: Pick,
    /// A request finds a free TBE, and a place in the stall memory.
    pub tbe_free: Bool,
    pub place_free: Bool,
}

/// The operations that enter: from RSP, from memory, on WB, of a TBE, on REQ.
pub(crate) struct Makes<'a, O> {
    pub rsp: &'a dyn Fn() -> O,
    pub mem: &'a dyn Fn() -> O,
    pub wb: &'a dyn Fn() -> O,
    pub tbe: &'a dyn Fn() -> O,
    pub req: &'a dyn Fn() -> O,
}

/// What stage 0 takes.
pub(crate) struct Taken<O> {
    pub op: O,
    /// There is one; it came on RSP.
    pub any: Bool,
    pub rsp: Bool,
    /// For observers.
    pub entered: Entered,
}

impl<O: Operation, T: LineTag, Q: Data, W: Data, R: Data> Stages<O, T, Q, W, R>
where
    Q: Data<Shape = Spandex>,
    W: Data<Shape = Spandex>,
    R: Data<Shape = Spandex>,
{
    /// Declares channels and registers; `op`: shape of operations.
    pub fn of(bank: &Bank, op: &O::Shape, kept: Kept) -> Stages<O, T, Q, W, R> {
        let (pipe, from) = Pipeline::new(bank, op, kept, |open| Channels::new(&bank.s, open));
        Stages { pipe, from }
    }

    /// What a bank offers stage 0. What blocks a line, and what a TBE has ready, is known only when stage 3 has left it. `fresh`: a request from the channel.
    pub fn offer<K: HwEnum, H: Data, P: Data>(
        &self,
        mem_line: Bits,
        (entries, lists): (&Entries<K, H, P>, &Lists<H>),
        fresh: O::Kind,
    ) -> Offer {
        let pipe = &self.pipe;
        let entry = pipe.order.pick(entries.ready() & pipe.calm(&entries.sets()));
        let taken = pipe.takers(|op| op.kind().is(fresh));
        let (tbe_free, place_free) = (more(entries.valid(), &taken), more(lists.stalled(), &taken));
        Offer { mem_line, entry, tbe_free, place_free }
    }

    /// Takes what may enter. `room`: there is room for what a request sends; `rsp_line`: line of what comes on RSP; `wb`, `req`: what comes there may enter.
    pub fn take(
        &self,
        shape: &O::Shape,
        (offer, room): (&Offer, Bool),
        rsp_line: Bits,
        (wb, req): (impl FnOnce() -> Bool, impl FnOnce() -> Bool),
        make: &Makes<O>,
    ) -> Taken<O> {
        let (pipe, from) = (&self.pipe, &self.from);
        let rsp = (from.rsp.valid & pipe.quiet(rsp_line)).named("s0_rsp");
        let mem = (from.mem.valid & pipe.quiet(offer.mem_line) & !rsp).named("s0_mem");
        let first = rsp | mem;
        let wb = (wb() & !first).named("s0_wb");
        let again = (offer.entry.any & room & !first & !wb).named("s0_tbe");
        let req = (req() & !first & !wb & !again).named("s0_req");
        when(rsp, || from.rsp.take());
        when(mem, || from.mem.take());
        when(wb, || from.wb.take());
        when(req, || from.req.take());
        when(again, || pipe.order.granted(offer.entry.index));
        let op = wire_or::<O>("s0_op", shape.clone(), (make.req)());
        when(rsp, || op.set((make.rsp)()));
        when(mem, || op.set((make.mem)()));
        when(wb, || op.set((make.wb)()));
        when(again, || op.set((make.tbe)()));
        let (op, any) = (op.get(), first | wb | again | req);
        let free = [offer.tbe_free, offer.place_free, room];
        let entered = Entered::new(req, from.req.valid, free, from.wb.valid & !wb);
        Taken { op, any, rsp, entered }
    }
}
