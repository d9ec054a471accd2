//! Assertions, races and counters of `mgcc-l2` (mgcc.md section 13).

use super::clock::{Clock, Sweep, SweepState};
use super::decide::{Decision, Parts};
use super::observe_common::{self as common, Basics};
use super::params::L2Params;
use super::select::Choice;
use super::table::{Do, Settle};
use super::types::{LineState, Stamps};
use crate::choice::Inject;
use crate::msg::TsmOp;
use weft_rtl::prelude::*;

/// What observers look at.
pub(super) struct Seen<'a> {
    pub parts: &'a Parts<'a>,
    pub choice: &'a Choice,
    pub d: &'a Decision,
    pub sweep: &'a Sweep,
    /// The walker's answer was sent.
    pub served: Bool,
    /// An EvictNote was sent.
    pub noted: Bool,
}

/// Declares all observers.
pub(super) fn connect(seen: &Seen) {
    let d = seen.d;
    common::connect(&Basics {
        parts: seen.parts,
        choice: seen.choice,
        sweep: seen.sweep,
        op: &d.op,
        look: &d.look,
        found: &d.found,
        asked: d.asked,
        fill: d.fill,
        append: d.append,
        opens: d.opens,
        hits: d.r(Do::Answer),
        served: seen.served,
        prefix: "l2",
    });
    lines(seen);
    if let Some(clock) = seen.parts.clock {
        times(seen, clock);
        epoch_races(seen, clock);
    }
    races(seen);
    accesses(seen);
}

/// Blocks and their states.
fn lines(seen: &Seen) {
    let d = seen.d;
    let answers = d.r(Do::Answer);
    assert_always(
        "l2_locked_is_not_read",
        !answers | d.look.is(LineState::V),
        "only a block in state V is read",
    );
    let takes = d.evicts | (d.r(Do::Allocate) & d.look.victim_ok);
    let leaves = d.look.victim_tag.state.is_any(&[LineState::I, LineState::V]);
    assert_always("l2_locked_stays", !takes | leaves, "a locked or kept way is not replaced");
    let locked = d.look.is(LineState::K) | d.look.is(LineState::P);
    let found = d.found.hit;
    assert_always("l2_locked_has_mshr", !d.asked | !locked | found, "a locked or kept block has an MSHR");
    let kind = seen.parts.m.info(d.found.index).op;
    let of = |state, op| !(d.asked & d.look.is(state)) | kind.is(op);
    assert_always(
        "l2_lock_is_a_write",
        of(LineState::K, TsmOp::Wr),
        "the MSHR of a locked block is a write's",
    );
    assert_always("l2_kept_is_a_read", of(LineState::P, TsmOp::Rd), "the MSHR of a kept block is a read's");
}

/// Leases and the clock.
fn times(seen: &Seen, clock: &Clock) {
    let Parts { p, m, select, walker, .. } = seen.parts;
    let d = seen.d;
    let now = clock.now.get();
    assert_always("l2_cts_rises", now.ge(clock.ts.get()), "within an epoch the clock does not go back");
    let sent = !d.timed | now.ge(d.op.req.ts);
    assert_always("l2_cts_covers_l1s", sent, "the clock is at least every time that an L1 has sent");
    let mem = &select.mem;
    let order = mem.msg.wts.le(mem.msg.rts);
    assert_always("l2_lease_in_order", !mem.valid | order, "wts <= rts");
    if let Some(own) = d.look.stamps {
        let covered = if p.inject == Inject::PastRts { bool_lit(true) } else { now.le(own.rts) };
        assert_always("l2_hit_is_live", !d.r(Do::Answer) | covered, "a read is served only within the lease");
        strict_stamps(p, d, own);
    }
    if let (Some(stamps), Some(epoch)) = (&m.stamps, m.epoch(walker.mshr.get())) {
        let head = m.list(walker.mshr.get()).head;
        if let Some(need) = m.header_need(head) {
            let lease = stamps[1].lane(0);
            let within = clock.within((need.tag, need.ts), (epoch, lease.rts));
            assert_always(
                "l2_served_within_lease",
                !seen.served | within,
                "a read is served only if need <= rts",
            );
        }
    }
}

/// A write's stamps lie behind what the bank knew of the line; not so after a published slip.
fn strict_stamps(p: &L2Params, d: &Decision, own: Stamps) {
    if p.inject != Inject::None {
        return;
    }
    if let Some(granted) = d.answer.stamps {
        let write = d.fill & d.answer.current & d.answer.who.op.is(TsmOp::Wr) & d.look.is(LineState::K);
        let later = granted.wts.gt(own.rts) | (own.rts.none() & own.wts.none());
        assert_always(
            "l2_write_is_later",
            !write | later,
            "a write's wts is greater than the rts of what it replaces",
        );
    }
}

fn epoch_races(seen: &Seen, clock: &Clock) {
    let (d, sweep, choice) = (seen.d, seen.sweep, seen.choice);
    let starts = sweep.state.get().is(SweepState::Idle) & !seen.parts.select.s1_valid.get();
    let race = |name: &str, cond: Bool, text: &str| cover(&format!("mgcc.race.l2_{name}"), cond, text);
    race("roll_by_answer", starts & choice.by_answer, "an answer of memory is ahead: the bank rolls first");
    race("roll_by_request", starts & choice.by_request, "a request is ahead: the bank rolls first");
    race("roll_by_message", starts & choice.by_roll, "a Roll opens the epoch");
    let known = sweep.roll.valid & sweep.roll.msg.epoch.eq(clock.epoch.get());
    race(
        "roll_known",
        known & starts & sweep.ack.free,
        "a Roll of an epoch that is there already: acknowledged",
    );
    let in_flight = seen.parts.m.in_use().any();
    race("roll_in_flight", sweep.state.get().is(SweepState::Roll) & in_flight, "a sweep with open MSHRs");
    let locked = d.look.held.any() & sweep.state.get().is(SweepState::Roll);
    race("roll_locked", locked, "a sweep passes a locked block, which stays");
    race(
        "old_answer",
        d.fill & !d.answer.current,
        "an answer of an epoch that is over: completes, installs nothing",
    );
    let served_old = seen.served
        & !seen.parts.m.epoch(seen.parts.walker.mshr.get()).map_or(clock.tag(), |e| e).eq(clock.tag());
    race("old_list", served_old, "reads of an old epoch are answered from a lease of their epoch");
    let old = d.first() & d.op.req.ts_v & !d.timed;
    race("old_request", old, "a request's time of an epoch that is over counts as 0");
    race("uncovered", d.fill & !d.answer.covers, "a lease does not cover who asked: the read is tried again");
}

fn races(seen: &Seen) {
    let (d, race) =
        (seen.d, |name: &str, cond: Bool, text: &str| cover(&format!("mgcc.race.l2_{name}"), cond, text));
    race("no_way", d.r(Do::Allocate) & !d.look.victim_ok, "a full write finds every way locked or kept");
    let past = seen.sweep.state.get().is(SweepState::Maint) & d.look.held.any();
    race("maint_locked", past, "an invalidation passes a locked block, which stays");
}

/// What timestamps and write-through bring about.
fn accesses(seen: &Seen) {
    let d = seen.d;
    let misses = d.first() & d.op.req.op.is(TsmOp::Rd) & d.opens & !d.op.req.force & d.look.hit;
    count("l2_misses_coherence", misses, "reads of a line that is here but expired: coherence misses");
    let live = d.look.is(LineState::V) & d.look.covered;
    let write = d.first() & d.op.req.op.is(TsmOp::Wr);
    count("l2_write_hits", write & d.opens & live, "writes that found a live block");
    count("l2_bypassed", d.f(Settle::Bypass), "lines not installed because every way was locked or kept");
    let past = d.fill & d.answer.with_data & !d.f(Settle::Install) & !d.f(Settle::Bypass);
    count("l2_useless", past, "lines not installed because their lease was over");
    count("l2_ts_attached", d.first() & d.op.req.ts_v, "requests with a timestamp");
    let installs = (d.f(Settle::Install) | d.r(Do::Allocate)) & d.evicts & d.look.victim_expired;
    count("l2_expired_victims", installs, "expired blocks replaced before older live ones");
    count("l2_evictions", d.evicts, "blocks replaced");
    if let Some((valid, _)) = &seen.parts.outs.note {
        count("l2_notes", seen.noted, "EvictNotes sent");
        count("l2_notes_dropped", valid.get() & !seen.noted, "EvictNotes dropped because requests waited");
    }
}
