//! Races of the directories and of the invalidation egress (sections 2 to 4.1).

use super::{Race, race};

const DIR: &str = "rec-directory";
const GROUP: &str = "group-directory";
const EGRESS: &str = "inv-egress";
const FABRIC: &str = "fabric";

/// Sections 2 to 4: table corners, replacement, pipeline.
pub const DIRECTORY: &[Race] = &[
    race(
        DIR,
        "2",
        "rec.race.odd_set_count",
        "An op is accepted in a slice whose set count is c * 2^k with c > 1, so the index is {hi mod c, low k bits}.",
    ),
    race(DIR, "3", "rec.race.sharer_below_home", "A GPU below the home becomes a sharer, at bit k = g + 1."),
    race(DIR, "3", "rec.race.sharer_above_home", "A GPU above the home becomes a sharer, at bit k = g."),
    race(DIR, "4", "rec.race.reread", "A RD_REM finds its own sharer bit already set."),
    race(DIR, "4", "rec.race.wr_rem_sole_sharer", "A WR_REM by the only sharer of the slot: no Inv is sent."),
    race(
        DIR,
        "4",
        "rec.race.wr_rem_new_sharer",
        "A WR_REM by a GPU that was no sharer: all old sharers are invalidated and the writer is recorded.",
    ),
    race(DIR, "4", "rec.race.wr_loc_last_slot", "A WR_LOC clears the last slot of an entry: V->I."),
    race(
        DIR,
        "4",
        "rec.race.wr_loc_other_slots_left",
        "A WR_LOC clears one slot while others stay set: the entry stays valid.",
    ),
    race(DIR, "4", "rec.race.atom_last_slot", "An ATOM_REM clears the last slot of an entry: V->I."),
    race(
        DIR,
        "4",
        "rec.race.atom_other_slots_left",
        "An ATOM_REM clears one slot while others stay set: the entry stays valid.",
    ),
    race(
        DIR,
        "4",
        "rec.race.atom_requester_was_sharer",
        "An ATOM_REM by a sharer: the requester is neither invalidated nor retained.",
    ),
    race(
        DIR,
        "4",
        "rec.race.atom_sole_sharer",
        "An ATOM_REM by the only sharer: the slot is cleared without any Inv.",
    ),
    race(
        GROUP,
        "4",
        "rec.race.group_atom_retains",
        "A group ATOM_REM by a sharer: the requester stays recorded for the other three lines.",
    ),
    race(
        GROUP,
        "4",
        "rec.race.group_atom_empties",
        "A group ATOM_REM by a GPU that is no sharer: the entry becomes empty, V->I.",
    ),
    race(
        DIR,
        "4",
        "rec.race.alloc_lowest_invalid_way",
        "An allocation finds two or more invalid ways and takes the lowest-numbered one.",
    ),
    race(
        DIR,
        "4",
        "rec.race.alloc_evicts_oldest",
        "An allocation finds no invalid way and replaces the oldest.",
    ),
    race(DIR, "4", "rec.race.lru_touch", "Under lru a remote hit makes a way the youngest that was not."),
    race(
        DIR,
        "4",
        "rec.race.fifo_hit_keeps_ages",
        "Under fifo a remote hit on a way that is not the youngest leaves the ages alone.",
    ),
    race(
        DIR,
        "4",
        "rec.race.wr_loc_atom_keep_ages",
        "A WR_LOC or ATOM_REM hit on a way that is not the youngest leaves the ages alone.",
    ),
    race(
        DIR,
        "4",
        "rec.race.forward_same_set",
        "S1 works on the set that is in S2: the whole set is forwarded.",
    ),
    race(
        DIR,
        "4",
        "rec.race.forward_alloc_then_hit",
        "An op hits the entry that the op just ahead of it allocates (S2 to S1).",
    ),
    race(
        DIR,
        "4",
        "rec.race.forward_free_then_miss",
        "An op misses on the base whose last slot the op just ahead of it cleared (S2 to S1).",
    ),
    race(
        DIR,
        "4",
        "rec.race.write_behind_own_eviction",
        "A write to a slot of the victim that the op just ahead of it is moving to the EVB (S2 to S1).",
    ),
    race(DIR, "4", "rec.race.back_to_back_ops", "Ops are accepted in two successive cycles."),
    race(DIR, "4", "rec.race.stall_evb_full", "The stage stalls: an eviction is needed and the EVB is full."),
    race(DIR, "4", "rec.race.stall_slot_pending", "The stage stalls: a write's slot is pending in the EVB."),
    race(DIR, "4", "rec.race.stall_write_inv_busy", "The stage stalls: the write-Inv register is occupied."),
    race(DIR, "4", "rec.race.stall_rsp_blocked", "The stage stalls: rsp is not taken."),
    race(DIR, "4", "rec.race.stall_holds_s0", "A stall holds another op in S0."),
    race(
        DIR,
        "4",
        "rec.race.rsp_waits_for_write_inv",
        "The rsp of a write waits until inv_egress accepted its Inv for all destinations.",
    ),
    race(
        DIR,
        "4",
        "rec.race.init_holds_req",
        "A req is offered while the initialiser clears the sets: it is not taken.",
    ),
];

/// Section 4.1: eviction burst, its overlaps, and the egress.
pub const EVICTION: &[Race] = &[
    race(
        DIR,
        "4.1",
        "rec.race.evict_way_v_to_v",
        "The victim moves to the EVB and the new entry takes its way in the same cycle.",
    ),
    race(
        DIR,
        "4.1",
        "rec.race.rsp_before_burst_done",
        "The rsp of an evicting op leaves while its burst is still in the EVB.",
    ),
    race(DIR, "4.1", "rec.race.burst_one_slot", "A victim with exactly one set slot is expanded."),
    race(DIR, "4.1", "rec.race.burst_all_slots", "A victim with every slot set is expanded."),
    race(DIR, "4.1", "rec.race.burst_several_sharers", "An expanded slot has two or more sharers."),
    race(
        DIR,
        "4.1",
        "rec.race.burst_many_per_cycle",
        "Two or more lines are expanded in one cycle (inv_rate above 1).",
    ),
    race(
        DIR,
        "4.1",
        "rec.race.write_inv_beats_expander",
        "A write Inv and an expanded Inv want the inv port in one cycle: the write Inv goes first.",
    ),
    race(
        DIR,
        "4.1",
        "rec.race.other_base_proceeds",
        "An op whose base matches no EVB entry proceeds while a burst is being expanded.",
    ),
    race(DIR, "4.1", "rec.race.rd_rem_overtakes_evb", "A RD_REM whose base matches an EVB entry proceeds."),
    race(
        DIR,
        "4.1",
        "rec.race.rd_rem_reallocates_evb_base",
        "A RD_REM allocates a base anew while the EVB still holds that base.",
    ),
    race(
        DIR,
        "4.1",
        "rec.race.wr_rem_waits_pending_slot",
        "A WR_REM stalls because its slot is pending in the EVB.",
    ),
    race(
        DIR,
        "4.1",
        "rec.race.wr_loc_waits_pending_slot",
        "A WR_LOC stalls because its slot is pending in the EVB.",
    ),
    race(
        DIR,
        "4.1",
        "rec.race.atom_waits_pending_slot",
        "An ATOM_REM stalls because its slot is pending in the EVB.",
    ),
    race(
        DIR,
        "4.1",
        "rec.race.write_resumes_before_burst_ends",
        "A stalled write resumes as its slot is accepted while other slots of that EVB entry remain.",
    ),
    race(
        DIR,
        "4.1",
        "rec.race.write_other_slot_proceeds",
        "A write whose base matches an EVB entry but whose slot is not pending proceeds.",
    ),
    race(
        DIR,
        "4.1",
        "rec.race.two_evb_entries_one_base",
        "Two EVB entries hold one base, and a write to a slot pending in both waits for both.",
    ),
    race(
        FABRIC,
        "4.1",
        "rec.race.late_evict_inv_drops_fresh_copy",
        "An EVICT Inv reaches a copy that was fetched after the eviction: a lost copy, never stale data.",
    ),
    race(
        EGRESS,
        "4.1",
        "rec.race.egress_partial_accept",
        "A message is accepted for some of its destinations in one cycle and for the rest later; none is repeated.",
    ),
    race(EGRESS, "4.1", "rec.race.egress_full_fifo_holds_slice", "A full FIFO holds a slice's message."),
    race(
        EGRESS,
        "4.1",
        "rec.race.egress_other_slice_passes",
        "While one slice is held by a full FIFO, another slice's message is accepted.",
    ),
    race(
        EGRESS,
        "4.1",
        "rec.race.egress_round_robin",
        "Two or more slices want one FIFO in the same cycle and the round-robin pointer decides.",
    ),
    race(EGRESS, "4.1", "rec.race.egress_multicast", "One message goes to two or more destinations."),
];
