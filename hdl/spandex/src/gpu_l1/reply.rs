//! Answers to the CU: shown `latency` cycles after their slot.

use super::params::GpuL1Params;
use weft_blocks::common::delay::delayed;
use weft_blocks::common::fifo::Fifo;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// The port to the CU. Its output register is the first cycle of the latency.
pub(crate) struct Replies {
    latency: u32,
    out: OutChannel<CuRsp>,
    queue: Option<Fifo<CuRsp>>,
    sent: Wire<Bool>,
}

impl Replies {
    pub fn new(p: &GpuL1Params) -> Replies {
        let cu = p.spandex.cu();
        Replies {
            latency: p.latency,
            out: out_channel::<CuRsp>("cu_rsp", &cu),
            queue: (p.latency > 1).then(|| Fifo::new("reply", p.latency + 2, &cu)),
            sent: wire_or::<Bool>("reply_sent", (), false),
        }
    }

    /// A slot may answer.
    pub fn room(&self) -> Bool {
        self.queue.as_ref().map_or(self.out.free, |queue| !queue.full)
    }

    /// The slot's answer, at most one per cycle.
    pub fn send(&self, answer: &CuRsp) {
        match &self.queue {
            Some(queue) => queue.push(answer),
            None => self.out.send(answer),
        }
        self.sent.set(true);
    }

    /// Declares how answers leave.
    pub fn finish(&self) {
        let Some(queue) = &self.queue else { return };
        let ripens = delayed("reply_age", self.sent.get(), self.latency - 1);
        let ripe = reg::<Bits>("reply_ripe", bits_for(u64::from(self.latency) + 3)).field("queue");
        let leave = ((ripe.get().any() | ripens) & self.out.free).named("reply_leaves");
        when(leave, || {
            self.out.send(&queue.head);
            queue.pop();
        });
        when(ripens & !leave, || ripe.set(ripe.get() + 1));
        when(leave & !ripens, || ripe.set(ripe.get() - 1));
    }
}
