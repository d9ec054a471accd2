//! The unit's transition tables, as data (spandex.md sections 5 and 6).
//!
//! | entry | meaning |
//! | --- | --- |
//! | FREE | nothing is outstanding |
//! | RD | a line is read: some words are outstanding |
//! | WT | words are written through: the LLC's answer, or an old owner's, is outstanding |
//! | AT | an atomic is at the LLC |

use crate::msg::{FwdOp, GpuOp, RspOp};
use weft_rtl::prelude::*;

/// What an entry waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Entry {
    /// Nothing.
    Free,
    /// Words of a line.
    Rd,
    /// Answers to a write-through.
    Wt,
    /// The old words of an atomic.
    At,
}

/// A column whose words stand for the variants of an enumeration, in their order.
pub(crate) fn column<E: HwEnum>(name: &'static str, words: &[&'static str]) -> Column {
    let variants = E::enum_type().variants.clone();
    Column { name, values: words.iter().zip(variants).map(|(word, (_, code))| (*word, code)).collect() }
}

const ENTRIES: [&str; 4] = ["FREE", "RD", "WT", "AT"];

/// What a request of the L1 does. Its transaction is always a free one.
pub fn requests() -> Table {
    let row = |id: &str, op: GpuOp, actions: &[&'static str], text: &str| Row {
        id: format!("spandex.tu_gpu.{id}"),
        when: vec![vec![op.encoding()], vec![Entry::Free.encoding()]],
        actions: actions.to_vec(),
        text: text.into(),
    };
    Table {
        name: "tu_gpu_requests",
        columns: vec![column::<GpuOp>("request", &["Rd", "Wt", "At"]), column::<Entry>("entry", &ENTRIES)],
        rows: vec![
            row("Rd", GpuOp::Rd, &["whole_line"], "ReqV of every word of the line."),
            row("Wt", GpuOp::Wt, &[], "ReqWT of the words given."),
            row("At", GpuOp::At, &[], "ReqWT+data of the words given."),
        ],
    }
}

/// What a response does. `last`: no word of the entry is outstanding afterwards; of a NackV, that it is the last one before escalation.
pub fn responses() -> Table {
    type Line<'a> = (&'a str, RspOp, Entry, u64, &'a [&'static str], &'a str);
    let lines: &[Line<'_>] = &[
        ("RspV.part", RspOp::RspV, Entry::Rd, 0, &["store"], "Words of one responder; others are awaited."),
        ("RspV.last", RspOp::RspV, Entry::Rd, 1, &["store", "complete"], "The line is whole."),
        ("READ.part", RspOp::RspWtData, Entry::Rd, 0, &["store"], "Words that had been escalated."),
        ("READ.last", RspOp::RspWtData, Entry::Rd, 1, &["store", "complete"], "The line is whole."),
        ("RspWTdata", RspOp::RspWtData, Entry::At, 1, &["store", "complete"], "The old words of an atomic."),
        ("RspWT.part", RspOp::RspWt, Entry::Wt, 0, &["note"], "LLC or an old owner; others are awaited."),
        ("RspWT.last", RspOp::RspWt, Entry::Wt, 1, &["note", "complete"], "Every word is written."),
        ("NackV.again", RspOp::NackV, Entry::Rd, 0, &["retry"], "The failed words are asked for again."),
        ("NackV.last", RspOp::NackV, Entry::Rd, 1, &["retry"], "They are asked for by ReqWT+data READ."),
    ];
    let row = |(id, message, entry, last, actions, text): &Line<'_>| Row {
        id: format!("spandex.tu_gpu.{id}"),
        when: vec![vec![message.encoding()], vec![entry.encoding()], vec![*last]],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    let messages = [
        "RspV",
        "RspS",
        "RspO",
        "RspO+data",
        "RspWT",
        "RspWT+data",
        "RspWB",
        "RspRvkO",
        "Ack",
        "NackV",
        "NackWT",
    ];
    Table {
        name: "tu_gpu_responses",
        columns: vec![
            column::<RspOp>("response", &messages),
            column::<Entry>("entry", &ENTRIES),
            Column { name: "last", values: vec![("no", 0), ("yes", 1)] },
        ],
        rows: lines.iter().map(row).collect(),
    }
}

/// What a forward does: the device owns nothing and shares nothing. Forwards that take ownership do not come.
pub fn forwards() -> Table {
    let row = |id: &str, op: FwdOp, action: &'static str, text: &str| Row {
        id: format!("spandex.tu_gpu.{id}"),
        when: vec![vec![op.encoding()]],
        actions: vec![action],
        text: text.into(),
    };
    let messages = ["ReqV", "ReqS", "ReqO", "ReqO+data", "ReqWT", "RvkO", "Inv"];
    Table {
        name: "tu_gpu_forwards",
        columns: vec![column::<FwdOp>("forward", &messages)],
        rows: vec![
            row("fwd.ReqV", FwdOp::ReqV, "nack", "NackV to the requestor."),
            row("fwd.ReqWT", FwdOp::ReqWt, "nack_wt", "NackWT to the requestor."),
            row("fwd.Inv", FwdOp::Inv, "ack", "Ack to the bank."),
        ],
    }
}
