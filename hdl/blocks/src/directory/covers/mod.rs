//! Observers of a directory slice: the races that rec.md names, the assertions of its section 4.1, counters. No hardware.

mod hier;

use super::evb::{Evb, Pending};
use super::index::positions;
use super::operations::DirAct;
use super::params::{DirParams, Policy};
use super::recv::{Recv, RecvState, Told};
use super::types::{Lookup, Plan, Stage2, Stalls};
use super::write_inv::{WriteInv, WriteInvState};
use crate::msg::{Cause, DirInv, DirOp, DirReq, DirRsp};
use weft_rtl::prelude::*;

/// What is observed.
pub(super) struct View<'a> {
    pub p: &'a DirParams,
    pub req: &'a InChannel<DirReq>,
    pub rsp: &'a OutChannel<DirRsp>,
    pub run: Bool,
    pub accept: Bool,
    /// An operation is in S1.
    pub s1_valid: Bool,
    /// The operation in S1 leaves it.
    pub go: Bool,
    /// It or a received Inv does.
    pub moves: Bool,
    pub recv: Option<(&'a Recv, &'a Told)>,
    pub look: &'a Lookup,
    pub plan: &'a Plan,
    pub stalls: &'a Stalls,
    pub pending: &'a Pending,
    pub evb: &'a Evb,
    pub s2: &'a Stage2,
    pub wi: &'a WriteInv,
    pub invs: &'a [OutChannel<DirInv>],
    /// Age of the way in S1; none with one way.
    pub age: Option<Bits>,
}

impl View<'_> {
    pub fn op(&self, op: DirOp) -> Bool {
        self.look.req.op.is(op)
    }

    /// The operation makes its way the youngest under `lru`.
    fn remote(&self) -> Bool {
        let all = [DirOp::RdRem, DirOp::WrRem, DirOp::AtomRem];
        self.look.req.op.is_any(if self.p.kind.records_atomics() { &all } else { &all[..2] })
    }

    pub fn hit_set(&self) -> Bool {
        self.go & self.plan.before.any()
    }

    pub fn was_sharer(&self) -> Bool {
        (self.plan.before & self.plan.requester).any()
    }

    pub fn sole_sharer(&self) -> Bool {
        self.plan.before.eq(self.plan.requester)
    }

    /// What is in S2 is an operation. In the cycle after its lookup the register of received Invs is not free yet.
    fn operation_in_s2(&self) -> Bool {
        let Some((recv, _)) = self.recv else { return self.s2.valid.get() };
        self.s2.valid.get() & recv.state.get().is(RecvState::Idle)
    }
}

fn race(name: &str, cond: Bool, text: &str) {
    cover(&format!("rec.race.{name}"), cond, text);
}

/// Declares all observers.
pub(super) fn observe(v: &View) {
    about(v.look.req.line, || operations(v));
    if v.p.kind.modules() {
        hier::observe(v);
    } else {
        places(v);
    }
    if !v.p.kind.records_atomics() {
        atomics(v);
    }
    replacement(v);
    pipeline(v);
    stalls(v);
    overlaps(v);
    assertions(v);
    counters(v);
}

fn operations(v: &View) {
    let p = v.p;
    let hit = v.hit_set();
    race("reread", hit & v.op(DirOp::RdRem) & v.was_sharer(), "a read finds its own sharer bit set");
    let write = hit & v.op(DirOp::WrRem);
    race("wr_rem_sole_sharer", write & v.sole_sharer(), "a remote write by the only sharer sends no Inv");
    race("wr_rem_new_sharer", write & !v.was_sharer(), "a remote write by a GPU that was no sharer");
    let local = hit & v.op(DirOp::WrLoc);
    race("wr_loc_last_slot", local & v.plan.freed, "a local write clears the last slot");
    if p.set_odd() > 1 {
        race("odd_set_count", v.accept, "an op is accepted in a slice with c * 2^k sets, c > 1");
    }
}

fn atomics(v: &View) {
    let p = v.p;
    let atom = v.hit_set() & v.op(DirOp::AtomRem);
    if p.kind.does(DirAct::KeepRequester) {
        race("group_atom_retains", atom & v.was_sharer(), "a group atomic by a sharer keeps it recorded");
        race("group_atom_empties", atom & v.plan.freed, "a group atomic by no sharer empties the entry");
    } else {
        race("atom_last_slot", atom & v.plan.freed, "an atomic clears the last slot");
        race("atom_requester_was_sharer", atom & v.was_sharer(), "an atomic by a sharer");
        race("atom_sole_sharer", atom & v.sole_sharer(), "an atomic by the only sharer sends no Inv");
    }
    if p.slots() > 1 {
        let local = v.hit_set() & v.op(DirOp::WrLoc);
        race("wr_loc_other_slots_left", local & !v.plan.freed, "a local write leaves other slots set");
        race("atom_other_slots_left", atom & !v.plan.freed, "an atomic leaves other slots set");
    }
}

fn places(v: &View) {
    let joins = v.go & v.remote() & !v.was_sharer();
    let home = u64::from(v.p.home);
    if v.p.home > 0 {
        race("sharer_below_home", joins & v.look.req.src.lt(home), "a GPU below the home becomes a sharer");
    }
    if v.p.home + 1 < v.p.sys.nodes() {
        race("sharer_above_home", joins & v.look.req.src.gt(home), "a GPU above the home becomes a sharer");
    }
}

fn replacement(v: &View) {
    let alloc = v.go & v.plan.allocate;
    race("alloc_evicts_oldest", alloc & v.plan.evict, "no way is invalid: the oldest is replaced");
    let Some(age) = v.age else { return };
    let several = (!v.look.valids).popcount().gt(1);
    race("alloc_lowest_invalid_way", alloc & several, "two or more ways are invalid: the lowest is taken");
    let old_hit = v.go & v.look.hit & age.any();
    if v.p.policy == Policy::Lru {
        race("lru_touch", old_hit & v.remote(), "a remote hit makes a way the youngest that was not");
    } else {
        race("fifo_hit_keeps_ages", old_hit & v.remote(), "a remote hit leaves the ages alone");
    }
    let spares = if v.p.kind.records_atomics() { v.op(DirOp::WrLoc) } else { !v.remote() };
    race("wr_loc_atom_keep_ages", old_hit & spares, "a local write or an atomic leaves the ages alone");
}

fn pipeline(v: &View) {
    let look = v.look;
    race("forward_same_set", v.go & look.same_set, "S1 works on the set that is in S2");
    let own = look.forward & v.s2.way.get().eq(look.way);
    let stored = look.mem_hits.bit_at(v.s2.way.get());
    race("forward_alloc_then_hit", v.go & look.hit & own & !stored, "an op hits what the op ahead allocates");
    let freed = look.forward & stored & !v.s2.entry.get().bit(v.p.entry_bits() - 1);
    race("forward_free_then_miss", v.go & !look.hit & freed, "an op misses what the op ahead has freed");
    let victim = v.s2.evict.get() & v.s2.victim.base.eq(look.base);
    let writes = !v.op(DirOp::RdRem);
    race(
        "write_behind_own_eviction",
        look.valid & writes & victim & v.stalls.slot_pending,
        "a write to a slot of the victim in S2",
    );
    // S2 being full says that the op now in S1 entered it in the cycle before.
    let back_to_back = v.accept & look.valid & v.operation_in_s2();
    race("back_to_back_ops", back_to_back, "ops are accepted in two successive cycles");
    race("evict_way_v_to_v", v.s2.evict.get() & v.s2.write.get(), "the new entry takes the victim's way");
    race("init_holds_req", !v.run & v.req.offered, "a request waits for the initialiser");
    let leaves = v.rsp.waiting & v.rsp.free & v.rsp.held.evicted;
    race(
        "rsp_before_burst_done",
        leaves & (v.s2.evict.get() | v.evb.any()),
        "the answer of an evicting op leaves before its burst is done",
    );
}

fn stalls(v: &View) {
    let s = v.stalls;
    race("stall_evb_full", s.evb_full, "an eviction is needed and the buffer is full");
    race("stall_slot_pending", s.slot_pending, "a write's slot is pending in the buffer");
    race("stall_write_inv_busy", s.write_inv_busy, "the write-Inv register is occupied");
    race("stall_rsp_blocked", s.rsp_blocked, "rsp is not taken");
    race("stall_holds_s0", v.look.valid & s.any & v.req.valid, "a stall holds another op in S0");
    let waits = v.wi.state.get().is(WriteInvState::Sent) & !v.invs[0].free;
    race("rsp_waits_for_write_inv", waits, "the answer of a write waits for its Inv to be accepted");
    for (op, name) in [
        (DirOp::WrRem, "wr_rem_waits_pending_slot"),
        (DirOp::WrLoc, "wr_loc_waits_pending_slot"),
        (DirOp::AtomRem, "atom_waits_pending_slot"),
    ] {
        race(name, s.slot_pending & v.op(op), "a write's slot is pending in the eviction buffer");
    }
}

fn overlaps(v: &View) {
    let here = v.go & v.pending.same_base;
    let writes = !v.op(DirOp::RdRem);
    race(
        "other_base_proceeds",
        v.go & !v.pending.same_base & v.evb.any(),
        "another base proceeds in a burst",
    );
    race("rd_rem_overtakes_evb", here & !writes, "a read of a base in the buffer proceeds");
    race(
        "rd_rem_reallocates_evb_base",
        here & !writes & v.plan.allocate,
        "a read allocates a base that the buffer still holds",
    );
    let twice = v.look.valid & writes & v.pending.twice;
    race("two_evb_entries_one_base", twice, "a write waits for a slot that is pending in two rows");
    if v.p.slots() > 1 {
        let accepted: Vec<Bool> = v
            .invs
            .iter()
            .map(|i| i.waiting & i.free & i.held.cause.is(Cause::Evict) & i.held.line.eq(v.look.req.line))
            .collect();
        let released = any_of(&accepted);
        // An op that entered S1 in the cycle before has not waited yet.
        let resumed = here & writes & released & !v.s2.valid.get() & v.evb.head_partly_sent();
        race(
            "write_resumes_before_burst_ends",
            resumed,
            "a stalled write resumes while its base's burst goes on",
        );
        race("write_other_slot_proceeds", here & writes & !released, "a write to another slot proceeds");
    }
}

fn assertions(v: &View) {
    let p = v.p;
    for (i, inv) in v.invs.iter().enumerate() {
        let home = inv.held.dest.bit(p.home);
        assert_always(&format!("home_not_invalidated{i}"), !(inv.waiting & home), "the home gets no Inv");
    }
    let others = v.look.req.op.is_any(&[DirOp::WrRem, DirOp::AtomRem]);
    let spared = (v.plan.inv & v.plan.requester).none();
    assert_always(
        "requester_not_invalidated",
        !(v.go & others) | spared,
        "a requester gets no Inv for its own op",
    );
    let remote = v.look.req.op.is_any(&[DirOp::RdRem, DirOp::WrRem, DirOp::AtomRem]);
    assert_always(
        "requester_is_remote",
        !(v.look.valid & remote) | v.plan.requester.any(),
        "remote operations come from another GPU",
    );
    entry_is_sound(p, "stored", v.moves & v.look.hit, v.look.old);
    entry_is_sound(p, "written", v.s2.write.get(), v.s2.entry.get());
    assert_always(
        "answers_do_not_collide",
        !(v.go & !v.wi.state.get().is(WriteInvState::Idle)),
        "nothing leaves S1 while a write's answer is due",
    );
}

fn entry_is_sound(p: &DirParams, name: &str, here: Bool, entry: Bits) {
    let slots = entry.slice(0, p.slots_width());
    let valid = entry.bit(p.entry_bits() - 1);
    if p.position_bits() == 1 {
        let shared: Vec<Bool> =
            (0..p.slots()).map(|i| slots.slice(i * p.slot_width() + 1, p.sharers()).any()).collect();
        let same = positions(p, slots).eq(pack_bools(&shared));
        assert_always(&format!("{name}_position_is_or"), !here | same, "position = OR of the sharers");
    }
    let same = valid.eq(positions(p, slots).any());
    assert_always(&format!("{name}_valid_is_or"), !here | same, "valid = OR of the positions");
}

fn counters(v: &View) {
    let p = v.p;
    count("ops", v.go, "directory operations");
    count("allocations", v.go & v.plan.allocate, "entries allocated");
    count("evictions", v.s2.evict.get(), "valid entries replaced");
    let slots = positions(p, v.s2.victim.slots).popcount();
    count_amount(
        "evicted_slots",
        v.s2.evict.get(),
        slots,
        "set slots of replaced entries: coalesced addresses",
    );
    // One after the other they are the histogram of coalesced addresses.
    for number in (1..=p.slots()).filter(|_| p.slots() > 1) {
        let name = format!("evicted_with_{number}_slots");
        let these = slots.eq(u64::from(number)).bits();
        count_amount(&name, v.s2.evict.get(), these, "entries replaced that had so many set slots");
    }
    count("write_invs", v.go & v.plan.inv.any(), "Invs sent for writes and atomics");
    count_amount("write_unicasts", v.go, v.plan.inv.popcount(), "destinations of write Invs");
    count("rereads", v.hit_set() & v.op(DirOp::RdRem) & v.was_sharer(), "reads whose sharer bit was set");
    count(
        "evb_read_overlaps",
        v.go & v.pending.same_base & v.op(DirOp::RdRem),
        "reads of a base in the buffer",
    );
    let s = v.stalls;
    count("stalled_evb_full", s.evb_full, "cycles in which S1 waits for the eviction buffer");
    count("stalled_slot_pending", s.slot_pending, "cycles in which S1 waits for a pending slot");
    count("stalled_write_inv", s.write_inv_busy, "cycles in which S1 waits for a write's Inv");
    count("stalled_rsp", s.rsp_blocked, "cycles in which S1 waits for rsp");
}
