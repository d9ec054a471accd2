//! Counters (srsp.md section 12) and races that several parts together show (section 7). Observers only: no hardware.

use super::ProbeStep;
use super::params::Closes;
use super::plan::Plan;
use super::stage::Slot;
use super::table::{LineState, Operate};
use super::turn::{Turn, Turns};
use super::{AddressLock, Core};
use crate::msg::ProbeOp;
use crate::params::Impl;
use crate::write_combining::op::Kind;
use weft_rtl::prelude::*;

/// Declares all observers.
pub(super) fn observe(core: &Core, turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    core.sync.observe(core, turns.is(Turn::Sync));
    core.drain.observe(&core.sfifo, ("srsp.race.", "srsp_l1"), core.p.system != Impl::Base);
    requests(turns, slot, plan);
    lines(core, turns, slot, plan);
    gate(core, turns, plan);
    races(core, turns, slot, plan);
}

fn requests(turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let left = plan.leaves & turns.is(Turn::Cu);
    turns.head.observe("srsp_l1", left, &slot.at.op, ("syncs", "accesses with synchronisation"));
    let does = |action| plan.does(action);
    count("srsp_l1_hits", does(Operate::Hit) & turns.is(Turn::Cu), "loads answered without a fill");
    count(
        "srsp_l1_misses",
        does(Operate::Reserve) | does(Operate::Join),
        "loads and atomics that wait for a fill",
    );
    count("srsp_l1_fetches", does(Operate::Reserve), "lines asked of the L2");
    count("srsp_l1_a1", does(Operate::Perform), "atomics performed here");
    count("srsp_l1_replays", plan.leaves & turns.is(Turn::Replay), "atomics looked up again");
    count("srsp_l1_pa_hit", plan.queues & plan.own.route.promoted, "acquires promoted");
    let looked = plan.leaves & plan.own.route.wg & slot.at.op.acquires() & !plan.own.route.promoted;
    count("srsp_l1_pa_miss", looked, "acquires at work-group scope that are done here");
    count("srsp_l1_converted", plan.leaves & plan.own.route.converted, "remote operations done here");
    count("srsp_l1_lr_insert", plan.own.registers, "releases registered");
}

fn lines(core: &Core, turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let gated = turns.is(Turn::Cu) & turns.head.valid.get() & !core.gate.open();
    let parts = (&core.drain, &core.wbt.table, slot.at.op.line);
    plan.observe(("srsp.race.", "srsp_l1"), parts, [turns.is(Turn::Drain), gated]);
    let sent = |name: &str, cond: Bool, text: &str| count(name, plan.wb_goes & cond, text);
    sent("srsp_l1_wb_evict", plan.goes & slot.at.request, "write-backs of victims and of lines that miss");
    sent(
        "srsp_l1_wb_inv",
        turns.is(Turn::Probe) | turns.is(Turn::Sync),
        "write-backs of lines that are dropped",
    );
    let drops = core.sync.drops(turns.is(Turn::Sync));
    count("srsp_l1_flash_own", drops, "invalidations for the own operation");
    let probe = core.arrays.flashes() & turns.is(Turn::Probe);
    count("srsp_l1_flash_probe", probe, "invalidations for a probe");
    if let Some(found) = slot.lr {
        let died = plan.pops & core.lr.as_ref().map_or(bool_lit(false), |t| t.at(core.sfifo.head()).any());
        count("srsp_l1_lr_popped", died, "releases whose place was popped");
        count("srsp_l1_lr_update", plan.own.registers & found.hit, "of the releases registered: again");
        cover(
            "srsp.race.lr_overflow",
            died & core.drain.for_room(),
            "a release leaves the sFIFO for want of room",
        );
    }
}

fn gate(core: &Core, turns: &Turns, plan: &Plan) {
    let gate = &core.gate;
    let waits = turns.head.some();
    count("srsp_l1_gate_own", gate.own.get(), "cycles in which the gate is closed for an own operation");
    count("srsp_l1_gate_pa", gate.pa.get(), "cycles in which it is closed for want of a PA entry");
    // A lock that leaves the gate open costs what waits for it.
    let locked = match &gate.lock {
        Some(lock) if lock.closes == Closes::All => lock.held.get(),
        _ => plan.own.barred,
    };
    let text = "cycles in which it is closed, or a request waits, for another CU's remote operation";
    count("srsp_l1_gate_others", locked | gate.all.get(), text);
    let text = "cycles in which a request waits for the gate";
    count("srsp_l1_gate_waits", (waits & !gate.open()) | plan.own.barred, text);
}

fn races(core: &Core, turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let race = |name: &str, cond: Bool, text: &str| cover(&format!("srsp.race.{name}"), cond, text);
    let performs = plan.goes & plan.row.does(Operate::Perform);
    race(
        "cas_fails_here",
        performs & !plan.wrote & slot.at.op.op.is(crate::msg::SyncOp::Cas),
        "a compare-and-swap fails here: nothing is dirty, nothing registered",
    );
    race("held_line", plan.own.held, "a request finds its line held by the own operation at the L2");
    race("miss_behind_wb", plan.waits.acked, "a miss waits for the write-back of its line");
    race(
        "flash_open_miss",
        core.arrays.flashes() & core.arrays.some_pending(),
        "lines are dropped while fills are open",
    );
    race(
        "replay_again",
        plan.goes & turns.is(Turn::Replay) & plan.row.does(Operate::Reserve),
        "a replayed atomic opens its MSHR again",
    );
    race("replay_waits", turns.is(Turn::Replay) & !plan.leaves, "a replay must wait: others go first");
    if core.p.system.selective() {
        race(
            "replay_promoted",
            plan.queues & turns.is(Turn::Replay) & plan.own.route.promoted,
            "an acquire that waited for a fill finds its address in the PA-TBL afterwards",
        );
    }
    if core.p.system.locks_lines() {
        let busy = core.sync.steps.runs.get() & core.gate.own.get();
        race(
            "owner_stores",
            plan.pushes & !busy & core.probe.step.get().is(ProbeStep::Flush),
            "the owner stores while its release is being flushed for another CU",
        );
        encounters(core, turns);
    }
    if core.p.system.selective() {
        promotions(core, turns, slot);
    }
    if let Some(lock) = &core.gate.lock {
        locked(core, turns, (slot, plan), lock);
    }
    if core.p.system == Impl::SrspOpt {
        race(
            "converted",
            plan.leaves & plan.own.route.converted,
            "a remote operation finds its address in the own LR-TBL",
        );
    }
}

/// What the CU does, or would do, while another CU's broadcast has locked an address here.
fn locked(core: &Core, turns: &Turns, (slot, plan): (&Slot<'_>, &Plan), lock: &AddressLock) {
    let race = |name: &str, cond: Bool, text: &str| cover(&format!("srsp.race.{name}"), cond, text);
    if lock.closes == Closes::All {
        return;
    }
    let lock = lock.held.get();
    race("lock_bars", plan.own.barred, "an operation waits for a broadcast's lock");
    let plain = slot.at.op.kind.is_any(&[Kind::Load, Kind::Store]);
    race("lock_passed", plan.goes & lock & plain, "a plain access goes on under a broadcast's lock");
    let unlocks = turns.is(Turn::Probe) & core.probe.step.get().is(ProbeStep::Look);
    let unlocks = unlocks & core.probe.probe.msg.op.is(ProbeOp::InvUnlock) & core.sfifo.some();
    race(
        "dirty_at_unlock",
        unlocks,
        "lines are dirty again when the lock ends: they are flushed before all is dropped",
    );
}

/// Remote operations of two CUs under way at once, where nothing but the lock of a line keeps them apart.
fn encounters(core: &Core, turns: &Turns) {
    let race = |name: &str, cond: Bool, text: &str| cover(&format!("srsp.race.{name}"), cond, text);
    let m = &core.probe.probe.msg;
    let looks = turns.is(Turn::Probe) & core.probe.step.get().is(ProbeStep::Look);
    let remote = core.sync.remote();
    race("two_remotes", looks & remote & core.sync.same_word(m.addr), "two remote operations on one address");
    let other = looks & remote & core.sync.line(&core.p).ne(core.p.shape.srsp.line_of(m.addr));
    race("remotes_apart", other & core.gate.own.get(), "two remote operations on two lines, both under way");
    let entries = core.misses.of_line(core.sync.line(&core.p)) & core.misses.all.open.get();
    race(
        "own_fill_behind_lock",
        remote & entries.any(),
        "an own fill of the line waits while the own remote operation is at work",
    );
}

/// Races of probes with what is under way here.
fn promotions(core: &Core, turns: &Turns, slot: &Slot<'_>) {
    let race = |name: &str, cond: Bool, text: &str| cover(&format!("srsp.race.{name}"), cond, text);
    let m = &core.probe.probe.msg;
    let looks = turns.is(Turn::Probe) & core.probe.step.get().is(ProbeStep::Look);
    let (inv, flush) = (looks & m.op.is(ProbeOp::SelInv), looks & m.op.is(ProbeOp::SelFlush));
    let text = "SEL_INV comes between a promoted acquire's atomic at the L2 and its invalidation";
    race("inv_before_drop", inv & core.sync.between_atomic_and_drop(), text);
    let dirty = slot.at.found.state.is_any(&[LineState::D, LineState::W]);
    race(
        "inv_of_dirty",
        inv & dirty,
        "SEL_INV finds the line dirty: it is written back before the release is stored",
    );
    if let (Some(lr), Some(pa)) = (&core.lr, &core.pa) {
        let words = core.p.shape.offset_bits() - 2;
        let word = m.addr.slice(2, core.p.shape.srsp.word_bits());
        race(
            "shared_line",
            (inv | flush) & dirty & lr.neighbour(word, words),
            "a probed line holds another released variable, which its write-back makes visible early",
        );
        race(
            "pa_emptied",
            core.arrays.flashes() & pa.some(),
            "promotions are owed when lines are dropped: they are honoured",
        );
    }
}
