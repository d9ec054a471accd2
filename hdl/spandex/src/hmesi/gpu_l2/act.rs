//! Stage 3, carrying the decision out: all words of a request change in this one step.

use super::decide::{Decision, Now};
use super::params::{GpuL2Fault, GpuL2Params};
use super::stages::Parts;
use super::stalls::Stall;
use super::table::{Progresses, Replace, Serve};
use super::tbes::Begin;
use super::types::*;
use crate::bank::Bank;
use crate::bank::arrays::Place;
use crate::bank::commit::{
    ANSWERS, Answer, Change, FORWARDS, answered, chosen_op, crossed, extras, job, performed,
};
use crate::bank::entries::Start;
use crate::bank::words::{Commit, Return};
use crate::hmesi::msg::HRspOp;
use crate::msg::FwdOp;
use weft_rtl::prelude::*;

/// What was done.
pub(super) type Done = crate::bank::commit::Done<L2Tag>;

/// The operation with its decision.
pub(super) struct Act<'a> {
    pub with: &'a Parts<'a>,
    pub n: &'a Now,
    pub d: &'a Decision,
    pub bank: Bank,
}

impl Act<'_> {
    fn p(&self) -> &GpuL2Params {
        self.with.p
    }
    pub fn is(&self, kind: Kind) -> Bool {
        self.n.valid & self.n.op.kind.is(kind)
    }
    /// The request of a TBE of a kind commits.
    fn of(&self, kind: TbeKind) -> Bool {
        self.is(Kind::Commit) & self.n.tbe.kind.is(kind)
    }
    fn client(&self, action: Serve) -> Bool {
        self.d.client.does(action)
    }
    pub fn installs(&self) -> Bool {
        self.client(Serve::InstallS) | self.client(Serve::InstallE) | self.client(Serve::InstallM)
    }
    fn stores(&self) -> Bool {
        self.d.blocked.does(Progresses::Store)
    }
    /// The line of a forward goes from its way.
    fn drops(&self) -> Bool {
        let drops = self.client(Serve::Drop);
        match self.p().fault {
            GpuL2Fault::KeepInvalid => drops & !self.client(Serve::Ack),
            _ => drops,
        }
    }
    pub fn set(&self) -> Bits {
        self.bank.set_of(self.n.op.req.line)
    }

    /// Does everything.
    pub fn act(&self) -> Done {
        let (n, d, arrays) = (self.n, self.d, self.with.arrays);
        let place = self.place();
        let moves = self.drops() | self.client(Serve::Share) | self.installs() | d.fetches;
        when(d.commits | d.write_backs[0].does(Return::Take) | self.stores() | moves, || {
            arrays.put(self.set(), n.look.way, &place);
        });
        when(d.commits, || arrays.touch(self.set(), n.look.tree, n.look.way));
        self.words();
        let (answers, crossed) = self.answers();
        self.forwards();
        self.replies();
        self.begins();
        let (complete, by_write_back) = self.progress(place.owned);
        self.lists(complete);
        Done { answers, crossed, complete, by_write_back, place }
    }

    /// The way after the step, but for the words.
    fn place(&self) -> Place<L2Tag> {
        let (p, n, d) = (self.p(), self.n, self.d);
        let granted =
            some(n.free, d.commits_v.does(Commit::Grant)) | some(n.taken, d.commits_o.does(Commit::Grant));
        let released = some(n.taken, d.commits_o.does(Commit::Release));
        let back = d.mine_taken() | some(n.op.req.mask, self.stores());
        let empty = d.fetches | self.installs() | self.drops();
        let owned = (some(n.look.owned, !empty) | granted) & !released & !back;
        let tag = mux(self.installs(), self.bank.tag_of(n.op.req.line), n.look.there.tag);
        let once = self.of(TbeKind::Fill) & n.tbe.getting.is(Getting::Isi);
        let once = if p.fault == GpuL2Fault::KeepOnce { bool_lit(false) } else { once };
        let choices = [
            (d.fetches | self.drops() | (d.commits & once), Perm::I),
            (self.client(Serve::InstallS) | self.client(Serve::Share), Perm::S),
            (self.client(Serve::InstallE), Perm::E),
            (self.client(Serve::InstallM) | (d.commits & n.writes), Perm::M),
        ];
        let perm =
            choices.into_iter().fold(n.look.there.perm, |rest, (now, perm)| mux(now, enum_lit(perm), rest));
        let sharers = lit_bv(Bv::zero(p.s.sharers.max(1)));
        Place { there: L2Tag { tag, perm }, owned: owned.named("s3_owned_next"), sharers }
    }

    fn performs(&self) -> Bool {
        self.d.commits_v.does(Commit::Perform)
    }

    /// Writes words of the line.
    fn words(&self) {
        let (n, d) = (self.n, self.d);
        let performed = performed(&n.op.req, n.line);
        let writes =
            some(n.free, d.commits_v.does(Commit::Write)) | some(n.taken, d.commits_o.does(Commit::Write));
        let brings = d.mine_taken() | some(n.op.req.mask, self.stores() | self.installs());
        let change = Change { performed, writes, brings, grants: d.does(Commit::Grant) };
        let (mask, data) = change.made(&self.p().s, &n.op.req, || self.performs());
        let row = self.bank.row_of(self.set(), n.look.way);
        when(mask.any(), || self.with.arrays.put_lanes(row, mask, data));
    }

    /// Answers of a commit and of a write-back. Returns whether a request is answered, and the crossed words.
    fn answers(&self) -> (Bool, Bits) {
        let (p, n, d) = (self.p(), self.n, self.d);
        let (op, says) = answered(&ANSWERS[1..], |action| d.does(action));
        let answers = (says & n.free.any()).named("s3_answers");
        let extras = extras(&n.op.req, n.ask, p.flex);
        let back = self.is(Kind::Wb);
        let crossed = self.crossed();
        let shows = d.does(Commit::RspV) | d.does(Commit::RspOData) | d.does(Commit::RspWtData);
        when(answers | back, || {
            let extra = some(!n.owned & !n.op.req.mask, extras);
            let answer = Answer {
                back,
                op,
                words: n.free,
                extra,
                crossed,
                own: self.with.own.resize(p.s.node_bits()),
                line: n.line,
                shows,
            };
            self.with.outs.up.answers.push(&answer.message(&p.s, &n.op.req));
        });
        (answers, some(crossed, back))
    }

    /// Words of a write-back for which a removal is on its way to the sender: those that it does not own any more, and those that the line's TBE revokes.
    fn crossed(&self) -> Bits {
        let (n, d) = (self.n, self.d);
        let revoked = match self.p().fault {
            GpuL2Fault::NoCross => lit_bv(Bv::zero(self.p().s.words())),
            _ => some(n.progress.rvm, n.look.blocked),
        };
        crossed(&n.op.req, d.mine, revoked)
    }

    fn forwards(&self) {
        let (n, d) = (self.n, self.d);
        let op = chosen_op(&FORWARDS[..2], FwdOp::ReqV, |action| d.commits_o.does(action));
        when(d.commits & n.taken.any(), || {
            let job = job(&n.op.req, n.ask, op, (n.taken, n.owners), self.p().flex);
            self.with.outs.up.forward(&job);
        });
    }

    /// What clients and the L3 hear: answers to forwards, and the end of a fill.
    fn replies(&self) {
        let (p, n) = (self.p(), self.n);
        let (data_s, data_m, wb) =
            (self.client(Serve::DataS), self.client(Serve::DataM), self.client(Serve::Wb));
        let fills = self.of(TbeKind::Fill) & self.d.commits;
        let unblocks = fills & (n.progress.unblock | n.progress.unblock_x);
        let first = data_s | data_m | self.client(Serve::Ack) | unblocks;
        let ends = mux(n.progress.unblock_x, enum_lit(HRspOp::UnblockX), enum_lit(HRspOp::Unblock));
        let op = mux(data_s, enum_lit(HRspOp::DataS), enum_lit(HRspOp::InvAck));
        let op = mux(data_m, enum_lit(HRspOp::DataM), op);
        let written = mux(n.leaves, n.tbe.leaver_dirty, n.look.there.perm.is(Perm::M));
        when(first | wb, || {
            self.with.outs.reply(&Reply {
                line: n.op.req.line,
                first,
                op: mux(unblocks, ends, op),
                dst: mux(unblocks, p.s.l3_home(n.op.req.line), n.op.node),
                tag: n.op.req.tag,
                wb,
                dirty: wb & written,
                kept: wb & self.client(Serve::Share),
                data: n.line,
            });
        });
    }

    /// TBE of a transaction that begins: a free one, or the one that the request has.
    fn entry(&self) -> Bits {
        let free = self.with.tbes.entries.free_index();
        mux(self.is(Kind::Commit), self.n.index.resize(free.width()), free)
    }

    fn revokes(&self) -> Bool {
        self.client(Serve::Revoke)
    }

    fn waits(&self) -> Bool {
        let d = self.d;
        d.phase1 | d.evicts | d.fetches | d.upgrades | self.revokes()
    }

    fn begins(&self) {
        let (p, n, d) = (self.p(), self.n, self.d);
        let all = d.evicts | self.revokes();
        let rv = mux(all, n.look.owned, d.rv);
        let leaver = self.bank.line_from(n.look.there.tag, self.set(), self.with.own.resize(p.s.node_bits()));
        let kinds =
            [(d.phase1, TbeKind::Phase1), (d.evicts, TbeKind::Evict), (self.revokes(), TbeKind::Revoke)];
        let kind = kinds
            .into_iter()
            .fold(enum_lit(TbeKind::Fill), |rest, (now, kind)| mux(now, enum_lit(kind), rest));
        let misses = mux(n.writes, enum_lit(Getting::Im), enum_lit(Getting::Is));
        let written = n.look.there.perm.is(Perm::M);
        let puts = d.frames.does(Replace::Put);
        let progress = Progress { rv, rvm: rv, fwd: n.op.fwd, node: n.op.node, ..blank::<Progress>(p) };
        when(self.waits(), || {
            self.with.tbes.begin(
                self.entry(),
                &n.op.req,
                &Begin {
                    start: Start {
                        kind,
                        line: mux(d.evicts, leaver, n.op.req.line),
                        wants: n.op.req.line,
                        way: n.look.way,
                        progress,
                    },
                    getting: mux(d.upgrades, enum_lit(Getting::Sm), misses),
                    owners: n.owners,
                    puts: if p.fault == GpuL2Fault::DropClean { puts & written } else { puts },
                    leaver,
                    leaver_dirty: if p.fault == GpuL2Fault::LostDirty { bool_lit(false) } else { written },
                    data: n.line,
                },
            );
        });
    }

    /// Something comes to a TBE. Returns whether it has all now, and whether a write-back was the last thing.
    fn progress(&self, owned: Bits) -> (Bool, Bool) {
        let (p, n, d) = (self.p(), self.n, self.d);
        let (before, rsp) = (n.progress, n.op.rsp);
        let (counts, comes) = (self.client(Serve::Count), self.installs());
        let width = p.s.client_bits();
        let owner = self.client(Serve::InstallE) | self.client(Serve::InstallM);
        let after = Progress {
            rv: before.rv & !some(n.op.req.mask, d.blocked.does(Progresses::Back)),
            come: before.come | comes,
            need: mux(comes, some(n.op.acks, rsp.is(HRspOp::DataM)), before.need),
            acks: before.acks + counts.bits().zext(width),
            unblock: before.unblock | (self.client(Serve::InstallS) & n.op.peer),
            unblock_x: before.unblock_x | owner,
            ..before
        };
        let collects = d.blocked.does(Progresses::Collect);
        let below = d.blocked.does(Progresses::Back) | collects;
        let filled = comes | counts;
        when(below | filled, || self.with.tbes.entries.set_progress(n.index, &after));
        let still = match p.fault {
            GpuL2Fault::NoWait => bool_lit(false),
            _ => (before.rvm & owned).any(),
        };
        let all = below & after.rv.none() & !still;
        let all_acks = after.acks.eq(after.need);
        let all_acks = if p.fault == GpuL2Fault::EarlyData { comes } else { all_acks };
        let has = filled & after.come & all_acks;
        ((all | has).named("s3_complete"), all & collects)
    }

    /// TBEs and stall lists.
    fn lists(&self, complete: Bool) {
        let (p, n, d, tbes) = (self.p(), self.n, self.d, self.with.tbes);
        let (fresh, replay) = (self.is(Kind::Req), self.is(Kind::Replay));
        let index = n.index;
        when(self.client(Serve::Once), || tbes.set_getting(index, Getting::Isi));
        when(self.client(Serve::Keep), || tbes.set_getting(index, Getting::Is));
        when(self.client(Serve::Lose), || tbes.set_getting(index, Getting::Im));
        when(self.client(Serve::Leave), || tbes.set_leaving(index, Leaving::Ii));
        when(self.client(Serve::Gone), || tbes.set_leaving(index, Leaving::No));
        let still = !n.tbe.leaving.is(Leaving::No) & n.tbe.kind.is(TbeKind::Fill);
        let commits = self.is(Kind::Commit) & d.commits;
        when(commits & still, || tbes.to_put(index));
        let put_ends = self.client(Serve::Gone) & n.tbe.kind.is(TbeKind::Put);
        let frees = ((commits & !still) | n.revoked | put_ends).named("s3_frees");
        self.with.stalls.update(
            &Stall {
                joins: d.joins,
                fresh,
                place: n.op.place,
                by: n.look.by,
                leaves: replay & !d.joins,
                ends: commits | n.revoked | put_ends,
                index,
            },
            &n.op.req,
        );
        let bit = |index: Bits, now: Bool| some(index.one_hot(p.s.tbes), now);
        tbes.entries.update(
            (bit(self.entry(), self.waits()), bit(index, frees)),
            (bit(index, complete), bit(index, self.is(Kind::Commit))),
        );
    }
}
