//! The L1's transition tables (spandex.md section 7).
//!
//! A line is I or V. A read entry of a line is *fresh* while nothing has marked it stale: at most one per line is.

use crate::msg::GpuOp;
use weft_rtl::prelude::*;

/// State of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum LineState {
    /// Invalid.
    I,
    /// Valid.
    V,
}

/// What an operation asks of its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Access {
    /// Load.
    Ld,
    /// Store of whole words.
    St,
    /// Store of some bytes of words.
    Bytes,
    /// Atomic.
    Amo,
}

/// The fresh read entry of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Read {
    /// There is none.
    #[hw(label = "none")]
    None,
    /// Another load can join it.
    #[hw(label = "open")]
    Open,
    /// It has as many loads as it takes.
    #[hw(label = "full")]
    Full,
}

/// What the store buffer, and byte stores on their way, mean to an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Buffer {
    /// Nothing: a store finds room, nothing is to be waited for.
    #[hw(label = "free")]
    Free,
    /// Every word of a load is buffered.
    #[hw(label = "covers")]
    Covers,
    /// No entry is free for a store; a load's bytes are on their way; words of an atomic are buffered or on their way.
    #[hw(label = "waits")]
    Waits,
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Operate {
    /// Answer.
    Hit,
    /// Read the line.
    Open,
    /// Join the read of the line.
    Join,
    /// Put the words into the store buffer.
    Buffer,
    /// Write them into the copy, too.
    Update,
    /// Write them into the read entry, too.
    Capture,
    /// Send it to the LLC.
    Send,
    /// The copy becomes I.
    Drop,
    /// Ask again later.
    Wait,
}

transitions! {
    /// What an operation does.
    pub fn operations() {
        name "gpu_l1_operations", rows "spandex.gpu_l1.";
        on "access": Access, "line": LineState, "read": Read, "buffer": Buffer;
        next LineState;
        does Operate;

        "Ld.V"         (Ld, V, _, _)                 [Hit]             "Answer.";
        "Ld.I.covered" (Ld, I, _, Covers)            [Hit]             "Answer with the youngest buffered words.";
        "Ld.I.bytes"   (Ld, I, _, Waits)             [Wait]
            "Wait: byte stores to its words are under way.";
        "Ld.I.miss"    (Ld, I, None, Free)           [Open]
            "Read of the line; buffered words are captured.";
        "Ld.I.join"    (Ld, I, Open, Free)           [Join]            "Wait in the read entry.";
        "Ld.I.full"    (Ld, I, Full, Free)           [Wait]            "Wait outside.";
        "St.V"         (St, V, None, Free)           [Buffer, Update]  "Buffered; the copy is updated.";
        "St.I"         (St, I, None, Free)           [Buffer]          "Buffered; nothing is allocated.";
        "St.I.read"    (St, I, Open | Full, Free)    [Buffer, Capture]
            "Buffered, and kept in the read entry, whose line must not overwrite it.";
        "St.full"      (St, _, _, Waits)             [Wait]            "Wait: no entry of the store buffer is free.";
        "Bytes.V"      (Bytes, V, _, Free)   -> I    [Send, Drop]      "Line -> I; At with Merge.";
        "Bytes.I"      (Bytes, I, _, Free)           [Send]
            "At with Merge; reads of the line become stale.";
        "Bytes.wait"   (Bytes, _, _, Waits)          [Wait]            "Earlier stores to its words come first.";
        "Amo.V"        (Amo, V, _, Free)     -> I    [Send, Drop]      "Line -> I; At.";
        "Amo.I"        (Amo, I, _, Free)             [Send]            "At; reads of the line become stale.";
        "Amo.wait"     (Amo, _, _, Waits)            [Wait]            "Earlier stores to its words come first.";
        never (_, V, Open | Full, _)                                   "a line that is being read is absent";
        never (St | Bytes | Amo, _, _, Covers)                         "only loads can be covered";
    }
}

/// What the words of an operation that is done in the L1 are to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Words {
    /// All are here: in the line, or buffered.
    #[hw(label = "here")]
    Here,
    /// Some are not.
    #[hw(label = "missing")]
    Missing,
    /// No entry of the store buffer is free, a release drains it, or stores and atomics at the LLC come first.
    #[hw(label = "waits")]
    Waits,
}

/// What an operation does that is done in the L1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Local {
    /// It is done; the new words are buffered.
    Apply,
    /// The copy gets them, too.
    Renew,
    /// The read entry gets them, too.
    Keep,
    /// Read the line.
    Fetch,
    /// The operation stays at the head.
    Stay,
    /// Ask again later.
    Wait,
}

transitions! {
    /// What an atomic or synchronising store of CU scope does, with `scopes=1` (cu-and-consistency.md section 4). None moves its line.
    pub fn locals() {
        name "gpu_l1_locals", rows "spandex.gpu_l1.";
        on "line": LineState, "read": Read, "words": Words;
        next LineState;
        does Local;

        "Local.V"         (V, None, Here)           [Apply, Renew] "Done on the copy; the new words are buffered.";
        "Local.I.covered" (I, None, Here)           [Apply]        "Done on the youngest buffered words.";
        "Local.I.read"    (I, Open | Full, Here)    [Apply, Keep]
            "The same; the new words are kept in the read entry, whose line must not overwrite them.";
        "Local.I.miss"    (I, None, Missing)        [Fetch, Stay]  "Read of the line; wait for it.";
        "Local.I.comes"   (I, Open | Full, Missing) [Stay]         "Wait for the line.";
        "Local.wait"      (_, _, Waits)             [Stay, Wait]
            "Wait: no entry of the store buffer is free, a release drains it, or bytes of its words or an atomic of its line are at the LLC.";
        never (V, Open | Full, _)                                  "a line that is being read is absent";
        never (V, _, Missing)                                      "a valid line has all its words";
    }
}

/// How an entry is marked that is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Mark {
    /// It is not.
    #[hw(label = "no")]
    No,
    /// A read: it is stale. An atomic: it acquires.
    #[hw(label = "stale, acquire")]
    Set,
    /// A byte store.
    #[hw(label = "bytes")]
    Bytes,
}

/// What an answer does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Answer {
    /// The line is valid from now on.
    Install,
    /// The CU gets an answer.
    Answer,
    /// Every line becomes I.
    Flash,
}

transitions! {
    /// What the answer to a read or atomic does; that to a write-through is [`WRITTEN`], which needs no slot.
    pub fn answers() {
        name "gpu_l1_answers", rows "spandex.gpu_l1.";
        on "answer": GpuOp, "mark": Mark;
        next LineState;
        does Answer;

        "Rd.fresh"   (Rd, No)  -> V [Install, Answer] "The line is installed; its loads are answered.";
        "Rd.stale"   (Rd, Set)      [Answer]          "Its loads are answered; nothing is installed.";
        "At.plain"   (At, No)       [Answer]          "The old words are answered.";
        "At.acquire" (At, Set)      [Answer, Flash]   "The same; every line becomes I.";
        "At.bytes"   (At, Bytes)                      "A byte store is performed.";
        never (Wt, _)                                 "the answer to a write-through needs no slot";
        never (Rd, Bytes)                             "a byte store is no read";
    }
}

/// Everything that moves a line; an acquire moves all at once.
pub fn machine() -> Machine<LineState> {
    use LineState::{I, V};
    Machine::new("state of a line", I).with(&operations()).with(&locals()).with(&answers()).also(&[V], I)
}

/// Row of the answer to a write-through.
pub const WRITTEN: (&str, &str) = ("spandex.gpu_l1.Wt", "The buffered words are written: the entry is free.");

/// Rows of a flash self-invalidation: one cycle for all lines, so they are observed, not decoded.
pub const FLASH: [(&str, &str); 2] = [
    ("spandex.gpu_l1.flash.V", "Every valid line becomes I."),
    ("spandex.gpu_l1.flash.read", "Reads under way become stale."),
];
