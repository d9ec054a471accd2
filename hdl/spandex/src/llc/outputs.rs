//! The outputs: answers, forwards, orders to memory.
//!
//! Answers wait in a queue that keeps a slot for write-backs. A commit leaves its forwards as one job, which is sent owner by owner, one message per cycle; so do the messages of phases 1
//! and evictions, from what their TBE has still to send. Jobs and TBEs take turns. Orders go out as a write of the line replaced, then the read of the next.

use super::params::LlcParams;
use super::tbes::Tbes;
use super::types::*;
use crate::msg::{Fwd, FwdOp, MemReq, ReqOp, Rsp};
use weft_blocks::common::arbiter::{Pick, RoundRobin};
use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// Operations that may be in the pipeline: room is left for what they may send.
const STAGES: u64 = 3;

/// Answers that wait for the output: one of each stage and of the one that enters, one slot that requests leave free, some to smooth.
const ANSWERS: u32 = 8;

/// Forwards of commits.
const JOBS: u32 = 5;

/// Orders to memory.
const ORDERS: u32 = 5;

/// Queues and channels.
pub(super) struct Outputs {
    p: LlcParams,
    own: Bits,
    answers: Fifo<Rsp>,
    rsp: OutChannel<Rsp>,
    jobs: Fifo<Job>,
    /// Words of the first job that have been sent.
    sent: Reg<Bits>,
    fwd: OutChannel<Fwd>,
    turn: RoundRobin,
    order: RoundRobin,
    orders: Fifo<Order>,
    written: Reg<Bool>,
    mem: OutChannel<MemReq>,
}

/// What the unit for forwards does in this cycle.
pub(super) struct Sending {
    /// A message is sent.
    pub any: Bool,
    pub msg: Fwd,
    /// It is of a TBE.
    pub of_tbe: Bool,
}

impl Outputs {
    /// Declares channels and queues; `own`: the bank's node.
    pub fn new(p: &LlcParams, own: Bits) -> Outputs {
        Outputs {
            answers: Fifo::new("answers", ANSWERS, &p.s),
            rsp: out_channel::<Rsp>("rsp", &p.s),
            jobs: Fifo::new("jobs", JOBS, p),
            sent: reg::<Bits>("jobs_sent", p.s.words()).field("queue"),
            fwd: out_channel::<Fwd>("fwd", &p.s),
            turn: RoundRobin::new("fwd_turn", 2),
            order: RoundRobin::new("fwd_tbe", p.s.tbes),
            orders: Fifo::new("orders", ORDERS, p),
            written: reg::<Bool>("orders_written", ()),
            mem: out_channel::<MemReq>("mem_req", &p.s),
            p: p.clone(),
            own,
        }
    }

    /// A write-back may enter the pipeline: a slot for its answer is left.
    pub fn room_for_wb(&self) -> Bool {
        self.answers.count.le(u64::from(ANSWERS) - STAGES - 1)
    }

    /// A request may commit: slots for its answer and that of a write-back are left, and for its forwards and orders.
    pub fn room_for_commit(&self) -> Bool {
        let answers = self.answers.count.le(u64::from(ANSWERS) - STAGES - 2);
        let jobs = self.jobs.count.le(u64::from(JOBS) - STAGES - 1);
        answers & jobs & self.orders.count.le(u64::from(ORDERS) - STAGES - 1)
    }

    /// Stage 3 answers.
    pub fn answer(&self, rsp: &Rsp) {
        self.answers.push(rsp);
    }
    /// Stage 3 forwards.
    pub fn forward(&self, job: &Job) {
        self.jobs.push(job);
    }
    /// Stage 3 reads or writes memory.
    pub fn order(&self, order: &Order) {
        self.orders.push(order);
    }
    /// Nothing waits to be sent but what phases 1 have to.
    pub fn waits(&self) -> [Bool; 3] {
        [
            self.answers.valid & !self.rsp.free,
            self.jobs.valid & !self.fwd.free,
            self.orders.valid & !self.mem.free,
        ]
    }

    /// Sends what waits.
    pub fn connect(&self, tbes: &Tbes) -> Sending {
        when(self.answers.valid & self.rsp.free, || {
            self.rsp.send(&self.answers.head);
            self.answers.pop();
        });
        self.send_orders();
        let entry = self.order.pick(tbes.sending());
        let turn = self.turn.pick(pack_bools(&[self.jobs.valid, entry.any]));
        let (any, of_tbe) = ((turn.any & self.fwd.free).named("fwd_sends"), turn.index.eq(1));
        let (job, rest) = self.of_job();
        let (message, left) = self.of_tbe(tbes, entry);
        let msg = mux(of_tbe, message, job);
        when(any, || {
            self.fwd.send(&msg);
            self.turn.granted(turn.index);
            when(of_tbe, || {
                self.order.granted(entry.index);
                left(entry.index);
            })
            .otherwise(|| {
                self.sent.set(mux(
                    rest.any(),
                    self.sent.get() | msg.mask,
                    lit_bv(Bv::zero(self.p.s.words())),
                ));
                when(rest.none(), || self.jobs.pop());
            });
        });
        Sending { any, msg, of_tbe }
    }

    /// The next message of the first job, and the words left after it.
    fn of_job(&self) -> (Fwd, Bits) {
        let job = self.jobs.head;
        let todo = job.mask & !self.sent.get();
        let (owner, mask) = group(todo, job.owners, todo, self.p.s.dev_bits());
        let Job { op, line, req, tag, flex, for_wt, data, .. } = job;
        let low = fwd_to(&self.p, self.own, owner);
        (Fwd { op, line, mask, req, tag, flex, for_wt, data, ..low }, todo & !mask)
    }

    /// The next message of a TBE, and how it is ticked off.
    fn of_tbe<'a>(&'a self, tbes: &'a Tbes, entry: Pick) -> (Fwd, impl Fn(Bits) + 'a) {
        let p = &self.p;
        let of = |all: &[Reg<Bits>]| select(&all.iter().map(|r| r.get()).collect::<Vec<_>>(), entry.index);
        let (inv, rv) = (of(&tbes.todo_inv), of(&tbes.todo_rv));
        let (tbe, request) = (tbes.at(entry.index), tbes.request(entry.index));
        let (owner, words) = group(rv, tbes.owners(entry.index), rv, p.s.dev_bits());
        let sharer = inv.lowest_set();
        let shares = inv.any();
        let downgrades = tbe.kind.is(TbeKind::Phase1) & request.op.is(ReqOp::ReqS);
        let revokes = mux(downgrades, enum_lit(FwdOp::ReqS), enum_lit(FwdOp::RvkO));
        let none = lit_bv(Bv::zero(p.s.words()));
        let lost = mux(shares, none, words);
        let msg = Fwd {
            op: mux(shares, enum_lit(FwdOp::Inv), revokes),
            line: tbe.line,
            mask: mux(downgrades, lost & request.mask, none),
            own: lost,
            req: request.src,
            tag: request.tag,
            tbe: entry.index.resize(p.s.tbe_bits()),
            ..fwd_to(p, self.own, mux(shares, sharer.resize(p.s.dev_bits()), owner))
        };
        let bit = sharer.one_hot(p.sharing());
        let left = move |index: Bits| {
            for (i, (todo_inv, todo_rv)) in tbes.todo_inv.iter().zip(&tbes.todo_rv).enumerate() {
                when(index.eq(i as u64), || {
                    when(shares, || todo_inv.set(inv & !bit)).otherwise(|| todo_rv.set(rv & !words));
                });
            }
        };
        (msg, left)
    }

    fn send_orders(&self) {
        let (p, o) = (&self.p, self.orders.head);
        let writes = o.write & !self.written.get();
        let none = lit_bv(Bv::zero(p.s.data_bits()));
        when(self.orders.valid & self.mem.free, || {
            self.mem.send(&MemReq {
                write: writes,
                tbe: o.tbe,
                line: mux(writes, o.write_line, o.read_line),
                data: mux(writes, o.data, none),
            });
            self.written.set(writes & o.read);
            when(!writes | !o.read, || self.orders.pop());
        });
    }
}
