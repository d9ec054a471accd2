//! Stage 3, carrying the decision out: all words of a request change in this one step.

use super::decide::{Decided, evicted};
use super::outputs::Outputs;
use super::params::{LlcFault, LlcParams};
use super::tbes::{Begin, Tbe, Tbes};
use super::types::*;
use crate::bank::act::{WordBank, performed};
use crate::bank::arrays::Place;
use crate::bank::lists::{List, Step};
use crate::bank::orders::Order;
use crate::bank::replace::Replace;
use crate::bank::upward::Upward;
use crate::bank::words::{Commit, Progresses, Return, Word};
use weft_rtl::prelude::*;

impl WordBank for Llc {
    type Params = LlcParams;
    type Tag = Tag;
    type Op = Op;
    type Tbes = Tbes;
    type Outputs = Outputs;
    type Tbe = Tbe;
    type TbeKind = TbeKind;
    type Progress = Progress;
    type Line = LineState;
    type Known = ();
    type Decided = Decided;
    const SHARES: bool = true;
    const FORWARDS: bool = true;
    const WB: Kind = Kind::Wb;

    fn up(outs: &Outputs) -> &Upward {
        &outs.up
    }
    fn revokes(progress: &Progress) -> (Bits, Bits) {
        (progress.rv, progress.rvm)
    }
    fn installs(act: &Act) -> Bool {
        act.d.blocked.does(Progresses::Install)
    }
    fn puts(act: &Act) -> Bool {
        let d = act.d;
        let takes = d.write_backs[0].does(Return::Take);
        d.commits | takes | d.stores() | act.installs() | d.fetches
    }
    fn place(act: &Act) -> Place<Tag> {
        let (p, n, d) = (act.with.p, act.n, act.d);
        let there = n.look.there;
        let empty = d.decided.fresh | d.fetches | act.installs();
        let before = |value: Bits| some(value, !empty);
        let granted = act.words_that(Commit::Grant);
        let released = match p.fault {
            LlcFault::StaleOwner => lit_bv(Bv::zero(p.bank.s.words())),
            _ => some(n.taken, d.commits_o.does(Commit::Release)),
        };
        let back = d.mine_taken() | some(n.req.mask, d.stores());
        let owned = ((before(n.look.owned) | granted) & !released & !back).named("s3_owned_next");
        // A revocation of words that other devices have in a shared line leaves its sharers alone: they have not got these words.
        let spared = n.op.kind.is(Kind::Commit) & n.tbe.kind.is(TbeKind::Phase1) & !n.progress.inv;
        let unshares = d.does_s(Commit::Unshare) & !spared;
        let shares = d.does_free(Commit::Share);
        let latched = n.op.kind.is(Kind::Commit) & n.tbe.kind.is(TbeKind::Phase1);
        let mut more = some(n.progress.kept, latched);
        if p.fault != LlcFault::ForgottenSharer {
            more = more | n.req.src.one_hot(p.sharing());
        }
        let kept = some(before(n.look.sharers), !unshares);
        let sharers = match p.sharer_bits() {
            0 => lit_bv(Bv::zero(p.sharing())),
            _ => kept | some(more, shares),
        };
        let here = mux(d.fetches, enum_lit(LineState::I), enum_lit(LineState::V));
        let state = mux(empty | unshares, here, mux(shares, enum_lit(LineState::S), there.state));
        let tag = mux(d.decided.fresh | act.installs(), act.bank.tag_of(n.req.line), there.tag);
        let dirty = (there.dirty & !empty) | act.dirties();
        Place { there: Tag { tag, state, dirty }, owned, sharers }
    }
    fn answered(act: &Act) -> Bits {
        let n = act.n;
        let answered = n.op.kind.is(Kind::Commit) & n.tbe.kind.is(TbeKind::Phase1);
        n.free & !some(n.progress.ans, answered)
    }
    fn elsewhere(act: &Act) -> Bits {
        match act.with.p.fault {
            LlcFault::OwnedExtras => lit_bv(Bv::zero(act.bank.s.words())),
            _ => act.n.owned,
        }
    }
    fn sends(act: &Act) {
        let (n, d) = (act.n, act.d);
        let write = d.frames.does(Replace::Write);
        when(write | d.fetches, || {
            act.with.outs.orders.push(&Order {
                write,
                write_line: act.leaver(),
                read: Some(d.fetches),
                tbe: act.entry().resize(act.with.p.bank.s.tbe_bits()),
                read_line: n.req.line,
                data: n.line,
            });
        });
    }
    fn begins(act: &Act) {
        let (p, n, d) = (act.with.p, act.n, act.d);
        let (sharers, words) = evicted(p, &n.look);
        let sharers = if p.bank.s.sharers == 0 { lit_bv(Bv::zero(1)) } else { sharers };
        let none = |width: u32| lit_bv(Bv::zero(width));
        let kind = mux(d.evicts, enum_lit(TbeKind::Evict), enum_lit(TbeKind::Fill));
        let rv = mux(d.evicts, words, d.rv);
        let progress = Progress {
            ack: mux(d.evicts, sharers, d.decided.inv),
            rv,
            rvm: rv,
            ans: some(n.taken, n.ask.is(Ask::ReqS1) & d.phase1),
            kept: none(p.sharing()),
            ask: n.ask,
            inv: d.decided.inv.any(),
        };
        when(act.waits(), || {
            let kind = mux(d.phase1, enum_lit(TbeKind::Phase1), kind);
            act.with.tbes.begin(
                act.entry(),
                &n.req,
                &Begin {
                    start: act.start(kind, act.leaver(), progress),
                    acked: p.fault == LlcFault::EarlyAck,
                    owners: n.owners,
                },
            );
        });
    }
    fn progress(act: &Act, owned: Bits) -> (Bool, Bool) {
        let (p, n, d) = (act.with.p, act.n, act.d);
        let before = n.progress;
        let src = n.req.src.one_hot(p.sharing());
        let after = Progress {
            ack: before.ack & !some(src, d.blocked.does(Progresses::Ack)),
            rv: before.rv & !some(n.req.mask, d.blocked.does(Progresses::Back)),
            kept: before.kept | some(src, d.blocked.does(Progresses::Keep)),
            ..before
        };
        let collects = d.blocked.does(Progresses::Collect);
        let comes = d.blocked.does(Progresses::Ack) | d.blocked.does(Progresses::Back) | collects;
        when(comes, || act.with.tbes.entries.set_progress(n.index, &after));
        let still = match p.fault {
            LlcFault::NoWait => bool_lit(false),
            _ => (before.rvm & owned).any(),
        };
        let all = comes & after.ack.none() & after.rv.none() & !still;
        ((all | act.installs()).named("s3_complete"), all & collects)
    }
    fn lists(act: &Act, complete: Bool) {
        let (p, n, d, tbes) = (act.with.p, act.n, act.d, act.with.tbes);
        let (replay, commit) = (n.is(Kind::Replay), n.is(Kind::Commit));
        let step = Step { joins: d.joins, by: n.look.by, fresh: n.is(Kind::Req), replay };
        let List { listed, head, tail } = n.tbe.list;
        let place = tbes.lists.join(&step, &n.req, head);
        let last = mux(replay, head.eq(tail), !listed);
        tbes.lists.follow(replay & !last, n.index, head);
        let ends = (replay | commit) & (d.commits | d.joins);
        when(commit & d.commits & !last, || tbes.to_list(n.index));
        let (entry, waits, frees) = (act.entry(), act.waits(), ends & last);
        let none = (p.fault == LlcFault::EarlyAck).then(|| d.rv.none() & d.phase1);
        let at_once = tbes.entries.bit(entry, none.unwrap_or_else(|| bool_lit(false)));
        let ready = || tbes.entries.bit(n.index, complete) | at_once;
        tbes.entries.step((entry, waits), (n.index, frees), ready);
        tbes.lists.update(&step, place, n.index, last);
    }
    fn leads(act: &Act) {
        let (n, d, tbes) = (act.n, act.d, act.with.tbes);
        let shared = |line: &Tag| mux(line.state.is(LineState::S), enum_lit(Word::S), enum_lit(Word::V));
        let (line, _) = act.words_lead("llc", shared);
        d.frames.leads_to(line.state);
        let searches = n.is(Kind::Req) | n.is(Kind::Replay);
        let blocked = d.blocked.clone();
        tbes.entries.on_kind(mux(searches, n.look.by, n.index), move |kind| blocked.leads_to(kind));
    }
}

impl Act<'_> {
    /// Words may differ from memory from now on. Of words that go from owner to owner the new one knows (RspO+data says it).
    fn dirties(&self) -> Bool {
        let (n, d) = (self.n, self.d);
        let back = (d.mine_taken().any() | d.stores()) & n.op.dirty;
        let back = if self.with.p.fault == LlcFault::LostDirty { bool_lit(false) } else { back };
        d.does(Commit::Write) | (self.performs() & performed(&n.req, n.line).1.any()) | back
    }

    /// TBE of a transaction that begins: a free one, or the one that the request has.
    fn entry(&self) -> Bits {
        self.with.tbes.entries.entry(self.n.op.kind.is(Kind::Req), self.n.index)
    }

    fn waits(&self) -> Bool {
        self.d.phase1 | self.d.evicts | self.d.fetches
    }
}
