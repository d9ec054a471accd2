//! Stages 0 to 2: what enters the pipeline, what its set says, what its line holds.
//!
//! Stage 0 takes, in this order, answers of GPU L1s, of the L3 and clients, write-backs, forwards of the L3, what a TBE has ready, what is to be tried again, and requests. Of a set one
//! operation is in the pipeline at a time, so stage 3 finds everything as stages 1 and 2 have read it.
//!
//! Answers never wait but for an operation of the same set; write-backs wait for a slot for their answer. A forward waits for room for its answers, for a TBE, and until no TBE revokes words of
//! its line: for FWD_g, RSP_g and WB_g. Requests wait for room for what they send, for a TBE beside the one that is reserved, and for a place in the stall memory, whichever they will need.

use super::outputs::Outputs;
use super::params::{GpuL2Fault, GpuL2Params};
use super::stalls::Stalls;
use super::tbes::Tbes;
use super::types::*;
use crate::hmesi::msg::{HFwd, HFwdOp, HRsp};
use crate::llc::arrays::Arrays;
use crate::llc::types::{Held, blank};
use crate::msg::{Req, Rsp, Wb};
use weft_blocks::common::arbiter::RoundRobin;
use weft_rtl::prelude::*;

/// Everything that stages look at.
pub(super) struct Parts<'a> {
    pub p: &'a GpuL2Params,
    /// The bank's node.
    pub own: Bits,
    pub arrays: &'a Arrays<L2Tag>,
    pub tbes: &'a Tbes,
    pub stalls: &'a Stalls,
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
    pub l3_fwd: InChannel<HFwd>,
    pub l3_rsp: InChannel<HRsp>,
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
    /// It waits for a TBE, a place in the stall memory, the outputs, those tried again.
    pub no_tbe: Bool,
    pub no_place: Bool,
    pub no_room: Bool,
    pub again: Bool,
    pub wb_waits: Bool,
    /// A forward waits; for a TBE that revokes words of its line, for a free one.
    pub fwd_waits: Bool,
    pub fwd_held: Bool,
    pub fwd_no_tbe: Bool,
    pub matches: Bits,
}

impl Stages {
    /// Declares channels and registers.
    pub fn new(p: &GpuL2Params) -> Stages {
        let bits = p.bank().sets().trailing_zeros() + 1;
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
            l3_fwd: in_channel_when::<HFwd>("l3_fwd", &p.s, open),
            l3_rsp: in_channel_when::<HRsp>("l3_rsp", &p.s, open),
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
    fn clear(&self, p: &GpuL2Params, arrays: &Arrays<L2Tag>) {
        when(!self.open, || {
            self.cleared.set(self.cleared.get() + 1);
            arrays.empty(self.cleared.get().resize(p.bank().set_bits()));
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
    fn busy(&self, p: &GpuL2Params, set: Bits, stages: usize) -> Bool {
        let first = &self.under_way()[..stages];
        let same: Vec<Bool> =
            first.iter().map(|(valid, op)| *valid & p.bank().set_of(op.req.line).eq(set)).collect();
        any_of(&same)
    }

    /// More entries of `used` are free than operations of some kinds in the pipeline may take, and `kept` ones.
    fn more(&self, used: Bits, kinds: &[Kind], kept: Bool) -> Bool {
        let mut takers = self.under_way().map(|(valid, op)| valid & op.kind.is_any(kinds)).to_vec();
        takers.push(kept);
        let (takers, free) = (pack_bools(&takers).popcount(), (!used).popcount());
        let width = free.width().max(takers.width());
        takers.resize(width).lt(free.resize(width))
    }

    /// Moves operations on, and the next one in.
    pub fn connect(&self, with: &Parts) -> Entered {
        let Parts { p, arrays, .. } = with;
        self.clear(p, arrays);
        let (op, go, mut entered) = self.select(with);
        self.s1_valid.set(go);
        when(go, || {
            self.s1.set(op);
            arrays.present(p.bank().set_of(op.req.line));
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
        let Parts { p, tbes, stalls, outs, .. } = with;
        let bank = p.bank();
        let quiet = |line: Bits| !self.busy(p, bank.set_of(line), 2);
        // What a TBE has ready, and what it revokes, is known only when stage 3 has left its set.
        let calm = |set: Bits| !self.busy(p, set, 3);
        let entry = self
            .order
            .pick(tbes.ready() & pack_bools(&tbes.sets().into_iter().map(calm).collect::<Vec<_>>()));
        let room = outs.room_for_commit();
        let forward = self.forward(with);
        let due = |line: Bits| self.due(with, forward.wants, bank.set_of(line));
        let rsp = (self.rsp.valid & quiet(self.rsp.msg.line)).named("s0_rsp");
        let answer = (self.l3_rsp.valid & quiet(self.l3_rsp.msg.line) & !rsp).named("s0_answer");
        let answers = rsp | answer;
        let wb = self.wb.valid & quiet(self.wb.msg.line) & outs.up.room_for_wb() & !answers;
        let wb = wb.named("s0_wb");
        let fwd = forward.wants & calm(bank.set_of(self.l3_fwd.msg.line)) & !answers & !wb;
        let fwd = fwd.named("s0_fwd");
        let first = answers | wb | fwd;
        let commit = (entry.any & room & !first).named("s0_tbe");
        let tbe_free = self.more(tbes.valid(), &TAKERS, self.reserves(with));
        let (tried, _) = stalls.again();
        let idle = quiet(tried.line) & !due(tried.line);
        let replay = stalls.some.get() & room & tbe_free & idle & !first & !commit;
        let replay = replay.named("s0_replay");
        let place_free = self.more(stalls.used(), &[Kind::Req], bool_lit(false));
        let again = stalls.some.get();
        let idle = quiet(self.req.msg.line) & !due(self.req.msg.line);
        let may = room & tbe_free & place_free & idle & !again;
        let req = (self.req.valid & may & !first & !commit).named("s0_req");
        when(rsp, || self.rsp.take());
        when(answer, || self.l3_rsp.take());
        when(wb, || self.wb.take());
        when(fwd, || self.l3_fwd.take());
        when(commit, || self.order.granted(entry.index));
        when(replay, || stalls.pop());
        when(req, || self.req.take());
        let op = wire_or::<Op>("s0_op", (*p).clone(), self.of_req(p));
        when(rsp, || op.set(self.of_rsp(p)));
        when(answer, || op.set(self.of_answer(p)));
        when(wb, || op.set(self.of_wb(p)));
        when(fwd, || op.set(self.of_fwd(p)));
        when(commit, || op.set(self.of_tbe(with, entry.index)));
        when(replay, || op.set(self.of_again(with)));
        let waits = self.req.valid & !req;
        let entered = Entered {
            req,
            req_waits: waits,
            no_tbe: waits & !tbe_free,
            no_place: waits & !place_free,
            no_room: waits & !room,
            again: waits & again,
            wb_waits: self.wb.valid & !wb,
            fwd_waits: self.l3_fwd.valid & !fwd,
            fwd_held: forward.held,
            fwd_no_tbe: forward.no_tbe,
            matches: lit_bv(Bv::zero(p.ways)),
        };
        (op.get(), first | commit | replay | req, entered)
    }

    /// One TBE stays free for a forward, unless one is at work for a forward: that one will be free again whatever the L3 does.
    fn reserves(&self, with: &Parts) -> Bool {
        match with.p.fault {
            GpuL2Fault::NoReserve => bool_lit(false),
            _ => with.tbes.of_kinds(&[TbeKind::Revoke]).none(),
        }
    }

    /// A TBE or a forward waits only until a set is calm: requests of the set wait for it. (They enter behind the operation in stage 3, so a stream of them would leave no gap.)
    fn due(&self, with: &Parts, forward: Bool, set: Bits) -> Bool {
        let Parts { p, tbes, .. } = with;
        let ready = tbes.ready();
        let mut due: Vec<Bool> =
            tbes.sets().iter().enumerate().map(|(i, s)| ready.bit(i as u32) & s.eq(set)).collect();
        due.push(forward & p.bank().set_of(self.l3_fwd.msg.line).eq(set));
        any_of(&due)
    }

    /// A forward of the L3.
    fn forward(&self, with: &Parts) -> Forward {
        let Parts { tbes, outs, .. } = with;
        let (valid, m) = (self.l3_fwd.valid, self.l3_fwd.msg);
        let held = tbes.revoking(m.line).any();
        let free = m.op.is(HFwdOp::Inv) | self.more(tbes.valid(), &TAKERS, bool_lit(false));
        Forward {
            wants: valid & !held & free & outs.room_for_reply(),
            held: valid & held,
            no_tbe: valid & !free,
        }
    }

    fn of_req(&self, p: &GpuL2Params) -> Op {
        Op { kind: enum_lit(Kind::Req), req: Held::of(&self.req.msg), ..blank::<Op>(p) }
    }

    fn of_wb(&self, p: &GpuL2Params) -> Op {
        let Wb { line, mask, src, tag, data, .. } = self.wb.msg;
        let low = blank::<Op>(p);
        Op { kind: enum_lit(Kind::Wb), req: Held { line, mask, src, tag, data, ..low.req }, ..low }
    }

    fn of_rsp(&self, p: &GpuL2Params) -> Op {
        let Rsp { line, mask, src, tag, nodata, data, .. } = self.rsp.msg;
        let low = blank::<Op>(p);
        let req = Held { line, mask, src: src.resize(p.s.dev_bits()), data, ..low.req };
        Op { kind: enum_lit(Kind::Rvk), tbe: tag.resize(p.s.tbe_bits()), req, nodata, ..low }
    }

    fn of_answer(&self, p: &GpuL2Params) -> Op {
        let HRsp { op, line, tag, acks, peer, data, .. } = self.l3_rsp.msg;
        let low = blank::<Op>(p);
        let mask = lit_bv(Bv::ones(p.s.words()));
        Op {
            kind: enum_lit(Kind::Answer),
            tbe: tag.resize(p.s.tbe_bits()),
            req: Held { line, mask, data, ..low.req },
            rsp: op,
            acks,
            peer,
            ..low
        }
    }

    fn of_fwd(&self, p: &GpuL2Params) -> Op {
        let HFwd { op, line, src, req, tag, recall, .. } = self.l3_fwd.msg;
        let low = blank::<Op>(p);
        let node = mux(op.is(HFwdOp::Inv) & recall, src, req);
        Op { kind: enum_lit(Kind::Fwd), req: Held { line, tag, ..low.req }, fwd: op, node, ..low }
    }

    fn of_tbe(&self, with: &Parts, index: Bits) -> Op {
        let Parts { p, tbes, .. } = with;
        let Progress { fwd, node, .. } = tbes.progress(index);
        let tbe = index.resize(p.s.tbe_bits());
        Op { kind: enum_lit(Kind::Commit), tbe, req: tbes.request(index), fwd, node, ..blank::<Op>(p) }
    }

    fn of_again(&self, with: &Parts) -> Op {
        let (req, place) = with.stalls.again();
        Op { kind: enum_lit(Kind::Replay), place, req, ..blank::<Op>(with.p) }
    }

    /// Stage 1: looks the set up, and the TBEs. Returns the ways that hold the line.
    fn look(&self, with: &Parts) -> Bits {
        let Parts { p, arrays, tbes, .. } = with;
        let bank = p.bank();
        let (op, valid) = (self.s1.get(), self.s1_valid.get());
        let line = op.req.line;
        let set = bank.set_of(line);
        let same_set = tbes.of_set(set);
        let found = arrays.look(bank.tag_of(line), tbes.ways_of(same_set));
        let by_line = mux(op.kind.is(Kind::Wb), tbes.revoking(line), tbes.blocking(line));
        let of_tbe = op.kind.is_any(&[Kind::Commit, Kind::Rvk, Kind::Answer]);
        let hit = found.matches.any();
        let searched = mux(hit, found.matches.lowest_set(), found.victim);
        let way = mux(of_tbe, tbes.at(op.tbe).way, searched).named("s1_way");
        let place = arrays.place(way);
        let look = Look {
            hit,
            way,
            there: place.there,
            owned: place.owned,
            tree: found.tree,
            blocked: by_line.any(),
            full: found.full,
            by: mux(by_line.any(), by_line, same_set).lowest_set(),
        };
        self.s2_valid.set(valid);
        when(valid, || {
            self.s2.set(op);
            self.s2_look.set(look);
            arrays.present_line(bank.row_of(set, way));
        });
        found.matches
    }
}

/// A forward at the channel.
struct Forward {
    /// It may enter when its set is calm.
    wants: Bool,
    /// It waits for a TBE that revokes words of its line, for a free one.
    held: Bool,
    no_tbe: Bool,
}

/// Operations that may take a TBE.
const TAKERS: [Kind; 3] = [Kind::Req, Kind::Replay, Kind::Fwd];
