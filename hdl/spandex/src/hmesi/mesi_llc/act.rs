//! Stage 3: what the operation is to its line, by the tables, and what follows.

use super::params::{MesiLlcFault, MesiLlcParams};
use super::stages::{Parts, Stages};
use super::table::{self, Comes, Direct, Event, Frame, Progresses, Replace, Use};
use super::tbes::Tbe;
use super::types::*;
use crate::bank::arrays::Place;
use crate::bank::entries::Start;
use crate::bank::lists::{List, Step};
use crate::bank::orders::Order;
use crate::bank::rows::{Rows, coded};
use crate::hmesi::msg::{HFwdOp, HRsp, HRspOp};
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
    pub directory: Rows<LineState, Direct>,
    pub frames: Rows<LineState, Replace>,
    pub busy: Rows<TbeKind, Progresses>,
    /// A request joins a stall list.
    pub joins: Bool,
    /// A transaction begins or goes on.
    pub begins: Bool,
    /// A TBE has all it waited for.
    pub complete: Bool,
    /// The way after the step.
    pub place: Place<Tag>,
    /// Clients that are sent Inv because of a GetM.
    pub inv: Bits,
}

/// What stage 3 works on.
pub(super) fn now(with: &Parts, stages: &Stages) -> Now {
    let (Parts { p, tbes, .. }, pipe) = (with, &stages.pipe);
    let (valid, op, look) = pipe.last();
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
        line: pipe.s3_line.get(),
        index: op.tbe,
        tbe,
        progress: tbes.entries.progress(op.tbe),
        asked: tbes.entries.request(op.tbe),
        request,
        moved_in,
        here: (searched | (commit & !moved_in)).named("s3_here"),
        put,
        mine: (put & mine).named("s3_mine"),
    }
}

impl Now {
    /// The way before the step.
    fn before(&self) -> Place<Tag> {
        Place { there: self.look.there, owned: lit(0, 1), sharers: self.look.sharers }
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
        self.p().bank.set_of(self.n.op.req.line)
    }

    /// Decides and does everything.
    pub fn act(&self) -> Done {
        let (p, n) = (self.p(), self.n);
        let (directory, frames, busy) = (self.directory(), self.frames(), self.busy());
        let all = lit_bv(Bv::ones(p.bank.s.clients()));
        let others =
            some(n.look.sharers & !n.op.req.src.one_hot(p.bank.s.clients()), directory.does(Direct::Inv));
        let begins = directory.does(Direct::BusyX)
            | directory.does(Direct::BusyIib)
            | frames.does(Replace::Evict)
            | frames.does(Replace::Take);
        let mut done = Done {
            joins: (frames.does(Replace::Join) | busy.does(Progresses::Join)).named("s3_joins"),
            begins: begins.named("s3_begins"),
            complete: bool_lit(false),
            place: Place { there: n.look.there, owned: lit(0, 1), sharers: n.look.sharers & all },
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
        self.leads(&done);
        done
    }

    /// Asserts that line and TBE become what the tables say.
    fn leads(&self, d: &Done) {
        let n = self.n;
        let there = n.look.hit | n.here;
        let after = self.with.arrays.left(self.set(), n.look.way, &n.before()).0.state;
        d.directory.leads_to(mux(there, after, enum_lit(LineState::I)));
        d.frames.leads_to(after);
        let searches = self.is(Kind::Req) | self.is(Kind::Replay);
        let kind = mux(searches, self.with.tbes.at(n.look.by).kind, n.tbe.kind);
        let kind = mux(self.over(d) & n.tbe.list.listed, enum_lit(TbeKind::List), kind);
        d.busy.leads_to(mux(d.begins, self.begun(d, d.frames.does(Replace::Evict)), kind));
    }

    /// A request or Put at a line that is not busy.
    fn directory(&self) -> Rows<LineState, Direct> {
        let n = self.n;
        let stale = n.put & !n.mine;
        let pairs = [(stale, Event::Stale), (n.put, Event::Put), (n.op.req.op.is(Get::GetM), Event::GetM)];
        let event = coded(&pairs, Event::GetS).named("s3_event");
        let there = n.look.hit | n.here;
        let state = mux(there, n.look.there.state, enum_lit(LineState::I));
        Rows::new(&table::directory(), n.here | n.put, (event, state))
    }

    /// A request of a line that is not here.
    fn frames(&self) -> Rows<LineState, Replace> {
        let (p, n) = (self.p(), self.n);
        let missing = n.request & !n.here & (n.moved_in | !n.look.blocked);
        let there = n.look.there;
        let shared = there.state.is(LineState::SS) & bool_lit(p.fault != MesiLlcFault::DropShared);
        let pairs = [
            (n.moved_in & there.dirty, Frame::DirtyOut),
            (n.moved_in, Frame::CleanOut),
            (n.look.full, Frame::Full),
            (there.state.is(LineState::I), Frame::Empty),
            (shared, Frame::Shared),
            (there.state.is(LineState::MT), Frame::Owned),
            (there.dirty, Frame::Dirty),
        ];
        let frame = coded(&pairs, Frame::Clean).named("s3_frame");
        Rows::new(&table::frames(), missing, (lit(Use::Miss.encoding(), 1), frame))
    }

    /// What comes to a busy line.
    fn busy(&self) -> Rows<TbeKind, Progresses> {
        let n = self.n;
        let searches = self.is(Kind::Req) | self.is(Kind::Replay);
        let joins = searches & n.look.blocked;
        let pairs = [
            (searches, Comes::Req),
            (self.is(Kind::Mem), Comes::Memory),
            (self.is(Kind::InvAck), Comes::InvAck),
            (self.is(Kind::WbData), Comes::WbData),
            (self.is(Kind::Unblock), Comes::Unblock),
            (self.is(Kind::UnblockX), Comes::UnblockX),
        ];
        let event = coded(&pairs, Comes::Done).named("s3_comes");
        let kind = mux(searches, self.with.tbes.at(n.look.by).kind, n.tbe.kind);
        let at = joins | (n.valid & !searches & !n.put);
        Rows::new(&table::busy(), at, (kind, event))
    }

    /// An answer of a client comes to its TBE. Returns whether all has come.
    fn progress(&self, d: &Done) -> Bool {
        let (p, n) = (self.p(), self.n);
        let before = n.progress;
        let counts = d.busy.does(Progresses::Count);
        let after = Progress {
            acks: before.acks & !some(n.op.req.src.one_hot(p.bank.s.clients()), self.is(Kind::InvAck)),
            wb: before.wb & !self.is(Kind::WbData),
            unblock: before.unblock & !self.is(Kind::Unblock),
            kept: before.kept | (self.is(Kind::WbData) & n.op.kept),
        };
        when(counts, || self.with.tbes.entries.set_progress(n.index, &after));
        let wb = if p.fault == MesiLlcFault::NoWbData {
            after.wb & n.tbe.kind.is(TbeKind::Evict)
        } else {
            after.wb
        };
        let all = counts & after.acks.none() & !wb & !after.unblock;
        (all | d.busy.does(Progresses::Own) | d.busy.does(Progresses::Install)).named("s3_complete")
    }

    /// The way and its line after the step.
    fn place(&self, d: &mut Done) {
        let (p, n, arrays) = (self.p(), self.n, self.with.arrays);
        let there = n.look.there;
        let client = |index: Bits| index.one_hot(p.bank.s.clients());
        let code = |state: LineState| enum_lit(state);
        let (takes, installs, owns) =
            (d.directory.does(Direct::Take), d.busy.does(Progresses::Install), d.busy.does(Progresses::Own));
        let stores = d.busy.does(Progresses::Store);
        let (shares, replaced) = (d.directory.does(Direct::Share), d.frames.does(Replace::Take));
        let shared = (d.complete & n.tbe.kind.is(TbeKind::BusyIib)).named("s3_shared");
        let state = mux(takes | installs, code(LineState::C), there.state);
        let state = mux(owns, code(LineState::MT), state);
        let state = mux(shared, code(LineState::SS), state);
        let state = mux(replaced, code(LineState::I), state);
        let back = (takes | stores) & n.op.dirty;
        let dirties = if p.fault == MesiLlcFault::LostDirty { bool_lit(false) } else { back };
        d.place.there = Tag {
            tag: mux(installs, p.bank.tag_of(n.op.req.line), there.tag),
            state,
            dirty: (there.dirty & !installs & !replaced) | dirties,
            owner: mux(owns, n.asked.src, there.owner),
        };
        let kept = n.progress.kept | (self.is(Kind::WbData) & n.op.kept);
        let kept = if p.fault == MesiLlcFault::ForgottenOwner { bool_lit(false) } else { kept };
        let joined = client(n.asked.src) | some(client(there.owner), kept);
        let counted = shares & bool_lit(p.fault != MesiLlcFault::ForgottenSharer);
        let none = takes | installs | owns | replaced | shared;
        d.place.sharers =
            some(n.look.sharers, !none) | some(client(n.op.req.src), counted) | some(joined, shared);
        when(none | shares | back, || arrays.put(self.set(), n.look.way, &d.place));
        when(n.here, || arrays.touch(self.set(), n.look.tree, n.look.way));
        let row = p.bank.row_of(self.set(), n.look.way);
        when(back | installs, || arrays.put_line(row, n.op.data));
    }

    /// Answers to requests and Puts.
    fn answer(&self, d: &Done) {
        let (p, n) = (self.p(), self.n);
        let kinds =
            [(Direct::DataE, HRspOp::DataE), (Direct::DataM, HRspOp::DataM), (Direct::Ack, HRspOp::WbAck)];
        let does = |name| d.directory.does(name);
        let first = enum_lit(HRspOp::DataS);
        let op = kinds.iter().fold(first, |rest, (name, op)| mux(does(*name), enum_lit(*op), rest));
        let data = does(Direct::DataS) | does(Direct::DataE) | does(Direct::DataM);
        let mut acks = d.inv.popcount().resize(p.bank.s.client_bits());
        if p.fault == MesiLlcFault::ShortAcks {
            acks = mux(acks.none(), acks, acks - 1);
        }
        when(data | does(Direct::Ack), || {
            self.with.outs.answers.push(&HRsp {
                op,
                line: n.op.req.line,
                src: self.with.own,
                dst: p.bank.s.client_node(n.op.req.src, n.op.req.line),
                tag: n.op.req.tag,
                acks,
                data: some(n.line, data),
                ..blank::<HRsp>(&p.bank.s)
            });
        });
    }

    /// The line in the way chosen.
    fn leaver(&self) -> Bits {
        self.p().bank.line_from(self.n.look.there.tag, self.set(), self.with.own)
    }

    fn order(&self, d: &Done) {
        let n = self.n;
        when(d.frames.does(Replace::Take), || {
            self.with.outs.orders.push(&Order {
                write: d.frames.does(Replace::Write),
                write_line: self.leaver(),
                read: None,
                tbe: self.entry().resize(self.p().bank.s.tbe_bits()),
                read_line: n.op.req.line,
                data: n.line,
            });
        });
    }

    /// TBE of a transaction that begins: a free one, or the one that the request has.
    fn entry(&self) -> Bits {
        self.with.tbes.entries.entry(self.n.op.kind.is(Kind::Req), self.n.index)
    }

    /// Kind of a transaction that begins.
    fn begun(&self, d: &Done, evicts: Bool) -> Enum<TbeKind> {
        let code = |kind: TbeKind| enum_lit(kind);
        let kind = mux(d.directory.does(Direct::BusyX), code(TbeKind::BusyX), code(TbeKind::Fetch));
        let kind = mux(d.directory.does(Direct::BusyIib), code(TbeKind::BusyIib), kind);
        mux(evicts, code(TbeKind::Evict), kind)
    }

    fn begin(&self, d: &Done) {
        let (p, n) = (self.p(), self.n);
        let does = |name| d.directory.does(name);
        let there = n.look.there;
        let evicts = d.frames.does(Replace::Evict);
        let (owned, shared) =
            (evicts & there.state.is(LineState::MT), evicts & there.state.is(LineState::SS));
        let kind = self.begun(d, evicts);
        let owner = some(there.owner.one_hot(p.bank.s.clients()), does(Direct::Fwd) | owned);
        let send = |op: HFwdOp| enum_lit(op);
        let fwd = mux(does(Direct::Fwd) & does(Direct::BusyX), send(HFwdOp::FwdGetM), send(HFwdOp::Inv));
        let fwd = mux(does(Direct::BusyIib), send(HFwdOp::FwdGetS), fwd);
        let sharers = some(n.look.sharers, shared);
        let line = mux(evicts, self.leaver(), n.op.req.line);
        let begin = Begin {
            todo: owner | sharers | d.inv,
            fwd: mux(owned, send(HFwdOp::Recall), fwd),
            start: Start {
                kind,
                line,
                wants: n.op.req.line,
                way: n.look.way,
                progress: Progress {
                    acks: sharers,
                    wb: owned | does(Direct::BusyIib),
                    unblock: does(Direct::BusyX) | does(Direct::BusyIib),
                    kept: bool_lit(false),
                },
            },
        };
        when(d.begins, || self.with.tbes.begin(self.entry(), &n.op.req, &begin));
    }

    /// A line is not busy any more: its list replays, or its TBE is free.
    fn over(&self, d: &Done) -> Bool {
        d.complete & self.n.tbe.kind.is_any(&[TbeKind::BusyX, TbeKind::BusyIib])
    }

    /// TBEs and stall lists.
    fn lists(&self, d: &Done) {
        let (n, tbes) = (self.n, self.with.tbes);
        let replay = self.is(Kind::Replay);
        let step = Step { joins: d.joins, by: n.look.by, fresh: self.is(Kind::Req), replay };
        let List { listed, head, tail } = n.tbe.list;
        let place = tbes.lists.join(&step, &n.op.req, head);
        let last = head.eq(tail);
        tbes.lists.follow(replay & !last, n.index, head);
        let over = self.over(d);
        when(over & listed, || tbes.to_list(n.index));
        let frees = (over & !listed) | (replay & last & !d.begins);
        let ready = || tbes.entries.bit(n.index, d.complete & !frees);
        tbes.entries.step((self.entry(), d.begins), (n.index, frees), ready);
        tbes.lists.update(&step, place, n.index, last);
    }
}
