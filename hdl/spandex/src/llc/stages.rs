//! Stages 0 to 2: what enters the pipeline, what its set says, what its line holds.
//!
//! Stage 0 takes, in this order, what comes on RSP, from memory, on WB, what a TBE has ready, and what comes on REQ. Of a set one operation is in the pipeline at a time, not only of a line:
//! a request may also change the line that it replaces. So stage 3 finds everything as stages 1 and 2 have read it. The next of the set may enter when it is in stage 3.
//!
//! RSP and memory never wait but for an operation of the same set; write-backs wait for a slot for their answer, which needs no device but to take answers. Requests wait also for room for
//! what they send and for a TBE and a place in the stall memory, whichever they will need: what leaves again without them has held them for three cycles.

use super::arrays::Arrays;
use super::outputs::Outputs;
use super::params::LlcParams;
use super::tbes::Tbes;
use super::types::*;
use crate::msg::{MemRsp, Req, Rsp, RspOp, Wb};
use weft_blocks::common::arbiter::RoundRobin;
use weft_rtl::prelude::*;

/// Everything that stages look at.
pub(super) struct Parts<'a> {
    pub p: &'a LlcParams,
    /// The bank's node.
    pub own: Bits,
    pub arrays: &'a Arrays<Tag>,
    pub tbes: &'a Tbes,
    pub outs: &'a Outputs,
}

/// The channels in, and the registers between stages.
pub(super) struct Stages {
    /// Sets cleared since reset.
    cleared: Reg<Bits>,
    /// All sets are clear.
    pub open: Bool,
    pub req: InChannel<Req>,
    pub wb: InChannel<Wb>,
    pub rsp: InChannel<Rsp>,
    pub mem: InChannel<MemRsp>,
    order: RoundRobin,
    pub s1_valid: Reg<Bool>,
    pub s1: Reg<Op>,
    pub s2_valid: Reg<Bool>,
    s2: Reg<Op>,
    s2_look: Reg<Look>,
    pub s3_valid: Reg<Bool>,
    pub s3: Reg<Op>,
    pub s3_look: Reg<Look>,
    /// The line's words.
    pub s3_line: Reg<Bits>,
}

/// What entered, for observers.
pub(super) struct Entered {
    pub req: Bool,
    /// A request waits at the channel.
    pub req_waits: Bool,
    /// It waits for a TBE, a place in the stall memory, the outputs.
    pub no_tbe: Bool,
    pub no_place: Bool,
    pub no_room: Bool,
    pub wb_waits: Bool,
    pub matches: Bits,
}

impl Stages {
    /// Declares channels and registers.
    pub fn new(p: &LlcParams) -> Stages {
        let bits = p.sets().trailing_zeros() + 1;
        let cleared = reg::<Bits>("cleared", bits).doc("Sets cleared since reset.");
        let open = cleared.get().bit(bits - 1).named("open");
        let op = |name| reg::<Op>(name, p.clone()).field("pipeline");
        let look = |name| reg::<Look>(name, p.clone()).field("pipeline");
        Stages {
            cleared,
            open,
            req: in_channel_when::<Req>("req", &p.s, open),
            wb: in_channel_when::<Wb>("wb", &p.s, open),
            rsp: in_channel_when::<Rsp>("rsp_in", &p.s, open),
            mem: in_channel_when::<MemRsp>("mem_rsp", &p.s, open),
            order: RoundRobin::new("tbe_order", p.s.tbes),
            s1_valid: reg::<Bool>("s1_valid", ()),
            s1: op("s1"),
            s2_valid: reg::<Bool>("s2_valid", ()),
            s2: op("s2"),
            s2_look: look("s2_look"),
            s3_valid: reg::<Bool>("s3_valid", ()),
            s3: op("s3"),
            s3_look: look("s3_look"),
            s3_line: reg::<Bits>("s3_line", p.s.data_bits()).field("pipeline"),
        }
    }

    /// Empties the arrays, a set per cycle.
    fn clear(&self, p: &LlcParams, arrays: &Arrays<Tag>) {
        when(!self.open, || {
            self.cleared.set(self.cleared.get() + 1);
            arrays.empty(self.cleared.get().resize(p.set_bits()));
        });
    }

    /// Operations in the pipeline.
    fn under_way(&self) -> [(Bool, Op); 3] {
        [
            (self.s1_valid.get(), self.s1.get()),
            (self.s2_valid.get(), self.s2.get()),
            (self.s3_valid.get(), self.s3.get()),
        ]
    }

    /// An operation of a set is in the first stages of the pipeline. The one in stage 3 writes what stage 1 reads in the next cycle.
    fn busy(&self, p: &LlcParams, set: Bits, stages: usize) -> Bool {
        let first = &self.under_way()[..stages];
        let same: Vec<Bool> =
            first.iter().map(|(valid, op)| *valid & p.set_of(op.req.line).eq(set)).collect();
        any_of(&same)
    }

    /// More entries of `used` are free than requests in the pipeline may take.
    fn more(&self, used: Bits) -> Bool {
        let takers = pack_bools(&self.under_way().map(|(valid, op)| valid & op.kind.is(Kind::Req)));
        let free = (!used).popcount();
        let width = free.width().max(takers.popcount().width());
        takers.popcount().resize(width).lt(free.resize(width))
    }

    /// Moves operations on, and the next one in.
    pub fn connect(&self, with: &Parts) -> Entered {
        let Parts { p, arrays, .. } = with;
        self.clear(p, arrays);
        let (op, go, mut entered) = self.select(with);
        self.s1_valid.set(go);
        when(go, || {
            self.s1.set(op);
            arrays.present(p.set_of(op.req.line));
        });
        entered.matches = self.look(with);
        self.s3_valid.set(self.s2_valid.get());
        when(self.s2_valid.get(), || {
            self.s3.set(self.s2.get());
            self.s3_look.set(self.s2_look.get());
            self.s3_line.set(arrays.line());
        });
        entered
    }

    /// Stage 0.
    fn select(&self, with: &Parts) -> (Op, Bool, Entered) {
        let Parts { p, tbes, outs, .. } = with;
        let quiet = |line: Bits| !self.busy(p, p.set_of(line), 2);
        let mem_line = tbes.at(self.mem.msg.tbe).line;
        // What a TBE has ready is known only when stage 3 has left it.
        let calm: Vec<Bool> = tbes.sets().iter().map(|set| !self.busy(p, *set, 3)).collect();
        let entry = self.order.pick(tbes.ready() & pack_bools(&calm));
        let (tbe_free, place_free) = (self.more(tbes.valid()), self.more(tbes.stalled()));
        let (wb_room, room) = (outs.up.room_for_wb(), outs.room_for_commit());
        let rsp = (self.rsp.valid & quiet(self.rsp.msg.line)).named("s0_rsp");
        let mem = (self.mem.valid & quiet(mem_line) & !rsp).named("s0_mem");
        let first = rsp | mem;
        let wb = (self.wb.valid & quiet(self.wb.msg.line) & wb_room & !first).named("s0_wb");
        let again = (entry.any & room & !first & !wb).named("s0_tbe");
        // Requests enter behind the operation in stage 3: a stream of them would leave a TBE of their set no gap.
        let req_set = p.set_of(self.req.msg.line);
        let of_set: Vec<Bool> = tbes.sets().iter().map(|set| set.eq(req_set)).collect();
        let due = (tbes.ready() & pack_bools(&of_set)).any();
        let may = room & tbe_free & place_free & quiet(self.req.msg.line) & !due;
        let req = (self.req.valid & may & !first & !wb & !again).named("s0_req");
        when(rsp, || self.rsp.take());
        when(mem, || self.mem.take());
        when(wb, || self.wb.take());
        when(req, || self.req.take());
        when(again, || self.order.granted(entry.index));
        let op = wire_or::<Op>("s0_op", (*p).clone(), self.of_req(p));
        when(rsp, || op.set(self.of_rsp(p)));
        when(mem, || op.set(self.of_mem(p, mem_line)));
        when(wb, || op.set(self.of_wb(p)));
        when(again, || op.set(self.of_tbe(with, entry.index)));
        let waits = self.req.valid & !req;
        let entered = Entered {
            req,
            req_waits: waits,
            no_tbe: waits & !tbe_free,
            no_place: waits & !place_free,
            no_room: waits & !room,
            wb_waits: self.wb.valid & !wb,
            matches: lit_bv(Bv::zero(p.ways)),
        };
        (op.get(), first | wb | again | req, entered)
    }

    fn of_req(&self, p: &LlcParams) -> Op {
        Op { kind: enum_lit(Kind::Req), req: Held::of(&self.req.msg), ..blank::<Op>(p) }
    }

    fn of_wb(&self, p: &LlcParams) -> Op {
        let Wb { line, mask, src, tag, dirty, data, .. } = self.wb.msg;
        let low = blank::<Op>(p);
        Op { kind: enum_lit(Kind::Wb), req: Held { line, mask, src, tag, data, ..low.req }, dirty, ..low }
    }

    fn of_rsp(&self, p: &LlcParams) -> Op {
        let Rsp { op, line, mask, src, tag, nodata, kept_s, dirty, data, .. } = self.rsp.msg;
        let low = blank::<Op>(p);
        let req = Held { line, mask, src: src.resize(p.s.dev_bits()), tag, data, ..low.req };
        Op {
            kind: mux(op.is(RspOp::Ack), enum_lit(Kind::Ack), enum_lit(Kind::Rvk)),
            tbe: tag.resize(p.s.tbe_bits()),
            req,
            dirty,
            nodata,
            kept: kept_s,
        }
    }

    fn of_mem(&self, p: &LlcParams, line: Bits) -> Op {
        let MemRsp { tbe, data } = self.mem.msg;
        let low = blank::<Op>(p);
        let mask = lit_bv(Bv::ones(p.s.words()));
        Op { kind: enum_lit(Kind::Mem), tbe, req: Held { line, mask, data, ..low.req }, ..low }
    }

    fn of_tbe(&self, with: &Parts, index: Bits) -> Op {
        let Parts { p, tbes, .. } = with;
        let tbe = tbes.at(index);
        let list = tbe.kind.is(TbeKind::List);
        Op {
            kind: mux(list, enum_lit(Kind::Replay), enum_lit(Kind::Commit)),
            tbe: index.resize(p.s.tbe_bits()),
            req: mux(list, tbes.waiting(tbe.head), tbes.request(index)),
            ..blank::<Op>(p)
        }
    }

    /// Stage 1: looks the set up, and the TBEs. Returns the ways that hold the line.
    fn look(&self, with: &Parts) -> Bits {
        let Parts { p, arrays, tbes, .. } = with;
        let (op, valid) = (self.s1.get(), self.s1_valid.get());
        let line = op.req.line;
        let (set, replays) = (p.set_of(line), op.kind.is(Kind::Replay));
        let n = p.s.tbes;
        let others = !(op.tbe.one_hot(n) & replays.repeat(n));
        let same_set = tbes.of_set(set) & others;
        let found = arrays.look(p.tag_of(line), tbes.ways_of(same_set));
        let by_line = mux(op.kind.is(Kind::Wb), tbes.revoking(line), tbes.blocking(line)) & others;
        let of_tbe = op.kind.is_any(&[Kind::Commit, Kind::Rvk, Kind::Ack, Kind::Mem]);
        let hit = found.matches.any();
        let searched = mux(hit, found.matches.lowest_set(), found.victim);
        let way = mux(of_tbe, tbes.at(op.tbe).way, searched).named("s1_way");
        let place = arrays.place(way);
        let look = Look {
            hit,
            way,
            there: place.there,
            owned: place.owned,
            sharers: place.sharers,
            tree: found.tree,
            blocked: by_line.any(),
            full: found.full,
            by: mux(by_line.any(), by_line, same_set).lowest_set(),
        };
        self.s2_valid.set(valid);
        when(valid, || {
            self.s2.set(op);
            self.s2_look.set(look);
            arrays.present_line(p.row_of(set, way));
        });
        found.matches
    }
}
