//! Assertions, races and counters of `mgcc-l2` (mgcc.md section 13).

use super::clock::{Clock, Sweep, SweepState};
use super::decide::{Decision, Parts};
use super::params::L2Params;
use super::select::Choice;
use super::types::{Class, LineState, Stamps};
use super::walker::WalkState;
use crate::bytes;
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
    lines(seen);
    transactions(seen);
    if let Some(clock) = seen.parts.clock {
        times(seen, clock);
        epoch_races(seen, clock);
    }
    races(seen);
    accesses(seen);
    waits(seen);
    messages(seen);
    latency(seen);
}

/// Blocks and their states.
fn lines(seen: &Seen) {
    let (p, d) = (seen.parts.p, seen.d);
    let one = d.look.matches.popcount().le(1);
    assert_always("l2_one_way_per_line", !(d.asked | d.fill) | one, "a line is in one way at most");
    let answers = d.r("answer");
    assert_always(
        "l2_locked_is_not_read",
        !answers | d.look.is(LineState::V),
        "only a block in state V is read",
    );
    let takes = d.evicts | (d.r("allocate") & d.look.victim_ok);
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
    let _ = p;
}

/// MSHRs and answers.
fn transactions(seen: &Seen) {
    let Parts { m, select, .. } = seen.parts;
    let d = seen.d;
    assert_always(
        "l2_one_transaction_per_line",
        !d.asked | d.found.entries.popcount().le(1),
        "a line has one transaction at most",
    );
    let mem = &select.mem;
    let index = mem.msg.txn;
    let open = m.valid().bit_at(index) & !m.landed.at(index) & !m.walk.at(index);
    assert_always("l2_answer_expected", !mem.valid | open, "memory answers once, and only what it was asked");
    let kind = m.info(index).op;
    assert_always(
        "l2_answer_of_its_kind",
        !mem.valid | kind.bits().eq(mem.msg.op.bits()),
        "memory answers with the operation that it was asked for",
    );
    let carries = mem.msg.op.is(TsmOp::Wr) | mem.msg.with_data;
    assert_always("l2_answer_has_line", !mem.valid | carries, "a read's and an atomic's answer has the line");
    let own = m.valid().bit_at(d.op.mshr);
    assert_always("l2_mshr_stays", !(d.fill | d.replay()) | own, "an MSHR stays until its list is empty");
    let bare = d.first() & d.op.req.op.is(TsmOp::Evict);
    assert_always("l2_no_note_from_above", !bare, "an L1 sends no EvictNote");
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
        let covered = now.le(own.rts);
        assert_always("l2_hit_is_live", !d.r("answer") | covered, "a read is served only within the lease");
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
    let Parts { m, walker, .. } = seen.parts;
    let (d, race) =
        (seen.d, |name: &str, cond: Bool, text: &str| cover(&format!("mgcc.race.l2_{name}"), cond, text));
    let kind = m.info(d.found.index).op;
    race("behind_write", d.append & kind.is(TsmOp::Wr), "a request waits behind a write of its line");
    race("behind_atomic", d.append & kind.is(TsmOp::Amo), "a request waits behind an atomic of its line");
    let same = d.append & d.found.index.eq(walker.mshr.get());
    let serving = walker.state.get().is(WalkState::Serve);
    race("append_while_served", same & serving, "a request joins the list that is being gone through");
    let list = m.list(walker.mshr.get());
    race(
        "append_to_empty",
        same & serving & list.count.none(),
        "a request joins a list that was about to end",
    );
    race("list_served", seen.served, "a read of the list is answered with the line of another's miss");
    race("take_over", d.replay() & d.opens, "the head of a list takes the MSHR over");
    race("replay_hits", d.replay() & d.r("answer"), "a replayed read finds the block live");
    race("no_way", d.r("allocate") & !d.look.victim_ok, "a full write finds every way locked or kept");
    let past = seen.sweep.state.get().is(SweepState::Maint) & d.look.held.any();
    race("maint_locked", past, "an invalidation passes a locked block, which stays");
}

/// Reads, writes, hits, misses.
fn accesses(seen: &Seen) {
    let d = seen.d;
    let op = |op| d.first() & d.op.req.op.is(op);
    let (read, write) = (op(TsmOp::Rd), op(TsmOp::Wr));
    count("l2_reads", read, "reads taken");
    count("l2_writes", write, "writes taken");
    count("l2_atomics", op(TsmOp::Amo), "atomics taken");
    count("l2_hits", d.first() & d.r("answer"), "reads answered from a block at once");
    let misses = read & d.opens;
    let here = d.look.hit;
    let forced = d.op.req.force;
    count(
        "l2_misses_cold",
        misses & !forced & !here,
        "reads of a line that is not here: cold and capacity misses",
    );
    count(
        "l2_misses_coherence",
        misses & !forced & here,
        "reads of a line that is here but expired: coherence misses",
    );
    count("l2_forced", misses & forced, "reads that had to go to memory");
    count("l2_merged", read & d.append, "reads of a line that has a transaction");
    let live = d.look.is(LineState::V) & d.look.covered;
    count("l2_write_hits", write & d.opens & live, "writes that found a live block");
    let locked = seen.parts.m.info(d.found.index).op.is(TsmOp::Wr);
    count("l2_lock_waits", d.append & locked, "requests that waited behind a write of their line");
    count("l2_replays", d.replay(), "requests of lists that went through the pipeline again");
    count("l2_bypassed", d.f("bypass"), "lines not installed because every way was locked or kept");
    let past = d.fill & d.answer.with_data & !d.f("install") & !d.f("bypass");
    count("l2_useless", past, "lines not installed because their lease was over");
    count("l2_ts_attached", d.first() & d.op.req.ts_v, "requests with a timestamp");
    let installs = d.f("install") | d.r("allocate");
    count(
        "l2_expired_victims",
        installs & d.evicts & d.look.victim_expired,
        "expired blocks replaced before older live ones",
    );
    count("l2_evictions", d.evicts, "blocks replaced");
}

/// Waits, rolls, notes.
fn waits(seen: &Seen) {
    let (choice, sweep) = (seen.choice, seen.sweep);
    count("l2_mshr_stalls", choice.waits & choice.no_mshr, "cycles in which a request waited for an MSHR");
    count(
        "l2_pool_stalls",
        choice.waits & choice.no_pool,
        "cycles in which a request waited for a pool entry",
    );
    let sweeps = sweep.state.get().is_any(&[SweepState::Roll, SweepState::Maint]);
    count("l2_sweep_cycles", sweeps, "cycles of sweeps");
    if seen.parts.clock.is_some() {
        let last = sweep.set.get().eq(u64::from(seen.parts.p.sets() - 1));
        count("l2_rolls", sweep.state.get().is(SweepState::Roll) & last, "epochs begun");
    }
    if let Some((valid, _)) = &seen.parts.outs.note {
        count("l2_notes", seen.noted, "EvictNotes sent");
        count("l2_notes_dropped", valid.get() & !seen.noted, "EvictNotes dropped because requests waited");
    }
}

/// Messages and bytes by class and direction.
fn messages(seen: &Seen) {
    let Parts { p, select, outs, .. } = seen.parts;
    let (t, coherent) = (&p.tsm, p.coherent());
    let classes = |direction: &str, there: Bool, op: Enum<TsmOp>, bytes: Bits| {
        for (name, kind) in [("rd", TsmOp::Rd), ("wr", TsmOp::Wr), ("amo", TsmOp::Amo)] {
            let text = format!("bytes of messages of this class, {direction}");
            count_amount(&format!("l2_bytes_{direction}_{name}"), there & op.is(kind), bytes, &text);
        }
    };
    let taken = select.s1_is(Class::Request);
    let req = select.s1.get().req;
    classes("l1_req", taken, req.op, bytes::up_req(t, &req));
    let (rsp, up) = (&outs.rsp.out, &outs.req.out);
    classes("l1_rsp", rsp.waiting & rsp.free, rsp.held.op, bytes::up_rsp(t, &rsp.held, coherent));
    let goes = up.waiting & up.free;
    classes("mem_req", goes, up.held.op, bytes::umc_req(t, &up.held, coherent));
    if coherent {
        let bytes = bytes::umc_req(t, &up.held, true);
        count_amount(
            "l2_bytes_mem_req_note",
            goes & up.held.op.is(TsmOp::Evict),
            bytes,
            "bytes of EvictNotes",
        );
    }
    let mem = &select.mem;
    classes("mem_rsp", mem.valid, mem.msg.op, bytes::umc_rsp(t, &mem.msg, coherent));
}

/// Average access latency: `l2_latency` divided by the answers.
fn latency(seen: &Seen) {
    let Parts { p, select, outs, .. } = seen.parts;
    let most = p.tsm.l2_mshrs + p.pool + 16;
    let unanswered =
        reg::<Bits>("unanswered", bits_for(u64::from(most))).doc("Requests taken and not answered.");
    let answered = outs.rsp.out.waiting & outs.rsp.out.free;
    let _ = select;
    when(seen.choice.request & !answered, || unanswered.set(unanswered.get() + 1));
    when(!seen.choice.request & answered, || unanswered.set(unanswered.get() - 1));
    assert_always(
        "l2_one_answer_per_request",
        !answered | unanswered.get().any(),
        "no answer without a request",
    );
    count("l2_answers", answered, "answers given");
    count_amount(
        "l2_latency",
        unanswered.get().any(),
        unanswered.get(),
        "sum over all requests of the cycles from taking to answering",
    );
}
