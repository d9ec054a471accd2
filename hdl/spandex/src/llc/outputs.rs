//! The outputs: what goes to devices, and orders to memory, which go out as a write of the line replaced, then the read of the next.

use super::params::LlcParams;
use super::tbes::Tbes;
use super::types::*;
use crate::bank::entries::of;
use crate::bank::orders::Orders;
use crate::bank::upward::{Sending, Upward};
use crate::msg::{Fwd, FwdOp, ReqOp};
use weft_blocks::common::arbiter::Pick;
use weft_rtl::prelude::*;

/// Queues and channels.
pub(super) struct Outputs {
    p: LlcParams,
    own: Bits,
    /// Answers and forwards.
    pub up: Upward,
    pub orders: Orders,
}

impl Outputs {
    /// Declares channels and queues; `own`: the bank's node.
    pub fn new(p: &LlcParams, own: Bits) -> Outputs {
        Outputs { up: Upward::new(&p.bank.s, own), orders: Orders::new(&p.bank.s, true), p: p.clone(), own }
    }

    /// A request may commit: there is room for its answer, its forwards and its orders.
    pub fn room_for_commit(&self) -> Bool {
        self.up.room_for_commit() & self.orders.room()
    }

    /// Sends what waits.
    pub fn connect(&self, tbes: &Tbes) -> Sending {
        self.orders.connect();
        self.up.connect(tbes.sending(), |entry| self.of_tbe(tbes, entry))
    }

    /// The next message of a TBE, and how it is ticked off.
    fn of_tbe<'a>(&'a self, tbes: &'a Tbes, entry: Pick) -> (Fwd, impl Fn(Bits) + 'a) {
        let p = &self.p;
        let (inv, rv) = (of(&tbes.todo_inv, entry.index), of(&tbes.todo_rv, entry.index));
        let (tbe, request) = (tbes.at(entry.index), tbes.entries.request(entry.index));
        let (owner, words) = group(rv, tbes.owners.read(entry.index), rv, p.bank.s.dev_bits());
        let sharer = inv.lowest_set();
        let shares = inv.any();
        let downgrades = tbe.kind.is(TbeKind::Phase1) & request.op.is(ReqOp::ReqS);
        let revokes = mux(downgrades, enum_lit(FwdOp::ReqS), enum_lit(FwdOp::RvkO));
        let none = lit_bv(Bv::zero(p.bank.s.words()));
        let lost = mux(shares, none, words);
        let msg = Fwd {
            op: mux(shares, enum_lit(FwdOp::Inv), revokes),
            line: tbe.line,
            mask: mux(downgrades, lost & request.mask, none),
            own: lost,
            req: request.src,
            tag: request.tag,
            tbe: entry.index.resize(p.bank.s.tbe_bits()),
            ..fwd_to(&p.bank.s, self.own, mux(shares, sharer.resize(p.bank.s.dev_bits()), owner))
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
}
