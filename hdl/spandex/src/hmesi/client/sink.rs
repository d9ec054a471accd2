//! Requests of the L1, and responses: each response is taken when it comes, whatever the outputs do. What it causes is a mark of its entry.

use super::Core;
use super::entries::NET;
use super::params::ClientInject;
use super::table::{Place, Respond, responses};
use crate::hmesi::msg::{HReq, HRsp, HRspOp};
use crate::mesi_port::{Get, MesiReq};
use weft_rtl::prelude::*;

/// Sends requests. One of a line with an open Put waits, as does one whose entry, or whose line's last entry, is not done.
pub(super) fn requests(core: &Core) {
    let s = &core.p.port.spandex;
    let l1 = in_channel::<MesiReq>("l1_req", &core.p.port);
    let req = out_channel::<HReq>("req", s);
    let (m, entries) = (&l1.msg, &core.entries);
    let open = core.buffer.of_line(m.line).any();
    let r2 = open & bool_lit(core.p.inject != ClientInject::NoR2);
    let last = entries.of_line(m.line).any() | entries.busy.at(m.tag) | entries.unblocks.at(m.tag);
    let takes = (l1.valid & req.free & !r2 & !last).named("takes_request");
    let own = m.op.is(Get::GetM);
    when(takes, || {
        l1.take();
        entries.open(m.tag, m.line, own);
        req.send(&HReq {
            op: m.op,
            line: m.line,
            src: core.own.zext(s.h_node_bits()),
            dst: s.l3_home(m.line),
            tag: m.tag.resize(s.tag_bits()),
        });
    });
    assert_always("hmesi_client_r2", !(takes & open), "a line whose Put is open is not asked for");
    cover("spandex.hmesi_client.GetS", takes & !own, "GetS");
    cover("spandex.hmesi_client.GetM", takes & own, "GetM");
    let text = "a line is wanted again while its Put is open";
    cover("spandex.race.hmesi_client_r2", l1.valid & open, text);
    count("hmesi_client_gets", takes & !own, "GetS sent");
    count("hmesi_client_getm", takes & own, "GetM sent");
    count("hmesi_client_request_waits", l1.valid & !takes, "cycles in which a request of the L1 waits");
}

/// What a response is awaited by.
struct Awaited {
    place: Enum<Place>,
    entry: Bits,
    index: Bits,
    line: Bits,
}

fn awaited(core: &Core, m: &HRsp) -> Awaited {
    let (p, s) = (&core.p, &core.p.port.spandex);
    let (entries, buffer) = (&core.entries, &core.buffer);
    let entry = m.tag.slice(0, s.mshr_bits());
    let from = m.tag - u64::from(p.buffer_tag());
    let index = from.resize(bits_for(u64::from(s.wbb)));
    let code = |place: Place| enum_lit(place);
    let gets = mux(entries.once.at(entry), code(Place::Isi), code(Place::Is));
    let asked = mux(entries.own.at(entry), code(Place::Im), gets);
    let known = m.tag.zext(16).lt(u64::from(s.mshrs)) & entries.busy.at(entry) & !entries.full.at(entry);
    let asked = mux(known, asked, code(Place::I));
    let sent = buffer.busy.at(index) & !buffer.unsent.at(index);
    let put = m.tag.zext(16).ge(u64::from(p.buffer_tag())) & sent;
    let puts = mux(buffer.gone.at(index), code(Place::Ii), code(Place::Mi));
    Awaited {
        place: mux(put, puts, asked),
        entry,
        index,
        line: mux(put, buffer.line(index), entries.line(entry)),
    }
}

/// Takes responses, but not in cycles in which the engine changes what they may change.
pub(super) fn sink(core: &Core, closed: Bool) {
    let s = &core.p.port.spandex;
    let rsp = in_channel::<HRsp>("rsp", s);
    let (m, entries) = (&rsp.msg, &core.entries);
    unused_input(&m.src);
    unused_input(&m.dirty);
    unused_input(&m.kept);
    let here = m.dst.eq(core.own.zext(s.h_node_bits()));
    assert_always("hmesi_client_own", !rsp.valid | here, "a response comes to the client that it is for");
    let takes = (rsp.valid & !closed).named("sink_takes");
    when(takes, || rsp.take());
    let Awaited { place, entry, index, line } = awaited(core, m);
    let width = s.client_bits() + 1;
    let comes = m.op.is(HRspOp::DataM);
    let now = entries.acks(entry);
    let acks = mux(comes, now + m.acks.zext(width), now - 1).named("acks_next");
    let early = bool_lit(core.p.inject == ClientInject::EarlyM);
    let last = (comes | entries.data.at(entry)) & (acks.none() | early);
    let row = responses().decode_about(line, takes, (m.op, place, last));
    let does = |action| takes & row.does(action);
    let one = entries.one(entry);
    when(does(Respond::Store), || {
        entries.store(entry, m.data);
        when(m.peer, || entries.peer.raise(NET, one));
    });
    when(does(Respond::Count), || entries.set_acks(entry, acks));
    when(does(Respond::Store) & comes, || entries.data.raise(NET, one));
    let owned = !m.op.is(HRspOp::DataS);
    let skips = bool_lit(core.p.inject == ClientInject::NoUnblock) & place.is(Place::Isi);
    when(does(Respond::Full), || entries.full.raise(NET, one));
    when(does(Respond::Full) & owned, || entries.excl.raise(NET, one));
    when(does(Respond::Full) & (owned | (m.peer & !skips)), || entries.unblocks.raise(NET, one));
    when(does(Respond::Close), || core.buffer.close(index));
    assert_always(
        "hmesi_client_line",
        !takes | line.eq(m.line),
        "a response names the line of its transaction",
    );
    let early = does(Respond::Count) & !comes & !entries.data.at(entry);
    cover("spandex.race.hmesi_client_ack_first", early, "InvAck comes before DataM");
    let old = does(Respond::Full) & m.op.is(HRspOp::DataE) & place.is(Place::Isi);
    cover("spandex.race.hmesi_client_old_inv", old, "Inv of an older copy meets a request that is granted");
    count("hmesi_client_acks", takes & m.op.is(HRspOp::InvAck), "InvAcks of other clients");
}
