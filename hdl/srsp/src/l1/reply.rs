//! Answers to the CU: a queue in which each spends the L1's latency.

use super::params::L1Params;
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
    pub fn new(p: &L1Params) -> Replies {
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
