//! The stash's transition tables (cu-and-consistency.md section 8; forwards: spandex.md section 5).

use super::banks::WordState;
use crate::msg::FwdOp;
use crate::word_l1::L1Kind;
use crate::word_l1::table::{self, Forward, Status};
use weft_rtl::prelude::*;

/// What a forward does to words of one status: as in an L1 with DeNovo coherence, without ownership with data.
pub fn forwards() -> Transitions<(FwdOp, Status, Is), Status, Forward> {
    table::forwards(L1Kind::Stash)
}

/// What asks something of words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Access {
    /// Load.
    Ld,
    /// Store of whole words.
    St,
    /// The oldest entry of the store buffer asks for ownership.
    #[hw(label = "drain")]
    Drain,
}

/// How the words are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Words {
    /// Some are there: a load's have values, a store's are owned or pending.
    #[hw(label = "here")]
    Here,
    /// They are missing.
    #[hw(label = "missing")]
    Missing,
    /// They are on their way to a load that this one can join.
    #[hw(label = "coming")]
    Coming,
    /// Something of them must end first.
    #[hw(label = "busy")]
    Busy,
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Operate {
    /// Answer.
    Hit,
    /// Ask for the words.
    Read,
    /// Join the read that brings them.
    Join,
    /// Write them in place.
    Store,
    /// Write them, and put them into the store buffer.
    Buffer,
    /// Ask for ownership of them.
    Ask,
    /// Ask again later.
    Wait,
}

transitions! {
    /// What an operation does. It has words in several states, so no row moves one; [`machine`] has the moves.
    pub fn operations() {
        name "stash_operations", rows "spandex.stash.";
        on "access": Access, "words": Words;
        does Operate;

        "Ld.here"       (Ld, Here)       [Hit]    "V, O or P: answer, without translation.";
        "Ld.missing"    (Ld, Missing)    [Read]   "ReqV of the mapped words of the line that are I.";
        "Ld.coming"     (Ld, Coming)     [Join]   "Wait in the read that brings them.";
        "Ld.busy"       (Ld, Busy)       [Wait]
            "Wait: a word is written back, was lost while it was asked for, or is in a read that no load can join.";
        "St.here"       (St, Here)       [Store]  "O or P: in place, without translation.";
        "St.missing"    (St, Missing)    [Buffer]
            "P: the word is written, and in the store buffer until it is owned.";
        "St.busy"       (St, Busy)       [Wait]
            "Wait: no entry of the buffer is free, or another mapping has one of the line.";
        "drain.missing" (Drain, Missing) [Ask]    "ReqO of the words.";
        "drain.busy"    (Drain, Busy)    [Wait]   "Wait: words are read, or written back.";
        never (St | Drain, Coming)                "what is stored here waits for no words";
        never (Drain, Here)                       "words of an entry that has not left are pending, none is owned";
    }
}

/// Who needs words out of the way that a mapping holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum By {
    /// A load that another mapping's word misses.
    Ld,
    /// A store that another mapping's word misses.
    St,
    /// A new mapping of the space, or of the entry.
    #[hw(label = "map")]
    Map,
}

/// What is done with words that are in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Vacate {
    /// Owned words are written back.
    Flush,
    /// Valid words become I.
    Drop,
    /// Wait for them.
    Wait,
}

transitions! {
    /// What is done with words of a line that one mapping holds, for a load or store of the same global words by another mapping, or because the mapping ends. The first state that occurs counts, in the order O, P, V, I.
    pub fn vacate() {
        name "stash_vacate", rows "spandex.stash.";
        on "for": By, "words": WordState;
        next WordState;
        does Vacate;

        "alias.O"    (Ld | St, O) -> P | V | I [Flush]
            "The owned words of the other mapping are written back first (ReqWB).";
        "alias.P"    (Ld | St, P)              [Wait]  "Wait until the pending words of the other mapping are owned.";
        "alias.V"    (St, V)      -> I         [Drop]  "The copies of the other mapping become I.";
        "alias.pass" (Ld, V | I)                       "Nothing is in the way.";
        "alias.none" (St, I)                           "Nothing is in the way.";
        "map.O"      (Map, O)     -> P | V | I [Flush] "The owned words of the line are written back (ReqWB).";
        "map.P"      (Map, P)                  [Wait]  "Wait until the pending words are owned.";
        "map.pass"   (Map, V | I)                      "The line has nothing left to write back.";
    }
}

/// Everything that moves a word: beside other mappings what comes for all words of an operation, an answer, an acquire or a forward.
pub fn machine() -> Machine<WordState> {
    use WordState::{I, O, P, V};
    Machine::new("state of a word", I)
        .with(&vacate())
        // Words of a read come; a store; ownership comes; an acquire, or a new mapping.
        .also(&[I], V)
        .also(&[I, V], P)
        .also(&[P], O)
        .also(&[V], I)
        // Forwards: a removal, of which ReqS leaves a copy; one that comes before ownership.
        .also(&[O, P], I)
        .also(&[O], V)
}
