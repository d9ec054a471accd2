//! Counters and races (denovo-b.md). Observers only: no hardware.

use super::Core;
use super::plan::Plan;
use super::stage::Slot;
use super::table::{Give, LineState, Operate, Part, Program, Step};
use super::turn::{Turn, Turns};
use crate::write_combining::op::Kind;
use weft_rtl::prelude::*;

/// Declares all observers.
pub(super) fn observe(core: &Core, turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let ends = slot.access & plan.goes & !core.sync.steps.advance.get();
    let answers = turns.is(Turn::Sync) & core.replies.room() & core.sync.is(&[Step::Answer]);
    core.sync.observe("denovo_b_l1", ends | answers, "cycles from begin to end");
    core.drain.observe(&core.sfifo, ("srsp.race.denovo_b_l1_", "denovo_b_l1"), false);
    requests(turns, slot, plan);
    registrations(core, turns, slot, plan);
    flushes(core);
    given_back(turns, slot, plan);
    waits(core, turns, slot, plan);
    owned_lines(core, turns, slot, plan);
    acquires(core, turns, slot, plan);
}

fn requests(turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let left = plan.leaves & turns.is(Turn::Cu);
    let syncs = ("atomics", "atomics carried out, put into an MSHR or given to the sync unit");
    turns.head.observe("denovo_b_l1", left, &slot.at.op, syncs);
    let does = |action| plan.does(action);
    count("denovo_b_l1_hits", does(Operate::Hit), "loads answered without a fill");
    let loads = does(Operate::Join) | (does(Operate::Register) & !plan.row.does(Operate::Again));
    let misses = does(Operate::Reserve) | loads;
    count("denovo_b_l1_misses", misses, "loads and atomics that wait for the L2");
    count("denovo_b_l1_fetches", does(Operate::Reserve), "RD: lines asked of the L2");
    count("denovo_b_l1_local", does(Operate::Perform), "atomics on lines that were owned already");
    count("denovo_b_l1_owned_stores", does(Operate::Keep), "plain stores to lines that are registered");
    let owned = does(Operate::Hit) & slot.at.found.state.is(LineState::O);
    count("denovo_b_l1_owned_loads", owned, "plain loads of lines that are registered");
}

/// REG by cause.
fn registrations(core: &Core, turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let registers = plan.does(Operate::Register);
    let again = plan.row.does(Operate::Again);
    let atomic = registers & slot.at.is(Kind::Sync);
    let pops = plan.pops & plan.own.registers & turns.is(Turn::Drain);
    let room = core.drain.for_room();
    let counts = [
        ("reg_atomic", atomic, "REG: lines registered for atomics"),
        ("reg_load", registers & again, "REG: written lines of which a load asks for other bytes"),
        ("reg_flush", pops & !room, "REG: written lines of releases and acquires"),
        ("reg_pop", pops & room, "REG: written lines, for room"),
    ];
    for (name, cond, text) in counts {
        count(&format!("denovo_b_l1_{name}"), cond, text);
    }
}

/// Flushes and invalidations by cause.
fn flushes(core: &Core) {
    let done = core.drain.sync.done.get();
    let of = |program: Program| core.sync.runs(program);
    let access = Program::ACCESSES.iter().fold(bool_lit(false), |any, p| any | of(*p));
    let kernel = of(Program::Begin) | of(Program::End);
    let released = done & core.sync.is(&[Step::Register]);
    let acquired = done & core.sync.is(&[Step::Flush]);
    let counts = [
        ("flush_release", released & of(Program::Release), "flushes before accesses that release"),
        ("flush_acquire", acquired & access, "flushes of acquires, before they drop"),
        ("flush_fence", done & (of(Program::FenceAcq) | of(Program::FenceRel)), "flushes of fences"),
        ("flush_kernel", done & kernel, "flushes of a kernel's begin or end"),
    ];
    let drops = core.arrays.flashes();
    let flashes = [
        ("flash_acquire", drops & access, "invalidations of accesses that acquire"),
        ("flash_fence", drops & of(Program::FenceAcq), "invalidations of fences"),
        ("flash_kernel", drops & of(Program::Begin), "invalidations of a kernel's begin"),
    ];
    for (name, cond, text) in counts.into_iter().chain(flashes) {
        count(&format!("denovo_b_l1_{name}"), cond, text);
    }
    count("denovo_b_l1_gate_cycles", !core.gate_open(), "cycles in which the gate is closed");
}

/// Lines and bytes that go to the L2.
fn given_back(turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let kend = turns.is(Turn::Sync);
    let counts = [
        ("unreg_evict", plan.own.evicts & !kend, "UNREG: owned victims"),
        ("unreg_kend", plan.own.evicts & kend, "UNREG: owned lines given back at a kernel's end"),
        ("revokes", slot.asked.does(Give::Line), "REVOKE_ACK{1}: owned lines revoked"),
        ("reads", slot.asked.does(Give::Bytes), "READ_ACK{1}: owned lines read by others"),
        ("empty_acks", slot.asked.does(Give::Empty), "REVOKEs and READs that an UNREG has crossed"),
    ];
    for (name, cond, text) in counts {
        count(&format!("denovo_b_l1_{name}"), cond, text);
    }
}

fn race(name: &str, cond: Bool, text: &str) {
    cover(&format!("srsp.race.denovo_b_l1_{name}"), cond, text);
}

/// Why requests and pops wait.
fn waits(core: &Core, turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let w = &plan.waits;
    let does = |action| plan.looks & plan.row.does(action);
    race("no_frame", w.room, "every way of a set is under way, or written");
    race("no_clean_frame", plan.own.wants_pop, "an operation waits for a written line to be registered");
    let text = "a miss waits for the acknowledgement of its line, which was given back";
    race("miss_behind_unreg", w.acked & does(Operate::Reserve), text);
    let text = "a registration waits for the acknowledgement of its line, which was given back";
    race("reg_behind_unreg", w.acked & does(Operate::Register), text);
    race("pop_behind_unreg", plan.own.behind_unreg, "a pop waits for it");
    race("evict_waits", plan.own.no_channel, "an owned victim waits for the channel or the WBT");
    let full = core.misses.all.full();
    race("pop_without_mshr", core.drain.wants(&core.sfifo) & full, "a pop finds no MSHR free");
    let releases = core.sync.is(&[Step::Register]);
    race(
        "others_in_release",
        plan.goes & slot.at.request & releases,
        "an access goes on while a release waits",
    );
    let gated = turns.is(Turn::Cu) & turns.head.valid.get() & !core.gate_open();
    race("gate_in_slot", gated, "the gate closes between the choice of a slot and the slot");
    let pushed = plan.pushes & core.drain.sync.busy();
    race("store_in_flush", pushed, "a line is written during a flush, which does not wait for it");
}

/// Owned lines that come and go.
fn owned_lines(core: &Core, turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let (found, asked) = (&slot.at.found, &slot.asked);
    let mask = core.arrays.mask(found.way);
    let some = mask.any() & !mask.all();
    race(
        "line_with_some_bytes",
        asked.does(Give::Line) & some,
        "a line is revoked of which some bytes were written",
    );
    race("line_without_bytes", asked.does(Give::Line) & mask.none(), "a line is revoked that the L2 knows");
    race("read_with_bytes", asked.does(Give::Bytes) & mask.any(), "an owner tells what it has written");
    race(
        "read_without_bytes",
        asked.does(Give::Bytes) & mask.none(),
        "an owner is read again that wrote nothing since",
    );
    let keeps = plan.does(Operate::Keep);
    let owned = keeps & found.state.is(LineState::O);
    race("store_after_read", owned & mask.none(), "a store to an owned line all of whose bytes the L2 knows");
    let probe = core.owner.probe.valid;
    race(
        "probe_at_release",
        core.drain.sync.done.get() & probe,
        "a flush ends while a REVOKE or READ is there",
    );
    let walks = plan.own.evicts & turns.is(Turn::Sync);
    race("kend_with_owned", walks, "a kernel ends with owned lines, which are given back");
    let dead = plan.pops & !plan.leave.does(Part::Register) & found.state.is(LineState::O);
    race("dead_owned", dead, "the sFIFO entry of a line that has been registered since");
}

/// Acquires, and what is under way when they drop.
fn acquires(core: &Core, turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let drops = core.arrays.flashes();
    race(
        "flash_open_miss",
        drops & core.arrays.some_coming(),
        "lines are dropped while copies are on their way",
    );
    race("flash_owned", drops & !core.arrays.none_owned(), "lines are dropped while others are owned");
    let lost = slot.access & plan.goes & !plan.row.does(Operate::Perform);
    race("lost_before_access", lost, "the line of an access of the sync unit is not owned, or not any more");
    let later = turns.is(Turn::Fill) & !core.gate_open() & slot.at.target;
    race("grant_in_acquire", later, "what waits for a line is done while an acquire is at work");
}
