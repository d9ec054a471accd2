//! Requests: GetS and GetM of the L1, and what has failed. Nothing else waits for them.

use super::Core;
use super::params::TuMesiInject;
use crate::mesi_port::{Get, MesiReq};
use crate::msg::{Req, ReqOp, WordOp};
use weft_rtl::prelude::*;

/// Sends requests. One of a line with an open write-back waits (R2), as does one whose entry, or whose line's
/// last entry, has answers left to give.
pub(super) fn requests(core: &Core) {
    let s = &core.p.port.spandex;
    let l1 = in_channel::<MesiReq>("l1_req", &core.p.port);
    let req = out_channel::<Req>("req", s);
    let (m, entries) = (&l1.msg, &core.entries);
    let again = entries.again.get();
    let open = core.buffer.of_line(m.line).any();
    let r2 = open & bool_lit(core.p.inject != TuMesiInject::NoR2);
    let of_line = entries.of_line(m.line);
    let answers = (of_line & entries.after.get()).any();
    let waits = r2 | answers | entries.busy.at(m.tag);
    let repeats = (again.any() & req.free).named("repeats");
    let takes = (l1.valid & req.free & again.none() & !waits).named("takes_request");
    let own = m.op.is(Get::GetM);
    let failed = again.lowest_set();
    let send = |op: Enum<ReqOp>, line: Bits, entry: Bits| {
        req.send(&Req {
            op,
            line,
            mask: lit_bv(Bv::ones(s.words())),
            src: core.own,
            dst: s.home(line),
            tag: entry.resize(s.tag_bits()),
            flex: bool_lit(false),
            fwd: bool_lit(false),
            amo: enum_lit(WordOp::Read),
            cmp: lit(0, 32),
            bmask: lit(0, 4),
            data: lit_bv(Bv::zero(s.data_bits())),
        });
    };
    when(repeats, || {
        entries.repeat(failed);
        send(enum_lit(ReqOp::ReqOData), entries.line(failed), failed);
    });
    when(takes, || {
        l1.take();
        entries.open(m.tag, m.line, own);
        send(mux(own, enum_lit(ReqOp::ReqOData), enum_lit(ReqOp::ReqS)), m.line, m.tag);
    });
    let twice = takes & of_line.any();
    assert_always("tu_mesi_r1", !twice, "R1: a line has one request out");
    let text = "R2: a line with an open write-back is not asked for";
    assert_always("tu_mesi_r2", !(takes & open), text);
    cover("spandex.tu_mesi.GetS", takes & !own, "ReqS of every word.");
    cover("spandex.tu_mesi.GetM", takes & own, "ReqO+data of every word.");
    cover("spandex.tu_mesi.again", repeats, "ReqO+data of every word, for some were not to be had by ReqS.");
    let text = "a line is wanted again while its write-back is open";
    cover("spandex.race.mesi_r2", l1.valid & open, text);
    let text =
        "a line is wanted again while a read of others that was delayed by its last request is not answered";
    cover("spandex.race.mesi_again_before_answer", l1.valid & answers, text);
    count("tu_mesi_request_waits", l1.valid & !takes, "cycles in which a request of the L1 waits");
    count("tu_mesi_r2_waits", l1.valid & open, "cycles in which it waits for a write-back of its line");
    count("tu_mesi_retries", repeats, "lines asked for again after a Nack");
}
