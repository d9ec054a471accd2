//! Races of hierarchical systems: directories (hmg.md sections 4 and 5.4, rec.md section 8.1), invalidations and fence markers on two planes (section 6).

use super::{Race, race};

const DIR: &str = "hmg-directory";
const HMG_REC: &str = "hmg-rec-directory";
const EGRESS: &str = "inv-egress";
const INGRESS: &str = "inv-ingress";
const FENCE: &str = "hier-fence-unit";

/// Roles of a home, forwarded invalidations, downgrades; what one plane does while the other stands.
pub const HIERARCHY: &[Race] = &[
    race(
        DIR,
        "4",
        "hmg.race.atomic_records_requester",
        "An atomic by a node that was no sharer: it counts as a store, so the node is recorded.",
    ),
    race(
        DIR,
        "4",
        "hmg.race.gpu_store_invs_gpms",
        "At the system home a store of another GPU invalidates GPMs of the own GPU.",
    ),
    race(
        DIR,
        "4",
        "hmg.race.gpm_store_invs_gpus",
        "At the system home a store of a GPM of the home GPU invalidates other GPUs.",
    ),
    race(
        DIR,
        "4",
        "hmg.race.gpu_home_store_invs_gpms",
        "At a GPU home that is not the system home a store of a GPM invalidates the other GPMs.",
    ),
    race(
        DIR,
        "4",
        "hmg.race.gpu_home_own_store",
        "A store by the SMs of a GPU home that is not the system home invalidates all GPMs that share: V->I.",
    ),
    race(
        DIR,
        "4",
        "hmg.race.eviction_tells_gpms_and_gpus",
        "At the system home an entry with both GPMs and GPUs as sharers is replaced.",
    ),
    race(
        DIR,
        "4",
        "hmg.race.gpu_home_evicts",
        "A GPU home replaces an entry of lines of another GPU: Inv to recorded GPMs only.",
    ),
    race(
        DIR,
        "4",
        "hmg.race.inv_forwarded_to_several",
        "An Inv received at a GPU home goes on to two or more GPMs.",
    ),
    race(DIR, "4", "hmg.race.downgrade_last_sharer", "A downgrade removes the last sharer: V->I."),
    race(
        DIR,
        "4",
        "hmg.race.downgrade_leaves_others",
        "A downgrade removes a sharer and others stay recorded.",
    ),
    race(
        DIR,
        "4",
        "hmg.race.downgrade_by_home_asks",
        "The home's own slice asks whether sharers are recorded, and they are: nothing changes.",
    ),
    race(
        DIR,
        "5.4",
        "hmg.race.load_meets_own_eviction_inv",
        "Race 4: a load of a group proceeds and is recorded while the eviction Inv of that group to its source is pending.",
    ),
    race(
        DIR,
        "5.4",
        "hmg.race.stores_of_two_gpus",
        "Race 5: a store of a GPU finds another GPU as the only sharer, whose copy an Inv takes away.",
    ),
    race(
        DIR,
        "5.4",
        "hmg.race.store_behind_inv_to_its_source",
        "Race 7: a store waits behind an Inv of the same group to its own source, and records it again.",
    ),
    race(
        DIR,
        "5.4",
        "hmg.race.recv_passes_full_evb",
        "A received Inv is performed before an operation that stalls because the eviction buffer is full.",
    ),
    race(
        DIR,
        "5.4",
        "hmg.race.recv_passes_write_inv",
        "A received Inv is performed before an operation that stalls because the write-Inv register is occupied.",
    ),
    race(
        DIR,
        "5.4",
        "hmg.race.recv_tells_evicted",
        "A received Inv tells a GPM that is no longer recorded, whose eviction Inv for the group is pending.",
    ),
    race(
        DIR,
        "5.4",
        "hmg.race.recv_tells_written",
        "A received Inv tells a GPM that is no longer recorded, whose write Inv for the group is pending.",
    ),
    race(
        DIR,
        "5.4",
        "hmg.race.recv_tells_also",
        "A received Inv tells a GPM that only the bank names, whose operation the directory may not have seen.",
    ),
    race(
        DIR,
        "5.4",
        "hmg.race.recv_behind_operation",
        "A received Inv follows an operation of its group in the next cycle and finds what that writes (S2 to S1).",
    ),
    race(
        DIR,
        "5.4",
        "hmg.race.operation_behind_recv",
        "An operation follows a received Inv of its group in the next cycle and finds the entry gone (S2 to S1).",
    ),
    race(
        DIR,
        "5.4",
        "hmg.race.downgrade_of_no_sharer",
        "Race 8: a downgrade by a node that an Inv or a store has removed finds others recorded: a no-op.",
    ),
    race(
        DIR,
        "5.4",
        "hmg.race.downgrade_without_entry",
        "Race 8: a downgrade finds the entry gone: a no-op.",
    ),
    race(
        DIR,
        "5.4",
        "hmg.race.downgrade_waits_eviction_inv",
        "Race 8: a downgrade waits until the pending eviction Inv of its group has entered the INV channels.",
    ),
    race(
        HMG_REC,
        "8.1",
        "hmg_rec.race.recv_last_slot",
        "A received Inv clears the last slot of a GPU home's entry: V->I.",
    ),
    race(
        HMG_REC,
        "8.1",
        "hmg_rec.race.recv_other_slots_left",
        "A received Inv clears one slot of a GPU home's entry while others stay set: the entry stays valid.",
    ),
    race(
        HMG_REC,
        "8.1",
        "hmg_rec.race.recv_spares_evicted_lines",
        "A received Inv finds its range, but not its line in the eviction buffer: the sharers of the other lines are not told.",
    ),
    race(
        HMG_REC,
        "8.1",
        "hmg_rec.race.recv_spares_written_line",
        "A received Inv of one line of a range while the write Inv of another waits: the sharers of that one are not told.",
    ),
    race(
        HMG_REC,
        "8.1",
        "hmg_rec.race.gpu_home_burst",
        "A GPU home replaces an entry of another GPU's lines with two or more slots set: a burst to its GPMs only.",
    ),
    race(
        EGRESS,
        "6",
        "hmg.race.marker_enters_both_links",
        "An own marker of system scope is taken: it is for the FIFOs of both links.",
    ),
    race(
        EGRESS,
        "6",
        "hmg.race.markers_queue_for_other_gpus",
        "A marker of system scope waits until the one before it has entered all FIFOs to other GPUs.",
    ),
    race(
        EGRESS,
        "6",
        "hmg.race.far_marker_waits_near_enters",
        "A marker waits for full FIFOs to other GPUs while one enters FIFOs of the own GPU.",
    ),
    race(
        EGRESS,
        "6",
        "hmg.race.own_gpu_passes_full_link",
        "A full FIFO to another GPU holds a slice's message while something enters a FIFO of the own GPU.",
    ),
    race(
        EGRESS,
        "6",
        "hmg.race.forwarded_marker_behind_recv",
        "A marker of another GPU's home that is passed on waits for an Inv that was passed on before it and is held by a full FIFO.",
    ),
    race(
        INGRESS,
        "6",
        "hmg.race.marker_held_other_link_passes",
        "Race 10: a marker waits for an Inv of its link that is not applied, while a marker of the other link is absorbed.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.fence_scopes_overlap",
        "A fence of GPU scope and one of system scope of one node are in flight together.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.gpu_fence_ends_in_system_fence",
        "A release of GPU scope ends while one of system scope of the same node waits for other nodes.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.fence_batch_of_two",
        "A release or acquire joins another one of its kind that waits for the next fence.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.release_and_acquire_apart",
        "Releases and acquires of one scope wait at once; they are separate batches.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.far_drain_serves_several",
        "One drain towards other GPUs serves the requests of two or more GPMs.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.fences_of_nodes_cross",
        "A marker for another node begins while an own fence is in flight.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.own_home_counts",
        "The releasing node is a home too: when all receivers have acknowledged its marker that counts without a message.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.requester_is_receiver",
        "The releasing node receives another home's marker while it waits for homes itself; it acknowledges it like any receiver.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.request_while_ordering",
        "A request comes while a marker of its scope is with the banks: the next marker serves it.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.marker_serves_several",
        "A marker begins for two or more requesters; each gets its acknowledgement when all receivers have that one marker.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.two_markers_in_flight",
        "A marker leaves while one before it, of the same home and scope, is not acknowledged by all receivers.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.serials_exhausted",
        "Requests wait because the serial that comes next is still in flight.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.scope_passes_exhausted_one",
        "A marker of one scope begins while requests of the other one wait for a serial.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.gpu_home_waits_for_gpms",
        "A GPU home has passed a marker on and has the acknowledgements of some of its GPMs, not of all: it acknowledges nothing yet.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.marker_passed_on",
        "A GPU home that has received a marker of another GPU passes it on to its GPMs.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.passed_on_while_ordering",
        "A marker is passed on while the next own marker waits for the tokens of the banks.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.acks_pass_those_to_other_gpus",
        "An acknowledgement leaves inside the GPU while one to another GPU waits for the network.",
    ),
    race(
        FENCE,
        "6",
        "hmg.race.near_request_passes_far",
        "A request leaves inside the GPU while one to another GPU waits for the network.",
    ),
];
