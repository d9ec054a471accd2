//! The unit's transition tables (spandex.md sections 5 and 6).
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
    #[hw(label = "FREE")]
    Free,
    /// Words of a line.
    #[hw(label = "RD")]
    Rd,
    /// Answers to a write-through.
    #[hw(label = "WT")]
    Wt,
    /// The old words of an atomic.
    #[hw(label = "AT")]
    At,
}

/// What a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Ask {
    /// Every word of the line.
    WholeLine,
}

transitions! {
    /// What a request of the L1 does.
    pub fn requests() {
        name "tu_gpu_requests", rows "spandex.tu_gpu.";
        on "request": GpuOp, "entry": Entry;
        next Entry;
        does Ask;

        "Rd" (Rd, Free) -> Rd [WholeLine] "ReqV of every word of the line.";
        "Wt" (Wt, Free) -> Wt             "ReqWT of the words given.";
        "At" (At, Free) -> At             "ReqWT+data of the words given.";
        never (_, Rd | Wt | At)           "the L1 asks with a free transaction";
    }
}

/// What a response does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Answered {
    /// Its words go into the line buffer.
    Store,
    /// Its words are written.
    Note,
    /// The L1 gets its answer.
    Complete,
    /// Its words are asked for again.
    Retry,
}

transitions! {
    /// What a response does. `last`: no word of the entry is outstanding afterwards; of a NackV, that it is the last one before escalation. The entry is free when the L1 has its answer.
    pub fn responses() {
        name "tu_gpu_responses", rows "spandex.tu_gpu.";
        on "response": RspOp, "entry": Entry, "last": Is;
        next Entry;
        does Answered;

        "RspV.part"   (RspV, Rd, No)       [Store]           "Words of one responder; others are awaited.";
        "RspV.last"   (RspV, Rd, Yes)      [Store, Complete] "The line is whole.";
        "READ.part"   (RspWtData, Rd, No)  [Store]           "Words that had been escalated.";
        "READ.last"   (RspWtData, Rd, Yes) [Store, Complete] "The line is whole.";
        "RspWTdata"   (RspWtData, At, Yes) [Store, Complete] "The old words of an atomic.";
        "RspWT.part"  (RspWt, Wt, No)      [Note]            "LLC or an old owner; others are awaited.";
        "RspWT.last"  (RspWt, Wt, Yes)     [Note, Complete]  "Every word is written.";
        "NackV.again" (NackV, Rd, No)      [Retry]           "The failed words are asked for again.";
        "NackV.last"  (NackV, Rd, Yes)     [Retry]           "They are asked for by ReqWT+data READ.";
        never (RspV | NackV, Free | Wt | At, _)              "they answer reads";
        never (RspWtData, Free | Wt, _)                      "it answers atomics and escalated reads";
        never (RspWtData, At, No)                            "the LLC answers an atomic as a whole";
        never (RspWt, Free | Rd | At, _)                     "it answers write-throughs";
        never (RspS | RspO | RspOData | RspWb, _, _)
            "the unit asks for no shared or owned words, and writes none back";
        never (RspRvkO | Ack, _, _)                          "they go to banks";
        never (NackWt, _, _)
            "no write-through is forwarded: the unit sets neither `fwd` nor `direct`";
    }
}

/// What a forward is answered, beside NackV.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Refuse {
    /// By NackWT.
    #[hw(label = "NackWT")]
    NackWt,
    /// By Ack.
    Ack,
}

transitions! {
    /// What a forward does: the device owns nothing and shares nothing.
    pub fn forwards() {
        name "tu_gpu_forwards", rows "spandex.tu_gpu.";
        on "forward": FwdOp;
        does Refuse;

        "fwd.ReqV"  (ReqV)                     "NackV to the requestor.";
        "fwd.ReqWT" (ReqWt)     [NackWt]       "NackWT to the requestor.";
        "fwd.Inv"   (Inv)       [Ack]          "Ack to the bank.";
        never (ReqS | ReqO | ReqOData | RvkO)  "they take ownership, and the device has none";
    }
}

/// Everything that moves an entry. The answer to the L1 frees it; that is sent when it can, by no row.
pub fn machine() -> Machine<Entry> {
    use Entry::{At, Free, Rd, Wt};
    Machine::new("state of a transaction", Free)
        .with(&requests())
        .with(&responses())
        .also(&[Rd, Wt, At], Free)
}
