//! Assertions, races and counters of a bank (spandex.md sections 9 and 13).

use super::act::Done;
use super::decide::{Decision, Now};
use super::params::GpuL2Params;
use super::stages::{self, Parts, Stages};
use super::table::{self, MET, Progresses, Replace, Serve};
use super::types::*;
use crate::bank::entries::of;
use crate::bank::observe::{self, blocked, one_way, outputs, waits};
use crate::bank::observe_words;
use crate::bank::upward::Sending;
use crate::bank::words::{self, Return, Word};
use crate::hmesi::msg::{HFwdOp, HRspOp};
use crate::msg::{FwdOp, ReqOp, RspOp};
use weft_rtl::prelude::*;
use weft_rtl::transitions::Row;

/// What observers look at.
pub(super) struct Seen<'a> {
    pub parts: &'a Parts<'a>,
    pub stages: &'a Stages,
    pub entered: &'a (stages::Seen, Bits),
    pub n: &'a Now,
    pub d: &'a Decision,
    pub done: &'a Done,
    pub sending: &'a Sending,
}

/// Declares all observers.
pub(super) fn connect(seen: &Seen) {
    device_messages(seen);
    client_messages(seen);
    lines(seen);
    answers(seen);
    client_races(seen);
    let words = of_words(seen);
    words.connect();
    write_back_races(seen, &words);
    request_races(seen);
    requests(seen);
    traffic(seen);
    waiting(seen);
}

impl Seen<'_> {
    fn p(&self) -> &GpuL2Params {
        self.parts.p
    }
    fn is(&self, kind: Kind) -> Bool {
        self.n.valid & self.n.op.kind.is(kind)
    }
    /// A line is of this bank.
    fn home(&self, line: Bits) -> Bool {
        self.p().bank().is_home(line, self.parts.own.resize(self.p().s.node_bits()))
    }
}

fn device_messages(seen: &Seen) {
    let (p, st) = (seen.p(), seen.stages);
    let own = seen.parts.own.resize(p.s.node_bits());
    let channels = (&st.req, &st.wb, &st.rsp);
    observe_words::messages(("gpu_l2", &p.s, own), |line| seen.home(line), channels);
    let (req, wb, rsp) = (&st.req.msg, &st.wb.msg, &st.rsp.msg);
    unused_input(&wb.dirty);
    unused_input(&rsp.dirty);
    let foreign = req.op.is(ReqOp::ReqS) | (req.op.is(ReqOp::ReqWt) & req.fwd);
    let text = "GPU L1s send no ReqS and no ReqWT to be forwarded";
    assert_always("gpu_l2_req_met", !(st.req.valid & foreign), text);
    let sound = rsp.op.is(RspOp::RspRvkO) & rsp.src.zext(8).lt(u64::from(p.s.devs())) & !rsp.kept_s;
    let text = "a bank gets RspRvkO of devices that keep nothing, no other answer";
    assert_always("gpu_l2_rsp_sound", !st.rsp.valid | sound, text);
}

fn client_messages(seen: &Seen) {
    let (p, st) = (seen.p(), seen.stages);
    let (fwd, rsp) = (&st.l3_fwd.msg, &st.l3_rsp.msg);
    let own = seen.parts.own;
    let good = |line: Bits, src: Bits, dst: Bits| {
        seen.home(line) & dst.eq(own) & src.zext(8).lt(u64::from(p.s.h_nodes()))
    };
    let sound = good(fwd.line, fwd.src, fwd.dst) & fwd.src.eq(p.s.l3_home(fwd.line));
    let text = "a forward is for a line of this bank, and comes from its L3 bank";
    assert_always("gpu_l2_fwd_sound", !st.l3_fwd.valid | sound, text);
    unused_input(&rsp.dirty);
    unused_input(&rsp.kept);
    let kinds = [HRspOp::DataS, HRspOp::DataE, HRspOp::DataM, HRspOp::InvAck, HRspOp::WbAck];
    let sound = good(rsp.line, rsp.src, rsp.dst) & rsp.op.is_any(&kinds);
    let text = "an answer is for a line of this bank, and such as clients get";
    assert_always("gpu_l2_answer_sound", !st.l3_rsp.valid | sound, text);
    let (n, valid) = (seen.n, seen.parts.tbes.entries.valid().bit_at(seen.n.index));
    let its = mux(n.op.rsp.is(HRspOp::WbAck), n.tbe.leaver, n.tbe.line);
    let holds = valid & its.eq(n.op.req.line);
    assert_always("gpu_l2_answer_has_tbe", !seen.is(Kind::Answer) | holds, "an answer finds its TBE");
    let twice = seen.is(Kind::Answer) & n.progress.come & (n.op.rsp.is_any(&kinds[..3]));
    assert_always("gpu_l2_data_once", !twice, "a line comes once");
    let todo = |marks: &[Reg<Bool>]| of(marks, n.index);
    let unsent =
        mux(n.op.rsp.is(HRspOp::WbAck), todo(&seen.parts.tbes.todo_put), todo(&seen.parts.tbes.todo_get));
    let text = "what is answered has been sent";
    assert_always("gpu_l2_answer_asked", !(seen.is(Kind::Answer) & unsent), text);
}

fn lines(seen: &Seen) {
    let (n, d, done) = (seen.n, seen.d, seen.done);
    one_way("gpu_l2", seen.entered.1, seen.stages.pipe.s1_valid.get());
    let clean = |perm: Enum<Perm>, owned: Bits| owned.none() | perm.is(Perm::M);
    let before = clean(n.look.there.perm, n.look.owned);
    let text = "only a line in M has words that GPU L1s own";
    assert_always("gpu_l2_state_found", !n.valid | seen.is(Kind::Answer) | before, text);
    let after = clean(done.place.there.perm, done.place.owned);
    assert_always("gpu_l2_state_left", !(n.valid & d.commits) | after, text);
    let may = n.look.there.perm.is_any(&[Perm::E, Perm::M]) | !n.writes;
    let text = "what is written or owned the L3 has granted";
    assert_always("gpu_l2_granted", !d.commits | (may & !n.look.there.perm.is(Perm::I)), text);
}

fn answers(seen: &Seen) {
    let (n, d, parts) = (seen.n, seen.d, seen.parts);
    let tbes = parts.tbes;
    let rvk = seen.is(Kind::Rvk);
    let holds = tbes.entries.valid().bit_at(n.index) & n.tbe.line.eq(n.op.req.line);
    assert_always("gpu_l2_rsp_has_tbe", !rvk | holds, "an answer of a device finds its TBE");
    let free = tbes.entries.valid().all();
    let takes = d.evicts | d.fetches | d.phase1 | d.upgrades | d.client.does(Serve::Revoke);
    let takes = takes & !seen.is(Kind::Commit);
    assert_always("gpu_l2_tbe_free", !(takes & free), "a transaction that begins finds a free TBE");
    let back = n.revoked & n.look.owned.any();
    assert_always("gpu_l2_all_revoked", !back, "a forward is answered when all words are back");
}

fn race(name: &str, cond: Bool, text: &str) {
    observe::race("gpu_l2", name, cond, text);
}

fn client_races(seen: &Seen) {
    let (n, d, tbes) = (seen.n, seen.d, seen.parts.tbes);
    let client = |action| d.client.does(action);
    let fills = n.tbe.kind.is(TbeKind::Fill);
    let late = client(Serve::Once) & n.progress.come;
    race("inv_after_data", late, "an Inv comes when the line is here but its request has not had it");
    let used = seen.is(Kind::Commit) & d.commits & fills & n.tbe.getting.is(Getting::Isi);
    race("used_once", used, "a line serves one request and is gone");
    let again = used & seen.parts.stalls.has(n.index);
    race("used_once_others_wait", again, "others that wait for it ask again");
    let early = client(Serve::Count) & !n.progress.come;
    race("ack_before_data", early, "an InvAck comes before the line");
    let last = client(Serve::Count) & n.progress.come;
    race("ack_after_data", last, "an InvAck comes after the line");
    race("put_beside_fill", client(Serve::Gone) & fills, "WBAck comes before the next line");
    let after = client(Serve::Gone) & n.tbe.kind.is(TbeKind::Put);
    race("put_after_fill", after, "the next line was here before WBAck");
    let puts = of(&tbes.todo_put, n.index);
    race(
        "forward_before_put_leaves",
        client(Serve::Leave) & puts,
        "a forward takes a line whose Put has not left",
    );
    let stale =
        seen.is(Kind::Fwd) & n.op.fwd.is(HFwdOp::Inv) & n.look.blocked & n.tbe.kind.is(TbeKind::Evict);
    race("inv_before_get", stale, "an Inv comes for a line that is asked for when another has been replaced");
    let e = &seen.entered.0;
    race("forward_waits_for_phase1", e.fwd_held, "a forward waits for a TBE that revokes words of its line");
    race("forward_waits_for_tbe", e.fwd_no_tbe, "a forward waits for another to end");
    let revokes = tbes.entries.of_kinds(&[TbeKind::Revoke]).popcount().gt(1);
    race("two_revoke", revokes, "two forwards revoke words at a time");
    let full =
        tbes.entries.of_kinds(&[TbeKind::Fill, TbeKind::Put, TbeKind::Evict, TbeKind::Phase1]).popcount();
    let reserve = full.eq(u64::from(seen.p().s.tbes - 1)) & client(Serve::Revoke);
    race("reserved_tbe", reserve, "a forward gets the TBE that is reserved");
    let listed = n.revoked & seen.parts.stalls.has(n.index);
    race("stalled_behind_forward", listed, "requests have waited for a forward");
}

/// What is observed of words in every bank whose words devices own.
fn of_words<'a>(seen: &Seen<'a>) -> observe_words::Seen<'a> {
    let (n, d, done) = (seen.n, seen.d, seen.done);
    let Now { valid, look, here, owners, owned, taken, free, progress, .. } = *n;
    observe_words::Seen {
        bank: "gpu_l2",
        s: &seen.parts.p.s,
        req: n.op.req,
        hit: look.hit,
        blocked: look.blocked,
        looked: valid,
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
    let forward = words.revoked().any() & seen.n.tbe.kind.is(TbeKind::Revoke);
    race("wb_crosses_forward", forward, "a write-back crosses the revocation of its words for the L3");
}

fn request_races(seen: &Seen) {
    let (n, d) = (seen.n, seen.d);
    let (replay, more) = (seen.is(Kind::Replay), d.fetches & seen.is(Kind::Commit));
    race("evict_then_fill", more, "the request for which a line was replaced gets its own");
    let blocks = d.phase1 | d.evicts | d.fetches | d.upgrades;
    race("replay", replay & d.commits, "a stalled request commits");
    race("replay_blocks", replay & blocks, "a stalled request blocks again");
    race("replay_joins", replay & d.joins, "a stalled request joins the list of another TBE");
    race("set_full", d.frames.does(Replace::Join), "a request finds every way of its set blocked");
    let joins = d.joins & seen.is(Kind::Req) & n.look.blocked;
    race("joins_list", joins, "a request finds its line blocked");
    let tbe = seen.parts.tbes.at(n.look.by);
    let leaver = joins & tbe.leaver.eq(n.op.req.line) & !tbe.leaving.is(Leaving::No);
    race("joins_leaving", leaver, "a request comes for a line that is on its way to the L3");
    let upgrade = d.upgrades & seen.parts.tbes.entries.valid().any();
    race("upgrade_beside", upgrade, "a shared line is to be written while others are on their way");
}

/// Requests by type and word state, lines by what the L3 has granted.
fn requests(seen: &Seen) {
    let d = seen.d;
    let words = words::words(MET);
    let of = |word: Word| words.rows().iter().filter(move |row| row.when[1] == [word.encoding()]);
    let text = "requests with such words";
    of(Word::V).for_each(|row| counts(row, text, d.commits_v.row(&row.id)));
    of(Word::O).for_each(|row| counts(row, text, d.commits_o.row(&row.id)));
    let text = "requests, also repeated ones, with such lines";
    table::needs().rows().iter().for_each(|row| counts(row, text, d.needs.row(&row.id)));
    table::client().rows().iter().for_each(|row| counts(row, "messages", d.client.row(&row.id)));
    count("gpu_l2_ReqWB", seen.is(Kind::Wb), "write-backs of GPU L1s");
    count("gpu_l2_entered", seen.entered.0.entered.req, "requests that entered the pipeline");
    count("gpu_l2_phase1", d.phase1, "requests that had to wait for owners");
    count("gpu_l2_fetches", d.fetches, "lines asked of the L3");
    count("gpu_l2_puts", d.frames.does(Replace::Put), "lines in E or M replaced");
}

/// Counts a row.
fn counts<A>(row: &Row<A>, part: &str, now: Bool) {
    let name = row.id.trim_start_matches("spandex.gpu_l2.").replace('.', "_");
    count(&format!("gpu_l2_{name}"), now, &format!("{part}: {}", row.why));
}

fn traffic(seen: &Seen) {
    let (n, d, sending) = (seen.n, seen.d, seen.sending);
    let of_commits = [FwdOp::ReqV, FwdOp::ReqO, FwdOp::ReqOData];
    let texts = ["forwards sent to GPU L1s", "RvkO of phases 1, evictions and L3 forwards sent"];
    observe_words::traffic("gpu_l2", sending, &of_commits, texts);
    count("gpu_l2_answers", seen.done.answers, "answers to requests");
    count("gpu_l2_crossed", seen.done.crossed.any(), "RspWB with crossed words");
    count("gpu_l2_evict_owned", d.evicts & n.look.owned.any(), "lines with owned words replaced");
    count("gpu_l2_joined", d.joins, "requests that joined a stall list");
    count("gpu_l2_replayed", seen.is(Kind::Replay), "stalled requests that were tried again");
}

fn waiting(seen: &Seen) {
    let (Parts { tbes, stalls, outs, .. }, e) = (seen.parts, &seen.entered.0);
    let of = |kind| tbes.entries.of_kinds(&[kind]);
    blocked(
        "gpu_l2",
        &[
            ("fill", of(TbeKind::Fill), "cycles of lines blocked for the L3, summed"),
            ("phase1", of(TbeKind::Phase1), "cycles of lines blocked for owners, summed"),
            ("evict", of(TbeKind::Evict), "cycles of lines blocked to be replaced, summed"),
            ("revoke", of(TbeKind::Revoke), "cycles of lines blocked for forwards of the L3, summed"),
            ("put", tbes.leaving(), "cycles of lines blocked on their way to the L3, summed"),
        ],
    );
    waits("gpu_l2", stalls.used(), &e.entered, "write-back");
    count("gpu_l2_req_again", e.again, "those in which stalled requests are tried again");
    count("gpu_l2_fwd_stall", e.fwd_waits, "cycles in which a forward of the L3 waits at the channel");
    count("gpu_l2_fwd_held", e.fwd_held, "of these, those for words of its line that are being revoked");
    let [reply, get, put] = outs.waits(tbes);
    outputs(
        "gpu_l2",
        &[
            ("rsp", outs.up.answers.waits(), "an answer waits for its channel"),
            ("fwd", outs.up.fwd_waits(), "a forward waits for its channel"),
            ("l3_rsp", reply, "an answer to the L3 or a client waits for its channel"),
            ("l3_req", get, "GetS or GetM waits for its channel"),
            ("l3_wb", put, "a Put waits for its channel"),
        ],
    );
}
