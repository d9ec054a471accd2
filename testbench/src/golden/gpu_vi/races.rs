//! Races of the directory whose Invs are acknowledged, and of what acknowledges them (GPU-VI, hmg.md section 8).

use crate::golden::races::{Race, race};

const DIR: &str = "gpu-vi-directory";

const fn of_dir(id: &'static str, text: &'static str) -> Race {
    race(DIR, "8", id, text)
}

/// W, E, the queue, and who waits for an acknowledgement.
pub const ACKS: &[Race] = &[
    of_dir(
        "gpu_vi.race.w_awaits_several",
        "A store has two or more sharers to invalidate: W awaits them all.",
    ),
    of_dir("gpu_vi.race.stores_of_two_groups", "A group becomes W while another group is awaited."),
    of_dir(
        "gpu_vi.race.rows_full",
        "An operation needs a row of the pending table, and none is free: it waits.",
    ),
    of_dir(
        "gpu_vi.race.invs_full",
        "An operation causes an Inv, and the egress has not taken the ones before: it waits.",
    ),
    of_dir(
        "gpu_vi.race.load_passes_eviction",
        "A load of a group whose evicted entry's Invs are not acknowledged is performed.",
    ),
    of_dir("gpu_vi.race.group_evicted_twice", "A store waits for two evictions of its group."),
    of_dir("gpu_vi.race.victim_not_in_w", "The oldest entry is in W: the next one is evicted."),
    of_dir(
        "gpu_vi.race.all_ways_in_w",
        "A way is needed and every entry of the set is in W: the request waits.",
    ),
    of_dir(
        "gpu_vi.race.last_ack_meets_operation",
        "The last acknowledgement of a group comes in the cycle in which one of its operations is made to wait.",
    ),
    of_dir("gpu_vi.race.queue_full", "An operation is offered and eight wait: the input waits."),
    of_dir("gpu_vi.race.queue_of_two_groups", "Operations of two groups wait in the queue."),
    of_dir(
        "gpu_vi.race.input_passes_queue",
        "An operation of another group is performed before those that wait.",
    ),
    of_dir(
        "gpu_vi.race.head_goes_back",
        "The queue's head is tried, and the operation ahead of it has made its group W or evicted it: it goes on waiting.",
    ),
    of_dir(
        "gpu_vi.race.queued_store_begins_w",
        "A store that has waited finds sharers and begins a W of its own.",
    ),
    of_dir(
        "gpu_vi.race.init_holds_req",
        "A req is offered while the initialiser clears the sets: it is not taken.",
    ),
    of_dir("gpu_vi.race.forward_same_set", "S1 works on the set that is in S2."),
    of_dir(
        "gpu_vi.race.answer_takes_port",
        "A completed store and the operation in S1 want the rsp port: the store goes first.",
    ),
    of_dir("gpu_vi.race.back_to_back_ops", "Ops are performed in two successive cycles."),
    of_dir("gpu_vi.race.alloc_evicts_oldest", "An allocation finds no invalid way."),
    of_dir("gpu_vi.race.lru_touch", "A remote hit makes a way the youngest that was not."),
    race(
        "inv-ingress",
        "8",
        "gpu_vi.race.inv_waits_for_ack",
        "An Inv is not delivered because the acknowledgements of those before it have not been taken by RSP.",
    ),
    race(
        "l2-bank",
        "8",
        "gpu_vi.race.read_answer_waits",
        "The line that answers another node's read is there, and the directory has not performed the read: the answer waits.",
    ),
    race(
        "l2-bank",
        "8",
        "gpu_vi.race.read_lines_full",
        "Reads of other nodes wait since too many answers wait for the directory.",
    ),
    race(
        "l2-bank",
        "8",
        "gpu_vi.race.drain_waits_stores_of_others",
        "DRAIN waits only for stores of other nodes, which somebody of this node may have read.",
    ),
];
