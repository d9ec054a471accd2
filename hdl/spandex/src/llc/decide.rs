//! Stage 3, the decision: what the operation is to its line, by the tables.

use super::params::{LlcFault, LlcParams, ReqsPolicy, RvkoGran, SharerMode};
use super::stages::{Parts, Stages};
use super::table::{self, Comes, Frame, Progresses, Replace, Use};
use super::types::*;
use crate::bank::owners::{owner, owners_of, whole_owners, words_of};
use crate::bank::rows::{Rows, coded};
use crate::bank::words::{self, Before, Word};
use crate::msg::ReqOp;
use weft_rtl::prelude::*;

/// The operation in stage 3.
pub(super) type Now = crate::bank::act::Now<Llc>;
/// What is done.
pub(super) type Decision = crate::bank::act::Decision<Llc>;

/// What only this bank decides.
pub(super) struct Decided {
    /// The request commits into a way without a line.
    pub fresh: Bool,
    /// Sharers to be asked.
    pub inv: Bits,
}

/// Which of its kinds a request is; `shared`: a sharer is the better answer to a ReqS.
fn ask(p: &LlcParams, request: &Held, shared: Bool) -> Enum<Ask> {
    let reqs = match p.reqs {
        ReqsPolicy::Opt1 => enum_lit(Ask::ReqS1),
        ReqsPolicy::Opt2 => enum_lit(Ask::ReqS2),
        ReqsPolicy::Opt3 => enum_lit(Ask::ReqS3),
        ReqsPolicy::Eval => mux(shared, enum_lit(Ask::ReqS1), enum_lit(Ask::ReqS3)),
    };
    let through = mux(request.fwd, enum_lit(Ask::ReqWtFwd), enum_lit(Ask::ReqWt));
    let pairs = [
        (ReqOp::ReqS, reqs),
        (ReqOp::ReqWt, through),
        (ReqOp::ReqO, enum_lit(Ask::ReqO)),
        (ReqOp::ReqWtData, enum_lit(Ask::ReqWtData)),
        (ReqOp::ReqOData, enum_lit(Ask::ReqOData)),
    ];
    pairs.into_iter().fold(enum_lit(Ask::ReqV), |rest, (op, ask)| mux(request.op.is(op), ask, rest))
}

/// What stage 3 works on.
pub(super) fn now(with: &Parts, stages: &Stages) -> Now {
    let (Parts { p, tbes, .. }, pipe) = (with, &stages.pipe);
    let (valid, op, look) = pipe.last();
    let is = |kinds: &[Kind]| valid & op.kind.is_any(kinds);
    let write_back = op.kind.is(Kind::Wb);
    let index = mux(write_back, look.by, op.tbe);
    let (tbe, progress) = (tbes.at(index), tbes.entries.progress(index));
    let request = is(&[Kind::Req, Kind::Replay, Kind::Commit]).named("s3_request");
    let commit = is(&[Kind::Commit]);
    let moved_in = commit & tbe.kind.is(TbeKind::Evict);
    let searched = is(&[Kind::Req, Kind::Replay]) & look.hit & !look.blocked;
    let here = (searched | (commit & !moved_in)).named("s3_here");
    let known = here | is(&[Kind::Rvk, Kind::Ack]) | (valid & write_back & look.hit);
    let line = pipe.s3_line.get();
    let owners = owners_of(&p.bank.s, line).named("s3_owners");
    let owned = (look.owned & known.repeat(p.bank.s.words())).named("s3_owned");
    let taken = (op.req.mask & owned).named("s3_taken");
    let state = look.there.state;
    let by_sharers: Vec<Bool> = (0..p.bank.s.words())
        .map(|w| taken.bit(w) & owner(&p.bank.s, owners, w).zext(8).lt(u64::from(p.bank.s.sharers)))
        .collect();
    let shared = (here & state.is(LineState::S)) | any_of(&by_sharers);
    let latched = commit & tbe.kind.is(TbeKind::Phase1);
    let latched = if p.fault == LlcFault::UnlatchedPolicy { bool_lit(false) } else { latched };
    let asked = mux(latched, progress.ask, ask(p, &op.req, shared));
    Now {
        valid,
        look,
        line,
        owners,
        index,
        tbe,
        progress,
        request,
        moved_in,
        here,
        owned,
        taken,
        free: op.req.mask & !owned,
        ask: asked.named("s3_ask"),
        known: (),
        req: op.req,
        op,
    }
}

/// Sharers of the line's place.
fn sharers(p: &LlcParams, look: &Look) -> Bits {
    match p.sharers {
        SharerMode::Exact => look.sharers,
        SharerMode::Broadcast => {
            lit_bv(Bv::ones(p.sharing())) & look.there.state.is(LineState::S).repeat(p.sharing())
        }
    }
}

/// What has to be asked because of words of one state.
type Asks = Rows<NoState, Before>;

/// What phase 1 has to ask: sharers and words.
fn before(p: &LlcParams, n: &Now, (s, o): (&Asks, &Asks)) -> (Bits, Bits) {
    let everything = n.req.mask.all() & n.ask.is_any(&[Ask::ReqO, Ask::ReqOData]);
    let exempt = n.req.src.one_hot(p.sharing()) & everything.repeat(p.sharing());
    let inv = sharers(p, &n.look) & !exempt & s.does(Before::Inv).repeat(p.sharing());
    let whole = whole_owners(&p.bank.s, n.owners, n.owned, n.taken);
    let revoked = if p.rvko == RvkoGran::Line { whole } else { n.taken };
    let some = |action, words: Bits| words & o.does(action).repeat(p.bank.s.words());
    (inv, some(Before::Revoke, revoked) | some(Before::Downgrade, whole))
}

/// What waits at the place where a missing line could go.
fn frame(p: &LlcParams, n: &Now) -> Bits {
    let there = n.look.there;
    let shared = match p.sharers {
        SharerMode::Exact => n.look.sharers.any(),
        SharerMode::Broadcast => there.state.is(LineState::S),
    };
    let held = match p.fault {
        LlcFault::DropOwned => shared,
        _ => n.look.owned.any() | shared,
    };
    let pairs = [
        (n.moved_in & there.dirty, Frame::DirtyOut),
        (n.moved_in, Frame::CleanOut),
        (n.look.full, Frame::Full),
        (there.state.is(LineState::I), Frame::Empty),
        (held, Frame::Held),
        (there.dirty, Frame::Dirty),
    ];
    coded(&pairs, Frame::Clean).named("s3_frame")
}

/// What has come to a blocked line; meaningless for others.
fn event(n: &Now) -> (Bool, Bits) {
    let is = |kind| n.is(kind);
    let joins = (is(Kind::Req) | is(Kind::Replay)) & n.look.blocked;
    let answers = is(Kind::Rvk);
    let pairs = [
        (joins, Comes::Req),
        (is(Kind::Ack), Comes::Ack),
        (answers & n.op.nodata, Comes::NoData),
        (answers & n.op.kept, Comes::Kept),
        (answers, Comes::RvkO),
        (is(Kind::Wb), Comes::ReqWb),
        (is(Kind::Mem), Comes::Memory),
    ];
    let write_back = is(Kind::Wb) & n.look.blocked;
    let at = joins | is(Kind::Ack) | answers | write_back | is(Kind::Mem) | is(Kind::Commit);
    (at, coded(&pairs, Comes::Done).named("s3_event"))
}

/// Decides by the tables.
pub(super) fn decide(with: &Parts, n: &Now) -> Decision {
    let Parts { p, tbes, .. } = with;
    let request = n.ask.bits();
    let met = table::met(p);
    let word = |word: Word| lit(word.encoding(), 2);
    let shared = n.look.there.state.is(LineState::S);
    let first = n.here & !n.op.kind.is(Kind::Commit);
    let asked =
        |name, w, at| Rows::listed(&words::before(met).only(name, &[w]), at, request, (request, word(w)));
    let phases_s = asked("llc_phases_s", Word::S, first & shared & n.free.any());
    let phases_o = asked("llc_phases_o", Word::O, first & n.taken.any());
    let (inv, rv) = before(p, n, (&phases_s, &phases_o));
    let phase1 = (inv.any() | rv.any()).named("s3_phase1");
    let missing = n.request & !n.here & (n.moved_in | !n.look.blocked);
    let whole = n.req.mask.all() & n.ask.is_any(&[Ask::ReqO, Ask::ReqWt, Ask::ReqWtFwd]);
    let usage = coded(&[(whole, Use::Whole)], Use::Fetch);
    let frames = Rows::new(&table::frames(), missing, (usage, frame(p, n)));
    let fresh = (frames.does(Replace::Take) & whole).named("s3_fresh");
    let commits = ((n.here & !phase1) | fresh).named("s3_commits");
    let some = |words: Bits| commits & words.any();
    let rows = |name, w, at| Rows::new(&words::words(met).only(name, &[w]), at, (request, word(w)));
    let free = some(n.free);
    let commits_v = rows("llc_words_v", Word::V, free & (fresh | !shared));
    let commits_s = rows("llc_words_s", Word::S, free & !fresh & shared);
    let commits_o = rows("llc_words_o", Word::O, some(n.taken));
    let (at, event) = event(n);
    let holder = tbes.at(mux(n.op.kind.is_any(&[Kind::Req, Kind::Replay]), n.look.by, n.index)).kind;
    let blocked = Rows::new(&table::blocked(met.shares), at, (holder, event));
    let mine = (n.taken & words_of(&p.bank.s, n.owners, n.req.src)).named("s3_mine");
    let back = n.valid & n.op.kind.is(Kind::Wb);
    let names = ["llc_words_back", "llc_words_crossed"];
    Decision {
        write_backs: words::write_backs(met, names, (back, n.look.hit), (n.req.mask, mine)),
        joins: (frames.does(Replace::Join) | blocked.does(Progresses::Join)).named("s3_joins"),
        fetches: (frames.does(Replace::Take) & !whole).named("s3_fetches"),
        evicts: frames.does(Replace::Evict).named("s3_evicts"),
        commits_v,
        commits_s: Some(commits_s),
        commits_o,
        frames,
        blocked,
        commits,
        phase1,
        rv,
        mine,
        decided: Decided { fresh, inv },
    }
}

/// Sharers to ask, and words to revoke, before a line leaves its way.
pub(super) fn evicted(p: &LlcParams, look: &Look) -> (Bits, Bits) {
    (sharers(p, look), look.owned)
}
