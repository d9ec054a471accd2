//! Stage 3: what the operation is to its line, by the tables, and what follows.

use super::params::{MesiLlcFault, MesiLlcParams};
use super::stages::{Parts, Stages};
use super::table;
use super::tbes::{Changes, Tbe};
use super::types::*;
use crate::hmesi::msg::{HFwdOp, HRsp, HRspOp};
use crate::llc::blank;
use crate::llc::table::Rows;
use crate::mesi_port::Get;
use weft_rtl::prelude::*;

/// The operation in stage 3 with all that is known of it.
pub(super) struct Now {
    pub valid: Bool,
    pub op: Op,
    pub look: Look,
    pub line: Bits,
    /// TBE of the operation; meaningless for requests from the channel and Puts.
    pub index: Bits,
    pub tbe: Tbe,
    pub progress: Progress,
    /// Its request.
    pub asked: Held,
    /// A request, from wherever.
    request: Bool,
    /// Its TBE has evicted a line for it.
    moved_in: Bool,
    /// Its line is here, and not busy.
    pub here: Bool,
    pub put: Bool,
    /// A Put comes from the owner.
    pub mine: Bool,
}

/// What is done.
pub(super) struct Done {
    pub directory: Rows,
    pub frames: Rows,
    pub busy: Rows,
    /// A request joins a stall list.
    pub joins: Bool,
    /// A transaction begins or goes on.
    pub begins: Bool,
    /// A TBE has all it waited for.
    pub complete: Bool,
    /// The way after the step.
    pub tag: Tag,
    pub sharers: Bits,
    /// Clients that are sent Inv because of a GetM.
    pub inv: Bits,
}

/// Bits of a mask where something holds.
fn some(mask: Bits, holds: Bool) -> Bits {
    mask & holds.repeat(mask.width())
}

fn coded(names: &[&'static str], pairs: &[(Bool, &str)], rest: &str) -> Bits {
    let width = bits_for(names.len() as u64);
    let value = |name: &str| lit(names.iter().position(|n| *n == name).map_or(0, |i| i as u64), width);
    pairs.iter().rev().fold(value(rest), |so_far, (now, name)| mux(*now, value(name), so_far))
}

/// What stage 3 works on.
pub(super) fn now(with: &Parts, stages: &Stages) -> Now {
    let Parts { p, tbes, .. } = with;
    let (valid, op, look) = (stages.s3_valid.get(), stages.s3.get(), stages.s3_look.get());
    let is = |kinds: &[Kind]| valid & op.kind.is_any(kinds);
    let tbe = tbes.at(op.tbe);
    let request = is(&[Kind::Req, Kind::Replay, Kind::Commit]).named("s3_request");
    let commit = is(&[Kind::Commit]);
    let moved_in = commit & tbe.kind.is(TbeKind::Evict);
    let searched = is(&[Kind::Req, Kind::Replay]) & look.hit & !look.blocked;
    let put = is(&[Kind::Put]);
    let owns = look.hit & look.there.state.is(LineState::MT);
    let mine = owns & (look.there.owner.eq(op.req.src) | bool_lit(p.fault == MesiLlcFault::StalePut));
    Now {
        valid,
        op,
        look,
        line: stages.s3_line.get(),
        index: op.tbe,
        tbe,
        progress: tbes.progress(op.tbe),
        asked: tbes.request(op.tbe),
        request,
        moved_in,
        here: (searched | (commit & !moved_in)).named("s3_here"),
        put,
        mine: (put & mine).named("s3_mine"),
    }
}

/// The operation with its surroundings.
pub(super) struct Act<'a> {
    pub with: &'a Parts<'a>,
    pub n: &'a Now,
}

impl Act<'_> {
    fn p(&self) -> &MesiLlcParams {
        self.with.p
    }
    fn is(&self, kind: Kind) -> Bool {
        self.n.valid & self.n.op.kind.is(kind)
    }
    fn set(&self) -> Bits {
        self.p().set_of(self.n.op.req.line)
    }

    /// Decides and does everything.
    pub fn act(&self) -> Done {
        let (p, n) = (self.p(), self.n);
        let (directory, frames, busy) = (self.directory(), self.frames(), self.busy());
        let all = lit_bv(Bv::ones(p.s.clients()));
        let others = some(n.look.sharers & !n.op.req.src.one_hot(p.s.clients()), directory.does("inv"));
        let begins = directory.does("busy_x")
            | directory.does("busy_iib")
            | frames.does("evict")
            | frames.does("take");
        let mut done = Done {
            joins: (frames.does("join") | busy.does("join")).named("s3_joins"),
            begins: begins.named("s3_begins"),
            complete: bool_lit(false),
            tag: n.look.there,
            sharers: n.look.sharers & all,
            inv: others,
            directory,
            frames,
            busy,
        };
        done.complete = self.progress(&done);
        self.place(&mut done);
        self.answer(&done);
        self.order(&done);
        self.begin(&done);
        self.lists(&done);
        done
    }

    /// A request or Put at a line that is not busy.
    fn directory(&self) -> Rows {
        let n = self.n;
        let stale = n.put & !n.mine;
        let pairs = [(stale, "Stale"), (n.put, "Put"), (n.op.req.op.is(Get::GetM), "GetM")];
        let event = coded(&table::EVENTS, &pairs, "GetS").named("s3_event");
        let there = n.look.hit | n.here;
        let state = mux(there, n.look.there.state, enum_lit(LineState::I));
        Rows::new(&table::directory(), n.here | n.put, &[event, state.bits()])
    }

    /// A request of a line that is not here.
    fn frames(&self) -> Rows {
        let (p, n) = (self.p(), self.n);
        let missing = n.request & !n.here & (n.moved_in | !n.look.blocked);
        let there = n.look.there;
        let shared = there.state.is(LineState::SS) & bool_lit(p.fault != MesiLlcFault::DropShared);
        let pairs = [
            (n.moved_in & there.dirty, "dirty_out"),
            (n.moved_in, "clean_out"),
            (n.look.full, "full"),
            (there.state.is(LineState::I), "empty"),
            (shared, "shared"),
            (there.state.is(LineState::MT), "owned"),
            (there.dirty, "dirty"),
        ];
        let frame = coded(&table::FRAMES, &pairs, "clean").named("s3_frame");
        Rows::new(&table::frames(), missing, &[lit(0, 1), frame])
    }

    /// What comes to a busy line.
    fn busy(&self) -> Rows {
        let n = self.n;
        let searches = self.is(Kind::Req) | self.is(Kind::Replay);
        let joins = searches & n.look.blocked;
        let pairs = [
            (searches, "Req"),
            (self.is(Kind::Mem), "Memory"),
            (self.is(Kind::InvAck), "InvAck"),
            (self.is(Kind::WbData), "WbData"),
            (self.is(Kind::Unblock), "Unblock"),
            (self.is(Kind::UnblockX), "UnblockX"),
        ];
        let event = coded(&table::COMES, &pairs, "Done").named("s3_comes");
        let kind = mux(searches, self.with.tbes.at(n.look.by).kind, n.tbe.kind);
        let at = joins | (n.valid & !searches & !n.put);
        Rows::new(&table::busy(), at, &[kind.bits(), event])
    }

    /// An answer of a client comes to its TBE. Returns whether all has come.
    fn progress(&self, d: &Done) -> Bool {
        let (p, n) = (self.p(), self.n);
        let before = n.progress;
        let counts = d.busy.does("count");
        let after = Progress {
            acks: before.acks & !some(n.op.req.src.one_hot(p.s.clients()), self.is(Kind::InvAck)),
            wb: before.wb & !self.is(Kind::WbData),
            unblock: before.unblock & !self.is(Kind::Unblock),
            kept: before.kept | (self.is(Kind::WbData) & n.op.kept),
        };
        when(counts, || self.with.tbes.set_progress(n.index, &after));
        let wb = if p.fault == MesiLlcFault::NoWbData {
            after.wb & n.tbe.kind.is(TbeKind::Evict)
        } else {
            after.wb
        };
        let all = counts & after.acks.none() & !wb & !after.unblock;
        (all | d.busy.does("own") | d.busy.does("install")).named("s3_complete")
    }

    /// The way and its line after the step.
    fn place(&self, d: &mut Done) {
        let (p, n, arrays) = (self.p(), self.n, self.with.arrays);
        let there = n.look.there;
        let client = |index: Bits| index.one_hot(p.s.clients());
        let code = |state: LineState| enum_lit(state);
        let (takes, installs, owns) = (d.directory.does("take"), d.busy.does("install"), d.busy.does("own"));
        let stores = d.busy.does("store");
        let (shares, replaced) = (d.directory.does("share"), d.frames.does("take"));
        let shared = (d.complete & n.tbe.kind.is(TbeKind::BusyIib)).named("s3_shared");
        let state = mux(takes | installs, code(LineState::C), there.state);
        let state = mux(owns, code(LineState::MT), state);
        let state = mux(shared, code(LineState::SS), state);
        let state = mux(replaced, code(LineState::I), state);
        let back = (takes | stores) & n.op.dirty;
        let dirties = if p.fault == MesiLlcFault::LostDirty { bool_lit(false) } else { back };
        d.tag = Tag {
            tag: mux(installs, p.tag_of(n.op.req.line), there.tag),
            state,
            dirty: (there.dirty & !installs & !replaced) | dirties,
            owner: mux(owns, n.asked.src, there.owner),
        };
        let kept = n.progress.kept | (self.is(Kind::WbData) & n.op.kept);
        let kept = if p.fault == MesiLlcFault::ForgottenOwner { bool_lit(false) } else { kept };
        let joined = client(n.asked.src) | some(client(there.owner), kept);
        let counted = shares & bool_lit(p.fault != MesiLlcFault::ForgottenSharer);
        let none = takes | installs | owns | replaced | shared;
        d.sharers = some(n.look.sharers, !none) | some(client(n.op.req.src), counted) | some(joined, shared);
        when(none | shares | back, || arrays.put(self.set(), n.look.way, d.tag, d.sharers));
        when(n.here, || arrays.touch(self.set(), n.look.tree, n.look.way));
        let row = p.row_of(self.set(), n.look.way);
        when(back | installs, || arrays.put_line(row, n.op.data));
    }

    /// Answers to requests and Puts.
    fn answer(&self, d: &Done) {
        let (p, n) = (self.p(), self.n);
        let kinds = [("DataE", HRspOp::DataE), ("DataM", HRspOp::DataM), ("ack", HRspOp::WbAck)];
        let does = |name| d.directory.does(name);
        let first = enum_lit(HRspOp::DataS);
        let op = kinds.iter().fold(first, |rest, (name, op)| mux(does(name), enum_lit(*op), rest));
        let data = does("DataS") | does("DataE") | does("DataM");
        let mut acks = d.inv.popcount().resize(p.s.client_bits());
        if p.fault == MesiLlcFault::ShortAcks {
            acks = mux(acks.none(), acks, acks - 1);
        }
        when(data | does("ack"), || {
            self.with.outs.answer(&HRsp {
                op,
                line: n.op.req.line,
                src: self.with.own,
                dst: p.s.client_node(n.op.req.src, n.op.req.line),
                tag: n.op.req.tag,
                acks,
                data: some(n.line, data),
                ..blank::<HRsp>(&p.s)
            });
        });
    }

    /// The line in the way chosen.
    fn leaver(&self) -> Bits {
        self.p().line_from(self.n.look.there.tag, self.set(), self.with.own)
    }

    fn order(&self, d: &Done) {
        let n = self.n;
        when(d.frames.does("take"), || {
            self.with.outs.order(&Order {
                write: d.frames.does("write"),
                write_line: self.leaver(),
                tbe: self.entry().resize(self.p().s.tbe_bits()),
                read_line: n.op.req.line,
                data: n.line,
            });
        });
    }

    /// TBE of a transaction that begins: a free one, or the one that the request has.
    fn entry(&self) -> Bits {
        let free = self.with.tbes.free_index();
        mux(self.n.op.kind.is(Kind::Req), free, self.n.index.resize(free.width()))
    }

    fn begin(&self, d: &Done) {
        let (p, n) = (self.p(), self.n);
        let does = |name| d.directory.does(name);
        let there = n.look.there;
        let evicts = d.frames.does("evict");
        let (owned, shared) =
            (evicts & there.state.is(LineState::MT), evicts & there.state.is(LineState::SS));
        let code = |kind: TbeKind| enum_lit(kind);
        let kind = mux(does("busy_x"), code(TbeKind::BusyX), code(TbeKind::Fetch));
        let kind = mux(does("busy_iib"), code(TbeKind::BusyIib), kind);
        let kind = mux(evicts, code(TbeKind::Evict), kind);
        let owner = some(there.owner.one_hot(p.s.clients()), does("fwd") | owned);
        let send = |op: HFwdOp| enum_lit(op);
        let fwd = mux(does("fwd") & does("busy_x"), send(HFwdOp::FwdGetM), send(HFwdOp::Inv));
        let fwd = mux(does("busy_iib"), send(HFwdOp::FwdGetS), fwd);
        let sharers = some(n.look.sharers, shared);
        let begin = Begin {
            kind,
            line: mux(evicts, self.leaver(), n.op.req.line),
            way: n.look.way,
            todo: owner | sharers | d.inv,
            fwd: mux(owned, send(HFwdOp::Recall), fwd),
            progress: Progress {
                acks: sharers,
                wb: owned | does("busy_iib"),
                unblock: does("busy_x") | does("busy_iib"),
                kept: bool_lit(false),
            },
        };
        when(d.begins, || self.with.tbes.begin(self.entry(), &n.op.req, &begin));
    }

    /// TBEs and stall lists.
    fn lists(&self, d: &Done) {
        let (p, n, tbes) = (self.p(), self.n, self.with.tbes);
        let (fresh, replay) = (self.is(Kind::Req), self.is(Kind::Replay));
        let by = n.look.by;
        let place = mux(fresh, tbes.free_place().resize(p.stall_bits()), n.tbe.head);
        when(d.joins & fresh, || tbes.stall(&n.op.req));
        when(d.joins, || tbes.append(by, &tbes.at(by), place));
        let last = n.tbe.head.eq(n.tbe.tail);
        when(replay & !last, || tbes.set_head(n.index, tbes.following(n.tbe.head)));
        // A line that is not busy any more: its list replays, or its TBE is free.
        let over = d.complete & n.tbe.kind.is_any(&[TbeKind::BusyX, TbeKind::BusyIib]);
        when(over & n.tbe.listed, || tbes.to_list(n.index));
        let frees = (over & !n.tbe.listed) | (replay & last & !d.begins);
        let bit = |index: Bits, now: Bool| some(index.one_hot(p.s.tbes), now);
        let of_place = |now: Bool| some(place.one_hot(p.stalls), now);
        let entry = self.entry();
        tbes.update(&Changes {
            valid: (bit(entry, d.begins), bit(n.index, frees)),
            ready: (bit(n.index, d.complete & !frees), bit(entry, d.begins) | bit(n.index, frees)),
            listed: (bit(by, d.joins), bit(n.index, replay & last)),
            stalled: (of_place(d.joins & fresh), of_place(replay & !d.joins)),
        });
    }
}
