//! The rules and the invariants.

use super::RuleKind::{Answers, Echoes, Once, Over, Places, Returns};
use super::{Invariant, Rule};

/// A receiver that gives places back.
const fn returns(block: &'static str, name: &'static str, sent: &'static str, back: &'static str) -> Rule {
    let reason = "the receiver gives back the place of a message that it has had";
    Rule { block, name, kind: Returns { sent, back }, reason }
}

/// A sender with credits.
const fn places(
    block: &'static str,
    name: &'static str,
    comes: &'static str,
    back: &'static str,
    places: &'static str,
) -> Rule {
    let reason = "a sender has as many credits as the receiver has places";
    Rule { block, name, kind: Places { comes, back, places }, reason }
}

/// A neighbour that answers, by number, what left for it.
const fn answers(
    block: &'static str,
    name: &'static str,
    (asks, by): (&'static str, &'static str),
    (answers, to): (&'static str, &'static str),
    reason: &'static str,
) -> Rule {
    Rule { block, name, kind: Answers { asks, by, answers, to }, reason }
}

/// A neighbour that numbers what it asks, and uses a number again when it has its answer.
const fn once(
    block: &'static str,
    name: &'static str,
    (asks, by): (&'static str, &'static str),
    (answers, to): (&'static str, &'static str),
) -> Rule {
    let reason = "a number is used again when what was asked with it is answered";
    Rule { block, name, kind: Once { asks, by, answers, to }, reason }
}

/// A receiver that acknowledges what it was told.
const fn echoes(block: &'static str, name: &'static str, asks: &'static str, back: &'static str) -> Rule {
    let reason = "a receiver acknowledges the open roll, once";
    Rule { block, name, kind: Echoes { asks, answers: back, leaf: "epoch" }, reason }
}

/// What holds of ports, without a past.
const fn holds(block: &'static str, name: &'static str, holds: &'static str, reason: &'static str) -> Rule {
    Rule { block, name, kind: Over { each: "", without: "", state: "", holds }, reason }
}

/// The same with a past, which Verilog in a file of its own keeps.
const fn keeps(
    block: &'static str,
    name: &'static str,
    state: &'static str,
    holds: &'static str,
    reason: &'static str,
) -> Rule {
    Rule { block, name, kind: Over { each: "", without: "", state, holds }, reason }
}

/// Directories of systems in which a GPU is one home hear only of other GPUs, and never of a downgrade.
const fn remote(block: &'static str) -> Rule {
    let holds = "!req_valid || (req_op != 3'd4 && (req_op == 3'd2 || req_src != {home}))";
    let reason =
        "remote operations come from another GPU (rec.md section 4), and nobody sends downgrades here";
    Rule { block, name: "remote", kind: Over { each: "", without: "", state: "", holds }, reason }
}

/// A directory slice hears of lines whose home it is.
const fn homes(block: &'static str) -> Rule {
    let holds = "!req_valid || (((req_line >> ({p} - $clog2({l}))) & ((1 << $bits(req_src)) - 1)) == {home} && \
                 (req_src & ((1 << $clog2({gpms})) - 1)) < {gpms})";
    let reason = "a bank asks the directory of the line's home, for a GPM";
    Rule { block, name: "home", kind: Over { each: "", without: "", state: "", holds }, reason }
}

/// Directories in two levels (hmg.md section 4): a slice is the home of its GPU for lines of GPMs with its number,
/// and of all GPUs for its own lines. It hears of GPMs of its GPU, as the system home also of the GPU homes, and
/// where another one is the system home, of its Invs.
const fn two_levels(block: &'static str) -> Rule {
    let holds = "(!req_valid || (weft_req_gpm && weft_node && \
                 (req_src == {home} && (req_op == 3'd2 || req_op == 3'd4) || \
                 req_src != {home} && req_op != 3'd2 && (weft_near || weft_req_own && weft_peer)))) && \
                 (!recv_valid || (weft_recv_gpm && !weft_recv_own && !recv_also[{home} & weft_gpms]))";
    let reason = "who asks a home, and whom it hears Invs of (hmg.md section 4)";
    let state = include_str!("two_levels.v");
    Rule { block, name: "levels", kind: Over { each: "", without: "", state, holds }, reason }
}

/// What holds of the neighbours of a block.
pub(super) const RULES: &[Rule] = &[
    answers(
        "mshr_file",
        "fills",
        ("fetch", "id"),
        ("fill", "id"),
        "a line comes for an entry that has fetched it, once",
    ),
    answers("traffic_gen", "answers", ("cu_req", "id"), ("cu_rsp", "id"), "an L1 answers each request once"),
    two_levels("hmg_directory"),
    two_levels("hmg_rec_directory"),
    homes("nhcc_directory"),
    homes("gpu_vi_directory"),
    remote("nhcc_directory"),
    remote("gpu_vi_directory"),
    holds(
        "gpu_vi_directory",
        "local",
        "!req_valid || req_op != 3'd2 || req_src == {home}",
        "a write of the home itself comes from the home",
    ),
    keeps(
        "gpu_vi_directory",
        "acks",
        include_str!("inv_acks.v"),
        "!ack_valid || (ack_kind == 3'd5 && ack_dst == {home} && weft_acked)",
        "a GPU acknowledges an invalidation that it was sent, once (hmg.md section 8)",
    ),
    keeps(
        "tsu",
        "epochs",
        include_str!("epochs.v"),
        "(!roll_valid || (!weft_rolls && roll_epoch == weft_next)) && \
         (!req_valid || weft_behind < (1 << ($bits(req_tag) - 1)) - 2)",
        "Rolls are acknowledged one by one, and no request is older than its tag can tell (mgcc.md section 8)",
    ),
    holds(
        "tsu",
        "leases",
        "rd_lease != 0 && rd_lease <= (1 << ($bits(req_ts) - 2)) && \
         wr_lease != 0 && wr_lease <= (1 << ($bits(req_ts) - 2))",
        "registers of the UMC: 1..2^(TS-2) (mgcc.md section 6)",
    ),
    holds("tsu", "tracker", "rsp_ready", "the ReqTracker takes every answer at once"),
    keeps(
        "l1_cache",
        "l2",
        include_str!("l1_cache.v"),
        "!l2_rsp_valid || (weft_open[8 * l2_rsp_id +: 8] != 0 && \
         weft_kind[4 * l2_rsp_id +: 4] == l2_rsp_kind)",
        "the L2 answers what it was asked, once",
    ),
    Rule {
        block: "inv_ingress",
        name: "applied",
        kind: Over {
            each: "done#_valid",
            without: "",
            state: include_str!("inv_applied.v"),
            holds: "!done#_valid || (done#_link < 16 && weft_applied#[10 * done#_link +: 10] != 0)",
        },
        reason: "a bank applies an invalidation that it was given, once",
    },
    Rule {
        block: "inv_ingress",
        name: "markers",
        kind: Over {
            each: "link#_valid",
            without: "fence_serial",
            state: include_str!("markers.v"),
            holds: "!link#_valid || link#_kind == 1'b0 || !weft_came#[16 * link#_requester + link#_src]",
        },
        reason: "a GPU's next markers come when all of its fence are told (rec.md section 7)",
    },
    remote("baseline_directory"),
    remote("group_directory"),
    remote("rec_directory"),
    returns("link_tx", "req_credit", "wire_req_valid", "credit_req"),
    returns("link_tx", "rsp_credit", "wire_rsp_valid", "credit_rsp"),
    returns("link_tx", "inv_credit", "wire_inv_valid", "credit_inv"),
    places("link_rx", "req_places", "wire_req_valid", "credit_req", "credits_req"),
    places("link_rx", "rsp_places", "wire_rsp_valid", "credit_rsp", "credits_rsp"),
    places("link_rx", "inv_places", "wire_inv_valid", "credit_inv", "credits_inv"),
    keeps(
        "phit_tx",
        "credits",
        include_str!("phits.v"),
        "(!credit_req || weft_req != 0) && (!credit_rsp || weft_rsp != 0) && (!credit_inv || weft_inv != 0)",
        "the receiver gives back the place of a message that it has had",
    ),
    holds("phit_tx", "kinds", "!req_valid || req_kind != 3'd5", "no request acknowledges (hmg.md section 8)"),
    keeps(
        "phit_rx",
        "messages",
        include_str!("phits.v"),
        "!phit_head || (weft_owed < {bytes_per_cycle} && weft_legal && \
         (!weft_is_req || weft_req < {credits_req}) && \
         (!weft_is_rsp || weft_rsp < {credits_rsp}) && (!weft_is_inv || weft_inv < {credits_inv}))",
        "a message begins behind the one before it, and has a place in its buffer",
    ),
    returns("switch", "req_credit", "out#_wire_req_valid", "out#_credit_req"),
    returns("switch", "rsp_credit", "out#_wire_rsp_valid", "out#_credit_rsp"),
    returns("switch", "inv_credit", "out#_wire_inv_valid", "out#_credit_inv"),
    places("switch", "req_places", "in#_wire_req_valid", "in#_credit_req", "credits_req"),
    places("switch", "rsp_places", "in#_wire_rsp_valid", "in#_credit_rsp", "credits_rsp"),
    places("switch", "inv_places", "in#_wire_inv_valid", "in#_credit_inv", "credits_inv"),
    returns("spandex_link_tx", "req_credit", "wire_req_valid", "credit_req"),
    returns("spandex_link_tx", "fwd_credit", "wire_fwd_valid", "credit_fwd"),
    returns("spandex_link_tx", "wb_credit", "wire_wb_valid", "credit_wb"),
    returns("spandex_link_tx", "rsp_credit", "wire_rsp_valid", "credit_rsp"),
    places("spandex_link_rx", "req_places", "wire_req_valid", "credit_req", "credits"),
    places("spandex_link_rx", "fwd_places", "wire_fwd_valid", "credit_fwd", "credits"),
    places("spandex_link_rx", "wb_places", "wire_wb_valid", "credit_wb", "credits"),
    places("spandex_link_rx", "rsp_places", "wire_rsp_valid", "credit_rsp", "credits"),
    answers(
        "reqtracker",
        "dram",
        ("dram_req", "id"),
        ("dram_rsp", "id"),
        "DRAM answers what was asked, once",
    ),
    Rule {
        block: "reqtracker",
        name: "tsu",
        kind: Over {
            each: "tsu_rsp_valid",
            without: "",
            state: include_str!("reqtracker.v"),
            holds: "!tsu_rsp_valid || (weft_asked[tsu_rsp_id] && !(tsu_rsp_ovf && weft_reads[tsu_rsp_id]))",
        },
        reason: "the TSU answers what it was asked, once, but no EvictNote, and reads always fit (mgcc.md section 6)",
    },
    once("dram_port", "bank", ("req", "txn"), ("rsp", "txn")),
    holds(
        "dram_port",
        "own",
        "!req_valid || (req_src == own_gpu && req_op != 3'd3 && req_txn < {mshrs})",
        "the bank of this GPU asks, and it drops no leases (mgcc.md section 14)",
    ),
    holds(
        "tu_gpu",
        "l1",
        "!l1_req_valid || (l1_req_tag < {mshrs} + {sb} && (l1_req_op == 2'd1) == (l1_req_tag >= {mshrs}) && \
         (l1_req_op == 2'd0 || l1_req_mask != 0))",
        "MSHRs read and do atomics, store buffer entries write through (spandex.md section 6)",
    ),
    once("tu_gpu", "transaction", ("l1_req", "tag"), ("l1_rsp", "tag")),
    keeps(
        "tu_gpu",
        "network",
        include_str!("tu_gpu.v"),
        "!rsp_valid || (rsp_tag < weft_tags && rsp_src != own && !rsp_direct && rsp_mask != 0 && \
         rsp_line == weft_lines[64 * rsp_tag +: 64] && (rsp_mask & ~weft_expected) == 0 && \
         (rsp_op != 4'd5 || !weft_atomic[rsp_tag] || rsp_mask == weft_expected))",
        "words asked for are answered once, those of an atomic together (spandex.md section 5)",
    ),
    holds(
        "tu_gpu",
        "owns_nothing",
        "!fwd_valid || fwd_op == 3'd0 || fwd_op == 3'd4 || fwd_op == 3'd6",
        "what takes ownership goes to an owner, and the device is none",
    ),
    answers("dram_port", "dram", ("dram_req", "id"), ("dram_rsp", "id"), "DRAM answers what was asked, once"),
    answers(
        "fence_unit",
        "bank",
        ("cmd#", "op"),
        ("done#", "op"),
        "a bank answers the command that it was given, once",
    ),
    answers(
        "fence_unit",
        "token",
        ("order#", "requester"),
        ("ordered#", "requester"),
        "a bank gives back the token that it was given, once",
    ),
    Rule {
        block: "inv_egress",
        name: "dest",
        kind: Over {
            each: "slice#_dest",
            without: "",
            state: "",
            holds: "!slice#_valid || (slice#_dest != 0 && !slice#_dest[{home}])",
        },
        reason: "an invalidation goes to some GPU, never to the one that sends it (rec.md section 4)",
    },
    Rule {
        block: "inv_ingress",
        name: "addressed",
        kind: Over {
            each: "link#_dst",
            without: "",
            state: "",
            holds: "!link#_valid || (link#_dst == {home} && link#_src != {home})",
        },
        reason: "what comes over a link is for this GPU and from another one",
    },
    holds(
        "fence_unit",
        "addressed",
        "(!req_in_valid || req_in_dst == {home} && req_in_src != {home} && req_in_src < {n}) && \
         (!rsp_in_valid || rsp_in_dst == {home} && rsp_in_src != {home} && rsp_in_src < {n})",
        "what comes over a link is for this GPU and from another one",
    ),
    keeps(
        "fence_unit",
        "receipts",
        include_str!("fence_unit.v"),
        "(!mark_in_valid || mark_in_requester != {home} || weft_asked != 0) && \
         (!rsp_in_valid || weft_marks[8 * rsp_in_src +: 8] != 0)",
        "a marker comes when it was asked for, its receipt when it was sent (rec.md section 7)",
    ),
    answers(
        "tsm_maint",
        "bank",
        ("cmd#", "op"),
        ("done#", "op"),
        "a bank answers the command that it was given, once",
    ),
    echoes("gpu_relay", "acks", "roll#", "ack#"),
    echoes("epoch_ctl", "acks", "roll#", "ack#"),
    echoes("epoch_ctl", "unit_acks", "rollu#", "acku#"),
    Rule {
        block: "gpu_relay",
        name: "one_roll",
        kind: Over {
            each: "",
            without: "",
            state: "reg weft_rolls = 0;\n\
                    always @(posedge clk) if (weft_run) begin\n\
                    \x20   if (ack_valid && ack_ready) weft_rolls <= 1'b0;\n\
                    \x20   if (roll_valid && roll_ready) weft_rolls <= 1'b1;\n\
                    end\n",
            holds: "!(roll_valid && weft_rolls)",
        },
        reason: "the next roll comes when this one is acknowledged",
    },
    Rule {
        block: "lr_tbl",
        name: "fresh_places",
        kind: Over {
            each: "",
            without: "",
            state: "reg [255:0] weft_place_used = 0;\n\
                    always @(posedge clk) if (weft_run && req_valid && req_ready) begin\n\
                    \x20   if (req_op == 2'd1) weft_place_used[req_ptr] <= 1'b1;\n\
                    \x20   if (req_op == 2'd2) weft_place_used[req_ptr] <= 1'b0;\n\
                    \x20   if (req_op == 2'd3) weft_place_used <= 0;\n\
                    end\n",
            holds: "!(req_valid && req_op == 2'd1 && weft_place_used[req_ptr])",
        },
        reason: "a release is registered at a place that the sFIFO has just given, and gives again only after a pop",
    },
];

/// What assertions stand on.
pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant::Holds {
        module: "fifo_",
        name: "full_takes_nothing",
        holds: "!(in_ready && fifo_count == {depth})",
        reason: "ready is low in a cycle in which the storage is full",
    },
    Invariant::Distinct {
        rows: "lr_tbl_rows",
        valid: "lr_tbl_valid",
        leaf: "word",
        reason: "an address has at most one LR entry",
    },
    Invariant::Distinct {
        rows: "locks_keys",
        valid: "locks_valid",
        leaf: "",
        reason: "a line has one lock at most",
    },
    Invariant::Distinct {
        rows: "cam_keys",
        valid: "cam_valid",
        leaf: "",
        reason: "no two entries hold one key",
    },
    Invariant::Distinct {
        rows: "mshr_keys",
        valid: "mshr_valid",
        leaf: "",
        reason: "a line is fetched once",
    },
];
