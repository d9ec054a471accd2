//! A forward at work, and the answer to words of one status (spandex.md section 5): the same for every device whose words are owned one by one.

use super::table::{Forward, Status};
use crate::msg::{Fwd, FwdOp, Rsp, RspOp};
use crate::params::Spandex;
use weft_rtl::prelude::*;

/// The forward at work.
#[derive(Clone, Copy)]
pub(crate) struct Now {
    pub op: Enum<FwdOp>,
    /// Words not yet done, and those that the requestor wants.
    pub rest: Bits,
    pub wanted: Bits,
    pub src: Bits,
    pub req: Bits,
    pub tag: Bits,
    pub tbe: Bits,
    pub for_wt: Bool,
    pub direct: Bool,
    pub flex: Bool,
    /// A delayed removal that has been answered.
    pub drop: Bool,
}

/// What is answered.
pub(crate) struct Answer {
    pub line: Bits,
    /// Words of one status, and their values.
    pub words: Bits,
    pub data: Bits,
    /// Owned words of the line.
    pub extra: Bits,
    /// They are refused.
    pub nacks: Bool,
    /// ReqS: it goes to the requestor; another one follows, to the bank.
    pub first_of_two: Bool,
    /// They stay as shared ones.
    pub kept_s: Bool,
}

impl Now {
    /// A forward of the network; of one that has `begun` the `rest` of its words is not done.
    pub fn of(m: &Fwd, begun: &Reg<Bool>, rest: &Reg<Bits>) -> Now {
        let all = mux(m.op.is_any(&[FwdOp::RvkO, FwdOp::ReqS]), m.own, m.mask);
        Now {
            op: m.op,
            rest: mux(begun.get(), rest.get(), all),
            wanted: m.mask,
            src: m.src,
            req: m.req,
            tag: m.tag,
            tbe: m.tbe,
            for_wt: m.for_wt,
            direct: m.direct,
            flex: m.flex,
            drop: bool_lit(false),
        }
    }
}

impl Answer {
    /// The message, by the row of the table; `own`: the device.
    pub fn message(&self, s: &Spandex, own: Bits, now: &Now, row: &Decoded<Status, Forward>) -> Rsp {
        let code = |op: RspOp| enum_lit(op);
        let is = |op: FwdOp| now.op.is(op);
        let (nacks, first_of_two) = (self.nacks, self.first_of_two);
        let ack = row.does(Forward::Ack);
        let op =
            mux(is(FwdOp::ReqO), mux(now.for_wt, code(RspOp::RspWt), code(RspOp::RspO)), code(RspOp::RspV));
        let op = mux(is(FwdOp::ReqOData), code(RspOp::RspOData), op);
        let op = mux(is(FwdOp::ReqWt), code(RspOp::RspWt), op);
        let nack = mux(is(FwdOp::ReqWt), code(RspOp::NackWt), code(RspOp::NackV));
        let bank = (row.does(Forward::Bank) | row.does(Forward::Both)) & !first_of_two;
        let op = mux(nacks, nack, op);
        let op = mux(first_of_two, code(RspOp::RspS), mux(bank, code(RspOp::RspRvkO), op));
        let extra = self.extra & !now.wanted & (now.flex & is(FwdOp::ReqV)).repeat(s.words());
        let to_bank = bank | ack;
        Rsp {
            op: mux(ack, code(RspOp::Ack), op),
            line: self.line,
            mask: mux(first_of_two, self.words & now.wanted, self.words),
            extra,
            src: own.resize(s.node_bits()),
            dst: mux(to_bank, now.src, now.req.resize(s.node_bits())),
            tag: mux(to_bank, now.tbe.resize(s.tag_bits()), now.tag),
            nodata: bank & row.does(Forward::Nodata),
            kept_s: bank & self.kept_s,
            dirty: bool_lit(true),
            direct: now.direct & !to_bank,
            data: self.data,
        }
    }
}
