//! Stage 3, the decision: what the operation is to its line, by the tables.

use super::params::{LlcFault, LlcParams, ReqsPolicy, RvkoGran, SharerMode};
use super::stages::{Parts, Stages};
use super::table::{self, Rows};
use super::tbes::Tbe;
use super::types::*;
use crate::msg::ReqOp;
use weft_rtl::prelude::*;

/// The operation in stage 3 with all that is known of it.
pub(super) struct Now {
    pub valid: Bool,
    pub op: Op,
    pub look: Look,
    /// The words of the line's place, and their owners.
    pub line: Bits,
    pub owners: Bits,
    /// TBE of the operation, and of a write-back the one that revokes words of its line.
    pub index: Bits,
    pub tbe: Tbe,
    pub progress: Progress,
    /// A request, from wherever.
    pub request: Bool,
    /// Its TBE has evicted a line for it.
    pub moved_in: Bool,
    /// Its line is here, and not blocked.
    pub here: Bool,
    pub state: Enum<LineState>,
    /// Owned words of the line, if it is here.
    pub owned: Bits,
    /// Words asked for that somebody owns, and that nobody does.
    pub taken: Bits,
    pub free: Bits,
    pub ask: Enum<Ask>,
}

/// What is done.
pub(super) struct Decision {
    pub commits_v: Rows,
    pub commits_s: Rows,
    pub commits_o: Rows,
    pub frames: Rows,
    pub blocked: Rows,
    pub write_backs: [Rows; 2],
    /// The request commits.
    pub commits: Bool,
    /// Into a way without a line.
    pub fresh: Bool,
    /// It begins with Inv or revocations.
    pub phase1: Bool,
    /// It joins a stall list.
    pub joins: Bool,
    /// It waits for memory.
    pub fetches: Bool,
    /// Another line is asked for first.
    pub evicts: Bool,
    /// Sharers to be asked.
    pub inv: Bits,
    /// Words to be revoked.
    pub rv: Bits,
    /// Words of a write-back that its sender owns.
    pub mine: Bits,
}

impl Decision {
    /// A row of the commit takes an action.
    pub fn does(&self, name: &'static str) -> Bool {
        self.commits_v.does(name) | self.commits_s.does(name) | self.commits_o.does(name)
    }
    /// Words that a write-back gives back.
    pub fn mine_taken(&self) -> Bits {
        self.mine & self.write_backs[0].does("take").repeat(self.mine.width())
    }
}

/// Owner of each word.
pub(crate) fn owners_of(p: &LlcParams, line: Bits) -> Bits {
    let (words, width) = (p.s.words(), p.s.data_bits() / p.s.words());
    let ids: Vec<Bits> = (0..words).map(|w| line.slice(width * w, p.s.dev_bits())).collect();
    pack(&ids)
}

/// Owner of a word.
pub(crate) fn owner(p: &LlcParams, owners: Bits, word: u32) -> Bits {
    owners.slice(word * p.s.dev_bits(), p.s.dev_bits())
}

/// Words of `owned` whose owner owns a word of `some`.
pub(crate) fn whole_owners(p: &LlcParams, owners: Bits, owned: Bits, some: Bits) -> Bits {
    let devs = p.s.devs();
    let none = lit_bv(Bv::zero(devs));
    let who = (0..p.s.words())
        .fold(none, |sum, w| sum | (owner(p, owners, w).one_hot(devs) & some.bit(w).repeat(devs)));
    let its: Vec<Bool> = (0..p.s.words()).map(|w| who.bit_at(owner(p, owners, w))).collect();
    pack_bools(&its) & owned
}

/// Words whose owner is a device.
pub(crate) fn words_of(p: &LlcParams, owners: Bits, dev: Bits) -> Bits {
    let its: Vec<Bool> = (0..p.s.words()).map(|w| owner(p, owners, w).eq(dev)).collect();
    pack_bools(&its)
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
    let Parts { p, tbes, .. } = with;
    let (valid, op, look) = (stages.s3_valid.get(), stages.s3.get(), stages.s3_look.get());
    let is = |kinds: &[Kind]| valid & op.kind.is_any(kinds);
    let write_back = op.kind.is(Kind::Wb);
    let index = mux(write_back, look.by, op.tbe);
    let (tbe, progress) = (tbes.at(index), tbes.progress(index));
    let request = is(&[Kind::Req, Kind::Replay, Kind::Commit]).named("s3_request");
    let commit = is(&[Kind::Commit]);
    let moved_in = commit & tbe.kind.is(TbeKind::Evict);
    let searched = is(&[Kind::Req, Kind::Replay]) & look.hit & !look.blocked;
    let here = (searched | (commit & !moved_in)).named("s3_here");
    let known = here | is(&[Kind::Rvk, Kind::Ack]) | (valid & write_back & look.hit);
    let line = stages.s3_line.get();
    let owners = owners_of(p, line).named("s3_owners");
    let owned = (look.owned & known.repeat(p.s.words())).named("s3_owned");
    let taken = (op.req.mask & owned).named("s3_taken");
    let state = look.there.state;
    let by_sharers: Vec<Bool> = (0..p.s.words())
        .map(|w| taken.bit(w) & owner(p, owners, w).zext(8).lt(u64::from(p.s.sharers)))
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
        state,
        owned,
        taken,
        free: op.req.mask & !owned,
        ask: asked.named("s3_ask"),
        op,
    }
}

/// Position of the first name whose condition holds, else of `rest`.
pub(crate) fn coded(names: &[&'static str], pairs: &[(Bool, &str)], rest: &str) -> Bits {
    let width = bits_for(names.len() as u64);
    let value = |name: &str| lit(names.iter().position(|n| *n == name).map_or(0, |i| i as u64), width);
    pairs.iter().rev().fold(value(rest), |so_far, (now, name)| mux(*now, value(name), so_far))
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

/// What phase 1 has to ask: sharers and words.
fn before(p: &LlcParams, n: &Now, (s, o): (&Rows, &Rows)) -> (Bits, Bits) {
    let everything = n.op.req.mask.all() & n.ask.is_any(&[Ask::ReqO, Ask::ReqOData]);
    let exempt = n.op.req.src.one_hot(p.sharing()) & everything.repeat(p.sharing());
    let inv = sharers(p, &n.look) & !exempt & s.does("inv").repeat(p.sharing());
    let whole = whole_owners(p, n.owners, n.owned, n.taken);
    let revoked = if p.rvko == RvkoGran::Line { whole } else { n.taken };
    let some = |rows: &Rows, name, words: Bits| words & rows.does(name).repeat(p.s.words());
    (inv, some(o, "revoke", revoked) | some(o, "downgrade", whole))
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
        (n.moved_in & there.dirty, "dirty_out"),
        (n.moved_in, "clean_out"),
        (n.look.full, "full"),
        (there.state.is(LineState::I), "empty"),
        (held, "held"),
        (there.dirty, "dirty"),
    ];
    coded(&table::FRAMES, &pairs, "clean").named("s3_frame")
}

/// What has come to a blocked line; meaningless for others.
fn event(n: &Now) -> (Bool, Bits) {
    let is = |kind| n.valid & n.op.kind.is(kind);
    let joins = (is(Kind::Req) | is(Kind::Replay)) & n.look.blocked;
    let answers = is(Kind::Rvk);
    let pairs = [
        (joins, "Req"),
        (is(Kind::Ack), "Ack"),
        (answers & n.op.nodata, "NoData"),
        (answers & n.op.kept, "Kept"),
        (answers, "RvkO"),
        (is(Kind::Wb), "ReqWB"),
        (is(Kind::Mem), "Memory"),
    ];
    let write_back = is(Kind::Wb) & n.look.blocked;
    let at = joins | is(Kind::Ack) | answers | write_back | is(Kind::Mem) | is(Kind::Commit);
    (at, coded(&table::EVENTS, &pairs, "Done").named("s3_event"))
}

/// Decides by the tables.
pub(super) fn decide(with: &Parts, n: &Now) -> Decision {
    let Parts { p, tbes, .. } = with;
    let request = n.ask.bits();
    let word = |w: &str| coded(&table::WORDS, &[], w);
    let shared = n.state.is(LineState::S);
    let first = n.here & !n.op.kind.is(Kind::Commit);
    let asked = |w, at| Rows::listed(&table::phases(p, w), at, &[request, word(w)]);
    let phases_s = asked("S", first & shared & n.free.any());
    let phases_o = asked("O", first & n.taken.any());
    let (inv, rv) = before(p, n, (&phases_s, &phases_o));
    let phase1 = (inv.any() | rv.any()).named("s3_phase1");
    let missing = n.request & !n.here & (n.moved_in | !n.look.blocked);
    let whole = n.op.req.mask.all() & n.ask.is_any(&[Ask::ReqO, Ask::ReqWt, Ask::ReqWtFwd]);
    let usage = coded(&table::USES, &[(whole, "whole")], "fetch");
    let frames = Rows::new(&table::frames(), missing, &[usage, frame(p, n)]);
    let fresh = (frames.does("take") & whole).named("s3_fresh");
    let commits = ((n.here & !phase1) | fresh).named("s3_commits");
    let some = |words: Bits| commits & words.any();
    let rows = |w, at| Rows::new(&table::commits(p, w), at, &[request, word(w)]);
    let free = some(n.free);
    let commits_v = rows("V", free & (fresh | !shared));
    let commits_s = rows("S", free & !fresh & shared);
    let commits_o = rows("O", some(n.taken));
    let (at, event) = event(n);
    let holder = tbes.at(mux(n.op.kind.is_any(&[Kind::Req, Kind::Replay]), n.look.by, n.index)).kind;
    let blocked = Rows::new(&table::blocked(p), at, &[holder.bits(), event]);
    let mine = (n.taken & words_of(p, n.owners, n.op.req.src)).named("s3_mine");
    let back = n.valid & n.op.kind.is(Kind::Wb);
    Decision {
        write_backs: write_backs(n, back, mine),
        joins: (frames.does("join") | blocked.does("join")).named("s3_joins"),
        fetches: (frames.does("take") & !whole).named("s3_fetches"),
        evicts: frames.does("evict").named("s3_evicts"),
        commits_v,
        commits_s,
        commits_o,
        frames,
        blocked,
        commits,
        fresh,
        phase1,
        inv,
        rv,
        mine,
    }
}

/// Rows of a write-back: for the words that its sender owns, and for the others.
fn write_backs(n: &Now, back: Bool, mine: Bits) -> [Rows; 2] {
    let others = back & (n.op.req.mask & !mine).any();
    let rest = mux(n.look.hit, lit(1, 2), lit(2, 2));
    let [taken, dropped] = table::write_backs();
    [
        Rows::new(&taken, back & mine.any(), &[lit(0, 1), lit(0, 2)]),
        Rows::new(&dropped, others, &[lit(0, 1), rest]),
    ]
}

/// Sharers to ask, and words to revoke, before a line leaves its way.
pub(super) fn evicted(p: &LlcParams, look: &Look) -> (Bits, Bits) {
    (sharers(p, look), look.owned)
}
