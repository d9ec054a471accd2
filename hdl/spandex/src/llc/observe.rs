//! Assertions, races and counters of a bank (spandex.md sections 4.1 and 13).

use super::act::Done;
use super::decide::{Decision, Now};
use super::params::{LlcParams, ReqsPolicy};
use super::stages::{Parts, Stages};
use super::table::{self, Progresses, Replace};
use super::types::*;
use crate::bank::entries::of;
use crate::bank::observe::{self, blocked, one_way, outputs, waits};
use crate::bank::observe_words;
use crate::bank::pipeline::Entered;
use crate::bank::upward::Sending;
use crate::bank::words::{self, Commit, Return, Word};
use crate::msg::{FwdOp, ReqOp, RspOp};
use weft_rtl::prelude::*;

/// What observers look at.
pub(super) struct Seen<'a> {
    pub parts: &'a Parts<'a>,
    pub stages: &'a Stages,
    pub entered: &'a (Entered, Bits),
    pub n: &'a Now,
    pub d: &'a Decision,
    pub done: &'a Done,
    pub sending: &'a Sending,
}

/// Declares all observers.
pub(super) fn connect(seen: &Seen) {
    messages(seen);
    lines(seen);
    answers(seen);
    let words = of_words(seen);
    words.connect();
    write_back_races(seen, &words);
    request_races(seen);
    mixtures(seen);
    list_races(seen);
    requests(seen);
    traffic(seen);
    waiting(seen);
}

impl Seen<'_> {
    fn p(&self) -> &LlcParams {
        self.parts.p
    }
    fn is(&self, kind: Kind) -> Bool {
        self.n.valid & self.n.op.kind.is(kind)
    }
    /// A sharer can exist.
    fn shares(&self) -> bool {
        self.p().s.sharers > 0 && matches!(self.p().reqs, ReqsPolicy::Opt1 | ReqsPolicy::Eval)
    }
}

fn messages(seen: &Seen) {
    let (p, st) = (seen.p(), &seen.stages.from);
    let home = |line: Bits| p.bank().is_home(line, seen.parts.own);
    let (req, rsp) = (&st.req.msg, &st.rsp.msg);
    observe_words::messages(("llc", &p.s, seen.parts.own), home, (&st.req, &st.wb, &st.rsp));
    let shares = req.src.zext(8).lt(u64::from(p.s.sharers));
    let reqs = st.req.valid & req.op.is(ReqOp::ReqS);
    assert_always("llc_reqs_from_sharer", !reqs | shares, "ReqS comes from devices that may hold S");
    let comes = rsp.op.is_any(&[RspOp::Ack, RspOp::RspRvkO]);
    let device = rsp.src.zext(8).lt(u64::from(p.s.devs()));
    let text = "a bank gets Ack and RspRvkO of devices, no other answer";
    assert_always("llc_rsp_sound", !st.rsp.valid | (comes & device), text);
}

fn lines(seen: &Seen) {
    let (n, d, done) = (seen.n, seen.d, seen.done);
    one_way("llc", seen.entered.1, seen.stages.pipe.s1_valid.get());
    let looked = n.valid & !seen.is(Kind::Mem);
    let clean = |state: Enum<LineState>, owned: Bits, sharers: Bits| {
        let empty = owned.none() & sharers.none();
        (!state.is(LineState::I) | empty) & (!state.is(LineState::V) | sharers.none())
    };
    let before = clean(n.look.there.state, n.look.owned, n.look.sharers);
    let text = "I has no owners and no sharers, V no sharers";
    assert_always("llc_state_found", !looked | before, text);
    let after = clean(done.place.there.state, done.place.owned, done.place.sharers);
    assert_always("llc_state_left", !(n.valid & d.commits) | after, text);
    let waits = d.inv.any() | d.rv.any() | d.evicts | !d.phase1;
    assert_always("llc_phase_waits", waits, "phase 1 waits for somebody");
}

fn answers(seen: &Seen) {
    let (n, parts) = (seen.n, seen.parts);
    let p = seen.p();
    let (tbes, rsp) = (parts.tbes, seen.is(Kind::Ack) | seen.is(Kind::Rvk));
    let holds = tbes.entries.valid().bit_at(n.index) & n.tbe.line.eq(n.op.req.line);
    assert_always("llc_rsp_has_tbe", !rsp | holds, "an answer finds its TBE");
    let bit = n.progress.ack.bit_at(n.op.req.src);
    assert_always("llc_ack_expected", !seen.is(Kind::Ack) | bit, "an Ack is expected of its sender");
    let sharer = n.op.req.src.zext(8).lt(u64::from(p.s.sharers)) & !n.op.nodata;
    let kept = seen.is(Kind::Rvk) & n.op.kept;
    assert_always("llc_kept_by_sharer", !kept | sharer, "only a device that may hold S keeps words in S");
    let fill = tbes.entries.valid().bit_at(n.index)
        & !tbes.entries.ready().bit_at(n.index)
        & n.tbe.kind.is(TbeKind::Fill);
    let text = "memory answers once, and only what it was asked";
    assert_always("llc_memory_expected", !seen.is(Kind::Mem) | fill, text);
}

fn race(name: &str, cond: Bool, text: &str) {
    observe::race("llc", name, cond, text);
}

/// What is observed of words in every bank whose words devices own.
fn of_words<'a>(seen: &Seen<'a>) -> observe_words::Seen<'a> {
    let (n, d, done) = (seen.n, seen.d, seen.done);
    let Now { valid, look, here, owners, owned, taken, free, progress, .. } = *n;
    observe_words::Seen {
        bank: "llc",
        s: &seen.parts.p.s,
        req: n.op.req,
        hit: look.hit,
        blocked: look.blocked,
        looked: valid & !seen.is(Kind::Mem),
        here,
        commits: d.commits,
        owners,
        there: look.owned,
        owned,
        taken,
        free,
        rvm: progress.rvm,
        rv: progress.rv,
        asked: seen.parts.tbes.owners(n.index),
        rvk: seen.is(Kind::Rvk),
        stores: d.blocked.does(Progresses::Store),
        nodata: valid & d.blocked.does(Progresses::Back) & n.op.nodata,
        mine: d.mine_taken(),
        crosses: d.write_backs[1].does(Return::Cross),
        complete: done.complete,
        sends: n.tbe.sends,
        by_write_back: done.by_write_back,
    }
}

fn write_back_races(seen: &Seen, words: &observe_words::Seen) {
    let (n, d, revoked) = (seen.n, seen.d, words.revoked());
    let todo = of(&seen.parts.tbes.todo_rv, n.index);
    race("wb_before_rvko_leaves", (revoked & todo).any(), "it comes before the revocation has left");
    let phase1 = n.tbe.kind.is(TbeKind::Phase1) & n.look.blocked;
    let beside = d.mine_taken().any() & revoked.none() & phase1;
    race("wb_beside_phase1", beside, "words come back to a blocked line that does not revoke them");
}

fn request_races(seen: &Seen) {
    let (n, d) = (seen.n, seen.d);
    if seen.shares() {
        race("inv_and_rvko", d.inv.any() & d.rv.any(), "phase 1 asks sharers and owners");
        let own = d.inv.bit_at(n.op.req.src);
        race("inv_to_requestor", d.phase1 & own, "a requestor of single words has the line in S");
        let shares = n.look.sharers.bit_at(n.op.req.src);
        let upgrade = d.phase1 & shares & !own & d.inv.any();
        race("upgrade", upgrade, "a sharer of the line asks for all of it: the others are invalidated");
        let commit = n.op.kind.is(Kind::Commit) & d.commits;
        let latched = commit & n.ask.is(Ask::ReqS1) & n.state.is(LineState::V);
        race("policy_latched", latched, "what was revoked decided how a ReqS is answered");
        let beside = d.commits_s.does(Commit::Unshare) & n.owned.any() & !n.op.req.mask.all();
        race("owned_in_shared", beside, "a shared line with owned words is written");
        let evicts = d.evicts & n.look.sharers.any();
        race("evict_shared", evicts & n.look.owned.none(), "a line with sharers is replaced");
        race("evict_both", evicts & n.look.owned.any(), "a line with sharers and owned words is replaced");
    }
    race("evict_owned", d.evicts & n.look.owned.any(), "a line with owned words is replaced");
    let more = d.fetches & n.op.kind.is(Kind::Commit);
    race("evict_then_fill", more, "the request for which a line was replaced reads its own");
}

/// Requests of several words in different states, by kind and states: each word goes by a row of its own, in one step.
fn mixtures(seen: &Seen) {
    let (n, d) = (seen.n, seen.d);
    let both = n.here & (d.commits | d.phase1) & n.taken.any() & n.free.any();
    let both = both.named("s3_mixed");
    for row in words::words(table::met(seen.p())).rows() {
        let Some((request, word)) = row_name(&row.id).split_once('.') else { continue };
        if word == Word::O.label() {
            continue;
        }
        let asked = n.ask.bits().eq(row.when[0][0]);
        let there = n.state.is(LineState::S).eq(bool_lit(word == Word::S.label()));
        let text = format!("of the words of a {request} some are owned, the others {word}");
        race(&format!("mixed_{request}_{word}"), both & asked & there, &text);
    }
}

/// A row's identifier without the bank.
fn row_name(id: &str) -> &str {
    id.trim_start_matches("spandex.llc.")
}

fn list_races(seen: &Seen) {
    let (n, d) = (seen.n, seen.d);
    let replay = seen.is(Kind::Replay);
    let blocks = d.phase1 | d.evicts | d.fetches;
    race("replay", replay & d.commits, "a stalled request commits");
    race("replay_blocks", replay & blocks, "a stalled request blocks again");
    let full = d.frames.does(Replace::Join);
    observe::list_races("llc", &n.tbe.list, replay, blocks, d.joins, full);
    race("joins_list", d.joins & seen.is(Kind::Req) & n.look.blocked, "a request finds its line blocked");
    let other = n.look.blocked & d.joins & seen.is(Kind::Req);
    let coming = seen.parts.tbes.at(n.look.by).line.ne(n.op.req.line);
    race("joins_coming", other & coming, "its line is to come when another has been replaced");
}

/// Requests by type and word state.
fn requests(seen: &Seen) {
    let d = seen.d;
    let table = words::words(table::met(seen.p()));
    for (word, rows) in [(Word::V, &d.commits_v), (Word::S, &d.commits_s), (Word::O, &d.commits_o)] {
        for row in table.rows().iter().filter(|row| row.when[1] == [word.encoding()]) {
            let name = row_name(&row.id).replace('.', "_");
            let text = format!("requests with such words: {}", row.why);
            count(&format!("llc_{name}"), rows.row(&row.id), &text);
        }
    }
    count("llc_ReqWB", seen.is(Kind::Wb), "write-backs");
    count("llc_fills", seen.is(Kind::Mem), "lines that came from memory");
    count("llc_entered", seen.entered.0.req, "requests that entered the pipeline");
    count("llc_phase1", d.phase1, "requests that had to wait for others");
    count("llc_writes", d.frames.does(Replace::Write), "lines written to memory");
}

fn traffic(seen: &Seen) {
    let (n, d, sending) = (seen.n, seen.d, seen.sending);
    let of_commits = [FwdOp::ReqV, FwdOp::ReqS, FwdOp::ReqO, FwdOp::ReqOData, FwdOp::ReqWt];
    let texts = ["forwards sent", "messages of phases 1 and evictions sent"];
    observe_words::traffic("llc", sending, &of_commits, texts);
    count("llc_inv", sending.any & sending.msg.op.is(FwdOp::Inv), "Inv sent");
    count("llc_answers", seen.done.answers, "answers to requests");
    let crossed = seen.done.crossed.any();
    count("llc_crossed", crossed, "RspWB with crossed words");
    count("llc_evict_owned", d.evicts & n.look.owned.any(), "lines with owned words replaced");
    count("llc_evict_shared", d.evicts & n.look.there.state.is(LineState::S), "lines with sharers replaced");
    count("llc_joined", d.joins, "requests that joined a stall list");
    count("llc_replayed", seen.is(Kind::Replay), "requests of a stall list that were tried again");
}

fn waiting(seen: &Seen) {
    let Parts { tbes, outs, .. } = seen.parts;
    let of = |kind| tbes.entries.of_kinds(&[kind]);
    let lines = [
        ("fill", of(TbeKind::Fill), "cycles of lines blocked for memory, summed"),
        ("phase1", of(TbeKind::Phase1), "cycles of lines blocked for sharers and owners, summed"),
        ("evict", of(TbeKind::Evict), "cycles of lines blocked to be replaced, summed"),
        ("list", of(TbeKind::List), "cycles of lines blocked while their lists replay, summed"),
    ];
    blocked("llc", &lines);
    waits("llc", tbes.lists.stalled(), &seen.entered.0, "write-back");
    let channels = [
        ("rsp", outs.up.answers.waits(), "an answer waits for its channel"),
        ("fwd", outs.up.fwd_waits(), "a forward waits for its channel"),
        ("mem", outs.orders.waits(), "an order waits for memory"),
    ];
    outputs("llc", &channels);
}
