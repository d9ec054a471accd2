//! Transition tables of `moesi-directory` (docs/moesi.md section 4): what operations do to an entry, and what becomes of a row of the pending table.
//!
//! An entry is written when its operation is performed, with what it is to be when the transaction is over; the row keeps everybody off the line until then.

use crate::msg::HomeOp;
use weft_rtl::prelude::*;

/// What the lookup found, as the requester sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Found {
    /// No entry.
    #[hw(label = "miss")]
    Miss,
    /// No owner, and nobody but the requester is a sharer.
    #[hw(label = "sole sharer")]
    Sole,
    /// No owner, and other sharers.
    #[hw(label = "sharers")]
    Shared,
    /// Another node is owner, nobody but the requester a sharer.
    #[hw(label = "owner")]
    Owned,
    /// Another node is owner, and there are other sharers.
    #[hw(label = "owner and sharers")]
    OwnedShared,
    /// The requester is owner, and there are no sharers.
    #[hw(label = "own")]
    Own,
    /// The requester is owner, and there are sharers.
    #[hw(label = "own and sharers")]
    OwnShared,
}

/// What is under way of the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Line {
    /// Nothing.
    #[hw(label = "nothing")]
    Free,
    /// A transaction, which has a row.
    #[hw(label = "row")]
    Busy,
    /// Nothing but an older operation, which waits in the queue.
    #[hw(label = "queued")]
    Behind,
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Act {
    /// Allocate an entry.
    Allocate,
    /// The requester becomes a sharer.
    AddSharer,
    /// The requester becomes the owner.
    TakeOwner,
    /// There is no owner any more.
    NoOwner,
    /// There are no sharers any more.
    NoSharers,
    /// The sharers but the requester get Invs, and the row awaits their acknowledgements first.
    InvOthers,
    /// Then the owner is asked to send the line, and stays the owner.
    FwdS,
    /// Then the owner is asked to send the line.
    FwdM,
    /// A row of the pending table begins.
    Row,
    /// The answer is that the home has the data, and no other node a copy.
    Alone,
    /// The answer is that the home has the data.
    Home,
    /// The answer is that the requester has the data.
    Keep,
    /// The answer is that the Put is its owner's.
    Taken,
    /// The answer is that the Put is of a line that is another's.
    Stale,
    /// The way becomes the youngest under `lru`.
    Touch,
    /// Wait in the queue.
    Wait,
}

transitions! {
    /// The operations by what the lookup found, what is under way, and whether the home's own node has no copy. Without an action for them owner and sharers stay.
    pub fn operations() {
        name "moesi_table", rows "moesi.";
        on "op": HomeOp, "found": Found, "line": Line, "alone": Is;
        next Found;
        does Act;

        "gets.miss.alone"   (GetS, Miss, Free, Yes) -> Own        [Allocate, TakeOwner, Row, Alone, Touch]
            "nobody has a copy: the requester becomes the owner, in E";
        "gets.miss"         (GetS, Miss, Free, No)  -> Sole       [Allocate, AddSharer, Row, Home, Touch]
            "the home has a copy: the requester becomes a sharer";
        "gets.sole"         (GetS, Sole, Free, _)                 [Row, Home, Touch]
            "the requester had dropped its copy, and is a sharer again";
        "gets.shared"       (GetS, Shared, Free, _)               [AddSharer, Row, Home, Touch]
            "one sharer more";
        "gets.owner"        (GetS, Owned, Free, _)                [AddSharer, FwdS, Row, Touch]
            "the owner sends the line, and stays the owner";
        "gets.owner.shared" (GetS, OwnedShared, Free, _)          [AddSharer, FwdS, Row, Touch]
            "the owner sends the line, and stays the owner";
        "getm.miss"         (GetM, Miss, Free, _)   -> Own        [Allocate, TakeOwner, Row, Home, Touch]
            "the requester becomes the owner";
        "getm.sole"         (GetM, Sole, Free, _)   -> Own        [TakeOwner, NoSharers, Row, Home, Touch]
            "the only sharer becomes the owner";
        "getm.shared"       (GetM, Shared, Free, _) -> Own        [TakeOwner, NoSharers, InvOthers, Row, Home, Touch]
            "the other sharers are invalidated, and acknowledge that; the requester becomes the owner";
        "getm.owner"        (GetM, Owned, Free, _)  -> Own        [TakeOwner, NoSharers, FwdM, Row, Touch]
            "the owner sends the line to the next one";
        "getm.owner.shared" (GetM, OwnedShared, Free, _) -> Own   [TakeOwner, NoSharers, InvOthers, FwdM, Row, Touch]
            "the sharers are invalidated, and acknowledge that; then the owner sends the line to the next one";
        "getm.own"          (GetM, Own, Free, _)                  [Row, Keep, Touch]
            "the owner has the only copy that other nodes have";
        "getm.own.shared"   (GetM, OwnShared, Free, _) -> Own     [NoSharers, InvOthers, Row, Keep, Touch]
            "the sharers are invalidated, and acknowledge that; the owner goes on";
        "read.miss"         (ReadHome, Miss, Free, _)             [Row, Alone]
            "no other node has a copy";
        "read.shared"       (ReadHome, Shared, Free, _)           [Row, Home, Touch]
            "memory has the line";
        "read.owner"        (ReadHome, Owned, Free, _)            [FwdS, Row, Touch]
            "the owner sends the line to its home, and stays the owner";
        "read.owner.shared" (ReadHome, OwnedShared, Free, _)      [FwdS, Row, Touch]
            "the owner sends the line to its home, and stays the owner";
        "own.miss"          (OwnHome, Miss, Free, _)              [Row, Home]
            "no other node has a copy";
        "own.shared"        (OwnHome, Shared, Free, _) -> Miss    [NoSharers, InvOthers, Row, Home]
            "the sharers are invalidated, and acknowledge that";
        "own.owner"         (OwnHome, Owned, Free, _) -> Miss     [NoOwner, FwdM, Row]
            "the owner sends the line to its home";
        "own.owner.shared"  (OwnHome, OwnedShared, Free, _) -> Miss [NoOwner, NoSharers, InvOthers, FwdM, Row]
            "the sharers are invalidated, and acknowledge that; then the owner sends the line to its home";
        "put.own"           (Put, Own, Free, _) -> Miss           [NoOwner, Row, Taken]
            "no other node has a copy any more; the row lasts until memory has the line";
        "put.own.shared"    (Put, OwnShared, Free, _) -> Shared   [NoOwner, Row, Taken]
            "the sharers stay; the row lasts until memory has the line";
        "put.stale"         (Put, Miss | Sole | Shared | Owned | OwnedShared, Free, _) [Stale]
            "the line was taken from the buffer that the Put stands in";
        "busy"              (_, _, Busy, _)                       [Wait]
            "it waits for the transaction of its line";
        "behind"            (_, _, Behind, _)                     [Wait]
            "it waits behind the older operation";
        never (GetS, Own | OwnShared, Free, _)             "an owner's Put comes before it asks again";
        never (ReadHome | OwnHome, Own | OwnShared, Free, _) "the home is no owner in its own directory";
        never (ReadHome | OwnHome, Sole, Free, _)          "the home is no sharer in its own directory";
    }
}

/// Everything that moves an entry, as one node sees it: what others ask for makes it shared or another's; a replaced entry is no more.
pub fn machine() -> Machine<Found> {
    use Found::*;
    Machine::new("state of an entry", Miss)
        .with(&operations())
        .also(&[Own, OwnShared], OwnShared)
        .also(&[Own, OwnShared], Sole)
        .also(&[Sole, Shared], Shared)
        .also(&[Sole, Shared], Owned)
        .also(&[Own, OwnShared, Shared, Sole], OwnedShared)
        .also(&[Own, OwnShared, Owned, OwnedShared, Sole, Shared], Miss)
}

/// What a row of the pending table is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum RowKind {
    /// An operation of another node.
    Remote,
    /// An operation of the home's own node.
    Local,
    /// A Put of the owner.
    Put,
    /// A replaced entry.
    Replaced,
}

/// What comes for a row by the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Comes {
    /// Ack: a sharer has dropped its copy.
    #[hw(label = "Ack")]
    Ack,
    /// Done: the requester has the line.
    #[hw(label = "Done")]
    Done,
}

/// What comes for a row from the home's own bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum OwnComes {
    /// The home's own node has the line.
    #[hw(label = "Done")]
    Done,
    /// What a Put or the answer to a Recall has brought is in memory.
    #[hw(label = "Written")]
    Written,
}

/// What a row does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum RowAct {
    /// One acknowledgement less.
    Count,
    /// The last one: the row goes on to the owner and to the answer, or is over.
    GoOn,
    /// The row is over.
    End,
}

transitions! {
    /// What comes by the network, by what the row is about and whether the last acknowledgement comes.
    pub fn answers() {
        name "moesi_answers", rows "moesi.row.";
        on "comes": Comes, "row": RowKind, "last": Is;
        does RowAct;

        "ack"       (Ack, Remote | Local | Replaced, No)  [Count] "others are awaited";
        "ack.last"  (Ack, Remote | Local | Replaced, Yes) [Count, GoOn] "the owner is asked, the operation answered";
        "done"      (Done, Remote, _)                     [End] "the requester has the line";
        never (Ack, Put, _)                               "a Put invalidates nobody";
        never (Done, Local | Put | Replaced, _)           "no other node has asked for the line";
    }
}

transitions! {
    /// What comes from the home's own bank.
    pub fn own_answers() {
        name "moesi_own_answers", rows "moesi.row.";
        on "comes": OwnComes, "row": RowKind;
        does RowAct;

        "done.home"     (Done, Local)             [End] "the home's own node has the line";
        "written.put"   (Written, Put)            [End] "the line is in memory, its owner told";
        "written.back"  (Written, Replaced)       [End] "the line is in memory";
        never (Done, Remote | Put | Replaced)     "the home has not asked for the line";
        never (Written, Remote | Local)           "data comes back by a Put or a Recall";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_that_can_occur_has_exactly_one_row() {
        assert_eq!(operations().faults(), []);
        assert_eq!(answers().faults(), []);
        assert_eq!(own_answers().faults(), []);
        assert_eq!(machine().unreached(), []);
    }
}
