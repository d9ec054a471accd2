//! Answers, which wait in a queue that keeps a slot for those to write-backs.

use super::pipeline::STAGES;
use crate::params::Spandex;
use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// Answers that wait for the output: one of each stage and of the one that enters, one slot that requests leave free, some to smooth.
const ANSWERS: u32 = 8;

/// The queue and its channel.
pub(crate) struct Answers<M: Data<Shape = Spandex>> {
    queue: Fifo<M>,
    rsp: OutChannel<M>,
}

impl<M: Data<Shape = Spandex>> Answers<M> {
    /// Declares the queue `answers` and the channel `rsp`.
    pub fn new(s: &Spandex) -> Answers<M> {
        Answers { queue: Fifo::new("answers", ANSWERS, s), rsp: out_channel::<M>("rsp", s) }
    }
    /// A write-back may enter the pipeline: a slot for its answer is left.
    pub fn room_for_wb(&self) -> Bool {
        self.queue.count.le(u64::from(ANSWERS) - STAGES - 1)
    }
    /// A request may commit: slots for its answer and that of a write-back are left.
    pub fn room_for_request(&self) -> Bool {
        self.queue.count.le(u64::from(ANSWERS) - STAGES - 2)
    }
    /// Stage 3 answers.
    pub fn push(&self, rsp: &M) {
        self.queue.push(rsp);
    }
    /// An answer waits for the channel.
    pub fn waits(&self) -> Bool {
        self.queue.valid & !self.rsp.free
    }
    /// Sends what waits.
    pub fn connect(&self) {
        when(self.queue.valid & self.rsp.free, || {
            self.rsp.send(&self.queue.head);
            self.queue.pop();
        });
    }
}
