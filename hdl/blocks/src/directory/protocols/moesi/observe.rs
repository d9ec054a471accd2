//! Observers of `moesi-directory`: races, assertions, counters. No hardware.

use super::pending::Answered;
use super::table::{Comes, RowKind};
use super::{Deed, Moesi, Stops};
use crate::directory::index::home_of_base;
use crate::directory::types::{Lookup, Plan};
use crate::directory::wait_queue::WAIT_DEPTH;
use crate::msg::{Ask, HomeOp, OwnerOp};
use weft_rtl::prelude::*;

/// What is observed.
pub(super) struct View<'a> {
    pub d: &'a Moesi<'a>,
    pub look: &'a Lookup,
    pub op: OwnerOp,
    pub plan: &'a Plan,
    pub deed: &'a Deed,
    pub stops: &'a Stops,
    /// The operation in S1 is performed, an entry replaced before it, it joins the queue.
    pub go: Bool,
    pub replaces: Bool,
    pub joins: Bool,
    /// The replaced entry had an owner.
    pub owned: Bool,
    /// What has come by the network.
    pub answered: &'a Answered,
}

fn race(name: &str, cond: Bool, text: &str) {
    cover(&format!("moesi.race.{name}"), cond, text);
}

/// Declares all observers.
pub(super) fn observe(v: &View) {
    waiting(v);
    entries(v);
    rows(v);
    assertions(v);
    counters(v);
}

fn waiting(v: &View) {
    let (busy, row) = v.d.rows.row_of(v.look.base);
    let behind = |op: HomeOp| v.joins & v.op.op.is(op) & busy;
    let remote = row.row.is(RowKind::Remote);
    let asks = row.asks & row.owner.eq(v.look.req.src);
    race(
        "put_behind_row",
        behind(HomeOp::Put) & asks,
        "a Put waits behind a row that asks its sender's copy",
    );
    race(
        "own_home_waits",
        behind(HomeOp::OwnHome) & remote,
        "an own store waits for another node's transaction",
    );
    let moves = row.asks & row.ask.is(Ask::FwdM);
    race("read_behind_drop", behind(HomeOp::ReadHome) & remote & moves, "an own read waits behind a GetM");
    let put = row.row.is(RowKind::Put);
    race("waits_for_memory", v.joins & busy & put, "an operation waits until a Put is in memory");
    let full = v.d.queue.count.get().eq(u64::from(WAIT_DEPTH));
    race("queue_full", full & v.d.req.valid, "an operation is offered and the queue is full");
    race("waits_for_way", v.stops.no_way, "a way is needed and all have rows");
    race("rows_full", v.stops.rows_full, "a row is needed and none is free");
}

fn entries(v: &View) {
    cover("moesi.replace.sharers", v.replaces & !v.owned, "an entry without owner is replaced");
    cover("moesi.replace.owner", v.replaces & v.owned, "an entry with an owner is replaced");
}

fn rows(v: &View) {
    let a = v.answered;
    let ack = a.valid & a.comes.is(Comes::Ack);
    let replaced = a.row.row.is(RowKind::Replaced);
    let waits = v.d.queue.of_group(a.row.base).any();
    race(
        "acks_meet_request",
        ack & replaced & waits,
        "an Ack of a replaced entry, and its line is asked for",
    );
    let then = ack & a.last & a.row.asks;
    race("two_phases", then & a.row.ask.is(Ask::FwdM), "FwdM leaves after the last Ack");
    race("recall_after_acks", then & replaced, "Recall leaves after the last Ack");
}

fn assertions(v: &View) {
    let (d, p, look) = (v.d, v.d.p, v.look);
    let home = d.inv.held.dest.bit(p.home);
    assert_always("home_not_invalidated0", !(d.inv.waiting & home), "the home gets no INV message");
    let own = v.op.op.is_any(&[HomeOp::ReadHome, HomeOp::OwnHome]);
    let is_home = look.req.src.eq(u64::from(p.home));
    assert_always("source_fits", !look.valid | own.eq(is_home), "the home's own operations are its own");
    assert_always(
        "lines_belong_here",
        !look.valid | home_of_base(p, look.base).eq(u64::from(p.home)),
        "the home of a line is the slice's node",
    );
}

fn counters(v: &View) {
    let (d, s) = (v.d, v.stops);
    count("ops", v.go, "directory operations");
    count("queued_ops", v.joins, "operations that had to wait in the queue");
    count("retried_ops", v.go & d.s1_again.get(), "operations performed from the queue");
    count("allocations", v.go & v.plan.allocate, "entries allocated");
    count("evictions", v.replaces, "valid entries replaced");
    count("evicted_slots", v.replaces, "lines of replaced entries");
    count("write_invs", v.go & v.deed.told.any(), "operations that invalidate sharers");
    count_amount("write_unicasts", v.go, v.deed.told.popcount(), "destinations of their Invs");
    count("forwards", v.go & v.deed.asks, "operations that an owner answers");
    count("queue_waits", d.queue.any(), "cycles in which operations wait in the queue");
    count("stalled_rows", s.rows_full, "cycles in which S1 waits for a row of the pending table");
    count("stalled_invs", s.invs_full, "cycles in which S1 waits for room among the Invs");
    count("stalled_way", s.no_way, "cycles in which S1 waits for a way without a row");
    count("stalled_rsp", s.rsp_blocked, "cycles in which S1 waits for rsp");
}
