//! The L1's transition tables (srsp.md section 5).
//!
//! | state of a line | meaning |
//! | --- | --- |
//! | I | invalid |
//! | P | fill pending: the frame is reserved |
//! | V | all bytes valid, none dirty |
//! | D | all bytes valid, those of the mask dirty |
//! | W | only the bytes of the mask are valid, all of them dirty |
//!
//! A slot carries one row out as a whole, or waits and changes nothing.

pub use crate::write_combining::op::Access;
use crate::write_combining::rows::{hits, leaves, partial, stores};
use weft_rtl::prelude::*;

/// State of a line. Bit 0: every byte is valid; bit 1: some are dirty; bit 2: pending.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum LineState {
    /// Invalid.
    I,
    /// Valid.
    V,
    /// Written bytes only.
    W,
    /// Dirty.
    D,
    /// Pending.
    P,
}

/// What makes a line leave, or its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Leave {
    /// The head of the sFIFO is popped.
    #[hw(label = "pop")]
    Pop,
    /// The frame is taken for another line.
    #[hw(label = "evict")]
    Evict,
    /// Line-inv: a probe, or the own operation at the L2.
    #[hw(label = "line-inv")]
    Inv,
}

/// What an operation does to its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Operate {
    /// Answer.
    Hit,
    /// Reserve a frame and send RD.
    Reserve,
    /// Wait in the line's MSHR.
    Join,
    /// Wait outside.
    Wait,
    /// Take a frame for the bytes written.
    Take,
    /// Merge the bytes into the line.
    Merge,
    /// Perform an atomic on it.
    Perform,
    /// A clean line becomes dirty if anything is written: it goes into the sFIFO.
    Dirties,
    /// Write the line back; the operation is tried again.
    WriteBack,
    /// The line goes.
    Drop,
}

transitions! {
    /// What an operation does to its line. `case`: in P, the MSHR takes another operation; in W, the bytes asked for are there.
    pub fn operations() {
        name "operations", rows "srsp.l1.";
        on "access": Access, "state": LineState, "case": Is;
        next LineState;
        does Operate;

        "Ld.I"         (Ld, I, _)     -> P     [Reserve]          "Take a frame, send RD.";
        "Ld.P.join"    (Ld, P, Yes)            [Join]             "Wait in the MSHR.";
        "Ld.P.wait"    (Ld, P, No)             [Wait]             "The MSHR is marked or full: wait outside.";
        include hits;
        include partial;
        "St.I"         (St, I, _)     -> W     [Take, Dirties]    "Take a frame for the bytes written: no fetch.";
        include stores;
        "A1.I"         (Atomic, I, _) -> P     [Reserve]          "Take a frame, send RD.";
        "A1.P.join"    (Atomic, P, Yes)        [Join]             "Wait in the MSHR.";
        "A1.P.wait"    (Atomic, P, No)         [Wait]             "The MSHR is marked or full: wait outside.";
        "A1.V"         (Atomic, V, _) -> V | D [Perform, Dirties] "Perform; becomes D if it writes.";
        "A1.D"         (Atomic, D, _)          [Perform]          "Perform.";
        "A1.W"         (Atomic, W, _) -> I     [WriteBack, Drop]  "Write back; the atomic then misses.";
    }
}

/// What happens to a line that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Part {
    /// Write it back.
    WriteBack,
    /// It stays, clean.
    Clean,
    /// It goes.
    Drop,
    /// Mark its MSHR: what comes is not installed.
    Mark,
}

transitions! {
    /// What happens to a line that leaves, or whose bytes do. What a flash invalidation does is told beside the rows `srsp.l1.flash.*`.
    pub fn leaving() {
        name "leaving", rows "srsp.l1.";
        on "event": Leave, "state": LineState;
        next LineState;
        does Part;

        "pop.dead" (Pop, I | P | V)                  "A dead entry: nothing to write.";
        include leaves;
        "inv.I"    (Inv, I)                           "The line is not here.";
        "inv.P"    (Inv, P)        [Mark]             "What comes is not installed; its atomics replay.";
        "inv.V"    (Inv, V)   -> I [Drop]             "Dropped.";
        "inv.D"    (Inv, D)   -> I [WriteBack, Drop]  "Written back, dropped.";
        "inv.W"    (Inv, W)   -> I [WriteBack, Drop]  "Written back, dropped.";
        never (Evict, P)                              "a line under way is no victim";
    }
}

transitions! {
    /// What the first slot of a FILL does, by the marks of its MSHR.
    pub fn fills() {
        name "fills", rows "srsp.l1.fill.";
        on "state": LineState, "noinst": Is, "replay": Is;
        next LineState;

        "P"      (P, No, No)  -> V  "The line is installed: V.";
        "noinst" (P, Yes, No) -> I  "Invalidated meanwhile: not installed.";
        "replay" (P, _, Yes)  -> I  "Probed meanwhile: not installed, atomics replay.";
        never (I | V | D | W, _, _) "the frame of a line under way stays reserved";
    }
}

/// Everything that moves a line.
pub fn machine() -> Machine<LineState> {
    use LineState::*;
    // A flash invalidation drops all valid lines in one cycle.
    Machine::new("state of a line", I).with(&operations()).with(&leaving()).with(&fills()).also(&[V], I)
}

/// Rows of a flash invalidation, by state: one cycle for all lines, so they are observed, not decoded. None is D or W then.
pub const FLASH: [(&str, LineState, &str); 2] = [
    ("srsp.l1.flash.V", LineState::V, "Dropped."),
    (
        "srsp.l1.flash.P",
        LineState::P,
        "What comes answers its loads and is not installed; its atomics replay.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_that_can_occur_has_exactly_one_row() {
        assert_eq!(operations().faults(), []);
        assert_eq!(leaving().faults(), []);
        assert_eq!(fills().faults(), []);
        assert_eq!(machine().unreached(), []);
    }
}
