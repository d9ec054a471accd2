//! Observers of the bank: covers of the named races, assertions, and the counters of rec.md section 11.

use super::data::DataStage;
use super::decide::{Decision, Parts};
use super::observe_hier;
use super::select::{Choice, Lacks};
use super::sinks::ReqSink;
use super::tables::L2Act;
use super::types::{Class, LineState};
use crate::msg::{Cause, DirOp, ReqKind};
use weft_rtl::prelude::*;

/// Attaches all observers; `answer`: a directory answer taken in this cycle, with its number.
pub(super) fn connect(
    parts: &Parts,
    choice: &Choice,
    d: &Decision,
    s2: &DataStage,
    answer: Option<(Bool, Bits)>,
) {
    heads(parts, choice);
    priorities(parts, choice);
    about(d.victim_line, || victims(parts, d));
    about(d.op.req.line, || {
        requester_races(parts, choice, d);
        home_races(parts, d);
    });
    directory_races(parts, d, s2, answer);
    counters(parts, choice, d);
    assertions(parts, d);
    observe_hier::connect(parts, choice, d);
}

fn stuck(sink: &ReqSink, lacks: &Lacks) -> Bool {
    (sink.valid & !lacks.nothing()) | (sink.held_valid.get() & sink.blocked.get())
}

fn heads(parts: &Parts, choice: &Choice) {
    let (remote, local) = (&parts.select.remote, &parts.select.local);
    let (rl, ll) = (&choice.remote_lacks, &choice.local_lacks);
    let either = |r: Bool, l: Bool| (remote.valid & r) | (local.valid & l);
    cover("rec.race.head_waits_mshr", either(rl.mshr, ll.mshr), "A REQ head waits for a free MSHR.");
    cover("rec.race.head_waits_egress", either(rl.egress, ll.egress), "A head waits for an egress slot.");
    cover(
        "rec.race.head_waits_write_back",
        either(rl.write_back, ll.write_back) | (parts.fill.asks() & !choice.end_ok),
        "A head waits for a write-back slot.",
    );
    cover(
        "rec.race.head_waits_directory_fifo",
        either(rl.directory, ll.directory),
        "A head waits for a place in the directory op FIFO or in the table of operations.",
    );
    cover(
        "rec.race.remote_mshr_quota",
        local.valid & ll.quota,
        "A miss on a remote-homed line waits because such lines hold 3/4 of the MSHRs.",
    );
    let (remote_stuck, local_stuck) = (stuck(remote, rl), stuck(local, ll));
    let some = remote_stuck | local_stuck;
    cover("rec.race.inv_passes_blocked_req", choice.inv & some, "An INV passes a blocked REQ head.");
    cover("rec.race.rsp_passes_blocked_req", choice.end & some, "A fill passes a blocked REQ head.");
    cover(
        "rec.race.local_passes_blocked_remote",
        choice.local & remote_stuck,
        "A local REQ is served while the remote head is blocked.",
    );
    cover(
        "rec.race.remote_passes_blocked_local",
        choice.remote & local_stuck,
        "A remote REQ is served while the local head is blocked.",
    );
    if let Some(queue) = &parts.ops.queue {
        let full = !queue.room(2);
        cover(
            "rec.race.inv_taken_while_directory_stalled",
            choice.inv & full,
            "An INV is served while the directory op FIFO takes nothing more.",
        );
    }
    let offered = remote.here | local.here | parts.select.inv.channel.valid;
    cover(
        "rec.race.l2_init_holds_inputs",
        !parts.tags.ready.get() & offered,
        "A message is offered while the sets are cleared after reset.",
    );
}

fn priorities(parts: &Parts, c: &Choice) {
    cover("rec.race.inv_beats_rsp", c.inv & c.end_ok, "INV goes before a fill.");
    let requests = c.remote_ok | c.local_ok;
    cover("rec.race.rsp_beats_req", c.end & requests, "A fill goes before a request.");
    cover(
        "rec.race.remote_local_round_robin",
        (c.remote | c.local) & c.remote_ok & c.local_ok,
        "The round-robin pointer chooses between remote and local.",
    );
    cover(
        "rec.race.inv_grant_limit",
        c.inv_limited,
        "After four invalidations another waiting head is served.",
    );
    let read = parts.m.read.get() & !parts.m.poisoned.get();
    let fill_line = parts.m.line_of(parts.fill.mshr.get());
    let same = parts.select.inv.line.eq(fill_line) & read.bit_at(parts.fill.mshr.get());
    cover(
        "rec.race.inv_and_rdrsp_same_cycle",
        c.inv & c.end_ok & same,
        "Inv and fill of one line are ready in one cycle: Inv goes first.",
    );
}

fn victims(parts: &Parts, d: &Decision) {
    let state = &d.victim.state;
    let homed = parts.p.sys.home_of(d.victim_line).eq(u64::from(parts.p.home));
    let clean = d.install & state.is(LineState::V);
    let dirty = d.install & state.is(LineState::D);
    cover(
        "l2req.V.victim",
        clean & !homed & !parts.p.gpu_homed(d.victim_line),
        "A copy of a remote-homed line is dropped silently.",
    );
    cover("l2home.V.victim", clean & homed, "A clean home line is dropped.");
    cover("l2home.D.victim", dirty & homed, "A dirty home line is written back.");
    cover("rec.race.victim_dirty_write_back", dirty, "A dirty line is chosen as victim and written back.");
    // What stands in an invalid way is no line that anything happens to.
    about(d.op.req.line, || {
        cover(
            "rec.race.l2_victim_invalid_first",
            d.install & d.look.skips_oldest,
            "An invalid way is taken although it is not the oldest.",
        );
    });
    cover("rec.race.l2_victim_lru", clean | dirty, "The oldest way is replaced.");
    let flushed = d.go & d.op.class.is(Class::Flush) & d.look.dirty.any();
    cover("rec.race.flush_dirty_lines", flushed, "FLUSH writes back a dirty line, which stays valid.");
    let fetching = wire_or::<Bool>("seen_fetching", (), false);
    when(d.install & !d.op.class.is(Class::End), || fetching.set(parts.m.fetching_in(d.op.set)));
    cover(
        "rec.race.fetching_line_not_victim",
        fetching.get(),
        "A victim is chosen in a set of which a line is being fetched.",
    );
    assert_always("l2_remote_never_dirty", !dirty | homed, "a remote-homed line is never dirty");
}

fn requester_races(parts: &Parts, choice: &Choice, d: &Decision) {
    let (op, m, mshr) = (&d.op, parts.m, parts.fill.mshr.get());
    let kind = |k| op.req.kind.is(k) & op.class.is(Class::Local);
    let poison = d.r(L2Act::Poison);
    let inv = op.class.is(Class::Inv);
    cover("rec.race.inv_overtakes_rdrsp", poison & inv, "An Inv poisons a waiting read.");
    cover("rec.race.own_store_passes_read", poison & kind(ReqKind::Wr), "A store poisons a waiting read.");
    cover(
        "rec.race.own_atomic_passes_read",
        poison & kind(ReqKind::Atom),
        "An atomic poisons a waiting read.",
    );
    let px = d.poison_blocked & d.requester_side & d.found.poisoned;
    cover("rec.race.load_waits_in_px", px, "A load to a poisoned line waits.");
    let end = d.go & op.class.is(Class::End);
    let poisoned = end & (m.read.get() & m.poisoned.get()).bit_at(mshr);
    let held = &parts.select.local;
    let same = held.held_valid.get() & held.head.line.eq(op.req.line) & held.head.kind.is(ReqKind::Rd);
    cover(
        "rec.race.load_released_from_px",
        poisoned & same,
        "The fill frees a poisoned line for which a load waits; it is tried again.",
    );
    let total = m.list_of(mshr).total;
    cover(
        "rec.race.poisoned_fill_answers_many",
        poisoned & total.ge(2),
        "A poisoned fill has answered two or more loads.",
    );
    cover("rec.race.merge_limit", d.list_full & d.requester_side, "A load finds 8 loads merged and waits.");
    cover(
        "rec.race.atomic_beside_read",
        d.r(L2Act::SendAtomic) & d.found.hit,
        "An atomic opens an MSHR beside its line's read.",
    );
    if parts.p.group == 4 {
        let group = choice.inv & parts.select.inv.channel.msg.grp;
        cover(
            "rec.race.group_inv_four_lookups",
            group & parts.select.inv.last,
            "The fourth lookup of a group invalidation.",
        );
    }
    let dropped = reg::<Bool>("group_dropped", ());
    let drop = d.r(L2Act::Drop) & inv;
    when(d.go & inv, || dropped.set((dropped.get() | drop) & !op.last));
    cover("rec.race.group_inv_other_line_hit", drop & dropped.get(), "A group Inv drops a second line.");
    cover("rec.race.stale_sharer_inv", d.r(L2Act::InvMiss), "An Inv finds no copy.");
    if !parts.p.keeps_remote() {
        cover(
            "rec.race.remote_load_bypasses",
            d.r(L2Act::InstallFill),
            "A remote load is answered without installing the line.",
        );
    }
}

fn home_races(parts: &Parts, d: &Decision) {
    cover(
        "rec.race.replay_list_full",
        d.list_full & d.home_side,
        "A request finds 8 requests in the replay list and holds its class queue.",
    );
    let ends = d.h(L2Act::InstallFill);
    cover("rec.race.replay_mixed", ends & parts.fill.seen.get().all(), "A list mixed all sorts of requests.");
    cover(
        "rec.race.replay_read_only_ends_v",
        ends & !parts.fill.dirty.get(),
        "A replay list without a write ends in V.",
    );
    let quota = parts.m.used_remote.now.get().ge(u64::from(parts.p.mshr_quota()));
    cover(
        "rec.race.home_miss_beyond_quota",
        d.h(L2Act::Fetch) & quota,
        "A home miss opens an MSHR while the quota of remote-homed lines is used up.",
    );
    let remote = d.go & d.op.class.is(Class::Remote) & !d.op.req.cacheable;
    let kind = &d.op.req.kind;
    cover("rec.race.uncacheable_read", remote & kind.is(ReqKind::Rd), "A read without directory operation.");
    cover("rec.race.uncacheable_write", remote & kind.is(ReqKind::Wr), "A write served with WR_LOC.");
}

fn directory_races(parts: &Parts, d: &Decision, s2: &DataStage, answer: Option<(Bool, Bits)>) {
    let (Some(queue), Some((answers, id))) = (&parts.ops.queue, answer) else {
        return;
    };
    let write = answers & !parts.ops.reads.now.get().bit_at(id);
    let data = parts.ops.data.now.get().bit_at(id);
    cover("rec.race.directory_before_data", write & !data, "The directory answers before the data step.");
    cover("rec.race.data_before_directory", write & data, "The data step was done before the answer.");
    let step = s2.step.get();
    let early = !parts.ops.directory.now.get().bit_at(step.op);
    cover(
        "rec.race.rdrsp_before_directory",
        s2.valid.get() & step.answer_remote & s2.req.get().cacheable & early,
        "A RdRsp leaves before the directory answered its RD_REM.",
    );
    let behind = wire_or::<Bool>("seen_behind", (), false);
    when(d.starts_op & d.op.req.kind.is_any(&[ReqKind::Wr, ReqKind::Atom]), || {
        behind.set(queue.any(|q| q.op.is(DirOp::RdRem) & q.line.eq(d.op.req.line)));
    });
    cover(
        "rec.race.write_queued_behind_read",
        behind.get(),
        "A write enters the directory FIFO while a RD_REM of its line is in it.",
    );
}

fn counters(parts: &Parts, choice: &Choice, d: &Decision) {
    let (local, remote) = (d.op.class.is(Class::Local), d.op.class.is(Class::Remote));
    let demand = d.go & (local | remote) & d.op.req.kind.is_any(&[ReqKind::Rd, ReqKind::Wr, ReqKind::Atom]);
    let homed = d.op.req.homed;
    // Stores and atomics on remote-homed lines pass through: they look up nothing that could miss.
    let counted = demand & (homed | d.op.req.kind.is(ReqKind::Rd));
    let copy = d.look.hit & !d.forced;
    let hit = counted & copy & !d.found.hit;
    let merged = counted & d.found.hit;
    let miss = counted & !copy & !d.found.hit;
    count("l2_accesses", counted, "Demand accesses: local loads, requests at home.");
    count("l2_hits", hit, "Demand accesses that find a valid line.");
    count("l2_merged", merged, "Demand accesses that join an open MSHR.");
    count("l2_misses_local_home", miss & local & homed, "Local misses on home lines.");
    count("l2_misses_local_away", miss & local & !homed, "Local misses on remote-homed lines.");
    count("l2_misses_remote", miss & remote, "Misses of other GPUs' requests at home.");
    count(
        "l2_away_writes",
        demand & !homed & !d.op.req.kind.is(ReqKind::Rd),
        "Stores and atomics sent to another home.",
    );
    let hit_inv = d.r(L2Act::InvHit) | d.g(L2Act::InvHit);
    count("l2_inv_hit_write", hit_inv & d.op.cause.is(Cause::Write), "Invs by writes that drop a copy.");
    count("l2_inv_hit_evict", hit_inv & d.op.cause.is(Cause::Evict), "Invs by evictions that drop a copy.");
    let (sink, other) = (&parts.select.inv, reg::<Bool>("inv_other_line", ()));
    when(choice.inv, || {
        other.set(sink.channel.msg.grp & sink.line.ne(sink.channel.msg.line));
    });
    count(
        "l2_inv_false_positive",
        hit_inv & d.op.cause.is(Cause::Write) & other.get(),
        "Copies of other lines than the one written that group Invs by writes drop.",
    );
    let miss_inv = d.r(L2Act::InvMiss) | d.g(L2Act::InvMiss);
    count("l2_inv_miss_write", miss_inv & d.op.cause.is(Cause::Write), "Invs by writes that find no copy.");
    count(
        "l2_inv_miss_evict",
        miss_inv & d.op.cause.is(Cause::Evict),
        "Invs by evictions that find no copy.",
    );
    count("l2_poison_events", d.r(L2Act::Poison) | d.g(L2Act::Poison), "Waiting reads poisoned.");
    count("l2_poison_waits", d.poison_blocked, "Loads sent back because their line is poisoned.");
    count("l2_list_waits", d.list_blocked, "Requests sent back because their list is full or being walked.");
    count("l2_write_backs", d.step.write_back & d.go, "Dirty lines written back.");
    let (l, r) = (&parts.select.local, &parts.select.remote);
    let held = |sink: &ReqSink, taken: Bool| (sink.here & !taken).bits().zext(2);
    let waiting = held(l, choice.local) + held(r, choice.remote);
    count_amount(
        "l2_lookup_wait",
        waiting.any(),
        waiting,
        "Request heads that were not taken, summed over cycles.",
    );
    let lacks = |pick: fn(&Lacks) -> Bool| {
        (l.valid & pick(&choice.local_lacks)) | (r.valid & pick(&choice.remote_lacks))
    };
    count(
        "l2_wait_mshr",
        lacks(|x| x.mshr | x.quota),
        "Cycles in which a head waits for an MSHR or pool entry.",
    );
    count("l2_wait_egress", lacks(|x| x.egress), "Cycles in which a head waits for an output queue.");
    count("l2_wait_write_back", lacks(|x| x.write_back), "Cycles in which a head waits for the DRAM queue.");
    count(
        "l2_wait_directory",
        lacks(|x| x.directory),
        "Cycles in which a head waits for a directory operation.",
    );
}

fn assertions(parts: &Parts, d: &Decision) {
    let inv = parts.select.s1_valid.get() & d.op.class.is(Class::Inv) & d.op.req.homed;
    for (id, code) in [("l2home.I.Inv", 0), ("l2home.V.Inv", 1), ("l2home.D.Inv", 2), ("l2home.F.Inv", 3)] {
        let state = mux(d.found.hit, lit(3, 2), d.look.state.bits());
        assert_always(id, !(inv & state.eq(code)), "a home is never asked to invalidate its own line");
    }
    assert_always(
        "l2_line_in_one_place",
        !(parts.select.s1_valid.get() & d.look.hit & d.found.hit) | d.op.class.is(Class::Flush),
        "a line is valid or waits in an MSHR, not both",
    );
    let quota = u64::from(parts.p.mshr_quota());
    assert_always(
        "l2_mshr_quota",
        parts.m.used_remote.now.get().le(quota),
        "remote-homed lines hold at most 3/4 of the MSHRs",
    );
    for (name, count) in [
        ("l2_local_rsp_fits", parts.outs.local.fits()),
        ("l2_rsp_out_fits", parts.outs.remote.fits()),
        ("l2_req_out_fits", parts.outs.request.fits()),
        ("l2_mem_req_fits", parts.outs.mem.fits()),
        ("l2_inv_done_fits", parts.outs.inv_done.fits()),
    ] {
        assert_always(name, count, "a queue has room for what is pushed");
    }
    if let Some(queue) = &parts.ops.queue {
        assert_always("l2_dir_req_fits", queue.fits(), "a queue has room for what is pushed");
    }
    let fadd = d.go & d.op.req.kind.is(ReqKind::Atom) & d.op.req.amo.is(crate::msg::AmoOp::Fadd32);
    assert_always("l2_no_fadd", !(fadd & d.op.req.homed), "floating-point atomics are not implemented");
}
