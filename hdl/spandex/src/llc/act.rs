//! Stage 3, carrying the decision out: all words of a request change in this one step.

use super::decide::{Decision, Now, evicted};
use super::params::{LlcFault, LlcParams};
use super::stages::Parts;
use super::table::{Progresses, Replace};
use super::tbes::Begin;
use super::types::*;
use crate::bank::arrays::Place;
use crate::bank::commit::{ANSWERS, Answer, Change, FORWARDS, chosen_op, crossed, extras, job, performed};
use crate::bank::entries::Start;
use crate::bank::lists::{List, Step};
use crate::bank::orders::Order;
use crate::bank::words::{Commit, Return, Word};
use crate::msg::{FwdOp, RspOp};
use weft_rtl::prelude::*;

/// What was done.
pub(super) type Done = crate::bank::commit::Done<Tag>;

/// The operation with its decision.
pub(super) struct Act<'a> {
    pub with: &'a Parts<'a>,
    pub n: &'a Now,
    pub d: &'a Decision,
}

impl Act<'_> {
    fn p(&self) -> &LlcParams {
        self.with.p
    }
    fn is(&self, kind: Kind) -> Bool {
        self.n.valid & self.n.op.kind.is(kind)
    }
    fn stores(&self) -> Bool {
        self.d.blocked.does(Progresses::Store)
    }
    fn installs(&self) -> Bool {
        self.d.blocked.does(Progresses::Install)
    }
    fn set(&self) -> Bits {
        self.p().bank().set_of(self.n.op.req.line)
    }

    /// Does everything.
    pub fn act(&self) -> Done {
        let (n, d, arrays) = (self.n, self.d, self.with.arrays);
        let place = self.place();
        let takes = d.write_backs[0].does(Return::Take);
        when(d.commits | takes | self.stores() | self.installs() | d.fetches, || {
            arrays.put(self.set(), n.look.way, &place);
        });
        when(d.commits, || arrays.touch(self.set(), n.look.tree, n.look.way));
        self.words();
        let (answers, crossed) = self.answers();
        self.forwards();
        self.orders();
        self.begins();
        let (complete, by_write_back) = self.progress(place.owned);
        self.lists(complete);
        self.leads();
        Done { answers, crossed, complete, by_write_back, place }
    }

    /// Asserts that words, line and TBE become what the tables say.
    fn leads(&self) {
        let (n, d, tbes) = (self.n, self.d, self.with.tbes);
        let before = Place { there: n.look.there, owned: n.look.owned, sharers: n.look.sharers };
        let (line, owned) = self.with.arrays.left(self.set(), n.look.way, &before);
        let kept = mux(line.state.is(LineState::S), enum_lit(Word::S), enum_lit(Word::V));
        let after = |words: Bits| mux((words & owned).any(), enum_lit(Word::O), kept);
        d.commits_v.leads_to(after(n.free));
        d.commits_s.leads_to(after(n.free));
        d.commits_o.leads_to(after(n.taken));
        d.write_backs[0].leads_to(after(d.mine));
        let alike = |words: Bits| (words & owned).none() | (words & !owned).none();
        let text = "words of one state go by one row";
        assert_always("llc_words_alike", !d.commits | (alike(n.free) & alike(n.taken)), text);
        d.frames.leads_to(line.state);
        let searches = self.is(Kind::Req) | self.is(Kind::Replay);
        let blocked = d.blocked.clone();
        tbes.on_kind(mux(searches, n.look.by, n.index), move |kind| blocked.leads_to(kind));
    }

    /// The way after the step, but for the words.
    fn place(&self) -> Place<Tag> {
        let (p, n, d) = (self.p(), self.n, self.d);
        let there = n.look.there;
        let empty = d.fresh | d.fetches | self.installs();
        let before = |value: Bits| some(value, !empty);
        let granted = some(n.free, d.commits_v.does(Commit::Grant) | d.commits_s.does(Commit::Grant))
            | some(n.taken, d.commits_o.does(Commit::Grant));
        let released = match p.fault {
            LlcFault::StaleOwner => lit_bv(Bv::zero(p.s.words())),
            _ => some(n.taken, d.commits_o.does(Commit::Release)),
        };
        let back = d.mine_taken() | some(n.op.req.mask, self.stores());
        let owned = ((before(n.look.owned) | granted) & !released & !back).named("s3_owned_next");
        // A revocation of words that other devices have in a shared line leaves its sharers alone: they have not got these words.
        let spared = n.op.kind.is(Kind::Commit) & n.tbe.kind.is(TbeKind::Phase1) & !n.progress.inv;
        let unshares = d.commits_s.does(Commit::Unshare) & !spared;
        let shares = d.commits_v.does(Commit::Share) | d.commits_s.does(Commit::Share);
        let latched = n.op.kind.is(Kind::Commit) & n.tbe.kind.is(TbeKind::Phase1);
        let mut more = some(n.progress.kept, latched);
        if p.fault != LlcFault::ForgottenSharer {
            more = more | n.op.req.src.one_hot(p.sharing());
        }
        let kept = some(before(n.look.sharers), !unshares);
        let sharers = match p.sharer_bits() {
            0 => lit_bv(Bv::zero(p.sharing())),
            _ => kept | some(more, shares),
        };
        let here = mux(d.fetches, enum_lit(LineState::I), enum_lit(LineState::V));
        let state = mux(empty | unshares, here, mux(shares, enum_lit(LineState::S), there.state));
        let tag = mux(d.fresh | self.installs(), p.bank().tag_of(n.op.req.line), there.tag);
        let dirty = (there.dirty & !empty) | self.dirties();
        Place { there: Tag { tag, state, dirty }, owned, sharers }
    }

    /// Words may differ from memory from now on. Of words that go from owner to owner the new one knows (RspO+data says it).
    fn dirties(&self) -> Bool {
        let (n, d) = (self.n, self.d);
        let back = (d.mine_taken().any() | self.stores()) & n.op.dirty;
        let back = if self.p().fault == LlcFault::LostDirty { bool_lit(false) } else { back };
        d.does(Commit::Write) | (self.performs() & performed(&n.op.req, n.line).1.any()) | back
    }

    fn performs(&self) -> Bool {
        self.d.commits_v.does(Commit::Perform) | self.d.commits_s.does(Commit::Perform)
    }

    /// Writes words of the line.
    fn words(&self) {
        let (p, n, d) = (self.p(), self.n, self.d);
        let performed = performed(&n.op.req, n.line);
        let writes = some(n.free, d.commits_v.does(Commit::Write) | d.commits_s.does(Commit::Write))
            | some(n.taken, d.commits_o.does(Commit::Write));
        let brings = d.mine_taken() | some(n.op.req.mask, self.stores() | self.installs());
        let change = Change { performed, writes, brings, grants: d.does(Commit::Grant) };
        let (mask, data) = change.made(&p.s, &n.op.req, || self.performs());
        let row = p.bank().row_of(self.set(), n.look.way);
        when(mask.any(), || self.with.arrays.put_lanes(row, mask, data));
    }

    /// Answers of a commit and of a write-back. Returns whether a request is answered, and the crossed words.
    fn answers(&self) -> (Bool, Bits) {
        let (p, n, d) = (self.p(), self.n, self.d);
        let kinds = &ANSWERS;
        let op = chosen_op(kinds, RspOp::RspV, |action| d.does(action));
        let answered = n.op.kind.is(Kind::Commit) & n.tbe.kind.is(TbeKind::Phase1);
        let words = n.free & !some(n.progress.ans, answered);
        let says = kinds.iter().fold(d.does(Commit::RspV), |any, (action, _)| any | d.does(*action));
        let answers = (says & words.any()).named("s3_answers");
        let extras = extras(&n.op.req, n.ask, p.flex);
        let kept = if p.fault == LlcFault::OwnedExtras { lit_bv(Bv::zero(p.s.words())) } else { n.owned };
        let back = self.is(Kind::Wb);
        let crossed = self.crossed();
        // A way into which a whole line is written or owned has never been read: its row shows nothing.
        let shows = d.does(Commit::RspV)
            | d.does(Commit::RspS)
            | d.does(Commit::RspOData)
            | d.does(Commit::RspWtData);
        when(answers | back, || {
            let extra = some(!kept & !n.op.req.mask, extras);
            let answer = Answer { back, op, words, extra, crossed, own: self.with.own, line: n.line, shows };
            self.with.outs.up.answers.push(&answer.message(&p.s, &n.op.req));
        });
        (answers, some(crossed, back))
    }

    /// Words of a write-back for which a removal is on its way to the sender: those that it does not own any more, and those that the line's TBE revokes.
    fn crossed(&self) -> Bits {
        let (n, d) = (self.n, self.d);
        let revoked = match self.p().fault {
            LlcFault::NoCross => lit_bv(Bv::zero(self.p().s.words())),
            _ => some(n.progress.rvm, n.look.blocked),
        };
        crossed(&n.op.req, d.mine, revoked)
    }

    fn forwards(&self) {
        let (n, d) = (self.n, self.d);
        let op = chosen_op(&FORWARDS, FwdOp::ReqV, |action| d.commits_o.does(action));
        when(d.commits & n.taken.any(), || {
            let job = job(&n.op.req, n.ask, op, (n.taken, n.owners), self.p().flex);
            self.with.outs.up.forward(&job);
        });
    }

    /// The line in the way chosen.
    fn leaver(&self) -> Bits {
        self.p().bank().line_from(self.n.look.there.tag, self.set(), self.with.own)
    }

    fn orders(&self) {
        let (n, d) = (self.n, self.d);
        let write = d.frames.does(Replace::Write);
        when(write | d.fetches, || {
            self.with.outs.orders.push(&Order {
                write,
                write_line: self.leaver(),
                read: Some(d.fetches),
                tbe: self.entry().resize(self.p().s.tbe_bits()),
                read_line: n.op.req.line,
                data: n.line,
            });
        });
    }

    /// TBE of a transaction that begins: a free one, or the one that the request has.
    fn entry(&self) -> Bits {
        self.with.tbes.entries.entry(self.n.op.kind.is(Kind::Req), self.n.index)
    }

    fn waits(&self) -> Bool {
        self.d.phase1 | self.d.evicts | self.d.fetches
    }

    fn begins(&self) {
        let (p, n, d) = (self.p(), self.n, self.d);
        let (sharers, words) = evicted(p, &n.look);
        let sharers = if p.s.sharers == 0 { lit_bv(Bv::zero(1)) } else { sharers };
        let none = |width: u32| lit_bv(Bv::zero(width));
        let kind = mux(d.evicts, enum_lit(TbeKind::Evict), enum_lit(TbeKind::Fill));
        let rv = mux(d.evicts, words, d.rv);
        let progress = Progress {
            ack: mux(d.evicts, sharers, d.inv),
            rv,
            rvm: rv,
            ans: some(n.taken, n.ask.is(Ask::ReqS1) & d.phase1),
            kept: none(p.sharing()),
            ask: n.ask,
            inv: d.inv.any(),
        };
        when(self.waits(), || {
            self.with.tbes.begin(
                self.entry(),
                &n.op.req,
                &Begin {
                    start: Start {
                        kind: mux(d.phase1, enum_lit(TbeKind::Phase1), kind),
                        line: mux(d.evicts, self.leaver(), n.op.req.line),
                        wants: n.op.req.line,
                        way: n.look.way,
                        progress,
                    },
                    acked: p.fault == LlcFault::EarlyAck,
                    owners: n.owners,
                },
            );
        });
    }

    /// An answer or a write-back comes to a TBE. Returns whether it has all now, and whether a write-back was the last thing.
    fn progress(&self, owned: Bits) -> (Bool, Bool) {
        let (p, n, d) = (self.p(), self.n, self.d);
        let before = n.progress;
        let src = n.op.req.src.one_hot(p.sharing());
        let after = Progress {
            ack: before.ack & !some(src, d.blocked.does(Progresses::Ack)),
            rv: before.rv & !some(n.op.req.mask, d.blocked.does(Progresses::Back)),
            kept: before.kept | some(src, d.blocked.does(Progresses::Keep)),
            ..before
        };
        let collects = d.blocked.does(Progresses::Collect);
        let comes = d.blocked.does(Progresses::Ack) | d.blocked.does(Progresses::Back) | collects;
        when(comes, || self.with.tbes.entries.set_progress(n.index, &after));
        let still = match p.fault {
            LlcFault::NoWait => bool_lit(false),
            _ => (before.rvm & owned).any(),
        };
        let all = comes & after.ack.none() & after.rv.none() & !still;
        ((all | self.installs()).named("s3_complete"), all & collects)
    }

    /// TBEs and stall lists.
    fn lists(&self, complete: Bool) {
        let (p, n, d, tbes) = (self.p(), self.n, self.d, self.with.tbes);
        let (replay, commit) = (self.is(Kind::Replay), self.is(Kind::Commit));
        let step = Step { joins: d.joins, by: n.look.by, fresh: self.is(Kind::Req), replay };
        let List { listed, head, tail } = n.tbe.list;
        let place = tbes.lists.join(&step, &n.op.req, head);
        let last = mux(replay, head.eq(tail), !listed);
        tbes.lists.follow(replay & !last, n.index, head);
        let ends = (replay | commit) & (d.commits | d.joins);
        when(commit & d.commits & !last, || tbes.to_list(n.index));
        let bit = |index: Bits, now: Bool| some(index.one_hot(p.s.tbes), now);
        let (entry, waits, frees) = (self.entry(), self.waits(), ends & last);
        let none = (p.fault == LlcFault::EarlyAck).then(|| d.rv.none() & d.phase1);
        let at_once = bit(entry, none.unwrap_or_else(|| bool_lit(false)));
        tbes.entries.update(
            (bit(entry, waits), bit(n.index, frees)),
            (bit(n.index, complete) | at_once, bit(entry, waits) | bit(n.index, frees)),
        );
        tbes.lists.update(&step, place, n.index, last);
    }
}
