//! Assertions, races and counters of a bank (spandex.md sections 4.1 and 13).

use super::act::Done;
use super::decide::{Decision, Now, words_of};
use super::params::{LlcParams, ReqsPolicy};
use super::stages::{Entered, Parts, Stages};
use super::table::{self, Progresses, Replace};
use super::types::*;
use super::upward::Sending;
use super::words::{self, Commit, Return, Word};
use crate::msg::{FwdOp, ReqOp, RspOp, WordOp};
use weft_rtl::prelude::*;

/// What observers look at.
pub(super) struct Seen<'a> {
    pub parts: &'a Parts<'a>,
    pub stages: &'a Stages,
    pub entered: &'a Entered,
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
    write_back_races(seen);
    request_races(seen);
    mixtures(seen);
    list_races(seen);
    requests(seen);
    traffic(seen);
    waits(seen);
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
    let (p, st) = (seen.p(), seen.stages);
    let home = |line: Bits| match p.s.bank_select() {
        0 => bool_lit(true),
        bits => line.slice(0, bits).eq(p.bank_of(seen.parts.own)),
    };
    let known = |src: Bits| src.zext(8).lt(u64::from(p.s.devs()));
    let good = |line: Bits, mask: Bits, src: Bits| home(line) & mask.any() & known(src);
    let (req, wb, rsp) = (&st.req.msg, &st.wb.msg, &st.rsp.msg);
    let text = "a request names a word of this bank and a device";
    assert_always("llc_req_sound", !st.req.valid | good(req.line, req.mask, req.src), text);
    let text = "a write-back names a word of this bank and a device";
    assert_always("llc_wb_sound", !st.wb.valid | good(wb.line, wb.mask, wb.src), text);
    let here = req.dst.eq(seen.parts.own) | !st.req.valid;
    let here = here & (wb.dst.eq(seen.parts.own) | !st.wb.valid);
    let here = here & (rsp.dst.eq(seen.parts.own) | !st.rsp.valid);
    assert_always("llc_own_messages", here, "a message comes to the bank that it is for");
    unused_input(&rsp.extra);
    unused_input(&rsp.direct);
    let shares = req.src.zext(8).lt(u64::from(p.s.sharers));
    let reqs = st.req.valid & req.op.is(ReqOp::ReqS);
    assert_always("llc_reqs_from_sharer", !reqs | shares, "ReqS comes from devices that may hold S");
    let cas = st.req.valid & req.op.is(ReqOp::ReqWtData) & req.amo.is(WordOp::Cas);
    assert_always("llc_cas_one_word", !cas | req.mask.popcount().eq(1), "CAS is of one word only");
    let comes = rsp.op.is_any(&[RspOp::Ack, RspOp::RspRvkO]);
    let device = rsp.src.zext(8).lt(u64::from(p.s.devs()));
    let text = "a bank gets Ack and RspRvkO of devices, no other answer";
    assert_always("llc_rsp_sound", !st.rsp.valid | (comes & device), text);
}

fn lines(seen: &Seen) {
    let (n, d, done) = (seen.n, seen.d, seen.done);
    let p = seen.p();
    let one = seen.entered.matches.popcount().le(1) | !seen.stages.s1_valid.get();
    assert_always("llc_one_way_per_line", one, "a line is in one way at most");
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
    let sound: Vec<Bool> = (0..p.s.words())
        .map(|w| {
            let owner = n.owners.slice(w * p.s.dev_bits(), p.s.dev_bits());
            !n.owned.bit(w) | owner.zext(8).lt(u64::from(p.s.devs()))
        })
        .collect();
    assert_always("llc_owner_is_device", !looked | all_of(&sound), "an owner is a device");
    let own = (n.taken & words_of(p, n.owners, n.op.req.src)).none();
    let text = "no request comes from a word's owner (R1)";
    assert_always("llc_not_from_owner", !n.here | own, text);
    let waits = d.inv.any() | d.rv.any() | d.evicts | !d.phase1;
    assert_always("llc_phase_waits", waits, "phase 1 waits for somebody");
}

fn answers(seen: &Seen) {
    let (n, d, parts) = (seen.n, seen.d, seen.parts);
    let p = seen.p();
    let (tbes, rsp) = (parts.tbes, seen.is(Kind::Ack) | seen.is(Kind::Rvk));
    let holds = tbes.valid().bit_at(n.index) & n.tbe.line.eq(n.op.req.line);
    assert_always("llc_rsp_has_tbe", !rsp | holds, "an answer finds its TBE");
    let bit = n.progress.ack.bit_at(n.op.req.src);
    assert_always("llc_ack_expected", !seen.is(Kind::Ack) | bit, "an Ack is expected of its sender");
    let its = words_of(p, tbes.owners(n.index), n.op.req.src);
    let asked = (n.op.req.mask & !(n.progress.rv & its)).none() & n.op.req.mask.any();
    let text = "RspRvkO brings words that its sender has been asked for";
    assert_always("llc_rvko_expected", !seen.is(Kind::Rvk) | asked, text);
    let owned = (n.op.req.mask & !n.look.owned).none();
    let text = "words that come back with data have not come back before";
    assert_always("llc_rvko_once", !d.blocked.does(Progresses::Store) | owned, text);
    let sharer = n.op.req.src.zext(8).lt(u64::from(p.s.sharers)) & !n.op.nodata;
    let kept = seen.is(Kind::Rvk) & n.op.kept;
    assert_always("llc_kept_by_sharer", !kept | sharer, "only a device that may hold S keeps words in S");
    let fill = tbes.valid().bit_at(n.index) & !tbes.ready().bit_at(n.index) & n.tbe.kind.is(TbeKind::Fill);
    let text = "memory answers once, and only what it was asked";
    assert_always("llc_memory_expected", !seen.is(Kind::Mem) | fill, text);
    let ends = seen.done.complete & n.tbe.sends;
    assert_always("llc_all_sent", !ends, "what is answered has been sent");
}

fn race(name: &str, cond: Bool, text: &str) {
    cover(&format!("spandex.race.llc_{name}"), cond, text);
}

fn write_back_races(seen: &Seen) {
    let (n, d, done) = (seen.n, seen.d, seen.done);
    let revoked = d.mine_taken() & n.progress.rvm & n.look.blocked.repeat(n.owned.width());
    race("wb_crosses_rvko", revoked.any(), "a write-back crosses the revocation of its words");
    let todo = select(&seen.parts.tbes.todo_rv.iter().map(|r| r.get()).collect::<Vec<_>>(), n.index);
    race("wb_before_rvko_leaves", (revoked & todo).any(), "it comes before the revocation has left");
    race("wb_last", done.by_write_back, "a write-back is the last thing that a TBE waits for");
    let phase1 = n.tbe.kind.is(TbeKind::Phase1) & n.look.blocked;
    let beside = d.mine_taken().any() & revoked.none() & phase1;
    race("wb_beside_phase1", beside, "words come back to a blocked line that does not revoke them");
    race(
        "wb_stale",
        d.write_backs[1].does(Return::Cross) & n.look.hit,
        "words come back that have a new owner, or none",
    );
    let nodata = n.valid & d.blocked.does(Progresses::Back) & n.op.nodata;
    let still = (n.op.req.mask & n.look.owned).any();
    race("nodata_before_wb", nodata & still, "an owner answers without data before its write-back is here");
    race("nodata_after_wb", nodata & !still, "an owner answers without data after its write-back");
    let partial = d.mine_taken().any() & d.write_backs[1].does(Return::Cross);
    race("wb_partly_stale", partial, "of a write-back some words are still its sender's");
}

fn request_races(seen: &Seen) {
    let (n, d) = (seen.n, seen.d);
    let both = d.commits & n.free.any() & n.taken.any();
    race("mixed_words", both, "words of one request are owned and not owned: all change in one step");
    let first = n.owners.element(n.taken.lowest_set(), seen.p().s.dev_bits());
    let others = n.taken & !words_of(seen.p(), n.owners, first);
    race("several_owners", d.commits & others.any(), "words of one request have several owners");
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
    let rest = replay & blocks & n.tbe.head.ne(n.tbe.tail);
    race("replay_takes_rest", rest, "it takes the rest of its list along");
    race("replay_moves", replay & d.joins, "a stalled request joins the list of another TBE");
    race("joins_list", d.joins & seen.is(Kind::Req) & n.look.blocked, "a request finds its line blocked");
    race("set_full", d.frames.does(Replace::Join), "a request finds every way of its set blocked");
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
    count("llc_entered", seen.entered.req, "requests that entered the pipeline");
    count("llc_phase1", d.phase1, "requests that had to wait for others");
    count("llc_writes", d.frames.does(Replace::Write), "lines written to memory");
}

fn traffic(seen: &Seen) {
    let (n, d, sending) = (seen.n, seen.d, seen.sending);
    let sends = |ops: &[FwdOp]| sending.any & sending.msg.op.is_any(ops);
    let forwards = [FwdOp::ReqV, FwdOp::ReqS, FwdOp::ReqO, FwdOp::ReqOData, FwdOp::ReqWt];
    count("llc_forwards", sends(&forwards), "forwards sent");
    count("llc_inv", sends(&[FwdOp::Inv]), "Inv sent");
    count("llc_rvko", sends(&[FwdOp::RvkO]), "RvkO sent");
    count("llc_for_tbe", sending.any & sending.of_tbe, "messages of phases 1 and evictions sent");
    count("llc_answers", seen.done.answers, "answers to requests");
    let crossed = seen.done.crossed.any();
    count("llc_crossed", crossed, "RspWB with crossed words");
    count("llc_evict_owned", d.evicts & n.look.owned.any(), "lines with owned words replaced");
    count("llc_evict_shared", d.evicts & n.look.there.state.is(LineState::S), "lines with sharers replaced");
    count("llc_joined", d.joins, "requests that joined a stall list");
    count("llc_replayed", seen.is(Kind::Replay), "requests of a stall list that were tried again");
}

fn waits(seen: &Seen) {
    let (tbes, e) = (seen.parts.tbes, seen.entered);
    let kinds = [
        ("fill", TbeKind::Fill, "cycles of lines blocked for memory, summed"),
        ("phase1", TbeKind::Phase1, "cycles of lines blocked for sharers and owners, summed"),
        ("evict", TbeKind::Evict, "cycles of lines blocked to be replaced, summed"),
        ("list", TbeKind::List, "cycles of lines blocked while their lists replay, summed"),
    ];
    for (name, kind, text) in kinds {
        let lines = tbes.of_kind(kind);
        count_amount(&format!("llc_blocked_{name}"), lines.any(), lines.popcount(), text);
    }
    let stalled = tbes.stalled();
    count_amount("llc_stalled", stalled.any(), stalled.popcount(), "stalled requests, summed over cycles");
    count("llc_req_stall", e.req_waits, "cycles in which a request waits at the channel");
    count("llc_req_no_tbe", e.no_tbe, "of these, those without a free TBE");
    count("llc_req_no_place", e.no_place, "those without a free place in the stall memory");
    count("llc_req_no_room", e.no_room, "those without room at the outputs");
    count("llc_wb_stall", e.wb_waits, "cycles in which a write-back waits at the channel");
    let [rsp, fwd] = seen.parts.outs.up.waits();
    let mem = seen.parts.outs.mem_waits();
    count("llc_rsp_waits", rsp, "cycles in which an answer waits for its channel");
    count("llc_fwd_waits", fwd, "cycles in which a forward waits for its channel");
    count("llc_mem_waits", mem, "cycles in which an order waits for memory");
}
