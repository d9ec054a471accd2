//! The outputs towards devices: answers and forwards.
//!
//! Answers wait in a queue that keeps a slot for write-backs. A commit leaves its forwards as one job, which is sent owner by owner, one message per cycle; so do the messages of phases 1
//! and evictions, from what their TBE has still to send. Jobs and TBEs take turns.

use super::answers::Answers;
use super::pipeline::STAGES;
use super::request::{Job, fwd_to, group};
use crate::msg::{Fwd, Rsp};
use crate::params::Spandex;
use weft_blocks::common::arbiter::{Pick, RoundRobin};
use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// Forwards of commits.
const JOBS: u32 = 5;

/// Queues and channels.
pub(crate) struct Upward {
    s: Spandex,
    own: Bits,
    /// Answers to devices.
    pub answers: Answers<Rsp>,
    jobs: Fifo<Job>,
    /// Words of the first job that have been sent.
    sent: Reg<Bits>,
    fwd: OutChannel<Fwd>,
    turn: RoundRobin,
    order: RoundRobin,
}

/// What the unit for forwards does in this cycle.
pub(crate) struct Sending {
    /// A message is sent.
    pub any: Bool,
    pub msg: Fwd,
    /// It is of a TBE.
    pub of_tbe: Bool,
}

impl Upward {
    /// Declares channels and queues; `own`: the bank's node.
    pub fn new(s: &Spandex, own: Bits) -> Upward {
        Upward {
            answers: Answers::new(s),
            jobs: Fifo::new("jobs", JOBS, s),
            sent: reg::<Bits>("jobs_sent", s.words()).field("queue"),
            fwd: out_channel::<Fwd>("fwd", s),
            turn: RoundRobin::new("fwd_turn", 2),
            order: RoundRobin::new("fwd_tbe", s.tbes),
            s: s.clone(),
            own,
        }
    }

    /// A request may commit: slots for its answer and that of a write-back are left, and for its forwards.
    pub fn room_for_commit(&self) -> Bool {
        self.answers.room_for_request() & self.jobs.count.le(u64::from(JOBS) - STAGES - 1)
    }

    /// Stage 3 forwards.
    pub fn forward(&self, job: &Job) {
        self.jobs.push(job);
    }
    /// What waits for its channel, for observers.
    pub fn waits(&self) -> [(&'static str, Bool, &'static str); 2] {
        let forward = self.jobs.valid & !self.fwd.free;
        [
            ("rsp", self.answers.waits(), "an answer waits for its channel"),
            ("fwd", forward, "a forward waits for its channel"),
        ]
    }

    /// Sends what waits. `entries`: TBEs that have something to send; `of_tbe`: the next message of one, and how it is ticked off.
    pub fn connect<L: Fn(Bits)>(&self, entries: Bits, of_tbe: impl FnOnce(Pick) -> (Fwd, L)) -> Sending {
        self.answers.connect();
        let entry = self.order.pick(entries);
        let turn = self.turn.pick(pack_bools(&[self.jobs.valid, entry.any]));
        let (any, from_tbe) = ((turn.any & self.fwd.free).named("fwd_sends"), turn.index.eq(1));
        let (job, rest) = self.of_job();
        let (message, left) = of_tbe(entry);
        let msg = mux(from_tbe, message, job);
        when(any, || {
            self.fwd.send(&msg);
            self.turn.granted(turn.index);
            when(from_tbe, || {
                self.order.granted(entry.index);
                left(entry.index);
            })
            .otherwise(|| {
                self.sent.set(mux(rest.any(), self.sent.get() | msg.mask, lit_bv(Bv::zero(self.s.words()))));
                when(rest.none(), || self.jobs.pop());
            });
        });
        Sending { any, msg, of_tbe: from_tbe }
    }

    /// The next message of the first job, and the words left after it.
    fn of_job(&self) -> (Fwd, Bits) {
        let job = self.jobs.head;
        let todo = job.mask & !self.sent.get();
        let (owner, mask) = group(todo, job.owners, todo, self.s.dev_bits());
        let Job { op, line, req, tag, flex, for_wt, data, .. } = job;
        let low = fwd_to(&self.s, self.own, owner);
        (Fwd { op, line, mask, req, tag, flex, for_wt, data, ..low }, todo & !mask)
    }
}
