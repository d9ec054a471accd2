//! Assertions, races and counters of a bank (spandex.md sections 9 and 13).

use super::act::{Done, Now};
use super::outputs::Sending;
use super::params::MesiLlcParams;
use super::stages::{self, Parts, Stages};
use super::table::{self, Direct, Progresses, Replace};
use super::types::*;
use crate::bank::observe::{self, blocked, one_way, outputs, waits};
use crate::hmesi::msg::{HFwdOp, HRspOp};
use crate::mesi_port::Get;
use weft_rtl::prelude::*;

/// What observers look at.
pub(super) struct Seen<'a> {
    pub parts: &'a Parts<'a>,
    pub stages: &'a Stages,
    pub entered: (stages::Seen, Bits),
    pub n: Now,
    pub done: Done,
    pub sending: Sending,
}

/// Declares all observers.
pub(super) fn connect(seen: &Seen) {
    messages(seen);
    lines(seen);
    answers(seen);
    races(seen);
    list_races(seen);
    requests(seen);
    waiting(seen);
}

impl Seen<'_> {
    fn p(&self) -> &MesiLlcParams {
        self.parts.p
    }
    fn is(&self, kind: Kind) -> Bool {
        self.n.valid & self.n.op.kind.is(kind)
    }
}

fn messages(seen: &Seen) {
    let (p, st, own) = (seen.p(), &seen.stages.from, seen.parts.own);
    let client = |src: Bits, line: Bits| {
        src.lt(u64::from(p.bank.s.cpus))
            | src.eq(p.bank.s.client_node(lit(u64::from(p.bank.s.cpus), p.bank.s.client_bits()), line))
    };
    let good = |line: Bits, src: Bits, dst: Bits| p.bank.is_home(line, own) & client(src, line) & dst.eq(own);
    let (req, wb, rsp) = (&st.req.msg, &st.wb.msg, &st.rsp.msg);
    let text = "a request is for a line of this bank, from a client";
    assert_always("mesi_llc_req_sound", !st.req.valid | good(req.line, req.src, req.dst), text);
    let text = "a Put is for a line of this bank, from a client";
    assert_always("mesi_llc_wb_sound", !st.wb.valid | good(wb.line, wb.src, wb.dst), text);
    let ops = [HRspOp::InvAck, HRspOp::WbData, HRspOp::Unblock, HRspOp::UnblockX];
    let sound = good(rsp.line, rsp.src, rsp.dst) & rsp.op.is_any(&ops);
    let text = "an answer is one to an L3, for a line of this bank, from a client";
    assert_always("mesi_llc_rsp_sound", !st.rsp.valid | sound, text);
    unused_input(&rsp.tag);
    unused_input(&rsp.acks);
    unused_input(&rsp.peer);
}

fn lines(seen: &Seen) {
    let (p, n, done) = (seen.p(), &seen.n, &seen.done);
    one_way("mesi_llc", seen.entered.1, seen.stages.pipe.s1_valid.get());
    let sound = |tag: Tag, sharers: Bits| {
        let owner = tag.owner.zext(8).lt(u64::from(p.bank.s.clients()));
        let shared = tag.state.is(LineState::SS).bits().eq(sharers.any().bits());
        shared & (owner | !tag.state.is(LineState::MT))
    };
    let text = "sharers in SS only, and there always; the owner is a client";
    assert_always("mesi_llc_state_found", !n.valid | sound(n.look.there, n.look.sharers), text);
    assert_always("mesi_llc_state_left", !n.valid | sound(done.place.there, done.place.sharers), text);
    let owner = n.look.there.state.is(LineState::MT) & n.look.there.owner.eq(n.op.req.src);
    let text = "no request comes from a line's owner";
    assert_always("mesi_llc_not_from_owner", !(n.here & owner), text);
}

fn answers(seen: &Seen) {
    let (n, done, tbes) = (&seen.n, &seen.done, seen.parts.tbes);
    let known = seen.entered.0.rsp_known | !seen.entered.0.rsp;
    assert_always("mesi_llc_rsp_has_tbe", known, "an answer finds a transaction of its line");
    let src = n.op.req.src;
    let acked = n.progress.acks.bit_at(src) | !seen.is(Kind::InvAck);
    assert_always("mesi_llc_ack_expected", acked, "InvAck is expected of its sender");
    let wb = (n.progress.wb & src.eq(n.look.there.owner)) | !seen.is(Kind::WbData);
    assert_always("mesi_llc_wb_data_expected", wb, "WbData comes once, of the owner");
    let unblocks = seen.is(Kind::Unblock) | seen.is(Kind::UnblockX);
    let unblock = (n.progress.unblock & src.eq(n.asked.src)) | !unblocks;
    assert_always("mesi_llc_unblock_expected", unblock, "Unblock comes once, of the requestor");
    let fetch = tbes.entries.valid().bit_at(n.index)
        & !tbes.entries.ready().bit_at(n.index)
        & n.tbe.kind.is(TbeKind::Fetch);
    let text = "memory answers once, and only what it was asked";
    assert_always("mesi_llc_memory_expected", !seen.is(Kind::Mem) | fetch, text);
    let text = "what is answered has been sent";
    assert_always("mesi_llc_all_sent", !(done.complete & n.tbe.todo.any()), text);
    let keeps = seen.is(Kind::WbData) & n.op.kept & n.tbe.kind.is(TbeKind::Evict);
    assert_always("mesi_llc_recalled", !keeps, "a line that is recalled is not kept");
}

fn race(name: &str, cond: Bool, text: &str) {
    observe::race("hmesi_llc", name, cond, text);
}

fn races(seen: &Seen) {
    let (n, done, e) = (&seen.n, &seen.done, &seen.entered.0);
    let upgrade = done.directory.does(Direct::Inv) & n.look.sharers.bit_at(n.op.req.src);
    race("upgrade", upgrade & done.inv.any(), "a sharer asks to write, others are invalidated");
    race("upgrade_alone", upgrade & done.inv.none(), "the only sharer asks to write");
    let again = done.directory.does(Direct::Share) & n.look.sharers.bit_at(n.op.req.src);
    race("share_again", again, "a sharer that has dropped its copy asks again");
    race("put_waits", e.wb_busy, "a Put waits at the head, for its line is busy");
    let iib = n.tbe.kind.is(TbeKind::BusyIib);
    let first = seen.is(Kind::WbData) & iib;
    race("wb_data_first", first & !done.complete, "WbData comes before Unblock");
    race("unblock_first", first & done.complete, "Unblock comes before WbData");
    let gone = done.complete & iib & !(n.progress.kept | (seen.is(Kind::WbData) & n.op.kept));
    race("owner_gone", gone, "the owner of a line that becomes shared has put it before");
    let from = seen.parts.tbes.entries.request(n.look.by).src;
    let mine = done.joins & n.look.blocked & from.ne(n.op.req.src);
    race("conflict", mine, "a client asks for a line that another has asked for");
}

fn list_races(seen: &Seen) {
    let (n, d) = (&seen.n, &seen.done);
    let replay = seen.is(Kind::Replay);
    race("replay", replay & d.directory.does(Direct::DataS), "a stalled request is answered at once");
    race("replay_blocks", replay & d.begins, "a stalled request makes its line busy again");
    let full = d.frames.does(Replace::Join);
    observe::list_races("hmesi_llc", &n.tbe.list, replay, d.begins, d.joins, full);
    let put = n.put & n.look.blocked;
    race("put_in_list", put, "a Put comes between the stalled requests of its line");
    let coming = seen.parts.tbes.at(n.look.by).line.ne(n.op.req.line);
    race(
        "joins_coming",
        d.busy.does(Progresses::Join) & coming,
        "the line is to come when another has been replaced",
    );
}

/// Requests by kind and state, and what is sent.
fn requests(seen: &Seen) {
    let (d, sending) = (&seen.done, &seen.sending);
    let counts = |row: (&str, &str), here: Bool| {
        let name = row.0.trim_start_matches("spandex.hmesi_llc.").replace('.', "_");
        count(&format!("mesi_llc_{name}"), here, row.1);
    };
    table::directory().rows().iter().for_each(|r| counts((&r.id, &r.why), d.directory.row(&r.id)));
    table::frames().rows().iter().for_each(|r| counts((&r.id, &r.why), d.frames.row(&r.id)));
    let sends = |op: HFwdOp| sending.any & sending.msg.op.is(op);
    count("mesi_llc_inv", sends(HFwdOp::Inv), "Inv sent");
    count("mesi_llc_recall", sends(HFwdOp::Recall), "Recall sent");
    count("mesi_llc_fwd_gets", sends(HFwdOp::FwdGetS), "FwdGetS sent");
    count("mesi_llc_fwd_getm", sends(HFwdOp::FwdGetM), "FwdGetM sent");
    count("mesi_llc_entered", seen.entered.0.entered.req, "requests that entered the pipeline");
    let own = seen.is(Kind::Req) & seen.n.op.req.op.is(Get::GetM);
    count("mesi_llc_entered_getm", own, "of these, GetM");
    count("mesi_llc_fills", seen.is(Kind::Mem), "lines that came from memory");
    count("mesi_llc_writes", d.frames.does(Replace::Write), "lines written to memory");
    count("mesi_llc_joined", d.joins, "requests that joined a stall list");
    count("mesi_llc_replayed", seen.is(Kind::Replay), "requests of a stall list that were tried again");
}

fn waiting(seen: &Seen) {
    let (Parts { tbes, outs, .. }, e) = (seen.parts, &seen.entered.0);
    let kinds = [
        ("fetch", TbeKind::Fetch, "cycles of lines blocked for memory, summed"),
        ("evict", TbeKind::Evict, "cycles of lines blocked to be replaced, summed"),
        ("busy_x", TbeKind::BusyX, "cycles of lines in busy-X, summed"),
        ("busy_iib", TbeKind::BusyIib, "cycles of lines in busy-IIB, summed"),
        ("list", TbeKind::List, "cycles of lines blocked while their lists replay, summed"),
    ];
    blocked("mesi_llc", &kinds.map(|(name, kind, text)| (name, tbes.entries.of_kinds(&[kind]), text)));
    waits("mesi_llc", tbes.lists.stalled(), &e.entered, "Put");
    count("mesi_llc_wb_busy", e.wb_busy, "of these, those in which its line is busy");
    outputs(
        "mesi_llc",
        &[
            ("rsp", outs.answers.waits(), "an answer waits for its channel"),
            ("fwd", seen.sending.waits, "a forward waits for its channel"),
            ("mem", outs.orders.waits(), "an order waits for memory"),
        ],
    );
}
