//! Counters (spandex.md section 13) and races (section 5). Observers only: no hardware.

use super::Core;
use super::plan::Plan;
use super::stage::Slot;
use super::table::{Access, Operate, Serve};
use super::turn::Turn;
use crate::mesi_port::{ExtOp, LineState};
use weft_rtl::prelude::*;

/// Declares all observers.
pub(super) fn observe(core: &Core, slot: &Slot<'_>, plan: &Plan) {
    requests(slot, plan);
    waits(slot, plan);
    races(core, slot, plan);
}

fn requests(slot: &Slot<'_>, plan: &Plan) {
    let is = |access: Access| plan.goes & slot.op.access.is(access);
    count("mesi_l1_loads", is(Access::Ld), "loads carried out or listed");
    count("mesi_l1_stores", is(Access::St), "stores");
    count("mesi_l1_atomics", is(Access::At), "atomics, and loads that need ownership");
    let row = |id: &str| plan.goes & plan.row.row(&format!("spandex.mesi_l1.{id}"));
    count("mesi_l1_hits_s", row("Ld.S"), "loads of shared lines");
    let e = row("Ld.E") | row("St.E") | row("At.E");
    count("mesi_l1_hits_e", e, "operations on exclusive clean lines");
    let m = row("Ld.M") | row("St.M") | row("At.M");
    count("mesi_l1_hits_m", m, "operations on dirty lines");
    let does = |action| plan.goes & plan.row.does(action);
    count("mesi_l1_misses", does(Operate::Miss), "operations on lines that are absent");
    count("mesi_l1_upgrades", does(Operate::Upgrade), "shared lines for which ownership is asked");
    count("mesi_l1_joins", does(Operate::Join), "operations on lines that are asked for already");
    let evicts = does(Operate::Miss) & slot.found.victim_state.is_any(&LineState::OWNED);
    count("mesi_l1_puts", evicts, "owned lines evicted");
    let silent = does(Operate::Miss) & slot.found.victim_state.is(LineState::S);
    count("mesi_l1_evict_s", silent, "shared lines evicted silently");
}

fn waits(slot: &Slot<'_>, plan: &Plan) {
    let w = &plan.waits;
    count(
        "mesi_l1_wait_cycles",
        slot.turns.head.valid.get() & !plan.leaves,
        "cycles in which a request waits",
    );
    count("mesi_l1_mshr_full", w.mshr, "cycles in which a miss waits for an MSHR");
    count("mesi_l1_buffer_full", w.entry, "cycles in which an operation waits for the store buffer");
    count("mesi_l1_no_way", w.room, "cycles in which every way of a set is pending or written back");
    count("mesi_l1_wbb_full", w.credit, "cycles in which an eviction waits for the write-back buffer");
    count("mesi_l1_release_waits", plan.release_waits, "cycles in which a release waits for stores");
}

fn race(name: &str, cond: Bool, text: &str) {
    cover(&format!("spandex.race.mesi_l1_{name}"), cond, text);
}

fn races(core: &Core, slot: &Slot<'_>, plan: &Plan) {
    let w = &plan.waits;
    race("wbb_full", w.credit, "an eviction waits for a free entry of the write-back buffer");
    race("no_way", w.room, "every way of a set is pending or written back in place");
    race("sb_full", w.entry, "the store buffer is full");
    race("mshr_full", w.mshr, "the MSHRs are full");
    race("release_waits", plan.release_waits, "a release waits for stores that wait for their line");
    let looks = |op: ExtOp| plan.looked & slot.turns.ext.msg.op.is(op);
    let pending = slot.found.state.is(LineState::P);
    race("inv_pending", looks(ExtOp::Inv) & pending, "an invalidation meets an outstanding request");
    let filler = &core.filler;
    let ends = slot.turns.is(Turn::Fill) & filler.ends.get() & filler.rest.get();
    race("once_rest", ends & filler.once.get(), "a line used once leaves stores behind, which ask again");
    race("shared_rest", ends & !filler.once.get(), "a shared line leaves stores behind, which ask again");
    let held = slot.serves & plan.target.does(Serve::Write);
    let goes = core.arrays.state(core.mshrs.miss(filler.mshr.get()).way).is_any(&LineState::WBP);
    race("store_then_gone", held & goes, "a store is done on a line whose words are wanted back already");
}
