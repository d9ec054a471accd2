//! Stage 1 of `l2-wb`: as that of `mgcc-l2`, but stores stay here as dirty bytes, and what is in the way of a miss is written back first.

use super::back_table;
use super::clock::Sweep;
use super::decide::Parts;
use super::flush::Flush;
use super::lease::{Grant, Leases};
use super::mshr::Match;
use super::outputs::BackStep;
use super::tags::Lookup;
use super::types::*;
use super::walker::Outcome;
use crate::choice::WrspData;
use crate::msg::TsmOp;
use crate::params::LINE;
use weft_rtl::prelude::*;

/// The decision of stage 1, for observers.
pub(super) struct BackDecision {
    pub op: Op,
    /// A request or a replay.
    pub asked: Bool,
    pub fill: Bool,
    pub flush: Bool,
    pub look: Lookup,
    pub found: Match,
    pub requests: Decoded,
    pub fills: Decoded,
    /// The answer of memory is that to a write-back.
    pub written: Bool,
    /// Who asked first waits in the list.
    pub quiet: Bool,
    pub opens: Bool,
    /// The transaction opened is for dirty bytes that are in the way; or one whose requester waits in the list.
    pub writes: Bool,
    pub waits: Bool,
    /// Way that the operation is about.
    pub way: Bits,
    /// Dirty bytes go to memory.
    pub sends_dirty: Bool,
    /// A flush drops what it finds.
    pub drops: Bool,
}

impl BackDecision {
    /// A request or replay takes an action.
    pub fn r(&self, name: &str) -> Bool {
        self.asked & self.requests.action(name)
    }
    /// Somebody is answered.
    pub fn answers(&self) -> Bool {
        self.r("answer") | (self.fill & !self.written & !self.quiet)
    }
    /// It is a request of an L1, not a replay.
    pub fn first(&self) -> Bool {
        self.asked & self.op.class.is(Class::Request)
    }
    /// It is a replay.
    pub fn replay(&self) -> Bool {
        self.asked & self.op.class.is(Class::Replay)
    }
    /// A line comes into the way kept for it.
    pub fn installs(&self) -> Bool {
        self.fill & self.fills.action("install")
    }
}

fn request_state(look: &Lookup, found: &Match, class: Enum<Class>) -> Bits {
    let state = wire_zero::<Bits>("s1_state", 3);
    let victim_dirty = look.victim_tag.state.is(LineState::K);
    let absent = mux(look.victim_ok, mux(victim_dirty, lit(1, 3), lit(0, 3)), lit(2, 3));
    switch(look.state, |s| {
        s.case(LineState::I, || state.set(absent));
        s.case(LineState::P, || state.set(3));
        s.case(LineState::V, || state.set(4));
        s.case(LineState::K, || state.set(5));
    });
    when(found.hit & class.is(Class::Request), || state.set(6));
    state.get()
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
    let grant = leases.zip(parts.clock).map(|(leases, clock)| leases.grant(parts, clock, &d));
    change_line(parts, &d, flush);
    change_mshrs(parts, &d, flush);
    let answered = d.r("answer");
    walker.finish(m, d.replay(), &Outcome { answered, opened: d.opens, stays: d.waits });
    pass_on(parts, &d, flush, grant.as_ref());
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
        &[state, super::decide::request_event(&op)],
    );
    let place = mux(look.is(LineState::P), lit(0, 1), lit(1, 1)).named("s1_place");
    let done = mux(written, lit(0, 1), lit(1, 1)).named("s1_answer");
    let fills = back_table::fills(p.kind()).decode_about(op.req.line, fill, &[place, done]);
    let r = |name: &str| asked & requests.action(name);
    let writes = if p.orders() { r("evict") } else { r("evict") | r("flush") };
    let waits = writes | r("fetch_first");
    let opens = (waits | r("fetch") | r("past")).named("s1_opens");
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
        op,
        drops: flush.drops(sweep),
    }
}

/// Tags, states, ages.
fn change_line(parts: &Parts, d: &BackDecision, flush: &Flush) {
    let (p, tags, look, set) = (parts.p, parts.tags, &d.look, d.op.set);
    let tag = p.tag_of(d.op.req.line);
    let state = |s: LineState| enum_lit(s);
    when(d.r("keep"), || tags.write(set, d.way, tag, state(LineState::P)));
    when(d.r("write"), || tags.write(set, d.way, tag, state(LineState::K)));
    if !p.orders() {
        when(d.r("drop"), || tags.write(set, d.way, tag, state(LineState::I)));
    }
    when(d.installs(), || tags.write(set, d.way, tag, state(LineState::V)));
    when(d.r("keep") | d.r("answer") | d.installs(), || tags.touch(set, look, d.way));
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
    let asks = mux(d.writes, enum_lit(TsmOp::Wr), mux(d.r("past"), req.op, enum_lit(TsmOp::Rd)));
    let need = p.gtsc().then_some(Need { tag: req.tag, ts: req.ts });
    let wts = parts.select.s1_wts.as_ref().map(|wts| wts.get());
    when(d.opens, || {
        m.own(opened, &Waiting { op: asks, ..who }, need);
        m.own_wts(opened, wts);
    });
    when(d.opens & d.first(), || m.open(req.line));
    let list = m.list(d.found.index);
    when(d.r("append"), || {
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
    for (flags, high) in [(&m.writes, d.sends_dirty), (&m.quiet, d.waits | flushed), (&m.past, d.r("past"))] {
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
    let fetches = d.r("fetch") | d.r("fetch_first");
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
        write: d.installs() | d.r("write"),
        answer: d.answers(),
        array: d.r("answer"),
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
