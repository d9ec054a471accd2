//! The outputs: answers, forwards, orders to memory.
//!
//! Answers wait in a queue that keeps a slot for WBAck. Forwards are sent one per cycle, from what their TBEs have still to send. Orders go out as a write of the line replaced, then the read
//! of the next.

use super::params::MesiLlcParams;
use super::tbes::Tbes;
use super::types::*;
use crate::bank::answers::Answers;
use crate::bank::orders::Orders;
use crate::hmesi::msg::{HFwd, HRsp};
use crate::params::Spandex;
use weft_blocks::common::arbiter::RoundRobin;
use weft_rtl::prelude::*;

/// Queues and channels.
pub(super) struct Outputs {
    s: Spandex,
    own: Bits,
    /// Answers to clients.
    pub answers: Answers<HRsp>,
    fwd: OutChannel<HFwd>,
    order: RoundRobin,
    pub orders: Orders,
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
            answers: Answers::new(&p.bank.s),
            fwd: out_channel::<HFwd>("fwd", &p.bank.s),
            order: RoundRobin::new("fwd_tbe", p.bank.s.tbes),
            orders: Orders::new(&p.bank.s, false),
            s: p.bank.s.clone(),
            own,
        }
    }

    /// A request may enter: slots for its answer and a WBAck are left, and for its order.
    pub fn room_for_request(&self) -> Bool {
        self.answers.room_for_request() & self.orders.room()
    }

    /// Sends what waits.
    pub fn connect(&self, tbes: &Tbes) -> Sending {
        self.answers.connect();
        self.orders.connect();
        let s = &self.s;
        let entry = self.order.pick(tbes.sending());
        let any = (entry.any & self.fwd.free).named("fwd_sends");
        let (tbe, request) = (tbes.at(entry.index), tbes.entries.request(entry.index));
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
}
