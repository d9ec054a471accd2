//! Races of the networks, the L2 bank and the fences (sections 5 to 8).

use super::{Race, race};

const INGRESS: &str = "inv-ingress";
const L2: &str = "l2-bank";
const FENCE: &str = "fence-unit";
const FABRIC: &str = "fabric";

/// Section 5: queues, reservations, priorities.
pub const NETWORK: &[Race] = &[
    race(L2, "5", "rec.race.head_waits_mshr", "A REQ head waits for a free MSHR."),
    race(L2, "5", "rec.race.head_waits_egress", "A head waits for an egress slot."),
    race(L2, "5", "rec.race.head_waits_write_back", "A head waits for a write-back slot."),
    race(
        L2,
        "5",
        "rec.race.head_waits_directory_fifo",
        "A head waits for a place in the 8-deep directory op FIFO.",
    ),
    race(L2, "5", "rec.race.inv_passes_blocked_req", "An INV head is served while a REQ head is blocked."),
    race(L2, "5", "rec.race.rsp_passes_blocked_req", "An RSP head is served while a REQ head is blocked."),
    race(
        L2,
        "5",
        "rec.race.local_passes_blocked_remote",
        "A local REQ is served while the remote-REQ head is blocked.",
    ),
    race(
        L2,
        "5",
        "rec.race.remote_passes_blocked_local",
        "A remote REQ is served while the local-REQ head is blocked.",
    ),
    race(
        L2,
        "5",
        "rec.race.inv_taken_while_directory_stalled",
        "An INV head is served while the directory op FIFO is full behind a stalled directory.",
    ),
    race(
        L2,
        "5",
        "rec.race.remote_mshr_quota",
        "A miss on a remote-homed line waits because 3/4 of the MSHRs serve such lines.",
    ),
    race(
        L2,
        "5",
        "rec.race.home_miss_beyond_quota",
        "A home-side miss takes an MSHR while the quota of remote-homed lines is used up.",
    ),
    race(L2, "5", "rec.race.inv_beats_rsp", "INV and RSP heads are ready in one cycle: INV goes first."),
    race(L2, "5", "rec.race.rsp_beats_req", "RSP and REQ heads are ready in one cycle: RSP goes first."),
    race(
        L2,
        "5",
        "rec.race.remote_local_round_robin",
        "Remote and local REQ heads are ready in one cycle and the round-robin pointer decides.",
    ),
    race(
        L2,
        "5",
        "rec.race.inv_grant_limit",
        "After 4 consecutive INV grants a waiting head of another class is served before the next INV.",
    ),
    race(
        INGRESS,
        "5",
        "rec.race.inv_fence_absorbed",
        "An InvFence is absorbed into the requester x source bit array while its FenceAck cannot leave yet.",
    ),
];

/// Section 6: both sides of the L2 bank.
pub const CACHE: &[Race] = &[
    race(
        L2,
        "6",
        "rec.race.l2_victim_invalid_first",
        "A victim is needed and an invalid way is taken although it is not the least recently used.",
    ),
    race(
        L2,
        "6",
        "rec.race.l2_victim_lru",
        "A victim is needed, no way is invalid, and the least recently used one is taken.",
    ),
    race(
        L2,
        "6.1",
        "rec.race.inv_overtakes_rdrsp",
        "An Inv arrives for a line that waits for its RdRsp (P): it is poisoned, the later fill is not installed.",
    ),
    race(
        L2,
        "6.1",
        "rec.race.own_store_passes_read",
        "A store of this GPU to a line that waits for its RdRsp sends its WrReq and poisons the line.",
    ),
    race(
        L2,
        "6.1",
        "rec.race.own_atomic_passes_read",
        "An atomic of this GPU on a line that waits for its RdRsp sends its AtomReq and poisons the line.",
    ),
    race(
        L2,
        "6.1",
        "rec.race.inv_and_rdrsp_same_cycle",
        "Inv and RdRsp for one line in P are at the heads in the same cycle: Inv first, the fill is not installed.",
    ),
    race(
        L2,
        "6.1",
        "rec.race.load_waits_in_px",
        "A load to a poisoned line waits, since it may follow an acquire, and is not merged.",
    ),
    race(
        L2,
        "6.1",
        "rec.race.load_released_from_px",
        "A load that waited on a poisoned line proceeds after the fill freed it, with a RdReq of its own.",
    ),
    race(
        L2,
        "6.1",
        "rec.race.poisoned_fill_answers_many",
        "A poisoned fill answers two or more merged loads.",
    ),
    race(L2, "6.1", "rec.race.merge_limit", "A load finds 8 loads merged in the MSHR of its line and waits."),
    race(
        L2,
        "6.1",
        "rec.race.atomic_beside_read",
        "An atomic holds an MSHR of its own while its line's read waits in another.",
    ),
    race(
        L2,
        "6.1",
        "rec.race.group_inv_four_lookups",
        "An Inv with grp set is applied to its 4 lines, one lookup per cycle.",
    ),
    race(L2, "6.1", "rec.race.group_inv_other_line_hit", "An Inv with grp set drops two or more lines."),
    race(
        L2,
        "6.1",
        "rec.race.stale_sharer_inv",
        "An Inv finds no copy, as after a partial store that missed or a silent victim.",
    ),
    race(
        FABRIC,
        "6.1",
        "rec.race.over_poison",
        "An Inv that is older than the waiting read poisons it: a later miss only.",
    ),
    race(
        L2,
        "6.2",
        "rec.race.replay_list_full",
        "A request finds 8 requests in the replay list of its line and holds its class queue.",
    ),
    race(
        L2,
        "6.2",
        "rec.race.replay_mixed",
        "A fill replays a list that mixes reads and writes, local and remote.",
    ),
    race(
        L2,
        "6.2",
        "rec.race.replay_read_only_ends_v",
        "A fill replays a list without a write: the line ends in V.",
    ),
    race(
        L2,
        "6.2",
        "rec.race.victim_dirty_write_back",
        "A dirty home line is chosen as victim and written back.",
    ),
    race(
        L2,
        "6.2",
        "rec.race.fetching_line_not_victim",
        "A victim is needed in a set while a line of that set is being fetched, which is not chosen.",
    ),
    race(
        FABRIC,
        "6.2",
        "rec.race.home_victim_keeps_directory",
        "A home line with remote sharers is replaced: the directory is not touched.",
    ),
    race(
        L2,
        "6.2",
        "rec.race.directory_before_data",
        "The directory's rsp of a write arrives before its data step: the acknowledgement waits for the data.",
    ),
    race(
        L2,
        "6.2",
        "rec.race.data_before_directory",
        "The data step of a write is done before the directory's rsp: the acknowledgement waits for the directory.",
    ),
    race(
        L2,
        "6.2",
        "rec.race.rdrsp_before_directory",
        "A RdRsp leaves before the directory answered its RD_REM.",
    ),
    race(
        L2,
        "6.2",
        "rec.race.write_queued_behind_read",
        "A write enters the directory FIFO while a RD_REM of the same line is still in it, and will find that sharer.",
    ),
    race(
        L2,
        "6.2",
        "rec.race.uncacheable_read",
        "A RdReq with cacheable=0 is served without a directory op.",
    ),
    race(L2, "6.2", "rec.race.uncacheable_write", "A WrReq with cacheable=0 is served with WR_LOC."),
    race(
        L2,
        "8",
        "rec.race.remote_load_bypasses",
        "In the modes l1_only and no_remote_cache a remote load uses an MSHR and installs nothing.",
    ),
];

/// Section 7: fences, epochs, reset.
pub const FENCES: &[Race] = &[
    race(
        FENCE,
        "7",
        "rec.race.fence_batching",
        "A release arrives while a fence is in flight and waits for the next one.",
    ),
    race(FENCE, "7", "rec.race.fence_batch_of_two", "One fence serves two or more batched releases."),
    race(
        FENCE,
        "7",
        "rec.race.drain_waits_remote_write",
        "DRAIN waits because wr_out of the old epoch is not 0.",
    ),
    race(FENCE, "7", "rec.race.drain_waits_local_store", "DRAIN waits for old local stores only."),
    race(
        FENCE,
        "7",
        "rec.race.new_epoch_write_while_draining",
        "A write of the new epoch is sent while the old one drains, and does not delay the fence.",
    ),
    race(
        FENCE,
        "7",
        "rec.race.flush_dirty_lines",
        "FLUSH writes back at least one D line, which stays valid as V.",
    ),
    race(FENCE, "7", "rec.race.flush_switched_off", "FLUSH is passed with release_l2_flush off."),
    race(
        FENCE,
        "7",
        "rec.race.fences_cross",
        "A FenceReq of another GPU is handled while an own fence is in flight.",
    ),
    race(
        FENCE,
        "7",
        "rec.race.inv_fence_push_waits",
        "The push of an InvFence waits because an INV FIFO is full.",
    ),
    race(
        INGRESS,
        "7",
        "rec.race.inv_fence_holds_input",
        "An InvFence holds its INV input because an earlier Inv of that input is not applied yet.",
    ),
    race(
        INGRESS,
        "7",
        "rec.race.inv_passes_held_fence",
        "An Inv of another input is delivered while an InvFence holds its own.",
    ),
    race(
        INGRESS,
        "7",
        "rec.race.inv_fence_waits_other_links",
        "An InvFence is in from one link but not yet from all links of its source.",
    ),
    race(
        INGRESS,
        "7",
        "rec.race.inv_fences_of_two_requesters",
        "InvFences of two requesters are collected at the same time.",
    ),
    race(
        FENCE,
        "7",
        "rec.race.own_receipt_counts",
        "The requester's own receipt of an InvFence is counted as an acknowledgement.",
    ),
    race(
        FABRIC,
        "7",
        "rec.race.kernel_waits_all_gpus",
        "The next kernel waits because one GPU is IDLE and another is not.",
    ),
    race(
        FABRIC,
        "7",
        "rec.race.stale_read_between_acquires",
        "A load between acquires returns an old value from a copy whose Inv is in flight.",
    ),
    race(
        FABRIC,
        "7",
        "rec.race.cumulative_release",
        "A release covers another GPU's write that the releaser observed: that write's Invs are ahead of the InvFence.",
    ),
    race(
        L2,
        "7",
        "rec.race.l2_init_holds_inputs",
        "A message is offered while the L2 clears its sets after reset: it is not taken.",
    ),
];
