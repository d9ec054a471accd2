//! Stage 3, carrying the decision out: all words of a request change in this one step.

use super::decide::{Decided, Known};
use super::leads;
use super::outputs::Outputs;
use super::params::{GpuL2Fault, GpuL2Params};
use super::stalls::Stall;
use super::table::Serve;
use super::tbes::{Begin, Tbe, Tbes};
use super::types::*;
use crate::bank::act::WordBank;
use crate::bank::arrays::Place;
use crate::bank::replace::Replace;
use crate::bank::upward::Upward;
use crate::bank::words::{Commit, Progresses, Return};
use crate::hmesi::msg::HRspOp;
use weft_rtl::prelude::*;

impl WordBank for GpuL2 {
    type Params = GpuL2Params;
    type Tag = L2Tag;
    type Op = Op;
    type Tbes = Tbes;
    type Outputs = Outputs;
    type Tbe = Tbe;
    type TbeKind = TbeKind;
    type Progress = Progress;
    type Line = Perm;
    type Known = Known;
    type Decided = Decided;
    const SHARES: bool = false;
    const FORWARDS: bool = false;
    const WB: Kind = Kind::Wb;

    fn up(outs: &Outputs) -> &Upward {
        &outs.up
    }
    fn revokes(progress: &Progress) -> (Bits, Bits) {
        (progress.rv, progress.rvm)
    }
    fn installs(act: &Act) -> Bool {
        act.client(Serve::InstallS) | act.client(Serve::InstallE) | act.client(Serve::InstallM)
    }
    fn puts(act: &Act) -> Bool {
        let d = act.d;
        let moves = act.drops() | act.client(Serve::Share) | act.installs() | d.fetches;
        d.commits | d.write_backs[0].does(Return::Take) | d.stores() | moves
    }
    fn place(act: &Act) -> Place<L2Tag> {
        let (p, n, d) = (act.with.p, act.n, act.d);
        let granted = act.words_that(Commit::Grant);
        let released = some(n.taken, d.commits_o.does(Commit::Release));
        let back = d.mine_taken() | some(n.req.mask, d.stores());
        let empty = d.fetches | act.installs() | act.drops();
        let owned = (some(n.look.owned, !empty) | granted) & !released & !back;
        let tag = mux(act.installs(), act.bank.tag_of(n.req.line), n.look.there.tag);
        let once = act.of(TbeKind::Fill) & n.tbe.getting.is(Getting::Isi);
        let once = if p.fault == GpuL2Fault::KeepOnce { bool_lit(false) } else { once };
        let choices = [
            (d.fetches | act.drops() | (d.commits & once), Perm::I),
            (act.client(Serve::InstallS) | act.client(Serve::Share), Perm::S),
            (act.client(Serve::InstallE), Perm::E),
            (act.client(Serve::InstallM) | (d.commits & n.known.writes), Perm::M),
        ];
        let perm =
            choices.into_iter().fold(n.look.there.perm, |rest, (now, perm)| mux(now, enum_lit(perm), rest));
        let sharers = lit_bv(Bv::zero(p.bank.s.sharers.max(1)));
        Place { there: L2Tag { tag, perm }, owned: owned.named("s3_owned_next"), sharers }
    }
    fn sends(act: &Act) {
        let (p, n) = (act.with.p, act.n);
        let (data_s, data_m, wb) =
            (act.client(Serve::DataS), act.client(Serve::DataM), act.client(Serve::Wb));
        let fills = act.of(TbeKind::Fill) & act.d.commits;
        let unblocks = fills & (n.progress.unblock | n.progress.unblock_x);
        let first = data_s | data_m | act.client(Serve::Ack) | unblocks;
        let ends = mux(n.progress.unblock_x, enum_lit(HRspOp::UnblockX), enum_lit(HRspOp::Unblock));
        let op = mux(data_s, enum_lit(HRspOp::DataS), enum_lit(HRspOp::InvAck));
        let op = mux(data_m, enum_lit(HRspOp::DataM), op);
        let written = mux(n.known.leaves, n.tbe.leaver_dirty, n.look.there.perm.is(Perm::M));
        when(first | wb, || {
            act.with.outs.reply(&Reply {
                line: n.req.line,
                first,
                op: mux(unblocks, ends, op),
                dst: mux(unblocks, p.bank.s.l3_home(n.req.line), n.op.node),
                tag: n.req.tag,
                wb,
                dirty: wb & written,
                kept: wb & act.client(Serve::Share),
                data: n.line,
            });
        });
    }
    fn begins(act: &Act) {
        let (p, n, d) = (act.with.p, act.n, act.d);
        let all = d.evicts | act.client(Serve::Revoke);
        let rv = mux(all, n.look.owned, d.rv);
        let leaver = act.leaver();
        let kinds = [
            (d.phase1, TbeKind::Phase1),
            (d.evicts, TbeKind::Evict),
            (act.client(Serve::Revoke), TbeKind::Revoke),
        ];
        let kind = kinds
            .into_iter()
            .fold(enum_lit(TbeKind::Fill), |rest, (now, kind)| mux(now, enum_lit(kind), rest));
        let misses = mux(n.known.writes, enum_lit(Getting::Im), enum_lit(Getting::Is));
        let written = n.look.there.perm.is(Perm::M);
        let puts = d.frames.does(Replace::Put);
        let progress = Progress { rv, rvm: rv, fwd: n.op.fwd, node: n.op.node, ..blank::<Progress>(p) };
        when(act.waits(), || {
            act.with.tbes.begin(
                act.entry(),
                &n.req,
                &Begin {
                    start: act.start(kind, leaver, progress),
                    getting: mux(d.decided.upgrades, enum_lit(Getting::Sm), misses),
                    owners: n.owners,
                    puts: if p.fault == GpuL2Fault::DropClean { puts & written } else { puts },
                    leaver,
                    leaver_dirty: if p.fault == GpuL2Fault::LostDirty { bool_lit(false) } else { written },
                    data: n.line,
                },
            );
        });
    }
    fn progress(act: &Act, owned: Bits) -> (Bool, Bool) {
        let (p, n, d) = (act.with.p, act.n, act.d);
        let (before, rsp) = (n.progress, n.op.rsp);
        let (counts, comes) = (act.client(Serve::Count), act.installs());
        let width = p.bank.s.client_bits();
        let owner = act.client(Serve::InstallE) | act.client(Serve::InstallM);
        let after = Progress {
            rv: before.rv & !some(n.req.mask, d.blocked.does(Progresses::Back)),
            come: before.come | comes,
            need: mux(comes, some(n.op.acks, rsp.is(HRspOp::DataM)), before.need),
            acks: before.acks + counts.bits().zext(width),
            unblock: before.unblock | (act.client(Serve::InstallS) & n.op.peer),
            unblock_x: before.unblock_x | owner,
            ..before
        };
        let collects = d.blocked.does(Progresses::Collect);
        let below = d.blocked.does(Progresses::Back) | collects;
        let filled = comes | counts;
        when(below | filled, || act.with.tbes.entries.set_progress(n.index, &after));
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
    fn lists(act: &Act, complete: Bool) {
        let (n, d, tbes) = (act.n, act.d, act.with.tbes);
        let (fresh, replay) = (n.is(Kind::Req), n.is(Kind::Replay));
        let index = n.index;
        when(act.client(Serve::Once), || tbes.set_getting(index, Getting::Isi));
        when(act.client(Serve::Keep), || tbes.set_getting(index, Getting::Is));
        when(act.client(Serve::Lose), || tbes.set_getting(index, Getting::Im));
        when(act.client(Serve::Leave), || tbes.set_leaving(index, Leaving::Ii));
        when(act.client(Serve::Gone), || tbes.set_leaving(index, Leaving::No));
        let still = !n.tbe.leaving.is(Leaving::No) & n.tbe.kind.is(TbeKind::Fill);
        let commits = n.is(Kind::Commit) & d.commits;
        when(commits & still, || tbes.to_put(index));
        let put_ends = act.client(Serve::Gone) & n.tbe.kind.is(TbeKind::Put);
        let frees = ((commits & !still) | n.known.revoked | put_ends).named("s3_frees");
        act.with.tbes.stalls.update(
            &Stall {
                joins: d.joins,
                fresh,
                place: n.op.place,
                by: n.look.by,
                leaves: replay & !d.joins,
                ends: commits | n.known.revoked | put_ends,
                index,
            },
            &n.req,
        );
        let bit = |index: Bits, now: Bool| tbes.entries.bit(index, now);
        tbes.entries.update(
            (bit(act.entry(), act.waits()), bit(index, frees)),
            (bit(index, complete), bit(index, n.is(Kind::Commit))),
        );
    }
    fn leads(act: &Act) {
        leads::connect(act);
    }
}

impl Act<'_> {
    /// The request of a TBE of a kind commits.
    fn of(&self, kind: TbeKind) -> Bool {
        self.n.is(Kind::Commit) & self.n.tbe.kind.is(kind)
    }
    fn client(&self, action: Serve) -> Bool {
        self.d.decided.client.does(action)
    }
    /// The line of a forward goes from its way.
    fn drops(&self) -> Bool {
        let drops = self.client(Serve::Drop);
        match self.with.p.fault {
            GpuL2Fault::KeepInvalid => drops & !self.client(Serve::Ack),
            _ => drops,
        }
    }
    /// TBE of a transaction that begins: a free one, or the one that the request has.
    fn entry(&self) -> Bits {
        let free = self.with.tbes.entries.free_index();
        mux(self.n.is(Kind::Commit), self.n.index.resize(free.width()), free)
    }

    fn waits(&self) -> Bool {
        let d = self.d;
        d.phase1 | d.evicts | d.fetches | d.decided.upgrades | self.client(Serve::Revoke)
    }
}
