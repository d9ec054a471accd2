//! The rules and the invariants.

use super::RuleKind::{Answers, Echoes, Over, Places, Returns};
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

/// Directories of systems in which a GPU is one home hear only of other GPUs, and never of a downgrade.
const fn remote(block: &'static str) -> Rule {
    let holds = "!req_valid || (req_op != 3'd4 && (req_op == 3'd2 || req_src != {home}))";
    let reason =
        "remote operations come from another GPU (rec.md section 4), and nobody sends downgrades here";
    Rule { block, name: "remote", kind: Over { each: "", state: "", holds }, reason }
}

/// What holds of the neighbours of a block.
pub(super) const RULES: &[Rule] = &[
    Rule {
        block: "mshr_file",
        name: "fills",
        kind: Answers { asks: "fetch", by: "id", answers: "fill", to: "id" },
        reason: "a line comes for an entry that has fetched it, once",
    },
    Rule {
        block: "traffic_gen",
        name: "answers",
        kind: Answers { asks: "cu_req", by: "id", answers: "cu_rsp", to: "id" },
        reason: "an L1 answers each request once",
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
    Rule {
        block: "reqtracker",
        name: "dram",
        kind: Answers { asks: "dram_req", by: "id", answers: "dram_rsp", to: "id" },
        reason: "DRAM answers what was asked, once",
    },
    Rule {
        block: "reqtracker",
        name: "tsu",
        kind: Answers { asks: "tsu_req", by: "id", answers: "tsu_rsp", to: "id" },
        reason: "the TSU answers what it was asked, once",
    },
    Rule {
        block: "dram_port",
        name: "dram",
        kind: Answers { asks: "dram_req", by: "id", answers: "dram_rsp", to: "id" },
        reason: "DRAM answers what was asked, once",
    },
    Rule {
        block: "fence_unit",
        name: "bank",
        kind: Answers { asks: "cmd#", by: "op", answers: "done#", to: "op" },
        reason: "a bank answers the command that it was given, once",
    },
    Rule {
        block: "fence_unit",
        name: "token",
        kind: Answers { asks: "order#", by: "requester", answers: "ordered#", to: "requester" },
        reason: "a bank gives back the token that it was given, once",
    },
    Rule {
        block: "inv_egress",
        name: "dest",
        kind: Over {
            each: "slice#_dest",
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
            state: "",
            holds: "!link#_valid || (link#_dst == {home} && link#_src != {home})",
        },
        reason: "what comes over a link is for this GPU and from another one",
    },
    Rule {
        block: "fence_unit",
        name: "addressed",
        kind: Over {
            each: "",
            state: "",
            holds: "(!req_in_valid || req_in_dst == {home}) && (!rsp_in_valid || rsp_in_dst == {home} && rsp_in_src != {home})",
        },
        reason: "what comes over a link is for this GPU and from another one",
    },
    Rule {
        block: "fence_unit",
        name: "acks",
        kind: Answers { asks: "req_out", by: "dst", answers: "rsp_in", to: "src" },
        reason: "another GPU acknowledges the fence that it was asked for, once",
    },
    Rule {
        block: "tsm_maint",
        name: "bank",
        kind: Answers { asks: "cmd#", by: "op", answers: "done#", to: "op" },
        reason: "a bank answers the command that it was given, once",
    },
    Rule {
        block: "gpu_relay",
        name: "acks",
        kind: Echoes { asks: "roll#", answers: "ack#", leaf: "epoch" },
        reason: "a receiver acknowledges the open roll, once",
    },
    Rule {
        block: "epoch_ctl",
        name: "acks",
        kind: Echoes { asks: "roll#", answers: "ack#", leaf: "epoch" },
        reason: "a receiver acknowledges the open roll, once",
    },
    Rule {
        block: "epoch_ctl",
        name: "unit_acks",
        kind: Echoes { asks: "rollu#", answers: "acku#", leaf: "epoch" },
        reason: "a receiver acknowledges the open roll, once",
    },
    Rule {
        block: "gpu_relay",
        name: "one_roll",
        kind: Over {
            each: "",
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
