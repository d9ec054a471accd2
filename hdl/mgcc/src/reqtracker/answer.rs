//! Answers of DRAM and TSU, and those to the L2 banks.

use super::entries::{Entries, Granted, Line};
use super::types::{Answers, Results};
use super::{TrackerParams, WrspData};
use crate::msg::*;
use weft_rtl::prelude::*;

/// Takes what DRAM and TSU answer.
pub(super) fn results(p: &TrackerParams, e: &Entries) -> Results {
    let (t, n) = (&p.tsm, p.entries);
    let dram = in_channel::<DramRsp>("dram_rsp", t);
    let dram_index = dram.msg.id.slice(0, p.index_bits());
    when(dram.valid, || {
        dram.take();
        e.line_writer.write(dram_index, &Line { data: dram.msg.data, old: dram.msg.old });
    });
    let dram_oh = (dram_index.one_hot(n) & dram.valid.repeat(n)).named("dram_oh");
    let known = |oh: Bits, of: Bits| oh.none() | (oh & of).any();
    let waiting = e.serv() & !e.dram_done.get();
    assert_always("dram_expected", known(dram_oh, waiting), "DRAM answers what is in service, once");
    if !p.coherent() {
        let none = lit_bv(Bv::zero(n));
        return Results { dram: dram_oh, granted: none, overflowed: none };
    }
    let tsu = in_channel::<TsuRsp>("tsu_rsp", t);
    let tsu_index = tsu.msg.id.slice(0, p.index_bits());
    let ovf = tsu.msg.ovf;
    when(tsu.valid, || tsu.take());
    if let Some(grants) = &e.grants {
        let writer = grants.lane_writer("in");
        let grant = Granted { tag: tsu.msg.tag, wts: tsu.msg.wts, rts: tsu.msg.rts };
        when(tsu.valid, || writer.write(tsu_index, &grant));
    }
    let tsu_oh = (tsu_index.one_hot(n) & tsu.valid.repeat(n)).named("tsu_oh");
    let waiting = e.in_service() & !e.granted(p) & !e.overflowed.get();
    assert_always("grant_expected", known(tsu_oh, waiting), "the TSU answers what it was asked, once");
    assert_always(
        "reads_fit",
        !(tsu.valid & ovf) | !e.info.read(tsu_index).op.is(TsmOp::Rd),
        "a read never overflows",
    );
    cover(
        "mgcc.race.trk_overflow_after_dram",
        (tsu_oh & e.dram_done.get()).any() & ovf,
        "DRAM is written, the grant is refused",
    );
    let split = |yes: Bool| tsu_oh & yes.repeat(n);
    Results { dram: dram_oh, granted: split(!ovf), overflowed: split(ovf) }
}

/// Answers what has its line and its grant, the oldest first.
pub(super) fn answers(p: &TrackerParams, e: &Entries) -> Answers {
    let (t, n) = (&p.tsm, p.entries);
    let rsp = out_channel::<UmcRsp>("rsp", t);
    let staged = reg::<Bool>("answer_valid", ());
    let index = reg::<Bits>("answer_index", p.index_bits());
    let row = reg::<Bits>("answer_row", p.index_bits()).doc("Entry whose buffer holds the line.");
    let leaves = (staged.get() & rsp.free).named("answer_leaves");
    let room = (!staged.get() | rsp.free).named("answer_room");

    let serv = e.serv();
    let lines = serv & e.dram_done.get();
    let there = (lines | (e.att() & e.each(|i| (e.same[i].get() & lines).any()))).named("line_there");
    let in_stage = index.get().one_hot(n) & staged.get().repeat(n);
    let ready = (there & e.granted(p) & !e.answered.get() & !in_stage).named("answerable");
    let oldest = e.oldest(ready).named("answer_oh");
    let next = oldest.lowest_set();
    let attached = (oldest & e.att()).any();
    let own_write = (e.same_of(next) & serv).lowest_set();
    let next_row = mux(attached, own_write, next).named("answer_next_row");
    e.line_port.present(mux(room, next_row, row.get()));
    when(room, || {
        staged.set(ready.any());
        index.set(next);
        row.set(next_row);
    });

    let info = e.info.read(index.get());
    let grant = e.grants.as_ref().map(|g| g.read(index.get()));
    let line = e.line_port.lane(0);
    let full = e.full_mask.get().bit_at(index.get());
    let with_data =
        if p.wrsp_data == WrspData::Always { bool_lit(true) } else { !info.op.is(TsmOp::Wr) | !full };
    when(leaves, || {
        rsp.send(&UmcRsp {
            op: info.op,
            dst: info.src,
            txn: info.txn,
            tag: grant.map_or_else(|| lit(0, t.eb), |g| g.tag),
            wts: grant.map_or_else(|| lit(0, t.ts), |g| g.wts),
            rts: grant.map_or_else(|| lit(0, t.ts), |g| g.rts),
            with_data,
            data: line.data,
            old: line.old,
        });
    });
    if p.merge_raw {
        let parent = e.answered.get().bit_at(row.get());
        let from_write = index.get().ne(row.get());
        cover(
            "mgcc.race.trk_read_before_write",
            leaves & from_write & !parent,
            "an attached read answers before its write",
        );
        cover(
            "mgcc.race.trk_read_after_write",
            leaves & from_write & parent,
            "an attached read answers after its write",
        );
    }
    count("trk_answers", leaves, "answers sent");
    count("trk_answer_stalls", staged.get() & !rsp.free, "cycles in which an answer waited");
    let once = !leaves | !e.answered.get().bit_at(index.get());
    assert_always("answered_once", once, "one response per request");
    Answers { leaves, index: index.get() }
}
