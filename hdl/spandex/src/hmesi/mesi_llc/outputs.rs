//! The outputs: answers, forwards, orders to memory.
//!
//! Answers wait in a queue that keeps a slot for WBAck. Forwards are sent one per cycle, from what their TBEs have still to send. Orders go out as a write of the line replaced, then the read
//! of the next.

use super::params::MesiLlcParams;
use super::tbes::Tbes;
use super::types::*;
use crate::hmesi::msg::{HFwd, HRsp};
use crate::msg::MemReq;
use weft_blocks::common::arbiter::RoundRobin;
use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// Operations that may be in the pipeline: room is left for what they may send.
const STAGES: u64 = 3;
/// Answers that wait for the output: one of each stage and of the one that enters, one slot that requests leave free, some to smooth.
const ANSWERS: u32 = 8;
/// Orders to memory.
const ORDERS: u32 = 5;

/// Queues and channels.
pub(super) struct Outputs {
    p: MesiLlcParams,
    own: Bits,
    answers: Fifo<HRsp>,
    rsp: OutChannel<HRsp>,
    fwd: OutChannel<HFwd>,
    order: RoundRobin,
    orders: Fifo<Order>,
    written: Reg<Bool>,
    mem: OutChannel<MemReq>,
}

/// What the unit for forwards does in this cycle.
pub(super) struct Sending {
    /// A message is sent.
    pub any: Bool,
    pub msg: HFwd,
    /// One waits for its channel.
    pub waits: Bool,
}

impl Outputs {
    /// Declares channels and queues; `own`: the bank's node.
    pub fn new(p: &MesiLlcParams, own: Bits) -> Outputs {
        Outputs {
            answers: Fifo::new("answers", ANSWERS, &p.s),
            rsp: out_channel::<HRsp>("rsp", &p.s),
            fwd: out_channel::<HFwd>("fwd", &p.s),
            order: RoundRobin::new("fwd_tbe", p.s.tbes),
            orders: Fifo::new("orders", ORDERS, p),
            written: reg::<Bool>("orders_written", ()),
            mem: out_channel::<MemReq>("mem_req", &p.s),
            p: p.clone(),
            own,
        }
    }

    /// A Put may enter the pipeline: a slot for WBAck is left.
    pub fn room_for_put(&self) -> Bool {
        self.answers.count.le(u64::from(ANSWERS) - STAGES - 1)
    }
    /// A request may enter: slots for its answer and a WBAck are left, and for its order.
    pub fn room_for_request(&self) -> Bool {
        let answers = self.answers.count.le(u64::from(ANSWERS) - STAGES - 2);
        answers & self.orders.count.le(u64::from(ORDERS) - STAGES - 1)
    }
    /// Stage 3 answers.
    pub fn answer(&self, rsp: &HRsp) {
        self.answers.push(rsp);
    }
    /// Stage 3 reads memory, and may write the line replaced.
    pub fn order(&self, order: &Order) {
        self.orders.push(order);
    }
    /// An answer, an order waits for its channel.
    pub fn waits(&self) -> [Bool; 2] {
        [self.answers.valid & !self.rsp.free, self.orders.valid & !self.mem.free]
    }

    /// Sends what waits.
    pub fn connect(&self, tbes: &Tbes) -> Sending {
        when(self.answers.valid & self.rsp.free, || {
            self.rsp.send(&self.answers.head);
            self.answers.pop();
        });
        self.send_orders();
        let s = &self.p.s;
        let entry = self.order.pick(tbes.sending());
        let any = (entry.any & self.fwd.free).named("fwd_sends");
        let (tbe, request) = (tbes.at(entry.index), tbes.request(entry.index));
        let client = tbe.todo.lowest_set().resize(s.client_bits());
        let msg = HFwd {
            op: tbe.fwd,
            line: tbe.line,
            src: self.own,
            dst: s.client_node(client, tbe.line),
            req: s.client_node(request.src, tbe.line),
            tag: request.tag,
            recall: tbe.kind.is(TbeKind::Evict),
        };
        when(any, || {
            self.fwd.send(&msg);
            self.order.granted(entry.index);
            for (i, todo) in tbes.todo.iter().enumerate() {
                when(entry.index.eq(i as u64), || todo.set(todo.get() & (todo.get() - 1)));
            }
        });
        Sending { any, msg, waits: entry.any & !self.fwd.free }
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
            self.written.set(writes);
            when(!writes, || self.orders.pop());
        });
    }
}
