//! Counters (spandex.md section 13) and races that several parts together show. Observers only: no hardware.

use super::Core;
use super::op::Kind;
use super::slot::{Plan, Slot};
use super::table::{Answer, LineState, Local, Operate};
use super::turn::{Turn, Turns};
use weft_rtl::prelude::*;

/// Declares all observers.
pub(super) fn observe(core: &Core, turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    requests(turns, slot, plan);
    answers(core, slot, plan);
    races(core, turns, slot, plan);
    if core.p.scopes {
        scopes(slot, plan);
    }
}

fn scopes(slot: &Slot<'_>, plan: &Plan) {
    let race = |name: &str, cond: Bool, text: &str| cover(&format!("spandex.race.{name}"), cond, text);
    let (applies, buffered) = (plan.goes & plan.row.here(Local::Apply), &slot.buffered);
    let second = applies & buffered.out & !buffered.open;
    race("gpu_local_second_entry", second, "an operation of CU scope finds the entry of its line out");
    let behind = slot.of_line.atomic & plan.looks & plan.row.here(Local::Wait);
    race(
        "gpu_local_behind_atomic",
        behind,
        "an operation of CU scope waits for an atomic of its line at the LLC",
    );
    let (words, others) = (slot.part.words & buffered.words, buffered.words & !slot.part.words);
    let waits = plan.looks & slot.op.kind.is(Kind::Sync) & words.none() & others.any();
    race(
        "gpu_atomic_behind_line",
        waits,
        "an atomic waits for buffered words of its line that are not its own",
    );
}

fn requests(turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let does = |action| plan.goes & plan.row.does(action);
    let is = |kind: Kind| slot.op.kind.is(kind);
    let valid = slot.found.state.is(LineState::V);
    count("gpu_l1_loads", plan.goes & is(Kind::Load), "loads carried out or put into an MSHR");
    count("gpu_l1_stores", plan.goes & is(Kind::Store) & slot.part.last, "stores buffered or sent");
    count("gpu_l1_atomics", plan.goes & is(Kind::Sync), "atomics sent to the LLC");
    count("gpu_l1_hit_v", does(Operate::Hit) & valid, "loads answered from a valid line");
    count("gpu_l1_hit_buffer", does(Operate::Hit) & !valid, "loads answered from the store buffer");
    count("gpu_l1_misses", does(Operate::Open) | (plan.goes & plan.row.here(Local::Fetch)), "reads of lines");
    count("gpu_l1_merged", does(Operate::Join), "loads that join a read");
    count("gpu_l1_byte_stores", does(Operate::Send) & is(Kind::Store), "byte stores sent to the LLC");
    count("gpu_l1_write_throughs", plan.drains, "entries of the store buffer sent to the LLC");
    count("gpu_l1_releases", plan.queues & !is(Kind::Store), "releases");
    let waits = turns.head.valid.get() & !(plan.leaves & turns.is(Turn::Cu));
    count("gpu_l1_wait_cycles", waits, "cycles in which the request at the head waits");
}

fn answers(core: &Core, slot: &Slot<'_>, plan: &Plan) {
    let first = plan.fills & core.filler.first();
    let entry = core.filler.entry.get();
    let read = first & !core.mshrs.is_atomic(entry);
    count("gpu_l1_fills", first & plan.fill.does(Answer::Install), "lines installed");
    count("gpu_l1_stale_fills", read & core.mshrs.is_stale(entry), "lines that come in stale");
    let evicts = first & plan.fill.does(Answer::Install) & slot.found.evicts;
    count("gpu_l1_evictions", evicts, "valid lines replaced");
}

fn races(core: &Core, turns: &Turns, slot: &Slot<'_>, plan: &Plan) {
    let race = |name: &str, cond: Bool, text: &str| cover(&format!("spandex.race.{name}"), cond, text);
    let does = |action| plan.goes & plan.row.does(action);
    let (op, of_line, buffered) = (&slot.op, &slot.of_line, &slot.buffered);
    let reads = of_line.all & !core.mshrs.atomic.get();
    race(
        "gpu_reread",
        does(Operate::Open) & reads.any(),
        "a line is read again while a stale read of it is under way",
    );
    let born = does(Operate::Open) & of_line.atomic;
    race("gpu_read_during_atomic", born, "a line is read while an atomic of it is at the LLC");
    race(
        "gpu_atomic_during_read",
        does(Operate::Send) & of_line.fresh.any(),
        "an atomic finds a read of its line under way",
    );
    let captured = does(Operate::Open) & buffered.words.any();
    race("gpu_capture_at_open", captured, "a line is read of which some words are buffered");
    let entry = core.filler.entry.get();
    let kept = core.mshrs.own(entry).0.any();
    let installs = plan.fills & core.filler.first() & plan.fill.does(Answer::Install);
    race("gpu_own_store", installs & kept, "a line comes in of which words were stored here meanwhile");
    let gone = installs & (core.mshrs.own(entry).0 & !buffered.words).any();
    race("gpu_own_store_written", gone, "the same, when some of them have been written through already");
    race(
        "gpu_store_behind",
        does(Operate::Buffer) & buffered.out & !buffered.open,
        "a store to a line in flight opens a second entry",
    );
    let waits = plan.looks & plan.row.does(Operate::Wait) & op.kind.is(Kind::Sync);
    race(
        "gpu_atomic_behind_store",
        waits & buffered.words.any(),
        "an atomic waits for buffered stores to its words",
    );
    let order = plan.looks & plan.row.does(Operate::Wait) & op.kind.is(Kind::Store);
    race(
        "gpu_bytes_behind",
        order & of_line.storing.any() & slot.part.bytes,
        "a byte store waits for another to its words",
    );
    race(
        "gpu_bytes_behind_store",
        order & slot.part.bytes & buffered.words.any(),
        "a byte store waits for buffered stores to its words",
    );
    let active = core.releases.active.get();
    let later = does(Operate::Buffer) & active & turns.is(Turn::Cu);
    race(
        "gpu_store_in_release",
        later,
        "a store is buffered while a release waits, which does not wait for it",
    );
    let loads = plan.goes & op.kind.is(Kind::Load);
    race("gpu_load_in_release", loads & active, "a load of another wavefront goes on during a release");
    let acquires = plan.fills & plan.fill.does(Answer::Flash);
    let open = core.mshrs.busy.get() & !core.mshrs.atomic.get();
    race(
        "gpu_acquire_open_reads",
        (acquires | plan.acquires) & open.any(),
        "an acquire finds reads under way",
    );
    race(
        "gpu_mixed_store",
        plan.goes & op.kind.is(Kind::Store) & !slot.part.last,
        "a store of whole words and of bytes is carried out in parts",
    );
}
