//! Stage 1 of `l2-wb`: as that of `mgcc-l2`, but stores stay here as dirty bytes, and what is in the way of a miss is written back first.

use super::back_table::{self, BackDo, BackState, Kept, Reply};
use super::clock::Sweep;
use super::decide::Parts;
use super::decision::BackDecision;
use super::flush::Flush;
use super::lease::{Around, Grant, Leases};
use super::mshr::Match;
use super::outputs::BackStep;
use super::tags::Lookup;
use super::types::*;
use super::walker::Outcome;
use crate::choice::WrspData;
use crate::msg::TsmOp;
use crate::params::LINE;
use weft_rtl::prelude::*;

fn request_state(look: &Lookup, found: &Match, class: Enum<Class>) -> Bits {
    let code = |state: BackState| lit(state.encoding(), 3);
    let state = wire_zero::<Bits>("s1_state", 3);
    let victim_dirty = look.victim_tag.state.is(LineState::K);
    let room = mux(victim_dirty, code(BackState::Dirty), code(BackState::I));
    let absent = mux(look.victim_ok, room, code(BackState::Full));
    switch(look.state, |s| {
        s.case(LineState::I, || state.set(absent));
        s.case(LineState::P, || state.set(code(BackState::P)));
        s.case(LineState::V, || state.set(code(BackState::V)));
        s.case(LineState::K, || state.set(code(BackState::D)));
    });
    when(found.hit & class.is(Class::Request), || state.set(code(BackState::M)));
    state.get()
}

/// State of a way in the words of the tables.
fn way_state(state: Enum<LineState>) -> Enum<BackState> {
    let is = |line, then: BackState, other| mux(state.is(line), enum_lit(then), other);
    let dirty = is(LineState::K, BackState::D, enum_lit(BackState::I));
    is(LineState::V, BackState::V, is(LineState::P, BackState::P, dirty))
}

/// Asserts that the line's way is in the state to which the row leads.
fn follows(parts: &Parts, d: &BackDecision) {
    let (p, look) = (parts.p, &d.look);
    let line = parts.tags.state_after(d.op.set, d.way, p.tag_of(d.op.req.line));
    let after = way_state(line);
    // Of a line that stays absent a request sees what the way for it is like.
    let same = d.seen.is(BackState::M) | (!look.hit & line.is(LineState::I));
    d.requests.leads_to(mux(same, d.seen, after));
    d.fills.leads_from_to(way_state(look.state), after);
    back_table::machine(p.kind()).check(&[]);
}

/// Carries out stage 1; of G-TSC with what it grants.
pub(super) fn connect(
    parts: &Parts,
    flush: &Flush,
    sweep: &Sweep,
    leases: Option<&Leases>,
) -> (BackDecision, Option<Grant>) {
    let Parts { m, walker, .. } = parts;
    let d = decide(parts, flush, sweep);
    let around = Around { m: parts.m, tags: parts.tags, known: parts.select.s1_wts.as_ref() };
    let grant = leases.zip(parts.clock).map(|(leases, clock)| leases.grant(&around, clock, &d));
    change_line(parts, &d, flush);
    change_mshrs(parts, &d, flush);
    let answered = d.r(BackDo::Answer);
    walker.finish(m, d.replay(), &Outcome { answered, opened: d.opens, stays: d.waits });
    pass_on(parts, &d, flush, grant.as_ref());
    follows(parts, &d);
    (d, grant)
}

fn decide(parts: &Parts, flush: &Flush, sweep: &Sweep) -> BackDecision {
    let Parts { p, select, tags, m, .. } = parts;
    let op = select.s1.get();
    let (fill, flushes) = (select.s1_is(Class::Fill), select.s1_is(Class::Flush));
    let first = select.s1_is(Class::Request);
    let asked = (first | select.s1_is(Class::Replay)).named("s1_asked");
    let look = tags.look(p.tag_of(op.req.line), None);
    let found = m.find(op.req.line);
    let flag = |flags: &Option<super::mshr::Flags>| flags.as_ref().map_or(bool_lit(false), |f| f.at(op.mshr));
    let (written, quiet) = (flag(&m.writes), flag(&m.quiet));
    let state = request_state(&look, &found, op.class);
    let requests = back_table::requests(p.kind()).decode_about(
        op.req.line,
        asked,
        (state, super::decide::request_event(&op)),
    );
    let (kept, none) = (lit(Kept::Kept.encoding(), 1), lit(Kept::None.encoding(), 1));
    let place = mux(look.is(LineState::P), kept, none).named("s1_place");
    let (over, here) = (lit(Reply::Written.encoding(), 1), lit(Reply::Done.encoding(), 1));
    let done = mux(written, over, here).named("s1_answer");
    let fills = back_table::fills(p.kind()).decode_about(op.req.line, fill, (place, done));
    let r = |action| asked & requests.does(action);
    let writes = if p.orders() { r(BackDo::Evict) } else { r(BackDo::Evict) | r(BackDo::Flush) };
    let waits = writes | r(BackDo::FetchFirst);
    let opens = (waits | r(BackDo::Fetch) | r(BackDo::Past)).named("s1_opens");
    let way = mux(look.hit, look.way, look.victim);
    let way = mux(flushes, look.held.lowest_set(), way).named("s1_way");
    let flushed = flushes & look.held.any();
    BackDecision {
        asked,
        fill,
        flush: flushes,
        written,
        quiet,
        opens,
        writes,
        waits,
        way,
        sends_dirty: writes | flushed,
        look,
        found,
        requests,
        fills,
        seen: state.as_enum::<BackState>(),
        op,
        drops: flush.drops(sweep),
    }
}

/// Tags, states, ages.
fn change_line(parts: &Parts, d: &BackDecision, flush: &Flush) {
    let (p, tags, look, set) = (parts.p, parts.tags, &d.look, d.op.set);
    let tag = p.tag_of(d.op.req.line);
    let state = |s: LineState| enum_lit(s);
    when(d.r(BackDo::Keep), || tags.write(set, d.way, tag, state(LineState::P)));
    when(d.r(BackDo::Write), || tags.write(set, d.way, tag, state(LineState::K)));
    if !p.orders() {
        when(d.r(BackDo::Drop), || tags.write(set, d.way, tag, state(LineState::I)));
    }
    when(d.installs(), || tags.write(set, d.way, tag, state(LineState::V)));
    when(d.r(BackDo::Keep) | d.r(BackDo::Answer) | d.installs(), || tags.touch(set, look, d.way));
    let more = d.flush & (look.held & !d.way.one_hot(p.ways)).any();
    flush.more.set(more);
    when(d.flush, || tags.flush(set, look.held & d.way.one_hot(p.ways), d.drops));
}

/// MSHRs, lists, pool.
fn change_mshrs(parts: &Parts, d: &BackDecision, flush: &Flush) {
    let Parts { p, m, walker, .. } = parts;
    let req = &d.op.req;
    let who = Waiting::of(req);
    let opened = mux(d.op.class.is(Class::Replay), d.op.mshr, m.free_index());
    let asks = mux(d.writes, enum_lit(TsmOp::Wr), mux(d.r(BackDo::Past), req.op, enum_lit(TsmOp::Rd)));
    let need = p.gtsc().then_some(Need { tag: req.tag, ts: req.ts });
    let wts = parts.select.s1_wts.as_ref().map(|wts| wts.get());
    when(d.opens, || {
        m.own(opened, &Waiting { op: asks, ..who }, need);
        m.own_wts(opened, wts);
    });
    when(d.opens & d.first(), || m.open(req.line));
    let list = m.list(d.found.index);
    when(d.r(BackDo::Append), || {
        m.append(d.found.index, list, &who, &Payload::of(req), need);
        m.append_wts(wts);
        walker.appends(d.found.index);
    });
    when(d.waits & d.first(), || {
        m.append(opened, m.empty_list(), &who, &Payload::of(req), need);
        m.append_wts(wts);
    });
    let flushed = d.flush & d.sends_dirty;
    let line = p.line_from(parts.tags.at(d.way).tag, d.op.set, flush.bank.get());
    when(flushed, || {
        m.open(line);
        m.own(opened, &Waiting { op: enum_lit(TsmOp::Wr), ..who }, None);
    });
    when(d.asked, || flush.bank.set(p.tsm.bank_of(req.line)));
    for (flags, high) in
        [(&m.writes, d.sends_dirty), (&m.quiet, d.waits | flushed), (&m.past, d.r(BackDo::Past))]
    {
        if let Some(flags) = flags {
            when(d.opens | flushed, || flags.put(opened, high));
        }
    }
    let more = m.list(d.op.mshr).count.any();
    when(d.fill & more, || m.walk.raise(d.op.mshr));
    when(d.fill & !more, || m.free_by_fill(d.op.mshr));
}

/// The step of stage 2.
fn pass_on(parts: &Parts, d: &BackDecision, flush: &Flush, grant: Option<&Grant>) {
    let Parts { p, m, outs, walker, clock, .. } = parts;
    let (req, landing, who) = (&d.op.req, m.landing[0].lane(0), m.info(d.op.mshr));
    let (zero_tag, zero) = (lit(0, p.tsm.eb), lit(0, p.tsm.ts));
    let whole = Payload { mask: lit_bv(Bv::ones(LINE)), data: landing.data, ..Payload::of(req) };
    let opened = mux(d.op.class.is(Class::Replay), d.op.mshr, m.free_index());
    let fetches = d.r(BackDo::Fetch) | d.r(BackDo::FetchFirst);
    let asks = mux(d.sends_dirty, enum_lit(TsmOp::Wr), mux(fetches, enum_lit(TsmOp::Rd), req.op));
    let victim = p.line_from(
        parts.tags.at(d.way).tag,
        d.op.set,
        mux(d.asked, p.tsm.bank_of(req.line), flush.bank.get()),
    );
    let partial = !req.mask.all();
    let carries = match p.wrsp_data {
        WrspData::Partial => !req.op.is(TsmOp::Wr) | partial,
        WrspData::Always => bool_lit(true),
    };
    let stamps = grant.map_or(Stamps { wts: zero, rts: zero }, |grant| grant.stamps);
    let with_data = mux(d.fill, landing.with_data, carries);
    let fresh = d.replay() & walker.fresh();
    let step = Step {
        row: p.row_of(d.op.set, d.way),
        write: d.installs() | d.r(BackDo::Write),
        answer: d.answers(),
        array: d.r(BackDo::Answer),
        request: d.opens | d.sends_dirty,
        op: asks,
        who: mux(d.fill, who, Waiting::of(req)),
        payload: mux(d.fill, whole, Payload::of(req)),
        line: mux(d.sends_dirty, victim, req.line),
        mshr: opened,
        tag: clock.map_or(zero_tag, |clock| clock.tag()),
        ts: zero,
        wts: stamps.wts,
        rts: stamps.rts,
        with_data: grant.map_or(with_data, |grant| grant.with_data),
        old: landing.old,
        from_memory: d.fill | fresh,
    };
    let back = BackStep { evict: d.sends_dirty, dirty: d.look.is(LineState::K) };
    outs.accept(step.answer | step.request | step.write, &step, None, Some(back));
}
