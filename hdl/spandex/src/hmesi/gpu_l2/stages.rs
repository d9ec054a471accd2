//! Stages 0 to 2: what enters the pipeline, what its set says, what its line holds.
//!
//! Stage 0 takes, in this order, answers of GPU L1s, of the L3 and clients, write-backs, forwards of the L3, what a TBE has ready, what is to be tried again, and requests. Of a set one
//! operation is in the pipeline at a time, so stage 3 finds everything as stages 1 and 2 have read it.
//!
//! Answers never wait but for an operation of the same set; write-backs wait for a slot for their answer. A forward waits for room for its answers, for a TBE, and until no TBE revokes words of
//! its line: for FWD_g, RSP_g and WB_g. Requests wait for room for what they send, for a TBE beside the one that is reserved, and for a place in the stall memory, whichever they will need.

use super::outputs::Outputs;
use super::params::{GpuL2Fault, GpuL2Params};
use super::tbes::Tbes;
use super::types::*;
use crate::bank::pipeline::{Entered, Pipeline, more};
use crate::hmesi::msg::{HFwd, HFwdOp, HRsp};
use crate::msg::{Req, Rsp, Wb};
use weft_rtl::prelude::*;

/// Everything that stages look at.
pub(super) type Parts<'a> = crate::bank::pipeline::Parts<'a, GpuL2Params, L2Tag, Tbes, Outputs>;

/// The channels in, and the registers between stages.
pub(super) struct Stages {
    pub pipe: Pipeline<Op, L2Tag>,
    pub req: InChannel<Req>,
    pub wb: InChannel<Wb>,
    pub rsp: InChannel<Rsp>,
    pub l3_fwd: InChannel<HFwd>,
    pub l3_rsp: InChannel<HRsp>,
}

/// What entered, for observers.
pub(super) struct Seen {
    pub entered: Entered,
    /// A request waits for those tried again.
    pub again: Bool,
    /// A forward waits; for a TBE that revokes words of its line, for a free one.
    pub fwd_waits: Bool,
    pub fwd_held: Bool,
    pub fwd_no_tbe: Bool,
}

impl Stages {
    /// Declares channels and registers.
    pub fn new(p: &GpuL2Params) -> Stages {
        let l1s = |open| {
            let (req, wb) = (in_channel_when("req", &p.bank.s, open), in_channel_when("wb", &p.bank.s, open));
            (req, wb, in_channel_when("rsp_in", &p.bank.s, open))
        };
        let l3 =
            |open| (in_channel_when("l3_fwd", &p.bank.s, open), in_channel_when("l3_rsp", &p.bank.s, open));
        let (pipe, channels) = Pipeline::new(&p.bank, p, p.kept(), |open| (l1s(open), l3(open)));
        let ((req, wb, rsp), (l3_fwd, l3_rsp)) = channels;
        Stages { pipe, req, wb, rsp, l3_fwd, l3_rsp }
    }

    /// More entries of `used` are free than operations of some kinds in the pipeline may take, and `kept` ones.
    fn more(&self, used: Bits, kinds: &[Kind], kept: Bool) -> Bool {
        let mut takers = self.pipe.takers(|op| op.kind.is_any(kinds));
        takers.push(kept);
        more(used, &takers)
    }

    /// Stage 0.
    pub fn select(&self, with: &Parts) -> (Op, Bool, Seen) {
        let Parts { p, tbes, outs, .. } = with;
        let (bank, stalls) = (&p.bank, &tbes.stalls);
        let (entries, pipe) = (&tbes.entries, &self.pipe);
        // What a TBE has ready, and what it revokes, is known only when stage 3 has left its set.
        let entry = pipe.order.pick(entries.ready() & pipe.calm(&entries.sets()));
        let room = outs.room_for_commit();
        let forward = self.forward(with);
        let due = |line: Bits| self.due(with, forward.wants, bank.set_of(line));
        let rsp = (self.rsp.valid & pipe.quiet(self.rsp.msg.line)).named("s0_rsp");
        let answer = (self.l3_rsp.valid & pipe.quiet(self.l3_rsp.msg.line) & !rsp).named("s0_answer");
        let answers = rsp | answer;
        let wb = self.wb.valid & pipe.quiet(self.wb.msg.line) & outs.up.answers.room_for_wb() & !answers;
        let wb = wb.named("s0_wb");
        let fwd = forward.wants & !pipe.busy(bank.set_of(self.l3_fwd.msg.line), 3) & !answers & !wb;
        let fwd = fwd.named("s0_fwd");
        let first = answers | wb | fwd;
        let commit = (entry.any & room & !first).named("s0_tbe");
        let tbe_free = self.more(tbes.entries.valid(), &TAKERS, self.reserves(with));
        let (tried, _) = stalls.again();
        let idle = pipe.quiet(tried.line) & !due(tried.line);
        let replay = stalls.some.get() & room & tbe_free & idle & !first & !commit;
        let replay = replay.named("s0_replay");
        let place_free = self.more(stalls.used(), &[Kind::Req], bool_lit(false));
        let again = stalls.some.get();
        let idle = pipe.quiet(self.req.msg.line) & !due(self.req.msg.line);
        let may = room & tbe_free & place_free & idle & !again;
        let req = (self.req.valid & may & !first & !commit).named("s0_req");
        when(rsp, || self.rsp.take());
        when(answer, || self.l3_rsp.take());
        when(wb, || self.wb.take());
        when(fwd, || self.l3_fwd.take());
        when(commit, || pipe.order.granted(entry.index));
        when(replay, || stalls.pop());
        when(req, || self.req.take());
        let op = wire_or::<Op>("s0_op", (*p).clone(), self.of_req(p));
        when(rsp, || op.set(self.of_rsp(p)));
        when(answer, || op.set(self.of_answer(p)));
        when(wb, || op.set(self.of_wb(p)));
        when(fwd, || op.set(self.of_fwd(p)));
        when(commit, || op.set(self.of_tbe(with, entry.index)));
        when(replay, || op.set(self.of_again(with)));
        let free = [tbe_free, place_free, room];
        let entered = Entered::new(req, self.req.valid, free, self.wb.valid & !wb);
        let entered = Seen {
            entered,
            again: self.req.valid & !req & again,
            fwd_waits: self.l3_fwd.valid & !fwd,
            fwd_held: forward.held,
            fwd_no_tbe: forward.no_tbe,
        };
        (op.get(), first | commit | replay | req, entered)
    }

    /// One TBE stays free for a forward, unless one is at work for a forward: that one will be free again whatever the L3 does.
    fn reserves(&self, with: &Parts) -> Bool {
        match with.p.fault {
            GpuL2Fault::NoReserve => bool_lit(false),
            _ => with.tbes.entries.of_kinds(&[TbeKind::Revoke]).none(),
        }
    }

    /// A TBE or a forward waits only until a set is calm: requests of the set wait for it. (They enter behind the operation in stage 3, so a stream of them would leave no gap.)
    fn due(&self, with: &Parts, forward: Bool, set: Bits) -> Bool {
        let Parts { p, tbes, .. } = with;
        let (ready, sets) = (tbes.entries.ready(), tbes.entries.sets());
        let mut due: Vec<Bool> =
            sets.iter().enumerate().map(|(i, s)| ready.bit(i as u32) & s.eq(set)).collect();
        due.push(forward & p.bank.set_of(self.l3_fwd.msg.line).eq(set));
        any_of(&due)
    }

    /// A forward of the L3.
    fn forward(&self, with: &Parts) -> Forward {
        let Parts { tbes, outs, .. } = with;
        let (valid, m) = (self.l3_fwd.valid, self.l3_fwd.msg);
        let held = tbes.revoking(m.line).any();
        let free = m.op.is(HFwdOp::Inv) | self.more(tbes.entries.valid(), &TAKERS, bool_lit(false));
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
        let req = Held { line, mask, src: src.resize(p.bank.s.dev_bits()), data, ..low.req };
        Op { kind: enum_lit(Kind::Rvk), tbe: tag.resize(p.bank.s.tbe_bits()), req, nodata, ..low }
    }

    fn of_answer(&self, p: &GpuL2Params) -> Op {
        let HRsp { op, line, tag, acks, peer, data, .. } = self.l3_rsp.msg;
        let low = blank::<Op>(p);
        let mask = lit_bv(Bv::ones(p.bank.s.words()));
        Op {
            kind: enum_lit(Kind::Answer),
            tbe: tag.resize(p.bank.s.tbe_bits()),
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
        let Progress { fwd, node, .. } = tbes.entries.progress(index);
        let tbe = index.resize(p.bank.s.tbe_bits());
        Op {
            kind: enum_lit(Kind::Commit),
            tbe,
            req: tbes.entries.request(index),
            fwd,
            node,
            ..blank::<Op>(p)
        }
    }

    fn of_again(&self, with: &Parts) -> Op {
        let (req, place) = with.tbes.stalls.again();
        Op { kind: enum_lit(Kind::Replay), place, req, ..blank::<Op>(with.p) }
    }

    /// Stage 1: looks the set up, and the TBEs. Returns the ways that hold the line.
    pub fn look(&self, with: &Parts) -> Bits {
        let Parts { p, arrays, tbes, .. } = with;
        let op = self.pipe.s1.get();
        let line = op.req.line;
        let same_set = tbes.of_set(p.bank.set_of(line));
        // L1s are not told when a line that they have in V goes.
        let spare = |_: &[L2Tag]| arrays.held(|_| bool_lit(false));
        let by = || (mux(op.kind.is(Kind::Wb), tbes.revoking(line), tbes.blocking(line)), same_set);
        let way = |searched| {
            let of_tbe = op.kind.is_any(&[Kind::Commit, Kind::Rvk, Kind::Answer]);
            mux(of_tbe, tbes.at(op.tbe).way, searched)
        };
        self.pipe.look(arrays, tbes.entries.ways_of(same_set), spare, by, way)
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
