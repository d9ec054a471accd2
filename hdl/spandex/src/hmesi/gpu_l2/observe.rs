//! Assertions, races and counters of a bank (spandex.md sections 9 and 13).

use super::decide::Now;
use super::stages::{self, Stages};
use super::table::{self, MET, Replace, Serve};
use super::types::*;
use crate::bank::entries::of;
use crate::bank::observe::{blocked, one_way, outputs, waits};
use crate::bank::observe_words;
use crate::hmesi::msg::{HFwdOp, HRspOp};
use crate::msg::{FwdOp, ReqOp, RspOp};
use weft_rtl::prelude::*;

/// What observers look at.
pub(super) type Seen<'a> = observe_words::Seen<'a, GpuL2, Stages, stages::Seen>;

/// Declares all observers.
pub(super) fn connect(seen: &Seen) {
    device_messages(seen);
    client_messages(seen);
    lines(seen);
    answers(seen);
    client_races(seen);
    seen.words(&own(seen));
    request_races(seen);
    requests(seen);
    waiting(seen);
}

/// A line is of this bank.
fn home(seen: &Seen, line: Bits) -> Bool {
    let bank = &seen.act.bank;
    bank.is_home(line, seen.act.with.own.resize(bank.s.node_bits()))
}

fn device_messages(seen: &Seen) {
    let (p, st) = (seen.act.with.p, seen.stages);
    let own = seen.act.with.own.resize(p.bank.s.node_bits());
    let channels = (&st.req, &st.wb, &st.rsp);
    observe_words::messages(("gpu_l2", &p.bank.s, own), |line| home(seen, line), channels);
    let (req, wb, rsp) = (&st.req.msg, &st.wb.msg, &st.rsp.msg);
    unused_input(&wb.dirty);
    unused_input(&rsp.dirty);
    let foreign = req.op.is(ReqOp::ReqS) | (req.op.is(ReqOp::ReqWt) & req.fwd);
    let text = "GPU L1s send no ReqS and no ReqWT to be forwarded";
    seen.assert("req_met", !(st.req.valid & foreign), text);
    let sound = rsp.op.is(RspOp::RspRvkO) & rsp.src.zext(8).lt(u64::from(p.bank.s.devs())) & !rsp.kept_s;
    let text = "a bank gets RspRvkO of devices that keep nothing, no other answer";
    seen.assert("rsp_sound", !st.rsp.valid | sound, text);
}

fn client_messages(seen: &Seen) {
    let (p, st) = (seen.act.with.p, seen.stages);
    let (fwd, rsp) = (&st.l3_fwd.msg, &st.l3_rsp.msg);
    let own = seen.act.with.own;
    let good = |line: Bits, src: Bits, dst: Bits| {
        home(seen, line) & dst.eq(own) & src.zext(8).lt(u64::from(p.bank.s.h_nodes()))
    };
    let sound = good(fwd.line, fwd.src, fwd.dst) & fwd.src.eq(p.bank.s.l3_home(fwd.line));
    let text = "a forward is for a line of this bank, and comes from its L3 bank";
    seen.assert("fwd_sound", !st.l3_fwd.valid | sound, text);
    unused_input(&rsp.dirty);
    unused_input(&rsp.kept);
    let kinds = [HRspOp::DataS, HRspOp::DataE, HRspOp::DataM, HRspOp::InvAck, HRspOp::WbAck];
    let sound = good(rsp.line, rsp.src, rsp.dst) & rsp.op.is_any(&kinds);
    let text = "an answer is for a line of this bank, and such as clients get";
    seen.assert("answer_sound", !st.l3_rsp.valid | sound, text);
    let (n, valid) = (seen.act.n, seen.act.with.tbes.entries.valid().bit_at(seen.act.n.index));
    let its = mux(n.op.rsp.is(HRspOp::WbAck), n.tbe.leaver, n.tbe.line);
    let holds = valid & its.eq(n.req.line);
    seen.assert("answer_has_tbe", !n.is(Kind::Answer) | holds, "an answer finds its TBE");
    let twice = n.is(Kind::Answer) & n.progress.come & (n.op.rsp.is_any(&kinds[..3]));
    seen.assert("data_once", !twice, "a line comes once");
    let todo = |marks: &[Reg<Bool>]| of(marks, n.index);
    let unsent = mux(
        n.op.rsp.is(HRspOp::WbAck),
        todo(&seen.act.with.tbes.todo_put),
        todo(&seen.act.with.tbes.todo_get),
    );
    let text = "what is answered has been sent";
    seen.assert("answer_asked", !(n.is(Kind::Answer) & unsent), text);
}

fn lines(seen: &Seen) {
    let (n, d, done) = seen.step();
    one_way("gpu_l2", seen.entered.1, seen.stages.pipe.s1_valid.get());
    let clean = |perm: Enum<Perm>, owned: Bits| owned.none() | perm.is(Perm::M);
    let before = clean(n.look.there.perm, n.look.owned);
    let text = "only a line in M has words that GPU L1s own";
    seen.assert("state_found", !n.valid | n.is(Kind::Answer) | before, text);
    let after = clean(done.place.there.perm, done.place.owned);
    seen.assert("state_left", !(n.valid & d.commits) | after, text);
    let may = n.look.there.perm.is_any(&[Perm::E, Perm::M]) | !n.known.writes;
    let text = "what is written or owned the L3 has granted";
    seen.assert("granted", !d.commits | (may & !n.look.there.perm.is(Perm::I)), text);
}

fn answers(seen: &Seen) {
    let (n, d, tbes) = (seen.act.n, seen.act.d, seen.act.with.tbes);
    let rvk = n.is(Kind::Rvk);
    let holds = tbes.entries.valid().bit_at(n.index) & n.tbe.line.eq(n.req.line);
    seen.assert("rsp_has_tbe", !rvk | holds, "an answer of a device finds its TBE");
    let free = tbes.entries.valid().all();
    let takes = d.evicts | d.fetches | d.phase1 | d.decided.upgrades | d.decided.client.does(Serve::Revoke);
    let takes = takes & !n.is(Kind::Commit);
    seen.assert("tbe_free", !(takes & free), "a transaction that begins finds a free TBE");
    let back = n.known.revoked & n.look.owned.any();
    seen.assert("all_revoked", !back, "a forward is answered when all words are back");
}

fn client_races(seen: &Seen) {
    let (n, d, tbes) = (seen.act.n, seen.act.d, seen.act.with.tbes);
    let client = |action| d.decided.client.does(action);
    let fills = n.tbe.kind.is(TbeKind::Fill);
    let late = client(Serve::Once) & n.progress.come;
    seen.race("inv_after_data", late, "an Inv comes when the line is here but its request has not had it");
    let used = n.is(Kind::Commit) & d.commits & fills & n.tbe.getting.is(Getting::Isi);
    seen.race("used_once", used, "a line serves one request and is gone");
    let again = used & seen.act.with.tbes.stalls.has(n.index);
    seen.race("used_once_others_wait", again, "others that wait for it ask again");
    let early = client(Serve::Count) & !n.progress.come;
    seen.race("ack_before_data", early, "an InvAck comes before the line");
    let last = client(Serve::Count) & n.progress.come;
    seen.race("ack_after_data", last, "an InvAck comes after the line");
    seen.race("put_beside_fill", client(Serve::Gone) & fills, "WBAck comes before the next line");
    let after = client(Serve::Gone) & n.tbe.kind.is(TbeKind::Put);
    seen.race("put_after_fill", after, "the next line was here before WBAck");
    let puts = of(&tbes.todo_put, n.index);
    seen.race(
        "forward_before_put_leaves",
        client(Serve::Leave) & puts,
        "a forward takes a line whose Put has not left",
    );
    let stale = n.is(Kind::Fwd) & n.op.fwd.is(HFwdOp::Inv) & n.look.blocked & n.tbe.kind.is(TbeKind::Evict);
    seen.race(
        "inv_before_get",
        stale,
        "an Inv comes for a line that is asked for when another has been replaced",
    );
    let e = &seen.entered.0;
    seen.race(
        "forward_waits_for_phase1",
        e.fwd_held,
        "a forward waits for a TBE that revokes words of its line",
    );
    seen.race("forward_waits_for_tbe", e.fwd_no_tbe, "a forward waits for another to end");
    let revokes = tbes.entries.of_kinds(&[TbeKind::Revoke]).popcount().gt(1);
    seen.race("two_revoke", revokes, "two forwards revoke words at a time");
    let full =
        tbes.entries.of_kinds(&[TbeKind::Fill, TbeKind::Put, TbeKind::Evict, TbeKind::Phase1]).popcount();
    let reserve = full.eq(u64::from(seen.act.with.p.bank.s.tbes - 1)) & client(Serve::Revoke);
    seen.race("reserved_tbe", reserve, "a forward gets the TBE that is reserved");
    let crosses = seen.revoked().any() & n.tbe.kind.is(TbeKind::Revoke);
    let text = "a write-back crosses the revocation of its words for the L3";
    seen.race("wb_crosses_forward", crosses, text);
    let listed = n.known.revoked & seen.act.with.tbes.stalls.has(n.index);
    seen.race("stalled_behind_forward", listed, "requests have waited for a forward");
}

/// What is seen in this bank's own records.
fn own(seen: &Seen) -> observe_words::Own {
    let Now { op, tbe, index, valid, .. } = seen.act.n;
    let asked = seen.act.with.tbes.owners.read(*index);
    let rvk = *valid & op.kind.is(Kind::Rvk);
    observe_words::Own { looked: *valid, asked, rvk, nodata: op.nodata, sends: tbe.sends }
}

fn request_races(seen: &Seen) {
    let (n, d, _) = seen.step();
    let (replay, more) = (n.is(Kind::Replay), d.fetches & n.is(Kind::Commit));
    seen.race("evict_then_fill", more, "the request for which a line was replaced gets its own");
    let blocks = d.phase1 | d.evicts | d.fetches | d.decided.upgrades;
    seen.stalled_races(replay, blocks, n.is(Kind::Req));
    seen.race("replay_joins", replay & d.joins, "a stalled request joins the list of another TBE");
    seen.race("set_full", d.frames.does(Replace::Join), "a request finds every way of its set blocked");
    let joins = d.joins & n.is(Kind::Req) & n.look.blocked;
    let tbe = seen.act.with.tbes.at(n.look.by);
    let leaver = joins & tbe.leaver.eq(n.req.line) & !tbe.leaving.is(Leaving::No);
    seen.race("joins_leaving", leaver, "a request comes for a line that is on its way to the L3");
    let upgrade = d.decided.upgrades & seen.act.with.tbes.entries.valid().any();
    seen.race("upgrade_beside", upgrade, "a shared line is to be written while others are on their way");
}

/// Requests by type and word state, lines by what the L3 has granted, and what is sent.
fn requests(seen: &Seen) {
    let (n, d, _) = seen.step();
    seen.requests(MET);
    let text = "requests, also repeated ones, with such lines";
    let (needs, client) = (table::needs(), table::client());
    needs.rows().iter().for_each(|row| seen.row(MET, row, text, d.decided.needs.row(&row.id)));
    client.rows().iter().for_each(|row| seen.row(MET, row, "messages", d.decided.client.row(&row.id)));
    seen.count("ReqWB", n.is(Kind::Wb), "write-backs of GPU L1s");
    seen.count("entered", seen.entered.0.entered.req, "requests that entered the pipeline");
    seen.count("phase1", d.phase1, "requests that had to wait for owners");
    seen.count("fetches", d.fetches, "lines asked of the L3");
    seen.count("puts", d.frames.does(Replace::Put), "lines in E or M replaced");
    let texts = ["forwards sent to GPU L1s", "RvkO of phases 1, evictions and L3 forwards sent"];
    seen.traffic(&[FwdOp::ReqV, FwdOp::ReqO, FwdOp::ReqOData], texts, n.is(Kind::Replay));
}

fn waiting(seen: &Seen) {
    let (tbes, outs, e) = (seen.act.with.tbes, seen.act.with.outs, &seen.entered.0);
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
    waits("gpu_l2", tbes.stalls.used(), &e.entered, "write-back");
    seen.count("req_again", e.again, "those in which stalled requests are tried again");
    seen.count("fwd_stall", e.fwd_waits, "cycles in which a forward of the L3 waits at the channel");
    seen.count("fwd_held", e.fwd_held, "of these, those for words of its line that are being revoked");
    let [rsp, fwd] = outs.up.waits();
    let [reply, get, put] = outs.waits(tbes);
    outputs(
        "gpu_l2",
        &[
            rsp,
            fwd,
            ("l3_rsp", reply, "an answer to the L3 or a client waits for its channel"),
            ("l3_req", get, "GetS or GetM waits for its channel"),
            ("l3_wb", put, "a Put waits for its channel"),
        ],
    );
}
