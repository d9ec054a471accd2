//! Transition tables of `moesi-l2` (docs/moesi.md sections 5 and 6).

pub use crate::cache::owned::Copy;
use crate::msg::{Ask, HomeAnswer};
use weft_rtl::prelude::*;

/// What an L1 asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Wants {
    /// A load.
    Load,
    /// A store or an atomic.
    Write,
}

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Does {
    /// It is answered, or performed.
    Perform,
    /// GetS, or of a line of this home ReadHome.
    GetS,
    /// GetM, or of a line of this home OwnHome.
    GetM,
}

transitions! {
    /// Requests of the node, of a line of which nothing is under way.
    pub fn requests() {
        name "moesi_l2_requests", rows "moesi_l2.";
        on "wants": Wants, "copy": Copy;
        next Copy;
        does Does;

        "load.I"    (Load, I)               [GetS]    "asked for";
        "load.hit"  (Load, S | O | E | M)   [Perform] "answered";
        "write.I"   (Write, I)              [GetM]    "asked for";
        "write.S"   (Write, S)              [GetM]    "the right to write is asked for; the copy stays";
        "write.O"   (Write, O)              [GetM]    "the right to write is asked for; the copy stays";
        "write.E"   (Write, E) -> M         [Perform] "performed; nobody is told";
        "write.M"   (Write, M)              [Perform] "performed";
    }
}

/// What becomes of a copy that is replaced, or flushed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Leaves {
    /// Memory is written.
    Memory,
    /// It goes into the write-back buffer, with a Put.
    Put,
    /// The Put brings data.
    Dirty,
}

transitions! {
    /// Copies that are replaced; `homed`: the line's home is here.
    pub fn replacements() {
        name "moesi_l2_replacements", rows "moesi_l2.replace.";
        on "copy": Copy, "homed": Is;
        next Copy;
        does Leaves;

        "I"       (I, _)                           "an empty way";
        "S"       (S, _) -> I                      "dropped in silence";
        "E.home"  (E, Yes) -> I                    "dropped: memory has it";
        "O.home"  (O, Yes) -> I   [Memory]         "written to memory";
        "M.home"  (M, Yes) -> I   [Memory]         "written to memory";
        "E"       (E, No) -> I    [Put]            "the home is told";
        "O"       (O, No) -> I    [Put, Dirty]     "given back to its home";
        "M"       (M, No) -> I    [Put, Dirty]     "given back to its home";
    }
}

transitions! {
    /// Copies that a flush comes to.
    pub fn flushes() {
        name "moesi_l2_flushes", rows "moesi_l2.flush.";
        on "copy": Copy, "homed": Is;
        next Copy;
        does Leaves;

        "clean"   (I | S | E, _)                   "memory has it, or another answers for it";
        "O.home"  (O, Yes)        [Memory]         "written to memory; it answers for the line as before";
        "M.home"  (M, Yes) -> E   [Memory]         "written to memory";
        "O"       (O, No) -> I    [Put, Dirty]     "given back to its home";
        "M"       (M, No) -> I    [Put, Dirty]     "given back to its home";
    }
}

/// What the answer to an INV message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Answers {
    /// Data of a copy beside others, to the requester.
    Shared,
    /// Data of the only copy, to the requester.
    Modified,
    /// Back, to the home.
    Back,
}

transitions! {
    /// What is asked of a copy, in the array or in the write-back buffer.
    pub fn probes() {
        name "moesi_l2_probes", rows "moesi_l2.";
        on "ask": Ask, "copy": Copy;
        next Copy;
        does Answers;

        "inv.I"     (Inv, I)                          "dropped in silence before";
        "inv.S"     (Inv, S) -> I                     "dropped";
        "fwds.O"    (FwdS, O)         [Shared]        "sent to the requester";
        "fwds.E"    (FwdS, E) -> O    [Shared]        "sent to the requester; it answers for the line from now on";
        "fwds.M"    (FwdS, M) -> O    [Shared]        "sent to the requester; it answers for the line from now on";
        "fwdm.O"    (FwdM, O) -> I    [Modified]      "sent to the requester, and gone";
        "fwdm.E"    (FwdM, E) -> I    [Modified]      "sent to the requester, and gone";
        "fwdm.M"    (FwdM, M) -> I    [Modified]      "sent to the requester, and gone";
        "recall.O"  (Recall, O) -> I  [Back]          "sent to the home, and gone";
        "recall.E"  (Recall, E) -> I  [Back]          "sent to the home, and gone";
        "recall.M"  (Recall, M) -> I  [Back]          "sent to the home, and gone";
        never (Inv, O | E | M)                        "an owner is asked for its line, not told to drop it";
        never (FwdS | FwdM | Recall, I | S)           "an owner has its line until it is asked for it";
    }
}

/// What a request of another node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Asked {
    /// GetS.
    GetS,
    /// GetM.
    GetM,
    /// Put.
    Put,
}

/// What a request of another node does when it comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Enters {
    /// The slice is asked.
    Ask,
    /// And told that the home's own node has no copy, and has asked for none.
    Alone,
    /// It stays at the input.
    Wait,
}

transitions! {
    /// Requests of other nodes, when they come, by the own copy and whether this node has asked for the line. To look, to drop and to ask the slice is one step.
    pub fn enters() {
        name "moesi_l2_enters", rows "moesi_l2.enter.";
        on "asked": Asked, "copy": Copy, "open": Is;
        next Copy;
        does Enters;

        "gets.I"  (GetS, I, No)           [Ask, Alone] "the requester becomes the owner if no other node has a copy";
        "gets.S"  (GetS, S, No)           [Ask]        "the slice is asked";
        "gets.O"  (GetS, O, No)           [Ask]        "the slice is asked";
        "gets.E"  (GetS, E, No)           [Ask]        "the slice is asked";
        "gets.M"  (GetS, M, No)           [Ask]        "the slice is asked";
        "getm.I"  (GetM, I, No)           [Ask]        "the slice is asked";
        "getm.S"  (GetM, S, No) -> I      [Ask]        "the slice is asked; the own copy is dropped at once";
        "getm.O"  (GetM, O, No)           [Ask]        "the slice is asked";
        "getm.E"  (GetM, E, No)           [Ask]        "the slice is asked";
        "getm.M"  (GetM, M, No)           [Ask]        "the slice is asked";
        "put"     (Put, _, _)             [Ask]        "the slice is asked";
        "waits"   (GetS | GetM, _, Yes)   [Wait]       "this node has asked for the line: what that gives comes first";
    }
}

/// What the home side does when the slice has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Turn {
    /// Data from the own copy.
    Send,
    /// Memory is read.
    Fetch,
    /// What is sent is the only copy, as in memory.
    Exclusive,
    /// What is sent is the only copy.
    Modified,
    /// The requester has the data.
    Keep,
    /// What the Put has brought is written to memory, if anything.
    Write,
    /// PutAck.
    Acknowledge,
}

transitions! {
    /// Requests of other nodes, when the slice has answered, by the own copy.
    pub fn turns() {
        name "moesi_l2_turns", rows "moesi_l2.home.";
        on "asked": Asked, "answer": HomeAnswer, "copy": Copy;
        next Copy;
        does Turn;

        "gets.alone"      (GetS, Alone, I)          [Fetch, Exclusive] "memory's, and nobody else has it";
        "gets.I"          (GetS, Home, I)           [Fetch]            "memory's";
        "gets.S"          (GetS, Home, S)           [Send]             "the own copy's";
        "gets.O"          (GetS, Home, O)           [Send]             "the own copy's";
        "gets.E"          (GetS, Home, E) -> O      [Send]             "the own copy's, which answers for the line now";
        "gets.M"          (GetS, Home, M) -> O      [Send]             "the own copy's, which answers for the line now";
        "getm.I"          (GetM, Home, I)           [Fetch, Modified]  "memory's";
        "getm.O"          (GetM, Home, O) -> I      [Send, Modified]   "the own copy's, which is gone";
        "getm.E"          (GetM, Home, E) -> I      [Send, Modified]   "the own copy's, which is gone";
        "getm.M"          (GetM, Home, M) -> I      [Send, Modified]   "the own copy's, which is gone";
        "getm.keep"       (GetM, Keep, I)           [Keep, Modified]   "the requester's";
        "put.taken"       (Put, Taken, I | S)       [Write, Acknowledge] "memory has it";
        "put.stale"       (Put, Stale, _)           [Acknowledge]      "another has it by now";
        never (GetS, Alone, S | O | E | M)          "the home had no copy when it was asked, and has got none since";
        never (GetS, Keep | Taken | Stale, _)       "a slice answers what it is asked";
        never (GetM, Alone | Taken | Stale, _)      "a slice answers what it is asked";
        never (Put, Alone | Home | Keep | Forwarded, _) "a slice answers what it is asked";
        never (GetS | GetM, Forwarded, _)           "what its owner sends has no turn";
        never (GetM, Home | Keep, S)                "the own S copy was dropped when the request came";
        never (GetM, Keep, O | E | M)               "one copy answers for a line";
        never (Put, Taken, O | E | M)               "one copy answers for a line";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_that_can_occur_has_exactly_one_row() {
        assert_eq!(requests().faults(), []);
        assert_eq!(replacements().faults(), []);
        assert_eq!(flushes().faults(), []);
        assert_eq!(enters().faults(), []);
        assert_eq!(probes().faults(), []);
        assert_eq!(turns().faults(), []);
    }
}
