//! Counters (srsp.md section 12) and races (section 9). Observers only: no hardware.

use super::Core;
use super::params::HlrcInject;
use super::plan::Plan;
use super::stage::Slot;
use super::table::{Operate, OwnState, Program, Step};
use super::turn::{Turn, Turns};
use weft_rtl::prelude::*;

/// Declares all observers.
pub(super) fn observe(core: &Core, turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let ends = core.sync.ends(core, turns.is(Turn::Sync));
    core.sync.observe("hlrc_l1", ends, "cycles from begin to the last answer");
    core.drain.observe(&core.sfifo, ("srsp.race.hlrc_l1_", "hlrc_l1"), true);
    requests(turns, slot, plan);
    let gated = turns.is(Turn::Cu) & turns.head.valid.get() & !core.gate_open();
    let parts = (&core.drain, &core.wbt.table, slot.at.op.line);
    plan.observe(("srsp.race.hlrc_l1_", "hlrc_l1"), parts, [turns.is(Turn::Drain), gated]);
    flushes(core, turns, plan);
    write_backs(core, turns, plan);
    waits(core, plan);
    owned_lines(core, turns, slot, plan);
    flashes(core, turns, slot, plan);
}

fn requests(turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let left = plan.leaves & turns.is(Turn::Cu);
    turns.head.observe("hlrc_l1", left, &slot.at.op, ("atomics", "atomics carried out or put into an MSHR"));
    let does = |action| plan.does(action);
    count("hlrc_l1_hits", does(Operate::Hit), "loads answered without a fill");
    let misses = does(Operate::Reserve) | does(Operate::Register) | does(Operate::Ask) | does(Operate::Join);
    count("hlrc_l1_misses", misses, "loads and atomics that wait for the L2");
    count("hlrc_l1_fetches", does(Operate::Reserve), "RD: lines asked of the L2");
    count("hlrc_l1_reg", does(Operate::Register), "REG: lines registered");
    count("hlrc_l1_rdu", does(Operate::Ask), "RDU: reads of owned lines at the L2");
    count("hlrc_l1_local", does(Operate::Perform), "atomics on lines that were owned already");
}

/// Flushes and invalidations by cause.
fn flushes(core: &Core, turns: &Turns, plan: &Plan) {
    let walks = turns.is(Turn::Sync);
    count("hlrc_l1_revokes", plan.own.revokes, "owned lines revoked");
    count("hlrc_l1_flush_loss", plan.own.revokes, "flushes for a line that is revoked: atomic out");
    count("hlrc_l1_flush_evict", plan.own.evicts & !walks, "flushes for an owned victim");
    count(
        "hlrc_l1_flush_kend",
        plan.own.evicts & walks,
        "flushes for owned lines given back at a kernel's end",
    );
    let done = core.drain.sync.done.get();
    let of = |program: Program| core.sync.runs(program);
    count("hlrc_l1_flush_gain", done & of(Program::Gain), "flushes for a line gained");
    let kernel = of(Program::Begin) | of(Program::End);
    count("hlrc_l1_flush_kernel", done & kernel, "flushes of a kernel's begin or end");
    let fence = of(Program::FenceAcq) | of(Program::FenceRel);
    count("hlrc_l1_flush_fence", done & fence, "flushes of fences");
    let drops = core.arrays.flashes();
    count("hlrc_l1_flash_gain", drops & of(Program::Gain), "invalidations for a line gained: atomic in");
    count("hlrc_l1_flash_kernel", drops & of(Program::Begin), "invalidations of a kernel's begin");
    count("hlrc_l1_flash_fence", drops & of(Program::FenceAcq), "invalidations of fences");
    count("hlrc_l1_gate_cycles", !core.gate_open(), "cycles in which the gate is closed");
    let kept = turns.head.some();
    let text = "cycles in which a request waits for the gate";
    count("hlrc_l1_gate_waits", kept & !core.gate_open(), text);
    count("hlrc_l1_capture_cycles", core.capture.busy.get(), "cycles in which the capture buffer is busy");
}

fn write_backs(core: &Core, turns: &Turns, plan: &Plan) {
    let sent = |name: &str, cond: Bool, text: &str| count(name, plan.wb_goes & cond, text);
    let drains = turns.is(Turn::Drain);
    let through = plan.looks & plan.row.does(Operate::Through);
    sent("hlrc_l1_wb_through", through, "plain stores to owned lines");
    let text = "write-backs of victims, of lines that miss and of lines to be registered";
    sent("hlrc_l1_wb_evict", !drains & !through, text);
    let hands = turns.is(Turn::Hand) & core.l2.wb.free;
    let revoked = core.capture.revoked.get();
    count("hlrc_l1_revoke_ack", hands & revoked, "lines handed over: REVOKE_ACK{1}");
    count("hlrc_l1_unreg", hands & !revoked, "lines given back: UNREG");
}

fn race(name: &str, cond: Bool, text: &str) {
    cover(&format!("srsp.race.hlrc_l1_{name}"), cond, text);
}

/// Why requests wait.
fn waits(core: &Core, plan: &Plan) {
    let w = &plan.waits;
    let does = |action| plan.looks & plan.row.does(action);
    race("op_captured", plan.own.captured, "an operation comes to a line that is in the capture buffer");
    race("miss_behind_wb", w.acked & does(Operate::Reserve), "a miss waits for the write-back of its line");
    race(
        "reg_behind_wb",
        w.acked & does(Operate::Register),
        "a registration waits for the WBT to lose its line",
    );
    if core.p.inject != HlrcInject::ReadPastWb {
        race(
            "rdu_behind_wb",
            w.acked & does(Operate::Ask),
            "a read of an owned line waits for its write-back",
        );
    }
    race("evict_waits", plan.own.buffer, "an owned victim waits for the capture buffer or the WBT");
}

/// Owned lines that come and go.
fn owned_lines(core: &Core, turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let capture = &core.capture;
    let flushing = capture.busy.get() & !capture.flushed.get();
    let own = slot.at.request & plan.goes & plan.row.does(Operate::Perform);
    race("atomic_in_loss", own & flushing, "an atomic on another owned line while a loss flushes");
    race(
        "store_in_loss",
        plan.pushes & flushing & capture.revoked.get(),
        "a line becomes dirty while a loss flushes, which does not wait for it",
    );
    let gains = core.misses.some_gained();
    race(
        "revoke_in_gain",
        plan.own.revokes & gains,
        "a line is revoked while the invalidation of a gain is at work",
    );
    let later = !core.gate_open() & core.sync.is(&[Step::Answer]);
    race("gain_behind_answers", later, "a gain waits while the atomics of the one before are answered");
    race(
        "kend_with_owned",
        plan.own.evicts & turns.is(Turn::Sync),
        "a kernel ends with owned lines, which are given back",
    );
    race(
        "dead_owned",
        plan.pops & slot.at.found.state.is(OwnState::O),
        "the sFIFO entry of a line that has been registered since",
    );
}

/// Flash invalidations and what is under way.
fn flashes(core: &Core, turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let drops = core.arrays.flashes();
    race("flash_open_miss", drops & core.arrays.some_pending(), "lines are dropped while answers are open");
    race("flash_owned", drops & !core.arrays.none_owned(), "lines are dropped while others are owned");
    let lost = slot.at.found.state.is(OwnState::I) & turns.is(Turn::Cu);
    let joins = plan.goes & plan.row.does(Operate::Join) & lost;
    race("rdu_of_lost", joins, "a load joins the RDU of a line that has been lost since");
}
