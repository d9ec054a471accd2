//! Answers to the CU: a queue in which each spends the L1's latency.

use super::Shape;
use super::fill::Filler;
use super::op::{Kind, Op};
use crate::msg::SyncOp;
use weft_blocks::common::delay::delayed;
use weft_blocks::common::fifo::Fifo;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// The port to the CU.
pub(crate) struct Replies {
    latency: u32,
    out: OutChannel<CuRsp>,
    queue: Fifo<CuRsp>,
    sent: Wire<Bool>,
}

impl Replies {
    pub fn new(p: &Shape) -> Replies {
        Replies {
            latency: p.latency,
            out: out_channel::<CuRsp>("cu_rsp", &p.srsp.cu()),
            queue: Fifo::new("reply", p.latency + 2, &p.srsp.cu()),
            sent: wire_or::<Bool>("reply_sent", (), false),
        }
    }

    /// A slot may answer.
    pub fn room(&self) -> Bool {
        !self.queue.full
    }

    /// The slot's answer, at most one per cycle.
    pub fn send(&self, answer: &CuRsp) {
        self.queue.push(answer);
        self.sent.set(true);
    }

    /// Declares how answers leave.
    pub fn finish(&self) {
        let ripens = delayed("reply_age", self.sent.get(), self.latency - 1);
        let ripe = reg::<Bits>("reply_ripe", bits_for(u64::from(self.latency) + 3)).field("queue");
        let leave = ((ripe.get().any() | ripens) & self.out.free).named("reply_leaves");
        when(leave, || {
            self.out.send(&self.queue.head);
            self.queue.pop();
        });
        when(ripens & !leave, || ripe.set(ripe.get() + 1));
        when(leave & !ripens, || ripe.set(ripe.get() - 1));
    }
}

/// The answer to an operation with the data of its line. With `target` it is one that waited for the answer of the L2 at work.
pub(crate) fn reply(op: &Op, data: Bits, target: Bool, filler: &Filler) -> CuRsp {
    let store = op.kind.is(Kind::Store) | (op.kind.is(Kind::Sync) & op.op.is(SyncOp::St));
    let plain = store | !op.is_memory();
    let from = mux(filler.from_l2.get(), lit(1, 3), lit(3, 3));
    let none = lit_bv(Bv::zero(op.mask.width()));
    CuRsp {
        id: op.id,
        kind: mux(plain, lit(1, 2), lit(0, 2)),
        mask: mux(op.is_memory(), op.mask, none),
        data,
        src: mux(target, from, lit(0, 3)),
        merged: target & filler.target().any(),
    }
}
