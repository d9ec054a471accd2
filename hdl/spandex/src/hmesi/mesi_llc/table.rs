//! Transition tables of a bank (spandex.md section 9).
//!
//! [`directory`] says what a request or Put does to a line that is not busy, [`frames`] where a line that is not here goes, [`busy`] what happens at a line with a TBE.

pub use super::types::{LineState, TbeKind};
pub use crate::bank::replace::Replace;
use weft_rtl::prelude::*;

/// What comes to a line that is not busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Event {
    /// A line to read.
    GetS,
    /// A line to write.
    GetM,
    /// A Put of the owner.
    Put,
    /// A Put of a client that is not the owner, or not any more.
    Stale,
}

/// What a request or Put does to its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Direct {
    /// Answer: a line to share.
    DataS,
    /// Answer: the only copy.
    DataE,
    /// Answer: a line to write.
    DataM,
    /// Answer to a Put.
    Ack,
    /// The requestor is a sharer.
    Share,
    /// Inv to the other sharers.
    Inv,
    /// A forward to the owner.
    Fwd,
    /// The data of a Put, and no owner any more.
    Take,
    /// The line is busy until its requestor owns it.
    BusyX,
    /// The line is busy until its requestor and the old owner share it.
    BusyIib,
}

transitions! {
    /// What a request or Put does to a line that is not busy.
    pub fn directory() {
        name "mesi_llc_directory", rows "spandex.hmesi_llc.";
        on "event": Event, "state": LineState;
        next LineState;
        does Direct;

        (GetS, C)         [DataE, BusyX]       "DataE; busy-X";
        (GetS, SS)        [DataS, Share]       "DataS; the requestor is a sharer";
        (GetS, MT)        [Fwd, BusyIib]       "FwdGetS to the owner; busy-IIB";
        (GetM, C)         [DataM, BusyX]       "DataM(0); busy-X";
        (GetM, SS)        [DataM, Inv, BusyX]  "Inv to all sharers but the requestor, DataM(k); busy-X";
        (GetM, MT)        [Fwd, BusyX]         "FwdGetM to the owner; busy-X";
        (Put, MT) -> C    [Ack, Take]          "data if dirty, C; WBAck";
        (Stale, I)        [Ack]                "recalled and replaced since: WBAck";
        (Stale, C)        [Ack]                "recalled, replaced and fetched, or given back by another since: WBAck";
        (Stale, SS)       [Ack]                "shared since: WBAck";
        (Stale, MT)       [Ack]                "another owns it: WBAck";
        never (GetS | GetM, I)                 "a line that is not here is fetched first";
        never (Put, I | C | SS)                "only a line in MT has an owner";
    }
}

/// What a request needs of a way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Use {
    /// Its line is not here.
    #[hw(label = "miss")]
    Miss,
}

/// What is in the way chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Frame {
    /// No line.
    #[hw(label = "empty")]
    Empty,
    /// A line in C, as in memory.
    #[hw(label = "clean")]
    Clean,
    /// A line in C that differs from memory.
    #[hw(label = "dirty")]
    Dirty,
    /// A line in SS.
    #[hw(label = "shared")]
    Shared,
    /// A line in MT.
    #[hw(label = "owned")]
    Owned,
    /// No way may be replaced.
    #[hw(label = "full")]
    Full,
    /// A line of which everything has come back, clean.
    #[hw(label = "clean_out")]
    CleanOut,
    /// A line of which everything has come back, dirty.
    #[hw(label = "dirty_out")]
    DirtyOut,
}

transitions! {
    /// Where a line that is not here goes.
    pub fn frames() {
        name "mesi_llc_frames", rows "spandex.hmesi_llc.";
        on "use": Use, "frame": Frame;
        next LineState;
        does Replace;

        (Miss, Empty)    -> I  [Take]         "an empty way: read from memory";
        (Miss, Clean)    -> I  [Take]         "a clean line in C is dropped";
        (Miss, Dirty)    -> I  [Take, Write]  "a dirty line in C is written to memory";
        (Miss, Shared)         [Evict]        "Inv to all sharers, InvAcks to the bank";
        (Miss, Owned)          [Evict]        "Recall to the owner, WbData to the bank";
        (Miss, Full)           [Join]         "every way is blocked: waits in the list of one that is";
        (Miss, CleanOut) -> I  [Take]         "everything has come back clean";
        (Miss, DirtyOut) -> I  [Take, Write]  "everything has come back: written to memory";
    }
}

/// What comes to a busy line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Comes {
    /// A request.
    Req,
    /// The line, from memory.
    Memory,
    /// InvAck of an eviction.
    InvAck,
    /// The old owner's answer.
    WbData,
    /// The requestor shares the line.
    Unblock,
    /// The requestor owns the line.
    UnblockX,
    /// All has come: the request of the TBE goes on.
    Done,
}

/// What that does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Progresses {
    /// The request joins the stall list.
    Join,
    /// The line into its way.
    Install,
    /// One answer less to come.
    Count,
    /// Data into the line.
    Store,
    /// The requestor owns the line.
    Own,
}

transitions! {
    /// What happens at a busy line. A TBE whose stall list is empty is free instead of a LIST, its kind left as it was.
    pub fn busy() {
        name "mesi_llc_busy", rows "spandex.hmesi_llc.";
        on "tbe": TbeKind, "event": Comes;
        next TbeKind;
        does Progresses;

        (Fetch, Req)                               [Join]          "joins the stall list";
        (Fetch, Memory)                            [Install]       "the line into its way: C";
        (Fetch, Done)       -> BusyX                               "the request finds C";
        (Evict, Req)                               [Join]          "joins the stall list";
        (Evict, InvAck)                            [Count]         "one sharer less";
        (Evict, WbData)                            [Store, Count]  "data if dirty";
        (Evict, Done)       -> Fetch                               "the line gives its way to the request";
        (BusyX, Req)                               [Join]          "joins the stall list";
        (BusyX, UnblockX)   -> BusyX | List        [Own]           "MT, the requestor owns the line";
        (BusyIib, Req)                             [Join]          "joins the stall list";
        (BusyIib, WbData)   -> BusyIib | List      [Store, Count]  "data if dirty; with Unblock: SS";
        (BusyIib, Unblock)  -> BusyIib | List      [Count]         "with WbData: SS, sharers are the requestor and the old owner if it keeps a copy";
        (List, Req)                                [Join]          "joins the stall list, behind those that replay";
        never (Evict | BusyX | BusyIib | List, Memory)             "memory answers what a FETCH has asked";
        never (Fetch | BusyX | BusyIib | List, InvAck)             "only lines that are replaced take InvAck here: of a GetM the requestor gets them";
        never (Fetch | BusyX | List, WbData)                       "it answers Recall and FwdGetS";
        never (Fetch | Evict | BusyX | List, Unblock)              "it ends busy-IIB";
        never (Fetch | Evict | BusyIib | List, UnblockX)           "it ends busy-X";
        never (BusyX | BusyIib | List, Done)                       "their request is answered";
    }
}

/// Everything that moves a line. What comes to busy lines is in the table of TBEs: memory brings C, busy-X ends in MT, busy-IIB in SS.
pub fn machine() -> Machine<LineState> {
    use LineState::{C, I, MT, SS};
    Machine::new("state of a line", I)
        .with(&directory())
        .with(&frames())
        .also(&[I], C)
        .also(&[C, SS], MT)
        .also(&[MT], SS)
        .also(&[C, SS, MT], I)
}

/// All tables as a page.
pub fn page() -> String {
    format!(
        "{}\nA line that is not busy:\n\n{}\nA line that is not here:\n\n{}\nA busy line:\n\n{}",
        machine().to_svg(),
        directory().to_markdown(),
        frames().to_markdown(),
        busy().to_markdown(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_has_one_row() {
        assert_eq!(directory().faults(), []);
        assert_eq!(frames().faults(), []);
        assert_eq!(busy().faults(), []);
    }
}
