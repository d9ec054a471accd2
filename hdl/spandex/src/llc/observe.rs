//! Assertions, races and counters of a bank (spandex.md sections 4.1 and 13).

use super::stages::Stages;
use super::table::{self, Replace};
use super::types::*;
use crate::bank::entries::of;
use crate::bank::observe::{self, blocked, one_way, outputs, waits};
use crate::bank::observe_words;
use crate::bank::pipeline::Entered;
use crate::bank::words::{self, Commit, Word};
use crate::msg::{FwdOp, ReqOp, RspOp};
use weft_rtl::prelude::*;

/// What observers look at.
pub(super) type Seen<'a> = observe_words::Seen<'a, Llc, Stages, Entered>;

/// Declares all observers.
pub(super) fn connect(seen: &Seen) {
    messages(seen);
    lines(seen);
    answers(seen);
    seen.words(&own(seen));
    write_back_races(seen);
    request_races(seen);
    mixtures(seen);
    list_races(seen);
    requests(seen);
    traffic(seen);
    waiting(seen);
}

fn messages(seen: &Seen) {
    let (p, st) = (seen.act.with.p, &seen.stages.from);
    let home = |line: Bits| p.bank.is_home(line, seen.act.with.own);
    let (req, rsp) = (&st.req.msg, &st.rsp.msg);
    observe_words::messages(("llc", &p.bank.s, seen.act.with.own), home, (&st.req, &st.wb, &st.rsp));
    let shares = req.src.zext(8).lt(u64::from(p.bank.s.sharers));
    let reqs = st.req.valid & req.op.is(ReqOp::ReqS);
    seen.assert("reqs_from_sharer", !reqs | shares, "ReqS comes from devices that may hold S");
    let comes = rsp.op.is_any(&[RspOp::Ack, RspOp::RspRvkO]);
    let device = rsp.src.zext(8).lt(u64::from(p.bank.s.devs()));
    let text = "a bank gets Ack and RspRvkO of devices, no other answer";
    seen.assert("rsp_sound", !st.rsp.valid | (comes & device), text);
}

fn lines(seen: &Seen) {
    let (n, d, done) = seen.step();
    one_way("llc", seen.entered.1, seen.stages.pipe.s1_valid.get());
    let looked = n.valid & !n.is(Kind::Mem);
    let clean = |state: Enum<LineState>, owned: Bits, sharers: Bits| {
        let empty = owned.none() & sharers.none();
        (!state.is(LineState::I) | empty) & (!state.is(LineState::V) | sharers.none())
    };
    let before = clean(n.look.there.state, n.look.owned, n.look.sharers);
    let text = "I has no owners and no sharers, V no sharers";
    seen.assert("state_found", !looked | before, text);
    let after = clean(done.place.there.state, done.place.owned, done.place.sharers);
    seen.assert("state_left", !(n.valid & d.commits) | after, text);
    let waits = d.decided.inv.any() | d.rv.any() | d.evicts | !d.phase1;
    seen.assert("phase_waits", waits, "phase 1 waits for somebody");
}

fn answers(seen: &Seen) {
    let (n, parts) = (seen.act.n, seen.act.with);
    let p = parts.p;
    let (tbes, rsp) = (parts.tbes, n.is(Kind::Ack) | n.is(Kind::Rvk));
    let holds = tbes.entries.valid().bit_at(n.index) & n.tbe.line.eq(n.req.line);
    seen.assert("rsp_has_tbe", !rsp | holds, "an answer finds its TBE");
    let bit = n.progress.ack.bit_at(n.req.src);
    seen.assert("ack_expected", !n.is(Kind::Ack) | bit, "an Ack is expected of its sender");
    let sharer = n.req.src.zext(8).lt(u64::from(p.bank.s.sharers)) & !n.op.nodata;
    let kept = n.is(Kind::Rvk) & n.op.kept;
    seen.assert("kept_by_sharer", !kept | sharer, "only a device that may hold S keeps words in S");
    let fill = tbes.entries.valid().bit_at(n.index)
        & !tbes.entries.ready().bit_at(n.index)
        & n.tbe.kind.is(TbeKind::Fill);
    let text = "memory answers once, and only what it was asked";
    seen.assert("memory_expected", !n.is(Kind::Mem) | fill, text);
}

/// What is seen in this bank's own records.
fn own(seen: &Seen) -> observe_words::Own {
    let n = seen.act.n;
    observe_words::Own {
        looked: n.valid & !n.is(Kind::Mem),
        asked: seen.act.with.tbes.owners.read(n.index),
        rvk: n.is(Kind::Rvk),
        nodata: n.op.nodata,
        sends: n.tbe.sends,
    }
}

fn write_back_races(seen: &Seen) {
    let (n, d, revoked) = (seen.act.n, seen.act.d, seen.revoked());
    let todo = of(&seen.act.with.tbes.todo_rv, n.index);
    seen.race("wb_before_rvko_leaves", (revoked & todo).any(), "it comes before the revocation has left");
    let phase1 = n.tbe.kind.is(TbeKind::Phase1) & n.look.blocked;
    let beside = d.mine_taken().any() & revoked.none() & phase1;
    seen.race("wb_beside_phase1", beside, "words come back to a blocked line that does not revoke them");
}

fn request_races(seen: &Seen) {
    let (n, d, _) = seen.step();
    if table::met(seen.act.with.p).shares {
        seen.race("inv_and_rvko", d.decided.inv.any() & d.rv.any(), "phase 1 asks sharers and owners");
        let own = d.decided.inv.bit_at(n.req.src);
        seen.race("inv_to_requestor", d.phase1 & own, "a requestor of single words has the line in S");
        let shares = n.look.sharers.bit_at(n.req.src);
        let upgrade = d.phase1 & shares & !own & d.decided.inv.any();
        seen.race("upgrade", upgrade, "a sharer of the line asks for all of it: the others are invalidated");
        let commit = n.op.kind.is(Kind::Commit) & d.commits;
        let latched = commit & n.ask.is(Ask::ReqS1) & n.look.there.state.is(LineState::V);
        seen.race("policy_latched", latched, "what was revoked decided how a ReqS is answered");
        let beside = d.does_s(Commit::Unshare) & n.owned.any() & !n.req.mask.all();
        seen.race("owned_in_shared", beside, "a shared line with owned words is written");
        let evicts = d.evicts & n.look.sharers.any();
        seen.race("evict_shared", evicts & n.look.owned.none(), "a line with sharers is replaced");
        seen.race(
            "evict_both",
            evicts & n.look.owned.any(),
            "a line with sharers and owned words is replaced",
        );
    }
    seen.race("evict_owned", d.evicts & n.look.owned.any(), "a line with owned words is replaced");
    let more = d.fetches & n.op.kind.is(Kind::Commit);
    seen.race("evict_then_fill", more, "the request for which a line was replaced reads its own");
}

/// Requests of several words in different states, by kind and states: each word goes by a row of its own, in one step.
fn mixtures(seen: &Seen) {
    let (n, d, _) = seen.step();
    let both = n.here & (d.commits | d.phase1) & n.taken.any() & n.free.any();
    let both = both.named("s3_mixed");
    for row in words::words(table::met(seen.act.with.p)).rows() {
        let Some((request, word)) = row_name(&row.id).split_once('.') else { continue };
        if word == Word::O.label() {
            continue;
        }
        let asked = n.ask.bits().eq(row.when[0][0]);
        let there = n.look.there.state.is(LineState::S).eq(bool_lit(word == Word::S.label()));
        let text = format!("of the words of a {request} some are owned, the others {word}");
        seen.race(&format!("mixed_{request}_{word}"), both & asked & there, &text);
    }
}

/// A row's identifier without the bank.
fn row_name(id: &str) -> &str {
    id.trim_start_matches("spandex.llc.")
}

fn list_races(seen: &Seen) {
    let (n, d, _) = seen.step();
    let replay = n.is(Kind::Replay);
    let blocks = d.phase1 | d.evicts | d.fetches;
    seen.stalled_races(replay, blocks, n.is(Kind::Req));
    let full = d.frames.does(Replace::Join);
    observe::list_races("llc", &n.tbe.list, replay, blocks, d.joins, full);
    let other = n.look.blocked & d.joins & n.is(Kind::Req);
    let coming = seen.act.with.tbes.at(n.look.by).line.ne(n.req.line);
    seen.race("joins_coming", other & coming, "its line is to come when another has been replaced");
}

fn requests(seen: &Seen) {
    let (n, d, _) = seen.step();
    seen.requests(table::met(seen.act.with.p));
    seen.count("ReqWB", n.is(Kind::Wb), "write-backs");
    seen.count("fills", n.is(Kind::Mem), "lines that came from memory");
    seen.count("entered", seen.entered.0.req, "requests that entered the pipeline");
    seen.count("phase1", d.phase1, "requests that had to wait for others");
    seen.count("writes", d.frames.does(Replace::Write), "lines written to memory");
}

fn traffic(seen: &Seen) {
    let (n, d, _) = seen.step();
    let sending = &seen.sending;
    let of_commits = [FwdOp::ReqV, FwdOp::ReqS, FwdOp::ReqO, FwdOp::ReqOData, FwdOp::ReqWt];
    let texts = ["forwards sent", "messages of phases 1 and evictions sent"];
    seen.traffic(&of_commits, texts, n.is(Kind::Replay));
    seen.count("inv", sending.any & sending.msg.op.is(FwdOp::Inv), "Inv sent");
    let shared = d.evicts & n.look.there.state.is(LineState::S);
    seen.count("evict_shared", shared, "lines with sharers replaced");
}

fn waiting(seen: &Seen) {
    let (tbes, outs) = (seen.act.with.tbes, seen.act.with.outs);
    let of = |kind| tbes.entries.of_kinds(&[kind]);
    let lines = [
        ("fill", of(TbeKind::Fill), "cycles of lines blocked for memory, summed"),
        ("phase1", of(TbeKind::Phase1), "cycles of lines blocked for sharers and owners, summed"),
        ("evict", of(TbeKind::Evict), "cycles of lines blocked to be replaced, summed"),
        ("list", of(TbeKind::List), "cycles of lines blocked while their lists replay, summed"),
    ];
    blocked("llc", &lines);
    waits("llc", tbes.lists.stalled(), &seen.entered.0, "write-back");
    let [rsp, fwd] = outs.up.waits();
    outputs("llc", &[rsp, fwd, ("mem", outs.orders.waits(), "an order waits for memory")]);
}
