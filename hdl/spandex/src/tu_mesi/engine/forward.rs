//! Forwards: one lookup in the L1, the entries, the write-back buffer and the RAM of write-backs in place, then answer and change in one step (spandex.md section 5).

use super::{Engine, SecondRsp, Seen, Step};
use crate::mesi_port::{ExtOp, LineState, MesiExt, UpOp};
use crate::msg::{Fwd, FwdOp, Rsp, RspOp};
use crate::tu_mesi::Core;
use crate::tu_mesi::entries::{ENGINE, Reader, Removal, RemovalOp};
use crate::tu_mesi::marks::Words;
use crate::tu_mesi::params::TuMesiInject;
use crate::tu_mesi::table::{Case, Forward, Place, forwards};
use weft_rtl::prelude::*;

/// Words that a forward is about.
fn target(m: &Fwd) -> Bits {
    mux(m.op.is_any(&[FwdOp::RvkO, FwdOp::ReqS]), m.own, m.mask)
}

/// What becomes of the line in the L1 if it is there.
fn lookup(m: &Fwd) -> Enum<ExtOp> {
    let all = target(m).all();
    let code = |op: ExtOp| enum_lit(op);
    let gone = mux(all, code(ExtOp::Drop), code(ExtOp::Hold));
    let shared = mux(all, code(ExtOp::Share), code(ExtOp::Hold));
    let op = mux(m.op.is(FwdOp::ReqS), shared, gone);
    let op = mux(m.op.is(FwdOp::ReqV), code(ExtOp::Look), op);
    let op = mux(m.op.is(FwdOp::ReqWt), code(ExtOp::Write), op);
    mux(m.op.is(FwdOp::Inv), code(ExtOp::Inv), op)
}

/// Asks the L1.
pub(super) fn ask(engine: &Engine) {
    let m = &engine.fwd.msg;
    let op = lookup(m);
    engine.ext.send(&MesiExt { op, line: m.line, mask: m.mask, data: m.data });
}

/// The L1 has looked up.
pub(super) fn look(engine: &Engine) {
    let up = &engine.up;
    let found = engine.is(Step::Look) & up.valid & up.msg.op.is(UpOp::Found);
    when(found, || engine.go(Step::Act));
    let same = up.msg.line.eq(engine.fwd.msg.line);
    assert_always("tu_mesi_found_line", !found | same, "the L1 answers for the line asked");
    unused_input(&engine.fwd.msg.dst);
}

/// What a forward meets.
struct Met {
    place: Enum<Place>,
    /// Words of the line that can still be given or read.
    here: Bits,
    /// Entry with a request out; entry of the buffer.
    entry: Bits,
    index: Bits,
    data: Bits,
    dirty: Bool,
    words: Words,
}

fn meet(core: &Core, engine: &Engine) -> Met {
    let m = &engine.fwd.msg;
    let (seen, entries, buffer) = (engine.seen.get(), &core.entries, &core.buffer);
    let (asked, put) = (entries.of_line(m.line), buffer.of_line(m.line));
    let (entry, index) = (asked.lowest_set(), put.lowest_set());
    let held = seen.state.is_any(&LineState::WBP);
    let place = place_of(seen.state, held, asked.any(), put.any()).named("met_place");
    let (of_buffer, of_place) = (buffer.words(index), core.words_in_place());
    let words = Words {
        here: mux(held, of_place.here, of_buffer.here),
        waits: mux(held, of_place.waits, of_buffer.waits),
    };
    let pending = !(entries.gone(entry) | entries.delayed(entry));
    let none = lit_bv(Bv::zero(m.mask.width()));
    let here = mux(place.is(Place::Pd), pending, none);
    let here = mux(place.is_any(&[Place::Wb, Place::Wbp]), words.here, here);
    let here = mux(place.is(Place::O), !none, here).named("met_here");
    let in_buffer = place.is(Place::Wb);
    let dirty = seen.state.is_any(&[LineState::M, LineState::WM]);
    Met {
        place,
        here,
        entry,
        index,
        data: mux(in_buffer, buffer.data(), seen.data),
        dirty: mux(in_buffer, buffer.is_dirty(index), dirty),
        words,
    }
}

/// Where words are: state of the line in the L1, and whether it is written back from there; it is asked for; it is in the write-back buffer.
fn place_of(state: Enum<LineState>, held: Bool, asked: Bool, put: Bool) -> Enum<Place> {
    let owned = state.is_any(&LineState::OWNED);
    let code = |place: Place| enum_lit(place);
    let place = mux(state.is(LineState::S), code(Place::S), code(Place::None));
    let place = mux(asked, code(Place::Pd), place);
    let place = mux(put, code(Place::Wb), place);
    let place = mux(held, code(Place::Wbp), place);
    mux(owned, code(Place::O), place)
}

/// Where the words are afterwards: the L1 has changed its line as it was asked to when it looked it up, by its own table.
fn place_after(core: &Core, engine: &Engine, met: &Met) -> Enum<Place> {
    let state = engine.seen.get().state;
    let op = lookup(&engine.fwd.msg);
    let code = |state: LineState| enum_lit(state);
    let owned = mux(op.is(ExtOp::Drop), code(LineState::I), state);
    let owned = mux(op.is(ExtOp::Share), code(LineState::S), owned);
    let owned = mux(op.is(ExtOp::Hold), code(LineState::WM), owned);
    let invalid = op.is(ExtOp::Inv) & state.is(LineState::S);
    let state = mux(state.is_any(&LineState::OWNED), owned, mux(invalid, code(LineState::I), state));
    let asked = met.place.is(Place::Pd) & core.entries.busy.after(met.entry);
    let put = met.place.is(Place::Wb) & core.buffer.stays(met.index);
    place_of(state, state.is_any(&LineState::WBP), asked, put)
}

/// Answer and change.
pub(super) fn act(core: &Core, engine: &Engine) {
    let m = &engine.fwd.msg;
    let met = meet(core, engine);
    // A line that was put since the forward was chosen is sent first: the removal then crosses a write-back.
    let unsent = met.place.is(Place::Wb) & core.buffer.unsent.at(met.index);
    let again = engine.is(Step::Act) & unsent;
    let goes = (engine.is(Step::Act) & !unsent).named("fwd_acts");
    let words = target(m);
    let part = met.place.is(Place::O) & !words.all();
    let busy = met.place.is(Place::Pd) & core.entries.reader.at(met.entry);
    let code = |case: Case| lit(case.encoding(), 1);
    let case = mux(part | busy, code(Case::Other), code(Case::Plain));
    let direct = if core.p.inject == TuMesiInject::StaleDirect {
        m.direct & !met.place.is_any(&[Place::Wb, Place::Wbp])
    } else {
        m.direct
    };
    let row = forwards().decode_about(m.line, goes, (m.op, direct, met.place, case));
    when(again, || engine.go(Step::Idle));
    when(goes, || {
        engine.fwd.take();
        engine.go(Step::Idle);
        engine.line.set(m.line);
        engine.keeps.set(false);
        engine.tells.set(false);
        engine.from_buffer.set(false);
        engine.seen.set(Seen { data: met.data, ..engine.seen.get() });
    });
    let does = |action| goes & row.does(action);
    respond(core, engine, &met, &row, goes);
    remember(core, &met, m, &does);
    leave(core, engine, &met, words, &does);
    row.leads_to(place_after(core, engine, &met));
    let triggers = does(Forward::Trigger);
    engine.has_wb("tu_mesi_trigger_free", triggers);
    when(triggers, || {
        let line = m.line;
        engine.write_back(core, line, !words, met.data, met.dirty);
        core.set_in_place(line, engine.seen.get().way, &Words::pending(!words));
    });
    let removal = does(Forward::Grant)
        | does(Forward::Give)
        | does(Forward::Return)
        | does(Forward::Share)
        | does(Forward::Record);
    let text = "a removal names words that are here, each once per ownership";
    assert_always("tu_mesi_one_removal", !removal | (words.any() & (words & !met.here).none()), text);
    let text = "a line is in the L1 or the write-back buffer or asked for, not in two of them";
    let asked = core.entries.of_line(m.line).any() & core.buffer.of_line(m.line).any();
    assert_always("tu_mesi_one_place", !goes | !asked, text);
    cover("spandex.race.mesi_put_overtakes", again, "a line is replaced while a forward looks it up");
    observe(&met, m, &row, goes);
}

/// Words of the forward that are served, and that are refused.
fn respond(core: &Core, engine: &Engine, met: &Met, row: &Decoded<Place, Forward>, goes: Bool) {
    let (m, s) = (&engine.fwd.msg, &core.p.port.spandex);
    let (served, failed) = ((m.mask & met.here).named("fwd_served"), m.mask & !met.here);
    let reader = (m.req.resize(s.node_bits()), m.tag);
    let bank = (m.src, m.tbe.resize(s.tag_bits()));
    let does = |action| goes & row.does(action);
    let rsp = |op: RspOp, mask: Bits, to: (Bits, Bits)| core.rsp(op, m.line, mask, to, met.data);
    let refused = mux(row.does(Forward::Refuse), m.mask, failed);
    let splits = does(Forward::Serve) & served.any() & failed.any();
    let nack = does(Forward::Refuse) | ((does(Forward::Serve) | does(Forward::Delay)) & failed.any());
    let mut read = rsp(RspOp::RspV, served, reader);
    let welcome = m.flex & met.place.is(Place::O) & bool_lit(core.p.flex_rsp);
    read.extra = !m.mask & welcome.repeat(s.words());
    when(does(Forward::Serve) & served.any(), || core.push(&read));
    let mut refusal = rsp(RspOp::NackV, refused, reader);
    refusal.direct = m.direct;
    when(nack & !splits, || core.push(&refusal));
    let op = mux(m.for_wt, enum_lit(RspOp::RspWt), enum_lit(RspOp::RspO));
    when(does(Forward::Grant), || core.push(&Rsp { op, ..rsp(RspOp::RspO, m.mask, reader) }));
    when(does(Forward::Give), || {
        core.push(&Rsp { dirty: met.dirty, ..rsp(RspOp::RspOData, m.mask, reader) })
    });
    let nodata = row.does(Forward::Nodata);
    let dirty = met.dirty & !nodata;
    let back = Rsp { dirty, nodata, ..rsp(RspOp::RspRvkO, m.own, bank) };
    when(does(Forward::Return), || core.push(&back));
    let wanted = m.mask & m.own;
    when(does(Forward::Share) & wanted.any(), || core.push(&rsp(RspOp::RspS, wanted, reader)));
    when(does(Forward::Write), || core.push(&rsp(RspOp::RspWt, m.mask, reader)));
    when(does(Forward::NackWt), || {
        core.push(&Rsp { direct: m.direct, ..rsp(RspOp::NackWt, m.mask, reader) })
    });
    let none = lit_bv(Bv::zero(s.words()));
    when(does(Forward::Ack), || core.push(&rsp(RspOp::Ack, none, bank)));
    let shares = row.does(Forward::Share);
    when(splits | does(Forward::Share), || {
        let nack = SecondRsp {
            op: enum_lit(RspOp::NackV),
            mask: failed,
            dst: reader.0,
            tag: reader.1,
            nodata: bool_lit(false),
            kept_s: bool_lit(false),
            dirty: bool_lit(false),
            direct: m.direct,
        };
        let rvk = SecondRsp {
            op: enum_lit(RspOp::RspRvkO),
            mask: m.own,
            dst: bank.0,
            tag: bank.1,
            nodata,
            kept_s: row.does(Forward::Keep),
            dirty,
            direct: bool_lit(false),
        };
        engine.second.set(mux(shares, rvk, nack));
        engine.go(Step::Second);
    });
}

/// What is noted at an entry whose request is out.
fn remember(core: &Core, met: &Met, m: &Fwd, does: &dyn Fn(Forward) -> Bool) {
    let (entries, entry) = (&core.entries, met.entry);
    when(does(Forward::Once), || entries.once.raise(ENGINE, entries.one(entry)));
    when(does(Forward::Delay) & (m.mask & met.here).any(), || {
        entries.delay(entry, &Reader { mask: m.mask & met.here, dev: m.req, tag: m.tag });
    });
    let code = |op: RemovalOp| enum_lit(op);
    let kind = mux(m.op.is(FwdOp::RvkO), code(RemovalOp::Return), code(RemovalOp::Give));
    let grant = mux(m.for_wt, code(RemovalOp::GrantWt), code(RemovalOp::Grant));
    let kind = mux(m.op.is(FwdOp::ReqO), grant, kind);
    let rows: Vec<Removal> = (0..m.mask.width())
        .map(|w| {
            let share = mux(m.mask.bit(w), code(RemovalOp::Share), code(RemovalOp::Leave));
            let op = mux(m.op.is(FwdOp::ReqS), share, kind);
            Removal { op, dev: m.req, tag: m.tag, tbe: m.tbe }
        })
        .collect();
    when(does(Forward::Record), || entries.record(entry, target(m), &rows));
}

/// A removal that crosses a write-back: it answers for its words, with RspWB (R2).
fn leave(core: &Core, engine: &Engine, met: &Met, words: Bits, does: &dyn Fn(Forward) -> Bool) {
    let after = met.words.removed(words);
    let (buffer, place) = (met.place.is(Place::Wb), met.place.is(Place::Wbp));
    when(does(Forward::Leave) & buffer, || core.buffer.change(met.index, &after));
    when(does(Forward::Leave) & place, || {
        core.set_in_place(engine.fwd.msg.line, engine.seen.get().way, &after);
        when(!after.open(), || {
            engine.tells.set(true);
            // A second response goes first.
            when(!does(Forward::Share), || engine.go(Step::Tell));
        });
    });
}

fn observe(met: &Met, m: &Fwd, row: &Decoded<Place, Forward>, goes: Bool) {
    let race = |name: &str, cond: Bool, text: &str| {
        cover(&format!("spandex.race.mesi_{name}"), goes & cond, text);
    };
    let does = |action| row.does(action);
    let removal = does(Forward::Grant)
        | does(Forward::Give)
        | does(Forward::Return)
        | does(Forward::Share)
        | does(Forward::Record);
    let at = |places: &[Place]| met.place.is_any(places);
    race("pending_to", removal & at(&[Place::Pd]), "race 1: a removal comes before what it removes");
    race("pending_from", removal & at(&[Place::Wb, Place::Wbp]), "race 2: a removal meets a write-back");
    let inv = m.op.is(FwdOp::Inv);
    race("upgrade", inv & at(&[Place::Pd]), "race 2: an invalidation meets a request");
    race("other_state", inv & at(&[Place::None, Place::O]), "race 3: an invalidation of no copy");
    let read = m.op.is(FwdOp::ReqV);
    race("read_gone", read & at(&[Place::None, Place::S]), "race 3: a read of words that are gone");
    let split = does(Forward::Serve) & (m.mask & met.here).any() & (m.mask & !met.here).any();
    race("split", split, "a read finds some of its words");
    let stale = m.direct & read & at(&[Place::Wb, Place::Wbp]);
    race("direct_write_back", stale, "a direct read meets a write-back");
    let direct = goes & m.direct;
    count(
        "tu_mesi_direct_hits",
        direct & (does(Forward::Serve) | does(Forward::Write)),
        "direct requests served",
    );
    count(
        "tu_mesi_direct_misses",
        direct & !(does(Forward::Serve) | does(Forward::Write)),
        "direct requests refused",
    );
    count("tu_mesi_forwards", goes, "forwards");
    count(
        "tu_mesi_delays",
        goes & (does(Forward::Delay) | does(Forward::Record)),
        "forwards that are delayed",
    );
    count("tu_mesi_acks", goes & does(Forward::Ack), "invalidations acknowledged");
    count(
        "tu_mesi_refused",
        goes & (does(Forward::Refuse) | does(Forward::NackWt)),
        "forwards answered by a Nack",
    );
}
