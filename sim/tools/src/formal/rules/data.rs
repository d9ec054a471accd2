//! The rules and the invariants.

use super::RuleKind::{Answers, Places, Returns};
use super::{Invariant, Rule};

/// What holds of the neighbours of a block.
pub(super) const RULES: &[Rule] = &[
    Rule {
        block: "mshr_file",
        name: "fills",
        kind: Answers { asks: "fetch", by: Some("id"), answers: "fill", to: Some("id") },
        reason: "a line comes for an entry that has fetched it, once",
    },
    Rule {
        block: "traffic_gen",
        name: "answers",
        kind: Answers { asks: "cu_req", by: Some("id"), answers: "cu_rsp", to: Some("id") },
        reason: "an L1 answers each request once",
    },
    Rule {
        block: "link_tx",
        name: "req_credit",
        kind: Returns { sent: "wire_req_valid", back: "credit_req" },
        reason: "the receiver gives back the place of a message that it has had",
    },
    Rule {
        block: "link_tx",
        name: "rsp_credit",
        kind: Returns { sent: "wire_rsp_valid", back: "credit_rsp" },
        reason: "the receiver gives back the place of a message that it has had",
    },
    Rule {
        block: "link_tx",
        name: "inv_credit",
        kind: Returns { sent: "wire_inv_valid", back: "credit_inv" },
        reason: "the receiver gives back the place of a message that it has had",
    },
    Rule {
        block: "link_rx",
        name: "req_places",
        kind: Places { comes: "wire_req_valid", back: "credit_req", places: "credits_req" },
        reason: "a sender has as many credits as the receiver has places",
    },
    Rule {
        block: "link_rx",
        name: "rsp_places",
        kind: Places { comes: "wire_rsp_valid", back: "credit_rsp", places: "credits_rsp" },
        reason: "a sender has as many credits as the receiver has places",
    },
    Rule {
        block: "link_rx",
        name: "inv_places",
        kind: Places { comes: "wire_inv_valid", back: "credit_inv", places: "credits_inv" },
        reason: "a sender has as many credits as the receiver has places",
    },
    Rule {
        block: "reqtracker",
        name: "dram",
        kind: Answers { asks: "dram_req", by: Some("id"), answers: "dram_rsp", to: Some("id") },
        reason: "DRAM answers what was asked, once",
    },
    Rule {
        block: "reqtracker",
        name: "tsu",
        kind: Answers { asks: "tsu_req", by: Some("id"), answers: "tsu_rsp", to: Some("id") },
        reason: "the TSU answers what it was asked, once",
    },
    Rule {
        block: "dram_port",
        name: "dram",
        kind: Answers { asks: "dram_req", by: Some("id"), answers: "dram_rsp", to: Some("id") },
        reason: "DRAM answers what was asked, once",
    },
    Rule {
        block: "fence_unit",
        name: "bank",
        kind: Answers { asks: "cmd#", by: Some("op"), answers: "done#", to: Some("op") },
        reason: "a bank answers the command that it was given, once",
    },
    Rule {
        block: "fence_unit",
        name: "token",
        kind: Answers { asks: "order#", by: Some("requester"), answers: "ordered#", to: Some("requester") },
        reason: "a bank gives back the token that it was given, once",
    },
];

/// What assertions stand on.
pub(super) const INVARIANTS: &[Invariant] = &[Invariant {
    module: "fifo_",
    name: "full_takes_nothing",
    holds: "!(in_ready && fifo_full)",
    reason: "ready is low in a cycle in which the storage is full",
}];
