//! Assertions, races and counters of a bank (spandex.md sections 9 and 13).

use super::act::Done;
use super::decide::{Decision, Now};
use super::params::GpuL2Params;
use super::stages::{Entered, Parts, Stages};
use super::table::{self, MET, Progresses, Replace, Serve};
use super::types::*;
use crate::hmesi::msg::{HFwdOp, HRspOp};
use crate::llc::decide::words_of;
use crate::llc::upward::Sending;
use crate::llc::words::{self, Return, Word};
use crate::msg::{FwdOp, ReqOp, RspOp, WordOp};
use weft_rtl::prelude::*;
use weft_rtl::transitions::Row;

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
    device_messages(seen);
    client_messages(seen);
    lines(seen);
    answers(seen);
    client_races(seen);
    write_back_races(seen);
    request_races(seen);
    requests(seen);
    traffic(seen);
    waits(seen);
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
        match self.p().s.bank_select() {
            0 => bool_lit(true),
            bits => {
                let node = self.parts.own.resize(self.p().s.node_bits());
                line.slice(0, bits).eq(self.p().bank().bank_of(node))
            }
        }
    }
}

fn device_messages(seen: &Seen) {
    let (p, st) = (seen.p(), seen.stages);
    let known = |src: Bits| src.zext(8).lt(u64::from(p.s.devs()));
    let good = |line: Bits, mask: Bits, src: Bits| seen.home(line) & mask.any() & known(src);
    let (req, wb, rsp) = (&st.req.msg, &st.wb.msg, &st.rsp.msg);
    let text = "a request names a word of this bank and a device";
    assert_always("gpu_l2_req_sound", !st.req.valid | good(req.line, req.mask, req.src), text);
    let text = "a write-back names a word of this bank and a device";
    assert_always("gpu_l2_wb_sound", !st.wb.valid | good(wb.line, wb.mask, wb.src), text);
    let own = seen.parts.own.resize(p.s.node_bits());
    let here = req.dst.eq(own) | !st.req.valid;
    let here = here & (wb.dst.eq(own) | !st.wb.valid) & (rsp.dst.eq(own) | !st.rsp.valid);
    assert_always("gpu_l2_own_messages", here, "a message comes to the bank that it is for");
    unused_input(&wb.dirty);
    unused_input(&rsp.dirty);
    unused_input(&rsp.extra);
    unused_input(&rsp.direct);
    let foreign = req.op.is(ReqOp::ReqS) | (req.op.is(ReqOp::ReqWt) & req.fwd);
    let text = "GPU L1s send no ReqS and no ReqWT to be forwarded";
    assert_always("gpu_l2_req_met", !(st.req.valid & foreign), text);
    let cas = st.req.valid & req.op.is(ReqOp::ReqWtData) & req.amo.is(WordOp::Cas);
    assert_always("gpu_l2_cas_one_word", !cas | req.mask.popcount().eq(1), "CAS is of one word only");
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
    let (n, valid) = (seen.n, seen.parts.tbes.valid().bit_at(seen.n.index));
    let of = mux(n.op.rsp.is(HRspOp::WbAck), n.tbe.leaver, n.tbe.line);
    let holds = valid & of.eq(n.op.req.line);
    assert_always("gpu_l2_answer_has_tbe", !seen.is(Kind::Answer) | holds, "an answer finds its TBE");
    let twice = seen.is(Kind::Answer) & n.progress.come & (n.op.rsp.is_any(&kinds[..3]));
    assert_always("gpu_l2_data_once", !twice, "a line comes once");
    let todo = |marks: &[Reg<Bool>]| select(&marks.iter().map(|m| m.get()).collect::<Vec<_>>(), n.index);
    let unsent =
        mux(n.op.rsp.is(HRspOp::WbAck), todo(&seen.parts.tbes.todo_put), todo(&seen.parts.tbes.todo_get));
    let text = "what is answered has been sent";
    assert_always("gpu_l2_answer_asked", !(seen.is(Kind::Answer) & unsent), text);
}

fn lines(seen: &Seen) {
    let (n, d, done) = (seen.n, seen.d, seen.done);
    let p = seen.p();
    let one = seen.entered.matches.popcount().le(1) | !seen.stages.s1_valid.get();
    assert_always("gpu_l2_one_way_per_line", one, "a line is in one way at most");
    let clean = |perm: Enum<Perm>, owned: Bits| owned.none() | perm.is(Perm::M);
    let before = clean(n.look.there.perm, n.look.owned);
    let text = "only a line in M has words that GPU L1s own";
    assert_always("gpu_l2_state_found", !n.valid | seen.is(Kind::Answer) | before, text);
    let after = clean(done.place.there.perm, done.place.owned);
    assert_always("gpu_l2_state_left", !(n.valid & d.commits) | after, text);
    let may = n.look.there.perm.is_any(&[Perm::E, Perm::M]) | !n.writes;
    let text = "what is written or owned the L3 has granted";
    assert_always("gpu_l2_granted", !d.commits | (may & !n.look.there.perm.is(Perm::I)), text);
    let sound: Vec<Bool> = (0..p.s.words())
        .map(|w| {
            let owner = n.owners.slice(w * p.s.dev_bits(), p.s.dev_bits());
            !n.owned.bit(w) | owner.zext(8).lt(u64::from(p.s.devs()))
        })
        .collect();
    assert_always("gpu_l2_owner_is_device", !n.valid | all_of(&sound), "an owner is a device");
    let own = (n.taken & words_of(&p.bank(), n.owners, n.op.req.src)).none();
    let text = "no request comes from a word's owner (R1)";
    assert_always("gpu_l2_not_from_owner", !n.here | own, text);
}

fn answers(seen: &Seen) {
    let (n, d, parts) = (seen.n, seen.d, seen.parts);
    let tbes = parts.tbes;
    let rvk = seen.is(Kind::Rvk);
    let holds = tbes.valid().bit_at(n.index) & n.tbe.line.eq(n.op.req.line);
    assert_always("gpu_l2_rsp_has_tbe", !rvk | holds, "an answer of a device finds its TBE");
    let its = words_of(&seen.p().bank(), tbes.owners(n.index), n.op.req.src);
    let asked = (n.op.req.mask & !(n.progress.rv & its)).none() & n.op.req.mask.any();
    let text = "RspRvkO brings words that its sender has been asked for";
    assert_always("gpu_l2_rvko_expected", !rvk | asked, text);
    let owned = (n.op.req.mask & !n.look.owned).none();
    let text = "words that come back with data have not come back before";
    assert_always("gpu_l2_rvko_once", !d.blocked.does(Progresses::Store) | owned, text);
    let ends = seen.done.complete & n.tbe.sends;
    assert_always("gpu_l2_all_sent", !ends, "what devices have answered has been sent");
    let free = tbes.valid().all();
    let takes = d.evicts | d.fetches | d.phase1 | d.upgrades | d.client.does(Serve::Revoke);
    let takes = takes & !seen.is(Kind::Commit);
    assert_always("gpu_l2_tbe_free", !(takes & free), "a transaction that begins finds a free TBE");
    let back = n.revoked & n.look.owned.any();
    assert_always("gpu_l2_all_revoked", !back, "a forward is answered when all words are back");
}

fn race(name: &str, cond: Bool, text: &str) {
    cover(&format!("spandex.race.gpu_l2_{name}"), cond, text);
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
    let puts = select(&tbes.todo_put.iter().map(|m| m.get()).collect::<Vec<_>>(), n.index);
    race(
        "forward_before_put_leaves",
        client(Serve::Leave) & puts,
        "a forward takes a line whose Put has not left",
    );
    let stale =
        seen.is(Kind::Fwd) & n.op.fwd.is(HFwdOp::Inv) & n.look.blocked & n.tbe.kind.is(TbeKind::Evict);
    race("inv_before_get", stale, "an Inv comes for a line that is asked for when another has been replaced");
    let e = seen.entered;
    race("forward_waits_for_phase1", e.fwd_held, "a forward waits for a TBE that revokes words of its line");
    race("forward_waits_for_tbe", e.fwd_no_tbe, "a forward waits for another to end");
    let revokes = tbes.of_kinds(&[TbeKind::Revoke]).popcount().gt(1);
    race("two_revoke", revokes, "two forwards revoke words at a time");
    let full = tbes.of_kinds(&[TbeKind::Fill, TbeKind::Put, TbeKind::Evict, TbeKind::Phase1]).popcount();
    let reserve = full.eq(u64::from(seen.p().s.tbes - 1)) & client(Serve::Revoke);
    race("reserved_tbe", reserve, "a forward gets the TBE that is reserved");
    let listed = n.revoked & seen.parts.stalls.has(n.index);
    race("stalled_behind_forward", listed, "requests have waited for a forward");
}

fn write_back_races(seen: &Seen) {
    let (n, d, done) = (seen.n, seen.d, seen.done);
    let revoked = d.mine_taken() & n.progress.rvm & n.look.blocked.repeat(n.owned.width());
    race("wb_crosses_rvko", revoked.any(), "a write-back crosses the revocation of its words");
    let forward = revoked.any() & n.tbe.kind.is(TbeKind::Revoke);
    race("wb_crosses_forward", forward, "the same for a forward of the L3");
    race("wb_last", done.by_write_back, "a write-back is the last thing that a TBE waits for");
    let stale = d.write_backs[1].does(Return::Cross) & n.look.hit;
    race("wb_stale", stale, "words come back that have a new owner, or none");
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
    let others = n.taken & !words_of(&seen.p().bank(), n.owners, first);
    race("several_owners", d.commits & others.any(), "words of one request have several owners");
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
    let upgrade = d.upgrades & seen.parts.tbes.valid().any();
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
    count("gpu_l2_entered", seen.entered.req, "requests that entered the pipeline");
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
    let sends = |ops: &[FwdOp]| sending.any & sending.msg.op.is_any(ops);
    count("gpu_l2_forwards", sends(&[FwdOp::ReqV, FwdOp::ReqO, FwdOp::ReqOData]), "forwards sent to GPU L1s");
    count("gpu_l2_rvko", sends(&[FwdOp::RvkO]), "RvkO sent");
    count("gpu_l2_for_tbe", sending.any & sending.of_tbe, "RvkO of phases 1, evictions and L3 forwards sent");
    count("gpu_l2_answers", seen.done.answers, "answers to requests");
    count("gpu_l2_crossed", seen.done.crossed.any(), "RspWB with crossed words");
    count("gpu_l2_evict_owned", d.evicts & n.look.owned.any(), "lines with owned words replaced");
    count("gpu_l2_joined", d.joins, "requests that joined a stall list");
    count("gpu_l2_replayed", seen.is(Kind::Replay), "stalled requests that were tried again");
}

fn waits(seen: &Seen) {
    let (tbes, e) = (seen.parts.tbes, seen.entered);
    let kinds = [
        ("fill", TbeKind::Fill, "cycles of lines blocked for the L3, summed"),
        ("phase1", TbeKind::Phase1, "cycles of lines blocked for owners, summed"),
        ("evict", TbeKind::Evict, "cycles of lines blocked to be replaced, summed"),
        ("revoke", TbeKind::Revoke, "cycles of lines blocked for forwards of the L3, summed"),
    ];
    for (name, kind, text) in kinds {
        let lines = tbes.of_kinds(&[kind]);
        count_amount(&format!("gpu_l2_blocked_{name}"), lines.any(), lines.popcount(), text);
    }
    let lines = tbes.leaving();
    let text = "cycles of lines blocked on their way to the L3, summed";
    count_amount("gpu_l2_blocked_put", lines.any(), lines.popcount(), text);
    let stalled = seen.parts.stalls.used();
    count_amount("gpu_l2_stalled", stalled.any(), stalled.popcount(), "stalled requests, summed over cycles");
    count("gpu_l2_req_stall", e.req_waits, "cycles in which a request waits at the channel");
    count("gpu_l2_req_no_tbe", e.no_tbe, "of these, those without a free TBE");
    count("gpu_l2_req_no_place", e.no_place, "those without a free place in the stall memory");
    count("gpu_l2_req_no_room", e.no_room, "those without room at the outputs");
    count("gpu_l2_req_again", e.again, "those in which stalled requests are tried again");
    count("gpu_l2_wb_stall", e.wb_waits, "cycles in which a write-back waits at the channel");
    count("gpu_l2_fwd_stall", e.fwd_waits, "cycles in which a forward of the L3 waits at the channel");
    count("gpu_l2_fwd_held", e.fwd_held, "of these, those for words of its line that are being revoked");
    let [rsp, fwd] = seen.parts.outs.up.waits();
    count("gpu_l2_rsp_waits", rsp, "cycles in which an answer waits for its channel");
    count("gpu_l2_fwd_waits", fwd, "cycles in which a forward waits for its channel");
    let [reply, get, put] = seen.parts.outs.waits(tbes);
    count(
        "gpu_l2_l3_rsp_waits",
        reply,
        "cycles in which an answer to the L3 or a client waits for its channel",
    );
    count("gpu_l2_l3_req_waits", get, "cycles in which GetS or GetM waits for its channel");
    count("gpu_l2_l3_wb_waits", put, "cycles in which a Put waits for its channel");
}
