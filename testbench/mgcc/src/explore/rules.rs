//! What is dead in the states of the blocks, as data; every rule is tried at every step of an exploration ([`weft_explore::dead`]).
//!
//! They are stated, not guessed ([`weft_explore::guess`]) as those of G-TSC are: guesses alone visit 318 449
//! states in 6.5 s where these visit 198 533 in 3.8 s (two CUs, 3 + 1 operations), and 7 155 597 in 49 s instead
//! of 4 435 525 in 33 s (2 + 1, floors at 62), for what lies in the bank and in the lane means nothing under
//! conditions on several registers, and a guess has one.

use weft_explore::dead::{Dead, What, When, dead};
use weft_explore::form::Ignore;
use weft_mgcc::l1::L1Params;
use weft_mgcc::l2::L2Params;
use weft_mgcc::msg::UpRsp;
use weft_mgcc::reqtracker::TrackerParams;
use weft_mgcc::umc::LaneParams;
use weft_rtl::prelude::leaves_of;

fn regs(name: impl Into<String>) -> What {
    What::Regs(name.into())
}
fn cells(name: &str) -> What {
    What::Cells(name.into())
}
fn some(name: impl Into<String>) -> When {
    When::Some(name.into())
}
fn is(name: impl Into<String>, values: &[u64]) -> When {
    When::Is(name.into(), values.to_vec())
}
fn bit(name: &str) -> When {
    When::Bit(name.into())
}

/// A receiving channel: its two skid entries.
fn receiver(name: &str) -> [Dead; 2] {
    [0, 1].map(|i| dead(&[regs(format!("{name}_skid{i}_*"))], &[some(format!("{name}_skid{i}_valid"))]))
}

/// A register with a valid bit: `NAME*` unless `VALID`.
fn held(name: &str, valid: &str) -> Dead {
    dead(&[regs(name)], &[some(valid)])
}

/// The leaves of a sending channel.
fn sender(name: &str, leaves: &[&str]) -> Dead {
    let leaves: Vec<What> = leaves.iter().map(|leaf| regs(format!("{name}_{leaf}"))).collect();
    dead(&leaves, &[some(format!("{name}_valid"))])
}

const UP_RSP: [&str; 10] =
    ["op", "dst", "txn", "tag", "wts", "rts", "with_data", "data", "old", "from_memory"];
const UMC_REQ: [&str; 12] =
    ["op", "src", "txn", "line", "tag", "ts", "mask", "data", "amo", "sgn", "word", "wide"];

/// Of `mgcc-l1`.
pub fn l1(p: &L1Params) -> Vec<Dead> {
    // A primary that is asked again has nothing in the pool.
    let replays = |i: u32| {
        let (entry, queued) = (is("replay_at", &[u64::from(i)]), When::Clear("miss_again".into(), i));
        When::All(vec![is("turn", &[2]), entry, queued])
    };
    let queued: Vec<When> = (0..p.mshrs()).map(replays).collect();
    let line = p.tsm.line_bits();
    let fill = ["op", "entry", "tag", "wts", "rts", "with_data", "data", "old", "from_memory", "primary"];
    let fill = fill.map(|leaf| regs(format!("fill_{leaf}")));
    let mut rules: Vec<Dead> = ["cu_req", "dn_rsp", "roll"].iter().flat_map(|name| receiver(name)).collect();
    rules.extend([
        held("up_req_*", "up_req_valid"),
        held("cu_rsp_*", "cu_rsp_valid"),
        held("cu_time", "cu_rsp_valid"),
        held("roll_ack_epoch", "roll_ack_valid"),
        dead(&fill, &[some("fill_valid")]),
        held("s1_*", "s1_valid"),
        dead(&[regs("fence_id"), regs("fence_kind"), regs("fence_epoch")], &[some("fencing")]),
        dead(&[regs("replay_at")], &[is("turn", &[2])]),
        dead(&[regs("pool_data_replay_addr_q")], &queued),
        dead(&[regs("up_req_data"), regs("up_req_amo"), regs("up_req_sgn")], &[is("up_req_op", &[1, 2])]),
        // Of a read: whether it wants an acknowledgement, and its word's size.
        dead(
            &[What::Bits("miss_info".into(), line + 3, 2)],
            &[When::Cell("miss_info".into(), line, 2, vec![1, 2])],
        ),
        dead(&["tags", "stamps", "lines", "ages"].map(|a| regs(format!("{a}_look_addr_q"))), &[some("turn")]),
        // For the CU's display only.
        dead(&[regs("stall")], &[]),
        dead(&[cells("delay"), cells("delay_times")], &[bit("delay_live")]),
        dead(&[cells("tags"), cells("lines")], &[When::Way("valid".into()), When::Way("locked".into())]),
        dead(&[cells("stamps")], &[When::Way("valid".into())]),
        dead(&[cells("miss_info"), cells("miss_need")], &[bit("miss_busy")]),
        dead(&[cells("miss_way")], &[bit("miss_pins")]),
        dead(&[cells("miss_head"), cells("miss_tail")], &[bit("miss_some")]),
        dead(&["pool_waiting", "pool_data", "pool_need"].map(cells), &[bit("pool_busy")]),
    ]);
    rules
}

/// Rows of a queue that hold nothing: row i is alive if it is one of `count` from `head` on.
fn queue(name: &str, rows: u32) -> Vec<Dead> {
    let of = |row: u32| {
        let alive = |head: u32| {
            let place = (row + rows - head) % rows;
            let counts: Vec<u64> = (place + 1..=rows).map(u64::from).collect();
            When::All(vec![
                is(format!("{name}_head"), &[u64::from(head)]),
                is(format!("{name}_count"), &counts),
            ])
        };
        dead(&[What::Cell(format!("{name}_rows"), row)], &(0..rows).map(alive).collect::<Vec<_>>())
    };
    (0..rows).map(of).collect()
}

/// Of `mgcc-l2`.
pub fn l2(p: &L2Params) -> Vec<Dead> {
    let class = |of: &[u64]| When::All(vec![some("s1_valid"), is("s1_class", of)]);
    let lands = [
        bit("mshr_landed"),
        bit("mshr_walk"),
        When::All(vec![some("walk_state"), When::Here("walk_mshr".into())]),
        When::All(vec![class(&[2]), When::Here("s1_mshr".into())]),
    ];
    let state = |of: &[u64]| When::Cell("tags".into(), p.tag_bits(), 2, of.to_vec());
    let (entry, count) = (p.pool_bits(), p.pool_count_bits());
    let listed = When::Cell("mshr_lists".into(), 2 * entry, count, vec![]);
    let old = leaves_of::<UpRsp>(&p.tsm, "")
        .iter()
        .take_while(|leaf| leaf.name != "old")
        .map(|leaf| leaf.width)
        .sum();
    let s2 = |leaves: &[&str]| leaves.iter().map(|leaf| regs(format!("s2_{leaf}"))).collect::<Vec<_>>();
    let step = |does: &str| When::All(vec![some("s2_valid"), some(format!("s2_{does}"))]);
    // Also while stage 2 has not yet overwritten the whole line.
    let kept = [
        When::Not("s2_valid".into(), vec![1]),
        When::Not("s2_write".into(), vec![1]),
        When::Not("s2_payload_mask".into(), vec![u64::MAX]),
        When::Elsewhere("s2_row".into()),
    ];
    let kept: Vec<When> = kept.into_iter().map(|when| When::All(vec![state(&[1, 2]), when])).collect();
    let mut rules: Vec<Dead> =
        ["l1_req", "mem_rsp", "roll", "maint"].iter().flat_map(|name| receiver(name)).collect();
    rules.extend(["l1_rsp_queue", "mem_req_queue"].iter().flat_map(|name| queue(name, 4)));
    let unread: Vec<What> = ["op", "src", "txn", "force", "tag", "ts_v", "ts", "mask", "data", "amo", "sgn"]
        .iter()
        .map(|leaf| regs(format!("s1_req_{leaf}")))
        .collect();
    rules.extend([
        sender("l1_rsp", &UP_RSP),
        // A hit's answer has whatever lies in the landing place.
        dead(&[regs("l1_rsp_old")], &[is("l1_rsp_op", &[2])]),
        dead(
            &[What::Bits("l1_rsp_queue_rows".into(), old, 64)],
            &[When::Cell("l1_rsp_queue_rows".into(), 0, 2, vec![2])],
        ),
        sender("mem_req", &UMC_REQ),
        // An EvictNote has whatever lies in stage 2.
        dead(&[regs("mem_req_txn")], &[is("mem_req_op", &[0, 1, 2])]),
        dead(&[regs("mem_req_data")], &[is("mem_req_op", &[1, 2])]),
        dead(
            &["amo", "sgn", "word", "wide"].map(|leaf| regs(format!("mem_req_{leaf}"))),
            &[is("mem_req_op", &[2])],
        ),
        sender("maint_done", &["op"]),
        sender("roll_ack", &["epoch"]),
        held("s1_*", "s1_valid"),
        dead(&unread, &[class(&[0, 1])]),
        dead(&[regs("s1_req_word"), regs("s1_req_wide")], &[class(&[0, 1])]),
        dead(&[regs("s1_mshr")], &[class(&[1, 2])]),
        held("s2_*", "s2_valid"),
        dead(&s2(&["wts", "rts", "with_data", "from_memory", "array"]), &[step("answer")]),
        dead(&s2(&["old"]), &[When::All(vec![step("answer"), some("s2_from_memory")])]),
        dead(&s2(&["who_op", "who_src", "who_txn", "who_force"]), &[step("answer")]),
        dead(&s2(&["op", "line", "mshr", "ts"]), &[step("request")]),
        dead(&s2(&["payload_amo", "payload_sgn", "payload_word", "payload_wide"]), &[step("request")]),
        held("note_*", "note_valid"),
        held("lines_look_addr_q", "s2_valid"),
        dead(
            &["tags", "stamps", "ages"].map(|a| regs(format!("{a}_look_addr_q"))),
            &[some("s1_valid"), is("sweep_state", &[0, 2, 3])],
        ),
        dead(&[regs("landing_fill_addr_q"), regs("landing_stamps_fill_addr_q")], &[class(&[2])]),
        dead(
            &["landing_walk", "landing_stamps_walk", "pool_payloads_look"]
                .map(|port| regs(format!("{port}_addr_q"))),
            &[some("walk_state")],
        ),
        dead(&[regs("walk_mshr"), regs("walk_leading"), regs("walk_redo")], &[some("walk_state")]),
        dead(
            &["mshr_lines_keys", "mshr_infos", "mshr_needs", "mshr_lists"].map(cells),
            &[bit("mshr_lines_valid")],
        ),
        dead(&[What::Bits("mshr_lists".into(), 0, 2 * entry)], &[listed]),
        dead(&["pool_payloads", "pool_headers", "pool_needs"].map(cells), &[bit("pool_used")]),
        dead(&["landing", "landing_stamps", "landing_epochs"].map(cells), &lands),
        dead(&[What::Bits("tags".into(), 0, p.tag_bits())], &[state(&[1, 2, 3])]),
        dead(&[cells("stamps")], &[state(&[1, 2])]),
        dead(&[cells("lines")], &kept),
    ]);
    rules
}

/// Of the ReqTracker's entries.
fn entries(p: &TrackerParams, out: &mut Vec<Dead>) {
    let name = |what: &str| format!("tracker.{what}");
    let at = |reg: &str, i: u32| When::At(name(reg), i);
    let busy = |i: u32| [at("state_hi", i), at("state_lo", i)];
    let busy_bit = [bit("tracker.state_hi"), bit("tracker.state_lo")];
    let flags = ["dram_done", "granted", "answered", "full_mask"];
    out.push(dead(&flags.map(|flag| What::Flags(name(flag))), &busy_bit));
    for i in 0..p.entries {
        for j in 0..p.entries {
            let both: Vec<When> =
                busy(i).iter().flat_map(|a| busy(j).map(|b| When::All(vec![a.clone(), b]))).collect();
            let bits = ["same", "before"].map(|row| What::Flag(name(&format!("{row}{i}")), j));
            out.push(dead(&bits, &both));
        }
        out.push(dead(&[regs(name(&format!("age{i}")))], &[at("state_lo", i)]));
    }
    let issues = [some("tracker.issue_valid"), some("tracker.issue_dram")];
    let issuing = [&issues[..], &[When::Here("tracker.issue_id".into())]].concat();
    out.extend([
        dead(&[cells("tracker.lines"), cells("tracker.info")], &busy_bit),
        dead(&[cells("tracker.grants")], &[bit("tracker.granted"), bit("tracker.overflowed")]),
        dead(&[cells("tracker.grants")], &busy_bit),
        dead(&[cells("tracker.writes")], &[bit("tracker.state_lo"), When::All(issuing)]),
        dead(&[cells("tracker.results")], &[bit("tracker.dram_done")]),
        dead(&[cells("tracker.results")], &busy_bit),
    ]);
}

/// Of a lane.
pub fn lane(p: &LaneParams) -> Vec<Dead> {
    let channels = ["tracker.req", "tracker.dram_rsp", "tracker.tsu_rsp", "tsu.req", "tsu.roll"];
    let mut rules: Vec<Dead> = channels.iter().flat_map(|name| receiver(name)).collect();
    entries(&p.tracker, &mut rules);
    let tag = p.tsu.tag_bits();
    let valid = When::Cell("tsu.entries".into(), tag, 1, vec![1]);
    let ports = ["entries", "memts", "wts", "floors", "wfloors"];
    rules.extend([
        held("tracker.dram_req_*", "tracker.dram_req_valid"),
        held("tracker.tsu_req_*", "tracker.tsu_req_valid"),
        sender("tracker.rsp", &["op", "dst", "txn", "tag", "wts", "rts", "with_data", "data", "old"]),
        sender("tsu.rsp", &["id", "tag", "wts", "rts", "ovf"]),
        sender("tsu.roll_ack", &["epoch"]),
        sender("tsu.roll_ask", &["epoch"]),
        held("tracker.issue_*", "tracker.issue_valid"),
        held("tracker.writes_out_addr_q", "tracker.issue_valid"),
        held("tracker.answer_*", "tracker.answer_valid"),
        held("tracker.results_out_addr_q", "tracker.answer_valid"),
        held("tsu.s1_*", "tsu.s1_valid"),
        held("tsu.ack_epoch", "tsu.ack_due"),
        dead(&ports.map(|port| regs(format!("tsu.{port}_read_addr_q"))), &[some("tsu.s1_valid")]),
        // For reports only.
        dead(&[regs("tsu.largest")], &[]),
        dead(&[What::Bits("tsu.entries".into(), 0, tag)], std::slice::from_ref(&valid)),
        dead(&[cells("tsu.memts"), cells("tsu.wts")], &[valid]),
    ]);
    rules
}

/// Of a relay or the epoch controller: receiving and sending channels, all with an epoch.
pub fn spread(receivers: &[String], senders: &[String]) -> Vec<Dead> {
    let receivers = receivers.iter().flat_map(|name| receiver(name));
    receivers.chain(senders.iter().map(|name| sender(name, &["epoch"]))).collect()
}

/// Of a relay: its epoch between rolls.
pub fn relay_epoch() -> Dead {
    dead(&[regs("epoch")], &[some("state")])
}

const WRITE: &[u64] = &[1];
const AMO: &[u64] = &[2];
const OPERAND: &[&str] = &["amo", "sgn", "word", "wide"];

/// Of requests from an L1.
pub const UP: &[Ignore] = &[
    Ignore { leaves: &["mask"], unless: "op", is: WRITE },
    Ignore { leaves: &["data"], unless: "op", is: &[1, 2] },
    Ignore { leaves: OPERAND, unless: "op", is: AMO },
    Ignore { leaves: &["force"], unless: "op", is: &[0] },
    Ignore { leaves: &["ts"], unless: "ts_v", is: &[1] },
];

/// Of requests to memory, and of those of G-TSC: what only one kind of operation has.
pub const BY_OP: &[Ignore] = &[
    Ignore { leaves: &["mask"], unless: "op", is: WRITE },
    Ignore { leaves: &["data"], unless: "op", is: &[1, 2] },
    Ignore { leaves: OPERAND, unless: "op", is: AMO },
];

/// Of requests to memory with the sender; notes have none.
pub const TO_UMC: &[Ignore] = &[
    Ignore { leaves: &["mask"], unless: "op", is: WRITE },
    Ignore { leaves: &["data"], unless: "op", is: &[1, 2] },
    Ignore { leaves: OPERAND, unless: "op", is: AMO },
    Ignore { leaves: &["src", "txn"], unless: "op", is: &[0, 1, 2] },
];

/// Of answers of banks and of memory.
pub const ANSWER: &[Ignore] = &[
    Ignore { leaves: &["data"], unless: "with_data", is: &[1] },
    Ignore { leaves: &["old"], unless: "op", is: AMO },
];

/// Of answers to a CU.
pub const TO_CU: &[Ignore] = &[Ignore { leaves: &["data", "mask"], unless: "kind", is: &[0] }];
