//! Stages 0 to 2: what enters the pipeline, what its set says, what its line holds.
//!
//! Stage 0 takes, in this order, what comes on RSP, from memory, on WB, what a TBE has ready, and what comes on REQ. Of a set one operation is in the pipeline at a time: a request may also
//! change the line that it replaces. The next of the set may enter when it is in stage 3.
//!
//! RSP and memory never wait but for an operation of the same set. A Put waits while its line is busy, and for a slot for WBAck. Requests wait also for room for what they send and for a TBE
//! and a place in the stall memory, whichever they will need.

use super::outputs::Outputs;
use super::params::{MesiLlcFault, MesiLlcParams};
use super::tbes::Tbes;
use super::types::*;
use crate::bank::arrays::Spare;
use crate::bank::pipeline::Entered;
use crate::bank::turns::Makes;
use crate::hmesi::msg::{HReq, HRsp, HRspOp, HWb};
use crate::msg::MemRsp;
use weft_rtl::prelude::*;

/// Everything that stages look at.
pub(super) type Parts<'a> = crate::bank::pipeline::Parts<'a, MesiLlcParams, Tag, Tbes, Outputs>;

/// The registers between stages, and the channels in.
pub(super) type Stages = crate::bank::turns::Stages<Op, Tag, HReq, HWb, HRsp>;

/// What entered, for observers.
pub(super) struct Seen {
    pub entered: Entered,
    /// The Put at the head waits for its line.
    pub wb_busy: Bool,
    /// A response comes; some TBE waits for one of its line.
    pub rsp: Bool,
    pub rsp_known: Bool,
}

impl Stages {
    /// Stage 0.
    pub fn select(&self, with: &Parts) -> (Op, Bool, Seen) {
        let Parts { p, tbes, outs, .. } = with;
        let (Tbes { entries, lists, .. }, pipe, from) = (tbes, &self.pipe, &self.from);
        let mem_line = tbes.at(from.mem.msg.tbe).line;
        let offer = self.offer(mem_line, (entries, lists), Kind::Req);
        let (wb_room, room) = (outs.answers.room_for_wb(), outs.room_for_request());
        let awaiting = tbes.awaiting(from.rsp.msg.line);
        // Between the requests of a stall list the line is not busy: Puts go first, so that requests that keep coming never hold one up.
        let busy = tbes.entries.blocking(from.wb.msg.line) & !entries.of_kinds(&[TbeKind::List]);
        let wb_busy = busy.any() & bool_lit(p.fault != MesiLlcFault::EarlyPut);
        let wb = || {
            let may = wb_room & !wb_busy & !pipe.busy(p.bank.set_of(from.wb.msg.line), 3);
            from.wb.valid & may
        };
        let req = || {
            let may = room & offer.tbe_free & offer.place_free & pipe.quiet(from.req.msg.line);
            from.req.valid & may
        };
        let make = Makes {
            rsp: &|| self.of_rsp(p, awaiting.lowest_set()),
            mem: &|| self.of_mem(p, mem_line),
            wb: &|| self.of_wb(p),
            tbe: &|| self.of_tbe(with, offer.entry.index),
            req: &|| self.of_req(p),
        };
        let taken = self.take(p, (&offer, room), from.rsp.msg.line, (wb, req), &make);
        let wb_busy = from.wb.valid & wb_busy;
        let seen = Seen { entered: taken.entered, wb_busy, rsp: taken.rsp, rsp_known: awaiting.any() };
        (taken.op, taken.any, seen)
    }

    fn of_req(&self, p: &MesiLlcParams) -> Op {
        let HReq { op, line, src, tag, .. } = self.from.req.msg;
        let req = Held { op, line, src: p.bank.s.client_of(src), tag };
        Op { kind: enum_lit(Kind::Req), req, ..blank::<Op>(p) }
    }

    fn of_wb(&self, p: &MesiLlcParams) -> Op {
        let HWb { line, src, tag, dirty, data, .. } = self.from.wb.msg;
        let low = blank::<Op>(p);
        let req = Held { line, src: p.bank.s.client_of(src), tag, ..low.req };
        Op { kind: enum_lit(Kind::Put), req, dirty, data, ..low }
    }

    fn of_rsp(&self, p: &MesiLlcParams, entry: Bits) -> Op {
        let HRsp { op, line, src, dirty, kept, data, .. } = self.from.rsp.msg;
        let low = blank::<Op>(p);
        let kinds = [
            (HRspOp::WbData, Kind::WbData),
            (HRspOp::Unblock, Kind::Unblock),
            (HRspOp::UnblockX, Kind::UnblockX),
        ];
        let first = enum_lit(Kind::InvAck);
        let kind = kinds.iter().fold(first, |rest, (is, kind)| mux(op.is(*is), enum_lit(*kind), rest));
        let req = Held { line, src: p.bank.s.client_of(src), ..low.req };
        Op { kind, tbe: entry.resize(p.bank.s.tbe_bits()), req, dirty, kept, data }
    }

    fn of_mem(&self, p: &MesiLlcParams, line: Bits) -> Op {
        let MemRsp { tbe, data } = self.from.mem.msg;
        let low = blank::<Op>(p);
        Op { kind: enum_lit(Kind::Mem), tbe, req: Held { line, ..low.req }, data, ..low }
    }

    fn of_tbe(&self, with: &Parts, index: Bits) -> Op {
        let Parts { p, tbes, .. } = with;
        let tbe = tbes.at(index);
        let list = tbe.kind.is(TbeKind::List);
        Op {
            kind: mux(list, enum_lit(Kind::Replay), enum_lit(Kind::Commit)),
            tbe: index.resize(p.bank.s.tbe_bits()),
            req: tbes.lists.next(&tbes.entries, (list, tbe.list.head), index),
            ..blank::<Op>(p)
        }
    }

    /// Stage 1: looks the set up, and the TBEs. Returns the ways that hold the line.
    pub fn look(&self, with: &Parts) -> Bits {
        let Parts { p, arrays, tbes, .. } = with;
        let op = self.pipe.s1.get();
        let line = op.req.line;
        let replays = op.kind.is(Kind::Replay);
        let (same_set, others) = tbes.entries.others(p.bank.set_of(line), op.tbe, replays);
        // Lines of which no client has a copy go before others.
        let alone = |tag: &Tag| tag.state.is(LineState::C);
        let spare = |row: &[Tag]| Spare::Alone(pack_bools(&row.iter().map(alone).collect::<Vec<_>>()));
        let by = || (tbes.entries.blocking(line) & others, same_set);
        let way = |searched| {
            let searching = op.kind.is_any(&[Kind::Req, Kind::Replay, Kind::Put]);
            mux(searching, searched, tbes.at(op.tbe).way)
        };
        self.pipe.look(arrays, tbes.entries.ways_of(same_set), spare, by, way)
    }
}
