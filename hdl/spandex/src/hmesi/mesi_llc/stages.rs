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
use crate::bank::pipeline::{Entered, Pipeline, more};
use crate::bank::turns::{Channels, Turns};
use crate::hmesi::msg::{HReq, HRsp, HRspOp, HWb};
use crate::msg::MemRsp;
use weft_rtl::prelude::*;

/// Everything that stages look at.
pub(super) type Parts<'a> = crate::bank::pipeline::Parts<'a, MesiLlcParams, Tag, Tbes, Outputs>;

/// The registers between stages, and the channels in.
pub(super) struct Stages {
    pub pipe: Pipeline<Op, Tag>,
    pub from: Channels<HReq, HWb, HRsp>,
}

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
    /// Declares channels and registers.
    pub fn new(p: &MesiLlcParams) -> Stages {
        let (pipe, from) = Pipeline::new(&p.bank(), p, p.kept(), |open| Channels::new(&p.s, open));
        Stages { pipe, from }
    }

    /// Moves operations on, and the next one in. Returns what entered, and the ways that hold the line in stage 1.
    pub fn connect(&self, with: &Parts) -> (Seen, Bits) {
        self.pipe.connect(with.arrays, || self.select(with), || self.look(with))
    }

    /// Stage 0.
    fn select(&self, with: &Parts) -> (Op, Bool, Seen) {
        let Parts { p, tbes, outs, .. } = with;
        let (Tbes { entries, lists, .. }, pipe, from) = (tbes, &self.pipe, &self.from);
        let mem_line = tbes.at(self.from.mem.msg.tbe).line;
        // What blocks a line, and what a TBE has ready, is known only when stage 3 has been left.
        let entry = pipe.order.pick(entries.ready() & pipe.calm(&entries.sets()));
        let taken = pipe.takers(|op| op.kind.is(Kind::Req));
        let (tbe_free, place_free) = (more(entries.valid(), &taken), more(lists.stalled(), &taken));
        let (wb_room, room) = (outs.answers.room_for_wb(), outs.room_for_request());
        let awaiting = tbes.awaiting(self.from.rsp.msg.line);
        // Between the requests of a stall list the line is not busy: Puts go first, so that requests that keep coming never hold one up.
        let busy = tbes.blocking(self.from.wb.msg.line) & !entries.of_kinds(&[TbeKind::List]);
        let wb_busy = busy.any() & bool_lit(p.fault != MesiLlcFault::EarlyPut);
        let rsp = || from.rsp.valid & pipe.quiet(from.rsp.msg.line);
        let mem = || from.mem.valid & pipe.quiet(mem_line);
        let wb = || {
            let may = wb_room & !wb_busy & !pipe.busy(p.bank().set_of(from.wb.msg.line), 3);
            from.wb.valid & may
        };
        let req = || {
            let may = room & tbe_free & place_free & pipe.quiet(from.req.msg.line);
            from.req.valid & may
        };
        let turns = Turns::new((rsp, mem), wb, || entry.any & room, req);
        turns.take(&self.from, || pipe.order.granted(entry.index));
        let (of_rsp, of_mem) = (|| self.of_rsp(p, awaiting.lowest_set()), || self.of_mem(p, mem_line));
        let of_tbe = || self.of_tbe(with, entry.index);
        let (op, go) = turns.op(*p, self.of_req(p), (of_rsp, of_mem), || self.of_wb(p), of_tbe);
        let free = [tbe_free, place_free, room];
        let entered = Entered::new(turns.req, from.req.valid, free, from.wb.valid & !turns.wb);
        let entered =
            Seen { entered, wb_busy: from.wb.valid & wb_busy, rsp: turns.rsp, rsp_known: awaiting.any() };
        (op, go, entered)
    }

    fn of_req(&self, p: &MesiLlcParams) -> Op {
        let HReq { op, line, src, tag, .. } = self.from.req.msg;
        let req = Held { op, line, src: p.s.client_of(src), tag };
        Op { kind: enum_lit(Kind::Req), req, ..blank::<Op>(p) }
    }

    fn of_wb(&self, p: &MesiLlcParams) -> Op {
        let HWb { line, src, tag, dirty, data, .. } = self.from.wb.msg;
        let low = blank::<Op>(p);
        let req = Held { line, src: p.s.client_of(src), tag, ..low.req };
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
        let req = Held { line, src: p.s.client_of(src), ..low.req };
        Op { kind, tbe: entry.resize(p.s.tbe_bits()), req, dirty, kept, data }
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
            tbe: index.resize(p.s.tbe_bits()),
            req: tbes.lists.next(&tbes.entries, (list, tbe.list.head), index),
            ..blank::<Op>(p)
        }
    }

    /// Stage 1: looks the set up, and the TBEs. Returns the ways that hold the line.
    fn look(&self, with: &Parts) -> Bits {
        let Parts { p, arrays, tbes, .. } = with;
        let op = self.pipe.s1.get();
        let line = op.req.line;
        let replays = op.kind.is(Kind::Replay);
        let (same_set, others) = tbes.entries.others(p.bank().set_of(line), op.tbe, replays);
        // Lines of which no client has a copy go before others.
        let alone = |tag: &Tag| tag.state.is(LineState::C);
        let spare = |row: &[Tag]| Spare::Alone(pack_bools(&row.iter().map(alone).collect::<Vec<_>>()));
        let found = self.pipe.search(arrays, tbes.entries.ways_of(same_set), spare);
        let by_line = tbes.blocking(line) & others;
        let searching = op.kind.is_any(&[Kind::Req, Kind::Replay, Kind::Put]);
        let way = |searched| mux(searching, searched, tbes.at(op.tbe).way);
        self.pipe.advance((found, arrays), (by_line, same_set), way)
    }
}
