//! Races of an L2 bank in a hierarchy (hmg.md sections 5, 6 and 8).

use super::{Race, race};

const L2: &str = "l2-bank";

/// Sharer downgrade, scopes, dirty bytes, GPU homes, what is passed on, copies dropped.
pub const BANK: &[Race] = &[
    race(
        L2,
        "4",
        "hmg.race.down_sent",
        "The last clean line of a group has been evicted at a leaf, which tells the GPU home.",
    ),
    race(
        L2,
        "4",
        "hmg.race.down_passed_on",
        "A GPU home has no line of a group and its directory no sharer: the system home is told.",
    ),
    race(
        L2,
        "4",
        "hmg.race.down_finds_line",
        "A line of a group has been evicted, but another one is valid or awaited: nobody is told.",
    ),
    race(
        L2,
        "4",
        "hmg.race.down_not_empty",
        "A GPU home has no line of a group, but its directory has a sharer: the system home is not told.",
    ),
    race(
        L2,
        "4",
        "hmg.race.down_by_last_sharer",
        "The last recorded GPM of a group gives it up, so its GPU home looks for lines of its own.",
    ),
    race(
        L2,
        "5.4",
        "hmg.race.down_spoiled",
        "Race 8: a request for a group passes while the slice makes sure that it holds nothing of it: nobody is told.",
    ),
    race(
        L2,
        "5.1",
        "hmg.race.load_joins_forced",
        "A younger load joins the miss that a load of wider scope has opened.",
    ),
    race(
        L2,
        "5.2",
        "hmg.race.held_store_makes_room",
        "Write-back: a store finds its share of the set dirty, so the oldest such line is written on first.",
    ),
    race(
        L2,
        "5.2",
        "hmg.race.own_bytes_before_request",
        "Write-back: a load or atomic that must go to the next home finds dirty bytes of its line, which go first.",
    ),
    race(
        L2,
        "6",
        "hmg.race.release_passes_far_walk",
        "Write-back: a release of GPU scope has drained while dirty bytes are being written on to other GPUs.",
    ),
    race(
        L2,
        "5.3",
        "hmg.race.late_result_first",
        "The result of an atomic that had waited for its line at a GPU home leaves before what is queued for other GPUs.",
    ),
    race(
        L2,
        "5.3",
        "hmg.race.atomic_waits_for_place",
        "An atomic waits because as many as may wait for their lines at the GPU home.",
    ),
    race(
        L2,
        "5.3",
        "hmg.race.store_waits_for_replay",
        "A store reaches a line at its GPU home while the atomics before it are being performed, and waits.",
    ),
    race(
        L2,
        "5.4",
        "hmg.race.inv_overtakes_fill_at_gpu_home",
        "Race 1: an Inv overtakes the fill of a GPU home's read, which is poisoned.",
    ),
    race(
        L2,
        "5.4",
        "hmg.race.inv_while_leaf_requests_wait",
        "Race 2: an Inv reaches a GPU home while requests of other GPMs wait on its miss.",
    ),
    race(
        L2,
        "5.4",
        "hmg.race.inv_names_unanswered",
        "Race 2: an Inv is passed on while operations of other GPMs on its group are before the directory: they are told too.",
    ),
    race(
        L2,
        "5.4",
        "hmg.race.leaf_load_waits_in_px",
        "Race 3: a leaf's load reaches a GPU home in PX and waits.",
    ),
    race(
        L2,
        "5.4",
        "hmg.race.leaf_load_released",
        "Race 3: the fill frees a poisoned line for which a leaf's load waits, which then asks anew.",
    ),
    race(
        L2,
        "5.4",
        "hmg.race.inv_without_line_forwarded",
        "Race 6: an Inv finds no line of its group at a GPU home and is still passed on.",
    ),
    race(
        L2,
        "5.4",
        "hmg.race.store_crosses_inv",
        "Race 7: an Inv takes a leaf's copy away while writes of this leaf are not acknowledged.",
    ),
    race(
        L2,
        "5.4",
        "hmg.race.inv_before_store",
        "Race 9: an Inv and a store of one line are ready in the same cycle: the Inv goes first.",
    ),
    race(
        L2,
        "5.4",
        "hmg.race.inv_answer_waits_forwarding",
        "Race 10: an Inv is looked up but waits for the directory to take it, so that no marker behind it is announced.",
    ),
    race(
        L2,
        "6",
        "hmg.race.release_passes_far_writes",
        "A release of GPU scope has drained while writes passed on to other GPUs are not acknowledged.",
    ),
    race(
        L2,
        "6",
        "hmg.race.far_drain_waits",
        "A release of system scope waits for writes that this GPU home has passed on.",
    ),
    race(
        L2,
        "6",
        "hmg.race.far_passes_blocked",
        "A request of another GPU is served while requests of this GPU are blocked.",
    ),
    race(
        L2,
        "6",
        "hmg.race.leaf_quota",
        "A miss on a line that another GPM serves waits because such lines hold half of the MSHRs.",
    ),
    race(
        L2,
        "8",
        "hmg.race.drop_beside_reads",
        "Copies are dropped while reads are under way: those of the class install nothing.",
    ),
    race(
        L2,
        "8",
        "hmg.race.line_dirty_again_before_drop",
        "A line of this home is dirty again when all lines are dropped: it stays.",
    ),
];
