//! Observers of `gpu-vi-directory`: races, assertions, counters. No hardware.

use super::pending::Acked;
use super::{Choice, Stops, Vi};
use crate::directory::index::*;
use crate::directory::types::{Lookup, Plan};
use crate::directory::wait_queue::WAIT_DEPTH;
use crate::msg::DirOp;
use weft_rtl::prelude::*;

/// What is observed.
pub(super) struct View<'a> {
    pub d: &'a Vi<'a>,
    pub look: &'a Lookup,
    pub plan: &'a Plan,
    pub stops: &'a Stops,
    pub choice: &'a Choice,
    /// Rows of E of the group in S1.
    pub evictions: Bits,
    /// The operation in S1 is performed.
    pub go: Bool,
    /// It joins the queue.
    pub joins: Bool,
    /// It stays at the queue's head.
    pub back: Bool,
    /// An operation of `req`, or the queue's head, enters S1.
    pub taken: (Bool, Bool),
    pub acked: &'a Acked,
    /// Age of the way in S1; none with one way.
    pub age: Option<Bits>,
}

impl View<'_> {
    fn op(&self, op: DirOp) -> Bool {
        self.look.req.op.is(op)
    }

    fn begins_w(&self) -> Bool {
        self.go & self.plan.inv.any()
    }
}

fn race(name: &str, cond: Bool, text: &str) {
    cover(&format!("gpu_vi.race.{name}"), cond, text);
}

/// Declares all observers.
pub(super) fn observe(v: &View) {
    rows(v);
    queue(v);
    pipeline(v);
    assertions(v);
    counters(v);
}

fn rows(v: &View) {
    let begins = v.begins_w();
    race("w_awaits_several", begins & v.plan.inv.popcount().gt(1), "W begins with two or more acks awaited");
    race("stores_of_two_groups", begins & v.d.rows.any(), "W begins while another group is awaited");
    race("rows_full", v.stops.rows_full, "a row is needed and none is free");
    race("invs_full", v.stops.invs_full, "an Inv is needed and the egress has not taken the ones before");
    let load = v.go & v.op(DirOp::RdRem);
    race("load_passes_eviction", load & v.evictions.any(), "a load of a group whose eviction is awaited");
    race("group_evicted_twice", v.joins & v.evictions.gt(1), "a store waits for two evictions of its group");
    if v.d.p.ways > 1 {
        let evict = v.go & v.plan.evict;
        race("victim_not_in_w", evict & v.choice.skips, "the oldest way is in W: the next one is replaced");
    }
    race("all_ways_in_w", v.stops.no_way, "a way is needed and all are in W");
    let same = v.acked.base.eq(v.look.base);
    race(
        "last_ack_meets_operation",
        v.acked.last & same & (v.joins | v.back),
        "the last ack comes in the cycle in which S1 decides that an operation of the group must wait",
    );
}

fn queue(v: &View) {
    let queue = &v.d.queue;
    let full = queue.count.get().eq(u64::from(WAIT_DEPTH));
    race("queue_full", full & v.d.req.valid, "an operation is offered and the queue is full");
    let others = queue.any() & queue.of_group(v.look.base).none();
    race("queue_of_two_groups", v.joins & others, "an operation waits beside those of another group");
    let input = v.go & !v.d.s1_again.get();
    race("input_passes_queue", input & queue.any(), "an operation passes those of other groups that wait");
    race("head_goes_back", v.back, "a row began for the group of the queue's head between S0 and S1");
    let again = v.begins_w() & v.d.s1_again.get();
    race("queued_store_begins_w", again, "a store that has waited begins a W of its own");
    race("init_holds_req", !v.d.run & v.d.req.offered, "a request waits for the initialiser");
}

fn pipeline(v: &View) {
    race("forward_same_set", v.go & v.look.same_set, "S1 works on the set that is in S2");
    let due = v.d.rows.answers();
    race("answer_takes_port", v.stops.rsp_blocked & due, "the answer of a completed store goes first");
    race("back_to_back_ops", v.taken.0 & v.go & v.d.s2.valid.get(), "ops are performed back to back");
    let alloc = v.go & v.plan.allocate;
    race("alloc_evicts_oldest", alloc & v.plan.evict, "no way is invalid: the oldest is replaced");
    if let Some(age) = v.age {
        race("lru_touch", v.go & v.look.hit & age.any() & v.plan.touch, "a hit on an old way");
    }
}

fn assertions(v: &View) {
    let (d, p, look) = (v.d, v.d.p, v.look);
    let home = d.inv.held.dest.bit(p.home);
    assert_always("home_not_invalidated0", !(d.inv.waiting & home), "the home gets no Inv");
    let spared = (v.plan.inv & v.plan.requester).none();
    assert_always("requester_not_invalidated", !v.go | spared, "a requester gets no Inv for its own op");
    let local = v.op(DirOp::WrLoc);
    assert_always(
        "requester_is_remote",
        !look.valid | local | v.plan.requester.any(),
        "remote operations come from another node",
    );
    assert_always(
        "lines_belong_here",
        !look.valid | home_of_base(p, look.base).eq(u64::from(p.home)),
        "the home of a line is the slice's node",
    );
    assert_always(
        "w_is_alone",
        !v.begins_w() | v.evictions.none(),
        "W begins only when nothing else is awaited of the group",
    );
    assert_always(
        "one_inv_at_most",
        !v.go | !(v.plan.evict & v.plan.inv.any()),
        "an operation evicts or tells sharers, never both",
    );
    let entry = d.s2.entry.get();
    let valid = entry.bit(p.entry_bits() - 1);
    assert_always(
        "written_valid_is_or",
        !d.s2.write.get() | valid.eq(entry.slice(0, p.sharers()).any()),
        "valid = OR of the sharers",
    );
    assert_always(
        "told_somebody",
        !d.s2.evict.get() | d.s2.victim.get().slots.any(),
        "an Inv has a destination",
    );
    assert_always("queue_is_not_forgotten", !(v.taken.0 & v.taken.1), "one operation enters S1 at a time");
}

fn counters(v: &View) {
    let (look, plan, s) = (v.look, v.plan, v.stops);
    count("ops", v.go, "directory operations");
    count("queued_ops", v.joins, "operations that had to wait in the queue");
    count("retried_ops", v.go & v.d.s1_again.get(), "operations performed from the queue");
    count("allocations", v.go & plan.allocate, "entries allocated");
    let evicts = v.go & plan.evict;
    count("evictions", evicts, "valid entries replaced");
    count("evicted_slots", evicts, "set slots of replaced entries: coalesced addresses");
    count("evict_invs0", evicts, "eviction Invs");
    let old = look.old.slice(0, v.d.p.sharers());
    count_amount("evict_unicasts0", evicts, old.popcount(), "destinations of eviction Invs");
    count("write_invs", v.begins_w(), "Invs sent for writes and atomics");
    count_amount("write_unicasts", v.go, plan.inv.popcount(), "destinations of write Invs");
    let again = (plan.before & plan.requester).any() & v.op(DirOp::RdRem);
    count("rereads", v.go & again, "reads whose sharer bit was set");
    count("acks", v.acked.valid, "acknowledgements");
    count("queue_waits", v.d.queue.any(), "cycles in which operations wait in the queue");
    count("stalled_rows", s.rows_full, "cycles in which S1 waits for a row of the pending table");
    count("stalled_invs", s.invs_full, "cycles in which S1 waits for room among the Invs");
    count("stalled_way", s.no_way, "cycles in which S1 waits for a way that is not in W");
    count("stalled_rsp", s.rsp_blocked, "cycles in which S1 waits for rsp");
}
