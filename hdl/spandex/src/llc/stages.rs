//! Stages 0 to 2: what enters the pipeline, what its set says, what its line holds.
//!
//! Stage 0 takes, in this order, what comes on RSP, from memory, on WB, what a TBE has ready, and what comes on REQ. Of a set one operation is in the pipeline at a time, not only of a line:
//! a request may also change the line that it replaces. So stage 3 finds everything as stages 1 and 2 have read it. The next of the set may enter when it is in stage 3.
//!
//! RSP and memory never wait but for an operation of the same set; write-backs wait for a slot for their answer, which needs no device but to take answers. Requests wait also for room for
//! what they send and for a TBE and a place in the stall memory, whichever they will need: what leaves again without them has held them for three cycles.

use super::outputs::Outputs;
use super::params::{LlcParams, SharerMode};
use super::tbes::Tbes;
use super::types::*;
use crate::bank::arrays::{LineTag, Place};
use crate::bank::pipeline::Entered;
use crate::bank::turns::Makes;
use crate::msg::{MemRsp, Req, Rsp, RspOp, Wb};
use weft_rtl::prelude::*;

/// Everything that stages look at.
pub(super) type Parts<'a> = crate::bank::pipeline::Parts<'a, LlcParams, Tag, Tbes, Outputs>;

/// The registers between stages, and the channels in.
pub(super) type Stages = crate::bank::turns::Stages<Op, Tag, Req, Wb, Rsp>;

impl Stages {
    /// Stage 0.
    pub fn select(&self, with: &Parts) -> (Op, Bool, Entered) {
        let Parts { p, tbes, outs, .. } = with;
        let Tbes { entries, lists, .. } = tbes;
        let (pipe, from) = (&self.pipe, &self.from);
        let mem_line = tbes.at(from.mem.msg.tbe).line;
        let offer = self.offer(mem_line, (entries, lists), Kind::Req);
        let (wb_room, room) = (outs.up.answers.room_for_wb(), outs.room_for_commit());
        let wb = || from.wb.valid & pipe.quiet(from.wb.msg.line) & wb_room;
        let req = || {
            // Requests enter behind the operation in stage 3: a stream of them would leave a TBE of their set no gap.
            let req_set = p.bank.set_of(from.req.msg.line);
            let of_set: Vec<Bool> = entries.sets().iter().map(|set| set.eq(req_set)).collect();
            let due = (entries.ready() & pack_bools(&of_set)).any();
            let may = room & offer.tbe_free & offer.place_free & pipe.quiet(from.req.msg.line) & !due;
            from.req.valid & may
        };
        let make = Makes {
            rsp: &|| self.of_rsp(p),
            mem: &|| self.of_mem(p, mem_line),
            wb: &|| self.of_wb(p),
            tbe: &|| self.of_tbe(with, offer.entry.index),
            req: &|| self.of_req(p),
        };
        let taken = self.take(p, (&offer, room), from.rsp.msg.line, (wb, req), &make);
        (taken.op, taken.any, taken.entered)
    }

    fn of_req(&self, p: &LlcParams) -> Op {
        Op { kind: enum_lit(Kind::Req), req: Held::of(&self.from.req.msg), ..blank::<Op>(p) }
    }

    fn of_wb(&self, p: &LlcParams) -> Op {
        let Wb { line, mask, src, tag, dirty, data, .. } = self.from.wb.msg;
        let low = blank::<Op>(p);
        Op { kind: enum_lit(Kind::Wb), req: Held { line, mask, src, tag, data, ..low.req }, dirty, ..low }
    }

    fn of_rsp(&self, p: &LlcParams) -> Op {
        let Rsp { op, line, mask, src, tag, nodata, kept_s, dirty, data, .. } = self.from.rsp.msg;
        let low = blank::<Op>(p);
        let req = Held { line, mask, src: src.resize(p.bank.s.dev_bits()), tag, data, ..low.req };
        Op {
            kind: mux(op.is(RspOp::Ack), enum_lit(Kind::Ack), enum_lit(Kind::Rvk)),
            tbe: tag.resize(p.bank.s.tbe_bits()),
            req,
            dirty,
            nodata,
            kept: kept_s,
        }
    }

    fn of_mem(&self, p: &LlcParams, line: Bits) -> Op {
        let MemRsp { tbe, data } = self.from.mem.msg;
        let low = blank::<Op>(p);
        let mask = lit_bv(Bv::ones(p.bank.s.words()));
        Op { kind: enum_lit(Kind::Mem), tbe, req: Held { line, mask, data, ..low.req }, ..low }
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
        let spare = |_: &[Tag]| arrays.held(|place| is_shared(p, place));
        let by = || {
            (mux(op.kind.is(Kind::Wb), tbes.revoking(line), tbes.entries.blocking(line)) & others, same_set)
        };
        let way = |searched| {
            let of_tbe = op.kind.is_any(&[Kind::Commit, Kind::Rvk, Kind::Ack, Kind::Mem]);
            mux(of_tbe, tbes.at(op.tbe).way, searched)
        };
        self.pipe.look(arrays, tbes.entries.ways_of(same_set), spare, by, way)
    }
}

/// Somebody may have to be invalidated before a line goes.
fn is_shared(p: &LlcParams, place: &Place<Tag>) -> Bool {
    match p.sharers {
        SharerMode::Exact => place.sharers.any() & !place.there.absent(),
        SharerMode::Broadcast => place.there.state.is(LineState::S),
    }
}
