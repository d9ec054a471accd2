//! Stage 1 of `mgcc-l2`: tag and MSHR lookup, the transition tables, and the plan for stage 2. Every change of a line, of an MSHR and of the clock by an
//! operation happens here, one operation per cycle, so that operations see each other in order.

use super::clock::Clock;
use super::mshr::{Match, Mshrs};
use super::outputs::{Note, Outputs};
use super::params::L2Params;
use super::select::Select;
use super::table::{self, Do, Landed, Place, Request, Seen, Settle};
use super::tags::{Lookup, Tags};
use super::types::*;
use super::walker::{Outcome, Walker};
use crate::choice::{Inject, ReadTs};
use crate::msg::TsmOp;
use crate::params::LINE;
use crate::time::max;
use weft_rtl::prelude::*;

/// Everything stage 1 works on.
pub(super) struct Parts<'a> {
    pub p: &'a L2Params,
    pub select: &'a Select,
    pub tags: &'a Tags,
    pub m: &'a Mshrs,
    pub outs: &'a Outputs,
    pub walker: &'a Walker,
    pub clock: Option<&'a Clock>,
}

/// An answer of memory in stage 1.
pub(super) struct Answer {
    /// Who asked first.
    pub who: Waiting,
    pub landing: Landing,
    pub stamps: Option<Stamps>,
    /// Of the present epoch.
    pub current: Bool,
    /// Its lease covers who asked first.
    pub covers: Bool,
    /// The line is there.
    pub with_data: Bool,
    /// It is not looked at; the bank's own bytes are sent (slip `lit_ack_nodata`).
    pub own_bytes: Bool,
}

/// The decision of stage 1, for observers.
pub(super) struct Decision {
    pub op: Op,
    /// A request or a replay.
    pub asked: Bool,
    pub fill: Bool,
    pub look: Lookup,
    pub found: Match,
    pub requests: Decoded<LineState, Do>,
    pub fills: Decoded<LineState, Settle>,
    pub answer: Answer,
    /// A block is dropped for another line.
    pub evicts: Bool,
    pub append: Bool,
    pub opens: Bool,
    /// The request carries a time of this epoch.
    pub timed: Bool,
}

impl Decision {
    /// A request or replay takes an action.
    pub fn r(&self, action: Do) -> Bool {
        self.asked & self.requests.does(action)
    }
    /// An answer of memory takes an action.
    pub fn f(&self, action: Settle) -> Bool {
        self.fill & self.fills.does(action)
    }
    /// It is a request of an L1, not a replay.
    pub fn first(&self) -> Bool {
        self.asked & self.op.class.is(Class::Request)
    }
    /// It is a replay.
    pub fn replay(&self) -> Bool {
        self.asked & self.op.class.is(Class::Replay)
    }
}

/// The answer that has landed for an MSHR.
fn landed(parts: &Parts, mshr: Bits) -> Answer {
    let Parts { m, clock, .. } = parts;
    let (who, landing) = (m.info(mshr), m.landing[0].lane(0));
    let stamps = m.stamps.as_ref().map(|ports| ports[0].lane(0));
    let (mut current, mut covers) = (bool_lit(true), bool_lit(true));
    if let (Some(clock), Some(stamps), Some(need), Some(epoch)) = (clock, stamps, m.need(mshr), m.epoch(mshr))
    {
        current = epoch.eq(clock.tag());
        let within = clock.within((need.tag, need.ts), (epoch, stamps.rts));
        covers = !who.op.is(TsmOp::Rd) | within;
    }
    let own_bytes = match &m.was_live {
        Some(live) => landing.with_data & who.op.is(TsmOp::Wr) & live.at(mshr),
        None => bool_lit(false),
    };
    Answer {
        who,
        landing,
        stamps,
        current: current.named("s1_current"),
        covers: covers.named("s1_covers"),
        with_data: landing.with_data & !own_bytes,
        own_bytes,
    }
}

/// Moves the clock; returns whether a request carries a time of this epoch.
fn tick(parts: &Parts, op: &Op, first: Bool, fill: Bool, answer: &Answer) -> Bool {
    let (Some(clock), Some(stamps)) = (parts.clock, answer.stamps) else {
        return bool_lit(false);
    };
    let timed = (first & op.req.ts_v & op.req.tag.eq(clock.tag())).named("s1_timed");
    when(timed, || clock.raise(op.req.ts));
    let eager = parts.p.read_ts == ReadTs::Eager && parts.p.inject != Inject::LitReadCts;
    let writes = !answer.who.op.is(TsmOp::Rd);
    let ticks = if eager { bool_lit(true) } else { writes };
    when(fill & answer.current & ticks, || clock.raise(stamps.wts));
    timed
}

/// Which event of the tables a request is.
pub(super) fn request_event(op: &Op) -> Bits {
    let code = |request: Request| lit(request.encoding(), 3);
    let event = wire_zero::<Bits>("s1_event", 3);
    switch(op.req.op, |s| {
        s.case(TsmOp::Rd, || event.set(mux(op.req.force, code(Request::Forced), code(Request::Read))));
        s.case(TsmOp::Wr, || event.set(mux(op.req.mask.all(), code(Request::Full), code(Request::Partial))));
        s.case(TsmOp::Amo, || event.set(code(Request::Amo)));
    });
    event.get()
}

fn fill_event(parts: &Parts, look: &Lookup, answer: &Answer, now: Option<Bits>) -> (Bits, Bits) {
    let place = |place: Place| lit(place.encoding(), 2);
    let absent = mux(look.victim_ok, place(Place::Victim), place(Place::None));
    let place = mux(look.hit, place(Place::Own), absent);
    let past = match (answer.stamps, now) {
        (Some(stamps), Some(at)) => at.gt(kept(parts, answer, stamps, now).rts),
        _ => bool_lit(false),
    };
    let line = |landed: Landed| lit(landed.encoding(), 3);
    let current = mux(past, line(Landed::LinePast), line(Landed::LineFits));
    let worth = mux(answer.current, current, line(Landed::LineOld));
    let bare = worth + Landed::BareFits.encoding();
    (place.named("s1_place"), mux(answer.with_data, worth, bare).named("s1_answer"))
}

/// Carries out stage 1.
pub(super) fn connect(parts: &Parts) -> Decision {
    let Parts { p, select, tags, m, clock, walker, .. } = parts;
    let op = select.s1.get();
    let fill = select.s1_is(Class::Fill);
    let asked = (select.s1_valid.get() & !op.class.is(Class::Fill)).named("s1_asked");
    let first = select.s1_is(Class::Request);
    let answer = landed(parts, op.mshr);
    let timed = tick(parts, &op, first, fill, &answer);
    let now = clock.map(|clock| clock.now.get());
    let look = tags.look(p.tag_of(op.req.line), now);
    let found = m.find(op.req.line);
    let live = look.is(LineState::V) & look.covered;
    let seen = |seen: Seen| lit(seen.encoding(), 2);
    let here = mux(look.hit, mux(live, seen(Seen::V), seen(Seen::X)), seen(Seen::I));
    let state = mux(found.hit & op.class.is(Class::Request), seen(Seen::M), here).named("s1_state");
    let requests =
        table::requests(p.coherent()).decode_about(op.req.line, asked, (state, request_event(&op)));
    let fills =
        table::fills(p.coherent()).decode_about(op.req.line, fill, fill_event(parts, &look, &answer, now));
    let mut d = Decision {
        asked,
        fill,
        look,
        found,
        requests,
        fills,
        answer,
        evicts: bool_lit(false),
        append: bool_lit(false),
        opens: bool_lit(false),
        timed,
        op,
    };
    d.append = d.r(Do::Append).named("s1_append");
    d.opens = (d.r(Do::OpenRead) | d.r(Do::OpenWrite) | d.r(Do::OpenAmo)).named("s1_opens");
    let victim_valid = d.look.victim_tag.state.is(LineState::V) & d.look.victim_ok;
    d.evicts = ((d.r(Do::Allocate) | d.f(Settle::Evict)) & victim_valid).named("s1_evicts");
    change_line(parts, &d, now);
    change_mshrs(parts, &d);
    let outcome = Outcome { answered: d.r(Do::Answer), opened: d.opens, stays: bool_lit(false) };
    walker.finish(m, d.replay(), &outcome);
    pass_on(parts, &d, now);
    follows(parts, &d);
    d
}

/// Asserts that the line's way is in the state to which the row leads.
fn follows(parts: &Parts, d: &Decision) {
    let (p, tags, look) = (parts.p, parts.tags, &d.look);
    let way = mux(look.hit, look.way, look.victim);
    let after = tags.state_after(d.op.set, way, p.tag_of(d.op.req.line));
    d.requests.leads_from_to(look.state, after);
    d.fills.leads_from_to(look.state, after);
    table::machine(p.coherent()).check(&[]);
}

/// The stamps that the bank keeps and passes on.
fn kept(parts: &Parts, answer: &Answer, stamps: Stamps, now: Option<Bits>) -> Stamps {
    match (parts.p.inject, now) {
        (Inject::LitBrts, Some(now)) => {
            let wts = max(now, stamps.wts);
            let next = mux(wts.all(), wts, wts + 1);
            mux(answer.current, Stamps { wts, rts: max(next, stamps.rts) }, stamps)
        }
        _ => stamps,
    }
}

/// Tags, states, stamps, ages.
fn change_line(parts: &Parts, d: &Decision, now: Option<Bits>) {
    let (p, tags, look, set) = (parts.p, parts.tags, &d.look, d.op.set);
    let tag = p.tag_of(d.op.req.line);
    let state = |s: LineState| enum_lit(s);
    let allocates = d.r(Do::Allocate) & look.victim_ok;
    let way = mux(look.hit, look.way, look.victim).named("s1_way");
    when(d.r(Do::Lock) | allocates, || tags.write(set, way, tag, state(LineState::K)));
    when(d.r(Do::Keep), || tags.write(set, way, tag, state(LineState::P)));
    // Without timestamps no answer is useless.
    let useless = if p.coherent() { d.f(Settle::Drop) } else { bool_lit(false) };
    when(d.r(Do::Drop) | useless, || tags.write(set, way, tag, state(LineState::I)));
    when(d.f(Settle::Install) | d.f(Settle::Stamp), || tags.write(set, way, tag, state(LineState::V)));
    when(d.r(Do::Answer) | d.r(Do::Lock) | allocates | d.f(Settle::Install), || tags.touch(set, look, way));
    let zero = lit(0, p.tsm.ts);
    when(allocates, || tags.stamp(set, way, Stamps { wts: zero, rts: zero }));
    if let Some(stamps) = d.answer.stamps {
        let stamps = kept(parts, &d.answer, stamps, now);
        when(d.f(Settle::Install) | d.f(Settle::Stamp), || tags.stamp(set, way, stamps));
        // The list is answered with the same stamps.
        parts.m.rewrite(d.fill, d.op.mshr, &stamps);
    }
}

/// MSHRs, lists, pool.
fn change_mshrs(parts: &Parts, d: &Decision) {
    let Parts { m, walker, clock, .. } = parts;
    let req = &d.op.req;
    let who = Waiting::of(req);
    let need = clock.map(|clock| Need { tag: clock.tag(), ts: clock.now.get() });
    let opened = mux(d.op.class.is(Class::Replay), d.op.mshr, m.free_index());
    when(d.opens, || m.own(opened, &who, need));
    when(d.opens & d.first(), || m.open(req.line));
    when(d.append, || {
        m.append(d.found.index, m.list(d.found.index), &who, &Payload::of(req), need);
        walker.appends(d.found.index);
    });
    let redo = !d.answer.covers;
    let more = m.list(d.op.mshr).count.any() | redo;
    when(d.fill & more, || m.walk.raise(d.op.mshr));
    when(d.fill & redo, || m.redo.raise(d.op.mshr));
    when(d.fill & !more, || m.free_by_fill(d.op.mshr));
    if let Some(live) = &m.was_live {
        let found_live = d.look.is(LineState::V) & d.look.covered;
        when(d.opens, || live.lower(opened));
        when(d.opens & found_live, || live.raise(opened));
    }
}

/// The step of stage 2.
fn pass_on(parts: &Parts, d: &Decision, now: Option<Bits>) {
    let Parts { p, m, outs, clock, .. } = parts;
    let (req, look, answer) = (&d.op.req, &d.look, &d.answer);
    let (zero_tag, zero) = (lit(0, p.tsm.eb), lit(0, p.tsm.ts));
    let own = look.stamps.unwrap_or(Stamps { wts: zero, rts: zero });
    let granted = answer.stamps.map_or(Stamps { wts: zero, rts: zero }, |s| kept(parts, answer, s, now));
    let tag = clock.map_or(zero_tag, |clock| clock.tag());
    let landed_tag = m.epoch(d.op.mshr).unwrap_or(zero_tag);
    let fill_payload =
        Payload { mask: lit_bv(Bv::ones(LINE)), data: answer.landing.data, ..Payload::of(req) };
    let way = mux(look.hit, look.way, look.victim);
    let opened = mux(d.op.class.is(Class::Replay), d.op.mshr, m.free_index());
    let step = Step {
        row: p.row_of(d.op.set, way),
        write: d.f(Settle::Install) | d.r(Do::Lock) | (d.r(Do::Allocate) & look.victim_ok),
        answer: (d.fill & answer.covers) | d.r(Do::Answer),
        array: d.r(Do::Answer) | answer.own_bytes,
        request: d.opens,
        op: req.op,
        who: mux(d.fill, answer.who, Waiting::of(req)),
        payload: mux(d.fill, fill_payload, Payload::of(req)),
        line: req.line,
        mshr: opened,
        tag: mux(d.fill, landed_tag, tag),
        ts: if p.inject == Inject::LitNoTs { zero } else { now.unwrap_or(zero) },
        wts: mux(d.fill, granted.wts, own.wts),
        rts: mux(d.fill, granted.rts, own.rts),
        with_data: !d.fill | answer.with_data | answer.own_bytes,
        old: answer.landing.old,
        from_memory: d.fill,
    };
    let note = Note {
        line: p.line_from(look.victim_tag.tag, d.op.set, p.tsm.bank_of(req.line)),
        rts: look.victim_stamps.map_or(zero, |s| s.rts),
        tag,
    };
    outs.accept(step.answer | step.request | step.write, &step, Some((d.evicts, note)), None);
}
