//! Assertions, races and counters of `gtsc-l2` beside those of every write-back bank (mgcc.md sections 13 and 14).

use super::back_table::BackDo;
use super::clock::{Clock, SweepState};
use super::lease::{Grant, Leases};
use super::observe_back::Seen;
use crate::msg::TsmOp;
use weft_rtl::prelude::*;

/// Declares all observers.
pub(super) fn connect(seen: &Seen, leases: &Leases, clock: &Clock, grant: &Grant) {
    times(seen, clock, grant);
    versions(seen, grant);
    rolls(seen, leases, clock);
}

fn race(name: &str, cond: Bool, text: &str) {
    cover(&format!("mgcc.race.gtsc_l2_{name}"), cond, text);
}

fn times(seen: &Seen, clock: &Clock, grant: &Grant) {
    let d = seen.d;
    let (answers, stamps) = (d.answers(), grant.stamps);
    assert_always("gtsc_l2_lease_in_order", !answers | stamps.wts.le(stamps.rts), "wts <= rts");
    let covers = !answers | stamps.rts.ge(grant.warpts);
    assert_always("gtsc_l2_covers_reader", covers, "a lease covers the time of who asked");
    let later = clock.now.get().ge(clock.ts.get());
    assert_always("gtsc_l2_mem_ts_rises", later, "within an epoch mem_ts does not go back");
    let read = seen.parts.m.info(d.op.mshr).op.is(TsmOp::Rd) | d.op.req.op.is(TsmOp::Rd);
    race("saturates", answers & read & stamps.rts.all(), "a lease ends at TS_MAX");
    let untold = d.asked & !grant.current;
    race("old_request", untold & d.answers(), "a request's time of an epoch that is over counts as 0");
    count("l2_evictions", grant.leaves, "blocks dropped for others: mem_ts covers their leases");
}

fn versions(seen: &Seen, grant: &Grant) {
    let d = seen.d;
    let reads = d.r(BackDo::Answer) & d.op.req.op.is(TsmOp::Rd) & grant.known;
    count("l2_renewals", d.r(BackDo::Answer) & grant.renews, "leases renewed without the line");
    count(
        "l2_renewals_refused",
        reads & !grant.renews,
        "reads of a block that has changed meanwhile, or its epoch",
    );
    race("changed", reads & grant.current & !grant.renews, "an L1 has a version that has been written since");
    race("old_block", reads & !grant.current, "an L1 asks about a block of an epoch that is over");
    let writes = d.r(BackDo::Answer) & d.op.req.op.is(TsmOp::Wr) & grant.known;
    let stale = writes & grant.with_data;
    count(
        "l2_stale_write_hits",
        stale,
        "stores into a block that others have written since: WrAck with the line",
    );
    race("stale_write", stale & grant.current, "a store hits a block that another CU has written since");
    race("stale_write_old", stale & !grant.current, "a store hits a block of an epoch that is over");
}

fn rolls(seen: &Seen, leases: &Leases, clock: &Clock) {
    let (sweep, choice) = (seen.sweep, seen.choice);
    let rolling = sweep.state.get().is(SweepState::Roll);
    race("roll_by_request", choice.rolls & choice.by_request, "a request is ahead: the bank rolls first");
    race("roll_by_message", choice.rolls & choice.by_roll, "a Roll opens the epoch");
    let known = sweep.roll.valid & sweep.roll.msg.epoch.eq(clock.epoch.get()) & sweep.ack.free;
    race(
        "roll_known",
        known & sweep.state.get().is(SweepState::Idle),
        "a Roll of an epoch that is there already",
    );
    race("roll_in_flight", rolling & seen.parts.m.in_use().any(), "a sweep with open MSHRs");
    race("roll_dirty", rolling & seen.d.look.held.any(), "a sweep passes dirty lines, which stay");
    let holds = leases.holds() & (choice.waits | seen.parts.m.landed.now.get().any());
    count("l2_roll_waits", holds, "cycles in which requests or answers wait for a roll");
    race("full", holds, "a lease has reached TS_MAX: everything waits for the roll");
}
